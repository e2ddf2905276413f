"""Tests of control groups: lines rebuilt from the columns, and the effect of damage."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.reading import read
from parsers.tables.parquet import scan
from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import parse_bytes, read_bytes

KEYS = st.sampled_from(["usage_usec", "nr_periods", "nr_throttled", "throttled_usec", "throttled_time"])


@settings(max_examples=examples(40), deadline=None, database=None)
@given(st.lists(st.tuples(KEYS, st.integers(0, 2**53)), min_size=1, max_size=8))
def test_keys_come_out_of_the_columns_again(rows):
    text = "".join(f"/sys/fs/cgroup/db/cpu.stat:{k} {v}\n" for k, v in rows)
    found = parse_bytes(text.encode(), "cgroup", "linux").tables["counters"]
    assert found.select("item", "name", "value").rows() == [("/db", k, float(v)) for k, v in rows]


@pytest.mark.parametrize(("text", "num"), [("max 100000", None), ("150000 100000", 1.5), ("-1", None)])
def test_a_quota_is_cores_or_nothing(text, num):
    rows = read_bytes(f"/sys/fs/cgroup/db/cpu.max:{text}\n".encode()).table("params")
    assert rows.select("scope", "entity", "name", "value", "num").rows() == [("cgroup", "/db", "cpu.max", text, num)]


def test_a_file_is_named_by_its_command():
    told = read_bytes(b"2147483648\n", Hints(kind="cgroup", command="cat /sys/fs/cgroup/db/memory.current"))
    assert told.table("counters").select("item", "name", "value", "unit").rows() == [
        ("/db", "memory.current", 2147483648.0, "B")
    ]


def test_a_value_without_a_name_is_unknown():
    reading = read_bytes(b"2147483648\nmax\n", Hints(kind="cgroup"))
    assert reading.account.account.unknown == 2
    assert reading.account.tables == {}


def test_keys_alone_tell_their_file():
    rows = read_bytes(b"usage_usec 7\nnr_periods 2\nnr_throttled 1\nthrottled_usec 9\n").table("counters")
    assert rows["unit"].to_list() == ["us", None, None, "us"]
    assert rows["item"].null_count() == 4


def test_a_cut_line_is_unknown():
    reading = read_bytes(b"nr_periods 200\nnr_throttled 35\nthrottled_us")
    assert len(reading.table("counters")) == 2
    assert reading.account.account.unknown == 1


def test_the_throttle_of_version_1_speaks_as_io_stat_does():
    at = "/sys/fs/cgroup/blkio/db/blkio.throttle."
    lines = (
        f"{at}io_service_bytes:8:16 Read 10\n{at}io_service_bytes:8:16 Write 20\n{at}io_service_bytes:8:16 Total 30\n"
        f"{at}io_serviced:8:16 Write 2\n{at}io_service_bytes:Total 30\n{at}write_bps_device:8:16 4096\n{at}read_iops_device:8:16 50\n"
    )
    reading = read_bytes(lines.encode())
    assert reading.table("counters").select("item", "name", "value", "unit", "mode").rows() == [
        ("/db 8:16", "rbytes", 10.0, "B", "total"),
        ("/db 8:16", "wbytes", 20.0, "B", "total"),
        ("/db 8:16", "wios", 2.0, None, "total"),
    ]
    assert reading.table("params").select("entity", "name", "num").rows() == [
        ("/db", "io.max 8:16 wbps", 4096.0),
        ("/db", "io.max 8:16 riops", 50.0),
    ]
    assert reading.account.account.unknown == 0


def test_the_counters_of_the_whole_host_are_no_control_group():
    reading = read_bytes(
        b"nr_free_pages 4381\nnr_zone_inactive_anon 7\nanon 3\nfile 4\nkernel_stack 5\noom_kill 0\npgfault 99\n"
    )
    assert set(reading.table("counters")["grp"]) == {"text"}


PRESSURE = "some avg10=61.50 avg60=40.25 avg300=9.00 total=77\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"/proc/pressure/cpu:{line}\n" for line in PRESSURE.splitlines()),
        f"==> /proc/pressure/cpu <==\n{PRESSURE}",
        f"$ cat /proc/pressure/cpu\n{PRESSURE}",
    ],
)
def test_the_pressure_of_a_host_is_named_as_that_of_a_group(text: str):
    reading = read_bytes(text.encode())
    rows = reading.table("counters").select("item", "name", "value", "mode").rows()
    assert rows[:2] == [
        (None, "cpu.pressure.some.avg10", 61.5, "level"),
        (None, "cpu.pressure.some.avg60", 40.25, "level"),
    ]
    assert reading.account.account.unknown == 0


def test_a_file_of_an_archive_is_named_by_its_path(tmp_path):
    path = tmp_path / "member"
    path.write_text(PRESSURE)
    read(path, Hints(), tmp_path / "reading", name="sosreport-db1/proc/pressure/memory")
    rows = scan(tmp_path / "reading", "counters").select("item", "name").collect().rows()
    assert rows[1] == (None, "memory.pressure.some.avg60")


def test_values_under_prompts_belong_to_the_directory_that_was_gone_to():
    text = (
        "[root@h ~]# cd /sys/fs/cgroup/db.slice\n[root@h db.slice]# cat memory.max\nmax\n"
        "[root@h db.slice]# cat memory.current\n2047483648\n[root@h db.slice]# cat /sys/fs/cgroup/memory.high\n1024\n"
    )
    reading = read_bytes(text.encode())
    assert reading.table("params").select("entity", "name", "num").rows() == [
        ("/db.slice", "memory.max", None),
        ("/", "memory.high", 1024),
    ]
    assert reading.table("counters").select("item", "name", "value").rows() == [
        ("/db.slice", "memory.current", 2047483648)
    ]
    assert reading.account.account.unknown == 0


def test_what_grep_could_not_read_is_no_figure():
    text = b"memory.stat:cache 4096\ngrep: memory.force_empty: Invalid argument\nmemory.numa_stat:total=0 N0=0\nmemory.stat:rss 1\n"
    reading = read_bytes(text)
    assert reading.table("counters")["name"].to_list() == ["cache", "rss"]
    assert reading.account.account.unknown == 0


def test_a_limit_of_memory_stat_that_is_none_is_a_setting_without_a_number():
    text = "# cat /sys/fs/cgroup/memory/batch/memory.stat\ncache 4096\nrss 8192\nhierarchical_memory_limit {}\n"
    reading = read_bytes(text.format(9223372036854771712).encode())
    assert reading.table("params").select("line_no", "entity", "name", "value", "num", "scope").rows() == [
        (4, "/batch", "hierarchical_memory_limit", "9223372036854771712", None, "cgroup")
    ]
    assert reading.table("counters")["name"].to_list() == ["cache", "rss"]
    bounded = read_bytes(text.format(536870912).encode())
    assert bounded.table("counters")["name"].to_list() == ["cache", "rss", "hierarchical_memory_limit"]


ONE = "some avg10={0}.00 avg60=0.00 avg300=0.00 total={0}000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={0}\n"
ONLY_FULL = "full avg10=0.00 avg60=0.00 avg300=0.00 total=55\n"


@pytest.mark.parametrize(
    ("command", "body", "files"),
    [
        ("cat /proc/pressure/{cpu,io,memory}", ONE.format(1) + ONE.format(2) + ONE.format(3), ["cpu", "io", "memory"]),
        ("cat /proc/pressure/{irq,cpu}", ONLY_FULL + ONE.format(1), ["irq", "cpu"]),
        ("sudo cat /proc/pressure/*", ONE.format(1) + ONE.format(2) + ONLY_FULL + ONE.format(3), ["cpu", "io", "irq", "memory"]),
        ("cat /proc/pressure/*", ONE.format(1) + ONE.format(2) + ONE.format(3), ["cpu", "io", "memory"]),
        ("cat /proc/pressure/memory /proc/pressure/cpu", ONE.format(1) + ONE.format(2), ["memory", "cpu"]),
    ],
)  # fmt: skip
def test_several_files_of_pressure_under_one_prompt_keep_their_names(command: str, body: str, files: list[str]) -> None:
    rows = read_bytes(f"web1 $ {command}\n{body}".encode()).table("counters")
    assert list(dict.fromkeys(name.split(".")[0] for name in rows["name"])) == files
    assert rows["delta"].null_count() == len(rows)
    assert rows["sample"].unique().to_list() == [1]


def test_pressure_that_no_file_names_does_not_grow():
    text = ONE.format(1) + ONE.format(2) + ONE.format(9)
    rows = read_bytes(text.encode(), Hints(kind="cgroup")).table("counters")
    assert rows["name"].to_list()[3] == "some.total"
    assert rows["mode"].unique().to_list() == ["level"]
    assert rows["delta"].null_count() == len(rows)


def test_more_lines_than_files_have_no_name():
    text = f"$ cat /proc/pressure/{{cpu,io}}\n{ONE.format(1)}{ONE.format(2)}{ONE.format(3)}"
    rows = read_bytes(text.encode()).table("counters")
    assert rows["name"].to_list()[-1] == "full.total"


def test_a_group_s_files_of_pressure_belong_to_the_group():
    rows = read_bytes(f"# cat /sys/fs/cgroup/db/*.pressure\n{ONE.format(1)}{ONE.format(2)}".encode()).table("counters")
    assert rows["item"].unique().to_list() == ["/db"]
    assert rows["name"].to_list()[0] == "cpu.pressure.some.avg10"


def test_a_value_under_a_prompt_of_another_file_is_not_that_of_the_file_before():
    at = "/sys/fs/cgroup/cpuset/a.slice"
    text = (
        f"$ cat /sys/fs/cgroup/cpu/a.slice/cpu.cfs_period_us\n100000\n$ cat {at}/notify\n7\n"
        f"$ cat {at}/cpuset.cpus\n0-3,7\n$ cat {at}/cpuset.mems\n1\n$ cat /sys/fs/cgroup/cpu/a.slice/cpu.stat\nnr_periods 9\n"
    )
    rows = read_bytes(text.encode(), Hints(kind="cgroup")).table("params")
    assert rows.select("entity", "name", "value", "num").rows() == [
        ("/a.slice", "cpu.cfs_period_us", "100000", 100000.0),
        ("/a.slice", "cpuset.cpus", "0-3,7", 5.0),
        ("/a.slice", "cpuset.mems", "1", None),
    ]


def test_a_limit_of_processes_on_a_prefixed_line_is_read():
    rows = read_bytes(b"/sys/fs/cgroup/db/pids.max:4096\n/sys/fs/cgroup/db/pids.current:12\n")
    assert rows.table("params").select("name", "num").rows() == [("pids.max", 4096.0)]
    assert rows.table("counters")["name"].to_list() == ["pids.current"]
