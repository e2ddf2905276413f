"""Receive evidence, correct it, read it again, purge it, download it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from django.core.files.uploadedfile import UploadedFile
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import artifacts as actions
from incidents.actions import borders as moving
from incidents.actions import masks as unmasking
from incidents.actions import purge as purging
from incidents.actions import tokens
from incidents.errors import AlreadyHere, Refused
from incidents.models.evidence.artifact import Artifact, ArtifactState, CorrectedField, Way
from incidents.pages.evidence.views import artifact_of, part_of
from incidents.pages.forms import CorrectForm, PasteForm, ReasonForm, SaidForm, TokenForm, UploadForm
from incidents.pages.shell import is_part, shell, takes_files
from incidents.storage import store
from rules.collecting.collector import SCRIPTS, collector

UNKNOWN = "?"


@require_http_methods(["GET", "POST"])
@takes_files
def add(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the ways to add evidence. A POST stores a paste or a file sent without scripts, or makes a token."""
    room = access.enter(request.user, slug, Right.UPLOAD)
    forms = {
        "said": SaidForm(auto_id="said_%s"),
        "paste_form": PasteForm(auto_id="paste_%s"),
        "file_form": UploadForm(auto_id="file_%s"),
        "token_form": TokenForm(auto_id="token_%s"),
    }
    if request.method == "POST":
        if request.POST.get("make") == "token":
            return _token(request, room, forms)
        if request.POST.get("make") == "revoke":
            id = request.POST.get("token", "")
            tokens.revoke(room, int(id) if id.isascii() and id.isdigit() else 0)
            return redirect(reverse("evidence-add", args=[slug]) + "#curl")
        room.require_more_evidence()
        answer = _file(request, room, forms) if request.FILES else _paste(request, room, forms)
        if answer is not None:
            return answer
    status = 422 if request.method == "POST" else 200
    return render(request, "evidence/evidence_add.html", _context(room) | forms, status=status)


def _context(room: Room) -> dict[str, Any]:
    tokens_open = room.incident.upload_tokens.filter(revoked_at__isnull=True).select_related("created_by")
    may = room.may(Right.PEOPLE)
    held = [token for token in tokens_open if token.usable] if may else []
    return shell(room, "evidence") | {"tokens": held, "collectors": [(key, name) for key, (name, _) in SCRIPTS.items()]}


def _paste(request: HttpRequest, room: Room, forms: dict[str, Any]) -> HttpResponse | None:
    forms["paste_form"] = form = PasteForm(request.POST, auto_id="paste_%s")
    if not form.is_valid():
        return None
    text = form.cleaned_data["text"].encode()
    return _received(form, room, form.cleaned_data["name"], iter([text]), Way.PASTE, {})


def _file(request: HttpRequest, room: Room, forms: dict[str, Any]) -> HttpResponse | None:
    forms["file_form"] = form = UploadForm(request.POST, request.FILES, auto_id="file_%s")
    if not form.is_valid():
        return None
    file = form.cleaned_data.pop("file")
    return _received(form, room, file.name or "unnamed", _chunks(file), Way.PAGE, form.said())


def _chunks(file: UploadedFile[Any]) -> Iterator[bytes]:
    yield from file.chunks()


def _received(
    form: PasteForm | UploadForm, room: Room, name: str, chunks: Iterator[bytes], way: str, said: dict[str, str]
) -> HttpResponse | None:
    try:
        actions.receive_stream(room, name, chunks, way, said)
    except AlreadyHere as here:
        form.add_error(None, here.message)
        return None
    except Refused as refused:
        if refused.status in (403, 404, 409):
            raise
        form.add_error(None, refused.message)
        return None
    return redirect("evidence", room.incident.slug)


def _token(request: HttpRequest, room: Room, forms: dict[str, Any]) -> HttpResponse:
    room.require(Right.PEOPLE)
    forms["token_form"] = form = TokenForm(request.POST, auto_id="token_%s")
    context = _context(room) | forms
    if not form.is_valid():
        return render(request, "evidence/evidence_add.html", context, status=422)
    secret = tokens.create(room, form.cleaned_data["label"], form.cleaned_data["hours"])
    address = request.build_absolute_uri(f"/api/rooms/{room.incident.slug}/uploads/")
    command = f"curl --fail-with-body -H 'Authorization: Bearer {secret}' -T FILE {address}"
    row = room.incident.upload_tokens.order_by("-pk").first()
    context |= _context(room) | {"token": {"command": command, "expires_at": row.expires_at if row else None}}
    return render(request, "evidence/evidence_add.html", context)


@require_GET
def collector_script(request: HttpRequest, slug: str) -> HttpResponse:
    """Hand out the collector for a system as a file. It has the room's address in it, and no token."""
    room = access.enter(request.user, slug, Right.UPLOAD)
    system = request.GET.get("system", "linux")
    if system not in SCRIPTS:
        raise Refused("There is no collector for this system.", 404)
    address = request.build_absolute_uri(f"/api/rooms/{room.incident.slug}")
    answer = HttpResponse(collector(system, address), content_type="application/octet-stream")
    answer["Content-Disposition"] = f'attachment; filename="exhibit-{system}.sh"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


