"""Look-ups of names by hand: which question stayed without an answer or failed, and which was answered at once.

Reads what dig, nslookup, host and resolvectl print. Stands out: a question that no server answered, that a server answered
with a failure or "no such name", that was answered only after time-outs, or that took `SLOW_S`. Beside it stands what was
answered at once: the same name by its other kind of address, or by another server. Normal: an answer without delay.
nslookup of Windows first asks for the name of its server; a time-out above the line with that name belongs to this question.
Where the same question was answered later, the commands at the prompts between stand beside it: one of them may have mended it.
An answer tells no time unless its tool prints one.
Worked example: AAAA? db1 SERVFAIL after 700 ms from both servers, A? db1 answered in 4 ms: one kind of address fails.
Cost: at most `MOST_LINES_READ` lines. Source: dig(1), nslookup(1), host(1), resolvectl(1); RFC 1035 4.1.1 (response codes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import MOST, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "name-lookups",
    "Which names were asked for by hand, and who answered?",
    ("rows",),
    {
        "windows": "nslookup -debug -type=A NAME SERVER; the same with -type=AAAA and -type=PTR",
        "*": "dig NAME A @SERVER and dig NAME AAAA @SERVER, for each server of /etc/resolv.conf",
    },
)

LOOKUP, BETWEEN = "name look-up", "$$ "
"""Heading of the lines of look-ups, and the mark before another command at a prompt below one."""

MOST_LINES_READ = 5_000
"""Maximum number of lines that are looked at."""

SLOW_S = 1.0
"""Time in seconds from which an answer is late: resolvers ask again after some seconds, people notice long before."""

FAILS = ("SERVFAIL", "REFUSED", "FORMERR", "NOTIMP", "NOTAUTH", "ServFail", "Refused", "failure", "no answer")
MISSING = ("NXDOMAIN", "NXDomain")
TOLD = 3
"""Maximum number of look-ups of one kind, or of commands, that a sentence names."""

COMMAND = 80
"""Maximum number of characters of a command that are quoted."""

_TYPE = re.compile(r"(?i)(?:A|AAAA|PTR|CNAME|SRV|MX|TXT|NS|SOA|ANY)")
_ADDRESS = re.compile(r"[0-9A-Fa-f*]{0,4}(?:[.:][0-9A-Fa-f*]{0,4}){2,7}")
_IP_DOOR = re.compile(r"([0-9A-Fa-f.:]{3,45})#([0-9]+)")
_BANNER = re.compile(r"; <<>> DiG \S+(?: \S+)*? <<>> ?(.*)")
_STATUS = re.compile(r";; ->>HEADER<<- .*status: (\w+)")
_QUESTION = re.compile(r";(\S+?)\.?[ \t]+IN[ \t]+(\w+)")
_RECORD = re.compile(r"(\S+?)\.?[ \t]+[0-9]+[ \t]+IN[ \t]+(A|AAAA|PTR)[ \t]+(\S+)")
_TOOK = re.compile(r";; Query time: ([0-9]+) (\w+)")
_SERVER = re.compile(r";; SERVER: ([^#\s]+)#")
_SILENT = re.compile(r";; (?:communications error to (\S+): .*|connection timed out.*|no servers could be reached.*)")
_NONE = re.compile(
    r"\*\* server can't find (\S+): (\w+)|\*\*\* (\S+) can't find (\S+): (.*)|\*\*\* Request to (\S+) timed-out.*"
)
_PAIR = re.compile(r"([^\s:：][^:：]{0,40})[:：][ \t]*(\S*)[ \t]*")
_HOST = re.compile(
    r"(\S+) has (IPv6 )?address (\S+)|(\S+) domain name pointer (\S+)|Host (\S+) not found: [0-9]+\((\w+)\)"
)
_FAILED = re.compile(r"(\S+): resolve call failed: (.*)")
_FOUND = re.compile(r"(\S+): ([0-9A-Fa-f][0-9A-Fa-f.:]{2,45})(?:%\w+)?(?:[ \t]+-- link: \S+)?")
_LINK = re.compile(r"-- Information acquired via protocol \S+ in ([0-9.]+)(us|ms|s)\..*")
_UNIT_S = {"us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0}


@dataclass
class LookUp:
    """One question: what was asked, of whom, what came back, and the lines that say so."""

    tool: str
    name: str = ""
    kind: str = ""
    server: str = ""
    server_name: str = ""
    status: str = ""
    took_s: float | None = None
    answers: list[str] = field(default_factory=list)
    timeouts: list[int] = field(default_factory=list)
    limit_s: float | None = None
    before_server: int = 0
    said: str = ""
    then: list[tuple[int, str]] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)

    @property
    def question(self) -> str:
        """Return the question as tcpdump writes it."""
        return f"{self.kind + '? ' if self.kind else ''}{self.name or 'a name'}"

    @property
    def result(self) -> str:
        """Return the result of the question: a code, `no answer`, or NOERROR."""
        if self.answers or self.status:
            return self.status or "NOERROR"
        return "no answer" if self.timeouts and self.tool != "nslookup" else ""

    def at(self, what: str, line: int) -> None:
        """Record a line for `what`, unless an earlier line is recorded."""
        self.lines.setdefault(what, line)


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield questions that failed, that were answered late, and as a measure what was answered at once."""
    one = pl.col("heading").list.len() == 1
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    rows = (
        case.scan("rows", columns, one & (pl.col("heading").list.first() == LOOKUP))
        .head(MOST_LINES_READ)
        .collect(engine="streaming")
        .sort("artifact_id", "line_no")
    )
    for _, part in rows.group_by("artifact_id", maintain_order=True):
        found = [one for one in _read(part) if one.name or one.result]
        where = part.row(0, named=True)
        yield from list(_told(found, where))[:MOST]


