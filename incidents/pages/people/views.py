"""Members, invitations, and joining with one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from incidents import access
from incidents.access import Right, Room
from incidents.actions import handover as handovers
from incidents.actions import members as actions
from incidents.content.names import known_as
from incidents.errors import Refused
from incidents.models.people.membership import Role, Team
from incidents.pages.forms import InviteForm, MemberForm
from incidents.pages.plan.forms import OfferForm
from incidents.pages.room import presence
from incidents.pages.rooms.views import request_user
from incidents.pages.shell import shell


@require_http_methods(["GET", "POST"])
def members(request: HttpRequest, slug: str) -> HttpResponse:
    """List the members; a POST changes or removes one, or revokes an invitation. `?part=people`: who is here now."""
    room = access.enter(request.user, slug)
    if request.method == "POST":
        return _do(request, room)
    if request.GET.get("part") == "people":
        return render(request, "people/_people.html", {"people": presence.people(room)})
    return render(request, "people/members.html", _context(room) | {"invite_form": InviteForm()})


@require_POST
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Make an invitation; its link is shown once, and mailed if an address was given."""
    room = access.enter(request.user, slug, Right.PEOPLE)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return render(request, "people/members.html", _context(room) | {"invite_form": form}, status=422)
    fields = form.cleaned_data
    secret = actions.invite(room, fields["role"], fields["team"], fields["email"])
    link = request.build_absolute_uri(reverse("join", args=[secret]))
    made = room.incident.invitations.order_by("-pk").first()
    shown = {"link": link, "email": fields["email"], "expires_at": made.expires_at if made else None}
    if fields["email"]:
        try:
            actions.send_invitation(room, fields["email"], link)
        except OSError:  # smtplib's errors are OSErrors: the link exists, only the mail failed
            form.add_error("email", "The mail could not be sent. Pass the link on yourself.")
            shown["email"] = None
    answer = render(
        request,
        "people/members.html",
        _context(room) | {"invite_form": form if form.errors else InviteForm(), "invitation": shown},
    )
    answer["Referrer-Policy"] = "strict-origin"
    return answer


@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """Let the reader of an invitation join. Newcomers make an account first; only the POST uses up the link."""
    invitation = actions.look_at(token, request.META.get("REMOTE_ADDR", ""))
    if not request.user.is_authenticated:
        request.session["invitation"] = token  # opens the sign-up page (config/adapters.py)
        back = reverse("join", args=[token])
        new = [("Make an account", f"{reverse('account_signup')}?next={back}")] if actions.may_sign_up(token) else []
        words = "Make an account or sign in" if new else "An account was made with this link. Sign in with it"
        context = {
            "heading": "You are invited to a room",
            "words": [f"{words}; then this link lets you in. It works once."],
            "links": [*new, ("Sign in", f"{reverse('account_login')}?next={back}")],
        }
        return render(request, "plain.html", context)
    access.require_factor(request.user)
    if request.method == "POST":
        incident = actions.join(request_user(request), token)
        request.session.pop("invitation", None)
        return redirect("room", incident.slug)
    context = {
        "heading": "You are invited to a room",
        "words": [f"You join “{invitation.incident.title}” as {invitation.get_role_display()}. The link works once."],
        "button": "Join the room",
    }
    return render(request, "plain.html", context)


@require_POST
def handover(request: HttpRequest, slug: str) -> HttpResponse:
    """Offer the lead to somebody, take the offer back, accept or decline it."""
    room = access.enter(request.user, slug)
    what = request.POST.get("do")
    if what == "offer":
        room.require(Right.PEOPLE)
        form = _offer_form(room, request.POST)
        if not form.is_valid():
            context = _context(room) | {"invite_form": InviteForm(), "offer_form": form}
            return render(request, "people/members.html", context, status=422)
        handovers.offer(room, form.cleaned_data["to"], form.cleaned_data["words"] or "")
    elif what == "accept":
        handovers.accept(room)
        messages.success(request, "You lead this room now.")
    elif what == "decline":
        handovers.decline(room)
    elif what == "withdraw":
        handovers.withdraw(room)
    else:
        raise Refused("There is no such action here.")
    return redirect("members", slug)


def _offer_form(room: Room, data: Any = None) -> OfferForm:
    others = room.incident.memberships.select_related("user").exclude(role=Role.LEAD).filter(user__is_active=True)
    named = [(row.user_id, known_as(row.user)) for row in others]
    return OfferForm(data, people=[one for one in named if one[0] != room.user.pk], auto_id="offer_%s")


def _do(request: HttpRequest, room: Room) -> HttpResponse:
    what = request.POST.get("do")
    if what == "revoke":
        actions.revoke(room, _id(request, "invitation"))
    elif what == "remove":
        user_id = _id(request, "member")
        actions.remove(room, user_id)
        if user_id == room.user.pk:
            return redirect("rooms")
    elif what == "change":
        form = MemberForm(request.POST)
        if not form.is_valid():
            raise Refused("Choose a role and a team from the list.")
        actions.change(room, _id(request, "member"), form.cleaned_data["role"], form.cleaned_data["team"])
    else:
        raise Refused("There is no such action here.")
    return redirect("members", room.incident.slug)


def _context(room: Room) -> dict[str, Any]:
    invitations = room.incident.invitations.filter(
        used_at__isnull=True, revoked_at__isnull=True, expires_at__gt=timezone.now()
    ).select_related("created_by")
    here = {person.user.pk: person for person in presence.people(room)}
    members = list(room.incident.memberships.select_related("user"))
    for member in members:
        # For the template only: the page that this person looks at now.
        member.here = here.get(member.user_id)  # type: ignore[attr-defined]  # no column of the model
    return shell(room, "members") | {
        "members": members,
        "roles": Role.choices,
        "teams": Team.choices,
        "invitations": list(invitations) if room.may(Right.PEOPLE) else [],
        "offer": room.incident.handovers.select_related("offered_by", "offered_to").filter(answer__isnull=True).first(),
        "offer_form": _offer_form(room) if room.may(Right.PEOPLE) else None,
    }


def _id(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused("There is no such row.", 404)
    return int(text)
