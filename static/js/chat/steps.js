import { modeLabel } from "./composer.js";
import { announceSoon, element } from "../common/dom.js";
import { countSources, sourcePlace, sourceTitle } from "../common/format.js";
import { count, t } from "../common/words.js";

const LABELS = {
  attachments: t("Attachment"),
  auto: t("Way of answering"),
  mode: t("Way of answering"),
  collections: t("Collections"),
  outline: t("Outline"),
  plan: t("Plan"),
  search: t("Search"),
  found: t("Found"),
  compress: t("Passages"),
  relevance: t("Relevance"),
  reflect: t("Reflection"),
  follow_up: t("Follow-up question"),
  intermediate: t("Answer so far"),
  section: t("Section"),
  generate: t("Answer"),
  shorten: t("Shortened"),
  budget: t("Stopped early"),
};

/** What a step says where the server says nothing more. */
const WORDS = {
  collections: () => t("Choosing where to search"),
  plan: ({ length }) => (length ? t("The question in {parts}", { parts: count(length, "part") }) : t("Splitting the question")),
  search: () => t("Searching the reports"),
  relevance: () => t("Looking for the passages that matter"),
  reflect: ({ length }) => (length ? t("Still missing: {questions}", { questions: count(length, "question") }) : t("Enough was found")),
  intermediate: () => t("None yet"),
  generate: () => t("Writing the answer"),
  mode: () => t("Choosing how to answer"),
};

/** What is going on before the first step is told: most ways of answering begin with a model that thinks. */
const BEGINNINGS = {
  auto: t("Choosing how to answer"),
  deep: t("Planning the searches"),
  chain: t("Thinking of the first question"),
  report: t("Planning the report"),
};

export const beginningText = ({ mode, attachments }) =>
  (attachments.length ? t("Reading what is attached") : BEGINNINGS[mode] ?? WORDS.search());

const asWords = (name) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ");

const labelOf = (name) => LABELS[name] ?? asWords(name);

export const stepLabel = ({ name, failed }) =>
  (failed && name !== "budget" ? t("{name} (failed)", { name: labelOf(name) }) : labelOf(name));

// The numbers of a short answer are those of its own passages, which stand below it.
const withoutNumbers = (text) => text.replace(/\s*\[\d+(?:,\s*\d+)*\]/g, "");

export function stepText({ name, detail, items }) {
  if (!detail) return WORDS[name]?.(items) ?? "";
  if (name === "mode") return detail.replace(/(?<=: )\w+/, (chosen) => modeLabel(chosen));
  return name === "intermediate" ? withoutNumbers(detail) : t(detail);
}

export const activityText = (step) =>
  (step.name === "section" ? t("Writing: {title}", { title: step.detail }) : stepText(step) || stepLabel(step));

/** A search is called by its question, then the place it was narrowed to; where it failed, the reason. */
export function isSearchFor(question, { detail, failed }) {
  const more = detail.startsWith(question) ? detail.slice(question.length) : null;
  return more === "" || (failed ? /^(?: \(.*?\))?: /s : /^ \(.*\)$/s).test(more ?? "");
}

/** What came of a search; after its question the server names where it was searched, or why it failed. */
export function foundText({ detail, failed, sources }, question) {
  const outcome = failed ? t("failed") : sources.length ? countSources(sources.length) : t("nothing found");
  const more = detail.startsWith(question) ? detail.slice(question.length).replace(/^[\s:]+/, "") : "";
  return [outcome, more].filter(Boolean).join(more.startsWith("(") ? " " : ": ");
}

export const searchedText = (questions) => {
  const settled = questions.filter((question) => question.settled).length;
  return t("{settled} of {questions} searched", { settled, questions: count(questions.length, "sub-question") });
};

