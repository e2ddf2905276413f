"""Tests that each model and column of a room is either exported in a bundle, or left out with a reason."""

from __future__ import annotations

from django.apps import apps
from django.db import models

from incidents.content import room_rows
from incidents.content.room_rows import LEFT_OUT, NOUNS, READ, ROOM
from incidents.models.room.incident import Incident

#: Columns that are not exported, by noun; a column that is not named here is exported.
STAYS = {
    "artifact": {"way", "uploader", "token", "received_at", "reading", "lines_read", "bytes_read", "version", "has_original"},
    "reading": {"number", "state"},
    "summarytext": {"machine"},
}  # fmt: skip
SECRET = ("hash", "secret", "token", "salt", "email", "address", "password", "url")


def of_a_room(model: type[models.Model]) -> bool:
    """Tell whether a model's rows belong to a room, by its own column or through another model of a room."""
    to = [c.related_model for c in model._meta.concrete_fields if c.related_model is not None]
    return Incident in to or any(
        one is not model and of_a_room(one) for one in to if one._meta.app_label == "incidents"
    )


def test_every_model_of_a_room_goes_along_or_stays_for_a_reason():
    rooms = {m._meta.model_name for m in apps.get_app_config("incidents").get_models() if of_a_room(m)}
    nouns = {noun.name for noun in (*NOUNS, *READ)}
    assert nouns & set(LEFT_OUT) == set()
    assert rooms == nouns | set(LEFT_OUT)


def test_columns_that_stay_behind_are_these():
    out = {noun.name: set(noun.out) for noun in (*NOUNS, *READ) if noun.out}
    assert out == STAYS


def test_no_column_that_goes_along_is_named_like_a_secret():
    taken = {(noun.name, column.name) for noun in (*NOUNS, *READ) for column in noun.columns()}
    assert [(noun, name) for noun, name in taken if any(word in name for word in SECRET)] == []


def test_a_row_needs_only_rows_before_it():
    before: set[object] = {None}
    for noun in (*NOUNS, *READ):
        before.add(noun.model)
        for column in noun.columns():
            to = column.related_model
            assert to in before or to._meta.label == "auth.User", (noun.name, column.name)


def test_columns_of_the_room_are_columns():
    columns = {column.name for column in Incident._meta.concrete_fields}
    assert set(ROOM) <= columns
    stays = {"id", "slug", "status", "created_by", "created_at", "closed_at", "closed_by", "closing_at", "closing_by"}
    assert columns - set(ROOM) == stays | {
        "archived_at",
        "archived_by",
        "keep_days",
        "kept_since",
        "held_at",
        "held_by",
        "held_by_site",
        "held_why",
        "delete_at",
        "deletion_begun",
        "next_update_at",
        "next_update_by",
        "next_update_duty",
        "next_update_every",
        "reminded_of",
        "standing_version",
    }


def test_json_that_no_database_takes_is_refused():
    deep: object = "x"
    for _ in range(30):
        deep = [deep]
    assert room_rows._has_nul(deep, 0)
    assert room_rows._has_nul({"a": ["b\0"]}, 0)
    assert not room_rows._has_nul({"a": ["b", 1, None, True]}, 0)
