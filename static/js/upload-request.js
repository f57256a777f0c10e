import { ApiError, errorOf, unreachable } from "./api.js";

function answerOf(request) {
  try {
    return JSON.parse(request.responseText);
  } catch {
    return null;
  }
}

/** Posts a form; unlike fetch, XMLHttpRequest says how many bytes have gone. */
export function postForm(url, form, { onProgress, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(loaded, total));
    request.addEventListener("load", () => {
      const body = answerOf(request);
      if (request.status < 300 && body) resolve(body);
      else reject(errorOf(body, request.status));
    });
    request.addEventListener("error", () => reject(unreachable()));
    const stopped = new ApiError({ code: "stopped", message: "Stopped: the documents above were not added." });
    request.addEventListener("abort", () => reject(stopped));
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

const BATCH_FILES = 20;

/** Files in portions that one request may carry: a folder can hold hundreds. */
export function batchesOf(items, mostBytes) {
  const batches = [];
  let room = 0;
  for (const item of items) {
    if (!batches.length || batches.at(-1).length === BATCH_FILES || item.file.size > room) {
      batches.push([]);
      room = mostBytes;
    }
    batches.at(-1).push(item);
    room -= item.file.size;
  }
  return batches;
}

/** How much of each file has gone (0..1): they are sent in order, with a little of the form between them. */
export function sentParts(items, loaded, total) {
  const sizes = items.map(({ file }) => file.size);
  const between = Math.max(0, total - sizes.reduce((sum, size) => sum + size, 0)) / items.length;
  let start = 0;
  return sizes.map((size) => {
    start += between;
    const part = Math.min(1, Math.max(0, (loaded - start) / Math.max(size, 1)));
    start += size;
    return part;
  });
}
