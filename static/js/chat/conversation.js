import { goTo, draftOf, keepDraft } from "./address.js";
import { attachments, attachmentsTaken, bringBack, completed, setAttachments, whatIsMissing } from "./attachments.js";
import {
  cancelEditing, editQuestion, endEditing, focusComposer, offerAgain, returnToComposer, setStreaming, showDraft, showReason,
} from "./composer.js";
import { refreshList, showCurrent } from "./list.js";
import { payloadFor, questionFrom, questionOf, scope } from "./question.js";
import { beginningText } from "./steps.js";
import { Turn } from "./turn.js";
import { getJson, sendJson } from "../common/api.js";
import { announce, byId } from "../common/dom.js";
import { withdrawUndo } from "../common/toast.js";
import { t } from "../common/words.js";

/** Questions that are shown of a conversation that is opened, and of those before on request. */
const SHOWN = 4;
const MORE = 10;
/** Of one that grows: with each further one the first goes, to be shown again on request. */
const MOST = 20;
const log = byId("log");
const MISSING = t("There is no such conversation: it was deleted, its link was revoked, or it is somebody else's.");
const TITLE = document.title;
let conversationId = null;
let streaming = null;
/** @type {Turn[]} in their order */
let turns = [];
let source = "";
let edited = null;
/** Another one for each conversation that the page shows; `opened` settles when it does. */
let place = {};

export const current = () => conversationId;

/** @type {(() => false | undefined) | null} whether a question's own words may narrow it, once that is looked at */
let takeAutoScope = null;

export function askBefore(take) {
  takeAutoScope = take;
}

const isShared = () => source.startsWith("/api/shared/");

function setConversation(id, title = "") {
  conversationId = id;
  document.title = title ? `${title} · ${TITLE}` : TITLE;
  byId("conversation-title").textContent = title || t("Conversation");
  showCurrent(id);
}

function showBegun(isBegun) {
  byId("welcome").hidden = isBegun;
  byId("conversation-title").hidden = !isBegun;
  if (!isShared()) byId("new-chat").hidden = !isBegun;
}

/** The stream is left alone: the answer goes on for a while, for whoever comes back to it. */
export function leave() {
  streaming?.abort();
  streaming = null;
  setStreaming(false);
}

/** For good, in whichever window. */
export function stop() {
  if (!streaming) return false;
  const { messageId } = turns.at(-1);
  streaming.abort();
  // It may have ended meanwhile; and without an answer it ends with its connection.
  if (messageId) sendJson("POST", `/api/messages/${messageId}/stop`).catch(({ message }) => announce(message));
  return true;
}

function empty() {
  leave();
  place = {};
  edited = null;
  endEditing();
  takeAutoScope?.();
  setAttachments([]);
  // Nothing is open where it was never loaded.
  if (byId("evidence").open) import("./evidence.js").then(({ closeEvidence }) => closeEvidence());
  turns = [];
  log.replaceChildren();
  byId("earlier").hidden = true;
  byId("missing").hidden = true;
}

/** A new chat. */
export function clear() {
  empty();
  source = "";
  setConversation(null);
  showBegun(false);
  showDraft(draftOf(null));
  scrollTo(0, 0);
}

const on = { retry: again, edit, narrow: askNarrowed, widen: askWidened, further: askFurther, begun };

function begun(turn, { conversation_id: id }) {
  if (turns.at(-1) !== turn) return;
  if (draftOf(conversationId) === turn.question) keepDraft(conversationId, "");
  source = `/api/conversations/${id}`;
  goTo(id);
  if (conversationId !== id) setConversation(id, turn.question);
  refreshList();
}

function remember({ response, error }, turn) {
  // What has not reached the server is there after a reload.
  if (!turn.messageId && !draftOf(conversationId)) keepDraft(conversationId, turn.question);
  if (response?.conversation_id) begun(turn, response);
  // The conversation is gone on the server; a retry starts a new one.
  else if (error?.status === 404 || error?.code === "not_found") setConversation(null);
}

/** An attachment that cannot be read is changed before the next try: the question goes back to where that is done. */
function keepForAnotherTry(turn, { error }) {
  const isRefused = ["invalid_request", "too_large", "unreadable_document"].includes(error?.code);
  if (isRefused && turn.attachments.length && offerAgain(turn.question)) turn.withdrawRetry();
}

async function answer(turn, start) {
  const controller = new AbortController();
  streaming = controller;
  setStreaming(true);
  announce(`${beginningText(turn)}.`);
  const outcome = await start(controller.signal);
  // Another conversation is shown by now.
  if (streaming !== controller) return;
  streaming = null;
  remember(outcome, turn);
  keepForAnotherTry(turn, outcome);
  setStreaming(false);
  returnToComposer();
}

/** Takes turns away from the page, from this one on. */
function dropFrom(turn) {
  for (const gone of turns.splice(turns.indexOf(turn))) gone.remove();
}

