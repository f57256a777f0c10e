/** Texts of the interface. The English text is the key: an English page loads no translations. */
const { lang, dataset } = document.documentElement;
const words = dataset.words ? await (await fetch(dataset.words)).json() : {};
const plurals = new Intl.PluralRules(lang);

/** The locale of numbers and dates: digits are those of the quotations in Arabic too. */
export const locale = lang === "ar" ? "ar-u-nu-latn" : lang;
export const language = lang;

/** Return an English text in the language of the page with its {placeholders} filled. */
export const t = (text, values = {}) =>
  (words[text] ?? text).replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder);

/** Return "1 passage" or "2 passages" for an English noun. */
export const count = (number, noun) =>
  t(`{number} ${noun}${plurals.select(number) === "one" ? "" : "s"}`, { number: number.toLocaleString(locale) });

/** Return "a and b", or with `type` "disjunction" "a or b". */
export const listed = (parts, /** @type {"conjunction" | "disjunction"} */ type = "conjunction") =>
  new Intl.ListFormat(lang, { type }).format(parts.map(String));
