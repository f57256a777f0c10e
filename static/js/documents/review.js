/**
 * The review: several documents in a table, what is doubtful about them, one save and
 * one undo for all changes.
 */
import { offerUndo } from "./undo.js";
import { getJson, sendJson } from "../common/api.js";
import {
  all,
  announce,
  byId,
  cloneTemplate,
  onSubmit,
  showError,
  showText,
} from "../common/dom.js";
import { icon } from "../common/forms.js";
import { scopeValue, originOf } from "../common/states.js";
import { ORIGINS } from "../upload/preview.js";
import { comma, count, locale, t, translated } from "../common/words.js";

/** Documents that one request takes. */
const MAX_ROWS = 100;
const SEPARATOR = "; ";
/** Fields of which each row of a table may have its own value. */
const OF_ROWS = ["country_name", "year"];

let doubtNumber = 0;

const textOf = (value) =>
  Array.isArray(value) ? value.join(SEPARATOR) : String(value ?? "");

/**
 * Return a field as the API takes it. A year that is not a number is sent as it is: the
 * server explains the error.
 */
function apiValue(name, text) {
  if (name === "title") return text;
  return name === "year" && /^\d+$/.test(text) ? Number(text) : text || null;
}

/** One field of one document. */
class Cell {
  #before = "";
  #isConfirmed = false;
  #doubt = null;

  /** `doubts` is the place where the doubts about a document stand. */
  constructor(node, doubts, onChange) {
    this.node = node;
    this.#doubts = doubts;
    this.name = node.dataset.field;
    this.input = node.querySelector("input");
    this.#onChange = onChange;
    this.input.addEventListener("input", () => {
      this.#isConfirmed = false;
      this.#changed();
    });
  }

  #onChange;
  #doubts;
  #box = null;

  show(document, title) {
    this.#before = textOf(document[this.name]);
    this.#isConfirmed = false;
    this.input.value = this.#before;
    this.input.setAttribute("aria-label", `${this.input.dataset.label}: ${title}`);
    const ofRows = OF_ROWS.includes(this.name) && document.parts > 1;
    this.input.readOnly = !document.may_change || ofRows;
    this.input.placeholder = ofRows
      ? scopeValue(document, this.name)
      : (this.input.dataset.example ?? "");
    this.#showDoubt(document.doubts.find(({ field }) => field === this.name));
    this.#changed();
  }

  /** Put a value in; a value that is there already is confirmed. */
  set(text) {
    if (this.input.readOnly) return;
    this.input.value = text;
    this.#isConfirmed = true;
    this.#changed();
  }

  get text() {
    return this.input.value.trim();
  }

  get isChanged() {
    return this.#isConfirmed || this.text !== this.#before.trim();
  }

  get isDoubtful() {
    return this.#doubt !== null && !this.isChanged;
  }

