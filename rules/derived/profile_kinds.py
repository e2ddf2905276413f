"""Kinds of work in a profile: one row per artifact, event, kind of leaf and side (kernel or user).

Inputs: `profile_symbols` (perf top, perf report flat), `profile_stacks` (call graphs, scripts, collapsed stacks; used where an artifact
and event has no symbols), `profile_meta`.
Columns: event, kind (lock, copy, page fault, memory, control groups, syscall entry, scheduler, interrupt, idle, file system, network,
crypto, garbage collection, other kernel, other user), `kernel` (true, false, NULL if unknown), `pct` (of all samples; 0 to 100), n (symbols), `symbol`
(the largest), `symbol_pct`, line_no (the largest symbol's line), line_end, `listed_pct` (how much of the samples the listing covers).
A kind says what the leaf function does, not who called it: see the callers for that. Names are matched, so an unknown
name is "other"; words of a kernel only in its own functions or where the side is unknown. "control groups" is the walk
over groups and the printing of their statistics, which grows with the number of groups.
Worked example: __ticket_spin_lock 67.8 %, ktime_get 1.0 %, find_busiest_group 0.8 %, all kernel: lock 67.8, other kernel 1.0, scheduler 0.8.
Cost: linear in the symbols. Source: names of the kernels' own functions (Linux kernel/locking, mm, sched; illumos
usr/src/uts).
"""

from __future__ import annotations

from typing import Final

import polars as pl

from rules.derived.derived_table import PLACE, PLACE_COLUMNS, CaseTables, DerivedTable, Scope

TABLE = DerivedTable(
    "profile_kinds",
    {
        **PLACE,
        "event": pl.String(),
        "kind": pl.String(),
        "kernel": pl.Boolean(),
        "pct": pl.Float64(),
        "n": pl.Int64(),
        "symbol": pl.String(),
        "symbol_pct": pl.Float64(),
        "line_no": pl.Int64(),
        "line_end": pl.Int64(),
        "listed_pct": pl.Float64(),
    },
)
NEEDS = ("profile_symbols", "profile_stacks", "profile_meta")
SCOPE: Scope = "artifact"
VERSION = "2"

ENTRY: Final = "syscall_ entry_SYSCALL system_call sysret sys_enter sys_exit syscall_trace do_syscall_64"
"""Patterns of the way into the kernel and back: little, unless very many calls go it."""

KERNEL: Final = {
    "idle": r"""
        ^_?_?intel_idle ^acpi_idle ^acpi_processor ^cpu_idle ^default_idle ^mwait ^poll_idle ^native_safe_halt ^cpuidle
        ^pv_native_safe_halt ^idle_cpu_loop ^i86_mwait ^acpi_cpu_cstate ^cpu_halt ^xen_safe_halt ^waitproc ^swapper
    """,
    "lock": "disp_lock lock_set(_spl)?$ sema_p$",
    "page fault": r"""
        page_fault handle_mm_fault do_anonymous_page do_fault do_wp_page as_fault segvn_fault hat_fault asm_exc_page pagefault
        wp_page_copy do_swap_page
    """,
    "copy": "copy_user copyin copyout copy_(to|from)_user uiomove kcopy clear_page copy_page",
    "control groups": r"""
        memcg_stat memcg_sum memcg_numa memory_stat_ memory_numa_stat mem_cgroup_(usage|nr_lru|node_nr_lru|iter) css_next_
        (css|cgroup|memcg)_rstat
    """,
    "memory": r"""
        shrink_ kswapd page_scanner compact_ isolate_migrate isolate_freepages get_page_from_freelist alloc_pages
        free_pcppages rmqueue page_alloc kmem_cache_alloc k?v?malloc kmalloc slab_ hat_ tlb_flush flush_tlb native_flush zap_pte
        unmap_page_range copy_pte_range copy_page_range khugepaged page_remove_rmap free_pages (try_)?charge_memcg memcg_
    """,
    "scheduler": r"""
        schedule find_busiest load_balance weighted_cpuload update_sd_lb select_task_rq pick_next_task enqueue_task
        dequeue_task try_to_wake_up finish_task_switch idle_cpu$ update_curr swtch disp_ cpu_resched setrun cpumask_next
        ttwu_
    """,
    "interrupt": r"""
        (hard|soft)?irqs?(_|$|[0-9]) irqentry apic_timer hrtimer tick_ do_timer intr(_|$|[0-9]) interrupts?(_|$) ktime_get_update_offsets
    """,
    "syscall entry": f"{ENTRY} audit_filter_syscall seccomp trap$",
    "network": r"""
        tcp_ udp_ ip_rcv ip_queue ip_output net_rx netif_ skb_ sock_ inet6?_ nf_ (nf_)?conntrack dev_queue_xmit mac_ squeue
    """,
    "file system": r"""
        ext4 xfs_ btrfs zfs_ zio_ vfs_ generic_file jbd2 nfs4?_ fop_ ufs_ vn_ dnlc lookuppn link_path_walk d_lookup
        namei getdents dentry inode
    """,
}
"""Patterns of functions of a kernel: they stand for nothing in a program, which may have a `class_intr` of its own."""

