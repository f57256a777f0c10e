import { t } from "./words.js";

/** Why an answer is no good, by the name that the server has for it. */
export const REASONS = {
  not_true: t("Not what the reports say"),
  wrong_source: t("The wrong passages"),
  incomplete: t("Incomplete"),
  not_asked: t("Not what I asked"),
  other: t("Something else"),
};
