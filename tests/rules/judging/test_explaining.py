"""A mechanism becomes a lead only if it accounts for half, is named or seen twice, and nothing speaks against it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rules.judging import explaining
from rules.judging.explaining import as_verdict, explanations, lead
from rules.model import Hypothesis
from rules.signatures.mechanisms import Contradiction, Mechanism, Step
from tests.rules.judging.test_observing import row

JOURNAL = Mechanism(
    "journal-wait", "waits until the journal has written", "storage", "H-STORAGE", (Step("iostat"),),
    (Contradiction("the disk was idle", measure="disk_busy_pct", below=5),), looks_like=("flush-wait",),
)  # fmt: skip
FLUSH = replace(
    JOURNAL, mechanism="flush-wait", is_="waits for a flush", contradicted_by=(), looks_like=("journal-wait",)
)
NAMES = replace(
    FLUSH, mechanism="resolver-timeout", is_="a name server does not answer", layer="name_service", hypothesis="H-NSS"
)
CHILD = replace(
    FLUSH, mechanism="child-wait", is_="waits for a child", layer="client_app", hypothesis="H-CLIENT", follow=True
)
FULL = replace(FLUSH, mechanism="full-node", is_="a node is full", brings=("resolver-timeout",))
LATE = replace(NAMES, mechanism="late-answer", contradicted_by=(Contradiction("no answer", mechanism="no-answer"),))
NONE = replace(NAMES, mechanism="no-answer", contradicted_by=(Contradiction("an answer", mechanism="late-answer"),))
BUSY = replace(FLUSH, mechanism="busy-machine", ordinary=True)
ASLEEP = replace(FLUSH, mechanism="remote-file-wait", is_="a file server is slow", plain_asleep=True)
BEHIND = replace(CHILD, mechanism="behind-a-proxy", is_="waits for the server behind a proxy", far_end=True)
HELD = replace(ASLEEP, mechanism="program-lock", is_="a lock of the program", layer="client_app", hypothesis="H-CLIENT")
ALL = (HELD, JOURNAL, FLUSH, NAMES, CHILD, FULL, LATE, NONE, BUSY, ASLEEP, BEHIND)


@pytest.fixture(autouse=True)
def _mechanisms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explaining, "mechanisms", lambda: {m.mechanism: m for m in ALL})


def seen(line: int, mechanism: str | None = "journal-wait", **more: Any) -> dict[str, Any]:
    named = {"mechanism": mechanism, "strength": "mechanism", "layer": None, "seconds": 6.0, "of_s": 10.0}
    return row(line, **{**named, **more})


def led(*rows: dict[str, Any], measures: tuple[dict[str, Any], ...] = (), **more: Any) -> str | None:
    made = lead(explanations(rows, measures, **more))
    return made.mechanism.mechanism if made else None


def test_half_of_the_seconds_named_outright_are_a_lead() -> None:
    assert led(seen(1)) == "journal-wait"


@pytest.mark.parametrize(
    "rows",
    [
        [seen(1, seconds=4.9)],  # less than half
        [seen(1, seconds=0.09, of_s=0.1)],  # nobody feels it
        [seen(1, strength="shape")],  # may be something else
        [seen(1, idle="waits for work")],
        [seen(1, mechanism=None)],
        [seen(1, "child-wait")],  # the answer is owed at the other end
    ],
)
def test_what_is_less_is_no_lead(rows: list[dict[str, Any]]) -> None:
    assert led(*rows) is None


def test_many_small_waits_are_felt_from_a_second_together() -> None:
    small: dict[str, Any] = {"value": 0.006, "kind": "repetition", "n": 165}
    assert led(seen(1, seconds=0.99, of_s=1.0, **small)) is None
    assert led(seen(1, seconds=1.0, of_s=1.2, **small)) == "journal-wait"
    assert led(seen(1, seconds=0.2, of_s=0.3, value=0.1)) == "journal-wait"


@pytest.mark.parametrize(("n", "felt"), [(6, True), (7, False)])
def test_few_waits_of_20_ms_each_are_felt(n: int, felt: bool) -> None:
    few = seen(1, seconds=0.12, of_s=0.13, value=float(n), unit="count", n=n, kind="repetition")
    assert led(few) == ("journal-wait" if felt else None)


def test_two_independent_shapes_are_a_lead_and_agree() -> None:
    one, other = (
        seen(1, strength="shape"),
        seen(5, strength="shape", observer="standing-still", seconds=None, share=0.3),
    )
    (made,) = explanations([one, other], [])
    assert lead([made]) is not None
    assert as_verdict(made, (), None).support == "fair"
    assert led(one, seen(5, strength="shape", seconds=1.0)) is None  # the same observer and artifact


def test_half_of_a_measured_whole_leads_although_its_name_only_fits() -> None:
    part = seen(1, strength="shape", observer="profile-weight", seconds=None, share=0.6)
    assert led(part) == "journal-wait"
    made = lead(explanations([part], []))
    assert made is not None
    assert as_verdict(made, (), None).support == "weak"
    assert led({**part, "share": 0.4}) is None
    assert led({**part, "mechanism": BUSY.mechanism}) is None  # a machine at work looks the same
    assert led({**part, "observer": "repetition"}) is None  # calls among others: what they wait for is not measured
    other = seen(5, "resolver-timeout", strength="shape", seconds=None, share=0.2)
    assert led(part, other) is None
    assert led(part, {**other, "share": 0.1}) == "journal-wait"
    assert led(part, seen(5, "child-wait", strength="shape")) == "journal-wait"  # followed, not a rival


def test_the_same_lines_do_not_count_twice() -> None:
    assert led(seen(1, seconds=3.0), seen(1, seconds=3.0, observer="timer-steps")) is None
    assert led(seen(1, seconds=3.0), seen(2, seconds=3.0)) == "journal-wait"


def test_a_measure_contradicts_only_on_the_same_host() -> None:
    idle = row(9, name="disk_busy_pct", value=2.0)
    assert led(seen(1), measures=(idle,)) is None
    assert led(seen(1), measures=({**idle, "host": "db2"},)) == "journal-wait"
    assert led(seen(1), measures=({**idle, "value": 60.0},)) == "journal-wait"


def test_a_rival_of_another_layer_excludes_a_lead() -> None:
    rival = seen(5, "resolver-timeout", seconds=3.5, layer="name_service")
    assert led(seen(1), rival) is None
    assert led(seen(1), {**rival, "seconds": 2.9}) == "journal-wait"
    assert led(seen(1), seen(5, "child-wait", seconds=9.0)) == "journal-wait"  # followed, not a rival


def test_a_shape_is_a_rival_only_if_it_is_heavier() -> None:
    shape = seen(5, "resolver-timeout", seconds=5.9, layer="name_service", strength="shape")
    assert led(seen(1), shape) == "journal-wait"
    assert led(seen(1), {**shape, "seconds": 6.1}) is None


def test_what_a_lead_brings_along_is_no_rival_and_no_lead() -> None:
    queue = seen(5, "resolver-timeout", seconds=9.0, layer="name_service")
    assert led(seen(1, "flush-wait"), queue) is None
    assert led(seen(1, "full-node"), queue) == "full-node"


def test_a_wait_for_a_known_server_leads_to_its_layer_if_nothing_else_does() -> None:
    peer = seen(5, "child-wait", seconds=9.0, layer="database")
    assert led(peer) == "child-wait"
    assert led(seen(1), peer) == "journal-wait"
    assert led({**peer, "layer": None}) is None


def test_what_the_system_of_a_client_lacks_is_owed_by_the_client() -> None:
    (made,) = explanations([seen(1, "full-node", layer="os_kernel")], [], clients=["db1"])
    assert (made.layer, made.hypothesis) == ("client_host", "H-CLIENT")
    (made,) = explanations([seen(1)], [], clients=["db1"])
    assert made.layer == "storage", "what it shares with others is not its own"


def test_two_named_mechanisms_of_one_cause_count_together() -> None:
    half = seen(1, seconds=3.0), seen(5, "flush-wait", seconds=3.0)
    assert led(*half) == "journal-wait"
    assert led(half[0], seen(1, "flush-wait", seconds=3.0)) is None, "the same lines"
    assert led(half[0], {**half[1], "strength": "shape"}) is None, "one is only a shape, and light"
    heavy = {**half[1], "strength": "shape", "seconds": 6.0}
    assert led(half[0], heavy) == "journal-wait", "what fits most of it and has the same cause counts"
    assert led({**half[0], "strength": "shape"}, heavy) is None, "none of them is sure"
    assert led(half[0], {**half[1], "seconds": 1.0}) is None


def test_lines_of_one_log_add_up() -> None:
    lines = [seen(n, observer="log-complaints", seconds=None, share=0.2) for n in (1, 2, 3)]
    assert led(*lines) == "journal-wait"
    assert led(*lines[:2]) is None
    assert led(*({**one, "observer": "saturation"} for one in lines)) is None, "three devices are no whole"


def test_the_lighter_of_two_that_exclude_each_other_gives_way() -> None:
    late, none = seen(1, "late-answer", seconds=9.0), seen(1, "no-answer", seconds=2.0)
    assert led(late, none) == "late-answer"
    assert led({**late, "seconds": 1.0}, {**none, "seconds": 9.0}) == "no-answer"


def test_the_board_and_a_clearing_exclude_it() -> None:
    against = Hypothesis("H-STORAGE", "storage is slow", -3, {})
    assert led(seen(1), hypotheses=[against]) is None


def test_a_quiet_rule_of_the_same_cause_makes_it_weak() -> None:
    two = [seen(1), seen(5, observer="standing-still", seconds=None, share=0.3)]
    made = lead(explanations(two, (), quiet={"H-STORAGE": ["IO-001"]}))
    assert made is not None
    assert as_verdict(made, (), None).support == "weak"


def test_a_failure_that_ended_every_step_is_felt() -> None:
    failed = seen(1, seconds=None, failure=True, n=3)
    assert led(failed) == "journal-wait"
    assert led(failed, row(8, failure=True, n=4)) is None  # less than half of the failures


def test_the_verdict_says_that_it_is_not_proven_and_what_would_settle_it() -> None:
    (made,) = explanations([seen(1)], [])
    led_to = lead([made])
    assert led_to is not None
    verdict = as_verdict(led_to, ("more",), "iostat -x 1 30")
    assert (verdict.state, verdict.layer, verdict.hypothesis, verdict.mechanism) == (
        "lead",
        "storage",
        "H-STORAGE",
        "journal-wait",
    )
    assert verdict.rival == "waits for a flush"
    assert verdict.sentence == (
        "Not proven: Call 1 waits. What fits: waits until the journal has written."
        " Another explanation: waits for a flush. This would settle it: iostat -x 1 30."
    )


def test_observers_of_the_same_samples_do_not_confirm_each_other() -> None:
    held = seen(1, strength="shape", observer="still-counters")
    like = seen(5, strength="shape", observer="throttled-periods", seconds=1.0)
    assert led(held, like) is None
    assert led(held, {**like, "artifact_id": 2}) == "journal-wait"


def part(
    line: int, share: float, kind: str = "standing", observer: str = "standing-still", **more: Any
) -> dict[str, Any]:
    return seen(line, seconds=None, of_s=None, share=share, kind=kind, observer=observer, **more)


def test_threads_of_one_listing_add_up() -> None:
    assert led(part(1, 0.3), part(2, 0.2)) == "journal-wait"
    assert led(part(1, 0.3), part(2, 0.19)) is None
    # Some processes of a listing, and some threads of a dump: not of one whole.
    assert led(part(1, 0.3), part(2, 0.2, "asleep")) is None


def test_functions_of_a_profile_add_up_and_each_counts_once() -> None:
    profile: dict[str, Any] = {"kind": "profile", "observer": "profile-weight"}
    assert led(part(1, 0.3, subject="f", **profile), part(2, 0.2, subject="g", **profile)) == "journal-wait"
    # The same function, by another event.
    assert led(part(1, 0.3, subject="f", **profile), part(9, 0.25, subject="f", **profile)) is None


def test_what_may_have_brought_the_lead_is_no_rival() -> None:
    late = seen(1, "resolver-timeout", seconds=6.0)
    assert led(late, seen(2, "full-node", seconds=8.0, strength="shape")) == "resolver-timeout"
    assert led(late, seen(2, "flush-wait", seconds=8.0, strength="shape")) is None


@pytest.mark.parametrize(
    ("mechanism", "share", "observer", "kind", "more", "leads"),
    [
        ("flush-wait", 0.9, "standing-still", "asleep", {"n": 9}, False),
        ("remote-file-wait", 0.5, "standing-still", "asleep", {"n": 3}, True),
        ("remote-file-wait", 0.5, "standing-still", "asleep", {"n": 2}, False),
        ("remote-file-wait", 0.5, "standing-still", "lockup", {"n": 2}, True),
        ("remote-file-wait", 1.0, "standing-still", "lockup", {"n": 1}, False),
        ("remote-file-wait", 0.5, "standing-still", "hung", {"n": 1}, True),
    ],
)
def test_where_nobody_is_in_passing_a_name_that_fits_is_enough(
    mechanism: str, share: float, observer: str, kind: str, more: dict[str, Any], leads: bool
) -> None:
    made = led(part(1, share, kind, observer, mechanism=mechanism, strength="shape", **more))
    assert made == (mechanism if leads else None)


@pytest.mark.parametrize(
    ("more", "leads"),
    [
        ({"n": 3}, True),
        ({"n": 1}, False),  # a hiccup
        ({"n": 1, "share": None, "seconds": 4.0}, True),
    ],
)
def test_a_wait_whose_kind_says_who_is_waited_for(more: dict[str, Any], leads: bool) -> None:
    wait = seen(1, "behind-a-proxy", **{"seconds": None, "of_s": 4.0, "share": 1.0, **more})
    assert led(wait) == ("behind-a-proxy" if leads else None)
    assert led(wait, seen(5)) == "journal-wait"  # whatever is named is no rival of it
    assert led({**wait, "mechanism": "child-wait"}) is None


@pytest.mark.parametrize(
    ("n", "share", "expected"), [(3, 0.5, "program-lock"), (2, 1.0, None), (3, 0.4, None), (900, 0.9, "program-lock")]
)
def test_three_threads_at_one_lock_of_their_program_name_it(n: int, share: float, expected: str | None) -> None:
    at = {"observer": "standing-still", "kind": "standing", "strength": "shape", "seconds": None, "of_s": None}
    assert led(seen(4, "program-lock", **at, n=n, share=share)) == expected
