/** What there is: a table of countries and editions, whose cells, rows and columns choose the scope. */
import { getJson } from "../common/api.js";
import { element } from "../common/dom.js";
import { valueLabel } from "../common/format.js";
import { t } from "../common/words.js";

const NONE = t("No country");
/** Of a wide table one cell is reached by Tab, the others from there by the arrow keys. */
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function button(text, label, values) {
  const made = element("button", { type: "button", text, "aria-label": label, "aria-pressed": "false", tabindex: "-1" });
  made.dataset.values = JSON.stringify(values);
  return made;
}

function tableOf(cells) {
  const known = cells.filter(({ year }) => year !== null);
  const years = [...new Set(known.map(({ year }) => year))].sort((one, other) => one - other);
  const countries = [...new Set(known.map(({ country_name: name }) => name))]
    .sort((one, other) => Number(one === null) - Number(other === null) || String(one).localeCompare(String(other)));
  const count = new Map(known.map(({ country_name: name, year, documents }) => [`${name}|${year}`, documents]));
  const head = element("tr", {}, element("th", { scope: "col", text: t("Country") }), ...years.map((year) =>
    element("th", { scope: "col" }, button(String(year), t("All reports of {year}", { year }), { year }))));
  const rows = countries.map((country) => element("tr", {},
    element("th", { scope: "row" }, country === null ? element("span", { className: "none", text: NONE })
      : button(country, t("All reports on {country}", { country }), { country_name: country })),
    ...years.map((year) => {
      const documents = count.get(`${country}|${year}`);
      if (!documents) return element("td", { className: "none", text: "–" });
      const values = country === null ? { year } : { country_name: country, year };
      return element("td", {}, button(String(documents), `${country ?? NONE}, ${year}: ${documents}`, values));
    })));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

const buttons = (box) => /** @type {HTMLElement[]} */ ([...box.querySelectorAll("button")]);
const valuesOf = (one) => Object.entries(JSON.parse(one.dataset.values));

function mark(box, scope) {
  for (const one of buttons(box)) {
    const chosen = valuesOf(one);
    const isCell = one.closest("td") !== null;
    const isMeant = chosen.every(([field, value]) => scope.has(field, value));
    one.setAttribute("aria-pressed", String(isMeant && (isCell || chosen.length === 1)));
  }
}

function move(box, event) {
  const step = STEPS[event.key];
  const cell = event.target.closest("td, th");
  if (!step || !cell) return;
  event.preventDefault();
  const rows = [...box.querySelectorAll("tr")];
  let [row, column] = [rows.indexOf(cell.parentElement), cell.cellIndex];
  for (;;) {
    row += step[0];
    column += step[1];
    const next = rows[row]?.cells[column];
    if (!next) return;
    const inside = next.querySelector("button");
    if (inside) return stop(box, inside).focus();
  }
}

function stop(box, wanted) {
  for (const one of buttons(box)) one.tabIndex = one === wanted ? 0 : -1;
  return wanted;
}

/** Of all reports, or of one type. */
async function load(box, scope, type) {
  const { cells } = await getJson(`/api/coverage${type ? `?${new URLSearchParams({ type })}` : ""}`);
  box.replaceChildren(tableOf(cells));
  if (buttons(box).length) stop(box, buttons(box)[0]);
  mark(box, scope);
}

function typeButtons(types, onChoose) {
  const made = ["", ...types].map((type) => {
    const text = type ? valueLabel("type", type) : t("All types");
    const one = element("button", { type: "button", text, "aria-pressed": String(!type) });
    one.addEventListener("click", () => {
      for (const other of made) other.setAttribute("aria-pressed", String(other === one));
      onChoose(type);
    });
    return one;
  });
  return element("div", { className: "coverage-types", role: "group", "aria-label": t("Type of report") }, ...made);
}

/** In a fold, when it is opened first. */
export async function showCoverage(box, scope) {
  box.addEventListener("click", ({ target }) => {
    const one = target.closest("button");
    if (!one) return;
    const wanted = one.getAttribute("aria-pressed") !== "true";
    for (const [field, value] of valuesOf(one)) scope.toggle(field, value, wanted);
  });
  box.addEventListener("keydown", (event) => move(box, event));
  scope.addEventListener("change", () => mark(box, scope));
  const [facets] = await Promise.all([getJson("/api/facets?field=type"), load(box, scope, "")]);
  const types = facets.type.map(({ value }) => value).filter(Boolean);
  if (types.length > 1) box.before(typeButtons(types, (type) => load(box, scope, type)));
}
