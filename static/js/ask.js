// The Ask page: Ctrl+Enter, completion of tables, columns and functions, examples, a stop button,
// the chart of an answer.
(() => {
  "use strict";
  const form = document.getElementById("ask-form");
  const text = document.getElementById("sql");
  if (!form || !text) return;
  const { say } = window.exhibit;
  const offers = document.getElementById("offers");
  const run = document.getElementById("run");
  const stop = document.getElementById("stop");
  const running = document.getElementById("running");
  const KEYWORDS = (
    "select from where group by order by having limit join left join on using with as and or not in is null between" +
    " like case when then else end distinct union all filter over partition by qualify desc asc"
  ).split(" ");
  const client = form.querySelector("[name=client]");
  if (client && crypto.randomUUID) client.value = crypto.randomUUID();

  // --- nothing typed is lost: what did not run yet stays in this browser --------------------------------------------
  const KEY = `exhibit:ask:${document.body.dataset.me}:${document.body.dataset.slug}`;
  try {
    const kept = localStorage.getItem(KEY);
    if (kept && !text.value.trim()) text.value = kept;
  } catch {
    /* a browser that keeps nothing */
  }
  text.addEventListener("input", () => {
    try {
      localStorage.setItem(KEY, text.value);
    } catch {
      /* full: the server keeps what runs */
    }
  });

  // --- completion ---------------------------------------------------------------------------------------------------
  let shown = [],
    at = 0;
  function names() {
    const found = new Map();
    for (const table of document.querySelectorAll("#tables [data-table]")) {
      found.set(table.dataset.table, "table");
      for (const column of table.querySelectorAll("[data-column]")) {
        if (!found.has(column.dataset.column)) found.set(column.dataset.column, table.dataset.table);
      }
    }
    for (const name of text.dataset.functions.split(" ")) if (!found.has(name)) found.set(name, "function");
    for (const name of KEYWORDS) if (!found.has(name)) found.set(name, "");
    return found;
  }
  function word() {
    const before = text.value.slice(0, text.selectionStart);
    return /[A-Za-z_][A-Za-z0-9_]*$/.exec(before)?.[0] ?? "";
  }
  function close() {
    offers.hidden = true;
    shown = [];
    text.removeAttribute("aria-activedescendant");
  }
  function offer() {
    const typed = word().toLowerCase();
    if (typed.length < 2 || text.selectionStart !== text.selectionEnd) return close();
    shown = [...names()].filter(([name]) => name.startsWith(typed) && name !== typed).slice(0, 8);
    if (!shown.length) return close();
    at = 0;
    paint();
  }
  function paint() {
    offers.replaceChildren(
      ...shown.map(([name, kind], number) => {
        const item = document.createElement("li");
        item.id = "offer-" + number;
        item.setAttribute("role", "option");
        item.setAttribute("aria-selected", String(number === at));
        item.append(name);
        const beside = document.createElement("span");
        beside.className = "meta";
        beside.textContent = kind;
        item.append(beside);
        item.addEventListener("mousedown", (event) => {
          event.preventDefault();
          at = number;
          take();
        });
        return item;
      }),
    );
    offers.hidden = false;
    text.setAttribute("aria-activedescendant", "offer-" + at);
  }
  function put(from, to, words) {
    text.focus();
    text.setSelectionRange(from, to);
    // Keeps the browser's own undo, which setting the value would forget.
    if (!document.execCommand("insertText", false, words)) text.setRangeText(words, from, to, "end");
    text.dispatchEvent(new Event("input", { bubbles: true }));
  }
  function take() {
    const [name] = shown[at];
    const end = text.selectionStart;
    put(end - word().length, end, name);
    close();
  }
  text.setAttribute("aria-autocomplete", "list");
  text.setAttribute("aria-controls", "offers");
  text.addEventListener("input", offer);
  text.addEventListener("blur", close);
  text.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      close();
      return void form.requestSubmit(run);
    }
    if (offers.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      at = (at + (event.key === "ArrowDown" ? 1 : shown.length - 1)) % shown.length;
      paint();
    } else if (event.key === "Tab") {
      event.preventDefault();
      take();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (event.key === "Enter") close();
  });

  // --- examples and names -------------------------------------------------------------------------------------------
  document.getElementById("tables").addEventListener("click", (event) => {
    const example = event.target.closest("a[data-example]");
    if (!example || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    put(0, text.value.length, example.dataset.example); // Ctrl+Z brings back what was typed before
    close();
    say("The example stands in the query. Undo brings back what was there.");
    form.requestSubmit(run);
  });

  // --- running and stopping -----------------------------------------------------------------------------------------
  // What keeps the query goes by its own way: htmx would ask it instead.
  form.addEventListener("htmx:confirm", (event) => {
    const by = event.detail.triggeringEvent?.submitter;
    if (by?.hasAttribute("data-plain")) {
      event.preventDefault();
      form.setAttribute("action", by.formAction);
      if (by.name) {
        const said = document.createElement("input");
        said.type = "hidden";
        said.name = by.name;
        form.append(said);
      }
      HTMLFormElement.prototype.submit.call(form);
    }
  });
  let began = 0,
    ticking = 0;
  form.addEventListener("htmx:beforeRequest", (event) => {
    if (event.target !== form) return;
    began = Date.now();
    run.disabled = true;
    stop.hidden = false;
    running.textContent = "Running";
    document.getElementById("answer")?.setAttribute("aria-busy", "true");
    ticking = setInterval(() => {
      const s = Math.round((Date.now() - began) / 1000);
      running.textContent = s > 5 ? `Waiting for its turn or running, ${s} s` : `Running, ${s} s`;
    }, 1000);
  });
  form.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== form) return;
    clearInterval(ticking);
    run.disabled = false;
    stop.hidden = true;
    document.getElementById("answer")?.removeAttribute("aria-busy");
    running.textContent = "";
  });
  stop.addEventListener("click", () => {
    running.textContent = "Stopping";
    fetch(form.dataset.stop, {
      method: "POST",
      credentials: "same-origin",
      headers: { "HX-Request": "true", "X-CSRFToken": form.querySelector("[name=csrfmiddlewaretoken]").value },
    });
  });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.elt?.id !== "answer" && event.target.id !== "answer") return;
    begin();
    document.body.dispatchEvent(new CustomEvent("ask:answered"));
    const problem = document.querySelector("#answer [data-line]");
    if (problem) {
      const lines = text.value.split("\n");
      const start =
        lines.slice(0, problem.dataset.line - 1).reduce((sum, line) => sum + line.length + 1, 0) +
        Number(problem.dataset.column) -
        1;
      const end = start + (/^[\w.]+/.exec(text.value.slice(start))?.[0].length ?? 1);
      text.focus();
      text.setSelectionRange(start, end);
    }
  });

  // --- the chart ----------------------------------------------------------------------------------------------------
  let bundle = null;
  function load(address) {
    bundle ??= new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = address;
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error("its script did not arrive")));
      document.head.append(script);
    });
    return bundle;
  }
  async function draw() {
    const plot = document.getElementById("chart");
    if (!plot?.closest("details").open) return;
    const told = document.getElementById("chart-said");
    try {
      await load(plot.dataset.plotly);
      const { columns, lines } = JSON.parse(plot.dataset.rows);
      const [kind, x, y] = ["kind", "x", "y"].map((name) => document.getElementById("chart-" + name).value);
      const style = getComputedStyle(document.documentElement),
        token = (name) => style.getPropertyValue(name).trim();
      const axis = {
        gridcolor: token("--rule-2"),
        linecolor: token("--rule"),
        zerolinecolor: token("--rule"),
        tickfont: { color: token("--ink-2") },
        automargin: true,
      };
      const trace = {
        x: x ? columns[x] : columns[y].map((_, n) => n + 1),
        y: columns[y],
        customdata: lines,
        hovertemplate: "%{x}<br>%{y}<extra></extra>",
      };
      if (kind === "bars")
        Object.assign(trace, {
          type: "bar",
          marker: { color: token("--h-call"), line: { color: token("--edge"), width: 1 } },
        });
      else
        Object.assign(trace, {
          type: "scatter",
          mode: kind === "line" ? "lines+markers" : "markers",
          marker: { color: token("--accent"), size: 6 },
          line: { color: token("--accent"), width: 1.5 },
        });
      await Plotly.react(
        plot,
        [trace],
        {
          margin: { l: 56, r: 12, t: 8, b: 44 },
          paper_bgcolor: "rgba(0,0,0,0)",
          plot_bgcolor: "rgba(0,0,0,0)",
          showlegend: false,
          font: { family: token("--sans"), size: 12, color: token("--ink-2") },
          xaxis: { ...axis, title: { text: x || "row number" } },
          yaxis: { ...axis, title: { text: y } },
        },
        { displayModeBar: false, responsive: true },
      );
      plot.removeAllListeners?.("plotly_click");
      plot.on("plotly_click", (event) => {
        const place = event.points[0]?.customdata;
        if (place?.[0] && place[1])
          location.assign(`${plot.dataset.lines.replace("/0/", `/${place[0]}/`)}?at=${place[1]}#L${place[1]}`);
      });
      told.textContent = lines.some(([artifact]) => artifact) ? "A click on a point leads to its line." : "";
    } catch (error) {
      told.textContent = `The chart could not be drawn: ${error.message}`;
    }
  }
  function begin() {
    document.querySelector("#answer .chart")?.addEventListener("toggle", draw);
    for (const name of ["kind", "x", "y"]) document.getElementById("chart-" + name)?.addEventListener("change", draw);
    draw();
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  begin();
})();
