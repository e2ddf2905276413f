"""Do a write once: a request repeated under the same `Idempotency-Key` gets the first answer and is not done again."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable
from datetime import date
from functools import wraps
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Status

from incidents import access
from incidents.doors.rest.api import caller_of
from incidents.errors import Refused
from incidents.models.people.access_token import REPLAYED_FOR, IdempotencyKey

HEADER = "Idempotency-Key"
LONGEST = 200
PATTERN = "[!-~]+"
#: Says in an answer that it was given before.
REPLAYED = "Idempotent-Replayed"

Operation = Callable[..., Any]


def once(operation: Operation) -> Operation:
    """Wrap an operation that writes and returns `Status(number, answer)`.

    Key, write and answer are one transaction. A refusal undoes all three, so that the same key may try again. A second
    call that comes while the first still works waits for it at the row of the key.
    """

    @wraps(operation)
    def done(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        key = request.headers.get(HEADER)
        if key is None:
            return operation(request, *args, **kwargs)
        if len(key) > LONGEST or not re.fullmatch(PATTERN, key):
            raise Refused(f"{HEADER} is a word of 1 to {LONGEST} ASCII characters, without blanks.", 422)
        with transaction.atomic():
            row = _locked(request, key)
            if row.status is None:
                made: Status[Any] = operation(request, *args, **kwargs)
                row.status, row.answer = made.status_code, json.loads(json.dumps(made.value, default=_written))
                row.save(update_fields=("status", "answer"))
                return made
        if "slug" in kwargs:
            access.room_as(caller_of(request), kwargs["slug"])  # who lost the room since then is told no more of it
        response: HttpResponse = kwargs["response"]
        response[REPLAYED] = "true"
        return Status(row.status, row.answer)

    # Ninja reads the types of the parameters in the module of the function, which is another one now.
    done.__signature__ = inspect.signature(operation, eval_str=True)  # type: ignore[attr-defined]  # inspect reads it
    return done


def _locked(request: HttpRequest, key: str) -> IdempotencyKey:
    """Return the row of the key, locked; 422 if it was used for something else."""
    owner, now = caller_of(request).user, timezone.now()
    sent = f"{request.method} {request.get_full_path()}\n".encode() + request.body
    hashed = hashlib.sha256(sent).hexdigest()
    mine = IdempotencyKey.objects.filter(owner=owner, key=key)
    mine.filter(expires_at__lt=now).delete()
    new = IdempotencyKey(owner=owner, key=key, request_hash=hashed, expires_at=now + REPLAYED_FOR)
    IdempotencyKey.objects.bulk_create([new], ignore_conflicts=True)  # waits while another call holds the same key
    row = mine.select_for_update().get()
    if row.request_hash != hashed:
        raise Refused(f"This {HEADER} was used for another call. Take a new one.", 422)
    return row


def _written(value: Any) -> str:
    if isinstance(value, date):  # a datetime too
        return value.isoformat()
    raise TypeError(f"an answer holds a {type(value).__name__}")
