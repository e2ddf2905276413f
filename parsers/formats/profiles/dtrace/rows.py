"""Turn the lines of DTrace's histograms and stacks into rows.

`shaped` has one row for each line that is not blank, with columns at (position), line_no, line, shape, after_blank, sample, t_local,
heading, title. `histograms` and `stacks` return the positions that they used.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from parsers.columns.stack_rows import KERNEL_MODULE, nested
from parsers.tables.rows import State, Tables
from parsers.text.notes import ELISION

HIST_HEAD = r"^[ \t]*value[ \t]+-+ Distribution -+[ \t]+count$"
BUCKET = r"^[ \t]*(<|>=)?[ \t]*(-?[0-9]+)[ \t]*\|[ \t]?(@*)[ \t]*([0-9]*)$"
SECONDS = {
    **dict.fromkeys(("ns", "nsec"), 1e-9),
    **dict.fromkeys(("us", "usec"), 1e-6),
    **dict.fromkeys(("ms", "msec"), 1e-3),
    **dict.fromkeys(("s", "sec"), 1.0),
    **dict.fromkeys(("m", "min"), 60.0),
    **dict.fromkeys(("h", "hour"), 3600.0),
}
KEYS = 2000
"""Maximum number of keys remembered within one printing; a repeated key shows where the next aggregation begins."""


def histograms(shaped: pl.DataFrame, out: Tables, state: State) -> set[int]:
    """Write `hist`, one row for each bucket; buckets without a heading (the first lines are missing) have no key."""
    shape = shaped["shape"].to_numpy()
    buckets = np.flatnonzero(shape == "bucket")
    heads = np.flatnonzero(shape == "hist")
    if not len(buckets) and not len(heads):
        return set()
    # A histogram begins at its head, or where buckets start again.
    loose = [int(i) for i in buckets if i == 0 or shape[i - 1] not in ("bucket", "hist")]
    starts = np.array(sorted({*heads.tolist(), *loose}))
    used, rows = set(buckets.tolist()) | set(heads.tolist()), []
    for number, start in enumerate(starts.tolist()):
        end = start + int(shape[start] == "hist")
        while end < len(shape) and shape[end] == "bucket":
            end += 1
        key, key_at = None, start - 1
        if shape[start] == "hist" and key_at >= 0 and shape[key_at] in ("scalar", "text", "number", "heading", "title"):
            key = shaped["line"].item(key_at).strip()
            used.add(key_at)
        elif shape[start] == "hist" and key_at >= 0 and shape[key_at] == "frame":
            first = key_at
            while first and shape[first - 1] == "frame":
                first -= 1
            key = shaped["line"].item(first).strip()
        rows.append(
            (
                number,
                start,
                end,
                key,
                key_at if key_at in used else start,
                _agg(key, shaped.row(start, named=True), state),
            )
        )
    groups = pl.DataFrame(
        rows,
        schema=["group", "start", "end", "key", "key_at", "agg"],
        orient="row",
        schema_overrides={"key": pl.String},
    )
    groups = groups.with_columns(key_line=shaped["line_no"].gather(groups["key_at"]))
    _begun(groups, shaped, out)
    owner = np.searchsorted(starts, buckets, side="right") - 1
    cells = shaped[buckets.tolist()].with_columns(group=pl.Series(owner, dtype=pl.Int64))
    names = ["sign", "label", "bar", "count"]
    cells = cells.with_columns(pl.col("line").str.extract_groups(BUCKET).struct.rename_fields(names).alias("g")).unnest(
        "g"
    )
    cut = cells.filter(pl.col("count") == "")
    out.account("damaged", cut["line_no"])
    cells = cells.filter(pl.col("count") != "").join(groups, on="group", how="left", maintain_order="left")
    label = pl.col("label").cast(pl.Float64)
    following = label.shift(-1).over("group")
    before = label.shift(1).over("group")
    # Only lquantize prints `< 0`.
    power = (pl.col("label").str.strip_chars_start("-").cast(pl.UInt64, strict=False).bitwise_count_ones() <= 1) & (
        pl.col("sign") == ""
    )
    power = power.all().over("group")
    mirrored = power & (label < 0)
    step = (
        pl.when(power & (label > 0))
        .then(label * 2)
        .when(power & (label == 0))
        .then(1.0)
        .otherwise(label + (label - before))
    )
    lo = pl.when(pl.col("sign") == "<").then(None).when(mirrored).then(label * 2).otherwise(label)
    hi = pl.when(pl.col("sign") == "<").then(label).when(pl.col("sign") == ">=").then(None).when(mirrored).then(label)
    ends = hi.otherwise(pl.coalesce(following, step))
    ended = ((pl.col("count").last() == "0") | (pl.col("sign").last() == ">=").fill_null(False)).over("group")
    missing = pl.col("group").is_in(cut["group"].implode())
    key = pl.col("key")
    out.add(
        "hist",
        # The first bucket's row begins at the key, so that the two stay together.
        cells.select(
            "t_local",
            "agg",
            line_no=pl.when(pl.int_range(pl.len()).over("group") == 0).then("key_line").otherwise("line_no"),
            line_end="line_no",
            key1=pl.coalesce(key.str.extract(r"^(\S.*?)[ \t]+-?[0-9]+$", 1), key),
            key2=key.str.extract(r"^\S.*?[ \t]+(-?[0-9]+)$", 1),
            lo=lo,
            # Below a missing bucket the next label belongs to a later one, or there is none above this value.
            hi=pl.when((ends > lo) | lo.is_null() | ends.is_null()).then(ends),
            unit=pl.coalesce(_unit("heading"), _unit("title"), _unit("key"), pl.lit("unknown")),
            n=pl.col("count").cast(pl.Float64),
            tick_s=tick_seconds(pl.col("tick")),
            complete=ended & ~missing,
        ),
    )
    out.read(shaped[sorted(used - set(buckets.tolist()))]["line_no"])
    return used


def without_strangers(shaped: pl.DataFrame) -> pl.DataFrame:
    """Remove lines of another writer.

    These are lines between the buckets of one histogram, which DTrace prints without interruption, and lines of as many words (eight or
    more) elsewhere.
    """
    shape, blank = pl.col("shape"), pl.col("after_blank").fill_null(False)
    within = shape.shift(1).is_in(["bucket", "hist"]) & (shape.shift(-1) == "bucket") & ~blank & ~blank.shift(-1)
    other = shape.is_in(["scalar", "text", "number"]) & ~pl.col("line").str.contains("|", literal=True)
    strange = shaped.select(within & other).to_series().fill_null(False)
    if not strange.any():
        return shaped
    words = shaped.select(pl.col("line").str.count_matches(r"\S+"))["line"]
    alike = words.is_in(words.filter(strange & (words >= 8)).implode()) & shaped["shape"].is_in(["scalar", "text"])
    return shaped.filter(~(strange | alike)).drop("at").with_row_index("at")


def _begun(groups: pl.DataFrame, shaped: pl.DataFrame, out: Tables) -> None:
    """Note that the first key may be cut, if its first word is only the end of another key's first word."""
    words = [str(key).split()[0] if key else "" for key in groups["key"]]
    first, others = words[0], set(words[1:])
    if not first or groups["key_line"][0] != 1 or first in others:
        return
    longer = sorted(word for word in others if word.endswith(first))
    if longer:
        last = int(shaped["line_no"].item(int(groups["end"][0]) - 1))
        out.note(1, last, "damaged", f"may begin within a line: the key {first!r} is the end of {longer[0]!r}")


