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
# Heading in lower case: column; a table takes only the columns it has.
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
# Headings by type letter and number of columns, for rows without a header: output without options, or of -a.
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
STANDARD = {
    "shm": BY_COUNT["0", 7].split(),
    "sem": BY_COUNT["0", 5].split(),
    "msq": "key msqid owner perms used-bytes messages".split(),
}
"""Columns that util-linux lists without options, by the id in the heading: only the id is not translated."""

LIMITS = {
    "sem": [
        "max number of arrays",
        "max semaphores per array",
        "max semaphores system wide",
        "max ops per semop call",
        "semaphore max value",
    ],
    "shm": [
        "max number of segments",
        "max seg size (kbytes)",
        "max total shared memory (kbytes)",
        "min seg size (bytes)",
    ],
    "msq": ["max queues system wide", "max size of message (bytes)", "default max size of queue (bytes)"],
}
"""Names of the lines of ipcs -l in English, in their order."""

LIMITED = r"[Gg]renzen|[Bb]eschränkungen|[Ll][ií]mit|Omezení|ograničenja|Gränser|Пределы|Обмеження|限制|限度|制限|制約"
TITLES = {
    "sem": r"[Ss][eé]m[aáà](?:ph|f)|[Сс]емаф|信号量|號誌|セマフォ",
    "shm": r"Speicher|m[eé]m[òoó]ri|пам|pam[iě]|geheugen|minne|内存|記憶體|メモリ",
    "msq": r"",
}
"""Words in the titles of ipcs -l in other languages, by the resource they name; tried in this order."""

STATES = {
    **dict.fromkeys(
        (
            "zerstört",
            "目标",
            "目標",
            "削除",
            "cíl",
            "назначение",
            "зруйн",
            "mål",
            "doel",
            "uništi",
            "kohde",
            "törölt",
            "hedef",
            "ponor",
        ),
        "dest",
    ),
    **dict.fromkeys(
        (
            "gesperrt",
            "verrouillé",
            "bloqueado",
            "bloccato",
            "已锁定",
            "已鎖定",
            "ロック",
            "zamčeno",
            "заблокирован",
            "блоковано",
            "blok.",
        ),
        "locked",
    ),
}
"""Status of a segment in other languages, from the message catalogues of util-linux: the English word."""
