r"""Profiles of perf by symbol: perf report and perf top of Linux.

Tools: perf 2.6.39 to 6.x. Manuals: perf-report(1), perf-top(1). Capture: `perf report --stdio -g` (also `-g folded`,
`-g none`, `--no-children`, `--sort ...`, `-n`, `-t SEP`), `perf top --stdio`; screens copied from their text interface.

Samples::

    # Samples: 612  of event 'cpu-clock:pppH'
    # Overhead  Command  Shared Object      Symbol
        11.44%  python3  [kernel.kallsyms]  [k] _raw_spin_unlock_irqrestore
    +   8.24%  hhvm  [kernel.kallsyms]  [k] futex_wait_queue_me
    1889395.00 67.8% __ticket_spin_lock /usr/lib/debug/lib/modules/2.6.39/vmlinux
                --11.27%--try_to_wake_up

Tables: profile_meta (one row for each event or screen), profile_symbols (one row for each printed row), profile_stacks (one row
for each end of a call graph; unit pct, the weight is its share), counters (grp perf_report: event count, lost samples). Clock: none.
Traps: never add shares of several events. With --children, `pct` holds the column Children, whose values overlap: rank by
`self_pct`. A share in a call graph is of the total (graph) or of its parent (fractal, the old default); the stored share is
always of the total. Counts such as `27K` are rounded and not stored. `+` before a share is a fold mark of the text interface.
The order of a chain (hot symbol first or main first) is recognised by entry points; chains are stored leaf first. A row may
lack its symbol because a page wrapped the line.
A call graph with more than 16,000 lines between two blank lines is cut there.
Known gaps: annotate, mem and c2c reports, --header lines beyond comments, IPC columns, hierarchy mode.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.stack_rows import LOCK, is_kernel, records
from parsers.declarations import Claim, Format
from parsers.formats.tracing.perf import call_graph
from parsers.formats.tracing.perf.symbol_rows import CELLS, MARK, OLD_ROW, PCT, PLAIN_ROW, ROW, SEPARATED, columns_of
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

SCREEN = r"^[ \t]*PerfTop:[ \t]*([0-9]+) irqs/sec[ \t]+kernel:[ \t]*([0-9.]+)%"
EVENT = r"^(?:# )?Samples: *([0-9]+[KMG]?)[ \t]+of events? '([^']*)'"
HEADING = r"^#?[ \t]*(?:(?:Overhead|Children|Samples)[ \t;|,]+(?:\S.*)?(?:Symbol|Command|Shared|Self)|samples[ \t]+pcnt[ \t]+function)"
FURNITURE = r"^#|^[ \t]*[-_.=]{5}[-_.= ]*$|^(?:Mapped keys:|Enter selection,)|^[ \t]+\[[a-zA-Z]{1,2}\][ \t]+\S.*(?:\([^()]*\)|\.)$"
BELOW = r"^[-+] [A-Za-z_]\S*$|^ *(?:[-+] )?[0-9]{1,3}\.[0-9]+% [^ ]|^[ |]*--|^[ |]{2,}\S|^[ ]*\||^[0-9]{1,3}\.[0-9]+% \S|^[A-Za-z_][^ \t]*$"
"""Lines that can stand below a row: branches, chains, folded chains, a symbol that was wrapped to the next line."""

OPENED = r"^ {2,}(?:[-+] )?[0-9]{1,3}\.[0-9]+% [^ ]|^ *[-+] [0-9]{1,3}\.[0-9]+% [^ ]"
"""Branches as perf's own browser prints them when they are unfolded."""

TREE = rf"{OPENED}|^[ |]*(?:---[ ]?[^- ]|--[ ]?[0-9]+\.[0-9]+%--|\|[ |]*$)"

FORMATS = tuple(
    Format(
        kind="perf",
        variant=variant,
        version="1",
        systems=("linux",),
        tables=("profile_meta", "profile_symbols", "profile_stacks", "counters"),
        man=f"perf-{variant}(1)",
        example=f"perf {variant} --stdio",
        own=own,
    )
    for variant, own in (
        (
            "report",
            rf"^[ \t]*(?:[+-][ \t]+)?{PCT}[ \t].*[ \t]{MARK}|{EVENT}|{TREE}|^[ |]*\|[ |]+[A-Za-z_][A-Za-z0-9_.@]*$",
        ),
        ("top", rf"{SCREEN}|{OLD_ROW}|^[ \t]*{PCT}[ \t]+\S+[ \t]+{MARK}"),
    )
)


