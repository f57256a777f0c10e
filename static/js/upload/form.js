/** Choosing documents to add, and sending them with their fields. */
import { sendJson } from "../common/api.js";
import {
  all,
  announce,
  byId,
  cloneTemplate,
  element,
  focusNext,
  onSubmit,
  showError,
  showText,
  wireDialog,
} from "../common/dom.js";
import {
  distinct,
  loadFormats,
  namedFiles,
  sortOut,
  takeAddress,
  wireDrop,
  wireEnter,
} from "../common/files.js";
import { visible } from "../common/folders.js";
import { clearErrors, showFormError, showIcon } from "../common/forms.js";
import { bytes } from "../common/format.js";
import { foldedDifferences, summaryOf } from "./differences.js";
import { leaveOutCopies } from "./known.js";
import { fieldsFor, lookInto, MAX_LOOKED_BYTES, request } from "./preview.js";
import { sendFiles } from "./sending.js";
import { comma, count, t, translated } from "../common/words.js";

const form = byId("upload-form");
/** Reports that the dialog names, each with what would be different. */
const MAX_CONFLICTS = 30;
/**
 * What is chosen and not yet sent: {name, file} or {name, url}, and once it is shown
 * its `row`.
 */
let staged = [];
let sending = null;
/** One choice after the other is compared with the library and with those before. */
let noting = Promise.resolve();
/**
 * Shows a report of the library.
 * @type {(id: string) => void}
 */
let openReport;

const isAdded = (item) => !item.isLeftOut;

function showStaged() {
  const added = staged.filter(isAdded).length;
  const documents = count(added, "document");
  byId("staging").hidden = staged.length === 0;
  const leftOut = staged.length - added;
  byId("staged-title").textContent = [
    t("{documents} to add", { documents }),
    ...(leftOut ? [t("{number} left out", { number: leftOut })] : []),
  ].join(comma);
  byId("upload-submit").querySelector("span").textContent = t("Add {documents}", {
    documents,
  });
  byId("upload-submit").disabled = sending !== null || added === 0;
  // A single document has these fields of its own.
  byId("upload-fields").hidden = byId("upload-fields").disabled =
    staged.length === 1 && staged[0].isRead !== false;
  byId("staged").replaceChildren(...staged.map((item) => (item.row ??= rowOf(item))));
  if (!staged.length) showError(byId("upload-error"), null);
}

function rowOf(item) {
  const row = cloneTemplate("staged-template");
  const remove = row.querySelector("button");
  showIcon(row.querySelector(".state-icon"), item.url ? "link" : "file");
  showText(row.querySelector(".file-name"), item.name);
  showText(row.querySelector(".file-size"), item.url ? "" : bytes(item.file.size));
  remove.setAttribute("aria-label", t("Remove {name}", item));
  remove.addEventListener("click", () => {
    const index = staged.indexOf(item);
    stage(staged.filter((other) => other !== item));
    focusNext(byId("staged"), index, byId("file-input"));
  });
  return row;
}

/** Stage documents. A request can hold each name once: the last one counts. */
function stage(items) {
  staged = distinct(items);
  for (const item of staged)
    if (item.file?.size > MAX_LOOKED_BYTES) item.isRead = false;
  showStaged();
  noteCopies();
}

/** Look into what is chosen, except for what the library has already. */
function noteCopies() {
  noting = noting.then(async () => {
    await leaveOutCopies(staged, { onOpen: openReport, onChange: noteChoice });
    noteChoice();
    if (!staged.every(isAdded)) announce(byId("staged-title").textContent);
  });
}

function noteChoice() {
  showStaged();
  lookInto(staged.filter(isAdded), showStaged);
}

function showRefused(refused) {
  byId("refused").hidden = refused.length === 0;
  byId("refused-title").textContent = refused.length
    ? t("Not added: {files}", { files: count(refused.length, "file") })
    : "";
  byId("refused-list").replaceChildren(
    ...refused.map(({ name, reason }) =>
      element("li", {}, element("strong", { text: name }), ` ${reason}`),
    ),
  );
}

async function addFiles(choosing) {
  const chosen = await choosing;
  if (!chosen.length) return;
  const { accepted, refused } = await sortOut(chosen);
  showRefused(refused);
  stage([...staged, ...accepted]);
  if (accepted.length)
    announce(t("{documents} to add", { documents: count(staged.length, "document") }));
}

function addAddress() {
  const url = takeAddress(byId("url-input"), (problem) =>
    showText(byId("url-error"), problem),
  );
  if (url) stage([...staged, { name: url, url }]);
}

const conflict = byId("conflict-dialog");
let resolveConflict = null;

/** Look into a file of a conflict that was not looked into before, for one answer. */
async function compare(item, button) {
  button.disabled = true;
  try {
    const { files } = await request(item);
    item.replaces = files[0].replaces;
    if (!item.replaces) throw new Error(translated(files[0].error));
    button.replaceWith(foldedDifferences(item.replaces, summaryOf(item.replaces)));
  } catch (error) {
    button.replaceWith(element("p", { className: "file-error", text: error.message }));
  }
}

