"""What a measured plan of a statement shows: which node takes the time, whose estimate is far off, what is thrown away.

Standing out: a node with a third of the plan's time by itself (its children's time left out; with half of a plan of a second or
more it is what is slow); rows that differ from the estimate by ten times or more; nodes repeated a thousand times or more; filters
that throw away ten times what they keep (`Rows Removed by Filter` of PostgreSQL, a node `Filter` above a scan of a whole table of
MySQL); sorts and hashes on disk; a sequential scan of 10,000 pages or more by its cost (100,000 of a plan without measures) that
keeps a row for ten of them or fewer; of a plan without measures the largest table that is read; a nested loop that ran a hundred
times as often as was expected and takes most of the time. Plans are read as text or JSON.
Normal: less. Without measures (plain EXPLAIN) nothing is said about time.
Worked example: `Hash Join (... rows=10 ...) (actual time=0.1..5012.3 rows=100000 loops=1)` above a scan of 4,900 ms: the scan takes
97.8 %, and the join gave 10,000 times the rows that were expected.
Beside the node with most time stands what else tells of it: its time with the nodes below it, the pages that a scan read for
its rows, the node with most time after it. Beside a sort on disk stands the memory that it may use, where a listing of settings
in the same file has it.
Times of a node count its loops; those of workers that run side by side below a Gather are divided by the number of workers.
A node that a Limit ends early gives fewer rows than it would: that is no wrong estimate.
Cost: the rows of the plans, one pass. Source: PostgreSQL documentation, Using EXPLAIN; MySQL Reference Manual, EXPLAIN ANALYZE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from rules.derived.derived_table import PLACE_COLUMNS, CaseTables
from rules.observers.observer import Lines, Observer, Sighting, figure, place

OBSERVER = Observer(
    "query-plans",
    "Which part of a plan holds the time?",
    ("rows", "params"),
    {
        "*": "EXPLAIN (ANALYZE, BUFFERS, SETTINGS) of the statement; the definition and statistics of its tables and indexes"
    },
    alone=True,
)

REPORT = "query plan"
MOST_ROWS = 50_000
HALF = 0.5
HOLDS = 1 / 3
"""Minimum part of a plan's time that one node takes by itself to be worth a word."""

OFF = 10.0
"""Minimum factor between the estimated and the actual rows: below it plans seldom change."""

OFF_ROWS = 100.0
"""Minimum number of rows, estimated or actual, from which a factor counts: of few rows it costs nothing."""

LOOPS = 1000
"""Minimum number of repetitions of a node that is worth a word."""

REMOVED = 10.0
"""Minimum factor between rows that a filter removes and rows that it keeps."""

WASTED = 100.0
"""Minimum factor between removed and kept rows from which an index is missing or not used."""

FELT_MS = 100.0
"""Minimum time of a plan in which a person notices a part."""

MILLIONS = 1e6
LONG_MS = 1000.0
"""Minimum time of a plan from which the step that holds half of it is what is slow."""

_ELSEWHERE = re.compile(
    r"(?i)(?:Foreign Scan|Function Scan|Custom Scan|Async Foreign Scan|LockRows|ModifyTable|Insert|Update|Delete)\b|.*\bsleep\b"
)
"""Steps that wait for another server, a function, or a lock: what takes their time is not told."""

NEXT = 0.05
"""Minimum part of a plan's time of the second node to be named."""

MEMORY = ("work_mem", "hash_mem_multiplier", "maintenance_work_mem", "sort_buffer_size", "join_buffer_size")
"""Settings that say how much memory a sort or hash may use (PostgreSQL, MySQL)."""

_N = r"\d{1,13}(?:\.\d{1,9})?(?:e[+-]?\d)?"
"""A figure of a plan; longer ones are none that a server printed."""
_TIME = re.compile(rf"actual time=({_N})\.\.({_N})")
_ROWS = re.compile(rf"actual (?:time=\S+ )?rows=({_N})")
_LOOPS = re.compile(r"loops=(\d{1,12})")
_EXPECTED = re.compile(rf"\(cost=[^()]{{0,60}} rows=({_N})")
_AROUND = ' \t"|+'
"""What clients print around a line."""

