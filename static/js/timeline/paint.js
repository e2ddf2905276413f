// Paints a frame on its canvas: axis, bands, strips of spans, counters and events. Knows nothing of the page around it.

import { BANDS, C, S, firstTick, niceStep, seconds, spanLabels, stamp } from "./words.js";

export const HEIGHT = { span: 22, event: 22, counter: 40, heat: 76 },
  BAR = 18,
  AXIS = 22;

let inks = null,
  inkTheme = null;
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const theme = style.getPropertyValue("--ground");
  if (inks && inkTheme === theme) return inks;
  const v = (name) => style.getPropertyValue(name).trim();
  inkTheme = theme;
  inks = {
    ink: v("--ink"),
    ink2: v("--ink-2"),
    ink3: v("--ink-3"),
    rule: v("--rule"),
    accent: v("--accent"),
    ground: v("--ground"),
    sans: v("--sans") || "sans-serif",
    culprit: v("--h-hot"),
    wait: v("--h-wait2"),
    rest: v("--h-call"),
    untraced: v("--hatch-1"),
    error: v("--h-hot"),
    hatch: v("--hatch-2"),
    density: v("--ink-3"),
    onSpan: v("--h-ink"),
    onCulprit: v("--h-hot-ink"),
    bad: v("--bad"),
    heat: [1, 2, 3, 4, 5].map((step) => v(`--heat-${step}`)),
    line: v("--line-1"),
    stack: [v("--h-call"), v("--h-hot"), v("--h-wait2"), v("--h-wait")],
    "sev-info": v("--sev-info"),
    "sev-minor": v("--sev-minor"),
    "sev-major": v("--sev-major"),
    "sev-critical": v("--sev-critical"),
  };
  return inks;
}

// `view` has x(t), pixel, width, start, end; rows are lanes with `top` and `high`.
export function paint(g, frame, view, rows, ink) {
  const base = rows.length ? rows.at(-1).top + rows.at(-1).high : AXIS;
  g.clearRect(0, 0, view.width, base);
  axis(g, frame, view, rows, base, ink);
  bands(g, frame, view, rows, base, ink);
  for (const row of rows) {
    if (row.lane.kind === "counter") counter(g, view, row, ink);
    else if (row.lane.kind === "heat") heatMap(g, frame, view, row, ink);
    else strip(g, frame, view, row, ink);
  }
  people(g, frame, view, base, ink);
  if (frame.arrows) arrows(g, frame, view, rows, ink);
  if (frame.mark) bracket(g, frame, view, base, ink);
  if (frame.cross !== null && frame.cross !== undefined) {
    g.strokeStyle = ink.ink;
    g.setLineDash([3, 3]);
    line(g, frame.cross, AXIS, frame.cross, base);
    g.setLineDash([]);
  }
}

// What stands in the ruler above its ticks: the length of the selection and the time under the pointer.
function flags(g, frame, view, ink) {
  const found = [];
  if (frame.mark) {
    const { start, end } = frame.mark,
      length = frame.meta.axis === "order" ? `${Math.max(1, Math.round(end - start))}` : seconds(end - start);
    const bound = frame.chosen?.[S.atMost] ? `≤ ${length}` : length;
    found.push({ label: bound, x: (view.x(start) + view.x(end)) / 2, kind: "mark" });
  }
  if (frame.cross !== null && frame.cross !== undefined)
    found.push({ label: stamp(frame.meta, frame.t(frame.cross), view.pixel), x: frame.cross, kind: "cross" });
  g.font = `600 11px ${ink.sans}`;
  for (const flag of found) {
    flag.half = g.measureText(flag.label).width / 2 + 5;
    flag.x = Math.min(Math.max(flag.x, flag.half), view.width - flag.half);
  }
  // The selection's length gives way where the pointer's time would lie on it.
  return found.length > 1 && Math.abs(found[0].x - found[1].x) < found[0].half + found[1].half ? found.slice(1) : found;
}

function bracket(g, frame, view, base, ink) {
  const x0 = view.x(frame.mark.start),
    x1 = Math.max(x0 + 1, view.x(frame.mark.end));
  g.fillStyle = ink.accent;
  g.globalAlpha = 0.1;
  g.fillRect(x0, AXIS, x1 - x0, base - AXIS);
  g.globalAlpha = 1;
  g.strokeStyle = ink.accent;
  g.lineWidth = 1.5;
  line(g, x0, 2, x0, base);
  line(g, x1, 2, x1, base);
  g.lineWidth = 1;
}

