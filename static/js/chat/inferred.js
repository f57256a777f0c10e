/**
 * The scope that a question will get from its words and from the conversation: shown
 * while it is written, and removable before it is sent.
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
const textarea = byId("question");
const FROM_QUESTION = {
  box: byId("taken-scope"),
  chips: byId("taken-chips"),
  say: (names) => t("From your question: {names}", { names }),
};
const FROM_EARLIER = {
  box: byId("earlier-scope"),
  chips: byId("earlier-chips"),
  say: (names) => t("From earlier: {names}", { names }),
};
let timer = 0;
let pending = null;
/** What was removed from the question that is being written. */
let isDeclined = false;
let withoutEarlier = [];
let earlier = {};

function showChips({ box, chips, say }, names, decline) {
  box.hidden = !names.length;
  const shown = names.join(comma);
  if (shown && shown !== box.dataset.line) announceSoon(say(shown));
  box.dataset.line = shown;
  chips.replaceChildren(
    ...names.map((text, index) => {
      const remove = element("button", {
        type: "button",
        className: "chip from-question",
        text,
        "aria-label": t("Do not limit this question to {name}", { name: text }),
      });
      remove.addEventListener("click", () => {
        decline(index);
        textarea.focus();
      });
      return element("li", {}, remove);
    }),
  );
}

function showFromQuestion(filters) {
  // A question is asked with everything that it names, or with nothing of it.
  showChips(FROM_QUESTION, scopeNames(filters), () => {
    isDeclined = true;
    showFromQuestion({});
  });
}

function showFromEarlier() {
  const fields = Object.keys(earlier).filter(
    (field) => !withoutEarlier.includes(field),
  );
  const kept = Object.fromEntries(fields.map((field) => [field, earlier[field]]));
  showChips(FROM_EARLIER, scopeNames(kept), (index) => {
    withoutEarlier = [...withoutEarlier, fields[index]];
    showFromEarlier();
  });
}

function show({ from_question: inferred = {}, from_earlier: found = {} }) {
  earlier = found;
  showFromQuestion(isDeclined ? {} : inferred);
  showFromEarlier();
}

function forget() {
  isDeclined = false;
  withoutEarlier = [];
}

async function load() {
  pending?.abort();
  const text = textarea.value.trim();
  if (!text) forget();
  if (text.length < MIN_CHARACTERS || text.length > MAX_CHARACTERS) return show({});
  pending = new AbortController();
  const asked = [["q", text]];
  if (store.conversationId) asked.push(["conversation_id", store.conversationId]);
  const replaced = store.edited?.turn.messageId;
  if (store.conversationId && replaced) asked.push(["replaces", replaced]);
  try {
    show(await getJson(`/api/scope?${scope.query(...asked)}`, pending.signal));
  } catch (error) {
    // The answer names its scope in any case.
    if (error.name !== "AbortError") show({});
  }
}

function loadSoon() {
  clearTimeout(timer);
  timer = setTimeout(load, TYPING_MS);
}

store.set({
  takeDeclined() {
    clearTimeout(timer);
    pending?.abort();
    const declined = {
      autoScope: isDeclined ? false : undefined,
      withoutEarlier,
    };
    forget();
    show({});
    return declined;
  },
});
textarea.addEventListener("input", loadSoon);
scope.addEventListener("change", loadSoon);
// The answer that was awaited is part of the conversation now.
store.on("streaming", loadSoon);
loadSoon();
