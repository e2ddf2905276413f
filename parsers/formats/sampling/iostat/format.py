r"""iostat of Solaris, Linux, AIX, HP-UX and FreeBSD, also inside files of OSWatcher and ExaWatcher.

Tools: Solaris and illumos iostat(1M), plain, -d, -D, -x, -n, -z, -e, -M, -r, -c, -p, -T u, -T d; Linux sysstat 5 to 12
iostat(1), plain, -c, -d, -x, -k, -m, -t, -p, -N, -h, -s, -o JSON; AIX iostat, plain, -t, -d, -D, -a; FreeBSD iostat, plain,
-x, -I; HP-UX iostat. Capture: `iostat -xnz -T d 5`, `iostat -xkt 5`.

Samples::

        r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device
      269.2  113.9  505.4  686.8  3.1  0.3    8.1    0.8   1   3 zones
    Device:         rrqm/s   wrqm/s   r/s   w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
    sda               1.99    22.55  2.77 26.40  3378.88  1136.74   154.81     0.09   26.97   1.81   5.28
    avg-cpu:  %user   %nice %system %iowait  %steal   %idle
               0.74    0.00    0.43    0.35    0.00   98.48
    hdisk6          xfer:  %tm_act      bps      tps      bread      bwrtn

Tables: iostat (one row for each device and report; AIX -D prints four lines for a device and gives four rows, -Dl one), vmstat
(avg-cpu, cpu), counters (every column that has none in iostat or vmstat, grp `device`, `tty`), hosts (banner).
Clock: interval; wall-local with -t, -T d, OSWatcher; wall-utc with -T u. A stamp stands before its report.
Traps: the unit is in the heading (rsec/s are 512 bytes, rMB/s 1024 kB); the first report is since boot (AIX: true only
for some releases, so `first` is NULL there). Solaris -xn prints the device name last, -z drops idle devices. svc_t is queue and
service together. Totals (`r/i`, kB_read) are counters of mode total. Sums that AIX prints beside the disks
(-s, adapters) are counters. Known gaps: AIX -l of virtual adapters (-s, -a), -ad without CPU; nfsiostat.
"""

from __future__ import annotations

import re

from parsers.clocks.sample_stamps import STAMP
from parsers.columns import grid
from parsers.declarations import Claim, Format
from parsers.formats.sampling.iostat.lines import AIX_BLOCK, ANY, CONFIG, GROUP, TITLE
from parsers.formats.sampling.iostat.repair import begins
from parsers.formats.sampling.iostat.reports import read_text
from parsers.formats.sampling.shared import section_rows, sysstat_json
from parsers.formats.sampling.shared.section_rows import Found
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

FORMATS = tuple(
    Format(
        kind="iostat",
        variant=variant,
        version="2",
        systems=systems,
        tables=("iostat", "vmstat", "counters", "hosts"),
        man=man,
        example=example,
        clocks=("interval", "wall-local", "wall-utc"),
        own="|".join([*ANY, AIX_BLOCK, CONFIG, TITLE, GROUP, STAMP])
        + r"|^[A-Za-z][^ \t:;,]{0,40}(?:[ \t]+-?[0-9]+[.,][0-9]+){4,}$|^[ \t]*(?:-?[0-9]+[.,][0-9]+[ \t]+){4,}[^ \t]*$",
    )
    for variant, systems, man, example in (
        ("solaris", ("solaris", "illumos"), "iostat(1M)", "iostat -xnz -T d 5"),
        ("linux", ("linux",), "iostat(1)", "iostat -xkt 5"),
        ("aix", ("aix",), "iostat", "iostat -DT 5"),
        ("bsd", ("freebsd",), "iostat(8)", "iostat -x 5"),
        ("hpux", ("hpux",), "iostat(1)", "iostat 5"),
    )
)
_QUICK = ("avg-cpu", "Device", "device", "Disks:", "xfer:", "serv", "util", "tin ", "KB/t", " wt ", "disk_device")


def claim(head: Head) -> Claim | None:
    """Claim by the names of a header."""
    text = head.text
    if not any(word in text for word in _QUICK):
        return None
    if '"sysstat"' in text[:400] and ('"disk_device"' in text or '"avg-cpu"' in text):
        return Claim(0.95, "JSON of iostat -o JSON", "linux")
    found: dict[str, int] = {}
    for number, line in enumerate(head.lines[:400], start=1):
        if any(word in line for word in _QUICK) and any(re.match(p, line) for p in (*ANY, AIX_BLOCK)):
            found.setdefault(line, number)
            if len(found) > 4:
                break
    if not found:
        return _flattened(head)
    names = " ".join(found)
    first = min(found.values())
    strong = 0.95 if re.search(r"avg-cpu|Device|%b|device|serv|Disks|xfer", names) else 0.75
    return Claim(strong, f"header of iostat in line {first}", _system(names, text))


def _flattened(head: Head) -> Claim | None:
    """Claim by a header that is followed by values on the same line, or that continues on the next line."""
    for number, line in enumerate(head.lines[:50], start=1):
        words = line.split()
        if words and begins(words) >= 5:
            names = " ".join(words[: begins(words)])
            return Claim(0.8, f"header of iostat in line {number}, line ends lost", _system(names, head.text))
    return None


def _system(names: str, text: str) -> str:
    if re.search(r"Disks:|tty:|xfer:|lcpu=", names + text[:2000]):
        return "aix"
    if re.search(r"%user|\bDevice\b|rkB/s", names):
        return "linux"
    if re.search(r"msps|bps[ \t]+sps", names):
        return "hpux"
    if re.search(r"qlen|KB/t|/i\b|us[ \t]+ni[ \t]+sy", names):
        return "bsd"
    return "solaris"


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state`: header, group line, number of the report, last stamp, banner's day, decimal sign."""
    for frame in grid.frames(source):
        if "json" not in state:
            state["json"] = sysstat_json.looks(frame)
        found: Found = {}
        if state["json"]:
            sysstat_json.read(frame, "iostat", source, found, out, state)
        else:
            read_text(frame, source, found, out, state)
        section_rows.add(found, out)
    return state
