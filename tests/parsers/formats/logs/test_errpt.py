"""Tests of fault reports beyond the corpus."""

from __future__ import annotations

from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.text.source import Hints
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes

STAMP = st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)).map(lambda d: d.replace(second=0, microsecond=0))
ROW = st.tuples(
    st.integers(0, 2**32 - 1), STAMP, st.sampled_from("PTIU"), st.sampled_from("HSOU"), st.from_regex(r"[a-z]{2,8}[0-9]", fullmatch=True),
    st.from_regex(r"[A-Z]{2,8}( [A-Z]{2,8}){0,3}", fullmatch=True),
)  # fmt: skip


def _seconds(at: datetime) -> float:
    return (at - datetime(1970, 1, 1)).total_seconds()


@settings(max_examples=examples(40), deadline=None, database=None)
@given(rows=st.lists(ROW, min_size=1, max_size=6))
def test_tokens_of_a_row_come_out_of_the_columns(rows):
    text = "IDENTIFIER TIMESTAMP  T C RESOURCE_NAME  DESCRIPTION\n"
    text += "".join(f"{i:08X}   {at:%m%d%H%M%y} {t} {c} {name:14} {words}\n" for i, at, t, c, name, words in rows)
    table = read_bytes(text.encode(), Hints(kind="errpt", variant="short")).table("logs")
    assert table.select("code", "t_local", "severity", "op", "program", "text").rows() == [
        (f"{i:08X}", _seconds(at), t, c, name, words) for i, at, t, c, name, words in rows
    ]


def test_a_person_tells_the_year_of_fmdump():
    text = b"TIME                 CLASS\nFeb 29 05:58:39.5000 ereport.io.pciex\n"
    reading = read_bytes(text, Hints(kind="errpt", variant="fmdump", year=2016))
    assert reading.table("logs")["t_local"].to_list() == [_seconds(datetime(2016, 2, 29, 5, 58, 39)) + 0.5]
    assert reading.account.parts[0].domains[0].base == "1970-01-01T00:00:00"
    other = read_bytes(text, Hints(kind="errpt", variant="fmdump", year=2015))
    assert other.table("logs")["t_local"].to_list() == [None]


def test_records_without_rules_between_them_are_two():
    one = b"LABEL:          CORE_DUMP\nIDENTIFIER:     A924A5FC\n\nDate/Time:       Thu Apr 14 05:58:16 2016\nType:            PERM\n"
    table = read_bytes(one * 2).table("logs")
    assert table.select("line_no", "line_end", "code").rows() == [(1, 5, "A924A5FC"), (6, 10, "A924A5FC")]


def test_faults_that_fmadm_lists_are_a_row_each():
    rule = "--------------- ------------------------------------  -------------- ---------\n"
    head = f"{rule}TIME            EVENT-ID                              MSG-ID         SEVERITY\n{rule}"
    one = "Jul 31 15:13:19 4a300256-d6fd-489d-81db-ce510f92b078  SUN4V-8000-E2  Critical\n\nHost        : db1\n\nFault class : fault.memory.bank 95%\n"
    two = "Aug 01 16:00:00 5b300256-d6fd-489d-81db-ce510f92b079  SUNOS-8000-J0  Major\n\n"
    two += "Suspect 1 of 1 :\n   Fault class : defect.sunos.eft.unexpected_telemetry\n"
    affects = "Affects     : mem:///unum=MB/CMP0\n                  faulted and taken out of service\n\nDescription : Too many\n              errors.\n\n"
    reading = read_bytes(f"{head}{one}{affects}{head}{two}".encode(), Hints(year=2008))
    rows = reading.table("logs").select("line_no", "code", "severity", "program", "text").rows()
    assert rows == [
        (4, "SUN4V-8000-E2", "Critical", "mem:///unum=MB/CMP0", "fault.memory.bank: Too many errors."),
        (18, "SUNOS-8000-J0", "Major", None, "defect.sunos.eft.unexpected_telemetry"),
    ]
    assert reading.account.account.unknown == 0
