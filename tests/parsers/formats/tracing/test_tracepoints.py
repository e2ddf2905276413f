"""Tests of tracepoint fields: every head with fields is a row, no sampled event is one."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

SCRIPT = Hints(kind="perf", variant="script")
POINT = st.tuples(
    st.sampled_from(["java", "kworker/0:1", "Web Content", "a:b"]),
    st.integers(0, 99999),
    st.sampled_from(["sched:sched_wakeup", "block:block_rq_issue", "net:net_dev_queue", "raw_syscalls:sys_exit"]),
    st.sampled_from(["comm=java pid=12 prio=120", "8,0 WS 4096 () 123 + 8 [a]", "dev=eth0 len=66", "NR 0 = 17"]),
    st.booleans(),
)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(POINT, min_size=1, max_size=6))
def test_fields_come_back_with_name_program_and_process(points):
    text = ""
    for n, (comm, pid, name, fields, chain) in enumerate(points):
        text += f"{comm:>16} {pid:5d} [000] {100 + n}.000001: {name}: {fields}\n"
        text += "\tffffffff81b056df schedule+0xcf ([kernel.kallsyms])\n\n" if chain else ""
    reading = read_bytes(text.encode(), SCRIPT)
    rows = reading.table("logs").select("t_local", "op", "pid", "program", "text").rows()
    assert rows == [(100 + n + 1e-6, name, pid, comm, fields) for n, (comm, pid, name, fields, _) in enumerate(points)]
    assert reading.table("profile_stacks")["event"].to_list() == [name for _, _, name, _, _ in points]


def test_a_sampled_event_has_no_fields_and_gives_no_row():
    text = (
        "java 19 [000] 1.000001: 5025125 cpu-clock:pppH: \n\tffffffff81b056df schedule+0xcf ([kernel.kallsyms])\n\n"
        "java 19 [000] 2.000001: cycles:u:              993 main (/root/noploop)\n"
        "java 19 [000] 3.000001: instructions:          993 main (/root/noploop)\n"
    )
    reading = read_bytes(text.encode(), SCRIPT)
    assert len(reading.table("profile_stacks")) == 3
    assert "logs" not in reading.tables


def test_the_name_alone_of_old_versions_is_told_by_its_fields():
    text = "kworker/1:1    21 [001]  6171.460093: sched_switch: prev_comm=kworker/1:1 prev_pid=21 prev_prio=120\n"
    rows = read_bytes(text.encode(), SCRIPT).table("logs").select("op", "program", "text").rows()
    assert rows == [("sched_switch", "kworker/1:1", "prev_comm=kworker/1:1 prev_pid=21 prev_prio=120")]
