"""Tests of kdump: pairs of records, stamps, threads, data, error names, what is claimed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.tracing.truss import kdump
from parsers.formats.tracing.truss.errno_names import FREEBSD, NETBSD, OPENBSD
from parsers.text.source import Head, Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes, read_path, same_tables, without_notes

TESTS = Path(__file__).parents[3]
REAL = TESTS / "cases" / "harvest" / "01" / "shell-burns-a-processor-for-months" / "kdump.txt"


def read(text: str, command: str | None = None, **limits: int):
    hints = Hints(kind="truss", variant="kdump", command=command)
    reading = read_bytes(text.encode(), hints, Limits(**limits) if limits else None)
    assert reading.error is None
    assert reading.account.account.lines == len(text.splitlines())
    return reading


def rows(text: str, command: str | None = None, **limits: int) -> list[dict]:
    return read(text, command, **limits).table("syscalls").to_dicts()


def test_a_real_trace_is_recognised_under_its_prompt():
    reading = read_path(REAL)
    assert (reading.account.kind, reading.account.account.read) == ("truss", 20)
    calls = reading.table("syscalls")
    assert calls["name"].unique().to_list() == ["ioctl"]
    assert calls["err"].unique().to_list() == ["ENOTTY"]
    assert calls["comm"].unique().to_list() == ["nsh"]
    # The excerpt begins between a call and its return.
    assert calls.select("line_no", "line_end", "stamp").rows()[:2] == [(2, 2, "end"), (3, 4, "start")]
    assert calls["args"].to_list()[1:3] == ["0,FIONREAD,0x7edbae176920", "0,TIOCGETA,0xf510ef44790"]


# Stamps

CALLS = (
    "   812 cat      {} CALL  open(0x7fff,0<O_RDONLY>)\n   812 cat      {} RET   open 3\n"
    "   812 cat      {} CALL  close(0x3)\n   812 cat      {} RET   close 0\n"
)


def times(text: str, command: str | None = None) -> list[tuple[float | None, float | None]]:
    return [(r["t_local"], r["elapsed_s"]) for r in rows(text, command)]


def kinds(text: str, command: str | None = None) -> list[tuple[str, str | None]]:
    return [(d.kind, d.base) for d in read(text, command).account.parts[0].domains]


def options(text: str) -> list[str]:
    return read(text).account.parts[0].facts["tool_opts"]


def test_seconds_since_1970():
    text = CALLS.format("1409069211.100000", "1409069211.100250", "1409069213.500000", "1409069214.500000")
    assert times(text) == [(0.1, 0.00025), (2.5, 1.0)]
    assert kinds(text) == [("wall-utc", "2014-08-26T16:06:51+00:00")]
    assert options(text) == ["-T"]


def test_seconds_since_the_first_record_rise():
    text = CALLS.format("0.000000", "0.000250", "2.400000", "3.400000")
    assert times(text) == [(0.0, 0.00025), (2.4, 1.0)]
    assert kinds(text) == [("trace-relative", None)]
    assert options(text) == ["-E"]


def test_seconds_since_the_record_above_are_summed():
    text = CALLS.format("0.000000", "0.000250", "2.400000", "1.000000")
    assert times(text) == [(0.0, 0.00025), (2.40025, 1.0)]
    assert kinds(text) == [("trace-relative", None)]
    assert options(text) == ["-R"]


def test_sums_begin_with_the_time_since_1970_that_some_systems_print_first():
    text = CALLS.format("1409069211.100000", "0.000250", "2.400000", "1.000000")
    assert times(text) == [(0.1, 0.00025), (2.50025, 1.0)]
    assert kinds(text) == [("wall-utc", "2014-08-26T16:06:51+00:00")]
    assert options(text) == ["-R"]


def test_of_several_stamps_the_first_is_taken():
    text = CALLS.format(
        "1409069211.100000000 0.000000000 0.000000000", "1409069211.100250000 0.000250000 0.000250000",
        "1409069213.500000000 2.400000000 2.399750000", "1409069214.500000000 3.400000000 1.000000000",
    )  # fmt: skip
    assert times(text) == [(0.1, 0.00025), (2.5, 1.0)]


def test_two_small_stamps_need_the_command_line():
    text = "".join(CALLS.format("0.000000", "0.500000", "", "").splitlines(keepends=True)[:2])
    assert times(text) == [(None, None)]
    assert [n.kind for n in read(text).account.notes] == ["remark"]
    later = text.replace("0.000000", "2.000000")
    assert times(later, "kdump -R -f ktrace.out") == [(2.0, 0.5)]
    assert times(text, "kdump -E") == [(0.0, 0.5)]
    assert times(text, "kdump -TR") == [(0.0, 0.5)]


def test_small_differences_are_no_times_out_of_order():
    text = CALLS.format("0.000000", "0.000012", "0.000007", "0.000002")
    assert times(text) == [(0.0, 1.2e-05), (1.9e-05, 2e-06)]


def test_a_prompt_of_ktrace_may_stand_above_that_of_kdump():
    text = CALLS.format("1.000000", "2.000000", "3.000000", "4.000000")
    prompts = "fw1# ktrace -p 812; sleep 1; ktrace -C\nfw1# kdump -R | head\n"
    assert [r["t_local"] for r in read_bytes((prompts + text).encode()).table("syscalls").to_dicts()] == [1.0, 6.0]
    assert [r["t_local"] for r in rows(text)] == [1.0, 3.0]


def test_another_trace_since_its_first_record_is_another_clock():
    one = CALLS.format("0.000000", "0.000250", "2.400000", "3.400000")
    assert len(kinds(one + one)) == 2
    assert [r["gap_s"] for r in rows(one + one)] == [None, 2.4, None, 2.4]


# Pairs

THREADS = (
    "   812 100077 httpd    CALL  read(0x5,0x801c00000,0x10)\n   812 100078 httpd    CALL  read(0x6,0x801c00000,0x10)\n"
    "   812 100077 httpd    GIO   fd 5 read 2 bytes\n       \"ab\"\n   812 100078 httpd    RET   read 7\n"
    "   812 100077 httpd    RET   read 2\n   812 100078 httpd    CALL  kevent(0x4,0,0,0x7fff,0x1,0)\n"
)  # fmt: skip


def test_threads_are_paired_by_their_number():
    found = [(r["lwp"], r["line_no"], r["line_end"], r["fd"], r["bytes"], r["data"]) for r in rows(THREADS)]
    assert found == [(100078, 2, 5, 6, 7, None), (100077, 1, 6, 5, 2, "ab")]
    opened = read(THREADS).table("open_calls").select("line_no", "lwp", "name", "fd", "state", "done_line").rows()
    assert opened == [(7, 100078, "kevent", None, "unfinished", None)]
    assert options(THREADS) == ["-H"]


def test_without_threads_a_return_ends_the_last_call_of_its_name():
    text = (
        " 812 httpd    CALL  kevent(0x4,0,0,0x7fff,0x1,0)\n 812 httpd    CALL  close(0x9)\n 812 httpd    RET   close 0\n"
        " 812 httpd    RET   kevent 1\n"
    )
    assert [(r["line_no"], r["line_end"], r["name"]) for r in rows(text)] == [(2, 3, "close"), (1, 4, "kevent")]


def test_a_call_without_a_return_is_open():
    text = "  5/7  sh       CALL  wait4(WAIT_ANY,0x7f,0,0)\n  5/7  sh       CALL  close(3)\n  5/7  sh       RET   close 0\n"
    reading = read(text)
    assert reading.table("open_calls").select("line_no", "name", "args").rows() == [(1, "wait4", "WAIT_ANY,0x7f,0,0")]
    assert reading.table("syscalls")["name"].to_list() == ["close"]


def test_every_open_call_is_written():
    many = "".join(f" {pid} sh       CALL  kevent(0x4,0,0,0x7fff,0x1,0)\n" for pid in range(1, 300))
    assert len(read(many).table("open_calls")) == 299


def test_a_child_begins_with_a_return():
    text = "  5 sh       CALL  rfork(0x14)\n  5 sh       RET   rfork 6\n  6 sh       RET   rfork 0\n"
    assert [(r["pid"], r["state"], r["child_pid"]) for r in rows(text)] == [(5, "done", 6), (6, "child_start", None)]


def test_the_second_value_of_pipe():
    row = rows("  5      1 sh       CALL  pipe\n  5      1 sh       RET   pipe 3, 4\n")[0]
    assert (row["fd"], row["fd2"], row["ret"], row["ret2"], row["args"]) == (3, 4, 3, 4, "")


def test_system_call_numbers_and_abi():
    text = (
        '  5 sh       CALL  F64  open[5](0x7f,0)\n  5 sh       NAMI  "/x"\n  5 sh       RET   F64  open[5] 3\n'
        "  5 sh       CALL  [777](0x1)\n  5 sh       RET   [777] 0x10\n"
    )
    assert [(r["name"], r["path"], r["ret"]) for r in rows(text)] == [("open", "/x", 3), ("[777]", None, 16)]


# Details


@pytest.mark.parametrize(
    ("lines", "data"),
    [
        (['       "ab"'], "ab"),
        (['       "ab', "\tcd", '       "'], "ab\ncd\n"),
        (['       "ab\\', "\tcd", '       "'], "abcd\n"),
        (['"ab', "cd", '"'], "ab\ncd\n"),
        (['       "say \\M-C\\M-)\\^A\\0\\\\"'], "say \\xC3\\xA9\\x01\\x00\\"),
        (['       "the end\\r'], "the end\r"),
        (["       0x0000 6162                                     |ab|"], None),
        (["\t61 62"], None),
    ],
)
def test_data(lines, data):
    text = "\n".join(
        [
            " 5 sh       CALL  read(3,0x7f,4)",
            " 5 sh       GIO   fd 3 read 9 bytes",
            *lines,
            " 5 sh       RET   read 9\n",
        ]
    )
    assert [r["data"] for r in rows(text)] == [data]
    assert read(text).account.account.read == len(lines) + 3


def test_the_first_path_is_that_of_the_call():
    text = (
        ' 5 sh       CALL  execve(0x1,0x2,0x3)\n 5 sh       NAMI  "/bin/x"\n 5 sh       NAMI  "/libexec/ld-elf.so.1"\n'
        " 5 x        RET   execve JUSTRETURN\n"
    )
    row = rows(text)[0]
    assert (row["path"], row["comm"], row["ret"], row["ret_text"]) == ("/bin/x", "sh", None, "JUSTRETURN")


def test_the_peer_of_a_structure():
    text = (
        " 5 sh       CALL  connect(0x3,0x7f,0x1c)\n 5 sh       STRU  struct sockaddr { AF_INET6, [2001:db8::1]:5432 }\n"
        " 5 sh       RET   connect 0\n 5 sh       CALL  write(0x3,0x7f,0x2)\n 5 sh       RET   write 2\n"
        " 5 sh       CALL  sendto(0x4,0x7f,0x2,0,0,0)\n 5 sh       STRU  struct sockaddr { AF_INET, 192.0.2.1:53 }\n"
        " 5 sh       RET   sendto 2\n"
    )
    assert [(r["name"], r["peer_ip"], r["peer_port"]) for r in rows(text)] == [
        ("connect", "2001:db8::1", 5432), ("write", "2001:db8::1", 5432), ("sendto", "192.0.2.1", 53),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("errno 35 Resource temporarily unavailable", "EAGAIN"),
        ("errno 2", "ENOENT"),
        ("errno 84 Value too large to be stored in data type", "EOVERFLOW"),
        ("errno 87 Value too large to be stored in data type", "EOVERFLOW"),
        ("errno 91 Not supported", "ENOTSUP"),
        ("errno 91 Link has been severed", "ENOLINK"),
        ("errno 91", None),
        ("errno 97 Memory protection violation", None),
        ("unknown errno 500", None),
    ],
)
def test_words_name_the_errors_that_differ(words, name):
    row = rows(f" 5 sh       CALL  read(3,0x7f,4)\n 5 sh       RET   read -1 {words}\n")[0]
    assert (row["err"], row["ret"], row["bytes"]) == (name, -1, None)


def test_the_systems_agree_up_to_81():
    assert {n: x for n, x in FREEBSD.items() if n < 82} == {n: x for n, x in OPENBSD.items() if n < 82}
    assert {n: x for n, x in FREEBSD.items() if n < 82} == {n: x for n, x in NETBSD.items() if n < 82}
    assert (FREEBSD[94], OPENBSD[87], NETBSD[93]) == ("ECAPMODE", "EOVERFLOW", "ENOATTR")


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("SIGINT caught handler=0x400b40 mask=0x0 code=SI_KERNEL", ("SIGINT", "caught", "SI_KERNEL", None, None, None)),
        ("SIGTERM SIG_DFL code=0x10001", ("SIGTERM", "default", None, None, None, None)),
        ("SIGSEGV SIG_DFL code=SEGV_MAPERR addr=0x10 trapno=6", ("SIGSEGV", "default", "SEGV_MAPERR", 16, None, None)),
        (
            "SIGCHLD caught handler=0x4 mask=(): code=CLD_EXITED child pid=77, uid=0,  status=1, utime=0, stime=0)",
            ("SIGCHLD", "caught", "CLD_EXITED", None, 77, 1),
        ),
    ],
)
def test_signals(text, row):
    columns = ("signal", "action", "code", "addr", "sender_pid", "status")
    reading = read(f"  5 sh       PSIG  {text}\n  5 sh       CALL  getpid()\n")
    assert reading.table("signals").select(columns).rows() == [row]


def test_broken_pledges_and_messages_are_logs():
    text = (
        '  5 sh       PLDG  open, "rpath", errno 1 Operation not permitted\n  5 sh       Events dropped.\n'
        "kdump: data too short\n  5 sh       CALL  getpid()\n"
    )
    assert read(text).table("logs").select("pid", "source").rows() == [(5, "tool"), (5, "tool"), (None, "tool")]


# Damage and size


def test_a_mail_breaks_lines_at_blanks():
    text = (
        " 99072 somewhatlong CALL  ioctl(0,TIOCGETA,0xf510ef44790)\n"
        " 99072 somewhatlong RET   ioctl -1 errno 25 Inappropriate ioctl for the\ndevice\n"
        " 99072 somewhatlong CALL  ioctl(0,TIOCGETA,0xf510ef44790)\n"
        " 99072 somewhatlong RET   ioctl -1 errno 25 Inappropriate ioctl for that\ndevice\n"
    )
    assert [(r["line_no"], r["line_end"]) for r in rows(text)] == [(1, 3), (4, 6)]
    assert {n.kind for n in read(text).account.notes} == {"repaired"}


def test_runs_carry_open_calls_their_data_and_the_clock():
    stamps = [f"0.{n:06d}" for n in range(1, 7)]
    one = (
        " 812/1 cat {} CALL  read(3,0x7f,4)\n 812/2 cat {} CALL  open(0x1,0)\n 812/1 cat {} GIO   fd 3 read 6 bytes\n"
        '       "ab\n\tcde\n       "\n'
        ' 812/2 cat {} NAMI  "/x"\n 812/1 cat {} RET   read 6\n 812/2 cat {} RET   open 3\n'
    ).format(*stamps)
    text = one * 60
    whole = read(text, "kdump -R")
    assert whole.table("syscalls")["data"].drop_nulls().unique().to_list() == ["ab\ncde\n"]
    assert whole.table("syscalls")["path"].drop_nulls().len() == 60
    for size in (900, 1300, 4001):
        parts = read(text, "kdump -R", run_bytes=size)
        assert whole.account.account == parts.account.account
        assert same_tables(without_notes(whole.tables), without_notes(parts.tables))


@given(
    pid=st.integers(1, 99999),
    name=st.from_regex(r"[a-z_][a-z0-9_]{0,10}", fullmatch=True).filter(lambda n: n not in kdump.ENDS),
    comm=st.from_regex(r"[a-z][A-Za-z0-9_.-]{0,14}", fullmatch=True), number=st.sampled_from(range(1, 82)),
    value=st.integers(10, 2**40), failed=st.booleans(),
    args=st.lists(st.sampled_from(["3", "0x7fff", "0<O_RDONLY>", "0"]), max_size=4), tid=st.sampled_from(["", "/{}  ", " {}"]),
)  # fmt: skip
@settings(max_examples=examples(40), deadline=None, database=None)
def test_any_call_comes_back(pid, name, comm, number, value, failed, args, tid):
    front = f"{pid:6}{tid.format(4711)} {comm:8} "
    result = f"-1 errno {number} Some words" if failed else f"{value}/{value:#x}"
    row = rows(f"{front}CALL  {name}({','.join(args)})\n{front}RET   {name} {result}\n")[0]
    assert (row["pid"], row["lwp"], row["comm"], row["name"]) == (pid, 4711 if tid else None, comm, name)
    assert (row["args"], row["ret_text"]) == (",".join(args), result)
    assert (row["ret"], row["err"]) == ((-1, FREEBSD[number]) if failed else (value, None))


# Claims


def test_counted_lines_are_not_claimed():
    """In a listing counted by `sort | uniq -c`, the first number is not a process."""
    lines = [
        "1712  25372 i2pd     RET   getpid 25372/0x631c", "1945  25372 i2pd     RET   fstat 0", "2117  25372 i2pd     RET   clock_gettime 0",
        "2640  25372 i2pd     CALL  read(0x7,0x802eb5c80,0x8000)", "3584  25372 i2pd     RET   lseek 0",
    ]  # fmt: skip
    assert kdump.claim(Head(lines)) is None


def test_prose_and_other_tools_are_not_claimed():
    assert kdump.claim(Head(["Then 5 people CALL  me", "and RET and NAMI ", " CALL it"])) is None
    for path in (TESTS / "corpus").glob("*/*.txt"):
        if path.stat().st_size < 30_000 and "kdump" not in path.stem:
            assert kdump.claim(Head(path.read_text(encoding="utf-8", errors="replace").splitlines())) is None, path


def test_one_record_is_a_weaker_claim():
    one, many = (kdump.claim(Head([" 5 sh       CALL  getpid()"] * n)) for n in (1, 9))
    assert one is not None
    assert many is not None
    assert one.strength < many.strength
    assert many.variant == "kdump"
