/**
 * The page before the first question: a map of what is inside, or its collections and
 * series; the newest report; and three small answers of this library. A tap asks.
 */
import { at, getJson, getReadiness, sendJson } from "../common/api.js";
import { byId, element, showItems, showText } from "../common/dom.js";
import { subjectName, valueLabel, when } from "../common/format.js";
import {
  amount,
  figureText,
  fitting,
  labelWidth,
  readWorld,
  shape,
  sparkline,
} from "../common/shapes.js";
import { comma, count, language, t } from "../common/words.js";

const isBeside = matchMedia("(min-width: 70rem)");
/** A page that takes longer comes by a slow connection. */
const SLOW_MS = 2000;
const CARDS = 3;
const COMPARED = 3;
export const RANKED = 5;
/** Of a bar of a card, in pixels: its line, its name, all of it. */
const [LINE, NAME, WIDTH] = [24, 104, 300];
/** The gap before a value beside its bar, and the most that it may take, in pixels. */
const [GAP, MAX_VALUE] = [6, 110];
const MAX_CANDIDATES = 30;
const MAX_TRIES = 8;
const MAX_LISTED = 12;
/** Characters of a value beside its bar. */
const MAX_TEXT = 9;

/** Return a question about an indicator of some countries. */
export function questionOf(kind, name, countries, separator = ", ") {
  const names = { name, country: countries[0], last: countries.at(-1) };
  return byId("examples").dataset[kind].replace(
    /\{(\w+)\}/g,
    (_, word) => names[word] ?? countries.slice(0, -1).join(separator),
  );
}

/**
 * Return a question in the page's language and "", where the glossary has the
 * indicator in it; else in English, as the headings of the library are, and "en".
 */
export function localQuestion(kind, { name, local_name: local }, countries, names) {
  if (!local || language === "en")
    return [questionOf(kind, spoken(name, names), countries), "en"];
  const text = local[0].toUpperCase() + local.slice(1);
  const key = `local${kind[0].toUpperCase()}${kind.slice(1)}`;
  return [questionOf(key, text, countries.map(subjectName), comma), ""];
}

const query = (name, fields) =>
  sendJson("POST", "/api/figures/query", { indicators: [name], language, ...fields });

/** Return the rows of a table with a figure in its first column. */
const rowsOf = ({ columns, rows }) =>
  rows
    .filter(({ cells: [cell] }) => cell)
    .map(({ subject, cells: [cell] }) => ({ subject, unit: columns[0].unit, ...cell }));

/** Return what a question calls an indicator: without what only explains it. */
export function spoken(name, names) {
  const short = name.replace(/\s*\([^()]*\)$/, "");
  const isClear = !names.some((other) => other !== name && other.startsWith(short));
  const text = isClear ? short : name;
  return /^\p{Lu}\p{Ll}/u.test(text) ? text[0].toLowerCase() + text.slice(1) : text;
}

/** Draw figures as bars of one card: nothing in it can be pressed by itself. */
function bars(rows) {
  const values = rows.map(({ value }) => value);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  // The same amount is twice as wide in one language as in another.
  const texts = rows.map((row) =>
    row.text.length > MAX_TEXT ? amount(row.value, row.unit) : figureText(row),
  );
  const room = Math.min(
    MAX_VALUE,
    Math.max(...texts.map((text) => labelWidth(text))) + 2 * GAP,
  );
  const size = (WIDTH - NAME - room) / (high - low || 1);
  return shape(
    "svg",
    {
      class: "plot",
      viewBox: `0 0 ${WIDTH} ${rows.length * LINE}`,
      "aria-hidden": "true",
    },
    ...rows.flatMap(({ subject, value }, row) => {
      const [from, to] = [Math.min(0, value), Math.max(0, value)];
      const y = row * LINE;
      const end = NAME + (to - low) * size;
      return [
        shape("text", {
          x: NAME - 8,
          y: y + 16,
          "text-anchor": "end",
          text: fitting(subjectName(subject), NAME - 8),
        }),
        shape("rect", {
          class: "bar series-0",
          x: NAME + (from - low) * size,
          y: y + 4,
          width: Math.max(1, (to - from) * size),
          height: LINE - 8,
          rx: 2,
        }),
        shape("text", { x: end + GAP, y: y + 16, text: fitting(texts[row], room) }),
      ];
    }),
  );
}

