from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from tests.plugins import embedded_pg


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], True),
        (["tests/parsers"], False),
        (["tests/parsers", "tests/rules/test_cli.py::test_one"], False),
        (["tests/parsers", "tests/house"], True),
        (["tests"], True),
        (["tests/parsers/../incidents"], True),
        (["tests/parsers_of_others"], True),
    ],
)
def test_it_starts_no_database_for_the_libraries_alone(arguments, expected):
    assert embedded_pg.needs_database(arguments, Path("/somewhere")) is expected


@pytest.mark.django_db
def test_the_suite_runs_on_postgresql_and_writes_into_a_folder_of_its_own():
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        assert int(cursor.fetchone()[0]) >= 150000
    assert Path(os.environ["EXHIBIT_VAR"]) == settings.EXHIBIT_VAR
    assert settings.EXHIBIT_VAR.is_relative_to("/tmp")
    assert "pool" not in settings.DATABASES["default"]["OPTIONS"]
