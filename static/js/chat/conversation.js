/**
 * The conversation on the page: its turns, its address, its draft, and every way to ask
 * a question in it.
 */
import {
  attachments,
  attachmentsReady,
  completed,
  restoreAttachments,
  setAttachments,
  whatIsMissing,
} from "./attachments.js";
import {
  cancelEditing,
  chosenMode,
  editQuestion,
  endEditing,
  focusComposer,
  offerAgain,
  returnToComposer,
  setStreaming,
  showDraft,
  showReason,
} from "./composer.js";
import { refreshList, showCurrent } from "./conversations.js";
import { offerUndo, withdrawUndo } from "./overlays.js";
import { scope } from "./scope.js";
import { beginningText } from "./steps.js";
import { storedQuestion, Turn } from "./turn.js";
import { at, getJson, sendJson } from "../common/api.js";
import { announce, byId } from "../common/dom.js";
import { when } from "../common/format.js";
import { t } from "../common/words.js";

/**
 * Turns shown when a conversation is opened, added by "Show earlier questions", and
 * kept while it grows.
 */
const FIRST_TURNS = 4;
const EARLIER_TURNS = 10;
const MAX_TURNS = 20;
const DRAFT = "draft:";
const TITLE = document.title;
const log = byId("log");
let conversationId = null;
/** Where the conversation is loaded from; "" for a new one. */
let source = "";
/** @type {Turn[]} */
let turns = [];
/** @type {AbortController | null} */
let streaming = null;
/** @type {Turn | null} the turn that the question in the composer will replace */
let edited = null;
/**
 * Another object for each conversation shown; `loaded` resolves once it is on the page.
 */
let visit = null;
/**
 * @type {(() => false | undefined) | null} whether the words of a question may narrow
 * its scope
 */
let takeAutoScope = null;

export const current = () => conversationId;
export const setAutoScope = (take) => {
  takeAutoScope = take;
};
const isShared = () => source.startsWith("/api/shared/");

/** Return the conversation that the address names; null for a new one. */
export const idInAddress = () =>
  /\/c\/([\w-]{1,64})$/.exec(location.pathname)?.[1] ?? null;

/** Return the address of a conversation, with the scope that is chosen now. */
export function addressOf(id) {
  const url = new URL(location.href);
  url.pathname = at(id ? `/c/${id}` : "/");
  url.hash = "";
  return url.href;
}

function setAddress(id) {
  if (id === idInAddress()) return;
  // The history entry of a sheet (`watchSheets`) becomes that of the page it leads to.
  if (history.state?.sheet) history.replaceState(null, "", addressOf(id));
  else history.pushState(null, "", addressOf(id));
}

/** Keep what is being written in a conversation: it survives a reload, in this tab. */
export const keepDraft = (text) =>
  sessionStorage.setItem(DRAFT + (conversationId ?? ""), text);

const draftOf = (id) => sessionStorage.getItem(DRAFT + (id ?? "")) ?? "";

function setConversation(id, title = "") {
  conversationId = id;
  const share = byId("share-current");
  if (share) share.hidden = !id;
  document.title = title ? `${title} · ${TITLE}` : TITLE;
  byId("conversation-title").textContent = title || t("Conversation");
  showCurrent(id);
}

function showStarted(isStarted) {
  byId("welcome").hidden = isStarted;
  byId("conversation-title").hidden = !isStarted;
  if (!isShared()) byId("new-chat").hidden = !isStarted;
}

/** Stop the answer for good, in every window. */
export function stop() {
  if (!streaming) return;
  const { messageId } = turns.at(-1);
  streaming.abort();
  // Without an id, closing the connection stops it.
  if (messageId)
    sendJson("POST", `/api/messages/${messageId}/stop`).catch(({ message }) =>
      announce(message),
    );
}

