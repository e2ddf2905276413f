"""Tests of the pages of rules: list, one rule, a finding explained; firing is shown for the reader's own rooms only."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from incidents.content import rulebook
from tests.incidents.conftest import make_room, make_user
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import Judged, client_of

CAUSE_RULE = reports.report()["findings"][0]["rule"]


def client(user) -> Client:
    made = Client()
    made.force_login(user)
    return made


def text_of(browser: Client, address: str, status: int = 200) -> str:
    answer = browser.get(address)
    assert answer.status_code == status
    return answer.content.decode()


def known(rule: str) -> bool:
    return rulebook.rule_of(rule) is not None


def test_all_rules_are_listed_searched_and_filtered(db):
    browser = client(make_user())
    page = text_of(browser, "/rules/")
    assert f"{len(rulebook.library().rules)} rules" in page
    assert "page 1 of" in page
    found = text_of(browser, "/rules/?q=listen+queue")
    assert "LSN-012" in found
    assert "CPU-001" not in found
    assert "LSN-012" in text_of(browser, "/rules/?layer=listener")
    assert "LSN-012" not in text_of(browser, "/rules/?layer=storage")
    assert "No rule matches" in text_of(browser, "/rules/?state=fired")
    assert "No rule matches" in text_of(browser, "/rules/?q=nonsenseword")


def test_a_rule_says_needs_thresholds_examples_and_sources(db):
    page = text_of(client(make_user()), "/rules/LSN-012/")
    for text in (
        "TCP dropped connections at the listen queue",
        "counter_growth[grp = tcp]",
        "min_drops",
        "each drop costs a caller a retransmission timeout",
        "1 to 1,000,000",
        "15 dB",
        "minor from 0 per s, major from 0.1 per s, critical from 1 per s",
        "Port scans and half-open floods",
        "RFC 6298",
        "Solaris, eight drops in ten seconds",
        "cannot tell",
        "A longer queue hides a slow listener",
        "Its condition as SQL",
        "In none of the rooms that you may see",
    ):
        assert text in page, text


def test_no_rule_of_that_name_is_said(db):
    assert "There is no such rule" in text_of(client(make_user()), "/rules/NO-999/", 404)


@pytest.mark.parametrize("rule", [rule.id for rule in rulebook.library().rules][::9])
def test_a_rule_has_a_page(db, rule):
    assert rule in text_of(client(make_user()), f"/rules/{rule}/")


def test_where_it_fires_is_told_of_ones_own_rooms(judged: Judged):
    member, stranger = client_of(judged.viewer), client(make_room(title="Another team's room").user)
    assert rulebook.fired(judged.viewer.user)[CAUSE_RULE] == 1
    assert rulebook.fired(make_user()) == {}
    if known(CAUSE_RULE):
        assert judged.lead.incident.title in text_of(member, f"/rules/{CAUSE_RULE}/")
        for address in (f"/rules/{CAUSE_RULE}/", "/rules/"):
            page = text_of(stranger, address)
            assert judged.lead.incident.title not in page
            assert "1 room" not in page
        assert "1 room" in text_of(member, "/rules/?state=fired")


def test_what_is_gone_or_withdrawn_does_not_count(judged: Judged):
    judged.lead.incident.findings.filter(rule=CAUSE_RULE).update(withdrawn=True)
    assert CAUSE_RULE not in rulebook.fired(judged.viewer.user)


def test_the_pages_ask_little(judged: Judged):
    browser = client_of(judged.viewer)
    for address in ("/rules/", f"/rules/{CAUSE_RULE if known(CAUSE_RULE) else 'LSN-012'}/", "/help/"):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            text_of(browser, address)
        assert len(asked) <= 8, [query["sql"] for query in asked]


def test_a_finding_is_explained_with_its_values(judged: Judged):
    address = f"/rooms/{judged.slug}/findings/{reports.CAUSE_KEY}/explain/"
    page = text_of(client_of(judged.viewer), address)
    part = client_of(judged.viewer).get(address, headers={"HX-Request": "true"}).content.decode()
    assert "<html" in page
    assert "<html" not in part
    assert CAUSE_RULE in part


def test_a_finding_of_a_rule_that_is_gone_is_explained_as_far_as_it_goes(judged: Judged, monkeypatch):
    monkeypatch.setattr(rulebook, "rule_of", lambda id: None)
    page = text_of(client_of(judged.viewer), f"/rooms/{judged.slug}/findings/{reports.CAUSE_KEY}/explain/")
    assert "no longer among the rules of this Exhibit" in page


def test_values_of_a_room_are_told_from_the_usual_ones():
    rule = rulebook.rule_of("LSN-012")
    assert rule is not None
    one = rulebook.thresholds(rule, {"min_drops": {"value": 5, "unit": None, "origin": "room, set by anna"}})[0]
    assert (one.used, one.default, one.changed, one.origin) == (5, 1, True, "room, set by anna")
    assert rulebook.thresholds(rule)[0].changed is False


def test_a_teams_rule_appears_without_a_restart(settings, tmp_path, db):
    from rules import registry

    settings.EXHIBIT_RULES = [tmp_path]
    assert rulebook.rule_of("TEAM-dba-001") is None
    text = (registry.LIBRARY / "listener" / "accept-queue-drops.yaml").read_text(encoding="utf-8")
    (tmp_path / "accept-queue-drops.yaml").write_text(text.replace("id: LSN-012", "id: TEAM-dba-001"), encoding="utf-8")
    assert rulebook.rule_of("TEAM-dba-001") is not None
    assert ">team<" in text_of(client(make_user()), "/rules/?state=team")