/** All of it in one line: "5 steps, 3 sub-questions (1 failed), 14 sources". */
export function totalText({ steps, questions, failed, sources }) {
  const parts = [
    count(steps, "step"),
    questions && count(questions, "sub-question") + (failed ? ` (${t("{number} failed", { number: failed })})` : ""),
    sources && countSources(sources),
  ];
  return parts.filter(Boolean).join(", ");
}

let ids = 0;

export const newId = () => `step-${ids += 1}`;

function sourceButton(source, shown) {
  const place = sourcePlace(source);
  const button = element("button", { type: "button", className: "step-source", "data-chunk": source.chunk_id },
    element("span", { className: "source-title", text: sourceTitle(source) }), place && " ",
    element("span", { className: "source-place", text: place }));
  shown.set(button, source);
  return element("li", {}, button);
}

export const sourceList = (sources, label, shown) =>
  element("ul", { className: "step-sources", role: "list", "aria-labelledby": label },
    ...sources.map((source) => sourceButton(source, shown)));

/** What is searched for, with what came of it; `round` are those that were thought of together, if it is one of them. */
export class SubQuestion {
  settled = false;
  failed = false;
  text;
  round;
  /** @type {HTMLElement} */
  node;
  #status = element("span", { className: "question-status" });

  constructor(text, round, node) {
    this.id = newId();
    Object.assign(this, { text, round, node });
    round?.push(this);
  }

