"""An object store for the tests of this folder, and hosts that share nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from incidents.storage import copies, objects
from tests.object_store import BUCKET, KEY_ID, SECRET, Proxy, Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "object-store")
    made.start()
    yield made
    made.kill()


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    made = Proxy(server)
    yield made
    made.close()


@pytest.fixture
def stored(settings, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    """Switch the object store on, by way of the proxy, with short patience."""
    settings.EXHIBIT_STORE = f"s3://{BUCKET}/some/where"
    settings.AWS_ENDPOINT_URL = proxy.address
    settings.AWS_ACCESS_KEY_ID, settings.AWS_SECRET_ACCESS_KEY = KEY_ID, SECRET
    monkeypatch.setattr(objects, "SILENT_S", 10)
    monkeypatch.setattr(objects, "RETRY_S", 1)
    objects._client.cache_clear()
    yield proxy
    copies.let_go()
    objects._client.cache_clear()


@pytest.fixture
def host(settings, stored: Proxy, tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that goes to a host by its name; each has an evidence folder of its own."""

    def go(name: str) -> Path:
        copies.let_go()
        settings.EVIDENCE_ROOT = tmp_path / "hosts" / name
        settings.EVIDENCE_ROOT.mkdir(parents=True, exist_ok=True)
        root: Path = settings.EVIDENCE_ROOT
        return root

    return go
