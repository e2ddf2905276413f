"""The child process that runs queries of rules: `python -m rules.engine.child`. It reads and answers JSON lines, and
may be killed.

Requests: {"op": "open", "views": {name: SELECT}} for shipped rules, {"op": "add", "views"} for more of them; {"op":
"draft", "views", "load": {table: [columns]}, "rows": N} loads the named columns into memory, drops everything else and
locks the configuration; {"op": "query", "sql", "params", "limit_s", "max_rows"}; {"op": "apart", "views", "file", ...}
is a query over these views alone, whose rows go to a Parquet file if one is named. Answers: {"rows": [...], "columns":
[...], "more": n} or {"error": {"kind", "text"}}.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import threading
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import IO, Any

import duckdb

from rules.engine.check import MACROS, Refused, check
from rules.errors import stopped_after

LOCKED: Mapping[str, str] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "threads": "1",
    "max_temp_directory_size": "'0KB'",
    "temp_directory": "''",
    "secret_directory": "''",
    "extension_directory": "''",
    "enable_external_access": "false",
}
MAX_TEXT = 64 * 1024
SPILL_MB = 4096


class Engine:
    """One connection at a time. A `draft` has one of its own, so that nothing of a person's SQL survives."""

    def __init__(self) -> None:
        self.connection: duckdb.DuckDBPyConnection | None = None
        self.views: dict[str, str] = {}
        self.names: frozenset[str] = frozenset()
        self.memory_mb = 0
        self._spill: str | None = None
        """The folder of a connection that may get other views; None if there is none to go on with."""

    def open(self, views: Mapping[str, str], memory_mb: int, spill: str = "") -> None:
        """Open these read-only views over the files of a case and close all others.

        `spill` is a folder for what exceeds the memory limit. An open connection is reused if possible, since a new one
        takes longer than most queries.
        """
        if self._spill is not None and bool(spill) == bool(self._spill) and self.memory_mb == memory_mb:
            try:
                self._replace(views, spill)
                return
            except duckdb.Error:
                pass  # it has used its spill folder, or is broken; if the views are wrong, `add` raises the error
        self._connect(memory_mb, spill)
        self.add(views)

    def add(self, views: Mapping[str, str]) -> None:
        """Create further views."""
        for name, select in views.items():
            self._run(f'create or replace view "{name}" as {select}')
            self.views[name] = select
        self.names |= frozenset(views)

    def _connect(self, memory_mb: int, spill: str) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection, self.views, self.names, self._spill = None, {}, frozenset(), None
        self.memory_mb = int(memory_mb)
        self.connection = duckdb.connect(config={"python_enable_replacements": "false", "threads": "1"})
        self._run(f"set memory_limit = '{int(memory_mb)}MB'")
        self._run("set temp_directory = $folder", {"folder": spill})
        if spill:
            self._run(f"set max_temp_directory_size = '{SPILL_MB}MB'")
        self._run("set autoinstall_known_extensions = false; set autoload_known_extensions = false")
        for macro in MACROS.values():
            self._run(f"create macro {macro}")
        self._spill = spill

    def _replace(self, views: Mapping[str, str], spill: str) -> None:
        if spill != self._spill:
            self._run("set temp_directory = $folder", {"folder": spill})
            self._spill = spill
        for name in self.views.keys() - views.keys():
            self._run(f'drop view "{name}"')
            del self.views[name]
        self.names = frozenset(self.views)
        self.add({name: select for name, select in views.items() if self.views.get(name) != select})

    def _run(self, sql: str, params: Mapping[str, Any] | None = None) -> None:
        assert self.connection is not None
        self.connection.execute(sql, params)

    def draft(self, views: Mapping[str, str], load: Mapping[str, list[str] | None], rows: int, memory_mb: int) -> None:
        """Load the columns that a checked statement names into memory, at most `rows` per table; then lock everything."""
        self._connect(memory_mb, "")
        self._spill = None
        assert self.connection is not None
        for name, columns in load.items():
            self.connection.execute(f'create temp view "_{name}" as {views[name]}')
            have = [c[0] for c in self.connection.execute(f'select * from "_{name}" limit 0').description or []]
            wanted = [c for c in have if columns is None or c in columns] or have[:1]
            listed = ", ".join(f'"{c}"' for c in wanted)
            self.connection.execute(f'create table "{name}" as select {listed} from "_{name}" limit {int(rows)}')
            self.connection.execute(f'drop view "_{name}"')
        for setting, value in LOCKED.items():
            self.connection.execute(f"set {setting} = {value}")
        self.connection.execute("set lock_configuration = true")
        self.names = frozenset(load)

    def query(self, sql: str, params: Mapping[str, Any], limit_s: float, max_rows: int) -> dict[str, Any]:
        """Check and run one statement. `more` counts rows beyond `max_rows`, up to 1,000,000."""
        assert self.connection is not None
        used = check(sql, self.names)
        stop = threading.Timer(limit_s, self.connection.interrupt)
        stop.start()
        try:
            cursor = self.connection.execute(sql, {p: params[p] for p in used.params} if used.params else None)
            columns = [c[0] for c in cursor.description or []]
            rows = cursor.fetchmany(max_rows)
            more = 0
            while len(rows) == max_rows and more < 1_000_000 and (rest := cursor.fetchmany(10_000)):
                more += len(rest)
        finally:
            stop.cancel()
        return {"columns": columns, "rows": [[plain(v) for v in row] for row in rows], "more": more}

    def apart(
        self, views: Mapping[str, str], sql: str, params: Mapping[str, Any], limit_s: float, max_rows: int, file: str
    ) -> dict[str, Any]:
        """Run one statement over other views than the open ones. If `file` is set, write all rows there and return
        none.
        """
        assert self.connection is not None
        used = check(sql, frozenset(views))
        opened, self.names = self.names, frozenset(views)
        self.connection.execute("create schema apart")
        stop = threading.Timer(limit_s, self.connection.interrupt)
        try:
            for name, select in views.items():
                self.connection.execute(f'create view apart."{name}" as {select}')
            self.connection.execute("set search_path = 'apart,main'")
            if not file:
                return self.query(sql, params, limit_s, max_rows)
            stop.start()
            target = file.replace("'", "''")
            bound = {p: params[p] for p in used.params} if used.params else None
            self.connection.execute(f"copy ({sql}) to '{target}' (format parquet)", bound)
        finally:
            stop.cancel()
            self.names = opened
            self.connection.execute("set search_path = 'main'; drop schema apart cascade")
        return {"rows": [], "columns": [], "more": 0}


