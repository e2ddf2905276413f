"""Webhooks: fenced, signed, masked, repeated, logged."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from config import settings as shipped
from incidents import tasks
from incidents.access import Room
from incidents.actions import findings, notes, plan, quarantine, requests, review, rooms, webhooks
from incidents.actions import summary as summaries
from incidents.content import chat_forms
from incidents.errors import NotAllowed, Refused
from incidents.models.room.webhook import ATTEMPTS, Delivery, DeliveryState, HookKind, Webhook
from incidents.work import deliveries, webhook_client
from tests.incidents.conftest import make_member, make_room
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import Judged, client_of, judged  # noqa: F401

ALL = HookKind.values


class Receiver(ThreadingHTTPServer):
    """An external system on the loopback: it stores what it receives and sends the chosen response."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.slow_s = 0.0
        self.drip = False

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers.items()), body))
        time.sleep(self.server.slow_s)
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for _ in range(200 if self.server.drip else 0):
            try:
                self.wfile.write(b"x")
                self.wfile.flush()
            except OSError:
                return
            time.sleep(0.1)
        self.wfile.write(b"thank you, password=Geheim123x")

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture
def outside(settings) -> Iterator[Receiver]:
    with serving() as server:
        settings.WEBHOOK_TEST_HOSTS = frozenset({server.host})
        yield server


@pytest.fixture
def room(db) -> Room:
    return make_room()


def send_all() -> None:
    for _ in range(50):
        if not deliveries.send_due():
            return
    raise AssertionError("the deliveries do not come to an end")


# --- the fence ------------------------------------------------------------------------------------------------------


