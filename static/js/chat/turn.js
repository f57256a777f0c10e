import { AnswerView } from "./answer.js";
import { askQuestion, resumeAnswer } from "../common/api.js";
import { cloneTemplate } from "../common/dom.js";
import { fromQuestionLabel, isAttachment, suggestionLabel } from "../common/format.js";
import { t } from "../common/words.js";

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
    button.textContent = isFolded ? t("Show the whole question") : t("Show less of the question");
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

const STOPPED = t("Stopped. This answer is not complete.");
const UNFINISHED = t("This answer was not completed.");
const BROKEN = new Set(["network", "incomplete"]);
const PAUSE_MS = 1000;

function explain(error) {
  if (error.name === "AbortError" || error.code === "cancelled") return [STOPPED];
  if (error.code === "ingesting") return [t("These reports are still being indexed. Try again in a moment.")];
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
  /** Of its answer, once the server has told it. */
  messageId = null;
  isComplete = false;
  #isTall;
  /** Whether it was written while this page looked on. */
  #isNew = false;
  #on;

  /** `on` are the page's: what to do for a button of the turn, and when its answer has begun. */
  constructor(log, { question, mode, filters, page, attachments, autoScope }, on, before = null) {
    Object.assign(this, { question, mode, filters, page, attachments, autoScope });
    this.#on = on;
    this.#root.addEventListener("click", ({ target }) => {
      if (target.closest(".retry, .regenerate")) on.retry(this);
      if (target.closest(".edit-question")) on.edit(this);
      if (target.closest(".suggestion")) on.narrow(this, this.#suggested);
      const further = target.closest(".further-question");
      if (further) on.further(further.textContent);
      if (target.closest(".taken-remove")) on.widen(this);
      const thumb = target.closest(".thumb");
      if (thumb) this.#rate(thumb);
    });
    this.#showAttached("With {names} (not stored)", attachments.map(({ name }) => name));
    log.insertBefore(this.#root, before);
    this.#isTall = showQuestion(this.#root, question);
  }

  /**
   * At the top of the window.
   * @param {ScrollBehavior} [behavior]
   */
  show(behavior = "auto") {
    (this.#isTall ? this.#reply : this.#root).scrollIntoView({ block: "start", behavior });
  }

  remove() {
    this.#root.remove();
  }

  get node() {
    return this.#root;
  }

  get addresses() {
    return this.attachments.filter(({ url }) => url).map(({ url }) => url);
  }

  /** For an answer that needs another question first. */
  withdrawRetry() {
    this.#reply.querySelector(".retry").hidden = true;
    this.#reply.querySelector(".notice-again").hidden = false;
  }

  #showAttached(text, names) {
    const line = this.#root.querySelector(".attached");
    line.hidden = names.length === 0;
    line.querySelector("span").textContent = t(text, { names: names.join(", ") });
  }

  #showUsed({ citations }) {
    const used = citations.filter(isAttachment).map(({ document_name: name }) => name);
    if (used.length) this.#showAttached("Answered from {names} (not stored)", [...new Set(used)]);
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
    const label = scope && fromQuestionLabel(scope);
    if (!label) return;
    const button = this.#reply.querySelector(".taken-remove");
    button.textContent = label;
    button.setAttribute("aria-label", t("Ask again without the scope from the question: {label}", { label }));
    this.#reply.querySelector(".taken").hidden = false;
  }

  get #reply() {
    return this.#root.querySelector(".reply");
  }

  /** Resolves to the `done` response, or to the error that ended the stream early. */
  async run(payload, signal) {
    this.messageId = null;
    const files = this.attachments.flatMap(({ file }) => file ?? []);
    const outcome = await this.#follow(askQuestion(payload, files, signal));
    // The connection was lost, not the answer.
    if (!this.messageId || !BROKEN.has(outcome.error?.code)) return outcome;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    return this.resume(this.messageId, signal);
  }

  /** The same for an answer that another page, or this one before a reload, has asked for. */
  resume(messageId, signal) {
    this.messageId = messageId;
    return this.#follow(resumeAnswer(messageId, signal));
  }

  /** An answer of before, as `/api/conversations` tells it. */
  restore({ message_id: id, answer, content, state, answered, feedback }) {
    this.messageId = id;
    const view = this.#startAnswer({ quiet: true });
    if (!state) {
      if (answer?.trace) view.hits(answer.trace.hits ?? []);
      this.#complete(view, answer ?? { response: content, answered: answered ?? true, citations: [], unsupported: [] });
      this.#showRating(feedback?.rating);
      return;
    }
    if (content) view.token(content);
    view.interrupt(state === "stopped" ? STOPPED : UNFINISHED);
  }

  async #follow(events) {
    const view = this.#startAnswer();
    this.isComplete = false;
    this.#isNew = true;
    try {
      for await (const { name, data } of events) {
        if (name === "begun") this.#begin(data);
        else if (name === "step") view.step(data);
        else if (name === "sources") view.hits(data.hits);
        else if (name === "token") view.token(data.text);
        else if (name === "done") {
          this.messageId = data.message_id;
          this.#complete(view, data);
          return { response: data };
        }
      }
    } catch (error) {
      // Who has gone elsewhere is told nothing.
      if (this.#root.isConnected) view.interrupt(...explain(error));
      return { error };
    }
  }

  #begin(begun) {
    this.messageId = begun.message_id;
    this.#on.begun(this, begun);
  }

  #complete(view, answer) {
    view.done(answer);
    this.isComplete = true;
    this.#showUsed(answer);
    this.#suggest(answer.suggested_scope);
    this.#showTaken(answer.scope);
    this.#showRating(null);
    if (this.#isNew) this.#offerFurther(answer);
  }

  async #rate(thumb) {
    const { rate } = await import("./feedback.js");
    rate(this.#reply, thumb, this.messageId, (rating) => this.#showRating(rating));
  }

  #showRating(rating) {
    const thumbs = this.#reply.querySelector(".thumbs");
    thumbs.hidden = !this.messageId || Boolean(document.body.dataset.shared);
    for (const thumb of thumbs.children) thumb.setAttribute("aria-pressed", String(thumb.dataset.rating === rating));
  }

  async #offerFurther(answer) {
    const section = this.#reply.querySelector(".further");
    const { showFurther } = await import("./further.js");
    showFurther(section, this, answer);
  }

  #startAnswer(options = {}) {
    const reply = this.#blankReply.cloneNode(true);
    this.#reply.replaceWith(reply);
    const view = new AnswerView(reply, this, options);
    reply.addEventListener("click", async ({ target }) => {
      const button = target.closest("[data-citation], [data-chunk]");
      if (!button) return;
      const source = view.sourceOf(button);
      const { openEvidence } = await import("./evidence.js");
      openEvidence(source, button);
    });
    return view;
  }
}
