/**
 * The knowledge base: uploads, the list of documents, one document, and its dialogs.
 */
import { guideTo, showAbout } from "./guide.js";
import { DocumentList } from "./list.js";
import { offerRestore, wireUndo, withdrawRestore } from "./undo.js";
import { DocumentView } from "./view.js";
import { getJson, sendJson } from "../common/api.js";
import {
  announce,
  byId,
  element,
  onSubmit,
  showError,
  showText,
  wireDialog,
} from "../common/dom.js";
import { clearErrors, showFormError } from "../common/forms.js";
import { sourceTitle } from "../common/format.js";
import { Activity, documentsOf } from "../upload/activity.js";
import { wireUpload } from "../upload/form.js";
import { count, locale, t } from "../common/words.js";

const pathOf = ({ document_id: id }) => `/api/documents/${encodeURIComponent(id)}`;
let knownTypes = [];

function suggest() {
  const options = (values) =>
    [...new Set(values)].map((value) => element("option", { value }));
  byId("countries").replaceChildren(...options(list.values("country_name")));
  byId("types").replaceChildren(...options([...knownTypes, ...list.values("type")]));
}

async function reload() {
  await list.load();
  suggest();
}

const confirm = byId("confirm-dialog");
let deleting = null;

function confirmDelete(document) {
  const title = sourceTitle(document);
  const passages = count(document.chunks, "passage");
  const isInBin = document.status === "deleted";
  const days = document.status === "ready" ? Number(confirm.dataset.binDays) : 0;
  const text = [];
  if (document.chunks && !isInBin)
    text.push(t("Its {passages} will no longer be found or cited.", { passages }));
  if (days)
    text.push(
      t("It can be restored from the bin for {days}.", { days: count(days, "day") }),
    );
  else text.push(t("This cannot be undone."));
  byId("confirm-title").textContent = t("Delete “{title}”?", { title });
  byId("confirm-text").textContent = text.join(" ");
  byId("confirm-yes").hidden = !days;
  deleting = document;
  showError(byId("confirm-error"), null);
  confirm.showModal();
  confirm.querySelector("[data-close]").focus();
  nameQuotations(document);
}

/** Say how many conversations keep what they have quoted, when these are counted. */
async function nameQuotations(document) {
  try {
    const { conversations } = await getJson(`${pathOf(document)}/quotations`);
    if (deleting !== document) return;
    const number = conversations.toLocaleString(locale);
    byId("confirm-text").textContent += ` ${t(
      "Conversations that keep what they have quoted of it: {number}.",
      { number },
    )}`;
  } catch (error) {
    if (deleting === document) showError(byId("confirm-error"), error);
  }
}

async function remove(button, isForGood) {
  button.disabled = true;
  try {
    await sendJson("DELETE", pathOf(deleting) + (isForGood ? "?permanent=true" : ""));
    if (view.isOpen) view.close();
    announce(t("{title} deleted.", { title: sourceTitle(deleting) }));
    if (isForGood) withdrawRestore(deleting);
    else offerRestore(deleting);
    confirm.close();
    // The dialog first returns the focus to the row that will be removed.
    setTimeout(reload);
  } catch (error) {
    showError(byId("confirm-error"), error);
  } finally {
    button.disabled = false;
  }
}

wireDialog(confirm);
byId("confirm-yes").addEventListener("click", ({ target }) => remove(target, false));
byId("confirm-good").addEventListener("click", ({ target }) => remove(target, true));

const edit = byId("edit-dialog");
const form = byId("edit-form");
const OPTIONAL = [
  "country_name",
  "type",
  "description",
  "publisher",
  "publication_date",
  "source_url",
];
let editing = null;

const fieldsOf = (document) => ({
  title: sourceTitle(document),
  country_name: document.country_name ?? "",
  year: String(document.year ?? ""),
  type: document.type ?? "",
  labels: (document.labels ?? []).join(", "),
  description: document.description ?? "",
  publisher: document.publisher ?? "",
  authors: (document.authors ?? []).join("; "),
  publication_date: document.publication_date ?? "",
  source_url: document.source_url ?? "",
});

function editDocument(document) {
  editing = document;
  byId("edit-heading").textContent = t("Edit “{title}”", {
    title: sourceTitle(document),
  });
  for (const [name, value] of Object.entries(fieldsOf(document)))
    form.elements[name].value = value;
  clearErrors(form, byId("edit-error"));
  showText(
    byId("edit-note"),
    document.parts > 1
      ? t(
          "Each row of this table has its own country and year. A country or year set here applies to all rows.",
        )
      : "",
  );
  edit.showModal();
  form.elements.title.focus();
}

