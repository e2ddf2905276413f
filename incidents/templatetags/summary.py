"""Template filters for the times of a summary's content, which are ISO texts."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils.safestring import SafeString

from incidents.content.summary.content import moment
from incidents.templatetags.exhibit import stamp

register = template.Library()


@register.simple_tag
def when(iso: str | None, form: str = "day") -> SafeString | str:
    """Write a time as pages do: UTC, with the viewer's zone if a script runs."""
    return stamp(datetime.fromisoformat(iso), form) if iso else ""


@register.filter
def utc(iso: str | None) -> str:
    """Write a time as in exported files: `2016-04-14 08:10 UTC`."""
    return moment(iso)