const yearsOf = (rows) =>
  [...new Set(rows.map(({ year }) => year).filter(Boolean))].toSorted().join("–");

function valueParts(figure, course) {
  const { year, estimate } = figure;
  return [
    element(
      "span",
      { className: "card-value" },
      element("bdi", { text: figureText(figure) }),
    ),
    element("span", {
      className: "card-note",
      text: [year, estimate && t("estimate")].filter(Boolean).join(comma),
    }),
    ...[sparkline(course)].filter(Boolean),
  ];
}

/** What each kind of card shows; null where the library has no such answer. */
const CARD_PARTS = {
  async value(name, subjects) {
    const { rows } = await query(name, { subjects, every_year: true });
    const course = rows[0]?.cells.filter((cell) => cell?.year) ?? [];
    return course.length ? valueParts(course.at(-1), course) : null;
  },
  async ranking(name) {
    const rows = rowsOf(await query(name, { steps: [{ op: "rank", most: RANKED }] }));
    if (rows.length < RANKED || rows.some(({ year }) => !year)) return null;
    return [
      bars(rows),
      element("span", { className: "card-note", text: yearsOf(rows) }),
    ];
  },
  async comparison(name, subjects) {
    const rows = rowsOf(await query(name, { subjects }));
    if (rows.length < subjects.length || rows.some(({ year }) => !year)) return null;
    return [
      bars(rows),
      element("span", { className: "card-note", text: yearsOf(rows) }),
    ];
  },
};

const card = (question, parts, indicator = "", lang = "") =>
  element(
    "li",
    {},
    element(
      "button",
      {
        type: "button",
        className: "example",
        "data-example": question,
        "data-indicator": indicator,
      },
      element("span", {
        className: "example-question",
        text: question,
        ...(lang && { lang }),
        dir: "auto",
      }),
      ...parts,
    ),
  );

/** Return the kinds of cards for so many countries, and whom each is about. */
function plansOf(countries) {
  const [first, ...others] = countries;
  if (!first) return [];
  if (!others.length) return Array.from({ length: CARDS }, () => ["value", [first]]);
  const compared = others.length < COMPARED ? countries : others;
  return [
    ["value", [first]],
    ...(countries.length > RANKED ? [["ranking", []]] : []),
    ["comparison", compared.slice(0, COMPARED)],
  ];
}

/**
 * Make the cards from the indicators that people ask for most, each of another one. All
 * are asked for at once: on a slow connection each wait is half a second.
 */
async function figureCards(countries) {
  const { indicators } = await getJson(`/api/indicators?limit=${MAX_CANDIDATES}`);
  const names = indicators.map(({ name }) => name);
  const candidates = indicators.filter(({ name }) => !name.includes(": "));
  let tries = 0;
  const cards = await Promise.all(
    plansOf(countries).map(async ([kind, subjects]) => {
      while (candidates.length && tries < MAX_TRIES) {
        tries += 1;
        const indicator = candidates.shift();
        const { name } = indicator;
        const parts = await CARD_PARTS[kind](name, subjects).catch(() => null);
        const [question, lang] = localQuestion(kind, indicator, subjects, names);
        if (parts) return card(question, parts, name, lang);
      }
      return null;
    }),
  );
  return cards.filter(Boolean);
}

/**
 * Ask what some reports are about, where no figures make a question. While reports are
 * being indexed nobody knows which of them can answer: the cards come afterwards.
 */
async function titleCards(facets) {
  const state = await getReadiness();
  if (state?.ingesting) return [];
  return (facets.document_name ?? []).slice(0, CARDS).map(({ value }) => {
    const question = t("What is “{title}” about?", { title: value });
    return card(question, []);
  });
}

async function showCards(facets, countries) {
  const byReports = countries.toSorted((one, other) => other.documents - one.documents);
  const names = byReports.map(({ value }) => value);
  const most = names.length ? CARDS - 1 : CARDS;
  const [own, others] = await Promise.all([
    facets.own?.length
      ? import("./own_cards.js").then((cards) => cards.ownAnswers(facets.own, most))
      : [],
    figureCards(names).catch(() => []),
  ]);
  const cards = [
    ...own.map(({ title, column, columns, rows, course }) =>
      card(
        questionOf("highest", spoken(column, columns), [title]),
        course ? valueParts(rows[0], course) : [bars(rows.slice(0, RANKED))],
        "",
        "en",
      ),
    ),
    ...others,
  ].slice(0, CARDS);
  showItems(byId("examples"), cards.length ? cards : await titleCards(facets));
}

