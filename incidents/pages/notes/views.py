"""Notes on findings, lines, times, lanes and the room: list, write, edit, delete, restore."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import notes as actions
from incidents.content import discussions, merging
from incidents.content.references import Known
from incidents.errors import Refused
from incidents.models.people.notification import Told
from incidents.models.words.note import Note
from incidents.pages.forms import NoteEditForm, NoteForm
from incidents.pages.shell import is_part, shell

A_PAGE = 30
MOST_ON_LINES = 100
STATES = {"": "all", "open": "open", "resolved": "resolved"}
WHOSE = {"": "anybody's", "mine": "mine", "mentions": "that mention me"}


@dataclass(frozen=True)
class Beside:
    """The notes on the thing that the drawer shows, and what the form for another one sends.

    `name` is the part of the page and its id, `place` says to scripts which notes belong here. `about` are the fields of a
    note on this thing, `all` the query of the list of all its notes. `prefix` keeps the ids of threads apart that the
    page shows twice.
    """

    name: str
    place: str
    about: Mapping[str, str | int]
    all: Mapping[str, str | int]
    title: str
    none: str
    write: str
    prefix: str
    threads: list[discussions.Thread]
    earlier: int

    @property
    def count(self) -> int:
        return self.earlier + len(self.threads)

    @property
    def draft(self) -> str:
        """Return the name under which the browser keeps a half-written note."""
        return "-".join(("new", *map(str, self.about.values())))

    @property
    def part(self) -> str:
        """Return the query of the address that reloads this part."""
        return urlencode({"section": self.name, **self.about})

    @property
    def whole(self) -> str:
        return urlencode(self.all)


def room_section(room: Room, known: Known | None = None, key: str = "") -> dict[str, Any]:
    """Return the notes of the room's own page: the newest, and the number of earlier ones.

    With the key of a finding also the notes beside it; the replies of both lists are then read in one query.
    """
    shown, earlier = discussions.newest(discussions.roots(room))
    beside, earlier_beside = discussions.newest(discussions.on_finding(room, key)) if key else ([], 0)
    listed = discussions.threads(room, [*shown, *beside], known)
    section = {"notes": listed[: len(shown)], "notes_earlier": earlier, "notes_count": earlier + len(shown)}
    return section | (_beside(listed[len(shown) :], earlier_beside, key) if key else {})


def finding_section(room: Room, key: str, known: Known | None = None) -> dict[str, Any]:
    """Return the notes beside a finding."""
    shown, earlier = discussions.newest(discussions.on_finding(room, key))
    return _beside(discussions.threads(room, shown, known), earlier, key)


def _beside(listed: list[discussions.Thread], earlier: int, key: str) -> dict[str, Any]:
    return {
        "beside": Beside(
            name="finding-notes",
            place=f"finding:{key}",
            about={"finding_key": key},
            all={"finding": key},
            title="Notes on this finding",
            none="No notes on it yet.",
            write="Write a note on it",
            prefix="f-",
            threads=listed,
            earlier=earlier,
        )
    }


def lines_section(room: Room, number: int, sha256: str, known: Known | None = None) -> dict[str, Any]:
    """Return the notes beside the lines of an artifact, in line order; `known` saves look-ups."""
    shown, earlier = discussions.newest(discussions.on_lines(room, sha256), MOST_ON_LINES)
    shown.sort(key=lambda note: (note.line_from or 0, note.pk))
    listed = discussions.threads(room, shown, known)
    return {
        "line_notes": listed,
        "lines_earlier": earlier,
        "lines_count": earlier + len(shown),
        "artifact_number": number,
        "line_sha": sha256,
    }


def range_section(room: Room, number: int, first: int, last: int, known: Known | None = None) -> dict[str, Any]:
    """Return the notes on a range of an artifact's lines, both ends included; empty without such an artifact."""
    artifact = room.incident.artifacts.filter(number=number).first()
    if artifact is None:
        return {}
    shown, earlier = discussions.newest(discussions.on_range(room, artifact.sha256, first, last))
    where = str(first) if first == last else f"{first}–{last}"
    return {
        "beside": Beside(
            name="range-notes",
            place=f"range:{artifact.sha256}:{first}:{last}",
            about={"artifact": number, "line_from": first, "line_to": last},
            all={"artifact": number},
            title=f"Notes on {artifact.name} {where}",
            none="No notes on these lines.",
            write="Write a note on them",
            prefix="r-",
            threads=discussions.threads(room, shown, known),
            earlier=earlier,
        )
    }


