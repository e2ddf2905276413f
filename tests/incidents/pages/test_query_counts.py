"""No page asks the database more than 15 times (a download of the whole case 16), whatever stands on it; nor more often the more there is of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.incidents.conftest import run_jobs
from tests.incidents.full_room import fill
from tests.incidents.pages.conftest import Judged, judged  # noqa: F401
from tests.incidents.pages.test_permission_matrix import MATRIX

MOST_QUERIES = 15
#: The file of the case reads one table more than the maximum.
MORE = {"case-yaml 0": 17}
GETS = sorted(name for name, rows in MATRIX.items() if any(row.method == "get" and 200 in row.ok for row in rows))
#: A stream that sends until the reader leaves.
STREAMS = {"stream"}


def asked_by(client: Client, address: str, data: dict[str, Any]) -> list[str]:
    """Return the queries for an address, after a first request has filled the caches of process and room."""
    for _ in range(2):
        with CaptureQueriesContext(connection) as seen:
            answer: Any = client.get(address, data)
            if answer.streaming:
                answer.getvalue()  # read to its end, the test client closes the file
    return [query["sql"] for query in seen.captured_queries if "SAVEPOINT" not in query["sql"]]


def counted(full: Judged) -> dict[str, list[str]]:
    client = Client()
    client.force_login(full.lead.user)
    found = {}
    for name in GETS:
        for place, row in enumerate(MATRIX[name]):
            if name not in STREAMS and row.method == "get" and 200 in row.ok:
                with transaction.atomic():
                    found[f"{name} {place}"] = asked_by(client, reverse(name, args=row.args(full)), row.data)
                    transaction.set_rollback(True)
    return found


@pytest.mark.django_db
def test_no_address_asks_more_than_fifteen_times_nor_more_with_more_to_show(judged: Judged) -> None:  # noqa: F811
    run_jobs("small")
    fill(judged.lead, range(2))
    run_jobs("small")
    few = counted(judged)
    fill(judged.lead, range(2, 5))
    run_jobs("small")
    many = counted(judged)
    over = {name: queries for name, queries in many.items() if len(queries) > MORE.get(name, MOST_QUERIES)}
    grown = {name: queries for name, queries in many.items() if len(queries) > len(few[name])}
    for name, queries in (over | grown).items():
        print(name, len(few[name]), len(queries), *(query[:160] for query in queries), sep="\n    ")
    assert (sorted(over), sorted(grown)) == ([], [])
