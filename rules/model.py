"""Data model of a judged incident: the case as people describe it, rule findings, and the report. Frozen dataclasses,
JSON both ways.

Nothing here imports Polars or DuckDB, so a web process may import it. Times are in seconds unless the name says
otherwise; `None` means unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rules.errors import CaseInvalid
from rules.writing.decoding import decode, encode

Severity = Literal["info", "minor", "major", "critical"]
Tier = Literal["base", "corroborated", "contradicted"]
Layer = Literal[
    "client_app", "client_host", "network", "listener", "name_service", "os_kernel", "database", "storage", "configuration", "measurement"
]  # fmt: skip
Contiguous = Literal["proven", "assumed", "broken"]
State = Literal["cause", "suspect", "undecided", "lead", "cannot tell", "nothing wrong seen"]
NameKind = Literal["port", "host", "path", "process", "parameter", "log text"]
LABELS: Mapping[State, str] = {
    "cause": "Cause",
    "suspect": "Suspect",
    "undecided": "Undecided",
    "lead": "Points to",
    "cannot tell": "Cannot tell yet",
    "nothing wrong seen": "Nothing wrong seen",
}
"""Labels of verdicts: what stands before their headline wherever it is printed."""
Group = Literal["cause", "along", "contributing", "cleared", "quality"]

GROUPS: tuple[Group, ...] = ("cause", "along", "contributing", "cleared", "quality")
"""Finding groups, in the order in which the page shows them."""

SEVERITIES: tuple[Severity, ...] = ("info", "minor", "major", "critical")
CLASSES: Mapping[str, int] = {"counter": 3, "shape": 6, "signature": 10, "mechanism": 15, "mechanism_and_artefact": 20}
"""Decibans of each strength class; a rule negates a class by writing `-` before it."""


# --- a case, as a room or a case.yaml describes it --------------------------------------------------------------------


@dataclass(frozen=True)
class Symptom:
    """What is slow, as people describe it. `bad` and `normal` are in `unit`; severity by share needs both, and the unit
    `s`.
    """

    text: str | None = None
    unit: str | None = None
    bad: float | None = None
    normal: float | None = None

    @property
    def excess_s(self) -> float | None:
        """Return the seconds to explain (bad minus normal), or None if the symptom does not give them."""
        if self.unit != "s" or self.bad is None or self.normal is None or self.bad <= self.normal:
            return None
        return self.bad - self.normal


@dataclass(frozen=True)
class HostSpec:
    """What people state about a host; `role` is client, db or app."""

    os: str | None = None
    os_release: str | None = None
    model: str | None = None
    ncpu: int | None = None
    mem_gib: float | None = None
    role: str | None = None
    tz: str | None = None


@dataclass(frozen=True)
class PartSpec:
    """A part of an artifact with what a person may correct about it. `clock` names the clock id that a person ties the
    part's clock domains to.
    """

    part: int
    line_from: int
    line_to: int
    host: str | None = None
    phase: str | None = None
    role: str | None = None
    clock: str | None = None


@dataclass(frozen=True)
class ArtifactSpec:
    """One artifact: its number in the room, its original bytes and the directory that holds its parsed tables."""

    id: int
    file: str
    sha256: str | None = None
    original: str | None = None
    reading: str | None = None
    parts: tuple[PartSpec, ...] = ()


@dataclass(frozen=True)
class Marker:
    """A typed instant (`at`) or the border between two phases (`between`). `changed` lists everything that changed."""

    kind: str = "change"
    label: str | None = None
    at: str | None = None
    between: tuple[str, str] | None = None
    changed: tuple[str, ...] = ()
    hypothesis: str | None = None


@dataclass(frozen=True)
class PhaseSpec:
    """Lines of an artifact that belong to a different phase than the rest of their part."""

    artifact: int
    line_from: int
    line_to: int
    phase: str


@dataclass(frozen=True)
class Statement:
    """A fact typed in by a person; findings that rely on it are marked *by statement*. `subject` is a host, a phase or,
    for example, `pid 12`.
    """

    name: str
    num: float | None = None
    unit: str | None = None
    text: str | None = None
    author: str | None = None
    subject: str | None = None


@dataclass(frozen=True)
class SiteName:
    """What people call a thing that evidence names: `name` is the thing as lines write it, `text` what it is at this
    site. `at` is the day on which `author` stated it. Observations show it; judging does not use it.
    """

    kind: NameKind
    name: str
    text: str
    author: str | None = None
    at: str | None = None


@dataclass(frozen=True)
class FreeHypothesis:
    """A cause that people put on the board in addition to those the library knows; no relation ties it to other
    hypotheses.
    """

    code: str
    cause: str
    layer: Layer | None = None
    author: str | None = None


@dataclass(frozen=True)
class Offset:
    """A person's statement about two clocks: `clock` shows `lo` to `hi` seconds more than `ref` at the same instant."""

    clock: str
    ref: str
    lo: float
    hi: float
    author: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class Override:
    """A changed value of a rule parameter. Of the scopes pack, site, team and room the last one wins; within a scope,
    the last in the list.
    """

    rule: str
    param: str
    value: float | int | str
    reason: str
    author: str
    scope: Literal["pack", "site", "team", "room"] = "room"
    expires: str | None = None