@require_http_methods(["GET", "POST"])
def notes(request: HttpRequest, slug: str) -> HttpResponse:
    """List the discussions; a POST begins one and answers with the part in which it appears."""
    room = access.enter(request.user, slug)
    if request.method == "GET":
        if is_part(request) and "section" in request.GET:
            return _section(request, room, request.GET["section"], request.GET, NoteForm(auto_id="note_%s"))
        return _page(request, room)
    room.require(Right.READ)
    form = NoteForm(request.POST, auto_id="note_%s")
    if form.is_valid():
        fields = form.cleaned_data
        try:
            note = actions.add(
                room,
                fields["text"],
                client_id=fields["client"],
                again=fields["again"],
                finding_key=fields["finding_key"],
                artifact=fields["artifact"],
                lines=(fields["line_from"], fields["line_to"]) if fields["line_from"] is not None else None,
                clock=fields["clock"],
                times=(fields["t_from"], fields["t_to"]) if fields["t_from"] is not None else None,
                lane=fields["lane"],
                lane_label=fields["lane_label"],
            )
        except Refused as refused:
            if is_part(request) or refused.status in (403, 404):
                raise  # htmx leaves the form as it is and shows the reason
            form.add_error(None, refused.message)
        else:
            if not is_part(request):
                return redirect(_home(room, note))
            return _section(
                request, room, request.headers.get("HX-Target", ""), request.POST, NoteForm(auto_id="note_%s")
            )
    return _section(request, room, request.headers.get("HX-Target", ""), request.POST, form)


@require_GET
def note_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Ask for a note on the place that the address names (docs/interfaces.md 8); the bare form for htmx."""
    room = access.enter(request.user, slug, Right.NOTE)
    query = request.GET
    place = {
        "clock": query.get("clock"),
        "t_from": query.get("from"),
        "t_to": query.get("to"),
        "lane": query.get("lane"),
        "lane_label": query.get("label"),
        "finding_key": query.get("finding"),
        "artifact": query.get("artifact"),
        "line_from": query.get("line_from"),
        "line_to": query.get("line_to") or query.get("line_from"),
    }
    given = {name: value for name, value in place.items() if value}
    tried = NoteForm({"text": "-", **given})
    if not tried.is_valid():
        raise Refused(" ".join(str(text) for texts in tried.errors.values() for text in texts))
    form = NoteForm(initial=given, auto_id="note_%s")
    context = shell(room, "notes") | {"note_form": form, "place": _words_of(room, tried.cleaned_data)}
    template = "notes/_note_new.html" if is_part(request) else "one_form.html"
    return render(request, template, context | {"part_name": "notes/_note_new.html"})


@require_http_methods(["GET", "POST"])
def note(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Show a note's form, or save what was typed. A change by somebody else in between is merged, not overwritten."""
    room = access.enter(request.user, slug)
    row = one(room, id)
    if request.method == "GET":
        if "show" in request.GET:
            return _note(request, room, row)
        room.require(Right.NOTE)
        form = NoteEditForm({"text": row.text, "version": row.version}, auto_id=f"note-{row.pk}-%s")
        return _edit(request, room, row, form)
    form = NoteEditForm(request.POST, auto_id=f"note-{row.pk}-%s")
    if form.is_valid() and form.cleaned_data["merged"] and merging.undecided(form.cleaned_data["text"]):
        form.add_error("text", "Decide the places marked ⟦ ‖ ⟧ first: keep one side of each, or write your own.")
    if form.is_valid():
        text = form.cleaned_data["text"]
        try:
            return _note(request, room, actions.edit(room, id, text, form.cleaned_data["version"]))
        except actions.Conflict as conflict:
            return _merge(request, room, conflict, text)
        except Refused as refused:
            if is_part(request) or refused.status in (403, 404):
                raise
            form.add_error(None, refused.message)
    room.require(Right.READ)
    return _edit(request, room, row, form, 422)


