r"""Address maps: pmap of Solaris and Linux.

Tools: Solaris 10 and 11 pmap(1), plain, -x, -s, -xs, -L, -Ls, -S; Linux procps pmap(1), plain, -d, -x, -X, -XX.
Capture: `pmap -xs PID` (Solaris), `pmap -X PID` (Linux).

Samples::

    2767: ora_smon_QPROD
    Address Kbytes RSS Anon Locked Pgsz Mode Mapped File
    0000000380000000 45056 45056 - - 8K rwxs- [ dism shmid=0x100001e ]
    00000003C0000000 9699328 - - - - rwxs- [ dism shmid=0x100001f ]
    0007FFFD00000000    6291456K 256M rwxsR--    3   [ ism shmid=0x39000e88 ]
    00000000c4000000   82944   63488   63488 rw---    [ anon ]
    total kB         3701784  413924  400716

Tables: pmap (one row for each printed row), ps (the total line: vsz_kb, rss_kb). Clock: none.
Traps: columns are never cut by position, because blogs collapse white space; the header names them, and without a header their
number does. `-` is NULL: with DISM the size is known and nothing is resident *for this process*. With -s and -L one
mapping is printed as several rows: group by shmid. Locked is per attaching process. The process number ends at the first colon
of a `pid:` line; the command may contain more colons. Rows that do not add up to the total give a note. Under a header `Bytes` a
size without suffix is in bytes. Rows that a flattened paste joined on one line are separated, with a note: every address has the
width of the first. Known gaps: none known; `pmap/maps.py` reads maps, smaps and AIX procmap.
"""

from __future__ import annotations

import re
from itertools import pairwise

import polars as pl

from parsers.columns.small_texts import share
from parsers.declarations import Claim, Format
from parsers.formats.memory.pmap.mappings import named
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

PROCESS = r"^[ \t]*(?:core '[^']*' of )?([0-9]{1,10}):(?:[ \t]+(\S.*))?$"
HEADER = r"^[ \t]*Address[ \t]+[A-Z]"
RULE = r"^[ \t]*[-=]{3}[-= \t]*$"
ROW = r"^[ \t]*([0-9A-Fa-f]{8,16})((?:[ \t]+(?:-|[0-9]+[KMG]?))+)[ \t]+([rwxsRSpI-]{4,8})(?:[ \t]+(\S.*))?$"
"""A row: address, numbers, mode, the rest (lgroup, offset and device, mapping)."""

ROW_X = (
    r"^[ \t]*([0-9a-f]{8,16})[ \t]+([rwxsp-]{4})[ \t]+[0-9a-f]+[ \t]+[0-9a-f]+:[0-9a-f]+[ \t]+([0-9]+)"
    r"((?:[ \t]+[0-9]+)+)(?:[ \t]+(\S.*))?$"
)
"""A row of Linux -X: address, permissions, inode, numbers, mapping."""

CUT_ROW = r"^[ \t]*[0-9A-Fa-f]{8,16}(?:[ \t]|$)"
TOTAL = r"(?i)^[ \t]*(?:total(?:[ \t]+k[bB])?((?:[ \t]+(?:-|[0-9]+[KMG]?))+)|((?:[0-9]+[ \t]+)+)KB)$"
MAPPED = r"^mapped: +[0-9]+K +writeable/private:|^[0-9]+K writable-private, [0-9]+K readonly-private,"
NUMBER = r"^([0-9]+)([KMG]?)$"

