"""Read tables of any tool: a heading, and rows whose cells stand under its words or between bars."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from parsers.formats.general.text import comma_tables, profile_lists

LOOK = 64
"""Number of lines of a paragraph that decide whether it is a table."""

ABOVE = 4
"""Number of first lines of a paragraph among which its heading is searched."""

FITS = 0.8
"""Minimum share of the lines below a heading that must have as many cells as the heading."""

MOST_COLUMNS = 100

TIMES_DIGIT = 10
"""A heading may have one cell that begins with a digit (`0fill` of vm_stat) per this many cells; a row of data has
more of them."""
_WIDEST = 40
"""Maximum number of characters of a heading's cell."""

RULE = re.compile(r"[ \t|+=_*│─┼├┤┌┐└┘┬┴-]*[-=_+─]{3,}[ \t|+=_*│─┼├┤┌┐└┘┬┴-]*")
_RULED = re.compile(r"[ \t]*(?:[-_=]{1,200} {1,80}){1,99}[-_=]{1,4000}[ \t]*")
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]*(?:[a-zA-Z%µ/]{1,6})?")
_GAP = re.compile(r"[ \t]{2,}|\t")
_CELL = re.compile(r"\S+(?: \S+)*")
_FIGURE = re.compile(r"[-+]?[0-9][0-9.,]*(?:%| ?(?:[nuµm]?s|[KMGTPkmgtp]?i?[Bb](?:/s)?|[KMGTPkmgtp]))?(?=[ \t]|$)")
_FIGURE_OR_WORD = re.compile(rf"{_FIGURE.pattern}|\S+")
"""A figure with its unit, or a word: the pieces of cells that only one blank separates."""

_UNIT, _PLAIN = re.compile(r"[KMGTP]i?B"), re.compile(r"[0-9]{1,12}(?:[.,][0-9]{1,6})?")
"""A unit of sizes, and the figure in front of it."""

_NAME = re.compile(r"[ \t]*(?P<name>[A-Za-z_][\w.]{0,62})[ \t]*")
_DASHES = re.compile(r"[ \t]*-{1,200}[ \t]*")
_ONE_ROW = re.compile(r"[ \t]*\(1 [^\W\d]{1,12}\)[ \t]*")

FOOTER = re.compile(
    r"[ \t]*(?:\([0-9]+ (?:rows?|row\(s\))(?: affected)?\)|(?:[0-9]+|no) rows? (?:in set|selected|affected)\b.*)"
)
"""Line in which a database client prints the number of rows above it."""

_MTR = re.compile(r"[ \t]*(?P<host>HOST: \S+|Host)[ \t]+(?P<columns>Loss%[ \t]+Snt(?:[ \t]+[A-Z][A-Za-z]+)*)[ \t]*")
_HOP = re.compile(
    r"[ \t]*(?P<n>[0-9]{1,3})\.(?:\|--)?[ \t]*(?:AS(?:[0-9]+|\?\?\?)[ \t]+)?(?P<host>\S+)[ \t]+(?P<loss>[0-9]{1,3}(?:\.[0-9]+)?%?)"
    r"(?P<figures>(?:[ \t]+[0-9]+(?:\.[0-9]*)?)+)[ \t]*"
)
"""A report of mtr and its rows, also with the number of the autonomous system (-z) in front of the host."""

_WORD = re.compile(r"\S+")
_DF = re.compile(r"(?P<columns>Filesystem(?: +(?:[GM]B blocks|[A-Za-z0-9%()-]+)){3,8}) +(?P<last>Mounted on)[ \t]*")
"""Heading of df, whose last column has a name of two words, and on AIX the second one too."""

_IOTOP = re.compile(
    r"[ \t]*(?P<time>TIME[ \t]+)?(?P<id>[TP]ID)[ \t]+PRIO[ \t]+USER[ \t]+DISK READ[ \t]+DISK WRITE(?P<swap>[ \t]+SWAPIN)?"
    r"[ \t]+IO>?[ \t]+COMMAND[ \t]*"
)
_IOTOP_ROW = re.compile(
    r"[ \t]*(?:(?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})[ \t]+)?(?P<id>[0-9]{1,10})[ \t]+(?P<prio>\S{1,8})[ \t]+(?P<user>\S{1,40})"
    r"[ \t]+(?P<read>[0-9.]{1,16}) ?(?P<read_unit>[KMGT]?B?(?:/s)?)[ \t]+(?P<write>[0-9.]{1,16}) ?(?P<write_unit>[KMGT]?B?(?:/s)?)"
    r"(?:[ \t]+(?P<swapin>[0-9.]{1,9}) ?%)?[ \t]+(?P<io>[0-9.]{1,9}) ?%[ \t]+(?P<command>\S.{0,400}?)[ \t]*"
)
"""Heading and row of iotop: names and cells may have two words; -a prints no `/s`, -t prints the time in front."""
IOTOP = ("ID", "PRIO", "USER", "DISK READ", "DISK WRITE", "SWAPIN%", "IO%", "COMMAND")
"""Heading under which rows of iotop are stored, whatever its options."""

