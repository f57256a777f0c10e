import { at as addressOf, getJson, sendJson } from "../common/api.js";
import { showText } from "../common/components.js";
import { showIcon } from "../common/forms.js";
import { announce, byId, cloneTemplate } from "../common/dom.js";
import { when } from "../common/format.js";
import { fileProgress, isFinished, outcomeLine, stateIcon, stateText } from "../common/states.js";
import { count, t } from "../common/words.js";

const nameOf = ({ files }) => (files.length === 1 ? files[0].name : count(files.length, "document"));

function titleOf(ingestion) {
  const { files, state, progress } = ingestion;
  if (state === "queued") return t("{name}: waiting to be read", { name: nameOf(ingestion) });
  const percent = Math.floor((progress ?? 0) * 100);
  if (state === "running") return t("{name}: indexing, {percent} %", { name: nameOf(ingestion), percent });
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
    bar.setAttribute("aria-label", t("Indexing of {name}", { name: nameOf(ingestion) }));
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
    bar.setAttribute("aria-label", t("Indexing of {name}", file));
    showIcon(row.querySelector(".state-icon"), stateIcon(file.state));
    showText(row.querySelector(".file-name"), file.name);
    showText(row.querySelector(".file-state"), stateText(file));
    showText(row.querySelector(".file-error"), file.error);
    const open = row.querySelector(".file-open");
    row.dataset.document = file.document_id;
    open.hidden = file.state !== "done" || !file.document_id;
    open.setAttribute("aria-label", t("Show {name}", file));
    const ask = row.querySelector(".file-ask");
    ask.hidden = open.hidden;
    ask.href = addressOf(`/?document=${encodeURIComponent(file.document_id)}`);
    ask.setAttribute("aria-label", t("Ask {name}", file));
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
        this.note([error.message, error.requestId && `(${t("Request id: {id}", { id: error.requestId })})`].filter(Boolean).join(" "));
      } finally {
        button.disabled = false;
        // The button that was pressed is gone now.
        if (button.hidden) this.#find("summary").focus();
      }
    });
  }
}

const RECENT_MS = 24 * 60 * 60 * 1000;
const RECENT = 3;
const POLL_MS = 1000;
const LONGEST_MS = 30_000;

/**
 * The ingestions under way and the recent ones. `onChange` is called when the list of documents is another, `onOpen`
 * with the id of a document to show.
 */
export class Activity {
  #cards = new Map();
  #onChange;
  #onOpen;
  #timer = 0;
  #delay = POLL_MS;

  constructor({ onChange, onOpen }) {
    this.#onChange = onChange;
    this.#onOpen = onOpen;
    document.addEventListener("visibilitychange", () => document.hidden || this.#soon());
  }

  /** What runs or ran lately, also when it was begun in another tab or before a reload. */
  async load() {
    const { ingestions } = await getJson("/api/ingestions?limit=10");
    const isRecent = ({ created_at: at }) => Date.now() - new Date(at).getTime() < RECENT_MS;
    const finished = ingestions.filter((ingestion) => isFinished(ingestion) && isRecent(ingestion)).slice(0, RECENT);
    const running = ingestions.filter((ingestion) => !isFinished(ingestion));
    for (const ingestion of finished.toReversed()) {
      this.add(ingestion, ingestion === ingestions[0] && ingestion.state === "failed");
    }
    for (const ingestion of running.toReversed()) this.add(ingestion);
  }

  /** Shows it as the newest. */
  add(ingestion, open = true) {
    const known = this.#cards.get(ingestion.ingestion_id);
    const card = known ?? new IngestionCard(ingestion, {
      onAnswer: (answer) => this.#answered(answer), onOpen: this.#onOpen,
    });
    this.#cards.set(ingestion.ingestion_id, card);
    if (known) card.show(ingestion);
    card.root.open = open;
    byId("activity").prepend(card.root);
    byId("activity").hidden = false;
    this.#soon();
    return card;
  }

  #answered(ingestion) {
    this.add(ingestion);
    this.#onChange();
  }

  #running() {
    return [...this.#cards.values()].filter(({ ingestion }) => !isFinished(ingestion));
  }

  #soon() {
    this.#delay = POLL_MS;
    this.#wait();
  }

  #wait() {
    clearTimeout(this.#timer);
    if (this.#running().length) this.#timer = setTimeout(() => this.#poll(), this.#delay);
  }

  async #poll() {
    const reached = await Promise.all(this.#running().map((card) => this.#refresh(card)));
    this.#delay = document.hidden || reached.includes(false) ? Math.min(2 * this.#delay, LONGEST_MS) : POLL_MS;
    this.#wait();
  }

  /** Whether the server could be asked. */
  async #refresh(card) {
    const done = ({ files }) => files.filter(isFinished).length;
    const before = done(card.ingestion);
    try {
      card.show(await getJson(`/api/ingestions/${encodeURIComponent(card.ingestion.ingestion_id)}`));
    } catch (error) {
      if (error.status === 404) this.#forget(card);
      else card.note(`${error.message} ${t("The progress is asked again.")}`);
      return error.status === 404;
    }
    if (done(card.ingestion) !== before) this.#onChange();
    return true;
  }

  #forget(card) {
    this.#cards.delete(card.ingestion.ingestion_id);
    card.root.remove();
    byId("activity").hidden = this.#cards.size === 0;
  }
}
