"""Say in words for managers what an observation shows: who waited for what, how long of how long.

Calls, process numbers, columns and quoted lines are for the observation itself, which a reader sees beside the headline.
What is said here comes from the fields of the observation: the family of its call, what its signature stands for, its
kind, and its quantity. A sentence of an observer that has none of these names is taken as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rules.observers.observer import FELT_S
from rules.walking.targets import (
    ACCEPTS,
    CHILDREN,
    DOORS,
    IPC,
    LOCKS,
    MEMORY,
    OPENS,
    POLLS,
    SLEEPS,
    SYNCS,
)
from rules.walking.threads import EXEC_NAMES, EXIT_NAMES, READ_NAMES
from rules.writing.figures import figure
from rules.writing.messages import duration

Row = Mapping[str, Any]

FELT_SHARE = 0.2
"""Minimum part of a whole that one notices."""


class Words(NamedTuple):
    """What a family of calls does: what one waits for, and what a program does that makes such calls."""

    awaited: str
    done: str


FAMILIES: tuple[tuple[tuple[str, ...], Words], ...] = (
    (tuple(CHILDREN), Words("for a program that it had started", "waits for programs that it started")),
    (tuple(POLLS), Words("for work or for an answer", "asks whether there is something to do")),
    (tuple(ACCEPTS), Words("for a client", "takes connections of clients")),
    (("connect", "so_connect", "econnect"), Words("for a connection to be made", "makes connections")),
    (("recv", "recvfrom", "recvmsg", "recvmmsg"), Words("for an answer of the other side", "takes messages")),
    (("send", "sendto", "sendmsg", "sendmmsg"), Words("until the other side took data", "sends messages")),
    (("flock",), Words("for a lock on a file", "takes locks on files")),
    (tuple(LOCKS), Words("for a lock or for another thread", "waits for locks or other threads")),
    (tuple(SLEEPS), Words("for a time that it chose itself", "pauses")),
    (("restart_syscall",), Words("in a wait that had been interrupted", "goes on with a wait")),
    (tuple(SYNCS), Words("until written data was safe on the disk", "waits until written data is safe on the disk")),
    (("shmat", "shmdt", "shmget", "shmctl"), Words("for shared memory", "works on shared memory")),
    (tuple(MEMORY), Words("for a change of its memory", "changes its memory")),
    (tuple(IPC), Words("for another process to give way", "waits for or wakes other processes")),
    (tuple(DOORS), Words("for a service of the same host", "asks a service of the same host")),
    (tuple(OPENS), Words("until a file was opened", "opens files")),
    (
        ("stat", "lstat", "fstat", "newfstatat", "statx", "access", "readlink", "getdents", "getdents64"),
        Words("for a look-up of a file", "looks up files"),
    ),
    (tuple(READ_NAMES), Words("for data to read", "reads")),
    (("write", "writev", "pwrite", "pwrite64", "pwritev", "kwrite"), Words("until data was written", "writes")),
    (("close", "unlink", "unlinkat", "rename"), Words("until a file was closed or removed", "closes files")),
    (("fork", "vfork", "fork1", "clone", "clone3", *EXEC_NAMES), Words("until a program started", "starts programs")),
    (tuple(EXIT_NAMES), Words("until it had ended", "ends")),
)
"""Words of the families of system calls. The first family that names a call has it."""

_BY_CALL = {name: words for names, words in reversed(FAMILIES) for name in names}

KINDS: Mapping[str, str] = {
    "gap": "nothing was written",
    "silence": "nothing was written",
    "backwards": "a total that should only rise fell",
    "growth": "one figure only grows",
    "counter": "a count of troubles rose",
    "limit": "a limit is nearly reached",
    "asleep": "processes wait inside the kernel",
    "standing": "threads of a program stand still",
    "slow-request": "a slow request stands still",
    "open-call": "a call of a program was not seen to end",
    "lockup": "a processor made no progress",
    "hung": "a process made no progress for minutes",
    "profile": "one function takes the processor",
    "caller": "one function takes the processor",
    "path": "one function takes the processor",
    "work": "one kind of work takes the processor",
    "saturation": "a resource has no room left",
    "sessions": "sessions of the database stand in one state",
    "device": "commands to a device failed",
    "timer": "a wait of the same length comes again and again",
    "repetition": "the same small step is done again and again",
    "rounds": "the same small steps are done again and again",
    "failure": "a step failed",
    "difference": "a time differs between the runs",
    "turns": "a program waits for one answer of a server after the other",
    "listed": "one figure of a list is far from the others",
}
"""What an observation shows by its kind alone, where neither a call nor a signature tells more."""

COMPLAINTS: Mapping[str, str] = {"error": "an error", "warning": "a warning"}

_QUOTED = re.compile(r'\s*(?::|between|from|after|of|with|stands?)?\s*"[^"]*(?:"|$)(?: (?:and|to) "[^"]*(?:"|$))?')
_PEER = re.compile(r" (?:on|to) ((?:\d+\.){3}\d+|[\w-]+(?:\.[\w-]+)+):\w+$")
_BRACKETS = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\])")
_MEDIAN = re.compile(r", (?:(?!, )[^;])*\(median\)")
"""A further figure that is told from the others by its brackets only: without them nobody knows what it is."""
_NAMES = re.compile(
    r"[_:]{2}|\w_\w|[/\\\[\]{}<>=|`\"#]|\b(?:pid|lwp|tid|fd)\b|\b0x|\(|[a-z][A-Z]|\w\.[A-Za-z]|\d:\d|\b[A-Z]{2}[A-Z]*\d|[A-Z][A-Z_]{5,}"
    r"|\b(?:futex|epoll|ioctl|mmap|brk)\b|\b(?:thread|process|goroutine|transaction|child) \d"
)
"""What a manager does not read: names of functions and columns, paths, addresses, numbers of processes."""

_ACTS = frozenset(
    "asks calls changes connects copies creates frees gives goes hands holds keeps looks makes maps moves opens queues"
    " reads runs searches sends sleeps spins starts stops takes talks tears tries waits works writes".split()
)
"""First words of sentences that leave out who does it."""


def told(row: Row, most: int) -> str:
    """Return a clause, without its stop, for an observation; it has one quantity, and is cut at a border after `most`."""
    call = _BY_CALL.get(str(row["subject"] or "").split(" ", 1)[0].rstrip("()").lower())
    where = f" on {row['host']}" if row.get("host") else ""
    if call is not None and row["kind"] in ("wait", "timer", "short-wait"):
        text = f"a program waited {_spent(row)} {_awaited(row, call)}"
    elif call is not None and row["kind"] in ("repetition", "rounds"):
        text = f"a program {call.done}: {_times(row)}"
    elif call is not None and row["kind"] == "failure":
        text = f"a program failed where it {call.done}: {_times(row)}"
    elif row["kind"] in _OF_KIND:
        text = _OF_KIND[row["kind"]](row)
    elif row["observer"] == "log-complaints":
        text = _complaint(row)
    elif row["headline"].startswith("A line tells of "):
        text = f"a step took {in_words(row['value'])}, as {'a line' if row['n'] == 1 else 'lines'} of the log say{'s' if row['n'] == 1 else ''}"
    elif is_plain(clean := without_detail(row["headline"])):
        return shortened(clean, most)
    elif row["means"] and is_plain(means := first_clause(row["means"])) and len(means) <= most:
        text = with_measure(acting(means), row)
    elif row["kind"] in ("wait", "step") and row["unit"] == "s":
        text = f"a step took {_spent(row)}"
    else:
        text = with_measure(KINDS.get(row["kind"], "one figure stands out"), row)
    placed = text.replace("a program", f"a program{where}", 1) if text.startswith("a program ") else text
    return placed if len(placed) <= most else text


def felt(row: Row) -> bool:
    """Return whether an observation is large enough to be noticed: a wait, a large part of a whole, or a failure."""
    if row["seconds"] is not None:
        return bool(row["seconds"] >= FELT_S)
    if row["unit"] == "s" and row["kind"] in ("gap", "silence", "wait", "step"):
        return bool((row["value"] or 0.0) >= FELT_S)
    if row["kind"] in ("counter", "repetition", "rounds", "known", "remark", "setting", "course"):
        return bool(row["failure"])
    return bool(row["failure"]) or row["kind"] == "state" or (row["share"] or 0.0) >= FELT_SHARE


def is_plain(text: str) -> bool:
    """Return whether a text is free of names that only experts read.

    >>> is_plain("the processors were 100 % busy"), is_plain("wait4 on pid 18 waited 0.172 s")
    (True, False)
    """
    return not _NAMES.search(text) and not any(word in _BY_CALL for word in re.findall(r"\b[a-z]+\d?\b", text)[:1])


def without_detail(text: str) -> str:
    """Return a sentence without what it quotes and what stands in brackets.

    >>> without_detail('the log wrote nothing for 5 s between "a b" and "c d"; between other lines 0.5 s (median)')
    'the log wrote nothing for 5 s'
    >>> without_detail("a step took 0.360 s, 20 of 20 took 0.1 s or more, 0.330 s (median)")
    'a step took 0.360 s, 20 of 20 took 0.1 s or more'
    """
    text = _BRACKETS.sub("", _MEDIAN.sub("", _QUOTED.sub("", text)))
    return re.split(r"; | \.\.\.", text, maxsplit=1)[0].strip().rstrip(".,:;")


def acting(text: str) -> str:
    """Return a sentence with who does it, where it begins with its verb.

    >>> acting("waits until the kernel has random numbers"), acting("a name server does not answer")
    ('a program waits until the kernel has random numbers', 'a name server does not answer')
    """
    return f"a program {text}" if text.split(" ", 1)[0] in _ACTS else text


def first_clause(text: str) -> str:
    """Return a text up to its first colon or semicolon, without what stands in brackets; a comma may part a list."""
    return re.split(r"[:;] ", _BRACKETS.sub("", text), maxsplit=1)[0].strip().rstrip(".")


def with_measure(text: str, row: Row) -> str:
    """Return a sentence followed by the quantity of its observation, if that is one that people feel or count."""
    measured = measure(row)
    if not measured:
        return text.rstrip(".")
    return f"{text.rstrip('.')}{', ' if ':' in text else ': '}{measured}"


def measure(row: Row) -> str:
    """Say how much an observation measured: seconds of how many, a share of what, how many times; empty if nothing.

    >>> row = dict.fromkeys(("seconds", "of_s", "share", "value", "unit", "n", "kind", "observer"))
    >>> measure({**row, "seconds": 2.0, "of_s": 2.5}), measure({**row, "seconds": 10.0, "n": 2})
    ('2.00 of 2.50 s', '10.0 s in all')
    """
    seconds, unit, value, n = row.get("seconds"), row.get("unit"), row.get("value"), row.get("n") or 1
    observer = row.get("observer")
    if seconds is not None and seconds >= FELT_S:
        return _spent(row) + (" in all" if n > 1 and not _whole(row) else "")
    if row.get("kind") in ("gap", "silence", "wait", "step", "lockup") and unit == "s" and value:
        return in_words(value)
    if observer == "log-complaints":
        return "a line of the log says so" if n == 1 else f"{n:,} lines of the log say so"
    if observer == "profile-weight" and unit == "%":
        return f"{value:.3g} % of the samples"
    if (
        observer == "standing-still"
        and row.get("kind") in ("standing", "slow-request", "asleep", "uninterruptible")
        and n > 1
    ):
        share = row.get("share") or 0.0
        whole = round(n / share) if share else n
        return f"{n:,} of {whole:,} of them" if whole > n else f"{n:,} of them"
    if observer == "consumers" and unit == "%":
        return f"{value:.3g} % of a processor"
    if unit == "%" and value is not None:
        return f"{value:.3g} %"
    if unit in ("kB", "KB") and value:
        return _size(value * 1024)
    if unit == "bytes" and value:
        return _size(value)
    if unit == "count" and row.get("kind") in ("counter", "state", "failure") and value and value > 1:
        return f"{figure(value, unit)}{' connections' if row['kind'] == 'state' else ' times'}"
    return ""


def in_words(seconds: float) -> str:
    """Write seconds with at most three digits.

    >>> [in_words(s) for s in (0.1234, 2.4734, 10.0, 94.0, 7200.0)]
    ['0.123 s', '2.47 s', '10.0 s', '1 min 34 s', '2 h 0 min']
    """
    return f"{seconds:#.3g} s" if 0.1 <= seconds < 60 else duration(seconds)


def shortened(text: str, most: int) -> str:
    """Shorten a sentence at a comma or semicolon outside brackets and quotes, so that it still has its figure.

    >>> shortened("the longest time elapsed is 3.940 s, 21 of 21 are 0.1 s or more, 0.310 s (median)", 70)
    'the longest time elapsed is 3.940 s, 21 of 21 are 0.1 s or more'
    >>> shortened("a sentence without a place to shorten it stays as it is, or so", 20)
    'a sentence without a place to shorten it stays as it is, or so'
    """
    text = text.rstrip(".")
    if len(text) <= most:
        return text
    ends = [at for at in _borders(text) if at <= most and re.search(r"\d", text[:at])]
    return text[: ends[-1]] if ends else text


def _awaited(row: Row, call: Words) -> str:
    """Say what a call waited for; where its subject names a pipe or another host, that."""
    subject = str(row["subject"])
    if subject.endswith(" on a pipe"):
        return "for the program at the other end of a pipe"
    peer = _PEER.search(subject)
    return f"for {peer[1]} to answer" if peer and call.awaited != "until the other side took data" else call.awaited


def _complaint(row: Row) -> str:
    """Say what a line of a log complains of: what it stands for, else that it is an error or a warning."""
    if row["means"] and is_plain(means := first_clause(row["means"])):
        return with_measure(acting(means), row)
    return f"the log shows {COMPLAINTS.get(row['kind'], 'a remark')}, {_often(row)}"


def _lopsided(row: Row) -> str:
    name, _, work = str(row["subject"]).partition(" ")
    if is_plain(clean := without_detail(row["headline"])) and not clean.startswith(name):
        return clean
    parts = "processors" if name.startswith("CPU") else "like parts"
    named = re.fullmatch(r"[a-z ]+", work) and not work.startswith(("proc ", "softnet "))
    return f"one of several {parts} has most of {f'the {work}' if named else 'one kind of work'}"


def _uninterruptible(row: Row) -> str:
    return "a process waits inside the kernel" if row["n"] == 1 else f"{row['n']:,} processes wait inside the kernel"


def _split(row: Row) -> str:
    if row["means"] and is_plain(means := first_clause(row["means"])):
        return with_measure(acting(means), row)
    return f"one part of a step took {_spent(row)}" if row["unit"] == "s" else "one part of a step took most of it"


def _consumer(row: Row) -> str:
    """Name the program that takes most; a part of the memory that is none has the words of its kind."""
    name, program, _ = str(row["subject"]).partition(" (pid ")
    who = f"the program {name}" if program and is_plain(name) else "one program" if program else "one part"
    return f"{who} {'takes' if row['unit'] == '%' else 'holds'} {measure(row) or 'most'}"


def _outside_calls(row: Row) -> str:
    return f"a program did its own work, or was held up, for {_spent(row)}"


_OF_KIND: Mapping[str, Callable[[Row], str]] = {
    "lopsided": _lopsided, "split": _split, "uninterruptible": _uninterruptible, "consumer": _consumer,
    "outside-calls": _outside_calls,
}  # fmt: skip


def _whole(row: Row) -> float | None:
    """Return the seconds of which those of an observation are a part, where they are more."""
    seconds, whole = row.get("seconds"), row.get("of_s")
    return whole if seconds and whole and whole >= 1.005 * seconds else None


def _spent(row: Row) -> str:
    """Return seconds with those of which they are a part, in one unit."""
    seconds = row["seconds"] if row.get("seconds") is not None else row["value"]
    whole = _whole(row)
    if not whole:
        return in_words(seconds)
    both = in_words(seconds), in_words(whole)
    same = all(text.endswith(" s") and " min" not in text for text in both) and not both[0].endswith("ms")
    return f"{both[0].removesuffix(' s') if same else both[0]} of {both[1]}"


def _often(row: Row) -> str:
    return "once" if (row["n"] or 1) == 1 else f"{row['n']:,} times"


def _times(row: Row) -> str:
    return f"{_often(row)}, {_spent(row)}" if (row.get("seconds") or 0.0) >= FELT_S else _often(row)


def _size(count: float) -> str:
    step = 0
    while count >= 1000 and step < 4:
        count, step = count / 1024, step + 1
    return f"{count:.3g} {('bytes', 'kB', 'MB', 'GB', 'TB')[step]}"


def _borders(text: str) -> list[int]:
    """Return the places of commas and semicolons that stand outside brackets and quotes and end a clause."""
    depth, quoted, found = 0, False, []
    for at, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter in ",;" and depth <= 0 and not quoted and text[at + 1 : at + 2] == " ":
            found.append(at)
    return found
