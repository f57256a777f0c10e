/**
 * What lies over the page: the notice that offers to undo, and the Back button for
 * sheets on phones.
 */
import { byId } from "../common/dom.js";

const SHOWN_MS = 12_000;
let timer = 0;

export function withdrawUndo() {
  clearTimeout(timer);
  byId("toast").hidden = true;
}

/** The notice stays while the pointer or the focus is on it. */
function hideSoon() {
  clearTimeout(timer);
  timer = setTimeout(
    () =>
      byId("toast").matches(":hover, :focus-within") ? hideSoon() : withdrawUndo(),
    SHOWN_MS,
  );
}

/** Say what was done and offer to undo it. `takeFocus`: what had the focus is gone. */
export function offerUndo(text, undo, { takeFocus = false } = {}) {
  const toast = byId("toast");
  // Nothing outside of a modal dialog can be reached.
  const sheet = document.querySelector("dialog:modal");
  (sheet ?? document.body).append(toast);
  sheet?.addEventListener("close", () => document.body.append(toast), { once: true });
  toast.hidden = false;
  toast.querySelector("[role=status]").textContent = text;
  const button = toast.querySelector("button");
  button.onclick = () => {
    withdrawUndo();
    undo();
  };
  if (takeFocus) button.focus();
  hideSoon();
}

const isPhone = matchMedia("(max-width: 44rem)");
/** The topmost one: sheets open from one another in the order of the page. */
const openSheet = () =>
  /** @type {HTMLDialogElement[]} */ ([
    ...document.querySelectorAll("dialog:modal"),
  ]).at(-1);

/** On phones, give sheets a history entry: Back closes them first. */
export function watchSheets() {
  if (history.state?.sheet)
    history.replaceState({ ...history.state, sheet: false }, "");
  new MutationObserver(() => {
    if (openSheet()) {
      if (isPhone.matches && !history.state?.sheet)
        history.pushState({ ...history.state, sheet: true }, "");
    } else if (history.state?.sheet) history.back();
  }).observe(document.body, { subtree: true, attributeFilter: ["open"] });
  addEventListener("popstate", () => {
    const sheet = openSheet();
    // Like Esc: a dialog may have more to do when it closes.
    if (
      sheet &&
      !history.state?.sheet &&
      sheet.dispatchEvent(new Event("cancel", { cancelable: true }))
    )
      sheet.close();
  });
}
