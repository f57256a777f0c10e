/**
 * How an answer was found: each passage against the threshold, and the time, model
 * calls and tokens of each stage.
 */
import { element, showText } from "../common/dom.js";
import { sourcePlace, sourceTitle } from "../common/format.js";
import { cost, decimal, foundBy, seconds } from "../common/measures.js";
import { stageLabel } from "../common/stages.js";
import { comma, count, t } from "../common/words.js";

function stageName({ stage, runs }) {
  const name = stageLabel(stage);
  return runs > 1 ? t("{name}, {runs} times", { name, runs }) : name;
}

/** The columns of the table; those that no stage uses are left out. */
const COLUMNS = [
  {
    name: t("Model calls"),
    isUsed: (row) => row.calls + row.cached_calls > 0,
    text: (row) =>
      [
        decimal(row.calls),
        row.failed_calls > 0 &&
          t("{number} failed", { number: decimal(row.failed_calls) }),
        row.cached_calls > 0 &&
          t("{number} more from the cache", { number: decimal(row.cached_calls) }),
      ]
        .filter(Boolean)
        .join(comma),
  },
  ...[
    ["prompt_tokens", t("Tokens in")],
    ["completion_tokens", t("Tokens out")],
    ["embedding_tokens", t("Tokens embedded")],
  ].map(([field, name]) => ({
    name,
    text: (row) => decimal(row[field]),
    isUsed: (row) => row[field] > 0,
  })),
  { name: t("Working time"), text: (row) => seconds(row.ms), isUsed: () => true },
  {
    name: t("Cost"),
    text: (row) => (typeof row.cost === "number" ? cost(row.cost) : t("unknown")),
    isUsed: (row) => row.cost > 0,
  },
];
const SUMMED = [
  "calls",
  "cached_calls",
  "failed_calls",
  "prompt_tokens",
  "completion_tokens",
  "embedding_tokens",
  "ms",
];

function showStages(table, rows, totalCost) {
  const columns = COLUMNS.filter(({ isUsed }) => rows.some(isUsed));
  const head = (kind, text) => element("th", { scope: kind, text });
  const line = (name, row) =>
    element(
      "tr",
      {},
      head("row", name),
      ...columns.map(({ text }) => element("td", { text: text(row) })),
    );
  const total = Object.fromEntries(
    SUMMED.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)]),
  );
  table.replaceChildren(
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        head("col", t("Stage")),
        ...columns.map(({ name }) => head("col", name)),
      ),
    ),
    element("tbody", {}, ...rows.map((row) => line(stageName(row), row))),
    element("tfoot", {}, line(t("Total"), { ...total, cost: totalCost })),
  );
}

/**
 * Return "This conversation so far: 3 questions, 14 model calls, 31,044 tokens in,
 * 1,204 out."
 */
function conversationText(usage) {
  const parts = [
    count(usage.questions, "question"),
    usage.calls > 0 && count(usage.calls, "model call"),
    usage.calls > 0 &&
      t("{tokens} in, {out} out", {
        tokens: count(usage.prompt_tokens, "token"),
        out: decimal(usage.completion_tokens),
      }),
    usage.embedding_tokens > 0 &&
      t("{tokens} embedded", { tokens: count(usage.embedding_tokens, "token") }),
    usage.cost > 0 && t("cost {cost}", { cost: cost(usage.cost) }),
  ];
  return t("This conversation so far: {parts}.", {
    parts: parts.filter(Boolean).join(comma),
  });
}

/**
 * Where the scale of similarities begins, unless one is lower: within a language they
 * are never near zero.
 */
const SCALE_START = 0.4;

const percent = (share) => `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(1)}%`;

/** Draw a share as a bar, with lines at other shares over it. */
function bar(share, className = "", lines = {}) {
  const filled = element("span", { className: `bar-filled ${className}` });
  filled.style.width = percent(share);
  return element(
    "span",
    { className: "bar", "aria-hidden": "true" },
    filled,
    ...Object.entries(lines).map(([name, place]) => {
      const tick = element("span", { className: `tick ${name}` });
      tick.style.insetInlineStart = percent(place);
      return tick;
    }),
  );
}

