/** What the page's language calls the indicators and countries of the library. */
import { getJson } from "./api.js";
import { keepCountryNames } from "./format.js";
import { language } from "./words.js";

const MAX_NAMES = "1000";
/** An answer does not wait for names any longer, in milliseconds. */
const PATIENCE_MS = 1500;

async function readNames() {
  const { indicators } = await getJson(`/api/indicators?limit=${MAX_NAMES}`);
  return new Map(
    indicators
      .filter((one) => one.local_name)
      .map(({ name, local_name: local }) => [name, local]),
  );
}

/** A page without a scope to choose has not read the countries. */
async function readCountries() {
  const facets = await getJson("/api/facets?").catch(() => ({}));
  return keepCountryNames(facets);
}

const none = new Map();
const patience = () => new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, none));
const names =
  language === "en"
    ? none
    : await Promise.race([readNames().catch(() => none), patience()]);
if (language !== "en" && !keepCountryNames({}))
  await Promise.race([readCountries(), patience()]);

/** Return the local name of an indicator, else its name in the reports. */
export function nameOf(indicator) {
  const [heading, ...labels] = indicator.split(": ");
  const local = names.get(indicator);
  const text = [local ?? names.get(heading) ?? heading, ...(local ? [] : labels)].join(
    ": ",
  );
  return text.charAt(0).toUpperCase() + text.slice(1);
}
