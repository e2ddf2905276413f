"""Divide a traced request into parts, and follow its waits into the processes waited for.

The intervals between completions of the request's thread are its own code, a call, or time over which lines are
missing. A wait for a child, a pipe or a lock is replaced by what the other thread did in the same interval,
recursively; what that thread does not cover stays with the wait. All times are whole nanoseconds, so the parts add up
to the request exactly.

A wait for an answer on a connection may be followed into another trace (`answers`), which has another clock. It is
replaced by the part of the server's work that is inside the wait for every possible position of that work between
question and answer; the rest stays with the wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from rules.derived.call_profile import intervals
from rules.derived.derived_table import CaseTables, nanoseconds, seconds
from rules.walking.targets import ACCEPTS, CALL, POLLS, makers, with_targets
from rules.walking.threads import DONE_S, ENDS, READ_NAMES, TIMED

DEPTH: Final = 8
"""Maximum depth to which waits are followed; a listener's double fork needs three."""

FOLLOW: Final = 0.01
"""Minimum share of the request from which a wait is followed."""

SLACK_NS: Final = 1_000_000
"""Maximum delay in nanoseconds of a waker's stamp after the waiter's."""

OWN, LOST, IDLE = "own code", "not traced", "idle"
"""Kinds of parts in addition to those of `rules.walking.targets`: between calls; lines are missing; waiting for new
work.
"""

ASKED: Final = ("socket", "name service", "poll")
"""Kinds of waits that an answer on a connection may end."""

TO: Final = ("to_artifact", "to_clock", "to_pid", "to_lwp")
"""Columns that identify the thread waited for."""

Thread = tuple[int, str | None, int, int | None]
"""Artifact, clock, pid and lwp of a thread."""

COLUMNS = list(dict.fromkeys([*CALL, *TIMED, "cpu_s", "bytes"]))
KEPT = ["kind", "target", "side", "waited_pid", "err", "ret", "arg_addr", "contiguous"]
NEEDED = ["line_no", "done_ns", "call_ns", "rest_ns", "lost", "name", "cpu_s", *KEPT]

LARGE: Final = 1_000_000
"""Number of calls from which an artifact is large: the size of its requests is checked first, and long ones are read in
pieces.
"""

PIECE: Final = 250_000
"""Maximum number of calls that are held in memory with all their columns."""


@dataclass(frozen=True)
class Window:
    """A stretch of one thread: nanoseconds after `begin` up to `end`; `line` is the line that ends at `begin`, if
    known.

    Rows that end after `end` but not after `until` are clipped at `end`; without `until` they are left out.
    """

    artifact: int
    clock: str | None
    pid: int
    lwp: int | None
    begin: int
    end: int
    line: int | None = None
    until: int | None = None

    @property
    def read_to(self) -> int:
        return self.end if self.until is None else max(self.end, self.until)


@dataclass(frozen=True)
class Answer:
    """Who answered on a connection.

    In the client's nanoseconds, the question left at `asked` at the earliest and the answer was read at `got`. `server`
    is, in the server's nanoseconds, the stretch from the read of the question to the begin of the answer's write.
    """

    asked: int
    got: int
    peer: str
    server: Window


Line = tuple[int, str | None, int]
"""Artifact, clock and line of a wait."""


