"""Format the results of `python -m rules --score` as a table for a terminal and as docs/accuracy.md.

The same results give the same text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rules.judging.truth import RESULTS, Compared, Result, Scored

FINGERPRINT = "Fingerprint of the truths: `"
"""Text before the fingerprint on the page."""


def text(cases: Sequence[Scored], left_out: Sequence[str]) -> str:
    """Return the table per case, the table per rule, and every wrong blame with its words."""
    rows = [("case", "result", "first", "without statements", "verdict", "rules: right, partly, silent, wrong")]
    rows += [(c.name, c.now.result, c.first or "-", _unstated(c), _verdict_text(c.now), _counts(c.now)) for c in cases]
    lines = _aligned(rows)
    lines += ["", *_aligned([("rule", *RESULTS), *_by_rule(cases)])]
    for c in cases:
        lines += [f"WRONG BLAME {c.name}: {why}" for why in c.now.wrong]
        lines += [f"WRONG BLAME {c.name}, without statements: {why}" for why in _only_unstated(c)]
        lines += [f"{c.name}: {note}" for note in c.now.notes]
        if c.truth.exception and c.now.result != "right":
            lines.append(f"{c.name}: admitted: {c.truth.exception}")
    lines += [f"left out: {why}" for why in left_out]
    lines += ["", summary(cases)]
    return "\n".join(lines) + "\n"


def page(cases: Sequence[Scored], left_out: Sequence[str], fingerprint: str = "") -> str:
    """Return docs/accuracy.md.

    `fingerprint` is that of the truths; it shows without scoring whether a page is out of date.
    """
    lines = [
        "# Accuracy",
        "",
        "Made by `python -m rules --score DIR --docs`; do not edit. What the words mean: `rule-reference.md`.",
        "A case's truth is written before the library sees it; *first* is what the library said then.",
        *([f"{FINGERPRINT}{fingerprint}`."] if fingerprint else []),
        "",
        "| cases | number | right | partly | silent | wrong blame | first right | admitted exceptions | right without statements "
        "| facts told | facts told without statements | asked as wanted |",
        f"|{'---|' * 12}",
        *(_total(title, chosen) for title, chosen in _sections(cases)),
        _total("all", cases),
        "",
    ]
    for title, chosen in _sections(cases):
        lines += [f"## {title}", "", summary(chosen), ""]
        lines += _table(
            (
                "case",
                "source",
                "truth",
                "verdict",
                "result",
                "first",
                "without statements",
                "rules right / all",
                "facts told / all",
            ),
            [
                (
                    c.name,
                    c.truth.source or "-",
                    _true(c),
                    _verdict_text(c.now),
                    c.now.result,
                    c.first or "-",
                    _unstated(c),
                    _share(c.now),
                    f"{sum(c.now.told)} / {len(c.now.told)}",
                )
                for c in chosen
            ],
        )
        lines.append("")
    lines += ["## By rule", "", *_table(("rule", *RESULTS), _by_rule(cases)), ""]
    lines += [
        "## By cause",
        "",
        *_table(("true layer", *RESULTS), _by_layer(c for c in cases if not c.truth.healthy)),
        "",
    ]
    wrong = [(c.name, why) for c in cases for why in c.now.wrong]
    wrong += [(f"{c.name}, without statements", why) for c in cases for why in _only_unstated(c)]
    lines += ["## Wrong blame", "", *([f"- {name}: {why}" for name, why in wrong] or ["None."]), ""]
    admitted = [
        f"- {c.name}: {c.now.result}: {c.truth.exception}"
        for c in cases
        if c.truth.exception and c.now.result != "right"
    ]
    lines += [f"## Admitted exceptions: {len(admitted)}", "", *(admitted or ["None."]), ""]
    open_ = [
        f"- {c.name}: {note}"
        for c in cases
        if not (c.truth.exception and c.now.result != "right")
        for note in c.now.notes
    ]
    lines += ["## Other than expected", "", *(open_ or ["Nothing."]), ""]
    if left_out:
        lines += ["## Left out", "", *(f"- {why}" for why in left_out), ""]
    return "\n".join(lines).rstrip() + "\n"


def summary(cases: Sequence[Scored]) -> str:
    """Return one line with the number of cases of each result."""
    found = Counter(c.now.result for c in cases)
    first = Counter(c.first for c in cases)
    counts = ", ".join(f"{found[r]} {r} (first {first[r]})" for r in RESULTS)
    return f"{len(cases)} cases: {counts}."


def _sections(cases: Sequence[Scored]) -> Iterator[tuple[str, list[Scored]]]:
    """Yield the cases by folder, incidents before healthy evidence, in order of their names."""
    found: dict[tuple[bool, str], list[Scored]] = {}
    for c in cases:
        folder = c.name.partition("/")[0] if "/" in c.name else ""
        found.setdefault((c.truth.healthy, folder), []).append(c)
    for (healthy, folder), chosen in sorted(found.items()):
        yield ("Healthy evidence" if healthy else "Incidents") + (f": {folder}" if folder else ""), chosen


def _total(title: str, cases: Sequence[Scored]) -> str:
    """Return one row with the number of each result; in the column without statements, a case without statements counts
    as it is.
    """
    now = Counter(c.now.result for c in cases)
    cells = [
        title,
        str(len(cases)),
        f"{now['right']} ({100 * now['right'] / max(len(cases), 1):.0f} %)",
        *(str(now[r]) for r in RESULTS[1:]),
        str(sum(c.first == "right" for c in cases)),
        str(sum(bool(c.truth.exception) and c.now.result != "right" for c in cases)),
        str(sum((c.unstated or c.now).result == "right" for c in cases)),
        _of([told for c in cases for told in c.now.told]),
        _of([told for c in cases for told in (c.unstated or c.now).told]),
        _of([c.now.asked for c in cases if c.now.asked is not None]),
    ]
    return f"| {' | '.join(cells)} |"


def _of(held: Sequence[bool]) -> str:
    return f"{sum(held)} of {len(held)} ({100 * sum(held) / len(held):.0f} %)" if held else "-"


def _by_rule(cases: Iterable[Scored]) -> list[tuple[str, ...]]:
    found: dict[str, Counter[str]] = {}
    for c in cases:
        for rule, result in c.now.rules.items():
            found.setdefault(rule, Counter())[result] += 1
    return [(rule, *(str(found[rule][r]) for r in RESULTS)) for rule in sorted(found)]


def _by_layer(cases: Iterable[Scored]) -> list[tuple[str, ...]]:
    found: dict[str, Counter[Result]] = {}
    for c in cases:
        found.setdefault(c.truth.layer or "not named", Counter())[c.now.result] += 1
    return [(layer, *(str(found[layer][r]) for r in RESULTS)) for layer in sorted(found)]


def _verdict_text(made: Compared) -> str:
    return made.state + (f" {made.hypothesis}" if made.hypothesis else "")


def _true(case: Scored) -> str:
    t = case.truth
    if t.healthy:
        return "healthy"
    return " ".join(x for x in (t.state, t.hypothesis, f"({t.layer})" if t.layer else None) if x) or "rules only"


def _unstated(case: Scored) -> str:
    if case.unstated is None:
        return "-"
    return case.unstated.result if case.unstated.state == case.now.state else f"{case.unstated.result}: {_verdict_text(case.unstated)}"  # fmt: skip


def _only_unstated(case: Scored) -> list[str]:
    return [why for why in (case.unstated.wrong if case.unstated else ()) if why not in case.now.wrong]


def _counts(made: Compared) -> str:
    found = Counter(made.rules.values())
    return " ".join(str(found[r]) for r in RESULTS)


def _share(made: Compared) -> str:
    return f"{sum(r == 'right' for r in made.rules.values())} / {len(made.rules)}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
