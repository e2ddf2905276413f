"""Tests that every requested command states its cost, and that none runs forever."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rules.collecting import commands as collect
from rules.collecting.costs import HIGH, LOW, NOBODY, NONE, SOME, NoCost, cost_of, seconds_of
from rules.writing.rule import Need

LONGEST_S = {"trends": 4 * 3600}


def asked() -> Iterator[tuple[str, str, str]]:
    """Yield every command of the tables: the table or need that requests it, its system, its text."""
    for table, (commands, _) in collect.COMMANDS.items():
        yield from ((table, system, text) for system, text in commands.items())
    for (table, value), (commands, _) in collect.NARROWER.items():
        yield from ((f"{table} {value}", system, text) for system, text in commands.items())
    yield from ((table, "elsewhere", text) for table, text in collect.ELSEWHERE.items())
    for name, said in collect.STATEMENTS.items():
        yield name, "*", said.ask
    for side in ("client", "listener"):
        text, _ = collect.command(Need("sqlnet", "sqlnet", where=(("side", "=", side),)), "linux")
        yield f"sqlnet {side}", "*", text


@pytest.mark.parametrize(("what", "system", "text"), sorted(set(asked())))
def test_each_command_has_a_cost_and_an_end(what: str, system: str, text: str) -> None:
    cost = cost_of(text)
    assert cost.words
    assert all(word.endswith(".") for word in cost.words)
    assert cost.risk in (NONE, LOW, SOME, HIGH)
    assert cost.seconds <= LONGEST_S.get(what, 600)
    assert cost.mib <= 1000
    assert cost.privilege
    if text.startswith("say "):
        assert (cost.privilege, cost.seconds) == (NOBODY, 0)
    else:
        assert cost.mib > 0


def test_each_command_says_who_runs_it() -> None:
    for _, who in (*collect.COMMANDS.values(), *collect.NARROWER.values()):
        assert who in (collect.SYSADMIN, collect.DBA, collect.NETWORK, collect.TEAM)


@pytest.mark.parametrize(
    "text",
    [
        "truss -f -p 4711",
        "strace -f -o FILE -p 4711",
        "tcpdump -i any -w FILE",
        "vmstat 5",
        "perf top",
        "trace_level_client = 16 in sqlnet.ora",
        "dtrace -n 'profile-997 { @[stack()] = count(); }'",
    ],
)
def test_what_never_ends_is_not_asked_for(text: str) -> None:
    with pytest.raises(NoCost, match="until somebody stops it"):
        cost_of(text)


def test_nobody_knows_what_an_unknown_command_costs() -> None:
    with pytest.raises(NoCost, match="no cost is known"):
        cost_of("frobnicate --all")


def test_costs_of_several_commands_add_up_and_the_worst_risk_counts() -> None:
    both = cost_of("vmstat 5 12; truss -f -o FILE -p 1 & sleep 60; kill -INT $!")
    assert (both.seconds, both.risk, both.mib) == (120, SOME, 501)
    assert "owner of the process" in both.sentence
    assert "half its speed" in both.sentence
    assert cost_of("netstat -s, twice, 60 s apart").mib == 2
    assert "Nothing is run" in cost_of("say how many workers do the work").sentence


def test_bounds_are_read_from_the_text() -> None:
    assert seconds_of("timeout -s INT 60 strace -p PID") == 60
    assert seconds_of("ps every 10 minutes for 4 hours, each with its date") == 14400
    assert seconds_of("lockstat -A sleep 10") == 10
    assert seconds_of("for n in 1 2 3; do date; sleep 1; done") == 3
    assert seconds_of("time 30 connects before and 30 after the change") == 60


def test_a_host_gets_the_commands_of_its_own_version() -> None:
    assert collect.of_system({"*": "a", "solaris": "b", "solaris-10": "c"}, "solaris-10") == "c"
    assert collect.of_system({"*": "a", "solaris": "b"}, "solaris-11") == "b"
    assert collect.of_system({"linux": "b"}, "aix") is None
    assert collect.for_version("vmstat -T d 5 12; pmap -xs PID", "solaris", "5.10") == "vmstat 5 12; pmap -xs PID"
    assert collect.for_version("vmstat -T d 5 12", "solaris", "11.3") == "vmstat -T d 5 12"
    assert collect.for_version("ss -lnt; ss -tan", "linux", "CentOS 5.11") == "netstat -an"
    assert collect.for_version("ss -lnt; ss -tan", None, "5.10") == "ss -lnt; ss -tan"


LINUX_ONLY = ("strace", "/proc/", "perf record", "perf top", "perf lock", "iostat -xn")


@pytest.mark.parametrize("system", ["freebsd", "macos", "windows", "hpux", "netbsd", "plan9"])
def test_no_system_is_asked_for_the_tools_of_linux(system: str) -> None:
    for table in collect.COMMANDS:
        text, _ = collect.command(Need(table, table), system)
        assert not any(tool in text for tool in LINUX_ONLY), (table, text)


def test_a_system_without_a_command_is_asked_for_what_it_would_tell() -> None:
    assert collect.command(Need("syscalls", "syscalls"), "plan9")[0].startswith("a trace of the process's system calls")
    assert collect.command(Need("syscalls", "syscalls"), None)[0].startswith("timeout -s INT 60 strace")
    assert collect.command(Need("microstates", "microstates"), "linux")[0].startswith("what each thread")
    assert collect.of_system({"solaris": "a", "linux": "b"}, "illumos") == "a"
