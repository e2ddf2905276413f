"""Generate the documentation of the rules from the rule files: `python -m rules --docs docs/rules.md`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from rules.writing.rule import Rule, weight


def page(rules: Sequence[Rule]) -> str:
    """Return docs/rules.md; the same rules give the same text."""
    lines = [
        "# Rules",
        "",
        "Made from the rule files by `python -m rules --docs`; do not edit. How to write one: `add-a-rule.md`.",
        "",
    ]
    for area, group in groupby(sorted(rules, key=lambda r: (_area(r), r.id)), key=_area):
        lines += [f"## {area}", ""]
        for rule in group:
            lines += [*_rule(rule), ""]
    return "\n".join(lines).rstrip() + "\n"


def _area(rule: Rule) -> str:
    return rule.area


def _rule(rule: Rule) -> Iterable[str]:
    f = rule.file
    yield f"### {f.id} {f.title}"
    yield ""
    yield (
        f"Version {f.version}, {f.status}. Layer {f.layer}"
        + (f", contributing {', '.join(f.contributing_layers)}" if f.contributing_layers else "")
        + "."
    )
    if f.os or f.roles:
        yield f"Only on {' and '.join(x for x in (', '.join(f.os), 'hosts of role ' + ', '.join(f.roles) if f.roles else '') if x)}."
    yield ""
    yield f"- Needs: {', '.join(f'`{n.text}`' for n in rule.requires.all)}"
    if rule.requires.any:
        yield f"- One of: {', '.join(f'`{n.text}`' for n in rule.requires.any)}"
    if rule.requires.confirms:
        yield f"- Would confirm: {', '.join(f'`{n.text}`' for n in rule.requires.confirms)}"
    for name, p in f.params.items():
        yield (
            f"- `{name}` = {p.default}{' ' + p.unit if p.unit else ''} ({p.min:g} to {p.max:g}): {p.why}"
            if p.min is not None and p.max is not None
            else f"- `{name}` = {p.default}: {p.why}"
        )
    steps = [
        (word, step)
        for word, step in (("minor", f.severity.minor), ("major", f.severity.major), ("critical", f.severity.critical))
        if step is not None
    ]
    yield f"- Severity: {', '.join(f'{word} from {step:g} {f.severity.unit}' for word, step in steps) or 'always info'}"
    yield f"- Weight: {', '.join(f'{tier} {weight(v):+d} dB' for tier, v in f.confidence.items())}; group {f.evidence_group}"
    for e in f.exonerates:
        yield f"- Clears {e.layer} ({e.when}): {e.because}"
    for title, texts in (("Do", f.remedy), ("But", f.contraindications), ("Beware", f.false_positives)):
        yield from (f"- {title}: {t}" for t in texts)
    yield f"- Tests: {'; '.join(t.name for t in f.tests)}"
