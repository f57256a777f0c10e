/** The chat page: what is loaded and wired at its start. */
import { wireAttachments } from "./attachments.js";
import { focusComposer, wireComposer, wireMode } from "./composer.js";
import { askBelow, newChat, openShared, showAddress, stop } from "./conversation.js";
import { shareCurrent, wireList } from "./conversations.js";
import { watchSheets } from "./overlays.js";
import { scope, wireScope } from "./scope.js";
import { chooseDocument, showStart, watchIndexing } from "./start.js";
import { byId } from "../common/dom.js";
import { when } from "../common/format.js";

const { shared } = document.body.dataset;

async function start() {
  wireMode();
  watchSheets();
  addEventListener("beforeprint", () => {
    byId("printed").textContent = [
      document.title,
      when(new Date().toISOString()),
      location.href,
    ].join(" · ");
  });
  if (shared) return openShared(shared);
  byId("examples").addEventListener("click", ({ target }) => {
    const { example } = target.closest("[data-example]")?.dataset ?? {};
    if (example) askBelow(example, {});
  });
  scope.addEventListener("counted", (event) => {
    if (!scope.entries().length) showStart(/** @type {CustomEvent} */ (event).detail);
  });
  const countScope = wireScope();
  wireComposer();
  wireAttachments();
  byId("question").addEventListener("input", () => import("./inferred.js"), {
    once: true,
  });
  chooseDocument().then((question) => question && askBelow(question, null));
  // Esc stops the answer, unless it closes something.
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || event.isComposing) return;
      if (
        !document.querySelector(
          "dialog:modal, .evidence[open], .scope-panel:not([hidden]), :popover-open",
        )
      )
        stop();
    },
    { capture: true },
  );
  /** @type {HTMLElement} */ (document.querySelector(".brand")).addEventListener(
    "click",
    (event) => {
      // The link opens another tab with a modifier key.
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      newChat();
    },
  );
  wireList();
  byId("new-chat").addEventListener("click", newChat);
  byId("share-current").addEventListener("click", shareCurrent);
  addEventListener("popstate", showAddress);
  new IntersectionObserver(([{ isIntersecting }]) => {
    byId("to-end").hidden = isIntersecting;
  }).observe(byId("log-end"));
  byId("to-end").addEventListener("click", () => {
    scrollTo(0, document.documentElement.scrollHeight);
    focusComposer();
  });
  focusComposer();
  showAddress();
  if (await watchIndexing()) countScope();
}

start();
