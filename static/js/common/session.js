/** The dialog to sign in, and to see who is signed in. */
import { getJson, KEY_NEEDED, sendJson } from "./api.js";
import { byId, onSubmit, showError, showText, wireDialog } from "./dom.js";
import { comma, t } from "./words.js";

const dialog = byId("session-dialog");
const WITHOUT_KEY = {
  open: t(
    "No key is needed. With a key, your conversations and documents follow you to every device.",
  ),
  read: t("Anyone can ask questions. You need a key to add or change documents."),
  keys: t("You need a key to ask questions. Request one from the administrator."),
};
let session = null;

function show() {
  const { access, key, person, may, owner, sign_in: signIn } = session;
  const who = key ?? person;
  document.body.dataset.may = may.join(" ");
  // Where everything is open to everyone there is no reason to sign in.
  byId("session-button").hidden = access === "open" && !who;
  byId("session-label").textContent = who ? who.name : t("Sign in");
  byId("session-title").textContent = who
    ? t("Signed in as {name}", who)
    : signIn
      ? t("Sign in")
      : t("Sign in with a key");
  byId("session-text").textContent = person
    ? personText(person)
    : key
      ? t("This key ({id}…) has the role {role}.", key)
      : signIn
        ? t("With your organisation, or with a key.")
        : WITHOUT_KEY[access];
  const provider = byId("session-provider");
  provider.hidden = Boolean(who) || !signIn;
  provider.firstElementChild.href = `${signIn}?next=${encodeURIComponent(location.pathname + location.search)}`;
  byId("session-field").hidden = Boolean(who);
  byId("session-submit").hidden = Boolean(person) && !signIn;
  byId("session-submit").textContent = who ? t("Sign out") : t("Sign in");
  showText(
    byId("session-owner"),
    owner &&
      may.length &&
      t(
        "Your conversations are stored under {owner}. Give this name to have them deleted.",
        { owner },
      ),
  );
}

function personText({ role, groups }) {
  if (!groups.length)
    return t("None of your groups has access here. Ask the administrator.");
  return t("Your role is {role}, by your groups: {groups}", {
    role,
    groups: groups.join(comma),
  });
}

function open() {
  if (!session || dialog.open) return;
  showError(byId("session-error"), null);
  dialog.showModal();
  if (!session.key && !session.person)
    (session.sign_in
      ? byId("session-provider").firstElementChild
      : byId("session-key")
    ).focus();
}

async function submit() {
  const secret = byId("session-key").value.trim();
  const who = session.key ?? session.person;
  if (!who && !secret) return byId("session-key").focus();
  byId("session-submit").disabled = true;
  try {
    const left = await (who
      ? sendJson("DELETE", "/api/session")
      : sendJson("POST", "/api/session", { key: secret }));
    byId("session-key").value = "";
    // Everything on the page was loaded for another identity.
    if (left.sign_out) location.assign(left.sign_out);
    else location.reload();
  } catch (error) {
    showError(byId("session-error"), error);
    byId("session-submit").disabled = false;
  }
}

wireDialog(dialog);
byId("session-button").addEventListener("click", open);
onSubmit(byId("session-form"), submit);
try {
  session = await getJson("/api/session");
  show();
  if (!session.may.length) open();
  document.addEventListener(KEY_NEEDED, open);
} catch (error) {
  console.info(`The session could not be loaded: ${error.message}`);
}
