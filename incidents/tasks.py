"""Celery tasks. A message is only a hint that work may be waiting; the work itself is recorded in the job rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import structlog
from celery import current_app, shared_task
from celery.signals import task_postrun, worker_process_init, worker_ready
from django.db import connection, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerAway

from incidents.errors import IncidentError, StoreAway, StoreError
from incidents.models.evidence.artifact import Artifact
from incidents.models.evidence.reading import Reading, ReadingState
from incidents.models.evidence.upload import Upload
from incidents.models.people.access_token import IdempotencyKey
from incidents.models.room.job import ATTEMPTS, Job, JobKind, JobState, LeaseLost, Queue
from incidents.models.site.policy_report import PolicyReport
from incidents.storage import devices, keeper, live, meters, store
from incidents.storage.database import AWAY
from incidents.work import (
    analysis,
    arrivals,
    bundling,
    closing,
    deleting,
    deliveries,
    expiring,
    holders,
    ingest,
    mails,
    reminders,
    unbundling,
)
from parsers.reader import ReaderFault

log = structlog.get_logger(__name__)

ABANDONED_S = 24 * 3600  # seconds after which an unfinished upload is removed
PURGED_AGAIN = timedelta(hours=1)
MAILS = "mails"  # not a job queue: its rows are the notifications
HOOKS = "hooks"
CHORES = "chores"
_PATIENCE = {"socket_timeout": 2, "socket_connect_timeout": 2}  # seconds
STOPPED = (
    "The worker was stopped {n} times while it did this. Try again; if it happens again, an administrator should look "
    "at the server's memory."
)
OUR_FAULT = "Something went wrong on our side ({error}). Nothing is lost; try again."
_DEEDS: dict[str, Callable[[Job], None]] = {
    JobKind.INGEST: ingest.ingest,
    JobKind.JUDGE: analysis.analyze,
    JobKind.EXPORT: bundling.bundle,
    JobKind.IMPORT: unbundling.unbundle,
}
_FAIL: dict[str, Callable[[Job, str], None]] = {
    JobKind.INGEST: ingest.fail,
    JobKind.JUDGE: analysis.fail,
    JobKind.EXPORT: bundling.fail,
    JobKind.IMPORT: unbundling.fail,
}


@worker_process_init.connect  # type: ignore[untyped-decorator]  # Celery has no types
def warm(**_: object) -> None:
    """Start what a worker needs beside it: the process that reads or judges, so that no job waits for it, and the
    keeper.
    """
    keeper.start()
    queues = set(current_app.amqp.queues.consume_from)
    if {Queue.SMALL, Queue.LARGE} & queues:
        ingest.warm()
    if Queue.JUDGE in queues:
        analysis.warm()


def keep_copies(sender: Any, **_: object) -> None:
    """Start the keeper where threads do the work; a process that forks would hand a half-done thread to its
    children.
    """
    if sender.pool.__module__ != "celery.concurrency.prefork":
        keeper.start()


worker_ready.connect(keep_copies)


@task_postrun.connect  # type: ignore[untyped-decorator]  # as above
def count(task: object, state: str | None, **_: object) -> None:
    """Count every task that ended, by the last word of its name."""
    meters.task_ended(str(getattr(task, "name", "")).rpartition(".")[2], (state or "unknown").lower())


def hint(queue: str) -> None:
    """Tell the workers that a job, or a mail (`MAILS`), may be waiting. `sweep` repeats a hint that got lost."""
    try:
        # Not from Celery's pool: its connections wait forever for a broker that hangs, and the HTTP request would wait
        # with them.
        with current_app.connection_for_write(transport_options=_PATIENCE) as connection:
            if queue == MAILS:
                mail.apply_async(queue=CHORES, connection=connection)
            else:
                work.apply_async((queue,), queue=queue, connection=connection)
    except (BrokerAway, OSError) as error:
        log.warning("tasks.broker_away", queue=queue, error=str(error))


def hint_on_commit(queue: str) -> None:
    transaction.on_commit(lambda: hint(queue))


def hint_hooks() -> None:
    """Tell the workers that webhook deliveries are waiting. If the broker is away, `sweep` repeats the hint."""
    try:
        with current_app.connection_for_write(transport_options=_PATIENCE) as connection:
            deliver.apply_async((), queue=HOOKS, connection=connection)
    except (BrokerAway, OSError) as error:
        log.warning("tasks.broker_away", queue=HOOKS, error=str(error))


def hint_hooks_on_commit() -> None:
    transaction.on_commit(lambda: hint_hooks())


@shared_task(name="incidents.tasks.deliver")  # type: ignore[untyped-decorator]  # Celery has no types
def deliver() -> None:
    """Send a few of the waiting webhook deliveries of one address."""
    try:
        if deliveries.send_due():
            hint_hooks()
    except AWAY as error:  # the lease of the address expires, and `sweep` finds the waiting deliveries
        log.warning("hooks.database_away", error=str(error))
        connection.close()


@shared_task(name="incidents.tasks.work")  # type: ignore[untyped-decorator]  # Celery has no types
def work(queue: str) -> None:
    """Do the next job of a queue, if there is one."""
    job = Job.objects.claim(queue, holders.me())
    if job is None:
        return
    log.info("job.begins", job=job.pk, kind=job.kind, attempt=job.attempt)
    begun = time.monotonic()
    try:
        _DEEDS[job.kind](job)
    except LeaseLost:
        log.warning("job.lease_lost", job=job.pk)
    except StoreAway as error:
        _wait(job, f"{str(error)[:1].upper()}{str(error)[1:]}, so this waits. Nothing is lost: it goes on by itself.")
    except StoreError as error:
        _again_or_fail(job, str(error))
    except IncidentError as error:
        _fail(job, str(error))
    except ReaderFault as error:  # an error of ours in the process that reads
        log.error("job.failed", job=job.pk, trace=error.trace)
        _fail(job, OUR_FAULT.format(error=error.type))
    except AWAY as error:  # nothing can be written now, so the lease expires and `sweep` finds the job
        log.warning("job.database_away", job=job.pk, error=str(error))
        connection.close()
        return
    except Exception as error:  # recorded, shown in the room with "try again"
        log.exception("job.failed", job=job.pk)
        _fail(job, OUR_FAULT.format(error=type(error).__name__))
    finally:
        store.let_go_of_copies()
    _measure(job, time.monotonic() - begun)
    arrivals.tell_what_changed()
    closing.close_what_waits()
    if deliveries.any_due():
        hint_hooks()
    # Hint at the next job: a judgement after a reading, one that waited behind this one, a reading that gave way.
    for waiting in Queue.values:
        if Job.objects.waiting(waiting):
            hint(waiting)


@shared_task(name="incidents.tasks.mail")  # type: ignore[untyped-decorator]  # as above
def mail() -> None:
    """Send waiting mails, a few at a time: readings must not wait behind a slow mail server."""
    mails.send_waiting()
    if mails.waiting():
        hint(MAILS)


@shared_task(name="incidents.tasks.sweep")  # type: ignore[untyped-decorator]  # as above
def sweep() -> None:
    """Pick up the work that a lost broker or a killed worker left behind, and delete what has expired."""
    Job.objects.end_leases_of(holders.surely_gone)
    for job in Job.objects.give_up_expired():
        _fail(job, STOPPED.format(n=job.tries))
    expiring.end_what_is_past()
    arrivals.look()
    reminders.remind_of_updates()
    for queue in Queue.values:
        for _ in range(min(Job.objects.waiting(queue), 4)):
            hint(queue)
    closing.close_what_waits()
    if deliveries.any_due():
        hint_hooks()
    if mails.waiting():
        hint(MAILS)
    try:
        # Again: the process that purged it may have died after its commit, or the object store was away.
        for artifact in Artifact.objects.filter(purged_at__gt=timezone.now() - PURGED_AGAIN):
            store.purge(artifact)
        _forget()
    except StoreAway as error:
        log.warning("sweep.store_away", error=str(error))


@shared_task(name="incidents.tasks.delete_rooms")  # type: ignore[untyped-decorator]  # Celery has no types
def delete_rooms() -> None:
    """Announce the deletion of rooms that were kept for their time, and delete those whose time has come."""
    try:
        deleting.announce_what_is_past()
        deleting.announce_what_came_back()
        deleting.delete_due()
    except AWAY as error:  # a later call goes on with the step that was not finished
        log.warning("deleting.database_away", error=str(error))
        connection.close()


def _forget() -> None:
    """Delete what has expired. A replaced reading stays for an hour: open pages may still show it."""
    now = timezone.now()
    replaced = Reading.objects.filter(state=ReadingState.REPLACED, finished_at__lt=now - timedelta(hours=1))
    for reading in replaced.filter(finished_at__gt=now - timedelta(days=7)).select_related("artifact"):
        store.drop_reading(reading)
    live.forget_old()
    deliveries.forget_old()
    store.forget_incoming(ABANDONED_S)
    devices.forget_ended()
    PolicyReport.objects.forget_old()
    bundling.forget_old()
    Upload.objects.filter(created_at__lt=now - timedelta(days=7)).delete()
    IdempotencyKey.objects.filter(expires_at__lt=now).delete()


def _wait(job: Job, cause: str) -> None:
    """Let a job wait for the object store, however long it is away."""
    log.warning("job.store_away", job=job.pk, cause=cause)
    try:
        if job.kind == JobKind.INGEST:
            ingest.wait(job, cause)
        else:
            job.give_way(job.queue, ingest.SPACE_AGAIN, cause)
    except LeaseLost:
        log.warning("job.lease_lost", job=job.pk)


def _again_or_fail(job: Job, cause: str) -> None:
    if job.tries < ATTEMPTS:
        job.queue_again(timedelta(seconds=10 * job.tries), cause)
    else:
        _fail(job, f"The server's storage did not answer: {cause}. Try again.")


def _measure(job: Job, seconds: float) -> None:
    """Count an attempt at a job by its result in the row: "done", "failed", or "again" if it continues later."""
    if meters.on():
        state = Job.objects.filter(pk=job.pk).values_list("state", flat=True).first()
        ends = {JobState.DONE: "done", JobState.FAILED: "failed", JobState.QUEUED: "again"}
        meters.job_ended(job.kind, ends.get(JobState(state), "lost") if state else "lost", seconds)


def _fail(job: Job, cause: str) -> None:
    try:
        _FAIL[job.kind](job, cause)
    except LeaseLost:
        log.warning("job.lease_lost", job=job.pk)
