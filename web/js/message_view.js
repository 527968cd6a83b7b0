// How one message looks, and the buttons below it. `actions` are the controller's: edit, again, choose, copy.
import { el, iconButton, setText } from "./dom.js";
import { copyText, showMarkdown } from "./markdown.js";
import { showTiming } from "./timing.js";
import { digits, time } from "./units.js";

function versions(chat, node, actions) {
  const [index, count] = chat.place(node);
  if (count < 2) return null;
  return el("span", { class: "versions number" },
    iconButton("left", "Earlier version", () => actions.choose(node, -1), { disabled: index === 0 }),
    el("span", null, `${index + 1} / ${count}`),
    iconButton("right", "Later version", () => actions.choose(node, 1), { disabled: index === count - 1 }));
}

function copyButton(node) {
  const button = iconButton("copy", "Copy", async () => {
    await copyText(node.text);
    button.setAttribute("aria-label", "Copied");
    button.title = "Copied";
  });
  return button;
}

function editor(node, actions, restore) {
  const area = el("textarea", { value: node.text, rows: String(Math.min(12, node.text.split("\n").length + 1)), "aria-label": "Edit the message" });
  const send = () => area.value.trim() && actions.edit(node, area.value);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { event.stopPropagation(); restore(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) send();
  });
  return el("div", { class: "edit" }, area, el("div", { class: "actions" },
    el("button", { type: "button", onclick: restore }, "Cancel"), el("button", { type: "button", class: "primary", onclick: send }, "Send again")));
}

function userMessage(chat, node, actions) {
  const item = el("article", { class: "message user", "aria-label": "You" });
  const show = () => item.replaceChildren(el("div", { class: "text" }, node.text), el("div", { class: "tools" }, versions(chat, node, actions),
    copyButton(node), iconButton("edit", "Edit and send again", () => {
      item.replaceChildren(editor(node, actions, show));
      item.querySelector("textarea").focus();
    })));
  show();
  return item;
}

const TROUBLE = {
  stopped: "You stopped this answer.",
  interrupted: "The answer broke off. What had come is kept.",
  failed: "There is no answer.",
};

function trouble(node, actions) {
  if (!TROUBLE[node.state]) return null;
  const words = node.trouble ? `${node.trouble} ${node.state === "interrupted" ? TROUBLE.interrupted : ""}` : TROUBLE[node.state];
  return el("div", { class: node.state === "failed" ? "trouble" : "trouble mild", role: node.state === "stopped" ? undefined : "alert" },
    el("span", null, words.trim()), el("button", { type: "button", onclick: () => actions.again(node) }, "Try again"));
}

/** An answer; `update(answer)` shows what has come so far, `finish()` what is left to be said. */
function assistantMessage(chat, node, actions) {
  const text = el("div", { class: "text" }), foot = el("div");
  const waiting = el("div", { class: "waiting number" });
  const item = el("article", { class: "message assistant", "aria-label": "Answer" }, text, waiting, foot);
  item.update = (answer) => {
    showMarkdown(text, node.text);
    const seconds = answer.watch.seconds(), rate = answer.watch.rate();
    const expected = answer.expectedMs ? `, the first token is expected after ${time(answer.expectedMs * 1000)}` : "";
    setText(waiting, node.text ? (rate ? `${digits(rate)} tokens/s` : "decoding") : `waiting for the first token: ${seconds.toFixed(1)} s${expected}`);
    waiting.hidden = false;
  };
  item.finish = () => {
    showMarkdown(text, node.text);
    waiting.hidden = true;
    foot.replaceChildren(...[trouble(node, actions), node.timings || node.seen ? showTiming(node) : null,
      el("div", { class: "tools" }, versions(chat, node, actions), copyButton(node),
        iconButton("again", "Answer again", () => actions.again(node)))].filter(Boolean));
  };
  item.finish();
  return item;
}

export const messageView = (chat, node, actions) => {
  const item = (node.role === "user" ? userMessage : assistantMessage)(chat, node, actions);
  item.id = `m-${node.id}`;
  return item;
};
