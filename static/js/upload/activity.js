/** Ingestions that run or ran recently: their progress, errors, cancel and retry. */
import { at, getJson, sendJson } from "../common/api.js";
import { announce, byId, cloneTemplate, element, showText } from "../common/dom.js";
import { showIcon } from "../common/forms.js";
import { when } from "../common/format.js";
import { isFinished, outcomeLine, stateIcon, stateText } from "../common/states.js";
import { count, t, translated } from "../common/words.js";

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

class IngestionCard {
  root = cloneTemplate("ingestion-template");
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
    this.#wire(".cancel", "DELETE", pathOf(ingestion));
    this.#wire(".retry", "POST", `${pathOf(ingestion)}/retry`);
    this.show(ingestion);
  }

  show(ingestion) {
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
    this.#find(".retry").hidden =
      !finished ||
      !ingestion.files.some(({ state }) => state === "failed" || state === "cancelled");
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

  #wire(selector, method, path) {
    const button = this.#find(selector);
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        this.#onChange(await sendJson(method, path));
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

export class Activity {
  #cards = new Map();
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

  /** Show ingestions that run or ran recently, also those of another tab. */
  async load() {
    const { ingestions } = await getJson("/api/ingestions?limit=10");
    const isRecent = ({ created_at: at_ }) =>
      Date.now() - new Date(at_).getTime() < RECENT_MS;
    const finished = ingestions
      .filter((ingestion) => isFinished(ingestion) && isRecent(ingestion))
      .slice(0, RECENT);
    for (const ingestion of finished.toReversed()) {
      this.add(ingestion, ingestion === ingestions[0] && hasFailed(ingestion));
    }
    for (const ingestion of ingestions.toReversed())
      if (!isFinished(ingestion)) this.add(ingestion);
  }

  /** Show an ingestion above all others. */
  add(ingestion, open = true) {
    let card = this.#cards.get(ingestion.ingestion_id);
    if (card) card.show(ingestion);
    else {
      const onChange = (changed) => {
        this.add(changed);
        this.#onChange();
      };
      card = new IngestionCard(ingestion, { onChange, ...this.#callbacks });
      this.#cards.set(ingestion.ingestion_id, card);
    }
    card.root.open = open;
    byId("activity").prepend(card.root);
    byId("activity").hidden = false;
    this.#pollSoon();
    return card;
  }

  #running() {
    return [...this.#cards.values()].filter(({ ingestion }) => !isFinished(ingestion));
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
        this.#running().map((card) => this.#refresh(card)),
      );
      this.#pollSoon(
        document.hidden || reached.includes(false)
          ? Math.min(2 * delay, SLOWEST_POLL_MS)
          : POLL_MS,
      );
    }, delay);
  }

  /** Return whether the server answered. */
  async #refresh(card) {
    const before = finishedFiles(card.ingestion);
    try {
      card.show(await getJson(pathOf(card.ingestion)));
    } catch (error) {
      if (error.status !== 404) {
        card.note(`${error.message} ${t("Retrying.")}`);
        return false;
      }
      this.#cards.delete(card.ingestion.ingestion_id);
      card.root.remove();
      byId("activity").hidden = this.#cards.size === 0;
      return true;
    }
    if (finishedFiles(card.ingestion) !== before) this.#onChange();
    if (isFinished(card.ingestion)) this.#onFinished(card.ingestion);
    return true;
  }
}