function axis(g, frame, view, rows, base, ink) {
  const step = Math.max(niceStep(view.pixel * 90), frame.meta.axis === "order" ? 1 : 0);
  const over = flags(g, frame, view, ink);
  g.strokeStyle = ink.rule;
  g.fillStyle = ink.ink2;
  g.font = `11px ${ink.sans}`;
  g.textBaseline = "middle";
  g.lineWidth = 1;
  for (const row of rows) line(g, 0, row.top - 0.5, view.width, row.top - 0.5);
  line(g, 0, base - 0.5, view.width, base - 0.5);
  if (frame.mark) {
    g.strokeStyle = ink.accent;
    line(g, view.x(frame.mark.start), AXIS / 2, view.x(frame.mark.end), AXIS / 2);
    g.strokeStyle = ink.rule;
  }
  const first = firstTick(frame.meta, view.start, step);
  for (let k = 0; first + k * step <= view.end; k++) {
    const x = Math.round(view.x(first + k * step)) + 0.5;
    line(g, x, AXIS - 4, x, base);
    const label = stamp(frame.meta, first + k * step, step);
    const half = g.measureText(label).width / 2;
    const free = over.every((flag) => Math.abs(flag.x - x) > flag.half + half + 4);
    if (!free || x - half <= 0 || x + half >= view.width) continue;
    g.fillStyle = ink.ground; // the line of the selection does not run through a label
    g.fillRect(x - half - 2, 2, 2 * half + 4, AXIS - 6);
    g.fillStyle = ink.ink2;
    g.fillText(label, x - half, AXIS / 2);
  }
  g.font = `600 11px ${ink.sans}`;
  for (const flag of over) {
    g.fillStyle = flag.kind === "mark" ? ink.ground : ink.ink;
    g.fillRect(flag.x - flag.half, 2, 2 * flag.half, AXIS - 6);
    g.fillStyle = flag.kind === "mark" ? ink.accent : ink.ground;
    g.fillText(flag.label, flag.x - flag.half + 5, AXIS / 2 - 0.5);
  }
}

// A finding lies over the strips of its own clock that it cites, and over no others.
function bands(g, frame, view, rows, base, ink) {
  for (const band of frame.meta.bands) {
    const on = frame.state.selected ? band.finding === frame.state.selected : true;
    const x = view.x(band.start),
      w = Math.max(2, (band.end - band.start) / view.pixel);
    g.fillStyle = ink[`sev-${band.severity}`] ?? ink.ink3;
    g.globalAlpha = on ? 0.13 : 0.05;
    for (const { lane, top, high } of rows) {
      const cited = band.strips
        ? band.strips.some(([name, label]) => name === lane.lane && label === lane.label)
        : true;
      if (cited && band.clocks.includes(lane.clock)) g.fillRect(x, top + 1, w, high - 1);
    }
    g.globalAlpha = 1;
  }
  const bad = frame.meta.bad;
  if (bad) {
    g.strokeStyle = ink.bad;
    g.lineWidth = 1.5;
    g.strokeRect(view.x(bad.start), AXIS + 0.75, Math.max(2, (bad.end - bad.start) / view.pixel), base - AXIS - 1.5);
    g.lineWidth = 1;
  }
}

function people(g, frame, view, base, ink) {
  for (const note of frame.meta.notes) {
    g.fillStyle = ink.accent;
    g.fillRect(view.x(note.start), base - 3, Math.max(3, (note.end - note.start) / view.pixel), 3);
  }
  g.strokeStyle = ink.accent;
  g.fillStyle = ink.accent;
  g.textBaseline = "top";
  g.font = `11px ${ink.sans}`;
  for (const marker of frame.meta.markers ?? []) {
    g.setLineDash([4, 3]);
    line(g, view.x(marker.at), AXIS, view.x(marker.at), base);
    g.setLineDash([]);
    g.fillText(marker.label, view.x(marker.at) + 3, AXIS + 2);
  }
}

