// What the server tells as it runs: one connection to /v1/takt/live, made again whenever it breaks, and what was heard so far.
import { ApiError, events, getJson, request } from "./api.js";

const SAMPLES_MAX = 300;      // one a second: five minutes
const STEPS_MAX = 12000;      // a minute of 5 ms steps
const REQUESTS_MAX = 400;
const SUMMARIES_EVERY_MS = 2500;
const RETRY_MS = [300, 600, 1200, 2500];

/** Everything known. `hello` and `tick` are null until something came; `state` is connecting, live, away or denied. */
export class Live {
  constructor() {
    this.listeners = new Set();
    this.state = "connecting";
    this.trouble = "";
    this.forget();
  }

  forget() {
    Object.assign(this, { hello: null, tick: null, samples: [], steps: [], requests: new Map(), loads: [], recent: [], heard: 0, version: 0 });
  }

  onChange(listener) { this.listeners.add(listener); }
  changed(kind) { for (const listener of this.listeners) listener(kind); }

  /** Never ends. `denied` asks for a key when the server wants one; resolves to whether there is one now. */
  async run(denied) {
    for (let failures = 0; ; ) {
      const began = performance.now();
      try {
        await this.listen();
        this.trouble = "The server ended the connection.";
      } catch (error) {
        this.trouble = error instanceof ApiError ? error.message : `The page failed: ${error.message}`;
        if (!(error instanceof ApiError)) console.error(error);
        if (error.status === 401) {
          this.state = "denied";
          this.changed("state");
          if (await denied()) continue;
        }
        if (error.status === 404) this.trouble = "This server tells nothing about itself (no /v1/takt/live).";
      }
      if (this.state === "live" && performance.now() - began > 5000) failures = 0;
      this.state = "away";
      this.changed("state");
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]));
      failures += 1;
    }
  }

  async listen() {
    const response = await request("/v1/takt/live", { headers: { Accept: "text/event-stream" } });
    for await (const event of events(response)) {
      const data = JSON.parse(event.data);
      if (event.event === "hello") this.takeHello(data);
      else if (event.event === "tick" && this.hello) this.takeTick(data);
    }
  }

  takeHello(hello) {
    if (this.hello && this.hello.started_unix_ms !== hello.started_unix_ms) this.forget();  // its clock and steps begin anew
    this.hello = hello;
    this.state = "live";
    this.changed("hello");
    this.askSummaries();
  }

  takeTick(tick) {
    this.tick = tick;
    this.heard = performance.now();
    this.version += 1;
    this.state = "live";
    this.recent = [...this.recent.filter((other) => tick.now_us - other.now_us < tick.rates.window_us), tick];
    this.noteSample(tick);
    this.noteLoad(tick);
    const last = this.steps.at(-1)?.id ?? -1;
    for (const step of tick.steps ?? []) if (step.id > last) this.steps.push(step);
    if (this.steps.length > STEPS_MAX) this.steps.splice(0, this.steps.length - STEPS_MAX);
    for (const changed of tick.requests ?? []) this.noteRequest(changed);
    if ((tick.requests ?? []).some((changed) => changed.state === "finished")) this.askSummaries();
    this.changed("tick");
  }

  // The last tick of each second stays, for the charts.
  noteSample(tick) {
    const second = Math.floor(tick.now_us / 1e6);
    const last = this.samples.at(-1);
    if (last && last.second > second) this.samples.length = 0;
    if (last?.second === second) this.samples.pop();
    this.samples.push({ second, ...tick, steps: null, requests: null });
    if (this.samples.length > SAMPLES_MAX) this.samples.shift();
  }

  // The times when the model was being loaded, for the load track: [from, until] in microseconds.
  noteLoad(tick) {
    if (tick.state !== "loading") return;
    const last = this.loads.at(-1);
    if (last && tick.now_us - last[1] < 2e6) last[1] = tick.now_us;
    else this.loads.push([tick.now_us, tick.now_us]);
  }

  noteRequest(changed) {
    this.requests.set(changed.id, { ...this.requests.get(changed.id), ...changed });
    if (this.requests.size <= REQUESTS_MAX) return;
    for (const [id, old] of this.requests) {
      if (old.state === "finished") { this.requests.delete(id); break; }
    }
  }

  /** What only the list of requests says: the first token's time, the longest gap and why. At most every few seconds. */
  askSummaries() {
    if (this.summaryTimer) return;
    const ask = async () => {
      try {
        const list = await getJson("/v1/takt/requests");
        for (const summary of [...list.requests].reverse()) this.noteRequest(summary);
        this.changed("requests");
      } catch { /* the live stream tells of broken connections */ }
      this.summaryTimer = 0;
    };
    const wait = Math.max(50, SUMMARIES_EVERY_MS - (performance.now() - (this.summaryAt ?? -1e9)));
    this.summaryTimer = setTimeout(() => { this.summaryAt = performance.now(); ask(); }, wait);
  }

  /** Rows decoding on average over the time that the rates are of; 0 when nobody decodes. */
  meanRows() {
    return this.recent.reduce((sum, tick) => sum + tick.rows.decoding, 0) / Math.max(1, this.recent.length);
  }

  /** Newest first. */
  newestRequests() {
    return [...this.requests.values()].sort((a, b) => b.received_us - a.received_us);
  }
}
