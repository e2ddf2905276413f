"""Pages of lists: `page` from 1 and `size`, answered with the number of all and of pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from django.db.models import QuerySet
from ninja import Schema
from pydantic import Field

from incidents.errors import Refused

MOST = 200

T = TypeVar("T")
Row = TypeVar("Row")


class Paging(Schema):
    """Which page of a list, and how many of it."""

    page: int = Field(1, ge=1, le=100_000)
    size: int = Field(50, ge=1, le=MOST)


class Page(Schema, Generic[T]):
    """A page of a list: `count` is the number of all, `pages` at least 1."""

    count: int
    page: int
    pages: int
    items: list[T]


def paged(rows: QuerySet[Any, Any] | Sequence[Any], asked: Paging, shape: Callable[[Any], Any]) -> dict[str, Any]:
    """Return one page of rows, each in its shape; 404 after the last page, so that a loop over pages ends."""
    count = rows.count() if isinstance(rows, QuerySet) else len(rows)
    return page_of(count, asked, [shape(row) for row in rows[first_of(asked) : first_of(asked) + asked.size]])


def first_of(asked: Paging) -> int:
    """Return how many rows come before the page."""
    return (asked.page - 1) * asked.size


def page_of(count: int, asked: Paging, items: list[Any]) -> dict[str, Any]:
    """Return a page whose items were read elsewhere."""
    pages = max(1, -(-count // asked.size))
    if asked.page > pages:
        raise Refused(f"There {'is only 1 page' if pages == 1 else f'are only {pages} pages'} of them.", 404)
    return {"count": count, "page": asked.page, "pages": pages, "items": items}
