"""Command line `python -m parsers FILE...`: evidence tables on a laptop, without server or database.

The contract is in docs/cli.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parsers.allocator import lean
from parsers.kept_patterns import install

if TYPE_CHECKING:
    from parsers.reading import Account
    from parsers.text.source import Hints

STATUS = """exit status, the worst of all files: 0 read; 2 wrong use; 3 nothing in it is known or two kinds equally likely;
4 not of the kind that --kind named: read as what it is; 5 a limit was hit or the file cannot be opened"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status.

    Polars is imported only when a file is read, so that `--help` is quick.
    """
    install()
    parser = _arguments()
    options = parser.parse_args(argv)
    if options.list:
        return _list(options.json)
    if options.docs:
        from parsers.reference.docs import CORPUS, write_docs

        write_docs(Path(options.docs), Path(options.corpus) if options.corpus else CORPUS)
        return 0
    if not options.files:
        parser.error("no file given")
    lean()
    if options.rows:
        from parsers.tables.schema import TABLES

        if options.rows not in TABLES:
            parser.error(f"no table {options.rows!r}; there are: {', '.join(TABLES)}")
    hints = _hints(options, parser)
    files = list(enumerate(options.files, start=1))
    return max([_file(name, number, hints, options) for number, name in files])


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m parsers",
        description="Read raw tool output into evidence tables; every line is accounted for.",
        epilog=STATUS,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="file to read; - is standard input")
    parser.add_argument("--kind", metavar="KIND[/VARIANT]", help="skip recognition")
    parser.add_argument("--host", metavar="NAME", help="host it was taken on")
    parser.add_argument("--os", metavar="NAME", help="system of that host")
    parser.add_argument("--tz", metavar="ZONE", help="zone of stamps without one, such as Europe/Warsaw")
    parser.add_argument("--interval", metavar="SECONDS", type=float, help="sampling interval")
    parser.add_argument("--year", metavar="YYYY", type=int, help="for stamps without a year")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="day of the first line, for stamps without one")
    parser.add_argument("--date-order", choices=("dmy", "mdy"), help="of dates such as 07/04/07")
    parser.add_argument(
        "--columns", metavar="WORDS", help="which column of a table is what: time=1 elapsed=3:ms label=2"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line and file")
    parser.add_argument("--rows", metavar="TABLE", help="print that table's rows as NDJSON")
    parser.add_argument("--limit", metavar="N", type=int, help="print at most N rows of each file")
    parser.add_argument(
        "--out", metavar="DIR", help="write Parquet and manifest there (several files: one folder each)"
    )
    parser.add_argument("--list", action="store_true", help="all formats with systems, tables and an example")
    parser.add_argument("--docs", metavar="DIR", help="write formats.md and tables.md there")
    parser.add_argument("--corpus", metavar="DIR", help="samples by kind whose recognition --docs counts")
    return parser


def _hints(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Hints:
    from parsers.registry import all_formats
    from parsers.text.source import Hints

    kind, _, variant = (options.kind or "").partition("/")
    if kind and not any(f.kind == kind and variant in ("", f.variant) for f, _ in all_formats()):
        parser.error(f"no such kind: {options.kind}; --list names them")
    if options.limit is not None and options.limit < 0:
        parser.error("--limit must not be negative")
    if options.interval is not None and not (options.interval > 0 and math.isfinite(options.interval)):
        parser.error("--interval must be positive")
    return Hints(
        kind=kind or None,
        variant=variant or None,
        host=options.host,
        os=options.os,
        tz=options.tz,
        interval_s=options.interval,
        year=options.year,
        date=options.date,
        date_order=options.date_order,
        columns=options.columns,
    )


def _file(name: str, number: int, hints: Hints, options: argparse.Namespace) -> int:
    """Read and print one file, or all members of an archive; return the exit status."""
    from parsers.containers.archives import HEAD_BYTES, container_of
    from parsers.errors import NotText, ParserError
    from parsers.reading import empty_account

    out = None
    if options.out:
        out = Path(options.out) if len(options.files) == 1 else Path(options.out) / f"{number:03}-{_plain(name)}"
    try:
        with _opened(name) as path:
            try:
                with path.open("rb") as stream:
                    container = container_of(stream.read(HEAD_BYTES), path.stat().st_size)
            except NotText:  # in a compression that we do not open: the reading reports it
                container = None
            if container is None:
                return _one(path, name, hints, out, options)
            return _archive(path, name, hints, out, options)
    except ParserError as error:
        _print(empty_account(name, str(error)), options)
        return error.exit_status
    except OSError as error:
        _print(empty_account(name, error.strerror or str(error)), options)
        return 5


def _archive(path: Path, name: str, hints: Hints, out: Path | None, options: argparse.Namespace) -> int:
    """Read the members of an archive one after the other, each as a file of its own; return the worst exit status.

    A member that cannot be unpacked is a failure; one that is never read (a link, a device) is not.
    """
    from parsers.containers.archives import LeftOut, open_members
    from parsers.containers.collectors import SMALL, Tree, names_a_zone
    from parsers.provenance.members import with_member_facts
    from parsers.reading import empty_account
    from parsers.secrets.words import without_secrets

    tree, status = Tree(name.rpartition("/")[2]), 0
    for number, member in enumerate(open_members(path, name), start=1):
        shown = f"{name}!{without_secrets(member.path)}"
        if isinstance(member, LeftOut):
            tree.learn_link(member.path, member.why)
            _print(empty_account(shown, f"left out: {member.why}"), options)
            continue
        with tempfile.NamedTemporaryFile() as spool:
            while chunk := member.stream.read(1024 * 1024):
                spool.write(chunk)
            spool.flush()
            if names_a_zone(member.path) and spool.tell() <= SMALL:
                tree.learn(member.path, Path(spool.name).read_text(encoding="utf-8", errors="replace"))
            known = with_member_facts(hints, tree.facts_of(member.path))
            into = out / f"{number:05}-{_plain(member.path)}" if out else None
            status = max(status, _one(Path(spool.name), shown, known, into, options))
        if member.damage:
            print(f"{_shown(shown)}: {_shown(member.damage)}", file=sys.stderr)
            status = 5
    return status


def _one(path: Path, name: str, hints: Hints, out: Path | None, options: argparse.Namespace) -> int:
    """Read and print one file; return its exit status."""
    from parsers.errors import ParserError, WrongFormat
    from parsers.reading import empty_account, read

    with tempfile.TemporaryDirectory() as scratch:
        if options.rows and out is None:
            out = Path(scratch) / "reading"
        status = 0
        try:
            account = read(path, hints, out, name=name)
            status = WrongFormat.exit_status if account.misfits else 0
        except ParserError as error:
            status, account = error.exit_status, error.account or empty_account(name, str(error))
        except OSError as error:
            status, account = 5, empty_account(name, error.strerror or str(error))
        if options.rows and out is not None:
            _print_rows(out, options.rows, options.limit)
        _print(account, options)
    return status


def _print(account: Account, options: argparse.Namespace) -> None:
    if options.json:
        _print_json(account.as_json())
    elif not options.rows:
        print(_human(account))
    elif account.error:
        print(f"{_shown(account.file)}: {_shown(account.error)}", file=sys.stderr)


@contextmanager
def _opened(name: str) -> Iterator[Path]:
    """Yield a path that can be read twice; standard input is copied to a temporary file first."""
    if name != "-":
        yield Path(name)
        return
    with tempfile.NamedTemporaryFile() as spool:
        while chunk := sys.stdin.buffer.read(1024 * 1024):
            spool.write(chunk)
        spool.flush()
        yield Path(spool.name)


def _plain(name: str) -> str:
    """Return a folder name made from a file name: letters and digits, never a path."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name.replace("\\", "/").rpartition("/")[2]).strip(".")[:80] or "stdin"


