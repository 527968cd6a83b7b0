// The dashboard: one live connection, and the cards that show what it tells.
import { byId, el, setText } from "./dom.js";
import { CapacityCards } from "./capacity_cards.js";
import { Detail } from "./detail.js";
import { Live } from "./live.js";
import { PhaseCards } from "./phase_cards.js";
import { Promises, showLimit } from "./promises.js";
import { RequestsTable } from "./requests_table.js";
import { RowsCurve } from "./rows_curve.js";
import { askKey } from "./server_state.js";
import { TimelineView } from "./timeline_view.js";
import { time } from "./units.js";

const CHARTS_EVERY_MS = 1000;  // the charts have one point a second
const SILENT_MS = 3000;

const live = new Live();
const phases = new PhaseCards(), capacity = new CapacityCards(), curve = new RowsCurve(), promises = new Promises();
const table = new RequestsTable((id, token) => detail.open(id.split("#")[0], token));
const timeline = new TimelineView(live, (id) => detail.open(id.split("#")[0]));
const detail = new Detail(live, (id) => { table.choose(id); timeline.focusOn(id); }, (when, span) => {
  if (innerWidth < 1000) detail.close();
  timeline.show(when, span);
  byId("timeline").scrollIntoView({ block: "nearest" });
});

let chartsAt = -Infinity, isQueued = false, askAgain = null;

function draw() {
  isQueued = false;
  showStatus();
  if (!live.hello) return;
  phases.show(live);
  capacity.show(live);
  promises.show(live);
  showLimit(live);
  timeline.draw();
  table.show(live, live.newestRequests());
  if (performance.now() - chartsAt < CHARTS_EVERY_MS) return;
  chartsAt = performance.now();
  phases.drawCharts(live.samples);
  capacity.drawCharts(live.samples);
  curve.draw(live);
}

// A hidden page draws nothing: it is the machine that is being watched that would pay for it.
function queue() {
  if (isQueued || document.hidden) return;
  isQueued = true;
  requestAnimationFrame(draw);
}

function showStatus() {
  const line = byId("status");
  const name = live.hello?.model?.name ?? "";
  const isSilent = live.state === "live" && live.tick && performance.now() - live.heard > SILENT_MS;
  const [state, words] = live.state === "live" ? {
    loading: ["loading", "loading the model"], draining: ["away", "shutting down"], asleep: ["loading", `asleep: ${name}`],
  }[live.tick?.state] ?? ["ready", name || "ready"] : live.state === "denied" ? ["away", "needs an API key"] : live.state === "away" ? ["away", "not reachable, trying again"] : ["", "connecting"];
  line.dataset.state = isSilent ? "away" : state;
  setText(line, isSilent ? "silent" : words);
  document.body.classList.toggle("is-stale", live.state === "away" || Boolean(isSilent));
  const notice = byId("notice");
  if (live.state === "denied" && askAgain) {
    notice.hidden = false;
    if (!notice.querySelector("button")) notice.replaceChildren("This server tells what it does to those who have an API key. ", el("button", { type: "button", onclick: () => askAgain() }, "Enter a key"));
    return;
  }
  notice.hidden = live.state !== "away";
  setText(notice, live.state === "away" ? `${live.trouble} ${live.hello ? "What you see is from before." : ""} This page connects again by itself.` : "");
  const { hello } = live;
  setText(byId("footer"), hello ? `Takt ${hello.version}. Kept by the server: ${hello.rings.steps} steps, ${hello.rings.requests} requests, ${hello.rings.gaps} gaps. Told every ${time(hello.tick_ms * 1000)}.` : "");
}

function openFromAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.get("request")) detail.open(wanted.get("request"), wanted.has("token") ? Number(wanted.get("token")) : null);
}

live.onChange(queue);
document.addEventListener("visibilitychange", () => { chartsAt = -Infinity; queue(); });
addEventListener("resize", () => { chartsAt = -Infinity; queue(); });
addEventListener("themechange", () => { chartsAt = -Infinity; queue(); });
addEventListener("hashchange", openFromAddress);
setInterval(queue, SILENT_MS);
queue();
openFromAddress();
live.run(async () => {
  while (!await askKey()) await new Promise((again) => { askAgain = again; queue(); });
  return true;
});
