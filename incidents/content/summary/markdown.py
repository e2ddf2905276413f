"""Write a summary as Markdown for a ticket, with everything escaped that Markdown or HTML would interpret."""

from __future__ import annotations

import re

from incidents.content.citations import escaped
from incidents.content.summary.content import OBSERVED, Json, moment
from incidents.content.visible import visible


def written(content: Json, at: str, version: int | None, hashed: str, link: str) -> str:
    """Write a content that `summary_page.by_itself` returned; cited lines stand in fenced blocks at the end."""
    edition = f"version {version}, frozen {moment(at)}" if version else f"live, {moment(at)}"
    out = [f"# {escaped(content['title'])}", "", f"Incident summary, {edition}", ""]
    for cell in content["cells"]:
        texts = "; ".join(_sentence(one) for one in cell["sentences"])
        out.append(f"- **{cell['title']}:** {_with_words(cell, texts)}")
    for section in content["sections"]:
        out += ["", f"## {section['title']}", "", *_section(section)]
    out += ["", "## Evidence cited", ""]
    for source in content["sources"]:
        out += [f"**\\[{source['n']}\\]** {escaped(source['label'])} {escaped(source['rule'])}".rstrip(), ""]
        for cited in source["citations"]:
            out += _cited(cited)
    if observed := content.get("observed"):
        out += [f"## {OBSERVED}", ""]
        for one in observed:
            means = f" ({escaped(one['means'])})" if one["means"] else ""
            out += [
                f"**{one['rank']}.** {escaped(one['text'])}{means}",
                "",
                *(_cited(one["cited"]) if one["cited"] else ()),
            ]
    out += [f"SHA-256 of this content: `{hashed}`", "", f"<{link}>", ""]
    return "\n".join(out)


def _section(section: Json) -> list[str]:
    words = section.get("words")
    machine = []
    if bar := section.get("bar"):
        machine += [
            f"{escaped(bar['title'])}, {bar['total']}{_refs(bar['refs'])}",
            "",
            "| piece | seconds | share |",
            "| --- | ---: | ---: |",
        ]
        machine += [f"| {escaped(one['label'])} | {one['amount']} | {one['share']} % |" for one in bar["pieces"]] + [""]
    if table := section.get("table"):
        machine += [f"| {' | '.join(map(escaped, table['head']))} |", f"|{' --- |' * len(table['head'])}"]
        machine += [f"| {' | '.join(map(_cell, row['cells']))} |" for row in table["rows"]] + [""]
    machine += [f"- {_sentence(one)}" for one in section["sentences"]]
    if not words:
        return machine
    mine = _words(words)
    return [*mine, "", "Exhibit’s own words:", "", *machine] if words["way"] == "instead" else [*machine, "", *mine]


def _with_words(cell: Json, texts: str) -> str:
    words = cell.get("words")
    if not words:
        return texts
    mine = " ".join(line.removeprefix("> ") for line in _words(words) if line != ">")
    return f"{mine} (Exhibit’s own words: {texts})" if words["way"] == "instead" else f"{texts} {mine}"


def _words(words: Json) -> list[str]:
    lines = [f"> {escaped(line)}" if line.strip() else ">" for line in words["text"].split("\n")]
    lines.append(f"> — {escaped(words['by'])}, {moment(words['at'])}")
    lines += [f"> **Differs:** {escaped(warning)}" for warning in words["warnings"]]
    return [*lines, "> **Older:** written before the evidence changed."] if words["stale"] else lines


def _sentence(one: Json) -> str:
    lead = f"**{escaped(one['lead'])}**" if one["lead"] else ""
    late = "(overdue)" if one["late"] else ""
    note = f"({escaped(one['note'])})" if one["note"] else ""
    signed = f"— {escaped(one['by'])}" if one["by"] else ""
    return " ".join(
        part for part in (lead, escaped(one["text"]), moment(one["at"]), late, note, signed) if part
    ) + _refs(one["refs"])


def _cell(cell: Json) -> str:
    parts = (
        escaped(cell["text"]),
        f"({escaped(cell['note'])})" if cell["note"] else "",
        f"— {escaped(cell['by'])}" if cell["by"] else "",
    )
    return " ".join(part for part in parts if part)


def _refs(refs: list[Json]) -> str:
    return "".join(f" \\[{ref['n']}\\]" for ref in refs)


def _cited(cited: Json) -> list[str]:
    head = f"{escaped(cited['file'])}, line {cited['where']}" + (f", <{cited['address']}>" if cited["address"] else "")
    if cited["withdrawn"]:
        return [f"{head}: withdrawn", ""]
    if cited["quoted_at"]:
        return [f"{head}: quoted under \\[{cited['quoted_at']}\\]", ""]
    lines = [f"{number if number is not None else '...':>7}  {visible(text)}" for number, text in cited["lines"]]
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
    return [head, "", f"{fence}text", *lines, fence, ""]