def _print_rows(reading: Path, table: str, limit: int | None) -> None:
    from parsers.tables import parquet

    left = limit
    for file in parquet.files(reading, table):
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(file).iter_batches(batch_size=10_000):
            for row in batch.to_pylist():
                if left is not None:
                    if left <= 0:
                        return
                    left -= 1
                _print_json(row)


def _print_json(value: Any) -> None:
    print(json.dumps(_finite(value), ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    """Replace NaN and infinity, which JSON does not have, by None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, list) else value


def _shown(text: str) -> str:
    from parsers.text.spelling import visible

    return visible(text.encode("utf-8", "backslashreplace").decode())


def _human(account: Account) -> str:
    """Return a short, aligned account of one file for people."""
    one = account.parts[0] if len(account.parts) == 1 else None
    kind = account.kind or "unknown"
    what = f"{kind}/{one.variant}" if one and one.variant else kind
    counts = account.account
    rows = [
        ("kind", what + (f" ({one.system})" if one and one.system else "")),
        ("lines", f"{account.lines:,} in {account.bytes:,} bytes, {account.seconds:.3f} s"),
        ("account", ", ".join(f"{n:,} {k}" for k, n in vars(counts).items() if n) or "nothing"),
        ("tables", ", ".join(f"{n:,} {t}" for t, n in account.tables.items()) or "none"),
    ]
    clock = one.clock if one else None
    if clock and clock["kind"] != "none":
        begin, end = clock["t_begin"], clock["t_end"]
        rows.append(("clock", clock["kind"] + (f" from {begin:.4f} to {end:.4f} s" if begin is not None else "")))
    if len(account.parts) > 1:
        rows += [("part", f"{p.part}: lines {p.line_from}-{p.line_to} {p.kind or 'unknown'}") for p in account.parts]
    for note in account.notes[:5]:
        where = f"{note.line_from}" if note.line_from == note.line_to else f"{note.line_from}-{note.line_to}"
        rows.append(
            ("note", f"line {where} {note.kind}: {_shown(note.text.splitlines()[0] if note.text else '')[:90]}")
        )
    rows += [("given", _shown(f"as {m.kind}: {m}")) for m in account.misfits]
    if account.notes_total > 5:
        rows.append(("", f"and {account.notes_total - 5} more notes"))
    if account.error:
        rows.append(("error", _shown(account.error)))
    return "\n".join([_shown(account.file), *(f"  {k:<8} {v}" for k, v in rows)])


def _list(as_json: bool) -> int:
    from dataclasses import asdict

    from parsers.registry import all_formats

    for form, _ in all_formats():
        if as_json:
            _print_json(asdict(form))
        else:
            print(
                f"{form.kind}/{form.variant}\n  systems  {', '.join(form.systems)}\n  tables   {', '.join(form.tables)}"
            )
            print(f"  clock    {', '.join(form.clocks)}\n  manual   {form.man}\n  example  {form.example}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # The reader of the pipe has gone (`| head`); without this Python would complain again while flushing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
