"""Encrypt stored secrets (seal them) with a key derived from SECRET_KEY, which is stored outside the database."""

from __future__ import annotations

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

MARK = "sealed:"


def seal(text: str) -> str:
    return MARK + _fernet().encrypt(text.encode()).decode("ascii")


def is_plain(text: str) -> bool:
    """Tell whether a stored text was never sealed."""
    return not text.startswith(MARK)


def unseal(text: str) -> str | None:
    """Decrypt a text; return None if it was sealed with another key, and a text that was never sealed unchanged."""
    if is_plain(text):
        return text
    try:
        return _fernet().decrypt(text.removeprefix(MARK).encode()).decode()
    except InvalidToken:
        return None


def fingerprint() -> str:
    """Return a hash by which two installations can compare their keys without revealing them."""
    return hashlib.blake2b(_key(), person=b"fingerprint", digest_size=8).hexdigest()


def _key() -> bytes:
    return hashlib.blake2b(settings.SECRET_KEY.encode(), person=b"exhibit seals", digest_size=32).digest()


def _fernet() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(_key()))
