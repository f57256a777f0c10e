import { focusComposer } from "./composer.js";
import { announce, byId, element, hasKeyboard } from "../common/dom.js";
import { formatsLine, loadFormats, namedFiles, sortOut, webAddress, wireDrop } from "../common/files.js";
import { bytes } from "../common/format.js";

const panel = byId("attach-panel");
const button = byId("attach-button");
const chips = byId("attachment-chips");

/** What goes along with the next question only: {name, file} or {name, url}. */
let attached = [];

function showErrors(messages) {
  byId("attach-errors").hidden = messages.length === 0;
  byId("attach-errors").replaceChildren(...messages.map((text) => element("p", { text })));
}

function chip(item, index) {
  const size = item.file ? ` · ${bytes(item.file.size)}` : "";
  const remove = element("button", {
    type: "button", className: "chip", text: item.name + size, "aria-label": `Remove ${item.name}`,
  });
  remove.addEventListener("click", () => {
    attached = attached.filter((other) => other !== item);
    show();
    (chips.querySelectorAll("button")[index] ?? chips.querySelector("li:last-child button") ?? button).focus();
  });
  return element("li", {}, remove);
}

function show() {
  chips.replaceChildren(...attached.map(chip));
  chips.hidden = attached.length === 0;
  if (attached.length) announce(`Attached to the next question: ${attached.map(({ name }) => name).join(", ")}`);
}

/** The same name again takes the place of the first. */
function attach(items) {
  attached = [...new Map([...attached, ...items].map((item) => [item.name, item])).values()];
  show();
  setOpen(false);
  focusComposer();
}

async function attachFiles(chosen) {
  if (!chosen.length) return;
  const { taken, refused } = await sortOut(chosen);
  showErrors(refused.map(({ name, reason }) => `${name}: ${reason}`));
  attach(taken);
}

function attachAddress() {
  const input = byId("attach-url");
  const url = webAddress(input.value.trim());
  showErrors(url ? [] : ["This is not a web address: it has to begin with https:// or http://."]);
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
    line.textContent = `What can be read could not be loaded. ${error.message}`;
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

/** Takes what is attached away from the composer, for the question that is asked now. */
export function takeAttachments() {
  const taken = attached;
  attached = [];
  showErrors([]);
  show();
  return taken;
}

/** Attaches it again, after a question that failed. */
export function returnAttachments(items) {
  attached = [...items, ...attached];
  show();
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