def tick_seconds(text: pl.Expr) -> pl.Expr:
    """Return the seconds between two firings of `tick-5s`, from the text after its dash; without a suffix it is a rate in Hz."""
    parts = text.str.extract_groups(r"^([0-9]+)([a-z]*)$")
    number, unit = parts.struct.field("1").cast(pl.Float64), parts.struct.field("2")
    scale = unit.replace_strict(SECONDS, default=None, return_dtype=pl.Float64)
    return pl.when(unit.is_in(["", "hz"]) & (number > 0)).then(1 / number).otherwise(number * scale)


def _unit(column: str) -> pl.Expr:
    return (
        pl.col(column)
        .str.extract(r"\(?\b(ns|us|ms|nanoseconds|microseconds|milliseconds|bytes|KB)\b\)?", 1)
        .replace({"nanoseconds": "ns", "microseconds": "us", "milliseconds": "ms"})
    )


def _agg(key: str | None, row: dict[str, object], state: State) -> str:
    """Return the aggregation's name: its heading, or its number in this printing; a repeated key begins the next one."""
    place = [row["sample"], row["title"]]
    if state.get("place") != place:
        state["place"], state["agg"], state["keys"] = place, 1, []
    if key in state["keys"]:
        state["agg"], state["keys"] = state["agg"] + 1, []
    if len(state["keys"]) < KEYS:
        state["keys"].append(key)
    title = row["title"] or row["heading"]
    return f"{title} {state['agg']}" if title and state["agg"] > 1 else str(title or state["agg"])


