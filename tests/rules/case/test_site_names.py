"""Names of a site: which are refused and why, and where the words of evidence name a thing."""

from __future__ import annotations

import pytest

from rules.case.case_yaml import dump_case_yaml, load_case_yaml
from rules.case.site_names import EXAMPLES, KINDS, LONGEST, MOST, named, problem, problems, usable
from rules.errors import CaseInvalid
from rules.model import CaseSpec, NameKind, SiteName


def called(kind: NameKind, name: str, text: str = "our order service") -> SiteName:
    return SiteName(kind, name, text)


def said(headline: str, *names: SiteName, subject: str = "", lines: str = "") -> str:
    return named(headline, [subject] if subject else [], [lines] if lines else [], names)[0]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((kind, example.split(",")[0]) for kind, example in EXAMPLES.items()),
        ("port", "1"),
        ("port", "65535"),
        ("host", "10.0.0.7"),
        ("host", "10.0.0.7:7001"),
        ("host", "fe80::1"),
        ("host", "[fe80::1]:7001"),
        ("host", "db_1"),
        ("host", "db1.example.com:1521"),
        ("path", "C:\\Oracle\\data"),
        ("path", "\\\\nas\\orders"),
        ("path", "/u02/with blank"),
        ("process", "ora_pmon_QPROD"),
        ("parameter", "vm.zone_reclaim_mode"),
        ("parameter", "_small_table_threshold"),
        ("log text", "Timeout reached [code 5], giving up?"),
    ],
)
def test_names_as_evidence_writes_them_are_taken(kind: NameKind, name: str) -> None:
    assert problem(called(kind, name)) is None


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        ("port", "0", "from 1 to 65535"),
        ("port", "65536", "from 1 to 65535"),
        ("port", "99999", "99999 is not"),
        ("port", "-1", "whole number"),
        ("port", "7001.5", "whole number"),
        ("port", "\u0667", "whole number"),
        ("port", "9" * 190, "whole number"),
        ("port", "", "Type the name"),
        ("host", "10.0.0.300", "no host"),
        ("host", "10.0.0.7:99999", "no host"),
        ("host", "10.0.0.*", "a pattern is not searched for"),
        ("host", "two words", "no host"),
        ("host", "...", "no host"),
        ("path", "u02/orders", "no path"),
        ("path", "/u02/*.dbf", "a pattern is not searched for"),
        ("process", "sh", "at least 3"),
        ("process", "or", "at least 3"),
        ("process", "order daemon", "no process"),
        ("parameter", "a=b?", "a pattern is not searched for"),
        ("log text", "ERROR", "at least 6"),
        ("log text", "ORD-.* refused", "a pattern is not searched for"),
        ("log text", r"ORD-\d+ refused", "a pattern is not searched for"),
        ("log text", "ORD-[0-9]+ refused", "a pattern is not searched for"),
        ("log text", "two\nlines of it", "one line of plain text"),
        ("log text", "turned \u202e round", "without control characters"),
        ("host", "x" * 10_000, "10,000 characters"),
        ("planet", "Mars", "no kind of name"),
    ],
)
def test_what_is_no_name_is_refused_in_words(kind: NameKind, name: str, why: str) -> None:
    assert why in (problem(called(kind, name)) or "")


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "Say what it is"), ("  ", "Say what it is"), ("x" * (LONGEST + 1), "at most 200"), ("a\tb", "one line")],
)
def test_what_a_thing_is_must_be_a_short_line(text: str, why: str) -> None:
    assert why in (problem(called("port", "7001", text)) or "")
    assert problem(called("port", "7001", "x" * LONGEST)) is None


@pytest.mark.parametrize(
    "headline",
    [
        "connect to 10.0.0.7:7001 waited 3.2 s",
        "connect to [fe80::1]:7001 waited",
        "listens on *:7001 with 128 waiting",
        "db1.example.com:7001 answered late",
        "10.0.0.5.41000 > 10.0.0.7.7001 was sent again",
        "2 packets to port 7001 got no answer",
        "(ADDRESS=(PROTOCOL=TCP)(HOST=db1)(PORT=7001)) refused",
        "dropped: DPT=7001 on eth0",
        "7001/tcp is filtered",
        "tcp/7001 is full",
    ],
)
def test_a_port_is_known_however_it_is_written(headline: str) -> None:
    assert "(our order service)" in said(headline, called("port", "7001"))


@pytest.mark.parametrize(
    "headline",
    [
        "7001 calls took 3.2 s",
        "waited 7001 ms",
        "10.0.0.7:70011 waited",
        "10.0.0.7:17001 waited",
        "10.0.0.7.7001.1 is a number",
        "kernel/sched.c:7001 warns",
        "Order.java:7001 waits",
        "pid:7001 was killed",
        "process 7001 slept",
        "at 2026-11-28 10:7001 o'clock",
    ],
)
def test_the_same_number_is_no_port_elsewhere(headline: str) -> None:
    assert said(headline, called("port", "7001")) == headline


