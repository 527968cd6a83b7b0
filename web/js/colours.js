// Colours for what is drawn on a canvas, and one for each request. The hues are Okabe and Ito's; neighbours differ in lightness too.

const LIGHT = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7d00", "#6a5acd"];
const DARK = ["#4aa3df", "#f5b73b", "#2fc297", "#e3a0c6", "#9bd6f8", "#ff8b4d", "#d8cb4a", "#a79bf0"];

let resolved = null;
addEventListener("themechange", () => { resolved = null; });

/** The page's colours as a canvas takes them; read again after the theme changed. */
export function palette() {
  if (resolved) return resolved;
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const read = (name) => { probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; };
  const names = ["bg", "panel", "raised", "line", "line-strong", "ink", "muted", "accent", "prefill", "decode", "load", "queue", "good", "bad"];
  resolved = Object.fromEntries(names.map((name) => [name, read(name)]));
  probe.remove();
  resolved.isDark = getComputedStyle(document.documentElement).colorScheme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  return resolved;
}

const numbers = new Map();

/** The same colour for a request wherever it is shown; the first eight differ from each other, then they come round again. */
export function colourOf(id) {
  const whole = id.split("#")[0];
  if (!numbers.has(whole)) {
    if (numbers.size > 4000) numbers.clear();
    numbers.set(whole, numbers.size);
  }
  const hues = palette().isDark ? DARK : LIGHT;
  return hues[numbers.get(whole) % hues.length];
}

/** A request's id, short enough to read. */
export const shortId = (id) => (id.length > 10 ? `${id.slice(0, 8)}…` : id);

/** A canvas sized to its box and the screen's pixels; gives its drawing context in CSS pixels, and the size. */
export function fit(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
