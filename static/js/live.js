// What the room hears. One stream per browser: the tab that holds the lock listens, the others hear it from that tab.
// Every event becomes `room:<kind>` on the body, and the parts of the page that hang on it fetch themselves again.
(() => {
  "use strict";
  const { stream, slug, seq, here } = document.body.dataset;
  if (!stream) return;
  const KINDS = [
    "artifact",
    "finding",
    "verdict",
    "note",
    "dispute",
    "decision",
    "action",
    "entry",
    "review",
    "update",
    "request",
    "query",
    "summary",
    "case",
    "members",
    "room",
    "layout",
    "export",
    "notice",
    "presence",
    "progress",
    "late",
    "reload",
  ];
  const channel = "BroadcastChannel" in window ? new BroadcastChannel("exhibit:" + slug) : null;
  const light = document.getElementById("live");
  const strip = document.getElementById("lost");
  let last = Number(seq) || 0;
  let off = 0;

  function show(connected) {
    if (connected) {
      setTimeout(look, 300, light.dataset.state !== "on");
      clearTimeout(off);
      off = 0;
      light.dataset.state = "on";
      light.textContent = "live";
      strip.hidden = true;
    } else if (!off) {
      // every failed attempt comes here: the clock of the first one counts
      off = setTimeout(() => {
        light.dataset.state = "off";
        light.textContent = "not live";
        strip.hidden = false;
      }, 1500);
    }
  }
  // Which page this person looks at, for the others: told by the tab in front, anew when the stream begins anew.
  let told = "";
  function look(again) {
    // The search of a room has an address of its own, outside the room: whoever looks at it is in the room.
    const inside = location.pathname.startsWith(`/rooms/${slug}/`) ? location.pathname : `/rooms/${slug}/`;
    if (!here || document.hidden || (!again && told === inside)) return;
    told = inside;
    const headers = {
      "X-CSRFToken": JSON.parse(document.body.getAttribute("hx-headers") || "{}")["X-CSRFToken"] || "",
    };
    fetch(here, {
      method: "POST",
      headers,
      body: new URLSearchParams({ path: told }),
      credentials: "same-origin",
    }).catch(() => {
      told = "";
    });
  }
  function everything() {
    for (const kind of KINDS.slice(0, KINDS.indexOf("progress")))
      document.body.dispatchEvent(new CustomEvent("room:" + kind, { detail: {} }));
  }
  function hear(message) {
    if (message.ask) return;
    if (message.state !== undefined) return show(message.state);
    if (message.gone) return void location.reload();
    if (message.seq) {
      if (message.seq <= last) return;
      if (message.seq > last + 1) {
        last = message.seq;
        return everything();
      }
      last = message.seq;
    }
    if (message.kind === "reload") return everything();
    if (message.kind === "late") return show(!message.what.late);
    document.body.dispatchEvent(new CustomEvent("room:" + message.kind, { detail: message.what || {} }));
  }
  function tell(message) {
    hear(message);
    channel?.postMessage(message);
  }
  async function gone() {
    try {
      const answer = await fetch(location.href, { method: "HEAD", credentials: "same-origin", redirect: "manual" });
      return answer.type === "opaqueredirect" || answer.status === 404 || answer.status === 403;
    } catch {
      return false;
    }
  }
  function listen() {
    const source = new EventSource(`${stream}?after=${last}`);
    source.onopen = () => tell({ state: true });
    source.onerror = async () => {
      tell({ state: false });
      if (await gone()) {
        source.close();
        tell({ gone: true });
      } else if (source.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
    };
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        let what = {};
        try {
          what = JSON.parse(event.data || "{}");
        } catch {
          what = {};
        }
        const numbered = !["presence", "progress", "late", "reload"].includes(kind);
        tell({ kind, what, seq: numbered ? Number(event.lastEventId) || 0 : 0 });
        if (kind === "reload") last = Number(event.lastEventId) || last;
      });
    }
    source.addEventListener("gone", () => {
      source.close();
      tell({ gone: true });
    });
    addEventListener("offline", () => tell({ state: false }));
    addEventListener("online", () => {
      if (source.readyState === EventSource.OPEN) tell({ state: true });
    });
    addEventListener("pagehide", () => source.close());
  }
  if (channel) channel.onmessage = (event) => hear(event.data);
  if (channel && navigator.locks) {
    let leads = false;
    navigator.locks.request("exhibit:" + slug, () => {
      leads = true;
      listen();
      return new Promise(() => {});
    });
    channel.addEventListener("message", (event) => {
      if (leads && event.data.ask) channel.postMessage({ state: light.dataset.state === "on" });
    });
    channel.postMessage({ ask: true });
  } else {
    listen();
  }
  document.addEventListener("visibilitychange", () => look(true));
  document.body.addEventListener("htmx:pushedIntoHistory", () => look());
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
})();
