/** How scopes, sources, numbers and dates are written. */
import { comma, count, locale, t } from "./words.js";

export const scopeSize = ({ documents, chunks }) =>
  [count(documents, "report"), count(chunks, "passage")].join(comma);

/** What the page's language calls the countries, by their names in the reports. */
const countryLabels = new Map();

/** Keep the names of countries that facets of the library have. */
export function keepCountryNames({ country_name: countries = [] }) {
  for (const { value, label } of countries) countryLabels.set(value, label ?? value);
  return countryLabels.size;
}

/** Return a country, or another subject of figures, in the page's language. */
export const subjectName = (name) => countryLabels.get(name) ?? name;

export function valueLabel(field, value) {
  if (field === "country_name") return subjectName(String(value));
  if (field !== "type") return String(value);
  const words = String(value).replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Name one field of a scope. Its year is that of the report, not of a figure. */
function scopeName(field, filter) {
  const isRange = typeof filter === "object" && !Array.isArray(filter);
  const label = isRange
    ? `${filter.gte ?? ""}–${filter.lte ?? ""}`
    : [filter]
        .flat()
        .map((value) => valueLabel(field, value))
        .join(comma);
  if (field !== "year") return label;
  return label.length > 4
    ? t("reports of {years}", { years: label })
    : t("report of {year}", { year: label });
}

export const scopeNames = (filters) =>
  Object.entries(filters ?? {}).map(([field, filter]) => scopeName(field, filter));

export const pageName = ({ page }) => page && t("page {page}", { page });

/**
 * Return "Scope: Kenya (from your question) · report of 2023 (chosen) — 1 report, 90
 * passages".
 */
export function scopeLine(scope, chosen = {}, attached = []) {
  const origins = [
    [scope.from_earlier ?? {}, t("from earlier")],
    [scope.from_question ?? {}, t("from your question")],
    [chosen, t("chosen")],
  ];
  const names = Object.entries(scope.filters ?? {}).map(([field, filter]) => {
    const said = origins.filter(([fields]) => field in fields).map(([, name]) => name);
    return scopeName(field, filter) + (said.length ? ` (${said.join(comma)})` : "");
  });
  names.push(...(scope.collections ?? []));
  if (scope.page) names.push(pageName(scope));
  const whole =
    attached.length && scope.documents <= attached.length
      ? attached.map(({ name }) => name).join(comma)
      : t("All reports");
  const beside = scope.documents_beside;
  const size = scopeSize(scope);
  return t("Scope: {names} — {size}", {
    names: names.join(" · ") || whole,
    size: beside
      ? t("{size}, and {reports} without a country or year", {
          size,
          reports: count(beside, "report"),
        })
      : size,
  });
}

export function sourceTitle(source) {
  const title = source.title || source.document_name;
  return source.general ? t("General: {source}", { source: title }) : title;
}

export const ocrName = ({ confidence }) =>
  confidence &&
  t("read by OCR, {percent} %", { percent: Math.floor(100 * confidence) });

export const sourcePlace = (source) =>
  [source.section, pageName(source), ocrName(source)].filter(Boolean).join(comma);

/** Return "Kenya: Country Report 2023, Economy, page 4". */
export const sourceName = (source) =>
  [sourceTitle(source), sourcePlace(source)].filter(Boolean).join(comma);

/**
 * Whether a source was attached to the question. The server does not store it; its text
 * is in the answer.
 */
export const isAttachment = ({ chunk_id: id }) => String(id).startsWith("attachment-");

const UNITS = ["bytes", "kB", "MB", "GB"];

/** Return a size; a megabyte is 1024 kilobytes, as in the server's limit. */
export function bytes(number) {
  const power = Math.min(
    Math.floor(Math.log2(Math.max(number, 1)) / 10),
    UNITS.length - 1,
  );
  const value = number / 1024 ** power;
  return `${value.toLocaleString(locale, { maximumFractionDigits: value < 10 && power ? 1 : 0 })} ${UNITS[power]}`;
}

/** Return a day, or with `time` a minute; "" for an invalid date. */
export function when(iso, time = false) {
  const date = new Date(iso);
  if (!iso || Number.isNaN(date.getTime())) return "";
  /** @type {Intl.DateTimeFormatOptions} */
  const day = { day: "numeric", month: "short", year: "numeric" };
  return date.toLocaleString(
    locale === "en" ? "en-GB" : locale,
    time ? { ...day, hour: "2-digit", minute: "2-digit" } : day,
  );
}

const DAY_MS = 86_400_000;

/**
 * Return the heading under which a list shows a date: "Today", "Yesterday", "Previous 7
 * days", "October 2026".
 */
export function dayLabel(iso, now = new Date()) {
  const then = new Date(iso);
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = Math.ceil((midnight - then.getTime()) / DAY_MS);
  if (days <= 0) return t("Today");
  if (days === 1) return t("Yesterday");
  if (days <= 7) return t("Previous 7 days");
  return then.toLocaleDateString(locale, { month: "long", year: "numeric" });
}

/** Say how many answers of a conversation are out of date. */
export const outdatedText = (number) =>
  number > 1
    ? t("{number} answers here rest on reports that were replaced or removed since.", {
        number,
      })
    : t("One answer here rests on a report that was replaced or removed since.");
