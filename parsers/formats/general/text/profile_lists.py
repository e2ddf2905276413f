"""Lists of functions of a profile: pprof (Go, gperftools with a heading), cProfile and profile of Python, node --prof of V8,
stackprof of Ruby, gprof, callgrind_annotate, ltrace -c, py-spy top, rbspy, dotnet-trace report topN; classes of a heap
(jmap -histo of Java, dumpheap -stat of .NET); processes of Erlang (etop); flat profiles of async-profiler.

Function names contain blanks and stand right after a number, and some cells are empty, so neither blanks nor the
positions of the headings show where a cell ends: each list has a grammar of its own.

    >>> cells_of(heading_of("   ncalls  tottime  percall  cumtime  percall filename:lineno(function)"), "  9/1  0.1  0.0  0.2  0.2 a.py:3(f)")
    ['9/1', '0.1', '0.0', '0.2', '0.2', 'a.py:3(f)']
"""

from __future__ import annotations

import re
from collections.abc import Sequence

PPROF = ("flat", "flat%", "sum%", "cum", "cum%", "function")
CPROFILE = ("ncalls", "tottime", "percall", "cumtime", "percall", "filename:lineno(function)")
TICKS = ("ticks", "total", "nonlib", "name")
TICKS_OF_CPP = ("ticks", "cpp", "total", "name")
TICKS_OF_PARENT = ("ticks", "parent", "name")
STACKPROF = ("TOTAL", "(pct)", "SAMPLES", "(pct)", "FRAME")
GPROF = ("time", "seconds", "seconds", "calls", "s/call", "s/call", "name")
CALLGRIND = ("Ir", "file:function")
LTRACE = ("% time", "seconds", "usecs/call", "calls", "function")
PY_SPY = ("%Own", "%Total", "OwnTime", "TotalTime", "Function (filename:line)")
RBSPY = ("% self", "% total", "name")
DOTNET_TRACE = ("Functions", "Inclusive", "Exclusive")
HISTOGRAM = ("num", "#instances", "#bytes", "class name")
DUMPHEAP = ("MT", "Count", "TotalSize", "Class Name")
ASYNC = ("ns", "percent", "samples", "top")
ETOP = ("Pid", "Name or Initial Func", "Time", "Reds", "Memory", "MsgQ", "Current Function")

