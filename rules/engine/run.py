"""Run rules over a case: requirements per host, the query in the child process, the result contract, the cache.

The results are *drafts*: rows that meet the contract, with weight and severity. Boards and sentences are made by
`rules.judging.scoring` and `rules.judging.evaluate`. A rule that fails has its own outcome and does not affect the
others.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import polars as pl

from rules import registry
from rules.case.case import Case, columns_of
from rules.clocks import clock_map as clocks
from rules.derived.derived_table import FAULTS
from rules.engine import views
from rules.engine.sandbox import Rows, Sandbox
from rules.engine.slices import Slices
from rules.errors import CaseInvalid, RuleFailed
from rules.judging import findings_table
from rules.model import CLASSES, Failed, Layer, Override, ParamUsed, Severity
from rules.writing.loader import condition, literal
from rules.writing.packs import Pack
from rules.writing.rule import Need, Rule

VERSION = "1"
"""Version of the engine: raised when it judges differently; part of every cache key and every finding."""

_CONTRACT = """
subject magnitude evidence tier layer host t_from t_to clock kind contiguous cap clears clear_s clear_n clear_scope bound
by_statement in_symptom tested chain against of_n
"""
CONTRACT = frozenset(_CONTRACT.split())
"""Columns of a result with a meaning for the engine; every other scalar column is a fact for the templates."""

LAYERS: frozenset[str] = frozenset(get_args(Layer))
SCOPES = ("pack", "site", "team", "room")
SHARES = (("critical", 0.5), ("major", 0.2), ("minor", 0.05))
ASSUMED_CAP = CLASSES["mechanism"]
CLEARS_FROM = 10
CLEAR = "clear"
AXIS = re.compile(r"\bt\b|\bt_err\b|\.\*|\bselect\s+\*|,\s*\*", re.I)
"""Matches SQL that may read times on the common axis: `t`, `t_err` or a star.

A rule without a match runs again only when it has new rows.
"""

WORD = re.compile(r"[a-z_][a-z0-9_]*")
ROOM = "(room)"
"""Key for the row counts of tables that belong to no host."""


@dataclass(frozen=True)
class Evidence:
    artifact: int
    line_from: int
    line_to: int
    role: str


@dataclass(frozen=True)
class Draft:
    """A result row that meets the contract. `decibans` is signed and capped; `facts` fill the templates."""

    rule: Rule
    host: str | None
    subject: str
    magnitude: float
    kind: str
    tier: str
    layer: str
    decibans: int
    severity: Severity
    contiguous: str | None
    by_statement: bool
    evidence: tuple[Evidence, ...]
    facts: Mapping[str, Any]
    row: Mapping[str, Any]
    more: int = 0

    @property
    def voice(self) -> str:
        """Return which texts and weight apply: those of `clear` for a clearing if the rule has them, else those of the
        tier.
        """
        return CLEAR if self.kind == CLEAR and CLEAR in self.rule.file.confidence else self.tier


@dataclass(frozen=True)
class Outcome:
    """The result of one rule. Each considered host is in `fired`, `quiet` or `unmet` (or in none, if `failed` says
    why).

    `unmet` maps host to missing needs; `helps` maps host to missing needs that would confirm. A host of None is
    unknown, or the whole room.
    """

    rule: Rule
    params: Mapping[str, ParamUsed]
    drafts: tuple[Draft, ...] = ()
    quiet: tuple[str | None, ...] = ()
    unmet: Mapping[str | None, tuple[Need, ...]] = field(default_factory=dict)
    helps: Mapping[str | None, tuple[Need, ...]] = field(default_factory=dict)
    failed: str | None = None
    applies: bool = True


def template_values(draft: Draft) -> dict[str, Any]:
    """Return the values that a message template may print."""
    row = draft.row
    return {**draft.facts, "subject": draft.subject, "magnitude": draft.magnitude, "host": draft.host, "n_more": draft.more,
            **{k: row.get(k) for k in ("clear_s", "clear_n", "clear_scope")}}  # fmt: skip


def parameters(rule: Rule, overrides: Sequence[Override], now: datetime | None = None) -> dict[str, ParamUsed]:
    """Return each parameter's value and origin; of pack, site, team and room the last wins.

    Raises CaseInvalid for a value outside its bounds.
    """
    today = (now or datetime.now(UTC)).date().isoformat()
    used = {name: ParamUsed(p.default, p.unit, "rule") for name, p in rule.file.params.items()}
    for override in sorted(overrides, key=lambda o: SCOPES.index(o.scope)):
        if override.rule != rule.id or (override.expires is not None and override.expires[:10] < today):
            continue
        where = f"rules.overrides.{rule.id}.{override.param}"
        if override.param not in rule.file.params:
            raise CaseInvalid(where, "the rule has no such parameter")
        param = rule.file.params[override.param]
        why = param.refuse(override.value)
        if why:
            raise CaseInvalid(where, why)
        until = f" until {override.expires[:10]}" if override.expires else ""
        used[override.param] = ParamUsed(
            override.value, param.unit, f"{override.scope} {override.author}{until}: {override.reason}"
        )
    return used


def tables_of(rule: Rule) -> list[str]:
    """Return every table a rule may read, according to its text, parts and requirements.

    The list is sorted and may hold too many tables, never too few.
    """
    needed = {n.table for n in (*rule.requires.all, *rule.requires.any, *rule.requires.confirms)}
    named = {table for sql in (rule.sql, *rule.file.parts.values()) for table in tables_in(sql, rule.file.stage)}
    return sorted(named | needed & views.names(rule.file.stage))


def _per_artifact(rule: Rule) -> tuple[str, Mapping[str, str]]:
    """Return a rule's statement and the parts of it that are run for each artifact separately."""
    if rule.file.scope == "room":
        return rule.sql, rule.file.parts
    name = f"{rule.file.slug.replace('-', '_')}_rows"
    each = f"select *, evidence[1].artifact_id as artifact_id from (\n{rule.sql}\n)"
    order = "magnitude desc, evidence[1].artifact_id, evidence[1].line_from, subject"
    return f"select * exclude (artifact_id) from {name} order by {order}", {name: each}


