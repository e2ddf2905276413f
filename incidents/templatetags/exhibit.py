"""Template tags and filters that show names, times and counts the same way everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from datetime import UTC, datetime
from typing import Any

from django import template
from django.contrib.auth.models import AnonymousUser, User
from django.template import Context
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import get_current_timezone_name

from incidents.content.inbox import MOST_COUNTED, unread_count
from incidents.content.moments import browsers_zone, other_zones
from incidents.content.names import known_as, letters_of
from incidents.content.report import layer_name
from incidents.content.visible import visible
from incidents.content.wrapping import pieces, unparted
from incidents.storage.sizes import in_words

register = template.Library()


@register.filter
def seen(text: object) -> str:
    """Make control and format characters of a name or line visible; autoescaping still follows."""
    return visible(str(text)) if text is not None else ""


@register.filter
def detail(value: object) -> str:
    """Write a value of a row of the record in words: lists and named values with commas, None as none.

    >>> detail({"H-NET": "against", "H-DB": None}), detail([1, 2]), detail(True), detail(None)
    ('H-NET against, H-DB none', '1, 2', 'yes', 'none')
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{seen(name)} {detail(one)}" for name, one in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(detail, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == "" else seen(value)


@register.filter
def seen_lines(text: object) -> str:
    """Make a text of people visible like `seen`, but keep its line breaks and tabs."""
    return visible(str(text), keep="\n\t") if text is not None else ""


@register.filter
def wrapped(text: object) -> SafeString:
    """Make a text visible like `seen`, keep numbers with their units, and let long words break behind punctuation."""
    shown = unparted(seen(text))
    return format_html_join(mark_safe("<wbr>"), "{}", ((piece,) for piece in pieces(shown)))


@register.filter
def thin(number: int | float | None) -> str:
    """Write a count with thin spaces between thousands; None stays empty."""
    return "" if number is None else f"{number:,}".replace(",", "\u2009")


@register.filter
def size(count: int | None) -> str:
    """Write a number of bytes with its unit; None stays empty."""
    return "" if count is None else in_words(count)


@register.filter
def beyond(rows: Sized, most: int) -> int:
    """Return how many of some rows are left when the first ones are shown; 0 if none."""
    return max(len(rows) - most, 0)


@register.filter
def layer(code: object) -> str:
    """Name a layer in words."""
    return layer_name(str(code))


@register.filter
def initials(user: User) -> str:
    """Return two letters for an avatar, from the full name if there is one."""
    return letters_of(user)


@register.filter
def person(user: User | None) -> str:
    """Name a person as pages do: by full name, else by user name; the program itself is called Exhibit."""
    return known_as(user)


@register.simple_tag
def unread(user: User | AnonymousUser) -> str:
    """Return the number of unread notifications for the bell; empty without any."""
    count = unread_count(user)
    return "" if not count else "99+" if count >= MOST_COUNTED else str(count)


@register.simple_tag
def stamp(moment: datetime | None, form: str = "time") -> SafeString | str:
    """Write an instant as UTC; the page's script adds the viewer's zone and keeps this raw stamp beside it.

    `form` is `time` (hour and minute), `day` (date too) or `both` (viewer's zone with the raw stamp beside).
    """
    if moment is None:
        return ""
    utc = moment.astimezone(UTC)
    raw = utc.strftime("%Y-%m-%d %H:%M:%S UTC")
    shown = {"time": utc.strftime("%H:%M UTC"), "day": utc.strftime("%Y-%m-%d %H:%M UTC")}.get(form, raw)
    return format_html(
        '<time datetime="{}" data-form="{}" title="{}">{}</time>', utc.isoformat(timespec="seconds"), form, raw, shown
    )


@register.inclusion_tag("parts/_zones.html", takes_context=True)
def zones(context: Context) -> dict[str, Any]:
    """Return the zone of a form's times and others to choose: UTC, the browser's, those of the room's hosts."""
    room, request = context.get("room"), context["request"]
    of_hosts = room.incident.hosts.exclude(tz=None).values_list("tz", "name") if room else ()
    now = get_current_timezone_name()
    return {"zone": now, "own": now == browsers_zone(request), "others": other_zones(request, of_hosts)}


@register.simple_tag
def icon(name: str) -> SafeString:
    """Draw an icon of the sprite, hidden from screen readers: the text beside it carries the meaning."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', static("icons.svg"), name)
