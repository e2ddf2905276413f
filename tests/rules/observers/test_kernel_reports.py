"""Tests of kernel reports: the task, the machine, the ticks of a stall and the function of the processor."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.kernel_reports import kernel_reports
from rules.observers.observer import MOST_LINES, Sighting


def seen(text: str) -> list[Sighting]:
    lines = text.strip("\n").split("\n")
    return list(kernel_reports(Case.of_tables({"logs": [{"line_no": n, "text": t} for n, t in enumerate(lines, 1)]})))


LOCKUP = """
watchdog: BUG: soft lockup - CPU#5 stuck for 23s! [fio:2204]
Modules linked in: nvme nvme_core
CPU: 5 PID: 2204 Comm: fio Kdump: loaded Tainted: G        W  O L     5.14.0-70.el9.x86_64 #1
Hardware name: QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.15.0-1 04/01/2014
RIP: 0010:native_queued_spin_lock_slowpath+0x5e/0x1d0
Call Trace:
 <IRQ>
 watchdog_timer_fn+0x1b4/0x220
 </IRQ>
 <TASK>
 ? old_word+0x1/0x2
 _raw_spin_lock+0x1e/0x30
RIP: 0033:0x7f1c2a
"""


def test_the_function_of_the_processor_is_first_and_the_interrupt_that_reports_is_left_out() -> None:
    (made,) = seen(LOCKUP)
    assert made.headline == "fio was stuck in native_queued_spin_lock_slowpath for 23.000 s, as the kernel reports"
    assert [s["stack"] for s in made.seen[:-1]] == ["native_queued_spin_lock_slowpath", "_raw_spin_lock"]
    assert made.beside == (
        "pid 2204 (fio) on CPU 5, kernel 5.14.0-70.el9.x86_64, machine QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.15.0-1 04/01/..."
    )
    assert [c.line_from for c in made.lines] == [1, 3, 4, 5, 12]


def test_functions_of_an_interrupt_count_where_nothing_else_is_known() -> None:
    (made,) = seen("rcu: INFO: rcu_preempt self-detected stall on CPU\n <IRQ>\n tick_thing+0x1/0x2\n </IRQ>")
    assert (
        made.headline
        == "A processor or task was stuck in tick_thing, as the kernel reports (rcu_preempt self-detected stall)"
    )
    assert made.beside is None


@pytest.mark.parametrize(
    ("ticks", "who", "said"),
    [
        ([20997], "CPU 0 was stuck", "20,997 ticks in a period of 21,002 jiffies"),
        ([1, 1, 3], "CPUs 0, 1 and 2 were stuck", "1 to 3 ticks each in a period of 21,002 jiffies"),
        ([0] * 9, "CPUs 0, 1 and 7 more were stuck", "0 ticks each in a period of 21,002 jiffies"),
    ],
)
def test_ticks_tell_whether_the_processors_of_a_stall_ran(ticks: list[int], who: str, said: str) -> None:
    rows = [f"rcu: \t{cpu}-....: ({n} ticks this GP) idle=2/1/0x4 softirq=9/9 fqs=5" for cpu, n in enumerate(ticks)]
    text = "\n".join(
        ["rcu: INFO: rcu_sched detected stalls on CPUs/tasks:", *rows, "\t(detected by 3, t=21002 jiffies, g=5, q=2)"]
    )
    (made,) = seen(text)
    assert made.headline.startswith(who)
    assert made.beside == said
    assert sum(c.line_to - c.line_from + 1 for c in made.lines) <= MOST_LINES


def test_the_head_of_the_next_report_is_not_of_this_one() -> None:
    first, second = seen(f"INFO: task jbd2/vda1-8:311 blocked for more than 122 seconds.\n{LOCKUP.strip()}")
    assert first.beside is None
    assert second.beside is not None


def test_a_kernel_worker_is_told_with_its_work_and_the_number_of_processors() -> None:
    (made,) = seen(
        "rcu: INFO: rcu_sched self-detected stall on CPU\n 1-....: (300 ticks this GP) idle=1\n (t=301 jiffies g=7 q=1 ncpus=8)\n"
        "CPU: 1 UID: 0 PID: 61 Comm: kworker/1:2 Not tainted 6.12.3 #7\nWorkqueue: mm_percpu_wq vmstat_update\npc : refill+0x4/0x80"
    )
    assert made.headline.startswith("CPU 1 was stuck in refill,")
    assert made.beside == (
        "300 ticks in a period of 301 jiffies, on 8 processors; pid 61 (kworker/1:2) on CPU 1, at work on vmstat_update, kernel 6.12.3"
    )


HUNG = """
INFO: task treed:{pid} blocked for more than 120 seconds.
      Not tainted 5.4.0-9-generic #7
