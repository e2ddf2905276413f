"""Tests that a measure stands out if a quarter of its samples exceed the bound; all others are normal measures."""

from __future__ import annotations

from typing import Any

import pytest

from rules.case.case import Case
from rules.observers.observer import Sighting
from rules.observers.saturation import observe
from rules.signatures.signatures import recognise


def seen(**tables: list[dict[str, Any]]) -> dict[str, Sighting]:
    rows = {name: [{"line_no": n, **row} for n, row in enumerate(held, 2)] for name, held in tables.items()}
    return {s.name: s for s in observe(Case.of_tables(rows))}


def busy(*idle: float) -> list[dict[str, Any]]:
    return [{"idle": value, "wa": 0.0, "st": 0.0, "r": 4} for value in idle]


@pytest.mark.parametrize(("idle", "stands"), [(20.0, True), (20.1, False)])
def test_processors_are_full_from_four_fifths(idle: float, stands: bool) -> None:
    made = seen(vmstat=busy(idle))["cpu_busy_pct"]
    assert made.normal is not stands
    assert made.value == pytest.approx(100 - idle)
    assert made.share == pytest.approx(1 - idle / 100)


@pytest.mark.parametrize(("system", "kind"), [(10.0, "kept"), (90.0, "saturation")])
def test_a_part_of_the_busy_time_stands_beside_it_and_alone_only_beyond_its_bound(system: float, kind: str) -> None:
    made = seen(vmstat=[{"idle": 5.0, "usr": 95.0 - system, "sys": system}])
    assert made["cpu_busy_pct"].beside is not None
    assert (made["cpu_sys_pct"].kind, made["cpu_user_pct"].kind, made["cpu_idle_pct"].kind) == (kind, "kept", "kept")


@pytest.mark.parametrize(("full", "stands"), [(1, True), (0, False)])
def test_a_quarter_of_the_samples_is_enough(full: int, stands: bool) -> None:
    made = seen(vmstat=busy(*[5.0] * full, *[60.0] * (4 - full)))["cpu_busy_pct"]
    assert made.normal is not stands


def test_the_worst_sample_is_cited_and_the_median_told() -> None:
    made = seen(vmstat=busy(10.0, 2.0, 8.0))["cpu_busy_pct"]
    assert [(c.line_from, c.role) for c in made.lines] == [(3, "worst sample")]
    assert made.headline == "The processors were 92 % busy (98 % at worst, 3 of 3 samples over the bound)"
    assert made.value == 92


def test_rows_since_boot_are_left_out_unless_nothing_else_is_there() -> None:
    boot = {"idle": 1.0, "wa": 0.0, "st": 0.0, "first": True}
    assert seen(vmstat=[boot, *busy(60.0)])["cpu_busy_pct"].normal
    assert seen(vmstat=[boot])["cpu_busy_pct"].headline.endswith(", counted since boot")


def test_a_device_that_hardly_works_may_be_slow() -> None:
    slow = {"device": "sda", "busy_pct": 3.0, "resp_ms": 90.0, "w_ps": 0.0}
    assert "disk_response_ms" not in seen(iostat=[{**slow, "r_ps": 0.5}])
    made = seen(iostat=[{**slow, "r_ps": 12.0}])
    assert not made["disk_response_ms"].normal
    assert made["disk_response_ms"].subject == "sda response"
    assert made["disk_busy_pct"].normal


def test_free_memory_is_what_is_available() -> None:
    rows = [
        {"sample": 1, "name": n, "value": v}
        for n, v in (("MemTotal", 1000.0), ("MemFree", 10.0), ("MemAvailable", 400.0))
    ]
    made = {
        s.name: s for s in observe(Case.of_tables({"meminfo": [{"line_no": n, **r} for n, r in enumerate(rows, 1)]}))
    }
    assert made["free_memory_pct"].value == pytest.approx(40.0)
    assert made["free_memory_pct"].normal


def test_pressure_stands_out() -> None:
    row = {"grp": "pressure", "item": "io", "name": "some.avg10", "value": 35.0}
    assert not seen(counters=[row])["io_pressure_pct"].normal


