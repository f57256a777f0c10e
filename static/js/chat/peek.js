/** The passage behind a number, shown while the pointer or the focus is on it. */
import { byId, element } from "../common/dom.js";
import { sourcePlace, sourceTitle } from "../common/format.js";

const WAIT_MS = 180;
const LONGEST = 320;
const MARGIN = 8;
const box = byId("peek");
let waiting = 0;
let shownFor = null;

function hide() {
  clearTimeout(waiting);
  if (!shownFor) return;
  shownFor.removeAttribute("aria-describedby");
  shownFor = null;
  box.hidePopover();
}

const shorten = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST).replace(/\s+\S*$/, "")} …` : text);

/** Above the number, or below where there is no room. */
function place(button) {
  const target = button.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const left = Math.min(Math.max(target.left + target.width / 2 - width / 2, MARGIN), innerWidth - width - MARGIN);
  const top = target.top - height - MARGIN;
  box.style.left = `${left}px`;
  box.style.top = `${top < MARGIN ? target.bottom + MARGIN : top}px`;
}

function show(button, source) {
  const text = (source.text ?? source.snippet ?? "").trim();
  if (!text || !button.isConnected) return;
  hide();
  box.replaceChildren(
    element("strong", { text: sourceTitle(source) }),
    element("span", { className: "peek-place", text: sourcePlace(source) }),
    element("span", { className: "peek-text", text: shorten(text.replaceAll("**", "")) }));
  shownFor = button;
  button.setAttribute("aria-describedby", "peek");
  box.showPopover();
  place(button);
}

/**
 * @param {HTMLElement} root whose numbers it is for
 * @param {(button: HTMLElement) => any} sourceOf
 * @param {Event} first what came near them before this was there
 */
export function wirePeek(root, sourceOf, first) {
  const at = ({ target }) => target.closest?.("button.citation");
  const soon = (event) => {
    const button = at(event);
    if (!button || button === shownFor) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => show(button, sourceOf(button)), WAIT_MS);
  };
  const hover = (event) => {
    if (event.pointerType === "mouse") soon(event);
  };
  const focus = (event) => {
    if (at(event)?.matches(":focus-visible")) soon(event);
  };
  root.addEventListener("pointerover", hover);
  root.addEventListener("pointerout", (event) => { if (at(event)) hide(); });
  root.addEventListener("focusin", focus);
  root.addEventListener("focusout", (event) => { if (at(event)) hide(); });
  root.addEventListener("click", hide);
  if (first.type === "focusin") focus(first);
  else hover(first);
}

addEventListener("scroll", hide, { passive: true });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !shownFor) return;
  event.preventDefault();
  hide();
}, { capture: true });
