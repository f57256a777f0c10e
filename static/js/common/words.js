/**
 * Texts of the interface. The English text is the key: an English page loads no
 * translations.
 */
const { lang, dataset } = document.documentElement;
const words = dataset.words ? await (await fetch(dataset.words)).json() : {};
const plurals = new Intl.PluralRules(lang);

/**
 * The locale of numbers and dates: digits are those of the quotations in Arabic too.
 */
export const locale = lang === "ar" ? "ar-u-nu-latn" : lang;
export const language = lang;

/**
 * From right to left, a name in Latin letters keeps its own direction: a colon behind
 * it would jump before it.
 */
const placed = (value) =>
  document.dir === "rtl" && /[a-z]/i.test(value) ? `\u2068${value}\u2069` : value;

/**
 * Return an English text in the language of the page with its {placeholders} filled.
 */
export const t = (text, values = {}) =>
  (words[text] ?? text).replace(/\{(\w+)\}/g, (placeholder, name) =>
    placed(values[name] ?? placeholder),
  );

/** The least letters of a message besides its values: shorter texts are too alike. */
const MIN_LETTERS = 12;
let patterns = null;

/**
 * Return texts with places for values as patterns of whole messages, those that say
 * most first.
 */
function readPatterns() {
  const parts = Object.keys(words).map((text) => ({
    text,
    between: text.split(/\{\w+\}/),
  }));
  const letters = ({ between }) => between.join("").length;
  return parts
    .filter((one) => one.between.length > 1 && letters(one) >= MIN_LETTERS)
    .toSorted((a, b) => letters(b) - letters(a))
    .map(({ text, between }) => ({
      text,
      names: text.match(/(?<=\{)\w+(?=\})/g),
      pattern: new RegExp(
        `^${between.map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("([^]*?)")}$`,
      ),
    }));
}

/**
 * Return a message of the server, which comes in English with its values, in the
 * language of the page.
 */
export function translated(message) {
  if (!message || !dataset.words || message in words) return words[message] ?? message;
  patterns ??= readPatterns();
  for (const { text, names, pattern } of patterns) {
    const values = pattern.exec(message)?.slice(1);
    if (values)
      return t(
        text,
        Object.fromEntries(names.map((name, index) => [name, t(values[index])])),
      );
  }
  // A message about a field begins with its name.
  const [, field, rest] = /^([\w.]+: )([^]+)$/.exec(message) ?? [];
  return field ? field + translated(rest) : message;
}

/** Between names in a row. */
export const comma = t(", ");

/**
 * Return "1 passage" or "2 passages" for an English noun. A language with more forms
 * has a text for each: "{number} passages|few".
 */
export function count(number, noun) {
  const category = plurals.select(number);
  const several = `{number} ${noun.replace(/(?<=[^aeiou])y$/, "ie")}s`;
  const form = `${several}|${category}`;
  const text = category === "one" ? `{number} ${noun}` : several;
  return t(form in words ? form : text, { number: number.toLocaleString(locale) });
}

/** Return "a and b", or with `type` "disjunction" "a or b". */
export const listed = (
  parts,
  /** @type {"conjunction" | "disjunction"} */ type = "conjunction",
) => new Intl.ListFormat(lang, { type }).format(parts.map(String));
