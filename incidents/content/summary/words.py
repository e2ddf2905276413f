"""Write the summary page: put a report and people's statements into sections (`summary_content`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from incidents.content.contradictions import Evidence, contradictions, figures
from incidents.content.report import Ask, Citation, Claim, Outlook, brief_seconds, layer_name, quantity
from incidents.content.summary.content import (
    SCHEMA,
    WITHDRAWN,
    Json,
    People,
    Words,
    pieces,
    plain,
    refs_within,
    section,
    sentence,
)
from incidents.content.visible import visible
from rules.model import WITHIN_BOUNDS

_SEVERITIES = ("critical", "major", "minor", "info")
MOST_CAUSES, MOST_CLEARED, MOST_OPEN, MOST_NEXT, MOST_DID = 3, 5, 4, 6, 6
_CAUSE_TITLES = {
    "suspect": "Suspected cause",
    "lead": "Being looked at",
    "undecided": "Cause, undecided",
    "cannot tell": "Cause, not known yet",
}


def content(outlook: Outlook, people: People, evaluation: Json | None) -> Json:
    """Build the whole page. `evaluation`: `{"number", "rules", "inputs_hash"}` of the evaluation, None before one."""
    return _Page(outlook, people, evaluation).content()


class _Sources:
    """Number what sentences cite, in the order in which they cite it."""

    def __init__(self) -> None:
        self.rows: list[Json] = []
        self._numbers: dict[str, int] = {}

    def claim(self, claim: Claim) -> int:
        return self._add(
            claim.key or f"{claim.rule} {claim.href}", claim.key, claim.rule, claim.headline, claim.citations
        )

    def lines(self, label: str, citations: Sequence[Citation]) -> int:
        citations = list({(c.artifact, c.line_from, c.line_to): c for c in citations}.values())
        places = ",".join(f"{c.artifact}:{c.line_from}-{c.line_to}" for c in citations)
        return self._add(places, "", "", label, citations)

    def _add(self, name: str, key: str, rule: str, label: str, citations: Sequence[Citation]) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.rows) + 1
            self.rows.append(
                {
                    "n": len(self.rows) + 1,
                    "key": key,
                    "rule": visible(rule),
                    "label": visible(label),
                    "citations": [_cited(citation) for citation in citations],
                }
            )
        return self._numbers[name]


class _Page:
    def __init__(self, outlook: Outlook, people: People, evaluation: Json | None) -> None:
        self.outlook, self.people, self.evaluation = outlook, people, evaluation
        self.sources = _Sources()
        self.verdict = outlook.verdict
        self.carriers = _in_order(outlook)

    def content(self) -> Json:
        people = self.people
        cells = [self._status(), self._impact(), self._decision(), self._update()]
        sections = [self._cause(), self._seconds()]
        if self.outlook.exists:
            sections += [self._sure(), self._not()]
        sections += [self._effect(), *self._did(), self._open(), self._next()]
        evidence = self._evidence()
        for one in [*cells, *sections]:
            if words := people.words.get(one["key"]):
                one["words"] = self._words(one, words, evidence)
        return {
            "schema": SCHEMA,
            "title": visible(people.title),
            "state": self.verdict.state if self.outlook.exists else "not judged",
            "technical": visible(self.verdict.sentence) if self.outlook.exists else "",
            "cells": cells,
            "sections": sections,
            "sources": self.sources.rows,
            "artifacts": [one | {"name": visible(one["name"])} for one in people.artifacts],
            "evaluation": self.evaluation,
            **({"observed": observed} if (observed := self._observed()) else {}),
        }

    def _observed(self) -> list[Json]:
        """Return what stands out first, in the report's order, each with the first lines that show it."""
        return [
            {
                "rank": one.rank,
                "text": visible(one.headline + (f" on {one.host}" if one.host else "")),
                "means": visible(WITHIN_BOUNDS if one.normal else one.means),
                "artifacts": sorted({cited.artifact for cited in one.citations}),
                "cited": _cited(one.citations[0]) if one.citations else None,
            }
            for one in self.outlook.first_observations
        ]

    # --- what people state --------------------------------------------------------------------------------------

    def _status(self) -> Json:
        people = self.people
        said = [sentence(people.status.capitalize(), at=people.status_at)]
        earlier = [one for one in people.milestones if one[1] != people.status_at]
        said += [sentence(kind.capitalize(), at=at, small=True) for kind, at in earlier[:2]]
        if people.severity:
            said.append(sentence(people.severity, lead="Severity:", small=True))
        if not people.lead:
            said.append(sentence("Nobody leads this room.", missing=True))
        said += [sentence(name, lead=f"{duties.capitalize()}:", small=True) for duties, name in people.duties]
        return section("status", said)

    def _impact(self) -> Json:
        said = [sentence(told.text, by=told.by, signed_at=told.at) for told in self.people.impact[:2]]
        return section("impact", said or [sentence("Nobody has said yet who is affected.", missing=True)])

    def _decision(self) -> Json:
        asked = self.people.asked
        if asked is None:
            return section("decision", [sentence("None is asked for.", missing=True)])
        said = [sentence(asked.question, by=asked.by)]
        if asked.needed_by:
            said.append(sentence("By", at=asked.needed_by, late=asked.late))
        else:
            said.append(sentence("Nobody said by when.", missing=True))
        said.append(
            sentence(asked.asked_of, lead="Of:", small=True)
            if asked.asked_of
            else sentence("Nobody said by whom.", missing=True)
        )
        if asked.others:
            said.append(sentence(f"and {asked.others} more in the room’s plan", small=True))
        return section("decision", said)

    def _update(self) -> Json:
        people = self.people
        if people.update_at is None:
            words = f"None: it is {people.status}." if people.settled else "None is promised."
            return section("update", [sentence(words, missing=True)])
        said = [sentence("", at=people.update_at, late=people.update_late)]
        if people.update_by:
            said.append(sentence(people.update_by, lead="By:", small=True))
        return section("update", said)

    # --- what the evidence says ---------------------------------------------------------------------------------

    def _cause(self) -> Json:
        verdict, people = self.verdict, self.people
        if not self.outlook.exists:
            words = (
                "Evidence is being read and judged; nothing can be said yet."
                if people.reading
                else "Nothing was judged yet: there is no evidence that could be read."
            )
            return section("cause", [sentence(words, missing=True)], "Cause, not known yet")
        title = _CAUSE_TITLES.get(verdict.state, "Cause")
        if verdict.sentence == WITHDRAWN:
            words = (
                "The evidence that this stood on was withdrawn, and its words with it. What is left is judged again."
            )
            return section("cause", [sentence(words, missing=True)], "Cause, not known any more")
        refs = [self.sources.claim(claim) for claim in self.carriers]
        said = []
        if verdict.state == "nothing wrong seen":
            said += [
                sentence(verdict.sentence, refs=refs),
                sentence("That holds for what was collected; it does not say that nothing is wrong.", small=True),
            ]
        elif verdict.state == "lead":
            refs = [self.sources.lines(one.headline, one.citations) for one in self.outlook.points_to[:MOST_CAUSES]]
            said += [
                sentence(verdict.headline or verdict.sentence, refs=refs),
                sentence("One kind of evidence points there; it accuses nobody.", small=True, refs=refs[:1]),
            ]
        elif verdict.state == "cannot tell" or not self.carriers:
            shown = self.outlook.standing_out[:1] if not refs else []
            refs += [self.sources.lines(one.headline, one.citations) for one in shown]
            words = verdict.headline or verdict.sentence or "The evidence is not enough to name a cause."
            said.append(sentence(words, refs=refs))
        else:
            if verdict.state == "undecided":
                said.append(sentence(f"{verdict.sentence.split(': ', 1)[0].rstrip('.')}.", refs=refs))
            said += self._managers()
            if verdict.state == "suspect":
                said.append(
                    sentence(
                        "This is a suspicion: it is not shown that these seconds are the lost ones.",
                        small=True,
                        refs=refs[:1],
                    )
                )
        said += self._disputed()
        return section("cause", said, title)

    def _managers(self) -> list[Json]:
        """Return the manager texts of the verdict's claims; claims with the same text are cited together."""
        told: dict[str, list[int]] = {}
        for claim in self.carriers:
            words = str(claim.raw.get("manager") or claim.headline)
            told.setdefault(words, []).append(self.sources.claim(claim))
        return [sentence(words, refs=refs) for words, refs in list(told.items())[:MOST_CAUSES]]

    def _disputed(self) -> list[Json]:
        keys = {claim.key for claim in self.carriers}
        open_ones = [one for one in self.people.objections if one.key in keys]
        said = [sentence(one.reason, lead="Under dispute:", by=one.by, signed_at=one.at) for one in open_ones[:2]]
        if len(open_ones) > 2:
            more = len(open_ones) - 2
            words = f"{more} more objection{'s are' if more > 1 else ' is'} open in the room."
            said.append(sentence(words, small=True))
        return said

    def _seconds(self) -> Json:
        bar = self.outlook.seconds
        if bar is None:
            words = "No request was traced from end to end, so nobody can say whose seconds they are."
            return section("seconds", [sentence(words, missing=True)])
        cited = [citation for piece in bar.pieces for citation in piece.citations]
        refs = [self.sources.lines(f"{bar.title}, piece by piece", cited)] if cited else []
        drawn = [
            {
                "label": visible(piece.share.label),
                "amount": piece.amount,
                "kind": piece.kind,
                "layer": piece.layer,
                "share": round(piece.share.share, 1),
                "x": piece.share.x,
                "width": piece.share.width,
                "narrow": piece.share.narrow,
                "refs": refs if piece.citations else [],
                "lines": [piece.citations[0].artifact, piece.citations[0].line_from, piece.citations[0].line_to]
                if piece.citations
                else None,
            }
            for piece in bar.pieces
        ]
        made = section("seconds", [])
        where = f", {visible(bar.where)}" if bar.where else ""
        made["bar"] = {"title": f"{visible(bar.title)}{where}", "total": bar.total_text, "pieces": drawn, "refs": refs}
        return made

    def _sure(self) -> Json:
        verdict = self.verdict
        if verdict.state == "lead":
            refs = [self.sources.lines(one.headline, one.citations) for one in self.outlook.points_to[:MOST_CAUSES]]
            rival = verdict.rival
            return section(
                "sure",
                [
                    sentence("Not proven.", lead=f"{verdict.support.capitalize()} support:", refs=refs),
                    *([sentence(f"{rival}.", lead="The same could be:", small=True, refs=refs[:1])] if rival else []),
                ],
            )
        if not self.carriers:
            return section(
                "sure", [sentence("No finding carries a verdict, so there is nothing to be sure of.", missing=True)]
            )
        word = "No support" if verdict.support == "none" else f"{verdict.support.capitalize()} support"
        cited = [*self.carriers, *self._compared_claims(tested=True)]
        refs = list(dict.fromkeys(self.sources.claim(claim) for claim in cited))
        said = [
            sentence(
                f"{verdict.basis}." if verdict.basis else "", lead=f"{word}{':' if verdict.basis else '.'}", refs=refs
            )
        ]
        against = [
            (text, self.sources.claim(claim)) for claim in self.carriers for text in (*claim.against, *claim.cautions)
        ]
        once = dict(reversed(against))
        for i, (text, ref) in enumerate(reversed(once.items())):
            if i == 2:
                break
            said.append(sentence(text, lead="Against it:" if i == 0 else "", refs=[ref], small=i > 0))
        if any(claim.withdrawn for claim in self.carriers):
            said.append(sentence("Some of the cited lines were withdrawn and can no longer be opened.", refs=refs[:1]))
        return section("sure", said)

    def _not(self) -> Json:
        by_rule: dict[tuple[str, str], list[Claim]] = {}
        for claim in self.verdict.cleared:
            by_rule.setdefault((claim.rule, claim.layer_name), []).append(claim)
        said = []
        for (_, layer), claims in sorted(by_rule.items(), key=lambda pair: -_magnitude(pair[1])):
            worst = max(claims, key=_amount)
            refs = [self.sources.claim(claim) for claim in claims]
            words = str(worst.raw.get("manager") or worst.headline)
            bound = " · ".join(part for part in (worst.bound or worst.magnitude, worst.scope) if part)
            said.append(sentence(words, lead=f"{_article(layer)}:", note=bound, refs=refs))
        if not said:
            words = "Nothing can be excluded on this evidence."
            return section("not", [sentence(words, missing=True)])
        more = len(said) - MOST_CLEARED
        if more > 0:
            said = [
                *said[:MOST_CLEARED],
                sentence(f"{more} more clearing{'s' if more > 1 else ''} in the room.", small=True),
            ]
        return section("not", said)

    def _effect(self) -> Json:
        rows = [row for row in self.outlook.compared if row.get("n") and row.get("median")]
        if not rows:
            done = [
                sentence(
                    f"{change.label}{': ' + '; '.join(change.changed) if change.changed else ''}",
                    by=change.by,
                    at=change.at,
                )
                for change in self.people.changes[:MOST_NEXT]
                if change.at is None  # the others stand below, in the order of time
            ]
            if self.people.changes:
                words = "Whether it helped was not measured: there are no values from before and after."
                return section("effect", [*done, sentence(words, missing=True)])
            return section("effect", [sentence("Nothing has been changed and measured yet.", missing=True)])
        made = section("effect", [])
        phases = list(dict.fromkeys(phase for row in rows for phase in (row["from"], row["to"])))
        made["table"] = self._table(rows, phases)
        for claim in self._compared_claims():
            if claim.rule == "CMP-002":
                continue
            words = str(claim.raw.get("manager") or claim.headline)
            made["sentences"].append(
                sentence(
                    words,
                    lead=f"{self._pair(claim, phases)}:",
                    note=" ".join(claim.against),
                    refs=[self.sources.claim(claim)],
                )
            )
        return made

    def _did(self) -> list[Json]:
        """Return the section of decisions and changes; there is none before the first."""
        turning = self.people.turning
        if not turning:
            return []
        said = [sentence(one.text, by=one.by, at=one.at) for one in turning[-MOST_DID:]]
        if more := len(turning) - len(said):
            said.insert(0, sentence(f"{more} earlier ones are in the room’s log.", small=True))
        return [section("did", said)]

    def _table(self, rows: list[Json], phases: list[str]) -> Json:
        """Make the table: a row for each phase, columns for measured medians and stated figures, notes on changes."""
        series = list(dict.fromkeys(str(row["series"]) for row in rows))[:2]
        medians: dict[tuple[str, str], tuple[float, int]] = {}
        for row in rows:
            for side, phase in enumerate((row["from"], row["to"])):
                medians.setdefault((str(row["series"]), phase), (float(row["median"][side]), int(row["n"][side])))
        unit = self.people.symptom[2] or "s"
        stated = [one for one in self.people.figures if one.subject in phases and "." not in one.name]
        names = list(dict.fromkeys((one.name, one.unit) for one in stated))[:2]
        head = ["", *(f"{visible(name).capitalize()}, typical" for name in series)]
        head += [
            visible(f"{name.replace('_', ' ').capitalize()}{', ' + unit_ if unit_ else ''}") for name, unit_ in names
        ]
        table = []
        for phase in phases:
            change = next((one for one in self.people.changes if one.phase == phase), None)
            at_once = len(change.changed) if change else 0
            claim = next(
                (c for c in self._compared_claims() if str(c.raw.get("subject")).endswith(f" to {phase}")), None
            )
            together = int((claim.raw.get("facts") or {}).get("n_changes") or at_once) if claim else at_once
            notes = [phase] if change else []
            notes += [f"{together} changes at once"] if together > 1 else []
            label = change.label if change else "Before" if phase == "before" else phase
            cells = [{"text": visible(label), "note": visible(", ".join(notes)), "refs": [], "by": ""}]
            for name in series:
                found, first = medians.get((name, phase)), medians.get((name, phases[0]))
                cells.append(_median_cell(found, first if phase != phases[0] else None, unit))
            for name, unit_ in names:
                told = next((one for one in stated if (one.name, one.unit, one.subject) == (name, unit_, phase)), None)
                cells.append(
                    {
                        "text": f"{told.num:g}" if told else "",
                        "note": "",
                        "refs": [],
                        "by": visible(told.by) if told else "",
                    }
                )
            table.append({"cells": cells})
        refs = [self.sources.claim(claim) for claim in self._compared_claims()]
        return {"head": head, "rows": table, "refs": refs}

    def _pair(self, claim: Claim, phases: list[str]) -> str:
        """Name a comparison by the change between its two phases if there is only one, else by the phases."""
        before, _, after = str(claim.raw.get("subject") or "").partition(" to ")
        change = next((one for one in self.people.changes if one.phase == after), None)
        near = before in phases and after in phases and phases.index(after) - phases.index(before) == 1
        return visible(change.label if change and near else f"{before} to {after}" if after else claim.rule)

    def _compared_claims(self, tested: bool = False) -> list[Claim]:
        found = [claim for claim in self.outlook.claims if claim.rule.startswith("CMP-") and not claim.clears]
        if tested:
            leader = str((self.outlook.report.get("verdict") or {}).get("hypothesis") or "")
            found = [claim for claim in found if (claim.raw.get("cells") or {}).get(leader)]
        phases = [str(row.get(side)) for row in self.outlook.compared for side in ("from", "to")]

        def place(claim: Claim) -> tuple[str, list[int], str]:
            subject = str(claim.raw.get("subject"))
            return claim.rule, [phases.index(one) for one in subject.split(" to ") if one in phases], subject

        return sorted(found, key=place)

    def _open(self) -> Json:
        sentences = []
        if self.people.pending:
            words = "The room was judged again after it was closed; no lead has taken the new judgement over yet."
            sentences.append(sentence(words, lead="Newer evidence:"))
        counts = self.people.counts
        if unread := counts.get("total", 0) - counts.get("read", 0):
            words = (
                f"{unread} of {counts['total']} files could not be read, or not yet: their content is not in this page."
            )
            sentences.append(sentence(words, missing=True))
        for claim in self._compared_claims():
            if claim.rule == "CMP-002":
                sentences.append(
                    sentence(
                        str(claim.raw.get("manager") or claim.headline),
                        note=claim.headline,
                        refs=[self.sources.claim(claim)],
                    )
                )
        asks = self.outlook.asks if self.outlook.exists else []
        for ask in asks[: max(1, MOST_OPEN - len(sentences))]:
            owner = next((claim for claim in self.outlook.claims if claim.rule == ask.rule and claim.key), None)
            refs = [self.sources.claim(owner)] if owner else []
            lead, words = self._asked(ask)
            sentences.append(sentence(words, lead=lead, note=ask.who, refs=refs, ask=ask.id))
        quality = [claim for claim in self.outlook.claims if claim.group == "quality"]
        if quality:
            refs = [self.sources.claim(claim) for claim in quality[:3]]
            many = len(quality) > 1
            words = f"{len(quality)} remark{'s' if many else ''} on the evidence itself {'stand' if many else 'stands'} in the room."
            sentences.append(sentence(words, refs=refs, small=True))
        if len(asks) > MOST_OPEN:
            sentences.append(
                sentence(
                    f"{len(asks)} things could be collected in all; the room lists each with its command.", small=True
                )
            )
        if self.outlook.failed:
            n = len(self.outlook.failed)
            sentences.append(
                sentence(
                    f"{n} part{'s' if n > 1 else ''} of the judgement failed and {'were' if n > 1 else 'was'} left out.",
                    small=True,
                )
            )
        return section("open", sentences or [sentence("Nothing, as far as the room knows.", missing=True)])

    @staticmethod
    def _asked(ask: Ask) -> tuple[str, str]:
        """Return what to collect, or that something could not be checked, and what it would decide or what that needs."""
        # "<title> on <host>: needs <what>" states nothing about the incident, only what could not be checked.
        title, needs, what = ask.why.partition(": needs ")
        if needs:
            return "Could not be checked:", f"“{title}” needs {what}."
        return (f"{ask.named}.", f"It would settle: {ask.settles}.") if ask.settles else ("", f"{ask.why}.")

    def _next(self) -> Json:
        sentences = []
        for step in self.people.steps[:MOST_NEXT]:
            note = step.owner or "nobody yet"
            sentences.append(
                sentence(
                    step.text,
                    note=f"{note}{', under way' if step.doing else ''}",
                    at=step.due_at,
                    late=step.late,
                )
            )
        if more := len(self.people.steps) - MOST_NEXT:
            sentences += [sentence(f"{more} more in the room’s plan.", small=True)] if more > 0 else []
        if not self.people.steps:
            sentences.append(sentence("Nobody has taken on a next step yet.", missing=True))
            for claim in self.carriers[:1]:
                for remedy, buts in claim.remedies[:2]:
                    but = f"But: {' '.join(buts)}" if buts else ""
                    sentences.append(sentence(remedy, lead="Proposed:", note=but, refs=[self.sources.claim(claim)]))
        return section("next", sentences)

    # --- the lead's words ---------------------------------------------------------------------------------------

    def _words(self, of: Json, words: Words, evidence: Evidence) -> Json:
        now = plain(of, own=False)
        refs = {ref for refs in refs_within(of) for ref in refs}
        cited = [claim for claim in self.outlook.claims if self.sources._numbers.get(claim.key) in refs]
        near = [figure for claim in cited for figure in _figures_of(claim)]
        warnings = contradictions(words.text, [*near, *figures(now)], evidence) if self.outlook.exists else []
        return {
            "text": visible(words.text, keep="\n"),
            "way": words.way,
            "by": visible(words.by),
            "at": words.at.isoformat(timespec="seconds"),
            "number": words.number,
            "warnings": [visible(warning) for warning in warnings],
            "stale": pieces(words.machine, now) if words.machine != now else None,
        }

    def _evidence(self) -> Evidence:
        """Collect all figures and layers of the report; figures of the symptom and of statements count too."""
        outlook = self.outlook
        bad, normal, unit = self.people.symptom
        stated = [(value, unit, "the symptom") for value in (bad, normal) if value is not None]
        stated += [(one.num, one.unit, "a statement") for one in self.people.figures]
        found = [figure for claim in outlook.claims for figure in _figures_of(claim)]
        if outlook.seconds:
            found += [(piece.share.amount, "s", piece.share.label) for piece in outlook.seconds.pieces]
            found.append((outlook.seconds.total, "s", outlook.seconds.title))
        for row in outlook.compared:
            found += [(float(value), unit or "s", str(row.get("series"))) for value in row.get("median") or []]
        found += figures(self.verdict.sentence)
        cleared = {
            str(layer): claim.bound or claim.headline
            for claim in outlook.verdict.cleared
            for layer in claim.raw.get("layers") or [claim.layer]
        }
        blamed = str((outlook.report.get("verdict") or {}).get("layer") or "")
        blaming = self.verdict.state in ("cause", "suspect")
        return Evidence([*stated, *found], cleared, blamed if blaming else "", layer_name(blamed) if blamed else "")


