"""Tests of the page of clocks: what each is, what ties them, offsets that people state, evidence against these."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from incidents.models.judging.case import ClockOffset
from incidents.models.room.job import Job, JobKind
from tests.incidents.pages.conftest import Judged, client_of
from tests.incidents.pages.pages import unbroken

PLACE = {"base": None, "zone": None, "add": 0.0, "err": 0.0, "part": 1}
WALL = {"kind": "wall-local", "lines": [[1, 4]]}
SHIFT = {"add": -0.197, "err": 0.04}
CLOCKS: list[dict[str, Any]] = [
    PLACE | WALL | {"clock": "2.1:1", "artifact": 2, "host": "gateway", "frame": "A", "t_begin": 1460613519.329, "t_end": 1460613521.201},
    PLACE | WALL | {"clock": "3.1:1", "artifact": 3, "host": "db1", "frame": "A", "t_begin": 1460613519.566, "t_end": 1460613521.358} | SHIFT,
    PLACE | {"kind": "trace-relative", "clock": "1.1:1", "artifact": 1, "host": "db1", "frame": "B", "lines": [[1, 12]], "t_begin": 8.6926, "t_end": 12.0252},
    PLACE | {"kind": "none", "clock": "4.1:1", "artifact": 4, "host": "db1", "frame": "C", "lines": [[1, 5]], "t_begin": None, "t_end": None},
]  # fmt: skip
PAIR = {"clock_lines": [1, 2], "ref_lines": [2, 3], "off_lo": 0.157, "off_hi": 0.237}
MAP: list[dict[str, Any]] = [
    {"clock": "3.1:1", "ref": "2.1:1", "off_lo": 0.157, "off_hi": 0.237, "accepted": True, "method": "request/response",
     "reason": "from 1 request/response pair", "n_pairs": 1, "drift_lo": None, "drift_hi": None, "pairs": [PAIR]},
    {"clock": "1.1:1", "ref": "3.1:1", "off_lo": -1460613509.3328, "off_hi": -1460613509.3328, "accepted": False, "method": "process start",
     "reason": "interval mismatch, a different connection", "n_pairs": 1, "drift_lo": None, "drift_hi": None, "pairs": []},
]  # fmt: skip
STEP = {"clock": "3.1:1", "ref": "2.1:1", "test": "step", "t_at": 40.1, "size_s": 3600.0, "n_anchors": 4}


@pytest.fixture
def clocked(judged: Judged) -> Judged:
    """Return the judged room; its report has two tied clocks, one with a refused tie and one without times."""
    evaluation = judged.lead.incident.evaluations.get()
    evaluation.report = evaluation.report | {"clocks": CLOCKS, "clock_map": MAP, "clock_checks": [STEP]}
    evaluation.save()
    return judged


def page(room: Judged) -> str:
    return client_of(room.viewer).get(reverse("clocks", args=[room.slug])).content.decode()


def post(room: Judged, **fields: Any) -> Any:
    data = {"clock": "3.1:1", "ref": "2.1:1", "ahead": "0.2", "err": "0.05", "text": "both were set by hand"} | fields
    return client_of(room.investigator).post(reverse("clocks", args=[room.slug]), data)


def test_each_clock_says_what_it_is_and_raw_stamps_stay(clocked: Judged) -> None:
    text = page(clocked)
    assert "Frame A: 2 clocks on one axis" in text
    assert "2016-04-14 05:58:39.566" in text, "the stamp as the listener printed it, not shifted"
    assert "-0.197 s ± 0.040 s" in text
    assert "8.6926 s" in text
    assert "seconds since the trace began" in text
    assert "Without a place in time" in text


def test_what_ties_them_is_cited_and_what_was_refused_says_why(clocked: Judged) -> None:
    text = page(clocked)
    assert "0.197 s ± 0.040 s ahead" in text
    assert f"{reverse('lines', args=[clocked.slug, 3])}#L1-L2" in text
    assert f"{reverse('lines', args=[clocked.slug, 2])}#L2-L3" in text
    assert "+0.157 s to +0.237 s" in text
    assert "interval mismatch, a different connection" in text
    assert "its zero would be 2016-04-14 05:58:29.333" in text
    assert "the offset moves by +3600.000 s" in text


def test_order_within_the_uncertainty_is_called_undecidable(clocked: Judged) -> None:
    assert "less than <b>0.040 s</b> apart" in page(clocked)


def test_a_stated_offset_is_kept_marked_and_judged(clocked: Judged) -> None:
    assert post(clocked).status_code == 302
    row = ClockOffset.objects.get()
    assert (row.clock, row.ref, round(row.lo, 6), round(row.hi, 6)) == ("3.1:1", "2.1:1", 0.15, 0.25)
    assert Job.objects.filter(kind=JobKind.JUDGE, state="queued").count() == 1
    text = page(clocked)
    assert "Stated by people" in text
    assert "both were set by hand" in text
    taken = client_of(clocked.investigator).post(
        reverse("clocks", args=[clocked.slug]), {"do": "remove", "offset": row.pk}
    )
    assert (taken.status_code, ClockOffset.objects.count()) == (302, 0)


def test_the_zero_of_a_trace_is_said_as_a_time(clocked: Judged) -> None:
    assert post(clocked, clock="1.1:1", ahead="2016-04-14 05:58:29.5", err="0.5").status_code == 302
    row = ClockOffset.objects.get()
    assert (row.lo, row.hi) == (-1460613510.0, -1460613509.0)
    assert "its zero would be 2016-04-14 05:58:29.500 ± 0.500 s there" in page(clocked)


def test_a_check_says_what_contradicts_and_states_nothing(clocked: Judged) -> None:
    answer = post(clocked, ahead="5", do="check")
    assert "yours misses it by 4.713 s" in answer.content.decode()
    assert "both were set by hand" in answer.content.decode()
    assert "No line contradicts it" in post(clocked, ahead="0.2", do="check").content.decode()
    turned = post(clocked, clock="2.1:1", ref="3.1:1", ahead="-0.2", do="check")
    assert "No line contradicts it" in turned.content.decode(), "said the other way round it is the same"
    assert not ClockOffset.objects.exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"ahead": "31622400"}, "That is 366.0 days"),
        ({"ahead": "much"}, "Write seconds as a number"),
        ({"ahead": "nan"}, "Write seconds as a number"),
        ({"ahead": "1e300"}, "Write seconds as a number"),
        ({"ref": "3.1:1"}, "Choose a clock other"),
        ({"clock": "1.1:1", "ahead": "12"}, "say when its zero was"),
        ({"text": ""}, "This field is required"),
        ({"err": "-1"}, "greater than or equal to 0"),
        ({"clock": "4.1:1"}, "not one of the available choices"),
    ],
)
def test_a_bad_offset_is_refused_in_words_and_stays_typed(clocked: Judged, fields: dict[str, str], words: str) -> None:
    answer = post(clocked, **fields)
    text = answer.content.decode()
    assert answer.status_code == 422
    assert words in text
    assert f'value="{fields.get("ahead", "0.2")}"' in text
    assert not ClockOffset.objects.exists()


TIE = {"clock": "3.1:1", "ref": "2.1:1"}


def tries(room: Judged, at: int | str, **more: str) -> Any:
    return client_of(room.viewer).get(reverse("clocks", args=[room.slug]), {**TIE, "at": str(at), **more})


def test_a_slider_reaches_over_the_bounds_and_says_where_they_are(clocked: Judged) -> None:
    text = page(clocked)
    assert 'type="range" id="try-1" name="at" min="0" max="200" value="100"' in text
    assert '<rect class="allowed" x="50" width="100" height="8"/>' in text, "half of the width beyond either bound"
    assert "The lines allow from 0.157 s ahead to 0.237 s ahead" in text
    assert text.count('type="range"') == 1, "what was refused has nothing to try"


@pytest.mark.parametrize(
    ("at", "says", "verdict"),
    [
        (100, "0.197 s ahead", "allowed by every pair"),
        (50, "0.157 s ahead", "allowed by every pair"),  # on the bound itself
        (150, "0.237 s ahead", "allowed by every pair"),
        (49, "0.156 s ahead", "refused, 0.000800 s outside"),
        (151, "0.238 s ahead", "refused, 0.000800 s outside"),
        (0, "0.117 s ahead", "refused, 0.040000 s outside"),
        (99999, "0.277 s ahead", "refused, 0.040000 s outside"),  # beyond the slider is its end
    ],
)
def test_a_moved_slider_says_which_pairs_it_contradicts(clocked: Judged, at: int, says: str, verdict: str) -> None:
    for answer in (tries(clocked, at), tries(clocked, at, part="try")):
        text = answer.content.decode()
        assert f"<b>{says}</b>" in text
        assert verdict in text
        assert ("missed by" in text) == ("refused," in text)
        assert ("✓ agrees" in text) == ("allowed by every pair" in text)
    assert f'value="{min(at, 200)}"' in tries(clocked, at).content.decode(), "without scripts it stays where it was put"
    assert not ClockOffset.objects.exists()


def test_what_was_tried_can_be_stated_up_to_the_nearer_bound(clocked: Judged) -> None:
    address = reverse("clocks", args=[clocked.slug])
    tried = unbroken(client_of(clocked.investigator).get(address, {**TIE, "at": "120", "part": "try"}))
    link = re.search(r'href="([^"]+)#state">State it', tried)
    assert link
    text = unbroken(client_of(clocked.investigator).get(unescape(link[1])))
    assert 'name="ahead" value="0.213000"' in text
    assert 'name="err" value="0.024000"' in text
    assert post(clocked, ahead="0.213000", err="0.024000").status_code == 302
    assert "State it" not in tries(clocked, 120, part="try").content.decode(), "a viewer states nothing"
    assert "State it" not in client_of(clocked.investigator).get(address, {**TIE, "at": "0"}).content.decode()


def test_the_zero_of_a_trace_is_tried_as_a_time(clocked: Judged) -> None:
    evaluation = clocked.lead.incident.evaluations.get()
    zero = {"clock": "1.1:1", "ref": "3.1:1", "off_lo": -1460613509.5, "off_hi": -1460613509.3}
    pair = PAIR | {"off_lo": -1460613509.5, "off_hi": -1460613509.3}
    evaluation.report = evaluation.report | {"clock_map": [MAP[0] | zero | {"pairs": [pair]}]}
    evaluation.save()
    client = client_of(clocked.investigator)
    answer = client.get(reverse("clocks", args=[clocked.slug]), {"clock": "1.1:1", "ref": "3.1:1", "at": "100"})
    text = answer.content.decode()
    assert "<b>Its zero would be 2016-04-14 05:58:29.400 there</b>" in text
    assert "ahead=2016-04-14%2005%3A58%3A29.400" in text


@pytest.mark.parametrize("at", ["", "-1", "1.5", "x", "١", "1e3", "9" * 40])
def test_no_place_of_a_slider_is_refused(clocked: Judged, at: str) -> None:
    assert tries(clocked, at).status_code == 400


def test_clocks_that_nothing_ties_have_nothing_to_try(clocked: Judged) -> None:
    for ids in ({"clock": "1.1:1", "ref": "3.1:1"}, {"clock": "9.9:9", "ref": "<b>"}):
        assert tries(clocked, 3, part="try", **ids).status_code == 404
        assert tries(clocked, 3, **ids).status_code == 200
    assert client_of(clocked.viewer).get(reverse("clocks", args=[clocked.slug]), {"part": "try"}).status_code == 404


def test_a_tie_with_drift_has_other_bounds_at_each_moment_and_no_slider(clocked: Judged) -> None:
    evaluation = clocked.lead.incident.evaluations.get()
    evaluation.report = evaluation.report | {"clock_map": [MAP[0] | {"drift_lo": -1e-5, "drift_hi": 1e-5}]}
    evaluation.save()
    assert 'type="range"' not in page(clocked)


def test_a_year_is_taken_when_it_is_meant(clocked: Judged) -> None:
    assert post(clocked, ahead="31622400", far="on").status_code == 302


def test_an_empty_room_says_what_to_do(judged: Judged) -> None:
    assert "No clocks yet" in page(judged)
