/** The report that a passage is from: a PDF at its page, any other as the text that was read. */
import { at } from "../common/api.js";
import { wireDialog } from "../common/components.js";
import { byId } from "../common/dom.js";
import { sourcePlace, sourceTitle } from "../common/format.js";
import { Reading } from "./reading.js";
import { t } from "../common/words.js";

const dialog = byId("original");
const box = byId("original-body");
const position = byId("original-position");
const message = byId("original-message");
let pages = null;
let pending = null;

export const isPdf = (file) => /\.pdf$/i.test(file ?? "");

function showPosition(page) {
  const text = t("Page {page} of {total}", { page, total: pages.total });
  if (position.textContent !== text) position.textContent = text;
}

function showLinks({ document_id: id, page }, file) {
  const url = at(`/api/documents/${encodeURIComponent(id)}/file`);
  byId("original-keep").hidden = !file;
  byId("original-keep").href = url;
  byId("original-tab").hidden = !isPdf(file);
  byId("original-tab").href = `${url}?disposition=inline#page=${page ?? 1}`;
  return `${url}?disposition=inline`;
}

async function showPdf(source, url) {
  const { Pages } = await import("./pages.js");
  pages ??= new Pages(box, showPosition);
  await pages.open(url, { page: source.page ?? 1, passage: source.text ?? "" });
  showPosition(pages.page);
}

/**
 * @param {{document_id: string, chunk_id: string, page: number | null, text: string}} source a passage
 * @param {string | null} file the name of the file that is kept
 */
export async function openOriginal(source, file) {
  pending?.abort();
  const { signal } = pending = new AbortController();
  byId("original-title").textContent = sourceTitle(source);
  byId("original-place").textContent = [file, sourcePlace(source)].filter(Boolean).join(", ");
  byId("original-turn").hidden = !isPdf(file);
  box.classList.toggle("pdf", isPdf(file));
  box.replaceChildren();
  message.textContent = "";
  position.textContent = t("Loading");
  const url = showLinks(source, file);
  if (!dialog.open) dialog.showModal();
  box.focus({ preventScroll: true });
  try {
    if (isPdf(file)) await showPdf(source, url);
    else await new Reading(box).open(source, signal);
    if (!isPdf(file)) position.textContent = t("The text as it was read; the passage is marked.");
  } catch (error) {
    if (error.name === "AbortError" || !dialog.open) return;
    position.textContent = "";
    message.textContent = `${t("The original could not be shown.")} ${error.message}`;
  }
}

wireDialog(dialog);
dialog.addEventListener("close", () => {
  pending?.abort();
  pages?.close();
  box.replaceChildren();
});
for (const [id, act] of /** @type {[string, () => void][]} */ ([
  ["original-before", () => pages.show(pages.page - 1)],
  ["original-next", () => pages.show(pages.page + 1)],
  ["original-larger", () => pages.zoom(1.25)],
  ["original-smaller", () => pages.zoom(0.8)],
])) byId(id).addEventListener("click", () => { if (pages?.total) act(); });
