import { editDocument, wireEdit } from "./edit.js";
import { DocumentList } from "./list.js";
import { DocumentView } from "./view.js";
import { getJson, sendJson } from "../common/api.js";
import { showError, wireDialog } from "../common/components.js";
import { announce, byId, element } from "../common/dom.js";
import { sourceTitle } from "../common/format.js";
import { Activity } from "../upload/activity.js";
import { wireUpload } from "../upload/form.js";
import { count, t } from "../common/words.js";

const dialog = byId("confirm-dialog");
let act = null;

/** Asks first, then does; where that fails, the dialog stays and says why. */
export function confirmThen({ title, text, verb }, action) {
  act = action;
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = text;
  byId("confirm-yes").textContent = verb;
  showError(byId("confirm-error"), null);
  dialog.showModal();
  dialog.querySelector("[data-close]").focus();
}

wireDialog(dialog);
byId("confirm-yes").addEventListener("click", async ({ target }) => {
  target.disabled = true;
  try {
    await act();
    dialog.close();
  } catch (error) {
    showError(byId("confirm-error"), error);
  } finally {
    target.disabled = false;
  }
});

const pathOf = (document) => `/api/documents/${encodeURIComponent(document.document_id)}`;
let knownTypes = [];

function suggest() {
  const options = (values) => [...new Set(values)].map((value) => element("option", { value }));
  byId("countries").replaceChildren(...options(list.values("country_name")));
  byId("types").replaceChildren(...options([...knownTypes, ...list.values("type")]));
}

async function reload() {
  await list.load();
  suggest();
}

function confirmDelete(document) {
  const passages = count(document.chunks, "passage");
  const lost = document.chunks ? `${t("Its {passages} can then no longer be found or cited.", { passages })} ` : "";
  const title = t("Delete “{title}”?", { title: sourceTitle(document) });
  const question = { title, text: lost + t("This cannot be undone."), verb: t("Delete") };
  confirmThen(question, async () => {
    await sendJson("DELETE", pathOf(document));
    if (view.isOpen) view.close();
    announce(t("{title} is deleted.", { title: sourceTitle(document) }));
    // After the dialog has given the focus back to the row that goes.
    setTimeout(reload);
  });
}

async function reingest(document) {
  try {
    const ingestion = await sendJson("POST", `${pathOf(document)}/reingest`, {});
    view.close();
    follow(ingestion);
    reload();
  } catch (error) {
    view.fail(error);
  }
}

function follow(ingestion) {
  const card = activity.add(ingestion);
  card.root.querySelector("summary").focus({ preventScroll: true });
  card.root.scrollIntoView({ block: "center" });
}

async function openById(id) {
  try {
    view.open(await getJson(`/api/documents/${encodeURIComponent(id)}`));
  } catch (error) {
    showError(byId("list-error"), error);
    byId("list-error").scrollIntoView({ block: "center" });
  }
}

const actions = {
  open: (document) => view.open(document),
  edit: editDocument,
  reingest,
  delete: confirmDelete,
};
const onAction = (action, document) => actions[action](document);
const list = new DocumentList(onAction);
const view = new DocumentView(onAction);
const activity = new Activity({ onChange: reload, onOpen: openById });

wireEdit((saved) => {
  if (view.isOpen) view.show(saved);
  announce(t("{title} is saved.", { title: sourceTitle(saved) }));
  reload();
});
wireUpload({ onIngestion: follow }).then((types) => {
  knownTypes = types;
  suggest();
});
reload();
activity.load().catch((error) => showError(byId("list-error"), error));