@dataclass(frozen=True)
class Suppression:
    """Hides and counts a rule's findings until a day at most 90 days away. `subject` is a pattern such as `pid 37*`."""

    rule: str
    reason: str
    author: str
    until: str
    subject: str = "*"
    host: str | None = None
    scope: Literal["incident", "host", "team"] = "incident"


@dataclass(frozen=True)
class RuleChoices:
    overrides: tuple[Override, ...] = ()
    suppressions: tuple[Suppression, ...] = ()


@dataclass(frozen=True)
class CaseSpec:
    """A whole case, the input of `evaluate`. `from_json` and `as_json` are inverse; unknown keys raise CaseInvalid."""

    schema: Literal[1] = 1
    title: str | None = None
    symptom: Symptom | None = None
    hosts: Mapping[str, HostSpec] = field(default_factory=dict)
    artifacts: tuple[ArtifactSpec, ...] = ()
    markers: tuple[Marker, ...] = ()
    phases: tuple[PhaseSpec, ...] = ()
    statements: tuple[Statement, ...] = ()
    offsets: tuple[Offset, ...] = ()
    t_zero: str | None = None
    rules: RuleChoices = field(default_factory=RuleChoices)
    hypotheses: tuple[FreeHypothesis, ...] = ()
    names: tuple[SiteName, ...] = ()

    @classmethod
    def from_json(cls, value: object) -> CaseSpec:
        """Decode a checked JSON object into a CaseSpec; raise CaseInvalid with the dotted path of what is wrong."""
        return decode(cls, value, CaseInvalid)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object that `from_json` reads."""
        made: dict[str, Any] = encode(self)
        return made


# --- what rules found -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Citation:
    """Lines of an original that support a finding, with their text. The text of a long range holds only its first and
    last lines.
    """

    artifact: int
    file: str
    line_from: int
    line_to: int
    role: str
    text: str
    sha256: str | None = None


@dataclass(frozen=True)
class Clear:
    """Seconds of requests for which a layer is ruled out by a bound; the ruling holds for these seconds only."""

    layer: str
    seconds: float
    requests: int
    scope: str
    because: str


@dataclass(frozen=True)
class Request:
    """An evidence request: what is needed, the exact command, for which system, who runs it, and the decibans it may be
    worth.
    """

    needs: tuple[str, ...]
    ask: str
    os: str | None
    who: str
    worth: int


@dataclass(frozen=True)
class ParamUsed:
    """A parameter's value when the finding was made and its origin (`rule`, or scope and author of an override)."""

    value: float | int | str
    unit: str | None
    origin: str


