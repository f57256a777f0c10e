import { element } from "./dom.js";

const escapeRegExp = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Headings and bold of the report, the rest word for word: evidence must not be reformatted. */
function formatLine(line) {
  const heading = /^#{1,6}\s+(.+?)\s*$/.exec(line);
  if (heading) return [element("strong", { className: "passage-heading", text: heading[1] })];
  return line.split(/\*\*(.+?)\*\*/).map((part, index) => (index % 2 ? element("strong", { text: part }) : part));
}

const formatParagraph = (text) =>
  text.split("\n").flatMap((line, index) => (index ? ["\n", ...formatLine(line)] : formatLine(line)));

const gap = () => element("span", { className: "passage-gap" });

export const formatText = (text) =>
  text.split(/\n\s*\n/).flatMap((part, index) => (index ? [gap(), ...formatParagraph(part)] : formatParagraph(part)));

/** White space may differ, because chunks are cut from normalised text. */
function locate(passage, widerText) {
  const words = passage.trim().split(/\s+/).map(escapeRegExp);
  return new RegExp(words.join("\\s+")).exec(widerText);
}

export function passageNodes(passage, widerText) {
  const match = widerText && passage.trim() && locate(passage, widerText);
  const marked = (text) => element("mark", {}, ...formatText(text));
  if (!match) return [marked(passage.trim())];
  const end = match.index + match[0].length;
  return [
    ...formatText(widerText.slice(0, match.index)),
    marked(match[0]),
    ...formatText(widerText.slice(end)),
  ];
}
