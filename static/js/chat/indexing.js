import { getReadiness } from "../common/api.js";
import { announce, byId } from "../common/dom.js";
import { t } from "../common/words.js";

const POLL_MS = 1500;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function showProgress({ sample_data: samples }) {
  byId("indexing").hidden = false;
  if (!samples?.total) return;
  byId("indexing-text").textContent = t("Indexing reports: {ready} of {total}", samples);
  Object.assign(byId("indexing-progress"), { max: samples.total, value: samples.ready });
}

/** Shows the indexing progress while there is any; resolves to true if there was. */
export async function watchIndexing() {
  let seen = false;
  // No answer during indexing is a busy server, not the end of the indexing.
  for (let state = await getReadiness(); state?.ingesting || (seen && !state); state = await getReadiness()) {
    seen = true;
    if (state) showProgress(state);
    await sleep(POLL_MS);
  }
  byId("indexing").hidden = true;
  if (seen) announce(t("The reports are indexed."));
  return seen;
}
