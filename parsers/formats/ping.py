r"""ping and fping: round trips one by one.

Tools: ping of Linux (iputils, also `-D` with stamps), Solaris (`ping -s`), AIX, HP-UX, BSD, macOS, Windows; fping. Capture:
`ping -D -c 60 HOST`, Solaris `ping -s HOST 56 60`.

Samples::

    PING db1 (192.0.2.7) 56(84) bytes of data.
    [1598877345.123456] 64 bytes from db1 (192.0.2.7): icmp_seq=1 ttl=64 time=0.231 ms
    64 bytes from db1 (192.0.2.7): icmp_seq=0. time=0.531 ms
    Reply from 192.0.2.7: bytes=32 time<1ms TTL=128
    db1 : [0], 84 bytes, 0.42 ms (0.42 avg, 0% loss)
    Request timeout for icmp_seq 3
    60 packets transmitted, 59 received, 1% packet loss, time 59081ms

Tables: conn_times, series `ping`, one row per answer or per failure that is printed. Clock: wall-utc with `-D`, else
none: the spacing is what the caller chose. Traps: `time<1ms` is an upper bound (elapsed_s 0.001, noted once); a hole in
icmp_seq is an answer that never came and makes the next row `broken`; decimal commas by locale; a second answer to the same
request (`DUP!`) is kept as a row with ok false. Known gaps: flood ping's dots, traceroute.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.registry import Claim, Format
from parsers.rewrap import PASTE, rejoin
from parsers.source import Head, Source
from parsers.tables import Domain, State, Tables, line_span
from parsers.times import WALL_BASE, span_s

ANSWER = (
    r"^[ \t]*(?:\[([0-9]{10}\.[0-9]+)\] )?(?:[0-9]+ bytes from [^:]+(?:: ?)|Reply from [^ ]+: bytes=[0-9]+ |Antwort von [^ ]+: Bytes=[0-9]+ )"
    r"(?:icmp_seq[=:]([0-9]+)\.? ?)?(?:ttl=[0-9]+ )?(?:time|Zeit|temps|tiempo)([=<])([0-9.,]+) ?(ms|msec|usec|us|s)?"
)
FPING = r"^([^ ]+) +: \[([0-9]+)\], (?:[0-9]+ bytes, ([0-9.]+) ms|timed out)"
FAILURE = (
    r"(?i)^[ \t]*(?:\[[0-9.]+\] )?(?:From [^ ]+ ?.*?icmp_seq=([0-9]+) (.*(?:Unreachable|exceeded|filtered).*)"
    r"|(?:Request timeout for icmp_seq|no answer yet for icmp_seq=) ?([0-9]+)"
    r"|(Request timed out\.?|Zeitüberschreitung der Anforderung\.?|no answer from .*|Destination host unreachable\.?))"
)
DETAIL = (
    r"(?i)^[ \t]*(?:PING |Pinging |Ping wird ausgeführt|--- .* ---$|----.*PING Statistics----$|ping statistics for|[0-9]+ packets transmitted"
    r"|(?:rtt|round-trip)[ \t(].*|Packets: Sent|Approximate round|Minimum ?=|.* is alive$|[^ ]+ : xmt/rcv)"
)
_BEGINS = (
    r"(?i)^[ \t]*(?:\[[0-9]{10}\.[0-9]+\] )?(?:[0-9]+ bytes from |(?:Reply|Antwort) (?:from|von) |[^ ]+ +: (?:\[|xmt)|From [^ ]+ |(?:rtt|round-trip)[ \t(]"
    r"|Request |Zeitüberschreitung|no answer |Destination |PING |Ping|-{3,4}|[0-9]+ packets|Packets:|Approximate|Minimum|Statist)|is alive$"
)
"""How lines of ping begin, whole or broken."""
UNITS = {"s": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6}

FORMAT = Format(
    kind="ping",
    variant="ping",
    version="1",
    systems=("linux", "solaris", "aix", "hpux", "bsd", "macos", "windows"),
    tables=("conn_times",),
    man="ping(8)",
    example="ping -D -c 60 HOST",
    clocks=("none", "wall-utc"),
    own=f"{ANSWER}|{FPING}|{FAILURE}|{DETAIL}",
)


def claim(head: Head) -> Claim | None:
    """Most lines are answers, or a few stand under the banner."""
    if not re.search(r"icmp_seq|bytes=|Bytes=|is alive|: \[[0-9]+\], ", head.text):
        return None
    lines = [x for x in head.lines if x]
    answers = sum(bool(re.match(ANSWER, x) or re.match(FPING, x)) for x in lines)
    others = sum(bool(re.match(FAILURE, x) or re.match(DETAIL, x)) for x in lines)
    if not answers + others or (answers + others) * 2 < len(lines):
        return None
    return Claim((answers + others) / len(lines), f"{answers} answers to pings in {len(lines)} lines")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read answers and failures; the state keeps the position and the last icmp_seq."""
    for frame in source.frames(PASTE):
        names = ["stamp", "seq_no", "sign", "time", "unit"]
        line = pl.col("line")
        rows = (
            rejoin(frame, source, out, _BEGINS)
            .with_columns(
                line.str.extract_groups(ANSWER).struct.rename_fields(names).alias("a"),
                line.str.extract_groups(FPING).struct.rename_fields(["host", "fp_seq", "fp_ms"]).alias("f"),
                line.str.extract_groups(FAILURE).struct.rename_fields(["bad1", "why", "bad2", "bad"]).alias("b"),
            )
            .unnest("a", "f", "b")
        )
        out.read(rows.filter(line.str.contains(DETAIL))["line_no"])
        failed = pl.coalesce("bad1", "bad2", "bad").is_not_null() | (
            pl.col("host").is_not_null() & pl.col("fp_ms").is_null()
        )
        rows = rows.filter(pl.col("time").is_not_null() | pl.col("host").is_not_null() | failed)
        if rows.is_empty():
            continue
        factor = pl.col("unit").replace_strict(UNITS, default=1e-3, return_dtype=pl.Float64)
        number = pl.col("time").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False) * factor
        before = state.get("icmp_seq")
        rows = rows.with_columns(
            elapsed_s=pl.coalesce(number, pl.col("fp_ms").cast(pl.Float64) / 1000),
            icmp=pl.coalesce("seq_no", "bad1", "bad2", "fp_seq").cast(pl.Int64),
            t_local=pl.col("stamp").cast(pl.Float64),
            ok=~failed & ~line.str.contains(r"DUP!"),
            err=pl.when(failed).then(pl.coalesce(pl.col("why"), pl.lit("timed out"))),
            seq=pl.int_range(pl.len()) + 1 + state.get("seq", 0),
        )
        last = pl.col("icmp").shift(1).fill_null(pl.lit(before, pl.Int64))
        # The number wraps at 65536; a fresh ping begins at 0 or 1 again.
        hole = (pl.col("icmp") > last + 1) & last.is_not_null()
        rows = rows.with_columns(
            contiguous=pl.when(hole)
            .then(pl.lit("broken"))
            .when(pl.col("icmp").is_not_null())
            .then(pl.lit("proven"))
            .otherwise(pl.lit("assumed"))
        )
        unread = rows.filter(pl.col("ok") & pl.col("elapsed_s").is_null())
        rows = rows.filter(~pl.col("ok") | pl.col("elapsed_s").is_not_null())
        out.notes(unread.select("line_no", kind=pl.lit("unknown"), text="time cannot be read: " + line))
        bound = rows.filter(pl.col("sign") == "<")
        if len(bound) and not state.get("bound_said"):
            first = int(bound["line_no"][0])
            out.note(first, first, "remark", "`time<1ms` is an upper bound, kept as 0.001 s")
            state["bound_said"] = True
        out.add(
            "conn_times",
            rows.select(
                "line_no", "line_end", "t_local", "seq", "elapsed_s", "ok", "err", "contiguous", series=pl.lit("ping")
            ),
        )
        if len(rows):
            state["seq"] = int(rows["seq"][-1])
            numbers = rows["icmp"].drop_nulls()
            state["icmp_seq"] = int(numbers[-1]) if len(numbers) else before
        begin, end = span_s(rows["t_local"])
        if begin is not None:
            lines = [line_span(frame)]
            out.domain(Domain(1, "wall-utc", WALL_BASE, "UTC", begin, end, lines, stamps="end"))
    return state
