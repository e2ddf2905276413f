"""Run a few lines of Python inside a running Exhibit, in `manage.py shell` with its data and settings."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from tests.served import Served

ROOM = """
import json
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from incidents import access
from incidents.actions import rooms
user, _ = User.objects.get_or_create(username="bench", defaults={"is_superuser": True, "is_staff": True})
user.set_password("a long bench password"); user.save()
session = SessionStore()
session["_auth_user_id"] = str(user.pk)
session["_auth_user_backend"] = "django.contrib.auth.backends.ModelBackend"
session["_auth_user_hash"] = user.get_session_auth_hash()
session.create()
room = rooms.create(user, rooms.Answers(title="Bench"))
print("RESULT" + json.dumps({"slug": room.slug, "session": session.session_key}))
"""


def run(served: Served, code: str) -> Any:
    """Run `code` in the served Exhibit's own shell; return what it printed as `RESULT<json>`."""
    env = os.environ | {"EXHIBIT_VAR": str(served.var), "DJANGO_SETTINGS_MODULE": "config.settings"}
    for name in ("DATABASE_URL", "REDIS_URL"):
        env.pop(name, None)
    command = [served.python, "manage.py", "shell", "-v", "0", "-c", code]
    done = subprocess.run(command, cwd=served.checkout, env=env, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if done.returncode or not lines:
        raise RuntimeError(f"the shell failed:\n{done.stdout}\n{done.stderr}")
    return json.loads(lines[-1][len("RESULT") :])


def room(served: Served) -> dict[str, str]:
    """Create a room with a signed-in administrator; return slug and session key."""
    made: dict[str, str] = run(served, ROOM)
    return made
