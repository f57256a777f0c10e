import { goTo, idInAddress, keepDraft } from "./address.js";
import { ask, clear, current, leave, open, openShared, stop } from "./conversation.js";
import { focusComposer, wireComposer, wireMode } from "./composer.js";
import { wireAttachments } from "./attachments.js";
import { watchIndexing } from "./indexing.js";
import { refreshList, wireList } from "./list.js";
import { scope } from "./question.js";
import { showScope } from "./scope.js";
import { wireTaken } from "./taken.js";
import { all, byId } from "../common/dom.js";
import { watchSheets } from "../common/sheets.js";
import { offerUndo, withdrawUndo } from "../common/toast.js";

const { shared } = document.body.dataset;

/** Shows what the address names. */
function follow() {
  const id = idInAddress();
  if (id === current()) return;
  withdrawUndo();
  if (id) open(id);
  else clear();
}

function newChat() {
  const left = current();
  goTo(null);
  leave();
  clear();
  focusComposer();
  if (left) offerUndo("A new chat.", () => go(left));
}

function go(id) {
  goTo(id);
  follow();
}

function wireExamples() {
  for (const button of all(document, "[data-example]")) {
    const { question, filters } = JSON.parse(button.dataset.example);
    button.addEventListener("click", () => {
      scope.replace(filters ?? {});
      ask(question);
      focusComposer();
    });
  }
}

/** Esc stops the answer, where nothing is open that it closes. */
function wireEscape() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    if (!document.querySelector("dialog:modal, .evidence[open], .scope-panel:not([hidden]), :popover-open")) stop();
  }, { capture: true });
}

/** A link to the page's beginning leads there without loading it anew, unless it is to be opened elsewhere. */
function wireBrand() {
  /** @type {HTMLElement} */ (document.querySelector(".brand")).addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    newChat();
  });
}

async function start() {
  wireMode();
  watchSheets();
  if (shared) return openShared(shared);
  const countScope = showScope(scope);
  wireComposer({ onAsk: ask, onStop: stop, onDraft: (text) => keepDraft(current(), text) });
  wireAttachments();
  wireTaken();
  wireExamples();
  wireEscape();
  wireBrand();
  wireList({ onOpen: go, onGone: newChat, current });
  byId("new-chat").addEventListener("click", newChat);
  addEventListener("popstate", follow);
  focusComposer();
  if (idInAddress()) open(idInAddress());
  else clear();
  refreshList();
  if (await watchIndexing()) countScope();
}

start();