@pytest.mark.parametrize(("full", "stands"), [(45.0, True), (0.5, False)])
def test_a_host_whose_tasks_all_wait_for_memory(full: float, stands: bool) -> None:
    rows = [
        {"grp": "pressure", "item": "memory", "name": f"{whose}.avg10", "value": v}
        for whose, v in (("some", 60.0), ("full", full))
    ]
    made = seen(counters=rows)
    assert ("memory_stall_pct" in made) is stands
    assert not made["memory_pressure_pct"].normal


def test_a_host_without_any_work_for_want_of_memory_is_most_of_a_whole() -> None:
    row = {"grp": "pressure", "item": "memory", "name": "full.avg10", "value": 33.0}
    assert seen(counters=[row])["memory_stall_pct"].share == pytest.approx(0.66)


def test_pressure_of_a_file_without_its_name_is_told_and_names_no_resource() -> None:
    rows = [
        {"grp": "cgroup", "item": "group", "name": f"{whose}.avg10", "value": v}
        for whose, v in (("some", 60.0), ("full", 44.0))
    ]
    made = seen(counters=rows)
    assert made["full_pressure_pct"].headline.startswith("Everybody who had work waited 44 % of the time")
    assert {name for name, one in made.items() if not one.normal} == {"some_pressure_pct", "full_pressure_pct"}
    assert not [one for name in made for one in recognise(counter=name)]


def test_pressure_says_how_it_went() -> None:
    row = {"line_no": 2, "grp": "cgroup", "name": "cpu.pressure.some.avg10", "value": 99.0}
    longer = [{**row, "name": f"cpu.pressure.some.avg{n}", "value": v} for n, v in ((60, 70.0), (300, 40.0))]
    (made,) = seen(counters=[row, *longer]).values()
    assert (made.value, made.beside) == (99.0, "meanwhile its mean of a minute was 70 %, that of five minutes 40 %")
    (made,) = seen(counters=[row]).values()
    assert made.beside is None


def test_nothing_is_seen_in_nothing_and_in_nonsense() -> None:
    assert seen() == {}
    assert seen(vmstat=[{"idle": float("nan"), "r": None}]) == {}


def test_single_processors_stand_for_the_host_where_nothing_else_does() -> None:
    rows: list[dict[str, Any]] = [
        {"line_no": 2 + n, "sample": 1, "cpu": n, "usr": 90.0 + n, "sys": 1.0, "idle": 9.0 - n} for n in range(4)
    ]
    rows[0]["clock"] = "a"
    made = {s.name: s for s in observe(Case.of_tables({"mpstat": rows}))}
    assert made["cpu_busy_pct"].value == 92.5
    assert made["cpu_user_pct"].headline == "Programs took 91.5 % of the processors (91.5 % at worst)"
    whole = [{"line_no": 1, "usr": 10.0, "sys": 0.0, "idle": 90.0}]
    both = {s.name: s for s in observe(Case.of_tables({"mpstat": rows, "vmstat": whole}))}
    assert both["cpu_busy_pct"].value == 10.0


@pytest.mark.parametrize(("rates", "share"), [((1500.0, 1500.0, 10.0, 1000.0), 0.75), ((10.0, 5.0), 0.0)])
def test_swapping_weighs_by_the_samples_in_which_it_is_felt(rates: tuple[float, ...], share: float) -> None:
    rows = [{"line_no": n, "so_kbps": v} for n, v in enumerate(rates, 1)]
    (made,) = [s for s in observe(Case.of_tables({"vmstat": rows})) if s.name == "swap_out_kbps"]
    assert made.share == share
    assert not made.normal


def test_swapping_is_told_with_what_was_free() -> None:
    made = seen(vmstat=[{"so_kbps": 900.0, "free_kb": 14_000_000.0, "w": 0}])["swap_out_kbps"]
    assert made.beside == "meanwhile at least 14,000,000 kB were free"


