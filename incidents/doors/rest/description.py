"""Describe the API: as OpenAPI 3.1 for programs, as a page for people."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from pydantic.json_schema import models_json_schema

from incidents.content.problems import MEDIA_TYPE
from incidents.doors.rest.once import HEADER, LONGEST, PATTERN
from incidents.doors.rest.operations import api
from incidents.doors.rest.shapes import Problem

Json = dict[str, Any]
ROOT = "api/v1/"
#: Problems that any operation may answer, and what they mean.
ALWAYS = {
    400: "What was sent cannot be read.",
    401: "No caller: no token, one that opens nothing, no session.",
    403: "The role, or the scope of the token, does not allow it.",
    404: "There is none, or not for this caller.",
    422: "What was sent does not fit.",
    429: "Too many calls, or no turn was free.",
    503: "Something that is needed is away for a moment.",
}
SOMETIMES = {
    409: "Not now: the room is closed, was not judged yet, or holds it already.",
    410: "It was here and is gone.",
    413: "More than one call takes.",
    507: "The disk or the room is full.",
}
WRITES = ("post", "patch", "delete")
#: Operations that are sent by such a method and change nothing for others.
NO_WRITES = ("ask",)


@require_GET
def openapi(request: HttpRequest) -> HttpResponse:
    """Answer the OpenAPI document. It holds nothing of any room, so it needs no token."""
    return JsonResponse(document())


@require_GET
def reference(request: HttpRequest) -> HttpResponse:
    """Show the OpenAPI document as a page, which loads nothing from elsewhere."""
    return render(request, "api/reference.html", {"groups": groups(), "root": f"/{ROOT}"})


@cache
def document() -> Json:
    """Return the OpenAPI document of ninja with the problems and the idempotency key added to each operation."""
    made: Json = api.get_openapi_schema(path_prefix=ROOT)
    _, shapes = models_json_schema([(Problem, "serialization")], ref_template="#/components/schemas/{model}")
    made["components"]["schemas"] |= shapes["$defs"]
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for operations in made["paths"].values():
        for method, operation in operations.items():
            responses = {str(status): answer for status, answer in operation["responses"].items()}
            for status, words in (ALWAYS | SOMETIMES).items():
                responses.setdefault(str(status), {"description": words, "content": content})
            operation["responses"] = responses
            if method in WRITES and operation["operationId"] not in NO_WRITES:
                operation["parameters"] = [*operation.get("parameters", []), _KEY]
    return made


_KEY: Json = {
    "in": "header",
    "name": HEADER,
    "required": False,
    "description": "A new word for each write: the same call under the same word is done once within a day.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST, "pattern": f"^{PATTERN}$"},
}


def groups() -> list[Json]:
    """Return the operations grouped by tag, as the page shows them."""
    found: dict[str, list[Json]] = {}
    for address, operations in document()["paths"].items():
        for method, operation in operations.items():
            found.setdefault(operation["tags"][0], []).append(
                {
                    "method": method.upper(),
                    "address": address,
                    "summary": operation["summary"],
                    "words": operation.get("description", ""),
                    "id": operation["operationId"],
                    "parameters": [_parameter(one) for one in operation.get("parameters", [])],
                    "body": _fields(operation.get("requestBody", {})),
                    "answers": sorted(status for status in operation["responses"] if status.startswith("2")),
                }
            )
    return [{"name": name, "operations": operations} for name, operations in found.items()]


def _parameter(one: Json) -> Json:
    return {"name": one["name"], "where": one["in"], "required": one.get("required", False), **_typed(one["schema"])}


def _fields(body: Json) -> list[Json]:
    """Return the members of a JSON body; a body of bytes has one without a name."""
    for kind, content in body.get("content", {}).items():
        schema = content.get("schema", {})
        shape = document()["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2])
        if shape is None:
            return [{"name": "", "where": kind, "required": True, **_typed(schema)}]
        required = shape.get("required", [])
        return [
            {"name": name, "where": "body", "required": name in required, **_typed(value)}
            for name, value in shape["properties"].items()
        ]
    return []


def _typed(schema: Json) -> Json:
    kinds = [schema, *schema.get("anyOf", [])]
    names = [kind["type"] for kind in kinds if kind.get("type") not in (None, "null")]
    most = next((kind[bound] for kind in kinds for bound in ("maximum", "maxLength") if bound in kind), None)
    usual = schema.get("default")
    return {"type": " or ".join(names), "most": most, "usual": None if usual is None else json.dumps(usual)}
