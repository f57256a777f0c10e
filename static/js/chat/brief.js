/**
 * A brief on the page: its items in their order, words of one's own, and its files. It
 * is a conversation that nothing is asked in.
 */
import { offerUndo } from "./overlays.js";
import { chooseBrief, pin } from "./pin.js";
import { store } from "./store.js";
import { at, sendJson } from "../common/api.js";
import { announceNow, byId, element, onSubmit, showError } from "../common/dom.js";
import { count, t } from "../common/words.js";

const MAX_TITLE_CHARACTERS = "4000";
const MAX_TEXT_CHARACTERS = "20000";
/** Places of the icons in their template. */
const ICONS = { up: 0, down: 1, edit: 2, remove: 3 };

const pathOf = (id, rest = "") => `/api/conversations/${id}${rest}`;
const iconOf = (name) =>
  byId("item-icons").content.children[ICONS[name]].cloneNode(true);

function iconButton(name, label, act) {
  const button = element(
    "button",
    {
      type: "button",
      className: "button quiet icon-only",
      "data-act": name,
      "aria-label": label,
      title: label,
    },
    iconOf(name),
  );
  button.addEventListener("click", act);
  return button;
}

/** Show the brief again as the server numbers it, with the focus on a button. */
async function showAgain(itemId, name) {
  const { scrollY } = window;
  store.emit("openAgain");
  await store.visit.loaded;
  const turn = store.turns.find(({ messageId }) => messageId === itemId);
  const button = turn?.node.querySelector(`[data-act=${name}]:not([disabled])`);
  (button ?? turn?.node.querySelector("[data-act]") ?? byId("brief-add")).focus({
    preventScroll: true,
  });
  scrollTo({ top: scrollY, behavior: "instant" });
}

async function move(brief, itemId, place, name) {
  await sendJson("PATCH", pathOf(brief, `/items/${itemId}`), { place });
  await showAgain(itemId, name);
  announceNow(
    t("Item {number} of {all}", { number: place + 1, all: store.turns.length }),
  );
}

/** Return what adds an item again; null for what was pinned from the explorer. */
function bodyOf({ item, origin, content: title }, { content: text, answer }) {
  if (item === "text") return { title, text };
  if (item === "passage") return { title, chunk_id: answer.citations[0]?.chunk_id };
  if (!origin) return null;
  return { title, message_id: origin, ...(item === "chart" && { indicator: title }) };
}

async function remove(brief, place, messages) {
  const [heading, item] = messages.slice(2 * place, 2 * place + 2);
  await sendJson("DELETE", pathOf(brief, `/items/${item.message_id}`));
  await showAgain(store.turns[Math.max(0, place - 1)]?.messageId, "remove");
  const body = bodyOf(heading, item);
  if (!body) return announceNow(t("Removed from the brief."));
  offerUndo(t("Removed from the brief."), async () => {
    const { message_id: id } = await pin(body, brief);
    await sendJson("PATCH", pathOf(brief, `/items/${id}`), { place });
    await showAgain(id, "remove");
  });
}

/** A form for the title of an item and, of one's own words, their text. */
function formOf({ title = "", text = "", hasText }, save, close) {
  const error = element("div", { className: "form-error", role: "alert", hidden: "" });
  const titleInput = /** @type {HTMLInputElement} */ (
    element("input", { type: "text", dir: "auto", maxlength: MAX_TITLE_CHARACTERS })
  );
  const textInput = /** @type {HTMLTextAreaElement} */ (
    element("textarea", { rows: "6", dir: "auto", maxlength: MAX_TEXT_CHARACTERS })
  );
  titleInput.value = title;
  textInput.value = text;
  const cancel = element("button", {
    type: "button",
    className: "button quiet",
    text: t("Cancel"),
  });
  cancel.addEventListener("click", close);
  const field = (name, input) =>
    element("label", { className: "field" }, element("span", { text: name }), input);
  const form = /** @type {HTMLFormElement} */ (
    element(
      "form",
      { className: "brief-form" },
      field(t("Title"), titleInput),
      ...(hasText ? [field(t("Text (Markdown)"), textInput)] : []),
      error,
      element(
        "div",
        { className: "form-actions" },
        element("button", { type: "submit", className: "button", text: t("Save") }),
        cancel,
      ),
    )
  );
  onSubmit(form, async () => {
    try {
      await save({
        title: titleInput.value,
        ...(hasText && { text: textInput.value }),
      });
    } catch (problem) {
      showError(error, problem);
    }
  });
  return form;
}

