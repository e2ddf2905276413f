r"""Kernel settings of Solaris: /etc/system, resource controls of prctl, /etc/project.

Files and tools: system(4), prctl(1), project(4), `projects -l`, projmod(1M) and projadd(1M) command lines.
Capture: `prctl -n project.max-shm-memory -i project PROJECT`, `projects -l`, `cat /etc/system`.

Samples::

    set shmsys:shminfo_shmmax=130000000
    project: 3: default
    NAME    PRIVILEGE       VALUE    FLAG   ACTION                       RECIPIENT
    project.max-shm-memory
            usage               0B
            privileged      2.42GB      -   deny                                 -
    user.oracle:100::oracle::project.max-shm-memory=(privileged,68719476736,deny)

Tables: params (scope system: name `module:variable`; scope project: entity = project or process, privilege; value with flag and
action, num in bytes or counts); resource_use (usage rows of prctl). Clock: none.
Traps: values are rounded; a suffix with B means bytes in powers of 1024, without B a count in powers of 1000; the decimal sign depends
on the locale; mail programs wrap each row before its recipient; a `set` after a comment sign does not count; the last `set` counts;
max-shm-memory is a total, not per segment. Known gaps: binary arithmetic in /etc/system (`set x|y`).
"""

from __future__ import annotations

import re

from parsers.columns.small_texts import Rows, Settings, number, share
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_SET = r"(?:set[ \t]+[A-Za-z0-9_]+(?::[A-Za-z0-9_]+)?[ \t]*[=|&][ \t]*\S+|(?:forceload|exclude|moddir|rootfs|rootdev)[ \t]*:[ \t]*\S*)"
_CONTROL = r"(?:project|process|task|zone)\.[a-z]+(?:-[a-z]+)+"
SYSTEM = rf"^[ \t]*(?:[*#]+[ \t]*)?{_SET}"
PRCTL = (
    rf"^(?:(?:project|process|task|zone): [0-9]+: \S|NAME +PRIVILEGE +VALUE|{_CONTROL}$"
    r"|[ \t]+(?:usage|basic|privileged|system)[ \t]+[0-9][0-9.,]*[kKMGTPE]?B?s?(?:[ \t]+(?:-|max|inf)[ \t]|$))"
)
PROJECT = rf"^(?:[A-Za-z_][A-Za-z0-9_.-]*:[0-9]+:[^:]*:[^:]*:[^:]*:|[ \t]+(?:projid|comment|users|groups|attribs) *:|.*\bproj(?:mod|add) .*{_CONTROL}=\()"
FORMATS = tuple(
    Format(
        kind="sysctl",
        variant=variant,
        version="1",
        systems=("solaris",),
        tables=("params", "resource_use") if variant == "prctl" else ("params",),
        man=man,
        example=example,
        own=own,
    )
    for variant, man, example, own in (
        ("etc_system", "system(4)", "cat /etc/system", SYSTEM),
        ("prctl", "prctl(1)", "prctl -n project.max-shm-memory -i project PROJECT", PRCTL),
        ("project", "project(4)", "projects -l", PROJECT),
    )
)

_PATTERNS = {f.variant: re.compile(f.own) for f in FORMATS}
OWNER = re.compile(r"(project|process|task|zone): +[0-9]+: +(\S.*)")
HEADER = re.compile(r"NAME +PRIVILEGE +VALUE.*|RECIPIENT|-|ACTION +RECIPIENT")
NAME = re.compile(_CONTROL)
ROW = re.compile(r"(usage|basic|privileged|priv|system)\s+(\S+)(?:\s+(-|max|inf)(?:\s+(\S+)(?:\s+(\S.*))?)?)?")
VALUE = re.compile(r"([0-9]+)(?:[.,]([0-9]+))?([kKMGTPE]?)(B?)s?")
SYSTEM_LINE = re.compile(rf"([*#]*)[ \t]*({_SET})")
SETTING = re.compile(r"set[ \t]+([A-Za-z0-9_]+(?::[A-Za-z0-9_]+)?)[ \t]*([=|&])[ \t]*(\S+)(?:[ \t].*)?")
ATTRIBUTE = re.compile(rf"({_CONTROL})=((?:\([^()]*\),?)+)")
TRIPLE = re.compile(r"\(([a-z]+),([^,()]*)(?:,([^()]*))?\)")
_MANY = frozenset({"forceload", "exclude", "moddir"})
_PREFIX = " kMGTPE"


