/**
 * The guide to a document: what it is, its chapters and key figures, and questions to
 * begin with.
 */
import { at, getJson } from "../common/api.js";
import { all, cloneTemplate, element, showFacts, showText } from "../common/dom.js";
import { sourceTitle } from "../common/format.js";
import { scopeValue } from "../common/states.js";
import { comma, t, translated } from "../common/words.js";

/**
 * The question that the chat page asks at once. It is not in the address: a foreign
 * link must ask nothing.
 */
export const FIRST_QUESTION = "first-question";

const figureText = ({ text, year, estimate }) =>
  [text, year && `(${[year, estimate && t("estimate")].filter(Boolean).join(comma)})`]
    .filter(Boolean)
    .join(" ");

function questionLink(document, question) {
  const link = element("a", {
    href: at(`/?document=${encodeURIComponent(document.document_id)}`),
    text: question,
  });
  link.addEventListener("click", () =>
    sessionStorage.setItem(FIRST_QUESTION, question),
  );
  return element("li", {}, link);
}

/** Show what a document is in its guides, also after a change. */
export function showAbout(
  document,
  guides = all(
    globalThis.document,
    `.guide[data-id="${CSS.escape(document.document_id)}"]`,
  ),
) {
  const about = ["country_name", "year", "type"]
    .map((field) => scopeValue(document, field))
    .filter(Boolean)
    .join(" · ");
  for (const guide of guides) {
    guide
      .querySelector(".guide-about")
      .replaceChildren(
        element("strong", { text: sourceTitle(document) }),
        about && ` · ${about}`,
      );
    showText(
      guide.querySelector(".guide-note"),
      (document.notes ?? []).map(translated).join(" "),
    );
  }
}

/**
 * Load the guide to a document; null if it cannot be loaded, since it only helps.
 * `onEdit`: where nothing else edits it.
 */
export async function guideTo(document, onEdit = null) {
  const found = await getJson(
    `/api/documents/${encodeURIComponent(document.document_id)}/guide`,
  ).catch(() => null);
  if (!found) return null;
  const guide = cloneTemplate("guide-template");
  guide.dataset.id = document.document_id;
  const edit = guide.querySelector(".guide-edit");
  edit.hidden = !onEdit || !document.may_change;
  edit.addEventListener("click", onEdit);
  showAbout(document, [guide]);
  showText(guide.querySelector(".guide-chapters"), found.chapters.join(comma));
  showFacts(
    guide.querySelector(".guide-figures"),
    Object.fromEntries(found.figures.map((one) => [one.indicator, figureText(one)])),
  );
  guide
    .querySelector(".guide-questions")
    .replaceChildren(
      ...found.questions.map((question) => questionLink(document, question)),
    );
  for (const part of all(guide, ".guide-part"))
    part.hidden = !part.lastElementChild.hasChildNodes();
  return guide;
}
