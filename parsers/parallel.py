"""Read one large part on all cores: worker processes parse block runs ahead of time from a guessed state.

To guess the state at the start of run k, a worker parses the last bytes of run k-1, beginning with the newest state
that is certain. When run k-1 is done, its real end state is compared with the guess. If they differ only in counters
(`Format.counters`), the rows are written with corrected counters; otherwise the worker parses the run again from the
real state. So the tables are byte for byte those of one process, in whatever order the workers finish. Only formats
with `split` "lines" are read this way, and where guesses keep failing the rest is read in order.

Workers are plain child processes: a Celery worker may not have multiprocessing children, and Polars must not be forked.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import pyarrow as pa

from parsers.allocator import lean
from parsers.declarations import Counter
from parsers.layout.parts import end_of_fit
from parsers.layout.tails import strange_tail
from parsers.tables import parquet
from parsers.tables.rows import JSON, Batch, Domain, Sink, State, Tables
from parsers.text.notes import LineAccount
from parsers.text.source import Hints, Limits, Position, Source, TextFile, open_text

WARM_BYTES = 2 * 1024 * 1024
"""Maximum number of bytes of the previous run that are parsed to guess the state."""

MISSES = 2
"""Number of wrong guesses in a row after which the rest is read in order."""


def processes(limits: Limits) -> int:
    """Return how many processes read one large part: the limit if there is one, else one for each core of this process."""
    if limits.processes is not None:
        return limits.processes
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Job:
    """Facts that all runs of a part share.

    `module`: name of the format's module, the only one that a worker imports. `own`: patterns of its kind's own lines.
    `rate`: share of lines in the head that match them, if the part is watched, else None.
    """

    path: Path
    name: str
    limits: Limits
    out: Path | None
    part: int
    part_end: int
    hints: Hints
    dress: tuple[str, ...]
    module: str
    own: tuple[str, ...]
    counters: tuple[Counter, ...]
    rate: float | None


@dataclass(frozen=True)
class Run:
    begin: Position
    end: int
    batch: int


Shifts = dict[str, tuple[int, int]]
"""By column (first number, second number): values above the first are off by the second."""


@dataclass(frozen=True)
class Ask:
    """Request to parse a run from `state`; with `warm`, first the lines before it, to bring that state forward."""

    run: Run
    state: State
    key_lines: int
    warm: bool


@dataclass(frozen=True)
class Outcome:
    """Result of a run: the state it was parsed from, and the certain state (`seed`) that this was guessed from.

    `part_ends`: the part seems to end within the run.
    """

    part_ends: bool
    seed: State
    assumed: State
    assumed_key_lines: int
    state: State
    key_lines: int
    next_line: int
    batch: Batch
    facts: dict[str, JSON]
    domains: dict[int, Domain]


@dataclass(frozen=True)
class Done:
    """A run whose files are written and whose end state is certain."""

    run: Run
    outcome: Outcome
    state: State


class WorkerLost(Exception):
    """A worker process ended or failed. Its run is read again in order, where a fault shows itself."""


def runs(
    text: TextFile, job: Job, at: Position, batch: int, state: State, key_lines: int, count: int
) -> Generator[Done]:
    """Yield the runs of a part from `at` on in order, each parsed by one of `count` processes.

    Ends early where the part seems to end, a worker is lost or guesses fail: the caller continues behind the last run.
    """
    crew: list[_Worker] = []
    pending: deque[tuple[_Worker, Run]] = deque()
    following, misses = at, 0
    try:
        for _ in range(count):
            crew.append(
                _Worker(job, alone=count == 1)
            )  # in the list at once, so that it is stopped if the next one fails to start
        idle = deque(crew)
        while True:
            while idle and following.offset < job.part_end:
                run = Run(following, text.run_end(following.offset, job.part_end), batch + len(pending))
                worker = idle.popleft()
                worker.send(Ask(run, state, key_lines, warm=bool(pending)))
                pending.append((worker, run))
                following = Position(run.begin.line + text.count_lines(run.begin.offset, run.end), run.end)
            if not pending:
                return
            worker, run = pending.popleft()
            outcome = worker.outcome()
            if outcome.part_ends:
                return
            settled = _settled(outcome, state, key_lines, job.counters)
            misses = misses + 1 if settled is None else 0
            if settled is None:
                if misses >= MISSES:
                    return
                worker.send(Ask(run, state, key_lines, warm=False))
                outcome = worker.outcome()
                settled = outcome.state, {}
            state, shifts = settled
            key_lines = outcome.key_lines
            worker.write(shifts)
            batch = run.batch + 1
            yield Done(run, outcome, state)
            idle.append(worker)
    except WorkerLost:
        return
    finally:
        for worker in crew:
            worker.stop()


def settle(
    seed: State, assumed: State, true: State, end: State, counters: Sequence[Counter]
) -> tuple[State, Shifts] | None:
    """Correct a state `end` that was reached from `assumed` instead of `true`; return it and the shifts of columns.

    Numbers up to that of `seed`, where the guess began, are right already. Returns None if `assumed` and `true` differ
    in more than counters, or if a counter that differs is so low that a format may look at it.

    >>> settle({"seq": 3}, {"seq": 7}, {"seq": 17}, {"seq": 9}, [Counter(("seq",), ("seq",))])
    ({'seq': 19}, {'seq': (3, 10)})
    """
    shifts: Shifts = {}
    for counter in counters:
        base, here, there = (_at(s, counter.places[0]) or 0 for s in (seed, assumed, true))
        if here == there:
            continue
        if min(here, there) < 2:
            return None
        shift = base, there - here
        for place in counter.places:
            assumed, end = _moved(assumed, place, shift), _moved(end, place, shift)
        shifts |= dict.fromkeys(counter.columns, shift)
    # The order within a value may decide the order of rows; the order of the state's own keys does not.
    same = assumed.keys() == true.keys() and all(json.dumps(assumed[k]) == json.dumps(true[k]) for k in true)
    return (end, shifts) if same else None


def _settled(outcome: Outcome, true: State, key_lines: int, counters: Sequence[Counter]) -> tuple[State, Shifts] | None:
    if outcome.assumed_key_lines != key_lines:
        return None
    return settle(outcome.seed, outcome.assumed, true, outcome.state, counters)


def _at(value: Any, place: str) -> Any:
    """Look up `a.b.1` in a JSON value; None if it is not there."""
    for key in place.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _moved(value: Any, place: str, shift: tuple[int, int]) -> Any:
    """Return a copy of a JSON value with the numbers at `a.b.1` (`*`: in each element) shifted.

    A place that does not exist is left alone.
    """
    base, number = shift
    if not place:
        return value + number if value is not None and value > base else value
    key, _, rest = place.partition(".")
    if isinstance(value, dict):
        return {k: _moved(v, rest, shift) if key in (k, "*") else v for k, v in value.items()}
    if isinstance(value, list):
        return [_moved(v, rest, shift) if key in (str(i), "*") else v for i, v in enumerate(value)]
    return value


class _Worker:
    def __init__(self, job: Job, *, alone: bool) -> None:
        lean()
        root = str(Path(__file__).resolve().parent.parent)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}
        if not alone:  # each core has a process: more threads would only compete
            env["POLARS_MAX_THREADS"] = "1"
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from parsers.parallel import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
        )
        self.send((os.getpid(), job))

    def send(self, message: object) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerLost from error

    def _answer(self) -> object:
        assert self._process.stdout is not None
        try:
            return pickle.load(self._process.stdout)  # safe: our own child wrote it
        except (EOFError, pickle.UnpicklingError) as error:
            raise WorkerLost from error

    def outcome(self) -> Outcome:
        answer = self._answer()
        assert isinstance(answer, Outcome)
        return answer

    def write(self, shifts: Shifts) -> None:
        """Let the worker write the rows of its last run; returns when the files are on disk."""
        self.send(shifts)
        self._answer()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:  # data that was never sent
                continue


class _Held:
    """Holds the rows of a run until its numbers are certain, in an unnamed file: saves 100 MB of memory."""

    def __init__(self, folder: Path | None) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed with the run
        self._places: list[tuple[str, int]] = []

    def write(self, table: str, rows: pa.Table) -> None:
        self._places.append((table, self._file.tell()))
        with pa.ipc.new_stream(self._file, rows.schema) as stream:
            stream.write_table(rows)

    def save(self, writer: parquet.Writer, shifts: Shifts) -> None:
        """Write the rows with corrected numbers."""
        import pyarrow.compute as pc  # a tenth of the start of a reading in one process, which needs it nowhere

        for table, place in self._places:
            self._file.seek(place)
            rows = pa.ipc.open_stream(self._file).read_all()
            for column in shifts.keys() & set(rows.column_names):
                at = rows.schema.get_field_index(column)
                old, kind = rows.column(column), rows.schema.types[at]
                base, number = (pa.scalar(n, kind) for n in shifts[column])
                moved = pc.if_else(pc.greater(old, base), pc.add(old, number), old)
                rows = rows.set_column(at, rows.schema.field(at), moved)
            writer.write(table, rows)
            del rows  # before the next ones are read

    def close(self) -> None:
        self._file.close()


def _ends_within(text: TextFile, run: Run, own: Sequence[str], rate: float) -> bool:
    """Decide whether the part seems to end in this run. Reading in order then looks closer."""
    if end_of_fit(text, run.begin, run.end, own, rate) is not None:
        return True
    return run.end == text.size and strange_tail(text, run.begin, run.end, own) is not None


def _parse(text: TextFile, job: Job, module: ModuleType, ask: Ask, sink: Sink | None) -> Outcome:
    state, key_lines, run = ask.state, ask.key_lines, ask.run
    stop = job.rate is not None and _ends_within(text, run, job.own, job.rate)
    if ask.warm and not stop:
        back = min(WARM_BYTES, job.limits.run_bytes // 4 * 2)  # never reaches beyond the previous run
        begin = text.next_line(run.begin.offset - back, run.begin.offset)
        line = run.begin.line - text.count_lines(begin, run.begin.offset)
        before = Run(Position(line, begin), run.begin.offset, 0)
        warmed = _one(text, job, module, before, state, key_lines, None)
        state, key_lines = warmed.state, warmed.key_lines
    if stop:
        nothing = Batch(LineAccount(), {}, [])
        return Outcome(True, ask.state, state, key_lines, state, key_lines, run.begin.line, nothing, {}, {})
    return replace(_one(text, job, module, run, state, key_lines, sink), seed=ask.state)


def _one(
    text: TextFile, job: Job, module: ModuleType, run: Run, state: State, key_lines: int, sink: Sink | None
) -> Outcome:
    """Parse one run, as `reading` does in order."""
    source = Source(
        text,
        run.begin,
        run.end,
        part=job.part,
        hints=job.hints,
        last=run.end >= job.part_end,
        whole=False,
        dress=job.dress,
    )
    tables = Tables(source, sink)
    tables.scanner.key_lines = key_lines
    # A format may modify the state it gets.
    end = module.parse(source, tables, json.loads(json.dumps(state)))
    tables.prompts = True
    for _ in source.blocks():
        pass
    batch, end = tables.finish(end)
    return Outcome(
        False,
        state,
        state,
        key_lines,
        end,
        tables.scanner.key_lines,
        source.next_line,
        batch,
        tables.facts,
        tables.domains,
    )


def main() -> None:
    """Serve the parent process until it closes the pipe."""
    asks: IO[bytes] = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a library must not get between the answers
    parent, job = pickle.load(asks)  # safe: our own parent wrote it
    _die_with(parent)
    module = importlib.import_module(job.module)
    gc.freeze()
    held, written = _Held(job.out), True
    writer: parquet.Writer | None = None
    with open_text(job.path, job.limits, job.name) as text:
        while True:
            try:
                message = pickle.load(asks)
            except EOFError:
                return
            answer: Outcome | None = None
            if isinstance(message, Ask):
                held.close()
                if writer is not None and not written:
                    writer.abandon()
                held = _Held(job.out)
                writer, written = parquet.Writer(job.out, message.run.batch) if job.out else None, False
                # Rows whose numbers are certain are written at once.
                answer = _parse(text, job, module, message, held if message.warm and job.counters else writer)
            elif writer is not None:
                held.save(writer, message)
                writer.close()
                written = True
            pickle.dump(answer, answers)
            answers.flush()
            gc.collect()  # without it arrays of some runs stay: 70 MB more at the peak
            pa.default_memory_pool().release_unused()
            if sys.platform == "linux":
                ctypes.CDLL(None).malloc_trim(0)


def _die_with(parent: int) -> None:
    """Make the kernel kill this process when the parent ends: a new reading may write the same files."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(1)
