import { sendJson } from "../common/api.js";
import { showError, showText, wireDialog } from "../common/components.js";
import { clearFieldErrors, showFormError, splitLabels } from "../common/forms.js";
import { byId } from "../common/dom.js";
import { sourceTitle } from "../common/format.js";
import { t } from "../common/words.js";

const dialog = byId("edit-dialog");
const form = byId("edit-form");
const NULLABLE = ["country_name", "type", "description"];

const shown = (document) => ({
  title: sourceTitle(document),
  country_name: document.country_name ?? "",
  year: String(document.year ?? ""),
  type: document.type ?? "",
  labels: (document.labels ?? []).join(", "),
  description: document.description ?? "",
});

/** A field as the API takes it; what is no number is left for the server to refuse in its words. */
function apiValue(name, text) {
  if (name === "labels") return splitLabels(text);
  if (name === "year") return /^\d+$/.test(text) ? Number(text) : text || null;
  return NULLABLE.includes(name) ? text || null : text;
}

function changesOf(document) {
  const before = shown(document);
  const changed = Object.keys(before).map((name) => [name, form.elements[name].value.trim()])
    .filter(([name, text]) => text !== before[name].trim());
  return Object.fromEntries(changed.map(([name, text]) => [name, apiValue(name, text)]));
}

let editing = null;
let onSaved = null;

export function editDocument(document) {
  editing = document;
  byId("edit-heading").textContent = t("Edit “{title}”", { title: sourceTitle(document) });
  for (const [name, value] of Object.entries(shown(document))) form.elements[name].value = value;
  clearFieldErrors(form);
  showError(byId("edit-error"), null);
  showText(byId("edit-note"), document.parts > 1
    ? t("The rows of this table have countries and years of their own. A country or a year set here stands for all of it.") : "");
  dialog.showModal();
  form.elements.title.focus();
}

async function save() {
  const changes = changesOf(editing);
  if (!Object.keys(changes).length) return dialog.close();
  const button = byId("edit-save");
  button.disabled = true;
  button.textContent = t("Saving …");
  clearFieldErrors(form);
  showError(byId("edit-error"), null);
  try {
    const saved = await sendJson("PATCH", `/api/documents/${encodeURIComponent(editing.document_id)}`, changes);
    dialog.close();
    onSaved(saved);
  } catch (error) {
    showFormError(form, byId("edit-error"), error);
  } finally {
    button.disabled = false;
    button.textContent = t("Save");
  }
}

/** `saved` gets the document as it is now. */
export function wireEdit(saved) {
  onSaved = saved;
  wireDialog(dialog);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!byId("edit-save").disabled) save();
  });
}
