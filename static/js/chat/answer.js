/** One answer: fed by the events of its stream, then complete. */
import { linkCitations, missingIn, sourceItem, sourceItems } from "./citations.js";
import { wireCopy } from "./copy.js";
import { markdownView, withholdOpenBracket } from "./markdown.js";
import { beginningText, StepsView, stoppedText } from "./steps.js";
import { store } from "./store.js";
import {
  AnswerAnnouncer,
  announceNow,
  element,
  showItems,
  showText,
} from "../common/dom.js";
import { scopeLine, sourceName } from "../common/format.js";
import { plainQuotes } from "../common/passage.js";
import { count, t } from "../common/words.js";

const SEARCHES = new Set(["search", "found", "compress", "figures"]);

/** Say "not found" only if the search was completed. */
function unansweredLabel({ trace, degraded }) {
  if (trace?.stopped_by || degraded) return t("Not answered");
  const isSearched = trace?.path?.some(({ name }) => SEARCHES.has(name)) ?? true;
  return isSearched ? t("Not found in these reports") : t("Nothing was searched");
}

/** Say what ended an answer early, unless its text says that the model failed. */
function stoppedLine({ trace, degraded }) {
  if (degraded && trace?.stopped_by === "model") return "";
  return stoppedText(trace?.stopped_by);
}

/**
 * The threshold always descends until enough passages pass: only passages that the
 * judge doubts, none of which is above its start, are weak.
 */
function isWeak(trace) {
  if (!trace?.closest_only || !trace.threshold?.relaxed) return false;
  return !trace.hits?.some(({ score }) => score > trace.threshold.start);
}

/** Whether answers are shown whole: without a language model nothing is streamed. */
const isShownAtOnce = () => "quotes" in document.body.dataset;

export class AnswerView {
  #root;
  #turn;
  #steps;
  #text = "";
  #frame = 0;
  #sources = new Map();
  /** The passages that were found, cited or not. */
  #hits = [];
  /**
   * The numbers shown for those of the stream: 1 for the first that is cited, as in the
   * complete answer.
   */
  #shown = new Map();
  #showMarkdown;
  #announcer;

  /** `isStored`: nobody waits to hear a stored answer, so it is not announced. */
  constructor(root, turn, { isStored = false } = {}) {
    this.#root = root;
    this.#turn = turn;
    this.#announcer = isStored ? null : new AnswerAnnouncer();
    this.#steps = new StepsView(this.#find(".steps"));
    this.#find(".answer").setAttribute("aria-busy", "true");
    this.#showMarkdown = markdownView(this.#find(".answer-body"), (fragment) =>
      linkCitations(
        fragment,
        (number) => this.#sources.get(number),
        (number) => this.#shownOf(number),
      ),
    );
    this.#progress(beginningText(turn));
    // The preview of passages is loaded when a pointer or the focus first comes near a
    // citation.
    const first = new AbortController();
    for (const name of ["pointerover", "focusin"]) {
      root.addEventListener(
        name,
        async (event) => {
          first.abort();
          const { wirePeek } = await import("./evidence.js");
          wirePeek(this.#find(".answer"), (button) => this.sourceOf(button), event);
        },
        { signal: first.signal },
      );
    }
  }

