r"""Kernel settings: sysctl -a and sysctl.conf of Linux, FreeBSD and macOS, and the four numbers of kernel.sem.

Tools: procps sysctl(8) (`-a`, `-n`), FreeBSD and macOS sysctl(8), sysctl.conf(5), /proc/sys/kernel/sem, `grep . /proc/sys/...`.
Capture: `sysctl -a`.

Samples::

    kernel.sem = 250	32000	32	128
    kern.ipc.semmni: 10
    -net.ipv4.conf.all.rp_filter=1
    250	32000	32	128

Tables: params, scope sysctl: value = text, num where the value is one number (Float64: shmmax loses its last digits, the text does
not), list for several (kernel.sem: SEMMSL, SEMMNS, SEMOPM, SEMMNI); resource_use for fs.file-nr. Clock: none.
Traps: shmmax is in bytes, shmall in pages; later lines of a .conf override earlier ones (active false); # and ; begin comments,
and a commented setting is not active; text values of FreeBSD continue on lines without a key; errors stand between rows.
Known gaps: which of several .conf files is read last.
"""

from __future__ import annotations

import re

import polars as pl

from parsers.columns.small_texts import Settings, share
from parsers.declarations import Claim, Format
from parsers.tables.rows import State, Tables
from parsers.text.source import Head, Source

_ROOTS = "abi|crypto|debug|dev|fs|kernel|net|sunrpc|user|vm|kern|hw|machdep|vfs|p1003_1b|compat|security|kstat|audit|ktrace|xen|fscache|sysctl|kext"
_KEY = r"[A-Za-z_][A-Za-z0-9_-]*(?:[./][A-Za-z0-9_@%*:+-]+)+"
OWN = (
    rf"^[ \t]*(?:[#;][ \t]*)?(?:-?(?:/proc/sys/)?(?:{_ROOTS})(?:[./][A-Za-z0-9_@%*+-]+)+(?:[ \t]*=|: ?)[ \t]*\S"
    r"|(?:sysctl|error): .*(?:key|sysctl))"
)
SEM = r"^[ \t]*[0-9]{1,10}[ \t]+[0-9]{1,12}[ \t]+[0-9]{1,10}[ \t]+[0-9]{1,10}$"
FORMATS = (
    Format(
        kind="sysctl",
        variant="sysctl",
        version="1",
        systems=("linux", "freebsd", "macos"),
        tables=("params", "resource_use"),
        man="sysctl(8)",
        example="sysctl -a",
        own=OWN,
    ),
    Format(
        kind="sysctl",
        variant="kernel_sem",
        version="1",
        systems=("linux",),
        tables=("params",),
        man="proc(5)",
        example="cat /proc/sys/kernel/sem",
        own=SEM,
    ),
)

_OWN = re.compile(OWN)
_SEM = re.compile(SEM)
LINE = rf"^[ \t]*([#;]*)[ \t]*-?(?:/proc/sys/)?({_KEY})(?:[ \t]*(=)|(:)(?: |$))[ \t]*(.*)$"
NUMBERS = r"^-?[0-9]+(?:[ \t]+-?[0-9]+)+$"
ERROR = r"^(?:sysctl|error): |^[a-z]+: .*: (?:Permission denied|No such file or directory)$"


def claim(head: Head) -> Claim | None:
    """Claim by keys of known trees, or by four numbers alone that can be the limits of semaphores."""
    lines = head.lines
    if len(lines) <= 2 and (numbers := [x for x in lines if x.strip()]):
        match = _SEM.fullmatch(numbers[0])
        if len(numbers) == 1 and match:
            per_set, in_all, _, _ = map(int, numbers[0].split())
            named = "sem" in head.name.lower()
            if per_set <= in_all and (named or in_all >= 1000):
                return Claim(0.9 if named else 0.6, "four numbers as in /proc/sys/kernel/sem", "kernel_sem")
    if not any(_OWN.match(x) for x in lines[:40]):
        return None
    count, fraction = share(Head([x for x in lines if not re.match(r"[ \t]*[#;]", x)]), _OWN)
    if not count or fraction < 0.2:
        return None
    # A low share of keys is enough: lines without a key belong to values of FreeBSD.
    return Claim(min(0.95, 0.55 + 0.5 * fraction), f"{count} settings of kernel trees", "sysctl")


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps whether keys end with a colon, because only such values continue on further lines."""
    settings = Settings()
    uses = []
    for block in source.blocks():
        if state["variant"] == "kernel_sem":
            rows = block.frame.filter(pl.col("line").str.contains(SEM)).with_columns(
                name=pl.lit("kernel.sem"), value=pl.col("line").str.strip_chars(), sign=pl.lit("="), mark=pl.lit("")
            )
        else:
            rows = _keyed(block.frame, out, state)
        rows = rows.select("line_no", *_values())
        settings.frame(rows)
        uses.append(rows.filter((pl.col("name") == "fs.file-nr") & (pl.col("list").list.len() == 3)))
    used = pl.concat(uses) if uses else None
    settings.give(out)
    if used is not None and len(used):
        numbers = [pl.col("list").list.get(i).cast(pl.Float64, strict=False) for i in (0, 2)]
        frame = used.select("line_no", "scope", "name", used=numbers[0], limit_num=numbers[1])
        out.add("resource_use", frame)
    return state


def _keyed(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    """Return the lines with keys; count comments, errors and further lines of a FreeBSD value as read."""
    line = pl.col("line")
    parts = line.str.extract_groups(LINE).struct.rename_fields(["mark", "name", "equals", "colon", "value"])
    lines = frame.with_columns(g=parts).unnest("g").with_columns(sign=pl.coalesce("equals", "colon"))
    # Prose after a comment sign may contain a word with a dot.
    real = pl.col("name").is_not_null() & ((pl.col("mark") == "") | line.str.contains(OWN))
    out.read(lines.filter(~real.fill_null(False) & line.str.contains(r"^[ \t]*[#;]"))["line_no"])
    errors = lines.filter(line.str.contains(ERROR))
    out.read(errors["line_no"])
    if len(errors):
        out.notes(errors.select("line_no", kind=pl.lit("remark"), text=line))
    if lines["colon"].is_not_null().any():
        state["colon"] = True
    if state.get("colon"):
        bare = lines.filter(~real.fill_null(False) & line.str.contains(r"^[ \t]+\S|^[^=:]*$") & (line != ""))
        out.read(bare["line_no"])
    return lines.filter(real & ~line.str.contains(ERROR))


def _values() -> list[pl.Expr]:
    value = pl.col("value").str.strip_chars()
    several = value.str.contains(NUMBERS)
    number = pl.when(value.str.contains(r"^[+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?$")).then(value).cast(pl.Float64)
    key = pl.col("name").str.replace_all("/", ".", literal=True)
    return [
        pl.lit("sysctl").alias("scope"),
        pl.when(pl.col("name").str.contains(".", literal=True)).then(pl.col("name")).otherwise(key).alias("name"),
        value.alias("value"),
        number.alias("num"),
        pl.when(several).then(value.str.extract_all(r"-?[0-9]+")).alias("list"),
        (pl.col("mark") == "").alias("active"),
    ]