OWN = (
    r"^[ \t]*(?:Address[ \t]+(?:Kbytes|Bytes|Perm|Size)\b|[0-9A-Fa-f]{8,16}(?:[ \t]+(?:-|[0-9]+[KMG]?))+[ \t]+[rwxsRSpI-]{4,8}(?:[ \t]|$)"
    r"|[0-9a-f]{8,16}[ \t]+[rwxsp-]{4}[ \t]+[0-9a-f]{8,16}[ \t]+[0-9a-f]+:[0-9a-f]+[ \t]+[0-9]|total[ \t]+(?:k[bB][ \t]+)?[0-9]+K?\b"
    r"|mapped: +[0-9]+K +writeable/private:|[0-9]+K writable-private, |[0-9]{2,10}:[ \t]+\S)"
)
FORMATS = tuple(
    Format(
        kind="pmap",
        variant=system,
        version="3",
        systems=(system,),
        tables=("pmap", "ps"),
        man="pmap(1)",
        example=example,
        own=OWN,
    )
    for system, example in (("solaris", "pmap -xs PID"), ("linux", "pmap -X PID"))
)

_OWN = re.compile(OWN)
_LOOK = re.compile(r"(?m)^[ \t]*(?:Address[ \t]+[A-Z]|[0-9A-Fa-f]{8,16}[ \t]+(?:-|[0-9]+[KMG]?|[rwxsp-]{4})[ \t])")
_TAIL = r"(?:[ \t]+(?:-|[0-9]+[KMG]?))+[ \t]+[rwxsRSpI-]{4,8}(?:[ \t]|$)"
GLUED = rf"[0-9A-Fa-f]{{8}}{_TAIL}"

# Heading in lower case: the column of `pmap` that its number goes to.
_COLUMNS = {
    "kbytes": "kbytes",
    "bytes": "kbytes",
    "size": "kbytes",
    "rss": "rss_kb",
    "anon": "anon_kb",
    "anonymous": "anon_kb",
    "locked": "locked_kb",
    "dirty": "dirty_kb",
    "pss": "pss_kb",
    "swap": "swap_kb",
    "pgsz": "pgsz_kb",
    "kernelpagesize": "pgsz_kb",
}
# Headings by the number of numbers in a row, for rows without a header.
_BY_COUNT = {
    1: ("kbytes",),
    2: ("bytes", "pgsz"),
    3: ("kbytes", "rss", "dirty"),
    4: ("kbytes", "rss", "anon", "locked"),
    5: ("kbytes", "rss", "anon", "locked", "pgsz"),
}
_OF_SUSE = {"anon_kb": "pss_kb", "locked_kb": "dirty_kb", "pgsz_kb": "swap_kb"}
PRIVATE = r"^[r-][w-][x-]p"
"""A private mapping's mode in the form of Linux: SUSE's pmap prints it with five numbers of smaps; Solaris's -xs has five other numbers."""
_MEASURES = tuple(dict.fromkeys(_COLUMNS.values()))


def claim(head: Head) -> Claim | None:
    """Claim by the header, else by a `pid:` line or several rows of address, size and mode."""
    if not _LOOK.search(head.text[:8192]) and len(re.findall(GLUED, head.text[:4096])) < 2:
        return None
    lines = head.lines[:400]
    _, fraction = share(head, _OWN)
    glued = any(len(re.findall(GLUED, x)) > 1 for x in lines[:3])
    if fraction < 0.3 and not glued:
        # A page that quotes a few rows between other text is not an address map.
        return None
    fit = 1.0 if glued else min(1.0, fraction * 1.5)
    for number, line in enumerate(lines, start=1):
        heads = line.split()
        if re.match(HEADER, line) and heads[-1:] == ["Mapping"]:
            return Claim(0.95 * fit, f"header of Linux pmap in line {number}", "linux")
        if re.search(r"Address[ \t].*\b(?:Mode|Swap)\b.*Mapped File", line):
            return Claim(0.95 * fit, f"header of Solaris pmap in line {number}", "solaris")
    rows = [m for m in (re.match(ROW, x) for x in lines) if m]
    rows_x = [x for x in lines if re.match(ROW_X, x)]
    if len(rows_x) > len(rows):
        return Claim(0.8 * fit, f"{len(rows_x)} rows of pmap -X", "linux")
    process = any(re.match(PROCESS, x) for x in lines)
    if fraction < 0.5 or not (len(rows) >= 2 or (rows and process)):
        return None
    return Claim(0.9 if process else 0.8, f"{len(rows)} rows of address, size and mode", _dialect(rows))


