"""Judge a case and return a report: the one function that both the command line and the web application call."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from parsers.kinds import kinds
from parsers.lines import LineReader
from rules.case import site_names, statements
from rules.case.case import Case
from rules.case.case_yaml import unknown_names
from rules.collecting import commands as collect
from rules.derived.derived_table import FAULTS
from rules.engine.run import VERSION, Draft, Evidence, Outcome, Runner, aligned, template_values
from rules.engine.sandbox import Fence, Sandbox
from rules.judging import board, scoring
from rules.judging.asking import asks, settling
from rules.judging.by_words import lead_by_words
from rules.judging.explaining import as_verdict, explanations, lead
from rules.judging.headlines import quoting_headline
from rules.judging.here import Here, here
from rules.judging.observing import Observed, observed
from rules.judging.quoting import complaint
from rules.judging.verdict import Judgement, Requests, requests_of
from rules.model import (
    CLASSES,
    GROUPS,
    SEVERITIES,
    Board,
    CaseSpec,
    Citation,
    Clear,
    Cleared,
    Compared,
    Failed,
    Finding,
    Group,
    Hidden,
    Hypothesis,
    NotEvaluable,
    ParamUsed,
    Piece,
    Report,
    ReportArtifact,
    Request,
    Suppression,
    WhoseSeconds,
    Without,
    WithoutArtifact,
    support_word,
)
from rules.statistics import contrast
from rules.walking import wait_path
from rules.walking.whose_seconds import whose_seconds
from rules.writing.messages import MESSAGES, BadTemplate, render
from rules.writing.packs import Library, hides, open_library, placed, usable_overrides, usable_suppressions
from rules.writing.rule import Need, Rule

T = TypeVar("T")
QUOTED_LINES = 40
"""Maximum number of lines that a citation quotes in full; of a longer one, half as many first and last lines are
quoted.
"""

ASSUMED = "The lines come from a paste without marks between them: that nothing is missing in between is assumed."
RUNS = ("experimental", "stable")


def evaluate(
    case: CaseSpec,
    cache: Path | None = None,
    changed: set[str] | None = None,
    *,
    rules: Sequence[Rule] | Library | None = None,
    fence: Fence | None = None,
) -> Report:
    """Judge a case. `cache` stores derived tables and rule results by what they depend on.

    `changed` names the artifacts' tables that are known to have changed; it is a hint and never changes the result.
    `rules` defaults to the shipped ones. Faults of a rule file, a threshold or the case's statements are listed in
    `failed`.
    """
    return judge(Case(case, cache), rules, Sandbox(fence))


def judge(
    case: Case,
    rules: Sequence[Rule] | Library | None = None,
    sandbox: Sandbox | None = None,
    problems: Sequence[Failed] = (),
) -> Report:
    """Judge an opened case; see `evaluate`.

    `sandbox` runs the queries and is closed in the end; it may have been started ahead. `problems` are faults of the case
    that the caller found, for `failed`.
    """
    began = time.perf_counter()
    library = (
        open_library()
        if rules is None
        else rules
        if isinstance(rules, Library)
        else Library(tuple(rules), complete=False)
    )
    ids = {r.id: r for r in library.rules}
    chosen = case.spec.rules
    own, refused = usable_overrides(placed("CASE", "rules.overrides", chosen.overrides), ids, library.complete)
    hiding, too_long = usable_suppressions(placed("CASE", "rules.suppressions", chosen.suppressions))
    overrides, suppressions = (*library.overrides, *own), (*library.suppressions, *hiding)
    clock_map, clock_error = aligned(case)
    with tempfile.TemporaryDirectory(prefix="exhibit-") as scratch, sandbox or Sandbox() as queries:
        runner = Runner(case, queries, Path(scratch), case.cache)
        running, undiscovered = runner.discovered(library.packs, [r for r in library.rules if r.file.status in RUNS])
        outcomes = runner.run(running, overrides)
        judged = _Judged(case, outcomes, runner, suppressions)
    findings = judged.findings
    failed = judged.failed + ((Failed("CLOCKS", clock_error),) if clock_error else ())
    faults = [*unknown_names(case.spec), *statements.problems(case.spec.statements, ids if library.complete else None)]
    faults += statements.free_problems(case.spec.hypotheses, scoring.CAUSES)
    faults += site_names.problems(case.spec.names)
    failed += (*problems, *(Failed("CASE", why) for why in faults), *library.broken, *refused, *too_long, *undiscovered)
    places = clock_map.places if clock_map else {}
    clocks = tuple(
        replace(c, frame=places[c.clock].frame, add=places[c.clock].add, err=places[c.clock].err)
        if c.clock in places
        else c
        for c in case.clocks
    )
    present = here(case)
    not_evaluable, not_here = _not_evaluable(outcomes, runner, present)
    watched, broken_observers = _attempt("OBSERVATIONS", lambda: observed(case, judged.quotes.cite), Observed())
    failed += (*watched.failed, *broken_observers)
    judgement = Judgement(case, outcomes, findings, judged.hypotheses, judged.whose, judged.requests, watched.rows)
    nobody: tuple[wait_path.Wait, ...] = ()
    waits, unfollowed = _attempt("WAITS", lambda: wait_path.waits_for(case, judgement.best), nobody)
    verdict = judgement.verdict(not_evaluable, waits)
    if verdict.state == "cannot tell" and (line := complaint(watched.observations)):
        verdict = replace(verdict, headline=quoting_headline(line))
    failed += unfollowed
    none: tuple[Compared, ...] = ()
    compared, uncompared = _attempt("COMPARED", lambda: tuple(_compared(case)), none)
    failed += uncompared
    evidence, untold = _attempt("BOARD", lambda: _board(judged, judgement, outcomes, not_evaluable), Board())
    failed += untold
    clients = [name for name, host in case.spec.hosts.items() if host.role == "client"]
    beside = (watched.measures, findings, judged.hypotheses, _quiet_by_cause(outcomes), clients)
    explained = explanations(watched.rows, *beside)
    led = lead(explained) if verdict.state in ("cannot tell", "nothing wrong seen") else None
    if led is None and verdict.state == "cannot tell" and (led := lead_by_words(watched.told, *beside, _traces(case))):
        explained = (led, *explained)
    systems = {host or "": runner.host_os(host) for host in {None, *(s.host for s in case.stretches)}}
    leading = (verdict.hypothesis, verdict.layer) if verdict.hypothesis and verdict.layer else None
    wanted_next, more = asks(
        case, systems, explained, findings, evidence.wanted, not_evaluable, leading, watched.told, present
    )
    if led is not None:
        settled_by = settling(led, wanted_next, systems.get(led.host or ""), present)
        verdict = as_verdict(led, verdict.missing, settled_by)
    return Report(
        artifacts=tuple(_artifacts(case)),
        clock_map=clock_map.reported() if clock_map else (),
        clock_checks=clock_map.checks if clock_map else (),
        clocks=clocks,
        verdict=verdict,
        whose_seconds=judged.whose,
        findings=findings,
        cleared=tuple(_cleared(findings)),
        not_evaluable=not_evaluable,
        compared=compared,
        hypotheses=judged.hypotheses,
        quiet=tuple(o.rule.id for o in outcomes if not o.failed and o.quiet),
        failed=failed,
        hidden=judged.hidden,
        seconds=round(time.perf_counter() - began, 3),
        board=evidence,
        observations=watched.observations,
        asks=wanted_next,
        asks_more=more,
        not_here=not_here,
    )


def _traces(case: Case) -> tuple[int, ...]:
    """Return the artifacts that are nothing but a trace of a program's calls."""
    read = {id: [p["kind"] for p in found.get("parts", []) if p.get("kind")] for id, found in case.manifests.items()}
    return tuple(id for id, held in read.items() if held and all(kinds()[kind].tracer for kind in held))


