"""Tests of memory figures beyond the corpus."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

FEW = settings(max_examples=examples(30), deadline=None, database=None)
NAME = st.from_regex(r"[A-Z][A-Za-z]{2,14}(_[A-Z][a-z]{1,5})?", fullmatch=True).filter(lambda x: x != "MemTotal")


@FEW
@given(
    samples=st.lists(
        st.dictionaries(NAME, st.tuples(st.integers(0, 2**50), st.booleans()), max_size=5), min_size=1, max_size=4
    )
)
def test_tokens_of_meminfo_come_out_of_the_columns(samples):
    text, expected = "", []
    for number, sample in enumerate(samples, start=1):
        for name, (value, kb) in {"MemTotal": (1024, True), **sample}.items():
            text += f"{name + ':':16} {value:10}{' kB' if kb else ''}\n"
            expected.append((number, name, float(value), "kb" if kb else "pages"))
    rows = read_bytes(text.encode(), Hints(kind="meminfo", variant="proc")).table("meminfo")
    assert rows.select("sample", "name", "value", "unit").rows() == expected


@FEW
@given(cells=st.lists(st.lists(st.integers(0, 10**9), min_size=11, max_size=11), min_size=1, max_size=5))
def test_orders_of_buddyinfo_keep_their_place(cells):
    text = "".join(f"Node {n}, zone   Normal " + " ".join(f"{c:6}" for c in row) + "\n" for n, row in enumerate(cells))
    rows = read_bytes(text.encode(), Hints(kind="meminfo", variant="buddyinfo")).table("counters")
    expected = [(f"node {n} Normal", f"order{i}", float(c)) for n, row in enumerate(cells) for i, c in enumerate(row)]
    assert rows.select("item", "name", "value").rows() == expected


def test_a_command_tells_the_unit_of_free():
    text = b"             total       used       free\nMem:         31877      29145       2732\n"
    hints = Hints(kind="meminfo", variant="free", command="free -m -s 5")
    rows = read_bytes(text, hints).table("meminfo")
    assert rows.select("name", "value", "unit").rows() == [
        ("MemTotal", 31877 * 1024.0, "kb"),
        ("MemUsed", 29145 * 1024.0, "kb"),
        ("MemFree", 2732 * 1024.0, "kb"),
    ]


def test_samples_of_free_begin_at_the_header():
    one = b"              total        used        free\nMem:       32642820    29145832     2336788\n\n"
    rows = read_bytes(one * 3, Hints(kind="meminfo", variant="free")).table("meminfo")
    assert rows["sample"].to_list() == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_a_line_of_prose_is_no_memory():
    assert read_bytes(b"Mem: see below\nSwap: none\n").account.kind == "text"


COUNTER = st.from_regex(r"(nr_|pg(scan|steal)_|compact_|thp_|workingset_)[a-z]{3,9}", fullmatch=True)


@FEW
@given(
    counters=st.dictionaries(COUNTER, st.tuples(st.integers(0, 2**52), st.integers(0, 2**20)), min_size=1, max_size=6)
)
def test_counters_of_proc_vmstat_give_their_growth(counters):
    before = "".join(f"{name} {value}\n" for name, (value, _) in counters.items())
    after = "".join(f"{name} {value + growth}\n" for name, (value, growth) in counters.items())
    text = f"Sat Nov 21 15:50:35 UTC 2026\n{before}Sat Nov 21 15:51:35 UTC 2026\n{after}"
    rows = read_bytes(text.encode(), Hints(kind="meminfo", variant="vmstat")).table("counters")
    assert rows.filter(rows["sample"] == 2).select("name", "value", "delta", "interval_s").rows() == [
        (name, float(value + growth), None if name.startswith("nr_") or name == "workingset_nodes" else float(growth), 60.0)
        for name, (value, growth) in counters.items()
    ]  # fmt: skip
    assert rows.filter(rows["sample"] == 1)["delta"].null_count() == len(counters)


def test_a_control_groups_memory_stat_is_none_of_it():
    text = (
        b"anon 1024\nfile 2048\nkernel_stack 16\npgfault 40\npgmajfault 1\nworkingset_refault_anon 0\npgscan_direct 4\n"
    )
    assert read_bytes(text).account.kind == "cgroup"


@pytest.mark.parametrize(
    ("options", "kb"),
    [
        ("", 1.0),
        (" -t", 1.0),
        (" -tm", 1024.0),
        (" -m -s 5", 1024.0),
        (" --si -m", 1000**2 / 1024),
        (" --mega", 1000**2 / 1024),
        (" --mebi", 1024.0),
        (" -b", 1 / 1024),
    ],
)
def test_the_command_tells_the_unit_of_free(options, kb):
    text = f"$ free{options}\n       total   used   free\nMem: 8053801 1262704 6791097\n"
    rows = read_bytes(text.encode()).table("meminfo")
    assert rows["value"].to_list() == pytest.approx([8053801 * kb, 1262704 * kb, 6791097 * kb])


@FEW
@given(pages=st.lists(st.integers(0, 2**32), min_size=3, max_size=3))
def test_figures_in_bytes_are_told_from_kb(pages):
    cells = [2**20 + pages[0], *pages[1:]]
    text = "  total   used   free\nMem: " + " ".join(str(4096 * x) for x in cells) + "\n"
    rows = read_bytes(text.encode(), Hints(kind="meminfo", variant="free")).table("meminfo")
    assert rows["value"].to_list() == [4.0 * x for x in cells]


@pytest.mark.parametrize(
    ("heading", "memory", "swap"),
    [
        ("gesamt benutzt frei gemeins. Puffer Cache verfügbar", "Speicher", "Swap"),
        ("total usado libre compartido búferes caché disponible", "Mem", "Inter"),
        ("total utilisé libre partagé tampons cache disponible", "Mem", "Partition d'échange"),
        ("სულl გამოყენებული თავისუფალი გაზიარებული ბუფერი ქეში ხელმისაწვდომი", "მეხს", "სვაპი"),
        ("총계 사용 여분 공유 버퍼 캐시 가용", "메모리", "스  왑"),
        ("razem użyte wolne dzielone bufory w cache dostępne", "Pamięć", "Wymiana"),
        ("total usada livre compart. buffers cache disponível", "Mem.", "Swap"),
        ("total utilizată liberă partajată buffers cache disponibilă", "Mem", "Swap"),
        ("totalt använt fritt delat buffertar cache tillgängl.", "Minne", "Växl."),
        ("загалом використ. вільна спільна буфери кеш дост.", "Пам.", "Своп."),
        ("всего занят своб общая буф. врем. доступно", "Память", "Подкачка"),
    ],
)
def test_free_speaks_other_languages(heading, memory, swap):
    text = f"  {heading}\n{memory}:8053804 1262704 5830864 60576 61596 898640 6483996\n{swap}: 2097152 0 2097152\n"
    rows = read_bytes(text.encode()).table("meminfo")
    assert rows.select("name", "value").rows() == [
        *zip(
            ("MemTotal", "MemUsed", "MemFree", "Shmem", "Buffers", "Cached", "MemAvailable"),
            (8053804.0, 1262704.0, 5830864.0, 60576.0, 61596.0, 898640.0, 6483996.0),
            strict=True,
        ),
        ("SwapTotal", 2097152.0),
        ("SwapUsed", 0.0),
        ("SwapFree", 2097152.0),
    ]


BY_USE = """Page Summary                Pages                MB  %Tot
------------     ----------------  ----------------  ----
Kernel                     131072  {kernel:16}   25%
Anon                       393216  {anon:16}   75%
Exec and libs                   3  {least:16}    0%
Total                      524291  {total:16}
"""


@pytest.mark.parametrize(("page_kb", "kernel_kb"), [(4, 524288.0), (8, 1048576.0), (64, 8388608.0)])
def test_memory_by_use_is_told_in_kb_of_pages_as_large_as_the_size_beside_them_says(page_kb, kernel_kb):
    pages = {"kernel": 131072, "anon": 393216, "least": 3, "total": 524291}
    text = BY_USE.format(**{k: v * page_kb // 1024 for k, v in pages.items()})
    rows = read_bytes(text.encode(), Hints(kind="meminfo", variant="memstat")).table("meminfo")
    assert rows.select("name", "value", "unit").rows()[0] == ("Kernel", kernel_kb, "kb")
    assert rows.select("name", "value", "unit").rows()[2] == ("Exec and libs", 3.0 * page_kb, "kb")


def test_memory_by_use_stays_in_pages_where_no_size_stands_beside_them():
    text = "\n".join(line[:33] for line in BY_USE.format(kernel=0, anon=0, least=0, total=0).splitlines()) + "\n"
    rows = read_bytes(text.encode(), Hints(kind="meminfo", variant="memstat")).table("meminfo")
    assert rows.select("name", "value", "unit").rows()[0] == ("Kernel", 131072.0, "pages")


def test_a_few_lines_of_meminfo_that_were_searched_for_are_recognised_by_their_names():
    text = "# grep -E 'Committed|Reclaimable' /proc/meminfo\nKReclaimable:     812345 kB\nSReclaimable:     712345 kB\nCommitted_AS:    9123456 kB\n"
    rows = read_bytes(text.encode()).table("meminfo")
    assert rows.select("line_no", "name", "value", "unit").rows()[2] == (4, "Committed_AS", 9123456.0, "kb")
