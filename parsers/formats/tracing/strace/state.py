"""The state of one strace being read: joined halves, threads and their process, and what is carried from block to block."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl

from parsers.formats.tracing.shared import c_arguments as strace_args
from parsers.formats.tracing.shared.call_rows import EVENT, CallRows
from parsers.formats.tracing.shared.syscall_args import WITH_FD
from parsers.formats.tracing.strace import patterns as sl
from parsers.formats.tracing.strace.clock import Clock
from parsers.formats.tracing.strace.counts import Counts
from parsers.formats.tracing.strace.records import ATTACHED, GRAMMAR, OPENED, START, Text, classify
from parsers.repair import traces
from parsers.tables.rows import State, Tables
from parsers.text.inline_polars import in_order, where, without
from parsers.text.source import Source

HELD_LINES = 500
"""Maximum number of lines that an incomplete record at the end of a block waits for its rest."""
MAX_OPEN = 20_000
MAX_NAMES = 5000

_OPEN = {**sl.RECORD, "seq": pl.Int64, "t": pl.Float64, "domain": pl.Int64}
_BORN = r"CLONE_THREAD"


Ready = tuple[pl.DataFrame, tuple[pl.DataFrame, pl.DataFrame]]
"""The lines of a block, and the same lines split by `patterns.cut`."""


class Trace:
    """Reads one part block by block and keeps its state between blocks."""

    def __init__(self, source: Source, out: Tables, state: State) -> None:
        self.out = out
        self.state: State = {
            "seq": 0,
            "threads": {},
            "root": None,
            "attached": [],
            "seen": [],
            "exited": [],
            "gap": None,
            **state,
        }
        self.shape = sl.Shape(**state["shape"]) if state.get("shape") else None
        self.counts = Counts.from_json(state.get("counts"))
        self.clock = Clock(out, state.get("clock", {}), source.hints)
        self.rows = CallRows(out, state.get("rows", {}), strace_args.fill)
        self.open = pl.DataFrame(state.get("open", []), schema=_OPEN, orient="row")
        self.held = _frame([(n, t) for n, t in state.get("held", [])])
        self.complete = False
        """Whether the part was read at once, with nothing waiting."""
        self.named = _pid_of_name(source.text.name)
        self.options: list[str] = state.get("options", [])
        if source.hints.command and re.search(r"(?:^|[/ \t])strace[ \t]", source.hints.command):
            self.options += [
                o for o in re.findall(r"(?<=\s)--?[A-Za-z][A-Za-z-]*", source.hints.command) if o not in self.options
            ]

    # Lines of a part

    def read_whole(self, frame: pl.DataFrame) -> None:
        """Read a small part that is complete; repair the damage of a paste."""
        self.complete = True
        frame = _physical(frame)
        self._learn(frame["line"])
        counts = Counts.from_json(self.counts.as_json())
        text = classify(frame, sl.cut(frame, self.shape), counts, last=True)
        if not text.unread and not text.cut_call:
            self.counts = counts
            self._read(text, last=True)
            return
        pieces = traces.repair(frame.select_seq("line_no", "line").iter_rows(), GRAMMAR)
        for p in pieces:
            if p.how:
                self.out.note(p.line_no, p.line_end, "repaired", "; ".join(dict.fromkeys(p.how)))
            if p.line_end > p.line_no and GRAMMAR.complete.search(p.text):
                self.out.read(range(p.line_no, p.line_end + 1))
        rows = [(p.line_no, p.line_end, p.pos, p.text) for p in pieces]
        frame = pl.DataFrame(rows, schema=frame.schema, orient="row")
        self._learn(frame["line"])
        self.read_part(self._cut(frame), last=True)

    def ready(self, block: pl.DataFrame) -> list[Ready]:
        """Split one block, in file order; its last record waits for lines that may belong to it.

        May run in another thread than `read_part`.
        """
        frame = pl.concat([self.held, _physical(block)])
        self._learn(frame["line"])
        tail = frame["line"].tail(HELD_LINES).to_list()
        behind = next((i for i, line in enumerate(reversed(tail), 1) if START.match(line)), 1)
        self.held = frame.tail(behind)
        return self._cut(frame.head(len(frame) - behind))

    def _cut(self, frame: pl.DataFrame) -> list[Ready]:
        return [(frame, sl.cut(frame, self.shape))]

    def read_part(self, ready: list[Ready], *, last: bool = False) -> None:
        """Read what `ready` has split; it is taken out of the list so that its memory is freed early."""
        self._read(classify(*ready.pop(), self.counts, last=last), last=last)

    def _learn(self, lines: pl.Series) -> None:
        if self.shape is None:
            self.shape = sl.shape_of(lines)

    def _read(self, text: Text, *, last: bool) -> None:
        self._report(text)
        gaps = np.array(sorted(({self.state["gap"]} - {None}) | set(text.gaps)), np.int64)
        records = text.records
        if self.counts.done:
            self._total_rows()
        if len(records):
            records = records.with_columns_seq(
                (pl.int_range(pl.len(), dtype=pl.Int64) + self.state["seq"] + 1).alias("seq")
            )
            self.state["seq"] += len(records)
            records = self.clock.stamp(records, gaps)
            records = self._whose(records, text)
        else:
            records = self.open.clear()
        self._stacks(text, records)
        if text.gaps:
            self.state["gap"] = max(text.gaps)
        events = [self._events(self._halves(records.select_seq(list(_OPEN))), records, last=last)]
        del text, records  # they are as large as the events
        self.rows.add(events.pop(), gaps, last=last)

    def _report(self, text: Text) -> None:
        """Account for lines that become no rows of calls or signals, and remember what they state."""
        out = self.out
        out.account("elided", text.gaps)
        out.read(text.read)
        for note in text.notes:
            out.note(*note)
        if text.tools:
            schema = {"line_no": pl.Int64, "line_end": pl.Int64, "pid": pl.Int64, "text": pl.String}
            out.add(
                "logs", pl.DataFrame(text.tools, schema=schema).with_columns_seq(source=pl.lit("tool")), span="ends"
            )
        self.state["attached"] = [*self.state["attached"], *text.born][-MAX_NAMES:]
        self.options.extend(o for o in text.options if o not in self.options)
        if text.cut_call:
            self._cut_call(text.cut_call, text)

    def _cut_call(self, cut: dict[str, Any], text: Text) -> None:
        """Report the last line of the file as an open call: it has no end.

        It was open when the trace ended if a person interrupted it, or if it is all that the thread shows since strace was
        attached: strace prints the call in which it finds a thread. Else the file may have been cut there.
        """
        parts = pl.DataFrame([cut]).with_columns_seq(line=pl.col("line") + sl.UNFINISHED)
        found, _ = sl.cut(parts.select_seq("line_no", "line_end", "pos", "line"), None)
        if len(found):
            row = found.row(0, named=True)
            pid = row["tid"]
            row = {
                "line_no": cut["line_no"],
                "line_end": cut["line_end"],
                "pid": pid,
                "lwp": pid,
                "name": row["name"],
                "args": row["args"],
            }
            schema = {"pid": pl.Int64, "lwp": pl.Int64, "name": pl.String, "args": pl.String}
            before = len(where(text.records, pl.col("tid").eq_missing(pl.lit(pid, pl.Int64))))
            first = before == 0 and (pid not in self.state["seen"] if pid is not None else self.state["seq"] == 0)
            stands = text.interrupted or (first and bool(self.state["attached"]))
            made = pl.DataFrame([row], schema_overrides=schema)
            self.out.add("open_calls", made.with_columns_seq(state=pl.lit("unfinished" if stands else "truncated")))

    # Threads

    def _whose(self, records: pl.DataFrame, text: Text) -> pl.DataFrame:
        """Assign bare lines to their thread: on stderr the first process has no `[pid N]` while it is the only one."""
        state, tid = self.state, pl.col("tid")
        seen = set(state["seen"]) | set(records["tid"].drop_nulls().unique().to_list())
        bare = where(records, tid.is_null())
        if state["root"] is None and len(bare):
            state["root"] = self._root(bare, seen)
            if state["root"] is not None:
                # Its events of earlier blocks had no known thread until now.
                root_now = pl.lit(state["root"], pl.Int64)
                self.rows.carried = self.rows.carried.with_columns_seq(
                    who=pl.when(pl.col("who") == -1).then(root_now).otherwise("who")
                )
                self.open = self.open.with_columns_seq(tid=tid.fill_null(root_now))
        gone = where(records, (pl.col("kind") == "exit") & tid.is_not_null()).select_seq("tid", "line_no").rows()
        exited = [*state["exited"], *gone][-MAX_NAMES:]
        state["seen"], state["exited"] = sorted(seen)[-MAX_NAMES:], exited
        if not len(bare) or state["root"] is None:
            return records
        root = state["root"]
        records = records.with_columns_seq(bare=tid.is_null())
        left = next((line for who, line in exited if who == root), None)
        rest = seen - {who for who, _ in exited}
        after = next(iter(rest)) if len(rest) == 1 else None
        mine = pl.lit(True) if left is None else pl.col("line_no") < left
        records = records.with_columns_seq(
            pl.when(~pl.col("bare"))
            .then(tid)
            .when(mine)
            .then(pl.lit(root))
            .otherwise(pl.lit(after, pl.Int64))
            .alias("tid")
        )
        return without(records, "bare")

    def _root(self, bare: pl.DataFrame, seen: set[int]) -> int | None:
        """Find the process of bare lines: by its own calls, as the only number without a message about its start, or by
        the file's name.
        """
        own_calls = bare.filter(
            pl.col("name").is_in(("set_tid_address", "getpid", "gettid")) & (pl.col("kind") == "full")
        )
        pids = own_calls["val"].str.to_integer(base=10, strict=False).drop_nulls().unique()
        if len(pids) == 1:
            return int(pids[0])
        made = bare.filter(pl.col("name").is_in(("clone", "clone3", "fork", "vfork")))["val"]
        made = made.str.to_integer(base=10, strict=False).drop_nulls()
        strangers = seen - set(self.state["attached"]) - set(made.to_list())
        if len(strangers) == 1:
            return strangers.pop()
        if not seen and self.named is not None:
            line = int(bare["line_no"][0])
            self.out.note(line, line, "remark", f"process {self.named} by the file's name (strace -ff)")
            return self.named
        return None

    # Calls

    def _halves(self, records: pl.DataFrame) -> pl.DataFrame:
        """Join first and second halves; return whole calls with `t_end` and `pair`. Open halves are kept."""
        whole = where(records, pl.col("kind") == "full").with_columns_seq(
            t_end=pl.lit(None, pl.Float64), open_end=pl.col("line_end"), pair=pl.lit("whole")
        )
        halves = where(records, pl.col("kind").is_in(("open", "resumed", "detached")))
        if halves.is_empty():
            return whole
        both = in_order(pl.concat([self.open, halves]), "tid", "seq")
        # The second half stands in the next line of the same thread and has the same name.
        place = ("kind", "name", "line_no", "line_end", "pos", "seq", "t", "domain", "args", "comm")
        same_thread = pl.col("tid").eq_missing(pl.col("tid").shift(1)) & (pl.int_range(pl.len()) > 0)
        both = both.with_columns_seq(same_thread.alias("goes_on"))
        both = both.with_columns_seq(pl.when("goes_on").then(pl.col(c).shift(1)).alias(f"b_{c}") for c in place)
        both = both.with_columns_seq(
            ((pl.col("kind") == "resumed") & (pl.col("b_kind") == "open") & (pl.col("b_name") == pl.col("name")))
            .fill_null(False)
            .alias("pair"),
            (~pl.col("goes_on").shift(-1, fill_value=False)).alias("last"),
        )
        firsts = both.with_columns_seq(
            (~pl.col("last") & pl.col("pair").shift(-1, fill_value=False)).alias("done"),
            pl.when(~pl.col("last")).then(pl.col("line_no").shift(-1)).alias("next_line"),
        )
        firsts = where(firsts, pl.col("kind") != "resumed")
        ended = where(firsts, ~pl.col("last") | (pl.col("kind") == "detached"))
        self._open_rows(ended.with_columns_seq(pl.when("done").then("next_line").alias("done_line")))
        self.open = where(firsts, pl.col("last") & (pl.col("kind") == "open")).select_seq(list(_OPEN))
        self.open = in_order(self.open, "seq")
        if len(self.open) > MAX_OPEN:
            self._open_rows(self.open.head(-MAX_OPEN).with_columns_seq(done_line=pl.lit(None, pl.Int64)))
            self.open = self.open.tail(MAX_OPEN)
        self.out.read(self.open["line_no"])
        pair, same = pl.col("pair"), pl.col("b_domain") == pl.col("domain")
        joined = pl.concat_str("b_args", pl.col("args").str.strip_chars(" "))
        second = where(both, pl.col("kind") == "resumed").with_columns_seq(
            pl.when(pair).then(pl.when(same).then("t")).otherwise("t").alias("t_end"),
            pl.col("line_end").alias("open_end"),
            pl.when(pair).then(joined).otherwise(pl.col("args").str.strip_chars_start(" ")).alias("args"),
            pl.when(pair).then(pl.lit("pair")).otherwise(pl.lit("orphan")).alias("pair"),
            *(pl.when(pair).then(f"b_{c}").otherwise(c).alias(c) for c in ("line_no", "pos", "seq", "t", "domain", "comm")),
        )  # fmt: skip
        return in_order(pl.concat([whole, second.select_seq(whole.columns)]), "line_end", "pos")

    def _open_rows(self, frame: pl.DataFrame) -> None:
        if frame.is_empty():
            return
        rows = in_order(frame, "seq").select_seq(
            "line_no", "line_end", "seq", self._process().alias("pid"), pl.col("tid").alias("lwp"), "name",
            pl.col("args").str.strip_chars_end(" ").alias("args"),
            pl.col("args").str.extract(r"^([0-9]+)(?:<|,|$)", 1).str.to_integer(base=10, strict=False).alias("fd"),
            pl.lit("unfinished").alias("state"), "done_line",
        )  # fmt: skip
        fds = pl.when(pl.col("name").is_in(WITH_FD)).then("fd").alias("fd")
        self.out.add("open_calls", rows.with_columns_seq(fds))

    def _process(self) -> pl.Expr:
        """Return the process of a thread: the process that cloned it, else the thread itself."""
        threads = self.state["threads"]
        return pl.col("tid").replace([int(t) for t in threads], list(threads.values())) if threads else pl.col("tid")

    def _events(self, calls: pl.DataFrame, records: pl.DataFrame, *, last: bool) -> pl.DataFrame:
        """Return events of calls, signals and exits, in order of their last lines."""
        cloned = where(
            where(calls, pl.col("args").str.contains(_BORN, literal=True)), pl.col("val").str.contains("^[1-9]")
        )
        threads = self.state["threads"]
        for parent, child in cloned.select_seq("tid", pl.col("val").cast(pl.Int64, strict=False)).iter_rows():
            if parent is not None:
                threads[str(child)] = threads.get(str(parent), parent)
        for old in list(threads)[: max(0, len(threads) - MAX_OPEN)]:
            del threads[old]
        orphan, timed = pl.col("pair") == "orphan", pl.col("elapsed").is_not_null()
        apart = (pl.col("t_end") - pl.col("t")).round(9)
        common = [pl.col("tid").fill_null(-1).alias("who"), self._process().alias("pid"), pl.col("tid").alias("lwp")]
        done = calls.select_seq(
            "line_no", "line_end", "pos", "seq", pl.lit("call").alias("kind"), *common, "comm",
            pl.when(orphan & timed).then((pl.col("t") - pl.col("elapsed")).round(9)).otherwise("t").alias("t"), "domain",
            pl.when(orphan & ~timed).then(pl.lit("end")).otherwise(pl.lit("start")).alias("stamp"),
            pl.col("since").alias("delta"), "name", "args", "ret_text", "val", "err",
            pl.when(timed).then("elapsed").when(pl.col("pair") == "pair").then(apart).alias("elapsed"),
            timed.alias("measured"), pl.lit(None, pl.Float64).alias("cpu"),
            pl.when(pl.col("ret_text") == "?").then(pl.lit("no_return")).otherwise(pl.lit("done")).alias("state"),
            pl.col("tid").is_not_null().alias("traced_f"),
        )  # fmt: skip
        others = where(records, pl.col("kind").is_in(("signal", "exit")))
        if others.is_empty():
            return done.select_seq(list(EVENT))
        signals = others.with_columns_seq(*common)
        self.out.add("signals", strace_args.signal_rows(signals))
        marks = signals.with_columns_seq(pl.lit(None, t).alias(c) for c, t in EVENT.items() if c not in signals.columns)
        return in_order(pl.concat([done.select_seq(list(EVENT)), marks.select_seq(list(EVENT))]), "line_end", "pos")

    def _stacks(self, text: Text, records: pl.DataFrame) -> None:
        """Write a row for each run of stack lines (-k); it belongs to the record right above."""
        stacks = text.stacks
        if stacks.is_empty():
            return
        runs = stacks.with_columns_seq((pl.col("line_no") - pl.int_range(pl.len())).alias("run"))
        frames = pl.col("line").str.strip_chars_start(" >").str.replace(r" \[0x[0-9a-f]+\]$", "")
        rows = runs.group_by("run", maintain_order=True).agg(
            pl.col("line_no").first(), pl.col("line_no").last().alias("line_end"), frames.alias("frames")
        )
        owners = records.select_seq(
            (pl.col("line_end") + 1).alias("line_no"),
            "name",
            self._process().alias("pid"),
            pl.col("tid").alias("lwp"),
            "comm",
        )
        owners = owners.unique("line_no", keep="last")
        rows = rows.join(owners, on="line_no", how="left", maintain_order="left")
        self.out.add(
            "profile_stacks",
            rows.select_seq(
                "line_no", "line_end", pl.col("name").alias("event"), pl.lit(1.0).alias("weight"), pl.lit("count").alias("unit"), "pid",
                "lwp", "comm", "frames", pl.col("frames").list.first().alias("leaf"), pl.lit(False).alias("kernel"),
                pl.col("name").is_not_null().alias("complete"),
            ),
        )  # fmt: skip

    def _total_rows(self) -> None:
        """Write the rows of a summary table, and its totals as facts."""
        short = {o for o in self.options if not o.startswith("--")}
        wall = any("w" in o for o in short) or "--summary-wall-clock" in self.options
        kind = "wall" if wall else "cpu" if self.options else "unknown"
        if self.counts.rows:
            rows = [{**r, "complete": bool(r["complete"]), "total_kind": kind} for r in self.counts.rows]
            self.out.add("syscall_totals", pl.DataFrame(rows, infer_schema_length=None))
        for name, value in self.counts.totals.items():
            self.out.fact(f"counts_{name}", value)
        self.counts = Counts()

    def close(self, *, last: bool) -> State:
        """End a run of blocks and return the state; with `last`, read waiting lines and report open calls."""
        if last:
            held, self.held = self.held, self.held.clear()
            if not self.complete:
                self.read_part(self._cut(held), last=True)
            self._open_rows(self.open.with_columns_seq(done_line=pl.lit(None, pl.Int64)))
            self.open = self.open.clear()
            if self.counts.rows:
                self._total_rows()
        elif len(self.held):
            self._end_run()
        self._facts()
        shape = self.shape
        return {
            **self.state,
            "shape": vars(shape) if shape else None,
            "counts": self.counts.as_json(),
            "clock": self.clock.state,
            "rows": self.rows.state(),
            "open": [list(r) for r in self.open.iter_rows()],
            "held": [list(r) for r in self.held.select_seq("line_no", "line").iter_rows()],
            "options": self.options,
        }

    def _end_run(self) -> None:
        """Keep lines for the next run only if they belong to a record: they count as read here."""
        first = self.held["line"][0]
        torn = OPENED.match(first) and (ATTACHED.match(first) or not GRAMMAR.complete.search(first))
        stacked = len(self.held) > 1 and self.held["line"][1:].str.contains(r"^ ?> \S").all()
        if not torn and not stacked:
            held, self.held = self.held, self.held.clear()
            self.read_part(self._cut(held))
        self.out.read(self.held["line_no"])

    def _facts(self) -> None:
        shape, options = self.shape, list(self.options)
        if shape:
            shown = {
                "-f": shape.who != "",
                "-t": shape.time == "clock" and not shape.fine,
                "-tt": shape.time == "clock" and shape.fine,
                "-ttt": shape.time == "epoch",
                "-r": shape.since,
                "-i": shape.pointer,
            }
            options += [o for o, there in shown.items() if there and o not in options]
            self.out.fact("stamp", "start")
        if options:
            self.out.fact("tool_opts", options)


def _pid_of_name(name: str) -> int | None:
    """Return the process of a file that strace -ff wrote, `NAME.PID`; a low number belongs to a rotated log."""
    found = re.search(r"\.([0-9]{3,7})$", name)
    return int(found[1]) if found else None


def _frame(lines: list[tuple[int, str]]) -> pl.DataFrame:
    return _physical(pl.DataFrame(lines, schema={"line_no": pl.Int64, "line": pl.String}, orient="row"))


def _physical(frame: pl.DataFrame) -> pl.DataFrame:
    """Give physical lines the columns of records: last line, place within the line."""
    return frame.select_seq("line_no", pl.col("line_no").alias("line_end"), pl.lit(0, pl.Int64).alias("pos"), "line")
