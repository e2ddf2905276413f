r"""ping and fping: each round trip.

Tools: ping of Linux (iputils, also `-D` with stamps; busybox), Solaris (`ping -s`), AIX, HP-UX, BSD, macOS (ping6 too), Windows in any
language; fping, also -D. Capture: `ping -D -c 60 HOST`, Solaris `ping -s HOST 56 60`.

Samples::

    PING db1 (192.0.2.7) 56(84) bytes of data.
    [1598877345.123456] 64 bytes from db1 (192.0.2.7): icmp_seq=1 ttl=64 time=0.231 ms
    64 bytes from db1 (192.0.2.7): icmp_seq=0. time=0.531 ms
    64 bytes from fd00:db8:1::20: seq=0 ttl=64 time=5.523 ms
    88 bytes from 2a04:4e42:600::323, icmp_seq=0 hlim=59 time=26.292 ms
    Reply from 192.0.2.7: bytes=32 time<1ms TTL=128
    db1 : [0], 84 bytes, 0.42 ms (0.42 avg, 0% loss)
    Request timeout for icmp_seq 3
    60 packets transmitted, 59 received, 1% packet loss, time 59081ms

Tables: conn_times, series `ping`, one row for each answer or failure that is printed; counters of grp ping and mode level, item
the host, from the head and the end of each run: `packet bytes` (with headers where the tool prints that), `transmitted`,
`received`, `least` and `mean` (ms), and `missing` before each answer behind a hole in icmp_seq. Clock: wall-utc with `-D`, else
none: the caller chose the spacing. Traps: `time<1ms` is an upper bound (elapsed_s 0.001, noted once); a gap in
icmp_seq is an answer that never came and makes the next row `broken`; some locales print decimal commas; a second answer to the same
request (`DUP!`) is a row with ok false; macOS prints an ICMP error and later the time-out of the same request: each is a row.
Known gaps: the dots of flood ping, the summary of fping -C, traceroute.
"""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from parsers.declarations import Claim, Format
from parsers.repair.rewrap import PASTE, rejoin
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE, span_s

