"""The board page: what a room's report says side by side, and what people put on it."""

from __future__ import annotations

import pytest

from tests.incidents.views import reports
from tests.incidents.views.conftest import Judged, client_of


def test_opens(judged: Judged) -> None:
    answer = client_of(judged.lead).get(f"/rooms/{judged.slug}/board/")
    assert answer.status_code == 200
    assert "Board" in answer.content.decode()