ANYWHERE: Final = {
    "lock": r"""
        spin_lock spin_unlock ticket_spin queued_spin mutex rwsem rwlock r?rw_enter r?rw_exit osq_lock lock_slowpath lockref
        pthread_mutex lll_lock futex_wait futex_wake atomic_cmpxchg_loop s_lock$ perform_spin_delay
        LWLock ObjectMonitor SpinPause kslgetl kgxSharedExamine ksl_get_shared
    """,
    "copy": "w?memcpy w?memmove bcopy w?memset bzero rep_movs intel_new_memcpy intel_fast_memcpy",
    "memory": r"x?malloc(_|$|[0-9]) int_free",
    "garbage collection": r"""
        G1(Par|Concurrent|Collected|Remset) ParNew PSPromotion PSParallel MarkSweep ConcurrentMark GCTask gc_collect gc_mark
        runtime\.gc scanobject ZMark ShenandoahConc \w*OopClosure oop_iterate
    """,
    "crypto": r"""
        v?aes(ni|_|[0-9]|$) sha(1|256|512) chacha poly1305 rsa_ ecp_ bn_mul gcm_ EVP_ gost_
    """,
}
"""Patterns of functions of programs, libraries and kernels alike."""

ORDER: Final = tuple(
    dict.fromkeys(
        ("idle", "lock", "page fault", "copy", "control groups", "memory", "garbage collection", *KERNEL, *ANYWHERE)
    )
)
"""Kinds in the order in which they are tried; the first that matches wins.

A pattern fits, without regard to case, where a word of a name begins: at its start, or after what is no letter or digit.
"""


def _pattern(words: str) -> str:
    each = "|".join(word if word.startswith("^") else rf"(^|[^A-Za-z0-9]){word}" for word in words.split())
    return f"(?i){each}"


def kind_of(name: pl.Expr, kernel: pl.Expr) -> pl.Expr:
    """Return the kind of a leaf function from its name; of one whose side is unknown, as if it may be either."""
    bare = name.str.replace(r"^.*`", "").str.replace(r"\+0x[0-9a-f]+$", "")
    found: pl.Expr = pl.when(kernel.fill_null(value=False)).then(pl.lit("other kernel")).otherwise(pl.lit("other user"))
    for kind in reversed(ORDER):
        fits = bare.str.contains(_pattern(ANYWHERE[kind])) if kind in ANYWHERE else pl.lit(value=False)
        if kind in KERNEL:
            fits |= kernel.fill_null(value=True) & bare.str.contains(_pattern(KERNEL[kind]))
        found = pl.when(fits).then(pl.lit(kind)).otherwise(found)
    return found


def build(case: CaseTables) -> pl.DataFrame:
    """Return `profile_kinds` for all profiles of the case."""
    group = [*PLACE_COLUMNS, "event"]
    symbols = case.table("profile_symbols", [*group, "symbol", "pct", "self_pct", "kernel", "line_no"]).with_columns(
        pl.coalesce("self_pct", "pct").alias("pct")
    ).filter(pl.col("pct").is_not_null() & pl.col("symbol").is_not_null())  # fmt: skip
    stacks = case.table("profile_stacks", [*group, "leaf", "weight", "unit", "kernel", "line_no"]).filter(
        pl.col("leaf").is_not_null() & (pl.col("weight") > 0)
    )
    # A single stack is an example that somebody printed, not a profile: its share of the whole is unknown. Time off the
    # CPU (ns) is not a CPU sample.
    whole = stacks.filter((pl.len().over(group) >= 2) & ~pl.col("unit").is_in(["pct", "ns"]))
    whole = whole.join(symbols.select(group).unique(), on=group, how="anti", nulls_equal=True)
    leaves = whole.with_columns((100 * pl.col("weight") / pl.col("weight").sum().over(group)).alias("pct"))
    rows = pl.concat([
        symbols.select(*group, "symbol", "pct", "kernel", "line_no"),
        leaves.select(*group, pl.col("leaf").alias("symbol"), "pct", "kernel", "line_no"),
    ])  # fmt: skip
    kinds = rows.with_columns(
        kind_of(pl.col("symbol"), pl.col("kernel")).alias("kind"), pl.col("pct").sum().over(group).alias("listed_pct")
    )
    made = kinds.group_by([*group, "kind", "kernel"], maintain_order=True).agg(
        pl.col("pct").sum(), pl.len().alias("n"),
        pl.col("symbol").sort_by("pct").last(), pl.col("pct").max().alias("symbol_pct"), pl.col("line_no").sort_by("pct").last().alias("line_no"),
        pl.col("line_no").max().alias("line_end"), pl.col("listed_pct").first(),
    )  # fmt: skip
    return TABLE.shape(
        made.sort("artifact_id", "event", "pct", "kind", descending=[False, False, True, False], nulls_last=True)
    )
