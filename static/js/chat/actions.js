import { at, sendJson } from "../common/api.js";
import { showError, wireDialog } from "../common/components.js";
import { announceNow, byId } from "../common/dom.js";
import { offerUndo } from "../common/toast.js";
import { t } from "../common/words.js";

const menu = byId("conversation-menu");
const renameDialog = byId("rename-dialog");
const shareDialog = byId("share-dialog");
const api = ({ conversation_id: id }, rest = "") => `/api/conversations/${id}${rest}`;
let chosen = null;
let on;

function rename(conversation) {
  chosen = conversation;
  showError(byId("rename-error"), null);
  byId("rename-title").value = conversation.title;
  renameDialog.showModal();
  byId("rename-title").select();
}

function showLink({ share: token }) {
  byId("share-link").value = token ? new URL(at(`/shared/${token}`), location.href).href : "";
  byId("share-made").hidden = !token;
  byId("share-make").hidden = Boolean(token);
}

function share(conversation) {
  chosen = conversation;
  showError(byId("share-error"), null);
  showLink(conversation);
  shareDialog.showModal();
}

/** Shows in the dialog what went wrong; undefined then. */
async function tried(box, work) {
  try {
    showError(box, null);
    return await work();
  } catch (error) {
    showError(box, error);
  }
}

async function makeLink() {
  const made = await tried(byId("share-error"), () => sendJson("POST", api(chosen, "/share")));
  if (!made) return;
  showLink(made);
  byId("share-link").select();
}

async function revoke() {
  const gone = await tried(byId("share-error"), () => sendJson("DELETE", api(chosen, "/share")));
  if (gone === undefined) return;
  showLink({ share: null });
  announceNow(t("The link leads nowhere any more."));
  byId("share-make").focus();
}

async function copyLink() {
  const copied = await navigator.clipboard.writeText(byId("share-link").value).then(() => true, () => false);
  announceNow(copied ? t("Copied") : t("Not copied"));
  byId("share-copy").textContent = copied ? t("Copied") : t("Not copied");
  setTimeout(() => { byId("share-copy").textContent = t("Copy"); }, 2000);
}

async function remove(conversation) {
  const { conversation_id: id, title } = conversation;
  await sendJson("DELETE", api(conversation));
  const wasShown = on.current() === id;
  if (wasShown) on.onGone();
  await on.load();
  offerUndo(t("Deleted: {title}", { title }), async () => {
    await sendJson("PATCH", api(conversation), { deleted: false });
    await on.load();
    if (wasShown) on.onOpen(id);
    announceNow(t("Back again: {title}", { title }));
    on.focusRow(id);
  }, { takeFocus: true });
}

const ACTIONS = { rename, share, delete: remove };

async function act(name, conversation) {
  try {
    await ACTIONS[name](conversation);
    showError(byId("conversations-error"), null);
  } catch (error) {
    showError(byId("conversations-error"), error);
    on.focusRow(conversation.conversation_id);
  }
}

function openMenu(conversation, button) {
  chosen = conversation;
  for (const format of ["markdown", "json"]) {
    menu.querySelector(`[data-export=${format}]`).href = at(api(chosen, `/export?format=${format}`));
  }
  byId("conversations").append(menu);
  menu.showPopover();
  const { bottom, right, top } = button.getBoundingClientRect();
  const isLow = bottom + menu.offsetHeight > innerHeight;
  menu.style.top = `${isLow ? Math.max(0, top - menu.offsetHeight) : bottom}px`;
  menu.style.left = `${Math.max(8, right - menu.offsetWidth)}px`;
  menu.querySelector("button, a").focus();
}

/** `load` draws the list anew, `focusRow` leads back to a conversation in it. The rest is that of `wireList`. */
export function wireActions(callbacks) {
  on = callbacks;
  menu.addEventListener("click", ({ target }) => {
    const { action } = target.closest("[data-action]")?.dataset ?? {};
    if (!action && !target.closest("a")) return;
    menu.hidePopover();
    if (action) act(action, chosen);
  });
  for (const dialog of [renameDialog, shareDialog]) {
    wireDialog(dialog);
    dialog.addEventListener("close", async () => {
      const { conversation_id: id } = chosen;
      await on.load();
      on.focusRow(id);
    });
  }
  byId("rename-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const title = byId("rename-title").value;
    if (await tried(byId("rename-error"), () => sendJson("PATCH", api(chosen), { title }))) renameDialog.close();
  });
  byId("share-make").addEventListener("click", makeLink);
  byId("share-revoke").addEventListener("click", revoke);
  // Browsers offer the clipboard to secure pages only.
  byId("share-copy").hidden = !navigator.clipboard;
  byId("share-copy").addEventListener("click", copyLink);
  return { act, openMenu };
}
