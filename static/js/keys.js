// Keys: ? lists them, / searches, g and a letter goes to a page, Esc closes; nothing fires while somebody types.
(() => {
  "use strict";
  const typing = (target) => target.closest?.("input, textarea, select, [contenteditable], dialog[open]");
  const list = document.getElementById("keys");
  let prefix = 0;
  // Who speaks to the computer, or strikes keys by chance, switches single letters off (WCAG 2.1.4).
  const off = document.querySelector("[data-letters]");
  const letters = () => localStorage.getItem("letters") !== "off";
  window.exhibit.letters = letters;
  if (off) {
    off.checked = letters();
    off.addEventListener("change", () => localStorage.setItem("letters", off.checked ? "on" : "off"));
  }

  function step(way) {
    const links = [
      ...document.querySelectorAll(".shows > ol .t > a, .findings details[open] :is(.t, .claim) > a, [data-step]"),
    ];
    if (!links.length) return;
    const at = links.findIndex(
      (link) => link === document.activeElement || link.getAttribute("aria-current") === "true",
    );
    const next = links[Math.min(Math.max(at + way, 0), links.length - 1)];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }
  document
    .querySelectorAll("[data-keys]")
    .forEach((button) => button.addEventListener("click", () => list?.showModal()));
  document.addEventListener("keydown", (event) => {
    // Many keyboards make [ and ] with AltGr, which some systems tell as Ctrl and Alt.
    if ((event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph")) return;
    if (event.key === "Escape") {
      if (typing(event.target)) {
        event.target.blur?.();
        return;
      }
      document.querySelectorAll("details.menu[open]").forEach((menu) => {
        menu.open = false;
      });
      document.body.dispatchEvent(new CustomEvent("drawer:close"));
      return;
    }
    if (typing(event.target) || !letters()) return;
    const now = Date.now();
    if (prefix && now - prefix < 1200) {
      prefix = 0;
      const target =
        event.key === "h"
          ? document.querySelector(".logo")
          : document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
      event.preventDefault(); // the letter has had its turn
      if (target) location.href = target.href;
      return;
    }
    const known = {
      "?": () => list?.showModal(),
      "/": () =>
        [...document.querySelectorAll("main input[type=search], main [data-search], input[data-find], .find-small")]
          .find((field) => field.offsetParent)
          ?.focus(),
      g: () => {
        prefix = now;
      },
      j: () => step(1),
      k: () => step(-1),
      u: () => document.getElementById("add")?.click(),
      l: () => document.getElementById("write")?.click(),
      "[": () => document.body.dispatchEvent(new CustomEvent("drawer:tab", { detail: -1 })),
      "]": () => document.body.dispatchEvent(new CustomEvent("drawer:tab", { detail: 1 })),
      v: () => document.getElementById("verdict") && scrollTo({ top: 0 }),
      r: () => document.querySelector("#next button, #next a")?.focus(),
      n: () =>
        (
          document.querySelector('[data-open="note-here"]') ||
          document.querySelector("#note-new > summary, a[href$='/notes/new/']")
        )?.click(),
    };
    const observation = /^[1-7]$/.test(event.key) && document.querySelectorAll(".shows .t > a")[event.key - 1];
    if (observation) {
      event.preventDefault();
      observation.click();
    } else if (Object.hasOwn(known, event.key)) {
      event.preventDefault();
      known[event.key]();
    }
  });
})();
