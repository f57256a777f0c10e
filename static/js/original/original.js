/**
 * The report behind a passage: a PDF at its page, any other file as the extracted text.
 */
import { at, getJson } from "../common/api.js";
import { byId, element, showText, wireDialog } from "../common/dom.js";
import { sourcePlace, sourceTitle } from "../common/format.js";
import {
  formatText,
  isPdf,
  markedPassage,
  plainRows,
  splitAtCited,
} from "../common/passage.js";
import { comma, t } from "../common/words.js";

const STEP = 40;
const dialog = byId("original");
const box = byId("original-body");
const position = byId("original-position");
const message = byId("original-message");
let pages = null;
let pending = null;

const showPosition = (page) =>
  showText(position, t("Page {page} of {total}", { page, total: pages.total }));

/** The text of a report in order, with a passage marked; more is loaded on request. */
class ReportText {
  #first = 0;
  #next = 0;
  #total = 0;
  #section = "";

  constructor(source, said, signal) {
    this.source = source;
    this.said = said;
    this.signal = signal;
  }

  async show() {
    const { offset, parts, total } = await this.#load(
      `around=${encodeURIComponent(this.source.chunk_id)}&limit=${STEP}`,
    );
    [this.#first, this.#next, this.#total] = [offset, offset + parts.length, total];
    box.replaceChildren(
      this.#button(t("Show earlier text"), "earlier"),
      ...this.#nodes(parts),
      this.#button(t("Show later text"), "later"),
    );
    this.#showButtons();
    (box.querySelector(".cited") ?? box.querySelector("mark"))?.scrollIntoView({
      block: "center",
    });
    position.textContent = t("Extracted text, with the passage marked.");
  }

  #load(query) {
    return getJson(
      `/api/documents/${encodeURIComponent(this.source.document_id)}/text?${query}`,
      this.signal,
    );
  }

  #nodes(parts) {
    return parts.flatMap(({ section, text: written, chunk_id: id }) => {
      const text = plainRows(written);
      const isNew = section && section !== this.#section;
      this.#section = section;
      const nodes =
        id === this.source.chunk_id
          ? [markedPassage(text, this.said)]
          : formatText(text);
      return [
        ...(isNew ? [element("p", { className: "eyebrow", text: section })] : []),
        element("div", { className: "read-part" }, ...nodes),
      ];
    });
  }

  #button(text, name) {
    const button = element("button", {
      type: "button",
      className: `button quiet ${name}`,
      text,
    });
    button.addEventListener("click", async () => {
      const isEarlier = name === "earlier";
      const offset = isEarlier ? Math.max(0, this.#first - STEP) : this.#next;
      const limit = isEarlier ? this.#first - offset : STEP;
      const { parts } = await this.#load(`cursor=${offset}&limit=${limit}`);
      const height = box.scrollHeight;
      this.#section = "";
      const nodes = this.#nodes(parts);
      if (isEarlier) {
        button.after(...nodes);
        box.scrollTop += box.scrollHeight - height;
      } else button.before(...nodes);
      this.#first = Math.min(this.#first, offset);
      this.#next = Math.max(this.#next, offset + parts.length);
      // The total counts the generated summary, which is not part of the text.
      if (!isEarlier && parts.length < limit) this.#total = this.#next;
      this.#showButtons();
    });
    return button;
  }

  #showButtons() {
    box.querySelector(".earlier").hidden = this.#first <= 0;
    box.querySelector(".later").hidden = this.#next >= this.#total;
  }
}

/**
 * Open the report of a passage. `file`: the name of the stored file, if any. `said`:
 * what an answer says with it.
 */
export async function openOriginal(source, file, said = "") {
  pending?.abort();
  const { signal } = (pending = new AbortController());
  const url = at(`/api/documents/${encodeURIComponent(source.document_id)}/file`);
  byId("original-title").textContent = sourceTitle(source);
  byId("original-place").textContent = [file, sourcePlace(source)]
    .filter(Boolean)
    .join(comma);
  byId("original-keep").hidden = !file;
  byId("original-keep").href = url;
  byId("original-turn").hidden = byId("original-tab").hidden = !isPdf(file);
  byId("original-tab").href = `${url}?disposition=inline#page=${source.page ?? 1}`;
  box.classList.toggle("pdf", isPdf(file));
  box.replaceChildren();
  message.textContent = "";
  position.textContent = t("Loading");
  if (!dialog.open) dialog.showModal();
  box.focus({ preventScroll: true });
  try {
    if (!isPdf(file)) return await new ReportText(source, said, signal).show();
    const { Pages } = await import("./pages.js");
    pages ??= new Pages(box, showPosition);
    const [, quoted] = splitAtCited(source.text ?? "", said);
    await pages.open(`${url}?disposition=inline`, {
      page: source.page ?? 1,
      passage: source.text ?? "",
      quoted,
    });
    showPosition(pages.page);
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
]))
  byId(id).addEventListener("click", () => {
    if (pages?.total) act();
  });
