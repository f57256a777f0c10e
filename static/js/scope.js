export const FIELDS = ["country_name", "year", "type"];

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
