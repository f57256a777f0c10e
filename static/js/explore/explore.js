/**
 * The explorer: figures of any indicators and subjects as lines, bars, a map or a
 * table. Its state is its address.
 */
import { figuresOf, shownOf } from "./drawing.js";
import { addressOf, queryOf, readState, VIEWS, yearsOf } from "./state.js";
import { wireCopy } from "../chat/copy.js";
import { at, getJson, request, sendJson } from "../common/api.js";
import { all, announce, byId, element, showError, showItems } from "../common/dom.js";
import { pageName, sourceTitle, when } from "../common/format.js";
import { nameOf } from "../common/names.js";
import { language, t } from "../common/words.js";

const isEmbedded = "embedded" in document.body.dataset;
const MAX_SOURCES = 8;
const MAX_CHOICES = 1000;
const MAX_INDICATORS = 8;

let state = readState(location.search);
/** What the server answered: figures, and sources by their numbers. */
let found = { figures: [], sources: new Map() };
/** @type {any[]} the indicators of the library */
let indicators = [];
let latest = 0;

const inYears = ({ year }) =>
  !year || ((!state.from || year >= state.from) && (!state.to || year <= state.to));

/** Show a state, whose address can be passed on. */
function go(changes, { replaces = false } = {}) {
  const next = { ...state, ...changes };
  const isAsked =
    String(queryKey(next)) !== String(queryKey(state)) || !found.figures.length;
  state = next;
  const address = addressOf(state, isEmbedded);
  if (replaces) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  showControls();
  if (isAsked) load();
  else show();
}

/** The map has all countries that have a figure, whatever was chosen. */
const queryKey = (shown) =>
  JSON.stringify([shown.indicators, shown.view === "map" ? [] : shown.subjects]);

const queryOfState = () =>
  queryOf({ ...state, subjects: state.view === "map" ? [] : state.subjects });

async function load() {
  const turn = (latest += 1);
  const charts = byId("explore-charts");
  if (!state.indicators.length) return;
  charts.setAttribute("aria-busy", "true");
  try {
    const answer = await sendJson("POST", "/api/figures/query", {
      ...queryOfState(),
      language,
    });
    if (turn !== latest) return;
    const sources = answer.citations.map((source) => [source.number, source]);
    found = { figures: figuresOf(answer), sources: new Map(sources) };
    showError(byId("explore-error"), null);
    await show();
  } catch (error) {
    if (turn !== latest) return;
    found = { figures: [], sources: new Map() };
    charts.replaceChildren();
    showError(byId("explore-error"), error);
    showUnknown(error);
  }
  charts.removeAttribute("aria-busy");
}

/**
 * Say which name of the address no report here has, and offer to go on without it.
 */
function showUnknown(error) {
  const [field, place] = String(error.details?.[0]?.field ?? "").split(".");
  if (field !== "subjects" && field !== "indicators") return;
  const names = state[field];
  // Nobody says which indicator it is.
  const name = names[Number(place ?? 0)];
  const others = names.filter((other) => other !== name);
  const isSubject = field === "subjects";
  const text = isSubject
    ? t("No figure here is of “{name}”.", { name })
    : t("No report here has figures of “{name}”.", { name });
  const button = element("button", {
    type: "button",
    className: "button quiet",
    text:
      others.length || isSubject
        ? t("Go on without “{name}”", { name })
        : t("Show what there is"),
  });
  button.addEventListener("click", () => {
    const [first] = indicators;
    const kept = others.length || isSubject ? others : [first?.name].filter(Boolean);
    go({ [field]: kept });
  });
  byId("explore-error").replaceChildren(element("p", { text }), button);
}

/** Draw what was found, within the years. */
async function show() {
  const turn = latest;
  const { view } = state;
  const charts = byId("explore-charts");
  const figures = found.figures.filter(inYears);
  showYears();
  const chosen = new Set(state.subjects);
  const groups = [...Map.groupBy(figures, ({ indicator }) => indicator).values()];
  const shown = await Promise.all(
    groups.map((same) => shownOf(same, view, chosen, found.sources, charts)),
  );
  if (turn !== latest || view !== state.view) return;
  const nothing = element("p", {
    className: "none",
    text: t("No figure of these years."),
  });
  charts.replaceChildren(...(shown.length ? shown : [nothing]));
  byId("explore-files").hidden = !shown.length;
  showSources(figures);
  showPassage(null);
  announce(
    t("{number} figures are shown.", { number: figures.length.toLocaleString() }),
  );
}

