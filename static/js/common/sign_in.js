/** The dialog to sign in, and to see who is signed in. Loaded when it is opened. */
import { sendJson } from "./api.js";
import { byId, showError, showText, wireDialog } from "./dom.js";
import { comma, t } from "./words.js";

const dialog = byId("session-dialog");
const WITHOUT_KEY = {
  open: t(
    "No key is needed. With a key, your conversations and documents follow you to every device.",
  ),
  read: t("Anyone can ask questions. You need a key to add or change documents."),
  keys: t("You need a key to ask questions. Request one from the administrator."),
};
function personText({ role, groups }) {
  if (!groups.length)
    return t("None of your groups has access here. Ask the administrator.");
  return t("Your role is {role}, by your groups: {groups}", {
    role,
    groups: groups.join(comma),
  });
}

function titleOf({ key, person, sign_in: signIn }) {
  const who = key ?? person;
  if (who) return t("Signed in as {name}", who);
  return signIn ? t("Sign in") : t("Sign in with a key");
}

function textOf({ access, key, person, sign_in: signIn }) {
  if (person) return personText(person);
  if (key) return t("This key ({id}…) has the role {role}.", key);
  return signIn ? t("With your organisation, or with a key.") : WITHOUT_KEY[access];
}

function ownerText({ may, owner }) {
  if (!owner || !may.length) return "";
  return t(
    "Your conversations are stored under {owner}. Give this name to have them deleted.",
    { owner },
  );
}

function show(session) {
  const { key, person, sign_in: signIn } = session;
  const isSignedIn = Boolean(key ?? person);
  byId("session-title").textContent = titleOf(session);
  byId("session-text").textContent = textOf(session);
  const provider = byId("session-provider");
  provider.hidden = isSignedIn || !signIn;
  provider.firstElementChild.href = `${signIn}?next=${encodeURIComponent(location.pathname + location.search)}`;
  byId("session-field").hidden = isSignedIn;
  byId("session-submit").hidden = Boolean(person) && !signIn;
  byId("session-submit").textContent = isSignedIn ? t("Sign out") : t("Sign in");
  showText(byId("session-owner"), ownerText(session));
}

async function submit(isSignedIn) {
  const secret = byId("session-key").value.trim();
  if (!isSignedIn && !secret) return byId("session-key").focus();
  byId("session-submit").disabled = true;
  try {
    const left = await (isSignedIn
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

export function openSignIn(session) {
  if (dialog.open) return;
  const isSignedIn = Boolean(session.key ?? session.person);
  show(session);
  showError(byId("session-error"), null);
  byId("session-form").onsubmit = (event) => {
    event.preventDefault();
    submit(isSignedIn);
  };
  dialog.showModal();
  if (isSignedIn) return;
  const provider = byId("session-provider").firstElementChild;
  (session.sign_in ? provider : byId("session-key")).focus();
}

wireDialog(dialog);
