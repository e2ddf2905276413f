r"""Counters of network interfaces: ip -s link, ethtool -S, netstat -i, /proc/net/dev, dladm, kstat.

Tools: ip(8) -s link and addr, ethtool(8) -S (Linux); netstat -i (also with an interval) of Linux, Solaris, AIX, BSD; /proc/net/dev; dladm(1M) show-link -s;
kstat(1M), also -p, of links. Capture: `ip -s -s link`, `ethtool -S eth0`, `dladm show-link -s`.

Samples::

        RX: bytes  packets  errors  dropped overrun mcast
        865450302  3405107  0       12      0       0
         rx_missed_errors: 17
      eth0: 865450302 3405107    0   12    0     0          0         0 812810111 2886201    0    0    0     0       0          0
    Name  Mtu  Net/Dest      Address        Ipkts  Ierrs Opkts  Oerrs Collis Queue
    link:0:net0:ierrors     3

Tables: counters (grp iface, item = interface, name as printed, after `RX` or `TX` where the tool prints columns).
Clock: none; wall-local under marks; interval (netstat -i 5: growth per second where the interval is known, else the growth).
Traps: all counters are since boot, or since somebody reset them (dladm): only differences are meaningful. netstat -i of Solaris, AIX
and BSD prints a row for each address of an interface with the same counters: they are read once for each interface of a
capture. ethtool does not print the interface's name: it comes from the command above. Cells of `netstat -i` may be blank (no
address): columns are counted from the right. ip -h rounds, by thousands unless -iec is used.
Known gaps: ip -o, dladm show-phys, lanadmin.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.clocks.snapshots import marked
from parsers.columns import counter_rows, grid
from parsers.declarations import Claim, Format
from parsers.formats.network.netdev import intervals as netdev_intervals
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

LINK = r"^[0-9]+: ([^ :@]+)(?:@[^ :]+)?: <[A-Z0-9_,-]*> mtu ([0-9]+)"
SIDES = r"^[ \t]*(RX|TX)(?: errors)?:[ \t]+((?:[a-z]+[ \t]+)*[a-z]+)[ \t]*$"
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[kMGTPE]i?|Ki)?"
NUMBERS = rf"^[ \t]+{_NUMBER}(?:[ \t]+{_NUMBER})*$"
_SUFFIX = {x + i: (1024.0 if i else 1000.0) ** (n + 1) for n, x in enumerate("kMGTPE") for i in ("", "i")} | {
    "Ki": 1024.0
}
"""Factor of each suffix that ip -h and ip -h -iec print after rounded figures."""
ETHTOOL = r"^NIC statistics:$"
NAMED = r"^[ \t]+((?:\[[0-9]+\]: ?)?[A-Za-z][A-Za-z0-9_.\[\]/-]*(?: [A-Za-z0-9_.-]+){0,4}): *([0-9]+)$"
DEV = r"^[ \t]*([A-Za-z0-9_.:@-]+):[ \t]*((?:[0-9]+[ \t]+){15}[0-9]+)$"
DEV_HEAD = r"^(?:Inter-\||[ \t]*face \|)"
_RX = "bytes packets errs drop fifo frame compressed multicast"
_TX = "bytes packets errs drop fifo colls carrier compressed"
DEV_NAMES = (*(f"RX {n}" for n in _RX.split()), *(f"TX {n}" for n in _TX.split()))
TABLE = (
    r"^[ \t]*(?:Iface|Name|LINK|Interface)[ \t]+(?:[A-Za-z/-]+[ \t]+)*(?:RX-OK|Ipkts|IPACKETS)(?:[ \t]+[A-Za-z-]+)*$"
)
ROW = r"^[ \t]*([A-Za-z][A-Za-z0-9_.:@*-]*)[ \t]+(?:[^ \t]+[ \t]+){0,4}?((?:(?:[0-9]+|-)[ \t]*){5,12}(?:[A-Z][A-Za-z]*)?)$"
KSTAT_HEAD = r"^module: ([^ \t]+)[ \t]+instance: ([0-9]+)"
KSTAT_NAME = r"^name:[ \t]+([^ \t]+)[ \t]+class:[ \t]+([^ \t]+)"
KSTAT_ROW = r"^\t([a-zA-Z][A-Za-z0-9_ -]*?)[ \t]{2,}([0-9]+(?:\.[0-9]+)?)$"
KSTAT_P = r"^([a-z0-9_]+):([0-9]+):([A-Za-z0-9_./-]+):([A-Za-z0-9_ -]*[A-Za-z0-9_-])[ \t]+([0-9]+(?:\.[0-9]+)?)$"
WORDS = (
    r"^(?:[ \t]+(?:link|inet6?|alias|altname|valid_lft|brd|vlan|bond|bridge|parentbus)|Kernel Interface table|[ \t]*-{5}|"
    r"[ \t]*(?:crtime|snaptime|class)[ \t])"
)

_SYSTEMS = {
    "iplink": (("linux",), "ip-link(8)", "ip -s -s link", (LINK, SIDES)),
    "ethtool": (("linux",), "ethtool(8)", "ethtool -S eth0", (ETHTOOL, r"^[ \t]+[rt]x_[a-z0-9_]+: [0-9]+$")),
    "table": (("solaris", "linux", "aix", "freebsd", "hpux"), "netstat(1), dladm(1M), proc(5)", "netstat -i", (TABLE, DEV, DEV_HEAD)),
    "interval": (("solaris", "aix", "hpux", "freebsd"), "netstat(1)", "netstat -i 5 12", netdev_intervals.OWN),
    "kstat": (("solaris", "illumos"), "kstat(1M)", "kstat -p -c net", (KSTAT_HEAD, KSTAT_NAME, KSTAT_P)),
}  # fmt: skip
FORMATS = tuple(
    Format(
        "netdev",
        variant,
        "3" if variant == "table" else "2",
        systems,
        ("counters",),
        man,
        example,
        clocks=("none", "wall-local", "interval"),
        own="(?:" + "|".join(own) + ")",
    )
    for variant, (systems, man, example, own) in _SYSTEMS.items()
)


def claim(head: Head) -> Claim | None:
    """Claim by the first lines of each tool, else by the share of lines that are counters of one of them."""
    lines, text = head.lines, head.text
    named = any(x in text for x in ("NIC statistics:", "RX:", "RX-OK", "Ipkts", "IPACKETS", "Inter-|", "module: "))
    for number, line in enumerate(lines[:300] if named else (), start=1):
        if re.match(ETHTOOL, line):
            return Claim(0.95, f"`NIC statistics:` in line {number}", "ethtool")
        if re.match(LINK, line) and re.search(r"(?m)^[ \t]+RX:", text):
            return Claim(0.95, f"interface with counters in line {number}", "iplink")
        if re.match(TABLE, line):
            return Claim(0.95, f"header of interface counters in line {number}", "table")
        if line.startswith("Inter-|"):
            return Claim(0.97, "header of /proc/net/dev", "table")
        if re.match(KSTAT_HEAD, line) and any(
            re.match(r"^name:.*class:[ \t]+net\b", x) for x in lines[number : number + 3]
        ):
            return Claim(0.95, f"kstat of a link in line {number}", "kstat")
    # A paste may lack the line that names the interface.
    bare = [
        n
        for n, x in enumerate(lines[:40])
        if re.match(SIDES, x) and "bytes" in x and re.match(NUMBERS, (lines[n + 1 : n + 2] or [""])[0])
    ]
    if bare:
        return Claim(0.85, f"RX or TX with counters in line {bare[0] + 1}", "iplink")
    if "packets" in text and "input" in text and (at := netdev_intervals.looks(lines[:300])):
        return Claim(0.95, f"heading of netstat -i with an interval in line {at}", "interval")
    filled = [x for x in lines[:200] if x]
    if not any(re.match(p, x[:300]) for x in filled[:4] for p in (DEV, KSTAT_P, NAMED)):
        return None
    rows = sum(1 for x in filled if re.match(DEV, x))
    if rows and rows * 2 > len(filled):
        return Claim(0.9, f"{rows} rows of /proc/net/dev", "table")
    rows = sum(
        1
        for x in filled
        if (m := re.match(KSTAT_P, x)) and re.search(r"packets|bytes|errors|link_|collisions|multi", m[4])
    )
    if rows and rows * 4 > len(filled):
        return Claim(0.9, f"{rows} counters of kstat -p", "kstat")
    rows = sum(1 for x in filled if re.match(r"^[ \t]+(?:\[[0-9]+\]: ?)?[rt]x_[a-z0-9_.]+: [0-9]+$", x))
    if rows > 2 and rows * 2 > len(filled):
        return Claim(0.8, f"{rows} counters of ethtool -S", "ethtool")
    if rows and rows == len(filled):
        return Claim(0.7, f"nothing but {rows} counters of ethtool -S, as grep leaves them", "ethtool")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the interface, the header and the last values."""
    readers = {"iplink": _iplink, "table": _table, "kstat": _kstat}
    for frame in grid.frames(source):
        frame = marked(frame, out, state).filter(~pl.col("is_mark"))
        out.read(frame.filter(pl.col("line").str.contains(WORDS))["line_no"])
        variant = state["variant"]
        if variant == "interval":
            netdev_intervals.read(frame, source, out, state)
            continue
        rows = _ethtool(frame, source, out, state) if variant == "ethtool" else readers[variant](frame, out, state)
        rows = rows.with_columns(grp=pl.lit("iface"), mode=pl.lit("total")).filter(pl.col("value").is_not_null())
        counter_rows.add(rows.select("line_no", "t_local", "grp", "item", "name", "value", "mode"), out, state)
    return state


