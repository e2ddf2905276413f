"""The unit that holds a start, and the part that holds a load test's requests; even starts and short requests say nothing."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.timed_steps import STARTUP, observe
from rules.signatures.signatures import recognise


def seen(*timed: tuple[str, float]) -> list[Sighting]:
    rows: list[dict[str, Any]] = [{"line_no": n, "op": op, "elapsed_s": s} for n, (op, s) in enumerate(timed, 1)]
    return list(observe(Case.of_tables({"logs": rows})))


def test_the_unit_on_the_way_to_a_target() -> None:
    (made,) = seen(
        ("the way to graphical.target", 72.0), ("the start of docker.service", 1.0), ("the start of net.service", 60.0)
    )
    assert made.headline == "net.service itself took 1 min 0 s of the 1 min 12 s on the way to graphical.target"
    assert (made.seconds, made.of_s, [c.line_from for c in made.lines]) == (60.0, 72.0, [3, 1])
    assert recognise(**made.seen[0])[0].layer == "client_app"


def test_the_names_of_one_device_count_once() -> None:
    names = [(f"the start of dev-disk-by-label-{n}.device", 9.0) for n in range(20)]
    (made,) = seen(("the start of settle.service", 30.0), *names, ("the start of cron.service", 1.0))
    assert (made.seconds, made.of_s) == (30.0, 40.0)


@pytest.mark.parametrize(
    ("unit", "layer"),
    [
        ("NetworkManager-wait-online.service", "configuration"),
        ("systemd-udev-settle.service", "configuration"),
        ("dev-sdb1.device", "os_kernel"),
        ("data.mount", "storage"),
    ],
)
def test_what_a_unit_waits_for(unit: str, layer: str) -> None:
    (made,) = seen((f"the start of {unit}", 90.0), ("the start of cron.service", 0.1))
    assert (recognise(**made.seen[0])[0].layer or "configuration") == layer


@pytest.mark.parametrize(
    "timed",
    [
        (("the start of a.service", 90.0),),  # alone: of what?
        (("the start of a.service", 4.9), ("the start of b.service", 0.1)),
        (("the start of a.service", 9.0), ("the start of b.service", 8.0), ("the start of c.service", 8.0)),
        (("the way to x.target", 30.0), ("the start of a.service", 14.0)),
    ],
)
def test_even_and_short_starts_say_nothing(timed: tuple[tuple[str, float], ...]) -> None:
    assert seen(*timed) == []


def load_test(connect: float, first: float, last: float, total: float, *parts: float) -> list[Sighting]:
    steps = zip(("Connect", "Processing", "Waiting", "Total"), (connect, last, first, total), strict=True)
    return seen(
        *((f"{name} of a request", s) for name, s in steps), *(("a request of the load test", s) for s in parts)
    )


def test_an_answer_that_ends_by_a_timer() -> None:
    (made,) = load_test(0.004, 0.004, 12.008, 12.012, 12.012, 12.02, 12.024)
    assert made.headline == (
        "Of a request of 12.012 s (median), 12.004 s went by between the first byte of the answer and its end,"
        " 4 ms connecting, 4 ms waiting for the first byte of the answer; half of the requests and the slowest differ by 12 ms only"
    )
    assert [f.mechanism for f in recognise(**made.seen[0])] == ["service-timeout"]


@pytest.mark.parametrize(
    ("steps", "step"),
    [
        ((0.001, 0.9, 0.91, 0.911), "time_starttransfer"),
        ((0.001, 0.1, 2.0, 2.001), "time_total"),
        ((3.0, 0.1, 0.1, 3.1), "time_connect"),
    ],
)
def test_the_step_that_holds_a_request(steps: tuple[float, float, float, float], step: str) -> None:
    (made,) = load_test(*steps, 1.0, 1.5, 3.0)
    assert made.seen == ({"counter": step},)


@pytest.mark.parametrize("steps", [(0.03, 0.03, 0.06, 0.09), (0.4, 0.4, 0.7, 1.1)])
def test_short_and_even_requests_say_nothing(steps: tuple[float, float, float, float]) -> None:
    assert load_test(*steps, 1.0, 1.5, 3.0) == []


def test_how_many_requests_kept_their_connection() -> None:
    steps = zip(("Connect", "Waiting", "Processing", "Total"), (0.001, 0.9, 0.91, 0.911), strict=True)
    logs = [{"line_no": n, "op": f"{step} of a request", "elapsed_s": s} for n, (step, s) in enumerate(steps, 1)]
    counts = [{"line_no": 20, "name": "Complete requests", "value": 50.0}]
    kept = [{"line_no": 22, "name": "Keep-Alive requests", "value": 3.0}]
    (made,) = observe(Case.of_tables({"logs": logs, "counters": [*counts, *kept]}))
    assert made.beside == "3 of 50 requests kept their connection"
    assert [line.line_from for line in made.lines][-2:] == [20, 22]
    (made,) = observe(Case.of_tables({"logs": logs, "counters": counts}))
    assert (made.beside, len(made.lines)) == (None, 4), "it was not asked for"


def started(text: str) -> list[Sighting]:
    rows: list[dict[str, Any]] = [{"line_no": 1, "op": STARTUP, "elapsed_s": 1.0, "text": text}]
    return list(observe(Case.of_tables({"logs": rows})))


def test_a_start_of_minutes_is_told_with_its_stage() -> None:
    (made,) = started("Startup finished in 2.500s (kernel) + 1min 41.250s (userspace) = 1min 43.750s")
    assert made.headline == "The start of the system took 1 min 44 s, 1 min 41 s of it in the stage userspace"
    assert not made.normal


def test_a_usual_start_is_normal_and_a_slow_firmware_is_not_the_systems() -> None:
    (made,) = started("Startup finished in 2min 5s (firmware) + 4s (loader) + 3s (kernel) + 9s (userspace) = 2min 21s")
    assert (made.value, made.normal) == (12.0, True)
    assert started("Startup finished in 2min 5s (firmware) = 2min 5s") == []
    assert started("Startup finished") == []


def test_equal_times_of_days_cannot_be() -> None:
    (made,) = seen(*((f"the start of u{n}.service", 40 * 86_400.0) for n in range(4)))
    assert made.headline == (
        "4 units are said to have taken the same time to start, 40 days: that cannot be, so these times are wrong"
    )
    assert recognise(**made.seen[0])[0].mechanism is None
    assert all(
        "cannot be" not in s.headline
        for s in seen(("the start of a.service", 90_000.0), ("the start of b.service", 9.0))
    )
