"""Tests of perf beyond the corpus: profiles, counters, scheduling and locks."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.tracing.perf import call_graph
from parsers.text.source import Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.:]{0,16}(?:@@?[A-Z_0-9]{1,5})?", fullmatch=True)
SYMBOL = st.one_of(NAME, st.sampled_from(["operator()", "std::map<int, char>::find", "[unknown]", "foo.isra.0"]))
DSO = st.sampled_from(
    ["[kernel.kallsyms]", "/usr/lib/libc.so.6", "/opt/a b/app (deleted)", "[unknown]", "/tmp/perf-12.map"]
)
FRAME = st.tuples(st.integers(0, 2**48), SYMBOL, st.one_of(st.none(), st.integers(0, 4095)), DSO)
SAMPLE = st.fixed_dictionaries(
    {
        "comm": st.sampled_from(["java", "my app", "kworker/0:1", "a 12", "tnslsnr"]),
        "pid": st.integers(0, 99999),
        "lwp": st.one_of(st.none(), st.integers(1, 99999)),
        "cpu": st.one_of(st.none(), st.integers(0, 511)),
        "time": st.integers(0, 10**13),
        "period": st.one_of(st.none(), st.integers(1, 10**9)),
        "event": st.sampled_from(["cycles", "cpu-clock:pppH", "sched:sched_switch", "cycles:u"]),
        "frames": st.lists(FRAME, max_size=6),
    }
)
SETTINGS = settings(max_examples=examples(50), deadline=None, database=None)


def written(sample: dict) -> str:
    """Write a sample as perf script does."""
    head = f"{sample['comm']:>16} {sample['pid']}"
    head += f"/{sample['lwp']}" if sample["lwp"] is not None else ""
    head += f" [{sample['cpu']:03}]" if sample["cpu"] is not None else ""
    head += f" {sample['time'] // 10**6}.{sample['time'] % 10**6:06}: "
    head += f"{sample['period']:>10} " if sample["period"] is not None else ""
    lines = [f"{head}{sample['event']}: "]
    for address, symbol, offset, dso in sample["frames"]:
        place = f"+0x{offset:x}" if offset is not None and symbol != "[unknown]" else ""
        lines.append(f"\t{address:>16x} {symbol}{place} ({dso})")
    return "\n".join([*lines, "", ""])


def shown(symbol: str, dso: str) -> str:
    return symbol if symbol != "[unknown]" else symbol if dso == "[unknown]" else f"{symbol} ({dso})"


@SETTINGS
@given(samples=st.lists(SAMPLE, min_size=1, max_size=8))
def test_a_sample_comes_back_from_its_columns(samples):
    text = "".join(map(written, samples))
    run = parse_bytes(text.encode(), "perf", "script")
    rows = run.tables["profile_stacks"].rows(named=True)
    assert len(rows) == len(samples)
    for row, sample in zip(rows, samples, strict=True):
        assert (row["comm"], row["pid"], row["event"]) == (sample["comm"], sample["pid"], sample["event"])
        assert row["lwp"] == (sample["pid"] if sample["lwp"] is None else sample["lwp"])
        assert row["t_local"] == pytest.approx(sample["time"] / 10**6)
        assert row["frames"] == [shown(symbol, dso) for _, symbol, _, dso in sample["frames"]]
        assert (row["weight"], row["unit"]) == (1.0, "samples")
    assert run.batch.account.unknown == 0


@SETTINGS
@given(samples=st.lists(SAMPLE, min_size=2, max_size=12), size=st.integers(80, 900))
def test_a_file_is_cut_anywhere_without_a_trace(samples, size):
    content = "".join(map(written, samples)).encode()
    hints = Hints(kind="perf", variant="script")
    one, many = read_bytes(content, hints), read_bytes(content, hints, Limits(run_bytes=size, block_bytes=size // 2))
    assert one.table("profile_stacks").equals(many.table("profile_stacks"))
    assert one.account.account == many.account.account


def test_a_sample_without_a_time_and_one_without_a_chain():
    text = b"java 19983 cycles: \n\t ffffffff8103ef4a native_write_msr ([kernel.kallsyms])\n\njava 19983 [003] 12.000001: 7 cycles:  993 main (/a)\n\n"
    rows = read_bytes(text, Hints(kind="perf")).table("profile_stacks")
    assert rows.select("t_local", "frames", "kernel").rows() == [
        (None, ["native_write_msr"], True),
        (12.000001, ["main"], False),
    ]


def test_a_wrapped_frame_beside_an_unknown_one_is_put_together():
    # Polars 2.1 panicked here: a small data frame in several chunks.
    text = (
        "\t7fce2ac91c6c [unknown] ([unknown])\n"
        "\tffffffff81b09043 blk_mq_dispatch_list+0x1\u017d*\x01 f82ad read+0xd (/usr/lib/x86_64-linux-gnu/\n"
        "libc\x02&L\u00ae\x1c-\u00b7j.6)\n"
        "my app: v2  2051/2060 [001]  1155.941785:    5025125 cpu-clock:pppH:\n"
    )
    run = parse_bytes(text.encode(), "perf", "script")
    assert run is not None
    rows = run.tables["profile_stacks"]
    assert rows["line_no"].to_list() == [1, 4]
    assert rows["frames"][0].to_list()[0] == "[unknown]"


def test_a_kernel_module_is_kernel_and_the_vdso_is_not():
    frames = [
        "nf_hook ([nf_conntrack])",
        "gettimeofday ([vdso])",
        "x (/lib/modules/5.4/kernel/net/ip.ko)",
        "y ([unknown])",
    ]
    text = "".join(f"a 1 [000] {i}.000000: cycles: \n\t      12345 {f}\n\n" for i, f in enumerate(frames, start=1))
    assert read_bytes(text.encode()).table("profile_stacks")["kernel"].to_list() == [True, False, True, None]


ROWS = st.lists(
    st.tuples(
        st.integers(1, 9999),
        st.sampled_from(["oracle", "ora_p001_PROD", "kworker/u8:1", "java"]),
        st.sampled_from(["[kernel.kallsyms]", "libc.so.6", "oracle"]),
        st.booleans(),
        NAME,
    ),
    min_size=1,
    max_size=10,
)


@SETTINGS
@given(rows=ROWS, collapsed=st.booleans())
def test_a_row_of_report_comes_back(rows, collapsed):
    lines = [f"  {p / 100:>6.2f}%  {comm:<14}  {dso:<18}  [{'k' if k else '.'}] {sym}" for p, comm, dso, k, sym in rows]
    lines = [re.sub(" +", " ", x).strip() for x in lines] if collapsed else lines
    text = "\n".join(["# Samples: 5  of event 'cycles'", "# Overhead  Command  Shared Object  Symbol", *lines, ""])
    found = parse_bytes(text.encode(), "perf", "report").tables["profile_symbols"]
    expected = [(p / 100, comm, dso, k, sym) for p, comm, dso, k, sym in rows]
    assert found.select("pct", "comm", "dso", "kernel", "symbol").rows() == expected


TREE = """            |
            ---a
               |
               |--{0}--b
               |          c
               |          |
               |          |--{1}--d
               |           --{2}--e
                --{3}--f
