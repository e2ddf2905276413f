"""Tests of argument texts parsed into columns."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.formats.tracing.shared import syscall_args as arg
from parsers.formats.tracing.truss import rows as truss_rows

TEXT = pl.col("ret_text")


SCHEMA = {"name": pl.String, "args": pl.String, "ret": pl.Int64, "ret_text": pl.String}
EVERY = (
    arg.WITH_FD
    | arg.WITH_ID
    | arg.WITH_ADDR
    | arg.SEM_CALLS
    | arg.NO_PATH_CALLS
    | {*arg.FORKS, "open", "symlink", None}
)


def frame_of(name=None, args=None, ret=None, text=None):
    return pl.DataFrame({"name": [name], "args": [args], "ret": [ret], "ret_text": [text]}, schema=SCHEMA)


def value(expr, name=None, args=None, ret=None, text=None):
    """Return the value of an expression; check that it is the same with the call's name alone and among all other names."""
    frame = frame_of(name, args, ret, text)
    if isinstance(expr, pl.Expr):
        return frame.select(expr).item()
    alone, among_others = (frame.select(expr(arg.Names(there))).item() for there in ([name], EVERY))
    assert alone == among_others
    return alone


def column(column, *call):
    return arg.add_columns(frame_of(*call), arg.Names([call[0]]), {"x": column})["x"].item()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-5", -5),
        ("022", 18),
        ("0x10", 16),
        ("0xFFFFFFFF7F78A000", None),
        ("SIGINT", None),
        (None, None),
        ("?", None),
    ],
)
def test_it_reads_a_printed_result(text, number):
    assert value(arg.number(TEXT), text=text) == number


def test_an_address_may_lie_above_the_signed_range():
    assert value(arg.address(TEXT), text="0xFFFFFFFF7F78A000") == 0xFFFFFFFF7F78A000
    assert value(arg.address(TEXT), text="7") is None


@pytest.mark.parametrize(
    ("name", "args", "ret", "fd"),
    [
        ("read", '16, " N T P", 64', 10, 16),
        ("close", "14", 0, 14),
        ("kill", "2146, SIGSEGV", 0, None),
        ("shmat", "16777281, 0x3C0000000, IPC_ALLOC", None, None),
        ("pipe", "", 14, 14),
        ("mmap", "0x00000000, 8192, PROT_READ, MAP_PRIVATE|MAP_ALIGN, 4, 0", None, 4),
        ("openat", '7, "a", O_RDONLY', 8, 7),
        ("openat", 'AT_FDCWD, "a", O_RDONLY', 8, None),
        ("lwp_unpark", "2", 0, None),
    ],
)
def test_a_descriptor_is_one_only_where_the_call_takes_one(name, args, ret, fd):
    assert column(arg.Column(arg.WITH_FD, pl.Int64, arg.fd), name, args, ret) == fd


@pytest.mark.parametrize(
    ("name", "args", "path"),
    [
        ("open", '".", O_RDONLY', "."),
        ("stat64", '"/a b,c/x", 0xFFBFF720', "/a b,c/x"),
        ("openat", 'AT_FDCWD, "/etc/hosts", O_RDONLY', "/etc/hosts"),
        ("symlink", '"/target", "/link"', "/link"),
        ("open", "“/typographic”, O_RDONLY", "/typographic"),
        ("read", '14, " {\\n     " v e r s i o n".., 6629', None),
    ],
)
def test_a_path_is_a_text_in_first_place_or_behind_a_directory(name, args, path):
    assert column(arg.Column(None, pl.String, arg.path, arg.may_have_path), name, args) == path
    assert path is None or (value(arg.path, name, args) == path and value(arg.may_have_path, name, args))


def test_random_bytes_and_names_are_no_paths():
    assert not value(arg.may_have_path, "getrandom", r'"\x2f\x11\xdf", 3, 0')
    assert not value(arg.may_have_path, "sethostname", '"/db1", 4')


@pytest.mark.parametrize(
    ("name", "args", "ret", "found"),
    [
        ("shmat", "16777281, 0x3C0000000, IPC_ALLOC", None, 16777281),
        ("shmdt", "0x380000000", 0, None),
        ("shmget", "0x1234, 8192, 0600", 77, 77),
        ("shmget", "0x1234, 8192, 0600", None, None),
        ("waitid", "P_PID, 8195, 0xFFFFFFFF7FFF6D10, WEXITED|WTRAPPED", 0, 8195),
        ("waitid", "P_ALL, 0, 0xFFFFFFFF7FFF6D10, WEXITED", 0, None),
        ("semctl", "1347842, 397, SETVAL, 1", 0, 1347842),
        ("close", "3, 4", 0, None),
    ],
)
def test_ids(name, args, ret, found):
    assert column(arg.Column(arg.WITH_ID, pl.Int64, arg.arg_id), name, args, ret) == found


def test_semaphore_numbers():
    assert column(arg.Column(arg.SEM_CALLS, pl.Int64, arg.sem_num), "semctl", "1347842, 397, SETVAL, 1") == 397
    assert column(arg.Column(arg.SEM_CALLS, pl.Int64, arg.sem_num), "semop", "5, [{118, -1, 0}], 1") == 118
    assert column(arg.Column(arg.SEM_CALLS, pl.Int64, arg.sem_num), "semop", "5, 0xFFBF, 1") is None
    assert column(arg.Column(arg.SEM_CALLS, pl.Int64, arg.sem_num), "read", "5, 7") is None


