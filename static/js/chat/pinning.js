/** Pinning on the chat page: says what was done, and offers to undo it. */
import { offerUndo } from "./overlays.js";
import { briefLink, pin, unpin } from "./pin.js";
import { store } from "./store.js";
import { announceNow, byId } from "../common/dom.js";
import { t } from "../common/words.js";

/** @param {{body: object, button: HTMLElement}} pinned */
export async function pinShown({ body, button }) {
  button.setAttribute("disabled", "");
  try {
    const added = await pin(body);
    store.emit("stored");
    offerUndo(t("Added to the brief."), () => unpin(added).then(() => button.focus()));
    const said = byId("toast").querySelector("[role=status]");
    said.append(" ", briefLink(added.brief));
  } catch ({ message }) {
    announceNow(message);
    button.title = message;
  }
  button.removeAttribute("disabled");
}
