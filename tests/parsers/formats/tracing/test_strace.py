"""Tests of strace: flags, halves, torn records, clocks, tables, damage, block borders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.tracing.strace import format as strace
from parsers.text.source import Head, Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes, read_path

CORPUS = Path(__file__).parents[3] / "corpus" / "strace"
STRACE = Hints(kind="strace")


def read(text: str, hints: Hints = STRACE, **limits: int):
    reading = read_bytes(text.encode(), hints, Limits(**limits) if limits else None)
    assert reading.error is None
    assert reading.account.account.lines == len(text.splitlines())
    return reading


def calls(text: str, **limits: Any) -> list[dict]:
    return read(text, **limits).table("syscalls").to_dicts()


def sample(name: str) -> str:
    return (CORPUS / f"{name}.txt").read_text(encoding="utf-8")


def kinds(reading) -> list[str]:
    return [n.kind for n in reading.account.notes]


# Lines

LINES = {
    "nothing": "close(3) = 0",
    "bracket": "[pid  1905] close(3)     = 0 <0.000012>",
    "comm": "[pid 22379<ipc demo>] close(3) = 0",
    "bare and epoch": "22068 1795205980.978323 close(3) = 0 <0.000038>",
    "clock": "10:50:53 close(3)  = 0",
    "clock and difference": "10:50:53.123456 (+     0.000120) close(3) = 0",
    "difference": "     0.000103 close(3)                  = 0",
    "milliseconds": "     0.103 close(3) = 0",
    "pointer": "[00007f1fcab7c2ad] close(3) = 0 <0.000014>",
    "number": "[   3] close(3) = 0",
    "nanoseconds": "22068 1795205980.978323123 close(3) = 0",
    "unavailable": "close(3) = 0 <unavailable>",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_every_flag_gives_the_call(line):
    row = calls(line + "\n")[0]
    assert (row["name"], row["args"], row["ret"], row["fd"], row["state"]) == ("close", "3", 0, 3, "done")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('open("/x", O_RDONLY) = -1 ENOENT (Datei oder Verzeichnis nicht gefunden)', (-1, "ENOENT", "done")),
        ("semctl(12, 1, SETVAL, 0x1) = -1 ENOSPC (No space left on device) (INJECTED)", (-1, "ENOSPC", "done")),
        ("poll([{fd=3, events=POLLIN}], 1, 0) = 0 (Timeout)", (0, None, "done")),
        ("fcntl(3, F_GETFD) = 0x1 (flags FD_CLOEXEC)", (1, None, "done")),
        ("exit_group(0) = ?", (None, None, "no_return")),
        ("read(0, 0x7ffd, 1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)", (None, "ERESTARTSYS", "done")),
        ('openat(AT_FDCWD</home>, "a", O_RDONLY) = 3</home/a, b = c> <0.000027>', (3, None, "done")),
        ('write(1, "f(x) = 5 (ok", 12) = -1 EPIPE (Broken pipe)', (-1, "EPIPE", "done")),
        ("accept(3<TCP:[0.0.0.0:1521]>, NULL, NULL) = 5<TCP:[10.0.0.1:1521->10.0.0.9:44]>", (5, None, "done")),
    ],
)
def test_results(line, expected):
    row = calls(line + "\n")[0]
    assert (row["ret"], row["err"], row["state"]) == expected


def test_the_time_of_a_call_whose_result_has_a_path():
    row = calls('5 10:00:00.000001 open("/x", O_RDONLY) = 3</x> <0.000027>\n')[0]
    assert (row["elapsed_s"], row["ret_text"]) == (2.7e-05, "3</x>")


def test_descriptors_strings_and_addresses():
    text = (
        'connect(7, {sa_family=AF_INET, sin_port=htons(1521), sin_addr=inet_addr("10.1.2.3")}, 16) = 0\n'
        'write(7, "caf\\303\\251 \\"q\\"\\n"..., 10) = 10\n'
        'write(7, "\\x63\\x61\\x0a", 3) = 3\n'
        "pipe2([3, 4], O_CLOEXEC) = 0\n"
        'read(9<TCP:[10.0.0.1:44->10.9.9.9:1521]>, "x", 1) = 1\n'
        "close(7) = 0\n"
        'read(7, "z", 1) = 1\n'
        "semop(5, [{1, -1, 0}], 1) = 0\n"
        "mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3</lib/x>, 0) = 0x7f0000000000\n"
    )
    rows = calls(text)
    assert [(r["peer_ip"], r["peer_port"]) for r in rows[:3]] == [("10.1.2.3", 1521)] * 3
    assert (rows[1]["data"], rows[2]["data"]) == ('caf\\xC3\\xA9 "q"\n', "ca\n")
    assert (rows[3]["fd"], rows[3]["fd2"]) == (3, 4)
    assert (rows[4]["peer_ip"], rows[4]["fd"]) == ("10.9.9.9", 9)
    assert rows[6]["peer_ip"] is None
    assert (rows[7]["arg_id"], rows[7]["sem_num"], rows[8]["fd"]) == (5, 1, 3)


def test_signals_and_exits():
    text = (
        "--- SIGSEGV {si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=0x54} ---\n"
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=7<a>, si_uid=0, si_status=3} ---\n"
        "--- stopped by SIGSTOP ---\n[pid 8] +++ killed by SIGSEGV (core dumped) +++\n+++ exited with 3 +++\n"
    )
    rows = read(text).table("signals").select("event", "signal", "code", "addr", "sender_pid", "status", "lwp").rows()
    assert rows == [
        ("received", "SIGSEGV", "SEGV_MAPERR", 0x54, None, None, 8), ("received", "SIGCHLD", "CLD_EXITED", None, 7, 3, 8),
        ("stopped", "SIGSTOP", None, None, None, None, 8), ("killed", "SIGSEGV", None, None, None, None, 8),
        ("exited", None, None, None, None, 3, None),
    ]  # fmt: skip


def test_processor_time_of_ended_children():
    text = (
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=7, si_uid=0, si_status=0, si_utime=27, si_stime=37} ---\n"
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=8, si_uid=0, si_status=0, si_utime=0, si_stime=2 /* 0.02 s */} ---\n"
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=9, si_uid=0} ---\n"
    )
    assert read(text).table("signals")["cpu_s"].to_list() == [0.64, 0.02, None]


# Halves


def test_halves_are_one_call_with_strangers_between():
    text = (
        "1 10:00:00.000000 read(3,  <unfinished ...>\n2 10:00:00.500000 close(4) = 0 <0.000001>\n"
        '1 10:00:01.000000 <... read resumed> "abc", 10) = 3 <0.999900>\n'
    )
    reading = read(text)
    row = reading.table("syscalls").filter(pl.col("name") == "read").row(0, named=True)
    assert (row["args"], row["line_no"], row["line_end"], row["elapsed_s"]) == ('3, "abc", 10', 1, 3, 0.9999)
    assert row["t_local"] == 36000.0
    assert reading.table("open_calls").select("line_no", "done_line", "state").rows() == [(1, 3, "unfinished")]


def test_halves_without_a_printed_time_have_the_difference_of_their_stamps():
    text = '1 10:00:00.000000 read(3,  <unfinished ...>\n1 10:00:01.250000 <... read resumed>"", 1) = 0\n'
    row = calls(text)[0]
    assert (row["elapsed_s"], row["dur_hi_s"], row["dur_kind"], row["contiguous"]) == (1.25, 1.25, "elapsed", "assumed")
    cut = text.replace("1 10:00:01", "[...]\n1 10:00:01")
    assert calls(cut)[0]["contiguous"] == "broken"


def test_orphans_at_both_ends():
    text = "7 10:00:01.000000 <... futex resumed>) = 0 <0.250000>\n7 10:00:02.000000 read(3,  <unfinished ...>\n"
    reading = read(text)
    row = reading.table("syscalls").row(0, named=True)
    assert (row["t_local"], row["stamp"], row["elapsed_s"]) == (36000.75, "start", 0.25)
    assert reading.table("open_calls").select("name", "done_line").rows() == [("read", None)]
    bare = calls("7 10:00:01.000000 <... futex resumed>) = 0\n")[0]
    assert (bare["t_local"], bare["stamp"], bare["elapsed_s"]) == (36001.0, "end", None)


def test_a_half_of_another_name_is_no_partner():
    text = "7 read(3,  <unfinished ...>\n7 <... write resumed>) = 4\n"
    reading = read(text)
    assert reading.table("syscalls").select("line_no", "name").rows() == [(2, "write")]
    assert reading.table("open_calls")["done_line"].to_list() == [None]


def test_a_thread_that_dies_in_a_call_and_one_that_is_let_go():
    text = (
        "5 <... read resumed> <unfinished ...>) = ?\n6 exit_group(0 <unfinished ...>) = ?\n7 read(0,  <detached ...>\n"
    )
    reading = read(text)
    assert reading.table("syscalls").select("name", "args", "state").rows() == [
        ("read", "", "no_return"), ("exit_group", "0", "no_return"),
    ]  # fmt: skip
    assert reading.table("open_calls").select("name", "done_line").rows() == [("read", None)]


def test_restart_syscall_holds_an_argument_that_looks_like_a_half():
    row = calls("8 restart_syscall(<... resuming interrupted poll ...>) = 0\n")[0]
    assert (row["name"], row["args"]) == ("restart_syscall", "<... resuming interrupted poll ...>")


# Torn records


def test_what_the_program_printed_is_taken_out_of_its_write():
    text = 'write(2, "ls: ", 4ls: )  = 4\nwrite(2, "\\n", 1\n)    = 1 <0.000003>\nwrite(1, "h\\n", 2h\n)      = 2\nclose(1) = 0\n'
    reading = read(text)
    assert reading.table("syscalls").select("name", "args", "ret").rows() == [
        ("write", '2, "ls: ", 4', 4), ("write", '2, "\\n", 1', 1), ("write", '1, "h\\n", 2', 2), ("close", "1", 0),
    ]  # fmt: skip
    notes = [(n.line_from, n.line_to, n.kind) for n in reading.account.notes]
    assert notes == [(1, 1, "repaired"), (2, 5, "repaired"), (4, 5, "repaired")]


def test_other_text_behind_a_number_stays():
    assert calls('write(2, "ls: ", 4xy)  = 4\n')[0]["args"] == '2, "ls: ", 4xy'


def test_a_message_of_strace_in_the_middle_of_a_record():
    text = (
        "clone(child_stack=NULL, flags=SIGCHLDstrace: Process 22 attached\n, child_tidptr=0x7f5a) = 22\n"
        "[pid 21] nanosleep({0, 1}, strace: Process 23 attached\nstrace: Process 24 attached\n <unfinished ...>\n"
    )
    reading = read(text)
    row = reading.table("syscalls").row(0, named=True)
    assert (row["args"], row["child_pid"], row["line_end"]) == (
        "child_stack=NULL, flags=SIGCHLD, child_tidptr=0x7f5a",
        22,
        2,
    )
    assert reading.table("logs")["pid"].to_list() == [22, 23, 24]
    assert reading.table("open_calls").select("name", "args").rows() == [("nanosleep", "{0, 1},")]
    assert row["lwp"] == 21


def test_a_message_of_strace_is_no_argument_where_the_text_is_cut_off_below():
    text = 'clone(child_stack=NULL, flags=SIGCHLDstrace: Process 22 attached\n, child_tidptr=0x7f5a) = 22\nread(3, "ab'
    reading = read(text)
    assert reading.table("syscalls")["args"].to_list() == ["child_stack=NULL, flags=SIGCHLD, child_tidptr=0x7f5a"]
    assert reading.table("logs")["pid"].to_list() == [22]


# Threads and processes


def test_bare_lines_belong_to_the_process_that_was_never_announced():
    text = sample("Y-comm-relative-ms")
    assert {r["pid"] for r in calls(text)} == {22378, 22379, 22380}


def test_two_that_nobody_announced_leave_bare_lines_without_a_process():
    rows = calls("close(1) = 0\n[pid 5] close(2) = 0\n[pid 6] close(3) = 0\n")
    assert [r["pid"] for r in rows] == [None, 5, 6]


def test_threads_know_their_process():
    text = (
        "10 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_THREAD|CLONE_SIGHAND) = 11\n"
        "11 clone3({flags=CLONE_VM|CLONE_THREAD, exit_signal=0} => {parent_tid=[12]}, 88) = 12\n12 close(1) = 0\n10 fork() = 13\n"
    )
    rows = read(text).table("syscalls").select("pid", "lwp", "child_pid").rows()
    assert rows == [(10, 10, None), (10, 11, None), (10, 12, None), (10, 10, 13)]


def test_the_process_of_a_file_of_ff_is_in_its_name():
    path = CORPUS / "ff-child-file.txt"
    named = read_path(path, name="ffx.22124")
    assert named.table("syscalls")["pid"].unique().to_list() == [22124]
    assert any("file's name" in n.text for n in named.account.notes)
    assert read_path(path, name="strace.log.1").table("syscalls")["pid"].null_count() == 6


# Clocks


def domains(text: str, hints: Hints = STRACE) -> list:
    return read(text, hints).account.parts[0].domains


def test_epoch_keeps_nanoseconds():
    text = "1 1795205980.978323123 close(3) = 0\n1 1795205981.978323124 close(4) = 0\n"
    assert calls(text)[1]["gap_s"] == 1.000000001
    domain = domains(text)[0]
    assert (domain.kind, domain.base) == ("wall-utc", "2026-11-20T20:19:40+00:00")


def test_midnight_is_the_next_day_and_is_noted():
    text = "1 23:59:59.900000 close(3) = 0\n1 00:00:00.100000 close(4) = 0\n1 23:59:59.990000 close(5) = 0\n1 00:00:01.000000 close(6) = 0\n"
    rows = calls(text)
    assert [r["t_local"] for r in rows][:2] == [86399.9, 86400.1]
    assert rows[3]["t_local"] == 86401.0
    assert any("next day" in n.text for n in read(text).account.notes)


def test_the_date_is_said_or_unknown():
    text = "1 10:00:00 close(3) = 0\n"
    assert domains(text)[0].base is None
    assert domains(text, Hints(kind="strace", date="2026-11-21", tz="Europe/Warsaw"))[0].base == "2026-11-21T00:00:00"
    assert [n.text for n in read(text).account.notes] == ["times of day without a date: the day is unknown"]


def test_a_fall_of_the_stamp_begins_a_new_domain():
    text = "1 10:00:05.000000 close(3) = 0\n1 10:00:01.000000 close(4) = 0\n"
    reading = read(text)
    assert len(reading.account.parts[0].domains) == 2
    rows = reading.table("syscalls").to_dicts()
    assert [r["gap_s"] for r in rows] == [None, None]
    assert rows[0]["dur_hi_s"] is None


def test_differences_alone_are_summed_and_a_mark_ends_the_domain():
    text = "     0.000000 close(1) = 0\n     0.500000 close(2) = 0\n[...]\n     0.250000 close(3) = 0\n"
    reading = read(text)
    assert reading.table("syscalls")["t_local"].to_list() == [0.0, 0.5, 0.75]
    assert reading.table("syscalls")["delta_s"].to_list() == [0.0, 0.5, 0.25]
    assert len(reading.account.parts[0].domains) == 2
    assert reading.table("syscalls")["gap_s"].to_list() == [None, 0.5, None]


def test_without_t_a_call_lasts_at_most_to_the_threads_next_event():
    text = "1 10:00:00.000000 close(3) = 0\n2 10:00:00.100000 close(4) = 0\n1 10:00:01.000000 close(5) = 0\n"
    rows = calls(text)
    assert [(r["dur_hi_s"], r["dur_kind"]) for r in rows] == [(1.0, "gap"), (None, "none"), (None, "none")]


def test_shifting_the_clock_shifts_times_and_no_duration():
    text = sample("f-ttt-T-o-ipc")
    shifted = re.sub(r"(?m)^(\d+) 17952059(\d\d)", lambda m: f"{m[1]} 17952069{m[2]}", text)
    one, other = read(text).table("syscalls"), read(shifted).table("syscalls")
    assert one.equals(other)
    assert domains(text)[0].base != domains(shifted)[0].base


# Tables and stacks


def test_a_table_knows_its_columns_by_the_header():
    text = (
        "$ strace -c -w -f -U name,calls,errors,max-time ls\n"
        "syscall              calls    errors     longest\n---------------- --------- --------- -----------\n"
        "openat                  3         1    0.000120\nread                    5              0.000020\n"
        "---------------- --------- --------- -----------\ntotal                   8         1    0.000140\n"
    )
    rows = read(text).table("syscall_totals")
    assert rows.select("name", "n", "errors", "max_s", "total_kind", "complete").rows() == [
        ("openat", 3, 1, 0.00012, "wall", True), ("read", 5, 0, 2e-05, "wall", True),
    ]  # fmt: skip


def test_a_table_whose_blanks_collapsed():
    text = re.sub(r" +", " ", sample("strace95-c-nanosleep-hidden")).replace("\n ", "\n")
    rows, whole = (read(t).table("syscall_totals") for t in (text, sample("strace95-c-nanosleep-hidden")))
    assert rows.equals(whole)


def test_a_table_that_does_not_add_up_is_not_complete():
    text = sample("c-f-summary").replace("         7           semctl", "         6           semctl")
    assert not read(text).table("syscall_totals")["complete"].any()


def test_a_log_and_its_table_in_one_file():
    reading = read(sample("Z-failed-only") + sample("c-f-summary"))
    assert (len(reading.table("syscalls")), len(reading.table("syscall_totals"))) == (2, 28)


def test_stacks_belong_to_the_call_above():
    reading = read(sample("k-stack-lines"))
    stacks = reading.table("profile_stacks")
    assert stacks["event"].unique().to_list() == ["openat"]
    assert stacks["frames"].list.len().sum() == sample("k-stack-lines").count("\n > ")
    assert stacks["leaf"][0].endswith("(_dl_catch_error+0x869d)")


# Damage


WHOLE = "".join(sample("f-ttt-T-o-ipc").splitlines(keepends=True)[:30])


def same_rows(text: str, other: str = WHOLE) -> None:
    drop = ["line_no", "line_end", "prev_line"]
    assert read(text).table("syscalls").drop(drop).equals(read(other).table("syscalls").drop(drop))


def test_flattened_onto_one_line():
    reading = read(" ".join(WHOLE.splitlines()) + "\n")
    same_rows(" ".join(WHOLE.splitlines()) + "\n")
    assert kinds(reading) == ["repaired"]


def test_wrapped_at_a_blank():
    lines = []
    for line in WHOLE.splitlines():
        at = line.rfind(" ", 40, 72)
        lines += [line[:at], line[at + 1 :]] if len(line) > 72 and at > 0 else [line]
    same_rows("\n".join(lines) + "\n")


def test_collapsed_blanks():
    text = re.sub(r" +", " ", sample("old-perl-tt"))
    same_rows(text, sample("old-perl-tt").replace("  ", " "))


def test_a_decimal_comma_in_the_stamps():
    same_rows(re.sub(r"(\d{10})\.(\d{6})|<0\.(\d{6})>", lambda m: m[0].replace(".", ","), WHOLE))


def test_cut_first_and_last_line():
    reading = read("_CLOEXEC) = 3 <0.000039>\n" + WHOLE + '22068 1795205980.999999 read(3, "\\177ELF')
    assert reading.table("open_calls").select("name", "args", "state").rows() == [("read", '3, "\\177ELF', "truncated")]
    assert kinds(reading) == ["unknown", "remark"]
    assert len(reading.table("syscalls")) == 30


def test_a_mark_of_elision_breaks_what_it_stands_in():
    text = "1 10:00:00.000000 close(3) = 0\n[...]\n1 10:00:01.000000 close(5) = 0\n"
    reading = read(text)
    assert reading.table("syscalls")["contiguous"].to_list() == ["broken", None]
    assert reading.account.account.elided == 1


def test_program_output_between_lines_stays_unknown():
    reading = read("close(3) = 0\nhello from the program\nclose(4) = 0\n")
    assert kinds(reading) == ["unknown"]


def test_dumps_of_read_and_write_are_read():
    text = 'read(3, "ab", 2) = 2\n | 00000  61 62                                             ab               |\n'
    assert read(text).account.account.read == 2


# Block borders


def test_runs_give_the_same_rows():
    text = sample("f-ttt-T-o-ipc") * 1
    one, many = read(text), read(text, run_bytes=len(text) // 5)
    order = ["line_no", "line_end"]
    for table in ("syscalls", "signals", "open_calls"):
        assert one.table(table).sort(order).equals(many.table(table).sort(order)), table
    assert one.account.account == many.account.account


def test_runs_give_the_same_rows_where_calls_wait_for_the_next_event():
    text = sample("old-perl-tt")
    one, many = read(text), read(text, run_bytes=len(text) // 7)
    drop = ["pid", "lwp", "traced_f"]  # the line that shows the process comes late
    assert one.table("syscalls").drop(drop).equals(many.table("syscalls").sort("line_no").drop(drop))


def test_stacks_cross_a_border():
    text = sample("k-stack-lines")
    one, many = read(text), read(text, run_bytes=len(text) // 6)
    assert one.table("profile_stacks").drop("pid", "lwp").equals(many.table("profile_stacks").drop("pid", "lwp"))


# Round trip

ARG = st.sampled_from(
    [
        '"/a b"',
        "3",
        "NULL",
        "[{fd=3, events=POLLIN}]",
        "{sa_family=AF_INET}",
        "O_RDONLY|O_CLOEXEC",
        '"a(b) = 1"...',
        "0x7f",
    ]
)
RESULT = st.sampled_from(["0", "-1 ENOENT (No such file or directory)", "0x7f5a", "?", "0 (Timeout)", "3</a b>"])


@given(
    pid=st.integers(1, 4194303), bracket=st.booleans(), t=st.none() | st.integers(0, 86399_999999), took=st.none() | st.integers(0, 10**9),
    name=st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True), args=st.lists(ARG, max_size=5), result=RESULT, pad=st.integers(1, 30),
)  # fmt: skip
@settings(max_examples=examples(80), deadline=None, database=None)
def test_any_call_comes_back(pid, bracket, t, took, name, args, result, pad):
    second, micro = divmod(t or 0, 10**6)
    time = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{micro:06d} " if t is not None else ""
    who = f"[pid {pid:>5}] " if bracket else f"{pid} "
    tail = f" <{took / 10**6:.6f}>" if took is not None else ""
    row = calls(f"{who}{time}{name}({', '.join(args)}){' ' * pad}= {result}{tail}\n")[0]
    assert (row["lwp"], row["name"], row["args"], row["ret_text"]) == (pid, name, ", ".join(args), result)
    assert row["elapsed_s"] == (None if took is None else pytest.approx(took / 10**6))
    assert row["t_local"] == (None if t is None else pytest.approx(t / 10**6))


# Claims


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.txt")), ids=lambda p: p.stem)
def test_it_claims_its_own(path):
    claim = strace.claim(Head(path.read_text(encoding="utf-8").splitlines()))
    assert claim is not None
    assert claim.strength >= 0.9


@pytest.mark.parametrize("path", sorted((CORPUS.parent / "truss").glob("*.txt")), ids=lambda p: p.stem)
def test_it_leaves_truss_alone(path):
    claim = strace.claim(Head(path.read_text(encoding="utf-8").splitlines()))
    assert claim is None or claim.strength < 0.3


def open_calls(text: str) -> list[tuple[str, str, str]]:
    return read(text).table("open_calls").select("name", "args", "state").rows()


@pytest.mark.parametrize(
    "text",
    [
        'strace: Process 4811 attached\nwrite(5, "ab"..., 65536^Cstrace: Process 4811 detached\n <detached ...>\n',
        'Process 4811 attached\nwrite(5, "ab"..., 65536^CProcess 4811 detached\n <detached ...>\n',
        'Process 4811 attached - interrupt to quit\nwrite(5, "ab"..., 65536 <unfinished ...>\nProcess 4811 detached\n',
        'strace: Process 4811 attached\nwrite(5, "ab"..., 65536\n',
        'strace: Process 4811 attached\nwrite(5, "ab"..., 65536^C\n',
        'getpid() = 4811\nwrite(5, "ab"..., 65536\n^C^C^Z\n',
    ],
)
def test_the_call_in_which_strace_finds_a_process_stands(text: str) -> None:
    assert open_calls(text) == [("write", '5, "ab"..., 65536', "unfinished")]


@pytest.mark.parametrize("text", ['getpid() = 4811\nwrite(5, "ab"..., 65536\n', 'strace: Process 4811 attached\ngetpid() = 4811\nread(5,\n'])  # fmt: skip
def test_a_file_may_be_cut_in_its_last_call(text: str) -> None:
    assert [state for _, _, state in open_calls(text)] == ["truncated"]


def test_one_open_call_is_claimed_by_the_word_that_strace_was_attached() -> None:
    claimed = strace.claim(Head(["strace: Process 4811 attached", 'write(5, "ab"..., 65536']))
    assert claimed is not None
    assert claimed.strength == 0.9
    assert strace.claim(Head(['write(5, "ab"..., 65536'])) is None
    assert strace.claim(Head(["Process 7 attached", "to the report"])) is None


@pytest.mark.parametrize("front", ["^C", "^Cstrace: Process 4811 detached\n", "^C\n"])
def test_the_key_that_ends_strace_stands_before_its_table(front: str) -> None:
    text = front + "% time     seconds  usecs/call     calls    errors syscall\n"
    text += "------ ----------- ----------- --------- --------- ----------------\n"
    text += " 75.00    0.000300           3       100        90 access\n 25.00    0.000100          10        10           read\n"
    text += "------ ----------- ----------- --------- --------- ----------------\n"
    text += "100.00    0.000400                   110        90 total\n"
    reading = read_bytes(text.encode())
    assert reading.account.kind == "strace"
    assert reading.table("syscall_totals").select("name", "n").rows() == [("access", 100), ("read", 10)]
    assert reading.account.account.unknown == 0


def test_rows_of_a_table_of_counts_are_read_without_their_header():
    """People paste the two largest rows; a row of ltrace -c has the same form and the name of a function."""
    rows = " 81.22   11.882011       18602       700           fdatasync\n  7.01    0.980122          12     71213        21 write\n"
    made = read_bytes(rows.encode())
    assert made.account.kind == "strace"
    assert made.table("syscall_totals")["name"].to_list() == ["fdatasync", "write"]
    assert made.table("syscall_totals")["errors"].to_list() == [0, 21]
    assert read_bytes(rows.replace("fdatasync", "strlen").replace("write", "strcmp").encode()).account.kind != "strace"
