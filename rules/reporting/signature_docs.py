"""Generate docs/signatures.md from the lists: `python -m rules --signatures docs/signatures.md`."""

from __future__ import annotations

from collections.abc import Iterable

from rules.signatures.mechanisms import Mechanism, mechanisms
from rules.signatures.signatures import Signature, areas, signatures

TITLES = {
    "call": "System calls",
    "code": "Error codes",
    "counter": "Counters",
    "errno": "Errors by call",
    "event": "Wait events of databases",
    "log": "Log lines",
    "step": "Steps that a log tells the time of",
    "parameter": "Settings",
    "path": "Paths, sockets, doors and devices",
    "port": "Ports",
    "process": "Programs and kernel threads",
    "seconds": "Timers",
    "status": "Values of a server's status",
    "stack": "Functions and wait channels of kernels",
    "symbol": "Functions of programs and libraries",
}
"""Kind of name (the folder) in words."""


def page() -> str:
    """Return docs/signatures.md; the same lists give the same text."""
    held = {(key, area): signatures(key, area) for key, area in areas()}
    lines = [
        "# Signatures",
        "",
        "Made from `rules/signatures` by `python -m rules --signatures`; do not edit. A signature says what a name stands",
        "for. It explains an observation and accuses nobody: *mechanism* names the mechanism outright, *shape* fits it and",
        "others too, *remark* only tells what the name is, *harmless* and *idle* say that nobody loses time by it.",
        "",
        f"{sum(len(entries) for entries in held.values())} entries in {len(held)} lists; {len(mechanisms())} mechanisms.",
        "",
        "## Mechanisms",
        "",
    ]
    for one in mechanisms().values():
        lines += _mechanism(one)
    for (key, area), entries in held.items():
        lines += [
            "",
            f"## {TITLES.get(key, key)}: {area}",
            "",
            "| name | stands for | mechanism | strength | source |",
            f"|{'---|' * 5}",
        ]
        lines += [_entry(key, one) for one in entries]
    return "\n".join(lines).rstrip() + "\n"


def _mechanism(one: Mechanism) -> Iterable[str]:
    against = "; ".join(c.because for c in one.contradicted_by) or one.none_known or ""
    alike = f" Looks like: {', '.join(one.looks_like)}." if one.looks_like else ""
    yield f"- **{one.mechanism}** ({one.layer}, {one.hypothesis}): {one.is_}. Against it: {against}.{alike}"


def _entry(key: str, one: Signature) -> str:
    more = "".join(f", {k} {v}" for k, v in one.match.items() if k != key)
    harmless = f" Harmless: {one.harmless}." if one.harmless else ""
    cells = (f"`{one.match[key]}`{more}", one.is_ + harmless, one.mechanism or "", one.strength, one.source)
    return f"| {' | '.join(_cell(c) for c in cells)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
