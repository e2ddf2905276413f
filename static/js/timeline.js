// The timeline: one frame for each clock, strips on canvas, thinned by the server for the visible window.
// Everything drawn can also be read as a table, and reached with the keyboard. Parts: timeline/*.js.

import { choose } from "./timeline/chooser.js";
import { Frame } from "./timeline/frame.js";
import { because, debounce, fetchJson, plural, rangeWords } from "./timeline/words.js";

const root = document.querySelector("[data-timeline]");
if (root) start(root);

function start(root) {
  const frames = new Map();
  const box = root.querySelector("[data-frames]");
  const { url, lines, calls, spans, waits, offers, keep, picture, rows, request } = root.dataset;
  const state = {
    url,
    lines,
    calls,
    spans,
    waits,
    offers,
    keep,
    picture,
    rows,
    request,
    mayShare: root.dataset.share === "true",
    selected: null,
    span: null,
    range: null,
    lanes: {},
    counters: new URL(location.href).searchParams.get("counters") !== "off",
    call: "",
  };
  const bar = root.querySelector("[role=toolbar]"),
    find = bar.querySelector("[data-call]");
  const tool = (name) => bar.querySelector(`[data-tool=${name}]`);
  let chosen = fromAddress("lanes"); // a link's lanes go before what was kept
  const room = {
    state,
    lanesOf: (name) => state.lanes[name] ?? {},
    setLanes(name, choice) {
      const filled = Object.fromEntries(Object.entries(choice).filter(([, list]) => list?.length));
      const next = { ...state.lanes };
      if (Object.keys(filled).length) next[name] = filled;
      else delete next[name];
      state.lanes = chosen = next;
      frames.get(name)?.resize();
      room.remember();
    },
    query(values, name) {
      const query = new URLSearchParams(values);
      const choices = name ? [room.lanesOf(name)] : Object.values(state.lanes);
      for (const kind of ["add", "hide"])
        for (const lane of new Set(choices.flatMap((one) => one[kind] ?? [])))
          if (kind === "add" || (name && !lane.includes("|"))) query.append(kind, lane);
      return query;
    },
    frames,
    remember() {
      remember(frames, state, chosen);
      room.tell();
    },
    reload: () => load(),
    get active() {
      const drawn = [...frames.values()].filter((frame) => frame.meta.axis !== "value");
      return drawn.find((frame) => frame === state.active) ?? drawn[0] ?? [...frames.values()][0];
    },
    // The toolbar acts on the frame that was touched last, and says what it shows.
    activate(frame) {
      state.active = frame;
      room.tell();
      room.remember();
    },
    tell() {
      const frame = room.active,
        axes = [...frames.values()].filter((one) => one.meta.axis !== "value");
      for (const one of frames.values()) one.section.classList.toggle("active", axes.length > 1 && one === frame);
      if (!frame) return;
      const words = frame.meta.axis === "value" ? "" : rangeWords(frame.meta, frame.view);
      const place = bar.querySelector("[data-range]");
      place.textContent = words;
      place.title = words && `${frame.meta.title}: ${words}`;
      tool("table").setAttribute("aria-pressed", String(frame.tabled));
      tool("counters").hidden = !axes.some((one) => one.lanes.some((lane) => lane.kind === "counter"));
      tool("counters").setAttribute("aria-pressed", String(state.counters));
    },
  };
  const tools = {
    fit: () => frames.forEach((frame) => frame.fit()),
    in: () => room.active?.zoom(0.5),
    out: () => room.active?.zoom(2),
    counters() {
      state.counters = !state.counters;
      frames.forEach((frame) => frame.resize());
      room.tell();
      room.remember();
    },
    table: () => room.active?.toggleTable(),
    lanes: () => room.active && choose(room.active, room),
    again: () => load(),
  };

  const load = async () => {
    root.setAttribute("aria-busy", "true");
    try {
      const width = Math.max(320, Math.round(box.clientWidth - 140));
      if (chosen) state.lanes = chosen;
      let data = await fetchJson(`${url}?${room.query({ px: width })}`);
      if (!chosen && data.layouts) {
        state.lanes = data.layouts.mine ?? data.layouts.room ?? {};
        if (Object.values(state.lanes).some((one) => one.add?.length))
          data = await fetchJson(`${url}?${room.query({ px: width })}`);
      }
      const seen = new Set();
      for (const meta of data.frames) {
        seen.add(meta.frame);
        const known = frames.get(meta.frame);
        if (known) known.update(meta);
        else frames.set(meta.frame, new Frame(box, meta, room));
      }
      for (const [name, frame] of frames)
        if (!seen.has(name)) {
          frame.remove();
          frames.delete(name);
        }
      // A frame that came later takes its place: the toolbar acts on the first.
      if ([...frames.keys()].join() !== [...seen].join())
        for (const name of seen) {
          const frame = frames.get(name);
          frames.delete(name);
          frames.set(name, frame);
          box.append(frame.section);
        }
      restore(frames);
      root.querySelector("[data-empty]").hidden = data.frames.length > 0;
      bar.hidden = root.querySelector(".tl-foot").hidden = !data.frames.length;
      room.tell();
      root.querySelector("[data-count]").textContent = data.frames.length
        ? `${plural(data.frames.length, "frame")}, ${plural(data.rows, "row")}`
        : "";
      root.querySelector("[data-error]").hidden = true;
      root.dataset.painted = "true";
    } catch (error) {
      const strip = root.querySelector("[data-error]");
      strip.hidden = false;
      strip.querySelector("[data-message]").textContent = because(error);
    } finally {
      root.removeAttribute("aria-busy");
    }
  };

  root.addEventListener("click", (event) => {
    const note = event.target.closest("[data-range-note]");
    const form = document.getElementById("note-new");
    if (note && form && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      const { clock, from, to } = note.dataset;
      document.body.dispatchEvent(
        new CustomEvent("timeline:range", { detail: { clock, from: Number(from), to: Number(to) } }),
      );
      return;
    }
    tools[event.target.closest("[data-tool]")?.dataset.tool]?.();
  });
  find.addEventListener("input", () => {
    state.call = find.value.trim().toLowerCase();
    frames.forEach((frame) => frame.draw());
  });
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    const all = [...frames.values()],
      from = Math.max(0, all.indexOf(room.active));
    const next = [...all.slice(from), ...all.slice(0, from)].find((frame) => frame.found().length);
    if (!next) window.exhibit.say(`No call like ${find.value} is drawn.`);
    else next.step(event.shiftKey ? -1 : 1, next.found());
  });
  // Letters act on the frame that was touched last, outside of fields, and only while they are switched on.
  const letters = {
    w: () => room.active.zoom(0.5, room.active.pointed),
    s: () => room.active.zoom(2, room.active.pointed),
    a: () => room.active.pan(-0.1),
    d: () => room.active.pan(0.1),
    A: () => room.active.pan(-1),
    D: () => room.active.pan(1),
    f: () => find.focus(),
    0: tools.fit,
    ".": () => room.active.mark && room.active.set(room.active.mark.start, room.active.mark.end),
    m: () => room.active.select(room.active.view.start, room.active.view.end),
    p: () => room.active.pin(),
    t: tools.table,
    c: () => tool("counters").hidden || tools.counters(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || !room.active) return;
    if (event.target.closest("input, textarea, select, [contenteditable], dialog") || bar.hidden) return;
    if (room.active.meta.axis === "value" || !window.exhibit.letters() || !Object.hasOwn(letters, event.key)) return;
    event.preventDefault();
    letters[event.key]();
  });
  // A finding chosen in the column is brought out here; new evidence redraws.
  document.body.addEventListener("finding:selected", (event) => {
    state.selected = event.detail?.key ?? null;
    frames.forEach((frame) => frame.draw());
  });
  // The drawer says when its thing was, and leads there without leaving the page.
  document.body.addEventListener("timeline:go", (event) => {
    const { clock, from, to, words } = event.detail;
    if (goTo(frames, clock, from, to)) window.exhibit.say(`The timeline shows ${words}.`);
  });
  const again = debounce(load, 300);
  for (const kind of ["verdict", "note", "case", "layout", "decision", "entry"])
    document.body.addEventListener(`room:${kind}`, again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => frames.forEach((f) => f.draw()));
  new MutationObserver(() => frames.forEach((f) => f.draw())).observe(document.documentElement, {
    attributes: true,
    attributeFilter: ["data-theme"],
  });
  new ResizeObserver(debounce(() => frames.forEach((f) => f.resize()), 120)).observe(box);
  addEventListener("popstate", () => restore(frames));
  addEventListener("hashchange", () => toHash(frames));
  load().then(() => {
    state.active = frames.get(new URL(location.href).searchParams.get("frame"));
    room.tell();
    picked(frames);
    toHash(frames);
  });
}

