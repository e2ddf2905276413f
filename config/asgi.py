"""The ASGI application of the web process: uploads go to the upload application, everything else to Django.

Django reads a whole body before a view runs. Uploads must be checked by their headers and be resumable, so they have a
separate application, and all other bodies are limited before they reach Django.
"""

from __future__ import annotations

import os
import re
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("EXHIBIT_PROCESS", "web")  # the only process with a pool of database connections

UPLOADS = re.compile(r"^/api/rooms/[^/]+/uploads(/|$)")
GIVING = re.compile(r"^/give/[^/]+/")

pages = get_asgi_application()


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Dispatch one connection to the upload applications or to Django.

    Started with `--lifespan off`: any scope but http is a mistake in the server's options.
    """
    if scope["type"] != "http":
        raise ValueError(f"cannot serve {scope['type']!r} connections; start the server with --lifespan off")
    if UPLOADS.match(scope["path"]):
        from incidents.doors.uploads import application as uploads  # after Django's set-up: it reads models

        await uploads(scope, receive, send)
    elif scope["method"] in ("PUT", "POST") and GIVING.match(scope["path"]):
        from incidents.doors import upload_links

        if scope["method"] == "PUT":
            await upload_links.application(scope, receive, send)
        else:
            await upload_links.guarded(scope, receive, send, pages)
    else:
        from incidents.doors.bodies import limited

        await limited(scope, receive, send, pages)
