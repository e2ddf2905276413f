"""Derive the verdict from the board and the findings: its state, the cause it names, its sentence, and the evidence
that would change it.

The conditions are those of the state table; the first that holds wins. Nobody is blamed by counters alone: without one
finding of fair support for the leader there is no such state, whatever the leader's score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from rules.case.case import Case
from rules.engine.run import Outcome
from rules.judging import headlines, plain_words, scoring
from rules.model import CLASSES, Finding, Hypothesis, NotEvaluable, State, Verdict, WhoseSeconds
from rules.observers.observer import FELT_S
from rules.walking import wait_path
from rules.walking.threads import EXEC_NAMES, EXIT_NAMES

FAIR = 10
"""Minimum decibans of a finding that supports a claim on its own."""


class Requests:
    """The traced requests of a case: complete cycles of a listener, starts of its server processes, and all others.

    There may be millions, so they are looked up in their files.
    """

    def __init__(self, *spans: pl.LazyFrame) -> None:
        """Store the spans: lazy data frames of clock, first and last (s, of that clock)."""
        self._spans = spans
        self._known: dict[tuple[str | None, float, float], bool] = {}

    def hold(self, clock: str | None, begin: float, end: float) -> bool:
        """Return whether one request of a clock spans these seconds, with a tolerance of SLACK_S."""
        asked = (clock, begin, end)
        if asked not in self._known:  # the board asks again for each evidence group that it leaves out
            self._known[asked] = self._hold(*asked)
        return self._known[asked]

    def _hold(self, clock: str | None, begin: float, end: float) -> bool:
        around = (
            pl.col("clock").eq_missing(pl.lit(clock, pl.String))
            & (pl.col("first") - SLACK_S <= begin)
            & (end <= pl.col("last") + SLACK_S)
        )
        return any(not s.filter(around).head(1).collect(engine="streaming").is_empty() for s in self._spans)


def requests_of(case: Case) -> Requests:
    """Return the traced requests of a case; derived tables that hold them are built if they do not exist."""
    cycles = case.scan("listener_cycles", where=pl.col("complete"))
    starts = case.scan("pipe_pairs", where=pl.col("spawn_s").is_not_null())
    others = case.scan("requests", where=~pl.col("idle"))
    return Requests(
        cycles.select("clock", first="t_accept", last="t_end"),
        others.select("clock", first="t_from", last="t_to"),
        starts.select("clock", first=pl.col("t_read") - pl.col("spawn_s"), last="t_read"),
    )


class Judgement:
    """What the findings of one case mean together; `verdict` returns the answer, `leader` is the code of the leading
    cause.
    """

    def __init__(
        self,
        case: Case,
        outcomes: Sequence[Outcome],
        findings: Sequence[Finding],
        hypotheses: Sequence[Hypothesis],
        whose: WhoseSeconds | None,
        requests: Requests,
        observations: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Store the inputs; `observations` are rows of the table `observations`, ranked."""
        self.observations = observations
        self.case = case
        self.outcomes = outcomes
        self.findings = findings
        self.hypotheses = hypotheses
        self.whose = whose
        self.requests = requests
        self.demand = scoring.is_rate(case.spec.symptom)
        self.first = scoring.standing(hypotheses, two_kinds=False, demand=self.demand).leader
        self.together = self._together()
        self.leader = self.together[0] if self.together else self.first.code if self.first else None

    @property
    def best(self) -> Finding | None:
        """Return the strongest finding for the leader, if any."""
        return next(iter(self._findings_for(self.leader)), None)

    def verdict(self, not_evaluable: Sequence[NotEvaluable], waits: tuple[wait_path.Wait, ...] = ()) -> Verdict:
        """Return the verdict.

        `missing` lists what would raise a finding and what rules lack, most decibans first. `waits` lead to the best
        finding and are described before it.
        """
        missing = _missing(self.findings, not_evaluable)
        speaking = self._findings_for(self.leader)
        share = self._share(speaking)
        standing, state = self._standing(speaking, share)
        if state in ("cannot tell", "nothing wrong seen"):
            words = self._sentence_without_cause(state)
            return Verdict(state, (), None, None, "none", words, missing, headline=self._headline(state))
        best = speaking[0]
        named = [f for f in speaking if f.group == "cause"] or speaking
        beside = [f for code in self.together[1:] for f in self._findings_for(code)[:1]]
        layer = best.layer
        if layer == "measurement":
            layer = scoring.CAUSES.get(self.leader or "", scoring.Cause("", None)).layer or ""
        return Verdict(
            state,
            tuple(dict.fromkeys(f.rule for f in [*named, *beside])),
            layer or None,
            self.leader,
            standing.support,
            self._sentence(state, best, beside, share, waits),
            missing,
            standing.margin,
            share,
            headline=self._headline(state, best),
        )

    def stands(self) -> tuple[scoring.Standing, State]:
        """Return the standing of the board and the state of the verdict, without its words."""
        speaking = self._findings_for(self.leader)
        return self._standing(speaking, self._share(speaking))

    def _standing(self, speaking: Sequence[Finding], share: float | None) -> tuple[scoring.Standing, State]:
        standing = scoring.standing(
            self.hypotheses,
            two_kinds=self._two_kinds(speaking, share),
            demand=self.demand,
            together=self.together,
        )
        state = standing.state
        if state is not None and not any(f.cells[self.leader or ""] >= FAIR for f in speaking):
            state = None
        if state is None or not speaking:
            return standing, "nothing wrong seen" if state is None and self._nothing_wrong() else "cannot tell"
        return standing, state

    def _findings_for(self, code: str | None) -> list[Finding]:
        """Return the findings for a cause, strongest first; equal ones in page order."""
        held = [f for f in self.findings if code and f.cells.get(code, 0) > 0 and f.kind == "finding"]
        return sorted(held, key=lambda f: -f.cells[code or ""])

    # --- causes of disjoint seconds of one profile -------------------------------------------------------------------

    def _together(self) -> tuple[str, ...]:
        """Return the causes that explain different seconds of the same request as the leader, larger share first.

        They are not rivals of each other.
        """
        if self.first is None:
            return ()
        mine = self._own(self.first.code)
        found = {self.first.code: mine[0]} if mine else {}
        for h in scoring.rivals(self.first.code, self.hypotheses, self.demand) if mine else ():
            its = [f for f in self._own(h.code) if all(self._disjoint(f, g) for g in found.values())]
            if its and h.score >= scoring.SUSPECT:
                found[h.code] = its[0]
        if len(found) < 2:
            return ()
        return tuple(sorted(found, key=lambda code: (-_seconds(found[code]), list(found).index(code))))

    def _own(self, code: str) -> list[Finding]:
        """Return the findings of fair support for a cause whose seconds are known."""
        return [f for f in self._findings_for(code) if f.cells[code] >= FAIR and _seconds(f) > 0 and f.clock]

    def _disjoint(self, one: Finding, other: Finding) -> bool:
        """Return whether two findings explain different seconds of one request of one clock.

        A finding without a begin counts as an instant at its end.
        """
        if one.clock != other.clock or one.t_to is None or other.t_to is None:
            return False
        begins = [a.t_from if a.t_from is not None else b for a, b in ((one, one.t_to), (other, other.t_to))]
        apart = one.t_to <= begins[1] or other.t_to <= begins[0]
        begin, end = min(begins), max(one.t_to, other.t_to)
        return apart and self.requests.hold(one.clock, begin, end)

    # --- conditions --------------------------------------------------------------------------------------------------

    def _share(self, speaking: Sequence[Finding]) -> float | None:
        """Return the leader's share of its request: from the pieces, else from its finding's own figure; None if
        unknown.
        """
        known = [f.facts["request_share"] for f in speaking if isinstance(f.facts.get("request_share"), (int, float))]
        blamed = self._blamed_s()
        if self.whose is not None and blamed:
            known.append(blamed / self.whose.total_s)
        return round(max(known), 4) if known else None

    def _blamed_s(self) -> float:
        """Return the seconds of pieces blamed on the leader; 0 if several causes are named, because a piece names no
        cause.
        """
        if self.whose is None or self.together:
            return 0.0
        return sum(p.seconds for p in self.whose.pieces if p.kind == "culprit")

    def _two_kinds(self, speaking: Sequence[Finding], share: float | None) -> bool:
        """Return whether two kinds of evidence agree.

        That is: two artifacts of one start of an instance, or half of the request accounted for plus an intervention.
        """
        seen = [
            f for f in speaking if f.evidence_group != "before-after" and not f.facts.get("id_mismatch") and f.citations
        ]
        one = any(f.tier == "corroborated" and len({c.artifact for c in f.citations}) > 1 for f in seen)
        fair = [f for f in seen if f.cells[self.leader or ""] >= FAIR and f.host is not None]
        two = any(
            f.host == g.host
            and f.evidence_group != g.evidence_group
            and not {c.artifact for c in f.citations} & {c.artifact for c in g.citations}
            and self._phases(f) == self._phases(g)
            for n, f in enumerate(fair)
            for g in fair[n + 1 :]
        )
        intervened = any(f.evidence_group == "before-after" and f.decibans >= FAIR for f in speaking)
        accounted = share is not None and share >= scoring.SHARE and any(f.group == "cause" for f in speaking)
        return one or two or (accounted and intervened)

    def _phases(self, finding: Finding) -> set[str | None]:
        places = [self.case.at(c.artifact, c.line_from) for c in finding.citations]
        return {p.phase for p in places if p}

    def _nothing_wrong(self) -> bool:
        if any(f.layer != "measurement" and f.severity != "info" for f in self.findings) or self._elsewhere():
            return False
        measured = any(
            o.quiet and o.applies and not o.failed and o.rule.file.layer != "measurement" for o in self.outcomes
        )
        return measured and self._covers() and not any(stands_out(row) for row in self.observations)

    def _elsewhere(self) -> list[Finding]:
        """Return the findings that place the seconds on the other side of a wait which the evidence does not follow."""
        return [
            f for f in self.findings if f.cells.get(scoring.UMBRELLA, 0) >= CLASSES["shape"] and f.kind == "finding"
        ]

    def _covers(self) -> bool:
        """Return whether a symptom was stated and the artifacts cover it: by a clock or a measured time as long as its
        seconds.

        A symptom without seconds is covered by a clock of at least `STRETCH_S`, unless all it stamps is one thread to
        which a tracer was attached, by the trace of a whole command, or by any measured time; if nobody stated what is
        slow, nothing can be called well.
        """
        symptom = self.case.spec.symptom
        if symptom is None or (symptom.bad is None and not symptom.text):
            return False
        timed = symptom.bad if symptom.unit == "s" else None
        spans = {
            c.clock: c.t_end - c.t_begin for c in self.case.clocks if c.t_begin is not None and c.t_end is not None
        }
        long = [clock for clock, s in spans.items() if s >= (STRETCH_S if timed is None else timed)]
        if timed is None and long:
            long = [clock for clock in long if clock not in self._attached_to_one()]
        if long:
            with_holes = self._with_holes({clock: spans[clock] for clock in long})
            long = [clock for clock in long if clock not in with_holes]
        if timed is None and not long:
            long = self._whole_commands()
        times = self.case.table("conn_times")["elapsed_s"].drop_nulls().to_list()
        return bool(long) or any(s >= (SLACK_S if timed is None else timed) for s in times)

    def _attached_to_one(self) -> frozenset[str]:
        """Return the clocks of traces of a single thread that was running already: other threads are not in them."""
        calls = self.case.scan("syscalls", ["clock", "pid", "lwp", "name"], pl.col("clock").is_not_null())
        threads = pl.struct("pid", "lwp").n_unique() == 1
        started = pl.col("name").is_in(EXEC_NAMES).any()
        found = calls.group_by("clock").agg((threads & ~started).alias("one")).filter("one")
        return frozenset(found.collect(engine="streaming")["clock"].to_list())

    def _with_holes(self, spans: Mapping[str, float]) -> frozenset[str]:
        """Return the clocks of traces in which no call is stamped for half of the time: pieces of a longer trace."""
        begins = {c.clock: c.t_begin for c in self.case.clocks if c.clock in spans}
        known = pl.LazyFrame(
            {"clock": list(spans), "begin": [begins[c] for c in spans], "length": list(spans.values())}
        )
        place = ((pl.col("t_local") - pl.col("begin")) / pl.col("length") * PLACES).floor().clip(0, PLACES - 1)
        calls = self.case.scan("syscalls", ["clock", "t_local"], pl.col("t_local").is_finite())
        placed = calls.join(known, on="clock").select("clock", place.cast(pl.Int32).alias("place")).unique()
        holes = placed.group_by("clock").agg(pl.col("place").sort().diff().max().alias("longest"))
        found = holes.filter(pl.col("longest") > HOLE * PLACES).collect(engine="streaming")
        return frozenset(found["clock"].to_list())

    def _whole_commands(self) -> list[str]:
        """Return the clocks of traces that begin with the start of a command and show its end, however short it is."""
        calls = self.case.scan("syscalls", ["clock", "pid", "line_no", "name"], pl.col("clock").is_not_null())
        first = calls.group_by("clock").agg(pl.struct("line_no", "pid", "name").bottom_k_by("line_no", 1).first())
        begins = first.unnest("line_no").filter(pl.col("name").is_in(EXEC_NAMES)).select("clock", "pid")
        ends = calls.filter(pl.col("name").is_in(EXIT_NAMES)).select("clock", "pid").unique()
        found = begins.join(ends, on=["clock", "pid"], nulls_equal=True).collect(engine="streaming")
        return [str(clock) for clock in found["clock"]]

    # --- words -------------------------------------------------------------------------------------------------------

    def _headline(self, state: State, best: Finding | None = None) -> str:
        return headlines.headline(
            state,
            best,
            self._tied() if state == "undecided" else (),
            self.observations,
            self.case.spec.symptom,
            self._elsewhere() if state == "cannot tell" else (),
            self._read(),
        )

    def _read(self) -> str:
        """Say how many files were read and how long a time the longest of their clocks spans."""
        files = len({a.id for a in self.case.spec.artifacts})
        spans = [c.t_end - c.t_begin for c in self.case.clocks if c.t_begin is not None and c.t_end is not None]
        over = f" over {plain_words.in_words(max(spans))}" if spans and max(spans) >= 1 else ""
        return f"{files} file{'s' if files != 1 else ''}{over}"

    def _sentence_without_cause(self, state: str) -> str:
        if state == "cannot tell":
            ends = self._elsewhere()
            if ends:
                return f"The evidence ends before the cause: {ends[0].headline}."
            most = [row["headline"].rstrip(".") for row in self.observations if not row["idle"]][:MOST_NAMED]
            seen = f" What stands out most: {'; '.join(most)}." if most else ""
            return f"No explanation has enough evidence for it.{seen}"
        layers = sorted(
            {
                o.rule.file.layer.replace("_", " ")
                for o in self.outcomes
                if o.quiet and o.applies and o.rule.file.layer != "measurement"
            }
        )
        return f"Nothing wrong seen in what was measured: {', '.join(layers)}."

    def _sentence(
        self,
        state: str,
        best: Finding,
        beside: Sequence[Finding],
        share: float | None,
        waits: tuple[wait_path.Wait, ...],
    ) -> str:
        sentence = best.headline
        if share is not None and best.group == "cause" and self.whose is not None:
            blamed = self._blamed_s()
            if blamed:
                sentence = (
                    f"{sentence}: {100 * share:.0f} % of its request ({blamed:.3f} of {self.whose.total_s:.3f} s)"
                )
        if best.evidence_group == "before-after" and (tested := scoring.CAUSES.get(self.leader or "")):
            sentence = f"{tested.text}, by a change that was aimed at it: {sentence}"
        led = wait_path.described(waits, best.host)
        if led:
            sentence = f"{led}, because {_inside_sentence(sentence)}"
        sentence += "".join(f"; in other seconds of the same request: {_inside_sentence(f.headline)}" for f in beside)
        if state == "undecided":
            return f"Undecided between {' and '.join(self._tied())}: {sentence}."
        if state == "suspect":
            return f"Suspected: {sentence}."
        return f"{sentence.replace('as the', 'As the', 1) if led.startswith('as the') else sentence}."

    def _tied(self) -> list[str]:
        """Return the leader's text, then those of all rivals within the margin that have anything for them."""
        leader = next(h for h in self.hypotheses if h.code == self.leader)
        near = [
            h
            for h in scoring.rivals(leader.code, self.hypotheses, self.demand, self.together)
            if h.score > 0 and leader.score - h.score < scoring.MARGIN
        ]
        return [leader.cause, *(h.cause for h in near)] if near else [leader.cause, "what is not listed"]


