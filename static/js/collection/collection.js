/**
 * The documents of a scope, which is in the address: ask them all together, or each the
 * same question. Answers stand in a table and are kept nowhere.
 */
import { markdownView } from "../chat/markdown.js";
import { at, getJson, sendJson } from "../common/api.js";
import { byId, element, onSubmit, showError, showText } from "../common/dom.js";
import { sourcePlace, sourceTitle, valueLabel } from "../common/format.js";
import { scopeValue } from "../common/states.js";
import { comma, count, language, t } from "../common/words.js";

/** Each is a question of its own: more would keep others waiting. */
const MAX_DOCUMENTS = 50;
const AT_ONCE = 2;
const MAX_SOURCES = 3;
const FIELDS = ["collections", "country_name", "year", "type", "document_name"];
const LEAD = /^[^\n]*:\n\n(?=- )/;
const CITATION = /\s?\[\d[\d, ]*\](?!\()/g;

const chosen = [...new URLSearchParams(location.search)].filter(([, value]) => value);
const scope = new URLSearchParams(chosen.filter(([name]) => FIELDS.includes(name)));
/** Text of the titles that are listed, which is no part of a scope. */
const titleText = chosen.find(([name]) => name === "q")?.[1] ?? "";
/** Each document with its row, and once it has answered its texts. */
let rows = [];
/** The questions that run; null while none does. */
let asking = null;

const nameOfScope = () =>
  [...scope]
    .map(([name, value]) => valueLabel(name, value))
    .concat(titleText ? `“${titleText}”` : [])
    .join(comma);

function rowOf(document) {
  const title = sourceTitle(document);
  const about = ["country_name", "year", "type"]
    .map((field) => scopeValue(document, field))
    .filter(Boolean)
    .join(comma);
  const answer = element("td", { className: "each-answer" });
  const node = element(
    "tr",
    {},
    element(
      "th",
      { scope: "row" },
      element("a", {
        href: at(`/?document=${encodeURIComponent(document.document_id)}`),
        text: title,
        dir: "auto",
      }),
      element("p", { className: "each-about", text: about }),
    ),
    answer,
  );
  return { document, title, answer, node, texts: null };
}

function showAnswer(row, { response, citations, answered }) {
  const text = response.replace(LEAD, "").replace(CITATION, "");
  if (!answered) {
    row.texts = ["", ""];
    return row.answer.replaceChildren(
      element("p", { className: "each-none", text: t("Not found in this document") }),
    );
  }
  const sources = citations.slice(0, MAX_SOURCES);
  row.texts = [text, sources.map(sourcePlace).join("; ")];
  row.answer.replaceChildren();
  const body = row.answer.appendChild(element("div"));
  markdownView(body, () => {})(text);
  row.answer.append(
    element(
      "p",
      { className: "each-sources" },
      ...sources.map((citation) =>
        element("a", {
          href: at(`/passages/${encodeURIComponent(citation.chunk_id)}`),
          text: sourcePlace(citation) || t("Passage"),
          dir: "auto",
        }),
      ),
    ),
  );
}

const quoted = (text) => `"${text.replaceAll('"', '""')}"`;

/** Offer the table as a file. A cell that begins like a formula is text. */
function offerFile(question) {
  const lines = rows.map(({ title, texts }) => [title, ...(texts ?? ["", ""])]);
  const csv = [[t("Document"), question, t("Source")], ...lines]
    .map((line) => line.map((text) => quoted(text.replace(/^[=+\-@\t]/, "'$&"))))
    .map((line) => line.join(","))
    .join("\r\n");
  const link = byId("each-file");
  link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(`\uFEFF${csv}`)}`;
  link.download = `${t("Answers")}.csv`;
  link.hidden = false;
}

function showState(done) {
  showText(
    byId("each-state"),
    t("{range} of {total}", { range: done, total: count(rows.length, "document") }),
  );
}

/** Ask the documents, a few at a time, until all have answered or one cannot. */
async function askEach(query) {
  const run = (asking = { isStopped: false });
  const waiting = [...rows];
  let done = 0;
  for (const row of rows) {
    row.texts = null;
    row.answer.replaceChildren();
  }
  showError(byId("collection-error"), null);
  byId("each-file").hidden = true;
  byId("each-stop").hidden = false;
  byId("each-send").disabled = true;
  showState(done);
  async function next() {
    const row = waiting.shift();
    if (!row || run.isStopped) return;
    row.answer.setAttribute("aria-busy", "true");
    const filters = { document_name: row.document.document_name };
    try {
      const body = { query, filters, language, keep: false, auto_scope: false };
      const answer = await sendJson("POST", "/query", body);
      showAnswer(row, answer);
    } finally {
      row.answer.removeAttribute("aria-busy");
    }
    done += 1;
    showState(done);
    await next();
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, next));
  } catch (error) {
    run.isStopped = true;
    showError(byId("collection-error"), error);
  }
  asking = null;
  byId("each-stop").hidden = true;
  byId("each-send").disabled = false;
  if (done) offerFile(query);
}

async function load() {
  byId("collection-name").textContent = nameOfScope() || t("All documents");
  byId("ask-all").href = at(scope.size ? `/?${scope}` : "/");
  const query = new URLSearchParams([
    ...scope,
    ...(titleText ? [["q", titleText]] : []),
    ["status", "ready"],
    ["limit", String(MAX_DOCUMENTS)],
  ]);
  const { documents, total } = await getJson(`/api/documents?${query}`);
  rows = documents.map(rowOf);
  byId("each-rows").replaceChildren(...rows.map(({ node }) => node));
  byId("each").hidden = byId("each-form").hidden = !rows.length;
  const shown = count(total, "document");
  showText(
    byId("collection-total"),
    total > rows.length
      ? t("{documents}; the first {number} are asked.", {
          documents: shown,
          number: rows.length,
        })
      : shown,
  );
}

onSubmit(byId("each-form"), () => {
  const query = byId("each-question").value.trim();
  if (query && !asking) askEach(query);
});
byId("each-stop").addEventListener("click", () => {
  if (asking) asking.isStopped = true;
});
load().catch((error) => showError(byId("collection-error"), error));
