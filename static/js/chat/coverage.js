/**
 * A table of countries and years with their numbers of reports. Its cells, rows and
 * columns choose the scope.
 */
import { scope } from "./scope.js";
import { getJson } from "../common/api.js";
import { all, element } from "../common/dom.js";
import { valueLabel } from "../common/format.js";
import { t } from "../common/words.js";

const NO_COUNTRY = t("No country");
const right = document.dir === "rtl" ? -1 : 1;
const STEPS = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -right],
  ArrowRight: [0, right],
};

const button = (text, label, values) =>
  element("button", {
    type: "button",
    text,
    "aria-label": label,
    "aria-pressed": "false",
    tabindex: "-1",
    "data-values": JSON.stringify(values),
  });

function tableOf(cells) {
  const dated = cells.filter(({ year }) => year !== null);
  const years = [...new Set(dated.map(({ year }) => year))].sort(
    (one, other) => one - other,
  );
  // Reports without a country come last.
  const countries = [...new Set(dated.map(({ country_name: name }) => name))].sort(
    (one, other) =>
      Number(one === null) - Number(other === null) ||
      String(one).localeCompare(String(other)),
  );
  const counts = new Map(
    dated.map(({ country_name: name, year, documents }) => [
      `${name}|${year}`,
      documents,
    ]),
  );
  const head = element(
    "tr",
    {},
    element("th", { scope: "col", text: t("Country") }),
    ...years.map((year) =>
      element(
        "th",
        { scope: "col" },
        button(String(year), t("All reports of {year}", { year }), { year }),
      ),
    ),
  );
  const rows = countries.map((country) =>
    element(
      "tr",
      {},
      element(
        "th",
        { scope: "row" },
        country === null
          ? element("span", { className: "none", text: NO_COUNTRY })
          : button(country, t("All reports on {country}", { country }), {
              country_name: country,
            }),
      ),
      ...years.map((year) => {
        const documents = counts.get(`${country}|${year}`);
        if (!documents) return element("td", { className: "none", text: "–" });
        const values = country === null ? { year } : { country_name: country, year };
        return element(
          "td",
          {},
          button(
            String(documents),
            `${country ?? NO_COUNTRY}, ${year}: ${documents}`,
            values,
          ),
        );
      }),
    ),
  );
  return element(
    "table",
    {},
    element("thead", {}, head),
    element("tbody", {}, ...rows),
  );
}

const buttonsOf = (box) => all(box, "button");
const valuesOf = ({ dataset }) => Object.entries(JSON.parse(dataset.values));

function markChosen(box) {
  for (const one of buttonsOf(box)) {
    one.setAttribute(
      "aria-pressed",
      String(valuesOf(one).every(([field, value]) => scope.has(field, value))),
    );
  }
}

/** Tab reaches one button of the table, the arrow keys the others. */
const setStop = (box, stop) =>
  buttonsOf(box).forEach((one) => {
    one.tabIndex = one === stop ? 0 : -1;
  });

function onKey(box, event) {
  const step = STEPS[event.key];
  const cell = event.target.closest("td, th");
  if (!step || !cell) return;
  event.preventDefault();
  const rows = [...box.querySelectorAll("tr")];
  let [row, column] = [rows.indexOf(cell.parentElement), cell.cellIndex];
  let next;
  do {
    [row, column] = [row + step[0], column + step[1]];
    if (!rows[row]?.cells[column]) return;
    next = rows[row].cells[column].querySelector("button");
  } while (!next);
  setStop(box, next);
  next.focus();
}

/** Load the table of all reports, or of one type. */
async function load(box, type) {
  const { cells } = await getJson(
    `/api/coverage${type ? `?${new URLSearchParams({ type })}` : ""}`,
  );
  box.replaceChildren(tableOf(cells));
  setStop(box, buttonsOf(box)[0]);
  markChosen(box);
}

export async function showCoverage(box) {
  box.addEventListener("click", ({ target }) => {
    const one = target.closest("button");
    if (!one) return;
    const isChosen = one.getAttribute("aria-pressed") !== "true";
    for (const [field, value] of valuesOf(one)) scope.toggle(field, value, isChosen);
  });
  box.addEventListener("keydown", (event) => onKey(box, event));
  scope.addEventListener("change", () => markChosen(box));
  const [facets] = await Promise.all([
    getJson("/api/facets?field=type"),
    load(box, ""),
  ]);
  const types = facets.type.map(({ value }) => value).filter(Boolean);
  if (types.length < 2) return;
  const buttons = ["", ...types].map((type) => {
    const text = type ? valueLabel("type", type) : t("All types");
    const one = element("button", {
      type: "button",
      text,
      "aria-pressed": String(!type),
    });
    one.addEventListener("click", () => {
      for (const other of buttons)
        other.setAttribute("aria-pressed", String(other === one));
      load(box, type);
    });
    return one;
  });
  box.before(
    element(
      "div",
      { className: "coverage-types", role: "group", "aria-label": t("Report type") },
      ...buttons,
    ),
  );
}
