"""What a room found, as files for other tools: findings and observations as CSV, and both as SARIF 2.1.0.

A result of SARIF is a finding at its cited lines. Its level follows from the severity; what clears a suspect passes, and
an observation is informational, both without a level, as the standard wants it. The key of a finding is its fingerprint:
whoever compares two files sees which findings are new.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from incidents.content.report import layer_name
from incidents.content.visible import visible
from incidents.drawing.exports.flat import guarded

Json = Mapping[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"critical": "error", "major": "error", "minor": "warning", "info": "note"}
#: What stands before the name of an observer where SARIF wants the id of a rule.
OBSERVER = "observer/"


def _cited(row: Json) -> str:
    """Write citations as `file:first-last`, one after the other."""
    return "; ".join(
        f"{cited.get('file')}:{cited.get('line_from')}-{cited.get('line_to')}" for cited in row.get("citations") or []
    )


def _of(*path: str) -> Callable[[Json], Any]:
    def value(row: Json) -> Any:
        found: Any = row
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    return value


_FINDING = (
    *("key", "rule", "version", "kind", "group", "layer", "host", "subject", "severity", "tier", "support", "decibans"),
    *("headline", "magnitude", "unit", "t_from", "t_to", "clock", "by_statement"),
)
_OBSERVATION = (
    *(
        "key",
        "rank",
        "observer",
        "kind",
        "headline",
        "means",
        "subject",
        "host",
        "layer",
        "mechanism",
        "clock",
        "t_from",
    ),
    *("t_to", "seconds", "share", "n", "normal", "idle"),
)
Columns = dict[str, Callable[[Json], Any]]
FINDINGS: Columns = {name: _of(name) for name in _FINDING} | {"cited": _cited}
OBSERVATIONS: Columns = {
    **{name: _of(name) for name in _OBSERVATION},
    "quantity": _of("quantity", "name"),
    "value": _of("quantity", "value"),
    "unit": _of("quantity", "unit"),
    "against": _of("against", "what"),
    "against_value": _of("against", "value"),
    "cited": _cited,
}


def findings_csv(report: Json) -> str:
    return _csv(FINDINGS, report.get("findings") or [])


def observations_csv(report: Json) -> str:
    return _csv(OBSERVATIONS, report.get("observations") or [])


def _csv(columns: Columns, rows: Iterable[Json]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([guarded(_cell(value(row))) for value in columns.values()])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return visible(value) if isinstance(value, str) else value


def sarif(report: Json, title: str, address: str | None, version: str) -> dict[str, Any]:
    """Return the report's findings and observations as a SARIF log with one run; `address` is that of the room."""
    findings, observations = report.get("findings") or [], report.get("observations") or []
    files = _Files(report.get("artifacts") or [])
    rules = _Rules()
    results = [_finding(row, rules, files) for row in findings]
    results += [_observation(row, rules, files) for row in observations]
    driver: dict[str, Any] = {"name": "Exhibit", "rules": rules.told, "version": version}
    if address:
        driver["informationUri"] = address
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"description": {"text": visible(title)}, "id": "exhibit/"},
        "columnKind": "unicodeCodePoints",
        "artifacts": files.told(),
        "results": results,
        "properties": {"verdict": report.get("verdict") or {}},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


class _Rules:
    """The rules that results name, each once."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self._places: dict[str, int] = {}

    def place(self, id: str, title: str) -> int:
        if id not in self._places:
            self._places[id] = len(self.told)
            self.told.append({"id": id, "name": _camel(title), "shortDescription": {"text": _sentence(title)}})
        return self._places[id]


class _Files:
    """The evidence as artifacts of SARIF: names are addresses relative to the room's files."""

    def __init__(self, artifacts: Iterable[Json]) -> None:
        self._hashes: dict[str, str | None] = {}
        self._places: dict[str, int] = {}
        for artifact in artifacts:
            self.place(str(artifact.get("file") or f"artifact-{artifact.get('id')}"), None)

    def place(self, name: str, sha256: str | None) -> int:
        self._places.setdefault(name, len(self._places))
        self._hashes[name] = sha256 or self._hashes.get(name)
        return self._places[name]

    def told(self) -> list[dict[str, Any]]:
        return [
            {"location": {"uri": quote(name)}, **({"hashes": {"sha-256": sha256}} if sha256 else {})}
            for name in self._places
            for sha256 in [self._hashes[name]]
        ]


def _finding(row: Json, rules: _Rules, files: _Files) -> dict[str, Any]:
    clears = row.get("kind") == "clear"
    rule = str(row.get("rule"))
    told = _result(row, rules.place(rule, str(row.get("title") or rule)), rule, files)
    told["kind"] = "pass" if clears else "fail"
    told["level"] = "none" if clears else LEVELS.get(str(row.get("severity")), "warning")
    names = ("group", "tier", "support", "decibans", "severity", "magnitude", "unit", "clock", "t_from", "t_to")
    told["properties"] |= {name: row[name] for name in names if row.get(name) is not None}
    return told


def _observation(row: Json, rules: _Rules, files: _Files) -> dict[str, Any]:
    observer = str(row.get("observer"))
    told = _result(row, rules.place(OBSERVER + observer, observer.replace("-", " ")), OBSERVER + observer, files)
    told |= {"kind": "informational", "level": "none"}
    names = ("rank", "means", "mechanism", "quantity", "against", "seconds", "share", "n", "normal", "idle", "clock")
    told["properties"] |= {name: row[name] for name in names if row.get(name) is not None}
    return told


def _result(row: Json, place: int, rule: str, files: _Files) -> dict[str, Any]:
    about = {name: row[name] for name in ("host", "subject") if row.get(name)}
    layer = row.get("layer")
    if layer:
        about["layer"] = layer_name(str(layer))
    told: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": place,
        "message": {"text": _sentence(visible(str(row.get("headline") or rule)))},
        "locations": [_location(cited, files) for cited in row.get("citations") or []],
        "properties": about,
    }
    if row.get("key"):
        told["partialFingerprints"] = {"exhibitKey/v1": row["key"]}
    return told


def _location(cited: Json, files: _Files) -> dict[str, Any]:
    name = str(cited.get("file") or f"artifact-{cited.get('artifact')}")
    region: dict[str, Any] = {"startLine": cited.get("line_from"), "endLine": cited.get("line_to")}
    if cited.get("text"):
        region["snippet"] = {"text": cited["text"]}
    place = {"uri": quote(name), "index": files.place(name, cited.get("sha256"))}
    told: dict[str, Any] = {"physicalLocation": {"artifactLocation": place, "region": region}}
    if cited.get("role"):
        told["message"] = {"text": _sentence(str(cited["role"]))}
    return told


def _camel(title: str) -> str:
    """Convert a title to the form that the standard requires for names of rules.

    >>> _camel("New server processes wait for memory (DISM)")
    'NewServerProcessesWaitForMemoryDISM'
    """
    return "".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", title))


def _sentence(text: str) -> str:
    """End a text as a sentence, as the standard requires for messages.

    >>> _sentence("stall"), _sentence("Why?")
    ('stall.', 'Why?')
    """
    return text if text.endswith((".", "!", "?")) else f"{text}."
