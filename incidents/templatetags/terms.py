"""Words with help: they show their meaning on hover, focus or tap, and link to their glossary page without a script.

`{% load terms %}`, then `{% term "vmstat.r" %}`, `{% term "word.support" "good support" %}` or `{{ text|seen_lines|explained }}`.
The script `static/js/help.js` (on every page) shows what `data-help` says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from django import template
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from incidents.content import cited_words
from incidents.content.visible import visible
from parsers.reference import glossary
from parsers.reference.glossary import Entry

register = template.Library()

# System calls that are also plain words: in prose they are marked only with a parenthesis behind them.
ORDINARY = frozenset(
    "accept access alarm bind close connect dup exec exit fork getaddrinfo ioctl kill link listen open pause pipe poll read readlink"
    " rename select semop send shutdown signal sleep socket splice stat statfs sync time times truncate uname unlink wait write"
    " remap sysinfo kread kwrite system yield".split()
) - {"getaddrinfo", "ioctl", "semop", "statfs", "uname", "unlink", "readlink", "sysinfo", "kread", "kwrite", "splice"}
# Words of Exhibit that mean nothing else; pages mark all others themselves.
OWN = frozenset("decibans DISM ISM LWP".split())
# Prefixes of kernel parameters that a wild card covers and that nothing else has.
_KERNEL = ("kernel.", "kern.", "net.", "vm.", "fs.")
_WORD = re.compile(
    r"(?<![\w.$/-])(?:[A-Z]{2,4}-\d{1,5}|TEAM-[a-z0-9]+-\d{3}|[A-Za-z_$][\w$]*(?:\.[\w$]+)*)(?![\w$/-])(\()?"
)
_RULE = re.compile(r"[A-Z]{2,4}-\d{3}|TEAM-[a-z0-9]+-\d{3}")


def mark(entry: Entry, label: str, address: str | None = None) -> SafeString:
    """Write a word with its explanation; the link leads to the page of the term."""
    kind = f"{entry.kind}, {entry.unit}" if entry.unit else entry.kind
    return format_html(
        '<a class="term" href="{}" data-help="{}" data-kind="{}" data-source="{}">{}</a>',
        address or reverse("help-term", args=[entry.key]),
        entry.text,
        kind,
        entry.source,
        label,
    )


@register.simple_tag
def term(key: str, label: str = "") -> SafeString:
    """Write a word with its explanation; a word that is not in the glossary stays plain.

    `key` is `vmstat.r`, `call.read`, `word.tier` or a name (`EAGAIN`); `label` is the text on the page, by default the
    name.
    """
    found = glossary.entry(str(key))
    shown = visible(str(label)) or (found.name if found else visible(str(key)))
    return mark(found, shown) if found else conditional_escape(shown)


@register.simple_tag
def column(table: str | Sequence[str], name: str, label: str = "") -> SafeString:
    """Write the head of a table's column with its explanation, from the first of several tables that has the column."""
    tables = (table,) if isinstance(table, str) else table
    found = next((entry for one in tables if (entry := glossary.column(one, str(name)))), None)
    shown = visible(str(label) or str(name))
    return mark(found, shown) if found else conditional_escape(shown)


@register.filter
def explained(text: object) -> SafeString:
    """Mark codes, calls, signals, parameters, columns (`vmstat.r`) and rules in a text, each once. Escape the rest."""
    whole, pieces, at, told = str(text), [], 0, set()
    for match in _WORD.finditer(whole):
        word = match[0].removesuffix("(")
        if word in told:
            continue
        made = _marked(word, bool(match[1]))
        if made is None:
            continue
        told.add(word)
        pieces += [conditional_escape(whole[at : match.start()]), made]
        at = match.start() + len(word)
    pieces.append(conditional_escape(whole[at:]))
    return mark_safe("".join(pieces))  # each piece is escaped above


@register.filter
def marked(text: object, names: frozenset[str]) -> SafeString:
    """Write a quoted line: explain it as `explained` does, and mark the figures and names that the claim holds too."""
    made = [
        format_html("<mark>{}</mark>", explained(visible(piece))) if cited else explained(visible(piece))
        for piece, cited in cited_words.pieces(str(text), names)
    ]
    return mark_safe("".join(made))  # each piece is escaped above


def _marked(word: str, called: bool) -> SafeString | None:
    if _RULE.fullmatch(word) and not glossary.explain("error", word):
        return format_html('<a class="rule" href="{}">{}</a>', reverse("rule", args=[word]), word)
    found = _meant(word)
    if found is not None and found.what == "call" and word in ORDINARY and not called:
        return None
    return mark(found, word) if found else None


@cache
def _meant(word: str) -> Entry | None:
    """Return the glossary entry of a word; None if it has none, or may be an ordinary word."""
    table, _, name = word.partition(".")
    if name and f"table.{table}" in glossary.glossary():
        return glossary.column(table, name)
    if word in OWN:
        return glossary.explain("word", word)
    for what in ("error", "signal", "fault"):
        if found := glossary.explain(what, word):
            return found
    if "_" in word or "." in word:
        found = glossary.explain("parameter", word)
        if found and (word.startswith(_KERNEL) or f"parameter.{word}" in glossary.glossary()):
            return found
    return glossary.explain("call", word) if word.islower() or "_" in word else None