/** List the reports that the figures come from. */
function showSources(figures) {
  const titles = new Map();
  for (const { citation } of figures) {
    const source = found.sources.get(citation);
    if (source) titles.set(sourceTitle(source), source);
  }
  const items = [...titles].map(([text, { chunk_id: id }]) =>
    element("li", {}, element("a", { href: at(`/passages/${id}`), text, dir: "auto" })),
  );
  showItems(byId("explore-sources"), items.slice(0, MAX_SOURCES));
  const more = byId("explore-more");
  more.hidden = items.length <= MAX_SOURCES;
  byId("explore-more-list").replaceChildren(...items.slice(MAX_SOURCES));
}

/** Show the passage of a point beside the charts. */
async function showPassage(citation) {
  const box = byId("explore-passage");
  const source = found.sources.get(citation);
  box.hidden = !source;
  if (!source) return;
  const { chunk_id: id } = source;
  const chunk = await getJson(`/api/chunks/${encodeURIComponent(id)}`).catch(() => ({
    text: "",
  }));
  const facts = [
    chunk.publisher,
    when(chunk.publication_date),
    source.section,
    pageName(source),
  ];
  box.replaceChildren(
    element("h2", { className: "eyebrow", text: t("Source") }),
    element("a", {
      href: at(`/passages/${id}`),
      text: sourceTitle(source),
      dir: "auto",
    }),
    element("p", { className: "card-note", text: facts.filter(Boolean).join(" · ") }),
    element("blockquote", {
      className: "explore-quote",
      text: chunk.text,
      dir: "auto",
    }),
  );
  box.scrollIntoView({ block: "nearest" });
}

/** Say what the indicators mean; each has a page. */
function showMeanings() {
  const shown = state.indicators.map(
    (name) => indicators.find((one) => one.name === name) ?? { name },
  );
  showItems(
    byId("explore-meanings"),
    shown.map(({ name, meaning, slug, subjects }) =>
      element(
        "div",
        {},
        element(
          "h2",
          { className: "eyebrow", dir: "auto" },
          slug
            ? element("a", { href: at(`/indicators/${slug}`), text: nameOf(name) })
            : nameOf(name),
        ),
        ...(meaning ? [element("p", { text: meaning, dir: "auto" })] : []),
        ...(subjects
          ? [
              element("p", {
                className: "card-note",
                text: t("With a figure: {number}", { number: subjects }),
              }),
            ]
          : []),
      ),
    ),
  );
}

/** Return a chip that is removed by a press. */
function chip(name, remove) {
  const button = element("button", {
    type: "button",
    className: "chip",
    text: name,
    "aria-label": t("Remove {name}", { name }),
  });
  button.addEventListener("click", remove);
  return element("li", {}, button);
}

function showChips(list, field) {
  showItems(
    list,
    state[field].map((name) =>
      chip(field === "indicators" ? nameOf(name) : name, () => {
        go({ [field]: state[field].filter((other) => other !== name) });
        byId(`add-${field}`).focus();
      }),
    ),
  );
}

function showControls() {
  showChips(byId("indicator-chips"), "indicators");
  showChips(byId("subject-chips"), "subjects");
  byId("all-subjects").hidden = state.subjects.length > 0;
  for (const button of all(byId("explore-views"), "button"))
    button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
  byId("explore-hint").hidden = state.indicators.length > 0;
  showMeanings();
}

/** Offer the years that there are, from the first to the last. */
function showYears() {
  const years = [
    ...new Set(found.figures.map(({ year }) => year).filter(Boolean)),
  ].toSorted((one, other) => one - other);
  byId("explore-years").hidden = years.length < 2;
  for (const [id, value] of [
    ["year-from", state.from ?? years[0]],
    ["year-to", state.to ?? years.at(-1)],
  ]) {
    const options = years.map((year) => element("option", { value: year, text: year }));
    byId(id).replaceChildren(...options);
    byId(id).value = String(value);
  }
}

/** Offer the names of countries, groups and rows; they may be thousands. */
async function offerChoices() {
  const [listed, facets] = await Promise.all([
    getJson(`/api/indicators?limit=${MAX_CHOICES}`),
    getJson("/api/facets").catch(() => ({})),
  ]);
  ({ indicators } = listed);
  const options = (names) => names.map((value) => element("option", { value }));
  byId("indicator-names").replaceChildren(
    ...options(indicators.map(({ name }) => name)),
  );
  const places = [...(facets.country_name ?? []), ...(facets.group ?? [])];
  byId("subject-names").replaceChildren(
    ...options(places.map(({ value }) => value).filter(Boolean)),
  );
}

