"""Tests that no condition contains a constant of a published incident: copies with other times, names and hosts, or
without the cause.

The verdict scales with the times, follows the names and the lines, weakens if the confirming evidence is of another
host or kind, and disappears with its cause. Further tests for seed 001 are in test_seed001.py.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from rules.model import Report
from tests.rules.incidents.mutations import (
    Change,
    blamed,
    dropped,
    found,
    judged,
    on_host,
    renamed,
    retimed,
    rewritten,
    scaled,
    scaled_statements,
    weights,
    without,
    without_statements,
)

pytestmark = pytest.mark.drawn(9)  # each judges a whole incident, seven seconds


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    folder = tmp_path_factory.mktemp("published")
    return {number: judged(number, folder / number) for number in ("000", "002", "003", "004")}


def board(report: Report) -> dict[str, int]:
    return {h.code: h.score for h in report.hypotheses if h.score}


def verdict(report: Report) -> tuple[str, str | None, str | None]:
    return report.verdict.state, report.verdict.hypothesis, report.verdict.layer


# --- 000: look-ups of a cluster framework, a fat listener ---------------------------------------------------------------

NAMES_000 = {
    "15697": "812", "8195": "19077", "8197": "19081", "1214": "30111", "25351": "4711", "db1": "ora-7",
    "10.44.29.32": "192.168.7.9", "10.44.29.18": "192.168.7.1", "35705": "51001", "41612": "51002", "41573": "51003",
    "milek1": "one", "milek4": "four", "milek6": "six", "0xFFFFFFFF7FFF4F08": "0xFFFFFFFF7FFE1208", "0x10041CDA8": "0x1004FFDA8",
    " N T P 0 8 1 9 7": " N T P 0 1 9 0 8 1", " N T P 0 1 2 1 6": " N T P 0 3 0 1 1 3",
}  # fmt: skip
LOOKUPS = (1.7165, 1.8324)
"""Seconds from the fourth call of the framework to its last."""

OTHER_SOURCE: tuple[Change, ...] = (
    rewritten("nsswitch.txt", "cluster files .SUCCESS=return. dns", "files dns"),
    rewritten("dtrace-stack.txt", "^nss_cluster.so.1`", "nss_files.so.1`", 5),
    rewritten("dtrace-stack.txt", "cladm", "read", 2),
)


def four_lookups(name: str, text: str) -> str:
    """Remove all look-ups but that of one healthy name: the calls before the storm."""
    if name != "truss-before.txt":
        return text
    lines = text.splitlines(keepends=True)
    calls = [n for n, line in enumerate(lines) if " cladm(" in line]
    return "".join(line for n, line in enumerate(lines) if n not in calls[4:])


@pytest.mark.parametrize(("factor", "tick"), [(0.3, "1500ms"), (3, "15s")])
def test_look_ups_scale(factor: float, tick: str, tmp_path: Path) -> None:
    made = judged(
        "000",
        tmp_path / "case",
        retimed(scaled(factor)),
        scaled_statements(factor, "hist_unit_s", "NSS-001.lookups_s"),
        rewritten("dtrace-loops.txt", "tick-5s", f"tick-{tick}"),
    )
    (storm,) = found(made, "NSS-001")
    assert storm.facts["lookups_s"] == pytest.approx(0.1172 * factor, abs=2e-4)
    assert storm.facts["n"] == 75
    assert storm.facts["cycle_pct"] == pytest.approx(39.6, abs=0.4)
    assert (storm.tier, storm.decibans, storm.severity) == ("corroborated", 20, "major"), "a share of the cycle"
    fork = found(made, "LSN-004")[0]
    assert fork.facts["fork_cpu_s"] == pytest.approx(0.0545 * factor, abs=2e-4)
    assert fork.facts["ratio"] == pytest.approx(3.7, abs=0.05)
    assert fork.severity == ("info" if factor < 1 else "major"), "0.016 and 0.164 s"
    wait = found(made, "LSN-003")[0]
    assert wait.facts["wait_s"] == pytest.approx(0.2806 * factor, abs=3e-4)
    assert wait.severity == ("info" if factor < 1 else "major")
    assert found(made, "LSN-002")[0].facts["wait_s"] == pytest.approx(3.9228 * factor, abs=1e-4)
    capacity = [f.facts["capacity_ps"] for f in found(made, "LSN-001")]
    assert capacity == ([] if factor < 1 else [pytest.approx(3.38 / 3, abs=0.01), pytest.approx(4.97 / 3, abs=0.01)])
    times = next(f for f in found(made, "DQ-007") if f.facts["agg"] == "1")
    assert times.facts["least_ticks"] == 5
    assert verdict(made) == ("cause", "H-NSS", "name_service")


def test_look_ups_by_any_other_name(tmp_path: Path, published: dict[str, Report]) -> None:
    made = judged("000", tmp_path / "case", renamed(NAMES_000))
    assert weights(made) == weights(published["000"])
    assert board(made) == board(published["000"])
    (storm,) = found(made, "NSS-001")
    assert (storm.subject, storm.host) == ("pid 19081", "ora-7")
    assert (found(made, "LSN-004")[0].subject, found(made, "LSN-002")[0].subject) == (
        "pid 812",
        "connection of 192.168.7.9:51001",
    )
    assert verdict(made) == ("cause", "H-NSS", "name_service")


def test_a_setting_of_another_host_confirms_nothing(tmp_path: Path) -> None:
    made = judged("000", tmp_path / "case", on_host("app1", "nsswitch.txt", "dtrace-stack.txt"))
    (storm,) = found(made, "NSS-001")
    assert (storm.host, storm.tier, storm.decibans) == ("db1", "base", 15)
    assert {c.file for c in storm.citations} == {"truss-before.txt"}
    assert [f.host for f in found(made, "NSS-005")] == ["app1"]
    assert verdict(made)[0] == "suspect"


def test_a_setting_of_the_other_kind_confirms_nothing(tmp_path: Path) -> None:
    made = judged("000", tmp_path / "case", *OTHER_SOURCE)
    (storm,) = found(made, "NSS-001")
    assert (storm.tier, storm.decibans, storm.facts["lookups_s"]) == ("base", 15, 0.1172)
    assert not found(made, "NSS-005")
    assert verdict(made)[0] == "suspect"


def test_without_the_look_ups_only_the_fork_is_left(tmp_path: Path) -> None:
    made = judged("000", tmp_path / "case", four_lookups, retimed(without(LOOKUPS), "truss-before.txt"), *OTHER_SOURCE)
    assert "NSS-001" in made.quiet
    assert board(made)["H-NSS"] <= 3
    fork = found(made, "LSN-004")[0]
    assert fork.facts["fork_cpu_s"] == 0.0545
    assert made.verdict.hypothesis == "H-LISTENER"
    assert found(made, "LSN-001")[0].facts["service_s"] == pytest.approx(0.1803, abs=1e-4)


def test_a_healthy_listener_is_blamed_for_nothing(tmp_path: Path) -> None:
    """Check quick look-ups and quick forks without statements: what is left is who waits for whom, and where the trace
    ends.
    """
    made = judged(
        "000",
        tmp_path / "case",
        four_lookups,
        retimed(without((1.5499, 1.5789), (1.5869, 1.6108), LOOKUPS), "truss-before.txt"),
        retimed(without((1.6919, 1.7265)), "truss-after.txt"),
        *OTHER_SOURCE,
        dropped("dtrace-loops.txt"),
        without_statements,
    )
    assert {"NSS-001", "NSS-005"} <= set(made.quiet)
    assert not found(made, "LSN-004")
    assert blamed(made) <= {("LSN-003", "os_kernel")}
    assert {f.severity for f in found(made, "LSN-003")} == {"minor"}
    assert verdict(made) == ("cannot tell", None, None)
    assert made.verdict.sentence.startswith("The evidence ends before the cause")


# --- 001: what test_seed001.py leaves ------------------------------------------------------------------------------------


def test_a_map_of_the_other_kind_speaks_against_the_attach(tmp_path: Path) -> None:
    made = judged("001", tmp_path / "case", rewritten("pmap-smon.txt", r"\[ dism shmid", "[ ism shmid", 6))
    (attach,) = found(made, "SHM-001")
    assert (attach.tier, attach.decibans, attach.facts["shm_kind"]) == ("contradicted", -10, "ism")
    assert not found(made, "SHM-002")
    assert board(made).get("H-OS-SHM", 0) <= 3
    assert verdict(made) == ("cannot tell", None, None)


def test_a_server_wait_longer_than_the_client_s_covers_nothing(tmp_path: Path) -> None:
    made = judged("001", tmp_path / "case", rewritten("listener-trace.txt", "05:58:39:566", "05:58:39:066", 3))
    assert not found(made, "NET-001")
    assert not found(made, "NET-002")
    assert "NET-002" not in {c.rule for c in made.cleared}
    assert not any(c.accepted for c in made.clock_map)
    assert verdict(made) == ("cause", "H-OS-SHM", "os_kernel"), "its own trace accounts for its own request"


def test_hosts_swapped_no_host_is_blamed_for_the_other_s_trace(tmp_path: Path) -> None:
    """Check traces assigned to the gateway, a Windows host, and connect times assigned to the database's host."""

    def swapped(name: str, text: str) -> str:
        other = {"gateway": "db1", "db1": "gateway"}
        return re.sub(r"(?<=host: )(gateway|db1)", lambda m: other[m[1]], text) if name == "case.yaml" else text

    made = judged("001", tmp_path / "case", swapped)
    assert not found(made, "SHM-001")
    assert {f.host for f in found(made, "NET-001")} == {"gateway"}
    assert {f.host for f in found(made, "CMP-001")} == {"db1"}
    assert made.verdict.state in ("suspect", "cannot tell"), "an intervention alone is no cause"


