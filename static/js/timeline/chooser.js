// Which lanes stand where: a dialog to show, hide, pin, move and add them; kept in the address, for oneself or for
// the room.

import { because, button, fetchJson, laneKey, make, text } from "./words.js";

export async function choose(frame, room) {
  const dialog = document.querySelector("dialog[data-lanes]") ?? document.body.appendChild(make("dialog"));
  dialog.dataset.lanes = "true";
  dialog.className = "tl-lanes";
  dialog.setAttribute("aria-labelledby", "lanes-title");
  const name = frame.meta.frame;
  const said = text("p", "", "meta");
  said.setAttribute("role", "status");
  const title = text("h2", `Lanes of ${frame.meta.title}`);
  title.id = "lanes-title";
  const frames = [...room.frames.values()].filter((one) => one.meta.axis !== "value" && one.rows);
  const which = make("select");
  which.setAttribute("aria-label", "Frame");
  which.append(...frames.map((one) => new Option(one.meta.title, one.meta.frame, false, one === frame)));
  which.addEventListener("change", () => choose(room.frames.get(which.value), room));
  const present = make("ul"),
    offers = make("div"),
    find = make("input");
  find.type = "search";
  find.placeholder = "Find a counter or lane";
  find.setAttribute("aria-label", "Find a counter or lane to add");
  const row = make("div", "row");
  const change = (kind, key, on) => {
    const choice = { ...room.lanesOf(name) };
    const list = (choice[kind] ?? []).filter((one) => one !== key);
    if (on) list.push(key);
    choice[kind] = list;
    room.setLanes(name, choice);
  };
  const list = () => {
    const choice = room.lanesOf(name);
    const hidden = new Set(choice.hide ?? []),
      pinned = new Set(choice.pin ?? []);
    const shown = frame.rows.map(({ lane }) => lane),
      rest = frame.lanes.filter((lane) => !shown.includes(lane));
    present.replaceChildren(
      ...[...shown, ...rest].map((lane, at) => {
        const key = laneKey(lane),
          item = make("li"),
          label = make("label"),
          box = make("input");
        const words = `${lane.host ?? ""} ${lane.label}`.trim();
        box.type = "checkbox";
        box.checked = !hidden.has(key) && !hidden.has(lane.lane);
        box.addEventListener("change", () => {
          if (box.checked) change("hide", lane.lane, false);
          change("hide", key, !box.checked);
          list();
        });
        label.append(box, ` ${words}`);
        const pin = button(pinned.has(key) ? "Unpin" : "Pin", "quiet"),
          up = button("Up", "quiet"),
          down = button("Down", "quiet");
        pin.setAttribute("aria-label", `${pin.textContent} ${words}`);
        up.setAttribute("aria-label", `Move ${words} up`);
        down.setAttribute("aria-label", `Move ${words} down`);
        pin.addEventListener("click", () => {
          change("pin", key, !pinned.has(key));
          list();
        });
        const move = (by) => {
          const keys = frame.rows.map((one) => laneKey(one.lane)),
            to = at + by;
          if (to < 0 || to >= keys.length || at >= keys.length) return;
          keys.splice(to, 0, keys.splice(at, 1)[0]);
          room.setLanes(name, { ...room.lanesOf(name), order: keys });
          list();
          present.children[to]?.querySelectorAll("button")[by < 0 ? 1 : 2]?.focus();
        };
        up.addEventListener("click", () => move(-1));
        down.addEventListener("click", () => move(1));
        item.append(label, pin, up, down);
        return item;
      }),
    );
  };
  const keep = async (shared, lanes, words) => {
    const body = new URLSearchParams({ lanes: JSON.stringify(lanes), shared: String(shared) });
    const token = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}")["X-CSRFToken"];
    const answer = await fetch(room.state.keep, {
      method: "POST",
      body,
      headers: { "X-CSRFToken": token },
      credentials: "same-origin",
    }).catch(() => null);
    said.textContent = answer?.ok
      ? words
      : answer?.status === 403
        ? "Your role in this room does not allow that."
        : "This could not be kept. Try again.";
  };
  const mine = button("Keep for me"),
    ours = button("Share with the room"),
    reset = button("As it was", "quiet"),
    close = button("Close", "primary");
  mine.addEventListener("click", () => keep(false, room.state.lanes, "Kept for you."));
  ours.addEventListener("click", () =>
    keep(true, room.state.lanes, "The room sees these lanes now, unless somebody keeps their own."),
  );
  reset.addEventListener("click", () => {
    room.setLanes(name, {});
    list();
    keep(false, {}, "Forgotten; the room's lanes hold.");
  });
  close.addEventListener("click", () => dialog.close());
  row.append(mine, ...(room.state.mayShare ? [ours] : []), reset, make("span", "spread"), close);
  dialog.replaceChildren(
    title,
    ...(frames.length > 1 ? [which] : []),
    text("h3", "Shown"),
    present,
    text("h3", "Add"),
    find,
    offers,
    said,
    row,
  );
  list();
  if (!dialog.open) dialog.showModal();
  offers.replaceChildren(text("p", "Looking for what this frame could show …", "meta"));
  let found;
  try {
    found = (await fetchJson(`${room.state.offers}?${new URLSearchParams({ frame: name })}`)).lanes.filter(
      (one) => !one.shown,
    );
  } catch (error) {
    offers.replaceChildren(text("p", `The list could not be fetched${because(error)}.`, "meta"));
    return;
  }
  const offer = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean),
      added = new Set(room.lanesOf(name).add ?? []);
    const fit = found.filter((one) =>
      words.every((word) => `${one.group} ${one.title} ${one.name}`.toLowerCase().includes(word)),
    );
    const groups = Map.groupBy ? Map.groupBy(fit.slice(0, 80), (one) => one.group) : new Map([["", fit.slice(0, 80)]]);
    offers.replaceChildren(
      ...[...groups].map(([group, lanes]) => {
        const set = make("fieldset");
        set.append(
          text("legend", group),
          ...lanes.map((one) => {
            const label = make("label"),
              box = make("input");
            box.type = "checkbox";
            box.checked = added.has(one.name);
            box.addEventListener("change", async () => {
              change("add", one.name, box.checked);
              await room.reload();
              list();
            });
            label.append(box, ` ${one.title}`);
            return label;
          }),
        );
        return set;
      }),
    );
    if (!fit.length)
      offers.replaceChildren(
        text("p", found.length ? "Nothing fits." : "Everything that this evidence gives is shown.", "meta"),
      );
    else if (fit.length > 80) offers.append(text("p", `and ${fit.length - 80} more; type to find them`, "meta"));
  };
  find.addEventListener("input", offer);
  offer();
}
