"""Read messages of Oracle's log.xml, of listener, database and clusterware: elements without a root, split at `<msg` and `</msg>`.

    <msg time='2019-05-19T17:53:28.124+08:00' org_id='oracle' comp_id='tnslsnr'
     type='UNKNOWN' level='16' host_id='oracledb'
     host_addr='127.0.0.1'>
     <txt>19-MAY-2019 17:53:28 * service_register * XE * 0
     </txt>
    </msg>

A paste may begin inside an element, have lost all lines except `<txt>` (grep), have `-- ` in front of each line (SQL*Plus), or
break the text inside a descriptor. An element whose text lost its end tag ends where the next element begins.
"""

from __future__ import annotations

import polars as pl

from parsers.tables.rows import Tables

TAG = r"^\s*(?:-- )?\s*(?:<msg |</?txt>|</msg>)|^\s*(?:-- )?\s*(?:[a-z_]+='[^'<>]*'(?:\s|>|$))+"
_OPENS = r"^\s*<msg\b"
_TEXT = r"(?s)<txt>\s*(.*?)\s*(?:</txt>|</msg>|$)"
_ERROR = r"[ \t]*(?:(?:TNS|ORA|NL|NNL|NNO|NZE)-[0-9]{5}: |[A-Za-z0-9/ -]{3,40} Error: [0-9]+:)"
STACK = f"^{_ERROR}"
"""An error of the stack below a message: each stands on a separate line."""
_APART = "\x1e"
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&"))


def unfold(lines: pl.DataFrame, *, complete: bool) -> tuple[pl.DataFrame, int | None]:
    """Return one row for each message in `lines` (line_no, line): line_no, line_end, line (its text), time, pid, level, type, comp.

    The lines of the text are separated by "\\n". The second value is the first line of an element that has no end yet; it is None
    if `complete` is true, and then that element is returned as it is.
    """
    line = pl.col("line")
    tagged = lines.with_columns(line=line.str.replace(r"^\s*--(?: |$)", "")).with_columns(
        opens=line.str.contains(_OPENS),
        text=line.str.contains("<txt>", literal=True),
        ends=line.str.contains("</msg>", literal=True),
    )
    # A text begins a new message if no <msg stands between it and the text before.
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


def lines_of(text: pl.Expr) -> pl.Expr:
    """Return the lines of a listener's message: one, and one for each error of the stack below it."""
    apart = text.str.replace_all(f"\n({_ERROR})", f"{_APART}$1").str.replace_all("\n", "", literal=True)
    return apart.str.split(_APART)


def joined_texts(lines: pl.DataFrame, out: Tables) -> tuple[pl.DataFrame, list[int]]:
    """Join the lines of broken texts, because each message of a listener is one line.

    Returns line_no and line, and the first line numbers of the texts that were joined.
    """
    line = pl.col("line")
    begins, ends = line.str.contains("<txt>", literal=True), line.str.contains("</txt>|</?msg\\b")
    within = pl.when(ends).then(False).when(begins).then(True).forward_fill().fill_null(False)
    goes_on = lines.select(
        within & ~begins & ~line.str.contains(TAG) & ~line.str.contains(STACK) & (line != "")
    ).to_series()
    if not goes_on.any():
        return lines, []
    texts: list[list[tuple[int, str]]] = []
    for (number, text), more in zip(lines.iter_rows(), goes_on, strict=True):
        if more and texts:
            texts[-1].append((number, text))
        else:
            texts.append([(number, text)])
    rows = []
    for pieces in texts:
        whole, starts = "", []
        for _, text in pieces:
            # Restore the blank that a break took away between fields; all other breaks were within words.
            blank = bool(whole) and (whole.endswith("*") or text.lstrip().startswith("*"))
            whole = f"{whole.rstrip()} " if blank else whole
            text = text.lstrip() if whole else text
            starts.append(len(whole))
            whole += text
        if len(pieces) > 1:
            out.joined_lines([(n, t, at) for (n, t), at in zip(pieces, starts, strict=True)], whole)
        rows.append((pieces[0][0], whole))
    torn = [pieces[0][0] for pieces in texts if len(pieces) > 1]
    return pl.DataFrame(rows, schema={"line_no": pl.Int64, "line": pl.String}, orient="row"), torn


def _attribute(name: str) -> pl.Expr:
    return pl.col("whole").str.extract(rf"\s{name}='([^'<>]*)'")
