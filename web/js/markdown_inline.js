// Markdown inside a line: code, emphasis, links. One pass; a mark without a partner is looked for once and then known to have none.
import { el } from "./dom.js";

const DEPTH_MAX = 6;
const PAIRS = [["***", "strong", "em"], ["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];
const isWord = (char) => char !== undefined && /[\p{L}\p{N}_]/u.test(char);
const isSpace = (char) => char === undefined || /\s/.test(char);

/** The address when it leads to a web page, or null: no script, no data, no other scheme. */
export function webAddress(text) {
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

const link = (href, ...content) => el("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...content);

class Reader {
  constructor(text, depth) {
    Object.assign(this, { text, depth, at: 0, nodes: [], plain: "", without: new Set() });
  }

  read() {
    while (this.at < this.text.length) {
      const taken = this.escaped() ?? this.code() ?? this.link() ?? this.address() ?? this.emphasis();
      if (taken !== undefined) continue;
      this.plain += this.text[this.at];
      this.at += 1;
    }
    this.flush();
    return this.nodes;
  }

  flush() {
    const lines = this.plain.split("\n");
    lines.forEach((line, i) => {
      if (i > 0) this.nodes.push(el("br"));
      const text = i + 1 < lines.length ? line.trimEnd() : line;
      if (text) this.nodes.push(text);
    });
    this.plain = "";
  }

  push(node, end) {
    this.flush();
    this.nodes.push(node);
    this.at = end;
    return true;
  }

  // The next place of a mark, or -1; a mark that was not found is not searched for again.
  find(mark, from) {
    if (this.without.has(mark)) return -1;
    const found = this.text.indexOf(mark, from);
    if (found < 0) this.without.add(mark);
    return found;
  }

  escaped() {
    if (this.text[this.at] !== "\\" || !/[!-/:-@[-`{-~]/.test(this.text[this.at + 1] ?? "")) return undefined;
    this.plain += this.text[this.at + 1];
    this.at += 2;
    return true;
  }

  code() {
    if (this.text[this.at] !== "`") return undefined;
    let length = 1;
    while (this.text[this.at + length] === "`") length += 1;
    const mark = "`".repeat(length);
    const end = this.find(mark, this.at + length);
    if (end < 0 || this.text[end + length] === "`") {
      this.plain += mark;
      this.at += length;
      return true;
    }
    const inside = this.text.slice(this.at + length, end);
    const isPadded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim() !== "";
    return this.push(el("code", null, isPadded ? inside.slice(1, -1) : inside), end + length);
  }

  link() {
    const isImage = this.text[this.at] === "!" && this.text[this.at + 1] === "[";
    if (this.text[this.at] !== "[" && !isImage) return undefined;
    const from = this.at + (isImage ? 2 : 1);
    const middle = this.find("](", from);
    const end = middle < 0 ? -1 : this.find(")", middle + 2);
    if (end < 0 || middle - from > 1000) return undefined;
    const label = this.text.slice(from, middle);
    const href = webAddress(this.text.slice(middle + 2, end).trim().split(/\s/)[0]);
    if (!href || label.includes("[")) return undefined;
    // A picture would be fetched from elsewhere, so it is a link as well.
    return this.push(link(href, this.depth < DEPTH_MAX ? inline(label, DEPTH_MAX) : label), end + 1);
  }

  address() {
    if (this.text[this.at] !== "h" || isWord(this.text[this.at - 1]) || !this.text.startsWith("http", this.at)) return undefined;
    const found = /^https?:\/\/[^\s<>"`]{1,2000}/.exec(this.text.slice(this.at, this.at + 2010));
    if (!found) return undefined;
    let address = found[0].replace(/[.,;:!?'*_~]+$/, "");
    if (address.endsWith(")") && !address.includes("(")) address = address.slice(0, -1);
    const href = webAddress(address);
    return href ? this.push(link(href, address), this.at + address.length) : undefined;
  }

  emphasis() {
    if (this.depth >= DEPTH_MAX) return undefined;
    for (const [mark, tag, inner] of PAIRS) {
      if (!this.text.startsWith(mark, this.at)) continue;
      const from = this.at + mark.length;
      if (isSpace(this.text[from]) || (mark[0] === "_" && isWord(this.text[this.at - 1]))) continue;
      const end = this.closing(mark, from);
      if (end < 0) continue;
      const content = inline(this.text.slice(from, end), this.depth + 1);
      return this.push(el(tag, null, inner ? el(inner, null, content) : content), end + mark.length);
    }
    return undefined;
  }

  // A closing mark stands behind no space; '_' also not inside a word; '*' is not half of a '**'.
  closing(mark, from) {
    for (let tries = 0, end = this.find(mark, from); end >= 0 && tries < 50; tries += 1, end = this.text.indexOf(mark, end + 1)) {
      if (end === from || isSpace(this.text[end - 1]) || this.text[end - 1] === "\\") continue;
      if (mark[0] === "_" && isWord(this.text[end + mark.length])) continue;
      if (mark.length === 1 && (this.text[end + 1] === mark || this.text[end - 1] === mark)) { end += this.text[end + 1] === mark ? 1 : 0; continue; }
      return end;
    }
    return -1;
  }
}

/** The nodes and strings of one piece of text. */
export function inline(text, depth = 0) {
  return new Reader(text, depth).read();
}
