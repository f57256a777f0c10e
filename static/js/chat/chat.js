import { returnAttachments, takeAttachments, wireAttachments } from "./attachments.js";
import {
  chosenMode, focusComposer, offerAgain, returnToComposer, setStreaming, wireComposer, wireMode,
} from "./composer.js";
import { closeEvidence } from "./evidence.js";
import { Scope, showScope } from "./scope.js";
import { beginningText } from "./steps.js";
import { Turn } from "./turn.js";
import { getReadiness } from "../common/api.js";
import { all, announce, byId } from "../common/dom.js";

const POLL_MS = 1500;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function showProgress({ sample_data: samples }) {
  byId("indexing").hidden = false;
  if (!samples?.total) return;
  byId("indexing-text").textContent = `Indexing reports: ${samples.ready} of ${samples.total}`;
  Object.assign(byId("indexing-progress"), { max: samples.total, value: samples.ready });
}

/** Shows the indexing progress while there is any; resolves to true if there was. */
export async function watchIndexing() {
  let seen = false;
  // No answer during indexing is a busy server, not the end of the indexing.
  for (let state = await getReadiness(); state?.ingesting || (seen && !state); state = await getReadiness()) {
    seen = true;
    if (state) showProgress(state);
    await sleep(POLL_MS);
  }
  byId("indexing").hidden = true;
  if (seen) announce("The reports are indexed.");
  return seen;
}

const scope = new Scope();
let conversationId = null;
let streaming = null;

function payloadFor({ question, mode, filters, page, autoScope, addresses }) {
  return {
    query: question,
    mode,
    ...(addresses.length && { attachments: addresses.map((url) => ({ url })) }),
    ...(Object.keys(filters).length && { filters }),
    ...(page && { page }),
    ...(autoScope === false && { auto_scope: false }),
    ...(conversationId && { conversation_id: conversationId }),
  };
}

function remember({ response, error }) {
  if (response) conversationId = response.conversation_id;
  // The conversation is gone on the server; a retry starts a new one.
  else if (error.status === 404) conversationId = null;
}

/** An attachment that cannot be read is changed before the next try: the question goes back to where that is done. */
function keepForAnotherTry(turn, { error }) {
  const isRefused = ["invalid_request", "too_large", "unreadable_document"].includes(error?.code);
  if (!isRefused || !turn.attachments.length || !offerAgain(turn.question)) return;
  returnAttachments(turn.attachments);
  turn.withdrawRetry();
}

async function answer(turn) {
  const controller = new AbortController();
  streaming = controller;
  setStreaming(true);
  announce(`${beginningText(turn)}.`);
  const outcome = await turn.run(payloadFor(turn), controller.signal);
  // "New chat" has moved on meanwhile.
  if (streaming !== controller) return;
  streaming = null;
  remember(outcome);
  keepForAnotherTry(turn, outcome);
  setStreaming(false);
  returnToComposer();
}

function ask(question, page, autoScope) {
  if (streaming) return false;
  byId("welcome").hidden = true;
  byId("new-chat").hidden = false;
  const onRetry = (turn) => streaming || answer(turn);
  answer(new Turn(byId("log"), {
    question, mode: chosenMode(), filters: scope.filters(), page, attachments: takeAttachments(), autoScope, onRetry,
    onNarrow: askNarrowed, onWiden: askWidened,
  }));
  return true;
}

/** The same question once more, in the scope that was found in it. */
function askNarrowed({ question }, { filters, page }) {
  if (streaming) return;
  scope.replace(filters);
  ask(question, page);
}

/** The same question once more, in the scope that was chosen and no other. */
function askWidened({ question, page }) {
  ask(question, page, false);
  focusComposer();
}

function newChat() {
  streaming?.abort();
  streaming = null;
  conversationId = null;
  setStreaming(false);
  takeAttachments();
  closeEvidence();
  byId("log").replaceChildren();
  byId("welcome").hidden = false;
  byId("new-chat").hidden = true;
  scrollTo(0, 0);
  focusComposer();
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

const countScope = showScope(scope);
wireMode();
wireComposer({ onAsk: ask, onStop: () => streaming?.abort() });
wireAttachments();
wireExamples();
byId("new-chat").addEventListener("click", newChat);
focusComposer();
watchIndexing().then((indexed) => indexed && countScope());
