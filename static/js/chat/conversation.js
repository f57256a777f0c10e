/**
 * The conversation on the page: its turns, its address, its draft, and every way to ask
 * a question in it.
 */
import {
  attachmentsReady,
  completed,
  restoreAttachments,
  setAttachments,
  whatIsMissing,
} from "./attachments.js";
import {
  focusComposer,
  focusQuestion,
  offerAgain,
  readQuestion,
  returnToComposer,
  showDraft,
  showReason,
} from "./composer.js";
import { chosenMode } from "./modes.js";
import { offerUndo, withdrawUndo } from "./overlays.js";
import { scope } from "./scope.js";
import { store } from "./store.js";
import { at, getJson, sendJson, serverAnswers, unreachable } from "../common/api.js";
import { announce, byId, onSubmit } from "../common/dom.js";
import { when } from "../common/format.js";
import { t } from "../common/words.js";

/**
 * Turns shown when a conversation is opened, added by "Show earlier questions", and
 * kept while it grows.
 */
const FIRST_TURNS = 4;
const EARLIER_TURNS = 10;
const MAX_TURNS = 20;
const TITLE = document.title;
const log = byId("log");
const isShared = () => store.source.startsWith("/api/shared/");

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

function setConversation(id, title = "") {
  store.set({ conversationId: id });
  const share = byId("share-current");
  if (share) share.hidden = !id;
  document.title = title ? `${title} · ${TITLE}` : TITLE;
  byId("conversation-title").textContent = title || t("Conversation");
}

function showStarted(isStarted) {
  byId("welcome").hidden = isStarted;
  byId("conversation-title").hidden = !isStarted;
  if (!isShared()) byId("new-chat").hidden = !isStarted;
}

/** Stop the answer for good, in every window. */
export function stop() {
  if (!store.streaming) return;
  const { messageId } = store.turns.at(-1);
  store.streaming.abort();
  // Without an id, closing the connection stops it.
  if (messageId)
    sendJson("POST", `/api/messages/${messageId}/stop`).catch(({ message }) =>
      announce(message),
    );
}

function empty() {
  // Only the stream is closed: the answer continues for a while, for somebody who
  // returns to it.
  store.streaming?.abort();
  store.set({ streaming: null, visit: {}, edited: null });
  store.takeDeclined?.();
  setAttachments([]);
  if (byId("evidence").open)
    import("./evidence.js").then(({ closeEvidence }) => closeEvidence());
  store.set({ turns: [] });
  log.replaceChildren();
  document.body.classList.remove("is-brief");
  byId("brief-head")?.remove();
  byId("earlier").hidden = byId("missing").hidden = true;
}

function clear() {
  empty();
  store.set({ source: "" });
  setConversation(null);
  showStarted(false);
  showDraft(store.draft);
  scrollTo(0, 0);
}

/** Show the conversation that the address names. */
export function showAddress() {
  const id = idInAddress();
  if (store.visit && id === store.conversationId) return;
  withdrawUndo();
  if (id) open(id);
  else clear();
}

export function go(id) {
  setAddress(id);
  showAddress();
}

export function newChat() {
  const left = store.conversationId;
  setAddress(null);
  clear();
  focusComposer();
  if (left) offerUndo(t("A new chat."), () => go(left));
}

/** The server has started an answer. */
function onStarted(turn, { conversation_id: id }) {
  if (store.turns.at(-1) !== turn) return;
  if (store.draft === turn.question) store.draft = "";
  store.set({ source: `/api/conversations/${id}` });
  setAddress(id);
  if (store.conversationId !== id) setConversation(id, turn.question);
  store.emit("stored");
}

async function answer(turn, start) {
  const controller = new AbortController();
  store.set({ streaming: controller });
  import("./steps.js").then(({ beginningText }) => announce(`${beginningText(turn)}.`));
  const { response, error } = await start(controller.signal);
  // By now the page may show another conversation.
  if (store.streaming !== controller) return;
  // A question that has not reached the server must survive a reload.
  if (!turn.messageId && !store.draft) store.draft = turn.question;
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
  store.set({ streaming: null });
  returnToComposer();
  goOnLater(turn, error);
}

