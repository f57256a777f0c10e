export const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export const scopeSize = ({ documents, chunks }) =>
  `${count(documents, "report")}, ${count(chunks, "passage")}`;

export const countSources = (number) => count(number, "source");

export function valueLabel(field, value) {
  if (field !== "type") return String(value);
  const words = String(value).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function filterLabel(field, filter) {
  if (Array.isArray(filter)) return filter.map((value) => valueLabel(field, value)).join(", ");
  if (typeof filter !== "object") return valueLabel(field, filter);
  return `${filter.gte ?? ""}–${filter.lte ?? ""}`;
}

/** One name for each field; a year is an edition here, not the year of a figure. */
function scopeName(field, filter) {
  const label = filterLabel(field, filter);
  if (field !== "year") return label;
  return `${label.length > 4 ? "reports" : "report"} of ${label}`;
}

export const scopeNames = (filters) => Object.entries(filters ?? {}).map(([field, filter]) => scopeName(field, filter));

/** "Kenya (from your question) · report of 2023 (chosen)". */
export function scopeLine(scope, chosen = {}) {
  const taken = scope.from_question ?? {};
  const names = Object.entries(scope.filters ?? {}).map(([field, filter]) => {
    const origin = field in taken ? " (from your question)" : field in chosen ? " (chosen)" : "";
    return `${scopeName(field, filter)}${origin}`;
  });
  if (scope.page) names.push(`page ${scope.page}`);
  return `Scope: ${names.join(" · ") || "All reports"} — ${scopeSize(scope)}`;
}

/** What of the scope nobody chose; empty where all of it was chosen. */
export const fromQuestionLabel = ({ from_question: taken }) => scopeNames(taken).join(" · ");

/** The scope found in a question, as an offer: all that it names, in one line. */
export function suggestionLabel({ filters, page }) {
  return `Ask again about ${[...scopeNames(filters), page && `page ${page}`].filter(Boolean).join(", ")} only`;
}

export const decimal = (number, digits) => number.toLocaleString("en", { maximumFractionDigits: digits });

/** Milliseconds as people count time. */
export const seconds = (ms) => (ms < 1000 ? `${decimal(ms, ms < 10 ? 1 : 0)} ms` : `${decimal(ms / 1000, 1)} s`);

/** In the currency of the server's price table; a fraction of a cent stays readable. */
export const cost = (amount) =>
  amount.toLocaleString("en", amount >= 1 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 2 });

export const sourceTitle = (source) => source.title || source.document_name;

export const sourcePlace = (source) =>
  [source.section, source.page && `page ${source.page}`].filter(Boolean).join(", ");

/** What was attached to the question: the server keeps nothing of it, its text is all in the answer. */
export const isAttachment = ({ chunk_id: id }) => String(id).startsWith("attachment-");

const UNITS = ["bytes", "kB", "MB", "GB"];

/** A megabyte is 1024 kilobytes, as in the server's limit. */
export function bytes(number) {
  const power = Math.min(Math.floor(Math.log2(Math.max(number, 1)) / 10), UNITS.length - 1);
  const value = number / 1024 ** power;
  return `${value.toLocaleString("en", { maximumFractionDigits: value < 10 && power ? 1 : 0 })} ${UNITS[power]}`;
}

/** A day, or with `time` the minute; empty for what is no date. */
export function when(iso, time = false) {
  const date = new Date(iso);
  if (!iso || Number.isNaN(date.getTime())) return "";
  /** @type {Intl.DateTimeFormatOptions} */
  const day = { day: "numeric", month: "short", year: "numeric" };
  return date.toLocaleString("en-GB", time ? { ...day, hour: "2-digit", minute: "2-digit" } : day);
}

const STATUS = {
  ready: { icon: "check", text: "Ready" },
  pending: { icon: "clock", text: "Being indexed" },
  failed: { icon: "alert", text: "Failed" },
  deleting: { icon: "trash", text: "Being deleted" },
};

export const statusOf = ({ status }) => STATUS[status] ?? { icon: "clock", text: status };

export const isUnsettled = ({ status }) => status === "pending" || status === "deleting";

const SEVERAL = { country_name: "several countries", year: "several years" };

/** A table whose rows have countries and years of their own has none itself. */
export function scopeValue(document, field) {
  const value = document[field];
  if (value !== null && value !== undefined && value !== "") return valueLabel(field, value);
  return (document.parts > 1 && SEVERAL[field]) || "";
}

/** Its file's name, or its address on the web. */
export const originOf = ({ source, document_name: name }) =>
  (/^https?:/.test(source) ? source : (source || name).split("/").at(-1));

const OUTCOMES = { added: "Added", replaced: "Replaced the earlier version", unchanged: "Already there, unchanged" };

const STATES = {
  queued: () => "Waiting to be read",
  loading: () => "Reading",
  chunking: () => "Cutting into passages",
  embedding: ({ chunks, done_chunks: done }) => `Embedding: ${done} of ${count(chunks, "passage")}`,
  indexing: ({ chunks, done_chunks: done }) => `Indexing: ${done} of ${count(chunks, "passage")} can be found`,
  waiting: ({ chunks, done_chunks: done }) => `Waiting${chunks ? ` at ${done} of ${count(chunks, "passage")}` : ""}`,
  done: ({ outcome, chunks }) => [OUTCOMES[outcome] ?? "Ready", chunks && count(chunks, "passage")].filter(Boolean).join(", "),
  failed: () => "Failed",
  cancelled: () => "Cancelled",
};

const STATE_ICONS = { done: "check", failed: "alert", cancelled: "close" };

export const stateText = (file) => [STATES[file.state]?.(file) ?? file.state, file.detail].filter(Boolean).join(": ");

export const stateIcon = (state) => STATE_ICONS[state] ?? "clock";

export const isFinished = ({ state }) => ["done", "failed", "cancelled"].includes(state);

export function fileProgress(file) {
  if (isFinished(file)) return 1;
  return file.chunks ? file.done_chunks / file.chunks : 0;
}

/** "2 added, 1 failed". */
export function outcomeLine(files) {
  const kinds = ["added", "replaced", "unchanged", "failed", "cancelled"];
  const kind = ({ state, outcome }) => (state === "done" ? outcome || "added" : state);
  const counts = kinds.map((name) => [files.filter((file) => kind(file) === name).length, name]);
  return counts.filter(([number]) => number).map(([number, name]) => `${number} ${name}`).join(", ");
}

const DAY_MS = 86_400_000;

/** "Today", "Yesterday", "Previous 7 days", "October 2026": where a list puts what was last changed then. */
export function dayLabel(iso, now = new Date()) {
  const then = new Date(iso);
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = Math.ceil((midnight - then.getTime()) / DAY_MS);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days <= 7) return "Previous 7 days";
  return then.toLocaleDateString("en", { month: "long", year: "numeric" });
}
