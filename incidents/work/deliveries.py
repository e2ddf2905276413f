"""Send webhook deliveries: one worker per address at a time, in order, with retries."""

from __future__ import annotations

import time
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from incidents.content.visible import visible
from incidents.content.webhook_words import body_of
from incidents.errors import Refused
from incidents.models.room.webhook import ATTEMPTS, LEASE, Delivery, DeliveryState, Webhook
from incidents.work import webhook_client
from parsers.secrets.words import without_secrets

log = structlog.get_logger(__name__)

#: Seconds to wait after each failed try; the last try is five and a half hours after the event.
PAUSES_S = (15, 60, 300, 3600, 14400)
AT_ONCE = 5  # deliveries to one address in one go
KEPT = timedelta(days=30)  # age at which finished deliveries are deleted
WELL = range(200, 300)  # HTTP statuses of a success


def send_due() -> bool:
    """Lease an address with due messages and send it a few; return whether more are due."""
    hook = _take()
    if hook is None:
        return False
    try:
        for delivery in Delivery.objects.due().filter(webhook=hook).order_by("created_at", "id")[:AT_ONCE]:
            if not send(delivery):
                break  # the next ones would fail as well; each has its own time
            Webhook.objects.filter(pk=hook.pk).update(lease_until=timezone.now() + LEASE)
    finally:
        Webhook.objects.filter(pk=hook.pk).update(lease_until=None)
    return any_due()


def any_due() -> bool:
    return Delivery.objects.due().filter(webhook__in=_free()).exists()


def _free() -> QuerySet[Webhook]:
    """Return the addresses that may be sent to now: not paused, not removed, and without another worker's lease."""
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=timezone.now())
    return Webhook.objects.filter(free, paused_at__isnull=True, removed_at__isnull=True)


def _take() -> Webhook | None:
    """Lease an address; the lease of a worker that dies ends after `LEASE`."""
    due = Delivery.objects.due().filter(webhook=OuterRef("pk"))
    with transaction.atomic():
        hook = _free().filter(Exists(due)).order_by("pk").select_for_update(skip_locked=True).first()
        if hook is not None:
            Webhook.objects.filter(pk=hook.pk).update(lease_until=timezone.now() + LEASE)
        return hook


def send(delivery: Delivery) -> bool:
    """Try a delivery once and store the result. The body is made at the first try and stays the same."""
    if delivery.body is None:
        delivery.body = body_of(delivery)
        if delivery.body is None:
            delivery.delete()  # nothing to send: its object was deleted
            return True
        delivery.save(update_fields=("body",))
    body, at = delivery.body.encode(), int(time.time())
    headers = {
        "User-Agent": "Exhibit-Webhook/1",
        "Exhibit-Event": delivery.kind,
        "Exhibit-Delivery": str(delivery.pk),
        "Exhibit-Signature": webhook_client.signature(delivery.webhook.secret, body, at),
    }
    delivery.attempt += 1
    delivery.tried_at = timezone.now()
    delivery.status = delivery.took_ms = None
    well = False
    try:
        receipt = webhook_client.post(delivery.webhook.url, body, headers)
    except (webhook_client.NotSent, Refused) as error:
        delivery.answer = str(error)[:600]
    else:
        well = receipt.status in WELL
        delivery.status, delivery.took_ms = receipt.status, receipt.took_ms
        words = without_secrets(visible(receipt.words, keep="\n"))
        if 300 <= receipt.status < 400:
            words = f"It answered with a redirect, which is not followed. {words}"
        delivery.answer = words[:600]
    if well:
        delivery.state = DeliveryState.SENT
    elif delivery.attempt >= ATTEMPTS or delivery.kind == "test":
        delivery.state = DeliveryState.FAILED
    else:
        delivery.next_at = timezone.now() + timedelta(seconds=PAUSES_S[delivery.attempt - 1])
    delivery.save()
    log.info("webhook.tried", delivery=str(delivery.pk), attempt=delivery.attempt, status=delivery.status, well=well)
    return well


def forget_old() -> int:
    return Delivery.objects.filter(created_at__lt=timezone.now() - KEPT).exclude(state=DeliveryState.QUEUED).delete()[0]
