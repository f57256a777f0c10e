export const byId = (id) => document.getElementById(id);

/** Text only, never markup: everything shown comes from documents, models or people. */
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
