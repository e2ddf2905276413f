"""Tests of dtrace beyond the corpus: aggregations, tool kit tables and maps."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints, Limits
from parsers.text.times import wall_seconds
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

SETTINGS = settings(max_examples=examples(50), deadline=None, database=None)
KEY = st.from_regex(r"[a-z_](?:[a-z0-9_/.-]{0,14}[a-z0-9])?", fullmatch=True)
MODULE = st.sampled_from(["genunix", "libc.so.1", "oracle", "libbase.dylib"])
FRAME = st.one_of(
    st.builds("{}`{}+0x{:x}".format, MODULE, KEY, st.integers(0, 9999)),
    st.builds("{}`0x{:x}".format, MODULE, st.integers(2**16, 2**40)),
    st.just("libx.so`icinga::Set(icinga::String const&, int)+0xb5"),
)


@SETTINGS
@given(
    stacks=st.lists(st.tuples(st.lists(FRAME, min_size=1, max_size=6), st.integers(1, 10**6)), min_size=1, max_size=6)
)
def test_a_stack_comes_back_from_its_columns(stacks):
    text = "CPU     ID                    FUNCTION:NAME\n  0  64091                        :tick-60s \n\n"
    text += "".join(
        "\n" + "".join(f"              {f}\n" for f in frames) + f"              {n:>5}\n" for frames, n in stacks
    )
    run = parse_bytes(text.encode(), "dtrace", "aggregation")
    rows = run.tables["profile_stacks"]
    assert [(r["frames"], r["weight"]) for r in rows.iter_rows(named=True)] == [(f, n) for f, n in stacks]
    assert rows["complete"].all()
    assert run.batch.account.unknown == 0


@SETTINGS
@given(rows=st.lists(st.tuples(KEY, st.integers(-(10**9), 10**12)), min_size=1, max_size=10), narrow=st.booleans())
def test_a_key_and_its_value_come_back(rows, narrow):
    text = "dtrace: description 'x' matched 1 probe\n"
    text += "".join(f"{k} {n}\n" if narrow else f"  {k:<50}{n:>17}\n" for k, n in rows)
    found = parse_bytes(text.encode(), "dtrace", "aggregation").tables["counters"]
    assert found.select("item", "value").rows() == [(k, float(n)) for k, n in rows]


def hist(key: str, labels: list[str], counts: list[int]) -> str:
    rows = "".join(f"{label:>16} |{'@' * 9:<40} {n}\n" for label, n in zip(labels, counts, strict=True))
    return f"  {key}\n           value  ------------- Distribution ------------- count    \n{rows}\n"


@SETTINGS
@given(counts=st.lists(st.integers(0, 10**6), min_size=2, max_size=8), step=st.integers(1, 500))
def test_buckets_of_lquantize_come_back(counts, step):
    labels = ["< 0", *(str(i * step) for i in range(len(counts))), f">= {len(counts) * step}"]
    text = hist("tnslsnr 12", labels, [0, *counts, 5])
    rows = parse_bytes(text.encode(), "dtrace", "aggregation").tables["hist"]
    edges = [(None, 0.0), *((i * step, (i + 1) * step) for i in range(len(counts))), (len(counts) * step, None)]
    assert rows.select("lo", "hi").rows() == edges
    assert rows["n"].to_list() == [0, *counts, 5]
    assert rows["complete"].all()


def test_buckets_of_quantize_are_mirrored_below_zero():
    text = hist("x", ["-4", "-2", "-1", "0", "1", "2"], [0, 1, 1, 1, 1, 0])
    rows = read_bytes(text.encode()).table("hist")
    assert rows.select("lo", "hi").rows() == [(-8, -4), (-4, -2), (-2, -1), (0, 1), (1, 2), (2, 4)]


def test_a_histogram_that_ends_early_is_not_complete():
    rows = read_bytes(hist("x", ["8", "16"], [3, 4]).encode()).table("hist")
    assert rows["complete"].to_list() == [False, False]


def test_a_count_without_a_bar_counts():
    text = "  x\n value  ------------- Distribution ------------- count\n 8 |                  7\n 16 |@@@@@@@ 900\n 32 | 0\n"
    assert read_bytes(text.encode()).table("hist")["n"].to_list() == [7, 900, 0]


def test_a_key_that_comes_again_begins_the_next_aggregation_and_a_firing_begins_anew():
    two = hist("a", ["0", "1"], [1, 0]) + hist("b", ["0", "1"], [1, 0])
    firing = "  0   5012                        :tick-5s\n"
    rows = read_bytes((firing + two + two + firing + two).encode()).table("hist")
    assert rows["agg"].to_list()[::2] == ["1", "1", "2", "2", "1", "1"]


@pytest.mark.parametrize(
    ("probe", "seconds"),
    [("tick-5s", 5.0), ("tick-250ms", 0.25), ("tick-1min", 60.0), ("tick-10", 0.1), ("tick-4hz", 0.25), ("END", None)],
)
def test_the_firing_above_a_histogram_gives_its_interval(probe, seconds):
    firing = f"  0   5012                        :{probe}\n"
    rows = read_bytes((firing + hist("a", ["0", "1"], [1, 0])).encode()).table("hist")
    assert rows["tick_s"].unique().to_list() == [seconds]


def test_another_probe_ends_the_interval_of_a_tick():
    one = hist("a", ["0", "1"], [1, 0])
    text = "  0   5012                        :tick-5s\n" + one + "  0   5013                        :END\n" + one
    assert read_bytes(text.encode()).table("hist")["tick_s"].to_list() == [5.0, 5.0, None, None]


def test_stamps_open_samples_and_are_wall_time():
    text = "".join(
        f"2005 Dec 31 23:59:{59 - 2 + s if s < 3 else 0},\n THREADS TIME (ns)\n KERNEL 10{s}\n" for s in range(3)
    )
    rows = read_bytes(text.encode()).table("counters")
    assert rows.select("sample", "value", "unit").rows() == [(1, 100.0, "ns"), (2, 101.0, "ns"), (3, 102.0, "ns")]
    assert rows["t_local"][0] == wall_seconds(2005, 12, 31, 23, 59, 57)


def test_a_leap_into_a_new_day_goes_on():
    text = (
        "2005 Dec 31 23:59:59,\n THREADS TIME (ns)\n KERNEL 1\n2006 Jan  1 00:00:00,\n THREADS TIME (ns)\n KERNEL 2\n"
    )
    reading = read_bytes(text.encode())
    times = reading.table("counters")["t_local"]
    assert times[1] - times[0] == 1.0
    assert reading.account.parts[0].domains[0].kind == "wall-local"


def test_a_stack_with_a_histogram_keeps_both():
    text = "\n              libc.so.1`read+0x7\n              oracle`main+0x1\n" + hist("", ["0", "1"], [4, 0]).lstrip()
    reading = read_bytes(text.encode(), Hints(kind="dtrace", variant="aggregation"))
    assert reading.table("hist")["key1"].unique().to_list() == ["libc.so.1`read+0x7"]
    assert reading.table("profile_stacks")["frames"].to_list() == [["libc.so.1`read+0x7", "oracle`main+0x1"]]


def test_a_stack_may_carry_its_program_before_or_behind():
    text = "\n  oracle   4711\n              libc.so.1`read+0x7\n              12\n\n              libc.so.1`poll+0x7\n  tnslsnr              9\n"
    rows = read_bytes(text.encode(), Hints(kind="dtrace", variant="aggregation")).table("profile_stacks")
    assert rows.select("comm", "pid", "weight").rows() == [("oracle", 4711, 12.0), ("tnslsnr", None, 9.0)]


def test_lost_data_is_said():
    text = "dtrace: description 'x' matched 1 probe\ndtrace: 12 drops on CPU 0\ndtrace: error on enabled probe ID 1 (ID 7: x): invalid address\n  a  1\n"
    notes = [n.text for n in read_bytes(text.encode()).account.notes]
    assert sum(x.startswith("data lost") for x in notes) == 2 or any("data lost" in x for x in notes)


@pytest.mark.parametrize("size", [90, 200, 333])
def test_histograms_do_not_depend_on_where_a_file_is_cut(size):
    content = "".join(hist(f"key{i} {i}", ["< 0", "0", "10", "20"], [0, i, 3, 0]) for i in range(20)).encode()
    hints = Hints(kind="dtrace", variant="aggregation")
    one, many = read_bytes(content, hints), read_bytes(content, hints, Limits(run_bytes=size))
    assert one.table("hist").equals(many.table("hist"))


def test_a_table_of_opensnoop_names_processes():
    text = "  UID    PID COMM          FD PATH\n  100  12001 oracle         7 /u01/app/my file\n    0    311 nscd           -1 /etc/x\n"
    rows = read_bytes(text.encode()).table("logs")
    assert rows.select("pid", "program").rows() == [(12001, "oracle"), (311, "nscd")]


def test_columns_may_stand_in_another_order():
    text = "PID CMD COUNT PERCENT\n12 oracle 7 70.0%\n13 sh 3 30.0%\n"
    rows = read_bytes(text.encode(), Hints(kind="dtrace", variant="script")).table("counters")
    assert rows.select("item", "name", "value", "unit").rows()[:2] == [
        ("12 oracle", "count", 7.0, None),
        ("12 oracle", "percent", 70.0, "%"),
    ]


def test_a_stack_of_bpftrace_that_is_cut_has_no_weight():
    text = "Attaching 1 probe...\n@[\n    a+1\n    b+2\n"
    rows = read_bytes(text.encode()).table("profile_stacks")
    assert rows.select("weight", "complete").rows() == [(None, False)]
    assert rows["frames"].to_list() == [["a+1", "b+2"]]


def test_prose_with_a_number_at_its_end_is_no_key():
    text = "dtrace: description 'x' matched 1 probe\nWe restarted the listener, and the bug is number 5576565\n  a  1\n"
    reading = read_bytes(text.encode(), Hints(kind="dtrace", variant="aggregation"))
    assert reading.table("counters")["item"].to_list() == ["a"]
    assert reading.account.account.unknown == 1


def test_a_damaged_time_of_lastwords_is_not_read_as_one():
    text = (
        "TIME PID EXEC SYSCALL RETURN ERR\n"
        "1091567219704301 1861 bash fstat64 0 0\n"
        "10915672194511[8 1861 bash close 0 0\n"
        "1091567219711111 1861 bash open64 4 0\n"
    )
    run = parse_bytes(text.encode(), "dtrace", "script")
    assert run is not None
    logs = run.tables["logs"]
    assert logs["line_no"].to_list() == [2, 4]
    assert logs["t_local"].to_list() == pytest.approx([1091567.219704301, 1091567.219711111], abs=1e-8)
    assert run.batch.account.unknown == 1


def test_a_histogram_of_bcc_is_called_what_the_tool_traces() -> None:
    text = "Tracing run queue latency... Hit Ctrl-C to end.\n\n     usecs               : count     distribution\n"
    text += "         0 -> 1          : 12       |****                                    |\n"
    assert set(read_bytes(text.encode()).table("hist").select("agg", "unit").rows()) == {
        ("run queue latency usecs", "us")
    }
    assert set(read_bytes(text.split("\n\n")[1].encode()).table("hist")["agg"]) == {"usecs"}


def test_counts_under_the_program_that_made_them_need_no_other_sign() -> None:
    text = (
        "sudo dtrace -n 'syscall:::entry /pid == $target/ {\n    @num[probefunc] = count();\n}' -p 711\n\n"
        "  readv                             34\n  kevent                       5004735\n"
    )
    reading = read_bytes(text.encode())
    assert reading.table("counters").select("item", "value").rows() == [("readv", 34.0), ("kevent", 5004735.0)]
