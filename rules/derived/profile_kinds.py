"""Kinds of work in a profile: one row per artifact, event, kind of leaf and side (kernel or user).

Inputs: `profile_symbols` (perf top, perf report flat), `profile_stacks` (call graphs, scripts, collapsed stacks; used where an artifact
and event has no symbols), `profile_meta`.
Columns: event, kind (lock, copy, page fault, memory, syscall entry, scheduler, interrupt, idle, file system, network, crypto, garbage
collection, other kernel, other user), `kernel` (true, false, NULL if unknown), `pct` (of all samples; 0 to 100), n (symbols), `symbol`
(the largest), `symbol_pct`, line_no (the largest symbol's line), line_end, `listed_pct` (how much of the samples the listing covers).
A kind says what the leaf function does, not who called it: see the callers for that. Names are matched, so an unknown
name is "other".
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
VERSION = "1"

ENTRY: Final = "syscall_ entry_SYSCALL system_call sysret sys_enter sys_exit syscall_trace do_syscall_64"
"""Patterns of the way into the kernel and back: little, unless very many calls go it."""

LEAVES: Final = {
    "idle": r"""
        ^_?_?intel_idle ^acpi_idle ^acpi_processor ^cpu_idle ^default_idle ^mwait ^poll_idle ^native_safe_halt ^cpuidle
        ^pv_native_safe_halt ^idle_cpu_loop ^i86_mwait ^acpi_cpu_cstate ^cpu_halt ^xen_safe_halt ^waitproc ^swapper
    """,
    "lock": r"""
        spin_lock spin_unlock ticket_spin queued_spin mutex rwsem rwlock rw_enter rw_exit osq_lock lock_slowpath lockref
        disp_lock lock_set sema_p pthread_mutex lll_lock futex_wait futex_wake atomic_cmpxchg_loop s_lock$ perform_spin_delay
        LWLock ObjectMonitor SpinPause kslgetl kgxSharedExamine ksl_get_shared
    """,
    "page fault": r"""
        page_fault handle_mm_fault do_anonymous_page do_fault do_wp_page as_fault segvn_fault hat_fault asm_exc_page pagefault
        wp_page_copy do_swap_page
    """,
    "copy": r"""
        memcpy memmove copy_user copyin copyout copy_to_user copy_from_user bcopy uiomove kcopy clear_page copy_page memset
        bzero rep_movs __intel_new_memcpy
    """,
    "memory": r"""
        shrink_ kswapd page_scanner compact_ isolate_migrate isolate_freepages get_page_from_freelist __alloc_pages
        free_pcppages rmqueue page_alloc kmem_cache_alloc kmalloc slab_ hat_ tlb_flush flush_tlb native_flush zap_pte
        unmap_page_range copy_pte_range copy_page_range khugepaged page_remove_rmap malloc _int_free free_pages memcg_
    """,
    "garbage collection": r"""
        G1(Par|Concurrent|Collected|Remset) ParNew PSPromotion PSParallel MarkSweep ConcurrentMark GCTask gc_collect gc_mark
        runtime\.gc scanobject ZMark ShenandoahConc OopClosure oop_iterate
    """,
    "scheduler": r"""
        schedule find_busiest load_balance weighted_cpuload update_sd_lb select_task_rq pick_next_task enqueue_task
        dequeue_task try_to_wake_up finish_task_switch idle_cpu$ update_curr swtch disp_ cpu_resched setrun cpumask_next
        find_next_bit ttwu_
    """,
    "interrupt": r"""
        irq softirq apic_timer hrtimer tick_ do_timer intr ktime_get_update_offsets
    """,
    "syscall entry": f"{ENTRY} audit_filter_syscall seccomp trap$",
    "network": r"""
        tcp_ udp_ ip_rcv ip_queue ip_output net_rx netif_ skb_ sock_ inet_ nf_ conntrack dev_queue_xmit mac_ squeue
    """,
    "file system": r"""
        ext4 xfs_ btrfs zfs_ zio_ vfs_ generic_file jbd2 nfs_ fop_ ufs_ vn_ dnlc lookuppn link_path_walk d_lookup __d_lookup
        namei getdents dentry inode
    """,
    "crypto": r"""
        aes sha1 sha256 sha512 chacha poly1305 rsa_ ecp_ bn_mul gcm_ EVP_ gost
    """,
}
"""Kinds of leaf functions with case-insensitive patterns of their names; the first kind that matches wins."""


def kind_of(name: pl.Expr, kernel: pl.Expr) -> pl.Expr:
    """Return the kind of a leaf function from its name."""
    bare = name.str.replace(r"^.*`", "").str.replace(r"\+0x[0-9a-f]+$", "")
    found: pl.Expr = pl.when(kernel.fill_null(value=False)).then(pl.lit("other kernel")).otherwise(pl.lit("other user"))
    for kind, words in reversed(LEAVES.items()):
        found = pl.when(bare.str.contains(f"(?i){'|'.join(words.split())}")).then(pl.lit(kind)).otherwise(found)
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