class Walker:
    """Divides requests of one case into parts. Descriptor makers, births and pipe messages are read once."""

    def __init__(self, case: CaseTables, answers: Mapping[Line, Answer] | None = None) -> None:
        self.case = case
        self.answers = answers or {}
        self.asked: dict[tuple[int, str | None], list[int]] = {}
        for artifact, clock, line in self.answers:
            self.asked.setdefault((artifact, clock), []).append(line)
        self.made = makers(case)
        self.births = case.derived("proc_tree")
        pairs = case.derived("pipe_pairs").select("artifact_id", "clock", "line_read", "writer_pid", "t_write")
        self.writers = {(artifact, clock, line): (pid, at) for artifact, clock, line, pid, at in pairs.iter_rows()}
        begins = case.scan("syscalls", ["dur_hi_s"], ~ENDS).select(pl.col("dur_hi_s").max())
        self.longest_s: float = begins.collect(engine="streaming").item() or 0.0
        sizes = case.scan("syscalls", ["artifact_id"]).group_by("artifact_id").len().filter(pl.col("len") > LARGE)
        self.large = set(sizes.collect(engine="streaming")["artifact_id"])

    def parts(self, window: Window) -> Iterator[dict[str, Any]]:
        """Yield the parts of a request.

        Parts with `followed` are waits whose own parts come after them; do not add them up.
        """
        yield from self._parts(window, 0, (window.end - window.begin) * FOLLOW, frozenset())

    def _parts(self, window: Window, level: int, least: float, seen: frozenset[Thread]) -> Iterator[dict[str, Any]]:
        rows = self._rows(window)
        trace = window.artifact, window.clock
        place = {"level": level, "pid": window.pid, "lwp": window.lwp, "in_artifact": trace[0], "in_clock": trace[1]}
        if rows.is_empty():
            return
        covered: int = rows.select(pl.col("call_ns").sum() + pl.col("rest_ns").sum()).item()
        kinds = pl.col("kind").is_in(["child", "pipe", "lock"])
        kinds |= pl.col("kind").is_in(ASKED) & pl.col("line_no").is_in(self.asked.get(trace, []))
        waits = rows.filter((pl.col("call_ns") >= least) & kinds) if level < DEPTH else rows.clear()
        followed: list[int] = []
        deeper: list[dict[str, Any]] = []
        mine = seen | {(*trace, window.pid, window.lwp)}
        for row in waits.iter_rows(named=True):
            other = self._other(window, row)
            if other is None or (other.artifact, other.clock, other.pid, other.lwp) in mine:
                continue
            inner = list(self._parts(other, level + 1, least, mine))
            inside = sum(p["ns"] for p in inner if not p["followed"])
            if inside <= 0:
                continue
            followed.append(row["line_no"])
            to = {"to_artifact": other.artifact, "to_clock": other.clock, "to_pid": other.pid, "to_lwp": other.lwp}
            deeper.append({**place, **_of_row(row), "followed": True, **to})
            if row["call_ns"] > inside:
                deeper.append({**place, **_of_row(row), "ns": row["call_ns"] - inside, "followed": False, **to})
            deeper += inner
        rest = rows.filter(~pl.col("line_no").is_in(followed))
        loose = rows.with_columns(
            pl.when(pl.col("line_no").is_in(followed)).then(0).otherwise("call_ns").alias("call_ns")
        )
        yield from ({**place, "followed": False, **dict.fromkeys(TO), **p} for p in _grouped(rest, loose, least))
        yield from deeper
        if level == 0 and window.end - window.begin > covered:
            lost = {
                "kind": LOST,
                "name": LOST,
                "n": 0,
                "ns": window.end - window.begin - covered,
                "line_no": rows["line_no"][-1],
                "line_end": rows["line_no"][-1],
            }
            yield {**place, **_BLANK, **lost, "followed": False}

    def _rows(self, window: Window) -> pl.DataFrame:
        """Return the targeted intervals of one thread, clipped to the window.

        `call_ns` is the call, `rest_ns` own code, or lost time where `lost`.
        """
        pieces = self._pieces(window) if window.artifact in self.large else [window]
        rows = [made for piece in pieces if not (made := self._intervals(piece)).is_empty()]
        return _ended_by(pl.concat(rows, how="vertical_relaxed")) if rows else pl.DataFrame()

    def _pieces(self, window: Window) -> list[Window]:
        """Return the window, divided at completions of its thread if it holds more than PIECE of them."""
        ends = self.case.scan("syscalls", ["lwp", *TIMED], _within(window, self.longest_s))
        done = ends.select("lwp", nanoseconds(DONE_S).alias("done_ns")).collect(engine="streaming")
        if done.height <= PIECE:
            return [window]
        lwp: int | None = done.select(pl.col("lwp").min()).item() if window.lwp is None else window.lwp
        own = done.filter(
            pl.col("lwp").eq_missing(lwp) & pl.col("done_ns").is_between(window.begin, window.end, "none")
        )
        borders = own["done_ns"].sort().gather_every(PIECE, PIECE).unique(maintain_order=True).to_list()
        spans = zip([window.begin, *borders], [*borders, window.end], strict=True)
        return [
            replace(
                window,
                lwp=lwp,
                begin=begin,
                end=end,
                line=window.line if begin == window.begin else None,
                until=window.until if end == window.end else None,
            )
            for begin, end in spans
        ]

    def _intervals(self, window: Window) -> pl.DataFrame:
        calls = self.case.table("syscalls", COLUMNS, _within(window, self.longest_s))
        if calls.is_empty():
            return calls
        calls = with_targets(calls.with_columns(nanoseconds(DONE_S).alias("done_ns")), self.made, self.births).drop(
            "done_ns"
        )
        rows = intervals(calls, KEPT)
        if window.lwp is None and rows.height:
            rows = rows.filter(pl.col("lwp").eq_missing(rows["lwp"].min()))
        start = pl.col("done_ns") - pl.col("whole_ns")
        cut = (window.begin - start).clip(lower_bound=0)
        rest = (pl.col("rest_ns") - cut).clip(lower_bound=0)
        spare = (cut - pl.col("rest_ns")).clip(lower_bound=0)
        rows = rows.filter((pl.col("done_ns") > window.begin) & (pl.col("done_ns") <= window.read_to)).with_columns(
            (pl.col("call_ns").fill_null(0) - spare).clip(lower_bound=0).alias("call_ns"), rest.alias("rest_ns")
        )
        return _cut(rows, window.end).select(NEEDED)

    def _other(self, window: Window, row: dict[str, Any]) -> Window | None:
        """Return the stretch of the thread waited for over the same interval, or None if the trace does not show it."""
        begin, end = row["done_ns"] - row["call_ns"], row["done_ns"]
        if row["kind"] == "child" and row["waited_pid"] is not None:
            return Window(window.artifact, window.clock, row["waited_pid"], None, begin, end)
        if row["kind"] == "pipe":
            writer = self.writers.get((window.artifact, window.clock, row["line_no"]))
            if writer is not None:
                return Window(window.artifact, window.clock, writer[0], None, begin, min(end, round(writer[1] * 1e9)))
        answer = self.answers.get((window.artifact, window.clock, row["line_no"]))
        if answer is not None and row["kind"] in ASKED and row["target"] in (None, answer.peer):
            # Use only the server's work that is inside this wait for every possible position between question and
            # answer.
            server, before, after = answer.server, max(begin - answer.asked, 0), max(answer.got - end, 0)
            first, last = server.begin + before, min(server.end - after, server.begin + before + row["call_ns"])
            return replace(server, begin=first, end=last) if first < last else None
        if row["kind"] == "lock" and row["arg_addr"] is not None and row["err"] is None:
            woke = self.case.table(
                "syscalls",
                ["pid", "lwp", "t_local", "stamp", "dur_hi_s"],
                (pl.col("artifact_id") == window.artifact)
                & pl.col("clock").eq_missing(pl.lit(window.clock, pl.String))
                & (pl.col("arg_addr") == row["arg_addr"])
                & pl.col("args").str.contains("WAKE|UNPARK|unpark")
                & (pl.col("lwp") != window.lwp)
                & (nanoseconds(pl.col("t_local")) > begin)
                & (nanoseconds(pl.col("t_local")) <= end + SLACK_NS),
            ).sort("t_local")
            if woke.height:
                by = woke.row(woke.height - 1, named=True)
                return Window(window.artifact, window.clock, by["pid"], by["lwp"], begin, end)
        return None


