"""Answers in lists of dissected packets: late ones, questions that are repeated, refusals; quick answers are no matter."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.packet_questions import observe
from tests.parsers.formats.evidence import read_bytes

CLIENT, SERVER = "192.0.2.5", "198.51.100.7"


def case_of(text: bytes) -> Case:
    return Case.of_tables({k: v.to_dicts() for k, v in read_bytes(text).tables.items()})


def sighted(*packets: tuple[float, str, str, str]) -> list[Sighting]:
    """Return what is seen in a list of (seconds, sender, protocol, words), as tshark prints it."""
    lines = []
    for n, (t, src, protocol, words) in enumerate(packets, 1):
        dst = SERVER if src == CLIENT else CLIENT
        lines.append(f"{n:5} {t:12.6f} {src} → {dst} {protocol} 180 {words}\n")
    return list(observe(case_of("".join(lines).encode())))


@pytest.mark.parametrize(
    ("protocol", "question", "answer", "seen"),
    [
        ("LDAP", "bindRequest(1) simple", "bindResponse(1) success", ({"port": 389, "seconds": 4.2}, {"port": 389})),
        ("NFS", "V4 Call READ", "V4 Reply (Call In 1) READ", ({"port": 2049, "seconds": 4.2}, {"port": 2049})),
        ("iSCSI", "SCSI: Read(10) LUN: 0x02", "SCSI: Response LUN: 0x02 (Good)", ({"event": "block-answers-late"},)),
        ("HTTP", "POST /order HTTP/1.1", "HTTP/1.1 200 OK", ({"event": "server-answers-late"},)),
        ("OURS", "Ask", "Reply", ()),
    ],
)
def test_a_late_answer_is_told_by_protocol(
    protocol: str, question: str, answer: str, seen: tuple[dict[str, object], ...]
) -> None:
    (made,) = sighted((1.0, CLIENT, protocol, question), (5.2, SERVER, protocol, answer))
    assert made.headline == f"{SERVER} answered {protocol} of {CLIENT} after 4.200 s"
    assert [made.seconds, made.of_s] == pytest.approx([4.2, 4.2])
    assert made.seen == seen
    assert [(line.line_from, line.role) for line in made.lines] == [(1, "question"), (2, "answer")]


def test_the_clients_own_pause_is_nobodys_wait() -> None:
    quick = ((0.0, CLIENT, "LDAP", "searchRequest(2)"), (0.003, SERVER, "LDAP", "searchResDone(2) success"))
    later = ((t + 60.0, who, protocol, words) for t, who, protocol, words in quick)
    assert sighted(*quick, *later) == []


def test_who_answers_in_the_protocols_words_is_the_server() -> None:
    (made,) = sighted(
        (0.0, SERVER, "SMB2", "Read Response"),
        (0.5, CLIENT, "SMB2", "Read Request"),
        (3.0, SERVER, "SMB2", "Read Response"),
    )
    assert made.headline == f"{SERVER} answered SMB2 of {CLIENT} after 2.500 s"


def test_an_answer_that_only_says_pending_is_waited_for() -> None:
    (made,) = sighted(
        (0.0, CLIENT, "SMB2", "Create Request File: a"),
        (0.001, SERVER, "SMB2", "Create Response, Error: STATUS_PENDING"),
        (30.0, SERVER, "SMB2", "Create Response File: a"),
    )
    assert made.headline == f"{SERVER} answered SMB2 of {CLIENT} after 29.999 s"


def test_a_question_without_an_answer_is_asked_again() -> None:
    (made,) = sighted(*((5.0 * n, CLIENT, "DNS", "Standard query 0x2b A db.example") for n in range(3)))
    assert made.headline == (
        f"{CLIENT} asked {SERVER} the same in DNS again after 5.000 s, 2 times, 10.000 s together: no answer came between"
    )
    assert made.seen == ({"port": 53, "seconds": 5.0},)


@pytest.mark.parametrize(
    ("protocol", "words", "refused"),
    [
        ("TLSv1.3", "Alert (Level: Fatal, Description: Unknown CA)", True),
        ("TLSv1.2", "Alert (Level: Warning, Description: Close Notify)", False),
        ("KRB5", "KRB Error: KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN", True),
        ("KRB5", "KRB Error: KRB5KDC_ERR_PREAUTH_REQUIRED", False),
        ("SMB2", "Create Response, Error: STATUS_ACCESS_DENIED", True),
        ("SMB2", "Create Response, Error: STATUS_OBJECT_NAME_NOT_FOUND", False),
        ("HTTP2", "GOAWAY[0] NO_ERROR", False),
        ("NFS", "V3 WRITE Reply (Call In 4) Error: NFS3ERR_NOSPC", True),
    ],
)
def test_refusals_are_told_and_ordinary_errors_are_not(protocol: str, words: str, refused: bool) -> None:
    made = sighted((0.0, CLIENT, protocol, "Request"), (0.01, SERVER, protocol, words))
    assert [one.kind for one in made] == ["refusal"] * refused


def test_packets_with_ports_are_read_by_others() -> None:
    text = (
        b"1 0.000000 192.0.2.5 \xe2\x86\x92 198.51.100.7 TCP 74 51022 \xe2\x86\x92 443 [SYN] Seq=0 Win=64240 Len=0\n"
        * 2
    )
    assert list(observe(case_of(text))) == []
    assert list(observe(Case.of_tables({}))) == []
