"""What a paste does to tables of rows: each damage leaves the rows alone or is told in a note; nothing changes silently."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from parsers.source import Hints
from tests.parsers.evidence import Reading, read_bytes

CLEAN = {
    "vmstat": (
        " kthr      memory            page            disk          faults      cpu\n"
        " r b w   swap  free  re  mf pi po fr de sr s0 s1 -- --   in   sy   cs us sy id\n"
        " 0 0 0 9876543 1234567 10 20 0 0 0 0  0  1  2  0  0  400  500  600 10  5 85\n"
        " 1 0 0 9876540 1234560 11 21 0 0 0 0  0  1  2  0  0  401  501  601 11  5 84\n"
        " 2 0 0 9876530 1234550 12 22 0 0 0 0  0  1  2  0  0  402  502  602 12  5 83\n"
        " 3 0 0 9876520 1234540 13 23 0 0 0 0  0  1  2  0  0  403  503  603 13  5 82\n"
    ),
    "mpstat": (
        "CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl\n"
        "  0    1   0   27   300  100  400   10    5    3    0   500   10   5   0  85\n"
        "  1    2   0   28   301  101  401   11    6    4    0   501   11   5   0  84\n"
        "  2    3   0   29   302  102  402   12    7    5    0   502   12   5   0  83\n"
        "  3    4   0   30   303  103  403   13    8    6    0   503   13   5   0  82\n"
    ),
    "ps": (
        "     UID   PID  PPID   C    STIME TTY         TIME CMD\n"
        "    root     1     0   0   Oct 12 ?           0:11 /sbin/init\n"
        "  oracle  1201     1   0   Oct 12 ?           0:12 ora_pmon_QPROD\n"
        "  oracle  1202     1   0   Oct 12 ?           0:13 ora_smon_QPROD\n"
        "  oracle  1203     1   0   Oct 12 ?           0:14 ora_lgwr_QPROD\n"
    ),
}
MEASURED = {"vmstat": ("vmstat", ["r", "swap_free_kb"]), "mpstat": ("mpstat", ["cpu", "minf"]), "ps": ("ps", ["pid"])}
"""The table and the columns that tell its rows apart."""

HEADS = {"vmstat": 2, "mpstat": 1, "ps": 1}


def collapsed(text: str, heads: int) -> str:
    return "".join(" ".join(line.split()) + "\n" for line in text.splitlines())


def unindented(text: str, heads: int) -> str:
    return "".join(line.lstrip() + "\n" for line in text.splitlines())


def headed_again(text: str, heads: int) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: heads + 2], *lines[:heads], *lines[heads + 2 :]])


def elided(text: str, heads: int) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[: heads + 2], "[...]\n", *lines[heads + 2 :]])


def quoted(text: str, heads: int) -> str:
    return "".join(f"> {line}\n" for line in text.splitlines())


def cut_at_the_end(text: str, heads: int) -> str:
    return text + text.splitlines()[-1][:9] + "\n"


def blank_lines(text: str, heads: int) -> str:
    return text.replace("\n", "\n\n")


def windows(text: str, heads: int) -> str:
    return text.replace("\n", "\r\n")


SAME_ROWS: tuple[Callable[[str, int], str], ...] = (
    collapsed, unindented, headed_again, elided, quoted, blank_lines, windows, cut_at_the_end,
)  # fmt: skip
NOTED = {elided: "elided", quoted: "remark", cut_at_the_end: None}
"""What a note must say of it; None: a note of any kind on the last line. What shows in no row needs none."""


def reading(kind: str, damage: Callable[[str, int], str] | None = None) -> tuple[Reading, str]:
    text = CLEAN[kind] if damage is None else damage(CLEAN[kind], HEADS[kind])
    return read_bytes(text.encode(), Hints(kind=kind)), text


@pytest.mark.parametrize("damage", SAME_ROWS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", sorted(CLEAN))
def test_rows_stay_and_the_damage_is_told(kind, damage):
    (clean, _), (damaged, text) = reading(kind), reading(kind, damage)
    table, columns = MEASURED[kind]
    before, after = clean.table(table), damaged.table(table)
    whole = after if damage is not cut_at_the_end else after.filter(after["line_no"] < len(text.splitlines()))
    assert whole.select(columns).rows() == before.select(columns).rows()
    assert damaged.account.account.lines == len(text.splitlines())
    if damage in NOTED:
        kinds = {n.kind for n in damaged.account.notes if NOTED[damage] or n.line_to == len(text.splitlines())}
        assert NOTED[damage] in kinds if NOTED[damage] else kinds, damaged.account.notes


def wrapped(text: str, heads: int) -> str:
    return "".join(line[at : at + 72] + "\n" for line in text.splitlines() for at in range(0, len(line), 72))


def flattened(text: str, heads: int) -> str:
    return " ".join(text.split()) + "\n"


def headless(text: str, heads: int) -> str:
    return "".join(text.splitlines(keepends=True)[heads:])


@pytest.mark.parametrize("damage", [wrapped, flattened, headless], ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", sorted(CLEAN))
def test_what_cannot_be_proved_is_unknown_and_told(kind, damage):
    """Rows are those of the clean text, or fewer; what is missing stands in a note. No row is made up."""
    (clean, _), (damaged, text) = reading(kind), reading(kind, damage)
    table, columns = MEASURED[kind]
    before = clean.table(table).select(columns).rows()
    after = damaged.tables[table].select(columns).rows() if table in damaged.tables else []
    assert [row for row in after if row not in before] == []
    assert damaged.account.account.lines == len(text.splitlines())
    if after != before:
        assert {n.kind for n in damaged.account.notes} & {"unknown", "damaged", "repaired"}, damaged.account.notes


@pytest.mark.parametrize(
    ("kind", "stamp"),
    [
        ("vmstat", "Sat Feb 30 11:00:00 EST 2013"),
        ("mpstat", "Sat Feb 30 11:00:00 EST 2013"),
        ("vmstat", "# Starting Time:  02/30/2019 18:16:32"),
        ("vmstat", "Sat 31 Apr 2013 11:00:00 AM EST"),
    ],
)
def test_a_day_that_no_calendar_has_is_left_unknown(kind, stamp):
    damaged = read_bytes(f"{stamp}\n{CLEAN[kind]}".encode(), Hints(kind=kind))
    table, columns = MEASURED[kind]
    assert damaged.error is None
    assert damaged.table(table).select(columns).rows() == reading(kind)[0].table(table).select(columns).rows()
    assert damaged.account.account.lines == len(CLEAN[kind].splitlines()) + 1
