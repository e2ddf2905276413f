"""Read JSON of sysstat (iostat -o JSON, sadf -j): objects of samples, in whatever layout they are printed.

An object of the array `statistics` is one sample; objects inside it that hold values are the sections, named by their
key or by that of the array they stand in (`cpu-load`, `disk`, `memory`). The text is split into tokens as columns; only the place of an
object in the lines is kept, so a file printed on one line is read as well as one with one value on each line.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.sample_stamps import of_day
from parsers.columns import grid
from parsers.formats.sampling.shared.banner_dates import banner_day, read_banner_day
from parsers.formats.sampling.shared.disk_names import part_of
from parsers.formats.sampling.shared.section_columns import CPU, DISK, HOST
from parsers.formats.sampling.shared.section_rows import Found
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Hints, Source
from parsers.text.times import WALL_BASE

TOKEN = r'"(?:[^"\\]|\\.)*"|[{}\[\]]|:|[^\s{}\[\]:,"]+'
_VALUE_END, _VALUE_GOES_ON = r"[0-9A-Za-z.+-]$", r"[0-9A-Za-z.+-]"
_OWN_LINE = r'[ \t]*(?:[{}\[\]]|"[^"]+"[ \t]*(?:[:,]|$))'
DEPTH = 12
"""Maximum nesting depth; nothing of sysstat lies deeper."""

_HEAD = ("nodename", "sysname", "release", "machine", "number-of-cpus", "date", "file-date")
_KEYS = (
    "disk_device",
    "disk-device",
    "dev",
    "fsname",
    "cpu",
    "iface",
    "intr",
    "line",
    "filesystem",
    "host",
    "device",
    "number",
    "name",
    "node",
)
_DISK = DISK | {
    "util": ("busy_pct", 1),
    "util-percent": ("busy_pct", 1),
    "rkB": ("r_kbps", 1),
    "wkB": ("w_kbps", 1),
    "rd_sec": ("r_kbps", 0.5),
    "wr_sec": ("w_kbps", 0.5),
}
_HOST = {name.removesuffix("/s").removeprefix("kb"): place for name, place in HOST.items()} | {
    "swpused": HOST["kbswpused"],
    "inactive": HOST["kbinact"],
}


def looks(frame: pl.DataFrame) -> bool:
    """Decide whether a text begins as sysstat's JSON does."""
    head = "".join(frame["line"].head(8).to_list()).replace(" ", "").replace("\t", "")
    return head.startswith('{"sysstat":{')


def read(frame: pl.DataFrame, kind: str, source: Source, found: Found, out: Tables, state: State) -> None:
    """Read the lines of a block into `found`; containers open at its end are carried in `state["open"]`."""
    held = pl.DataFrame(state.pop("json_held", []), schema={"line_no": pl.Int64, "line": pl.String}, orient="row")
    lines = pl.concat([held, _mended(frame.select("line_no", "line"), source, out)])
    out.read(lines.filter(pl.col("line").str.contains(r"^[ \t]*[{}\[\]\",]"))["line_no"])
    tokens = _nested(_tokens(lines), state)
    if not grid.at_end(source):
        tokens, rest = _complete(tokens, lines)
        state["json_held"] = [list(x) for x in rest.rows()]
    if tokens.is_empty():
        return
    _keep_open(tokens, state)
    if grid.at_end(source) and state["open"]:
        last = int(tokens["line_no"][-1])
        inner = " in ".join(str(name) or "the whole" for name, _ in reversed(state["open"]))
        out.note(last, last, "damaged", f"the JSON is not closed: {inner} is open, so samples may be lost")
    fill_tables(_pairs(tokens, state), kind, source, found, out, state)


def fill_tables(pairs: pl.DataFrame, kind: str, source: Source, found: Found, out: Tables, state: State) -> None:
    """Put pairs (line_no, of: number of their object, section, sample, key, text) into `found`; report host and clock."""
    _heads(pairs, source.hints, out, state)
    samples = _stamps(pairs, source, out, state)
    if samples.is_empty():
        return
    inside = pairs.filter(
        (pl.col("sample") > 0)
        & ~pl.col("section").is_in(["timestamp", "boot", "restarts", "comments", "hosts", "sysstat"])
        & (pl.col("key") != "timestamp")
    )
    _sections(inside.join(samples, on="sample", how="left", maintain_order="left"), kind, found)


