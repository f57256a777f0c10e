/**
 * The page before the first question: what the library holds, and questions that it can
 * answer.
 */
import { showDraft } from "./composer.js";
import { scope } from "./scope.js";
import { store } from "./store.js";
import { getJson, getReadiness } from "../common/api.js";
import { announce, byId, showText } from "../common/dom.js";
import { comma, count, t } from "../common/words.js";

/** Names of one's own machine. */
const HERE = /^(localhost|127\.[\d.]+|\[::1\])$/;

/** Return "79 reports on 24 countries, 2021 to 2025". */
function contentsOf(facets) {
  const countries = facets.total?.country_name ?? facets.country_name?.length ?? 0;
  const reports = count(facets.documents, "report");
  const years = (facets.year ?? [])
    .map(({ value }) => value)
    .filter(Boolean)
    .sort((one, other) => one - other);
  return [
    countries > 1
      ? t("{reports} on {countries}", {
          reports,
          countries: count(countries, "country"),
        })
      : reports,
    years.length > 1 && t("{first} to {last}", { first: years[0], last: years.at(-1) }),
  ]
    .filter(Boolean)
    .join(comma);
}

/** @param {any} facets of the whole library */
export function showStart(facets) {
  byId("run-here")?.toggleAttribute("hidden", !HERE.test(location.hostname));
  byId("nothing").hidden = facets.documents > 0;
  byId("coverage").hidden = facets.documents === 0 || !facets.year?.length;
  if (facets.documents) showContents(contentsOf(facets));
  // A page that opens with a conversation needs no pictures of the library yet.
  new IntersectionObserver(async ([{ isIntersecting }], observer) => {
    if (!isIntersecting) return;
    observer.disconnect();
    const { showFirst } = await import("./first.js");
    showFirst(facets);
  }).observe(byId("welcome"));
}

/** Say what the library holds, and what it is about once that is known. */
async function showContents(contents) {
  const about = store.topics?.map((topic) => t(topic)).join(comma);
  showText(
    byId("contents"),
    about
      ? t("{reports}: {topics}.", { reports: contents, topics: `\u2068${about}\u2069` })
      : `${contents}.`,
  );
  if (store.topics) return;
  const { topics } = await getJson("/api/topics").catch(() => ({ topics: [] }));
  store.set({ topics });
  showContents(contents);
}

/**
 * Do what a link says: choose the document that it names by its id ("Ask"), and write
 * its question into the box. Resolves to a question that another page of ours was left
 * with; the address alone asks nothing.
 */
export async function followLink() {
  const url = new URL(location.href);
  const id = url.searchParams.get("document");
  const written = url.searchParams.get("question");
  const question = sessionStorage.getItem("first-question");
  sessionStorage.removeItem("first-question");
  if (!id && !written) return null;
  for (const name of ["document", "question"]) url.searchParams.delete(name);
  history.replaceState(history.state, "", url);
  if (!id) {
    if (written !== question) showDraft(written);
    return written === question ? question : null;
  }
  const { document_name: name } = await getJson(
    `/api/documents/${encodeURIComponent(id)}`,
  ).catch(() => ({}));
  if (name) scope.replace({ document_name: [name] });
  return name ? question : null;
}

const POLL_MS = 1500;

/** Show the progress of indexing while there is any; resolves to whether there was. */
export async function watchIndexing() {
  let isSeen = false;
  // A server that does not answer while it indexes is busy, not finished.
  for (
    let state = await getReadiness();
    state?.ingesting || (isSeen && !state);
    state = await getReadiness()
  ) {
    isSeen = true;
    if (state) byId("indexing").hidden = false;
    const samples = state?.sample_data;
    if (samples?.total) {
      byId("indexing-text").textContent = t(
        "Indexing reports: {ready} of {total}",
        samples,
      );
      Object.assign(byId("indexing-progress"), {
        max: samples.total,
        value: samples.ready,
      });
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  byId("indexing").hidden = true;
  if (isSeen) announce(t("The reports are indexed."));
  return isSeen;
}
