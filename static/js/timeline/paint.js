// Paints a frame on its canvas: axis, bands, strips of spans, counters and events. Knows nothing of the page around it.

import { C, S, firstTick, niceStep, spanLabels, stamp } from "./words.js";

export const HEIGHT = { span: 26, event: 20, counter: 42 },
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
  const base = rows.length ? rows.at(-1).top + rows.at(-1).high : 0;
  g.clearRect(0, 0, view.width, base + AXIS);
  axis(g, frame, view, rows, base, ink);
  bands(g, frame, view, rows, base, ink);
  for (const row of rows) {
    if (row.lane.kind === "counter") counter(g, view, row, ink);
    else strip(g, frame, view, row, ink);
  }
  people(g, frame, view, base, ink);
  if (frame.arrows) arrows(g, frame, view, rows, ink);
  if (frame.mark) {
    g.fillStyle = ink.accent;
    g.globalAlpha = 0.15;
    g.fillRect(view.x(frame.mark.start), 0, Math.max(1, (frame.mark.end - frame.mark.start) / view.pixel), base);
    g.globalAlpha = 1;
  }
}

function axis(g, frame, view, rows, base, ink) {
  const step = Math.max(niceStep(view.pixel * 90), frame.meta.axis === "order" ? 1 : 0);
  g.strokeStyle = ink.rule;
  g.fillStyle = ink.ink2;
  g.font = `11px ${ink.sans}`;
  g.textBaseline = "top";
  g.lineWidth = 1;
  for (const row of rows) line(g, 0, row.top + 0.5, view.width, row.top + 0.5);
  line(g, 0, base + 0.5, view.width, base + 0.5);
  const first = firstTick(frame.meta, view.start, step);
  for (let k = 0; first + k * step <= view.end; k++) {
    const x = Math.round(view.x(first + k * step)) + 0.5;
    line(g, x, 0, x, base + 4);
    const label = stamp(frame.meta, first + k * step, step);
    const half = g.measureText(label).width / 2;
    if (x - half > 0 && x + half < view.width) g.fillText(label, x - half, base + 6);
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
    g.strokeRect(view.x(bad.start), 0.75, Math.max(2, (bad.end - bad.start) / view.pixel), base - 1.5);
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
    line(g, view.x(marker.at), 0, view.x(marker.at), base);
    g.setLineDash([]);
    g.fillText(marker.label, view.x(marker.at) + 3, 2);
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
    const faint = frame.fits(span) ? 1 : 0.2;
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

// A counter is a step for each sample: what it was between two of its stamps; lowest to highest where several share
// a pixel.
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
  for (const s of inside) {
    const x0 = view.x(s[C.start]),
      width = Math.max(s[C.end] > s[C.start] ? 1 : 2, (s[C.end] - s[C.start]) / view.pixel);
    if (lane.stack?.length) {
      let from = 0;
      lane.stack.forEach((_, k) => {
        const value = s[C.stack + k];
        g.fillStyle = ink.stack[k % ink.stack.length];
        g.fillRect(x0, y(from + value), width, Math.max(0, y(from) - y(from + value)));
        from += value;
      });
    } else {
      g.fillStyle = ink.rest;
      g.fillRect(x0, y(s[C.mean]), width, Math.max(1, y(Math.min(0, s[C.mean]) || 0) - y(s[C.mean])));
    }
    if (s[C.low] < s[C.high]) {
      // the extremes of what shares this pixel
      g.fillStyle = ink.ink3;
      g.globalAlpha = 0.5;
      g.fillRect(x0, y(s[C.high]), Math.max(1, Math.min(width, 3)), Math.max(1, y(s[C.low]) - y(s[C.high])));
      g.globalAlpha = 1;
    }
    g.fillStyle = ink.ink2;
    g.fillRect(x0, y(s[C.high]), width, 1);
  }
  const label = `${Number(most.toPrecision(4))} ${lane.unit}`;
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
