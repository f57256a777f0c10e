/** Citations in an answer, and the list of its sources. */
import { element } from "../common/dom.js";
import { sourceName, sourcePlace, sourceTitle } from "../common/format.js";
import { comma, t } from "../common/words.js";

const CITATION = /\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]/;

/** What must not begin a line behind a citation. */
const PUNCTUATION = /^[.,;:!?)\]»”،؛؟]+/;

export function textNodes(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(/** @type {Text} */ (walker.currentNode));
  return nodes;
}

/**
 * Turn [1] and [1, 2] of sanitised nodes into buttons with the numbers to show; those
 * without a source stay text.
 */
export function linkCitations(fragment, sourceOf, shownOf) {
  fragment.normalize();
  for (const node of textNodes(fragment)) {
    // Odd parts are the captured numbers.
    const parts = node.data.split(CITATION);
    if (parts.length === 1 || node.parentElement?.closest("code, pre, a, samp, var"))
      continue;
    const nodes = parts.flatMap((part, index) => {
      const numbers = index % 2 ? part.split(/\s*,\s*/) : [];
      if (!numbers.every((number) => sourceOf(Number(number)))) return [`[${part}]`];
      if (!numbers.length) return [part];
      return numbers.map((number) =>
        element("button", {
          type: "button",
          className: "citation",
          text: shownOf(Number(number)),
          "data-citation": number,
          "aria-label": `${t("Source {number}", { number: shownOf(Number(number)) })}: ${sourceName(sourceOf(Number(number)))}`,
        }),
      );
    });
    node.replaceWith(...joined(nodes));
  }
}

/** Keep what must not begin a line with the citation before it. */
function joined(nodes) {
  return nodes.reduce((before, node) => {
    const last = before.at(-1);
    const [mark] = (last instanceof Element && PUNCTUATION.exec(node)) || [];
    if (!mark) return [...before, node];
    const pair = element("span", { className: "joined" }, last, mark);
    return [...before.slice(0, -1), pair, node.slice(mark.length)];
  }, []);
}

export const sourceItem = (citation, shown = citation.number) =>
  element(
    "li",
    {},
    element(
      "button",
      { type: "button", className: "source", "data-citation": citation.number },
      element("span", { className: "source-number", text: shown }),
      element(
        "span",
        { className: "source-name" },
        element("span", { className: "source-title", text: sourceTitle(citation) }),
        " ",
        element("span", { className: "source-place", text: sourcePlace(citation) }),
      ),
    ),
  );

/** Of a longer row or list only the first are shown until the others are asked for. */
const [MAX_ROW, SHOWN_IN_ROW, MAX_LISTED, SHOWN_LISTED] = [6, 3, 12, 8];

/** Return a button that shows what is hidden, and gives its first the focus. */
function showMore(hidden) {
  const more = element("button", {
    type: "button",
    className: "more-citations",
    text: t("{number} more", { number: hidden.length }),
  });
  more.addEventListener("click", () => {
    for (const node of hidden) node.hidden = false;
    const [first] = hidden;
    (first.querySelector("button") ?? first).focus({ preventScroll: true });
    (more.closest("li.more") ?? more).remove();
  });
  return more;
}

/** Return the sources of an answer as items of its list. */
export function sourceItems(citations) {
  const items = citations.map((citation) => sourceItem(citation));
  if (items.length <= MAX_LISTED) return items;
  const hidden = items.slice(SHOWN_LISTED);
  for (const item of hidden) item.hidden = true;
  return [...items, element("li", { className: "more" }, showMore(hidden))];
}

/** Return the citations that follow each other behind one, with nothing between. */
function rowFrom(first) {
  const row = [first];
  for (
    let next = first.nextSibling;
    next &&
    (next instanceof Element ? next.matches(".citation, .joined") : !next.data.trim());
    next = next.nextSibling
  )
    if (next instanceof Element) row.push(next);
  return row;
}

/** Fold the long rows of citations behind a sum. */
export function foldCitations(body) {
  const seen = new Set();
  for (const first of body.querySelectorAll(".citation")) {
    if (seen.has(first)) continue;
    const row = rowFrom(first);
    for (const node of row) {
      seen.add(node);
      seen.add(node.querySelector(".citation"));
    }
    if (row.length <= MAX_ROW) continue;
    const hidden = row
      .slice(SHOWN_IN_ROW)
      .map((node) => node.querySelector(".citation") ?? node);
    for (const node of hidden) node.hidden = true;
    row[SHOWN_IN_ROW - 1].after(showMore(hidden));
  }
}

export const missingParts = ({ figures, quotations, names = [] }) =>
  [...figures, ...names, ...quotations.map((text) => `“${text}”`)].join(comma);

/** Return what the answer attributes to this source and the source lacks. */
export const missingIn = (number, unsupported) =>
  unsupported
    .filter(({ numbers }) => numbers.includes(number))
    .flatMap((sentence) => [missingParts(sentence), ...(sentence.contradicted ?? [])])
    .filter(Boolean)
    .join(comma);