  /** Put the proposed value in, if there is one that nobody has answered. */
  take() {
    if (this.isDoubtful && this.#doubt.reason === "proposed")
      this.set(textOf(this.#doubt.value));
  }

  fail(message) {
    showText(this.node.querySelector(".field-error"), message);
    if (message) this.input.setAttribute("aria-invalid", "true");
    else this.input.removeAttribute("aria-invalid");
  }

  #changed() {
    this.fail("");
    this.node.classList.toggle("changed", this.isChanged);
    if (this.#box) this.#box.hidden = !this.isDoubtful;
    this.node.classList.toggle("doubtful", this.isDoubtful);
    this.#onChange();
  }

  #showDoubt(doubt) {
    this.#box?.remove();
    this.#box = null;
    this.input.removeAttribute("aria-describedby");
    this.#doubt = doubt && !this.input.readOnly ? doubt : null;
    if (!this.#doubt) return;
    const box = cloneTemplate("doubt-template");
    const { value, origin, words, reason } = doubt;
    const from = ORIGINS[origin] ?? origin;
    const { label: field } = this.input.dataset;
    const said = words ? t("{origin}: “{words}”", { origin: from, words }) : from;
    const take = box.querySelector(".doubt-take");
    const text = box.querySelector(".doubt-text");
    doubtNumber += 1;
    text.id = `doubt-${doubtNumber}`;
    this.input.setAttribute("aria-describedby", text.id);
    if (reason === "proposed") {
      text.append(icon("alert"), t("{field}: {value}?", { field, value }), ` ${said}`);
      this.input.placeholder = `${textOf(value)}?`;
      take.textContent = t("Use {value}", { value });
    } else {
      text.append(
        icon("alert"),
        t("{field}: {value}?", { field, value }),
        ` ${t("Nothing proves it ({source})", { source: said })}`,
      );
      take.textContent = t("Keep {value}", { value });
    }
    const label = this.input.getAttribute("aria-label");
    const none = box.querySelector(".doubt-none");
    take.setAttribute("aria-label", `${take.textContent} (${label})`);
    none.setAttribute("aria-label", `${none.textContent} (${label})`);
    take.addEventListener("click", () => this.#answer(textOf(value)));
    none.addEventListener("click", () => this.#answer(""));
    this.#box = box;
    this.#doubts.append(box);
  }

  #answer(text) {
    this.set(text);
    this.input.focus();
  }
}

/** One document of the review. */
class Row {
  root = cloneTemplate("review-row-template");
  pick = this.root.querySelector(".pick input");

  constructor(document, onChange) {
    const doubts = this.root.querySelector(".doubts");
    this.cells = all(this.root, "[data-field]").map(
      (node) => new Cell(node, doubts, onChange),
    );
    this.pick.addEventListener("change", onChange);
    this.show(document);
  }

  show(document) {
    this.id = document.document_id;
    this.alike = document.alike;
    const { title } = document;
    this.pick.setAttribute("aria-label", t("Select {title}", { title }));
    const origin = originOf(document);
    showText(this.root.querySelector(".document-name"), origin === title ? "" : origin);
    showText(
      this.root.querySelector(".review-alike"),
      this.alike.length
        ? t("Same file, or same title, country and year: {documents}", {
            documents: this.alike.map((other) => originOf(other)).join(comma),
          })
        : "",
    );
    for (const cell of this.cells) cell.show(document, title);
  }

  cell(name) {
    return this.cells.find((cell) => cell.name === name);
  }

  get changed() {
    return this.cells.filter((cell) => cell.isChanged);
  }

  get isDoubtful() {
    return this.alike.length > 0 || this.cells.some((cell) => cell.isDoubtful);
  }

  /** Return the row as the API takes it. */
  get edit() {
    const fields = this.changed.map(({ name, text }) => [name, apiValue(name, text)]);
    return { id: this.id, fields: Object.fromEntries(fields) };
  }
}

const doubtsFirst = (documents) =>
  documents.toSorted(
    (a, b) =>
      Number(b.doubts.length + b.alike.length > 0) -
      Number(a.doubts.length + a.alike.length > 0),
  );

async function load(ids) {
  const loaded = [];
  for (let start = 0; start < ids.length; start += MAX_ROWS) {
    const list = ids
      .slice(start, start + MAX_ROWS)
      .map(encodeURIComponent)
      .join(",");
    const { documents } = await getJson(`/api/documents/review?ids=${list}`);
    loaded.push(...documents);
  }
  return loaded;
}

class Review {
  #rows = [];
  /** What reads the documents of the list that are not shown yet. */
  #following = null;
  #onSaved;
  #isSaving = false;

  constructor() {
    const form = byId("review-form");
    onSubmit(form, () => this.#isSaving || this.#save());
    form.addEventListener("keydown", (event) => this.#move(event));
    byId("review-close").addEventListener("click", () => this.#close());
    byId("review-more").addEventListener("click", () => this.#showMore());
    byId("review-discard").addEventListener("click", () => this.refresh());
    byId("review-all").addEventListener("change", ({ target }) =>
      this.#select(() => target.checked),
    );
    byId("review-doubtful").addEventListener("click", () =>
      this.#select((row) => row.isDoubtful),
    );
    byId("review-take").addEventListener("click", () => {
      for (const row of this.#picked.length ? this.#picked : this.#rows)
        for (const cell of row.cells) cell.take();
    });
    byId("review-field").addEventListener("change", () => this.#showField());
    byId("review-apply").addEventListener("click", () => this.#setAll());
    byId("review-value").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.#setAll();
    });
  }

  /**
   * Add documents to the review. `onSaved` is called after each change; `following`
   * reads those behind them in the list; `focus`: a person has asked for it.
   */
  async open(ids, { onSaved, following, focus }) {
    this.#onSaved = onSaved;
    await this.#add(ids);
    this.#following = following ?? this.#following;
    byId("review").hidden = false;
    showError(byId("review-error"), null);
    this.#showField();
    this.#show();
    if (focus) byId("review-title").focus();
    else announce(byId("review-total").textContent);
    byId("review").scrollIntoView({ block: focus ? "start" : "nearest" });
  }

  async #add(ids) {
    const known = new Set(this.#rows.map(({ id }) => id));
    const documents = await load(ids.filter((id) => !known.has(id)));
    const fresh = doubtsFirst(documents).map(
      (document) => new Row(document, () => this.#show()),
    );
    this.#rows.push(...fresh);
    byId("review-rows").append(...fresh.map(({ root }) => root));
    return fresh;
  }

  /** Show the next documents of the list below those that are shown. */
  async #showMore() {
    const button = byId("review-more");
    button.disabled = true;
    try {
      const { ids, isLast } = await this.#following.next();
      const [first] = await this.#add(ids);
      this.#following.isLast = isLast;
      first?.pick.focus();
      this.#show();
      announce(byId("review-total").textContent);
    } catch (error) {
      showError(byId("review-error"), error);
    } finally {
      button.disabled = false;
    }
  }

  /**
   * Show documents as they are now: these (all without `ids`), of which what was typed
   * is lost, and those in which nothing was typed.
   */
  async refresh(ids = this.#rows.map(({ id }) => id)) {
    const shown = this.#rows.filter(
      ({ id, changed }) => ids.includes(id) || !changed.length,
    );
    if (!shown.length) return;
    const documents = new Map(
      (await load(shown.map(({ id }) => id))).map((one) => [one.document_id, one]),
    );
    for (const row of shown) {
      const document = documents.get(row.id);
      if (document) row.show(document);
      else row.root.remove();
    }
    this.#rows = this.#rows.filter(
      (row) => !shown.includes(row) || documents.has(row.id),
    );
    this.#show();
  }

  get #picked() {
    return this.#rows.filter(({ pick }) => pick.checked);
  }

  get #changed() {
    return this.#rows.filter(({ changed }) => changed.length);
  }

  #select(isPicked) {
    for (const row of this.#rows) row.pick.checked = isPicked(row);
    this.#show();
  }

  #show() {
    const doubtful = this.#rows.filter(({ isDoubtful }) => isDoubtful).length;
    const isPart = this.#following && !this.#following.isLast;
    byId("review-more").hidden = !isPart;
    const parts = [
      isPart
        ? t("{number} of {documents}", {
            number: this.#rows.length.toLocaleString(locale),
            documents: count(this.#following.total, "document"),
          })
        : count(this.#rows.length, "document"),
    ];
    if (doubtful)
      parts.push(t("{number} in doubt", { number: doubtful.toLocaleString(locale) }));
    showText(byId("review-total"), parts.join(comma));
    const picked = this.#picked.length;
    byId("review-selected").textContent = picked
      ? t("For {documents}:", { documents: count(picked, "selected document") })
      : t("For the selected documents:");
    byId("review-apply").disabled = !picked;
    byId("review-all").checked = picked > 0 && picked === this.#rows.length;
    byId("review-all").indeterminate = picked > 0 && picked < this.#rows.length;
    byId("review-doubtful").disabled = !doubtful;
    byId("review-take").disabled = !this.#rows.some(({ cells }) =>
      cells.some((cell) => cell.isDoubtful),
    );
    const changed = this.#changed.length;
    byId("review-save").disabled = byId("review-discard").disabled = !changed;
    byId("review-save").textContent = changed
      ? t("Save {documents}", { documents: count(changed, "document") })
      : t("Save");
  }

  #showField() {
    const name = byId("review-field").value;
    const value = byId("review-value");
    const model = this.#rows[0]?.cell(name).input;
    value.value = "";
    for (const attribute of ["list", "inputmode", "dir"]) {
      const given = model?.getAttribute(attribute);
      if (given) value.setAttribute(attribute, given);
      else value.removeAttribute(attribute);
    }
  }

  #setAll() {
    const name = byId("review-field").value;
    const text = byId("review-value").value.trim();
    const picked = this.#picked;
    for (const row of picked) row.cell(name).set(text);
    announce(
      t("Set in {documents}. Not saved yet.", {
        documents: count(picked.length, "document"),
      }),
    );
  }

  /** Arrow keys lead to the same field of the document above and below. */
  #move(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const cell = event.target.closest("td[data-field]");
    // With Alt the arrow opens the suggestions.
    if (!step || !cell || event.altKey || event.target.tagName !== "INPUT") return;
    const index = this.#rows.findIndex(({ root }) => root.contains(cell));
    const next = this.#rows[index + step];
    if (!next) return;
    event.preventDefault();
    next.cell(cell.dataset.field).input.focus();
  }

  async #save() {
    // What does not fit into one request waits for the next.
    const rows = this.#changed.slice(0, MAX_ROWS);
    if (!rows.length) return;
    const documents = rows.map(({ edit }) => edit);
    const box = byId("review-error");
    const button = byId("review-save");
    this.#isSaving = true;
    button.disabled = true;
    button.textContent = t("Saving …");
    showError(box, null);
    try {
      const { undo, failed } = await sendJson("PATCH", "/api/documents", { documents });
      const left = new Set(failed.map(({ id }) => id));
      offerUndo(undo);
      await this.refresh(rows.map(({ id }) => id).filter((id) => !left.has(id)));
      const saved = count(rows.length - left.size, "document");
      announce(t("{documents} changed.", { documents: saved }));
      if (failed.length)
        showError(box, {
          message: t("{documents} not saved: {reason}", {
            documents: count(failed.length, "document"),
            reason: translated(failed[0].message),
          }),
        });
      this.#onSaved();
    } catch (error) {
      this.#showProblems(rows, error);
    } finally {
      this.#isSaving = false;
      this.#show();
    }
  }

  /** Show what is wrong at each field that the server named. */
  #showProblems(rows, error) {
    let first = null;
    for (const { field = "", message } of error.details ?? []) {
      const [, index, name] = /^documents\.(\d+)\.(?:fields\.)?(\w+)/.exec(field) ?? [];
      const row = rows[Number(index)];
      if (!row) continue;
      const cell = row.cell(name) ?? row.cell("title");
      cell.fail(translated(message));
      first ??= cell;
    }
    showError(
      byId("review-error"),
      error,
      first ? t("Nothing saved. Please correct the marked fields.") : error.message,
    );
    first?.input.focus();
  }

  #close() {
    this.#rows = [];
    this.#following = null;
    byId("review-rows").replaceChildren();
    byId("review").hidden = true;
    byId("list-title").focus();
  }
}

let review;

/** The table of this page, made when it is first asked for. */
export const theReview = () => (review ??= new Review());
