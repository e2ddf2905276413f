"""Where I am signed in, with an end to any of it, and the record of my sign-ins."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from incidents.errors import Refused
from incidents.pages.rooms.views import request_user
from incidents.storage import devices as signed_in

A_PAGE = 20


@require_http_methods(["GET", "POST"])
def devices(request: HttpRequest) -> HttpResponse:
    """List the browsers in which this person is signed in, and the tries to sign in; a POST signs one of them out, or all others."""
    user, current = request_user(request), request.session.session_key or ""
    if request.method == "GET":
        paged = Paginator(signed_in.sign_ins(user), A_PAGE).get_page(request.GET.get("page"))
        return render(request, "people/devices.html", {"devices": signed_in.devices(user, current), "rows": paged})
    if request.POST.get("do") == "others":
        count = signed_in.end_others(user, current)
        ended = "1 other browser is" if count == 1 else f"{count} other browsers are"
        messages.success(request, f"{ended} signed out.")
    elif request.POST.get("do") == "end" and request.POST.get("device", "").isdecimal():
        signed_in.end(user, int(request.POST["device"]), current)
        messages.success(request, "That browser is signed out.")
    else:
        raise Refused("There is no such action here.")
    return redirect("devices")