const BUSY = t("An answer is being written. Wait for it, or stop it with Esc.");

/** Whether a question of the composer has all that goes along, and is still where it was written. */
export async function ready() {
  const here = place;
  await place.opened;
  return (await attachmentsTaken()) && here === place;
}

/** The question in the composer: in the place of the one that was edited. */
export const send = (question) => ask(question, { replaced: edited });

/**
 * @param {string} question
 * @param {{page?: number, autoScope?: boolean, replaced?: Turn | null}} [options]
 * @returns {string} why it cannot be asked now; "" where it is
 */
export function ask(question, { page, autoScope, replaced } = {}) {
  const reason = streaming ? BUSY : whatIsMissing(attachments());
  if (reason) return reason;
  const wanted = takeAutoScope?.();
  edited = null;
  withdrawUndo();
  if (replaced) dropFrom(replaced);
  showBegun(true);
  const turn = new Turn(log, questionFrom(question, attachments(), { page, autoScope: autoScope ?? wanted }), on);
  turns.push(turn);
  while (turns.length > MOST) {
    turns.shift().remove();
    byId("earlier").hidden = false;
  }
  turn.show();
  answer(turn, (signal) => turn.run(payloadFor(turn, conversationId, replaced), signal));
  return "";
}

/** The same question in the same place: what came after it goes. */
function again(turn) {
  if (streaming) return;
  cancelEditing();
  turn.attachments = completed(turn.attachments);
  const reason = whatIsMissing(turn.attachments);
  showReason(reason);
  if (reason) return setAttachments(turn.attachments);
  const payload = payloadFor(turn, conversationId, turn);
  const [, ...after] = turns.slice(turns.indexOf(turn));
  if (after.length) dropFrom(after[0]);
  answer(turn, (signal) => turn.run(payload, signal));
}

/** Puts the question into the composer; the next one takes its place. */
function edit(turn) {
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

/** The same question once more, in the scope that was found in it. */
function askNarrowed({ question }, { filters, collections, page }) {
  if (streaming) return;
  cancelEditing();
  scope.replace({ ...filters, collections });
  ask(question, { page });
}

/** The same question once more, in the scope that was chosen for it and no other. */
function askWidened({ question, filters, page }) {
  if (streaming) return;
  cancelEditing();
  scope.replace(filters);
  showReason(ask(question, { page, autoScope: false }));
  focusComposer();
}

function askFurther(question) {
  cancelEditing();
  showReason(ask(question));
  focusComposer();
}

/** Shows questions with their answers before `next`; what is still being written is followed. */
function showMessages(messages, next = null) {
  const added = [];
  for (let index = 0; index + 1 < messages.length; index += 2) {
    const [asked, said] = [messages[index], messages[index + 1]];
    const replaced = asked.replaces && added.find(({ messageId }) => messageId === asked.replaces);
    if (replaced && said.state === "running") for (const gone of added.splice(added.indexOf(replaced))) gone.remove();
    const turn = new Turn(log, questionOf(asked), on, next);
    turn.node.classList.toggle("read-only", isShared());
    added.push(turn);
    if (said.state === "running" && !isShared()) answer(turn, (signal) => turn.resume(said.message_id, signal));
    else turn.restore(said);
  }
  turns = [...added, ...turns];
}

/** Opens a conversation at its end. */
export async function open(id) {
  empty();
  source = `/api/conversations/${id}`;
  setConversation(id);
  showBegun(true);
  showDraft(draftOf(id));
  place.opened = load(source);
  await place.opened;
  focusComposer();
}

/** The same by the token of a link, to be read only. */
export function openShared(token) {
  source = `/api/shared/${token}`;
  showBegun(true);
  return load(source);
}

async function load(wanted) {
  try {
    const { title, messages, next } = await getJson(`${wanted}?limit=${SHOWN}`);
    if (source !== wanted) return;
    setConversation(conversationId, title);
    showMessages(messages);
    byId("earlier").hidden = !next;
    if (isShared()) return;
    bringBack(turns.at(-1)?.attachments ?? []);
    turns.at(-1)?.show("instant");
  } catch (error) {
    if (source === wanted) showMissing(error);
  }
}

function showMissing({ status, message }) {
  byId("missing").hidden = false;
  byId("missing-text").textContent = status === 404 ? MISSING : message;
}

async function showEarlier() {
  const [first] = turns;
  const wanted = source;
  const height = document.documentElement.scrollHeight;
  try {
    const { messages, next } = await getJson(`${wanted}?limit=${MORE}&cursor=${first.messageId}`);
    if (source !== wanted || turns[0] !== first) return;
    showMessages(messages, first.node);
    byId("earlier").hidden = !next;
    // What was read stays where it is.
    scrollBy({ top: document.documentElement.scrollHeight - height, behavior: "instant" });
  } catch (error) {
    showMissing(error);
  }
}

byId("earlier").addEventListener("click", showEarlier);