def plain(value: Any) -> Any:
    """Convert a value to JSON: NaN and infinities become None, decimals numbers, times ISO text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str):
        return value[:MAX_TEXT]
    return value if value is None or isinstance(value, (bool, int)) else str(value)[:MAX_TEXT]


def answer(engine: Engine, request: Mapping[str, Any]) -> dict[str, Any]:
    """Handle a request; turn every failure of the engine into an answer."""
    try:
        if request["op"] == "open":
            engine.open(request["views"], request["memory_mb"], request.get("spill", ""))
        elif request["op"] == "add":
            engine.add(request["views"])
        elif request["op"] == "draft":
            engine.draft(request["views"], request["load"], request["rows"], request["memory_mb"])
        else:
            asked = (request["sql"], request["params"], request["limit_s"], request["max_rows"])
            if request["op"] == "apart":
                return engine.apart(request["views"], *asked, request["file"])
            return engine.query(*asked)
    except Refused as error:
        return {"error": {"kind": "refused", "text": str(error)}}
    except duckdb.InterruptException:
        return {"error": {"kind": "slow", "text": stopped_after(request["limit_s"])}}
    except (duckdb.OutOfMemoryException, MemoryError):
        return {"error": {"kind": "large", "text": f"the memory limit of {engine.memory_mb} MB was reached"}}
    except (duckdb.Error, RuntimeError, KeyError) as error:
        return {"error": {"kind": "failed", "text": f"{type(error).__name__}: {error}"}}
    return {"rows": [], "columns": [], "more": 0}


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer requests, one JSON line each, until the input ends."""
    engine = Engine()
    for line in requests:
        answers.write(json.dumps(answer(engine, json.loads(line)), allow_nan=False) + "\n")
        answers.flush()


def _limit(which: int, most: int) -> None:
    """Set a process limit, unless the parent set a lower one."""
    held = resource.getrlimit(which)[1]
    most = most if held == resource.RLIM_INFINITY else min(most, held)
    resource.setrlimit(which, (most, most))


def main(arguments: list[str]) -> None:
    """Set the process limits passed as `address space in MB` and `CPU seconds` (0 = none), then serve."""
    address_mb, cpu_s = (int(a) for a in arguments)
    if address_mb:
        _limit(resource.RLIMIT_AS, address_mb * 1024 * 1024)
    if cpu_s:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    serve(sys.stdin, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
