// One frame: its strips, its canvas, its keys and gestures. What it shows is fetched for the visible window.

import { AXIS, HEIGHT, bandAt, colours, fitCanvas, overview, paint } from "./paint.js";
import { saveLinks } from "./saving.js";
import {
  BANDS,
  C,
  S,
  amount,
  bandOf,
  because,
  button,
  debounce,
  describe,
  fetchJson,
  laneKey,
  lengthOf,
  lineRange,
  make,
  plural,
  rangeWords,
  seconds,
  spanLabel,
  stamp,
  text,
  tipLines,
} from "./words.js";

const GUTTER = 8;

export class Frame {
  // `room` is the timeline around it: state, `lanesOf(frame)`, `remember()`, `choose(frame)`.
  constructor(box, meta, room) {
    this.room = room;
    this.state = room.state;
    this.section = make("section", "tl-frame");
    this.section.setAttribute("aria-label", meta.title);
    this.head = this.section.appendChild(make("header", "tl-head"));
    this.values = this.section.appendChild(make("ul", "tl-values"));
    const body = (this.body = this.section.appendChild(make("div", "tl-body")));
    this.names = body.appendChild(make("ol", "tl-names"));
    this.canvas = body.appendChild(make("canvas", "tl-canvas"));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.overview = this.section.appendChild(make("canvas", "tl-overview"));
    this.strip = this.section.appendChild(make("p", "tl-strip"));
    this.strip.hidden = true;
    this.panel = this.section.appendChild(make("div", "tl-panel"));
    this.panel.hidden = true;
    this.calls = this.panel.appendChild(make("div"));
    this.quoted = this.panel.appendChild(make("div"));
    this.tip = this.section.appendChild(make("div", "tl-tip"));
    this.tip.hidden = true;
    this.table = this.section.appendChild(make("div", "tl-table"));
    this.table.hidden = true;
    const later = debounce(() => this.fetch(), 60);
    // A single step is answered at once, a drag when it rests.
    this.refetch = () => (this.busy ? later() : this.fetch());
    this.repaint = () => {
      this.waiting ??= requestAnimationFrame(() => {
        this.waiting = null;
        this.draw();
      });
    };
    this.chosen = null;
    this.mark = null;
    this.arrows = null;
    this.section.dataset.frame = meta.frame;
    box.append(this.section);
    this.update(meta);
    this.listen();
    if (meta.later) {
      // one of many frames: its strips come when it is looked at
      const seen = new IntersectionObserver(
        ([one]) => {
          if (one.isIntersecting) {
            seen.disconnect();
            this.load();
          }
        },
        { rootMargin: "300px" },
      );
      seen.observe(this.section);
    }
  }

  async load() {
    try {
      const data = await fetchJson(
        `${this.state.url}?${this.room.query({ frame: this.meta.frame, px: Math.round(this.width) }, this.meta.frame)}`,
      );
      if (data.frames.length) this.update(data.frames[0]);
      else this.section.hidden = true; // nothing is drawn in it
    } catch (error) {
      this.say(`The frame could not be loaded${because(error)}. `);
      const again = button("Try again");
      again.addEventListener("click", () => {
        this.strip.hidden = true;
        this.load();
      });
      this.strip.append(again);
    }
  }

  update(meta) {
    if (meta.later && this.meta && !this.meta.later) {
      this.load();
      return;
    }
    const follows = !this.meta || (this.view.start === this.meta.t0 && this.view.end === this.meta.t1);
    this.meta = meta;
    this.lanes = this.whole = meta.lanes;
    const single = meta.axis === "value";
    const when = single ? meta.at : meta.when;
    const reason = text("p", [when, meta.reason].filter(Boolean).join(" · "));
    reason.title = reason.textContent;
    this.head.replaceChildren(text("h3", meta.title), reason, this.about(when, single));
    this.values.hidden = !single;
    this.body.hidden = single;
    this.section.hidden = false;
    if (single) {
      this.showValues();
      return;
    }
    if (follows) this.view = { start: meta.t0, end: meta.t1 };
    else this.refetch();
    const extent = meta.axis === "order" ? `${Math.floor(meta.t1)} places` : seconds(meta.t1 - meta.t0);
    this.canvas.setAttribute(
      "aria-label",
      `${meta.title}: ${plural(meta.lanes.length, "strip")}, ${extent}. Arrow keys go from span to span and from ` +
        "lane to lane, plus and minus zoom, Enter opens the lines of a span.",
    );
    this.resize();
  }

