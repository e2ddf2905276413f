"""The compare page: numbers, borders, ledger and exports, what cannot be compared, and that it stays quick."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents.access import Room, enter
from incidents.actions import case, plan, purge
from incidents.actions.compare import make_border, read_made, undo_border
from incidents.actions.sample import open_sample
from incidents.drawing import series
from incidents.errors import NotAllowed, Refused
from incidents.models.people.membership import Role
from incidents.models.room.activity import Activity
from incidents.storage import store
from incidents.work import comparisons
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs
from tests.incidents.pages.conftest import client_of

pytestmark = pytest.mark.django_db

SAMPLE = Path(__file__).parents[4] / "incidents" / "sample" / "001"
LISTS = {"connect-before.txt": "before", "connect-sga-target.txt": "after-1", "connect-shared-server.txt": "after-2"}
HOSTILE = '=HYPERLINK("http://x")'


def timed(phases: bool = True, **answers: Any) -> Room:
    """Return a room with the three lists of connect times, read and not judged."""
    said: dict[str, Any] = {
        "symptom_text": "connect time",
        "symptom_unit": "s",
        "symptom_bad": 3.9,
        "symptom_normal": 0.3,
    }
    room = make_room(**(said | answers))
    for n, (name, phase) in enumerate(LISTS.items()):
        place: dict[str, Any] = {"host": "gateway", "phase": phase} if phases else {"host": "gateway"}
        make_artifact(room, (SAMPLE / name).read_bytes(), f"list-{n}.txt", **place)
    run_jobs("small")
    return enter(room.user, room.incident.slug)


@pytest.fixture
def room() -> Room:
    room = timed()
    sga = {"kind": "change", "label": "sga_target", "changed": ["memory_target off", "SGA 40 to 18 GB"]}
    case.put_marker(room, {**sga, "from_phase": "before", "to_phase": "after-1", "hypothesis": "H-OS-SHM"})
    return room


def words(answer: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


def ask(room: Room, name: str = "compare", *args: Any, **query: str) -> Any:
    headers = {"HX-Request": "true"} if "part" in query else {}
    return client_of(room).get(reverse(name, args=[room.incident.slug, *args]), query, headers=headers)


def phases(first: str, second: str) -> dict[str, str]:
    return {"a": f"phase:{first}", "b": f"phase:{second}"}


# --- what it says -------------------------------------------------------------------------------------------------


def test_the_page_says_what_may_be_said_of_the_first_change(room):
    text = words(ask(room))
    assert "Two populations; before: 19 around 0.3 s and 2 around 3.875 s, after-1: 20 around 0.13 s" in text
    assert "0.31 s [0.3, 0.33]" in text
    assert "-58.1 %, -0.18 s [-0.2, -0.15]" in text
    assert "0.6438 s 0.1385 s -78.5 %, -0.5053 s" in text
    assert "-0.17 s [-0.19, -0.15]" in text
    assert "2 of 21, 9.5 % [2.7 % to 28.9 %]" in text
    assert "0 of 20, 0 % [0 % to 16.1 %]" in text
    assert "not proven gone; 30 values without one would show it" in text
    # Reasons against a hasty conclusion are shown next to the figures.
    assert (
        "3 things changed at once: memory_target off, SGA 40 to 18 GB, restart. Their effects cannot be told apart. The restart is added"
        in text
    )
    assert "Nothing says at what hour" in text


def test_the_dots_lead_to_their_lines(room):
    answer = ask(room, "compare-figure").json()
    dots = [trace for trace in answer["figure"]["data"] if trace["mode"] == "markers"]
    assert [len(trace["x"]) for trace in dots] == [21, 20]
    artifact, line = dots[0]["customdata"][0]
    assert (artifact, dots[0]["y"][0]) == (1, 0.31)
    assert "0,31" in room.incident.artifacts.get(number=1).name or line >= 1
    assert answer["figure"]["layout"]["yaxis"]["type"] == "log"  # two populations
    assert answer["lines"].endswith("/evidence/0/")
    near = ask(room, "compare-figure", **phases("after-1", "after-2")).json()["figure"]["layout"]["yaxis"]
    assert near.get("type") != "log"


def test_two_artifacts_are_compared_without_any_phase():
    room = timed(phases=False)
    assert "Two sides are needed" in words(ask(room))
    text = words(ask(room, a="artifact:2", b="artifact:3"))
    assert "Median 0.13 s → 0.05 s" in text
    assert "-61.5 %" in text


def test_an_a_b_a_is_recognised():
    room = make_room()
    for name, at in (("before", 0), ("after-1", 1), ("after-2", 0)):
        text = "".join(f"time elapsed : {('0.31', '0.13')[at][:-1]}{k % 5}\n" for k in range(12 + len(name))).replace(
            ".", ","
        )
        make_artifact(room, text.encode(), f"{name}.txt", host="app", phase=name)
    run_jobs("small")
    for first, second, label in (("before", "after-1", "cache on"), ("after-1", "after-2", "cache taken back")):
        case.put_marker(room, {"kind": "change", "label": label, "changed": [label], "from_phase": first, "to_phase": second})  # fmt: skip
    text = words(ask(room))
    assert "Taken back, and the values went back with it (A-B-A): “cache taken back” undid the change" in text


# --- bad input ----------------------------------------------------------------------------------------------------


BAD = [
    ({"series": "nothing"}, "There is no series “nothing”"),
    ({"named": "vmstat.<b>"}, "There is no series “vmstat."),
    (phases("before", "before"), "Both sides are before"),
    (phases("before", "never"), "No evidence belongs to a phase called “never”"),
    ({"a": "artifact:99", "b": "phase:before"}, "Artifact 99 cannot be compared"),
    ({"a": "range:A:5,4", "b": "phase:before"}, "is not a phase, artifact or range"),
    ({"a": "range:A:nan,4", "b": "phase:before"}, "is not a phase, artifact or range"),
    ({"a": "what", "b": "\u202ephase:before"}, "is not a phase, artifact or range"),
]


def test_what_cannot_be_compared_is_said_and_the_choice_stays(room):
    for query, said in BAD:
        answer = ask(room, **query)
        assert answer.status_code == 422, query
        assert said in words(answer)
        assert 'id="compare-series"' in answer.content.decode()
        assert "\u202e" not in answer.content.decode()
        # The ledger is requested without the wrong value and is there; it does not request itself again.
        asked = re.search(r'hx-get="[^"]*\?([^"]*)part=ledger"', answer.content.decode())[1]
        assert "nothing" not in asked
    assert "part=ledger" not in ask(room, part="ledger", series="nothing").content.decode()


def test_a_purged_artifact_cannot_be_compared(room, django_capture_on_commit_callbacks):
    before = words(ask(room, a="artifact:1", b="artifact:2"))
    assert "Two populations" in before
    kept = store.cache_dir(room.incident.pk) / "compare"
    assert list(kept.glob("*.json"))
    with django_capture_on_commit_callbacks(execute=True):
        purge.purge(room, 1, "by mistake")
    assert not list(kept.glob("*.json"))  # nothing that was made of it stays
    answer = ask(room, a="artifact:1", b="artifact:2")
    assert answer.status_code == 422
    assert "Artifact 1 cannot be compared: it was purged" in words(answer)


def test_one_value_and_none_are_said_clearly(room):
    make_artifact(room, b"time elapsed : 0,29\n", "one.txt", host="gateway", phase="after-3")
    run_jobs("small")
    text = words(ask(room, **phases("before", "after-3")))
    assert "One value is no sample" in text
    assert "one value says nothing of how values vary" in text
    text = words(ask(room, series="vmstat.r", **phases("before", "after-1")))
    assert "There is no value of this series in before nor in after-1" in text
    assert ask(room, "compare-figure", series="vmstat.r").json()["figure"] is None


def test_an_empty_room_says_what_to_do():
    text = words(ask(make_room()))
    assert "Nothing to compare yet" in text
    assert "Upload what was measured before, and the same measurement after" in text


# --- quick and live -----------------------------------------------------------------------------------------------


def test_it_asks_at_most_fifteen_times_and_listens(room):
    client, address = client_of(room), reverse("compare", args=[room.incident.slug])
    client.get(address)
    with CaptureQueriesContext(connection) as asked:
        page = client.get(address)
    assert len(asked) <= 15, "\n".join(query["sql"][:140] for query in asked)
    html = page.content.decode()
    assert "room:verdict from:body" in html
    assert 'hx-select="#compare-body"' in html
    assert "<script>" not in html
    assert "style=" not in html


def test_what_takes_longer_comes_by_itself(room, monkeypatch):
    monkeypatch.setattr(comparisons, "AT_ONCE", 5)
    page = ask(room, **phases("after-1", "after-2")).content.decode()
    assert "part=numbers" in page
    assert "part=ledger" in page
    assert "Median 0.13" not in page
    assert "Median 0.13" in words(ask(room, **phases("after-1", "after-2"), now="numbers"))  # without scripts
    assert "Median 0.13" in words(ask(room, **phases("after-1", "after-2"), part="numbers"))
    assert "Median 0.13" in words(ask(room, **phases("after-1", "after-2")))  # kept by now
    assert "sga_target" in words(ask(room, part="ledger"))
    assert "No counter was sampled on both sides" in words(ask(room, part="counters"))
    assert ask(room, part="numbers", series="nothing").status_code == 422


def test_of_too_many_values_some_are_compared_and_all_are_counted(room, monkeypatch):
    monkeypatch.setattr(series.values, "__defaults__", (None, 9))
    text = words(ask(room, **phases("before", "after-2")))
    assert re.search(
        r"Of 21 values of before \d+ are compared, taken by a fixed rule; rare slow ones may be left out", text
    )
    assert "Of all values: largest 3.94 s 0.06 s" in text
    assert "Values 21 27" in text


def test_a_page_that_has_nothing_comes_again_once_it_has(room):
    assert ask(room, part="again").headers["HX-Refresh"] == "true"
    assert "HX-Refresh" not in ask(make_room(), part="again").headers


def test_a_second_opinion_on_the_borders(room):
    text = words(ask(room, part="second"))
    assert "value 42 of 68 (p 0.002), between after-1 and after-2" in text
    assert "value 22 of 68 (p 0.002), between before and after-1" in text


# --- borders ------------------------------------------------------------------------------------------------------


def test_a_border_is_shown_made_and_taken_back():
    room = timed(phases=False)
    client, address = client_of(room), reverse("compare-border", args=[room.incident.slug])
    preview = words(client.get(address, {"artifact": "2", "line": "1", "why": "connect times"}))
    assert "Lines 1 to" in preview
    assert "become the phase before the border" in preview
    assert room.incident.phases.count() == 0
    typed: dict[str, Any] = {"artifact": 2, "line": 1, "first": "before", "second": "after-1", "label": "sga_target"}
    typed["changed"] = "SGA 40 to 18 GB\n\nmemory_target off"
    made = client.post(address, typed)
    assert made.status_code == 302
    assert list(room.incident.phases.values_list("artifact__number", "phase")) == [(1, "before"), (2, "after-1")]
    (marker,) = room.incident.markers.all()
    assert (marker.from_phase, marker.to_phase, marker.changed) == ("before", "after-1", ["SGA 40 to 18 GB", "memory_target off"])  # fmt: skip
    page = client.get(made["Location"])
    assert "The border is made, with a marker" in words(page)
    assert "3 things changed at once" in words(page)
    assert client.post(address, typed).status_code == 409  # done twice
    text = re.search(r'name="made" value="([^"]+)"', page.content.decode())[1]
    assert client.post(address, {"do": "undo", "made": text}).status_code == 302
    assert (room.incident.phases.count(), room.incident.markers.count()) == (0, 0)
    assert client.post(address, {"do": "undo", "made": text}).status_code == 404
    assert "The border is made" not in words(client.get(made["Location"]))
    verbs = list(Activity.objects.filter(incident=room.incident).order_by("pk").values_list("verb", flat=True))
    assert verbs[-6:] == ["set", "set", "set", "removed", "removed", "removed"]


def test_a_border_inside_a_list_keeps_the_phase_before_it(room):
    made = make_border(room, 2, 5, "after-1", "after-1b")
    assert [(p.line_from, p.phase) for p in room.incident.phases.all()] == [(5, "after-1b")]
    assert (len(made.phases), made.marker) == (1, None)
    again = read_made(made.text)
    assert again is not None
    undo_border(room, again)
    assert room.incident.phases.count() == 0


def test_a_border_that_makes_no_sense_is_refused_and_the_words_stay(room):
    for first, second, label, changed, said in (
        ("", "b", "", [], "Name the phase"),
        ("a", "a", "", [], "need different names"),
        ("a", "b", "", ["SGA"], "Say in a few words"),
    ):
        with pytest.raises(Refused, match=said):
            make_border(room, 2, 5, first, second, label, changed)
    address = reverse("compare-border", args=[room.incident.slug])
    typed = {"artifact": 2, "line": 5, "first": "a", "second": "a", "changed": "my own words"}
    answer = client_of(room).post(address, typed)
    assert answer.status_code == 422
    assert "my own words" in answer.content.decode()
    for query in ({}, {"artifact": "x", "line": "1"}, {"artifact": "1", "line": "99999"}, {"artifact": "9" * 40, "line": "1"}):  # fmt: skip
        assert ask(room, "compare-border", **query).status_code == 404


def test_a_viewer_makes_no_border(room):
    viewer = make_member(room.incident, Role.VIEWER)
    with pytest.raises(NotAllowed):
        make_border(viewer, 2, 5, "after-1", "b")
    assert "Make this a border" not in words(ask(viewer))


# --- the ledger ---------------------------------------------------------------------------------------------------


def test_the_ledger_holds_changes_and_actions(room):
    done = plan.put_action(room, {"text": "Shared server", "expected": "below 0.1 s"})
    plan.finish_action(room, done.pk, changed=["shared server"], phases=("after-1", "after-2"))
    plan.put_action(room, {"text": "Trace one login"})
    text = words(ask(room, part="ledger"))
    assert "memory_target off SGA 40 to 18 GB restart (added: such a change takes effect at a start)" in text
    assert (
        "nothing at the median: 0.13 s, normal is 0.3 s; the bad value was one of the slow ones: 2 of 21 before, 0 of 20 after"
        in text
    )
    assert "Shorter; several changes" in text
    assert "below 0.1 s Median 0.13 s → 0.05 s" in text
    assert "Trace one login" in text
    assert "Not done yet." in text
    assert "this series does not show it: the symptom is connect time" in words(
        ask(room, part="ledger", series="vmstat.r")
    )
    assert "Trace one login" in words(ask(room, now="ledger"))  # without scripts


def test_the_ledger_as_csv_starts_no_formula_and_as_markdown_no_table_row(room):
    case.put_marker(room, {"kind": "change", "label": HOSTILE, "changed": ["a|b\u202e"], "from_phase": "after-1", "to_phase": "after-2"})  # fmt: skip
    answer = ask(room, "compare-ledger", "csv")
    assert answer["Content-Disposition"].startswith("attachment")
    head, first, second = list(csv.reader(io.StringIO(answer.content.decode())))
    assert first[head.index("n before")] == "21"
    assert first[head.index("shift")].startswith("-0.1")
    assert second[0] == f"'{HOSTILE}"
    assert "\u202e" not in answer.content.decode()
    text = ask(room, "compare-ledger", "md").content.decode()
    assert "| sga\\_target (memory\\_target off, SGA 40 to 18 GB, restart)" in text
    assert "a\\|b" in text
    assert "\u202e" not in text


def test_a_room_without_changes_has_an_empty_ledger():
    room = timed()
    assert "As far as the room knows, nothing has been changed yet" in words(ask(room, part="ledger"))
    assert len(ask(room, "compare-ledger", "csv").content.decode().splitlines()) == 1


# --- a judged room ------------------------------------------------------------------------------------------------


def test_the_judged_sample_shows_mechanism_queue_profile_and_ranges():
    """Check everything that two judged samples show, in one test, because judging takes some seconds."""
    user = make_user()
    room = enter(user, open_sample(user, "000").slug)
    run_jobs()
    text = words(ask(room))
    assert (
        "A connection took 0.2962 s and takes 0.2012 s, 0.2806 s and 0.1832 s of it waiting for its child: 3.38 a second at most, then 4.97"
        in text
    )
    assert "listener read 4 0.1995 4 0.0959 -0.1036" in text
    assert text.index("listener read 4") < text.index("listener fork1 1 0.0300 1 0.0358 +0.0058")
    assert "together 0.2962 0.2012 -0.0950" in text
    assert "0.345 s (M/M/1) or 0.191 s (M/D/1): roughly 11 to 20 times less" in text
    assert "27 %" in text
    assert "One value each: 0.2962 s, then 0.2012 s" in text
    # The timeline's range leads here, and the time after it is offered as the other side.
    panel = client_of(room).get(
        reverse("timeline-range", args=[room.incident.slug]), {"frame": "A", "from": "1.5", "to": "1.7"}, headers={"HX-Request": "true"}
    )  # fmt: skip
    link = re.search(r'href="([^"]*compare/\?a=range[^"]+)"', panel.content.decode())
    if link:
        page = client_of(room).get(link[1].replace("&amp;", "&"))
        assert page.status_code == 200
        assert "Choose the other side" in words(page)
        assert "after it, to" in words(page)
