"""Every setting of Exhibit, all from the environment.

The table in docs/operations.md explains each; a test compares the two.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import embedded, logs, parts, policy
from config.env import env_bool, env_choice, env_int, env_list, env_path, env_secret, env_str

BASE_DIR = Path(__file__).resolve().parent.parent

# --- Paths --------------------------------------------------------------------------------------------------------

# Folder of everything this installation writes: database, evidence, mail, logs, the secret key.
EXHIBIT_VAR = env_path("EXHIBIT_VAR", BASE_DIR / "var")
# Folder of originals and tables. Files of one room may be large: put this on the big disk.
EVIDENCE_ROOT = env_path("EXHIBIT_EVIDENCE_ROOT", EXHIBIT_VAR / "evidence")
# Address of an object store with an S3 interface that holds what lies in EVIDENCE_ROOT otherwise, s3://bucket/prefix;
# the folder is then this host's own and has copies. Its endpoint and keys have the names that other tools know;
# without keys the library asks the machine for its role.
EXHIBIT_STORE = env_str("EXHIBIT_STORE").rstrip("/")
if EXHIBIT_STORE and not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w.-]+)*", EXHIBIT_STORE):
    raise ImproperlyConfigured(f"EXHIBIT_STORE={EXHIBIT_STORE!r}: an address like s3://bucket/prefix is needed")
AWS_ENDPOINT_URL = env_str("AWS_ENDPOINT_URL").rstrip("/")
AWS_REGION = env_str("AWS_REGION")
AWS_ACCESS_KEY_ID = env_secret("AWS_ACCESS_KEY_ID")
AWS_SECRET_ACCESS_KEY = env_secret("AWS_SECRET_ACCESS_KEY")
# How many bytes of copies a host keeps; those unused for longest go first, and never what is in use.
EXHIBIT_COPIES_BYTES = env_int("EXHIBIT_COPIES_BYTES", 100 * 2**30, minimum=0)
# Folder where files of ordinary forms above 2.5 MB are spooled; large uploads never are (incidents/doors/uploads.py).
FILE_UPLOAD_TEMP_DIR = EXHIBIT_VAR / "tmp"
STATIC_ROOT = EXHIBIT_VAR / "static"
EMAIL_FILE_PATH = EXHIBIT_VAR / "mail"
# Created at start by config/apps.py.
FOLDERS = [EXHIBIT_VAR, EVIDENCE_ROOT, FILE_UPLOAD_TEMP_DIR, STATIC_ROOT, EMAIL_FILE_PATH]

# Folder in which a worker makes backups by itself; None if nobody asked for that. It must be there: a disk that is not
# mounted is an error, and no reason to fill the one below it.
EXHIBIT_BACKUP_ROOT = env_path("EXHIBIT_BACKUP_ROOT", BASE_DIR) if env_str("EXHIBIT_BACKUP_ROOT") else None
if EXHIBIT_BACKUP_ROOT is not None and EXHIBIT_BACKUP_ROOT.is_relative_to(EVIDENCE_ROOT):
    raise ImproperlyConfigured(f"EXHIBIT_BACKUP_ROOT={EXHIBIT_BACKUP_ROOT}: backups would hold the backups before them")
# Hours from the beginning of one such backup to that of the next, and how many are kept.
EXHIBIT_BACKUP_HOURS = env_int("EXHIBIT_BACKUP_HOURS", 24, minimum=1)
EXHIBIT_BACKUPS_KEPT = env_int("EXHIBIT_BACKUPS_KEPT", 3, minimum=1)

# --- Address and secrets ------------------------------------------------------------------------------------------

# The URL people type, e.g. https://exhibit.example.com. Links in mails, host checks and cookies depend on it.
EXHIBIT_URL = env_str("EXHIBIT_URL", "http://127.0.0.1:8000").rstrip("/")
_address = urlsplit(EXHIBIT_URL)
if _address.scheme not in {"http", "https"} or not _address.hostname:
    raise ImproperlyConfigured(f"EXHIBIT_URL={EXHIBIT_URL!r}: an address like https://exhibit.example.com is needed")
_https = _address.scheme == "https"

# Further host names under which the server answers.
ALLOWED_HOSTS = [_address.hostname, *env_list("EXHIBIT_ALLOWED_HOSTS"), "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = [EXHIBIT_URL]
# Error pages with source text and settings: never on a server that others can reach.
DEBUG = env_bool("EXHIBIT_DEBUG", False)


def refuse_any_proxy(named: list[str]) -> None:
    """Stop the start if every caller may say whose address it has: uvicorn would take the leftmost, which callers write."""
    if "*" in named:
        raise ImproperlyConfigured(
            "FORWARDED_ALLOW_IPS=*: then every caller could name any address as its own and try passwords without end. "
            "Write the proxy's address or network, such as 172.16.0.0/12."
        )


refuse_any_proxy(env_list("FORWARDED_ALLOW_IPS"))


def secret_key(path: Path) -> str:
    """Return the key stored in `path`, mode 0600; the first process to start creates it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(64))
        try:
            os.link(draft, path)  # of two processes at once only one link succeeds, and nobody reads half a key
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text()


