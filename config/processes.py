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
        *("--http", "config.http:Protocol"),
        *("--lifespan", "on", "--timeout-graceful-shutdown", str(GRACE_S)),
        # URLs of invitations and of the first administrator are secrets: they must not be logged.
        *("--no-access-log", "--no-server-header"),
    ]


def worker(name: str, queues: Sequence[str], concurrency: int, pool: str = "prefork") -> list[str]:
    return [
        *("python", "-m", "celery", "--quiet", "--app", "config.celery", "worker", "--hostname", f"{name}@%h"),
        *("--queues", ",".join(queues), "--concurrency", str(concurrency), "--pool", pool),
        *("--without-gossip", "--without-mingle", "--loglevel", "INFO"),
    ]


def beat() -> list[str]:
    """Return the command of beat. Its few entries need no record of their last run, so no file to keep and lock."""
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
    """Return every process by name.

    Whatever may take long has workers of its own, so that nothing waits behind it: pastes not behind large files,
    readings not behind judgements, and the sweep, mails and webhooks not behind either. Those wait for other machines
    most of the time, so threads of one process do them.
    """
    return {
        "web": web(host, port),
        "worker": worker("worker", ["small"], 2),
        "worker-judge": worker("worker-judge", ["judge"], 2),
        "worker-large": worker("worker-large", ["large"], 1),
        "worker-chores": worker("worker-chores", ["chores", "hooks"], 3, pool="threads"),
        "beat": beat(),
    }