def _figures_of(claim: Claim) -> list[tuple[float, str, str]]:
    """Return the numbers of a claim: its magnitude first, then those in its texts."""
    amount = claim.raw.get("magnitude")
    unit = {"pct": "%"}.get(str(claim.raw.get("unit") or ""), str(claim.raw.get("unit") or ""))
    own = [(float(amount), unit, claim.headline)] if amount is not None and unit else []
    texts = (claim.headline, str(claim.raw.get("manager") or ""), claim.bound, claim.expert)
    return own + [(value, of, claim.headline) for text in texts for value, of, _ in figures(text)]


def _in_order(outlook: Outlook) -> list[Claim]:
    """Return the claims that carry the verdict: causes first, then by severity, the verdict's rule order, size."""
    rules = [str(rule) for rule in (outlook.report.get("verdict") or {}).get("rules") or []]
    return sorted(
        (claim for claim in outlook.carriers if not claim.clears),
        key=lambda claim: (
            claim.group != "cause",
            _SEVERITIES.index(claim.severity),
            rules.index(claim.rule),
            -_amount(claim),
        ),
    )


def _amount(claim: Claim) -> float:
    amount = claim.raw.get("magnitude")
    return float(amount) if amount is not None else 0.0


def _magnitude(claims: Iterable[Claim]) -> float:
    """Return a sort value for clearings: those of the network first, as people suspect it, then the largest bound."""
    listed = list(claims)
    suspected = any(claim.layer == "network" or "network" in (claim.raw.get("layers") or ()) for claim in listed)
    return max(map(_amount, listed)) + (1e9 if suspected else 0.0)


def _article(layer: str) -> str:
    return f"The {layer}"


def _median_cell(found: tuple[float, int] | None, first: tuple[float, int] | None, unit: str) -> Json:
    if found is None:
        return {"text": "", "note": "", "refs": [], "by": ""}
    median, n = found
    change = f"{100 * (median / first[0] - 1):+.0f} % · ".replace("-", "−") if first and first[0] else ""
    text = brief_seconds(median) if unit == "s" else quantity(median, unit)
    return {"text": text, "note": f"{change}n {n}", "refs": [], "by": ""}


def _cited(citation: Citation) -> Json:
    return {
        "artifact": citation.artifact,
        "file": visible(citation.file),
        "line_from": citation.line_from,
        "line_to": citation.line_to,
        "sha256": citation.sha256,
        "withdrawn": citation.withdrawn,
        "lines": [] if citation.withdrawn else [[line.number, visible(line.text)] for line in citation.lines],
    }
