import { element } from "../common/dom.js";
import { sourcePlace, sourceTitle } from "../common/format.js";
import { listed, t } from "../common/words.js";

const CITATION = /\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/;

const citationName = (number, source) =>
  `${t("Source {number}", { number })}: ${[sourceTitle(source), sourcePlace(source)].filter(Boolean).join(", ")}`;

function citationButton(number, source) {
  return element("button", {
    type: "button",
    className: "citation",
    text: number,
    "data-citation": number,
    "aria-label": citationName(number, source),
  });
}

function linkNumbers(group, sourceOf) {
  const numbers = group.split(/\s*,\s*/);
  if (!numbers.every((number) => sourceOf(Number(number)))) return [`[${group}]`];
  return numbers.map((number) => citationButton(number, sourceOf(Number(number))));
}

function linkText(node, sourceOf) {
  // The odd parts are the captured numbers: one, or several as in [1, 2].
  const parts = node.data.split(CITATION);
  if (parts.length === 1) return;
  node.replaceWith(...parts.flatMap((part, index) => (index % 2 === 0 ? [part] : linkNumbers(part, sourceOf))));
}

/** Turns the [n] of sanitised nodes into buttons; numbers without a source stay text. */
export function linkCitations(fragment, sourceOf) {
  fragment.normalize();
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) if (!text.parentElement?.closest("code, pre, a")) linkText(text, sourceOf);
}

export function sourceItem(citation) {
  const button = element("button", { type: "button", className: "source", "data-citation": citation.number },
    element("span", { className: "source-number", text: citation.number }),
    element("span", { className: "source-name" },
      element("span", { className: "source-title", text: sourceTitle(citation) }), " ",
      element("span", { className: "source-place", text: sourcePlace(citation) })));
  return element("li", {}, button);
}

export function plainSources(citations) {
  return citations.map((citation) =>
    `[${citation.number}] ${[sourceTitle(citation), sourcePlace(citation)].filter(Boolean).join(", ")}`).join("\n");
}

const SIGN = /[\p{L}\p{N}]/gu;

const letters = (text) => text.match(SIGN)?.join("") ?? "";

const quoted = ({ figures, quotations, names = [] }) =>
  [...figures, ...names, ...quotations.map((text) => `“${text}”`)].join(", ");

/** What is wrong with the sentence, in words: where what was not found, and which source there is none of. */
export function explainUnsupported(sentence) {
  const { numbers, unknown, contradicted = [] } = sentence;
  const missing = quoted(sentence);
  const source = numbers.length > 1 ? t("sources {numbers}", { numbers: listed(numbers) }) : t("source {number}", { number: numbers[0] });
  return [
    missing && t("Not found in {source}: {missing}.", { source, missing }),
    contradicted.length > 0 && t("Otherwise in {source}: {figures}.", { source, figures: contradicted.join(", ") }),
    sentence.no_source && t("No source is given."),
    unknown.length > 0 && t("There is no source {numbers}.", { numbers: listed(unknown, "disjunction") }),
  ].filter(Boolean).join(" ");
}

/** The gravest first; each has a sign of its own, so that nothing is told by colour alone. */
const MARKS = {
  unknown: { sign: "∅", means: t("There is no such source"), is: ({ unknown }) => unknown.length },
  figure: { sign: "≠", means: t("A figure, date or name is not in the source"), is: (one) =>
    one.figures.length || one.names?.length || one.contradicted?.length },
  quotation: { sign: "”?", means: t("The words quoted are not in the source"), is: ({ quotations }) => quotations.length },
  none: { sign: "○", means: t("No source is given"), is: (one) => one.no_source },
};

const kindOf = (sentence) => Object.keys(MARKS).find((kind) => MARKS[kind].is(sentence)) ?? "figure";

const mark = (kind) => element("span", { className: `unsupported-mark ${kind}`, "aria-hidden": "true", text: MARKS[kind].sign });

