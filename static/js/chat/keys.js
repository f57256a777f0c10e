/** Keys from the question box to an answer and its sources, and their list. */
import { focusQuestion } from "./composer.js";
import { store } from "./store.js";
import { all, element, wireDialog } from "../common/dom.js";
import { t } from "../common/words.js";

/** Return the answer that has the focus, else the newest. */
function currentAnswer() {
  const turn = document.activeElement?.closest(".turn");
  const own = store.turns.findIndex(({ node }) => node === turn);
  return own >= 0 ? own : store.turns.length;
}

/** Focus the answer before or after the one that has the focus, at the end the box. */
function goTo(place) {
  if (place >= store.turns.length) return focusQuestion();
  const { node } = store.turns[Math.max(0, place)];
  const answer = node.querySelector(".answer");
  answer.tabIndex = -1;
  answer.focus({ preventScroll: true });
  node.scrollIntoView({ block: "start", behavior: "auto" });
}

/**
 * Open a source of the answer that has the focus, else of the newest. Without a number
 * its first.
 */
function openSource(number = "") {
  const turn = store.turns[Math.min(currentAnswer(), store.turns.length - 1)];
  if (!turn) return;
  const sources = all(turn.node, ".answer-body .citation, .source");
  const meant = number
    ? sources.find(({ dataset }) => dataset.citation === number)
    : sources[0];
  meant?.click();
}

const KEYS = [
  ["/", t("To the question box")],
  ["Enter", t("Ask")],
  ["Esc", t("Close what is open, or stop the answer")],
  ["Alt+↑", t("To the newest answer, then to those before it")],
  ["Alt+↓", t("To the next answer, then to the question box")],
  ["Alt+Enter", t("Open the first source of the answer")],
  ["1 – 9", t("In an answer: open the source of this number")],
  ["← ↑ → ↓", t("In a chart: from figure to figure")],
  ["?", t("This list")],
];

export function showKeys() {
  if (document.querySelector(".keys-list")) return;
  const opener = document.activeElement;
  const close = element("button", {
    type: "button",
    className: "button quiet",
    text: t("Close"),
  });
  const rows = KEYS.map(([key, text]) =>
    element(
      "div",
      {},
      element("dt", {}, element("kbd", { text: key })),
      element("dd", { text }),
    ),
  );
  const dialog = /** @type {HTMLDialogElement} */ (
    element(
      "dialog",
      { className: "modal keys-list", "aria-label": t("Shortcuts") },
      element("h2", { text: t("Shortcuts") }),
      element("dl", { className: "facts" }, ...rows),
      element("div", { className: "form-actions" }, close),
    )
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (opener instanceof HTMLElement) opener.focus();
  });
  wireDialog(dialog);
  document.body.append(dialog);
  dialog.showModal();
}

/** @param {KeyboardEvent} event one of the keys above */
export function onKey({ key, altKey }) {
  if (key === "?") showKeys();
  else if (key === "ArrowUp") goTo(currentAnswer() - 1);
  else if (key === "ArrowDown") goTo(currentAnswer() + 1);
  else openSource(altKey ? "" : key);
}
