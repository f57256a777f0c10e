/**
 * The passage behind a citation: a preview while the pointer or the focus is on it, and
 * the panel that a click opens.
 */
import { store } from "./store.js";
import { getJson } from "../common/api.js";
import { byId, element, showFacts } from "../common/dom.js";
import {
  isAttachment,
  ocrName,
  sourcePlace,
  sourceTitle,
  valueLabel,
} from "../common/format.js";
import { decimal, foundBy } from "../common/measures.js";
import { isPdf, passageNodes } from "../common/passage.js";
import { publicationFacts } from "../common/publication.js";
import { t } from "../common/words.js";

const dialog = byId("evidence");
// Beside the answer where there is room, otherwise a modal sheet; the same width is in
// evidence.css.
const hasRoom = matchMedia("(min-width: 56.25rem)");
let pending = null;

const factsOf = (source) => ({
  [t("Country")]:
    source.country_name && valueLabel("country_name", source.country_name),
  [t("Year")]: source.year,
  ...publicationFacts(source),
  [t("Section")]: source.section,
  [t("Page")]: [source.page, ocrName(source)].filter(Boolean).join(", "),
  [t("Score")]:
    typeof source.score === "number" &&
    t("similarity {score}", { score: decimal(source.score, 2) }),
  [t("Found by")]: foundBy(source),
  [t("Stored")]: isAttachment(source) && t("no (attached to this question)"),
});

/**
 * Return what an answer says before a citation, back to the one before; a point of a
 * chart has it in its name.
 */
function saidBefore(button) {
  const same = `.answer-body [data-citation="${button.dataset.citation}"]`;
  const citation = button.closest(".answer-body")
    ? button
    : button.matches(".source") && button.closest(".turn")?.querySelector(same);
  const block = citation && citation.closest("li, p, td, th");
  if (!block) return button.getAttribute("aria-label") ?? "";
  const range = new Range();
  range.setStart(block, 0);
  range.setEndBefore(citation);
  const own = range.cloneContents();
  for (const other of own.querySelectorAll(".citation")) other.replaceWith("\0");
  // One statement may have several citations at its end.
  return own.textContent.split("\0").findLast((part) => part.trim()) ?? "";
}

function showPassage(text, widerText) {
  const passage = byId("evidence-passage");
  passage.replaceChildren(...passageNodes(text, widerText, store.evidence.said));
  const mark = passage.querySelector(".cited") ?? passage.querySelector("mark");
  passage.scrollTop = mark.offsetTop - (passage.clientHeight - mark.offsetHeight) / 3;
}

/**
 * Load the text around a passage. An attachment has none: the server does not store it.
 */
async function loadWiderText(source) {
  pending?.abort();
  if (isAttachment(source)) {
    const lost = t("This passage was attached to the question and is not stored.");
    return byId("evidence-error").append(source.text || source.snippet ? "" : lost);
  }
  const { signal } = (pending = new AbortController());
  try {
    const chunk = await getJson(
      `/api/chunks/${encodeURIComponent(source.chunk_id)}`,
      signal,
    );
    if (signal.aborted) return;
    showFacts(byId("evidence-facts"), factsOf({ ...chunk, ...source }));
    showPassage(chunk.text, chunk.wider_text);
    const button = byId("evidence-original");
    button.querySelector("span").textContent = isPdf(chunk.file)
      ? t("Open the original, page {page}", { page: chunk.page ?? 1 })
      : t("Open in the full text");
    button.hidden = false;
    const pin = byId("evidence-pin");
    pin.hidden = false;
    pin.onclick = () =>
      store.emit("pin", { body: { chunk_id: source.chunk_id }, button: pin });
    button.onclick = async () => {
      const { openOriginal } = await import("../original/original.js");
      openOriginal(chunk, chunk.file, store.evidence.said);
    };
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("evidence-error").textContent =
      error.status === 404
        ? t("This passage no longer exists. Its report was deleted or replaced.")
        : `${t("The text around this passage could not be loaded.")} ${error.message}`;
  }
}

/**
 * Open the panel. `source.number` is its citation; a passage that was only found has
 * none.
 */
