"""Convert plain JSON or YAML values to frozen dataclasses and back, strictly.

An unknown key or a wrong type is an error that names its place.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")
Fail = Callable[[str, str], Exception]


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def json_name(field: dataclasses.Field[Any]) -> str:
    """Return the key of a field in JSON: its name unless `metadata["json"]` sets another (`from` is not a valid Python
    name).
    """
    return str(field.metadata.get("json", field.name))


def line_of(value: object, key: str) -> str:
    """Return `line 7: ` if the mapping came from YAML and knows its lines, else an empty text."""
    line = getattr(value, "lines", {}).get(key)
    return f"line {line}: " if line else ""


def decode(cls: type[T], value: object, fail: Fail, where: str = "") -> T:
    """Build a `cls` from a mapping; raise `fail(where, why)` for an unknown or missing key or a value of another type."""
    if not isinstance(value, Mapping):
        raise fail(where, f"must be a mapping, not {type(value).__name__}")
    fields = {json_name(f): f for f in dataclasses.fields(typing.cast(Any, cls)) if f.init}
    made: dict[str, Any] = {}
    for key, part in value.items():
        at = f"{where}.{key}" if where else str(key)
        if key not in fields:
            near = difflib.get_close_matches(str(key), fields, 1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise fail(line_of(value, str(key)) + at, f"unknown key{meant}; known are {', '.join(sorted(fields))}")
        name = fields[key].name
        made[name] = _value(_hints(typing.cast(Any, cls))[name], part, fail, at, line_of(value, str(key)))
    for key, field in fields.items():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and field.name not in made:
            raise fail(f"{where}.{key}" if where else key, "is required")
    return cls(**made)


def _value(kind: Any, value: object, fail: Fail, where: str, line: str) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in args:
            return None
        return _one_of([a for a in args if a is not type(None)], value, fail, where, line)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise fail(line + where, f"must be a list, not {_named(value)}")
        if len(args) == 2 and args[1] is Ellipsis:
            return tuple(_value(args[0], v, fail, f"{where}[{i}]", line) for i, v in enumerate(value))
        if len(value) != len(args):
            raise fail(line + where, f"must have {len(args)} elements, not {len(value)}")
        return tuple(
            _value(a, v, fail, f"{where}[{i}]", line) for i, (a, v) in enumerate(zip(args, value, strict=True))
        )
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise fail(line + where, f"must be a mapping, not {_named(value)}")
        return {
            str(k): _value(args[1], v, fail, f"{where}.{k}", line_of(value, str(k)) or line) for k, v in value.items()
        }
    if origin is typing.Literal:
        if value not in args:
            raise fail(line + where, f"must be one of {', '.join(map(str, args))}, not {value!r}")
        return value
    if dataclasses.is_dataclass(kind):
        return decode(
            typing.cast(type, kind),
            value,
            lambda at, why: fail(at if at.startswith("line ") else line + at, why),
            where,
        )
    if kind is Any or kind is object:
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise fail(line + where, f"must be {_NAMES.get(kind, kind.__name__)}, not {_named(value)}")
    return value


_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _named(value: object) -> str:
    return "empty" if value is None else f"{type(value).__name__} {value!r}"[:80]


def _one_of(kinds: list[Any], value: object, fail: Fail, where: str, line: str) -> Any:
    """Decode as the first kind whose plain type fits; if none fits, decode as the last kind, whose error is raised."""
    for kind in kinds[:-1]:
        plain = typing.get_origin(kind) or kind
        if isinstance(plain, type) and isinstance(value, plain) and not (isinstance(value, bool) and plain is not bool):
            return _value(kind, value, fail, where, line)
    return _value(kinds[-1], value, fail, where, line)


def encode(value: Any) -> Any:
    """Return the plain JSON value of a dataclass, tuple or mapping; the inverse of `decode`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            json_name(f): encode(getattr(value, f.name))
            for f in dataclasses.fields(value)
            if not f.metadata.get("private")
        }
    if isinstance(value, Mapping):
        return {k: encode(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(v) for v in value]
    return value