/** How often a question goes on by itself: a proxy may cut every answer. */
const MAX_GOING_ON = 3;

/** Go on with a question once the server can be reached, unless its person has. */
async function goOnLater(turn, error) {
  const isLost = ["network", "incomplete"].includes(error?.code);
  if (!isLost || turn.goneOn >= MAX_GOING_ON) return;
  const isWanted = () =>
    store.turns.at(-1) === turn && !turn.isComplete && !store.streaming;
  if (!(await serverAnswers(isWanted)) || store.edited) return;
  turn.goneOn += 1;
  if (turn.messageId) answer(turn, (signal) => turn.resume(turn.messageId, signal));
  else askAgain(turn);
}

/**
 * Fetch the scripts that show answers, all at once, and have the browser read them. It
 * keeps a script that it could not load as one that fails, so that each is fetched
 * before it is imported.
 */
export async function fetchTurns() {
  const links = [...byId("answer-scripts").content.children];
  await Promise.all(
    links.map(async (link) => {
      const response = await fetch(link.getAttribute("href"), { priority: "low" });
      if (!response.ok) throw unreachable();
      await response.arrayBuffer();
      document.head.append(link);
    }),
  );
}

/** Load what shows answers; a page without a question needs none of it. */
export const loadTurns = () =>
  fetchTurns()
    .then(() => import("./turn.js"))
    .catch(() => {
      throw unreachable();
    });

/** Remove this turn and all after it. */
const dropFrom = (turn) =>
  store.turns.splice(store.turns.indexOf(turn)).forEach(({ node }) => node.remove());

/**
 * Return whether the attachments are complete and the page still shows the same
 * conversation.
 */
async function ready() {
  const before = store.visit;
  await store.visit.loaded;
  return (await attachmentsReady()) && before === store.visit;
}

/**
 * @param {string} question
 * @param {{
 *   page?: number, autoScope?: boolean, withoutEarlier?: string[],
 *   replaced?: import("./turn.js").Turn | null
 * }} [options]
 * @returns {Promise<string>} why it cannot be asked now, or ""
 */
async function ask(question, { page, autoScope, withoutEarlier, replaced } = {}) {
  let turns;
  try {
    turns = await loadTurns();
  } catch ({ message }) {
    return message;
  }
  const reason = store.streaming
    ? t("An answer is being written. Wait for it, or stop it with Esc.")
    : whatIsMissing(store.attachments);
  if (reason) return reason;
  const declined = store.takeDeclined?.();
  store.set({ edited: null });
  withdrawUndo();
  if (replaced) dropFrom(replaced);
  showStarted(true);
  const turn = new turns.Turn(log, {
    question,
    page,
    mode: chosenMode(),
    filters: scope.filters(),
    attachments: store.attachments,
    autoScope: autoScope ?? declined?.autoScope,
    withoutEarlier: withoutEarlier ?? declined?.withoutEarlier,
  });
  store.turns.push(turn);
  while (store.turns.length > MAX_TURNS) {
    store.turns.shift().node.remove();
    byId("earlier").hidden = false;
  }
  turn.show();
  answer(turn, (signal) =>
    turn.run(turn.payload(store.conversationId, replaced), signal),
  );
  return "";
}

/** Ask the same question again in its place; the turns after it are removed. */
function askAgain(turn) {
  if (store.streaming) return;
  cancelEditing();
  turn.attachments = completed(turn.attachments);
  const reason = whatIsMissing(turn.attachments);
  showReason(reason);
  if (reason) return setAttachments(turn.attachments);
  const payload = turn.payload(store.conversationId, turn);
  const next = store.turns[store.turns.indexOf(turn) + 1];
  if (next) dropFrom(next);
  answer(turn, (signal) => turn.run(payload, signal));
}

/** Put a question into the composer; sending it replaces this turn. */
function edit(turn) {
  if (store.streaming) return;
  store.set({ edited: { turn, attachedBefore: store.attachments } });
  store.takeDeclined?.();
  scope.replace(turn.filters);
  setAttachments(turn.attachments);
  showDraft(turn.question);
  focusQuestion();
}

