r"""NUMA nodes and locality groups: numactl and numastat of Linux, lgrpinfo of Solaris.

Tools: numactl(8) --hardware and --show (Linux), numastat(8) plain, -m, -n, -p PID; /sys/devices/system/node/nodeN/meminfo and numastat;
lgrpinfo(1) of Solaris. Capture: `numactl --hardware; numastat -m`, `lgrpinfo -a`.

Samples::

    available: 2 nodes (0-1)
    node 0 cpus: 0 1 2 3 4 5 6 7
    node 0 size: 31877 MB
    lgroup 1 (leaf):
            Memory: installed 16G, allocated 4.4G, free 12G

Tables: numa, one row for each node and metric: mem_kb, alloc_kb, free_kb, cpus (their number), load, latency, distance (node2);
numa_hit, local_node, other_node ... under these names; figures of numastat -m under their names with _kb. The root lgroup is
not a node: its node is NULL, unless it has no children. counters, grp numa_process: numastat -p, item = process, name =
memory and node, in MB (numastat -p with a pattern prints a row for each process). Clock: none.
Traps: sizes are rounded (`9.6G`) and in MB of 1024 kB; a node may have no CPU; numastat may print one table in blocks of nodes;
lgrpinfo prints `CPU: 0` in the singular. A repeated node and metric begins a new sample.
Known gaps: which CPUs belong to a node; the policy that numactl --show prints.
"""

from __future__ import annotations

import re

from parsers.columns.small_texts import Rows, kilobytes, number, share, whole
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_SYSTEM_ROWS = r"numa_hit|numa_miss|numa_foreign|interleave_hit|local_node|other_node"
_NODE_FILE = r"[^ \t:]*/?node[0-9]+/numastat:"
_NODE_ROWS = (
    r"Mem(?:Total|Free|Used)|SwapCached|(?:Ina|A)ctive(?:\((?:anon|file)\))?|Unevictable|Mlocked|Dirty|Writeback(?:Tmp)?|FilePages|Mapped|AnonPages|Shmem[A-Za-z]*"
    r"|(?:Kernel|ShadowCall)Stack|(?:Sec)?PageTables|NFS_Unstable|Bounce|Slab|K?S?(?:R|Unr)eclaimable|Anon[A-Z][A-Za-z]+|File[A-Z][A-Za-z]+|HugePages_[A-Z][a-z]+"
    r"|Numa_(?:Hit|Miss|Foreign)|Interleave_Hit|Local_Node|Other_Node"
)
LINUX = (
    r"^(?: ?(?:available: [0-9]+ nodes? \(|node [0-9]+ (?:cpus|size|free):|node distances:|node +0(?: +[0-9]+)*$)| +[0-9]+:(?: +[0-9]+)+$"
    r"|(?:policy|preferred node|physcpubind|cpubind|nodebind|membind|preferred): *(?:[a-z]+|[0-9 ]*)$"
    rf"| ?(?:Per-node (?:process|system|numastat) .*| *(?:{_SYSTEM_ROWS})(?: +[0-9.]+)+|{_NODE_FILE}(?:{_SYSTEM_ROWS}) [0-9]+)$"
    r"| +(?:node[0-9]+ *)+$| +(?:Node [0-9]+ *)+(?:Total)?$"
    rf"|Node [0-9]+ [A-Za-z_()]+: +[0-9]+(?: kB)?$|(?:{_NODE_ROWS})(?: +[0-9]+(?:\.[0-9]+)?){{2,}}$|PID +Node 0\b"
    r"|[0-9]+ \([^()]+\)(?: +[0-9]+\.[0-9]{2}){2,}$| ?[0-9]+ \([^() ]{1,10}\)?(?: +[0-9]+){3,}$|Token [A-Za-z_()]+ not in hash table\.$)"
)
SOLARIS = (
    r"^[ \t]*(?:lgroup [0-9]+ \((?:root|leaf|intermediate)\):|Children: |CPUs?: [0-9]|Memory: installed [0-9]|Lgroup (?:resources|latencies)"
    r"|Load: [0-9.]+$|Latency: [0-9]+)"
)
FORMATS = tuple(
    Format(
        kind="numa",
        variant=variant,
        version="2",
        systems=(variant,),
        tables=("numa", "counters") if variant == "linux" else ("numa",),
        man=man,
        example=example,
        own=own,
    )
    for variant, man, example, own in (
        ("linux", "numactl(8)", "numactl --hardware; numastat -m", LINUX),
        ("solaris", "lgrpinfo(1)", "lgrpinfo -a", SOLARIS),
    )
)

