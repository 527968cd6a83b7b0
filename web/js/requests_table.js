// The requests, newest first, each with its phases.
import { byId, el, setText } from "./dom.js";
import { colourOf, shortId } from "./colours.js";
import { partsBar } from "./parts.js";
import { count, grouped, time } from "./units.js";

const SHOWN_MAX = 60;
const HEAD = [["Request", ""], ["State", ""], ["Class", "wide-only"], ["Prompt", "right"], ["Output", "right wide-only"], ["TTFT", "right"], ["Longest gap", "right"], ["Total", "right wide-only"], ["Phases", ""]];
const PHASES = ["queue", "load", "prefill", "decode"];

const totalOf = (one) => Object.values(one.phases_us ?? {}).reduce((sum, us) => sum + us, 0);

function prompt(one) {
  const done = one.state === "prefilling" ? `${grouped(one.prompt_done)} / ` : "";
  return [done, grouped(one.prompt_tokens), one.cached_tokens > 0 && el("span", { class: "muted", title: "from the prefix cache" }, ` (${grouped(one.cached_tokens)} cached)`)];
}

// A request that has its first token: until the summary says it, the sum of the phases before decode.
function ttft(one) {
  if (Number.isFinite(one.ttft_us)) return one.ttft_us;
  const phases = one.phases_us ?? {};
  return one.output_tokens > 0 ? (phases.prepare ?? 0) + (phases.load ?? 0) + (phases.queue ?? 0) + (phases.prefill ?? 0) : null;
}

export class RequestsTable {
  /** `open(id, token)` shows a request, and a token of it when one is named. */
  constructor(open) {
    this.open = open;
    this.chosen = null;
    this.rows = new Map();
    this.body = el("tbody");
    this.about = el("span", { class: "muted number" });
    this.empty = el("p", { class: "empty" }, "No request yet. ", el("a", { href: "/chat" }, "Ask something"), " or send one to /v1/chat/completions; it appears here at once.");
    this.table = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "requests-title", hidden: true },
      el("table", { class: "data" }, el("thead", null, el("tr", null, HEAD.map(([words, cls]) => el("th", { scope: "col", class: cls || undefined }, words)))), this.body));
    byId("requests").append(el("header", null, el("h2", { id: "requests-title", tabindex: "-1" }, "Requests"), this.about,
      el("span", { class: "legend push wide-only" }, PHASES.map((name) => el("span", { class: `c-${name}` }, el("i", { class: "swatch" }), name)))), this.empty, this.table);
  }

  show({ hello, tick, requests }, newest) {
    this.empty.hidden = newest.length > 0;
    this.table.hidden = newest.length === 0;
    const running = [...requests.values()].filter((one) => one.state !== "finished").length;
    setText(this.about, newest.length ? `${count(running, "unfinished", "unfinished")}, ${grouped(newest.length)} known${newest.length > SHOWN_MAX ? `, the newest ${SHOWN_MAX} shown` : ""}` : "");
    const shown = newest.slice(0, SHOWN_MAX);
    const longest = Math.max(1, ...shown.map(totalOf));
    const limits = Object.fromEntries((hello?.classes ?? []).map((one) => [one.name, one]));
    const nodes = shown.map((one) => this.row(one, limits[one.class] ?? {}, longest));
    const same = nodes.length === this.body.children.length && nodes.every((node, i) => node === this.body.children[i]);
    if (!same) this.body.replaceChildren(...nodes);
    for (const id of this.rows.keys()) if (!requests.has(id)) this.rows.delete(id);
    this.tick = tick;
  }

  // The row of a request is kept; its cells are drawn again when what they say has changed.
  row(one, limits, longest) {
    const key = JSON.stringify([one, longest, this.chosen === one.id, document.documentElement.dataset.theme]);
    const known = this.rows.get(one.id);
    if (known?.key === key) return known.node;
    const node = known?.node ?? el("tr", { "data-id": one.id, onclick: (event) => { if (!event.target.closest("button")) this.open(one.id); } });
    node.classList.toggle("chosen", this.chosen === one.id);
    const hadFocus = node.contains(document.activeElement) && document.activeElement.dataset.role;
    node.replaceChildren(...this.cells(one, limits, longest));
    if (hadFocus) node.querySelector(`[data-role="${hadFocus}"]`)?.focus();
    this.rows.set(one.id, { key, node });
    return node;
  }

  cells(one, limits, longest) {
    const dot = el("i", { class: "swatch" });
    dot.style.background = colourOf(one.id);
    const first = ttft(one), gap = one.itl_us_max;
    const isLate = (us, limit) => Number.isFinite(us) && limit > 0 && us > limit;
    const state = one.state === "finished" ? one.finish ?? "finished" : one.state;
    const gapCell = Number.isFinite(gap)
      ? el("button", { type: "button", class: "link", "data-role": "gap", title: "Why did this token take so long?", onclick: () => this.open(one.id, one.late_token) },
        el("span", { class: isLate(gap, limits.itl_us_max) ? "late" : undefined }, time(gap)))
      : "–";
    const cells = [[el("button", { type: "button", class: "link id", "data-role": "id", title: one.id, onclick: () => this.open(one.id) }, shortId(one.id)), "id"],
      [el("span", { class: "chip", "data-state": one.state, "data-finish": one.finish ?? undefined }, state), ""], [one.class, "wide-only"], [prompt(one), "right"], [grouped(one.output_tokens), "right wide-only"],
      [el("span", { class: isLate(first, limits.ttft_us_max) ? "late" : undefined }, time(first)), "right"], [gapCell, "right"],
      [time(one.end_to_end_us ?? totalOf(one)), "right wide-only"], [partsBar(one.phases_us, longest), "split"]];
    return cells.map(([content, cls], i) => el("td", { class: cls || undefined }, i === 0 && dot, content));
  }

  /** Marks the row of the request that is shown beside the table. */
  choose(id) {
    this.chosen = id;
  }
}
