/**
 * The card above an answer with figures: the value large, what it is of, when, how it
 * was chosen, how it went, and who published it. It shows what the server says that the
 * answer states (`answer.card`), and nothing else.
 */
import { foldCitations } from "./citations.js";
import { emphasise, exploreLink, showFigures } from "./figures.js";
import { element } from "../common/dom.js";
import { isAttachment, sourceTitle, subjectName, when } from "../common/format.js";
import { nameOf } from "../common/names.js";
import { figureText, localText, sparkline } from "../common/shapes.js";
import { comma, count, t } from "../common/words.js";

const MAX_TILES = 4;

/**
 * Return "2024, estimate"; of a figure without a year, the year of its report; of a
 * computed one also how it was computed.
 */
const whenOf = ({ year, edition, estimate, how }) =>
  [
    how,
    year ?? (edition && t("report of {year}", { year: edition })),
    estimate && t("estimate"),
  ]
    .filter(Boolean)
    .join(comma);

const tile = (name, value, note) =>
  element(
    "div",
    { className: "card-tile" },
    // From right to left, "$12 billion" keeps its own order.
    element("p", { className: "eyebrow" }, element("bdi", { text: name })),
    element("p", { className: "card-value" }, element("bdi", { text: value })),
    note && element("p", { className: "card-note", text: note }),
  );

/** Return what the card shows large, at most four values side by side; [] of more. */
function tilesOf({ kind, figures, indicators, result, how, subject: asked }) {
  const [first] = figures;
  const last = figures.at(-1);
  const subjects = new Set(figures.map(({ subject }) => subject));
  const name = indicators.length === 1 ? nameOf(indicators[0]) : "";
  if (result) {
    const names = subjects.size > MAX_TILES ? [] : [...subjects].map(subjectName);
    const title = [...indicators.map(nameOf), ...names].join(" · ");
    return [tile(title, localText(result), localText(how))];
  }
  if (!name) return [];
  if (kind === "value")
    return [
      tile(`${name} · ${subjectName(first.subject)}`, figureText(first), whenOf(first)),
    ];
  if (kind === "series")
    return subjects.size === 1
      ? [
          tile(subjectName(first.subject), figureText(first), whenOf(first)),
          tile(name, figureText(last), whenOf(last)),
        ]
      : [];
  if (subjects.size !== figures.length) return [];
  if (figures.length <= MAX_TILES)
    return figures.map((figure) =>
      tile(subjectName(figure.subject), figureText(figure), whenOf(figure)),
    );
  const shown = figures.find(({ subject }) => subject === asked) ?? first;
  return [
    tile(`${name} · ${subjectName(shown.subject)}`, figureText(shown), whenOf(shown)),
  ];
}

/** Return the figures of all years that cited reports have of a card's one value. */
function courseOf({ figures: [shown] }, figures) {
  const same = figures.filter(
    ({ subject, indicator, unit, year }) =>
      subject === shown.subject &&
      indicator === shown.indicator &&
      unit === shown.unit &&
      year !== null,
  );
  const newestOf = Map.groupBy(same, ({ year }) => year);
  return [...newestOf.values()]
    .map(
      (of) => of.toSorted((one, other) => (other.edition ?? 0) - (one.edition ?? 0))[0],
    )
    .toSorted((one, other) => one.year - other.year);
}

/** Say by what the year was chosen, where the question names none. */
function choiceOf({ kind, shared_year: year, figures: [shown] }, course) {
  if (year) return t("Figures of {year}, the newest year that all have.", { year });
  const isNewest = course.length > 1 && course.at(-1).year === shown.year;
  return kind === "value" && isNewest
    ? t("The newest of the years {first} to {last} in this report.", {
        first: course[0].year,
        last: shown.year,
      })
    : "";
}

/** Return the line of a source: the report, who published it and when. */
export const sourceLine = (source) =>
  [sourceTitle(source), source.publisher, when(source.publication_date)]
    .filter(Boolean)
    .join(" · ");