def left(**values: float) -> Sighting:
    row = {"sample": 1, "part": 1, "unit": "kb"}
    rows = [{**row, "line_no": n, "name": k, "value": v} for n, (k, v) in enumerate(values.items(), 2)]
    (made,) = observe(Case.of_tables({"meminfo": rows}))
    return made


def test_available_memory_is_told_as_a_part_and_in_kb() -> None:
    made = left(MemTotal=8e6, MemFree=1e5, MemAvailable=2e5)
    assert made.headline == "2.50 % of the memory was free or could be freed (least: 2.50 %)"
    assert (made.beside, made.normal) == ("meanwhile there were at least 200,000 kB of it", False)


def test_little_free_memory_says_nothing_where_the_cache_could_give_more() -> None:
    made = left(MemTotal=8e6, MemFree=1e5, Cached=5e6)
    assert made.headline.startswith("1.25 % of the memory was free, not counting what the file cache would give back")
    assert (made.normal, made.seen) == (True, ())


@pytest.mark.parametrize(("used", "normal"), [(8_900.0, True), (9_000.0, False)])
def test_virtual_swap_is_told_with_what_is_left_of_it(used: float, normal: bool) -> None:
    figures = {"swap allocated": 1.0, "swap reserved": 1.0, "swap used": used, "swap available": 10_000.0 - used}
    rows = [{"line_no": 2, "sample": 1, "part": 1, "name": k, "value": v} for k, v in figures.items()]
    (made,) = observe(Case.of_tables({"meminfo": rows}))
    assert made.headline.startswith(
        f"{used / 100:.0f} % of the virtual swap, which is memory and disk together, was used"
    )
    assert (
        made.beside
        == f"meanwhile {used:,.0f} kB were used, 1 kB of these were only reserved, at least {10_000 - used:,.0f} kB were available"
    )
    assert (made.normal, made.lines[0].line_from) == (normal, 2)


def test_blocked_threads_are_told_by_their_most_where_half_of_the_samples_have_none() -> None:
    made = seen(vmstat=[{"b": v} for v in (0.0, 0.0, 0.0, 3.0)])["blocked_threads"]
    assert made.headline == "Up to 3 threads were blocked, as a rule for reads and writes (0 in the median)"
    assert not made.normal


@pytest.mark.parametrize(("soft", "stands"), [(9.0, True), (0.5, False)])
def test_interrupts_are_told_beside_the_kernel_s_own_time_and_count_as_the_kernel_s(soft: float, stands: bool) -> None:
    row = {"usr": 0.4, "sys": 0.5, "irq": 11.0, "soft": soft, "idle": 88.1 - soft}
    made = seen(vmstat=[row])
    assert made["cpu_interrupt_pct"].normal is not stands
    assert made["cpu_sys_pct"].value == pytest.approx(11.5 + soft)
    assert f"hard interrupts 11 %, soft interrupts {'9' if stands else '0.50'} %" in (made["cpu_busy_pct"].beside or "")


@pytest.mark.parametrize(("idle", "share"), [(15.0, 44.0 / 85.0), (21.0, 0.44)])
def test_interrupts_are_a_part_of_what_full_processors_do(idle: float, share: float) -> None:
    made = seen(vmstat=[{"usr": 56.0 - idle, "sys": 0.0, "irq": 4.0, "soft": 40.0, "idle": idle}])
    assert made["cpu_interrupt_pct"].share == pytest.approx(share)


def test_a_tool_that_prints_no_interrupts_has_no_measure_of_them() -> None:
    made = seen(vmstat=[{"usr": 1.0, "sys": 2.0, "idle": 97.0}], mpstat=[{"cpu": 0, "sys": 1.0, "idle": 99.0}])
    assert "cpu_interrupt_pct" not in made
    assert made["cpu_sys_pct"].value == 2.0


def test_interrupts_of_single_processors_are_those_of_all() -> None:
    rows = [{"sample": 1, "cpu": n, "idle": 50.0, "sys": 0.0, "irq": 0.0, "soft": 50.0 * n} for n in range(2)]
    assert seen(mpstat=rows)["cpu_interrupt_pct"].value == 25.0


