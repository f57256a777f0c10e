import { element } from "./dom.js";
import { t } from "./words.js";

export function showText(node, text) {
  if (node.textContent !== text) node.textContent = text;
  node.hidden = !text;
}

/** The server's words, and what it can be found by in the server's log; null clears. */
export function showError(box, error, message = error?.message) {
  box.hidden = !error;
  if (!error) return box.replaceChildren();
  // The same again is not said again: what polls meets the same error every few seconds.
  if (box.firstChild?.textContent === message) return;
  const id = error.requestId && element("p", { className: "request-id", text: t("Request id: {id}", { id: error.requestId }) });
  box.replaceChildren(element("p", { text: message }), ...(id ? [id] : []));
}

/** Closes by its buttons, by Esc, and by a click beside it. */
export function wireDialog(dialog) {
  for (const button of dialog.querySelectorAll("[data-close]")) button.addEventListener("click", () => dialog.close());
  let pressed = null;
  dialog.addEventListener("pointerdown", ({ target }) => { pressed = target; });
  // Not where a text selection that began inside ends outside.
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog && pressed === dialog) dialog.close();
  });
}
