/**
 * The list of conversations: beside the page where there is room, otherwise a modal
 * sheet. It opens when a person opens it, and then stays beside the page.
 */
import { addressOf, go } from "./conversation.js";
import { store } from "./store.js";
import { getJson } from "../common/api.js";
import { byId, element, hasKeyboard, showError, wireDialog } from "../common/dom.js";
import { dayLabel, outdatedText } from "../common/format.js";
import { t } from "../common/words.js";

const dialog = byId("conversations");
const list = byId("conversation-list");
const search = byId("conversation-search");
const onlyShared = byId("conversations-shared");
const toggle = byId("conversations-button");
const hasRoomBeside = matchMedia("(min-width: 56.25rem)");
const hasRoomForThree = matchMedia("(min-width: 80rem)");
const OPENED = "conversations-opened";
const TYPING_MS = 200;
let pending = null;

const links = () =>
  /** @type {HTMLAnchorElement[]} */ ([...list.querySelectorAll("a")]);

/** Whether the list fits beside the page, and beside the passage if one is open. */
const hasRoom = () =>
  hasRoomForThree.matches ||
  (hasRoomBeside.matches &&
    !(/** @type {HTMLDialogElement} */ (byId("evidence")).open));

const isDocked = () => dialog.open && !dialog.matches(":modal");

export const showListError = (error) => showError(byId("conversations-error"), error);

function showToggle() {
  toggle.hidden = !store.hasConversations;
  toggle.setAttribute("aria-expanded", String(dialog.open));
  document.body.classList.toggle("has-list", isDocked());
}

/**
 * Dock or undock the list: without conversations it is hidden, and beside the page it
 * stays as the person left it, at first closed.
 */
function arrange() {
  const isWanted = store.hasConversations && hasRoom() && localStorage.getItem(OPENED);
  if (dialog.open && (!isWanted || !isDocked()) && (hasRoom() || isDocked()))
    dialog.close();
  if (isWanted && !dialog.open) {
    const before = document.activeElement;
    dialog.show();
    // A list that opens by itself must not take the focus.
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    if (dialog.contains(document.activeElement))
      /** @type {HTMLElement} */ (document.activeElement).blur();
  }
  showToggle();
}

function setOpen(isOpen) {
  if (hasRoom()) {
    if (isOpen) localStorage.setItem(OPENED, "yes");
    else localStorage.removeItem(OPENED);
    arrange();
  } else if (isOpen) dialog.showModal();
  else dialog.close();
  if (isOpen && hasKeyboard()) search.focus();
  if (!isOpen) toggle.focus();
}

/** Tab reaches one conversation, the arrow keys the others. */
function setStop(link) {
  for (const other of links()) {
    other.tabIndex = other === link ? 0 : -1;
    /** @type {HTMLElement} */ (other.nextElementSibling).tabIndex = other.tabIndex;
  }
}

/** Mark the conversation that the page shows. */
function showCurrent(id) {
  for (const link of links()) {
    if (link.dataset.id === id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  setStop(links().find((link) => link.dataset.id === id) ?? links()[0]);
}

function item({ conversation_id: id, title, share, kind, outdated }) {
  const link = element("a", {
    href: addressOf(id),
    "data-id": id,
    text: title || t("Untitled"),
  });
  const more = element(
    "button",
    {
      type: "button",
      className: "button quiet icon-only more",
      "aria-label": t("Rename, share, export or delete: {title}", { title }),
      "aria-haspopup": "true",
    },
    byId("more-icon").content.cloneNode(true),
  );
  const row = element("li", { className: "conversation" }, link, more);
  if (kind) link.prepend(element("span", { className: "kind", text: t("Brief") }), " ");
  if (outdated) {
    link.title = outdatedText(outdated);
    link.prepend(
      element("span", { className: "outdated-mark", text: "!", "aria-hidden": "true" }),
    );
    link.append(
      element("span", { className: "visually-hidden", text: ` (${link.title})` }),
    );
  }
  if (share)
    row.append(element("span", { className: "visually-hidden", text: t("(shared)") }));
  return row;
}

/** Load the list, or with `cursor` its next page. */
export async function loadList(cursor = "") {
  pending?.abort();
  const { signal } = (pending = new AbortController());
  const text = search.value.trim();
  try {
    const query = new URLSearchParams({
      search: text,
      cursor,
      ...(onlyShared.checked && { shared: "true" }),
    });
    const page = await getJson(`/api/conversations?${query}`, signal);
    const conversations = cursor
      ? [...store.conversations, ...page.conversations]
      : page.conversations;
    const isNarrowed = text !== "" || onlyShared.checked;
    store.set({
      conversations,
      nextConversations: page.next,
      hasConversations:
        conversations.length > 0 || (store.hasConversations && isNarrowed),
    });
    const groups = Map.groupBy(conversations, ({ updated_at: date }) => dayLabel(date));
    list.replaceChildren(
      ...[...groups].map(([label, group]) =>
        element(
          "section",
          {},
          element("h3", { className: "eyebrow", text: label }),
          element("ul", { role: "list" }, ...group.map(item)),
        ),
      ),
    );
    byId("conversations-more").hidden = !page.next;
    byId("conversations-shared-only").hidden =
      !onlyShared.checked && !conversations.some(({ share }) => share);
    byId("conversations-none").hidden = conversations.length > 0;
    showCurrent(store.conversationId);
    arrange();
    showListError(null);
  } catch (error) {
    if (error.name !== "AbortError") showListError(error);
  }
}

/** Return the focus to a conversation, whose row may have been drawn again. */
export const focusRow = (id) =>
  (links().find((link) => link.dataset.id === id) ?? links()[0] ?? search).focus();

function onKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const row = event.target.closest("li");
  if (!row || (!step && event.key !== "F2" && event.key !== "Delete")) return;
  event.preventDefault();
  const link = row.querySelector("a");
  if (!step)
    return store.emit("act", {
      name: event.key === "F2" ? "rename" : "delete",
      conversation: conversationOf(row),
    });
  const target = links()[links().indexOf(link) + step] ?? link;
  setStop(target);
  target.focus();
}

function onClick(event) {
  const row = event.target.closest("li");
  if (!row) return;
  if (!event.target.closest("a"))
    return store.emit("openMenu", {
      conversation: conversationOf(row),
      button: row.querySelector("button"),
    });
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(row.querySelector("a").dataset.id);
  if (!isDocked()) dialog.close();
}

function conversationOf(row) {
  const { id } = row.querySelector("a").dataset;
  return store.conversations.find(({ conversation_id: other }) => id === other);
}

export function wireList() {
  let timer = 0;
  toggle.addEventListener("click", () => setOpen(!dialog.open));
  byId("conversations-close").addEventListener("click", () => setOpen(false));
  byId("conversations-more").addEventListener("click", () =>
    loadList(store.nextConversations),
  );
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(loadList, TYPING_MS);
  });
  onlyShared.addEventListener("change", () => loadList());
  wireDialog(dialog);
  list.addEventListener("click", onClick);
  list.addEventListener("keydown", onKey);
  dialog.addEventListener("close", showToggle);
  for (const width of [hasRoomBeside, hasRoomForThree])
    width.addEventListener("change", arrange);
  store.on("panes", arrange);
  document.addEventListener("visibilitychange", () => document.hidden || loadList());
  store.on("conversationId", showCurrent);
  store.on("stored", () => loadList());
  loadList();
}