function strip(g, frame, view, { lane, top: above, high: room }, ink) {
  const bar = lane.kind === "event" ? 12 : BAR,
    top = above + (room - bar) / 2;
  g.font = `11.5px ${ink.sans}`;
  g.textBaseline = "middle";
  const err = frame.meta.clocks.find((one) => one.clock === lane.clock)?.err ?? 0,
    shaky = (2 * err) / view.pixel > 3;
  for (const span of lane.spans) {
    const x0 = Math.max(-2, view.x(span[S.start])),
      x1 = Math.min(view.width + 2, view.x(span[S.end]));
    if (x1 < 0 || x0 > view.width) continue;
    const width = Math.max(lane.kind === "event" ? 2 : 1, x1 - x0);
    const faint = frame.fits(span, lane) ? 1 : 0.2;
    g.globalAlpha = faint;
    if (span[S.n] > 1) {
      // many short ones in a pixel: their share of the time as height, their number as depth; never a solid bar
      const share = Math.min(1, span[S.total] / Math.max(span[S.end] - span[S.start], view.pixel));
      const high = Math.max(3, lane.kind === "event" ? Math.min(bar, 2 + 2 * Math.log2(span[S.n])) : bar * share);
      g.fillStyle = span[S.cls] === "error" ? ink.error : ink.density;
      g.globalAlpha = faint * Math.min(1, 0.45 + Math.log10(span[S.n]) / 5);
      g.fillRect(x0, top + bar - high, width, high);
      g.globalAlpha = 1;
      continue;
    }
    const cls = isCited(frame, span) ? "culprit" : span[S.cls];
    g.fillStyle = ink[cls];
    // A gap before a completion stamp: only its end is known. Pale as far as it may reach, firm where it ended.
    if (span[S.atMost] && width > 6 && cls !== "untraced") {
      g.globalAlpha = faint * 0.62;
      g.fillRect(x0, top, width, bar);
      g.globalAlpha = faint;
      g.fillRect(x1 - 3, top, 3, bar);
      g.strokeStyle = ink.ink3;
      g.setLineDash([2, 2]);
      line(g, x0 + 0.5, top, x0 + 0.5, top + bar);
      g.setLineDash([]);
    } else g.fillRect(x0, top, width, bar);
    g.globalAlpha = 1;
    if (cls === "untraced") hatch(g, ink, x0, top, width, bar);
    if (shaky && width > 6)
      for (const at of [span[S.start], span[S.end]]) whisker(g, ink, view.x(at - err), view.x(at + err), top + bar / 2);
    if (span === frame.chosen) {
      g.strokeStyle = ink.ink;
      g.strokeRect(x0 + 0.5, top + 0.5, Math.max(1, width - 1), bar - 1);
    }
    if (lane.kind !== "event" && width > 28) {
      // The longest label that fits between the visible edges of the bar, else none: no number is ever cut.
      const left = Math.max(x0, 0),
        room = Math.min(x1, view.width) - left - 8;
      g.font = `${cls === "culprit" ? "600 " : ""}11.5px ${ink.sans}`;
      const label = spanLabels(span).find((text) => g.measureText(text).width <= room);
      if (!label) continue;
      g.globalAlpha = faint;
      g.fillStyle = cls === "untraced" ? ink.ink : cls === "culprit" && !span[S.atMost] ? ink.onCulprit : ink.onSpan;
      if (cls === "untraced") {
        // on a plain ground, so that the hatching does not run through the letters
        g.fillStyle = ink.untraced;
        g.fillRect(left + 1, top + 1, g.measureText(label).width + 6, bar - 2);
        g.fillStyle = ink.ink;
      }
      g.fillText(label, left + 4, top + bar / 2 + 0.5);
      g.globalAlpha = 1;
    }
  }
  if (!lane.spans.length) {
    g.fillStyle = ink.ink3;
    g.fillText("no evidence here", 6, top + bar / 2);
  }
}

