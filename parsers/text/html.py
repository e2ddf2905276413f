r"""Convert web pages to lines of the text that a reader of the page sees; nothing is fetched, run or rendered.

`<pre>` (and textarea, listing, xmp) keeps its lines, entities become characters, `<br>` ends a line, the cells of a
data table become columns, and other text becomes one line a paragraph. Scripts, styles and hidden elements are dropped,
and so is a gutter of line numbers beside a listing.

Line numbers: if every line of each `<pre>` can stand at its line number in the page's source, with all other text
between, then line n of the transcript is line n of the source. Otherwise the transcript numbers its own lines. The note
states which.

A page is held in memory, so files larger than PAGE_BYTES are read as they are, tags included.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import BinaryIO

from selectolax.lexbor import LexborHTMLParser, LexborNode

from parsers.errors import NotText

HEAD_BYTES = 4096
PAGE_BYTES = 16 * 1024 * 1024

SIGNATURE = re.compile(
    rb"(?is)\A\s*(?:<\?xml[^>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*"
    rb"<(?:!doctype\s+html|(?:html|head|body|title|meta|base|div|p|pre|table|h[1-6]|ul|ol|dl|span|article|section|main"
    rb"|header|blockquote|br|hr|font|center|style|script|b|strong|code|a\s+(?:href|name))\b[^<]{0,2000}?>)"
)
SAME = "a web page: its text without tags, each line of preformatted text under its number in the page's source"
AS_IT_IS = "a web page nested too deep to be laid out: its lines as they are, tags included"
OWN = "a web page: its text without tags; line numbers are those of this text, not of the page's source"

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_CHARSET = re.compile(rb"(?i)<meta[^>]{0,200}?charset\s*=\s*[\"']?([a-z0-9_-]{2,20})")
_PRE = re.compile(r"(?is)(<(pre|textarea|listing|xmp)\b[^>]*>)(.*?)(?=</\2\b|\Z)")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_DEEPEST = 1000
"""Maximum number of open elements: parsers look through all of them at each tag, and browsers stop at 512."""

_UNCLOSED = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li td th tr dt dd option optgroup tbody thead tfoot"
    " colgroup rt rp body html head".split()
)
"""Elements that have no end tag, or that may go without."""

_TAG_OR_LINE = re.compile(r"<[^>]*>|\n")
_MARK = re.compile("\ue000([0-9]+)\ue001")
_BLANKS = re.compile(r"[ \t\n\r\f]+")

_DROPPED = frozenset(
    "script style head noscript template svg iframe object embed canvas audio video select datalist map math".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer form"
    " h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol option p section summary table tbody td tfoot"
    " th thead tr ul caption".split()
)
_LISTINGS = frozenset(("pre", "textarea", "listing", "xmp"))


@dataclass
class _Entry:
    """A line of the transcript: its text, its line in the source (if preformatted), and whether it may share a line
    with other prose.
    """

    text: str
    source: int | None = None
    prose: bool = False


def fits(head: bytes, size: int) -> bool:
    """Decide by the first bytes whether a file is an HTML page that can be held in memory."""
    if size > PAGE_BYTES:
        return False
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            head = head[len(mark) :].decode(encoding, "replace").encode()
    return SIGNATURE.match(head) is not None


def transcribe(stream: BinaryIO) -> Generator[str, None, str]:
    """Yield the lines of a page; the generator's return value is a note on their numbers.

    Raises NotText if the page is empty.
    """
    page = _decoded(stream.read(PAGE_BYTES + 1))
    page = page.replace("\ue000", "").replace("\ue001", "")
    if _depth(page) > _DEEPEST:
        yield from page.replace("\r\n", "\n").split("\n")
        return AS_IT_IS
    root = LexborHTMLParser(_marked(page)).root
    entries = _Walk().entries(root) if root is not None else []
    if not any(entry.text for entry in entries):
        raise NotText("the page holds no text")
    laid = _laid(entries, page.count("\n") + 1)
    if laid is not None:
        yield from laid
        return SAME
    yield from (entry.text for entry in entries)
    return OWN


def _decoded(data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    named = _CHARSET.search(data[:HEAD_BYTES])
    for encoding in (*([named[1].decode()] if named else []), "utf-8"):
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", "replace")


def _depth(page: str) -> int:
    """Return about how deep the elements of a page nest.

    >>> _depth("<p>a<p>b<div><b>c</b></div><br><br>")
    2
    """
    depth = deepest = 0
    for found in _TAG.finditer(page):
        if found[2].lower() not in _UNCLOSED:
            depth = max(0, depth - 1) if found[1] else depth + 1
            deepest = max(deepest, depth)
    return deepest


def _marked(page: str) -> str:
    """Put its line number in front of each source line of preformatted text, since the parser reports no positions."""
    number, at, out = 1, 0, []
    page = page.replace("\r\n", "\n")
    for found in _PRE.finditer(page):
        number += page.count("\n", at, found.start(3))
        parts = [page[at : found.start(3)], f"\ue000{number}\ue001"]
        last = found.start(3)
        for piece in _TAG_OR_LINE.finditer(page, found.start(3), found.end(3)):
            if piece[0] == "\n":
                number += 1
                parts.append(f"{page[last : piece.end()]}\ue000{number}\ue001")
                last = piece.end()
            else:
                number += piece[0].count("\n")
        out += [*parts, page[last : found.end(3)]]
        at = found.end(3)
    return "".join([*out, page[at:]])


class _Walk:
    """Walks through the tree without recursion: a hostile page nests deeper than Python's call stack."""

    def __init__(self) -> None:
        self._out: list[_Entry] = []
        self._text: list[str] = []

    def entries(self, root: LexborNode) -> list[_Entry]:
        node: LexborNode | None = root
        while node is not None:
            if self._enter(node) and node.child is not None:
                node = node.child
                continue
            while node is not None and node.next is None:
                node = node.parent
                if node is None or node.mem_id == root.mem_id:
                    node = None
                    break
                self._leave(node)
            node = node.next if node is not None else None
        self._flush()
        while self._out and not self._out[-1].text:
            self._out.pop()
        return self._out

    def _enter(self, node: LexborNode) -> bool:
        """Process a node; return whether to walk its children."""
        tag = node.tag or ""
        if tag == "-text":
            self._text.append(node.text_content or "")
        elif tag in _DROPPED or tag.startswith("-"):
            return tag == "-document"
        elif tag == "br":
            self._flush(prose=False)
        elif tag in _LISTINGS or _is_preformatted(node):
            self._flush()
            self._listing(node)
            return False
        elif tag == "table":
            self._flush()
            rows = _data_rows(node)
            if rows is not None:
                self._out += [_Entry(""), *(_Entry(row) for row in _columns(rows)), _Entry("")]
                return False
        elif tag in _BLOCKS:
            self._flush()
        return True

    def _leave(self, node: LexborNode) -> None:
        if node.tag in _BLOCKS:
            self._flush()
            if node.tag in ("p", "h1", "h2", "h3", "h4", "table", "ul", "ol") and self._out and self._out[-1].text:
                self._out.append(_Entry("", prose=True))

    def _flush(self, prose: bool = True) -> None:
        text = _collapsed("".join(self._text))
        self._text.clear()
        if text:
            self._out.append(_Entry(text, prose=prose))
        elif not prose:
            self._out.append(_Entry(""))

    def _listing(self, node: LexborNode) -> None:
        entries: list[_Entry] = []
        for line in _listing_text(node).split("\n"):
            found = _MARK.search(line)
            text = _MARK.sub("", line).replace("\xa0", " ").rstrip()
            entries.append(_Entry(text, int(found[1]) if found else None))
        if entries and not entries[0].text:  # a line break right behind the tag does not count
            del entries[0]
        if _is_gutter([e.text for e in entries]):
            return
        if self._out and self._out[-1].text:
            self._out.append(_Entry("", prose=True))
        self._out += [*entries, _Entry("", prose=True)]


