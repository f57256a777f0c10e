/**
 * Charts below an answer: their points open passages, a table has the figures, and both
 * can be downloaded.
 */
import { axisNote, chartsOf, draw, hasEndNames, isWide, marker } from "./charts.js";
import { whenResized, wireKeys } from "./points.js";
import { at, sendJson } from "../common/api.js";
import { element, showItems, showText } from "../common/dom.js";
import { sourceTitle, subjectName, when } from "../common/format.js";
import { nameOf } from "../common/names.js";
import { escaped } from "../common/passage.js";
import { figureText, isMoney, localText, shape } from "../common/shapes.js";
import { comma, t } from "../common/words.js";
import { addressOf } from "../explore/state.js";

const STYLES = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-family",
  "font-size",
];
const PICTURE_WIDTH = 720;
const PICTURE_SCALE = 2;
const HEAD_HEIGHT = 34;
const LINE_HEIGHT = 18;
/** Characters of small text on a line of a picture. */
const LINE_CHARACTERS = 110;

/**
 * Name what nothing else in the chart shows: a single subject, the year of bars, a unit
 * that is not on the axis.
 */
export function titleOf({ indicator, kind, year, unit, series: [first, ...others] }) {
  const title = `${others.length ? "" : `${subjectName(first.subject)}: `}${nameOf(indicator)}${kind === "bars" && year ? `, ${year}` : ""}`;
  return !unit || unit === "%" || isMoney(unit) ? title : `${title} (${t(unit)})`;
}

const COLUMNS = [
  { name: t("Subject"), of: ({ subject }) => subjectName(subject) },
  { name: t("Year"), of: ({ year }) => year ?? "" },
  {
    name: t("Figure"),
    of: ({ value }) => value,
    text: (figure) => {
      const notes = [figure.how, figure.estimate && t("estimate")].filter(Boolean);
      return `${figureText(figure)}${notes.length ? ` (${notes.join(comma)})` : ""}`;
    },
  },
  { name: t("Report of"), of: ({ edition }) => edition ?? "" },
  { name: t("Source"), of: ({ citation }) => citation },
];

function rowOf(figure) {
  const { citation, subject, year } = figure;
  const source = element("button", {
    type: "button",
    className: "citation",
    text: citation,
    "data-citation": citation,
    "aria-label": `${t("Source {number}", { number: citation })}: ${subjectName(subject)}, ${year}`,
  });
  const cells = COLUMNS.slice(0, -1).map((column) =>
    element("td", { text: String((column.text ?? column.of)(figure)) }),
  );
  return element("tr", {}, ...cells, element("td", {}, source));
}

/** Create the table of figures. Each column head sorts it, up or down. */
function tableOf(chart) {
  const body = element("tbody", {}, ...chart.figures.map(rowOf));
  const heads = COLUMNS.map((column) => {
    const button = element("button", {
      type: "button",
      className: "sort",
      text: column.name,
    });
    const head = element("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      const isDown = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      const sorted = chart.figures.toSorted((one, other) => {
        const [a, b] = [column.of(one), column.of(other)];
        return (
          (isDown ? -1 : 1) *
          (typeof a === "number" && typeof b === "number"
            ? a - b
            : String(a).localeCompare(String(b)))
        );
      });
      body.replaceChildren(...sorted.map(rowOf));
    });
    return head;
  });
  const label = t("Table: {title}", { title: titleOf(chart) });
  return element(
    "div",
    { className: "figures-table", role: "group", "aria-label": label, tabindex: "0" },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body),
  );
}

/**
 * Return the figures as CSV, with their sources. Text that a spreadsheet would take for
 * a formula is marked as text.
 */
function csvOf({ figures, indicator, unit }, sources) {
  const head = [
    "indicator",
    "subject",
    "year",
    "value",
    "unit",
    "text",
    "estimate",
    "edition",
    "report",
    "page",
    "link",
    "computed",
  ];
  const rows = figures.map(
    ({ subject, year, value, text, estimate, edition, citation, how, ...figure }) => {
      const source = sources.get(citation);
      const id = encodeURIComponent(figure.document_id);
      const link = new URL(at(`/?document=${id}`), location.href).href;
      return [
        indicator,
        subject,
        year,
        value,
        unit,
        text,
        estimate,
        edition,
        sourceTitle(source),
        source.page,
        link,
        how,
      ];
    },
  );
  return [head, ...rows]
    .map((cells) =>
      cells
        .map((value) => {
          const text =
            typeof value === "string" && /^[=+@\t\r-]/.test(value)
              ? `'${value}`
              : String(value ?? "");
          return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
        })
        .join(","),
    )
    .join("\r\n");
}

/** Return words in lines of a picture. */
function linesOf(text) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1).length + word.length < LINE_CHARACTERS)
      lines.push(`${lines.pop()} ${word}`.trim());
    else lines.push(word);
  }
  return lines;
}

