"""Questions in the log of systemd-resolved: those without an answer, and those that failed."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers.name_transactions import observe
from rules.observers.observer import Sighting
from tests.parsers.formats.evidence import read_bytes


def seen(*rows: tuple[float, str], program: str = "systemd-resolved") -> list[Sighting]:
    logs = [
        {"line_no": n, "part": 1, "pid": 77, "program": program, "t_local": t, "text": text}
        for n, (t, text) in enumerate(rows, 1)
    ]
    return list(observe(Case.of_tables({"logs": logs})))


def asked(t: float, number: int, question: str) -> list[tuple[float, str]]:
    return [
        (t, f"Firing regular transaction {number} for <{question}> scope dns on eth0/* (validate=yes)."),
        (t, f"Sending query packet with id {number} of size 40."),
    ]


def ended(t: float, number: int, question: str, end: str, code: str) -> list[tuple[float, str]]:
    return [
        (t, f"Processing incoming packet of size 40 on transaction {number} (rcode={code})."),
        (t, f"Regular transaction {number} for <{question}> on scope dns on eth0/* now complete with <{end}> from network (unsigned)."),
    ]  # fmt: skip


SILENT = [
    *asked(10.0, 7, "mail.example IN AAAA"),
    (14.0, "Timeout reached on transaction 7."),
    (14.0, "Retrying transaction 7, after switching servers."),
    (14.0, "Sending query packet with id 7 of size 40."),
    (19.0, "Timeout reached on transaction 7."),
]


def test_a_time_out_is_told_with_its_question_and_what_was_answered() -> None:
    made = seen(*asked(9.0, 6, "mail.example IN A"), *ended(9.0, 6, "mail.example IN A", "success", "SUCCESS"), *SILENT)
    assert [s.headline for s in made] == [
        "mail.example IN AAAA (transaction 7) ran into its time-out 2 times, 4.500 s after it was sent (median)"
    ]
    assert made[0].beside == (
        "1 other question was answered, the first mail.example IN A in the same second; it was asked of another server too"
    )
    assert [c.line_from for c in made[0].lines] == [5, 6, 9, 7, 10, 8, 1, 3, 4]
    assert made[0].seconds == 9.0


def test_a_time_out_whose_question_is_not_shown_is_told_by_its_number() -> None:
    (made,) = seen((1.0, "Timeout reached on transaction 41."))
    assert made.headline == "transaction 41, of which the log does not tell the question, ran into its time-out once"
    assert made.beside is None


def test_a_failure_is_told_with_its_code_and_no_such_name_weighs_little() -> None:
    made = seen(
        *asked(1.0, 1, "a.example IN A"), *ended(1.0, 1, "a.example IN A", "rcode-failure", "NXDOMAIN"),
        *asked(2.0, 2, "b.example IN A"), *ended(5.0, 2, "b.example IN A", "rcode-failure", "SERVFAIL"),
        *asked(6.0, 2, "b.example IN A"), *ended(6.0, 2, "b.example IN A", "rcode-failure", "SERVFAIL"),
        *asked(7.0, 3, "c.example IN A"), ended(7.0, 3, "c.example IN A", "no-servers", "")[1],
    )  # fmt: skip
    assert [s.headline for s in made] == [
        "a.example IN A was answered NXDOMAIN (no such name) in the same second",
        "b.example IN A was answered SERVFAIL 3.000 s after it was asked; 2 times in all",
        "c.example IN A ended with no-servers in the same second",
    ]
    assert [c.role for c in made[0].lines] == ["asks for a.example IN A", "rcode=NXDOMAIN", "ends with rcode-failure"]


def test_answers_and_other_programs_are_normal() -> None:
    good = [*asked(1.0, 1, "a.example IN A"), *ended(1.0, 1, "a.example IN A", "success", "SUCCESS")]
    assert seen(*good) == []
    assert seen(*SILENT, program="postgres") == []
    assert seen((1.0, "Cache miss for a.example IN A")) == []
    assert seen() == []


def test_several_answers_before_a_time_out_are_counted_with_the_code_of_the_first() -> None:
    (made, _) = seen(
        *asked(1.0, 1, "1.0.0.10.in-addr.arpa IN PTR"),
        *ended(2.0, 1, "1.0.0.10.in-addr.arpa IN PTR", "rcode-failure", "NXDOMAIN"),
        *asked(3.0, 2, "a.example IN A"),
        *ended(3.0, 2, "a.example IN A", "success", "SUCCESS"),
        *SILENT[:3],
    )
    assert made.beside == (
        "2 other questions were answered, the first 1.0.0.10.in-addr.arpa IN PTR (NXDOMAIN) 1.000 s after it was asked"
    )


def test_lines_without_stamps_are_read_too() -> None:
    text = (
        "Firing regular transaction 7 for <db1.example IN A> scope dns on eth0/* (validate=yes).\n"
        "Sending query packet with id 7 on interface 2/AF_INET of size 40.\n"
        "Timeout reached on transaction 7.\nRetrying transaction 7.\n"
    )
    rows = read_bytes(text.encode()).tables["logs"].to_dicts()
    (made,) = list(observe(Case.of_tables({"logs": rows}).with_text()))
    assert made.headline.startswith("db1.example IN A (transaction 7) ran into its time-out once")
