"""Why an observation names a mechanism: what recognised it, where one reads that, what would speak against it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from incidents.content.observations import Observation
from rules.signatures.mechanisms import mechanisms
from rules.signatures.signatures import areas, signatures


@dataclass(frozen=True)
class Grounds:
    """What is known of an observation's mechanism, in words; empty if the observation names none.

    `sources` are references for `means`, `harmless` says when it does no harm, `shows_more` what would show more.
    """

    mechanism: str
    against: tuple[str, ...]
    none_known: str
    looks_like: tuple[str, ...]
    sources: tuple[str, ...]
    harmless: tuple[str, ...]
    shows_more: tuple[str, ...]


def grounds(one: Observation) -> Grounds:
    """Return why an observation names its mechanism."""
    known = mechanisms().get(one.mechanism)
    sources, harmless, shows_more = _recognised(one.means)
    return Grounds(
        mechanism=known.is_ if known else "",
        against=tuple(contradiction.because for contradiction in known.contradicted_by) if known else (),
        none_known=(known.none_known or "") if known else "",
        looks_like=tuple(mechanisms()[name].is_ for name in known.looks_like) if known else (),
        sources=sources,
        harmless=harmless,
        shows_more=shows_more,
    )


@lru_cache(maxsize=1024)
def _recognised(means: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return sources, harmless cases and further commands of the signatures that say these words."""
    found = [one for key, area in areas() for one in signatures(key, area) if means and one.is_ == means]
    return (
        tuple(dict.fromkeys(one.source for one in found)),
        tuple(dict.fromkeys(one.harmless for one in found if one.harmless)),
        tuple(dict.fromkeys(ask for one in found for ask in one.ask)),
    )
