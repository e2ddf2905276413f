r"""sar, sadf and pidstat: sections of samples, each under its own header.

Tools: sar(1) of Solaris, Linux (sysstat 6 to 12, all flags, --human, colours, any locale), AIX, HP-UX; sadf(1) -d, -p, -j and -x;
pidstat(1), all flags, with and without -h. Capture: `sar -A -f FILE`, `sadf -d FILE -- -A`, `pidstat -urdwt 5`.

Samples::

    SunOS host 5.10 Generic_125100-05 sun4u    08/19/2010
    00:00:05    %usr    %sys    %wio   %idle
    00:20:03       3       5       0      92
    08:20:00   iscsi0            0     0.0       0       0     0.0     0.0
               sd4,a             1     0.0       6     212     0.0     2.8
    13:37:29     LINUX RESTART	(9 CPU)
    SYSSTAT.TEST	31	2019-04-18 13:20:19 UTC	all	%user	2.15
    SYSSTAT.TEST;31;2019-04-18 13:20:19 UTC;-1;2.15;12.50;1.84;0.12;0.00;0.34;0.19;0.00;0.00;82.88

Tables: vmstat (-u all, -q, -r, -w, -W, -S, Solaris -g -c), mpstat (-P, -u of one CPU), iostat (-d), ps and microstates
(pidstat), logs (restarts, comments), hosts (banner), counters (all other columns; `grp` is the section's first name,
`pidstat` or `device`). Sections of one moment become separate rows that share `sample`, so each row cites its own line.
Clock: wall-local (banner and times of day), wall-utc (sadf, -U). A row's time is the end of its interval, a header's its
start; where both are equal the row is an average since boot.
Traps: a blank time repeats that of the row above. Average lines are the tool's arithmetic over rows that are in the file: they are
accounted as read, and become rows only where a paste has no other rows. `03/04/19` on Linux may have the day first: a note states it.
Solaris freemem is in pages (8 kB on sun4, 4 kB on i86pc), freeswap in 512-byte blocks. A row of sadf -p
is several lines. Known gaps: sadf -l (PCP), -r (raw counters); pictures (-g) and binary sa files are refused with the command that
prints them as text.
"""

from __future__ import annotations

import polars as pl

from parsers.columns import grid
from parsers.declarations import Claim, Format
from parsers.formats.sampling.sar import clock as sar_clock
from parsers.formats.sampling.sar import sadf_pairs, sadf_xml
from parsers.formats.sampling.sar.lines import BEGINS, LOOKS, averages_only, classed, sections_claim
from parsers.formats.sampling.shared import section_rows, sysstat_json
from parsers.formats.sampling.shared.banners import banner_rows
from parsers.formats.sampling.shared.section_columns import section
from parsers.formats.sampling.shared.section_rows import Found, fill
from parsers.provenance.prompts import prompt_of
from parsers.repair.rewrap import rejoin
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_SYSTEMS = {
    "solaris": (("solaris", "illumos"), "sar(1)", "sar -A -f FILE"),
    "linux": (("linux",), "sar(1)", "sar -A -f FILE"),
    "aix": (("aix",), "sar", "sar -A -f FILE"),
    "hpux": (("hpux",), "sar(1M)", "sar -A -f FILE"),
    "sadf": (("linux",), "sadf(1)", "sadf -d FILE -- -A"),
    "pidstat": (("linux",), "pidstat(1)", "pidstat -urdwt 5"),
}
FORMATS = tuple(
    Format(
        kind="sar",
        variant=variant,
        version="2",
        systems=systems,
        tables=("vmstat", "mpstat", "iostat", "counters", "ps", "microstates", "logs", "hosts"),
        man=man,
        example=example,
        clocks=("wall-local", "wall-utc"),
        own=f"{LOOKS}|{sadf_pairs.LINE}",
    )
    for variant, (systems, man, example) in _SYSTEMS.items()
)


def claim(head: Head) -> Claim | None:
    """Claim by a section's header after a time, else by restarts, comments, averages."""
    text = head.text
    if "hostname;interval;timestamp" in text[:4000]:
        return Claim(0.97, "header of sadf -d", "sadf")
    if '"sysstat"' in text[:400] and '"file-date"' in text:
        return Claim(0.95, "JSON of sadf -j", "sadf")
    if "<timestamp date=" in text[:8000] or "<sysdata-version>" in text[:2000]:
        return Claim(0.95, "XML of sadf -x", "sadf")
    if (pairs := sadf_pairs.looks(head.lines[:8])) >= 2 and pairs * 2 >= sum(1 for x in head.lines[:8] if x):
        return Claim(0.95, f"{pairs} of the first lines are figures of sadf -p", "sadf")
    return sections_claim(head)


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state`: banner and date, header, the last time and number of each section, the decimal sign."""
    for frame in grid.frames(source):
        layout = state.get("layout") or _layout(frame)
        state["layout"] = layout
        found: Found = {}
        if layout == "json":
            sysstat_json.read(frame, "sar", source, found, out, state)
        elif layout == "xml":
            sadf_xml.read(frame, source, found, out, state)
        else:
            _text(frame, source, found, out, state)
        section_rows.add(found, out)
    return state


def _layout(frame: pl.DataFrame) -> str:
    if sysstat_json.looks(frame):
        return "json"
    if sadf_xml.looks(frame):
        return "xml"
    return "pairs" if sadf_pairs.looks(frame["line"].head(8).to_list()) >= 2 else "text"


def _text(frame: pl.DataFrame, source: Source, found: Found, out: Tables, state: State) -> None:
    if state["layout"] == "pairs":
        lines = sadf_pairs.classed(frame, source, out, state)
    else:
        frame = rejoin(frame, source, out, BEGINS)
        lines = classed(
            frame.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64, strict=False)), source, out, state
        )
        banner_rows(lines, out, state)
    out.read(lines.filter(pl.col("shape").is_in(["banner", "heading", "config", "average", "idle"]))["line_no"])
    counting = pl.col("is_heading") | pl.col("shape").is_in(["row", "idle"])
    timed = lines.filter(counting & pl.col("heading").is_not_null())
    rows = sar_clock.placed(timed, source, out, state).filter(pl.col("shape") == "row")
    for (heading, page_kb), mine in rows.group_by("heading", "page_kb", maintain_order=True):
        what = section(str(heading), page_kb if isinstance(page_kb, float) else None)
        if {"idvendor", "idprod"} <= set(what.names):
            out.read(mine["line_no"])
            continue
        bad = fill(mine, what, found, state)
        cut = not bad.is_empty() and grid.at_end(source) and bad["line_no"][-1] == source.next_line - 1
        if cut and prompt_of(bad["line"][-1]) is None:
            out.account("damaged", [source.next_line - 1])
    if state["layout"] == "text":
        averages_only(lines, found, out, state)
    logs = lines.filter(pl.col("shape").is_in(["restart", "comment"]))
    if not logs.is_empty():
        t = pl.when(pl.col("utc")).then(pl.col("at")).otherwise(pl.col("at") + pl.col("midnight"))
        code = pl.col("body").str.strip_chars(" \t")
        found.setdefault("logs", []).append(
            logs.select("row", "line_no", at=pl.lit(0), t_local=t, text=code, source=pl.lit("tool"), op="shape")
        )
