import { byId } from "./dom.js";
import { showError, wireDialog } from "./documents-dom.js";

const dialog = byId("confirm-dialog");
let act = null;

/** Asks first, then does; where that fails, the dialog stays and says why. */
export function confirmThen({ title, text, verb }, action) {
  act = action;
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = text;
  byId("confirm-yes").textContent = verb;
  showError(byId("confirm-error"), null);
  dialog.showModal();
  dialog.querySelector("[data-close]").focus();
}

wireDialog(dialog);
byId("confirm-yes").addEventListener("click", async ({ target }) => {
  target.disabled = true;
  try {
    await act();
    dialog.close();
  } catch (error) {
    showError(byId("confirm-error"), error);
  } finally {
    target.disabled = false;
  }
});