def _dialect(rows: list[re.Match[str]]) -> str:
    """Return the system: Solaris prints addresses in upper case and marks shared memory; Linux prints lower case."""
    addresses = "".join(m[1] for m in rows)
    if re.search(r"[A-F]", addresses) or any("shmid=" in (m[4] or "") for m in rows):
        return "solaris"
    return "linux"


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the process, the header and the sum of sizes since the `pid:` line."""
    for block in source.blocks():
        frame = _unglued(block.frame, out)
        lines = _located(frame, state)
        out.read(lines.filter(pl.col("shape") != "row")["line_no"])
        # A line that begins like a row but does not fit one was cut; lines that become rows below count as rows.
        out.account("damaged", frame.filter(pl.col("line").str.contains(CUT_ROW))["line_no"])
        # ROW_X reads the fifth word as the inode: rows under a header of another order stay unknown.
        by_header = [(c, r) for c, r in _by_header(lines) if "inode" not in c or c.index("inode") == 4]
        groups = [_measured(rows, columns, state["variant"]) for columns, rows in by_header]
        groups = [
            _of_suse(g) if c[1:] == (*_BY_COUNT[5], "mode", "lgrp?") else g
            for g, (c, _) in zip(groups, by_header, strict=True)
        ]
        rows = pl.concat(groups, how="diagonal").sort("line_no", maintain_order=True) if groups else None
        if rows is not None:
            out.add("pmap", rows.select("line_no", "pid", "command", *_facts(rows)))
        state = _totals(lines, rows, out, state)
    return state


def _unglued(frame: pl.DataFrame, out: Tables) -> pl.DataFrame:
    """Separate rows that stand on one line; the pieces get its line number."""
    several = frame.filter(pl.col("line").str.count_matches(GLUED) > 1)
    if several.is_empty():
        return frame
    pieces = []
    for line_no, line in several.select("line_no", "line").iter_rows():
        first = re.search(rf"\b([0-9A-Fa-f]{{8,16}}){_TAIL}", line)
        width = len(first[1]) if first else 8
        starts = [m.start() for m in re.finditer(rf"[0-9A-Fa-f]{{{width}}}(?={_TAIL})", line)]
        starts += [m.start() for m in re.finditer(r"(?:Address[ \t]+[A-Z]|(?<=\s)total[ \t])", line)]
        cuts = sorted({0, *starts, len(line)})
        texts = [x for a, b in pairwise(cuts) if (x := line[a:b].strip())]
        pieces += [(line_no, text) for text in texts]
        out.note(line_no, line_no, "repaired", f"{len(texts)} lines on one line: line ends were lost")
    extra = pl.DataFrame(pieces, schema={"line_no": pl.Int64, "line": pl.String}, orient="row")
    rest = frame.filter(~pl.col("line_no").is_in(several["line_no"].to_list()))
    return pl.concat([rest, extra]).sort("line_no", maintain_order=True)


def _located(frame: pl.DataFrame, state: State) -> pl.DataFrame:
    """Add to each line its shape, process and header; leave out lines of no known shape."""
    line = pl.col("line")
    shape = (
        pl.when(line.str.contains(HEADER))
        .then(pl.lit("header"))
        .when(line.str.contains(ROW) | line.str.contains(ROW_X))
        .then(pl.lit("row"))
        .when(line.str.contains(TOTAL))
        .then(pl.lit("total"))
        .when(line.str.contains(PROCESS))
        .then(pl.lit("process"))
        .when(line.str.contains(RULE) | line.str.contains(MAPPED))
        .then(pl.lit("rule"))
    )
    located = frame.with_columns(shape=shape).filter(pl.col("shape").is_not_null())
    process = pl.when(pl.col("shape") == "process")
    located = located.with_columns(
        process=(pl.col("shape") == "process").cum_sum(),
        pid=process.then(line.str.extract(PROCESS, 1).cast(pl.Int64, strict=False)).forward_fill(),
        command=process.then(line.str.extract(PROCESS, 2).fill_null("")).forward_fill(),
        header=pl.when(pl.col("shape") == "header").then(line.str.strip_chars()).forward_fill(),
    )
    before = pl.col("process") == 0
    return located.with_columns(
        pid=pl.when(before).then(pl.lit(state.get("pid"), pl.Int64)).otherwise(pl.col("pid")),
        command=pl.when(before)
        .then(pl.lit(state.get("command"), pl.String))
        .otherwise(pl.col("command"))
        .replace("", None),
        header=pl.col("header").fill_null(pl.lit(state.get("header"), pl.String)),
    )


def _by_header(lines: pl.DataFrame) -> list[tuple[tuple[str, ...], pl.DataFrame]]:
    """Group the rows by their columns: headings in lower case, without the mapping."""
    groups = []
    rows = lines.filter(pl.col("shape") == "row")
    for (header,), group in rows.group_by("header", maintain_order=True):
        if header is not None:
            groups.append((tuple(re.sub(r"(?i)\s+(mapped file|mapping)$", "", str(header)).lower().split()), group))
            continue
        count = pl.col("line").str.extract(ROW, 2).str.extract_all(r"\S+").list.len()
        for (n,), part in group.with_columns(count=count).group_by("count", maintain_order=True):
            columns = ("address", *_BY_COUNT.get(n if isinstance(n, int) else 0, ("kbytes",)), "mode", "lgrp?")
            groups.append((columns, part.drop("count")))
    return groups


def _of_suse(rows: pl.DataFrame) -> pl.DataFrame:
    """Move the figures of SUSE's pmap to their columns: rows without a heading were read with the columns of Solaris."""
    private = pl.col("mode").str.contains(PRIVATE)
    moved = [pl.when(private).then(pl.col(old)).alias(new) for old, new in _OF_SUSE.items()]
    return rows.with_columns(*moved, *(pl.when(~private).then(pl.col(old)).alias(old) for old in _OF_SUSE))