  static item(text, round) {
    const question = new SubQuestion(text, round, element("li", { className: "sub-question" }));
    question.node.append(element("h5", { className: "question-text", id: question.id, text }), " ", question.#status);
    return question;
  }

  /** A step that is a question itself. */
  static step(text, node) {
    const question = new SubQuestion(text, [], node);
    question.id = node.querySelector(".step-text").id;
    node.append(" ", question.#status);
    return question;
  }

  say(text) {
    this.#status.textContent = text && `– ${text}`;
  }

  settle(step, shown) {
    this.settled = true;
    this.failed = step.failed;
    this.node.classList.toggle("failed", step.failed);
    this.say(foundText(step, this.text));
    if (step.sources.length) this.node.append(sourceList(step.sources, this.id, shown));
  }
}

/** What every answer does: the line above it says so, a list of these would say no more. */
const PLAIN = new Set(["attachments", "search", "compress", "relevance", "generate", "shorten"]);
const SPLITTING = new Set(["plan", "reflect"]);

const isPlain = ({ name, failed }) => PLAIN.has(name) && !failed;

/** How an answer comes about, step by step: open while it does, folded then, unless the person decides otherwise. */
export class StepsView {
  #root;
  #list;
  #held = [];
  #steps = 0;
  #questions = [];
  #found = new Set();
  #shown = new Map();

  constructor(root) {
    this.#root = root;
    this.#list = root.querySelector(".steps-list");
    root.querySelector("summary").addEventListener("click", () => { root.dataset.chosen = "true"; });
  }

  get isShown() {
    return !this.#root.hidden;
  }

  source(button) {
    return this.#shown.get(button);
  }

  add(step) {
    if (step.name === "condense") return;
    this.#held.push(step);
    if (!this.isShown && isPlain(step)) return;
    if (!this.isShown) this.#open();
    for (const held of this.#held.splice(0)) this.#show(held);
  }

  /** What is going on, for all who look and for those who listen. */
  say(text) {
    if (!this.isShown) return;
    this.#root.querySelector(".steps-summary").textContent = text;
    announceSoon(text);
  }

  /** The answer arrives below. */
  fold() {
    const isUsed = this.#root.dataset.chosen || this.#root.contains(document.activeElement);
    if (!isUsed) this.#root.open = false;
  }

  /** `path`: all steps, for an answer that came without them. */
  finish({ path = [], citations = [] } = {}) {
    if (!this.isShown) {
      this.#held = [];
      for (const step of path) this.add(step);
      this.#held = [];
    }
    if (!this.isShown) return;
    this.#root.classList.remove("running");
    for (const question of this.#questions) if (!question.settled) question.say(this.#isSearched(question) ? t("not searched") : "");
    this.#number(citations);
    const settled = this.#questions.filter((question) => question.settled && question.round);
    this.#root.querySelector(".steps-summary").textContent = totalText({
      steps: this.#steps,
      questions: settled.length,
      failed: settled.filter((question) => question.failed).length,
      sources: this.#found.size,
    });
  }

  #open() {
    this.#root.hidden = false;
    this.#root.open = true;
    this.#root.classList.add("running");
  }

  #show(step) {
    if (step.name === "found") return this.#showFound(step);
    // That a section is being written is said already.
    if (step.name === "generate" && !step.failed && this.#list.lastElementChild?.dataset.step === "section") return;
    this.#steps += 1;
    const id = newId();
    const item = element("li", { className: "step", "data-step": step.name },
      element("h4", { className: "step-label", text: stepLabel(step) }), " ",
      element("p", { className: "step-text", id, text: stepText(step) }));
    item.classList.toggle("failed", step.failed);
    this.#list.append(item);
    if (step.sources.length) item.append(sourceList(step.sources, id, this.#shown));
    if (step.name === "follow_up" && !step.failed) this.#questions.push(SubQuestion.step(step.detail, item));
    else this.#showItems(step, item);
    this.say(activityText(step));
  }

  #showItems({ name, items }, item) {
    if (!items.length) return;
    if (!SPLITTING.has(name)) {
      item.append(element("ul", { className: "step-items" }, ...items.map((text) => element("li", { text }))));
      return;
    }
    const round = [];
    const questions = items.map((text) => SubQuestion.item(text, round));
    this.#questions.push(...questions);
    item.append(element("ol", { className: "sub-questions", role: "list" }, ...questions.map(({ node }) => node)));
  }

  #showFound(step) {
    const question = this.#openQuestion(step) ?? this.#anotherQuestion(step);
    question.settle(step, this.#shown);
    for (const { chunk_id: id } of step.sources) this.#found.add(id);
    if (!question.round) return;
    for (const other of question.round) if (!other.settled) other.say(t("searching …"));
    this.say(searchedText(question.round));
  }

  /** The one that is still open and was searched for; the longest, where one begins like another. */
  #openQuestion(step) {
    const open = this.#questions.filter((question) => !question.settled && isSearchFor(question.text, step));
    return open.toSorted((one, other) => other.text.length - one.text.length)[0];
  }

  /** Searched beside them (the whole question, say): it stands under the step that is under way. */
  #anotherQuestion({ detail }) {
    if (!this.#list.lastElementChild) this.#show({ name: "search", detail: "", items: [], sources: [], failed: false });
    const step = this.#list.lastElementChild;
    const list = step.querySelector(".sub-questions")
      ?? step.appendChild(element("ol", { className: "sub-questions", role: "list" }));
    const question = SubQuestion.item(detail, null);
    this.#questions.push(question);
    list.append(question.node);
    return question;
  }

  #isSearched({ round }) {
    return round?.some((question) => question.settled);
  }

  /** The numbers under which the answer cites them. */
  #number(citations) {
    const numbers = new Map(citations.map(({ chunk_id: id, number }) => [id, number]));
    for (const [button, { chunk_id: id }] of this.#shown) {
      if (!numbers.has(id)) continue;
      button.prepend(element("span", { className: "source-number" },
        element("span", { className: "visually-hidden", text: `${t("Source")} ` }), numbers.get(id)), " ");
    }
  }
}

const STOPPED = {
  calls: t("all model calls that one question may make are used up"),
  tokens: t("all tokens that one question may use are used up"),
  seconds: t("the time for one question is over"),
  model: t("the language model failed"),
};

/** Why an answer ended before its end; "" where it did not. */
export const stoppedText = (by) =>
  (by ? t("Stopped early: {reason}. This is the best answer so far.", { reason: STOPPED[by] ?? by }) : "");
