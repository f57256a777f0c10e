/**
 * Charts of the figures in an answer: which can be drawn, and their SVG. The style
 * sheet has colours and sizes.
 */
import { subjectName } from "../common/format.js";
import { escaped } from "../common/passage.js";
import {
  amount,
  figureText,
  fitting,
  labelWidth,
  localText,
  MIN_YEARS,
  scale,
  shape,
} from "../common/shapes.js";
import { comma, t } from "../common/words.js";

const MAX_CHARTS = 3;
const MAX_LINES = 12;
const MAX_BARS = 30;
const MIN_RANKED = 3;

/**
 * Of one subject and year, draw the figure of the newest report, and older reports'
 * figures that differ.
 */
function pointOf(figures, placeOf) {
  const [figure, ...older] = figures.toSorted(
    (one, other) =>
      Number(placeOf(other) >= 0) - Number(placeOf(one) >= 0) ||
      (other.edition ?? 0) - (one.edition ?? 0),
  );
  const revised = older.filter(({ value }) => value !== figure.value);
  return {
    figure,
    year: figure.year,
    value: figure.value,
    at: placeOf(figure),
    revised,
  };
}

/**
 * Return where an answer states a figure ("4.5% (2024 est.) [1]"); -1 if nowhere.
 * `response` has no backslashes.
 */
function statedAt({ text, year, citation }, response) {
  const cited = `(?:\\[[\\d, ]+\\])*?\\[(?:\\d+, ?)*${citation}\\b`;
  const stated = new RegExp(
    `(?<![\\d.,])(?:${escaped(text)}|${escaped(localText(text))})(?![\\d%])([^\\[\\]|\\n]{0,40})${cited}`,
    "g",
  );
  return (
    [...response.matchAll(stated)]
      .filter(([, between]) => !/\d{4}/.test(between) || between.includes(String(year)))
      .map(({ index }) => index)[0] ?? -1
  );
}

/**
 * Return bars for an answer that states one figure of each of several subjects, as a
 * ranking does, in its order.
 */
function statedBars(series) {
  const bars = series.map(({ subject, points }) => ({
    subject,
    points: points.filter(({ at }) => at >= 0),
  }));
  if (
    bars.length < MIN_RANKED ||
    bars.length > MAX_BARS ||
    bars.some(({ points }) => points.length !== 1)
  )
    return null;
  const years = new Set(bars.map(({ points: [{ year }] }) => year));
  const sorted = bars.toSorted(
    ({ points: [one] }, { points: [other] }) => one.at - other.at,
  );
  return {
    kind: "bars",
    year: years.size === 1 ? [...years][0] : null,
    series: sorted,
  };
}

/** Return bars for the year that most subjects have, the latest of several. */
function barsOf(series) {
  const at = (year) =>
    series
      .map(({ subject, points }) => ({
        subject,
        points: points.filter((one) => one.year === year),
      }))
      .filter(({ points }) => points.length);
  const years = [
    ...new Set(series.flatMap(({ points }) => points.map(({ year }) => year))),
  ];
  const [year] = years.toSorted(
    (one, other) => at(other).length - at(one).length || other - one,
  );
  const bars = at(year);
  return bars.length > 1 && bars.length <= MAX_BARS
    ? { kind: "bars", year, series: largestFirst(bars) }
    : null;
}

const largestFirst = (bars) =>
  bars.toSorted((one, other) => other.points[0].value - one.points[0].value);

function chartOf(figures, placeOf) {
  const series = [...Map.groupBy(figures, ({ subject }) => subject)].map(
    ([subject, group]) => ({
      subject,
      points: [...Map.groupBy(group, ({ year }) => year).values()]
        .map((same) => pointOf(same, placeOf))
        .toSorted((one, other) => one.year - other.year),
    }),
  );
  const { indicator, unit } = figures[0];
  const isLine =
    series.length <= MAX_LINES &&
    series.some(({ points }) => points.length >= MIN_YEARS) &&
    figures.every(({ year }) => year !== null);
  const chart =
    statedBars(series) ?? (isLine ? { kind: "lines", series } : barsOf(series));
  const isStated = chart?.series.some(({ points }) => points.some(({ at }) => at >= 0));
  return (
    isStated && {
      ...chart,
      indicator,
      unit,
      figures: chart.series.flatMap(({ points }) =>
        points.flatMap(({ figure, revised }) => [figure, ...revised]),
      ),
    }
  );
}

/**
 * Return what a chart of an answer may show: the figures that it states, and those of
 * other editions for the same subject, indicator and year, which were revised. An
 * answer that was stored before the server named them has the figures of its passages.
 */
