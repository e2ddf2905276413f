"""The child process that runs a person's SQL: `python -m rules.engine.asked`. Each question has its own child, which
may be killed.

It restricts itself before it loads the engine, then answers JSON lines: {"op": "check", "sql", "tables"} returns what a
statement uses, {"op": "load", "views", "load", "rows", "memory_mb"} loads these columns into memory and locks
everything, {"op": "ask", "sql", "limit_s", "max_rows", "max_bytes"} returns the rows, {"op": "fences"} returns which
fences hold. Errors are {"error": {"kind", "text", "at"}}: the text is the engine's own and is never shown as it is
(`rules.engine.ask_words`).
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

from parsers.fences import fence

if TYPE_CHECKING:
    from rules.engine.child import Engine

Json = dict[str, Any]
NICENESS = 10
"""Nice value of the child: it leaves the web pages nine tenths of a contended processor, yet a busy machine does not
starve a question.
"""


def step_back() -> bool:
    """Lower this process's priority below everything else on the machine; return whether that worked."""
    try:
        # The scheduler groups processes by session: without this write the nice value would count only within our own
        # group.
        with open("/proc/self/autogroup", "w") as group:
            group.write(str(NICENESS))
    except OSError:  # this kernel does not group by session, so the nice value is enough
        pass
    return os.nice(max(0, NICENESS - os.nice(0))) >= NICENESS


class Answerer:
    """Handles one question: check, load, ask, in this order. `held` tells which fences hold."""

    def __init__(self, held: Mapping[str, bool]) -> None:
        from rules.engine.child import Engine

        self.engine: Engine = Engine()
        self.held = dict(held)

    def answer(self, request: Mapping[str, Any]) -> Json:
        """Handle a request; turn every failure of the engine into an answer."""
        import duckdb

        from rules.engine.check import Refused

        try:
            if request["op"] == "fences":
                self.held["low_priority"] = step_back()
                return {"fences": self.held}
            if request["op"] == "check":
                return self._check(request["sql"], frozenset(request["tables"]))
            if request["op"] == "load":
                self.held["low_priority"] = step_back()
                return self._load(request["views"], request["load"], request["rows"], request["memory_mb"])
            return self._ask(request["sql"], request["limit_s"], request["max_rows"], request["max_bytes"])
        except Refused as error:
            return _error("refused", error, error.at)
        except duckdb.InterruptException as error:
            return _error("slow", error)
        except (duckdb.OutOfMemoryException, MemoryError, RecursionError) as error:
            return _error("large", error)
        except (duckdb.Error, RuntimeError, KeyError, ValueError) as error:
            return _error("failed", error)

    def _check(self, sql: str, tables: frozenset[str]) -> Json:
        from rules.engine.check import check

        used = check(sql, tables)
        columns = None if used.columns is None else sorted(used.columns)
        return {"tables": sorted(used.tables), "columns": columns, "params": sorted(used.params)}

    def _load(self, views: Mapping[str, str], load: Mapping[str, list[str] | None], rows: int, memory_mb: int) -> Json:
        self.engine.draft(views, load, rows, memory_mb)
        assert self.engine.connection is not None
        counts = {
            name: (self.engine.connection.execute(f'select count(*) from "{name}"').fetchone() or (0,))[0]
            for name in load
        }
        return {"rows": counts}

    def _ask(self, sql: str, limit_s: float, max_rows: int, max_bytes: int) -> Json:
        from rules.engine.check import check
        from rules.engine.child import plain

        connection = self.engine.connection
        assert connection is not None
        check(sql, self.engine.names)
        stop = threading.Timer(limit_s, connection.interrupt)
        stop.daemon = True
        stop.start()
        try:
            cursor = connection.execute(sql)
            heads = [(column[0], str(column[1])) for column in cursor.description or []]
            rows: list[list[Any]] = []
            size = 0
            more = 0
            while len(rows) < max_rows and (one := cursor.fetchone()) is not None:
                cells = [plain(value) for value in one]
                size += len(json.dumps(cells, allow_nan=False))
                if size > max_bytes:
                    more = 1
                    break
                rows.append(cells)
            while more < 1_000_000 and (rest := cursor.fetchmany(10_000)):
                more += len(rest)
        finally:
            stop.cancel()
        return {
            "columns": [name for name, _ in heads],
            "types": [kind for _, kind in heads],
            "rows": rows,
            "more": more,
            "full": size > max_bytes,
        }


def _error(kind: str, error: BaseException, at: int | None = None) -> Json:
    return {"error": {"kind": kind, "text": str(error)[:8000], "at": at}}


def serve(requests: IO[str], answers: IO[str], held: Mapping[str, bool]) -> None:
    """Answer requests, one JSON line each, until the input ends."""
    answerer = Answerer(held)
    for line in requests:
        answers.write(json.dumps(answerer.answer(json.loads(line)), allow_nan=False) + "\n")
        answers.flush()


def main(arguments: list[str]) -> None:
    """Restrict the process to `address space in MB` and `CPU seconds`, then serve."""
    address_mb, cpu_s = (int(a) for a in arguments)
    serve(sys.stdin, sys.stdout, fence(address_mb=address_mb, cpu_s=cpu_s))


if __name__ == "__main__":
    main(sys.argv[1:])
