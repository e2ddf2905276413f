"""Write a room's report and tables with names replaced, for people who must not learn whose room it is.

The tables are rewritten in the child that writes them (incidents/drawing/tables_child.py), the report here, with one
key that is thrown away. The list of replaced names stays in the room, for its leads.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from incidents.drawing.tables_child import NAMES, REDACT
from incidents.models.evidence.artifact import CorrectedField, Correction
from incidents.models.evidence.reading import Part
from incidents.models.judging.site_name import SiteName
from incidents.models.people.stand_ins import STAND_IN
from incidents.models.room.incident import Incident
from incidents.storage import store
from parsers.secrets.pseudonyms import Pseudonyms

Replaced = dict[str, tuple[str, str]]
#: Words of authors that name nobody.
_ROLES = frozenset(("dba", "exhibit", "the program"))


def write(
    incident: Incident, report: dict[str, Any] | None, also: list[str], folder: Path, tables: Callable[[], None]
) -> Replaced:
    """Write the redacted export into `folder`; the function `tables` lets the child write the tables.

    `also` are further names. Returns what was replaced: pseudonym -> kind and name.
    """
    from incidents.content import found_files, grafana  # they load Polars, which a process that forks must not

    key = secrets.token_bytes(32)
    ours = Pseudonyms(key, known_names(incident, report, also))
    ours.learn(_texts(report))
    told = {"key": key.hex(), "names": ours.names}
    (folder / REDACT).write_text(json.dumps(told), encoding="utf-8")
    tables()
    made = json.loads((folder / NAMES).read_text("utf-8"))
    (folder / NAMES).unlink()
    names = Pseudonyms(key, made["names"])  # with those that the tables showed
    if report is not None:
        said = names.json(report)
        files = {
            "report.json": json.dumps(said, ensure_ascii=False),
            "findings.csv": found_files.findings_csv(said),
            "observations.csv": found_files.observations_csv(said),
            "annotations.json": json.dumps(grafana.annotations_of(said, [], None), ensure_ascii=False, indent=1),
            "found.sarif": json.dumps(found_files.sarif(said, names.text(incident.title), None, "1.0.0"), indent=1),
        }
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    return {word: (kind, name) for word, (kind, name) in made["replaced"].items()} | names.replaced


def known_names(incident: Incident, report: dict[str, Any] | None, also: Iterable[str]) -> dict[str, str]:
    """Return every name that the room knows, with its kind."""
    names: dict[str, str] = {}
    for host in _hosts(incident, report):
        short, _, domain = (host or "").partition(".")
        names |= dict.fromkeys(filter(None, (host, short)), "host")
        if "." in domain:
            names[domain] = "name"
    for artifact in incident.artifacts.all():
        names[artifact.name] = "file"
        names[artifact.sha256] = "content"
    names |= dict.fromkeys(store.export_names(list(incident.artifacts.all())).values(), "file")
    names |= dict.fromkeys(_people(incident), "user")
    for row in SiteName.objects.filter(incident=incident, removed_at=None) | SiteName.objects.filter(
        incident=None, removed_at=None
    ):
        names |= {row.name: "name", row.text: "name"} if row.kind in ("host", "process", "path") else {row.text: "name"}
    # Keys are hashes of names, so who guesses a name could confirm it.
    for entry in [*((report or {}).get("findings") or []), *((report or {}).get("observations") or [])]:
        names |= {entry["key"]: "key"} if entry.get("key") else {}
    names |= dict.fromkeys((" ".join(name.split()) for name in also), "name")
    return {name: kind for name, kind in names.items() if len(name) > 1}


def _hosts(incident: Incident, report: dict[str, Any] | None) -> set[str | None]:
    parts = Part.objects.filter(reading__artifact__incident=incident)
    said = Correction.objects.filter(artifact__incident=incident, field=CorrectedField.HOST)
    judged = {entry.get("host") for entry in (report or {}).get("artifacts") or []}
    listed = incident.hosts.values_list("name", flat=True)
    return {*listed, *parts.values_list("host", flat=True), *said.values_list("value", flat=True), *judged}


def _people(incident: Incident) -> Iterator[str]:
    for member in incident.memberships.select_related("user"):
        yield from (member.user.username, member.user.get_full_name(), member.user.last_name, member.user.email)
    yield from incident.activity.order_by().values_list("actor_name", flat=True).distinct()
    for rows in (incident.statements, incident.arguments, incident.free_causes):
        yield from (label for label in rows.values_list("author_label", flat=True) if label.lower() not in _ROLES)
    yield from incident.notes.filter(author__username__startswith=STAND_IN).values_list("author__first_name", flat=True)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(part)
