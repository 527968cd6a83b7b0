// The chat page: ties conversations, messages, settings and the server together.
import { Answer } from "./answer.js";
import { askKey, watchServer } from "./server_state.js";
import { byId, el, setText } from "./dom.js";
import { Chat, deleteChat, listChats, loadChat, loadDraft, loadSettings, onStoreFailure, saveDraft } from "./chats.js";
import { showChatList } from "./chat_list.js";
import { messageView } from "./message_view.js";
import { showSettings } from "./settings_view.js";

const IDEAS = ["Explain what a KV cache is, in three sentences.", "Write a Python function that merges two sorted lists.",
  "Make a table of the five longest rivers.", "Why is decode limited by memory bandwidth?"];
const SAVE_EVERY_MS = 1000;

const settings = loadSettings();
const running = new Map();  // chat id -> Answer
let chat = new Chat();
let isAtEnd = true;

const list = byId("messages"), input = byId("input"), notice = byId("notice");

const say = (words) => { setText(notice, words); notice.hidden = !words; };
onStoreFailure(say);

// ---- drawing

function welcome() {
  const ideas = IDEAS.map((text) => el("button", { type: "button", onclick: () => { input.value = text; grow(); input.focus(); } }, text));
  return el("section", { class: "welcome" }, el("img", { src: "/web/icon.svg", alt: "" }), el("h1", null, "What would you like to know?"),
    el("p", null, "Answers come from the model on this server. Each shows how long it waited, read and wrote."), el("div", { class: "ideas" }, ideas));
}

function show() {
  const path = chat.path();
  list.replaceChildren(...(path.length ? path.map((node) => messageView(chat, node, actions)) : [welcome()]));
  const answer = running.get(chat.id);
  if (answer) byId(`m-${answer.node.id}`)?.update(answer);
  document.title = chat.title ? `${chat.title} · Takt` : "Takt chat";
  showButtons();
  toEnd(true);
}

function showButtons() {
  const isRunning = running.has(chat.id);
  byId("send").hidden = isRunning;
  byId("stop").hidden = !isRunning;
  byId("send").disabled = !input.value.trim();
}

const refreshList = () => showChatList(chat.id, { open: openChat, remove });

function toEnd(isWanted = isAtEnd) {
  if (isWanted) list.scrollTop = list.scrollHeight;
}

// The field grows with its text.
function grow() {
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight}px`;
  showButtons();
}

// ---- conversations

function openChat(id) {
  const found = id && loadChat(id);
  chat = found || new Chat();
  const answer = running.get(chat.id);
  if (answer) chat = answer.chat;  // the living object, not what was stored a moment ago
  for (const node of Object.values(chat.nodes)) {
    if (node.state === "streaming" && node !== answer?.node) node.state = node.text ? "interrupted" : "failed";
  }
  history.replaceState(null, "", found ? `#${chat.id}` : location.pathname);
  input.value = loadDraft(found ? chat.id : "new");
  say("");
  show();
  grow();
  refreshList();
  if (matchMedia("(max-width: 900px)").matches) togglePanel("chats", false);
  if (matchMedia("(pointer: fine)").matches) input.focus();
}

function remove(id, title) {
  if (!confirm(`Delete “${title}” from this browser?`)) return;
  running.get(id)?.stop();
  deleteChat(id);
  if (id === chat.id) openChat("");
  else refreshList();
}

