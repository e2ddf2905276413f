// The tour of a sample room: leads over the page along the steps that the page lists (room/_tour.html). It begins only
// when somebody asks for it. Keys act on the tour alone while it runs; Escape ends it.
(() => {
  "use strict";
  const place = document.getElementById("tour");
  if (!place) return;
  const { say } = window.exhibit;
  const HIDDEN = `exhibit:tour-hidden:${document.body.dataset.me}`;
  let tour = null;
  let began = null;

  place.hidden = localStorage.getItem(HIDDEN) !== null;

  function load(element) {
    return new Promise((done, failed) => {
      element.addEventListener("load", done);
      element.addEventListener("error", () => failed(new Error("The tour could not be loaded. Try again.")));
      document.head.append(element);
    });
  }
  async function library() {
    if (window.driver) return;
    const [style, script] = [document.createElement("link"), document.createElement("script")];
    style.rel = "stylesheet";
    style.href = place.dataset.style;
    script.src = place.dataset.script;
    await Promise.all([load(style), load(script)]);
  }
  // Where a part is not in sight, as the drawer on a phone, the step shows what leads there (data-else). A step with
  // neither is left out.
  const seen = (place) => place && [...document.querySelectorAll(place)].find((part) => part.offsetParent);
  const steps = () =>
    [...place.querySelectorAll("li[data-at]")]
      .map((step) => [step, seen(step.dataset.at) ?? seen(step.dataset.else)])
      .filter(([, part]) => part)
      .map(([step, element]) => ({
        element,
        popover: {
          title: step.querySelector("b").textContent,
          description: step.querySelector("span").innerHTML,
        },
      }));

  async function start(button) {
    if (tour) return;
    try {
      await library();
    } catch (error) {
      window.exhibit.refuse(error.message);
      return;
    }
    began = button;
    tour = window.driver.js.driver({
      steps: steps(),
      animate: !matchMedia("(prefers-reduced-motion: reduce)").matches,
      allowKeyboardControl: false,
      disableActiveInteraction: true,
      popoverClass: "tour",
      showProgress: true,
      progressText: "{{current}} of {{total}}",
      nextBtnText: "Next",
      prevBtnText: "Back",
      doneBtnText: "End",
      onPopoverRender({ wrapper }) {
        wrapper.setAttribute("aria-modal", "true");
        wrapper.querySelector(".driver-popover-close-btn").setAttribute("aria-label", "End the tour");
      },
      onHighlighted(element, { popover }) {
        // It says that each part opens the box, which is not so: the person did.
        for (const name of ["aria-haspopup", "aria-expanded", "aria-controls"]) element.removeAttribute(name);
        const box = document.querySelector(".driver-popover");
        box?.querySelector(".driver-popover-next-btn").focus();
        say(`${popover.title} ${box?.querySelector(".driver-popover-description").textContent ?? ""}`);
      },
      onDestroyed() {
        tour = null;
        removeEventListener("keydown", keys, true);
        (began?.offsetParent ? began : document.getElementById("main")).focus();
      },
    });
    addEventListener("keydown", keys, true);
    tour.drive();
  }
  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    const buttons = [...document.querySelectorAll(".driver-popover button")].filter(
      (one) => one.offsetParent && !one.disabled,
    );
    const at = buttons.indexOf(document.activeElement);
    const moves = {
      Escape: () => tour.destroy(),
      ArrowRight: () => tour.moveNext(),
      ArrowLeft: () => tour.hasPreviousStep() && tour.movePrevious(),
      Tab: () => buttons[(at + (event.shiftKey ? -1 : 1) + buttons.length) % buttons.length]?.focus(),
    };
    if (!Object.hasOwn(moves, event.key)) return;
    event.preventDefault();
    moves[event.key]();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-tour]");
    if (!button) return;
    if (button.dataset.tour === "hide") {
      localStorage.setItem(HIDDEN, "1");
      place.hidden = true;
      say("Hidden. The list of keys, question mark, starts the tour again.");
      document.getElementById("main").focus();
      return;
    }
    button.closest("dialog")?.close();
    start(button);
  });
})();