def _mended(lines: pl.DataFrame, source: Source, out: Tables) -> pl.DataFrame:
    """Join lines of a small part that were broken within a text or a number, which JSON never does."""
    if not grid.is_small(source):
        return lines
    rows: list[tuple[int, str]] = []
    first = 0
    for number, text in lines.iter_rows():
        above = rows[-1][1] if rows else ""
        within = len(re.findall(r'(?<!\\)"', above)) % 2 == 1 and not re.match(_OWN_LINE, text)
        torn = within or (re.search(_VALUE_END, above) and re.match(_VALUE_GOES_ON, text))
        if not torn:
            rows.append((number, text))
            first = number
            continue
        rows[-1] = (first, above + text)
        out.read([number])
        out.note(first, number, "repaired", "broken within a text or a number of the JSON, joined")
    return pl.DataFrame(rows, schema={"line_no": pl.Int64, "line": pl.String}, orient="row")


def _tokens(lines: pl.DataFrame) -> pl.DataFrame:
    """Split lines into tokens without colons: line_no, token, is_key."""
    tokens = lines.select("line_no", token=pl.col("line").str.extract_all(TOKEN)).explode("token").drop_nulls("token")
    key = (pl.col("token").shift(-1) == ":").fill_null(False)
    return tokens.with_columns(is_key=key).filter(pl.col("token") != ":")


def _nested(tokens: pl.DataFrame, state: State) -> pl.DataFrame:
    """Add the depth, and for each depth the name and number of the container that is open there.

    `state["open"]`: name, number and opening character of the containers that were open before.
    """
    before: list[list[str | int | None]] = state.setdefault("open", [])
    token = pl.col("token")
    opens, closes = token.is_in(["{", "["]), token.is_in(["}", "]"])
    tokens = tokens.with_columns(
        opens=opens,
        depth=(opens.cast(pl.Int64, strict=False).cum_sum() - closes.cast(pl.Int64, strict=False).cum_sum())
        + len(before),
        number=opens.cum_sum().cast(pl.Int64, strict=False) + int(state.get("containers", 0)),
        label=pl.when(opens & pl.col("is_key").shift(fill_value=False)).then(token.shift().str.strip_chars('"')),
    )
    # An element of an array has the array's name: an unnamed container takes the name above.
    for d in range(1, DEPTH + 1):
        at = pl.when(pl.col("opens") & (pl.col("depth") == d))
        old = before[d - 1] if d <= len(before) else [None, None]
        numbers = at.then(pl.col("number")).forward_fill().fill_null(pl.lit(old[1], pl.Int64))
        above = pl.col(f"name {d - 1}") if d > 1 else pl.lit("")
        name = at.then(pl.coalesce("label", above)).forward_fill().fill_null(pl.lit(old[0], pl.String))
        tokens = tokens.with_columns(numbers.alias(f"of {d}"), name.alias(f"name {d}"))
    return tokens


