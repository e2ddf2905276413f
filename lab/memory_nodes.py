"""Incidents on two memory nodes: remote memory, one node full and the other empty, huge pages that must be assembled
first.
"""

from __future__ import annotations

from lab.guest import guest
from lab.incident import Healthy, Incident
from lab.scene import Missing, Scene

WALK = """
    import mmap, sys, time
    size, until = int(sys.argv[1]) << 20, time.monotonic() + float(sys.argv[2])
    held = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if len(sys.argv) > 3:
        held.madvise(int(sys.argv[3]))
    while time.monotonic() < until:
        began = time.monotonic()
        for place in range(0, size, 4096):
            held[place] = 1
        print(time.monotonic() - began, flush=True)
"""
"""Program that writes to each page of its memory in turn and prints the seconds of each pass; the first pass allocates
the pages."""

SIEVE = """
    import mmap, sys, time
    size = int(sys.argv[1]) << 20
    held = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    held.madvise(15)
    for place in range(0, size, 4096):
        held[place] = 1
    for place in range(0, size, 8192):
        held.madvise(mmap.MADV_DONTNEED, place, 4096)
    open("/sieve.done", "w").close()
    time.sleep(100)
"""
"""Program that allocates memory in small pages (MADV_NOHUGEPAGE) and frees every second one, so that the free memory is
not contiguous.
"""

MARK = "date '+zzz ***%a %b %e %H:%M:%S %Z %Y'"
THP = "/sys/kernel/mm/transparent_hugepage"


def _passes(stage: Scene) -> list[float]:
    """Remove the file of the program's own times from the evidence; return the times (s). Raises Missing if empty."""
    said = stage.out / "passes"
    passes = [float(x) for x in said.read_text(encoding="ascii").split()]
    said.unlink()
    if not passes:
        raise Missing("a pass over the memory")
    return passes


def far_memory(stage: Scene) -> None:
    """Run a program on node 0 bound to the memory of node 1; its twin is bound to the memory of its own node."""
    node = 1 if stage.bad else 0
    play = f"""
        numactl -H > numactl.txt
        ({MARK}; numastat) > numastat.txt
        numactl --cpunodebind=0 --membind={node} python3 -S /walk.py 300 3 15 > passes
        ({MARK}; numastat) >> numastat.txt
    """
    guest(stage, play, {"walk.py": WALK})
    _passes(stage)


def full_node(stage: Scene) -> None:
    """Bind a program to the memory of node 0, of which it needs more than there is; its twin may take the rest from
    node 1.
    """
    play = f"""
        ({MARK}; numastat) > numastat.txt
        numactl --{"membind" if stage.bad else "cpunodebind"}=0 python3 -S /walk.py 500 16 15 > passes &
        sleep 6
        numactl -H > numactl.txt
        vmstat 1 6 > vmstat.txt
        wait %1
        ({MARK}; numastat) >> numastat.txt
    """
    guest(stage, play, {"walk.py": WALK})
    passes = sorted(_passes(stage)[1:])
    if stage.bad and passes:
        stage.said["symptom"] = {
            "text": "a pass over the data",
            "unit": "s",
            "bad": round(passes[len(passes) // 2], 1),
            "normal": 0.1,
        }


def _huge_pages(stage: Scene, enabled: str, defrag: str) -> float:
    """Let a program allocate 300 MB while free memory is fragmented; return the seconds of its first pass over them."""
    play = f"""
        echo {enabled} > {THP}/enabled
        echo {defrag} > {THP}/defrag
        python3 -S /sieve.py 800 &
        until [ -e /sieve.done ]; do sleep 0.2; done
        grep . {THP}/enabled {THP}/defrag > thp.txt
        cat /proc/buddyinfo > buddyinfo.txt
        ({MARK}; cat /proc/vmstat) > proc-vmstat.txt
        python3 -S /walk.py 300 0.1 > passes
        sleep 1
        ({MARK}; cat /proc/vmstat) >> proc-vmstat.txt
    """
    guest(stage, play, {"walk.py": WALK, "sieve.py": SIEVE})
    return _passes(stage)[0]


def huge_pages_made(stage: Scene) -> None:
    """Let the kernel stop a program to assemble a huge page for it; the twin uses no huge pages."""
    took = _huge_pages(stage, *(("always", "always") if stage.bad else ("never", "never")))
    if stage.bad:
        stage.said["symptom"] = {"text": "a program's start", "unit": "s", "bad": round(took, 1), "normal": 0.8}


def huge_pages_default(stage: Scene) -> None:
    """Use the setting of a distribution: huge pages for everybody, assembled at once only for those who ask (madvise)."""
    _huge_pages(stage, "always", "madvise")


CALM = {"symptom": {"text": "users say that everything is slow"}}

INCIDENTS = (
    Incident("far-memory", "A program runs on one memory node and has its memory on the other.", far_memory,
             {"layer": "configuration", "hypothesis": "H-OS-MEM", "rules": {"MEM-005": {"subject": "pages from other nodes"}}, "also": ["os_kernel"]},
             CALM, CALM),
    Incident("full-node", "A program is bound to a memory node that is too small for it and swaps, while the other node lies free.", full_node,
             {"layer": "configuration", "hypothesis": "H-OS-MEM", "rules": {"MEM-005": {"subject": "node 0 is full"}, "MEM-002": {}}, "also": ["os_kernel"]},
             {}, CALM),
    Incident("huge-pages-made", "A program's first touch of its memory waits while the kernel moves pages to make huge ones.",
             huge_pages_made,
             {"layer": "configuration", "hypothesis": "H-OS-MEM", "rules": {"MEM-004": {"tier": "corroborated"}}, "also": ["os_kernel"]}, {}, CALM),
)  # fmt: skip

HEALTHY = (
    Healthy("guest-huge-pages-default", "A program takes memory where huge pages are for everybody and made at once for those who ask.", huge_pages_default),
)  # fmt: skip
