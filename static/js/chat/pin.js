/**
 * Pinning: adds an answer, a chart, a passage or words to the brief that was shown
 * last, or to a new one.
 */
import { at, sendJson } from "../common/api.js";
import { element } from "../common/dom.js";
import { when } from "../common/format.js";
import { language, t } from "../common/words.js";

const BRIEF = "brief";

/** Let what is pinned from now on be added to this brief; null begins a new one. */
export function chooseBrief(id) {
  if (id) localStorage.setItem(BRIEF, id);
  else localStorage.removeItem(BRIEF);
}

async function beginBrief() {
  const title = t("Brief of {date}", { date: when(new Date().toISOString()) });
  const { conversation_id: id } = await sendJson("POST", "/api/conversations", {
    title,
  });
  chooseBrief(id);
  return id;
}

/** @type {Promise<any>} the item that is added now */
let pending = Promise.resolve();

/**
 * Add an item, as the API takes it, after those that are being added: the first of two
 * quick presses begins the brief of both.
 * @returns {Promise<{brief: string, message_id: string}>}
 */
export function pin(body, brief = "") {
  const added = pending.then(() => addTo(brief || localStorage.getItem(BRIEF), body));
  pending = added.catch(() => null);
  return added;
}

/** A brief that was deleted meanwhile is begun anew. */
async function addTo(brief, body) {
  const add = async (id) => ({
    brief: id,
    ...(await sendJson("POST", `/api/conversations/${id}/items`, {
      ...body,
      ...(body.query && { language }),
    })),
  });
  if (!brief) return add(await beginBrief());
  try {
    return await add(brief);
  } catch (error) {
    // Also said of an answer that is not kept: then the new brief stays out, too.
    if (error.status !== 404 || (await exists(brief))) throw error;
    return add(await beginBrief());
  }
}

async function exists(id) {
  const response = await fetch(at(`/api/conversations/${id}?limit=1`));
  return response.ok;
}

/** Return a link to a brief. */
export const briefLink = (id) =>
  element("a", { href: at(`/c/${id}`), text: t("Open the brief") });

/** Take a pinned item out again. */
export const unpin = ({ brief, message_id: id }) =>
  sendJson("DELETE", `/api/conversations/${brief}/items/${id}`);
