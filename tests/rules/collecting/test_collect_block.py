"""Tests of collect blocks: plain POSIX sh for six systems, nothing filtered, and their output is read back without a
question.

The Linux blocks are run in dash; a folder at the front of the PATH holds shorter versions of the tools that wait.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from parsers.reading import read
from parsers.text.source import Hints
from rules.collecting.blocks import END, SYMPTOMS, SYSTEMS, Block, block, symptom_of, system_of
from rules.collecting.commands import COMMANDS, NARROWER, of_system

ALL = [(system, symptom) for system in SYSTEMS for symptom in SYMPTOMS]
BASHISMS = (
    r"\[\[", r"\bfunction\b", r"\$\(\(", r"\blocal\b", r"<<<", r"\w+=\(", r"&>",
    r"\bsource\b", r"\becho -", r"\{\w+\.\.", r"==", r"\bdeclare\b", r"\bpipefail\b", r"<\(",
)  # fmt: skip
FILTERS = r"(?:^|[ |(;])(?:grep|egrep|awk|nawk|sed|head|tail|cut|sort|tr|uniq|tee|perl|python)\b"
CORPUS = Path(__file__).parents[2] / "corpus"
DASH = shutil.which("dash")


def inner(script: str) -> str:
    """Return what the shell of the system reads: the text between the marks of the here-document."""
    first, rest = script.split("\n", 1)
    assert re.fullmatch(rf"(?:sh|/usr/xpg4/bin/sh) <<'{END}'", first)
    body, end, after = rest.partition(f"\n{END}\n")
    assert end
    assert after == ""
    return body + "\n"


@pytest.mark.parametrize(("system", "symptom"), ALL)
def test_blocks_are_posix_and_filter_nothing(system: str, symptom: str) -> None:
    made = block(system, symptom)
    script = inner(made.text)
    code = "\n".join(line for line in script.splitlines() if not line.startswith("#"))
    assert [sign for sign in BASHISMS if re.search(sign, code)] == []
    assert re.findall(FILTERS, code) == []
    assert not re.search(r"(?<!\|)\|(?!\|)", code), "a pipe would be a filter"
    assert not re.search(r"\b(?:yum|apt|pkg|rpm|install|sudo|rm|kill -9)\b", code)
    assert code.count("date -u +%Y-%m-%dT") == 2, "before and after each tool"
    assert "TZ=UTC0" in code
    assert 2 * made.usual_s >= sum(step.usual_s for step in made.steps) == made.usual_s <= made.most_s <= 600
    assert f"takes about {made.usual_s} s, at most {made.most_s} s" in code
    assert "risk " in code
    assert f"at most {made.most_mib} MiB" in code
    assert f"ulimit -f {made.most_mib * 2048}\n" in code
    assert len(made.steps) >= 4
    assert script.isascii()
    assert len(re.findall(r"^run \d+ [12] \S", script, re.MULTILINE)) == len(made.steps)


@pytest.mark.parametrize(("system", "symptom"), ALL)
def test_dash_finds_no_fault(system: str, symptom: str) -> None:
    assert DASH
    for text in (block(system, symptom).text, inner(block(system, symptom).text)):
        done = subprocess.run([DASH, "-n"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_each_tool_stands_in_the_tables_of_what_to_collect() -> None:
    known = [text for commands, _ in (*COMMANDS.values(), *NARROWER.values()) for text in commands.values()]
    for system, symptom in ALL:
        for step in block(system, symptom).steps:
            assert any(step.command in text for text in known), step


def test_systems_have_their_own_commands() -> None:
    def commands(system: str, symptom: str) -> set[str]:
        return {step.command for step in block(system, symptom).steps}

    assert "vmstat -T d 5 12" in commands("solaris-11", "cpu")
    assert "vmstat 5 12" in commands("solaris-10", "cpu")
    assert "netstat -an" in commands("linux-old", "connects")
    assert "ss -tan" in commands("linux", "connects")
    assert "svmon -G" in commands("aix", "memory")
    assert "swapinfo -tam" in commands("hpux", "memory")
    assert block("solaris-10", "cpu").text.startswith("/usr/xpg4/bin/sh <<")
    assert of_system({}, "hpux") is None


def test_an_unknown_choice_is_an_error() -> None:
    for choice in (("plan9", "cpu"), ("linux", "boredom")):
        with pytest.raises(KeyError):
            block(*choice)


def test_the_case_chooses_system_and_symptom() -> None:
    assert system_of("linux", "2.6.18-398.el5") == "linux-old"
    assert system_of("aix", "7.2") == "aix"
    assert [symptom_of(text) for text in ("paging since noon", "disk waits", "row lock waits", "high load", "")] == [
        "memory",
        "disk",
        "locks",
        "cpu",
        "connects",
    ]


# --- run and read back ----------------------------------------------------------------------------------------------


def run_block(made: Block, folder: Path, hidden: str = "") -> tuple[Path, str]:
    """Run a block as a person would paste it, but with samples a second apart; return its file and its screen."""
    assert DASH
    text = re.sub(r"^(run \d+ [12] .*) 5 12$", r"\1 1 2", made.text, flags=re.MULTILINE)
    text = text.replace("sleep 20;", "sleep 1;")
    if hidden:
        text = re.sub(rf"^(run \d+ [12]) {hidden}\b", r"\1 no-such-tool", text, flags=re.MULTILINE)
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(folder), "HOME": str(folder)}
    done = subprocess.run([DASH], input=text, capture_output=True, text=True, check=False, env=env, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = folder.glob("exhibit-*.txt")
    return file, done.stdout


def kinds_of(account: Any) -> dict[str, str | None]:
    return {part.facts["command"]: part.kind for part in account.parts}


EXPECTED = {
    "uname": "hostinfo",
    "lscpu": "hostinfo",
    "free": "meminfo",
    "vmstat": "vmstat",
    "mpstat": "mpstat",
    "nstat": "netstat",
    "netstat": "netstat",
    "ss": "ss",
    "ps": "ps",
    "ipcs": "ipcs",
    "cat": "meminfo",
    "numactl": "numa",
    "iostat": "iostat",
    "sar": "sar",
    "ip": "netdev",
}


@pytest.mark.parametrize(
    ("system", "symptom"), [("linux", "connects"), ("linux", "network"), ("linux", "memory"), ("linux-old", "disk")]
)
def test_a_linux_block_runs_in_dash_and_reads_back_without_a_question(
    system: str, symptom: str, tmp_path: Path
) -> None:
    made = block(system, symptom)
    file, screen = run_block(made, tmp_path)
    account = read(file, Hints(), None)
    assert account.error is None
    here = [step for step in made.steps if shutil.which(step.tool, path="/usr/sbin:/usr/bin:/sbin:/bin")]
    ran = [step.command.replace(" 5 12", " 1 2") for step in here]
    found = kinds_of(account)
    assert list(found) == ran
    assert found == {command: EXPECTED[command.split()[0]] for command in ran} | (
        {"netstat -i": "netdev"} if "netstat -i" in ran else {}
    )
    for part in account.parts:
        assert part.facts.get("questions") is None, part.facts
        assert part.facts["host"]
        assert part.system == "linux"
        assert part.facts["began"] <= part.facts["ended"]
        assert [domain.zone for domain in part.domains if domain.kind == "wall-local"] in ([], ["UTC"])
        assert part.account.read > 0
    assert f"takes about {made.usual_s} s" in screen
    assert f"Send this file: {file}" in screen


def test_a_missing_tool_is_said_and_passed_over(tmp_path: Path) -> None:
    file, screen = run_block(block("linux", "disk"), tmp_path, hidden="mpstat")
    assert "not here: no-such-tool" in screen
    assert "not here: no-such-tool\n" in file.read_text()
    account = read(file, Hints(), None)
    assert "mpstat" not in {part.kind for part in account.parts}
    assert account.error is None


def test_a_tool_that_hangs_is_stopped_and_the_rest_goes_on(tmp_path: Path) -> None:
    made = block("linux", "memory")
    text = re.sub(r"^run 75 1 vmstat .*$", "run 1 1 sleep 50", made.text, flags=re.MULTILINE)
    hangs = Block(text, made.steps, made.usual_s, made.most_s, made.most_mib, made.risk, made.needs)
    file, _ = run_block(hangs, tmp_path)
    written = file.read_text()
    assert "run: sleep 50\n#-- exhibit end" in written
    assert "status=143" in written
    assert "run: ipcs -m\n" in written


SAMPLES = {
    "solaris-10": {
        "vmstat 5 12": "vmstat/solaris11-scan-and-blocked",
        "mpstat 5 12": "mpstat/solaris-2cpu-two-samples",
        "iostat -xn 5 12": "iostat/solaris-xzn-since-boot-zones",
        "netstat -s": "netstat/solaris-s-tcp-listendrop-11",
    },
    "solaris-11": {"mpstat -T d 5 12": "mpstat/solaris-T-d-x64-15s", "vmstat -T d 5 12": "vmstat/solaris10-sparc-vc-dashes"},
    "aix": {"vmstat -t 5 12": "vmstat/aix-shared-uncapped-pc-ec", "netstat -s": "netstat/aix-s-listener-queue-full"},
    "linux-old": {
        "vmstat 5 12": "vmstat/linux-no-st-column",
        "iostat -xt 5 12": "iostat/linux-x-old-avgrq-svctm",
        "mpstat -P ALL 5 12": "mpstat/linux-sysstat-ampm-A-2-5",
    },
    "hpux": {"iostat 5 12": "iostat/derived-hpux-plain"},
}  # fmt: skip


@pytest.mark.parametrize("system", SAMPLES)
def test_outputs_of_other_systems_between_the_marks_read_without_a_question(system: str, tmp_path: Path) -> None:
    os = system.split("-")[0]
    text = "collected by Exhibit\n"
    for command, sample in SAMPLES[system].items():
        output = (CORPUS / f"{sample}.txt").read_text(encoding="utf-8", errors="replace")
        text += f"#-- exhibit begin 2016-04-05T07:12:03Z tz=UTC os={os} release=1 host=db1 run: {command}\n"
        text += output.rstrip("\n") + "\n#-- exhibit end 2016-04-05T07:13:03Z status=0\n"
    file = tmp_path / "block.txt"
    file.write_text(text, encoding="utf-8")
    account = read(file, Hints(), None)
    expected = {command: sample.split("/")[0] for command, sample in SAMPLES[system].items()}
    assert kinds_of(account) == expected
    assert [part.facts.get("questions") for part in account.parts] == [None] * len(expected)
    assert {part.system for part in account.parts} == {os}
