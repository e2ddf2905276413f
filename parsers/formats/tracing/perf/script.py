r"""Samples of perf: perf script of Linux.

Tool: perf 2.6 to 6.x. Manual: perf-script(1). Capture: `perf record -F 99 -a -g -- sleep 30; perf script --header`. Understood
with or without CPU, time, period, thread, header and call chain (any `-F` list that keeps comm, pid and event).

Samples::

    python3  2048 [001]  1155.913096:    5025125 cpu-clock:pppH:
                      177e1e PyUnicode_AsWideCharString+0x22e (/usr/bin/python3.11)
    iperf 27409/28744 [000] 441995.133575: cpu-clock:
    noploop 21796 [001] 1410597.984841: instructions:              993 main (/root/noploop)
    java 19983 cycles:

Tables: profile_stacks (one row for each sample, weight 1, unit samples; the period has no column), profile_meta (one row for each
event), logs (the fields of a tracepoint; op is its name), hosts (from `# ========`). Clock: boot-relative; `captured on` is
an instant of the wall clock, but perf does not state which sample it belongs to.
Stack frames are stored as symbols without offset; a frame without a symbol keeps its object: `[unknown] (/usr/bin/python3.11)`.
Traps: a program's name may contain blanks, colons and digits, so the head of a sample is recognised from its time or event;
right-aligned names begin with blanks as stack frames do; never add two events of one file. A stack without its head (the file
begins in the middle) has no weight and is not complete. `complete` is NULL for a stack at the very end of the file.
Known gaps: branch stacks (`brstack`), source lines (`srcline`), `--per-event-dump`.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.stack_rows import is_kernel, nested, records
from parsers.declarations import Claim, Format
from parsers.formats.tracing.perf import tracepoints
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source
from parsers.text.times import span_s

FRAME = r"^[ \t]*([0-9a-f]{1,16})[ \t]+(\S.*?)(?:\+0x[0-9a-f]+)?(?:[ \t]+\(([^()]*(?:\([^()]*\))?[^()]*)\))?(?:[ \t]+\(inlined\))?$"
"""A stack frame: address, symbol, object. `(deleted)` may stand within the object's parentheses."""

USUAL_FRAME = r"^[ \t]*([0-9a-f]{1,16})[ \t]+([^ \t+()]+)(?:\+0x[0-9a-f]+)?[ \t]+\(([^()]*)\)$"
"""Pattern for nine of ten stack frames: without alternatives it is six times as fast as `FRAME`."""

HEAD = (
    r"^[ \t]*(\S.*?)[ \t]+(-?[0-9]+)(?:/(-?[0-9]+))?[ \t]+(?:\[([0-9]{3,5})\][ \t]+(?:[.a-zA-Z][.a-zA-Z0-9]{3,5}[ \t]+)?)?"
    r"(?:([0-9]+\.[0-9]{6,9}):[ \t]+)?(?:([0-9]+)[ \t]+)?([A-Za-z][^ \t]*|[0-9a-z]+/[^ \t]*):(?:[ \t]+(.*))?$"
)
"""The head of a sample: program, process, thread, CPU, time, period, event, rest of the line."""

_HEAD_NAMES = ["comm", "pid", "lwp", "cpu", "time", "period", "event", "rest"]
TIMED = r"[ \t][0-9]+\.[0-9]{6,9}:[ \t]+(?:[0-9]+[ \t]+)?[^ \t]+:(?:[ \t]|$)"
UNTIMED = r"[0-9\]][ \t]+[a-z][A-Za-z0-9_:/.=,-]*:$"
"""Possible head without a time; tried from the end of a line, so that nearly all lines fail at once. `HEAD` decides the rest."""

COMMENT = r"^#"
PLAIN_FRAME = r"^[ \t]*[0-9a-f]{1,16}[ \t]+\S.*\)$"
BARE_FRAME = r"^[ \t]+[0-9a-f]{5,16}[ \t]+\S+$"
CUT_FRAME = r"^[ \t]+[0-9a-f]{5,16}(?:[ \t]|$)"

FORMAT = Format(
    kind="perf",
    variant="script",
    version="2",
    systems=("linux",),
    tables=("profile_stacks", "profile_meta", "logs", "hosts"),
    man="perf-script(1)",
    example="perf script --header",
    split="lines",
    clocks=("boot-relative", "none"),
    own=rf"{TIMED}|^[ \t]+[0-9a-f]{{5,16}} \S.*\)$|^# (?:captured on|perf version|cmdline|nrcpus online) *:",
)


