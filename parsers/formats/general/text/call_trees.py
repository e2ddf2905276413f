"""Read call trees of sample and spindump (macOS): a count and a function per line, callees indented further.

Each function whose count exceeds the sum of its callees' counts gives one stack; the difference is its weight. The
state holds only the current path. People also quote a few lines of such a tree without its heading; a line with a
function, its library and its address is recognised as a line of a tree.
"""

from __future__ import annotations

import re
from typing import Any

MOST_DEEP = 500
"""Maximum depth that is followed; deeper lines count for their callers."""

EVENT = "sample"
"""Event of these stacks: they are a profile over time. Stacks of a dump have no event."""

_HEAD = re.compile(r"Call graph:[ \t]*")
_NODE = re.compile(r"(?P<in>[ \t+!:|]{1,2000}\*?)(?P<n>[0-9]{1,12}) {1,2}(?P<what>\S.{0,2000})")
_ADDRESSED = re.compile(
    r"[ \t+!:|]{1,2000}[0-9]{1,12} \S.{0,2000}?  ?\(in [^()]+\)(?: \+ [0-9.,]+)?  ?\[0x[0-9a-f]+[^\]]*\](?:  .{1,300})?"
)
_SPUN = re.compile(
    r"[ \t]{1,2000}\*?[0-9]{1,12} {1,2}\S.{0,2000}? (?:\+ [0-9]{1,12} )?\([^()]{1,200} \+ [0-9]{1,12}\) \[0x[0-9a-f]{1,16}\]"
    r"(?: \(.{1,40}\))?(?: [0-9]+-[0-9]+)?"
)
"""A line of spindump: library and offset in brackets, `*` where the thread is in the kernel."""
_FUNCTION = re.compile(
    r"(?P<f>.+?)[ \t]+(?:\(in (?P<library>[^)]*)\).*|load address .*|(?:\+ [0-9]{1,12} )?\([^()]{1,200} \+ [0-9]{1,12}\) \[0x.*)"
)
_THREAD = re.compile(r"Thread_(?P<lwp>[0-9a-fA-F]{1,12})(?::?[ ]{1,8}(?P<name>\S.{0,200})?)?")
_QUEUE = re.compile(r"DispatchQueue_[0-9]{1,9}: ")

Tree = dict[str, Any]
"""The open tree: `path` of [indent, count, count of callees, function, line] from the thread inwards. JSON-able."""


def opens(line: str) -> bool:
    """Return whether a line is the heading of a call tree."""
    return line.startswith("Call graph:") and _HEAD.fullmatch(line) is not None


def goes_without_heading(line: str) -> bool:
    """Return whether a line belongs to a call tree even without a heading above it.

    >>> goes_without_heading("    +   900 tick_wait  (in libtick.dylib) + 16  [0x7fff1]"), goes_without_heading("  12 apples (in box)")
    (True, False)
    >>> goes_without_heading("   *900  wait_for_tick + 0 (kernel + 112233) [0xffffff8000]")
    True
    """
    return "[0x" in line and (_ADDRESSED.fullmatch(line) or _SPUN.fullmatch(line)) is not None


def new() -> Tree:
    return {"path": []}


def goes_on(tree: Tree, line: str, no: int) -> list[dict[str, Any]] | None:
    """Add a line to the tree; return the stacks that it completes, None if the line does not belong to the tree."""
    found = _NODE.fullmatch(line)
    if found is None:
        return None
    indent, count = len(found["in"]), int(found["n"])
    done = closed(tree, indent)
    path = tree["path"]
    if path:
        path[-1][2] += count
    if len(path) < MOST_DEEP:
        path.append([indent, count, 0, found["what"], no])
    return done


def closed(tree: Tree, indent: int = 0) -> list[dict[str, Any]]:
    """Remove the nodes at `indent` and deeper from the path; return their stacks, innermost first."""
    made = []
    path = tree["path"]
    while path and path[-1][0] >= indent:
        own = path[-1][1] - path[-1][2]
        if own > 0 and len(path) > 1:
            made.append(_stack(path, own))
        path.pop()
    return made


def _stack(path: list[list[Any]], weight: int) -> dict[str, Any]:
    head = _THREAD.fullmatch(path[0][3])
    nodes = path[1:] if head else path
    name = _QUEUE.sub("", head["name"] or "").partition("  (")[0].strip() if head else ""
    frames = [(found["f"] if (found := _FUNCTION.fullmatch(n[3])) else n[3]).strip() for n in reversed(nodes)]
    return {
        "line_no": nodes[-1][4], "line_end": nodes[-1][4], "source": "text", "event": EVENT, "weight": float(weight), "unit": "samples",
        "lwp": int(head["lwp"], 16 if re.search("[a-fA-F]", head["lwp"]) else 10) if head else None,
        "comm": name or None, "frames": frames, "leaf": frames[0], "kernel": False, "complete": True,
        "frame_lines": [n[4] for n in reversed(nodes)],
    }  # fmt: skip