_FREE = frozenset(
    (
        "ARGS",
        "CMD",
        "CMDLINE",
        "COMMAND",
        "FILENAME",
        "PATH",
        "QUERY",
        "STATEMENT",
        "INFO",
        "MESSAGE",
        "DETAIL",
        "DETAILS",
    )
)
"""Last columns whose cells are text with blanks, as tools print them that list one event or process a line."""

_LVM = re.compile(r"[ \t]*(?:LV +VG +Attr +LSize|VG +#PV +#LV|PV +VG +Fmt)\b")
"""Headings of lvs, vgs and pvs, whose rows leave cells empty."""

_POOLMON = re.compile(
    r"[ \t]*Tag[ \t]+Type[ \t]+Allocs[ \t]+Frees[ \t]+Diff[ \t]+Bytes[ \t]+Per Alloc(?:[ \t]+Mapped_Driver)?[ \t]*"
)
_BTT = re.compile(r"[ \t]*ALL[ \t]+MIN[ \t]+AVG[ \t]+MAX[ \t]+N[ \t]*")
"""Heading of btt's table of the times of disk requests."""

_TAG = re.compile(
    r"[ \t]*(?P<tag>\S{1,4}(?: {1,3}(?=[ ](?:Nonp|Paged)))?)[ \t]+(?P<type>Nonp|Paged)[ \t]+(?P<allocs>[0-9]{1,15})[ \t]+\([ \t]*-?[0-9]+\)"
    r"[ \t]+(?P<frees>[0-9]{1,15})[ \t]+\([ \t]*-?[0-9]+\)[ \t]+(?P<diff>-?[0-9]{1,15})[ \t]+(?P<bytes>[0-9]{1,18})"
    r"(?:[ \t]+\([ \t]*-?[0-9]+\))?[ \t]+(?P<each>-?[0-9]{1,12})(?:[ \t]+(?P<driver>\S.{0,200}?))?[ \t]*"
)
"""Heading and row of PoolMon: changes since the last screen stand in brackets."""
_MONGOSTAT = re.compile(
    r"[ \t]*(?:host +)?insert +query +update +delete +getmore +command(?: +[a-zA-Z|_%]+){4,24}[ \t]*"
)
"""Heading of mongostat; its last column is a time of up to three words, and its cells contain bars."""

_ATOPSAR = re.compile(
    r"[0-9]{2}:[0-9]{2}:[0-9]{2}[ \t]+(?P<words>[A-Za-z%][\w%/.]*(?:[ \t]+[A-Za-z%#][\w%/.]*){2,30})[ \t]+_[a-z]+_[ \t]*"
)
_ATOPSAR_ROW = re.compile(r"(?:[0-9]{2}:[0-9]{2}:[0-9]{2})?[ \t]+(?P<cells>\S.*)")
_APART = re.compile(r"(?<=[0-9]) ms\b")
"""Heading and row of atopsar. The heading ends with the name of the report, a row without a stamp belongs to the stamp
above it, and the cell of `avserv` ends with its unit."""

_SPAN = re.compile(r"(?i)[0-9]{1,2}[ -]?(?:s|secs?|m|mins?|h|hrs?)")
"""Cell of a heading that names a span over which the column is a mean (`5Sec`, `1Min` of Cisco's list of processes)."""

_LONG_LAST = frozenset(("process", "command", "cmd", "program", "query", "statement", "comm"))
"""Names of a last column whose cells may have several words."""

_IDENTIFIER = re.compile(r"[\w.]*[a-z0-9]_[\w.]*|[^()]{1,24}\([^()]{1,12}\)|\S+/\S+|\S*%\S*")
"""Cell of a heading that no sentence has: a name with an underscore, a unit in brackets, a rate, a percentage."""

_OF_JSON = re.compile(r'[ \t]*"[\w.@$ -]{1,80}"[ \t]*:')
"""Name in front of a value of JSON: lines of these stand below each other like rows, but none of them heads a table."""

MANY = 8
"""Minimum number of words in small letters that head a single row of which half are numbers: a sentence has none such below it."""

_SMALL = re.compile(r"[a-z][a-z0-9_.%/]*")

