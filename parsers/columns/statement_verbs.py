"""Name the action of an SQL statement by its first words, without any values."""

from __future__ import annotations

import re

_COMMENTS = re.compile(r"\s*(?:/\*.*?\*/\s*)*", re.DOTALL)
_OBJECT = "TABLE|INDEX|UNIQUE INDEX|MATERIALIZED VIEW|VIEW|TRIGGER|DATABASE|SCHEMA|TYPE|SEQUENCE|COLUMN|CONSTRAINT"
_VERBS = re.compile(
    rf"(?i)(?:(ALTER|CREATE|DROP|LOCK|TRUNCATE|REFRESH|RENAME|REINDEX|OPTIMIZE|REPAIR|ANALYZE|FLUSH|COMMENT ON)(?: +({_OBJECT})S?)?"
    r"|(VACUUM(?: FULL)?|autovacuum|SELECT|INSERT|UPDATE|DELETE|MERGE|REPLACE|COPY|CLUSTER|WITH|CALL|COMMIT|ROLLBACK|BEGIN|FETCH|LOAD"
    r"|START TRANSACTION|SET|SHOW))\b"
)
_FOR_UPDATE = re.compile(r"(?i)\bFOR +(?:NO +KEY +)?(?:UPDATE|SHARE|KEY +SHARE)\b|\bLOCK +IN +SHARE +MODE\b")


def verb(statement: str | None) -> str | None:
    """Return the first words of a statement in capitals; None for a comment, a cut statement or any other text.

    >>> verb('ALTER TABLE "orders" ADD COLUMN note text'), verb("select 1"), verb("select 1 from t for update")
    ('ALTER TABLE', 'SELECT', 'SELECT FOR UPDATE')
    >>> verb("/* app */ create unique index concurrently i on t (a)"), verb("-- name: GetOrder :one"), verb(None)
    ('CREATE UNIQUE INDEX', None, None)
    """
    text = (statement or "")[:4000]
    found = _VERBS.match(_COMMENTS.sub("", text, count=1))
    if found is None:
        return None
    words = " ".join(x for x in found.groups() if x).upper()
    return "SELECT FOR UPDATE" if words in ("SELECT", "WITH") and _FOR_UPDATE.search(text) else words
