// Notes: what others write appears in its thread at once, `#` and `@` are completed, a range becomes a note's place.
(() => {
  "use strict";
  const body = document.body;
  const { slug, me, completeUrl, notesUrl } = body.dataset;
  if (!slug) return;
  const { times, say } = window.exhibit;

  // --- what others write ---
  const PREFIX = { finding: "f-", lines: "m-", range: "r-" };
  const words = (part) => {
    const copy = part.cloneNode(true);
    copy.querySelectorAll("time, form").forEach((child) => child.remove());
    return copy.textContent.replace(/\s+/g, " ").trim();
  };
  function renamed(thread, prefix) {
    const copy = thread.cloneNode(true);
    if (prefix) {
      for (const part of [copy, ...copy.querySelectorAll("[id], [for]")]) {
        if (part.id) part.id = prefix + part.id;
        if (part.htmlFor) part.htmlFor = prefix + part.htmlFor;
      }
    }
    return copy;
  }
  function come(part, glows) {
    window.htmx.process(part);
    times(part);
    window.exhibit.drafts?.begin(part);
    if (glows) part.classList.add("glow");
  }
  const typedIn = (part) =>
    [...part.querySelectorAll("textarea")].some((area) => area.value !== area.defaultValue) ||
    part.querySelector("[data-editing]");
  // Note by note, so that nothing under the caret or the focus is swapped away.
  function mend(old, fresh) {
    const list = old.querySelector(".thread-notes");
    for (const note of fresh.querySelectorAll("[data-note]")) {
      const there = list.querySelector(`[data-note="${note.dataset.note}"]`);
      if (there?.matches("form") || there?.contains(document.activeElement)) continue;
      const changed = !there || words(there) !== words(note);
      if (there && !changed) continue;
      if (there) there.replaceWith(note);
      else list.append(note);
      come(note, true);
    }
  }
  function belongs(thread, place) {
    const [kind, of] = [place.split(":")[0], place.slice(place.indexOf(":") + 1)];
    if (kind === "room") return true;
    if (kind === "finding") return thread.dataset.finding === of;
    if (kind === "lines") return thread.dataset.sha === of;
    const [sha, first, last] = of.split(":");
    const [from, to] = (thread.dataset.lines || "").split(":").map(Number);
    return kind === "range" && thread.dataset.sha === sha && from <= last && to >= first;
  }
  function counted(section, by) {
    const place = section.querySelector("[data-count]");
    if (place) place.textContent = Math.max((Number(place.textContent) || 0) + by, 0);
  }
  function put(section, thread) {
    const kind = section.dataset.notes.split(":")[0];
    const old = section.querySelector(`[data-thread="${thread.dataset.thread}"]`);
    const fresh = renamed(thread, PREFIX[kind]);
    if (old) {
      if (kind === "thread" || typedIn(old) || old.contains(document.activeElement)) return mend(old, fresh);
      if (words(old) === words(fresh) && old.className === fresh.className) return;
      fresh.querySelectorAll("details").forEach((box, i) => {
        const was = old.querySelectorAll("details")[i];
        if (was && box.className === was.className) box.open = was.open;
      });
      const before = words(old);
      old.replaceWith(fresh);
      return come(fresh, before !== words(fresh));
    }
    const list = section.querySelector("[data-threads]");
    if (!list || !belongs(thread, section.dataset.notes)) return;
    list.querySelector("[data-none]")?.remove();
    list.append(fresh);
    counted(section, 1);
    come(fresh, true);
  }
  async function patch(id) {
    const sections = [...document.querySelectorAll("[data-notes]")];
    if (!sections.length) return;
    let html;
    try {
      const answer = await fetch(`${notesUrl}${id}/thread/`, {
        headers: { "HX-Request": "true" },
        credentials: "same-origin",
      });
      if (!answer.ok) return;
      html = (await answer.text()).trim();
    } catch {
      return; // the stream says so, and everything is fetched again when it is back
    }
    if (!html) {
      document.querySelectorAll(`[data-thread="${id}"]`).forEach((thread) => {
        if (typedIn(thread)) return;
        counted(thread.closest("[data-notes]") || body, -1);
        thread.remove();
      });
      return;
    }
    const box = document.createElement("template");
    box.innerHTML = html;
    const thread = box.content.querySelector("[data-thread]");
    if (thread)
      sections.forEach((section) => {
        if (section.isConnected) put(section, thread);
      });
  }
  // After a gap in the news: each list once more, as threads, so that what is typed in one stays.
  async function all() {
    for (const section of document.querySelectorAll("[data-notes][data-list]")) {
      try {
        const answer = await fetch(section.dataset.list, {
          headers: { "HX-Request": "true" },
          credentials: "same-origin",
        });
        if (!answer.ok) continue;
        const box = document.createElement("template");
        box.innerHTML = await answer.text();
        const fresh = [...box.content.querySelectorAll("[data-thread]")];
        const ids = new Set(fresh.map((thread) => thread.dataset.thread));
        section.querySelectorAll("[data-thread]").forEach((thread) => {
          if (!ids.has(thread.dataset.thread) && !typedIn(thread)) thread.remove();
        });
        fresh.forEach((thread) => {
          thread.id = thread.id.replace(/^[fmr]-/, "");
          put(section, thread);
        });
        const n = box.content.querySelector("[data-count]")?.textContent;
        const place = section.querySelector("[data-count]");
        if (n && place) place.textContent = n;
      } catch {
        return;
      }
    }
  }
  const queue = new Set();
  let soon = 0;
  body.addEventListener("room:note", (event) => {
    const { object, version } = event.detail || {};
    if (object === undefined) return void all();
    const editing = document.querySelector(`[data-editing="${CSS.escape(String(object))}"]`);
    if (
      editing &&
      Number(editing.querySelector("[name=version]")?.value) < version &&
      !editing.classList.contains("htmx-request") &&
      !editing.querySelector(".meanwhile")
    ) {
      const line = document.createElement("p");
      line.className = "told meanwhile";
      line.setAttribute("role", "status");
      line.textContent =
        "This note was changed while you write. Go on: when you save, you see both texts and nothing is lost.";
      editing.prepend(line);
    }
    queue.add(object);
    clearTimeout(soon);
    soon = setTimeout(() => {
      const ids = [...queue];
      queue.clear();
      ids.forEach(patch);
    }, 60);
  });

  // --- the bell ---
  let rang = Date.now();
  const ring = () => {
    rang = Date.now();
    body.dispatchEvent(new CustomEvent("bell"));
  };
  body.addEventListener("room:notice", (event) => {
    if (event.detail?.object === undefined || String(event.detail.object) === me) ring();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && Date.now() - rang > 60_000) ring();
  });

  // --- a range of the timeline or a lane becomes the place of a note ---
  function placeWords({ clock, t_from, t_to, lane, lane_label }) {
    const said = lane ? [`on lane ${lane_label || lane}`] : [];
    if (clock) said.push(`${said.length ? "clock" : "on clock"} ${clock}`);
    if (t_from) said.push(`${Number(t_from).toFixed(3)} to ${Number(t_to).toFixed(3)} s`);
    return said.join(", ");
  }
  function placed(form, place) {
    for (const name of ["clock", "t_from", "t_to", "lane", "lane_label"])
      if (form.elements[name]) form.elements[name].value = place[name] ?? "";
    const range = form.querySelector("[data-note-range]");
    if (!range) return;
    range.querySelector("span").textContent = placeWords(place);
    range.hidden = !placeWords(place);
  }
  body.addEventListener("timeline:range", (event) => {
    const box = document.getElementById("note-new");
    if (!box) return;
    const { clock, from, to, lane, label } = event.detail;
    placed(box.querySelector("form"), { clock, t_from: from, t_to: to, lane, lane_label: label });
    box.open = true;
    box.querySelector("textarea").focus();
  });
  document.addEventListener("draft:restored", (event) => {
    if (event.target.querySelector("[data-note-range]")) placed(event.target, event.detail);
  });
  document.addEventListener("click", (event) => {
    const form = event.target.closest("[data-no-range]")?.closest("form");
    if (form) {
      placed(form, {});
      form.querySelector("textarea").focus();
    }
  });

  // --- completion of # and @ ---
  const list = document.createElement("ul");
  list.id = "completion";
  list.className = "completion";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  list.tabIndex = 0; // it scrolls
  list.hidden = true;
  let field = null;
  let active = -1;
  let asked = 0;
  let timer = 0;
  const typed = (area) =>
    area.selectionStart === area.selectionEnd
      ? /(?:^|[\s(,;])([#@])([\p{L}\p{N}_.:+–-]{0,60})$/u.exec(area.value.slice(0, area.selectionStart))
      : null;
  function shut() {
    clearTimeout(timer);
    asked++;
    if (list.hidden) return;
    list.hidden = true;
    field?.removeAttribute("aria-activedescendant");
    field?.removeAttribute("aria-controls");
  }
  function point(at) {
    const rows = [...list.children];
    active = (at + rows.length) % rows.length;
    rows.forEach((row, i) => row.setAttribute("aria-selected", String(i === active)));
    rows[active].scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", rows[active].id);
  }
  function pick(row) {
    const match = typed(field);
    if (!match) return shut();
    const end = field.selectionStart;
    const start = end - match[2].length - 1;
    const text = row.dataset.insert + (/^\s/.test(field.value.slice(end)) ? "" : " ");
    field.setRangeText(text, start, end, "end");
    shut();
    field.focus();
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }
  function show(area, offers) {
    if (!offers.length) return shut();
    field = area;
    list.replaceChildren(
      ...offers.map((offer, i) => {
        const row = document.createElement("li");
        row.id = `completion-${i}`;
        row.setAttribute("role", "option");
        row.dataset.insert = offer.insert;
        const title = document.createElement("span");
        title.textContent = offer.text;
        const detail = document.createElement("span");
        detail.className = "meta";
        detail.textContent = offer.detail;
        row.append(title, detail);
        return row;
      }),
    );
    area.after(list);
    area.parentElement.classList.add("completes");
    list.hidden = false;
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-controls", "completion");
    point(0);
    say(`${offers.length} suggestion${offers.length === 1 ? "" : "s"}: arrow keys choose, Enter takes, Escape closes`);
  }
  async function ask(area, sign, q) {
    const mine = ++asked;
    try {
      const answer = await fetch(`${completeUrl}?${new URLSearchParams({ sign, q })}`, {
        headers: { Accept: "application/json" },
        credentials: "same-origin",
      });
      if (!answer.ok || mine !== asked) return;
      const { offers } = await answer.json();
      if (mine !== asked || document.activeElement !== area) return;
      if (sign === "#") {
        const known = new Set(offers.map((offer) => offer.insert));
        for (const { lane, label } of window.exhibit.lanes?.() || []) {
          const insert =
            label && label !== lane ? `#lane(${lane}|${label.replace(/[()|\n]/g, " ")})` : `#lane(${lane})`;
          if (offers.length < 24 && !known.has(insert) && (label || lane).toLowerCase().includes(q.toLowerCase()))
            offers.push({ insert, text: label || lane, detail: "lane", kind: "lane" });
        }
      }
      show(area, offers);
    } catch {
      shut();
    }
  }
  document.addEventListener("input", (event) => {
    const area = event.target;
    if (!area.matches?.("textarea[data-complete]")) return;
    const match = typed(area);
    if (!match || event.isComposing) return shut();
    clearTimeout(timer);
    timer = setTimeout(() => ask(area, match[1], match[2]), 120);
  });
  document.addEventListener(
    "keydown",
    (event) => {
      if (list.hidden || event.target !== field) return;
      const act = {
        ArrowDown: () => point(active + 1),
        ArrowUp: () => point(active - 1),
        Enter: () => pick(list.children[active]),
        Tab: () => pick(list.children[active]),
        Escape: shut,
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      act();
    },
    true,
  );
  list.addEventListener("mousedown", (event) => {
    const row = event.target.closest("[role=option]");
    event.preventDefault();
    if (row) pick(row);
  });
  document.addEventListener("focusout", (event) => {
    if (event.target === field)
      setTimeout(() => {
        if (document.activeElement !== field) shut();
      }, 100);
  });
})();
