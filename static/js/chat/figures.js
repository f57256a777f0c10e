/** The figures of an answer, drawn: charts whose points open their passages, the table behind each, and files of both. */
import { chartsOf } from "./charts.js";
import { draw, isMoney, marker, shape } from "./plot.js";
import { element } from "../common/dom.js";
import { t } from "../common/words.js";

const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size"];
const PICTURE_SCALE = 2;
const HEAD = 34;

const isOnAxis = (unit) => !unit || unit === "%" || isMoney(unit);

/** Names what nothing else beside it does: the one country that is drawn, the year of bars, the unit. */
function title({ indicator, kind, year, unit, series: [one, ...others] }) {
  const what = `${others.length ? "" : `${one.subject}: `}${indicator}${kind === "bars" ? `, ${year}` : ""}`;
  return isOnAxis(unit) ? what : `${what} (${unit})`;
}

function save(url, name) {
  element("a", { href: url, download: name.replace(/[^\p{L}\p{N}().,-]+/gu, " ").trim() }).click();
}

const COLUMNS = [
  { name: t("Subject"), of: ({ subject }) => subject },
  { name: t("Year"), of: ({ year }) => year },
  { name: t("Figure"), of: ({ value }) => value, text: ({ text, estimate }) => `${text}${estimate ? ` (${t("estimate")})` : ""}` },
  { name: t("Report of"), of: ({ edition }) => edition ?? "" },
  { name: t("Source"), of: ({ citation }) => citation },
];

/** A text that a spreadsheet would take for a formula is marked as text. */
function quoted(value) {
  const text = typeof value === "string" && /^[=+@\t\r-]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Values as numbers, with their unit in a column of its own. */
function csv({ figures, indicator, unit }) {
  const head = ["indicator", "subject", "year", "value", "unit", "text", "edition", "source"];
  const rows = figures.map(({ subject, year, value, text, edition, citation }) =>
    [indicator, subject, year, value, unit, text, edition ?? "", citation]);
  return [head, ...rows].map((cells) => cells.map((value) => quoted(value ?? "")).join(",")).join("\r\n");
}

function row(one) {
  const source = element("button", {
    type: "button", className: "citation", text: one.citation, "data-citation": one.citation,
    "aria-label": `${t("Source {number}", { number: one.citation })}: ${one.subject}, ${one.year}`,
  });
  const cells = COLUMNS.slice(0, -1).map((column) => element("td", { text: String((column.text ?? column.of)(one)) }));
  return element("tr", {}, ...cells, element("td", {}, source));
}

/** Sorted by its heads, once up and once down. */
function table(chart) {
  const body = element("tbody", {}, ...chart.figures.map(row));
  const heads = COLUMNS.map((column) => {
    const button = element("button", { type: "button", className: "sort", text: column.name });
    const head = element("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sorted = chart.figures.toSorted((one, other) => {
        const [a, b] = [column.of(one), column.of(other)];
        return (down ? -1 : 1) * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
      });
      body.replaceChildren(...sorted.map(row));
    });
    return head;
  });
  const label = t("Table: {title}", { title: title(chart) });
  return element("div", { className: "figures-table", role: "region", "aria-label": label, tabindex: "0" },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body));
}

function legend({ kind, series }) {
  if (kind === "bars" || series.length < 2) return [];
  return [element("ul", { className: "legend" }, ...series.map(({ subject }, index) =>
    element("li", {}, shape("svg", { viewBox: "-8 -8 16 16", width: 14, height: 14, "aria-hidden": "true" }, marker(index)), subject)))];
}