function figuresOf({ card, figures = [] }) {
  if (!card) return figures;
  const keyOf = ({ subject, indicator, unit, year }) =>
    [subject, indicator, unit, year].join("\n");
  /** @type {Map<string, any[]>} */
  const statedBy = Map.groupBy(card.figures, keyOf);
  const revised = figures.filter((figure) => {
    const stated = statedBy.get(keyOf(figure)) ?? [];
    return (
      stated.length > 0 &&
      !stated.some(
        ({ document_id: id, text }) =>
          id === figure.document_id && text === figure.text,
      )
    );
  });
  return [...card.figures, ...revised];
}

/**
 * Return the charts of figures that their source supports, those with most figures
 * first. Those that an answer states may be of a sheet without a year.
 */
export function chartsOf(answer) {
  const { citations, response = "" } = answer;
  const figures = figuresOf(answer);
  const supported = new Set(
    citations
      .filter((citation) => citation.supported !== false)
      .map(({ number }) => number),
  );
  const usable = figures.filter(
    ({ year, citation, subject }) =>
      (year !== null || answer.card) && subject && supported.has(citation),
  );
  const plain = response.replaceAll("\\", "");
  const stated = answer.card?.figures;
  const placeOf = (figure) =>
    stated ? stated.indexOf(figure) : statedAt(figure, plain);
  const charts = [
    ...Map.groupBy(usable, ({ indicator, unit }) => `${indicator}\n${unit}`).values(),
  ]
    .map((same) => chartOf(same, placeOf))
    .filter(Boolean);
  return charts
    .toSorted((one, other) => other.figures.length - one.figures.length)
    .slice(0, MAX_CHARTS);
}

const TICKS = 4;
const [TOP, BOTTOM, LEFT, RIGHT] = [24, 28, 52, 14];
const HEIGHT = 240;
const LABEL_WIDTH = 46;
const VALUE_WIDTH = 60;
const MAX_NAME_SHARE = 0.34;
const NAME_GAP = 8;
/** The height of a bar with its name beside it, and with its name above it. */
const [BAR_ROW, NAMED_BAR_ROW] = [30, 46];
/** Between a line, its name and its sign, and between two names, in pixels. */
const [END_GAP, LINE_GAP] = [8, 14];
/** The weight of a name at the end of a line (`.plot .end`). */
const BOLD = 600;
/** Narrower charts have a legend instead. */
const MIN_ENDS_WIDTH = 280;
/** Subjects are told apart by shape as well as by colour. */
const SHAPES = [
  "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0",
  "M-4-4h8v8h-8z",
  "M0-5.5 5 4.5h-10z",
  "M0-6 6 0 0 6-6 0z",
  "M0 5.5-5-4.5h10z",
  "M-5-1.5h3.5V-5h3v3.5H5v3H1.5V5h-3V1.5H-5z",
];

export const marker = (index) =>
  shape("path", {
    d: SHAPES[index % SHAPES.length],
    class: `${seriesClass(index)}${index > COLOURS && index % 2 ? " hollow" : ""}`,
  });

/** Six subjects have a colour of their own; the others are grey. */
export const COLOURS = SHAPES.length;

/** Grey lines are told apart by their dashes. */
const DASHES = ["9 4", "2 4", "9 4 2 4", "4 2"];

const seriesStyle = (index) =>
  index < COLOURS
    ? {}
    : { "stroke-dasharray": DASHES[(index - COLOURS) % DASHES.length] };

const seriesClass = (index) => (index < COLOURS ? `series-${index}` : "series-other");

/** Return round values around these: steps are 1, 2 or 5 times a power of ten. */
function ticks(low, high) {
  const rough = (high - low || Math.abs(high) || 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10]
    .map((times) => times * power)
    .find((size) => size >= rough);
  const first = Math.floor(low / step);
  return Array.from(
    { length: Math.ceil(high / step) - first + 1 },
    (_, index) => (first + index) * step,
  );
}

const label = (x, y, text, anchor = "middle") =>
  shape("text", { x, y, "text-anchor": anchor, text });

/** Draw a point as a button that opens its passage. */
function dot(
  x,
  y,
  index,
  subject,
  { year, edition, citation, estimate, how, ...figure },
  isRevised,
) {
  const name = [
    `${[subjectName(subject), year].filter(Boolean).join(comma)}: ${figureText(/** @type {any} */ (figure))}`,
    how,
    estimate && t("estimate"),
    edition && t("report of {year}", { year: edition }),
    t("source {number}", { number: citation }),
    isRevised && t("revised later"),
  ]
    .filter(Boolean)
    .join(comma);
  return shape(
    "g",
    {
      class: `point${isRevised ? " revised" : ""}`,
      transform: `translate(${x} ${y})`,
      role: "button",
      tabindex: -1,
      "aria-label": name,
      "data-citation": citation,
    },
    shape("title", { text: name }),
    shape("circle", { class: "target", r: 14 }),
    marker(index),
  );
}

