r"""kdump of FreeBSD, OpenBSD, NetBSD and old macOS: the records of ktrace as text.

Manuals: kdump(1) and ktrace(1) of the three BSDs. Capture: `ktrace -di -p PID`, `ktrace -C`, `kdump -T -H -f ktrace.out`. Understood: -T
-E -R (stamps), -H (thread), -A -S -d -n -s -r -x -X -m -N.

     99072 nsh      CALL  ioctl(0,TIOCGETA,0xf510ef44790)
     99072 nsh      RET   ioctl -1 errno 25 Inappropriate ioctl for device
     70846/521482  cat      1409069211.123456 NAMI  "/etc/passwd"
       812 100077 cat      0.000123456 GIO   fd 3 read 12 bytes
           "hello world
           "
     85045 echo     PSIG  SIGALRM caught handler=0x400b40 mask=0x0 code=SI_KERNEL

Fills syscalls (a CALL and its RET are one row), open_calls (calls without a RET), signals (PSIG), logs (CAP, PLDG, dropped events, messages
of kdump). NAMI gives `path`, GIO `data` and, where the result is no count, `bytes`; `struct sockaddr` of STRU gives the peer.

Traps. -T is seconds since 1970, -E since the first record, -R since the previous record of whatever thread. -R of FreeBSD and OpenBSD prints
the time since 1970 on the first record, so that its sums are wall times. Small stamps that rise are -E, else -R; with fewer than three and
no command line they stay undecided, with a note. OpenBSD prints -E for -T -R. Error numbers above 81 differ between the BSDs: their names
come from the words behind the number. Without -H a process of several threads shows no threads: a RET is then the end of the last call of
the same name, and calls of one name that overlap are left open. The child of a fork begins with a RET alone.
Known gaps: data printed in hexadecimal is not decoded; CSW (context switches), PFLT, PRET, ARGS, ENV, USER, SCTL and other structures count
as read without a row; lines of data that themselves begin like a record are read as one; of a path or data that is printed over many lines
the first 60 are kept; numbers of errors in a Linux process of FreeBSD are negative and get no name; -c (processor) was in no sample; lines
counted by `uniq -c` are not claimed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from parsers.columns.stack_rows import records
from parsers.declarations import Claim, Format
from parsers.formats.tracing.shared import syscall_args as arg
from parsers.formats.tracing.shared.c_arguments import fill as fill_c
from parsers.formats.tracing.shared.flat_trace import FlatTrace
from parsers.formats.tracing.shared.syscall_args import ARGS, FD_CALLS, ID_CALLS, Names
from parsers.formats.tracing.truss.errno_names import BSDS, WORDS
from parsers.repair.rewrap import PASTE, rejoin
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.inline_polars import in_order, neighbours, rows_or_null
from parsers.text.source import Head, Source
from parsers.text.times import span_s

_TYPES = (
    "CALL|RET|NAMI|GIO|PSIG|CSW|USER|STRU|SCTL|CAP|PFLT|PRET|ARGS?|ENV|PLDG|STRT|EMUL|MISC|MMSG|MOOL|MIB|SAU|EXAR|EXEV"
    r"|UNKNOWN\([0-9]+\)"
)
_FRONT = r"^[\t ]*([0-9]{1,10})(?:/([0-9]{1,10})|[\t ]+([0-9]{1,10}))?[\t ]+([^\t ]+(?: [^\t ]+){0,3}?)[\t ]+"
_STAMPS = r"(?:([0-9]{1,11}\.[0-9]{6,9})[\t ]+)?" * 3
HEAD = rf"{_FRONT}{_STAMPS}(?:[0-9]{{1,4}}[\t ]+)?({_TYPES})(?:[\t ]+(?:[FLU](?:00|32|64)[\t ]+)?|$)"
"""The front of a record: process, thread, program, up to three stamps, processor (-c), record, ABI (-A)."""
FIELDS = ["pid", "slash_tid", "tid", "comm", "s1", "s2", "s3", "type"]
DROPPED = r"^[\t ]*([0-9]+)[\t ]+.*[\t ]Events dropped\.$"
MESSAGE = r"^k(?:dump|trace): "
NAME = r"[A-Za-z_][A-Za-z0-9_.]*(?:\[[0-9]+\])?|\[[0-9]+\]|#[0-9]+"
CALL = rf"^({NAME})(?:\((.*)\))?$"
CUT = rf"^({NAME})\((.*)$"
RETURN = rf"^({NAME})[\t ]+((?:-?[0-9]|~|RESTART|JUSTRETURN|SIG).*)$"
FAILED = r"^-1 (?:unknown )?errno (-?[0-9]+)(?:[\t ]+(.+))?$"
IO = r"^(?:fd (-?[0-9]+) )?(?:read|wrote) ([0-9]+) bytes?$"
PEER = r"^struct sockaddr \{ AF_INET6?, \[?([0-9A-Fa-f.:]+?)(?:%[^\]]*)?\]?:([0-9]+) \}"
SIGNAL = r"^(SIG ?[A-Z0-9+]+)[\t ]+(SIG_DFL|SIG_IGN|caught)"
WHOLE = rf"{HEAD}(?:(?:{NAME})(?:\(.*\))?|(?:{NAME})[\t ]+(?:-?[0-9]+(?:/0x[0-9a-f]+)?|0x[0-9a-f]+|JUSTRETURN|RESTART)|fd .* bytes?|\".*\")$"
"""A record that no further line completes: what follows it is not the rest of a broken line."""

_BODY = (
    rf"(?:(?:CALL|RET)[\t ]+(?:[FLU](?:00|32|64)[\t ]+)?(?:{NAME})(?:[\t (].*)?|NAMI[\t ]+\".*|SCTL[\t ]+\".*|GIO[\t ]+fd .*"
    r"|PSIG[\t ]+SIG.*|CSW[\t ]+(?:stop|resume) .*|STRU[\t ]+struct .*|(?:PFLT|PRET)[\t ]+.*|ARGS|ENV|CAP[\t ]+.*"
    r"|(?:PLDG|USER|MISC)[\t ]+.*|EMUL[\t ]+\".*)"
)
OWN = (
    r"^[\t ]*[0-9]{1,10}(?:/[0-9]{1,10}|[\t ]+[0-9]{1,10})?[\t ]+[^\t ]+(?: [^\t ]+){0,3}?[\t ]+(?:[0-9]{1,11}\.[0-9]{6,9}[\t ]+){0,3}"
    rf"(?:[0-9]{{1,4}}[\t ]+)?{_BODY}$"
)

FORMAT = Format(
    kind="truss",
    variant="kdump",
    version="1",
    systems=("freebsd", "openbsd", "netbsd", "macos"),
    tables=("syscalls", "open_calls", "signals", "logs"),
    man="kdump(1)",
    example="ktrace -di -f ktrace.out -p PID; sleep 10; ktrace -C; kdump -T -H -f ktrace.out",
    split="none",
    clocks=("wall-utc", "trace-relative", "none"),
    own=OWN + r"|^ {7}\".*$|^ {7}0x[0-9a-f]{4} [0-9a-f ]+  \|.*\|$",
)

FORKS = frozenset({"rfork", "pdfork", "__vfork14", "__clone"})
"""Forks of the BSDs besides those that `syscall_args` knows."""
ENDS = frozenset({"exit", "_exit", "thr_exit", "__threxit", "_lwp_exit", "abort2"})
"""Calls that do not return."""
DETAILED = ("GIO", "NAMI", "USER", "STRU", "ARGS", "ARG", "ENV", "EXAR", "EXEV", "MMSG", "MOOL", "MISC", "EMUL")
"""Records that indented lines may follow."""
EPOCH_S = 10**8
"""Smallest stamp that is a time since 1970: a trace lasts no three years."""
SURE = 3
"""Minimum number of small stamps for deciding between -E and -R."""
FALL_S = 0.001
"""Maximum fall of a stamp of -E in seconds that counts as records out of order, not as another trace (as for strace)."""
MAX_DOMAINS = 1000
MAX_OPEN = 20_000
"""Maximum number of open calls that are carried; the oldest are written as open."""
DATA_LINES, DATA_CHARS = 60, 4000
"""Maximum number of lines and characters of a path or of data that are kept."""

_OPEN: dict[str, Any] = {
    "line_no": pl.Int64,
    "line_end": pl.Int64,
    "pid": pl.Int64,
    "lwp": pl.Int64,
    "comm": pl.String,
    "t": pl.Float64,
    "domain": pl.Int64,
    "type": pl.String,
    "name": pl.String,
    "args": pl.String,
    "current": pl.Boolean,
    "path": pl.String,
    "data": pl.String,
    "moved": pl.Int64,
    "peer_ip": pl.String,
    "peer_port": pl.String,
}
_DETAILS = ("path", "data", "moved", "peer_ip", "peer_port")

_RECORD = re.compile(OWN)
_NUMBERS = re.compile(r"^[\t ]*([0-9]+)[\t ]+([0-9]+)[\t ]+[^\t ]").match
_SHOWN = {c: chr(c) if 32 <= c < 127 else {10: "\n", 9: "\t", 13: "\r"}.get(c, f"\\x{c:02X}") for c in range(256)}
_CODES = (
    {f"\\M-{chr(c)}": _SHOWN[c + 128] for c in range(33, 127)}
    | {f"\\M^{chr(c ^ 64)}": _SHOWN[c + 128] for c in (*range(32), 127)}
    | {f"\\^{chr(c ^ 64)}": _SHOWN[c] for c in (*range(32), 127)}
    | {f"\\{c:03o}": text for c, text in _SHOWN.items()}
    | {
        r"\n": "\n",
        r"\t": "\t",
        r"\r": "\r",
        r"\b": r"\x08",
        r"\a": r"\x07",
        r"\v": r"\x0B",
        r"\f": r"\x0C",
        r"\s": " ",
    }
    | {r"\0": r"\x00", r"\\": "\\", r"\"": '"'}
)


def claim(head: Head) -> Claim | None:
    """Claim by records: a process, a program and CALL, RET or NAMI before their words."""
    if not any(word in head.text for word in (" CALL ", " RET ", " NAMI ", " GIO ")):
        return None
    there = [line for line in head.lines[:400] if line.strip()]
    own = [line for line in there if _RECORD.match(line)]
    sure = [line for line in own if re.search(r"[\t ](?:CALL|RET|NAMI|GIO)[\t ]", line)]
    if not sure:
        return None
    numbers = [found.groups() for line in sure if (found := _NUMBERS(line))]
    if len(numbers) > 2 and _counted([(int(a), b) for a, b in numbers]):
        return None
    others = sum(1 for line in there if line[0] not in " \t" and not _RECORD.match(line))
    share = min(1.0, 2 * len(own) / (len(own) + others))
    strength = (0.97 if len(sure) > 2 else 0.8) * share
    return Claim(round(strength, 2), f"{len(sure)} records of kdump: CALL, RET, NAMI or GIO behind a process", "kdump")


def _counted(numbers: list[tuple[int, str]]) -> bool:
    """Decide whether the first of two numbers is the count of `sort | uniq -c` and no process: it rises, the second does not change."""
    counts = [count for count, _ in numbers]
    return counts == sorted(counts) and len(set(counts)) > 2 * len({who for _, who in numbers})


def decode(text: pl.Expr) -> pl.Expr:
    r"""Decode what vis(3) prints in C style: newline, tab and return become themselves, other unprintable bytes `\xHH`.

    >>> pl.select(decode(pl.lit(r"a\r\^[[1m\M-C\M-)\\"))).item()
    'a\r\\x1B[1m\\xC3\\xA9\\'
    """
    return (
        pl.when(text.str.contains("\\", literal=True))
        .then(text.str.replace_many(list(_CODES), list(_CODES.values()), leftmost=True))
        .otherwise(text)
    )


class _Fill:
    """Adds the columns that one call determines; `details` holds facts of other records about calls that end here."""

    def __init__(self) -> None:
        self.details = pl.DataFrame(schema={"line_end": pl.Int64, **{c: _OPEN[c] for c in _DETAILS}})

    def __call__(self, calls: pl.DataFrame) -> pl.DataFrame:
        calls = fill_c(calls)
        names = Names(calls["name"].unique())
        first = arg.number(ARGS.str.extract(r"^(0x[0-9a-f]{1,6})(?:,|$)", 1))
        mapped = ARGS.str.extract(r"MAP_[A-Z0-9_|<>x]+,(-?[0-9]{1,9}),", 1).cast(pl.Int64, strict=False)
        second = (
            pl.col("ret_text").str.extract(r"^-?[0-9]+(?:/0x[0-9a-f]+)?, (-?[0-9]+)", 1).cast(pl.Int64, strict=False)
        )
        calls = calls.with_columns(
            pl.coalesce("fd", pl.when(names.among(FD_CALLS)).then(first), pl.when(names.among(("mmap",))).then(mapped)).alias("fd"),
            pl.coalesce("arg_id", pl.when(names.among(ID_CALLS)).then(first)).alias("arg_id"),
            pl.coalesce("child_pid", pl.when(names.among(FORKS) & (pl.col("ret") > 0)).then("ret")).alias("child_pid"),
            second.alias("ret2"),
        )  # fmt: skip
        ends = names.among(("pipe",)) & pl.col("ret2").is_not_null()
        calls = calls.with_columns(
            pl.when(ends).then("ret").otherwise("fd").alias("fd"),
            pl.when(ends).then("ret2").otherwise("fd2").alias("fd2"),
        ).drop("path", "data")
        calls = calls.join(self.details, on="line_end", how="left", maintain_order="left")
        named = pl.col("peer_ip").is_not_null()
        own = names.among(("sendto", "recvfrom", "sendmsg", "recvmsg")) & named
        return calls.with_columns(
            pl.coalesce("bytes", pl.when(pl.col("err").is_null()).then("moved")).alias("bytes"),
            pl.when(named).then(pl.format("AF_INET name = {} port = {}", "peer_ip", "peer_port")).alias("peer"),
            pl.when(own).then("peer_ip").alias("direct_ip"),
            pl.when(own).then(pl.col("peer_port").cast(pl.Int64, strict=False)).alias("direct_port"),
        ).drop("peer_ip", "peer_port", "moved")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read one run of blocks; state: lines of the last record, clock, open calls with what is known of them, what `FlatTrace` carries."""
    fill = _Fill()
    trace = FlatTrace(out, state.get("trace", {}), fill)
    held: State = {"held": state["held"]} if state.get("held") else {}
    clock: State = state.get("clock", {})
    opened = pl.DataFrame(state.get("open", []), schema=_OPEN, orient="row")
    seen = set(state.get("seen", []))
    for frame in _pieces(source, out, held):
        found = _records(frame)
        clock.setdefault("command", _command(frame, found) or source.hints.command or "")
        found = _timed(found, clock, out)
        _others(frame, found, out)
        events, opened, fill.details = _calls(found, opened, out)
        if source.last and len(frame):
            _cut_call(found, source.next_line - 1, out)
        done = trace.add(frame, events, traced_f=pl.lit(None, pl.Boolean))
        _signals(done, out)
        _domains(found, clock, out)
        seen |= _options(found, clock)
    if source.last:
        _open_rows(opened, out)
        opened = opened.clear()
    out.read(opened["line_no"])
    if seen or len(opened):
        out.fact("tool_opts", sorted(seen))
    out.fact("stamp", "start")
    return {
        "variant": "kdump",
        "clock": clock,
        "open": [list(row) for row in opened.iter_rows()],
        "seen": sorted(seen),
        "trace": trace.state(last=source.last),
        **held,
    }


