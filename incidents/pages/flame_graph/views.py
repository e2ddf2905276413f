"""The flame graph of a profile or of a thread dump, with its functions as a table; one profile against another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from incidents import access
from incidents.access import Room
from incidents.content.visible import visible
from incidents.drawing import flame_graph as drawing
from incidents.drawing.flame_graph import Block, Function, Graph, Profile, Stack
from incidents.errors import Refused
from incidents.pages.shell import shell
from incidents.pages.timeline.ranges import line_url
from incidents.storage import store
from incidents.storage.database import let_go
from incidents.work import analysis
from rules.engine.read import ReadOnly
from rules.model import CaseSpec
from rules.observers.observer import figure

Json = dict[str, Any]

LARGEST, IN_ORDER, CALLERS = "largest", "in-order", "callers"
VIEWS = (
    (LARGEST, "Largest first"),
    (IN_ORDER, "In order of time"),
    (CALLERS, "Callers and callees of one function"),
)
A_PAGE = 50
LEVEL_PX, BLOCK_PX = 18, 17
#: Width of the graph for which the server chooses labels, and width of one character, in pixels; a script fits them to
#: the window.
NOMINAL_PX, CHARACTER_PX = 1040, 6.7
#: Number of colours of functions.
SHADES = 4
#: Change of a share from which a block is drawn as larger or smaller: half a percent of the profile.
CHANGED = 0.005


@dataclass(frozen=True)
class Drawn:
    """A block as the page draws it. Places are in percent of the width and in pixels from the top."""

    href: str
    x: str
    y: int
    width: str
    text: str
    forms: str
    title: str
    look: str


@require_GET
@never_cache
def flame_graph(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one profile of the room; without any, say how to record one."""
    room = access.enter(request.user, slug)
    spec = analysis.case_of(room.incident, judged=False)
    let_go()  # a query may wait for a turn
    with ReadOnly(spec, [drawing.TABLE], store.cache_dir(room.incident.pk), with_text=True) as source:
        context = shell(room, "flame-graph") | _page(room, spec, source, request.GET)
    return render(request, "flame_graph/flame_graph.html", context)


def _page(room: Room, spec: CaseSpec, source: ReadOnly, query: Mapping[str, str]) -> Json:
    found = drawing.profiles(source) if source.has(drawing.TABLE) else []
    if not found:
        return {"profiles": []}
    names = {artifact.id: visible(artifact.file) for artifact in spec.artifacts}
    profile = _chosen(found, query.get("of", "")) or max(found, key=lambda one: (one.stacks, -one.artifact))
    other = _chosen(found, query.get("with", ""))
    wanted = query.get("view", "")
    views = [(name, title) for name, title in VIEWS if name != IN_ORDER or profile.timed]
    view = wanted if wanted in dict(views) else LARGEST
    against = other if other is not None and other.key != profile.key and view != IN_ORDER else None
    text = query.get("find", "").strip()[:200]
    stacks = drawing.stacks(profile, source, in_order=view == IN_ORDER)
    before = drawing.stacks(against, source) if against else None
    whole = sum(s.weight for s in stacks) if view == IN_ORDER else profile.weight
    chosen = {"of": profile.key, "view": view, "with": against.key if against else "", "find": text}
    page = _Page(room, profile, stacks, whole, chosen, text.casefold())
    listed = drawing.functions(stacks)
    context: Json = {
        "profiles": [(one.key, _title(one, names, found)) for one in found],
        "most_profiles": drawing.MOST_PROFILES if len(found) == drawing.MOST_PROFILES else 0,
        "profile": profile,
        "title": _title(profile, names, found),
        "against": against and _title(against, names, found),
        "chosen": chosen,
        "views": views,
        "whole": _amount(whole, profile),
        "shown": sum(s.weight for s in stacks) / whole,
        "first": len(stacks) if view == IN_ORDER and profile.stacks > len(stacks) else 0,
        "found": _found(page) if text else None,
        "lines_url": line_url(room.incident.slug, profile.artifact, 1, 1).partition("#")[0],
        "query": urlencode({**page.words, "function": query.get("function", "")}) + "&",
    }
    if view == CALLERS:
        name = query.get("function", "") or (listed[0].name if listed else "")
        context |= _around(page, name)
    else:
        context |= _whole(page, query.get("at", "")[:2000], against, before, in_order=view == IN_ORDER)
    return context | _table(page, listed, before, against, query.get("page", "1"))


