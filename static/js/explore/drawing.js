/** The charts and the table of what the explorer shows. */
import { axisNote, COLOURS, draw, hasEndNames } from "../chat/charts.js";
import { downloads, labelOf, legendList, titleOf } from "../chat/figures.js";
import { whenResized, wireKeys } from "../chat/points.js";
import { element } from "../common/dom.js";
import { subjectName } from "../common/format.js";
import { nameOf } from "../common/names.js";
import { figureText } from "../common/shapes.js";
import { comma, t } from "../common/words.js";

const HEIGHT = 380;
/** More bars than these nobody reads; the table has all. */
const MAX_BARS = 60;
const GREY = COLOURS;

/**
 * Return the figures of an answer of the API, one a cell, as charts take them.
 * @returns {any[]}
 */
export function figuresOf({ columns, rows, citations }) {
  const sources = new Map(citations.map((source) => [source.number, source]));
  return rows.flatMap(({ subject, cells }) =>
    cells.flatMap((cell, place) => {
      if (!cell) return [];
      const { indicator, unit, year } = columns[place];
      const [citation] = cell.citations;
      const source = sources.get(citation);
      return [
        {
          ...cell,
          subject,
          indicator,
          unit,
          year: cell.year ?? year,
          edition: source?.year,
          document_id: source?.document_id,
          citation,
        },
      ];
    }),
  );
}

/** Return the figures of each subject by year, the oldest first. */
const seriesOf = (figures) =>
  [...Map.groupBy(figures, ({ subject }) => subject)].map(([subject, same]) => ({
    subject,
    points: same
      .filter(({ year }) => year)
      .map((figure) => ({
        figure,
        year: figure.year,
        value: figure.value,
        at: 0,
        revised: [],
      }))
      .toSorted((one, other) => one.year - other.year),
  }));

const newestFirst = (one, other) => other.points.at(-1).value - one.points.at(-1).value;

/**
 * Give up to six series a colour: those asked for, else the largest. The others are
 * grey and lie below.
 */
function coloured(series, chosen) {
  const named = series.filter(({ subject }) => chosen.has(subject));
  const first = (named.length ? named : series.toSorted(newestFirst)).slice(0, COLOURS);
  const others = series.filter((one) => !first.includes(one));
  const tones = new Map([
    ...first.map(({ subject }, tone) => [subject, tone]),
    ...others.map(({ subject }, place) => [subject, GREY + place]),
  ]);
  return series
    .map((one) => ({ ...one, tone: tones.get(one.subject) }))
    .toSorted((one, other) => other.tone - one.tone);
}

/** Return the newest figure of each series as bars, the largest first. */
const barsOf = (series, chosen) =>
  series
    .map((one) => ({
      ...one,
      points: one.points.slice(-1),
      isChosen: chosen.has(one.subject),
      tone: chosen.size && !chosen.has(one.subject) ? GREY : 0,
    }))
    .toSorted(newestFirst);

/**
 * Return the chart of one indicator; null where no figure has a year.
 * @param {any[]} figures of the indicator
 * @param {string} view
 * @param {Set<string>} chosen the subjects asked for by name
 */
export function chartOf(figures, view, chosen) {
  const series = seriesOf(figures).filter(({ points }) => points.length);
  if (!series.length) return null;
  const isLines = view === "lines" && series.some(({ points }) => points.length > 1);
  const shown = isLines ? coloured(series, chosen) : barsOf(series, chosen);
  const years = new Set(shown.map(({ points }) => points[0].year));
  return {
    kind: isLines ? "lines" : "bars",
    series: shown,
    year: years.size === 1 ? [...years][0] : null,
    indicator: figures[0].indicator,
    unit: figures[0].unit,
    figures: shown.flatMap(({ points }) => points.map(({ figure }) => figure)),
    hasEnds: isLines && series.length > 1,
    height: HEIGHT,
  };
}

const files = (...buttons) =>
  element(
    "div",
    { className: "figures-bar" },
    element("div", { className: "figures-files" }, ...buttons),
  );

