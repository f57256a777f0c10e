/**
 * Answers as HTML: Markdown is parsed, sanitised, and shown so that only what changes
 * is touched.
 */
import DOMPurify from "../../vendor/dompurify-3.5.0.js";
import { Marked } from "../../vendor/marked-18.2.1.js";
import { element } from "../common/dom.js";
import { plainQuotes } from "../common/passage.js";
import { t } from "../common/words.js";

const skip = () => undefined;
const STRUCK = /^~~(?=[^\s~])([^]*?[^\s~])~~(?!~)/;
const TAG = /^<(br|sub|sup)\s*\/?>/i;

/**
 * Read the three tags that models write because Markdown has no signs for them: <br>,
 * <sub> and <sup>.
 */
const lineAndScript = {
  name: "lineAndScript",
  level: "inline",
  start: (text) => text.search(/<(?:br|su[bp])\b/i),
  tokenizer(text) {
    const [open, name = ""] = TAG.exec(text) ?? [];
    if (!open) return undefined;
    const tag = name.toLowerCase();
    if (tag === "br") return { type: "lineAndScript", raw: open, tag, tokens: [] };
    const end = text.toLowerCase().indexOf(`</${tag}>`);
    if (end < 0) return undefined;
    const inner = text.slice(open.length, end);
    return {
      type: "lineAndScript",
      raw: text.slice(0, end + tag.length + 3),
      tag,
      tokens: this.lexer.inlineTokens(inner),
    };
  },
  renderer({ tag, tokens }) {
    return tag === "br"
      ? "<br>"
      : `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`;
  },
};

const BOLD = /^\*\*(?![\s*])((?:[^*\\]|\\[^])+?)(?<!\s)\*\*(?!\*)/;
const CJK =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\u3000-\u303f\uff00-\uffef]/u;

/**
 * Read bold beside Chinese, Japanese and Korean, which have no spaces between words:
 * Markdown's rule asks for them.
 */
const boldBesideCjk = {
  name: "boldBesideCjk",
  level: "inline",
  start: (text) => text.indexOf("**"),
  tokenizer(text) {
    const [raw, inner] = BOLD.exec(text) ?? [];
    if (!raw || !CJK.test(inner + text.charAt(raw.length))) return undefined;
    return { type: "strong", raw, text: inner, tokens: this.lexer.inlineTokens(inner) };
  },
};

const FORMULA =
  /^(?:\\\([^]+?\\\)|\\\[([^]+?)\\\]|\$\$[^$]+?\$\$|\$(?!\s)((?:[^$\\\n]|\\.)+?)(?<!\s)\$(?!\w))/;

/** Tell a formula from two prices: it has a sign of TeX, or its letters stand alone. */
const isFormula = (text) =>
  /[\\^_={}]/.test(text) || (/[a-z]/i.test(text) && !/[a-z]{2}/i.test(text));

