"""Bounds of what programs send, taken from the columns that keep it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from django.db import models
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

Id = Annotated[int, Field(ge=1, le=2**53)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


def _in_utc(moment: datetime) -> datetime:
    """Return a moment as UTC: PostgreSQL takes no zone that is more than 16 hours away.

    >>> _in_utc(datetime.fromisoformat("2016-04-14T07:12:03+20:08"))
    datetime.datetime(2016, 4, 13, 11, 4, 3, tzinfo=datetime.timezone.utc)
    """
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("this is before the year 1 or after the year 9999") from error


Moment = Annotated[
    AwareDatetime, AfterValidator(_in_utc), Field(description="With a zone, such as 2016-04-14T07:12:03Z.")
]


class Body(BaseModel):
    """An object that a program sends; a member with another name is refused, so that no typing error is lost.

    Not ninja's `Schema`: that one reads attributes of whatever is sent, and takes the method `title` of a text for a title.
    """

    model_config = ConfigDict(extra="forbid")


def bounded(model: type[models.Model], column: str, default: Any = ..., most: int | None = None) -> Any:
    """Return the field of a text that a column keeps; `most` bounds one that the database does not.

    >>> from incidents.models.room.incident import Incident
    >>> bounded(Incident, "title").metadata[0].max_length
    200
    """
    held = getattr(model._meta.get_field(column), "max_length", None) if most is None else most
    return Field(default, max_length=held)