export function openEvidence(source, button) {
  store.evidence.opener?.removeAttribute("aria-current");
  store.set({ evidence: { opener: button, said: saidBefore(button) } });
  button.setAttribute("aria-current", "true");
  byId("evidence-number").textContent = source.number
    ? t("Source {number}", { number: source.number })
    : t("Found while searching");
  byId("evidence-title").textContent = sourceTitle(source);
  byId("evidence-unsupported").hidden = source.supported !== false;
  byId("evidence-missing").textContent = source.missing ?? "";
  byId("evidence-error").textContent = "";
  byId("evidence-original").hidden = byId("evidence-pin").hidden = true;
  if (!dialog.open && hasRoom.matches) dialog.show();
  else if (!dialog.open) dialog.showModal();
  store.emit("panes");
  showFacts(byId("evidence-facts"), factsOf(source));
  showPassage(source.text ?? source.snippet ?? "");
  byId("evidence-title").focus({ preventScroll: true });
  loadWiderText(source);
}

export function closeEvidence() {
  if (!dialog.open) return;
  pending?.abort();
  dialog.close();
  store.emit("panes");
  const { opener } = store.evidence;
  opener.removeAttribute("aria-current");
  // The stream may have replaced the button: the one with the same number stands in for
  // it.
  const same = `.turn:last-child [data-citation="${opener.dataset.citation}"]`;
  (opener.isConnected
    ? opener
    : (document.querySelector(same) ?? byId("question"))
  ).focus();
}

byId("evidence-close").addEventListener("click", closeEvidence);
dialog.addEventListener("click", ({ target }) => {
  if (target === dialog) closeEvidence();
});
// The browser turns Esc into "cancel" for the modal sheet only.
dialog.addEventListener("cancel", (event) => {
  event.preventDefault();
  closeEvidence();
});
document.addEventListener("keydown", (event) => {
  // A dialog above it closes first.
  if (
    event.key === "Escape" &&
    !event.defaultPrevented &&
    !document.querySelector("dialog:modal")
  )
    closeEvidence();
});

const PEEK_MS = 180;
const MAX_CHARACTERS = 320;
const MARGIN = 8;
const peek = byId("peek");
let timer = 0;

/** Return the citation whose preview is shown, or null. */
const peeked = () => document.querySelector("[aria-describedby=peek]");

function hidePeek() {
  clearTimeout(timer);
  if (!peeked()) return;
  peeked().removeAttribute("aria-describedby");
  peek.hidePopover();
}

/** Show the preview above the citation, or below it where there is no room. */
function showPeek(button, source) {
  const text = (source.text ?? source.snippet ?? "").trim().replaceAll("**", "");
  // This module may arrive after the pointer has left, or the click has opened the
  // panel.
  if (
    !text ||
    !button.matches(":hover, :focus-visible") ||
    button.hasAttribute("aria-current")
  )
    return;
  hidePeek();
  const beginning =
    text.length > MAX_CHARACTERS
      ? `${text.slice(0, MAX_CHARACTERS).replace(/\s+\S*$/, "")} …`
      : text;
  peek.replaceChildren(
    element("strong", { text: sourceTitle(source) }),
    element("span", { className: "peek-place", text: sourcePlace(source) }),
    element("span", { className: "peek-text", text: beginning }),
  );
  button.setAttribute("aria-describedby", "peek");
  peek.showPopover();
  const target = button.getBoundingClientRect();
  const { width, height } = peek.getBoundingClientRect();
  const top = target.top - height - MARGIN;
  const left = Math.min(
    Math.max(target.left + target.width / 2 - width / 2, MARGIN),
    innerWidth - width - MARGIN,
  );
  peek.style.left = `${left}px`;
  peek.style.top = `${top < MARGIN ? target.bottom + MARGIN : top}px`;
}

/**
 * Show previews for the citations in an answer. `first`: the event that loaded this
 * module.
 */
export function wirePeek(root, sourceOf, first) {
  const citationAt = ({ target }) => target.closest?.("button.citation");
  const showSoon = (event) => {
    const button = citationAt(event);
    const isMeant =
      event.type === "focusin"
        ? button?.matches(":focus-visible")
        : event.pointerType === "mouse";
    if (!button || !isMeant || button === peeked()) return;
    clearTimeout(timer);
    timer = setTimeout(() => showPeek(button, sourceOf(button)), PEEK_MS);
  };
  for (const name of ["pointerover", "focusin"]) root.addEventListener(name, showSoon);
  for (const name of ["pointerout", "focusout"])
    root.addEventListener(name, (event) => {
      if (citationAt(event)) hidePeek();
    });
  root.addEventListener("click", hidePeek);
  showSoon(first);
}

addEventListener("scroll", hidePeek, { passive: true });
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape" || !peeked()) return;
    event.preventDefault();
    hidePeek();
  },
  { capture: true },
);
