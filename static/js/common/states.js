/** What becomes of documents and of jobs, in words and signs. */
import { valueLabel } from "./format.js";
import { count, t } from "./words.js";

const STATUS = {
  ready: { icon: "check", text: t("Ready") },
  pending: { icon: "clock", text: t("Being indexed") },
  failed: { icon: "alert", text: t("Failed") },
  deleting: { icon: "trash", text: t("Being deleted") },
};

export const statusOf = ({ status }) => STATUS[status] ?? { icon: "clock", text: status };

export const isUnsettled = ({ status }) => status === "pending" || status === "deleting";

const SEVERAL = { country_name: t("several countries"), year: t("several years") };

/** A table whose rows have countries and years of their own has none itself. */
export function scopeValue(document, field) {
  const value = document[field];
  if (value !== null && value !== undefined && value !== "") return valueLabel(field, value);
  return (document.parts > 1 && SEVERAL[field]) || "";
}

/** Its file's name, or its address on the web. */
export const originOf = ({ source, document_name: name }) =>
  (/^https?:/.test(source) ? source : (source || name).split("/").at(-1));

const OUTCOMES = {
  added: t("Added"), replaced: t("Replaced the earlier version"), unchanged: t("Already there, unchanged"),
};

const STATES = {
  queued: () => t("Waiting to be read"),
  loading: () => t("Reading"),
  chunking: () => t("Cutting into passages"),
  embedding: ({ chunks, done_chunks: done }) => t("Embedding: {done} of {passages}", { done, passages: count(chunks, "passage") }),
  indexing: ({ chunks, done_chunks: done }) =>
    t("Indexing: {done} of {passages} can be found", { done, passages: count(chunks, "passage") }),
  waiting: ({ chunks, done_chunks: done }) => (chunks
    ? t("Waiting at {done} of {passages}", { done, passages: count(chunks, "passage") }) : t("Waiting")),
  done: ({ outcome, chunks }) => [OUTCOMES[outcome] ?? t("Ready"), chunks && count(chunks, "passage")].filter(Boolean).join(", "),
  failed: () => t("Failed"),
  cancelled: () => t("Cancelled"),
  superseded: () => t("Not used"),
};

const STATE_ICONS = { done: "check", failed: "alert", cancelled: "close", superseded: "check" };

export const stateText = (file) => [STATES[file.state]?.(file) ?? file.state, file.detail].filter(Boolean).join(": ");

export const stateIcon = (state) => STATE_ICONS[state] ?? "clock";

export const isFinished = ({ state }) => ["done", "failed", "cancelled", "superseded"].includes(state);

export function fileProgress(file) {
  if (isFinished(file)) return 1;
  return file.chunks ? file.done_chunks / file.chunks : 0;
}

/** "2 added, 1 failed". */
export function outcomeLine(files) {
  const kinds = {
    added: t("{number} added"), replaced: t("{number} replaced"), unchanged: t("{number} unchanged"),
    failed: t("{number} failed"), cancelled: t("{number} cancelled"),
    superseded: t("{number} not used"),
  };
  const kind = ({ state, outcome }) => (state === "done" ? outcome || "added" : state);
  const counts = Object.entries(kinds).map(([name, text]) => [files.filter((file) => kind(file) === name).length, text]);
  return counts.filter(([number]) => number).map(([number, text]) => text.replace("{number}", number)).join(", ");
}
