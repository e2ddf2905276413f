r"""Initialization parameters of Oracle: `show parameter`, pfile and init.ora (also an spfile through strings), v$parameter, x$ksppi.
Source: Database Reference, "Initialization Parameters"; SQL*Plus User's Guide, SHOW.

    NAME                                 TYPE        VALUE
    ------------------------------------ ----------- ------------------------------
    memory_target                        big integer 12000M
    *.sga_target=20G
    #*.memory_target=32212254720
    PROD1.__db_cache_size=1073741824

Tables: params (scope oracle): entity = SID (NULL for `*`), names in lower case, num in bytes, list of values separated by commas,
privilege `auto` for `__` names (the last automatic sizes, not settings) and `hidden` for `_` names, active false for commented lines; the
sizes that a start prints (`Total System Global Area`) have entity SGA. Clock: none.
Traps: TYPE may contain a blank; VALUE may be empty or stand on a separate line; names are wrapped at 36 characters; a `#` starts a comment
after a value too; the setting of an instance overrides that of `*`, both are stored. Known gaps: a setting that stands twice in one pfile
is stored twice.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from typing import Any

import polars as pl

from parsers.declarations import Claim, Format
from parsers.formats.oracle.shared import sqlplus
from parsers.formats.oracle.shared import values as oracle_values
from parsers.secrets import connect_descriptors
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source

_SYSTEMS = ("solaris", "linux", "aix", "hpux", "windows")
_KNOWN = (
    "(?:db_name|db_unique_name|processes|sessions|sga_target|sga_max_size|memory_target|memory_max_target|pga_aggregate_target|db_block_size"
    "|open_cursors|undo_tablespace|undo_management|compatible|control_files|shared_servers|dispatchers|cluster_database|db_cache_size"
    "|shared_pool_size|log_buffer|local_listener|remote_login_passwordfile|diagnostic_dest|audit_file_dest|service_names|db_domain"
    "|job_queue_processes|parallel_max_servers|optimizer_features_enable|log_archive_dest_1|db_recovery_file_dest|background_dump_dest"
    "|db_block_buffers|java_pool_size|large_pool_size|instance_name|_[a-z][a-z_0-9]{5,40})"
)
_WORDS = ("integer", "string", "boolean")
_TYPES = r"(?:big integer|integer|string|boolean)"
_SHOW_ROW = rf"^\s*([A-Za-z_][A-Za-z0-9_$#]*)\s+({_TYPES})(?:\s+(\S.*))?$"
NAME_WIDE = 12
"""Minimum distance in characters from a name to its type: names stand in a column of 36, a sentence has a blank after a short word."""

_SHOW_HEAD = r"^\s*NAME(?:_COL_PLUS_SHOW_PARAM)?\s+TYPE(\s+VALUE(?:_COL_PLUS_SHOW_PARAM)?)?$"
_LISTED = r"(?i)^[ |\t]*(?:NAME|PARAMETER|KSPPINM)\b.*\b(?:VALUE|KSPPSTVL)\b"
_SETTING = r"^[ \t]*(#[# \t]*)?(?:(\*|[A-Za-z][A-Za-z0-9_$#]{0,15})\.)?([A-Za-z_][A-Za-z0-9_$#]*)[ \t]*=[ \t]*(.*)$"
_SIZE = r"^((?:Total System Global Area|Fixed Size|Variable Size|Database Buffers|Redo Buffers|In-Memory Area))\s+([0-9]+) bytes$"
_SAID = r"^(?:System altered\.|ORACLE instance (?:started|shut down)\.|Database (?:mounted|opened|closed|dismounted)\.|Connected to|Connected\.)"
_OWN = (
    rf"^\s*#?\s*(?:\*|[A-Za-z][A-Za-z0-9_$]*)\.[a-z_][a-z0-9_]+ ?=|^\s*[a-z_$0-9]+\s+{_TYPES}(?:\s|$)|{_SHOW_HEAD[:-1]}"
    rf"|^ *{_KNOWN} *=|{_SIZE}|^[- ]{{20,}}$"
)
FORMATS = tuple(
    Format(kind="oracle_params", variant=variant, version="1", systems=_SYSTEMS, tables=("params",), man=man, example=example, own=_OWN)
    for variant, man, example in (
        ("show", "SQL*Plus User's Guide, SHOW PARAMETERS", "echo 'show parameter' | sqlplus -s / as sysdba"),
        ("pfile", "Oracle Database Reference, Initialization Parameters", "echo \"create pfile='/tmp/pfile.txt' from memory;\" | sqlplus -s / as sysdba"),
        ("listing", "Oracle Database Reference, V$PARAMETER", "select name, value, isdefault from v$parameter order by name"),
    )
)  # fmt: skip
_NAMES = ("NAME", "PARAMETER", "KSPPINM", "PARAMETER_NAME", "PARAM")
_VALUES = (
    "VALUE",
    "KSPPSTVL",
    "DISPLAY_VALUE",
    "INSTANCE VALUE",
    "INSTANCE_VALUE",
    "SESSION VALUE",
    "SESSION_VALUE",
    "CURRENT_VALUE",
)
_KEYS = ("big integer", "boolean", " string", "\tstring", "integer  ", "integer\t", "*.", "sga_", "db_name", "control_files", "memory_target", "processes",
         "ksppinm", "Global Area", "KSPPINM", "undo_", "._", "open_cursors", "compatible")  # fmt: skip
"""Texts of which every such text has at least one; a quick test that rejects most heads."""
_ROWS = {
    "line_no": pl.Int64, "line_end": pl.Int64, "entity": pl.String, "name": pl.String, "value": pl.String, "active": pl.Boolean,
}  # fmt: skip


_MINE = re.compile(rf"^\s*#*\s*(?:\*|[A-Za-z][A-Za-z0-9_$]*)\.(?:__)?{_KNOWN} *=|^\s*\*\.[a-z_]+=").match
_PLAIN = re.compile(rf"(?i)^#? *{_KNOWN} *=").match


def claim(head: Head) -> Claim | None:
    """Claim by rows of show parameter, settings of a pfile, or a listing with known names."""
    text = head.text
    if not head.any_of(_KEYS):
        return None
    # Test plain texts first: a pattern is slow over 64 KiB.
    typed = any(word in text for word in _WORDS)
    shown = [x for x in (head.fitting(_SHOW_ROW) if typed else ()) if _is_shown(x)]
    if shown and (re.search(rf"(?m){_SHOW_HEAD}", text) or len(shown) > 2):
        return Claim(0.95, f"{len(shown)} rows of show parameter", "show")
    if " bytes" in text and len(sizes := re.findall(rf"(?m){_SIZE}", text)) > 3:
        return Claim(0.85, f"{len(sizes)} sizes that a start prints", "show")
    if "=" in text:
        filled = sum(1 for line in head.lines if line.strip())
        equal = [line for line in head.lines if "=" in line]
        mine = [line for line in equal if "." in line and _MINE(line)]
        plain = [line for line in equal if _PLAIN(line)]
        if len(mine) * 3 > filled or (len(mine) > 1 and len(mine) + len(plain) > 2):
            return Claim(0.95, f"{len(mine)} settings of a pfile", "pfile")
        if len(plain) > 1 and len(plain) * 3 > filled:
            return Claim(0.85, f"{len(plain)} settings of an init.ora", "pfile")
    if "Begin value" not in text and any(re.match(_LISTED, x) for x in head.lines if "V" in x or "v" in x):
        named = re.findall(rf"(?m)^[ |\t]*{_KNOWN}[ |\t]", text)
        if len(named) > 1:
            return Claim(0.85, f"a listing of {len(named)} parameters", "listing")
    return None


def _is_shown(line: str) -> bool:
    """Return whether a line is a row of show parameter, not a sentence such as `a string that ...`."""
    row = re.match(_SHOW_ROW, line)
    if row is None:
        return False
    wide = row.start(2) - row.start(1) >= NAME_WIDE or line[row.end(1)] == "\t"
    return wide or "_" in row[1] or re.fullmatch(_KNOWN, row[1]) is not None


@dataclass
class _Carry:
    """State carried from block to block and from run to run: the setting that may continue, and the headings."""

    open: tuple[int, int, str | None, str, str, bool] | None = None
    narrow: bool = False
    fragment: tuple[int, str] | None = None
    listing: dict[str, Any] = field(default_factory=dict)
    pipes: list[str] = field(default_factory=list)
    bare: tuple[int, str] | None = None
    """Setting of the first line, if it has no instance before its name: the name may be the end of a longer one."""


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the fields of `_Carry`."""
    carry = _Carry(**{f.name: state[f.name] for f in fields(_Carry) if f.name in state})
    reader = {"show": _Show, "pfile": _Pfile, "listing": _Table}[state["variant"]](out, carry, source.first_line)
    for block in source.blocks():
        for line_no, line in block.frame.rows():
            reader.feed(line_no, line)
        reader.flush()
    if source.last:
        reader.end()
    else:
        reader.hold()
    reader.flush()
    if source.next_line > source.first_line:
        out.domain(Domain(1, "none", lines=[(source.first_line, source.next_line - 1)]))
    return state | asdict(carry)