/** What the marks of an answer mean: those that it has, and what bears none. */
export function legend(unsupported, citations) {
  const kinds = Object.keys(MARKS).filter((kind) => unsupported.some((sentence) => kindOf(sentence) === kind));
  if (!kinds.length) return [];
  const rows = kinds.map((kind) => element("li", {}, mark(kind), ` ${MARKS[kind].means}`));
  const sign = element("span", { className: "citation-sign", "aria-hidden": "true", text: "1" });
  const borne = element("li", {}, sign, ` ${t("Found in its source")}`);
  return [...(citations.some(({ supported }) => supported !== false) ? [borne] : []), ...rows];
}

/** What of the answer the passage with this number should have, and has not. */
export const missingIn = (number, unsupported) =>
  unsupported.filter(({ numbers }) => numbers.includes(number))
    .flatMap((clause) => [quoted(clause), ...(clause.contradicted ?? [])]).filter(Boolean).join(", ");

/** Every letter and digit on the page, with the place where it stands: what lies between them differs by Markdown. */
function readLetters(container) {
  const places = [];
  const walker = document.createTreeWalker(container, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.parentElement?.closest(".link-host")) continue; // the answer does not say it
    for (const { 0: sign, index } of node.nodeValue.matchAll(SIGN)) places.push({ node, index, end: index + sign.length });
  }
  return { places, text: places.map(({ node, index, end }) => node.data.slice(index, end)) };
}

/** Counted in signs, not in the halves that some letters consist of. */
function find({ places, text }, wanted, from) {
  const signs = [...wanted];
  for (let start = from; start + signs.length <= text.length; start += 1) {
    const { node, index } = places[start];
    const inside = index > 0 && places[start - 1]?.node === node && places[start - 1].end === index;
    if (!inside && signs.every((sign, offset) => text[start + offset] === sign)) return start;
  }
  return -1;
}

/** Where the text of an element begins. */
const placeOf = ({ places }, inside) => places.findIndex(({ node }) => inside.contains(node));

/** Wraps the part of one text node; a citation's button is coloured as a whole. Returns what now stands there. */
function wrap(node, start, end, kind) {
  const button = node.parentElement.closest("button");
  if (button) {
    button.classList.add("unsupported");
    return button;
  }
  const part = start > 0 ? node.splitText(start) : node;
  if (part.length > end - start) part.splitText(end - start);
  const span = element("span", { className: `unsupported-text ${kind}` });
  part.replaceWith(span);
  span.append(part);
  return span;
}

function markRange(places, explanation, kind) {
  const nodes = [...new Set(places.map(({ node }) => node))];
  const { end } = places.at(-1);
  let last;
  for (const [order, node] of nodes.entries()) {
    const start = order === 0 ? places[0].index : 0;
    // The bracket of a number that is no citation ends the sentence, too, and so does the unit of a figure.
    const stop = end + (/^(?:\]|\s?[%‰])/.exec(node.data.slice(end))?.[0].length ?? 0);
    last = wrap(node, start, order === nodes.length - 1 ? stop : node.length, kind);
  }
  last.after(element("span", { className: `unsupported-mark ${kind}`, title: explanation },
    element("span", { "aria-hidden": "true", text: MARKS[kind].sign }),
    element("span", { className: "visually-hidden", text: ` (${explanation}) ` })));
}

/** Marks the sentences that their sources do not bear; where one cannot be found on the page, its citations. */
export function markUnsupported(container, unsupported) {
  let from = 0;
  for (const sentence of unsupported) {
    const wanted = letters(sentence.sentence);
    const shown = readLetters(container);
    const cell = [...container.querySelectorAll("td")].find((one) =>
      !one.querySelector(".unsupported-mark") && readLetters(one).text.join("") === wanted);
    const start = cell ? placeOf(shown, cell) : find(shown, wanted, from);
    if (start >= 0) {
      const places = shown.places.slice(start, start + [...wanted].length);
      const explanation = explainUnsupported(sentence);
      markRange(places, explanation, kindOf(sentence));
      if (!cell) from = start + [...wanted].length + [...letters(explanation)].length;
      continue;
    }
    for (const number of sentence.numbers) {
      for (const button of container.querySelectorAll(`[data-citation="${Number(number)}"]`)) {
        button.classList.add("unsupported");
      }
    }
  }
}
