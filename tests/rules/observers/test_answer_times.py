"""Tests of how long storage takes to answer and what of it is used up, whatever the listing calls it."""

from __future__ import annotations

import pytest

from rules.observers import answer_times
from tests.rules.observers.of_text import told

VOLUMES = """Workload            ID    Latency    Network       Data       Disk
--------------- ------ ---------- ---------- ---------- ----------
-total-              -   {whole}ms     0.20ms     0.90ms    60.00ms
vol_nine           901     0.90ms     0.10ms     0.80ms     0.00ms
"""
STALLS = """database_name file_name avg_read_stall_ms io_stall_read_ms num_of_reads
------------- --------- ----------------- ---------------- ------------
shop9         shop9_d               {stall}         91233112        91233
"""
SPACES = """TABLESPACE_NAME                USED_MB   TOTAL_MB  PCT_USED
------------------------------ -------- --------- ---------
NINE_DATA                          9000      9001     {pct}
USERS                                90      9000      1.00
"""
PORTS = """          frames      enc    crc    disc   c3timeout    pcs
       tx     rx      in    err    c3      tx    rx     err
  4:    9.1g   9.1g   0      {crc}      0        0      0      0
  5:    9.2g   9.2g   0      0      0        0      0      0
"""
ARRAY = """stat_name       stat_current stat_peak stat_peak_time
cpu_pc          {cpu}           99        310912091205
vdisk_ms        {ms}           12        310912091205
"""


@pytest.mark.parametrize(
    ("late", "usual", "event"),
    [
        (VOLUMES.format(whole="61.20"), VOLUMES.format(whole=" 1.20"), "storage-answers-late"),
        (STALLS.format(stall=" 91.5"), STALLS.format(stall="  4.5"), "storage-answers-late"),
        (SPACES.format(pct="99.99"), SPACES.format(pct="80.00"), "tablespace-full-pct"),
        (PORTS.format(crc="7.2k"), PORTS.format(crc="7"), "fc-frames-lost"),
        (ARRAY.format(cpu="20", ms="45"), ARRAY.format(cpu="20", ms="4"), "storage-answers-late"),
        (ARRAY.format(cpu="97", ms="4"), ARRAY.format(cpu="90", ms="4"), "array-cpu-busy"),
    ],
)
def test_what_answers_late_or_is_full_stands_out(late: str, usual: str, event: str) -> None:
    assert [made.seen for made in told(answer_times, late)] == [({"event": event},)]
    assert told(answer_times, usual) == []


def test_times_of_statements_and_maxima_are_no_answers_of_storage() -> None:
    assert (
        told(answer_times, "volume query    latency(ms)\n------ -------- -----------\nvol9   select 9       912.5\n")
        == []
    )
    assert (
        told(answer_times, "volume max_latency(ms) ops\n------ --------------- ---\nvol9             912.5 912\n") == []
    )
