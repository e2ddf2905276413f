// The timeline: one frame for each clock, strips of spans on canvas, thinned by the server for the visible window.
// Everything drawn can also be read as a table, and reached with the keyboard.

const LANE = 26, BAR = 18, AXIS = 22, GUTTER = 8, MIN_SPAN = 1e-6;
const S = { start: 0, end: 1, label: 2, cls: 3, artifact: 4, from: 5, to: 6, atMost: 7, n: 8, total: 9, worst: 10 };

const root = document.querySelector("[data-timeline]");
if (root) start(root);

function start(root) {
  const frames = new Map();
  const box = root.querySelector("[data-frames]");
  const state = { selected: null, url: root.dataset.url, lines: root.dataset.lines };

  const load = async () => {
    root.setAttribute("aria-busy", "true");
    try {
      const width = Math.max(320, Math.round(box.clientWidth - 140));
      const data = await fetchJson(`${state.url}?px=${width}`);
      const seen = new Set();
      for (const meta of data.frames) {
        seen.add(meta.frame);
        const known = frames.get(meta.frame);
        if (known) known.update(meta);
        else frames.set(meta.frame, new Frame(box, meta, state, frames));
      }
      for (const [name, frame] of frames) if (!seen.has(name)) { frame.remove(); frames.delete(name); }
      restore(frames);
      root.querySelector("[data-empty]").hidden = data.frames.length > 0;
      root.querySelector("[role=toolbar]").hidden = !data.frames.length;
      root.querySelector("[data-count]").textContent = data.frames.length
        ? `${plural(data.frames.length, "frame")}, ${plural(data.rows, "row")}` : "";
      root.querySelector("[data-error]").hidden = true;
      root.dataset.painted = "true";
    } catch (error) {
      const strip = root.querySelector("[data-error]");
      strip.hidden = false;
      strip.querySelector("[data-message]").textContent = error.message;
    } finally {
      root.removeAttribute("aria-busy");
    }
  };

  root.addEventListener("click", (event) => {
    const tool = event.target.closest("[data-tool]");
    if (!tool) return;
    const all = [...frames.values()];
    ({ fit: () => all.forEach((f) => f.fit()), in: () => all.forEach((f) => f.zoom(0.5)), out: () => all.forEach((f) => f.zoom(2)), again: load })[tool.dataset.tool]?.();
  });
  // A finding chosen in the column is brought out here; new evidence redraws.
  document.body.addEventListener("finding:selected", (event) => {
    state.selected = event.detail?.key ?? null;
    frames.forEach((frame) => frame.draw());
  });
  const again = debounce(load, 300);
  for (const kind of ["verdict", "note", "case"]) document.body.addEventListener(`room:${kind}`, again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => frames.forEach((f) => f.draw()));
  new MutationObserver(() => frames.forEach((f) => f.draw())).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  new ResizeObserver(debounce(() => frames.forEach((f) => f.resize()), 120)).observe(box);
  addEventListener("popstate", () => restore(frames));
  load();
}

class Frame {
  constructor(box, meta, state, all) {
    this.state = state;
    this.all = all;
    this.section = make("section", "tl-frame");
    this.section.setAttribute("aria-label", meta.title);
    this.head = this.section.appendChild(make("header", "tl-head"));
    const body = this.section.appendChild(make("div", "tl-body"));
    this.names = body.appendChild(make("ol", "tl-names"));
    this.canvas = body.appendChild(make("canvas", "tl-canvas"));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.overview = this.section.appendChild(make("canvas", "tl-overview"));
    this.strip = this.section.appendChild(make("p", "tl-strip"));
    this.strip.hidden = true;
    this.tip = this.section.appendChild(make("div", "tl-tip"));
    this.tip.hidden = true;
    this.table = this.section.appendChild(make("details", "tl-table"));
    this.table.append(text("summary", "As a table"));
    this.table.addEventListener("toggle", () => this.table.open && this.fillTable());
    const later = debounce(() => this.fetch(), 60);
    this.refetch = () => (this.busy ? later() : this.fetch());   // a single step is answered at once, a drag when it rests
    this.chosen = null;
    box.append(this.section);
    this.update(meta);
    this.listen();
  }

