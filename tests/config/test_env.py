from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from django.core.exceptions import ImproperlyConfigured
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from config import env, settings


def test_an_unset_or_empty_variable_gives_the_default(monkeypatch):
    monkeypatch.delenv("EXHIBIT_X", raising=False)
    assert env.env_str("EXHIBIT_X", "d") == "d"
    monkeypatch.setenv("EXHIBIT_X", "  ")
    assert (env.env_str("EXHIBIT_X", "d"), env.env_int("EXHIBIT_X", 7), env.env_bool("EXHIBIT_X", True)) == (
        "d",
        7,
        True,
    )
    assert env.env_list("EXHIBIT_X", ("a",)) == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"), [("1", True), ("Yes", True), ("on", True), ("0", False), ("FALSE", False)]
)
def test_yes_and_no(monkeypatch, text, expected):
    monkeypatch.setenv("EXHIBIT_X", text)
    assert env.env_bool("EXHIBIT_X", not expected) is expected


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda: env.env_bool("EXHIBIT_X", True), "maybe"),
        (lambda: env.env_int("EXHIBIT_X", 1), "1.5"),
        (lambda: env.env_int("EXHIBIT_X", 1), "-1"),
        (lambda: env.env_int("EXHIBIT_X", 1, minimum=10), "9"),
        (lambda: env.env_choice("EXHIBIT_X", "some", "all"), "All"),
    ],
)
def test_nonsense_stops_the_start(monkeypatch, read, text):
    monkeypatch.setenv("EXHIBIT_X", text)
    with pytest.raises(ImproperlyConfigured, match="EXHIBIT_X"):
        read()


def test_a_list_and_a_path(monkeypatch):
    monkeypatch.setenv("EXHIBIT_X", "a, b,,c ")
    assert env.env_list("EXHIBIT_X") == ["a", "b", "c"]
    monkeypatch.setenv("EXHIBIT_X", "~/x")
    assert env.env_path("EXHIBIT_X", Path("y")) == Path.home() / "x"
    monkeypatch.delenv("EXHIBIT_X")
    assert env.env_path("EXHIBIT_X", Path("y")) == Path.cwd() / "y"


def test_a_secret_comes_from_value_or_file_but_not_both(monkeypatch, tmp_path):
    file = tmp_path / "secret"
    file.write_text("from a file\n")
    monkeypatch.setenv("EXHIBIT_X_FILE", str(file))
    assert env.env_secret("EXHIBIT_X") == "from a file"
    monkeypatch.setenv("EXHIBIT_X", "a value")
    with pytest.raises(ImproperlyConfigured, match="both set"):
        env.env_secret("EXHIBIT_X")
    monkeypatch.delenv("EXHIBIT_X_FILE")
    assert env.env_secret("EXHIBIT_X") == "a value"


def test_an_empty_or_missing_secret_file_stops_the_start(monkeypatch, tmp_path):
    monkeypatch.setenv("EXHIBIT_X_FILE", str(tmp_path / "none"))
    with pytest.raises(ImproperlyConfigured, match="No such file"):
        env.env_secret("EXHIBIT_X")
    (tmp_path / "none").write_text("\n")
    with pytest.raises(ImproperlyConfigured, match="empty"):
        env.env_secret("EXHIBIT_X")


def test_the_secret_key_is_made_once_and_is_ours_alone(tmp_path):
    file = tmp_path / "var" / "secret-key"
    key = settings.secret_key(file)
    assert len(key) > 60
    assert settings.secret_key(file) == key == file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in file.parent.iterdir()] == ["secret-key"]


def test_a_database_address_is_taken_apart():
    known = settings.database("postgresql://me%40here:p%2Fw@db.example:6432/name?sslmode=verify-full")
    assert known == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "name",
        "USER": "me@here",
        "PASSWORD": "p/w",
        "HOST": "db.example",
        "PORT": "6432",
        "OPTIONS": {"sslmode": "verify-full"},
        "CONN_HEALTH_CHECKS": True,
    }
    assert settings.database("postgresql://exhibit@/exhibit?host=/some/run")["HOST"] == "/some/run"


@pytest.mark.parametrize("url", ["mysql://a/b", "postgresql://host", "nonsense"])
def test_a_database_address_of_another_kind_is_refused(url):
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        settings.database(url)


def test_no_caller_can_claim_any_address():
    with pytest.raises(ImproperlyConfigured, match="FORWARDED_ALLOW_IPS"):
        settings.refuse_any_proxy(["*"])
    settings.refuse_any_proxy(["172.16.0.0/12", "::1"])


@pytest.mark.parametrize(
    ("peer", "told", "expected"),
    [
        ("172.18.0.5", "203.0.113.9", "203.0.113.9"),
        ("172.18.0.5", "192.0.2.66, 203.0.113.9", "203.0.113.9"),  # the left one was written by the caller
        ("172.18.0.5", "192.0.2.66, 203.0.113.9, 172.18.0.4", "203.0.113.9"),
        ("203.0.113.9", "192.0.2.66", "203.0.113.9"),  # not by way of a proxy
    ],
)
def test_the_server_believes_named_proxies_from_the_right(peer, told, expected):
    """What docs/operations.md recommends, with the middleware that uvicorn puts around the application."""
    seen = []

    async def application(scope, receive, send):
        seen.append(scope["client"][0])

    async def unused(*_):
        raise AssertionError

    scope = {"type": "http", "client": (peer, 1), "headers": [(b"x-forwarded-for", told.encode())]}
    asyncio.run(ProxyHeadersMiddleware(application, "172.16.0.0/12")(cast("Any", scope), unused, unused))
    assert seen == [expected]