def _is_preformatted(node: LexborNode) -> bool:
    style = node.attributes.get("style") or ""
    return bool(re.search(r"(?i)white-space\s*:\s*(?:pre|break-spaces)", style)) and node.tag in _BLOCKS


def _is_gutter(lines: list[str]) -> bool:
    filled = [x.strip() for x in lines if x.strip()]
    return len(filled) > 1 and filled == [str(n) for n in range(1, len(filled) + 1)]


def _listing_text(node: LexborNode) -> str:
    """Return preformatted text as it is; `<br>` and blocks inside end a line."""
    parts: list[str] = []
    for inner in node.traverse(include_text=True):
        if inner.tag == "-text":
            parts.append(inner.text_content or "")
            continue
        begins = inner.tag in _BLOCKS and inner.mem_id != node.mem_id and bool(parts) and not parts[-1].endswith("\n")
        if inner.tag == "br" or begins:
            parts.append("\n")
    return "".join(parts)


def _collapsed(text: str) -> str:
    """Collapse blanks as a browser does; no-break blanks stay."""
    return _BLANKS.sub(" ", _MARK.sub("", text)).strip(" ").replace("\xa0", " ").rstrip()


def _data_rows(table: LexborNode) -> list[list[tuple[str, int]]] | None:
    """Return the cells (text, columns that it spans) of a table of values, None for a table that only arranges a page."""
    if table.css_first("td table, th table, pre, textarea, p + p, ul, ol, h1, h2, h3") is not None:
        return None
    rows = []
    for row in table.css("tr"):
        cells = []
        for cell in row.css("td, th"):
            span = cell.attributes.get("colspan") or "1"
            cells.append((_collapsed(cell.text(separator=" ")), min(int(span), 100) if span.isdecimal() else 1))
        if cells:
            rows.append(cells)
    if not rows or max(len(r) for r in rows) < 2:
        return None
    return rows


