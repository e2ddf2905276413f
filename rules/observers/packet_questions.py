"""How long each answer took in lists of packets whose protocol is named and whose ports are not, and which answers are refusals.

tshark and Wireshark print `NFS 230 V3 WRITE Call` for a packet that they understand, without ports or lengths, so that
connections cannot be told apart: two hosts that speak one protocol are one conversation. Its client is the side that does
not answer in the protocol's words (Reply, Response, 200 OK), else the side that spoke first.
Standing out: an answer that came `FELT_S` (0.1 s) or more after the packet before it, told by server and protocol with the
number of such answers; a question that the client sent again in the same words after as long, because nothing came back; a
packet in which one side refuses or gives up (an alert of TLS, an error of Kerberos, SMB or the web, GOAWAY, an address that
two machines use).
Normal: shorter answers; the time until the client asks again is its own.
Worked example: `NFS V3 WRITE Call` at 2.0 s and `V3 WRITE Reply` at 14.1 s: "10.7.7.7 answered NFS of 10.1.1.5 after 12.1 s".
Cost: the first `MOST_ROWS` such packets of each artifact, one pass. Source: tshark(1), -T text; display filter reference of Wireshark for
the words of each protocol.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import FELT_S, MOST, Lines, Observer, Sighting, figure, place
from rules.signatures.signatures import Seen

OBSERVER = Observer(
    "packet-questions",
    "How long did the answers in a list of named protocols take, and which of them are refusals?",
    ("packets",),
    {"*": "the same conversation captured on the server's side, and the server's own log of these requests"},
)

MOST_ROWS = 50_000
LONGEST_S = 86_400.0
"""Maximum believable time until an answer, in seconds."""

CITED = 3
"""Maximum number of answers that are cited."""

PORTS = {
    "DNS": 53, "MDNS": 5353, "NFS": 2049, "SMB": 445, "SMB2": 445, "LDAP": 389, "KRB5": 88, "HTTP": 80, "HTTP2": 80, "RADIUS": 1812,
    "ISCSI": 3260, "MYSQL": 3306, "PGSQL": 5432, "TNS": 1521, "TDS": 1433, "SMTP": 25, "IMAP": 143, "POP": 110, "FTP": 21, "SSH": 22,
    "NTP": 123, "DHCP": 67, "SIP": 5060, "MQTT": 1883, "AMQP": 5672, "KAFKA": 9092, "MONGO": 27017, "RESP": 6379, "PORTMAP": 111,
}  # fmt: skip
"""Well-known port of a protocol, by Wireshark's name of it: it says whose answer is waited for."""

LATE_S = 1.0
"""Minimum seconds after which a late answer names the other end: what takes less may be its ordinary work."""

LATE = {"HTTP": "server-answers-late", "HTTP2": "server-answers-late", "ISCSI": "block-answers-late"}
"""Event of protocols whose port alone says too little of the other end, for answers of `LATE_S` and more."""

_ANSWERS = re.compile(
    r"(?i)\b(?:repl(?:y|ies)|responses?|answers?|searchRes\w+|bindResponse|AS-REP|TGS-REP|KRB Error|Access-(?:Accept|Reject|Challenge)"
    r"|HTTP/[0-9.]+ [1-5][0-9]{2}|Server Hello|[1-5][0-9]{2} [A-Z][A-Za-z ]+$|OK$|ResultSet|Row Description)\b"
)
_PENDING = re.compile(r"STATUS_PENDING|100 (?:Continue|Trying)|\bInterim\b")
_REFUSED = re.compile(
    r"Alert \(Level: Fatal, Description: (?!Close Notify)[^)]{1,60}\)|KRB Error: (?!KRB5KDC_ERR_PREAUTH_REQUIRED|KRB5KDC_ERR_BADOPTION)\w+"
    r"|Error: STATUS_(?!PENDING|MORE_PROCESSING|NO_MORE_FILES|OBJECT_NAME_NOT_FOUND|NO_SUCH_FILE|BUFFER_OVERFLOW|END_OF_FILE|NOTIFY)\w+"
    r"|GOAWAY\[[0-9]+\] (?!NO_ERROR)\w+|RST_STREAM\[[0-9]+\] \w+|HTTP/[0-9.]+ 5[0-9]{2}[ A-Za-z]*|duplicate use of [0-9a-fA-F.:]+ detected"
    r"|Server failure|\bRefused\b|Access-Reject|NFS3?ERR_(?!NOENT|EXIST)\w+|NFS4ERR_(?!NOENT|EXIST|DELAY_OK)\w+|Error [0-9]{4}\b"
)


