/** A PDF whose pages are drawn as they come into view, with a passage marked. */
import {
  GlobalWorkerOptions,
  TextLayer,
  getDocument,
} from "../../vendor/pdfjs-6.5.438.js";
import { element } from "../common/dom.js";
import { t } from "../common/words.js";

GlobalWorkerOptions.workerSrc = new URL(
  "../../vendor/pdfjs-worker-6.5.438.js",
  import.meta.url,
).href;

/** Pages that stay drawn: a canvas takes megabytes. */
const MAX_DRAWN = 8;
const MAX_WIDTH = 1000;
const MAX_PIXEL_RATIO = 2;

/** Shortest and longest piece of a passage that is searched by itself. */
const MIN_LETTERS = 9;
const MAX_LETTERS = 30;
/** A shorter table cell only counts this close behind the previous match. */
const ROW_LETTERS = 120;

/**
 * Reduce text to letters and digits: line ends and hyphens of a page differ from the
 * extracted text.
 */
const letters = (text) =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");

/**
 * Return the indexes of the pieces of a page's text that belong to a passage. The
 * passage is searched as a whole, otherwise line by line, then by cells and short
 * pieces: a page may end in its middle.
 */
function piecesOf(pieces, passage) {
  const page = pieces.map(letters);
  const text = page.join("");
  const pieceAt = page.flatMap((piece, index) => Array(piece.length).fill(index));
  const marked = new Set();
  let after = 0;
  const mark = (start, length) => {
    after = start + length;
    for (let place = start; place < after; place += 1) marked.add(pieceAt[place]);
    return true;
  };
  const find = (part) => {
    let place = part ? text.indexOf(part, after) : -1;
    if (part.length < MIN_LETTERS) {
      if (!after || place > after + ROW_LETTERS) return false;
    } else if (place < 0) place = text.indexOf(part);
    return place >= 0 && mark(place, part.length);
  };
  const whole = letters(passage);
  const isUnique =
    whole && text.includes(whole) && text.indexOf(whole) === text.lastIndexOf(whole);
  if (
    whole.length < MIN_LETTERS
      ? isUnique && mark(text.indexOf(whole), whole.length)
      : find(whole)
  )
    return marked;
  for (const line of passage.split("\n")) {
    // Rows of tables are extracted as "Head: cell; Head: Group › cell".
    const cells = line
      .split(/;\s|\|/)
      .map((cell) =>
        letters(cell.replace(/^[^:]{1,90}:\s/, "").replace(/^.*\s›\s/, "")),
      );
    if (find(letters(line)) || find(cells.join(""))) continue;
    for (const cell of cells) {
      if (!find(cell))
        cell.match(new RegExp(`.{${MIN_LETTERS},${MAX_LETTERS}}`, "gu"))?.forEach(find);
    }
  }
  return marked;
}

export class Pages {
  #box;
  #loading = null;
  #pdf = null;
  #frames = [];
  #drawn = [];
  #watch = null;
  #passage = "";
  #quoted = "";
  #marked = null;
  #zoom = 1;

  /**
   * @param {HTMLElement} box that scrolls
   * @param {(page: number) => void} onPage gets the page in view
   */
  constructor(box, onPage) {
    this.#box = box;
    box.addEventListener("scroll", () => onPage(this.page), { passive: true });
  }

  get total() {
    return this.#frames.length;
  }

  /** Return the page in the upper third of the box. */
  get page() {
    const line = this.#box.scrollTop + this.#box.clientHeight / 3;
    return Math.max(
      1,
      this.#frames.findLastIndex((frame) => frame.offsetTop <= line) + 1,
    );
  }

