"""Tests of times that log lines state, gaps with the lines around them, and steps between two lines with one id."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.log_times import begun_by, brief, gaps, quoted, steps, texts
from rules.signatures.signatures import recognise


def case(*rows: tuple[float | None, str]) -> Case:
    made: list[dict[str, Any]] = [
        {"line_no": n, "t_local": t, "text": text, "elapsed_s": None} for n, (t, text) in enumerate(rows, 1)
    ]
    return Case.of_tables({"logs": made})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("slow query (duration=15021 ms)", 15.021),
        ("took 5.2s", 5.2),
        ('"took":"30.002s"', 30.002),
        ("elapsed=1m30.5s", 90.5),
        ("duration_ms=5123 rows=3", 5.123),
        ("# Query_time: 12.5  Lock_time: 0.0", 12.5),
        ("hits=3 status=0 QTime=812", 0.812),
        ("GC(12) Pause Full (Allocation Failure) 1023M->1000M(1024M) 5123.456ms", 5.123456),
        ("request timed out after 30000ms.", 30.0),
        ("web app/app1 0/5000/1/20/5021 200 194 - - ----", 5.021),
        ("overhead, spent [346ms] collecting in the last [1s]", 0.346),
        ("apply entries took too long [1.25s for 1 entries]", 1.25),
        ("apply entries took too long [25ms for 1 entries]", None),
        ("waited 250 us", None),
        ("connection timeout=30 s", None),
        ("lease expires in 3600 seconds", None),
        ("timeout_ms=30000", None),
        ("99999999 s elapsed", None),
        ("no figure at all", None),
        ("pleg was last seen active 3h4m5.5s ago; threshold is 3m0s", 11045.5),
        ("peer db7: last heartbeat was received 48s ago", 48.0),
        ("monitor last seen alive never", None),
        ("[WRN] slow request 41.25 seconds old, received at 10:02:11", 41.25),
        ("[WRN] 2 slow requests, 2 included below; oldest blocked for > 33.5 secs", 33.5),
        ("7 ops are blocked > 131.072 sec on osd.9", 131.072),
        ("9 slow ops, oldest one blocked for 95 sec, osd.4 has slow ops", 95.0),
    ],
)
def test_a_line_tells_what_took_how_long(text: str, seconds: float | None) -> None:
    made = list(texts(case((None, text))))
    assert [s.value for s in made] == ([] if seconds is None else [pytest.approx(seconds)])


def test_lines_of_one_template_are_told_once_with_the_longest_first() -> None:
    (made,) = texts(case(*((None, f"GET /a took {ms} ms") for ms in (100, 900, 300))))
    assert made.headline == 'A line tells of 0.900 s: "GET /a took 900 ms"; 3 such lines, 0.300 s (median)'
    assert [c.line_from for c in made.lines] == [2, 3, 1]


def test_the_figure_of_a_long_line_is_shown() -> None:
    (made,) = texts(case((None, f"{'x ' * 200}took 1234 ms")))
    assert "1234 ms" in made.headline
    assert len(quoted("y" * 500)) == 150


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a b/c 0/5000/1/20/5021 200 9 -", "5.000 s of it in the queue"),
        ("a b/c 0/0/1/-1/30002 504 1 -", "and it never got an answer"),
    ],
)
def test_a_timer_of_haproxy_says_where_the_time_went(text: str, says: str) -> None:
    assert [s.headline.endswith(says) for s in texts(case((None, text)))] == [True]


def test_a_gap_names_the_lines_before_and_after_it() -> None:
    (made,) = gaps(case((0.0, "a"), (0.1, "b"), (0.2, "c"), (0.3, "start cache"), (15.3, "listening")))
    assert 'wrote nothing for 15.000 s between "start cache" and "listening"' in made.headline
    assert [c.line_from for c in made.lines] == [4, 5]


def test_stamps_of_whole_seconds_give_no_fractions() -> None:
    (made,) = gaps(case((1.0, "a"), (1.0, "b"), (1.0, "c"), (1.0, "d"), (12.0, "e"), (13.0, "f")))
    assert made.headline == (
        'the log wrote nothing for 11 s between "d" and "e"; most other lines have the stamp of the line before'
    )
    assert made.short == "11 s before line 5"


def test_a_step_ends_with_the_answer_of_its_id() -> None:
    (made,) = steps(
        case(
            (0.0, "Request id=7 received"),
            (0.1, "Request id=8 received"),
            (0.2, "id=8 answered"),
            (15.0, "id=7 answered"),
        )
    )
    assert (made.subject, made.value) == ("7", 15.0)
    assert made.headline.startswith(
        '15.000 s went by between "Request id=7 received" and "id=7 answered"; 2 such steps'
    )


@pytest.mark.parametrize(
    "rows",
    [
        ((0.0, "session id=7 closed"), (99.0, "id=7 answered")),
        ((0.0, "id=7 received"), (99.0, "id=7 is at rest")),
        ((0.0, "id=7 received"), (0.9, "id=7 answered")),
        ((0.0, "id=7 received"), (99.0, "id=8 answered")),
        ((None, "id=7 received"), (99.0, "id=7 answered")),
    ],
)
def test_what_is_no_step_is_none(rows: tuple[tuple[float | None, str], ...]) -> None:
    assert list(steps(case(*rows))) == []


@pytest.mark.parametrize(("said", "told"), [("pool is not ready, waiting until it is", True), ("pool is ready", False)])
def test_a_short_log_tells_how_long_it_was_silent_behind_a_line_that_waits(said: str, told: bool) -> None:
    rows = [{"t_local": 0.0, "text": said, "line_no": 1}, {"t_local": 17.0, "text": "Started it.", "line_no": 2}]
    made = list(brief(Case.of_tables({"logs": rows})))
    assert bool(made) is told
    if made:
        assert made[0].headline == '17.000 s went by between "pool is not ready, waiting until it is" and "Started it."'


def test_a_log_with_a_usual_gap_is_left_to_the_gaps() -> None:
    rows = [{"t_local": 10.0 * n, "text": "waiting", "line_no": n} for n in range(1, 5)]
    assert list(brief(Case.of_tables({"logs": rows}))) == []


def test_a_log_with_its_newest_line_first_is_read_from_its_end() -> None:
    words = ("parameters are done", "child 53 was killed", "Generating parameters")
    rows = [
        {"t_local": t, "text": w, "line_no": n}
        for n, (t, w) in enumerate(zip((40.0, 34.0, 0.0), words, strict=True), 1)
    ]
    (made,) = brief(Case.of_tables({"logs": rows}))
    assert made.headline == '34.000 s went by between "Generating parameters" and "child 53 was killed"'
    assert [(c.line_from, c.role) for c in made.lines] == [(3, "before the gap"), (2, "after the gap")]


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("INFO: task treed:77 blocked for more than 120 seconds.", 0),
        ("watchdog: BUG: soft lockup - CPU#5 stuck for 23s! [treed:77]", 0),
        ("request 77 was blocked for 120 seconds", 1),
    ],
)
def test_the_seconds_of_a_kernel_s_report_are_told_with_its_stack(text: str, n: int) -> None:
    assert len(list(texts(Case.of_tables({"logs": [{"line_no": 1, "text": text}]})))) == n


def test_the_program_runs_between_two_collections() -> None:
    full = "{}: [Full GC (Ergonomics) [PSYoungGen: 2048K->0K(4096K)] [ParOldGen: 8100K->8090K(8192K)] 10148K->8090K(12288K), 3.1 secs]"
    rows = [{"t_local": 9.0 * n, "text": full.format(9.0 * n), "line_no": n} for n in (1, 2)]
    assert list(brief(Case.of_tables({"logs": rows}))) == []


@pytest.mark.parametrize("said", ["Slow query", "query executed in 12 ms", "request 7: took=4100 ms, rows sent"])
def test_an_entry_that_is_written_at_the_end_begins_nothing(said: str) -> None:
    """Check a log of slow statements: a gap between two of them only means that nothing was slow."""
    assert list(brief(case((0.0, said), (13.0, "Slow query")))) == []
    assert list(steps(case((0.0, f"{said} id=7"), (13.0, "id=7 done"), (14.0, "id=8 done")))) == []


def test_the_line_after_a_gap_is_a_name_of_it() -> None:
    """What it prints had to be found out before: the name of the own host, in a start of Spring Boot."""
    rows = [
        {"line_no": n, "t_local": t, "text": text}
        for n, t, text in (
            (1, 10.0, "Restarter : Starting application till"),
            (2, 15.1, "Till : Starting Till using Java 17.0.2 on till.local with PID 411 (/srv/till)"),
        )
    ]
    (made,) = brief(Case.of_tables({"logs": rows}))
    assert recognise(**made.seen[0])[0].mechanism == "resolver-timeout"


@pytest.mark.parametrize(
    ("text", "mechanism"),
    [
        ("shop.Jobs - DNS lookup for queue.acme.example took 7013 ms", "name-server-slow"),
        ("waited 14.2 s for lock invoices", "lock-contention"),
        ("acquired connection from pool after 30007 ms", "pool-exhausted"),
        ("fsync of /srv/wal/9 took 3.1 s", "flush-wait"),
        ("DNS lookup failed before; rendering took 7013 ms", None),
        ("DNS lookup for queue.acme.example took 713 ms", None),
        ("loaded 71 baskets in 7.1 s", None),
    ],
)
def test_the_words_around_a_time_name_the_step(text: str, mechanism: str | None) -> None:
    (made,) = texts(case((0.0, text)))
    found = {one.mechanism for seen in made.seen for one in recognise(**seen) if one.mechanism}
    assert found == ({mechanism} if mechanism else set())
    assert (made.of_s is not None) == (mechanism is not None)


def test_a_named_step_is_a_part_of_all_seconds_that_the_log_tells() -> None:
    made = {
        one.of_s: one.seconds for one in texts(case((0.0, "LDAP bind took 6.0 s"), (9.0, "loaded baskets in 2.0 s")))
    }
    assert made == {8.0: 6.0, None: 2.0}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("2031-01-02 03:04:05 Resolving host queue.acme.example ...", True),
        ("INFO [w-1] shop.Jobs - Waiting for lock invoices", True),
        ("INFO waiting for messages in queue invoices", False),
        ("INFO polling queue invoices", False),
        ("INFO query execution time: 15.2 s", False),
        ("INFO resolved host queue.acme.example in 7.0 s", False),
        ("INFO invoice stored", False),
    ],
)
def test_a_line_that_begins_a_known_step_names_what_comes_after_it(text: str, known: bool) -> None:
    assert bool(begun_by(text, 9.0)) is known


def test_a_gap_behind_a_begun_step_is_a_part_of_the_log_s_time() -> None:
    lines = [
        (0.0, "start"),
        (0.1, "resolving host queue.acme.example"),
        (9.1, "connected"),
        (9.2, "sent"),
        (10.0, "done"),
    ]
    (made,) = gaps(case(*lines))
    assert [made.seconds, made.of_s] == pytest.approx([9.0, 10.0])
    (made,) = gaps(case(*((t, text.replace("resolving", "saw")) for t, text in lines)))
    assert (made.seconds, made.of_s) == (None, None)


def test_one_slow_step_among_many_quick_ones_is_a_small_part() -> None:
    (made,) = texts(case(*((n, f"LDAP bind {n} took 0.1 s") for n in range(99)), (99.0, "LDAP bind 99 took 1.1 s")))
    assert [made.seconds, made.of_s] == pytest.approx([1.1, 11.0])