def test_a_time_of_day_is_no_port() -> None:
    assert said("begins at 10:22:05 and at 2026-11-28T10:22", called("port", "22"), called("port", "10")) == (
        "begins at 10:22:05 and at 2026-11-28T10:22"
    )


def test_an_address_with_its_port_is_told_once_with_both() -> None:
    names = (called("host", "10.0.0.7", "the application server"), called("port", "7001"))
    assert said("connect to 10.0.0.7:7001 waited 3.2 s", *names) == (
        "connect to 10.0.0.7:7001 (the application server, our order service) waited 3.2 s"
    )
    assert said("packets to 10.0.0.7.53 were lost", *names).startswith(
        "packets to 10.0.0.7.53 (the application server) "
    )
    exact = called("host", "10.0.0.7:7001", "orders, primary")
    assert "10.0.0.7:7001 (orders, primary) waited" in said("connect to 10.0.0.7:7001 waited 3.2 s", exact)
    assert said("connect to 10.0.0.7:7002 waited", exact) == "connect to 10.0.0.7:7002 waited"


@pytest.mark.parametrize(
    ("name", "headline", "found"),
    [
        (called("host", "db1"), "DB1 answered late", True),
        (called("host", "db1"), "db10 answered late", False),
        (called("host", "db1"), "db1-standby answered late", False),
        (called("host", "db1"), "db1.log grew", False),
        (called("host", "10.0.0.7"), "10.0.0.70 answered", False),
        (called("host", "10.0.0.7"), "110.0.0.7 answered", False),
        (called("path", "/u02"), "reads of /u02/a/b.dbf took 9 s", True),
        (called("path", "/u02/"), "reads of /u02 took 9 s", True),
        (called("path", "/u02"), "reads of /u021 took 9 s", False),
        (called("path", "/u02"), "reads of /mnt/u02 took 9 s", False),
        (called("process", "mqbroker"), "mqbroker (pid 12) slept", True),
        (called("process", "mqbroker"), "Mqbroker slept", False),
        (called("process", "mqbroker"), "mqbroker2 slept", False),
        (called("process", "mqbroker"), "/opt/mqbroker slept", False),
        (called("parameter", "open_cursors"), "OPEN_CURSORS is 50", True),
        (called("parameter", "open_cursors"), "session_open_cursors is 50", False),
    ],
)
def test_a_name_is_found_whole(name: SiteName, headline: str, found: bool) -> None:
    assert ("our order service" in said(headline, name)) == found


def test_only_the_first_mention_is_explained() -> None:
    assert said("db1 waits for db1", called("host", "db1", "the orders")) == "db1 (the orders) waits for db1"


def test_quotes_of_lines_stay_as_they_are() -> None:
    headline = 'Once: "connect to 10.0.0.7:7001 failed"'
    assert said(headline, called("port", "7001")) == f"{headline}; port 7001: our order service"


def test_what_only_the_subject_names_stands_at_the_end() -> None:
    made, used = named("A wait takes 3 s", ["10.0.0.7:7001"], [], [called("port", "7001"), called("port", "53")])
    assert (made, used) == ("A wait takes 3 s; port 7001: our order service", (called("port", "7001"),))


def test_a_log_text_is_found_in_the_cited_lines_too() -> None:
    name = called("log text", "ORD-77  queue refused", "the order queue is full")
    assert said("7 lines complain", name, lines="Nov 28 ord-77 queue   REFUSED by a") == (
        "7 lines complain; “ORD-77  queue refused”: the order queue is full"
    )
    assert said("7 lines complain", called("host", "by.example.com"), lines="by.example.com") == "7 lines complain"


def test_of_two_names_for_a_thing_the_later_counts_and_bad_ones_are_left_out() -> None:
    names = [called("port", "7001", "before"), called("port", "99999"), called("port", "7001", "now")]
    assert usable(names) == (called("port", "7001", "now"),)
    assert list(problems(names)) == ["names[1]: A port is a whole number from 1 to 65535; 99999 is not."]
    many = [called("port", str(n)) for n in range(1, MOST + 3)]
    assert len(usable(many)) == MOST
    assert list(problems(many)) == [f"names: {MOST + 2} names; at most {MOST} are used"]


def test_a_case_file_holds_them_both_ways() -> None:
    name = SiteName("port", "7001", "our order service", "DBA", "2026-11-28")
    text = dump_case_yaml(CaseSpec(names=(name,)))
    assert load_case_yaml(text).names == (name,)
    assert load_case_yaml(text).spec([]).names == (name,)
    assert CaseSpec.from_json(CaseSpec(names=(name,)).as_json()).names == (name,)
    assert "names" not in dump_case_yaml(CaseSpec(title="none"))
    with pytest.raises(CaseInvalid, match="kind"):
        load_case_yaml("names: [{kind: planet, name: Mars, text: far}]")
    bad = load_case_yaml("names: [{kind: port, name: '99999', text: x}]")
    assert list(bad.problems()) == ["names[0]: A port is a whole number from 1 to 65535; 99999 is not."]


def test_every_kind_has_an_example() -> None:
    assert set(EXAMPLES) == set(KINDS)