def _under(frame: pl.DataFrame, name: str, heading: pl.Expr, state: State) -> pl.DataFrame:
    """Carry a heading's word down to the lines below it, across the borders of runs."""
    frame = frame.with_columns(heading.forward_fill().fill_null(pl.lit(state.get(name), pl.String)).alias(name))
    if len(frame):
        state[name] = frame[name][-1]
    return frame


def _spread(rows: pl.DataFrame, names: str, values: str) -> pl.DataFrame:
    """Return one row for each pair of name and value; drop rows whose two lists differ in length."""
    paired = rows.filter(pl.col(names).list.len() == pl.col(values).list.len())
    return paired.explode(names, values).select(
        "line_no", "t_local", "item", name=names, value=pl.col(values).cast(pl.Float64, strict=False)
    )


def _iplink(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    frame = _under(frame, "item", line.str.extract(LINK, 1), state)
    frame = frame.with_columns(errors=line.str.contains(r"^[ \t]*[RT]X errors:"))
    side = pl.when(line.str.contains(SIDES)).then(line.str.strip_chars())
    frame = _under(frame, "side", side, state)
    out.read(frame.filter(line.str.contains(LINK) | side.is_not_null())["line_no"])
    rows = frame.filter(line.str.contains(NUMBERS) & pl.col("side").is_not_null())
    lead = pl.col("side").str.extract(r"^(RX|TX)") + " "
    names = pl.col("side").str.extract(r":[ \t]+(.*)$").str.extract_all(r"[a-z]+")
    rows = rows.with_columns(lead=lead, names=names, values=line.str.extract_all(_NUMBER))
    spread = rows.filter(pl.col("names").list.len() == pl.col("values").list.len()).explode("names", "values")
    return spread.select(
        "line_no", "t_local", "item", name=pl.col("lead") + pl.col("names"), value=_figure(pl.col("values"))
    )


def _figure(text: pl.Expr) -> pl.Expr:
    factor = text.str.extract("([A-Za-z]+)$").replace_strict(_SUFFIX, default=None, return_dtype=pl.Float64)
    return text.str.extract("^([0-9.]+)").cast(pl.Float64, strict=False) * factor.fill_null(1.0)


def _ethtool(frame: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    out.read(frame.filter(line.str.contains(ETHTOOL))["line_no"])
    interface = re.search(r"ethtool +(?:-S|--statistics) +([^ ]+)", source.hints.command or "")
    rows = frame.filter(line.str.contains(NAMED))
    return rows.select(
        "line_no",
        "t_local",
        item=pl.lit(interface[1] if interface else None, pl.String),
        name=line.str.extract(NAMED, 1),
        value=line.str.extract(NAMED, 2).cast(pl.Float64),
    )


def _table(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Read tables with a header, whose columns are counted from the right, and /proc/net/dev."""
    line = pl.col("line")
    out.read(frame.filter(line.str.contains(DEV_HEAD) | line.str.contains(TABLE))["line_no"])
    frame = _under(
        frame,
        "heading",
        pl.when(line.str.contains(TABLE)).then(line.str.strip_chars().str.replace_all(r"[ \t]+", " ")),
        state,
    )
    dev = frame.filter(line.str.contains(DEV)).with_columns(
        item=line.str.extract(DEV, 1),
        names=pl.lit(list(DEV_NAMES)),
        values=line.str.extract(DEV, 2).str.extract_all("[0-9]+"),
    )
    rest = frame.filter(
        ~line.str.contains(DEV) & ~line.str.contains(TABLE) & line.str.contains(ROW) & pl.col("heading").is_not_null()
    )
    parts = [_spread(dev, "names", "values")]
    for heading in rest["heading"].unique(maintain_order=True):
        words = str(heading).split()
        start = next(i for i, w in enumerate(words) if w in ("RX-OK", "Ipkts", "IPACKETS"))
        names = [w for w in words[start:] if w != "Flg"]
        numbers = r"((?:[ \t]+(?:[0-9]+|-)){" + str(len(names)) + r"})(?:[ \t]+[A-Z][A-Za-z]*)?[ \t]*$"
        rows = rest.filter(pl.col("heading") == heading).with_columns(
            item=line.str.extract(ROW, 1).str.strip_suffix("*"),
            names=pl.lit(names),
            values=line.str.extract(numbers).str.extract_all(r"[0-9]+|-").list.eval(pl.element().replace("-", None)),
        )
        rows = rows.filter(pl.col("values").is_not_null())
        # Rows for further addresses of an interface repeat its counters: they count as read but give no rows.
        out.read(rows["line_no"])
        key = pl.concat_str("item", line.str.extract(numbers).str.replace_all(r"[ \t]+", " "))
        rows = rows.with_columns(key=key)
        before: dict[str, str] = state.setdefault("rows", {})
        above = pl.col("key").shift().fill_null(pl.lit(before.get(str(heading), "")))
        # BSD and macOS print `-` for the errors of an address: its other counters are not those of the interface.
        address = (pl.col("item") == above.str.extract("^([^ ]+)")) & pl.col("key").str.contains(" -( |$)")
        same = (pl.col("key") == above) | address.fill_null(value=False)
        parts.append(_spread(rows.filter(~same), "names", "values"))
        if len(rows):
            before[str(heading)] = rows["key"][-1]
    return pl.concat(parts)


def _kstat(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    instance = line.str.extract(KSTAT_HEAD, 1) + line.str.extract(KSTAT_HEAD, 2)
    frame = _under(frame, "module", instance, state)
    frame = _under(
        frame,
        "kname",
        pl.when(instance.is_not_null()).then(pl.lit("")).otherwise(line.str.extract(KSTAT_NAME, 1)),
        state,
    )
    out.read(frame.filter(line.str.contains(KSTAT_HEAD) | line.str.contains(KSTAT_NAME))["line_no"])
    long = frame.filter(line.str.contains(KSTAT_ROW) & ~line.str.contains(r"^\t(?:crtime|snaptime|class)"))
    item = (
        pl.when(pl.col("kname").is_in(["mac", "phys", "statistics", ""]))
        .then(pl.col("module"))
        .otherwise(pl.col("kname"))
    )
    short = frame.filter(line.str.contains(KSTAT_P))
    out.read(short["line_no"])
    named = line.str.extract(KSTAT_P, 3)
    item_p = (
        pl.when(named.is_in(["mac", "phys", "statistics"]))
        .then(line.str.extract(KSTAT_P, 1) + line.str.extract(KSTAT_P, 2))
        .otherwise(named)
    )
    short = short.filter(~line.str.extract(KSTAT_P, 4).is_in(["crtime", "snaptime"]))
    return pl.concat(
        [
            long.select(
                "line_no",
                "t_local",
                item=item,
                name=line.str.extract(KSTAT_ROW, 1),
                value=line.str.extract(KSTAT_ROW, 2).cast(pl.Float64),
            ),
            short.select(
                "line_no",
                "t_local",
                item=item_p,
                name=line.str.extract(KSTAT_P, 4),
                value=line.str.extract(KSTAT_P, 5).cast(pl.Float64),
            ),
        ]
    )
