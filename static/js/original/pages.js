/** A PDF, page by page as they come into view, with a passage marked; loaded only when one is opened. */
import { GlobalWorkerOptions, TextLayer, getDocument } from "../../vendor/pdfjs-5.6.205.js";
import { placesOf } from "./places.js";
import { element } from "../common/dom.js";
import { t } from "../common/words.js";

GlobalWorkerOptions.workerSrc = new URL("../../vendor/pdfjs-worker-5.6.205.js", import.meta.url).href;

/** Pages that stay drawn beside those in view: a canvas takes megabytes. */
const KEPT = 8;
const WIDEST = 1000;
const MOST_PIXELS = 2;

export class Pages {
  #box;
  #loading = null;
  #pdf = null;
  #frames = [];
  #drawn = [];
  #watch = null;
  #passage = "";
  #marked = null;
  #zoom = 1;

  /** @param {HTMLElement} box that scrolls @param {(page: number) => void} onPage hears which page is in view */
  constructor(box, onPage) {
    this.#box = box;
    box.addEventListener("scroll", () => onPage(this.page), { passive: true });
  }

  get total() {
    return this.#frames.length;
  }

  /** The page that the upper part of the box shows. */
  get page() {
    const line = this.#box.scrollTop + this.#box.clientHeight / 3;
    return Math.max(1, this.#frames.findLastIndex((frame) => frame.offsetTop <= line) + 1);
  }

  /** @param {string} url @param {{page: number, passage: string}} wanted */
  async open(url, { page, passage }) {
    this.#passage = passage;
    this.#loading = getDocument({ url, isEvalSupported: false, enableXfa: false });
    this.#pdf = await this.#loading.promise;
    const first = Math.min(page, this.#pdf.numPages);
    const { width, height } = (await this.#pdf.getPage(first)).getViewport({ scale: 1 });
    this.#frames = Array.from({ length: this.#pdf.numPages }, (_, index) => {
      const frame = element("section", { className: "pdf-page", "aria-label": t("Page {page}", { page: index + 1 }) });
      this.#shape(frame, width, height);
      return frame;
    });
    this.#box.replaceChildren(...this.#frames);
    await this.#goTo(first);
    this.#watch = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (isIntersecting) this.#draw(this.#frames.indexOf(/** @type {HTMLElement} */ (target)) + 1);
      }
    }, { root: this.#box, rootMargin: "50% 0px" });
    for (const frame of this.#frames) this.#watch.observe(frame);
  }

  /** To a page; the one that has the passage shows it. */
  show(number) {
    const frame = this.#frames[Math.min(Math.max(number, 1), this.total) - 1];
    frame?.scrollIntoView({ block: "start" });
  }

  async zoom(factor) {
    const page = this.page;
    this.#zoom = Math.min(Math.max(this.#zoom * factor, 0.5), 4);
    for (const number of this.#drawn.splice(0)) this.#clear(number);
    for (const frame of this.#frames) this.#shape(frame, Number(frame.dataset.width), Number(frame.dataset.height));
    await this.#goTo(page);
  }

  close() {
    this.#watch?.disconnect();
    this.#loading?.destroy();
    this.#loading = null;
    this.#frames = [];
    this.#drawn = [];
    this.#marked = null;
    this.#box.replaceChildren();
  }

  async #goTo(page) {
    await this.#draw(page);
    if (this.#marked?.isConnected) this.#marked.scrollIntoView({ block: "center" });
    else this.#frames[page - 1]?.scrollIntoView({ block: "start" });
  }

  #scale(width) {
    return (Math.min(this.#box.clientWidth - 32, WIDEST) / width) * this.#zoom;
  }

  #shape(frame, width, height) {
    const scale = this.#scale(width);
    Object.assign(frame.dataset, { width, height });
    frame.style.width = `${width * scale}px`;
    frame.style.height = `${height * scale}px`;
  }

  async #draw(number) {
    if (this.#drawn.includes(number)) return;
    this.#drawn.push(number);
    this.#tidy(number);
    const page = await this.#pdf.getPage(number);
    const frame = this.#frames[number - 1];
    const { width, height } = page.getViewport({ scale: 1 });
    this.#shape(frame, width, height);
    const viewport = page.getViewport({ scale: this.#scale(width) });
    const pixels = Math.min(devicePixelRatio, MOST_PIXELS);
    const canvas = /** @type {HTMLCanvasElement} */ (element("canvas", {
      "aria-hidden": "true", width: Math.floor(viewport.width * pixels), height: Math.floor(viewport.height * pixels),
    }));
    const text = element("div", { className: "pdf-text" });
    text.style.setProperty("--total-scale-factor", String(viewport.scale));
    const content = await page.getTextContent();
    const layer = new TextLayer({ textContentSource: content, container: text, viewport });
    await Promise.all([layer.render(), page.render({ canvas, viewport, transform: [pixels, 0, 0, pixels, 0, 0] }).promise]);
    if (!this.#drawn.includes(number)) return;
    frame.replaceChildren(canvas, text);
    this.#mark(layer);
  }

  #mark({ textContentItemsStr: pieces, textDivs }) {
    const places = placesOf(pieces, this.#passage);
    for (const place of places) textDivs[place]?.classList.add("marked");
    if (places.size) this.#marked ??= textDivs[Math.min(...places)];
  }

  #tidy(wanted) {
    if (this.#drawn.length <= KEPT) return;
    const [furthest] = this.#drawn.toSorted((one, other) => Math.abs(other - wanted) - Math.abs(one - wanted));
    this.#drawn.splice(this.#drawn.indexOf(furthest), 1);
    this.#clear(furthest);
  }

  #clear(number) {
    if (this.#frames[number - 1].contains(this.#marked)) this.#marked = null;
    this.#frames[number - 1].replaceChildren();
  }
}
