"""Instants that people type: in the time zone that their page names, stored in UTC.

A page shows and reads the times of its forms in one zone: that of the reader's browser, unless its address names
another. Every form carries the name of that zone, so its times are read as they were shown, whatever has changed
meanwhile; a form without a zone is read as UTC. A local time that occurs twice or never (change of clocks) is refused,
not guessed.
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

#: Name of the zone's form field, of the parameter in an address (`?zone=`), and of the cookie that the page's script
#: sets.
ZONE = "zone"
UTC_NAME = "UTC"
#: Entries of the tz database that are no places: the machine's own setting, and a placeholder.
_NO_PLACES = frozenset(("localtime", "Factory"))


@cache
def zones() -> frozenset[str]:
    """Return the names of all zones that can be chosen."""
    return frozenset(available_timezones() - _NO_PLACES) | {UTC_NAME}


def zone_of(request: HttpRequest) -> ZoneInfo:
    """Return the zone of a request's forms; raise `Refused` for an unknown name, unless it comes from the cookie."""
    if request.method == "POST":
        return _named(request.POST.get(ZONE, UTC_NAME))
    asked = request.GET.get(ZONE)
    return _named(asked) if asked is not None else ZoneInfo(browsers_zone(request) or UTC_NAME)


def browsers_zone(request: HttpRequest) -> str | None:
    """Return the zone of the reader's browser; None without scripts, or if the zone is unknown here."""
    name = request.COOKIES.get(ZONE, "")
    return name if name in zones() else None


def _named(name: str) -> ZoneInfo:
    if name not in zones():
        raise Refused("There is no such time zone: write it like Europe/Warsaw or UTC.", 400)
    return ZoneInfo(name)


@dataclass(frozen=True)
class OtherZone:
    """A zone that the reader may choose for a page's forms, and whose zone it is."""

    name: str
    whose: str
    query: str


def other_zones(request: HttpRequest, of_hosts: Iterable[tuple[str, str]]) -> list[OtherZone]:
    """Return the zones to choose from: UTC, the browser's zone, those of hosts (zone, name of a host)."""
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
    """A form field for an instant, with the zone that it is shown in."""

    def __init__(self) -> None:
        # Autocomplete off: after a reload a browser would restore old values, perhaps under another zone.
        attrs = {"type": "datetime-local", "step": "1", "autocomplete": "off"}
        super().__init__(attrs=attrs, format="%Y-%m-%dT%H:%M:%S")

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        zone = timezone.get_current_timezone_name()
        carried = format_html('<input type="hidden" name="{}" value="{}" autocomplete="off">', ZONE, zone)
        return super().render(*args, **kwargs) + carried


class _SeenMoment(forms.HiddenInput):
    """The field's value when the page was made, with its UTC offset, so that it means the same in every zone."""

    def format_value(self, value: Any) -> str | None:
        if isinstance(value, datetime):
            return value.replace(tzinfo=timezone.get_current_timezone()).isoformat(timespec="seconds")
        shown: str | None = super().format_value(value)
        return shown


class MomentField(forms.DateTimeField):
    """An instant, typed in the zone of its page (`zone_of`) and returned in UTC; its label names the zone."""

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
        """Say why a local time in the night of a clock change is refused: it occurs twice, or not at all."""
        zone = timezone.get_current_timezone()
        typed = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
        first, second = (typed.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        if second - first > timedelta(0):
            both = f"{first:%Y-%m-%d %H:%M} and {second:%H:%M} UTC"
            return f"Clocks went back in {zone}: this time came twice, at {both}. Choose UTC above and type which."
        return f"Clocks went forward in {zone}: this time was left out. Choose UTC above, or another time."
