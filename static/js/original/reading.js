/** A report that is no PDF, as it was read: its text in order, with a passage marked. */
import { getJson } from "../common/api.js";
import { element } from "../common/dom.js";
import { formatText } from "../common/passage.js";
import { t } from "../common/words.js";

const STEP = 40;

export class Reading {
  #box;
  #source;
  #first = 0;
  #next = 0;
  #total = 0;
  #section = "";

  /** @param {HTMLElement} box that scrolls */
  constructor(box) {
    this.#box = box;
  }

  async open(source, signal) {
    this.#source = source;
    this.#section = "";
    const found = await this.#get(`around=${encodeURIComponent(source.chunk_id)}&limit=${STEP}`, signal);
    this.#first = found.offset;
    this.#next = found.offset + found.parts.length;
    this.#total = found.total;
    this.#box.replaceChildren(this.#button(t("Show what comes before"), "earlier", signal),
      ...this.#nodes(found.parts), this.#button(t("Show what comes after"), "later", signal));
    this.#showButtons();
    this.#box.querySelector("mark")?.scrollIntoView({ block: "center" });
  }

  #get(query, signal) {
    return getJson(`/api/documents/${encodeURIComponent(this.#source.document_id)}/text?${query}`, signal);
  }

  #nodes(parts) {
    return parts.flatMap((part) => {
      const isNew = part.section && part.section !== this.#section;
      this.#section = part.section;
      const text = part.chunk_id === this.#source.chunk_id
        ? [element("mark", {}, ...formatText(part.text))] : formatText(part.text);
      return [
        ...(isNew ? [element("p", { className: "eyebrow", text: part.section })] : []),
        element("div", { className: "read-part" }, ...text),
      ];
    });
  }

  #button(text, name, signal) {
    const button = element("button", { type: "button", className: `button quiet ${name}`, text });
    button.addEventListener("click", async () => {
      const isEarlier = name === "earlier";
      const offset = isEarlier ? Math.max(0, this.#first - STEP) : this.#next;
      const limit = isEarlier ? this.#first - offset : STEP;
      const { parts } = await this.#get(`cursor=${offset}&limit=${limit}`, signal);
      const height = this.#box.scrollHeight;
      this.#section = "";
      const nodes = this.#nodes(parts);
      if (isEarlier) button.after(...nodes);
      else button.before(...nodes);
      if (isEarlier) this.#box.scrollTop += this.#box.scrollHeight - height;
      this.#first = Math.min(this.#first, offset);
      this.#next = Math.max(this.#next, offset + parts.length);
      // The last text ends before the summary, which was not read but made.
      if (!isEarlier && parts.length < limit) this.#total = this.#next;
      this.#showButtons();
    });
    return button;
  }

  #showButtons() {
    this.#box.querySelector(".earlier").hidden = this.#first <= 0;
    this.#box.querySelector(".later").hidden = this.#next >= this.#total;
  }
}