function empty() {
  // Only the stream is closed: the answer continues for a while, for somebody who
  // returns to it.
  streaming?.abort();
  streaming = null;
  setStreaming(false);
  visit = {};
  edited = null;
  endEditing();
  takeAutoScope?.();
  setAttachments([]);
  if (byId("evidence").open)
    import("./evidence.js").then(({ closeEvidence }) => closeEvidence());
  turns = [];
  log.replaceChildren();
  byId("earlier").hidden = byId("missing").hidden = true;
}

function clear() {
  empty();
  source = "";
  setConversation(null);
  showStarted(false);
  showDraft(draftOf(null));
  scrollTo(0, 0);
}

/** Show the conversation that the address names. */
export function showAddress() {
  const id = idInAddress();
  if (visit && id === conversationId) return;
  withdrawUndo();
  if (id) open(id);
  else clear();
}

export function go(id) {
  setAddress(id);
  showAddress();
}

export function newChat() {
  const left = conversationId;
  setAddress(null);
  clear();
  focusComposer();
  if (left) offerUndo(t("A new chat."), () => go(left));
}

/** The server has started an answer. */
export function onStarted(turn, { conversation_id: id }) {
  if (turns.at(-1) !== turn) return;
  if (draftOf(conversationId) === turn.question) keepDraft("");
  source = `/api/conversations/${id}`;
  setAddress(id);
  if (conversationId !== id) setConversation(id, turn.question);
  refreshList();
}

async function answer(turn, start) {
  const controller = new AbortController();
  streaming = controller;
  setStreaming(true);
  announce(`${beginningText(turn)}.`);
  const { response, error } = await start(controller.signal);
  // By now the page may show another conversation.
  if (streaming !== controller) return;
  streaming = null;
  // A question that has not reached the server must survive a reload.
  if (!turn.messageId && !draftOf(conversationId)) keepDraft(turn.question);
  if (response?.conversation_id) onStarted(turn, response);
  // The conversation was deleted on the server; a retry starts a new one.
  else if (error?.status === 404 || error?.code === "not_found") setConversation(null);
  // An unreadable attachment must be changed before the next attempt: the question
  // returns to the composer.
  const isRefused = ["invalid_request", "too_large", "unreadable_document"].includes(
    error?.code,
  );
  if (isRefused && turn.attachments.length && offerAgain(turn.question))
    turn.withdrawRetry();
  setStreaming(false);
  returnToComposer();
}

/** Remove this turn and all after it. */
const dropFrom = (turn) =>
  turns.splice(turns.indexOf(turn)).forEach(({ node }) => node.remove());

/**
 * Return whether the attachments are complete and the page still shows the same
 * conversation.
 */
export async function ready() {
  const before = visit;
  await visit.loaded;
  return (await attachmentsReady()) && before === visit;
}

/** Ask the question in the composer, in place of the one that is being edited. */
export const send = (question) => ask(question, { replaced: edited });

/**
 * @param {string} question
 * @param {{page?: number, autoScope?: boolean, replaced?: Turn | null}} [options]
 * @returns {string} why it cannot be asked now, or ""
 */
export function ask(question, { page, autoScope, replaced } = {}) {
  const reason = streaming
    ? t("An answer is being written. Wait for it, or stop it with Esc.")
    : whatIsMissing(attachments());
  if (reason) return reason;
  const isAutoScope = takeAutoScope?.();
  edited = null;
  withdrawUndo();
  if (replaced) dropFrom(replaced);
  showStarted(true);
  const turn = new Turn(log, {
    question,
    page,
    mode: chosenMode(),
    filters: scope.filters(),
    attachments: attachments(),
    autoScope: autoScope ?? isAutoScope,
  });
  turns.push(turn);
  while (turns.length > MAX_TURNS) {
    turns.shift().node.remove();
    byId("earlier").hidden = false;
  }
  turn.show();
  answer(turn, (signal) => turn.run(turn.payload(conversationId, replaced), signal));
  return "";
}