class _Reader:
    """Base of the readers: collects rows and masks secrets in values."""

    def __init__(self, out: Tables, carry: _Carry, first: int) -> None:
        self.out, self.carry, self.first = out, carry, first
        self.rows: list[tuple[int, int, str | None, str, str | None, bool]] = []
        self.plain: list[int] = []

    def row(
        self, line_no: int, line_end: int, entity: str | None, name: str, value: str | None, active: bool = True
    ) -> None:
        self.rows.append((line_no, line_end, entity, name, value, active))

    def feed(self, line_no: int, line: str) -> None:
        raise NotImplementedError

    def end(self) -> None:
        """Close an open row or setting at the end of the part."""

    def hold(self) -> None:
        """Count the open lines as read, with which the next run continues."""

    def hide(self, line_no: int, line: str, name: str, value: str) -> str:
        """Report the secrets of a line and return the value with them masked."""
        for begin, end, kind in connect_descriptors.secret_spans(line):
            self.out.secret(line_no, begin, end, kind)
        bare = value.strip("'\"")
        at = line.rfind(bare) if bare else -1
        if at >= 0 and _secret_name(name):
            self.out.secret(line_no, at, at + len(bare), "password")
            return "*" * len(bare)
        return connect_descriptors.masked(value)

    def flush(self) -> None:
        self.out.read([n for n in self.plain if n >= self.first])
        rows = pl.DataFrame(self.rows, schema=_ROWS, orient="row")
        self.rows, self.plain = [], []
        name, value = pl.col("name"), pl.col("value").str.strip_chars()
        auto = (
            pl.when(name.str.starts_with("__"))
            .then(pl.lit("auto"))
            .when(name.str.starts_with("_"))
            .then(pl.lit("hidden"))
        )
        self.out.add("params", rows.select(
            "line_no", "line_end", "name", "active", entity=pl.when(pl.col("entity") != "*").then("entity"), value=oracle_values.unquoted(value),
            num=oracle_values.number(value), list=oracle_values.items(value), privilege=auto, scope=pl.lit("oracle"),
        ))  # fmt: skip