/** Values of one chart that differ this many times are told apart by a log scale. */
const LOG_RATIO = 30;

/** Return whether the lowest lines lie on the axis, unless a log scale draws them. */
export function isWide({ kind, figures }) {
  const values = figures.map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return kind === "lines" && low > 0 && high / low >= LOG_RATIO;
}

const axisOf = ({ figures, isLog }) => {
  const values = figures.map(({ value }) => value);
  if (isLog) {
    const [low, high] = [Math.min(...values), Math.max(...values)].map(Math.log10);
    return Array.from(
      { length: Math.ceil(high) - Math.floor(low) + 1 },
      (_, index) => 10 ** (Math.floor(low) + index),
    );
  }
  return ticks(Math.min(...values), Math.max(...values));
};

/**
 * Return a note that the axis of lines does not begin at zero; "" where it does, or
 * where there is no axis.
 */
export function axisNote(chart) {
  if (chart.isLog) return t("Log scale: each line is ten times the one below.");
  const [first] = chart.kind === "lines" ? axisOf(chart) : [0];
  return first > 0
    ? t("The axis starts at {value}.", { value: amount(first, chart.unit) })
    : "";
}

/** Move names from each other, the highest first. */
function pushApart(named, height) {
  let above = TOP - LINE_GAP;
  for (const end of named) above = end.at = Math.max(end.at, above + LINE_GAP);
  let lowest = height - BOTTOM;
  for (const end of named.toReversed()) {
    end.at = Math.min(end.at, lowest);
    lowest = end.at - LINE_GAP;
  }
}

/** Return the name of a line, with its last year where others go on and it fits. */
function endName({ subject, points }, last, width) {
  const { year } = points.at(-1);
  const name = subjectName(subject);
  const dated = `${name} (${year})`;
  const isShort = year === last || labelWidth(dated, BOLD) > width;
  return isShort ? name : dated;
}

const lastYear = (series) =>
  Math.max(...series.map(({ points }) => points.at(-1).year));

/**
 * Return the names of lines, beside their ends, as labels that do not lie over each
 * other, the grey ones only where there is room. All stand behind the last year, where
 * no line runs. The sign of a line stands behind its name: beside the line it would
 * look like a figure, as a stroke to the name would.
 */
function endLabels(chart, x, y, height) {
  const last = lastYear(chart.series);
  const room = chart.ends - 2 * END_GAP;
  const named = chart.series
    .map((one, index) => ({
      name: endName(one, last, room),
      tone: one.tone ?? index,
      at: y(one.points.at(-1).value),
    }))
    .filter(({ tone }) => tone < COLOURS || chart.series.length <= MAX_LINES)
    .toSorted((one, other) => one.at - other.at);
  pushApart(named, height);
  return named.map(({ name, tone, at }) => {
    const text = fitting(name, room, BOLD);
    const sign = marker(tone);
    sign.setAttribute(
      "transform",
      `translate(${labelWidth(text, BOLD) + 1.5 * END_GAP} 0)`,
    );
    return shape(
      "g",
      { class: "end-label", transform: `translate(${x(last) + 2 * END_GAP} ${at})` },
      shape("text", { y: 4, class: `end ${seriesClass(tone)}`, text }),
      sign,
    );
  });
}

/** Return how wide the names at the ends of lines are at most, 0 where none are. */
function endsWidth({ series, hasEnds }, width) {
  const isNamed = hasEnds ?? series.length > COLOURS;
  if (!isNamed || width < MIN_ENDS_WIDTH) return 0;
  const last = lastYear(series);
  const widest = width * MAX_NAME_SHARE - 2 * END_GAP;
  const widths = series.map((one) => labelWidth(endName(one, last, widest), BOLD));
  return Math.min(Math.max(...widths), widest) + 2 * END_GAP;
}

/** Return whether lines have their names at their ends, and need no legend. */
export const hasEndNames = (chart, width) =>
  chart.kind === "lines" && endsWidth(chart, width) > 0;

