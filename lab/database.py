"""Incidents on a real PostgreSQL: a connection for every work item, and a session that waits for another's row lock."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from config.embedded import Postgres, running
from lab.incident import Incident
from lab.scene import Scene, needs

CLIENT = """
    import sys, time
    import psycopg
    url, once, out = {url!r}, sys.argv[1] == "once", {out!r}
    items, lines, held = 40, [], None
    began = time.monotonic()
    for n in range(items):
        if held is None or not once:
            at = time.monotonic()
            held = psycopg.connect(url)
            lines.append(time.monotonic() - at)
        held.execute("select 1").fetchone(); held.commit()
        if not once:
            held.close()
    rate = 60 * items / (time.monotonic() - began)
    open(out, "w").write("".join(f"time elapsed : {{s:.4f}}\\n" for s in lines))
    open(out + ".rate", "w").write(str(rate))
"""

HOLDER = """
    import sys, time
    import psycopg
    c = psycopg.connect({url!r})
    c.execute("update account set balance = balance + 1 where id = 1")
    time.sleep(float(sys.argv[1])); c.rollback()
"""

UPDATE = "update account set balance = balance + 1 where id = 1"


def _server(stage: Scene) -> Postgres:
    run = stage.work / "run"
    run.mkdir(mode=0o700)
    return Postgres(stage.work / "data", run, stage.work / "postgres.log", durable=False)


def _filled(stage: Scene, text: str, **more: str) -> str:
    return text.format(url=f"host={stage.work / 'run'} user=exhibit dbname=postgres", **more)


def connection_per_item(stage: Scene) -> None:
    times = stage.work / "connects.txt"
    with running(_server(stage)):
        client = stage.script("client.py", _filled(stage, CLIENT, out=str(times)))
        stage.start([sys.executable, client[-1], "each" if stage.bad else "once"]).wait(timeout=50)
    stage.keep("connects.txt", str(times))
    rate = float(Path(f"{times}.rate").read_text(encoding="ascii"))
    said = f"{rate:.0f} items a minute"
    stage.said["statements"] = [
        {"name": "work_rate", "num": round(rate, 1), "unit": "per minute", "text": said, "author": "developer"}
    ]


def row_lock(stage: Scene) -> None:
    import psycopg

    needs("psql")
    with running(_server(stage)):
        with psycopg.connect(f"host={stage.work / 'run'} user=exhibit dbname=postgres") as own:
            own.execute("create table account (id int primary key, balance int)")
            own.execute("insert into account values (1, 0)")
        holder = stage.start(
            [sys.executable, stage.script("holder.py", _filled(stage, HOLDER))[-1], "4.0" if stage.bad else "0"]
        )
        time.sleep(1.0)
        stage.traced(
            "strace.txt", ["psql", "-h", str(stage.work / "run"), "-U", "exhibit", "-d", "postgres", "-c", UPDATE]
        )
        holder.wait(timeout=20)


INCIDENTS = (
    Incident("connection-per-item", "A program opens a connection to PostgreSQL for each item of its work.", connection_per_item,
             {"layer": "client_app", "hypothesis": "H-CONN-CHURN", "rules": {"LSN-006": {}}},
             {"symptom": {"text": "items per minute", "unit": "/min"}}, {}),
    Incident("row-lock", "An update waits three seconds for another session's row lock.", row_lock,
             {"layer": "database", "hypothesis": "H-DB-SQL", "rules": {}},
             {"symptom": {"text": "the update", "unit": "s", "bad": 3.2, "normal": 0.2}}, {}),
)  # fmt: skip
