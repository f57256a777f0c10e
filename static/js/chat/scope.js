/**
 * The scope of questions: the filters that a person chose, and the panel to choose
 * them.
 */
import { getJson } from "../common/api.js";
import { byId, element, focusNext, hasKeyboard, showText } from "../common/dom.js";
import {
  keepCountryNames,
  scopeNames,
  scopeSize,
  valueLabel,
} from "../common/format.js";
import { comma, t } from "../common/words.js";

/** The fields of a filter, and the collections. */
const FIELDS = [
  "country_name",
  "group",
  "year",
  "type",
  "document_name",
  "collections",
];
/** Above this number of documents, names are searched on the server. */
const MAX_LISTED_NAMES = 300;

const isValid = (field, value) =>
  value !== "" && (field !== "year" || /^\d{1,4}$/.test(value));

/** The chosen filters. They are kept in the address, so that a link restores them. */
class Scope extends EventTarget {
  /** Shown with the next facets: why a link opens with another scope. */
  notice = "";
  #chosen = new Map(FIELDS.map((field) => [field, new Set()]));

  constructor() {
    super();
    const query = new URLSearchParams(location.search);
    for (const field of FIELDS) {
      for (const value of query.getAll(field))
        if (isValid(field, value)) this.#chosen.get(field).add(value);
    }
  }

  has(field, value) {
    return this.#chosen.get(field).has(String(value));
  }

  toggle(field, value, isChosen) {
    if (isChosen) this.#chosen.get(field).add(String(value));
    else this.#chosen.get(field).delete(String(value));
    this.#changed();
  }

  replace(filters) {
    const before = this.query();
    for (const field of FIELDS)
      this.#chosen.set(field, new Set([filters[field] ?? []].flat().map(String)));
    if (this.query() !== before) this.#changed();
  }

  entries() {
    return FIELDS.flatMap((field) =>
      this.values(field).map((value) => ({ field, value })),
    );
  }

  values(field) {
    return [...this.#chosen.get(field)];
  }

  /** Return the fields in use as the API takes them, years as numbers. */
  filters() {
    const used = FIELDS.filter((field) => this.#chosen.get(field).size);
    return Object.fromEntries(
      used.map((field) => [
        field,
        field === "year" ? this.values(field).map(Number) : this.values(field),
      ]),
    );
  }

  query(...more) {
    return new URLSearchParams([
      ...this.entries().map(({ field, value }) => [field, value]),
      ...more,
    ]).toString();
  }

  #changed() {
    const url = new URL(location.href);
    for (const field of FIELDS) url.searchParams.delete(field);
    for (const { field, value } of this.entries())
      url.searchParams.append(field, value);
    history.replaceState(history.state, "", url);
    this.dispatchEvent(new Event("change"));
  }
}

export const scope = new Scope();

const panel = byId("scope-panel");
const chips = byId("scope-chips");
const simplify = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
let pending = null;

/**
 * Wire the panel above the composer that a button opens. Returns the function that
 * opens or closes it.
 */
export function wireBox(name, onOpen) {
  const [box, button] = [byId(`${name}-panel`), byId(`${name}-button`)];
  const setOpen = (isOpen) => {
    if (box.hidden !== isOpen) return;
    box.hidden = !isOpen;
    button.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) onOpen();
    else if (
      box.contains(document.activeElement) ||
      document.activeElement === document.body
    )
      button.focus();
  };
  button.addEventListener("click", () => setOpen(box.hidden));
  document.addEventListener("pointerdown", ({ target }) => {
    if (!box.contains(target) && !button.contains(target)) setOpen(false);
  });
  byId("composer").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || box.hidden) return;
    event.preventDefault();
    setOpen(false);
  });
  return setOpen;
}

const setOpen = wireBox("scope", () =>
  byId(hasKeyboard() ? "country-search" : "scope-done").focus({ preventScroll: true }),
);

function option(field, { value, documents, members = [] }) {
  /** @type {any} */
  const box = element("input", { type: "checkbox", value });
  box.checked = scope.has(field, value);
  box.addEventListener("change", () => scope.toggle(field, value, box.checked));
  return element(
    "label",
    { className: "option" },
    box,
    element("span", { className: "option-name", text: valueLabel(field, value) }),
    element("span", { className: "option-count", text: documents }),
    box.checked && members.length
      ? element("span", { className: "option-members", text: members.join(comma) })
      : "",
  );
}