  /**
   * Return the source behind the button of a citation, or of a passage in the steps.
   */
  sourceOf(button) {
    const { citation } = button.dataset;
    if (citation)
      return {
        ...this.#sources.get(Number(citation)),
        number: this.#shownOf(Number(citation)),
      };
    const source = this.#steps.source(button);
    const { chunk } = button.dataset;
    return (
      this.#hits.find(({ chunk_id: id }) => id === chunk) ?? {
        ...source,
        ...this.#hitOf(source),
      }
    );
  }

  step(step) {
    this.#steps.add(step);
    this.#progress(t(step.detail || step.name));
  }

  hits(hits) {
    for (const hit of hits) this.#sources.set(hit.rank, hit);
    if (!hits.length) return;
    this.#progress(t("Reading {sources}", { sources: count(hits.length, "source") }));
    if (!this.#announcer) return;
    // The passages can be read before the first word of the answer arrives.
    this.#find(".found").hidden = false;
    this.#find(".found-count").textContent = count(this.#sources.size, "passage");
    this.#listFound();
  }

  token(text) {
    this.#text += text;
    this.#progress("");
    this.#steps.fold();
    this.#find(".found").open = false;
    // Without a language model the end follows at once: it is shown with its card.
    if (isShownAtOnce()) return;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#showMarkdown(withholdOpenBracket(this.#text));
      this.#announcer?.update(this.#find(".answer-body").textContent);
    });
  }

  done(answer) {
    const { citations, unsupported, trace } = answer;
    this.#shown = null;
    this.#hits = trace?.hits ?? [];
    this.#sources = new Map(
      citations.map((citation) => [
        citation.number,
        {
          ...this.#hitOf(citation),
          ...citation,
          missing: missingIn(citation.number, unsupported),
        },
      ]),
    );
    this.#text = answer.response;
    this.#settle();
    this.#find(".found").hidden = true;
    this.#find(".found-list").replaceChildren();
    const plain = this.#find(".answer-body").textContent;
    this.#steps.finish({ path: trace?.path, citations });
    this.#steps.fold();
    this.#addCopyButtons();
    import("./terms.js").then(({ explainTerms }) =>
      explainTerms(this.#find(".answer-body")),
    );
    this.#showFooter(answer);
    if (answer.figures?.length || answer.card) this.#showFigures(answer);
    const outcome = answer.answered
      ? t("Answer with {sources}.", { sources: count(citations.length, "source") })
      : `${unansweredLabel(answer)}.`; // doubts are announced where they are marked
    const finish = (text) =>
      this.#announcer?.finish(
        [outcome, stoppedLine(answer)].filter(Boolean).join(" "),
        text,
      );
    if (!unsupported.length) return finish(plain);
    import("./marks.js").then(({ markUnsupported, showCheck }) => {
      showCheck(this.#root, unsupported, citations);
      markUnsupported(this.#find(".answer-body"), unsupported);
      finish(this.#find(".answer-body").textContent);
    });
  }

  /**
   * End without a complete answer: the text so far stays, with the reason and a way to
   * try again.
   */
  interrupt(message, details = []) {
    this.#settle();
    this.#steps.finish();
    this.#find(".notice").hidden = false;
    this.#find(".notice-message").textContent = message;
    showItems(
      this.#find(".notice-details"),
      details.map((text) => element("li", { text })),
    );
    this.#find(".found").open = !this.#text;
    this.#listFound();
    this.#addCopyButtons();
    if (this.#announcer) announceNow([message, ...details].join(" "));
  }

  /**
   * Above an answer that is shown at once, below one that comes word by word: nothing
   * jumps, and a conversation that is opened again has the same order.
   */
  async #showFigures(answer) {
    const isAbove = Boolean(answer.card) && isShownAtOnce();
    this.#find(".answer-body").hidden = isAbove;
    try {
      const { showCard } = await import("./card.js");
      await showCard(this.#root, answer, isAbove);
    } finally {
      this.#find(".answer-body").hidden = false;
    }
  }

  async #addCopyButtons() {
    if (this.#root.querySelector(".answer-body pre"))
      (await import("./after.js")).addCopyButtons(this.#find(".answer-body"));
  }

  /**
   * List the passages by their numbers in the text; those that are not cited yet come
   * after them.
   */
  #listFound() {
    const items = [...new Set([...this.#shown.keys(), ...this.#sources.keys()])].map(
      (number, place) =>
        sourceItem({ ...this.#sources.get(number), number }, place + 1),
    );
    this.#find(".found-list").replaceChildren(...items);
  }

  #shownOf(number) {
    if (this.#shown && !this.#shown.has(number))
      this.#shown.set(number, this.#shown.size + 1);
    return this.#shown?.get(number) ?? number;
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
    const { response, answered, scope, trace } = answer;
    const citations = answer.citations.toSorted(
      (one, other) => one.number - other.number,
    );
    // A report ends with its own list of sources.
    const listedSources = answered && trace?.mode === "report" ? [] : citations;
    this.#find(".answer").classList.toggle("not-found", !answered);
    showText(this.#find(".not-found-label"), answered ? "" : unansweredLabel(answer));
    this.#find(".answer-footer").hidden = false;
    this.#find(".sources-title").hidden = listedSources.length === 0;
    this.#find(".sources").replaceChildren(...sourceItems(listedSources));
    this.#find(".scope-line").textContent = scope
      ? scopeLine(scope, this.#turn.filters, this.#turn.attachments)
      : "";
    const doubt = this.#find(".threshold-line");
    if (isShownAtOnce()) this.#find(".answer-body").before(doubt);
    doubt.hidden = !isWeak(trace);
    this.#find(".truncated-line").hidden = !trace?.truncated;
    showText(this.#find(".stopped-line"), stoppedLine(answer));
    this.#wireTrace(answer);
    const sources = listedSources
      .map((citation) => `[${citation.number}] ${sourceName(citation)}`)
      .join("\n");
    const markdownOf = () =>
      [plainQuotes(response), sources].filter(Boolean).join("\n\n");
    wireCopy(this.#find(".copy"), markdownOf, this.#find(".copy span"), async () =>
      (await import("./after.js")).richText(this.#find(".answer"), listedSources),
    );
    this.#find(".download").addEventListener("click", ({ currentTarget: button }) =>
      store.emit("openDownloads", { button, turn: this.#turn, markdown: markdownOf() }),
    );
  }
  /** Load the trace and the forms of citations when they are opened. */
  #wireTrace(answer) {
    const { trace } = answer;
    this.#find(".ledger").hidden = !trace?.ledger?.length && !trace?.hits?.length;
    this.#find(".ledger").addEventListener(
      "toggle",
      async ({ target }) => {
        const { showTrace } = await import("./trace.js");
        showTrace(target, answer);
      },
      { once: true },
    );
    this.#find(".cite").hidden = !answer.citations.length;
    this.#find(".cite").addEventListener("click", async () => {
      const { openCite } = await import("./cite.js");
      openCite(answer);
    });
  }
}
