// One request explained: its phases, and for each token what the gap before it was spent on.
import { byId, el } from "./dom.js";
import { getJson } from "./api.js";
import { shortId } from "./colours.js";
import { GapsChart } from "./gaps_chart.js";
import { partsSheet } from "./parts.js";
import { count, grouped, time } from "./units.js";

const AGAIN_MS = 1500;

export class Detail {
  /** `changed(id or null)` is called when another request is shown, `showMoment(us)` to bring a moment into the timeline. */
  constructor(live, changed, showMoment) {
    Object.assign(this, { live, changed, showMoment, id: null, token: null });
    this.panel = byId("detail");
    addEventListener("keydown", (event) => event.key === "Escape" && this.id && this.close());
  }

  async open(id, token = null) {
    const isNew = id !== this.id;
    Object.assign(this, { id, token: token ?? (isNew ? null : this.token) });
    history.replaceState(null, "", `#request=${encodeURIComponent(id)}${this.token !== null ? `&token=${this.token}` : ""}`);
    if (isNew) {
      if (!this.panel.contains(document.activeElement)) this.returnTo = { node: document.activeElement, role: document.activeElement.dataset.role, id };
      this.panel.replaceChildren(this.head(null), el("p", { class: "empty" }, "Asking the server …"));
      this.panel.hidden = false;
      this.panel.querySelector(".close").focus();
    }
    this.changed(id);
    await this.load();
  }

  close() {
    clearTimeout(this.timer);
    this.id = null;
    this.panel.hidden = true;
    history.replaceState(null, "", location.pathname);
    this.changed(null);
    // To where the reader came from; the table may have drawn that button again meanwhile.
    const { node, role, id } = this.returnTo ?? {};
    (node?.isConnected ? node : document.querySelector(`#requests tr[data-id="${CSS.escape(id ?? "")}"] [data-role="${role}"]`))?.focus();
  }

  async load() {
    clearTimeout(this.timer);
    const id = this.id;
    try {
      const told = await getJson(`/v1/takt/requests/${encodeURIComponent(id)}`);
      if (id !== this.id) return;
      this.show(told);
      if (told.state !== "finished") this.timer = setTimeout(() => this.load(), AGAIN_MS);
    } catch (error) {
      if (id !== this.id) return;
      const words = error.status === 404 ? `The server does not keep this request any more: it keeps the last ${grouped(this.live.hello?.rings?.requests ?? 256)}.` : error.message;
      this.panel.replaceChildren(this.head(null), el("p", { class: "empty", role: "alert" }, words));
    }
  }

  head(told) {
    return el("header", null, el("h2", { id: "detail-title" }, "Request ", el("code", null, this.id)),
      told && el("span", { class: "chip", "data-state": told.state, "data-finish": told.finish ?? undefined }, told.finish ?? told.state),
      el("button", { type: "button", class: "close", onclick: () => this.close() }, "Close"));
  }

  linkTo(id) {
    return el("button", { type: "button", class: "link", title: id, onclick: () => this.open(id) }, shortId(id));
  }

  show(told) {
    const focused = this.panel.contains(document.activeElement) ? document.activeElement.dataset.role ?? "close" : null;
    const top = this.panel.scrollTop;
    this.told = told;
    const words = [].concat(told.words ?? []).filter(Boolean);
    const cached = told.cached_tokens ? `, ${grouped(told.cached_tokens)} of them cached` : "";
    this.gapPlace = el("div");
    this.panel.replaceChildren(this.head(told),
      el("p", { class: "muted number" }, `${told.class}; ${count(told.prompt_tokens, "prompt token")}${cached}; ${count(told.output_tokens, "output token")}`),
      el("div", { class: "words" }, words.length ? words.map((line) => el("p", null, line)) : el("p", { class: "muted" }, "No token of this request was late.")),
      el("h3", null, "Where its time went", el("span", { class: "number" }, time(told.end_to_end_us))), ...partsSheet(told.phases_us, null, () => null),
      this.firstToken(told), this.gaps(told), this.gapPlace);
    this.chart?.draw();
    this.showGap();
    this.panel.scrollTop = top;
    if (focused) (this.panel.querySelector(`[data-role="${focused}"]`) ?? this.panel.querySelector(".close")).focus();
  }

  firstToken({ first_token: first }) {
    if (!first || first.gap_us === null) return null;
    return el("div", null, el("h3", null, "Before the first token", el("span", { class: "number" }, time(first.gap_us))),
      ...partsSheet(first.parts, first.caused_by, (id) => this.linkTo(id)));
  }

  gaps({ gaps, gaps_skipped: skipped, class: name }) {
    this.chart = null;
    if (!gaps?.length) return el("p", { class: "empty" }, "There is no gap between tokens yet.");
    const limit = this.live.hello?.classes.find((one) => one.name === name)?.itl_us_max ?? null;
    this.chart = new GapsChart(gaps, limit, (index) => this.choose(index));
    this.chart.node.dataset.role = "gaps";
    return el("div", null, el("h3", null, "The gap before each token", el("span", { class: "number" }, `${grouped(gaps.length)} gaps${skipped ? `, ${grouped(skipped)} not kept` : ""}`)), this.chart.node);
  }

  choose(index) {
    this.token = this.told.gaps[index].token;
    history.replaceState(null, "", `#request=${encodeURIComponent(this.id)}&token=${this.token}`);
    this.showGap();
  }

  // The chosen gap, or the longest.
  showGap() {
    const gaps = this.told.gaps ?? [];
    if (!gaps.length) return;
    let index = this.token === null ? -1 : gaps.findIndex((gap) => gap.token === this.token);
    if (index < 0) index = gaps.reduce((best, gap, i) => (gap.gap_us > gaps[best].gap_us ? i : best), 0);
    const gap = gaps[index];
    this.chart.chosen = index;
    this.chart.draw();
    const to = (step, words, role) => el("button", { type: "button", "data-role": role, disabled: !gaps[index + step], onclick: () => { this.choose(index + step); this.panel.querySelector(`[data-role="${role}"]`)?.focus(); } }, words);
    this.gapPlace.replaceChildren(el("h3", null, `Token ${gap.token}`, el("span", { class: "number" }, `${time(gap.gap_us)} after the one before`)),
      ...partsSheet(gap.parts, gap.caused_by, (id) => this.linkTo(id)),
      el("div", { class: "steps" }, to(-1, "Earlier token", "earlier"), to(1, "Later token", "later"),
        gap.at_us && el("button", { type: "button", "data-role": "moment", onclick: () => this.showMoment(gap.at_us - gap.gap_us / 2, Math.max(0.5e6, gap.gap_us * 4)) }, "Show these steps")));
  }
}
