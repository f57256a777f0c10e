/** One document in a sheet beside the list: its facts, its passages and its actions. */
import { guideTo } from "./guide.js";
import { at, getJson } from "../common/api.js";
import {
  all,
  byId,
  element,
  showError,
  showFacts,
  showText,
  wireDialog,
} from "../common/dom.js";
import { sourcePlace, sourceTitle, when } from "../common/format.js";
import { publicationFacts } from "../common/publication.js";
import { originOf, scopeValue, statusOf } from "../common/states.js";
import { formatText, plainRows } from "../common/passage.js";
import { comma, count, t, translated } from "../common/words.js";

const LIMIT = 20;
const dialog = byId("document-dialog");

function chunkingLine({ chunking }) {
  if (!chunking) return "";
  const { strategy, used, size, unit, overlap } = chunking;
  const limit = t("up to {size} {unit}", { size: used ?? size, unit });
  return [strategy, limit, overlap && t("overlap {overlap}", { overlap })]
    .filter(Boolean)
    .join(comma);
}

const factsOf = (document) => ({
  [t("Country")]: scopeValue(document, "country_name"),
  [t("Year")]: scopeValue(document, "year"),
  [t("Type")]: scopeValue(document, "type"),
  ...publicationFacts(document),
  [t("Status")]: statusOf(document).text,
  [t("Pages")]: document.pages,
  [t("Labels")]: (document.labels ?? []).join(comma),
  [t("Description")]: document.description,
  [t("Notes")]: (document.notes ?? []).map(translated).join(" "),
  [t("Shown")]: document.partial ? t("Only the parts that you may see") : "",
  [t("Source")]: document.source,
  [t("Updated")]: when(document.updated_at, true),
  [t("Split into")]: chunkingLine(document),
});

export class DocumentView {
  #document = null;
  #pending = null;

  /** `onAction` gets "edit", "reingest" or "delete" and the document. */
  constructor(onAction) {
    wireDialog(dialog);
    dialog.addEventListener("close", () => this.#pending?.abort());
    dialog.addEventListener("click", ({ target }) => {
      const action = target.closest("[data-action]")?.dataset.action;
      if (action) onAction(action, this.#document);
    });
    byId("passages-more").addEventListener("click", () => this.#loadMore());
  }

  get isOpen() {
    return dialog.open;
  }

  open(document) {
    this.show(document);
    byId("document-guide").replaceChildren();
    if (document.status === "ready") this.#showGuide(document);
    byId("passages").replaceChildren();
    showText(byId("passages-count"), "");
    byId("passages-more").hidden = true;
    dialog.showModal();
    dialog.querySelector(".sheet-body").scrollTop = 0;
    byId("document-title").focus({ preventScroll: true });
    return this.#loadMore();
  }

  async #showGuide(document) {
    const guide = await guideTo(document);
    if (guide && this.#document.document_id === document.document_id)
      byId("document-guide").replaceChildren(guide);
  }

  /** Show the facts, also after a change. */
  show(document) {
    this.#document = document;
    byId("document-name").textContent = originOf(document);
    byId("document-title").textContent = sourceTitle(document);
    showFacts(byId("document-facts"), factsOf(document));
    for (const button of all(dialog, "[data-action]"))
      button.hidden = !document.may_change;
    dialog.querySelector("[data-action=reingest]").hidden =
      !document.may_change || !document.can_reingest;
    byId("document-ask").hidden = document.status !== "ready";
    byId("document-ask").href = at(
      `/?document=${encodeURIComponent(document.document_id)}`,
    );
    byId("document-file").hidden = !document.has_file;
    byId("document-file").href = at(
      `/api/documents/${encodeURIComponent(document.document_id)}/file`,
    );
    showError(
      byId("document-message"),
      document.error ? { message: translated(document.error) } : null,
    );
  }

  fail(error) {
    showError(byId("document-message"), error);
  }

  close() {
    dialog.close();
  }

  async #loadMore() {
    this.#pending?.abort();
    const { signal } = (this.#pending = new AbortController());
    const list = byId("passages");
    const more = byId("passages-more");
    const offset = list.children.length;
    const path = `/api/documents/${encodeURIComponent(this.#document.document_id)}/chunks`;
    try {
      const { chunks, total } = await getJson(
        `${path}?cursor=${offset}&limit=${LIMIT}`,
        signal,
      );
      if (signal.aborted) return;
      const items = chunks.map((chunk) =>
        element(
          "li",
          { className: "passage-item" },
          element("p", {
            className: "eyebrow",
            text: sourcePlace(chunk) || t("Passage"),
          }),
          element(
            "div",
            { className: "passage-text" },
            ...formatText(plainRows(chunk.text)),
          ),
        ),
      );
      list.append(...items);
      const shown = list.children.length;
      more.hidden = shown >= total || !chunks.length;
      const passages = count(total, "passage");
      showText(
        byId("passages-count"),
        shown < total
          ? t("{range} of {total}", { range: shown, total: passages })
          : passages,
      );
      if (!offset || !items.length) return;
      items[0].tabIndex = -1;
      items[0].focus();
    } catch (error) {
      if (error.name === "AbortError") return;
      showText(
        byId("passages-count"),
        `${t("The passages could not be loaded.")} ${error.message}`,
      );
      more.hidden = false;
    }
  }
}