def _pieces(source: Source, out: Tables, held: State) -> Iterator[pl.DataFrame]:
    """Yield lines (line_no, line_end, line) that end where a record ends; lines that a paste has broken are joined."""
    if source.is_small(PASTE):
        for lines in source.frames():
            yield rejoin(lines, source, out, f"{HEAD}|{DROPPED}|{MESSAGE}|^[\\t ]", WHOLE)
        return
    begins = pl.col("line").str.contains(HEAD)
    for lines, _ in records(source, out, held, begins, begins | pl.col("line").str.contains(r"^[\t ]")):
        yield lines.with_columns(line_end=pl.col("line_no"))


def _records(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the records of a piece with `rest` (their words) and `text` (the quoted text of NAMI and GIO, over several lines)."""
    front = pl.col("line").str.extract(HEAD, 0)
    lines = frame.with_columns(
        front.alias("front"), pl.col("line").str.extract_groups(HEAD).struct.rename_fields(FIELDS).alias("g")
    ).unnest("g")
    lines = lines.with_columns(pl.col("type").is_not_null().cum_sum().alias("record"))
    found = lines.filter(pl.col("type").is_not_null()).with_columns(
        pl.col("line").str.strip_prefix(pl.col("front")).str.strip_chars_end("\t ").alias("rest"),
        pl.col("pid").cast(pl.Int64, strict=False),
        # kdump -H prints 0 if the trace does not contain the thread.
        pl.coalesce("slash_tid", "tid").cast(pl.Int64, strict=False).replace(0, None).alias("lwp"),
    )
    texts = _texts(lines, found)
    found = found.join(texts, on="record", how="left", maintain_order="left")
    name = pl.coalesce(
        pl.when(pl.col("type") == "CALL").then(pl.col("rest").str.extract(CALL, 1)),
        pl.when(pl.col("type") == "RET").then(pl.col("rest").str.extract(RETURN, 1)),
    )
    return found.select(
        "line_no", "line_end", "record", "pid", "lwp", "comm", "s1", "s2", "type", "rest", "text", "details",
        # The number behind a name is that of -S; a call without a name keeps it.
        pl.when(name.str.starts_with("[")).then(name).otherwise(name.str.replace(r"\[[0-9]+\]$", "")).alias("name"),
    )  # fmt: skip


def _texts(lines: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """Return for each record with further lines which of them belong to it (`details`), and their text if it is quoted.

    Lines that begin with a blank belong to it. Where a page has removed the blanks, all lines up to the next record do if they are quoted
    as a whole.
    """
    detailed = found.filter(pl.col("type").is_in(DETAILED))
    detailed = detailed.select("record", pl.when(pl.col("type") == "NAMI").then("rest").alias("first"))
    below = lines.filter(pl.col("type").is_null() & (pl.col("line") != "")).join(
        detailed, on="record", how="inner", maintain_order="left"
    )
    line = pl.col("line").str.strip_chars("\t ")
    begins, ends = line.first().str.starts_with('"'), line.last().str.ends_with('"')
    indented = pl.col("line").str.contains(r"^[\t ]")
    below = below.with_columns((indented | (begins & ends).over("record")).alias("own"))
    below = below.with_columns((pl.col("own").cast(pl.Int8).cum_min() == 1).over("record").alias("own")).filter("own")
    kept = below.with_columns(pl.int_range(pl.len()).over("record").alias("at")).filter(pl.col("at") < DATA_LINES)
    quoted = (pl.col("at") == 0) & pl.col("first").is_null()
    piece = (
        pl.when(quoted)
        .then(pl.col("line").str.strip_chars_start("\t "))
        .otherwise(pl.col("line").str.strip_prefix("\t"))
    )
    closing = pl.col("line").str.strip_chars_start("\t ") == '"'
    piece = pl.when(closing).then(pl.lit('"')).otherwise(piece)
    folded = piece.str.contains(r"(?:^|[^\\])(?:\\\\)*\\$")
    piece = pl.when(folded).then(piece.str.head(-1)).otherwise(piece + "\n").alias("piece")
    joined = kept.with_columns(piece).group_by("record", maintain_order=True).agg(pl.col("piece").str.join(""))
    every = below.group_by("record", maintain_order=True).agg(pl.col("line_no").alias("details"))
    joined = joined.join(every, on="record", how="left", maintain_order="left")
    quotes = found.filter(pl.col("type").is_in(("NAMI", "GIO"))).select("record", "type", "rest")
    both = quotes.join(joined, on="record", how="full", coalesce=True, maintain_order="left_right")
    start = pl.when(pl.col("type") == "NAMI").then(pl.col("rest").str.replace(r"\\$", "")).otherwise(pl.lit(""))
    whole = (start.fill_null("") + pl.col("piece").fill_null("")).str.strip_chars_end("\n")
    inside = whole.str.strip_prefix('"').str.strip_suffix('"').str.head(DATA_CHARS)
    return both.select(
        "record",
        "details",
        pl.when(pl.col("type").is_not_null() & whole.str.starts_with('"')).then(decode(inside)).alias("text"),
    )


def _command(frame: pl.DataFrame, found: pl.DataFrame) -> str | None:
    """Return the prompt line of kdump above the first record: a prompt of ktrace may stand above it."""
    above = frame.head(50)
    if len(found):
        above = above.filter(pl.col("line_no") < int(found["line_no"][0]))
    lines = above["line"].filter(above["line"].str.contains(r"[#$%>] *(?:[^ ]*/)?kdump(?: |$)"))
    return str(lines[-1]) if len(lines) else None


def _timed(found: pl.DataFrame, clock: State, out: Tables) -> pl.DataFrame:
    """Add `t` and `domain` to the records.

    `clock` carries the command line, what the stamps are, their base, the last time and the domain.
    """
    clock.setdefault("domain", 1)
    untimed = found.with_columns(t=pl.lit(None, pl.Float64), domain=pl.lit(clock["domain"], pl.Int64))
    stamped = np.flatnonzero(found["s1"].is_not_null().to_numpy())
    if not len(stamped):
        return untimed
    parts = found["s1"].gather(stamped).str.split_exact(".", 1).struct.unnest()
    whole = parts["field_0"].cast(pl.Int64).to_numpy()
    behind = ("0." + parts["field_1"]).cast(pl.Float64).to_numpy()
    since_1970 = whole >= EPOCH_S
    if clock.get("mode") in (None, "E", "R") and since_1970.any():
        clock["mode"] = "T"
    if clock.get("mode") is None:
        several = found["s2"].null_count() < len(found)
        clock["mode"] = _small(whole + behind, clock["command"], several=several)
    if clock["mode"] is None:
        line = int(found["line_no"][int(stamped[0])])
        out.note(line, line, "remark", "stamps in too few lines to tell -E from -R: not read as times")
        return untimed
    if clock["mode"] == "T" and clock.get("base") is None:
        clock["base"] = int(whole[since_1970][0])
    seconds = np.where(since_1970, whole - int(clock.get("base") or 0), whole) + behind
    last = float(clock.get("last") or 0.0)
    domain = np.full(len(stamped), clock["domain"], np.int64)
    if clock["mode"] == "E":
        t = seconds
        fallen = np.diff(t, prepend=clock["last"] if clock.get("last") is not None else t[0]) < -FALL_S
        domain = np.minimum(domain + np.cumsum(fallen), MAX_DOMAINS)
    else:
        # A time since 1970 begins anew; a small stamp counts from the record above (-R).
        sums = np.cumsum(seconds) + last
        starts = np.maximum.accumulate(np.where(since_1970, np.arange(len(seconds)), -1))
        before = np.where(starts > 0, sums[np.maximum(starts - 1, 0)], np.where(starts == 0, last, 0.0))
        t = np.where(since_1970, seconds, sums - before)
    clock |= {"last": float(t[-1]), "domain": int(domain[-1])}
    times, domains = np.full(len(found), np.nan), np.full(len(found), domain[0], np.int64)
    times[stamped], domains[stamped] = np.round(t, 9), domain
    return found.with_columns(pl.Series("t", times).fill_nan(None), pl.Series("domain", domains))


def _small(stamps: np.ndarray[Any, Any], command: str, *, several: bool) -> str | None:
    """Decide whether small stamps are of -E or -R: by the command line, by a second stamp (-E comes first), or because
    only -E rises, from 0 at its beginning."""
    options = set("".join(re.findall(r"(?<=[\t ])-([A-Za-z]+)", command))) if "kdump" in command else set()
    if several or "E" in options or {"R", "T"} <= options:
        return "E"
    if "R" in options:
        return "R"
    if len(stamps) < SURE:
        return None
    first = stamps[:400]
    fallen = first[1:][np.diff(first) < 0]
    # Processors write a few records out of order, and each further trace begins with 0; differences fall as often as they rise.
    few = 8 * len(fallen) <= len(first) or (4 * len(fallen) <= len(first) and not fallen.any())
    return "E" if few else "R"


def _calls(found: pl.DataFrame, opened: pl.DataFrame, out: Tables) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Join CALL and RET; return events in order of their last lines, calls still open, and facts of other records about
    the ended calls.
    """
    kind, rest = pl.col("type"), pl.col("rest")
    moved = rest.str.extract(IO, 2).cast(pl.Int64, strict=False)
    fresh = found.with_columns(
        pl.when(kind == "CALL").then(rest.str.extract(CALL, 2).fill_null("")).alias("args"),
        pl.lit(True).alias("current"),
        pl.when(kind == "NAMI").then("text").alias("path"),
        pl.when(kind == "GIO").then("text").alias("data"),
        pl.when(kind == "GIO").then(moved).alias("moved"),
        pl.when(kind == "STRU").then(rest.str.extract(PEER, 1)).alias("peer_ip"),
        pl.when(kind == "STRU").then(rest.str.extract(PEER, 2)).alias("peer_port"),
    )
    every = pl.concat([opened.with_columns(rest=pl.lit(None, pl.String)), fresh.select(*_OPEN, "rest")])
    mark = (
        pl.when(kind == "CALL")
        .then(pl.when("current").then("line_no").otherwise(0))
        .when(kind == "RET")
        .then(pl.lit(0, pl.Int64))
    )
    every = every.with_columns(mark.forward_fill().over("pid", "lwp").alias("owner"))
    every = every.with_columns(
        pl.when(kind == "CALL").then("line_no").otherwise("owner").alias("owner"),
        pl.col("owner").last().over("pid", "lwp").alias("latest"),
    )
    named = pl.any_horizontal(pl.col(c).is_not_null() for c in _DETAILS)
    grouped = every.filter((pl.col("owner") > 0) & named).group_by("owner", maintain_order=True)
    details = grouped.agg(
        *(pl.col(c).drop_nulls().first() for c in ("path", "data")),
        pl.when(pl.col("moved").count() > 0).then(pl.col("moved").sum()).alias("moved"),
        *(pl.col(c).drop_nulls().last() for c in ("peer_ip", "peer_port")),
    ).rename({"owner": "b_line_no"})
    never = pl.col("name").is_in(ENDS) & (kind == "CALL")
    gone = every.filter(never)
    halves = every.filter(pl.col("name").is_not_null() & kind.is_in(("CALL", "RET")) & ~never)
    # Without a thread only calls of one name are known to follow each other.
    by_name = halves.select(pl.when(pl.col("lwp").is_null()).then("name")).to_series()
    before, behind = neighbours(halves["pid"], halves["lwp"], by_name)
    halves = halves.with_columns(rows_or_null("b", before), rows_or_null("n", behind))
    same_b = (kind.gather(pl.col("b")) == "CALL") & (pl.col("name").gather(pl.col("b")) == pl.col("name"))
    same_n = (kind.gather(pl.col("n")) == "RET") & (pl.col("name").gather(pl.col("n")) == pl.col("name"))
    halves = halves.with_columns(
        same_b.fill_null(False).alias("paired"),
        same_n.fill_null(False).alias("done"),
        *(pl.col(c).gather(pl.col("b")).alias(f"b_{c}") for c in ("line_no", "t", "domain", "comm", "args")),
    )
    calls = halves.filter(kind == "CALL")
    _open_rows(calls.filter(~pl.col("done") & pl.col("n").is_not_null()), out)
    still = in_order(calls.filter(pl.col("n").is_null()), "line_no")
    if len(still) > MAX_OPEN:
        _open_rows(still.head(-MAX_OPEN), out)
        still = still.tail(MAX_OPEN)
    ended = halves.filter(kind == "RET")
    events = pl.concat([_ended(ended), _gone(gone), _marks(every)])
    known = ended.filter("paired").select("b_line_no", "line_end")
    known = known.join(details, on="b_line_no", how="inner", maintain_order="left").select("line_end", *_DETAILS)
    still = still.with_columns((pl.col("line_no") == pl.col("latest")).alias("current")).drop(_DETAILS)
    still = still.join(details, left_on="line_no", right_on="b_line_no", how="left", maintain_order="left")
    return in_order(events, "line_end"), still.select(pl.col(c).cast(t) for c, t in _OPEN.items()), known


def _ended(ended: pl.DataFrame) -> pl.DataFrame:
    """Return events of returns, with the beginning of their call where it is known."""
    text = pl.col("rest").str.extract(RETURN, 2)
    words = text.str.extract_groups(FAILED).struct.rename_fields(["number", "words"]).alias("g")
    ended = ended.with_columns(text.alias("ret_text"), words)
    ended = ended.unnest("g").with_columns(pl.col("number").cast(pl.Int64, strict=False))
    by_words = pl.col("words").replace_strict(WORDS, default=None, return_dtype=pl.String)
    by_number = pl.col("number").replace_strict(BSDS, default=None, return_dtype=pl.String)
    took = pl.when(pl.col("b_domain") == pl.col("domain")).then((pl.col("t") - pl.col("b_t")).round(9))
    took = pl.when(pl.col("paired") & (took >= 0)).then(took)
    begun = pl.col("paired") & (took.is_not_null() | pl.col("t").is_null())
    child = ~pl.col("paired") & (pl.col("ret_text") == "0")
    child &= pl.col("name").is_in(FORKS | set(arg.FORKS))
    return ended.select(
        pl.when("paired").then("b_line_no").otherwise("line_no").alias("line_no"), "line_end", pl.lit("call").alias("kind"), "pid", "lwp",
        pl.when("paired").then("b_comm").otherwise("comm").alias("comm"), pl.when(begun).then("b_t").otherwise("t").alias("t"), "domain",
        pl.when(begun).then(pl.lit("start")).otherwise(pl.lit("end")).alias("stamp"), "name", pl.when("paired").then("b_args").alias("args"),
        "ret_text", pl.col("ret_text").str.extract(r"^(0x[0-9a-f]+|-?[0-9]+)", 1).alias("val"), pl.coalesce(by_words, by_number).alias("err"),
        took.alias("elapsed"), pl.lit(False).alias("measured"),
        pl.when(child).then(pl.lit("child_start")).otherwise(pl.lit("done")).alias("state"),
    )  # fmt: skip


def _gone(gone: pl.DataFrame) -> pl.DataFrame:
    """Return events of calls that do not return."""
    text = [pl.lit(None, pl.String).alias(c) for c in ("ret_text", "val", "err")]
    return gone.select(
        "line_no", "line_end", pl.lit("call").alias("kind"), "pid", "lwp", "comm", "t", "domain", pl.lit("start").alias("stamp"), "name",
        "args", *text, pl.lit(None, pl.Float64).alias("elapsed"), pl.lit(False).alias("measured"), pl.lit("no_return").alias("state"),
    )  # fmt: skip


def _marks(every: pl.DataFrame) -> pl.DataFrame:
    """Return events of signals."""
    signals = every.filter((pl.col("type") == "PSIG") & pl.col("rest").str.contains(SIGNAL))
    text = [pl.lit(None, pl.String).alias(c) for c in ("ret_text", "val", "err")]
    return signals.select(
        "line_no", "line_end", pl.lit("signal").alias("kind"), "pid", "lwp", "comm", "t", "domain", pl.lit("end").alias("stamp"),
        pl.col("rest").str.extract(SIGNAL, 1).alias("name"), pl.col("rest").alias("args"), *text,
        pl.lit(None, pl.Float64).alias("elapsed"), pl.lit(False).alias("measured"), pl.lit("done").alias("state"),
    )  # fmt: skip


def _open_rows(calls: pl.DataFrame, out: Tables) -> None:
    """Write calls without a return to `open_calls`."""
    first = ARGS.str.extract(r"^(0x[0-9a-f]{1,6}|[0-9]{1,7})(?:,|$)", 1)
    out.add(
        "open_calls",
        in_order(calls, "line_no").select(
            "line_no", "line_end", pl.col("t").alias("t_local"), "pid", "lwp", "name", "args",
            pl.when(pl.col("name").is_in(FD_CALLS)).then(arg.number(first)).alias("fd"), pl.lit("unfinished").alias("state"),
        ),
    )  # fmt: skip


def _cut_call(found: pl.DataFrame, last: int, out: Tables) -> None:
    """Report a call that the end of the file cuts."""
    cut = found.filter((pl.col("line_no") == last) & (pl.col("type") == "CALL") & pl.col("name").is_null())
    cut = cut.with_columns(name=pl.col("rest").str.extract(CUT, 1), args=pl.col("rest").str.extract(CUT, 2))
    cut = cut.filter(pl.col("name").is_not_null()).rename({"t": "t_local"})
    cut = cut.select("line_no", "line_end", "t_local", "pid", "lwp", "name", "args", pl.lit("truncated").alias("state"))
    out.add("open_calls", cut)


_ACTIONS = {"SIG_DFL": "default", "SIG_IGN": "ignored", "caught": "caught"}


def _signals(done: pl.DataFrame, out: Tables) -> None:
    """Write rows of signals."""
    rows = done.filter(pl.col("kind") == "signal")
    text = pl.col("args")
    action = text.str.extract(SIGNAL, 2).replace_strict(_ACTIONS, default=None, return_dtype=pl.String)
    out.add(
        "signals",
        rows.select(
            "line_no", "line_end", pl.col("t").alias("t_local"), "seq", "pid", "lwp", pl.lit("received").alias("event"), pl.col("name").alias("signal"),
            action.alias("action"), text.str.extract(r"code=([A-Z]+_[A-Z_]+)", 1).alias("code"),
            arg.address(text.str.extract(r"addr=(0x[0-9a-f]+)", 1)).alias("addr"),
            text.str.extract(r" pid=([0-9]+)", 1).cast(pl.Int64, strict=False).alias("sender_pid"),
            text.str.extract(r" status=([0-9]+)", 1).cast(pl.Int64, strict=False).alias("status"),
        ),
    )  # fmt: skip


def _others(frame: pl.DataFrame, found: pl.DataFrame, out: Tables) -> None:
    """Account for records without rows and for lines of data; write refusals and messages as logs."""
    plain = found.filter(~pl.col("type").is_in(("CALL", "RET", "PSIG")))
    out.read(plain["line_no"])
    out.read(found["details"].explode().drop_nulls())
    told = found.filter(pl.col("type").is_in(("CAP", "PLDG"))).select(
        "line_no",
        "line_end",
        pl.col("t").alias("t_local"),
        "pid",
        pl.col("comm").alias("program"),
        pl.col("rest").alias("text"),
    )
    said = frame.filter(pl.col("line").str.contains(f"{MESSAGE}|{DROPPED}")).select(
        "line_no", "line_end", pl.lit(None, pl.Float64).alias("t_local"),
        pl.col("line").str.extract(DROPPED, 1).cast(pl.Int64, strict=False).alias("pid"), pl.lit(None, pl.String).alias("program"),
        pl.col("line").str.strip_chars("\t ").alias("text"),
    )  # fmt: skip
    out.add("logs", in_order(pl.concat([told, said]), "line_no").with_columns(source=pl.lit("tool")))


def _domains(found: pl.DataFrame, clock: State, out: Tables) -> None:
    """Report the clock domains of the records."""
    wall = clock.get("base") is not None
    base = datetime.fromtimestamp(clock["base"], UTC).isoformat() if wall else None
    for number, some in found.group_by("domain", maintain_order=True):
        begin, end = span_s(some["t"])
        kind = "none" if begin is None else "wall-utc" if wall else "trace-relative"
        out.domain(Domain(int(str(number[0])), kind, base, None, begin, end, [line_span(some)]))


def _options(found: pl.DataFrame, clock: State) -> set[str]:
    """Return the options that the output shows."""
    shown = {"-H"} if found["lwp"].null_count() < len(found) else set()
    small = found.filter(pl.col("s1").str.len_chars() < pl.lit(len(f"{EPOCH_S}.")) + 6)
    mode = "R" if clock.get("mode") == "T" and len(small) else clock.get("mode")
    return shown | ({f"-{mode}"} if mode else set())