function drawLines(chart, width) {
  const { unit, height = HEIGHT } = chart;
  const series = chart.series.map((one, index) => ({ tone: index, ...one }));
  const ends = endsWidth(chart, width);
  const right = RIGHT + ends;
  const points = series.flatMap((one) => one.points);
  const years = points.map(({ year }) => year);
  const [first, last] = [Math.min(...years), Math.max(...years)];
  const marks = axisOf(chart);
  const measure = chart.isLog ? Math.log10 : Number;
  const [lowest, highest] = [marks[0], marks.at(-1)].map(measure);
  const placed = scale(lowest, highest, height - BOTTOM, TOP);
  const y = (value) => placed(measure(value));
  const x = scale(first, last, LEFT + 12, width - right - 12);
  const hasValues =
    series.length === 1 && points.length * VALUE_WIDTH <= width - LEFT - right;
  const every = Math.ceil(
    (last - first + 1) / Math.max(2, Math.floor((width - LEFT - right) / LABEL_WIDTH)),
  );
  return [
    ...marks.flatMap((value) => [
      shape("line", {
        class: "grid",
        x1: LEFT,
        x2: width - right,
        y1: y(value),
        y2: y(value),
      }),
      label(LEFT - 6, y(value) + 4, amount(value, unit), "end"),
    ]),
    ...Array.from(
      { length: Math.floor((last - first) / every) + 1 },
      (_, index) => first + index * every,
    ).map((year) => label(x(year), height - 8, year)),
    ...(ends ? endLabels({ ...chart, ends }, x, y, height) : []),
    ...series.flatMap(({ subject, points: line, tone: index }) => [
      shape("path", {
        class: `line ${seriesClass(index)}`,
        ...(series.length <= MAX_LINES && seriesStyle(index)),
        d: line
          .map(
            ({ year, value }, place) =>
              `${place && year - line[place - 1].year === 1 ? "L" : "M"}${x(year)} ${y(value)}`,
          )
          .join(""),
      }),
      // A dashed line bridges missing years.
      ...line
        .slice(1)
        .map((point, place) => [line[place], point])
        .filter(([one, other]) => other.year - one.year > 1)
        .map(([one, other]) =>
          shape("path", {
            class: `line gap ${seriesClass(index)}`,
            d: `M${x(one.year)} ${y(one.value)}L${x(other.year)} ${y(other.value)}`,
          }),
        ),
      ...(chart.series.length > MAX_LINES && index >= COLOURS
        ? [] // Too many points to press: the table has them.
        : line
      ).flatMap(({ year, value, figure, revised }) => [
        ...revised.map((older) =>
          dot(x(year), y(older.value), index, subject, older, true),
        ),
        dot(x(year), y(value), index, subject, figure, false),
        ...(hasValues
          ? [
              label(
                x(year),
                y(value) - 10,
                figure.text.length <= 9 ? figureText(figure) : amount(value, unit),
              ),
            ]
          : []),
      ]),
    ]),
  ];
}

/** Return the room for the names of bars beside them; null where one is longer. */
function namesWidth({ series }, width) {
  // The fonts of a picture may be wider than those that were measured.
  const widest = Math.max(
    ...series.map(({ subject }) => labelWidth(subjectName(subject))),
  );
  const names = 2 * NAME_GAP + widest;
  return names > width * MAX_NAME_SHARE ? null : names;
}

/** Draw bars from left to right, their names beside them or, if long, above them. */
function drawBars(chart, width) {
  const { series, unit, year: shared } = chart;
  const beside = namesWidth(chart, width);
  const start = beside ?? NAME_GAP;
  const height = beside ? BAR_ROW : NAMED_BAR_ROW;
  const values = [0, ...series.map(({ points }) => points[0].value)];
  const x = scale(
    Math.min(...values),
    Math.max(...values),
    start,
    width - (shared ? 84 : 124),
  );
  return series.map(({ subject, tone = 0, points: [{ figure, value }] }, row) => {
    const y = TOP + 12 + row * height + (height - BAR_ROW);
    const [from, to] = [x(0), x(value)].toSorted((a, b) => a - b);
    const bar = dot(0, 0, 0, subject, figure, false);
    bar.querySelector(".target").replaceWith(
      shape("rect", {
        class: "target",
        x: 0,
        y: y + 14 - height + 2,
        width,
        height: height - 2,
      }),
    );
    bar.querySelector("path").replaceWith(
      shape("rect", {
        class: `bar ${seriesClass(tone)}`,
        x: from,
        y: y - 9,
        width: Math.max(1, to - from),
        height: 18,
        rx: 2,
      }),
    );
    const short = figure.text.length <= 12 ? figureText(figure) : amount(value, unit);
    const text = shared || !figure.year ? short : `${short} (${figure.year})`;
    const name = subjectName(subject);
    bar.append(
      beside
        ? label(beside - NAME_GAP, y + 4, name, "end")
        : label(start, y - 15, fitting(name, width - 2 * NAME_GAP), "start"),
      label(Math.max(to, x(0)) + 6, y + 4, text, "start"),
    );
    return bar;
  });
}

const barsHeight = (chart, width) =>
  TOP + 6 + chart.series.length * (namesWidth(chart, width) ? BAR_ROW : NAMED_BAR_ROW);

/** Draw a chart for a width. */
export function draw(chart, width, name) {
  const isBars = chart.kind === "bars";
  const height = isBars ? barsHeight(chart, width) : (chart.height ?? HEIGHT);
  return shape(
    "svg",
    {
      class: "plot",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": name,
    },
    ...(isBars ? drawBars(chart, width) : drawLines(chart, width)),
  );
}