def claim(head: Head) -> Claim | None:
    """Claim by `set` lines, by rows of prctl under resource names, or by attributes of projects."""
    text = head.text
    if "project" not in text and "set " not in text and "process." not in text and "PRIVILEGE" not in text:
        return None
    best: Claim | None = None
    for variant, pattern in _PATTERNS.items():
        if not any(pattern.match(x) for x in head.lines[:200]):
            continue
        bare = Head([x for x in head.lines if not x.startswith(("*", "#")) or pattern.match(x)])
        count, fraction = share(bare, pattern)
        # Shells and SQL*Plus also have `set x = y`; a project file needs an attribute or its header words.
        sure = {
            "etc_system": bool(
                re.search(
                    r"(?m)^[ \t]*(?:[*#]+[ \t]*)?(?:set[ \t]+\w+(?::\w+)?[ \t]*=[ \t]*(?:0x)?[0-9a-fA-F]+[ \t]*$|forceload)",
                    text,
                )
            ),
            "prctl": count >= 2 or "PRIVILEGE" in text,
            "project": bool(re.search(rf"{_CONTROL}=\(|attribs *:", text)),
        }[variant]
        if fraction >= 0.35 and sure and (best is None or fraction > best.strength):
            best = Claim(min(0.95, 0.35 + 0.65 * fraction), f"{count} lines of {variant}", variant)
    return best


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the project and resource that rows stand under."""
    # All values of prctl are active together; in /etc/system the last one counts.
    settings, rows = Settings(_MANY if state["variant"] == "etc_system" else None), Rows()
    read = {"etc_system": _system, "prctl": _prctl, "project": _project}[state["variant"]]
    for block in source.blocks():
        for line_no, line in zip(block.frame["line_no"].to_list(), block.frame["line"].to_list(), strict=True):
            if line.strip():
                read(line_no, line.strip(), settings, rows, out, state)
        rows.give(out)
        settings.settle()
    settings.give(out)
    return state


def measure(text: str) -> float | None:
    """Convert a value of prctl: `2.42GB` to bytes, `16.8M` to a count, `300s` to seconds.

    >>> measure("1.5KB"), measure("16.8M"), measure("64,0GB"), measure("128"), measure("deny")
    (1536.0, 16800000.0, 68719476736.0, 128.0, None)
    """
    match = VALUE.fullmatch(text)
    if match is None or len(match[1]) > 30:
        return None
    base = 1024 if match[4] else 1000
    power = _PREFIX.upper().index(match[3].upper() or " ")
    return float(round(float(f"{match[1]}.{match[2] or 0}") * base**power, 6))


def _system(line_no: int, line: str, settings: Settings, rows: Rows, out: Tables, state: State) -> None:
    match = SYSTEM_LINE.match(line)
    if match is None:
        if line.startswith(("*", "#")):
            out.read([line_no])
        return
    setting = SETTING.fullmatch(line[match.start(2) :])
    if setting is None and line.lstrip("*# \t").startswith("set"):
        if line.startswith(("*", "#")):
            out.read([line_no])
        return
    name, value = (setting[1], setting[3]) if setting else map(str.strip, match[2].split(":", 1))
    active = not match[1] and (setting is None or setting[2] == "=")
    settings.add(
        line_no,
        scope="system",
        name=name,
        value=value,
        num=number(value),
        active=active,
    )


def _prctl(line_no: int, line: str, settings: Settings, rows: Rows, out: Tables, state: State) -> None:
    if match := OWNER.fullmatch(line):
        state |= {"entity": match[2], "name": None}
        out.read([line_no])
    elif NAME.fullmatch(line):
        state["name"] = line
        out.read([line_no])
    elif line == "-":
        out.read([line_no])
        out.note(line_no, line_no, "repaired", "the recipient of the row above: the row was wrapped")
    elif HEADER.fullmatch(line) or re.match(r"\S*[#$%>] *prctl ", line):
        out.read([line_no])
    elif match := ROW.fullmatch(line):
        if state.get("name") is None:
            return
        subject = {"entity": state.get("entity"), "name": state["name"]}
        if match[1] == "usage":
            rows.add("resource_use", line_no, scope="project", used=measure(match[2]), **subject)
            return
        value = " ".join(x for x in match.groups()[1:4] if x)
        # Several values of one privilege may be active together, each with its action.
        settings.add(
            line_no,
            scope="project",
            privilege={"priv": "privileged"}.get(match[1], match[1]),
            value=value,
            num=measure(match[2]),
            **subject,
        )


def _project(line_no: int, line: str, settings: Settings, rows: Rows, out: Tables, state: State) -> None:
    fields = line.split(":", 5)
    if line.startswith("#"):
        out.read([line_no])
        return
    if re.match(r"(?:projid|comment|users|groups|attribs) *:", line):
        text = line.partition(":")[2]
        state["attribs"] = line.startswith("attribs")
        out.read([line_no])
    elif len(fields) == 6 and fields[1].isdigit():
        state["entity"], text = fields[0], fields[5]
        out.read([line_no])
    elif re.search(r"\bproj(?:mod|add)\b", line):
        state["entity"], text = line.split()[-1], line
        out.read([line_no])
    elif state.get("attribs") and re.match(rf"{_CONTROL}|[a-z.-]+=", line):
        text = line
        out.read([line_no])
    elif re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", line):
        # This is the name above the indented lines of `projects -l`.
        state |= {"entity": line, "attribs": False}
        out.read([line_no])
        return
    else:
        return
    for name, triples in ATTRIBUTE.findall(text):
        for privilege, value, action in TRIPLE.findall(triples):
            shown = f"{value} {action}".strip()
            settings.add(
                line_no,
                scope="project",
                entity=state.get("entity"),
                name=name,
                privilege={"priv": "privileged"}.get(privilege, privilege),
                value=shown,
                num=measure(value),
            )
