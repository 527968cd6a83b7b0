// The step timeline, drawn: each step a bar as wide as it took; above, prompt tokens; below, decode rows; coloured by request.
import { colourOf, fit, palette } from "./colours.js";
import { time } from "./units.js";

const LEFT = 66, RIGHT = 8, LOAD = { top: 4, height: 12 }, PREFILL = { top: 24, height: 86 }, DECODE = { top: 120, height: 86 }, AXIS = 222;

const endOf = (step) => step.start_us + step.duration_us;
export const tokensOf = (step) => step.prefill.reduce((sum, chunk) => sum + chunk.tokens, 0);

/** The first index whose step ends at or behind a time; steps are in order of time. */
function firstFrom(steps, from) {
  let low = 0, high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (endOf(steps[middle]) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Timeline {
  constructor(canvas) {
    this.canvas = canvas;
    this.span = 10e6;      // microseconds shown
    this.until = 0;        // the right edge
    this.chosen = null;    // a step
    this.focus = null;     // a request: the others are drawn faint
    this.limit = null;     // microseconds: steps above it are marked
  }

  /** Which step is at a place of the canvas; null: none. */
  at(x) {
    const when = this.until - this.span * (1 - (x - LEFT) / (this.width - LEFT - RIGHT));
    const slack = this.span / this.width * 2;
    const from = firstFrom(this.steps, when - slack);
    let best = null;
    for (let i = from; i < this.steps.length && this.steps[i].start_us <= when + slack; i += 1) {
      const far = (step) => Math.max(step.start_us - when, when - endOf(step), 0) - step.duration_us * 1e-6;
      if (!best || far(this.steps[i]) < far(best)) best = this.steps[i];
    }
    return best;
  }

  x(when) { return LEFT + (this.width - LEFT - RIGHT) * (1 - (this.until - when) / this.span); }

  draw(steps, loads) {
    this.steps = steps;
    const { context, width } = fit(this.canvas);
    Object.assign(this, { context, width, colours: palette() });
    const from = this.until - this.span;
    const shown = steps.slice(firstFrom(steps, from));
    const visible = shown.filter((step) => step.start_us <= this.until);
    const tokensMax = Math.max(32, ...visible.map(tokensOf)), rowsMax = Math.max(4, ...visible.map((step) => step.decode.length));
    this.frame(tokensMax, rowsMax);
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT - RIGHT, AXIS + 20);
    context.clip();
    for (const [begin, end] of loads) this.box(begin, end, LOAD.top, LOAD.height, this.colours.load);
    for (const step of this.widestPerPixel(visible)) this.step(step, tokensMax, rowsMax);
    if (this.chosen) this.outline(this.chosen);
    context.restore();
    this.axis();
    if (!visible.length) this.words("no steps in this time", (LEFT + width - RIGHT) / 2, PREFILL.top + PREFILL.height / 2 + 4, "center");
  }

  // Steps narrower than a pixel: of those that begin in the same one, the longest stands for all.
  widestPerPixel(steps) {
    const kept = [];
    let column = -1;
    for (const step of steps) {
      const here = Math.floor(this.x(step.start_us));
      if (here === column && this.x(endOf(step)) < here + 1) {
        if (step.duration_us > kept.at(-1).duration_us) kept[kept.length - 1] = step;
        continue;
      }
      column = here;
      kept.push(step);
    }
    return kept;
  }

  frame(tokensMax, rowsMax) {
    const { context, colours, width } = this;
    for (const lane of [PREFILL, DECODE]) {
      context.fillStyle = colours.raised;
      context.fillRect(LEFT, lane.top, width - LEFT - RIGHT, lane.height);
    }
    context.fillStyle = colours.line;
    context.fillRect(LEFT, LOAD.top + LOAD.height, width - LEFT - RIGHT, 1);
    this.words("load", 0, LOAD.top + 11, "left", colours.load);
    this.words("prefill", 0, PREFILL.top + 12, "left", colours.prefill);
    this.words("tokens", 0, PREFILL.top + 27);
    this.words(String(tokensMax), LEFT - 6, PREFILL.top + 12, "right");
    this.words("decode", 0, DECODE.top + 12, "left", colours.decode);
    this.words("rows", 0, DECODE.top + 27);
    this.words(String(rowsMax), LEFT - 6, DECODE.top + 12, "right");
  }

  step(step, tokensMax, rowsMax) {
    const end = endOf(step);
    let top = PREFILL.top + PREFILL.height;
    for (const chunk of step.prefill) {
      const height = Math.max(2, (chunk.tokens / tokensMax) * PREFILL.height);
      top -= height;
      this.bar(step.start_us, end, top, height, chunk.request);
    }
    const height = DECODE.height / rowsMax;
    step.decode.forEach((request, i) => {
      const y = DECODE.top + DECODE.height - (i + 1) * height;
      this.bar(step.start_us, end, y, Math.max(1, height - (height > 4 ? 1 : 0)), request);
    });
    if (this.limit && step.decode.length && step.duration_us > this.limit) this.mark(step);
  }

  bar(begin, end, top, height, request) {
    this.context.globalAlpha = this.focus && request.split("#")[0] !== this.focus ? 0.18 : 1;
    this.box(begin, end, top, height, colourOf(request));
    this.context.globalAlpha = 1;
  }

  // A hair is left between neighbours wide enough to show it.
  box(begin, end, top, height, colour) {
    const x = this.x(begin), width = this.x(end) - x;
    this.context.fillStyle = colour;
    this.context.fillRect(x, top, Math.max(width > 4 ? width - 1 : width, 0.8), height);
  }

  // A step longer than the gap that was promised.
  mark(step) {
    const x = (this.x(step.start_us) + this.x(endOf(step))) / 2, y = DECODE.top + DECODE.height + 3;
    this.context.fillStyle = this.colours.bad;
    this.context.beginPath();
    this.context.moveTo(x, y);
    this.context.lineTo(x - 4, y + 7);
    this.context.lineTo(x + 4, y + 7);
    this.context.fill();
  }

  outline(step) {
    const x = this.x(step.start_us), width = Math.max(2, this.x(endOf(step)) - x);
    this.context.strokeStyle = this.colours.ink;
    this.context.lineWidth = 2;
    this.context.strokeRect(x - 1, PREFILL.top - 3, width + 2, DECODE.top + DECODE.height - PREFILL.top + 6);
  }

  axis() {
    const step = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 2e7].find((size) => this.span / size <= Math.max(3, this.width / 130)) ?? 5e7;
    for (let at = 0; at <= this.span; at += step) {
      const x = this.x(this.until - at);
      this.context.fillStyle = this.colours["line-strong"];
      this.context.fillRect(x, AXIS - 4, 1, 4);
      if (x > LEFT + 24) this.words(at === 0 ? (this.isLive ? "now" : "0") : `−${time(at).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ")}`, x, AXIS + 11, at === 0 ? "right" : "center");
    }
  }

  words(text, x, y, align = "left", colour = this.colours.muted) {
    this.context.font = "11px system-ui, sans-serif";
    this.context.fillStyle = colour;
    this.context.textAlign = align;
    this.context.fillText(text, x, y);
  }
}
