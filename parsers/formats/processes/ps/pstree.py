r"""Trees of processes drawn by pstree.

Tool: pstree(1) of Linux (PSmisc), with -p, alone or with -a, -u, -l, -t, -T, drawn in ASCII or UTF-8. Capture: `pstree -apl`, `pstree -p`.

Samples::

    systemd(1)-+-agetty(224)
               |-init-systemd(Ub(2)-+-SessionLeader(305)---Relay(307)(306)---bash(307)-+-head(533)
               |                    |                                                  `-pstree(532)
               |                    `-init(7)---{init}(8)
    bash,24636 -c sleep 60
      |-python3,24639 job.py
      |   `-{python3},24682

Table: ps, one row for each process and thread (names in braces: pid is the process, lwp the thread); several rows cite one line. `args` only
under -a. Clock: none. Traps: only the columns of the branches show the parent; where they do not fit (blanks in front lost or
collapsed, lines above cut off) ppid is unknown, with a note. A user is printed only where it differs from the parent's. Lines that
the terminal's width cut end in `+`: the rest of them is missing. Known gaps: trees without process numbers, VT100 line drawing.
"""

from __future__ import annotations

import re

from parsers.columns.small_texts import Rows, share, whole
from parsers.declarations import Claim, Format
from parsers.formats.processes.shared.process_columns import secrets
from parsers.tables.rows import Domain, State, Tables
from parsers.text.source import Head, Source

_DRAWN = str.maketrans("─┬├│└", "-+||`")
_BRANCH = r"(?:[ |│]{0,400}[|`├└][-─])?"
NODES = rf"^{_BRANCH}[^ |`│├└].{{0,63}}?\([0-9]{{1,10}}(?:,[^()]{{1,64}})?\)(?:[-─][-+─┬][-─]|$)"
ALONE = rf"^{_BRANCH}[^ ,|`│├└][^,]{{0,63}},[0-9]{{1,10}}(?:,[^ ,]{{1,64}})?(?: .*)?$"
DRAWN = r"^[ |│]{0,400}[|`├└][-─]|\([0-9]{1,10}\)(?:-[-+]-|─[─┬]─)"
FORMAT = Format(
    kind="ps",
    variant="pstree",
    version="1",
    systems=("linux",),
    tables=("ps",),
    man="pstree(1)",
    example="pstree -apl",
    own=rf"{NODES}|^[ |│]{{0,400}}[|`├└][-─][^ ,|`│├└][^,]{{0,63}},[0-9]{{1,10}}(?:,[^ ,]{{1,64}})?(?: |$)",
)
_NODE = re.compile(r"(.{1,64}?)\(([0-9]{1,10})(?:,([^()]{1,64}))?\)(?=(-[-+]-)|$|\+$)")
_ALONE = re.compile(r"([^,]{1,64}),([0-9]{1,10})(?:,([^ ,]{1,64}))?(?: (.*))?")
_NODES, _ONE, _LOOKS = re.compile(NODES), re.compile(ALONE), re.compile(DRAWN)
UNFIT = "the branches do not fit those above (lines or blanks are lost): parents are left out"


