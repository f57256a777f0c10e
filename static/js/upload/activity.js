/** Uploads that run or ran recently: their progress, errors, cancel and retry. */
import { at, getJson, sendJson } from "../common/api.js";
import { announce, byId, cloneTemplate, element, showText } from "../common/dom.js";
import { showIcon } from "../common/forms.js";
import { when } from "../common/format.js";
import { isFinished, outcomeLine, stateIcon, stateText } from "../common/states.js";
import { count, t, translated } from "../common/words.js";

const canRetry = ({ state }) => state === "failed" || state === "cancelled";
const hasFailed = ({ files }) => files.some(({ state }) => state === "failed");

const pathOf = ({ ingestion_id: id }) => `/api/ingestions/${encodeURIComponent(id)}`;
const nameOf = ({ files }) =>
  files.length === 1 ? files[0].name : count(files.length, "document");
/** Return the ids of the documents that an ingestion has added or replaced. */
export const documentsOf = ({ files }) =>
  files
    .filter(({ state, outcome }) => state === "done" && outcome !== "unchanged")
    .map(({ document_id: id }) => id)
    .filter(Boolean);
/**
 * Return the ingestions of one upload as one: its files are sent in several requests
 * where their fields differ.
 */
function joined(parts) {
  if (parts.length === 1) return parts[0];
  const files = parts.flatMap((part) => part.files);
  let done = 0;
  for (const part of parts)
    done += part.files.length * (isFinished(part) ? 1 : (part.progress ?? 0));
  const states = parts.map(({ state }) => state);
  const isWaiting = states.every((state) => state === "queued");
  let state = parts.every(isFinished) ? states.at(-1) : "running";
  if (isWaiting) state = "queued";
  return { ...parts[0], files, state, progress: done / files.length };
}

const finishedFiles = ({ files }) => files.filter(isFinished).length;

function titleOf(ingestion) {
  const { files, state, progress } = ingestion;
  const name = nameOf(ingestion);
  if (state === "queued") return t("{name}: queued", { name });
  if (state === "running")
    return t("{name}: indexing, {percent} %", {
      name,
      percent: Math.floor((progress ?? 0) * 100),
    });
  return `${name}: ${files.length === 1 ? stateText(files[0]).toLowerCase() : outcomeLine(files)}`;
}

/** Link what a file has changed of the version that it replaced. */
function showChanges(row, { outcome, state, document_id: id }) {
  const link = row.querySelector(".file-changes");
  if (!link) return;
  link.hidden = state !== "done" || outcome !== "replaced";
  link.href = `${link.dataset.address}?document_id=${encodeURIComponent(id)}`;
}

class UploadCard {
  root = cloneTemplate("ingestion-template");
  /** The ingestions of the upload by their ids. */
  #parts = new Map();
  #rows = [];
  #onChange;
  #guideFor;

