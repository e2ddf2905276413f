"""How often the same caller may try something: the fence before every address that takes a secret."""

from __future__ import annotations

from django.core.cache import cache

from incidents.errors import Refused


def count_try(what: str, caller: str, most: int = 20, seconds: int = 300) -> None:
    """Count a try of `caller` (an address); raise `Refused` with 429 after `most` within so many seconds.

    Counted in the shared cache, so that all web processes count together.
    """
    key = f"tries:{what}:{caller[:60]}"
    if cache.add(key, 1, seconds):
        return
    if cache.incr(key) > most:
        raise Refused("Too many tries. Wait a few minutes.", 429)
