"""Where mails wait: by the steps that Postfix prints, and by what sendmail and Exim say of an attempt."""

from __future__ import annotations

import pytest

from rules.case.case import Case
from rules.observers.mail_delays import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise


def logged(*texts: str) -> list[Sighting]:
    return list(observe(Case.of_tables({"logs": [{"line_no": n, "text": text} for n, text in enumerate(texts, 1)]})))


def postfix(delays: str, status: str = "sent", relay: str = "mx1.example.net[192.0.2.4]:25") -> str:
    whole = sum(float(x) for x in delays.split("/"))
    return (
        f"4F7: to=<a@example.net>, relay={relay}, delay={whole:g}, delays={delays}, dsn=2.0.0, status={status} (250 ok)"
    )


@pytest.mark.parametrize(
    ("delays", "words", "event"),
    [
        ("0.3/840/0.2/9", "840 s of it in the queue", "mail-queued"),
        ("0.3/0.1/95/2", "95 s of it setting up the connection", "mail-connecting"),
        ("0.3/0.1/2/120", "sending the message", "mail-sending"),
        ("4000/0.1/2/3", "before this attempt", "mail-before"),
    ],
)
def test_the_step_that_holds_a_slow_mail(delays: str, words: str, event: str) -> None:
    (made,) = logged(postfix(delays))
    assert event == made.seen[0]["event"]
    assert words.split(" s of it ")[-1] in made.headline
    assert not made.normal
    assert made.value == pytest.approx(sum(float(x) for x in delays.split("/")))
    assert recognise(**made.seen[0])


def test_several_slow_mails_are_told_together_the_slowest_first() -> None:
    (made,) = logged(postfix("1/60/0/1"), postfix("1/300/0/1"), postfix("0/0/0/1"))
    assert made.headline.startswith("2 mails were on the way for 30 s or longer, the slowest to mx1.example.net for ")
    assert "98.9 % of all their time there" in made.headline
    assert [line.line_from for line in made.lines] == [2, 1]


def test_a_quick_mail_is_within_bounds() -> None:
    (made,) = logged(postfix("0.2/0/0.04/0.25"))
    assert made.normal
    assert made.seconds is None


def test_a_deferred_mail_was_tried_before() -> None:
    (made,) = logged(postfix("3540/1/60/0", "deferred", "none"))
    assert made.seen == ({"event": "mail-before-deferred"},)
    assert made.subject == "none"


@pytest.mark.parametrize(
    ("text", "seconds", "event"),
    [
        (
            "x9: to=<a@example.net>, delay=1+00:10:00, xdelay=00:00:04, mailer=esmtp, stat=Sent",
            87_000.0,
            "mail-waiting",
        ),
        ("x9: to=<a@example.net>, delay=00:02:00, xdelay=00:01:59, mailer=esmtp, stat=Sent", 120.0, "mail-attempt"),
        ("1rX-00 => a@example.net R=dns T=smtp QT=2h5s DT=1m", 7205.0, "mail-waiting"),
    ],
)
def test_other_servers_say_the_whole_and_the_attempt(text: str, seconds: float, event: str) -> None:
    (made,) = logged(text)
    assert (made.value, made.seen[0]["event"]) == (seconds, event)


@pytest.mark.parametrize("text", ["delays=1/2/3", "delay=later, xdelay=soon", "QT=s", "delays=0/0/0/0"])
def test_what_is_no_delay_says_nothing(text: str) -> None:
    assert logged(text) == []


@pytest.mark.parametrize(("quick", "rare"), [(99, True), (30, False), (40, False)])
def test_one_slow_mail_among_many_says_nothing_of_the_server(quick: int, rare: bool) -> None:
    (made,) = logged(*(postfix("0.1/0/0.1/0.2") for _ in range(quick)), postfix("0/90/0/0"))
    assert made.value == 90.0
    assert (made.seconds is None) == rare
    assert made.share == pytest.approx(1 / (quick + 1) if rare else 1.0)


@pytest.mark.parametrize(
    ("seconds", "event"),
    [
        ("30", "mail-connect-timeout"),
        ("61", "mail-connect-timeout"),
        ("45", "mail-connecting"),
        ("33", "mail-connecting"),
    ],
)
def test_a_connection_that_took_the_limit_for_an_address(seconds: str, event: str) -> None:
    text = f"9F2A1: to=<ann@b.example>, relay=mx.b.example[192.0.2.9]:25, delay=91, delays=0.1/0.1/{seconds}/0.4, status=sent (250 ok)"
    (made,) = list(observe(Case.of_tables({"logs": [{"line_no": 1, "text": text}]})))
    assert made.seen == ({"event": event},)
