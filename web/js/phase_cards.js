// The three phases side by side: what is read (prefill), what is written (decode), and the model in memory (load).
import { byId, el, setText } from "./dom.js";
import { SeriesChart } from "./series_chart.js";
import { bytes, count, digits, grouped, percent, time } from "./units.js";

const QUANTILES = [["p50", "p50"], ["p95", "p95"], ["p99", "p99"]];

/** A figure with its unit, a gauge, a chart, and the quantiles of the latency that belongs to it. */
class PhaseCard {
  constructor(id, { title, about, unit, gauge, gaugeWords, latency, latencyWords, pick, chartLabel }) {
    this.value = el("span", { class: "value" }, "–");
    this.gaugeValue = el("b", null, "–");
    this.fill = el("i");
    this.cells = Object.fromEntries(QUANTILES.map(([key]) => [key, el("b", null, "–")]));
    this.about = el("small", null, "last minute");
    this.facts = el("p", { class: "facts" });
    this.chart = new SeriesChart([{ name: unit, class: `c-${id}`, pick, style: "area" }], { words: digits, floor: 10, height: 104, label: chartLabel });
    byId(id).append(
      el("header", null, el("h2", { id: `${id}-title` }, title), el("span", { class: "muted" }, about)),
      el("div", { class: "hero" }, el("div", null, this.value, el("span", { class: "unit" }, unit)),
        el("div", { class: "gauge" }, el("div", { class: "words", title: gaugeWords }, el("span", null, gauge), this.gaugeValue), el("div", { class: "meter" }, this.fill))),
      this.chart.node,
      el("div", { class: "quantiles" }, el("div", { class: "name", title: latencyWords }, latency, this.about),
        QUANTILES.map(([key, words]) => el("div", null, el("small", null, words), this.cells[key]))),
      this.facts);
  }

  show(rate, share, isCeilingKnown, latency, facts) {
    setText(this.value, digits(rate));
    setText(this.gaugeValue, isCeilingKnown ? percent(share) : "no ceiling known");
    this.fill.style.width = `${Math.min(100, 100 * (share ?? 0))}%`;
    for (const [key] of QUANTILES) setText(this.cells[key], latency?.count > 0 ? time(latency[key]) : "–");
    setText(this.about, latency?.count > 0 ? `${count(latency.count, this.one)}, last minute` : "none in the last minute");
    this.facts.replaceChildren(...facts.map(([words, value]) => el("span", null, `${words} `, el("b", null, value))));
  }
}

class LoadCard {
  constructor() {
    this.word = el("p", { class: "big-word" }, "–");
    this.list = el("dl", { class: "list" });
    byId("load").append(el("header", null, el("h2", { id: "load-title" }, "Load"), el("span", { class: "muted" }, "the model in memory")), this.word, this.list);
  }

  show(hello, tick) {
    const { model, load_us: load } = hello;
    setText(this.word, { loading: "Loading …", asleep: "Asleep", draining: "Shutting down" }[tick?.state] ?? model?.name ?? "No model");
    const total = load ? Object.values(load).reduce((sum, us) => sum + us, 0) : null;
    const rows = [["Loaded in", time(total)]];
    const words = { mapping: "mapping", repacking: "repacking", first_touch: "first touch", other: "other" };
    for (const [name, us] of Object.entries(load ?? {})) rows.push([`· ${words[name] ?? name}`, time(us)]);
    if (model) {
      rows.push(["Weights", bytes(model.weight_bytes)], ["Context", `${grouped(model.context_tokens)} tokens`]);
      rows.push(["Kernels", String(model.numerics_version ?? "–").split("/")[0]]);
    }
    if (tick) rows.push(["Up for", time(tick.now_us)]);
    this.list.replaceChildren(...rows.map(([name, value]) => el("div", null, el("dt", null, name), el("dd", { title: value }, value))));
  }
}

export class PhaseCards {
  constructor() {
    this.prefill = new PhaseCard("prefill", { title: "Prefill", about: "reads prompts · limited by arithmetic", unit: "prompt tokens/s", gauge: "MFU",
      gaugeWords: "Share of this machine's arithmetic that the prompts of the last second used", latency: "TTFT",
      latencyWords: "Time to first token: from submission to the first output token", pick: (tick) => tick.rates.prompt_tokens_per_s,
      chartLabel: "Prompt tokens per second over five minutes" });
    this.prefill.one = "first token";
    this.decode = new PhaseCard("decode", { title: "Decode", about: "writes answers · limited by memory bandwidth", unit: "output tokens/s", gauge: "MBU",
      gaugeWords: "Share of this machine's memory bandwidth that the answers of the last second used", latency: "ITL",
      latencyWords: "Inter-token latency: the gap between two tokens of an answer", pick: (tick) => tick.rates.output_tokens_per_s,
      chartLabel: "Output tokens per second over five minutes" });
    this.decode.one = "gap";
    this.load = new LoadCard();
  }

  show(live) {
    const { tick, hello } = live;
    if (!hello) return;
    this.load.show(hello, tick);
    if (!tick) return;
    const { rates, machine, latency, rows, totals } = tick;
    this.prefill.show(rates.prompt_tokens_per_s, machine?.mfu ?? null, Boolean(hello.machine), latency.ttft_us,
      [["being read", count(rows.prefilling, "prompt")], ["still to read", `${grouped(tick.prefill_queue_tokens)} tokens`], ["since start", `${grouped(totals.prompt_tokens)} tokens`]]);
    const mean = live.meanRows(), perUser = mean > 0 ? rates.output_tokens_per_s / mean : null;
    this.decode.show(rates.output_tokens_per_s, machine?.mbu ?? null, Boolean(hello.machine), latency.itl_us,
      [["running", `${count(rows.decoding, "row")} of ${rows.max}`], ["each gets", perUser === null ? "–" : `${digits(perUser)} tokens/s`], ["since start", `${grouped(totals.output_tokens)} tokens`]]);
  }

  drawCharts(samples) {
    this.prefill.chart.draw(samples);
    this.decode.chart.draw(samples);
  }
}