def stacks(shaped: pl.DataFrame, out: Tables, state: State) -> set[int]:
    """Write `profile_stacks`: one stack frame on each line, innermost first, the value on the line after the last frame."""
    shape = shaped["shape"].to_numpy()
    is_frame = shape == "frame"
    at = np.flatnonzero(is_frame)
    if not len(at):
        return set()
    blank = shaped["after_blank"].fill_null(False).to_numpy()
    # A stack begins after any line that is not a stack frame; a blank line among frames ends a stack without a value.
    begins = is_frame & ~(np.concatenate([[False], is_frame[:-1]]) & ~blank)
    starts = np.flatnonzero(begins)
    owner = np.cumsum(begins)[at] - 1
    ends = np.concatenate([at[np.flatnonzero(np.diff(owner))], at[-1:]])
    behind = np.minimum(ends + 1, len(shape) - 1)
    valued = (ends + 1 < len(shape)) & np.isin(shape[behind], ["number", "scalar"]) & ~blank[behind]
    before = np.maximum(starts - 1, 0)
    keyed = (starts > 0) & np.isin(shape[before], ["scalar", "text"]) & ~blank[starts]
    # The value of one stack is not the key of the next; neither is a mark of elision.
    keyed &= ~shaped["line"].str.contains(ELISION).to_numpy()[before]
    keyed &= ~np.isin(before, behind[valued])
    text = shaped["line"].str.strip_chars()
    rows = shaped[starts.tolist()].select("line_no", "t_local", "heading", "after_blank")
    values, keys = text.gather(behind), text.gather(before)
    texts = text.gather(at)
    rows = rows.with_columns(
        line_end=shaped["line_no"].gather(np.where(valued, behind, ends)),
        frames=nested(texts, pl.Series(owner), len(starts)),
        value=pl.when(pl.Series(valued)).then(values.str.extract(r"(-?[0-9]+)$", 1)),
        key=pl.when(pl.Series(keyed))
        .then(keys)
        .when(pl.Series(valued))
        .then(values.str.extract(r"^(\S.*?)[ \t]+-?[0-9]+$", 1)),
        key_line=pl.when(pl.Series(keyed)).then(shaped["line_no"].gather(before)),
    )
    opens = pl.col("line_no") == 1
    module = pl.col("frames").list.last()
    kernel = pl.when(
        pl.col("frames").list.first().str.contains(KERNEL_MODULE) | module.str.contains(r"^(?:unix|genunix)`")
    )
    out.add(
        "profile_stacks",
        rows.select(
            "t_local",
            "line_end",
            "frames",
            line_no=pl.coalesce("key_line", "line_no"),
            weight=pl.col("value").cast(pl.Float64),
            unit=pl.coalesce(_unit("heading"), pl.lit("count")),
            comm=pl.col("key").str.extract(r"^([^ \t0-9]\S*)", 1),
            pid=pl.col("key").str.extract(r"(?:^|[ \t])([0-9]{1,8})$", 1).cast(pl.Int64, strict=False),
            leaf=pl.col("frames").list.first(),
            kernel=kernel.then(True).when(module.str.contains(r"\.so|`(?:_?start|main)|^0x")).then(False),
            complete=pl.when(pl.col("value").is_null())
            .then(False)
            .when(opens & pl.col("key_line").is_null())
            .then(None)
            .otherwise(True),
        ),
    )
    return set(at.tolist()) | set(behind[valued].tolist()) | set(before[keyed].tolist())
