"""Which states in a listing name a wait outright, where the listing has no numbers of sessions to follow.

People cut a list of sessions to the columns that matter (user, state, statement). Standing out: a state or wait event that signatures name
outright as a wait for a lock, and any other such wait of `MANY` rows or more. Normal: other states. Lists with numbers of sessions are
told by `database-lists` and `database-sessions`.
Worked example: `state: Waiting for table metadata lock` beside `info: truncate carts`: 1 of 1 listed is in that state.
Cost: one pass over the listings. Source: MySQL Reference Manual, General Thread States; PostgreSQL documentation, Wait Events.
"""

from __future__ import annotations

from collections.abc import Iterable

from parsers.columns.statement_verbs import verb
from rules.derived.derived_table import CaseTables
from rules.observers.database_lists import STATEMENTS, WHO, is_known, listings
from rules.observers.observer import Observer, Sighting, place
from rules.signatures.signatures import recognise

OBSERVER = Observer(
    "named-states",
    "Which states in a listing name a wait?",
    ("rows",),
    {"*": "the whole list of sessions with their numbers, transactions and those that block them"},
)

STATES = ("state", "wait_event", "event", "wait_type", "wait", "status", "stage", "trx_state")
LOCKS = ("row-lock", "table-lock", "deadlock")
MANY = 3
CITED = 10
LOCK_SHARE = 0.6


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield the waits that states of each listing name."""
    for names, listing in listings(case):
        column = next((n for n in STATES if n in names), None)
        if (
            column is None
            or names & set(WHO)
            or not names & {*STATEMENTS, "user", "usename", "username", "command", "trx_query", "trx_mysql_thread_id"}
        ):
            continue
        by_state: dict[str, list[int]] = {}
        for n, one in enumerate(listing):
            if is_known(one.of[column]):
                by_state.setdefault(one.of[column].strip(), []).append(n)
        for state, at in by_state.items():
            named = [s for s in recognise(event=state, observer=OBSERVER.name) if s.strength == "mechanism"]
            if not named or (named[0].mechanism not in LOCKS and len(at) < MANY):
                continue
            held = [listing[n] for n in at]
            said = held[0].first((*STATEMENTS, "trx_query"))
            what = verb(said[1]) if said else None
            yield Sighting(
                "wait",
                state,
                f"{len(held):,} of {len(listing):,} listed {'is' if len(held) == 1 else 'are'} in the state {state}"
                + (f" ({what})" if what else ""),
                "sessions_count",
                float(len(held)),
                "count",
                tuple(one.line(state, column) for one in held[:CITED])
                + ((held[0].line(what, said[0]),) if what and said else ()),
                **place(held[0].row),
                against="all that are listed",
                against_value=float(len(listing)),
                share=max(LOCK_SHARE, len(held) / len(listing)),
                n=len(held),
                seen=({"event": state},),
            )
