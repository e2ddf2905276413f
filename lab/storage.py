"""Incidents of storage: slow reads and writes, a scan of many files.

This machine has neither dm-delay nor a throttled device, so slow reads are simulated by strace's own delay on entry to
the call; the trace equals that of a slow device, only the cause differs.
"""

from __future__ import annotations

from lab.incident import Incident
from lab.scene import Scene

READER = """
    import os, sys
    fd = os.open(sys.argv[1], os.O_RDONLY)
    for n in range(40):
        os.pread(fd, 8192, (n * 37 % 64) * 8192)
    sum(range(300000))
"""


def slow_reads(stage: Scene) -> None:
    data = stage.work / "table.dbf"
    data.write_bytes(b"x" * (64 * 8192))
    slow = ["-e", "inject=pread64:delay_enter=25000"] if stage.bad else []
    stage.traced("strace.txt", [*stage.script("reader.py", READER), str(data)], slow)


def slow_sync(stage: Scene) -> None:
    program = stage.script(
        "commits.py",
        """
        import os, sys
        fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
        for n in range(25):
            os.write(fd, b"redo" * 128)
            os.fdatasync(fd)
    """,
    )
    slow = ["-e", "inject=fdatasync:delay_enter=60000"] if stage.bad else []
    stage.traced("strace.txt", [*program, str(stage.work / "redo.log")], slow)


def file_scan(stage: Scene) -> None:
    many = stage.work / "spool"
    many.mkdir()
    for n in range(1800 if stage.bad else 20):
        (many / f"job{n:05}").touch()
    program = stage.script(
        "scan.py",
        """
        import os, sys
        for _ in range(2):
            for name in os.listdir(sys.argv[1]):
                os.stat(os.path.join(sys.argv[1], name))
    """,
    )
    stage.traced("strace.txt", [*program, str(many)])


INCIDENTS = (
    Incident("slow-reads", "Each read of a data file takes 25 ms.", slow_reads,
             {"layer": "storage", "hypothesis": "H-STORAGE", "rules": {"HOT-001": {}}},
             {"symptom": {"text": "the report", "unit": "s", "bad": 1.1, "normal": 0.1}}, {}),
    Incident("slow-sync", "Each write-through of the log takes 60 ms.", slow_sync,
             {"layer": "storage", "hypothesis": "H-STORAGE", "rules": {"IO-001": {}}},
             {"symptom": {"text": "25 commits", "unit": "s", "bad": 1.6, "normal": 0.1}}, {}),
    Incident("file-scan", "A job looks at 1800 spool files twice.", file_scan,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {}, "also": ["storage"]},
             {"symptom": {"text": "one run of the job", "unit": "s", "bad": 1.0, "normal": 0.05}}, {}),
)  # fmt: skip