_FROM = r"[^ ]+(?: \([^ ]+\))? ?[:,] ?"
# iputils and busybox translate: octets de, Bytes von, bytes desde, byte da.
_BYTES = r"[0-9]+ (?:[Bb]ytes? (?:from|von|desde|da|de|van)|octets de|байт(?:а|ов)? от|bajt(?:y|ów) z|字节，?来自)"
ANSWER = (
    rf"^[ \t]*(?:\[([0-9]{{10}}\.[0-9]+)\] )?(?:{_BYTES} {_FROM}|Reply from [^ ]+: (?:bytes=[0-9]+ )?|Antwort von [^ ]+: (?:Bytes=[0-9]+ )?)"
    r"(?:(?:icmp_)?(?:seq|序号)[=:]([0-9]+)\.? ?)?(?:ident=[0-9]+ )?(?:(?:ttl|hlim)=[0-9]+ )?"
    r"(?:time|Zeit|temps|tiempo|tempo|время|czas|tijd|时间)([=<])([0-9.,]+) ?(ms|msec|usec|us|s)?"
)
# An answer on Windows, which translates all words except TTL.
WINDOWS = r"^[ \t]*[^=<>\[]{4,80}[:：] ?[^=<>\[]{1,20}=[0-9]{1,6} [^ =<>]{1,16} ?([=<])([0-9]{1,7}) ?[^ 0-9=]{0,6} TTL=[0-9]{1,3}[ \t]*$"
FPING = r"^(?:\[([0-9]{10}\.[0-9]+)\] )?([^ ]+) +: \[([0-9]+)\], (?:[0-9]+ bytes, ([0-9.]+) ms|timed out)"
FAILURE = (
    r"(?i:^[ \t]*(?:\[[0-9.]+\] )?(?:(?:From|De|Von|Desde|Da) [^ ]+ ?.*?icmp_seq=([0-9]+) "
    r"(.*(?:Unreachable|exceeded|filtered|injoignable|erreichbar|inalcanzable|irraggiungibile).*)"
    r"|(?:Request timeout for icmp_seq|no answer yet for icmp_seq=) ?([0-9]+)"
    r"|(Request timed out\.?|Zeitüberschreitung der Anforderung\.?|D.lai d.attente de la demande d.pass.\.?|请求超时。?"
    r"|Tiempo de espera agotado para esta solicitud\.?|Esgotado o tempo limite do pedido\.?|Richiesta scaduta\.?"
    r"|Превышен интервал ожидания для запроса\.?|no answer from .*)"
    rf"|(?:(?:Reply from|Antwort von) [^ ]+: |[0-9]+ bytes from {_FROM})?(Destination (?:host|net|port|protocol)[a-z ]* unreachable\.?"
    r"|Ziel(?:host|netz) nicht erreichbar\.?|Time to live exceeded|TTL expired in transit\.?)[ \t]*$"
    r"|ping6?: (?:sendto|sendmsg): ([A-Za-z ]+)$"
    r"|(?:connect|ping6?): (?:(?:connect|cannot resolve [^ :]+|[^ :]+): )?"
    r"(unknown host|name or service not known|temporary failure in name resolution|network is unreachable)(?: [^ ]{1,80})?$))"
)
DETAIL = (
    r"(?i:^[ \t]*(?:PING6?[ (]|Pinging |Ping wird ausgeführt|(?:\^C)?--- .* ---$|\^C$|----.*PING Statistics----$|ping statistics for|[0-9]+ packets transmitted"
    r"|[0-9]+ [^0-9 \t]{4,12} [^0-9 \t,]{4,14}, [0-9]+ [^0-9,]{3,20}, [^,]{0,30}[0-9.]+% |From .{1,80} Redirect "
    r"|Ping-Statistik |Estadísticas de ping |Ca\. Zeitangaben |[ \t]*\([0-9]{1,3}% [^ ()]{3,20}\),?[ \t]*$"
    r"|(?:rtt|round-trip)[ \t(].*|Packets: Sent|Approximate round|Minimum ?=|.* is alive$|[^ ]+ : xmt/rcv"
    r"|Vr HL TOS  Len|[0-9a-f]  [0-9a-f]  [0-9a-f]{2} [0-9a-f]{4} [0-9a-f]{4} +[0-9a-f] [0-9a-f]{4}  [0-9a-f]{2}  [0-9a-f]{2} [0-9a-f]{4} "
    r"|(?:Envoi d.une requête|Haciendo|Esecuzione di|正在) '?Ping|(?:Disparando|Обмен пакетами) .*[:]$"
    r"|Statisti[a-z]+ (?:de )?Ping |Статистика Ping |[^ ]+ 的 Ping 统计"
    r"|(?:Pakete|Paquets|Paquetes|Pacotes|Pacchetti|Paket|Пакетов|数据包) ?[:：] ?[^ =]+ = [0-9]+"
    r"|(?:Durée approximative|Tiempos aproximados|往返行程的估计时间|最短 ?=|Mínimo ?=|Minimo ?=)))"
)
_BEGINS = (
    rf"(?i)^[ \t]*(?:\[[0-9]{{10}}\.[0-9]+\] )?(?:{_BYTES} |(?:Reply|Antwort) (?:from|von) |[^ ]+ +: (?:\[|xmt)|From [^ ]+ |(?:rtt|round-trip)[ \t(]"
    r"|Request |Zeitüberschreitung|no answer |Destination |PING |Ping|-{3,4}|[0-9]+ packets|Packets:|Approximate|Minimum"
    r"|Statist|Vr HL| ?[0-9a-f]  [0-9a-f]  )|is alive$"
)
"""Beginnings of ping's lines, by which lines broken in two are joined."""
_KNOWN = tuple(re.compile(pattern).match for pattern in (ANSWER, WINDOWS, FPING, FAILURE, DETAIL))
UNITS = {"s": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6}

HEAD = re.compile(
    r"[ \t]*(?:PING6? |Pinging |Ping wird ausgeführt für |Envoi d.une requête 'Ping' +|正在 Ping )(?P<host>[^\s:(]+|::[^\s(]*)"
    r"(?:.*?\b[0-9]+\((?P<whole>[0-9]+)\)|.*?[ :](?P<bytes>[0-9]+) (?:data bytes|byte packets|bytes|Bytes|octets|字节))?.*"
)
SUMMARY = re.compile(
    r"[ \t]*(?:\^C)?(?:(?P<sent>[0-9]+) [^0-9,:=]{4,30}, (?P<got>[0-9]+) [^0-9,:=]{3,30},.*?[0-9.,]+ ?%.*"
    r"|[^0-9=]{4,30}= ?(?P<w_sent>[0-9]+)[,，、]? ?[^0-9=]{3,30}= ?(?P<w_got>[0-9]+)[,，、]? ?[^0-9=]{3,30}= ?[0-9]+.*)"
)
"""First line of a run, with the host and the size of its packets, and the line that counts them."""