/** Leave the edited question as it is, and go on with what was being written before. */
function cancelEditing() {
  if (!store.edited) return;
  const { attachedBefore } = store.edited;
  store.set({ edited: null });
  setAttachments(attachedBefore);
  showDraft(store.draft);
}

/** Ask a question below the others, in another scope if one is given. */
export async function askBelow({ question, filters, ...options }) {
  if (store.streaming && filters) return;
  cancelEditing();
  if (filters) scope.replace(filters);
  showReason(await ask(question, options));
  focusComposer();
}

/** Ask the question in the composer, in place of the one that is being edited. */
async function submit() {
  if (!(await ready())) return focusQuestion();
  const question = readQuestion();
  if (!question) return focusQuestion();
  const { visit } = store;
  const reason = await ask(question, { replaced: store.edited?.turn });
  showReason(reason);
  if (reason) {
    focusQuestion();
    if (reason !== unreachable().message) return;
    // What shows answers could not be loaded: the question waits in its box.
    const isWanted = () => visit === store.visit && readQuestion() === question;
    if (await serverAnswers(isWanted)) submit();
    return;
  }
  showDraft("");
  focusComposer();
}

export function wireConversation() {
  onSubmit(byId("ask-form"), submit);
  byId("stop").addEventListener("click", stop);
  byId("editing-end").addEventListener("click", () => {
    cancelEditing();
    focusQuestion();
  });
}

store.on("ask", askBelow);
store.on("askAgain", askAgain);
store.on("edit", edit);
store.on("started", ({ turn, answer: begun }) => onStarted(turn, begun));

/**
 * Show stored turns before the node `next`; an answer that is still being written is
 * followed.
 */
function showMessages({ Turn, storedQuestion }, messages, next = null) {
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
  store.set({ turns: [...added, ...store.turns] });
}

/** Open a conversation at its end. */
async function open(id) {
  empty();
  store.set({ source: `/api/conversations/${id}` });
  setConversation(id);
  showStarted(true);
  showDraft(store.draft);
  store.visit.loaded = load();
  await store.visit.loaded;
  focusComposer();
}

/** Show the conversation again, as it is stored now. */
store.on("openAgain", () => {
  empty();
  store.visit.loaded = load();
});

/** Open a shared conversation, read only. */
export function openShared(token) {
  store.set({ source: `/api/shared/${token}` });
  showStarted(true);
  load();
}

async function load() {
  const url = store.source;
  try {
    const [conversation, turns] = await Promise.all([
      getJson(`${url}?limit=${FIRST_TURNS}`),
      loadTurns(),
    ]);
    const { title, kind, messages, next, updated_at: date, outdated } = conversation;
    const brief = kind ? await import("./brief.js") : null;
    if (store.source !== url) return;
    setConversation(store.conversationId, title);
    showMessages(turns, messages);
    brief?.showBrief(store.conversationId, title, messages);
    byId("earlier").hidden = !next;
    byId("shared-date").hidden = !isShared();
    byId("shared-date").textContent = t("A shared conversation. Last answer: {date}", {
      date: when(date),
    });
    if (isShared()) return;
    restoreAttachments(store.turns.at(-1)?.attachments ?? []);
    if (!brief) store.turns.at(-1)?.show("instant");
    store.set({ outdated });
    await showOutdated();
  } catch (error) {
    if (store.source === url) showMissing(error);
  }
}

/** Say which of the answers that are shown rest on reports of before. */
async function showOutdated() {
  if (!store.outdated.length) return;
  const returning = await import("./returning.js");
  returning.showOutdated(store.outdated, document.body.classList.contains("is-brief"));
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
  const [first] = store.turns;
  const url = store.source;
  const height = document.documentElement.scrollHeight;
  try {
    const { messages, next } = await getJson(
      `${url}?limit=${EARLIER_TURNS}&cursor=${first.messageId}`,
    );
    if (store.source !== url || store.turns[0] !== first) return;
    showMessages(await loadTurns(), messages, first.node);
    byId("earlier").hidden = !next;
    await showOutdated();
    // What is being read stays in place.
    scrollBy({
      top: document.documentElement.scrollHeight - height,
      behavior: "instant",
    });
  } catch (error) {
    showMissing(error);
  }
});
