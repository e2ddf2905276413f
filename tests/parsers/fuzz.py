"""Run mutated corpus files through every format: no crash, no hang, bounded memory, accounts that add up.

    python -m tests.parsers.fuzz [--kind K] [--inputs N] [--seed S] [--first I] [--every E] [--minutes M]

Input I of a kind depends only on seed, kind and I, so `--kind K --seed S --first I --inputs 1` generates it again. Each
input is read by the kind's own format, whether it fits or not (sometimes cut into several runs); each E-th input is
also read like an upload, with recognition. Failures are saved in `var/fuzz/` with their traceback, and the exit status
is then 1.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import polars as pl

from parsers.errors import ParserError
from parsers.lines import LineReader
from parsers.reading import Account, read
from parsers.registry import all_formats
from parsers.tables import parquet
from parsers.text.notes import LINE_ACCOUNT
from parsers.text.source import Hints, Limits, open_text
from tests.parsers.formats.evidence import parse_bytes

CORPUS = Path(__file__).parent.parent / "corpus"
KEPT = Path("var/fuzz")
NIGHTLY = 100_000
MB = 1 << 20

SECONDS, SECONDS_A_MB = 5.0, 5.0
"""Processor time for one reading, in seconds: a fixed share and a share per megabyte.

The requirement is 1 s, but machines are slow and busy.
"""

PEAK_MB, PEAK_FACTOR = 200.0, 80.0
"""How far one input may raise the peak memory of the process: a fixed share, and a multiple of its own size.

