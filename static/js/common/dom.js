/** Elements, dialogs and announcements that all pages share. */
import { t } from "./words.js";

/**
 * @param {string} id
 * @returns {any} the templates determine the kind of element
 */
export const byId = (id) => document.getElementById(id);

/** @returns {HTMLElement[]} */
export const all = (root, selector) => [...root.querySelectorAll(selector)];

/**
 * Create an element with text, never markup: everything shown comes from documents,
 * models or people.
 */
export function element(
  tag,
  { text, className, ...attributes } = /** @type {any} */ ({}),
  ...children
) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes))
    node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

export const cloneTemplate = (id) => byId(id).content.firstElementChild.cloneNode(true);

// On a touch screen, focus would raise the keyboard over the answer.
export const hasKeyboard = () => matchMedia("(any-pointer: fine)").matches;

export function showText(node, text) {
  if (node.textContent !== text) node.textContent = text;
  node.hidden = !text;
}

/** Show the facts that have a value, by name. */
export const showFacts = (list, facts) =>
  list.replaceChildren(
    ...Object.entries(facts)
      .filter(([, value]) => value)
      .map(([name, value]) =>
        element("div", {}, element("dt", { text: name }), element("dd", {}, value)),
      ),
  );

/** Show an error with the request id under which the server logged it; null clears. */
export function showError(box, error, message = error?.message) {
  box.hidden = !error;
  if (!error) return box.replaceChildren();
  // A poll meets the same error every few seconds: an alert must not be read out again.
  if (box.firstChild?.textContent === message) return;
  const id =
    error.requestId &&
    element("p", {
      className: "request-id",
      text: t("Request id: {id}", { id: error.requestId }),
    });
  box.replaceChildren(element("p", { text: message }), ...(id ? [id] : []));
}

/** Do something when a form is submitted, which the browser would send otherwise. */
export const onSubmit = (form, act) =>
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    act();
  });

/** Show a list only if it has items. */
export function showItems(list, items) {
  list.hidden = items.length === 0;
  list.replaceChildren(...items);
}

/** Let a dialog be closed by its buttons, by Esc and by a click beside it. */
export function wireDialog(dialog) {
  for (const button of dialog.querySelectorAll("[data-close]"))
    button.addEventListener("click", () => dialog.close());
  let pressed = null;
  dialog.addEventListener("pointerdown", ({ target }) => {
    pressed = target;
  });
  // A text selection that begins inside may end outside.
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog && pressed === dialog) dialog.close();
  });
}

/** Focus the button that now stands where one was removed. */
export function focusNext(list, index, otherwise) {
  const buttons = list.querySelectorAll("button");
  (buttons[Math.min(index, buttons.length - 1)] ?? otherwise).focus();
}

export function announce(text) {
  byId("announcer").textContent = text;
}

const PAUSE_MS = 1500;
let timer = 0;
let latest = "";

/**
 * Announce progress, which comes faster than it can be read out: after a pause, the
 * latest only.
 */
export function announceSoon(text, before = "") {
  latest = before + text;
  timer ||= setTimeout(() => {
    timer = 0;
    announce(latest);
  }, PAUSE_MS);
}

/** Announce without a pause; pending progress is dropped. */
export function announceNow(text) {
  clearTimeout(timer);
  timer = 0;
  announce(text);
}

const SENTENCES = /^[\s\S]*[.!?…](?=\s)/;
const oneLine = (text) => text.replace(/\s+/g, " ").trim();

/**
 * Announces an answer that is being written: each sentence once it is complete, then
 * the rest.
 */
export class AnswerAnnouncer {
  #announced = "";

  /** @param {string} text all text so far */
  update(text) {
    const sentences = oneLine(SENTENCES.exec(text)?.[0] ?? "");
    if (
      !sentences.startsWith(this.#announced) ||
      sentences.length <= this.#announced.length
    )
      return;
    // Unlike progress, no sentence may be skipped.
    announceSoon(
      sentences.slice(this.#announced.length).trim(),
      timer ? `${latest} ` : "",
    );
    this.#announced = sentences;
  }

  /** @param {string} outcome @param {string} text the final one */
  finish(outcome, text) {
    const whole = oneLine(text);
    const isBegun = this.#announced && whole.startsWith(this.#announced);
    announceNow(
      (isBegun
        ? [whole.slice(this.#announced.length).trim(), outcome]
        : [outcome, whole]
      )
        .filter(Boolean)
        .join(" "),
    );
  }
}
