"""Tests of reports of the content policy: counted in groups, limited, without names or addresses of rooms."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config import policy
from incidents import tasks
from incidents.actions import policy_reports as actions
from incidents.doors import policy_reports
from incidents.models.site.policy_report import KEPT, MOST, PolicyReport, Seen
from tests.house.test_settings import run
from tests.incidents.conftest import make_room, make_user
from tests.incidents.doors.test_bodies import CHUNKED, ask

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
HERE = "http://testserver"


def one(**change: Any) -> dict[str, Any]:
    """Return a report as browsers write it for `report-uri`."""
    said = {
        "document-uri": f"{HERE}/rooms/a-room-abcdefgh/status/?q=secret",
        "referrer": f"{HERE}/join/secret-token/",
        "violated-directive": "script-src-elem",
        "effective-directive": "script-src-elem",
        "original-policy": "default-src 'none'; report-uri /policy-reports",
        "disposition": "enforce",
        "blocked-uri": "https://cdn.example/lib.js?key=secret",
        "line-number": 7,
        "source-file": f"{HERE}/static/js/page.0123456789ab.js?v=secret",
        "status-code": 200,
        "script-sample": "fetch('/give/secret-token/')",
    }
    return {name: value for name, value in (said | change).items() if value is not None}


def send(said: Any, kind: str = "application/csp-report", **more: Any) -> int:
    body = said if isinstance(said, (bytes, str)) else json.dumps(said)
    answer = Client().post("/policy-reports", body, content_type=kind, headers={"User-Agent": FIREFOX}, **more)
    return int(answer.status_code)


def report(**change: Any) -> Seen | None:
    """Send one report; return the group in which it was counted."""
    assert send({"csp-report": one(**change)}) == 204
    row = PolicyReport.objects.order_by("-id").first()
    return Seen(row.directive, row.blocked, row.page, row.source) if row else None


def test_pages_name_the_address() -> None:
    answer = Client().get("/accounts/login/")
    assert reverse("policy-reports") == policy.ADDRESS
    assert "report-uri /policy-reports" in answer["Content-Security-Policy"]
    assert "report-to" not in answer["Content-Security-Policy"], "browsers would send nothing without TLS"
    assert "Reporting-Endpoints" not in answer


def test_with_tls_they_name_it_in_the_newer_way_too() -> None:
    code = "from config.settings import CONTENT_SECURITY_POLICY as p; print(p['DIRECTIVES'].get('report-to'))"
    assert run(["-c", code], EXHIBIT_URL="https://exhibit.team.example").stdout.strip() == "['exhibit']"
    assert run(["-c", code], EXHIBIT_URL="http://exhibit.team.example").stdout.strip() == "None"

    def page(request: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={"Content-Security-Policy": "default-src 'none'; report-to exhibit"})

    assert policy.with_address(page)(HttpRequest())["Reporting-Endpoints"] == 'exhibit="/policy-reports"'


def test_reports_of_one_cause_are_one_group() -> None:
    for _ in range(3):
        seen = report()
    assert seen == Seen("script-src-elem", "https://cdn.example", "status", "js/page.js")
    row = PolicyReport.objects.get()
    assert (row.count, row.browser) == (3, "Firefox on Linux")
    assert row.first_at < row.last_at


def test_the_newer_form_is_read_too() -> None:
    body = {
        "documentURL": f"{HERE}/give/secret-token/",
        "effectiveDirective": "connect-src",
        "blockedURL": "wss://spy.example:8443/secret",
        "sourceFile": "moz-extension://secret-id/inject.js",
        "sample": "secret",
    }
    sent = [
        {"type": "csp-violation", "age": 3, "url": "x", "user_agent": "x", "body": body},
        {"type": "deprecation", "body": {"id": "x"}},
        "nonsense",
        {"type": "csp-violation", "body": "nonsense"},
    ]
    assert send(sent, "application/reports+json") == 204
    row = PolicyReport.objects.get()
    assert (row.directive, row.blocked, row.page, row.source) == (
        *("connect-src", "wss://spy.example:8443"),
        *("give", "moz-extension"),
    )


def test_nothing_that_opens_or_names_a_room_is_kept() -> None:
    room = make_room()
    for path in (
        f"/rooms/{room.incident.slug}/",
        "/give/secret-token/",
        "/join/secret-token/",
        "/shared/secret-token/",
    ):
        address = f"{HERE}{path}?token=secret#secret"
        for name in ("document-uri", "blocked-uri", "source-file"):
            report(**{name: address})
    kept = json.dumps(list(PolicyReport.objects.values()), default=str)
    assert [word for word in ("secret", room.incident.slug) if word in kept] == []
    assert PolicyReport.objects.count() > 4


@pytest.mark.parametrize(
    ("blocked", "kept"),
    [
        ("inline", "inline"),
        ("eval", "eval"),
        ("data", "data"),
        ("data:text/html,secret", "data"),
        ("blob:https://x/1", "blob"),
        (f"{HERE}/rooms/x/", "self"),
        (f"{HERE}/static/css/room.css", "css/room.css"),
        (f"{HERE}/static/../rooms/x.secret/", "self"),
        ("https://user:secret@evil.example/x", "https://evil.example"),
        ("https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443"),
        ("https://<script>/", "https://unknown"),
        ("https://x:99999/", "https://unknown"),
        ("https://[x", "unknown"),
        ("secret words", "unknown"),
        ("a\x00b", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
        (7, "unknown"),
        (["https://x"], "unknown"),
        ("https://" + "x" * 300, "https://unknown"),
    ],
)  # fmt: skip
def test_of_an_address_its_origin_is_kept(blocked: Any, kept: str) -> None:
    seen = report(**{"blocked-uri": blocked})
    assert seen is not None
    assert seen.blocked == kept


@pytest.mark.parametrize(
    ("directive", "kept"),
    [
        ("script-src-attr", "script-src-attr"),
        ("script-src 'self'", "script-src"),
        ("<b>", "unknown"),
        ("x" * 900, "unknown"),
    ],
)
def test_a_directive_is_one_or_unknown(directive: str, kept: str) -> None:
    seen = report(**{"effective-directive": None, "violated-directive": directive})
    assert seen is not None
    assert seen.directive == kept


@pytest.mark.parametrize("page", ["https://elsewhere.example/", "nonsense", "https://[x", None, "about:blank"])
def test_pages_of_others_are_not_counted(page: str | None) -> None:
    assert report(**{"document-uri": page}) is None


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 9000, 400),
        (b"7", 204),
        (b"[]", 204),
        (b"{}", 204),
        (b'{"csp-report": [1]}', 204),
    ],
)
def test_nonsense_is_refused_or_ignored(body: bytes, status: int) -> None:
    assert send(body) == status
    assert not PolicyReport.objects.exists()


def test_only_json_is_read_and_only_posts() -> None:
    assert send("a=1", "application/x-www-form-urlencoded") == 415
    assert Client().get("/policy-reports").status_code == 405


def test_of_many_in_one_body_a_few_are_read() -> None:
    sent = [
        {"type": "csp-violation", "body": {"documentURL": f"{HERE}/", "blockedURL": f"https://h{n}.example"}}
        for n in range(50)
    ]
    assert send(sent, "application/reports+json") == 204
    assert PolicyReport.objects.count() == policy_reports.MOST_AT_ONCE


@pytest.mark.django_db(transaction=True)
def test_a_long_body_is_refused_before_it_is_on_the_disk(transactional_db: None) -> None:
    for known in ({}, {"authorization": "Bearer of-nothing"}):
        whole = ask("/policy-reports", {"content-length": str(policy_reports.MOST_B)}, [b"x" * policy_reports.MOST_B])
        assert whole.passed == policy_reports.MOST_B
        announced = ask("/policy-reports", known | {"content-length": str(2**20)}, [b"x" * 2**20])
        assert (announced.status, announced.passed) == (413, -1)
        assert "larger than the 16 KiB" in announced.words
        endless = ask("/policy-reports", known | CHUNKED, [b"x" * 2**14] * 64)
        assert endless.status == 413
        assert endless.passed <= policy_reports.MOST_B


def test_one_caller_sends_so_many_and_all_together_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_reports, "FROM_ONE", 3)
    monkeypatch.setattr(policy_reports, "FROM_ALL", 5)

    def sent_from(address: str) -> list[int]:
        return [send({"csp-report": one()}, REMOTE_ADDR=address) for _ in range(4)]

    assert sent_from("192.0.2.1") == [204, 204, 204, 429]
    assert sent_from("192.0.2.2") == [204, 204, 429, 429]
    assert PolicyReport.objects.get().count == 5


def test_nobody_fills_the_table() -> None:
    now = timezone.now()
    PolicyReport.objects.bulk_create(
        PolicyReport(directive="d-x", blocked=f"h{n}", page="room", source="", browser="x", count=1, first_at=now, last_at=now)
        for n in range(MOST - 1)
    )  # fmt: skip
    for n in range(3):
        report(**{"blocked-uri": f"https://new{n}.example"})
    report(**{"blocked-uri": "https://new0.example"})
    assert PolicyReport.objects.count() == MOST + 1
    assert PolicyReport.objects.get(directive="").count == 2
    assert PolicyReport.objects.get(blocked="https://new0.example").count == 2


def test_a_database_that_is_away_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(policy_reports, "note", away)
    assert send({"csp-report": one()}) == 503


def test_the_sweep_forgets_what_nobody_reports_again() -> None:
    report()
    report(**{"blocked-uri": "inline"})
    PolicyReport.objects.filter(blocked="inline").update(last_at=timezone.now() - KEPT - timedelta(hours=1))
    tasks.sweep()
    assert PolicyReport.objects.get().blocked == "https://cdn.example"


class TestThePage:
    def client(self) -> Client:
        client = Client()
        client.force_login(make_user(is_superuser=True, is_staff=True))
        return client

    def shown(self, client: Client) -> str:
        return " ".join(client.get("/site/policy/").content.decode().split())

    def test_it_says_that_there_is_none(self) -> None:
        assert "Browsers stopped nothing on our pages" in self.shown(self.client())

    def test_it_shows_groups_the_newest_first_and_forgets_them(self) -> None:
        report()
        report(**{"blocked-uri": "inline"})
        report(**{"blocked-uri": "inline"})
        client = self.client()
        shown = self.shown(client)
        assert shown.index("<b>inline</b>") < shown.index("<b>https://cdn.example</b>")
        assert '<td data-label="Times" class="num">2</td>' in shown
        assert "js/page.js" in shown
        assert client.post("/site/policy/").status_code == 302
        assert not PolicyReport.objects.exists()

    def test_what_found_no_group_is_told_as_such(self) -> None:
        actions.note(Seen("", "", "", ""), FIREFOX)
        assert "further reports, for which there was no group left" in self.shown(self.client())

    def test_only_administrators_forget(self) -> None:
        report()
        client = Client()
        client.force_login(make_user())
        assert client.post("/site/policy/").status_code == 403
        assert PolicyReport.objects.exists()
