// The list of conversations.
import { byId, el, iconButton } from "./dom.js";
import { listChats } from "./chats.js";

function dayOf(updated) {
  const midnight = new Date().setHours(0, 0, 0, 0);
  if (updated >= midnight) return "Today";
  if (updated >= midnight - 86400e3) return "Yesterday";
  return updated >= midnight - 7 * 86400e3 ? "This week" : "Earlier";
}

/** `actions`: open(id), remove(id, title). */
export function showChatList(currentId, actions) {
  const items = [];
  let day = "";
  for (const { id, title, updated } of listChats()) {
    if (dayOf(updated) !== day) {
      day = dayOf(updated);
      items.push(el("li", { class: "when" }, day));
    }
    const words = title || "New chat";
    items.push(el("li", { class: id === currentId ? "current" : "" },
      el("button", { type: "button", class: "plain open-chat", title: words, "aria-current": id === currentId ? "true" : undefined, onclick: () => actions.open(id) }, words),
      iconButton("trash", `Delete “${words}”`, () => actions.remove(id, words), { class: "plain icon remove" })));
  }
  byId("chat-list").replaceChildren(...items);
}
