/** Who is signed in: the button in the header, and the dialog that it opens. */
import { getJson, KEY_NEEDED } from "./api.js";
import { byId } from "./dom.js";
import { t } from "./words.js";

try {
  const session = await getJson("/api/session");
  const { access, key, person, may } = session;
  const who = key ?? person;
  document.body.dataset.may = may.join(" ");
  // Where everything is open to everyone there is no reason to sign in.
  byId("session-button").hidden = access === "open" && !who;
  byId("session-label").textContent = who ? who.name : t("Sign in");
  const open = async () => (await import("./sign_in.js")).openSignIn(session);
  byId("session-button").addEventListener("click", open);
  document.addEventListener(KEY_NEEDED, open);
  if (!may.length) open();
} catch (error) {
  console.info(`The session could not be loaded: ${error.message}`);
}
