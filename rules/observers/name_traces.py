r"""Questions to name servers in traces of system calls: what was asked, and what the answer says.

The first bytes of a message to or from port 53 name its number, its response code and the name that is asked for; most
tracers print 32 of them, so a long name ends with `...` and its type (A, AAAA) is unknown. Stands out: a question without an
answer, a failure, and "no such name" where it took `FELT_S`. Beside it stands what the same server did answer. Normal: answers.
Worked example: AAAA? box sent twice and not answered by 10.0.0.3, which answered box.lan: no such name.
Cost: calls with data to or from port 53, at most `MOST_CALLS`. Source: RFC 1035 4.1 (format of messages); strace(1), -s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, MOST, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen
from rules.walking.threads import READ_NAMES, WRITE_NAMES

OBSERVER = Observer(
    "name-traces",
    "Which names does a program ask for, and what is answered?",
    ("syscalls",),
    {"*": "cat /etc/resolv.conf /etc/nsswitch.conf; dig NAME A @SERVER, dig NAME AAAA @SERVER; strace -s 200 -e trace=network"},
)  # fmt: skip

PORT = 53
MOST_CALLS = 20_000
"""Maximum number of calls that are looked at."""

ENDS_S = 1.0
"""Minimum time in seconds from a question to the last of these calls for it to count as unanswered, unless it was sent again."""

WAITED_FOR = 0.8
"""Factor of the share of questions: the waits for their answers are observed on their own and come first."""

CITED = 3
"""Maximum number of questions of one kind that are cited."""

HEADER = 12
"""Length of the header of a message in bytes."""

LONGEST_LABEL = 63

TYPES = {1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 15: "MX", 16: "TXT", 28: "AAAA", 33: "SRV", 65: "HTTPS"}
CODES = {0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}
FAILS = ("FORMERR", "SERVFAIL", "NOTIMP", "REFUSED")

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.DOTALL)
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_VECTOR = re.compile(r'iov_base="((?:[^"\\]|\\.)*)"', re.DOTALL)


@dataclass(frozen=True)
class Message:
    """The beginning of a message of DNS: number, whether it is an answer, its code, the name and the type it is about."""

    number: int
    answer: bool
    code: str
    question: str


@dataclass
class Exchange:
    """A question and its answer, if there is one."""

    server: str
    question: str
    sent: list[int]
    t_sent: float | None
    connect: int | None
    code: str = "no answer"
    answered: int | None = None
    call: str = ""
    took_s: float | None = None


def unescaped(text: str) -> bytes:
    r"""Return the bytes of a payload as tracers print it.

    >>> unescaped(r"\1\0\x1fab\n\"")
    b'\x01\x00\x1fab\n"'
    """

    def plain(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1], 16))
        return chr(int(found[2], 8) & 255) if found[2] else _SIGNS.get(found[3], found[3])

    return _ESCAPE.sub(plain, text).encode("latin-1", "replace")


def message_of(data: bytes) -> Message | None:
    r"""Parse the beginning of a DNS message; return None for any other bytes.

    >>> message_of(b"\x07\x08\x81\x83\0\1\0\0\0\0\0\0\2db\3lan\0\0\x1c\0\1")
    Message(number=1800, answer=True, code='NXDOMAIN', question='AAAA? db.lan')
    >>> message_of(b"\x07\x08\1\0\0\1\0\0\0\0\0\0\2db\7exam").question, message_of(b"GET / HTTP/1.1")
    ('db.exam...', None)
    """
    if len(data) <= HEADER or data[4:6] != b"\0\1" or data[2] & 0x78:
        return None
    labels: list[str] = []
    at, whole = HEADER, False
    while at < len(data):
        size = data[at]
        if size == 0:
            whole = True
            break
        if size > LONGEST_LABEL:
            return None
        labels.append(data[at + 1 : at + 1 + size].decode("latin-1"))
        at += 1 + size
    if not labels or not all(label.isprintable() for label in labels):
        return None
    kind = TYPES.get(int.from_bytes(data[at + 1 : at + 3], "big"), "") if whole and len(data) >= at + 3 else ""
    name = ".".join(labels) + ("" if whole else "...")
    code = CODES.get(data[3] & 15, f"code {data[3] & 15}")
    return Message(int.from_bytes(data[:2], "big"), bool(data[2] & 0x80), code, f"{kind}? {name}" if kind else name)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what stayed without an answer, what failed, what came late, and as a measure what was answered."""
    columns = ["line_no", "t_local", "elapsed_s", "pid", "lwp", "name", "fd", "peer_ip", "args", "data", "ret", "err"]
    names = [*WRITE_NAMES, *READ_NAMES, "sendmmsg", "connect"]
    ours = (pl.col("peer_port") == PORT) & pl.col("name").is_in(names) & pl.col("peer_ip").is_not_null()
    rows = case.scan("syscalls", [*PLACE_COLUMNS, *columns], ours).head(MOST_CALLS).collect(engine="streaming")
    for _, part in rows.sort("line_no").group_by("artifact_id", maintain_order=True):
        yield from list(_told(_exchanges(part), part.row(0, named=True)))[:MOST]


