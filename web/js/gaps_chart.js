// Every gap between the tokens of one answer as a bar; the parts of each are its colours. One can be chosen.
import { el } from "./dom.js";
import { fit, palette } from "./colours.js";
import { showTip } from "./series_chart.js";
import { partsOf } from "./parts.js";
import { time } from "./units.js";

const BOTTOM = 14, TOP = 12;

export class GapsChart {
  /** gaps: [{token, gap_us, parts}]; limit: microseconds or null; choose(index) is called on a click or a key. */
  constructor(gaps, limit, choose) {
    Object.assign(this, { gaps, limit, choose, chosen: null });
    this.node = el("canvas", { tabindex: "0", role: "img", "aria-label": "The gap before each token. Arrows choose one." });
    this.node.addEventListener("pointermove", (event) => {
      const gap = this.gaps[this.at(event.offsetX)];
      showTip(gap ? `token ${gap.token}: ${time(gap.gap_us)}` : "", event.clientX, event.clientY);
    });
    this.node.addEventListener("pointerleave", () => showTip(""));
    this.node.addEventListener("click", (event) => choose(this.at(event.offsetX)));
    this.node.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      choose(Math.max(0, Math.min(gaps.length - 1, (this.chosen ?? 0) + step)));
    });
    addEventListener("themechange", () => this.node.isConnected && this.draw());
  }

  // Of several gaps in one pixel the longest.
  at(x) {
    const share = x / this.node.clientWidth, wide = 4 / this.node.clientWidth, n = this.gaps.length;
    const from = Math.max(0, Math.floor((share - wide) * n)), until = Math.min(n - 1, Math.floor((share + wide) * n));
    if (n < this.node.clientWidth / 6) return Math.max(0, Math.min(n - 1, Math.floor(share * n)));
    let best = from;
    for (let i = from; i <= until; i += 1) if (this.gaps[i].gap_us > this.gaps[best].gap_us) best = i;
    return best;
  }

  draw() {
    const { context, width, height } = fit(this.node), colours = palette(), n = this.gaps.length;
    const longest = Math.max(1, ...this.gaps.map((gap) => gap.gap_us));
    const column = width / n, y = (us) => TOP + (height - TOP - BOTTOM) * (1 - us / longest);
    const hues = this.hues();
    this.gaps.forEach((gap, i) => {
      let sum = 0;
      for (const [name, us] of partsOf(gap.parts)) {
        context.fillStyle = hues(name);
        context.fillRect(i * column, y(sum + us), Math.max(0.8, column - (column > 4 ? 1 : 0)), y(sum) - y(sum + us));
        sum += us;
      }
    });
    if (this.limit && this.limit < longest) {
      context.fillStyle = colours.bad;
      context.fillRect(0, y(this.limit), width, 1);
      this.words(context, `limit ${time(this.limit)}`, width, y(this.limit) - 3, "right", colours.bad);
    }
    if (this.chosen !== null) {
      context.strokeStyle = colours.ink;
      context.lineWidth = 2;
      context.strokeRect(this.chosen * column - 1, TOP - 2, Math.max(3, column + 1), height - TOP - BOTTOM + 3);
    }
    this.words(context, time(longest), 0, TOP - 3, "left", colours.muted);
    this.words(context, `token ${this.gaps[0]?.token ?? 1}`, 0, height - 2, "left", colours.muted);
    this.words(context, `token ${this.gaps.at(-1)?.token ?? 1}`, width, height - 2, "right", colours.muted);
  }

  // The colours of the parts as the style sheet has them.
  hues() {
    const probe = el("i", { hidden: true });
    document.body.append(probe);
    const known = new Map();
    const read = (name) => {
      if (!known.has(name)) {
        probe.className = `part-${name}`;
        probe.style.color = "var(--part, gray)";
        known.set(name, getComputedStyle(probe).color);
      }
      return known.get(name);
    };
    for (const gap of this.gaps) for (const name of Object.keys(gap.parts)) read(name);
    probe.remove();
    return (name) => known.get(name);
  }

  words(context, text, x, y, align, colour) {
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colour;
    context.textAlign = align;
    context.fillText(text, x, y);
  }
}
