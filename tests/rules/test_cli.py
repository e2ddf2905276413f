"""Tests of `python -m rules`: options, exit statuses, the text report, the page, and the documented JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from rules.__main__ import main
from rules.case.reading import open_paths
from rules.collecting import commands as collect
from rules.collecting.collector import collector
from rules.errors import CaseInvalid
from rules.reporting import html_page
from rules.writing.rule import Need
from tests.rules.incidents import seed001

ROOT = Path(__file__).parents[2]
SEED = str(seed001.CASE)


def test_help_is_quick_and_imports_no_engine() -> None:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "rules", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "exit status" in done.stdout
    assert not re.search(r"\b(polars|duckdb|yaml|django)\b", done.stderr)
    assert time.monotonic() - began < 5  # the promise of 0.5 s rests on what is not imported; the machine may be busy


def test_the_human_account(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([SEED]) == 0
    said = capsys.readouterr().out
    order = [
        "Verdict: cause, good support",
        "Whose seconds: 3.3326 s",
        "SHM-001 A database process (pid 3731)",
        "Cleared, for these seconds only",
        "Compared",
        "Clocks",
    ]
    assert [said.index(t) for t in order] == sorted(said.index(t) for t in order)
    for text in (
        "1.872",
        "1.792",
        "95.7 %",
        "1.5406",
        "+0.157 to +0.237 s",
        "truss-listener.txt:14-30",
        "but: Losing dynamic SGA resize",
        "by statement",
    ):
        assert text in said


def test_what_cannot_be_told_comes_with_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "times.txt").write_text(
        (seed001.CASE / "connect-before.txt").read_text(encoding="utf-8"), encoding="utf-8"
    )
    assert main([str(tmp_path / "times.txt")]) == 0
    said = capsys.readouterr().out
    assert "Verdict: cannot tell" in said
    assert "What would settle most" in said
    assert "further wishes: --all-asks" in said
    assert main([str(tmp_path / "times.txt"), "--all-asks"]) == 0
    said = capsys.readouterr().out
    assert "say how many items are finished per minute" in said
    assert "needs statement:work_rate" in said


def test_only_explain_list_and_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([SEED, "--only", "NET-001,CMP-002", "--json"]) == 0
    assert {f["rule"] for f in json.loads(capsys.readouterr().out)["findings"]} == {"NET-001", "CMP-002"}
    assert main([SEED, "--explain", "SHM-001"]) == 0
    said = capsys.readouterr().out
    assert "min_stall_s = 0.5 s (from rule)" in said
    assert "fired on db1: A database process (pid 3731) took up to 2.473 s" in said
    assert main(["--explain", "LSN-006"]) == 0
    assert "not evaluable: needs conn_times" in capsys.readouterr().out
    assert main(["--list"]) == 0
    assert "SHM-001" in capsys.readouterr().out
    assert main(["--list", "--json", "--only", "SHM-001"]) == 0
    assert json.loads(capsys.readouterr().out)["layer"] == "os_kernel"
    assert main(["--test", "CMP-002"]) == 0
    assert "all passed" in capsys.readouterr().out


def test_it_prints_the_collector_of_a_system(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--collector", "aix"]) == 0
    assert capsys.readouterr().out == collector("aix")
    with pytest.raises(SystemExit):
        main(["--collector", "plan9"])
    assert "linux, solaris, aix" in capsys.readouterr().err


def test_a_quiet_rule_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = seed001.write(tmp_path / "case", seed001.without_stall)
    assert main([str(folder), "--explain", "SHM-001"]) == 0
    assert "quiet: the condition was looked for and not met" in capsys.readouterr().out


def test_a_failing_inline_test_is_status_6(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "rules" / "library" / "compare" / "outliers-gone.yaml").read_text(encoding="utf-8")
    (tmp_path / "outliers-gone-too.yaml").write_text(
        text.replace("CMP-002", "CMP-902")
        .replace("slug: outliers-gone", "slug: outliers-gone-too")
        .replace("magnitude: 9.5", "magnitude: 9.6"),
        encoding="utf-8",
    )
    assert main(["--rules", str(tmp_path), "--test", "CMP-902"]) == 6
    assert "magnitude is 9.5, expected 9.6" in capsys.readouterr().out


def test_a_rule_that_fails_is_status_6(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "rules" / "library" / "compare" / "outliers-gone.yaml").read_text(encoding="utf-8")
    (tmp_path / "outliers-gone-too.yaml").write_text(
        text.replace("CMP-002", "CMP-902")
        .replace("slug: outliers-gone", "slug: outliers-gone-too")
        .replace("'corroborated' else", "'sure' else"),
        encoding="utf-8",
    )
    text = text.replace("c.tail1 > 0", "c.tail1 > 0")
    (tmp_path / "outliers-gone-too.yaml").write_text(
        (tmp_path / "outliers-gone-too.yaml")
        .read_text(encoding="utf-8")
        .replace("'base' end as tier", "'unsure' end as tier"),
        encoding="utf-8",
    )
    assert main([SEED, "--rules", str(tmp_path), "--only", "CMP-902"]) == 6
    assert "FAILED CMP-902" in capsys.readouterr().out


def test_wrong_use_is_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        [],
        ["--only", "XX-999", SEED],
        [str(tmp_path / "nosuch")],
        ["--rules", str(tmp_path / "nosuch"), SEED],
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
    bad = tmp_path / "case.yaml"
    bad.write_text("titles: x\n", encoding="utf-8")
    assert main([SEED, "--case", str(bad)]) == 2
    assert "line 1: titles: unknown key" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "No such file or directory"), (b"title: \xe9t\xe9\n", "is no text in UTF-8, from byte 7")],
)
def test_a_case_file_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, why: str
) -> None:
    case = tmp_path / "case.yaml"
    if content is not None:
        case.write_bytes(content)
    (tmp_path / "times.txt").write_text("0.12\n")
    assert main([str(tmp_path / "times.txt"), "--case", str(case)]) == 2
    assert capsys.readouterr().err == f"rules: {case}: {why}\n"


def test_files_nobody_knows_do_not_stop_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = seed001.write(tmp_path / "case")
    (folder / "unknown.txt").write_text("the quick brown fox\njumps over the lazy dog\n", encoding="utf-8")
    (folder / "empty.txt").write_bytes(b"")
    (folder / ".hidden").write_text("x", encoding="utf-8")
    assert main([str(folder), "--json"]) == 3
    out = capsys.readouterr()
    made = json.loads(out.out)
    assert made["verdict"]["state"] == "cause"
    errors = {a["file"]: a["error"] for a in made["artifacts"] if a["error"]}
    assert set(errors) == {"unknown.txt", "empty.txt"}
    assert "unknown.txt" in out.err


def test_a_file_that_cannot_be_opened_is_status_5(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    monkeypatch.setattr("rules.case.reading.read", denied)
    assert main([str(tmp_path / "a.txt")]) == 5
    assert "Permission denied" in capsys.readouterr().err


def test_a_case_file_that_names_an_absent_file(tmp_path: Path) -> None:
    (tmp_path / "case.yaml").write_text("artifacts: [{file: nosuch.txt}]\n", encoding="utf-8")
    with pytest.raises(CaseInvalid, match="is not among the files given"):
        open_paths([tmp_path], None, tmp_path / ".out")
    (tmp_path / "a").write_text("x", encoding="utf-8")
    (tmp_path / "b").write_text("x", encoding="utf-8")
    (tmp_path / "case.yaml").write_text("artifacts: [{file: a, id: 3}, {file: b, id: 3}]\n", encoding="utf-8")
    with pytest.raises(CaseInvalid, match="same id"):
        open_paths([tmp_path], None, tmp_path / ".out")


def test_a_part_of_a_longer_text(tmp_path: Path) -> None:
    mail = [
        "Dear all,",
        "see below",
        *(seed001.CASE / "connect-before.txt").read_text(encoding="utf-8").splitlines(),
        "regards",
    ]
    (tmp_path / "mail.txt").write_text("\n".join(mail) + "\n", encoding="utf-8")
    (tmp_path / "case.yaml").write_text(
        "artifacts: [{file: mail.txt, lines: 3-25, kind: conntime, host: gateway, phase: before, id: 4}]\n",
        encoding="utf-8",
    )
    spec, status = open_paths([tmp_path], None, tmp_path / ".out")
    assert (status, spec.artifacts[0].id) == (0, 4)
    part = next(p for p in spec.artifacts[0].parts if p.host)
    assert (part.line_from, part.line_to, part.host, part.phase) == (3, 25, "gateway", "before")


def test_the_page_is_self_contained_and_escaped(tmp_path: Path) -> None:
    folder = seed001.write(
        tmp_path / "case",
        lambda name, text: text.replace("Logins take 3.9 seconds", "'<script>alert(1)</script>'").replace(
            "IPC_ALLOC", "<b>IPC</b>"
        ),
    )
    page = tmp_path / "page.html"
    assert main([str(folder), "--html", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<b>IPC" not in text
    assert "&lt;b&gt;IPC" in text
    assert not re.search(r"""(src|href)=|https?://|@import|url\(""", text)
    for words in (
        "Causes",
        "Along the way",
        "Cleared",
        "at most 0.080 s of 1.872 s",
        "Whose seconds: 3.3326 s",
        "Speaks against it",
    ):
        assert words in text
    assert html_page.escape("a\x1b[31m\u202e<") == "a\\x1b[31m\\u202e&lt;"
    assert main([str(folder / "connect-before.txt"), "--html", str(page)]) == 0
    assert "Cannot tell" in page.read_text(encoding="utf-8")


