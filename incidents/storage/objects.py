"""The object store: bytes under keys behind an S3 interface. Only this module speaks to it.

`EXHIBIT_STORE=s3://bucket/prefix` switches it on; without it the evidence folder holds everything. Each request is
bounded in time and repeated a few times. What then still fails is `StoreAway` if waiting may help, and `StoreError` if
an object is missing or is not what was stored.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, BinaryIO, TypeVar
from urllib.parse import urlsplit

from django.conf import settings

from incidents.errors import StoreAway, StoreError

if TYPE_CHECKING:
    from obstore.store import S3Config, S3Store

T = TypeVar("T")
MIB = 2**20
PIECE = 16 * 2**20
"""Bytes of one request up: S3 takes 10,000 parts, so files up to 160 GB."""
SILENT_S = 60
"""Seconds without a byte of an answer, of which the first comes when the piece that was sent is stored."""
HASTY_S = 3
"""The same where a page waits only to tell whether the store serves."""
WHOLE_S = 6 * 3600
"""Seconds for the whole of an answer: a large original over a slow line."""
CONNECT_S = 5
RETRIES = 6
RETRY_S = 20
"""Seconds within which a request is repeated. Shorter than a lease, longer than a server needs to start again."""
PAUSE_S = 0.2
NO_BUCKET = "NoSuchBucket"
MOST_AT_ONCE = 4
"""Pieces of one file under way at once."""
AGAIN = 3
"""How often a file is fetched whose bytes are not those that were stored."""


class _NoAnswer(StoreAway):
    """Nothing, or half an answer, came within the time of a request."""


def on() -> bool:
    return bool(settings.EXHIBIT_STORE)


@dataclass(frozen=True)
class Stored:
    key: str
    size: int
    modified: datetime


@lru_cache(maxsize=8)
def _client(address: str, endpoint: str, region: str, key_id: str, secret: str, hasty: bool, _process: int) -> S3Store:
    """Return a client; a hasty one asks once. Each process has its own: the library's threads survive no fork."""
    from obstore.store import S3Store

    parts = urlsplit(address)
    # SHA256: the store refuses bytes that were changed on the way to it.
    config: S3Config = {"bucket": parts.netloc, "checksum_algorithm": "SHA256"}
    if endpoint:
        config["endpoint"], config["virtual_hosted_style_request"] = endpoint, False
    if region:
        config["region"] = region
    if key_id:
        config["access_key_id"], config["secret_access_key"] = key_id, secret
    return S3Store(
        prefix=parts.path.strip("/") or None,
        config=config,
        client_options={
            "allow_http": endpoint.startswith("http://"),
            "read_timeout": f"{HASTY_S if hasty else SILENT_S}s",
            "timeout": f"{WHOLE_S}s",
            "connect_timeout": f"{CONNECT_S}s",
        },
        retry_config={
            "max_retries": 0 if hasty else RETRIES,
            "retry_timeout": timedelta(seconds=RETRY_S),
            "backoff": {
                "init_backoff": timedelta(milliseconds=200),
                "max_backoff": timedelta(seconds=5),
                "base": 2,
            },
        },
    )


def _here(hasty: bool = False) -> S3Store:
    return _client(
        settings.EXHIBIT_STORE,
        settings.AWS_ENDPOINT_URL,
        settings.AWS_REGION,
        settings.AWS_ACCESS_KEY_ID,
        settings.AWS_SECRET_ACCESS_KEY,
        hasty,
        os.getpid(),
    )


@contextmanager
def _plain_faults() -> Iterator[None]:
    """Translate errors of the library. FileNotFoundError stays: the caller knows what the missing object means."""
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

    try:
        yield
    except FileNotFoundError as error:
        if NO_BUCKET in str(error):
            raise StoreAway(f"the object store has no bucket {urlsplit(settings.EXHIBIT_STORE).netloc}") from error
        raise
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise StoreAway("the object store refuses the keys of this server (access denied)") from error
    except (BaseError, TimeoutError, ConnectionError) as error:
        raise _NoAnswer(f"the object store did not answer ({_in_short(error)})") from error


def _in_short(error: Exception) -> str:
    """Return the library's message without its debug output and the store's document of the error."""
    first = str(error).split("\n\n", 1)[0]
    return " ".join(first.split("<?xml", 1)[0].split())[:200].rstrip(" :-")


