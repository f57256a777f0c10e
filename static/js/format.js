export const FIELD_LABELS = { country_name: "Country", year: "Year", type: "Report type" };

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

export function scopeLine(scope) {
  const names = Object.entries(scope.filters ?? {}).map(([field, filter]) => filterLabel(field, filter));
  if (scope.page) names.push(`page ${scope.page}`);
  return `Scope: ${names.join(" · ") || "All reports"} — ${scopeSize(scope)}`;
}

/** The scope found in a question, as an offer: all that it names, in one line. */
export function suggestionLabel({ filters, page }) {
  const names = Object.entries(filters).map(([field, filter]) => filterLabel(field, filter));
  return `Ask again about ${[...names, page && `page ${page}`].filter(Boolean).join(", ")} only`;
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
