"""Convert a page to lines, one for each start tag, end tag or text, so that differences of two pages can be read.

White space is collapsed as in a browser. At the beginning or end of a text, a space is written as `␣` if it is visible,
that is between inline elements; beside a block it is removed. In `pre` and `textarea` all white space stays.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

BLOCKS = frozenset(
    "html head body title meta link script main header footer nav section article aside div p ul ol li dl dt dd table"
    " caption colgroup col thead tbody tfoot tr td th form fieldset legend h1 h2 h3 h4 h5 h6 details summary dialog pre hr br"
    " figure figcaption blockquote option optgroup template svg g defs rect line path circle polyline polygon pattern".split()
)
VOID = frozenset("meta link input br hr img col source use rect line path circle polyline polygon".split())
AS_TYPED = ("pre", "textarea", "script", "style")
SPACE = "␣"


class _Lines(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self.as_typed = 0
        self.text = ""
        self.after_block = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._flush(tag in BLOCKS)
        self.lines.append(f"<{tag}{''.join(_attribute(*a) for a in sorted(attrs, key=lambda a: a[0]))}>")
        self.after_block = tag in BLOCKS
        self.as_typed += tag in AS_TYPED

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        self._flush(tag in BLOCKS)
        self.as_typed -= tag in AS_TYPED
        if tag not in VOID:
            self.lines.append(f"</{tag}>")
            self.after_block = tag in BLOCKS

    def handle_data(self, data: str) -> None:
        self.text += data

    def close(self) -> None:
        super().close()
        self._flush(True)

    def _flush(self, before_block: bool) -> None:
        text, self.text = self.text, ""
        if self.as_typed:
            self.lines += [f'"{line}' for line in text.splitlines()]
            return
        text = re.sub(r"[ \t\r\n\f]+", " ", text)
        if self.after_block:
            text = text.removeprefix(" ")
        if before_block:
            text = text.removesuffix(" ")
        if text:
            body = text.strip(" ")
            left = SPACE if text.startswith(" ") else ""
            right = SPACE if body and text.endswith(" ") else ""
            self.lines.append(f'"{left}{body}{right}')


def _attribute(name: str, value: str | None) -> str:
    if value is None:
        return f" {name}"
    value = " ".join(value.split()) if name != "value" else value.replace("\n", "\\n")
    return f" {name}={value!r}"


def page_lines(page: str) -> list[str]:
    """Return a page as lines.

    >>> page_lines('<p class="a  b">\\n One <b>two</b>\\n</p>')
    ["<p class='a b'>", '"One␣', '<b>', '"two', '</b>', '</p>']
    """
    parser = _Lines()
    parser.feed(page)
    parser.close()
    return parser.lines
