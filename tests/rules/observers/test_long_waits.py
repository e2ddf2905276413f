"""Tests of long waits: each is compared with the other calls of its kind; waits for work are idle."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers import long_waits
from rules.observers.long_waits import observe
from rules.observers.observer import Sighting
from tests.rules.observers.of_text import told


def calls(*rows: tuple[str, float, dict[str, Any]]) -> list[Sighting]:
    made = [
        {"pid": 7, "lwp": 7, "line_no": n, "seq": n, "t_local": float(n), "stamp": "start", "state": "done", "name": name,
         "dur_hi_s": s, "elapsed_s": s, "contiguous": "proven", **more}
        for n, (name, s, more) in enumerate(rows, 1)
    ]  # fmt: skip
    found = observe(Case.of_tables({"syscalls": made}))
    return [s for s in found if s.kind != "outside-calls"]  # the rows are a second apart


def test_a_long_call_is_told_with_the_others_there() -> None:
    (one,) = calls(("read", 0.002, {"path": "/a"}), ("read", 5.0, {"path": "/a"}), ("read", 0.002, {"path": "/a"}))
    assert (one.subject, one.value, one.against_value, one.seconds) == ("read on /a", 5.0, 0.002, 5.0)
    assert one.lines[0].line_from == 2


def test_the_bound_is_what_a_person_notices() -> None:
    assert calls(("read", 0.099, {"path": "/a"})) == []
    assert len(calls(("read", 0.1, {"path": "/a"}))) == 1


def test_a_wait_for_the_next_caller_is_idle() -> None:
    (one,) = calls(("accept", 30.0, {"ret": 5}))
    assert one.idle


def test_nothing_is_said_of_nothing() -> None:
    assert list(observe(Case.of_tables({}))) == []


def test_a_gap_in_a_log_is_unlike_the_others() -> None:
    times = [0.0, 1.0, 2.0, 3.0, 18.0]
    rows = [{"line_no": n, "t_local": t, "text": "step"} for n, t in enumerate(times, 1)]
    (one,) = observe(Case.of_tables({"logs": rows}))
    assert (one.kind, one.value, [c.line_from for c in one.lines]) == ("gap", 15.0, [4, 5])
    assert not list(observe(Case.of_tables({"logs": rows[:4]})))


def test_a_figure_in_the_text_of_a_line_is_read() -> None:
    rows = [{"line_no": 1, "text": "request took 812 ms"}, {"line_no": 2, "text": "request took 12 ms"}]
    (one,) = observe(Case.of_tables({"logs": rows}))
    assert one.value == 0.812


@pytest.mark.parametrize(
    ("series", "words"),
    [
        ("connect", "connect took 3.900 s, 2 of 2 took 0.1 s or more"),
        ("time elapsed", "the longest time elapsed is 3.900 s, 2 of 2 are 0.1 s or more"),
        ("response_time_ms", "the longest response_time_ms is 3.900 s, 2 of 2 are 0.1 s or more"),
        ("time service", "time service took 3.900 s, 2 of 2 took 0.1 s or more"),
    ],
)
def test_a_time_is_long_and_does_not_take_long(series: str, words: str) -> None:
    rows = [{"line_no": n, "series": series, "elapsed_s": s} for n, s in enumerate((3.9, 0.3), 1)]
    (one,) = observe(Case.of_tables({"conn_times": rows}))
    assert one.headline.startswith(words)


def test_what_made_the_descriptor_is_cited_with_the_wait() -> None:
    pipe: tuple[str, float, dict[str, Any]] = (
        "pipe2",
        1e-5,
        {"fd": 3, "fd2": 4, "args": "[3, 4], O_CLOEXEC", "ret": 0},
    )
    (one,) = calls(pipe, ("read", 1.5, {"fd": 3, "ret": 1}))
    assert [(c.line_from, c.role) for c in one.lines] == [
        (2, "longest wait: read()"),
        (1, "what it waits for was made by pipe2([3, 4], O_CLOEXEC)"),
    ]
    (alone,) = calls(("read", 1.5, {"fd": 3, "ret": 1}))
    assert len(alone.lines) == 1


def test_a_trace_that_names_no_process_covers_its_time() -> None:
    nobody: dict[str, Any] = {"pid": None, "lwp": None}
    found = calls(("read", 0.002, {"path": "/a", **nobody}), ("flock", 3.0, nobody), ("read", 0.002, nobody))
    (one,) = found
    assert (one.seconds, one.of_s) == (3.0, 3.0)


def test_calls_without_stamps_cover_what_they_took() -> None:
    nobody: dict[str, Any] = {"pid": None, "lwp": None, "t_local": None, "stamp": None}
    (one,) = calls(("read", 0.5, {"path": "/a", **nobody}), ("read", 0.09, {"path": "/b", **nobody}))
    assert (one.seconds, one.of_s) == (0.5, 0.59)
    # Two threads of a process wait at the same time.
    both = [("read", 1.0, {**nobody, "pid": 7, "lwp": n, "path": f"/{n}"}) for n in (7, 8)]
    assert {s.of_s for s in calls(*both)} == {1.0}


def test_a_poll_of_a_process_without_a_number_that_accepts_is_idle() -> None:
    nobody: dict[str, Any] = {"pid": None, "lwp": None}
    polled: dict[str, Any] = {"ret": 1, "args": "[{fd=4, events=POLLIN}], 1, -1", **nobody}
    assert [bool(s.idle) for s in calls(("accept4", 0.001, {"ret": 5, **nobody}), ("poll", 9.0, polled))] == [True]


def test_a_long_wait_for_a_few_random_numbers_is_known() -> None:
    awaited = {"event": "random-numbers-awaited"}
    (one,) = calls(("getrandom", 12.0, {"ret": 16}))
    assert one.seen[0] == awaited
    (one,) = calls(("read", 12.0, {"path": "/dev/random", "ret": 8}))
    assert one.seen[0] == awaited
    (many,) = calls(("getrandom", 0.2, {"ret": 64 << 20}))  # making them takes that long
    (other,) = calls(("read", 12.0, {"path": "/dev/urandom", "ret": 8}))
    assert awaited not in (*many.seen, *other.seen)


def asked(data: str, wait: tuple[str, float, dict[str, Any]]) -> list[str]:
    """Return the events of a wait after something was written to descriptor 5."""
    sent: tuple[str, float, dict[str, Any]] = ("write", 1e-5, {"fd": 5, "data": data, "ret": 40, "args": "5, ..."})
    found = [s for s in calls(sent, wait) if s.kind == "wait"]
    return [name["event"] for s in found for name in s.seen if "event" in name]


@pytest.mark.parametrize(
    ("data", "event"),
    [
        (r"\7\0\0\0\3SELECT sum(price) FROM tills", "statement-answered-late"),
        (r"Q\0\0\0\35update tills set open = 1\0", "statement-answered-late"),
        (r"POST /prices/today HTTP/1.1\r\nHost: shop", "web-request-answered-late"),
        (r"\275T\1\0\0\1\0\0\0\0\0\0\4till\4shop\0\0\1\0\1", "name-answer-late"),
        (r"\x3f\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x04till\x00", "name-answer-late"),
        ("Selected till 4", None),
        ("hello there", None),
    ],
)
def test_the_question_before_a_wait_of_seconds_names_who_is_asked(data: str, event: str | None) -> None:
    read = ("read", 1.0, {"fd": 5, "data": "ok", "ret": 2, "args": "5, ..."})
    assert asked(data, read) == ([event] if event else [])


@pytest.mark.parametrize(
    "data", [r"\7\0\0\0\3SELECT sum(price) FROM tills", r"\275T\1\0\0\1\0\0\0\0\0\0\4till\4shop\0\0\1\0\1"]
)
def test_an_answer_within_a_second_names_nobody(data: str) -> None:
    read: tuple[str, float, dict[str, Any]] = ("read", 0.9, {"fd": 5, "data": "ok", "ret": 2, "args": "5, ..."})
    assert asked(data, read) == []


def test_a_question_for_a_name_whose_wait_ended_by_its_limit_got_no_answer() -> None:
    poll: tuple[str, float, dict[str, Any]] = ("poll", 5.0, {"ret": 0, "args": "[{fd=5, events=POLLIN}], 1, 5000"})
    assert asked(r"\275T\1\0\0\1\0\0\0\0\0\0\4till\4shop\0\0\1\0\1", poll) == ["name-question-unanswered"]


@pytest.mark.parametrize(
    ("limit", "following", "known"),
    [
        ("1, 5000", "AF_INET, SOCK_DGRAM|SOCK_NONBLOCK, IPPROTO_IP", True),
        ("1, 5000", "AF_INET, SOCK_STREAM, IPPROTO_IP", False),
        ("1, 4500", "AF_INET, SOCK_DGRAM|SOCK_NONBLOCK, IPPROTO_IP", False),
    ],
)
def test_a_wait_for_one_datagram_after_which_another_is_sent_is_the_resolvers(
    limit: str, following: str, known: bool
) -> None:
    poll: tuple[str, float, dict[str, Any]] = ("poll", 5.0, {"ret": 0, "args": f"[{{fd=3, events=POLLIN}}], {limit}"})
    found = calls(poll, ("socket", 1e-5, {"args": following, "ret": 4}))
    events = [name.get("event") for s in found if s.kind == "wait" for name in s.seen]
    assert ("name-question-unanswered" in events) == known


def test_a_list_of_calls_names_the_step_of_each() -> None:
    text = (
        '"Time of Day","PID","Operation","Path","Result","Duration"\n'
        '"7:21:33.1000000 AM","71","ReadFile","\\\\files9\\tills\\a.ini","SUCCESS","2.1"\n'
        '"7:21:35.2000000 AM","71","ReadFile","\\\\files9\\tills\\b.ini","SUCCESS","2.4"\n'
    )
    made = told(long_waits, text)
    assert {"step": "ReadFile \\\\files9\\tills\\b.ini", "value": "2.400"} in [one for s in made for one in s.seen]


def test_a_gap_behind_the_next_method_belongs_to_it() -> None:
    text = (
        "07:12:01 debug1: Connection established.\n07:12:01 debug1: Next authentication method: gssapi-with-mic\n"
        "07:12:26 debug1: Next authentication method: publickey\n07:12:26 debug1: Authentication succeeded (publickey).\n"
    )
    steps = [one["step"] for s in told(long_waits, text) for one in s.seen if "step" in one]
    assert steps == ["debug1: Next authentication method: gssapi-with-mic"]


def test_a_gap_is_known_by_the_line_that_ends_it() -> None:
    """The server of logins says nothing before it looks the address up, and names the look-up when it is over."""
    text = (
        "Sep  8 07:10:01 gate9 sshd[91]: Connection from 192.0.2.9 port 5122 on 192.0.2.1 port 22\n"
        "Sep  8 07:10:31 gate9 sshd[91]: reverse mapping checking getaddrinfo for till9.example [192.0.2.9] failed\n"
        "Sep  8 07:10:31 gate9 sshd[91]: Accepted publickey for kim from 192.0.2.9 port 5122 ssh2\n"
    )
    [made] = [s for s in told(long_waits, text) if s.kind == "gap"]
    assert (made.value, made.seconds, made.of_s) == (30.0, 30.0, 30.0)
    quick = text.replace("07:10:01", "07:10:31")
    assert [s for s in told(long_waits, quick) if s.kind == "gap"] == []