def test_a_map_of_another_host_confirms_no_attach(tmp_path: Path) -> None:
    made = judged(
        "001",
        tmp_path / "case",
        rewritten("case.yaml", r"pmap-smon.txt, host: db1", "pmap-smon.txt, host: db2"),
        rewritten("case.yaml", r"^  db1: .*$", "  db1: {os: solaris, role: db}\n  db2: {os: solaris, role: db}"),
    )
    (attach,) = found(made, "SHM-001")
    assert (attach.tier, attach.decibans, attach.facts["shm_kind"]) == ("base", 10, "unknown")
    assert (found(made, "SHM-002")[0].host, found(made, "SHM-002")[0].severity) == ("db2", "info")
    assert board(made)["H-OS-SHM"] == 20


# --- 002: ten segments to detach, three hundred times --------------------------------------------------------------------

FIGURES_002 = ("SHM-003.sum_s", "SHM-003.storm_cpu_s", "SHM-003.storm_s")
STAMPS_002 = (18.463, 18.4807, 18.5053, 18.5295, 18.5541, 18.5784, 18.6026, 18.6273, 18.6512, 18.6752)


def processors(rates: float, shares: tuple[int, int, int, int] | None = None) -> Change:
    """Change the processor listing: other events per second and, if passed, one split of the time for all."""

    def change(name: str, text: str) -> str:
        if name != "mpstat.txt":
            return text
        head, figures = text.split("idl ", 1)
        numbers = [int(n) for n in figures.split()]
        rows = [numbers[n : n + 13] for n in range(0, len(numbers), 13)]
        told = [[r[0], *(round(n * rates) for n in r[1:9]), *(shares or r[9:])] for r in rows]
        return f"{head}idl {' '.join(str(n) for row in told for n in row)}\n"

    return change


