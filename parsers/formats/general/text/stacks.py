"""Stacks of any tool: a head that names a thread, and frames below it; kernel stacks need no head."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

MOST_FRAMES = 500
"""Maximum number of frames kept of one stack; deeper ones are not complete."""


@dataclass(frozen=True)
class Style:
    """How a tool prints stacks: the head of a thread, a frame (group `f`), further lines that belong to the stack."""

    name: str
    head: re.Pattern[str] | None
    frame: re.Pattern[str]
    more: re.Pattern[str] | None = None
    kernel: bool = False
    below_blank: re.Pattern[str] | None = None
    """Lines that belong to the stack above the blank line above them."""


STYLES = (
    Style(
        "java",
        re.compile(r'"(?P<name>[^"]{0,200})"(?=.* (?:prio|tid|nid)=)(?:.* nid=(?P<lwp>0x[0-9a-f]+|[0-9]+)\b)?.*'),
        re.compile(r"[ \t]+at (?P<f>[\w.$<>/@-]+(?:\.[\w$<>]+)+)\(.*"),
        re.compile(
            r"[ \t]+(?:java\.lang\.Thread\.State: .*|- .*|No compile task.*|Compiling: .*|Locked ownable synchronizers:)"
        ),
        below_blank=re.compile(r"[ \t]+Locked ownable synchronizers:"),
    ),
    Style(
        "go",
        re.compile(r"goroutine (?P<lwp>[0-9]+)(?: gp=\S+ m=\S+(?: mp=\S+)?)? \[(?P<name>[^\]]*)\]:"),
        re.compile(r"(?P<f>\w\S*)\([^()]*\)"),
        re.compile(
            r"\t\S.*:[0-9]+(?: \+0x[0-9a-f]+)?|created by \S+(?: in goroutine [0-9]+)?|\.\.\.additional frames elided\.\.\."
        ),
    ),
    Style(
        "python",
        re.compile(
            r"(?:Current thread|Thread) (?P<lwp>0x[0-9a-f]+)(?: \[(?P<name>[^\]]*)\])? \(most recent call first\):"
        ),
        re.compile(r' +File "[^"]*", line [0-9]+ in (?P<f>\S+)'),
        re.compile(r" +(?:<no Python frame>|Garbage-collecting|\.\.\.)"),
    ),
    Style(
        "py-spy",
        re.compile(
            r'Thread (?P<lwp>[0-9]+|0x[0-9A-Fa-f]+)(?: \((?:idle|active|idle\+gil|active\+gil)\))?(?:: "?(?P<name>[^"]*)"?)?'
        ),
        re.compile(r" {4}(?P<f>[^\s(][^(]*?) \([^()]*:?[^()]*\)"),
        re.compile(r" {8,}\S.*"),
    ),
    Style(
        "gdb",
        re.compile(r'Thread [0-9]+ \(.*?(?:LWP (?P<lwp>[0-9]+).*)?\)(?: "(?P<name>[^"]*)")?:?'),
        re.compile(r"#[0-9]+[ \t]+(?:0x[0-9a-f]+ in )?(?P<f>[^\s(][^(]*?)[ \t]*\(.*"),
        re.compile(r"[ \t]+(?:at|from) \S.*|[ \t]{4,}\S+ = .*|No locals\."),
    ),
    Style(
        "kernel",
        re.compile(r"(?:==> )?/proc/(?P<pid>[0-9]+)(?:/task/(?P<lwp>[0-9]+))?/stack(?: <==|:)?"),
        re.compile(
            r"[ \t]*(?:/proc/[0-9]+/\S*stack:)?\[<[0-9a-f]+>\] (?P<f>[^\s+]+)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[\w+\])?"
        ),
        kernel=True,
    ),
)
_BY_NAME = {style.name: style for style in STYLES}
OF_PROCESS = re.compile(r"/proc/(?P<pid>[0-9]+)(?:/task/(?P<lwp>[0-9]+))?/stack")
"""A process in a command or in front of a line."""

_MAYBE_HEAD = ('"', "goroutine ", "Thread ", "Current thread", "==> /proc/", "/proc/")

Stack = dict[str, Any]
"""An open stack: style, lines, pid, lwp, comm, frames. JSON-able."""


def opens(line: str, no: int, pid: int | None) -> Stack | None:
    """Return the stack that a line begins: with a head, or with a frame of the kernel. `pid` is of the command above."""
    if line.startswith(_MAYBE_HEAD):
        for style in STYLES:
            found = style.head.fullmatch(line) if style.head else None
            if found:
                named = found.groupdict()
                of = named.get("pid")
                return _stack(style, no, int(of) if of else pid, _whole(named.get("lwp")), named.get("name"))
    kernel = _BY_NAME["kernel"]
    if "[<" in line and kernel.frame.fullmatch(line):
        front = OF_PROCESS.search(line)
        opened = _stack(kernel, no, int(front["pid"]) if front else pid, None, None)
        goes_on(opened, line, no)
        return opened
    return None


def _stack(style: Style, no: int, pid: int | None, lwp: int | None, name: str | None) -> Stack:
    return {
        "style": style.name, "line_no": no, "line_end": no, "pid": pid, "lwp": lwp, "comm": name or None, "frames": [],
        "cut": False, "blank": False,
    }  # fmt: skip


def _whole(text: str | None) -> int | None:
    number = int(text, 16 if text.lower().startswith("0x") else 10) if text else None
    return number if number is not None and number < 2**63 else None


def goes_on(stack: Stack, line: str, no: int) -> bool:
    """Add a line to an open stack; return False, and change nothing, if it does not belong to it."""
    style = _BY_NAME[stack["style"]]
    if stack["blank"] and not (style.below_blank and style.below_blank.fullmatch(line)):
        return False
    stack["blank"] = False
    found = style.frame.fullmatch(line)
    if style.kernel and found and (front := OF_PROCESS.search(line)) and int(front["pid"]) != stack["pid"]:
        return False
    if found and style.name == "gdb" and stack["frames"] and line.startswith("#0"):
        return False
    if found is None and (style.more is None or style.more.fullmatch(line) is None):
        return False
    if found:
        if len(stack["frames"]) < MOST_FRAMES:
            stack["frames"].append(found["f"].strip())
        else:
            stack["cut"] = True
    stack["line_end"] = no
    return True


def row_of(stack: Stack) -> dict[str, Any] | None:
    """Return the row of `profile_stacks` of a finished stack; None if it has no frame."""
    frames: list[str] = stack["frames"]
    if not frames:
        return None
    kernel = _BY_NAME[stack["style"]].kernel
    return {
        "line_no": stack["line_no"], "line_end": stack["line_end"], "source": "text", "weight": 1.0, "unit": "samples",
        "pid": stack["pid"], "lwp": stack["lwp"], "comm": stack["comm"], "frames": frames, "leaf": frames[0],
        "kernel": kernel, "complete": not stack["cut"],
    }  # fmt: skip
