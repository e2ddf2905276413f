r"""Find and remove the dress of a text: characters that mail, wikis, terminals or editors added to a tool's output.

Examples: quotes of mail, cells of a wiki, line numbers, indents, escapes of a terminal, typography.

A dress is a tuple of step names, decided once for a part from its head and stored in the manifest. It is removed block
by block before a format gets a line; line numbers do not change. `undressed_line` returns where each remaining
character stood in the original, so that masks stay right there.

`steps_of` only names the steps that may apply. Most dress is obvious (an escape, `> ` in front of every line); some (`|
`, numbers) may also belong to a tool, so `parsers/layout/recognition.py` removes it only if a claim gains by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from parsers.text.prose import CLOSED, INFO, OPENED, TAG_BEFORE, TAG_BEHIND

MOST = 0.6
"""Minimum share of filled lines that have a prefix; the rest of a quoted line that a mail program wrapped has none."""

NEARLY_ALL = 0.9
HALF = 0.5
MIN_NUMBERED = 3
FEW = 200
"""Maximum number of lines that are undressed one by one, because that takes no longer than one call of Polars."""
FEW_NAMED = 2
"""Maximum number of lines with the same name in front that may be rows of a table."""

MIN_DOUBLED = 5
"""Minimum number of different lines that must stand twice."""


LOGGED = (
    r"^(?:[A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2}|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]{8,18}(?:Z|[+-][0-9:]{4,5})?)"
    r"(?: (?:stdout|stderr) [FP]| \S{1,64} [A-Za-z][\w./@-]{0,63}(?:\[[0-9]{1,10}\])?:)(?: |$)"
)
"""Prefix that syslog, the journal or a container's log adds to each line that a program prints."""

STACK_HEAD = re.compile(
    r"[ \t]*(?:goroutine [0-9]+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[|(?:Current thread|Thread) 0x[0-9a-f]+ .{0,80}\(most recent"
    r'|"[^"]{1,200}" (?:#[0-9]+ |daemon |prio=)|Thread [0-9]+ \(|Full thread dump|Found (?:one|[0-9]+) Java-level deadlock'
    r"|#[0-9]+[ \t]+0x[0-9a-f]+ in |Traceback \(most recent|SIGQUIT: quit|PC=0x[0-9a-f]+ m=)"
)
"""The first line of a stack that a program prints about itself."""

STACK_LINE = re.compile(
    r"[ \t]*(?:at \S|- |File \"|#[0-9]+[ \t]|created by \S|java\.lang\.Thread\.State|\S+\.(?:go|s|c|py|rb):[0-9]"
    r"|[A-Za-z_][^\s(]*(?:\(\*?[\w.\[\]]+\)\.[^\s(]*)?\(.*\)(?: \+0x[0-9a-f]+)?$)"
    r"|[ \t]{4,}\S|[ \t]*$"
)
"""Lines below such a head."""


@dataclass(frozen=True)
class Step:
    """One step of removal: replacements (pattern for Rust and Python, text), applied `times` times; words for a note."""

    words: str
    replacements: tuple[tuple[str, str], ...]
    times: int = 1


HOST = r"^(?:[A-Za-z][A-Za-z0-9.-]{1,62}: ?|\[[A-Za-z][A-Za-z0-9.-]{1,62}\] (?:out: ?)?)"
"""The name of a host that a tool for many hosts sets in front of each line (pdsh, parallel-ssh, Fabric)."""

