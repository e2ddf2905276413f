"""The upload page of a request, for people without an account: what is asked for, how to get it, where to put it."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from incidents.actions import quarantine
from incidents.content import request_words
from incidents.errors import Refused
from incidents.models.evidence.quarantine import GiveLink, QuarantinedFile
from incidents.pages.requests.forms import AnswerFileForm, AnswerTextForm
from incidents.storage import store


@require_http_methods(["GET", "POST"])
def give(request: HttpRequest, token: str) -> HttpResponse:
    """Show what is asked for; a POST keeps a file or a text in quarantine. Nothing of the room is shown, even its
    title.

    A body reaches this view only up to the size that the link allows (`incidents/doors/upload_links.py` counts as it
    arrives).
    """
    caller = request.META.get("REMOTE_ADDR", "")
    try:
        link = quarantine.look_at(token, caller)
    except Refused as refused:
        if refused.status == 410 and (got := _receipt(request, token)):
            # The sender of the file that ended the link comes back to read what became of it.
            return render(request, "upload_link/give_over.html", {"words": refused.message, "got": got}, status=410)
        return render(request, "upload_link/give_over.html", {"words": refused.message}, status=refused.status)
    forms: dict[str, Any] = {
        "file_form": AnswerFileForm(auto_id="file_%s"),
        "text_form": AnswerTextForm(auto_id="text_%s"),
    }
    status = 200
    if request.method == "POST":
        status = 422
        is_file = bool(request.FILES) or "text" not in request.POST
        name = "file_form" if is_file else "text_form"
        form: Any = (
            AnswerFileForm(request.POST, request.FILES, auto_id="file_%s")
            if is_file
            else AnswerTextForm(request.POST, auto_id="text_%s")
        )
        forms[name] = form
        if form.is_valid():
            try:
                file = _entered(link, form, caller)
            except Refused as refused:
                if refused.status == 410:
                    return render(request, "upload_link/give_over.html", {"words": refused.message}, status=410)
                form.add_error(None, refused.message)
                status = refused.status if refused.status in (413, 507) else 422
            else:
                return redirect(f"{reverse('give', args=[token])}?got={file.pk}")
    return render(request, "upload_link/give.html", _context(request, link, token) | forms, status=status)


def _entered(link: GiveLink, form: AnswerFileForm | AnswerTextForm, caller: str) -> QuarantinedFile:
    if isinstance(form, AnswerFileForm):
        file = form.cleaned_data["file"]
        name, chunks, size = file.name or "unnamed", file.chunks(), file.size or 0
    else:
        data = form.cleaned_data["text"].encode()
        name, chunks, size = "pasted.txt", iter([data]), len(data)
    quarantine.require_room(link, size)
    incoming = store.receive_all(chunks)
    try:
        return quarantine.enter(link, incoming, name, caller)
    finally:
        incoming.discard()


def _context(request: HttpRequest, link: GiveLink, token: str) -> dict[str, Any]:
    asked = link.request
    taken = link.files.count()
    command = f"curl --fail-with-body -T FILE {request.build_absolute_uri(reverse('give', args=[token]))}"
    return {
        "link": link,
        "asked": asked,
        "left": link.most_files - taken,
        "script": request_words.block_of(asked),
        "curl": command,
        "got": _receipt(request, token),
    }


def _receipt(request: HttpRequest, token: str) -> QuarantinedFile | None:
    """Return the file that this reader has just sent: only with its number, and only behind its own link."""
    try:
        id = uuid.UUID(request.GET.get("got", ""))
    except ValueError:
        return None
    return quarantine.sent(token, id)