def claim(head: Head) -> Claim | None:
    """Claim by the header, else by rows with a mark such as `[k]`, else by the branches of a call graph."""
    text = head.text
    if "%" not in text and "PerfTop:" not in text and "of event" not in text:
        return None
    filled = sum(1 for x in head.lines if x)
    if "PerfTop:" in text:
        screens = sum(1 for x in head.lines if re.match(SCREEN, x))
        if screens:
            return Claim(0.95, f"{screens} screens of perf top", "top")
    old = "pcnt" in text and re.search(r"(?m)^[ \t]*samples[ \t]+pcnt[ \t]+function", text)
    if old:
        return Claim(0.9, "header of an old perf top", "top")
    samples_line = "of event" in text and re.search(r"(?m)^(?:# )?Samples: *[0-9]+[KMG]?[ \t]+of events? '", text)
    rows = [x for x in head.lines if "%" in x and ("[k]" in x or "[.]" in x or "[g]" in x) and re.match(ROW, x)]
    if samples_line:
        return Claim(0.95, f"samples of an event, {len(rows)} rows of share and symbol", "report")
    trees = sum(1 for x in head.lines if "-" in x and re.match(r"^[ |]*(?:---[ ]?[^- ]|--[ ]?[0-9]+\.[0-9]+%--)", x))
    trees += sum(1 for x in head.lines if "% " in x and re.match(OPENED, x))
    bars = sum(1 for x in head.lines if "|" in x and re.match(r"^[ |]*\|", x))
    if rows and (trees or bars):
        return Claim(0.93, f"{len(rows)} rows with a call graph", "report")
    if len(rows) * 2 > filled:
        top = not any(re.match(r"^#|^[+-]", x) for x in head.lines) and all(len(_middle(x)) == 1 for x in rows)
        return Claim(0.9, f"{len(rows)} rows of share, object and symbol", "top" if top else "report")
    if "Overhead" in text and re.search(r"(?m)^# *Overhead[ \t;|,]", text):
        return Claim(0.9, "header of perf report", "report")
    if trees >= 2 and (trees + bars) * 10 >= filled * 7:
        return Claim(0.85, f"{trees} branches of a call graph", "report")
    return None