def _complete(tokens: pl.DataFrame, lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split the tokens where no section is open: at the last line that ends inside an array or a sample."""
    ends = tokens.group_by("line_no", maintain_order=True).last()
    open_name = pl.coalesce(*[pl.when(pl.col("depth") == d).then(pl.col(f"name {d}")) for d in range(1, DEPTH + 1)])
    ends = ends.filter((open_name == "statistics") | (pl.col("token") == "["))
    if ends.is_empty():
        return tokens.clear(), lines
    last = ends["line_no"][-1]
    return tokens.filter(pl.col("line_no") <= last), lines.filter(pl.col("line_no") > last)


def _keep_open(tokens: pl.DataFrame, state: State) -> None:
    last = tokens.row(-1, named=True)
    depth = min(max(last["depth"], 0), DEPTH)
    state["open"] = [[last[f"name {d}"], last[f"of {d}"]] for d in range(1, depth + 1)]
    state["containers"] = last["number"]


def _pairs(tokens: pl.DataFrame, state: State) -> pl.DataFrame:
    """Return the values: line_no, of (number of their object), section, sample, key, text."""
    value = ~pl.col("token").is_in(["{", "}", "[", "]"]) & ~pl.col("is_key") & pl.col("is_key").shift(fill_value=False)
    depths = range(1, DEPTH + 1)
    of = pl.coalesce(*[pl.when(pl.col("depth") == d).then(pl.col(f"of {d}")) for d in depths])
    section = pl.coalesce(*[pl.when(pl.col("depth") == d).then(pl.col(f"name {d}")) for d in depths])
    starts = pl.col("opens") & (pl.col("token") == "{") & (section == "statistics")
    tokens = tokens.with_columns(of=of, section=section, begins=starts)
    tokens = tokens.with_columns(
        sample=pl.col("begins").cum_sum().cast(pl.Int64, strict=False) + int(state.get("sample", 0))
    )
    state["sample"] = int(tokens["sample"][-1])
    key = pl.col("token").shift().str.strip_chars('"')
    pairs = tokens.with_columns(key=key, is_value=value, text=pl.col("token").str.strip_chars('"'))
    return pairs.filter("is_value").select("line_no", "of", "section", "sample", "key", "text")


def _heads(pairs: pl.DataFrame, hints: Hints, out: Tables, state: State) -> None:
    """Read the host from the object before its statistics."""
    facts = pairs.filter(
        pl.col("key").is_in(_HEAD) & (pl.col("section") != "timestamp") & (pl.col("section") != "statistics")
    )
    for _, mine in facts.group_by("of", maintain_order=True):
        values = dict(mine.select("key", "text").iter_rows())
        if "date" in values or "file-date" in values:
            text = str(values.get("file-date", values.get("date", "")))
            state["day"] = read_banner_day(text, mine["line_no"][0], hints, out)
        if "sysname" in values and values.get("number-of-cpus", "").isdecimal():
            row = {
                "line_no": mine["line_no"].min(),
                "line_end": mine["line_no"].max(),
                "os": values["sysname"].lower(),
                "os_release": values.get("release"),
                "model": values.get("machine"),
                "ncpu": int(values["number-of-cpus"]),
            }
            out.add("hosts", pl.DataFrame([row]))
            out.fact("host", values.get("nodename"))
            out.fact("os", row["os"] if isinstance(row["os"], str) else None)


def _stamps(pairs: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Read the stamp of each sample: `"timestamp": {date, time, utc, interval}` or `"timestamp": "date time"`."""
    keyed = pairs.filter((pl.col("section") == "timestamp") & (pl.col("sample") > 0))
    columns = [pl.col("text").filter(pl.col("key") == k).first().alias(k) for k in ("date", "time", "utc", "interval")]
    parts = keyed.group_by("sample", maintain_order=True).agg(*columns)
    plain = pairs.filter((pl.col("key") == "timestamp") & (pl.col("section") == "statistics"))
    whole = plain.select(
        "sample",
        date=pl.col("text").str.extract(r"^([0-9/.-]+)"),
        time=pl.col("text").str.extract(r"[ T]([0-9]+:[0-9]+:[0-9]+(?: [AP]M)?)"),
        utc=pl.lit(None, pl.String),
        interval=pl.lit(None, pl.String),
    )
    stamps = pl.concat([parts.cast(dict.fromkeys(("date", "time", "utc", "interval"), pl.String)), whole])
    order = source.hints.date_order
    days = {d: banner_day(d, order, month_first=False)[0] for d in stamps["date"].drop_nulls().unique()}
    clock = (
        pl.col("time")
        .str.extract_groups(r"^([0-9]+):([0-9]+):([0-9]+)(?: ([AP])M)?$")
        .struct.rename_fields(["h", "m", "s", "ap"])
    )
    stamps = stamps.with_columns(clock.alias("g")).unnest("g")
    day = (
        pl.col("date").replace_strict(days, default=None, return_dtype=pl.Float64) if days else pl.lit(None, pl.Float64)
    )
    stamps = stamps.select(
        "sample",
        t_local=day + of_day(),
        utc=pl.col("utc") == "1",
        printed_s=pl.col("interval").cast(pl.Float64, strict=False),
    )
    every = (
        pairs.filter(pl.col("sample") > 0)
        .select("sample", "line_no")
        .group_by("sample", maintain_order=True)
        .agg(first_line=pl.col("line_no").min(), last_line=pl.col("line_no").max())
    )
    last = state.get("json_stamp", [0, None, None])
    carried = pl.DataFrame(
        [last], schema={"sample": pl.Int64, "t_local": pl.Float64, "interval_s": pl.Float64}, orient="row"
    )
    joined = every.join(stamps, on="sample", how="left", maintain_order="left").join(
        carried.rename({"t_local": "t_old", "interval_s": "i_old"}), on="sample", how="left", maintain_order="left"
    )
    joined = joined.with_columns(t_local=pl.coalesce("t_local", "t_old"))
    since = pl.col("t_local") - pl.col("t_local").shift().fill_null(pl.lit(last[1], pl.Float64))
    step = pl.coalesce(
        pl.col("printed_s"), "i_old", pl.when(since > 0).then(since), pl.lit(source.hints.interval_s, pl.Float64)
    )
    joined = joined.with_columns(interval_s=step)
    if not joined.is_empty():
        state["json_stamp"] = list(joined.select("sample", "t_local", "interval_s").row(-1))
        times = joined["t_local"].drop_nulls().to_list()
        utc = bool(joined["utc"].fill_null(False).any())
        kind = "interval" if not times else "wall-utc" if utc else "wall-local"
        ends = (min(times), max(times)) if times else (None, None)
        zone = "UTC" if utc else source.hints.tz
        spans = [(int(joined["first_line"][0]), int(joined["last_line"][-1]))]
        out.domain(
            Domain(
                1, kind, WALL_BASE if times else None, zone, ends[0], ends[1], spans, stamps="end" if times else None
            )
        )
    return joined.select("sample", "t_local", "interval_s")


def _sections(pairs: pl.DataFrame, kind: str, found: Found) -> None:
    """Put the values of objects into the tables; texts that name a device, an interface ... are their items."""
    if pairs.is_empty():
        return
    number = pl.col("text").cast(pl.Float64, strict=False)
    named = pl.col("key").is_in(_KEYS)
    item = pl.col("text").filter(named).first().over("of")
    boot = pl.lit(kind == "iostat") & (pl.col("sample") == 1)
    cells = pairs.with_columns(item=item, value=number, first=boot, at=pl.int_range(pl.len())).filter(~named)
    cells = cells.drop_nulls("value").with_columns(
        host=pl.col("item").is_null() | pl.col("item").is_in(["all", "-1"]),
        row=pl.col("of"),
        line_end=pl.col("line_no").max().over("of"),
        line_no=pl.col("line_no").min().over("of"),
    )
    cpu = pl.col("section").is_in(["avg-cpu", "cpu-load", "cpu-load-all"])
    disk = pl.col("section") == "disk"
    places: list[tuple[str, pl.Expr, dict[str, tuple[str, float]]]] = [
        ("vmstat", cpu & pl.col("host"), {k: (v, 1.0) for k, v in CPU.items()}),
        ("mpstat", cpu & ~pl.col("host"), {k: (v, 1.0) for k, v in CPU.items()}),
        ("iostat", disk, _DISK),
        ("vmstat", ~cpu & ~disk & pl.col("host"), _HOST if kind == "sar" else {}),
    ]
    keys = ["row", "line_no", "line_end", "sample", "first", "interval_s", "t_local"]
    taken = []
    for table, which, columns in places:
        mine = cells.filter(which & pl.col("key").is_in(list(columns)))
        if mine.is_empty():
            continue
        taken.append(mine["at"])
        mine = mine.with_columns(
            column=pl.col("key").replace_strict({k: c for k, (c, _) in columns.items()}, return_dtype=pl.String),
            value=pl.col("value")
            * pl.col("key").replace_strict({k: float(f) for k, (_, f) in columns.items()}, return_dtype=pl.Float64),
        )
        used = mine["column"].unique(maintain_order=True).to_list()
        picked = [pl.col("value").filter(pl.col("column") == c).first().alias(c) for c in used]
        rows = mine.group_by([*keys, "item"], maintain_order=True).agg(*picked).with_columns(at=pl.lit(0, pl.Int64))
        if table == "mpstat":
            rows = rows.with_columns(cpu=pl.col("item").cast(pl.Int64, strict=False))
        if table == "iostat":
            rows = rows.with_columns(device=pl.col("item"), part_of=part_of(pl.col("item")))
        found.setdefault(table, []).append(rows.drop("item"))
    rest = cells.filter(~pl.col("at").is_in(pl.concat(taken).implode())) if taken else cells
    rest = rest.select(*keys, "at", "item", "value", grp="section", name="key", mode=pl.lit("level"))
    found.setdefault("counters", []).append(rest)
