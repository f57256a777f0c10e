import { sendJson } from "../common/api.js";
import { showError, showText, wireDialog } from "../common/components.js";
import { clearFieldErrors, icon, showFormError } from "../common/forms.js";
import { all, announce, byId, element } from "../common/dom.js";
import { loadFormats, namedFiles, sortOut, visible, webAddress, wireDrop } from "../common/files.js";
import { bytes } from "../common/format.js";
import { sendFiles } from "./sending.js";
import { count, t } from "../common/words.js";

const form = byId("upload-form");
/** What is chosen and not yet sent: {name, file} or {name, url}. */
let staged = [];
let sending = null;

function showStaged() {
  byId("staging").hidden = staged.length === 0;
  byId("staged-title").textContent = t("{documents} to add", { documents: count(staged.length, "document") });
  byId("upload-submit").querySelector("span").textContent = t("Add {documents}", { documents: count(staged.length, "document") });
  byId("upload-submit").disabled = sending !== null;
  byId("staged").replaceChildren(...staged.map(stagedItem));
  if (!staged.length) showError(byId("upload-error"), null);
}

function stagedItem(item, index) {
  const remove = element("button", {
    type: "button", className: "button quiet icon-only", "aria-label": t("Remove {name}", item),
  }, icon("close"));
  remove.addEventListener("click", () => {
    staged = staged.filter((other) => other !== item);
    showStaged();
    const left = byId("staged").querySelectorAll("button");
    (left[Math.min(index, left.length - 1)] ?? byId("file-input")).focus();
  });
  return element("li", {}, icon(item.url ? "link" : "file"),
    element("span", { className: "file-name", text: item.name }),
    element("span", { className: "file-size", text: item.url ? "" : bytes(item.file.size) }), remove);
}

function refuse(refused) {
  byId("refused").hidden = refused.length === 0;
  byId("refused-title").textContent = refused.length ? t("Not added: {files}", { files: count(refused.length, "file") }) : "";
  byId("refused-list").replaceChildren(...refused.map(({ name, reason }) =>
    element("li", {}, element("strong", { text: name }), ` ${reason}`)));
}

/** The same name again takes the place of the first: one request can hold it once. */
function stage(items) {
  staged = [...new Map([...staged, ...items].map((item) => [item.name, item])).values()];
  showStaged();
}

async function addFiles(choosing) {
  const chosen = await choosing;
  if (!chosen.length) return;
  const { taken, refused } = await sortOut(chosen);
  refuse(refused);
  stage(taken);
  if (taken.length) announce(t("{documents} to add", { documents: count(staged.length, "document") }));
}

function addAddress() {
  const input = byId("url-input");
  const text = input.value.trim();
  const url = text && webAddress(text);
  showText(byId("url-error"), text && !url ? t("This is not a web address: it has to begin with https:// or http://.") : "");
  if (text && !url) return input.focus();
  if (url) stage([{ name: url, url }]);
  input.value = "";
  input.focus();
}

const fields = () => [...new FormData(form)].filter(([, value]) => typeof value === "string" && value.trim())
  .map(([name, value]) => [name, String(value).trim()]);

async function sendAddresses(items, described) {
  if (!items.length) return [];
  return [await sendJson("POST", "/api/documents", { urls: items.map(({ url }) => url), ...Object.fromEntries(described) })];
}

const conflict = byId("conflict-dialog");
let decide = null;

function askWhich({ details }, onChoice) {
  const names = details.map(({ name }) => name);
  byId("conflict-text").textContent = names.length > 10
    ? t("{names} and {number} more", { names: names.slice(0, 10).join(", "), number: names.length - 10 }) : names.join(", ");
  decide = onChoice;
  conflict.showModal();
}

function wireConflict() {
  wireDialog(conflict);
  for (const button of all(conflict, "[data-choice]")) {
    button.addEventListener("click", () => {
      conflict.close();
      decide(button.dataset.choice);
    });
  }
}

/** Sends what is staged; what the server did not take is staged again. `choice`: what to do with names it has. */
async function submit(onIngestion, choice = "") {
  const items = staged;
  const described = fields();
  const ofFiles = choice ? [...described, ["on_conflict", choice]] : described;
  const open = new Set(items);
  const taken = (ingestion, done) => {
    for (const item of done) open.delete(item);
    onIngestion(ingestion);
  };
  clearFieldErrors(form);
  showError(byId("upload-error"), null);
  staged = [];
  sending = new AbortController();
  showStaged();
  try {
    const addresses = items.filter(({ url }) => url);
    for (const ingestion of await sendAddresses(addresses, described)) taken(ingestion, addresses);
    await sendFiles(items.filter(({ file }) => file), ofFiles, { signal: sending.signal, onTaken: taken });
    byId("advanced").open = false;
    form.reset();
  } catch (error) {
    staged = [...open, ...staged];
    showStaged();
    if (error.code === "document_exists") askWhich(error, (chosen) => submit(onIngestion, chosen));
    else showFormError(form, byId("upload-error"), error);
  } finally {
    sending = null;
    showStaged();
  }
}

async function showFormats() {
  try {
    const formats = await loadFormats();
    byId("file-input").accept = formats.suffixes.join(",");
    byId("upload-chunk_strategy").options[0].text = t("As set on the server ({strategy})", { strategy: formats.chunk_strategy });
    byId("upload-chunk_strategy").append(...formats.chunk_strategies.map((name) =>
      element("option", { value: name, text: name })));
    byId("upload-chunk_size").placeholder = formats.chunk_size;
    byId("upload-chunk_overlap").placeholder = formats.chunk_overlap;
    return formats.types;
  } catch (error) {
    showText(byId("formats-hint"), `${t("What can be read could not be loaded.")} ${error.message}`);
    return [];
  }
}

function wireChoosing() {
  for (const id of ["file-input", "folder-input"]) {
    byId(id).addEventListener("change", ({ target }) => {
      const chosen = namedFiles(target.files);
      addFiles(id === "folder-input" ? visible(chosen) : chosen);
      // The same file can be chosen again after it was mended.
      target.value = "";
    });
  }
  const canFolders = "webkitdirectory" in byId("folder-input");
  byId("folder-input").hidden = byId("folder-button").hidden = !canFolders;
  wireDrop(byId("drop-zone"), addFiles);
  byId("url-add").addEventListener("click", addAddress);
  byId("url-input").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    addAddress();
  });
}

/** `onIngestion` gets each ingestion the server has begun. Resolves to the types the server knows. */
export function wireUpload({ onIngestion }) {
  wireChoosing();
  wireConflict();
  byId("refused-clear").addEventListener("click", () => {
    refuse([]);
    byId("file-input").focus();
  });
  byId("sending-stop").addEventListener("click", () => sending?.abort());
  byId("upload-clear").addEventListener("click", () => {
    staged = [];
    form.reset();
    clearFieldErrors(form);
    showStaged();
    byId("file-input").focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (staged.length && !sending) submit(onIngestion);
  });
  return showFormats();
}