function filterOptions() {
  for (const search of panel.querySelectorAll(".option-search")) {
    const typed = simplify(search.value.trim());
    for (const label of search.closest("fieldset").querySelectorAll(".option")) {
      label.hidden = !simplify(
        label.querySelector(".option-name").textContent,
      ).includes(typed);
    }
  }
}

function showOptions(facets) {
  for (const field of FIELDS) {
    const list = panel.querySelector(`[data-field=${field}] .options`);
    const active = document.activeElement;
    const focused =
      active instanceof HTMLInputElement && list.contains(active) ? active.value : null;
    const options = (facets[field] ?? []).filter(({ value }) => value !== null);
    // A chosen value stays listed, even if the rest of the scope leaves no report of
    // it.
    const missing = scope
      .values(field)
      .filter((value) => !options.some((facet) => String(facet.value) === value));
    list.replaceChildren(
      ...[...options, ...missing.map((value) => ({ value, documents: 0 }))].map(
        (facet) => option(field, facet),
      ),
    );
    [...list.querySelectorAll("input")]
      .find((box) => box.value === focused)
      ?.focus({ preventScroll: true });
  }
  // A single collection is no choice; once shown, the list stays.
  panel.querySelector("[data-field=collections]").hidden &&=
    facets.collections.length < 2;
  panel.querySelector("[data-field=group]").hidden &&= !facets.group.length;
  filterOptions();
}

function showChips() {
  const entries = scope.entries();
  chips.replaceChildren(
    ...entries.map(({ field, value }, index) => {
      const [label] = scopeNames({ [field]: value });
      const remove = element("button", {
        type: "button",
        className: "chip",
        text: label,
        "aria-label": t("Remove the chosen scope: {label}", { label }),
      });
      remove.addEventListener("click", () => {
        scope.toggle(field, value, false);
        focusNext(chips, index, byId("scope-button"));
      });
      return element("li", {}, remove);
    }),
  );
  byId("chosen-scope").hidden = byId("scope-clear").hidden = entries.length === 0;
}

/**
 * Drop values of a link that the library does not have, and say so. Returns whether
 * that was the error.
 */
function dropUnknown({ status, details }) {
  const wrong = (Array.isArray(details) ? details : [])
    .map(({ field, valid_values: valid }) => ({
      field: String(field).replace("filters.", ""),
      valid: (valid ?? []).map(String),
    }))
    .filter(({ field }) => FIELDS.includes(field));
  if (status !== 400 || !wrong.length) return false;
  const names = wrong.flatMap(({ field, valid }) =>
    scope
      .values(field)
      .filter((value) => !valid.includes(value))
      .flatMap((value) => scopeNames({ [field]: value })),
  );
  scope.notice = t("Not in this library: {names}. Choose from the values below.", {
    names: names.join(comma),
  });
  setOpen(true);
  const kept = wrong.map(({ field, valid }) => [
    field,
    scope.values(field).filter((value) => valid.includes(value)),
  ]);
  scope.replace({ ...scope.filters(), ...Object.fromEntries(kept) });
  return true;
}

async function load() {
  pending?.abort();
  const { signal } = (pending = new AbortController());
  try {
    const facets = await getJson(`/api/facets?${scope.query()}`, signal);
    if (facets.total?.document_name > MAX_LISTED_NAMES) {
      const query = scope.query(
        ["field", "document_name"],
        ["q", byId("document-search").value.trim()],
      );
      facets.document_name = (
        await getJson(`/api/facets?${query}`, signal)
      ).document_name;
    }
    keepCountryNames(facets);
    showText(byId("scope-error"), scope.notice);
    scope.notice = "";
    scope.dispatchEvent(new CustomEvent("counted", { detail: facets }));
    showOptions(facets);
    byId("scope-count").textContent = scopeSize(facets);
  } catch (error) {
    if (error.name === "AbortError" || dropUnknown(error)) return;
    showText(byId("scope-error"), error.message);
    byId("scope-count").textContent = t("Scope not available");
  }
}

/** Show the scope and let it be changed. Returns the function that counts it again. */
export function wireScope() {
  const refresh = () => {
    showChips();
    load();
  };
  scope.addEventListener("change", refresh);
  byId("scope-done").addEventListener("click", () => setOpen(false));
  byId("scope-clear").addEventListener("click", () => {
    scope.replace({});
    byId("scope-done").focus();
  });
  for (const id of ["country-search", "document-search"])
    byId(id).addEventListener("input", filterOptions);
  byId("document-search").addEventListener("change", load);
  refresh();
  return load;
}
