"""Tests of the kinds of leaf functions in profiles.

perf top:   |==== lock 67.8 ====|=1.0=|.8|  kernel     |.6 user|
two stacks: |== memcpy 3 samples ==|= brk 1 =|         shares of the samples, 75 and 25 %
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from rules.case.case import Case
from rules.derived.profile_kinds import kind_of


def kinds(case: Case) -> dict[tuple[str, bool | None], float]:
    return {(r["kind"], r["kernel"]): round(r["pct"], 1) for r in case.derived("profile_kinds").iter_rows(named=True)}


def symbol(name: str, pct: float, line: int, *, kernel: bool = True, **more: Any) -> dict[str, Any]:
    return {"line_no": line, "symbol": name, "pct": pct, "kernel": kernel, **more}


def test_symbols_of_one_kind_are_added() -> None:
    rows = [
        symbol("__ticket_spin_lock", 67.8, 1), symbol("ktime_get", 1.0, 2), symbol("weighted_cpuload", 0.9, 3),
        symbol("find_busiest_group", 0.8, 4), symbol("kafger", 0.6, 5, kernel=False), symbol("kgxSharedExamine", 0.3, 6, kernel=False),
    ]  # fmt: skip
    case = Case.of_tables({"profile_symbols": rows})
    assert kinds(case) == {
        ("lock", True): 67.8,
        ("scheduler", True): 1.7,
        ("other kernel", True): 1.0,
        ("other user", False): 0.6,
        ("lock", False): 0.3,
    }
    (lock, *_) = case.derived("profile_kinds").iter_rows(named=True)
    assert (lock["symbol"], lock["line_no"], round(lock["listed_pct"], 1)) == ("__ticket_spin_lock", 1, 71.4)


def test_the_own_share_counts_where_the_listing_has_both() -> None:
    case = Case.of_tables({"profile_symbols": [symbol("do_syscall_64", 90.0, 1, self_pct=2.0)]})
    assert kinds(case) == {("syscall entry", True): 2.0}


def test_stacks_are_weighed_and_a_single_one_is_no_profile() -> None:
    two = [{"line_no": 1, "leaf": "libc.so.1`memcpy+0x10", "weight": 3.0, "unit": "count", "kernel": False},
           {"line_no": 9, "leaf": "brk", "weight": 1.0, "unit": "count", "kernel": True}]  # fmt: skip
    assert kinds(Case.of_tables({"profile_stacks": two})) == {("copy", False): 75.0, ("other kernel", True): 25.0}
    assert kinds(Case.of_tables({"profile_stacks": two[:1]})) == {}
    blocked = [row | {"unit": "ns", "leaf": "finish_task_switch"} for row in two]
    assert kinds(Case.of_tables({"profile_stacks": blocked})) == {}


@pytest.mark.parametrize(
    ("name", "kernel", "kind"),
    [
        ("native_queued_spin_lock_slowpath", True, "lock"), ("unix`mutex_vector_enter", True, "lock"), ("_raw_spin_lock+0x1d", True, "lock"),
        ("intel_idle", True, "idle"), ("shrink_lruvec", True, "memory"), ("clear_page_erms", True, "copy"), ("asm_exc_page_fault", True, "page fault"),
        ("G1ParScanThreadState::copy_to_survivor_space", False, "garbage collection"), ("tcp_sendmsg", True, "network"), ("main", False, "other user"),
        ("some_driver_isr_like_thing", True, "other kernel"), ("memcg_stat_show", True, "control groups"),
        ("mem_cgroup_iter", True, "control groups"),
        ("memcg_charge", True, "memory"), ("std::__introsort_loop", False, "other user"), ("boost::intrusive_ptr<T>::reset", False, "other user"),
        ("chat_dispatch", False, "other user"), ("class_lock", False, "other user"), ("reschedule_job", False, "other user"),
        ("tcp_parse", False, "other user"),
        ("hmac_update", None, "other user"), ("_int_malloc", False, "memory"), ("__memmove_avx_unaligned", False, "copy"),
        ("handle_irq_event", True, "interrupt"),
        ("ixgbe_intr", True, "interrupt"), ("__schedule", True, "scheduler"), ("ScanOopClosure", False, "garbage collection"),
        ("aesni_ctr_enc", True, "crypto"),
    ],
)  # fmt: skip
def test_names(name: str, kernel: bool | None, kind: str) -> None:
    frame = pl.DataFrame({"symbol": [name], "kernel": [kernel]}, schema={"symbol": pl.String, "kernel": pl.Boolean})
    assert frame.select(kind_of(pl.col("symbol"), pl.col("kernel"))).item() == kind
