"""Help: the glossary as a searchable list, and a page for each term. The same for everybody who is signed in."""

from __future__ import annotations

from collections.abc import Iterable

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from incidents.content import rulebook
from incidents.content.faces import FACES, Face
from incidents.content.rulebook import Shown
from incidents.errors import Refused
from parsers.reference import glossary
from parsers.reference.glossary import Entry
from rules.model import LABELS
from rules.reporting import rule_words
from rules.reporting.signature_docs import TITLES
from rules.signatures.mechanisms import mechanisms
from rules.signatures.signatures import Signature, areas
from rules.signatures.signatures import signatures as entries

A_PAGE = 60


@require_GET
def terms(request: HttpRequest) -> HttpResponse:
    """List the glossary; `?q=` searches names first, then texts, `?what=` shows only one sort of term."""
    query = request.GET.get("q", "").strip()[:200]
    what = request.GET.get("what", "") if request.GET.get("what") in glossary.SORTS else ""
    found = _together(entry for entry in glossary.search(query) if not what or entry.what == what)
    paged = Paginator(found, A_PAGE).get_page(request.GET.get("page"))
    kept = urlencode({name: value for name, value in (("q", query), ("what", what)) if value})
    return render(
        request,
        "help/help.html",
        {
            "paged": paged,
            "q": query,
            "what": what,
            "sorts": glossary.SORTS.items(),
            "count": len(found),
            "query": f"{kept}&" if kept else "",
            "labels": [] if kept or paged.number > 1 else _labels(),
        },
    )


def _labels() -> list[tuple[Face, Entry]]:
    """Return the labels that a verdict may have, each with its meaning."""
    return [(FACES[state], glossary.glossary()[f"word.{state}"]) for state in LABELS]


@require_GET
def signatures(request: HttpRequest) -> HttpResponse:
    """List the signatures of names; `?q=` searches names, words and mechanisms, `?of=` shows only one kind of name."""
    query = request.GET.get("q", "").strip()[:200]
    of = request.GET.get("of", "") if request.GET.get("of") in TITLES else ""
    words = query.lower().split()
    found = [
        (key, area, one)
        for key, area in areas()
        if not of or key == of
        for one in entries(key, area)
        if all(word in _searched(one, area) for word in words)
    ]
    paged = Paginator(found, A_PAGE).get_page(request.GET.get("page"))
    rows = [
        (one.match[key], TITLES.get(key, key), area, one, mechanisms().get(one.mechanism or ""))
        for key, area, one in paged
    ]
    kept = urlencode({name: value for name, value in (("q", query), ("of", of)) if value})
    return render(
        request,
        "help/signatures.html",
        {
            "rows": rows,
            "paged": paged,
            "q": query,
            "of": of,
            "kinds": TITLES.items(),
            "count": len(found),
            "query": f"{kept}&" if kept else "",
        },
    )


def _searched(one: Signature, area: str) -> str:
    return f"{area} {' '.join(map(str, one.match.values()))} {one.is_} {one.mechanism or ''} {one.source}".lower()


def _together(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Put names with the same text into one row, at the place of the first."""
    rows: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        rows.setdefault((entry.what, entry.place, entry.text), []).append(entry)
    return list(rows.values())


@require_GET
def term(request: HttpRequest, term: str) -> HttpResponse:
    """Show one term. A bare name leads to its page, or to the list if it has several meanings."""
    found = glossary.entry(term)
    if found is None:
        raise Refused(f"The glossary has no entry for “{term[:80]}”. Search it at /help/.", 404)
    if found.key != term and "." not in term and len(glossary.namesakes(term)) > 1:
        return redirect(f"{reverse('help')}?{urlencode({'q': term})}")
    table = found.name if found.what == "table" else found.place if found.what == "column" else ""
    readers = [Shown(rule) for rule in rulebook.library().rules if table in rule_words.tables(rule)] if table else []
    return render(
        request,
        "help/term.html",
        {
            "entry": found,
            "same": [other for other in glossary.namesakes(found.name) if other.key != found.key],
            "table": table,
            "columns": glossary.columns_of(table) if table else [],
            "readers": readers,
        },
    )
