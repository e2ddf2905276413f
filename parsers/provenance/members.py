"""Complete the hints about a file with facts from the tree of a collecting tool."""

from __future__ import annotations

from dataclasses import replace

from parsers.containers.collectors import MemberFacts
from parsers.text.source import Hints


def with_member_facts(hints: Hints, facts: MemberFacts) -> Hints:
    """Return hints with values from a tree where the hints have none.

    >>> known = with_member_facts(Hints(host="db1"), MemberFacts(host="x", command="free -m"))
    >>> known.host, known.command
    ('db1', 'free -m')
    """
    return replace(
        hints,
        host=hints.host or facts.host,
        os=hints.os or facts.os,
        tz=hints.tz or facts.tz,
        date=hints.date or facts.date,
        command=hints.command or facts.command,
    )
