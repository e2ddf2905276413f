// The lines page: scrolls over millions of lines, fetching chunks as they come into view.
// A line has one height; above the tallest element a browser can make, the scroll position is scaled.
(() => {
  "use strict";
  const viewer = document.getElementById("viewer");
  if (!viewer) return;
  const { count: counted, url, artifact, masks: masksUrl } = viewer.dataset;
  const growing = "growing" in viewer.dataset;
  let count = Number(counted);
  const HEIGHT = 20;
  const CHUNK = 400;
  const TALLEST = 12_000_000;
  const KEPT = 60;
  const tall = document.createElement("div");
  const chunks = new Map();
  const words = new Map();
  let full = count * HEIGHT;
  let height = Math.min(full, TALLEST);
  let chosen = null;
  let frame = 0;

  const room = () => viewer.clientHeight || 600;
  const scale = () => (full <= TALLEST ? 1 : (full - room()) / Math.max(height - room(), 1));
  const top = () => viewer.scrollTop * scale();

  async function fetchChunk(number) {
    if (chunks.has(number)) return;
    chunks.set(number, null);
    const first = number * CHUNK + 1;
    try {
      const answer = await fetch(`${url}?from=${first}&to=${Math.min(first + CHUNK - 1, count)}`, {
        credentials: "same-origin",
      });
      if (!answer.ok) throw new Error(String(answer.status));
      const part = await answer.json();
      for (const [word, meaning] of Object.entries(part.words)) words.set(word, meaning);
      chunks.set(number, part);
    } catch {
      chunks.delete(number);
      setTimeout(draw, 2000);
      return;
    }
    if (chunks.size > KEPT) {
      const here = Math.floor(top() / HEIGHT / CHUNK);
      for (const key of [...chunks.keys()]
        .sort((a, b) => Math.abs(b - here) - Math.abs(a - here))
        .slice(0, chunks.size - KEPT))
        chunks.delete(key);
    }
    draw();
  }
  // A line with its masks: each says on hover and focus what it hides and how long that is.
  function lineText(line) {
    const place = document.createElement("span");
    place.className = "text";
    let at = 0;
    for (const mask of line.masks || []) {
      gloss(place, line.text.slice(at, mask.from));
      const hidden = document.createElement("span");
      hidden.className = mask.lifted ? "mask lifted" : "mask";
      hidden.tabIndex = 0;
      hidden.title = mask.words;
      hidden.setAttribute("role", "note");
      hidden.setAttribute("aria-label", mask.words);
      hidden.textContent = line.text.slice(mask.from, mask.to);
      place.append(hidden);
      at = mask.to;
    }
    gloss(place, line.text.slice(at));
    return place;
  }
  // All words that are known so far, the longest first: names may hold blanks, dots and hyphens.
  let sought = null;
  function pattern() {
    if (sought?.size === words.size) return sought.found;
    const all = [...words.keys()]
      .sort((a, b) => b.length - a.length)
      .map((word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
    sought = {
      size: words.size,
      found: all.length ? new RegExp(`(?<![\\w$])(?:${all.join("|")})(?![\\w$])`, "g") : null,
    };
    return sought.found;
  }
  function gloss(place, text) {
    const known = pattern();
    let at = 0;
    for (const match of known ? text.matchAll(known) : []) {
      const [href, meaning, kind, source] = words.get(match[0]);
      place.append(text.slice(at, match.index));
      const word = document.createElement("span");
      word.className = "gloss";
      word.textContent = match[0];
      Object.assign(word.dataset, { help: meaning, kind, source, more: href });
      place.append(word);
      at = match.index + match[0].length;
    }
    if (at < text.length) place.append(text.slice(at));
  }
  const inside = (ranges, n) => ranges.filter((range) => range.from <= n && n <= range.to);
  function lineAt(n) {
    const chunk = chunks.get(Math.floor((n - 1) / CHUNK));
    return chunk ? { chunk, line: chunk.lines[n - chunk.from] } : null;
  }
  function row(n, y) {
    const element = document.createElement("div");
    element.className = "line";
    element.id = "L" + n;
    element.style.top = y + "px";
    const number = document.createElement("a");
    number.className = "no";
    number.href = "#L" + n;
    number.textContent = n;
    number.tabIndex = -1;
    element.append(number);
    const there = lineAt(n);
    if (!there || !there.line) {
      element.classList.add("wait");
      const blank = document.createElement("span");
      blank.className = "text";
      element.append(blank);
      return element;
    }
    element.append(lineText(there.line));
    const part = inside(there.chunk.parts, n)[0];
    if (!part && there.chunk.parts.length) element.classList.add("outside");
    if (part?.from === n) {
      element.classList.add("begins");
      element.dataset.part = `part ${part.part}: ${part.kind}`;
    }
    if (inside(there.chunk.cited, n).length) element.classList.add("cited");
    if (inside(there.chunk.notes, n).length) element.classList.add("noted");
    const state = inside(there.chunk.read, n)[0];
    if (state) {
      element.classList.add(state.kind);
      element.title = `${state.kind}: ${state.text || "not read as a row"}`;
    }
    if (chosen && chosen[0] <= n && n <= chosen[1]) element.classList.add("chosen");
    return element;
  }
  function draw() {
    const first = Math.max(Math.floor(top() / HEIGHT) - 8, 0);
    const last = Math.min(first + Math.ceil(room() / HEIGHT) + 16, count);
    for (let chunk = Math.floor(first / CHUNK); chunk <= Math.floor(Math.max(last - 1, 0) / CHUNK); chunk++)
      fetchChunk(chunk);
    const offset = viewer.scrollTop - top();
    const rows = [];
    for (let n = first + 1; n <= last; n++) rows.push(row(n, (n - 1) * HEIGHT + offset));
    tall.replaceChildren(...rows);
    explain();
  }
  function later() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(draw);
  }
  function go(n, smooth) {
    const wanted = Math.max((n - 1) * HEIGHT - room() / 3, 0) / scale();
    viewer.scrollTo({ top: wanted, behavior: smooth ? "smooth" : "auto" });
  }
  function parse(hash) {
    const match = /^#L(\d+)(?:-L?(\d+))?$/.exec(hash);
    if (!match) return null;
    const from = Math.min(Number(match[1]), count);
    const to = Math.min(Number(match[2] || match[1]), count);
    return [Math.min(from, to), Math.max(from, to)];
  }
  function choose(range, keep) {
    chosen = range;
    const borders = document.getElementById("borders");
    if (borders && range) {
      borders.elements.line_from.value = range[0];
      borders.elements.line_to.value = range[1];
    }
    const form = document.getElementById("line-note");
    if (form) {
      form.hidden = !range;
      if (range) {
        form.querySelector("[name=line_from]").value = range[0];
        form.querySelector("[name=line_to]").value = range[1];
        form.querySelector("[data-range]").textContent =
          range[0] === range[1] ? `line ${range[0]}` : `lines ${range[0]} to ${range[1]}`;
      }
    }
    if (range && !keep) go(range[0]);
    draw();
  }

  // What the chosen line says: words with their meaning, how it was read, what cites it, notes on it.
  let told = "";
  function explain() {
    const place = document.getElementById("explain");
    if (!place || !chosen) return;
    const there = lineAt(chosen[0]);
    if (!there?.line) return;
    const stamp = JSON.stringify([
      chosen[0],
      there.chunk.notes.length,
      words.size,
      there.line.masks,
      there.chunk.parts.length,
    ]);
    if (told === stamp || place.querySelector("textarea")?.value) return;
    told = stamp;
    place.replaceChildren();
    const head = (text) => {
      const h = document.createElement("h2");
      h.textContent = text;
      place.append(h);
    };
    const line = (text, cls) => {
      const p = document.createElement("p");
      if (cls) p.className = cls;
      p.textContent = text;
      place.append(p);
      return p;
    };
    head(`Line ${chosen[0]}`);
    const state = inside(there.chunk.read, chosen[0])[0];
    line(
      state ? `${state.kind}${state.text ? ": " + state.text : ""}` : "read: it gave a row or belongs to one",
      "meta",
    );
    const part = inside(there.chunk.parts, chosen[0])[0];
    if (part)
      line(
        [`part ${part.part}, lines ${part.from}–${part.to}: ${part.kind}`, part.host, part.phase]
          .filter(Boolean)
          .join(", "),
        "meta",
      );
    else if (there.chunk.parts.length) line("prose: outside of every part", "meta");
    if (there.line.masks?.length) {
      head("Masked on it");
      for (const mask of there.line.masks) {
        line(mask.words);
        if (masksUrl) place.append(maskForm(mask));
      }
    }
    const known = [...new Set(pattern() ? there.line.text.match(pattern()) || [] : [])];
    if (known.length) {
      head("Words on it");
      const names = document.createElement("dl");
      for (const word of known) {
        const term = document.createElement("dt");
        const meaning = document.createElement("dd");
        const link = document.createElement("a");
        [link.href, meaning.textContent] = words.get(word);
        link.textContent = word;
        term.append(link);
        names.append(term, meaning);
      }
      place.append(names);
    }
    const cited = inside(there.chunk.cited, chosen[0]);
    if (cited.length) {
      head("Cited by");
      for (const range of cited) {
        const p = line("");
        const link = document.createElement("a");
        link.href = range.href;
        link.textContent = range.headline;
        p.append(link);
      }
    }
    const notes = inside(there.chunk.notes, chosen[0]);
    if (notes.length) {
      head("Notes");
      for (const note of notes) {
        line(note.text);
        line(`${note.author}, ${note.at}`, "meta");
      }
    }
  }

  function maskForm(mask) {
    const form = document.createElement("form");
    form.method = "post";
    form.action = masksUrl;
    form.className = "form";
    const hidden = {
      csrfmiddlewaretoken: window.exhibit.csrf(),
      line: chosen[0],
      begin: mask.place[0],
      end: mask.place[1],
      do: mask.lifted ? "back" : "lift",
    };
    for (const [name, value] of Object.entries(hidden)) {
      const input = document.createElement("input");
      input.type = "hidden";
      input.name = name;
      input.value = value;
      form.append(input);
    }
    const button = document.createElement("button");
    button.className = "small";
    button.textContent = mask.lifted ? "Put the mask back" : "Lift the mask";
    if (!mask.lifted) {
      const label = document.createElement("label");
      label.textContent = "Why must it be seen?";
      const reason = document.createElement("textarea");
      reason.name = "reason";
      reason.required = true;
      reason.rows = 2;
      reason.maxLength = 2000;
      label.append(reason);
      form.append(label);
    }
    const row = document.createElement("div");
    row.append(button);
    form.append(row);
    return form;
  }
  // A reading under way: more lines come, below what is looked at.
  function grow(lines) {
    if (!growing || lines <= count) return;
    chunks.delete(Math.floor(count / CHUNK));
    count = lines;
    full = count * HEIGHT;
    height = Math.min(full, TALLEST);
    tall.style.height = height + "px";
    viewer.classList.toggle("short", full < 560);
    later();
  }
  document.body.addEventListener("room:progress", (event) => {
    if (String(event.detail.artifact) === artifact) grow(event.detail.lines);
  });
  document.body.addEventListener("room:artifact", (event) => {
    const { object } = event.detail;
    if (object !== undefined && String(object) !== artifact) return;
    if (growing) return void location.reload();
    chunks.clear();
    draw();
  });
  document.querySelector(".margin")?.addEventListener("click", (event) => {
    const link = event.target.closest('a[href*="#L"]');
    const range = link && link.pathname === location.pathname ? parse(link.hash) : null;
    if (!range || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    history.replaceState(null, "", link.hash);
    choose(range);
  });
  viewer.classList.toggle("short", full < 560);
  viewer.replaceChildren(tall);
  tall.className = "tall";
  tall.style.height = height + "px";
  viewer.tabIndex = 0;
  viewer.addEventListener("scroll", later, { passive: true });
  addEventListener("resize", later);
  addEventListener("hashchange", () => choose(parse(location.hash)));
  viewer.addEventListener("mousedown", (event) => {
    if (event.shiftKey && chosen) event.preventDefault();
  }); // a range of lines, not of text
  viewer.addEventListener("click", (event) => {
    const line = event.target.closest(".line");
    if (!line || (!event.shiftKey && String(getSelection()).length)) return;
    event.preventDefault();
    const n = Number(line.id.slice(1));
    const range = event.shiftKey && chosen ? [Math.min(chosen[0], n), Math.max(chosen[1], n)] : [n, n];
    history.replaceState(null, "", range[0] === range[1] ? `#L${n}` : `#L${range[0]}-L${range[1]}`);
    choose(range, true);
  });
  viewer.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || !chosen) return;
    event.preventDefault();
    const n = Math.min(Math.max(chosen[0] + by, 1), count);
    history.replaceState(null, "", `#L${n}`);
    const y = (n - 1) * HEIGHT;
    choose([n, n], y >= top() && y <= top() + room() - 2 * HEIGHT);
  });
  document.getElementById("jump")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const n = Math.min(Math.max(Number(new FormData(event.target).get("at")) || 1, 1), count);
    location.hash = "L" + n;
    choose([n, n]);
  });
  document.body.addEventListener("room:note", () => {
    chunks.clear();
    told = "";
    draw();
  });
  document.body.addEventListener("room:finding", () => {
    chunks.clear();
    told = "";
    draw();
  });
  const start =
    parse(location.hash) ||
    (viewer.dataset.at && viewer.dataset.at !== "1" ? [Number(viewer.dataset.at), Number(viewer.dataset.at)] : null);
  choose(start);
  if (start) requestAnimationFrame(() => go(start[0]));
})();
