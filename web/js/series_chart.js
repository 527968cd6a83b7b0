// A chart of figures over the last minutes, in SVG: lines, filled lines, or bands stacked upon each other.
import { byId, svg } from "./dom.js";

const LEFT = 2, RIGHT = 46, TOP = 8, BOTTOM = 16;
const SPANS_S = [60, 120, 300];  // the least that holds all there is


/** The least of 1, 2, 5 × 10^n that is not below a value. */
export function niceMax(value) {
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].find((step) => step * size >= value * 0.999) * size;
}

/** "50.0 ms" as "50 ms": what stands on a scale is round. */
export const short = (words) => words.replace(/\.0+(?!\d)/, "");

/** Shows a short text beside the pointer, or hides it (words empty). */
export function showTip(words, x = 0, y = 0) {
  const tip = byId("tip");
  tip.hidden = !words;
  if (!words) return;
  tip.textContent = words;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(6, Math.min(innerWidth - width - 6, x + 14))}px`;
  tip.style.top = `${Math.max(6, y - height - 12 < 6 ? y + 18 : y - height - 12)}px`;
}

export class SeriesChart {
  /**
   * series: [{name, class, pick(sample) -> number or null, style: "area" | "line" | "dashed" | "dotted"}]
   * options: words(value) for labels, height, isStacked, floor: the least height of the scale, max(samples): a fixed scale.
   */
  constructor(series, { words, height = 110, isStacked = false, floor = 0, max = null, label = "" } = {}) {
    Object.assign(this, { series, words, height, isStacked, floor, max, label, samples: [], pointerX: null });
    this.node = svg("svg", { class: "chart", height, role: "img", "aria-label": label });
    this.node.addEventListener("pointermove", (event) => { this.pointerX = event.clientX; this.pointerY = event.clientY; this.point(); });
    this.node.addEventListener("pointerleave", () => { this.pointerX = null; showTip(""); this.cursor?.remove(); });
  }

  draw(samples) {
    this.samples = samples;
    const width = this.node.clientWidth || this.node.parentNode?.clientWidth || 300;
    const values = this.columns(samples);
    this.top = this.max?.(samples) ?? niceMax(Math.max(this.floor, ...values.flat().map((value) => value ?? 0)));
    this.width = width;
    this.last = samples.at(-1)?.second ?? 0;
    const known = this.last - (samples[0]?.second ?? 0);
    this.span = SPANS_S.find((span) => span >= known) ?? SPANS_S.at(-1);
    const parts = this.scale();
    values.forEach((column, i) => parts.push(...this.path(column, i > 0 && this.isStacked ? values[i - 1] : null, this.series[i])));
    this.node.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    this.node.replaceChildren(...parts);
    this.node.setAttribute("aria-label", `${this.label}: ${this.told(samples.at(-1))}`);
    if (this.pointerX !== null) this.point();
  }

  // One list of values a series; stacked ones are sums.
  columns(samples) {
    const below = new Array(samples.length).fill(0);
    return this.series.map(({ pick }) => samples.map((sample, i) => {
      const value = pick(sample);
      const known = Number.isFinite(value) ? value : null;
      if (!this.isStacked) return known;
      below[i] += known ?? 0;
      return below[i];
    }));
  }

  x(second) { return LEFT + (this.width - LEFT - RIGHT) * (1 - (this.last - second) / this.span); }
  y(value) { return TOP + (this.height - TOP - BOTTOM) * (1 - Math.min(1, value / this.top)); }

  scale() {
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const y = this.y(this.top * share);
      parts.push(svg("line", { class: "rule", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y }));
      parts.push(svg("text", { x: this.width - RIGHT + 6, y: y + 4 }, share ? short(this.words(this.top * share)) : "0"));
    }
    const ago = (seconds) => (seconds % 60 ? `${seconds} s` : `${seconds / 60} min`);
    for (const [share, anchor] of [[1, "start"], [0.5, "middle"], [0, "end"]]) {
      const seconds = this.span * share;
      parts.push(svg("text", { x: this.x(this.last - seconds), y: this.height - 3, "text-anchor": anchor }, seconds ? `${ago(seconds)}${share === 1 ? " ago" : ""}` : "now"));
    }
    return parts;
  }

  path(values, below, series) {
    const runs = [];
    values.forEach((value, i) => {
      if (value === null) return;
      const isNext = i > 0 && values[i - 1] !== null && this.samples[i].second - this.samples[i - 1].second <= 3;
      if (!isNext) runs.push([]);
      runs.at(-1).push([this.x(this.samples[i].second), this.y(value), this.y(below ? below[i] : 0)]);
    });
    const points = (run, at) => run.map((p) => `${p[0].toFixed(1)},${p[at].toFixed(1)}`).join("L");
    return runs.flatMap((run) => {
      const line = svg("path", { class: `line ${series.class} ${series.style === "area" ? "" : series.style ?? ""}`, d: `M${points(run, 1)}${run.length === 1 ? "h1" : ""}` });
      if (!this.isStacked && series.style !== "area") return [line];
      const area = svg("path", { class: `${this.isStacked ? "band" : "area"} ${series.class}`, d: `M${points(run, 1)}L${points([...run].reverse(), 2)}Z` });
      return this.isStacked ? [area] : [area, line];
    });
  }

  told(sample) {
    if (!sample) return "no data yet";
    return this.series.map(({ name, pick }) => `${name} ${Number.isFinite(pick(sample)) ? this.words(pick(sample)) : "–"}`).join(", ");
  }

  point() {
    if (!this.samples.length) return;
    const box = this.node.getBoundingClientRect();
    const share = (this.pointerX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    const wanted = this.last - this.span * (1 - share);
    const sample = this.samples.reduce((best, other) => (Math.abs(other.second - wanted) < Math.abs(best.second - wanted) ? other : best));
    const x = this.x(sample.second);
    this.cursor?.remove();
    this.cursor = svg("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: this.height - BOTTOM });
    this.node.append(this.cursor);
    showTip(`${this.last - sample.second} s ago\n${this.told(sample).replaceAll(", ", "\n")}`, this.pointerX, this.pointerY);
  }
}