_AMOUNT = r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?(?:[a-zA-Zµ]{1,5})?"
_PCT = r"-?[0-9]{1,6}(?:\.[0-9]{1,6})?%"
_SECONDS = r"[0-9]{1,9}\.[0-9]{1,6}"
_SHAPES = {
    PPROF: re.compile(
        rf"[ \t]*({_AMOUNT})[ \t]+({_PCT})[ \t]+({_PCT})[ \t]+({_AMOUNT})[ \t]+({_PCT})[ \t]+(\S.{{0,1000}}?)[ \t]*"
    ),
    CPROFILE: re.compile(
        rf"[ \t]*([0-9]{{1,12}}(?:/[0-9]{{1,12}})?)[ \t]+({_SECONDS})[ \t]+({_SECONDS})[ \t]+({_SECONDS})[ \t]+({_SECONDS})[ \t]+(\S.{{0,1000}}?)[ \t]*"
    ),
    TICKS: re.compile(
        rf"[ \t]*([0-9]{{1,12}})[ \t]+({_PCT})(?:[ \t]+({_PCT}))?[ \t]+([^ \t0-9].{{0,1000}}?|[0-9].{{0,1000}}?)[ \t]*"
    ),
    TICKS_OF_CPP: re.compile(rf"[ \t]*([0-9]{{1,12}})[ \t]+({_PCT})[ \t]+({_PCT})[ \t]+(\S.{{0,1000}}?)[ \t]*"),
    STACKPROF: re.compile(
        rf"[ \t]*([0-9]{{1,12}})[ \t]+\(({_PCT})\)[ \t]+([0-9]{{1,12}})[ \t]+\(({_PCT})\)[ \t]+(\S.{{0,1000}}?)[ \t]*"
    ),
    GPROF: re.compile(
        r"[ \t]*([0-9]{1,3}\.[0-9]{1,4})[ \t]+([0-9]{1,9}\.[0-9]{1,6})[ \t]+([0-9]{1,9}\.[0-9]{1,6})"
        r"(?:[ \t]+([0-9]{1,18})(?:[ \t]+([0-9]{1,9}\.[0-9]{1,6})[ \t]+([0-9]{1,9}\.[0-9]{1,6}))?)?[ \t]+([^ \t0-9].{0,1000}?)[ \t]*"
    ),
    CALLGRIND: re.compile(r"[ \t]*([0-9][0-9,]{0,24}(?:[ \t]+\([ ]?[0-9.]{1,6}%\))?)[ \t]+(\S.{0,1000}?)[ \t]*"),
    LTRACE: re.compile(
        r"[ \t]*([0-9]{1,3}\.[0-9]{1,3})[ \t]+([0-9]{1,9}\.[0-9]{1,9})[ \t]+([0-9]{1,12})[ \t]+([0-9]{1,12})[ \t]+(?!total\b)([^ \t0-9]\S{0,300})[ \t]*"
    ),
    PY_SPY: re.compile(
        rf"[ \t]*({_PCT})[ \t]+({_PCT})[ \t]+([0-9.]{{1,12}}s)[ \t]+([0-9.]{{1,12}}s)[ \t]+(\S.{{0,400}}?)[ \t]*"
    ),
    RBSPY: re.compile(r"[ \t]*([0-9]{1,3}\.[0-9]{1,3})[ \t]+([0-9]{1,3}\.[0-9]{1,3})[ \t]+([^ \t0-9].{0,400}?)[ \t]*"),
    DOTNET_TRACE: re.compile(rf"[ \t]*[0-9]{{1,4}}\.[ \t]+(\S.{{0,1000}}?)[ \t]+({_PCT})[ \t]+({_PCT})[ \t]*"),
    HISTOGRAM: re.compile(r"[ \t]*(?:([0-9]{1,9}):)?[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+(\S.{0,1000}?)[ \t]*"),
    DUMPHEAP: re.compile(
        r"[ \t]*([0-9a-fA-F]{8,16})[ \t]+([0-9][0-9,]{0,24})[ \t]+([0-9][0-9,]{0,24})[ \t]+(\S.{0,1000}?)[ \t]*"
    ),
    ETOP: re.compile(
        r"[ \t]*(<[0-9.]{1,40}>|\S{1,40}:<[0-9.]{1,40}>)[ \t]+(\S{1,80})[ \t]+(\S{1,20})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})"
        r"[ \t]+(\S{1,120})[ \t]*"
    ),
    ASYNC: re.compile(rf"[ \t]*([0-9]{{1,18}})[ \t]+({_PCT})[ \t]+([0-9]{{1,12}})[ \t]+(\S.{{0,1000}}?)[ \t]*"),
    TICKS_OF_PARENT: re.compile(rf"[ \t]*([0-9]{{1,12}})[ \t]+({_PCT})[ ]{{2}}([ ]{{0,200}}\S.{{0,1000}}?)[ \t]*"),
}
_HEADS: dict[str, tuple[str, ...]] = {
    "flat flat% sum% cum cum%": PPROF,
    **{
        f"time seconds seconds calls {unit}/call {unit}/call name": GPROF
        for unit in ("s", "ms", "us", "ns", "Ks", "Ts")
    },
    "num #instances #bytes class name (module)": HISTOGRAM,
    "num #instances #bytes Class description": HISTOGRAM,
    **{
        " ".join(shape): shape
        for shape in (
            CPROFILE, TICKS, TICKS_OF_CPP, TICKS_OF_PARENT, STACKPROF, CALLGRIND, HISTOGRAM, DUMPHEAP, ETOP, LTRACE, PY_SPY, RBSPY, ASYNC
        )
    },
}  # fmt: skip
_FIRST = ("flat", "ncalls", "ticks", "TOTAL", "num", "MT", "Pid", "time ", "Ir ", "% ", "%Own", "Top ", "ns ")
_TOP_OF_DOTNET = re.compile(r"Top [0-9]{1,4} Functions \((?:Exclusive|Inclusive)\)[ \t]+Inclusive[ \t]+Exclusive")