LEAST_PAGES = 10_000
"""Number of pages (80 MB) from which a table is large enough that its whole read is felt."""

PLAIN_PAGES = 100_000
"""The same of a plan that was not measured, where nobody says that it took long."""

PAGES_OF_COST = 0.1
"""Part of the cost of a sequential scan that stands for its pages at least: a page costs 1 (seq_page_cost), each of its rows
0.01 (cpu_tuple_cost) and 0.0025 for each operator of the filter; 291 rows are the most that a page of 8 kB holds."""

KEPT = 0.1
"""Rows that a filter keeps for each page that is read, at most, if an index would have read much less."""

OFTEN = 100.0
"""Factor between the rows that came and the rows that were expected from which a loop over them is the wrong plan."""

_SEQ_SCAN = re.compile(r"(?:Parallel )?Seq Scan on ")
_COST = re.compile(rf"\(cost={_N}\.\.({_N}) ")
_LOOP = re.compile(r"Nested Loop\b")
_HAS_BELOW = re.compile(
    r"(?:Nested Loop|Hash Join|Hash (?:Left|Right|Full|Semi|Anti|Right Semi|Right Anti) Join|Merge .*Join|Merge Join|Sort|Incremental Sort"
    r"|(?:Finalize |Partial )?(?:Group|Hash|Mixed)?Aggregate|Aggregate|Hash|Gather|Gather Merge|Limit|Unique|Materialize|Memoize|WindowAgg"
    r"|Append|Merge Append|Bitmap Heap Scan|LockRows|ProjectSet|SetOp.*|Subquery Scan)\b(?! scan)"
)
"""Nodes of PostgreSQL that others stand below: without one, the plan is cut there."""
_PROPERTY = re.compile(r'\s*(?:-\s+)?"?([A-Z][\w/ -]{1,40})"?: +(.+?),?')
"""A property of a node of a plan in JSON or YAML."""

_GATHER = re.compile(r"Gather(?: Merge)?\b")
_LIMIT = re.compile(r"Limit\b")
_READS_ALL = re.compile(
    r"(?:Incremental )?Sort\b|(?:Hash|Mixed)?Aggregate\b|Hash\b|Aggregate\b|Sort: |Aggregate using "
)
"""Nodes that read all that is below them before they give their first row."""

_WHOLE = re.compile(r"(?:Table|Index|Covering index) scan on (?!<)")
"""Names of nodes of MySQL that read a table from end to end, and no temporary one."""
_DONE = re.compile(rf"(?:Execution|Total)(?: |-)?(?:[Tt]ime|runtime): ({_N}) ms.*")
_GONE = re.compile(r"Rows Removed by (?:Filter|Join Filter|Index Recheck): (\d{1,18}).*")
_SORT = re.compile(r"Sort Method: (.{1,40}?) +Disk: (\d{1,15})kB.*")
_BATCHES = re.compile(r"Buckets: .*Batches: (\d{1,9}).*Memory Usage: (\d{1,12})kB.*")
_PAGES = re.compile(r"Buffers: shared(?: hit=(?P<hit>\d{1,15}))?(?: read=(?P<read>\d{1,15}))?.*")
_READ = re.compile(r"Buffers: (?:shared|local)(?: hit=\d{1,15})? read=(\d{1,15}).*")
_TEMP = re.compile(r"Buffers: .*\btemp (?:read=\d{1,15} )?written=(\d{1,15}).*")
_IO = re.compile(rf"I/O Timings: .*\bread=({_N}).*")