@require_POST
def delete(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    """Delete a note; the answer offers undo."""
    room = access.enter(request.user, slug, Right.NOTE)
    return _note(request, room, actions.delete(room, id))


@require_POST
def restore(request: HttpRequest, slug: str, id: int) -> HttpResponse:
    room = access.enter(request.user, slug, Right.NOTE)
    return _note(request, room, actions.restore(room, id))


def one(room: Room, id: int) -> Note:
    """Return a note of this room with the people in its history; 404 for any other."""
    row: Note | None = (
        room.incident.notes.select_related("author", "edited_by", "deleted_by", "resolved_by", "reply_to")
        .filter(pk=id)
        .first()
    )
    if row is None:
        raise Refused("There is no such note.", 404)
    return row


def _page(request: HttpRequest, room: Room) -> HttpResponse:
    """Show all discussions of the room, newest first, with a search and filters."""
    asked = request.GET
    state = asked.get("state", "") if asked.get("state") in STATES else ""
    whose = asked.get("whose", "") if asked.get("whose") in WHOSE else ""
    q = asked.get("q", "").replace("\x00", "").strip()
    found = discussions.roots(room).order_by("-created_at", "-id")
    if state:
        found = found.filter(resolved_at__isnull=state == "open")
    if whose == "mine":
        found = found.filter(Q(author=room.user) | Q(replies__author=room.user)).distinct()
    elif whose == "mentions":
        named = room.user.notifications.filter(kind=Told.MENTION, incident=room.incident, note__isnull=False)
        found = found.filter(Q(pk__in=named.values("note")) | Q(pk__in=named.values("note__reply_to")))
    if q:
        spoken = discussions.living(room).filter(text__icontains=q)
        found = found.filter(Q(pk__in=spoken.values("pk")) | Q(pk__in=spoken.values("reply_to")))
    if key := asked.get("finding", ""):
        found = found.filter(finding_key=key[:16])
    number = asked.get("artifact", "")
    if number.isascii() and number.isdigit() and len(number) < 10:
        hashes = room.incident.artifacts.filter(number=int(number)).values("sha256")
        found = found.filter(sha256__in=hashes)
    paged = Paginator(found, A_PAGE).get_page(asked.get("page"))
    query = asked.copy()
    query.pop("page", None)
    context = shell(room, "notes") | {
        "paged": paged,
        "threads": discussions.threads(room, list(paged)),
        "q": q,
        "state": state,
        "states": STATES.items(),
        "whose": whose,
        "whose_all": WHOSE.items(),
        "filtered": bool(q or state or whose or key or number),
        "query": f"{query.urlencode()}&" if query else "",
    }
    return render(request, "notes/notes.html", context)


def _section(request: HttpRequest, room: Room, name: str, said: Any, form: NoteForm) -> HttpResponse:
    """Answer with the part in which a note was written: the room's list, the drawer's, or the margin of lines."""
    status = 422 if form.errors else 200
    context: dict[str, Any] = shell(room, "room") | {"note_form": form}
    if not is_part(request):
        context |= {"part_name": "notes/_note_new.html", "place": "", "page": "notes"}
        return render(request, "one_form.html", context, status=status)
    if name == "finding-notes" and said.get("finding_key"):
        context |= finding_section(room, str(said["finding_key"])[:16])
        return render(request, "notes/_beside.html", context, status=status)
    if name == "range-notes":
        place = [str(said.get(part, "")) for part in ("artifact", "line_from", "line_to")]
        if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in place):
            raise Refused("There are no such lines.", 404)
        artifact_number, first, last = map(int, place)
        found = range_section(room, artifact_number, first, last)
        if not found:
            raise Refused("There is no such artifact.", 404)
        return render(request, "notes/_beside.html", context | found, status=status)
    if name == "margin-notes":
        number = str(said.get("artifact", ""))
        artifact = room.incident.artifacts.filter(number=int(number)).first() if number.isdigit() else None
        if artifact is None:
            raise Refused("There is no such artifact.", 404)
        context |= lines_section(room, artifact.number, artifact.sha256)
        return render(request, "lines/_margin_notes.html", context, status=status)
    return render(request, "notes/_notes.html", context | room_section(room), status=status)


