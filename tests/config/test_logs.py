from __future__ import annotations

import json
import logging
import logging.config
import re

import pytest
import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_resolver

from config import logs


@pytest.fixture
def lines(capsys):
    """Log with the given form and level, and return what reached stderr; the suite's own set-up comes back."""

    def write(form, level, deed):
        logging.config.dictConfig(logs.logging(form, level))
        deed()
        return capsys.readouterr().err

    yield write
    logs.logging("console", "INFO")
    logging.config.dictConfig(settings.LOGGING)


def test_a_machine_reads_one_object_a_line_from_both_kinds_of_loggers(lines):
    def deed():
        structlog.get_logger("ours").info("artifact.read", lines=12)
        logging.getLogger("theirs").warning("slow %s", "query")

    first, second = (json.loads(line) for line in lines("json", "INFO", deed).splitlines())
    assert (first["event"], first["lines"], first["level"], first["logger"]) == ("artifact.read", 12, "info", "ours")
    assert (second["event"], second["level"], second["logger"]) == ("slow query", "warning", "theirs")


def test_a_file_name_can_neither_drive_a_terminal_nor_forge_a_line(lines):
    name = "a\x1b[2J\n2026-01-01 [info] all is well\u202etxt"
    text = lines("console", "INFO", lambda: logging.getLogger("x").error("Not Found: %s", name))
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert r"a\x1b[2J\n2026" in text


def test_addresses_that_open_something_are_not_told(lines):
    text = lines("json", "INFO", lambda: logging.getLogger("x").warning("Forbidden: /join/s3cret/ and /first/other/"))
    assert json.loads(text)["event"] == "Forbidden: /join/***/ and /first/***/"


def addresses(resolver, front=""):
    """Yield every address of the application as its pattern."""
    for one in resolver.url_patterns:
        whole = front + str(one.pattern)
        if hasattr(one, "url_patterns"):
            yield from addresses(one, whole)
        else:
            yield whole


SECRET_PARAMETER = re.compile(r"<(?:str:)?(?:token|secret)>|\(\?P<(?:key|token)>")


def test_every_address_with_a_secret_is_masked(lines):
    found = [a for a in addresses(get_resolver()) if SECRET_PARAMETER.search(a)]
    assert len(found) >= len(logs.SECRET_PATHS)
    for pattern in found:
        front = re.split(r"\(\?P<|<", pattern.replace("^", ""))[0]
        text = lines(
            "json", "INFO", lambda path=front: logging.getLogger("x").warning("Not Found: /%ss3cret-key/more/", path)
        )
        assert json.loads(text)["event"] == f"Not Found: /{front}***/more/"


def test_a_traceback_keeps_its_lines_but_not_its_escapes(lines):
    def deed():
        try:
            raise ValueError("bad \x1b[31m name")
        except ValueError:
            logging.getLogger("x").exception("failed")

    text = lines("console", "INFO", deed)
    assert len(text.splitlines()) > 3
    assert r"ValueError: bad \x1b[31m name" in text


def test_the_level_holds_and_nothing_is_said_twice(lines):
    def deed():
        logging.getLogger("uvicorn.error").info("unheard")
        logging.getLogger("django.request").warning("heard")

    assert [line.split("]")[1].split()[0] for line in lines("console", "WARNING", deed).splitlines()] == ["heard"]


@pytest.mark.parametrize(("form", "level"), [("xml", "INFO"), ("json", "LOUD")])
def test_nonsense_stops_the_start(form, level):
    with pytest.raises(ImproperlyConfigured):
        logs.logging(form, level)
