import { at } from "../common/api.js";

const DRAFT = "draft:";

/** Of the conversation that the address names; null = a new one. */
export const idInAddress = () => /\/c\/([\w-]{1,64})$/.exec(location.pathname)?.[1] ?? null;

/** The page of a conversation, in the scope that is chosen now. */
export function addressOf(id) {
  const url = new URL(location.href);
  url.pathname = at(id ? `/c/${id}` : "/");
  url.hash = "";
  return url.href;
}

/** From now on the address names this conversation; Back leads to the one before. */
export function goTo(id) {
  if (id === idInAddress()) return;
  // A sheet's own entry (`watchSheets`) becomes that of the page it leads to.
  if (history.state?.sheet) history.replaceState(null, "", addressOf(id));
  else history.pushState(null, "", addressOf(id));
}

/** What is being written in a conversation outlives a reload, in this tab. */
export const keepDraft = (id, text) => {
  if (text) sessionStorage.setItem(DRAFT + (id ?? ""), text);
  else sessionStorage.removeItem(DRAFT + (id ?? ""));
};

export const draftOf = (id) => sessionStorage.getItem(DRAFT + (id ?? "")) ?? "";