/** Fetch what draws the map, and the outlines that it draws. */
const fetchMap = () =>
  Promise.all([import("./map.js"), import("./points.js"), readWorld()]);

/**
 * Draw the countries by their reports; a tap asks for the overview. `fetched`: what
 * `fetchMap` gives, where it was begun before.
 */
async function showMap(countries, fetched) {
  const series = countries
    .map(({ value: subject, documents: value }) => {
      const figure = { value, text: count(value, "report") };
      return { subject, points: [{ figure, value }] };
    })
    .toSorted((one, other) => other.points[0].value - one.points[0].value);
  const [{ mapOf }, { wireKeys }, outlines] = await (fetched ?? fetchMap());
  const map = await mapOf({ series }, t("Reports by country"), {
    countries,
    pointOf: (subject, { text }) => ({
      name: `${subjectName(subject)}: ${text}`,
      data: { "data-example": questionOf("overview", "", [subject]) },
    }),
    lacking: t("No report"),
    outlines,
  });
  const points = map.querySelectorAll(".point");
  const inside = byId("inside");
  inside.classList.remove("awaited");
  inside.hidden = !points.length;
  for (const point of [...points].slice(1)) point.setAttribute("tabindex", "-1");
  wireKeys(map);
  inside.replaceChildren(map);
}

/** Keep the room of the map, and draw it when a person comes near it. */
function awaitMap(countries, fetched) {
  const inside = byId("inside");
  inside.hidden = false;
  inside.classList.add("awaited");
  new IntersectionObserver(([{ isIntersecting }], observer) => {
    if (!isIntersecting) return;
    observer.disconnect();
    showMap(countries, fetched).catch(() => {
      inside.hidden = true;
    });
  }).observe(inside);
}

/** List the collections and series of a library without countries, as scopes. */
function showGroups(facets) {
  const links = [
    ...(facets.collections ?? []).map(({ value, documents }) => [
      "collections",
      value,
      value,
      documents,
    ]),
    ...(facets.type ?? [])
      .filter(({ value }) => value)
      .map(({ value, documents }) => [
        "type",
        value,
        valueLabel("type", value),
        documents,
      ]),
  ];
  const items = links.slice(0, MAX_LISTED).map(([field, value, label, documents]) =>
    element(
      "li",
      {},
      element("a", {
        className: "chip-link",
        href: at(`/collection?${new URLSearchParams([[field, value]])}`),
        text: `${label} · ${count(documents, "report")}`,
      }),
    ),
  );
  const list = element("ul", { className: "inside-groups", role: "list" }, ...items);
  byId("inside").replaceChildren(list);
  byId("inside").hidden = items.length < 2;
}

/**
 * Name the newest report by its publisher and its own date, which its title may have;
 * else the one that was added last.
 */
function newestLine({ title, publisher, date, added }) {
  const origin = (/** @type {string} */ day) =>
    [publisher, day].filter(Boolean).join(comma);
  if (!date)
    return t("Added last: {title}, {date}", { title, date: origin(when(added)) });
  const isDated = title.includes(date);
  if (isDated && !publisher) return t("Newest report: {title}", { title });
  const day = /^[\d-]{4,7}$/.test(date) ? date : when(date);
  return t("Newest report: {title}, {date}", {
    title,
    date: origin(isDated ? "" : day),
  });
}

/** @param {any} facets of the whole library */
export async function showFirst(facets) {
  // The same library is shown once, however often its reports are counted.
  const shown = byId("newest").dataset;
  const documents = `${facets.documents || ""}`;
  if (!documents || shown.documents === documents) return;
  shown.documents = documents;
  const countries = (facets.country_name ?? []).filter(({ value }) => value);
  showText(byId("newest"), facets.newest ? newestLine(facets.newest) : "");
  const cards = showCards(facets, countries);
  const { connection } = /** @type {any} */ (navigator);
  if (countries.length < 2) showGroups(facets);
  // Nobody's data is spent on a picture who saves them.
  else if (!connection?.saveData) {
    // Where the map stands below the cards, these make the room first; beside them it
    // is on its way with what they show, and drawn after them.
    const fetched = isBeside.matches ? fetchMap() : null;
    fetched?.catch(() => {});
    if (!isBeside.matches || performance.now() > SLOW_MS) await cards;
    awaitMap(countries, fetched);
  }
}
