"""Manage webhooks, external addresses that receive events of a room: add, pause, remove, test, retry."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Sequence

from django.utils import timezone

from incidents import tasks
from incidents.access import Right, Room
from incidents.actions.record import Deed, deed
from incidents.content.chat_forms import suggested
from incidents.content.visible import visible
from incidents.content.webhook_words import TEST
from incidents.errors import Refused
from incidents.models.room.webhook import Delivery, DeliveryState, HookForm, HookKind, Webhook
from incidents.work import webhook_client

MOST = 10  # webhooks of one room


def add(room: Room, url: str, kinds: Sequence[str], form: str = "") -> Webhook:
    """Add an address; its secret (`Webhook.secret`) is for the receiver and is shown once.

    `form`: one of `HookForm`; if it is empty, the address decides.
    """
    url = url.strip()
    if len(url) > 500:
        raise Refused("The address is longer than 500 characters.")
    webhook_client.split(url)
    if not kinds or not set(kinds) <= set(HookKind.values):
        raise Refused("Choose at least one kind of news.")
    form = form or suggested(url)
    if form not in HookForm.values:
        raise Refused("Choose a form from the list.")
    with deed(room, Right.HOOKS) as doing:
        living = doing.incident.webhooks.filter(removed_at__isnull=True)
        if living.count() >= MOST:
            raise Refused(f"A room has at most {MOST} webhooks; remove one first.", 409)
        if living.filter(url=url).exists():
            raise Refused("This address is here already.", 409)
        hook = Webhook.objects.create(
            incident=doing.incident,
            url=url,
            kinds=sorted(set(kinds)),
            form=form,
            salt=secrets.token_hex(16),
            created_by=doing.room.user,
        )
        # The path of such an address is often a secret itself: the record names the host only.
        doing.record("added", f"webhook {hook.pk}", host=_host(url), kinds=hook.kinds, form=form)
        doing.tell("hook", hook.pk)
        return hook


def pause(room: Room, id: int, paused: bool = True) -> None:
    """Pause or resume sending. Events during a pause are not sent later."""
    with deed(room, Right.HOOKS) as doing:
        hook = _hook(doing, id)
        if (hook.paused_at is not None) == paused:
            return
        hook.paused_at = timezone.now() if paused else None
        hook.save(update_fields=("paused_at",))
        doing.record("paused" if paused else "resumed", f"webhook {id}")
        doing.tell("hook", id)


def remove(room: Room, id: int) -> None:
    """Stop sending to an address for good. Its log stays until it is deleted with the others."""
    with deed(room, Right.HOOKS) as doing:
        hook = _hook(doing, id)
        hook.removed_at = timezone.now()
        hook.save(update_fields=("removed_at",))
        hook.deliveries.filter(state=DeliveryState.QUEUED).update(state=DeliveryState.FAILED, answer="It was removed.")
        doing.record("removed", f"webhook {id}", host=_host(hook.url))
        doing.tell("hook", id)


def bring_back(room: Room, id: int) -> None:
    """Undo a removal; the secret stays the same."""
    with deed(room, Right.HOOKS) as doing:
        hook = doing.incident.webhooks.filter(pk=id, removed_at__isnull=False).first()
        if hook is None:
            raise Refused("There is no such webhook.", 404)
        hook.removed_at = None
        hook.save(update_fields=("removed_at",))
        doing.record("added", f"webhook {id}", host=_host(hook.url), again=True)
        doing.tell("hook", id)


def test(room: Room, id: int) -> Delivery:
    """Send one message that is marked as a test."""
    with deed(room, Right.HOOKS) as doing:
        hook = _hook(doing, id)
        if not hook.active:
            raise Refused("This webhook is paused.", 409)
        if hook.deliveries.filter(kind=TEST, state=DeliveryState.QUEUED).exists():
            raise Refused("A test is on its way.", 409)
        delivery = Delivery.objects.create(webhook=hook, kind=TEST, object="")
        doing.record("tested", f"webhook {id}")
        tasks.hint_hooks_on_commit()
        return delivery


def again(room: Room, id: int, delivery: uuid.UUID) -> None:
    """Send a failed message again, under the same id."""
    with deed(room, Right.HOOKS) as doing:
        hook = _hook(doing, id)
        rows = hook.deliveries.filter(pk=delivery).exclude(state=DeliveryState.SENT)
        if not rows.update(state=DeliveryState.QUEUED, attempt=0, next_at=timezone.now()):
            raise Refused("There is no such message to be sent again.", 404)
        doing.record("sent again", f"webhook {id}", delivery=str(delivery))
        tasks.hint_hooks_on_commit()


def _hook(doing: Deed, id: int) -> Webhook:
    hook = doing.incident.webhooks.filter(pk=id, removed_at__isnull=True).first()
    if hook is None:
        raise Refused("There is no such webhook.", 404)
    return hook


def _host(url: str) -> str:
    return visible(webhook_client.split(url).netloc)
