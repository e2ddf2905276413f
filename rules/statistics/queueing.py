"""Mean waits before one server that serves callers in order, from a service time and an arrival rate.

For plausibility only, never a forecast: arrivals are assumed independent (Poisson), the server to be the only one.
Source: Kleinrock, Queueing Systems I (1975): M/M/1, and Pollaczek and Khinchine for M/G/1, of which M/D/1 is the case
without variation.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Waits:
    """Mean seconds in the queue, without the service itself, under three assumptions about the service time."""

    rho: float
    mm1_s: float
    md1_s: float
    mg1_s: float | None  # None if the variation of the service time is unknown


def waits(service_s: float, arrivals_ps: float, cs2: float | None = None) -> Waits | None:
    """Return the mean waits, or None if more arrive than can be served: then they depend on the length of the burst.

    `cs2` is the squared variation of the service: its variance over the square of its mean.

    >>> waits(0.2, 2.5).mm1_s
    0.2
    """
    rho = arrivals_ps * service_s
    if rho >= 1:
        return None
    mm1 = rho * service_s / (1 - rho)
    return Waits(rho, mm1, mm1 / 2, None if cs2 is None else mm1 * (1 + cs2) / 2)