@dataclass(frozen=True)
class _Page:
    """What all parts of the page share: the profile, its stacks, what they add up to, and what the address says."""

    room: Room
    profile: Profile
    stacks: Sequence[Stack]
    whole: float
    words: Json
    find: str

    def href(self, **more: str) -> str:
        """Return the address of this page with other words."""
        return "?" + urlencode({name: word for name, word in {**self.words, **more}.items() if word})

    def lines(self, numbers: Sequence[int], stacks: Sequence[Stack]) -> list[Json]:
        """Return the lines of some stacks as links."""
        slug, artifact = self.room.incident.slug, self.profile.artifact
        return [
            {
                "href": line_url(slug, artifact, s.line_from, s.line_to),
                "text": f"line {s.line_from}" if s.line_from == s.line_to else f"lines {s.line_from}-{s.line_to}",
                "amount": _amount(s.weight, self.profile),
            }
            for s in (stacks[number] for number in numbers)
        ]


def _chosen(found: Sequence[Profile], key: str) -> Profile | None:
    return next((one for one in found if one.key == key), None)


def _title(profile: Profile, names: Mapping[int, str], found: Sequence[Profile]) -> str:
    parts = {one.part for one in found if one.artifact == profile.artifact}
    words = [names.get(profile.artifact, f"artifact {profile.artifact}")]
    words += [f"part {profile.part}"] if len(parts) > 1 else []
    words += [visible(profile.event)] if profile.event else []
    return " · ".join([*words, _amount(profile.weight, profile)])


def _amount(weight: float, profile: Profile) -> str:
    """Return a weight in the profile's unit: samples, seconds, or percent of what the tool counted.

    Stacks without a moment that weigh one each are those of a thread dump: they are called stacks.
    """
    if profile.unit == "ns":
        return figure(weight / 1e9, "s")
    if profile.unit == "pct":
        return f"{weight:.4g} %"
    single = profile.weight == profile.stacks and not profile.timed
    noun = "count" if profile.unit == "count" else "stack" if single else "sample"
    return f"{weight:,.0f} {noun}{'' if weight == 1 else 's'}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _points(change: float) -> str:
    return f"{100 * change:+.3g}"


# --- graphs -----------------------------------------------------------------------------------------------------------


def _whole(page: _Page, at: str, against: Profile | None, before: Sequence[Stack] | None, in_order: bool) -> Json:
    root = drawing.tree(page.stacks, "all", in_order)
    root.weight = max(root.weight, page.whole)
    other = (drawing.tree(before, "all"), against.weight) if before is not None and against else None
    made = drawing.graph(root, page.whole, at, other)
    return {
        "graph": _drawn(page, made, lambda block: page.href(at=block.at) + "#graph"),
        "focus": _focus(page, made, page.stacks),
        "wrong_place": bool(at) and made.focus.at != at,
        "path": [(name, page.href(at=place) + "#graph") for name, place in made.path],
    }


def _around(page: _Page, function: str) -> Json:
    callers, callees = drawing.around(page.stacks, function)
    if not callers.weight:
        raise Refused(f"No stack of this profile holds the function “{visible(function[:200])}”.", 404)

    def to_function(block: Block) -> str:
        return page.href(function=block.node.name) + "#graph"

    made = [drawing.graph(root, page.whole) for root in (callers, callees)]
    graphs = zip(("Who calls it", "What it calls"), made, strict=True)
    return {
        "function": function,
        "focus": _focus(page, made[1], [s for s in page.stacks if function in s.frames]),
        "sides": [(title, _drawn(page, one, to_function)) for title, one in graphs],
    }