OF_GROUP, OF_COLUMN = 2, 6
"""Maximum number of characters between a column and the words of its group and of its own heading."""

_REMARK = re.compile(r"[ \t]{2,}(?=\S*[A-Za-z])(?P<remark>\S.*?)[ \t]*")
"""Words behind the last number of a row, set off by two blanks or more."""

Shape = dict[str, Any]
"""How a table is cut: `mode` (bar, tab, wide, words, mtr, df, iotop, atopsar, poolmon, last, free, ruled, profile), `heading`, `starts` of its
cells. JSON-able.

`framed` is False where bars stand only between the cells.

Where rows end with a remark that has no word in the heading, `remark` is true and the heading's last cell is empty.
"""


def cells_of(line: str, mode: str, *, framed: bool = True) -> list[str]:
    """Split a line into cells at bars (`mode` bar), tabs (tab), two blanks or more (wide), or each blank (words).

    With `framed` False (psql) bars stand only between cells, so an empty first or last cell keeps its place.

    >>> cells_of("| a | b c |", "bar"), cells_of("a b   c", "wide"), cells_of("a b   c", "words")
    (['a', 'b c'], ['a b', 'c'], ['a', 'b', 'c'])
    >>> cells_of("  3 |  | ", "bar", framed=False)
    ['3', '', '']
    """
    if mode == "bar" and not framed:
        return [cell.strip() for cell in line.replace("│", "|").split("|")]
    if mode == "bar":
        return [cell.strip() for cell in line.replace("│", "|").strip().strip("|").split("|")]
    if mode == "tab":
        return [cell.strip() for cell in line.split("\t")]
    return _GAP.split(line.strip()) if mode == "wide" else line.split()


def one_value(lines: Sequence[str]) -> tuple[str, str] | None:
    """Return name and value of a table with one column and one row, such as a setting in psql; else None.

    >>> one_value([" work_mem ", "----------", " 1MB", "(1 row)"]), one_value(["a", "-", "1", "2"])
    (('work_mem', '1MB'), None)
    """
    if len(lines) != 4 or not (_DASHES.fullmatch(lines[1]) and _ONE_ROW.fullmatch(lines[3])):
        return None
    name = _NAME.fullmatch(lines[0])
    return (name["name"], lines[2].strip()) if name and lines[2].strip() else None


def table_at(lines: Sequence[str]) -> Shape | None:
    """Return the shape of the table whose heading is the first of these lines; None if that line is no heading."""
    shape: Shape | None
    first = lines[0]
    counted = next((n for n, line in enumerate(lines) if FOOTER.fullmatch(line)), len(lines))
    below = [line for line in lines[1:counted] if not RULE.fullmatch(line)]
    ruled = len(lines) > 1 and RULE.fullmatch(lines[1]) is not None
    if not below or RULE.fullmatch(first) or len(first) > 2000 or ('"' in first and _OF_JSON.match(first)):
        return None
    if len(lines) > 1 and (shape := _under_rules(first, lines[1])) is not None:
        cut = [row_of(shape, line) for line in below]
        if sum(row is not None for row in cut) >= FITS * len(cut):
            return shape  # numbers that are wider than the dashes above them are cut at blanks below
    if found := _MTR.fullmatch(first):
        shape = {"mode": "mtr", "heading": [found["host"], *found["columns"].split()], "starts": []}
        return shape if row_of(shape, below[0]) else None
    if found := _DF.fullmatch(first):
        columns = found["columns"].replace("B blocks", "B-blocks").split()
        shape = {"mode": "df", "heading": [*columns, found["last"]], "starts": []}
        return shape if any(row_of(shape, line) for line in below) else None
    if found := _ATOPSAR.fullmatch(first):
        shape = {"mode": "atopsar", "heading": found["words"].split(), "starts": []}
        return shape if row_of(shape, below[0]) else None
    if _IOTOP.search(first):
        shape = {"mode": "iotop", "heading": [*IOTOP], "starts": []}
        return shape if any(row_of(shape, line) for line in below) else None
    if _POOLMON.fullmatch(first):
        shape = {"mode": "poolmon", "heading": first.replace("Per Alloc", "Per_Alloc").split(), "starts": []}
        return shape if any(row_of(shape, line) for line in below) else None
    if _MONGOSTAT.fullmatch(first):
        shape = {"mode": "last", "heading": first.split(), "starts": []}
        return shape if row_of(shape, below[0]) else None
    if _LVM.match(first):
        words = list(_WORD.finditer(first))
        shape = {"mode": "under", "heading": [w[0] for w in words], "starts": [w.start() for w in words]}
        cut = [row_of(shape, line) for line in below]
        return shape if sum(row is not None for row in cut) >= FITS * len(cut) else None
    modes = (
        ("bar",) if "|" in first or "│" in first else ("tab", "wide", "words") if "\t" in first else ("wide", "words")
    )
    for mode in modes:
        framed = mode != "bar" or first.strip()[0] in "|│" or first.strip()[-1] in "|│"
        heading = cells_of(first, mode, framed=framed)
        if not _is_heading(heading):
            continue
        starts = [found.start() for found in _CELL.finditer(first)] if mode == "wide" else []
        shape = {"mode": mode, "heading": heading, "starts": starts, **({} if framed else {"framed": False})}
        if mode == "words" and any(_remarked(heading, line) for line in below):
            heading = [*heading, ""]
            shape = {**shape, "heading": heading, "remark": True}
        cut = [cells for cells in (row_of(shape, line) for line in below) if cells != heading]
        rows = [cells for cells in cut if cells]
        if rows and len(rows) >= FITS * len(cut) and _is_table(shape, rows, ruled):
            return shape
    if "," in first and (names := comma_tables.heading_of(first, below)) is not None:
        return {"mode": "comma", "heading": names, "starts": []}
    return _with_long_last(first, below)


