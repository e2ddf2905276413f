"""Format a report as one self-contained HTML page: it loads nothing, escapes everything from evidence, and has no
script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape as _escape

from rules.model import FIRST_SHOWN, LABELS, Citation, Finding, Report
from rules.reporting.terminal import MOST_QUOTED, days_words

STYLE = """
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.1rem;border-bottom:1px solid #8886;margin-top:2rem}pre{overflow-x:auto;padding:.5rem;background:#8881;margin:.3rem 0}
.bar{display:flex;height:1.6rem;border:1px solid #8888}.bar i{display:block;overflow:hidden}.traced,.rest{background:#8882}
.untraced{background:repeating-linear-gradient(45deg,#8883 0 6px,#8881 6px 12px)}.culprit{background:#d9822b}.wait{background:#7aa7d9}
.meta{color:#777;font-size:.9rem}table{border-collapse:collapse}td,th{padding:.15rem .6rem;text-align:left;border-bottom:1px solid #8884}
.num{text-align:right;font-variant-numeric:tabular-nums}details{margin:.4rem 0}
"""
GROUPS = {
    "cause": "Causes",
    "along": "Along the way",
    "contributing": "Contributing",
    "cleared": "Cleared",
    "quality": "Data quality",
}


def escape(value: object) -> str:
    """Escape text for HTML text and attributes; control characters, which a page would drop or act on, become visible."""
    shown = "".join(
        c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{ord(c):04x}"
        for c in str(value)
    )
    return _escape(shown, quote=True)


def page(made: Report, title: str | None = None) -> str:
    """Return the whole page."""
    v = made.verdict
    heading = title or "Report"
    body = [
        f"<h1>{escape(heading)}</h1>",
        f"<p><strong>{escape(LABELS[v.state])}</strong>: {escape(v.headline or v.sentence)}</p>",
        f"<p>{escape(v.sentence)}</p>" if v.headline else "",
        f"<p class=meta>{escape(v.support)} support{', ' + escape(v.hypothesis) if v.hypothesis else ''}{', layer ' + escape(v.layer) if v.layer else ''}</p>",
        *_pieces(made),
        *_observations(made),
    ]
    for group, name in GROUPS.items():
        of_group = [f for f in made.findings if f.group == group]
        if of_group:
            body += [f"<h2>{name}</h2>", *(part for f in of_group for part in _finding(f))]
    body += _asks(made)
    if made.failed:
        body.append(
            "<h2>Failed</h2><ul>"
            + "".join(f"<li>{escape(x.rule)}: {escape(x.error)}</li>" for x in made.failed)
            + "</ul>"
        )
    body += _artifacts(made)
    head = f'<meta charset=utf-8><meta name=viewport content="width=device-width"><title>{escape(heading)}</title><style>{STYLE}</style>'
    return f"<!doctype html><html lang=en>{head}{''.join(body)}</html>\n"


def _pieces(made: Report) -> Iterable[str]:
    w = made.whose_seconds
    if w is None:
        return
    yield f"<h2>Whose seconds: {w.total_s:.4f} s</h2><p class=meta>{escape(w.title)}</p><div class=bar>"
    for p in w.pieces:
        yield f'<i class={p.kind} style="width:{100 * p.seconds / w.total_s:.3f}%" title="{escape(p.label)}"></i>'
    yield "</div><table>"
    for p in w.pieces:
        share = f"{100 * p.seconds / w.total_s:.1f} %"
        yield f"<tr><td class=num>{'&le; ' if p.at_most else ''}{p.seconds:.4f} s<td class=num>{share}<td>{escape(p.label)}</tr>"
    yield "</table>"


def _observations(made: Report) -> Iterable[str]:
    shown = [o for o in made.observations if not o.idle][:FIRST_SHOWN]
    if not shown:
        return
    yield "<h2>What the evidence shows</h2><ol>"
    for o in shown:
        words = o.remark
        means = f" <span class=meta>{escape(words)}</span>" if words else ""
        yield f"<li><strong>{escape(o.headline)}</strong>{' on ' + escape(o.host) if o.host else ''}{means}"
        yield from _citations(o.citations)
        yield "</li>"
    yield "</ol>"


def _asks(made: Report) -> Iterable[str]:
    """Yield the few asks that would settle most; all others are folded below them."""
    if made.asks:
        yield "<h2>What would settle most</h2><ul>"
        for ask in made.asks:
            where = f" on {escape(ask.host)}" if ask.host else ""
            yield f"<li>{escape(ask.who)}{where}, {escape(ask.cost)}: {escape(ask.why)}<pre>{escape(ask.ask)}</pre></li>"
        yield "</ul>"
    if made.not_evaluable:
        yield f"<details><summary>{len({n.rule for n in made.not_evaluable})} rules had nothing to look at</summary><ul>"
        for n in made.not_evaluable:
            yield (
                f"<li>{escape(n.rule)} {escape(n.title)}{' on ' + escape(n.host) if n.host else ''}: needs {escape('; '.join(n.needs))}"
                f"<pre>{escape(n.ask)}</pre><span class=meta>{escape(n.who)}</span></li>"
            )
        yield "</ul></details>"


def _finding(f: Finding) -> Iterable[str]:
    by_statement = ", by statement" if f.by_statement else ""
    weight = f"{f.severity}, {escape(f.tier)}, {f.decibans:+d} dB ({escape(f.support)}){by_statement}"
    yield f"<details open><summary><strong>{escape(f.headline)}</strong> <span class=meta>{escape(f.rule)} {escape(f.version)}, {weight}</span></summary>"
    yield f"<p>{escape(f.expert)}</p>"
    yield from _citations(f.citations)
    clears = tuple(f"{c.layer}: {c.because} ({c.seconds:g} s of {c.requests} request, {c.scope})" for c in f.clears)
    but = f.contraindications if f.remedy else ()
    for name, texts in (
        ("Clears, for these seconds only", clears),
        ("Speaks against it", f.against),
        ("Do", f.remedy),
        ("But", but),
    ):
        if texts:
            yield f"<p>{name}</p><ul>" + "".join(f"<li>{escape(t)}</li>" for t in texts) + "</ul>"
    for help_ in f.would_help:
        yield f"<p class=meta>Would help: {escape(', '.join(help_.needs))}</p><pre>{escape(help_.ask)}</pre>"
    yield "</details>"


def _citations(cited: Sequence[Citation]) -> Iterable[str]:
    """Yield the first citations; the others are folded below them."""
    yield from (_citation(c) for c in cited[:MOST_QUOTED])
    if more := cited[MOST_QUOTED:]:
        yield f"<details><summary>{len(more):,} more cited ranges</summary>"
        yield from (_citation(c) for c in more)
        yield "</details>"


def _citation(c: Citation) -> str:
    return f"<p class=meta>{escape(c.file)}, lines {c.line_from} to {c.line_to} ({escape(c.role)})</p><pre>{escape(c.text)}</pre>"


def _artifacts(made: Report) -> Iterable[str]:
    yield "<h2>Evidence</h2><table><tr><th>File<th>Kind<th>Host<th>Phase<th>Lines</tr>"
    for a in made.artifacts:
        cells = "".join(
            f"<td>{escape(x)}" for x in (a.file, a.kind or a.error or "unknown", a.host or "", a.phase or "")
        )
        yield f"<tr>{cells}<td class=num>{a.lines}</tr>"
    yield "</table>"
    if days := list(days_words(made)):
        yield "<ul>" + "".join(f"<li>{escape(words)}</li>" for words in days) + "</ul>"
