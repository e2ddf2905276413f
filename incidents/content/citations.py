"""Write findings, clearings and the verdict as text for a mail (80 columns) and as Markdown for a ticket.

Both hold the same: the claim, its bound, the quoted lines with file, line and hash, what the claim does not say, a
link. Invisible characters of quoted evidence are spelled out, so that a copied text cannot steer a terminal.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from incidents.content.observations import Observation
from incidents.content.report import Citation, Claim, Outlook
from incidents.content.visible import visible
from rules.model import WITHIN_BOUNDS

WIDTH = 80
MOST_QUOTED = 5
"""Maximum number of cited ranges that are quoted; the others are counted, and the link opens them."""


def claim_text(claim: Claim, link: str) -> str:
    """Return a finding or clearing as plain text, no line longer than 80 columns except the link."""
    out = [*_wrap(_head(claim)), *_wrap(claim.headline)]
    if claim.expert:
        out += ["", *_wrap(claim.expert)]
    out += ["", *_wrap(f"Bound: {_bound(claim)}", "       ")]
    if claim.where:
        out += _wrap(f"Where: {claim.where}", "       ")
    if claim.layer_name:
        out += _wrap(f"Layer: {claim.layer_name}", "       ")
    out += ["", "LINES", *_quoted_text(claim.citations)]
    out += ["", "WHAT IT DOES NOT SAY", *_bullets(_unsaid(claim))]
    if claim.would_help:
        out += [
            "",
            "WOULD SETTLE IT",
            *_bullets(f"{ask.why}: {ask.command}" if ask.command else ask.why for ask in claim.would_help),
        ]
    for remedy, buts in claim.remedies:
        out += ["", "DO", *_wrap(remedy)]
        for but in buts:
            out += _wrap(f"But: {but}", "     ")
    return "\n".join([*out, "", link, ""])


def claim_markdown(claim: Claim, link: str) -> str:
    """Return a finding or clearing as Markdown; evidence is in fenced blocks, everything else is escaped."""
    out = [f"### {escaped(claim.headline)}", "", f"{escaped(_head(claim))}", ""]
    if claim.expert:
        out += [escaped(claim.expert), ""]
    out += [f"- **Bound:** {escaped(_bound(claim))}"]
    if claim.where:
        out += [f"- **Where:** {escaped(claim.where)}"]
    if claim.layer_name:
        out += [f"- **Layer:** {claim.layer_name}"]
    out += ["", *_quoted_markdown(claim.citations), "**What it does not say**", ""]
    out += [f"- {escaped(text)}" for text in _unsaid(claim)]
    if claim.would_help:
        out += ["", "**Would settle it**", ""]
        out += [
            f"- {escaped(ask.why)}" + (f": {_code(ask.command)}" if ask.command else "") for ask in claim.would_help
        ]
    for remedy, buts in claim.remedies:
        out += ["", f"**Do:** {escaped(remedy)}"] + [f"**But** {escaped(but)}" for but in buts]
    return "\n".join([*out, "", f"<{link}>", ""])


def verdict_text(outlook: Outlook, title: str, link: str) -> str:
    """Return the verdict with the claims that carry it, what is cleared and what cannot be told, as plain text."""
    verdict = outlook.verdict
    out = [
        *_wrap(title),
        *_wrap(f"{verdict.label.upper()}: {verdict.headline or 'No sentence: nothing was judged yet.'}"),
        *(["", *_wrap(verdict.reasoning)] if verdict.reasoning else []),
    ]
    out += _wrap(f"UNDER DISPUTE: {disputed_words(outlook)}", "         ") if verdict.disputed else []
    out += _wrap(f"Support: {verdict.support}{f', {verdict.basis}' if verdict.basis else ''}", "         ")
    out += _wrap(f"The same could be: {verdict.rival}.", "         ") if _rival_unsaid(outlook) else []
    if outlook.seconds:
        out += ["", *_wrap(f"WHOSE SECONDS ({outlook.seconds.title}, {outlook.seconds.total_text})")]
        out += [f"  {piece.amount:>12}  {visible(piece.share.label)[:62]}" for piece in outlook.seconds.pieces]
    for claim in outlook.carriers:
        out += ["", *_wrap(f"{claim.rule}: {claim.headline}"), *_quoted_text(claim.citations)]
    for one in outlook.first_observations:
        out += ["", *_wrap(f"{one.rank}. {_observed(one)}"), *_quoted_text(one.citations[:1])]
    out += ["", "CLEARED", *_bullets(_cleared(outlook) or ["nothing"])]
    out += ["", "WHAT IT DOES NOT SAY", *_bullets(_untold(outlook))]
    return "\n".join([*out, "", link, ""])


def verdict_markdown(outlook: Outlook, title: str, link: str) -> str:
    """Return the verdict with the claims that carry it, what is cleared and what cannot be told, as Markdown."""
    verdict = outlook.verdict
    out = [
        f"## {escaped(title)}",
        "",
        f"**{verdict.label}:** {escaped(verdict.headline or 'nothing was judged yet')}",
        "",
        *([escaped(verdict.reasoning), ""] if verdict.reasoning else []),
    ]
    out += [f"**Under dispute:** {escaped(disputed_words(outlook))}", ""] if verdict.disputed else []
    out += [f"**Support:** {escaped(verdict.support)}{f', {escaped(verdict.basis)}' if verdict.basis else ''}", ""]
    out += [f"**The same could be:** {escaped(verdict.rival)}.", ""] if _rival_unsaid(outlook) else []
    if outlook.seconds:
        out += [
            f"**Whose seconds** ({escaped(outlook.seconds.title)}, {outlook.seconds.total_text})",
            "",
            "| piece | seconds |",
            "| --- | --- |",
        ]
        out += [f"| {escaped(piece.share.label)} | {piece.amount} |" for piece in outlook.seconds.pieces] + [""]
    for claim in outlook.carriers:
        out += [f"**{escaped(claim.rule)}** {escaped(claim.headline)}", "", *_quoted_markdown(claim.citations)]
    shown = outlook.first_observations
    if shown:
        out += [
            "**What the evidence shows**",
            "",
            *[f"{one.rank}. {escaped(_observed(one))}{_place(one)}" for one in shown],
            "",
        ]
    out += ["**Cleared**", "", *[f"- {escaped(text)}" for text in _cleared(outlook) or ["nothing"]], ""]
    out += ["**What it does not say**", "", *[f"- {escaped(text)}" for text in _untold(outlook)]]
    return "\n".join([*out, "", f"<{link}>", ""])


def _rival_unsaid(outlook: Outlook) -> bool:
    """Tell whether a lead has a rival that its sentence does not name."""
    rival = outlook.verdict.rival
    return bool(rival) and rival not in outlook.verdict.sentence


def _place(one: Observation) -> str:
    return f", {escaped(one.citations[0].file)}, line {one.citations[0].where}" if one.citations else ""


def _observed(one: Observation) -> str:
    words = WITHIN_BOUNDS if one.normal else one.means
    return one.headline + (f" on {one.host}" if one.host else "") + (f" ({words})" if words else "")


def _head(claim: Claim) -> str:
    weight = f"{claim.support} support" if claim.support else ""
    kind = "clears" if claim.clears else claim.severity
    return " · ".join(part for part in (f"{claim.rule} {claim.version}".strip(), kind, weight) if part)


def _bound(claim: Claim) -> str:
    return " · ".join(part for part in (claim.bound, claim.magnitude, claim.scope) if part) or "none stated"


def _unsaid(claim: Claim) -> list[str]:
    limits = [*claim.against, *claim.cautions, *[f"Could also be: {text}" for text in claim.mistaken_for]]
    if claim.disputes:
        limits.append(
            f"It is under dispute: {claim.disputes} open objection{'s' if claim.disputes > 1 else ''} in the room."
        )
    if claim.withdrawn:
        limits.append("Evidence that it cites was withdrawn.")
    return limits or ["Nothing was found against it; it covers only the lines above."]


def disputed_words(outlook: Outlook) -> str:
    """Name the claims that carry the verdict and have open disputes."""
    return "; ".join(f"{claim.rule} {claim.headline}" for claim in outlook.verdict.disputed)


def _cleared(outlook: Outlook) -> list[str]:
    cleared = outlook.verdict.cleared
    return [
        f"{claim.layer_name}: {_bound(claim)}" + "".join(f" ({c.file} {c.where})" for c in claim.citations[:1])
        for claim in cleared
    ]


def _untold(outlook: Outlook) -> list[str]:
    asks = [f"{ask.why}: {ask.command}" if ask.command else ask.why for ask in outlook.asks]
    return [*outlook.verdict.missing, *asks] or ["It covers only the cited lines."]


def _wrap(text: str, indent: str = "") -> list[str]:
    clean = visible(" ".join(text.split()))
    return textwrap.wrap(clean, WIDTH, subsequent_indent=indent, break_on_hyphens=False) or [""]


def _bullets(texts: Iterable[str]) -> list[str]:
    return [
        line
        for text in texts
        for line in textwrap.wrap(
            visible(" ".join(text.split())),
            WIDTH,
            initial_indent="  - ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
    ]


def _quoted_text(citations: list[Citation]) -> list[str]:
    """Number each quoted line; cut one that is too long at the column and continue it on the next row, unwrapped."""
    out: list[str] = []
    for citation in citations[:MOST_QUOTED]:
        out += textwrap.wrap(visible(citation.file), WIDTH - 2, initial_indent="  ", subsequent_indent="    ") or [
            "  (no name)"
        ]
        out += [f"  sha256 {citation.sha256}"] if citation.sha256 else []
        for line in citation.lines:
            number = str(line.number) if line.number else "..."
            room = WIDTH - 11
            text = visible(line.text, keep="").replace("␉", "    ")
            for i, begin in enumerate(range(0, max(len(text), 1), room)):
                head = f"{number if i == 0 else '':>8} {'|' if i == 0 else '+'}"
                piece = text[begin : begin + room]
                out.append(f"{head} {piece}" if piece else head)  # no strip: blanks at a cut belong to the line
    return [*out, *([f"  {_more(citations)}"] if citations[MOST_QUOTED:] else [])] or ["  none"]


def _quoted_markdown(citations: list[Citation]) -> list[str]:
    out: list[str] = []
    for citation in citations[:MOST_QUOTED]:
        lines = [f"{str(line.number) if line.number else '...':>7}  {visible(line.text)}" for line in citation.lines]
        fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
        hashed = f", sha256 `{citation.sha256}`" if citation.sha256 else ""
        out += [f"{escaped(citation.file)}, line {citation.where}{hashed}", "", f"{fence}text", *lines, fence, ""]
    return [*out, *([_more(citations), ""] if citations[MOST_QUOTED:] else [])]


def _more(citations: list[Citation]) -> str:
    left = len(citations) - MOST_QUOTED
    return f"and {left:,} more cited range{'s' if left > 1 else ''}, behind the link below"


def escaped(text: str) -> str:
    """Escape the characters that Markdown or HTML would interpret."""
    clean = visible(" ".join(text.split()))
    clean = clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    clean = re.sub(r"([\\`*_\[\]|~#!])", r"\\\1", clean)
    return re.sub(r"^(\d+)([.)]\s)|^([-+])(\s)", lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}{m[4]}", clean)


def _code(text: str) -> str:
    clean = visible(" ".join(text.split()))
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", clean)), default=0))
    pad = " " if "`" in clean else ""
    return f"{fence}{pad}{clean}{pad}{fence}"
