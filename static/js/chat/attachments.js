/** Files and addresses attached to questions. The server does not store them. */
import { focusComposer } from "./composer.js";
import { wireBox } from "./scope.js";
import { store } from "./store.js";
import {
  announce,
  byId,
  element,
  focusNext,
  hasKeyboard,
  showItems,
} from "../common/dom.js";
import {
  distinct,
  loadFormats,
  namedFiles,
  sortOut,
  takeAddress,
  webAddress,
  wireDrop,
  wireEnter,
} from "../common/files.js";
import { bytes } from "../common/format.js";
import { comma, t } from "../common/words.js";

const chips = byId("attachment-chips");

const isMissing = ({ file, url }) => !file && !url;

const showErrors = (messages) =>
  showItems(
    byId("attach-errors"),
    messages.map((text) => element("p", { text })),
  );

function chip(item, index) {
  const { name, file } = item;
  const remove = element("button", {
    type: "button",
    className: isMissing(item) ? "chip gone" : "chip",
    text: name + (file ? ` · ${bytes(file.size)}` : ""),
    "aria-label": t("Remove {name}", { name }),
  });
  remove.addEventListener("click", () => {
    attach(store.attachments.filter((other) => other !== item));
    focusNext(chips, index, byId("attach-button"));
  });
  if (!isMissing(item)) return element("li", {}, remove);
  const again = element("button", {
    type: "button",
    className: "button quiet again",
    text: t("Attach again"),
  });
  again.setAttribute("aria-label", t("Attach {name} again", { name }));
  again.addEventListener("click", () => byId("attach-input").click());
  return element("li", {}, remove, again);
}

store.on("attachments", (attached) => {
  showItems(chips, attached.map(chip));
  if (attached.length)
    announce(
      t("Attached: {names}", { names: attached.map(({ name }) => name).join(comma) }),
    );
});

const attach = (items) => store.set({ attachments: items });

function add(items) {
  attach(distinct([...store.attachments, ...items]));
  setOpen(false);
  focusComposer();
}

function attachFiles(choosing) {
  const before = store.attachmentSet;
  const check = async () => {
    const { accepted, refused } = await sortOut(await choosing);
    if (before !== store.attachmentSet || !(accepted.length || refused.length)) return;
    showErrors(refused.map(({ name, reason }) => `${name}: ${reason}`));
    add(accepted);
    return !refused.length;
  };
  const checks = Promise.all([store.checking, check()])
    .then((results) => !results.includes(false))
    .finally(() => {
      if (store.checking === checks) store.set({ checking: null });
    });
  store.set({ checking: checks });
}

function attachAddress() {
  const url = takeAddress(byId("attach-url"), (problem) =>
    showErrors(problem ? [problem] : []),
  );
  if (url) add([{ name: url, url }]);
}

const setOpen = wireBox("attach", async () => {
  if (hasKeyboard()) byId("attach-input").focus({ preventScroll: true });
  try {
    const { suffixes, max_bytes: limit } = await loadFormats();
    byId("attach-formats").textContent = t(
      "Accepts {suffixes}; up to {size} per file.",
      { suffixes: suffixes.join(comma), size: bytes(limit) },
    );
    byId("attach-input").accept = suffixes.join(",");
  } catch (error) {
    byId("attach-formats").textContent =
      `${t("The supported file types could not be loaded.")} ${error.message}`;
  }
});

/**
 * Wait for files chosen a moment ago; false if some were refused, for reasons that are
 * shown.
 */
export const attachmentsReady = async () => (await store.checking) !== false;

/**
 * Replace what is attached.
 * @param {{name: string, file?: File, url?: string}[]} items
 */
export function setAttachments(items) {
  showErrors([]);
  store.set({ attachmentSet: {}, attachments: completed(items) });
}

/** Attach what a conversation had when it is opened, beside what was chosen since. */
export const restoreAttachments = (items) =>
  attach(distinct([...completed(items), ...store.attachments]));

/**
 * Complete items that are only known by name with the file that this page still has, or
 * with their address.
 */
export function completed(items) {
  return items.map((item) => {
    if (!isMissing(item)) return item;
    const url = webAddress(item.name);
    return (
      store.attachments.find(({ name }) => name === item.name) ??
      (url ? { ...item, url } : item)
    );
  });
}

/** Return why a question about these cannot be sent now, or "". */
export function whatIsMissing(items) {
  const names = items
    .filter(isMissing)
    .map(({ name }) => name)
    .join(comma);
  return (
    names &&
    t(
      "Attach {names} again, or remove it to ask the reports. Attachments are not stored.",
      { names },
    )
  );
}

export function wireAttachments() {
  byId("attach-input").addEventListener("change", ({ target }) => {
    attachFiles(namedFiles(target.files));
    target.value = "";
  });
  byId("attach-url-add").addEventListener("click", attachAddress);
  wireEnter(byId("attach-url"), attachAddress);
  wireDrop(byId("ask-form"), attachFiles);
  byId("question").addEventListener("paste", (event) => {
    const files = namedFiles(event.clipboardData.files);
    // Text copied together with a picture of it, such as a table, is pasted as text.
    if (!files.length || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    attachFiles(files);
  });
}