def heading_of(line: str) -> list[str] | None:
    """Return the column names if a line is the heading of such a list, else None; pprof's gets the missing `function`.

    >>> heading_of("      flat  flat%   sum%        cum   cum%"), heading_of("flat rate")
    (['flat', 'flat%', 'sum%', 'cum', 'cum%', 'function'], None)
    """
    if len(line) > 120 or not line.lstrip(" \t").startswith(_FIRST):
        return None
    words = " ".join(line.split())
    found = DOTNET_TRACE if _TOP_OF_DOTNET.fullmatch(words) else _HEADS.get(words)
    return list(found) if found else None


_ROWS: dict[tuple[str, ...], re.Pattern[str]] = {
    CPROFILE: re.compile(
        r"[ \t]*[0-9]{1,12}(?:/[0-9]{1,12})?(?:[ \t]+[0-9]{1,9}\.[0-9]{3}){4}[ \t]+(?:\{\S.{0,300}\}|\S{1,300}:[0-9]{1,9}\(\S{1,200}\))[ \t]*"
    ),
    PPROF: re.compile(
        r"[ \t]*[0-9]{1,9}(?:\.[0-9]{1,3})?(?:ns|us|µs|ms|s|mins|hrs|B|kB|MB|GB)[ \t]+[0-9.]{1,6}%[ \t]+[0-9.]{1,6}%[ \t]+"
        r"[0-9]{1,9}(?:\.[0-9]{1,3})?[a-zA-Zµ]{1,4}[ \t]+[0-9.]{1,6}%[ \t]{1,4}\S.{0,300}"
    ),
}
_ROWS[HISTOGRAM] = re.compile(
    r"[ \t]*(?:[0-9]{1,9}:)?[ \t]+[0-9]{1,18}[ \t]+[0-9]{1,18}[ \t]{2,8}"
    r"(?:\[{1,4}(?:[BCIJSZFD]|L[\w.$/]{1,300};)|[a-z]\w{0,60}(?:\.\w{1,100}){1,20}[\w.$]{0,300}(?:\[\]){0,4})(?: \([\w.@ -]{1,80}\))?[ \t]*"
)
"""Rows that identify their list without a heading, because people paste the middle of a list."""


def headless(line: str) -> list[str] | None:
    """Return the column names of the list that alone prints rows like this line; None for any other line.

    >>> headless("      710    0.035    0.000    0.072    0.000 {built-in function posix.stat}")[0], headless("7 0.1 0.2 0.3 0.4 x")
    ('ncalls', None)
    >>> headless("     2.43s  9.87% 51.36%     15.68s 63.66%  runtime.gentraceback")[0]
    'flat'
    """
    if len(line) > 600 or not (line[:1].isspace() or line[:1].isdigit()):
        return None
    return next((list(heading) for heading, row in _ROWS.items() if row.fullmatch(line)), None)


def is_heading(heading: Sequence[str]) -> bool:
    """Return whether column names are those of such a list."""
    return tuple(heading) in _SHAPES


def cells_of(heading: Sequence[str], line: str) -> list[str] | None:
    """Return the cells of a row, None for a line that is no row. The name of a caller keeps its indent.

    >>> cells_of(TICKS, "  41020   61.5%          Shared libraries"), cells_of(TICKS_OF_PARENT, "   90   50.0%    LazyCompile: *f /a.js:1:2")
    (['41020', '61.5%', '', 'Shared libraries'], ['90', '50.0%', '  LazyCompile: *f /a.js:1:2'])
    >>> cells_of(HISTOGRAM, "   1:   9000   720000  [B (java.base@17.0.2)"), cells_of(DUMPHEAP, "7ffd10a0b0c0 1,200 96,000 System.String")
    (['1', '9000', '720000', '[B (java.base@17.0.2)'], ['7ffd10a0b0c0', '1,200', '96,000', 'System.String'])
    >>> cells_of(ASYNC, "  9100200300   61.30%      910  java.util.HashMap.getNode")
    ['9100200300', '61.30%', '910', 'java.util.HashMap.getNode']
    >>> cells_of(STACKPROF, " 501  (60.1%)   400  (48.0%)   A::B#c"), cells_of(ETOP, "<0.9.0>  logger '-' 12 3400  70000 gen_server:loop/7")[5]
    (['501', '60.1%', '400', '48.0%', 'A::B#c'], '70000')
    """
    found = _SHAPES[tuple(heading)].fullmatch(line) if len(line) <= 1200 else None
    return [cell or "" for cell in found.groups()] if found else None
