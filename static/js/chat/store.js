/**
 * The state that views of the chat page share, and the events by which they follow it.
 * No other module keeps state that others change.
 */

const DRAFT = "draft:";

class Store {
  /** @type {string | null} null before the first question */
  conversationId = null;
  /** Where the conversation is loaded from; "" for a new one. */
  source = "";
  /** Another object for each conversation; `loaded` resolves once it is on the page. */
  visit = null;
  /** @type {any[]} */
  turns = [];
  /** @type {AbortController | null} of the answer that is being written */
  streaming = null;
  /** {turn, attachedBefore}: the turn that the question in the composer replaces. */
  edited = null;
  /** {name, file}, {name, url}, or {name} of a file that this page does not have. */
  attachments = [];
  /** Another object whenever all attachments are replaced. */
  attachmentSet = {};
  /** While chosen files are checked; resolves to whether all were accepted. */
  checking = null;
  /** Returns what was removed from the question that is sent now. */
  takeDeclined = null;
  /** What the library is about, once that is known. */
  topics = null;
  /** The conversations that are listed, and where their next page begins. */
  conversations = [];
  nextConversations = null;
  hasConversations = false;
  /** What the menu and the dialogs of a conversation act on. */
  chosen = { conversation: null, opener: null };
  /** The answers of the conversation whose reports were replaced since. */
  outdated = [];
  /** The citation that is shown, and what the answer says there. */
  evidence = { opener: null, said: "" };

  #events = new EventTarget();

  /** Follow a field, or what a person asks for. */
  on(name, listener) {
    this.#events.addEventListener(name, (event) =>
      listener(/** @type {CustomEvent} */ (event).detail),
    );
  }

  emit(name, detail = null) {
    this.#events.dispatchEvent(new CustomEvent(name, { detail }));
  }

  /** Change fields, and tell who follows them. */
  set(changes) {
    Object.assign(this, changes);
    for (const [name, value] of Object.entries(changes)) this.emit(name, value);
  }

  /** What is being written in the conversation: it survives a reload, in this tab. */
  get draft() {
    return sessionStorage.getItem(DRAFT + (this.conversationId ?? "")) ?? "";
  }

  set draft(text) {
    sessionStorage.setItem(DRAFT + (this.conversationId ?? ""), text);
  }
}

export const store = new Store();