  /**
   * `onChange` gets the ingestion after a cancel or a retry, `onOpen` a document's id,
   * `onReview` the ids of several; `guideFor` returns the guide to a document.
   */
  constructor(ingestion, { onChange, onOpen, onReview, guideFor }) {
    this.#onChange = onChange;
    this.#guideFor = guideFor;
    this.#find(".file-progress").addEventListener("click", ({ target }) => {
      if (target.closest(".file-open"))
        onOpen(target.closest(".file-row").dataset.document);
    });
    this.#find(".review-ingestion").addEventListener("click", () =>
      onReview(documentsOf(this.ingestion)),
    );
    this.#wire(".cancel", (part) =>
      isFinished(part) ? null : sendJson("DELETE", pathOf(part)),
    );
    this.#wire(".retry", (part) =>
      part.files.some(canRetry) ? sendJson("POST", `${pathOf(part)}/retry`) : null,
    );
    this.show(ingestion);
  }

  /** The ingestions that are not finished. */
  get running() {
    return [...this.#parts.values()].filter((part) => !isFinished(part));
  }

  /** Show the newest state of an ingestion of this upload. */
  show(part) {
    this.#parts.set(part.ingestion_id, part);
    this.#show(joined([...this.#parts.values()]));
  }

  /** Leave out an ingestion that the server does not know any more. */
  forget({ ingestion_id: id }) {
    this.#parts.delete(id);
    this.#rows = [];
    this.ingestion = undefined;
    this.#find(".file-progress").replaceChildren();
    if (this.#parts.size) this.#show(joined([...this.#parts.values()]));
    return this.#parts.size;
  }

  #show(ingestion) {
    const before = this.ingestion;
    this.ingestion = ingestion;
    const finished = isFinished(ingestion);
    const bar = this.#find("summary progress");
    bar.hidden = finished;
    bar.value = ingestion.progress ?? 0;
    bar.setAttribute(
      "aria-label",
      t("Indexing of {name}", { name: nameOf(ingestion) }),
    );
    this.root.dataset.state = ingestion.state;
    showIcon(
      this.#find(".state-icon"),
      stateIcon(hasFailed(ingestion) ? "failed" : ingestion.state),
    );
    showText(this.#find(".ingestion-title"), titleOf(ingestion));
    ingestion.files.forEach((file, index) =>
      this.#showFile(file, index, before?.files[index]),
    );
    this.#find(".cancel").hidden = finished;
    this.#find(".review-ingestion").hidden =
      !finished || documentsOf(ingestion).length < 2;
    this.#find(".retry").hidden = !finished || !ingestion.files.some(canRetry);
    this.note(finished ? when(ingestion.created_at, true) : "");
  }

  note(text) {
    showText(this.#find(".ingestion-note"), text);
  }

  #find(selector) {
    return this.root.querySelector(selector);
  }

  #showFile(file, index, before) {
    const row = (this.#rows[index] ??= this.#find(".file-progress").appendChild(
      cloneTemplate("file-progress-template"),
    ));
    const [bar, open, ask] = ["progress", ".file-open", ".file-ask"].map((selector) =>
      row.querySelector(selector),
    );
    Object.assign(row.dataset, { state: file.state, document: file.document_id });
    bar.hidden = isFinished(file);
    bar.value =
      (file.chunks ? file.done_chunks / file.chunks : file.pages_read / file.pages) ||
      0;
    bar.setAttribute("aria-label", t("Indexing of {name}", file));
    showIcon(row.querySelector(".state-icon"), stateIcon(file.state));
    showText(row.querySelector(".file-name"), file.name);
    showText(row.querySelector(".file-state"), stateText(file));
    showText(row.querySelector(".file-error"), translated(file.error));
    showText(
      row.querySelector(".file-notes"),
      (file.notes ?? []).map(translated).join(" "),
    );
    open.hidden = ask.hidden = file.state !== "done" || !file.document_id;
    open.setAttribute("aria-label", t("Show {name}", file));
    showChanges(row, file);
    ask.href = at(`/?document=${encodeURIComponent(file.document_id)}`);
    ask.setAttribute("aria-label", t("Ask {name}", file));
    if (
      before &&
      !isFinished(before) &&
      !open.hidden &&
      this.ingestion.files.length === 1
    )
      this.#showGuide(row, file);
    if (
      before &&
      before.state !== file.state &&
      (isFinished(file) || file.state === "waiting")
    ) {
      announce(
        [`${file.name}: ${stateText(file)}.`, translated(file.error)]
          .filter(Boolean)
          .join(" "),
      );
    }
  }

  /** Show the guide to a document that has just been added, below its row. */
  async #showGuide(row, { document_id: id }) {
    const guide = await this.#guideFor(id).catch(() => null);
    if (!guide) return;
    row.after(element("li", { className: "guide-row" }, guide));
    this.root.scrollIntoView({ block: "nearest" });
  }

  /** Have a button do `act` for each ingestion that it is meant for. */
  #wire(selector, act) {
    const button = this.#find(selector);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        for (const part of [...this.#parts.values()]) {
          const changed = await act(part);
          if (changed) this.#onChange(changed);
        }
      } catch (error) {
        this.note(
          [
            error.message,
            error.requestId && `(${t("Request id: {id}", { id: error.requestId })})`,
          ]
            .filter(Boolean)
            .join(" "),
        );
      } finally {
        button.disabled = false;
        if (button.hidden) this.#find("summary").focus();
      }
    });
  }
}

const RECENT_MS = 24 * 60 * 60 * 1000;
const RECENT = 3;
const POLL_MS = 1000;
const SLOWEST_POLL_MS = 30_000;

