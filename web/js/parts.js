// A length of time split into named parts, as a bar and in words.
import { el } from "./dom.js";
import { percent, time } from "./units.js";

export const PART_WORDS = {
  prepare: "prepare", load: "model load", queue: "queue", prefill: "prefill", decode: "decode",
  own_compute: "own compute", other_decode: "other rows' decode", other_prefill: "prefill of other requests",
  kv_wait: "wait for KV pages", preemption: "preempted", recompute: "evaluated again", sampling: "sampling",
  host: "host", network: "network write", write: "write",
};

const ORDER = Object.keys(PART_WORDS);

/** [name, µs] of the parts above zero, in a fixed order; names that are not known stand last. */
export function partsOf(parts) {
  const place = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
  return Object.entries(parts ?? {}).filter(([, us]) => us > 0).sort((a, b) => place(a[0]) - place(b[0]));
}

const wordsOf = (name) => PART_WORDS[name] ?? name.replaceAll("_", " ");

/** The bar alone; its words for readers and as a tooltip. */
export function partsBar(parts, total = null) {
  const list = partsOf(parts);
  const sum = list.reduce((all, [, us]) => all + us, 0);
  const words = list.map(([name, us]) => `${wordsOf(name)} ${time(us)}`).join(", ") || "nothing yet";
  const bar = el("span", { class: "parts", role: "img", "aria-label": words, title: words }, list.map(([name, us]) => {
    const part = el("i", { class: `part-${name}` });
    part.style.flexGrow = String(us);
    return part;
  }));
  if (total > 0) bar.style.width = `${Math.max(2, (100 * sum) / total).toFixed(1)}%`;
  return bar;
}

/** Bar and list; `causedBy` {request: µs} is told below the prefill of other requests, `linkTo(id)` makes its link. */
export function partsSheet(parts, causedBy, linkTo) {
  const list = partsOf(parts);
  const sum = list.reduce((all, [, us]) => all + us, 0);
  const rows = list.flatMap(([name, us]) => {
    const row = [el("i", { class: `swatch part-${name}` }), el("span", null, wordsOf(name)), el("span", { class: "right" }, time(us)),
      el("span", { class: "right muted" }, percent(us / sum))];
    const causes = name === "other_prefill" ? Object.entries(causedBy ?? {}).sort((a, b) => b[1] - a[1]) : [];
    return [...row, ...causes.map(([id, caused]) => el("span", { class: "by" }, "of request ", linkTo(id), `: ${time(caused)}`))];
  });
  return [partsBar(parts), el("div", { class: "amounts" }, rows)];
}
