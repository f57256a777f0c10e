/**
 * A map of the world with the figures of a chart: the larger a figure, the darker its
 * country.
 */
import { getJson } from "../common/api.js";
import { element } from "../common/dom.js";
import { subjectName } from "../common/format.js";
import { figureText, readWorld, shape } from "../common/shapes.js";
import { t } from "../common/words.js";

const STEPS = 5;
const COUNTRIES = 1000;
/**
 * A degree of latitude is drawn longer than one of longitude, as maps of the world do.
 */
const STRETCH = 1.15;
const MIN_DEGREES = 40;
const MARGIN = 0.08;

/** Return the lines of the world in degrees; the file has the steps along each. */
function readLines({ step, lines }) {
  return lines.map((deltas) => {
    const points = [];
    let [longitude, latitude] = [0, 0];
    for (let at = 0; at < deltas.length; at += 2) {
      longitude += deltas[at];
      latitude += deltas[at + 1];
      points.push([longitude * step, latitude * step]);
    }
    return points;
  });
}

/**
 * Return the rings of a country as points of the drawing. Each is a row of lines, ~line
 * for one that is followed from its end. One across the date line goes on beyond the
 * edge.
 */
function ringsOf(rows, lines) {
  const rings = rows.map((row) =>
    row.flatMap((line) => (line < 0 ? lines[~line].toReversed() : lines[line])),
  );
  return rings.map((ring) =>
    ring.map(([longitude, latitude]) => [
      longitude +
        (Math.abs(longitude - ring[0][0]) > 180 ? 360 * Math.sign(ring[0][0]) : 0),
      -latitude * STRETCH,
    ]),
  );
}

const pathOf = (rings) =>
  rings
    .map(
      (ring) =>
        `M${ring.map((point) => point.map((one) => one.toFixed(2)).join(" ")).join("L")}Z`,
    )
    .join("");

/** Return the part of the world around these points. */
function viewAround(points) {
  const [[left, right], [top, bottom]] = [0, 1]
    .map((axis) => points.map((point) => point[axis]))
    .map((values) => [Math.min(...values), Math.max(...values)]);
  const [width, height] = [right - left, bottom - top].map(
    (size) => Math.max(size, MIN_DEGREES) * (1 + 2 * MARGIN),
  );
  return [(left + right - width) / 2, (top + bottom - height) / 2, width, height].join(
    " ",
  );
}

/**
 * Return how dark each value is, from 1 to `STEPS`, by its rank: one large value must
 * not make all others pale.
 */
function stepsOf(values) {
  const sorted = [...new Set(values)].toSorted((one, other) => one - other);
  return (value) => 1 + Math.floor((sorted.indexOf(value) * STEPS) / sorted.length);
}

/** Return the pattern of countries without a figure, for one map. */
const hatching = (id) =>
  shape(
    "pattern",
    {
      id,
      width: 2,
      height: 2,
      patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)",
    },
    shape("rect", { class: "hatching-ground", width: 2, height: 2 }),
    shape("line", { class: "hatching-line", y2: 2 }),
  );

/** Return the drawing of a map as a plot of a width in pixels. */
export function mapPlot(map, width) {
  const [left, top, span, rise] = map.getAttribute("viewBox").split(" ").map(Number);
  const size = width / span;
  return shape(
    "svg",
    { class: "plot map", width, height: rise * size },
    shape(
      "svg",
      { width, height: rise * size, viewBox: [left, top, span, rise].join(" ") },
      ...map.cloneNode(true).childNodes,
    ),
  );
}

const readCountries = async () =>
  (await getJson(`/api/facets?field=country_name&limit=${COUNTRIES}`)).country_name;

/**
 * Return the name of a country with a figure, and what a press of it opens.
 * @returns {{name: string, data: Record<string, any>}}
 */
const ofSource = (subject, { year, citation, ...figure }) => ({
  name: `${subjectName(subject)}, ${year}: ${figureText(/** @type {any} */ (figure))}, ${t("source {number}", { number: citation })}`,
  data: { "data-citation": citation },
});

const isOutlined = (country) => Number(country.classList.contains("chosen"));

/** Draw a country whose figure the answer does not state: it has no source to open. */
const otherCountry = (rings, { subject, figure }, step) =>
  shape(
    "g",
    {},
    shape("title", {
      text:
        [subjectName(subject), figure.year].filter(Boolean).join(", ") +
        `: ${figureText(figure)}`,
    }),
    shape("path", { d: pathOf(rings), class: `land step-${step}` }),
  );

/**
 * Draw the bars of a chart as a map. Countries that it does not know are left out.
 * `countries`: the values of the facet, with their codes; `pointOf`: the name of a
 * country and the data of its button; `lacking`: what the others are.
 * @returns {Promise<HTMLElement>}
 */
export async function mapOf(
  chart,
  label,
  {
    countries = null,
    pointOf = ofSource,
    lacking = t("No figure"),
    outlines = readWorld(),
  } = {},
) {
  const [world, known] = await Promise.all([outlines, countries ?? readCountries()]);
  const codes = new Map(known.map(({ value, code }) => [value, code]));
  const figures = new Map(
    chart.series.map(({ subject, isChosen, isOther, points: [{ figure }] }) => [
      codes.get(subject),
      { subject, figure, isChosen, isOther },
    ]),
  );
  const stepOf = stepsOf(chart.series.map(({ points: [{ value }] }) => value));
  // Each map has a pattern of its own: that of a hidden map draws nothing.
  const pattern = `hatching-${Math.random().toString(36).slice(2)}`;
  const fill = `url(#${pattern})`;
  const points = [];
  const lines = readLines(world);
  const land = world.countries.map(([id, rows]) => {
    const rings = ringsOf(rows, lines);
    const found = id && figures.get(id);
    if (!found) return shape("path", { d: pathOf(rings), class: "land none", fill });
    points.push(...rings.flat());
    const { subject, figure } = found;
    if (found.isOther) return otherCountry(rings, found, stepOf(figure.value));
    const { name, data } = pointOf(subject, figure);
    return shape(
      "g",
      {
        class: found.isChosen ? "point chosen" : "point",
        role: "button",
        tabindex: 0,
        "aria-label": name,
        ...data,
      },
      shape("title", { text: name }),
      shape("path", { d: pathOf(rings), class: `land step-${stepOf(figure.value)}` }),
    );
  });
  if (!points.length)
    return element("p", { text: t("The map has none of these countries.") });
  const sorted = chart.series
    .map(({ points: [{ figure }] }) => figure)
    .toSorted((one, other) => one.value - other.value);
  const [low, high] = [sorted[0], sorted.at(-1)];
  const key = element(
    "p",
    { className: "map-key" },
    figureText(low),
    ...Array.from({ length: STEPS }, (_, step) =>
      element("span", {
        className: `map-step step-${step + 1}`,
        "aria-hidden": "true",
      }),
    ),
    figureText(high),
    shape(
      "svg",
      {
        class: "map-none",
        viewBox: "0 0 8 8",
        width: 12,
        height: 12,
        "aria-hidden": "true",
      },
      shape("rect", { class: "land none", width: 8, height: 8, fill }),
    ),
    lacking,
  );
  return element(
    "div",
    {},
    shape(
      "svg",
      { class: "map", viewBox: viewAround(points), role: "group", "aria-label": label },
      hatching(pattern),
      // An outline lies over its neighbours.
      ...land.toSorted((one, other) => isOutlined(one) - isOutlined(other)),
    ),
    key,
  );
}
