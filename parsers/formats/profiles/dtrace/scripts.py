r"""Scripts of the DTraceToolkit: tables of columns under a header of capitals.

Tools: DTraceToolkit 0.99 (execsnoop, opensnoop, iosnoop, iotop, rwsnoop, errinfo, hotuser, hotkernel, iopattern, lastwords, sampleproc, kill.d,
tcpsnoop, setuids.d, *_syscolors and *_flow of the languages ...), Solaris, illumos, macOS. Capture: `SCRIPT > FILE`. Tables of one key
and one value (procsystime, cputimes) are `dtrace/aggregation`.

Samples::

    FUNCTION                                                COUNT   PCNT
    dofuncs`delta                                            1552  50.2%
    1091567219163679  1861         bash    sigaction          0   0
    TIME                 PID         EXEC      SYSCALL     RETURN ERR
      UID    PID COMM          FD PATH

Tables: counters (one row for each measure of a row: item = its other columns, grp = the first column heading), logs (one row for each
row that names a process: pid, program, op). Clock: trace-relative where a column holds nanoseconds (lastwords), else none.
Traps: lastwords prints its header last, because an END clause prints it; RETURN is hexadecimal without 0x. The last column
extends to the end of the line. Known gaps: scripts that print free text instead of columns.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.grid import REST, WORD, cut, keys, tables, under
from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source

HEADER = (
    r"^(?:SYSCALL[ \t]+COUNT|[ \t]*"
    r"(?:UID[ \t]+PID[ \t]+(?:PPID|COMM|CMD|D|LADDR)\b|PID[ \t]+(?:CMD|COMM)[ \t]+(?:TIME|COUNT|FILE|PATH)\b|FUNCTION[ \t]+COUNT[ \t]+PCNT"
    r"|MODULE[ \t]+COUNT[ \t]+PCNT|EXEC[ \t]+SYSCALL[ \t]+(?:COUNT|ERR)|TIME[ \t]+PID[ \t]+EXEC[ \t]+SYSCALL|%RAN[ \t]+%SEQ"
    r"|C[ \t]+(?:PID|TID|PID/TID)[ \t]+DELTA\(us\)"
    r"|FROM[ \t]+COMMAND[ \t]+SIG|SENDER[ \t]+RECIPIENT[ \t]+SIG|(?:STR)?TIME[ \t]+UID[ \t]+PID|PPID[ \t]+PARENT[ \t]+EXEC|UID[ \t]+SUID[ \t]+PPID"
    r"|DEVICE[ \t]+MAJ|C[ \t]+TIME\(us\)[ \t]+FILE)).*$"
)
OTHER = r"^[ \t]*[A-Z][A-Z0-9/_%]+(?:[ \t]+[A-Z(][A-Za-z0-9/_%()]*)+$"
"""A header of an unknown table: its rows do not belong to the table above."""
LAST_WORDS = r"^[ \t]*([0-9]{10,19})[ \t]+([0-9]+)[ \t]+(\S+)[ \t]+([a-z_][a-z0-9_]*)[ \t]+([0-9a-f]+)[ \t]+([0-9]+)$"
LAST_HEADER = "TIME PID EXEC SYSCALL RETURN ERR"
FURNITURE = r"^\^C$|^Sampling\.\.\. |^Tracing\.\.\.|^Tracing .*Ctrl|^dtrace: |^Starting "
MEASURES = {
    "COUNT",
    "PCNT",
    "PERCENT",
    "BYTES",
    "SIZE",
    "DELTA(us)",
    "TIME(us)",
    "ELAPSED",
    "KR",
    "KW",
    "MIN",
    "MAX",
    "AVG",
    "%RAN",
    "%SEQ",
    "TIME",
    "DTIME",
    "DISKTIME",
}
PROGRAMS = ("EXEC", "CMD", "COMM", "COMMAND", "PARENT")
OPERATIONS = ("SYSCALL", "TYPE", "SIG", "D")

FORMAT = Format(
    kind="dtrace",
    variant="script",
    version="1",
    systems=("solaris", "illumos", "macos"),
    tables=("counters", "logs"),
    man="dtrace(1M)",
    example="hotuser -p PID",
    clocks=("none", "trace-relative"),
    own=rf"{HEADER}|{LAST_WORDS}|^\S+`\S+[ \t]+[0-9]+[ \t]+[0-9.]+%$",
)


def claim(head: Head) -> Claim | None:
    """Claim by a header that only the DTraceToolkit prints, or by rows of lastwords."""
    first = [x for x in head.lines[:60] if x]
    for line in first:
        if line[:1] in " \tUPFMECTS%D" and re.match(HEADER, line):
            width = len(line.split())
            rows = sum(1 for x in head.lines[:400] if x and len(x.split()) >= width and not re.match(HEADER, x))
            # Other tools have such headers too (ps: UID PID PPID C STIME TTY); require capitals only, and rows below.
            if rows and not re.search(r"\bTTY\b|\bSTIME\b|\bNI\b|\bRSS\b|[a-z]{3}", line.replace("(us)", "")):
                return Claim(0.8, f"header of the DTrace tool kit: {line.strip()}", "script")
    rows = sum(1 for x in first if re.match(LAST_WORDS, x))
    if rows and rows * 5 >= len(first) * 4:
        return Claim(0.85, f"{rows} rows of lastwords", "script")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the header."""
    text = pl.col("line")
    for block in source.blocks():
        # The *_syscolors scripts colour whole lines.
        plain = text.str.replace_all(r"\x1b\[[0-9;]*m", "").str.replace(r"^\^C", "")
        lines = block.frame.with_columns(line=plain)
        out.read(block.frame.filter(text.str.contains(FURNITURE) | text.str.contains(HEADER))["line_no"])
        words = lines.filter(text.str.contains(LAST_WORDS))
        found = [_rows(words, LAST_HEADER, out)]
        rest = lines.filter(~text.str.contains(LAST_WORDS) & ~text.str.contains(FURNITURE) & (text != ""))
        heads = pl.when(text.str.contains(HEADER)).then(text).when(text.str.contains(OTHER)).then(pl.lit(""))
        located = under(rest, heads, state)
        for heading, rows in tables(located):
            if heading:
                found.append(_rows(rows, heading, out))
        for table, place in (("counters", 0), ("logs", 1)):
            out.add(
                table, pl.concat([f[place] for f in found], how="diagonal_relaxed").sort("line_no", maintain_order=True)
            )
    return state


