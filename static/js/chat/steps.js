/**
 * The steps to an answer. The server says what each step does, in English; the page
 * translates it and names its kind.
 */
import { modeLabel } from "./modes.js";
import { announceSoon, element } from "../common/dom.js";
import { sourcePlace, sourceTitle } from "../common/format.js";
import { stepName } from "../common/stages.js";
import { comma, count, t } from "../common/words.js";

/**
 * What happens before the server sends the first step: most modes begin with a call of
 * the model.
 */
const BEGINNINGS = {
  auto: t("Choosing how to answer"),
  deep: t("Planning the searches"),
  chain: t("Thinking of the first question"),
  report: t("Planning the report"),
};

export const beginningText = ({ mode, attachments }) =>
  attachments.length
    ? t("Reading the attachments")
    : (BEGINNINGS[mode] ?? t("Searching the reports"));

function stepText({ name, detail }) {
  if (name === "mode") return detail.replace(/(?<=: )\w+/, (mode) => modeLabel(mode));
  // The numbers of an intermediate answer are those of its own passages, listed below
  // it.
  return name === "intermediate"
    ? detail.replace(/\s*\[\d+(?:,\s*\d+)*\]/g, "")
    : t(detail);
}

/**
 * Whether a "found" step belongs to a question. Its detail is the question, "(where)"
 * and, if it failed, ": why".
 */
function isSearchFor(question, { detail, failed }) {
  const rest = detail.startsWith(question) ? detail.slice(question.length) : null;
  return rest === "" || (failed ? /^(?: \(.*?\))?: /s : /^ \(.*\)$/s).test(rest ?? "");
}

/** Return "2 sources (Kenya)", "failed: No answer within 20 s." */
function foundText({ detail, failed, sources }, question) {
  const outcome = failed
    ? t("failed")
    : sources.length
      ? count(sources.length, "source")
      : t("nothing found");
  const rest = detail.startsWith(question)
    ? detail.slice(question.length).replace(/^[\s:]+/, "")
    : "";
  return [outcome, rest].filter(Boolean).join(rest.startsWith("(") ? " " : ": ");
}

/** Yield the ids of elements of the page. */
function* stepIds() {
  for (let number = 1; ; number += 1) yield `step-${number}`;
}
const ids = stepIds();
const newId = () => ids.next().value;

/**
 * A question that is searched for, with the outcome. `round`: the questions planned
 * together with it, if any.
 */
class SubQuestion {
  isSettled = false;
  failed = false;
  /** @type {HTMLElement} */
  node;
  #status = element("span", { className: "question-status" });

  /** Without a node, it becomes an item of a list. */
  constructor(text, round, node = null) {
    Object.assign(this, {
      text,
      round,
      node: node ?? element("li", { className: "sub-question" }),
    });
    this.id = node?.querySelector(".step-text").id ?? newId();
    if (!node)
      this.node.append(
        element("h5", { className: "question-text", id: this.id, text }),
      );
    this.node.append(" ", this.#status);
    round?.push(this);
  }

  say(text) {
    this.#status.textContent = text && `– ${text}`;
  }
}

/**
 * Steps that every answer has: the line above the answer shows them, a list of these
 * alone would add nothing.
 */
const PLAIN = new Set([
  "attachments",
  "search",
  "compress",
  "relevance",
  "generate",
  "shorten",
  "verify",
]);
const SPLITTING = new Set(["plan", "reflect"]);

/**
 * The list of steps: open while the answer is prepared, folded afterwards, unless the
 * person decides otherwise.
 */
export class StepsView {
  #root;
  #list;
  #held = [];
  #steps = 0;
  /** @type {any[]} */
  #questions = [];
  #found = new Set();
  /** The source of each button. */
  #sources = new Map();

  constructor(root) {
    this.#root = root;
    this.#list = root.querySelector(".steps-list");
    root.querySelector("summary").addEventListener("click", () => {
      root.dataset.chosen = "true";
    });
  }

  get isShown() {
    return !this.#root.hidden;
  }

  source(button) {
    return this.#sources.get(button);
  }

  add(step) {
    if (step.name === "condense") return;
    this.#held.push(step);
    if (!this.isShown) {
      if (PLAIN.has(step.name) && !step.failed) return;
      this.#root.hidden = false;
      this.#root.open = true;
      this.#root.classList.add("running");
    }
    for (const held of this.#held.splice(0)) this.#show(held);
  }

  #say(text) {
    if (!this.isShown) return;
    this.#root.querySelector(".steps-summary").textContent = text;
    announceSoon(text);
  }

  fold() {
    if (!this.#root.dataset.chosen && !this.#root.contains(document.activeElement))
      this.#root.open = false;
  }

  /** `path`: all steps, for an answer that came without them. */
  finish({ path = [], citations = [] } = {}) {
    if (!this.isShown) {
      this.#held = [];
      for (const step of path) this.add(step);
    }
    if (!this.isShown) return;
    this.#root.classList.remove("running");
    for (const question of this.#questions) {
      const isRoundSearched = question.round?.some(({ isSettled }) => isSettled);
      if (!question.isSettled) question.say(isRoundSearched ? t("not searched") : "");
    }
    this.#numberSources(citations);
    this.#root.querySelector(".steps-summary").textContent = this.#summary();
  }

  #numberSources(citations) {
    const numbers = new Map(citations.map(({ chunk_id: id, number }) => [id, number]));
    for (const [button, { chunk_id: id }] of this.#sources) {
      if (numbers.has(id)) {
        button.prepend(
          element(
            "span",
            { className: "source-number" },
            element("span", { className: "visually-hidden", text: `${t("Source")} ` }),
            numbers.get(id),
          ),
          " ",
        );
      }
    }
  }

