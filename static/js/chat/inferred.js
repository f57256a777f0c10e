/**
 * The scope that the words of a question will set: shown while it is written, and
 * removable before it is sent.
 */
import { scope } from "./scope.js";
import { store } from "./store.js";
import { getJson } from "../common/api.js";
import { announceSoon, byId, element } from "../common/dom.js";
import { scopeNames } from "../common/format.js";
import { comma, t } from "../common/words.js";

const TYPING_MS = 350;
const MIN_CHARACTERS = 3;
const MAX_CHARACTERS = 1000;
const box = byId("taken-scope");
const textarea = byId("question");
let timer = 0;
let pending = null;
let isDeclined = false;

function show(names) {
  box.hidden = !names.length;
  const line = names.join(comma);
  if (line && line !== box.dataset.line)
    announceSoon(t("From your question: {names}", { names: line }));
  box.dataset.line = line;
  byId("taken-chips").replaceChildren(
    ...names.map((text) => {
      const remove = element("button", {
        type: "button",
        className: "chip from-question",
        text,
        "aria-label": t("Do not limit this question to {name}", { name: text }),
      });
      // A question is asked with everything that it names, or with nothing of it.
      remove.addEventListener("click", () => {
        isDeclined = true;
        show([]);
        textarea.focus();
      });
      return element("li", {}, remove);
    }),
  );
}

async function load() {
  pending?.abort();
  const text = textarea.value.trim();
  if (!text) isDeclined = false;
  if (isDeclined || text.length < MIN_CHARACTERS || text.length > MAX_CHARACTERS)
    return show([]);
  pending = new AbortController();
  try {
    const { from_question: inferred } = await getJson(
      `/api/scope?${scope.query(["q", text])}`,
      pending.signal,
    );
    show(scopeNames(inferred));
  } catch (error) {
    // The answer names its scope in any case.
    if (error.name !== "AbortError") show([]);
  }
}

function loadSoon() {
  clearTimeout(timer);
  timer = setTimeout(load, TYPING_MS);
}

store.set({
  takeAutoScope() {
    clearTimeout(timer);
    pending?.abort();
    const autoScope = isDeclined ? false : undefined;
    isDeclined = false;
    show([]);
    return autoScope;
  },
});
textarea.addEventListener("input", loadSoon);
scope.addEventListener("change", loadSoon);
loadSoon();
