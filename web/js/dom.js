// Building DOM nodes. Text is always text: nothing here parses markup, so nothing that a request or a model wrote can become any.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(node, child);
    else node.append(child instanceof Node ? child : String(child));
  }
}

/** An HTML element; `attributes` named on… are listeners, false ones are left out; strings become text. */
export const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** An SVG element, in the same way. */
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export const byId = (id) => document.getElementById(id);

/** Puts text into a node only when it differs, so that a selection in it lasts. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const GLYPHS = {
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4", again: "M20 11a8 8 0 1 0-2 6M20 4v7h-7", copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5", left: "M15 5l-7 7 7 7", right: "M9 5l7 7-7 7",
  check: "M5 12l5 5 9-11", clock: "M12 3a9 9 0 1 0 .01 0M12 7v5l3 2",
};

/** A small drawn sign; the button around it carries the words. */
export const glyph = (name) => svg("svg", { class: "glyph", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: GLYPHS[name] }));

/** A button with a sign and its words for readers and tooltips. */
export const iconButton = (name, words, onclick, attributes = {}) =>
  el("button", { type: "button", class: "plain icon", "aria-label": words, title: words, onclick, ...attributes }, glyph(name));