def test_pressure_of_a_quiet_host_says_for_what_nobody_waited() -> None:
    rows = [
        {"grp": "cgroup", "name": f"{resource}.pressure.some.avg10", "value": value}
        for resource, value in (("cpu", 0.5), ("io", 0.0), ("memory", 0.0))
    ]
    made = seen(counters=rows)["cpu_pressure_pct"]
    assert made.normal
    assert made.beside == "nobody waited for memory or io"
    assert [(line.line_from, line.role) for line in made.lines[1:]] == [(4, "no pressure"), (3, "no pressure")]


def reservable(used: float, left: float) -> list[dict[str, Any]]:
    total = [{"line_no": 9, "name": name, "value": v} for name, v in (("swap used", used), ("swap available", left))]
    return [{"sample": 1, **row} for row in ({"line_no": 7, "name": "swap reserved", "value": 40.0}, *total)]


@pytest.mark.parametrize(("left", "full"), [(19.0, True), (21.0, False), (900.0, False)])
def test_swap_that_nobody_can_reserve_is_full_however_empty_its_devices(left: float, full: bool) -> None:
    made = seen(meminfo=reservable(1000.0 - left, left))["virtual_swap_used_pct"]
    assert made.seen == (({"counter": "virtual_swap_full_pct"},) if full else ())
    assert "40 kB of these were only reserved" in (made.beside or "")
    assert made.lines[-1].line_from == 7


@pytest.mark.parametrize(("idle", "wait", "stolen", "share"), [(20.0, 0.0, 60.0, 0.75), (30.0, 30.0, 20.0, 0.5)])
def test_stolen_time_is_a_part_of_what_the_guest_wanted(idle: float, wait: float, stolen: float, share: float) -> None:
    made = seen(vmstat=[{"idle": idle, "wa": wait, "st": stolen}])["cpu_steal_pct"]
    assert made.value == pytest.approx(stolen)
    assert made.share == pytest.approx(share)


@pytest.mark.parametrize(("busy", "share"), [(19.0, 0.75), (50.0, 1.0), (None, 1.0)])
def test_a_slow_device_that_rests_most_of_the_time_weighs_less(busy: float | None, share: float) -> None:
    row = {"device": "sdk", "r_ps": 10.0, "w_ps": 3.0, "resp_ms": 59.0, "busy_pct": busy}
    assert seen(iostat=[row])["disk_response_ms"].share == share


def test_a_slow_device_since_the_start_of_the_host_weighs_half() -> None:
    row = {"device": "sdk", "r_ps": 10.0, "w_ps": 3.0, "resp_ms": 59.0, "busy_pct": 90.0, "first": True}
    assert seen(iostat=[row])["disk_response_ms"].share == 0.5


def test_a_device_answers_as_its_reads_and_writes_together_do() -> None:
    row = {"device": "sdk", "r_ps": 10.0, "w_ps": 30.0, "r_resp_ms": 2.0, "w_resp_ms": 82.0}
    assert seen(iostat=[row])["disk_response_ms"].value == pytest.approx(62.0)
    assert seen(iostat=[row | {"r_ps": 0.0, "r_resp_ms": 0.0}])["disk_response_ms"].value == pytest.approx(82.0)


@pytest.mark.parametrize(("times", "stands"), [((80.0,), True), ((80.0, 2.0), False), ((80.0, 60.0, 2.0), True)])
def test_one_slow_sample_of_several_is_a_moment(times: tuple[float, ...], stands: bool) -> None:
    rows = [
        {"line_no": n, "sample": n, "t_local": float(n), "device": "sda", "r_ps": 90.0, "w_ps": 0.0, "resp_ms": ms}
        for n, ms in enumerate(times, 1)
    ]
    assert seen(iostat=rows)["disk_response_ms"].normal is not stands


@pytest.mark.parametrize(("capped", "ec", "stands"), [(True, 99.5, True), (True, 80.0, False), (False, 99.5, None)])
def test_a_partition_that_may_not_take_more(capped: bool, ec: float, stands: bool | None) -> None:
    rows = [{"artifact_id": 1, "ec": ec} for _ in range(3)]
    made = seen(vmstat=rows, hosts=[{"artifact_id": 1, "capped": capped}])
    assert (not made["capped_entitlement_pct"].normal if "capped_entitlement_pct" in made else None) is stands