def _with_long_last(first: str, below: Sequence[str]) -> Shape | None:
    """Return the shape of a table whose last column holds text with blanks, such as a command; else None.

    Below capitals one column before must hold numbers; below other words the first one must, because prose ends in them too.

    >>> _with_long_last("PID PPID RET ARGS", ["12 1 0 sh -c true", "13 12 0 true"])["heading"]
    ['PID', 'PPID', 'RET', 'ARGS']
    >>> _with_long_last("PID ARGS", ["12 sh -c true", "13 true"])
    >>> _with_long_last(" PID uSecs  5Sec Process", ["  91   812  9.10% Net Input", "   7    12  0.10% Logger"])["mode"]
    'last'
    """
    heading = first.split()
    if len(heading) < 3 or not (heading[-1] in _FREE or heading[-1].lower() in _LONG_LAST) or not _is_heading(heading):
        return None
    if heading[-1] in _FREE:
        shape: Shape = {"mode": "free", "heading": heading, "starts": []}
        rows = _rows_of(shape, below)
        columns = list(zip(*rows, strict=True))[:-1] if len(rows) >= 2 else []
        if any(all(_NUMBER.fullmatch(cell) for cell in column) for column in columns):
            return shape
    if heading[-1].lower() in _LONG_LAST and len(heading) >= 4:
        shape = {"mode": "last", "heading": heading, "starts": []}
        return shape if _rows_of(shape, below) else None
    return None


def _rows_of(shape: Shape, below: Sequence[str]) -> list[list[str]]:
    """Return the rows of these lines if enough of them fit the shape, else none."""
    rows = [cells for line in below if (cells := row_of(shape, line)) is not None]
    return rows if len(rows) >= FITS * len(below) else []


def two_lines_at(lines: Sequence[str]) -> Shape | None:
    """Return the shape of a table whose heading takes the first two of these lines, the groups above the columns.

    A column is named after what stands above it in both lines; None if the lines are no such table.

    >>> made = two_lines_at(["        Net kB/s    Disk", " CPU    in    out   util", " 12%    10    20     9%", " 90%   100   200    99%"])
    >>> made["heading"]
    ['CPU', 'Net kB/s in', 'Net kB/s out', 'Disk util']
    >>> two_lines_at(["One line of words", "and another one", "1 2 3 4", "5 6 7 8"]) is None
    True
    """
    if len(lines) < 3 or len(lines[0]) > 2000 or any(RULE.fullmatch(line) or "|" in line for line in lines[:2]):
        return None
    below = [line for line in lines[2:] if not RULE.fullmatch(line)]
    counts = [len(line.split()) for line in below]
    columns = max(set(counts), key=counts.count, default=0)
    rows = [line for line, n in zip(below, counts, strict=True) if n == columns]
    words = list(_WORD.finditer(lines[1]))
    above = list(_CELL.finditer(lines[0]))
    figures = sum(bool(_NUMBER.fullmatch(cell)) for line in rows for cell in line.split())
    if (
        not 4 <= columns <= MOST_COLUMNS
        or not columns / 2 <= len(words) <= columns
        or len(above) < 2
        or len(rows) < FITS * (len(below) - 1)
        or 2 * figures < columns * len(rows)
        or any(word[0][0].isdigit() for word in (*words, *above))
    ):
        return None
    spans = [list(found) for found in zip(*([m.span() for m in _WORD.finditer(line)] for line in rows), strict=True)]
    heading = []
    for ends in spans:
        span = (min(start for start, _ in ends), max(end for _, end in ends))
        names = [_above(span, above, OF_GROUP), _above(span, words, OF_COLUMN)]
        if names[0] and not names[1] and len(words) == columns:
            return None
        heading.append(" ".join(name for name in names if name))
    return {"mode": "words", "heading": heading, "starts": []} if sum(map(bool, heading)) * 5 >= columns * 4 else None


