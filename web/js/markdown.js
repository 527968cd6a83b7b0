// Markdown as DOM nodes: headings, paragraphs, lists, quotes, tables, code blocks. What is not understood stays as it was
// written. Built with text nodes only; links lead to http and https alone. Nesting is limited, and the time is linear in the text.
import { el, iconButton } from "./dom.js";
import { inline } from "./markdown_inline.js";

const DEPTH_MAX = 8;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*)|[ \t]*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const TABLE_RULE = /^\|?:?-+:?(?:\|:?-+:?)*\|?$/;  // without its spaces

const isBlank = (line) => /^\s*$/.test(line);
const indentOf = (line) => line.length - line.trimStart().length;

/** Splits lines into blocks {kind, lines, …}, each drawn by itself. */
function blocksOf(lines) {
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) { at += 1; continue; }
    const block = readFence(lines, at) ?? readQuote(lines, at) ?? readTable(lines, at) ?? readSingle(lines, at) ??
      readList(lines, at) ?? readParagraph(lines, at);
    blocks.push(block);
    at = block.end;
  }
  return blocks;
}

function readFence(lines, at) {
  const open = FENCE.exec(lines[at]);
  if (!open) return null;
  const indent = indentOf(lines[at]);
  let end = at + 1;
  const isClosing = (line) => FENCE.exec(line)?.[1][0] === open[1][0] && FENCE.exec(line)[1].length >= open[1].length && !FENCE.exec(line)[2].trim();
  while (end < lines.length && !isClosing(lines[end])) end += 1;
  const body = lines.slice(at + 1, end).map((line) => line.slice(Math.min(indent, indentOf(line))));
  return { kind: "code", language: open[2].trim().split(/\s/)[0], lines: body, end: Math.min(end + 1, lines.length) };
}

function readQuote(lines, at) {
  if (!QUOTE.test(lines[at])) return null;
  let end = at;
  while (end < lines.length && (QUOTE.test(lines[end]) || (!isBlank(lines[end]) && !startsBlock(lines[end])))) end += 1;
  return { kind: "quote", lines: lines.slice(at, end).map((line) => QUOTE.exec(line)?.[1] ?? line), end };
}

function readTable(lines, at) {
  if (!lines[at].includes("|") || at + 1 >= lines.length || !TABLE_RULE.test(lines[at + 1].replaceAll(" ", ""))) return null;
  const width = cellsOf(lines[at]).length;
  if (cellsOf(lines[at + 1]).length !== width) return null;
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && !isBlank(lines[end])) end += 1;
  return { kind: "table", lines: lines.slice(at, end), end };
}

