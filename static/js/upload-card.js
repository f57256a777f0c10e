import { sendJson } from "./api.js";
import { announce, cloneTemplate } from "./dom.js";
import { fileProgress, isFinished, outcomeLine, stateIcon, stateText, when } from "./documents-format.js";
import { showIcon, showText } from "./documents-dom.js";
import { count } from "./format.js";

const nameOf = ({ files }) => (files.length === 1 ? files[0].name : count(files.length, "document"));

function titleOf(ingestion) {
  const { files, state, progress } = ingestion;
  if (state === "queued") return `${nameOf(ingestion)}: waiting to be read`;
  if (state === "running") return `${nameOf(ingestion)}: indexing, ${Math.floor((progress ?? 0) * 100)} %`;
  const outcome = files.length === 1 ? stateText(files[0]).toLowerCase() : outcomeLine(files);
  return `${nameOf(ingestion)}: ${outcome}`;
}

/** One ingestion on the page: how far it is, each file with its error, cancel and retry. */
export class IngestionCard {
  root = cloneTemplate("ingestion-template");
  #rows = [];
  #onAnswer;

  /** `onAnswer` gets the ingestion as the server has it after a cancel or a retry, `onOpen` a document's id. */
  constructor(ingestion, { onAnswer, onOpen }) {
    this.#onAnswer = onAnswer;
    this.#find(".file-progress").addEventListener("click", ({ target }) => {
      if (target.closest(".file-open")) onOpen(target.closest(".file-row").dataset.document);
    });
    const path = `/api/ingestions/${encodeURIComponent(ingestion.ingestion_id)}`;
    this.#wire(".cancel", "DELETE", path);
    this.#wire(".retry", "POST", `${path}/retry`);
    this.show(ingestion);
  }

  show(ingestion) {
    const before = this.ingestion;
    this.ingestion = ingestion;
    const finished = isFinished(ingestion);
    const bar = this.#find("summary progress");
    bar.hidden = finished;
    bar.value = ingestion.progress ?? 0;
    bar.setAttribute("aria-label", `Indexing of ${nameOf(ingestion)}`);
    this.root.dataset.state = ingestion.state;
    showIcon(this.#find(".state-icon"), stateIcon(ingestion.state));
    showText(this.#find(".ingestion-title"), titleOf(ingestion));
    ingestion.files.forEach((file, index) => this.#showFile(file, index, before?.files[index]));
    const retryable = finished && ingestion.files.some(({ state }) => state === "failed" || state === "cancelled");
    this.#find(".cancel").hidden = finished;
    this.#find(".retry").hidden = !retryable;
    this.note(finished ? when(ingestion.created_at, true) : "");
  }

  note(text) {
    showText(this.#find(".ingestion-note"), text);
  }

  #find(selector) {
    return this.root.querySelector(selector);
  }

  #showFile(file, index, before) {
    const row = this.#rows[index] ??= this.#find(".file-progress").appendChild(cloneTemplate("file-progress-template"));
    const bar = row.querySelector("progress");
    row.dataset.state = file.state;
    bar.hidden = isFinished(file);
    bar.value = fileProgress(file);
    bar.setAttribute("aria-label", `Indexing of ${file.name}`);
    showIcon(row.querySelector(".state-icon"), stateIcon(file.state));
    showText(row.querySelector(".file-name"), file.name);
    showText(row.querySelector(".file-state"), stateText(file));
    showText(row.querySelector(".file-error"), file.error);
    const open = row.querySelector(".file-open");
    row.dataset.document = file.document_id;
    open.hidden = file.state !== "done" || !file.document_id;
    open.setAttribute("aria-label", `Show ${file.name}`);
    if (before && before.state !== file.state && (isFinished(file) || file.state === "waiting")) {
      announce([`${file.name}: ${stateText(file)}.`, file.error].filter(Boolean).join(" "));
    }
  }

  #wire(selector, method, path) {
    const button = this.#find(selector);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        this.#onAnswer(await sendJson(method, path));
      } catch (error) {
        this.note([error.message, error.requestId && `(request id: ${error.requestId})`].filter(Boolean).join(" "));
      } finally {
        button.disabled = false;
        // The button that was pressed is gone now.
        if (button.hidden) this.#find("summary").focus();
      }
    });
  }
}