@lru_cache(10_000)
def _secret_name(name: str) -> bool:
    return bool(pl.select(oracle_values.is_secret(pl.lit(name))).item())


class _Show(_Reader):
    """Reader of `show parameter`: recognises rows by their TYPE, so that collapsed blanks and tabs do not matter."""

    def feed(self, line_no: int, line: str) -> None:
        carry = self.carry
        row = re.match(_SHOW_ROW, line)
        if row and not (carry.narrow and carry.open and not carry.open[4]):
            self.close()
            name, value = row[1], row[3] or ""
            carry.open = (line_no, line_no, None, name, self.hide(line_no, line, name, value), True)
        elif heading := re.match(_SHOW_HEAD, line):
            self.close()
            carry.narrow = not heading[1]
            self.plain.append(line_no)
        elif (
            sqlplus.DASHES.match(line)
            or (carry.narrow and line.strip() in ("VALUE", "VALUE_COL_PLUS_SHOW_PARAM"))
            or sqlplus.PROMPT.match(line)
            or re.match(_SAID, line)
        ):
            self.close()
            self.plain.append(line_no)
        elif size := re.match(_SIZE, line):
            self.close()
            self.row(line_no, line_no, "SGA", size[1], size[2])
        elif not line.strip():
            if not carry.narrow:
                self.close()
        elif carry.open is not None:
            self.continued(line_no, line)

    def continued(self, line_no: int, line: str) -> None:
        """Join a line below a row: the rest of a name of 36 characters, the rest of its value."""
        first, last, entity, name, value, active = self.carry.open or (0, 0, None, "", "", True)
        rest = line.strip()
        wrapped = re.match(r"^([a-z0-9_$#]+)(?:\s{2,}(\S.*))?$", line)
        if not self.carry.narrow and len(name) >= 36 and wrapped and first == last:
            name, rest = name + wrapped[1], wrapped[2] or ""
        elif not self.carry.narrow and not line.startswith((" ", "\t")):
            self.close()
            return
        glue = " " if value.endswith(",") else ""
        shown = self.hide(line_no, line, name, rest) if rest else ""
        self.carry.open = (first, line_no, entity, name, value + glue + shown, active)
        self.plain.append(line_no)
        if self.carry.narrow:
            self.close()

    def close(self) -> None:
        if self.carry.open is not None:
            first, last, entity, name, value, active = self.carry.open
            self.row(first, last, entity, name.lower(), value or None, active)
        self.carry.open = None

    def end(self) -> None:
        self.close()

    def hold(self) -> None:
        if self.carry.open is not None:
            self.plain.append(self.carry.open[0])