  update(meta) {
    const follows = !this.meta || (this.view.start === this.meta.t0 && this.view.end === this.meta.t1);
    this.meta = meta;
    this.lanes = meta.lanes;
    const left = meta.more ? ` ${plural(meta.more, "more strip")} with shorter calls not drawn.` : "";
    this.head.replaceChildren(text("h3", meta.title), text("p", `${meta.why}${left}`));
    if (follows) { this.view = { start: meta.t0, end: meta.t1 }; this.whole = meta.lanes; }
    else { this.whole = meta.lanes; this.refetch(); }
    this.canvas.setAttribute("aria-label", `${meta.title}: ${plural(meta.lanes.length, "strip")}, ${seconds(meta.t1 - meta.t0)}. Arrow keys move, plus and minus zoom, 0 shows all, comma and period choose a span, Enter opens its lines.`);
    this.resize();
  }

  remove() { this.section.remove(); }
  get pixel() { return (this.view.end - this.view.start) / this.width; }
  x(t) { return (t - this.view.start) / this.pixel; }
  t(x) { return this.view.start + x * this.pixel; }

  resize() {
    this.names.replaceChildren(...this.lanes.map((lane) => {
      const item = text("li", lane.label);
      item.title = `${lane.host ?? "unknown host"}, ${lane.label}: ${plural(lane.rows, "row")}`;
      if (lane.host) item.prepend(text("small", `${lane.host} `));
      return item;
    }));
    this.width = Math.max(160, this.names.parentElement.clientWidth - this.names.offsetWidth - GUTTER);
    this.height = this.lanes.length * LANE + AXIS;
    fitCanvas(this.canvas, this.width, this.height);
    fitCanvas(this.overview, this.width, 14);
    this.draw();
  }

  set(start, end, { push = true } = {}) {
    const whole = this.meta.t1 - this.meta.t0;
    const length = Math.min(Math.max(end - start, Math.min(1e-4, whole || 1e-4)), whole * 1.2 || 1);
    const middle = Math.min(Math.max((start + end) / 2, this.meta.t0), this.meta.t1);
    this.view = length >= whole ? { start: this.meta.t0, end: this.meta.t1 } : { start: middle - length / 2, end: middle + length / 2 };
    this.draw();
    this.refetch();
    if (push) remember(this.all);
  }

  fit() { this.set(this.meta.t0, this.meta.t1); }
  zoom(factor, at = (this.view.start + this.view.end) / 2) {
    this.set(at - (at - this.view.start) * factor, at + (this.view.end - at) * factor);
  }
  pan(share) {
    const by = (this.view.end - this.view.start) * share;
    this.set(this.view.start + by, this.view.end + by);
  }

  async fetch() {
    const asked = { ...this.view };
    this.asked = asked;
    this.busy = true;
    try {
      const query = new URLSearchParams({ frame: this.meta.frame, from: asked.start, to: asked.end, px: Math.round(this.width) });
      const data = await fetchJson(`${this.state.url}?${query}`);
      if (this.asked !== asked || !data.frames.length) return;
      const fresh = new Map(data.frames[0].lanes.map((lane) => [laneKey(lane), lane]));
      this.lanes = this.whole.map((lane) => fresh.get(laneKey(lane)) ?? { ...lane, spans: [] });
      this.draw();
      this.section.dataset.fetched = String(Number(this.section.dataset.fetched ?? 0) + 1);
    } catch (error) {
      this.say(`The picture could not be refined: ${error.message}`);
    } finally {
      if (this.asked === asked) this.busy = false;
    }
  }

