import { getJson } from "../common/api.js";
import { all, byId, element, hasKeyboard } from "../common/dom.js";
import { scopeNames, scopeSize, valueLabel } from "../common/format.js";
import { t } from "../common/words.js";

/** The fields of a filter, and the collections. */
export const FIELDS = ["country_name", "year", "type", "document_name", "collections"];
/** Names that one list shows; further ones are looked for on the server. */
const MOST_NAMES = 300;

const isValid = (field, value) => value !== "" && (field !== "year" || /^\d{1,4}$/.test(value));

/** The filters a person chose. They live in the address, so that a link restores them. */
export class Scope extends EventTarget {
  #chosen = new Map(FIELDS.map((field) => [field, new Set()]));

  constructor() {
    super();
    const query = new URLSearchParams(location.search);
    for (const field of FIELDS) {
      for (const value of query.getAll(field)) if (isValid(field, value)) this.#chosen.get(field).add(value);
    }
  }

  has(field, value) {
    return this.#chosen.get(field).has(String(value));
  }

  toggle(field, value, chosen) {
    if (chosen) this.#chosen.get(field).add(String(value));
    else this.#chosen.get(field).delete(String(value));
    this.#changed();
  }

  replace(filters) {
    for (const field of FIELDS) this.#chosen.set(field, new Set([filters[field] ?? []].flat().map(String)));
    this.#changed();
  }

  entries() {
    return FIELDS.flatMap((field) => this.values(field).map((value) => ({ field, value })));
  }

