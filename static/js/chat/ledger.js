import { element } from "../common/dom.js";
import { cost, count, seconds } from "../common/format.js";

const STAGES = {
  condense_rule: "Reading the conversation, by rule",
  condense_model: "Reading the conversation",
  cache: "From the cache",
  auto: "Choosing the way of answering",
  collections: "Choosing collections",
  plan: "Planning",
  outline: "Outline",
  embed: "Embedding the question",
  hybrid_search: "Search",
  vector_search: "Search by meaning",
  keyword_search: "Search by keywords",
  keywords_missing: "Without keywords: the text index cannot answer",
  fuse: "Merging the searches",
  load: "Loading passages",
  rerank: "Ranking",
  compress: "Choosing passages",
  relevance: "Judging relevance",
  reflect: "Reflection",
  follow_up: "Follow-up questions",
  intermediate: "Intermediate answers",
  repair: "Asking again for a readable reply",
  context: "Putting the passages together",
  compare_written: "Comparing with what is written",
  generate: "Writing the answer",
  shorten: "Tried with too many passages",
};

const COUNTS = ["calls", "cached_calls", "failed_calls", "prompt_tokens", "completion_tokens", "embedding_tokens", "ms"];
export function stageName({ stage, runs }) {
  const name = STAGES[stage] ?? stage.charAt(0).toUpperCase() + stage.slice(1).replaceAll("_", " ");
  return runs > 1 ? `${name}, ${runs} times` : name;
}

const number = (value) => value.toLocaleString("en");

function callsText({ calls, cached_calls: cached, failed_calls: failed }) {
  return [number(calls), failed > 0 && `${number(failed)} failed`, cached > 0 && `${number(cached)} more from the cache`]
    .filter(Boolean).join(", ");
}

const COLUMNS = [
  { name: "Model calls", text: callsText, isUsed: (row) => row.calls + row.cached_calls > 0 },
  { name: "Tokens in", text: (row) => number(row.prompt_tokens), isUsed: (row) => row.prompt_tokens > 0 },
  { name: "Tokens out", text: (row) => number(row.completion_tokens), isUsed: (row) => row.completion_tokens > 0 },
  { name: "Tokens embedded", text: (row) => number(row.embedding_tokens), isUsed: (row) => row.embedding_tokens > 0 },
  { name: "Working time", text: (row) => seconds(row.ms), isUsed: () => true },
  { name: "Cost", text: (row) => (typeof row.cost === "number" ? cost(row.cost) : "not known"), isUsed: (row) => row.cost > 0 },
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
    element("thead", {}, element("tr", {}, header("col", "Stage"), ...columns.map(({ name }) => header("col", name)))),
    element("tbody", {}, ...rows.map((row) => tableRow(stageName(row), row, columns))),
    element("tfoot", {}, tableRow("Together", totalOf(rows, sum), columns)));
}

function conversationText(usage) {
  const parts = [
    count(usage.questions, "question"),
    usage.calls > 0 && count(usage.calls, "model call"),
    usage.calls > 0 && `${count(usage.prompt_tokens, "token")} in, ${number(usage.completion_tokens)} out`,
    usage.embedding_tokens > 0 && `${count(usage.embedding_tokens, "token")} embedded`,
    typeof usage.cost === "number" && usage.cost > 0 && `cost ${cost(usage.cost)}`,
  ];
  return `This conversation so far: ${parts.filter(Boolean).join(", ")}.`;
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
