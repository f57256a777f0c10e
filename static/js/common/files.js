import { getJson } from "./api.js";
import { bytes } from "./format.js";
import { t } from "./words.js";

let formats = null;

/** What the server reads, asked once; a failure is asked again the next time. */
export function loadFormats() {
  formats ??= getJson("/api/formats").catch((error) => {
    formats = null;
    throw error;
  });
  return formats;
}

export const formatsLine = ({ suffixes, max_bytes: most }) =>
  t("Reads {suffixes}; up to {size} a file.", { suffixes: suffixes.join(", "), size: bytes(most) });

/** Why the server would not take the file; empty if it would. */
function refusal(file, { suffixes, max_bytes: most }) {
  const name = file.name.toLowerCase();
  if (!suffixes.some((suffix) => name.endsWith(suffix.toLowerCase()))) {
    return t("This kind of file cannot be read. Readable are {suffixes}.", { suffixes: suffixes.join(", ") });
  }
  if (file.size > most) return t("The file has {size}; the most is {most}.", { size: bytes(file.size), most: bytes(most) });
  return file.size === 0 ? t("The file is empty.") : "";
}

/** Splits {name, file} into those to take and those to refuse with a reason. Without formats the server decides. */
export async function sortOut(items) {
  const known = await loadFormats().catch(() => null);
  const judged = items.map((item) => ({ ...item, reason: known ? refusal(item.file, known) : "" }));
  return {
    taken: judged.filter(({ reason }) => !reason).map(({ name, file }) => ({ name, file })),
    refused: judged.filter(({ reason }) => reason),
  };
}

/** The address as the browser understands it; null if it is none of the web. */
export function webAddress(text) {
  const address = URL.canParse(text) ? new URL(text) : null;
  return address && /^https?:$/.test(address.protocol) ? address.href : null;
}

/** Chosen files by name. In a folder the name has its folders too: two of them may hold a report.pdf. */
export const namedFiles = (files) => [...files].map((file) => ({ name: file.webkitRelativePath || file.name, file }));

/** A folder brings what its system and programs keep there (.DS_Store, .git) along. */
export const visible = (items) => items.filter(({ name }) => !/(^|\/)\./.test(name));

function readEntries(reader) {
  return new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
}

async function filesOfEntry(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => { entry.file(resolve, reject); });
    return [{ name: entry.fullPath.replace(/^\//, ""), file }];
  }
  const found = [];
  const reader = entry.createReader();
  // A folder is read in portions; an empty one is the end.
  for (let part = await readEntries(reader); part.length; part = await readEntries(reader)) found.push(...part);
  return visible((await Promise.all(found.map(filesOfEntry))).flat());
}

/** All files of a drop, folders opened. The entries must be taken before anything is awaited. */
async function filesOfDrop(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return namedFiles(transfer.files);
  return (await Promise.all(entries.map(filesOfEntry))).flat();
}

const bringsFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");

/** Files dropped anywhere on the page, promised; beside the target a browser would leave the page to open them. */
export function wireDrop(target, onFiles) {
  const mark = (dropping) => target.classList.toggle("dropping", dropping);
  addEventListener("dragover", (event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    mark(!document.querySelector("dialog:modal"));
  });
  addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || mark(false));
  addEventListener("drop", (event) => {
    if (!bringsFiles(event)) return;
    event.preventDefault();
    mark(false);
    if (document.querySelector("dialog:modal")) return;
    onFiles(filesOfDrop(event.dataTransfer));
  });
}
