import { getJson, KEY_NEEDED, sendJson } from "./api.js";
import { showError, showText, wireDialog } from "./components.js";
import { byId } from "./dom.js";
import { t } from "./words.js";

const dialog = byId("session-dialog");
const STRANGERS = {
  open: t("Nobody needs a key here. With one, what you ask and add is yours on every device."),
  read: t("Everybody may ask. Adding and changing documents needs a key."),
  keys: t("Asking needs a key here. Whoever runs this server has one for you."),
};
let session = null;

function show() {
  const { access, key, may, owner } = session;
  document.body.dataset.may = may.join(" ");
  // Where all is open to everybody there is nothing to sign in for.
  byId("session-button").hidden = access === "open" && !key;
  byId("session-label").textContent = key ? key.name : t("Sign in");
  byId("session-title").textContent = key ? t("Signed in as {name}", key) : t("Sign in with a key");
  byId("session-text").textContent = key ? t("This key ({id}…) may {role}.", key) : STRANGERS[access];
  byId("session-field").hidden = Boolean(key);
  byId("session-submit").textContent = key ? t("Sign out") : t("Sign in");
  showText(byId("session-owner"), owner && may.length
    && t("What is asked here is kept for {owner}: name this to have it deleted.", { owner }));
}

function open() {
  if (!session || dialog.open) return;
  showError(byId("session-error"), null);
  dialog.showModal();
  if (!session.key) byId("session-key").focus();
}

async function submit() {
  const secret = byId("session-key").value.trim();
  if (!session.key && !secret) return byId("session-key").focus();
  byId("session-submit").disabled = true;
  try {
    await (session.key ? sendJson("DELETE", "/api/session") : sendJson("POST", "/api/session", { key: secret }));
    byId("session-key").value = "";
    // All that is shown was asked for as somebody else.
    location.reload();
  } catch (error) {
    showError(byId("session-error"), error);
    byId("session-submit").disabled = false;
  }
}

wireDialog(dialog);
byId("session-button").addEventListener("click", open);
byId("session-form").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
try {
  session = await getJson("/api/session");
  show();
  if (!session.may.length) open();
  document.addEventListener(KEY_NEEDED, open);
} catch (error) {
  console.info(`Who is signed in is not known: ${error.message}`);
}
