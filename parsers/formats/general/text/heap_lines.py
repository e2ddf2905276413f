r"""Read what profilers of a program's heap state: memory that is lost, and the function that took most of it.

Tools: valgrind (memcheck, massif), LeakSanitizer, heaptrack, jeprof and pprof of gperftools (`--text`), memleak of bcc. Each figure becomes a
row, as in `stated_lines`, in MB. `state` holds the size of the heap that a line above named. Source: Valgrind User
Manual, 4.2.8 (memory leak detection), 9.2.7 (massif's output); LeakSanitizer, reports; heaptrack_print --help; jeprof --help; bcc memleak(8).
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

_INT = r"[0-9][0-9,]{0,24}"
_PART = r"[0-9]{1,3}(?:\.[0-9]{1,3})?"
_LOST = re.compile(
    rf"==[0-9]{{1,9}}==[ \t]+(?P<how>definitely|indirectly|possibly) lost: (?P<bytes>{_INT})(?: \([^)]{{1,60}}\))? bytes in {_INT} blocks.*"
)
_RECORD = re.compile(
    rf"==[0-9]{{1,9}}== {_INT} .{{0,80}}bytes in {_INT} blocks are (?:definitely|possibly|indirectly) lost in loss record .*"
)
_SANITIZER = re.compile(
    rf"SUMMARY: (?:Address|Leak|HWAddress)Sanitizer: (?P<bytes>{_INT}) byte\(s\) leaked in {_INT} allocation\(s\)\.?"
)
_OF_SANITIZER = re.compile(rf"(?:Direct|Indirect) leak of {_INT} byte\(s\) in {_INT} object\(s\) allocated from:")
_HEAPTRACK = re.compile(r"total memory leaked: (?P<value>[0-9.]{1,12}) ?(?P<unit>[KMGT]?)i?B[ \t]*")
_STACK = re.compile(rf"[ \t]*(?P<bytes>{_INT}) bytes in {_INT} allocations from stack[ \t]*")
_MASSIF = re.compile(
    rf"(?P<deep>[| ]{{0,200}})->(?P<part>{_PART})% \((?P<bytes>{_INT})B\) 0x[0-9A-Fa-f]+: (?P<who>[^()]{{1,200}}(?:\([^()]{{0,200}}\))?).*"
)
_ALL = re.compile(rf"{_PART}% \({_INT}B\) \(heap allocation functions\) .*")
_TOTAL = re.compile(r"Total: (?P<mb>[0-9]{1,12}\.[0-9]) MB[ \t]*")
_GPERF = re.compile(
    rf"[ \t]*[0-9]{{1,12}}\.[0-9][ \t]+{_PART}%[ \t]+{_PART}%"
    rf"[ \t]+[0-9]{{1,12}}\.[0-9][ \t]+(?P<pct>{_PART})%[ \t]+(?P<who>\S.{{0,200}}?)[ \t]*"
)
_ALLOCATES = re.compile(
    r"(?:je_|tc_)?(?:prof_\w+|malloc|calloc|realloc|memalign|posix_memalign|mallocx)|operator new.*|os::malloc.*"
)
_SCALE = {"": 1e-6, "K": 1e-3, "M": 1.0, "G": 1e3, "T": 1e6}


def stated(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return the figures in a line; an empty list for a line of a report without figures, None for any other line.

    >>> stated("==71==    definitely lost: 650,000,000 bytes in 41,200 blocks", {})
    [('memory lost', 'the program', 650.0, None)]
    >>> stated("==71==    possibly lost: 12 bytes in 1 blocks", {}), stated("total memory leaked: 2.5GB", {})
    ([], [('memory lost', 'the program', 2500.0, None)])
    >>> stated("->91.20% (712,000,000B) 0x40AB12: cache_put (cache.c:71)", {})
    [('heap held', 'cache_put', 91.2, 780.7017543859649)]
    >>> state = {}
    >>> [stated(x, state) for x in ("Total: 3100.0 MB", "   0.0   0.0%  97.0%   2900.0  93.5% inflateInit2_")]
    [[], [('heap held', 'inflateInit2_', 93.5, 3100.0)]]
    """
    text = line.rstrip()
    if found := _LOST.fullmatch(text):
        lost = float(found["bytes"].replace(",", "")) / 1e6
        return [("memory lost", "the program", lost, None)] if found["how"] == "definitely" else []
    if found := _SANITIZER.fullmatch(text) or _STACK.fullmatch(text):
        return [("memory lost", "the program", float(found["bytes"].replace(",", "")) / 1e6, None)]
    if found := _HEAPTRACK.fullmatch(text):
        value = found["value"]
        return (
            [("memory lost", "the program", float(value) * _SCALE[found["unit"]], None)] if value.count(".") < 2 else []
        )
    if found := _MASSIF.fullmatch(text):
        part, held = float(found["part"]), float(found["bytes"].replace(",", "")) / 1e6
        if found["deep"] or part <= 0:
            return []
        return [("heap held", found["who"].split(" (")[0].strip(), part, held / part * 100)]
    if found := _TOTAL.fullmatch(text):
        state["heap_mb"] = float(found["mb"])
        return []
    if "heap_mb" in state and (found := _GPERF.fullmatch(text)):
        known = _ALLOCATES.fullmatch(found["who"]) is None
        return [("heap held", found["who"], float(found["pct"]), float(state["heap_mb"]))] if known else []
    return [] if _RECORD.fullmatch(text) or _OF_SANITIZER.fullmatch(text) or _ALL.fullmatch(text) else None