@dataclass
class Talk:
    """What two hosts said in one protocol: late answers, questions that were repeated, and the time of the whole."""

    place: dict[str, Any]
    client: str
    server: str
    protocol: str
    answers: list[tuple[float, dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    again: list[tuple[float, dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    quick: int = 0
    rests_s: float = 0.0
    span_s: float = 0.0


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield late answers and repeated questions by conversation, and refusals by their words."""
    columns = [*PLACE_COLUMNS, "part", "line_no", "t_local", "proto", "src", "sport", "dst", "dport", "payload"]
    named = (
        pl.col("payload").is_not_null()
        & pl.col("sport").is_null()
        & pl.col("dport").is_null()
        & ~pl.col("proto").fill_null("").str.starts_with("icmp")
    )
    rows = (
        case.scan("packets", columns, named & pl.col("t_local").is_finite())
        .head(MOST_ROWS)
        .collect(engine="streaming")
        .sort("artifact_id", "part", "line_no")
    )
    for _, packets in rows.group_by("artifact_id", maintain_order=True):
        held = packets.to_dicts()
        yield from _refusals(held)
        for talk in _talks([p for p in held if p["proto"] != "arp" and p["src"] and p["dst"]]):
            yield from _late(talk)
            yield from _repeated(talk)


def _talks(packets: Sequence[dict[str, Any]]) -> Iterator[Talk]:
    """Yield the conversations of an artifact: packets of one protocol between two hosts, in the order of the file."""
    of: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for packet in packets:
        protocol = str(packet["payload"]).split(None, 1)[0]
        of.setdefault((packet["part"], frozenset((packet["src"], packet["dst"])), protocol), []).append(packet)
    for (_, ends, protocol), said in of.items():
        if len(said) < 2 or len(ends) != 2:
            continue
        spoke = next((p["src"] for p in said if _ANSWERS.search(str(p["payload"]))), None)
        server = spoke or said[0]["dst"]
        client = next(end for end in sorted(ends) if end != server)
        talk = Talk({c: said[0][c] for c in PLACE_COLUMNS}, client, server, protocol)
        _follow(talk, said)
        talk.span_s = max(0.0, said[-1]["t_local"] - said[0]["t_local"] - talk.rests_s)
        yield talk


def _follow(talk: Talk, said: Sequence[dict[str, Any]]) -> None:
    """Sort the gaps between a conversation's packets into answers, repeated questions, and the client's own rests."""
    for before, now in itertools.pairwise(said):
        gap = now["t_local"] - before["t_local"]
        if not 0 <= gap <= LONGEST_S:
            continue
        asked = before["src"] == talk.client or _PENDING.search(str(before["payload"])) is not None
        if now["src"] == talk.server and asked:
            if gap >= FELT_S:
                talk.answers.append((gap, before, now))
            elif not _PENDING.search(str(now["payload"])):
                talk.quick += 1
        elif now["src"] == before["src"] == talk.client and now["payload"] == before["payload"] and gap >= FELT_S:
            talk.again.append((gap, before, now))
        elif now["src"] == talk.client:
            talk.rests_s += gap


def _seen(talk: Talk, gap: float) -> tuple[Seen, ...]:
    port, late = PORTS.get(talk.protocol.upper()), LATE.get(talk.protocol.upper())
    if late and gap >= LATE_S:
        return ({"event": late},)
    return ({"port": port, "seconds": round(gap, 6)}, {"port": port}) if port else ()


def _late(talk: Talk) -> Iterator[Sighting]:
    if not talk.answers:
        return
    made = sorted(talk.answers, key=lambda a: -a[0])
    gap, seconds = made[0][0], sum(a[0] for a in made)
    more = f", {len(made):,} such answers, {figure(seconds, 's')} together" if len(made) > 1 else ""
    others = f"; {talk.quick:,} others came within {figure(FELT_S, 's')}" if talk.quick else ""
    yield _waited(
        talk,
        made,
        f"{talk.server} answered {talk.protocol} of {talk.client} after {figure(gap, 's')}{more}{others}",
        ("question", "answer"),
        _seen(talk, gap),
    )


def _repeated(talk: Talk) -> Iterator[Sighting]:
    if not talk.again:
        return
    made = sorted(talk.again, key=lambda a: -a[0])
    gap, seconds = made[0][0], sum(a[0] for a in made)
    more = f", {len(made):,} times, {figure(seconds, 's')} together" if len(made) > 1 else ""
    seen: tuple[Seen, ...] = (
        _seen(talk, gap)[:1] if talk.protocol.upper() == "DNS" else ({"event": "datagram-repeated"},)
    )
    yield _waited(
        talk,
        made,
        f"{talk.client} asked {talk.server} the same in {talk.protocol} again after {figure(gap, 's')}{more}: no answer came between",
        ("asked", "asked again"),
        seen,
    )


def _waited(
    talk: Talk,
    made: Sequence[tuple[float, dict[str, Any], dict[str, Any]]],
    headline: str,
    roles: tuple[str, str],
    seen: tuple[Seen, ...],
) -> Sighting:
    gap, before, now = made[0]
    seconds = sum(a[0] for a in made)
    cited = sorted(made[:CITED], key=lambda a: a[1]["line_no"])
    return Sighting(
        "wait",
        f"{talk.protocol} of {talk.server}",
        headline,
        "gap_s",
        gap,
        "s",
        tuple(
            Lines(now["artifact_id"], packet["line_no"], packet["line_no"], role)
            for _, first, then in cited
            for packet, role in ((first, roles[0]), (then, roles[1]))
        ),
        **place(talk.place),
        t_from=before["t_local"],
        t_to=now["t_local"],
        against="an answer that nobody waits for",
        against_value=FELT_S,
        seconds=seconds,
        of_s=max(seconds, talk.span_s),
        n=len(made),
        seen=seen,
    )


def _refusals(packets: Sequence[dict[str, Any]]) -> Iterator[Sighting]:
    """Yield packets in which one side refuses or gives up, by sender and words, the most frequent first."""
    of: dict[tuple[Any, str], list[dict[str, Any]]] = {}
    for packet in packets:
        if said := _REFUSED.search(str(packet["payload"])):
            of.setdefault((packet["src"], said[0].strip()), []).append(packet)
    for (src, words), found in sorted(of.items(), key=lambda o: -len(o[1]))[:MOST]:
        first = found[0]
        protocol = str(first["payload"]).split(None, 1)[0]
        times = f"{len(found):,} times" if len(found) > 1 else "once"
        to = f" to {first['dst']}" if first["dst"] and first["dst"] != "Broadcast" else ""
        yield Sighting(
            "refusal",
            f"{protocol} of {src}",
            f"{src} said{to} in {protocol}, {times}: {words}",
            "refusals_count",
            float(len(found)),
            "count",
            tuple(Lines(p["artifact_id"], p["line_no"], p["line_no"], "refusal") for p in found[:CITED]),
            **place({c: first[c] for c in PLACE_COLUMNS}),
            t_from=first["t_local"],
            t_to=found[-1]["t_local"],
            n=len(found),
            seen=({"log": f"{protocol}: {words}"},),
            failure=True,
        )
