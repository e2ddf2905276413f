"""A new kind is a folder: a toy in a temporary one is recognised, read, asked for, documented and drawn without another edit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

KIND = """
from parsers.declarations import Kind
KIND = Kind(title="run of toystat", tools=("toystat",), intervals={"toystat": ()}, sampled=True,
            collect={"syscall_totals": {"*": "toystat -c 60"}})
"""
TERMS = """[heading toystat | toystat(1)]
waiting = Threads that wait for a processor. More than processors means a queue.
"""
FORMAT = '''
"""Waiting threads as toystat(1) prints them."""
import re
import polars as pl
from parsers.declarations import Claim, Format
from parsers.tables.rows import Domain
LINE = re.compile(r"toystat ([0-9]+)s: waiting=([0-9]+)")
FORMAT = Format(kind="toystat", variant="toystat", version="1", systems=("linux",), tables=("vmstat",), man="toystat(1)",
                example="toystat 5", own=r"^toystat [0-9]+s: waiting=[0-9]+", clocks=("trace-relative",))
def claim(head):
    return Claim(0.9, "lines of toystat") if sum(bool(LINE.match(line)) for line in head.lines) > 2 else None
def parse(source, out, state):
    rows, read = [], []
    for block in source.blocks():
        for line_no, line in block.frame.rows():
            if match := LINE.match(line):
                rows.append({"line_no": line_no, "sample": len(rows), "t_local": float(match[1]), "interval_s": 5.0,
                             "r": float(match[2])})
                read.append(line_no)
    out.read(read)
    out.add("vmstat", pl.DataFrame(rows))
    out.domain(Domain(1, "trace-relative", lines=[(source.first_line, source.next_line - 1)]))
    return state
'''
EVIDENCE = "".join(f"toystat {5 * n}s: waiting={n}\n" for n in range(1, 9))

PROGRAM = """
import json, sys
from pathlib import Path
import parsers.formats
toys, work = Path(sys.argv[1]), Path(sys.argv[2])
parsers.formats.__path__.append(str(toys))
from incidents.drawing import windows
from incidents.drawing.lane import Window
from parsers.layout.recognition import recognise
from parsers.provenance.prompts import interval_of, prompt_of
from parsers.reading import read
from parsers.reference.docs import formats_text
from parsers.reference.glossary import words_of
from parsers.tables import parquet
from parsers.text.source import Head, Hints
from rules.case.reading import open_paths
from rules.collecting.commands import command
from rules.engine.read import ReadOnly
from rules.writing.rule import Need
evidence = work / "toystat.txt"
account = read(evidence, Hints(), work / "reading")
rows = parquet.scan(work / "reading", "vmstat").collect()
spec, _ = open_paths([evidence], None, work / "readings")
with ReadOnly(spec, ["vmstat"], work) as tables:
    axis = windows.Axis({"1.1:1": 0.0}, {"1.1:1": 50.0})
    strips, _ = windows.draw([windows.choice("vmstat.r")], axis, Window(0, 50, 400), tables, None)
text = formats_text(Path("nowhere"))
print(json.dumps({
    "recognised": recognise(Head(evidence.read_text().splitlines())).claims[0].format.kind,
    "read": [account.kind, account.account.unknown, rows["r"].to_list()],
    "prompt": [prompt_of("# toystat 5").command, interval_of("toystat 5")],
    "asked": command(Need("syscall_totals", "syscall_totals"), "linux")[0],
    "documented": ["| toystat | toystat |" in text, "## toystat" in text],
    "explained": list(words_of(["waiting"], "toystat")),
    "drawn": [[strip.label, [sample.high for sample in strip.samples]] for strip in strips],
}))
"""


def test_a_kind_is_a_folder_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "formats" / "toys" / "toystat"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        (package / "__init__.py").touch()
    (folder / "kind.py").write_text(KIND, encoding="utf-8")
    (folder / "terms.txt").write_text(TERMS, encoding="utf-8")
    (folder / "format.py").write_text(FORMAT, encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    (work / "toystat.txt").write_text(EVIDENCE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "formats"), str(work)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "recognised": "toystat",
        "read": ["toystat", 0, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]],
        "prompt": ["toystat 5", 5.0],
        "asked": "toystat -c 60",
        "documented": [True, True],
        "explained": ["waiting"],
        "drawn": [["vmstat r", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]],
    }