function hitRow(hit, number, threshold, scale) {
  const isScored = typeof hit.score === "number";
  const isLow = threshold && isScored && hit.score < threshold.start;
  const lines = {
    ...(threshold && { start: scale(threshold.start) }),
    ...(threshold?.relaxed && { used: scale(threshold.used) }),
  };
  const facts = [
    isScored
      ? t("similarity {score}", { score: decimal(hit.score, 2) })
      : t("no similarity"),
    isLow && t("below the threshold"),
    t("found by {searches}", { searches: foundBy(hit) }),
    number ? t("cited as {number}", { number }) : t("not cited"),
  ];
  return element(
    "li",
    { className: number ? "" : "uncited" },
    element("span", { className: "trace-name", text: sourceTitle(hit) }),
    " ",
    element("span", { className: "source-place", text: sourcePlace(hit) }),
    bar(isScored ? scale(hit.score) : 0, isLow ? "relaxed" : "", lines),
    element("span", {
      className: "trace-facts",
      text: facts.filter(Boolean).join(comma),
    }),
  );
}

/** Return what the threshold was; "" for figures, which are found without one. */
function thresholdNote(threshold) {
  if (!threshold) return "";
  const values = {
    start: decimal(threshold.start, 2),
    used: decimal(threshold.used, 2),
  };
  return threshold.relaxed
    ? t("The threshold is {start} and was lowered to {used}.", values)
    : t("The threshold is {start}.", values);
}

function hitList({ hits, threshold }, citations) {
  if (!hits?.length) return [];
  const numbers = new Map(citations.map(({ chunk_id: id, number }) => [id, number]));
  const least = hits.some(
    ({ score }) => typeof score === "number" && score < SCALE_START,
  )
    ? 0
    : SCALE_START;
  const scale = (score) => (score - least) / (1 - least);
  return [
    element("h4", { text: t("Passages found") }),
    element("p", { className: "trace-note", text: thresholdNote(threshold) }),
    element(
      "ol",
      { className: "trace-list" },
      ...hits.map((hit) => hitRow(hit, numbers.get(hit.chunk_id), threshold, scale)),
    ),
  ];
}

function stageList({ ledger: rows }) {
  const longest = Math.max(1, ...rows.map(({ ms }) => ms));
  return [
    element("h4", { text: t("Time of each stage") }),
    element(
      "ol",
      { className: "trace-list stages" },
      ...rows.map((row) => {
        const tokens = row.prompt_tokens + row.completion_tokens + row.embedding_tokens;
        const facts = [seconds(row.ms), tokens > 0 && count(tokens, "token")]
          .filter(Boolean)
          .join(comma);
        return element(
          "li",
          {},
          element("span", { className: "trace-name", text: stageName(row) }),
          bar(row.ms / longest),
          element("span", { className: "trace-facts", text: facts }),
        );
      }),
    ),
  ];
}

function pipelines({ pipeline }) {
  if (!pipeline?.length) return [];
  const text = pipeline
    .map((sent) => `${sent.collection}: ${JSON.stringify(sent.pipeline, null, 2)}`)
    .join("\n\n");
  return [
    element(
      "details",
      { className: "trace-pipeline" },
      element("summary", { text: t("Query sent to MongoDB") }),
      element("pre", { tabindex: "0", text }),
    ),
  ];
}

/** Fill the fold below an answer, whose trace has at least one stage. */
export function showTrace(fold, { trace, citations, conversation_usage: usage }) {
  fold
    .querySelector(".trace")
    .replaceChildren(
      ...hitList(trace, citations),
      ...stageList(trace),
      ...pipelines(trace),
    );
  // A refusal without a search has no stages.
  fold.querySelector(".ledger-box").hidden = !trace.ledger?.length;
  if (trace.ledger?.length)
    showStages(fold.querySelector("table"), trace.ledger, trace.cost);
  fold.querySelector(".ledger-note").hidden = !trace.cached;
  showText(
    fold.querySelector(".conversation-line"),
    usage ? conversationText(usage) : "",
  );
}
