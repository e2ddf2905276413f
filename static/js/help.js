// Help beside the thing: what a word means, on hover, keyboard focus or tap. Without it each word is a link to its
// page.
(() => {
  "use strict";
  const DELAY = 180;
  const box = document.createElement("div");
  box.id = "help";
  box.className = "help";
  box.setAttribute("role", "tooltip");
  box.setAttribute("popover", "manual");
  let shown = null;
  let timer = 0;
  let touched = false;

  const of = (target) => target.closest?.("[data-help]");
  function say(tag, cls, text) {
    const part = document.createElement(tag);
    if (cls) part.className = cls;
    part.textContent = text;
    return part;
  }
  function show(word) {
    clearTimeout(timer);
    if (shown === word) return;
    hide();
    shown = word;
    const { help, kind, source } = word.dataset;
    box.replaceChildren(
      say("p", "name", word.dataset.name || word.textContent),
      say("p", "meta", kind || ""),
      say("p", "", help),
    );
    const foot = say("p", "meta", source ? `Source: ${source}` : "");
    if (word.href || word.dataset.more) {
      const more = say("a", "", "More");
      more.href = word.href || word.dataset.more;
      foot.append(" ", more);
    }
    box.append(foot);
    // A dialog that is open covers everything else: the explanation belongs inside.
    (word.closest("dialog[open]") || document.body).append(box);
    box.showPopover();
    place(word);
    word.setAttribute("aria-describedby", "help");
  }
  function place(word) {
    const at = word.getBoundingClientRect();
    const width = box.offsetWidth;
    const left = Math.min(Math.max(at.left, 8), innerWidth - width - 8);
    const below = at.bottom + 4;
    const top =
      below + box.offsetHeight > innerHeight - 8 && at.top - 4 - box.offsetHeight > 8
        ? at.top - 4 - box.offsetHeight
        : below;
    box.style.setProperty("left", `${Math.round(left)}px`);
    box.style.setProperty("top", `${Math.round(top)}px`);
  }
  function hide() {
    clearTimeout(timer);
    if (!shown) return;
    shown.removeAttribute("aria-describedby");
    shown = null;
    if (box.matches(":popover-open")) box.hidePopover();
  }
  function soon(act) {
    clearTimeout(timer);
    timer = setTimeout(act, DELAY);
  }
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const word = of(event.target);
    if (word) soon(() => show(word));
    else if (box.contains(event.target)) clearTimeout(timer);
    else if (shown && shown !== document.activeElement) soon(hide);
  });
  document.addEventListener("pointerdown", (event) => {
    touched = event.pointerType === "touch";
  });
  document.addEventListener("focusin", (event) => {
    if (touched) return;
    const word = of(event.target);
    if (word) show(word);
    else if (!box.contains(event.target)) hide();
  });
  // A finger cannot hover: the first tap explains, the link in the explanation leads on.
  document.addEventListener(
    "click",
    (event) => {
      const word = of(event.target);
      if (word && touched) {
        if (word.href) {
          event.preventDefault();
          event.stopPropagation();
        }
        if (shown === word) hide();
        else show(word);
      } else if (!box.contains(event.target)) hide();
      touched = false;
    },
    true,
  );
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Escape" || !shown) return;
      event.stopPropagation();
      hide();
    },
    true,
  );
  addEventListener(
    "scroll",
    (event) => {
      if (shown && !box.contains(event.target)) hide();
    },
    { capture: true, passive: true },
  );
  // News arrive all the time: an explanation goes only when its word does.
  document.addEventListener("htmx:afterSwap", () => {
    if (shown && !shown.isConnected) hide();
  });
})();
