"""Group the lines of iostat into reports, number the reports, place them on their clock, and make rows."""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.sample_stamps import DAY, place, report, stamped
from parsers.columns import grid
from parsers.formats.sampling.iostat.lines import AIX_BLOCK, CONFIG, GROUP, NO_WORD, TITLE, heading, kind_of, of_long
from parsers.formats.sampling.iostat.repair import mended, without_remarks
from parsers.formats.sampling.shared.banner_dates import banner_day, read_banner_day
from parsers.formats.sampling.shared.banners import BANNER, banner_rows
from parsers.formats.sampling.shared.section_columns import section
from parsers.formats.sampling.shared.section_rows import Found, fill, words
from parsers.provenance.prompts import prompt_of
from parsers.tables.rows import State, Tables
from parsers.text.notes import ELISION
from parsers.text.source import Source

_TIME = r"^Time:[ \t]+([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[ \t]+([AaPp])[Mm])?$"
_DATED = (
    r"^(?:Time:[ \t]+)?([0-9]{1,4}[/.-][0-9]{1,2}[/.-][0-9]{2,4})[ \tT]([0-9]{1,2}):([0-9]{2}):([0-9]{2})"
    r"(?:[ \t]?([AaPp])[Mm])?([+-][0-9]{4}|Z)?$"
)
_NUMBERS = r"^[ \t]*-?[0-9]"


def read_text(frame: pl.DataFrame, source: Source, found: Found, out: Tables, state: State) -> None:
    """Read the lines of a block into `found`."""
    if grid.is_small(source):
        frame = mended(without_remarks(frame, out), out)
    lines = _classed(
        frame.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64, strict=False)), source, out, state
    )
    shape = pl.col("shape")
    out.read(lines.filter(shape.is_in(["heading", "stamp", "title", "group", "banner", "config"]))["line_no"])
    for first, last in (
        lines.filter((shape == "heading") & (pl.col("line_end") > pl.col("line_no")))
        .select("line_no", "line_end")
        .iter_rows()
    ):
        out.read(range(first, last + 1))
    banner_rows(lines, out, state)
    rows = lines.filter((shape == "row") & pl.col("heading").is_not_null())
    rows = _row_times(_joined(rows, out, state), state)
    rows = _sampled(rows, source, out, state)
    for (names,), mine in rows.group_by("names", maintain_order=True):
        _fill(str(names), mine, found, state, source, out)