  values(field) {
    return [...this.#chosen.get(field)];
  }

  /** For the API: only the fields in use, years as numbers. */
  filters() {
    const used = FIELDS.filter((field) => this.#chosen.get(field).size);
    return Object.fromEntries(used.map((field) =>
      [field, field === "year" ? this.values(field).map(Number) : this.values(field)]));
  }

  query() {
    return new URLSearchParams(this.entries().map(({ field, value }) => [field, value])).toString();
  }

  #changed() {
    const url = new URL(location.href);
    for (const field of FIELDS) url.searchParams.delete(field);
    for (const { field, value } of this.entries()) url.searchParams.append(field, value);
    history.replaceState(history.state, "", url);
    this.dispatchEvent(new Event("change"));
  }
}

const panel = byId("scope-panel");
const button = byId("scope-button");
const chips = byId("scope-chips");
const simplify = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

function option(scope, field, { value, documents }) {
  /** @type {any} */
  const box = element("input", { type: "checkbox", value });
  box.checked = scope.has(field, value);
  box.addEventListener("change", () => scope.toggle(field, value, box.checked));
  return element("label", { className: "option" }, box,
    element("span", { className: "option-name", text: valueLabel(field, value) }),
    element("span", { className: "option-count", text: documents }));
}

/** What is chosen stays listed, also when the rest of the scope leaves nothing of it. */
function facetValues(scope, field, facets) {
  const found = (facets[field] ?? []).filter(({ value }) => value !== null);
  const known = new Set(found.map(({ value }) => String(value)));
  const missing = scope.values(field).filter((value) => !known.has(value));
  return [...found, ...missing.map((value) => ({ value, documents: 0 }))];
}

function filterOptions() {
  for (const search of panel.querySelectorAll(".option-search")) {
    const wanted = simplify(search.value.trim());
    for (const label of search.closest("fieldset").querySelectorAll(".option")) {
      label.hidden = !simplify(label.querySelector(".option-name").textContent).includes(wanted);
    }
  }
}

function showOptions(scope, facets) {
  for (const field of FIELDS) {
    const list = panel.querySelector(`[data-field=${field}] .options`);
    const active = document.activeElement;
    const focused = active instanceof HTMLInputElement && list.contains(active) ? active.value : null;
    list.replaceChildren(...facetValues(scope, field, facets).map((facet) => option(scope, field, facet)));
    [...list.querySelectorAll("input")].find((box) => box.value === focused)?.focus({ preventScroll: true });
  }
  // One alone is no choice; where there were several, what is left of them stays.
  panel.querySelector("[data-field=collections]").hidden &&= facets.collections.length < 2;
  filterOptions();
}

function chip(scope, { field, value }, index) {
  const [label] = scopeNames({ [field]: value });
  const remove = element("button", {
    type: "button", className: "chip", text: label, "aria-label": t("Remove the chosen scope: {label}", { label }),
  });
  remove.addEventListener("click", () => {
    scope.toggle(field, value, false);
    (chips.querySelectorAll("button")[index] ?? chips.querySelector("li:last-child button") ?? button).focus();
  });
  return element("li", {}, remove);
}

function showChips(scope) {
  const entries = scope.entries();
  chips.replaceChildren(...entries.map((entry, index) => chip(scope, entry, index)));
  byId("chosen-scope").hidden = entries.length === 0;
  byId("scope-clear").hidden = entries.length === 0;
}

function showFacetError(message) {
  byId("scope-error").textContent = message;
  byId("scope-error").hidden = !message;
}

async function findNames(scope, signal) {
  const query = new URLSearchParams([...new URLSearchParams(scope.query()), ["field", "document_name"],
    ["q", byId("document-search").value.trim()]]);
  return (await getJson(`/api/facets?${query}`, signal)).document_name;
}

/** A link may name what is not there: it opens with what is, and says so. */
function dropUnknown(scope, { status, details }) {
  const wrong = (Array.isArray(details) ? details : []).map(({ field, valid_values: valid }) =>
    ({ field: String(field).replace("filters.", ""), valid: (valid ?? []).map(String) }));
  const known = wrong.filter(({ field }) => FIELDS.includes(field));
  if (status !== 400 || !known.length) return false;
  const names = known.flatMap(({ field, valid }) =>
    scope.values(field).filter((value) => !valid.includes(value)).flatMap((value) => scopeNames({ [field]: value })));
  unknownSaid = t("Not in these reports: {names}. Choose from what is here.", { names: names.join(", ") });
  setOpen(true);
  const kept = Object.fromEntries(known.map(({ field, valid }) => [field, scope.values(field).filter((one) => valid.includes(one))]));
  scope.replace({ ...scope.filters(), ...kept });
  return true;
}

let unknownSaid = "";

function facetLoader(scope) {
  let pending = null;
  return async () => {
    pending?.abort();
    pending = new AbortController();
    try {
      const facets = await getJson(`/api/facets?${scope.query()}`, pending.signal);
      if (facets.total?.document_name > MOST_NAMES) facets.document_name = await findNames(scope, pending.signal);
      showFacetError(unknownSaid);
      unknownSaid = "";
      scope.dispatchEvent(new CustomEvent("counted", { detail: facets }));
      showOptions(scope, facets);
      byId("scope-count").textContent = scopeSize(facets);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (dropUnknown(scope, error)) return;
      showFacetError(error.message);
      byId("scope-count").textContent = t("Scope not available");
    }
  };
}

function setOpen(open) {
  if (panel.hidden !== open) return;
  panel.hidden = !open;
  button.setAttribute("aria-expanded", String(open));
  if (open) byId(hasKeyboard() ? "country-search" : "scope-done").focus({ preventScroll: true });
  else if (panel.contains(document.activeElement) || document.activeElement === document.body) button.focus();
}

function wireCoverage(scope) {
  for (const fold of all(document, ".coverage")) {
    fold.addEventListener("toggle", async () => {
      const { showCoverage } = await import("./coverage.js");
      showCoverage(fold.querySelector(".coverage-box"), scope);
    }, { once: true });
  }
}

function wirePanel(scope) {
  button.addEventListener("click", () => setOpen(panel.hidden));
  byId("scope-done").addEventListener("click", () => setOpen(false));
  byId("scope-clear").addEventListener("click", () => {
    scope.replace({});
    byId("scope-done").focus();
  });
  byId("country-search").addEventListener("input", filterOptions);
  byId("document-search").addEventListener("input", filterOptions);
  byId("document-search").addEventListener("change", () => scope.dispatchEvent(new Event("search")));
  wireCoverage(scope);
  document.addEventListener("pointerdown", ({ target }) => {
    if (!panel.contains(target) && !button.contains(target)) setOpen(false);
  });
  byId("composer").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    event.preventDefault();
    setOpen(false);
  });
}

/** Shows the scope and lets it be changed; returns the function that counts it again. */
export function showScope(scope) {
  const load = facetLoader(scope);
  const refresh = () => {
    showChips(scope);
    return load();
  };
  scope.addEventListener("change", refresh);
  scope.addEventListener("search", load);
  wirePanel(scope);
  refresh();
  return load;
}