def test_the_documentation_holds_every_field_of_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([SEED, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    documented = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    keys = (
        set(report)
        | set(report["verdict"])
        | set(report["findings"][0])
        | set(report["cleared"][0])
        | set(report["whose_seconds"]["pieces"][0])
    )
    keys |= (
        set(report["clocks"][0])
        | set(report["clock_map"][0])
        | set(report["hypotheses"][0])
        | set(report["compared"][0])
        | set(report["artifacts"][0])
    )
    keys |= set(report["findings"][0]["citations"][0])
    board = report["board"]
    keys |= set(board) | set(board["groups"][0]) | set(board["groups"][0]["without"]) | set(board["wanted"][0])
    keys |= set(board["chains"][0]) | set(board["artifacts"][0])
    keys |= {k for h in report["hypotheses"] for k in h["against"] or ()}
    assert [k for k in sorted(keys) if f'"{k}"' not in documented] == []
    assert '"schema": 1' in documented


def test_commands_by_system() -> None:
    assert collect.command(Need("syscalls", "syscalls"), "linux")[0].startswith("timeout -s INT 60 strace")
    assert collect.command(Need("vmstat", "vmstat"), None)[0] == "vmstat 5 12"
    assert collect.command(Need("nosuch", "nosuch"), "linux")[0] == "anything that fills the table nosuch"
    assert collect.command(Need("statement:x", "statements", statement="x"), None)[0] == "say in the room: x"
    assert "client" in collect.command(Need("s", "sqlnet", where=(("side", "=", "client"),)), None)[0]


def test_an_archive_counts_as_the_files_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Check that the packed seed with its case is judged like the folder; its files are named `archive!inside`."""
    archive = tmp_path / "evidence.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for file in sorted(seed001.CASE.glob("*.txt")):
            tar.add(file, file.name)
    told = (seed001.CASE / "case.yaml").read_text(encoding="utf-8")
    case = tmp_path / "case.yaml"
    case.write_text(re.sub(r"file: ([\w.-]+\.txt)", r"file: evidence.tar.gz!\1", told), encoding="utf-8")
    assert main([str(archive), "--case", str(case), "--json"]) == 0
    packed = json.loads(capsys.readouterr().out)
    assert main([SEED, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert packed["verdict"] == plain["verdict"]
    assert packed["hypotheses"] == plain["hypotheses"]
    assert {a["file"] for a in packed["artifacts"]} == {f"evidence.tar.gz!{a['file']}" for a in plain["artifacts"]}
