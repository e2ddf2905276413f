"""Flame graphs: stacks laid under the functions that called them, each as wide as its share of the profile.

Stacks of any kind (perf, DTrace, collapsed stacks, thread dumps) are rows of `profile_stacks`, leaf first. A graph has
the outermost caller at the top. Equal stacks are added up; of more than `MOST_STACKS` different ones the largest are
drawn and the rest is one block without a name, so that widths stay shares of the whole. In order of time, stacks are
merged only with their neighbours. Source: Gregg, "The Flame Graph", ACM Queue 14 (2), 2016.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rules.engine.read import ReadOnly
from rules.observers.frames import bare

TABLE = "profile_stacks"
MOST_PROFILES = 200
MOST_STACKS = 5_000
#: Maximum number of samples of a graph in order of time: the first ones.
MOST_SAMPLES = 20_000
MOST_BLOCKS = 1_500
#: Maximum number of levels drawn below the block on top; deeper ones are seen by zooming.
MOST_LEVELS = 120
#: Share of the graph's width below which a block is not drawn: a pixel of a wide screen.
LEAST_SHARE = 0.0008
#: Maximum number of stacks of one block whose lines are shown.
MOST_LINES = 5

WEIGHED = "len(s.frames) > 0 and coalesce(s.weight, case when s.unit in ('samples', 'count') then 1 end) > 0"
WEIGHT = "coalesce(s.weight, 1)"
SHOWN = "list_transform(s.frames, lambda f: regexp_replace(f, '\\+0x[0-9a-f]+(/0x[0-9a-f]+)?$', ''))"


@dataclass(frozen=True)
class Profile:
    """Stacks that add up to one whole: those of one artifact, part and event. `timed`: every stack has a moment."""

    key: str
    artifact: int
    part: int
    event: str
    unit: str
    stacks: int
    weight: float
    timed: bool


@dataclass(frozen=True)
class Stack:
    """Equal stacks, outermost caller first; the lines are those of the first of them."""

    frames: tuple[str, ...]
    weight: float
    line_from: int
    line_to: int


@dataclass
class Node:
    """A function where it was called from one path. `own`: the weight of stacks that end here."""

    name: str
    weight: float = 0.0
    own: float = 0.0
    begins: float = 0.0
    ends: float = 0.0
    children: list[Node] = field(default_factory=list)
    stacks: list[int] = field(default_factory=list)
    """Numbers of the first stacks that pass here: the heaviest, or in order of time the earliest."""


@dataclass(frozen=True)
class Block:
    """A drawn node: its place in percent of the width, its level, and its share of the whole profile (0 to 1).

    `at` identifies it in addresses: the index of each ancestor and its own among their siblings. `change` is the
    difference to its share of another profile, None without one.
    """

    node: Node
    at: str
    level: int
    x: float
    width: float
    share: float
    change: float | None = None


@dataclass(frozen=True)
class Graph:
    """What is drawn below `focus`, whose ancestors `path` holds with their places; how many blocks were too narrow or
    too deep.
    """

    focus: Block
    path: tuple[tuple[str, str], ...]
    blocks: tuple[Block, ...]
    left_out: int
    levels: int


@dataclass(frozen=True)
class Function:
    """A function of a profile: the weight of stacks that end in it, and of those that it is anywhere in."""

    name: str
    own: float
    total: float


def profiles(source: ReadOnly) -> list[Profile]:
    """Return the profiles of a room in the order of its artifacts, at most MOST_PROFILES."""
    rows = source.query(
        f"""
        select s.artifact_id, s.part, s.event, s.unit, count(*) as stacks, sum({WEIGHT}) as weight,
               bool_and(s.t_local is not null and s.unit = 'samples') as timed
        from {TABLE} s where {WEIGHED} group by 1, 2, 3, 4 order by 1, 2, 3 nulls first, 4 limit {MOST_PROFILES}"""
    )
    found: list[Profile] = []
    for row in rows:
        number = sum(p.artifact == row["artifact_id"] for p in found)
        found.append(
            Profile(
                f"{row['artifact_id']}-{number + 1}",
                row["artifact_id"],
                row["part"],
                row["event"] or "",
                row["unit"] or "",
                row["stacks"],
                row["weight"],
                row["timed"],
            )
        )
    return found


def stacks(profile: Profile, source: ReadOnly, in_order: bool = False) -> list[Stack]:
    """Return the stacks of a profile: equal ones added up, the largest first; or one by one in order of time."""
    end = "coalesce(s.line_end, s.line_no)"
    # Equal stacks are added up first: only what is left of them is rewritten.
    grouped = (
        f"select list_reverse({SHOWN}) as frames, s.weight, s.line_no as line_from, {end} as line_to"
        f" from {TABLE} s where {{where}} order by s.line_no limit {MOST_SAMPLES}"
        if in_order
        else f"""
        with raw as (select s.frames, sum({WEIGHT}) as weight, min(s.line_no) as line_no, min_by({end}, s.line_no) as line_end
                     from {TABLE} s where {{where}} group by 1)
        select list_reverse({SHOWN}) as frames, sum(s.weight) as weight, min(s.line_no) as line_from,
               min_by(s.line_end, s.line_no) as line_to
        from raw s group by 1 order by weight desc, line_from limit {MOST_STACKS}"""
    )
    where = (
        f"s.artifact_id = $artifact and s.part is not distinct from $part and {WEIGHED}"
        " and coalesce(s.event, '') = $event and coalesce(s.unit, '') = $unit"
    )
    params = {"artifact": profile.artifact, "part": profile.part, "event": profile.event, "unit": profile.unit}
    rows = source.query(grouped.format(where=where), params)
    return [Stack(tuple(r["frames"]), float(r["weight"] or 1.0), r["line_from"], r["line_to"]) for r in rows]


# --- trees ------------------------------------------------------------------------------------------------------------


def tree(found: Iterable[Stack], name: str, in_order: bool = False) -> Node:
    """Return the root of all stacks. Children stand largest first, or in order of time.

    >>> a = tree([Stack(("main", "f"), 3, 1, 1), Stack(("main", "g"), 1, 2, 2)], "all")
    >>> [(n.name, n.weight) for n in a.children[0].children]
    [('f', 3.0), ('g', 1.0)]
    """
    root = Node(name)
    known: dict[tuple[int, str], Node] = {}
    for number, stack in enumerate(found):
        node, begins = root, root.ends
        ends = begins + stack.weight
        _passes(root, stack, number, ends)
        for frame in stack.frames:
            child = _open(node, begins, frame) if in_order else known.get((id(node), frame))
            if child is None:
                child = Node(frame, begins=begins)
                node.children.append(child)
                known[id(node), frame] = child
            node = child
            _passes(node, stack, number, ends)
        node.own += stack.weight
    if not in_order:
        _sort(root)
    return root


def _passes(node: Node, stack: Stack, number: int, ends: float) -> None:
    node.weight += stack.weight
    node.ends = ends
    if len(node.stacks) < MOST_LINES:
        node.stacks.append(number)


def _open(node: Node, at: float, frame: str) -> Node | None:
    """Return the last child if it is the function `frame` and ends at `at`, so that a stack from there continues it."""
    last = node.children[-1] if node.children else None
    return last if last is not None and last.name == frame and last.ends == at else None


def _sort(root: Node) -> None:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        node.children.sort(key=lambda child: (-child.weight, child.name))
        begins = node.begins
        for child in node.children:
            child.begins = begins
            begins += child.weight
        waiting.extend(node.children)


def around(found: Sequence[Stack], function: str) -> tuple[Node, Node]:
    """Return two trees with a function as their root: its callers, and the functions that it calls.

    A stack in which the function calls itself counts once, from its outermost call.
    """
    through = [(s, s.frames.index(function)) for s in found if function in s.frames]
    callers = [Stack(s.frames[:at][::-1], s.weight, s.line_from, s.line_to) for s, at in through]
    callees = [Stack(s.frames[at + 1 :], s.weight, s.line_from, s.line_to) for s, at in through]
    return tree(callers, function), tree(callees, function)


def functions(found: Iterable[Stack]) -> list[Function]:
    """Return every function, those with the largest weight of their own first."""
    own: dict[str, float] = {}
    total: dict[str, float] = {}
    for stack in found:
        own[stack.frames[-1]] = own.get(stack.frames[-1], 0.0) + stack.weight
        for name in set(stack.frames):
            total[name] = total.get(name, 0.0) + stack.weight
    made = [Function(name, own.get(name, 0.0), weight) for name, weight in total.items()]
    return sorted(made, key=lambda one: (-one.own, -one.total, one.name))


# --- drawing ----------------------------------------------------------------------------------------------------------


def graph(root: Node, whole: float, at: str = "", other: tuple[Node, float] | None = None) -> Graph:
    """Lay out the blocks below the one that `at` names, over the whole width; an unknown `at` is the root.

    `whole` is the weight that shares are of. `other`: the root of another profile and its whole, for differences.
    """
    focus, twin, path, at = _found(root, at, other[0] if other else None)
    blocks: list[Block] = []
    left_out = levels = 0

    def block(node: Node, like: Node | None, place: str, level: int) -> Block:
        share = node.weight / whole
        change = share - (like.weight / other[1] if like and other[1] else 0.0) if other else None
        x, width = (node.begins - focus.begins) / focus.weight, node.weight / focus.weight
        return Block(node, place, level, 100 * x, 100 * width, share, change)

    top = block(focus, twin, at, 0)
    row = [(focus, twin, at)]
    while row and levels < MOST_LEVELS:
        levels += 1
        below: list[tuple[Node, Node | None, str]] = []
        for node, like, place in row:
            twins = {child.name: child for child in like.children} if like else {}
            for number, child in enumerate(node.children):
                if child.weight / focus.weight < LEAST_SHARE or len(blocks) >= MOST_BLOCKS:
                    left_out += 1
                    continue
                one = f"{place}.{number}" if place else str(number)
                blocks.append(block(child, twins.get(child.name), one, levels))
                below.append((child, twins.get(child.name), one))
        row = below
    return Graph(top, tuple(path), tuple(blocks), left_out + len(row), max((b.level for b in blocks), default=0))


def _found(root: Node, at: str, other: Node | None) -> tuple[Node, Node | None, list[tuple[str, str]], str]:
    """Return the node at a place, its twin in the other tree, its ancestors and its place; the root for a wrong one."""
    node, twin, path, places = root, other, [(root.name, "")], at.split(".") if at else []
    for level, text in enumerate(places):
        if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < len(node.children)):
            return root, other, [], ""
        node = node.children[int(text)]
        twin = next((child for child in twin.children if child.name == node.name), None) if twin else None
        path.append((node.name, ".".join(places[: level + 1])))
    return node, twin, path[:-1], at


def label(name: str, characters: int) -> str:
    """Return the longest form of a function's name that fits; empty if none does, since no word is cut.

    >>> label("libc.so.1`poll+0x15", 30), label("libc.so.1`poll+0x15", 8), label("a_long_name", 4)
    ('libc.so.1`poll+0x15', 'poll', '')
    """
    return next((form for form in forms(name) if len(form) <= characters), "")


def forms(name: str) -> tuple[str, ...]:
    """Return the forms of a function's name, the longest first: as printed, without its module, its last part."""
    plain = bare(name).partition("(")[0] or name
    last = plain.replace("::", ".").replace("/", ".").rpartition(".")[2]
    return tuple(dict.fromkeys(form for form in (name, plain, last) if form))
