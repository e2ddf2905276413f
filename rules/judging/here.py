"""Decide what is here at all: which systems the hosts run, and whether a database or listener takes part.

A rule whose system or tool is not here has nothing to look at, and asking for its evidence would be senseless: nobody
can run prstat on Linux, and a host without a database has no AWR report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parsers.kinds import folders
from rules.case.case import Case
from rules.collecting import commands
from rules.writing.rule import Need, Requires

DATABASE_FAMILIES = ("oracle", "databases")
"""Families of kinds whose presence says that a database takes part."""

DATABASE_TABLES = (
    "db_waits", "db_calls", "sessions", "sqlnet", "sqlnet_waits", "sqlnet_conns", "listener_cycles", "listener_load",
)  # fmt: skip
"""Tables that only a database, its listener or its clients fill."""

DATABASE_VALUES = (
    "listener", "alert", "postgres", "mysql", "sqlnet_log", "oracle", "sqlnet", "tnsnames", "load_profile", "cluster",
)  # fmt: skip
"""Values of columns (source, scope, grp) that only a database or listener has."""

DATABASE_STATEMENTS = ("sga_kb", "oradism_mode", "sessions")

DATABASE_WORDS = re.compile(
    r"\b(?:data ?bases?|db\d*|oracle|postgres\w*|pg|mysql|mariadb|sql\w*|listener|instance|tns|ora-\d+|dba|rac|sga"
    r"|log(?:g?ed|s)?[ -]?ins?|connect\w*|sessions?)\b",
    re.IGNORECASE,
)
"""Words of a title, symptom, role or statement that say that a database or listener may take part."""


@dataclass(frozen=True)
class Here:
    """What takes part in a case."""

    database: bool

    def lacks(self, requires: Requires, unmet: Iterable[Need], os: str | None) -> bool:
        """Return whether a rule can find nothing on a host of this system, whatever is uploaded for it."""
        listed = list(unmet)
        every = [n for n in listed if n in requires.all]
        either = [n for n in listed if n not in requires.all]
        return any(self._absent(n, os) for n in every) or (bool(either) and all(self._absent(n, os) for n in either))

    def _absent(self, need: Need, os: str | None) -> bool:
        if not self.database and _of_database(need):
            return True
        known = commands.COMMANDS.get(need.table)
        if os is None or known is None or need.statement:
            return False
        narrower = [commands.NARROWER.get((need.table, str(v))) for v in (need.column, *(v for _, _, v in need.where))]
        return commands.of_system(known[0], os) is None and not any(narrower)


def _of_database(need: Need) -> bool:
    if need.statement:
        return need.statement in DATABASE_STATEMENTS
    values = [v for _, _, value in need.where for v in (value if isinstance(value, (list, tuple)) else [value])]
    of_values = bool(values) and all(v in DATABASE_VALUES for v in values if isinstance(v, str))
    return need.table in DATABASE_TABLES or (of_values and any(isinstance(v, str) for v in values))


def here(case: Case) -> Here:
    """Return what takes part in a case: by the kinds of its artifacts, the roles of its hosts, and what people say.

    Without any artifact nothing is known, so a database may take part.
    """
    families = {folder.name: folder.parent.name for folder in folders()}
    kinds = {p.get("kind") for m in case.manifests.values() for p in m.get("parts", [])}
    spec = case.spec
    roles = [h.role for h in spec.hosts.values()] + [p.role for a in spec.artifacts for p in a.parts]
    texts: Sequence[str | None] = [
        spec.title,
        spec.symptom.text if spec.symptom else None,
        *(s.text for s in spec.statements),
        *(s.name if s.name in DATABASE_STATEMENTS else None for s in spec.statements),
        *(m.label for m in spec.markers),
    ]
    return Here(
        not spec.artifacts
        or any(families.get(k or "") in DATABASE_FAMILIES for k in kinds)
        or any(role in ("db", "listener", "server") for role in roles)
        or any(DATABASE_WORDS.search(t) or t in DATABASE_STATEMENTS for t in texts if t)
    )