/** Add what was typed once it is a name that there is, or Enter was pressed. */
function wireAdding(field, listId) {
  const input = byId(`add-${field}`);
  const add = () => {
    const name = input.value.trim();
    if (!name) return;
    input.value = "";
    const isFull = field === "indicators" && state.indicators.length >= MAX_INDICATORS;
    if (!state[field].includes(name) && !isFull)
      go({ [field]: [...state[field], name] });
  };
  input.addEventListener("input", () => {
    const names = all(byId(listId), "option").map(
      (option) => /** @type {HTMLOptionElement} */ (option).value,
    );
    const typed = input.value;
    // A name may begin another one: "Niger", "Nigeria".
    if (
      names.includes(typed) &&
      names.filter((name) => name.startsWith(typed)).length === 1
    )
      add();
  });
  input.addEventListener("change", add);
}

/** Return a file that the server makes of JSON, and its name. */
async function fileOf(url, body) {
  const response = await request(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const stated = response.headers.get("Content-Disposition") ?? "";
  const [, full] = /filename\*=UTF-8''([^;]+)/.exec(stated) ?? [];
  const [, plain] = /filename="([^"]*)"/.exec(stated) ?? [];
  return { blob: await response.blob(), name: full ? decodeURIComponent(full) : plain };
}

/** Download the whole state as a file of the server. */
async function download(format) {
  const years = [...new Set(found.figures.map(({ year }) => year).filter(Boolean))];
  const chosen = yearsOf(state, years);
  try {
    const { blob, name } = await fileOf("/api/figures/query", {
      ...queryOfState(),
      ...(chosen.length && { years: chosen }),
      language,
      format,
      view: state.view,
    });
    const href = URL.createObjectURL(blob);
    element("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  } catch (error) {
    showError(byId("explore-error"), error);
  }
}

/** Add what is shown to a brief, and lead to it. */
async function pinShown(button) {
  const years = [...new Set(found.figures.map(({ year }) => year).filter(Boolean))];
  const chosen = yearsOf(state, years);
  const query = { ...queryOfState(), ...(chosen.length && { years: chosen }) };
  button.disabled = true;
  try {
    const { pin, briefLink } = await import("../chat/pin.js");
    const { brief } = await pin({ query });
    button.parentElement.querySelector(".brief-link")?.remove();
    const link = briefLink(brief);
    link.className = "button quiet brief-link";
    button.after(link);
    announce(t("Added to the brief."));
    showError(byId("explore-error"), null);
  } catch (error) {
    showError(byId("explore-error"), error);
  }
  button.disabled = false;
}

function wire() {
  wireAdding("indicators", "indicator-names");
  wireAdding("subjects", "subject-names");
  byId("explore-form").addEventListener("submit", (event) => event.preventDefault());
  byId("explore-views").addEventListener("click", ({ target }) => {
    const { view } = target.closest("button")?.dataset ?? {};
    if (VIEWS.includes(view)) go({ view });
  });
  byId("year-from").addEventListener("change", ({ target }) => {
    const from = Number(target.value);
    go({ from, to: state.to && Math.max(state.to, from) });
  });
  byId("year-to").addEventListener("change", ({ target }) => {
    const to = Number(target.value);
    go({ to, from: state.from && Math.min(state.from, to) });
  });
  byId("explore-charts").addEventListener("click", ({ target }) => {
    const { citation } = target.closest("[data-citation]")?.dataset ?? {};
    if (citation) showPassage(Number(citation));
  });
  byId("explore-files").addEventListener("click", ({ target }) => {
    const { format } = target.closest("button")?.dataset ?? {};
    if (format) download(format);
  });
  byId("explore-pin")?.addEventListener("click", ({ currentTarget }) =>
    pinShown(currentTarget),
  );
  wireCopy(byId("explore-link"), () => new URL(addressOf(state), location.href).href);
  addEventListener("popstate", () => {
    state = readState(location.search);
    showControls();
    load();
  });
}

async function start() {
  wire();
  try {
    await offerChoices();
  } catch (error) {
    return showError(byId("explore-error"), error);
  }
  // Without a choice, what people ask for most is shown.
  const [first] = indicators;
  go(state.indicators.length || !first ? {} : { indicators: [first.name] }, {
    replaces: true,
  });
}

start();