def _above(span: tuple[int, int], words: Sequence[re.Match[str]], within: int) -> str:
    """Return the words that stand above the columns `span` of characters or at most `within` beside it, the nearest."""

    def apart(word: re.Match[str]) -> tuple[int, float]:
        between = max(word.start() - span[1] + 1, span[0] - word.end() + 1, 0)
        return between, abs(word.start() + word.end() - sum(span)) / 2

    nearest = min(words, key=apart, default=None)
    return nearest[0] if nearest is not None and apart(nearest)[0] <= within else ""


def _remarked(heading: Sequence[str], line: str) -> list[str] | None:
    """Return the cells of a row with the remark after its last number as a further cell; None without a remark.

    >>> _remarked(["NAME", "STATE", "CKSUM"], "  sdb  FAULTED  0  too many errors")
    ['sdb', 'FAULTED', '0', 'too many errors']
    >>> _remarked(["NAME", "STATE", "CKSUM"], "  errors: no known data errors"), _remarked(["NAME", "SIZE"], "a 1 b")
    (None, None)
    """
    words = list(re.finditer(r"\S+", line))
    if len(words) <= len(heading) or not _NUMBER.fullmatch(words[len(heading) - 1][0]):
        return None
    if any(cell.upper() != cell for cell in heading) or len(heading) < 3:
        return None
    found = _REMARK.fullmatch(line, words[len(heading) - 1].end())
    return [*(word[0] for word in words[: len(heading)]), found["remark"]] if found else None


def _under_rules(first: str, second: str) -> Shape | None:
    """Return the shape of a table whose second line has dashes as wide as each column (SQL*Plus, sqlcmd, db2), or None.

    >>> _under_rules("WAIT EVENT   SID", "------------ ---")["heading"]
    ['WAIT EVENT', 'SID']
    """
    if _RULED.fullmatch(second) is None or "|" in first:
        return None
    spans = [(found.start(), found.end()) for found in re.finditer(r"[-_=]+", second)]
    starts = [start for start, _ in spans]
    heading = [cell.strip() for cell in _cut(first, starts)]
    if not _is_heading(heading):
        return None
    return {"mode": "ruled", "heading": heading, "starts": starts}


def _cut(line: str, starts: Sequence[int]) -> list[str]:
    """Split a line at the columns `starts`; the first piece also has the text before the first start."""
    return [line[start:end] for start, end in zip([0, *starts[1:]], [*starts[1:], None], strict=True)]


def _is_heading(cells: Sequence[str]) -> bool:
    return (
        2 <= len(cells) <= MOST_COLUMNS
        and all(0 < len(cell) <= _WIDEST and cell[-1] not in "=;" for cell in cells)
        and sum(cell[0].isdigit() and not _SPAN.fullmatch(cell) for cell in cells) * TIMES_DIGIT <= len(cells)
        and sum(any(ch.isalpha() for ch in cell) for cell in cells) * 2 > len(cells)
        and not (cells[0][-1] == ":" and len(cells) == 2)
    )


def _is_table(shape: Shape, rows: Sequence[Sequence[str]], ruled: bool) -> bool:
    """Decide whether rows look like data below a heading: numbers under words, or a heading in capitals."""
    heading: list[str] = shape["heading"]
    if shape["mode"] == "bar" or ruled:
        return True
    capitals = all(cell.upper() == cell for cell in heading)
    strict = shape["mode"] == "words"
    least = FITS * len(rows)
    for n, name in enumerate(heading):
        column = [row[n] for row in rows]
        numbers = sum(bool(_NUMBER.fullmatch(cell)) if strict else any(c.isdigit() for c in cell) for cell in column)
        if numbers >= least and not any(c.isdigit() for c in name):
            return capitals or len(rows) >= 2 or _is_listing(heading, rows[0])
    return capitals and len(heading) >= 3 and (not strict or len(rows) >= 2)


