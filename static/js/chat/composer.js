import { byId, element, hasKeyboard } from "../common/dom.js";
import { language, t } from "../common/words.js";

const select = byId("mode");
const standard = [...select.options].find((option) => option.defaultSelected) ?? select.options[0];

export const chosenMode = () => select.value;

export const modeLabel = (name) => [...select.options].find(({ value }) => value === name)?.text ?? name;

/** Like the scope, the choice lives in the address; what goes without saying does not. */
function remember() {
  const url = new URL(location.href);
  if (select.value === standard.value) url.searchParams.delete("mode");
  else url.searchParams.set("mode", select.value);
  history.replaceState(history.state, "", url);
}

function describe() {
  const { description } = select.selectedOptions[0].dataset;
  byId("mode-description").textContent = description;
  byId("mode-description").classList.toggle("chosen", select.value !== standard.value);
  select.title = description;
}

export function wireMode() {
  const wanted = new URLSearchParams(location.search).get("mode");
  const offered = [...select.options].find(({ value, disabled }) => value === wanted && !disabled);
  select.value = (offered ?? standard).value;
  describe();
  select.addEventListener("change", () => {
    remember();
    describe();
  });
}

const textarea = byId("question");
const longest = Number(textarea.dataset.longest);
const tooLong = t(
  "This question is longer than {number} characters: shorten it, or attach the text as a file.",
  { number: longest.toLocaleString(language) },
);

function grow() {
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight}px`;
}

// As the server counts: `length` has two for an emoji.
const isTooLong = () => textarea.value.length > longest && [...textarea.value.trim()].length > longest;

/** Told anew by each call; nothing is told where there is nothing. */
function showTooLong(wrong) {
  const notice = byId("question-error");
  notice.hidden = !wrong;
  notice.replaceChildren(...(wrong ? [element("p", { text: tooLong })] : []));
  textarea.setAttribute("aria-invalid", String(wrong));
}

let onDraft = (text) => text;

function changed() {
  grow();
  if (byId("editing").hidden) onDraft(textarea.value);
  const wrong = isTooLong();
  if (wrong === byId("question-error").hidden) showTooLong(wrong);
}

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

export function focusComposer() {
  if (hasKeyboard()) textarea.focus({ preventScroll: true });
}

/** Why nothing happens; "" clears. */
export const showReason = (text) => {
  byId("busy").textContent = text;
};

/** After an answer; who has moved on to a passage or the scope is not called back. */
export function returnToComposer() {
  if (document.activeElement === document.body) focusComposer();
}

export function setStreaming(streaming) {
  showReason("");
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
  changed();
  return true;
}

/** What was being written here before. */
export function showDraft(text) {
  if (text === textarea.value) return;
  textarea.value = text;
  textarea.dispatchEvent(new Event("input"));
}

export function endEditing() {
  byId("editing").hidden = true;
}

let onCancel;

/** A question of before, to be asked otherwise; `cancelled`: it stays as it is. */
export function editQuestion(text, cancelled) {
  onCancel = cancelled;
  byId("editing").hidden = false;
  showDraft(text);
  textarea.focus();
}

export function cancelEditing() {
  if (byId("editing").hidden) return;
  endEditing();
  onCancel();
}

/** `ready`: whether what goes along is there, promised. `onAsk` returns why it cannot take the question now, or ""; the text
 * then stays. `onDraft` is told each text. */
export function wireComposer({ ready, onAsk, onStop, onDraft: keep }) {
  onDraft = keep;
  wireKeys();
  textarea.addEventListener("input", changed);
  byId("stop").addEventListener("click", onStop);
  byId("editing-end").addEventListener("click", () => {
    cancelEditing();
    textarea.focus();
  });
  byId("ask-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!(await ready())) return textarea.focus();
    const question = textarea.value.trim();
    if (isTooLong()) showTooLong(true);
    if (!question || isTooLong()) return textarea.focus();
    const reason = onAsk(question);
    showReason(reason);
    if (reason) return textarea.focus();
    endEditing();
    showDraft("");
    focusComposer();
  });
}