A text of nothing but line ends has a million lines a megabyte; a run is bounded by their number.
"""

LARGEST = 2 * MB

Mutation = Callable[[random.Random, bytes], bytes]


class Failed(AssertionError):
    """Raised if an input violates a property that all inputs must have."""


@dataclass(frozen=True)
class Input:
    """One mutated text and how it was made."""

    kind: str
    seed: str
    number: int
    steps: tuple[str, ...]
    content: bytes

    def __str__(self) -> str:
        steps = " ".join(self.steps)
        return f"--kind {self.kind} --seed {self.seed} --first {self.number} --inputs 1  # {steps}, {len(self.content)} bytes"


@cache
def corpus(kind: str | None = None) -> tuple[bytes, ...]:
    """Return the samples of a kind, or of all kinds; long ones are cut, so that an input takes little time."""
    paths = sorted(CORPUS.glob(f"{kind or '*'}/*.txt"))
    return tuple(path.read_bytes()[:30_000] for path in paths)


def _lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True) or [b""]


def _place(r: random.Random, content: bytes) -> int:
    return r.randint(0, len(content))


def cut(r: random.Random, content: bytes) -> bytes:
    a, b = sorted((_place(r, content), _place(r, content)))
    return r.choice((content[:a], content[a:], content[:a] + content[b:]))


def join_lines(r: random.Random, content: bytes) -> bytes:
    lines = _lines(content)
    at, count = r.randrange(len(lines)), r.randint(1, 6)
    glue = r.choice((b"", b" ", b"\t"))
    return b"".join(
        [*lines[:at], glue.join(x.rstrip(b"\r\n") for x in lines[at : at + count]), b"\n", *lines[at + count :]]
    )


def flip(r: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(r.randint(1, 12)):
        if changed:
            changed[r.randrange(len(changed))] = r.choice(
                (r.randrange(256), ord(r.choice("0123456789-.,:%*=/|[]{}()<> \t\n\"'\\")))
            )
    return bytes(changed)


def repeat(r: random.Random, content: bytes) -> bytes:
    lines = _lines(content)
    at, count = r.randrange(len(lines)), r.randint(1, 8)
    some = b"".join(lines[at : at + count])
    times = r.choice((1, 2, 3, 20, 200)) if r.random() < 0.97 else LARGEST // max(len(some), 1)
    return b"".join(lines[:at]) + some * times + b"".join(lines[at:])


def splice(r: random.Random, content: bytes) -> bytes:
    other = r.choice(corpus())
    a, b = _place(r, content), _place(r, other)
    return r.choice((content[:a] + other[b:], content[:a] + other + content[a:], _interleaved(r, content, other)))


def _interleaved(r: random.Random, one: bytes, other: bytes) -> bytes:
    """Interleave the lines of two texts, as of two programs that write to one file."""
    a, b, mixed = _lines(one)[:200], _lines(other)[:200], []
    while a or b:
        side = a if a and (not b or r.random() < 0.5) else b
        mixed.append(side.pop(0))
    return b"".join(mixed)


def drop_blanks(r: random.Random, content: bytes) -> bytes:
    lines = _lines(content)
    how = r.choice(("lead", "all", "collapse", "tabs"))
    if how == "lead":
        return b"".join(x.lstrip(b" \t") for x in lines)
    if how == "tabs":
        return content.replace(b"\t", b" ")
    if how == "collapse":
        return b"".join(b" ".join(x.split()) + b"\n" for x in lines)
    at = _place(r, content)
    return content[:at] + content[at : at + 300].replace(b" ", b"")


def wrap(r: random.Random, content: bytes) -> bytes:
    width = r.choice((10, 40, 72, 80))
    return b"".join(
        x[i : i + width].rstrip(b"\n") + b"\n" for x in _lines(content) for i in range(0, max(len(x), 1), width)
    )


def unend(r: random.Random, content: bytes) -> bytes:
    how = r.choice((b" ", b"", b"\r", b"\r\n", b"\n\n"))
    if r.random() < 0.5:
        return content.replace(b"\n", how)
    a = _place(r, content)
    return content[:a] + content[a : a + r.randint(10, 2000)].replace(b"\n", how) + content[a + 2000 :]


def insert(r: random.Random, content: bytes) -> bytes:
    at = _place(r, content)
    long = r.choice((300, 5_000, 70_000, 300_000)) if r.random() < 0.3 else 40
    strange = (
        b"\0" * r.randint(1, 30), b"\x1b[31m", b"\x1b]0;title\x07", b"\xff\xfe", "\u202e\u200b\u00a0".encode(),
        r.choice((b"0", b"9", b"a", b" ", b"(", b'"', b"\\", b"-", b"1.", b"a b ", b"1:", b"=,", b"[", b"+", b"x/")) * long,
        b"-1", b"-", b"18446744073709551616", b"9" * 400, b"1e999", b"nan", b"99/99/9999 99:99:99", b"30 Feb 2013",
        b"Feb 30 12:00:00 2013", b"2013-02-30T25:61:61", b"31-FEB-2013 24:00:00", b"0", b". . .", b"[...]", b"(snip)",
        b"1.234,5", b"12,345", b"$ vmstat 5\n", b"> ", b"| ", b"\r", b"\x08", b"\xe9",
    )  # fmt: skip
    return content[:at] + r.choice(strange) + content[at:]


def shuffle(r: random.Random, content: bytes) -> bytes:
    lines = _lines(content)
    if r.random() < 0.5:
        lines = [*r.sample(lines, len(lines))]
    else:
        a = r.randrange(len(lines))
        lines = [*lines[a:], *lines[:a]]
    return b"".join(lines)


def renumber(r: random.Random, content: bytes) -> bytes:
    """Replace a number by another one."""
    found = [i for i, c in enumerate(content[:5000]) if 48 <= c <= 57]
    for at in sorted(r.sample(found, min(len(found), r.randint(1, 10))), reverse=True):
        number = r.choice(
            (b"", b"-", b"0", b"00", b"60", b"99", b"4294967296", b"99999999999999999999", b"1.5", b"1,5", b"x")
        )
        content = content[:at] + number + content[at + 1 :]
    return content


MUTATIONS: tuple[Mutation, ...] = (
    cut, join_lines, flip, repeat, splice, drop_blanks, wrap, unend, insert, shuffle, renumber,
)  # fmt: skip


def make(kind: str, seed: str, number: int) -> Input:
    """Return one input: a sample of the kind after one to four mutations; the same for the same arguments."""
    r = random.Random(f"{seed}:{kind}:{number}")
    content = r.choice(corpus(kind) or corpus())
    steps = []
    for mutation in r.choices(MUTATIONS, k=r.choice((1, 1, 2, 2, 3, 4))):
        content = mutation(r, content)[: 2 * LARGEST]
        steps.append(mutation.__name__)
    return Input(kind, seed, number, tuple(steps), content)


def inputs(kind: str, seed: str, count: int, first: int = 0) -> Iterator[Input]:
    return (make(kind, seed, number) for number in range(first, first + count))


def check(one: Input, *, recognised: bool = True) -> None:
    """Read one input by its kind's format and, if wanted, as an upload. Raises any error of a format, or Failed."""
    r = random.Random(f"{one.seed}:{one.kind}:{one.number}:how")
    variants = [form.variant for form, _ in all_formats() if form.kind == one.kind]
    variant = r.choice(variants)
    _bounded(one, f"{one.kind}/{variant}", lambda: _check_run(one.content, one.kind, variant))
    if recognised:
        pieces = r.choice((1, 1, 2, 5))
        limits = Limits(run_bytes=max(len(one.content) // pieces, 64)) if pieces > 1 else Limits()
        hints = r.choice((Hints(), Hints(), Hints(kind=one.kind)))
        _bounded(
            one,
            f"upload, {hints.kind or 'recognised'}, {pieces} runs",
            lambda: _check_upload(one.content, hints, limits),
        )


def _bounded(one: Input, what: str, work: Callable[[], None]) -> None:
    began, peak = time.process_time(), _peak_mb()
    work()
    size = len(one.content) / MB
    seconds, lifted = time.process_time() - began, _peak_mb() - peak
    if seconds > SECONDS + SECONDS_A_MB * size:
        raise Failed(f"{what}: {seconds:.1f} s of processor time for {size:.2f} MB")
    if lifted > PEAK_MB + PEAK_FACTOR * size:
        raise Failed(f"{what}: peak memory rose by {lifted:.0f} MB for {size:.2f} MB")


def _peak_mb() -> float:
    kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kb / 1024 if sys.platform != "darwin" else kb / MB


def _hold(condition: bool, what: str) -> None:
    if not condition:
        raise Failed(what)


def _check_run(content: bytes, kind: str, variant: str) -> None:
    run = parse_bytes(content, kind, variant)
    if run is None:
        return
    account = run.batch.account
    _hold(account.lines == run.lines, f"account of {account.lines} lines, read {run.lines}")
    _hold(all(getattr(account, name) >= 0 for name in LINE_ACCOUNT), "negative count in the account")
    _check_rows(run.tables, run.lines)


def _check_rows(tables: dict[str, pl.DataFrame], lines: int) -> None:
    for name, rows in tables.items():
        bad = rows.filter(
            (pl.col("line_no") < 1) | (pl.col("line_end") < pl.col("line_no")) | (pl.col("line_end") > lines)
        )
        _hold(
            bad.is_empty(),
            f"rows of {name} outside of lines 1 to {lines}: {bad.select('line_no', 'line_end').rows()[:3]}",
        )


def _check_upload(content: bytes, hints: Hints, limits: Limits) -> None:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path, out = Path(folder) / "original", Path(folder) / "reading"
        path.write_bytes(content)
        try:
            account = read(path, hints, out, limits=limits, name="a.txt")
        except ParserError as error:
            if not isinstance(error.account, Account):
                raise Failed(f"{type(error).__name__} without an account") from error
            account = error.account
        if not account.lines:
            return
        _hold(account.account.lines == account.lines, f"account of {account.account.lines} lines, read {account.lines}")
        tables = {name: parquet.scan(out, name).collect() for name in parquet.tables(out)}
        _check_rows(tables, account.lines)
        for part in account.parts:
            _hold(1 <= part.line_from <= part.line_to <= account.lines, f"part {part.part} has no lines of the file")
        counted = {n: len(rows) for n, rows in tables.items() if n not in ("notes", "artifacts")}
        _hold(account.tables == counted, f"manifest counts {account.tables}, tables hold {counted}")
        _check_lines(path, out, account)


def _check_lines(path: Path, out: Path, account: Account) -> None:
    """Check that every line can be shown, and that a mask is as long as its secret and lies within its line."""
    reader = LineReader(path, out)
    shown = reader.lines(1, account.lines)
    _hold(len(shown) == account.lines, f"{len(shown)} lines shown of {account.lines}")
    found = parquet.tables(out) and parquet.files(out, "secrets")
    if not found:
        return
    secrets = pl.concat([pl.read_parquet(file) for file in found]).filter(pl.col("from") < pl.col("to"))
    with open_text(path) as text:
        plain = [line for piece in text.pieces(text.start, text.size) for line in piece.lines.to_list()]
    for number in secrets["line_no"].unique().sort().head(50):
        before, masked = plain[number - 1], shown[number - 1].text
        if before.isascii() and before.isprintable():
            _hold(len(before) == len(masked), f"the mask changes the length of line {number}")
            _hold(before != masked or "*" in before, f"nothing is masked in line {number}")


def keep(one: Input, error: BaseException, folder: Path | None = None) -> Path:
    """Save an input that failed, with the command that generates it again and the traceback."""
    folder = folder or KEPT
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{one.kind}-{one.seed}-{one.number}.txt"
    path.write_bytes(one.content)
    told = "".join(traceback.format_exception(error))
    path.with_suffix(".log").write_text(f"{one}\n\n{told}", encoding="utf-8")
    return path


def run(
    kind: str, seed: str, count: int, first: int = 0, every: int = 1, until: float = float("inf")
) -> tuple[int, list[Path]]:
    """Check inputs of one kind; return their number and the files of those that failed."""
    done, failed = 0, []
    for one in inputs(kind, seed, count, first):
        if time.monotonic() > until:
            break
        done += 1
        try:
            check(one, recognised=one.number % every == 0)
        except Exception as error:  # the purpose of the fuzzer: any error is saved with its input
            failed.append(keep(one, error))
            print(f"FAILED {one}\n  {type(error).__name__}: {str(error)[:300]}", flush=True)
    return done, failed


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    kinds = sorted({form.kind for form, _ in all_formats()})
    parser.add_argument("--kind", action="append", choices=kinds, help="again for more kinds; all without")
    parser.add_argument("--inputs", type=int, default=NIGHTLY, help=f"for each kind; {NIGHTLY} without")
    parser.add_argument("--seed", default=f"{datetime.now(UTC):%Y%m%d}", help="today's date without")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--every", type=int, default=1, help="so many inputs for one that is read as an upload, too")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop each kind after so long")
    args = parser.parse_args(argv)
    print(f"seed {args.seed}", flush=True)
    all_failed: list[Path] = []
    for kind in args.kind or kinds:
        began = time.monotonic()
        done, failed = run(kind, args.seed, args.inputs, args.first, args.every, began + args.minutes * 60)
        all_failed += failed
        print(
            f"{kind}: {done} inputs, {len(failed)} failed, {time.monotonic() - began:.0f} s, peak {_peak_mb():.0f} MB",
            flush=True,
        )
    for path in all_failed:
        print(path)
    return 1 if all_failed else 0


if __name__ == "__main__":
    sys.exit(main())
