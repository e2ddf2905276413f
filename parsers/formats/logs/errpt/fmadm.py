r"""List of present faults: fmadm faulty of Solaris and illumos.

Tool: fmadm(1M) faulty, also -a, -v. Capture: `fmadm faulty`.

Sample::

    TIME            EVENT-ID                              MSG-ID         SEVERITY
    Apr 27 20:16:44 4a300256-d6fd-489d-81db-ce510f92b078  SUNOS-8000-J0  Major

    Fault class : defect.sunos.eft.unexpected_telemetry 50%
    Problem in  : dev:////pci@0,0
    Description : The diagnosis engine encountered telemetry from the listed

Table: logs, source errpt, one row for each fault: code = MSG-ID, severity as printed, secondary = classes of the suspected faults,
program = the affected resource, text = classes and description. Clock: wall-local, no year (a question). Traps: the list has only what is
still faulty: a repaired fault is only in fmdump. Known gaps: the form of Solaris 10 before update 6 (STATE, RESOURCE / UUID), serial and
part numbers.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks import yearless
from parsers.columns.stack_rows import records
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

HEAD = (
    r"^[ \t]*TIME[ \t]+EVENT-ID[ \t]+MSG-ID[ \t]+SEVERITY[ \t]*$|^[ \t]*-{15}[ \t]+-{36}[ \t]+-{14}[ \t]+-{8,9}[ \t]*$"
)
BEGIN = (
    r"^[ \t]*([A-Z][a-z]{2})[ \t]+([0-9]{1,2})[ \t]+([0-9]{2}):([0-9]{2}):([0-9]{2})[ \t]+"
    r"[0-9a-f]{8}-[0-9a-f-]{14,28}[ \t]+([A-Z0-9]+-[0-9A-Z]+-[0-9A-Z]+)[ \t]+([A-Z][a-z]{2,12})[ \t]*$"
)
FIELD = (
    r"^[ \t]*(Host|Platform|Product_sn|Problem Status|Diag Engine|System|Manufacturer|Name|Part_Number|Serial_Number|Host_ID|Suspect [0-9]+ of [0-9]+"
    r"|Fault class|Certainty|Affects|Problem in|FRU|Status|Location|Chassis|Chassis_id|Revision|Description|Response|Impact|Action)[ \t]*:[ \t]*(.*)$"
)
PADDED = (
    r"^[ \t]*(?:Host {8}|Platform {4}|Fault class |Problem in  |Affects {5}|FRU {9}|Description |Response {4}|Impact {6}|Action {6}"
    r"|Diag Engine |Problem Status {1,4}):"
)
"""Names of fields with the padding that the tool prints; without it other texts have such names too."""

MORE = r"^[ \t]{6,}\S"
FORMAT = Format(
    kind="errpt",
    variant="fmadm",
    version="1",
    systems=("solaris", "illumos"),
    tables=("logs",),
    man="fmadm(1M)",
    example="fmadm faulty",
    clocks=("wall-local",),
    own=f"{HEAD}|{BEGIN}|{PADDED}",
)
_NAMES = ["mon", "day", "h", "m", "s", "code", "severity"]


def claim(head: Head) -> Claim | None:
    """Claim by the first line of a fault."""
    if "-" not in head.text or "Fault class" not in head.text:
        return None
    count = sum(1 for x in head.lines[:400] if re.match(BEGIN, x[:200]))
    return Claim(0.96, f"{count} faults of fmadm", "fmadm") if count else None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the open record and the year."""
    line = pl.col("line")
    begins, heads = line.str.contains(BEGIN), line.str.contains(HEAD)
    of_record = begins | line.str.contains(FIELD) | line.str.contains(MORE)
    number = begins.cum_sum()
    for lines, _ in records(source, out, state, begins, heads | (of_record & (number > 0))):
        lines = lines.with_columns(record=number)
        out.read(lines.filter(heads | (of_record & (pl.col("record") > 0)))["line_no"])
        mine = lines.filter((pl.col("record") > 0) & of_record & ~heads)
        field = pl.when(begins).then(pl.lit("")).otherwise(line.str.extract(FIELD, 1))
        mine = mine.with_columns(
            line.str.extract_groups(BEGIN).struct.rename_fields(_NAMES).alias("g"),
            field=field.forward_fill(),
            content=pl.coalesce(line.str.extract(FIELD, 2), line).str.strip_chars(),
        ).unnest("g")
        rows = mine.group_by("record", maintain_order=True).agg(
            pl.col("line_no").first(),
            pl.col("line_no").last().alias("line_end"),
            *(pl.col(n).drop_nulls().first() for n in _NAMES),
            pl.col("content").filter(pl.col("field") == "Fault class").str.extract(r"^((?:fault|defect|upset|alert)\.[^ ]+)").drop_nulls().alias("secondary"),
            pl.col("content").filter(pl.col("field").is_in(["Affects", "Problem in"])).first().alias("program"),
            pl.col("content").filter((pl.col("field") == "Description") & (pl.col("content") != "")).str.join(" ").alias("description"),
        )  # fmt: skip
        if len(rows):
            _write(rows, source, out, state)
    return state


def _write(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    """Write the rows of complete records."""
    rows = rows.with_columns(yearless.seconds(rows, source.hints, state))
    yearless.report(rows, source.hints, out, state)
    classes = pl.col("secondary").list.unique(maintain_order=True)
    rows = rows.with_columns(
        secondary=pl.when(classes.list.len() > 0).then(classes), program=pl.col("program").replace("", None)
    )
    text = pl.concat_str(
        pl.col("secondary").list.join(", "),
        pl.when(pl.col("description") != "").then("description"),
        separator=": ",
        ignore_nulls=True,
    )
    columns = ("line_no", "line_end", "t_local", "code", "secondary", "severity", "program")
    out.add("logs", rows.select(*columns, text=text.replace("", None), source=pl.lit("errpt")), span="ends")
