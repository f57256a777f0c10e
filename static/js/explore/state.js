/**
 * What the explorer shows, as its address has it: indicators, subjects, years, view.
 * The picture, the files and the frame are made from the same.
 */
import { at } from "../common/api.js";

export const VIEWS = ["lines", "bars", "map", "table"];
/** Years that one query may name. */
const MAX_YEARS = 60;

/**
 * @typedef {object} ExplorerState
 * @property {string[]} indicators
 * @property {string[]} subjects countries, groups or rows of a document; none: all
 * @property {number | null} from the first year; null: the first there is
 * @property {number | null} to
 * @property {string} view one of `VIEWS`
 */

/** @returns {ExplorerState} */
export function readState(search) {
  const query = new URLSearchParams(search);
  const year = (name) =>
    /^\d{4}$/.test(query.get(name) ?? "") ? Number(query.get(name)) : null;
  const view = query.get("view");
  return {
    indicators: query.getAll("indicator"),
    subjects: query.getAll("subject"),
    from: year("from"),
    to: year("to"),
    view: VIEWS.includes(view) ? view : "lines",
  };
}

/** Return the address of a state, in a frame that of the page for frames. */
export function addressOf(
  /** @type {ExplorerState} */ { indicators, subjects, from, to, view },
  isEmbedded = false,
) {
  const query = new URLSearchParams([
    ...indicators.map((name) => ["indicator", name]),
    ...subjects.map((name) => ["subject", name]),
    ...(from ? [["from", String(from)]] : []),
    ...(to ? [["to", String(to)]] : []),
    ["view", view],
  ]);
  return at(`${isEmbedded ? "/embed/explore" : "/explore"}?${query}`);
}

/** Return the body of `POST /api/figures/query` for a state, of all years. */
export const queryOf = ({ indicators, subjects }) => ({
  indicators,
  subjects,
  every_year: true,
});

/** Return the years of a state among those that the figures have, for a file. */
export function yearsOf({ from, to }, years) {
  if (!from && !to) return [];
  return years
    .filter((year) => (!from || year >= from) && (!to || year <= to))
    .slice(-MAX_YEARS);
}
