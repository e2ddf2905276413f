"""Questions to name servers: those without an answer, and answers that say no."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.name_queries import observe
from rules.observers.observer import Sighting


def asked(t: float, door: int, name: str = "DNS A? a.b", server: str = "10.0.0.53") -> dict[str, Any]:
    return {"t_local": t, "proto": "udp", "src": "10.0.0.9", "sport": door, "dst": server, "dport": 53, "payload": name}


def answered(t: float, door: int, code: str | None = None, server: str = "10.0.0.53") -> dict[str, Any]:
    text = f"DNS answer {code}" if code else None
    return {"t_local": t, "proto": "udp", "src": server, "sport": 53, "dst": "10.0.0.9", "dport": door, "payload": text}


def seen(*rows: dict[str, Any]) -> list[Sighting]:
    return list(observe(Case.of_tables({"packets": [{"line_no": n, "part": 1, **r} for n, r in enumerate(rows, 1)]})))


def test_a_question_without_an_answer_is_told() -> None:
    (made,) = seen(asked(0, 1), asked(0, 2), answered(0.01, 2), asked(5, 1), answered(9, 2))
    assert made.headline == "10.0.0.53:53 did not answer 1 of 2 questions; the first: A? a.b"
    assert [c.line_from for c in made.lines] == [1, 4]
    assert made.seen == ({"log": "name server did not answer"},)


def test_the_last_question_of_a_list_may_still_be_answered() -> None:
    assert seen(asked(0, 1), answered(0.1, 1), asked(0.2, 2)) == []


def test_no_such_name_is_told_with_the_names() -> None:
    (made,) = seen(asked(0, 1, "DNS A? a.svc.cluster.local"), answered(0.001, 1, "NXDomain"))
    assert "answered NXDomain to 1 of 1 sockets that asked, after 1 ms (median); asked for: A? a.svc" in made.headline
    assert made.seen == ({"log": "name server answered NXDomain to a suffix of a search list"},)


def test_answers_are_normal() -> None:
    assert seen(asked(0, 1), answered(0.1, 1)) == []
    assert seen() == []


def test_the_plain_name_that_is_never_asked_for_is_told() -> None:
    rows = (
        asked(0, 1, "DNS A? db1.prod.svc.cluster.local"),
        asked(0, 1, "DNS AAAA? db1.prod.svc.cluster.local"),
        answered(0.001, 1, "NXDomain"),
        answered(0.002, 1, "NXDomain"),
    )
    (made,) = seen(*rows)
    assert made.beside == "the name without its suffix is not asked for in the list"
    assert [(c.line_from, c.role) for c in made.lines][1:] == [
        (3, "answered NXDomain"),
        (4, "answered NXDomain, last of this socket"),
    ]
    (asked_later,) = seen(*rows, asked(0.1, 2, "DNS A? db1"), answered(0.2, 2))
    assert asked_later.beside is None
    (unsearched,) = seen(asked(0, 1, "DNS A? db1.example"), answered(0.1, 1, "NXDomain"))
    assert unsearched.share == pytest.approx(0.3)  # no such name is an answer too
    assert unsearched.beside is None