def tables_in(sql: str, stage: int = 1) -> list[str]:
    """Return every table a statement may read, sorted; may hold too many tables, never too few."""
    return sorted(set(WORD.findall(sql)) & views.names(stage))


class Runner:
    """Runs rules over one case in one child process.

    `cache` stores results by what they depend on; `scratch` is for small Parquet files.
    """

    def __init__(self, case: Case, sandbox: Sandbox, scratch: Path, cache: Path | None = None) -> None:
        self.case = case
        self.sandbox = sandbox
        self.scratch = scratch
        self.cache = cache
        self.slices = Slices(case, sandbox, scratch, cache, VERSION)
        self._opened: set[str] = set()
        self._views: dict[str, str] = {}
        self._counts: dict[str, dict[str | None, int]] = {}
        self._needs: dict[tuple[str, bool], dict[str, Need]] = {}
        self._lines = {a: int(m.get("lines") or 0) for a, m in case.manifests.items()}
        self._hosts = _hosts(case)
        seen = case.table("artifacts", ["os"])["os"].drop_nulls().to_list()
        self._systems = frozenset([*seen, *(os for os, _ in self._hosts.values() if os)])
        self._first: dict[str, Outcome] | None = None

    def run(self, rules: Iterable[Rule], overrides: Sequence[Override] = ()) -> list[Outcome]:
        """Return one outcome per rule, in the order of `rules`.

        Rules of stage 2 run last and read the findings of the others.
        """
        listed = list(rules)
        for need in (n for r in listed for n in (*r.requires.all, *r.requires.any, *r.requires.confirms)):
            self._needs.setdefault((need.table, _owned(need)), {})[need.text] = need
        made = {r.id: self.run_one(r, parameters(r, overrides)) for r in listed if r.file.stage == 1}
        later = [r for r in listed if r.file.stage == 2]
        if later:
            self._first = dict(made)
            self.case.take_findings(self._findings_of(made.values()))
            made |= {r.id: self.run_one(r, parameters(r, overrides)) for r in later}
        return [made[r.id] for r in listed]

    def discovered(self, packs: Iterable[Pack], rules: Sequence[Rule]) -> tuple[list[Rule], list[Failed]]:
        """Leave out the rules of packs whose discovery query finds nothing in this case or fails; return the rest and
        the failures.
        """
        out: set[str] = set()
        failed: list[Failed] = []
        for pack in packs:
            if pack.discovery is None or not pack.rules:
                continue
            name = f"pack {pack.name}"
            try:
                tables = sorted(set(WORD.findall(pack.discovery)) & views.names())
                if not self._ask(name, pack.discovery, {}, tables).rows:
                    out |= pack.rules
            except RuleFailed as error:
                out |= pack.rules
                failed.append(Failed(name, f"discovery: {error.cause}"))
        return [r for r in rules if r.id not in out], failed

    def _findings_of(self, outcomes: Iterable[Outcome]) -> pl.DataFrame:
        """Return the table `findings` of the stage-1 outcomes."""
        return findings_table.TABLE.rows(
            findings_table.plain(self._found_row(d)) for o in outcomes if not o.failed for d in o.drafts
        )

    def _found_row(self, draft: Draft) -> dict[str, Any]:
        first = draft.evidence[0] if draft.evidence else Evidence(0, 0, 0, "")
        place = self.case.at(first.artifact, first.line_from)
        clears = {k: draft.row.get(k) for k in ("clear_s", "clear_n")}
        return {
            "artifact_id": first.artifact, "host": draft.host, "phase": place.phase if place else None,
            "clock": draft.row.get("clock") or (place.clock if place else None), "line_no": first.line_from, "line_end": first.line_to,
            "rule": draft.rule.id, "kind": draft.kind, "subject": draft.subject, "tier": draft.tier, "severity": draft.severity,
            "decibans": draft.decibans, "layer": draft.layer, "evidence_group": draft.rule.file.evidence_group, "magnitude": draft.magnitude,
            "facts": {**clears, **draft.facts, "magnitude": draft.magnitude}, "t_from": draft.row.get("t_from"), "t_to": draft.row.get("t_to"),
            "contiguous": draft.contiguous, "by_statement": draft.by_statement,
            "evidence": [{"artifact_id": e.artifact, "line_from": e.line_from, "line_to": e.line_to, "role": e.role} for e in draft.evidence],
        }  # fmt: skip

    def run_one(self, rule: Rule, params: Mapping[str, ParamUsed]) -> Outcome:
        """Return the outcome of one rule with these parameters; `failed` names its file and the failing key of it."""
        key = "requires"
        try:
            counts = self._counted(rule, (*rule.requires.all, *rule.requires.any))
            met, unmet, applies = self._gate(rule, counts)
            unmet, silent = self._without_findings(unmet)
            rows: list[dict[str, Any]] = []
            more = 0
            if met:  # tables that would only confirm are not even built if the rule cannot run
                counts |= self._counted(rule, rule.requires.confirms)
                values = {n: p.value for n, p in params.items()}
                key = "query" if rule.file.query else "when"
                sql, apart = _per_artifact(rule)
                parts = {n: self._part(rule, n, part, values) for n, part in apart.items()}
                file = self._cache_file(rule, sql, values, [digest for _, digest in parts.values()])
                found = _read(file)
                if found is None:
                    made = self._query(rule, sql, values, {n: select for n, (select, _) in parts.items()})
                    found = {"rows": list(made.rows), "more": made.more}
                    _write(file, found)
                rows = found["rows"]
                more = max([found["more"], *((row.get("of_n") or 0) - len(rows) for row in rows[:1])])
            room = _room_scope(rule)
            drafts = [d for d in (self._draft(rule, row) for row in rows) if room or d.host in met]
        except RuleFailed as error:
            return Outcome(rule, params, failed=f"{rule.path}: {key}: {error.cause}")
        except FAULTS as error:  # the fault of one rule or its derived table must not stop the others
            return Outcome(rule, params, failed=f"{rule.path}: {key}: {type(error).__name__}: {error}")
        fired = {None} if room and drafts else {d.host for d in drafts}
        helps = {h: tuple(n for n in rule.requires.confirms if not _met(n, h, counts, room)) for h in {*met, *fired}}
        quiet = (*(h for h in met if h not in fired), *silent)
        return Outcome(
            rule,
            params,
            _fold(drafts, rule.file.max_rows, more),
            quiet if applies else (None,),
            unmet,
            helps,
            applies=applies,
        )

    # --- requirements ------------------------------------------------------------------------------------------------

    def _gate(
        self, rule: Rule, counts: Mapping[str, Mapping[str | None, int]]
    ) -> tuple[list[str | None], dict[str | None, tuple[Need, ...]], bool]:
        """Return the hosts whose needs are met, the other hosts with what they lack, and whether the rule applies
        anywhere.
        """
        room = _room_scope(rule)
        considered: list[str | None] = [None]
        if not room:
            owners = {
                h
                for n in (*rule.requires.all, *rule.requires.any)
                for h, count in counts[n.text].items()
                if count and h != ROOM
            }
            known = sorted({h for h in owners if h} | set(self._hosts))
            considered = [h for h in known if self._applies(rule, h)] + ([None] if None in owners else [])
            if not considered:
                if known:
                    return [], {}, False
                considered = [None]
        met: list[str | None] = []
        unmet: dict[str | None, tuple[Need, ...]] = {}
        for host in considered:
            lacking = tuple(n for n in rule.requires.all if not _met(n, host, counts, room))
            if rule.requires.any and not any(_met(n, host, counts, room) for n in rule.requires.any):
                lacking += rule.requires.any
            if lacking:
                unmet[host] = lacking
            else:
                met.append(host)
        return met, unmet, True

    def _without_findings(
        self, unmet: Mapping[str | None, tuple[Need, ...]]
    ) -> tuple[dict[str | None, tuple[Need, ...]], tuple[str | None, ...]]:
        """Resolve needs for other rules' findings: to the needs of those rules if they could not run, else to "quiet".

        Returns the remaining unmet needs and the hosts on which those other rules ran and found nothing.
        """
        if self._first is None:
            return dict(unmet), ()
        left: dict[str | None, tuple[Need, ...]] = {}
        silent: list[str | None] = []
        for host, needs in unmet.items():
            own = [n for n in needs if n.table != findings_table.TABLE.name]
            theirs = [n for need in needs if need not in own for n in self._needs_behind(need, host)]
            if own or theirs:
                left[host] = tuple({n.text: n for n in [*own, *theirs]}.values())
            else:
                silent.append(host)
        return left, tuple(silent)

    def _needs_behind(self, need: Need, host: str | None) -> Iterable[Need]:
        """Yield the needs that are missing for the rules whose findings `need` asks for."""
        named = [value for column, op, value in need.where if column == "rule" and op in ("=", "in")]
        ids = {i for value in named for i in ([value] if isinstance(value, str) else value)}
        for rule, outcome in (self._first or {}).items():
            if not ids or rule in ids:
                yield from outcome.unmet.get(host, ()) or outcome.unmet.get(None, ())
                if ids and outcome.failed:
                    yield need
        if ids and not ids & set(self._first or {}):
            yield need

    def _applies(self, rule: Rule, host: str) -> bool:
        os, role = self._hosts.get(host, (None, None))
        return (not rule.file.os or os is None or os in rule.file.os) and (
            not rule.file.roles or role is None or role in rule.file.roles
        )

    def host_os(self, host: str | None) -> str | None:
        """Return the operating system of a host; without a host, the only one in the evidence. None if unknown."""
        if host:
            return self._hosts.get(host, (None, None))[0]
        return next(iter(self._systems)) if len(self._systems) == 1 else None

    def _counted(self, rule: Rule, needs: Iterable[Need]) -> dict[str, dict[str | None, int]]:
        return {need.text: self._count(rule, need) for need in needs}

    def _count(self, rule: Rule, need: Need) -> dict[str | None, int]:
        if need.text not in self._counts:
            # Most tables of most cases are empty; these need neither a query nor a view.
            empty = not self.case.may_have(views.WITHOUT_FIRST.get(need.table, need.table))
            self._counts |= {need.text: {}} if empty else self._count_together(rule, need)
        return self._counts[need.text]

    def _count_together(self, rule: Rule, need: Need) -> dict[str, dict[str | None, int]]:
        """Count the rows of a need and of all others of its table in one query: a scan costs more than its conditions."""
        others = [n for n in self._needs.get((need.table, _owned(need)), {}).values() if n.text not in self._counts]
        if len(others) > 1:
            try:
                return self._rows_by_host(rule, others)
            except RuleFailed:  # another need is wrong, or all together are too much for one query
                pass
        return self._rows_by_host(rule, [need])

    def _rows_by_host(self, rule: Rule, needs: Sequence[Need]) -> dict[str, dict[str | None, int]]:
        """Return for each need the rows by host; all needs are of one table."""
        table = needs[0].table
        key = "host" if _owned(needs[0]) else literal(ROOM)
        counted = ", ".join(f"count(*) filter (where {_where(need)}) as n{i}" for i, need in enumerate(needs))
        if self.slices.keeps(table):
            each = f"select artifact_id, {key} as host, {counted} from {table} group by 1, 2"
            found = self.slices.counts(rule.id, each, table)
        else:
            sql = f"select {key} as host, {counted} from {table} group by 1 order by 1"
            file = self._file("counts", "needs", (sql, self._inputs([table])))
            found = _read(file)
            if found is None:
                self._view([table])
                empty = views.is_empty(self._views[table])
                found = [] if empty else [[*row.values()] for row in self._ask(rule.id, sql, {}, [table]).rows]
                _write(file, found)
        return {need.text: {host: n[i] for host, *n in found if n[i]} for i, need in enumerate(needs)}

    # --- the query ---------------------------------------------------------------------------------------------------

    def _part(self, rule: Rule, name: str, sql: str, params: Mapping[str, Any]) -> tuple[str, str]:
        bound = {n: v for n, v in params.items() if re.search(rf"\${n}\b", sql)}
        return self.slices.select(f"{rule.id}-{name}", sql, bound, tables_in(sql))

    def _query(self, rule: Rule, sql: str, params: Mapping[str, Any], parts: Mapping[str, str]) -> Rows:
        tables = tables_in(sql, rule.file.stage) if parts else tables_of(rule)
        self._views.update(parts)
        return self._ask(rule.id, sql, params, [*tables, *parts])

    def _ask(self, name: str, sql: str, params: Mapping[str, Any], tables: Iterable[str]) -> Rows:
        self._view(tables)
        if not self._opened >= set(tables):
            self.sandbox.open(self._views, self.scratch)
            self._opened = set(self._views)
        return self.sandbox.query(name, sql, params)

    def _view(self, tables: Iterable[str]) -> None:
        missing = [t for t in tables if t not in self._views]
        if missing:
            self._views.update(views.build(self.case, missing, self.scratch))

    def _cache_file(self, rule: Rule, sql: str, params: Mapping[str, Any], parts: Sequence[str]) -> Path | None:
        placed = AXIS.search(rule.sql) is not None
        inputs = self._inputs(tables_in(sql, rule.file.stage), placed)
        return self._file("rules", rule.id, (rule.file.version, rule.query_hash, sorted(params.items()), inputs, parts))

    def _inputs(self, tables: Iterable[str], placed: bool = False) -> list[str]:
        if self.cache is None or self.case.in_memory:
            return []
        return [self.case.hash_of(views.WITHOUT_FIRST.get(t, t), placed) for t in tables]

    def _file(self, folder: str, name: str, whole: object) -> Path | None:
        """Return the cache file whose name depends on all inputs; None without a cache."""
        if self.cache is None or self.case.in_memory:
            return None
        return self.cache / folder / f"{name}-{hashlib.sha256(repr((VERSION, whole)).encode()).hexdigest()[:32]}.json"

    # --- the result contract -----------------------------------------------------------------------------------------

    def _draft(self, rule: Rule, row: Mapping[str, Any]) -> Draft:
        """Check a row and weigh it; RuleFailed names the first breach of the contract."""

        def fail(why: str) -> RuleFailed:
            return RuleFailed(rule.id, f"result row {row.get('subject')!r}: {why}")

        subject, magnitude = row.get("subject"), row.get("magnitude")
        if not isinstance(subject, str) or not subject:
            raise fail("subject must be text")
        if isinstance(magnitude, bool) or not isinstance(magnitude, (int, float)):
            raise fail("magnitude must be a number")
        evidence = tuple(span for e in row.get("evidence") or [] for span in self._spans(e, fail))
        by_statement = bool(row.get("by_statement")) or any(n.statement for n in rule.requires.all)
        if not evidence and not by_statement:
            raise fail("evidence is empty")
        tier = (row.get("tier") or "base") if evidence else "base"
        if tier not in rule.file.confidence or tier == CLEAR:
            raise fail(f"the rule has no confidence for the tier {tier!r}")
        kind = row.get("kind") or "finding"
        if kind not in ("finding", CLEAR):
            raise fail(f"kind is {kind!r}")
        layer = row.get("layer") or rule.file.layer
        if layer not in LAYERS:
            raise fail(f"layer is {layer!r}")
        contiguous = row.get("contiguous")
        if contiguous not in (None, "proven", "assumed"):
            raise fail(
                "blames a gap in which lines are missing" if contiguous == "broken" else f"contiguous is {contiguous!r}"
            )
        cap = row.get("cap")
        if cap is not None and cap not in CLASSES:
            raise fail(f"cap is {cap!r}")
        decibans = rule.decibans(CLEAR if kind == CLEAR and CLEAR in rule.file.confidence else tier)
        most = min(CLASSES[cap] if cap else 20, ASSUMED_CAP if contiguous == "assumed" else 20)
        decibans = max(-most, min(most, decibans))
        if kind == CLEAR and decibans > 0:
            raise fail(f"a clearing of {decibans} dB would blame: its weight must be against")
        clears = row.get("clears") or []
        if clears:
            if any(c not in LAYERS for c in clears):
                raise fail(f"clears {clears!r}")
            if row.get("clear_s") is None or not row.get("clear_n") or not row.get("clear_scope"):
                raise fail("a clearing needs clear_s, clear_n and clear_scope")
            if abs(decibans) < CLEARS_FROM:
                raise fail(f"{decibans} dB clear nobody")
        place = self.case.at(evidence[0].artifact, evidence[0].line_from) if evidence else None
        host = row.get("host", place.host if place else None)
        if not isinstance(row.get(rule.file.severity.source, magnitude), (int, float)):
            raise fail(f"severity is by {rule.file.severity.source}, which is no number")
        facts = {k: v for k, v in row.items() if k not in CONTRACT and not isinstance(v, (list, dict))}
        severity = "info" if kind == CLEAR else self._severity(rule, row, layer)
        if not evidence and severity != "info":
            severity = "minor"  # a finding that rests on statements alone
        return Draft(
            rule, host, subject, float(magnitude), kind, tier, layer, decibans, severity, contiguous, by_statement, evidence, facts, row,
        )  # fmt: skip

    def _spans(self, entry: Mapping[str, Any], fail: Any) -> list[Evidence]:
        """Return one citation, or two if the lines do not ascend (blocks sorted by stamp)."""
        artifact, first, last, role = (entry.get(k) for k in ("artifact_id", "line_from", "line_to", "role"))
        if not isinstance(artifact, int) or not isinstance(first, int) or not isinstance(last, int):
            raise fail(f"evidence {entry!r} is incomplete")
        most = self._lines.get(artifact)
        for line in (first, last):
            if line < 1 or (most is not None and line > most) or (most is None and not self.case.in_memory):
                raise fail(f"line {line} does not exist in artifact {artifact}")
        spans = [(first, last)] if first <= last else [(first, first), (last, last)]
        return [Evidence(artifact, a, b, str(role or "rows")) for a, b in spans]

    def _severity(self, rule: Rule, row: Mapping[str, Any], layer: str) -> Severity:
        value = float(row.get(rule.file.severity.source, row["magnitude"]))
        excess = self.case.spec.symptom.excess_s if self.case.spec.symptom else None
        if row.get("in_symptom") and excess is not None and rule.file.severity.unit == "s":
            word = next((word for word, least in SHARES if value / excess >= least), "info")
        else:
            word = rule.file.severity.of(value)
        if layer == "measurement" and word == "critical":
            word = "major"
        return word  # type: ignore[return-value]  # both tables hold severities only