/** Fold what other editions and passages found say under the same heading. */
function othersFold({ citations, trace }) {
  const cited = new Set(citations.map(({ chunk_id: id }) => id));
  const places = new Set(
    citations.map(({ section, country_name: country }) => `${section}\n${country}`),
  );
  const others = (trace?.hits ?? []).filter(
    (hit) =>
      !cited.has(hit.chunk_id) &&
      !isAttachment(hit) &&
      places.has(`${hit.section}\n${hit.country_name}`),
  );
  if (!others.length) return null;
  return element(
    "details",
    { className: "card-others" },
    element("summary", {
      text: t("Other editions: {reports}", { reports: count(others.length, "report") }),
    }),
    element(
      "ul",
      { role: "list" },
      ...others.map((hit) =>
        element(
          "li",
          {},
          element("button", {
            type: "button",
            className: "source",
            "data-chunk": hit.chunk_id,
            text: `${sourceTitle(hit)}: ${hit.text.replace(/\s+/g, " ").slice(0, 160)}`,
          }),
        ),
      ),
    ),
  );
}

/**
 * Return the card of an answer; null where it states no figure that one can show large
 * and nothing to draw.
 */
function cardOf(answer) {
  const { card, citations, figures } = answer;
  const tiles = tilesOf(card);
  if (!tiles.length) return null;
  const course = card.kind === "value" ? courseOf(card, figures) : [];
  const choice = choiceOf(card, course);
  const numbers = new Set(card.figures.map(({ citation }) => citation));
  const sources = citations.filter(({ number }) => numbers.has(number));
  const line = sparkline(course);
  const plot =
    line &&
    element(
      "div",
      { className: "card-course" },
      line,
      element("p", {
        className: "card-note",
        text: `${course[0].year} – ${course.at(-1).year}`,
      }),
    );
  return element(
    "div",
    // No landmark: each answer of a conversation may have one.
    { className: "card", role: "group", "aria-label": t("Answer in figures") },
    element(
      "div",
      { className: `card-tiles${card.kind === "series" ? " course" : ""}` },
      ...tiles,
      ...(plot ? [plot] : []),
    ),
    ...(choice ? [element("p", { className: "card-note", text: choice })] : []),
    ...(sources.length === 1
      ? [
          element("button", {
            type: "button",
            className: "card-source",
            "data-citation": sources[0].number,
            text: sourceLine(sources[0]),
          }),
        ]
      : []),
    ...[card.kind === "value" && othersFold(answer)].filter(Boolean),
    ...[
      card.kind === "value" && exploreLink(card.figures, "lines", answer.figures ?? []),
    ].filter(Boolean),
  );
}

/** Fewer figures are read at a glance. */
const MIN_SAID_AGAIN = 4;

/** Return the numbers of a part of an answer, without those of its citations. */
function numbersIn(node) {
  const copy = node.cloneNode(true);
  for (const citation of copy.querySelectorAll(".citation")) citation.remove();
  return copy.textContent.match(/\d+(?:[.,]\d+)*/g) ?? [];
}

/**
 * Fold the sentences below a table that say again what it says: all of their numbers
 * stand in it.
 */
function foldSaidAgain(body) {
  const table = body.querySelector("table");
  if (!table) return;
  const told = new Set(numbersIn(table));
  const blocks = [...body.children];
  const below = blocks.slice(1 + blocks.findIndex((block) => block.contains(table)));
  for (const block of below) {
    const isLong = block.querySelectorAll("p .citation").length >= MIN_SAID_AGAIN;
    const isDoubted = block.querySelector(".unsupported, .unsupported-text");
    if (!isLong || isDoubted || !numbersIn(block).every((one) => told.has(one)))
      continue;
    block.replaceChildren(
      element(
        "details",
        { className: "said-again" },
        element("summary", { text: t("In words") }),
        ...block.childNodes,
      ),
    );
  }
}

/** Shorter lists are read at a glance. */
const MIN_FOLDED = 8;

/** Fold a long list of the values that the charts beside it show. */
function foldCharted(body, charts) {
  if (!charts.childElementCount) return;
  for (const list of body.querySelectorAll("ol")) {
    const { length } = list.children;
    if (length < MIN_FOLDED || list.querySelector(".unsupported, .unsupported-text"))
      continue;
    const fold = element(
      "details",
      { className: "said-again" },
      element("summary", { text: t("{number} values", { number: length }) }),
    );
    list.replaceWith(fold);
    fold.append(list);
  }
}

/** Show the card and the charts of an answer above or below its text. */
export function showCard(root, answer, isAbove) {
  const body = root.querySelector(".answer-body");
  const charts = root.querySelector(".figures");
  const card = answer.card && cardOf(answer);
  if (isAbove) body.before(...(card ? [card] : []), charts);
  else if (card) body.after(card);
  if (answer.card?.kind !== "value") showFigures(charts, answer);
  emphasise(body, answer.figures ?? []);
  foldSaidAgain(body);
  foldCharted(body, charts);
  foldCitations(body);
}
