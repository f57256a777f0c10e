/**
 * How to cite an answer: its figure and its report as a sentence, a footnote, BibTeX,
 * RIS and a link.
 */
import { wireCopy } from "./copy.js";
import { at } from "../common/api.js";
import { all, element, wireDialog } from "../common/dom.js";
import { isAttachment, sourceTitle, when } from "../common/format.js";
import { splitAtCited } from "../common/passage.js";
import { comma, t } from "../common/words.js";

const isoDay = () => new Date().toISOString().slice(0, 10);
const publishedYear = ({ publication_date: date, year }) =>
  String(date ?? year ?? "").slice(0, 4);

/** Return the address of a report where it was published, else of its passage here. */
const linkOf = (source) =>
  source.source_url ||
  (isAttachment(source)
    ? ""
    : new URL(at(`/passages/${source.chunk_id}`), location.href).href);

/** Return "Kenya, Inflation rate: 4.5 % (2024, estimate)". */
const figureText = ({ subject, indicator, text, year, estimate }) => {
  const note = [year, estimate && t("estimate")].filter(Boolean).join(comma);
  return `${subject}, ${indicator}: ${text}${note ? ` (${note})` : ""}`;
};

const pageOf = ({ page }) => page && t("page {page}", { page });

function reportText(source) {
  const makers = (source.authors ?? []).join("; ") || source.publisher;
  const published = source.authors?.length ? source.publisher : "";
  const title = sourceTitle(source);
  return [
    // "Turkana Water Trust: Annual Report 2024" names its publisher already.
    makers && title.startsWith(makers) ? "" : makers,
    title,
    published,
    when(source.publication_date),
    pageOf(source),
  ]
    .filter(Boolean)
    .join(comma);
}

/** Return a quotation of the answer without the signs of Markdown. */
const plainText = (markdown) =>
  markdown.replace(/(?<!\\)\*\*/g, "").replace(/\\([^\p{L}\p{N}\s])/gu, "$1");

/**
 * Return what an answer cites of a source, in quotation marks: its quotations, else the
 * sentence of the passage that is nearest to its own words; "" where none is.
 */
function quoted(source, response) {
  const end = `” \\[${source.number}\\]`;
  const quotations = [
    ...response.matchAll(new RegExp(`“((?:(?!” \\[\\d).)+)${end}`, "g")),
  ].map(([, text]) => `“${plainText(text)}”`);
  if (quotations.length) return [...new Set(quotations)].join(" ");
  const lines = response.split("\n");
  const said = lines.filter((line) => line.includes(`[${source.number}]`)).join("\n");
  const passage = (source.text ?? source.snippet ?? "").trim();
  const [whole, cited] = splitAtCited(passage, plainText(said));
  const text = (cited || whole).replace(/\s+/g, " ").trim();
  return text && said ? `“${plainText(text)}”` : "";
}

const accessed = () => t("accessed {date}", { date: when(new Date().toISOString()) });

/** Escape what TeX would read as a command. */
const tex = (text) =>
  String(text)
    .replace(/[{}\\]/g, "")
    .replace(/[&%$#_]/g, "\\$&");

function bibtexOf(source, said) {
  const [title, year] = [sourceTitle(source), publishedYear(source)];
  const key = (title.includes(year) ? title : `${title} ${year}`)
    .normalize("NFD")
    .replace(/[^A-Za-z0-9]+/g, "");
  const fields = {
    title,
    author: (source.authors ?? []).join(" and "),
    institution: source.publisher,
    year,
    pages: source.page,
    url: linkOf(source),
    urldate: isoDay(),
    note: said,
  };
  const lines = Object.entries(fields)
    .filter(([, value]) => value)
    .map(([name, value]) => `  ${name} = {${name === "url" ? value : tex(value)}},`);
  return `@techreport{${key || "report"},\n${lines.join("\n")}\n}`;
}

function risOf(source, said) {
  const fields = [
    ["TY", "RPRT"],
    ["TI", sourceTitle(source)],
    ...(source.authors ?? []).map((author) => ["AU", author]),
    ["PB", source.publisher],
    ["PY", publishedYear(source)],
    ["DA", (source.publication_date ?? "").replaceAll("-", "/")],
    ["SP", source.page],
    ["UR", linkOf(source)],
    ["Y2", isoDay().replaceAll("-", "/")],
    ["N1", said],
  ];
  const lines = fields
    .filter(([, value]) => value)
    .map(([tag, value]) => `${tag}  - ${String(value).replace(/\s+/g, " ")}`);
  return [...lines, "ER  - "].join("\n");
}

/**
 * Return the forms of a citation, by their names. `figures`: those of this source;
 * `response`: the text of the answer.
 */
export function formsOf(source, figures, response) {
  const figuresText = figures.map(figureText).join("; ");
  const said = figuresText || quoted(source, response);
  const report = reportText(source);
  const sentence = figuresText ? `${figuresText}.` : said;
  return {
    [t("Sentence")]: sentence
      ? `${sentence} ${report}${comma}${accessed()}.`
      : `${report}.`,
    [t("Footnote")]:
      `${[report, linkOf(source), accessed()].filter(Boolean).join(comma)}.`,
    BibTeX: bibtexOf(source, said),
    RIS: risOf(source, said),
    ...(linkOf(source) && { [t("Link")]: linkOf(source) }),
  };
}

function formsList(source, figures, response) {
  const own = figures.filter(({ citation }) => citation === source.number);
  return Object.entries(formsOf(source, own, response)).map(([name, text]) => {
    const copy = element("button", {
      type: "button",
      className: "button quiet",
      text: t("Copy"),
      "aria-label": t("Copy: {name}", { name }),
    });
    wireCopy(copy, () => text);
    return element(
      "section",
      { className: "cite-form" },
      element(
        "div",
        { className: "cite-head" },
        element("h3", { className: "eyebrow", text: name }),
        copy,
      ),
      element("pre", { className: "cite-text", text, dir: "auto", tabindex: "0" }),
    );
  });
}

/** Open the citation of an answer's first source; the others can be chosen. */
export function openCite({ citations, card, response }) {
  const sources = citations.toSorted((one, other) => one.number - other.number);
  const figures = card?.figures ?? [];
  const forms = element("div", { className: "cite-forms" });
  const choice = /** @type {HTMLSelectElement} */ (
    element(
      "select",
      { "aria-label": t("Source") },
      ...sources.map((source, index) =>
        element("option", {
          value: index,
          text: `${source.number}  ${sourceTitle(source)}`,
        }),
      ),
    )
  );
  const show = () =>
    forms.replaceChildren(
      ...formsList(sources[Number(choice.value)], figures, response),
    );
  choice.addEventListener("change", show);
  choice.hidden = sources.length === 1;
  const close = element("button", {
    type: "button",
    className: "button quiet",
    text: t("Close"),
  });
  const dialog = /** @type {HTMLDialogElement} */ (
    element(
      "dialog",
      { className: "modal cite", "aria-label": t("Cite this answer") },
      element("h2", { text: t("Cite this answer") }),
      choice,
      forms,
      element("div", { className: "form-actions" }, close),
    )
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  wireDialog(dialog);
  document.body.append(dialog);
  show();
  dialog.showModal();
  all(dialog, "button")[0]?.focus();
}
