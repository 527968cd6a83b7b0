// Where an answer's time went: by the server's own account, and as it was seen here.
import { el } from "./dom.js";
import { getJson } from "./api.js";
import { count, digits, grouped, percentile, time } from "./units.js";

/** Takes the times of one answer as they pass. All of them are of this page's clock, in milliseconds. */
export class Stopwatch {
  constructor() {
    this.began = performance.now();
    this.pieces = [];
  }

  /** A piece of text came. */
  note() {
    this.pieces.push(performance.now());
  }

  seconds() {
    return (performance.now() - this.began) / 1000;
  }

  /** Pieces per second since the first; null while there are too few. A piece is a token, nearly always. */
  rate() {
    const n = this.pieces.length;
    return n < 3 ? null : (1000 * (n - 1)) / (this.pieces[n - 1] - this.pieces[0]);
  }

  seen() {
    const gaps = this.pieces.slice(1).map((at, i) => at - this.pieces[i]).sort((a, b) => a - b);
    const at = (share) => percentile(gaps, share);
    return {
      ttft_ms: this.pieces.length ? this.pieces[0] - this.began : null, total_ms: performance.now() - this.began,
      itl_ms: { count: gaps.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: gaps.at(-1) ?? null },
    };
  }
}

/** The phases of a reply's `timings`, [name, milliseconds], in order. */
export function phasesOf(timings) {
  return [["queue", timings.queue_ms], ["load", timings.load_ms], ["prefill", timings.prompt_ms], ["decode", timings.predicted_ms]]
    .filter(([, ms]) => Number.isFinite(ms));
}

const us = (ms) => (ms === null || ms === undefined ? null : ms * 1000);
const rate = (value) => (value > 0 ? `${digits(value)} tokens/s` : "–");

function bar(timings) {
  const phases = phasesOf(timings).filter(([, ms]) => ms > 0);
  const words = phases.map(([name, ms]) => `${name} ${time(us(ms))}`).join(", ");
  return el("span", { class: "phases", role: "img", "aria-label": words, title: words }, phases.map(([name, ms]) => {
    const part = el("i", { class: `phase-${name}` });
    part.style.flexGrow = String(ms);
    return part;
  }));
}

function rows(answer) {
  const { timings, seen } = answer;
  const itl = seen?.itl_ms;
  const list = [];
  if (timings) {
    const cached = timings.cache_n > 0 ? ` (${grouped(timings.cache_n)} cached)` : "";
    list.push(["Queue", time(us(timings.queue_ms))]);
    if (Number.isFinite(timings.load_ms)) list.push(["Load", time(us(timings.load_ms))]);
    list.push(["Prefill", `${count(timings.prompt_n, "token")} in ${time(us(timings.prompt_ms))}${cached}`]);
    list.push(["Prefill rate", rate(timings.prompt_per_second)]);
    list.push(["Decode", `${count(timings.predicted_n, "token")} in ${time(us(timings.predicted_ms))}`]);
    list.push(["Decode rate", rate(timings.predicted_per_second)]);
    const ttft = (timings.queue_ms ?? 0) + (timings.load_ms ?? 0) + timings.prompt_ms;
    list.push(["TTFT at the server", time(us(ttft))]);
    if (timings.predicted_ttft_ms) list.push(["TTFT foretold", time(us(timings.predicted_ttft_ms))]);
  }
  if (seen) list.push(["TTFT seen here", time(us(seen.ttft_ms))], ["Total seen here", time(us(seen.total_ms))]);
  if (itl?.count > 0) {
    list.push(["ITL p50, p95", `${time(us(itl.p50))}, ${time(us(itl.p95))}`], ["ITL p99, longest", `${time(us(itl.p99))}, ${time(us(itl.max))}`]);
  }
  if (answer.finish) list.push(["Ended by", { stop: "the model", length: "the token limit", cancelled: "cancellation" }[answer.finish] ?? answer.finish]);
  if (answer.seed !== undefined) list.push(["Seed", String(answer.seed)]);
  return list;
}

/** The server's explanation of the answer, asked for when somebody opens it. */
function why(answer) {
  const place = el("div", { class: "why" }, el("p", null, "Asking the server what held it up …"));
  const ask = async () => {
    try {
      const told = await getJson(`/v1/takt/requests/${encodeURIComponent(answer.request)}`);
      const words = [].concat(told.words ?? []);
      place.replaceChildren(...(words.length ? words : ["No token was late."]).map((line) => el("p", null, line)),
        el("p", null, el("a", { href: `/#request=${encodeURIComponent(answer.request)}` }, "Every gap, on the dashboard")));
    } catch (error) {
      place.replaceChildren(el("p", null, error.status === 404 ? "The server does not keep this request any more." : error.message));
    }
  };
  return { place, ask };
}

/** One line that says how fast, with a sheet of details below. */
export function showTiming(answer) {
  const { timings, seen } = answer;
  const itl = seen?.itl_ms;
  const items = [];
  const ttft = seen?.ttft_ms;
  if (Number.isFinite(ttft)) items.push(el("span", null, "TTFT ", el("b", null, time(us(ttft)))));
  if (timings?.prompt_n > 0) items.push(el("span", { class: "phase-prefill" }, el("i", { class: "swatch" }), "prefill ", el("b", null, rate(timings.prompt_per_second))));
  if (timings?.predicted_n > 1) items.push(el("span", { class: "phase-decode" }, el("i", { class: "swatch" }), "decode ", el("b", null, rate(timings.predicted_per_second))));
  if (itl?.count > 0) items.push(el("span", null, "ITL p50 ", el("b", null, time(us(itl.p50))), ", p99 ", el("b", null, time(us(itl.p99)))));
  const sheet = el("dl", { class: "sheet number" }, rows(answer).map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))));
  const details = el("details", { class: "timing number" }, el("summary", null, timings && bar(timings), items), sheet);
  details.addEventListener("toggle", () => details.open && sheet.scrollIntoView({ block: "nearest" }));
  if (answer.request) {
    const { place, ask } = why(answer);
    sheet.append(place);
    details.addEventListener("toggle", () => { if (details.open) ask(); }, { once: true });
  }
  return details;
}
