"""Questions to the evidence tables in SQL, within the fences of the page that asks them."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Router
from pydantic import Field

from incidents.access import Right
from incidents.actions import queries as actions
from incidents.doors.rest.api import entered
from incidents.doors.rest.limits import Body
from incidents.doors.rest.shapes import Answered
from incidents.errors import Refused
from incidents.work import queries
from rules.engine.ask import NotAnswered
from rules.engine.result_files import cell

router = Router(tags=["asking"])


class Question(Body):
    sql: Annotated[str, Field(min_length=1, max_length=actions.LONGEST_SQL)]


@router.post("/rooms/{slug}/ask", response=Answered, summary="Ask the evidence tables")
def ask(request: HttpRequest, slug: str, said: Question) -> dict[str, Any]:
    """Run one SELECT on the room's tables (docs/tables.md). It is remembered among one's own queries.

    A query that is refused, fails or takes too long is answered 422; 429 says that no turn was free.
    """
    room = entered(request, slug, Right.ASK)
    queries.switched_on()
    actions.remember(room, said.sql)
    try:
        asked = queries.ask(room, said.sql, queries.LIMITS)
    except NotAnswered as problem:
        raise Refused(f"{problem.words} {problem.hint}".strip(), 422) from problem
    answer = asked.answer
    return {
        "columns": asked.columns,
        "types": answer.types,
        "rows": [[cell(value) for value in row] for row in answer.rows],
        "more": answer.more,
        "seconds": answer.seconds,
        "cut": asked.cut,
        "without_rows": asked.without_rows,
        "not_built": asked.not_built,
    }
