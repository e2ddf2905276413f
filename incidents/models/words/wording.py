"""Text indexes for the search: words (full text, without stemming) and groups of three characters.

The groups come from `incidents_grams`, our SQL function (migration 0016, docs/decisions/0013): the PostgreSQL bundled
with Exhibit has no pg_trgm, and `0x7f3a` or `H-OS-SHM` must be found by any piece of it. A search must use `words(...)`
and `Grams(...)` of the same `said(...)` as the index: PostgreSQL uses an expression index for that expression only.
"""

from __future__ import annotations

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db.models import F, Func, TextField, Value
from django.db.models.functions import Concat

#: Length of a group in characters. A shorter piece of a word has no group: it is searched as the beginning of a word.
GRAM = 3


class Grams(Func):
    """All groups of three characters of a text in lower case, each once, as an array to query with `@>`."""

    function = "incidents_grams"
    output_field = ArrayField(TextField())


def said(*fields: str) -> Any:
    """Return an expression that joins columns of a row into one text."""
    if len(fields) == 1:
        return F(fields[0])
    parts: list[Any] = [F(fields[0])]
    for field in fields[1:]:
        parts += [Value(" "), F(field)]
    return Concat(*parts, output_field=TextField())


def words(text: Any) -> SearchVector:
    """Return the words of a text. `simple` keeps them as written, since half of them are names of calls and codes."""
    return SearchVector(text, config="simple")


def indexed(name: str, *fields: str) -> tuple[GinIndex, GinIndex]:
    """Return the two indexes of a searched text: of its words, and of its groups of characters."""
    return GinIndex(words(said(*fields)), name=f"{name}_words"), GinIndex(Grams(said(*fields)), name=f"{name}_grams")