/** Change the title or the text of an item where it stands. */
function edit(brief, turn, heading, item) {
  const form = formOf(
    { title: heading.content, text: item.content, hasText: heading.item === "text" },
    async (changes) => {
      await sendJson("PATCH", pathOf(brief, `/items/${item.message_id}`), changes);
      await showAgain(item.message_id, "edit");
    },
    () => {
      form.remove();
      turn.node.querySelector("[data-act=edit]").focus();
    },
  );
  turn.node.querySelector(".brief-form")?.remove();
  turn.node.querySelector(".brief-tools").after(form);
  form.querySelector("input").focus();
}

/** The buttons of an item. */
function toolsOf(brief, turn, place, messages) {
  const [heading, item] = messages.slice(2 * place, 2 * place + 2);
  const id = item.message_id;
  const name = heading.content || t("your text");
  const last = messages.length / 2 - 1;
  const up = iconButton("up", t("Move up: {name}", { name }), () =>
    move(brief, id, place - 1, "up"),
  );
  const down = iconButton("down", t("Move down: {name}", { name }), () =>
    move(brief, id, place + 1, "down"),
  );
  up.toggleAttribute("disabled", place === 0);
  down.toggleAttribute("disabled", place === last);
  return element(
    "div",
    { className: "brief-tools", role: "group", "aria-label": name },
    up,
    down,
    iconButton("edit", t("Edit: {name}", { name }), () =>
      edit(brief, turn, heading, item),
    ),
    iconButton("remove", t("Remove: {name}", { name }), () =>
      remove(brief, place, messages),
    ),
  );
}

const fileLink = (id, format, text) =>
  element("a", {
    className: "button quiet",
    href: at(pathOf(id, `/export?format=${format}`)),
    download: "",
    text,
  });

/** Above the items: the title, what the brief is, and what can be done with it. */
function headOf(brief, title, number) {
  const add = element("button", {
    type: "button",
    className: "button quiet",
    id: "brief-add",
    text: t("Add text"),
  });
  const box = element("div");
  add.addEventListener("click", () => {
    const form = formOf(
      { hasText: true },
      async (body) => {
        const { message_id: id } = await pin(body, brief);
        await showAgain(id, "edit");
      },
      () => {
        box.replaceChildren();
        add.focus();
      },
    );
    box.replaceChildren(form);
    form.querySelector("input").focus();
  });
  const share = element("button", {
    type: "button",
    className: "button quiet",
    text: t("Share"),
  });
  share.addEventListener("click", () => store.emit("shareCurrent"));
  const rename = element("button", {
    type: "button",
    className: "button quiet",
    text: t("Rename"),
  });
  rename.addEventListener("click", () => {
    const conversation = { conversation_id: brief, title: shownTitle().textContent };
    store.emit("act", { name: "rename", conversation, button: rename });
  });
  const another = element("button", {
    type: "button",
    className: "button quiet",
    text: t("New brief"),
  });
  another.addEventListener("click", () => {
    chooseBrief(null);
    another.replaceWith(
      element("p", {
        className: "brief-note",
        role: "status",
        text: t("What you pin next begins a new brief."),
      }),
    );
  });
  return element(
    "header",
    { className: "brief-head", id: "brief-head" },
    element("p", { className: "eyebrow", text: t("Brief") }),
    element("h1", { text: title, dir: "auto" }),
    element("p", {
      className: "brief-note",
      text: number
        ? `${count(number, "item")}. ${t("What you pin is added here.")}`
        : t("Pin answers, charts and passages: they are added here."),
    }),
    element(
      "div",
      { className: "brief-actions" },
      add,
      ...("exports" in document.body.dataset
        ? [fileLink(brief, "docx", t("Word"))]
        : []),
      fileLink(brief, "markdown", "Markdown"),
      rename,
      share,
      another,
    ),
    box,
  );
}

const shownTitle = () => document.querySelector("#brief-head h1");

// A new title is in the list first.
store.on("conversations", (conversations) => {
  const own = conversations.find(
    ({ conversation_id: id }) => id === store.conversationId,
  );
  if (own?.kind && shownTitle()) shownTitle().textContent = own.title;
});

/** Show the conversation on the page as a brief. A shared one can only be read. */
export function showBrief(brief, title, messages) {
  document.body.classList.add("is-brief");
  byId("brief-head")?.remove();
  const isShared = Boolean(document.body.dataset.shared);
  if (isShared) {
    const heading = element("h1", { text: title, dir: "auto" });
    byId("log").before(
      element("header", { className: "brief-head", id: "brief-head" }, heading),
    );
    return;
  }
  chooseBrief(brief);
  byId("log").before(headOf(brief, title, messages.length / 2));
  store.turns.forEach((turn, place) =>
    turn.node.prepend(toolsOf(brief, turn, place, messages)),
  );
}
