import { linkCitations, plainSources, sourceItem } from "./citations.js";
import { announce, element } from "./dom.js";
import { countSources, decimal, scopeLine } from "./format.js";
import { markdownView, withholdOpenBracket } from "./markdown.js";
import { explainUnsupported, markUnsupported, missingIn } from "./unsupported.js";

const COPIED_MS = 2000;

/** One answer on the page: fed by the events of its stream, then complete. */
export class AnswerView {
  #root;
  #text = "";
  #frame = 0;
  #sources = new Map();
  #showMarkdown;

  constructor(root) {
    this.#root = root;
    root.setAttribute("aria-busy", "true");
    this.#showMarkdown = markdownView(this.#find(".answer-body"),
      (fragment) => linkCitations(fragment, (number) => this.source(number)));
    this.#progress("Searching the reports");
  }

  source(number) {
    return this.#sources.get(number);
  }

  step({ name, detail }) {
    this.#progress(detail || name);
  }

  hits(hits) {
    for (const hit of hits) this.#sources.set(hit.rank, hit);
    if (hits.length) this.#progress(`Reading ${countSources(hits.length)}`);
  }

  token(text) {
    this.#text += text;
    this.#progress("");
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#showMarkdown(withholdOpenBracket(this.#text));
    });
  }

  done(answer) {
    for (const citation of answer.citations) {
      const missing = missingIn(citation.number, answer.unsupported);
      this.#sources.set(citation.number, { ...this.#hitOf(citation), ...citation, missing });
    }
    this.#text = answer.response;
    this.#settle();
    markUnsupported(this.#find(".answer-body"), answer.unsupported);
    this.#showFooter(answer);
    const outcome = answer.answered ? `Answer with ${countSources(answer.citations.length)}` : "Not found";
    announce(`${outcome}. ${this.#find(".answer-body").textContent}`);
  }

  /** An answer without an end: what has arrived stays, with the reason and a way to try again. */
  interrupt(message, details = []) {
    this.#settle();
    this.#find(".notice").hidden = false;
    this.#find(".notice-message").textContent = message;
    this.#find(".notice-details").hidden = details.length === 0;
    this.#find(".notice-details").replaceChildren(...details.map((text) => element("li", { text })));
    announce([message, ...details].join(" "));
  }

  #find(selector) {
    return this.#root.querySelector(selector);
  }

  #hitOf({ chunk_id: id }) {
    return [...this.#sources.values()].find((source) => source.chunk_id === id);
  }

  #progress(text) {
    this.#find(".progress-line").textContent = text;
    this.#find(".progress-line").hidden = !text;
  }

  #settle() {
    cancelAnimationFrame(this.#frame);
    this.#showMarkdown(this.#text);
    this.#progress("");
    this.#root.removeAttribute("aria-busy");
  }

  #showFooter({ response, answered, citations: cited, unsupported, scope, trace }) {
    // As they stand in the list: the text may cite 4 before 2.
    const citations = cited.toSorted((one, other) => one.number - other.number);
    this.#root.classList.toggle("not-found", !answered);
    this.#find(".not-found-label").hidden = answered;
    this.#find(".answer-footer").hidden = false;
    this.#find(".sources-title").hidden = citations.length === 0;
    this.#find(".sources").replaceChildren(...citations.map(sourceItem));
    this.#find(".scope-line").textContent = scopeLine(scope);
    this.#showThreshold(trace?.threshold);
    this.#find(".truncated-line").hidden = !trace?.truncated;
    this.#find(".unsupported-lines").replaceChildren(
      ...unsupported.map((sentence) => element("li", { text: explainUnsupported(sentence) })));
    this.#wireCopy([response, plainSources(citations)].filter(Boolean).join("\n\n"));
  }

  #showThreshold(threshold) {
    if (!threshold?.relaxed) return;
    const line = this.#find(".threshold-line");
    line.hidden = false;
    line.textContent = `No passage was very close; the threshold was lowered to ${decimal(threshold.used, 2)}.`;
  }

  #wireCopy(text) {
    const button = this.#find(".copy");
    const label = button.querySelector("span");
    // Browsers offer the clipboard to secure pages only.
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      const copied = await navigator.clipboard.writeText(text).then(() => true, () => false);
      label.textContent = copied ? "Copied" : "Not copied";
      announce(label.textContent);
      setTimeout(() => { label.textContent = "Copy"; }, COPIED_MS);
    });
  }
}