STEPS: dict[str, Step] = {
    "bom": Step("byte order marks", (("\ufeff", ""),)),
    "escapes": Step(
        "escapes of a terminal",
        (
            (r"\x1b\[[0-?]*[ -/]*[@-~]", ""),
            (r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", ""),
            (r"\x1b[()*+][A-Za-z0-9]|\x1b[=>78cDEHMNOZ]|[\x07\x0e\x0f]|\x1b$", ""),
        ),
    ),
    "backspaces": Step("struck-over characters", ((r"[^\x08]\x08", ""),), times=8),
    "blanks": Step("no-break and other blanks", ((r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]", " "),)),
    "invisible": Step(
        "soft hyphens and invisible characters", ((r"[\u00ad\u200b-\u200f\u2060\u202a-\u202e\u2066-\u2069]", ""),)
    ),
    "typography": Step(
        "typographic quotes and dashes",
        ((r"[“”„‟]", '"'), (r"[‘’‚‛]", "'"), (r"[‐‑‒–—−]", "-"), (r"…", "..."), (r"0×", "0x")),
    ),
    "entities": Step(
        "entities of HTML",
        (
            (r"&lt;|&#60;", "<"),
            (r"&gt;|&#62;", ">"),
            (r"&quot;|&#34;", '"'),
            (r"&apos;|&#39;", "'"),
            (r"&nbsp;|&#160;", " "),
            (r"&amp;|&#38;", "&"),
        ),
    ),
    "frames": Step("marks and blanks in the numbers of frames", ((r"^[ \t]*(?:\\# ?|# )", "#"),)),
    "code": Step("marks of code around each line", ((r"^ {0,3}`{1,3}", ""), (r"`{1,3}[ \t]*$", ""))),
    "logged": Step("the stamp and the program of a log in front of a stack", ((LOGGED, ""),)),
    "mail": Step("quotes of mail", ((r"^(?: {0,3}>)+ ?", ""),)),
    "tags": Step("tags of a listing", ((TAG_BEFORE, ""), (TAG_BEHIND, ""))),
    "bars": Step("bars in front", ((r"^(?: ?[|¦│])+ ?", ""),)),
    "services": Step("names of a service in front", ((r"^[A-Za-z][A-Za-z0-9_.-]*[-_][0-9]+ +\| ?", ""),)),
    "service": Step("the name of a service in front", ((r"^[A-Za-z][A-Za-z0-9_.-]{0,62} +\| ?", ""),)),
    "host": Step("the name of a host in front", ((HOST, ""),)),
    "wiki": Step(
        "cells of a wiki table",
        (
            (r"^[ \t]*[|+!][-=+|: \t]*-[-=+|: \t]*$|^[ \t]*\{\|.*$|^[ \t]*\|\}[ \t]*$", ""),
            (r"^[ \t]*(?:\|{1,2}|!{1,2}) ?", ""),
            (r" ?(?:\|{1,2}|!{2})[ \t]*$", ""),
            (r" ?(?:\|{1,2}|!{2}) ?", "  "),
        ),
    ),
    "doubled": Step("the second of lines that all stand twice", ()),
    "numbers:": Step("line numbers in front", ((r"^[ \t]*[0-9]{1,9}[:)] ?", ""),)),
    "numbers|": Step("line numbers in front", ((r"^[ \t]*[0-9]{1,9} ?[|│] ?", ""),)),
    "numbers\t": Step("line numbers in front", ((r"^ *[0-9]{1,9}(?:\t|$)", ""),)),
    "numbers ": Step("line numbers in front", ((r"^ *[0-9]{1,9}(?:  ?|$)", ""),)),
}
_INDENT = "indent "
SURE = ("bom", "escapes", "backspaces", "blanks", "invisible", "typography")
"""Steps that remove single characters; no tool writes these characters."""

_PREFIXES = (
    "logged",
    "mail",
    "bars",
    "services",
    "service",
    "host",
    "wiki",
    "numbers:",
    "numbers|",
    "numbers\t",
    "numbers ",
)
_SIGNS = {name: re.compile("|".join(p for p, _ in STEPS[name].replacements), re.M) for name in (*SURE, "entities")}
_FRONT = {
    name: re.compile({"wiki": r"[ \t]*(?:\||!|\+-)"}.get(name, STEPS[name].replacements[0][0])) for name in _PREFIXES
}
_AROUND = {
    "code": re.compile(r" {0,3}`.*`[ \t]*$"),
    "frames": re.compile(r"[ \t]*(?:\\# ?|# )[0-9]{1,3}[ \t]+0x[0-9a-f]{4,16} in "),
}
_LOGGED = re.compile(LOGGED)
_OF_KERNEL = re.compile(r"^\S+ .{0,40}? kernel: ")
"""The kernel prints its stacks into the log itself: its stamps and the words around them count."""

_INFO = re.compile(INFO)
_TAGS = re.compile(rf"{OPENED}|.*{CLOSED}|[ \t]*<pre\b[^>]*>|.*</pre>[ \t]*$")
_BRANCH = re.compile(r"[| ]*\|(?:--| +\|)")
"""A branch of a call tree, whose bars belong to the tool."""

_NUMBER = re.compile(r"[ \t]*([0-9]{1,9})")
_REPLY = re.compile(r"[ \t]*[0-9]{1,9}\) +(?:[0-9]{1,9}\) |\(integer\) |\"|\(nil\))")
"""An element of a store's reply, whose number belongs to the tool (redis-cli)."""

_PLAIN = re.compile(r"[\t -~]*")


def step_of(name: str) -> Step:
    """Return a step by its name; `indent 4`, `indent tab` and `indent tab2` are built from their names."""
    if name.startswith(_INDENT):
        width = name.removeprefix(_INDENT)
        tabs = width.removeprefix("tab")
        pattern = rf"^\t{{1,{int(tabs or 1)}}}" if width.startswith("tab") else rf"^ {{1,{int(width)}}}"
        return Step("a uniform indent", ((pattern, ""),))
    return STEPS[name]


def words_of(dress: Sequence[str]) -> str:
    """Describe a dress in words for a note."""
    return "taken off before reading: " + ", ".join(dict.fromkeys(step_of(name).words for name in dress))


def characters_of(text: str) -> tuple[str, ...]:
    """Return the names of the single-character steps that a text needs."""
    if text.isascii() and "\x1b" not in text and "\b" not in text and "\x07" not in text:
        return ()
    return tuple(name for name in SURE if _SIGNS[name].search(text))


def steps_of(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the steps that may apply to the front of these lines: the step's name, and whether it is obvious.

    Call it with lines from which the steps found so far are removed, and repeat.
    """
    filled = [line for line in lines if line.strip()]
    if not filled:
        return
    if _worn("mail", filled, MOST):
        yield "mail", True
        return
    for name, share in (("code", MOST), ("frames", HALF)):
        if sum(1 for line in filled if _AROUND[name].match(line)) > max(1.0, share * len(filled)):
            yield name, True
    if _is_logged_stack(filled):
        yield "logged", True
        return
    if any(_TAGS.match(line) and not _INFO.match(line) for line in (filled[0], filled[-1])):
        yield "tags", True
    if _is_doubled(lines):
        yield "doubled", True
    for name in ("numbers|", "numbers\t", "numbers:", "numbers "):
        if name == "numbers:" and any(_REPLY.match(line) for line in filled):
            continue
        if _worn(name, filled, NEARLY_ALL) and (rise := _rise(lines)):
            if rise == 1.0 and name != "numbers ":
                yield name, True
            elif rise >= (0.5 if name == "numbers:" else NEARLY_ALL):
                yield name, False
    named = len({line.split(" ", 1)[0] for line in filled})
    if _worn("services", filled, NEARLY_ALL) and (named == 1 or named * 3 <= len(filled)):
        yield "services", named == 1 and len(filled) > FEW_NAMED  # docker compose logs
    elif named == 1 and _worn("service", filled, 1.0):
        yield "service", False  # of a container whose name is set
    if (front := _FRONT["host"].match(filled[0])) and len(filled) > 1 and all(x.startswith(front[0]) for x in filled):
        yield "host", False
    if _worn("wiki", filled, MOST):
        yield "wiki", False
    if _worn("bars", filled, NEARLY_ALL) and sum(line.rstrip().endswith("|") for line in filled) * 2 < len(filled):
        yield "bars", len(filled) > 2 and not any(_BRANCH.match(line) for line in filled)
    indent = _indent(filled)
    if indent:
        yield indent, False
    if _SIGNS["entities"].search("\n".join(filled)) and not any(re.match(r"\s*</?[A-Za-z]", x) for x in filled):
        yield "entities", True


def _is_logged_stack(filled: Sequence[str]) -> bool:
    """Return whether most of the lines are stacks that a program printed into a log.

    >>> front = "Oct 01 22:57:16 box app[7]: "
    >>> _is_logged_stack([front + "goroutine 5 [select, 9 minutes]:", front + "main.run(0x1)", front + "/app/run.go:3 +0x1"])
    True
    >>> _is_logged_stack([front + "goroutine 5 [select, 9 minutes]:", front + "listening", front + "ready"])
    False
    """
    if not _LOGGED.match(filled[0]) or _OF_KERNEL.match(filled[0]) or not _worn("logged", filled, NEARLY_ALL):
        return False
    inside = [_LOGGED.sub("", line) for line in filled]
    heads = sum(1 for line in inside if STACK_HEAD.match(line))
    return heads > 0 and heads + sum(1 for line in inside if STACK_LINE.match(line)) >= MOST * len(inside)


def _is_doubled(lines: Sequence[str]) -> bool:
    """Decide whether each line stands twice, headings included: no tool prints everything twice."""
    first, second = lines[0::2], lines[1::2]
    return first[: len(second)] == second and not any(first[len(second) :]) and len(set(first)) >= MIN_DOUBLED


def second(lines: pl.Series) -> pl.Series:
    """Return a mask of every second line in each run of equal lines."""
    frame = lines.to_frame("line").with_columns(run=pl.col("line").rle_id())
    return frame.select(second=pl.int_range(pl.len()).over("run") % 2 == 1)["second"]


def _once(lines: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"line": lines, "second": second(lines)})
    return frame.select(pl.when("second").then(pl.lit("")).otherwise("line").alias("line"))["line"]


def _worn(name: str, filled: Sequence[str], share: float) -> bool:
    return sum(1 for line in filled if _FRONT[name].match(line)) >= max(1.0, share * len(filled))


def _rise(lines: Sequence[str]) -> float:
    """Return the share of lines whose leading number is the previous one plus one (blank lines may or may not be
    numbered).

    0 if there are few, or if a number does not rise: `grep -n` numbers lines with gaps but never backwards.
    """
    numbers = [int(found[1]) for line in lines if line.strip() and (found := _NUMBER.match(line))]
    steps = [b - a for a, b in pairwise(numbers)]
    if len(numbers) < MIN_NUMBERED or min(steps) < 1:
        return 0.0
    return sum(1 for step in steps if step == 1) / len(steps)


def _indent(filled: Sequence[str]) -> str | None:
    tabs = min(len(line) - len(line.lstrip("\t")) for line in filled)
    if tabs:
        return f"{_INDENT}tab{tabs if tabs > 1 else ''}"
    width = min(len(line) - len(line.lstrip(" ")) for line in filled)
    return f"{_INDENT}{width}" if width >= 2 else None


def undressed(lines: pl.Series, dress: Sequence[str]) -> pl.Series:
    """Remove a dress from a column of lines, and then their trailing blanks."""
    if not dress:
        return lines
    for name in dress:
        step = step_of(name)
        if name == "doubled":
            lines = _once(lines)
        for _ in range(step.times):
            for pattern, text in step.replacements:
                lines = lines.str.replace_all(pattern, text.replace("$", "$$"))
    return lines.str.strip_chars_end(" \t\r\n")


def undressed_lines(lines: Sequence[str], dress: Sequence[str]) -> list[str]:
    """Remove a dress from the lines of a head."""
    if not dress:
        return list(lines)
    if len(lines) > FEW or "doubled" in dress:
        return undressed(pl.Series(lines, dtype=pl.String), dress).to_list()
    steps = [step_of(name) for name in dress]
    done = [(re.compile(pattern), text) for step in steps for pattern, text in step.replacements * step.times]
    left = list(lines)
    for pattern, text in done:
        left = [pattern.sub(text, line) for line in left]
    return [line.rstrip(" \t\r\n") for line in left]


def undressed_line(line: str, dress: Sequence[str]) -> tuple[str, list[int]]:
    """Remove a dress from one line; also return the position in `line` of each remaining character.

    >>> undressed_line("> > ab", ["mail"])
    ('ab', [4, 5])
    """
    places = list(range(len(line)))
    for name in dress:
        step = step_of(name)
        for _ in range(step.times):
            for pattern, text in step.replacements:
                line, places = _replaced(line, places, pattern, text)
    kept = line.rstrip(" \t\r\n")
    return kept, places[: len(kept)]


def _replaced(line: str, places: list[int], pattern: str, text: str) -> tuple[str, list[int]]:
    out, left, at = [], [], 0
    for found in re.finditer(pattern, line):
        out += [line[at : found.start()], text]
        left += places[at : found.start()]
        left += [places[min(found.start(), len(places) - 1)]] * len(text) if places else []
        at = found.end()
    if not at and not out:
        return line, places
    return "".join([*out, line[at:]]), left + places[at:]


def original_spans(line: str, dress: Sequence[str], spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where half-open character ranges of the undressed line stand in the original line."""
    if not dress:
        return spans
    _, places = undressed_line(line, dress)
    found = []
    for begin, end in spans:
        inside = places[begin:end]
        if inside:
            found.append((inside[0], inside[-1] + 1))
    return found
