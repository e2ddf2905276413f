"""The timeline as people use it: select, look at a span's lines, choose and keep lanes, save, share a link, the wall."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import axe_violations, shot, sign_in
from tests.browser.test_story import A_MINUTE, new_room
from tests.rules.clocks import dated_rooms as rooms
from tests.served import Served

RECORDED = Path(__file__).resolve().parents[1] / "cases" / "produced" / "slow-answer"
"""A client's trace and that of the server it waits for, each with the clock of its own host."""


def frame_of_calls(page: Page) -> Locator:
    page.locator("[data-timeline][data-painted]").wait_for()
    return page.locator(".tl-frame:not([data-frame=people])").last


def lanes_of(page: Page, frame: Locator) -> None:
    frame.locator("canvas.tl-canvas").focus()
    page.get_by_role("toolbar", name="Timeline").get_by_role("button", name="Lanes").click()


def details_of(frame: Locator) -> Locator:
    about = frame.locator(".tl-about")
    about.evaluate("menu => { menu.open = true; }")
    return about


def box_of_name(frame: Locator, label: str) -> dict[str, float]:
    """Give the box of a lane's name, found and measured in one step: a change of size writes all names anew."""
    box: dict[str, float] = frame.evaluate(
        """(frame, label) => {
          const names = [...frame.querySelectorAll(".tl-names li")];
          return names.find((name) => name.textContent.includes(label)).getBoundingClientRect().toJSON();
        }""",
        label,
    )
    return box


