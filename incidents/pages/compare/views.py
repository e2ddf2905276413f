"""Did the change help? Phases and their borders, one series on two sides, profiles, counters, and the ledger."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from incidents import access
from incidents.access import Right, Room
from incidents.actions import compare as actions
from incidents.content import figures
from incidents.content.visible import visible
from incidents.drawing import series
from incidents.drawing.series import Series
from incidents.errors import Refused
from incidents.pages.compare import ledgers
from incidents.pages.compare.sides import Asked, opened
from incidents.pages.shell import is_part, shell
from incidents.pages.timeline.ranges import line_url
from incidents.work import comparisons
from rules.case import phases
from rules.statistics import contrast
from rules.statistics.contrast import amount, chance, number, percent

Json = dict[str, Any]

#: Maximum number of series of one group in the chooser; others are reached by typing their name.
MOST_OF_GROUP = 80
#: Maximum number of proposals shown for each metric.
MOST_PROPOSED = 40
#: Parts of the page that are loaded separately, each with its template.
PARTS = ("numbers", "profile", "counters", "ledger", "second")


@require_GET
@never_cache
def compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the page, or with `?part=` one part of it: slow parts are loaded separately."""
    room = access.enter(request.user, slug)
    asked = opened(room, request.GET)
    with asked.source:
        part = request.GET.get("part", "")
        if part == "again" and is_part(request):
            # A page without a comparison loses nothing by a reload.
            return HttpResponse(status=204, headers={"HX-Refresh": "true"} if asked.ready else {})
        if part in PARTS and is_part(request):
            return _part(request, room, asked, part)
        now = set(request.GET.getlist("now"))
        context = shell(room, "compare") | _page(asked)
        if asked.ready:
            if (
                "numbers" in now
                or asked.known() is not None
                or not comparisons.heavy(asked.source, context["chosen"].name)
            ):
                context |= _numbers(asked)
            if not comparisons.heavy_profile(asked.source, asked.both) or "profile" in now:
                context |= _profile(asked)
        for name, make in (("counters", _counters), ("second", _second)):
            if name in now and asked.ready:
                context |= make(asked)
        if "ledger" in now:
            context |= _ledger(asked)
        context["undo"] = _undo(room, request.GET.get("made", ""))
    return render(request, "compare/compare.html", context, status=422 if asked.faults else 200)


def _part(request: HttpRequest, room: Room, asked: Asked, part: str) -> HttpResponse:
    context: Json = {"room": room, "words": asked.words, "may": {"case": room.may(Right.CASE)}, "asked_for": True}
    if part == "ledger":
        context |= _ledger(asked)
    elif not asked.ready:
        raise Refused(asked.faults[0] if asked.faults else "Choose what to compare first.", 422)
    else:
        context |= {"numbers": _numbers, "profile": _profile, "counters": _counters, "second": _second}[part](asked)
    return render(request, f"compare/_{part}.html", context)


# --- the page -----------------------------------------------------------------------------------------------------


def _page(asked: Asked) -> Json:
    sides = asked.sides
    grouped: dict[str, list[Series]] = {}
    for one in sorted(asked.offers, key=lambda one: len(one.phases) < 2):
        grouped.setdefault(one.group, []).append(one)
    chosen = asked.series
    slug = asked.room.incident.slug
    borders = phases.neighbours(asked.spec, asked.phases)
    return {
        "chosen": chosen,
        "groups": [(group, many[:MOST_OF_GROUP], max(0, len(many) - MOST_OF_GROUP)) for group, many in grouped.items()],
        "typed": chosen is not None and all(one.name != chosen.name for one in asked.offers),
        "sides": sides,
        "one_side": next((side.title for side in sides if side is not None), ""),
        "side_offers": _side_offers(asked),
        "hosts": series.hosts(chosen.name, asked.source) if chosen else [],
        "host": asked.host,
        "faults": asked.faults,
        "words": asked.words,
        "phases": _phase_rows(asked),
        "borders": [(border, _between(border.first, border.second)) for border in borders],
        "proposals": _proposals(asked),
        "ready": asked.ready,
        "any": bool(asked.offers),
        "mechanism": comparisons.mechanism(asked.source),
        "queues": [
            (queue, reverse("finding", args=[slug, queue.key]))
            for queue in (comparisons.queues(*asked.both, asked.source, asked.report) if asked.ready else ())
        ],
        "range_link": any(side is not None and side.frame is not None for side in sides),
    }


def _between(first: str, second: str) -> str:
    return urlencode({"a": f"phase:{first}", "b": f"phase:{second}"})


