import { byId } from "./dom.js";

const SHOWN_MS = 12_000;
let timer = 0;

function hide() {
  clearTimeout(timer);
  byId("toast").hidden = true;
}

/** While somebody points at it, or is in it, it stays. */
function hideSoon() {
  clearTimeout(timer);
  timer = setTimeout(() => (byId("toast").matches(":hover, :focus-within") ? hideSoon() : hide()), SHOWN_MS);
}

/** What was done, and the way back from it; `takeFocus`: for who has lost the place where the focus was. */
export function offerUndo(text, undo, { takeFocus = false } = {}) {
  const toast = byId("toast");
  // What is outside of a modal dialog cannot be reached.
  const sheet = document.querySelector("dialog:modal");
  (sheet ?? document.body).append(toast);
  sheet?.addEventListener("close", () => document.body.append(toast), { once: true });
  toast.hidden = false;
  toast.querySelector("[role=status]").textContent = text;
  const button = toast.querySelector("button");
  button.onclick = () => {
    hide();
    undo();
  };
  if (takeFocus) button.focus();
  hideSoon();
}

export const withdrawUndo = hide;
