import { focusComposer } from "./composer.js";
import { announce, byId, element, hasKeyboard } from "../common/dom.js";
import { formatsLine, loadFormats, namedFiles, sortOut, webAddress, wireDrop } from "../common/files.js";
import { bytes } from "../common/format.js";
import { t } from "../common/words.js";

const panel = byId("attach-panel");
const button = byId("attach-button");
const chips = byId("attachment-chips");

/** What goes along with each question until it is removed: {name, file}, {name, url}, or {name} of what is gone. */
let attached = [];

/** What was chosen is still looked at; settles to whether all of it could be taken. */
let looking = null;

/** How often all of it was replaced. */
let replaced = 0;

function showErrors(messages) {
  byId("attach-errors").hidden = messages.length === 0;
  byId("attach-errors").replaceChildren(...messages.map((text) => element("p", { text })));
}

const isGone = ({ file, url }) => !file && !url;

/** The server keeps no file, a reloaded page has none: it has to be chosen again. */
function chooseAgain(name) {
  const again = element("button", { type: "button", className: "button quiet again", text: t("Attach again") });
  again.setAttribute("aria-label", t("Attach {name} again", { name }));
  again.addEventListener("click", () => byId("attach-input").click());
  return again;
}

function chip(item, index) {
  const size = item.file ? ` · ${bytes(item.file.size)}` : "";
  const remove = element("button", {
    type: "button", className: isGone(item) ? "chip gone" : "chip", text: item.name + size,
      "aria-label": t("Remove {name}", { name: item.name }),
  });
  remove.addEventListener("click", () => {
    attached = attached.filter((other) => other !== item);
    show();
    (chips.querySelectorAll("button")[index] ?? chips.querySelector("li:last-child button") ?? button).focus();
  });
  return element("li", {}, remove, ...(isGone(item) ? [chooseAgain(item.name)] : []));
}

function show() {
  chips.replaceChildren(...attached.map(chip));
  chips.hidden = attached.length === 0;
  if (attached.length) announce(t("Attached: {names}", { names: attached.map(({ name }) => name).join(", ") }));
}

/** The same name again takes the place of the first. */
const distinct = (items) => [...new Map(items.map((item) => [item.name, item])).values()];

function attach(items) {
  attached = distinct([...attached, ...items]);
  show();
  setOpen(false);
  focusComposer();
}

async function takeFiles(choosing) {
  const before = replaced;
  const { taken, refused } = await sortOut(await choosing);
  if (before !== replaced || !(taken.length || refused.length)) return;
  showErrors(refused.map(({ name, reason }) => `${name}: ${reason}`));
  attach(taken);
  return !refused.length;
}

function attachFiles(choosing) {
  const mine = Promise.all([looking, takeFiles(choosing)])
    .then((each) => !each.includes(false))
    .finally(() => { if (looking === mine) looking = null; });
  looking = mine;
}

function attachAddress() {
  const input = byId("attach-url");
  const url = webAddress(input.value.trim());
  showErrors(url ? [] : [t("This is not a web address: it has to begin with https:// or http://.")]);
  if (!url) return input.focus();
  input.value = "";
  attach([{ name: url, url }]);
}

async function showFormats() {
  const line = byId("attach-formats");
  try {
    const formats = await loadFormats();
    line.textContent = formatsLine(formats);
    byId("attach-input").accept = formats.suffixes.join(",");
  } catch (error) {
    line.textContent = `${t("What can be read could not be loaded.")} ${error.message}`;
  }
}

function setOpen(open) {
  if (panel.hidden !== open) return;
  panel.hidden = !open;
  button.setAttribute("aria-expanded", String(open));
  if (open) {
    showFormats();
    if (hasKeyboard()) byId("attach-input").focus({ preventScroll: true });
  } else if (panel.contains(document.activeElement) || document.activeElement === document.body) button.focus();
}

function wirePanel() {
  button.addEventListener("click", () => setOpen(panel.hidden));
  byId("attach-input").addEventListener("change", ({ target }) => {
    attachFiles(namedFiles(target.files));
    target.value = "";
  });
  byId("attach-url-add").addEventListener("click", attachAddress);
  byId("attach-url").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    attachAddress();
  });
  document.addEventListener("pointerdown", ({ target }) => {
    if (!panel.contains(target) && !button.contains(target)) setOpen(false);
  });
  byId("composer").addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || panel.hidden) return;
    event.preventDefault();
    setOpen(false);
  });
}

export const attachments = () => attached;

/** Waits for what was chosen a moment ago; false where some of it was refused: the reasons are shown. */
export const attachmentsTaken = async () => (await looking) !== false;

/**
 * What is attached from now on; what is known by name only is looked for among what was, and asked for at an address.
 * @param {{name: string, file?: File, url?: string}[]} items
 */
export function setAttachments(items) {
  replaced += 1;
  attached = completed(items);
  showErrors([]);
  show();
}

/** What was attached to a conversation that is opened, beside what was chosen since. */
export function bringBack(items) {
  attached = distinct([...completed(items), ...attached]);
  show();
}

/** The same with what this page still has of it. */
export function completed(items) {
  return items.map((item) => {
    if (!isGone(item)) return item;
    const url = webAddress(item.name);
    return attached.find(({ name }) => name === item.name) ?? (url ? { ...item, url } : item);
  });
}

/** Why nothing can be asked of these now; "" where it can. */
export function whatIsMissing(items) {
  const names = items.filter(isGone).map(({ name }) => name);
  if (!names.length) return "";
  return t("Attach {names} again, or remove it to ask the reports: nothing of it was stored.", { names: names.join(", ") });
}

export function wireAttachments() {
  wirePanel();
  wireDrop(byId("ask-form"), attachFiles);
  byId("question").addEventListener("paste", (event) => {
    const files = namedFiles(event.clipboardData.files);
    // Text that was copied with a picture of it (a table, say) is pasted as text.
    if (!files.length || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    attachFiles(files);
  });
}
