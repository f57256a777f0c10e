import { byId, hasKeyboard } from "./dom.js";

const textarea = byId("question");

function grow() {
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight}px`;
}

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

export function focusComposer() {
  if (hasKeyboard()) textarea.focus({ preventScroll: true });
}

/** After an answer; who has moved on to a passage or the scope is not called back. */
export function returnToComposer() {
  if (document.activeElement === document.body) focusComposer();
}

export function setStreaming(streaming) {
  const stopHadFocus = document.activeElement === byId("stop");
  byId("send").hidden = streaming;
  byId("stop").hidden = !streaming;
  if (stopHadFocus) focusComposer();
}

function wireKeys() {
  textarea.addEventListener("keydown", (event) => {
    // While an input method composes a word, Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    byId("ask-form").requestSubmit();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    event.preventDefault();
    textarea.focus();
  });
}

/** Puts a question back, unless another one is being written; whether it did. */
export function offerAgain(question) {
  if (textarea.value.trim()) return false;
  textarea.value = question;
  grow();
  return true;
}

/** `onAsk` returns false when it cannot take the question now; the text then stays. */
export function wireComposer({ onAsk, onStop }) {
  wireKeys();
  textarea.addEventListener("input", grow);
  byId("stop").addEventListener("click", onStop);
  byId("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const question = textarea.value.trim();
    if (!question || !onAsk(question)) return textarea.focus();
    textarea.value = "";
    grow();
    focusComposer();
  });
}