task:treed           state:D stack:    0 pid: {pid} ppid:     1
Call Trace:
 __schedule+0x2e3/0x740
 schedule+0x42/0xb0
 __mutex_lock.isra.3+0x1a/0x3c0
 __mutex_lock_slowpath+0x13/0x20
 mutex_lock+0x2e/0x40
 {caller}+0x2a/0x30
 tree_lookup+0x31/0x140
"""


def test_a_wait_for_a_lock_is_told_with_its_caller_and_the_kernel() -> None:
    (made,) = seen(HUNG.format(pid=77, caller="tree_lock_node"))
    assert made.headline == (
        "treed was blocked in __mutex_lock.isra.3, called by tree_lock_node, called by tree_lookup for more than 2 min 0 s,"
        " as the kernel reports"
    )
    assert made.beside == "kernel 5.4.0-9-generic"
    assert {"stack": "__mutex_lock"} in made.seen, "a compiler's suffix hides no name"
    two = "\n".join(
        HUNG.format(pid=pid, caller=caller).strip() for pid, caller in ((77, "tree_lock_node"), (78, "dir_lock"))
    )
    (both,) = seen(two)
    assert ", called by" not in both.headline, "they come from different places"
    assert "reported 2 times" in both.headline


def test_a_processor_that_is_only_behind_is_named_too() -> None:
    """Check RCU's line on a processor that passed no grace period (`GPs behind`), and on an idle one (ticks)."""
    (made,) = seen(
        "rcu_sched detected stalls on CPUs/tasks:\n\t4-...: (7 GPs behind) idle=b1c/0/0 softirq=11/11 fqs=0\n"
        "\t6-...: (2 ticks this GP) idle=0a0/0/0 softirq=9/9 fqs=0\n\t(detected by 1, t=6004 jiffies, g=8, c=7, q=2)"
    )
    assert made.headline.startswith("CPUs 4 and 6 were stuck, as the kernel reports")
    assert made.beside == "2 ticks of CPU 6 in a period of 6,004 jiffies"
    (made,) = seen(
        "rcu_sched self-detected stall on CPU\n\t17-...: (1 GPs behind) idle=a0b/1/0\n\t (t=2100 jiffies g=2 c=1)"
    )
    assert (made.headline.split(",")[0], made.beside) == ("CPU 17 was stuck", "a period of 2,100 jiffies")


POWER = """
watchdog: CPU 9 soft lockup - CPU#9 stuck for 23s! [pollerd:77]
Call Trace:
[c0001] [c0002] sched_show_task+0x10c/0x118 (unreliable)
[c0001] [c0002] tick_sched_handle.isra.14+0x60/0x6c
[c0001] [c0002] handle_thing+0xac/0xc4
--- interrupt: 901 at spin_on_device+0x24/0x60
[c0001] [c0002] poll_device+0x54/0x70
"""
ARM = """
watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [pollerd:77]
[<c0101>] (gic_handle_irq) from [<c0102>] (__irq_svc+0x6c/0x90)
[<c0102>] (__irq_svc) from [<c0103>] (spin_on_device+0x24/0x60)
[<c0103>] (spin_on_device) from [<c0104>] (poll_device+0x54/0x70)
"""


@pytest.mark.parametrize("text", [POWER, ARM])
def test_the_interrupted_code_is_the_place_on_processors_without_marks(text: str) -> None:
    (made,) = seen(text)
    assert "was stuck in spin_on_device for" in made.headline
    assert [s.get("stack") for s in made.seen[:2]] == ["spin_on_device", "poll_device"]


def test_callers_of_32_bit_arm_are_the_place_of_a_blocked_task() -> None:
    (made,) = seen(
        "INFO: task mover:12 blocked for more than 120 seconds.\n[<c1>] (__schedule) from [<c2>] (schedule+0x50/0xa8)\n"
        "[<c2>] (schedule) from [<c3>] (btrfs_wait_ordered_range+0x1/0x2 [btrfs])"
    )
    assert made.headline.startswith("mover was blocked in btrfs_wait_ordered_range for more than 2 min 0 s")


@pytest.mark.parametrize("switch", ["__switch_to", "context_switch", "schedule_hrtimeout_range_clock"])
def test_the_switch_to_another_task_is_no_place(switch: str) -> None:
    (made,) = seen(f"INFO: task mover:12 blocked for more than 120 seconds.\n {switch}+0x1/0x2\n bit_wait_io+0x1/0x2")
    assert "blocked in bit_wait_io" in made.headline
