// Total against per-user tokens/s: what more rows bring, what they cost each, and where the machine is on that curve now.
import { byId, el, setText, svg } from "./dom.js";
import { niceMax, short } from "./series_chart.js";
import { digits } from "./units.js";

const HEIGHT = 176, LEFT = 8, RIGHT = 46, TOP = 14, BOTTOM = 30;

/**
 * The knee as `takt bench rows` has it: the best speed of all rows together over the speed of one, which is where the flat and the
 * rising part of the step's time would meet if both were straight lines. Null when one row was not measured.
 */
export function kneeOf(curve) {
  if (curve.length < 2 || curve[0].rows !== 1 || !(curve[0].tokens_per_s > 0)) return null;
  return Math.max(...curve.map((point) => point.tokens_per_s)) / curve[0].tokens_per_s;
}

// Without a measurement: the median of what was seen at each number of rows while no prompt was read.
function seenCurve(samples) {
  const seen = new Map();
  for (const { rows, rates } of samples) {
    if (rows.decoding > 0 && rates.busy > 0.9 && rates.prompt_tokens_per_s === 0) {
      seen.set(rows.decoding, [...(seen.get(rows.decoding) ?? []), rates.output_tokens_per_s]);
    }
  }
  return [...seen].map(([rows, rates]) => ({ rows, tokens_per_s: rates.sort((a, b) => a - b)[rates.length >> 1] })).sort((a, b) => a.rows - b.rows);
}

export class RowsCurve {
  constructor() {
    this.node = svg("svg", { class: "chart", height: HEIGHT, role: "img" });
    this.word = el("p", { class: "big-word number" }, "–");
    this.legend = el("p", { class: "legend" });
    byId("curve").append(el("header", null, el("h2", { id: "curve-title" }, "Total and per user"), el("span", { class: "muted" }, "tokens/s by rows")), this.word, this.node, this.legend);
  }

  draw(live) {
    const { hello, tick, samples } = live;
    if (!tick) return;
    const isMeasured = (hello?.rows_curve?.length ?? 0) > 1;
    const curve = isMeasured ? hello.rows_curve : seenCurve(samples);
    const rows = Math.max(1, live.meanRows());
    const now = live.meanRows() > 0 ? { rows, tokens_per_s: tick.rates.output_tokens_per_s } : null;
    setText(this.word, now ? `${digits(now.tokens_per_s)} total, ${digits(now.tokens_per_s / now.rows)} each` : "Nobody is decoding");
    const points = now ? [...curve, now] : curve;
    if (!points.length) {
      this.node.replaceChildren(svg("text", { x: 4, y: 30 }, "No data yet: the curve appears with the first answers."));
      this.legend.replaceChildren();
      return;
    }
    this.width = this.node.clientWidth || 300;
    this.rowsMax = Math.max(4, ...points.map((point) => point.rows));
    this.top = niceMax(Math.max(...points.map((point) => point.tokens_per_s)));
    this.node.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.node.replaceChildren(...this.scale(), ...this.lines(curve, isMeasured), ...this.marks(curve, now));
    const knee = kneeOf(curve);
    this.legend.replaceChildren(el("span", { class: "c-decode" }, el("i", { class: "swatch" }), "total"), el("span", { class: "c-prefill" }, el("i", { class: "swatch" }), "per user"),
      el("span", null, isMeasured ? (knee ? `knee at ${digits(knee)} rows` : "no knee within what was measured") : "as seen since this page was opened"));
    this.node.setAttribute("aria-label", curve.map((point) => `${point.rows} rows: ${digits(point.tokens_per_s)} tokens/s`).join(", "));
  }

  // Rows on a scale of doublings.
  x(rows) { return LEFT + ((this.width - LEFT - RIGHT) * Math.log2(rows)) / Math.log2(this.rowsMax); }
  y(rate) { return TOP + (HEIGHT - TOP - BOTTOM) * (1 - rate / this.top); }

  scale() {
    const parts = [0, 0.5, 1].flatMap((share) => [
      svg("line", { class: "rule", x1: LEFT, x2: this.width - RIGHT, y1: this.y(share * this.top), y2: this.y(share * this.top) }),
      svg("text", { x: this.width - RIGHT + 6, y: this.y(share * this.top) + 4 }, short(digits(share * this.top)))]);
    for (let rows = 1; rows <= this.rowsMax; rows *= 2) parts.push(svg("text", { x: this.x(rows), y: HEIGHT - 16, "text-anchor": "middle" }, String(rows)));
    parts.push(svg("text", { x: (this.width - RIGHT) / 2, y: HEIGHT - 2, "text-anchor": "middle" }, "rows decoding"));
    return parts;
  }

  lines(curve, isMeasured) {
    const path = (value) => `M${curve.map((point) => `${this.x(point.rows).toFixed(1)},${this.y(value(point)).toFixed(1)}`).join("L")}`;
    if (curve.length < 2) return [];
    const style = isMeasured ? "" : "dotted";
    return [svg("path", { class: `line c-decode ${style}`, d: path((point) => point.tokens_per_s) }),
      svg("path", { class: `line c-prefill ${style}`, d: path((point) => point.tokens_per_s / point.rows) })];
  }

  marks(curve, now) {
    const parts = [], knee = kneeOf(curve);
    if (knee && knee <= this.rowsMax) {
      const x = this.x(knee);
      parts.push(svg("line", { class: "cursor dashed", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }), svg("text", { x: x + 4, y: TOP + 2 }, "knee"));
    }
    if (now) {
      parts.push(svg("circle", { class: "dot c-decode", cx: this.x(now.rows), cy: this.y(now.tokens_per_s), r: 5.5 }));
      parts.push(svg("circle", { class: "dot c-prefill", cx: this.x(now.rows), cy: this.y(now.tokens_per_s / now.rows), r: 4.5 }));
    }
    return parts;
  }
}