  draw() {
    const ink = colours();
    const g = this.canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, this.width, this.height);
    this.drawAxis(g, ink);
    this.drawBands(g, ink);
    this.lanes.forEach((lane, row) => this.drawLane(g, ink, lane, row));
    if (this.mark) {
      g.fillStyle = ink.accent;
      g.globalAlpha = 0.15;
      g.fillRect(this.x(this.mark.start), 0, Math.max(1, (this.mark.end - this.mark.start) / this.pixel), this.height - AXIS);
      g.globalAlpha = 1;
    }
    this.drawOverview(ink);
  }

  drawAxis(g, ink) {
    const base = this.lanes.length * LANE;
    const step = niceStep(this.pixel * 90);
    g.strokeStyle = ink.rule;
    g.fillStyle = ink.ink2;
    g.font = `11px ${ink.sans}`;
    g.textBaseline = "top";
    g.lineWidth = 1;
    for (let row = 0; row <= this.lanes.length; row++) line(g, 0, row * LANE + 0.5, this.width, row * LANE + 0.5);
    for (let t = Math.ceil(this.view.start / step) * step; t <= this.view.end; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      line(g, x, 0, x, base + 4);
      const label = this.stamp(t, step);
      const half = g.measureText(label).width / 2;
      if (x - half > 0 && x + half < this.width) g.fillText(label, x - half, base + 6);
    }
  }

  stamp(t, step) {
    const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) - 1e-9)));
    if (this.meta.axis !== "clock") return t.toFixed(digits);
    const day = new Date(t * 1000);
    const two = (n) => String(n).padStart(2, "0");
    const rest = ((t % 60) + 60) % 60;
    const sec = rest.toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
    return `${two(day.getUTCHours())}:${two(day.getUTCMinutes())}:${sec}`;
  }

  drawBands(g, ink) {
    for (const band of this.meta.bands) {
      const on = this.state.selected ? band.finding === this.state.selected : true;
      const x = this.x(band.start), w = Math.max(2, (band.end - band.start) / this.pixel);
      g.fillStyle = ink[`sev-${band.severity}`] ?? ink.ink3;
      g.globalAlpha = on ? 0.13 : 0.05;
      this.lanes.forEach((lane, row) => { if (band.clocks.includes(lane.clock)) g.fillRect(x, row * LANE + 1, w, LANE - 1); });
      g.globalAlpha = 1;
    }
    for (const note of this.meta.notes) {
      g.fillStyle = ink.accent;
      g.fillRect(this.x(note.start), this.lanes.length * LANE - 3, Math.max(3, (note.end - note.start) / this.pixel), 3);
    }
    for (const marker of this.meta.markers ?? []) {
      g.strokeStyle = ink.accent;
      g.setLineDash([4, 3]);
      line(g, this.x(marker.at), 0, this.x(marker.at), this.height - AXIS);
      g.setLineDash([]);
    }
  }

  drawLane(g, ink, lane, row) {
    const top = row * LANE + (LANE - BAR) / 2;
    g.font = `11.5px ${ink.sans}`;
    g.textBaseline = "middle";
    let free = -Infinity;
    for (const span of lane.spans) {
      const x0 = Math.max(-2, this.x(span[S.start])), x1 = Math.min(this.width + 2, this.x(span[S.end]));
      if (x1 < 0 || x0 > this.width) continue;
      const width = Math.max(1, x1 - x0);
      if (span[S.n] > 1) {       // many short ones in a pixel: their share of the time as height, never a solid bar
        const share = Math.min(1, span[S.total] / Math.max(span[S.end] - span[S.start], this.pixel));
        const high = Math.max(3, BAR * share);
        g.fillStyle = ink.density;
        g.fillRect(x0, top + BAR - high, width, high);
        continue;
      }
      const cls = this.isCited(span) ? "culprit" : span[S.cls];
      g.fillStyle = ink[cls];
      g.fillRect(x0, top, width, BAR);
      if (cls === "untraced") hatch(g, ink, x0, top, width, BAR);
      if (span === this.chosen) { g.strokeStyle = ink.ink; g.strokeRect(x0 + 0.5, top + 0.5, Math.max(1, width - 1), BAR - 1); }
      if (width > 28 && x0 >= free) {
        const label = spanLabel(span);
        g.save();
        g.beginPath();
        g.rect(x0, top, width - 3, BAR);
        g.clip();
        g.fillStyle = cls === "untraced" ? ink.ink : cls === "culprit" ? ink.onCulprit : ink.onSpan;
        if (cls === "culprit") g.font = `600 11.5px ${ink.sans}`;
        g.fillText(label, x0 + 4, top + BAR / 2 + 0.5);
        g.restore();
        free = x0 + Math.min(width, g.measureText(label).width + 8);
      }
    }
    if (!lane.spans.length) {
      g.fillStyle = ink.ink3;
      g.fillText("no evidence here", 6, top + BAR / 2);
    }
  }

  isCited(span) {
    return this.meta.culprits.some((c) => c.artifact === span[S.artifact] && span[S.to] === c.line_to && span[S.from] === c.line_from);
  }

  drawOverview(ink) {
    const whole = this.meta.t1 - this.meta.t0 || 1;
    const zoomed = this.view.end - this.view.start < whole * 0.999;
    this.overview.hidden = !zoomed;
    if (!zoomed) return;
    const g = this.overview.getContext("2d");
    const ratio = devicePixelRatio || 1;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, this.width, 14);
    g.fillStyle = ink.rule;
    for (const lane of this.whole) for (const span of lane.spans) {
      const x = (span[S.start] - this.meta.t0) / whole * this.width;
      g.fillRect(x, 5, Math.max(1, (span[S.end] - span[S.start]) / whole * this.width), 4);
    }
    g.strokeStyle = ink.accent;
    g.lineWidth = 1.5;
    g.strokeRect((this.view.start - this.meta.t0) / whole * this.width, 1, Math.max(4, (this.view.end - this.view.start) / whole * this.width), 12);
  }

  hit(event) {
    const at = this.canvas.getBoundingClientRect();
    const x = event.clientX - at.left, lane = this.lanes[Math.floor((event.clientY - at.top) / LANE)];
    if (!lane) return null;
    const t = this.t(x), slack = this.pixel * 3;
    let best = null;
    for (const span of lane.spans) {
      if (span[S.start] - slack > t || span[S.end] + slack < t) continue;
      const inside = span[S.start] <= t && t <= span[S.end];
      if (!best || (inside && span[S.end] - span[S.start] < best[S.end] - best[S.start])) best = span;
    }
    return best && { span: best, lane };
  }

  listen() {
    let drag = null;
    const pointers = new Map();
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); this.pan(event.deltaX / this.width); return; }
      if (!event.ctrlKey && !event.altKey && document.activeElement !== this.canvas) return;   // the page scrolls until the frame is chosen
      event.preventDefault();
      this.zoom(Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 300)), this.t(event.offsetX));
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event.offsetX);
      this.canvas.setPointerCapture(event.pointerId);
      drag = { x: event.offsetX, view: { ...this.view }, range: event.shiftKey, moved: false };
      if (pointers.size === 2) drag.pinch = Math.abs([...pointers.values()][0] - [...pointers.values()][1]);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!drag) { this.hover(event); return; }
      pointers.set(event.pointerId, event.offsetX);
      const by = (event.offsetX - drag.x) * ((drag.view.end - drag.view.start) / this.width);
      if (Math.abs(event.offsetX - drag.x) > 3) drag.moved = true;
      if (drag.pinch && pointers.size === 2) {
        const [a, b] = [...pointers.values()];
        const factor = drag.pinch / Math.max(8, Math.abs(a - b)), mid = this.t((a + b) / 2);
        this.set(mid - (mid - drag.view.start) * factor, mid + (drag.view.end - mid) * factor);
      } else if (drag.range) {
        const from = this.t(Math.min(drag.x, event.offsetX)), to = this.t(Math.max(drag.x, event.offsetX));
        this.mark = { start: from, end: to };
        this.draw();
      } else if (drag.moved) this.set(drag.view.start - by, drag.view.end - by);
    });
    const up = (event) => {
      pointers.delete(event.pointerId);
      if (drag && !drag.moved && !drag.range && event.type === "pointerup") this.open(this.hit(event));
      if (drag?.range && this.mark) this.marked();
      drag = null;
    };
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.overview.addEventListener("pointerdown", (event) => {
      const t = this.meta.t0 + (event.offsetX / this.width) * (this.meta.t1 - this.meta.t0), half = (this.view.end - this.view.start) / 2;
      this.set(t - half, t + half);
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = {
        ArrowLeft: () => this.pan(-0.1), ArrowRight: () => this.pan(0.1), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.fit(),
        f: () => (this.mark ? this.set(this.mark.start, this.mark.end) : this.chosen && this.set(this.chosen[S.start] - this.pixel * 20, this.chosen[S.end] + this.pixel * 20)),
        ".": () => this.step(1), ",": () => this.step(-1), Enter: () => this.chosen && this.open({ span: this.chosen }),
        Escape: () => { this.mark = null; this.chosen = null; this.strip.hidden = true; this.draw(); },
      }[event.key];
      if (act) { event.preventDefault(); event.stopPropagation(); act(); }
    });
  }

  // The spans in order of time, the widest of the visible ones: what a keyboard walks through.
  step(by) {
    const visible = this.lanes.flatMap((lane) => lane.spans.map((span) => ({ lane, span })))
      .filter(({ span }) => span[S.end] >= this.view.start && span[S.start] <= this.view.end && span[S.n] === 1)
      .sort((a, b) => a.span[S.start] - b.span[S.start] || a.span[S.end] - b.span[S.end]);
    if (!visible.length) return;
    const at = visible.findIndex(({ span }) => span === this.chosen);
    const next = visible[(at + by + visible.length) % visible.length];
    this.chosen = next.span;
    this.say(describe(next.lane, next.span), next.span);
    this.draw();
  }

  hover(event) {
    const found = this.hit(event);
    this.canvas.classList.toggle("tl-over", Boolean(found));
    this.tip.hidden = !found;
    if (!found) return;
    this.tip.textContent = describe(found.lane, found.span);
    const box = this.section.getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 12, box.width - this.tip.offsetWidth - 4);
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top = `${event.clientY - box.top + 16}px`;
  }

  linesUrl(span) {
    const range = span[S.from] === span[S.to] ? `L${span[S.to]}` : `L${span[S.from]}-L${span[S.to]}`;
    return `${this.state.lines.replace("/0/", `/${span[S.artifact]}/`)}#${range}`;
  }

  open(found) { if (found) location.assign(this.linesUrl(found.span)); }

  say(message, span) {
    this.strip.hidden = false;
    this.strip.setAttribute("role", "status");
    this.strip.replaceChildren(document.createTextNode(`${message} `));
    if (span) {
      const link = text("a", lineRange(span));
      link.href = this.linesUrl(span);
      this.strip.append(link);
    }
  }

  marked() {
    const { start, end } = this.mark;
    this.say(`Range ${this.stamp(start, this.pixel)} to ${this.stamp(end, this.pixel)}, ${seconds(end - start)}. `);
    const fit = button("Zoom here"), note = button("Note on this range"), drop = button("Forget it");
    fit.addEventListener("click", () => this.set(start, end));
    const { clock, shift } = this.meta.clocks[0];   // a note lies on a clock's own seconds: they never move
    note.addEventListener("click", () => document.body.dispatchEvent(new CustomEvent("timeline:range", { detail: { clock, from: start - shift, to: end - shift } })));
    drop.addEventListener("click", () => { this.mark = null; this.strip.hidden = true; this.draw(); });
    this.strip.append(fit, note, drop);
  }

  fillTable() {
    const rows = this.lanes.flatMap((lane) => lane.spans.map((span) => ({ lane, span })))
      .sort((a, b) => b.span[S.worst] - a.span[S.worst]).slice(0, 50);
    const table = make("table");
    table.append(text("caption", `The ${rows.length} longest of what is drawn`));
    const head = table.appendChild(make("thead")).appendChild(make("tr"));
    for (const name of ["Strip", "What", "Seconds", "Lines"]) { const th = text("th", name); th.scope = "col"; head.append(th); }
    const body = table.appendChild(make("tbody"));
    for (const { lane, span } of rows) {
      const tr = body.appendChild(make("tr"));
      const link = text("a", lineRange(span));
      link.href = this.linesUrl(span);
      const cell = make("td");
      cell.append(link);
      tr.append(text("td", lane.label), text("td", span[S.n] > 1 ? `${plural(span[S.n], "call")}, the longest ${span[S.label]}` : span[S.label]), text("td", `${span[S.atMost] ? "at most " : ""}${seconds(span[S.worst])}`), cell);
    }
    this.table.replaceChildren(text("summary", "As a table"), table);
  }
}