const REVISED = t("Earlier editions, revised since");

/** Return whether lines show figures that later editions revised. */
const hasRevised = ({ kind, series }) =>
  kind === "lines" &&
  series.some(({ points }) => points.some(({ revised }) => revised.length));

/** Return the sign of figures that were revised, for a legend. */
const revisedSign = () => shape("g", { class: "revised" }, marker(0));

/**
 * Return the legend of a picture: each subject with its sign, in rows, and the sign of
 * figures that were revised.
 */
function legendOf(chart) {
  const { kind, series } = chart;
  let [x, y] = [8, 0];
  const isNamed = kind === "lines" && series.length > 1;
  /** @type {[string, Element][]} */
  const signs =
    isNamed && !hasEndNames(chart, PICTURE_WIDTH)
      ? series.map(({ subject }, index) => [subjectName(subject), marker(index)])
      : [];
  if (hasRevised(chart)) signs.push([REVISED, revisedSign()]);
  return signs.map(([name, sign]) => {
    const width = 34 + 7 * name.length;
    if (x + width > PICTURE_WIDTH) [x, y] = [8, y + LINE_HEIGHT];
    const entry = shape(
      "g",
      { transform: `translate(${x + 6} ${y + 10})`, "data-bottom": y + LINE_HEIGHT },
      sign,
      shape("text", { x: 12, y: 4, text: name }),
    );
    x += width;
    return entry;
  });
}

/**
 * Draw a chart for a slide: in light colours, on white, with title, legend, sources,
 * date and the styles of the page. `drawPlot` draws it for a width.
 */
function pictureOf(chart, sources, box, drawPlot) {
  const holder = element("div", { className: "figures light off-page" });
  const plot = drawPlot(PICTURE_WIDTH);
  const legend = legendOf(chart);
  const legendHeight = Number(legend.at(-1)?.getAttribute("data-bottom") ?? 0);
  const reports = [
    ...new Set(chart.figures.map(({ citation }) => sourceTitle(sources.get(citation)))),
  ];
  const notes = linesOf(
    [
      axisNote(chart),
      `${t("Sources")}: ${reports.join("; ")}.`,
      when(new Date().toISOString()),
    ]
      .filter(Boolean)
      .join(" "),
  );
  const plotHeight = Number(plot.getAttribute("height"));
  const [width, height] = [
    PICTURE_WIDTH,
    HEAD_HEIGHT + legendHeight + plotHeight + notes.length * LINE_HEIGHT + 8,
  ];
  plot.append(
    shape("g", { transform: `translate(0 ${-legendHeight - 4})` }, ...legend),
    ...notes.map((text, line) =>
      shape("text", { x: 8, y: plotHeight + (line + 1) * LINE_HEIGHT, text }),
    ),
  );
  holder.append(plot);
  box.append(holder);
  for (const node of [plot, ...plot.querySelectorAll("*")]) {
    const style = getComputedStyle(node);
    for (const name of STYLES)
      node.setAttribute(name, plainColour(style.getPropertyValue(name)));
  }
  holder.remove();
  for (const node of plot.querySelectorAll("*")) {
    for (const name of [
      "class",
      "role",
      "tabindex",
      "aria-label",
      "data-citation",
      "data-bottom",
    ])
      node.removeAttribute(name);
  }
  return shape(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
    },
    shape("rect", { width: "100%", height: "100%", fill: "#ffffff" }),
    shape("text", {
      "font-family": "sans-serif",
      fill: "#1d2024",
      x: 8,
      y: 22,
      "font-size": 16,
      "font-weight": 600,
      text: titleOf(chart),
    }),
    shape(
      "g",
      { transform: `translate(0 ${HEAD_HEIGHT + legendHeight})` },
      ...plot.childNodes,
    ),
  );
}

/** Return a mixed colour as one that programs beside browsers read, too. */
function plainColour(value) {
  if (!/^(?:ok|color)/.test(value)) return value;
  const pixel = new OffscreenCanvas(1, 1).getContext("2d");
  pixel.fillStyle = value;
  pixel.fillRect(0, 0, 1, 1);
  return `rgb(${pixel.getImageData(0, 0, 1, 1).data.slice(0, 3).join(" ")})`;
}

