/**
 * The text of passages. Only headings and bold text are formatted, and heads that say
 * nothing are left out: evidence is shown word for word.
 */
import { element } from "./dom.js";

/** Whether a file is shown page by page. */
export const isPdf = (file) => /\.pdf$/i.test(file ?? "");

function formatLine(line) {
  const heading = /^#{1,6}\s+(.+?)\s*$/.exec(line);
  if (heading)
    return [element("strong", { className: "passage-heading", text: heading[1] })];
  return line
    .split(/\*\*(.+?)\*\*/)
    .map((part, index) => (index % 2 ? element("strong", { text: part }) : part));
}

/**
 * Heads of columns that say nothing of a row, of those in language/tables.toml: of what
 * the row is, and of its value.
 */
const [ROW_HEADS, VALUE_HEADS] = [
  "Items?|Indicators?|Description|Category|Measure|Libellé|Rubrique|Désignation|Indicateur|Poste|Concepto|Partida|Rubro|Indicador|Descripción|Descrição|Rubrica|Designação|البند|البيان|المؤشر",
  "Values?|Figure|Amount|Number|Quantity|Valeur|Montant|Nombre|Valor|Monto|Cantidad|Número|Montante|Quantidade|القيمة|قيمة|العدد|المبلغ",
];
const ROW = `(?:${ROW_HEADS}): ([^;·”\\n]+); (\\*\\*)?(?:${VALUE_HEADS}): `;
const QUOTED_ROW = new RegExp(`(?<=[“·;*] ?)${ROW}`, "gi");
const PASSAGE_ROW = new RegExp(`(?<=^ *|[:;*] ?)${ROW}`, "gim");

const withoutHeads = (text, pattern) =>
  text.replace(pattern, (_, name, bold = "") => `${name}: ${bold}`);

/**
 * Show the quoted rows of a table of two columns as people write them: "Boreholes: 55"
 * instead of "Item: Boreholes; Value: 55".
 */
export const plainQuotes = (markdown) => withoutHeads(markdown, QUOTED_ROW);

/** Show the rows of such a table in the text of a passage in the same way. */
export const plainRows = (text) => withoutHeads(text, PASSAGE_ROW);

/** Return the items with a separator between them. */
const between = (items, separator) =>
  items.flatMap((item, index) => (index ? [separator(), ...item] : item));

export const formatText = (text) =>
  between(
    text
      .split(/\n\s*\n/)
      .map((paragraph) => between(paragraph.split("\n").map(formatLine), () => "\n")),
    () => element("span", { className: "passage-gap" }),
  );

/** Return a text as a pattern that matches it. */
export const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

const WORD = /\d[\d.,]*\d|\d|[\p{L}\p{M}]{4,}/gu;
const SENTENCE = /[^\n]+?(?:[.!?؟](?=\s)|(?=\n|$))/g;
/** A longer sentence is split at its semicolons. */
const LONG = 200;
const wordsOf = (text) => [...new Set(text.toLowerCase().match(WORD) ?? [])];
/**
 * The share of a sentence's words that are cited, from which it is cited as a whole.
 */
const WHOLE = 0.9;

/**
 * Split a passage at the words that an answer cites: [before, cited, after]. Cited is
 * the sentence or line that shares most with what the answer says, with those beside
 * it that are cited whole; "" if that is nothing, or all.
 */
export function splitAtCited(passage, said) {
  const own = new Set(wordsOf(said));
  const split = (text, pattern, offset = 0) =>
    [...text.matchAll(pattern)].map(({ 0: part, index }) => ({
      part,
      start: offset + index,
    }));
  const sentences = split(passage, SENTENCE).flatMap(({ part, start }) =>
    part.length > LONG ? split(part, /[^;]+;?/g, start) : [{ part, start }],
  );
  const parts = sentences.map(({ part, start }) => {
    const words = wordsOf(part);
    const shared = words.filter((word) => own.has(word)).length;
    return {
      start,
      end: start + part.length,
      share: shared / (words.length || 1),
      score: shared ** 2 / (words.length || 1),
    };
  });
  const best = parts.toSorted((one, other) => other.score - one.score)[0];
  if (!best?.score) return [passage, "", ""];
  let [first, last] = [parts.indexOf(best), parts.indexOf(best)];
  while (parts[first - 1]?.share >= WHOLE) first -= 1;
  while (parts[last + 1]?.share >= WHOLE) last += 1;
  const [start, end] = [parts[first].start, parts[last].end];
  const isAll = !(passage.slice(0, start) + passage.slice(end)).trim();
  return isAll
    ? [passage, "", ""]
    : [passage.slice(0, start), passage.slice(start, end), passage.slice(end)];
}

/** Return a passage marked, and in it the words that an answer cites. */
export function markedPassage(passage, said) {
  const [before, cited, after] = splitAtCited(passage, said);
  return element(
    "mark",
    {},
    ...formatText(before),
    ...(cited
      ? [
          element("strong", { className: "cited" }, ...formatText(cited)),
          ...formatText(after),
        ]
      : []),
  );
}

/**
 * Return the text around a passage with the passage marked, or the passage alone. White
 * space may differ.
 */
export function passageNodes(passageText, wider, said) {
  const [passage, widerText] = [passageText, wider ?? ""].map(plainRows);
  const words = passage.trim().split(/\s+/).map(escaped);
  const match =
    widerText && passage.trim() && new RegExp(words.join("\\s+")).exec(widerText);
  if (!match) return [markedPassage(passage.trim(), said)];
  const end = match.index + match[0].length;
  return [
    ...formatText(widerText.slice(0, match.index)),
    markedPassage(match[0], said),
    ...formatText(widerText.slice(end)),
  ];
}
