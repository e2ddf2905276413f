"""Format a report as text for a terminal.

Order: verdict, findings from strongest to weakest with their lines, what is cleared, what cannot be decided.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from rules.case.case import Case
from rules.model import FIRST_SHOWN, LABELS, Citation, Finding, NotEvaluable, Report
from rules.writing.rule import Rule

WIDTH = 100
MOST_PLACES, MOST_QUOTED = 3, 5
"""Maximum number of cited ranges that are named on one line, and that are quoted; the others are counted."""
MARK = {"critical": "!!!", "major": "!! ", "minor": "!  ", "info": "-  "}


def report(made: Report, all_asks: bool = False) -> str:
    """Return the whole report, with lines ending in LF; `all_asks` prints every wish instead of the three best."""
    lines: list[str] = []
    v = made.verdict
    lines += [f"Verdict: {v.state}" + (f", {v.support} support ({v.hypothesis}, {v.layer})" if v.hypothesis else "")]
    lines += _wrapped(f"{LABELS[v.state]}: {v.headline}", "  ") if v.headline else []
    lines += _wrapped(v.sentence, "  ")
    if made.whose_seconds:
        w = made.whose_seconds
        lines += ["", f"Whose seconds: {w.total_s:.4f} s, {w.title}" + (f" on {w.host}" if w.host else "")]
        for p in w.pieces:
            lines.append(
                f"  {p.seconds:>9.4f} s {100 * p.seconds / w.total_s:>5.1f} %  {'at most: ' if p.at_most else ''}{p.label}{_where(p.citations)}"
            )
    lines += _observations(made)
    findings = [f for f in made.findings if f.kind == "finding"]
    if findings:
        lines += ["", "Findings"]
        for finding in findings:
            lines += _finding(finding)
    if made.cleared:
        lines += ["", "Cleared, for these seconds only"]
        for c in made.cleared:
            lines.append(
                f"  {c.layer}: {c.bound} ({c.rule}, {c.seconds:.3f} s of {c.requests} request, {c.scope}){_where(c.citations)}"
            )
    unnamed = [f for f in made.findings if f.kind == "clear" and not f.clears]
    if unnamed:
        lines += ["", "Looked for, clears nobody"]
        for f in unnamed:
            lines.append(f"  {f.headline} ({f.rule}, {f.decibans:+d} dB){_where(f.citations)}")
    if made.compared:
        lines += ["", "Compared"]
        for compared in made.compared:
            lines += _wrapped(compared.text, "  ")
    days = list(days_words(made))
    if made.clock_map or days:
        lines += ["", "Clocks"]
        for words in days:
            lines += _wrapped(words, "  ")
        for row in made.clock_map:
            ends = (
                ""
                if row.off_lo is None or row.off_hi is None or not row.accepted
                else f" {row.off_lo:+.3f} to {row.off_hi:+.3f} s"
            )
            lines += _wrapped(
                f"{row.clock} over {row.ref}:{ends} {'accepted' if row.accepted else 'refused'} ({row.method}{': ' + row.reason if row.reason else ''})",
                "  ",
            )
    lines += _cannot_tell(made) if all_asks else _asks(made)
    if made.quiet:
        lines += ["", f"Quiet: {', '.join(made.quiet)}"]
    for failed in made.failed:
        lines += ["", f"FAILED {failed.rule}: {failed.error}"]
    return "\n".join(lines) + "\n"


def days_words(made: Report) -> Iterable[str]:
    """Yield a sentence for each artifact whose stamps show no day or year: which one they have borrowed, or why none."""
    files = {artifact.id: artifact.file for artifact in made.artifacts}
    for number, why in dict.fromkeys((c.artifact, c.base_why) for c in made.clocks if c.base_why):
        yield f"{files.get(number) or f'artifact {number}'}: {why}"


def _observations(made: Report) -> Iterable[str]:
    """Yield the first observations with the place of their lines, and how many others were idle or harmless."""
    shown = [o for o in made.observations if not o.idle][:FIRST_SHOWN]
    if shown:
        yield ""
        yield "What the evidence shows"
    for o in shown:
        host = f" on {o.host}" if o.host else ""
        words = o.remark
        yield from _wrapped(f"{o.rank}. {o.headline}{host}{f' ({words})' if words else ''}", "  ")
        for c in o.citations[:1]:
            yield from (f"   {line}" for line in _quoted(c))
        if o.citations[1:]:
            yield f"      also{_where(o.citations[1:])}"
    idle = [o for o in made.observations if o.idle]
    if idle:
        reasons = "; ".join(dict.fromkeys(o.idle_reason or "" for o in idle))
        yield from _wrapped(f"Idle or harmless: {reasons}", "  ")


def _asks(made: Report) -> Iterable[str]:
    """Yield the few asks that would settle most, and how many more there are."""
    if made.asks:
        yield ""
        yield "What would settle most"
    for ask in made.asks:
        yield from _wrapped(f"{ask.ask}{' on ' + ask.host if ask.host else ''} ({ask.who}; {ask.cost})", "  ")
        yield from _wrapped(f"decides: {ask.why or ', '.join(ask.decides[:5])}", "    ")
    if made.asks_more or made.not_evaluable:
        waiting = len({n.rule for n in made.not_evaluable})
        yield f"  {made.asks_more} further wishes: --all-asks ({waiting} rules had nothing to look at)"


def _finding(f: Finding) -> Iterable[str]:
    by_statement = ", by statement" if f.by_statement else ""
    yield ""
    yield f"{MARK[f.severity]} {f.rule} {f.headline}"
    yield f"    {f.severity}, {f.tier}, {f.decibans:+d} dB ({f.support}){by_statement}; layer {f.layer}" + (
        f"; host {f.host}" if f.host else ""
    )
    yield from _wrapped(f.expert, "    ")
    for citation in f.citations[:MOST_QUOTED]:
        yield from _quoted(citation)
    if more := f.citations[MOST_QUOTED:]:
        yield f"    and {len(more):,} more cited ranges"
    for text in f.against:
        yield from _wrapped(f"against: {text}", "    ")
    for help_ in f.would_help:
        yield from _wrapped(
            f"would help (+{help_.worth} dB): {', '.join(help_.needs)}: {help_.ask} ({help_.who})", "    "
        )
    for remedy in f.remedy:
        yield from _wrapped(f"do: {remedy}", "    ")
    for but in f.contraindications if f.remedy else ():
        yield from _wrapped(f"but: {but}", "    ")


def _quoted(c: Citation) -> Iterable[str]:
    yield f"    {c.file}:{c.line_from}-{c.line_to} ({c.role})"
    for line in c.text.splitlines():
        yield f"      | {line[: WIDTH + 60]}"


def _where(citations: Sequence[Citation]) -> str:
    places = [f"{c.file}:{c.line_from}-{c.line_to}" for c in citations[:MOST_PLACES]]
    places += [f"+ {more:,}"] if (more := len(citations) - MOST_PLACES) > 0 else []
    return f"  [{', '.join(places)}]" if places else ""


def _cannot_tell(made: Report) -> Iterable[str]:
    """Yield what is missing, grouped by the command that would provide it."""
    if not made.not_evaluable:
        return
    yield ""
    yield "Cannot tell"

    def by(n: NotEvaluable) -> tuple[str, str, str]:
        return (n.ask, n.who, n.host or "")

    for (ask, who, host), group in groupby(sorted(made.not_evaluable, key=lambda n: (-n.worth, *by(n))), key=by):
        rules = list(group)
        yield from _wrapped(f"{', '.join(f'{n.rule} {n.title}' for n in rules)}", "  ")
        yield from _wrapped(f"needs {'; '.join(dict.fromkeys(x for n in rules for x in n.needs))}", "    ")
        yield from _wrapped(f"ask{' on ' + host if host else ''}: {ask} ({who})", "    ")


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def explain(rule: Rule, made: Report, case: Case) -> str:
    """Return what a rule needs, the parameter values it ran with and its outcome, per host."""
    f = rule.file
    lines = [f"{f.id} {f.title} ({f.version}, {f.status})", "", "Needs"]
    lines += [f"  {n.text}" for n in rule.requires.all] + [f"  one of: {n.text}" for n in rule.requires.any]
    lines += [f"  would confirm: {n.text}" for n in rule.requires.confirms]
    from rules.engine.run import parameters

    for name, used in parameters(rule, case.spec.rules.overrides).items():
        lines.append(
            f"  {name} = {used.value}{' ' + used.unit if used.unit else ''} (from {used.origin}): {f.params[name].why}"
        )
    lines += ["", "Condition", *(f"  {line}" for line in rule.sql.rstrip().splitlines()), "", "Here"]
    for finding in made.findings:
        lines += [f"  fired{' on ' + finding.host if finding.host else ''}: {finding.headline}"]
    for n in made.not_evaluable:
        lines += [
            f"  not evaluable{' on ' + n.host if n.host else ''}: needs {'; '.join(n.needs)}",
            f"    ask: {n.ask} ({n.who})",
        ]
    lines += [f"  failed: {x.error}" for x in made.failed if x.rule == f.id]
    if f.id in made.quiet:
        lines.append("  quiet: the condition was looked for and not met")
    return "\n".join(lines) + "\n"