_BLANK: dict[str, Any] = dict.fromkeys(
    ("target", "max_ns", "cpu_s", "timeouts", "errors", "line_max", "contiguous", *TO)
)


def _within(window: Window, longest_s: float) -> pl.Expr:
    """Return the condition for rows of a window's thread that end in it, or begin at most `longest_s` before its end."""
    here = (
        (pl.col("artifact_id") == window.artifact)
        & pl.col("clock").eq_missing(pl.lit(window.clock, pl.String))
        & pl.col("pid").eq_missing(pl.lit(window.pid, pl.Int64))
    )
    if window.lwp is not None:
        here &= pl.col("lwp") == window.lwp
    inside = pl.col("t_local").is_between(window.begin / 1e9 - 1e-6, window.read_to / 1e9 + 1e-6)
    # Calls that began before the window may end in it: tools that stamp the start print the duration.
    inside |= (pl.col("t_local") < window.begin / 1e9) & (window.begin / 1e9 - 1e-6 < DONE_S)
    if window.line is not None:
        inside |= pl.col("line_no") == window.line
    # The time range that both conditions imply, in a form that lets whole runs of rows be skipped.
    about = pl.col("t_local").is_between(window.begin / 1e9 - longest_s - 1e-6, window.read_to / 1e9 + 1e-6)
    return here & about & inside


def _cut(rows: pl.DataFrame, end: int) -> pl.DataFrame:
    """Clip rows at `end`: the interval that spans it first loses call time, which is its last part; later ones are
    dropped.
    """
    over = (pl.col("done_ns") - end).clip(lower_bound=0)
    call = (pl.col("call_ns") - over).clip(lower_bound=0)
    rest = (pl.col("rest_ns") - (over - pl.col("call_ns")).clip(lower_bound=0)).clip(lower_bound=0)
    cut = pl.col("done_ns") > end
    cut_rows = rows.with_columns(call.alias("call_ns"), rest.alias("rest_ns"))
    return cut_rows.filter(~cut | (pl.col("call_ns") + pl.col("rest_ns") > 0))


