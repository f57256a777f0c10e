/** The names of the steps to an answer, and of the stages in its trace. */
import { t } from "./words.js";

const LABELS = {
  attachments: t("Attachment"),
  auto: t("Answer mode"),
  mode: t("Answer mode"),
  collections: t("Collections"),
  outline: t("Outline"),
  plan: t("Plan"),
  search: t("Search"),
  found: t("Found"),
  compress: t("Passages"),
  order: t("Order"),
  relevance: t("Relevance"),
  reflect: t("Reflection"),
  follow_up: t("Follow-up question"),
  intermediate: t("Answer so far"),
  section: t("Section"),
  generate: t("Answer"),
  shorten: t("Shortened"),
  budget: t("Stopped early"),
};

/** Return the name of a step, or of a stage in the trace. */
export const stepName = (name) =>
  LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

/** Stages that are not steps as well. */
const STAGES = {
  condense_rule: t("Reading the conversation, without a model"),
  condense_model: t("Reading the conversation"),
  cache: t("From the cache"),
  embed: t("Embedding the question"),
  hybrid_search: t("Search"),
  vector_search: t("Search by meaning"),
  keyword_search: t("Search by keywords"),
  keywords_missing: t("Without keyword search: no text index"),
  fuse: t("Merging the searches"),
  load: t("Loading passages"),
  rerank: t("Ranking"),
  repair: t("Asking again after an unreadable reply"),
  context: t("Combining the passages"),
  compare_written: t("Comparing with the earlier sections"),
};

export const stageLabel = (stage) => STAGES[stage] ?? stepName(stage);