def _is_listing(heading: Sequence[str], cells: Sequence[str]) -> bool:
    """Decide whether a heading with a single row is one of a tool: most of its names are no words of a sentence.

    >>> _is_listing(["node", "queue_size", "rate(ms)", "log_kb"], ["a", "9", "1.5", "7"]), _is_listing(list("abcd"), list("a123"))
    (True, False)
    """
    named = sum(bool(_IDENTIFIER.fullmatch(name)) for name in heading)
    numbers = sum(bool(_NUMBER.fullmatch(c)) for c in cells)
    if len(heading) >= MANY and 2 * numbers >= len(cells) and named and all(map(_SMALL.fullmatch, heading)):
        return True
    return len(heading) >= 4 and 2 * named >= len(heading) and numbers >= 2


def _tight(cells: Sequence[str], wanted: int) -> list[str] | None:
    """Split cells that only one blank separates, because numbers fill their columns; None unless `wanted` cells result.

    >>> _tight(["0.01", "123.52 us 2136739.26 us", "7 RENAME"], 5)
    ['0.01', '123.52 us', '2136739.26 us', '7', 'RENAME']
    >>> _tight(["two words", "c"], 3), _tight(["1", "2 s"], 3)
    (None, None)
    """
    made: list[str] = []
    for cell in cells:
        parts = [found[0] for found in _FIGURE_OR_WORD.finditer(cell)]
        if len(parts) > 1 and sum(not _FIGURE.fullmatch(part) for part in parts) > 1:
            return None
        made += parts
    return made if len(made) == wanted else None


def waits_for_rows(*lines: str) -> bool:
    """Return whether the last lines are the heading of a tool that prints a blank line between heading and rows.

    >>> waits_for_rows(" Tag  Type     Allocs     Frees      Diff   Bytes    Per Alloc"), waits_for_rows("Tag Type")
    (True, False)
    >>> waits_for_rows("             ALL           MIN           AVG           MAX           N", "--------------- -------------")
    True
    """
    if _POOLMON.fullmatch(lines[-1]) is not None:
        return True
    return len(lines) > 1 and _BTT.fullmatch(lines[-2]) is not None and RULE.fullmatch(lines[-1]) is not None


def row_of(shape: Shape, line: str) -> list[str] | None:
    """Return the cells of a row, as many as its heading has; None for a line that does not fit.

    In a row with fewer cells, each cell goes to the heading that it stands under:

    >>> shape = {"mode": "wide", "heading": ["Proto", "Address", "State"], "starts": [0, 8, 20]}
    >>> row_of(shape, "UDP     0.0.0.0:53"), row_of(shape, "no row at all, or is it?")
    (['UDP', '0.0.0.0:53', ''], None)

    A row of mtr names its hop in one cell:

    >>> shape = {"mode": "mtr", "heading": ["HOST: a", "Loss%", "Snt", "Avg"], "starts": []}
    >>> row_of(shape, " 12. AS64500  192.0.2.7    0.0%    30  2.0"), row_of(shape, "  2.|-- ???   100.0   30    0.0")
    (['12.|-- 192.0.2.7', '0.0%', '30', '2.0'], ['2.|-- ???', '100.0', '30', '0.0'])

    A remark after the last cell is a cell of its own:

    >>> shape = {"mode": "words", "heading": ["NAME", "STATE", "CKSUM", ""], "starts": [], "remark": True}
    >>> row_of(shape, "sda ONLINE 0"), row_of(shape, "sdb ONLINE 0  (resilvering)")
    (['sda', 'ONLINE', '0', ''], ['sdb', 'ONLINE', '0', '(resilvering)'])
    """
    mode, heading, starts = shape["mode"], shape["heading"], shape["starts"]
    if mode == "mtr":
        hop = _HOP.fullmatch(line)
        cells = [f"{hop['n']}.|-- {hop['host']}", hop["loss"], *hop["figures"].split()] if hop else []
        return cells if len(cells) == len(heading) else None
    if mode == "poolmon":
        found = _TAG.fullmatch(line)
        cells = [*found.group("tag", "type", "allocs", "frees", "diff", "bytes", "each")] if found else []
        cells += [found["driver"] or ""] if found and len(heading) == 8 else []
        return [cell.strip() for cell in cells] or None
    if mode == "atopsar":
        found = _ATOPSAR_ROW.fullmatch(line)
        cells = _APART.sub("", found["cells"]).split() if found else []
        return cells if len(cells) == len(heading) else None
    if mode == "iotop":
        found = _IOTOP_ROW.fullmatch(line)
        cells = [*found.group("id", "prio", "user")] if found else []
        cells += [f"{found['read']} {found['read_unit']}", f"{found['write']} {found['write_unit']}"] if found else []
        return [*cells, found["swapin"] or "", found["io"], found["command"]] if found else None
    if mode == "bar" and "|" not in line and "│" not in line:
        return None
    if mode == "df":
        cells = line.split(None, len(heading) - 1)
        return cells if len(cells) == len(heading) and cells[-2].rstrip("%-").isdigit() | (cells[-2] == "-") else None
    if mode == "last":
        cells = line.split(None, len(heading) - 1)
        return cells if len(cells) == len(heading) and cells[0].lstrip("*").isdigit() | (heading[0] == "host") else None
    if mode == "free":
        cells = line.split(None, len(heading) - 1)
        return [*cells[:-1], cells[-1].rstrip()] if len(cells) == len(heading) else None
    if mode == "comma":
        cells = comma_tables.cells_of(line) if "," in line else []
        return cells if len(cells) == len(heading) else None
    if mode == "profile":
        return profile_lists.cells_of(heading, line)
    if mode == "ruled":
        placed = [cell.strip() for cell in _cut(line, starts)]
        # A word across a border means that the line has other columns.
        whole = all(
            not (line[start - 1 : start + 1].strip() and len(line[start - 1 : start + 1].strip()) == 2)
            for start in starts[1:]
        )
        return placed if whole and sum(map(bool, placed)) >= 2 else None
    if shape.get("remark"):
        cells = line.split()
        return [*cells, ""] if len(cells) == len(heading) - 1 else _remarked(heading[:-1], line)
    if mode == "under":
        return _under(heading, starts, line)
    cells = cells_of(line, mode, framed=shape.get("framed", True))
    if mode == "words" and len(cells) > len(heading):
        cells = _with_units(cells)
    if len(cells) == len(heading):
        return cells
    if mode == "tab" and 1 < len(cells) < len(heading):
        return [*cells, *[""] * (len(heading) - len(cells))]
    if mode != "wide" or not 2 <= len(cells) < len(heading):
        return None
    if tight := _tight(cells, len(heading)):
        return tight
    placed = [""] * len(heading)
    ends = [start + len(name) for start, name in zip(starts, heading, strict=True)]
    for found in _CELL.finditer(line):
        # A cell may end with its heading (numbers) or begin with it (names).
        under = [n for n in range(len(heading)) if found.start() < ends[n] and found.end() > starts[n]]
        if len(under) != 1 or placed[under[0]]:
            return None
        placed[under[0]] = found[0]
    return placed


