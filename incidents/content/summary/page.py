"""Prepare a summary's content for a template: numbers of sources become links; also for the self-contained file."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from django.utils.safestring import SafeString, mark_safe

from incidents.content.pictures import colours
from incidents.content.summary.content import EDITABLE, Json, shown

CSS = Path(__file__).resolve().parents[3] / "static" / "css"
#: Functions that return the address of a source or citation: of a finding by key, of lines by artifact and range.
ToFinding = Callable[[str], str]
ToLines = Callable[[int, int, int], str]


def in_room(content: Json, finding: ToFinding, lines: ToLines) -> Json:
    """Link each source number to its finding, else to its lines."""

    def href(source: Json) -> str:
        if source["key"]:
            return finding(source["key"])
        first = source["citations"][0]
        return lines(first["artifact"], first["line_from"], first["line_to"])

    made = _dressed(content, href, lines)
    for cited in _cited(made):
        cited["address"] = cited["href"]
    _quoted_once(made)
    return made


def by_itself(content: Json, lines: ToLines | None = None) -> Json:
    """Link each source number to its lines in the same document; `lines` gives citations an absolute address, too."""
    made = _dressed(content, lambda source: f"#source-{source['n']}", None)
    for cited in _cited(made):
        cited["address"] = lines(cited["artifact"], cited["line_from"], cited["line_to"]) if lines else ""
    _quoted_once(made)
    return made


def _cited(made: Json) -> list[Json]:
    """List all citations: those of the sources, then those of the observations."""
    of_sources = [cited for source in made["sources"] for cited in source["citations"]]
    return of_sources + [one["cited"] for one in made.get("observed", ()) if one["cited"]]


def _quoted_once(made: Json) -> None:
    """Quote the same lines only where a source cites them first; later citations point there."""
    first: dict[tuple[int, int, int], int] = {}
    for source in made["sources"]:
        for cited in source["citations"]:
            n = first.setdefault((cited["artifact"], cited["line_from"], cited["line_to"]), source["n"])
            cited["quoted_at"] = n if n != source["n"] else None
    for one in made.get("observed", ()):
        if cited := one["cited"]:
            cited["quoted_at"] = first.get((cited["artifact"], cited["line_from"], cited["line_to"]))


def _dressed(content: Json, href: Callable[[Json], str], lines: ToLines | None) -> Json:
    made: Json = copy.deepcopy(content)
    links = {
        source["n"]: {"n": source["n"], "href": href(source), "label": source["label"]} for source in made["sources"]
    }
    for source in made["sources"]:
        source["href"] = links[source["n"]]["href"]
    for cited in _cited(made):
        first, last = cited["line_from"], cited["line_to"]
        cited["where"] = str(first) if first == last else f"{first}–{last}"
        cited["href"] = lines(cited["artifact"], first, last) if lines else ""
    for section in shown(made):
        section["editable"] = section["key"] in EDITABLE
        for sentence in section["sentences"]:
            sentence["refs"] = [links[n] for n in sentence["refs"]]
        for part in (section.get("bar"), section.get("table")):
            if part:
                part["refs"] = [links[n] for n in part["refs"]]
        for piece in (section.get("bar") or {}).get("pieces", ()):
            own = piece["refs"]
            piece["href"] = lines(*piece["lines"]) if lines and piece["lines"] else links[own[0]]["href"] if own else ""
    return made


def style(content: Json) -> SafeString:
    """Return all styles of the self-contained file, including the widths of the bar's pieces."""
    pieces = [piece for section in shown(content) for piece in (section.get("bar") or {}).get("pieces", ())]
    widths = (
        f".bar span:nth-child({i}){{width:{float(one['width'].rstrip('%')):.3f}%}}" for i, one in enumerate(pieces, 1)
    )
    return mark_safe(sheet_style() + "".join(widths))  # the widths are only numbers


@cache
def sheet_style() -> SafeString:
    """Return the light colours from the tokens, the sheet's CSS, and what the file needs in addition."""
    tokens = ";".join(f"--{name}:{value}" for name, value in colours().items())
    faces = '--sans:"DejaVu Sans","Liberation Sans",Arial,sans-serif;--mono:"DejaVu Sans Mono",Menlo,Consolas,monospace'
    texts = (
        f":root{{{tokens};{faces}}}",
        *((CSS / name).read_text("utf-8") for name in ("sheet.css", "sheet-file.css")),
    )
    # Only our own files, no text of anybody else.
    return mark_safe(re.sub(r"/\*.*?\*/", "", "".join(texts), flags=re.DOTALL))
