/** The table of documents with its filters and pages. */
import { at, getJson } from "../common/api.js";
import {
  all,
  byId,
  cloneTemplate,
  element,
  showError,
  showText,
} from "../common/dom.js";
import { icon } from "../common/forms.js";
import { sourceTitle, valueLabel, when } from "../common/format.js";
import { isUnsettled, originOf, scopeValue, statusOf } from "../common/states.js";
import { count, locale, t, translated } from "../common/words.js";

const TYPING_MS = 250;
const NAMES = ["q", "country_name", "year", "status"];
const BY_TITLE = "title";
const NEWEST = "-updated_at";
/** Where this browser keeps the order that was chosen last. */
const SORT = "documents-sort";
const form = byId("filters");

const option = (select, value) =>
  element("option", { value, text: valueLabel(select.name, value) });
const hasOption = (select, value) =>
  [...select.options].some((other) => other.value === value);

/**
 * The filters of the list. They are kept in the address, so that a reload keeps them.
 */
class Filters {
  constructor() {
    const query = new URLSearchParams(location.search);
    for (const name of NAMES) {
      const control = form.elements[name];
      const value = query.get(name) ?? "";
      if (control.options && !hasOption(control, value))
        control.append(option(control, value));
      control.value = value;
    }
  }

  /** `onChange` is called after a choice, or when typing has paused. */
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
    const chosen = NAMES.map((name) => [name, form.elements[name].value.trim()]).filter(
      ([, value]) => value,
    );
    return new URLSearchParams([...chosen, ...Object.entries(more)]).toString();
  }

  /** Offer these values; the chosen one stays, even if no document has it any more. */
  offer(name, values) {
    const select = form.elements[name];
    const chosen = select.value;
    select.replaceChildren(
      select.options[0],
      ...values.map((value) => option(select, value)),
    );
    if (!hasOption(select, chosen)) select.append(option(select, chosen));
    select.value = chosen;
  }
}

const LIMIT = 50;
const POLL_MS = 2000;
const SLOWEST_POLL_MS = 20_000;
const rows = byId("rows");

function cell(row, name, ...content) {
  const node = row.querySelector(`[data-name=${name}]`);
  node.replaceChildren(
    ...content.map((part) => (part instanceof Node ? part : String(part))),
  );
  node.classList.toggle("none", node.textContent === "");
}

function rowOf(document, isPicked) {
  const row = cloneTemplate("row-template");
  const title = sourceTitle(document);
  row.dataset.id = document.document_id;
  const pick = row.querySelector(".pick input");
  pick.checked = isPicked;
  pick.setAttribute("aria-label", t("Select {title}", { title }));
  row.querySelector(".document-title").textContent = title;
  showText(
    row.querySelector(".document-name"),
    originOf(document) === title ? "" : originOf(document),
  );
  showText(row.querySelector(".document-error"), translated(document.error));
  for (const field of ["country_name", "year", "type"])
    cell(row, field, scopeValue(document, field));
  cell(row, "pages", document.pages?.toLocaleString(locale) ?? "");
  cell(row, "chunks", document.chunks ? document.chunks.toLocaleString(locale) : "");
  cell(
    row,
    "updated_at",
    element("time", { datetime: document.updated_at, text: when(document.updated_at) }),
  );
  const status = statusOf(document);
  cell(
    row,
    "status",
    element(
      "span",
      { className: `status ${document.status}` },
      icon(status.icon),
      status.text,
    ),
  );
  const ask = row.querySelector(".row-ask");
  ask.href = at(`/?document=${encodeURIComponent(document.document_id)}`);
  ask.setAttribute("aria-label", t("Ask “{title}”", { title }));
  const isInBin = document.status === "deleted";
  ask.hidden = !document.chunks || isInBin;
  row.querySelector("[data-action=open]").disabled = isInBin;
  row.querySelector("[data-action=edit]").hidden = isInBin;
  row.querySelector("[data-action=restore]").hidden = !isInBin;
  for (const [action, verb] of [
    ["restore", t("Restore")],
    ["edit", t("Edit")],
    ["delete", isInBin ? t("Delete for good") : t("Delete")],
  ]) {
    const button = row.querySelector(`[data-action=${action}]`);
    button.setAttribute("aria-label", `${verb} ${title}`);
    button.title = verb;
    button.disabled = document.status === "deleting";
  }
  return row;
}