/**
 * Return a field as the API takes it. A year that is not a number is sent as it is: the
 * server explains the error.
 */
function apiValue(name, text) {
  if (name === "labels")
    return text
      .split(",")
      .map((label) => label.trim())
      .filter(Boolean);
  if (name === "year") return /^\d+$/.test(text) ? Number(text) : text || null;
  return OPTIONAL.includes(name) ? text || null : text;
}

async function save() {
  const changed = Object.entries(fieldsOf(editing))
    .map(([name, before]) => [name, before.trim(), form.elements[name].value.trim()])
    .filter(([, before, text]) => text !== before);
  if (!changed.length) return edit.close();
  const button = byId("edit-save");
  button.disabled = true;
  button.textContent = t("Saving …");
  clearErrors(form, byId("edit-error"));
  try {
    const changes = Object.fromEntries(
      changed.map(([name, , text]) => [name, apiValue(name, text)]),
    );
    const saved = await sendJson("PATCH", pathOf(editing), changes);
    edit.close();
    if (view.isOpen) view.show(saved);
    showAbout(saved);
    announce(t("{title} saved.", { title: sourceTitle(saved) }));
    reload();
  } catch (error) {
    showFormError(form, byId("edit-error"), error);
  } finally {
    button.disabled = false;
    button.textContent = t("Save");
  }
}

wireDialog(edit);
onSubmit(form, () => byId("edit-save").disabled || save());

function follow(ingestion, upload = null) {
  const card = activity.add(ingestion, true, upload);
  card.root.querySelector("summary").focus({ preventScroll: true });
  card.root.scrollIntoView({ block: "center" });
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

async function restore(document) {
  try {
    await sendJson("POST", `${pathOf(document)}/restore`);
    withdrawRestore(document);
    announce(t("{title} restored.", { title: sourceTitle(document) }));
    reload();
  } catch (error) {
    showError(byId("list-error"), error);
  }
}

const ACTIONS = {
  open: (document) => view.open(document),
  edit: editDocument,
  reingest,
  restore,
  delete: confirmDelete,
};
const act = (action, document) => ACTIONS[action](document);
/**
 * Show documents in the review, whose script is loaded when it is needed.
 * `following`: what reads the documents behind these; `focus`: a person has asked for
 * it.
 */
async function openReview(ids, following = null, focus = true) {
  const review = (await import("./review.js")).theReview();
  await review
    .open(ids, { onSaved: reload, focus, following })
    .catch((error) => showError(byId("list-error"), error));
}

const list = new DocumentList(act, openReview);
const view = new DocumentView(act);

async function openById(id) {
  try {
    view.open(await getJson(pathOf({ document_id: id })));
  } catch (error) {
    showError(byId("list-error"), error);
    byId("list-error").scrollIntoView({ block: "center" });
  }
}

/** The uploads of this page whose documents are not yet in the review. */
const uploads = new Map();

function followUpload(ingestion, upload) {
  uploads.set(ingestion.ingestion_id, null);
  list.showNewest();
  follow(ingestion, upload);
}

/** Once all files that were sent are read, several documents are reviewed. */
function noteFinished(ingestion) {
  if (!uploads.has(ingestion.ingestion_id)) return;
  uploads.set(ingestion.ingestion_id, ingestion);
  const ended = [...uploads.values()];
  if (ended.includes(null)) return;
  uploads.clear();
  const ids = ended.flatMap(documentsOf);
  if (ids.length > 1) openReview(ids, null, false);
}

const activity = new Activity({
  onChange: reload,
  onOpen: openById,
  onReview: openReview,
  onFinished: noteFinished,
  guideFor: async (id) => {
    const path = pathOf({ document_id: id });
    return guideTo(await getJson(path), async () => editDocument(await getJson(path)));
  },
});

wireUndo(async (ids) => {
  reload();
  if (byId("review").hidden) return;
  const review = (await import("./review.js")).theReview();
  review.refresh(ids);
});
wireUpload({ onIngestion: followUpload, onOpen: openById }).then((types) => {
  knownTypes = types;
  suggest();
});
reload();
activity.load().catch((error) => showError(byId("list-error"), error));