def _quiet_by_cause(outcomes: Sequence[Outcome]) -> Mapping[str, list[str]]:
    """Return for each hypothesis the rules that support it, ran and stayed quiet."""
    found: dict[str, list[str]] = {}
    for o in outcomes:
        if o.quiet and o.applies and not o.failed and o.rule.file.layer != "measurement":
            for code in o.rule.file.hypotheses:
                found.setdefault(code, []).append(o.rule.id)
    return found


def _board(
    judged: _Judged, judgement: Judgement, outcomes: Sequence[Outcome], not_evaluable: Sequence[NotEvaluable]
) -> Board:
    leader = next((h for h in judged.hypotheses if h.code == judgement.leader), None)
    demand, together = judgement.demand, judgement.together
    rivals = scoring.rivals(leader.code if leader else "", judged.hypotheses, demand, together)
    rules = {o.rule.id: o.rule for o in outcomes}
    wanted = board.wanted(
        rules, judged.findings, not_evaluable, judged.hypotheses, leader.code if leader else None, rivals
    )
    stated = statements.usable(judged.case.spec.statements)
    return board.made_of(
        judged.entries,
        judged.findings,
        stated,
        judged.hypotheses,
        lambda group: judged.without(group, judgement.leader),
        tuple(judged.without_artifacts(judgement.leader)),
        wanted,
    )


