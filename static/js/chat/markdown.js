import DOMPurify from "../../vendor/dompurify-3.4.18.js";
import { Marked } from "../../vendor/marked-18.2.1.js";
import { element } from "../common/dom.js";
import { t } from "../common/words.js";

const skip = () => undefined;

const parser = new Marked({
  gfm: true,
  // HTML stays visible as text. A link definition would let a document turn [1] into its own link.
  tokenizer: { html: skip, tag: skip, def: skip },
  renderer: {
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    image: ({ text }) => text.replace(/[&<>]/g, (mark) => `&#${mark.charCodeAt(0)};`),
  },
});

const ALLOWED = {
  ALLOWED_TAGS: ["a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"],
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

/** Keeps back a citation or link that is still arriving, so that it does not flicker. */
export const withholdOpenBracket = (text) =>
  text.replace(/\[[^[\]\n]{0,120}$|\[[^[\]\n]{1,120}\]\([^()\s]*$/, "");

/** A row is named by its first cell, unless that states something itself: what is stated has a citation. */
function nameCells(fragment) {
  for (const header of fragment.querySelectorAll("thead th")) header.setAttribute("scope", "col");
  for (const cell of fragment.querySelectorAll("tbody td:first-child")) {
    if (cell.querySelector("button") || !cell.textContent.trim()) continue;
    const header = document.createElement("th");
    header.setAttribute("scope", "row");
    if (cell.hasAttribute("align")) header.setAttribute("align", cell.getAttribute("align"));
    header.append(...cell.childNodes);
    cell.replaceWith(header);
  }
}

const NO_NAME = /^(?:\P{L}|sources?|passages?|citations?|refs?)*$/iu;

/** The host stands beside a link, whatever its text says; what could be taken for a citation is no link at all. */
function showHosts(fragment) {
  for (const link of fragment.querySelectorAll("a")) {
    const url = URL.canParse(link.href) && new URL(link.href);
    const host = url ? [element("bdi", { className: "link-host", text: ` (${url.host})` })] : [];
    if (!url || NO_NAME.test(link.textContent)) link.replaceWith(...link.childNodes, ...host);
    else if (link.textContent !== link.getAttribute("href") || url.username) link.append(...host);
  }
}

function renderBlock(block, decorate) {
  const fragment = DOMPurify.sanitize(parser.parser([block]), ALLOWED);
  showHosts(fragment);
  decorate(fragment);
  nameCells(fragment);
  return fragment;
}

/** A wide table scrolls in a box of its own; with the keyboard, too. */
function describeBox(holder, { type }) {
  const attributes = { role: "region", "aria-label": t("Table"), tabindex: "0" };
  for (const [name, value] of Object.entries(attributes)) {
    if (type === "table") holder.setAttribute(name, value);
    else holder.removeAttribute(name);
  }
}

const isSame = (one, other) => one.nodeName === other.nodeName
  && (!(one instanceof Element) || (one.getAttributeNames().length === other.getAttributeNames().length
    && one.getAttributeNames().every((name) => one.getAttribute(name) === other.getAttribute(name))));

/** Makes one node's content that of the other; what is already so stays, and with it a selection and the focus. */
function grow(shown, wanted) {
  const children = [...wanted.childNodes];
  children.forEach((next, index) => {
    const now = shown.childNodes[index];
    if (!now) shown.append(next);
    else if (!isSame(now, next)) now.replaceWith(next);
    else if (now instanceof Text) {
      if (next.data.startsWith(now.data)) now.appendData(next.data.slice(now.data.length));
      else now.data = next.data;
    } else grow(now, next);
  });
  while (shown.childNodes.length > children.length) shown.lastChild.remove();
}

/**
 * Returns a function that shows Markdown in the container. Only what changes is touched: focus and selection survive
 * the stream.
 */
export function markdownView(container, decorate) {
  const shown = [];
  return (markdown) => {
    const blocks = parser.lexer(markdown).filter((block) => block.type !== "space");
    blocks.forEach((block, index) => {
      const raw = block.raw.trimEnd();
      if (shown[index] === raw) return;
      const holder = container.children[index] ?? container.appendChild(document.createElement("div"));
      grow(holder, renderBlock(block, decorate));
      describeBox(holder, block);
      shown[index] = raw;
    });
    while (container.children.length > blocks.length) container.lastElementChild.remove();
    shown.length = blocks.length;
  };
}
