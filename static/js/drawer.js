// The tabs of the drawer. Without this script they are links to sections under headings. The tab chosen last stays
// chosen for whatever the drawer shows next, in this browser.
(() => {
  "use strict";
  const drawer = document.getElementById("drawer");
  if (!drawer) return;
  const CHOSEN = "exhibit:tab";
  const tabs = () => [...drawer.querySelectorAll(".tabs > a")];
  const panelOf = (tab) => document.getElementById(tab.hash.slice(1));
  const isOn = (tab) => tab.getAttribute("aria-selected") === "true";

  function show(tab) {
    for (const one of tabs()) {
      one.setAttribute("aria-selected", String(one === tab));
      one.tabIndex = one === tab ? 0 : -1;
      panelOf(one).hidden = one !== tab;
    }
    drawer.scrollTop = 0;
  }
  function choose(tab) {
    show(tab);
    localStorage.setItem(CHOSEN, tab.id);
  }
  // Show the tab that holds a part, for a link or button that leads to the part.
  function reveal(id) {
    const part = id && document.getElementById(id);
    const tab = part && tabs().find((one) => panelOf(one).contains(part));
    if (!tab) return;
    if (!isOn(tab)) show(tab);
    part.scrollIntoView({ block: "nearest" });
  }
  // How many notes and disputes there are, and whether a text is half written.
  function count() {
    const place = drawer.querySelector("#tab-discussion i");
    const panel = document.getElementById("see-discussion");
    if (!place || !panel) return;
    const n = [...panel.querySelectorAll("[data-count]")].reduce((sum, one) => sum + Number(one.textContent), 0);
    const half = [...panel.querySelectorAll("textarea")].some((area) => area.value !== area.defaultValue);
    const words = [n || "", half ? "draft" : ""].filter(Boolean).join(", ");
    if (place.textContent !== words) place.textContent = words;
  }
  function begin() {
    const all = tabs();
    if (!all.length) return;
    all[0].parentElement.setAttribute("role", "tablist");
    for (const tab of all) {
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", tab.hash.slice(1));
      panelOf(tab).setAttribute("role", "tabpanel");
      panelOf(tab).setAttribute("aria-labelledby", tab.id);
      panelOf(tab).tabIndex = 0; // a panel may be long and hold nothing else that takes the focus
    }
    show(all.find((tab) => tab.id === localStorage.getItem(CHOSEN)) || all[0]);
    reveal(location.hash.slice(1));
    count();
  }
  function turn(way) {
    const all = tabs();
    if (!all.length || !drawer.offsetParent) return;
    const held = all.includes(document.activeElement);
    const tab = all[(all.findIndex(isOn) + way + all.length) % all.length];
    choose(tab);
    if (held) tab.focus();
    else window.exhibit.say(tab.textContent);
  }

  drawer.addEventListener("click", (event) => {
    const tab = event.target.closest(".tabs > a");
    if (tab) {
      event.preventDefault();
      return choose(tab);
    }
    // On a phone the drawer covers the timeline, and the link leads to the room's page.
    const when = event.target.closest(".when a");
    const timeline = document.querySelector("[data-timeline]");
    if (when && timeline?.offsetParent && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      const { clock, from, to } = when.dataset;
      const detail = { clock, from: Number(from), to: Number(to), words: when.dataset.words };
      document.body.dispatchEvent(new CustomEvent("timeline:go", { detail }));
      return;
    }
    const link = event.target.closest("[data-open], a[href^='#']");
    if (link) reveal(link.dataset.open || link.hash.slice(1));
  });
  drawer.addEventListener("keydown", (event) => {
    if (!event.target.matches(".tabs > a") || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = tabs();
    const at = all.indexOf(event.target);
    const ways = { ArrowLeft: -1, ArrowRight: 1, Home: -at, End: -1 - at };
    if (!Object.hasOwn(ways, event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    turn(ways[event.key]);
  });
  // The height of the dock in a narrow window, in percent of the window's; kept in this browser for each person.
  const grip = document.getElementById("grip");
  const HEIGHT = `exhibit:dock:${document.body.dataset.me}`;
  const [LEAST, MOST, FIRST] = [15, 75, 34];
  function dock(percent, keep = true) {
    const now = Math.round(Math.min(MOST, Math.max(LEAST, percent)));
    grip.parentElement.style.setProperty("--docked", now);
    grip.setAttribute("aria-valuenow", String(now));
    if (keep) localStorage.setItem(HEIGHT, String(now));
  }
  if (grip) {
    dock(Number(localStorage.getItem(HEIGHT)) || FIRST, false);
    grip.addEventListener("pointerdown", (event) => {
      grip.setPointerCapture(event.pointerId);
      event.preventDefault();
      grip.focus();
    });
    grip.addEventListener("pointermove", (event) => {
      if (grip.hasPointerCapture(event.pointerId)) dock((100 * (innerHeight - event.clientY)) / innerHeight);
    });
    grip.addEventListener("dblclick", () => dock(FIRST));
    grip.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const now = Number(grip.getAttribute("aria-valuenow"));
      const heights = {
        ArrowUp: now + 2,
        ArrowDown: now - 2,
        PageUp: now + 10,
        PageDown: now - 10,
        Home: LEAST,
        End: MOST,
        Enter: FIRST,
      };
      if (!Object.hasOwn(heights, event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      dock(heights[event.key]);
    });
  }
  document.body.addEventListener("drawer:tab", (event) => turn(event.detail));
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === drawer) begin();
  });
  addEventListener("hashchange", () => reveal(location.hash.slice(1)));
  drawer.addEventListener("input", count);
  drawer.addEventListener("draft:restored", count);
  new MutationObserver(count).observe(drawer, { childList: true, subtree: true });
  begin();
})();
