"""Find secrets in SQL text that have no keyword right in front of them.

`parsers/secrets/words.py` finds those behind `IDENTIFIED BY` and `PASSWORD`.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

_TEXT = r"'((?:[^'\\]|\\.|'')+)'"
_FORMS = (
    rf"(?i)\bset password(?: for [^=]{{1,200}}?)? ?= ?(?:password\()?{_TEXT}",
    rf"(?i)\bidentified +(?:with|via) +[^ ]{{1,60}} +(?:by|as|using)(?: +password)? ?\(?{_TEXT}",
    # Here the statement was broken behind the name of the plugin.
    rf"(?i)^[ \t]*(?:identified )?(?:by|as) +{_TEXT}[ \t]*(?:;|,|$|password |require |account |with )",
    rf"(?i)\b(?:aes|des|pgp_sym)_(?:en|de)crypt(?:_bytea)?\([^,]{{1,400}}, ?{_TEXT}",
    rf"(?i)\b(?:crypt|digest|old_password|encode|md5|sha1|sha2)\({_TEXT}",
)
"""Patterns from the manuals of MySQL, MariaDB and PostgreSQL (pgcrypto).

Rust syntax; one secret per pattern and line.
"""

WORDS = ["password", "identified", "crypt", "by '", "as '", "digest(", "md5(", "sha1(", "sha2(", "encode("]


def spans(frame: pl.DataFrame) -> Iterator[tuple[int, int, int]]:
    """Yield (line_no, from, to) of secrets in lines of SQL (line_no, line); positions in characters.

    >>> list(spans(pl.DataFrame({"line_no": [7], "line": ["SET PASSWORD FOR bob = 'plain';"]})))
    [(7, 24, 29)]
    """
    some = frame.filter(pl.col("line").str.contains_any(WORDS, ascii_case_insensitive=True))
    for form in _FORMS:
        found = some.with_columns(secret=pl.col("line").str.extract(form)).filter(pl.col("secret").is_not_null())
        for line_no, line, secret in found.select("line_no", "line", "secret").iter_rows():
            begin = line.index(f"'{secret}'") + 1
            yield line_no, begin, begin + len(secret)
