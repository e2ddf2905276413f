"""Headings of ipcs listings and the columns they fill."""

from __future__ import annotations

TABLE = {
    "m": "ipcs_shm",
    "s": "ipcs_sem",
    "q": "ipcs_msg",
    "shmid": "ipcs_shm",
    "semid": "ipcs_sem",
    "msqid": "ipcs_msg",
}
ID = {"ipcs_shm": "shmid", "ipcs_sem": "semid", "ipcs_msg": "msqid"}
# Heading, in lower case, to column; a table takes those it has.
COLUMNS = {
    "key": "key",
    "owner": "owner",
    "uid": "owner",
    "creator": "creator",
    "cuid": "creator",
    "mode": "perms",
    "perms": "perms",
    "bytes": "bytes",
    "segsz": "bytes",
    "cbytes": "bytes",
    "used-bytes": "bytes",
    "nattch": "nattch",
    "ismattch": "ism_nattch",
    "cpid": "cpid",
    "lpid": "lpid",
    "ctime": "ctime_text",
    "changed": "ctime_text",
    "last-changed": "ctime_text",
    "change": "ctime_text",
    "status": "status",
    "project": "project",
    "zone": "zone",
    "nsems": "nsems",
    "qnum": "messages",
    "messages": "messages",
}
NUMBERS = {"bytes", "nattch", "ism_nattch", "cpid", "lpid", "nsems", "messages"}
HAS = {
    "ipcs_shm": {
        "key",
        "owner",
        "creator",
        "perms",
        "bytes",
        "nattch",
        "ism_nattch",
        "cpid",
        "lpid",
        "ctime_text",
        "status",
        "project",
        "zone",
    },
    "ipcs_sem": {"key", "owner", "creator", "perms", "nsems", "ctime_text", "zone"},
    "ipcs_msg": {"key", "owner", "perms", "bytes", "messages"},
}
TIMED = {"attached", "detached", "changed", "last-op", "last-changed", "send", "recv", "change"}
BASE = "t id key mode owner group"
# Without a header the number of columns tells the letters: none, or -a.
BY_COUNT = {
    ("m", 6): BASE,
    ("s", 6): BASE,
    ("q", 6): BASE,
    ("m", 15): f"{BASE} creator cgroup nattch segsz cpid lpid atime dtime ctime",
    ("s", 11): f"{BASE} creator cgroup nsems otime ctime",
    ("q", 16): f"{BASE} creator cgroup cbytes qnum qbytes lspid lrpid stime rtime ctime",
    ("0", 5): "key semid owner perms nsems",
    ("0", 6): "key shmid owner perms bytes nattch",
    ("0", 7): "key shmid owner perms bytes nattch status",
}