def _middle(line: str) -> list[str]:
    match = re.match(ROW, line)
    return match[4].split() if match else []


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` holds the open row with its call graph, the current event, screen and columns."""
    text = pl.col("line")
    row = text.str.contains(ROW) | text.str.contains(SEPARATED) | text.str.contains(OLD_ROW)
    begins = row | text.str.contains(FURNITURE) | text.str.contains(EVENT) | text.str.contains(SCREEN)
    belongs = begins | text.str.contains(HEADING) | text.str.contains(BELOW)
    for lines, _ in records(source, out, state, begins, belongs):
        shaped = _shaped(lines, state)
        _meta(shaped, out, state)
        rows = _rows(shaped, out)
        _graphs(shaped, rows, out, state)
        if len(shaped):
            last = shaped.row(-1, named=True)
            state |= {k: last[k] for k in ("event", "frame", "heading")}
    return state


def _shaped(lines: pl.DataFrame, state: State) -> pl.DataFrame:
    """Add the shape of each line, and the event, screen and columns it stands under."""
    text = pl.col("line")
    tests = {
        "screen": text.str.contains(SCREEN),
        "event": text.str.contains(EVENT),
        "heading": text.str.contains(HEADING),
        "furniture": text.str.contains(FURNITURE),
        "row": text.str.contains(ROW),
        "separated": text.str.contains(SEPARATED),
        "old": text.str.contains(OLD_ROW),
        "tree": text.str.contains(TREE),
        "plain": text.str.contains(PLAIN_ROW),
    }
    named = [pl.when(test).then(pl.lit(name)) for name, test in tests.items()]
    shape = pl.coalesce(pl.when(text == "").then(pl.lit("blank")), *named)
    shaped = lines.with_columns(shape=shape)
    is_ = pl.col("shape")
    return shaped.with_columns(
        event=pl.when(is_ == "event")
        .then(text.str.extract(EVENT, 2))
        .forward_fill()
        .fill_null(pl.lit(state.get("event"), pl.String)),
        frame=pl.when(pl.lit(state["variant"] == "top")).then(
            (is_ == "screen").fill_null(False).cum_sum().cast(pl.Int64, strict=False) + state.get("frame", 0)
        ),
        heading=pl.when(is_ == "heading").then(text).forward_fill().fill_null(pl.lit(state.get("heading"), pl.String)),
    )


def _meta(shaped: pl.DataFrame, out: Tables, state: State) -> None:
    """Write what the headers state: screens and events, event counts, lost samples."""
    text, is_ = pl.col("line"), pl.col("shape")
    headers = shaped.filter(is_.is_in(["screen", "event", "heading", "furniture"]))
    out.read(headers["line_no"])

    def number(pattern: str, kind: pl.DataType) -> pl.Expr:
        return text.str.extract(pattern, 1).cast(kind)

    titles = headers.filter(pl.col("shape").is_in(["screen", "event"]))
    out.add(
        "profile_meta",
        titles.select(
            "line_no",
            variant=pl.lit(state["variant"]),
            event=pl.coalesce(pl.when(is_ == "screen").then(text.str.extract(r"\[[0-9]*Hz ([^\],]+)", 1)), "event"),
            frame="frame",
            irqs_ps=number(r"([0-9]+) irqs/sec", pl.Float64()),
            kernel_pct=number(r"kernel:[ \t]*([0-9.]+)%", pl.Float64()),
            rate_hz=number(r"\[([0-9]+)Hz", pl.Float64()),
            ncpu=number(r"\(all, ([0-9]+) CPUs?\)", pl.Int64()),
            # `27K` is rounded, so it is not stored as a count.
            total_samples=pl.when(is_ == "event").then(
                text.str.extract(r"Samples: *([0-9]+)(?:[ \t]|$)", 1).cast(pl.Float64)
            ),
        ),
    )
    dropped = titles.filter(text.str.contains(r"(?:lost|drop): [0-9]*[1-9]"))
    out.notes(
        dropped.select(
            "line_no",
            kind=pl.lit("remark"),
            text=pl.format("samples were lost, shares are unreliable: {}", text.str.strip_chars()),
        )
    )
    counts = headers.with_columns(
        event_count=text.str.extract(r"Event count \(approx\.\): *([0-9]+)$", 1),
        lost_samples=text.str.extract(r"Total Lost Samples: *([0-9]*[1-9][0-9]*)$", 1),
    )
    counts = counts.unpivot(
        ["event_count", "lost_samples"], index=["line_no", "event"], variable_name="name"
    ).drop_nulls("value")
    out.add(
        "counters",
        counts.sort("line_no").select(
            "line_no",
            "name",
            grp=pl.lit("perf_report"),
            item="event",
            value=pl.col("value").cast(pl.Float64),
            mode=pl.lit("total"),
        ),
    )


def _rows(shaped: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Write `profile_symbols`, one group of equal columns at a time; return the rows for their call graphs."""
    groups = []
    rows = shaped.filter(pl.col("shape").is_in(["row", "separated", "old"]))
    plain = shaped.filter((pl.col("shape") == "plain") & pl.col("heading").is_not_null())
    if len(plain):
        # A line without a symbol is a row only where the heading has no column Symbol.
        without = [h for h in plain["heading"].unique() if "Symbol" not in columns_of(h)]
        rows = pl.concat([rows, plain.filter(pl.col("heading").is_in(without))])
    for (heading, shape), group in rows.group_by("heading", "shape", maintain_order=True):
        names = columns_of(heading if isinstance(heading, str) else None)
        cells = CELLS[str(shape)](group, names)
        groups.append(cells)
    if not groups:
        return pl.DataFrame()
    found = pl.concat(groups, how="diagonal").sort("line_no")
    found = _wrapped(shaped, found, out)
    lock = pl.col("symbol").str.contains(LOCK)
    by_mark = pl.col("mark").replace_strict(
        {"[k]": True, "[.]": False, "[g]": True, "[u]": False, "[H]": True}, default=None, return_dtype=pl.Boolean
    )
    found = found.with_columns(kernel=pl.coalesce(by_mark, is_kernel(pl.col("dso"))), lock=lock)
    columns = [
        "line_no",
        "line_end",
        "event",
        "frame",
        "samples",
        "pct",
        "self_pct",
        "comm",
        "pid",
        "symbol",
        "dso",
        "kernel",
        "lock",
    ]
    out.add("profile_symbols", found.select(c for c in columns if c in found.columns))
    return found


def _wrapped(shaped: pl.DataFrame, rows: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Take a row's symbol from the next line where a page wrapped it there."""
    bare = rows.filter(pl.col("mark").is_not_null() & pl.col("symbol").is_null())["line_no"]
    following = shaped.filter(pl.col("shape").is_null()).select(
        line_no=pl.col("line_no") - 1, wrapped=pl.col("line").str.strip_chars()
    )
    following = following.filter(
        pl.col("line_no").is_in(bare.implode()) & pl.col("wrapped").str.contains(r"^[A-Za-z_0-9]")
    )
    for line in following["line_no"]:
        out.note(line, line + 1, "repaired", "the symbol was wrapped to the next line: the row ends with its mark")
    joined = rows.join(following, on="line_no", how="left", maintain_order="left")
    return joined.with_columns(
        symbol=pl.coalesce("symbol", "wrapped"),
        line_end=pl.col("line_no") + pl.col("wrapped").is_not_null().cast(pl.Int64, strict=False),
    ).drop("wrapped")


def _graphs(shaped: pl.DataFrame, rows: pl.DataFrame, out: Tables, state: State) -> None:
    """Write the chains of the call graph below each row; a tree without a row is a fragment."""
    owners = rows.select("line_no", "line_end").rows() if len(rows) else []
    under = shaped.with_columns(owner=pl.col("line_no").is_in([a for a, _ in owners]).cum_sum())
    taken = [b for a, b in owners if b > a]
    under = under.filter(
        (pl.col("shape").is_null() | pl.col("shape").is_in(["tree", "plain"])) & ~pl.col("line_no").is_in(taken)
    )
    found = []
    facts = rows.rows(named=True) if len(under) else []
    for (number,), lines in under.group_by("owner", maintain_order=True):
        texts = lines["line"].to_list()
        if not any(re.match(rf"^[ |]*(?!--[a-z])---?[ ]?\S|^[0-9]+\.[0-9]+% \S|{OPENED}", x) for x in texts):
            continue
        row = facts[int(str(number)) - 1] if int(str(number)) else {}
        # With --children many rows are not leaves, so their symbol does not show the order: callers first is assumed.
        # The same holds for a piece copied from perf's browser.
        nested = row.get("self_pct") is not None or (not row and any(re.match(OPENED, x) for x in texts))
        symbol, first_known = (None, True) if nested else (row.get("symbol"), None)
        graph = call_graph.read(
            texts, row.get("pct"), symbol, state.get("fractal"), state.get("callers_first", first_known)
        )
        state["fractal"] = graph.fractal if graph.fractal is not None else state.get("fractal")
        if graph.callers_first is not None:
            state["callers_first"] = graph.callers_first
        first, last = row.get("line_no", int(lines["line_no"].item(0))), int(lines["line_no"].item(-1))
        if not row:
            out.note(first, last, "remark", _FRAGMENT)
        numbers = lines["line_no"].to_list()
        for (frames, shares, weight), at in zip(graph.chains, graph.ends, strict=True):
            kernel = row.get("kernel") if row and frames and frames[0] == row.get("symbol") else None
            found.append(
                (
                    numbers[at] if graph.opened else first,
                    numbers[at] if graph.opened else last,
                    row.get("event"),
                    weight if row or graph.opened else None,
                    "pct",
                    row.get("comm"),
                    frames,
                    shares,
                    frames[0] if row or graph.opened or graph.callers_first is not None else None,
                    kernel,
                    bool(row),
                )
            )
        if graph.chains:
            out.read(lines["line_no"])
    out.add("profile_stacks", pl.DataFrame(found, schema=_STACKS, orient="row"), span="ends")


_FRAGMENT = (
    "a call graph without its row: no overhead, no program, shares as printed; leaf NULL where the order is unknown"
)
_STACKS = pl.Schema(
    {
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
        "event": pl.String(),
        "weight": pl.Float64(),
        "unit": pl.String(),
        "comm": pl.String(),
        "frames": pl.List(pl.String()),
        "pcts": pl.List(pl.Float64()),
        "leaf": pl.String(),
        "kernel": pl.Boolean(),
        "complete": pl.Boolean(),
    }
)
