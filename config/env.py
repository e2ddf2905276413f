"""Read settings from the environment.

An invalid value stops the start: it never falls back to the default.
"""

from __future__ import annotations

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


def env_str(name: str, default: str = "") -> str:
    """Return the value without blanks at its ends.

    An empty variable counts as not set, since compose files set empty ones.
    """
    return os.environ.get(name, "").strip() or default


def env_bool(name: str, default: bool) -> bool:
    value = env_str(name).lower()
    if not value:
        return default
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name}={value!r}: say yes or no (1, true, on; 0, false, off)")
    return value in TRUE


def env_choice(name: str, *choices: str) -> str:
    """Return the value, one of the choices, or an empty text if it is not set."""
    value = env_str(name)
    if value and value not in choices:
        raise ImproperlyConfigured(f"{name}={value!r}: say {' or '.join(choices)}, or leave it out")
    return value


def env_int(name: str, default: int, minimum: int = 0) -> int:
    value = env_str(name)
    if not value:
        return default
    try:
        number = int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r}: a whole number is needed") from None
    if number < minimum:
        raise ImproperlyConfigured(f"{name}={value!r}: at least {minimum} is needed")
    return number


def env_list(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """Return the value split at commas."""
    return [part.strip() for part in env_str(name).split(",") if part.strip()] or list(default)


def env_path(name: str, default: Path) -> Path:
    """Return the value as an absolute path, so that it does not depend on the working directory of a process."""
    return Path(env_str(name) or default).expanduser().absolute()


def env_secret(name: str, default: str = "") -> str:
    """Return the value of NAME, or the content of the file that NAME_FILE names (container secrets).

    Both at once is an error.
    """
    value, path = env_str(name), env_str(f"{name}_FILE")
    if value and path:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set: keep one")
    if not path:
        return value or default
    try:
        value = Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{name}_FILE={path}: {error.strerror}") from None
    if not value:
        raise ImproperlyConfigured(f"{name}_FILE={path}: the file is empty")
    return value
