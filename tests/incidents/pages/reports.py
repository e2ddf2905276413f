"""A report with every kind of claim, as `python -m rules --json` would write it for the incident of seed 001.

Made by hand for tests of pages: the words and numbers are the ones a room of that incident shows, the judgement is not
under test here.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

CAUSE_KEY = "a1b2c3d4e5f60718"
LISTENER_KEY = "b1b2c3d4e5f60718"
CLIENT_KEY = "c1b2c3d4e5f60718"
CLEAR_KEY = "d1b2c3d4e5f60718"
CHURN_KEY = "e1b2c3d4e5f60718"
SETTINGS_KEY = "f1b2c3d4e5f60718"

TRUSS = [
    "22626/1: 8.6926 fork1() = 3728 ",
    "3728/1: 8.6926 fork1() (returning as child ...) = 22626 ",
    "3728/1: 8.7229 fork1() = 3731 ",
    "3731/1: 8.7229 fork1() (returning as child ...) = 3728 ",
    '3731/1: 12.0249 write(17, " N T P 0 3 7 3 1\\n", 10) = 10 ',
    '22626/1: 12.0252 read(16, " N T P 0 3 7 3 1\\n", 64) = 10 ',
    "3731/1: 9.3187 shmat(16777280, 0x380000000, IPC_ALLOC) = 0x380000000 ",
    "22626/1: pollsys(0x100333970, 4, 0x00000000, 0x00000000) (sleeping...) ",
    "22626/2: 10.2679 nanosleep(0xFFFFFFFF785FBDF0, 0xFFFFFFFF785FBDE0) = 0 ",
    "22626/2: 10.2793 close(14) = 0 ",
    "3731/1: 11.7921 shmat(16777281, 0x3C0000000, IPC_ALLOC) = 0x3C0000000 ",
    "3731/1: 11.7931 mprotect(0x380000000, 8192, PROT_READ) = 0 ",
]
CLIENT = [
    "[14-APR-2016 05:58:39:329] nsprecv: reading from transport...",
    "[14-APR-2016 05:58:39:329] nttrd: entry",
    "[14-APR-2016 05:58:41:201] nttrd: socket 516 had bytes read=8",
    "[14-APR-2016 05:58:41:201] nttrd: exit",
]
LISTENER = [
    "[14-APR-2016 05:58:39:566] nsevwait: waiting for transport event (1 thru 5)...",
    "[14-APR-2016 05:58:41:358] nsevwait: 1 newly-posted event(s)",
    "[14-APR-2016 05:58:41:358] nsevfnt: cxd: 0x222b28 stage 0: NT events set:",
    "        READ",
]
PMAP = [
    "2767: ora_smon_QPROD ",
    "Address Kbytes RSS Anon Locked Pgsz Mode Mapped File ",
    "0000000380000000 45056 45056 - - 8K rwxs- [ dism shmid=0x100001e ] ",
    "00000003C0000000 9699328 - - - - rwxs- [ dism shmid=0x100001f ] ",
    "0000000610000000 9043968 9043968 - - 8K rwxs- [ dism shmid=0x100001f ] ",
]
FILES = {
    "truss-listener.txt": TRUSS,
    "client.trc": CLIENT,
    "listener.trc": LISTENER,
    "pmap-smon.txt": PMAP,
}


def cite(artifact: int, lines: list[str], first: int, last: int, role: str) -> Json:
    return {
        "artifact": artifact,
        "file": list(FILES)[artifact - 1],
        "line_from": first,
        "line_to": last,
        "role": role,
        "text": "\n".join(lines[first - 1 : last]),
    }


def claim(key: str, rule: str, group: str, headline: str, **more: Any) -> Json:
    return {
        "key": key,
        "rule": rule,
        "version": "1.0.0",
        "title": headline,
        "kind": "finding",
        "group": group,
        "layer": "os_kernel",
        "contributing": [],
        "host": "db1",
        "subject": "pid 3731",
        "tier": "base",
        "support": "fair",
        "decibans": 10,
        "severity": "major",
        "by_statement": False,
        "contiguous": "proven",
        "magnitude": None,
        "unit": "s",
        "t_from": None,
        "t_to": None,
        "clock": "1.1:1",
        "headline": headline,
        "expert": "",
        "manager": "",
        "facts": {},
        "params": {},
        "clears": [],
        "against": [],
        "would_help": [],
        "remedy": [],
        "contraindications": [],
        "false_positives": [],
        "verify": "",
        "citations": [],
        "cells": {},
    } | more


def report() -> Json:
    """Return a fresh report; tests change their copy."""
    stall = cite(1, TRUSS, 7, 11, "stall")
    return {
        "schema": 1,
        "artifacts": [
            {"id": i, "file": name, "kind": kind, "host": host, "phase": "before", "lines": len(lines), "account": {}}
            for i, ((name, lines), kind, host) in enumerate(
                zip(
                    FILES.items(), ("truss", "sqlnet", "sqlnet", "pmap"), ("db1", "gateway", "db1", "db1"), strict=True
                ),
                start=1,
            )
        ],
        "clock_map": [],
        "clocks": [],
        "verdict": {
            "state": "cause",
            "rules": ["SHM-001"],
            "layer": "os_kernel",
            "hypothesis": "H-OS-SHM",
            "support": "good",
            "sentence": "New server processes wait up to 2.473 s attaching the database's dynamic shared memory.",
            "missing": ["unbroken trace with -E"],
        },
        "whose_seconds": {
            "title": "one login",
            "total_s": 3.333,
            "host": "db1",
            "subject": "listener 22626",
            "pieces": [
                piece("fork", 0.030, "traced", 1, TRUSS, 1, 4),
                piece("not traced", 0.596, "untraced", 1, TRUSS, 4, 7),
                piece("attach shared memory", 2.4734, "culprit", 1, TRUSS, 7, 11)
                | {"at_most": True, "layer": "os_kernel"},
                piece("after", 0.2336, "rest", 1, TRUSS, 11, 12),
            ],
        },
        "findings": [
            claim(
                CAUSE_KEY,
                "SHM-001",
                "cause",
                "Server process 3731 waited up to 2.473 s to attach a DISM segment",
                severity="critical",
                support="good",
                decibans=25,
                tier="corroborated",
                contiguous="assumed",
                magnitude=2.4734,
                expert="The gap since its last call ends with this attach and nothing else of the thread is shown in it, "
                "so the attach took at most 2.473 s of this login's 3.333 s (74 %). A memory map shows 17.875 GiB of DISM "
                "at that address, not all of it resident.",
                against=["The map's segment ids differ: another start of the instance.", "One traced login."],
                would_help=[ask(["unbroken trace with -E"], "truss -f -d -D -E -o FILE -p 22626; pmap -xs PID", 5)],
                remedy=[
                    "Use sga_target with sga_max_size equal to it instead of memory_target; restart; pmap must show ism."
                ],
                contraindications=["The SGA can then not grow online, and project.max-shm-memory must allow it."],
                verify="Connects over 1 s before and after: 2 of 21, then 0 of 20. Two things changed at once.",
                clears=[
                    {
                        "layer": "network",
                        "seconds": 2.4734,
                        "requests": 1,
                        "scope": "pid 3731",
                        "because": "on the server",
                    }
                ],
                citations=[stall, cite(4, PMAP, 4, 5, "map")],
            ),
            claim(
                LISTENER_KEY,
                "LSN-003",
                "along",
                "Listener waits for its own child",
                layer="listener",
                subject="listener 22626",
                magnitude=3.333,
                citations=[cite(1, TRUSS, 1, 6, "cycle")],
            ),
            claim(
                CLIENT_KEY,
                "NET-001",
                "along",
                "The client's wait is the listener's",
                layer="listener",
                host="gateway",
                subject="client",
                magnitude=95.7,
                unit="%",
                by_statement=True,
                citations=[cite(2, CLIENT, 2, 3, "client wait"), cite(3, LISTENER, 1, 2, "listener wait")],
            ),
            claim(
                CHURN_KEY,
                "LSN-006",
                "contributing",
                "One connection per message",
                layer="client_app",
                severity="major",
                magnitude=42.857,
                unit="%",
                citations=[cite(2, CLIENT, 1, 4, "login")],
            ),
            claim(
                SETTINGS_KEY,
                "CMP-002",
                "contributing",
                "Memory settings select DISM",
                layer="configuration",
                severity="minor",
                citations=[cite(4, PMAP, 3, 3, "map")],
            ),
            claim(
                CLEAR_KEY,
                "NET-002",
                "cleared",
                "The network had at most 0.080 s",
                kind="clear",
                layer="network",
                severity="info",
                magnitude=0.08,
                citations=[cite(2, CLIENT, 2, 3, "client wait"), cite(3, LISTENER, 1, 2, "listener wait")],
            ),
        ],
        "cleared": [
            {
                "layer": "network",
                "rule": "NET-002",
                "host": "gateway",
                "seconds": 1.792,
                "requests": 1,
                "scope": "in the one login traced on both sides",
                "bound": "at most 0.080 s of 1.872 s",
                "decibans": -10,
                "citations": [cite(2, CLIENT, 2, 3, "client wait"), cite(3, LISTENER, 1, 2, "listener wait")],
            }
        ],
        "not_evaluable": [
            {
                "rule": "CPU-001",
                "title": "Whether the machine was busy",
                "host": "db1",
                "needs": ["vmstat.r"],
                "ask": "vmstat 5 12",
                "os": "solaris",
                "who": "system administrator",
                "worth": 6,
            },
            {
                "rule": "SHM-002",
                "title": "Whether memory was being locked",
                "host": "db1",
                "needs": ["microstates"],
                "ask": "pmap -x $(pgrep ora_dism)",
                "os": "solaris",
                "who": "DBA",
                "worth": 3,
            },
        ],
        "compared": [
            {
                "series": "connect",
                "from": "before",
                "to": "after-1",
                "n": [21, 20],
                "median": [0.31, 0.13],
                "text": "...",
            }
        ],
        "hypotheses": [],
        "quiet": ["SEM-001"],
        "failed": [],
        "seconds": 0.8,
    }


def piece(label: str, seconds: float, kind: str, artifact: int, lines: list[str], first: int, last: int) -> Json:
    cited = [cite(artifact, lines, first, last, "piece")]
    return {"label": label, "seconds": seconds, "at_most": False, "kind": kind, "layer": None, "citations": cited}


def ask(needs: list[str], command: str, worth: int) -> Json:
    return {"needs": needs, "ask": command, "os": "solaris", "who": "DBA", "worth": worth}
