// Nothing typed is lost: every form with `data-draft` keeps its text in this browser until the server has it.
// A reload, a crash or a lost connection brings it back where it was typed; what could not be sent is sent again
// by itself.
(() => {
  "use strict";
  const { slug, me } = document.body.dataset;
  if (!slug) return;
  const { say } = window.exhibit;
  const PREFIX = `exhibit:draft:${me}:${slug}:`;
  const KEPT_MS = 30 * 24 * 3600 * 1000;
  const SENT = "exhibit:sent";
  const timers = new Map();

  const name = () => {
    if (crypto.randomUUID) return crypto.randomUUID();
    const bytes = crypto.getRandomValues(new Uint8Array(16)); // plain http: no randomUUID there
    return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  };
  const key = (form) => PREFIX + form.dataset.draft;
  const area = (form) => form.querySelector("textarea");
  const hidden = (form) =>
    [...form.querySelectorAll("input[type=hidden]")].filter(
      (input) => !["csrfmiddlewaretoken", "again", "zone"].includes(input.name),
    );
  function stored(at) {
    try {
      return JSON.parse(localStorage.getItem(at));
    } catch {
      return null;
    }
  }
  function home(form) {
    const [kind, rest] = [form.dataset.draft.split("-")[0], form.dataset.draft.split("-").slice(1).join("-")];
    if (kind === "edit" || kind === "reply") return new URL(form.getAttribute("action"), location.href).pathname;
    if (/^[0-9a-f]{16}$/.test(rest)) return `/rooms/${slug}/findings/${rest}/`;
    return location.pathname + (kind === "new" && rest ? location.search : "");
  }
  function keep(form) {
    clearTimeout(timers.get(form));
    timers.delete(form);
    const text = area(form)?.value ?? "";
    const began = form.dataset.began ?? area(form)?.defaultValue ?? "";
    if (!text.trim() || (text === began && !form.hasAttribute("data-merge")))
      return void localStorage.removeItem(key(form));
    const fields = Object.fromEntries(hidden(form).map((input) => [input.name, input.value]));
    put(form, text, fields);
  }
  function put(form, text, fields) {
    try {
      localStorage.setItem(key(form), JSON.stringify({ text, fields, at: Date.now(), href: home(form) }));
    } catch {
      say("This browser has no room left for drafts: what you type is kept in this page only.");
    }
  }
  function forget(form) {
    clearTimeout(timers.get(form));
    timers.delete(form);
    localStorage.removeItem(key(form));
    tellUnsent();
  }
  const later = (form) => {
    clearTimeout(timers.get(form));
    timers.set(
      form,
      setTimeout(() => keep(form), 200),
    );
  };

  const flush = () => [...timers.keys()].forEach(keep);

  function count(form) {
    const text = area(form);
    const most = Number(text?.dataset.most);
    if (!most) return;
    let place = form.querySelector(".count-of");
    const length = text.value.trim().length;
    if (length < most * 0.9) return void place?.remove();
    if (!place) {
      place = document.createElement("p");
      place.className = "meta count-of";
      place.setAttribute("role", "status");
      text.after(place);
    }
    place.classList.toggle("bad", length > most);
    place.textContent =
      `${length.toLocaleString("en")} of ${most.toLocaleString("en")} characters` +
      (length > most ? ": too long to be saved. Add it as evidence and link to it." : "");
  }
  function notice(form, text, button, act) {
    form.querySelector(".restored")?.remove();
    const line = document.createElement("p");
    line.className = "meta restored";
    line.setAttribute("role", "status");
    line.append(text + " ");
    if (button) {
      const doit = document.createElement("button");
      doit.type = "button";
      doit.className = "quiet";
      doit.textContent = button;
      doit.addEventListener("click", () => {
        line.remove();
        act();
      });
      line.append(doit);
    }
    form.prepend(line);
  }
  const clock = (at) =>
    new Intl.DateTimeFormat([], {
      hour: "2-digit",
      minute: "2-digit",
      hour12: false,
      ...(Date.now() - at > 20 * 3600 * 1000 ? { day: "numeric", month: "short" } : {}),
    }).format(at);

  // A form that has just come: its name for what is written, and what was typed into it before.
  function begin(form) {
    const text = area(form);
    if (!text || form.dataset.began !== undefined) return;
    form.dataset.began = form.hasAttribute("data-merge") || form.querySelector(".errorlist") ? "" : text.defaultValue;
    const client = form.querySelector("input[name=client]");
    if (client && !client.value) client.value = name();
    if (form.hasAttribute("data-merge")) {
      keep(form);
      count(form);
      return;
    } // the proposal is what goes on from here
    const draft = stored(key(form));
    if (!draft) return void count(form);
    if (form.querySelector(".errorlist")) {
      keep(form);
      return void count(form);
    } // refused just now: newer than what is kept
    if (text.value !== text.defaultValue && text.value !== draft.text) {
      // somebody types already: nothing is put over that
      notice(form, `There is also what you typed at ${clock(draft.at)}, not sent yet.`, "Put it below", () => {
        text.value += `\n${draft.text}`;
        keep(form);
      });
      return void count(form);
    }
    const clean = text.defaultValue;
    const fields = hidden(form).map((input) => [input, input.value]);
    const there = text.value === draft.text; // the browser itself brought it back
    text.value = draft.text;
    // The version too: it says from which text this one began.
    for (const input of hidden(form))
      if (draft.fields?.[input.name] !== undefined) input.value = draft.fields[input.name];
    if (there && clean === draft.text) return void count(form);
    form.hidden = false;
    for (let box = form.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    form.dispatchEvent(new CustomEvent("draft:restored", { bubbles: true, detail: draft.fields || {} }));
    notice(form, `Restored what you typed at ${clock(draft.at)}; it is not sent yet.`, "Throw it away", () => {
      text.value = clean;
      for (const [input, value] of fields) input.value = input.name === "client" ? name() : value;
      forget(form);
      form.dispatchEvent(new CustomEvent("draft:restored", { bubbles: true, detail: {} }));
    });
    count(form);
  }
  const scan = (part) => {
    part.querySelectorAll?.("form[data-draft]").forEach(begin);
    if (part.matches?.("form[data-draft]")) begin(part);
  };

  // Drafts whose form is not on this page: said at its top, with the way back to each.
  function tellUnsent() {
    document.getElementById("unsent")?.remove();
    const here = new Set([...document.querySelectorAll("form[data-draft]")].map(key));
    const others = [];
    for (let i = 0; i < localStorage.length; i++) {
      const at = localStorage.key(i);
      if (!at.startsWith(PREFIX) || here.has(at)) continue;
      const draft = stored(at);
      if (!draft || Date.now() - draft.at > KEPT_MS) others.push([at, null]);
      else others.push([at, draft]);
    }
    others.filter(([, draft]) => !draft).forEach(([at]) => localStorage.removeItem(at));
    const live = others.filter(([, draft]) => draft?.href);
    if (!live.length) return;
    const strip = document.createElement("div");
    strip.id = "unsent";
    strip.className = "strip";
    strip.setAttribute("role", "status");
    const kinds = {
      edit: "a change of a note",
      reply: "a reply",
      dispute: "a dispute",
      answer: "an answer to a dispute",
      lines: "a note on lines",
      new: "a note",
    };
    live.slice(0, 3).forEach(([at, draft]) => {
      const link = document.createElement("a");
      link.className = "small";
      link.href = draft.href;
      link.textContent = "Go on writing";
      const drop = document.createElement("button");
      drop.type = "button";
      drop.className = "quiet";
      drop.textContent = "Throw away";
      drop.addEventListener("click", () => {
        localStorage.removeItem(at);
        tellUnsent();
      });
      const row = document.createElement("span");
      row.className = "row";
      const words = draft.text.replace(/\s+/g, " ");
      row.append(
        `Not sent yet: ${kinds[at.slice(PREFIX.length).split("-")[0]] || "a text"} from ${clock(draft.at)}, ` +
          `“${words.slice(0, 40)}${words.length > 40 ? "…" : ""}”`,
        link,
        drop,
      );
      strip.append(row);
    });
    document.getElementById("main").prepend(strip);
  }

  // What was typed while the server stored the text before it: the draft of what comes next.
  function rest(form, sent) {
    const typed = area(form)?.value ?? "";
    if (sent === undefined || typed === sent) return "";
    const edits = form.dataset.draft.startsWith("edit-"); // there the whole text is written anew
    const text = !edits && typed.startsWith(sent) ? typed.slice(sent.length).trimStart() : typed;
    if (!text.trim()) return "";
    const fields = Object.fromEntries(
      hidden(form)
        .filter((input) => !["client", "version"].includes(input.name)) // those of what was sent
        .map((input) => [input.name, input.value]),
    );
    put(form, text, fields);
    return text;
  }
  // A form that stays where it is after its text was sent (that of the lines page) is empty for the next one.
  function anew(form, sent) {
    const text = area(form);
    if (!form.isConnected || !text) return;
    form.dataset.began = "";
    text.value = rest(form, sent);
    form.querySelector(".restored")?.remove();
    for (const [field, value] of [
      ["client", name()],
      ["again", ""],
    ])
      if (form.elements[field]) form.elements[field].value = value;
    count(form);
  }

  // --- sending ---
  function waits(form) {
    form.dataset.waiting = "1";
    const again = form.querySelector("input[name=again]");
    if (again) again.value = "on";
    keep(form);
    // What the page says of any lost request would ask for another try by hand.
    setTimeout(() => window.exhibit.refuse(""));
    notice(form, "Not sent: the connection is lost. It is kept here and sent by itself when the connection is back.");
  }
  function retry() {
    document.querySelectorAll("form[data-draft][data-waiting]").forEach((form) => {
      delete form.dataset.waiting;
      form.requestSubmit();
    });
  }
  // The target need not be the form.
  const drafted = (event) => (event.detail.requestConfig?.elt ?? event.detail.elt)?.closest?.("form[data-draft]");
  document.body.addEventListener("htmx:sendError", (event) => {
    const form = drafted(event);
    if (form) waits(form);
  });
  document.body.addEventListener("htmx:timeout", (event) => {
    const form = drafted(event);
    if (form) waits(form);
  });
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    flush(); // the swap may take away what was typed a moment ago
    const form = drafted(event);
    if (form && event.detail.requestConfig?.verb === "post" && event.detail.xhr.status < 300) {
      forget(form);
      const sent = event.detail.requestConfig.parameters?.text;
      rest(form, sent);
      setTimeout(() => anew(form, sent), 100);
    }
  });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    scan(event.detail.elt);
    tellUnsent();
  });
  document.body.addEventListener("htmx:responseError", (event) => {
    const form = drafted(event);
    if (form) keep(form);
  });
  addEventListener("online", () => setTimeout(retry, 500));
  setInterval(() => {
    if (navigator.onLine) retry();
  }, 4000);
  // An ordinary submit leaves the page: whether it arrived shows on the next one.
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-draft]");
    if (form && !form.hasAttribute("hx-post")) {
      keep(form);
      sessionStorage.setItem(SENT, key(form));
    }
  });

  document.addEventListener("input", (event) => {
    const form = event.target.closest?.("form[data-draft]");
    if (form) {
      later(form);
      count(form);
    }
  });
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("form[data-draft]");
    if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  document.addEventListener(
    "click",
    (event) => {
      const form = event.target.closest?.("[data-forget]")?.closest("form[data-draft]");
      if (form) forget(form);
    },
    true,
  );
  addEventListener("pagehide", flush);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) flush();
  });

  const sent = sessionStorage.getItem(SENT);
  sessionStorage.removeItem(SENT);
  if (sent && ![...document.querySelectorAll("form[data-draft]")].some((form) => key(form) === sent))
    localStorage.removeItem(sent);
  scan(document);
  tellUnsent();
  window.exhibit.drafts = { begin: scan };
})();
