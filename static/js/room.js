// The room: the drawer, glow of what changed, people now here, progress of readings, nothing moves under a caret.
(() => {
  "use strict";
  const { times, say } = window.exhibit;
  const body = document.body;
  const columns = document.querySelector(".columns");
  const drawer = document.getElementById("drawer");
  let waiting = new Set();

  // A part that somebody types in is fetched again once the caret has left it; half-written text is never swapped away.
  function typedIn(part) {
    const active = document.activeElement;
    if (active && part.contains(active) && active.matches("input, textarea, select")) return true;
    return [...part.querySelectorAll("textarea")].some((area) => area.value !== area.defaultValue);
  }
  body.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, target, requestConfig } = event.detail;
    if (requestConfig.verb !== "get" || !requestConfig.triggeringEvent?.type?.startsWith("room:")) return;
    const part = target || elt;
    if (part.id !== "judged" && typedIn(part)) {
      event.preventDefault();
      waiting.add(requestConfig.triggeringEvent.type);
    }
  });
  document.addEventListener("focusout", () =>
    setTimeout(() => {
      const kinds = waiting;
      waiting = new Set();
      kinds.forEach((kind) => body.dispatchEvent(new CustomEvent(kind)));
    }, 300),
  );

  // What changed glows once, told by the text of each row before and after.
  function words(row) {
    const copy = row.cloneNode(true);
    copy.querySelectorAll("time").forEach((time) => time.remove()); // written anew in the reader's zone
    return copy.textContent.replace(/\s+/g, " ");
  }
  const texts = () =>
    new Map(
      [...document.querySelectorAll(".claim[id], .observation[id], .note[id], tbody[id^=artifact-]")].map((row) => [
        row.id,
        words(row),
      ]),
    );
  let before = texts();
  let verdict = document.querySelector("#verdict .say")?.textContent;
  function glow() {
    const now = texts();
    for (const [id, text] of now) {
      if (before.get(id) !== text && !id.endsWith("-")) {
        const row = document.getElementById(id);
        row?.classList.remove("glow");
        void row?.offsetWidth;
        row?.classList.add("glow");
      }
    }
    before = now;
    const sentence = document.querySelector("#verdict .say")?.textContent;
    if (sentence && sentence !== verdict) {
      verdict = sentence;
      say([sentence, document.getElementById("changed")?.textContent].filter(Boolean).join(". "));
    }
  }
  let soon = 0;
  const settle = () => {
    clearTimeout(soon);
    soon = setTimeout(glow, 60);
  };
  body.addEventListener("htmx:afterSettle", settle);
  body.addEventListener("htmx:oobAfterSwap", settle);

  // The drawer.
  function mark(id) {
    const key = id?.slice(id.indexOf("-") + 1);
    document.querySelectorAll(".findings .on").forEach((row) => row.classList.remove("on"));
    document.querySelectorAll(".findings [aria-current]").forEach((link) => link.removeAttribute("aria-current"));
    const row = id && document.getElementById(id);
    row?.classList.add("on");
    row?.querySelector("a")?.setAttribute("aria-current", "true");
    const judged = document.getElementById("judged");
    if (judged)
      judged.setAttribute("hx-get", judged.getAttribute("hx-get").split("?")[0] + (key ? "?selected=" + key : ""));
    body.dispatchEvent(new CustomEvent("finding:selected", { detail: { key: key || null } }));
  }
  body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target !== drawer) return;
    columns.classList.add("chosen");
    columns.classList.remove("shut");
    mark(drawer.querySelector("[data-row]")?.dataset.row);
    times(drawer);
    say(drawer.querySelector("h2")?.textContent ?? "");
    if (getComputedStyle(columns.firstElementChild).display === "none") scrollTo({ top: 0 }); // a page of its own
  });
  function close() {
    if (!drawer || !columns || columns.classList.contains("shut")) return;
    columns.classList.remove("chosen");
    columns.classList.add("shut");
    history.replaceState(null, "", document.querySelector('nav a[data-key="r"]').href);
    document.querySelector(".findings .on a")?.focus();
  }
  body.addEventListener("drawer:close", close);
  document.addEventListener("click", (event) => {
    if (event.target.closest("#drawer-close") && columns) {
      event.preventDefault();
      close();
    }
  });

  // Swapping the column or the verdict keeps the focus and what is unfolded.
  let focused = "";
  const unfolded = new Map();
  body.addEventListener("htmx:oobBeforeSwap", (event) => {
    const part = event.detail.target;
    if (part.id === "findings") focused = document.activeElement?.closest?.(".claim, .observation")?.id || "";
    part.querySelectorAll("details[id]").forEach((one) => unfolded.set(one.id, one.open));
  });
  body.addEventListener("htmx:oobAfterSwap", () => {
    for (const [id, open] of unfolded) {
      const one = document.getElementById(id);
      if (one) one.open = open;
    }
    if (focused) document.querySelector(`#${CSS.escape(focused)} a`)?.focus();
    focused = "";
  });

  // The compact line takes the keyboard's focus only while it can be seen, which is when the verdict's foot has left.
  const watch =
    document.getElementById("verdict") &&
    new IntersectionObserver(
      (seen) => {
        const line = document.getElementById("vline");
        if (line) line.inert = seen[seen.length - 1].isIntersecting;
      },
      { rootMargin: "-40px 0px 0px 0px" },
    );
  function watched() {
    watch.disconnect();
    watch.observe(document.getElementById("verdict"));
  }
  if (watch) {
    watched();
    body.addEventListener("htmx:oobAfterSwap", watched);
  }

  // A phone shows three of what the evidence shows until somebody asks for the others.
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-whole]")) return;
    columns.classList.add("whole");
    document.querySelector(".shows > ol > .observation:nth-child(4) .t > a")?.focus();
  });

  // "all" unfolds what the page holds already.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-unfold]");
    const part = link && document.getElementById(link.dataset.unfold);
    if (!part) return;
    event.preventDefault();
    part.open = true;
    part.querySelector("summary").focus();
  });

  // Progress of a reading, without fetching the row.
  const begun = new Map();
  const size = (bytes) =>
    bytes < 1e6
      ? `${Math.max(1, Math.round(bytes / 1e3))} kB`
      : bytes < 1e9
        ? `${(bytes / 1e6).toFixed(0)} MB`
        : `${(bytes / 1e9).toFixed(1)} GB`;
  // The time left by the speed since this page first heard of the reading; nothing before two signals.
  function left(artifact, bytes, total) {
    const first = begun.get(artifact);
    if (!first || bytes < first.bytes) {
      begun.set(artifact, { bytes, at: performance.now() });
      return "";
    }
    const speed = (bytes - first.bytes) / (performance.now() - first.at);
    if (!(speed > 0) || !total) return "";
    const seconds = (total - bytes) / speed / 1000;
    return seconds < 90 ? `about ${Math.ceil(seconds)} s left` : `about ${Math.ceil(seconds / 60)} min left`;
  }
  const thin = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u2009");
  body.addEventListener("room:progress", (event) => {
    const { artifact, lines, bytes, bytes_total: total } = event.detail;
    document.querySelectorAll(`[data-progress="${CSS.escape(String(artifact))}"]`).forEach((place) => {
      place.hidden = false;
      const bar = place.querySelector("progress");
      if (bar && total) {
        bar.max = total;
        bar.value = bytes;
      }
      const words = place.querySelector("[data-words]");
      if (words)
        words.textContent = [
          `${thin(lines)} lines read`,
          total ? `${size(bytes)} of ${size(total)}, ${Math.floor((100 * bytes) / total)} %` : "",
          left(artifact, bytes, total),
        ]
          .filter(Boolean)
          .join(", ");
    });
  });
})();