/** Tell a formula from words in brackets, whose signs of Markdown are escaped. */
const isDisplayed = (text) => /[\\^_{}]/.test(text.replace(/\\[\\`*_[\]<>|#]/g, ""));

/**
 * Show formulas as they are written: \(...\), \[...\], $...$ and $$...$$. Markdown
 * would take their signs for its own.
 */
const formula = {
  name: "formula",
  level: "inline",
  start: (text) => text.search(/\\[([]|(?<!\w)\$/),
  tokenizer(text) {
    const [raw, bracketed, priced] = FORMULA.exec(text) ?? [];
    if (!raw) return undefined;
    // A document's own [1] is no citation: as code it is not made one.
    if (/^[\d,\s]+$/.test(bracketed))
      return { type: "formula", raw, shown: `[${bracketed}]` };
    if (bracketed && !isDisplayed(bracketed)) return undefined;
    if (priced && !isFormula(priced)) return undefined;
    return { type: "formula", raw, shown: raw };
  },
  renderer: ({ shown }) => `<code>${escapeHtml(shown)}</code>`,
};

const escapeHtml = (text) =>
  text.replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`);

const parser = new Marked({
  gfm: true,
  extensions: /** @type {any[]} */ ([lineAndScript, boldBesideCjk, formula]),
  tokenizer: {
    // HTML stays visible as text. A link definition could turn [1] into a link.
    html: skip,
    tag: skip,
    def: skip,
    // A single tilde means "about": "~$120B (~$55B)".
    del(text) {
      const [raw, inner] = STRUCK.exec(text) ?? [];
      return raw
        ? { type: "del", raw, text: inner, tokens: this.lexer.inlineTokens(inner) }
        : undefined;
    },
  },
  renderer: {
    heading({ tokens, level = 6 }) {
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    image: ({ text }) => escapeHtml(text),
  },
});

const ALLOWED = {
  ALLOWED_TAGS: [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
  ],
  ALLOWED_ATTR: ["align", "href", "start"],
  ADD_URI_SAFE_ATTR: ["align", "start"],
  ALLOWED_URI_REGEXP: /^https?:\/\//i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName !== "A") return;
  node.setAttribute("rel", "noopener noreferrer");
  node.setAttribute("target", "_blank");
});

/** Leave out a citation or link that is still arriving: it would flicker. */
export const withholdOpenBracket = (text) =>
  text.replace(/\[[^[\]\n]{0,120}$|\[[^[\]\n]{1,120}\]\([^()\s]*$/, "");

/**
 * Make the first cell of a row its header, unless it has a citation and so states
 * something. An empty header is none.
 */
function nameCells(fragment) {
  for (const header of fragment.querySelectorAll("thead th")) {
    if (header.textContent.trim()) header.setAttribute("scope", "col");
    else header.replaceWith(element("td"));
  }
  for (const cell of fragment.querySelectorAll("tbody td:first-child")) {
    if (cell.querySelector("button") || !cell.textContent.trim()) continue;
    const header = element("th", { scope: "row" }, ...cell.childNodes);
    if (cell.hasAttribute("align"))
      header.setAttribute("align", cell.getAttribute("align"));
    cell.replaceWith(header);
  }
}

const NO_NAME = /^(?:\P{L}|sources?|passages?|citations?|refs?)*$/iu;

/**
 * Show the host beside a link, whatever its text says. A link that looks like a
 * citation becomes text.
 */
function showHosts(fragment) {
  for (const link of fragment.querySelectorAll("a")) {
    const url = URL.canParse(link.href) && new URL(link.href);
    const host = url
      ? [element("bdi", { className: "link-host", text: ` (${url.host})` })]
      : [];
    if (!url || NO_NAME.test(link.textContent))
      link.replaceWith(...link.childNodes, ...host);
    else if (link.textContent !== link.getAttribute("href") || url.username)
      link.append(...host);
  }
}

/** What is wider than the page scrolls in its own box, also with the keyboard. */
function beRegion(box, label) {
  for (const [name, value] of Object.entries({
    role: "group",
    "aria-label": label,
    tabindex: "0",
  })) {
    if (label) box.setAttribute(name, value);
    else box.removeAttribute(name);
  }
}

function renderBlock(block, decorate) {
  const fragment = DOMPurify.sanitize(parser.parser([block]), ALLOWED);
  showHosts(fragment);
  decorate(fragment);
  nameCells(fragment);
  for (const code of fragment.querySelectorAll("pre")) beRegion(code, t("Code"));
  return fragment;
}

const isSame = (one, other) =>
  one.nodeName === other.nodeName &&
  (!(one instanceof Element) || one.cloneNode().isEqualNode(other.cloneNode()));

/**
 * Give a node the content of another. What is the same already stays, and with it a
 * selection and the focus.
 */
function grow(shown, target) {
  const children = [...target.childNodes];
  children.forEach((next, index) => {
    const now = shown.childNodes[index];
    if (!now) shown.append(next);
    else if (!isSame(now, next)) now.replaceWith(next);
    else if (now instanceof Text) {
      if (next.data.startsWith(now.data))
        now.appendData(next.data.slice(now.data.length));
      else now.data = next.data;
    } else grow(now, next);
  });
  while (shown.childNodes.length > children.length) shown.lastChild.remove();
}

/**
 * Return a function that shows Markdown in the container, block by block. `decorate`
 * gets each sanitised block.
 */
export function markdownView(container, decorate) {
  const shown = [];
  return (markdown) => {
    const blocks = parser
      .lexer(plainQuotes(markdown))
      .filter((block) => block.type !== "space");
    // An answer's headings come below the question's, and no level is left out.
    const above = [];
    for (const heading of /** @type {any[]} */ (
      blocks.filter(({ type }) => type === "heading")
    )) {
      while (above.at(-1) >= heading.depth) above.pop();
      heading.level = Math.min(above.push(heading.depth) + 2, 6);
    }
    blocks.forEach((block, index) => {
      const raw = block.raw.trimEnd();
      if (shown[index] === raw) return;
      const holder =
        container.children[index] ??
        container.appendChild(element("div", { dir: "auto" }));
      grow(holder, renderBlock(block, decorate));
      beRegion(holder, block.type === "table" ? t("Table") : "");
      shown[index] = raw;
    });
    while (container.children.length > blocks.length)
      container.lastElementChild.remove();
    shown.length = blocks.length;
  };
}
