"""Read a page in a test: elements by CSS selector, texts as one line. Both libraries come with the one for PDF."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import cssselect2
import tinyhtml5


class Tag:
    """An element of a page."""

    def __init__(self, wrapper: cssselect2.ElementWrapper) -> None:
        self._wrapper = wrapper

    def select(self, selector: str) -> list[Tag]:
        """Return the elements below this one that a selector names."""
        below = self._wrapper.query_all(selector)
        return [Tag(one) for one in below if one.etree_element is not self._wrapper.etree_element]

    def part(self, selector: str) -> Tag:
        """Return the first element that a selector names; the test fails where there is none."""
        found = self.select(selector)
        assert found, f"there is no {selector}"
        return found[0]

    @property
    def attributes(self) -> Mapping[str, str]:
        return dict(self._wrapper.etree_element.attrib)

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    @property
    def text(self) -> str:
        """Return the visible text, with runs of blanks as one."""
        return " ".join(" ".join(_words(self._wrapper.etree_element)).split())


def _words(element: Any) -> Iterator[str]:
    if element.tag not in ("script", "style"):
        yield element.text or ""
        for child in element:
            yield from _words(child)
            yield child.tail or ""


def page_in(answer: Any) -> Tag:
    """Read a page that was answered."""
    tree = tinyhtml5.parse(answer.content.decode(), namespace_html_elements=False)
    return Tag(cssselect2.ElementWrapper.from_html_root(tree))


INLINE = frozenset(("a", "b", "button", "code", "i", "ins", "del", "kbd", "label", "mark", "small", "span", "time"))
_BREAK = re.compile(r"(</?([\w-]+)[^<>]*>)?\s*\n\s*(?=(?:</?([\w-]+))?)")


def unbroken(answer: Any) -> str:
    """Return the source of a page without the line breaks that only lay its template out.

    Inside a tag and between words or inline elements a line break becomes a blank, beside any other element nothing.
    """

    def joined(found: re.Match[str]) -> str:
        return (found[1] or "") + (" " if all(name is None or name in INLINE for name in (found[2], found[3])) else "")

    page = re.sub(r"<[^<>]+>", lambda tag: re.sub(r"\s*\n\s*", " ", tag[0]), answer.content.decode())
    return _BREAK.sub(joined, re.sub(r"\s+(?=/?>)", "", page))
