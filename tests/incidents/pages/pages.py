"""A page as a test reads it: by CSS selectors, its words as one line. Both libraries come with the one that writes PDF."""

from __future__ import annotations

from collections.abc import Mapping
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
        """All words, blanks as one."""
        return " ".join(" ".join(self._wrapper.etree_element.itertext()).split())


def page_in(answer: Any) -> Tag:
    """Read a page that was answered."""
    tree = tinyhtml5.parse(answer.content.decode(), namespace_html_elements=False)
    return Tag(cssselect2.ElementWrapper.from_html_root(tree))
