import { AnswerView } from "./answer.js";
import { openEvidence } from "./evidence.js";
import { askQuestion } from "../common/api.js";
import { cloneTemplate } from "../common/dom.js";
import { fromQuestionLabel, isAttachment, suggestionLabel } from "../common/format.js";

const LONG = 160;
/** Times its height when folded: what is a little longer is shown whole. */
const WORTH_FOLDING = 1.5;

/** The question above its answer, folded where it is very long; whether it takes most of the window all the same. */
export function showQuestion(turn, text) {
  const heading = turn.querySelector(".question");
  const button = turn.querySelector(".question-fold");
  const fold = (isFolded) => {
    heading.classList.toggle("folded", isFolded);
    button.setAttribute("aria-expanded", String(!isFolded));
    button.textContent = isFolded ? "Show the whole question" : "Show less of the question";
  };
  heading.textContent = text;
  heading.classList.toggle("long", text.length > LONG);
  fold(true);
  button.hidden = heading.scrollHeight <= WORTH_FOLDING * heading.clientHeight;
  if (button.hidden) fold(false);
  button.addEventListener("click", () => fold(!heading.classList.contains("folded")));
  return heading.offsetHeight > innerHeight / 2;
}

/** What helps a person, of {field, message} and {dependency, remedy}, and is not in the message already. */
function detailLines({ message, details }) {
  const listed = Array.isArray(details) ? details : [];
  const lines = listed.map(({ field, message: wrong, remedy }) => [field, wrong ?? remedy].filter(Boolean).join(": "));
  return lines.filter((line) => line && !message.includes(line));
}

function explain(error) {
  if (error.name === "AbortError") return ["Stopped. This answer is not complete."];
  if (error.code === "ingesting") return ["These reports are still being indexed. Try again in a moment."];
  return [error.message, detailLines(error)];
}

/** One question with its answer; a retry answers the same question in the same place. */
export class Turn {
  #root = cloneTemplate("turn-template");
  #blankReply = this.#reply.cloneNode(true);
  #suggested = null;
  question;
  mode;
  filters;
  page;
  attachments;
  autoScope;

  constructor(log, { question, mode, filters, page, attachments, autoScope, onRetry, onNarrow, onWiden }) {
    Object.assign(this, { question, mode, filters, page, attachments, autoScope });
    this.#root.addEventListener("click", (event) => {
      if (event.target.closest(".retry")) onRetry(this);
      if (event.target.closest(".suggestion")) onNarrow(this, this.#suggested);
      if (event.target.closest(".taken-remove")) onWiden(this);
    });
    this.#showAttached("With", attachments.map(({ name }) => name));
    log.append(this.#root);
    const isTall = showQuestion(this.#root, question);
    (isTall ? this.#reply : this.#root).scrollIntoView({ block: "start" });
  }

  get addresses() {
    return this.attachments.filter(({ url }) => url).map(({ url }) => url);
  }

  /** For an answer that needs another question first. */
  withdrawRetry() {
    this.#reply.querySelector(".retry").hidden = true;
    this.#reply.querySelector(".notice-again").hidden = false;
  }

  #showAttached(verb, names) {
    const line = this.#root.querySelector(".attached");
    line.hidden = names.length === 0;
    line.querySelector("span").textContent = `${verb} ${names.join(", ")} (not stored)`;
  }

  #showUsed({ citations }) {
    const used = citations.filter(isAttachment).map(({ document_name: name }) => name);
    if (used.length) this.#showAttached("Answered from", [...new Set(used)]);
  }

  /** The scope found in the question: it is for the person to choose it. */
  #suggest(scope) {
    this.#suggested = scope;
    if (!scope) return;
    const button = this.#reply.querySelector(".suggestion");
    button.textContent = suggestionLabel(scope);
    button.hidden = false;
  }

  /** The scope taken from the question, which can be taken away again. */
  #showTaken(scope) {
    const label = fromQuestionLabel(scope);
    if (!label) return;
    const button = this.#reply.querySelector(".taken-remove");
    button.textContent = label;
    button.setAttribute("aria-label", `Ask again without the scope from the question: ${label}`);
    this.#reply.querySelector(".taken").hidden = false;
  }

  get #reply() {
    return this.#root.querySelector(".reply");
  }

  /** Resolves to the `done` response, or to the error that ended the stream early. */
  async run(payload, signal) {
    const view = this.#startAnswer();
    const files = this.attachments.flatMap(({ file }) => file ?? []);
    try {
      for await (const { name, data } of askQuestion(payload, files, signal)) {
        if (name === "step") view.step(data);
        else if (name === "sources") view.hits(data.hits);
        else if (name === "token") view.token(data.text);
        else if (name === "done") {
          view.done(data);
          this.#showUsed(data);
          this.#suggest(data.suggested_scope);
          this.#showTaken(data.scope);
          return { response: data };
        }
      }
    } catch (error) {
      view.interrupt(...explain(error));
      return { error };
    }
  }

  #startAnswer() {
    const reply = this.#blankReply.cloneNode(true);
    this.#reply.replaceWith(reply);
    const view = new AnswerView(reply, this);
    reply.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-citation], [data-chunk]");
      if (button) openEvidence(view.sourceOf(button), button);
    });
    return view;
  }
}
