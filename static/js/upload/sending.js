import { ApiError, at, errorOf, unreachable } from "../common/api.js";
import { showText } from "../common/components.js";
import { showIcon } from "../common/forms.js";
import { byId, cloneTemplate } from "../common/dom.js";
import { loadFormats } from "../common/files.js";
import { bytes } from "../common/format.js";
import { count, t } from "../common/words.js";

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
    request.open("POST", at(url));
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(loaded, total));
    request.addEventListener("load", () => {
      const body = answerOf(request);
      if (request.status < 300 && body) resolve(body);
      else reject(errorOf(body, request.status));
    });
    request.addEventListener("error", () => reject(unreachable()));
    const stopped = new ApiError({ code: "stopped", message: t("Stopped: the documents above were not added.") });
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

function rowOf({ name, file }) {
  const row = cloneTemplate("file-progress-template");
  showIcon(row.querySelector(".state-icon"), "clock");
  row.querySelector(".file-name").textContent = name;
  row.querySelector("progress").setAttribute("aria-label", t("Sent of {name}", { name }));
  return { row, show: (part) => showSent(row, file.size, part) };
}

function showSent(row, size, part) {
  row.querySelector("progress").value = part;
  showText(row.querySelector(".file-state"), part < 1
    ? t("{sent} of {size} sent", { sent: bytes(part * size), size: bytes(size) }) : t("Sent"));
  showIcon(row.querySelector(".state-icon"), part < 1 ? "clock" : "check");
}

function formOf(items, described) {
  const form = new FormData();
  for (const [name, value] of described) form.append(name, value);
  for (const { name, file } of items) form.append("files", file, name);
  return form;
}

/**
 * Sends the files in portions, one after the other, and shows how far each file is. `onTaken` gets each ingestion with
 * its files. Throws at the first portion that the server refuses, or when stopped.
 */
export async function sendFiles(items, described, { signal, onTaken }) {
  if (!items.length) return;
  const formats = await loadFormats().catch(() => null);
  const views = new Map(items.map((item) => [item, rowOf(item)]));
  for (const view of views.values()) view.show(0);
  byId("sending-title").textContent = t("Sending {files}", { files: count(items.length, "file") });
  byId("sending-files").replaceChildren(...[...views.values()].map(({ row }) => row));
  byId("sending").hidden = false;
  byId("sending-title").focus({ preventScroll: true });
  try {
    for (const batch of batchesOf(items, formats?.max_bytes ?? 0)) {
      const onProgress = (loaded, total) =>
        sentParts(batch, loaded, total).forEach((part, index) => views.get(batch[index]).show(part));
      onTaken(await postForm("/api/documents", formOf(batch, described), { onProgress, signal }), batch);
      for (const item of batch) views.get(item).row.remove();
    }
  } finally {
    byId("sending").hidden = true;
  }
}
