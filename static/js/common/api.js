/** Requests to the server. */
import { t, translated } from "./words.js";

/**
 * Return a path of this server as the browser must request it: a proxy may serve it
 * below another path.
 */
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

/**
 * Yield the server-sent events of a fetch body (EventSource cannot POST); comments are
 * dropped.
 */
async function* readEvents(body) {
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

const SERVER_ERROR = 500;

export class ApiError extends Error {
  /**
   * @param {{code: string, message: string, details?: any, request_id?: string}} body
   * @param {number} [status]
   */
  constructor({ code, message, details, request_id: requestId }, status) {
    super(translated(message));
    Object.assign(this, { code, details, status });
    // Its log says more of it: what a person can put right has none.
    if (status >= SERVER_ERROR) this.requestId = requestId;
  }
}

export const unreachable = () =>
  new ApiError({
    code: "network",
    message: t(
      "The server could not be reached. Check the connection, then try again.",
    ),
  });

/** The document event that a request was refused because it needs a key. */
export const KEY_NEEDED = "key-needed";

/** Return the error in a response body; a proxy may answer without one. */
export function errorOf(body, status) {
  if (status === 401) document.dispatchEvent(new Event(KEY_NEEDED));
  const fallback = {
    code: "unknown",
    message: t("The server answered with an error ({status}).", { status }),
  };
  return new ApiError(body?.error?.message ? body.error : fallback, status);
}

const asApiError = (error) =>
  error.name === "AbortError" || error instanceof ApiError ? error : unreachable();

export async function request(url, options) {
  const response = await fetch(at(url), options).catch((error) => {
    throw asApiError(error);
  });
  if (!response.ok)
    throw errorOf(await response.json().catch(() => null), response.status);
  return response;
}

const JSON_TYPE = { "Content-Type": "application/json" };

export const getJson = async (url, signal) => (await request(url, { signal })).json();

/** Send JSON and return the JSON of the response; null for 204. */
export async function sendJson(method, url, body) {
  const response = await request(url, {
    method,
    ...(body && { headers: JSON_TYPE, body: JSON.stringify(body) }),
  });
  return response.status === 204 ? null : response.json();
}

/**
 * Return the body of /ready, also with status 503 (reports are being indexed); null if
 * the server does not answer.
 */
export async function getReadiness() {
  const response = await fetch(at("/ready")).catch(() => null);
  return response?.json().catch(() => null) ?? null;
}

/** How long to wait before the server is tried again: twice as long each time. */
const [FIRST_WAIT_MS, LAST_WAIT_MS] = [2000, 30_000];

/**
 * Wait until the server can be reached. Resolves to false if nobody waits for it any
 * more.
 */
export async function serverAnswers(isWanted) {
  for (let wait = FIRST_WAIT_MS; isWanted(); wait = Math.min(2 * wait, LAST_WAIT_MS)) {
    await new Promise((resolve) => {
      setTimeout(resolve, wait);
      addEventListener("online", resolve, { once: true });
    });
    if (navigator.onLine && isWanted() && (await getReadiness())) return isWanted();
  }
  return false;
}

/**
 * Yield the events of one answer. An `error` event and an error before the stream both
 * throw.
 */
export async function* askQuestion(payload, files, signal) {
  const json = JSON.stringify(payload);
  if (!files.length)
    return yield* answerOf(
      "/api/chat",
      { method: "POST", body: json, headers: JSON_TYPE },
      signal,
    );
  // Files are sent as a form next to the question; the browser sets the content type.
  const body = new FormData();
  body.append("request", json);
  for (const file of files) body.append("files", file);
  yield* answerOf("/api/chat", { method: "POST", body }, signal);
}

/** Yield the events of an answer that is being written, from its start. */
export async function* resumeAnswer(messageId, signal) {
  yield* answerOf(`/api/messages/${messageId}/stream`, {}, signal);
}

async function* answerOf(url, options, signal) {
  const response = await request(url, {
    ...options,
    headers: { ...options.headers, Accept: "text/event-stream" },
    signal,
  });
  try {
    for await (const event of readEvents(response.body)) {
      if (event.name === "error") throw new ApiError(event.data.error);
      yield event;
      if (event.name === "done") return;
    }
  } catch (error) {
    throw asApiError(error);
  }
  throw new ApiError({
    code: "incomplete",
    message: t("The connection ended before the answer was complete."),
  });
}
