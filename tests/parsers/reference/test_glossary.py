"""Test that the glossary explains every column and word of the samples, in two sentences or more, and nothing unused."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest

from parsers.reference import glossary
from parsers.reference.glossary import Entry, TermsInvalid, entries_of, plain_code, words_of
from parsers.tables.schema import COMMON, TABLES
from tests.parsers.formats.vocabulary import CASES, kept, of_traces

# Words of the samples that need no entry, with the reason.
WAIVED: dict[str, str] = {}
EXPLAINED_BY = {"call": ("call", "signal"), "error": ("error", "code"), "signal": ("signal", "fault")}


def explained(what: str, word: str) -> Entry | None:
    return next((e for w in EXPLAINED_BY.get(what, (what,)) if (e := glossary.explain(w, word))), None)


def test_every_column_of_every_evidence_table_is_explained():
    missing = [f"{t.name}.{c.name}" for t in TABLES.values() for c in (*COMMON, *t.columns)]
    missing = [name for name in missing if glossary.column(*name.split(".")) is None]
    assert missing == [], f"columns without an entry: {missing}"
    assert [name for name in TABLES if glossary.explain("table", name) is None] == []


def test_every_word_of_the_samples_is_explained():
    """Calls, errors, signals, parameters, waits, states, packets: tests/parsers/formats/vocabulary.json lists those
    that occur.
    """
    missing = [
        f"{what} {word}" for what, words in kept().items() for word in sorted(words) if not explained(what, word)
    ]
    missing = [word for word in missing if word not in WAIVED]
    assert missing == [], f"{len(missing)} words without an entry: {missing}"


def test_every_call_and_error_of_the_cases_is_written_down():
    """Cases are searched as text, since reading all of them takes minutes; the tests of the samples check the samples."""
    words = kept()
    new = {f"{what} {word} ({path.name})" for path, what, word in of_traces(CASES) if word not in words[what]}
    assert new == set(), "run python -m tests.parsers.formats.vocabulary"


def test_waived_words_occur_and_have_no_entry():
    words = {f"{what} {word}" for what, some in kept().items() for word in some}
    assert [word for word in WAIVED if word not in words] == []


def test_every_parameter_of_the_glossary_occurs_or_is_of_a_family_that_does():
    """An entry that occurs nowhere is listed here or must be removed."""
    words = kept()["parameter"]
    unused = [
        e.name
        for e in glossary.glossary().values()
        if e.what == "parameter" and not any(fnmatchcase(word, e.name) for word in words)
    ]
    companions = {
        e.name
        for e in glossary.glossary().values()
        if e.what == "parameter" and any(o.text == e.text and o.name not in unused for o in _parameters())
    }
    assert sorted(set(unused) - companions - set(KNOWN_UNUSED)) == []


def _parameters() -> list[Entry]:
    return [e for e in glossary.glossary().values() if e.what == "parameter"]


# Parameters that belong with those of the samples, because people will look for them.
KNOWN_UNUSED = (
    *("vm.min_free_kbytes", "vm.zone_reclaim_mode", "vm.max_map_count", "memory.high", "ndots"),
    *("SQLNET.OUTBOUND_CONNECT_TIMEOUT", "SQLNET.SEND_TIMEOUT", "SQLNET.RECV_TIMEOUT", "TCP.CONNECT_TIMEOUT"),
    *("RATE_LIMIT", "CONNECTION_RATE_*"),
)


def test_an_entry_is_two_to_four_sentences_with_a_source():
    odd = [
        e.key
        for e in glossary.glossary().values()
        if not (
            2 <= len(re.findall(r"[.!?](?:\s|$)", e.text)) <= 4
            and e.text[-1] == "."
            and len(e.text) <= 360
            and e.source
        )
        or "  " in e.text
    ]
    assert odd == []


def test_columns_that_no_table_has_are_listed():
    """Columns of derived tables are checked in tests/rules/test_glossary.py."""
    every = {c.name for t in TABLES.values() for c in (*COMMON, *t.columns)}
    lost = [
        e.key for e in glossary.glossary().values() if e.what == "column" and e.place in TABLES and e.name not in every
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("term", "key"),
    [
        ("vmstat.r", "vmstat.r"),
        ("vmstat.pid", None),
        ("ps.pid", "ps.pid"),
        ("EAGAIN", "error.EAGAIN"),
        ("ORA-00609", "error.ORA-609"),
        ("call.exit", "call.exit"),
        ("function.exit", "function.exit"),
        ("kernel.sched_domain.cpu3.domain0.flags", "parameter.kernel.sched_domain.cpu3.domain0.flags"),
        ("no such thing", None),
        ("vmstat", "table.vmstat"),
    ],
)
def test_a_term_is_found_by_key_or_name(term, key):
    found = glossary.entry(term)
    if key is None and term == "vmstat.pid":
        assert found is not None
        assert found.place == "vmstat"  # common columns are explained for any table
        return
    assert (found.key if found else None) == key


def test_units_come_from_the_schema():
    assert glossary.entry("vmstat.r").unit == "threads"
    assert glossary.entry("syscalls.dur_hi_s").unit == "s"
    assert glossary.entry("changes.n_needed").unit == "values"


def test_headings_do_not_hide_columns():
    assert glossary.entry("vmstat.r").what == "column"
    assert glossary.entry("~vmstat.us").kind == "heading of vmstat"


def test_words_are_those_of_the_kind():
    assert words_of(["ns=12535 nsevwait: entry"], "sqlnet").keys() == {"nsevwait", "entry"}
    assert "read" in words_of(["read(3, 0x0, 4096) = 12"], "strace")
    assert "read" in words_of(["read(3, 0x0, 4096) = 12"], "truss/solaris")
    assert "read" not in words_of(["read the listener's log"], "listener_log")
    assert words_of(["TNS-00517: Lost contact", "ORA-03136: inbound connection timed out"], "alert_log").keys() == {
        "TNS-00517",
        "ORA-03136",
        "timed out",
    }
    assert "log file sync" in words_of(["log file sync    12   0.4"], "awr")
    assert words_of(["name of the null nothing native"], "sqlnet") == {}
    assert "%b" in words_of(["  r/s  w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device"], "iostat")


def test_codes_lose_their_zeros_only():
    assert [plain_code(c) for c in ("ORA-00600", "ORA-600", "TNS-12535", "LSN-012")] == [
        "ORA-600",
        "ORA-600",
        "TNS-12535",
        "LSN-12",
    ]


def test_search_puts_names_first():
    assert [e.key for e in glossary.search("shmat")][:1] == ["call.shmat"]
    assert glossary.search("no such word at all") == []
    assert len(glossary.search("")) == len(glossary.glossary())
    assert "error.EAGAIN" in [e.key for e in glossary.search("try again")]


@pytest.mark.parametrize(
    "text", ["read = no section. No.", "[nonsense | x]\n", "[column | x]\n", "[call | x]\nno entry here\n"]
)
def test_a_bad_line_is_named(text):
    with pytest.raises(TermsInvalid, match=r"bad\.txt:\d"):
        list(entries_of(text, "bad.txt"))
