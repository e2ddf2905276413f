"""Logging: our lines go through structlog, those of libraries through the same processors."""

from __future__ import annotations

import re
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured

# Control characters, and those that change the reading direction: a file name or URL in a line could otherwise control
# the terminal of a person who reads the log, or fake a separate line.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str, keep: str = "") -> str:
    r"""Write invisible characters as escapes, except those in `keep`.

    >>> visible("a\x1b[2Jb\nc")
    'a\\x1b[2Jb\\nc'
    """
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)


# What follows these paths is as good as a password. Django logs the URL of each HTTP request that it refuses.
SECRET_PATHS = ("first", "join", "give", "shared", "accounts/password/reset/key", "accounts/confirm-email")
_SECRET_ADDRESS = re.compile(rf"(/(?:{'|'.join(SECRET_PATHS)})/)[^/\s\"']+")


def _visible_event(_logger: Any, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    event.pop("color_message", None)  # the event of uvicorn again, with colour escapes
    return event | {"event": visible(str(event.get("event", "")))}


def _visible_line(_logger: Any, _method: str, line: str) -> str:
    return _SECRET_ADDRESS.sub(r"\1***", visible(line, keep="\n\t"))


def logging(form: str, level: str) -> dict[str, Any]:
    """Return Django's LOGGING and configure structlog to match. `form` is console or json."""
    if form not in {"console", "json"}:
        raise ImproperlyConfigured(f"EXHIBIT_LOG_FORMAT={form!r}: console or json")
    if level not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        raise ImproperlyConfigured(f"EXHIBIT_LOG_LEVEL={level!r}: DEBUG, INFO, WARNING or ERROR")
    steps: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    renderers: list[Any] = (
        [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()]
        if form == "json"
        else [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)]
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *steps,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    # These libraries bring their own handlers: removed, so that nothing is logged twice.
    through_root = {"handlers": [], "level": "NOTSET", "propagate": True}
    # Needed in spite of --no-access-log: as a child of "uvicorn" it would log again once that is configured here.
    silent = {"handlers": [], "level": "CRITICAL", "propagate": False}
    only_warnings = through_root | {"level": "WARNING"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": "structlog.stdlib.ProcessorFormatter",
                "foreign_pre_chain": [*steps, structlog.stdlib.ExtraAdder()],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    _visible_event,
                    *renderers,
                    _visible_line,
                ],
            },
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": dict.fromkeys(("django", "uvicorn", "uvicorn.error", "celery"), through_root)
        | {"uvicorn.access": silent}
        | dict.fromkeys(("django.server", "celery.beat", "celery.worker.strategy"), only_warnings),
    }