# --- reading ---------------------------------------------------------------------------------------------------------


def _read(rows: pl.DataFrame) -> list[LookUp]:
    """Return the look-ups of an artifact in order."""
    made: list[LookUp] = []
    for line, cells in rows.select("line_no", "cells").iter_rows():
        _take(made, int(line), str(cells[0]) if cells else "")
    return made


def _take(made: list[LookUp], line: int, text: str) -> None:
    if text.startswith(BETWEEN):
        if made:
            made[-1].then.append((line, text.removeprefix(BETWEEN)))
        return
    if text.startswith("$ "):
        made.append(_asked(text[2:], line))
        return
    if found := _BANNER.fullmatch(text):
        banner = _asked(f"dig {found[1]}", line)
        before = made[-1] if made else None
        if before is None or "status" in before.lines or (before.tool, before.question) != ("dig", banner.question):
            made.append(banner)
        made[-1].lines["asked"] = line
        return
    found = _STATUS.match(text)
    if not made or (found and made[-1].status and "silent" not in made[-1].lines):
        made.append(LookUp("dig" if text.startswith(";") else "nslookup" if "DNS request" in text else "host"))
    last = made[-1]
    if text.startswith(";"):
        _take_dig(last, line, text)
    elif last.tool == "dig" and (record := _RECORD.fullmatch(text)):
        last.answers.append(record[3])
        last.at("answer", line)
    elif last.tool == "nslookup":
        _take_nslookup(last, line, text)
    elif last.tool == "host":
        _take_host(last, line, text)
    elif last.tool == "resolvectl":
        _take_resolvectl(last, line, text)


def _asked(command: str, line: int) -> LookUp:
    """Parse the question of a command line."""
    words = re.split(r"[|<>;&]", command)[0].split()
    while words and words[0].rsplit("/", 1)[-1] not in ("dig", "nslookup", "host", "resolvectl"):
        words.pop(0)
    made = LookUp(words.pop(0).rsplit("/", 1)[-1] if words else "dig")
    made.at("asked", line)
    rest: list[str] = []
    while words:
        word = words.pop(0)
        if word.startswith("@"):
            made.server = word[1:]
        elif word in ("-t", "-q") and words:
            made.kind = words.pop(0).upper()
        elif word == "-x" and words:
            made.kind, made.name = "PTR", words.pop(0)
        elif word in ("-p", "-b", "-c", "-k", "-W", "-R", "-i") and words and made.tool != "resolvectl":
            words.pop(0)
        elif word.lower().startswith(("-type=", "-querytype=", "--type=", "-q=")):
            made.kind = word.split("=", 1)[1].upper()
        elif made.tool == "dig" and _TYPE.fullmatch(word):
            made.kind = word.upper()
        elif not word.startswith(("+", "-")):
            rest.append(word)
    if made.tool == "resolvectl" and rest[:1] == ["query"]:
        rest.pop(0)
    if rest and not made.name:
        made.name = rest.pop(0).rstrip(".")
    if rest and made.tool in ("nslookup", "host") and not made.server:
        made.server = rest[0]
    if made.tool == "dig" and not made.kind:
        made.kind = "A"
    if made.tool != "dig" and not made.kind and _ADDRESS.fullmatch(made.name):
        made.kind = "PTR"
    return made


