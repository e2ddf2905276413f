"""Recognise name look-ups by dig, nslookup, host and resolvectl: the command at a prompt, and the lines it prints.

Each line of a look-up becomes a row of `rows` with `LOOKUP` as its only heading and the line as its only cell, so that
observers can match question and answer. The row of the command is `$ dig ...`; a later command at a prompt is a row
`$$ ...`. nslookup prints its labels in the user's language, so any label with one word after it counts as its line.
"""

from __future__ import annotations

import re

LOOKUP = "name look-up"

BETWEEN = "$$ "
"""Prefix of the row of another command below a look-up: that command may have made the next look-up succeed."""

TOOLS = ("dig", "nslookup", "host", "resolvectl")
_COMMAND = re.compile(
    r"(?:\$ )?(?:(?:sudo|time|\\time) (?:-p )?)*(?:\S*/)?(dig|nslookup|host|resolvectl)(?:\.exe)? +(\S.*)"
)
_NOT_A_NAME = re.compile(r"(?:status|statistics|flush-caches|reset-\S+|dns|domain|log-level|-\S+)\b(?! \S+\.)")

_TYPES = "A|AAAA|PTR|CNAME|SRV|MX|TXT|NS|SOA"
_STRONG = re.compile(
    r"(?P<dig>; <<>> DiG \S.*|;; ->>HEADER<<- opcode: .*|;; Query time: [0-9]+ \w+.*|;; SERVER: \S+#[0-9]+.*"
    r"|;; (?:communications error to|connection timed out|no servers could be reached).*)"
    r"|(?P<nslookup>[ \t]*DNS request timed out\.[ \t]*|[ \t]*timeout was [0-9]+ seconds?\.[ \t]*|\*\* server can't find \S+: \w+.*"
    r"|\*\*\* \S+ can't find \S+: .*|\*\*\* Request to \S+ timed-out.*)"
    r"|(?P<host>\S+ has (?:IPv6 )?address [0-9A-Fa-f][0-9A-Fa-f.:]+|Host \S+ not found: [0-9]+\([A-Z]+\)|\S+ domain name pointer \S+"
    r"|\S+ has no [A-Z]+ record)"
    r"|(?P<resolvectl>\S+: resolve call failed: .*|-- Information acquired via protocol .*)"
)
_MARKS = (
    ";",
    "DNS request",
    "timeout was",
    "**",
    " has ",
    "Host ",
    " domain name pointer ",
    ": resolve call",
    "-- Info",
)
_OF_TOOL = {
    "dig": re.compile(rf";\S+[ \t]+IN[ \t]+(?:{_TYPES})|\S+\.[ \t]+[0-9]+[ \t]+IN[ \t]+(?:{_TYPES})[ \t]+\S.*|;.*"),
    "nslookup": re.compile(r"[^\s:：][^:：]{0,40}[:：][ \t]*(?:\S{1,255})?[ \t]*|[ \t]+[0-9A-Fa-f][0-9A-Fa-f.:]{2,45}[ \t]*"),
    "host": re.compile(r"(?:Using domain server|Name|Address|Aliases):.*|;; .*|\S+ is an alias for \S+"),
    "resolvectl": re.compile(r"\S+: [0-9A-Fa-f][0-9A-Fa-f.:]{2,45}(?:%\w+)?(?:[ \t]+-- link: \S+)?|[ \t]+[0-9A-Fa-f.:]{3,45}(?:[ \t]+-- link: \S+)?|-- .*"),
}  # fmt: skip


def tool_of_command(command: str | None) -> str | None:
    """Return the look-up tool that a command line calls; None for any other command.

    >>> tool_of_command("time resolvectl query db1"), tool_of_command("$ dig -x 10.0.0.1"), tool_of_command("digest x")
    ('resolvectl', 'dig', None)
    >>> tool_of_command("resolvectl status"), tool_of_command(None)
    (None, None)
    """
    found = _COMMAND.fullmatch(command.strip()) if command and any(t in command for t in TOOLS) else None
    return None if found is None or (found[1] == "resolvectl" and _NOT_A_NAME.match(found[2])) else found[1]


def tool_of(line: str, before: str | None) -> str | None:
    """Return the look-up tool that printed a line, None for any other line; `before` is the tool of the line above.

    >>> tool_of(";; Query time: 4 msec", None), tool_of("db1.example.com has address 10.0.0.1", None)
    ('dig', 'host')
    >>> tool_of("Nombre:  db1.example.com", "nslookup"), tool_of("Nombre:  db1.example.com", None)
    ('nslookup', None)
    >>> tool_of("Note: this is slow", "nslookup"), tool_of("db1. 60 IN A 10.0.0.1", "dig")
    (None, 'dig')
    """
    text = line.rstrip()
    if any(mark in text for mark in _MARKS) and (found := _STRONG.fullmatch(text)):
        return before if before == "host" and found.lastgroup == "dig" else found.lastgroup
    return before if before and _OF_TOOL[before].fullmatch(text) else None