// The address holds view, lanes and selection: a copied link opens the same picture.
function remember(frames, state, chosen) {
  const views = [];
  for (const [name, frame] of frames) {
    if (frame.view.start !== frame.meta.t0 || frame.view.end !== frame.meta.t1)
      views.push(`${name}:${frame.view.start.toFixed(6)},${frame.view.end.toFixed(6)}`);
  }
  const url = new URL(location.href);
  const put = (name, value) => (value ? url.searchParams.set(name, value) : url.searchParams.delete(name));
  put("view", views.join(";"));
  put("sel", state.range ? `${state.range.frame}:${state.range.start.toFixed(6)},${state.range.end.toFixed(6)}` : "");
  put("band", state.range?.bands?.join("-"));
  put("frame", state.active && frames.size > 1 ? state.active.meta.frame : "");
  put("span", state.span ? `${state.span.frame}:${state.span.at.join(",")}` : "");
  put("counters", state.counters ? "" : "off");
  put("lanes", chosen && Object.keys(chosen).length ? JSON.stringify(chosen) : "");
  history.replaceState(history.state, "", url);
}
function pairs(name) {
  return (new URL(location.href).searchParams.get(name) ?? "")
    .split(";")
    .filter(Boolean)
    .map((part) => {
      const at = part.lastIndexOf(":");
      return [
        part.slice(0, at),
        part
          .slice(at + 1)
          .split(",")
          .map(Number),
      ];
    })
    .filter(([, numbers]) => numbers.every(Number.isFinite));
}
function restore(frames) {
  for (const [name, [from, to]] of pairs("view")) if (to > from) frames.get(name)?.set(from, to, { push: false });
}
function picked(frames) {
  const bands = new URL(location.href).searchParams.get("band")?.split("-").map(Number);
  for (const [name, [from, to]] of pairs("sel"))
    if (to > from) frames.get(name)?.select(from, to, bands?.every(Number.isInteger) ? bands : null);
  for (const [name, at] of pairs("span")) {
    const frame = frames.get(name);
    if (!frame || at.length !== 3) continue;
    for (const { lane } of frame.rows)
      for (const mark of lane.spans)
        if (mark[4] === at[0] && mark[5] === at[1] && mark[6] === at[2]) {
          frame.pick({ mark, lane });
          return;
        }
    const asked = new URLSearchParams({ artifact: at[0], from: at[1], to: at[2] });
    frame.show(frame.quoted, `${frame.state.spans}?${asked}`);
  }
}
// Where a note on a time leads back to: #clock=1.1:1&from=9.5&to=11.25
function toHash(frames) {
  const said = new URLSearchParams(location.hash.slice(1));
  if (said.get("clock") && said.has("from"))
    goTo(frames, said.get("clock"), Number(said.get("from")), Number(said.get("to")));
}
// Show a stretch of a clock and bring its frame into view; false where no frame has that clock.
function goTo(frames, clock, from, to) {
  if (!(to >= from)) return false;
  for (const frame of frames.values()) {
    const own = frame.meta.clocks.find((one) => one.clock === clock);
    if (!own || frame.meta.axis === "order") continue;
    const start = from + own.shift,
      end = to + own.shift,
      margin = Math.max((end - start) * 0.1, 1e-3);
    if (frame.meta.axis !== "value") {
      frame.set(start - margin, end + margin);
      frame.mark = { start, end };
      frame.draw();
    }
    frame.section.scrollIntoView({ block: "center" });
    return true;
  }
  return false;
}
function fromAddress(name) {
  try {
    const said = JSON.parse(new URL(location.href).searchParams.get(name) ?? "null");
    return said && typeof said === "object" && !Array.isArray(said) ? said : null;
  } catch {
    return null;
  }
}