TIMES = re.compile(
    r"(?i)[ \t]*(?:(?:rtt|round-trip)[ \t(].*?= *(?P<least>[0-9]+(?:[.,][0-9]+)?)/(?P<mean>[0-9]+(?:[.,][0-9]+)?)/[0-9.,/]+(?: *ms.*)?"
    r"|Minimum ?= ?(?P<w_least>[0-9]+) ?ms, [^,=]{3,20}= ?[0-9]+ ?ms, [^,=]{3,20}= ?(?P<w_mean>[0-9]+) ?ms.*)"
)
"""Line below the end of a run, with the shortest and the mean time of its answers."""

Count = dict[str, str | int | float | None]
"""A row of counters."""

FORMAT = Format(
    kind="ping",
    variant="ping",
    version="1",
    systems=("linux", "solaris", "aix", "hpux", "bsd", "macos", "windows"),
    tables=("conn_times", "counters"),
    man="ping(8)",
    example="ping -D -c 60 HOST",
    clocks=("none", "wall-utc"),
    own=f"{ANSWER}|{WINDOWS}|{FPING}|{FAILURE}|{DETAIL}",
)


def claim(head: Head) -> Claim | None:
    """Claim if at least half of the lines are answers or other lines of ping."""
    if not head.shows(
        r"seq=|icmp_seq|bytes=|Bytes=|TTL=|is alive|: \[[0-9]+\], |unreachable\.|erreichbar\.|timed out|TTL expired|packets transmitted, "
    ):
        return None
    if sum(any(match(x) for match in _KNOWN) for x in head.spread) * 4 < len(head.spread):
        return None
    lines = [x for x in head.lines if x]
    answers = sum(any(match(x) for match in _KNOWN[:3]) for x in lines)
    others = sum(any(match(x) for match in _KNOWN[3:]) for x in lines)
    if not answers + others or (answers + others) * 2 < len(lines):
        return None
    return Claim((answers + others) / len(lines), f"{answers} answers to pings in {len(lines)} lines")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the position and the last icmp_seq."""
    for frame in source.frames(PASTE):
        names = ["stamp", "seq_no", "sign", "time", "unit"]
        line = pl.col("line")
        rows = (
            rejoin(frame, source, out, _BEGINS)
            .with_columns(
                line.str.extract_groups(ANSWER).struct.rename_fields(names).alias("a"),
                line.str.extract_groups(WINDOWS).struct.rename_fields(["windows_sign", "windows_ms"]).alias("w"),
                line.str.extract_groups(FPING).struct.rename_fields(["fp_stamp", "host", "fp_seq", "fp_ms"]).alias("f"),
                line.str.extract_groups(FAILURE)
                .struct.rename_fields(["bad1", "why", "bad2", "bad", "bare", "sent", "lost"])
                .alias("b"),
            )
            .unnest("a", "w", "f", "b")
            .with_columns(
                why=pl.coalesce("why", "bare", "sent", "lost"),
                time=pl.coalesce("time", "windows_ms").str.strip_suffix("."),
                sign=pl.coalesce("sign", "windows_sign"),
                stamp=pl.coalesce("stamp", "fp_stamp", line.str.extract(r"^[ \t]*\[([0-9]{10}\.[0-9]+)\] ")),
            )
        )
        out.read(rows.filter(line.str.contains(DETAIL))["line_no"])
        run = state.get("run", [0])
        counted = _summaries(rows.filter(line.str.contains(DETAIL)), state)
        failed = pl.coalesce("bad1", "bad2", "bad", "why").is_not_null() | (
            pl.col("host").is_not_null() & pl.col("fp_ms").is_null()
        )
        rows = rows.filter(pl.col("time").is_not_null() | pl.col("host").is_not_null() | failed)
        if rows.is_empty():
            _count(counted, out)
            continue
        factor = pl.col("unit").replace_strict(UNITS, default=1e-3, return_dtype=pl.Float64)
        number = pl.col("time").str.replace(",", ".", literal=True).cast(pl.Float64, strict=False) * factor
        before = state.get("icmp_seq")
        rows = rows.with_columns(
            elapsed_s=pl.coalesce(number, pl.col("fp_ms").cast(pl.Float64) / 1000),
            icmp=pl.coalesce("seq_no", "bad1", "bad2", "fp_seq").cast(pl.Int64, strict=False),
            t_local=pl.col("stamp").cast(pl.Float64),
            ok=~failed & ~line.str.contains(r"DUP!"),
            err=pl.when(failed).then(pl.coalesce(pl.col("why"), pl.lit("timed out"))),
            seq=pl.int_range(pl.len()) + 1 + state.get("seq", 0),
        )
        last = pl.col("icmp").shift(1).fill_null(pl.lit(before, pl.Int64))
        # The number wraps at 65536, and a new ping begins at 0 or 1 again: a lower number is not a gap.
        hole = (pl.col("icmp") > last + 1) & last.is_not_null()
        rows = rows.with_columns(
            contiguous=pl.when(hole)
            .then(pl.lit("broken"))
            .when(pl.col("icmp").is_not_null())
            .then(pl.lit("proven"))
            .otherwise(pl.lit("assumed"))
        )
        missing = rows.with_columns((pl.col("icmp") - last - 1).alias("n"))
        holes = missing.filter(pl.col("contiguous") == "broken").select("line_no", "n")
        _count([*counted, *_holes(holes, counted, run)], out)
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


STATISTICS = re.compile(r"[ \t]*(?:\^C)?-{3,4} ?(?P<host>\S{1,253}) (?:ping|PING) ?(?:statistics|Statistics) ?-{3,4}")
"""The line above the summary of a run, from which it is known whose head was not pasted."""


def _summaries(details: pl.DataFrame, state: State) -> list[Count]:
    """Return counters from the first and last lines of each run: packet size, packets sent and received, times (ms).

    `state` holds number and host of the run that is open, or of the last one, whose line of times may follow.
    """
    made: list[Count] = []
    for line_no, line in details.select("line_no", "line").iter_rows():
        if found := HEAD.fullmatch(line[:300]):
            size = found["whole"] or found["bytes"]
            run = state["run"] = [state.get("run", [0])[0] + 1, found["host"]]
            if size:
                row = {
                    "line_no": line_no,
                    "sample": run[0],
                    "item": run[1],
                    "name": "packet bytes",
                    "value": float(size),
                }
                made.append({**row, "unit": "bytes"})
        elif len(state.get("run", ())) < 2 and (found := STATISTICS.fullmatch(line[:300])):
            state["run"] = [state.get("run", [0])[0] + 1, found["host"]]
        elif "run" in state and len(state["run"]) > 1 and (found := SUMMARY.fullmatch(line[:300])):
            number, host = state["run"]
            state["run"] = [number]
            state["ended"] = [number, host]
            counts = (found["sent"] or found["w_sent"], found["got"] or found["w_got"])
            for name, count in zip(("transmitted", "received"), counts, strict=True):
                row = {"line_no": line_no, "sample": number, "item": host, "name": name, "value": float(count)}
                made.append({**row, "unit": "packets"})
        elif "ended" in state and (found := TIMES.fullmatch(line[:300])):
            number, host = state.pop("ended")
            times = (found["least"] or found["w_least"], found["mean"] or found["w_mean"])
            for name, time in zip(("least", "mean"), times, strict=True):
                row = {"line_no": line_no, "sample": number, "item": host, "name": name, "unit": "ms"}
                made.append({**row, "value": float(time.replace(",", "."))})
    return made


def _holes(holes: pl.DataFrame, counted: list[Count], run: list[Any]) -> list[Count]:
    """Return a counter `missing` for each gap in icmp_seq: the number of answers that never came, on the row after it.

    `holes`: line and number of answers; `counted`: counters of this block; `run`: number and host of the run that was
    open at its beginning.
    """
    begins = sorted((int(c["line_no"] or 0), c["sample"], c["item"]) for c in counted)
    made: list[Count] = []
    for line_no, n in holes.iter_rows():
        before = [(sample, item) for at, sample, item in begins if at < line_no]
        number, host = before[-1] if before else (run[0], run[1] if len(run) > 1 else None)
        made.append(
            {
                "line_no": line_no,
                "sample": number,
                "item": host,
                "name": "missing",
                "value": float(n),
                "unit": "packets",
            }
        )
    return made


def _count(made: list[Count], out: Tables) -> None:
    if made:
        rows = pl.DataFrame(made, infer_schema_length=None).sort("line_no", maintain_order=True)
        out.add("counters", rows.with_columns(line_end="line_no", grp=pl.lit("ping"), mode=pl.lit("level")))
