/** What a file would change of the report that it replaces, as a person reads it. */
import { element } from "../common/dom.js";
import { comma, count, t } from "../common/words.js";

const TAGS = { removed: "del", added: "ins" };

const placeOf = ({ section, page }) =>
  [section, page && t("page {page}", { page })].filter(Boolean).join(" · ");

const passageOf = (passage) =>
  element(
    "li",
    {},
    element("p", { className: "text-place", text: placeOf(passage), dir: "auto" }),
    element(
      "p",
      { dir: "auto" },
      ...passage.pieces.flatMap(({ kind, text }) => [
        kind in TAGS ? element(TAGS[kind], { text }) : text,
        " ",
      ]),
    ),
  );

const sideOf = (figure) =>
  figure ? figure.text + (figure.year ? ` (${figure.year})` : "") : "–";

const figureOf = ({ subject, indicator, old, new: now }) =>
  element(
    "li",
    {},
    element("p", {
      className: "text-place",
      text: [subject, indicator].filter(Boolean).join(comma),
    }),
    element(
      "p",
      {},
      element("del", { text: sideOf(old) }),
      " ",
      element("ins", { text: sideOf(now) }),
    ),
  );

/** Return "3 figures and 5 passages differ", or that nothing does. */
export function summaryOf({ figures_total: figures, text }) {
  const parts = [
    figures && count(figures, "figure"),
    text.total && count(text.total, "passage"),
  ].filter(Boolean);
  return parts.length
    ? t("Different: {parts}", { parts: parts.join(comma) })
    : t("No text is different.");
}

/** Return the list of what differs; null where nothing does. */
export function differencesOf({ figures, figures_total: total, text }) {
  const items = [...figures.map(figureOf), ...text.passages.map(passageOf)];
  if (!items.length) return null;
  const rest = total + text.total - items.length;
  if (rest > 0)
    items.push(element("li", { text: t("{number} more", { number: rest }) }));
  return element("ul", { className: "text-changes", role: "list" }, ...items);
}

/** Return a report's title with what a file would change of it, folded. */
export function foldedDifferences(replaces, summary) {
  const list = differencesOf(replaces);
  if (!list) return element("p", { className: "differences", text: summary });
  return element(
    "details",
    { className: "differences" },
    element("summary", { text: summary }),
    list,
  );
}