  /**
   * @param {string} url
   * @param {{page: number, passage: string, quoted: string}} source `quoted`: the cited
   * words
   */
  async open(url, { page, passage, quoted }) {
    this.#passage = passage;
    this.#quoted = quoted;
    this.#loading = getDocument({ url, isEvalSupported: false, enableXfa: false });
    this.#pdf = await this.#loading.promise;
    const first = Math.min(page, this.#pdf.numPages);
    const { width, height } = (await this.#pdf.getPage(first)).getViewport({
      scale: 1,
    });
    this.#frames = Array.from({ length: this.#pdf.numPages }, (_, index) => {
      const frame = element("section", {
        className: "pdf-page",
        "aria-label": t("Page {page}", { page: index + 1 }),
      });
      this.#shape(frame, width, height);
      return frame;
    });
    this.#box.replaceChildren(...this.#frames);
    await this.#goTo(first);
    this.#watch = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          if (isIntersecting)
            this.#draw(this.#frames.indexOf(/** @type {HTMLElement} */ (target)) + 1);
        }
      },
      { root: this.#box, rootMargin: "50% 0px" },
    );
    for (const frame of this.#frames) this.#watch.observe(frame);
  }

  show(number) {
    this.#frames[Math.min(Math.max(number, 1), this.total) - 1]?.scrollIntoView({
      block: "start",
    });
  }

  async zoom(factor) {
    const page = this.page;
    this.#zoom = Math.min(Math.max(this.#zoom * factor, 0.5), 4);
    for (const number of this.#drawn.splice(0)) this.#clear(number);
    for (const frame of this.#frames)
      this.#shape(frame, Number(frame.dataset.width), Number(frame.dataset.height));
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
    const frame = this.#frames[page - 1];
    if (!this.#marked?.isConnected) return frame?.scrollIntoView({ block: "start" });
    this.#marked.scrollIntoView({ block: "center" });
    // At the top of a page, the end of the page before it would fill the view.
    if (frame.contains(this.#marked))
      this.#box.scrollTop = Math.max(this.#box.scrollTop, frame.offsetTop);
  }

  #scale(width) {
    return (Math.min(this.#box.clientWidth - 32, MAX_WIDTH) / width) * this.#zoom;
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
    if (this.#drawn.length > MAX_DRAWN) {
      const [furthest] = this.#drawn.toSorted(
        (one, other) => Math.abs(other - number) - Math.abs(one - number),
      );
      this.#drawn.splice(this.#drawn.indexOf(furthest), 1);
      this.#clear(furthest);
    }
    const page = await this.#pdf.getPage(number);
    const frame = this.#frames[number - 1];
    const { width, height } = page.getViewport({ scale: 1 });
    this.#shape(frame, width, height);
    const viewport = page.getViewport({ scale: this.#scale(width) });
    const pixels = Math.min(devicePixelRatio, MAX_PIXEL_RATIO);
    const canvas = /** @type {HTMLCanvasElement} */ (
      element("canvas", {
        "aria-hidden": "true",
        width: Math.floor(viewport.width * pixels),
        height: Math.floor(viewport.height * pixels),
      })
    );
    const text = element("div", { className: "pdf-text" });
    text.style.setProperty("--total-scale-factor", String(viewport.scale));
    const content = await page.getTextContent();
    const layer = new TextLayer({
      textContentSource: content,
      container: text,
      viewport,
    });
    await Promise.all([
      layer.render(),
      page.render({ canvas, viewport, transform: [pixels, 0, 0, pixels, 0, 0] })
        .promise,
    ]);
    if (!this.#drawn.includes(number)) return;
    frame.replaceChildren(canvas, text);
    const { textContentItemsStr: pieces, textDivs } = layer;
    const marked = piecesOf(pieces, this.#passage);
    for (const index of marked) textDivs[index]?.classList.add("marked");
    const quoted =
      this.#quoted && marked.size ? piecesOf(pieces, this.#quoted) : new Set();
    for (const index of quoted) textDivs[index]?.classList.add("quoted");
    if (marked.size)
      this.#marked ??= textDivs[Math.min(...(quoted.size ? quoted : marked))];
  }

  #clear(number) {
    if (this.#frames[number - 1].contains(this.#marked)) this.#marked = null;
    this.#frames[number - 1].replaceChildren();
  }
}
