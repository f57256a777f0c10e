/**
 * What chosen documents say about themselves, in fields that a person can change before
 * they are added.
 */
import { ApiError, at, errorOf, sendJson, unreachable } from "../common/api.js";
import { showText } from "../common/dom.js";
import { foldedDifferences, summaryOf } from "./differences.js";
import { t, translated } from "../common/words.js";

/**
 * More documents than this are added without a look at each; so is a file that would
 * take long to send twice.
 */
const MAX_LOOKED = 10;
export const MAX_LOOKED_BYTES = 20 * 1024 * 1024;
const AT_ONCE = 2;
let running = 0;

/** Names of the places that a value comes from. */
export const ORIGINS = {
  title: t("from the title"),
  "title block": t("from the first lines"),
  "running head": t("from the page heads"),
  "file name": t("from the file name"),
  "document properties": t("from the file's properties"),
  "web address": t("from a web address in the text"),
  "first pages": t("from the first pages"),
  places: t("from places in the text"),
  file: t("from the file"),
};

/** Read a document that is not added yet: what it says about itself. */
export async function request(item) {
  if (item.url) return sendJson("POST", "/api/documents/preview", { url: item.url });
  const body = new FormData();
  body.append("files", item.file, item.name);
  const response = await fetch(at("/api/documents/preview"), {
    method: "POST",
    body,
  }).catch(() => {
    throw unreachable();
  });
  const json = await response.json().catch(() => null);
  if (!response.ok) throw errorOf(json, response.status);
  return json;
}

/** Name the report that a file can replace, with what would be different. */
function showReplaced({ row }, replaces) {
  const { title } = replaces;
  const known = t("“{title}” is here already.", { title });
  row
    .querySelector(".staged-note")
    .after(foldedDifferences(replaces, `${known} ${summaryOf(replaces)}`));
}

function show(item, { proposed, notes, replaces, error }) {
  const { row } = item;
  item.replaces = replaces;
  if (replaces) showReplaced(item, replaces);
  item.proposed = Object.fromEntries(
    proposed.map(({ field, value, taken }) => [field, { value: String(value), taken }]),
  );
  showText(row.querySelector(".staged-note"), notes.map(translated).join(" "));
  showText(row.querySelector(".file-error"), translated(error));
  row.querySelector(".staged-fields").hidden = Boolean(error);
  for (const { field, value, origin, taken, words } of proposed) {
    const input = row.querySelector(`[data-name=${CSS.escape(field)}]`);
    if (!input || input.value) continue;
    input.value = value;
    input.title = words ?? "";
    const from = ORIGINS[origin] ?? origin;
    input.previousElementSibling.textContent = taken
      ? from
      : t("{origin}, please check", { origin: from });
  }
}

/**
 * Look into the documents that have not been read yet, a few at a time. `onRead` is
 * called after each.
 */
export function lookInto(items, onRead) {
  if (items.length > MAX_LOOKED) return;
  const next = items.find((item) => !item.isAsked && item.isRead !== false);
  if (!next || running >= AT_ONCE) return;
  next.isAsked = true;
  running += 1;
  showText(
    next.row.querySelector(".staged-note"),
    t("Reading what it says about itself …"),
  );
  request(next)
    .then(
      ({ files: [file] }) => {
        show(next, file);
        next.isRead = !file.error;
      },
      (error) => {
        if (!(error instanceof ApiError)) throw error;
        next.isRead = false;
        showText(next.row.querySelector(".staged-note"), "");
      },
    )
    .finally(() => {
      running -= 1;
      onRead();
      lookInto(items, onRead);
    });
  lookInto(items, onRead);
}

/**
 * Return what a person states about one document: values that the server would not take
 * by itself, null for none.
 */
function statedOf({ row, isRead, proposed }) {
  if (!isRead) return {};
  return Object.fromEntries(
    [...row.querySelectorAll("[data-name]")].flatMap(({ dataset: { name }, value }) => {
      const [text, { value: known = "", taken = false } = {}] = [
        value.trim(),
        proposed[name],
      ];
      if (text === known && (taken || !text)) return [];
      return text || name !== "title" ? [[name, text || null]] : [];
    }),
  );
}

/**
 * Return the fields of the form for one document: of those that it has itself, its own
 * count.
 */
export const fieldsFor = (item, fields) => ({
  ...Object.fromEntries(
    fields.filter(
      ([name]) => !item.isRead || !item.row.querySelector(`[data-name=${name}]`),
    ),
  ),
  ...statedOf(item),
});