@pytest.mark.parametrize(
    ("name", "args", "text", "found"),
    [
        ("shmat", "16777281, 0x3C0000000, IPC_ALLOC", "0x3C0000000", 0x3C0000000),
        ("shmat", "5, 0x00000000, 0", "0xFEE00000", 0xFEE00000),
        ("shmat", "5, 0, 0", "0xFEE00000", 0xFEE00000),
        ("shmdt", "0x1440000000", "0", 0x1440000000),
        ("lwp_park", "0xFFFFFC7FEE339E60, 0", None, 0xFFFFFC7FEE339E60),
        ("open", "0x10", "3", None),
    ],
)
def test_addresses_of_memory_and_locks(name, args, text, found):
    assert column(arg.Column(arg.WITH_ADDR, pl.UInt64, arg.arg_addr), name, args, None, text) == found


def test_bytes_are_the_result_of_a_transfer_that_worked():
    assert value(arg.transferred, "read", "", 240) == 240
    assert value(arg.transferred, "read", "", -1) is None
    assert value(arg.transferred, "close", "", 0) is None


def test_a_buffer_is_found_from_the_right():
    of = arg.Column(arg.BUFFER_CALLS, pl.String, lambda names: arg.from_buffer(), arg.has_text, arg.to_quote)
    assert column(of, "read", r'14, " {\n     " v e r s i o n".., 6629') == r' {\n     " v e r s i o n'
    assert column(of, "read", '14, "", 0') == ""
    assert column(of, "open", '"x", 3') is None
    assert column(of, "write", '14, "a", 3, "b", 4') == 'a", 3, "b'
    assert column(of, "write", '3<pipe:"x">, "a"...') == "a"
    assert column(of, "write", '14, "') is None


CALLS = [
    ("read", '16, " N T P", 64', 10, "10"), ("close", "14", 0, "0"), ("kill", "2146, SIGSEGV", 0, "0"), ("pipe", "", 14, "14"),
    ("mmap", "0x00000000, 8192, PROT_READ, MAP_PRIVATE|MAP_ALIGN, 4, 0", None, "0xFEE00000"), ("open", '".", O_RDONLY', 3, "3"),
    ("openat", '7, "a", O_RDONLY', 8, "8"), ("symlink", '"/target", "/link"', 0, "0"), (None, '"/lost", 0', 0, "0"),
    ("getrandom", r'"\x2f\x11", 3, 0', 3, "3"), ("shmat", "5, 0, 0", None, "0xFEE00000"), ("shmdt", "0x1440000000", 0, "0"),
    ("shmget", "0x1234, 8192, 0600", 77, "77"), ("waitid", "P_PID, 8195, 0xFF, WEXITED", 0, "0"), ("semop", "5, [{118, -1, 0}], 1", 0, "0"),
    ("semctl", "1347842, 397, SETVAL, 1", 0, "0"), ("fork1", "", 8195, "8195"), ("lwp_park", "0xFFFFFC7FEE339E60, 0", 0, "0"),
]  # fmt: skip


@given(st.lists(st.sampled_from(CALLS), min_size=1))
def test_what_a_call_gives_does_not_depend_on_which_others_there_are(calls):
    columns = {
        **truss_rows._SOME,
        "bytes": arg.Column(None, pl.Int64, arg.transferred, lambda names: pl.col("ret") >= 0),
        "child_pid": arg.Column(None, pl.Int64, arg.child_pid, lambda names: pl.col("ret") >= 0),
    }
    frame = pl.DataFrame(calls, schema=SCHEMA, orient="row")
    together = arg.add_columns(frame, arg.Names(frame["name"]), columns)
    every = arg.add_columns(frame, arg.Names(EVERY), columns)
    alone = [arg.add_columns(one, arg.Names(one["name"]), columns) for one in frame.iter_slices(1)]
    assert together.equals(pl.concat(alone))
    assert together.equals(every)


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (r" N T P 0   8 1 9 7\n", "NTP0 8197\n"),
        (r" N T P 0 8 1 9 7\n", "NTP08197\n"),
        (r"\0F0\0\001\0\0\001 801 ,", r"\x00\xF0\x00\x00\x01\x00\x00\x00\x018\x01,"),
        (r' {\n     " v e r s i o n', '{\n  "version'),
        (r" \ n\b", "\\n\\x08"),
        ("", ""),
    ],
)
def test_pairs_are_decoded(raw, data):
    assert value(arg.decode_pairs(TEXT), text=raw) == data


CODES = {10: r"\n", 9: r"\t", 0: r"\0", 8: r"\b", 11: r"\v", 12: r"\f", 13: r"\r"}


@given(st.binary(max_size=40))
def test_whatever_truss_encodes_comes_back(content):
    raw = "".join(CODES[c] if c in CODES else f" {chr(c)}" if 32 <= c < 127 else f"{c:02X}" for c in content)
    expected = "".join(chr(c) if 32 <= c < 127 or c in (9, 10, 13) else f"\\x{c:02X}" for c in content)
    assert value(arg.decode_pairs(TEXT), text=raw) == expected


def test_a_child_is_the_result_of_a_fork_in_the_parent():
    assert value(arg.child_pid, "fork1", "", 8195) == 8195
    assert value(arg.child_pid, "vfork", "", 0) is None
    assert value(arg.child_pid, "read", "", 7) is None
