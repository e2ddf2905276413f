"""What operations.md says about settings, and what the settings do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READ = re.compile(r'env_(?:str|bool|choice|int|list|path|secret)\(\s*"([A-Z0-9_]+)"')
DEPLOYED = {
    "EXHIBIT_URL": "https://exhibit.team.example",
    "SECRET_KEY": "a-long-and-random-text-for-this-test-only-0123456789-abcdef",
    "EXHIBIT_BEHIND_PROXY": "yes",
}


def run(code_or_arguments: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("EXHIBIT_", "SECRET_KEY"))}
    environment = {
        **known,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "EXHIBIT_VAR": os.environ["EXHIBIT_VAR"],
        **variables,
    }
    return subprocess.run(
        [sys.executable, *code_or_arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )


def test_every_setting_has_a_row_in_operations_and_every_row_a_setting():
    text = (ROOT / "config" / "settings.py").read_text()
    read = set(READ.findall(text)) - {"EXHIBIT_PROCESS"}  # one process says it to itself
    rows = re.findall(r"^\| `([A-Z0-9_]+)` \|", (ROOT / "docs" / "operations.md").read_text(), flags=re.M)
    assert len(read) > 20
    assert len(rows) == len(set(rows)), "a row twice"
    assert set(rows) == read


def test_the_environment_is_read_in_config_alone():
    """Handing a bare environment on to a child, name by name, is not reading a setting."""
    readers = [
        str(file.relative_to(ROOT))
        for package in ("incidents", "parsers", "rules")
        for file in (ROOT / package).rglob("*.py")
        if re.search(r"""os\.getenv|environ\.get|environ\[["']""", file.read_text())
    ]
    assert readers == []


def test_a_deployed_server_passes_djangos_deployment_checks():
    done = run(["manage.py", "check", "--deploy", "--fail-level", "WARNING"], **DEPLOYED)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout + done.stderr


def shown(expression: str, **variables: str) -> str:
    done = run(["-c", f"from config import settings as s; print({expression})"], **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_https_follows_from_the_address():
    cookies = "s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS > 0, s.ALLOWED_HOSTS[0]"
    assert shown(cookies, **DEPLOYED) == "True True True True exhibit.team.example"
    assert shown(cookies, EXHIBIT_URL="http://127.0.0.1:8000") == "False False False False 127.0.0.1"


@pytest.mark.parametrize(
    "variables",
    [
        {"EXHIBIT_URL": "exhibit.team.example"},
        {"EXHIBIT_OIDC_URL": "https://login.team.example"},
        {"EXHIBIT_OIDC_CLIENT_ID": "a", "EXHIBIT_OIDC_SECRET": "b"},
        {"EXHIBIT_MAX_UPLOAD_BYTES": "20G"},
        {"EXHIBIT_LOG_FORMAT": "xml"},
        {"DATABASE_URL": "sqlite:///x"},
    ],
)
def test_nonsense_stops_the_start_and_names_the_variable(variables):
    done = run(["-c", "from config import settings"], **variables)
    assert done.returncode == 1
    assert "ImproperlyConfigured" in done.stderr
    assert any(name in done.stderr.splitlines()[-1] for name in variables)


def test_the_identity_provider_is_reachable_by_form_and_everything_else_is_closed():
    oidc = {
        "EXHIBIT_OIDC_URL": "https://login.team.example/realm",
        "EXHIBIT_OIDC_CLIENT_ID": "a",
        "EXHIBIT_OIDC_SECRET": "b",
    }
    forms = 's.CONTENT_SECURITY_POLICY["DIRECTIVES"]["form-action"]'
    assert shown(forms, **oidc) == """["'self'", 'https://login.team.example']"""
    assert shown(forms) == """["'self'"]"""
    assert shown('s.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]') == "[]"
    assert "login.team.example/realm" in shown('s.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]', **oidc)


def test_only_the_web_process_keeps_a_pool():
    pool = 's.DATABASES["default"]["OPTIONS"].get("pool", {}).get("max_size")'
    assert shown(pool) == "None"
    assert shown(pool, EXHIBIT_PROCESS="web") == "10"
    assert shown(pool, EXHIBIT_PROCESS="web", EXHIBIT_DB_POOL="0") == "None"


def test_celery_finds_a_socket_by_its_own_kind_of_address():
    assert shown("s.CELERY_BROKER_URL", REDIS_URL="unix:///run/b.sock") == "redis+socket:///run/b.sock"
    assert (
        shown("s.CELERY_BROKER_URL, s.REDIS_URL", REDIS_URL="redis://:p@h:6379/0")
        == "redis://:p@h:6379/0 redis://:p@h:6379/0"
    )