def _focus(page: _Page, made: Graph, stacks: Sequence[Stack]) -> Json:
    focus = made.focus
    return {
        "name": focus.node.name,
        "top": not focus.at and page.words["view"] != CALLERS,
        "amount": _amount(focus.node.weight, page.profile),
        "share": _percent(focus.share),
        "own": _percent(focus.node.own / page.whole),
        "change": None if focus.change is None else _points(focus.change),
        "callers": page.href(view=CALLERS, function=focus.node.name) + "#graph",
        "lines": page.lines(focus.node.stacks, stacks),
    }


def _drawn(page: _Page, made: Graph, href: Any) -> Json:
    return {
        "blocks": [_block(page, block, href(block)) for block in (made.focus, *made.blocks)],
        "height": (made.levels + 1) * LEVEL_PX,
        "left_out": made.left_out,
    }


def _block(page: _Page, block: Block, href: str) -> Drawn:
    name = visible(block.node.name)
    forms = drawing.forms(name)
    own = f", {_percent(block.node.own / page.whole)} itself" if block.node.own else ""
    change = "" if block.change is None else f", {_points(block.change)} points"
    title = f"{name}: {_amount(block.node.weight, page.profile)}, {_percent(block.share)}{own}{change}"
    fits = int((block.width / 100 * NOMINAL_PX - 8) / CHARACTER_PX)
    return Drawn(
        href,
        f"{block.x:.4g}%",
        block.level * LEVEL_PX,
        f"{block.width:.4g}%",
        drawing.label(name, fits),
        "\n".join(forms),
        title,
        _look(page, block),
    )


def _look(page: _Page, block: Block) -> str:
    if page.find:
        return "found" if page.find in block.node.name.casefold() else "plain"
    if block.change is not None:
        return "more" if block.change >= CHANGED else "less" if block.change <= -CHANGED else "plain"
    return f"shade-{sum(drawing.forms(block.node.name)[-1].encode()) % SHADES + 1}"


def _found(page: _Page) -> Json:
    weight = sum(s.weight for s in page.stacks if any(page.find in name.casefold() for name in s.frames))
    return {"share": _percent(weight / page.whole), "amount": _amount(weight, page.profile), "any": weight > 0}


# --- the table --------------------------------------------------------------------------------------------------------


def _table(
    page: _Page, listed: Sequence[Function], before: Sequence[Stack] | None, against: Profile | None, number: str
) -> Json:
    """Return a page of the functions: those with the most of their own first, or with the largest difference."""
    if page.find:
        listed = [one for one in listed if page.find in one.name.casefold()]
    then = {one.name: one for one in drawing.functions(before)} if before is not None else {}
    both = [(one, then.pop(one.name, None)) for one in listed]
    gone = [(Function(name, 0.0, 0.0), one) for name, one in then.items() if page.find in name.casefold()]
    whole = against.weight if against else 1.0

    def change(one: Function, old: Function | None) -> float:
        return one.total / page.whole - (old.total / whole if old else 0.0)

    every = [*both, *gone]
    if against:
        every.sort(key=lambda pair: -abs(change(*pair)))
    paged = Paginator(every, A_PAGE).get_page(number)
    rows = [
        {
            "name": one.name,
            "href": page.href(view=CALLERS, function=one.name) + "#graph" if one.total else "",
            "own": _percent(one.own / page.whole),
            "total": _percent(one.total / page.whole),
            "before": _percent(old.total / whole) if old else "",
            "change": _points(change(one, old)) if against else "",
        }
        for one, old in paged
    ]
    return {"functions": rows, "paged": paged, "functions_count": len(every)}