"""


def test_graph_and_fractal_shares_of_one_tree_are_the_same_shares():
    graph = call_graph.read(TREE.format("30.00%", "20.00%", "10.00%", "10.00%").splitlines(), 40.0, "a", None, None)
    fractal = call_graph.read(TREE.format("75.00%", "66.67%", "33.33%", "25.00%").splitlines(), 40.0, "a", None, None)
    assert (graph.fractal, fractal.fractal) == (False, True)
    assert [c[0] for c in graph.chains] == [c[0] for c in fractal.chains] == [list("abcd"), list("abce"), list("af")]
    for one, other in zip(graph.chains, fractal.chains, strict=True):
        assert one[1] == pytest.approx(other[1], abs=0.01)


def test_a_tree_that_lost_its_blanks_has_the_same_branches():
    whole = call_graph.read(TREE.format("30.00%", "20.00%", "10.00%", "10.00%").splitlines(), 40.0, "a", None, None)
    flat = [re.sub(" +", " ", x).strip() for x in TREE.format("30.00%", "20.00%", "10.00%", "10.00%").splitlines()]
    assert call_graph.read(flat, 40.0, "a", None, None).chains == whole.chains


def test_a_chain_printed_from_main_is_stored_leaf_first():
    lines = ["            ---_start", "               main", "               work", "               spin"]
    assert call_graph.read(lines, 9.0, "spin", None, None).chains[0][0] == ["spin", "work", "main", "_start"]


OPENED = b"""\
- worker
   - 80.00% serve
      - 50.00% open_file
         - 48.00% walk_list
              30.00% spin_lock
              2.00% walk_one
        30.00% close_file
"""


def test_a_tree_copied_from_the_browser_is_read_with_the_line_of_each_leaf():
    evidence = read_bytes(OPENED)
    stacks = evidence.tables["profile_stacks"]
    assert stacks.select("line_no", "weight").rows() == [(5, 30.0), (6, 2.0), (7, 30.0)]
    assert stacks["frames"].to_list()[0] == ["spin_lock", "walk_list", "open_file", "serve", "worker"]
    assert stacks["leaf"].to_list() == ["spin_lock", "walk_one", "close_file"]


def test_an_opened_tree_below_its_row_belongs_to_it():
    text = b"""\
Samples: 6K of event 'cpu-clock', Event count (approx.): 1533500000
  Children      Self  Command  Shared Object  Symbol
-   99.30%     0.31%  app      libapp.so      [.] setup
   - 98.99% setup
      - 98.97% fcntl
         - 91.51% return_from_SYSCALL_64
