import { count, countSources } from "./format.js";
import { modeLabel } from "./modes.js";

const LABELS = {
  attachments: "Attachment",
  auto: "Way of answering",
  mode: "Way of answering",
  collections: "Collections",
  outline: "Outline",
  plan: "Plan",
  search: "Search",
  found: "Found",
  compress: "Passages",
  relevance: "Relevance",
  reflect: "Reflection",
  follow_up: "Follow-up question",
  intermediate: "Answer so far",
  section: "Section",
  generate: "Answer",
  shorten: "Shortened",
  budget: "Stopped early",
};

/** What a step says where the server says nothing more. */
const WORDS = {
  collections: () => "Choosing where to search",
  plan: ({ length }) => (length ? `The question in ${count(length, "part")}` : "Splitting the question"),
  search: () => "Searching the reports",
  relevance: () => "Looking for the passages that matter",
  reflect: ({ length }) => (length ? `Still missing: ${count(length, "question")}` : "Enough was found"),
  intermediate: () => "None yet",
  generate: () => "Writing the answer",
  mode: () => "Choosing how to answer",
};

/** What is going on before the first step is told: most ways of answering begin with a model that thinks. */
const BEGINNINGS = {
  auto: "Choosing how to answer",
  deep: "Planning the searches",
  chain: "Thinking of the first question",
  report: "Planning the report",
};

export const beginningText = ({ mode, attachments }) =>
  (attachments.length ? "Reading what is attached" : BEGINNINGS[mode] ?? WORDS.search());

const asWords = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

const label = (name) => LABELS[name] ?? asWords(name);

export const stepLabel = ({ name, failed }) => (failed && name !== "budget" ? `${label(name)} (failed)` : label(name));

// The numbers of a short answer are those of its own passages, which stand below it.
const withoutNumbers = (text) => text.replace(/\s*\[\d+(?:,\s*\d+)*\]/g, "");

export function stepText({ name, detail, items }) {
  if (!detail) return WORDS[name]?.(items) ?? "";
  if (name === "mode") return detail.replace(/(?<=: )\w+/, (chosen) => modeLabel(chosen));
  return name === "intermediate" ? withoutNumbers(detail) : detail;
}

export const activityText = (step) =>
  (step.name === "section" ? `Writing: ${step.detail}` : stepText(step) || stepLabel(step));

/** A search is called by its question, then the place it was narrowed to; where it failed, the reason. */
export function isSearchFor(question, { detail, failed }) {
  const more = detail.startsWith(question) ? detail.slice(question.length) : null;
  return more === "" || (failed ? /^(?: \(.*?\))?: /s : /^ \(.*\)$/s).test(more ?? "");
}

/** What came of a search; after its question the server names where it was searched, or why it failed. */
export function foundText({ detail, failed, sources }, question) {
  const outcome = failed ? "failed" : sources.length ? countSources(sources.length) : "nothing found";
  const more = detail.startsWith(question) ? detail.slice(question.length).replace(/^[\s:]+/, "") : "";
  return [outcome, more].filter(Boolean).join(more.startsWith("(") ? " " : ": ");
}

export const searchedText = (questions) => {
  const settled = questions.filter((question) => question.settled).length;
  return `${settled} of ${count(questions.length, "sub-question")} searched`;
};

/** All of it in one line: "5 steps, 3 sub-questions (1 failed), 14 sources". */
export function totalText({ steps, questions, failed, sources }) {
  const parts = [
    count(steps, "step"),
    questions && count(questions, "sub-question") + (failed ? ` (${failed} failed)` : ""),
    sources && countSources(sources),
  ];
  return parts.filter(Boolean).join(", ");
}