def higher(name: str, text: str) -> str:
    """Move every segment 16 GiB higher, in the author's statements too."""
    if name == "case.yaml":
        return text.replace("0x380000000", "0x780000000")
    return re.sub(r"(?<=shmdt\(0x)[0-9A-F]+", lambda m: f"{int(m[0], 16) + 0x400000000:X}", text)


QUICK = without(*((first + 0.0001, last - 0.0001) for first, last in pairwise(STAMPS_002)))
"""Let each detach take two tenths of a millisecond."""


@pytest.mark.parametrize("factor", [0.3, 3])
def test_a_storm_of_detaches_scales(factor: float, tmp_path: Path) -> None:
    made = judged(
        "002",
        tmp_path / "case",
        retimed(scaled(factor)),
        scaled_statements(factor, *FIGURES_002),
        processors(1 / factor),
    )
    (storm,) = found(made, "SHM-003")
    assert storm.facts["n_calls"] == 10
    assert storm.facts["sum_s"] == pytest.approx(0.2123 * factor, abs=1e-4)
    assert storm.facts["storm_s"] == pytest.approx(3.98 * factor, abs=0.01)
    assert (storm.severity, storm.decibans) == ("minor" if factor < 1 else "critical", 15), "1.19 and 11.94 s"
    spins = found(made, "CPU-003")[0]
    assert spins.facts["n_red"] == (8 if factor < 1 else 2), "the same mutexes fail as often in a third of the time"
    kernel = found(made, "CPU-002")[0]
    assert (kernel.facts["sys"], kernel.severity) == (87.4, "critical")
    assert {f.facts["fact"] for f in found(made, "DQ-009")} == {"sum_s", "storm_cpu_s", "storm_s"}
    assert verdict(made) == ("suspect", "H-OS-SHM", "os_kernel")


