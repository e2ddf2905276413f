"""Tests of pstree: generated families, drawn as the tool draws them, are read back as processes with parents."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

FAMILIES = st.lists(st.integers(0, 10**6), min_size=2, max_size=14)
"""The parent of each process, as a choice among the processes before it."""

NAMES = ("systemd", "bash", "(sd-pam)", "Relay(307)", "a b", "x-y")


def tree(picks: list[int]) -> dict[int, int | None]:
    """Return the processes 100, 101 ... with their parents; the first has None."""
    return {100 + n: None if n == 0 else 100 + pick % n for n, pick in enumerate(picks)}


def name_of(pid: int) -> str:
    return NAMES[pid % len(NAMES)]


def drawn(parents: dict[int, int | None], pid: int) -> list[str]:
    """Return the lines of `pstree -pA`, drawn by its rules."""
    label = f"{name_of(pid)}({pid})"
    children = [p for p, parent in parents.items() if parent == pid]
    lines: list[str] = []
    for n, child in enumerate(children):
        last = n == len(children) - 1
        first, *rest = drawn(parents, child)
        sign = "---" if len(children) == 1 else "-+-" if n == 0 else " `-" if last else " |-"
        below = "   " if last else " | "
        lines += [sign + first, *(below + line for line in rest)]
    if not lines:
        return [label]
    return [label + lines[0], *(" " * len(label) + line for line in lines[1:])]


def alone(parents: dict[int, int | None], pid: int, lead: str = "", sign: str = "") -> list[str]:
    """Return the lines of `pstree -apA`."""
    children = [p for p, parent in parents.items() if parent == pid]
    lines = [f"{lead}{sign}{name_of(pid)},{pid} -c {pid}"]
    below = lead + ({"": "  ", "|-": "|   ", "`-": "    "}[sign])
    for n, child in enumerate(children):
        lines += alone(parents, child, below, "`-" if n == len(children) - 1 else "|-")
    return lines


def parents_read(text: str) -> dict[int, int | None]:
    reading = read_bytes(text.encode())
    assert reading.account.kind == "ps"
    assert [n for n in reading.account.notes if n.kind == "damaged"] == []
    return dict(reading.table("ps").select("pid", "ppid").iter_rows())


@settings(max_examples=examples(25), deadline=None, database=None)
@given(picks=FAMILIES)
def test_a_family_comes_back(picks):
    parents = tree(picks)
    lines = drawn(parents, 100)
    if len(lines) > 1:
        assert parents_read("".join(f"{line}\n" for line in lines)) == parents
        signs = str.maketrans("|`", "├└")
        pretty = [
            line.replace("-+-", "─┬─").replace("---", "───").replace("|-", "├─").replace("`-", "└─") for line in lines
        ]
        assert parents_read("".join(f"{line}\n" for line in pretty).translate(signs).replace("├ ", "│ ")) == parents
    assert parents_read("".join(f"{line}\n" for line in alone(parents, 100))) == parents


def test_a_password_in_arguments_is_masked():
    text = "bash,100 -c x\n  |-mysql,101 -uapp -pTr0ub4dor-x9 shop\n  `-sleep,102 9\n"
    assert "Tr0ub4dor-x9" not in str(read_bytes(text.encode()).table("ps")["args"].to_list())


def test_collapsed_blanks_blame_no_parent():
    lines = drawn({100: None, 101: 100, 102: 101, 103: 101, 104: 100}, 100)
    collapsed = "".join(" ".join(line.split()) + "\n" for line in lines)
    known = {101: {None, 100}, 102: {None, 101}, 103: {None, 101}, 104: {None, 100}, 100: {None}}
    rows = read_bytes(collapsed.encode()).table("ps").select("pid", "ppid").rows()
    assert all(parent in known[pid] for pid, parent in rows)
