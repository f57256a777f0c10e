/** The box in which questions are written: its text and its keys. */
import { store } from "./store.js";
import { byId, element, hasKeyboard, showItems } from "../common/dom.js";
import { locale, t } from "../common/words.js";

const textarea = byId("question");
const maxCharacters = Number(textarea.dataset.longest);

// The server counts characters; `length` counts an emoji as two.
const isTooLong = () =>
  textarea.value.length > maxCharacters &&
  [...textarea.value.trim()].length > maxCharacters;

/** Show or hide the error; a shown one is announced again. */
function showTooLong(isWrong) {
  const number = maxCharacters.toLocaleString(locale);
  const text = t(
    "A question can have up to {number} characters. Shorten it, or attach the text as a file.",
    { number },
  );
  showItems(byId("question-error"), isWrong ? [element("p", { text })] : []);
  textarea.setAttribute("aria-invalid", String(isWrong));
}

function onInput() {
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight}px`;
  if (!store.edited) store.draft = textarea.value;
  if (isTooLong() === byId("question-error").hidden) showTooLong(isTooLong());
}

export function focusComposer() {
  if (hasKeyboard()) textarea.focus({ preventScroll: true });
}

/** Show why a question cannot be sent now; "" clears. */
export const showReason = (text) => {
  byId("busy").textContent = text;
};

/**
 * Return the focus after an answer, unless the person has moved on to a passage or the
 * scope.
 */
export function returnToComposer() {
  if (document.activeElement === document.body) focusComposer();
}

function showStreaming(streaming) {
  showReason("");
  const stopHadFocus = document.activeElement === byId("stop");
  byId("send").hidden = Boolean(streaming);
  byId("stop").hidden = !streaming;
  if (stopHadFocus) focusComposer();
}

/** Put a question back unless another one is being written. Returns whether it did. */
export function offerAgain(question) {
  if (textarea.value.trim()) return false;
  showDraft(question);
  return true;
}

export function showDraft(text) {
  // At first the box has what was typed as the page came.
  const isTyped = !textarea.dataset.filled && textarea.value.trim() !== "";
  textarea.dataset.filled = "yes";
  if (isTyped) {
    onInput();
    return;
  }
  if (text === textarea.value) return;
  textarea.value = text;
  textarea.dispatchEvent(new Event("input"));
}

/** Return the question as it can be sent; "", with the reason shown, if it cannot. */
export function readQuestion() {
  const question = textarea.value.trim();
  if (!isTooLong()) return question;
  showTooLong(true);
  return "";
}

export function focusQuestion() {
  textarea.focus();
}

export function wireComposer() {
  textarea.addEventListener("input", onInput);
  textarea.addEventListener("keydown", (event) => {
    // While an input method composes a word, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    byId("ask-form").requestSubmit();
  });
  document.addEventListener("keydown", (event) => {
    const isTyping = /** @type {Element} */ (event.target).closest(
      "input, textarea, select, [contenteditable]",
    );
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping)
      return;
    event.preventDefault();
    textarea.focus();
  });
  store.on("streaming", showStreaming);
  store.on("edited", (edited) => {
    byId("editing").hidden = !edited;
  });
}
