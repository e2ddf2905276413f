"""Tests of kernel settings and limits beyond the corpus."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

FEW = settings(max_examples=examples(30), deadline=None, database=None)
WORD = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)
KEY = st.tuples(st.sampled_from(["kernel", "vm", "net", "fs"]), WORD, WORD).map(".".join)
VALUE = st.one_of(
    st.integers(-(2**31), 2**70).map(str),
    st.lists(st.integers(0, 2**32), min_size=2, max_size=4).map(lambda x: "\t".join(map(str, x))),
    WORD,
)


def _hints(variant: str) -> Hints:
    return Hints(kind="sysctl", variant=variant)


@FEW
@given(rows=st.dictionaries(KEY, VALUE, min_size=1, max_size=8), sign=st.sampled_from([" = ", "=", ": "]))
def test_tokens_of_a_setting_come_out_of_the_columns(rows, sign):
    text = "".join(f"{key}{sign}{value}\n" for key, value in rows.items())
    table = read_bytes(text.encode(), _hints("sysctl")).table("params")
    assert table.select("name", "value").rows() == list(rows.items())
    for value, number, items in table.select("value", "num", "list").rows():
        if value.lstrip("-").isdigit():
            assert number == float(value)
        assert items == (value.split() if "\t" in value else None)


@FEW
@given(values=st.lists(st.integers(0, 2**40), min_size=1, max_size=5))
def test_the_last_of_several_settings_counts(values):
    text = "".join(f"kernel.shmmax = {v}\n" for v in values)
    table = read_bytes(text.encode(), _hints("sysctl")).table("params")
    assert table["active"].to_list() == [False] * (len(values) - 1) + [True]


@FEW
@given(rows=st.dictionaries(WORD, st.integers(0, 2**40), min_size=1, max_size=6), base=st.sampled_from(["d", "#x"]))
def test_etc_system_in_both_bases(rows, base):
    text = "".join(f"set shmsys:{name} = {format(value, base)}\n" for name, value in rows.items())
    table = read_bytes(text.encode(), _hints("etc_system")).table("params")
    assert table.select("name", "num").rows() == [(f"shmsys:{name}", float(value)) for name, value in rows.items()]


@FEW
@given(
    number=st.integers(1, 999),
    fraction=st.integers(0, 99),
    unit=st.sampled_from(["KB", "MB", "GB"]),
    comma=st.booleans(),
)
def test_a_value_of_prctl_has_its_unit(number, fraction, unit, comma):
    shown = f"{number}{',' if comma else '.'}{fraction:02}{unit}"
    text = f"project: 3: default\nproject.max-shm-memory\n        privileged      {shown}      -   deny                                 -\n"
    row = read_bytes(text.encode(), _hints("prctl")).table("params").row(0, named=True)
    factor = 1024 ** ("KB", "MB", "GB").index(unit) * 1024
    assert abs(row["num"] - (number + fraction / 100) * factor) < 1e-3
    assert row["value"] == f"{shown} - deny"


def test_a_setting_behind_a_comment_sign_does_not_count():
    text = b"set shmsys:shminfo_shmmni=100\n* set shmsys:shminfo_shmmni=200\n"
    table = read_bytes(text).table("params")
    assert table.select("num", "active").rows() == [(100.0, True), (200.0, False)]


def test_a_parameter_file_of_a_database_is_no_kernel_setting():
    text = b"*.processes=300\nPROD1.instance_number=1\n*.sga_target=8589934592\n"
    assert read_bytes(text).account.kind != "sysctl"


def test_rows_of_prctl_without_a_resource_are_unknown():
    reading = read_bytes(b"project: 3: default\n        privileged        128       -   deny    -\n", _hints("prctl"))
    assert "params" not in reading.tables
    assert reading.account.account.unknown == 1


def test_four_numbers_need_a_name_or_a_likely_size():
    assert read_bytes(b"250\t32000\t32\t128\n", name="kernel_sem.txt").account.kind == "sysctl"
    assert read_bytes(b"1 2 3 4\n").account.kind == "text"


def test_the_words_of_huge_pages_tell_the_file():
    text = b"always defer defer+madvise [madvise] never\n"
    row = read_bytes(text, _hints("thp")).table("params").row(0, named=True)
    assert (row["name"], row["value"]) == ("defrag", "madvise")
