"""Chains of sessions that wait for each other, shared by the observers of lists of sessions.

A session that waits names the one that it waits for. Those that nobody keeps waiting are the roots: they decide when the others go on.
Worked example: 8 waits for 7, 9 waits for 7, 7 waits for 5: the root is 5, three wait for it, two of them behind 7.
Cost: one pass over the sessions and one over the chains. Source: PostgreSQL documentation, pg_blocking_pids and Explicit Locking;
Oracle Database Reference, V$SESSION (BLOCKING_SESSION).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rules.observers.observer import MOST_LINES, Lines, Sighting, figure, place
from rules.signatures.signatures import Seen, recognise

TOLD = 3
"""Number of roots that are told, those with most sessions behind them first, and of sessions between that hold up several."""

CITED = 10
"""Maximum number of lines that are cited of sessions that wait."""

LOCKED_S = 1.0
"""Minimum time in seconds that a session waits for a lock to be blamed on it: shorter waits are how locks work."""

MANY = 3
"""Minimum number of sessions behind one that are worth a blame however short they wait."""

HELD_UP_S = 30.0
"""Seconds that a session waits for another one from which it is held up, whatever the event is called: a latch is passed on in milliseconds."""

WRITES = ("UPDATE", "DELETE", "INSERT", "MERGE", "REPLACE", "SELECT FOR UPDATE")
"""Statements that lock the rows that they change."""

OF_TABLES = (
    "ALTER",
    "CREATE",
    "DROP",
    "TRUNCATE",
    "LOCK",
    "REFRESH",
    "RENAME",
    "REINDEX",
    "CLUSTER",
    "VACUUM FULL",
    "OPTIMIZE",
    "REPAIR",
)
"""First words of statements that want or hold a lock on a whole table or its definition."""


@dataclass(frozen=True)
class Waiting:
    """A listed session: whom it waits for (None: nobody), since when, what it does, and the lines that show it."""

    sid: str
    row: Mapping[str, Any]
    line: Lines
    blocker: str | None = None
    blocker_line: Lines | None = None
    wait_s: float | None = None
    event: str | None = None
    wait_class: str | None = None
    state: str | None = None
    verb: str | None = None
    since_s: float | None = None
    """How long its statement runs, of one that waits for nobody."""


def of_tables(verb: str | None) -> bool:
    """Return whether a statement wants or holds a lock on a whole table or its definition.

    >>> of_tables("ALTER TABLE"), of_tables("VACUUM"), of_tables(None)
    (True, False, False)
    """
    return verb is not None and verb.startswith(OF_TABLES)


def chains(listing: Sequence[Waiting]) -> Iterator[Sighting]:
    """Yield the sessions that others wait for: first the roots, then blockers that wait themselves."""
    by_sid = {one.sid: one for one in reversed(listing)}
    waiting: dict[str, list[Waiting]] = {}
    for one in listing:
        if one.blocker is not None and one.blocker != one.sid:
            waiting.setdefault(one.blocker, []).append(one)
    blocked = {one.sid for held in waiting.values() for one in held}
    trees = {holder: _behind(holder, waiting) for holder in waiting}
    roots = sorted((h for h in waiting if h not in blocked), key=lambda h: -len(trees[h]))
    between = sorted((h for h in waiting if h in blocked), key=lambda h: -len(waiting[h]))
    for holder in [*roots[:TOLD], *between[:TOLD]]:
        yield _held_up(
            holder, waiting[holder], trees[holder], by_sid.get(holder), len(listing), root=holder not in blocked
        )


def _behind(holder: str, waiting: Mapping[str, Sequence[Waiting]]) -> list[Waiting]:
    """Return all sessions that wait for a session directly or through others, each once even in a circle."""
    found: dict[str, Waiting] = {}
    open_ = [holder]
    while open_:
        for one in waiting.get(open_.pop(), ()):
            if one.sid not in found and one.sid != holder:
                found[one.sid] = one
                open_.append(one.sid)
    return list(found.values())


def _held_up(
    holder: str, held: Sequence[Waiting], tree: Sequence[Waiting], own: Waiting | None, n: int, *, root: bool
) -> Sighting:
    longest = max(held, key=lambda x: x.wait_s or 0.0)
    many = f"{len(held):,} sessions wait" if len(held) > 1 else f"Session {held[0].sid} waits"
    does = ", ".join(x for x in (own.state, own.verb) if x) if own else ""
    idle = "" if not root else ", which waits for nobody itself" if own else ", which is not listed as waiting"
    runs = f" and has run for {figure(own.since_s, 's')}" if root and own and own.since_s else ""
    since = f", the longest for {figure(longest.wait_s, 's')}" if len(held) > 1 and longest.wait_s else ""
    since = since or (f", for {figure(longest.wait_s, 's')}" if longest.wait_s else "")
    further = [one for one in tree if one not in held]
    more = f"; {len(further):,} more wait{'' if len(further) > 1 else 's'} behind {'them' if len(held) > 1 else 'it'}"
    behind = more if root and further else ""
    if not root and own and own.blocker:
        behind = f"; it waits itself for session {own.blocker}" + (
            f", for {figure(own.wait_s, 's')}" if own.wait_s else ""
        )
    text = f"{many} for session {holder}{f' ({does})' if does else ''}{idle}{runs}{since}{behind}"
    order = [longest, *(one for one in held if one is not longest), *further]
    lines = (
        *((own.line,) if own else ()),
        *(one.blocker_line or one.line for one in order[:CITED]),
    )
    return Sighting(
        "wait",
        f"session {holder}",
        text,
        "blocked_sessions_count",
        float(len(tree) if root else len(held)),
        "count",
        _cut(lines),
        **place(longest.row),
        against="all sessions that are listed",
        against_value=float(n),
        share=max(0.6, min(1.0, len(tree) / n)),
        n=len(tree) if root else len(held),
        seen=_seen(tree, own),
    )


def _seen(tree: Sequence[Waiting], own: Waiting | None) -> tuple[Seen, ...]:
    """Return the names of the lock for signatures; none for a few short waits, which are normal.

    The first that is known counts: the wait event (`Lock:` alone names none), a statement that wants a whole table,
    reads behind a session, the class of the wait.
    """
    waits = [one.wait_s for one in tree if one.wait_s is not None]
    if len(tree) < MANY and waits and max(waits) < LOCKED_S:
        return ()
    if event := next((one.event for one in tree if one.event and not one.event.endswith(":")), None):
        outright = any(known.strength == "mechanism" for known in recognise(event=event))
        held_up = len(tree) >= MANY or bool(waits and max(waits) >= HELD_UP_S)
        return (
            ({"event": event},) if outright or not held_up else ({"event": "sessions-held-up-by-one"}, {"event": event})
        )
    for one in (*tree, own):
        if one is not None and of_tables(one.verb):
            return ({"log": f"sessions wait behind {one.verb}"},)
    if any(one.verb == "SELECT" for one in tree) and not any(one.verb in WRITES for one in tree):
        return ({"log": "reads wait behind a session"},)
    if any((one.wait_class or "").lower() == "application" for one in tree):
        return ({"log": "sessions wait in class Application behind a session"},)
    if any(one.verb in WRITES for one in tree):
        return ({"log": "writes wait behind a session"},)
    return ()


def _cut(lines: Sequence[Lines]) -> tuple[Lines, ...]:
    """Return each line once, at most `MOST_LINES` in all."""
    found: list[Lines] = []
    for one in {(x.line_from, x.role): x for x in lines}.values():
        room = MOST_LINES - sum(x.line_to - x.line_from + 1 for x in found)
        if room > 0:
            found.append(Lines(one.artifact, one.line_from, min(one.line_to, one.line_from + room - 1), one.role))
    return tuple(found)