def claim(head: Head) -> Claim | None:
    """Claim by branches with process numbers in most lines."""
    if not any(x in head.text for x in ("|-", "`-", "├─", "└─", ")---", ")───")):
        return None
    drawn, _ = share(head, _LOOKS)
    for pattern, what in ((_NODES, "-p"), (_ONE, "-ap")):
        found, part = share(head, pattern)
        if found > 1 and drawn and part >= 0.7:
            return Claim(0.6 + 0.35 * part, f"{found} lines of pstree {what}", "pstree")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the owner of each open branch by column, and the branches that continue below."""
    rows, last = Rows(), source.first_line
    for block in source.blocks():
        for line_no, begin, end in secrets(block.frame):
            out.secret(line_no, begin, end, "password")
        for line_no, line in block.frame.rows():
            last = line_no
            text = line.translate(_DRAWN)
            if _ONE.match(line) and not _NODES.match(line):
                _one(line_no, text, line, rows, out, state)
            elif _NODES.match(line):
                _several(line_no, text, rows, out, state)
    rows.give(out)
    if source.next_line > source.first_line:
        out.domain(Domain(1, "none", lines=[(source.first_line, last)]))
    return state


def _parent(line_no: int, text: str, out: Tables, state: State) -> tuple[list[int] | None, int]:
    """Return the process whose branch a line hangs on, and where the line's first name begins.

    The process is [pid, ppid or -1], None for a root or if unknown.
    """
    match = re.match(r"[ |]{0,400}[|`]-", text)
    whose: dict[int, list[int]] = {int(k): v for k, v in state.get("whose", [])}
    going = set(state.get("going", []))
    if match is None:
        state |= {"whose": [], "going": []}
        return None, 0
    column = match.end() - 2
    lead = {i for i, sign in enumerate(text[:column]) if sign == "|"}
    # A branch that continues is drawn through all lines between.
    fits = column in whose and lead == {c for c in going if c < column}
    if not fits and not state.get("unfit"):
        state["unfit"] = True
        out.note(line_no, line_no, "damaged", UNFIT)
    parent = whose.get(column) if fits else None
    # Where nothing fits, the drawn branches continue, but their owners stay unknown.
    going = ({c for c in going if c < column} if fits else lead) | ({column} if text[column] == "|" else set())
    state["whose"] = [[c, p] for c, p in whose.items() if c <= column] if fits else []
    state["going"] = sorted(going)
    return parent, match.end()


def _add(
    line_no: int, name: str, pid: str, user: str | None, parent: list[int] | None, rows: Rows, args: str | None = None
) -> list[int]:
    """Add a process, or a thread of its parent; return [pid, ppid], -1 for an unknown one."""
    number = whole(pid)
    above = parent[0] if parent else None
    login = user if user and not user.isdigit() else None
    if name.startswith("{") and name.endswith("}"):
        grandparent = parent[1] if parent and parent[1] >= 0 else None
        rows.add(
            "ps",
            line_no,
            line_end=line_no,
            sample=1,
            pid=above,
            ppid=grandparent,
            lwp=number,
            comm=name[1:-1],
            login=login,
        )
        return parent or [-1, -1]
    rows.add("ps", line_no, line_end=line_no, sample=1, pid=number, ppid=above, comm=name, login=login, args=args)
    return [number if number is not None else -1, above if above is not None else -1]


def _several(line_no: int, text: str, rows: Rows, out: Tables, state: State) -> None:
    """Read a line of `pstree -p`: names joined by `---`, or by `-+-` where more branches follow below."""
    parent, at = _parent(line_no, text, out, state)
    while match := _NODE.match(text, at):
        parent = _add(line_no, match[1], match[2], match[3], parent, rows)
        at = match.end()
        if match[4] == "-+-":
            state["whose"] = [*[x for x in state["whose"] if x[0] != at + 1], [at + 1, parent]]
            state["going"] = sorted({*state["going"], at + 1})
        if not match[4]:
            break
        at += 3
    if at < len(text):
        out.note(line_no, line_no, "damaged", "the line was cut by the terminal's width: what stood behind is not here")


def _one(line_no: int, text: str, line: str, rows: Rows, out: Tables, state: State) -> None:
    """Read a line of `pstree -ap`: one process and its arguments; its children hang four columns to the right."""
    parent, at = _parent(line_no, text, out, state)
    match = _ALONE.fullmatch(line, at)
    if match is None:
        return
    args = f"{match[1]} {match[4]}" if match[4] else match[1]
    thread = match[1].startswith("{")
    process = _add(line_no, match[1], match[2], match[3], parent, rows, None if thread else args)
    if not thread:
        column = at + 2
        state["whose"] = [*[x for x in state["whose"] if x[0] != column], [column, process]]
