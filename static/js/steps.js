import { announceSoon } from "./announcer.js";
import { element } from "./dom.js";
import { SubQuestion, newId, sourceList } from "./steps-question.js";
import { activityText, isSearchFor, searchedText, stepLabel, stepText, totalText } from "./steps-text.js";

/** What every answer does: the line above it says so, a list of these would say no more. */
const PLAIN = new Set(["attachments", "search", "compress", "relevance", "generate", "shorten"]);
const SPLITTING = new Set(["plan", "reflect"]);

const isPlain = ({ name, failed }) => PLAIN.has(name) && !failed;

/** How an answer comes about, step by step: open while it does, folded then, unless the person decides otherwise. */
export class StepsView {
  #root;
  #list;
  #held = [];
  #steps = 0;
  #questions = [];
  #found = new Set();
  #shown = new Map();

  constructor(root) {
    this.#root = root;
    this.#list = root.querySelector(".steps-list");
    root.querySelector("summary").addEventListener("click", () => { root.dataset.chosen = "true"; });
  }

  get isShown() {
    return !this.#root.hidden;
  }

  source(button) {
    return this.#shown.get(button);
  }

  add(step) {
    if (step.name === "condense") return;
    this.#held.push(step);
    if (!this.isShown && isPlain(step)) return;
    if (!this.isShown) this.#open();
    for (const held of this.#held.splice(0)) this.#show(held);
  }

  /** What is going on, for all who look and for those who listen. */
  say(text) {
    if (!this.isShown) return;
    this.#root.querySelector(".steps-summary").textContent = text;
    announceSoon(text);
  }

  /** The answer arrives below. */
  fold() {
    const isUsed = this.#root.dataset.chosen || this.#root.contains(document.activeElement);
    if (!isUsed) this.#root.open = false;
  }

  /** `path`: all steps, for an answer that came without them. */
  finish({ path = [], citations = [] } = {}) {
    if (!this.isShown) {
      this.#held = [];
      for (const step of path) this.add(step);
      this.#held = [];
    }
    if (!this.isShown) return;
    this.#root.classList.remove("running");
    for (const question of this.#questions) if (!question.settled) question.say(this.#isSearched(question) ? "not searched" : "");
    this.#number(citations);
    const settled = this.#questions.filter((question) => question.settled && question.round);
    this.#root.querySelector(".steps-summary").textContent = totalText({
      steps: this.#steps,
      questions: settled.length,
      failed: settled.filter((question) => question.failed).length,
      sources: this.#found.size,
    });
  }

  #open() {
    this.#root.hidden = false;
    this.#root.open = true;
    this.#root.classList.add("running");
  }

  #show(step) {
    if (step.name === "found") return this.#showFound(step);
    // That a section is being written is said already.
    if (step.name === "generate" && !step.failed && this.#list.lastElementChild?.dataset.step === "section") return;
    this.#steps += 1;
    const id = newId();
    const item = element("li", { className: "step", "data-step": step.name },
      element("h4", { className: "step-label", text: stepLabel(step) }), " ",
      element("p", { className: "step-text", id, text: stepText(step) }));
    item.classList.toggle("failed", step.failed);
    this.#list.append(item);
    if (step.sources.length) item.append(sourceList(step.sources, id, this.#shown));
    if (step.name === "follow_up" && !step.failed) this.#questions.push(SubQuestion.step(step.detail, item));
    else this.#showItems(step, item);
    this.say(activityText(step));
  }

  #showItems({ name, items }, item) {
    if (!items.length) return;
    if (!SPLITTING.has(name)) {
      item.append(element("ul", { className: "step-items" }, ...items.map((text) => element("li", { text }))));
      return;
    }
    const round = [];
    const questions = items.map((text) => SubQuestion.item(text, round));
    this.#questions.push(...questions);
    item.append(element("ol", { className: "sub-questions", role: "list" }, ...questions.map(({ node }) => node)));
  }

  #showFound(step) {
    const question = this.#openQuestion(step) ?? this.#anotherQuestion(step);
    question.settle(step, this.#shown);
    for (const { chunk_id: id } of step.sources) this.#found.add(id);
    if (!question.round) return;
    for (const other of question.round) if (!other.settled) other.say("searching …");
    this.say(searchedText(question.round));
  }

  /** The one that is still open and was searched for; the longest, where one begins like another. */
  #openQuestion(step) {
    const open = this.#questions.filter((question) => !question.settled && isSearchFor(question.text, step));
    return open.toSorted((one, other) => other.text.length - one.text.length)[0];
  }

  /** Searched beside them (the whole question, say): it stands under the step that is under way. */
  #anotherQuestion({ detail }) {
    if (!this.#list.lastElementChild) this.#show({ name: "search", detail: "", items: [], sources: [], failed: false });
    const step = this.#list.lastElementChild;
    const list = step.querySelector(".sub-questions")
      ?? step.appendChild(element("ol", { className: "sub-questions", role: "list" }));
    const question = SubQuestion.item(detail, null);
    this.#questions.push(question);
    list.append(question.node);
    return question;
  }

  #isSearched({ round }) {
    return round?.some((question) => question.settled);
  }

  /** The numbers under which the answer cites them. */
  #number(citations) {
    const numbers = new Map(citations.map(({ chunk_id: id, number }) => [id, number]));
    for (const [button, { chunk_id: id }] of this.#shown) {
      if (!numbers.has(id)) continue;
      button.prepend(element("span", { className: "source-number" },
        element("span", { className: "visually-hidden", text: "Source " }), numbers.get(id)), " ");
    }
  }
}
