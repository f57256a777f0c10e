/** What a question will be narrowed to by its own words: shown while it is written, to be taken away before it is sent. */
import { scope } from "./question.js";
import { getJson } from "../common/api.js";
import { announceSoon, byId, element } from "../common/dom.js";
import { scopeNames } from "../common/format.js";
import { t } from "../common/words.js";

const WAIT_MS = 350;
const LONGEST = 1000;
const box = byId("taken-scope");
const textarea = byId("question");
let waiting = 0;
let pending = null;
let isDeclined = false;

function show(names) {
  box.hidden = !names.length;
  const said = names.join(", ");
  if (said && said !== box.dataset.said) announceSoon(t("From your question: {names}", { names: said }));
  box.dataset.said = said;
  byId("taken-chips").replaceChildren(...names.map((text) => {
    const remove = element("button", {
      type: "button", className: "chip from-question", text, "aria-label": t("Do not narrow this question to {name}", { name: text }),
    });
    remove.addEventListener("click", decline);
    return element("li", {}, remove);
  }));
}

/** All of it: a question is asked with what is in it, or without. */
function decline() {
  isDeclined = true;
  show([]);
  textarea.focus();
}

async function look() {
  pending?.abort();
  const text = textarea.value.trim();
  if (!text) isDeclined = false;
  if (isDeclined || text.length < 3 || text.length > LONGEST) return show([]);
  pending = new AbortController();
  try {
    const { from_question: taken } = await getJson(
      `/api/scope?${new URLSearchParams([...new URLSearchParams(scope.query()), ["q", text]])}`, pending.signal);
    show(scopeNames(taken));
  } catch (error) {
    // What cannot be told now is told with the answer.
    if (error.name !== "AbortError") show([]);
  }
}

function lookSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(look, WAIT_MS);
}

/** For the question that is asked now: false where its own words are not to narrow it. */
export function takeAutoScope() {
  clearTimeout(waiting);
  pending?.abort();
  const wanted = isDeclined ? false : undefined;
  isDeclined = false;
  show([]);
  return wanted;
}

export function wireTaken() {
  textarea.addEventListener("input", lookSoon);
  lookSoon();
  scope.addEventListener("change", lookSoon);
}