def test_paging_space_that_a_tool_adds_up() -> None:
    listed = [
        {"name": "paging space", "value": 4e6, "unit": "kb"},
        {"name": "paging space used", "value": 96.0, "unit": "pct"},
    ]
    counted = [
        {"name": "pg space size", "value": 5e5, "unit": "pages"},
        {"name": "pg space inuse", "value": 4.7e5, "unit": "pages"},
    ]
    for rows, value in ((listed, "96 %"), (counted, "94 %")):
        meminfo = [{"line_no": 3, "sample": 1, **row} for row in rows]
        (made,) = (s for s in observe(Case.of_tables({"meminfo": meminfo})) if s.name == "paging_space_pct")
        assert made.headline == f"Of the paging space in all, {value} are used ({value} at worst)"
        assert not made.normal


def test_a_full_paging_space() -> None:
    rows = [
        {"name": f"paging space {name} used", "value": value, "unit": "pct"}
        for name, value in (("hd6", 97.0), ("more", 12.0))
    ]
    made = list(observe(Case.of_tables({"meminfo": [{"line_no": 3 + n, **row} for n, row in enumerate(rows)]})))
    assert [(s.headline, s.normal) for s in made] == [
        ("Of the paging space hd6, 97 % are used (97 % at worst)", False),
        ("Of the paging space more, 12 % are used (12 % at worst)", True),
    ]


def memory(available: float, swap: float, swap_free: float) -> list[dict[str, Any]]:
    listed = {"MemTotal": 5000.0, "MemAvailable": available, "SwapTotal": swap, "SwapFree": swap_free}
    return [{"sample": 1, "name": name, "value": v, "unit": "kb"} for name, v in listed.items()]


@pytest.mark.parametrize(
    ("available", "swap", "swap_free", "mechanism", "words"),
    [
        (40.0, 3000.0, 30.0, "paging", "and 99 % of the swap was used"),
        (40.0, 0.0, 0.0, "memory-reclaim", "and there is no swap"),
        (40.0, 3000.0, 2000.0, None, ""),
        (140.0, 3000.0, 30.0, None, ""),
    ],
)
def test_a_host_that_has_neither_memory_nor_swap_left(
    available: float, swap: float, swap_free: float, mechanism: str | None, words: str
) -> None:
    """Little memory alone is short; with full or no swap nothing is left to give out."""
    made = seen(meminfo=memory(available, swap, swap_free))["free_memory_pct"]
    assert made.headline.endswith(words)
    outright = [one.mechanism for one in recognise(**made.seen[0]) if one.strength == "mechanism"] if made.seen else []
    assert outright == ([mechanism] if mechanism else [])


@pytest.mark.parametrize(("left", "normal"), [(1600.0, True), (1400.0, False)])
def test_the_used_part_of_the_swap_of_a_list_of_memory(left: float, normal: bool) -> None:
    assert seen(meminfo=memory(4000.0, 3000.0, left))["swap_used_pct"].normal is normal


@pytest.mark.parametrize(("available", "known"), [(490.0, True), (510.0, False)])
def test_a_full_swap_of_a_host_with_memory_to_give_out_names_nothing(available: float, known: bool) -> None:
    assert bool(seen(meminfo=memory(available, 3000.0, 30.0))["swap_used_pct"].seen) is known


@pytest.mark.parametrize(("user", "mostly"), [(33.0, True), (34.0, False)])
def test_the_kernel_is_at_work_from_twice_the_time_of_programs(user: float, mostly: bool) -> None:
    row = {"line_no": 1, "sample": 1, "usr": user, "sys": 66.0, "idle": 34.0 - user}
    made = list(observe(Case.of_tables({"vmstat": [row]})))
    assert any(s.name == "cpu_mostly_sys_pct" and not s.normal for s in made) is mostly
