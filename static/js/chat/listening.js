/** An answer for whoever listens to the page: its sentences as they are complete, then what is left, once. */
import { announceMore, announceNow } from "../common/dom.js";

const SENTENCES = /^[\s\S]*[.!?…](?=\s)/;
const words = (text) => text.replace(/\s+/g, " ").trim();

export class Listening {
  #said = "";

  /** @param {string} text all that has come so far */
  hear(text) {
    const whole = words(SENTENCES.exec(text)?.[0] ?? "");
    if (!whole.startsWith(this.#said) || whole.length <= this.#said.length) return;
    announceMore(whole.slice(this.#said.length).trim());
    this.#said = whole;
  }

  /** @param {string} outcome @param {string} text the finished one, which may have other numbers */
  end(outcome, text) {
    const whole = words(text);
    const isBegun = this.#said && whole.startsWith(this.#said);
    announceNow((isBegun ? [whole.slice(this.#said.length).trim(), outcome] : [outcome, whole]).filter(Boolean).join(" "));
  }
}