// All calls by time and duration, two bands a decade from 10 µs up to 10 s; five steps of its own scale.
export function bandAt(row, y) {
  const high = (row.high - 4) / BANDS;
  return Math.min(BANDS - 1, Math.max(0, BANDS - 1 - Math.floor((y - row.top - 2) / high)));
}
function heatMap(g, frame, view, row, ink) {
  const { lane } = row,
    high = (row.high - 4) / BANDS,
    wide = (lane.end - lane.start) / lane.columns;
  const most = Math.log(Math.max(...lane.cells.map((cell) => cell[2])) + 1);
  const top = (band) => row.top + 2 + (BANDS - 1 - band) * high;
  for (const [column, band, n] of lane.cells) {
    const x = view.x(lane.start + column * wide);
    g.fillStyle = ink.heat[Math.min(5, Math.ceil((5 * Math.log(n + 1)) / most)) - 1];
    g.fillRect(x, top(band), Math.max(1, wide / view.pixel - 0.5), high - 0.5);
  }
  if (frame.bands) {
    const [first, last] = frame.bands;
    g.strokeStyle = ink.accent;
    g.lineWidth = 2;
    g.strokeRect(1, top(last), view.width - 2, high * (last - first + 1));
    g.lineWidth = 1;
  }
  g.font = `10.5px ${ink.sans}`;
  g.textBaseline = "middle";
  for (const [label, band] of [
    ["10 s", BANDS - 1],
    ["10 ms", 6],
    ["10 µs", 0],
  ]) {
    const width = g.measureText(label).width;
    g.fillStyle = ink.ground;
    g.globalAlpha = 0.8;
    g.fillRect(view.width - width - 6, top(band) - 3, width + 6, 12);
    g.globalAlpha = 1;
    g.fillStyle = ink.ink2;
    g.fillText(label, view.width - width - 3, top(band) + 3);
  }
}

// How far the end of a span may lie to either side, since the offset of its clock is known no better.
function whisker(g, ink, x0, x1, y) {
  g.strokeStyle = ink.ink2;
  line(g, x0, y, x1, y);
  line(g, x0, y - 3, x0, y + 3);
  line(g, x1, y - 3, x1, y + 3);
}

export function isCited(frame, span) {
  return frame.meta.culprits.some(
    (c) => c.artifact === span[S.artifact] && span[S.to] === c.line_to && span[S.from] === c.line_from,
  );
}

// Samples between which nothing is missing: a gap of more than one and a half intervals ends a run. Exported for its
// test, since a line across a gap claims what nobody measured.
export function runs(samples) {
  const apart = samples.slice(1).map((one, k) => one[C.end] - samples[k][C.end]);
  const usual = [...apart].sort((a, b) => a - b)[Math.floor(apart.length / 2)];
  const found = [];
  samples.forEach((one, k) => {
    if (!k || apart[k - 1] > 1.5 * usual) found.push([]);
    found.at(-1).push(one);
  });
  return found;
}