  // All that is known of a frame's clock, and what is seldom needed, behind one button of its head.
  about(when, single) {
    const menu = make("details", "menu tl-about"),
      box = make("div"),
      open = text("summary", "Details");
    open.setAttribute("aria-label", `Details of ${this.meta.title}`);
    const left = this.meta.more ? `. ${plural(this.meta.more, "more strip")} with shorter calls not drawn.` : "";
    box.append(text("p", `${when ? `${when}; ` : ""}${this.meta.why}${left}`));
    if (!single && this.meta.lanes.some((lane) => ["syscalls", "sqlnet"].includes(lane.lane))) {
      const waits = button(this.arrows ? "Hide waits" : "Show waits", "quiet script-only");
      waits.setAttribute("aria-pressed", String(Boolean(this.arrows)));
      waits.addEventListener("click", () => this.toggleArrows(waits));
      box.append(waits);
    }
    if (this.meta.frame !== "people" && !single) box.append(saveLinks(this, this.room));
    menu.append(open, box);
    return menu;
  }

  // What was measured at one moment has no axis: each value with its line.
  showValues() {
    const { t0, t1, lanes } = this.meta;
    this.view = { start: t0, end: t1 };
    this.rows = [];
    this.lanes = this.whole = lanes;
    this.width ??= this.section.clientWidth || 1000;
    this.overview.hidden = true;
    this.values.replaceChildren(
      ...lanes.flatMap((lane) =>
        (lane.kind === "counter" ? lane.samples : lane.spans).map((mark) => {
          const counter = lane.kind === "counter",
            item = make("li");
          const link = text("a", counter ? amount(mark[C.high], lane.unit) : spanLabel(mark));
          link.href = counter
            ? this.linesUrl(mark[C.artifact], mark[C.line], mark[C.line])
            : this.linesUrl(mark[S.artifact], mark[S.from], mark[S.to]);
          link.title = describe(lane, mark);
          const more = text("a", "Request the second", "quiet");
          const where = lane.host ? ` on ${lane.host}` : "",
            what = `A second sample of ${lane.label}${where}, some time after the first`;
          more.href = `${this.state.request}?${new URLSearchParams({ what })}`;
          item.append(
            text("small", [lane.host, lane.label].filter(Boolean).join(" ")),
            link,
            text("small", this.meta.at ?? ""),
            ...(counter && this.state.request ? [more] : []),
          );
          return item;
        }),
      ),
    );
  }

  remove() {
    this.section.remove();
  }
  get pixel() {
    return (this.view.end - this.view.start) / this.width;
  }
  x(t) {
    return (t - this.view.start) / this.pixel;
  }
  t(x) {
    return this.view.start + x * this.pixel;
  }

  // The strips that are shown, in this person's order: pinned ones first.
  arrange() {
    const choice = this.room.lanesOf(this.meta.frame);
    const hidden = new Set(choice.hide ?? []),
      pinned = choice.pin ?? [],
      order = choice.order ?? [];
    const place = (key) =>
      pinned.includes(key) ? pinned.indexOf(key) - 1e6 : order.includes(key) ? order.indexOf(key) - 1e3 : 0;
    const shown = this.lanes.filter(
      (lane) =>
        !hidden.has(laneKey(lane)) &&
        !hidden.has(lane.lane) &&
        (this.state.counters || lane.kind !== "counter") &&
        (lane.kind !== "heat" || lane.cells.length),
    );
    const sorted = shown
      .map((lane, k) => [place(laneKey(lane)), k, lane])
      .sort((a, b) => a[0] - b[0] || a[1] - b[1])
      .map(([, , lane]) => lane);
    let top = AXIS;
    this.rows = sorted.map((lane) => {
      const row = { lane, top, high: HEIGHT[lane.kind] ?? HEIGHT.span };
      top += row.high;
      return row;
    });
    this.height = top;
  }

