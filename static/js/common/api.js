/** A path of this server as the browser has to ask for it: a proxy may serve it below a path of its own. */
import { t } from "./words.js";

export const at = (path) => `${document.documentElement.dataset.root}${path}`;

function parseEvent(block) {
  let name = "message";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}

/** Server-sent events of a fetch body (EventSource cannot POST); comments are dropped. */
export async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (buffer + value).split(/\r?\n\r?\n/);
    buffer = blocks.pop();
    for (const event of blocks.map(parseEvent)) if (event) yield event;
  }
}

export class ApiError extends Error {
  /**
   * @param {{code: string, message: string, details?: any, request_id?: string}} body
   * @param {number} [status]
   */
  constructor({ code, message, details, request_id: requestId }, status) {
    super(message);
    Object.assign(this, { code, details, requestId, status });
  }
}

export const unreachable = () =>
  new ApiError({ code: "network", message: t("The server could not be reached. Check the connection, then try again.") });

/** An event of the document: a request was refused for want of a key. */
export const KEY_NEEDED = "key-needed";

/** The error that a body tells of; a proxy in between may answer without one, or with one of its own kind. */
export function errorOf(body, status) {
  if (status === 401) document.dispatchEvent(new Event(KEY_NEEDED));
  const fallback = { code: "unknown", message: t("The server answered with an error ({status}).", { status }) };
  return new ApiError(body?.error?.message ? body.error : fallback, status);
}

function asApiError(error) {
  return error.name === "AbortError" || error instanceof ApiError ? error : unreachable();
}

async function request(url, options) {
  const response = await fetch(at(url), options).catch((error) => {
    throw asApiError(error);
  });
  if (!response.ok) throw errorOf(await response.json().catch(() => null), response.status);
  return response;
}

export const getJson = async (url, signal) => (await request(url, { signal })).json();

/** The answer's JSON; null where there is none (204). */
export async function sendJson(method, url, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await request(url, { method, ...(body && { headers, body: JSON.stringify(body) }) });
  return response.status === 204 ? null : response.json();
}

/** /ready says 503 with the same body while the reports are indexed; null = no answer. */
export async function getReadiness() {
  const response = await fetch(at("/ready")).catch(() => null);
  return response?.json().catch(() => null) ?? null;
}

/** Files go beside the question as a form; the browser then sets the content type itself. */
function questionBody(payload, files) {
  const json = JSON.stringify(payload);
  if (!files.length) return { body: json, headers: { "Content-Type": "application/json" } };
  const body = new FormData();
  body.append("request", json);
  for (const file of files) body.append("files", file);
  return { body };
}

const EVENTS = { Accept: "text/event-stream" };

/** Yields the events of one answer; an `error` event and an early error both throw. */
export async function* askQuestion(payload, files, signal) {
  const { body, headers } = questionBody(payload, files);
  yield* answerOf(await request("/api/chat", { method: "POST", headers: { ...headers, ...EVENTS }, body, signal }));
}

/** The same of an answer that is being written, from its start. */
export async function* resumeAnswer(messageId, signal) {
  yield* answerOf(await request(`/api/messages/${messageId}/stream`, { headers: EVENTS, signal }));
}

async function* answerOf(response) {
  try {
    for await (const event of readEvents(response.body)) {
      if (event.name === "error") throw new ApiError(event.data.error);
      yield event;
      if (event.name === "done") return;
    }
  } catch (error) {
    throw asApiError(error);
  }
  throw new ApiError({ code: "incomplete", message: t("The answer broke off before its end.") });
}