/** Return a line of the dialog: a name that is taken, with what would be different. */
function conflictOf({ name, title }, items) {
  const item = items.find((other) => other.name === name && other.file);
  const line = element("li", {}, element("strong", { text: name }));
  if (title && title !== name) line.append(` ${title}`);
  if (item?.replaces)
    line.append(foldedDifferences(item.replaces, summaryOf(item.replaces)));
  else if (item) {
    /** @type {HTMLButtonElement} */
    const button = element("button", {
      type: "button",
      className: "button quiet",
      text: t("Show what is different"),
    });
    button.addEventListener("click", () => compare(item, button));
    line.append(button);
  }
  return line;
}

/**
 * Send what is staged; whatever the server did not accept is staged again. `choice`:
 * what to do with names it has; `upload`: the id of the first ingestion of what was
 * accepted before.
 */
async function submit(onIngestion, choice = "", upload = null) {
  const items = staged.filter(isAdded);
  const fields = [...new FormData(form)]
    .filter(([, value]) => typeof value === "string" && value.trim())
    .map(([name, value]) => [name, String(value).trim()]);
  const left = new Set(items);
  const onSent = (ingestion, sent) => {
    for (const item of sent) left.delete(item);
    upload ??= ingestion.ingestion_id;
    onIngestion(ingestion, upload);
  };
  clearErrors(form, byId("upload-error"));
  staged = [];
  sending = new AbortController();
  showStaged();
  try {
    const addresses = items.filter(({ url }) => url);
    for (const item of addresses) {
      const body = { url: item.url, ...fieldsFor(item, fields) };
      onSent(await sendJson("POST", "/api/documents", body), [item]);
    }
    if (choice) fields.push(["on_conflict", choice]);
    await sendFiles(
      items.filter(({ file }) => file),
      fields,
      { signal: sending.signal, onSent },
    );
    byId("advanced").open = false;
    form.reset();
  } catch (error) {
    stage([...left, ...staged]);
    if (error.code !== "document_exists")
      return showFormError(
        error.item?.isRead ? error.item.row : form,
        byId("upload-error"),
        error,
      );
    const known = error.details.slice(0, MAX_CONFLICTS);
    byId("conflict-list").replaceChildren(
      ...known.map((detail) => conflictOf(detail, staged)),
    );
    showText(
      byId("conflict-more"),
      error.details.length > known.length
        ? t("{number} more", { number: error.details.length - known.length })
        : "",
    );
    resolveConflict = (chosen) => submit(onIngestion, chosen, upload);
    conflict.showModal();
  } finally {
    sending = null;
    showStaged();
  }
}

async function showFormats() {
  try {
    const formats = await loadFormats();
    byId("file-input").accept = formats.suffixes.join(",");
    byId("upload-chunk_strategy").options[0].text = t("Server default ({strategy})", {
      strategy: formats.chunk_strategy,
    });
    byId("upload-chunk_strategy").append(
      ...formats.chunk_strategies.map((name) =>
        element("option", { value: name, text: name }),
      ),
    );
    byId("upload-chunk_size").placeholder = formats.chunk_size;
    byId("upload-chunk_overlap").placeholder = formats.chunk_overlap;
    return formats.types;
  } catch (error) {
    showText(
      byId("formats-hint"),
      `${t("The supported file types could not be loaded.")} ${error.message}`,
    );
    return [];
  }
}

function wireChoosing() {
  for (const id of ["file-input", "folder-input"]) {
    byId(id).addEventListener("change", ({ target }) => {
      const chosen = namedFiles(target.files);
      addFiles(id === "folder-input" ? visible(chosen) : chosen);
      // Otherwise the same file could not be chosen again after it was corrected.
      target.value = "";
    });
  }
  // A value for all is shown in the fields of each, where it can still be changed.
  byId("upload-fields").addEventListener("input", ({ target }) => {
    for (const { row } of staged)
      row.querySelector(`[data-name=${target.name}]`).value = target.value;
  });
  byId("folder-input").hidden = byId("folder-button").hidden = !(
    "webkitdirectory" in byId("folder-input")
  );
  wireDrop(byId("drop-zone"), addFiles);
  byId("url-add").addEventListener("click", addAddress);
  wireEnter(byId("url-input"), addAddress);
}

/**
 * `onIngestion` gets each ingestion that the server has started, and the id of the
 * first one of its upload; `onOpen` the id of a report that a person wants to see.
 * Resolves to the document types that the server knows.
 */
export function wireUpload({ onIngestion, onOpen }) {
  openReport = onOpen;
  wireChoosing();
  wireDialog(conflict);
  for (const button of all(conflict, "[data-choice]")) {
    button.addEventListener("click", () => {
      conflict.close();
      resolveConflict(button.dataset.choice);
    });
  }
  byId("refused-clear").addEventListener("click", () => {
    showRefused([]);
    byId("file-input").focus();
  });
  byId("sending-stop").addEventListener("click", () => sending?.abort());
  byId("upload-clear").addEventListener("click", () => {
    form.reset();
    clearErrors(form, byId("upload-error"));
    stage([]);
    byId("file-input").focus();
  });
  const summaries = byId("summaries-dialog");
  if (summaries) {
    wireDialog(summaries);
    byId("summaries-go").addEventListener("click", () => {
      summaries.close();
      submit(onIngestion);
    });
  }
  onSubmit(form, () => {
    const added = staged.filter(isAdded).length;
    if (!added || sending) return;
    if (!summaries || added <= form.dataset.askAbove) return void submit(onIngestion);
    byId("summaries-text").textContent = t(
      "The language model writes a summary of each of these {number} documents, one request for each.",
      { number: added },
    );
    summaries.showModal();
  });
  return showFormats();
}
