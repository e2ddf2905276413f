r"""Read mpstat -o JSON of sysstat line by line as the tool writes it, so that a file may be of any size::

    {"sysstat": {
        "hosts": [
            {"nodename": "db1", ..., "number-of-cpus": 9, "date": "06/01/20",
             "statistics": [
                {"timestamp": "12:53:21",
                 "cpu-load": [
                    {"cpu": "all", "usr": 2.15, "nice": 12.50, "sys": 1.84, "iowait": 0.12, "irq": 0.34, ...},

JSON without line ends is first cut before each object. The stamp is the end of the sample, as in the text form.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.sample_stamps import DAY, of_day, place, running
from parsers.columns import grid
from parsers.formats.sampling.shared.banner_dates import read_banner_day
from parsers.tables.rows import State, Tables
from parsers.text.source import Hints, Source

OWN = r'^[ \t]*(?:\{|[\]}],?)*[ \t]*(?:"(?:sysstat|hosts|nodename|timestamp|cpu-load|node-load|sum-interrupts)"|\{"(?:cpu|node|name)": ?")'
_SECTIONS = {
    "cpu-load": "cpu",
    "node-load": "node",
    "sum-interrupts": "sum",
    "individual-interrupts": "irq",
    "soft-interrupts": "softirq",
}
_SECTION = rf'"({"|".join(_SECTIONS)})": ?\['
_STAMP = r'"timestamp": ?"([^"]{5,20})"'
_LABEL = r'\{"(?:cpu|node)": ?"(all|-?[0-9]+)"'
_VALUE = r'"([a-z]+)": ?(-?[0-9]+(?:\.[0-9]+)?)'
_NAMED = r'\{"name": ?"([^"]+)", ?"value": ?(-?[0-9]+(?:\.[0-9]+)?)'
_KNOWN = rf'{_SECTION}|{_STAMP}|"(?:sysstat|hosts|nodename|sysname|release|machine|number-of-cpus|date|statistics)"|^[ \t\]\}}\[\{{,]*$|{_LABEL}'
_PLACES = {
    "usr": "usr",
    "nice": "nice",
    "sys": "sys",
    "iowait": "wa",
    "irq": "irq",
    "soft": "soft",
    "steal": "st",
    "guest": "gu",
    "gnice": "gnice",
    "idle": "idle",
}
_KEYS = "cpu-load|node-load|sum-interrupts|individual-interrupts|soft-interrupts|date|release|number-of-cpus"
_BREAKS = re.compile(rf'(?=\{{"(?:cpu|node|name)")|(?="timestamp")|(?="(?:{_KEYS})")')


def is_mpstat(text: str) -> bool:
    """Decide whether a text is JSON of mpstat; stamps in JSON of sadf are objects."""
    return '"sysstat"' in text and re.search(_STAMP, text) is not None and re.search(_SECTION, text) is not None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state`: section, label, stamp and number of the last sample."""
    for frame in grid.frames(source):
        lines = _joined(frame) if grid.is_small(source) else frame.with_columns(line_end=pl.col("line_no"))
        _block(_broken(lines).with_row_index("row"), source, out, state)
    return state


def _joined(frame: pl.DataFrame) -> pl.DataFrame:
    """Join the lines of flat objects that a JSON printer laid out with one key on each line."""
    line = pl.col("line")
    opens = line.str.contains(r"^[ \t]*\{$")
    whole = pl.col("line_no").alias("line_end")
    if not frame.select((opens & line.shift(-1).str.contains(r'^[ \t]*"(?:cpu|node|name)":')).any()).item():
        return frame.with_columns(whole)
    marked = frame.with_columns(group=opens.cum_sum(), ends=line.str.contains(r"^[ \t]*[\]}]"))
    inside = (pl.col("ends").cum_sum().over("group") == 0) & (pl.col("group") > 0)
    marked = marked.with_columns(inside=inside)
    joined = (
        marked.filter("inside")
        .group_by("group", maintain_order=True)
        .agg(
            pl.col("line_no").first(), line.str.strip_chars().str.join(" "), pl.col("line_no").last().alias("line_end")
        )
    )
    joined = joined.with_columns(line.str.replace_all(r"\{ ", "{"))
    rest = marked.filter(~pl.col("inside")).select("line_no", "line", whole)
    return pl.concat([rest, joined.select("line_no", "line", "line_end")]).sort("line_no", maintain_order=True)


def _broken(frame: pl.DataFrame) -> pl.DataFrame:
    """Cut lines that hold several objects or keys, as in a file without line ends."""
    line = pl.col("line")
    many = frame.filter(
        line.str.count_matches(rf"{_STAMP}|{_LABEL}|{_SECTION}") + line.str.count_matches(_NAMED).clip(0, 1) > 1
    )
    if many.is_empty():
        return frame
    rows = many.select("line_no", "line_end", "line").iter_rows()
    pieces = [(n, end, piece) for n, end, text in rows for piece in _BREAKS.split(text)]
    cut = pl.DataFrame(pieces, schema={"line_no": pl.Int64, "line_end": pl.Int64, "line": pl.String}, orient="row")
    rest = frame.filter(~pl.col("line_no").is_in(many["line_no"].implode()))
    return pl.concat([rest.select(cut.columns), cut]).sort("line_no", maintain_order=True)


