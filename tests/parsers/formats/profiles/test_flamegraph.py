"""Tests of collapsed stacks and flame graphs beyond the corpus."""

from __future__ import annotations

import html

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.secrets.words import without_secrets
from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_:.<>&]{0,14}", fullmatch=True).filter(
    lambda name: without_secrets(name) == name  # `pwd:A00` would be masked
)
STACKS = st.lists(st.tuples(st.lists(NAME, min_size=2, max_size=6), st.integers(1, 10**9)), min_size=1, max_size=8)


@settings(max_examples=examples(50), deadline=None, database=None)
@given(stacks=STACKS)
def test_a_stack_comes_back_from_its_columns(stacks):
    text = "".join(f"{';'.join(frames)} {n}\n" for frames, n in stacks)
    rows = parse_bytes(text.encode(), "flamegraph", "collapsed").tables["profile_stacks"]
    assert [(r["frames"][::-1], r["weight"]) for r in rows.iter_rows(named=True)] == [(f, float(n)) for f, n in stacks]


def drawn(stacks: dict[tuple[str, ...], int]) -> str:
    """Draw boxes as flamegraph.pl does: one for each prefix, 10 px for each sample, the root at the bottom."""
    total = sum(stacks.values())
    boxes: list[tuple] = [("all", 0, total, 0)]
    at = 0
    for frames, n in sorted(stacks.items()):
        for depth, name in enumerate(frames, start=1):
            last = next((b for b in reversed(boxes) if b[3] == depth), None)
            same = last is not None and last[1] + last[2] == at and last[4:] == (frames[:depth],)
            if same and last is not None:
                boxes[boxes.index(last)] = (name, last[1], last[2] + n, depth, frames[:depth])
            else:
                boxes.append((name, at, n, depth, frames[:depth]))
        at += n
    lines = ['<svg version="1.1" width="1200" xmlns="http://www.w3.org/2000/svg">']
    for name, x, n, depth, *_ in boxes:
        lines.append(f"<title>{html.escape(name)} ({n:,} samples, {100 * n / total:.2f}%)</title>")
        lines.append(f'<rect x="{x * 10}.0" y="{900 - depth * 16}" width="{n * 10}.0" height="15.0"/>')
    return "\n".join([*lines, "</svg>", ""])


@settings(max_examples=examples(50), deadline=None, database=None)
@given(
    stacks=st.dictionaries(
        st.lists(NAME, min_size=1, max_size=4).map(tuple), st.integers(1, 500), min_size=1, max_size=6
    ),
    size=st.integers(90, 900),
)
def test_boxes_become_the_stacks_they_were_drawn_from(stacks, size):
    content = drawn(stacks).encode()
    hints = Hints(kind="flamegraph", variant="svg")
    reading = read_bytes(content, hints)
    rows = reading.table("profile_stacks")
    found = {tuple(r["frames"][::-1][1:]): r["weight"] for r in rows.iter_rows(named=True)}
    assert found == {k: float(v) for k, v in stacks.items()}
    assert reading.table("profile_meta")["total_samples"].to_list() == [sum(stacks.values())]
    assert read_bytes(content, hints, Limits(run_bytes=size)).table("profile_stacks").equals(rows)


def test_nothing_outside_the_picture_is_looked_at():
    text = (
        '<?xml version="1.0"?>\n<!DOCTYPE svg [<!ENTITY boom SYSTEM "file:///etc/passwd"><!ENTITY a "aaaa">]>\n'
        '<svg xmlns="http://www.w3.org/2000/svg"><script xlink:href="http://example.org/x.js"/>\n'
        '<title>all &boom;&a; (5 samples, 100%)</title><rect x="0.0" y="10" width="9.0" height="15.0"/>\n</svg>\n'
    )
    rows = read_bytes(text.encode(), Hints(kind="flamegraph", variant="svg")).table("profile_stacks")
    assert rows["leaf"].to_list() == ["all &boom;&a;"]


def test_of_two_counts_the_second_is_the_later_profile():
    rows = read_bytes(b"a;b;c 3 9\na;b;d 0 4\n").table("profile_stacks")
    assert rows["weight"].to_list() == [9.0, 4.0]


def test_lines_of_bcc_around_collapsed_stacks_are_none():
    text = "# profile-bpfcc -F 49 -f -p 41 9\nSampling at 49 Hertz of PID 41 by user + kernel stack... Hit Ctrl-C to end.\n"
    text += "^C\nledger;main;post(int, long) 31\nledger;main;post(int, long);hash 9\n"
    reading = read_bytes(text.encode())
    assert reading.account.kind == "flamegraph"
    assert reading.table("profile_stacks")["weight"].to_list() == [31.0, 9.0]
    assert not [n for n in reading.account.notes if n.kind == "unknown"]
