"""Tests that complaints in a log stand out by template, and that mere messages do not."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from rules.case.case import Case
from rules.observers.log_complaints import observe
from rules.observers.log_templates import template
from rules.observers.observer import Sighting


def seen(*rows: dict[str, Any]) -> list[Sighting]:
    return list(observe(Case.of_tables({"logs": [{"line_no": n, **row} for n, row in enumerate(rows, 1)]})))


def line(text: str | None, severity: str | None = None, **more: Any) -> dict[str, Any]:
    return {"text": text, "severity": severity, **more}


def test_errors_are_grouped_by_what_stays_of_their_lines() -> None:
    made = seen(
        line("process 12 waits for 10.0.0.1:99 at /var/a", "ERROR", t_local=0.0),
        line("process 3 waits for 10.0.0.2:1 at /var/b", "ERROR", t_local=4.0),
        line("connection received", "LOG"),
        line("another", "ERROR"),
    )
    assert [s.n for s in made] == [2, 1]
    assert [s.share for s in made] == pytest.approx([2 / 3, 1 / 3])
    assert made[0].headline == (
        '2 times in 4 s: "process 12 waits for 10.0.0.1:99 at /var/a", 2 of 3 lines that complain;'
        " some of them name another address, such as 10.0.0.2"
    )
    assert [(c.line_from, c.role) for c in made[0].lines] == [(1, "first"), (2, "last")]
    assert made[0].seen == ({"log": "process 12 waits for 10.0.0.1:99 at /var/a"},)


@pytest.mark.parametrize(
    ("severity", "kind"),
    [
        ("ERROR", "error"), ("kern.err", "error"), ("crit", "error"), ("FATAL", "error"), ("[error]", "error"),
        ("3", "error"), ("<11>", "error"), ("WARNING", "warning"), ("kern.warn", "warning"), ("4", "warning"),
        ("LOG", None), ("5", None), ("Note", None), ("daemon.info", None), ("DETAIL", None), (None, None),
    ],
)  # fmt: skip
def test_the_severity_tells_what_complains(severity: str | None, kind: str | None) -> None:
    assert [s.kind for s in seen(line("something happened", severity))] == [kind] * (kind is not None)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("could not open the file", "error"),
        ("disk went offline", "error"),
        ("finished with 0 errors", None),
        ("opening error log", None),
        ("all is well", None),
    ],
)
def test_words_complain_where_no_severity_does(text: str, kind: str | None) -> None:
    assert [s.kind for s in seen(line(text))] == [kind] * (kind is not None)


def test_words_of_a_line_with_another_severity_are_a_warning_and_of_a_continued_line_nothing() -> None:
    assert [s.kind for s in seen(line("could not bind", "LOG"), line("lock failed", "CONTEXT"))] == ["warning"]


def test_a_fault_that_solaris_calls_major_complains() -> None:
    assert [s.kind for s in seen(line("fault.memory.bank", "Major"))] == ["error"]


def test_a_type_of_errpt_and_a_failed_operation_are_errors() -> None:
    made = seen(
        line("DISK OPERATION", "P", source="errpt"), line("p", "P", source="tool"), line("establish", None, ok=False)
    )
    assert [s.subject for s in made] == ["DISK OPERATION", "establish"]


def test_a_code_parts_templates_and_is_named_first() -> None:
    made = seen(
        *(
            line(f"listener refused ({n})", None, code=c, ok=False)
            for n, c in enumerate(["TNS-12518"] * 2 + ["TNS-12519"])
        )
    )
    assert [(s.n, s.seen[0]) for s in made] == [(2, {"code": "TNS-12518"}), (1, {"code": "TNS-12519"})]
    assert made[0].subject.startswith("TNS-12518: ")


@pytest.mark.parametrize(("n", "burst"), [(10, True), (9, False)])
def test_ten_lines_within_a_minute_are_a_burst(n: int, burst: bool) -> None:
    made = seen(
        line("begin", "LOG", t_local=0.0), *(line("bad", "ERROR", t_local=600.0 + i) for i in range(n)),
        line("end", "LOG", t_local=3600.0),
    )  # fmt: skip
    assert (f"{n} of them within one minute" in made[0].headline) is burst


@pytest.mark.parametrize(("minutes", "burst"), [(5, True), (4.9, False)])
def test_a_burst_exceeds_the_mean_five_times(minutes: float, burst: bool) -> None:
    made = seen(*(line("bad", "ERROR", t_local=float(i)) for i in range(10)), line("end", "LOG", t_local=60 * minutes))
    assert ("within one minute" in made[0].headline) is burst


def test_what_ended_its_writer_is_a_failure() -> None:
    assert [s.failure for s in seen(line("slots are gone", "FATAL"), line("bad", "ERROR"))] == [True, False]


def test_odd_rows_give_nothing_and_nothing_gives_nothing() -> None:
    assert seen() == []
    assert seen(line(None), line("", None, t_local=float("nan")), line("fine", "")) == []


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("[54124.550144] INFO: task cp:349 blocked", "INFO: task cp:<n> blocked"),
        ("session time: 0:00:00.003 user=app", "session time: <n> user=app"),
        ("at 2026-11-23 03:44:58.123+00 it fell", "at <time> it fell"),
        ("block 0xdeadbeef, id 5f3a9b1c77", "block <hex>, id <hex>"),
        ("don't say it's 'quoted'", "don't say it's <q>"),
    ],
)
def test_a_template_masks_what_changes(text: str, made: str) -> None:
    assert pl.select(template(pl.lit(text))).item() == made


def test_codes_of_logs_are_counted() -> None:
    rows = [{"line_no": n, "code": "ORA-609", "text": "ORA-609"} for n in (1, 2)]
    (one,) = observe(Case.of_tables({"logs": rows}))
    assert (one.subject, one.n, one.failure) == ("ORA-609", 2, False)


def test_single_complaints_of_one_minute_belong_together() -> None:
    words = ("disk failed", "mount refused", "node evicted")
    rows = [
        {"line_no": n, "t_local": t, "text": w}
        for n, (t, w) in enumerate(zip((0.0, 50.0, 200.0), words, strict=True), 1)
    ]
    made = {s.lines[0].line_from: s for s in observe(Case.of_tables({"logs": rows}))}
    assert made[1].joins == made[2].joins == "since line 1"
    assert made[3].joins == "since line 3"
    assert made[2].short == '"mount refused"'


def test_the_lines_of_a_report_belong_to_the_event_that_is_named() -> None:
    hang = "e1000e 0000:00:19.0 eth0: Detected Hardware Unit Hang:"
    made = seen(
        line(hang, "err", t_local=5.0),
        line("TDH <81>", "err", t_local=5.0),
        line("next_to_clean <73>", "err", t_local=5.0),
        line("a job of its own failed", "err", t_local=900.0),
    )
    named = next(s for s in made if s.subject == hang)
    assert named.share == pytest.approx(3 / 4)
    assert named.headline == (
        f'Once: "{hang}", 1 of 4 lines that complain; 2 more lines around it name no other reason'
    )
    assert next(s for s in made if "TDH" in s.subject).share == pytest.approx(1 / 4)


def test_two_named_events_share_no_report() -> None:
    made = seen(
        line("eth0: Detected Hardware Unit Hang:", "err", t_local=5.0),
        line("Out of memory: Killed process 7 (java) total-vm:1kB", "err", t_local=6.0),
        line("TDH <81>", "err", t_local=6.0),
    )
    assert [s.share for s in made] == pytest.approx([1 / 3] * 3)


def test_the_first_complaint_is_the_reason_of_those_that_give_none() -> None:
    why = 'starting init process caused "fork/exec /proc/self/exe: resource temporarily unavailable"'
    made = {s.subject: s for s in seen(line(why, "err"), *(line("container not started", "err") for _ in range(5)))}
    assert made[why].share == 1.0
    assert "5 more lines around it name no other reason" in made[why].headline
    made = {
        s.subject: s for s in seen(line("container not started", "err", t_local=1.0), line(why, "err", t_local=900.0))
    }
    assert made[why].share == 0.5, "what came before it has another reason"


def test_the_reason_at_the_end_of_a_long_line_is_quoted() -> None:
    long = "error: cannot start the unit " + "very " * 60 + "slowly: no space left on device"
    (one,) = list(observe(Case.of_tables({"logs": [{"line_no": 1, "text": long}]})))
    assert one.headline.endswith('... very very slowly: no space left on device"')
    assert len(one.subject) <= 160


def test_the_last_line_of_a_record_is_cited() -> None:
    text = "error: cannot listen\n TNS-00515: refused\n  Solaris Error: 125: Address already in use"
    (one,) = list(observe(Case.of_tables({"logs": [{"line_no": 7, "line_end": 9, "text": text}]})))
    assert [(c.line_from, c.role) for c in one.lines][-1] == (9, "Solaris Error: 125: Address already in use")


def test_what_continues_a_complaint_is_told_with_it() -> None:
    rows: list[dict[str, Any]] = [
        {"severity": "ERROR", "ok": False, "text": "deadlock detected"},
        {"severity": "STATEMENT", "text": "update a set b = 1"},
        {"severity": "DETAIL", "text": "Process 7 waits for ShareLock on transaction 9"},
        {"severity": "LOG", "text": "all is well"},
        {"severity": "HINT", "text": "of nobody"},
    ]
    (one,) = list(observe(Case.of_tables({"logs": [{"line_no": n, **row} for n, row in enumerate(rows, 1)]})))
    assert one.beside == 'DETAIL: "Process 7 waits for ShareLock on transaction 9"'
    assert [c.line_from for c in one.lines] == [1, 3, 2]


@pytest.mark.parametrize(("t", "says"), [(172.85, "172.850 s after"), (1200.0, "20 min 0 s after")])
def test_a_time_after_the_start_is_told_as_its_stamp_has_it(t: float, says: str) -> None:
    rows: dict[str, list[dict[str, Any]]] = {
        "logs": [{"line_no": 1, "t_local": t, "text": "cannot mount /data"}, {"line_no": 2, "t_local": t, "text": "x"}],
        "artifacts": [{"clock_kind": "boot-relative"}],
    }
    assert any(says in s.headline for s in observe(Case.of_tables(rows)))


def test_what_the_log_left_out_before_a_line_is_told_with_it() -> None:
    rows = [
        {"line_no": n, "text": text, "source": "kernel"}
        for n, text in (
            (4, "[    9.100000] ratelimit_user: 77 callbacks suppressed"),
            (5, "drv0: transfer failed, code 4"),
        )
    ]
    found = [s for s in observe(Case.of_tables({"logs": rows})) if "transfer failed" in s.headline]
    assert found[0].headline.startswith('Once, 77 more left out by the log before it: "drv0: transfer failed')
    assert any((line.line_from, line.role) == (4, "left out before") for line in found[0].lines)
    alone = [s for s in observe(Case.of_tables({"logs": rows[1:]})) if "transfer failed" in s.headline]
    assert alone[0].headline.startswith('Once: "drv0')


@pytest.mark.parametrize(
    ("texts", "value", "begins"),
    [
        (["Unhealthy: Startup probe failed: timed out (x31 over 3h12m)"], 31, "31 times over 3h12m:"),
        (["BackOff: restarting failed container (x7 over 90s)"], 7, "7 times over 90s:"),
        (["BackOff: restarting failed container (x12)"], 12, "12 times:"),
        (["message repeated 5 times: [ connection lost to peer]"], 5, "5 times:"),
        (["send to peer 4 failed (x2 over 9s)", "send to peer 5 failed (x3 over 9s)"], 5, "5 times by 2 lines:"),
        (["send to peer 4 failed (x0 over 9s)"], 1, "Once:"),
    ],
)
def test_a_line_says_itself_how_often_it_came(texts: list[str], value: int, begins: str) -> None:
    made = seen(*(line(text, "ERROR") for text in texts))
    assert [s.value for s in made] == [value]
    assert made[0].headline.startswith(begins)


TIMED_OUT = "plugin/errors: 2 db4.example.net. A: read udp 10.1.0.4:40000->192.0.2.9:53: i/o timeout"


@pytest.mark.parametrize(("answered", "failed", "felt"), [(99, 1, False), (97, 3, True), (20, 1, True)])
def test_a_rare_line_of_what_the_next_try_repairs_is_told_by_its_part_of_the_log(
    answered: int, failed: int, felt: bool
) -> None:
    lines = [line(f'"A IN s{n}.example.net. udp" NOERROR 0.0002s', "INFO") for n in range(answered)]
    made = seen(*lines, *(line(TIMED_OUT, "ERROR") for _ in range(failed)))
    assert len(made) == 1
    assert made[0].share == pytest.approx(1.0 if felt else failed / (answered + failed))


def test_a_rare_line_of_what_nothing_repairs_keeps_its_weight() -> None:
    lines = [line(f"stored item {n}", "INFO") for n in range(200)]
    made = seen(*lines, line("Out of memory: Killed process 4711 (java)", "ERROR"))
    assert [s.share for s in made] == [1.0]


def test_the_number_of_a_message_and_its_words_are_one_complaint() -> None:
    made = seen(
        line("spid7 Error: 8645, Severity: 17, State: 1.", "ERROR"),
        line("spid7 A timeout occurred while waiting for memory resources", "ERROR"),
    )
    assert [(s.lines[0].line_from, s.share) for s in made] == [(2, 1.0)]