def _classed(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add to each line its type, and the header and stamp it stands under."""
    line = pl.col("line")
    marked = _stamps(stamped(frame), source, out, state)
    lines = grid.under(marked, heading(), state)
    block = line.str.extract_groups(AIX_BLOCK).struct.field("1")
    lines = lines.with_columns(
        shape=pl.when(pl.col("is_heading"))
        .then(pl.lit("heading"))
        .when(pl.col("is_stamp"))
        .then(pl.lit("stamp"))
        .when(line.str.contains(BANNER))
        .then(pl.lit("banner"))
        .when(line.str.contains(CONFIG))
        .then(pl.lit("config"))
        .when(line.str.contains(TITLE))
        .then(pl.lit("title"))
        .when(line.str.contains(GROUP))
        .then(pl.lit("group"))
        .when((line.str.strip_chars(" \t") == "") | line.str.contains(ELISION))
        .then(pl.lit("blank"))
        .when(line.str.contains(NO_WORD))
        .then(pl.lit("strange"))
        .otherwise(pl.lit("row")),
        block_device=block,
    )
    group = (
        pl.when(pl.col("shape") == "group").then(line).forward_fill().fill_null(pl.lit(state.get("group"), pl.String))
    )
    device = pl.col("block_device").forward_fill().fill_null(pl.lit(state.get("block_device"), pl.String))
    separated = pl.col("heading").str.contains("^device [a-zA-Z/]").fill_null(False) & line.str.contains(",")
    comma = separated & ~line.str.contains("[ \t]")
    lines = lines.with_columns(
        group=group,
        block_device=device,
        words=pl.when(comma).then(words(line.str.strip_suffix(","), ",")).otherwise(words(line)),
        line_end=pl.col("line_end" if "line_end" in lines.columns else "line_no"),
    )
    if not lines.is_empty():
        state["group"], state["block_device"] = lines["group"][-1], lines["block_device"][-1]
    return lines


def _stamps(lines: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add `t`, `clock_kind`, `zone` (filled forward), `segment`, `is_stamp`: from date lines, `Time:`, zzz, epochs."""
    line = pl.col("line")
    began = line.str.contains(BANNER) | (pl.col("stamp_kind") == "zzz").fill_null(False) | line.str.contains(CONFIG)
    # A banner right after a zzz mark belongs to the same start of the tool.
    fresh = began & ~began.shift(1, fill_value=bool(state.get("began"))).fill_null(False)
    lines = lines.with_columns(segment=fresh.cum_sum().cast(pl.Int64, strict=False) + int(state.get("segment", 0)))
    if not lines.is_empty():
        state["segment"] = int(lines["segment"][-1])
        state["began"] = bool(lines.select(began.last()).item())
    own: list[tuple[int, float | None, str | None]] = []
    day = state.get("day")
    if day is None and source.hints.date:
        day = banner_day(source.hints.date, None, month_first=False)[0]
    marks = lines.filter(
        line.str.contains(r"^Time:|^[0-9]{1,4}[/.-][0-9]{1,2}[/.-][0-9]|^[ \t]*Linux ") & line.str.contains("[0-9]")
    )
    for line_no, text in marks.select("line_no", "line").iter_rows():
        banner = re.match(BANNER, text)
        dated = re.match(_DATED, text)
        timed = re.match(_TIME, text)
        if banner:
            day = read_banner_day(banner[3], line_no, source.hints, out)
            state["clock"] = [None, None, 0.0]
        elif dated:
            at = read_banner_day(dated[1], line_no, source.hints, out)
            own.append((line_no, None if at is None else at + _clock(dated.groups()[1:5]), dated[6]))
        elif timed:
            own.append((line_no, _rolled(_clock(timed.groups()), state) + (day or 0.0), None))
            if day is None:
                state["no_date"] = True
    state["day"] = day
    found = pl.DataFrame(own, schema={"line_no": pl.Int64, "own_t": pl.Float64, "own_zone": pl.String}, orient="row")
    lines = lines.join(found, on="line_no", how="left", maintain_order="left")
    lines = lines.with_columns(
        is_stamp=pl.col("stamp").is_not_null() | pl.col("own_t").is_not_null(),
        t=pl.coalesce("own_t", "stamp"),
        kind=pl.when(pl.col("stamp_kind") == "epoch").then(pl.lit("wall-utc")).otherwise(pl.lit("wall-local")),
        zone=pl.coalesce("own_zone", "zone"),
    )
    stamp, held = pl.col("is_stamp"), state.get("stamp_held", [None, None, None])
    lines = lines.with_columns(
        t=pl.col("t").forward_fill().fill_null(pl.lit(held[0], pl.Float64)),
        clock_kind=pl.when(stamp).then(pl.col("kind")).forward_fill().fill_null(pl.lit(held[1], pl.String)),
        zone=pl.when(stamp).then(pl.col("zone").fill_null("")).forward_fill().fill_null(pl.lit(held[2], pl.String)),
    )
    if not lines.is_empty():
        state["stamp_held"] = list(lines.select("t", "clock_kind", "zone").row(-1))
    return lines.drop("kind", "own_t", "own_zone", "stamp", "stamp_kind", "interval").with_columns(
        pl.col("zone").replace("", None)
    )


def _clock(groups: tuple[str | None, ...]) -> float:
    """Return seconds of the day from hours, minutes, seconds and a or p."""
    hour, minute, second = (int(g or 0) for g in groups[:3])
    if groups[3]:
        hour = hour % 12 + (12 if groups[3] in "pP" else 0)
    return hour * 3600.0 + minute * 60 + second


def _rolled(at: float, state: State) -> float:
    """Add a day where times of day below one banner fall by more than half a day."""
    _, last, days = state.get("clock", [None, None, 0.0])
    days += DAY if last is not None and last - at > DAY / 2 else 0.0
    state["clock"] = [None, at, days]
    return float(at + days)


def _joined(rows: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Join a device's name with its values where an old version printed the name on its own line."""
    if rows.is_empty():
        return rows
    name = (
        (pl.col("words").list.len() == 1)
        & ~pl.col("line").str.contains(_NUMBERS)
        & pl.col("heading").str.contains("^Device")
    )
    held = state.pop("lone_name", None)
    rows = rows.with_columns(lone=pl.when(name).then(pl.struct("line_no", pl.col("words").list.first().alias("name"))))
    before = pl.col("lone").shift()
    joined = before.is_not_null() & pl.col("line").str.contains(r"^[ \t]+-?[0-9]")
    rows = rows.with_columns(
        line_no=pl.when(joined).then(before.struct.field("line_no")).otherwise(pl.col("line_no")),
        words=pl.when(joined).then(pl.concat_list(before.struct.field("name"), "words")).otherwise(pl.col("words")),
    )
    if held and rows["line"][0].lstrip()[:1].isdigit():
        first = pl.int_range(pl.len()) == 0
        rows = rows.with_columns(
            line_no=pl.when(first).then(held[0]).otherwise(pl.col("line_no")),
            words=pl.when(first).then(pl.concat_list(pl.lit(held[1]), "words")).otherwise(pl.col("words")),
        )
    last = rows["lone"][-1]
    if last is not None and last["name"] is not None:
        state["lone_name"] = [last["line_no"], last["name"]]
        out.read([last["line_no"]])
    return rows.filter(~name).drop("lone")


def _row_times(rows: pl.DataFrame, state: State) -> pl.DataFrame:
    """Move the time of AIX -lT rows into columns: it stands after the last column, and has no date."""
    heading, text = pl.col("heading").str.starts_with("%tm bps"), pl.col("words").list.last()
    if rows.is_empty() or not rows.select(heading.any()).item():
        return rows
    groups = text.str.extract_groups("^([0-9]{1,2}):([0-9]{2}):([0-9]{2})$").struct.rename_fields(["h", "m", "s"])
    hms = [groups.struct.field(f).cast(pl.Float64) for f in "hms"]
    rows = rows.with_columns(at=pl.when(heading).then(hms[0] * 3600 + hms[1] * 60 + hms[2]))
    times = rows["at"].drop_nulls()
    if times.is_empty():
        return rows.drop("at")
    last, days = state.get("row_clock", [None, 0])
    before = pl.col("at").forward_fill().shift().fill_null(pl.lit(last, pl.Float64))
    day = (before - pl.col("at") > DAY / 2).fill_null(False).cum_sum() + days
    timed = pl.col("at").is_not_null()
    rows = rows.with_columns(day=day)
    state["row_clock"] = [times[-1], int(rows["day"][-1])]
    state["no_date"] = state.get("no_date", False) or state.get("day") is None
    return rows.with_columns(
        t=pl.when(timed).then(pl.col("at") + pl.col("day") * DAY + (state.get("day") or 0.0)).otherwise(pl.col("t")),
        clock_kind=pl.when(timed).then(pl.lit("wall-local")).otherwise(pl.col("clock_kind")),
        words=pl.when(timed).then(pl.col("words").list.head(pl.col("words").list.len() - 1)).otherwise(pl.col("words")),
    ).drop("at", "day")


def _sampled(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Number the reports and place them on their clock.

    A report begins at the header that the first report began with, where the table's first device repeats, or with each row of a
    table without devices.
    """
    if rows.is_empty():
        return rows.with_columns(names=pl.lit("", pl.String))
    kinds = {h: kind_of(h) for h in rows["heading"].unique()}
    rows = rows.with_columns(report=pl.col("heading").replace_strict(kinds, return_dtype=pl.String))
    segment, leading = state.get("leading", [None, None])
    going_on = pl.when(pl.col("segment") == pl.lit(segment, pl.Int64)).then(pl.lit(leading, pl.String))
    rows = rows.with_columns(leading=going_on.fill_null(pl.col("report").first().over("segment")))
    state["leading"] = [rows["segment"][-1], rows["leading"][-1]]
    table, seen_name = state.get("table_name", [None, None])
    # The first name of a table; Linux -h and Solaris -n print the name last.
    name = pl.when(pl.col("words").list.first().str.contains("^[0-9.,-]+[kMGTB]?$")).then(pl.col("words").list.last())
    rows = rows.with_columns(name=name.otherwise(pl.col("words").list.first()))
    same = pl.col("table") == pl.lit(table, pl.Int64)
    rows = rows.with_columns(
        head=pl.when(same).then(pl.lit(seen_name, pl.String)).otherwise(pl.col("name").first().over("table")),
        at_head=(pl.int_range(pl.len()).over("table") == 0) & ~same.fill_null(False),
    )
    state["table_name"] = [rows["table"][-1], rows["head"][-1]]
    again = ~pl.col("at_head") & (
        (pl.col("report").is_in(["cpu", "wide"]))
        | ((pl.col("report") == "device") & (pl.col("name") == pl.col("head")))
    )
    block = (pl.col("report") == "block") & (pl.col("block_device") == pl.col("block_device").first().over("segment"))
    starts = (pl.col("at_head") & (pl.col("report") == pl.col("leading")) & (pl.col("report") != "block")) | again
    starts = starts | (block & pl.col("heading").str.starts_with("xfer:"))
    new_segment = pl.col("segment") != pl.col("segment").shift(
        fill_value=pl.lit(segment if segment is not None else -1)
    )
    rows = rows.with_columns(starts=starts | new_segment)
    rows = rows.with_columns(sample=grid.counted(pl.col("starts"), state))
    grid.carry(rows, state)
    return _clocked(rows, source, out, state)


def _clocked(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    samples = rows.group_by("sample", maintain_order=True).agg(
        pl.col("line_no").min(),
        pl.col("line_end").max(),
        *(pl.col(c).first() for c in ("segment", "t", "clock_kind", "zone")),
    )
    last = state.get("last_report")
    open_one = samples.filter(pl.col("sample") == (last[0] if last else -1))
    fresh = samples.filter(pl.col("sample") > (last[0] if last else 0))
    segment = state.get("boot_segment")
    first = pl.col("segment") != pl.col("segment").shift(fill_value=pl.lit(-1 if segment is None else segment))
    boot = pl.when(first).then(pl.lit(None if state["variant"] == "aix" else True, pl.Boolean)).otherwise(False)
    if re.search(r"iostat\b.* -\w*y", source.hints.command or "") and state["variant"] == "linux":
        boot = pl.lit(False)
    fresh = fresh.with_columns(first=boot)
    if not fresh.is_empty():
        state["boot_segment"] = int(fresh["segment"][-1])
    if not open_one.is_empty():
        restart = int(state.get("fallen", [None, None, 0])[2])
        clock = open_one["clock_kind"][0], open_one["zone"][0]
        report(open_one.with_columns(t_local=pl.col("t")), *clock, out, state, restart)
    placed = place(fresh, source, out, state).select("sample", "first", "t_local", "interval_s")
    types = pl.Schema({"sample": pl.Int64, "first": pl.Boolean, "t_local": pl.Float64, "interval_s": pl.Float64})
    known = pl.DataFrame([last] if last else [], schema=types, orient="row")
    placed = pl.concat([known, placed.cast(types)])
    if not placed.is_empty():
        state["last_report"] = list(placed.row(-1))
    return rows.join(placed, on="sample", how="left", maintain_order="left").with_columns(names=_names(rows))


def _names(rows: pl.DataFrame) -> pl.Series:
    """Return the column names of each row: its heading; in a `wide` report, a bar and the group line follow."""
    wide = pl.col("report") == "wide"
    return rows.select(
        pl.when(wide)
        .then(pl.concat_str(pl.col("heading"), pl.lit("|"), pl.col("group").fill_null("")))
        .otherwise(pl.col("heading"))
    ).to_series()


def _fill(names: str, rows: pl.DataFrame, found: Found, state: State, source: Source, out: Tables) -> None:
    """Put the rows under one header into the tables."""
    kind = kind_of(names.split("|")[0])
    if kind == "wide":
        width = len(names.partition("|")[0].split(" "))
        _wide(names, rows, found, state)
        _cut(rows.filter(pl.col("words").list.len() != width), source, out)
        return
    if kind == "block":
        _block(names, rows, found, state)
        return
    if names.startswith("%tm bps"):
        names, rows = f"disk {of_long(names)}", _without_units(rows)
    core, tail = _parts(names)
    if tail:
        n, both = len(core.split(" ")), len(names.split(" "))
        full = pl.col("words").list.len() == both
        ends = rows.filter(full).with_columns(words=pl.col("words").list.slice(n))
        fill(ends, section(tail), found, state)
        rows = rows.with_columns(words=pl.when(full).then(pl.col("words").list.head(n)).otherwise(pl.col("words")))
    _cut(fill(rows, section(core), found, state), source, out)


def _cut(bad: pl.DataFrame, source: Source, out: Tables) -> None:
    """Account the last line of the part as damaged if it is a row that does not fit: it was cut."""
    cut = not bad.is_empty() and grid.at_end(source) and bad["line_no"][-1] == source.next_line - 1
    if cut and prompt_of(bad["line"][-1]) is None:
        out.account("damaged", [source.next_line - 1])


def _parts(names: str) -> tuple[str, str]:
    """Split the header of a device table from the tty and cpu columns that Solaris -x -t -c prints beside its first row."""
    match = re.match(r"^((?:device|disk) .*?%b(?: s/w h/w trn tot)?) ((?:tin tout ?)?(?:us sy (?:wt|st) id)?)$", names)
    return (match[1], match[2]) if match and match[2] else (names, "")


def _wide(names: str, rows: pl.DataFrame, found: Found, state: State) -> None:
    """Read `tin tout kps tps serv ... us sy wt id`: three columns for each device, named in the line above."""
    heading, _, group = names.partition("|")
    heads, devices = heading.split(" "), [w for w in group.split() if w not in ("tty", "cpu")]
    whole = pl.col("words").list.len() == len(heads)
    at = heads.index("tin") if "tin" in heads else None
    begin = 2 if at == 0 else 0
    n = sum(h in ("kps", "rps", "KB/t") for h in heads)
    if begin:
        fill(rows.filter(whole).with_columns(words=pl.col("words").list.head(2)), section("tin tout"), found, state)
    cpu = heads[begin + 3 * n :]
    if cpu:
        ends = rows.filter(whole).with_columns(words=pl.col("words").list.slice(begin + 3 * n))
        fill(ends, section(" ".join(cpu)), found, state)
    for i in range(n):
        columns = heads[begin + 3 * i : begin + 3 * i + 3]
        device = devices[i] if i < len(devices) else str(i)
        cells = pl.col("words").list.slice(begin + 3 * i, 3)
        mine = rows.filter(whole).with_columns(words=pl.concat_list(pl.lit(device), cells))
        fill(mine, section("disk " + " ".join(columns)), found, state)


def _without_units(rows: pl.DataFrame) -> pl.DataFrame:
    """Expand numbers that AIX -D abbreviates: `65.5K` is 65,500 bytes (64 KiB are printed so), `1.5S` as a time is 1,500 ms."""
    if not rows["line"].str.contains(r"[0-9][KMGTS](?:[ \t]|$)").any():
        return rows
    word, factors = pl.element(), {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "S": 1e3}
    factor = word.str.extract(r"^[0-9]+(?:\.[0-9]+)?([KMGTS])$").replace_strict(factors, default=None)
    number = word.str.strip_chars_end("KMGTS").cast(pl.Float64, strict=False) * factor.cast(pl.Float64)
    plain = pl.when(number.is_not_null()).then(number.cast(pl.String)).otherwise(word)
    return rows.with_columns(words=pl.col("words").list.eval(plain))


def _block(names: str, rows: pl.DataFrame, found: Found, state: State) -> None:
    """Read a line of AIX -D: its columns are named `xfer %tm_act`, `queue avgtime`; the device stands above."""
    part, *heads = names.replace(":", "", 1).split(" ")
    mine = _without_units(rows.with_columns(words=pl.concat_list("block_device", "words")))
    columns = [f"{part}_{h}" for h in heads]
    fill(mine, section("disk " + " ".join(columns)), found, state)
