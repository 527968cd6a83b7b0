// The step timeline's card: pausing, zooming, moving and choosing, by pointer and by keys; and what a chosen step was.
import { byId, el } from "./dom.js";
import { shortId } from "./colours.js";
import { showTip } from "./series_chart.js";
import { Timeline, tokensOf } from "./timeline.js";
import { count, time } from "./units.js";

const SPAN_MIN = 20e3, SPAN_MAX = 120e6;

export class TimelineView {
  /** `openRequest(id)` shows a request. */
  constructor(live, openRequest) {
    Object.assign(this, { live, openRequest, isPaused: false, drawnAt: 0 });
    this.canvas = el("canvas", { tabindex: "0", role: "img", "aria-describedby": "timeline-keys",
      "aria-label": "Steps over time. Space pauses, arrows choose a step, plus and minus zoom, End returns to now." });
    this.pause = el("button", { type: "button", "aria-pressed": "false", onclick: () => this.setPaused(!this.isPaused) }, "Pause");
    this.told = el("p", { class: "told number", "aria-live": "polite" }, "Click a step to see what it held.");
    this.scale = el("span", { class: "muted number" });
    byId("timeline").append(
      el("header", null, el("h2", { id: "timeline-title" }, "Steps"), el("span", { class: "muted wide-only", id: "timeline-keys" }, "each bar a step, coloured by request; ▲ longer than the strictest ITL limit"),
        el("span", { class: "tools" }, this.scale,
          el("button", { type: "button", "aria-label": "Zoom out", onclick: () => this.zoom(2) }, "−"), el("button", { type: "button", "aria-label": "Zoom in", onclick: () => this.zoom(0.5) }, "+"), this.pause)),
      this.canvas, this.told);
    this.timeline = new Timeline(this.canvas);
    this.listen();
  }

  listen() {
    const { canvas } = this;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, until: this.timeline.until, hasMoved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!drag) return this.hover(event);
      const moved = event.clientX - drag.x;
      if (Math.abs(moved) > 4) drag.hasMoved = true;
      if (drag.hasMoved) {
        this.setPaused(true);
        this.moveTo(drag.until - (moved * this.timeline.span) / (canvas.clientWidth - 74));
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (drag && !drag.hasMoved) this.choose(this.timeline.at(event.offsetX));
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => { drag = null; });
    canvas.addEventListener("pointerleave", () => showTip(""));
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey) return;  // the page scrolls
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
    addEventListener("themechange", () => this.draw());
  }

  key(event) {
    const moves = { ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      " ": () => this.setPaused(!this.isPaused), End: () => this.setPaused(false), Escape: () => this.choose(null),
      Enter: () => { const id = this.timeline.chosen?.prefill[0]?.request ?? this.timeline.chosen?.decode[0]; if (id) this.openRequest(id); } };
    if (!moves[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    moves[event.key]();
  }

  hover(event) {
    const step = this.timeline.steps && this.timeline.at(event.offsetX);
    if (!step) return showTip("");
    const rows = step.decode.length ? count(step.decode.length, "decode row") : "no decode row";
    const chunks = step.prefill.map((chunk) => `${chunk.tokens} prompt tokens of ${shortId(chunk.request)}`);
    showTip([`step ${step.id}: ${time(step.duration_us)}`, ...chunks, rows].join("\n"), event.clientX, event.clientY);
  }

  setPaused(isPaused) {
    this.isPaused = isPaused;
    this.pause.textContent = isPaused ? "Go on" : "Pause";
    this.pause.setAttribute("aria-pressed", String(isPaused));
    this.draw();
  }

  zoom(factor, x = null) {
    const { timeline } = this;
    const span = Math.min(SPAN_MAX, Math.max(SPAN_MIN, timeline.span * factor));
    if (this.isPaused || x !== null) {  // around the chosen step, the pointer or the middle
      const share = x === null ? 0.5 : 1 - (x - 66) / (this.canvas.clientWidth - 74);
      const centre = x === null && timeline.chosen ? timeline.chosen.start_us : timeline.until - timeline.span * share;
      if (this.isPaused) timeline.until = centre + span * share;
    }
    timeline.span = span;
    this.moveTo(timeline.until);
  }

  moveTo(until) {
    this.timeline.until = Math.min(until, this.live.tick?.now_us ?? until);
    this.draw();
  }

  step(direction) {
    const { steps } = this.live;
    if (!steps.length) return;
    const at = this.timeline.chosen ? steps.findIndex((step) => step.id === this.timeline.chosen.id) : steps.length - (direction > 0 ? 2 : 0);
    const step = steps[Math.max(0, Math.min(steps.length - 1, at + direction))];
    this.setPaused(true);
    this.choose(step);
    const { timeline } = this;
    if (step.start_us < timeline.until - timeline.span || step.start_us + step.duration_us > timeline.until) this.moveTo(step.start_us + timeline.span / 2);
  }

  choose(step) {
    this.timeline.chosen = step;
    if (step) this.setPaused(true);
    this.told.replaceChildren(...(step ? this.words(step) : ["Click a step to see what it held."]));
    this.draw();
  }

  link(id) {
    return el("button", { type: "button", class: "link", title: id, onclick: () => this.openRequest(id) }, shortId(id));
  }

  words(step) {
    const off = step.duration_us - step.expected_us;
    const parts = [el("b", null, `Step ${step.id}: ${time(step.duration_us)}`), step.expected_us ? ` (expected ${time(step.expected_us)}, ${off > 0 ? "+" : "−"}${time(Math.abs(off))})` : "",
      step.sampling_us ? `, of it sampling ${time(step.sampling_us)}` : "", ". "];
    if (step.prefill.length) {
      parts.push(`Prefill of ${count(tokensOf(step), "token")}: `);
      step.prefill.forEach((chunk, i) => parts.push(i ? ", " : "", this.link(chunk.request), ` ${chunk.tokens} from ${chunk.begin}`));
      parts.push(". ");
    }
    if (step.decode.length) {
      parts.push(`${count(step.decode.length, "decode row")}: `);
      step.decode.forEach((id, i) => parts.push(i ? ", " : "", this.link(id)));
      parts.push(".");
    }
    return parts;
  }

  /** Shows what a request did, the others faint; null: all alike. */
  focusOn(id) {
    this.timeline.focus = id;
    this.draw();
  }

  /** Brings a moment into view, paused. */
  show(when, span = 2e6) {
    this.setPaused(true);
    this.timeline.span = span;
    this.moveTo(when + span / 2);
  }

  draw() {
    const { live, timeline } = this;
    if (!live.tick) return;
    if (!this.isPaused) timeline.until = live.tick.now_us;
    timeline.isLive = !this.isPaused;
    timeline.limit = Math.min(...(live.hello?.classes ?? []).map((one) => one.itl_us_max ?? Infinity));
    if (!Number.isFinite(timeline.limit)) timeline.limit = null;
    timeline.draw(live.steps, live.loads);
    this.scale.textContent = `${time(timeline.span)} shown`;
  }
}