function describe(lane, span) {
  if (span[S.n] > 1) return `${lane.label}: ${plural(span[S.n], "call")} here, together ${seconds(span[S.total])}; the longest ${span[S.label]} ${seconds(span[S.worst])}, line ${span[S.to]}`;
  return `${lane.label}: ${spanLabel(span)}, ${lineRange(span)}`;
}
function spanLabel(span) {
  const length = span[S.worst];
  return length > 0 ? `${span[S.label]} ${span[S.atMost] ? "at most " : ""}${seconds(length)}` : span[S.label];
}
function lineRange(span) { return span[S.from] === span[S.to] ? `line ${span[S.to]}` : `lines ${span[S.from]} and ${span[S.to]}`; }
function laneKey(lane) { return [lane.lane, lane.clock, lane.label].join("|"); }
function seconds(value) { return value >= 100 ? `${value.toFixed(0)} s` : value >= 1 ? `${value.toFixed(3)} s` : value >= 1e-3 ? `${(value * 1e3).toFixed(1)} ms` : `${(value * 1e6).toFixed(0)} µs`; }
function plural(n, word) { return `${n.toLocaleString("en").replaceAll(",", "\u2009")} ${word}${n === 1 ? "" : "s"}`; }

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, MIN_SPAN)));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= rough) ?? 10 * power;
}

