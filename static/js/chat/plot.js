/** A chart as SVG, as wide as it is shown. Colours and sizes are the style sheet's; shapes tell subjects apart, too. */
import { runs } from "./charts.js";
import { language, t } from "../common/words.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const TICKS = 4;
const [TOP, BOTTOM, LEFT, RIGHT] = [12, 28, 52, 14];
const HEIGHT = 240;
const LABEL_WIDTH = 46;
const SHAPES = [
  "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0", "M-4-4h8v8h-8z", "M0-5.5 5 4.5h-10z", "M0-6 6 0 0 6-6 0z",
  "M0 5.5-5-4.5h10z", "M-5-1.5h3.5V-5h3v3.5H5v3H1.5V5h-3V1.5H-5z",
];

/** @returns {SVGElement} */
export function shape(tag, attributes = {}, ...children) {
  const node = /** @type {SVGElement} */ (document.createElementNS(NAMESPACE, tag));
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

export const marker = (index) => shape("path", { d: SHAPES[index % SHAPES.length], class: `series-${index % SHAPES.length}` });

const compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 2 });

export const isMoney = (unit) => /^\p{Sc}$/u.test(unit ?? "");

/** A short figure with its sign of money or per cent. */
function amount(value, unit) {
  const [sign, number] = [value < 0 ? "-" : "", compact.format(Math.abs(value))];
  return isMoney(unit) ? `${sign}${unit}${number}` : `${sign}${number}${unit === "%" ? " %" : ""}`;
}

/** Round steps: 1, 2 or 5 times a power of ten. */
function ticks(low, high) {
  const rough = (high - low || Math.abs(high) || 1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough);
  const first = Math.floor(low / step);
  const last = Math.ceil(high / step);
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
}

const scale = (low, high, from, to) => (value) => (high === low ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from));

export const pointName = (subject, { year, text, edition, citation, estimate }) =>
  [`${subject}, ${year}: ${text}`, estimate && t("estimate"), edition && t("report of {year}", { year: edition }),
    t("source {number}", { number: citation })].filter(Boolean).join(", ");

/** Its button opens the passage: the reply listens for `data-citation`. */
function dot(x, y, index, subject, figure, revised) {
  const name = pointName(subject, figure) + (revised ? `, ${t("revised later")}` : "");
  const node = shape("g", {
    class: `point${revised ? " revised" : ""}`, transform: `translate(${x} ${y})`, role: "button", tabindex: -1,
    "aria-label": name, "data-citation": figure.citation,
  }, shape("title"), shape("circle", { class: "target", r: 14 }), marker(index));
  node.querySelector("title").textContent = name;
  return node;
}

function label(x, y, words, anchor = "middle") {
  const node = shape("text", { x, y, "text-anchor": anchor });
  node.textContent = words;
  return node;
}

function valueAxis(values, unit, width) {
  const marks = ticks(Math.min(...values), Math.max(...values));
  const y = scale(marks[0], marks.at(-1), HEIGHT - BOTTOM, TOP);
  const grid = marks.flatMap((value) => [
    shape("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }),
    label(LEFT - 6, y(value) + 4, amount(value, unit), "end"),
  ]);
  return { y, grid };
}

function yearLabels(first, last, x, width) {
  const step = Math.ceil((last - first + 1) / Math.max(2, Math.floor((width - LEFT - RIGHT) / LABEL_WIDTH)));
  const years = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return years.filter((year) => (year - first) % step === 0).map((year) => label(x(year), HEIGHT - 8, year));
}

function lines({ series, unit }, width) {
  const points = series.flatMap((one) => one.points);
  const values = points.flatMap(({ value, revised }) => [value, ...revised.map((figure) => figure.value)]);
  const years = points.map(({ year }) => year);
  const [first, last] = [Math.min(...years), Math.max(...years)];
  const axis = valueAxis(values, unit, width);
  const x = scale(first, last, LEFT + 12, width - RIGHT - 12);
  const drawn = series.flatMap(({ subject, points: own }, index) => [
    ...runs(own).filter((run) => run.length > 1).map((run) => shape("polyline", {
      class: `line series-${index % SHAPES.length}`, points: run.map(({ year, value }) => `${x(year)},${axis.y(value)}`).join(" "),
    })),
    ...own.flatMap(({ year, value, figure, revised }) => [
      ...revised.map((older) => dot(x(year), axis.y(older.value), index, subject, older, true)),
      dot(x(year), axis.y(value), index, subject, figure, false),
    ]),
  ]);
  return [...axis.grid, ...yearLabels(first, last, x, width), ...drawn];
}

/** From left to right: a name has the room of a line. */
function bars({ series, unit }, width) {
  const sorted = series.toSorted((one, other) => other.points[0].value - one.points[0].value);
  const names = Math.min(width * 0.34, 10 + 7.5 * Math.max(...sorted.map(({ subject }) => subject.length)));
  const values = [0, ...sorted.map(({ points }) => points[0].value)];
  const x = scale(Math.min(...values), Math.max(...values), names, width - 84);
  const drawn = sorted.flatMap(({ subject, points: [one] }, row) => {
    const y = TOP + 12 + row * 30;
    const [from, to] = [x(0), x(one.value)].toSorted((a, b) => a - b);
    const bar = dot(0, 0, 0, subject, one.figure, false);
    bar.querySelector(".target").replaceWith(shape("rect", { class: "target", x: 0, y: y - 14, width, height: 28 }));
    bar.querySelector("path").replaceWith(shape("rect", {
      class: "bar series-0", x: from, y: y - 9, width: Math.max(1, to - from), height: 18, rx: 2,
    }));
    bar.append(label(names - 8, y + 4, subject, "end"), label(Math.max(to, x(0)) + 6, y + 4, shortText(one.figure, unit), "start"));
    return [bar];
  });
  return { drawn, height: TOP + sorted.length * 30 + 6 };
}

const shortText = ({ text: words, value }, unit) => (words.length <= 12 ? words : amount(value, unit));

/** Drawn anew for another width. */
export function draw(chart, width, name) {
  const bar = chart.kind === "bars" ? bars(chart, width) : null;
  const height = bar?.height ?? HEIGHT;
  return shape("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": name },
    ...(bar?.drawn ?? lines(chart, width)));
}