def _read(file: Path | None) -> Any:
    """Return the content of a cache file, None if it does not exist or is not valid JSON (the disk was full)."""
    if file is None or not file.exists():
        return None
    try:
        return json.loads(file.read_text("utf-8"))
    except ValueError:
        return None


def _write(file: Path | None, value: object) -> None:
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(f".{os.getpid()}.new")
        beside.write_text(json.dumps(value), "utf-8")
        beside.rename(file)


def aligned(case: Case) -> tuple[clocks.ClockMap | None, str | None]:
    """Align the case's clocks.

    If that fails, the case has no common times and the second value gives the reason.
    """
    try:
        made = clocks.align(case)
    except FAULTS as error:  # rules that need no common time must still run
        return None, f"{type(error).__name__}: {error}"
    case.align(made.aligned)
    return made, None


def _met(need: Need, host: str | None, counts: Mapping[str, Mapping[str | None, int]], room: bool) -> bool:
    by = counts[need.text]
    n = sum(by.values()) if room or ROOM in by else by.get(host, 0)
    return n >= need.min_rows


def _where(need: Need) -> str:
    """Return the condition of a row that meets a need, as SQL."""
    where = [condition(*c) for c in need.where]
    if need.column:
        where.append(f'"{need.column}" is not null')
    if need.statement:
        where.append(f"name = {literal(need.statement)}")
    return " and ".join(f"({w})" for w in where) or "true"