def test_a_storm_of_detaches_elsewhere(tmp_path: Path, published: dict[str, Report]) -> None:
    made = judged("002", tmp_path / "case", higher, renamed({"prod1db": "ora-7"}))
    assert weights(made) == weights(published["002"])
    assert board(made) == board(published["002"])
    assert {f.host for f in made.findings} == {"ora-7"}
    (misread,) = found(made, "DQ-008")
    assert (misread.facts["told"], "0x840000000" in str(misread.facts["end_call"])) == ("0x780000000", True)
    assert verdict(made) == ("suspect", "H-OS-SHM", "os_kernel")


def test_processors_of_another_host_confirm_no_storm(tmp_path: Path) -> None:
    made = judged("002", tmp_path / "case", on_host("app1", "mpstat.txt"))
    (storm,) = found(made, "SHM-003")
    assert (storm.host, storm.tier) == ("prod1db", "base")
    assert {c.file for c in storm.citations} == {"truss-exit.txt"}
    assert {f.host for rule in ("CPU-002", "CPU-003", "CPU-008") for f in found(made, rule)} == {"app1"}


def test_idle_processors_confirm_no_storm(tmp_path: Path) -> None:
    made = judged("002", tmp_path / "case", processors(0.2, (18, 4, 0, 78)))
    assert [f.tier for f in found(made, "SHM-003")] == ["base"]
    assert {"CPU-002", "CPU-003"} <= set(made.quiet)
    assert verdict(made)[0] == "suspect"


@pytest.mark.parametrize(
    "change",
    [retimed(QUICK, "truss-exit.txt"), rewritten("case.yaml", "num: 300", "num: 10")],
    ids=["quick detaches", "ten sessions"],
)
def test_without_a_storm_counters_alone_blame_nobody(change: Change, tmp_path: Path) -> None:
    made = judged("002", tmp_path / "case", change)
    assert not found(made, "SHM-003")
    assert blamed(made) == set()
    assert found(made, "SHM-004")[0].severity == "info", "a layout that costs nothing"
    assert verdict(made) == ("cannot tell", None, None)


def test_quick_detaches_on_idle_processors_blame_nobody(tmp_path: Path) -> None:
    made = judged(
        "002",
        tmp_path / "case",
        retimed(QUICK, "truss-exit.txt"),
        processors(0.2, (18, 4, 0, 78)),
        without_statements,
    )
    assert blamed(made) == set()
    assert {"SHM-003", "CPU-002", "CPU-003", "CPU-008"} <= set(made.quiet)
    assert verdict(made) == ("cannot tell", None, None), "an instant shows, which may not be the slow one"


# --- 003: one semaphore set, one spin lock -------------------------------------------------------------------------------

NAMES_003 = {
    "1347842": "98305",
    "12941057": "21703937",
    "12973826": "21736706",
    "12006595": "20769475",
    "exa1": "ora-7",
    "ora_xxxx": "ora_p001",
}
ANOTHER_LOCK: tuple[Change, ...] = (
    rewritten("perf-report.txt", "ipc_lock_check", "do_wait_check"),
    rewritten("perf-report.txt", r"\bipc_lock\b", "do_wait"),
    rewritten("perf-report.txt", "semctl_main", "do_wait4"),
    rewritten("perf-report.txt", "sys_semctl", "sys_wait4"),
    rewritten("perf-report.txt", "__semctl", "__wait4"),
    rewritten("perf-top.txt", "try_atomic_semop", "copy_user_generic"),
)
NO_SPIN: tuple[Change, ...] = (
    rewritten("perf-top.txt", "1889395.00 67.8%", "8360.00 0.3%"),
    rewritten("perf-top.txt", "kernel:76.4%", "kernel: 8.9%"),
    dropped("perf-report.txt"),
)


def spread(name: str, text: str) -> str:
    """Send each post to a set of its own."""
    if name != "strace.txt":
        return text
    lines = text.splitlines(keepends=True)
    return "".join(line.replace("1347842", str(13137665 + 32769 * n)) for n, line in enumerate(lines))


def lower(name: str, text: str) -> str:
    """Lower the semaphore numbers in the set."""
    moved = lambda m: f"{m[1]}{int(m[2]) - 300}"  # noqa: E731
    return re.sub(r"(semctl\(\d+, )(\d+)", moved, text) if name == "strace.txt" else text