def _attempt(name: str, make: Callable[[], T], otherwise: T) -> tuple[T, tuple[Failed, ...]]:
    """Return the result of `make`; if it fails, `otherwise` and the failure, because one table's fault must not lose
    the report.
    """
    try:
        return make(), ()
    except FAULTS as error:
        return otherwise, (Failed(name, f"{type(error).__name__}: {error}"),)


class Quotes:
    """Reads the original lines of a case's artifacts, for citations."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._artifacts = {a.id: a for a in case.spec.artifacts}
        self._readers: dict[int, LineReader] = {}

    def cite(self, artifact: int, first: int, last: int, role: str) -> tuple[Citation, ...]:
        """Return one citation with its quoted text; the text is empty for a case in memory."""
        spec = self._artifacts.get(artifact)
        if spec is None or not spec.original or not spec.reading:
            return (
                Citation(artifact, spec.file if spec else "", first, last, role, "", spec.sha256 if spec else None),
            )
        if artifact not in self._readers:
            self._readers[artifact] = LineReader(Path(spec.original), Path(spec.reading))
        reader = self._readers[artifact]
        if last - first < QUOTED_LINES:
            text = [line.text for line in reader.lines(first, last)]
        else:
            half = QUOTED_LINES // 2
            text = [line.text for line in reader.lines(first, first + half - 1)]
            text += [f"... {last - first + 1 - QUOTED_LINES} lines ..."]
            text += [line.text for line in reader.lines(last - half + 1, last)]
        return (Citation(artifact, spec.file, first, last, role, "\n".join(text), spec.sha256),)

    def of(self, evidence: Iterable[Evidence]) -> tuple[Citation, ...]:
        return tuple(c for e in evidence for c in self.cite(e.artifact, e.line_from, e.line_to, e.role))


@dataclass(frozen=True)
class _Made:
    """A finding, the draft it was made from and its entry on the board."""

    draft: Draft
    finding: Finding
    entry: scoring.Entry


class _Judged:
    """Findings, board and pieces of one run; each step uses the previous one."""

    def __init__(
        self, case: Case, outcomes: Sequence[Outcome], runner: Runner, suppressions: Sequence[Suppression]
    ) -> None:
        self.case = case
        self.quotes = Quotes(case)
        self.outcomes = outcomes
        made: list[_Made] = []
        failed = [Failed(o.rule.id, o.failed) for o in outcomes if o.failed]
        broken: set[str] = set()
        for outcome in outcomes:
            try:
                made += [self._finding(d, outcome, runner) for d in outcome.drafts]
            except BadTemplate as error:
                failed.append(Failed(outcome.rule.id, f"{outcome.rule.path}: messages: {error}"))
                broken.add(outcome.rule.id)
        made = [m for m in made if m.draft.rule.id not in broken]
        self.failed = tuple(failed)
        hidden = [(m, s) for m in made if (s := _hidden_by(m.finding, suppressions))]
        self.hidden = tuple(
            Hidden(m.finding.rule, m.finding.host, m.finding.subject, m.finding.headline, m.finding.key, s.reason, s.author, s.until)
            for m, s in hidden
        )  # fmt: skip
        made = [m for m in made if all(m is not h for h, _ in hidden)]
        self.opinions = scoring.opinions(statements.usable(case.spec.statements))
        self.demand = scoring.is_rate(case.spec.symptom)
        self.entries = [*(m.entry for m in made), *self.opinions]
        self.hypotheses = scoring.board(self.entries, case.spec.hypotheses, demand=self.demand)
        self.requests, broken_requests = _attempt("REQUESTS", lambda: requests_of(case), Requests())
        self.failed += broken_requests
        made = self._placed(made, self.hypotheses)
        steps = SEVERITIES[::-1]
        made.sort(
            key=lambda m: (
                GROUPS.index(m.finding.group),
                -abs(m.finding.decibans),
                steps.index(m.draft.severity),
                m.finding.rule,
                [(c.artifact, c.line_from) for c in m.finding.citations],
                m.finding.key,
            )
        )
        self.made = made
        self.findings = tuple(m.finding for m in made)
        self.whose: WhoseSeconds | None
        self.whose, broken_pieces = _attempt(
            "WHOSE SECONDS", lambda: whose_seconds(case, self.findings, self.quotes.cite), None
        )
        self.failed += broken_pieces

    def _placed(self, made: Sequence[_Made], hypotheses: Sequence[Hypothesis]) -> list[_Made]:
        """Assign each finding its group on the page, depending on who leads."""
        before = Judgement(self.case, self.outcomes, [m.finding for m in made], hypotheses, None, self.requests)
        leaders = before.together or ((before.leader,) if before.leader else ())
        chain = {
            e.finding
            for unit in scoring.units([m.entry for m in made])
            for e in unit
            if any(x.cells.get(code, 0) > CLASSES["counter"] for x in unit for code in leaders)
        }
        return [replace(m, finding=replace(m.finding, group=self._group(m, leaders, chain))) for m in made]

    def without(self, group: str, present: str | None) -> Without:
        """Judge again without an evidence group; `present` is the code of the current leader."""
        return self._imagined(
            [m for m in self.made if m.entry.group != group], [e for e in self.opinions if e.group != group], present
        )

    def without_artifacts(self, present: str | None) -> Iterable[WithoutArtifact]:
        """Judge again without each artifact that findings rely on: findings that it only confirmed drop to their base
        weight.
        """
        cited = dict.fromkeys(c.artifact for m in self.made if m.entry.cells for c in m.finding.citations)
        for artifact in self.case.spec.artifacts:
            if artifact.id in cited:
                manifest = self.case.manifests.get(artifact.id, {})
                tables = {name for batch in manifest.get("batches", []) for name in batch.get("tables", {})}
                left = [lesser for m in self.made if (lesser := _lacking(m, artifact.id, tables)) is not None]
                kinds = {p.get("kind") for p in manifest.get("parts", [])}
                kind = next(iter(kinds)) if len(kinds) == 1 else None
                yield WithoutArtifact(artifact.id, artifact.file, kind, self._imagined(left, self.opinions, present))

    def _imagined(self, made: Sequence[_Made], opinions: Sequence[scoring.Entry], present: str | None) -> Without:
        """Judge a changed set of findings. Seconds that none of them blames any more are blamed on nobody."""
        entries = [*(m.entry for m in made), *opinions]
        hypotheses = scoring.board(entries, self.case.spec.hypotheses, rests=False, demand=self.demand)
        findings = [m.finding for m in self._placed(made, hypotheses)]
        whose = self.whose and replace(self.whose, pieces=tuple(_unblamed(self.whose, findings)))
        judgement = Judgement(self.case, self.outcomes, findings, hypotheses, whose, self.requests)
        standing, state = judgement.stands()
        present_score = next((h.score for h in hypotheses if h.code == present), 0) if present else None
        leader = standing.leader
        return Without(
            state,
            leader.code if leader else None,
            standing.support,
            leader.score if leader else 0,
            standing.margin,
            present_score,
        )

    @staticmethod
    def _group(m: _Made, leaders: Sequence[str], chain: set[str]) -> Group:
        f = m.finding
        given = m.draft.rule.file.hypotheses
        own_causes = [c for c in leaders if f.cells.get(c, 0) > 0 and _own(given.get(c), m.draft.voice)]
        leader = next(iter(own_causes or leaders), None)
        # A row that found a suspect harmless with less than 10 dB clears nobody, so it is not in the cleared group.
        kind = "finding" if f.kind == "clear" and not f.clears else f.kind
        return scoring.group_of(kind, f.layer, f.evidence_group, f.cells, bool(own_causes), leader, f.key in chain)

    def _finding(self, draft: Draft, outcome: Outcome, runner: Runner) -> _Made:
        rule, file, row = draft.rule, draft.rule.file, draft.row
        values = template_values(draft)
        headline, expert, manager = (render(file.messages.template(w, draft.voice), values) for w in MESSAGES)
        against = list(row.get("against") or [])
        if draft.contiguous == "assumed":
            expert = f"{expert} {ASSUMED}"
            against.append(ASSUMED)
        if draft.facts.get("id_mismatch"):
            against.append("The ids of the two artifacts differ: they are of different starts of the instance.")
        if draft.voice == "contradicted":
            against.append("The confirming artifact disagrees.")
        expert = " ".join([expert, *_changed(rule, outcome.params)])
        if draft.more:
            headline = f"{headline} (and {draft.more} more like it)"
        citations = self.quotes.of(draft.evidence)
        first = citations[0] if citations else Citation(0, "", 0, 0, "", "", "statements")
        sha = first.sha256 or f"artifact {first.artifact}"
        identity = json.dumps([rule.id, draft.host, draft.subject, sha, first.line_from])
        key = hashlib.sha256(identity.encode()).hexdigest()[:16]
        cells = scoring.cells_of(file.hypotheses, draft.voice, draft.decibans, draft.facts, row.get("tested"))
        place = self.case.at(first.artifact, first.line_from)
        clock = row.get("clock") or (place.clock if place else None)
        finding = Finding(
            key=key, rule=rule.id, version=file.version, title=file.title, kind="clear" if draft.kind == "clear" else "finding", group="contributing",
            layer=draft.layer, contributing=file.contributing_layers, host=draft.host, subject=draft.subject, tier=draft.tier,
            support=support_word(draft.decibans), decibans=draft.decibans, severity=draft.severity, by_statement=draft.by_statement,
            contiguous=draft.contiguous, magnitude=draft.magnitude, unit=file.severity.unit if file.severity.source == "magnitude" else "",
            t_from=row.get("t_from"), t_to=row.get("t_to"), clock=clock, headline=headline, expert=expert, manager=manager, facts=draft.facts,
            params=outcome.params, clears=_clears(draft), against=tuple(against), would_help=tuple(_would_help(draft, outcome, runner)),
            remedy=file.remedy, contraindications=file.contraindications, false_positives=file.false_positives, verify=_verify(rule), status=file.status,
            evidence_group=file.evidence_group, query_hash=rule.query_hash, engine_version=VERSION, more=draft.more, citations=citations, cells=cells,
        )  # fmt: skip
        return _Made(draft, finding, scoring.Entry(key, file.evidence_group, cells, tuple(row.get("chain") or ())))


def _lacking(m: _Made, artifact: int, tables: set[str]) -> _Made | None:
    """Return what is left of a finding without an artifact: all, its base weight if the artifact only confirmed it, or
    nothing.
    """
    f, rule = m.finding, m.draft.rule
    left = tuple(c for c in f.citations if c.artifact != artifact)
    if len(left) == len(f.citations):
        return m
    needed = {n.table for n in (*rule.requires.all, *rule.requires.any)}
    confirmed = bool(tables & {n.table for n in rule.requires.confirms}) and not tables & needed
    if not (left and confirmed and f.tier == "corroborated" and f.kind == "finding"):
        return None
    decibans = min(rule.decibans("base"), f.decibans)
    cells = scoring.cells_of(rule.file.hypotheses, "base", decibans, f.facts, m.draft.row.get("tested"))
    lesser = replace(f, tier="base", decibans=decibans, cells=cells, citations=left)
    return replace(m, finding=lesser, entry=replace(m.entry, cells=cells))


def _unblamed(whose: WhoseSeconds, findings: Sequence[Finding]) -> Iterable[Piece]:
    """Yield the pieces of a request; a culprit remains one only if a cause among `findings` cites its lines."""
    cited = [(c.artifact, c.line_from, c.line_to) for f in findings if f.group == "cause" for c in f.citations]
    for piece in whose.pieces:
        blamed = any(
            a == c.artifact and first <= c.line_to and c.line_from <= last
            for c in piece.citations
            for a, first, last in cited
        )
        yield piece if piece.kind != "culprit" or blamed else replace(piece, kind="untraced")


def _hidden_by(finding: Finding, suppressions: Sequence[Suppression]) -> Suppression | None:
    return next((s for s in suppressions if hides(s, finding.rule, finding.host, finding.subject)), None)


def _own(cell: object, voice: str) -> bool:
    """Return whether a cell is the finding's own weight and not a hint."""
    return cell == "tier" or (isinstance(cell, Mapping) and cell.get(voice) == "tier")


