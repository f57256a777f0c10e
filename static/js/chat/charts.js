/** From the figures of an answer to what can be drawn of them: lines over years, or bars of one year. */

const MOST_LINES = 6;
const MOST_BARS = 12;
const LEAST_YEARS = 3;
const MOST_CHARTS = 3;

/** Of one thing in one year: the figure of the newest edition, and behind it what older ones said otherwise. */
function point(figures) {
  const sorted = figures.toSorted((one, other) => (other.edition ?? 0) - (one.edition ?? 0));
  const [figure, ...older] = sorted;
  return { figure, year: figure.year, value: figure.value, revised: older.filter(({ value }) => value !== figure.value) };
}

function grouped(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

function seriesOf(figures) {
  return [...grouped(figures, ({ subject }) => subject)].map(([subject, own]) => ({
    subject,
    points: [...grouped(own, ({ year }) => year).values()].map(point).toSorted((one, other) => one.year - other.year),
  }));
}

/** One subject's lines may lack years: no line is drawn across a gap. */
export const runs = (points) => points.reduce((found, one) => {
  const last = found.at(-1)?.at(-1);
  if (last && one.year - last.year === 1) found.at(-1).push(one);
  else found.push([one]);
  return found;
}, []);

function bars(series) {
  const years = [...new Set(series.flatMap(({ points }) => points.map(({ year }) => year)))];
  const in_ = (year) => series.filter(({ points }) => points.some((one) => one.year === year));
  const [year] = years.toSorted((one, other) => in_(other).length - in_(one).length || other - one);
  const found = in_(year).map(({ subject, points }) => ({ subject, points: points.filter((one) => one.year === year) }));
  return found.length > 1 && found.length <= MOST_BARS ? { kind: "bars", year, series: found } : null;
}

function chartOf(figures) {
  const series = seriesOf(figures);
  const { indicator, unit } = figures[0];
  const isLine = series.length <= MOST_LINES && series.some(({ points }) => points.length >= LEAST_YEARS);
  const chart = isLine ? { kind: "lines", series } : bars(series);
  return chart && { ...chart, indicator, unit, figures: chart.series.flatMap(({ points }) =>
    points.flatMap(({ figure, revised }) => [figure, ...revised])) };
}

/** Only of figures that have a year and whose source bears what the answer says of it; the fullest first. */
export function chartsOf({ figures = [], citations }) {
  const borne = new Set(citations.filter(({ supported }) => supported !== false).map(({ number }) => number));
  const usable = figures.filter(({ year, citation, subject }) => year !== null && subject && borne.has(citation));
  const charts = [...grouped(usable, ({ indicator, unit }) => `${indicator}\n${unit}`).values()].map(chartOf).filter(Boolean);
  return charts.toSorted((one, other) => other.figures.length - one.figures.length).slice(0, MOST_CHARTS);
}