@pytest.mark.parametrize("factor", [0.3, 3])
def test_one_set_whatever_the_time_of_sampling(factor: float, tmp_path: Path, published: dict[str, Report]) -> None:
    """Check a profile taken for a third or three times as long, at another interrupt rate: shares stay."""

    def longer(name: str, text: str) -> str:
        if name != "perf-top.txt":
            return text
        text = re.sub(r"(?m)^(\d+)\.00 ", lambda m: f"{round(int(m[1]) * factor)}.00 ", text)
        return text.replace("129074", str(round(129074 * factor))).replace("[1000Hz", f"[{round(1000 * factor)}Hz")

    made = judged("003", tmp_path / "case", longer)
    assert weights(made) == weights(published["003"])
    assert verdict(made) == ("cause", "H-OS-SEM", "os_kernel")


def test_a_smaller_share_weighs_less(tmp_path: Path) -> None:
    """Check a share just over the threshold of one in five, and below that of a function that dominates the profile."""
    made = judged("003", tmp_path / "case", rewritten("perf-top.txt", "67.8%", "20.3%"))
    (crowd,) = found(made, "SEM-001")
    assert (crowd.tier, crowd.severity, crowd.facts["spin_pct"]) == ("corroborated", "major", 20.3)
    assert not found(made, "CPU-010"), "under a third of all samples"


def test_one_set_by_any_other_name(tmp_path: Path, published: dict[str, Report]) -> None:
    made = judged("003", tmp_path / "case", renamed(NAMES_003), lower)
    (crowd,) = found(made, "SEM-001")
    assert (crowd.subject, crowd.host, crowd.facts["lo"], crowd.facts["hi"]) == (
        "semaphore set 98305",
        "ora-7",
        32,
        106,
    )
    assert weights(made) == weights(published["003"])
    assert board(made) == board(published["003"])
    assert verdict(made) == ("cause", "H-OS-SEM", "os_kernel")


def test_a_profile_of_another_host_convicts_no_set_of_this_one(tmp_path: Path) -> None:
    made = judged("003", tmp_path / "case", on_host("app1", "perf-top.txt", "perf-report.txt"))
    crowds = {f.host: f for f in found(made, "SEM-001")}
    assert {h: (f.tier, f.decibans) for h, f in crowds.items()} == {"app1": ("base", 6), "exa1": ("base", 6)}
    assert crowds["exa1"].severity == "info", "that no processor is seen spinning there"
    assert [f.host for f in found(made, "CPU-010")] == ["app1"]
    assert made.verdict.hypothesis != "H-OS-SEM"
    assert verdict(made)[0] == "suspect"


def test_posts_to_many_sets_are_no_crowd(tmp_path: Path) -> None:
    made = judged("003", tmp_path / "case", spread)
    assert [(f.tier, f.decibans, f.subject) for f in found(made, "SEM-001")] == [("base", 6, "semaphore sets")]
    assert verdict(made) == ("suspect", "H-OS-LOCK", "os_kernel"), "the profile still names a lock"


def test_a_lock_of_another_kind_is_not_the_sets(tmp_path: Path) -> None:
    made = judged("003", tmp_path / "case", *ANOTHER_LOCK)
    assert [(f.tier, f.decibans, f.severity) for f in found(made, "SEM-001")] == [("base", 6, "info")]
    (lock,) = found(made, "CPU-010")
    assert "do_wait" in lock.headline
    assert verdict(made) == ("suspect", "H-OS-LOCK", "os_kernel")


def test_a_newer_kernel_halves_it(tmp_path: Path) -> None:
    """Check that from kernel 3.10 on a post takes the lock of one semaphore only."""
    made = judged(
        "003", tmp_path / "case", lambda _, text: text.replace("2.6.39-400.128.17.el5uek", "4.14.35-1902.el7uek")
    )
    (crowd,) = found(made, "SEM-001")
    assert (crowd.tier, crowd.decibans) == ("corroborated", 10)
    assert verdict(made)[0] == "suspect"


def test_without_the_spin_nobody_is_blamed(tmp_path: Path) -> None:
    made = judged("003", tmp_path / "case", *NO_SPIN)
    assert blamed(made) == set()
    assert [(f.tier, f.severity) for f in found(made, "SEM-001")] == [("base", "info")]
    assert not found(made, "CPU-010")
    assert verdict(made) == ("cannot tell", None, None)


# --- 004: a batch starts, and less gets done -----------------------------------------------------------------------------

BATCH = r"^185(\s+)87914(\s+)34261(\s+)12 80(\s+)8"