MOST_NAMED = 3
"""Maximum number of observations that the sentence names while there is no cause."""

PLACES, HOLE = 1_000, 0.5
"""Number of equal parts of a trace's time, and the largest share of them without a stamp of a trace that covers its time."""

STRETCH_S = 5.0
"""Minimum seconds of evidence that may be called well where nobody said how long the slow moment is: sampling tools are
run with intervals of 1 to 5 s (sar(1), iostat(1)), and what is shorter than one sample is a glimpse.
"""

SLACK_S = 0.001
"""Tolerance in seconds: stamps are printed to a tenth of a millisecond, so sums of them may exceed a request by this
much.
"""


REPORTED = ("lockup", "hung")
"""Kinds of what the kernel itself reports as stuck."""

SATURATED = 0.8
"""Share of a resource from which it is saturated."""


def stands_out(row: Mapping[str, Any]) -> bool:
    """Return whether an observation is large enough to exclude the verdict "nothing wrong seen".

    That is a wait that a person feels, a saturated resource, somebody who uses half a processor, a failure that ended a
    step, or what the kernel reports as stuck, unless it is idle or harmless.
    """
    if row["idle"]:
        return False
    waited = (
        row["seconds"] if row["seconds"] is not None else row["value"] if row["kind"] in ("gap", "silence") else 0.0
    )
    felt = waited >= FELT_S
    full = row["observer"] == "saturation" and (row["share"] or 0.0) >= SATURATED
    full |= row["observer"] == "consumers" and row["unit"] == "%"
    return bool(felt or full or row["failure"] or row["kind"] in REPORTED)


def _seconds(finding: Finding) -> float:
    if finding.unit == "s":
        return finding.magnitude
    return 0.0 if finding.t_from is None or finding.t_to is None else finding.t_to - finding.t_from


def _inside_sentence(headline: str) -> str:
    """Return a headline for use inside a sentence: first word in lower case, unless it is a name (`CPU`, `H2`,
    `__ticket_spin_lock`).
    """
    word = headline.split(" ", 1)[0]
    return f"{word.lower()}{headline[len(word) :]}" if word.istitle() and word.isalpha() else headline


def _missing(findings: Sequence[Finding], not_evaluable: Sequence[NotEvaluable]) -> tuple[str, ...]:
    wanted = [(r.worth, f"{', '.join(r.needs)}: {r.ask}") for f in findings for r in f.would_help]
    wanted += [(n.worth, f"{', '.join(n.needs)}: {n.ask}") for n in not_evaluable]
    return tuple(dict.fromkeys(text for _, text in sorted(wanted, key=lambda w: -w[0])))