/** Ask the same question again in its place; the turns after it are removed. */
export function askAgain(turn) {
  if (streaming) return;
  cancelEditing();
  turn.attachments = completed(turn.attachments);
  const reason = whatIsMissing(turn.attachments);
  showReason(reason);
  if (reason) return setAttachments(turn.attachments);
  const payload = turn.payload(conversationId, turn);
  const next = turns[turns.indexOf(turn) + 1];
  if (next) dropFrom(next);
  answer(turn, (signal) => turn.run(payload, signal));
}

/** Put a question into the composer; sending it replaces this turn. */
export function edit(turn) {
  if (streaming) return;
  const before = attachments();
  edited = turn;
  takeAutoScope?.();
  scope.replace(turn.filters);
  setAttachments(turn.attachments);
  editQuestion(turn.question, () => {
    edited = null;
    setAttachments(before);
    showDraft(draftOf(conversationId));
  });
}

/** Ask a question below the others, in another scope if one is given. */
export function askBelow(question, filters, options) {
  if (streaming && filters) return;
  cancelEditing();
  if (filters) scope.replace(filters);
  showReason(ask(question, options));
  focusComposer();
}

/**
 * Show stored turns before the node `next`; an answer that is still being written is
 * followed.
 */
function showMessages(messages, next = null) {
  const added = [];
  for (let index = 0; index + 1 < messages.length; index += 2) {
    const [question, reply] = [messages[index], messages[index + 1]];
    const isRunning = reply.state === "running";
    const replaced =
      question.replaces &&
      added.find(({ messageId }) => messageId === question.replaces);
    if (replaced && isRunning)
      added.splice(added.indexOf(replaced)).forEach(({ node }) => node.remove());
    const turn = new Turn(log, storedQuestion(question), next);
    turn.node.classList.toggle("read-only", isShared());
    added.push(turn);
    if (isRunning && !isShared())
      answer(turn, (signal) => turn.resume(reply.message_id, signal));
    else turn.restore(reply);
  }
  turns = [...added, ...turns];
}

/** Open a conversation at its end. */
async function open(id) {
  empty();
  source = `/api/conversations/${id}`;
  setConversation(id);
  showStarted(true);
  showDraft(draftOf(id));
  visit.loaded = load();
  await visit.loaded;
  focusComposer();
}

/** Open a shared conversation, read only. */
export function openShared(token) {
  source = `/api/shared/${token}`;
  showStarted(true);
  load();
}

async function load() {
  const url = source;
  try {
    const {
      title,
      messages,
      next,
      updated_at: date,
    } = await getJson(`${url}?limit=${FIRST_TURNS}`);
    if (source !== url) return;
    setConversation(conversationId, title);
    showMessages(messages);
    byId("earlier").hidden = !next;
    byId("shared-date").hidden = !isShared();
    byId("shared-date").textContent = t("A shared conversation. Last answer: {date}", {
      date: when(date),
    });
    if (isShared()) return;
    restoreAttachments(turns.at(-1)?.attachments ?? []);
    turns.at(-1)?.show("instant");
  } catch (error) {
    if (source === url) showMissing(error);
  }
}

function showMissing({ status, message }) {
  byId("missing").hidden = false;
  byId("missing-text").textContent =
    status === 404
      ? t(
          "This conversation was deleted, its link was revoked, or it belongs to someone else.",
        )
      : message;
}

byId("earlier").addEventListener("click", async () => {
  const [first] = turns;
  const url = source;
  const height = document.documentElement.scrollHeight;
  try {
    const { messages, next } = await getJson(
      `${url}?limit=${EARLIER_TURNS}&cursor=${first.messageId}`,
    );
    if (source !== url || turns[0] !== first) return;
    showMessages(messages, first.node);
    byId("earlier").hidden = !next;
    // What is being read stays in place.
    scrollBy({
      top: document.documentElement.scrollHeight - height,
      behavior: "instant",
    });
  } catch (error) {
    showMissing(error);
  }
});
