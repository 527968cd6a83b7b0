// What each class was promised and whether it is kept; and what keeps waiting work waiting.
import { byId, el } from "./dom.js";
import { digits, grouped, percent, time } from "./units.js";

const LIMITED_BY = {
  nothing: ["Nothing holds work up", "whatever arrives is begun at once"],
  rows: ["Rows are the limit", "every row is taken; more requests at once need --rows-max"],
  kv_pages: ["KV pages are the limit", "waiting requests need context memory that running ones hold"],
  decode_gap: ["Running answers are the limit", "prompt chunks are cut so that the gaps between tokens stay within their promise"],
  compute: ["Arithmetic is the limit", "the machine reads prompts as fast as it can"],
};

export function showLimit({ tick }) {
  const [words, why] = LIMITED_BY[tick?.limited_by] ?? ["", ""];
  byId("limit").replaceChildren(el("b", null, words), words && ` — ${why}.`);
}

const LATE_SHARE = 0.01;  // more than one in a hundred late: worth a second look

const limit = (us) => (us ? time(us) : "none");
const late = (n, of) => (of ? el("span", { class: n > of * LATE_SHARE ? "late" : undefined }, `${grouped(n)} of ${grouped(of)} (${percent(n / of)})`) : "–");

export class Promises {
  constructor() {
    const head = ["Class", "Kept, last minute", "Goodput", "TTFT limit", "First tokens late", "ITL limit", "Gaps late", "Broken most"];
    this.body = el("tbody");
    byId("promises").append(el("header", null, el("h2", { id: "promises-title" }, "Promises"), el("span", { class: "muted" }, "limits by class; late ones since the start")),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": "promises-title" },
        el("table", { class: "data" }, el("thead", null, el("tr", null, head.map((words) => el("th", { scope: "col" }, words)))), this.body)));
  }

  show({ tick, hello }) {
    if (!tick || !hello) return;
    this.body.replaceChildren(...hello.classes.map(({ name, ttft_us_max: ttft, itl_us_max: itl, rows_reserved: reserved }) => {
      const kept = tick.classes[name] ?? {};
      const attained = kept.attainment === null || kept.attainment === undefined ? el("span", { class: "muted" }, "no request ended")
        : el("span", { class: kept.attainment >= 0.99 ? "ok" : kept.attainment < 0.9 ? "late" : "" }, percent(kept.attainment));
      const title = reserved ? `${name}, ${reserved} rows reserved` : name;
      const cells = [title, attained, kept.goodput_per_s ? `${digits(kept.goodput_per_s)} requests/s` : "–", limit(ttft), late(kept.first_tokens_late, kept.first_tokens),
        limit(itl), late(kept.gaps_late, kept.gaps), kept.broken ? { ttft: "TTFT", itl: "ITL" }[kept.broken] ?? kept.broken : "–"];
      return el("tr", null, cells.map((cell, i) => (i ? el("td", null, cell) : el("th", { scope: "row" }, cell))));
    }));
  }
}
