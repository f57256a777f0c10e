/** The page before the first question: what there is, examples that it can answer, or the way to add something. */
import { getJson } from "../common/api.js";
import { byId, element } from "../common/dom.js";
import { count, t } from "../common/words.js";

const EXAMPLES = 3;
const GENERAL = t("What are the main points?");

const isThere = ({ filters = {} }, facets) => Object.entries(filters).every(([field, values]) =>
  values.every((value) => (facets[field] ?? []).some((found) => String(found.value) === String(value))));

function example(filters, name) {
  return element("li", {}, element("button", {
    type: "button", className: "example", "data-example": JSON.stringify({ question: GENERAL, filters }),
  }, element("span", { className: "example-question", text: GENERAL }), element("span", { className: "example-scope", text: name })));
}

/** @param {any} facets of everything there is */
export function showStart(facets) {
  byId("nothing").hidden = facets.documents > 0;
  byId("coverage").hidden = facets.documents === 0 || !facets.year?.length;
  const kinds = [["country_name", t("{number} countries")], ["year", t("{number} editions")]].map(([field, plural]) => {
    const total = facets.total?.[field] ?? facets[field]?.length ?? 0;
    return total > 1 && plural.replace("{number}", total);
  });
  byId("coverage-count").textContent = [count(facets.documents, "report"), ...kinds].filter(Boolean).join(", ");
  const list = byId("examples");
  const shown = [...list.querySelectorAll("[data-example]")];
  const wrong = shown.filter(({ dataset }) => !isThere(JSON.parse(dataset.example), facets));
  for (const button of wrong) button.closest("li").remove();
  if (shown.length > wrong.length) return;
  list.append(...(facets.document_name ?? []).slice(0, EXAMPLES).map(({ value }) => example({ document_name: [value] }, value)));
}

/** A link to one document ("Ask this document") names it by its id. */
export async function chooseDocument(scope) {
  const url = new URL(location.href);
  const id = url.searchParams.get("document");
  if (!id) return;
  url.searchParams.delete("document");
  history.replaceState(history.state, "", url);
  const { document_name: name } = await getJson(`/api/documents/${encodeURIComponent(id)}`).catch(() => ({}));
  if (name) scope.replace({ document_name: [name] });
}