  resize() {
    if (this.meta.axis === "value") return;
    this.arrange();
    const pinned = this.room.lanesOf(this.meta.frame).pin ?? [];
    let host;
    this.names.replaceChildren(
      ...this.rows.map(({ lane }) => {
        const item = text("li", lane.label, lane.kind);
        const own = this.meta.clocks.find((one) => one.clock === lane.clock);
        const moved = own?.shift
          ? `, drawn ${own.shift > 0 ? "+" : "−"}${Math.abs(own.shift).toFixed(3)} s` +
            (own.err ? ` ± ${own.err.toFixed(3)}` : "")
          : "";
        if (lane.kind === "heat") {
          item.append(text("small", ` ${plural(lane.calls, "call").replace(/ calls?$/, "")}`));
          item.title = `${plural(lane.calls, "call")} in view by time and duration; a row chooses its calls`;
          return item;
        }
        item.title =
          `${lane.host ?? "unknown host"}, ${lane.label}: ${plural(lane.rows, "row")}; ` +
          `clock ${lane.clock}${moved}`;
        if (lane.host && lane.host !== host) item.prepend(text("small", `${lane.host} `));
        if (pinned.includes(laneKey(lane))) item.classList.add("pinned");
        host = lane.host;
        return item;
      }),
    );
    this.width = Math.max(160, this.names.parentElement.clientWidth - this.names.offsetWidth - GUTTER);
    fitCanvas(this.canvas, this.width, this.height);
    fitCanvas(this.overview, this.width, 14);
    if (!this.table.hidden) this.fillTable();
    this.draw();
  }

  set(start, end, { push = true } = {}) {
    if (this.meta.axis === "value") return;
    const whole = this.meta.t1 - this.meta.t0;
    const length = Math.min(Math.max(end - start, Math.min(1e-4, whole || 1e-4)), whole * 1.2 || 1);
    const middle = Math.min(Math.max((start + end) / 2, this.meta.t0), this.meta.t1);
    this.view =
      length >= whole
        ? { start: this.meta.t0, end: this.meta.t1 }
        : { start: middle - length / 2, end: middle + length / 2 };
    this.repaint();
    this.refetch();
    if (this.room.active === this) this.room.tell();
    if (push) this.room.remember();
  }