def _columns(rows: list[list[tuple[str, int]]]) -> list[str]:
    """Pad cells to columns, two blanks apart; numbers are right-aligned, words left-aligned."""
    widths: list[int] = []
    for row in rows:
        at = 0
        for text, span in row:
            span = max(span, 1)
            widths += [0] * (at + span - len(widths))
            if span == 1:
                widths[at] = max(widths[at], len(text))
            at += span
    lines = []
    for row in rows:
        at, out = 0, []
        for text, span in row:
            span = max(span, 1)
            width = sum(widths[at : at + span]) + 2 * (span - 1)
            out.append(text.rjust(width) if re.match(r"[-+.,0-9]+%?$", text) else text.ljust(width))
            at += span
        lines.append("  ".join(out).rstrip())
    return lines


def _laid(entries: list[_Entry], count: int) -> list[str] | None:
    """Place each preformatted line on its source line and other text between; None if that is impossible."""
    if not any(e.source is not None and e.text for e in entries):
        return None
    lines: list[str] = []
    waiting: list[_Entry] = []
    for entry in [*entries, _Entry("", 0)]:
        if entry.source is None:
            waiting.append(entry)
            continue
        filled = [e for e in waiting if e.text]
        # Behind the last preformatted line there is room for everything.
        room = (entry.source or max(count, len(lines) + len(filled)) + 1) - 1 - len(lines)
        if room < 0 or (len(filled) > room and not (room and all(e.prose for e in filled))):
            return None
        texts = [e.text for e in filled]
        if len(texts) > room:
            texts = [*texts[: room - 1], " ".join(texts[room - 1 :])]
        lead = 1 if room > len(texts) else 0
        lines += [""] * lead + texts + [""] * (room - lead - len(texts))
        lines.append(entry.text)
        waiting = []
    return lines[:-1]