/** With its title and the styles of the page in it, on white: for a slide. */
function standalone(plot, chart) {
  const copy = /** @type {SVGElement} */ (plot.cloneNode(true));
  const originals = [plot, ...plot.querySelectorAll("*")];
  for (const [place, node] of [copy, ...copy.querySelectorAll("*")].entries()) {
    const style = getComputedStyle(originals[place]);
    for (const name of STYLED) node.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "role", "tabindex", "aria-label", "data-citation"]) node.removeAttribute(name);
  }
  const { width, height } = plot.viewBox.baseVal;
  const ink = { "font-family": "sans-serif", fill: "#1d2024" };
  const head = shape("text", { ...ink, x: 8, y: 22, "font-size": 16, "font-weight": 600 });
  const lines = chart.kind === "lines" && chart.series.length > 1 ? chart.series : [];
  head.textContent = [title(chart), lines.map(({ subject }) => subject).join(", ")].filter(Boolean).join(": ");
  const body = shape("g", { transform: `translate(0 ${HEAD})` }, ...copy.childNodes);
  return shape("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height + HEAD}`, width, height: height + HEAD },
    shape("rect", { width: "100%", height: "100%", fill: "#ffffff" }), head, body);
}

const asUrl = (svg) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;

/** Drawn in light colours, whatever the theme is. */
function picture(chart, box) {
  const holder = element("div", { className: "figures light off-page" });
  const plot = draw(chart, 720, title(chart));
  holder.append(plot);
  box.append(holder);
  const made = standalone(plot, chart);
  holder.remove();
  return made;
}

async function savePng(svg, name) {
  const image = new Image();
  image.src = asUrl(svg);
  await image.decode();
  const canvas = /** @type {HTMLCanvasElement} */ (element("canvas"));
  [canvas.width, canvas.height] = [image.width * PICTURE_SCALE, image.height * PICTURE_SCALE];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), name);
}

function files(chart, box) {
  const kinds = {
    PNG: () => savePng(picture(chart, box), `${title(chart)}.png`),
    SVG: () => save(asUrl(picture(chart, box)), `${title(chart)}.svg`),
    CSV: () => save(`data:text/csv;charset=utf-8,${encodeURIComponent(`\ufeff${csv(chart)}`)}`, `${title(chart)}.csv`),
  };
  return element("div", { className: "figures-files" }, ...Object.entries(kinds).map(([kind, act]) => {
    const button = element("button", { type: "button", className: "button quiet", text: kind,
      "aria-label": t("{kind}: download {title}", { kind, title: title(chart) }) });
    button.addEventListener("click", act);
    return button;
  }));
}

/** One stop for Tab; the arrows go from point to point, Enter opens its passage. */
function wireKeys(holder) {
  const points = () => [...holder.querySelectorAll(".point")];
  const stopAt = (chosen) => {
    for (const one of points()) one.setAttribute("tabindex", one === chosen ? "0" : "-1");
  };
  holder.addEventListener("focusin", ({ target }) => target.closest(".point") && stopAt(target.closest(".point")));
  holder.addEventListener("keydown", (event) => {
    const all = points();
    const place = all.indexOf(event.target.closest(".point"));
    if (place < 0) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) all[(place + step + all.length) % all.length].focus();
    else if (event.key === "Enter" || event.key === " ") all[place].dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else return;
    event.preventDefault();
  });
}

function figure(chart, box) {
  const holder = element("div", { className: "plot-holder" });
  const kind = chart.kind === "bars" ? t("bars") : t("lines over the years");
  const label = `${title(chart)}: ${kind}. ${t("The arrows go from figure to figure.")}`;
  let width = 0;
  const redraw = () => {
    const now = Math.round(holder.clientWidth);
    if (!now || now === width) return;
    width = now;
    holder.replaceChildren(draw(chart, width, label));
    holder.querySelector(".point")?.setAttribute("tabindex", "0");
  };
  new ResizeObserver(redraw).observe(holder);
  wireKeys(holder);
  const fold = element("details", { className: "figures-fold" }, element("summary", { text: t("Table") }), table(chart));
  return element("figure", { className: "chart" },
    element("figcaption", {}, element("h3", { text: title(chart) }), ...legend(chart)), holder,
    element("div", { className: "figures-bar" }, fold, files(chart, box)));
}

/** Nothing where nothing can be drawn. The reply's own listener opens what is clicked. */
export function showFigures(box, answer) {
  const charts = chartsOf(answer);
  box.hidden = charts.length === 0;
  box.replaceChildren(...charts.map((chart) => figure(chart, box)));
}
