// How the timeline writes lengths, times and lines; and the smallest tools to build elements.

export const S = {
  start: 0,
  end: 1,
  label: 2,
  cls: 3,
  artifact: 4,
  from: 5,
  to: 6,
  atMost: 7,
  n: 8,
  total: 9,
  worst: 10,
  target: 11,
};
export const C = { start: 0, end: 1, low: 2, high: 3, mean: 4, artifact: 5, line: 6, n: 7, stack: 8 };
const MIN_SPAN = 1e-6;

export function seconds(value) {
  return value >= 100
    ? `${value.toFixed(0)} s`
    : value >= 1
      ? `${value.toFixed(3)} s`
      : value >= 1e-4
        ? `${(value * 1e3).toFixed(1)} ms`
        : `${(value * 1e6).toFixed(0)} µs`;
}
export function plural(n, word) {
  return `${n.toLocaleString("en").replaceAll(",", "\u2009")} ${word}${n === 1 ? "" : "s"}`;
}
export function amount(value, unit) {
  const text =
    Math.abs(value) >= 1000
      ? Math.round(value).toLocaleString("en").replaceAll(",", "\u2009")
      : String(Number(value.toPrecision(4)));
  return unit ? `${text} ${unit}` : text;
}
export function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, MIN_SPAN)));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= rough) ?? 10 * power;
}
const DAY = 86400;
const remainder = (value, by) => ((value % by) + by) % by;
// Where round times of a frame's clock lie: the first of them from `from` on, on its axis.
export function firstTick(meta, from, step) {
  const zero = meta.zero ?? 0;
  // Below a second only the fraction counts: seconds since 1970 have no digits left for it.
  const off = remainder(step >= 1 ? zero : remainder(zero, 1), step);
  return Math.ceil((from + off) / step) * step - off;
}
// `zero` is what a frame's clock showed at 0 of its axis, in seconds since 1970; days are written where they are known.
export function stamp(meta, t, step) {
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
  if (meta.axis !== "clock") return t.toFixed(meta.axis === "order" ? 0 : digits);
  const zero = meta.zero ?? 0,
    ofDay = Number(remainder(remainder(t, DAY) + remainder(zero, DAY), DAY).toFixed(digits)) % DAY;
  const two = (n) => String(n).padStart(2, "0");
  if (meta.dated && (step >= DAY || (step >= 60 && ofDay === 0))) {
    const day = new Date(Math.round(t + zero) * 1000);
    return `${two(day.getUTCMonth() + 1)}-${two(day.getUTCDate())}`;
  }
  const second = (ofDay % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  return `${two(Math.floor(ofDay / 3600))}:${two(Math.floor(ofDay / 60) % 60)}:${second}`;
}
// "3.75 s from 10:00:08.45": how much of an axis is seen, and from where.
export function rangeWords(meta, { start, end }) {
  if (meta.axis === "order") {
    const from = Math.max(1, Math.ceil(start));
    return `${plural(Math.max(1, Math.floor(end) - from + 1), "place")} from ${from}`;
  }
  return `${about(end - start)} from ${stamp(meta, start, (end - start) / 1000)}`;
}
// A length in three digits, for what is read at a glance.
function about(value) {
  const [by, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return amount(Number((value * by).toPrecision(3)), unit);
}
// How long a mark is: "at most" where only its end is known.
export function lengthOf(span, bound = "at most ") {
  return `${span[S.atMost] ? bound : ""}${seconds(span[S.worst])}`;
}
// The band of a duration, two a decade from 10 µs up (incidents/drawing/ranges.py).
export const BANDS = 12;
export function bandOf(length) {
  return Math.min(BANDS - 1, Math.max(0, Math.floor(2 * Math.log10(Math.max(length, 1e-9) / 1e-5))));
}
export function spanLabel(span) {
  return spanLabels(span)[0];
}
// What may be written in a bar, longest first (incidents/drawing/lane.py writes the same into pictures).
export function spanLabels(span) {
  const [label, target] = [span[S.label], span[S.target]];
  if (!(span[S.worst] > 0)) return [label];
  const long = lengthOf(span),
    short = lengthOf(span, "≤ ");
  if (span[S.cls] === "untraced") return [`${label} · ${long}`, label];
  const texts = target ? [`${label} ${target} · ${long}`, `${target} · ${short}`] : [`${label} · ${long}`];
  return [...new Set([...texts, `${label} · ${short}`, short])];
}
export function lineRange(span) {
  return span[S.from] === span[S.to] ? `line ${span[S.to]}` : `lines ${span[S.from]} and ${span[S.to]}`;
}
export function describe(lane, mark) {
  if (lane.kind === "counter") {
    const many =
      mark[C.n] > 1
        ? `${amount(mark[C.low], "")} to ${amount(mark[C.high], lane.unit)}, ` +
          `mean ${amount(mark[C.mean], "")} of ${plural(mark[C.n], "sample")}`
        : mark[C.low] < mark[C.high]
          ? `${amount(mark[C.low], "")} to ${amount(mark[C.high], lane.unit)}, mean ${amount(mark[C.mean], "")}`
          : amount(mark[C.high], lane.unit);
    const parts = (lane.stack ?? []).map((name, k) => `${name} ${amount(mark[C.stack + k], "")}`).join(", ");
    return `${lane.label}: ${many}${parts ? ` (${parts})` : ""}, line ${mark[C.line]}`;
  }
  if (mark[S.n] > 1) {
    const length =
      mark[S.total] > 0
        ? `, together ${seconds(mark[S.total])}; the longest ${mark[S.label]} ${seconds(mark[S.worst])}`
        : `, the last ${mark[S.label]}`;
    const what = lane.kind === "event" ? "event" : "call";
    return `${lane.label}: ${plural(mark[S.n], what)} here${length}, line ${mark[S.to]}`;
  }
  return `${lane.label}: ${spanLabel(mark)}${mark[S.artifact] ? `, ${lineRange(mark)}` : ""}`;
}
// What a mark is, a line each: itself, where, from when to when, its share of the view, its lines.
export function tipLines(frame, lane, mark) {
  const step = frame.pixel / 10,
    when = (t) => stamp(frame.meta, t, Math.max(step, 1e-6));
  const between = frame.meta.axis === "order" ? [] : [`${when(mark[S.start])} – ${when(mark[S.end])}`];
  if (lane.kind === "counter") {
    const [what, lines] = [describe(lane, mark).replace(/, line \d+$/, ""), `line ${mark[C.line]}`];
    return [what, lane.host ?? "", ...between, lines].filter(Boolean);
  }
  const many = mark[S.n] > 1,
    length = mark[S.end] - mark[S.start],
    seen = frame.view.end - frame.view.start;
  const share = (100 * (many ? mark[S.total] : Math.min(length, seen))) / seen;
  const own = mark[S.worst] > 0 ? `${mark[S.label]} · ${lengthOf(mark)}` : mark[S.label];
  const together = describe(lane, mark)
    .slice(lane.label.length + 2)
    .replace(/, line \d+$/, "");
  const part = share >= 0.1 ? Number(share.toPrecision(2)) : "under 0.1",
    whole = rangeWords(frame.meta, frame.view).split(" from ")[0];
  return [
    many ? together : own,
    [[lane.host, lane.label].filter(Boolean).join(" "), mark[S.target]].filter(Boolean).join(" → "),
    ...(length > 0 ? between : between.map((text) => text.split(" – ")[0])),
    length > 0 && frame.meta.axis !== "order" ? `${part} % of the ${whole} in view` : "",
    mark[S.artifact] ? lineRange(mark) : "",
  ].filter(Boolean);
}
export function laneKey(lane) {
  return [lane.lane, lane.clock, lane.label].join("|");
}

export function make(tag, cls) {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  return node;
}
export function text(tag, value, cls) {
  const node = make(tag, cls);
  node.textContent = value ?? "";
  return node;
}
export function button(label, cls = "small") {
  const node = text("button", label, cls);
  node.type = "button";
  return node;
}
export function debounce(fn, wait) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => fn(...args), wait);
  };
}
// What went wrong, to stand behind a sentence: nothing where nothing is known, and never a browser's own word.
export function because(error) {
  if (error instanceof TypeError) return ": the connection was lost";
  return error.message ? `: ${error.message}` : "";
}
export async function fetchJson(url, options = {}) {
  const answer = await fetch(url, { headers: { Accept: "application/json" }, credentials: "same-origin", ...options });
  if (!answer.ok)
    throw new Error(
      answer.status === 404 ? "this room is not open to you any more" : `the server answered ${answer.status}`,
    );
  return answer.json();
}
