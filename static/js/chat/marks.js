/**
 * Marks of what the sources of an answer do not support, at its sentences. Loaded with
 * the first one.
 */
import { missingParts, textNodes } from "./citations.js";
import { element } from "../common/dom.js";
import { comma, count, listed, t } from "../common/words.js";

/**
 * Return in words what is wrong with a sentence: what its sources lack or contradict,
 * and which do not exist.
 */
function explainUnsupported(sentence) {
  const { numbers, unknown, contradicted = [] } = sentence;
  const missing = missingParts(sentence);
  const source =
    numbers.length > 1
      ? t("sources {numbers}", { numbers: listed(numbers) })
      : t("source {number}", { number: numbers[0] });
  return [
    missing && t("Not found in {source}: {missing}.", { source, missing }),
    contradicted.length > 0 &&
      t("Other figures in {source}: {figures}.", {
        source,
        figures: contradicted.join(comma),
      }),
    sentence.no_source && t("No source is given."),
    sentence.verdict === "not_said" && t("Not said in {source}.", { source }),
    sentence.verdict === "contradicted" &&
      t("According to {source}: “{words}”", { source, words: sentence.words }),
    unknown.length > 0 &&
      t("There is no source {numbers}.", { numbers: listed(unknown, "disjunction") }),
  ]
    .filter(Boolean)
    .join(" ");
}

/**
 * The most serious first; each has its own sign, so that nothing depends on colour
 * alone.
 */
const MARKS = {
  unknown: {
    sign: "∅",
    meaning: t("The source does not exist"),
    applies: ({ unknown }) => unknown.length,
  },
  figure: {
    sign: "≠",
    meaning: t("A figure, date or name is not in the source"),
    applies: ({ figures, names, contradicted }) =>
      figures.length || names?.length || contradicted?.length,
  },
  quotation: {
    sign: "”?",
    meaning: t("The quoted words are not in the source"),
    applies: ({ quotations }) => quotations.length,
  },
  meaning: {
    sign: "?",
    meaning: t("The source does not say this"),
    applies: ({ verdict }) => verdict,
  },
  none: {
    sign: "○",
    meaning: t("No source is given"),
    applies: (sentence) => sentence.no_source,
  },
};

const kindOf = (sentence) =>
  Object.keys(MARKS).find((kind) => MARKS[kind].applies(sentence)) ?? "figure";

/**
 * Explain the marks that an answer has, if any, and the sign of supported citations.
 */
function legend(unsupported, citations) {
  const kinds = Object.keys(MARKS).filter((kind) =>
    unsupported.some((sentence) => kindOf(sentence) === kind),
  );
  if (!kinds.length) return [];
  const row = (className, sign, meaning) =>
    element(
      "li",
      {},
      element("span", { className, "aria-hidden": "true", text: sign }),
      ` ${meaning}`,
    );
  const isAnySupported = citations.some(({ supported }) => supported !== false);
  return [
    ...(isAnySupported ? [row("citation-sign", "1", t("Found in its source"))] : []),
    ...kinds.map((kind) =>
      row(`unsupported-mark ${kind}`, MARKS[kind].sign, MARKS[kind].meaning),
    ),
  ];
}

/**
 * List the sentences that their sources do not support, folded: the marks in the text
 * are seen first.
 */
export function showCheck(root, unsupported, citations) {
  const statements = count(unsupported.length, "statement");
  root.querySelector(".check").hidden = false;
  root.querySelector(".check summary").textContent = t(
    "Check: {statements} without support in the sources",
    { statements },
  );
  root
    .querySelector(".unsupported-lines")
    .replaceChildren(
      ...unsupported.map((sentence) =>
        element(
          "li",
          {},
          element("q", { text: sentence.sentence }),
          ` ${explainUnsupported(sentence)}`,
        ),
      ),
    );
  root
    .querySelector(".legend-marks")
    .replaceChildren(...legend(unsupported, citations));
}

const SIGN = /[\p{L}\p{N}]/gu;

/**
 * Return the letters and digits of a text; what lies between them differs by Markdown.
 * An emoji counts as one.
 */
const signsOf = (text) => text.match(SIGN) ?? [];

/** Return every letter and digit on the page with its place. */
function readSigns(container) {
  return (
    textNodes(container)
      // The host beside a link is not part of the answer.
      .filter((node) => !node.parentElement?.closest(".link-host"))
      .flatMap((node) =>
        [...node.data.matchAll(SIGN)].map(({ 0: sign, index }) => ({
          sign,
          node,
          index,
          end: index + sign.length,
        })),
      )
  );
}

/**
 * Return where the signs of a sentence begin, not in the middle of a word; -1 if
 * nowhere.
 */
function findSigns(shown, signs, from) {
  for (let start = from; start + signs.length <= shown.length; start += 1) {
    const [before, first] = [shown[start - 1], shown[start]];
    const isInWord = before?.node === first.node && before.end === first.index;
    if (!isInWord && signs.every((sign, offset) => shown[start + offset].sign === sign))
      return start;
  }
  return -1;
}

/**
 * Wrap a part of a text node; a citation's button is coloured as a whole. Returns the
 * wrapping element.
 */
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
    // The bracket of a number without a source, or the unit of a figure, belongs to the
    // sentence.
    const stop = end + (/^(?:\]|\s?[%‰])/.exec(node.data.slice(end))?.[0].length ?? 0);
    last = wrap(
      node,
      order === 0 ? places[0].index : 0,
      order === nodes.length - 1 ? stop : node.length,
      kind,
    );
  }
  last.after(
    element(
      "span",
      { className: `unsupported-mark ${kind}`, title: explanation },
      element("span", { "aria-hidden": "true", text: MARKS[kind].sign }),
      element("span", { className: "visually-hidden", text: ` (${explanation}) ` }),
    ),
  );
}

/**
 * Mark the sentences that their sources do not support; where one cannot be found on
 * the page, its citations.
 */
export function markUnsupported(container, unsupported) {
  let from = 0;
  for (const sentence of unsupported) {
    const signs = signsOf(sentence.sentence);
    const shown = readSigns(container);
    const cell = [...container.querySelectorAll("td")].find(
      (one) =>
        !one.querySelector(".unsupported-mark") &&
        readSigns(one)
          .map(({ sign }) => sign)
          .join("") === signs.join(""),
    );
    const start = cell
      ? shown.findIndex(({ node }) => cell.contains(node))
      : findSigns(shown, signs, from);
    if (start >= 0) {
      const explanation = explainUnsupported(sentence);
      markRange(
        shown.slice(start, start + signs.length),
        explanation,
        kindOf(sentence),
      );
      if (!cell) from = start + signs.length + signsOf(explanation).length;
      continue;
    }
    for (const number of sentence.numbers) {
      for (const button of container.querySelectorAll(
        `[data-citation="${Number(number)}"]`,
      ))
        button.classList.add("unsupported");
    }
  }
}