/** Return lines or bars with their title and files. */
function drawn(chart, sources, box) {
  const all = chart.series;
  const shown =
    chart.kind === "bars" ? { ...chart, series: all.slice(0, MAX_BARS) } : chart;
  const holder = element("div", { className: "plot-holder" });
  const legend = legendList(
    all.filter(({ tone }) => tone < GREY || all.length <= 2 * GREY).toReversed(),
  );
  whenResized(holder, (width) => {
    holder.replaceChildren(draw(shown, width, labelOf(shown)));
    legend.hidden = !chart.hasEnds || hasEndNames(chart, width);
  });
  wireKeys(holder);
  const hidden = all.length - shown.series.length;
  const notes = [
    axisNote(chart),
    hidden > 0 && t("{number} more are in the table.", { number: hidden }),
  ].filter(Boolean);
  return element(
    "figure",
    { className: "chart" },
    element(
      "figcaption",
      {},
      element("h2", { text: titleOf(chart), dir: "auto" }),
      legend,
      ...notes.map((text) => element("p", { className: "axis-note", text })),
    ),
    holder,
    files(...downloads(shown, sources, box)),
  );
}

/** Return a map with its title and files. */
async function mapped(chart, sources, box) {
  const { mapOf, mapPlot } = await import("../chat/map.js");
  const map = await mapOf(chart, t("Map: {title}", { title: titleOf(chart) }));
  const svg = map.querySelector(".map");
  const holder = element("div", { className: "plot-holder" }, map);
  wireKeys(holder);
  return element(
    "figure",
    { className: "chart" },
    element("figcaption", {}, element("h2", { text: titleOf(chart), dir: "auto" })),
    holder,
    ...(svg
      ? [files(...downloads(chart, sources, box, (width) => mapPlot(svg, width)))]
      : []),
  );
}

const cellOf = (figure) => {
  if (!figure) return element("td", { className: "none", text: "–" });
  const { subject, indicator, year, estimate, citation } = figure;
  const text = figureText(figure);
  const name = [
    subjectName(subject),
    nameOf(indicator),
    year,
    text,
    estimate && t("estimate"),
  ];
  return element(
    "td",
    {},
    element("button", {
      type: "button",
      className: "cell",
      text,
      "data-citation": citation,
      "aria-label": name.filter(Boolean).join(comma),
    }),
  );
};

/** Return the table of one indicator: a row a subject, a column a year. */
function tableOf(figures) {
  const years = [...new Set(figures.map(({ year }) => year))].toSorted(
    (one, other) => one - other,
  );
  const rows = [...Map.groupBy(figures, ({ subject }) => subject)];
  const title = titleOf({ ...figures[0], kind: "table", series: [{}, {}] });
  return element(
    "figure",
    { className: "chart" },
    element("figcaption", {}, element("h2", { text: title, dir: "auto" })),
    element(
      "div",
      {
        className: "figures-table explore-table",
        role: "group",
        tabindex: "0",
        "aria-label": t("Table: {title}", { title }),
      },
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            element("th", { scope: "col", text: t("Subject") }),
            ...years.map((year) =>
              element("th", { scope: "col", text: year ?? t("Figure") }),
            ),
          ),
        ),
        element(
          "tbody",
          {},
          ...rows.map(([subject, same]) =>
            element(
              "tr",
              {},
              element("th", { scope: "row", text: subjectName(subject), dir: "auto" }),
              ...years.map((year) => cellOf(same.find((one) => one.year === year))),
            ),
          ),
        ),
      ),
    ),
  );
}

/**
 * Return what is shown of one indicator.
 * @param {any[]} figures of the indicator
 * @param {string} view
 * @param {Set<string>} chosen
 * @param {Map<number, any>} sources by their numbers
 * @param {HTMLElement} box on the page, for what is measured
 */
export function shownOf(figures, view, chosen, sources, box) {
  const chart = view === "table" ? null : chartOf(figures, view, chosen);
  if (!chart) return tableOf(figures);
  return view === "map" ? mapped(chart, sources, box) : drawn(chart, sources, box);
}
