"""Test that broken lines are joined where the breaks prove it, and left alone elsewhere."""

from __future__ import annotations

import pytest

from parsers.repair.rewrap import Break, break_of
from parsers.text.source import Hints
from tests.parsers.formats.evidence import read_bytes

PINGS = [f"64 bytes from db{n}.prod.example.com (192.0.2.{n}): icmp_seq={n} ttl=64 time={n}.5 ms" for n in range(1, 9)]
HEAD = "PING db1 (192.0.2.7) 56(84) bytes of data."


def pinged(lines):
    return read_bytes("".join(f"{line}\n" for line in lines).encode(), Hints(kind="ping"))


def hard(lines, width):
    return [line[at : at + width] for line in lines for at in range(0, len(line), width)]


def soft(lines, width):
    done = []
    for line in lines:
        while len(line) > width:
            at = line.rfind(" ", 0, width + 1)
            done.append(line[:at])
            line = line[at + 1 :]
        done.append(line)
    return done


@pytest.mark.parametrize("broken", [hard([HEAD, *PINGS], 72), soft([HEAD, *PINGS], 70)], ids=["terminal", "mail"])
def test_answers_that_were_broken_are_whole_again_and_cite_all_their_lines(broken):
    whole, reading = pinged([HEAD, *PINGS]), pinged(broken)
    rows = reading.table("conn_times")
    assert rows["elapsed_s"].to_list() == whole.table("conn_times")["elapsed_s"].to_list()
    assert (rows["line_end"] - rows["line_no"]).to_list() == [1] * len(PINGS)
    assert reading.account.account.unknown == 0
    assert {note.kind for note in reading.account.notes} == {"repaired"}


def test_rows_as_wide_as_each_other_are_not_joined_to_a_line_below_them():
    """All answers have the same width, as in a table; a person's text below two of them does not continue them."""
    reading = pinged([HEAD, *PINGS[:3], "here it hangs for a while, see above", *PINGS[3:]])
    assert reading.table("conn_times").height == len(PINGS)
    assert reading.account.account.unknown == 1
    assert "repaired" not in {note.kind for note in reading.account.notes}


def test_a_mark_of_elision_is_no_rest():
    reading = pinged([HEAD, *PINGS[:4], "(snip)", *PINGS[4:]])
    assert reading.table("conn_times").height == len(PINGS)
    assert reading.account.account.elided == 1


def test_two_digits_at_a_single_break_prove_nothing():
    """A blank may have stood at the break: `10` and `20`, or 1020."""
    assert break_of(["x" * 79 + "1", "0 words"], [1]) is None
    assert break_of(["x" * 80, "words"], [1]) == Break(80, hard=True)


def test_a_password_torn_by_a_break_is_masked_on_both_lines_and_in_the_row():
    line = "2023-04-15 05:37:59.078 [AGENT(3654)]CRS-5818: Aborted command 'check', password=hunt3r2secret given. Details at (:CRSAGF00113:)"
    at = line.index("hunt3r2secret") + 5
    other = line.replace("password=hunt3r2secret", "user x")
    text = "".join(f"{piece}\n" for whole in (line, other, line, other) for piece in hard([whole], at))
    reading = read_bytes(text.encode(), Hints(kind="alert_log", variant="crs"))
    assert reading.table("logs").height == 4
    assert not any(piece in text for text in reading.table("logs")["text"] for piece in ("hunt3", "r2secret"))