_LINUX, _SOLARIS = re.compile(LINUX), re.compile(SOLARIS)
NODE = re.compile(r"node ([0-9]+) (cpus|size|free):(.*)")
SHOW = re.compile(r"(?:policy|preferred node|physcpubind|cpubind|nodebind|membind|preferred):.*")
AXIS = re.compile(r"node((?: +[0-9]+)+)")
DISTANCE = re.compile(r"(?:node +)?([0-9]+):?((?: +[0-9]+)+)")
COLUMNS = re.compile(r"(?:(?:PID +)?(?:node|Node ?)[0-9]+ *)+(?:Total)?|PID +.*Node.*")
PROCESS = re.compile(r"Per-node process memory usage \(in MBs\)(?: for PID ([0-9]+) \((.*)\))?.*")
CELLS = re.compile(r"(\S.*?)((?: +[0-9]+(?:\.[0-9]+)?)+)(?: kB)?")
ONE_NODE = re.compile(rf"(?:[^ \t:]*/?node([0-9]+)/numastat:)?({_SYSTEM_ROWS}) ([0-9]+)")
"""A line of /sys/devices/system/node/nodeN/numastat: only the path names the node."""
SYS_NODE = re.compile(r"Node ([0-9]+) ([A-Za-z_()]+): +([0-9]+)( kB)?")
LGROUP = re.compile(r"lgroup ([0-9]+) \((\w+)\):")
PART = re.compile(r"(installed|allocated|free) ([0-9.]+[KMGTPE]?)")
MATRIX = re.compile(r"([0-9]+) \|((?: +[0-9]+)+)")
RULE = re.compile(r"[-| ]*-{3}[-| ]*")
_METRIC = {
    "size": "mem_kb",
    "free": "free_kb",
    "installed": "mem_kb",
    "allocated": "alloc_kb",
    "MemTotal": "mem_kb",
    "MemFree": "free_kb",
}


