import { element } from "./dom.js";
import { sourcePlace, sourceTitle } from "./format.js";

const CITATION = /\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/;

const citationName = (number, source) =>
  `Source ${number}: ${[sourceTitle(source), sourcePlace(source)].filter(Boolean).join(", ")}`;

function citationButton(number, source) {
  return element("button", {
    type: "button",
    className: "citation",
    text: number,
    "data-citation": number,
    "aria-label": citationName(number, source),
    title: citationName(number, source),
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
