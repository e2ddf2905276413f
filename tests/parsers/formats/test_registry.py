"""Test claims and the choice between them."""

from __future__ import annotations

from types import ModuleType

import pytest

from parsers.declarations import Claim, Format
from parsers.errors import AmbiguousFormat, UnknownFormat
from parsers.registry import Ranked, all_formats, choose, rank
from parsers.text.source import Head, Hints


def ranked(kind: str, strength: float, variant: str = "a") -> Ranked:
    return Ranked(Format(kind, variant, "1", (), (), "", ""), Claim(strength, "so it looks", variant), ModuleType(kind))


def test_the_strongest_claim_wins():
    assert choose([ranked("x", 0.9), ranked("y", 0.8)], Hints()).format.kind == "x"


@pytest.mark.parametrize("strength", [0.0, 0.29])
def test_a_weak_claim_takes_no_file(strength):
    with pytest.raises(UnknownFormat):
        choose([ranked("x", strength)], Hints())


def test_a_claim_just_strong_enough_does():
    assert choose([ranked("x", 0.3)], Hints()).format.kind == "x"


def test_a_close_race_of_two_kinds_is_a_question():
    with pytest.raises(AmbiguousFormat) as caught:
        choose([ranked("x", 0.9), ranked("x", 0.89, "b"), ranked("y", 0.88)], Hints())
    assert [c.format.kind for c in caught.value.claims] == ["x", "y", "x"]


def test_variants_of_one_kind_do_not_race():
    assert choose([ranked("x", 0.9), ranked("x", 0.9, "b")], Hints()).variant == "a"


def test_a_persons_word_needs_no_claim():
    chosen = choose([ranked("x", 0.9)], Hints(kind="pmap", variant="linux"))
    assert (chosen.format.kind, chosen.variant, chosen.claim.strength) == ("pmap", "linux", 0.0)


def test_a_kind_that_nobody_reads_is_unknown():
    with pytest.raises(UnknownFormat):
        choose([], Hints(kind="nonsense"))


def test_claims_of_the_named_kind_choose_the_variant():
    head = Head(["1457:   -bash", "0000000000400000   7012K r-x-- bash", "0000000000600000   12K rw--- bash"])
    chosen = choose(rank(head), Hints(kind="pmap"))
    assert chosen.variant == "linux"
    assert chosen.claim.strength > 0


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [""],
        ["Dear all,", "the login takes four seconds since Monday.", "Regards"],
        ["<html>", "<body>", "</body>"],
        ["kernel.shmmax = 68719476736", "vm.swappiness = 10", "net.core.somaxconn = 128"],
        ["12:30:01", "12:30:02", "12:30:03"],
        ["alias: value", "other: thing"],
    ],
)
def test_nobody_claims_what_is_nobodys(lines):
    strong = [c for c in rank(Head(lines)) if c.claim.strength >= 0.3 and c.format.kind in ("conntime", "pmap")]
    assert strong == []


def test_every_format_is_found_once():
    kinds = [(form.kind, form.variant) for form, _ in all_formats()]
    assert {("conntime", "list"), ("conntime", "tnsping"), ("pmap", "solaris"), ("pmap", "linux")} <= set(kinds)
    assert kinds == sorted(set(kinds))