def claim(head: Head) -> Claim | None:
    """Claim by lines that only these tools print."""
    text = head.text
    if "node" not in text and "Node" not in text and "lgroup" not in text:
        return None
    for variant, pattern in (("linux", _LINUX), ("solaris", _SOLARIS)):
        if not any(pattern.match(x) for x in head.lines[:60]):
            continue
        count, fraction = share(head, pattern)
        if count and fraction >= 0.2:
            sure = count >= 2 or "available:" in text or "lgroup" in text
            tables = "Per-node" in text or re.search(rf"(?m)^ *(?:{_SYSTEM_ROWS}) +[0-9]", text)
            strength = 0.95 if tables and fraction < 0.9 else 0.6 + 0.35 * fraction
            return Claim(strength if sure else 0.5 * fraction, f"{count} lines about nodes", variant)
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the columns, the node, the process and the metrics that the sample has already."""
    if "of_node" not in state:
        path = re.search(r"/node([0-9]{1,6})/numastat", source.hints.command or "")
        state["of_node"] = int(path[1]) if path else None
    reader = _Reader(out, state)
    for block in source.blocks():
        for line_no, line in zip(block.frame["line_no"].to_list(), block.frame["line"].to_list(), strict=True):
            if text := line.strip():
                (reader.linux if state["variant"] == "linux" else reader.solaris)(line_no, text)
        reader.rows.give(out)
    return state


class _Reader:
    """Reader of nodes line by line; writes a row for each node and metric."""

    def __init__(self, out: Tables, state: State) -> None:
        self.out, self.state = out, state
        self.rows = Rows()

    def row(self, line_no: int, metric: str, value: float | None, node: int | None, node2: int | None = None) -> None:
        if value is None:
            return
        seen: list[str] = self.state.setdefault("seen", [])
        name = f"{metric} {node} {node2}"
        if name in seen or len(seen) > 4000:
            seen.clear()
            self.state["sample"] = self.state.get("sample", 1) + 1
        seen.append(name)
        self.rows.add(
            "numa", line_no, sample=self.state.get("sample", 1), node=node, node2=node2, metric=metric, value=value
        )

    def linux(self, line_no: int, text: str) -> None:
        state = self.state
        if match := NODE.fullmatch(text):
            words = match[3].split()
            if match[2] == "cpus":
                self.row(line_no, "cpus", len(words), whole(match[1]))
            else:
                self.row(line_no, _METRIC[match[2]], kilobytes(match[3]), whole(match[1]))
        elif re.match(r"available: [0-9]+ nodes?|node distances:", text) or SHOW.fullmatch(text):
            self.out.read([line_no])
        elif match := AXIS.fullmatch(text):
            state["axis"] = [int(x[:9]) for x in match[1].split()]
            self.out.read([line_no])
        elif state.get("axis") and (match := DISTANCE.fullmatch(text)) and len(match[2].split()) == len(state["axis"]):
            for node2, value in zip(state["axis"], match[2].split(), strict=True):
                self.row(line_no, "distance", number(value), whole(match[1]), node2)
        elif match := PROCESS.fullmatch(text):
            state |= {"process": f"{match[1]} ({match[2]})" if match[1] else "", "unit": "MB", "columns": None}
            self.out.read([line_no])
        elif text.startswith("Per-node "):
            # "Per-node system memory usage (in MBs):", "Per-node numastat info (in MBs):"
            state |= {"process": None, "unit": "MB" if "MBs" in text else "", "columns": None}
            self.out.read([line_no])
        elif COLUMNS.fullmatch(text):
            if text.startswith(
                "node"
            ):  # numastat without options, which prints pages, below the megabytes of another one
                state |= {"process": None, "unit": ""}
            state["columns"] = re.findall(r"[0-9]+|Total", text)
            self.out.read([line_no])
        elif RULE.fullmatch(text) or re.fullmatch(r"Token \S+ not in hash table\.", text):
            self.out.read([line_no])
        elif match := SYS_NODE.fullmatch(text):
            metric = _METRIC.get(match[2]) or (f"{match[2]}_kb" if match[4] else match[2])
            self.row(line_no, metric, number(match[3]), whole(match[1]))
        elif not state.get("columns") and (match := ONE_NODE.fullmatch(text)):
            self.row(line_no, match[2], number(match[3]), whole(match[1]) if match[1] else state.get("of_node"))
        elif re.fullmatch(r"numastat version: .*", text):
            self.out.read([line_no])
        elif state.get("columns") and (match := CELLS.fullmatch(text)):
            self.table_row(line_no, match[1], match[2].split())

    def table_row(self, line_no: int, name: str, cells: list[str]) -> None:
        """Read a row of numastat: one cell for each node; totals are left out. With -c names of processes are cut: `14253 (qemu-syst`."""
        state = self.state
        columns = state["columns"]
        if len(cells) != len(columns) or (
            name.endswith(":") or " " in name if state.get("process") is None else ":" in name
        ):
            return
        if re.fullmatch(r"[0-9]+ \([^()]+", name):
            name += ")"
        pairs = [(c, x) for c, x in zip(columns, cells, strict=True) if c != "Total"]
        if state.get("process") is not None:
            if name == "Total":
                self.out.read([line_no])
                return
            item, prefix = (state["process"], f"{name} ") if state["process"] else (name, "")
            for column, text in pairs:
                labels = {
                    "grp": "numa_process",
                    "item": item,
                    "name": f"{prefix}node{column}",
                    "unit": "MB",
                    "mode": "level",
                }
                self.rows.add("counters", line_no, sample=1, value=number(text), **labels)
            return
        for column, text in pairs:
            value, metric = number(text), name
            # numastat -n prints Numa_Hit for numa_hit.
            if re.fullmatch(_SYSTEM_ROWS, name.lower()):
                name = metric = name.lower()
            if not re.fullmatch(_SYSTEM_ROWS, name):
                metric = _METRIC.get(name, f"{name}_kb")
                value = value * 1024 if value is not None else None
            elif state.get("unit") == "MB":
                # numastat -n prints megabytes instead of pages.
                metric, value = f"{name}_kb", value * 1024 if value is not None else None
            self.row(line_no, metric, value, whole(column))

    def solaris(self, line_no: int, text: str) -> None:
        state = self.state
        if match := LGROUP.fullmatch(text):
            state["node"] = whole(match[1])
            state["root"] = match[2] == "root"
            self.out.read([line_no])
            return
        node = None if state.get("root") else state.get("node")
        if text.startswith("Children:"):
            # A root without children is a node itself: the machine has only this one.
            state["root"] = state.get("root", False) and not text.startswith("Children: none")
            self.out.read([line_no])
        elif match := re.fullmatch(r"CPUs?:(.*)", text):
            self.row(line_no, "cpus", _count(match[1]), node)
        elif text.startswith("Memory:"):
            for kind, size in PART.findall(text):
                self.row(line_no, _METRIC[kind if kind != "free" else "free"], kilobytes(size), node)
        elif match := re.fullmatch(r"(Load|Latency): ([0-9.]+)", text):
            self.row(line_no, match[1].lower(), number(match[2]), node)
        elif match := re.fullmatch(r"\|((?: +[0-9]+)+)", text):
            state["axis"] = [int(x[:9]) for x in match[1].split()]
            self.out.read([line_no])
        elif (match := MATRIX.fullmatch(text)) and len(match[2].split()) == len(state.get("axis", [])):
            for node2, value in zip(state["axis"], match[2].split(), strict=True):
                self.row(line_no, "distance", number(value), whole(match[1]), node2)
        elif re.match(r"Lgroup (?:resources|latencies):", text) or RULE.fullmatch(text):
            self.out.read([line_no])


def _count(text: str) -> float | None:
    """Return the number of CPUs in a list such as `0-3 8 10-11`; None if the text is not a list."""
    total = 0
    for word in text.replace(",", " ").split():
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", word)
        if match is None:
            return None
        total += int(match[2] or match[1]) - int(match[1]) + 1
    return float(total)
