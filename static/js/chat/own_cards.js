/** Small answers from own documents, for the page before the first question. */
import { getJson } from "../common/api.js";
import { MIN_YEARS } from "../common/shapes.js";

const MAX_FIGURES = 300;
const MIN_ROWS = 3;

/**
 * Return the figures of a column as rows with names: a sheet has its rows as subjects,
 * as parts of an indicator ("Donations: 2025-01") or as years of itself. The parts and
 * years of a country are no rows.
 */
function rowsOf(title, column, figures) {
  const ofTable = figures.filter(({ subject }) => subject === title);
  const parts = ofTable
    .filter(({ indicator }) => indicator !== column)
    .map((figure) => ({
      ...figure,
      subject: figure.indicator.slice(column.length + 2),
    }));
  if (parts.length) return parts;
  if (ofTable.length) return ofTable;
  return figures.filter(({ indicator }) => indicator === column);
}

/**
 * Return what the answer about a column's highest figure shows: its rows, the highest
 * first, and how it went over the years; null where figures would be added up or are of
 * several kinds.
 */
function answerOf(title, column, figures) {
  const rows = rowsOf(title, column, figures);
  const isOneUnit = new Set(rows.map(({ unit }) => unit)).size === 1;
  if (!isOneUnit || rows.length < MIN_ROWS) return null;
  const names = new Set(rows.map(({ subject }) => subject));
  const years = new Set(rows.map(({ year }) => year).filter(Boolean));
  const isSeries = names.has(title) && years.size === rows.length;
  const isListed = names.size === rows.length && ![...names].some(isOfSeveral);
  if (!isListed && !(isSeries && rows.length >= MIN_YEARS)) return null;
  const highest = rows.toSorted((one, other) => other.value - one.value);
  return {
    column,
    rows: highest,
    course: isSeries && rows.toSorted((one, other) => one.year - other.year),
  };
}

/** Rows with two names ("Baptiste: Double") are added up by the first. */
const isOfSeveral = (/** @type {string} */ name) => name.includes(": ");

/** Return the first column of a document that makes a small answer, or null. */
async function answerFrom(title) {
  const query = new URLSearchParams({ document_name: title, limit: `${MAX_FIGURES}` });
  const { figures, next } = await getJson(`/api/figures?${query}`);
  // Of a table that is cut nobody knows the highest figure.
  if (next) return null;
  const columns = Map.groupBy(figures, ({ indicator }) => indicator.split(": ")[0]);
  for (const [column, same] of columns) {
    const answer = answerOf(title, column, same);
    if (answer) return { ...answer, title, columns: [...columns.keys()] };
  }
  return null;
}

/** Return at most so many small answers, from the document that was added last on. */
export async function ownAnswers(titles, most) {
  const answers = await Promise.all(
    titles.map((title) => answerFrom(title).catch(() => null)),
  );
  return answers.filter(Boolean).slice(0, most);
}
