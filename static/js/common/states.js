/** Texts and icons for the states of documents and jobs. */
import { valueLabel } from "./format.js";
import { comma, count, t, translated } from "./words.js";

const STATUS = {
  ready: { icon: "check", text: t("Ready") },
  pending: { icon: "clock", text: t("Being indexed") },
  failed: { icon: "alert", text: t("Failed") },
  deleting: { icon: "trash", text: t("Being deleted") },
  deleted: { icon: "trash", text: t("In the bin") },
};

export const statusOf = ({ status }) =>
  STATUS[status] ?? { icon: "clock", text: status };
export const isUnsettled = ({ status }) =>
  status === "pending" || status === "deleting";

const SEVERAL = { country_name: t("several countries"), year: t("several years") };

/**
 * Return a document's country, year or type. A table whose rows have their own values
 * has none itself.
 */
export function scopeValue(document, field) {
  const value = document[field];
  if (value !== null && value !== undefined && value !== "")
    return valueLabel(field, value);
  return (document.parts > 1 && SEVERAL[field]) || "";
}

/** Return the name of a document's file, or its web address. */
export const originOf = ({ source, document_name: name }) =>
  /^https?:/.test(source) ? source : (source || name).split("/").at(-1);

const OUTCOMES = {
  added: { text: t("Added"), total: t("{number} added") },
  replaced: { text: t("Replaced the earlier version"), total: t("{number} replaced") },
  unchanged: {
    text: t("Already in the library, unchanged"),
    total: t("{number} unchanged"),
  },
  failed: { total: t("{number} failed") },
  cancelled: { total: t("{number} cancelled") },
  superseded: { total: t("{number} not used") },
};

const progress = (text, { chunks, done_chunks: done }) =>
  t(text, { done, passages: count(chunks, "passage") });

const STATES = {
  queued: () => t("Queued"),
  loading: ({ pages, pages_read: page }) =>
    pages ? t("Reading: page {page} of {pages}", { page, pages }) : t("Reading"),
  chunking: () => t("Splitting into passages"),
  embedding: (file) => progress(t("Embedding: {done} of {passages}"), file),
  indexing: (file) => progress(t("Indexing: {done} of {passages} searchable"), file),
  waiting: (file) =>
    file.chunks ? progress(t("Waiting at {done} of {passages}"), file) : t("Waiting"),
  done: ({ outcome, chunks }) =>
    [OUTCOMES[outcome]?.text ?? t("Ready"), chunks && count(chunks, "passage")]
      .filter(Boolean)
      .join(comma),
  failed: () => t("Failed"),
  cancelled: () => t("Cancelled"),
  superseded: () => t("Not used"),
};

export const stateText = (file) =>
  [STATES[file.state]?.(file) ?? file.state, translated(file.detail)]
    .filter(Boolean)
    .join(": ");
export const stateIcon = (state) =>
  ({ done: "check", failed: "alert", cancelled: "close", superseded: "check" })[
    state
  ] ?? "clock";
export const isFinished = ({ state }) =>
  ["done", "failed", "cancelled", "superseded"].includes(state);

/** Return "2 added, 1 failed". */
export function outcomeLine(files) {
  const outcomes = files.map(({ state, outcome }) =>
    state === "done" ? outcome || "added" : state,
  );
  const totals = Object.entries(OUTCOMES).map(([name, { total }]) => [
    outcomes.filter((outcome) => outcome === name).length,
    total,
  ]);
  return totals
    .filter(([number]) => number)
    .map(([number, total]) => total.replace("{number}", number))
    .join(comma);
}
