import { showIcon, showText } from "./documents-dom.js";
import { byId, cloneTemplate } from "./dom.js";
import { bytes } from "./documents-format.js";
import { count } from "./format.js";
import { loadFormats } from "./upload-files.js";
import { batchesOf, postForm, sentParts } from "./upload-request.js";

function rowOf({ name, file }) {
  const row = cloneTemplate("file-progress-template");
  showIcon(row.querySelector(".state-icon"), "clock");
  row.querySelector(".file-name").textContent = name;
  row.querySelector("progress").setAttribute("aria-label", `Sent of ${name}`);
  return { row, show: (part) => showSent(row, file.size, part) };
}

function showSent(row, size, part) {
  row.querySelector("progress").value = part;
  showText(row.querySelector(".file-state"), part < 1 ? `${bytes(part * size)} of ${bytes(size)} sent` : "Sent");
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
  byId("sending-title").textContent = `Sending ${count(items.length, "file")}`;
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
