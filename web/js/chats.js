// The conversations, kept in this browser. A chat is a tree: editing a question or asking for another answer adds a sibling and
// loses nothing; `chosen` says which child of each node is shown.

const PREFIX = "takt.chat.", SETTINGS = "takt.settings", DRAFT = "takt.draft.";
const ROOT = "root";

export const DEFAULT_SETTINGS = { system: "", temperature: "", top_p: "", top_k: "", min_p: "", seed: "", max_tokens: "", service_class: "" };

/** Called with a sentence when the browser keeps nothing (private windows, full stores). */
let complain = () => {};
export const onStoreFailure = (function_) => { complain = function_; };

function put(key, value) {
  try {
    localStorage.setItem(key, value);
    return true;
  } catch {
    complain("This browser keeps no more: the conversation is lost when the page is closed. Delete old chats, or export this one.");
    return false;
  }
}

function take(key) {
  try { return localStorage.getItem(key); } catch { return null; }
}

function parsed(text) {
  try { return JSON.parse(text); } catch { return null; }
}

const newId = () => Date.now().toString(36) + Math.random().toString(36).slice(2, 8);

export class Chat {
  constructor(data) {
    Object.assign(this, { id: newId(), title: "", created: Date.now(), updated: Date.now(), nodes: {}, chosen: {} }, data);
  }

  children(parent) {
    return Object.values(this.nodes).filter((node) => node.parent === parent);
  }

  /** The shown nodes from the first question on. */
  path() {
    const path = [];
    for (let at = this.chosen[ROOT]; at && this.nodes[at] && path.length < 10000; at = this.chosen[at]) path.push(this.nodes[at]);
    return path;
  }

  /** Adds a node below `parent` (null: the beginning) and shows it. */
  add(parent, fields) {
    const node = { id: newId(), parent: parent?.id ?? ROOT, text: "", at: Date.now(), ...fields };
    this.nodes[node.id] = node;
    this.chosen[node.parent] = node.id;
    if (!this.title && node.role === "user") this.title = node.text.trim().replace(/\s+/g, " ").slice(0, 80);
    return node;
  }

  parentOf(node) {
    return this.nodes[node.parent] ?? null;
  }

  /** Its place among its siblings: [index, count]. */
  place(node) {
    const siblings = this.children(node.parent);
    return [siblings.findIndex((other) => other.id === node.id), siblings.length];
  }

  choose(node, step) {
    const siblings = this.children(node.parent);
    const [index] = this.place(node);
    const wanted = siblings[index + step];
    if (wanted) this.chosen[node.parent] = wanted.id;
  }

  save() {
    this.updated = Date.now();
    return put(PREFIX + this.id, JSON.stringify(this));
  }

  /** As Markdown, what is shown. */
  asMarkdown(system) {
    const parts = [`# ${this.title || "Chat"}`];
    if (system) parts.push(`## System\n\n${system}`);
    for (const node of this.path()) parts.push(`## ${node.role === "user" ? "User" : "Assistant"}\n\n${node.text}`);
    return parts.join("\n\n") + "\n";
  }
}

export const loadChat = (id) => {
  const data = parsed(take(PREFIX + id));
  return data && typeof data.nodes === "object" ? new Chat(data) : null;
};

/** {id, title, updated} of every chat, newest first. */
export function listChats() {
  const list = [];
  try {
    for (let i = 0; i < localStorage.length; i += 1) {
      const key = localStorage.key(i);
      const data = key.startsWith(PREFIX) && parsed(localStorage.getItem(key));
      if (data) list.push({ id: data.id, title: data.title, updated: data.updated });
    }
  } catch { /* no store: no history */ }
  return list.sort((a, b) => b.updated - a.updated);
}

export function deleteChat(id) {
  try { localStorage.removeItem(PREFIX + id); localStorage.removeItem(DRAFT + id); } catch { /* nothing was kept */ }
}

export const loadSettings = () => ({ ...DEFAULT_SETTINGS, ...parsed(take(SETTINGS)) });
export const saveSettings = (settings) => put(SETTINGS, JSON.stringify(settings));

/** What was typed and not sent yet. */
export const loadDraft = (id) => take(DRAFT + id) ?? "";
export function saveDraft(id, text) {
  if (text) put(DRAFT + id, text);
  else try { localStorage.removeItem(DRAFT + id); } catch { /* nothing was kept */ }
}
