"""A report as pages read it, and as text to take along: pure functions, no database."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incidents.content import citations
from incidents.content.report import Held, Outlook, changes, quantity
from incidents.content.visible import visible
from incidents.drawing.shares import account_shares, shares
from tests.incidents.pages import reports

LINK = "https://exhibit.example.com/rooms/x-abcdefgh/findings/a1b2c3d4e5f60718/"


def outlook(report=None, **more) -> Outlook:
    return Outlook(report or reports.report(), "x-abcdefgh", [Held(1, "truss.txt", "ab" * 32)], **more)


def test_a_clearing_takes_its_bound_from_the_reports_list():
    cleared = outlook().verdict.cleared
    assert [(c.rule, c.key, c.bound) for c in cleared] == [("NET-002", reports.CLEAR_KEY, "at most 0.080 s of 1.872 s")]


def test_what_a_finding_clears_on_its_way_leads_to_that_finding():
    report = reports.report()
    report["cleared"].append({"layer": "storage", "rule": "SHM-001", "bound": "none of 2.473 s", "citations": []})
    storage = next(c for c in outlook(report).verdict.cleared if c.layer == "storage")
    assert storage.key == reports.CAUSE_KEY


def test_each_missing_command_is_asked_for_once_what_bears_on_causes_first():
    report = reports.report()
    report["not_evaluable"].append(report["not_evaluable"][0] | {"rule": "CPU-002", "worth": 1})
    asks = outlook(report).asks
    assert [ask.command for ask in asks] == [
        "truss -f -d -D -E -o FILE -p 22626; pmap -xs PID",  # bears on the cause found
        "vmstat 5 12",
        "pmap -x $(pgrep ora_dism)",
    ]
    assert [ask.worth for ask in asks] == [5, 6, 3]


def test_every_claim_stands_in_exactly_one_group():
    groups = outlook().groups
    assert [group.code for group in groups] == ["cause", "along", "contributing", "cleared"]
    assert sum(len(group.claims) for group in groups) == len(reports.report()["findings"])


def test_the_lines_of_a_short_quote_keep_both_ends_and_mark_the_gap():
    report = reports.report()
    citation = report["findings"][0]["citations"][0]
    citation["text"] = "first\nlast"
    lines = outlook(report).claims[0].citations[0].lines
    assert [(line.number, line.text) for line in lines] == [
        (7, "first"),
        (None, "3 lines between, not quoted"),
        (11, "last"),
    ]


def test_a_long_quote_is_numbered_from_both_its_ends():
    report = reports.report()
    citation = report["findings"][0]["citations"][0]
    citation |= {"line_from": 1, "line_to": 100, "text": "a\nb\n... 96 lines ...\nc\nd"}
    lines = outlook(report).claims[0].citations[0].lines
    assert [(line.number, line.text) for line in lines] == [
        (1, "a"),
        (2, "b"),
        (None, "... 96 lines ..."),
        (99, "c"),
        (100, "d"),
    ]


def test_a_clearing_of_two_layers_is_said_once():
    report = reports.report()
    report["cleared"].append(report["cleared"][0] | {"layer": "client_host"})
    cleared = outlook(report).verdict.cleared
    assert [(c.layer_name, c.bound) for c in cleared] == [("network and client host", "at most 0.080 s of 1.872 s")]


def test_remedies_pair_with_their_buts_only_when_they_are_as_many():
    report = reports.report()
    finding = report["findings"][0]
    assert outlook(report).claims[0].remedies[0][1] == finding["contraindications"]
    finding["remedy"] = ["one", "two"]
    assert outlook(report).claims[0].remedies == [("one", []), ("two", finding["contraindications"])]


def test_an_empty_report_says_nothing_and_breaks_nothing():
    nothing = Outlook(None, "x")
    assert not nothing.exists
    assert (nothing.claims, nothing.groups, nothing.asks, nothing.seconds, nothing.first) == ([], [], [], None, None)
    assert nothing.verdict.state == "cannot tell"
    assert changes(nothing, outlook()) == []


def test_changes_are_said_once_and_only_if_there_are_any():
    before, after = reports.report(), reports.report()
    assert changes(outlook(before), outlook(after)) == []
    after["verdict"] |= {"state": "suspect", "support": "fair"}
    after["findings"] = after["findings"][:-1]
    after["artifacts"].append({"id": 9, "kind": "pmap", "file": "p.txt"})
    assert changes(outlook(before), outlook(after)) == [
        "pmap p.txt arrived: verdict cause → suspect",
        "support good → fair",
        "no longer found: The network had at most 0.080 s",
    ]


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (2.4734, "s", "2.473 s"),
        (1234.5, "s", "1\u2009234.5 s"),
        (300, None, "300"),
        (0.0, "s", "0.000 s"),
        (0.001, "s", "0.001 s"),
        (0.00123, "s", "0.00123 s"),
        (0.0000021, "s", "0.0000021 s"),
        (-0.004, "s", "-0.004 s"),
        (None, "s", ""),
    ],
)
def test_quantities_carry_their_unit(amount, unit, text):
    assert quantity(amount, unit) == text


@given(st.lists(st.tuples(st.text(max_size=5), st.floats(0, 1e9)), max_size=30))
def test_shares_fill_the_bar_without_gap_or_overlap(pieces):
    laid = shares(pieces)
    if sum(amount for _, amount in pieces) <= 0:
        assert laid == []
        return
    assert sum(share.share for share in laid) == pytest.approx(100)
    end = 0.0
    for share in laid:
        assert float(share.x[:-1]) == pytest.approx(end, abs=0.01)
        end += share.share


def test_an_account_leaves_out_what_is_zero():
    laid = account_shares({"read": 3, "unknown": 1, "elided": 0, "damaged": 0, "blank": 0, "prose": 0})
    assert [(share.label, share.width) for share in laid] == [("read", "75%"), ("unknown", "25%")]


# --- text to take along -------------------------------------------------------------------------------------------


def all_texts(report):
    look = outlook(report)
    for claim in look.claims:
        yield citations.claim_text(claim, LINK)
    yield citations.verdict_text(look, "A title", LINK)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300))
def test_no_line_is_wider_than_80_columns_and_nothing_steers_a_terminal(text):
    report = copy.deepcopy(reports.report())
    for finding in report["findings"]:
        finding |= {"headline": text, "expert": text, "against": [text], "remedy": [text], "contraindications": [text]}
        for citation in finding["citations"]:
            citation["text"] = text
    report["verdict"] |= {"sentence": text, "missing": [text]}
    report["cleared"][0]["bound"] = text
    for copied in all_texts(report):
        for line in copied.split("\n"):
            assert len(line) <= 80 or line == LINK
            assert visible(line) == line


def test_long_lines_are_cut_at_the_column_not_reflowed():
    report = reports.report()
    citation = report["findings"][0]["citations"][0]
    citation |= {"line_from": 7, "line_to": 7, "text": "a  b" * 40}
    text = citations.claim_text(outlook(report).claims[0], LINK)
    begin = text.index("       7 | ")
    quoted = [line[11:] for line in text[begin:].split("\n")[:3]]
    assert "".join(quoted) == "a  b" * 40


def test_markdown_takes_no_orders_from_evidence():
    report = reports.report()
    finding = report["findings"][0]
    finding["headline"] = "<img src=x> [a](javascript:1) **b** `c` # d"
    finding["citations"][0]["text"] = "```\n# not a heading\n```"
    finding["would_help"][0]["ask"] = "echo `id`"
    text = citations.claim_markdown(outlook(report).claims[0], LINK)
    assert "<img" not in text
    assert r"\[a\](javascript:1)" in text
    assert "````text" in text
    assert "`` echo `id` ``" in text


def test_a_copy_says_what_is_not_said():
    report = reports.report()
    text = citations.claim_text(outlook(report).claims[1], LINK)
    assert "it covers only the lines above" in text.replace("\n    ", " ")
    assert "ab" * 32 in text
    statement = citations.claim_text(outlook(report).claims[2], LINK)
    assert "Rests on a statement" in statement


def test_a_row_that_clears_nobody_stands_as_no_clearing():
    report = reports.report()
    clear = next(f for f in report["findings"] if f["kind"] == "clear")
    report["findings"].append(clear | {"key": "f" * 16, "rule": "NET-004", "group": "contributing", "clears": []})
    (weak,) = [claim for claim in outlook(report).claims if claim.rule == "NET-004"]
    assert (weak.clears, weak.group) == (False, "contributing")


def test_what_is_missing_keeps_its_id_until_something_else_is_missing() -> None:
    entry = {
        "rule": "r",
        "host": "db1",
        "needs": ["pmap", "params"],
        "ask": "pmap -xs PID",
        "os": "solaris",
        "worth": 3,
    }
    lacking = Outlook({"not_evaluable": [entry, {**entry, "rule": "s"}]}, "room")
    first = lacking.asks[0]
    turned = Outlook({"not_evaluable": [{**entry, "needs": ["params", "pmap"], "worth": 9}]}, "room")
    assert turned.asks[0].id == first.id
    assert len(first.id) == 16
    for other in ({"rule": "s"}, {"host": "db2"}, {"ask": "pmap -x PID"}, {"needs": ["pmap"]}):
        assert Outlook({"not_evaluable": [entry | other]}, "room").asks[0].id != first.id
    assert len(lacking.asks) == 1
    hidden = Outlook({"not_evaluable": [{**entry, "rule": "s"}]}, "room").asks[0].id
    found = lacking.ask(hidden)
    assert found is not None
    assert found.rule == "s"
    assert lacking.ask("nonsense") is None


@pytest.mark.parametrize(
    ("command", "short"),
    [
        ("timeout -s INT 60 strace -f -ttt -T -o FILE -p PID", "Trace of system calls (strace)"),
        ("truss -f -d -o FILE -p PID & sleep 60; kill -INT $!", "Trace of system calls (truss)"),
        ("dig @ADDRESS NAME, for each name server of the list, ten times", "What dig prints"),
        ("date; nstat -asz, twice, 60 s apart", "What nstat prints"),
        ("cat /proc/PID/stack; xyzzy -t", "The content of /proc/PID/stack and 1 more"),
        ("cat /proc/PID/stack while it waits; xyzzy -t", "The content of /proc/PID/stack and 1 more"),
        ("time 30 connects before and 30 after; say which", "Time 30 connects before and 30 after and 1 more"),
        ("traces of client and server at once", "Traces of client and server at once"),
        ("the sessions of the database, twice", "The sessions of the database"),
        ("say which host it is, and how large", "Say which host it is, and how large"),
    ],
)
def test_an_ask_is_named_by_what_its_first_tool_prints_else_by_its_first_part(command: str, short: str) -> None:
    report = reports.report()
    report["asks"] = [{"ask": command, "who": "DBA", "host": "db1", "os": None, "decides": [], "cost": "not known", "why": ""}]  # fmt: skip
    (ask,) = outlook(report).best_asks
    assert (ask.short, ask.takes) == (short, "")
