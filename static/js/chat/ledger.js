import { element } from "../common/dom.js";
import { cost, seconds } from "../common/format.js";
import { count, language, t } from "../common/words.js";

const STAGES = {
  condense_rule: t("Reading the conversation, by rule"),
  condense_model: t("Reading the conversation"),
  cache: t("From the cache"),
  auto: t("Choosing the way of answering"),
  collections: t("Choosing collections"),
  plan: t("Planning"),
  outline: t("Outline"),
  embed: t("Embedding the question"),
  hybrid_search: t("Search"),
  vector_search: t("Search by meaning"),
  keyword_search: t("Search by keywords"),
  keywords_missing: t("Without keywords: the text index cannot answer"),
  fuse: t("Merging the searches"),
  load: t("Loading passages"),
  rerank: t("Ranking"),
  compress: t("Choosing passages"),
  relevance: t("Judging relevance"),
  reflect: t("Reflection"),
  follow_up: t("Follow-up questions"),
  intermediate: t("Intermediate answers"),
  repair: t("Asking again for a readable reply"),
  context: t("Putting the passages together"),
  compare_written: t("Comparing with what is written"),
  generate: t("Writing the answer"),
  shorten: t("Tried with too many passages"),
};

const COUNTS = ["calls", "cached_calls", "failed_calls", "prompt_tokens", "completion_tokens", "embedding_tokens", "ms"];
export function stageName({ stage, runs }) {
  const name = STAGES[stage] ?? stage.charAt(0).toUpperCase() + stage.slice(1).replaceAll("_", " ");
  return runs > 1 ? t("{name}, {runs} times", { name, runs }) : name;
}

const number = (value) => value.toLocaleString(language);

function callsText({ calls, cached_calls: cached, failed_calls: failed }) {
  return [
    number(calls),
    failed > 0 && t("{number} failed", { number: number(failed) }),
    cached > 0 && t("{number} more from the cache", { number: number(cached) }),
  ].filter(Boolean).join(", ");
}

const COLUMNS = [
  { name: t("Model calls"), text: callsText, isUsed: (row) => row.calls + row.cached_calls > 0 },
  { name: t("Tokens in"), text: (row) => number(row.prompt_tokens), isUsed: (row) => row.prompt_tokens > 0 },
  { name: t("Tokens out"), text: (row) => number(row.completion_tokens), isUsed: (row) => row.completion_tokens > 0 },
  { name: t("Tokens embedded"), text: (row) => number(row.embedding_tokens), isUsed: (row) => row.embedding_tokens > 0 },
  { name: t("Working time"), text: (row) => seconds(row.ms), isUsed: () => true },
  { name: t("Cost"), text: (row) => (typeof row.cost === "number" ? cost(row.cost) : t("not known")), isUsed: (row) => row.cost > 0 },
];

function totalOf(rows, sum) {
  const total = Object.fromEntries(COUNTS.map((name) => [name, rows.reduce((all, row) => all + row[name], 0)]));
  return { ...total, cost: sum };
}

const header = (scope, text) => element("th", { scope, text });

const tableRow = (name, row, columns) =>
  element("tr", {}, header("row", name), ...columns.map(({ text }) => element("td", { text: text(row) })));

function fill(table, rows, sum) {
  const columns = COLUMNS.filter(({ isUsed }) => rows.some(isUsed));
  table.replaceChildren(
    element("thead", {}, element("tr", {}, header("col", t("Stage")), ...columns.map(({ name }) => header("col", name)))),
    element("tbody", {}, ...rows.map((row) => tableRow(stageName(row), row, columns))),
    element("tfoot", {}, tableRow(t("Together"), totalOf(rows, sum), columns)));
}

function conversationText(usage) {
  const parts = [
    count(usage.questions, "question"),
    usage.calls > 0 && count(usage.calls, "model call"),
    usage.calls > 0 && t("{tokens} in, {out} out", { tokens: count(usage.prompt_tokens, "token"), out: number(usage.completion_tokens) }),
    usage.embedding_tokens > 0 && t("{tokens} embedded", { tokens: count(usage.embedding_tokens, "token") }),
    typeof usage.cost === "number" && usage.cost > 0 && t("cost {cost}", { cost: cost(usage.cost) }),
  ];
  return t("This conversation so far: {parts}.", { parts: parts.filter(Boolean).join(", ") });
}

/** What each stage of an answer took of the models and of time, and what the conversation took so far. */
export function showLedger(root, { trace, conversation_usage: usage }) {
  const rows = trace?.ledger ?? [];
  root.hidden = rows.length === 0;
  if (!rows.length) return;
  fill(root.querySelector("table"), rows, trace.cost);
  root.querySelector(".ledger-note").hidden = !trace.cached;
  const line = root.querySelector(".conversation-line");
  line.hidden = !usage;
  if (usage) line.textContent = conversationText(usage);
}