class _Pfile(_Show):
    """Reader of settings `SID.name=value`; a value continues while a bracket, a quote or a comma is open."""

    def feed(self, line_no: int, line: str) -> None:
        carry = self.carry
        if carry.open is not None and _goes_on(carry.open[4]) and line.strip() and not re.match(_SETTING, line):
            first, _, entity, name, value, active = carry.open
            rest = _without_comment(line.strip().lstrip("#").strip() if not active else line.strip())
            carry.open = (
                first,
                line_no,
                entity,
                name,
                f"{value.rstrip(chr(92)).rstrip()} {self.hide(line_no, line, name, rest)}",
                active,
            )
            self.plain.append(line_no)
            return
        setting = re.match(_SETTING, line)
        if carry.fragment is not None:
            setting = self.mended(line_no, line) or setting
        if setting is None or (setting[1] and not _is_setting(setting)):
            self.loose(line_no, line)
            return
        first = line_no if carry.fragment is None else carry.fragment[0]
        carry.fragment = None
        self.close()
        name, value = setting[3].lower(), _without_comment(setting[4])
        self.doubted(line_no, setting[2], name)
        carry.open = (first, line_no, setting[2], name, self.hide(line_no, line, name, value), not setting[1])

    def doubted(self, line_no: int, instance: str | None, name: str) -> None:
        """Note that the first line was cut, if a later line has an instance and a name that ends with the first line's name."""
        carry = self.carry
        if line_no == 1 and instance is None:
            carry.bare = (line_no, name)
        elif carry.bare is not None and instance is not None and name.endswith(carry.bare[1]):
            text = f"begins within a line: {carry.bare[1]!r} is the end of {name!r}, and no instance stands before it"
            self.out.note(1, 1, "damaged", text)
            carry.bare = None

    def loose(self, line_no: int, line: str) -> None:
        """Read a line that is not a setting: a comment, or a piece that strings(1) broke off."""
        carry, piece = self.carry, line.strip()
        if piece.startswith("#"):
            self.close()
            self.plain.append(line_no)
        elif re.match(r"^(?:\*|[A-Za-z][A-Za-z0-9_$#]*)\.[A-Za-z_0-9]*$", piece):
            self.close()
            carry.fragment = (line_no, piece)
        elif carry.open is not None and piece and carry.open[1] == line_no - 1 and carry.open[4].count("'") % 2:
            first, _, entity, name, value, active = carry.open
            joined = _without_comment(value + self.hide(line_no, line, name, piece))
            carry.open = (first, line_no, entity, name, joined, active)
            self.plain.append(line_no)
            self.out.note(first, line_no, "repaired", f"the value of {name} was broken onto a second line, joined")
        else:
            self.close()

    def mended(self, line_no: int, line: str) -> re.Match[str] | None:
        """Join a name that was broken at the end of a 512-byte block."""
        first, piece = self.carry.fragment or (0, "")
        setting = re.match(_SETTING, piece + line.strip()) if first == line_no - 1 else None
        if setting is None:
            self.carry.fragment = None
        else:
            self.plain.append(first)
            self.out.note(first, line_no, "repaired", f"the name {setting[3]} was broken onto a second line, joined")
        return setting


