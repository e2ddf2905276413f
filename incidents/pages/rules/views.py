"""The rules: what each needs and says, and where it fired; a finding explained by its rule with values filled in."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from incidents import access
from incidents.content import rulebook
from incidents.content.report import LAYERS, layer_name
from incidents.content.rulebook import Explained, Shown
from incidents.errors import Refused
from incidents.pages.room.views import claim_of, newest
from incidents.pages.shell import is_part, shell
from rules.reporting import rule_words

A_PAGE = 50
ROOMS_A_PAGE = 25
SORTS = {"id": "Id", "title": "Title", "rooms": "Where it fires"}
STATES = {"": "all rules", "fired": "that fire in my rooms", "team": "of the team", "experimental": "experimental"}


@require_GET
def rules(request: HttpRequest) -> HttpResponse:
    """List all rules with the number of the person's own rooms in which each fires now."""
    library = rulebook.library()
    counts = rulebook.fired(request.user)
    query_params = request.GET
    query, layer = query_params.get("q", "").strip()[:200], query_params.get("layer", "")
    state = query_params.get("state", "") if query_params.get("state") in STATES else ""
    sort = query_params.get("sort", "id") if query_params.get("sort") in SORTS else "id"
    words = query.casefold().split()
    found = [
        shown
        for rule in library.rules
        if (shown := Shown(rule, counts.get(rule.id, 0))).matches(words)
        and (not layer or rule.file.layer == layer)
        and _in_state(shown, state)
    ]
    orders = {"id": lambda s: s.id, "title": lambda s: s.title.casefold(), "rooms": lambda s: (-s.rooms, s.id)}
    paged = Paginator(sorted(found, key=orders[sort]), A_PAGE).get_page(query_params.get("page"))
    kept = {"q": query, "layer": layer, "state": state, "sort": sort}
    return render(
        request,
        "rules/rules.html",
        {
            **kept,
            "paged": paged,
            "count": len(found),
            "total": len(library.rules),
            "layers": [(code, layer_name(code)) for code in LAYERS],
            "states": STATES.items(),
            "sorts": SORTS.items(),
            "filtered": bool(query or layer or state),
            "broken": library.broken,
            "query": urlencode({k: v for k, v in kept.items() if v}) + "&",
        },
    )


def _in_state(shown: Shown, state: str) -> bool:
    if state == "fired":
        return shown.rooms > 0
    return shown.team if state == "team" else shown.status == "experimental" if state == "experimental" else True


@require_GET
def rule(request: HttpRequest, id: str) -> HttpResponse:
    """Show one rule, with the rooms in which it fires and that the person may see."""
    found = rulebook.rule_of(id)
    if found is None:
        raise Refused("There is no such rule. Rules that older findings name may have been removed.", 404)
    f = found.file
    paged = Paginator(rulebook.rooms_of(request.user, id), ROOMS_A_PAGE).get_page(request.GET.get("page"))
    return render(
        request,
        "rules/rule.html",
        {
            "shown": Shown(found, paged.paginator.count),
            "file": f,
            "needs": [rulebook.needed(need) for need in found.requires.all],
            "one_of": [rulebook.needed(need) for need in found.requires.any],
            "confirms": [rulebook.needed(need) for need in found.requires.confirms],
            "condition": rule_words.condition(found),
            "tables": rule_words.tables(found),
            "sql": found.sql.rstrip(),
            "weights": rule_words.weights(found),
            "severity": rule_words.severity(found),
            "thresholds": rulebook.thresholds(found),
            "examples": [(test.name, *rule_words.example(test)) for test in f.tests],
            "contributing": [layer_name(code) for code in f.contributing_layers],
            "clears": [(layer_name(one.layer), one.when, one.because) for one in f.exonerates],
            "says": {
                which: [rule_words.template(text) for text in ([said] if isinstance(said, str) else said.values())]
                for which, said in (("expert", f.messages.expert), ("manager", f.messages.manager))
            },
            "references": [reference_of(entry) for entry in f.references],
            "related": [_related(entry) for entry in f.related],
            "paged": paged,
            "query": "",
        },
    )


def reference_of(entry: object) -> tuple[str, str, str]:
    """Return title, note and address of a reference; only https addresses become links."""
    if not isinstance(entry, dict):
        return (str(entry), "", "")
    address = str(entry.get("url") or "")
    return (
        str(entry.get("title") or address),
        str(entry.get("note") or ""),
        address if address.startswith("https://") else "",
    )


def _related(entry: object) -> tuple[str, str]:
    if isinstance(entry, dict):
        return (str(entry.get("id") or ""), str(entry.get("type") or "related"))
    return (str(entry), "related")


@require_GET
def explain(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Explain a finding by its rule with the values of this case filled in; a part for the drawer, else a page."""
    room = access.enter(request.user, slug)
    outlook, _, _ = newest(room)
    claim, _ = claim_of(room, outlook, key)
    explained = Explained(claim, rulebook.rule_of(claim.rule))
    if is_part(request):
        return render(request, "rules/_explained.html", {"explained": explained, "claim": claim, "room": room})
    return render(request, "rules/explained.html", shell(room, "room") | {"explained": explained, "claim": claim})
