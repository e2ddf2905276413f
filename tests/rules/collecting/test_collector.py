"""Tests of the collectors: POSIX sh for five systems, kept limits, and output that the parsers can read.

The Linux one is run in every shell that is here, with shorter samples; against a server it is run in
tests/incidents/doors/test_collector.py.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from parsers.reading import read
from parsers.text.source import Hints
from rules.collecting.collector import SCRIPTS, collector, standard, steps_of, wanted_of
from rules.collecting.commands import COMMANDS, NARROWER

ROOM = "https://exhibit.example.org/api/rooms/slow-logins-k3v9"
SHELLS = {
    "dash": ("dash",),
    "bash": ("bash", "--posix"),
    "ksh": ("ksh",),
    "mksh": ("mksh",),
    "busybox": ("busybox", "sh"),
}
BASHISMS = (
    r"\[\[", r"\bfunction\b", r"(?m)^\s*local\b", r"<<<", r"\w+=\(", r"&>", r"\bsource\b", r"\becho -", r"\{\w+\.\.",
    r"\btest [^;|&]* == ", r"\bdeclare\b", r"\bpipefail\b", r"<\(", r"\bhead -c", r"\bdate \+%s\b", r"\bmktemp\b", r"\bseq\b",
)  # fmt: skip
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def shell(name: str) -> tuple[str, ...]:
    if shutil.which(SHELLS[name][0]) is None:
        pytest.skip(f"{name} is not installed: apt-get install {name}")
    return SHELLS[name]


def own_lines(text: str) -> str:
    """Return a script without its comments and without the commands that it holds for a host."""
    without = re.sub(r"<<'STEPS'\n.*?\nSTEPS\n", "\n", text, flags=re.DOTALL)
    return "\n".join(line for line in without.splitlines() if not line.lstrip().startswith("#"))


def quick(text: str) -> str:
    """Let the samplers take two samples, a second apart."""
    text = re.sub(r"^(\w+\|.*) 5 12$", r"\1 1 2", text, flags=re.MULTILINE)
    return re.sub(r"^(\w+\|\d+\|)20\|", r"\g<1>1|", text, flags=re.MULTILINE)


def run(
    text: str, folder: Path, *arguments: str, by: tuple[str, ...] = ("dash",), **more: str
) -> subprocess.CompletedProcess[str]:
    script = folder / "exhibit-linux.sh"
    script.write_text(text)
    env = {"PATH": PATH, "TMPDIR": str(folder), "HOME": str(folder), **more}
    return subprocess.run(
        [*by, str(script), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=env,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


def only(text: str, *starts: str) -> str:
    """Let the standard set be the commands that begin with these words."""
    codes = [
        code for start in starts for code in re.findall(rf"^(\w{{8}})\|.*\|{re.escape(start)}.*$", text, re.MULTILINE)
    ]
    assert codes
    return re.sub(r"^(    linux(?:-old)?\)) echo .* ;;$", rf"\1 echo {' '.join(codes)} ;;", text, flags=re.MULTILINE)


def written(folder: Path) -> Path:
    (file,) = folder.glob("exhibit-*/exhibit-*.txt")
    return file


# --- what stands in them ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_short_plain_and_changes_nothing(script: str) -> None:
    text = collector(script, ROOM)
    assert text.count("\n") < 500
    assert text.isascii()
    assert [sign for sign in BASHISMS if re.search(sign, own_lines(text))] == []
    assert not re.search(r"\b(?:yum|apt|pkg|rpm|install|sudo|perl|python)\b", own_lines(text).replace("installs", ""))
    assert f"room='{ROOM}'" in text
    assert text.count("Bearer") == 2
    assert not re.search(r"-H [\"']?Authorization|--header=[\"']?Authorization|[?&]token=", text)


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_shell_finds_no_fault(script: str, name: str) -> None:
    done = subprocess.run([*shell(name), "-n"], input=collector(script), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "is slower than" not in line] == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_command_stands_in_the_tables_of_what_to_collect(script: str) -> None:
    known = [text for commands, _ in (*COMMANDS.values(), *NARROWER.values()) for text in commands.values()]
    rows = re.search(r"<<'STEPS'\n(.*?)\nSTEPS\n", collector(script), re.DOTALL)
    assert rows
    codes = []
    for row in rows[1].splitlines():
        code, limit, apart, risk, who, zone, command = row.split("|", 6)
        assert any(command in text for text in known), row
        assert 15 <= int(limit) <= 120
        assert apart in ("0", "20")
        assert risk in ("none", "low", "some")
        assert who in ("root", "any")
        assert (zone == "own") is command.startswith("tail")
        codes.append(code)
    assert len(codes) == len(set(codes))
    for variant in SCRIPTS[script][1]:
        steps = standard(variant)
        assert {step.code for step in steps} <= set(codes)
        assert len(steps) >= 10
        assert {step.risk for step in steps} <= {"none", "low"}


def test_what_only_a_person_can_do_is_no_step() -> None:
    for text in (
        "the log of the program and that of the system, of the hour",
        "dtrace or bpftrace with quantize, one tick apart, aggregations cleared at each, for at most 60 s",
        "pmap -xs of the process ora_dism_SID",
        "grep . /sys/fs/cgroup/PATH/cpu.*, twice, 60 s apart",
        "tcpdump -i any -s 128 -c 500000 -w FILE host ADDRESS and port PORT & sleep 60; kill -INT $!",
        "psql -c 'select 1'",
        "rm -rf /; vmstat",
        "sh -c 'vmstat 5 12'",
    ):
        assert list(steps_of(text)) == [], text
    wanted = wanted_of(["vmstat 5 12; mpstat 5 12", "vmstat 5 12", "listener.log of the hour"])
    assert len(wanted.codes) == 2
    assert wanted.by_hand == 1


def test_an_address_that_is_no_word_for_a_shell_is_refused() -> None:
    for room in (
        "https://x/api/rooms/a'b",
        "https://x/api/rooms/$(id)",
        "ftp://x/api/rooms/a",
        "https://x/api/rooms/a?token=b",
    ):
        with pytest.raises(ValueError, match="no address"):
            collector("linux", room)
    with pytest.raises(KeyError):
        collector("plan9")


# --- run and read back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHELLS)
def test_it_runs_in_every_shell_and_reads_back_without_a_question(name: str, tmp_path: Path) -> None:
    text = only(quick(collector("linux")), "uname -a", "vmstat -t", "free -k", "cat /proc/meminfo", "ps -eo pid,ppid")
    done = run(text, tmp_path, "-y", by=shell(name))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Carry this file to the room: {written(tmp_path)}" in done.stdout
    account = read(written(tmp_path), Hints(), None)
    assert account.error is None
    kinds = {part.facts["command"]: part.kind for part in account.parts}
    expected = {
        "uname -a": "hostinfo",
        "vmstat -t 1 2": "vmstat",
        "free -k": "meminfo",
        "cat /proc/meminfo": "meminfo",
        "ps -eo pid,ppid,pcpu,rss,vsz,time,args": "ps",
    }
    assert kinds == {command: kind for command, kind in expected.items() if shutil.which(command.split()[0], path=PATH)}
    for part in account.parts:
        assert part.facts.get("questions") is None
        assert part.facts["host"] == os.uname().nodename
        assert part.system == "linux"
        assert part.facts["began"] <= part.facts["ended"]


def test_nothing_runs_without_a_yes(tmp_path: Path) -> None:
    text = quick(collector("linux"))
    for arguments, last in ((("-n",), "one file to carry"), ((), "Nothing was run.")):
        done = run(text, tmp_path, *arguments)
        assert done.returncode == 0
        assert "cat /proc/meminfo   [at most 15 s, risk none]" in done.stdout
        assert last in done.stdout
        assert list(tmp_path.glob("exhibit-*-*")) == []


def test_what_does_not_end_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    text = only(collector("linux"), "uname -a", "cat /proc/meminfo")
    text = re.sub(
        r"^(\w{8}\|)15(\|.*\|)uname -a$", r"\g<1>2\g<2>uname -a; sleep 4321 | cat; :", text, flags=re.MULTILINE
    )
    began = time.monotonic()
    done = run(text, tmp_path, "-y")
    assert done.returncode == 0
    assert time.monotonic() - began < 30
    assert "stopped: uname -a" in done.stdout
    body = written(tmp_path).read_text()
    assert "status=143\n" in body
    assert re.search(r"run: cat /proc/meminfo\nMemTotal", body)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 4321" not in listed.splitlines()


def test_time_and_size_of_the_whole_are_limits(tmp_path: Path) -> None:
    text = only(collector("linux"), "uname -a", "cat /proc/meminfo")
    text = re.sub(
        r"^(\w{8}\|)15(\|.*\|)uname -a$", r"\g<1>60\g<2>yes a line that fills the disk", text, flags=re.MULTILINE
    )
    done = run(text, tmp_path, "-y", "-d", "2", "-m", "20")
    assert done.returncode == 0
    assert written(tmp_path).stat().st_size < 3 * 2**20
    shutil.rmtree(written(tmp_path).parent)
    slow = text.replace("yes a line that fills the disk", "sleep 50")
    done = run(slow, tmp_path, "-y", "-m", "1")
    assert "no time left: cat /proc/meminfo" in written(tmp_path).read_text()
    done = run(text, tmp_path, "-y", "-d", "9999999")
    assert done.returncode == 1
    assert "Too little space" in done.stderr


def test_a_broken_run_goes_on_where_it_was(tmp_path: Path) -> None:
    text = only(collector("linux"), "uname -a", "cat /proc/meminfo")
    script = tmp_path / "exhibit-linux.sh"
    script.write_text(re.sub(r"\|cat /proc/meminfo$", "|sleep 77", text, flags=re.MULTILINE))
    env = {"PATH": PATH, "TMPDIR": str(tmp_path)}
    going = subprocess.Popen(["dash", str(script), "-y"], stdout=subprocess.PIPE, text=True, env=env)
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("exhibit-*/*.running")) or "sleep 77" not in "".join(
        part.read_text() for part in tmp_path.glob("exhibit-*/*.part")
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    going.send_signal(signal.SIGTERM)
    said, _ = going.communicate(timeout=30)
    assert going.returncode == 130
    folder = re.search(r"Go on with: \S+ -r (\S+)", said)
    assert folder
    before = next(part.read_text() for part in tmp_path.glob("exhibit-*/*.part") if "uname" in part.read_text())
    done = run(text, tmp_path, "-y", "-r", folder[1])
    assert done.returncode == 0
    assert "there already: uname -a" in done.stdout
    body = written(tmp_path).read_text()
    assert before in body
    assert "MemTotal" in body
    assert "sleep 77" not in body


def test_a_process_is_filled_in_and_what_slows_it_is_left_out(tmp_path: Path) -> None:
    text = only(collector("linux"), "pmap -x PID", "timeout -s INT 60 strace -f -ttt")
    done = run(text, tmp_path, "-n")
    assert done.stdout.count("needs a process: -p PID") == 2
    done = run(text, tmp_path, "-y", "-p", str(os.getpid()))
    assert "slows the host: only with -s" in done.stdout
    if shutil.which("pmap", path=PATH):
        assert f"run: pmap -x {os.getpid()}\n" in written(tmp_path).read_text()
    assert run(text, tmp_path, "-p", "1;id").returncode == 1
