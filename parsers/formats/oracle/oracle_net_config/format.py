r"""Configuration of Oracle Net: listener.ora, sqlnet.ora, tnsnames.ora; all systems and versions since 8i.
Source: Database Net Services Reference, "Syntax Rules for Configuration Files" and the chapter of each file.

    LISTENER =
      (DESCRIPTION_LIST =
        (DESCRIPTION = (ADDRESS = (PROTOCOL = TCP)(HOST = db1)(PORT = 1521)(QUEUESIZE = 100))))
    SQLNET.INBOUND_CONNECT_TIMEOUT = 60
    NAMES.DIRECTORY_PATH = (TNSNAMES, EZCONNECT)

Tables: params, one row for each leaf: scope listener, sqlnet or tnsnames; entity = the entry (listener or alias; NULL for a plain
setting); name = its path in lower case (`description.address.port`), for a plain setting its name in upper case; list of `(A, B)`;
active false for a plain setting after a `#`. Clock: none.
Traps: keywords may be in any case, brackets and values anywhere on the lines; an entry ends only where its brackets do; several aliases may
share an entry. Brackets that do not balance are noted with the line where the entry begins; the part that was read is stored. Passwords
and wallet locations are masked. Known gaps: IFILE is stored as a setting, the included file is not read; a `#` in a value must be quoted.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields

import polars as pl

from parsers.declarations import Claim, Format
from parsers.formats.oracle.shared import values as oracle_values
from parsers.secrets import connect_descriptors
from parsers.tables.rows import Domain, State, Tables
from parsers.text.notes import ELISION
from parsers.text.source import Head, Source

_OWN = (
    r"^\s*#?\s*(?:SQLNET|NAMES|TCP|BEQUEATH_DETACH|DIAG_ADR|TRACE|LOG|ADR_BASE|SSL|WALLET|DEFAULT_SDU|SEC_[A-Z]+|SID_LIST|LISTENER|INBOUND|"
    r"PASSWORDS|SUBSCRIBE_FOR|VALID_NODE|ENABLE_GLOBAL|DISABLE_OOB|LOGGING|SECURE_REGISTER|DYNAMIC_REG|DIRECT_HANDOFF|RECV_BUF|SEND_BUF)"
    r"[A-Z0-9_.]*\s*=|^\s*\((?i:DESCRIPTION|ADDRESS|CONNECT_DATA|SID_|LOAD_BALANCE|FAILOVER|PROTOCOL|SERVICE_NAME|SERVER|ORACLE_HOME"
    r"|PROGRAM|GLOBAL_DBNAME|METHOD|SDU|ENVS|SOURCE)[A-Z_]*\s*=|^[A-Za-z][A-Za-z0-9_.-]{0,60}\s*=\s*$|^\s*\)+$"
)
FORMATS = tuple(
    Format(
        kind="oracle_net_config", variant=variant, version="1", systems=("solaris", "linux", "aix", "hpux", "windows"), tables=("params",),
        man=f"Oracle Database Net Services Reference, {variant}.ora", example=f"cat $ORACLE_HOME/network/admin/{variant}.ora", own=_OWN,
    )
    for variant in ("listener", "sqlnet", "tnsnames")
)  # fmt: skip

_SQLNET = (
    r"^(?:SQLNET|NAMES|TCP|SSL|OSS|RADIUS|IGNORE|NAMESCTL|USE_CMAN|USE_DEDICATED|BEQUEATH|DEFAULT_SDU|DIAG|DISABLE_OOB|WALLET|TNSPING|SEC_USER"
    r"|TRACE_[A-Z]+_(?:CLIENT|SERVER)|LOG_[A-Z]+_(?:CLIENT|SERVER)|RECV_BUF|SEND_BUF|ADR_BASE|AUTOMATIC_IPC|HTTPS_SSL)"
)
_NAME = r"^\s*([A-Za-z][A-Za-z0-9_.$-]*(?:\s*,\s*[A-Za-z][A-Za-z0-9_.$-]*)*)\s*=(.*)$"
_OFF = r"^\s*#+\s*([A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)?)\s*=\s*([^\s()#]+|\([^()=]*\))\s*$"
_ELIDED = re.compile(ELISION)
_PIECE = re.compile(r"\"[^\"]*\"|'[^']*'|[()=]|[^()=\"']+|[\"']")
_LINE = re.compile(r"^\s*(?:[()#]|$)|^\s*[A-Za-z][A-Za-z0-9_., $-]*=\s*(?:$|\S.*$)|^\s+\S.*\)$")
_KEYS = (
    "DESCRIPTION",
    "description",
    "ADDRESS",
    "address",
    "SID_",
    "SQLNET.",
    "sqlnet.",
    "NAMES.",
    "names.",
    "TRACE_",
    "WALLET",
    "DIAG_ADR",
    "LISTENER",
    "ADR_BASE",
)
_ROWS = {
    "line_no": pl.Int64, "line_end": pl.Int64, "entity": pl.String, "name": pl.String, "value": pl.String, "active": pl.Boolean,
}  # fmt: skip
_LISTENER_PLAIN = r"_LISTENER[A-Z0-9_]*$|^(?:PASSWORDS|INBOUND_CONNECT|LOGGING|SUBSCRIBE|VALID_NODE|SECURE_REGISTER|SAVE_CONFIG|ADMIN_RESTRICT|DYNAMIC_REG)"


_FOREIGN = re.compile(r"[^\s()=\"',]+(?:\s+[^\s()=\"',]+){2,}$")
"""Three words or more alone on a line: a line of another program, because no name, keyword or value looks like this."""


def claim(head: Head) -> Claim | None:
    """Claim by descriptors or settings of Oracle Net, if most lines are settings or brackets."""
    text = head.text
    if "=" not in text or not head.any_of(_KEYS) or text.count("{") > 5:
        return None
    descriptors = re.search(r"(?i)\(\s*(?:DESCRIPTION|ADDRESS|SID_DESC|SID_LIST|ADDRESS_LIST)\s*=", text) is not None
    plain = len(re.findall(rf"(?m){_SQLNET}[A-Z_.0-9]*[ \t]*=", text))
    if not descriptors and not plain:
        return None
    lines = [line for line in head.lines if line.strip()]
    share = sum(1 for line in lines if _LINE.match(line)) / len(lines)
    named = re.search(r"(?m)^\s*[A-Za-z][A-Za-z0-9_., $-]*=", text)
    if share < 0.7 or not named or (plain < 2 and not descriptors and len(lines) > 3):
        return None
    listener = re.search(r"(?im)^\s*SID_LIST_|\(\s*SID_DESC\s*=|^\s*[A-Z0-9_]*LISTENER[A-Z0-9_]*\s*=\s*(?:\(|$)", text)
    variant = "listener" if listener else "tnsnames" if re.search(r"(?i)\(\s*CONNECT_DATA\s*=", text) else "sqlnet"
    if variant == "sqlnet" and descriptors and not plain:
        variant = "tnsnames"
    return Claim(0.55 + 0.4 * share, f"{share:.0%} of the lines are settings or brackets of {variant}.ora", variant)


@dataclass
class _Entry:
    """The open entry and the position in its brackets. JSON-able."""

    names: list[str] = field(default_factory=list)
    begin: int = 0
    path: list[str] = field(default_factory=list)
    """Keyword of each open bracket, "" until its equals sign."""
    text: str = ""
    text_line: int = 0
    awaits: bool = False
    """True if an equals sign was last: the text that follows is its value, on this or a later line."""
    plain: bool = True


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open entry."""
    saved = state.get("entry", {})
    reader = _Reader(
        out, state["variant"], _Entry(**{f.name: saved[f.name] for f in fields(_Entry) if f.name in saved})
    )
    for block in source.blocks():
        lines, places = connect_descriptors.mask_lines(block.frame.select("line_no", "line"))
        out.secrets(places)
        for line_no, line in lines.rows():
            reader.feed(line_no, line)
        reader.flush()
    if source.last:
        reader.end()
        reader.flush()
    if source.next_line > source.first_line:
        out.domain(Domain(1, "none", lines=[(source.first_line, source.next_line - 1)]))
    return state | {"entry": asdict(reader.entry)}