_EMPTY = pl.DataFrame(schema={"line_no": pl.Int64()})


def _rows(rows: pl.DataFrame, heading: str, out: Tables) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return counters and logs of the rows under one heading."""
    names = keys(heading.replace("--", "").replace("TIME (us)", "TIME(us)").replace("  ", " "))
    if rows.is_empty() or len(names) > 40:  # a text that lost its line ends: no script prints so many columns
        return _EMPTY, _EMPTY
    measures = [n for n in names if n in MEASURES and not (heading == LAST_HEADER and n == "TIME")]
    patterns = {n: r"[0-9.]+%?" if n in measures else WORD for n in names}
    if names[-1] not in measures:
        patterns[names[-1]] = REST
    if heading == LAST_HEADER:
        patterns["TIME"] = "[0-9]+"
    cells = cut(rows.with_columns(pl.col("line").str.replace(" -- ", " ", literal=True)), patterns).drop_nulls(names[0])
    if cells.is_empty():
        return _EMPTY, _EMPTY
    t_local = pl.lit(None, pl.Float64)
    if heading == LAST_HEADER:
        t_local = pl.col("TIME").cast(pl.Float64) / 1e9
        out.fact("stamp", "end")
        times = cells.select(t_local.alias("t"))["t"]
        span = (int(cells["line_no"].item(0)), int(cells["line_no"].item(-1)))
        out.domain(Domain(1, "trace-relative", None, None, float(times.item(0)), float(times.item(-1)), [span]))
    cells = cells.with_columns(t_local=t_local)
    others = [n for n in names if n not in measures and n != "TIME"]
    item = pl.concat_str(others, separator=" ") if others else pl.lit(None, pl.String)
    counters = _counters(cells, measures, item, names[0]) if measures else _EMPTY
    pid = next((n for n in names if n in ("PID", "PID/TID")), None)
    if pid is None:
        return counters, _EMPTY
    program = next((n for n in PROGRAMS if n in names), None)
    operation = next((n for n in OPERATIONS if n in names), None)
    none = pl.lit(None, pl.String)
    logs = cells.select(
        "line_no",
        "t_local",
        source=pl.lit("tool"),
        pid=pl.col(pid).str.extract(r"^([0-9]+)", 1).cast(pl.Int64, strict=False),
        program=pl.col(program) if program else none,
        op=pl.col(operation) if operation else none,
        ok=pl.col("ERR") == "0" if "ERR" in names else pl.lit(None, pl.Boolean),
        text=pl.col("line").str.strip_chars(),
    )
    return counters, logs


def _counters(cells: pl.DataFrame, measures: list[str], item: pl.Expr, first: str) -> pl.DataFrame:
    """Return one counter for each measure of a row."""
    values = cells.select("line_no", "t_local", *measures, item=item).unpivot(
        measures, index=["line_no", "t_local", "item"], variable_name="name"
    )
    order = (
        pl.col("name").replace_strict({n: i for i, n in enumerate(measures)}, return_dtype=pl.Int64)
        if measures
        else pl.lit(0)
    )
    percent = pl.col("name").is_in(["PCNT", "PERCENT", "%RAN", "%SEQ"])
    return values.sort("line_no", order).select(
        "line_no",
        "t_local",
        "item",
        grp=pl.lit(first.lower()),
        name=pl.col("name").str.replace(r"\(us\)", "").str.to_lowercase(),
        value=pl.col("value").str.strip_chars_end("%").cast(pl.Float64, strict=False),
        unit=pl.when(percent)
        .then(pl.lit("%"))
        .when(pl.col("name").str.contains("(us)", literal=True))
        .then(pl.lit("us")),
        mode=pl.when(percent).then(pl.lit("level")).otherwise(pl.lit("total")),
    )
