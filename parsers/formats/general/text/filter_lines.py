"""Read packet filter rules with their counters: iptables and ip6tables -vnL, iptables-save -c, nft list, ipfw show.

The item of a counter is chain, rule number, action and match: `FORWARD rule 3: DROP tcp dpt:23`. Rules without a final
verdict (a jump to another chain, or none) have counters too: the action in the item shows what happened to the packets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

FILTER = "filter"
"""Group of the counters; their names are packets and bytes."""

LONGEST = 100
"""Maximum number of characters of a rule's match."""

State = dict[str, Any]
"""Table, chain and number of the last rule in it. JSON-able."""

Counted = tuple[str, str | None, str, float]
"""Group, item, name and value of a counter."""

_CHAIN = re.compile(
    r"Chain (?P<name>\S{1,60}) \((?:policy (?P<does>[A-Z]{1,20}) (?P<packets>[0-9]{1,20}[KMGT]?) packets, (?P<bytes>[0-9]{1,20}[KMGT]?) bytes"
    r"|policy [A-Z]{1,20}|[0-9]{1,9} references)\)[ \t]*"
)
_HEADING = re.compile(r"[ \t]*(?:num[ \t]+)?pkts[ \t]+bytes[ \t]+target[ \t]+prot[ \t]+.*")
_RULE = re.compile(
    r"[ \t]*(?:(?P<num>[0-9]{1,5})[ \t]+)?(?P<packets>[0-9]{1,20}[KMGT]?)[ \t]+(?P<bytes>[0-9]{1,20}[KMGT]?)[ \t]+"
    r"(?:(?P<does>[A-Za-z][\w.-]{0,60})[ \t]+)?(?:all|tcp|udp|udplite|icmp|icmpv6|ipv6-icmp|sctp|esp|ah|gre|igmp|[0-9]{1,3})[ \t]+"
    r"(?:(?:--|-f|!f)[ \t]+)?(?P<ends>\S{1,40}[ \t]+\S{1,40}[ \t]+\S{1,100}[ \t]+\S{1,100})(?P<rest>.*)"
)
_ANY = frozenset(("*", "any", "0.0.0.0/0", "::/0", "anywhere"))
_SAVED = re.compile(r"\[(?P<packets>[0-9]{1,20}):(?P<bytes>[0-9]{1,20})\] -A (?P<chain>\S{1,60})(?P<rest>(?: .*)?)")
_SAVED_POLICY = re.compile(
    r":(?P<chain>\S{1,60}) (?P<does>ACCEPT|DROP) \[(?P<packets>[0-9]{1,20}):(?P<bytes>[0-9]{1,20})\]"
)
_JUMP = re.compile(r" (?:-j|-g) (?P<does>\S+)")
_NFT_CHAIN = re.compile(r"[ \t]*chain (?P<name>\S{1,60}) \{[ \t]*(?:#.*)?")
_TABLE = re.compile(
    r"\*(?P<saved>filter|nat|mangle|raw|security)[ \t]*|table (?P<nft>[a-z0-9]+ \S{1,60}) \{[ \t]*(?:#.*)?"
)
"""Tables, whose chains may have the same names."""

_NFT = re.compile(
    r"[ \t]*(?P<rest>.{0,200}?)[ ]?counter packets (?P<packets>[0-9]{1,20}) bytes (?P<bytes>[0-9]{1,20})(?P<does>(?: .{0,200})?)"
)
_VERDICT = re.compile(r"\b(?:drop|reject|accept|return|queue|(?:jump|goto) \S+)\b")
_IPFW = re.compile(
    r"(?P<num>[0-9]{5})[ \t]+(?P<packets>[0-9]{1,20})[ \t]+(?P<bytes>[0-9]{1,20})[ \t]+(?P<does>allow|pass|permit|accept|deny|drop|reject|reset"
    r"|unreach|count|skipto|divert|nat|fwd|check-state)\b(?P<rest>.*)"
)
_SUFFIX = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def filtered(line: str, state: State) -> list[Counted] | None:
    """Return the counters in a line of a filter's listing; an empty list for a heading, None for any other line.

    `state` holds the current chain, to which the next rules belong.

    >>> state: State = {}
    >>> filtered("Chain FORWARD (policy DROP 12 packets, 720 bytes)", state)[0]
    ('filter', 'FORWARD policy: DROP', 'packets', 12.0)
    >>> filtered("   12   720 DROP  tcp  --  eth0  *  0.0.0.0/0  0.0.0.0/0  tcp dpt:23", state)[1]
    ('filter', 'FORWARD rule 1: DROP eth0 tcp dpt:23', 'bytes', 720.0)
    >>> filtered("[3:180] -A INPUT -p tcp -m tcp --dport 23 -j REJECT", {})[0][1]
    'INPUT rule 1: REJECT -p tcp -m tcp --dport 23'
    >>> filtered("12 blocks were read", state)
    """
    if len(line) > 600:
        return None
    if line.startswith("Chain ") and (found := _CHAIN.fullmatch(line)):
        _open(state, found["name"])
        return list(_counts(f"{found['name']} policy", found["does"], "", found)) if found["does"] else []
    if "counter packets" in line and (found := _NFT.fullmatch(line)) and "chain" in state:
        does = _VERDICT.search(found["does"])
        return list(_counts(_next(state), does[0] if does else "goes on", found["rest"], found))
    if " chain " in f" {line.lstrip()}" and (found := _NFT_CHAIN.fullmatch(line)):
        _open(state, found["name"])
        return []
    if line[:1] in "*t" and (found := _TABLE.fullmatch(line)):
        state.clear()
        if (name := found["saved"] or found["nft"]) != "filter":
            state["table"] = name
        return []
    if line.startswith("[") and (found := _SAVED.fullmatch(line)):
        if state.get("chain") != _named(state, found["chain"]):
            _open(state, found["chain"])
        jump = _JUMP.search(found["rest"])
        return list(_counts(_next(state), jump["does"] if jump else "goes on", _JUMP.sub("", found["rest"]), found))
    if line.startswith(":") and (found := _SAVED_POLICY.fullmatch(line)):
        return list(_counts(f"{_named(state, found['chain'])} policy", found["does"], "", found))
    if line[:5].isdigit() and (found := _IPFW.fullmatch(line)):
        return list(_counts(f"rule {int(found['num'])}", found["does"], found["rest"], found))
    if "chain" not in state:
        return None
    if _HEADING.fullmatch(line):
        return []
    if found := _RULE.fullmatch(line):
        named = [end for end in found["ends"].split() if end not in _ANY]
        place = _next(state, found["num"])
        return list(_counts(place, found["does"] or "goes on", " ".join([*named, found["rest"]]), found))
    return None


def _named(state: State, chain: str) -> str:
    return f"{state['table']} {chain}" if "table" in state else chain


def _open(state: State, chain: str) -> None:
    """Make `chain` the current chain in `state`; its rules are numbered from 1."""
    state.update(chain=_named(state, chain), n=0)


def _next(state: State, number: str | None = None) -> str:
    """Return chain and number of the next rule (`INPUT rule 3`); `number` is the one that the listing prints."""
    state["n"] = int(number) if number else state["n"] + 1
    return f"{state['chain']} rule {state['n']}"


def _counts(place: str, does: str, matches: str, found: re.Match[str]) -> Iterator[Counted]:
    item = " ".join(f"{place}: {does} {matches}".split())
    for name in ("packets", "bytes"):
        text = found[name]
        factor = _SUFFIX.get(text[-1])
        yield FILTER, item[: LONGEST + 60], name, float(text[:-1]) * factor if factor else float(text)