  /** Return "5 steps, 3 sub-questions (1 failed), 4 sources". */
  #summary() {
    const searched = this.#questions.filter(
      ({ isSettled, round }) => isSettled && round,
    );
    const failed = searched.filter((question) => question.failed).length;
    return [
      count(this.#steps, "step"),
      searched.length &&
        count(searched.length, "sub-question") +
          (failed ? ` (${t("{number} failed", { number: failed })})` : ""),
      this.#found.size && count(this.#found.size, "source"),
    ]
      .filter(Boolean)
      .join(comma);
  }

  #show(step) {
    const { name, detail, failed, sources } = step;
    if (name === "found") return this.#showFound(step);
    // The section that is being written is shown already.
    if (
      name === "generate" &&
      !failed &&
      this.#list.lastElementChild?.dataset.step === "section"
    )
      return;
    this.#steps += 1;
    const id = newId();
    const [label, text] = [stepName(name), stepText(step)];
    const item = element(
      "li",
      { className: "step", "data-step": name },
      element("h4", {
        className: "step-label",
        text:
          failed && name !== "budget" ? t("{name} (failed)", { name: label }) : label,
      }),
      " ",
      element("p", { className: "step-text", id, text }),
    );
    item.classList.toggle("failed", failed);
    this.#list.append(item);
    this.#showSources(sources, item, id);
    this.#showItems(step, item);
    this.#say(
      name === "section" ? t("Writing: {title}", { title: detail }) : text || label,
    );
  }

  #showItems({ name, detail, failed, items }, item) {
    if (name === "follow_up" && !failed)
      this.#questions.push(new SubQuestion(detail, [], item));
    else if (items.length && SPLITTING.has(name)) {
      const round = [];
      const questions = items.map((question) => new SubQuestion(question, round));
      this.#questions.push(...questions);
      item.append(
        element(
          "ol",
          { className: "sub-questions", role: "list" },
          ...questions.map(({ node }) => node),
        ),
      );
    } else if (items.length) {
      item.append(
        element(
          "ul",
          { className: "step-items" },
          ...items.map((one) => element("li", { text: one })),
        ),
      );
    }
  }

  #showSources(sources, item, labelId) {
    if (!sources.length) return;
    const buttons = sources.map((source) => {
      const place = sourcePlace(source);
      const button = element(
        "button",
        { type: "button", className: "step-source", "data-chunk": source.chunk_id },
        element("span", { className: "source-title", text: sourceTitle(source) }),
        place && " ",
        element("span", { className: "source-place", text: place }),
      );
      this.#sources.set(button, source);
      return element("li", {}, button);
    });
    item.append(
      element(
        "ul",
        { className: "step-sources", role: "list", "aria-labelledby": labelId },
        ...buttons,
      ),
    );
  }

  #showFound(step) {
    // One question may begin with another: the longest match is meant.
    const [match] = this.#questions
      .filter(({ isSettled, text }) => !isSettled && isSearchFor(text, step))
      .toSorted((one, other) => other.text.length - one.text.length);
    const question = match ?? this.#addQuestion(step);
    Object.assign(question, { isSettled: true, failed: step.failed });
    question.node.classList.toggle("failed", step.failed);
    question.say(foundText(step, question.text));
    this.#showSources(step.sources, question.node, question.id);
    for (const { chunk_id: id } of step.sources) this.#found.add(id);
    const { round } = question;
    if (!round) return;
    for (const other of round) if (!other.isSettled) other.say(t("searching …"));
    this.#say(
      t("{settled} of {questions} searched", {
        settled: round.filter(({ isSettled }) => isSettled).length,
        questions: count(round.length, "sub-question"),
      }),
    );
  }

  /** Add a question that nobody planned, such as the whole one, to the current step. */
  #addQuestion({ detail }) {
    if (!this.#list.lastElementChild) {
      this.#show({
        name: "search",
        detail: t("Searching the reports"),
        items: [],
        sources: [],
        failed: false,
      });
    }
    const step = this.#list.lastElementChild;
    const list =
      step.querySelector(".sub-questions") ??
      step.appendChild(element("ol", { className: "sub-questions", role: "list" }));
    const question = new SubQuestion(detail, null);
    this.#questions.push(question);
    list.append(question.node);
    return question;
  }
}

const STOPPED = {
  calls: t("the limit of model calls per question was reached"),
  tokens: t("the limit of tokens per question was reached"),
  seconds: t("the time limit per question was reached"),
  model: t("the language model failed"),
};

/** Return why an answer ended early, or "". */
export const stoppedText = (reason) =>
  reason
    ? t("Stopped early: {reason}. This is the best answer so far.", {
        reason: STOPPED[reason] ?? reason,
      })
    : "";
