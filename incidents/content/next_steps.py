"""What a room should do next, at most three: the first remedy of a cause, then the evidence that settles most."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from incidents.content.report import Ask, Claim, Outlook, layer_name
from incidents.models.evidence.request import EvidenceRequest
from rules.collecting.commands import DBA, NETWORK, SYSADMIN

MOST = 3

PEOPLE = {
    "client_app": "application team",
    "client_host": SYSADMIN,
    "network": NETWORK,
    "listener": DBA,
    "name_service": SYSADMIN,
    "os_kernel": SYSADMIN,
    "database": DBA,
    "storage": "storage administrator",
    "configuration": SYSADMIN,
}
"""Who carries out a remedy, by the layer that it is for."""


@dataclass(frozen=True)
class Step:
    """One thing to do: what, for whom, how long. A remedy leads to its finding, an ask can be requested."""

    what: str
    who: str
    where: str
    takes: str
    why: str
    command: str = ""
    ask_id: str = ""
    finding_key: str = ""
    asked_at: datetime | None = None
    request_id: int | None = None
    by: int | None = None
    """Who asked: they, or a lead, may take it back."""

    @property
    def details(self) -> str:
        """Say who does it, on which host, and how long it takes."""
        return " · ".join(text for text in (self.who, self.where, self.takes) if text)


def steps(outlook: Outlook, asked: Mapping[str, EvidenceRequest]) -> list[Step]:
    """Return the next steps; `asked` maps the id of an ask to the evidence request that was made for it."""
    made = []
    if outlook.verdict.state == "cause":
        remedies = ((claim, claim.remedies[0][0]) for claim in outlook.carriers if claim.remedies and claim.key)
        made = [
            Step(_clause(text), _people(claim), str(claim.raw.get("host") or ""), "", text, finding_key=claim.key)
            for claim, text in remedies
        ][:1]
    return [*made, *(_of_ask(ask, asked.get(ask.id)) for ask in outlook.best_asks)][:MOST]


def _people(claim: Claim) -> str:
    """Name who carries out the remedies of a finding; the layer, if it is not known who works on it."""
    layers = [str(layer) for layer in claim.raw.get("layers") or [claim.layer]]
    return " and ".join(dict.fromkeys(PEOPLE.get(layer) or layer_name(layer) for layer in layers))


def _of_ask(ask: Ask, request: EvidenceRequest | None) -> Step:
    return Step(
        what=ask.short,
        who=ask.who,
        where=ask.host,
        takes=ask.takes,
        why=ask.why,
        command=ask.command,
        ask_id=ask.id,
        asked_at=request.created_at if request else None,
        request_id=request.pk if request else None,
        by=request.asked_by_id if request else None,
    )


def _clause(text: str) -> str:
    """Return the first clause of a remedy; the finding holds the rest.

    >>> _clause("Unset memory_target; use sga_target instead, then restart.")
    'Unset memory_target'
    """
    return re.split(r"[;.:] ", text, maxsplit=1)[0].rstrip(".")
