/** Undoing a change of documents, or a deletion; kept for a reload of the page. */
import { sendJson } from "../common/api.js";
import { announce, byId, showError } from "../common/dom.js";
import { sourceTitle } from "../common/format.js";
import { count, t } from "../common/words.js";

const KEPT = "review-undo";

/**
 * Return the rows that undo the last change, or the id and the title of the document
 * that was deleted; null if there was neither.
 */
function keptRows() {
  const kept = sessionStorage.getItem(KEPT);
  return kept && JSON.parse(kept);
}

function hide() {
  sessionStorage.removeItem(KEPT);
  showError(byId("undo-error"), null);
  byId("undo").hidden = true;
}

function show(rows) {
  byId("undo-text").textContent = rows.id
    ? t("{title} deleted.", rows)
    : t("{documents} changed.", { documents: count(rows.length, "document") });
  byId("undo").hidden = false;
}

/** Return the rows without those of reports that are not there any more. */
function withoutGone(rows, { status, details }) {
  if (status !== 404) return rows;
  const gone = new Set((details ?? []).map(({ field }) => field));
  return rows.filter((_, index) => !gone.has(`documents.${index}.id`));
}

function offer(rows) {
  sessionStorage.setItem(KEPT, JSON.stringify(rows));
  show(rows);
}

/** Offer to undo a change with the rows that the server returned for it. */
export function offerUndo(rows) {
  if (!rows.length) return hide();
  offer(rows);
}

/** Withdraw the offer to restore a document that has left the bin in another way. */
export function withdrawRestore({ document_id: id }) {
  if (keptRows()?.id === id) hide();
}

/** Offer to take a document out of the bin again. */
export const offerRestore = (document) =>
  offer({ id: document.document_id, title: sourceTitle(document) });

async function restore({ id, title }) {
  await sendJson("POST", `/api/documents/${encodeURIComponent(id)}/restore`);
  hide();
  announce(t("{title} restored.", { title }));
}

/**
 * Show what a change before the reload left. `onUndone` gets the ids of the documents
 * that have their earlier values again.
 */
export function wireUndo(onUndone) {
  const rows = keptRows();
  if (rows) show(rows);
  byId("undo-close").addEventListener("click", hide);
  byId("undo-button").addEventListener("click", async ({ target }) => {
    const button = target.closest("button");
    const documents = keptRows();
    button.disabled = true;
    if (documents.id)
      return restore(documents)
        .then(() => onUndone([documents.id]))
        .catch((error) => showError(byId("undo-error"), error))
        .finally(() => (button.disabled = false));
    try {
      const { failed } = await sendJson("PATCH", "/api/documents", { documents });
      const left = new Set(failed.map(({ id }) => id));
      offerUndo(documents.filter(({ id }) => left.has(id)));
      if (failed.length) return showError(byId("undo-error"), failed[0]);
      announce(t("The earlier values are back."));
      onUndone(documents.map(({ id }) => id));
    } catch (error) {
      offerUndo(withoutGone(documents, error));
      showError(byId("undo-error"), error);
    } finally {
      button.disabled = false;
    }
  });
}