def _edit(request: HttpRequest, room: Room, row: Note, form: NoteEditForm, status: int = 200) -> HttpResponse:
    context = shell(room, "notes") | {"note": row, "form": form, "part_name": "notes/_note_edit.html"}
    template = "notes/_note_edit.html" if is_part(request) else "one_form.html"
    return render(request, template, context, status=status)


def _merge(request: HttpRequest, room: Room, conflict: actions.Conflict, mine: str) -> HttpResponse:
    """Show the second writer everything: the other's text, their own text, and both merged."""
    theirs = conflict.note.text
    merged = merging.merge(conflict.base, theirs, mine, conflict.name)
    fields = {"text": merged.text, "version": conflict.note.version, "merged": "1"}
    context = shell(room, "notes") | {
        "note": conflict.note,
        "name": conflict.name,
        "theirs": merging.differences(conflict.base, theirs),
        "mine": merging.differences(conflict.base, mine),
        "mine_text": mine,
        "conflicts": merged.conflicts,
        "form": NoteEditForm(fields, auto_id=f"note-{conflict.note.pk}-%s"),
        "part_name": "notes/_note_merge.html",
    }
    template = "notes/_note_merge.html" if is_part(request) else "one_form.html"
    return render(request, template, context, status=422)


def _note(request: HttpRequest, room: Room, row: Note) -> HttpResponse:
    row = one(room, row.pk)
    thread = discussions.whole(room, row, [])
    context = shell(room, "notes") | {"item": thread.first, "part_name": "notes/_note.html"}
    if is_part(request):
        return render(request, "notes/_note.html", context)
    if row.deleted_at is not None:
        return render(request, "one_form.html", context)
    return redirect(reverse("note-thread", args=[room.incident.slug, row.pk]) + f"#note-{row.pk}")


def _home(room: Room, note: Note) -> str:
    """Return the address to go to after a note is written without scripts."""
    held = {}
    if note.sha256:
        artifact = room.incident.artifacts.filter(sha256=note.sha256).first()
        held = {note.sha256: (artifact.number, artifact.name)} if artifact else {}
    place = discussions.place_of(room, note, held)
    return place.href if place else reverse("room", args=[room.incident.slug]) + f"#note-{note.pk}"


def _words_of(room: Room, place: dict[str, Any]) -> str:
    """Say in words what a new note will be about."""
    if place["finding_key"]:
        headline = room.incident.findings.filter(key=place["finding_key"]).values_list(
            "current__content__headline", flat=True
        )
        return f"on the finding “{headline[0]}”" if headline else "on a finding"
    if place["artifact"] is not None:
        name = room.incident.artifacts.filter(number=place["artifact"]).values_list("name", flat=True).first()
        if name is None:
            raise Refused("There is no such artifact.", 404)
        first, last = place["line_from"], place["line_to"]
        return f"on {name}" + (f", line {first}" + (f" to {last}" if last != first else "") if first else "")
    words = [f"on lane {place['lane_label'] or place['lane']}"] if place["lane"] else []
    if place["clock"]:
        words.append(f"on clock {place['clock']}" if not words else f"clock {place['clock']}")
    if place["t_from"] is not None:
        words.append(f"{place['t_from']:.3f} to {place['t_to']:.3f} s")
    return ", ".join(words) or "on the room"
