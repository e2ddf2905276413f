"""Find statements in a person's text that contradict the evidence: numbers with units and named layers, nothing finer.

A contradiction is shown beside the text, the text is never corrected. Not found: counts without a unit, a wrong order
of events, a number that is right somewhere else in the evidence, a claim that names no layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from incidents.content.report import layer_name, quantity

#: A value in its base unit, the unit ("s", "%"), and what the value belongs to.
Figure = tuple[float, str, str]

_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("s", 1.0)),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), ("s", 1e-3)),
    **dict.fromkeys(("us", "µs", "μs", "microsecond", "microseconds"), ("s", 1e-6)),
    **dict.fromkeys(("min", "minute", "minutes"), ("s", 60.0)),
    **dict.fromkeys(("%", "percent", "per cent", "pct"), ("%", 1.0)),
    **dict.fromkeys(("gib", "gb"), ("GiB", 1.0)),
}
_NUMBER = re.compile(
    r"(?<![\w.,:/])(\d{1,3}(?:[\u2009\u202f ]\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)[\s\u2009-]{0,2}"
    r"(milliseconds?|microseconds?|seconds?|secs?|msec|ms|[µμu]s|minutes?|min|per cent|percent|pct|%|GiB|GB|s)(?![\w])",
    re.IGNORECASE,
)
# "1.792 of 1.872 s": the first number has the unit of the second.
_OF = re.compile(r"(?<![\w.,:/])(\d+(?:\.\d+)?) of (?=\d+(?:\.\d+)? ?(s|seconds|%)(?![\w]))")
_NAMES = {
    "client_app": r"client application|application",
    "client_host": r"client host|client machine",
    "network": r"network|switch(?:es)?|firewall|LAN",
    "listener": r"listener",
    "name_service": r"name service|DNS|name look-?ups?",
    "os_kernel": r"operating system|kernel",
    "database": r"database",
    "storage": r"storage|disks?",
    "configuration": r"configuration|settings?",
}
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_CAUSING = (
    r"(?:caused by|due to|because of|the fault of|fault lies (?:with|in)|fault is|to blame is|blamed? on|culprit is"
    r"|cause (?:is|was|lies in)|problem (?:is|was|lies in|is in)|comes? from)"
)
_GUILTY = (
    r"(?:(?:is|was|are|were) (?:clearly |probably |mainly )?(?:the )?(?:\w+ )?"
    r"(?:cause|culprit|reason|problem|fault|slow|to blame|responsible|guilty)|caused?s?\b|delay(?:s|ed)|slow(?:s|ed))"
)
_NOT = r"\b(?:not|never|no|nor|(?:is|was|are)n['’]t|cannot be|can['’]t be)\b"
_FINE = r"(?:(?:is|was|are|were|has been|have been) (?:fine|healthy|innocent|cleared|excluded|ruled out|in order|ok|okay|fast)\b)"
_CLEARING = r"(?:clear(?:s|ed|ing)?|exclud(?:e|es|ed|ing)|rul(?:e|es|ed|ing) out|nothing to do with)"


@dataclass(frozen=True)
class Evidence:
    """What the report states: all its figures, the bound of each layer that it clears, the layer that it blames."""

    known: Sequence[Figure] = ()
    cleared: Mapping[str, str] = field(default_factory=dict)
    blamed: str = ""
    blamed_name: str = ""


def figures(text: str) -> list[Figure]:
    """Read the numbers with units from a text.

    >>> figures("up to 2,5 s, 96 % of 1.792 of 1.872 s")
    [(2.5, 's', ''), (96.0, '%', ''), (1.872, 's', ''), (1.792, 's', '')]
    """
    return [(value, unit, "") for value, unit, _, _ in _read(text)]


def contradictions(text: str, near: Sequence[Figure], evidence: Evidence) -> list[str]:
    """List the contradictions of a text; `near` holds the figures that its section cites, the main one first.

    >>> known = [(2.4734, "s", "")]
    >>> contradictions("Logins pause for 2.1 s.", known, Evidence(known))
    ['The text says 2.1 s; the evidence 2.473 s.']
    >>> contradictions("Logins pause for 2.5 seconds.", known, Evidence(known))
    []
    >>> contradictions("The network is the culprit.", [], Evidence([], {"network": "at most 0.08 s"}, "os_kernel"))
    ['The text blames the network; the evidence clears it: at most 0.08 s.']
    """
    return [*_wrong_numbers(text, near, evidence.known), *_wrong_layers(text, evidence)]


def _wrong_numbers(text: str, near: Sequence[Figure], known: Sequence[Figure]) -> list[str]:
    texts: dict[str, str] = {}
    for value, unit, half, written in _read(text):
        same = [figure for figure in (*near, *known) if figure[1] == unit]
        if not same or any(_agree(value, half, figure[0]) for figure in same):
            continue
        # Compare with the main figure that the section cites; if it cites none of this unit, with the nearest of all.
        mine = [figure for figure in near if figure[1] == unit]
        nearest = min(same, key=lambda figure: abs(figure[0] - value))
        other = (
            f"the evidence {quantity(mine[0][0], unit)}"
            if mine
            else f"nearest in the evidence is {quantity(nearest[0], unit)}"
        )
        texts[f"The text says {written}; {other}."] = ""
    return list(texts)


def _agree(value: float, half: float, fact: float) -> bool:
    """Decide whether a number equals the fact when rounded to its digits; half a per cent off is no contradiction."""
    return abs(value - fact) <= max(half, abs(fact) * 0.005) * (1 + 1e-9)


def _read(text: str) -> list[tuple[float, str, float, str]]:
    """Return value and half of its last digit in base units, the unit, and the number as it was written."""
    found = []
    for match in _NUMBER.finditer(text):
        unit, factor = _UNITS[match[2].lower()]
        found.append((*_value(match[1], factor), unit, match[0]))
    for match in _OF.finditer(text):
        unit, factor = _UNITS[match[2].lower()]
        found.append((*_value(match[1], factor), unit, f"{match[1]} {match[2]}"))
    return [(value, unit, half, " ".join(written.split())) for value, half, unit, written in found]


def _value(written: str, factor: float) -> tuple[float, float]:
    number = re.sub(r"[\u2009\u202f ]", "", written).replace(",", ".")
    digits = len(number.partition(".")[2])
    return float(number) * factor, 0.5 * 10**-digits * factor


def _wrong_layers(text: str, evidence: Evidence) -> list[str]:
    said: dict[str, str] = {}
    for sentence in _SENTENCES.split(text):
        for code, names in _NAMES.items():
            stand = rf"\b(?:{names})\b(?!['’]s)"
            if not re.search(stand, sentence, re.IGNORECASE):
                continue
            name = layer_name(code)
            if _clears(sentence, stand):
                if code == evidence.blamed:
                    said[f"The text clears the {name}; the verdict blames it."] = ""
            elif _blames(sentence, stand):
                if code in evidence.cleared and code != evidence.blamed:
                    said[f"The text blames the {name}; the evidence clears it: {evidence.cleared[code]}."] = ""
                elif evidence.blamed and code != evidence.blamed:
                    said[
                        f"The text blames the {name}; the verdict names the {evidence.blamed_name or layer_name(evidence.blamed)}."
                    ] = ""
    return list(said)


def _clears(sentence: str, stand: str) -> bool:
    patterns: Iterable[str] = (
        rf"{_NOT}[^,;]{{0,40}}{stand}",
        rf"{stand}[^,;]{{0,20}} {_NOT}",
        rf"{stand} {_FINE}",
        rf"{_CLEARING} (?:the |a )?{stand}",
    )
    return any(re.search(pattern, sentence, re.IGNORECASE) for pattern in patterns)


def _blames(sentence: str, stand: str) -> bool:
    patterns: Iterable[str] = (rf"{_CAUSING} (?:the |a |an )?(?:\w+ ){{0,2}}?{stand}", rf"{stand} {_GUILTY}")
    return any(re.search(pattern, sentence, re.IGNORECASE) for pattern in patterns)
