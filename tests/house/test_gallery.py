"""Every page stands among the pictures, and nothing is named that is no address any more."""

from __future__ import annotations

import re
import subprocess
import sys

from django.urls import get_resolver

from tests.gallery import LEFT_OUT, SHOTS
from tests.incidents.pages.test_permission_matrix import LEFT_OUT as OTHERS
from tests.incidents.pages.test_permission_matrix import MATRIX, addresses
from tests.served import ROOT

PICTURED = {shot.name for shot in SHOTS}


def test_every_address_is_pictured_or_named_as_left_out():
    ours = {name for route, name in addresses(get_resolver()) if not any(route.startswith(prefix) for prefix in OTHERS)}
    assert ours - PICTURED - set(LEFT_OUT) == set(), "a page without a picture"
    assert set(LEFT_OUT) - ours == set(), "left out, but no address"
    assert PICTURED - ours == {"account_login", "mfa_index", "mfa_list_webauthn"}
    assert PICTURED & set(LEFT_OUT) == set()


def test_what_is_left_out_as_a_button_shows_no_page_of_its_own():
    """Where the matrix has a page to get, being a button is no reason."""
    buttons = {name for name, why in LEFT_OUT.items() if why.startswith("a button")}
    assert [name for name in buttons if any(row.method == "get" and 200 in row.ok for row in MATRIX[name])] == []


def test_rooms_are_pictured_full_empty_closed_and_in_error():
    states: dict[str, set[str]] = {}
    for shot in SHOTS:
        states.setdefault(shot.name, set()).add(shot.state)
    assert states["room"] >= {"full", "empty", "closed", "viewer", "unknown", "rule-failed", "wall"}
    lists = {"evidence", "notes", "board", "plan", "requests", "members", "activity", "webhooks", "summary-versions"}
    assert [name for name in lists if not states[name] >= {"full", "empty"}] == []
    forms = {shot.name for shot in SHOTS if shot.typed}
    assert {"room-new", "status", "case", "decision-new", "action-done", "clocks", "ask", "give"} <= forms


def test_pictures_have_names_of_their_own():
    labels = [shot.label for shot in SHOTS]
    assert len(labels) == len(set(labels))
    assert all(re.fullmatch(r"[\w-]+", label) for label in labels)


def test_the_script_says_how_it_is_used():
    told = subprocess.run([sys.executable, "scripts/screenshots", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert "--room" in told.stdout