def _side_offers(asked: Asked) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the choices for a side: phases, artifacts, and for a chosen range the time before and after it."""
    found = [("Phases", [(f"phase:{phase}", visible(phase)) for phase in asked.phases])]
    stretches: list[tuple[str, str]] = []
    for side in asked.sides:
        if side is not None and side.frame is not None:
            name, frame = side.frame.name, side.frame
            stretches.append((side.key, visible(side.title)))
            if frame.t0 < side.start:
                stretches.append((f"range:{name}:{frame.t0:g},{side.start:g}", f"before it, from {frame.t0:g}"))
            if side.end < frame.t1:
                stretches.append((f"range:{name}:{side.end:g},{frame.t1:g}", f"after it, to {frame.t1:g}"))
    if stretches:
        found.append(("Stretches of time", list(dict(stretches).items())))
    held = [(f"artifact:{a.id}", f"{a.id} {visible(a.file)[:60]}") for a in asked.spec.artifacts if a.reading]
    return [*found, ("Artifacts", held)]


def _phase_rows(asked: Asked) -> list[Json]:
    """Return each phase with its artifacts."""
    held: dict[str, set[int]] = {}
    for stretch in asked.source.case.stretches:
        if stretch.phase:
            held.setdefault(stretch.phase, set()).add(stretch.artifact)
    return [{"name": phase, "artifacts": sorted(held.get(phase, ()))} for phase in asked.phases]


def _proposals(asked: Asked) -> list[Json]:
    """Return the proposed borders that no border of a phase covers yet."""
    slug = asked.room.incident.slug
    found = []
    for row in comparisons.proposed(asked.source):
        cut = comparisons.cut_at(asked.source.case, row["artifact_id"], row["line_no"])
        if cut is None or cut.there_already:
            continue
        metric = row["metric"].removesuffix(".elapsed_s").replace("conn_times", "connect times")
        label = " ".join(str(word) for word in (metric, row["series"]) if word)
        found.append(
            {
                "label": label,
                "host": row["host"],
                "artifact": row["artifact_id"],
                "line": row["line_no"],
                "href": line_url(slug, row["artifact_id"], row["line_no"], row["line_no"]),
                "make": f"{reverse('compare-border', args=[slug])}?{urlencode({'artifact': row['artifact_id'], 'line': row['line_no'], 'why': label})}",
            }
        )
    return found[:MOST_PROPOSED]


def _undo(room: Room, text: str) -> Json | None:
    """Return the border that was just made, if it still exists, so that the page can offer undo."""
    made = actions.read_made(text) if text and room.may(Right.CASE) else None
    if made is None:
        return None
    there = room.incident.phases.filter(pk__in=made.phases).exists() or (
        made.marker is not None and room.incident.markers.filter(pk=made.marker).exists()
    )
    return {"text": made.text, "phases": len(made.phases), "marker": made.marker} if there else None


# --- the parts ----------------------------------------------------------------------------------------------------


def _numbers(asked: Asked) -> Json:
    one, other = asked.both
    result = asked.measured(one, other)
    found = asked.series
    border = reversal = None
    if one.phase and other.phase:
        border = phases.between(asked.spec, asked.phases, one.phase, other.phase)
        if found is not None and border.taken_back_by:
            reversal = comparisons.reversed_here(found, asked.spec, asked.phases, one, other, asked.source)
    return {
        "result": result,
        "rows": table(result),
        "caveats": comparisons.caveats(one, other, asked.report, result),
        "border": border,
        "reversal": reversal,
        "at_most": bool(found and found.at_most),
    }


def table(result: Json) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table of numbers: name, first side, second side, difference."""
    unit, first, second, tail = result["unit"], result["first"], result["second"], result["tail"]

    def said(side: Json | None, name: str) -> str:
        return amount(side[name], unit) if side and side[name] is not None else "–"

    def interval(low: float | None, high: float | None) -> str:
        return "" if low is None or high is None else f" [{number(low)}, {number(high)}]"

    def moved(name: str) -> str:
        value, change = result[f"{name}_diff"], result[f"{name}_change"]
        if value is None:
            return "–"
        share = "" if change is None else f"{100 * change:+.1f} %, "
        return f"{share}{amount(value, unit)}{interval(result[f'{name}_diff_lo'], result[f'{name}_diff_hi'])}"

    def middle(side: Json | None) -> str:
        return said(side, "median") + (interval(side["median_lo"], side["median_hi"]) if side and side["n"] > 1 else "")

    rows = [
        ("Values", number(result["of"][0]), number(result["of"][1]), ""),
        ("Median [95 %]", middle(first), middle(second), moved("median")),
        ("Mean, tail included", said(first, "mean"), said(second, "mean"), moved("mean")),
    ]
    if any(side and side["tail_n"] for side in (first, second)):
        rows.append(("Mean without the tail", said(first, "base_mean"), said(second, "base_mean"), ""))
    rows.append(("Least", said(first, "least"), said(second, "least"), ""))
    rows.append(("Largest", said(first, "most"), said(second, "most"), ""))
    if any(result["thinned"]):
        all_of = [[amount(q, unit) for q in side["quantiles"]] or ["–"] * 4 for side in result["whole"]]
        for place, name in enumerate(("p50", "p90", "p99", "largest")):
            rows.append((f"Of all values: {name}", all_of[0][place], all_of[1][place], ""))
    if result["shift"] is None or result["verdict"] == contrast.SINGLE:
        return rows
    shift = amount(result["shift"], unit) + interval(result["shift_lo"], result["shift_hi"])
    rows += [
        ("Shift, Hodges-Lehmann [95 %]", "", "", shift),
        ("Ratio, second over first", "", "", "–" if result["ratio"] is None else f"{result['ratio']:.3f}"),
        ("Cliff's delta", "", "", f"{result['cliff']:.2f}"),
        ("p, Mann-Whitney", "", "", "–" if result["p"] is None else chance(result["p"])),
    ]
    if tail and (tail["tail1"] or tail["tail2"]):
        above = [_above(tail[f"tail{k}"], result[f"n{k}"], tail[f"wilson{k}"]) for k in (1, 2)]
        rows.append(
            (f"Above {amount(tail['limit'], unit)}", above[0], above[1], f"Fisher p {chance(tail['fisher_p'])}")
        )
        if tail["p_zero"] is not None:
            rows.append((f"None in {result['n2']} by chance", "", "", chance(tail["p_zero"])))
        if tail["n_needed"] is not None:
            rows.append(("Values needed to prove it gone, if none is above", "", "", str(tail["n_needed"])))
    return rows


