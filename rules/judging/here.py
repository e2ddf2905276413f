"""Decide what is here at all: which systems the hosts run, and whether a database or listener takes part.

A rule whose system or tool is not here has nothing to look at, and asking for its evidence would be senseless: nobody
can run prstat on Linux, and a host without a database has no AWR report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from parsers.kinds import folders
from rules.case.case import Case
from rules.collecting import commands
from rules.writing.rule import Need, Requires

ORACLE, POSTGRES, MYSQL = "oracle", "postgres", "mysql"

FAMILIES = {"oracle": ORACLE}
KINDS = {"postgres": POSTGRES, "mysql": MYSQL}
"""Family of kinds, or kind, whose presence says which database takes part."""

TABLES = {
    ORACLE: ("db_waits", "db_calls", "sqlnet", "sqlnet_waits", "sqlnet_conns", "listener_cycles", "listener_load"),
}
"""Tables that only this database, its listener or its clients fill."""

ANY_DATABASE = ("sessions",)
"""Tables that any database fills."""

VALUES = {
    ORACLE: ("listener", "alert", "sqlnet_log", "oracle", "sqlnet", "tnsnames", "load_profile", "cluster"),
    POSTGRES: ("postgres",),
    MYSQL: ("mysql",),
}
"""Values of columns (source, scope, grp) that only this database has."""

STATEMENTS = {"sga_kb": ORACLE, "oradism_mode": ORACLE, "sessions": ORACLE}
"""Statements that only make sense where this database takes part."""

WORDS = {
    ORACLE: re.compile(r"\b(?:oracle|listener|tns|ora-\d+|rac|sga|awr|sql\*?net\w*)\b", re.IGNORECASE),
    POSTGRES: re.compile(r"\b(?:postgres\w*|pg\w*)\b", re.IGNORECASE),
    MYSQL: re.compile(r"\b(?:mysql|mariadb|innodb)\b", re.IGNORECASE),
}
"""Words of a title, symptom, role or statement that name a database."""

ANY_WORDS = re.compile(
    r"\b(?:data ?bases?|db\d*|sql\w*|instance|dba|log(?:g?ed|s)?[ -]?ins?|connect\w*|sessions?)\b", re.IGNORECASE
)
"""Words that say that some database or listener may take part."""

ASKED = {
    ORACLE: re.compile(
        r"SQL\*Plus|sqlplus|\bAWR\b|Statspack|event 10046|oradebug|adrci|oradism|ORACLE_|g?v\$\w|[cs]r[sv]ctl|lsnrctl"
        r"|LISTENER|(?:listener|sqlnet|tnsnames)\.(?:log|ora)|alert log"
    ),
    POSTGRES: re.compile(r"\bpsql\b|\bpg_\w|PostgreSQL"),
    MYSQL: re.compile(r"(?i)\bmysql|innodb|mariadb"),
}
"""Words of an ask that only this database, its listener or its tools can answer."""

MAYBE = 0.3
"""Worth of an ask for a database that may take part, as part of that for one that does."""

EVERY = frozenset((ORACLE, POSTGRES, MYSQL))


@dataclass(frozen=True)
class Here:
    """Which databases take part in a case, or may; `seen` are those of the evidence or of what people say."""

    databases: frozenset[str]
    seen: frozenset[str] = frozenset()

    def share(self, ask: str) -> float:
        """Return what an ask is worth here, from 0 (its database takes no part) to 1."""
        of = {owner for owner, words in ASKED.items() if words.search(ask)}
        if not of or of & self.seen:
            return 1.0
        return MAYBE if of & self.databases else 0.0

    def lacks(self, requires: Requires, unmet: Iterable[Need], os: str | None) -> bool:
        """Return whether a rule can find nothing on a host of this system, whatever is uploaded for it."""
        listed = list(unmet)
        every = [n for n in listed if n in requires.all]
        either = [n for n in listed if n not in requires.all]
        return any(self._absent(n, os) for n in every) or (bool(either) and all(self._absent(n, os) for n in either))

    def _absent(self, need: Need, os: str | None) -> bool:
        owners = _owners(need)
        if owners and not owners & self.databases:
            return True
        known = commands.COMMANDS.get(need.table)
        if os is None or known is None or need.statement:
            return False
        narrower = [commands.NARROWER.get((need.table, str(v))) for v in (need.column, *(v for _, _, v in need.where))]
        return commands.of_system(known[0], os) is None and not any(narrower)


ANYTHING = Here(EVERY, EVERY)


def _owners(need: Need) -> frozenset[str]:
    """Return the databases that alone could meet a need; empty if others could too."""
    if need.statement:
        return frozenset(filter(None, [STATEMENTS.get(need.statement)]))
    if need.table in ANY_DATABASE:
        return EVERY
    tables = frozenset(owner for owner, names in TABLES.items() if need.table in names)
    values = [v for _, _, value in need.where for v in (value if isinstance(value, (list, tuple)) else [value])]
    named = [v for v in values if isinstance(v, str)]
    by_value = [next((owner for owner, known in VALUES.items() if v in known), None) for v in named]
    return tables or (frozenset(o for o in by_value if o) if named and all(by_value) else frozenset())


def here(case: Case) -> Here:
    """Return what takes part in a case: by the kinds of its artifacts, the roles of its hosts, and what people say.

    Without any artifact nothing is known, so any database may take part; so it may where one is named but not which.
    """
    spec = case.spec
    if not spec.artifacts:
        return Here(EVERY)
    families = {folder.name: folder.parent.name for folder in folders()}
    kinds = {p.get("kind") or "" for m in case.manifests.values() for p in m.get("parts", [])}
    found = {FAMILIES[families[k]] for k in kinds if families.get(k) in FAMILIES} | {
        KINDS[k] for k in kinds if k in KINDS
    }
    texts = [
        text
        for text in (
            spec.title,
            spec.symptom.text if spec.symptom else None,
            *(s.text for s in spec.statements),
            *(m.label for m in spec.markers),
        )
        if text
    ]
    found |= {owner for owner, words in WORDS.items() if any(words.search(t) for t in texts)}
    found |= {STATEMENTS[s.name] for s in spec.statements if s.name in STATEMENTS}
    roles = [h.role for h in spec.hosts.values()] + [p.role for a in spec.artifacts for p in a.parts]
    found |= {ORACLE} if "listener" in roles else set()
    some = any(role in ("db", "server") for role in roles) or any(ANY_WORDS.search(t) for t in texts)
    return Here(frozenset(found) or (EVERY if some else frozenset()), frozenset(found))