def put(key: str, content: bytes) -> None:
    """Store bytes whole under a key. Can be repeated."""
    import obstore

    with _plain_faults(), _no_object_expected(key):
        obstore.put(_here(), key, content, use_multipart=False)


def put_file(key: str, file: BinaryIO) -> None:
    """Store a file under a key, a large one in pieces. It is seen when its last byte is there. Can be repeated."""
    import obstore

    with _plain_faults(), _no_object_expected(key):
        obstore.put(_here(), key, file, chunk_size=PIECE, max_concurrency=MOST_AT_ONCE)


@contextmanager
def _no_object_expected(key: str) -> Iterator[None]:
    """Translate a 404 to a request that writes: the upload in pieces that it belongs to was given up by the store."""
    try:
        yield
    except FileNotFoundError as error:
        if NO_BUCKET in str(error):
            raise
        raise StoreAway(f"the object store lost an upload under way ({key})") from error


def get(key: str, sha256: str) -> bytes:
    """Return a small object whose hash is known. Raises `StoreError` if it is missing or holds something else."""
    import obstore

    for _ in range(AGAIN):
        content = _whole(key, lambda: bytes(obstore.get(_here(), key).bytes()))
        if hashlib.sha256(content).hexdigest() == sha256:
            return content
    raise StoreError(OTHER_BYTES.format(key=key))


OTHER_BYTES = "the object store gives other bytes for {key} than were stored there"


def fetch(key: str, target: BinaryIO, sha256: str | None) -> None:
    """Write an object into an empty file. Raises `StoreError` if it is missing, or if its hash is not the known one."""
    import obstore

    def once() -> str:
        target.seek(0)
        target.truncate()
        digest = hashlib.sha256()
        for piece in obstore.get(_here(), key).stream(min_chunk_size=MIB):
            digest.update(piece)
            target.write(piece)
        return digest.hexdigest()

    for _ in range(AGAIN):
        if _whole(key, once) == sha256 or sha256 is None:
            return
    raise StoreError(OTHER_BYTES.format(key=key))


def _whole(key: str, ask: Callable[[], T]) -> T:
    """Ask for an object, from its beginning again where the answer broke off and the library cannot go on in the
    middle.
    """
    begun = time.monotonic()
    while True:
        try:
            with _plain_faults(), _missing(key):
                return ask()
        except _NoAnswer:
            if time.monotonic() - begun > RETRY_S:
                raise
            time.sleep(PAUSE_S)


@contextmanager
def _missing(key: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        if NO_BUCKET in str(error):
            raise
        raise StoreError(f"the object store does not hold {key}") from error


def holds(key: str, size: int) -> bool:
    """Tell whether there is an object of this size."""
    import obstore

    try:
        with _plain_faults():
            return bool(obstore.head(_here(), key)["size"] == size)
    except FileNotFoundError:
        return False


def drop(keys: Iterable[str]) -> None:
    """Remove objects. Can be repeated: one that is not there is no error."""
    import obstore

    for key in keys:
        with _plain_faults():
            try:
                obstore.delete(_here(), key)
            except FileNotFoundError as error:
                if NO_BUCKET in str(error):
                    raise


def drop_folder(folder: str) -> None:
    """Remove all objects whose key begins with a folder's name; all with an empty one."""
    drop([stored.key for stored in listed(folder)])


def listed(folder: str = "") -> Iterator[Stored]:
    """Yield the objects whose key begins with a folder's name; all without one."""
    import obstore

    with _plain_faults():
        for rows in obstore.list(_here(), f"{folder}/" if folder else None):
            for row in rows:
                yield Stored(row["path"], row["size"], row["last_modified"])


def require() -> None:
    """Raise `StoreError` with the reason unless the store takes, gives and removes an object now. Does not try
    twice.
    """
    import obstore

    key = f"probe/{os.getpid()}-{os.urandom(4).hex()}"
    with _plain_faults(), _missing(key):
        obstore.put(_here(hasty=True), key, b"probe", use_multipart=False)
        obstore.get(_here(hasty=True), key).bytes()
        obstore.delete(_here(hasty=True), key)
