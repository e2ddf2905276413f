"""Settings of the test suite: those of the product, with fast hashing and an outbox in memory.

DATABASE_URL, REDIS_URL and EXHIBIT_VAR are set by tests/plugins/embedded_pg.py before this is read.
"""

import os

os.environ.setdefault("SECRET_KEY", "only-for-tests-" + "x" * 50)
os.environ.setdefault("EXHIBIT_LOG_FORMAT", "console")

from config.settings import *  # noqa: F403
from config.settings import STORAGES

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
# No collectstatic before a test: names stay without hash, files come from where they lie in the tree.
STORAGES = STORAGES | {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
