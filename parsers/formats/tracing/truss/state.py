"""The state of one truss being read: what is carried from block to block, and how lines become rows with clock, gaps and domains."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from parsers.clocks.stamp_falls import LEAST_S
from parsers.formats.tracing.shared import trace_clock
from parsers.formats.tracing.shared.peers import peers
from parsers.formats.tracing.shared.trace_clock import Longs, Marks
from parsers.formats.tracing.truss import patterns as tl
from parsers.formats.tracing.truss import rows
from parsers.formats.tracing.truss.counts import Counts
from parsers.formats.tracing.truss.records import GRAMMAR, Text, classify
from parsers.repair import traces
from parsers.tables.rows import Domain, State, Tables
from parsers.text.inline_polars import in_order, where, without
from parsers.text.times import span_s

HELD_LINES = 500
"""Maximum number of lines that a call at the end of a block waits for the rest of its details."""

MAX_SLEEPERS = 5000
MAX_LWPS = 20000
MAX_DOMAINS = 1000

_RECORD = re.compile(
    rf"{tl.FRONT}(?:{tl.NAME}\(|(?:Received|Stopped by|Continued with) signal #|Incurred fault #|(?:->|<-) )"
)
"""The beginning of a record, complete or not."""


Ready = tuple[tl.Lines, tl.Shape | None, int, int]
"""The split lines of a block, the shape known at that time, its first and its last line."""


class Trace:
    """Reads one part block by block and keeps its state between blocks."""

    def __init__(self, out: Tables, state: State) -> None:
        self.out = out
        self.state = state
        self.shape = tl.Shape(**state["shape"]) if state.get("shape") else None
        self.flags: dict[int, str] = {int(k): v for k, v in state.get("flags", {}).items()}
        self.last: dict[str, list[Any]] = state.get("last", {})
        self.sleeping: dict[str, dict[str, Any]] = state.get("sleeping", {})
        self.peers: dict[str, dict[str, list[Any]]] = state.get("peers", {})
        self.stacks: dict[str, list[str]] = state.get("stacks", {})
        self.counts = Counts.from_json(state.get("counts"))
        self.bases: list[float] = state.get("bases", [])
        self.options: list[str] = state.get("options", [])
        held = state.get("held", [])
        self.held = _frame([(n, t) for n, t in held])

    # Reading a part as a whole

    def read_whole(self, frame: pl.DataFrame) -> None:
        """Read a small part that is complete: repair the damage of a paste, sort its stretches of stamps."""
        frame = self._of_day(_physical(frame))
        self._learn(frame["line"])
        counts = Counts()
        text = classify(tl.cut(frame, self.shape), self.shape, counts, last=True)
        if not text.unread and not text.cut_call:
            self.counts = counts
        else:
            pieces = traces.repair(frame.select_seq("line_no", "line").iter_rows(), GRAMMAR)
            for p in pieces:
                if p.how:
                    self.out.note(p.line_no, p.line_end, "repaired", "; ".join(dict.fromkeys(p.how)))
            frame = pl.DataFrame(
                [(p.line_no, p.line_end, p.pos, p.text) for p in pieces], schema=frame.schema, orient="row"
            )
            self.shape = None
            self._learn(frame["line"])
            text = classify(tl.cut(frame, self.shape), self.shape, self.counts, last=True)
        self._report(text)
        text.lines = self._timed(text)
        events = self._events(text, text.lines, ties=True)
        parts = (
            trace_clock.stretches(events, np.array(sorted({*text.gaps, *text.breaks}), np.int64)) if len(events) else []
        )
        groups = trace_clock.domains(parts)
        if len(events):
            events = trace_clock.arrange(events, parts, groups)
        self._domains_of_whole(events)
        self._emit(text, self.shape, [events])

    def _domains_of_whole(self, events: pl.DataFrame) -> None:
        if events.is_empty():
            return
        for number, some in events.group_by("domain", maintain_order=True):
            spans = some.group_by("stretch").agg(pl.col("line_no").min(), pl.col("line_end").max()).sort("line_no")
            self._domain(int(str(number[0])), some, list(spans.select_seq("line_no", "line_end").iter_rows()))

    def _domain(self, number: int, events: pl.DataFrame, ranges: list[tuple[int, int]]) -> None:
        """Report a clock domain: its kind, its base as UTC, its span."""
        base = int(events["base"][0] or 0)
        begin, end = span_s(events["t"])
        epoch = self.bases[base - 1] if base else None
        relative = "wall-local" if self.state.get("of_day") else "trace-relative"
        kind = "none" if begin is None else relative if epoch is None else "wall-utc"
        iso = datetime.fromtimestamp(epoch, UTC).isoformat() if epoch is not None else None
        self.out.domain(Domain(number, kind, iso, None, begin, end, ranges))
        if not self.state.get("of_day") or begin is None or end is None:
            return
        # Only a time of day goes back because a clock was set; other stamps count from the beginning of the trace.
        ended, known = self.state.get("ended", (begin, number))
        if number != known and begin < ended - LEAST_S:
            line = ranges[0][0]
            self.out.note(
                line, line, "remark", "stamps go back here: a changed clock, the end of summer time, or another trace"
            )
        self.state["ended"] = (end, number)

    def _of_day(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rewrite stamps that are a time of day (-A) as seconds of the day, in the same width, so that places of secrets stay valid."""
        if "of_day" not in self.state:
            self.state["of_day"] = bool(frame["line"].head(tl.SHAPE_LINES).str.contains(tl.OF_DAY).any())
        if not self.state["of_day"]:
            return frame
        line = pl.col("line")
        cut = line.str.extract_groups(tl.OF_DAY).struct.rename_fields(["front", "stamp", "h", "m", "s", "rest"])
        seconds = sum(
            (pl.col(c).cast(pl.Int64, strict=False) * k for c, k in (("h", 3600), ("m", 60), ("s", 1))), pl.lit(0)
        )
        parts = frame.with_columns_seq(cut.alias("cut")).unnest("cut")
        stamp = pl.format("{}.{}", seconds, pl.col("stamp").str.slice(9, 4))
        # The longest stamp has nine decimals; blanks fill up a shorter one.
        padded = stamp.str.pad_end(18).str.slice(0, pl.col("stamp").str.len_chars())
        rewritten = pl.concat_str("front", padded, "rest")
        return parts.select_seq(
            *(c for c in frame.columns if c != "line"), line=pl.coalesce(rewritten, line)
        ).select_seq(frame.columns)

    # Reading a part block by block

    def ready(self, block: pl.DataFrame) -> list[Ready]:
        """Split one block, in file order; a record that may still get details waits for the next block.

        May run in another thread than `read_part`.
        """
        frame = self._of_day(_physical(block))
        frame = pl.concat([self.held, frame]) if len(self.held) else frame
        self._learn(frame["line"])
        return self._cut(self._hold(frame))

    def _cut(self, frame: pl.DataFrame) -> list[Ready]:
        if frame.is_empty():
            return []
        return [(tl.cut(frame, self.shape), self.shape, int(frame["line_no"][0]), int(frame["line_end"][-1]))]

    def read_part(self, ready: list[Ready], *, last: bool = False) -> None:
        """Read what `ready` has split; it is taken out of the list so that its memory is freed early."""
        if not ready:
            return
        lines, shape, first, last_line = ready.pop()
        text = classify(lines, shape, self.counts, last=last)
        del lines
        self._report(text)
        text.lines = self._timed(text)
        self._emit(text, shape, [self._follow(self._events(text, text.lines, ties=False), first, last_line)])

    def _hold(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Hold back the last record and what follows it, at least the last line: its details may continue in the next block."""
        tail = frame["line"].tail(HELD_LINES).to_list()
        behind = next((i for i, line in enumerate(reversed(tail), 1) if _RECORD.match(line)), 1)
        self.held = frame.tail(behind)
        return frame.head(len(frame) - behind)

    def _hold_record(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Hold back the last record if only its details follow it, so that all held lines belong to a row."""
        lines = tl.cut(frame, self.shape)
        begins = pl.concat([f.select_seq("line_no") for f in (lines.calls, lines.signals, lines.functions)])["line_no"]
        self.held = frame.clear()
        if len(begins):
            first = int(begins.to_numpy().max())
            owned = rows.details(lines).filter(pl.col("o_line") == first)
            if len(owned) == len(frame.filter(pl.col("line_no") > first)):
                self.held = frame.filter(pl.col("line_no") >= first)
        return frame.head(len(frame) - len(self.held))

    def _follow(self, events: pl.DataFrame, first: int, last: int) -> pl.DataFrame:
        """Append events to those of earlier blocks; a fall within an LWP, another base or number of stamps begins a new domain."""
        number = int(self.state.get("domain", 1))
        carried = self._carried(events.schema)
        events = trace_clock.with_before(pl.concat([carried, events]) if len(carried) else events)
        stamped = np.flatnonzero(events["t"].is_not_null().to_numpy())
        stamped = stamped[stamped >= len(carried)]
        turned = np.zeros(len(stamped), bool)
        for column in ("n", "base"):
            values = events[column].to_numpy()[stamped]
            before = self.state.get(column)
            turned |= np.diff(values, prepend=values[:1] if before is None else before) != 0
        turns = stamped[turned]
        fallen = trace_clock.falls(events)
        falls, fallen_from = fallen["row"].to_numpy(), fallen["before"].to_numpy()
        domain = np.full(len(events), number, np.int64)
        begin, line = 0, first
        while number < MAX_DOMAINS:
            at = [int(rows[0]) for rows in (falls[fallen_from >= begin], turns) if len(rows)]
            if not at:
                break
            cut = min(at)
            turns = turns[turns > cut]
            turn = int(events["line_no"][cut])
            old = events[max(begin, len(carried)) : cut]
            if len(old):
                self._domain(number, old, [(line, turn - 1)])
            number += 1
            domain[cut:] = number
            begin, line = cut, turn
        events = events.with_columns_seq(pl.Series("domain", domain), pl.lit(0).alias("stretch"))
        new = events[max(begin, len(carried)) :]
        if len(new):
            self._domain(number, new, [(line, last)])
            self.state["base"] = new["base"][-1]
        if len(stamped):
            self.state["n"] = events["n"][int(stamped[-1])]
        self.state["domain"] = number
        return events

    def _carried(self, schema: pl.Schema) -> pl.DataFrame:
        """Return the last event of each LWP of earlier blocks as events."""
        fields = ("line_no", "pid", "lwp", "t", "name", "n", "base")
        found = [dict(zip(fields, values, strict=True)) for values in self.last.values()]
        if not found:
            return pl.DataFrame(schema=schema)
        return (
            pl.DataFrame(found, schema={f: schema[f] for f in fields})
            .with_columns_seq(pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in fields)
            .with_columns_seq(fresh=pl.lit(False), died=pl.lit(False), kind=pl.lit("carried"))
            .select_seq(schema.names())
        )

    def _remember(self, events: pl.DataFrame) -> None:
        """Remember the last event of each LWP of the current domain; LWPs that have ended are dropped."""
        domain = events["domain"].to_numpy()
        last = (domain == domain.max()) & events["t"].is_not_null().to_numpy()
        last[events["before"].drop_nulls().to_numpy()] = False
        fields = ("line_no", "pid", "lwp", "t", "name", "n", "base")
        ends = in_order(where(events.select_seq(fields), pl.Series(last)), "line_no").tail(MAX_LWPS)
        self.last = {f"{r[1]}/{r[2]}": list(r) for r in ends.iter_rows() if r[4] not in ("_exit", "lwp_exit")}

    # Used by both ways

    def _learn(self, lines: pl.Series) -> None:
        """Find the shape from the first calls."""
        if self.shape is None:
            self.shape = tl.shape_of(lines)

    def _report(self, text: Text) -> None:
        """Account for the lines that become no rows of calls, and remember what they state."""
        out, state = self.out, self.state
        out.account("elided", text.gaps)
        out.account("prose", text.prose)
        out.account("damaged", text.damaged)
        out.read(text.details["line_no"])
        out.read(text.read)
        for note in text.notes:
            out.note(*note)
        if text.tool_notes:
            out.add(
                "logs",
                pl.DataFrame(text.tool_notes, schema_overrides={"pid": pl.Int64}).with_columns_seq(
                    source=pl.lit("tool")
                ),
            )
        for line, _, epoch in text.bases:
            state.setdefault("base_line", line)
            if epoch not in self.bases:
                self.bases.append(epoch)
        self.options.extend(text.options)
        if text.cut_call:
            state["cut_call"] = text.cut_call

    def _timed(self, text: Text) -> tl.Lines:
        """Join details, give stamps their meaning, add the argument columns."""
        lines, by_owner = text.lines, rows.columns_of_details(text.details)
        columns = ["line_no", "pid", "lwp", "n", "s1", "s2"]
        found = {n for frame in (lines.calls, lines.signals, lines.functions) for n in frame["n"].unique()}
        if not {*self.flags, 0}.issuperset(found):
            stamped = pl.concat(
                [
                    lines.calls.select_seq(*columns, pl.col("returning").is_not_null().alias("fresh")),
                    lines.signals.select_seq(columns).with_columns_seq(fresh=pl.lit(False)),
                    lines.functions.select_seq(columns).with_columns_seq(fresh=pl.lit(False)),
                ]
            )
            guessed = tl.guess_flags(stamped.sort("line_no"), based=bool(self.bases))
            self.flags = {**guessed, **self.flags}
        stamps = rows.time_columns(self.flags)
        calls = rows.arguments(rows.extend(lines.calls, by_owner, *stamps))
        signals, functions = (
            f if f.is_empty() else rows.extend(f, by_owner, *stamps) for f in (lines.signals, lines.functions)
        )
        return tl.Lines(calls, signals, functions, lines.rest)

    def _events(self, text: Text, lines: tl.Lines, *, ties: bool) -> pl.DataFrame:
        """Return the events of a data frame, with the number of their base line; -D alone is summed up per LWP."""
        events = rows.events_of(lines.calls, lines.signals, lines.functions, ties=ties)
        base = np.full(len(events), self.state.get("base_now", 0), np.int64)
        for line, pos, epoch in text.bases:
            self.state["base_now"] = self.bases.index(epoch) + 1
            behind = (pl.col("line_no") > line) | ((pl.col("line_no") == line) & (pl.col("pos") > pos))
            base[events.select_seq(behind).to_series().to_numpy()] = self.state["base_now"]
        events = events.with_columns_seq(pl.Series("base", base))
        if any("d" in flags for flags in self.flags.values()):
            return events
        known = [(r[1], r[2], r[3]) for r in self.last.values()]
        sums = pl.DataFrame(known, schema={"pid": pl.Int64, "lwp": pl.Int64, "before": pl.Float64}, orient="row")
        events = events.join(sums, on=["pid", "lwp"], how="left", nulls_equal=True, maintain_order="left")
        run = pl.col("delta").cum_sum().over("pid", "lwp") + pl.col("before").fill_null(0)
        return events.with_columns_seq(run.round(6).alias("t")).drop("before")

    def _emit(self, text: Text, shape: tl.Shape | None, found: list[pl.DataFrame]) -> None:
        """Write the rows of a data frame in the order of its events; these are taken out of `found` so that memory is freed early."""
        state, lines, events = self.state, text.lines, found.pop()
        marks = Marks(
            _with(state.get("gap_last"), text.gaps),
            _with(state.get("break_last"), text.breaks),
            state.get("base_line") if shape and shape.tabs else None,
        )
        if len(events):
            linked = trace_clock.link(events, marks)
            self._remember(events)
            carried = int((linked["kind"] == "carried").sum())  # carried events come first
            order = linked[carried:].select_seq(
                *rows.KEY, "kind", (pl.int_range(pl.len()) + state.get("seq", 0) + 1).cast(pl.Int64, strict=False).alias("seq"),
                pl.col("t").alias("t_local"), *_LINKED,
            )  # fmt: skip
            del events, linked
            state["seq"] = state.get("seq", 0) + len(order)
            calls = _ordered(lines.calls, order, "call")
            self._open_calls(calls)
            if calls["waits"].null_count() < len(calls):
                calls = calls.filter(pl.col("waits").is_null())
            calls = peers(calls, self.peers)
            self.out.add("syscalls", calls.select_seq(_SYSCALLS))
            if len(lines.signals):
                signals = _ordered(lines.signals, order, "signal").with_columns_seq(t=pl.col("t_local"))
                self.out.add("signals", rows.signal_rows(signals))
            if len(lines.functions):
                functions = _ordered(lines.functions, order, "function").with_columns_seq(t=pl.col("t_local"))
                self.out.add("libcalls", rows.function_rows(functions, self.stacks))
            self._seen(calls, lines.functions, text.details)
        if self.counts.rows and self.counts.section is None:
            self._total_rows()
        for key, lines_of in (("gap_last", text.gaps), ("break_last", text.breaks)):
            if lines_of:
                state[key] = max(lines_of)

    def _open_calls(self, calls: pl.DataFrame) -> None:
        """Match sleeping calls with the line on which they complete: the next one of the same LWP, if it has the same name."""
        waiting = pl.col("waits").is_not_null()
        columns = ["seq", "pid", "lwp", "name", "args", "fd", "line_no", "line_end"]
        if not self.sleeping and not calls.select_seq(waiting.any()).item():
            return
        schema = {c: calls.schema[c] for c in columns}
        before = pl.DataFrame(list(self.sleeping.values()), schema=schema).with_columns_seq(waits=pl.lit("carried"))
        both = pl.concat([before, calls.select_seq(*columns, "waits")]).sort("seq")
        both = both.with_columns_seq(
            pl.col(c).shift(-1).over("pid", "lwp").alias(f"next_{c}") for c in ("seq", "line_no", "name", "waits")
        ).filter(waiting)
        done = both.filter(pl.col("next_seq").is_not_null()).sort("next_seq")
        same = (pl.col("next_name") == pl.col("name")) & pl.col("next_waits").is_null()
        done = done.with_columns_seq(pl.when(same).then("next_line_no").alias("done_line"))
        still = both.filter(pl.col("next_seq").is_null())
        if len(still) > MAX_SLEEPERS:
            lost = still.head(len(still) - MAX_SLEEPERS).with_columns_seq(done_line=pl.lit(None, pl.Int64))
            done, still = pl.concat([done, lost]), still.tail(MAX_SLEEPERS)
        self.out.add("open_calls", done.select_seq(*columns, "done_line", pl.lit("sleeping").alias("state")))
        self.sleeping = {f"{r['pid']}/{r['lwp']}": r for r in still.select_seq(columns).iter_rows(named=True)}
        self.out.read(still["line_no"])

    def _total_rows(self) -> None:
        """Write the rows of a summary table, and its totals as facts."""
        self.out.add("syscall_totals", pl.DataFrame(self.counts.rows))
        for name, value in self.counts.facts.items():
            self.out.fact(f"counts_{name}", value)
        self.counts = Counts()

    def _seen(self, calls: pl.DataFrame, functions: pl.DataFrame, details: pl.DataFrame) -> None:
        """Record the options that the output shows."""
        shown = {
            "-f": calls["pid"].null_count() < len(calls),
            "-l": calls["lwp"].null_count() < len(calls),
            "-u": len(functions) > 0,
            "-v": len(details) > 0
            and bool(details["body"].str.contains(r"^[\t ]*(?:AF_|fd=|semnum=|new:|old:|[a-z]+=)").any()),
        }
        seen = set(self.state.get("seen", [])) | {option for option, there in shown.items() if there}
        self.state["seen"] = sorted(seen)

    def close(self, *, last: bool) -> State:
        """End a run of blocks and return the state; with `last`, read held lines and report calls that still sleep."""
        if last:
            held, self.held = self.held, self.held.clear()
            self.read_part(self._cut(held), last=True)
            self._finish()
        else:
            self.read_part(self._cut(self._hold_record(self.held)))
            self.out.read(self.held["line_no"])
        flags = "".join(dict.fromkeys("".join(self.flags[n] for n in sorted(self.flags, reverse=True))))
        shown = flags.replace("d", "A") if self.state.get("of_day") else flags
        options = [*self.options, *self.state.get("seen", []), *(f"-{flag}" for flag in "AdDE" if flag in shown)]
        if self.shape or options:
            self.out.fact("tool_opts", list(dict.fromkeys(options)))
            self.out.fact("stamp", "end")
        shape = self.shape
        return {
            **self.state,
            "shape": vars(shape) if shape else None,
            "flags": {str(n): text for n, text in self.flags.items()},
            "last": self.last,
            "sleeping": self.sleeping,
            "peers": self.peers,
            "stacks": {k: v for k, v in self.stacks.items() if v},
            "counts": self.counts.as_json(),
            "bases": self.bases,
            "options": list(dict.fromkeys(self.options)),
            "held": [list(r) for r in self.held.select_seq("line_no", "line").iter_rows()],
        }

    def _finish(self) -> None:
        """Report what was open when the part ended."""
        if self.sleeping:
            open_ones = pl.DataFrame(
                list(self.sleeping.values()), schema_overrides={"pid": pl.Int64, "lwp": pl.Int64, "fd": pl.Int64}
            )
            self.out.add("open_calls", open_ones.sort("line_no").with_columns_seq(state=pl.lit("sleeping")))
            self.sleeping = {}
        if row := self.state.pop("cut_call", None):
            self.state["seq"] = self.state.get("seq", 0) + 1
            text = {"name": pl.String, "args": pl.String, "pid": pl.Int64, "lwp": pl.Int64}
            self.out.add("open_calls", pl.DataFrame([{**row, "seq": self.state["seq"]}], schema_overrides=text))
        if self.counts.rows:
            self._total_rows()


_LINKED = ("prev_line", "prev_name", "gap_s", "dur_hi_s", "contiguous")

_SYSCALLS: list[str | pl.Expr] = [
    "line_no", "line_end", "t_local", "seq", "pid", "lwp", "name", "args", "fd", "fd2", "path", "arg_id", "sem_num", "arg_addr",
    "peer_ip", "peer_port", "bytes", "data", "ret", "ret2", "ret_text", "err", "state", "child_pid", "prev_line", "prev_name", "gap_s",
    pl.col("delta").alias("delta_s"), pl.col("cpu").alias("cpu_s"), "dur_hi_s",
    pl.when(pl.col("dur_hi_s").is_null()).then(pl.lit("none")).otherwise(pl.lit("gap")).alias("dur_kind"),
    pl.lit("end").alias("stamp"), "contiguous", pl.col("pid").is_not_null().alias("traced_f"),
]  # fmt: skip


def _ordered(frame: pl.DataFrame, order: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Put a data frame in the order of its events and add their columns; `order` holds the events of all kinds."""
    frame = without(frame, "t")
    if len(order) > len(frame):
        order = order.filter(pl.col("kind") == kind)
    if frame["line_no"].equals(order["line_no"]) and frame["pos"].equals(order["pos"]):
        return frame.hstack(without(order, *rows.KEY, "kind"))
    return without(order, "kind").join(frame, on=rows.KEY, how="left", maintain_order="left")


def _frame(lines: list[tuple[int, str]]) -> pl.DataFrame:
    return _physical(pl.DataFrame(lines, schema={"line_no": pl.Int64, "line": pl.String}, orient="row"))


def _physical(frame: pl.DataFrame) -> pl.DataFrame:
    """Give physical lines the columns of records: last line, place within the line."""
    return frame.select_seq("line_no", pl.col("line_no").alias("line_end"), pl.lit(0, pl.Int64).alias("pos"), "line")


def _with(first: int | None, lines: list[int]) -> Longs:
    return np.array(([] if first is None else [first]) + sorted(lines), np.int64)