@dataclass(frozen=True)
class Finding:
    """One claim of a rule about one subject, with everything a page or a printout needs."""

    key: str
    rule: str
    version: str
    title: str
    kind: Literal["finding", "clear"]
    group: Group
    layer: str
    contributing: tuple[str, ...]
    host: str | None
    subject: str
    tier: str
    support: str
    decibans: int
    severity: str
    by_statement: bool
    contiguous: str | None
    magnitude: float
    unit: str
    t_from: float | None
    t_to: float | None
    clock: str | None
    headline: str
    expert: str
    manager: str
    facts: Mapping[str, Any]
    params: Mapping[str, ParamUsed]
    clears: tuple[Clear, ...]
    against: tuple[str, ...]
    would_help: tuple[Request, ...]
    remedy: tuple[str, ...]
    contraindications: tuple[str, ...]
    false_positives: tuple[str, ...]
    verify: str
    status: str
    evidence_group: str
    query_hash: str
    engine_version: str
    more: int
    citations: tuple[Citation, ...]
    cells: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Cleared:
    layer: str
    rule: str
    host: str | None
    seconds: float
    requests: int
    scope: str
    bound: str
    decibans: int
    citations: tuple[Citation, ...]


@dataclass(frozen=True)
class NotEvaluable:
    rule: str
    title: str
    host: str | None
    needs: tuple[str, ...]
    ask: str
    os: str | None
    who: str
    worth: int


@dataclass(frozen=True)
class Failed:
    rule: str
    error: str
    host: str | None = None


@dataclass(frozen=True)
class Hidden:
    """A finding that a suppression hides from the page, the board and the verdict, with the suppression's author,
    reason and end date.
    """

    rule: str
    host: str | None
    subject: str
    headline: str
    key: str
    reason: str
    author: str
    until: str


@dataclass(frozen=True)
class Against:
    """The entry with the largest weight against a hypothesis, counted or not; it is a person's dispute if `finding` is
    None.
    """

    decibans: int
    group: str
    finding: str | None


@dataclass(frozen=True)
class Hypothesis:
    """A column of the board.

    `cells` holds the counted decibans per evidence group; `rests_on` names the groups without which another hypothesis
    would lead. `said` is what people's opinions add to `score`. `machine` is the score that the findings alone would
    give and `people` the one that people's opinions alone would give, by the same rules; each is clamped to -40..40, so
    they need not add up to `score`.
    """

    code: str
    cause: str
    score: int
    cells: Mapping[str, int]
    rests_on: tuple[str, ...] = ()
    said: int = 0
    layer: str | None = None
    part_of: str | None = None
    why_of: str | None = None
    role: Literal["rival", "umbrella", "demand", "other"] = "rival"
    origin: Literal["fixed", "named", "free"] = "named"
    machine: int = 0
    people: int = 0
    against: Against | None = None


@dataclass(frozen=True)
class Without:
    """The verdict of the board without one evidence group. `kept` is the score that the present leader would still
    have.
    """

    state: State
    leader: str | None
    support: str
    score: int
    margin: int | None
    kept: int | None


@dataclass(frozen=True)
class WithoutArtifact:
    """The verdict of the board without one artifact: findings that it only confirmed drop to their base weight, its
    other findings are removed.
    """

    artifact: int
    file: str
    kind: str | None
    without: Without


@dataclass(frozen=True)
class EvidenceGroup:
    """A row of the board: everything its findings contribute, counted or not; per hypothesis the largest entry.

    `spread` is the largest minus the smallest cell, where a hypothesis without an entry counts as 0. `said_by` and
    `reason` are set for a row that a person entered.
    """

    name: str
    title: str
    findings: tuple[str, ...]
    cells: Mapping[str, int]
    spread: int
    discriminates: bool
    without: Without
    said_by: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Chain:
    """Evidence groups that explain the same seconds of one wait chain: `cells` is what they count together, once."""

    groups: tuple[str, ...]
    cells: Mapping[str, int]