def _measured(rows: pl.DataFrame, columns: tuple[str, ...], variant: str) -> pl.DataFrame:
    """Extract address, sizes in kB, mode, lgrp and mapping from rows under one header; drop rows that do not fit it."""
    long = "perm" in columns
    names = ["addr", "mode", "inode", "numbers", "rest"] if long else ["addr", "numbers", "mode", "rest"]
    rows = rows.with_columns(
        pl.col("line").str.extract_groups(ROW_X if long else ROW).struct.rename_fields(names).alias("g")
    ).unnest("g")
    if not long:
        rows = rows.with_columns(inode=pl.lit(None, pl.String))
    head = [
        c
        for c in columns
        if c not in ("address", "perm", "offset", "device", "inode", "mode", "lgrp", "lgrp?", "vmflags")
    ]
    rows = rows.with_columns(cells=pl.col("numbers").str.extract_all(r"\S+"))
    rows = rows.filter(pl.col("cells").list.len() == len(head))
    cells = {}
    for place, heading in enumerate(head):
        if heading in _COLUMNS:
            plain = 1 / 1024 if heading == "bytes" else 1.0
            cells[_COLUMNS[heading]] = kilobytes(pl.col("cells").list.get(place), plain)
    dirty = [
        kilobytes(pl.col("cells").list.get(i), 1.0)
        for i, h in enumerate(head)
        if h in ("shared_dirty", "private_dirty")
    ]
    cells.setdefault("kbytes", pl.lit(None, pl.Float64))  # A damaged header may have lost it.
    if dirty:
        cells["dirty_kb"] = pl.sum_horizontal(dirty, ignore_nulls=False)
    rows = rows.with_columns(addr=pl.col("addr").str.to_integer(base=16, dtype=pl.UInt64, strict=False), **cells)
    return rows.with_columns(**_rest(columns, variant)).drop("cells", "numbers", "rest", "line", "header", "shape")