class _Reader:
    """Reader of lines that collects leaves."""

    def __init__(self, out: Tables, variant: str, entry: _Entry) -> None:
        self.out, self.variant, self.entry = out, variant, entry
        self.rows: list[tuple[int, int, str | None, str, str, bool]] = []
        self.plain: list[int] = []
        self.line = ""

    def feed(self, line_no: int, line: str) -> None:
        self.line = line
        entry, text = self.entry, line.strip()
        if not text or _ELIDED.match(text):
            return
        if text.startswith("#"):
            off = re.match(_OFF, line)
            if off and not entry.path:
                self.leaf(line_no, line_no, None, off[1].upper(), off[2], active=False)
            self.plain.append(line_no)
            return
        setting = re.match(_NAME, line)
        # A keyword of a bracket always stands after the bracket, so a name at the front begins an entry.
        if setting and not (entry.path and entry.awaits):
            self.close(line_no)
            names = [n.strip() for n in setting[1].split(",")]
            self.entry = entry = _Entry(names=names, begin=line_no)
            text = setting[2].strip()
        elif not entry.names:
            return
        if not setting and _FOREIGN.match(text):
            return
        if (
            not entry.path
            and not text.startswith("(")
            and not (entry.plain and not entry.text and entry.begin >= line_no - 1)
        ):
            if ")" in text and not text.strip(") "):
                self.out.note(
                    line_no,
                    line_no,
                    "damaged",
                    f"more brackets are closed than the entry of line {entry.begin} has open",
                )
                self.out.account("damaged", [line_no])
            return
        self.plain.append(line_no)
        text = re.split(r"\s#", text, maxsplit=1)[0].strip() if "#" in text and '"' not in text else text
        for piece in _PIECE.findall(text):
            self.piece(line_no, piece)
        if entry.plain and entry.text and not entry.path:
            for name in entry.names:
                self.leaf(entry.begin, line_no, None, name.upper(), self.hidden(line_no, name, entry.text.strip()))
            self.entry = _Entry()

    def piece(self, line_no: int, piece: str) -> None:
        entry = self.entry
        entry.awaits = piece == "=" or (entry.awaits and not piece.strip())
        if piece == "(":
            entry.path.append("")
            entry.text, entry.plain = "", False
        elif piece == "=" and entry.path and not entry.path[-1]:
            entry.path[-1], entry.text = entry.text.strip().lower(), ""
        elif piece == ")":
            self.shut(line_no)
        else:
            if not entry.text.strip():
                entry.text_line = line_no
            # A value that continues on the next line gets one blank for the line end.
            glue = " " if entry.text and entry.text_line != line_no and not entry.text.endswith(" ") else ""
            entry.text += glue + piece

    def shut(self, line_no: int) -> None:
        """Close a bracket: it is a leaf if it contains a value, else the end of a group."""
        entry = self.entry
        if not entry.path:
            text = f"more brackets are closed than the entry of line {entry.begin} has open"
            self.out.note(line_no, line_no, "damaged", text)
            return
        value, path = entry.text.strip(), ".".join(p for p in entry.path if p)
        for name in entry.names if value else ():
            if path:
                self.leaf(entry.text_line, line_no, name, path, self.hidden(line_no, path, value))
            else:
                self.leaf(entry.begin, line_no, None, name.upper(), f"({self.hidden(line_no, name, value)})")
        entry.path.pop()
        entry.text = ""

    def hidden(self, line_no: int, name: str, value: str) -> str:
        """Return the value masked if the name is that of a password, and report the secret's place."""
        if not value or not re.search(r"(?i)password", name) or value.strip("*") == "":
            return value
        at = self.line.rfind(value)
        if at >= 0:
            self.out.secret(line_no, at, at + len(value), "password")
        return "*" * len(value)

    def leaf(self, line_no: int, line_end: int, entity: str | None, name: str, value: str, active: bool = True) -> None:
        self.rows.append((line_no, line_end, entity, name, value, active))

    def close(self, line_no: int) -> None:
        """Close the entry because another one begins, or the file ends."""
        entry = self.entry
        if entry.path:
            text = f"{len(entry.path)} brackets of the entry of line {entry.begin} are left open"
            self.out.note(entry.begin, max(entry.begin, line_no - 1), "damaged", text)
        self.entry = _Entry()

    def end(self) -> None:
        self.close(self.plain[-1] + 1 if self.plain else self.entry.begin + 1)

    def flush(self) -> None:
        self.out.read(self.plain)
        rows = pl.DataFrame(self.rows, schema=_ROWS, orient="row")
        self.rows, self.plain = [], []
        name, value = pl.col("name"), pl.col("value").str.strip_chars()
        scope = (
            pl.when(pl.col("entity").is_null() & name.str.contains(_LISTENER_PLAIN)).then(pl.lit("listener"))
            .when(pl.col("entity").is_null() & name.str.contains(_SQLNET)).then(pl.lit("sqlnet")).otherwise(pl.lit(self.variant))
        )  # fmt: skip
        inner = value.str.extract(r"^\(([^()=]*)\)$")
        parts = inner.str.split(",").list.eval(pl.element().str.strip_chars())
        self.out.add("params", rows.select(
            "line_no", "line_end", "entity", "name", "active", scope=scope, value=oracle_values.unquoted(value),
            num=oracle_values.number(value), list=parts,
        ))  # fmt: skip