def _changed(rule: Rule, params: Mapping[str, ParamUsed]) -> Iterable[str]:
    """Yield a sentence for each threshold that was changed from the rule's default."""
    for name, used in params.items():
        if used.origin != "rule":
            unit = f" {used.unit}" if used.unit else ""
            yield f"Changed threshold: {name} is {used.value}{unit} instead of {rule.file.params[name].default}{unit}, set by {used.origin}."


# --- parts of a finding -----------------------------------------------------------------------------------------------


def _clears(draft: Draft) -> tuple[Clear, ...]:
    """Return the layers that are ruled out: by the rule's `exonerates` and by the row's own `clears`; none under 10 dB."""
    row = draft.row
    if abs(draft.decibans) < 10:
        return ()
    number, scope = row.get("clear_n"), row.get("clear_scope")
    made = [
        Clear(e.layer, float(row[e.seconds]), int(number), str(scope), e.because)
        for e in draft.rule.file.exonerates
        if e.when in ("always", draft.tier) and number and scope and row.get(e.seconds) is not None
    ]
    bound = str(row.get("bound") or "")
    made += [
        Clear(layer, float(row["clear_s"]), int(row["clear_n"]), str(scope), bound) for layer in row.get("clears") or []
    ]
    return tuple(made)


def _would_help(draft: Draft, outcome: Outcome, runner: Runner) -> Iterable[Request]:
    """Yield what would raise this finding's weight: missing confirming artifacts, and an unbroken trace if one is
    assumed.
    """
    worth = draft.rule.best() - abs(draft.decibans)
    if worth <= 0:
        return
    host = draft.host if draft.host in outcome.helps else None
    os = runner.host_os(draft.host)
    for need in outcome.helps.get(host, ()):
        yield collect.request([need], os, worth)
    first = next(iter((*draft.rule.requires.all, *draft.rule.requires.any)), None)
    if first is None:
        return
    if draft.contiguous == "assumed":
        yield replace(collect.request([first], os, worth), needs=("unbroken trace",))
    if draft.facts.get("id_mismatch"):
        for table in dict.fromkeys(n.table for n in draft.rule.requires.confirms):
            if table not in {n.table for n in outcome.helps.get(host, ())} and table != first.table:
                yield replace(collect.request([Need(table, table)], os, worth), needs=(f"{table} of the same start",))