function readSingle(lines, at) {
  const heading = HEADING.exec(lines[at]);
  if (heading) return { kind: "heading", level: heading[1].length, lines: [heading[2].trim().replace(/(^|\s)#+$/, "").trimEnd()], end: at + 1 };
  return RULE.test(lines[at]) ? { kind: "rule", lines: [], end: at + 1 } : null;
}

const isNumbered = (marker) => /\d/.test(marker);

function readList(lines, at) {
  const first = ITEM.exec(lines[at]);
  if (!first || first[1].length > 3) return null;
  const items = [];
  let end = at, isLoose = false;
  while (end < lines.length) {
    const item = ITEM.exec(lines[end]);
    if (!item || item[1].length > first[1].length + 1 || RULE.test(lines[end]) || isNumbered(item[2]) !== isNumbered(first[2])) break;
    const content = item[1].length + item[2].length + 1;
    const body = [item[3] ?? ""];
    end += 1;
    while (end < lines.length) {
      const line = lines[end];
      if (isBlank(line)) {
        const next = lines.slice(end).find((other) => !isBlank(other));
        if (next === undefined || indentOf(next) < Math.min(content, first[1].length + 2)) break;
      } else if (indentOf(line) < Math.min(content, first[1].length + 2) && (ITEM.test(line) || startsBlock(line))) break;
      body.push(isBlank(line) ? "" : line.slice(Math.min(content, indentOf(line))));
      end += 1;
    }
    items.push(body);
    let blank = end;
    while (blank < lines.length && isBlank(lines[blank])) blank += 1;
    if (blank > end && blank < lines.length && ITEM.test(lines[blank]) && indentOf(lines[blank]) <= first[1].length + 1) { isLoose = true; end = blank; }
  }
  // A blank line inside an item makes paragraphs of its pieces.
  isLoose ||= items.some((body) => body.some((line, i) => !line && i + 1 < body.length && body[i + 1] && !ITEM.test(body[i + 1])));
  return { kind: "list", isOrdered: isNumbered(first[2]), start: parseInt(first[2], 10), isLoose, items, lines: lines.slice(at, end), end };
}

function startsBlock(line) {
  return FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || RULE.test(line) || ITEM.test(line);
}

function readParagraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !startsBlock(lines[end])) end += 1;
  return { kind: "paragraph", lines: lines.slice(at, end), end };
}

function cellsOf(line) {
  const trimmed = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return trimmed.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function drawTable(block) {
  const head = cellsOf(block.lines[0]);
  const sides = cellsOf(block.lines[1]).map((rule) => (/^:.*:$/.test(rule) ? "middle" : /:$/.test(rule) ? "end" : undefined));
  const row = (cells, tag) => el("tr", null, head.map((_, i) => el(tag, { class: sides[i] }, inline(cells[i] ?? ""))));
  return el("div", { class: "table", tabindex: "0" }, el("table", null, el("thead", null, row(head, "th")),
    el("tbody", null, block.lines.slice(2).map((line) => row(cellsOf(line), "td")))));
}

function drawCode(block) {
  const text = block.lines.join("\n");
  const copy = iconButton("copy", "Copy this code", async () => {
    await copyText(text);
    copy.setAttribute("aria-label", "Copied");
    copy.classList.add("done");
    setTimeout(() => { copy.classList.remove("done"); copy.setAttribute("aria-label", "Copy this code"); }, 1200);
  });
  return el("figure", { class: "code" }, el("figcaption", null, el("span", null, block.language || "text"), copy),
    el("pre", { tabindex: "0" }, el("code", null, text)));
}

function draw(block, depth) {
  switch (block.kind) {
    case "code": return drawCode(block);
    case "heading": return el(`h${Math.min(block.level + 2, 6)}`, { class: `level-${block.level}` }, inline(block.lines[0]));
    case "rule": return el("hr");
    case "table": return drawTable(block);
    case "quote": return el("blockquote", null, drawAll(block.lines, depth + 1));
    case "list": {
      const items = block.items.map((lines) => el("li", null, drawItem(lines, block.isLoose, depth + 1)));
      return el(block.isOrdered ? "ol" : "ul", { start: block.isOrdered && block.start !== 1 ? block.start : undefined }, items);
    }
    default: return el("p", null, inline(block.lines.map((line) => line.trimStart()).join("\n")));
  }
}

// In a tight list the text of an item is no paragraph of its own.
function drawItem(lines, isLoose, depth) {
  const nodes = drawAll(lines, depth);
  return isLoose ? nodes : nodes.flatMap((node) => (node.tagName === "P" ? [...node.childNodes] : [node]));
}

function drawAll(lines, depth) {
  if (depth > DEPTH_MAX) return [el("p", null, lines.join("\n"))];
  return blocksOf(lines).map((block) => draw(block, depth));
}

/**
 * Shows a text in `target`. Blocks that did not change since the last call keep their nodes, so that a long answer streams without
 * being drawn again, and what a reader selected stays selected.
 */
export function showMarkdown(target, text) {
  const blocks = blocksOf(text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n"));
  const keys = blocks.map((block) => `${block.kind} ${block.level ?? ""} ${block.language ?? ""}\n${block.lines.join("\n")}`);
  const before = target.drawnBlocks ?? [];
  let same = 0;
  while (same < keys.length && same < before.length && keys[same] === before[same]) same += 1;
  while (target.childNodes.length > same) target.lastChild.remove();
  for (const block of blocks.slice(same)) target.append(draw(block, 0));
  target.drawnBlocks = keys;
}

export async function copyText(text) {
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text);
  const area = el("textarea", { value: text, class: "only-read" });  // plain http beyond this machine has no clipboard API
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