def _ended_by(rows: pl.DataFrame) -> pl.DataFrame:
    """Give a wait on several descriptors the kind of the next read; a timeout is a sleep; waiting for new work is idle."""
    rows = rows.sort("done_ns", "line_no")
    poll = pl.col("name").is_in(POLLS)
    nothing = poll & (pl.col("ret") == 0) & pl.col("err").is_null()
    read_next = pl.col("name").shift(-1).is_in([*READ_NAMES, "recvmmsg"]) & pl.col("kind").shift(-1).is_in(
        ["socket", "pipe", "name service"]
    )
    new_work = pl.col("name").shift(-1).is_in(ACCEPTS) | (read_next & (pl.col("side").shift(-1) == "server"))
    several = pl.col("kind") == "poll"
    kind = (
        pl.when(nothing & several).then(pl.lit("sleep"))
        .when((pl.col("name").is_in(ACCEPTS)) | (poll & new_work.fill_null(value=False))).then(pl.lit(IDLE))
        .when(several & read_next.fill_null(value=False)).then(pl.col("kind").shift(-1))
        .otherwise("kind")
    )  # fmt: skip
    target = pl.when(several & read_next.fill_null(value=False)).then(pl.col("target").shift(-1)).otherwise("target")
    return rows.with_columns(
        kind.alias("kind"), target.alias("target"), nothing.fill_null(value=False).alias("timed_out")
    )


def _of_row(row: dict[str, Any]) -> dict[str, Any]:
    keep = ("kind", "target", "name", "cpu_s")
    sure = "assumed" if (row["contiguous"] or "assumed") == "assumed" else "proven"
    lines = dict.fromkeys(("line_no", "line_end", "line_max"), row["line_no"])
    return {**{k: row[k] for k in keep}, **lines, "contiguous": sure, "n": 1, "ns": row["call_ns"], "max_ns": row["call_ns"],
            "timeouts": int(row["timed_out"]), "errors": int(row["err"] is not None)}  # fmt: skip


def _grouped(calls: pl.DataFrame, all_rows: pl.DataFrame, least: float) -> Iterator[dict[str, Any]]:
    """Yield one part per kind and target (per call if the target is unknown), then own code and lost time.

    Targets that together took less than `least` nanoseconds become one part of their kind, with target NULL.
    """
    # Where lines are missing, only a duration that the tool printed belongs to the call; the rest is lost.
    assumed = (pl.col("contiguous").fill_null("assumed") == "assumed").any()
    groups = calls.filter((pl.col("call_ns") > 0) | ~pl.col("lost")).with_columns(
        pl.when(pl.col("target").is_null()).then("name").alias("nameless")
    )
    small = pl.col("call_ns").sum().over(["kind", "target", "nameless"]) < least
    groups = groups.with_columns(
        pl.when(~small).then("target").alias("target"), pl.when(~small).then("nameless").alias("nameless")
    )
    made = groups.sort("line_no").group_by(["kind", "target", "nameless"], maintain_order=True).agg(
        pl.col("name").sort_by("call_ns").last(), pl.len().alias("n"), pl.col("call_ns").sum().alias("ns"), pl.col("call_ns").max().alias("max_ns"),
        pl.when(pl.col("cpu_s").is_not_null().any()).then(pl.col("cpu_s").sum()).alias("cpu_s"), pl.col("timed_out").sum().alias("timeouts"),
        pl.col("err").is_not_null().sum().alias("errors"), pl.col("line_no").min(), pl.col("line_no").max().alias("line_end"),
        pl.col("line_no").sort_by("call_ns").last().alias("line_max"), assumed.alias("assumed"),
    )  # fmt: skip
    for row in made.iter_rows(named=True):
        columns = {k: v for k, v in row.items() if k not in ("nameless", "assumed")}
        yield {**columns, "contiguous": "assumed" if row["assumed"] else "proven"}
    for lost, kind in ((False, OWN), (True, LOST)):
        between = all_rows.filter((pl.col("rest_ns") > 0) & (pl.col("lost") == lost))
        if between.height:
            made = between.select(
                pl.col("rest_ns").sum().alias("ns"), pl.col("rest_ns").max().alias("max_ns"), pl.col("line_no").min(),
                pl.col("line_no").max().alias("line_end"), pl.col("line_no").sort_by("rest_ns").last().alias("line_max"),
            )  # fmt: skip
            sure = "broken" if lost else "proven"
            yield {
                **_BLANK,
                "kind": kind,
                "name": kind,
                "n": between.height,
                "contiguous": sure,
                **made.row(0, named=True),
            }


def measured(parts: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return parts as rows with `dur_s`, `share` of `whole` (the request, ns), `mean_s` and `max_s`."""
    return pl.DataFrame(parts, infer_schema_length=None).with_columns(
        seconds(pl.col("ns")).alias("dur_s"),
        (pl.col("ns") / pl.col("whole")).alias("share"),
        pl.when(pl.col("n") > 0).then(seconds(pl.col("ns") / pl.col("n"))).alias("mean_s"),
        seconds(pl.col("max_ns").cast(pl.Int64)).alias("max_s"),
    )