def _block(lines: pl.DataFrame, source: Source, out: Tables, state: State) -> None:
    line = pl.col("line")
    _head(lines, source.hints, out, state)
    marked = lines.with_columns(
        stamp=line.str.extract(_STAMP),
        section=line.str.extract(_SECTION).replace(_SECTIONS),
        label=line.str.extract(_LABEL),
    )
    sample = pl.col("stamp").is_not_null().cum_sum().cast(pl.Int64, strict=False) + state.get("sample", 0)
    held = [pl.col(c).forward_fill().fill_null(pl.lit(state.get(c), pl.String)) for c in ("section", "label")]
    stamps = marked.filter(pl.col("stamp").is_not_null())
    marked = marked.with_columns(*held, own=pl.col("label").is_not_null(), sample=sample)
    clocks = _clocks(stamps, marked, source, out, state)
    state.update(sample=marked["sample"][-1], section=marked["section"][-1], label=marked["label"][-1])
    rows = marked.join(clocks, on="sample", how="left", maintain_order="left").filter(pl.col("sample") > 0)
    keys = ["row", "line_no", "line_end", "sample", "first", "t_local", "interval_s"]
    loads = rows.filter(pl.col("own") & (pl.col("section") == "cpu"))
    values = {
        t: line.str.extract(rf'"{n}": ?(-?[0-9.]+)').cast(pl.Float64, strict=False).alias(t) for n, t in _PLACES.items()
    }
    cpus = loads.filter(pl.col("label") != "all")
    out.add(
        "mpstat", cpus.select(*keys[1:], pl.col("label").cast(pl.Int64, strict=False).alias("cpu"), *values.values())
    )
    out.add("vmstat", loads.filter(pl.col("label") == "all").select(*keys[1:], *values.values()))
    pairs = line.str.extract_all(_NAMED)
    plain = line.str.extract_all(_VALUE)
    others = rows.filter(pl.col("section").is_in(["node", "sum"]) & pl.col("own")).with_columns(pairs=plain)
    named = rows.filter(pl.col("section").is_in(["irq", "softirq"])).with_columns(pairs=pairs)
    counters = []
    for part, pattern in ((others, _VALUE), (named, _NAMED)):
        long = part.explode("pairs").filter(pl.col("pairs").is_not_null())
        long = long.with_columns(
            pl.col("pairs").str.extract_groups(pattern).struct.rename_fields(["name", "value"]).alias("g")
        ).unnest("g")
        counters.append(
            long.select(
                *keys,
                pl.col("label").alias("item"),
                pl.col("section").alias("grp"),
                "name",
                pl.col("value").cast(pl.Float64),
            )
        )
    full = pl.concat(counters).sort("row", maintain_order=True)
    rate = pl.col("grp") != "node"
    out.add(
        "counters",
        full.drop("row").with_columns(
            unit=pl.when(rate).then(pl.lit("/s")).otherwise(pl.lit("%")),
            mode=pl.when(rate).then(pl.lit("rate")).otherwise(pl.lit("level")),
        ),
    )
    known = lines.filter(line.str.contains(_KNOWN))
    out.read(known.select(pl.int_ranges("line_no", pl.col("line_end") + 1).explode()).to_series())


def _head(lines: pl.DataFrame, hints: Hints, out: Tables, state: State) -> None:
    """Read the facts about the host; `hosts` gets its row at the line with the number of CPUs."""
    few = lines.filter(pl.col("line").str.contains(r'"(?:release|number-of-cpus|date)":'))
    for line_no, text in few.select("line_no", "line").iter_rows():
        release = re.search(r'"release": ?"([^"]*)"', text)
        if release:
            state["release"] = release[1]
            out.fact("os_release", release[1])
        ncpu = re.search(r'"number-of-cpus": ?([0-9]+)', text)
        if ncpu:
            row = {"line_no": [line_no], "os": ["linux"], "os_release": [state.get("release")], "ncpu": [int(ncpu[1])]}
            out.add("hosts", pl.DataFrame(row))
        date = re.search(r'"date": ?"([^"]*)"', text)
        if date:
            midnight = read_banner_day(date[1], line_no, hints, out)
            state["day"] = None if midnight is None else midnight / DAY
            state["dated"] = state.get("dated", 0) + 1


def _clocks(stamps: pl.DataFrame, marked: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Place the samples on their clock: one row for each, and one for the sample that an earlier block began."""
    known = {"sample": pl.Int64(), "first": pl.Boolean(), "t_local": pl.Float64(), "interval_s": pl.Float64()}
    old = pl.DataFrame([state.get("sampled", [None] * 4)], schema=known, orient="row").drop_nulls("sample")
    if stamps.is_empty():
        return old
    texts = stamps["stamp"]
    parts = stamps.select(
        pl.col("stamp")
        .str.extract_groups(r"^([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?: ([AaPp])[Mm])?$")
        .struct.rename_fields(["h", "m", "s", "ap"])
        .alias("g")
    )
    epoch = texts.str.extract(r"^([0-9]{10})$").cast(pl.Float64)
    clock = running(
        parts.unnest("g").select(of_day()).to_series(),
        pl.Series([state.get("dated", 0)] * len(stamps), dtype=pl.Int64),
        state,
    )
    state["no_date"] = state.get("day") is None
    t = (
        pl.DataFrame({"a": epoch, "b": clock + (state.get("day") or 0.0) * DAY})
        .select(pl.coalesce("a", "b"))
        .to_series()
    )
    ends = stamps["line_no"].shift(-1).fill_null(marked["line_no"][-1])
    samples = stamps.select(
        "line_no", ends.alias("line_end"), (pl.int_range(1, pl.len() + 1) + state.get("sample", 0)).alias("sample")
    )
    samples = samples.with_columns(
        t=t,
        zone=pl.lit(None, pl.String),
        segment=pl.lit(0, pl.Int64),
        first=pl.lit(None, pl.Boolean),
        clock_kind=pl.when(pl.Series(epoch.is_not_null())).then(pl.lit("wall-utc")).otherwise(pl.lit("wall-local")),
    )
    placed = place(samples, source, out, state).select(*known)
    state["sampled"] = list(placed.row(-1))
    return pl.concat([old, placed], how="vertical_relaxed")