  fit() {
    this.set(this.meta.t0, this.meta.t1);
  }
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
    this.ending?.abort();
    this.ending = new AbortController();
    try {
      const query = this.room.query(
        { frame: this.meta.frame, from: asked.start, to: asked.end, px: Math.round(this.width) },
        this.meta.frame,
      );
      const data = await fetchJson(`${this.state.url}?${query}`, { signal: this.ending.signal });
      if (this.asked !== asked || !data.frames.length) return;
      const fresh = new Map(data.frames[0].lanes.map((lane) => [laneKey(lane), lane]));
      const known = new Set(this.whole.map(laneKey)),
        before = this.rows?.length;
      this.lanes = [
        ...this.whole.map((lane) => fresh.get(laneKey(lane)) ?? { ...lane, spans: [], samples: [], cells: [] }),
        ...data.frames[0].lanes.filter((lane) => !known.has(laneKey(lane))),
      ];
      this.arrange();
      if (this.rows.length !== before) this.resize();
      else this.draw();
      this.section.dataset.fetched = String(Number(this.section.dataset.fetched ?? 0) + 1);
    } catch (error) {
      if (error.name !== "AbortError") this.say(`The picture could not be refined${because(error)}.`);
    } finally {
      if (this.asked === asked) this.busy = false;
    }
  }

  draw() {
    if (this.meta.axis === "value") return;
    const ink = colours();
    const view = { ...this.view, pixel: this.pixel, width: this.width, x: (t) => this.x(t) };
    paint(this.canvas.getContext("2d"), this, view, this.rows, ink);
    const zoomed = this.view.end - this.view.start < (this.meta.t1 - this.meta.t0) * 0.999;
    this.overview.hidden = !zoomed;
    if (zoomed) overview(this.overview.getContext("2d"), this.meta, this.whole, this.view, this.width, ink);
  }

  hit(event) {
    const at = this.canvas.getBoundingClientRect();
    const x = event.clientX - at.left,
      y = event.clientY - at.top;
    const row = this.rows.find((one) => one.top <= y && y < one.top + one.high);
    if (!row) return null;
    const marks = row.lane.kind === "counter" ? row.lane.samples : row.lane.spans;
    const t = this.t(x),
      slack = this.pixel * 3;
    let best = null;
    for (const mark of marks ?? []) {
      if (mark[S.start] - slack > t || mark[S.end] + slack < t) continue;
      const inside = mark[S.start] <= t && t <= mark[S.end];
      if (!best || (inside && mark[S.end] - mark[S.start] < best[S.end] - best[S.start])) best = mark;
    }
    return best && { mark: best, lane: row.lane };
  }

  // The table of a frame: its selected calls, those in view if nothing is selected, or what is drawn where no call is.
  get tabled() {
    return !this.table.hidden || (!this.panel.hidden && this.mark !== null);
  }
  toggleTable() {
    if (this.meta.axis === "value") return;
    if (this.tabled) {
      this.table.hidden = true;
      this.forget();
    } else if (this.lanes.some((lane) => ["syscalls", "sqlnet"].includes(lane.lane)))
      this.select(this.view.start, this.view.end);
    else {
      this.table.hidden = false;
      this.fillTable();
    }
    this.room.tell();
  }

  listen() {
    for (const kind of ["pointerdown", "focusin"])
      this.section.addEventListener(kind, () => this.state.active !== this && this.room.activate(this));
    let drag = null;
    const pointers = new Map();
    this.canvas.addEventListener(
      "wheel",
      (event) => {
        const across = event.shiftKey ? event.deltaX || event.deltaY : event.deltaX;
        if (!event.ctrlKey && (event.shiftKey || Math.abs(across) > Math.abs(event.deltaY))) {
          event.preventDefault();
          this.pan(across / this.width);
          return;
        }
        if (!event.ctrlKey) return; // the page scrolls
        event.preventDefault();
        this.zoom(
          Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 300)),
          this.t(event.offsetX),
        );
      },
      { passive: false },
    );
    this.canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event.offsetX);
      this.canvas.setPointerCapture(event.pointerId);
      // A mouse selects, a finger pans; with Shift it is the other way round.
      drag = { x: event.offsetX, view: { ...this.view }, range: (event.pointerType === "touch") === event.shiftKey };
      drag.moved = false;
      drag.y = event.offsetY;
      drag.heat = this.rows.find(({ lane, top, high }) => lane.kind === "heat" && top <= drag.y && drag.y < top + high);
      if (pointers.size === 2) drag.pinch = Math.abs([...pointers.values()][0] - [...pointers.values()][1]);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!drag) {
        this.hover(event);
        return;
      }
      pointers.set(event.pointerId, event.offsetX);
      const by = (event.offsetX - drag.x) * ((drag.view.end - drag.view.start) / this.width);
      if (Math.abs(event.offsetX - drag.x) > 3) drag.moved = true;
      if (drag.pinch && pointers.size === 2) {
        const [a, b] = [...pointers.values()];
        const factor = drag.pinch / Math.max(8, Math.abs(a - b)),
          mid = this.t((a + b) / 2);
        this.set(mid - (mid - drag.view.start) * factor, mid + (drag.view.end - mid) * factor);
      } else if (drag.range && drag.moved) {
        this.tip.hidden = true;
        this.chosen = null;
        this.mark = { start: this.t(Math.min(drag.x, event.offsetX)), end: this.t(Math.max(drag.x, event.offsetX)) };
        this.repaint();
      } else if (drag.moved) this.set(drag.view.start - by, drag.view.end - by);
    });
    const up = (event) => {
      pointers.delete(event.pointerId);
      if (drag?.heat && event.type === "pointerup" && (!drag.moved || drag.range)) {
        const [from, to] = [drag.x, event.offsetX].sort((a, b) => a - b).map((x) => this.t(x));
        const bands = [bandAt(drag.heat, drag.y), bandAt(drag.heat, event.offsetY)].sort((a, b) => a - b);
        this.select(...(drag.moved ? [from, to] : [this.view.start, this.view.end]), bands);
        drag = null;
        return;
      }
      if (drag && !drag.moved && event.type === "pointerup") this.pick(this.hit(event));
      if (drag?.range && drag.moved && this.mark) this.select(this.mark.start, this.mark.end);
      drag = null;
    };
    this.canvas.addEventListener("pointerup", up);
    this.canvas.addEventListener("pointercancel", up);
    this.canvas.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
      this.cross = null;
      this.repaint();
    });
    this.panel.addEventListener("click", (event) => {
      const row = event.target.closest("[data-choose]")?.closest("tr");
      if (row) this.choose(row);
    });
    this.canvas.addEventListener("blur", () => {
      this.tip.hidden = true;
    });
    this.canvas.addEventListener("dblclick", (event) => this.open(this.hit(event)));
    this.overview.addEventListener("pointerdown", (event) => {
      const t = this.meta.t0 + (event.offsetX / this.width) * (this.meta.t1 - this.meta.t0),
        half = (this.view.end - this.view.start) / 2;
      this.set(t - half, t + half);
    });
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = {
        ArrowLeft: () => this.step(-1),
        ArrowRight: () => this.step(1),
        ArrowUp: () => this.stepLane(-1),
        ArrowDown: () => this.stepLane(1),
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
        Enter: () =>
          this.chosen &&
          this.open({
            mark: this.chosen,
            lane: this.rows.find(({ lane }) => lane.spans.includes(this.chosen))?.lane ?? { kind: "span" },
          }),
        Escape: () => this.forget(),
      }[event.key];
      if (act) {
        event.preventDefault();
        event.stopPropagation();
        act();
      }
    });
  }

  // The spans in order of time, the single ones of those visible: what a keyboard walks through.
  walk() {
    return this.rows
      .flatMap(({ lane }) => (lane.kind === "counter" ? [] : lane.spans.map((span) => ({ lane, span }))))
      .filter(({ span }) => span[S.end] >= this.view.start && span[S.start] <= this.view.end && span[S.n] === 1)
      .sort((a, b) => a.span[S.start] - b.span[S.start] || a.span[S.end] - b.span[S.end]);
  }
  // Whether the search of the toolbar and the chosen row of the table leave a span as it is.
  fits(span, lane) {
    const { call } = this.state;
    if (call && !`${span[S.label]} ${span[S.target] ?? ""}`.toLowerCase().includes(call)) return false;
    return !this.only || this.only(span, lane);
  }
  found() {
    return this.state.call ? this.walk().filter(({ span, lane }) => this.fits(span, lane)) : [];
  }
  step(by, visible = this.walk()) {
    if (!visible.length) return;
    const at = visible.findIndex(({ span }) => span === this.chosen);
    const next = visible[(at + by + visible.length) % visible.length];
    this.pick({ mark: next.span, lane: next.lane });
    this.showTip({ mark: next.span, lane: next.lane });
  }

  // To the nearest span of the lane above or below.
  stepLane(by) {
    const visible = this.walk(),
      at = this.rows.findIndex(({ lane }) => lane.spans.includes(this.chosen)),
      from = this.chosen?.[S.start] ?? this.view.start;
    for (let k = at < 0 && by < 0 ? this.rows.length - 1 : at + by; k >= 0 && k < this.rows.length; k += by) {
      const own = visible.filter(({ lane }) => lane === this.rows[k].lane);
      if (!own.length) continue;
      const next = own.reduce((a, b) =>
        Math.abs(b.span[S.start] - from) < Math.abs(a.span[S.start] - from) ? b : a,
      );
      this.pick({ mark: next.span, lane: next.lane });
      this.showTip({ mark: next.span, lane: next.lane });
      return;
    }
  }
  get pointed() {
    return typeof this.cross === "number" ? this.t(this.cross) : undefined;
  }
  // The lane of the chosen span, else the one under the pointer, goes to the top, or back to its place.
  pin() {
    const lane = this.rows.find((row) => row.lane.spans.includes(this.chosen))?.lane ?? this.at;
    if (!lane) return;
    const key = laneKey(lane),
      choice = this.room.lanesOf(this.meta.frame),
      pinned = choice.pin ?? [];
    const pin = pinned.includes(key) ? pinned.filter((one) => one !== key) : [...pinned, key];
    this.room.setLanes(this.meta.frame, { ...choice, pin });
    window.exhibit.say(`${lane.label} is ${pin.includes(key) ? "pinned" : "back in its place"}.`);
  }

  // A chosen mark shows its exact lines in the panel.
  pick(found) {
    if (!found) return;
    const counter = found.lane.kind === "counter";
    this.chosen = counter ? null : found.mark;
    this.mark = null;
    this.say(describe(found.lane, found.mark));
    const said = found.lane.hrefs?.[found.mark[S.from]]; // what people said has its own page
    if (said) {
      const link = text("a", "Open");
      link.href = said;
      this.strip.append(link);
      this.panel.hidden = true;
      this.draw();
      return;
    }
    const at = counter
      ? [found.mark[C.artifact], found.mark[C.line], found.mark[C.line]]
      : [found.mark[S.artifact], found.mark[S.from], found.mark[S.to]];
    this.state.span = { frame: this.meta.frame, at };
    this.state.range = null;
    this.room.remember();
    this.only = this.bands = null;
    const [start, end] = [found.mark[S.start], found.mark[S.end]];
    if (!counter && end > start) {
      this.mark = { start, end };
      this.showCalls();
    } else this.calls.replaceChildren();
    this.show(this.quoted, `${this.state.spans}?${new URLSearchParams({ artifact: at[0], from: at[1], to: at[2] })}`);
    this.draw();
  }

  // `bands`: only calls whose durations lie between two bands of the heat map.
  select(start, end, bands = null) {
    if (this.meta.frame === "people") return; // what people said is no evidence with calls and lines
    this.bands = bands;
    this.tip.hidden = true;
    this.strip.hidden = true;
    this.mark = { start, end };
    this.chosen = null;
    this.only = bands && ((span) => bands[0] <= bandOf(span[S.worst]) && bandOf(span[S.worst]) <= bands[1]);
    this.state.span = null;
    this.state.range = { frame: this.meta.frame, start, end, bands };
    this.room.remember();
    this.quoted.replaceChildren();
    this.showCalls();
    this.draw();
  }

  // The table of what is selected, with what can be done with it.
  async showCalls() {
    const { start, end } = this.mark;
    const words = rangeWords(this.meta, this.mark);
    await this.show(
      this.calls,
      `${this.state.calls}?${new URLSearchParams({
        frame: this.meta.frame,
        from: start,
        to: end,
        ...(this.bands && { band: this.bands.join("-") }),
      })}`,
    );
    window.exhibit?.say(`Selected ${words}.`);
    const head = this.calls.querySelector(".tl-selected");
    if (!head) return;
    const fit = button("Zoom here"),
      copy = button("Copy link"),
      drop = button("Forget it"),
      save = make("details", "menu");
    fit.addEventListener("click", () => this.set(start, end));
    copy.dataset.copyText = location.href;
    drop.addEventListener("click", () => this.forget());
    save.append(text("summary", "Save"), saveLinks(this, this.room));
    head.append(fit, copy, save, drop);
  }

  // A row of the table chooses its calls in the picture: the others turn pale.
  choose(row) {
    const again = row.classList.contains("on");
    for (const one of row.parentElement.children) {
      one.classList.toggle("on", one === row && !again);
      one.querySelector("[data-choose]").setAttribute("aria-pressed", String(one === row && !again));
    }
    const { by, name, target, lane: thread, host, band } = row.dataset;
    const same = {
      call: (span) => span[S.label].replace(/ waits$/, "") === name && (span[S.target] ?? "") === target,
      target: (span) => (span[S.target] ?? "") === target,
      thread: (_, lane) => lane.label === thread && (lane.host ?? "") === host,
      host: (_, lane) => (lane.host ?? "") === host,
      duration: (span) => bandOf(span[S.worst]) === Number(band),
    }[by];
    this.only = again ? null : (span, lane) => ["syscalls", "sqlnet"].includes(lane.lane) && same(span, lane);
    this.draw();
  }

  forget() {
    this.mark = null;
    this.chosen = null;
    this.only = this.bands = null;
    this.strip.hidden = true;
    this.panel.hidden = true;
    this.tip.hidden = true;
    if (this.state.range?.frame === this.meta.frame) this.state.range = null;
    if (this.state.span?.frame === this.meta.frame) this.state.span = null;
    this.room.remember();
    this.draw();
  }

  async show(place, url) {
    place.dataset.url = url;
    place.setAttribute("aria-busy", "true");
    if (!place.childElementCount) place.replaceChildren(text("p", "Looking it up …", "meta"));
    this.panel.hidden = false;
    this.room.tell();
    try {
      const answer = await fetch(url, { headers: { "HX-Request": "true" }, credentials: "same-origin" });
      const html = await answer.text();
      if (place.dataset.url !== url) return;
      if (answer.ok) place.innerHTML = html;
      else
        place.replaceChildren(
          text(
            "p",
            answer.status === 409
              ? "This artifact is not read yet."
              : `This could not be looked up: the server answered ${answer.status}.`,
            "meta",
          ),
        );
      window.htmx?.process(place);
      this.panel.dataset.shown = String(Number(this.panel.dataset.shown ?? 0) + 1);
    } catch {
      if (place.dataset.url === url)
        place.replaceChildren(
          text("p", "This could not be looked up: the connection was lost. Select it again.", "meta"),
        );
    } finally {
      place.removeAttribute("aria-busy");
    }
  }

  async toggleArrows(control) {
    if (this.arrows) this.arrows = null;
    else {
      try {
        const data = await fetchJson(`${this.state.waits}?${new URLSearchParams({ frame: this.meta.frame })}`);
        this.arrows = data.waits;
        if (data.elsewhere.length) this.say(data.elsewhere.join(" "));
        else if (!this.arrows.length) this.say("No wait of this frame was followed to whoever was waited for.");
      } catch (error) {
        this.say(`The waits could not be fetched${because(error)}.`);
      }
    }
    control.setAttribute("aria-pressed", String(Boolean(this.arrows)));
    control.textContent = this.arrows ? "Hide waits" : "Show waits";
    this.draw();
  }

  hover(event) {
    const found = this.hit(event);
    this.canvas.classList.toggle("tl-over", Boolean(found));
    this.at = this.rows.find(({ top, high }) => top <= event.offsetY && event.offsetY < top + high)?.lane;
    this.showTip(found, event.offsetX);
    if (this.at?.kind === "heat") this.showCell(event);
    this.cross = event.offsetX;
    this.repaint();
  }
  showCell(event) {
    const row = this.rows.find(({ lane }) => lane === this.at),
      band = bandAt(row, event.offsetY),
      column = Math.floor(((this.t(event.offsetX) - this.at.start) / (this.at.end - this.at.start)) * this.at.columns);
    const n = this.at.cells.find(([x, own]) => x === column && own === band)?.[2] ?? 0;
    const edge = (k) => seconds(1e-5 * 10 ** (k / 2));
    const upTo = band === BANDS - 1 ? "and more" : `to ${edge(band + 1)}`,
      long = band ? `${edge(band)} ${upTo}` : `under ${edge(1)}`;
    const lines = [long, `${plural(n, "call")} here`, "Click to choose the row"];
    this.showTip({ lane: this.at, lines }, event.offsetX);
  }
  // Beside the pointer, or at its span for the keyboard; below the span, or above it near the window's foot.
  showTip(found, x) {
    const row = found && this.rows.find(({ lane }) => lane === found.lane);
    this.tip.hidden = !row;
    if (!row) return;
    const [head, ...more] = found.lines ?? tipLines(this, found.lane, found.mark);
    this.tip.replaceChildren(text("b", head), ...more.map((words) => text("span", words)));
    const left = this.canvas.offsetLeft + (x ?? Math.max(0, this.x(found.mark[S.start]))) + 12;
    const below = this.canvas.offsetTop + row.top + row.high + 2;
    const over = this.canvas.offsetTop + row.top - this.tip.offsetHeight - 2;
    const foot = this.section.getBoundingClientRect().top + below + this.tip.offsetHeight;
    this.tip.style.left = `${Math.max(4, Math.min(left, this.section.clientWidth - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${foot > innerHeight ? over : below}px`;
  }

  linesUrl(artifact, from, to) {
    return `${this.state.lines.replace("/0/", `/${artifact}/`)}#${from === to ? `L${to}` : `L${from}-L${to}`}`;
  }

  open(found) {
    if (!found) return;
    const m = found.mark,
      said = found.lane.hrefs?.[m[S.from]];
    location.assign(
      said ??
        (found.lane.kind === "counter"
          ? this.linesUrl(m[C.artifact], m[C.line], m[C.line])
          : this.linesUrl(m[S.artifact], m[S.from], m[S.to])),
    );
  }

  say(message) {
    this.strip.hidden = false;
    this.strip.setAttribute("role", "status");
    this.strip.replaceChildren(document.createTextNode(`${message} `));
  }

  fillTable() {
    const rows = this.rows.flatMap(({ lane }) =>
      lane.kind === "counter"
        ? lane.samples.map((mark) => ({ lane, mark, size: 0 }))
        : lane.spans.map((mark) => ({ lane, mark, size: mark[S.worst] })),
    );
    const spans = rows
      .filter(({ lane }) => lane.kind !== "counter")
      .sort((a, b) => b.size - a.size)
      .slice(0, 50);
    const counters = this.rows
      .filter(({ lane }) => lane.kind === "counter" && lane.samples.length)
      .map(({ lane }) => ({ lane, mark: lane.samples.reduce((a, b) => (b[C.high] > a[C.high] ? b : a)) }));
    const table = make("table");
    table.append(
      text(
        "caption",
        `The ${spans.length} longest of what is drawn${counters.length ? ", and each counter at its highest" : ""}`,
      ),
    );
    const head = table.appendChild(make("thead")).appendChild(make("tr"));
    for (const name of ["Strip", "What", "Size", "Lines"]) {
      const th = text("th", name);
      th.scope = "col";
      head.append(th);
    }
    const body = table.appendChild(make("tbody"));
    for (const { lane, mark } of [...spans, ...counters]) {
      const tr = body.appendChild(make("tr")),
        counter = lane.kind === "counter";
      const link = text("a", lane.hrefs ? "open" : counter ? `line ${mark[C.line]}` : lineRange(mark));
      link.href = lane.hrefs
        ? lane.hrefs[mark[S.from]]
        : counter
          ? this.linesUrl(mark[C.artifact], mark[C.line], mark[C.line])
          : this.linesUrl(mark[S.artifact], mark[S.from], mark[S.to]);
      const cell = make("td");
      cell.append(link);
      const what = counter
        ? "highest"
        : mark[S.n] > 1
          ? `${plural(mark[S.n], "call")}, the longest ${mark[S.label]}`
          : [mark[S.label], mark[S.target]].filter(Boolean).join(" ");
      const size = counter
        ? `${Number(mark[C.high].toPrecision(4))} ${lane.unit}`
        : mark[S.worst] > 0
          ? lengthOf(mark)
          : "";
      tr.append(text("td", lane.label), text("td", what), text("td", size), cell);
    }
    this.table.replaceChildren(table);
  }
}
