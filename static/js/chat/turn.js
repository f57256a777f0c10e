/**
 * A question with its answer: from its form as a request or as stored, to its buttons.
 */
import { AnswerView } from "./answer.js";
import { chosenMode } from "./modes.js";
import { store } from "./store.js";
import { askQuestion, resumeAnswer } from "../common/api.js";
import { cloneTemplate } from "../common/dom.js";
import { isAttachment } from "../common/format.js";
import { comma, language, t, translated } from "../common/words.js";

/** How names of presets begin among the answer modes. */
const PRESET = "preset:";

/**
 * Return what a stored question was asked with; of its attachments only the names are
 * stored.
 */
export const storedQuestion = ({
  content,
  mode,
  preset,
  scope: filters,
  collections,
  page,
  auto_scope: autoScope,
  without_earlier: withoutEarlier,
  attached,
}) => ({
  question: content,
  mode: preset ? PRESET + preset : (mode ?? chosenMode()),
  filters: { ...filters, ...(collections?.length && { collections }) },
  page: page ?? undefined,
  autoScope,
  withoutEarlier,
  attachments: (attached ?? []).map((name) => ({ name })),
});

const LONG_QUESTION = 160;
/** A question that is only a little taller than its folded height is not folded. */
const WORTH_FOLDING = 1.5;

/**
 * Show the question, folded if it is very long. Returns whether it still takes most of
 * the window.
 */
function showQuestion(root, text) {
  const heading = root.querySelector(".question");
  const button = root.querySelector(".question-fold");
  const fold = (isFolded) => {
    heading.classList.toggle("folded", isFolded);
    button.setAttribute("aria-expanded", String(!isFolded));
    button.textContent = isFolded
      ? t("Show the whole question")
      : t("Show less of the question");
  };
  heading.textContent = text;
  heading.classList.toggle("long", text.length > LONG_QUESTION);
  fold(true);
  button.hidden = heading.scrollHeight <= WORTH_FOLDING * heading.clientHeight;
  if (button.hidden) fold(false);
  button.addEventListener("click", () => fold(!heading.classList.contains("folded")));
  return heading.offsetHeight > innerHeight / 2;
}

const STOPPED = t("Stopped. This answer is not complete.");

/**
 * Messages for readers, who can do nothing about it: the server names settings and
 * packages.
 */
const UNAVAILABLE = {
  chat_model_unavailable: t(
    "The language model is not available at the moment. Try again later.",
  ),
  database_unavailable: t(
    "The database is not available at the moment. Try again later.",
  ),
  embedder_unavailable: t(
    "The search is not available at the moment. Try again later.",
  ),
  search_unavailable: t("The search is not available at the moment. Try again later."),
};

/** Return the message for an error, and the details that it does not contain. */
function explain({ name, code, message, details }) {
  if (name === "AbortError" || code === "cancelled") return [STOPPED];
  if (code === "ingesting")
    return [t("These reports are still being indexed. Try again in a moment.")];
  if (UNAVAILABLE[code] && !document.body.dataset.may?.includes("admin"))
    return [UNAVAILABLE[code]];
  const lines = (Array.isArray(details) ? details : []).map(
    ({ field, message: problem, remedy }) =>
      [field, translated(problem ?? remedy)].filter(Boolean).join(": "),
  );
  return [message, lines.filter((line) => line && !message.includes(line))];
}

const RECONNECT_MS = 1000;

const EARLIER_FIELDS = ["country_name", "year", "figure_year", "document_name"];

export class Turn {
  node = cloneTemplate("turn-template");
  #blankReply = this.#reply.cloneNode(true);
  #isTall;
  /** Whether this page has followed the answer. */
  #isFollowed = false;
  question;
  mode;
  filters;
  page;
  attachments;
  autoScope;
  /** The fields that are not taken over from the conversation. */
  withoutEarlier;
  /** The id of its answer, once the server has sent it. */
  messageId = null;
  isComplete = false;
  /** The complete answer. */
  answer = null;
  /** How often it was asked or followed again by itself. */
  goneOn = 0;

  constructor(
    log,
    { question, mode, filters, page, attachments, autoScope, withoutEarlier },
    next = null,
  ) {
    Object.assign(this, { question, mode, filters, page, attachments, autoScope });
    this.withoutEarlier = withoutEarlier ?? [];
    this.node.addEventListener("click", ({ target }) => this.#onClick(target));
    this.#showAttached(
      "With {names} (not stored)",
      attachments.map(({ name }) => name),
    );
    log.insertBefore(this.node, next);
    this.#isTall = showQuestion(this.node, question);
  }