def _exchanges(rows: pl.DataFrame) -> list[Exchange]:
    made: list[Exchange] = []
    open_: dict[tuple[Any, ...], Exchange] = {}
    connects: dict[tuple[Any, ...], int] = {}
    for row in rows.iter_rows(named=True):
        door = (row["pid"], row["fd"])
        if row["name"] == "connect":
            connects[door] = row["line_no"]
            continue
        for message in _messages(row):
            key = (*door, message.number)
            one = open_.get(key)
            if message.answer and one is not None:
                one.code, one.answered, one.call = message.code, row["line_no"], row["name"]
                if row["t_local"] is not None and one.t_sent is not None:
                    one.took_s = max(0.0, row["t_local"] - one.t_sent)
                del open_[key]
            elif not message.answer and one is not None:
                one.sent.append(row["line_no"])
            elif not message.answer:
                server = f"{row['peer_ip']}:{PORT}"
                one = Exchange(server, message.question, [row["line_no"]], row["t_local"], connects.get(door))
                open_[key] = one
                made.append(one)
    last = rows["t_local"].max()
    return [one for one in made if one.code != "no answer" or len(one.sent) > 1 or _is_over(one, last)]


def _is_over(one: Exchange, last: object) -> bool:
    """Return whether the trace continues long enough after a question to contain an answer."""
    return isinstance(last, float) and one.t_sent is not None and last - one.t_sent >= ENDS_S


def _messages(row: Mapping[str, Any]) -> list[Message]:
    texts = _VECTOR.findall(row["args"] or "") if row["name"] == "sendmmsg" else [row["data"]] if row["data"] else []
    return [m for text in texts if (m := message_of(unescaped(text))) is not None]


def _told(found: Sequence[Exchange], where: Mapping[str, Any]) -> Iterator[Sighting]:
    servers: dict[str, list[Exchange]] = {}
    for one in found:
        servers.setdefault(one.server, []).append(one)
    for server, asked in servers.items():
        groups: dict[str, list[Exchange]] = {}
        for one in asked:
            groups.setdefault(one.code, []).append(one)
        for code, held in groups.items():
            took = [one.took_s for one in held if one.took_s is not None]
            late = bool(took) and median(took) >= FELT_S
            others = [one for one in asked if one.code not in (code, "no answer")]
            if code == "no answer":
                yield _unanswered(server, held, len(asked), others, where)
            elif code in FAILS or late:
                yield _answered(server, code, held, len(asked), others, where)
            elif took:
                yield _answered(server, code, held, len(asked), [], where, normal=True)


def _unanswered(
    server: str, held: Sequence[Exchange], whole: int, others: Sequence[Exchange], where: Mapping[str, Any]
) -> Sighting:
    n, first = len(held), held[0]
    times = f", sent {len(first.sent):,} times" if len(first.sent) > 1 else ""
    which = (
        f"{first.question}{times}" if n == 1 else f"{n:,} of {whole:,} questions; the first: {first.question}{times}"
    )
    rest = f", one of {whole:,} questions" if n == 1 and whole > 1 else ""
    return Sighting(
        "failure",
        server,
        f"{server} did not answer {which}{rest}",
        "unanswered_count",
        float(n),
        "count",
        tuple(_cited([*held[:CITED], *others[:1]], where)),
        **place(where),
        against="questions to that server",
        against_value=float(whole),
        share=WAITED_FOR * n / whole,
        n=n,
        beside=_well(others),
    )


def _answered(
    server: str,
    code: str,
    held: Sequence[Exchange],
    whole: int,
    others: Sequence[Exchange],
    where: Mapping[str, Any],
    normal: bool = False,
) -> Sighting:
    n, first = len(held), held[0]
    took = [one.took_s for one in held if one.took_s is not None]
    after = f", after {figure(median(took), 's')}{' (median)' if len(took) > 1 else ''}" if took else ""
    seen: tuple[Seen, ...] = ({"log": f"name server answered {code}"},) if code in FAILS else ()
    return Sighting(
        "failure" if code in FAILS else "answer",
        server,
        f"{server} {_says(code)} {first.question}{after}"
        if whole == 1
        else f"{server} {_says(code)} {n:,} of {whole:,} questions{after}; the first: {first.question}",
        "answer_s" if took else "answers_count",
        median(took) if took else float(n),
        "s" if took else "count",
        tuple(_cited([*held[:CITED], *others[:1]], where)),
        **place(where),
        against="what a person notices" if took else "questions to that server",
        against_value=FELT_S if took else float(whole),
        share=(WAITED_FOR if code in FAILS else 0.3) * n / whole,
        n=n,
        seen=seen,
        normal=normal,
        beside=_well(others),
    )


def _says(code: str) -> str:
    means = " (no such name)" if code == "NXDOMAIN" else ""
    return "answered" if code == "NOERROR" else f"answered {code}{means} to"


def _well(others: Sequence[Exchange]) -> str | None:
    if not others:
        return None
    first = others[0]
    took = f" after {figure(first.took_s, 's')}" if first.took_s is not None else ""
    return f"it {_says(first.code)} {first.question}{took}"


def _cited(held: Sequence[Exchange], where: Mapping[str, Any]) -> Iterator[Lines]:
    roles: dict[int, str] = {}
    for one in held:
        if one is held[0] and one.connect is not None:
            roles[one.connect] = f"the name server, {one.server}"
        for line in one.sent[:2]:
            roles.setdefault(line, f"asks for {one.question}")
        if one.answered is not None:
            roles[one.answered] = f"{one.call}: {one.code}"
    return (Lines(where["artifact_id"], line, line, role) for line, role in roles.items())
