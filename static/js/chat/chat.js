import { goTo, idInAddress, keepDraft } from "./address.js";
import { ask, askBefore, clear, current, leave, open, openShared, ready, send, stop } from "./conversation.js";
import { focusComposer, wireComposer, wireMode } from "./composer.js";
import { wireAttachments } from "./attachments.js";
import { watchIndexing } from "./indexing.js";
import { refreshList, wireList } from "./list.js";
import { scope } from "./question.js";
import { showScope } from "./scope.js";
import { chooseDocument, showStart } from "./start.js";
import { byId } from "../common/dom.js";
import { watchSheets } from "../common/sheets.js";
import { offerUndo, withdrawUndo } from "../common/toast.js";
import { t } from "../common/words.js";

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
  if (left) offerUndo(t("A new chat."), () => go(left));
}

function go(id) {
  goTo(id);
  follow();
}

function wireExamples() {
  byId("examples").addEventListener("click", ({ target }) => {
    const button = target.closest("[data-example]");
    if (!button) return;
    const { question, filters } = JSON.parse(button.dataset.example);
    scope.replace(filters ?? {});
    ask(question);
    focusComposer();
  });
  scope.addEventListener("counted", (event) => {
    if (!scope.entries().length) showStart(/** @type {CustomEvent} */ (event).detail);
  });
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
  wireExamples();
  const countScope = showScope(scope);
  wireComposer({ ready, onAsk: send, onStop: stop, onDraft: (text) => keepDraft(current(), text) });
  wireAttachments();
  // What a question names is looked at from its first letter on.
  byId("question").addEventListener("input", async () => {
    const { takeAutoScope, wireTaken } = await import("./taken.js");
    askBefore(takeAutoScope);
    wireTaken();
  }, { once: true });
  chooseDocument(scope);
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
