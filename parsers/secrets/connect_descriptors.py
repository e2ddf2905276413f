"""Parse and mask connect descriptors of Oracle Net.

    (DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=..)(PORT=..))(CONNECT_DATA=..))

Shared by all formats that print them: traces, sqlnet.log, trcasst reports, listener logs. Keywords come in any case,
blanks may stand around the equals sign, and the order of keywords inside one bracket is free.

Traps: `SERVICE=` is the name of a listener in an lsnrctl command, not a database service; `PROGRAM=` also stands in
bequeath addresses, where it is what the listener will start, so only a PROGRAM beside `CID` or `USER` is the caller; a
PROGRAM may hold brackets itself (`C:\\Program Files (x86)\\..`); the HOST inside `CID` is the caller's own name, not
the peer.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.secrets.masks import mask_text

_SERVICE = r"(?i)\(SERVICE_NAME *= *([^()]*[^() ])"
_SID = r"(?i)\(SID *= *([^()]*[^() ])"
_PROGRAM = r"(?i)\((?:CID *= *\()?PROGRAM *= *(.*?) *\) *\((?:HOST|USER) *="
_BEQUEATH_PROGRAM = r"(?i)PROTOCOL *= *BEQ"
_HOST = r"(?i)\(PROTOCOL *= *TCPS? *\)[^/]*?\(HOST *= *([0-9a-fA-F.:]+) *\)"
_PORT = r"(?i)\(PORT *= *[0-9]+ *\)"
_ERR = r"(?i)\(ERR *= *([1-9][0-9]*) *\)"

_SECRET = re.compile(
    r"\((?P<key>USER|PASSWORD|WALLET_LOCATION|MY_WALLET_DIRECTORY|DIRECTORY) *= *(?P<value>[^()\s][^()]*)"
    r"|(?:^|[\s=\"'])(?P<login>[\w$#.]+/[^\s/@\"']+)@(?=[\w/(])"
    r"|(?:oradiag_|clients/user_)(?P<name>[^/\s_]+)",
    re.IGNORECASE,
)
_LOOKS_SECRET = r"(?i)\((?:USER|PASSWORD|WALLET_LOCATION|MY_WALLET_DIRECTORY|DIRECTORY) *=|@|oradiag_|clients/user_"


def service(text: pl.Expr) -> pl.Expr:
    """Extract the database service that a descriptor asks for, else its SID; NULL for lsnrctl commands."""
    return pl.coalesce(text.str.extract(_SERVICE), text.str.extract(_SID))


def program(text: pl.Expr) -> pl.Expr:
    """Extract the name of the calling program.

    NULL if it is empty (lsnrctl) or names what a bequeath address starts.
    """
    named = text.str.extract(_PROGRAM)
    return pl.when((named != "") & ~text.str.contains(_BEQUEATH_PROGRAM)).then(named)


def peer_ip(text: pl.Expr) -> pl.Expr:
    """Extract the numeric address of a descriptor.

    NULL for host names, and for several different addresses, because it is unknown which one was called.
    """
    return _only(text.str.replace_all(r"(?i)\(CID *= *\(.*?\)\)", "").str.extract_all(_HOST), r"([0-9a-fA-F.:]+) *\)$")


def peer_port(text: pl.Expr) -> pl.Expr:
    """Extract the port of a descriptor's address as Int64; NULL if there are different ports."""
    return _only(text.str.extract_all(_PORT), "([0-9]+)").cast(pl.Int64, strict=False)


def error(text: pl.Expr) -> pl.Expr:
    """Extract the code of `(ERR=12514)` as Int64; `(ERR=0)` is success and gives NULL."""
    return text.str.extract(_ERR).cast(pl.Int64, strict=False)


def _only(found: pl.Expr, pattern: str) -> pl.Expr:
    values = found.list.eval(pl.element().str.extract(pattern)).list.unique()
    return pl.when(values.list.len() == 1).then(values.list.first())


def looks_secret(text: pl.Expr) -> pl.Expr:
    """Return a mask of texts that `secret_spans` must search.

    It is cheap, and true for every text in which `secret_spans` finds something.
    """
    return (
        pl.when(text.str.contains_any(["(", "@", "oradiag_", "clients/user_"]))
        .then(text)
        .str.contains(_LOOKS_SECRET)
        .fill_null(False)
    )


