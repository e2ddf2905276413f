// The flame graph: names that fit their blocks at any width, one stop of the Tab key, arrows from block to block.
const CHARACTER_PX = 6.7;
const PADDING_PX = 8;

function blocksOf(graph) {
  return [...graph.querySelectorAll(":scope > a")].map((link) => {
    const box = link.querySelector("svg");
    return {
      link,
      box,
      text: box.querySelector("text"),
      forms: box.dataset.forms.split("\n"),
      x: parseFloat(box.getAttribute("x")),
      y: Number(box.getAttribute("y")),
      width: parseFloat(box.getAttribute("width")),
    };
  });
}

function fit(graph, blocks) {
  const width = graph.clientWidth;
  for (const block of blocks) {
    const characters = Math.floor(((block.width / 100) * width - PADDING_PX) / CHARACTER_PX);
    block.text.textContent = block.forms.find((form) => form.length <= characters) ?? "";
  }
}

function next(blocks, from, key) {
  const row = (step) => blocks.filter((block) => block.y === from.y + step);
  const covers = (block) => block.x <= from.x + 1e-6 && block.x + block.width >= from.x + from.width - 1e-3;
  const inside = (block) => block.x >= from.x - 1e-3 && block.x < from.x + from.width;
  const step = blocks[1] ? Math.min(...blocks.filter((block) => block.y > 0).map((block) => block.y)) : 0;
  if (key === "ArrowUp") return row(-step).find(covers);
  if (key === "ArrowDown") return row(step).find(inside);
  const level = row(0).sort((a, b) => a.x - b.x);
  return level[level.indexOf(from) + (key === "ArrowRight" ? 1 : -1)];
}

for (const graph of document.querySelectorAll("[data-flames]")) {
  const blocks = blocksOf(graph);
  blocks.forEach((block, number) => block.link.setAttribute("tabindex", number ? "-1" : "0"));
  new ResizeObserver(() => fit(graph, blocks)).observe(graph);
  graph.addEventListener("keydown", (event) => {
    if (!event.key.startsWith("Arrow")) return;
    const from = blocks.find((block) => block.link === document.activeElement);
    const to = from && next(blocks, from, event.key);
    event.preventDefault();
    if (!to) return;
    from.link.setAttribute("tabindex", "-1");
    to.link.setAttribute("tabindex", "0");
    to.link.focus();
  });
  graph.addEventListener("pointerover", (event) => {
    const name = event.target.closest("[data-forms]")?.dataset.forms;
    for (const block of blocks) block.box.classList.toggle("same", Boolean(name) && block.box.dataset.forms === name);
  });
  graph.addEventListener("pointerleave", () => blocks.forEach((block) => block.box.classList.remove("same")));
}
