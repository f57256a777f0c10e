/**
 * What can be done with a conversation of the list (rename, share, export, delete), and
 * the files of an answer.
 */
import { markdownFile } from "./after.js";
import { showReason } from "./composer.js";
import { go, newChat } from "./conversation.js";
import { focusRow, loadList, showListError } from "./conversations.js";
import { wireCopy } from "./copy.js";
import { offerUndo } from "./overlays.js";
import { store } from "./store.js";
import { at, getJson, sendJson } from "../common/api.js";
import { announceNow, byId, onSubmit, showError, wireDialog } from "../common/dom.js";
import { t } from "../common/words.js";

const menu = byId("conversation-menu");
const renameDialog = byId("rename-dialog");
const shareDialog = byId("share-dialog");
const pathOf = ({ conversation_id: id }, rest = "") =>
  `/api/conversations/${id}${rest}`;

/** Keep which conversation the menu and the dialogs act on, and what opened them. */
const choose = (conversation, opener = null) =>
  store.set({ chosen: { conversation, opener } });

const chosenPath = (rest = "") => pathOf(store.chosen.conversation, rest);

function rename(conversation) {
  showError(byId("rename-error"), null);
  byId("rename-title").value = conversation.title;
  renameDialog.showModal();
  byId("rename-title").select();
}

function showLink({ share: token }) {
  byId("share-link").value = token
    ? new URL(at(`/shared/${token}`), location.href).href
    : "";
  byId("share-made").hidden = !token;
  byId("share-make").hidden = Boolean(token);
}

function share(conversation) {
  showError(byId("share-error"), null);
  showLink(conversation);
  shareDialog.showModal();
}

async function remove(conversation) {
  const { conversation_id: id, title } = conversation;
  await sendJson("DELETE", pathOf(conversation));
  const wasShown = store.conversationId === id;
  if (wasShown) newChat();
  await loadList();
  offerUndo(
    t("Deleted: {title}", { title }),
    async () => {
      await sendJson("PATCH", pathOf(conversation), { deleted: false });
      await loadList();
      if (wasShown) go(id);
      announceNow(t("Restored: {title}", { title }));
      focusRow(id);
    },
    { takeFocus: true },
  );
}

const ACTIONS = { rename, share, delete: remove };

/** `button`: what gets the focus back; otherwise the row of the conversation. */
export async function act({ name, conversation, button = null }) {
  choose(conversation, button);
  try {
    await ACTIONS[name](conversation);
    showListError(null);
  } catch (error) {
    showListError(error);
    focusRow(conversation.conversation_id);
  }
}

/** `formats`: those that the menu is limited to; null for all it has. */
function showMenu(box, button, query = "", formats = null) {
  for (const item of menu.children) {
    const { export: format } = item.dataset;
    item.hidden = formats && !formats.includes(format);
    if (format)
      Object.assign(item, {
        href: at(chosenPath(`/export?format=${format}${query}`)),
        download: "",
      });
  }
  box.append(menu);
  menu.showPopover();
  const { bottom, left, right, top } = button.getBoundingClientRect();
  const isLow = bottom + menu.offsetHeight > innerHeight;
  menu.style.top = `${isLow ? Math.max(0, top - menu.offsetHeight) : bottom}px`;
  const start =
    document.dir === "rtl"
      ? Math.min(left, innerWidth - menu.offsetWidth - 8)
      : right - menu.offsetWidth;
  menu.style.left = `${Math.max(8, start)}px`;
  menu.querySelector(":is(button, a):not([hidden])").focus();
}

export function openMenu({ conversation, button }) {
  choose(conversation);
  showMenu(byId("conversations"), button);
}

/** Offer an answer as files. A shared page has its text only. */
export function openDownloads({ button, turn, markdown }) {
  const { question, messageId } = turn;
  const formats = document.body.dataset.shared
    ? ["markdown"]
    : ["markdown", "docx", "xlsx"];
  choose({ conversation_id: store.conversationId });
  showMenu(document.querySelector("main"), button, `&message_id=${messageId}`, formats);
  Object.assign(
    menu.querySelector("[data-export=markdown]"),
    markdownFile(markdown, question),
  );
}

/** Run the work of a dialog, which shows an error. */
async function attempt(box, work) {
  try {
    showError(box, null);
    await work();
  } catch (error) {
    showError(box, error);
  }
}

menu.addEventListener("click", ({ target }) => {
  const { action } = target.closest("[data-action]")?.dataset ?? {};
  if (!action && !target.closest("a")) return;
  menu.hidePopover();
  if (action) act({ name: action, conversation: store.chosen.conversation });
});
for (const dialog of [renameDialog, shareDialog]) {
  wireDialog(dialog);
  dialog.addEventListener("close", async () => {
    const { conversation, opener } = store.chosen;
    await loadList();
    if (opener) opener.focus();
    else focusRow(conversation.conversation_id);
  });
}
onSubmit(byId("rename-form"), () =>
  attempt(byId("rename-error"), async () => {
    await sendJson("PATCH", chosenPath(), { title: byId("rename-title").value });
    renameDialog.close();
  }),
);
byId("share-create").addEventListener("click", () =>
  attempt(byId("share-error"), async () => {
    showLink(
      await sendJson("POST", chosenPath("/share"), {
        later: byId("share-later").checked,
      }),
    );
    byId("share-link").select();
  }),
);
byId("share-revoke").addEventListener("click", () =>
  attempt(byId("share-error"), async () => {
    await sendJson("DELETE", chosenPath("/share"));
    showLink({ share: null });
    announceNow(t("Link revoked."));
    byId("share-create").focus();
  }),
);
wireCopy(byId("share-copy"), () => byId("share-link").value);

/** Share the conversation that the page shows, which the list may not. */
export async function shareCurrent() {
  try {
    const conversation = await getJson(
      `/api/conversations/${store.conversationId}?limit=1`,
    );
    store.emit("act", { name: "share", conversation, button: byId("share-current") });
  } catch (error) {
    showReason(error.message);
  }
}