"""
    (stack,) = read_bytes(text).tables["profile_stacks"].rows(named=True)
    assert (stack["frames"], stack["weight"], stack["comm"]) == (
        ["return_from_SYSCALL_64", "fcntl", "setup"],
        91.51,
        "app",
    )


def test_two_events_of_a_report_stay_apart():
    block = "# Samples: 5  of event '{}'\n# Event count (approx.): 7\n#\n# Overhead  Command  Shared Object  Symbol\n   50.00%  a  b  [.] {}\n\n"
    reading = read_bytes((block.format("cycles", "x") + block.format("faults", "y")).encode())
    assert reading.table("profile_symbols").select("event", "symbol").rows() == [("cycles", "x"), ("faults", "y")]
    assert reading.table("profile_meta")["event"].to_list() == ["cycles", "faults"]


def test_screens_of_top_are_counted_and_drops_are_said():
    screen = "   PerfTop:    7706 irqs/sec  kernel:13.3%  exact:  0.0% lost: 0/0 drop: {}/9 [4000Hz cycles],  (all, 2 CPUs)\n"
    screen += "-----\n\n     2.26%  [kernel]  [k] _raw_spin_lock\n"
    reading = read_bytes((screen.format(0) + screen.format(9)).encode())
    assert reading.table("profile_symbols")["frame"].to_list() == [1, 2]
    assert sum("shares are unreliable" in n.text for n in reading.account.notes) == 1


def test_a_decimal_comma_is_told_from_thousands():
    text = (
        " Performance counter stats for 'x':\n\n          0,97 msec task-clock:u  #    0,573 CPUs utilized\n"
        "     1.234.567      cycles:u  #    1,272 GHz  (70,01%)\n       0,001694000 seconds time elapsed\n"
    )
    reading = read_bytes(text.encode())
    counters = reading.table("counters").filter(grp="perf_stat")
    assert counters.select("name", "value").rows() == [
        ("task-clock:u", 0.97),
        ("cycles:u", 1234567.0),
        ("time elapsed", 0.001694),
    ]
    texts = [n.text for n in reading.account.notes]
    assert any("decimal comma" in x for x in texts)
    assert any("counted 70,01 % of the time" in x for x in texts)


def test_what_may_be_either_is_unknown_and_says_so():
    text = " Performance counter stats for 'x':\n\n     1,234      cycles\n"
    reading = read_bytes(text.encode())
    assert reading.table("counters")["value"].to_list() == [None]
    assert any("decimal number or one with thousands separators" in n.text for n in reading.account.notes)


def test_a_value_of_x_with_its_decimal_comma_and_separator_comma():
    reading = read_bytes(
        b"0,399472,,task-clock,399472,100,00\n3,,context-switches,399472,100,00\n", Hints(kind="perf", variant="stat")
    )
    assert reading.table("counters").select("name", "value").rows() == [
        ("task-clock", 0.399472),
        ("context-switches", 3.0),
    ]


def test_intervals_count_on_over_block_runs():
    lines = [f"     {i}.000100000 {i * 7:>18}      faults\n" for i in range(1, 40)]
    content = ("#           time             counts unit events\n" + "".join(lines)).encode()
    hints = Hints(kind="perf", variant="stat")
    one, many = read_bytes(content, hints), read_bytes(content, hints, Limits(run_bytes=300))
    assert one.table("counters").equals(many.table("counters"))
    assert one.table("counters")["sample"].to_list() == list(range(1, 40))
    assert one.table("counters")["interval_s"][1:].unique().to_list() == [1.0]


def test_another_recording_behind_begins_its_intervals_anew():
    text = "".join(f"     {i}.500100000          7      faults\n" for i in (1, 2, 3)) + "\n     12      cycles\n"
    content = (text * 30).encode()
    hints = Hints(kind="perf", variant="stat")
    one, many = read_bytes(content, hints), read_bytes(content, hints, Limits(block_bytes=300))
    assert one.table("counters").equals(many.table("counters"))
    timed = one.table("counters").drop_nulls("t_local")
    assert timed["interval_s"].round(4).to_list() == [1.5001, 1.0, 1.0] * 30
    assert timed["sample"].to_list() == list(range(1, 91))


def test_a_program_of_timehist_may_hold_blanks():
    text = "           time    cpu  task name                       wait time  sch delay   run time\n"
    text += "    1234.567890 [0003]  my app[12/10]                         0.001      2.500      7.000\n"
    rows = read_bytes(text.encode()).table("counters")
    assert rows.select("item", "name", "value").rows() == [
        ("my app:12", "wait_ms", 0.001),
        ("my app:12", "delay_ms", 2.5),
        ("my app:12", "run_ms", 7.0),
    ]
    assert rows["t_local"].unique().to_list() == [1234.56789]


def test_addresses_of_locks_keep_their_names():
    text = " contended   total wait     max wait     avg wait            address   symbol\n\n"
    text += "       105    206.37 us     11.27 us      1.97 us   ffff8fd18b5bd9a0   rq_lock (spinlock)\n"
    rows = read_bytes(text.encode()).table("locks")
    assert rows.select("n", "mean_ns", "max_ns", "lock").rows() == [(105, 1970.0, 11270.0, "rq_lock")]
    assert rows["line_no"].to_list() == [3]
    assert pl.Series(rows["caller"]).null_count() == 1