class TestFence:
    @pytest.mark.parametrize(
        "address",
        [
            *("127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
            *("100.64.0.1", "198.18.0.1", "192.0.2.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
            *("::1", "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "fec0::1"),
            *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1"),
            *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::", "2001::1"),
        ],
    )
    def test_what_is_not_public_is_not_reached(self, address: str) -> None:
        assert not webhook_client.is_public(ipaddress.ip_address(address))

    @pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808"])
    def test_what_is_public_is(self, address: str) -> None:
        assert webhook_client.is_public(ipaddress.ip_address(address))

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("http://chat.example.com/x", "https"),
            ("ftp://chat.example.com/x", "https"),
            ("file:///etc/passwd", "https"),
            ("//chat.example.com", "https"),
            ("https://user:secret@chat.example.com/", "user name and password"),
            ("https:///x", "no web address"),
            ("https://chat.example.com:99999/", "no web address"),
            ("https://chat.example.com/a b", "no web address"),
            ("https://chat.example.com/\r\nHost: x", "no web address"),
            ("https://chät.example.com/", "no web address"),
            ("https://chat.example.com/#x", "#"),
            ("https://127.0.0.1/", "private network"),
            ("https://[::1]/", "private network"),
            ("https://[::ffff:10.0.0.1]/", "private network"),
            ("https://169.254.169.254/latest/meta-data/", "private network"),
            ("https://2130706433/", "as a name"),
            ("https://0x7f000001/", "as a name"),
            ("https://127.1/", "as a name"),
        ],
    )
    def test_an_address_that_gives_itself_away_is_refused_at_once(self, room: Room, url: str, words: str) -> None:
        with pytest.raises(Refused, match=words):
            webhooks.add(room, url, ["verdict"])
        assert not Webhook.objects.exists()

    @pytest.mark.parametrize("answers", [["127.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["::ffff:192.168.0.1"]])
    def test_a_name_that_leads_inside_is_not_connected_to(
        self, monkeypatch: pytest.MonkeyPatch, answers: list[str]
    ) -> None:
        found = [(0, socket.SOCK_STREAM, 6, "", (address, 443)) for address in answers]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: found)
        monkeypatch.setattr(socket, "create_connection", lambda *a, **k: pytest.fail("it connected"))
        with pytest.raises(webhook_client.NotSent, match="private network"):
            webhook_client.post("https://rebind.example.com/", b"{}", {})

    def test_the_name_is_asked_once_and_the_judged_address_is_what_is_connected_to(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Check DNS rebinding: a second look-up of the name would give the loopback."""
        asked: list[str] = []

        def resolve(host: str, *_: Any, **__: Any) -> list[Any]:
            asked.append(host)
            return [(0, socket.SOCK_STREAM, 6, "", ("93.184.216.34" if len(asked) == 1 else "127.0.0.1", 443))]

        connected: list[Any] = []

        def connect(address: Any, *_: Any, **__: Any) -> Any:
            connected.append(address)
            raise ConnectionRefusedError("nobody there")

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        monkeypatch.setattr(socket, "create_connection", connect)
        with pytest.raises(webhook_client.NotSent, match="could not be reached"):
            webhook_client.post("https://rebind.example.com/", b"{}", {})
        assert (asked, connected) == (["rebind.example.com"], [("93.184.216.34", 443)])

    def test_an_error_of_the_system_is_told_in_its_words(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def resolve(*_: Any, **__: Any) -> Any:
            raise socket.gaierror(-2, "Name or service not known")

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        with pytest.raises(webhook_client.NotSent, match=r"could not be resolved: Name or service not known$"):
            webhook_client.post("https://nowhere.example.com/", b"{}", {})

    def test_a_redirect_is_not_followed(self, outside: Receiver) -> None:
        with serving() as inside:
            outside.status, outside.headers = 307, {"Location": inside.url}
            assert webhook_client.post(outside.url, b"{}", {}).status == 307
            assert inside.got == []

    def test_only_the_named_host_of_a_test_is_let_through(self, outside: Receiver) -> None:
        with serving() as other, pytest.raises(Refused):
            webhook_client.post(other.url, b"{}", {})

    def test_nobody_but_a_test_can_name_one(self) -> None:
        assert frozenset() == shipped.WEBHOOK_TEST_HOSTS
        source = (shipped.BASE_DIR / "config" / "settings.py").read_text(encoding="utf-8")
        (line,) = [line for line in source.splitlines() if "WEBHOOK_TEST_HOSTS" in line]
        assert "env" not in line

    def test_a_proxy_of_the_environment_is_not_used(self, outside: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("http_proxy", "https_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9/")
        assert webhook_client.post(outside.url, b"{}", {}).status == 200

    @pytest.mark.parametrize("drip", [False, True])
    def test_a_receiver_that_hangs_or_drips_costs_a_bounded_time(
        self, outside: Receiver, monkeypatch: pytest.MonkeyPatch, drip: bool
    ) -> None:
        monkeypatch.setattr(webhook_client, "PATIENCE_S", 1.0)
        outside.slow_s, outside.drip = (0, True) if drip else (30, False)
        began = time.monotonic()
        with pytest.raises(webhook_client.NotSent, match="did not answer within"):
            webhook_client.post(outside.url, b"{}", {})
        assert time.monotonic() - began < 5


# --- what is sent ---------------------------------------------------------------------------------------------------


class TestMessages:
    def test_it_is_signed_and_carries_its_number(self, room: Room, outside: Receiver) -> None:
        hook = webhooks.add(room, outside.url, ["decision"])
        plan.put_decision(room, {"question": "Restart?"})
        send_all()
        ((headers, body),) = outside.got
        at, digest = (part.split("=", 1)[1] for part in headers["Exhibit-Signature"].split(","))
        assert abs(int(at) - time.time()) < 60
        made = hmac.new(hook.secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(made, digest)
        said = json.loads(body)
        delivery = Delivery.objects.get()
        assert headers["Exhibit-Delivery"] == said["id"] == str(delivery.pk)
        assert headers["Exhibit-Event"] == said["event"] == "decision"
        assert said["text"] == "Restart?"
        assert said["room"]["title"] == room.incident.title
        assert (delivery.state, delivery.status) == (DeliveryState.SENT, 200)
        assert "Geheim123x" not in (delivery.answer or "")

    @pytest.mark.parametrize("form", ["slack", "teams", "mattermost"])
    def test_a_chat_gets_it_in_its_own_form(self, room: Room, outside: Receiver, form: str) -> None:
        rooms.edit(room, {"title": "Logins <slow> | again"})
        webhooks.add(room, outside.url, ["decision"], form)
        calls = "*Now* @channel <!here> [x](https://example.com)\n# and then"
        plan.put_decision(room, {"question": "Restart?", "outcome": calls})
        send_all()
        ((_, body),) = outside.got
        said = json.loads(body)
        address = f"{settings.EXHIBIT_URL.rstrip('/')}{reverse('room', args=[room.incident.slug])}"
        if form == "slack":
            head, text, facts = said["blocks"]
            title = "Logins &lt;slow&gt; ¦ again"
            assert head["text"] == {"type": "mrkdwn", "text": f"*Decision* in <{address}|{title}>"}
            assert text["text"] == {"type": "plain_text", "text": calls, "emoji": False}
            assert facts["elements"][0]["text"].startswith(f"decided by {room.user.get_username()} · decided 20")
            assert said["text"] == f"Decision in {title}"
        elif form == "teams":
            (attachment,) = said["attachments"]
            assert said["type"] == "message"
            assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
            card = attachment["content"]
            assert [one["text"] for one in card["body"] if one["type"] == "TextBlock"] == ["Decision"]
            runs = [one["inlines"][0]["text"] for one in card["body"] if one["type"] == "RichTextBlock"]
            assert runs[:2] == ["Logins <slow> | again", calls]
            assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open the room", "url": address}]
        else:
            first, second, third = said["text"].split("\n")[:3]
            assert first == f"**Decision** in [Logins &lt;slow&gt; \\| again]({address})"
            assert second == "> \\*Now\\* @\u200bchannel &lt;\\!here&gt; \\[x\\](https://example.com)"
            assert third == "> \\# and then"

    def test_the_form_follows_from_the_address_unless_it_is_chosen(self, room: Room) -> None:
        slack = webhooks.add(room, "https://hooks.slack.com/services/T/B/x", ["verdict"])
        own = webhooks.add(room, "https://hooks.slack.com/services/T/B/y", ["verdict"], "exhibit")
        assert (slack.form, own.form) == ("slack", "exhibit")
        with pytest.raises(Refused, match="form from the list"):
            webhooks.add(room, "https://chat.example.com/x", ["verdict"], "fax")
        client = client_of(room)
        address = reverse("webhooks", args=[room.incident.slug])
        sent = {"url": "https://chat.example.com/hooks/x", "kinds": ["verdict"], "form": "mattermost"}
        assert client.post(address, sent).status_code == 200
        assert Webhook.objects.get(url=sent["url"]).form == "mattermost"
        assert "Mattermost" in client.get(address).content.decode()

    def test_every_kind_of_news_has_a_title_in_chats(self) -> None:
        assert set(chat_forms._TITLES) == set(HookKind)

    def test_the_secret_is_not_stored(self, room: Room, outside: Receiver) -> None:
        hook = webhooks.add(room, outside.url, ["note"])
        stored = json.dumps([list(map(str, row)) for row in Webhook.objects.values_list()])
        assert hook.secret not in stored
        assert Webhook.objects.get().secret == hook.secret

    def test_secrets_are_masked_in_every_kind(self, judged: Judged, outside: Receiver) -> None:  # noqa: F811
        room, secret = judged.lead, "Tr0ub4dor9x"
        words = f"run sqlplus system/{secret}@QPROD with password={secret}\x1b[31m"
        webhooks.add(room, outside.url, ALL)
        rooms.edit(room, {"title": f"Slow, password={secret}"})
        notes.add(room, words)
        plan.put_decision(room, {"question": words, "outcome": words})
        plan.put_action(room, {"text": words, "expected": words})
        plan.put_entry(room, {"kind": "step", "text": words})
        review.put_follow_up(room, {"text": words})
        findings.dispute(room, reports.CAUSE_KEY, words)
        requests.put(room, {"what": words, "command": words})
        summaries.freeze(room, words)
        rooms.set_status(room, "mitigated")
        send_all()
        assert {json.loads(body)["event"] for _, body in outside.got} >= {
            "note",
            "decision",
            "action",
            "entry",
            "review",
            "dispute",
            "request",
            "summary",
            "room",
        }
        for _, body in outside.got:
            assert secret not in body.decode()
            assert "\x1b" not in json.loads(body)["text"]
        assert secret not in str(list(Delivery.objects.values()))

    def test_a_verdict_is_told(self, judged: Judged, outside: Receiver) -> None:  # noqa: F811
        from tests.incidents.pages.conftest import add_report

        webhooks.add(judged.lead, outside.url, ["verdict"])
        report = reports.report()
        report["verdict"]["sentence"] = "A later sentence."
        add_report(judged.lead, report)
        send_all()
        assert json.loads(outside.got[-1][1])["text"] == "Cause: A later sentence."

    def test_a_request_and_what_became_of_it_are_told(self, judged: Judged, outside: Receiver) -> None:  # noqa: F811
        room = judged.lead
        webhooks.add(room, outside.url, ["request"])
        row = requests.put(room, {"what": "A map of the server", "command": "pmap -xs 3731", "host": "db1"})
        secret = quarantine.make_link(room, row.pk)
        send_all()
        requests.answer(room, row.pk, [2, 3])
        send_all()
        asked, answered = json.loads(outside.got[0][1]), json.loads(outside.got[-1][1])
        assert (asked["text"], asked["state"], asked["command"]) == ("A map of the server", "open", "pmap -xs 3731")
        assert asked["asked_by"] == "anna"
        assert (answered["object"], answered["state"], answered["artifacts"]) == (str(row.pk), "answered", [2, 3])
        assert all(secret not in body.decode() for _, body in outside.got), "whoever has the link may send files"

    def test_a_frozen_summary_is_told_its_drafts_and_links_are_not(
        self, judged: Judged, outside: Receiver, hints, django_capture_on_commit_callbacks  # noqa: F811
    ) -> None:  # fmt: skip
        room = judged.lead
        webhooks.add(room, outside.url, ["summary"])
        summaries.put_text(room, "cause", "Not for outside yet.", "instead", 0)
        send_all()
        assert outside.got == []
        with django_capture_on_commit_callbacks(execute=True):
            version = summaries.freeze(room, "For the board")
        assert "hooks" in hints
        summaries.share(room, version.number, "the board")
        send_all()
        [(_, body)] = outside.got
        said = json.loads(body)
        assert said["text"] == "Version 1 of the summary was frozen: For the board"
        assert said["sha256"] == version.content_hash
        assert said["url"].endswith(reverse("summary-version", args=[judged.slug, 1]))

    def test_what_was_taken_away_meanwhile_is_not_told(self, room: Room, outside: Receiver) -> None:
        webhooks.add(room, outside.url, ["note"])
        note = notes.add(room, "too hasty")
        notes.delete(room, note.pk)
        send_all()
        assert outside.got == []
        assert not Delivery.objects.exists()

    def test_only_the_chosen_kinds_leave_the_room(self, room: Room, outside: Receiver) -> None:
        webhooks.add(room, outside.url, ["decision"])
        notes.add(room, "not for others")
        send_all()
        assert outside.got == []

    def test_another_rooms_news_does_not_leave_here(self, room: Room, outside: Receiver) -> None:
        webhooks.add(room, outside.url, ALL)
        notes.add(make_room(), "elsewhere")
        assert not Delivery.objects.exists()

    def test_a_hint_goes_out_with_the_deed(self, room: Room, outside: Receiver, hints, django_capture_on_commit_callbacks) -> None:  # fmt: skip
        webhooks.add(room, outside.url, ["note"])
        with django_capture_on_commit_callbacks(execute=True):
            notes.add(room, "a remark")
        assert "hooks" in hints


# --- again and again ------------------------------------------------------------------------------------------------


class TestRetries:
    def test_it_is_tried_again_later_with_the_same_number_and_body(self, room: Room, outside: Receiver) -> None:
        webhooks.add(room, outside.url, ["note"])
        outside.status = 503
        note = notes.add(room, "first words")
        send_all()
        delivery = Delivery.objects.get()
        assert (delivery.state, delivery.attempt, delivery.status) == (DeliveryState.QUEUED, 1, 503)
        assert timedelta(seconds=10) < delivery.next_at - timezone.now() <= timedelta(seconds=15)
        send_all()
        assert len(outside.got) == 1
        notes.edit(room, note.pk, "other words")
        Delivery.objects.filter(pk=delivery.pk).update(next_at=timezone.now())
        outside.status = 204
        send_all()
        first, second, *_ = outside.got
        assert (first[0]["Exhibit-Delivery"], first[1]) == (second[0]["Exhibit-Delivery"], second[1])
        assert Delivery.objects.get(pk=delivery.pk).state == DeliveryState.SENT

    def test_in_the_end_it_is_given_up_and_can_be_sent_again(self, room: Room, outside: Receiver) -> None:
        hook = webhooks.add(room, outside.url, ["note"])
        outside.status = 500
        notes.add(room, "a remark")
        waits = []
        for _ in range(ATTEMPTS):
            Delivery.objects.update(next_at=timezone.now())
            send_all()
            waits.append(round((Delivery.objects.get().next_at - timezone.now()).total_seconds()))
        delivery = Delivery.objects.get()
        assert (delivery.state, delivery.attempt) == (DeliveryState.FAILED, ATTEMPTS)
        assert waits[:5] == list(deliveries.PAUSES_S)
        outside.status = 200
        webhooks.again(room, hook.pk, delivery.pk)
        send_all()
        assert Delivery.objects.get().state == DeliveryState.SENT
        assert len({headers["Exhibit-Delivery"] for headers, _ in outside.got}) == 1

    def test_nobody_there_is_written_down(self, room: Room, outside: Receiver) -> None:
        webhooks.add(room, outside.url, ["note"])
        outside.shutdown()
        outside.server_close()
        notes.add(room, "a remark")
        send_all()
        assert "could not be reached" in (Delivery.objects.get().answer or "")

    def test_one_worker_at_a_time_sends_to_an_address(self, room: Room, outside: Receiver) -> None:
        hook = webhooks.add(room, outside.url, ["note"])
        notes.add(room, "a remark")
        Webhook.objects.filter(pk=hook.pk).update(lease_until=timezone.now() + timedelta(seconds=30))
        assert not deliveries.send_due()
        assert outside.got == []
        Webhook.objects.filter(pk=hook.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        send_all()
        assert len(outside.got) == 1

    def test_the_sweep_finds_what_a_lost_broker_left(self, room: Room, outside: Receiver, hints: list[str]) -> None:
        webhooks.add(room, outside.url, ["note"])
        notes.add(room, "a remark")
        hints.clear()
        tasks.sweep()
        assert hints.count("hooks") == 1

    def test_a_paused_one_hears_nothing_and_a_removed_one_neither(self, room: Room, outside: Receiver) -> None:
        hook = webhooks.add(room, outside.url, ["note"])
        webhooks.pause(room, hook.pk)
        notes.add(room, "during the pause")
        webhooks.pause(room, hook.pk, False)
        notes.add(room, "after it")
        webhooks.remove(room, hook.pk)
        send_all()
        assert outside.got == []
        webhooks.bring_back(room, hook.pk)
        notes.add(room, "back again")
        send_all()
        assert [json.loads(body)["text"] for _, body in outside.got] == ["back again"]


# --- the pages ------------------------------------------------------------------------------------------------------


class TestPages:
    def test_a_lead_adds_one_and_sees_its_secret_once(self, room: Room, outside: Receiver) -> None:
        client, address = client_of(room), reverse("webhooks", args=[room.incident.slug])
        assert "Nobody outside is told about this room" in client.get(address).content.decode()
        answer = client.post(address, {"url": outside.url, "kinds": ["note", "verdict"]})
        secret = Webhook.objects.get().secret
        assert secret in answer.content.decode()
        assert secret not in client.get(address).content.decode()

    def test_what_is_wrong_is_said_and_what_was_typed_is_kept(self, room: Room) -> None:
        answer = client_of(room).post(
            reverse("webhooks", args=[room.incident.slug]), {"url": "https://10.0.0.7/hook", "kinds": ["note"]}
        )
        text = answer.content.decode()
        assert answer.status_code == 422
        assert "public addresses only" in text
        assert 'value="https://10.0.0.7/hook"' in text

    def test_a_test_goes_out_once_and_its_answer_is_in_the_log(self, room: Room, outside: Receiver) -> None:
        hook = webhooks.add(room, outside.url, ["note"])
        client, address = client_of(room), reverse("webhook", args=[room.incident.slug, hook.pk])
        assert "Nothing was sent yet" in client.get(address).content.decode()
        assert client.post(address, {"do": "test"}).status_code == 302
        assert client.post(address, {"do": "test"}).status_code == 409
        outside.status = 404
        send_all()
        text = client.get(address).content.decode()
        assert "<b>404</b>" in text
        assert "given up" in text
        assert "thank you" in text

    def test_the_log_has_pages(self, room: Room, outside: Receiver, django_assert_max_num_queries: Any) -> None:
        hook = webhooks.add(room, outside.url, ["note"])
        Delivery.objects.bulk_create(Delivery(webhook=hook, kind="note", object=str(n)) for n in range(90))
        client, address = client_of(room), reverse("webhook", args=[room.incident.slug, hook.pk])
        with django_assert_max_num_queries(15):
            assert "page 3 of 3" in client.get(address + "?page=3").content.decode()

    def test_it_is_a_leads_matter(self, room: Room) -> None:
        guest = make_member(room.incident)
        with pytest.raises(NotAllowed):
            webhooks.add(guest, "https://chat.example.com/", ["note"])
        assert client_of(guest).get(reverse("webhooks", args=[room.incident.slug])).status_code == 403

    def test_the_record_names_the_host_and_not_the_secret_path(self, room: Room) -> None:
        webhooks.add(room, "https://chat.example.com/hooks/T0secret", ["note"])
        row = room.incident.activity.get(verb="added")
        assert row.detail["host"] == "chat.example.com"
        assert "T0secret" not in json.dumps(row.detail)

    def test_there_is_an_end_to_how_many(self, room: Room) -> None:
        for number in range(webhooks.MOST):
            webhooks.add(room, f"https://chat.example.com/{number}", ["note"])
        with pytest.raises(Refused, match="at most"):
            webhooks.add(room, "https://chat.example.com/one-more", ["note"])
        with pytest.raises(Refused, match="at most"):
            webhooks.add(room, "https://chat.example.com/1", ["note"])
