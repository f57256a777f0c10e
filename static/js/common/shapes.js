/** Shapes, short amounts and small lines: what the first screen draws. */
import { comma, language, locale, t } from "./words.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
/** Of fewer years no line is drawn. */
export const MIN_YEARS = 3;
const measuring = document.createElement("canvas").getContext("2d");

/** Return the width of a label of a chart in pixels, in the font of `.plot`. */
export function labelWidth(text, weight = 400) {
  measuring.font = `${weight} 12px ${getComputedStyle(document.body).fontFamily}`;
  return Math.ceil(measuring.measureText(text).width);
}

/** Return a name that fits a width, cut with an ellipsis where it must be. */
export function fitting(name, width, weight = 400) {
  if (labelWidth(name, weight) <= width) return name;
  let end = name.length - 1;
  while (end > 1 && labelWidth(`${name.slice(0, end)}…`, weight) > width) end -= 1;
  return `${name.slice(0, end).trimEnd()}…`;
}

/** Read the outlines of the countries. */
export async function readWorld() {
  const response = await fetch(new URL("../../img/world.json", import.meta.url));
  return response.json();
}

/** @returns {SVGElement} */
export function shape(
  tag,
  { text, ...attributes } = /** @type {any} */ ({}),
  ...children
) {
  const node = /** @type {SVGElement} */ (document.createElementNS(NAMESPACE, tag));
  for (const [name, value] of Object.entries(attributes))
    node.setAttribute(name, String(value));
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

const compact = new Intl.NumberFormat(locale, {
  notation: "compact",
  maximumFractionDigits: 2,
});

export const isMoney = (unit) => /^\p{Sc}$/u.test(unit ?? "");

/** Return a short figure with its currency or per cent sign. */
export function amount(value, unit) {
  const [sign, number] = [value < 0 ? "-" : "", compact.format(Math.abs(value))];
  return isMoney(unit)
    ? `${sign}${unit}${number}`
    : `${sign}${number}${unit === "%" ? " %" : ""}`;
}

/** Numbers of a report that other languages than English write otherwise. */
const NUMBERS = /(?<![\d.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)(?!\d|[.,]\d)/g;

function localNumber(text) {
  const digits = text.split(".")[1]?.length ?? 0;
  return Number(text.replaceAll(",", "")).toLocaleString(locale, {
    minimumFractionDigits: digits,
  });
}

/** Words behind a number that have a translation. */
const COUNTED = /(?<=\d )(?:million|billion|trillion|times|years)\b/g;

/** Return a figure of a report as the answers in the page's language write it. */
export const localText = (text) =>
  language === "en"
    ? text
    : text.replace(NUMBERS, localNumber).replace(COUNTED, (word) => t(word));

/** Return the text of a figure as the page's language writes it. */
export function figureText({ text, value, unit }) {
  const isLong = language !== "en" && isMoney(unit) && /illion/.test(text);
  return isLong ? amount(value, unit) : localText(text);
}

export const scale = (low, high, from, to) => (value) =>
  high === low ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from);

const [SPARK_WIDTH, SPARK_HEIGHT, SPARK_EDGE] = [160, 44, 5];

/**
 * Draw how one figure went over the years, without axes; null of fewer than three
 * years.
 * @param {any[]} figures of one subject and indicator, the oldest first
 */
export function sparkline(figures) {
  if (figures.length < MIN_YEARS) return null;
  const values = figures.map(({ value }) => value);
  const last = figures.at(-1);
  const x = scale(figures[0].year, last.year, SPARK_EDGE, SPARK_WIDTH - SPARK_EDGE);
  const y = scale(
    Math.min(...values),
    Math.max(...values),
    SPARK_HEIGHT - SPARK_EDGE,
    SPARK_EDGE,
  );
  const points = figures.map((figure) => `${x(figure.year)} ${y(figure.value)}`);
  return shape(
    "svg",
    {
      class: "sparkline",
      viewBox: `0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`,
      width: SPARK_WIDTH,
      height: SPARK_HEIGHT,
      role: "img",
      "aria-label": figures
        .map((figure) => `${figure.year}: ${figureText(figure)}`)
        .join(comma),
    },
    shape("path", { class: "line series-0", d: `M${points.join("L")}` }),
    shape("circle", { class: "series-0", cx: x(last.year), cy: y(last.value), r: 3.5 }),
  );
}