def _is_setting(match: re.Match[str]) -> bool:
    """Return whether a commented line is a setting that is switched off, not a remark with an equals sign."""
    return bool(match[2]) or re.fullmatch(_KNOWN, match[3].lower()) is not None


def _goes_on(value: str) -> bool:
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", value)
    return value.endswith(("\\", ",")) or bare.count("(") > bare.count(")")


def _without_comment(value: str) -> str:
    """Remove a comment after a value; a `#` inside quotes does not begin one.

    >>> _without_comment("98728K# log buffer update"), _without_comment("'a#b' # c")
    ('98728K', "'a#b'")
    """
    match = re.match(r"^((?:'[^']*'|\"[^\"]*\"|[^#'\"]|['\"](?=[^'\"]*$))*)", value)
    return (match[1] if match else value).strip()


class _Table(_Reader):
    """Reader of a listing: columns under dashes, or cells between pipes."""

    def __init__(self, out: Tables, carry: _Carry, first: int) -> None:
        super().__init__(out, carry, first)
        saved = carry.listing
        self.listing = sqlplus.Listing(
            [[(h, a, b) for h, a, b in line] for line in saved.get("heads", [])], [(n, t) for n, t in saved.get("held", [])],
            tuple(saved["above"]) if saved.get("above") else None, saved.get("fresh", False),
            tuple(saved["before"]) if saved.get("before") else None,
        )  # fmt: skip

    def feed(self, line_no: int, line: str) -> None:
        if (
            "|" in line
            and not sqlplus.DASHES.match(line.expandtabs(8))
            and (self.carry.pipes or not self.listing.heads)
        ):
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            if {c.upper() for c in cells} & {*_NAMES}:
                self.carry.pipes = [c.upper() for c in cells]
                self.plain.append(line_no)
                return
            if self.carry.pipes and len(cells) == len(self.carry.pipes):
                self.take([sqlplus.Cells(line_no, line_no, dict(zip(self.carry.pipes, cells, strict=True)))])
                return
        rows, plain = self.listing.feed(line_no, line)
        self.plain += plain
        self.take(rows)

    def take(self, rows: list[sqlplus.Cells]) -> None:
        for row in rows:
            name = next((row.of[h] for h in _NAMES if row.of.get(h)), None)
            value = next((row.of[h] for h in _VALUES if row.of.get(h)), None)
            if name and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_$#]*", name) and any(h in row.of for h in _VALUES):
                shown = "*" * len(value) if value and _secret_name(name) else connect_descriptors.masked(value or "")
                self.row(row.line_no, row.line_end, None, name.lower(), shown or None)

    def end(self) -> None:
        rows, plain = self.listing.end()
        self.plain += plain
        self.take(rows)

    def hold(self) -> None:
        if self.listing.awaits_more(*_NAMES):
            self.plain += self.listing.open_lines

    def flush(self) -> None:
        self.carry.listing = asdict(self.listing)
        super().flush()