# Key that signs sessions and links. If unset, a key is created once and stored in var/secret-key.
SECRET_KEY = env_secret("SECRET_KEY") or secret_key(EXHIBIT_VAR / "secret-key")

# --- Applications -------------------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "config.apps.ExhibitConfig",
    "incidents",
    "config.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
]
MIDDLEWARE = [
    "config.streaming.in_pieces",
    "config.meters.routed",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.policy.with_address",
    "csp.middleware.CSPMiddleware",
    "config.away.at_once",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

# --- Database and broker ------------------------------------------------------------------------------------------


def database(url: str) -> dict[str, Any]:
    """Parse postgresql://user:password@host:port/name?sslmode=... into a DATABASES entry of Django.

    `?host=` names a folder of sockets.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise ImproperlyConfigured("DATABASE_URL: postgresql://user:password@host:port/name is needed")
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", None) or unquote(parts.hostname or "")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(options.pop("port", None) or parts.port or ""),
        "OPTIONS": options,
        "CONN_HEALTH_CHECKS": True,
    }


# What `up` writes down for the page on the site itself.
EXHIBIT_PARTS = EXHIBIT_VAR / parts.FILE

# URL of a PostgreSQL 15 to 18. If unset: the embedded server, whose socket's path depends on EXHIBIT_VAR.
DATABASE_URL = env_secret("DATABASE_URL")
DATABASES = {"default": database(DATABASE_URL or embedded.database_url(EXHIBIT_VAR))}
# Connections in the web process's pool; 0 opens one per HTTP request. Workers and commands have one each and no pool.
_pool = env_int("EXHIBIT_DB_POOL", 10)
if env_str("EXHIBIT_PROCESS") == "web" and _pool:  # set by config/asgi.py, not by people
    # The pool tries to connect again for two seconds only: later attempts begin with a request, and not up to minutes
    # after the database is back.
    DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 1, "max_size": _pool, "timeout": 10, "reconnect_timeout": 2}

# URL of a Redis or Valkey, redis://:password@host:6379/0 or unix:///path. If unset: the embedded broker.
REDIS_URL = env_secret("REDIS_URL")
EMBEDDED = {"database": not DATABASE_URL, "broker": not REDIS_URL}  # what `up` starts
REDIS_URL = REDIS_URL or embedded.broker_url(EXHIBIT_VAR)

# Sessions and cache are in the database: sign-in and rate limits outlive the broker, and all web processes share them.
SESSION_ENGINE = "django.contrib.sessions.backends.db"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache"}}

# --- Work ---------------------------------------------------------------------------------------------------------

# Celery spells URLs of unix sockets differently.
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
# A message is only a hint that a job waits in the database (incidents.tasks.sweep finds lost ones), so no result is
# stored in the broker, nothing is acknowledged late, and a broker that is away delays an HTTP request only briefly.
CELERY_TASK_IGNORE_RESULT = True
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_STORE_ERRORS_EVEN_IF_IGNORED = False
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.1, "interval_step": 0.1, "interval_max": 0.2}
CELERY_BROKER_CONNECTION_TIMEOUT = 2
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_MAX_TASKS_PER_CHILD = 200
# Queues: small files, large files, judgements, webhooks, and chores (the sweep, mails). `config/processes.py` says which
# worker takes which.
CELERY_TASK_DEFAULT_QUEUE = "chores"
CELERY_TASK_QUEUES = {
    name: {"exchange": name, "routing_key": name} for name in ("small", "large", "judge", "hooks", "chores")
}
CELERY_TASK_CREATE_MISSING_QUEUES = False
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "incidents.tasks.sweep", "schedule": 15.0, "options": {"queue": "chores", "expires": 12}}
}
CELERY_BEAT_SCHEDULE["rooms"] = {
    "task": "incidents.tasks.delete_rooms",
    "schedule": 60.0,
    "options": {"queue": "chores", "expires": 50},
}
if EXHIBIT_BACKUP_ROOT is not None:  # beat asks often; rows in the database say when one is due
    CELERY_BEAT_SCHEDULE["backup"] = {
        "task": "config.tasks.back_up",
        "schedule": 60.0,
        "options": {"queue": "chores", "expires": 50},
    }
# Days that a closed room is kept, 0 for ever; a room may have its own. Days between the announcement of a deletion and
# the deletion, within which a lead can undo it.
EXHIBIT_KEEP_DAYS = env_int("EXHIBIT_KEEP_DAYS", 0, minimum=0)
EXHIBIT_UNDO_DAYS = env_int("EXHIBIT_UNDO_DAYS", 7, minimum=1)
# Size in bytes from which a file is read by the worker for large files.
EXHIBIT_LARGE_BYTES = env_int("EXHIBIT_LARGE_BYTES", 16 * 2**20, minimum=1)
# Number of processes that read one file above 200 MB.
EXHIBIT_READ_PROCESSES = env_int("EXHIBIT_READ_PROCESSES", os.cpu_count() or 1, minimum=1)
# What reading one file may use: MB of memory, and seconds of processor time for any file and for each MB of it. A file
# that needs more is stopped and said so; nothing of it is lost.
EXHIBIT_READ_MB = env_int("EXHIBIT_READ_MB", 2048, minimum=256)
EXHIBIT_READ_SECONDS = env_int("EXHIBIT_READ_SECONDS", 60, minimum=1)
EXHIBIT_READ_SECONDS_PER_MB = env_int("EXHIBIT_READ_SECONDS_PER_MB", 4, minimum=1)
# Folders of a team's rules, packs, changed thresholds and suppressions, beside the shipped rules
# (docs/rule-reference.md).
EXHIBIT_RULES = [Path(folder).expanduser().absolute() for folder in env_list("EXHIBIT_RULES")]
# Maximum seconds and MB of one query of a rule. A rule that exceeds them is skipped in that judgement and named in the
# room.
EXHIBIT_RULE_SECONDS = env_int("EXHIBIT_RULE_SECONDS", 30, minimum=1)
EXHIBIT_RULE_MB = env_int("EXHIBIT_RULE_MB", 512, minimum=32)
# Whether members may query the evidence tables in SQL (docs/operations.md, "Questions"). Off: the page says so.
EXHIBIT_ASK = env_bool("EXHIBIT_ASK", True)

# --- Monitoring ---------------------------------------------------------------------------------------------------

# Token with which Prometheus reads /metrics; without it there is no such address, and nothing is counted.
EXHIBIT_METRICS_TOKEN = env_secret("EXHIBIT_METRICS_TOKEN")
if EXHIBIT_METRICS_TOKEN and not re.fullmatch(r"[\x21-\x7e]{24,}", EXHIBIT_METRICS_TOKEN):
    raise ImproperlyConfigured("EXHIBIT_METRICS_TOKEN: at least 24 letters, digits and signs without blanks are needed")

# --- Limits -------------------------------------------------------------------------------------------------------

# Maximum size of one uploaded file in bytes.
EXHIBIT_MAX_UPLOAD_BYTES = env_int("EXHIBIT_MAX_UPLOAD_BYTES", 20 * 2**30, minimum=1)
# Uploads are refused that would leave less than this many bytes free on the disk of EVIDENCE_ROOT.
EXHIBIT_MIN_FREE_BYTES = env_int("EXHIBIT_MIN_FREE_BYTES", 2**30)
# What one room may hold, and one sender (an upload token, or a person) may bring: incidents/storage/quotas.py.
EXHIBIT_ROOM_BYTES = env_int("EXHIBIT_ROOM_BYTES", 200 * 2**30, minimum=1)
EXHIBIT_ROOM_FILES = env_int("EXHIBIT_ROOM_FILES", 20_000, minimum=1)
EXHIBIT_DAY_BYTES = env_int("EXHIBIT_DAY_BYTES", 200 * 2**30, minimum=1)
EXHIBIT_DAY_ROOMS = env_int("EXHIBIT_DAY_ROOMS", 100, minimum=1)
EXHIBIT_OPEN_UPLOADS = env_int("EXHIBIT_OPEN_UPLOADS", 200, minimum=1)
# Hosts to which tests send webhooks on the loopback. Not read from the environment, since only tests may set it.
WEBHOOK_TEST_HOSTS: frozenset[str] = frozenset()
# Maximum size in bytes of a file in a form sent without scripts; the drop zone and curl take EXHIBIT_MAX_UPLOAD_BYTES.
EXHIBIT_MAX_FORM_BYTES = env_int("EXHIBIT_MAX_FORM_BYTES", 2**30, minimum=2**16)
# Maximum size in bytes of a form with its pasted text, and of a call of the API.
DATA_UPLOAD_MAX_MEMORY_SIZE = EXHIBIT_MAX_PASTE_BYTES = env_int("EXHIBIT_MAX_PASTE_BYTES", 8 * 2**20, minimum=2**16)

# --- People -------------------------------------------------------------------------------------------------------

# Whether anybody who reaches the server may create an account (which opens no room). Otherwise by invitation only.
EXHIBIT_OPEN_SIGNUP = env_bool("EXHIBIT_OPEN_SIGNUP", False)
# Who must have a second factor: administrators, everybody, or whoever wants one. People who sign in through the
# identity provider have theirs there.
EXHIBIT_SECOND_FACTOR = env_choice("EXHIBIT_SECOND_FACTOR", "administrators", "everybody")

AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "config.passwords.GuessableValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "rooms"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_ADAPTER = "config.adapters.AccountAdapter"
ACCOUNT_FORMS = {"login": "config.forms.LoginForm", "signup": "config.forms.SignupForm"}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*", "password2*"]
# A mail address is verified only where something depends on it, which is at the identity provider. A team's server
# often sends no mail.
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
# A mail "unknown account" would go to any address that a stranger types into the form for a new password.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
# Wrong passwords count by address and, far later, by name: a stranger who knows a name cannot lock its owner out.
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,100/5m/key"}
MFA_ADAPTER = "config.adapters.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_FORMS = {"add_webauthn": "config.forms.AddKeyForm"}
MFA_TOTP_ISSUER = "Exhibit"

# Sign-in through the team's OpenID Connect provider: its URL, and the client registered there for this server.
_oidc_url = env_str("EXHIBIT_OIDC_URL")
_oidc_client = env_str("EXHIBIT_OIDC_CLIENT_ID")
_oidc_secret = env_secret("EXHIBIT_OIDC_SECRET")
_oidc_name = env_str("EXHIBIT_OIDC_NAME", "Single sign-on")
# Origins of its sign-in page, if they differ from EXHIBIT_OIDC_URL: the content security policy must name them.
_oidc_origins = env_list("EXHIBIT_OIDC_ORIGINS")
if bool(_oidc_url) != bool(_oidc_client and _oidc_secret):
    raise ImproperlyConfigured("EXHIBIT_OIDC_URL, EXHIBIT_OIDC_CLIENT_ID and EXHIBIT_OIDC_SECRET belong together")
_oidc_app = {
    "provider_id": "oidc",
    "name": _oidc_name,
    "client_id": _oidc_client,
    "secret": _oidc_secret,
    "settings": {"server_url": _oidc_url},
}
SOCIALACCOUNT_ADAPTER = "config.adapters.SocialAccountAdapter"
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [_oidc_app] if _oidc_url else [], "OAUTH_PKCE_ENABLED": True}}
# An account is linked to the provider's account only by a mail address that the provider has verified.
SOCIALACCOUNT_EMAIL_AUTHENTICATION = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True

# --- Mail ---------------------------------------------------------------------------------------------------------

# Without a mail server, mails are files in var/mail.
EMAIL_HOST = env_str("EXHIBIT_EMAIL_HOST")
EMAIL_PORT = env_int("EXHIBIT_EMAIL_PORT", 587, minimum=1)
EMAIL_HOST_USER = env_str("EXHIBIT_EMAIL_USER")
EMAIL_HOST_PASSWORD = env_secret("EXHIBIT_EMAIL_PASSWORD")
EMAIL_USE_TLS = env_bool("EXHIBIT_EMAIL_TLS", True)
EMAIL_TIMEOUT = 10
# Whoever cannot be sent a mail cannot verify an address, and may have a second factor all the same.
MFA_ALLOW_UNVERIFIED_EMAIL = not EMAIL_HOST
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'filebased'}.EmailBackend"
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env_str("EXHIBIT_EMAIL_FROM", f"exhibit@{_address.hostname}")

# --- Static files -------------------------------------------------------------------------------------------------

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- Security headers ---------------------------------------------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],  # the QR code of the second factor, pictures made of a chart
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        # Browsers apply this to redirects of a form, too: those to the identity provider must be allowed.
        "form-action": [
            SELF,
            *([f"{urlsplit(_oidc_url).scheme}://{urlsplit(_oidc_url).netloc}"] if _oidc_url else []),
            *_oidc_origins,
        ],
        # Where browsers report what they stopped. Those that know the first ignore the second, and send nothing by the
        # first to an address without TLS.
        **({"report-to": [policy.GROUP]} if _https else {}),
        "report-uri": [policy.ADDRESS],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = _https
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^metrics$"]  # requested from inside the containers' network, without TLS
# Seconds for which browsers insist on https after they saw it once.
SECURE_HSTS_SECONDS = env_int("EXHIBIT_HSTS_SECONDS", 30 * 86400) if _https else 0
# The owner of the domain decides on sub-domains and browsers' preload lists, not one server in it.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
# Whether a proxy in front speaks TLS and sets X-Forwarded-Proto itself. Without it anybody could send that header.
if env_bool("EXHIBIT_BEHIND_PROXY", False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- Log ----------------------------------------------------------------------------------------------------------

# Log to stderr: lines for people, or one JSON object per line for machines.
LOGGING = logs.logging(env_str("EXHIBIT_LOG_FORMAT", "console"), env_str("EXHIBIT_LOG_LEVEL", "INFO").upper())