  get #reply() {
    return this.node.querySelector(".reply");
  }

  async #onClick(target) {
    if (target.closest(".retry, .regenerate")) store.emit("askAgain", this);
    if (target.closest(".edit-question")) store.emit("edit", this);
    const button = target.closest(".pin");
    if (button)
      store.emit("pin", {
        body: {
          message_id: this.messageId,
          ...(button.dataset.indicator && { indicator: button.dataset.indicator }),
        },
        button,
      });
    const next = target.closest(".further-question:not(.way-on)");
    // It is complete: nothing is taken over from the conversation.
    if (next)
      store.emit("ask", { question: next.textContent, withoutEarlier: EARLIER_FIELDS });
    const thumb = target.closest(".thumb");
    if (!thumb) return;
    const { rate } = await import("./after.js");
    rate(this.#reply, thumb, this, (rating) => this.#showRating(rating));
  }

  #askBelow(options) {
    store.emit("ask", { question: this.question, ...options });
  }

  /** Thank for what is wrong with the answer, in place of a form. */
  async thank(form, reason) {
    const { showThanks } = await import("./ways_on.js");
    showThanks(form, this, reason);
  }

  /** Scroll to the top of the turn. @param {ScrollBehavior} [behavior] */
  show(behavior = "auto") {
    (this.#isTall ? this.#reply : this.node).scrollIntoView({
      block: "start",
      behavior,
    });
  }

  /** Let the question be asked again from the composer only. */
  withdrawRetry() {
    this.#reply.querySelector(".retry").hidden = true;
    this.#reply.querySelector(".notice-again").hidden = false;
  }

  get #goingOn() {
    return this.messageId
      ? t("The answer goes on by itself when the connection returns.")
      : t("The question is asked by itself when the connection returns.");
  }

  /** What the question leaves out of what could narrow it. */
  get #declinedFields() {
    return {
      ...(this.autoScope === false && { auto_scope: false }),
      ...(this.withoutEarlier.length && { without_earlier: this.withoutEarlier }),
    };
  }

  /** A preset determines the mode. */
  get #modeFields() {
    return this.mode.startsWith(PRESET)
      ? { preset: this.mode.slice(PRESET.length) }
      : { mode: this.mode };
  }

  /**
   * Return the body of the request.
   * @param {string | null} conversationId
   * @param {Turn | null} [replaced]
   */
  payload(conversationId, replaced) {
    const { collections, ...fields } = this.filters;
    const urls = this.attachments.flatMap(({ url }) => (url ? [{ url }] : []));
    return {
      query: this.question,
      ...this.#modeFields,
      ...(language !== "en" && { language }),
      // An answer from attachments ends with this page: the server does not store them.
      ...(!this.attachments.length && { resume: true }),
      ...(urls.length && { attachments: urls }),
      ...(Object.keys(fields).length && { filters: fields }),
      ...(collections && { collections }),
      ...(this.page && { page: this.page }),
      ...this.#declinedFields,
      ...(conversationId && { conversation_id: conversationId }),
      ...(conversationId && replaced?.messageId && { replaces: replaced.messageId }),
      // Asking a complete answer again must not return the cached one.
      ...(replaced?.isComplete && { cache: false }),
    };
  }

  /** Ask. Resolves to {response}, or to {error} if the stream ended early. */
  async run(payload, signal) {
    this.messageId = null;
    const files = this.attachments.flatMap(({ file }) => file ?? []);
    const outcome = await this.#follow(askQuestion(payload, files, signal));
    const isConnectionLost = ["network", "incomplete"].includes(outcome.error?.code);
    if (!this.messageId || !isConnectionLost) return outcome;
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    return this.resume(this.messageId, signal);
  }

  /** Follow an answer that is already being written. */
  resume(messageId, signal) {
    this.messageId = messageId;
    return this.#follow(resumeAnswer(messageId, signal));
  }

  /** Show a stored answer. */
  restore({ message_id: id, answer, content, state, answered, feedback }) {
    this.messageId = id;
    const view = this.#startAnswer({ isStored: true });
    if (state) {
      if (content) view.token(content);
      view.interrupt(
        state === "stopped" ? STOPPED : t("This answer was not completed."),
      );
      return;
    }
    if (answer?.trace) view.hits(answer.trace.hits ?? []);
    this.#complete(
      view,
      answer ?? {
        response: content,
        answered: answered ?? true,
        citations: [],
        unsupported: [],
      },
    );
    this.#showRating(feedback?.rating);
  }

  async #follow(events) {
    const view = this.#startAnswer();
    this.isComplete = false;
    this.#isFollowed = true;
    try {
      for await (const { name, data } of events) {
        if (name === "begun" || name === "done") this.messageId = data.message_id;
        if (name === "begun") store.emit("started", { turn: this, answer: data });
        else if (name === "step") view.step(data);
        else if (name === "sources") view.hits(data.hits);
        else if (name === "token") view.token(data.text);
        else if (name === "done") {
          this.#complete(view, data);
          return { response: data };
        }
      }
    } catch (error) {
      const [message, details = []] = explain(error);
      if (error.code === "network") details.push(this.#goingOn);
      if (this.node.isConnected) view.interrupt(message, details);
      return { error };
    }
  }

  #complete(view, answer) {
    view.done(answer);
    this.answer = answer;
    this.isComplete = true;
    const names = answer.citations
      .filter(isAttachment)
      .map(({ document_name: name }) => name);
    if (names.length)
      this.#showAttached("Answered from {names} (not stored)", [...new Set(names)]);
    this.#offerScopes(answer);
    this.#showRating(null);
    if (!this.#isFollowed) return;
    const section = this.#reply.querySelector(".further");
    if (!answer.answered)
      import("./ways_on.js").then(({ showWaysOn }) =>
        showWaysOn(section, this, answer),
      );
    import("./further.js").then(({ showFurther }) =>
      showFurther(section, this, answer),
    );
  }

  #showAttached(text, names) {
    const line = this.node.querySelector(".attached");
    line.hidden = names.length === 0;
    line.querySelector("span").textContent = t(text, { names: names.join(comma) });
  }

  async #offerScopes(answer) {
    const { answered, suggested_scope: suggested, scope } = answer;
    if (answered && !suggested && !scope?.from_question && !scope?.from_earlier) return;
    const reply = this.#reply;
    const { showScopes } = await import("./origins.js");
    showScopes(reply, this, answer, (options) => this.#askBelow(options));
  }

  #showRating(rating) {
    const thumbs = this.#reply.querySelector(".thumbs");
    thumbs.hidden = !this.messageId || Boolean(document.body.dataset.shared);
    for (const thumb of thumbs.children)
      thumb.setAttribute("aria-pressed", String(thumb.dataset.rating === rating));
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
