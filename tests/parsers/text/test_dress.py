"""Test that the dress of a text is removed, and nothing else."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.layout.recognition import recognise
from parsers.lines import LineReader
from parsers.reading import read
from parsers.text.dress import STEPS, characters_of, original_spans, step_of, steps_of, undressed, undressed_line
from parsers.text.source import Head, Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes, without_notes
from tests.parsers.text.dresses import WAYS

CORPUS = Path(__file__).parents[2] / "corpus"


def lines_of(path: Path) -> list[str]:
    return [x.rstrip() for x in path.read_bytes().decode("utf-8-sig").rstrip("\n").split("\n")]


def samples() -> list[Path]:
    """Return two small clean samples a kind.

    Samples with a record split by another writer are left out: strace repairs them differently below a foreign line (a
    prompt).
    """
    chosen = []
    for kind in ("pmap", "conntime", "vmstat", "strace", "ipcs"):
        small = [
            p
            for p in sorted((CORPUS / kind).glob("*.txt"))
            if p.stat().st_size < 4000
            and p.read_bytes().isascii()
            and not any(strange in p.read_bytes() for strange in (b"\x1b", b"strace: Process"))
        ]
        chosen += [p for p in small if 5 < len(lines_of(p)) < 60 and not p.name.startswith("derived")][:2]
    return chosen


def moved(tables: dict[str, pl.DataFrame], shift: int) -> dict[str, pl.DataFrame]:
    names = ("line_no", "line_end", "prev_line")
    return {
        name: rows.with_columns(pl.col(c) - shift for c in rows.columns if c in names) for name, rows in tables.items()
    }


@pytest.mark.drawn(3)
@pytest.mark.parametrize("way", WAYS, ids=lambda w: w.name)
@pytest.mark.parametrize("path", samples(), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_dressed_sample_gives_the_same_kind_and_rows(path, way):
    lines = lines_of(path)
    if not way.fits("\n".join(lines)):
        return
    plain = read_bytes(("\n".join(lines) + "\n").encode())
    worn = read_bytes(way.dress(lines))
    assert worn.account.kind == plain.account.kind == path.parent.name
    before, after = moved(without_notes(plain.tables), 0), moved(without_notes(worn.tables), way.shift)
    assert before.keys() == after.keys()
    for name in before:
        assert before[name].equals(after[name]), name


PREFIXES = {"mail", "bars", "services", "service", "host", "wiki", "numbers:", "numbers|", "numbers\t", "numbers "}


SET_IN = {
    "alert_log/18c-compose-prefix": "services",
    "alert_log/derived-19c-merged-torn-block": "services",
    "oracle_net_config/lsnrctl-start-12c-compose": "services",
    "mysql/log-5.7-compose": "services",
    "syslog/solaris-continued-lines": "indent 2",
    "ss/linux-nump-users-below": "indent 4",
    "netdev/ethtool-S-below-prompt": "indent 8",
}
"""Samples that were indented in their source, or have the name of a service before each line."""


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*.txt")), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_undressed_text_is_not_taken_for_dressed(path):
    data = path.read_bytes()[:65536]
    lines = data.decode("utf-8", "replace").split("\n")
    found = recognise(Head([x.rstrip() for x in lines], "", True))
    worn = {step for step in found.dress if step in PREFIXES or step.startswith("indent")}
    quoted = sum(1 for x in lines if x.startswith(">")) * 2 > len([x for x in lines if x])
    step = SET_IN.get(f"{path.parent.name}/{path.stem}")
    assert worn == {step} if step else worn <= ({"mail"} if quoted else set())


@pytest.mark.parametrize(
    ("line", "dress", "left"),
    [
        ("> > ab", ("mail",), "ab"),
        (">>   r b w", ("mail",), "  r b w"),
        ("| ab", ("bars",), "ab"),
        ("shop-db-1  | ab", ("services",), "ab"),
        ("web_2 |", ("services",), ""),
        ("shop3:   r b w", ("host",), "  r b w"),
        ("[db-1] out: r b w", ("host",), "r b w"),
        ("orders | 12 | 7", ("services",), "orders | 12 | 7"),
        ("|| r || b || w ||", ("wiki",), "r  b  w"),
        ("| 0 | 1 | 2 |", ("wiki",), "0  1  2"),
        ("|---|:--|", ("wiki",), ""),
        ("+----+----+", ("wiki",), ""),
        ("  12 |  0 0 1", ("numbers|",), " 0 0 1"),
        ("12: 0 0 1", ("numbers:",), "0 0 1"),
        ("    12\t 0 0 1", ("numbers\t",), " 0 0 1"),
        ("\x1b[1;31mred\x1b[0m\x1b[K", ("escapes",), "red"),
        ("\x1b]0;title\x07text", ("escapes",), "text"),
        ("v\bvm\bms", ("backspaces",), "vms"),
        ("_\bab", ("backspaces",), "ab"),
        ("abc\b\b\bxyz", ("backspaces",), "xyz"),
        ("a\u00a0b\u2009c\u3000d", ("blanks",), "a b c d"),
        ("so\u00adft\u200b", ("invisible",), "soft"),
        ("read(0×6,0×806f000) 640×480", ("typography",), "read(0x6,0x806f000) 640x480"),
        ("“a” ‘b’ – −1 …", ("typography",), "\"a\" 'b' - -1 ..."),
        ("&lt;unfinished&gt; &amp;amp; &quot;", ("entities",), '<unfinished> &amp; "'),
        ("\ufeffa", ("bom",), "a"),
        ("      a", ("indent 4",), "  a"),
        ("\t\ta", ("indent tab",), "\ta"),
        ("\t\t\ta", ("indent tab2",), "\ta"),
        ('<pre class="x"><code>a b', ("tags",), "a b"),
        ("a b</code></pre>", ("tags",), "a b"),
        ("[CODE]a b", ("tags",), "a b"),
        ("a b[/code]", ("tags",), "a b"),
        ("{noformat}a b", ("tags",), "a b"),
        ("a b```", ("tags",), "a b"),
        ("a   ", (), "a"),
    ],
)
def test_what_is_taken_off(line, dress, left):
    assert undressed_line(line, dress)[0] == left
    if dress:
        assert undressed(pl.Series([line]), dress).to_list() == [left]


NAMES = [*STEPS, "indent 4", "indent tab", "indent tab2"]


@settings(max_examples=examples(100), deadline=None, database=None)
@given(
    line=st.text(alphabet="ab \t>|0123:\x1b[31m\b“\u00a0\u00ad&lt;&amp;!+-", max_size=40),
    dress=st.lists(st.sampled_from(NAMES), max_size=3, unique=True),
)
def test_columns_and_single_lines_agree(line, dress):
    left, places = undressed_line(line, dress)
    column = undressed(pl.Series([line], dtype=pl.String), dress).to_list()[0]
    assert column.rstrip(" \t\r\n") == left
    assert len(places) == len(left)
    assert places == sorted(places)
    assert all(0 <= p < len(line) for p in places)


def test_masks_stay_right_in_the_original():
    assert original_spans("> user=scott", ["mail"], [(5, 10)]) == [(7, 12)]
    assert original_spans("pa\x1b[1mss=tiger", ["escapes"], [(5, 10)]) == [(9, 14)]
    assert original_spans("x", [], [(0, 1)]) == [(0, 1)]
    assert original_spans("> x", ["mail"], [(3, 9)]) == []


def test_a_secret_in_a_quoted_trace_is_masked_where_it_stands(tmp_path):
    path = CORPUS / "sqlnet"
    assert path.exists()
    record = "[14-APR-2016 05:58:39:329] nscon: (DESCRIPTION=(CONNECT_DATA=(PASSWORD=tigerlily)(SID=x)))"
    text = "".join(f"> {x}\n" for x in [record, *["[14-APR-2016 05:58:39:330] nscon: exit"] * 4])
    original = tmp_path / "a.txt"
    original.write_text(text)
    read(original, Hints(), tmp_path / "r")
    shown = LineReader(original, tmp_path / "r").lines(1, 1)[0].text
    assert "tigerlily" not in shown
    assert shown == f"> {record}".replace("tigerlily", "*" * 9)


def test_the_note_and_the_manifest_say_what_was_taken_off():
    text = "> 2767: ora_smon\n> Address Kbytes RSS Anon Locked Pgsz Mode Mapped File\n> 0000000380000000 4 - - - - rwxs- [ heap ]\n"
    account = read_bytes(text.encode()).account
    assert account.parts[0].dress == ["mail"]
    assert [n.text for n in account.notes if n.kind == "remark"] == ["taken off before reading: quotes of mail"]


@pytest.mark.parametrize(
    "lines",
    [
        ["CPU minf mjf xcal", "  0  1 2 3", "  1  1 2 3", "  2  1 2 3"],
        ["1 a", "1 b", "2 c"],
        ["15697: x", "15697: y", "15698: z"],
        ["3: a", "2: b", "1: c"],
        ['1) "a"', '2) "b"', '3) "c"', '4) "d"'],
        ['1) 1) "fork"', "   2) (integer) 1735689600", "   3) (integer) 90", "   4) (integer) 410"],
    ],
)
def test_numbers_that_number_no_lines(lines):
    assert not [name for name, _ in steps_of(lines) if name.startswith("numbers")]


def test_a_plain_text_needs_nothing():
    assert characters_of("plain text\twith a tab\n") == ()
    assert list(steps_of(["", ""])) == []
    assert step_of("indent 3").words == "a uniform indent"


def test_the_name_of_a_service_is_removed_where_it_stands_on_each_line():
    said = ["2031-02-01 10:00:00.1 UTC [44] ERROR:  deadlock detected"] * 2 + ["\tat the second line"]
    assert list(steps_of([f"shop-db-1  | {line}" for line in said])) == [("services", True)]
    assert list(steps_of([f"node-{n} | {n} | up" for n in range(9)])) == [], "names of rows differ"
    assert list(steps_of([f"shop-db-1  | {said[0]}"])) == [("services", False)], "one line may be a row"
    assert list(steps_of([f"db  | {line}" for line in said])) == [("service", False)]
    assert list(steps_of([f"{name} | 1 | up" for name in ("db", "web")])) == []


STACK = """goroutine 31 [semacquire, 75 minutes]:
sync.runtime_SemacquireMutex(0xc000a1b2c4, 0x0)
\t/usr/local/go/src/runtime/sema.go:71 +0x3d
sync.(*Mutex).Lock(0xc000a1b2c0)
\t/usr/local/go/src/sync/mutex.go:134 +0x109
example.org/shop/stock.(*Store).Take(0xc000a1b2c0, 0x5)
\t/src/stock/store.go:88 +0x52
"""


@pytest.mark.parametrize(
    "front",
    [
        "Mar  4 09:12:45 till3 shopd[812]: ",
        "2024-03-04T09:12:45.123456+0100 till3 shopd[812]: ",
        "2024-03-04T09:12:45.123456789Z stderr F ",
    ],
)
@pytest.mark.parametrize("tabs", [True, False])
def test_a_stack_that_a_program_printed_into_a_log_is_read_as_one(front: str, tabs: bool) -> None:
    """The journal and containers put a stamp before each line; some of them drop the indent."""
    text = STACK if tabs else STACK.replace("\t", "")
    rows = read_bytes("".join(f"{front}{line}\n" for line in text.splitlines()).encode()).tables["profile_stacks"]
    (row,) = rows.to_dicts()
    assert (row["lwp"], row["state"], row["waited_s"]) == (31, "semacquire, 75 minutes", 4500.0)
    assert row["frames"][-1] == "example.org/shop/stock.(*Store).Take"


def test_a_log_with_a_line_like_a_stack_and_stacks_of_the_kernel_stay_a_log() -> None:
    front = "Mar  4 09:12:45 till3 shopd[812]: "
    lines = [STACK.splitlines()[0], "shop is open", "till 3 ready", "till 4 ready", "price list of today read"]
    assert "logged" not in dict(steps_of([front + line for line in lines]))
    kernel = "Mar  4 09:12:45 till3 kernel: [  5.1] "
    assert "logged" not in dict(steps_of([kernel + "Thread 1 (x)", kernel + " at thing(x)"]))


GDB = """#0  0x00007f5d0e01 in __lll_lock_wait () from /lib64/libpthread.so.0
#1  0x00007f5d0f17 in pthread_mutex_lock () from /lib64/libpthread.so.0
#2  0x0000000000569c14 in take_ticket (of=0x209de50) at till.c:117
"""


@pytest.mark.parametrize(
    "way", [lambda x: "# " + x[1:], lambda x: "\\\\" + x, lambda x: f"`{x}`", lambda x: f"> # {x[1:]}"]
)
def test_frames_that_a_page_marked_up_are_frames(way) -> None:
    lines = [line.replace("\\\\", "\\") for line in map(way, GDB.splitlines())]
    (row,) = read_bytes(("\n".join(lines) + "\n").encode()).tables["profile_stacks"].to_dicts()
    assert row["frames"] == ["__lll_lock_wait", "pthread_mutex_lock", "take_ticket"]
