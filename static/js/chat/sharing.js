import { at, sendJson } from "../common/api.js";
import { showError, wireDialog } from "../common/components.js";
import { announceNow, byId } from "../common/dom.js";
import { t } from "../common/words.js";

const renameDialog = byId("rename-dialog");
const shareDialog = byId("share-dialog");
const api = ({ conversation_id: id }, rest = "") => `/api/conversations/${id}${rest}`;
let chosen = null;
let onChange = null;

export function openRename(conversation) {
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

export function openShare(conversation) {
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

async function share() {
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

export function wireSharing(callbacks) {
  ({ onChange } = callbacks);
  for (const dialog of [renameDialog, shareDialog]) {
    wireDialog(dialog);
    dialog.addEventListener("close", () => onChange(chosen));
  }
  byId("rename-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const title = byId("rename-title").value;
    if (await tried(byId("rename-error"), () => sendJson("PATCH", api(chosen), { title }))) renameDialog.close();
  });
  byId("share-make").addEventListener("click", share);
  byId("share-revoke").addEventListener("click", revoke);
  // Browsers offer the clipboard to secure pages only.
  byId("share-copy").hidden = !navigator.clipboard;
  byId("share-copy").addEventListener("click", copyLink);
  return callbacks;
}