function exportChat(kind) {
  if (!chat.path().length) return say("There is nothing to export yet.");
  const text = kind === "md" ? chat.asMarkdown(settings.system) : JSON.stringify({ settings, ...chat }, null, 2);
  const href = URL.createObjectURL(new Blob([text], { type: kind === "md" ? "text/markdown" : "application/json" }));
  const name = (chat.title || "chat").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 50) || "chat";
  el("a", { href, download: `${name}.${kind}` }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

// ---- asking

function messagesFor(owner, node) {
  const messages = [];
  for (let at = owner.parentOf(node); at; at = owner.parentOf(at)) {
    if (at.text || at.role === "user") messages.unshift({ role: at.role, content: at.text });
  }
  return settings.system.trim() ? [{ role: "system", content: settings.system }, ...messages] : messages;
}

async function ask(question) {
  const owner = chat;
  if (running.has(owner.id)) return;
  const node = owner.add(question, { role: "assistant" });
  let isDrawn = false, saved = performance.now();
  const draw = () => {
    isDrawn = false;
    if (owner !== chat || !running.has(owner.id)) return;
    byId(`m-${node.id}`)?.update(answer);
    toEnd();
  };
  const answer = new Answer(node, () => {
    if (performance.now() - saved > SAVE_EVERY_MS) { owner.save(); saved = performance.now(); }
    if (!isDrawn) { isDrawn = true; requestAnimationFrame(draw); }
  });
  answer.chat = owner;
  running.set(owner.id, answer);
  owner.save();
  history.replaceState(null, "", `#${owner.id}`);
  show();
  refreshList();
  const clock = setInterval(draw, 100);  // how long it has been waiting
  await answer.run(messagesFor(owner, node), { ...settings });
  clearInterval(clock);
  running.delete(owner.id);
  if (loadChat(owner.id)) owner.save();  // unless it was deleted meanwhile
  if (owner === chat) {
    byId(`m-${node.id}`)?.finish();
    showButtons();
    toEnd();
  }
  refreshList();
  if (node.status === 401 && await askKey()) actions.again(node);
}

function send() {
  const text = input.value;
  if (!text.trim() || running.has(chat.id)) return;
  const question = chat.add(chat.path().at(-1) ?? null, { role: "user", text });
  saveDraft(chat.id, "");
  saveDraft("new", "");
  input.value = "";
  grow();
  isAtEnd = true;
  ask(question);
}

const actions = {
  edit(node, text) {
    if (running.has(chat.id)) return say("Stop the running answer first.");
    isAtEnd = true;
    ask(chat.add(chat.parentOf(node), { role: "user", text }));
  },
  again(node) {
    if (running.has(chat.id)) return say("Stop the running answer first.");
    isAtEnd = true;
    ask(chat.parentOf(node));
  },
  choose(node, step) {
    if (running.has(chat.id)) return say("Stop the running answer first.");
    chat.choose(node, step);
    chat.save();
    const top = list.scrollTop;
    show();
    list.scrollTop = top;
  },
};

// ---- events

function togglePanel(id, isOpen) {
  const panel = byId(id);
  const open = isOpen ?? !panel.classList.contains("open");
  panel.classList.toggle("open", open);
  byId(`show-${id}`).setAttribute("aria-expanded", String(open));
  if (id === "settings" && open) showSettings(settings, { exportChat, askKey: async () => { await askKey(); look(); togglePanel("settings", true); } });
}

byId("composer").addEventListener("submit", (event) => { event.preventDefault(); send(); });
byId("stop").addEventListener("click", () => running.get(chat.id)?.stop());
byId("new-chat").addEventListener("click", () => openChat(""));
byId("show-chats").addEventListener("click", () => togglePanel("chats"));
byId("show-settings").addEventListener("click", () => togglePanel("settings"));
byId("to-end").addEventListener("click", () => { isAtEnd = true; toEnd(); });
input.addEventListener("input", () => { grow(); saveDraft(listChats().some((known) => known.id === chat.id) ? chat.id : "new", input.value); });
input.addEventListener("keydown", (event) => {
  // While an input method composes, Enter chooses a word (229: browsers that end the composition before they tell of the key).
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  if (matchMedia("(pointer: coarse)").matches) return;  // on a phone Enter begins a line
  event.preventDefault();
  send();
});
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !byId("key-dialog").open) running.get(chat.id)?.stop();
});
list.addEventListener("scroll", () => {
  isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 60;
  byId("to-end").hidden = isAtEnd;
});
addEventListener("pagehide", () => { for (const answer of running.values()) answer.chat.save(); });
addEventListener("hashchange", () => openChat(location.hash.slice(1)));
addEventListener("storage", (event) => {  // another tab has written
  refreshList();
  if (event.key === `takt.chat.${chat.id}` && event.newValue && !running.has(chat.id)) { chat = loadChat(chat.id) ?? chat; show(); }
});

const narrow = matchMedia("(max-width: 900px)");
narrow.addEventListener("change", () => { togglePanel("chats", !narrow.matches); togglePanel("settings", false); });
togglePanel("chats", !narrow.matches);
openChat(location.hash.slice(1));
const look = watchServer(() => say(""));