def _take_dig(last: LookUp, line: int, text: str) -> None:
    if found := _STATUS.match(text):
        last.status, last.said = found[1], text
        last.at("status", line)
    elif found := _QUESTION.fullmatch(text):
        last.name, last.kind = last.name or found[1], found[2]
        last.lines["asked"] = line if last.kind else last.lines.get("asked", line)
    elif found := _TOOK.match(text):
        last.took_s = int(found[1]) * _UNIT_S.get(found[2], 1e-3)
        last.at("took", line)
    elif found := _SERVER.match(text):
        last.server = last.server or found[1]
    elif found := _SILENT.match(text):
        if found[1]:
            last.timeouts.append(line)
            last.server = found[1].replace("#53", "") if found[1].endswith("#53") else found[1]
        last.status, last.said = "no answer", last.said or text
        last.at("silent", line)


def _take_nslookup(last: LookUp, line: int, text: str) -> None:
    if "DNS request" in text:
        last.timeouts.append(line)
        last.before_server += not last.server_name
        last.said = last.said or text.strip()
    elif found := re.search(r"timeout was ([0-9]+) second", text):
        last.limit_s = float(found[1])
    elif found := _NONE.match(text):
        code = found[2] or ("NXDOMAIN" if found[5] and "existent" in found[5].lower() else "")
        last.status = code or ("no answer" if found[6] else "failure")
        last.name = last.name or found[1] or found[4] or ""
        last.said = last.said or text
        last.at("status", line)
    elif found := _PAIR.fullmatch(text):
        _take_pair(last, line, found[2])
    elif text.strip() and last.answers:
        last.answers.append(text.strip())


def _take_pair(last: LookUp, line: int, value: str) -> None:
    """Record the value of a labelled line in any language: first server name and address, then name and addresses."""
    address = _ADDRESS.fullmatch(value.split("#")[0])
    if not value:
        return
    if "server" not in last.lines:
        last.server_name = value
        last.at("server", line)
    elif "address" not in last.lines and address:
        last.server = value.split("#")[0]
        last.at("address", line)
    elif address:
        last.answers.append(value)
        last.at("answer", line)
    elif "found" not in last.lines:
        last.at("found", line)
        last.name = value


def _take_host(last: LookUp, line: int, text: str) -> None:
    if found := _HOST.fullmatch(text):
        last.name = last.name or found[1] or found[4] or found[6]
        if found[7]:
            last.status, last.said = found[7], text
        last.answers.extend(filter(None, (found[3], found[5])))
        last.at("status" if found[7] else "answer", line)
    elif text.startswith("Address:") and (door := _IP_DOOR.search(text)):
        last.server = door[1]


def _take_resolvectl(last: LookUp, line: int, text: str) -> None:
    if found := _FAILED.fullmatch(text):
        last.status, last.said, last.name = "failure", text, last.name or found[1]
        last.at("status", line)
    elif found := _LINK.fullmatch(text):
        last.took_s = float(found[1]) * _UNIT_S[found[2]]
        last.at("took", line)
    elif found := _FOUND.fullmatch(text):
        last.answers.append(found[2])
        last.at("answer", line)


# --- telling ---------------------------------------------------------------------------------------------------------


def _told(found: Sequence[LookUp], where: dict[str, Any]) -> Iterator[Sighting]:
    good = [one for one in found if one.result == "NOERROR" and not _is_late(one)]
    for codes, failure in ((FAILS, True), (MISSING, False)):
        groups: dict[tuple[str, str], list[LookUp]] = {}
        for one in found:
            if one.result in codes:
                groups.setdefault((one.question, one.result), []).append(one)
        for part in groups.values():
            yield _failed(part, good, found, where, failure=failure)
    for one in found:
        if one.result == "NOERROR" and _is_late(one):
            yield _late(one, where)
    for one in good[:TOLD]:
        yield _answered(one, where)


def _is_late(one: LookUp) -> bool:
    return bool(one.timeouts) or (one.took_s or 0.0) >= SLOW_S


def _failed(
    part: Sequence[LookUp], good: Sequence[LookUp], found: Sequence[LookUp], where: dict[str, Any], *, failure: bool
) -> Sighting:
    first = part[0]
    silent = first.result == "no answer"
    asked = sum(one.question == first.question for one in found)
    said = [
        " ".join(filter(None, (_by(one, silent), f"after {figure(one.took_s, 's')}" if one.took_s is not None else "")))
        for one in part[:TOLD]
    ]
    tries = sum(len(one.timeouts) for one in part)
    times = f", {tries:,} time-outs" if tries > 1 else ""
    what = "got no answer" if silent else f"was answered {first.result}" if failure and first.result != "failure" else (
        f"failed{_reason(first)}" if failure else f"was answered {first.result} (no such name)"
    )  # fmt: skip
    other = next((g for g in good if g.name == first.name and g.kind != first.kind), None)
    other = other or next((g for g in good if g.question == first.question), None)
    again = next((g for g in good if g.question == first.question and found.index(g) > found.index(part[-1])), None)
    between = [c for one in found[found.index(part[-1]) : found.index(again)] for c in one.then] if again else []
    well = again or other
    beside = _well(well) if well else None
    if between and beside:
        named = ", ".join(f'"{c if len(c) <= COMMAND else c[: COMMAND - 3] + "..."}"' for _, c in between[:TOLD])
        beside += f", after {named}"
    seen: tuple[Seen, ...] = ({"log": first.said},) if first.said and failure else ()
    return Sighting(
        "failure",
        first.name or first.server,
        f"{first.question} {what}{' ' if any(said) else ''}{' and '.join(filter(None, said))}{times}",
        "lookups_count",
        float(len(part)),
        "count",
        (
            *(c for one in part[:TOLD] for c in _cited(one, where)),
            *(
                Lines(where["artifact_id"], line, line, "a command between")
                for line, _ in (between if beside else [])[:TOLD]
            ),
            *(_cited(well, where) if well else ()),
        ),
        **place(where),
        against="look-ups of that question",
        against_value=float(asked),
        share=len(part) / asked * (1.0 if failure else 0.3),
        n=len(part),
        failure=failure,
        seen=seen,
        beside=beside,
    )


