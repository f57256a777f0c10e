import { addressOf } from "./address.js";
import { getJson } from "../common/api.js";
import { showError, wireDialog } from "../common/components.js";
import { byId, element, hasKeyboard } from "../common/dom.js";
import { dayLabel } from "../common/format.js";
import { t } from "../common/words.js";

const dialog = byId("conversations");
const list = byId("conversation-list");
const search = byId("conversation-search");
const toggle = byId("conversations-button");
// Beside the page where there is room, else a modal sheet (the width is the one of conversations.css).
const hasRoom = matchMedia("(min-width: 64rem)");
const CLOSED = "conversations-closed";
const WAIT_MS = 200;
let on;
let shown = [];
let following = null;
let pending = null;
let known = false;

const links = () => /** @type {HTMLAnchorElement[]} */ ([...list.querySelectorAll("a")]);

const isDocked = () => dialog.open && !dialog.matches(":modal");

function showToggle() {
  toggle.hidden = !known;
  toggle.setAttribute("aria-expanded", String(dialog.open));
  document.body.classList.toggle("has-list", isDocked());
}

/** Without a conversation there is nothing to show; beside the page it stays as it was left. */
function settle() {
  const wanted = known && hasRoom.matches && !localStorage.getItem(CLOSED);
  if (dialog.open && (!wanted || !isDocked()) && (hasRoom.matches || isDocked())) dialog.close();
  if (wanted && !dialog.open) {
    const before = document.activeElement;
    dialog.show();
    // What opens by itself takes nobody's focus.
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    if (dialog.contains(document.activeElement)) /** @type {HTMLElement} */ (document.activeElement).blur();
  }
  showToggle();
}

function setOpen(open) {
  if (hasRoom.matches) {
    if (open) localStorage.removeItem(CLOSED);
    else localStorage.setItem(CLOSED, "yes");
    settle();
  } else if (open) {
    dialog.showModal();
  } else {
    dialog.close();
  }
  if (open && hasKeyboard()) search.focus();
  if (!open) toggle.focus();
}

/** One of the list can be reached by Tab, the others from there by the arrow keys. */
function setStop(link) {
  for (const other of links()) {
    const isStop = other === link;
    other.tabIndex = isStop ? 0 : -1;
    /** @type {HTMLElement} */ (other.nextElementSibling).tabIndex = isStop ? 0 : -1;
  }
}

function item({ conversation_id: id, title, share }) {
  const link = element("a", { href: addressOf(id), "data-id": id, text: title || t("Untitled") });
  const more = element("button", {
    type: "button", className: "button quiet icon-only more", "aria-label": t("Rename, share, export or delete: {title}", { title }),
    "aria-haspopup": "true",
  }, byId("more-icon").content.cloneNode(true));
  const row = element("li", { className: "conversation" }, link, more);
  if (share) row.append(element("span", { className: "visually-hidden", text: t("(shared)") }));
  return row;
}

function show() {
  const groups = Map.groupBy(shown, ({ updated_at: at_ }) => dayLabel(at_));
  list.replaceChildren(...[...groups].map(([label, conversations]) => element("section", {},
    element("h3", { className: "eyebrow", text: label }), element("ul", { role: "list" }, ...conversations.map(item)))));
  byId("conversations-more").hidden = !following;
  byId("conversations-none").hidden = shown.length > 0;
  showCurrent(on.current());
}

/** Marks the one that the page shows. */
export function showCurrent(id) {
  for (const link of links()) {
    if (link.dataset.id === id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  setStop(links().find((link) => link.dataset.id === id) ?? links()[0]);
}

async function load({ cursor = "" } = {}) {
  pending?.abort();
  pending = new AbortController();
  const wanted = new URLSearchParams({ search: search.value.trim(), cursor });
  try {
    const { conversations, next } = await getJson(`/api/conversations?${wanted}`, pending.signal);
    shown = cursor ? [...shown, ...conversations] : conversations;
    following = next;
    known ||= shown.length > 0;
    if (!search.value.trim() && !shown.length) known = false;
    show();
    settle();
    showError(byId("conversations-error"), null);
  } catch (error) {
    if (error.name !== "AbortError") showError(byId("conversations-error"), error);
  }
}

/** After something has begun or changed, here or in another window. */
export const refreshList = () => (on ? load() : undefined);

const rowOf = (id) => list.querySelector(`[data-id="${id}"]`);

/** Back to where the menu was opened, which may have been drawn anew. */
const focusRow = (id) => (rowOf(id) ?? links()[0] ?? search).focus();

let actions = null;

/** What can be done with a conversation is loaded when it is wanted first. */
async function withActions(use) {
  const { wireActions } = await import("./actions.js");
  actions ??= wireActions({ ...on, load, focusRow });
  use(actions);
}

const conversationOf = (row) => shown.find(({ conversation_id: id }) => id === row.querySelector("a").dataset.id);

function wireKeys() {
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = /** @type {Element} */ (event.target).closest("li");
    if (!row || (!step && event.key !== "F2" && event.key !== "Delete")) return;
    event.preventDefault();
    const link = row.querySelector("a");
    if (step) {
      const next = links()[links().indexOf(link) + step] ?? link;
      setStop(next);
      return next.focus();
    }
    const chosen = conversationOf(row);
    withActions(({ act }) => act(event.key === "F2" ? "rename" : "delete", chosen));
  });
}

function wireRows() {
  list.addEventListener("click", (event) => {
    const row = /** @type {Element} */ (event.target).closest("li");
    if (!row) return;
    if (!(/** @type {Element} */ (event.target).closest("a"))) {
      const chosen = conversationOf(row);
      return withActions(({ openMenu }) => openMenu(chosen, row.querySelector("button")));
    }
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    on.onOpen(row.querySelector("a").dataset.id);
    if (!isDocked()) dialog.close();
  });
}

/** `onOpen` shows a conversation, `onGone` none, where the one that is shown was deleted; `current` says which it is. */
export function wireList(callbacks) {
  on = callbacks;
  let timer = 0;
  toggle.addEventListener("click", () => setOpen(!dialog.open));
  byId("conversations-close").addEventListener("click", () => setOpen(false));
  byId("conversations-more").addEventListener("click", () => load({ cursor: following }));
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(load, WAIT_MS);
  });
  wireDialog(dialog);
  wireRows();
  wireKeys();
  dialog.addEventListener("close", showToggle);
  hasRoom.addEventListener("change", settle);
  document.addEventListener("visibilitychange", () => document.hidden || load());
}