def _owned(need: Need) -> bool:
    """Return whether the rows of a need belong to hosts, not to the whole room."""
    columns = columns_of(need.table.removesuffix("_i"))
    return "host" in columns and not need.statement and not _of_room(need.table)


def _of_room(table: str) -> bool:
    module = registry.derived().get(table)
    return table in ("statements", "markers") or (module is not None and module.SCOPE == "room")


def _room_scope(rule: Rule) -> bool:
    """Return whether a rule needs a table of the whole room; it is then judged once for the room, not per host."""
    return any(_of_room(n.table) and not n.statement for n in rule.requires.all)


def _hosts(case: Case) -> dict[str, tuple[str | None, str | None]]:
    """Return host -> (system, role), from people's statements first, then from what parsers saw."""
    found: dict[str, tuple[str | None, str | None]] = {}
    for table in ("hosts", "artifacts"):
        for row in case.table(table).select("host", "os", "role").iter_rows(named=True):
            if row["host"] is not None:
                os, role = found.get(row["host"], (None, None))
                found[row["host"]] = (os or row["os"], role or (row["role"] if table == "hosts" else None))
    for stretch in case.stretches:
        if stretch.host is not None:
            found.setdefault(stretch.host, (None, None))
    return found


def _fold(drafts: Sequence[Draft], most: int, unfetched: int) -> tuple[Draft, ...]:
    """Return the first `most` findings and one more that counts the rest."""
    rest = len(drafts) - most + unfetched
    if len(drafts) <= most and not unfetched:
        return tuple(drafts)
    first = drafts[most] if len(drafts) > most else drafts[-1]
    folded = Draft(
        **{
            **first.__dict__,
            "subject": f"{first.subject} and {rest - 1} more" if rest > 1 else first.subject,
            "more": rest,
        }
    )
    return (*drafts[:most], folded)
