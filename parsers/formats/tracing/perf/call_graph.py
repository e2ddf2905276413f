"""Parse the call graphs of perf report: turn the lines below one row into call chains with absolute shares.

A tree is read line by line. The column of a branch mark (of the share, in perf's browser) gives its depth; where a page collapsed the blanks, the number of
`|` before the mark does. Chains are returned leaf first, whatever the order in which perf printed them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

ROOT = re.compile(r"^([ |]*)---[ ]?(?!-)(\S.*)$")
BRANCH = re.compile(r"^([ |]*)--[ ]?([0-9]+\.[0-9]+)%--[ ]?(\S.*)$")
OPENED = re.compile(r"^( *(?:[-+] )?)([0-9]{1,3}\.[0-9]+)% (?! )(\S.*)$")
"""A branch as perf's own browser prints it: `   - 98.97% fcntl`, an end without a mark in the same column."""

SPACING = re.compile(r"^[ |]*$")
CHAIN = re.compile(r"^([ |]*(?:[-+] )?)(\S.*)$")
FOLDED = re.compile(r"^([0-9]+\.[0-9]+)%[ ](\S.*)$")

OUTERMOST = re.compile(
    r"^(?:_start|__libc_start\S*|__clone[0-9]*|start_thread|main|ret_from_fork\S*|kthread|secondary_startup\S*)$"
)
_ENTRY = re.compile(r"^(?:entry_SYSCALL|system_call|sysenter|asm_|el0t?_)")
_BEHIND_ENTRY = re.compile(r"^(?:do_syscall|sys_|__x64_sys|__se_sys|x64_sys|exc_|sysvec_|el0_)")
NEAR = 0.02
"""Tolerance in percentage points when shares are compared: perf prints them with two digits."""


@dataclass
class Node:
    """One branch of the tree: its symbols in printed order, its share as printed, its depth."""

    pct: float | None
    depth: int
    symbols: list[str] = field(default_factory=list)
    parent: Node | None = None
    at: int = 0
    """Index of its last line."""
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Graph:
    """The call chains under one row, each as (symbols leaf first, absolute share of each symbol, share of the chain).

    `ends` holds for each chain the index of the line that ends it, `opened` whether perf's browser printed the tree.
    """

    chains: list[tuple[list[str], list[float | None], float | None]]
    ends: list[int]
    opened: bool
    fractal: bool | None
    callers_first: bool | None
    nodes: int


def grow(lines: Iterable[str], pct: float | None) -> Node:
    """Build the tree from the lines below a row; `pct` is the share of that row."""
    numbered = [(n, x) for n, x in enumerate(lines) if not SPACING.match(x)]
    # Where a web page collapsed the blanks, the number of bars gives the depth.
    by_bars = not any("  " in x for _, x in numbered)
    root = Node(pct, -1)
    top = root
    for at, text in numbered:
        start, branch = ROOT.match(text), BRANCH.match(text) or OPENED.match(text)
        match = branch or start or CHAIN.match(text)
        if match is None:
            continue
        lead = match[1]
        if start and not branch:
            top = root
            root.symbols.append(match[2])
            continue
        depth = lead.count("|") if by_bars else len(lead)
        if branch:
            without_bar = by_bars and not lead.rstrip(" ").endswith("|")
            last_child = without_bar or (by_bars and lead.endswith(" "))
            bound = depth + 1 if last_child else depth
            while top is not root and top.depth >= bound:
                top = top.parent or root
            node = Node(float(branch[2]), depth, [branch[3].rstrip()], top, at)
            top.children.append(node)
            top = node
        else:
            while top is not root and (top.depth > depth if by_bars else top.depth >= depth):
                top = top.parent or root
            top.symbols.append(match[2])
            top.at = at
    return root


def judge(root: Node) -> bool | None:
    """Decide whether shares are of the parent (True: fractal) or of the total (False); None if both are possible."""
    queue = [root]
    for node in queue:
        queue += node.children
        shares = [c.pct for c in node.children if c.pct is not None]
        if node.pct is None or not shares:
            continue
        if max(shares) > node.pct + NEAR or sum(shares) > node.pct + NEAR * len(shares) + NEAR:
            return True
    return None if root.pct is None or root.pct > 99 or not root.children else _fits(root)


def _fits(root: Node) -> bool | None:
    """Return False if the absolute shares of some node's children add up to its own share, else None (undecided)."""
    queue = [root]
    for node in queue:
        queue += node.children
        shares = [c.pct for c in node.children if c.pct is not None]
        if node.pct and shares and abs(sum(shares) - node.pct) <= NEAR * len(shares) and node.pct < 50:
            return False
    return None


def chains(root: Node, fractal: bool) -> list[tuple[list[str], list[float | None], float | None, int]]:
    """Return each path from the root to an end of the tree, in printed order, with absolute shares and its last line."""
    found: list[tuple[list[str], list[float | None], float | None, int]] = []
    stack: list[tuple[Node, list[str], list[float | None], float | None]] = [(root, [], [], root.pct)]
    while stack:
        node, symbols, shares, absolute = stack.pop()
        symbols = symbols + node.symbols
        shares = shares + [absolute] * len(node.symbols)
        if not node.children:
            found.append((symbols, shares, absolute, node.at))
        for child in reversed(node.children):
            share = child.pct
            if fractal:
                # In a fragment without its row the whole is unknown, and so are the absolute shares.
                share = None if absolute is None or child.pct is None else absolute * child.pct / 100
            stack.append((child, symbols, shares, share))
    return found


def callers_first(paths: list[list[str]], symbol: str | None) -> bool | None:
    """Decide the printed order of the chains: True if the outermost caller comes first, None if nothing shows it."""
    votes = 0
    for path in paths:
        for before, after in pairwise(path):
            if _ENTRY.match(before) and _BEHIND_ENTRY.match(after):
                votes += 1
            elif _BEHIND_ENTRY.match(before) and _ENTRY.match(after):
                votes -= 1
        if len(path) > 1:
            votes += bool(OUTERMOST.match(path[0])) - bool(OUTERMOST.match(path[-1]))
    if votes:
        return votes > 0
    if symbol is not None and any(p[0] == symbol for p in paths if len(p) > 1):
        return False
    if symbol is not None and any(p[-1] == symbol for p in paths if len(p) > 1):
        return True
    return None


def read(lines: list[str], pct: float | None, symbol: str | None, fractal: bool | None, first: bool | None) -> Graph:
    """Parse the tree (or the folded chains) below one row; `fractal` and `first` are what earlier rows showed."""
    folded = [m for m in map(FOLDED.match, lines) if m]
    if folded:
        printed = [(m[2].split(";"), float(m[1])) for m in folded]
        order = callers_first([p for p, _ in printed], symbol)
        flip = order if order is not None else first
        rows: list[tuple[list[str], list[float | None], float | None]] = [
            (p[::-1] if flip else p, [share] * len(p), share) for p, share in printed
        ]
        return Graph(rows, list(range(len(rows))), False, False, order, len(folded))
    root = grow(lines, pct)
    known = judge(root)
    found = chains(root, bool(fractal if known is None else known))
    order = callers_first([p for p, _, _, _ in found], symbol)
    if order if order is not None else first:
        found = [(p[::-1], s[::-1], share, at) for p, s, share, at in found]
    nodes, queue = 0, [root]
    for node in queue:
        nodes += bool(node is not root)
        queue += node.children
    held = [c for c in found if c[0]]
    opened = any(OPENED.match(x) for x in lines)
    return Graph([c[:3] for c in held], [c[3] for c in held], opened, known, order, nodes)
