"""Messages of Oracle's log.xml: elements without a root, cut at `<msg` and `</msg>`; listener, database and clusterware.

    <msg time='2019-05-19T17:53:28.124+08:00' org_id='oracle' comp_id='tnslsnr'
     type='UNKNOWN' level='16' host_id='oracledb'
     host_addr='127.0.0.1'>
     <txt>19-MAY-2019 17:53:28 * service_register * XE * 0
     </txt>
    </msg>

A paste may begin inside an element, have lost all but the `<txt>` lines (grep), carry `-- ` in front of each line (SQL*Plus), or
break the text inside a descriptor. An element whose text lost its end ends where the next one begins.
"""

from __future__ import annotations

import polars as pl

TAG = r"^\s*(?:-- )?\s*(?:<msg |</?txt>|</msg>)|^\s*(?:-- )?\s*(?:[a-z_]+='[^'<>]*'(?:\s|>|$))+"
_OPENS = r"^\s*<msg\b"
_TEXT = r"(?s)<txt>\s*(.*?)\s*(?:</txt>|</msg>|$)"
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&"))


def unfold(lines: pl.DataFrame, *, complete: bool) -> tuple[pl.DataFrame, int | None]:
    """Make one row per message from `lines` (line_no, line): line_no, line_end, line (its text), time, pid, level, type, comp.

    Lines of the text stay apart by "\\n". The second value is the line where an element begins that has no end yet (None if
    `complete`: then it is given as it is).
    """
    line = pl.col("line")
    tagged = lines.with_columns(line=line.str.replace(r"^\s*--(?: |$)", "")).with_columns(
        opens=line.str.contains(_OPENS),
        text=line.str.contains("<txt>", literal=True),
        ends=line.str.contains("</msg>", literal=True),
    )
    # A text opens a message of its own where no <msg stands between it and the text before.
    turns = tagged.filter(pl.col("opens") | "text").with_columns(
        alone=~pl.col("opens") & pl.col("text").shift(fill_value=True)
    )
    starts = turns.filter(pl.col("opens") | "alone")["line_no"]
    tagged = tagged.with_columns(message=pl.col("line_no").is_in(starts.implode()).cum_sum())
    grouped = tagged.filter(pl.col("message") > 0).group_by("message", maintain_order=True).agg(
        "line_no", pl.col("line"), ended=pl.col("ends").any(), last=pl.col("line_no").filter(pl.col("ends")).max()
    )  # fmt: skip
    open_at = None
    if not complete and len(grouped) and not grouped["ended"][-1]:
        open_at = int(grouped["line_no"][-1][0])
        grouped = grouped.head(-1)
    whole = pl.col("line").list.join("\n")
    grouped = grouped.with_columns(whole=whole)
    text = pl.col("whole").str.extract(_TEXT)
    for entity, sign in _ENTITIES:
        text = text.str.replace_all(entity, sign, literal=True)
    rows = grouped.select(
        line_no=pl.col("line_no").list.first(), line_end=pl.coalesce("last", pl.col("line_no").list.last()),
        line=text, time=_attribute("time"), pid=_attribute("pid").cast(pl.Int64, strict=False), level=_attribute("level"),
        type=_attribute("type"), comp=_attribute("comp_id"),
    )  # fmt: skip
    return rows.filter(pl.col("line").is_not_null() | pl.col("time").is_not_null()), open_at


def _attribute(name: str) -> pl.Expr:
    return pl.col("whole").str.extract(rf"\s{name}='([^'<>]*)'")
