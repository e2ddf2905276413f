"""Read XML of sysstat (sadf -x), one element on each line, as the pairs that its JSON gives, so that one reader fills the tables.

    <timestamp date="2020-02-25" time="09:10:01" utc="1" interval="600">
        <cpu-load>
            <cpu number="all" user="2.15" nice="0.00" system="2.36" iowait="0.12" steal="0.00" idle="82.88"/>
        <memory unit="kB">
            <memfree>14254028</memfree>

The attributes of an element are one object, and so are the elements with a text inside one container. This is not an XML parser:
there are no entities and no outside documents, and a paste from the middle is read as far as it goes.
"""

from __future__ import annotations

import polars as pl

from parsers.columns import grid
from parsers.formats.sampling.shared import sysstat_json
from parsers.formats.sampling.shared.section_rows import Found
from parsers.tables.rows import State, Tables
from parsers.text.source import Source

LINE = r"^[ \t]*<(?:/?[a-z][a-z0-9-]*[ >/]|\?xml |!DOCTYPE sysstat|sysstat$)"
_BY_PARENT = ("cpu", "disk-device", "tape", "tty", "irq", "cpufreq", "fan", "temp", "in", "usb", "fchost", "net-nfs")
"""Elements whose section is named by the container they stand in; all others name their section, as in the JSON."""


def looks(frame: pl.DataFrame) -> bool:
    """Decide whether a text is output of sadf -x, from its beginning or from the middle."""
    head = "\n".join(frame["line"].head(60).to_list())
    return "<sysstat" in head or ("<timestamp date=" in head and ' time="' in head)


def read(frame: pl.DataFrame, source: Source, found: Found, out: Tables, state: State) -> None:
    """Read the lines of a block; lines of an open container wait in `state["xml_held"]`."""
    held = pl.DataFrame(state.pop("xml_held", []), schema={"line_no": pl.Int64, "line": pl.String}, orient="row")
    line = pl.col("line").str.strip_chars(" \t")
    out.read(frame.filter(pl.col("line").str.contains(LINE) | line.str.contains(r'^(?:xmlns|xsi|"http)'))["line_no"])
    lines = pl.concat([held, frame.select("line_no", "line")]).with_columns(line=line)
    opens = line.str.contains(r"^<[a-z][^>]*[^/>]>$|^<[a-z]>$")
    tags = lines.with_columns(
        tag=line.str.extract(r"^<([a-z][a-z0-9-]*)"),
        opens=opens,
        closes=line.str.starts_with("</"),
        text=line.str.extract(r"^<[^>]*>([^<]+)</"),
    )
    if not grid.at_end(source):
        open_at = tags.filter("opens")["line_no"]
        last = int(open_at[-1]) if len(open_at) else None
        if last is not None and not tags.filter((pl.col("line_no") > last) & pl.col("closes")).is_empty():
            last = int(tags["line_no"][-1]) + 1
        if last is not None:
            state["xml_held"] = [
                list(x) for x in lines.filter(pl.col("line_no") >= last).select("line_no", "line").rows()
            ]
            tags = tags.filter(pl.col("line_no") < last)
    pairs = _pairs(tags, state)
    if not pairs.is_empty():
        sysstat_json.fill_tables(pairs, "sar", source, found, out, state)


def _pairs(tags: pl.DataFrame, state: State) -> pl.DataFrame:
    """Return the values: line_no, of (line of their element or container), section, sample, key, text."""
    old = state.get("xml_in", [None, None])
    opened = pl.when("opens")
    tags = tags.with_columns(
        parent=opened.then(pl.col("tag")).forward_fill().fill_null(pl.lit(old[0], pl.String)),
        parent_at=opened.then(pl.col("line_no")).forward_fill().fill_null(pl.lit(old[1], pl.Int64)),
        sample=(pl.col("tag") == "timestamp").fill_null(False).cum_sum().cast(pl.Int64, strict=False)
        + int(state.get("sample", 0)),
    )
    if len(tags):
        state["xml_in"] = [tags["parent"][-1], tags["parent_at"][-1]]
        state["sample"] = int(tags["sample"][-1])
    whole = pl.col("text").is_not_null()
    texts = tags.filter(whole & ~pl.col("line").str.contains('="', literal=True)).select(
        "line_no", of="parent_at", section="parent", sample="sample", key="tag", text="text"
    )
    named = pl.col("tag").is_in(_BY_PARENT) & ~pl.col("opens")
    attributes = tags.filter(pl.col("tag").is_not_null()).select(
        "line_no", of="line_no", section=pl.when(named).then("parent").otherwise("tag"), sample="sample",
        pair=pl.col("line").str.extract_all(r'[A-Za-z][A-Za-z0-9_-]*="[^"]*"'),
    )  # fmt: skip
    attributes = attributes.explode("pair").drop_nulls("pair")
    parts = pl.col("pair").str.splitn("=", 2).struct
    attributes = attributes.with_columns(
        key=parts.field("field_0"), text=parts.field("field_1").str.strip_chars('"')
    ).drop("pair")
    host = attributes.filter((pl.col("section") == "host") & (pl.col("key") == "nodename"))
    attributes = attributes.filter(
        ~pl.col("section").is_in(["host", "sysstat"]) & ~pl.col("key").is_in(["per", "unit"])
    )
    return (
        pl.concat([texts, host, attributes])
        .sort("line_no", maintain_order=True)
        .select("line_no", "of", "section", "sample", "key", "text")
    )
