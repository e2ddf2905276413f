// Every page: marks that scripts run, keeps the chosen theme and the reader's zone, shows times in the reader's zone,
// copies, says refusals.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  const cookie = (name, value) => {
    const secure = location.protocol === "https:" ? ";secure" : "";
    document.cookie = `${name}=${value};path=/;max-age=${value ? 31536000 : 0};samesite=lax${secure}`;
  };
  // Forms show and take times in the reader's zone (incidents/content/moments.py).
  cookie("zone", Intl.DateTimeFormat().resolvedOptions().timeZone || "");
  const same = (a, b) => a.toDateString() === b.toDateString();

  function zone(time) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime()) || time.dataset.shown) return;
    const clock = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", hour12: false }).format(at);
    const day = new Intl.DateTimeFormat([], {
      day: "numeric",
      month: "short",
      ...(at.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" }),
    }).format(at);
    const form = time.dataset.form;
    const raw = time.title;
    const full = new Intl.DateTimeFormat([], { dateStyle: "medium", timeStyle: "long" }).format(at);
    if (form === "both") {
      // Readers in UTC see the raw stamp alone; the others see their own time first and the raw one in brackets.
      if (at.getTimezoneOffset()) {
        const beside = document.createElement("span");
        beside.className = "meta";
        beside.textContent = ` (${raw})`;
        const exact = { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };
        time.textContent = `${day} ${new Intl.DateTimeFormat([], exact).format(at)}`;
        time.append(beside);
      }
    } else {
      time.textContent = form === "time" && same(at, new Date()) ? clock : `${day} ${clock}`;
    }
    time.title = `${full} (${raw})`;
    time.dataset.shown = "1";
  }
  const times = (part) => part.querySelectorAll?.("time[datetime]").forEach(zone);

  function refuse(text) {
    const strip = document.getElementById("refused");
    if (!strip) return;
    strip.textContent = text;
    strip.hidden = !text;
    if (text)
      setTimeout(() => {
        if (strip.textContent === text) strip.hidden = true;
      }, 12000);
  }
  function say(text) {
    const place = document.getElementById("said");
    if (place) place.textContent = text;
  }
  async function copy(text, button) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say("Copied");
    const old = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = old;
    }, 1500);
  }
  window.exhibit = {
    times,
    refuse,
    say,
    csrf: () => JSON.parse(document.body.getAttribute("hx-headers") || "{}")["X-CSRFToken"] || "",
  };

  document.addEventListener("DOMContentLoaded", () => {
    times(document);
    // On a phone the names of the pages are a row that scrolls: the page that is open is in sight.
    const here = document.querySelector('.top .pages [aria-current="page"]');
    here?.parentElement.scrollTo(here.offsetLeft - (here.parentElement.clientWidth - here.offsetWidth) / 2, 0);
    document.addEventListener("click", async (event) => {
      const theme = event.target.closest("[data-theme-set]");
      if (theme) {
        const value = theme.dataset.themeSet;
        if (value) root.dataset.theme = value;
        else delete root.dataset.theme;
        cookie("theme", value);
        return;
      }
      const text = event.target.closest("[data-copy-text]");
      if (text) return void copy(text.dataset.copyText, text);
      const link = event.target.closest("a[data-copy]");
      if (link && !event.metaKey && !event.ctrlKey) {
        event.preventDefault();
        const answer = await fetch(link.href, { credentials: "same-origin" });
        if (answer.ok) copy(await answer.text(), link);
        else refuse("That could not be copied: the server answered " + answer.status + ".");
      }
      const opener = event.target.closest("[data-open]");
      if (opener) {
        const box = document.getElementById(opener.dataset.open);
        if (box) {
          event.preventDefault();
          box.open = true;
          box.querySelector("textarea, input:not([type=hidden])")?.focus();
          box.scrollIntoView({ block: "nearest" });
        }
      }
      document.querySelectorAll("details.menu[open]").forEach((menu) => {
        if (!menu.contains(event.target) || (event.target.closest("a, button") && !event.target.closest("summary")))
          menu.open = false;
      });
    });
    // What somebody unfolded stays unfolded when the part around it is fetched again.
    let unfolded = [];
    document.body.addEventListener("htmx:beforeSwap", (event) => {
      unfolded = [...(event.detail.target?.querySelectorAll?.("details[data-stays][open]") || [])].map(({ id }) => id);
    });
    document.body.addEventListener("htmx:afterSwap", () => {
      for (const id of unfolded.splice(0)) document.getElementById(id)?.setAttribute("open", "");
    });
    document.body.addEventListener("htmx:afterSettle", (event) => times(event.detail.elt));
    document.body.addEventListener("htmx:oobAfterSwap", (event) => times(event.detail.target));
    document.body.addEventListener("htmx:responseError", (event) => {
      const page = new DOMParser().parseFromString(event.detail.xhr.responseText || "", "text/html");
      const words = page.querySelector("[data-refusal]")?.textContent.trim();
      refuse(words || `The server answered ${event.detail.xhr.status}. What you typed is still here.`);
    });
    document.body.addEventListener("htmx:sendError", () =>
      refuse("The server could not be reached. What you typed is still here; try again when the connection is back."),
    );
  });
})();