def _above(k: int, n: int, wilson: Json) -> str:
    return f"{k} of {n}, {percent(k / n)} [{percent(wilson['lo'])} to {percent(wilson['hi'])}]"


def _profile(asked: Asked) -> Json:
    one, other = asked.both
    if comparisons.unmade(asked.source, asked.both):
        return {"profile": None, "profiled": True, "later": True}
    found = asked.kept.ask(lambda: [comparisons.profile(one, other, asked.source)], "profile", one.key, other.key)[0]
    if found is None:
        return {"profile": None, "profiled": True}
    slug = asked.room.incident.slug
    rows = [_call(row, slug, bool(found["cycles"])) for row in found["changes"]]
    return {"profile": found, "profiled": True, "calls": rows, "sides": asked.sides}


def _call(row: Json, slug: str, cycles: bool) -> Json:
    def part(side: Json) -> Json:
        lines = side["artifact"] is not None
        return side | {
            "n_text": number(side["n"]) if side["n"] else "–",
            "s_text": f"{side['seconds']:.4f}" if side["n"] else "–",
            "cpu_text": "" if side["cpu_s"] is None else f"{side['cpu_s']:.4f}",
            "href": line_url(slug, side["artifact"], side["line_from"], side["line_to"]) if lines else "",
        }

    return row | {
        "first": part(row["first"]),
        "second": part(row["second"]),
        "difference_text": f"{row['difference']:+.4f}" if abs(row["difference"]) >= 0.00005 else "0",
    }


def _counters(asked: Asked) -> Json:
    one, other = asked.both
    rows = asked.kept.ask(
        lambda: comparisons.counters(one, other, asked.offers, asked.source), "counters", one.key, other.key
    )
    names = ("p50", "p90", "p99", "max")
    sides = urlencode({"a": one.key, "b": other.key})
    return {
        "counted": True,
        "sides": asked.sides,
        "counters": [
            {
                "title": row["title"],
                "unit": row["unit"],
                "sides": [[number(side["n"]), *(number(side[name]) for name in names)] for side in row["sides"]],
                "query": f"{urlencode({'series': row['name']})}&{sides}",
            }
            for row in rows
        ],
    }


def _ledger(asked: Asked) -> Json:
    return {"ledger": asked.ledger, "ledger_known": True, "chosen": asked.series, "words": asked.words}


def _second(asked: Asked) -> Json:
    found = asked.series
    if found is None:
        return {}
    slug = asked.room.incident.slug
    rows = asked.kept.ask(
        lambda: comparisons.second_opinion(found, asked.phases, asked.source, asked.host),
        "second", found.name, asked.host or "", *asked.phases,
    )  # fmt: skip
    return {
        "seconded": True,
        "chosen": found,
        "splits": [row | {"href": line_url(slug, row["artifact"], row["line"], row["line"]), "p_text": chance(row["p"])} for row in rows],
    }  # fmt: skip


# --- figure and exports -------------------------------------------------------------------------------------------


@require_GET
@never_cache
def figure(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer with the dot plot as Plotly's JSON, or with `null` if there is nothing to draw."""
    room = access.enter(request.user, slug)
    asked = opened(room, request.GET)
    with asked.source:
        drawn = figures.two_sides(asked.measured(*asked.both)) if asked.ready else None
    return JsonResponse({"figure": drawn, "lines": reverse("lines", args=[slug, 0])})


@require_GET
@never_cache
def ledger(request: HttpRequest, slug: str, form: str) -> HttpResponse:
    """Hand out the ledger as CSV or as Markdown."""
    room = access.enter(request.user, slug)
    asked = opened(room, request.GET)
    with asked.source:
        found = asked.ledger
        title = asked.series.title if asked.series else "nothing yet"
    if form == "csv":
        answer = HttpResponse(ledgers.as_csv(found), content_type="text/csv; charset=utf-8")
    else:
        text = ledgers.as_markdown(found, room.incident.title, title)
        answer = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="ledger-{slug}.{form}"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
