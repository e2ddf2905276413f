"""Command lines of Exhibit's processes, except PostgreSQL and the broker.

`up` and docker-compose.yml run these same commands; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

GRACE_S = 10  # seconds for streams and downloads under way when the server stops


def prepare() -> list[str]:
    """Return the command that prepares tables, cache table and static files. It runs before the others; repeatable."""
    return ["python", "manage.py", "prepare"]


def web(host: str, port: int) -> list[str]:
    return [
        *("python", "-m", "uvicorn", "config.asgi:application", "--host", host, "--port", str(port)),
        *("--lifespan", "off", "--timeout-graceful-shutdown", str(GRACE_S)),
        # URLs of invitations and of the first administrator are secrets: they must not be logged.
        *("--no-access-log", "--no-server-header"),
    ]


def worker(name: str, queues: Sequence[str], concurrency: int) -> list[str]:
    return [
        *("python", "-m", "celery", "--quiet", "--app", "config.celery", "worker", "--hostname", f"{name}@%h"),
        *("--queues", ",".join(queues), "--concurrency", str(concurrency)),
        *("--without-gossip", "--without-mingle", "--loglevel", "INFO"),
    ]


def beat() -> list[str]:
    """Return the command of beat. One entry every 30 s needs no record of its last run, so no file to keep and lock."""
    return [
        "python",
        "-m",
        "celery",
        "--quiet",
        "--app",
        "config.celery",
        "beat",
        "--scheduler",
        "celery.beat:Scheduler",
    ]


def all_of(host: str, port: int) -> dict[str, list[str]]:
    """Return every process by name. Large files have a separate worker, so that pastes are read meanwhile."""
    return {
        "web": web(host, port),
        # Webhooks share the worker of small files: a receiver that hangs costs ten seconds, and only one at a time.
        "worker": worker("worker", ["small", "judge", "hooks"], 2),
        "worker-large": worker("worker-large", ["large"], 1),
        "beat": beat(),
    }
