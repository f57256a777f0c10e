/** The box in which questions are written: its text, its answer mode and its keys. */
import { keepDraft, ready, send, stop } from "./conversation.js";
import { byId, element, hasKeyboard, onSubmit, showItems } from "../common/dom.js";
import { locale, t } from "../common/words.js";

const select = byId("mode");
const standard =
  [...select.options].find((option) => option.defaultSelected) ?? select.options[0];

export const chosenMode = () => select.value;

export const modeLabel = (name) =>
  [...select.options].find(({ value }) => value === name)?.text ?? name;

function describeMode() {
  const { description } = select.selectedOptions[0].dataset;
  byId("mode-description").textContent = description;
  byId("mode-description").classList.toggle("chosen", select.value !== standard.value);
  select.title = description;
}

/** Keep the mode in the address, like the scope, unless it is the standard one. */
export function wireMode() {
  const named = new URLSearchParams(location.search).get("mode");
  const available = [...select.options].find(
    ({ value, disabled }) => value === named && !disabled,
  );
  select.value = (available ?? standard).value;
  describeMode();
  select.addEventListener("change", () => {
    const url = new URL(location.href);
    if (select.value === standard.value) url.searchParams.delete("mode");
    else url.searchParams.set("mode", select.value);
    history.replaceState(history.state, "", url);
    describeMode();
  });
}

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
  if (byId("editing").hidden) keepDraft(textarea.value);
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

export function setStreaming(isStreaming) {
  showReason("");
  const stopHadFocus = document.activeElement === byId("stop");
  byId("send").hidden = isStreaming;
  byId("stop").hidden = !isStreaming;
  if (stopHadFocus) focusComposer();
}

/** Put a question back unless another one is being written. Returns whether it did. */
export function offerAgain(question) {
  if (textarea.value.trim()) return false;
  showDraft(question);
  return true;
}

export function showDraft(text) {
  if (text === textarea.value) return;
  textarea.value = text;
  textarea.dispatchEvent(new Event("input"));
}

let onCancel;

/** Edit an earlier question; `cancelled` is called if it stays as it is. */
export function editQuestion(text, cancelled) {
  onCancel = cancelled;
  byId("editing").hidden = false;
  showDraft(text);
  textarea.focus();
}

export function endEditing() {
  byId("editing").hidden = true;
}

export function cancelEditing() {
  if (byId("editing").hidden) return;
  endEditing();
  onCancel();
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
  byId("stop").addEventListener("click", stop);
  byId("editing-end").addEventListener("click", () => {
    cancelEditing();
    textarea.focus();
  });
  onSubmit(byId("ask-form"), async () => {
    if (!(await ready())) return textarea.focus();
    const question = textarea.value.trim();
    if (isTooLong()) showTooLong(true);
    if (!question || isTooLong()) return textarea.focus();
    const reason = send(question);
    showReason(reason);
    if (reason) return textarea.focus();
    endEditing();
    showDraft("");
    focusComposer();
  });
}
