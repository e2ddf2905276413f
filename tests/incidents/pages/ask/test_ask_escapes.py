"""Tests of every known escape from the sandbox, through the web page: a clear answer, no disclosure, a running server.

The lists are those of the engine's own tests, so an escape added there is tried here too. Refused queries share one
child; a query that only the limits stop has its own child, with the limits of a question and less time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from incidents.models.judging.query import AskedQuery
from incidents.work import queries
from rules.engine.ask import Limits
from rules.engine.sandbox import ROOT
from tests.incidents.asking import asked_room, patient, shared_child  # noqa: F401
from tests.incidents.pages.conftest import client_of
from tests.rules.engine import test_check, test_escapes, test_sandbox

REFUSED = {
    **{f"check: {name}": sql for name, sql in test_check.REFUSED.items()},
    **{f"escapes: {name}": sql for name, sql in test_escapes.REFUSED.items()},
    **{f"settings: {name}": sql for name, sql in test_sandbox.ESCAPES.items()},
    "a text of 64 KiB and more": "select 1 " + " " * 70_000,
    "a NUL": "select '\0\0' || ';' from nosuch",
    "five thousand brackets": "select " + "(" * 5000 + "1" + ")" * 5000,
    "brackets to the end": "select " + "(" * 65_000,
    "a bell and a bidi override": "\x07\u202eselect 1",
    "a parameter": "select $a",
    "a positional parameter": "select ?",
}
NAMES_OF_PLACES = (str(ROOT), os.path.expanduser("~") + "/", "site-packages", "Traceback", "duckdb", "/var/", "/tmp/")

# The tables of the engine's bombs are ours by other names: `t` has 1,000 rows with one text of 40 letters.
ROWS = "(select i as pid, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' as args from range(1000) r(i)) "


def on_rows(sql: str) -> str:
    """Put rows of our own in the place of the table `t`."""
    return re.sub(r"\b(from|join) t\b(?! )", rf"\1 {ROWS} t ", re.sub(r"\b(from|join) t (?=[a-z])", rf"\1 {ROWS}", sql))


BOMBS = {
    **{name: on_rows(sql) for name, sql in test_escapes.LONG.items()},
    "a range cross join": "select count(*) from range(1000000) a(i) join range(1000000) b(j) on a.i <> b.j join range(1000000) c(k) on b.j <> c.k",
    "rows without end": "select a.i, b.j from range(1000000) a(i) join range(1000000) b(j) on a.i <> b.j",
    "a sort that does not fit": "select a.i, b.j from range(1000000) a(i) join range(100) b(j) on a.i <> b.j order by a.i % 7, b.j desc",
    "a row of megabytes": "select list(i) as l, list(i) as m, list(i) as n from range(1000000) r(i)",
}  # fmt: skip


@pytest.fixture(scope="module")
def whose(django_db_setup, django_db_blocker, tmp_path_factory) -> Iterator[tuple[str, Client, Path]]:
    """Yield a room with a trace for all cases of this module, which write only the queries that were asked."""
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        from django.db import transaction

        from incidents import tasks
        from incidents.storage import live

        root = tmp_path_factory.mktemp("evidence")
        patch.setattr(settings, "EVIDENCE_ROOT", root)
        patch.setattr(settings, "EXHIBIT_MIN_FREE_BYTES", 0)
        patch.setattr(tasks, "hint", lambda queue: None)
        patch.setattr(tasks, "hint_hooks", lambda: None)
        patch.setattr(live, "_publish", lambda what: None)
        with transaction.atomic():
            room = asked_room()
            yield room.incident.slug, client_of(room), root
            transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def same_place(settings, whose, evidence) -> None:
    """Set the evidence folder of the module's room instead of the one that each test gets."""
    settings.EVIDENCE_ROOT = whose[2]


def ask(whose: tuple[str, Client, Path], sql: str):
    slug, client, _ = whose
    return client.post(reverse("ask", args=[slug]), {"sql": sql}, headers={"HX-Request": "true"})


@pytest.mark.drawn(4)
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED.keys())
def test_a_way_out_is_refused_in_clear_words(whose, sql, django_db_blocker):
    with django_db_blocker.unblock():
        answer = ask(whose, sql)
        body = answer.content.decode()
        assert answer.status_code in (422, 413), body
        if answer.status_code == 422:
            assert "data-refusal" in body
            words = re.sub(r"<[^>]+>|\s+", " ", body).strip()
            assert len(words) > 25, words
        assert [place for place in NAMES_OF_PLACES if place in body and place not in sql] == []
        assert not list(Path("/tmp").glob("exhibit-escape*"))


@pytest.mark.parametrize("sql", BOMBS.values(), ids=BOMBS.keys())
def test_a_bomb_ends_and_the_server_lives(whose, sql, monkeypatch, django_db_blocker):
    monkeypatch.setattr(queries, "LIMITS", replace(Limits(), limit_s=0.3, load_s=20.0))
    with django_db_blocker.unblock():
        answer = ask(whose, sql)
        body = answer.content.decode()
        assert answer.status_code in (200, 422), body
        if answer.status_code == 422:
            assert "Took too long" in body or "Too large" in body, body
        assert [place for place in NAMES_OF_PLACES if place in body] == []


@pytest.mark.usefixtures("patient")
def test_after_all_of_it_the_next_question_is_answered(whose, django_db_blocker):
    with django_db_blocker.unblock():
        answer = ask(whose, "select 'rows: ' || count(*) as n from syscalls")
        assert answer.status_code == 200
        assert re.search(r"rows: [1-9]", answer.content.decode())
        assert AskedQuery.objects.filter(sql__contains="rows: ").exists()
