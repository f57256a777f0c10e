/** How an answer was found, in numbers and names. */
import { listed, locale, t } from "./words.js";

export const decimal = (number, digits = 0) =>
  number.toLocaleString(locale, { maximumFractionDigits: digits });

export const seconds = (ms) =>
  ms < 1000 ? `${decimal(ms, ms < 10 ? 1 : 0)} ms` : `${decimal(ms / 1000, 1)} s`;

/**
 * Return an amount in the currency of the server's prices; a fraction of a cent stays
 * readable.
 */
export const cost = (amount) =>
  amount.toLocaleString(
    locale,
    amount >= 1 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 2 },
  );

const SEARCHES = {
  vector: t("meaning"),
  keyword: t("keywords"),
  beginning: t("beginning"),
  summary: t("summary"),
  figures: t("figures"),
  earlier: t("earlier answers"),
};

/** Return "meaning and keywords": the searches that found a passage. */
export const foundBy = ({ found_by: names }) =>
  listed((names ?? []).map((name) => SEARCHES[name] ?? name));
