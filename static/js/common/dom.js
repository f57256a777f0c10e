/**
 * @param {string} id
 * @returns {any} the templates know what kind of element an id names
 */
export const byId = (id) => document.getElementById(id);

/** @returns {HTMLElement[]} what of the page, or of a part of it, `selector` names */
export const all = (root, selector) => [...root.querySelectorAll(selector)];

/**
 * Text only, never markup: everything shown comes from documents, models or people.
 * @param {string} tag
 * @param {{text?: string, className?: string, [attribute: string]: any}} [options]
 * @param {...(Node | string)} children
 */
export function element(tag, { text, className, ...attributes } = {}, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

export const cloneTemplate = (id) => byId(id).content.firstElementChild.cloneNode(true);

export function announce(text) {
  byId("announcer").textContent = text;
}

// On a touch screen focus would raise the keyboard over the answer.
export const hasKeyboard = () => matchMedia("(any-pointer: fine)").matches;

const PAUSE_MS = 1500;
let pending = 0;
let latest = "";

const sayLatest = () => {
  pending = 0;
  announce(latest);
};

/** Sentences, none of which is left out. */
export function announceMore(text) {
  latest = pending ? `${latest} ${text}` : text;
  pending ||= setTimeout(sayLatest, PAUSE_MS);
}

/** Progress comes faster than it can be listened to: of what came in the meantime the latest is said. */
export function announceSoon(text) {
  latest = text;
  pending ||= setTimeout(sayLatest, PAUSE_MS);
}

/** What is said now is the end of it. */
export function announceNow(text) {
  clearTimeout(pending);
  pending = 0;
  announce(text);
}
