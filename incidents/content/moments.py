"""Instants as people type them: in the zone that their page names, stored in UTC.

A page shows and takes the times of its forms in one zone: that of the reader's browser, unless its address names another.
Every field carries the name of that zone, so what is sent is read as it was shown, whatever has changed meanwhile; a form
that carries none is read as UTC. An hour that a zone has twice or never is refused, not guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.forms.boundfield import BoundField
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from incidents.errors import Refused

#: The name of a zone in a form, in an address (`?zone=`) and in the cookie that the page's script keeps.
ZONE = "zone"
UTC_NAME = "UTC"
#: What the tz database lists beside places: a machine's own setting, and a zone that stands for none.
_NO_PLACES = frozenset(("localtime", "Factory"))


@cache
def zones() -> frozenset[str]:
    """Return the names of all zones that may be chosen."""
    return frozenset(available_timezones() - _NO_PLACES) | {UTC_NAME}


def zone_of(request: HttpRequest) -> ZoneInfo:
    """Return the zone of a request's forms; `Refused` for a name of no zone, but in the cookie, which nobody typed."""
    if request.method == "POST":
        return _named(request.POST.get(ZONE, UTC_NAME))
    asked = request.GET.get(ZONE)
    return _named(asked) if asked is not None else ZoneInfo(browsers_zone(request) or UTC_NAME)


def browsers_zone(request: HttpRequest) -> str | None:
    """Return the zone that the reader's browser said; None without scripts, and for one that is not known here."""
    name = request.COOKIES.get(ZONE, "")
    return name if name in zones() else None


def _named(name: str) -> ZoneInfo:
    if name not in zones():
        raise Refused("There is no such time zone: write it like Europe/Warsaw or UTC.", 400)
    return ZoneInfo(name)


@dataclass(frozen=True)
class OtherZone:
    """A zone that a page's forms could be in, and whose it is."""

    name: str
    whose: str
    query: str


def other_zones(request: HttpRequest, of_hosts: Iterable[tuple[str, str]]) -> list[OtherZone]:
    """Return what the reader may choose instead: UTC, the browser's zone, those of hosts (zone, name of a host)."""
    whose: dict[str, list[str]] = {UTC_NAME: []}
    if browser := browsers_zone(request):
        whose.setdefault(browser, []).append("your browser")
    for zone, host in of_hosts:
        if zone in zones():
            whose.setdefault(zone, []).append(host)
    now = timezone.get_current_timezone_name()
    found = []
    for name in sorted(whose.keys() - {now}, key=lambda name: (name != UTC_NAME, name)):
        query = request.GET.copy()
        query[ZONE] = name
        found.append(OtherZone(name, ", ".join(whose[name]), query.urlencode(safe="/")))
    return found


class MomentInput(forms.DateTimeInput):
    """A field for an instant, with the zone that it is shown in."""

    def __init__(self) -> None:
        # A browser that brings back old values after a reload would bring them back into another zone.
        attrs = {"type": "datetime-local", "step": "1", "autocomplete": "off"}
        super().__init__(attrs=attrs, format="%Y-%m-%dT%H:%M:%S")

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        zone = timezone.get_current_timezone_name()
        carried = format_html('<input type="hidden" name="{}" value="{}" autocomplete="off">', ZONE, zone)
        return super().render(*args, **kwargs) + carried


class _SeenMoment(forms.HiddenInput):
    """What stood in the field when the page was made, with its offset: it means the same in every zone."""

    def format_value(self, value: Any) -> str | None:
        if isinstance(value, datetime):
            return value.replace(tzinfo=timezone.get_current_timezone()).isoformat(timespec="seconds")
        shown: str | None = super().format_value(value)
        return shown


class MomentField(forms.DateTimeField):
    """An instant, typed in the zone of its page (`zone_of`) and given back in UTC; its label names the zone."""

    widget = MomentInput
    hidden_widget = _SeenMoment
    input_formats = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M")

    def to_python(self, value: Any) -> datetime | None:
        try:
            at: datetime | None = super().to_python(value)
            return at and at.astimezone(UTC)
        except OverflowError:
            raise forms.ValidationError("Is the year right?") from None
        except forms.ValidationError as error:
            if error.code != "ambiguous_timezone":
                raise
            raise forms.ValidationError(self._changed_clocks(value), code=error.code) from None

    def get_bound_field(self, form: forms.BaseForm, field_name: str) -> BoundField:
        bound = super().get_bound_field(form, field_name)
        bound.label = f"{bound.label} ({timezone.get_current_timezone_name()})"
        return bound

    @staticmethod
    def _changed_clocks(value: Any) -> str:
        """Say what the night of a change of clocks makes of a time: it comes twice, or it was left out."""
        zone = timezone.get_current_timezone()
        typed = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
        first, second = (typed.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if second - first > timedelta(0):
            both = f"{first:%Y-%m-%d %H:%M} and {second:%H:%M} UTC"
            return f"Clocks went back in {zone}: this time came twice, at {both}. Choose UTC above and type which."
        return f"Clocks went forward in {zone}: this time was left out. Choose UTC above, or another time."
