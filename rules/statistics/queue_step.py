"""What a shorter service time would do to an observed wait if arrivals came at random: plausibility, never a forecast.

From an observed wait in the queue both models give the load that would explain it; the same arrivals at the new service
time give the new wait. Source and limits: `rules.statistics.queueing`.
Worked example: a wait of 3.9227 s before a server that takes 0.2962 s: 13.2 ahead; M/M/1 load 0.930, 3.14 arrivals a
second; M/D/1 0.964, 3.25. At 0.2012 s the wait would be 0.345 or 0.191 s.
"""

from __future__ import annotations

from dataclasses import dataclass

from rules.statistics.contrast import amount, number
from rules.statistics.queueing import waits


@dataclass(frozen=True)
class Step:
    """One observed wait under both models, and the same arrivals at another service time (None: unstable, so no wait
    follows).
    """

    wait_s: float
    service_s: float
    new_service_s: float
    ahead: float
    rho_mm1: float
    arrivals_mm1: float
    rho_md1: float
    arrivals_md1: float
    new_mm1_s: float | None
    new_md1_s: float | None

    @property
    def in_queue(self) -> float:
        """Return the mean number of callers in the queue by Little's law: arrivals times the wait."""
        return self.arrivals_mm1 * self.wait_s

    @property
    def words(self) -> tuple[str, ...]:
        """Return sentences for both models; the sentence on the new wait only if the new service keeps up with the
        arrivals.
        """
        sentences = [
            f"A wait of {self.wait_s:.2f} s before a server that takes {self.service_s:.4f} s a caller means about "
            f"{self.ahead:.1f} callers ahead. It fits a load of {self.rho_mm1:.3f} with {self.arrivals_mm1:.2f} arrivals a "
            f"second (M/M/1), or {self.rho_md1:.3f} with {self.arrivals_md1:.2f} (M/D/1)."
        ]
        if self.new_mm1_s is None or self.new_md1_s is None:
            sentences.append(
                f"At {self.new_service_s:.4f} s a caller as many arrive as can be served: the backlog grows, and how long one waits depends on the burst."
            )
            return tuple(sentences)
        change = self.new_service_s / self.service_s - 1
        times = [self.wait_s / new for new in (self.new_mm1_s, self.new_md1_s)]
        sentences.append(
            f"At {self.new_service_s:.4f} s ({100 * change:+.0f} %) the same arrivals would wait {self.new_mm1_s:.3f} s (M/M/1) or "
            f"{self.new_md1_s:.3f} s (M/D/1): roughly {int(min(times))} to {int(max(times))} times "
            + ("less." if self.new_service_s < self.service_s else "the old.")
        )
        sentences.append(
            "Plausible, not a forecast: it assumes random arrivals and one caller at a time, and a traced service is longer than an untraced one."
        )
        return tuple(sentences)


def step(wait_s: float, service_s: float, new_service_s: float) -> Step | None:
    """Return both models of a wait; None if there is no wait or no service time."""
    if wait_s <= 0 or service_s <= 0 or new_service_s <= 0:
        return None
    rho_mm1, rho_md1 = wait_s / (wait_s + service_s), 2 * wait_s / (2 * wait_s + service_s)
    new_mm1, new_md1 = waits(new_service_s, rho_mm1 / service_s), waits(new_service_s, rho_md1 / service_s)
    return Step(
        wait_s,
        service_s,
        new_service_s,
        ahead=wait_s / service_s,
        rho_mm1=rho_mm1,
        arrivals_mm1=rho_mm1 / service_s,
        rho_md1=rho_md1,
        arrivals_md1=rho_md1 / service_s,
        new_mm1_s=new_mm1.mm1_s if new_mm1 else None,
        new_md1_s=new_md1.md1_s if new_md1 else None,
    )


def mechanism_words(row: dict[str, float | str | None]) -> str:
    """Describe a row of `predictions`: what the shorter connects alone would have gained, compared with what was
    reported.
    """

    def at(name: str) -> float | None:
        value = row[name]
        return float(value) if isinstance(value, (int, float)) else None

    workers, per_item = at("workers") or 1, at("per_item") or 1
    item_s, predicted, lo, hi, observed, rest = (
        at(n) for n in ("item_s", "predicted", "lo", "hi", "observed", "rest_s")
    )
    one = "one worker" if workers == 1 else f"{number(workers)} workers"
    per = "one connect" if per_item == 1 else f"{number(per_item)} connects"
    sentence = (
        f"{row['from_phase']} → {row['to_phase']}: with {one} and {per} an item took {amount(item_s or 0, 's')}. "
    )
    if predicted is None or observed is None:
        return (
            sentence
            + "The shorter connects would take more than all of it: they cannot be the whole of an item's time."
        )
    upper = "no upper bound" if hi is None else f"{hi:.3g}"
    sentence += f"If only the connects got shorter, {predicted:.1f} a minute would be expected [{lo or 0:.3g}, {upper}]; {number(observed)} were reported."
    inside = (lo or 0) <= observed and (hi is None or observed <= hi)
    left = 0.0 if rest is None else rest
    if abs(left) < 0.01 * (item_s or 1):
        return sentence + " The connects explain it."
    more = f"{abs(left):.2f} s an item"
    if left < 0:
        return (
            sentence
            + f" {more} more were gained than connect time explains"
            + (", within its interval." if inside else ".")
        )
    return (
        sentence
        + f" {more} less were gained than connect time would bring"
        + (", within its interval." if inside else ".")
    )
