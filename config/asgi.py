"""The ASGI application of the web process: uploads go to the upload application, everything else to Django.

Django reads a whole body before a view runs. Uploads must be checked by their headers and be resumable, so they have a
separate application, and all other bodies are limited before they reach Django.
"""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

from django.core.asgi import get_asgi_application

from config.tracing import begin
from parsers.kept_patterns import install

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("EXHIBIT_PROCESS", "web")  # the only process with a pool of database connections

UPLOADS = re.compile(r"^/api/rooms/[^/]+/uploads(/|$)")
GIVING = re.compile(r"^/give/[^/]+/")

install()
begin("web")  # before Django loads its middleware
pages = get_asgi_application()


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Dispatch one connection to the upload applications or to Django, and watch the database while the server runs."""
    if scope["type"] == "lifespan":
        await _life(receive, send)
        return
    if scope["type"] != "http":
        raise ValueError(f"cannot serve {scope['type']!r} connections")
    from config.meters import measured  # after Django's set-up, like those below: it reads models

    await measured(scope, receive, send, _answer)


async def _answer(scope: Any, receive: Any, send: Any) -> None:
    """Pass a request on; set the name of the route here for requests that do not reach Django."""
    from config.meters import ROUTE

    if UPLOADS.match(scope["path"]):
        from incidents.doors.uploads import application as uploads

        scope[ROUTE] = "uploads"
        await uploads(scope, receive, send)
    elif scope["method"] in ("PUT", "POST") and GIVING.match(scope["path"]):
        from incidents.doors import upload_links

        if scope["method"] == "PUT":
            scope[ROUTE] = "give"
            await upload_links.application(scope, receive, send)
        else:
            await upload_links.guarded(scope, receive, send, pages)
    else:
        from config.away import not_waiting

        await not_waiting(scope, receive, send, _page)


async def _page(scope: Any, receive: Any, send: Any) -> None:
    from incidents.doors.bodies import limited

    await limited(scope, receive, send, pages)


async def _life(receive: Any, send: Any) -> None:
    """Watch the database from the server's start to its end."""
    from incidents.storage import keeper, pulse

    await receive()
    keeper.start(holds_for_s=keeper.IDLE_S)
    watching = asyncio.create_task(pulse.watch())
    await send({"type": "lifespan.startup.complete"})
    await receive()
    watching.cancel()
    await send({"type": "lifespan.shutdown.complete"})
