import { getJson } from "../common/api.js";
import { byId, element } from "../common/dom.js";
import { decimal, isAttachment, sourceTitle } from "../common/format.js";
import { passageNodes } from "../common/passage.js";
import { listed, t } from "../common/words.js";

const SEARCH_NAMES = { vector: t("meaning"), keyword: t("keywords") };
const dialog = byId("evidence");
// Beside the answer where there is room, else a modal sheet (the width is the one of evidence.css).
const hasRoom = matchMedia("(min-width: 60rem)");
let opener = null;
let pending = null;

function factsOf(source) {
  const foundBy = listed((source.found_by ?? []).map((name) => SEARCH_NAMES[name] ?? name));
  return {
    [t("Country")]: source.country_name,
    [t("Year")]: source.year,
    [t("Section")]: source.section,
    [t("Page")]: source.page,
    [t("Score")]: typeof source.score === "number" && t("similarity {score}", { score: decimal(source.score, 2) }),
    [t("Found by")]: foundBy,
    [t("Stored")]: isAttachment(source) && t("no, attached to this question"),
  };
}

function showFacts(source) {
  const rows = Object.entries(factsOf(source)).filter(([, value]) => value);
  byId("evidence-facts").replaceChildren(...rows.map(([name, value]) =>
    element("div", {}, element("dt", { text: name }), element("dd", { text: value }))));
}

function showPassage(text, widerText) {
  const passage = byId("evidence-passage");
  passage.replaceChildren(...passageNodes(text, widerText));
  const mark = passage.querySelector("mark");
  passage.scrollTop = mark.offsetTop - (passage.clientHeight - mark.offsetHeight) / 3;
}

/** Of an attachment there is none: the server keeps nothing of it. */
function offerOriginal(chunk) {
  const button = byId("evidence-original");
  const isPdf = /\.pdf$/i.test(chunk.file ?? "");
  button.querySelector("span").textContent = isPdf
    ? t("Open the original, page {page}", { page: chunk.page ?? 1 }) : t("Open in the whole text");
  button.hidden = false;
  button.onclick = async () => {
    const { openOriginal } = await import("../original/original.js");
    openOriginal(chunk, chunk.file);
  };
}

async function loadWiderText(source) {
  pending?.abort();
  if (isAttachment(source)) {
    const isShown = source.text || source.snippet;
    byId("evidence-error").textContent = isShown ? "" : t("This passage was attached to the question and is not stored.");
    return;
  }
  pending = new AbortController();
  const { signal } = pending;
  try {
    const chunk = await getJson(`/api/chunks/${encodeURIComponent(source.chunk_id)}`, signal);
    if (signal.aborted) return;
    showFacts({ ...chunk, ...source });
    showPassage(chunk.text, chunk.wider_text);
    offerOriginal(chunk);
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("evidence-error").textContent = error.status === 404
      ? t("This passage is no longer there: its report was deleted or replaced.")
      : `${t("The text around this passage could not be loaded.")} ${error.message}`;
  }
}

function show() {
  if (dialog.open) return;
  if (hasRoom.matches) dialog.show();
  else dialog.showModal();
}

/** `source.number` is the one it is cited by; what was found only has none. */
export function openEvidence(source, button) {
  opener?.removeAttribute("aria-current");
  opener = button;
  button.setAttribute("aria-current", "true");
  byId("evidence-number").textContent = source.number ? t("Source {number}", { number: source.number }) : t("Found on the way");
  byId("evidence-title").textContent = sourceTitle(source);
  byId("evidence-unsupported").hidden = source.supported !== false;
  byId("evidence-missing").textContent = source.missing ?? "";
  byId("evidence-error").textContent = "";
  byId("evidence-original").hidden = true;
  show();
  showFacts(source);
  showPassage(source.text ?? source.snippet ?? "");
  byId("evidence-title").focus({ preventScroll: true });
  loadWiderText(source);
}

/** Streaming may have replaced the button; the one with the same number stands in for it. */
function currentOpener() {
  if (opener.isConnected) return opener;
  return document.querySelector(`.turn:last-child [data-citation="${opener.dataset.citation}"]`) ?? byId("question");
}

export function closeEvidence() {
  if (!dialog.open) return;
  pending?.abort();
  dialog.close();
  opener.removeAttribute("aria-current");
  currentOpener().focus();
}

byId("evidence-close").addEventListener("click", closeEvidence);
dialog.addEventListener("click", ({ target }) => {
  if (target === dialog) closeEvidence();
});
// Esc: the browser cancels the modal sheet by itself, the panel beside the answer has only the key.
dialog.addEventListener("cancel", (event) => {
  event.preventDefault();
  closeEvidence();
});
document.addEventListener("keydown", (event) => {
  // What lies over it closes first, by itself.
  if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog:modal")) closeEvidence();
});
