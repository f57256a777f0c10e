/** How an answer came about, as a picture: each passage found against the threshold, and what each stage took. */
import { element } from "../common/dom.js";
import { decimal, seconds, sourcePlace, sourceTitle } from "../common/format.js";
import { count, listed, t } from "../common/words.js";

const FOUND_BY = {
  vector: t("meaning"), keyword: t("keywords"), beginning: t("beginning"), summary: t("summary"),
};
/** The scale begins here where no score is below: similarities of one language are never near zero. */
const LEAST = 0.4;

const percent = (share) => `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(1)}%`;

function bar(share, className = "") {
  const filled = element("span", { className: `bar-filled ${className}` });
  filled.style.width = percent(share);
  return element("span", { className: "bar", "aria-hidden": "true" }, filled);
}

function line(at, name) {
  const tick = element("span", { className: `tick ${name}` });
  tick.style.left = percent(at);
  return tick;
}

const how = ({ found_by: by }) => listed((by ?? []).map((name) => FOUND_BY[name] ?? name));

/** One passage: its score as a bar, the lines of the threshold over it, all of it in words, too. */
function hitRow(hit, { scale, threshold, numbers }) {
  const number = numbers.get(hit.chunk_id);
  const isLow = threshold && typeof hit.score === "number" && hit.score < threshold.start;
  const score = typeof hit.score === "number" ? bar(scale(hit.score), isLow ? "relaxed" : "") : element("span", { className: "bar" });
  if (threshold) {
    score.append(line(scale(threshold.start), "start"));
    if (threshold.relaxed) score.append(line(scale(threshold.used), "used"));
  }
  const facts = [
    typeof hit.score === "number" ? t("similarity {score}", { score: decimal(hit.score, 2) }) : t("no similarity"),
    isLow && t("below the start"),
    t("found by {searches}", { searches: how(hit) }),
    number ? t("cited as {number}", { number }) : t("not cited"),
  ];
  return element("li", { className: number ? "" : "uncited" },
    element("span", { className: "trace-name", text: sourceTitle(hit) }), " ",
    element("span", { className: "source-place", text: sourcePlace(hit) }),
    score,
    element("span", { className: "trace-facts", text: facts.filter(Boolean).join(", ") }));
}

function scaleOf(hits) {
  const least = hits.some(({ score }) => typeof score === "number" && score < LEAST) ? 0 : LEAST;
  return (score) => (score - least) / (1 - least);
}

function thresholdText(threshold) {
  if (!threshold) return "";
  const [start, used] = [decimal(threshold.start, 2), decimal(threshold.used, 2)];
  return threshold.relaxed ? t("The threshold is {start} and was lowered to {used}.", { start, used })
    : t("The threshold is {start}.", { start });
}

function stageRow({ stage, ms, ...row }, longest, nameOf) {
  const tokens = row.prompt_tokens + row.completion_tokens + row.embedding_tokens;
  const facts = [seconds(ms), tokens > 0 && count(tokens, "token")].filter(Boolean).join(", ");
  return element("li", {}, element("span", { className: "trace-name", text: nameOf({ stage, ...row }) }),
    bar(ms / longest), element("span", { className: "trace-facts", text: facts }));
}

const heading = (text) => element("h4", { text });

function pipelines(sent) {
  const text = sent.map(({ collection, pipeline }) => `${collection}: ${JSON.stringify(pipeline, null, 2)}`).join("\n\n");
  return element("details", { className: "trace-pipeline" },
    element("summary", { text: t("What was sent to MongoDB") }), element("pre", { tabindex: "0", text }));
}

/**
 * @param {HTMLElement} box
 * @param {any} answer
 * @param {(row: any) => string} nameOf a stage
 */
export function showTrace(box, { trace, citations }, nameOf) {
  const hits = trace?.hits ?? [];
  const rows = trace?.ledger ?? [];
  const numbers = new Map(citations.map(({ chunk_id: id, number }) => [id, number]));
  const context = { scale: scaleOf(hits), threshold: trace?.threshold, numbers };
  const longest = Math.max(1, ...rows.map(({ ms }) => ms));
  box.replaceChildren(
    ...(hits.length ? [heading(t("Passages found")), element("p", { className: "trace-note", text: thresholdText(trace.threshold) }),
      element("ol", { className: "trace-list" }, ...hits.map((hit) => hitRow(hit, context)))] : []),
    ...(rows.length ? [heading(t("Time of each stage")),
      element("ol", { className: "trace-list stages" }, ...rows.map((row) => stageRow(row, longest, nameOf)))] : []),
    ...(trace?.pipeline?.length ? [pipelines(trace.pipeline)] : []));
}
