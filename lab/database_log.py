"""Incidents that PostgreSQL writes to its log: no free slot, a row locked by another session, a password checked on a
remote server.
"""

from __future__ import annotations

import subprocess
import time

from lab.incident import Incident
from lab.scene import Scene, plain
from lab.servers import Postgres, postgres

LOGGING = ("logging_collector=on", "log_directory=log", "log_filename=postgresql.log", "log_connections=on", "log_disconnections=on",
           "log_line_prefix=%m [%p] %q%u@%d ", "timezone=UTC", "log_timezone=UTC")  # fmt: skip
SESSIONS = (
    "select pid, usename, application_name, client_addr, backend_start, state, wait_event_type, wait_event, query"
    " from pg_stat_activity where backend_type = 'client backend' order by backend_start"
)

HOLDER = """
    import socket, struct, sys, time
    held = []
    for _ in range(int(sys.argv[1])):
        c = socket.create_connection(("127.0.0.1", 5432)); c.settimeout(2)
        told = b"user\\0app\\0database\\0postgres\\0application_name\\0pool\\0\\0"
        c.sendall(struct.pack("!ii", 8 + len(told), 196608) + told)
        c.recv(4096); held.append(c)
        time.sleep(0.05)
    time.sleep(4)
"""

RADIUS = """
    import hashlib, socket, sys, time
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 1812))
    while True:
        q, who = s.recvfrom(4096)
        time.sleep(float(sys.argv[1]))
        head = b"\\x02" + q[1:2] + b"\\0\\x14"
        s.sendto(head + hashlib.md5(head + q[4:20] + b"shared").digest(), who)
"""


def _keep_log(stage: Scene) -> None:
    time.sleep(0.5)
    stage.keep("postgres-log.txt", str(stage.work / "data" / "log" / "postgresql.log"))


def _sessions(stage: Scene, server: Postgres) -> None:
    stage.print("activity.txt", server.client("psql", "-d", "postgres", "-c", SESSIONS))


def slots_gone(stage: Scene) -> None:
    server = postgres(stage, *LOGGING, f"max_connections={12 if stage.bad else 60}")
    server.sql("create role app login")
    stage.start([*stage.script("pool.py", HOLDER), "20"])
    time.sleep(2.5)
    _sessions(stage, server)
    _keep_log(stage)


def held_row(stage: Scene) -> None:
    server = postgres(stage, *LOGGING, "log_lock_waits=on")
    server.sql("create table account as select 1 as id, 0 as balance")
    change = "update account set balance = balance + 1 where id = 1"
    talk = f"( echo 'begin; {change};'; sleep {4 if stage.bad else 0}; echo 'rollback;' ) | {' '.join(server.client('psql', '-q'))}"
    stage.start(["sh", "-c", talk])
    time.sleep(0.7)
    others = [stage.start(server.client("psql", "-q", "-c", change)) for _ in range(4)]
    time.sleep(2.0)
    _sessions(stage, server)
    for other in others:
        other.wait(timeout=20)
    _keep_log(stage)


def far_password(stage: Scene) -> None:
    """Run eight logins whose password a RADIUS server checks, and four that need no check."""
    rules = stage.work / "pg_hba.conf"
    rules.write_text(
        "host all app 127.0.0.1/32 radius radiusservers=127.0.0.1 radiussecrets=shared radiusports=1812\n"
        "host all all 127.0.0.1/32 trust\n",
        encoding="ascii",
    )
    rules.chmod(0o644)
    server = postgres(stage, *LOGGING, f"hba_file={rules}")
    server.sql("create role app login")
    stage.start([*stage.script("radius.py", RADIUS), "1.2" if stage.bad else "0"])
    time.sleep(0.5)
    app = [str(server.programs / "psql"), "-h", "127.0.0.1", "-U", "app", "-d", "postgres", "-c", "select 1"]
    for turn in range(12):
        if turn % 3 == 2:
            server.sql("select 1")
        else:
            subprocess.run(app, check=True, capture_output=True, timeout=20, env={**plain(), "PGPASSWORD": "any"})
    _keep_log(stage)


INCIDENTS = (
    Incident("slots-gone", "A pool opens twenty connections to a PostgreSQL that has twelve slots.", slots_gone,
             {"layer": "configuration", "hypothesis": "H-CFG", "rules": {"LIM-004": {}}, "also": ["client_app"]},
             {"symptom": {"text": "some logins fail"}}, {"symptom": {"text": "some logins fail"}}),
    Incident("held-row", "Four sessions update a row that a fifth has changed and not committed for four seconds.", held_row,
             {"layer": "database", "hypothesis": "H-DB-SQL", "rules": {"DB-003": {}, "DB-007": {}}},
             {"symptom": {"text": "the update", "unit": "s", "bad": 3.3, "normal": 0.1}}, {"symptom": {"text": "the update is slow"}}),
    Incident("far-password", "The server that checks PostgreSQL's passwords answers after 1.2 s.", far_password,
             {"layer": "name_service", "hypothesis": "H-NSS", "rules": {"DB-008": {}}, "also": ["configuration"]},
             {"symptom": {"text": "a login", "unit": "s", "bad": 1.25, "normal": 0.05}}, {"symptom": {"text": "logins are slow"}}),
)  # fmt: skip
