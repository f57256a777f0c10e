import {
  explainUnsupported, legend, linkCitations, markUnsupported, missingIn, plainSources, sourceItem,
} from "./citations.js";
import { Listening } from "./listening.js";
import { markdownView, withholdOpenBracket } from "./markdown.js";
import { beginningText, StepsView, stoppedText } from "./steps.js";
import { announceNow, element } from "../common/dom.js";
import { countSources, decimal, scopeLine } from "../common/format.js";
import { count, t } from "../common/words.js";

const LONGEST_NAME = 80;
const UNSAFE = /[\p{Cc}\p{Cf}<>:"/\\|?*]+/gu;

/** The first heading of the text, as a file's name that every system takes. */
export function fileName(markdown, otherwise) {
  const heading = /^#{1,6}[ \t]+(\S.*)$/m.exec(markdown)?.[1].replace(/\s[\s#]*$/, "")
    .replace(/(?<!\\)[*`]|\[\d[\d, ]*\]/g, "");
  const name = (heading?.replace(/\\(\p{P}|\p{S})/gu, "$1") || otherwise).replace(UNSAFE, " ").replace(/\s+/g, " ").trim();
  return `${[...name].slice(0, LONGEST_NAME).join("").replace(/^\.+|[. ]+$/g, "") || t("report")}.md`;
}

export function saveMarkdown(markdown, otherwise) {
  const url = URL.createObjectURL(new Blob([markdown], { type: "text/markdown;charset=utf-8" }));
  element("a", { href: url, download: fileName(markdown, otherwise) }).click();
  // The browser has to have begun to read it.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const COPIED_MS = 2000;

/** The reports say nothing about it only where they were searched, to the end. */
function unansweredLabel({ trace }) {
  if (trace?.stopped_by) return t("Not answered");
  const isSearched = trace?.path?.some(({ name }) => ["search", "found", "compress"].includes(name)) ?? true;
  return isSearched ? t("Not found in these reports") : t("Nothing was searched");
}

/** One answer on the page: fed by the events of its stream, then complete. */
export class AnswerView {
  #root;
  #question;
  #filters;
  #steps;
  #text = "";
  #frame = 0;
  #sources = new Map();
  #showMarkdown;
  #listening;

  /** `quiet`: an answer of before, which nobody waits to hear. */
  constructor(root, { question, mode, filters, attachments }, { quiet = false } = {}) {
    this.#root = root;
    this.#listening = quiet ? null : new Listening();
    this.#question = question;
    this.#filters = filters;
    this.#steps = new StepsView(this.#find(".steps"));
    this.#find(".answer").setAttribute("aria-busy", "true");
    this.#showMarkdown = markdownView(this.#find(".answer-body"),
      (fragment) => linkCitations(fragment, (number) => this.source(number)));
    this.#progress(beginningText({ mode, attachments }));
    const first = new AbortController();
    for (const name of ["pointerover", "focusin"]) {
      root.addEventListener(name, (event) => this.#wirePeek(event, first), { signal: first.signal });
    }
  }

  /** What shows the passages behind numbers is loaded with the first pointer or focus that comes near one. */
  async #wirePeek(event, first) {
    first.abort();
    const { wirePeek } = await import("./peek.js");
    wirePeek(this.#find(".answer"), (button) => this.sourceOf(button), event);
  }

  source(number) {
    return this.#sources.get(number);
  }

  /** What stands behind the button of a citation, or of a passage among the steps. */
  sourceOf(button) {
    if (button.dataset.citation) return { ...this.source(Number(button.dataset.citation)), number: button.dataset.citation };
    const found = this.#steps.source(button);
    return { ...found, ...this.#hitOf(found) };
  }

  step(step) {
    this.#steps.add(step);
    this.#progress(step.detail || step.name);
  }

  hits(hits) {
    for (const hit of hits) this.#sources.set(hit.rank, hit);
    if (!hits.length) return;
    this.#progress(t("Reading {sources}", { sources: countSources(hits.length) }));
    if (this.#listening) this.#showFound();
  }

  /** What was found is there to be read before the first word of the answer is. */
  #showFound() {
    const found = [...this.#sources].map(([number, hit]) => sourceItem({ ...hit, number }));
    this.#find(".found").hidden = false;
    this.#find(".found-count").textContent = count(found.length, "passage");
    this.#find(".found-list").replaceChildren(...found);
  }

  token(text) {
    this.#text += text;
    this.#progress("");
    this.#steps.fold();
    this.#find(".found").open = false;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#showMarkdown(withholdOpenBracket(this.#text));
      this.#listening?.hear(this.#find(".answer-body").textContent);
    });
  }

  done(answer) {
    // The finished text has other numbers than the one that was streamed: those of its own citations.
    this.#sources = new Map(answer.citations.map((citation) => [citation.number, {
      ...this.#hitOf(citation), ...citation, missing: missingIn(citation.number, answer.unsupported),
    }]));
    this.#text = answer.response;
    this.#settle();
    this.#find(".found").hidden = true;
    this.#find(".found-list").replaceChildren();
    const plain = this.#find(".answer-body").textContent;
    this.#steps.finish({ path: answer.trace?.path, citations: answer.citations });
    this.#steps.fold();
    markUnsupported(this.#find(".answer-body"), answer.unsupported);
    this.#showFooter(answer);
    this.#draw(answer);
    const marked = this.#find(".answer-body").textContent;
    const sources = countSources(answer.citations.length);
    const outcome = answer.answered ? t("Answer with {sources}.", { sources }) : `${unansweredLabel(answer)}.`;
    const stopped = stoppedText(answer.trace?.stopped_by);
    // What is doubted is said with the doubt.
    this.#listening?.end([outcome, stopped].filter(Boolean).join(" "), answer.unsupported.length ? marked : plain);
  }

  /** An answer without an end: what has arrived stays, with the reason and a way to try again. */
  interrupt(message, details = []) {
    this.#settle();
    this.#steps.finish();
    this.#find(".notice").hidden = false;
    this.#find(".notice-message").textContent = message;
    this.#find(".notice-details").hidden = details.length === 0;
    this.#find(".notice-details").replaceChildren(...details.map((text) => element("li", { text })));
    this.#find(".found").open = !this.#text;
    if (this.#listening) announceNow([message, ...details].join(" "));
  }

  /** What draws is fetched with the first figures that have years. */
  async #draw(answer) {
    if (!answer.figures?.some(({ year }) => year !== null)) return;
    const { showFigures } = await import("./figures.js");
    showFigures(this.#find(".figures"), answer);
  }

  #find(selector) {
    return this.#root.querySelector(selector);
  }

  #hitOf({ chunk_id: id }) {
    return [...this.#sources.values()].find((source) => source.chunk_id === id);
  }

  #progress(text) {
    this.#find(".progress-line").textContent = text;
    this.#find(".progress-line").hidden = !text || this.#steps.isShown;
  }

  #settle() {
    cancelAnimationFrame(this.#frame);
    this.#showMarkdown(this.#text);
    this.#progress("");
    this.#find(".answer").removeAttribute("aria-busy");
  }

  #showFooter(answer) {
    const { response, answered, citations: cited, unsupported, scope, trace } = answer;
    // As they stand in the list: the text may cite 4 before 2.
    const citations = cited.toSorted((one, other) => one.number - other.number);
    const isReport = answered && trace?.mode === "report";
    this.#find(".answer").classList.toggle("not-found", !answered);
    this.#find(".not-found-label").hidden = answered;
    this.#find(".not-found-label").textContent = answered ? "" : unansweredLabel(answer);
    this.#find(".answer-footer").hidden = false;
    // A report ends with its sources: they are part of what is kept of it.
    this.#find(".sources-title").hidden = isReport || citations.length === 0;
    this.#find(".sources").replaceChildren(...(isReport ? [] : citations.map(sourceItem)));
    this.#find(".scope-line").textContent = scope ? scopeLine(scope, this.#filters) : "";
    this.#showThreshold(trace?.threshold, trace?.hits ?? []);
    this.#find(".truncated-line").hidden = !trace?.truncated;
    this.#find(".unsupported-lines").replaceChildren(
      ...unsupported.map((sentence) => element("li", { text: explainUnsupported(sentence) })));
    this.#find(".legend-marks").replaceChildren(...legend(unsupported, cited));
    this.#showStopped(trace?.stopped_by);
    this.#showLedger(answer);
    this.#wireCopy([response, !isReport && plainSources(citations)].filter(Boolean).join("\n\n"));
    if (isReport) this.#wireDownload(response);
  }

  /** What it took is fetched with an answer, how it came about when somebody looks. */
  async #showLedger(answer) {
    const fold = this.#find(".ledger");
    const { showLedger, stageName } = await import("./ledger.js");
    showLedger(fold, answer);
    fold.addEventListener("toggle", async () => {
      const { showTrace } = await import("./trace.js");
      showTrace(fold.querySelector(".trace"), answer, stageName);
    }, { once: true });
  }

  #showStopped(by) {
    this.#find(".stopped-line").hidden = !by;
    this.#find(".stopped-line").textContent = stoppedText(by);
  }

  #wireDownload(response) {
    const button = this.#find(".download");
    button.hidden = false;
    button.addEventListener("click", () => saveMarkdown(response, this.#question));
  }

  #showThreshold(threshold, hits) {
    // It descends until enough passages pass: worth a word only where none was above its start.
    if (!threshold?.relaxed || hits.some(({ score }) => score > threshold.start)) return;
    const line = this.#find(".threshold-line");
    line.hidden = false;
    line.textContent = t("No passage was very close; the threshold was lowered to {threshold}.", { threshold: decimal(threshold.used, 2) });
  }

  #wireCopy(text) {
    const button = this.#find(".copy");
    const label = button.querySelector("span");
    // Browsers offer the clipboard to secure pages only.
    button.hidden = !navigator.clipboard;
    button.addEventListener("click", async () => {
      const copied = await navigator.clipboard.writeText(text).then(() => true, () => false);
      label.textContent = copied ? t("Copied") : t("Not copied");
      announceNow(label.textContent);
      setTimeout(() => { label.textContent = t("Copy"); }, COPIED_MS);
    });
  }
}
