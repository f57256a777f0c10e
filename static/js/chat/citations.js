/** Citations in an answer, and the marks of what their sources do not support. */
import { element } from "../common/dom.js";
import { sourceName, sourcePlace, sourceTitle } from "../common/format.js";
import { comma, listed, t } from "../common/words.js";

const CITATION = /\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/;

export function textNodes(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(/** @type {Text} */ (walker.currentNode));
  return nodes;
}

/** Turn [1] and [1, 2] of sanitised nodes into buttons with the numbers to show; those without a source stay text. */
export function linkCitations(fragment, sourceOf, shownOf) {
  fragment.normalize();
  for (const node of textNodes(fragment)) {
    // Odd parts are the captured numbers.
    const parts = node.data.split(CITATION);
    if (parts.length === 1 || node.parentElement?.closest("code, pre, a, samp, var")) continue;
    node.replaceWith(...parts.flatMap((part, index) => {
      const numbers = index % 2 ? part.split(/\s*,\s*/) : [];
      if (!numbers.every((number) => sourceOf(Number(number)))) return [`[${part}]`];
      if (!numbers.length) return [part];
      return numbers.map((number) => element("button", {
        type: "button", className: "citation", text: shownOf(Number(number)), "data-citation": number,
        "aria-label": `${t("Source {number}", { number: shownOf(Number(number)) })}: ${sourceName(sourceOf(Number(number)))}`,
      }));
    }));
  }
}

export const sourceItem = (citation, shown = citation.number) => element("li", {},
  element("button", { type: "button", className: "source", "data-citation": citation.number },
    element("span", { className: "source-number", text: shown }),
    element("span", { className: "source-name" },
      element("span", { className: "source-title", text: sourceTitle(citation) }), " ",
      element("span", { className: "source-place", text: sourcePlace(citation) }))));

const missingParts = ({ figures, quotations, names = [] }) =>
  [...figures, ...names, ...quotations.map((text) => `“${text}”`)].join(comma);

/** Return in words what is wrong with a sentence: what its sources lack or contradict, and which do not exist. */
export function explainUnsupported(sentence) {
  const { numbers, unknown, contradicted = [] } = sentence;
  const missing = missingParts(sentence);
  const source = numbers.length > 1 ? t("sources {numbers}", { numbers: listed(numbers) }) : t("source {number}", { number: numbers[0] });
  return [
    missing && t("Not found in {source}: {missing}.", { source, missing }),
    contradicted.length > 0 && t("Other figures in {source}: {figures}.", { source, figures: contradicted.join(comma) }),
    sentence.no_source && t("No source is given."),
    unknown.length > 0 && t("There is no source {numbers}.", { numbers: listed(unknown, "disjunction") }),
  ].filter(Boolean).join(" ");
}

/** The most serious first; each has its own sign, so that nothing depends on colour alone. */
export const MARKS = {
  unknown: { sign: "∅", meaning: t("The source does not exist"), applies: ({ unknown }) => unknown.length },
  figure: { sign: "≠", meaning: t("A figure, date or name is not in the source"), applies: ({ figures, names, contradicted }) =>
    figures.length || names?.length || contradicted?.length },
  quotation: { sign: "”?", meaning: t("The quoted words are not in the source"), applies: ({ quotations }) => quotations.length },
  none: { sign: "○", meaning: t("No source is given"), applies: (sentence) => sentence.no_source },
};

export const kindOf = (sentence) => Object.keys(MARKS).find((kind) => MARKS[kind].applies(sentence)) ?? "figure";

/** Explain the marks that an answer has, if any, and the sign of supported citations. */
export function legend(unsupported, citations) {
  const kinds = Object.keys(MARKS).filter((kind) => unsupported.some((sentence) => kindOf(sentence) === kind));
  if (!kinds.length) return [];
  const row = (className, sign, meaning) =>
    element("li", {}, element("span", { className, "aria-hidden": "true", text: sign }), ` ${meaning}`);
  const isAnySupported = citations.some(({ supported }) => supported !== false);
  return [...(isAnySupported ? [row("citation-sign", "1", t("Found in its source"))] : []),
    ...kinds.map((kind) => row(`unsupported-mark ${kind}`, MARKS[kind].sign, MARKS[kind].meaning))];
}

/** Return what the answer attributes to this source and the source lacks. */
export const missingIn = (number, unsupported) =>
  unsupported.filter(({ numbers }) => numbers.includes(number))
    .flatMap((sentence) => [missingParts(sentence), ...(sentence.contradicted ?? [])]).filter(Boolean).join(comma);
