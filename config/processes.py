"""The programs Exhibit consists of, beside PostgreSQL and the broker.

`up` and docker-compose.yml run these same commands; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

GRACE_S = 10  # what a stream or a download under way gets when the server is told to stop


def prepare() -> list[str]:
    """Tables, the cache's table, the files of the pages. Runs once before the others and may run again."""
    return ["python", "manage.py", "prepare"]


def web(host: str, port: int) -> list[str]:
    return [
        *("python", "-m", "uvicorn", "config.asgi:application", "--host", host, "--port", str(port)),
        *("--lifespan", "off", "--timeout-graceful-shutdown", str(GRACE_S)),
        # Addresses of invitations and of the first administrator are secrets: they must not stand in a log.
        *("--no-access-log", "--no-server-header"),
    ]


def worker(name: str, queues: Sequence[str], concurrency: int) -> list[str]:
    return [
        *("python", "-m", "celery", "--quiet", "--app", "config.celery", "worker", "--hostname", f"{name}@%h"),
        *("--queues", ",".join(queues), "--concurrency", str(concurrency)),
        *("--without-gossip", "--without-mingle", "--loglevel", "INFO"),
    ]


def beat() -> list[str]:
    """One entry every 30 s needs no memory of its last run, so there is no file to keep and to lock."""
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
    """Name every process. Large files have a worker of their own, so that a paste is read and judged beside them."""
    return {
        "web": web(host, port),
        # Webhooks go with the small files: a receiver that hangs costs ten seconds, and one at a time.
        "worker": worker("worker", ["small", "judge", "hooks"], 2),
        "worker-large": worker("worker-large", ["large"], 1),
        "beat": beat(),
    }
