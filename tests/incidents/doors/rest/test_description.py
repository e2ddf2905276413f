"""Tests of the OpenAPI document, of its page, and of all operations, which schemathesis calls as the document says."""

from __future__ import annotations

import copy
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from django.test import Client, override_settings
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import CHECKS

from incidents.actions import access_tokens, notes, plan, requests, review
from incidents.doors.rest import description
from incidents.models.people.access_token import Scope
from tests.incidents.conftest import make_artifact, make_room, undone
from tests.incidents.pages.conftest import add_report
from tests.incidents.pages.room import test_lead

pytestmark = pytest.mark.django_db


def test_the_document_is_openapi_3_1_and_says_who_may(client: Client):
    document = client.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["components"]["securitySchemes"]) == {"ByToken", "BySession"}
    for ways in document["paths"].values():
        for operation in ways.values():
            assert operation["security"]
            problem = operation["responses"]["404"]["content"]["application/problem+json"]["schema"]["$ref"]
            assert problem == "#/components/schemas/Problem"
            assert operation["description"]
            assert operation["summary"]


def test_every_reference_in_the_document_leads_somewhere():
    document = description.document()
    names = set(re.findall(r"#/components/schemas/([\w.]+)", str(document)))
    assert names <= set(document["components"]["schemas"])


def test_the_page_shows_every_operation_and_loads_nothing_from_elsewhere(client: Client):
    page = client.get("/api/")
    text = page.content.decode()
    for address, ways in description.document()["paths"].items():
        for method, operation in ways.items():
            assert f"{method.upper()} {address}" in text
            assert f'id="{operation["operationId"]}"' in text
    assert re.findall(r'(?:src|href)="(?:https?:)?//', text) == []
    assert re.findall(r"<script(?![^>]*src=)", text) == []


@dataclass(frozen=True)
class Filled:
    """A room with something in every list, and the token of its lead."""

    slug: str
    note: int
    rows: dict[str, int]
    token: str
    folder: Path


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """Make the room once for all operations; each test rolls back to it."""
    folder = tmp_path_factory.mktemp("made") / "evidence"
    with undone(django_db_blocker), override_settings(EVIDENCE_ROOT=folder, EXHIBIT_MIN_FREE_BYTES=0):
        room = make_room()
        make_artifact(room, b"one\ntwo\n", "truss-listener.txt")
        add_report(room, {**test_lead.report(), "observations": [test_lead.observation(rank) for rank in (1, 2)]})
        note = notes.add(room, "Slow here.", artifact=1)
        rows = {
            "request": requests.put(room, {"what": "A trace"}).pk,
            "decision": plan.put_decision(room, {"question": "Fail over?"}).pk,
            "action": plan.put_action(room, {"text": "Restart it"}).pk,
            "entry": plan.put_entry(room, {"kind": "step", "text": "Looked at it"}).pk,
            "follow_up": review.put_follow_up(room, {"text": "Watch it"}).pk,
        }
        token = access_tokens.create(room.user, "schemathesis", list(Scope), 1)
        yield Filled(room.incident.slug, note.pk, rows, token, folder)


@pytest.fixture
def filled(db: None, made: Filled, evidence: Path) -> Iterator[Filled]:
    """Return the room as it was made. The end of a request does not end the test's transaction."""
    shutil.copytree(made.folder, evidence, dirs_exist_ok=True)
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield made
    for signal in signals:
        signal.connect(close_old_connections)


#: Calls of one operation with what fits, and with what does not.
EXAMPLES = 10
NAMES = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"),
    *("response_headers_conformance", "negative_data_rejection", "unsupported_method"),
)
BOUNDED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.drawn(4)
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.name)
@pytest.mark.parametrize(
    "name", sorted(one["operationId"] for ways in description.document()["paths"].values() for one in ways.values())
)
def test_schemathesis_finds_nothing(name: str, mode: schemathesis.GenerationMode, filled: Filled):
    document = copy.deepcopy(description.document())
    for ways in document["paths"].values():
        for one in ways.values():
            del one["security"]  # each call shows a token that is right; test_matrix.py has the others
    schema = schemathesis.openapi.from_dict(document)
    schema.app = get_wsgi_application()
    operation = schema.find_operation_by_id(name)
    # A word that names no room would end every call at its first line.
    row = next((id for kind, id in filled.rows.items() if kind in name), filled.note)
    ids = {"slug": filled.slug, "number": 1, "id": row}
    path = {one.name: ids[one.name] for one in operation.path_parameters}
    given_all: dict[str, Any] = {"path_parameters": path}
    if name == "upload":
        given_all["body"] = b"a line"  # whatever bytes are sent, none of them are wrong
    checks: list[Any] = CHECKS.get_by_names(NAMES)

    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode, **given_all))
    def calls(case: schemathesis.Case) -> None:
        with transaction.atomic():
            case.call_and_validate(headers={"Authorization": f"Bearer {filled.token}"}, checks=checks)
            transaction.set_rollback(True)

    try:
        calls()
    except Unsatisfiable:
        assert mode is schemathesis.GenerationMode.NEGATIVE  # it takes nothing but the path, so nothing is wrong
        assert not operation.query
        assert not operation.body
