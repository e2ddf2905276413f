"""Lists of functions in text: their rows, empty cells, callers below blank lines, and where a list ends."""

from __future__ import annotations

import pytest

from parsers.formats.general.text.profile_lists import (
    CALLGRIND,
    CPROFILE,
    GPROF,
    PPROF,
    TICKS_OF_CPP,
    cells_of,
    heading_of,
    headless,
)
from tests.parsers.formats.evidence import parse_bytes, read_bytes

PPROF_TOP = """\
File: shop
Type: cpu
Duration: 20.01s, Total samples = 10.50s (52.47%)
Entering interactive mode (type "help" for commands, "o" for options)
(pprof) top
Showing nodes accounting for 8s, 76.19% of 10.50s total
Showing top 10 nodes out of 77
      flat  flat%   sum%        cum   cum%
     2.60s 24.76% 24.76%      5.20s 49.52%  example.com/shop.(*Cart).Sum (inline)
         0     0% 24.76%     10.20s 97.14%  main.main
"""
NODE = """\
 [Bottom up (heavy) profile]:
   ticks parent  name
    600   60.0%  /usr/lib/libc.so.6
    590   98.3%    LazyCompile: *f /srv/a.js:1:2

    100   10.0%  Builtin: Add

It was slow. We do not know why.
"""


def cells(text: str) -> list[list[str]]:
    run = parse_bytes(text.encode(), "text", "plain")
    assert run is not None
    rows = run.tables.get("rows")
    return [] if rows is None else [list(row) for row in rows["cells"].to_list()]


def test_a_list_of_pprof_is_read_below_its_head() -> None:
    assert cells(PPROF_TOP) == [
        ["2.60s", "24.76%", "24.76%", "5.20s", "49.52%", "example.com/shop.(*Cart).Sum (inline)"],
        ["0", "0%", "24.76%", "10.20s", "97.14%", "main.main"],
    ]


def test_callers_go_on_below_a_blank_line_until_the_list_ends() -> None:
    assert [row[2] for row in cells(NODE)] == [
        "/usr/lib/libc.so.6",
        "  LazyCompile: *f /srv/a.js:1:2",
        "Builtin: Add",
    ]


@pytest.mark.parametrize("line", ["flat", "flat rate 5 %", "ticks total", "ncalls: 5", ""])
def test_other_lines_are_no_headings(line: str) -> None:
    assert heading_of(line) is None


def test_a_row_of_another_list_does_not_fit() -> None:
    assert cells_of(CPROFILE, "  9000    3.001    0.000    3.001    0.000 {posix.stat}") is not None
    assert cells_of(PPROF, "  9000    3.001    0.000    3.001    0.000 {posix.stat}") is None
    assert cells_of(TICKS_OF_CPP, "   40   66.7%    4.0%  void f(int, int)") == [
        "40",
        "66.7%",
        "4.0%",
        "void f(int, int)",
    ]


def test_advice_gives_no_rows() -> None:
    listed = PPROF_TOP[PPROF_TOP.index("      flat") :]
    assert cells(f"You should see something like this:\n{listed}") == []


def test_the_middle_of_a_list_needs_no_heading() -> None:
    """People paste the rows that matter; only one list prints such rows."""
    text = """      505    0.000    0.000    0.000    0.000 {built-in function ord}
    12/3    1.250    0.104    4.500    1.500 /srv/till/stock.py:88(count)
"""
    rows = read_bytes(text.encode()).tables["rows"].to_dicts()
    assert [row["cells"][0] for row in rows] == ["505", "12/3"]
    assert {tuple(row["heading"]) for row in rows} == {CPROFILE}


@pytest.mark.parametrize(
    "line", ["505 0.000 0.000 0.000 0.000 ord", "505 0.1 0.2 0.3 0.4 a.py:3(f)", "till 3 took 0.250 s at 12:30(b)"]
)
def test_other_rows_of_numbers_are_no_such_list(line: str) -> None:
    assert headless(line) is None


GPROF_TEXT = """  %   cumulative   self              self     total
 time   seconds   seconds    calls  ms/call  ms/call  name
 61.32     14.11    14.11   918233     0.02     0.02  count_stock
  9.01     21.26     2.07                             std::map<int, int>::find(int const&)
"""
CALLGRIND_TEXT = """--------------------------------------------------------------------------------
            Ir             file:function
--------------------------------------------------------------------------------
5,411,229,120 (59.33%)  ./src/till.c:count_stock [/srv/till]
  311,229,120 ( 3.41%)  ./malloc/malloc.c:_int_malloc [/lib/libc.so.6]
"""


@pytest.mark.parametrize(
    ("text", "heading", "first", "last"),
    [
        (GPROF_TEXT, GPROF, "61.32", "std::map<int, int>::find(int const&)"),
        (CALLGRIND_TEXT, CALLGRIND, "5,411,229,120 (59.33%)", "./malloc/malloc.c:_int_malloc [/lib/libc.so.6]"),
    ],
)
def test_lists_of_gprof_and_callgrind(text: str, heading: tuple[str, ...], first: str, last: str) -> None:
    rows = read_bytes(text.encode()).tables["rows"].to_dicts()
    assert {tuple(row["heading"]) for row in rows} == {heading}
    assert (rows[0]["cells"][0], rows[-1]["cells"][-1], len(rows)) == (first, last, 2)


LTRACE_TEXT = """% time     seconds  usecs/call     calls      function
------ ----------- ----------- --------- --------------------
 61.00    9.012001          90    100132 strstr
 39.00    5.760000          57    100000 compose
------ ----------- ----------- --------- --------------------
100.00   14.772001                200132 total
"""
PY_SPY_TEXT = """  %Own   %Total  OwnTime  TotalTime  Function (filename:line)
 61.00%  71.00%   22.10s    25.10s   count (stock.py:76)
 12.00%  98.00%    3.70s    30.20s   <lambda> (till.py:4)
"""
RBSPY_TEXT = """% self  % total  name
 41.20    60.01  count - /srv/till/stock.rb:12
  9.20     9.20  block in sum - /srv/till/sum.rb:4
"""
DOTNET_TEXT = """Top 2 Functions (Exclusive)                          Inclusive        Exclusive
1. Till.Stock.Count(class Till.Item,int32)            61.2%            60.2%
2. Till.Sum()                                         12.2%            11.0%
"""


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        (LTRACE_TEXT, "61.00", "compose"),
        (PY_SPY_TEXT, "61.00%", "<lambda> (till.py:4)"),
        (RBSPY_TEXT, "41.20", "block in sum - /srv/till/sum.rb:4"),
        (DOTNET_TEXT, "Till.Stock.Count(class Till.Item,int32)", "11.0%"),
    ],
)
def test_lists_of_ltrace_py_spy_rbspy_and_dotnet_trace(text: str, first: str, last: str) -> None:
    """The line of the sum is no function."""
    rows = read_bytes(text.encode()).tables["rows"].to_dicts()
    assert (rows[0]["cells"][0], rows[-1]["cells"][-1], len(rows)) == (first, last, 2)
