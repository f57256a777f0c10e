import { readEvents } from "./sse.js";

export class ApiError extends Error {
  constructor({ code, message, details }, status) {
    super(message);
    Object.assign(this, { code, details, status });
  }
}

const unreachable = () =>
  new ApiError({ code: "network", message: "The server could not be reached. Check the connection, then try again." });

async function errorOf(response) {
  const body = await response.json().catch(() => null);
  const fallback = { code: "unknown", message: `The server answered with an error (${response.status}).` };
  return new ApiError(body?.error ?? fallback, response.status);
}

function asApiError(error) {
  return error.name === "AbortError" || error instanceof ApiError ? error : unreachable();
}

async function request(url, options) {
  const response = await fetch(url, options).catch((error) => {
    throw asApiError(error);
  });
  if (!response.ok) throw await errorOf(response);
  return response;
}

export const getJson = async (url, signal) => (await request(url, { signal })).json();

/** /ready says 503 with the same body while the reports are indexed; null = no answer. */
export async function getReadiness() {
  const response = await fetch("/ready").catch(() => null);
  return response?.json().catch(() => null) ?? null;
}

/** Yields the events of one answer; an `error` event and an early error both throw. */
export async function* askQuestion(payload, signal) {
  const response = await request("/api/chat", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(payload),
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
  throw new ApiError({ code: "incomplete", message: "The answer broke off before its end." });
}
