"""Explain words: columns, system calls, error codes, signals, parameters, waits, states, headings, and Exhibit's own
terms.

The texts are in `parsers/reference/terms/*.txt`, one area per file, in our own words. A file consists of sections:

    [call | section 2 of the manual pages]
    read = Reads from a descriptor. It waits while nothing is there. | read(2)
    stat, lstat = ...                      several names share a text
    kernel.sched_* = ...                   `*` stands for any end or beginning; an exact name wins
    kern.ipc.shmmax {bytes} = ...          a unit, where the name has one

The first word of a section's head is the sort of its names; `column vmstat` has columns of that table (`column a, b` of
both) and `column *` those that mean the same in every table. The text behind the bar is the source, of the section or of
one entry. Units of the columns of evidence tables are in `parsers/tables/schema.py`. A term's key is `vmstat.r` for a
column, else `<what>.<name>`: `call.read`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path

from parsers.kinds import folders, kind_of

TERMS = Path(__file__).parent / "terms"

# Sorts of names, in the order in which a bare name is looked up.
SORTS: dict[str, str] = {
    "word": "word of Exhibit",
    "error": "error code",
    "call": "system call",
    "signal": "signal",
    "fault": "cause of a signal or fault",
    "parameter": "parameter",
    "wait": "wait event of Oracle",
    "function": "function of an Oracle Net trace",
    "packet": "packet or event of an Oracle Net trace",
    "state": "state",
    "trace": "word of a trace",
    "heading": "heading of a listing",
    "code": "code of a log",
    "table": "table",
    "column": "column",
}
_HEAD = re.compile(r"\[(\w+)(?: ([^|\]]+?))?(?: \| ([^\]]+))?\]")
_ENTRY = re.compile(r"(.+?)(?: \{(.+?)\})? = (.+?)(?: \| (.+))?")
_ZEROS = re.compile(r"\b([A-Z]{2,4})-0+(?=\d)")
_SYMBOL = re.compile(r"[A-Za-z_$%][\w$.%/:-]*")


@dataclass(frozen=True)
class Entry:
    """An entry of the glossary. `place` is the table of a column (`*`: every table) or the listing of a heading."""

    what: str
    name: str
    text: str
    source: str
    unit: str = ""
    place: str = ""

    @property
    def key(self) -> str:
        return f"{self.place}.{self.name}" if self.what in ("column", "heading") else f"{self.what}.{self.name}"

    @property
    def kind(self) -> str:
        """Sort of the name in words: `system call`, `column of vmstat`, `heading of pmap`."""
        if self.what == "column":
            return "column of every table" if self.place == "*" else f"column of {self.place}"
        return f"heading of {self.place[1:]}" if self.what == "heading" else SORTS[self.what]


class TermsInvalid(ValueError):
    """Raised for a line in a file of terms that is not an entry, and for a name that occurs twice."""


def entries_of(text: str, file: str) -> Iterator[Entry]:
    """Yield the entries of one file of terms, in its order. Raises TermsInvalid with file and line."""
    what = place = source = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if head := _HEAD.fullmatch(line):
            what, place, source = head[1], (head[2] or "").strip(), (head[3] or "").strip()
            if what not in SORTS or (what in ("column", "heading")) != bool(place):
                raise TermsInvalid(f"{file}:{number}: {line}")
            continue
        entry = _ENTRY.fullmatch(line)
        if entry is None or not what or not (entry[4] or source):
            raise TermsInvalid(f"{file}:{number}: {line}")
        for name, one in product(entry[1].split(", "), place.split(", ")):
            where = f"~{one}" if what == "heading" else one
            yield Entry(what, name.strip(), entry[3].strip(), (entry[4] or source).strip(), entry[2] or "", where)


@cache
def glossary() -> dict[str, Entry]:
    """Return all entries by key, including those with `*` in their names. Raises TermsInvalid."""
    found: dict[str, Entry] = {}
    of_kinds = (file for folder in folders() if (file := folder / "terms.txt").exists())
    for file in (*sorted(TERMS.glob("*.txt")), *of_kinds):
        for entry in entries_of(file.read_text(encoding="utf-8"), file.name):
            if entry.key in found:
                raise TermsInvalid(f"{file.name}: {entry.key} stands there twice")
            found[entry.key] = entry
    return found


@cache
def _patterns() -> tuple[Entry, ...]:
    return tuple(e for e in glossary().values() if "*" in e.name and e.place != "*")


@cache
def _by_name() -> dict[str, tuple[Entry, ...]]:
    """Return all entries by bare name in lower case, in the order of `SORTS`."""
    found: dict[str, list[Entry]] = {}
    for entry in glossary().values():
        found.setdefault(entry.name.casefold(), []).append(entry)
    order = list(SORTS)
    return {name: tuple(sorted(some, key=lambda e: (order.index(e.what), e.place))) for name, some in found.items()}


def column(table: str, name: str) -> Entry | None:
    """Return the entry of a column; its unit comes from the schema if the glossary has none."""
    if f"table.{table}" not in glossary():
        table = table.removesuffix("_i")  # the view without the rows since boot
    found = glossary().get(f"{table}.{name}") or glossary().get(f"*.{name}")
    if found is None or found.what != "column" or f"table.{table}" not in glossary():
        return None
    return replace(found, place=table, unit=found.unit or _unit(table, name))


def explain(what: str, name: str) -> Entry | None:
    """Return the entry of a name whose sort is known: `explain("error", "ORA-03136")`; entries with `*` count."""
    name = plain_code(name) if what in ("error", "code") else name
    found = glossary().get(f"{what}.{name}")
    if found is not None:
        return found
    for entry in _patterns():
        if entry.what == what and fnmatchcase(name, entry.name):
            return replace(entry, name=name)
    return None


def entry(term: str) -> Entry | None:
    """Return the entry of a key (`vmstat.r`, `call.read`) or of a bare name; its first sort in `SORTS` wins (`EAGAIN`,
    `shmat`).

    >>> entry("call.shmat").kind, entry("vmstat.r").unit, entry("TNS-03136") is None
    ('system call', 'threads', True)
    """
    head, _, rest = term.partition(".")
    if rest and (found := explain(head, rest) if head in SORTS else None):
        return found
    if rest and (found := column(head, rest)):
        return found
    if term in glossary():
        return glossary()[term]
    named = _by_name().get(plain_code(term).casefold(), ())
    if named:
        return named[0]
    return next((replace(e, name=term) for e in _patterns() if fnmatchcase(plain_code(term), e.name)), None)


def namesakes(term: str) -> tuple[Entry, ...]:
    """Return every entry with that bare name: `exit` is a system call and a word of a trace."""
    return _by_name().get(plain_code(term).casefold(), ())


def plain_code(name: str) -> str:
    """Return a code as tables hold it, without leading zeros.

    >>> plain_code("ORA-00609"), plain_code("EAGAIN")
    ('ORA-609', 'EAGAIN')
    """
    return _ZEROS.sub(r"\1-", name)


def _unit(table: str, name: str) -> str:
    from parsers.tables.schema import COMMON, TABLES  # imports Polars, which not every user of the glossary has loaded

    columns = (*COMMON, *TABLES[table].columns) if table in TABLES else ()
    return next((c.unit for c in columns if c.name == name), "")


_MIXED = ("call", "error", "signal", "fault", "trace", "function", "packet", "code", "parameter", "wait")
"""Sorts of words that are explained in a file whose parts are of several kinds."""


def _sorts_of(kind: str) -> tuple[str, ...]:
    """Return the sorts of glossary entries that are explained in an artifact of a kind."""
    return _MIXED if kind == "mixed" else kind_of(kind).words


@cache
def _vocabulary(kind: str) -> tuple[dict[str, Entry], tuple[str, ...]]:
    """Return the words with a glossary entry for artifacts of this kind, and those of them that contain blanks."""
    wanted = _sorts_of(kind)
    found = {
        e.name: e
        for e in sorted(glossary().values(), key=lambda e: -wanted.index(e.what) if e.what in wanted else 0)
        if e.what in wanted and "*" not in e.name
    }
    place = f"~{kind}"
    found |= {e.name: e for e in glossary().values() if e.what == "heading" and e.place == place}
    return found, tuple(name for name in found if " " in name)


def words_of(texts: Iterable[str], kind: str | None) -> dict[str, Entry]:
    """Return the entries of words in these lines, by the word as printed, for an artifact of this kind (`truss`,
    `truss/solaris`).

    >>> sorted(words_of(["3731/1: shmat(16777281, 0x3C0000000, IPC_ALLOC) Err#11 EAGAIN"], "truss"))
    ['EAGAIN', 'Err', 'IPC_ALLOC', 'shmat']
    >>> sorted(words_of(["TNS-12535: no answer", "shmat"], "listener_log"))
    ['TNS-12535']
    """
    lines = list(texts)
    kind = (kind or "").partition("/")[0]
    known, long = _vocabulary(kind)
    wanted = _sorts_of(kind)
    found: dict[str, Entry] = {}
    for word in {word for line in lines for word in _SYMBOL.findall(line)}:
        for spelling in dict.fromkeys((word.rstrip(".:/-"), word)):
            meant = known.get(plain_code(spelling)) or _by_pattern(spelling, wanted)
            if meant is not None:
                found[spelling] = meant
                break
    if long:
        whole = "\n".join(lines)
        found |= {name: known[name] for name in long if name in whole}
    return dict(sorted(found.items()))


def _by_pattern(name: str, wanted: tuple[str, ...]) -> Entry | None:
    return next((replace(e, name=name) for e in _patterns() if e.what in wanted and fnmatchcase(name, e.name)), None)


def search(words: str) -> list[Entry]:
    """Return the entries that contain all words, those with the words in their name first; without words, all by name.

    Names of letters come before numbers and patterns.

    >>> [e.key for e in search("shmat")][0]
    'call.shmat'
    """
    wanted = plain_code(words).casefold().split()

    def rank(entry: Entry) -> int | None:
        name, whole = entry.name.casefold(), f"{entry.key} {entry.kind} {entry.text}".casefold()
        if not all(word in whole for word in wanted):
            return None
        return 0 if name == " ".join(wanted) else 1 if all(word in name for word in wanted) else 2

    ranked = [
        (rank(entry), not entry.name[:1].isalpha(), entry.name.lstrip("%*_").casefold(), entry.key, entry)
        for entry in glossary().values()
    ]
    return [row[-1] for row in sorted((row for row in ranked if row[0] is not None), key=lambda row: row[:4])]


def columns_of(table: str) -> list[Entry]:
    """Return the entries of a table's columns in the table's order, for a derived table in the glossary's order."""
    from parsers.tables.schema import TABLES

    if table in TABLES:
        return [found for c in TABLES[table].columns if (found := column(table, c.name))]
    return [entry for entry in glossary().values() if entry.what == "column" and entry.place == table]