const urlOf = (svg) =>
  `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;

async function pngOf(svg) {
  const image = new Image();
  image.src = urlOf(svg);
  await image.decode();
  const canvas = /** @type {HTMLCanvasElement} */ (element("canvas"));
  [canvas.width, canvas.height] = [
    image.width * PICTURE_SCALE,
    image.height * PICTURE_SCALE,
  ];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

/**
 * Return the buttons that download a chart. `drawPlot` draws it for a width.
 */
export function downloads(
  chart,
  sources,
  box,
  drawPlot = (width) => draw(chart, width, titleOf(chart)),
) {
  const title = titleOf(chart);
  const kinds = {
    PNG: () => pngOf(pictureOf(chart, sources, box, drawPlot)),
    SVG: () => urlOf(pictureOf(chart, sources, box, drawPlot)),
    CSV: () =>
      `data:text/csv;charset=utf-8,${encodeURIComponent(`\ufeff${csvOf(chart, sources)}`)}`,
  };
  return Object.entries(kinds).map(([kind, urlFor]) => {
    const button = element("button", {
      type: "button",
      className: "button quiet",
      text: kind,
      "aria-label": t("{kind}: download {title}", { kind, title }),
    });
    button.addEventListener("click", async () => {
      const name = `${title}.${kind.toLowerCase()}`
        .replace(/[^\p{L}\p{N}().,-]+/gu, " ")
        .trim();
      element("a", { href: await urlFor(), download: name }).click();
    });
    return button;
  });
}

const MIN_ON_MAP = 3;

/**
 * Return the bars of a chart with all other subjects that have a figure of the same
 * kind, for a map: those of the answer are outlined in it. A page that is shared may
 * not ask for them.
 */
async function withOthers(chart) {
  const { indicator, unit, series, year } = chart;
  if (document.body.dataset.shared) return chart;
  const { columns, rows } = await sendJson("POST", "/api/figures/query", {
    indicators: [indicator],
    same_year: false,
    ...(year && { years: [year] }),
  }).catch(() => ({ columns: [], rows: [] }));
  if (columns[0]?.unit !== unit) return chart;
  const shown = new Set(series.map(({ subject }) => subject));
  const others = rows
    .filter(({ subject, cells: [cell] }) => cell && !shown.has(subject))
    .map(({ subject, cells: [cell] }) => ({
      subject,
      isOther: true,
      points: [{ value: cell.value, figure: { ...cell, unit } }],
    }));
  return {
    ...chart,
    series: [
      ...series.map((one) => ({ ...one, isChosen: others.length > 0 })),
      ...others,
    ],
  };
}

/** Return whether bars are of countries: rows and months of a sheet have no map. */
const isOnMap = ({ kind, series }, sources) =>
  kind === "bars" &&
  series.length >= MIN_ON_MAP &&
  series.some(
    ({ subject, points: [{ figure }] }) =>
      sources.get(figure.citation)?.country_name === subject,
  );

/** Offer the bars of several countries as a map, which is loaded when it is opened. */
function mapFold(chart) {
  const box = element("div");
  const fold = element(
    "details",
    { className: "figures-fold" },
    element("summary", { text: t("Map") }),
    box,
  );
  wireKeys(box);
  fold.addEventListener(
    "toggle",
    async () => {
      const [{ mapOf }, whole] = await Promise.all([
        import("./map.js"),
        withOthers(chart),
      ]);
      box.replaceChildren(
        await mapOf(whole, t("Map: {title}", { title: titleOf(chart) })),
      );
    },
    { once: true },
  );
  return fold;
}

/** Return names with their signs. */
const signList = (/** @type {[string, Element][]} */ signs) =>
  element(
    "ul",
    { className: "legend" },
    ...signs.map(([name, sign]) =>
      element(
        "li",
        {},
        shape(
          "svg",
          { viewBox: "-8 -8 16 16", width: 14, height: 14, "aria-hidden": "true" },
          sign,
        ),
        name,
      ),
    ),
  );

/** Return the subjects of lines with their signs. */
export const legendList = (series) =>
  signList(
    series.map(({ subject, tone }, index) => [
      subjectName(subject),
      marker(tone ?? index),
    ]),
  );

/** Return what a chart is called where it is not seen. */
export function labelOf(chart) {
  const kind = chart.kind === "bars" ? t("bars") : t("lines over the years");
  return `${titleOf(chart)}: ${kind}. ${t("Use the arrow keys to move between figures.")}`;
}

function figureOf(chart, sources, box, stored) {
  const { kind, series } = chart,
    title = titleOf(chart);
  const holder = element("div", { className: "plot-holder" });
  const caption = element("figcaption", {}, element("h3", { text: title }));
  const legend = legendList(series);
  if (kind === "lines" && series.length > 1) caption.append(legend);
  if (hasRevised(chart)) caption.append(signList([[REVISED, revisedSign()]]));
  whenResized(holder, (width) => {
    holder.replaceChildren(draw(chart, width, labelOf(chart)));
    legend.hidden = hasEndNames(chart, width);
  });
  wireKeys(holder);
  const note = element("p", { className: "axis-note" });
  showText(note, axisNote(chart));
  caption.append(note);
  const fold = element(
    "details",
    { className: "figures-fold" },
    element("summary", { text: t("Table") }),
    tableOf(chart),
  );
  return element(
    "figure",
    { className: "chart" },
    caption,
    holder,
    element(
      "div",
      { className: "figures-bar" },
      fold,
      ...(isOnMap(chart, sources) ? [mapFold(chart)] : []),
      element(
        "div",
        { className: "figures-files" },
        ...(isWide(chart) ? [logButton(chart, holder, note)] : []),
        ...[exploreLink(chart.figures, kind, stored)].filter(Boolean),
        pinButton(chart),
        ...downloads(chart, sources, box),
      ),
    ),
  );
}

/** Return the button that draws lines by a log scale, and back. */
function logButton(chart, holder, note) {
  const button = element("button", {
    type: "button",
    className: "button quiet",
    "aria-pressed": "false",
    text: t("Log scale"),
  });
  button.addEventListener("click", () => {
    chart.isLog = !chart.isLog;
    button.setAttribute("aria-pressed", String(chart.isLog));
    holder.replaceChildren(draw(chart, holder.clientWidth, labelOf(chart)));
    showText(note, axisNote(chart));
  });
  return button;
}

/** Return the button that adds a chart of an answer to a brief. */
const pinButton = (chart) =>
  element("button", {
    type: "button",
    className: "button quiet pin",
    "data-indicator": chart.indicator,
    "aria-label": t("Pin the chart: {title}", { title: titleOf(chart) }),
    text: t("Pin"),
  });

/**
 * Return whether the explorer can find figures by their names: among the `stored` ones,
 * or as rows of a sheet, which have their labels there. It has none that an answer
 * computed.
 */
function canExplore(figures, stored) {
  if (figures.some(({ how }) => how)) return false;
  return figures.every(({ subject, indicator }) =>
    stored.some(
      (other) =>
        (other.subject === subject && other.indicator === indicator) ||
        other.indicator === `${indicator}: ${subject}`,
    ),
  );
}

/**
 * Return a link that opens figures where one can change what is drawn of them. A page
 * that is shared with others has none, nor have figures that the explorer cannot find
 * among the `stored` ones of the answer.
 */
export function exploreLink(figures, view, stored) {
  const { shared, embedded } = document.body.dataset;
  if (shared || !canExplore(figures, stored)) return null;
  const years = figures.map(({ year }) => year).filter(Boolean);
  const isOverTime = view === "lines" && years.length;
  return element("a", {
    className: "button quiet explore-link",
    text: t("Explore"),
    href: addressOf(
      {
        indicators: [...new Set(figures.map(({ indicator }) => indicator))].slice(0, 8),
        subjects: [...new Set(figures.map(({ subject }) => subject))],
        from: isOverTime ? Math.min(...years) : null,
        to: isOverTime ? Math.max(...years) : null,
        view,
      },
      embedded !== undefined,
    ),
  });
}

/**
 * Show the charts of an answer, if any. A click on a point opens its passage in the
 * turn's own listener.
 */
export function showFigures(box, answer) {
  const sources = new Map(
    answer.citations.map((citation) => [citation.number, citation]),
  );
  showItems(
    box,
    chartsOf(answer).map((chart) =>
      figureOf(chart, sources, box, answer.figures ?? []),
    ),
  );
}

/** Return patterns of the values that a citation may stand for, longest first. */
function valuesBefore(button, said, figures) {
  if (said && button.closest("li")?.textContent.includes(said)) return [escaped(said)];
  return figures
    .filter(({ citation }) => String(citation) === button.dataset.citation)
    .flatMap(({ text }) => [escaped(text), escaped(localText(text))])
    .toSorted((one, other) => other.length - one.length);
}

/**
 * Return the first text with a value between the citation before and this one; none in
 * a quotation with bold: there the part that answers is marked already.
 */
function textWith(value, button) {
  let first = null;
  let node = (button.closest(".joined") ?? button).previousSibling;
  while (node && !(node instanceof Element && node.matches(".citation, .joined"))) {
    const isBold = node instanceof Element && node.matches("strong");
    if (isBold && node.previousSibling?.textContent.includes("“")) return null;
    if (node instanceof Text && value.test(node.data)) first = node;
    node = node.previousSibling;
  }
  return first;
}

/**
 * Make the value before each citation bold: in a quotation the one said in the sentence
 * above, else its source's first.
 */
export function emphasise(body, figures) {
  for (const button of body.querySelectorAll(".citation")) {
    const said = body.firstElementChild.querySelector("p > strong")?.textContent;
    const values = valuesBefore(button, said, figures);
    if (!values.length) continue;
    const value = new RegExp(`(?<![\\d.,])(?:${values.join("|")})(?![\\d%])`);
    const node = textWith(value, button);
    const { 0: text, index } = value.exec(node?.data ?? "") ?? {};
    if (!text) continue;
    node.splitText(index).splitText(text.length).before(element("strong", { text }));
    node.nextSibling.remove();
  }
}
