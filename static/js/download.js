import { element } from "./dom.js";

const LONGEST_NAME = 80;
const UNSAFE = /[\p{Cc}\p{Cf}<>:"/\\|?*]+/gu;

/** The first heading of the text, as a file's name that every system takes. */
export function fileName(markdown, otherwise) {
  const heading = /^#{1,6}[ \t]+(\S.*)$/m.exec(markdown)?.[1].replace(/\s[\s#]*$/, "")
    .replace(/(?<!\\)[*`]|\[\d[\d, ]*\]/g, "");
  const name = (heading?.replace(/\\(\p{P}|\p{S})/gu, "$1") || otherwise).replace(UNSAFE, " ").replace(/\s+/g, " ").trim();
  return `${[...name].slice(0, LONGEST_NAME).join("").replace(/^\.+|[. ]+$/g, "") || "report"}.md`;
}

export function saveMarkdown(markdown, otherwise) {
  const url = URL.createObjectURL(new Blob([markdown], { type: "text/markdown;charset=utf-8" }));
  element("a", { href: url, download: fileName(markdown, otherwise) }).click();
  // The browser has to have begun to read it.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