def claim(head: Head) -> Claim | None:
    """Claim by sample heads with time and event, or by heads without a time that stand above stack frames."""
    text = head.text
    if "(" not in text and ": " not in text and ":\n" not in text:
        return None
    first = head.lines[:1500]
    timed = [x for x in first if ":" in x and re.search(TIMED, x)] if head.shows(r"[0-9]\.[0-9]{6,9}:[ \t]") else []
    heads = [x for x in timed if re.match(HEAD, x)]
    # Calls of perf trace print `comm/tid call(...)`; packet dumps print no pid before the time.
    if len(heads) * 8 > len(timed) * 7 and heads:
        frames = sum(1 for x in first if x[:1] in "\t " and re.match(PLAIN_FRAME, x))
        inline = sum(1 for x in heads if re.search(r" [0-9a-f]{2,16} \S.*\)$", x))
        if frames or inline:
            return Claim(0.95, f"{len(heads)} samples with time and event, {frames} frames", "script")
        if any(re.match(r"# (?:captured on|perf version) *:", x) for x in head.lines[:40]):
            return Claim(0.9, f"{len(heads)} samples below a header of perf", "script")
        if all(re.search(r"[0-9]:[ \t]+(?:[0-9]+[ \t]+)?[a-z0-9_-]+:[^ \t]*:", x) for x in heads):
            return Claim(0.7, f"{len(heads)} samples with time and event", "script")
    inset = [x for x in first if x[:1] in "\t " and "(" in x]
    untimed = [x for x in first if x.endswith(":") and re.search(UNTIMED, x) and re.match(HEAD, x)]
    if untimed and (frames := sum(1 for x in inset if re.match(PLAIN_FRAME, x) and not x.endswith(" ()"))):
        return Claim(0.85, f"{len(untimed)} samples without time over {frames} frames", "script")
    filled = sum(1 for x in first if x)
    fragment = sum(1 for x in inset if re.match(r"^[ \t]+[0-9a-f]{4,16} \S.*\((?:/|\[)\S*\)$", x))
    if fragment >= 3 and fragment * 10 >= filled * 9:
        return Claim(0.6, f"{fragment} frames without the head of their sample", "script")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` holds the open sample, the events seen and the values of the header."""
    text = pl.col("line")
    frame = text.str.contains(PLAIN_FRAME) | text.str.contains(BARE_FRAME)
    maybe = text.str.contains(TIMED) | text.str.contains(UNTIMED)
    begins = maybe & text.str.contains(HEAD)
    # The cheap test first: most lines are stack frames, and a frame that looks like a head is rare.
    for lines, more in records(source, out, state, begins, frame | begins | text.str.contains(COMMENT)):
        shaped = _joined(lines.with_columns(frame=frame, maybe=maybe), out)
        fields = text.str.extract_groups(HEAD).struct.rename_fields(_HEAD_NAMES)
        heads = shaped.filter(pl.col("maybe")).with_columns(fields.alias("g")).unnest("g")
        heads = heads.filter(pl.col("event").is_not_null())
        _header(lines, out, state)
        _stacks(shaped, heads, out, state, more)
    return state


def _joined(lines: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Join stack frames that a terminal or mail wrapped to two lines.

    Every frame ends with a parenthesis, so a line that does not and a next line that only closes it belong together; so does an
    object in parentheses alone on the next line.
    """
    text = pl.col("line")
    open_end = ~text.str.ends_with(")")
    cut = text.str.contains(CUT_FRAME) & open_end
    half = cut & (text.str.contains(r"\(|[ \t]\S+[ \t]*\S*\+0x") | text.shift(-1).str.contains(r"^[ \t]*\("))
    rest = text.str.ends_with(")") & ~pl.col("frame") & ~pl.col("maybe") & ~text.str.contains(COMMENT)
    tail = rest & half.shift(1).fill_null(False)
    # Nearly all frames end with a parenthesis: test the rare other case first.
    if not lines.filter(open_end).select(cut.any()).item() or not lines.select(tail.any()).item():
        return lines
    marked = lines.with_columns(tail=tail)
    following = pl.col("line").shift(-1)
    opened = (
        pl.when(following.str.strip_chars_start(" \t").str.starts_with("(")).then(pl.lit(" ")).otherwise(pl.lit(""))
    )
    whole = pl.concat_str([pl.col("line"), opened, following.str.strip_chars_start(" \t")])
    marked = marked.with_columns(
        line=pl.when(pl.col("tail").shift(-1)).then(whole).otherwise(pl.col("line")),
        frame=pl.col("frame") | pl.col("tail").shift(-1).fill_null(False),
    )
    tails = marked.filter(pl.col("tail"))
    out.read(tails["line_no"])
    out.notes(
        tails.select(
            line_no=pl.col("line_no") - 1,
            line_end=pl.col("line_no"),
            kind=pl.lit("repaired"),
            text=pl.lit("a frame wrapped to two lines was put together: every frame ends with a bracket"),
        )
    )
    return marked.filter(~pl.col("tail")).drop("tail")


def _stacks(lines: pl.DataFrame, heads: pl.DataFrame, out: Tables, state: State, more: bool) -> None:
    """Write one row for each sample, with the stack frames below its head up to a blank line or the next head."""
    # A blank line ends a stack; frames after it without a head are a fragment.
    blank = pl.col("line") == ""
    head = pl.col("line_no").is_in(heads["line_no"].implode()) if len(heads) else pl.lit(False)
    marked = lines.with_columns(head=head, blank=blank)
    marked = marked.with_columns(
        group=(pl.col("head") | (pl.col("blank").shift(1).fill_null(True) & ~pl.col("blank"))).cum_sum(),
        ended=(pl.col("blank") | pl.col("head")).shift(-1, fill_value=more or None),
    )
    frames = _cells(marked.filter(pl.col("frame") & ~pl.col("head")))
    owned = heads.join(marked.filter("head").select("line_no", "group", "ended"), on="line_no", maintain_order="left")
    inline = _inline(owned)
    tracepoints.add(owned, inline, out)
    if len(inline):
        frames = pl.concat([frames.select(inline.columns), inline]).sort("line_no")
    first = frames.group_by("group", maintain_order=True).agg(
        pl.col("line_no").first().alias("from"),
        pl.col("line_no").last().alias("to"),
        pl.col("ended").last().alias("closed"),
        pl.col("dso").first(),
    )
    rows = owned.join(first, on="group", how="full", coalesce=True).sort("group")
    if rows.is_empty():
        return
    known = pl.when(pl.col("symbol") != "[unknown]").then(pl.col("symbol"))
    located = pl.when(pl.col("dso") != "[unknown]").then(pl.format("[unknown] ({})", "dso"))
    texts = frames.select(pl.coalesce(known, located, pl.lit("[unknown]"))).to_series()
    owner = rows["group"].search_sorted(frames["group"])
    has_head = pl.col("event").is_not_null()
    pid = pl.col("pid").cast(pl.Int64, strict=False)
    rows = rows.select(
        line_no=pl.coalesce("line_no", "from"),
        line_end=pl.coalesce("to", "line_no"),
        t_local=pl.col("time").cast(pl.Float64),
        event="event",
        weight=pl.when(has_head).then(1.0),
        unit=pl.lit("samples"),
        pid=pid,
        lwp=pl.coalesce(pl.col("lwp").cast(pl.Int64, strict=False), pid),
        comm="comm",
        frames=nested(texts, owner, len(rows)),
        kernel=is_kernel(pl.col("dso")),
        complete=pl.when(has_head)
        .then(pl.when(pl.col("from").is_null()).then("ended").otherwise("closed"))
        .otherwise(False),
    ).with_columns(leaf=pl.col("frames").list.first())
    out.add("profile_stacks", rows)
    torn = rows.filter(has_head & ~pl.col("complete")).head(20)
    text = pl.lit("a line right below is not understood: the stack may go on in it")
    out.notes(torn.select("line_no", "line_end", kind=pl.lit("damaged"), text=text))
    for line in rows.filter(~has_head)["line_no"].head(20):
        out.note(line, line, "remark", "frames without the head of their sample: no weight, no event, no process")
    _meta(rows, out, state)


def _cells(frames: pl.DataFrame) -> pl.DataFrame:
    """Split stack frames into address, symbol and object."""
    names = ["address", "symbol", "dso"]
    usual, other = (
        pl.col("line").str.extract_groups(p).struct.rename_fields(names).alias("g") for p in (USUAL_FRAME, FRAME)
    )
    cut = frames.with_columns(usual).unnest("g")
    rest = cut.filter(pl.col("symbol").is_null())
    if rest.is_empty():
        return cut
    rest = rest.drop(names).with_columns(other).unnest("g")
    # Rechunk: Polars 2.1 panics when a conditional runs on a small data frame in several chunks.
    return pl.concat([cut.filter(pl.col("symbol").is_not_null()), rest], rechunk=True).sort("line_no")


def _inline(heads: pl.DataFrame) -> pl.DataFrame:
    """Return the frame that stands after the event where no call chain was recorded."""
    cells = pl.col("rest").str.extract_groups(FRAME).struct.rename_fields(["address", "symbol", "dso"])
    found = heads.filter(pl.col("rest").str.ends_with(")")).with_columns(cells.alias("g")).unnest("g")
    return found.filter(pl.col("dso").is_not_null()).select("line_no", "group", "ended", "symbol", "dso")


def _meta(rows: pl.DataFrame, out: Tables, state: State) -> None:
    """Write a row of `profile_meta` at the first occurrence of each event, and report the clock of the samples."""
    seen: list[str] = state.setdefault("events", [])
    fresh = (
        rows.filter(~pl.col("event").is_in(seen)).drop_nulls("event").unique("event", keep="first", maintain_order=True)
    )
    if len(fresh):
        seen += fresh["event"].to_list()
        # A file may join several recordings: the header above the event counts, wherever the block was cut.
        heads: list[list[int]] = state.get("ncpus", [])
        above = [next((n for at, n in reversed(heads) if at < line), None) for line in fresh["line_no"]]
        ncpu = pl.Series("ncpu", above, dtype=pl.Int64)
        out.add("profile_meta", fresh.select("line_no", "event", variant=pl.lit("script")).with_columns(ncpu))
    state["ncpus"] = state.get("ncpus", [])[-1:]
    begin, end = span_s(rows["t_local"])
    if begin is not None:
        lines = [(int(rows["line_no"].item(0)), int(rows["line_end"].item(-1)))]
        out.domain(Domain(1, "boot-relative", None, None, begin, end, lines))


def _header(lines: pl.DataFrame, out: Tables, state: State) -> None:
    """Read what `perf script --header` prints about the host; other comment lines belong to it."""
    comments = lines.filter(pl.col("line").str.contains(COMMENT))
    if comments.is_empty():
        return
    out.read(comments["line_no"])
    # Each run of comment lines is a header of its own: a file may join several recordings.
    for header in comments.with_columns(block=(pl.col("line_no").diff() != 1).cum_sum()).partition_by("block"):
        _host(header, out, state)


def _host(comments: pl.DataFrame, out: Tables, state: State) -> None:
    fields = comments.with_columns(
        pl.col("line").str.extract(r"^# ([a-z ]+?) *:", 1).alias("name"),
        pl.col("line").str.extract(r"^# [a-z ]+: (.*)$", 1).str.strip_chars().alias("value"),
    ).drop_nulls("value")
    words = dict(fields.select("name", "value").iter_rows())
    if "nrcpus online" in words and words["nrcpus online"].isdecimal():
        state["ncpu"] = int(words["nrcpus online"])
        state.setdefault("ncpus", []).append([int(comments["line_no"].item(0)), state["ncpu"]])
    if "cmdline" in words:
        out.fact("tool_opts", words["cmdline"].split())
    if "os release" in words:
        out.fact("os_release", words["os release"])
    if "captured on" in words:
        line = int(fields.filter(pl.col("name") == "captured on")["line_no"].item(0))
        out.note(
            line,
            line,
            "remark",
            f"captured on {words['captured on']}: local time without zone; samples count from boot",
        )
    if words.keys() & {"cpudesc", "nrcpus online", "total memory"}:
        out.fact("os", "linux")
        memory = re.match(r"([0-9]+) kB$", words.get("total memory", ""))
        row = {
            "line_no": [fields["line_no"].item(0)],
            "line_end": [fields["line_no"].item(-1)],
            "os": ["linux"],
            "os_release": [words.get("os release")],
            "model": [words.get("cpudesc")],
            "ncpu": [state.get("ncpu")],
            "mem_kb": [float(memory[1]) if memory else None],
        }
        out.add("hosts", pl.DataFrame(row))
