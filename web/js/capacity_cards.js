// Queue and rows, chunks against their target, KV pages and the prefix cache.
import { byId, el, setText } from "./dom.js";
import { SeriesChart } from "./series_chart.js";
import { bytes, count, grouped, percent, time } from "./units.js";

const CLASSES = [["interactive", "c-good", "area"], ["batch", "c-load", "dashed"], ["background", "c-queue", "dotted"]];
const whole = (value) => (Number.isInteger(value) ? grouped(value) : "");
const legendItem = (cls, words, value) => el("span", { class: cls }, el("i", { class: "swatch" }), `${words} `, el("b", null, value));

class Card {
  constructor(id, title, about, chart) {
    this.chart = chart;
    this.word = el("p", { class: "big-word number" }, "–");
    this.aside = el("span", { class: "muted push number" });
    this.legend = el("p", { class: "legend" });
    this.facts = el("p", { class: "facts" });
    byId(id).append(el("header", null, el("h2", { id: `${id}-title` }, title), el("span", { class: "muted" }, about), this.aside), this.word, chart.node, this.legend, this.facts);
  }

  show(word, legend, facts) {
    setText(this.word, word);
    this.legend.replaceChildren(...legend.map(([cls, words, value]) => legendItem(cls, words, value)));
    this.facts.replaceChildren(...facts.map(([words, value]) => el("span", null, `${words} `, el("b", null, value))));
  }
}

export class CapacityCards {
  constructor() {
    this.queue = new Card("queue", "Queue", "waiting, by class", new SeriesChart(
      CLASSES.map(([name, cls, style]) => ({ name, class: cls, style, pick: (tick) => tick.queue[name] })), { words: whole, floor: 4, label: "Waiting requests by class" }));
    this.chunk = new Card("chunk", "Chunk", "of a step with both phases", new SeriesChart([
      { name: "took", class: "c-prefill", style: "area", pick: (tick) => (tick.chunk.took_us ? tick.chunk.took_us : null) },
      { name: "target", class: "c-ink", style: "dashed", pick: (tick) => (tick.chunk.target_us ? tick.chunk.target_us : null) },
    ], { words: time, floor: 10000, label: "Time of mixed steps against their target" }));
    this.pages = new Card("pages", "KV pages", "of the context memory", new SeriesChart([
      { name: "used", class: "c-good", pick: (tick) => tick.kv.used },
      { name: "cached", class: "c-queue", pick: (tick) => tick.kv.cached },
    ], { words: whole, isStacked: true, max: (samples) => samples.at(-1)?.kv.total || 1, label: "KV pages" }));
  }

  show({ tick, hello }) {
    if (!tick) return;
    const { rows, queue, chunk, kv, prefix, bounds, totals } = tick;
    this.queue.show(rows.waiting ? count(rows.waiting, "request") : "Nobody waits", CLASSES.map(([name, cls]) => [cls, name, grouped(queue[name] ?? 0)]),
      [["rows", `${rows.prefilling + rows.decoding} of ${rows.max}`], ["longest wait now", bounds.prompt_wait_us_max ? time(bounds.prompt_wait_us_max) : "–"], ["refused", grouped(totals.refused)]]);
    const hasChunk = chunk.target_us > 0;
    this.chunk.show(hasChunk ? count(chunk.tokens, "prompt token") : "No mixed step yet",
      hasChunk ? [["c-prefill", "took", time(chunk.took_us)], ["c-ink", "target", time(chunk.target_us)]] : [],
      hasChunk ? [["margin", `× ${chunk.margin.toFixed(2)}`], ["longest gap now", time(bounds.gap_us_max)], ["bounds broken", grouped(totals.bound_violations)]] : [["appears when a prompt is read beside running answers", ""]]);
    const perPage = hello?.model ? hello.model.page_tokens * hello.model.kv_bytes_per_token : null;
    this.pages.show(`${percent(kv.total ? kv.used / kv.total : 0)} used`,
      [["c-good", "used", grouped(kv.used)], ["c-queue", "cached", grouped(kv.cached)], ["hollow", "free", grouped(kv.free - kv.cached)]],
      [["prefix hits", prefix.asked_tokens ? percent(prefix.hit_tokens / prefix.asked_tokens) : "–"], ["preemptions", grouped(totals.preemptions)],
        ["memory", perPage ? bytes(kv.total * perPage) : "–"]]);
  }

  drawCharts(samples) {
    for (const card of [this.queue, this.chunk, this.pages]) card.chart.draw(samples);
  }
}
