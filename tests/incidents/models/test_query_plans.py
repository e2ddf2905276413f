"""Tests that no list page reads a large table from end to end, or needs more than 15 queries, in a filled database.

The database has a tenth of the size that benchmarks/seeding.py makes for 1,000 rooms. At this size the planner may
prefer to read a whole table, so the tests forbid sequential scans: a table that is still read that way, or by an index
without a condition, lacks an index and would be read from end to end at any size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from benchmarks import seeding
from tests.incidents.conftest import undone

SIZES = {name: n // 10 for name, n in seeding.FULL.items()}
MOST_QUERIES = 15
# Joins by sorting or hashing read a whole table where it is small; step by step they need an index.
FORBIDDEN = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_material")
LARGE = {
    "incidents_artifact",
    "incidents_reading",
    "incidents_part",
    "incidents_finding",
    "incidents_findingversion",
    "incidents_note",
    "incidents_observation",
    "incidents_activity",
    "incidents_evaluation",
    "incidents_membership",
    "incidents_decision",
    "incidents_action",
    "incidents_milestone",
    "incidents_incident",
    "incidents_verdict",
}


@pytest.fixture(scope="module")
def filled(django_db_setup: Any, django_db_blocker: Any) -> Iterator[dict[str, Any]]:
    """Fill the database once for this file and empty it again: other tests count rows.

    Rolled back rows of earlier tests still take space in the tables, so the planner's choice would depend on which
    tests ran before. Truncating inside the transaction empties each table until the transaction is undone.
    """
    with undone(django_db_blocker):
        with connection.cursor() as cursor:
            cursor.execute(f"truncate {', '.join(['auth_user', *sorted(LARGE)])} cascade")
        made = seeding.seed(**SIZES)
        admin = User.objects.create(username="seeded-admin", is_superuser=True, is_staff=True)
        connection.check_constraints()  # of all these rows once, not at the end of each test
        yield made | {"admin": admin.pk}


def addresses(made: dict[str, Any]) -> dict[str, str]:
    slug = made["large"]
    inside = {name: reverse(name, args=[slug]) for name in seeding.PAGES}
    key = f"{0:06x}{0:010x}"
    return inside | {
        "rooms": reverse("rooms"),
        "rooms by title": reverse("rooms") + "?sort=title",
        "rooms searched": reverse("rooms") + "?q=db7",
        "rooms archived": reverse("rooms") + "?status=archived",
        "rooms, last page": reverse("rooms") + "?page=2",
        "rooms by time to verdict": reverse("rooms") + "?sort=-took",
        "rooms by layer": reverse("rooms") + "?layer=os_kernel&sort=cause",
        "rooms with one cause": f"{reverse('rooms')}?same={made['small']}",
        "rooms as CSV": reverse("rooms-csv"),
        "search": reverse("search") + "?q=Trace+login+7",
        "search, two letters": reverse("search") + "?q=db",
        "search, one kind": reverse("search") + "?q=%22seen+on+db7%22+-db8&kind=note&page=2",
        "search, this room": f"{reverse('search')}?q=full&room={slug}",
        "search, lines": reverse("search") + "?q=full&kind=line",
        "similar": reverse("similar", args=[slug]),
        "finding": reverse("finding", args=[slug, key]),
        "plan, mine": reverse("plan", args=[slug]) + "?show=mine",
        "plan, overdue": reverse("plan", args=[slug]) + "?show=overdue&actions=2",
        "plan, settled": reverse("plan", args=[slug]) + "?show=closed",
        "activity, filtered": reverse("activity", args=[slug]) + "?verb=wrote",
        "notes, last page": reverse("notes", args=[slug]) + "?page=3",
        "evidence, last page": reverse("evidence", args=[slug]) + "?page=2",
    }


NAMES = sorted(
    [
        *seeding.PAGES,
        *("rooms", "rooms by title", "rooms searched", "rooms archived", "rooms, last page", "finding", "plan, mine"),
        *("rooms by time to verdict", "rooms by layer", "rooms with one cause", "rooms as CSV", "search", "similar"),
        *("search, two letters", "search, one kind", "search, this room", "search, lines"),
        *("plan, overdue", "plan, settled", "activity, filtered", "notes, last page", "evidence, last page"),
    ]
)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def read_whole(sql: str) -> list[str]:
    """Return the large tables that a query can only read from end to end, with how."""
    with connection.cursor() as cursor:
        for way in FORBIDDEN:
            cursor.execute(f"set local {way} = off")
        cursor.execute(f"explain (format json) {sql}")
        [[plans]] = cursor.fetchall()
        for way in FORBIDDEN:
            cursor.execute(f"set local {way} = on")
    plans = plans if isinstance(plans, list) else json.loads(plans)
    found = []
    for node in nodes(plans[0]["Plan"]):
        table = node.get("Relation Name")
        if table not in LARGE:
            continue
        if node["Node Type"] == "Seq Scan":
            found.append(f"{table}: no index")
        elif node["Node Type"] in ("Index Scan", "Index Only Scan") and "Index Cond" not in node:
            found.append(f"{table}: all of {node['Index Name']}")
    return found


def captured(client: Client, address: str) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address)
    assert answer.status_code == 200, address
    return [query["sql"] for query in queries.captured_queries]


@pytest.fixture
def asked(filled: dict[str, Any], db: None) -> dict[str, Any]:
    return filled


@pytest.mark.parametrize("name", NAMES)
def test_no_page_reads_a_large_table_from_end_to_end(asked: dict[str, Any], name: str) -> None:
    client = Client()
    # A person with few rooms asks for the list: for somebody with all rooms, reading all of them is right.
    client.force_login(User.objects.get(pk=asked["member" if name.startswith("rooms") else "everywhere"]))
    bad = {}
    for sql in captured(client, addresses(asked)[name]):
        if sql.startswith("SELECT") and (found := read_whole(sql)):
            bad[sql] = found
    assert bad == {}, "\n".join(f"{found} {sql[:300]} ... {sql[-300:]}" for sql, found in bad.items())


def test_an_administrators_list_reads_only_the_rooms_themselves(asked: dict[str, Any]) -> None:
    """Check that only rooms and their verdicts are read: the list is sorted by the severity of the verdict."""
    client = Client()
    client.force_login(User.objects.get(pk=asked["admin"]))
    for sql in captured(client, reverse("rooms")):
        if sql.startswith("SELECT"):
            assert {found.split(":")[0] for found in read_whole(sql)} <= {"incidents_incident", "incidents_verdict"}, (
                sql[:400]
            )


@pytest.mark.parametrize("name", NAMES)
def test_no_page_needs_more_than_fifteen_queries(asked: dict[str, Any], name: str) -> None:
    client = Client()
    client.force_login(User.objects.get(pk=asked["everywhere"]))
    address = addresses(asked)[name]
    queries = captured(client, address)
    assert len(queries) <= MOST_QUERIES, "\n".join(sql[:160] for sql in queries)


def test_the_question_finds_a_table_that_has_no_index_to_go_by(asked: dict[str, Any]) -> None:
    """Check that the check of the tests above can fail."""
    assert read_whole("SELECT * FROM incidents_note WHERE text = 'x'") == ["incidents_note: no index"]
    assert read_whole("SELECT * FROM incidents_note WHERE id = 7") == []
