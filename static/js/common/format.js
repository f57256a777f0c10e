import { count, language, t } from "./words.js";

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
  return label.length > 4 ? t("reports of {years}", { years: label }) : t("report of {year}", { year: label });
}

export const scopeNames = (filters) => Object.entries(filters ?? {}).map(([field, filter]) => scopeName(field, filter));

const pageName = ({ page }) => page && t("page {page}", { page });

/** "Kenya (from your question) · report of 2023 (chosen)". */
export function scopeLine(scope, chosen = {}) {
  const taken = scope.from_question ?? {};
  const names = Object.entries(scope.filters ?? {}).map(([field, filter]) => {
    const origin = field in taken ? ` (${t("from your question")})` : field in chosen ? ` (${t("chosen")})` : "";
    return `${scopeName(field, filter)}${origin}`;
  });
  names.push(...scope.collections ?? []);
  if (scope.page) names.push(pageName(scope));
  return t("Scope: {names} — {size}", { names: names.join(" · ") || t("All reports"), size: scopeSize(scope) });
}

/** What of the scope nobody chose; empty where all of it was chosen. */
export const fromQuestionLabel = ({ from_question: taken }) => scopeNames(taken).join(" · ");

/** The scope found in a question, as an offer: all that it names, in one line. */
export function suggestionLabel({ filters, page }) {
  return t("Ask again about {names} only", { names: [...scopeNames(filters), pageName({ page })].filter(Boolean).join(", ") });
}

export const decimal = (number, digits) => number.toLocaleString(language, { maximumFractionDigits: digits });

/** Milliseconds as people count time. */
export const seconds = (ms) => (ms < 1000 ? `${decimal(ms, ms < 10 ? 1 : 0)} ms` : `${decimal(ms / 1000, 1)} s`);

/** In the currency of the server's price table; a fraction of a cent stays readable. */
export const cost = (amount) =>
  amount.toLocaleString(language, amount >= 1 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 2 });

export const sourceTitle = (source) => source.title || source.document_name;

export const sourcePlace = (source) =>
  [source.section, pageName(source)].filter(Boolean).join(", ");

/** What was attached to the question: the server keeps nothing of it, its text is all in the answer. */
export const isAttachment = ({ chunk_id: id }) => String(id).startsWith("attachment-");

const UNITS = ["bytes", "kB", "MB", "GB"];

/** A megabyte is 1024 kilobytes, as in the server's limit. */
export function bytes(number) {
  const power = Math.min(Math.floor(Math.log2(Math.max(number, 1)) / 10), UNITS.length - 1);
  const value = number / 1024 ** power;
  return `${value.toLocaleString(language, { maximumFractionDigits: value < 10 && power ? 1 : 0 })} ${UNITS[power]}`;
}

/** A day, or with `time` the minute; empty for what is no date. */
export function when(iso, time = false) {
  const date = new Date(iso);
  if (!iso || Number.isNaN(date.getTime())) return "";
  /** @type {Intl.DateTimeFormatOptions} */
  const day = { day: "numeric", month: "short", year: "numeric" };
  return date.toLocaleString(language === "en" ? "en-GB" : language, time ? { ...day, hour: "2-digit", minute: "2-digit" } : day);
}

const DAY_MS = 86_400_000;

/** "Today", "Yesterday", "Previous 7 days", "October 2026": where a list puts what was last changed then. */
export function dayLabel(iso, now = new Date()) {
  const then = new Date(iso);
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = Math.ceil((midnight - then.getTime()) / DAY_MS);
  if (days <= 0) return t("Today");
  if (days === 1) return t("Yesterday");
  if (days <= 7) return t("Previous 7 days");
  return then.toLocaleDateString(language, { month: "long", year: "numeric" });
}