@require_http_methods(["GET", "POST"])
def correct(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Correct the fields (kind, host ...) of an artifact or, with `?part=`, of one part."""
    room = access.enter(request.user, slug, Right.CORRECT)
    artifact = artifact_of(room, number)
    if artifact.purged:
        raise Refused("This artifact was purged.", 410)
    part = part_of(artifact, request.GET.get("part"))
    lines = (part.part.line_from, part.part.line_to) if part else None
    said = {
        row.field: row.value if row.value is not None else UNKNOWN
        for row in artifact.corrections.filter(line_from=lines[0] if lines else None)
    }
    form = CorrectForm(request.POST if request.method == "POST" else None, initial=said, auto_id=f"correct-{number}-%s")
    for name, field in form.fields.items():
        guess = part.values[name].guess if part else None
        if guess:
            field.widget.attrs["placeholder"] = f"guessed: {guess}"
    if request.method == "POST" and form.is_valid():
        fields = {name: _word(value) for name, value in form.changed_values().items()}
        try:
            if fields and lines and fields.get(CorrectedField.KIND):
                moving.answer(room, number, lines, fields)
            elif fields:
                actions.correct(room, number, fields, lines)
        except Refused as refused:
            if refused.status != 400:
                raise
            form.add_error(None, refused.message)
        else:
            return _done(request, slug)
    return _form(request, room, artifact, form, "evidence/_correct.html", {"part": part})


def _word(value: str | None) -> str | None:
    """Turn a field into a value for `actions.correct`: empty takes a correction back, `?` means that nobody knows."""
    if value is None:
        return ""
    return None if value == UNKNOWN else value


@require_POST
def retry(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Read an artifact again, whether its last reading failed or not."""
    room = access.enter(request.user, slug, Right.CORRECT)
    if artifact_of(room, number).state == ArtifactState.FAILED:
        actions.retry(room, number)
    else:
        actions.reread(room, number)
    return _done(request, slug)


@require_POST
def stop(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Stop reading; rows read so far stay visible."""
    room = access.enter(request.user, slug, Right.CORRECT)
    actions.stop(room, number)
    return _done(request, slug)


@require_POST
def borders(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Move the borders of parts: `do` is part, prose, merge or undo, on lines `line_from` to `line_to`."""
    room = access.enter(request.user, slug, Right.CORRECT)
    artifact_of(room, number)
    do = request.POST.get("do", "")
    if do == "undo":
        moving.undo(room, number)
        return redirect("lines", slug, number)
    first, last = _whole(request.POST.get("line_from")), _whole(request.POST.get("line_to"))
    lines = first, last or first
    match do:
        case "part":
            moving.make_part(room, number, lines, request.POST.get("kind", "").strip() or None)
        case "prose":
            moving.make_prose(room, number, lines)
        case "merge":
            moving.merge_up(room, number, lines)
        case _:
            raise Refused("There is no such action for lines.")
    anchor = f"L{lines[0]}" if lines[0] == lines[1] else f"L{lines[0]}-L{lines[1]}"
    return redirect(f"{reverse('lines', args=[slug, number])}?at={lines[0]}#{anchor}")


@require_POST
def masks(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Lift the mask of one secret for a reason, or put it back."""
    room = access.enter(request.user, slug, Right.UNMASK)
    artifact_of(room, number)
    line, place = _whole(request.POST.get("line")), (_whole(request.POST.get("begin")), _whole(request.POST.get("end")))
    if request.POST.get("do") == "back":
        unmasking.put_back(room, number, line, place)
    else:
        unmasking.lift(room, number, line, place, request.POST.get("reason", ""))
    return redirect(f"{reverse('lines', args=[slug, number])}?at={line}#L{line}")


def _whole(text: str | None) -> int:
    """Read a number that a form sent; 0, which is not a line, for anything else."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else 0


@require_POST
def take_in(request: HttpRequest, slug: str, number: int, position: int) -> HttpResponse:
    """Make an artifact of a file in an archive although no format knows it."""
    room = access.enter(request.user, slug, Right.UPLOAD)
    actions.take_in(room, number, position)
    return redirect("lines", slug, number)


@require_http_methods(["GET", "POST"])
def purge(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Ask for the reason, then purge the artifact for good."""
    room = access.enter(request.user, slug, Right.PURGE)
    artifact = artifact_of(room, number)
    if artifact.purged:
        raise Refused("This artifact was purged already.", 410)
    form = ReasonForm(request.POST if request.method == "POST" else None, auto_id=f"purge-{number}-%s")
    if request.method == "POST" and form.is_valid():
        purging.purge(room, number, form.cleaned_data["reason"])
        return _done(request, slug)
    return _form(request, room, artifact, form, "evidence/_purge.html", {})


@require_GET
def original(request: HttpRequest, slug: str, number: int) -> FileResponse:
    """Hand out the original to a lead, as an attachment that no browser renders; the download is recorded."""
    room = access.enter(request.user, slug, Right.ORIGINAL)
    artifact = actions.note_download(room, number)
    name = store.export_names([artifact])[artifact.number]
    file: BinaryIO = store.open_original(artifact)
    answer = FileResponse(file, as_attachment=True, filename=name, content_type="application/octet-stream")
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return answer


def _done(request: HttpRequest, slug: str) -> HttpResponse:
    """Go back to the list; answer htmx with an empty body, since the room's stream announces what changed."""
    return HttpResponse("") if is_part(request) else redirect("evidence", slug)


def _form(
    request: HttpRequest, room: Room, artifact: Artifact, form: Any, part_name: str, more: dict[str, Any]
) -> HttpResponse:
    context = shell(room, "evidence") | {"artifact": artifact, "form": form, "part_name": part_name} | more
    template = part_name if is_part(request) else "one_form.html"
    return render(request, template, context, status=422 if form.errors else 200)
