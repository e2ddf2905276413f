r"""Sources of name lookups: nsswitch.conf of Solaris, Linux and BSD, netsvc.conf of AIX.

Files: /etc/nsswitch.conf (nsswitch.conf(4), (5)), /etc/netsvc.conf. Capture: `cat /etc/nsswitch.conf`, `grep ^hosts ...`.

Samples::

    hosts: cluster files [SUCCESS=return] dns
    #hosts:     db files nisplus nis dns
    hosts = local, bind4

Tables: params, scope nsswitch: name = database in lower case, list = entries in order, criteria in brackets as separate
entries. Clock: none. Traps: commented alternatives stand beside the real line (active false); the last of several lines for
one database counts; a line without a colon is invalid; a line that looks like a comment may be a root prompt with its command.
Known gaps: none known.
"""

from __future__ import annotations

import re

from parsers.columns.small_texts import Settings, share
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_DATABASES = (
    "aliases|attrvpnt|auth_attr|auto\\.?[a-z]*|automount|bootparams|ethers|exec_attr|group|group_compat|gshadow|hosts|initgroups|ipnodes"
    "|netgroup|netid|netmasks|networks|passwd|passwd_compat|printers|prof_attr|project|protocols|publickey|rpc|sendmailvars"
    "|services|services_compat|shadow|shells|sudoers|tnrhdb|tnrhtp|user_attr|subid"
)
_SOURCES = (
    "files|nis|nisplus|nis\\+|dns|ldap|compat|db|sss|myhostname|mymachines|resolve|systemd|cluster|mdns[46]?(?:_minimal)?|winbind|wins|ad|user|hesiod"
    "|altfiles|extrausers|local[46]?|bind[46]?|yp|cache|centrify|vas4|libvirt|xfn|tcb"
)
OWN = (
    rf"(?i)^[ \t]*(?:#+[ \t]*)?(?:(?:{_DATABASES})[ \t]*:(?:[ \t]*(?:{_SOURCES}|\[[^\]]*\]))+[ \t]*(?:#.*)?$"
    rf"|(?:hosts|aliases?)[ \t]*=[ \t]*(?:{_SOURCES})(?:[ \t]*=[ \t]*auth)?(?:[ \t]*,[ \t]*(?:{_SOURCES})(?:[ \t]*=[ \t]*auth)?)*$)"
)
FORMATS = tuple(
    Format(
        kind="nsswitch",
        variant=variant,
        version="1",
        systems=systems,
        tables=("params",),
        man=man,
        example=example,
        own=OWN,
    )
    for variant, systems, man, example in (
        ("nsswitch", ("solaris", "linux", "bsd"), "nsswitch.conf(5)", "cat /etc/nsswitch.conf"),
        ("netsvc", ("aix",), "netsvc.conf", "cat /etc/netsvc.conf"),
    )
)

_OWN = re.compile(OWN)
LINE = re.compile(r"(#*)[ \t]*([A-Za-z][A-Za-z0-9_.]*)[ \t]*([:=])[ \t]*([^#]*)(?:#.*)?")
ENTRY = re.compile(r"\[[^\]]*\]?|[^\s\[,]+")
_KNOWN = re.compile(_DATABASES, re.IGNORECASE)
_SOURCE = re.compile(_SOURCES, re.IGNORECASE)


def claim(head: Head) -> Claim | None:
    """Claim by the share of lines `database: sources`; comments do not count."""
    if not any(_KNOWN.match(x.lstrip("# \t")) for x in head.lines[:120]):
        return None
    fitting = head.fitting(OWN)
    if not fitting:
        return None
    bare = Head([x for x in head.lines if not x.lstrip().startswith("#") or _OWN.match(x)])
    count, fraction = share(bare, _OWN)
    if fraction < 0.4:
        return None
    equals = any(":" not in x for x in fitting)
    return Claim(
        min(0.95, 0.5 + 0.45 * fraction),
        f"{count} lines of databases with their sources",
        "netsvc" if equals else "nsswitch",
    )


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; which line of a database counts is decided at the end of the run."""
    settings = Settings()
    for block in source.blocks():
        for line_no, line in zip(block.frame["line_no"].to_list(), block.frame["line"].to_list(), strict=True):
            text = line.strip()
            match = LINE.fullmatch(text)
            if match is None or not _is_setting(match):
                if text.startswith("#"):
                    out.read([line_no])
                continue
            # Criteria keep their case; sources are put in lower case, because every system compares them so.
            entries = [e if e.startswith("[") else e.lower() for e in _entries(match[4], match[3])]
            name = match[2].lower()
            settings.add(
                line_no, scope="nsswitch", name=name, value=match[4].strip(), list=entries, active=not match[1]
            )
        settings.settle()
    settings.give(out)
    return state


def _is_setting(match: re.Match[str]) -> bool:
    """Decide whether a line is a setting.

    A comment is one only if it has nothing but a known database and known sources; an unknown database needs known sources.
    """
    entries = [e for e in _entries(match[4], match[3]) if not e.startswith("[")]
    known = [e for e in entries if _SOURCE.fullmatch(e.partition("=")[0])]
    if match[1]:
        return bool(_KNOWN.fullmatch(match[2]) and entries and len(known) == len(entries))
    if match[3] == "=":
        return bool(_KNOWN.fullmatch(match[2]) or match[2].lower() == "alias")
    return bool(_KNOWN.fullmatch(match[2]) or (entries and len(known) * 2 >= len(entries)))


def _entries(text: str, sign: str) -> list[str]:
    if sign == "=":
        return [e for x in text.split(",") if (e := re.sub(r"\s+", "", x))]
    return ENTRY.findall(text)