export class DocumentList {
  #filters = new Filters();
  #documents = [];
  #total = 0;
  #offset = 0;
  #pending = null;
  #timer = 0;
  #delay = POLL_MS;
  #facets = { country_name: [], year: [], type: [] };
  #picked = new Set();
  #sort = BY_TITLE;

  /**
   * `onAction` gets "open", "edit", "restore" or "delete" and the document, `onReview`
   * the ids of the selected documents, or of all on the page and what reads on.
   */
  constructor(onAction, onReview) {
    const query = new URLSearchParams(location.search);
    const offset = Math.trunc(Number(query.get("offset")) / LIMIT) * LIMIT;
    this.#offset = Math.max(0, offset || 0);
    this.#wireOrder(query.get("sort") ?? localStorage.getItem(SORT));
    this.#filters.wire(() => this.#goTo(0));
    byId("page-back").addEventListener("click", () => this.#turn(-LIMIT));
    byId("page-on").addEventListener("click", () => this.#turn(LIMIT));
    byId("pick-all").addEventListener("change", ({ target }) => {
      const { checked } = target;
      for (const box of rows.querySelectorAll(".pick input")) {
        box.checked = checked;
        this.#pick(box);
      }
    });
    rows.addEventListener("change", ({ target }) => this.#pick(target));
    byId("review-open").addEventListener("click", () =>
      this.#picked.size
        ? onReview([...this.#picked])
        : onReview(this.#idsOfPage, this.#following()),
    );
    rows.addEventListener("click", ({ target }) => {
      const action = target.closest("[data-action]")?.dataset.action;
      const id = target.closest("tr")?.dataset.id;
      const document = this.#documents.find(({ document_id: other }) => other === id);
      if (action && document) onAction(action, document);
    });
  }

  /** Sort by the heading that is pressed, or by what is chosen where there is none. */
  #wireOrder(chosen) {
    const headings = byId("documents").querySelector("thead");
    const names = all(headings, "[data-sort]").map(({ dataset }) => dataset.sort);
    if (names.includes(chosen?.replace(/^-/, ""))) this.#sort = chosen;
    headings.addEventListener("click", ({ target }) => {
      const name = target.closest(".sort")?.parentElement.dataset.sort;
      if (name) this.#sortBy(this.#sort === name ? `-${name}` : name);
    });
    byId("sort").addEventListener("change", ({ target }) => this.#sortBy(target.value));
    this.#showOrder();
  }

  /** Sort as a person chose, until they choose something else. */
  #sortBy(sort) {
    localStorage.setItem(SORT, sort);
    return this.#orderBy(sort);
  }

  #orderBy(sort) {
    this.#sort = sort;
    this.#showOrder();
    return this.#goTo(0);
  }

  #showOrder() {
    const name = this.#sort.replace(/^-/, "");
    for (const heading of all(byId("documents"), "[data-sort]")) {
      if (heading.dataset.sort !== name) heading.removeAttribute("aria-sort");
      else
        heading.setAttribute(
          "aria-sort",
          this.#sort === name ? "ascending" : "descending",
        );
    }
    byId("sort").value = this.#sort;
  }

  /** Show what was added last above all others, on this visit. */
  showNewest() {
    return this.#orderBy(NEWEST);
  }

  get #order() {
    return this.#sort === BY_TITLE ? {} : { sort: this.#sort };
  }

  /** Return the values in use, for suggestions. */
  values(field) {
    return (this.#facets[field] ?? [])
      .map(({ value }) => value)
      .filter((value) => value !== null && value !== "");
  }

  /** Return the number of documents in the list, and what reads on behind this page. */
  #following() {
    const query = { ...this.#order, limit: LIMIT };
    let offset = this.#offset + LIMIT;
    return {
      total: this.#total,
      next: async () => {
        const page = this.#filters.query({ ...query, cursor: offset });
        const { documents, total } = await getJson(`/api/documents?${page}`);
        offset += LIMIT;
        return {
          ids: documents.map(({ document_id: id }) => id),
          isLast: offset >= total,
        };
      },
      isLast: offset >= this.#total,
    };
  }

  get #idsOfPage() {
    return this.#documents.map(({ document_id: id }) => id);
  }

  /** Keep the choice of a row, also while another page is shown. */
  #pick(box) {
    const { id } = box.closest("tr").dataset;
    if (box.checked) this.#picked.add(id);
    else this.#picked.delete(id);
    this.#showPicked();
  }

  #showPicked() {
    const ids = this.#idsOfPage;
    const picked = ids.filter((id) => this.#picked.has(id)).length;
    byId("pick-all").checked = picked > 0 && picked === ids.length;
    byId("pick-all").indeterminate = picked > 0 && picked < ids.length;
    byId("review-open").querySelector("span").textContent = this.#picked.size
      ? t("Review {documents}", { documents: count(this.#picked.size, "document") })
      : t("Review");
  }

  /** Load the current page; a focus in it stays. */
  async load() {
    this.#pending?.abort();
    const { signal } = (this.#pending = new AbortController());
    clearTimeout(this.#timer);
    try {
      const [page, facets] = await Promise.all([
        getJson(
          `/api/documents?${this.#filters.query({ ...this.#order, limit: LIMIT, cursor: this.#offset })}`,
          signal,
        ),
        getJson("/api/facets", signal),
      ]);
      if (!page.documents.length && page.total && this.#offset)
        return this.#goTo(Math.floor((page.total - 1) / LIMIT) * LIMIT);
      showError(byId("list-error"), null);
      this.#show(page, facets);
      this.#pollWhile(page.documents.some(isUnsettled));
    } catch (error) {
      if (error.name === "AbortError") return;
      showError(byId("list-error"), error);
      this.#pollWhile(error.code === "network" || error.status >= 500);
    }
  }

  /** Load again, ever less often, while documents are being indexed or deleted. */
  #pollWhile(isWaiting) {
    if (isWaiting) this.#timer = setTimeout(() => this.load(), this.#delay);
    this.#delay = isWaiting ? Math.min(this.#delay * 1.5, SLOWEST_POLL_MS) : POLL_MS;
  }

  #goTo(offset) {
    this.#offset = offset;
    history.replaceState(
      history.state,
      "",
      `?${this.#filters.query({ ...this.#order, ...(offset && { offset }) })}`,
    );
    return this.load();
  }

  async #turn(step) {
    await this.#goTo(Math.max(0, this.#offset + step));
    byId("list-title").scrollIntoView({ block: "start" });
    byId("list-title").focus({ preventScroll: true });
  }

  #show({ documents, total }, facets) {
    this.#facets = facets;
    this.#documents = documents;
    this.#total = total;
    this.#filters.offer("country_name", this.values("country_name"));
    this.#filters.offer(
      "year",
      this.values("year").toSorted((a, b) => b - a),
    );
    form.hidden = total === 0 && !this.#filters.areUsed;
    byId("filters-clear").hidden = !this.#filters.areUsed;
    this.#showRows();
    byId("ask-each").hidden = total === 0;
    byId("ask-each").href = at(`/collection?${this.#filters.query()}`);
    showText(
      byId("total"),
      this.#filters.areUsed
        ? t("{documents} found", { documents: count(total, "document") })
        : count(total, "document"),
    );
    byId("paging").hidden = total <= LIMIT;
    byId("page-range").textContent = t("{range} of {total}", {
      range: `${this.#offset + 1}–${Math.min(this.#offset + LIMIT, total)}`,
      total: total.toLocaleString(locale),
    });
    byId("page-back").disabled = this.#offset === 0;
    byId("page-on").disabled = this.#offset + LIMIT >= total;
    const [title, text] = this.#filters.areUsed
      ? [t("No document matches."), t("Change or clear the filters.")]
      : [
          t("There are no documents yet."),
          t(
            "Drop files above, choose them, or enter a web address. You can ask about them once they are indexed.",
          ),
        ];
    byId("empty").hidden = total > 0;
    byId("documents").hidden = byId("review-open").hidden = total === 0;
    byId("empty").querySelector(".empty-title").textContent = title;
    byId("empty").querySelector(".empty-text").textContent = text;
  }

  #showRows() {
    /** @type {HTMLElement} */
    const focused = document.activeElement?.closest("#rows [data-action]");
    const row = focused?.closest("tr");
    const index = row ? [...rows.children].indexOf(row) : -1;
    rows.replaceChildren(
      ...this.#documents.map((one) => rowOf(one, this.#picked.has(one.document_id))),
    );
    this.#showPicked();
    byId("documents").setAttribute("aria-busy", "false");
    if (!row) return;
    const same = [...rows.children].find(
      (other) => other.dataset.id === row.dataset.id,
    );
    const next = same ?? rows.children[Math.min(index, rows.children.length - 1)];
    const target =
      next?.querySelector(`[data-action=${same ? focused.dataset.action : "open"}]`) ??
      byId("list-title");
    target.focus({ preventScroll: true });
  }
}
