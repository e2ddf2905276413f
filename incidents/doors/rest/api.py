"""The REST API under `/api/v1/`: who calls it, and how it refuses (docs/decisions/0024).

The operations stand in the other modules of this folder. They decide nothing: `access.enter_as` says who may, the
actions of pages write.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

import structlog
from django.core.exceptions import RequestDataTooBig
from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.loader import render_to_string
from django.utils.cache import add_never_cache_headers
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.operation import Operation
from ninja.parser import Parser
from ninja.security import HttpBearer, SessionAuth

from incidents import access
from incidents.access import Caller, Right, Room
from incidents.actions.limits import count_try
from incidents.content.problems import MEDIA_TYPE, problem, wanted_at
from incidents.errors import STORE_WORDS, AlreadyHere, Refused, StoreError, WrongSecret
from incidents.models.people.access_token import Scope
from incidents.storage.database import AWAY, no_text

log = structlog.get_logger(__name__)

#: Maximum number of calls of one token within five minutes; `watch` of the client makes sixty.
MOST_CALLS = 3000
AGAIN_S = {429: "60", 503: "5"}
SIGN_IN = "Send an access token (Authorization: Bearer exhibit_...) or sign in."

View = Callable[..., HttpResponse]


class ByToken(HttpBearer):
    """An access token of a person, from the page “Access tokens”."""

    openapi_bearerFormat = "exhibit_..."

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        try:
            caller = access.caller_with(token)
        except WrongSecret:
            count_try("token", request.META.get("REMOTE_ADDR", ""), most=600)
            raise
        assert caller.program is not None
        count_try("calls", str(caller.program.pk), most=MOST_CALLS)
        return caller


class BySession(SessionAuth):
    """The session of a browser; whatever writes needs the CSRF header too."""

    def __call__(self, request: HttpRequest) -> Caller | None:
        if not request.user.is_authenticated:
            return None  # before the CSRF check, which would tell a stranger of a missing header
        access.require_factor(request.user)
        user = super().__call__(request)
        return Caller(user) if user else None


class Strict(Parser):
    """Refuse a value of the address that is named twice, instead of taking the last in silence."""

    def parse_querydict(self, data: Any, list_fields: list[str], request: HttpRequest) -> Any:
        twice = sorted(name for name, values in data.lists() if len(values) > 1 and name not in list_fields)
        if twice:
            raise HttpError(400, f"{twice[0][:80]} is named twice.")
        return super().parse_querydict(data, list_fields, request)


class Api(NinjaAPI):
    """Ninja's API with the function names as ids of operations: clients made from it name their methods so."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


api = Api(
    title="Exhibit",
    version="1",
    description=(
        "Rooms of performance incidents: their evidence, what it shows, and what people write. Every list is paged by "
        "`page` and `size`. A refusal is a problem (RFC 9457) whose `detail` is for people. Whatever writes takes an "
        "`Idempotency-Key`."
    ),
    urls_namespace="api-v1",
    parser=Strict(),
    openapi_url=None,
    docs_url=None,
    auth=[ByToken(), BySession()],
)


def caller_of(request: HttpRequest) -> Caller:
    """Return the caller that one of the classes above has identified."""
    caller: Caller = request.auth  # type: ignore[attr-defined]  # set by ninja
    return caller


def entered(request: HttpRequest, slug: str, right: Right = Right.READ) -> Room:
    """Return the room as the caller sees it: the first line of every operation on a room."""
    return access.enter_as(caller_of(request), slug, right)


def require_scope(request: HttpRequest, scope: Scope) -> None:
    """Refuse a program without the scope, where no room is entered yet."""
    caller_of(request).require_scope(scope)


# --- refusals -----------------------------------------------------------------------------------------------------


def refusal(status: int, detail: str, **more: Any) -> HttpResponse:
    """Answer a problem."""
    answer = HttpResponse(json.dumps(problem(status, detail, **more), default=str), MEDIA_TYPE, status)
    if status == 401:
        answer["WWW-Authenticate"] = "Bearer"
    if status in AGAIN_S:
        answer["Retry-After"] = AGAIN_S[status]
    return answer


@api.exception_handler(Refused)
def _refused(request: HttpRequest, refused: Refused) -> HttpResponse:
    more = {"artifact": refused.number} if isinstance(refused, AlreadyHere) else {}
    return refusal(refused.status, refused.message, **more)


@api.exception_handler(AuthenticationError)
def _unknown_caller(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return refusal(401, SIGN_IN)


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return refusal(error.status_code, str(error))


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Answer 422 and name each wrong value by its place, without the level that ninja adds around a body."""
    found = [{"where": ".".join(str(step) for step in one["loc"]), "why": one["msg"]} for one in error.errors]
    return refusal(422, "What was sent does not fit: see errors.", errors=found)


@api.exception_handler(RequestDataTooBig)
def _too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return refusal(413, "This is more than one call takes. Send large files by the upload protocol of the room.")


@api.exception_handler(DataError)
def _no_text(request: HttpRequest, error: DataError) -> HttpResponse:
    refused = no_text(error)
    return refusal(refused.status, refused.message)


@api.exception_handler(StoreError)
def _store_away(request: HttpRequest, error: StoreError) -> HttpResponse:
    log.warning("api.store", path=request.path, error=str(error))
    return refusal(503, STORE_WORDS)


def _away(request: HttpRequest, error: Any) -> HttpResponse:
    log.warning("api.database_away", path=request.path, error=str(error))
    return refusal(503, "The database does not answer just now. Try again in a moment.")


for _kind in AWAY:
    api.add_exception_handler(_kind, _away)


def answered(view: View) -> View:
    """Wrap a view of the API: it answers an unsupported method with a problem, and forbids caches to store answers."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        made = view(request, *args, **kwargs)
        if isinstance(made, HttpResponseNotAllowed):
            allowed = made["Allow"]
            made = refusal(405, f"This address takes {allowed}.")
            made["Allow"] = allowed
        add_never_cache_headers(made)
        return made

    return answer


def failed(request: HttpRequest) -> HttpResponse:
    """Answer what nobody foresaw: a problem without details to programs, a page that needs no database to people.

    Django calls it after the transaction is rolled back and the fault is logged.
    """
    if not wanted_at(request.path):
        return HttpResponse(render_to_string("500.html", {"request": request}), status=500)
    made = refusal(500, "Something failed on the server. What was stored before is safe. Try again later.")
    add_never_cache_headers(made)
    return made


def unknown(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer 404 for an address of the API that does not exist."""
    return refusal(404, "Not found.")
