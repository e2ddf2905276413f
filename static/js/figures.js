// Draws the figures that the server built with Plotly's Python package; the bundle is fetched only when a figure comes
// near the window.

const NEAR = "200px"; // to the edge of the window; the bundle is large, and most people never scroll to the figure

let bundle = null,
  latest = 0;
const box = document.querySelector("[data-figure]");
if (box) {
  const near = new Promise((resolve) => {
    const seen = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        seen.disconnect();
        resolve();
      },
      { rootMargin: NEAR },
    );
    seen.observe(box);
  });
  const draw = () =>
    paint(box, near).catch((error) => {
      box.dataset.state = "error";
      box.querySelector("[data-figure-message]").textContent = `The figure could not be drawn: ${error.message}`;
    });
  draw();
  for (const kind of ["verdict", "case"]) document.body.addEventListener(`room:${kind}`, draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}

function load() {
  bundle ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = box.dataset.plotly;
    script.addEventListener("load", resolve);
    script.addEventListener("error", () => reject(new Error("its script did not arrive")));
    document.head.append(script);
  });
  return bundle;
}

async function paint(box, near) {
  const turn = ++latest;
  const answer = await fetch(box.dataset.figure, {
    headers: { Accept: "application/json" },
    credentials: "same-origin",
  });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const { figure, lines } = await answer.json();
  if (turn !== latest) return; // a newer one is on its way
  const section = box.closest(".figure");
  section.hidden = !figure;
  if (!figure) return;
  await near;
  await load();
  if (turn !== latest) return;
  const style = getComputedStyle(document.documentElement),
    token = (name) => style.getPropertyValue(name).trim();
  const axis = {
    gridcolor: token("--rule-2"),
    linecolor: token("--rule"),
    zerolinecolor: token("--rule"),
    tickfont: { color: token("--ink-2") },
  };
  figure.layout = {
    ...figure.layout,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { ...figure.layout.font, family: token("--sans"), color: token("--ink-2") },
    xaxis: { ...axis, ...figure.layout.xaxis },
    yaxis: { ...axis, ...figure.layout.yaxis },
  };
  for (const trace of figure.data) {
    const ink = token(trace.meta?.token ?? "--ink-2");
    if (trace.marker) trace.marker.color = ink;
    if (trace.line) trace.line.color = ink;
  }
  for (const shape of figure.layout.shapes ?? []) shape.line.color = token("--accent");
  const plot = box.querySelector("[data-plot]");
  await Plotly.react(plot, figure.data, figure.layout, { displayModeBar: false, responsive: true });
  plot.removeAllListeners?.("plotly_click");
  plot.on("plotly_click", (event) => {
    const at = event.points[0]?.customdata;
    if (at) location.assign(`${lines.replace("/0/", `/${at[0]}/`)}#L${at[1]}`);
  });
  box.dataset.state = "drawn";
}
