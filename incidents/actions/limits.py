"""Rate limits: how often the same caller may try a URL that takes a secret."""

from __future__ import annotations

import time

from django.core.cache import cache

from incidents.errors import Refused


def count_try(what: str, caller: str, most: int = 20, seconds: int = 300) -> None:
    """Count a try of `caller` (an address); raise `Refused` with 429 after `most` within `seconds` of the first.

    The count is in the shared cache, so that all web processes count together. Of two simultaneous tries one may be
    missed.
    """
    key, now = f"tries:{what}:{caller[:60]}", time.time()
    tries, until = cache.get(key) or (0, now + seconds)
    cache.set(key, (tries + 1, until), max(until - now, 1))
    if tries >= most:
        raise Refused("Too many tries. Wait a few minutes.", 429)
