import { byId, element } from "./dom.js";
import { valueLabel } from "./format.js";

const TYPING_MS = 250;
const NAMES = ["q", "country_name", "year", "status"];
const form = byId("filters");

const option = (select, value) => element("option", { value, text: valueLabel(select.name, value) });
const hasOption = (select, value) => [...select.options].some((other) => other.value === value);

/** What the list is narrowed to; it lives in the address, so that a reload keeps it. */
export class Filters {
  constructor() {
    const query = new URLSearchParams(location.search);
    for (const name of NAMES) {
      const control = form.elements[name];
      const value = query.get(name) ?? "";
      if (control.options && !hasOption(control, value)) control.append(option(control, value));
      control.value = value;
    }
  }

  /** `onChange` is called when a choice was made, or typing has paused. */
  wire(onChange) {
    let typing = 0;
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", ({ target }) => {
      clearTimeout(typing);
      typing = setTimeout(onChange, target.name === "q" ? TYPING_MS : 0);
    });
    byId("filters-clear").addEventListener("click", () => {
      for (const name of NAMES) form.elements[name].value = "";
      byId("filter-q").focus();
      onChange();
    });
  }

  get areUsed() {
    return this.query() !== "";
  }

  query(more = {}) {
    const chosen = NAMES.map((name) => [name, form.elements[name].value.trim()]).filter(([, value]) => value);
    return new URLSearchParams([...chosen, ...Object.entries(more)]).toString();
  }

  /** The values to choose from; the chosen one stays, also when no document has it any more. */
  offer(name, values) {
    const select = form.elements[name];
    const chosen = select.value;
    select.replaceChildren(select.options[0], ...values.map((value) => option(select, value)));
    if (!hasOption(select, chosen)) select.append(option(select, chosen));
    select.value = chosen;
  }

  show(total) {
    form.hidden = total === 0 && !this.areUsed;
    byId("filters-clear").hidden = !this.areUsed;
  }
}