def _with_units(cells: Sequence[str]) -> list[str]:
    """Join each size with the unit that stands apart from it.

    >>> _with_units(["0", "3.637", "TB", "Onln", "12", "GiB"])
    ['0', '3.637 TB', 'Onln', '12 GiB']
    """
    made: list[str] = []
    for cell in cells:
        if made and _UNIT.fullmatch(cell) and _PLAIN.fullmatch(made[-1]):
            made[-1] = f"{made[-1]} {cell}"
        else:
            made.append(cell)
    return made


def _under(heading: Sequence[str], starts: Sequence[int], line: str) -> list[str] | None:
    """Return the cells of a row, each of whose words stands under one word of the heading; cells may be empty.

    >>> _under(["LV", "VG", "LSize", "Pool", "Data%"], [2, 7, 12, 19, 24], "  thin data  9.00g       99.20")
    ['thin', 'data', '9.00g', '', '99.20']
    """
    placed = [""] * len(heading)
    for word in _WORD.finditer(line):
        ends = [start + len(name) for start, name in zip(starts, heading, strict=True)]
        under = [n for n in range(len(heading)) if word.start() < ends[n] and word.end() > starts[n]]
        if len(under) != 1 or placed[under[0]]:
            return None
        placed[under[0]] = word[0]
    return placed if sum(map(bool, placed)) >= 2 else None


_MESSAGES = ("message", "msg", "info", "description", "text", "event")
_SEVERITIES = ("type", "level", "severity", "priority", "leveldisplayname", "entrytype")
_STATES = ("status", "state", "health", "result")
_BAD = re.compile(
    r".*Exited \((?!0\))[0-9]+\).*|.*\b(?:CrashLoopBackOff|ErrImagePull|ImagePullBackOff|OOMKilled|Evicted|NotReady|Restarting \([0-9]+\)"
    r"|[Uu]nhealthy|FATAL|BACKOFF|FAILED|[Ff]ailed|faulty|DEGRADED|FAULTED|UNAVAIL)(?:\W.*)?|Error|Unknown|Not Responding"
    r"|Dgrd|Pdgd|OfLn|Offln|Rbld|UBad|Msng"
)
"""States in which a container, unit, device or process does not work; the last ones are those of storcli for drives and groups."""

