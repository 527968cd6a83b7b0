// Numbers as people read them.

/** Microseconds as "850 µs", "12.4 ms", "3.21 s". */
export function time(us) {
  if (us === null || us === undefined || !Number.isFinite(us)) return "–";
  if (Math.abs(us) < 1000) return `${Math.round(us)} µs`;
  if (Math.abs(us) < 1e6) return `${digits(us / 1e3)} ms`;
  return us < 600e6 ? `${digits(us / 1e6)} s` : `${digits(us / 60e6)} min`;
}

/** Three significant digits, at most two behind the point. */
export function digits(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size >= 100 || value === 0 ? grouped(Math.round(value)) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export const grouped = (value) => (Number.isFinite(value) ? value.toLocaleString("en-US") : "–");

export const percent = (share) => (share === null || share === undefined || !Number.isFinite(share) ? "–" : `${digits(share * 100)} %`);

export const count = (number, one, many = `${one}s`) => `${grouped(number)} ${number === 1 ? one : many}`;

/** The smallest value that at least `share` of the sorted values do not exceed; null of none. */
export function percentile(sorted, share) {
  return sorted.length === 0 ? null : sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

export const bytes = (value) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${unit ? digits(value) : value} ${units[unit]}`;
};
