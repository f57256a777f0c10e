/** Terms of the glossary, explained where an answer first names them. */
import { textNodes } from "./citations.js";
import { at } from "../common/api.js";
import { element } from "../common/dom.js";
import { escaped } from "../common/passage.js";

const load = async () =>
  (await fetch(at("/api/glossary?labels=false&limit=1000"))).json();
// Without a glossary, or the right to read it, answers stay as they are.
const loading = document.body.dataset.shared ? {} : load().catch(() => ({}));

export async function explainTerms(body) {
  const { entries = [] } = await loading;
  const meanings = new Map(
    entries.map(({ term, heading, meaning }) => [heading || term, meaning]),
  );
  // Of two names that begin alike the longer one is meant.
  const names = [...meanings.keys()]
    .toSorted((one, other) => other.length - one.length)
    .map(escaped);
  const pattern = new RegExp(
    `(?<![\\p{L}\\d])(?:${names.join("|")})(?![\\p{L}\\d])`,
    "gu",
  );
  const unseen = new Set(meanings.keys());
  for (const node of textNodes(body).filter(
    (one) => !one.parentElement.closest("a, button, code"),
  )) {
    const first = [...node.data.matchAll(pattern)].filter(([name]) =>
      unseen.delete(name),
    );
    for (const { 0: name, index } of first.toReversed()) {
      const rest = node.splitText(index);
      rest.splitText(name.length);
      rest.replaceWith(element("abbr", { title: meanings.get(name), text: name }));
    }
  }
}