const KEPT = "uploads";
const KEPT_UPLOADS = 100;

export class Activity {
  /** The cards by the id of their upload, that of its first ingestion. */
  #cards = new Map();
  /** The uploads of ingestions by their ids, in other tabs and later visits, too. */
  #uploads = new Map(JSON.parse(localStorage.getItem(KEPT) ?? "[]"));
  #onChange;
  #onFinished;
  #callbacks;
  #timer = 0;

  /**
   * `onChange` is called when the list of documents has changed, `onOpen` with the id
   * of a document to show, `onReview` with the ids of several, `onFinished` with an
   * ingestion that has just ended; `guideFor` resolves to the guide to a document.
   */
  constructor({ onChange, onFinished, ...callbacks }) {
    this.#onChange = onChange;
    this.#onFinished = onFinished;
    this.#callbacks = callbacks;
    document.addEventListener(
      "visibilitychange",
      () => document.hidden || this.#pollSoon(),
    );
  }

  #uploadOf({ ingestion_id: id }) {
    return this.#uploads.get(id) ?? id;
  }

  /** Show ingestions that run or ran recently, also those of another tab. */
  async load() {
    const { ingestions } = await getJson("/api/ingestions?limit=30");
    const isRecent = ({ created_at: at_ }) =>
      Date.now() - new Date(at_).getTime() < RECENT_MS;
    const ended = ingestions.filter((one) => isFinished(one) && isRecent(one));
    const recent = [...new Set(ended.map((one) => this.#uploadOf(one)))];
    const shown = recent.slice(0, RECENT);
    const finished = ended.filter((one) => shown.includes(this.#uploadOf(one)));
    for (const ingestion of finished.toReversed()) {
      this.add(ingestion, ingestion === ingestions[0] && hasFailed(ingestion));
    }
    for (const ingestion of ingestions.toReversed())
      if (!isFinished(ingestion)) this.add(ingestion);
  }

  /**
   * Show an ingestion above all others, in the card of its upload. `upload`: the id of
   * the upload's first ingestion, if it is not the only one.
   */
  add(ingestion, open = true, upload = null) {
    const own = ingestion.ingestion_id;
    if (upload && upload !== own) {
      this.#uploads.set(own, upload);
      const newest = [...this.#uploads].slice(-KEPT_UPLOADS);
      localStorage.setItem(KEPT, JSON.stringify(newest));
    }
    const id = this.#uploadOf(ingestion);
    let card = this.#cards.get(id);
    if (card) card.show(ingestion);
    else {
      const onChange = (changed) => {
        this.add(changed);
        this.#onChange();
      };
      card = new UploadCard(ingestion, { onChange, ...this.#callbacks });
      this.#cards.set(id, card);
    }
    card.root.open = open;
    byId("activity").prepend(card.root);
    byId("activity").hidden = false;
    this.#pollSoon();
    return card;
  }

  /** Return each ingestion that is not finished, with the id of its card. */
  #running() {
    return [...this.#cards].flatMap(([id, card]) =>
      card.running.map((part) => ({ id, card, part })),
    );
  }

  /**
   * Ask for the progress of what runs, ever less often while nobody looks or the server
   * does not answer.
   */
  #pollSoon(delay = POLL_MS) {
    clearTimeout(this.#timer);
    if (!this.#running().length) return;
    this.#timer = setTimeout(async () => {
      const reached = await Promise.all(
        this.#running().map((one) => this.#refresh(one)),
      );
      this.#pollSoon(
        document.hidden || reached.includes(false)
          ? Math.min(2 * delay, SLOWEST_POLL_MS)
          : POLL_MS,
      );
    }, delay);
  }

  /** Return whether the server answered. */
  async #refresh({ id, card, part }) {
    let now;
    try {
      now = await getJson(pathOf(part));
      card.show(now);
    } catch (error) {
      if (error.status !== 404) {
        card.note(`${error.message} ${t("Retrying.")}`);
        return false;
      }
      if (card.forget(part)) return true;
      this.#cards.delete(id);
      card.root.remove();
      byId("activity").hidden = this.#cards.size === 0;
      return true;
    }
    if (finishedFiles(now) !== finishedFiles(part)) this.#onChange();
    if (isFinished(now)) this.#onFinished(now);
    return true;
  }
}