// A counter is a line through its samples over a pale area, broken where samples are missing; lowest to highest where
// several share a pixel. Two samples are two points: nothing is known between them. Stacked ones are bars.
function counter(g, view, { lane, top, high }, ink) {
  const samples = lane.samples ?? [];
  const inside = samples.filter((s) => s[C.end] >= view.start && s[C.start] <= view.end);
  g.font = `11px ${ink.sans}`;
  if (!inside.length) {
    g.textBaseline = "middle";
    g.fillStyle = ink.ink3;
    g.fillText("no evidence here", 6, top + high / 2);
    return;
  }
  const most =
    lane.unit === "%" ? Math.max(100, ...inside.map((s) => s[C.high])) : Math.max(...inside.map((s) => s[C.high]), 0);
  const least = Math.min(0, ...inside.map((s) => s[C.low]));
  const room = high - 6,
    whole = most - least || 1,
    y = (value) => top + 3 + room * (1 - (value - least) / whole);
  const broken = runs(samples);
  if (lane.stack?.length)
    for (const s of inside) {
      const x0 = view.x(s[C.start]),
        width = Math.max(s[C.end] > s[C.start] ? 1 : 2, (s[C.end] - s[C.start]) / view.pixel);
      let from = 0;
      lane.stack.forEach((_, k) => {
        const value = s[C.stack + k];
        g.fillStyle = ink.stack[k % ink.stack.length];
        g.fillRect(x0, y(from + value), width, Math.max(0, y(from) - y(from + value)));
        from += value;
      });
    }
  else
    for (const run of broken) {
      const points = run.map((s) => [view.x(s[C.end]), y(s[C.mean])]);
      g.fillStyle = g.strokeStyle = ink.line;
      if (samples.length > 2 && run.length > 1) {
        g.beginPath();
        points.forEach(([x, at], k) => (k ? g.lineTo(x, at) : g.moveTo(x, at)));
        g.lineWidth = 1.5;
        g.stroke();
        g.lineWidth = 1;
        g.lineTo(points.at(-1)[0], y(0));
        g.lineTo(points[0][0], y(0));
        g.globalAlpha = 0.1;
        g.fill();
        g.globalAlpha = 1;
      } else
        for (const [x, at] of points) {
          g.beginPath();
          g.arc(x, at, 2.5, 0, 2 * Math.PI);
          g.fill();
        }
    }
  g.fillStyle = ink.ink3;
  for (const s of inside)
    if (s[C.low] < s[C.high]) {
      // the extremes of what shares this pixel
      g.globalAlpha = 0.5;
      g.fillRect(view.x(s[C.end]) - 1, y(s[C.high]), 2, Math.max(1, y(s[C.low]) - y(s[C.high])));
      g.globalAlpha = 1;
    }
  g.textBaseline = "middle";
  broken.slice(1).forEach((run, k) => {
    const from = view.x(broken[k].at(-1)[C.end]),
      to = view.x(run[0][C.start] < run[0][C.end] ? run[0][C.start] : run[0][C.end]),
      words = "no evidence here",
      wide = g.measureText(words).width;
    if (Math.min(to, view.width) - Math.max(from, 0) > wide + 12)
      g.fillText(words, (Math.min(to, view.width) + Math.max(from, 0) - wide) / 2, top + high / 2);
  });
  const label = `${Number(inside.at(-1)[C.mean].toPrecision(4))} ${lane.unit}`.trim();
  g.textBaseline = "top";
  g.fillStyle = ink.ground;
  g.globalAlpha = 0.8;
  g.fillRect(view.width - g.measureText(label).width - 8, top + 2, g.measureText(label).width + 6, 13);
  g.globalAlpha = 1;
  g.fillStyle = ink.ink2;
  g.fillText(label, view.width - g.measureText(label).width - 5, top + 3);
}

// Who waited for whom: from the waiting strip's end of the wait to the strip that was waited for.
function arrows(g, frame, view, rows, ink) {
  const place = ([name, label]) => rows.find((row) => row.lane.lane === name && row.lane.label === label);
  g.strokeStyle = ink.ink;
  g.fillStyle = ink.ink;
  g.lineWidth = 1.2;
  for (const edge of frame.arrows) {
    const from = place(edge.from),
      to = place(edge.to);
    if (!from || !to || edge.end < view.start || edge.end > view.end) continue;
    const x = view.x(edge.end),
      y0 = from.top + from.high / 2,
      y1 = to.top + to.high / 2,
      down = y1 > y0 ? 1 : -1;
    line(g, x, y0, x, y1 - 5 * down);
    g.beginPath();
    g.moveTo(x, y1);
    g.lineTo(x - 4, y1 - 7 * down);
    g.lineTo(x + 4, y1 - 7 * down);
    g.fill();
  }
  g.lineWidth = 1;
}

export function overview(g, meta, whole, view, width, ink) {
  const length = meta.t1 - meta.t0 || 1;
  g.clearRect(0, 0, width, 14);
  g.fillStyle = ink.rule;
  for (const lane of whole)
    for (const mark of lane.kind === "counter" ? lane.samples : lane.spans) {
      g.fillRect(((mark[0] - meta.t0) / length) * width, 5, Math.max(1, ((mark[1] - mark[0]) / length) * width), 4);
    }
  g.strokeStyle = ink.accent;
  g.lineWidth = 1.5;
  g.strokeRect(
    ((view.start - meta.t0) / length) * width,
    1,
    Math.max(4, ((view.end - view.start) / length) * width),
    12,
  );
}

function hatch(g, ink, x, y, w, h) {
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  g.strokeStyle = ink.hatch;
  g.lineWidth = 1;
  for (let at = Math.max(x, 0) - h; at < Math.min(x + w, 4000); at += 6) line(g, at, y + h, at + h, y);
  g.restore();
}
function line(g, x0, y0, x1, y1) {
  g.beginPath();
  g.moveTo(x0, y0);
  g.lineTo(x1, y1);
  g.stroke();
}
export function fitCanvas(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
}
