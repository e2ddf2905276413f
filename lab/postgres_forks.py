"""Incident of a PostgreSQL in ordinary use: it starts a process for each short connection."""

from __future__ import annotations

import sys
import time

from config.embedded import Postgres, running
from lab.incident import Incident
from lab.scene import Scene

CLIENT = """
    import sys
    import psycopg
    url, once, held = {url!r}, sys.argv[1] == "once", None
    for n in range(60):
        held = held or psycopg.connect(url)
        held.execute("select 1").fetchone(); held.commit()
        if not once:
            held.close(); held = None
"""


def process_per_connection(stage: Scene) -> None:
    run = stage.work / "run"
    run.mkdir(mode=0o700)
    server = Postgres(stage.work / "data", run, stage.work / "postgres.log", durable=False)
    with running(server):
        url = f"host={run} user=exhibit dbname=postgres"
        client = stage.script("client.py", CLIENT.format(url=url))
        time.sleep(1.0)
        first = (stage.work / "data" / "postmaster.pid").read_text(encoding="ascii").split("\n", 1)[0]
        stage.start(
            [
                sys.executable,
                "-c",
                f"import time; time.sleep(1.5); exec(open({client[-1]!r}).read())",
                "once" if not stage.bad else "each",
            ]
        )
        calls = "trace=accept,accept4,fork,vfork,clone,clone3,recvfrom,sendto,read,write,exit_group"
        stage.attach("strace.txt", int(first), 9.0, ["-e", calls])


INCIDENTS = (
    Incident("process-per-connection", "PostgreSQL starts a process for each of sixty statements.", process_per_connection,
             {"layer": "client_app", "hypothesis": "H-CONN-CHURN", "rules": {"SRV-002": {}}, "also": ["configuration"]},
             {"symptom": {"text": "statements per minute", "unit": "/min"}}, {}),
)  # fmt: skip
