/** The chat page: what is loaded and wired at its start. */
import { wireAttachments } from "./attachments.js";
import { focusComposer, showReason, wireComposer } from "./composer.js";
import {
  askBelow,
  fetchTurns,
  loadTurns,
  newChat,
  openShared,
  showAddress,
  stop,
  wireConversation,
} from "./conversation.js";
import { wireList } from "./conversations.js";
import { wireMode } from "./modes.js";
import { watchSheets } from "./overlays.js";
import { scope, wireScope } from "./scope.js";
import { followLink, showStart, watchIndexing } from "./start.js";
import { store } from "./store.js";
import { all, byId } from "../common/dom.js";
import { when } from "../common/format.js";

const { shared } = document.body.dataset;

/** Load the actions with the first one: most visits need none. */
function wireActions() {
  for (const name of ["act", "openMenu", "openDownloads", "shareCurrent"])
    store.on(name, (detail) =>
      import("./actions.js")
        .then((actions) => actions[name](detail))
        .catch(({ message }) => showReason(message)),
    );
}

/** Load what pins with the first pin. */
function wirePins() {
  store.on("pin", (pinned) =>
    import("./pinning.js")
      .then(({ pinShown }) => pinShown(pinned))
      .catch(({ message }) => showReason(message)),
  );
}

/** Without a new file for so long the page is complete. */
const QUIET_MS = 2000;
const ALT_KEYS = ["ArrowUp", "ArrowDown", "Enter"];

/** Lead keys to the answers; what they do is loaded with the first. */
function wireKeys() {
  document.addEventListener("keydown", async (event) => {
    const { key, altKey, ctrlKey, metaKey, target } = event;
    const isText = /** @type {Element} */ (target).closest(
      "input, textarea, select, [contenteditable]",
    );
    // What lies behind the header and the composer is not paged over (chat.css).
    const isPaging = key.startsWith("Page") || (key === " " && !isText);
    document.documentElement.classList.toggle("paging", isPaging);
    const isMeant = altKey
      ? ALT_KEYS.includes(key)
      : !isText && (key === "?" || (/^[1-9]$/.test(key) && store.turns.length));
    if (!isMeant || ctrlKey || metaKey) return;
    event.preventDefault();
    const { onKey } = await import("./keys.js");
    onKey(event);
  });
  byId("keys-button").addEventListener("click", async () => {
    const { showKeys } = await import("./keys.js");
    showKeys();
  });
}

function wireCoverage() {
  for (const fold of all(document, ".coverage"))
    fold.addEventListener(
      "toggle",
      async () => {
        const { showCoverage } = await import("./coverage.js");
        showCoverage(fold.querySelector(".coverage-box"));
      },
      { once: true },
    );
}

/** Let Esc stop the answer, unless it closes something. */
function wireStop() {
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
}

/**
 * Fetch what shows answers when nothing has come for a while: a question then waits for
 * no script. Nobody's data is spent on it who saves them.
 */
function fetchAhead() {
  if (/** @type {any} */ (navigator).connection?.saveData) return;
  let timer = 0;
  const observer = new PerformanceObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      observer.disconnect();
      fetchTurns().catch(() => {}); // the question fetches it
    }, QUIET_MS);
  });
  observer.observe({ type: "resource", buffered: true });
}

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
  wireActions();
  if (shared) return openShared(shared);
  byId("welcome").addEventListener("click", ({ target }) => {
    const { example } = target.closest("[data-example]")?.dataset ?? {};
    if (example) askBelow({ question: example, filters: {} });
  });
  scope.addEventListener("counted", (event) => {
    if (!scope.entries().length) showStart(/** @type {CustomEvent} */ (event).detail);
  });
  const countScope = wireScope();
  wireCoverage();
  wireComposer();
  wireConversation();
  wireAttachments();
  const loadWhatAnswersNeed = () => {
    // Without a connection later: sending says that there is none.
    if (!navigator.onLine) return;
    byId("question").removeEventListener("input", loadWhatAnswersNeed);
    Promise.all([import("./inferred.js"), loadTurns()]).catch(() =>
      byId("question").addEventListener("input", loadWhatAnswersNeed),
    );
  };
  byId("question").addEventListener("input", loadWhatAnswersNeed);
  followLink().then((question) => question && askBelow({ question, filters: null }));
  wireStop();
  wirePins();
  wireKeys();
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
  byId("share-current").addEventListener("click", () => store.emit("shareCurrent"));
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
  fetchAhead();
  if (!(await watchIndexing())) return;
  // The cards were made from the reports that were ready then.
  delete byId("newest").dataset.documents;
  countScope();
}

start();