def _verify(rule: Rule) -> str:
    v = rule.file.verify
    more = f", at least {v.min_n} values" if v.min_n else ""
    limit = f" to {v.threshold:g}" if v.threshold is not None else ""
    return f"{v.metric}: {v.statistic.replace('_', ' ')} should {v.expect}{limit}{more}"


# --- parts of the report ----------------------------------------------------------------------------------------------


def _not_evaluable(
    outcomes: Sequence[Outcome], runner: Runner, present: Here
) -> tuple[tuple[NotEvaluable, ...], tuple[str, ...]]:
    """Return what rules lack on each host, and the rules whose system or tool is not here."""
    found, absent = [], []
    for outcome in outcomes:
        for host, needs in outcome.unmet.items():
            if present.lacks(outcome.rule.requires, needs, runner.host_os(host)):
                absent.append(outcome.rule.id)
                continue
            asked = collect.request(needs, runner.host_os(host), outcome.rule.best())
            found.append(
                NotEvaluable(
                    outcome.rule.id,
                    outcome.rule.file.title,
                    host,
                    asked.needs,
                    asked.ask,
                    asked.os,
                    asked.who,
                    asked.worth,
                )
            )
    return tuple(sorted(found, key=lambda n: (-n.worth, n.rule, n.host or ""))), tuple(dict.fromkeys(absent))