// The address holds the view: a copied link opens the same picture.
function remember(frames) {
  const views = [];
  for (const [name, frame] of frames) {
    if (frame.view.start !== frame.meta.t0 || frame.view.end !== frame.meta.t1) views.push(`${name}:${frame.view.start.toFixed(5)},${frame.view.end.toFixed(5)}`);
  }
  const url = new URL(location.href);
  if (views.length) url.searchParams.set("view", views.join(";"));
  else url.searchParams.delete("view");
  history.replaceState(history.state, "", url);
}
function restore(frames) {
  for (const part of (new URL(location.href).searchParams.get("view") ?? "").split(";")) {
    const [name, range] = part.split(":");
    const [from, to] = (range ?? "").split(",").map(Number);
    const frame = frames.get(name);
    if (frame && Number.isFinite(from) && Number.isFinite(to) && to > from) frame.set(from, to, { push: false });
  }
}

let inks = null, inkTheme = null;
function colours() {
  const style = getComputedStyle(document.documentElement);
  const theme = style.getPropertyValue("--ground");
  if (inks && inkTheme === theme) return inks;
  const v = (name) => style.getPropertyValue(name).trim();
  inkTheme = theme;
  inks = { ink: v("--ink"), ink2: v("--ink-2"), ink3: v("--ink-3"), rule: v("--rule"), accent: v("--accent"), sans: v("--sans") || "sans-serif",
    culprit: v("--h-hot"), wait: v("--h-wait2"), rest: v("--h-call"), untraced: v("--hatch-1"), hatch: v("--hatch-2"), density: v("--ink-3"), onSpan: v("--h-ink"), onCulprit: v("--h-hot-ink"),
    "sev-info": v("--sev-info"), "sev-minor": v("--sev-minor"), "sev-major": v("--sev-major"), "sev-critical": v("--sev-critical") };
  return inks;
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
function line(g, x0, y0, x1, y1) { g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke(); }
function fitCanvas(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}
function make(tag, cls) { const node = document.createElement(tag); if (cls) node.className = cls; return node; }
function text(tag, value) { const node = document.createElement(tag); node.textContent = value ?? ""; return node; }
function button(label) { const node = text("button", label); node.type = "button"; node.className = "small"; return node; }
function debounce(fn, wait) { let timer; return (...args) => { clearTimeout(timer); timer = setTimeout(() => fn(...args), wait); }; }
async function fetchJson(url) {
  const answer = await fetch(url, { headers: { Accept: "application/json" }, credentials: "same-origin" });
  if (!answer.ok) throw new Error(answer.status === 404 ? "this room is not open to you any more" : `the server answered ${answer.status}`);
  return answer.json();
}
