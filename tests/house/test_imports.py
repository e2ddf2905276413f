"""A static graph of imports cannot see what is imported while running, so this looks into fresh interpreters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEB = {"django", "celery", "kombu", "redis", "psycopg", "plotly", "allauth", "uvicorn", "config"}
LANES = sorted(file.stem for file in (ROOT / "incidents" / "drawing" / "lanes").glob("*.py") if file.stem != "__init__")


def loaded_by(statement: str) -> set[str]:
    """Return the top-level packages that are loaded after `statement`, and our own modules in full."""
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    modules = json.loads(done.stdout.splitlines()[-1])
    return {name for name in modules if name.startswith("incidents")} | {name.split(".")[0] for name in modules}


WALK = """
import importlib, pkgutil, {0}
for module in pkgutil.walk_packages({0}.__path__, "{0}."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


@pytest.mark.parametrize("package", ["parsers", "rules"])
def test_a_library_with_all_its_modules_loads_no_web_package(package):
    loaded = loaded_by(WALK.format(package))
    assert package in loaded
    assert loaded & WEB == set()
    assert not any(name.startswith("incidents") for name in loaded)


@pytest.mark.parametrize("lane", LANES)
def test_a_lane_loads_no_web_package_and_no_model(lane):
    loaded = loaded_by(f"import incidents.drawing.lanes.{lane}")
    assert f"incidents.drawing.lanes.{lane}" in loaded
    assert loaded & WEB == set()
    assert {
        name
        for name in loaded
        if name.startswith("incidents.")
        and name not in ("incidents.drawing", "incidents.drawing.lane", "incidents.drawing.lanes")
        and not name.startswith("incidents.drawing.lanes.")
    } == set()


def test_the_web_process_talks_to_the_broker_of_the_settings():
    """config/__init__.py is empty, so somebody must import the Celery application: config/apps.py does."""
    code = "import django; django.setup(); from celery import current_app; print(current_app.main, current_app.conf.broker_url)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    from django.conf import settings

    assert done.stdout.split() == ["exhibit", settings.CELERY_BROKER_URL]
    assert settings.CELERY_BROKER_URL.startswith(("redis+socket://", "redis://", "rediss://"))


def test_every_package_file_is_empty():
    found = [
        path for name in ("config", "incidents", "parsers", "rules") for path in (ROOT / name).rglob("__init__.py")
    ]
    assert len(found) > 8
    assert [str(path) for path in found if path.read_text().strip()] == []