def _rest(columns: tuple[str, ...], variant: str) -> dict[str, pl.Expr]:
    """Split the text after the mode: lgroup on Solaris, offset and device with Linux -d, flags with -XX; then the mapping."""
    rest = pl.col("rest")
    if "lgrp" in columns or ("lgrp?" in columns and variant == "solaris"):
        lead = r"^(-|[0-9]+)(?:[ \t]+|$)"
        return {
            "lgrp": rest.str.extract(lead).replace("-", None).cast(pl.Int64, strict=False),
            "mapping": rest.str.replace(lead, "").replace("", None),
        }
    lead = ""
    if "offset" in columns and "perm" not in columns:
        lead = r"^[0-9a-f]+[ \t]+[0-9a-f]+:[0-9a-f]+(?:[ \t]+|$)"
    elif "vmflags" in columns:
        lead = r"^(?:[a-z]{2}(?:[ \t]+|$))+"
    mapping = rest.str.replace(lead, "").replace("", None) if lead else rest
    return {"mapping": mapping, "lgrp": pl.lit(None, pl.Int64)}


def kilobytes(text: pl.Expr, plain: float) -> pl.Expr:
    """Convert `8K`, `256M`, `45056`, `-` to kB (NULL for `-`); a number without suffix counts units of `plain` kB."""
    factor = text.str.extract(NUMBER, 2).replace_strict(
        {"": plain, "K": 1.0, "M": 1024.0, "G": 1048576.0}, default=None
    )
    return text.str.extract(NUMBER, 1).cast(pl.Float64) * factor


def _facts(rows: pl.DataFrame) -> list[pl.Expr]:
    """Return the columns of the table: the sizes that were printed, and the kind of memory of the mapping."""
    return [*(pl.col(c) for c in ("addr", "mode", "mapping", "lgrp", *_MEASURES) if c in rows.columns), *named()]


def _totals(lines: pl.DataFrame, rows: pl.DataFrame | None, out: Tables, state: State) -> State:
    """Write a `ps` row for each total line and note where the rows do not add up to it."""
    if lines.is_empty():
        return state
    sums: dict[int, float] = {0: float(state.get("sum_kb", 0.0))}
    if rows is not None:
        for process, total in rows.group_by("process").agg(pl.col("kbytes").sum()).iter_rows():
            sums[process] = sums.get(process, 0.0) + total
    total_rows = []
    totals = lines.filter(pl.col("shape") == "total")
    for row in totals.iter_rows(named=True):
        match = re.match(TOTAL, row["line"])
        if match is None:
            continue
        numbers = [_kb(x) for x in (match[1] or match[2]).split()]
        heads = [h for h in (row["header"] or "address kbytes").lower().split() if h in _COLUMNS]
        named = dict(zip((_COLUMNS[h] for h in heads), numbers, strict=False))
        printed, added = named.get("kbytes"), sums.get(row["process"], 0.0)
        if printed is not None and abs(printed - added) > 0.5:
            text = f"rows add up to {added:.0f} kB, the total says {printed:.0f} kB: rows are missing"
            out.note(row["line_no"], row["line_no"], "elided", text)
        total_rows.append((row["line_no"], row["pid"], row["command"], printed, named.get("rss_kb")))
    names = {"line_no": pl.Int64, "pid": pl.Int64, "comm": pl.String, "vsz_kb": pl.Float64, "rss_kb": pl.Float64}
    out.add("ps", pl.DataFrame(total_rows, schema=names, orient="row"))
    last = lines.row(-1, named=True)
    return state | {
        "pid": last["pid"],
        "command": last["command"],
        "header": last["header"],
        "sum_kb": sums.get(last["process"], 0.0),
    }


def _kb(text: str) -> float | None:
    match = re.match(NUMBER, text)
    return float(match[1]) * {"": 1, "K": 1, "M": 1024, "G": 1048576}[match[2]] if match else None
