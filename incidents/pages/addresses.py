"""Address converters shared by pages: the prefix of a room, and the form of a finding's key."""

from __future__ import annotations

from django.urls import register_converter
from django.urls.converters import StringConverter

ROOM = "rooms/<slug:slug>/"


class KeyConverter(StringConverter):
    """A finding's key: 16 hex digits."""

    regex = "[0-9a-f]{16}"


register_converter(KeyConverter, "key")