@pytest.mark.parametrize("factor", [0.3, 3])
def test_less_work_at_any_rate(factor: float, tmp_path: Path, published: dict[str, Report]) -> None:
    """Check a host that does everything three times as fast or slow: proportions and shares stay."""

    def faster(name: str, text: str) -> str:
        rates = re.compile(r"(?m)^(\s*\d+\s+)(\d+)(\s+)(\d+)(?=\s+\d+\s+\d+\s+\d+\s+\d\d:)")
        told, n = rates.subn(lambda m: f"{m[1]}{round(int(m[2]) / factor)}{m[3]}{round(int(m[4]) / factor)}", text)
        assert n == (2 if name == "vmstat.txt" else 0)
        return told

    made = judged("004", tmp_path / "case", faster)
    (thrash,) = found(made, "CPU-005")
    assert (thrash.facts["cs_x"], thrash.facts["ratio_x"]) == (4.62, 13.2)
    assert weights(made) == weights(published["004"])
    assert verdict(made) == ("undecided", "H-OS-CPU", "os_kernel")


def test_less_work_by_any_other_name(tmp_path: Path, published: dict[str, Report]) -> None:
    made = judged("004", tmp_path / "case", renamed({"aix1": "p7", "batch": "night", "normal": "day"}, "case.yaml"))
    (thrash,) = found(made, "CPU-005")
    assert (thrash.host, thrash.subject) == ("p7", "processors in night")
    assert weights(made) == weights(published["004"])
    assert board(made) == board(published["004"])


def test_the_lines_say_which_phase_is_the_bad_one(tmp_path: Path, published: dict[str, Report]) -> None:
    """Check that swapped phase names still show the row that thrashes."""
    other = {"batch": "normal", "normal": "batch"}
    made = judged("004", tmp_path / "case", renamed(other, "case.yaml"))
    (thrash,) = found(made, "CPU-005")
    assert thrash.subject == "processors in normal"
    cited = {f.rule: {(c.line_from, c.line_to) for c in f.citations} for f in published["004"].findings}
    assert {(c.line_from, c.line_to) for c in thrash.citations} == cited["CPU-005"]
    assert (thrash.facts["sys_before"], thrash.facts["sys_after"]) == (2, 80)


def test_rows_of_two_hosts_are_not_compared(tmp_path: Path) -> None:
    def apart(name: str, text: str) -> str:
        if name == "vmstat.txt":
            return "".join(line for line in text.splitlines(keepends=True) if "batch" not in line)
        if name != "case.yaml":
            return text
        text = text.replace("  aix1: {os: aix, role: db}", "  aix1: {os: aix, role: db}\n  aix2: {os: aix, role: db}")
        text = text.replace("phase: normal}\n", "phase: normal}\n  - {file: other.txt, host: aix2, phase: batch}\n", 1)
        return re.sub(r"phases:\n.*\n", "", text)

    text = (Path(__file__).parents[2] / "cases" / "004" / "vmstat.txt").read_text(encoding="utf-8")
    (tmp_path / "case").mkdir()
    kept = "".join(line for line in text.splitlines(keepends=True) if "normal" not in line)
    (tmp_path / "case" / "other.txt").write_text(kept, encoding="utf-8")
    made = judged("004", tmp_path / "case", apart)
    assert not found(made, "CPU-005")
    assert {f.host for f in found(made, "CPU-002")} == {"aix2"}
    assert blamed(made) == set()
    assert verdict(made) == ("cannot tell", None, None)


@pytest.mark.parametrize(
    "row",
    [r" 41\g<1>270806\g<2>8112\g<3>38  3\g<4>59", r"185\g<1>877821\g<2>25942\g<3>82 18\g<4>0"],
    ids=["a little more work", "five times the work"],
)
def test_more_work_is_no_thrash(row: str, tmp_path: Path) -> None:
    """Check that context switches in proportion to system calls are work, and a long queue without a processor count
    proves nothing.
    """
    made = judged("004", tmp_path / "case", rewritten("vmstat.txt", BATCH, row), without_statements)
    assert {"CPU-005", "CPU-002"} <= set(made.quiet)
    assert blamed(made) == set()
    assert verdict(made) == ("cannot tell", None, None)


def test_without_words_on_dead_processes_there_is_one_suspect(tmp_path: Path) -> None:
    made = judged("004", tmp_path / "case", without_statements)
    assert not found(made, "CPU-006")
    assert verdict(made) == ("suspect", "H-OS-CPU", "os_kernel")
    assert board(made) == {"H-OS-CPU": 10}