@dataclass(frozen=True)
class Wanted:
    """Missing evidence that could change the board: `shift` is the most by which the leader's margin could shrink.

    `towards` is the rival that would gain, None if the evidence would only count against the leader. `finding` is the
    finding it would confirm, None for a rule that could not run. `overturns` is true if it is enough for the leader to
    lose or share its place.
    """

    rule: str
    title: str
    host: str | None
    finding: str | None
    needs: tuple[str, ...]
    ask: str
    os: str | None
    who: str
    worth: int
    shift: int
    towards: str | None
    overturns: bool


@dataclass(frozen=True)
class Board:
    """The evidence behind the hypotheses: evidence groups (most discriminating first), chains, and what could overturn
    the leader.
    """

    groups: tuple[EvidenceGroup, ...] = ()
    chains: tuple[Chain, ...] = ()
    artifacts: tuple[WithoutArtifact, ...] = ()
    wanted: tuple[Wanted, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The answer: `headline` for managers, printed behind the state's label, and `sentence` with the reasoning.

    `mechanism` and `rival` (its strongest other explanation, in words) are those of a lead.
    """

    state: State
    rules: tuple[str, ...]
    layer: str | None
    hypothesis: str | None
    support: str
    sentence: str
    missing: tuple[str, ...]
    margin: int | None = None
    share: float | None = None
    mechanism: str | None = None
    rival: str | None = None
    headline: str = ""


@dataclass(frozen=True)
class Quantity:
    """A measured figure of an observation; `name` carries the unit where the unit is a plain one (`duration_s`)."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Baseline:
    """What an observation is compared with, and the value of that in the unit of the quantity (None if unknown)."""

    what: str
    value: float | None
    unit: str


FIRST_SHOWN = 7
"""Number of observations that are shown unasked, on pages and in print."""

WITHIN_BOUNDS = "within its bounds"
"""What is said of an observation that is `normal`."""

LINE = "line"
"""Kind of an observation that only quotes a line: it is `normal`, and has no bounds."""


@dataclass(frozen=True)
class Observation:
    """A quantity that stands out, with its lines; it names no cause.

    `seconds` is wall time on somebody's way, `share` is 0 to 1 of what the observer says in `headline`. `means` says
    what the subject stands for, by its best signature, and `signatures` lists what it was recognised as. Observations
    that are `idle` or harmless come last, after measures within their bounds (`normal`), which are shown if little
    stands out. `names` are the names of the site that `headline` contains.
    """

    rank: int
    observer: str
    kind: str
    headline: str
    means: str | None
    subject: str
    host: str | None
    clock: str | None
    t_from: float | None
    t_to: float | None
    quantity: Quantity
    against: Baseline | None
    seconds: float | None
    share: float | None
    n: int
    key: str
    signatures: tuple[str, ...]
    mechanism: str | None
    layer: str | None
    normal: bool
    idle: bool
    idle_reason: str | None
    citations: tuple[Citation, ...]
    names: tuple[SiteName, ...] = ()

    @property
    def remark(self) -> str | None:
        """Return what is said behind the headline: what the subject stands for, or that the figure is usual."""
        return None if self.kind == LINE else WITHIN_BOUNDS if self.normal else self.means


@dataclass(frozen=True)
class Ask:
    """One of the few things that would settle most: the command, who runs it where, and what it decides between.

    `decides` names mechanisms, hypotheses or rules, `why` says the first of them in words.
    """

    ask: str
    who: str
    host: str | None
    os: str | None
    decides: tuple[str, ...]
    cost: str
    why: str = ""


@dataclass(frozen=True)
class Piece:
    """One stretch of the traced request. `at_most` is true if the seconds are an upper bound of what the label names."""

    label: str
    seconds: float
    at_most: bool
    kind: Literal["traced", "untraced", "wait", "culprit", "rest"]
    layer: str | None
    citations: tuple[Citation, ...]


@dataclass(frozen=True)
class WhoseSeconds:
    """The pieces that one traced request divides into; their seconds add up to `total_s`."""

    title: str
    total_s: float
    host: str | None
    subject: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class ClockPair:
    """Two places that together bound a clock offset: the line range on either side and the offsets (s) that they leave
    possible.
    """

    clock_lines: tuple[int, int]
    ref_lines: tuple[int, int]
    off_lo: float
    off_hi: float


@dataclass(frozen=True)
class ClockRow:
    """One row of the clock map in the report. `off_lo..off_hi` is how much more `clock` shows than `ref`, in seconds.

    `pairs` are the first twenty of the `n_pairs` that bound the offset; drift is in seconds per second.
    """

    clock: str
    ref: str
    off_lo: float | None
    off_hi: float | None
    accepted: bool
    method: str
    reason: str | None
    n_pairs: int = 0
    drift_lo: float | None = None
    drift_hi: float | None = None
    pairs: tuple[ClockPair, ...] = ()


@dataclass(frozen=True)
class ClockCheck:
    """A `step` of the offset at `t_at` (reading of `ref`, s), or a `zone` error: another zone, `size_s` apart, fits
    better.
    """

    clock: str
    ref: str
    test: str
    t_at: float | None
    size_s: float
    n_anchors: int


@dataclass(frozen=True)
class Clock:
    """A clock domain. Adding `add` (s) to its `t_local` gives the time on the axis of its `frame`, with an error of at
    most `err` (s).

    `lacks`: what its stamps need for a date, `day` or `year`, None if nothing. `base_why`: why a `base` is known that
    the stamps do not show, or why the day stays unknown; None for stamps with a date.
    """

    clock: str
    artifact: int
    part: int
    kind: str
    base: str | None
    zone: str | None
    host: str | None
    lines: tuple[tuple[int, int], ...]
    t_begin: float | None
    t_end: float | None
    frame: str
    add: float = 0.0
    err: float = 0.0
    lacks: Literal["day", "year"] | None = None
    base_why: str | None = None


@dataclass(frozen=True)
class Compared:
    series: str
    phase_from: str = field(metadata={"json": "from"})
    phase_to: str = field(metadata={"json": "to"})
    n: tuple[int, int]
    median: tuple[float, float]
    hl_shift: float
    ci: tuple[float, float]
    text: str
    mean: tuple[float, float]
    tail: tuple[int, int]
    p: float | None
    cliff: float
    n_changes: int | None
    reversal: bool
    verdict: str


@dataclass(frozen=True)
class ReportArtifact:
    id: int
    file: str
    kind: str | None
    host: str | None
    phase: str | None
    lines: int
    account: Mapping[str, int]
    error: str | None = None


@dataclass(frozen=True)
class Report:
    """The result of judging a case.

    Per host, every rule is in exactly one of findings/cleared, quiet, not_evaluable, not_here and failed. `asks` are the
    at most three best, `asks_more` counts the rest of the wishes.
    """

    artifacts: tuple[ReportArtifact, ...]
    clock_map: tuple[ClockRow, ...]
    clocks: tuple[Clock, ...]
    verdict: Verdict
    whose_seconds: WhoseSeconds | None
    findings: tuple[Finding, ...]
    cleared: tuple[Cleared, ...]
    not_evaluable: tuple[NotEvaluable, ...]
    compared: tuple[Compared, ...]
    hypotheses: tuple[Hypothesis, ...]
    quiet: tuple[str, ...]
    failed: tuple[Failed, ...]
    seconds: float
    hidden: tuple[Hidden, ...] = ()
    clock_checks: tuple[ClockCheck, ...] = ()
    board: Board = field(default_factory=Board)
    observations: tuple[Observation, ...] = ()
    asks: tuple[Ask, ...] = ()
    asks_more: int = 0
    not_here: tuple[str, ...] = ()
    schema: Literal[1] = 1

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object of `python -m rules --json`."""
        made: dict[str, Any] = encode(self)
        return {"schema": made.pop("schema"), **made}


def support_word(decibans: int) -> str:
    """Return the word for a weight of evidence: none, weak, fair, good, strong; `against` is added below zero."""
    size = abs(decibans)
    word = "none" if size == 0 else "weak" if size < 10 else "fair" if size < 20 else "good" if size < 30 else "strong"
    return f"{word} against" if decibans < 0 else word