def _reason(one: LookUp) -> str:
    return f' ("{one.said.split(": ", 2)[-1]}")' if ": " in one.said else ""


def _by(one: LookUp, silent: bool) -> str:
    return f"{'from' if silent else 'by'} {one.server}" if one.server else ""


def _well(one: LookUp) -> str:
    took = f" in {figure(one.took_s, 's')}" if one.took_s is not None else ""
    return f"{one.question} was answered{' ' + _by(one, silent=False) if one.server else ''}{took}: {_addresses(one)}"


def _addresses(one: LookUp) -> str:
    if not one.answers:
        return "there is no such record"
    more = f" and {len(one.answers) - 2:,} more" if len(one.answers) > 2 else ""
    return ", ".join(one.answers[:2]) + more


def _late(one: LookUp, where: dict[str, Any]) -> Sighting:
    limit = f" of {figure(one.limit_s, 's')}" if one.limit_s else ""
    outs = f"{len(one.timeouts):,} time-out{'s' if len(one.timeouts) > 1 else ''}{limit}" if one.timeouts else ""
    took = f" after {figure(one.took_s, 's')}" if one.took_s is not None else ""
    known = f" ({one.server_name})" if one.server_name and one.server_name != one.server else ""
    by = f" by {one.server}{known}" if one.server else ""
    own = one.before_server and one.server_name.lower() == "unknown"
    seconds = one.took_s if one.took_s is not None else len(one.timeouts) * one.limit_s if one.limit_s else None
    return Sighting(
        "late",
        one.name,
        f"{one.question} was answered{by}{took}{' and ' if took and outs else ' after ' if outs else ''}{outs}: {_addresses(one)}",
        "lookup_s",
        seconds if seconds is not None else float(len(one.timeouts)),
        "s" if seconds is not None else "count",
        tuple(_cited(one, where)),
        **place(where),
        against="an answer without delay",
        seconds=seconds,
        n=max(1, len(one.timeouts)),
        seen=({"log": one.said},) if one.said else (),
        beside=f"{_early(one)} came before the name of the server, which stayed unknown: nslookup of Windows asks for that first"
        if own
        else None,
    )


def _early(one: LookUp) -> str:
    if len(one.timeouts) == 1:
        return "the time-out"
    return f"{one.before_server:,} of the {len(one.timeouts):,} time-outs"


def _answered(one: LookUp, where: dict[str, Any]) -> Sighting:
    timed = one.took_s is not None
    return Sighting(
        "look-up",
        one.question,
        _well(one),
        f"lookup_s of {one.question}" if timed else f"lookups of {one.question}",
        one.took_s if timed and one.took_s is not None else 1.0,
        "s" if timed else "count",
        tuple(_cited(one, where)),
        **place(where),
        against="a late answer" if timed else "one question",
        against_value=SLOW_S if timed else 1.0,
        normal=True,
    )


ROLES = (
    ("asked", "asked for {0.question}"),
    ("server", "the server that is asked"),
    ("address", "its address, {0.server}"),
    ("status", "answered {0.result}"),
    ("silent", "no answer"),
    ("found", "the name that was answered, {0.name}"),
    ("answer", "the answer"),
    ("took", "how long it took"),
)


def _cited(one: LookUp, where: dict[str, Any]) -> Iterator[Lines]:
    """Yield the lines of a look-up: the question, its time-outs, what came back, how long that took."""
    for what, role in ROLES:
        if what in one.lines and one.lines[what] not in one.timeouts:
            line = one.lines[what]
            yield Lines(where["artifact_id"], line, line, role.format(one))
        if what == "asked":
            for line in one.timeouts[:TOLD]:
                yield Lines(where["artifact_id"], line, line, "time-out")
