"""Parse YAML into safe plain values: no tags, no duplicate keys, limited size and aliases. Mappings know the line of
each key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent
from yaml.nodes import MappingNode, Node

MAX_ALIASES = 100

MAX_DEPTH = 64
"""Maximum number of lists and mappings inside each other. Each costs the parser a piece of its stack: 50 KB of brackets ended
the process."""

_OPENS = re.compile(r"[\[{]|[-?] ")

Fail = Callable[[str, str], Exception]


class Lined(dict[str, Any]):
    """A mapping that remembers the line of each key, for messages."""

    lines: dict[str, int]


_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is ten times faster where it is available


class _Loader(_Base):  # type: ignore[misc]  # which of the two base classes it is, is known only at run time
    """A stricter safe loader: dates stay text, `on` and `off` stay text, keys are unique texts."""


def _mapping(loader: _Loader, node: MappingNode) -> Lined:
    loader.flatten_mapping(node)
    made, lines = Lined(), {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        line = key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise ConstructorError(None, None, f"a key must be text, not {key!r}", key_node.start_mark)
        if key in made:
            raise ConstructorError(None, None, f"the key {key!r} stands twice", key_node.start_mark)
        made[key] = loader.construct_object(value_node, deep=True)
        lines[key] = line
    made.lines = lines
    return made


def _refuse(loader: _Loader, node: Node) -> None:
    raise ConstructorError(None, None, f"the tag {node.tag!r} is not allowed", node.start_mark)


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in pairs if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")
    ]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
for _tag in ("binary", "timestamp", "omap", "pairs", "set"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _refuse)


def load_yaml(text: str, fail: Fail, *, limit: int) -> Any:
    """Return plain values; mappings are `Lined`. Raises `fail(where, why)` above `limit` bytes, 100 aliases or `MAX_DEPTH`,
    or for any fault.
    """
    if len(text.encode()) > limit:
        raise fail("", f"is larger than {limit // 1024} KiB")
    try:
        # Each alias is a star in the text, so most files need no second parse to count aliases.
        if (
            text.count("*") > MAX_ALIASES
            and sum(isinstance(e, AliasEvent) for e in yaml.parse(text, _Loader)) > MAX_ALIASES
        ):
            raise fail("", f"has more than {MAX_ALIASES} aliases")
        if _may_be_deep(text) and _is_deep(text):
            raise fail("", f"has more than {MAX_DEPTH} lists and mappings inside each other")
        return yaml.load(text, _Loader)  # a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise fail(f"line {line}", error.problem or "is no YAML") from None
    except yaml.YAMLError as error:
        raise fail("", str(error)) from None


def _may_be_deep(text: str) -> bool:
    """Return whether the signs that open a list or mapping, and the indents, are enough for a text to be too deep."""
    brackets = text.count("[") + text.count("{")
    lines = text.splitlines()
    return brackets + max((len(ln) - len(ln.lstrip()) + len(_OPENS.findall(ln)) for ln in lines), default=0) > MAX_DEPTH


def _is_deep(text: str) -> bool:
    """Return whether a text is too deep; it is parsed up to there, into events, which need no stack."""
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
    return False
