r"""Settings of the DNS resolver: resolv.conf of Solaris, Linux, AIX, BSD.

File: /etc/resolv.conf, resolv.conf(4), (5). Capture: `cat /etc/resolv.conf`.

Samples::

    nameserver 192.0.2.53
    search db.example.com example.com
    options timeout:2 attempts:3 rotate

Tables: params, scope resolv: a row for each nameserver in order, domain, search and sortlist as lists, `options` as a list
and each option again under its name with its number. Clock: none. Traps: the last line of domain and search
counts, lines of options add up; resolvers ask only the first three nameservers, so further ones are not active; # and ; begin comments.
Known gaps: none known.
"""

from __future__ import annotations

import re

from parsers.columns.small_texts import Settings, number, share
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

OWN = (
    r"^[ \t]*(?:[#;]+[ \t]*)?(?:nameserver[ \t]+(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:.%a-z0-9]+)"
    r"|(?:search|domain)[ \t]+[A-Za-z0-9._-]+\.[A-Za-z0-9._-]*(?:[ \t]+[A-Za-z0-9._-]+)*"
    r"|options?(?:[ \t]+(?:ndots|timeout|attempts|rotate|debug|inet6|edns0|retrans|retry|single-request|no-|use-vc|trust-ad)[a-z0-9-]*(?::[0-9]+)?)+"
    r"|sortlist(?:[ \t]+[0-9./]+)+|lookup(?:[ \t]+(?:file|bind|yp))+)[ \t]*(?:[#;].*)?$"
)
FORMAT = Format(
    kind="resolv_conf",
    variant="resolv_conf",
    version="2",
    systems=("solaris", "linux", "aix", "bsd"),
    tables=("params",),
    man="resolv.conf(5)",
    example="cat /etc/resolv.conf",
    own=OWN,
)

_OWN = re.compile(OWN)
COMMENT = re.compile(r"[#;](?!; |; ?$|; ->>| <<>> DiG )")
"""Begin of a comment; dig, whose output people post below a resolv.conf, begins its lines with two semicolons."""

LINE = re.compile(r"([#;]*)[ \t]*(nameserver|search|domain|options?|sortlist|lookup)[ \t]+([^#;]*)(?:[#;].*)?")
SUFFIXES = re.compile(
    r"(?m)^search(?:[ \t]+[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.?){2,}(?:[ \t]+\.)?[ \t]*$|^search[ \t]+\S+\.\S+[ \t]*$"
)
"""A search list that can stand alone: several suffixes, or one with a dot."""

SHOWN = re.compile(r"[#$>%] *(?:cat|more|head|less) .*resolv\.conf")
"""A prompt with a command that prints the file: of another machine, or the same file again."""

ASKED = 3
"""Maximum number of nameservers that resolvers ask (MAXNS)."""


def claim(head: Head) -> Claim | None:
    """Claim by a nameserver with an address, or more weakly by lines of options or a search list alone."""
    if not any(word in head.text for word in ("nameserver", "options", "search")):
        return None
    if not any(_OWN.match(x) for x in head.lines[:400]):
        return None
    bare = Head([x for x in head.lines if not COMMENT.match(x.lstrip()) or _OWN.match(x)])
    count, fraction = share(bare, _OWN)
    if fraction < 0.5:
        return None
    sure = any(re.match(r"[ \t]*nameserver[ \t]+[0-9a-fA-F.:]+", x) for x in head.lines)
    if not sure and "options" not in head.text and (fraction < 1 or not SUFFIXES.search(head.text)):
        return None
    return Claim((0.95 if sure else 0.6) * fraction, f"{count} lines of a resolver's settings")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` counts nameservers and keeps which of search and domain was last."""
    settings = Settings(many=frozenset({"nameserver", "options"}))
    for block in source.blocks():
        for line_no, line in zip(block.frame["line_no"].to_list(), block.frame["line"].to_list(), strict=True):
            text = line.strip()
            match = LINE.fullmatch(text)
            if SHOWN.search(text):
                state.pop("nameservers", None)
                state.pop("suffixes", None)
            # A commented line or a nameserver is a setting only if the whole line fits; half an address is not one.
            if match is None or ((match[1] or match[2] == "nameserver") and not _OWN.match(text)):
                if COMMENT.match(text):
                    out.read([line_no])
                continue
            _setting(settings, out, state, line_no, match)
        settings.settle()
    settings.give(out)
    return state


def _setting(settings: Settings, out: Tables, state: State, line_no: int, match: re.Match[str]) -> None:
    name, words, active = match[2], match[3].split(), not match[1]
    if name == "nameserver" and active:
        state["nameservers"] = state.get("nameservers", 0) + 1
        if state["nameservers"] > ASKED:
            active = False
            out.note(line_no, line_no, "remark", f"resolvers ask the first {ASKED} nameservers only")
    if name in ("option", "options"):
        for option in words:
            word, _, value = option.partition(":")
            settings.add(line_no, scope="resolv", name=word, value=value or "on", num=number(value), active=active)
        name = "options"
    elif name in ("search", "domain") and active:
        if state.get("suffixes", name) != name:
            text = f"{name} stands after {state['suffixes']}: they override each other, the last one counts"
            out.note(line_no, line_no, "remark", text)
        state["suffixes"] = name
    settings.add(line_no, scope="resolv", name=name, value=match[3].strip(), list=words, active=active)
