"""Test the command `python -m parsers`: fields, exit status, output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parsers.__main__ import main
from parsers.declarations import Claim, Format
from parsers.tables import parquet

CORPUS = Path(__file__).parent.parent / "corpus"
TIMES = str(CORPUS / "conntime" / "seed001-dism-0300ms.txt")
MAP = str(CORPUS / "pmap" / "solaris-seed001-dism.txt")
CONTRACT = {
    "schema", "file", "sha256", "bytes", "lines", "kind", "variant", "system", "claims", "parts", "account", "tables", "notes",
    "clock", "seconds", "error",
}  # fmt: skip


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "parsers", *arguments], input=stdin, capture_output=True, check=False)


def told(capsys: pytest.CaptureFixture[str]) -> list[dict]:
    return [json.loads(line, parse_constant=pytest.fail) for line in capsys.readouterr().out.splitlines()]


def test_help_comes_in_half_a_second():
    best = min(_seconds_to_help() for _ in range(3))
    assert best < 0.5


def _seconds_to_help() -> float:
    began = time.perf_counter()
    ran = run("--help")
    assert ran.returncode == 0
    assert b"--rows" in ran.stdout
    return time.perf_counter() - began


def test_help_loads_no_polars():
    code = (
        "import sys, parsers.__main__ as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert 'polars' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_json_has_every_field_of_the_contract(capsys):
    assert main(["--json", TIMES, MAP]) == 0
    times, address_map = told(capsys)
    for account in (times, address_map):
        assert account.keys() >= CONTRACT
        assert sum(account["account"].values()) == account["lines"]
        assert account["schema"] == 1
        assert account["error"] is None
        assert account["parts"][0].keys() >= {"part", "line_from", "line_to", "kind", "variant", "clock"}
    assert times["file"] == TIMES
    assert times["kind"] == "conntime"
    assert times["tables"] == {"conn_times": 21}
    assert times["clock"] == {"kind": "none", "base": None, "zone": None, "t_begin": None, "t_end": None}
    assert times["notes"] == [{"line_from": 22, "line_to": 23, "kind": "elided", "text": "...........\n..........."}]
    assert address_map["system"] == "solaris"
    assert address_map["claims"][0].keys() == {"kind", "variant", "strength", "reason"}


def test_rows_are_ndjson_with_line_numbers(capsys):
    assert main(["--rows", "conn_times", "--limit", "2", TIMES]) == 0
    rows = told(capsys)
    assert [r["line_no"] for r in rows] == [1, 2]
    assert rows[0].keys() == {
        "part", "line_no", "line_end", "t_local", "series", "seq", "elapsed_s", "cpu_s", "sys_s", "ok", "err", "contiguous"
    }  # fmt: skip


def test_addresses_above_bigint_are_whole_numbers(capsys):
    assert main(["--rows", "pmap", str(CORPUS / "pmap" / "sparc-ism-spread-over-lgroups.txt")]) == 0
    assert told(capsys)[0]["addr"] == 0xFFFFFFFE00000000


def test_out_writes_a_reading(tmp_path, capsys):
    assert main(["--out", str(tmp_path / "r"), TIMES]) == 0
    assert parquet.tables(tmp_path / "r") == ["conn_times", "notes"]
    assert main(["--out", str(tmp_path / "many"), TIMES, MAP]) == 0
    assert sorted(p.name for p in (tmp_path / "many").iterdir()) == [f"001-{Path(TIMES).name}", f"002-{Path(MAP).name}"]


def test_standard_input():
    ran = run("--json", "-", stdin=b"connect: 0.5\nconnect: 0.6\nconnect: 0.7\n")
    account = json.loads(ran.stdout)
    assert (ran.returncode, account["file"], account["tables"]) == (0, "-", {"conn_times": 3})


def test_the_hints_reach_the_reading(tmp_path, capsys):
    arguments = ["--host", "db1", "--os", "hpux", "--tz", "Europe/Warsaw", "--interval", "5", "--year", "2016"]
    assert (
        main([*arguments, "--json", "--out", str(tmp_path / "r"), str(CORPUS / "conntime/tnsping-linux-30ms.txt")]) == 0
    )
    account = told(capsys)[0]
    assert account["system"] == "hpux"
    assert account["clock"]["zone"] == "Europe/Warsaw"
    manifest = parquet.load_manifest(tmp_path / "r")
    assert manifest is not None
    assert {k: manifest["hints"][k] for k in ("host", "interval_s", "year")} == {
        "host": "db1",
        "interval_s": 5.0,
        "year": 2016,
    }


@pytest.mark.parametrize(
    ("name", "content", "arguments", "status", "words"),
    [
        ("prose.txt", b"Dear all,\nit is slow\n", [], 3, "kind unknown"),
        ("empty.txt", b"", [], 3, "empty"),
        ("core", bytes(range(256)) * 20, [], 3, "not text"),
        ("a.rar", b"Rar!\x1a\x07\x01\0\0\0\0\0", [], 3, "unrar"),
        ("prose.txt", b"Dear all,\nit is slow\n", ["--kind", "pmap"], 4, "line 1"),
    ],
)
def test_a_refusal_is_an_answer(name, content, arguments, status, words, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(content)
    assert main([*arguments, "--json", str(path)]) == status
    account = told(capsys)[0]
    assert account.keys() >= CONTRACT
    assert words in account["error"]
    assert account["bytes"] == len(content)
    assert sum(account["account"].values()) == account["lines"]
    assert main([*arguments, str(path)]) == status
    assert words in capsys.readouterr().out


def test_a_missing_file_and_the_worst_status(tmp_path, capsys):
    prose = tmp_path / "prose"
    prose.write_text("Dear all,\n", encoding="utf-8")
    assert main(["--json", str(tmp_path / "nothing"), TIMES, str(prose)]) == 5
    assert [bool(a["error"]) for a in told(capsys)] == [True, False, True]
    assert main([str(tmp_path), TIMES]) == 5


def test_two_kinds_equally_likely(monkeypatch, tmp_path, capsys):
    import parsers.formats.memory.pmap.format as other
    import parsers.formats.network.conntime.format as one

    for module in (one, other):
        monkeypatch.setattr(module, "claim", lambda head: Claim(0.8, "looks like it"))
    assert main(["--json", TIMES]) == 3
    account = told(capsys)[0]
    assert "equally likely" in account["error"]
    assert {c["kind"] for c in account["claims"]} >= {"conntime", "pmap"}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--kind", "nonsense", TIMES],
        ["--rows", "nonsense", TIMES],
        ["--interval", "-1", TIMES],
        ["--limit", "-1", TIMES],
    ],
)
def test_wrong_use(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_the_list_names_every_format(capsys):
    assert main(["--list"]) == 0
    text = capsys.readouterr().out
    for word in ("conntime/list", "pmap/solaris", "pmap -xs PID", "conn_times", "solaris"):
        assert word in text
    assert main(["--list", "--json"]) == 0
    assert {f["kind"] for f in told(capsys)} >= {"conntime", "pmap"}


def test_the_human_account_is_short_and_safe(tmp_path, capsys):
    path = tmp_path / "evil\x1b[31m\u202e.txt"
    path.write_text("connect: 0.5\n" * 5 + "\x02]0;title\x03 what\n" + "?\n\n" * 9, encoding="utf-8")
    assert main(["--kind", "conntime", str(path)]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "␂]0;title␃ what" in text
    assert "more notes" in text
    assert len(text.splitlines()) < 15


def test_a_closed_pipe_is_no_complaint():
    read_end, write_end = os.pipe()
    os.close(read_end)
    child = subprocess.Popen(
        [sys.executable, "-m", "parsers", "--list"], stdout=write_end, stderr=subprocess.PIPE, text=True
    )
    os.close(write_end)
    _, complaint = child.communicate()
    assert complaint == ""


def test_formats_are_frozen():
    with pytest.raises(AttributeError):
        Format("a", "b", "1", (), (), "", "").kind = "c"  # type: ignore[misc]  # that this is refused is the test


def test_an_archive_is_read_member_by_member(tmp_path, capsys):
    import io
    import tarfile

    archive = tmp_path / "x.tar.gz"
    lines = b"".join(b"time elapsed : 0,%02d\n" % (30 + n % 7) for n in range(20))
    with tarfile.open(archive, "w:gz") as tar:
        for name, content in (("a/times.txt", lines), ("b/letter.txt", b"dear all\n")):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("c")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    assert main(["--json", str(archive)]) == 3
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["file"].rpartition("/x.tar.gz")[2], r["kind"], bool(r["error"])) for r in rows] == [
        ("!a/times.txt", "conntime", False),
        ("!b/letter.txt", "text", True),
        ("!c", None, True),
    ]
    assert main(["--rows", "conn_times", "--limit", "3", str(archive)]) == 3
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main([str(archive), "--out", str(tmp_path / "out")]) == 3
    assert (tmp_path / "out" / "00001-times.txt" / "manifest.json").exists()
