/**
 * Chosen files that the library has already, or that are chosen twice: found by their
 * digests, before anything is sent.
 */
import { getJson } from "../common/api.js";
import { element } from "../common/dom.js";
import { t } from "../common/words.js";

/** Digests that one request takes. */
const MAX_DIGESTS = 100;

async function digestOf(file) {
  const bytes = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return [...new Uint8Array(bytes)]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

/** Return the reports of the library by the digests of their files. */
async function reportsOf(digests) {
  const reports = new Map();
  for (let start = 0; start < digests.length; start += MAX_DIGESTS) {
    const list = digests.slice(start, start + MAX_DIGESTS).join(",");
    const { documents } = await getJson(`/api/documents/known?digests=${list}`);
    for (const document of documents) reports.set(document.digest, document);
  }
  return reports;
}

/** Say at a chosen file why it is left out; a person may add it all the same. */
function showCopy(item, says, onChange) {
  const box = element("input", { type: "checkbox", autocomplete: "off" });
  box.addEventListener("change", () => {
    item.isLeftOut = !box.checked;
    onChange();
  });
  item.row
    .querySelector(".staged-note")
    .before(
      element(
        "div",
        { className: "staged-copy" },
        element("p", {}, ...says),
        element("label", {}, box, t("Add it anyway")),
      ),
    );
  item.isLeftOut = true;
}

/**
 * Leave out what the library has already, and all but the first of equal files.
 * `onOpen` shows a report, `onChange` is called when a person has decided otherwise.
 * Where the page cannot compute digests (http:// but on this machine), the server says
 * so after the upload.
 */
export async function leaveOutCopies(items, { onOpen, onChange }) {
  const fresh = items.filter(({ file, digest }) => file && digest === undefined);
  if (!fresh.length || !globalThis.crypto?.subtle) return;
  for (const item of fresh) item.digest = "";
  // One after the other: each is in memory as a whole.
  for (const item of fresh) item.digest = await digestOf(item.file).catch(() => "");
  const digests = fresh.map(({ digest }) => digest).filter(Boolean);
  const reports = await reportsOf([...new Set(digests)]).catch(() => new Map());
  const first = new Map();
  for (const item of items) {
    if (!item.digest) continue;
    const twin = first.get(item.digest);
    first.set(item.digest, twin ?? item);
    if (!fresh.includes(item)) continue;
    const report = reports.get(item.digest);
    if (report) {
      const link = element("button", {
        type: "button",
        className: "link-button",
        text: report.title,
      });
      link.addEventListener("click", () => onOpen(report.document_id));
      showCopy(
        item,
        [t("Left out: this file is in the library as"), " ", link],
        onChange,
      );
    } else if (twin) {
      const { name } = twin;
      showCopy(item, [t("Left out: the same file as {name}.", { name })], onChange);
    }
  }
}
