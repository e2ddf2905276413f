"""Files of /proc by name, by content and by the heading above."""

from __future__ import annotations

import pytest

from tests.parsers.formats.evidence import read_bytes

FRAME = b"[<0>] jbd2_log_wait_commit+0xa5/0x110 [jbd2]\n"


@pytest.mark.parametrize(
    ("name", "content", "variant"),
    [
        ("proc_4711_stack.txt", b"[<ffffffff8105d9b1>] do_wait+0x1/0x2\n", "stack"),
        ("stack", FRAME, "stack"),
        ("a.txt", FRAME * 2, "stack"),
        ("proc/4711/wchan", b"jbd2_log_wait_commit\n", "wchan"),
        ("wchan", b"0\n", "wchan"),
        ("proc_4711_syscall.txt", b"running\n0 0x3 0x7 0x4 0x0 0x0 0x0 0x7 0x7\n", "syscall"),
        ("interrupts", b"           CPU0\n  0:         45   IO-APIC   2-edge      timer\n", "interrupts"),
        ("softirqs", b"                    CPU0\n          HI:          1\n", "softirqs"),
    ],
)
def test_a_file_is_known_by_its_name_or_its_lines(name, content, variant):
    account = read_bytes(content, name=name).account
    assert (account.kind, account.parts[0].variant, account.account.unknown) == ("procfs", variant, 0)


def test_a_word_alone_is_no_wait_channel():
    assert read_bytes(b"jbd2_log_wait_commit\n").account.kind == "text"


@pytest.mark.parametrize(
    ("name", "pid", "lwp"),
    [
        ("proc_4711_stack.txt", 4711, None),
        ("sos/proc/4711/stack", 4711, None),
        ("proc/4711/task/4720/stack", 4711, 4720),
        ("stack", None, None),
    ],
)
def test_the_files_name_has_the_process(name, pid, lwp):
    rows = read_bytes(FRAME, name=name).table("profile_stacks")
    assert rows.select("pid", "lwp").rows() == [(pid, lwp)]


def test_a_prompt_has_the_process():
    content = b"[root@db1 ~]# cat /proc/4711/stack\n" + FRAME * 3 + b"[root@db1 ~]# cat /proc/4712/stack\n" + FRAME
    rows = read_bytes(content).table("profile_stacks")
    assert rows.select("pid").rows() == [(4711,), (4712,)]


def test_a_trace_in_the_kernels_log_stays_there():
    trace = b"".join(b"[  12.00000%d]  [<ffffffff8105d9b%d>] do_wait+0x1/0x2\n" % (n, n) for n in range(1, 6))
    content = b"[  12.000000] INFO: task cp:7 blocked for more than 120 seconds.\n" + trace
    assert read_bytes(content).account.kind == "syslog"


def test_a_running_process_waits_nowhere():
    assert read_bytes(b"0\n", name="proc_7_wchan").account.tables == {}


def test_what_waits_in_the_kernel_is_seen():
    from rules.case.case import Case

    rows = read_bytes(b"==> /proc/7/stack <==\n" + FRAME + b"\n==> /proc/8/stack <==\n" + FRAME).table("profile_stacks")
    (seen,) = Case.of_tables({"profile_stacks": rows}).derived("observations").to_dicts()
    assert (seen["observer"], seen["subject"], seen["value"]) == ("standing-still", "jbd2_log_wait_commit", 2.0)
    assert seen["mechanism"] is not None


def test_a_status_whose_tabs_became_blanks_is_known():
    text = b"Name:   kpolld\nUmask:  0000\nState:  D (disk sleep)\nTgid:   12\nPid:    12\nVmRSS:      900 kB\n"
    reading = read_bytes(text)
    assert (reading.account.kind, reading.account.account.unknown) == ("procfs", 0)
    assert reading.table("ps").select("comm", "state", "pid", "rss_kb").rows() == [("kpolld", "D", 12, 900.0)]


def test_a_description_of_a_pod_is_no_status():
    assert (
        read_bytes(b"Name:         web-1\nState:          Running\nThreads: many\nGroups:  a\n").account.kind
        != "procfs"
    )
