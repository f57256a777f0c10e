/** Files that a person chooses or drops: which are accepted. */
import { getJson } from "./api.js";
import { bytes } from "./format.js";
import { comma, t } from "./words.js";

let formats = null;

/** Return the formats that the server reads: requested once, after a failure again. */
export function loadFormats() {
  formats ??= getJson("/api/formats").catch((error) => {
    formats = null;
    throw error;
  });
  return formats;
}

/** Return why the server would refuse the file, or "". */
function refusal(file, { suffixes, max_bytes: limit }) {
  const name = file.name.toLowerCase();
  if (!suffixes.some((suffix) => name.endsWith(suffix.toLowerCase()))) {
    return t("This file type is not supported. Supported: {suffixes}.", {
      suffixes: suffixes.join(comma),
    });
  }
  if (file.size > limit)
    return t("The file is {size}. The limit is {limit}.", {
      size: bytes(file.size),
      limit: bytes(limit),
    });
  return file.size === 0 ? t("The file is empty.") : "";
}

/**
 * Split {name, file} into accepted ones and refused ones with a reason. Without known
 * formats the server decides.
 */
export async function sortOut(items) {
  const known = await loadFormats().catch(() => null);
  const judged = items.map((item) => ({
    ...item,
    reason: known ? refusal(item.file, known) : "",
  }));
  return {
    accepted: judged
      .filter(({ reason }) => !reason)
      .map(({ name, file }) => ({ name, file })),
    refused: judged.filter(({ reason }) => reason),
  };
}

/** Return items with distinct names: the last one of each. */
export const distinct = (items) => [
  ...new Map(items.map((item) => [item.name, item])).values(),
];

/**
 * Read a web address from its field. Returns null, after a message, if it is not one.
 */
export function takeAddress(input, showProblem) {
  const text = input.value.trim();
  const url = webAddress(text);
  showProblem(
    url || !text
      ? ""
      : t("This is not a web address. It must begin with https:// or http://."),
  );
  if (url) input.value = "";
  input.focus();
  return url;
}

/** Let Enter in a field do what its button does; the form around it is not sent. */
export function wireEnter(input, act) {
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    act();
  });
}

/** Return the address as the browser understands it, or null. */
export function webAddress(text) {
  const address = URL.canParse(text) ? new URL(text) : null;
  return address && /^https?:$/.test(address.protocol) ? address.href : null;
}

/**
 * Return chosen files by name, in a folder with its path: two of its folders may each
 * hold a report.pdf.
 */
export const namedFiles = (files) =>
  [...files].map((file) => ({ name: file.webkitRelativePath || file.name, file }));

const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");

/**
 * Accept files dropped anywhere: otherwise the browser would leave the page to open
 * them. `onFiles` gets a promise.
 */
export function wireDrop(target, onFiles) {
  const mark = (dropping) => target.classList.toggle("dropping", dropping);
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(!document.querySelector("dialog:modal"));
  });
  addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || mark(false));
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(false);
    if (document.querySelector("dialog:modal")) return;
    // The entries are gone once anything has been awaited.
    const entries = [...event.dataTransfer.items]
      .map((item) => item.webkitGetAsEntry?.())
      .filter(Boolean);
    onFiles(
      entries.length
        ? import("./folders.js").then(({ filesOf }) => filesOf(entries))
        : namedFiles(event.dataTransfer.files),
    );
  });
}
