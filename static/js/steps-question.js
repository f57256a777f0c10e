import { element } from "./dom.js";
import { sourcePlace, sourceTitle } from "./format.js";
import { foundText } from "./steps-text.js";

let ids = 0;

export const newId = () => `step-${ids += 1}`;

function sourceButton(source, shown) {
  const place = sourcePlace(source);
  const button = element("button", { type: "button", className: "step-source", "data-chunk": source.chunk_id },
    element("span", { className: "source-title", text: sourceTitle(source) }), place && " ",
    element("span", { className: "source-place", text: place }));
  shown.set(button, source);
  return element("li", {}, button);
}

export const sourceList = (sources, label, shown) =>
  element("ul", { className: "step-sources", role: "list", "aria-labelledby": label },
    ...sources.map((source) => sourceButton(source, shown)));

/** What is searched for, with what came of it; `round` are those that were thought of together, if it is one of them. */
export class SubQuestion {
  settled = false;
  failed = false;
  #status = element("span", { className: "question-status" });

  constructor(text, round, node) {
    this.id = newId();
    Object.assign(this, { text, round, node });
    round?.push(this);
  }

  static item(text, round) {
    const question = new SubQuestion(text, round, element("li", { className: "sub-question" }));
    question.node.append(element("h5", { className: "question-text", id: question.id, text }), " ", question.#status);
    return question;
  }

  /** A step that is a question itself. */
  static step(text, node) {
    const question = new SubQuestion(text, [], node);
    question.id = node.querySelector(".step-text").id;
    node.append(" ", question.#status);
    return question;
  }

  say(text) {
    this.#status.textContent = text && `– ${text}`;
  }

  settle(step, shown) {
    this.settled = true;
    this.failed = step.failed;
    this.node.classList.toggle("failed", step.failed);
    this.say(foundText(step, this.text));
    if (step.sources.length) this.node.append(sourceList(step.sources, this.id, shown));
  }
}
