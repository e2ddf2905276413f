"""Fill in a form as a browser does: all fields of the page are sent, hidden ones too."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.test import Client


class Reader(HTMLParser):
    """Reads the fields of the forms of a page that are sent to the page itself."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.select = self.area = ""
        self.inside = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        attr = dict(attrs)
        if tag == "form":
            self.inside = attr.get("method") == "post" and "action" not in attr
        if not self.inside:
            return
        if tag == "input" and attr.get("name"):
            if attr.get("type") in ("checkbox", "radio") and "checked" not in attr:
                return
            self.fields[attr["name"]] = attr.get("value") or ""
        elif tag == "select":
            self.select = attr.get("name") or ""
            self.fields.setdefault(self.select, "")
        elif tag == "option" and "selected" in attr:
            self.fields[self.select] = attr.get("value") or ""
        elif tag == "textarea":
            self.area = attr.get("name") or ""
            self.fields[self.area] = ""

    def handle_data(self, data: str) -> None:
        if self.area:
            self.fields[self.area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.fields[self.area] = self.fields[self.area].removeprefix("\n")
            self.area = ""


def post_form(client: Client, address: str, form_address: str | None = None, **typed: Any) -> dict[str, Any]:
    """Return what a browser would send from the page at `address` after somebody typed something into it."""
    page = client.get(form_address or address)
    assert page.status_code == 200
    reader = Reader()
    reader.feed(page.content.decode())
    assert set(typed) <= set(reader.fields), set(typed) - set(reader.fields)
    return {**reader.fields, **typed}