_SHORT = ("memorystatus", ("Low", "Warning"))
"""Column of Hyper-V, and its values for a guest that needs more memory than it was given."""


_UNWANTED = re.compile(r"\w*Pressure|\w*Unavailable|\w*Failure|KernelDeadlock|ReadonlyFilesystem|\w*Problem")
_WANTED = re.compile(
    rf"{_UNWANTED.pattern}|Ready|ContainersReady|Initialized|PodScheduled|Available|Progressing|AbleToScale|ScalingActive"
)
"""Kubernetes conditions that show whether an object works; `_UNWANTED` are those that should be False."""


def message_of(heading: Sequence[str], cells: Sequence[str]) -> str | None:
    """Return the text of a log row for a table row: reason and message of an event, or an object and its bad state.

    None for any other row.

    >>> message_of(["Type", "Reason", "Message"], ["Warning", "BackOff", "Back-off restarting"])
    'BackOff: Back-off restarting'
    >>> message_of(["NAME", "STATUS"], ["web", "Exited (137) 3 minutes ago"]), message_of(["NAME", "STATUS"], ["db", "Up"])
    ('web: Exited (137) 3 minutes ago', None)
    >>> message_of(["NAME", "STATE", "CKSUM", ""], ["sdb", "FAULTED", "0", "too many errors"])
    'sdb: FAULTED (too many errors)'
    >>> message_of(["TIME", "REASON", "MSG"], ["2024-01-02T03:04:05Z", "Unhealthy", "Liveness probe failed:"])
    'Unhealthy: Liveness probe failed:'
    >>> message_of(["Type", "Status", "Reason", "Message"], ["DiskPressure", "True", "KubeletHasDiskPressure", "disk pressure"])
    'DiskPressure True: KubeletHasDiskPressure: disk pressure'
    >>> message_of(["Type", "Status", "Reason", "Message"], ["Ready", "True", "KubeletReady", "is ready"])
    >>> message_of(["Name", "State", "MemoryStatus"], ["VM9", "Running", "Low"]), message_of(["EID:Slt", "State"], ["252:4", "Rbld"])
    ('VM9: memory status Low', '252:4: Rbld')
    """
    names = [name.lower() for name in heading]
    row = dict(zip(names, cells, strict=False))
    if _is_condition(row):
        bad = row["status"] == "True" if _UNWANTED.fullmatch(row["type"]) else row["status"] in ("False", "Unknown")
        told = [f"{row['type']} {row['status']}", row.get("reason"), row.get("message")]
        return ": ".join(p for p in told if p) if bad and _WANTED.fullmatch(row["type"]) else None
    said = next((row[n] for n in _MESSAGES if n in row), None)
    if said and any(n in row for n in ("reason", *_SEVERITIES)):
        parts = [row.get("reason"), row.get("object"), said]
        aged = next((c for n, c in row.items() if n in ("age", "last seen") and "(x" in c), "")
        return ": ".join(p for p in parts if p) + (f" {aged[aged.index('(x') :]}" if aged else "")
    state = next((row[n] for n in _STATES if n in row and _BAD.fullmatch(row[n])), None)
    if state is None and row.get(_SHORT[0]) in _SHORT[1]:
        state = f"memory status {row[_SHORT[0]]}"
    if state is None:
        return None
    what = next((row[n] for n in ("names", "name", "unit", "service", "device") if row.get(n)), cells[0])
    state = f"{state} ({row['']})" if row.get("") else state
    return f"{what}: {state}" if what else state


def tells(heading: Sequence[str]) -> bool:
    """Return whether the last cell of a row is a message, so that a row may read like a sentence.

    >>> tells(["Type", "Reason", "Age", "From", "Message"]), tells(["Name", "Size"])
    (True, False)
    """
    names = [name.lower() for name in heading]
    return names[-1] in _MESSAGES and any(n in names for n in ("reason", *_SEVERITIES))


def _is_condition(row: dict[str, str]) -> bool:
    """Return whether a row is a condition of a Kubernetes object: a type with status True, False or Unknown."""
    return "type" in row and row.get("status") in ("True", "False", "Unknown")


def severity_of(heading: Sequence[str], cells: Sequence[str]) -> str | None:
    """Return the severity in a row of events; a bad state has the severity Error."""
    names = [name.lower() for name in heading]
    row = dict(zip(names, cells, strict=False))
    if _is_condition(row) or not any(n in row for n in _MESSAGES):
        return "Error"
    return next((row[n] for n in _SEVERITIES if row.get(n)), None)
