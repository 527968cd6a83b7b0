// The settings panel: the system prompt, sampling, the API key, and what to do with the conversation.
import { byId, el } from "./dom.js";
import { apiKey } from "./api.js";
import { DEFAULT_SETTINGS, saveSettings } from "./chats.js";

const FIELDS = [
  { name: "temperature", label: "Temperature", min: 0, max: 100, step: "any", hint: "0: always the likeliest" },
  { name: "top_p", label: "Top p", min: 0, max: 1, step: "any", hint: "0 to 1" },
  { name: "top_k", label: "Top k", min: 0, max: 2147483647, step: 1, hint: "0: off" },
  { name: "min_p", label: "Min p", min: 0, max: 1, step: "any", hint: "0 to 1" },
  { name: "seed", label: "Seed", min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, hint: "empty: random" },
  { name: "max_tokens", label: "Max tokens", min: 1, max: 2147483647, step: 1, hint: "of an answer" },
];

function numberField(field, settings) {
  const input = el("input", { type: "number", inputmode: "decimal", min: field.min, max: field.max, step: field.step, value: settings[field.name],
    placeholder: "default", id: `set-${field.name}` });
  const wrong = el("span", { class: "wrong", hidden: true });
  input.addEventListener("input", () => {
    wrong.hidden = input.validity.valid;
    wrong.textContent = input.validationMessage;
    if (!input.validity.valid) return;
    settings[field.name] = input.value;
    saveSettings(settings);
  });
  return el("label", { class: "field" }, el("span", null, field.label), input, el("small", { class: "muted" }, field.hint), wrong);
}

function systemField(settings) {
  const area = el("textarea", { rows: "5", id: "set-system", value: settings.system, placeholder: "How the model should answer; empty: none" });
  area.addEventListener("input", () => { settings.system = area.value; saveSettings(settings); });
  return el("label", { class: "field" }, el("span", null, "System prompt"), area);
}

function classField(settings) {
  const options = [["", "default"], ["interactive", "interactive"], ["batch", "batch: may wait"], ["background", "background: when there is time"]];
  const select = el("select", { id: "set-service_class" }, options.map(([value, words]) => el("option", { value, selected: settings.service_class === value }, words)));
  select.addEventListener("change", () => { settings.service_class = select.value; saveSettings(settings); });
  return el("label", { class: "field" }, el("span", null, "Service class"), select);
}

/** Draws the panel. `actions`: askKey(), exportChat(kind), close(). */
export function showSettings(settings, actions) {
  const panel = byId("settings");
  const again = () => showSettings(settings, actions);
  panel.replaceChildren(el("h2", null, "Settings"), systemField(settings),
    el("div", { class: "pair" }, FIELDS.map((field) => numberField(field, settings))), classField(settings),
    el("div", { class: "row" }, el("button", { type: "button", onclick: () => { Object.assign(settings, DEFAULT_SETTINGS); saveSettings(settings); again(); } }, "Reset all")),
    el("hr"), el("h2", null, "This conversation"),
    el("div", { class: "row" }, el("button", { type: "button", onclick: () => actions.exportChat("md") }, "Export Markdown"),
      el("button", { type: "button", onclick: () => actions.exportChat("json") }, "Export JSON")),
    el("hr"), el("h2", null, "API key"),
    el("p", { class: "muted" }, apiKey() ? "A key is set." : "None is set; this server asks when it needs one."),
    el("div", { class: "row" }, el("button", { type: "button", onclick: actions.askKey }, apiKey() ? "Change or forget" : "Set a key")));
}