def _cleared(findings: Sequence[Finding]) -> Iterable[Cleared]:
    for f in findings:
        if f.kind == "clear":
            for c in f.clears:
                yield Cleared(
                    c.layer, f.rule, f.host, c.seconds, c.requests, c.scope, c.because, f.decibans, f.citations
                )


def _artifacts(case: Case) -> Iterable[ReportArtifact]:
    for artifact in case.spec.artifacts:
        manifest = case.manifests.get(artifact.id, {})
        kinds = {p.get("kind") for p in manifest.get("parts", [])}
        hosts, phases = {p.host for p in artifact.parts}, {p.phase for p in artifact.parts}
        yield ReportArtifact(
            artifact.id, artifact.file, next(iter(kinds)) if len(kinds) == 1 else ("mixed" if kinds else None), hosts.pop() if len(hosts) == 1 else None,
            phases.pop() if len(phases) == 1 else None, int(manifest.get("lines") or 0), manifest.get("account") or {}, _error(manifest),
        )  # fmt: skip


def _error(manifest: Mapping[str, Any]) -> str | None:
    error = manifest.get("error")
    return None if error is None else str(error)


def _compared(case: Case) -> Iterable[Compared]:
    of_requests = ~pl.col("proposed") & (pl.col("metric") == "conn_times.elapsed_s")
    for r in case.derived("changes").filter(of_requests).iter_rows(named=True):
        text = (
            f"{r['series'] or r['metric']}: median {r['before_med']:g} s (n {r['n1']}, {r['from_phase']}) "
            f"to {r['after_med']:g} s (n {r['n2']}, {r['to_phase']}), "
            f"shift {r['shift']:.2f} s, 95 % interval {r['ci_lo']:.2f} to {r['ci_hi']:.2f}; mean {r['before_mean']:.3f} to {r['after_mean']:.3f} s"
        )
        yield Compared(
            r["series"] or r["metric"], r["from_phase"], r["to_phase"], (r["n1"], r["n2"]), (r["before_med"], r["after_med"]), r["shift"],
            (r["ci_lo"], r["ci_hi"]), text, (r["before_mean"], r["after_mean"]), (r["tail1"], r["tail2"]), r["p"], r["cliff"], r["n_changes"],
            bool(r["reversal"]), contrast.verdict_of(r["n1"], r["n2"], r["before_med"], r["shift"], r["ci_lo"], r["ci_hi"], same=r["p"] is None),
        )  # fmt: skip
