/** The text of passages. Only headings and bold text are formatted: evidence is shown word for word. */
import { element } from "./dom.js";

/** Whether a file is shown page by page. */
export const isPdf = (file) => /\.pdf$/i.test(file ?? "");

function formatLine(line) {
  const heading = /^#{1,6}\s+(.+?)\s*$/.exec(line);
  if (heading) return [element("strong", { className: "passage-heading", text: heading[1] })];
  return line.split(/\*\*(.+?)\*\*/).map((part, index) => (index % 2 ? element("strong", { text: part }) : part));
}

/** Return the items with a separator between them. */
const between = (items, separator) => items.flatMap((item, index) => (index ? [separator(), ...item] : item));

export const formatText = (text) => between(text.split(/\n\s*\n/)
  .map((paragraph) => between(paragraph.split("\n").map(formatLine), () => "\n")), () => element("span", { className: "passage-gap" }));

/** Return a text as a pattern that matches it. */
export const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Return the text around a passage with the passage marked, or the passage alone. White space may differ. */
export function passageNodes(passage, widerText) {
  const words = passage.trim().split(/\s+/).map(escaped);
  const match = widerText && passage.trim() && new RegExp(words.join("\\s+")).exec(widerText);
  const marked = (text) => element("mark", {}, ...formatText(text));
  if (!match) return [marked(passage.trim())];
  const end = match.index + match[0].length;
  return [...formatText(widerText.slice(0, match.index)), marked(match[0]), ...formatText(widerText.slice(end))];
}