def secret_spans(text: str) -> list[tuple[int, int, str]]:
    """Return the secrets of a text as half-open character ranges with kinds, ascending.

    Secrets are accounts, passwords, wallet paths and `user/password@`.

    >>> secret_spans("(CID=(PROGRAM=sqlplus)(USER=scott))")
    [(28, 33, 'user')]
    >>> secret_spans("connect scott/tiger@db1")
    [(8, 19, 'password')]
    """
    spans = []
    for found in _SECRET.finditer(text):
        group = found.lastgroup if found.lastgroup != "value" else "value"
        kind = {"login": "password", "name": "user"}.get(str(group), "")
        if group == "value":
            key = found["key"].upper()
            kind = {"USER": "user", "PASSWORD": "password"}.get(key, "wallet")
        spans.append((found.start(str(group)), found.end(str(group)), kind))
    return spans


def masked(text: str) -> str:
    """Return the text with asterisks over each secret; keywords and brackets stay.

    >>> masked("(CID=(PROGRAM=sqlplus)(USER=scott))")
    '(CID=(PROGRAM=sqlplus)(USER=*****))'
    """
    return mask_text(text, [(start, end) for start, end, _ in secret_spans(text)])


def wrapped_spans(lines: list[tuple[int, str]]) -> list[tuple[int, int, int, str]]:
    """Return the secrets in lines that were one text before they were wrapped, even inside words: (line, from, to,
    kind).
    """
    whole = ""
    at: list[tuple[int, int, int, int]] = []
    for line_no, line in lines:
        begin = len(line) - len(line.lstrip()) if at else 0
        at.append((len(whole), line_no, begin, len(line) - begin))
        whole += line[begin:]
    return [
        (line_no, begin + max(a - offset, 0), begin + min(b - offset, size), kind)
        for a, b, kind in secret_spans(whole)
        for offset, line_no, begin, size in at
        if a < offset + size and b > offset
    ]


def places(spans: list[tuple[int, int, int, str]]) -> pl.DataFrame:
    """Return secrets as the data frame that `Tables.secrets` takes: line_no, from, to, kind."""
    return pl.DataFrame(
        spans, schema={"line_no": pl.Int64, "from": pl.Int64, "to": pl.Int64, "kind": pl.String}, orient="row"
    )


def secret_columns(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the places of all secrets in `lines` (line_no, line), each line searched separately."""
    seen = lines.filter(looks_secret(pl.col("line"))).select_seq("line_no", "line")
    return places([(n, a, b, kind) for n, line in seen.iter_rows() for a, b, kind in secret_spans(line)])


_USER = r"(?i)\(USER *="
_STARS = "*" * 200
_OTHER_KEYS = r"(?i)\(password|directory|wallet_|oradiag_|clients/user_"


def mask_lines(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Mask the secrets of whole lines (line_no, line); return the masked lines and the places, as `secret_columns`
    does.

    Works on columns if a line's only secret is one `(USER=name)`, as in each entry of a listener's log; other lines are
    searched one by one.
    """
    line = pl.col("line")
    # Two separate tests: a single pattern for both cannot use the literal search and costs three times as much.
    seen = lines.select_seq(
        "line_no",
        "line",
        users=line.str.count_matches(_USER),
        other=line.str.contains("@", literal=True) | line.str.contains(_OTHER_KEYS),
    ).with_row_index("at")
    seen = seen.filter((pl.col("users") > 0) | pl.col("other"))
    if seen.is_empty():
        return lines, places([])
    # Byte positions equal character positions in ASCII lines only.
    seen = seen.with_columns_seq(begin=line.str.find("(USER=", literal=True) + 6)
    tail = line.str.slice("begin", len(_STARS))
    seen = seen.with_columns_seq(size=tail.str.find(r"[()]"), blank=tail.str.contains(r"^\s"))
    ascii_only = line.str.len_bytes() == line.str.len_chars()
    alone = (pl.col("users") == 1) & ~pl.col("other") & ascii_only
    # `(USER=)` is empty; a blank in front and a very long name are rare and go line by line.
    one = (alone & pl.col("size").is_not_null() & ~pl.col("blank")).fill_null(False)
    rest = seen.filter(~one)
    found = seen.filter(one & (pl.col("size") > 0))
    end = pl.col("begin") + pl.col("size")
    done = found.select_seq(
        "at", masked=line.str.slice(0, "begin") + pl.lit(_STARS).str.slice(0, "size") + line.str.slice(end)
    )
    texts = {text: masked(text) for text in rest["line"].unique()}
    if texts:
        done = pl.concat([done, rest.select_seq("at", masked=line.replace(texts))])
    spots = found.select_seq(
        "line_no",
        pl.col("begin").cast(pl.Int64, strict=False).alias("from"),
        end.cast(pl.Int64, strict=False).alias("to"),
        kind=pl.lit("user"),
    )
    spots = pl.concat([spots, secret_columns(rest)]).sort("line_no", maintain_order=True)
    return lines.with_columns_seq(line=lines["line"].scatter(done["at"], done["masked"])), spots