def drag(page: Page, frame: Locator, begin: float, end: float) -> None:
    canvas = frame.locator("canvas.tl-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] * begin, box["y"] + 34)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, box["y"] + 34, steps=5)
    page.mouse.up()


def test_a_frame_that_comes_later_takes_its_place_and_the_toolbar(ada: Page, sample_room: str) -> None:
    """Begin as a room without evidence does, with what people said alone; the rest is there at the next answer."""

    def people_only(route: Route) -> None:
        answer = route.fetch()
        data = answer.json()
        route.fulfill(response=answer, json=data | {"frames": [f for f in data["frames"] if f["frame"] == "people"]})

    ada.route("**/timeline/data?*", people_only)
    ada.goto(sample_room)
    ada.locator("[data-timeline][data-painted]").wait_for()
    expect(ada.locator(".tl-frame")).to_have_count(1)
    ada.unroute("**/timeline/data?*", people_only)
    ada.evaluate("() => document.body.dispatchEvent(new CustomEvent('room:verdict'))")
    expect(ada.locator(".tl-frame")).not_to_have_count(1)
    expect(ada.locator(".tl-frame").last).to_have_attribute("data-frame", "people")
    ada.keyboard.press("t")
    expect(ada.locator(".tl-frame").first.locator(".tl-selected")).to_contain_text("calls")


def test_a_selected_range_answers_and_its_link_opens_the_same(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    drag(ada, frame, 0.3, 0.8)
    panel = frame.locator(".tl-panel")
    expect(panel.locator(".tl-selected")).to_contain_text(re.compile(r"\d+ calls · 2 threads"))
    expect(panel.get_by_role("button", name="shmat")).to_have_count(1)
    panel.get_by_text("More of this range").click()
    expect(panel).to_contain_text("Findings inside")
    assert axe_violations(ada) == []
    assert "sel=" in ada.url
    again = ada.context.new_page()
    again.goto(ada.url)
    panel_again = frame_of_calls(again).locator(".tl-panel")
    expect(panel_again.locator(".tl-selected")).to_contain_text("2 threads")

    # Grouped anew, and a row chooses its calls in the picture.
    panel.get_by_role("link", name="Thread").click()
    row = panel.get_by_role("button", name="db1 3731/1")
    row.click()
    expect(row).to_have_attribute("aria-pressed", "true")
    row.click()
    expect(row).to_have_attribute("aria-pressed", "false")
    panel.get_by_role("button", name="Copy link").click()
    expect(panel.get_by_role("button", name="Copied")).to_be_visible()
    frame.get_by_role("button", name="Forget it").click()
    expect(panel).to_be_hidden()
    assert "sel=" not in ada.url


def test_a_click_on_a_span_selects_it_and_shows_its_lines(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    canvas = frame.locator("canvas.tl-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    row = box_of_name(frame, "3731/1")
    ada.mouse.click(box["x"] + box["width"] / 2, row["y"] + row["height"] / 2)
    expect(frame.locator(".tl-selected")).to_contain_text("2.473 s")
    expect(frame.locator(".tl-panel")).to_contain_text("shmat(16777281, 0x3C0000000, IPC_ALLOC)")
    assert "span=" in ada.url
    again = ada.context.new_page()
    again.goto(ada.url)
    expect(frame_of_calls(again).locator(".tl-panel")).to_contain_text("shmat(16777281, 0x3C0000000, IPC_ALLOC)")


def test_the_keyboard_walks_selects_and_its_letters_can_be_switched_off(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    frame.locator("canvas.tl-canvas").focus()
    for _ in range(40):
        ada.keyboard.press("ArrowRight")
        if "shmat" in frame.locator(".tl-strip").inner_text():
            break
    expect(frame.locator(".tl-panel")).to_contain_text("shmat(16777281, 0x3C0000000, IPC_ALLOC)")
    ada.keyboard.press("ArrowUp")
    expect(frame.locator(".tl-strip")).to_contain_text("child (end not seen)")
    ada.keyboard.press("p")
    expect(frame.locator(".tl-names li").first).to_contain_text("of ")
    ada.keyboard.press("p")
    seen = ada.get_by_role("toolbar", name="Timeline").locator("[data-range]")
    whole = seen.inner_text()
    ada.keyboard.press("w")
    expect(seen).not_to_have_text(whole)
    ada.keyboard.press("m")
    expect(frame.locator(".tl-selected")).to_contain_text("Selected")
    ada.keyboard.press("0")
    expect(seen).to_have_text(whole)
    ada.keyboard.press(".")
    expect(seen).not_to_have_text(whole)
    ada.keyboard.press("Escape")
    expect(frame.locator(".tl-panel")).to_be_hidden()
    ada.keyboard.press("0")
    ada.keyboard.press("t")
    expect(frame.locator(".tl-selected")).to_be_visible()
    ada.keyboard.press("t")
    expect(frame.locator(".tl-panel")).to_be_hidden()

    ada.keyboard.press("?")
    keys = ada.get_by_role("dialog", name="Keys")
    keys.get_by_label("Single letters and digits act as keys").uncheck()
    keys.get_by_role("button", name="Close").click()
    frame.locator("canvas.tl-canvas").focus()
    ada.keyboard.press("w")
    ada.keyboard.press("?")
    expect(seen).to_have_text(whole)
    expect(keys).to_be_hidden()
    ada.keyboard.press("+")  # no letter: it acts on the focused frame alone
    expect(seen).not_to_have_text(whole)


def test_a_row_of_the_heat_map_chooses_its_calls(ada: Page, exhibit: Served, tmp_path: Path) -> None:
    room = new_room(ada, exhibit.url, "Many calls")
    lines = [f'4117 10:00:{n / 100:09.6f} read(3, "x", 64) = 64 <0.000100>' for n in range(4000)]
    lines.append('4117 10:00:41.000000 connect(7, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.20.0.53")}, 16) = 0 <5.005000>')  # fmt: skip
    add_evidence(ada, room, tmp_path, "many.strace", "\n".join(lines) + "\n", "app-02")
    ada.goto(room)
    frame = ada.locator(".tl-frame:not([data-frame=people])")
    expect(frame.locator(".tl-names")).to_contain_text("all calls 4\u2009001", timeout=A_MINUTE)
    canvas = frame.locator("canvas.tl-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box
    ada.mouse.click(box["x"] + box["width"] / 3, box["y"] + box["height"] - 72)  # the uppermost row
    expect(frame.locator(".tl-selected")).to_contain_text("1 call · 3.162 s and more only")
    expect(frame.locator(".tl-panel").get_by_role("button", name="connect")).to_be_visible()
    assert "band=11-11" in ada.url
    assert axe_violations(ada) == []
    again = ada.context.new_page()
    again.goto(ada.url)
    expect(again.locator(".tl-selected")).to_contain_text("3.162 s and more only")


def test_a_line_of_a_counter_is_broken_where_samples_are_missing(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame_of_calls(ada)
    lengths = """async ([ends]) => {
      const paint = [...performance.getEntriesByType("resource")].map((e) => e.name).find((n) => /timeline.paint/.test(n));
      const { runs } = await import(paint);
      return runs(ends.map((end) => [end - 1, end, 0, 0, 0, 1, 1, 1])).map((run) => run.length);
    }"""
    assert ada.evaluate(lengths, [[1, 2, 3, 4.4, 5]]) == [5], "one and a half intervals hold"
    assert ada.evaluate(lengths, [[1, 2, 3, 4.6, 5.6]]) == [3, 2], "more breaks the line"
    assert ada.evaluate(lengths, [[1]]) == [1]


def test_lanes_are_hidden_added_moved_and_kept(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    names = frame.locator(".tl-names li")
    before = names.count()
    lanes_of(ada, frame)
    dialog = ada.get_by_role("dialog", name=re.compile("Lanes of"))
    dialog.get_by_role("checkbox", name=re.compile("3728.1$")).uncheck()
    expect(names).to_have_count(before - 1)
    dialog.get_by_role("searchbox").fill("failed")
    dialog.get_by_role("checkbox", name="System calls that failed").check()
    expect(frame.locator(".tl-names")).to_contain_text("failed")
    dialog.get_by_role("button", name=re.compile("Pin .*3731.1$")).click()
    expect(names.first).to_contain_text("3731/1")
    assert axe_violations(ada) == []
    dialog.get_by_role("button", name="Keep for me").click()
    expect(dialog).to_contain_text("Kept for you.")
    ada.goto(sample_room)  # a fresh address: what was kept holds
    expect(frame_of_calls(ada).locator(".tl-names")).to_contain_text("failed")
    expect(frame_of_calls(ada).locator(".tl-names li").first).to_contain_text("3731/1")
    lanes_of(ada, frame_of_calls(ada))
    ada.get_by_role("button", name="As it was").click()
    expect(ada.get_by_role("dialog", name=re.compile("Lanes of"))).to_contain_text("Forgotten")


def test_lanes_shared_with_the_room_arrive_by_themselves(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame_of_calls(ada)
    other = ada.context.new_page()
    other.goto(sample_room)
    frame = frame_of_calls(other)
    lanes_of(other, frame)
    dialog = other.get_by_role("dialog", name=re.compile("Lanes of"))
    dialog.get_by_role("checkbox", name="System calls that failed").check()
    dialog.get_by_role("button", name="Share with the room").click()
    expect(dialog).to_contain_text("The room sees these lanes now")
    expect(frame_of_calls(ada).locator(".tl-names")).to_contain_text("failed")


def test_the_window_is_saved_as_picture_rows_and_trace(ada: Page, sample_room: str, tmp_path: Path) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    made: dict[str, bytes] = {}
    for words, name in (
        ("Picture (SVG)", "svg"),
        ("Picture (PNG)", "png"),
        ("Rows (CSV)", "csv"),
        ("Trace for Perfetto", "trace"),
    ):
        with ada.expect_download() as waiting:
            details_of(frame).get_by_text(words, exact=True).click()
        path = tmp_path / name
        waiting.value.save_as(path)
        made[name] = path.read_bytes()
    assert "shmat 0x3C0000000 · at most 2.473 s".encode() in made["svg"]
    assert made["png"].startswith(b"\x89PNG")
    assert b"shmat" in made["csv"]
    assert any(event["name"] == "shmat" and event["ph"] == "X" for event in json.loads(made["trace"])["traceEvents"])


def test_the_waits_are_drawn_on_demand(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame_of_calls(ada)
    frame = ada.locator(".tl-frame").first
    with ada.expect_response(re.compile("timeline/waits")) as waiting:
        details_of(frame).get_by_role("button", name="Show waits").click()
    assert [edge["kind"] for edge in waiting.value.json()["waits"]] == ["socket"]
    expect(details_of(frame).get_by_role("button", name="Hide waits")).to_have_attribute("aria-pressed", "true")


def test_a_wait_that_leads_to_another_clock_is_told_in_words(ada: Page, exhibit: Served) -> None:
    room = new_room(ada, exhibit.url, "Orders wait for the other host")
    for name, host in (("client.txt", "web1"), ("server.txt", "db1")):
        ada.goto(f"{room}evidence/add/")
        ada.locator("#known > summary").click()
        ada.locator("#say").get_by_label("Host").fill(host)
        ada.locator("input[type=file]").first.set_input_files(str(RECORDED / name))
        ada.locator(".sending a", has_text=name).wait_for()
    ada.goto(room)
    # Whose seconds: the client's wait is followed into the server's trace, and the piece opens lines of that artifact.
    far = ada.locator("#seconds svg a[aria-label*='fsync, on db1, in pid']")
    expect(far).to_be_visible(timeout=A_MINUTE)
    expect(far).to_have_attribute("href", re.compile("/evidence/2/"))

    ada.goto(room)
    frame_of_calls(ada)
    words = re.compile(
        r"^pid \d+ on web1 waits 12 times, 1\.501 s in all, for pid \d+ on db1, whose clock is not tied to this one: no arrow is drawn\.\s*$"
    )
    told = []
    for frame in ada.locator(".tl-frame:not([data-frame=people])").all():
        control = details_of(frame).get_by_role("button", name="Show waits")
        if not control.count():
            continue
        with ada.expect_response(re.compile("timeline/waits")) as waiting:
            control.click()
        expect(details_of(frame).get_by_role("button", name="Hide waits")).to_have_attribute("aria-pressed", "true")
        found = waiting.value.json()
        if found["elsewhere"]:
            assert found["waits"] == [], "nothing is drawn where no clock says when"
            told.append(frame)
            expect(frame.get_by_role("status").filter(has_text="web1")).to_have_text(words)
            expect(frame.get_by_role("status").filter(has_text="web1")).to_be_visible()
    assert len(told) == 1, "only the frame of the client's clock"
    assert axe_violations(ada) == []
    shot(ada, "timeline-wait-elsewhere")

    # A person's word on the offset puts both on one frame: the words give way to arrows.
    ada.goto(f"{room}clocks/")
    ada.get_by_label("This clock").select_option("2.1:1")
    ada.get_by_label("against this one").select_option("1.1:1")
    ada.get_by_label("is ahead by").fill("0")
    ada.get_by_label("give or take, s").fill("0.001")
    ada.get_by_label("How is that known?").fill("One clock, two namespaces.")
    ada.get_by_role("button", name="State and judge again").click()
    ada.goto(room)
    expect(ada.locator(".tl-frame:not([data-frame=people])")).to_have_count(1, timeout=A_MINUTE)
    both = frame_of_calls(ada)
    with ada.expect_response(re.compile("timeline/waits")) as waiting:
        details_of(both).get_by_role("button", name="Show waits").click()
    assert waiting.value.json()["elsewhere"] == []
    assert len(waiting.value.json()["waits"]) >= 12
    expect(both.get_by_role("status").filter(has_text="no arrow is drawn")).to_have_count(0)


def test_the_wall_is_large_and_has_nothing_to_press(ada: Page, sample_room: str) -> None:
    ada.goto(f"{sample_room}?wall")
    ada.locator("[data-timeline][data-painted]").wait_for()
    expect(ada.locator("#wall")).to_contain_text("attach")
    assert ada.locator("#wall button, #wall form").count() == 0
    assert ada.locator(".tl-frame button:visible").count() == 0
    assert axe_violations(ada) == []


def test_without_scripts_the_timeline_is_a_picture(ada: Page, sample_room: str) -> None:
    browser = ada.context.browser
    assert browser
    plain = browser.new_context(java_script_enabled=False)
    sign_in(plain, ada.context.storage_state())
    page = plain.new_page()
    page.goto(sample_room)
    picture = page.get_by_role("img", name="Timeline of this room")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box
    assert box["height"] > 100
    plain.close()


def add_evidence(page: Page, room: str, folder: Path, name: str, text: str, host: str) -> None:
    (folder / name).write_text(text)
    page.goto(f"{room}evidence/add/")
    page.locator("#known > summary").click()
    page.locator("#say").get_by_label("Host").fill(host)
    page.locator("input[type=file]").first.set_input_files(str(folder / name))
    page.locator(".sending a", has_text=name).wait_for()


def test_undated_times_and_single_samples_are_shown_as_what_they_are(
    ada: Page, exhibit: Served, tmp_path: Path
) -> None:
    room = new_room(ada, exhibit.url, "Times of day beside dated samples")
    add_evidence(ada, room, tmp_path, "trace.strace", rooms.strace_tt(), "db1")
    add_evidence(ada, room, tmp_path, "samples.vmstat", rooms.vmstat_t(), "db1")
    add_evidence(ada, room, tmp_path, "epoch.strace", rooms.strace_ttt(), "web1")
    add_evidence(ada, room, tmp_path, "once.log", rooms.syslog("Jul  9", 8, 1), "app1")
    ada.goto(room)
    frames = ada.locator(".tl-frame:not([data-frame=people])")
    expect(frames).to_have_count(3, timeout=A_MINUTE)
    mixed, epoch = (frames.filter(has_text=name) for name in ("db1, system calls and vmstat", "web1, system calls"))
    expect(mixed.locator(".tl-head")).to_contain_text("2025-06-01; ")
    expect(mixed.locator(".tl-head")).to_contain_text("no date is printed; 2025-06-01 is the only day")
    expect(epoch.locator(".tl-head")).to_contain_text("2025-06-01, UTC")
    expect(mixed.locator("canvas.tl-canvas")).to_have_attribute("aria-label", re.compile(r"strips, 114 s\."))
    drag(ada, epoch, 0.1, 0.9)
    expect(epoch.locator(".tl-selected")).to_contain_text(re.compile(r"10:00:0\d\.\d+ – 10:00:2\d\.\d+"))
    single = frames.filter(has_text="app1")
    expect(single.locator(".tl-values li")).to_have_count(1)
    expect(single.locator(".tl-values")).to_contain_text("request 0 was served")
    expect(single.locator("canvas.tl-canvas")).to_be_hidden()
    assert axe_violations(ada) == []
    single.scroll_into_view_if_needed()
    shot(ada, "true-times")


def test_one_toolbar_serves_all_frames(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    bar = ada.get_by_role("toolbar", name="Timeline")
    for name in ("Zoom", "Lanes", "Table", "Select", "Save"):
        assert ada.locator(".tl-frame").get_by_role("button", name=name).locator("visible=true").count() == 0, name
    for head in ada.locator(".tl-head").all():
        box = head.bounding_box()
        assert box
        assert box["height"] <= 30, "one line"
    expect(frame.locator(".tl-head > p")).to_have_text("own clock: no common moment with the other frames")
    expect(ada.locator(".tl-head > p").first).to_have_text(
        re.compile(r"^2016-04-14 · clocks aligned: \w+ −0\.197 ± 0\.040 s$")
    )

    frame.locator("canvas.tl-canvas").focus()
    whole = bar.locator("[data-range]").inner_text()
    assert re.fullmatch(r"[\d.]+ s from [\d.]+", whole)
    bar.get_by_role("button", name="Zoom in").click()
    expect(bar.locator("[data-range]")).not_to_have_text(whole)
    assert "view=" in ada.url
    bar.get_by_role("button", name="Show all").click()
    expect(bar.locator("[data-range]")).to_have_text(whole)

    bar.get_by_label("Find a call").fill("shmat")
    ada.keyboard.press("Enter")
    expect(frame.locator(".tl-strip")).to_contain_text("shmat")
    bar.get_by_label("Find a call").fill("")
    expect(bar.get_by_role("button", name="Table")).to_have_attribute("aria-pressed", "true")
    bar.get_by_role("button", name="Table").click()
    expect(frame.locator(".tl-panel")).to_be_hidden()
    bar.get_by_role("button", name="Table").click()
    expect(bar.get_by_role("button", name="Table")).to_have_attribute("aria-pressed", "true")
    expect(frame.locator("table.agg")).to_contain_text("shmat")
    assert axe_violations(ada) == []


WRITTEN = """
const kept = CanvasRenderingContext2D.prototype.fillText;
window.written = new Set();
CanvasRenderingContext2D.prototype.fillText = function (words, ...at) {
  window.written.add(words);
  return kept.call(this, words, ...at);
};
"""


def test_lanes_are_22_px_high_and_their_names_stand_beside_them(ada: Page, sample_room: str) -> None:
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    heights, canvas = frame.evaluate(  # in one step, for a change of size writes all names anew
        """frame => [
          [...frame.querySelectorAll(".tl-names li")].map((name) => [name.className, name.offsetHeight]),
          frame.querySelector(".tl-canvas").offsetHeight,
        ]"""
    )
    expected = {"span": 22, "event": 22, "counter": 40, "heat": 76}
    assert heights
    for kinds, height in heights:
        assert height == expected[kinds.split()[0]], kinds
    assert canvas == 22 + sum(height for _, height in heights)


def test_labels_are_whole_or_missing_and_the_tooltip_leaves_its_span_free(ada: Page, sample_room: str) -> None:
    ada.add_init_script(WRITTEN)
    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    widest = set(ada.evaluate("[...window.written]"))
    assert "shmat 0x3C0000000 · at most 2.473 s" in widest
    name = frame.get_attribute("data-frame")
    lengths = set()
    for start in (11.0, 11.5, 11.6, 11.65, 11.7, 11.75):  # less and less of the bar is seen
        ada.goto(f"{sample_room}?view={name}:{start},12.3")
        expect(frame_of_calls(ada)).to_have_attribute("data-fetched", re.compile(r"\d"))
        ada.wait_for_function("window.written.size > 0")
        ada.evaluate("window.written.clear()")
        ada.get_by_label("Find a call").press("a")  # draws once more
        lengths |= {text for text in ada.evaluate("[...window.written]") if "2.473" in text}
    known = {"shmat 0x3C0000000 · at most 2.473 s", "0x3C0000000 · ≤ 2.473 s", "shmat · ≤ 2.473 s", "≤ 2.473 s"}
    assert lengths <= known, "no number is cut"
    assert len(lengths) > 1, "the narrower bar has a shorter label"

    ada.goto(sample_room)
    frame = frame_of_calls(ada)
    frame.locator("canvas.tl-canvas").focus()
    tip = frame.locator(".tl-tip")
    for _ in range(40):
        ada.keyboard.press("ArrowRight")
        if "shmat · at most 2.473 s" in tip.inner_text():
            break
    expect(tip).to_contain_text("db1 3731/1 → 0x3C0000000")
    expect(tip).to_contain_text(re.compile(r"9\.3\d* – 11\.7\d*"))
    expect(tip).to_contain_text(re.compile(r"\d+ % of the [\d.]+ s in view"))
    expect(tip).to_contain_text("lines 14 and 30")
    row = box_of_name(frame, "3731/1")
    shown = tip.bounding_box()
    assert shown
    assert shown["y"] >= row["y"] + row["height"] or shown["y"] + shown["height"] <= row["y"]