def observe(case: CaseTables) -> Iterable[Sighting]:
    """Yield what stands out in each plan, its time first."""
    is_report = pl.col("heading").list.first() == REPORT
    columns = [*PLACE_COLUMNS, "part", "line_no", "heading", "cells"]
    memory = _memory(case)
    rows = case.scan("rows", columns).filter(is_report).head(MOST_ROWS).collect(engine="streaming")
    for _, part in rows.sort("line_no").group_by("artifact_id", "part", maintain_order=True):
        lines = [r for r in part.iter_rows(named=True) if r["cells"] and r["cells"][0]]
        for nodes, notes in (*_plans(lines), *_plans_of_properties(lines)):
            yield from _plan(nodes, notes, memory)


def _memory(case: CaseTables) -> Mapping[int, Mapping[str, Any]]:
    """Return artifact -> its first row with the setting of the memory for sorts."""
    known = pl.col("name").is_in(list(MEMORY)) & pl.col("value").is_not_null()
    found = case.scan("params", ["artifact_id", "line_no", "name", "value"], known).head(MOST_ROWS)
    rows = found.sort("line_no").unique("artifact_id", keep="first").collect(engine="streaming")
    return {row["artifact_id"]: row for row in rows.iter_rows(named=True)}


def _plans(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Yield the nodes and the other lines of each plan; a plan begins with a node that has no arrow."""
    nodes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for row in rows:
        text = row["cells"][0].strip(_AROUND)
        if (node := _node(text, row)) is None:
            notes.append({"text": text, "row": row, "of": nodes[-1] if nodes else None})
            continue
        if nodes and (not node["arrow"] or _ended(notes)):
            yield nodes, notes
            nodes, notes = [], []
        nodes.append(node)
    if nodes:
        yield nodes, notes


def _plans_of_properties(
    rows: Sequence[dict[str, Any]],
) -> Iterator[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Yield the nodes and other lines of each plan that was printed as JSON; one that is cut has the nodes before the cut."""
    nodes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for row in rows:
        text = row["cells"][0]
        found = _PROPERTY.fullmatch(text)
        if found is None:
            continue
        key, value = found[1], found[2].strip('"')
        indent = len(text) - len(text.lstrip())
        if key == "Node Type":
            if nodes and indent <= nodes[0]["indent"]:
                yield _of_properties(nodes), notes
                nodes, notes = [], []
            made: dict[str, Any] = {"indent": indent, "at": indent if nodes else -1, "arrow": bool(nodes), "row": row}
            nodes.append({**made, "of": {key: value}})
        elif nodes:
            nodes[-1]["of"][key] = value
            if key in ("Filter", "Rows Removed by Filter", "Rows Removed by Join Filter"):
                notes.append({"text": f"{key}: {value}", "row": row, "of": nodes[-1]})
            elif key == "Execution Time":
                notes.append({"text": f"Execution Time: {value} ms", "row": row, "of": None})
    if nodes:
        yield _of_properties(nodes), notes


def _of_properties(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to each node of a JSON plan the figures in its properties."""
    for node in nodes:
        of = node["of"]

        def number(key: str, of: Mapping[str, str] = of) -> float | None:
            return float(of[key]) if re.fullmatch(_N, of.get(key, "")) else None

        side = "Parallel " if of.get("Parallel Aware") == "true" else ""
        index = f" using {of['Index Name']}" if "Index Name" in of else ""
        on = f" on {of['Relation Name']}" if "Relation Name" in of else ""
        each, loops = number("Actual Total Time"), number("Actual Loops") or 1.0
        node |= {
            "name": f"{side}{of['Node Type']}{index}{on}"[:120],
            "ms": each * loops if each is not None else None,
            "each": each,
            "rows": number("Actual Rows"),
            "loops": loops,
            "expected": number("Plan Rows"),
            "cost": number("Total Cost"),
        }
    return nodes


def _ended(notes: Sequence[dict[str, Any]]) -> bool:
    return bool(notes) and _DONE.fullmatch(notes[-1]["text"]) is not None


def _node(text: str, row: dict[str, Any]) -> dict[str, Any] | None:
    if "(cost=" not in text and "(actual " not in text and "(never" not in text:
        return None
    arrow = text.startswith("->")
    name = re.split(r"  ?\((?:cost=|actual |never )", text.removeprefix("->").strip(), maxsplit=1)[0].strip()[:120]
    time, rows, loops, expected, cost = (p.search(text) for p in (_TIME, _ROWS, _LOOPS, _EXPECTED, _COST))
    n = float(loops[1]) if loops else 1.0
    return {
        "name": name or "a node",
        "arrow": arrow,
        "row": row,
        "at": row["cells"][0].find("->") if arrow else -1,
        "ms": float(time[2]) * n if time else None,
        "each": float(time[2]) if time else None,
        "rows": float(rows[1]) if rows else None,
        "loops": n,
        "expected": float(expected[1]) if expected else None,
        "cost": float(cost[1]) if cost else None,
    }


def _side_by_side(nodes: Sequence[dict[str, Any]]) -> None:
    """Divide the times of nodes below a Gather by the number of workers; their loops count all workers."""
    parents = _parents(nodes)
    workers: dict[int, float] = {}
    for node in nodes:
        above = parents.get(id(node))
        if above is None:
            continue
        if _GATHER.match(above["name"]):
            workers[id(node)] = max(1.0, node["loops"] / above["loops"])
        elif id(above) in workers:
            workers[id(node)] = workers[id(above)]
        if node["ms"] is not None:
            node["ms"] /= workers.get(id(node), 1.0)


def _ended_early(nodes: Sequence[dict[str, Any]]) -> set[int]:
    """Return ids of nodes that a Limit above may end early, down to the first node that reads all its input first."""
    parents, cut = _parents(nodes), set[int]()
    for node in nodes:
        above = parents.get(id(node))
        if above is None:
            continue
        if _LIMIT.match(above["name"]) or (id(above) in cut and not _READS_ALL.match(above["name"])):
            cut.add(id(node))
    return cut


def _plan(
    nodes: Sequence[dict[str, Any]], notes: Sequence[dict[str, Any]], memory: Mapping[int, Mapping[str, Any]]
) -> Iterator[Sighting]:
    _side_by_side(nodes)
    timed = [node for node in nodes if node["ms"] is not None]
    done = next((n for n in notes if _DONE.fullmatch(n["text"])), None)
    found = _DONE.fullmatch(done["text"]) if done else None
    whole = max([float(found[1])] if found else [n["ms"] for n in timed] or [0.0])
    if timed and whole > 0:
        yield from _times(nodes, notes, timed, whole, done)
    yield from _estimates(nodes, whole)
    yield from _filters(nodes, whole)
    yield from _whole_reads(nodes, notes, whole)
    loops = list(_loops(nodes, whole))
    yield from loops
    for node in sorted((n for n in timed if n["loops"] >= LOOPS and not loops), key=lambda n: -n["ms"])[:1]:
        text = f"{node['name']} ran {node['loops']:,.0f} times, {figure(node['each'] / 1e3, 's')} each"
        yield _told(node, text, "loops_count", node["loops"], "count", share=_part(node["ms"], whole), role="loops")
    yield from _notes(notes, whole, memory)


def _times(
    nodes: Sequence[dict[str, Any]],
    notes: Sequence[dict[str, Any]],
    timed: Sequence[dict[str, Any]],
    whole: float,
    done: dict[str, Any] | None,
) -> Iterator[Sighting]:
    """Yield the node with most time of its own, and the time of the whole plan."""
    own = _own(nodes)
    best = max(timed, key=lambda n: own[id(n)])
    if best is nodes[-1] and _HAS_BELOW.match(best["name"]):
        return  # the plan is cut: what stood below it has a part of its time
    alone = min(own[id(best)], whole)
    part = _part(alone, whole)
    took, of = figure(alone / 1e3, "s"), figure(whole / 1e3, "s")
    beside, lines = _besides(best, nodes, notes, timed, whole)
    reading = sum(float(m[1]) for n in notes if (m := _IO.fullmatch(n["text"]))) >= HOLDS * whole
    holds = whole >= LONG_MS and part >= HALF and not reading and not _ELSEWHERE.match(best["name"])
    inner = best["ms"] - own[id(best)]
    with_all = f" ({figure(best['ms'] / 1e3, 's')} with the nodes below it)" if inner >= NEXT * whole else ""
    text = f"{best['name']} took {took} by itself{with_all}, {figure(100 * part, '%')} of the {of} of the plan"
    yield Sighting(
        "split",
        best["name"],
        text,
        "node_s",
        alone / 1e3,
        "s",
        (_line(best["row"], best["name"]), *lines),
        **place(best["row"]),
        against="the whole plan",
        against_value=whole / 1e3,
        seconds=alone / 1e3,
        of_s=whole / 1e3,
        normal=part < HOLDS or whole < FELT_MS,
        beside=beside,
        seen=({"event": "plan-step"},) if holds else (),
    )
    if done is None and len(nodes) > 1 and nodes[0]["ms"] == whole and nodes[0]["rows"] is not None:
        done = nodes[0]  # MySQL prints no sum below the plan
    if done is not None:
        n = nodes[0]["rows"]
        rows = "" if n is None else f" and gave {n:,.0f} row{'' if n == 1 else 's'}"
        text = f"The plan took {figure(whole / 1e3, 's')}{rows}"
        yield Sighting(
            "split",
            "execution time",
            text,
            "plan_s",
            whole / 1e3,
            "s",
            (_line(done["row"], "execution time"),),
            **place(done["row"]),
            against="what a person notices",
            against_value=FELT_MS / 1e3,
            share=0.3,
            normal=whole < FELT_MS,
        )


def _besides(
    best: dict[str, Any],
    nodes: Sequence[dict[str, Any]],
    notes: Sequence[dict[str, Any]],
    timed: Sequence[dict[str, Any]],
    whole: float,
) -> tuple[str | None, tuple[Lines, ...]]:
    """Return further facts about the node with most time, and their lines: pages of a scan, the second slowest node."""
    own, said, lines = _own(nodes), [], list[Lines]()
    leaf = all(n["at"] <= best["at"] for n in nodes[nodes.index(best) + 1 :][:1])
    pages = next(((n, m) for n in notes if n["of"] is best and (m := _PAGES.fullmatch(n["text"])) and leaf), None)
    if (
        pages
        and best["rows"] is not None
        and (count := sum(float(pages[1][k] or 0) for k in ("hit", "read"))) >= OFF_ROWS
    ):
        said.append(f"it read {count:,.0f} pages for {best['rows'] * best['loops']:,.0f} rows")
        lines.append(_line(pages[0]["row"], "pages read"))
    after = max((n for n in timed if n is not best), key=lambda n: own[id(n)], default=None)
    if after is not None and own[id(after)] >= NEXT * whole:
        said.append(f"next is {after['name']} with {figure(own[id(after)] / 1e3, 's')}")
        lines.append(_line(after["row"], after["name"]))
    return "; ".join(said) or None, tuple(lines)


def _own(nodes: Sequence[dict[str, Any]]) -> dict[int, float]:
    """Return the time of each node without that of its children, which the indents of the arrows show.

    MySQL's scan of a temporary table prints its own time without that of filling the table. So a node gets at least the
    time of each child that did not run more often (PostgreSQL's workers run in parallel below a Gather).
    """
    parents = _parents(nodes)
    whole = {id(n): n["ms"] or 0.0 for n in nodes}
    for node in reversed(nodes):
        above = parents.get(id(node))
        if above is not None and above["ms"] is not None and node["loops"] <= above["loops"]:
            whole[id(above)] = max(whole[id(above)], whole[id(node)])
    own = dict(whole)
    for node in nodes:
        if (above := parents.get(id(node))) is not None:
            own[id(above)] = max(0.0, own[id(above)] - whole[id(node)])
    return own


def _parents(nodes: Sequence[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return id of a node -> its parent, by the indents of their arrows."""
    parents: dict[int, dict[str, Any]] = {}
    open_: list[dict[str, Any]] = []
    for node in nodes:
        while open_ and open_[-1]["at"] >= node["at"]:
            open_.pop()
        if open_:
            parents[id(node)] = open_[-1]
        open_.append(node)
    return parents


def _estimates(nodes: Sequence[dict[str, Any]], whole: float) -> Iterator[Sighting]:
    """Yield the node whose number of rows differs most from the estimate."""

    def factor(node: dict[str, Any]) -> float:
        one, other = max(float(node["rows"]), 1.0), max(float(node["expected"]), 1.0)
        return max(one, other) / min(one, other)

    cut = _ended_early(nodes)
    known = [n for n in nodes if n["rows"] is not None and n["expected"] is not None]
    known = [n for n in known if id(n) not in cut or n["rows"] > n["expected"]]
    far = [n for n in known if factor(n) >= OFF and max(n["rows"], n["expected"]) * n["loops"] >= OFF_ROWS]
    for node in sorted(far, key=factor, reverse=True)[:2]:
        more = "more" if node["rows"] > node["expected"] else "fewer"
        gave, wanted = f"{node['rows']:,.0f}", f"{node['expected']:,.0f}"
        text = f"{node['name']} gave {gave} row{'' if node['rows'] == 1 else 's'}, {wanted} were expected: {factor(node):,.0f} times {more}"
        yield Sighting(
            "estimate",
            f"estimate of {node['name']}",
            text,
            "rows_count",
            node["rows"],
            "count",
            (_line(node["row"], "estimated and actual rows"),),
            **place(node["row"]),
            against="expected rows",
            against_value=node["expected"],
            share=0.4 if whole >= FELT_MS else 0.15,
            n=int(min(node["loops"], 1e15)),
        )


def _filters(nodes: Sequence[dict[str, Any]], whole: float) -> Iterator[Sighting]:
    """Yield the filter (in MySQL a node) that keeps the smallest part of the rows that a full table scan reads."""
    found = []
    parents = _parents(nodes)
    for scan in nodes:
        above = parents.get(id(scan))
        if above is None or not above["name"].startswith("Filter: ") or not _WHOLE.match(scan["name"]):
            continue
        if above["rows"] is None or scan["rows"] is None or above["loops"] != scan["loops"]:
            continue
        read, kept = scan["rows"] * scan["loops"], above["rows"] * above["loops"]
        if read - kept >= max(OFF_ROWS, REMOVED * max(kept, 1.0)):
            found.append((read, kept, scan, above))
    for read, kept, scan, above in sorted(found, key=lambda x: -x[0])[:1]:
        took = f" in {figure(scan['ms'] / 1e3, 's')}" if scan["ms"] else ""
        log = whole >= FELT_MS and read - kept >= WASTED * max(kept, 1.0)
        yield Sighting(
            "plan",
            above["name"],
            f"{scan['name']} read {read:,.0f} rows{took}; the filter above it kept {kept:,.0f}",
            "rows_removed_count",
            read - kept,
            "count",
            (_line(scan["row"], "rows read"), _line(above["row"], "rows kept")),
            **place(above["row"]),
            share=_part(above["ms"] or 0.0, whole),
            seen=({"log": f"filter kept little: {scan['name']}"},) if log else (),
        )


def _whole_reads(nodes: Sequence[dict[str, Any]], notes: Sequence[dict[str, Any]], whole: float) -> Iterator[Sighting]:
    """Yield the sequential scan that by its cost reads many pages for few rows, if no line counts the filtered rows.

    Older servers, plain EXPLAIN and plans that are cut after the filter lack that line.
    """
    filters = {id(n["of"]): n for n in notes if n["of"] and n["text"].startswith("Filter: ")}
    said = {id(n["of"]) for n in notes if n["of"] and n["text"].startswith("Rows Removed by Filter")}
    own, top = _own(nodes), max((n["cost"] or 0.0 for n in nodes), default=0.0)
    found = []
    for node in nodes:
        cost, measured = node["cost"], node["rows"] is not None
        rows = node["rows"] if measured else node["expected"]
        if id(node) not in filters or id(node) in said or not _SEQ_SCAN.match(node["name"]) or not cost or rows is None:
            continue
        kept, pages = rows * (node["loops"] if measured else 1.0), cost * PAGES_OF_COST
        share = _part(own[id(node)], whole) if measured and whole > 0 else _part(cost, top)
        if pages >= (LEAST_PAGES if measured else PLAIN_PAGES) and kept <= KEPT * pages and share >= 0.5:
            found.append((pages, kept, share, node))
    if not found:
        yield from _large_reads(nodes, {id(n["of"]) for n in notes if n["of"] and n["text"].startswith("Filter: ")})
    for pages, kept, share, node in sorted(found, key=lambda x: -x[0])[:1]:
        keeps = "kept" if node["rows"] is not None else "is expected to keep"
        yield Sighting(
            "plan",
            node["name"],
            f"{node['name']} reads a whole table, {pages:,.0f} pages or more by its cost of {node['cost']:,.0f};"
            f" the filter {keeps} {kept:,.0f} row{'' if kept == 1 else 's'}",
            "pages_count",
            pages,
            "count",
            (_line(node["row"], node["name"]), _line(filters[id(node)]["row"], "Filter")),
            **place(node["row"]),
            share=share,
            seen=({"log": "reads a large table to keep few rows"},) if node["rows"] is None or whole >= FELT_MS else (),
        )


def _large_reads(nodes: Sequence[dict[str, Any]], filtered: set[int]) -> Iterator[Sighting]:
    """Yield the largest table that a plan without measures would read, however much of it is wanted.

    With a filter an index could have been read instead; without one somebody wants all of it.
    """
    scans = [n for n in nodes if _SEQ_SCAN.match(n["name"]) and n["rows"] is None and n["expected"] is not None]
    for node in sorted(scans, key=lambda n: -(n["cost"] or 0.0))[:1]:
        if (node["cost"] or 0.0) * PAGES_OF_COST < PLAIN_PAGES:
            continue
        yield Sighting(
            "plan",
            node["name"],
            f"{node['name']} is expected to read a whole table of {node['expected']:,.0f} rows, by its cost of {node['cost']:,.0f}",
            "rows_count",
            node["expected"],
            "count",
            (_line(node["row"], node["name"]),),
            **place(node["row"]),
            share=HALF,
            seen=({"log": "the plan reads a table of millions of rows in full"},)
            if id(node) in filtered and node["expected"] >= MILLIONS
            else (),
        )


def _loops(nodes: Sequence[dict[str, Any]], whole: float) -> Iterator[Sighting]:
    """Yield the loop that ran a hundred times as often as was expected, if what it ran takes most of the plan's time."""
    parents = _parents(nodes)
    for loop in nodes:
        if not _LOOP.match(loop["name"]):
            continue
        below = [n for n in nodes if parents.get(id(n)) is loop]
        if len(below) != 2:
            continue
        outer, inner = below
        if None in (outer["rows"], outer["expected"], inner["ms"]) or whole < FELT_MS:
            continue
        times = outer["rows"] / max(outer["expected"], 1.0)
        if inner["loops"] < LOOPS or times < OFTEN or inner["ms"] < whole / 2:
            continue
        yield Sighting(
            "plan",
            inner["name"],
            f"{inner['name']} ran {inner['loops']:,.0f} times, once for each row of {outer['name']}, of which"
            f" {outer['expected']:,.0f} {'was' if outer['expected'] == 1 else 'were'} expected",
            "loops_count",
            inner["loops"],
            "count",
            (_line(inner["row"], inner["name"]), _line(outer["row"], "expected and actual rows")),
            **place(inner["row"]),
            share=_part(inner["ms"], whole),
            seen=({"log": "a loop ran far more often than was expected"},),
        )
        return


def _notes(
    notes: Sequence[dict[str, Any]], whole: float, memory: Mapping[int, Mapping[str, Any]]
) -> Iterator[Sighting]:
    """Yield sightings from the lines below the nodes: discarded rows, sorts on disk, pages read."""
    gone = [(float(m[1]) * n["of"]["loops"], n) for n in notes if n["of"] and (m := _GONE.fullmatch(n["text"]))]
    if gone:
        removed, note = max(gone, key=lambda x: x[0])
        kept = (note["of"]["rows"] or 0.0) * note["of"]["loops"]
        if removed >= REMOVED * max(kept, 1.0) and removed >= OFF_ROWS:
            text = f"{note['of']['name']} removed {removed:,.0f} rows by its filter and kept {kept:,.0f}"
            yield _told(
                note,
                text,
                "rows_removed_count",
                removed,
                "count",
                share=_part(note["of"]["ms"] or 0.0, whole),
                role="rows removed",
                log=whole >= FELT_MS and removed >= WASTED * max(kept, 1.0),
            )
    reads, temps, times = [], [], []
    for note in notes:
        text = note["text"]
        if found := _SORT.fullmatch(text):
            said = f"Sort Method {found[1]} wrote {figure(float(found[2]), 'kB')} to disk"
            made = _told(note, said, "sort_disk_kb", float(found[2]), "kB", share=0.3, role="Sort Method", log=True)
            yield _with_memory(made, memory.get(note["row"]["artifact_id"]))
        elif (found := _BATCHES.fullmatch(text)) and float(found[1]) > 1:
            said = f"A hash was split into {float(found[1]):,.0f} batches on disk"
            made = _told(
                note, said, "hash_batches_count", float(found[1]), "count", share=0.25, role="Batches", log=True
            )
            yield _with_memory(made, memory.get(note["row"]["artifact_id"]))
        elif text.startswith("Buffers: "):
            reads += [(float(m[1]), note) for m in (_READ.fullmatch(text),) if m]
            temps += [(float(m[1]), note) for m in (_TEMP.fullmatch(text),) if m]
        elif found := _IO.fullmatch(text):
            times.append((float(found[1]), note))
    for pages, note in sorted(reads, key=lambda x: -x[0])[:1]:
        if pages >= OFF_ROWS:
            text = f"{pages:,.0f} pages were read from outside the database's buffers"
            yield _told(note, text, "pages_read_count", pages, "count", share=0.2, role="Buffers")
    if not any(_SORT.fullmatch(n["text"]) for n in notes):  # a sort says itself what it wrote
        for pages, note in sorted(temps, key=lambda x: -x[0])[:1]:
            text = f"{pages:,.0f} pages were written to temporary files"
            yield _told(note, text, "pages_written_count", pages, "count", share=0.2, role="Buffers")
    for ms, note in sorted(times, key=lambda x: -x[0])[:1]:
        if whole > 0 and ms >= HOLDS * whole:
            text = f"Reading took {figure(ms / 1e3, 's')} of the {figure(whole / 1e3, 's')} of the plan"
            yield _told(note, text, "read_s", ms / 1e3, "s", share=_part(ms, whole), role="I/O Timings")


def _with_memory(made: Sighting, memory: Mapping[str, Any] | None) -> Sighting:
    if memory is None:
        return made
    line = Lines(memory["artifact_id"], memory["line_no"], memory["line_no"], memory["name"])
    return replace(made, lines=(*made.lines, line), beside=f"{memory['name']} is {memory['value']}")


def _told(
    of: dict[str, Any], text: str, name: str, value: float, unit: str, *, share: float, role: str, log: bool = False
) -> Sighting:
    node = of.get("of") or of
    lines = (
        _line(of["row"], role),
        *((_line(node["row"], node["name"]),) if node is not of and "name" in node else ()),
    )
    return Sighting(
        "plan",
        str(node.get("name", role)),
        text,
        name,
        value,
        unit,
        lines,
        **place(of["row"]),
        share=share,
        seen=({"log": of["text"]},) if log else (),
    )


def _part(ms: float, whole: float) -> float:
    return min(1.0, ms / whole) if whole > 0 else 0.0


def _line(row: dict[str, Any], role: str) -> Lines:
    return Lines(int(row["artifact_id"]), int(row["line_no"]), int(row["line_no"]), role)
