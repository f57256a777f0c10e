/** Uploading files in batches, with the progress of each file. */
import { ApiError, at, errorOf, unreachable } from "../common/api.js";
import { byId, cloneTemplate, showText } from "../common/dom.js";
import { loadFormats } from "../common/files.js";
import { showIcon } from "../common/forms.js";
import { bytes } from "../common/format.js";
import { fieldsFor } from "./preview.js";
import { count, t } from "../common/words.js";

/** Post a form. Unlike fetch, XMLHttpRequest tells how many bytes have been sent. */
function postForm(url, form, { onProgress, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", at(url));
    // A body that is not JSON, as of a proxy, is then null.
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) =>
      onProgress(loaded, total),
    );
    request.addEventListener("load", () => {
      if (request.status < 300 && request.response) resolve(request.response);
      else reject(errorOf(request.response, request.status));
    });
    request.addEventListener("error", () => reject(unreachable()));
    const stopped = new ApiError({
      code: "stopped",
      message: t("Stopped. The documents listed above were not added."),
    });
    request.addEventListener("abort", () => reject(stopped));
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

const BATCH_FILES = 20;

/**
 * Split files into batches that one request may carry: a folder can hold hundreds.
 * Those of a batch share their fields.
 */
function batchesOf(items, fields, maxBytes) {
  const batches = [];
  let [room, before] = [0, ""];
  for (const item of items) {
    const own = fieldsFor(item, fields);
    const shared = JSON.stringify(Object.entries(own).sort());
    if (
      !batches.length ||
      batches.at(-1).length === BATCH_FILES ||
      item.file.size > room ||
      shared !== before ||
      "title" in own
    ) {
      batches.push([]);
      room = maxBytes;
    }
    batches.at(-1).push(item);
    before = shared;
    room -= item.file.size;
  }
  return batches;
}

/**
 * Return the share of each file that has been sent (0..1). They are sent in order, with
 * parts of the form between them.
 */
function sentShares(items, loaded, total) {
  const sizes = items.map(({ file }) => file.size);
  const between =
    Math.max(0, total - sizes.reduce((sum, size) => sum + size, 0)) / items.length;
  let start = 0;
  return sizes.map((size) => {
    start += between;
    const share = Math.min(1, Math.max(0, (loaded - start) / Math.max(size, 1)));
    start += size;
    return share;
  });
}

function rowOf({ name }) {
  const row = cloneTemplate("file-progress-template");
  row.querySelector(".file-name").textContent = name;
  row
    .querySelector("progress")
    .setAttribute("aria-label", t("Upload of {name}", { name }));
  return row;
}

function showShare(row, { file: { size } }, share) {
  row.querySelector("progress").value = share;
  showText(
    row.querySelector(".file-state"),
    share < 1
      ? t("{sent} of {size} uploaded", { sent: bytes(share * size), size: bytes(size) })
      : t("Uploaded"),
  );
  showIcon(row.querySelector(".state-icon"), share < 1 ? "clock" : "check");
}

/**
 * Send the files batch by batch. `onSent` gets each ingestion with its files. Throws at
 * the first batch that the server refuses, and when stopped.
 */
export async function sendFiles(items, fields, { signal, onSent }) {
  if (!items.length) return;
  const formats = await loadFormats().catch(() => null);
  const rows = new Map(items.map((item) => [item, rowOf(item)]));
  const show = (batch, shares) =>
    batch.forEach((item, index) => showShare(rows.get(item), item, shares[index]));
  show(
    items,
    items.map(() => 0),
  );
  byId("sending-title").textContent = t("Uploading {files}", {
    files: count(items.length, "file"),
  });
  byId("sending-files").replaceChildren(...rows.values());
  byId("sending").hidden = false;
  byId("sending-title").focus({ preventScroll: true });
  try {
    for (const batch of batchesOf(items, fields, formats?.max_bytes ?? 0)) {
      const form = new FormData();
      const stated = Object.entries(fieldsFor(batch[0], fields));
      for (const [name, value] of stated) if (value !== null) form.append(name, value);
      const removed = stated
        .filter(([, value]) => value === null)
        .map(([name]) => name);
      if (removed.length) form.append("without", removed.join(","));
      for (const { name, file } of batch) form.append("files", file, name);
      const onProgress = (loaded, total) =>
        show(batch, sentShares(batch, loaded, total));
      const ingestion = await postForm("/api/documents", form, {
        onProgress,
        signal,
      }).catch((error) => {
        throw Object.assign(error, { item: batch[0] });
      });
      onSent(ingestion, batch);
      for (const item of batch) rows.get(item).remove();
    }
  } finally {
    byId("sending").hidden = true;
  }
}
