/** API keys: their table, the form that creates one, and revoking; who is signed in. */
import { getJson, sendJson } from "../common/api.js";
import {
  byId,
  element,
  onSubmit,
  showError,
  showText,
  wireDialog,
} from "../common/dom.js";
import { scopeNames, when } from "../common/format.js";
import { decimal } from "../common/measures.js";
import { clearErrors, showFormError } from "../common/forms.js";
import { t } from "../common/words.js";
import { fill } from "./tables.js";

const dialog = byId("key-dialog");
const form = byId("key-form");
const revocation = byId("revoke-dialog");
let revoked = null;

function limits({
  filters,
  collections,
  daily_tokens: tokens,
  requests_per_minute: requests,
}) {
  return [
    ...scopeNames(filters),
    ...collections,
    tokens && t("{number} tokens a day", { number: decimal(tokens) }),
    requests && t("{number} requests a minute", { number: decimal(requests) }),
  ]
    .filter(Boolean)
    .join(" · ");
}

function action(key) {
  if (key.revoked_at) return t("Revoked");
  const label = t("Revoke {name}", key);
  const button = element("button", {
    type: "button",
    className: "button quiet danger",
    "aria-label": label,
    text: t("Revoke"),
  });
  button.addEventListener("click", () => {
    revoked = key;
    byId("revoke-title").textContent = t("Revoke “{name}”?", key);
    showError(byId("revoke-error"), null);
    revocation.showModal();
    revocation.querySelector("[data-close]").focus();
  });
  return button;
}

export async function showKeys() {
  const { keys } = await getJson("/api/keys");
  fill("keys", keys, [
    [t("Name"), ({ name }) => name],
    [t("Key"), ({ id }) => element("code", { text: `${id}…`, dir: "ltr" })],
    [t("Role"), ({ role }) => role],
    [t("Limits"), limits],
    [t("Created"), ({ created_at: at }) => when(at, true)],
    [t("Last used"), ({ used_at: at }) => (at ? when(at, true) : t("never"))],
    [t("Questions"), ({ questions }) => decimal(questions), "number"],
    [t("Tokens"), ({ tokens }) => decimal(tokens), "number"],
    [t("Status"), action],
  ]);
}

/** The sessions of all browsers, of which limited administrators see none. */
export function showSessions({ sessions }) {
  fill("sessions", sessions, [
    [t("Name"), ({ name }) => name],
    [t("Signed in since"), ({ created_at: at }) => when(at, true)],
    [t("Until"), ({ expires_at: at }) => when(at, true)],
    [t("Status"), signOut],
  ]);
}

function signOut({ id, name }) {
  const label = t("End the session of {name}", { name });
  const text = t("Sign out");
  const attributes = { type: "button", className: "button quiet danger", text };
  const button = element("button", { ...attributes, "aria-label": label });
  button.addEventListener("click", async () => {
    try {
      await sendJson("DELETE", `/api/sessions/${id}`);
      showSessions(await getJson("/api/sessions"));
    } catch (error) {
      showError(byId("operator-error"), error);
    }
  });
  return button;
}

const parts = (text) =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
const numberOr = (text) => text && (Number.isNaN(Number(text)) ? text : Number(text));

function body() {
  const {
    name,
    role,
    country_name: countries,
    collections,
    daily_tokens: tokens,
    requests_per_minute: requests,
  } = Object.fromEntries(
    [...new FormData(form)].map(([field, value]) => [field, String(value).trim()]),
  );
  return {
    name,
    role,
    ...(countries && { filters: { country_name: parts(countries) } }),
    ...(collections && { collections: parts(collections) }),
    ...(tokens && { daily_tokens: numberOr(tokens) }),
    ...(requests && { requests_per_minute: numberOr(requests) }),
  };
}

/**
 * Show the fields, or the secret in their place: once the dialog is closed nobody can
 * read it again.
 */
function showSecret(secret) {
  byId("key-secret").value = secret;
  byId("key-made").hidden = !secret;
  byId("key-fields").hidden = Boolean(secret);
}

async function create() {
  clearErrors(form, byId("key-error"));
  byId("key-submit").disabled = true;
  try {
    const { secret } = await sendJson("POST", "/api/keys", body());
    form.reset();
    showSecret(secret);
    byId("key-secret").select();
    await showKeys();
  } catch (error) {
    showFormError(form, byId("key-error"), error);
  }
  byId("key-submit").disabled = false;
}

export function wireKeys() {
  for (const each of [dialog, revocation]) wireDialog(each);
  dialog.addEventListener("close", () => showSecret(""));
  byId("key-new").addEventListener("click", () => {
    clearErrors(form, byId("key-error"));
    dialog.showModal();
    byId("key-name").focus();
  });
  onSubmit(form, create);
  byId("key-copy").hidden = !navigator.clipboard;
  byId("key-copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(byId("key-secret").value);
    showText(byId("key-copied"), t("Copied"));
  });
  byId("revoke-yes").addEventListener("click", async () => {
    try {
      await sendJson("DELETE", `/api/keys/${revoked.id}`);
      revocation.close();
      await showKeys();
      byId("key-new").focus();
    } catch (error) {
      showError(byId("revoke-error"), error);
    }
  });
}
