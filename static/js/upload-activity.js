import { getJson } from "./api.js";
import { byId } from "./dom.js";
import { isFinished } from "./documents-format.js";
import { IngestionCard } from "./upload-card.js";

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
      else card.note(`${error.message} The progress is asked again.`);
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
