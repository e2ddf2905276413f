"""Connection times: every point leads to its line, each phase has its median, no spike is thinned away."""

from __future__ import annotations

from incidents.content.figures import MOST_POINTS, connect_times, extremes_kept


def rows(phase: str | None, artifact: int, values: list[float | None]) -> list[dict]:
    return [
        {"phase": phase, "series": "time elapsed", "artifact_id": artifact, "line_no": number, "elapsed_s": value}
        for number, value in enumerate(values, start=1)
    ]


def test_phases_stand_side_by_side_with_their_medians() -> None:
    figure = connect_times(rows("before", 5, [0.31, 3.94, 0.30]) + rows("after", 6, [0.13, None, 0.15]))
    assert figure is not None
    points = [trace for trace in figure["data"] if trace["mode"] == "markers"]
    assert [list(trace["y"]) for trace in points] == [[0.31, 3.94, 0.30], [0.13, 0.15]]
    assert [list(trace["customdata"]) for trace in points] == [[[5, 1], [5, 2], [5, 3]], [[6, 1], [6, 3]]]
    assert [note["text"] for note in figure["layout"]["annotations"]] == [
        "before<br>n 3 · 0.31 s",
        "after<br>n 2 · 0.14 s",
    ]
    assert len(figure["layout"]["shapes"]) == 1, "one border between the two"


def test_nothing_timed_draws_nothing() -> None:
    assert connect_times([]) is None
    assert connect_times(rows("before", 1, [None, None])) is None


def test_a_long_list_keeps_its_worst() -> None:
    values = [0.3] * 50_000
    values[31_234] = 9.9
    kept = extremes_kept(values, MOST_POINTS)
    assert 31_234 in kept
    assert len(kept) <= MOST_POINTS + 2


def test_a_label_is_no_markup() -> None:
    figure = connect_times(rows("<b>x</b>", 1, [0.3]))
    assert figure is not None
    assert "<b>" not in figure["layout"]["annotations"][0]["text"]
