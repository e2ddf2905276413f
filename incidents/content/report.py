"""An evaluation's report (the JSON of `python -m rules --json`) as pages read it: groups, verdict, bar, citations.

Nothing is judged here. Fields that a report lacks are shown as missing, never filled in: `None` means "the report
does not say". Texts of the report quote evidence, so whoever renders them must pass them through `visible`.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.urls import reverse

from incidents.content import cited_words
from incidents.content.observations import Observation, observation
from incidents.drawing.shares import Share, shares
from parsers.kinds import kind_of, kinds
from rules.collecting import costs
from rules.model import FIRST_SHOWN, LABELS

Json = dict[str, Any]

LAYERS: dict[str, tuple[str, str]] = {
    "client_app": ("CA", "client application"),
    "client_host": ("CH", "client host"),
    "network": ("NW", "network"),
    "listener": ("LS", "listener"),
    "name_service": ("NS", "name service"),
    "os_kernel": ("OS", "operating system"),
    "database": ("DB", "database"),
    "storage": ("ST", "storage"),
    "configuration": ("CF", "configuration"),
    "measurement": ("ME", "measurement"),
}
# Names of tables and columns in rules -> words for whoever collects the evidence.
NEEDS: dict[str, str] = {
    "packets": "a packet capture",
    "tcp_flows": "a packet capture",
    "unbroken trace": "an unbroken trace",
    "pmap of the same start": "the memory map of the same start",
    "pmap": "a memory map",
    "pmap.shm_kind": "a memory map",
    "ipcs_shm": "the list of shared memory segments",
    "params": "the instance's parameters",
    "syscalls": "a trace of system calls",
    "syscalls.cpu_s": "the CPU time of each call (-E)",
    "syscalls.delta_s": "the time between calls (-D)",
    "syscalls.dur_hi_s": "a trace with time stamps",
    "syscalls.child_pid": "a trace that follows children (-f)",
    "pipe_pairs": "a trace of both ends of the pipe",
    "sqlnet": "an Oracle Net trace",
    "wait_cover": "traces of one connection on both sides",
    "answered_by": "system call traces of both ends of a connection",
    "conn_times": "timings",
    "changes": "timings before and after the change",
    "markers": "what was changed and when",
    "logs": "the listener's log",
    "vmstat": "samples of the whole host (vmstat, sar)",
    "vmstat_i": "samples of the whole host (vmstat, sar)",
    "mpstat": "samples of each processor (mpstat)",
    "mpstat_i": "samples of each processor (mpstat)",
    "iostat": "samples of the disks (iostat)",
    "iostat_i": "samples of the disks (iostat)",
    "counters": "counters, twice",
    "counters_i": "counters, twice",
    "counter_growth": "counters, twice",
    "ps": "a list of processes",
    "hosts": "the size of the machine",
    "profile_symbols": "a profile of the processors",
    "profile_kinds": "a profile of the processors",
    "profile_stacks": "stacks of calls",
    "sockets": "a list of sockets",
    "ipcs_sem": "the list of semaphore sets",
    "microstates": "where a thread spends its time (prstat -mL)",
    "resource_use": "use and limits of resources",
    "db_waits": "waits of the database (AWR, ASH, 10046)",
    "sessions": "the list of sessions",
    "hist": "a distribution of times",
    "hist_modes": "a distribution of times",
    "locks": "lock statistics (lockstat)",
    "numa": "memory by NUMA node",
    "meminfo": "what memory is used for",
    "signals": "a trace with signals",
    "fdmap": "the open files of the process",
    "listener_cycles": "a trace of the listener",
    "requests": "a trace of whole requests",
    "request_parts": "a trace of whole requests",
    "predictions": "timings and work rates before and after",
    "trends": "the same measure over time",
    "seg_groups": "the shared memory segments",
    "statement:work_rate": "how many items are finished per minute",
    "statement:same_connection": "whether both traces show one connection",
}
GROUPS: dict[str, str] = {
    "cause": "Causes",
    "along": "Along the way",
    "contributing": "Contributing",
    "cleared": "Cleared",
    "quality": "Data quality",
}
PARTS = {"along": "On the way", "contributing": "Adds to it", "cleared": "Cleared"}
BY_WORDS = 3  # how many observations a lead by words alone rests on: `ROWS` of `rules.judging.by_words`
PARTS_OF_CAUSE = ("cause", "suspect")
LONGEST_SHOWN = 9
LEAST_SHARE = 1.0
"""Minimum percentage of a part of the bar that is a part of its own."""

MOST_NAMED = 3
"""Maximum number of parts that the legend of the bar names."""

LEGEND_LETTERS = 125
"""Number of letters that fit into the line above the bar, beside its heading and its total."""

NARROW_LETTERS = 76
MOST_NAMED_NARROW = 2
"""The same for a window of 1024 pixels, and the maximum number of parts there."""

PART_LETTERS = 8
"""Letters that a part of the legend takes beside its name: swatch, share, gap."""

NARROWEST_PX = 660
"""Width of the bar on a screen of 1024 pixels: what fits there fits everywhere but on a phone."""

LETTER_PX = 6.9
"""Width of a letter of a text in the bar, on average."""

SUPPORT_STEPS = {"none": 0, "weak": 1, "fair": 2, "good": 3, "strong": 4}
_SIGNS = {"pct": "%"}
_SEVERITIES = {"critical": 0, "major": 1, "minor": 2, "info": 3}


def quantity(amount: float | None, unit: str | None, at_most: bool = False) -> str:
    """Write a magnitude with its unit: seconds to the millisecond, shares to a tenth, thin spaces in thousands.

    Seconds below a hundredth keep three digits: a millisecond is not nothing.

    >>> quantity(2.4734, "s", at_most=True)
    '≤ 2.473 s'
    >>> quantity(42.857, "%")
    '42.9 %'
    >>> quantity(0.00212, "s"), quantity(0.0003, "s"), quantity(0.0, "s")
    ('0.00212 s', '0.0003 s', '0.000 s')
    >>> quantity(None, "s")
    ''
    """
    if amount is None:
        return ""
    if unit == "s":
        number = _seconds(amount)
    elif unit in ("%", "pct"):
        number = f"{amount:,.1f}"
    elif float(amount).is_integer():
        number = f"{int(amount):,}"
    else:
        number = f"{amount:,.4g}" if abs(amount) < 1000 else f"{amount:,.1f}"
    spaced = number.replace(",", "\u2009")
    unit = _SIGNS.get(unit or "", unit)
    return f"{'≤ ' if at_most else ''}{spaced}{f' {unit}' if unit else ''}"


def _seconds(amount: float) -> str:
    if 0 < abs(amount) < 0.01:
        places = 2 - math.floor(math.log10(abs(amount)))
        return f"{amount:.{places}f}".rstrip("0")
    return f"{amount:,.3f}" if abs(amount) < 100 else f"{amount:,.1f}"


def brief_seconds(amount: float) -> str:
    """Write a median of durations: from 0.1 to 100 s with two digits after the point, else as `quantity` does.

    >>> brief_seconds(0.314), brief_seconds(0.0012), brief_seconds(250.0)
    ('0.31 s', '0.0012 s', '250.0 s')
    """
    return f"{amount:.2f} s" if 0.1 <= amount < 100 else quantity(amount, "s")


def layer_name(code: str) -> str:
    """Name a layer in words; the code of an unknown layer is shown with spaces.

    >>> layer_name("client_host"), layer_name("new_layer")
    ('client host', 'new layer')
    """
    return LAYERS.get(code, ("", code.replace("_", " ")))[1]


@dataclass(frozen=True)
class Held:
    """What the room knows of an artifact that a report cites."""

    number: int
    name: str
    sha256: str = ""
    withdrawn: bool = False


@dataclass(frozen=True)
class QuotedLine:
    """One line of a quote; `number` is None for the mark of omitted lines."""

    number: int | None
    text: str


@dataclass(frozen=True)
class Citation:
    """Artifact and line range (both ends included) that carry a claim, with the quoted text."""

    artifact: int
    file: str
    line_from: int
    line_to: int
    role: str
    text: str
    sha256: str
    withdrawn: bool
    slug: str

    @property
    def anchor(self) -> str:
        """Return the range's anchor on the lines page: `L91` or `L91-L107`."""
        return f"L{self.line_from}" if self.line_from == self.line_to else f"L{self.line_from}-L{self.line_to}"

    @property
    def href(self) -> str:
        """Return the address of the lines; `at` selects the right page of them without JavaScript."""
        return f"{reverse('lines', args=[self.slug, self.artifact])}?at={self.line_from}#{self.anchor}"

    @property
    def where(self) -> str:
        """Write the range: `91` or `91–107`."""
        return str(self.line_from) if self.line_from == self.line_to else f"{self.line_from}–{self.line_to}"

    @property
    def shown(self) -> list[QuotedLine]:
        """Return the lines for the drawer: only the ends of a long quote, since the link above it opens all lines."""
        lines = self.lines
        if len(lines) <= LONGEST_SHOWN:
            return lines
        gap = f"{len(lines) - 7} lines between"
        return [*lines[:3], QuotedLine(None, gap), *lines[-4:]]

    @property
    def lines(self) -> list[QuotedLine]:
        """Number the quoted lines. A quote shorter than its range keeps both ends and marks the gap."""
        texts = self.text.split("\n")
        if texts and texts[-1] == "" and len(texts) > 1:
            texts.pop()
        span = self.line_to - self.line_from + 1
        if len(texts) == span:
            return [QuotedLine(self.line_from + i, text) for i, text in enumerate(texts)]
        left_out = (
            f"... {span - len(texts) + 1} lines ..."  # as rules/judging/evaluate.py writes it between the two ends
        )
        if left_out in texts:
            at = texts.index(left_out)
            end = self.line_to - len(texts) + 1
            return [
                QuotedLine(None if i == at else (self.line_from + i if i < at else end + i), text)
                for i, text in enumerate(texts)
            ]
        if len(texts) == 2 and span > 2:
            gap = f"{span - 2} line{'s' if span > 3 else ''} between, not quoted"
            return [QuotedLine(self.line_from, texts[0]), QuotedLine(None, gap), QuotedLine(self.line_to, texts[1])]
        return [QuotedLine(self.line_from if i == 0 else None, text) for i, text in enumerate(texts)]


@dataclass(frozen=True)
class Ask:
    """Evidence that is missing: what for, the exact command, on which system, who can run it, what it is worth.

    `id` stays the same from one evaluation to the next as long as the same rule lacks the same evidence on the same
    host. Links to a new request carry it, and requests are found again by it.
    """

    why: str
    command: str
    os: str
    who: str
    worth: float
    rule: str
    id: str = ""
    host: str = ""
    needs: tuple[str, ...] = ()
    cost: str = ""
    decides: tuple[str, ...] = ()
    """Mechanisms, hypotheses and rules that it decides between."""

    @property
    def short(self) -> str:
        """Name the evidence in a few words: the content of the command's first tool or file, else its first part."""
        if not self.command:
            return self.why
        if self.command.startswith("say "):  # what a person knows, in words
            return f"S{self.command[1:]}"
        command = re.sub(r"^(?:date; )?(?:timeout (?:-s \w+ )?\d+ )?", "", self.command)
        first = command.split(" ", 1)[0].rstrip(";").rpartition("/")[2]
        name = next((name for name, kind in kinds().items() if first in kind.tools), "")
        words = kind_of(name).title or NEEDS.get(name, "")
        words = words if first in words or not words else f"{words} ({first})"
        parts = [part.strip() for part in re.split(r"[;&]", command) if part.strip()]
        words = words.removeprefix("a ")
        if words:
            return f"{words[0].upper()}{words[1:]}"
        part = parts[0].split(", ")[0]
        if file := re.match(r"cat (/\S+)", part):
            part = f"The content of {file[1]}"
        elif re.match(r"[a-z][a-z0-9_.+-]* (?:-|/|@|[A-Z]{2})", part):
            part = f"What {first} prints"
        elif re.match(r"[a-z]+ (?:[a-z]+|\d+ [a-z]+) [a-z]", part):  # words rather than a command
            part = f"{part[0].upper()}{part[1:]}"
        return part + (f" and {len(parts) - 1} more" if len(parts) > 1 else "")

    @property
    def named(self) -> str:
        """Name the evidence and the host that it is collected on."""
        return f"{self.short} on {self.host}" if self.host else self.short

    @property
    def settles(self) -> str:
        """Say what it decides between; empty for what a rule needs."""
        return self.why.partition(": ")[2] if self.decides else ""

    @property
    def takes(self) -> str:
        """Say how long it takes; empty if nobody knows."""
        cost = self.cost or (costs.words_of(self.command) if self.command else "")
        return "" if cost == "not known" else cost


@dataclass(frozen=True)
class Claim:
    """A finding or a clearing finding of a report."""

    raw: Json
    slug: str
    held: Mapping[int, Held]
    disputes: int = 0
    left_out: str = ""
    """Why the finding's rule gave no result in the newest evaluation; empty unless the rule was left out there."""
    part: str = ""
    """Its part in how it fits together, which stands before its headline."""

    @property
    def key(self) -> str:
        return str(self.raw.get("key") or "")

    @property
    def href(self) -> str:
        return reverse("finding", args=[self.slug, self.key])

    @property
    def rule(self) -> str:
        return str(self.raw.get("rule") or "")

    @property
    def version(self) -> str:
        return str(self.raw.get("version") or "")

    @property
    def clears(self) -> bool:
        return self.raw.get("kind") == "clear" and self.raw.get("group", "cleared") == "cleared"

    @property
    def group(self) -> str:
        group = str(self.raw.get("group") or ("cleared" if self.clears else "contributing"))
        return group if group in GROUPS else "contributing"

    @property
    def severity(self) -> str:
        severity = str(self.raw.get("severity") or "info")
        return severity if severity in _SEVERITIES else "info"

    @property
    def layer(self) -> str:
        return str(self.raw.get("layer") or "")

    @property
    def letters(self) -> str:
        return LAYERS.get(self.layer, ("", ""))[0]

    @property
    def layer_name(self) -> str:
        layers = [str(layer) for layer in self.raw.get("layers") or [self.layer]]
        return " and ".join(map(layer_name, layers))

    @property
    def title(self) -> str:
        """Return what the rule looks for, in its own words."""
        return str(self.raw.get("title") or "")

    @property
    def headline(self) -> str:
        return str(self.raw.get("headline") or self.raw.get("bound") or self.raw.get("title") or self.rule)

    @property
    def expert(self) -> str:
        return str(self.raw.get("expert") or "")

    @property
    def bound(self) -> str:
        """Return the limit that a clearing finding sets, in the rule's words ("at most 0.080 s of 1.872 s")."""
        return str(self.raw.get("bound") or "")

    @property
    def scope(self) -> str:
        return str(self.raw.get("scope") or "")

    @property
    def magnitude(self) -> str:
        amount = self.raw.get("magnitude")
        return quantity(
            float(amount) if amount is not None else None, self.raw.get("unit"), bool(self.raw.get("at_most"))
        )

    @property
    def support(self) -> str:
        return str(self.raw.get("support") or "")

    @property
    def decibans(self) -> float | None:
        value = self.raw.get("decibans")
        return float(value) if value is not None else None

    @property
    def where(self) -> str:
        """Name host and subject, as far as the report names them."""
        return " · ".join(str(part) for part in (self.raw.get("host"), self.raw.get("subject")) if part)

    @property
    def cautions(self) -> list[str]:
        """List what limits the claim: a statement it rests on, lines that may be missing between the quoted ones."""
        cautions = []
        if self.raw.get("by_statement"):
            cautions.append("Rests on a statement, not on evidence alone.")
        # A rule whose own text mentions the assumption needs no second remark.
        if self.raw.get("contiguous") == "assumed" and not any("assumed" in text for text in self.against):
            cautions.append(
                "Assumes that no line is missing between the quoted ones; the paste does not show whether one is."
            )
        if self.raw.get("contiguous") in ("broken", "false"):
            cautions.append("Lines are missing between the quoted ones.")
        if self.raw.get("tier") == "contradicted" and not any("disagrees" in text for text in self.against):
            cautions.append("An artifact disagrees with it.")
        return cautions

    @property
    def against(self) -> list[str]:
        return [str(text) for text in self.raw.get("against") or []]

    @property
    def speaks_against(self) -> list[str]:
        """List what contradicts the claim, then what limits it."""
        return [*self.against, *self.cautions]

    @cached_property
    def named(self) -> frozenset[str]:
        """Return the figures and names of the claim that a reader looks for in its lines."""
        facts = [value for value in (self.raw.get("facts") or {}).values() if isinstance(value, str | int | float)]
        times = [self.raw.get("t_from"), self.raw.get("t_to")]
        return cited_words.named(self.headline, self.expert, self.where, *facts, *times)

    @property
    def mistaken_for(self) -> list[str]:
        """List the look-alikes with other causes that the rule names."""
        return [str(text) for text in self.raw.get("false_positives") or []]

    @property
    def remedies(self) -> list[tuple[str, list[str]]]:
        """Pair each remedy with its "but"; if their numbers differ, the last remedy gets all buts."""
        todo = [str(text) for text in _listed(self.raw.get("remedy"))]
        buts = [str(text) for text in _listed(self.raw.get("contraindications"))]
        if len(todo) == len(buts):
            return [(text, [but]) for text, but in zip(todo, buts, strict=True)]
        return [(text, buts if i == len(todo) - 1 else []) for i, text in enumerate(todo)]

    @property
    def verify(self) -> str:
        return str(self.raw.get("verify") or "")

    @property
    def would_help(self) -> list[Ask]:
        return [_ask(entry, self.rule) for entry in self.raw.get("would_help") or []]

    @cached_property
    def citations(self) -> list[Citation]:
        return citations(self.raw.get("citations") or [], self.slug, self.held)

    @property
    def withdrawn(self) -> bool:
        """Return whether evidence that the claim cites was purged since."""
        return any(citation.withdrawn for citation in self.citations)

    @property
    def settled(self) -> list[Json]:
        """List what this finding also clears (layer, seconds, scope, because)."""
        return list(self.raw.get("clears") or [])


@dataclass(frozen=True)
class Group:
    """One heading of the findings column."""

    code: str
    title: str
    claims: list[Claim] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.claims)


@dataclass(frozen=True)
class Second:
    """One piece of the "whose seconds" bar."""

    share: Share
    kind: str
    at_most: bool
    layer: str
    citations: list[Citation]

    @property
    def amount(self) -> str:
        return quantity(self.share.amount, "s", self.at_most)

    @property
    def text(self) -> str:
        return f"{self.share.label} {self.amount}"

    @property
    def fitting(self) -> str:
        """Return the longest of the piece's texts that fits into its part of the bar; empty if none does."""
        room = self.share.share / 100 * NARROWEST_PX - 14
        return next((text for text in (self.text, self.amount) if len(text) * LETTER_PX <= room), "")


@dataclass(frozen=True)
class Seconds:
    """The "whose seconds" bar: one traced request, its pieces adding up to 100 %."""

    title: str
    total: float
    where: str
    pieces: list[Second]

    @property
    def total_text(self) -> str:
        return quantity(self.total, "s")

    @cached_property
    def shown(self) -> list[Second]:
        """Return the parts of the bar: those under 1 % are one part, at the end."""
        large = [piece for piece in self.pieces if piece.share.share >= LEAST_SHARE]
        tiny = [piece for piece in self.pieces if piece.share.share < LEAST_SHARE]
        if len(tiny) < 2:
            return self.pieces
        named = f"{len(tiny)} more, under {LEAST_SHARE:.0f} % each:"
        together = [(piece.share.label, piece.share.amount) for piece in large]
        laid = shares([*together, (named, sum(piece.share.amount for piece in tiny))])
        rest = Second(laid[-1], "rest", any(piece.at_most for piece in tiny), "", [])
        return [*(replace(piece, share=share) for piece, share in zip(large, laid, strict=False)), rest]

    @cached_property
    def legend(self) -> list[Second]:
        """Return the largest parts, which the line above the bar names as long as it stays one line."""
        return self._named(LEGEND_LETTERS - len(self.title) - len(self.where))

    @cached_property
    def narrow_legend(self) -> list[Second]:
        """Return those of them that the line names in a narrow window, where it leaves out `where` if it must."""
        room = NARROW_LETTERS - len(self.title) - (len(self.where) if self.where_fits else 0)
        return self._named(room)[:MOST_NAMED_NARROW]

    @property
    def where_fits(self) -> bool:
        """Return whether the line has room for `where` and the largest part in a narrow window too."""
        longest = len(self.legend[0].share.label) + PART_LETTERS if self.legend else 0
        return len(self.title) + len(self.where) + longest <= NARROW_LETTERS

    def _named(self, room: int) -> list[Second]:
        named = list[Second]()
        for piece in sorted(self.shown, key=lambda piece: -piece.share.share)[:MOST_NAMED]:
            room -= len(piece.share.label) + PART_LETTERS
            if named and room < 0:
                break
            named.append(piece)
        return named

    @property
    def unnamed(self) -> int:
        return len(self.shown) - len(self.legend)

    @property
    def unnamed_narrow(self) -> int:
        return len(self.shown) - len(self.narrow_legend)


@dataclass(frozen=True)
class Verdict:
    """The verdict of a report in the words of the page."""

    state: str
    sentence: str
    support: str
    basis: str
    layer: str
    missing: list[str]
    cleared: list[Claim]
    next: Ask | None
    disputed: list[Claim] = field(default_factory=list)  # claims that carry it and are under dispute
    headline: str = ""
    rival: str = ""

    @property
    def label(self) -> str:
        """Return the label that precedes the headline wherever it is printed."""
        return next((label for state, label in LABELS.items() if state == self.state), self.state)

    @property
    def told(self) -> str:
        """Return label and headline as one line, for places without a look of their own."""
        return f"{self.label}: {self.headline}" if self.headline else self.label

    @property
    def reasoning(self) -> str:
        """Return the sentence with the reasoning; empty if it says no more than the headline."""
        return self.sentence if self.sentence != self.headline else ""

    @property
    def steps(self) -> list[bool]:
        reached = SUPPORT_STEPS.get(self.support.split(" ")[0], 0)
        return [step < reached for step in range(4)]


class Outlook:
    """A report joined with what the room knows: names and hashes of artifacts, disputes of findings."""

    def __init__(
        self, report: Json | None, slug: str, held: Iterable[Held] = (), disputes: Mapping[str, int] | None = None
    ) -> None:
        self.report: Json = report or {}
        self.exists = report is not None
        self.slug = slug
        self.held = {artifact.number: artifact for artifact in held}
        self._disputes = disputes or {}

    @cached_property
    def claims(self) -> list[Claim]:
        """List all claims once. A clearing gets its bound and scope from the report's own list of what is cleared.

        What a finding clears in passing has no claim of its own; it is listed as a clearing that links to that finding.
        """
        cleared = list(self.report.get("cleared") or [])
        found = []
        for raw in self.report.get("findings") or []:
            bounds = [entry for entry in cleared if raw.get("kind") == "clear" and _same_clearing(entry, raw)]
            cleared = [entry for entry in cleared if entry not in bounds]
            found.append(self._claim({**raw, **_joined(bounds)} if bounds else raw))
        keys = {claim.rule: claim.key for claim in reversed(found)}
        found += [
            self._claim({**entry, "kind": "clear", "group": "cleared", "key": keys.get(str(entry.get("rule")), "")})
            for entry in cleared
        ]
        return found

    @cached_property
    def groups(self) -> list[Group]:
        """Group the claims as the column shows them, worst first; groups without a claim are left out."""
        ordered = sorted(self.claims, key=lambda claim: _SEVERITIES[claim.severity])
        made = [
            Group(code, title, [replace(claim, part=self.part_of(claim)) for claim in ordered if claim.group == code])
            for code, title in GROUPS.items()
        ]
        return [group for group in made if group.count]

    @property
    def explanations(self) -> list[Group]:
        """Return the groups that explain the incident: all but remarks on the data."""
        return [group for group in self.groups if group.code != "quality"]

    @property
    def remarks(self) -> list[Claim]:
        """Return the findings on the quality of the data."""
        return [claim for group in self.groups if group.code == "quality" for claim in group.claims]

    def part_of(self, claim: Claim) -> str:
        """Return the label before a claim's headline: its part in the explanation.

        Claims that carry the verdict have the verdict's label, so that the column never claims more than the head.
        """
        if claim.group == "cause":
            carries = any(claim.key == one.key for one in self.carriers)
            return self.verdict.label if carries and self.verdict.state in PARTS_OF_CAUSE else "Also seen"
        return PARTS.get(claim.group, "")

    @cached_property
    def asks(self) -> list[Ask]:
        """List the missing evidence, each command once: first what concerns the causes found, then by worth."""
        once: dict[str, Ask] = {ask.command: ask for ask in self.best_asks}
        for ask in self._asks:
            once.setdefault(ask.command or ask.why, ask)
        return list(once.values())

    @cached_property
    def _asks(self) -> list[Ask]:
        near = [
            ask
            for code in ("cause", "along")
            for claim in self.claims
            if claim.group == code
            for ask in claim.would_help
        ]
        rest = [_ask(entry, str(entry.get("rule") or "")) for entry in self.report.get("not_evaluable") or []]
        rest += [ask for claim in self.claims if claim.group not in ("cause", "along") for ask in claim.would_help]
        return [*sorted(near, key=lambda ask: -ask.worth), *sorted(rest, key=lambda ask: -ask.worth)]

    @cached_property
    def observations(self) -> list[Observation]:
        """List all observations of the report in its order."""
        listed = [
            observation(raw, citations(raw.get("citations") or [], self.slug, self.held))
            for raw in self.report.get("observations") or []
        ]
        several = len({one.host for one in listed if one.host}) > 1
        return [replace(one, where=one.host) for one in listed] if several else listed

    @cached_property
    def standing_out(self) -> list[Observation]:
        """List the observations by which somebody may lose time."""
        return [one for one in self.observations if not one.idle]

    def observation(self, key: str) -> Observation | None:
        """Return the observation with this key, or None."""
        return next((one for one in self.observations if one.key and one.key == key), None)

    def deciding(self, one: Observation) -> list[Ask]:
        """List the report's best asks that decide whether an observation's mechanism is at work."""
        return [ask for ask in self.best_asks if one.mechanism and one.mechanism in ask.decides]

    def found_there(self, one: Observation) -> list[Claim]:
        """List the claims that cite a line which an observation cites too."""
        return [
            claim
            for claim in self.claims
            if claim.key and any(_overlap(cited, other) for cited in claim.citations for other in one.citations)
        ]

    @property
    def first_observations(self) -> list[Observation]:
        """List the observations that stand out and are shown by default."""
        return self.standing_out[:FIRST_SHOWN]

    @property
    def more_observations(self) -> list[Observation]:
        """List the observations that stand out and are shown only on demand."""
        return self.standing_out[FIRST_SHOWN:]

    @cached_property
    def idle(self) -> list[tuple[str, int]]:
        """Return the reasons why nobody loses time by the other observations, and how many have each."""
        return list(Counter(one.reason for one in self.observations if one.idle).items())

    @cached_property
    def unread(self) -> list[tuple[int, str]]:
        """List the files of which no line was understood: number and name."""
        return [
            (int(one["id"]), str(one.get("file") or ""))
            for one in self.report.get("artifacts") or []
            if one.get("error")
            or (one.get("account") and not one["account"].get("read") and one["account"].get("unknown"))
        ]

    @property
    def kinds_read(self) -> str:
        """Name the kinds of files that were read."""
        named = [str(one.get("kind")) for one in self.report.get("artifacts") or [] if one.get("kind")]
        return ", ".join(kind_of(name).title or name for name in dict.fromkeys(named))

    @property
    def quiet_rules(self) -> list[str]:
        """List the rules that looked and found nothing."""
        return [str(rule) for rule in self.report.get("quiet") or []]

    @property
    def blind_rules(self) -> int:
        """Count the rules that had nothing to look at on any host."""
        return len({str(one.get("rule")) for one in self.report.get("not_evaluable") or []})

    @property
    def fitting(self) -> int:
        """Count the explanations that some evidence speaks for."""
        scored = sum((row.get("score") or 0) > 0 for row in self.report.get("hypotheses") or [])
        return scored or len({one.mechanism for one in self.standing_out if one.mechanism})

    @cached_property
    def points_to(self) -> list[Observation]:
        """List the observations that a lead rests on, in their order; empty for every other verdict.

        A lead by words alone rests on those that stand out most.
        """
        raw = self.report.get("verdict") or {}
        if raw.get("state") != "lead":
            return []
        named = [one for one in self.standing_out if one.mechanism == raw.get("mechanism")]
        return named or [one for one in self.standing_out if not one.normal][:BY_WORDS]

    @cached_property
    def best_asks(self) -> list[Ask]:
        """List the few asks that would settle most, as the report chose them.

        One that a rule or finding asks for too keeps the id and the tables of that ask. It names a rule only if the
        rule is the first thing that it decides.
        """
        wished = {(ask.command, ask.host): ask for ask in reversed(self._asks)}
        chosen = [_best_ask(entry) for entry in self.report.get("asks") or []]
        return [
            replace(
                wished.get((ask.command, ask.host), ask), why=ask.why, rule=ask.rule, cost=ask.cost, decides=ask.decides
            )
            for ask in chosen
        ]

    def ask(self, id: str) -> Ask | None:
        """Return the missing evidence with this id, even if the list names its command for another rule."""
        return next((ask for ask in [*self.best_asks, *self._asks] if ask.id == id), None)

    def asked(self, entries: Iterable[Json]) -> list[Ask]:
        """Return the missing evidence of the board's `wanted` entries, under the ids that `ask` knows."""
        made = []
        for entry in entries:
            # Evidence that would confirm a finding belongs to the finding, which does not repeat host and title.
            known = ("host", "title") if entry.get("finding") else ()
            bare = {key: value for key, value in entry.items() if key not in known}
            made.append(_ask(bare, str(entry.get("rule") or "")))
        return made

    def claim(self, key: str) -> Claim | None:
        """Return the claim with this key, or None."""
        return next((claim for claim in self.claims if claim.key and claim.key == key), None)

    @cached_property
    def first(self) -> Claim | None:
        """Return the claim that the drawer shows first: the first claim of the first group that has claims."""
        return next((group.claims[0] for group in self.groups if group.claims and group.claims[0].key), None)

    @cached_property
    def verdict(self) -> Verdict:
        raw = self.report.get("verdict") or {}
        cleared = [claim for claim in self.claims if claim.group == "cleared"]
        return Verdict(
            state=str(raw.get("state") or "cannot tell"),
            sentence=str(raw.get("sentence") or ""),
            support=str(raw.get("support") or "none"),
            basis=str(raw.get("basis") or self._basis(set(raw.get("rules") or []))),
            layer=LAYERS.get(str(raw.get("layer") or ""), ("", ""))[1],
            missing=[str(text) for text in raw.get("missing") or []],
            cleared=cleared,
            next=self.asks[0] if self.asks else None,
            disputed=[claim for claim in self.carriers if claim.disputes],
            headline=str(raw.get("headline") or raw.get("sentence") or ""),
            rival=str(raw.get("rival") or "") if raw.get("state") == "lead" else "",
        )

    @property
    def carriers(self) -> list[Claim]:
        """List the claims that the verdict rests on."""
        rules = set((self.report.get("verdict") or {}).get("rules") or [])
        return [claim for claim in self.claims if claim.rule in rules]

    @cached_property
    def seconds(self) -> Seconds | None:
        raw = self.report.get("whose_seconds")
        if not raw or not raw.get("pieces"):
            return None
        pieces = raw["pieces"]
        laid = shares([(str(piece["label"]), float(piece["seconds"])) for piece in pieces])
        if not laid:
            return None
        return Seconds(
            title=str(raw.get("title") or ""),
            total=float(raw["total_s"]),
            where=" · ".join(str(raw[name]) for name in ("host", "subject") if raw.get(name)),
            pieces=[
                Second(
                    share,
                    str(piece.get("kind") or "rest"),
                    bool(piece.get("at_most")),
                    LAYERS.get(str(piece.get("layer") or ""), ("", ""))[1],
                    citations(piece.get("citations") or [], self.slug, self.held),
                )
                for share, piece in zip(laid, pieces, strict=True)
            ],
        )

    def request_of(self, claim: Claim) -> Seconds | None:
        """Return the traced request of which a claim explains a piece; None unless the piece cites the claim's lines."""
        cited = {(one.artifact, one.line_from, one.line_to) for one in claim.citations}
        if self.seconds is None or claim.raw.get("unit") != "s" or not claim.magnitude:
            return None
        of_pieces = (one for piece in self.seconds.pieces for one in piece.citations)
        within = any((one.artifact, one.line_from, one.line_to) in cited for one in of_pieces)
        return self.seconds if within else None

    @property
    def failed(self) -> list[Json]:
        return list(self.report.get("failed") or [])

    @cached_property
    def left_out(self) -> dict[str, str]:
        """Return why a rule gave no result, by its id; what the rule found before may still hold."""
        return {str(fault.get("rule")): str(fault.get("error")) for fault in self.failed}

    @property
    def hidden(self) -> list[Json]:
        """Return the findings that a suppression hides: always counted, shown on demand."""
        return list(self.report.get("hidden") or [])

    @property
    def compared(self) -> list[Json]:
        return list(self.report.get("compared") or [])

    def _claim(self, raw: Json) -> Claim:
        return Claim(raw, self.slug, self.held, self._disputes.get(str(raw.get("key") or ""), 0))

    def _basis(self, rules: set[str]) -> str:
        """Count what carries the verdict: the artifacts that its rules cite, by kind, and the compared samples."""
        kinds = {artifact.get("id"): str(artifact.get("kind") or "") for artifact in self.report.get("artifacts") or []}
        carrying = [claim for claim in self.claims if claim.rule in rules]
        cited = {c.artifact for claim in carrying for c in claim.citations}
        elsewhere = any(claim.raw.get("facts", {}).get("id_mismatch") for claim in carrying)
        counts = []
        for kind, n in Counter(kinds.get(number, "") for number in sorted(cited)).items():
            known = kind_of(kind)
            one = known.title or f"{kind} artifact".strip()
            many = known.titles or f"{kind} artifacts".strip()
            other = " of another start" if elsewhere and kind == "pmap" else ""
            counts.append(f"{'one' if n == 1 else n} {one if n == 1 else many}{other}")
        leader = str((self.report.get("verdict") or {}).get("hypothesis") or "")
        board = {row.get("code"): row for row in self.report.get("hypotheses") or []}
        if "before-after" in (board.get(leader, {}).get("cells") or {}):
            counts += [f"{sum(row['n'])} timings before and after a change" for row in self._tested(leader)]
        return ", ".join(counts)

    def _tested(self, leader: str) -> list[Json]:
        """Return the comparison that tested the leading hypothesis: the first that a finding of its group names."""
        spoken = {
            str(claim.raw.get("subject"))
            for claim in self.claims
            if claim.raw.get("evidence_group") == "before-after" and (claim.raw.get("cells") or {}).get(leader)
        }
        named = [row for row in self.compared if row.get("n") and f"{row.get('from')} to {row.get('to')}" in spoken]
        return (named or [row for row in self.compared if row.get("n")])[:1]


def symptom_seconds(
    bad: float | None, normal: float | None, unit: str | None, title: str, explained: bool
) -> Seconds | None:
    """Return the bar of a symptom without a traced request: the usual seconds and the others; None if unknown.

    `explained`: there is a cause or suspect, so the other seconds are labelled only as longer than usual.
    """
    if unit != "s" or bad is None or normal is None or not bad > normal > 0:
        return None
    rest = "longer than usual" if explained else "not looked into"
    laid = shares([("usual", normal), (rest, bad - normal)])
    kinds = ("rest", "culprit" if explained else "untraced")
    pieces = [Second(share, kind, False, "", []) for share, kind in zip(laid, kinds, strict=True)]
    return Seconds(title or "what is slow", bad, "", pieces)


def changes(before: Outlook, after: Outlook) -> list[str]:
    """List in plain words what a new evaluation changed, most important first; empty for no change."""
    if not before.exists:
        return []
    lines = []
    old, new = before.verdict, after.verdict
    arrived = [
        a
        for a in after.report.get("artifacts") or []
        if a.get("id") not in {b.get("id") for b in before.report.get("artifacts") or []}
    ]
    why = ", ".join(f"{a.get('kind') or 'file'} {a.get('file') or ''}".strip() for a in arrived[:3])
    because = f"{why} arrived: " if why else ""
    if old.state != new.state:
        where = f", {new.layer}" if new.state == "lead" and new.layer else ""
        lines.append(f"{because}verdict {old.state} → {new.state}{where}")
    if old.support != new.support:
        lines.append(f"{because if not lines else ''}support {old.support} → {new.support}")
    keys_before, keys_after = ({c.key for c in outlook.claims if c.key} for outlook in (before, after))
    found = [f"new: {claim.headline}" for claim in after.claims if claim.key in keys_after - keys_before]
    lost = [
        f"{'not judged, its rule was left out' if claim.rule in after.left_out else 'no longer found'}: {claim.headline}"
        for claim in before.claims
        if claim.key in keys_before - keys_after
    ]
    lines += [*found[:2], *lost[:2]]
    if more := len(found[2:]) + len(lost[2:]):
        lines.append(f"{more} more change{'s' if more > 1 else ''} of findings")
    lines += _newly_standing_out(before, after)
    return lines or ([f"{why} arrived, nothing else changed"] if why else [])


def _newly_standing_out(before: Outlook, after: Outlook) -> list[str]:
    """Say in one line which of the first observations are new since the evaluation before; none for older reports."""
    if "observations" not in before.report:
        return []
    known = {one.key for one in before.observations}
    new = [one for one in after.first_observations if not one.normal and one.key not in known]
    more = f" and {len(new) - 1} more" if len(new) > 1 else ""
    return [f"now stands out: {new[0].headline}{more}"] if new else []


def citations(entries: Sequence[Json], slug: str, held: Mapping[int, Held]) -> list[Citation]:
    """Make citations from a report's entries, with the name and hash that the room has for the artifact."""
    made = []
    for entry in entries:
        number = int(entry["artifact"])
        artifact = held.get(number)
        made.append(
            Citation(
                artifact=number,
                file=artifact.name if artifact else str(entry.get("file") or f"artifact {number}"),
                line_from=int(entry["line_from"]),
                line_to=int(entry["line_to"]),
                role=str(entry.get("role") or ""),
                text=str(entry.get("text") or ""),
                sha256=artifact.sha256 if artifact else "",
                withdrawn=artifact.withdrawn if artifact else False,
                slug=slug,
            )
        )
    return made


def _overlap(one: Citation, other: Citation) -> bool:
    """Tell whether two citations share a line."""
    same = one.artifact == other.artifact
    return same and one.line_from <= other.line_to and other.line_from <= one.line_to


def _same_clearing(entry: Json, finding: Json) -> bool:
    """Decide whether a cleared entry belongs to a clearing finding; one finding may clear several layers."""
    return entry.get("rule") == finding.get("rule") and _first_cited(entry) == _first_cited(finding)


def _first_cited(entry: Json) -> tuple[object, object] | None:
    return next(((c["artifact"], c["line_from"]) for c in entry.get("citations") or []), None)


def _joined(bounds: list[Json]) -> Json:
    """Join several cleared entries of one finding: all their layers, each different bound and scope once."""
    return {
        "layer": bounds[0].get("layer"),
        "layers": [str(entry.get("layer")) for entry in bounds],
        **{
            name: "; ".join(dict.fromkeys(str(entry[name]) for entry in bounds if entry.get(name)))
            for name in ("bound", "scope")
        },
    }


def _ask(entry: Json, rule: str) -> Ask:
    # Conditions in brackets are for rule authors; the page names what to collect.
    named = (re.sub(r"\[.*\]| x \d+$", "", str(need)) for need in entry.get("needs") or [])
    needs = " and ".join(dict.fromkeys(_need(need) for need in named))
    host = f" on {entry['host']}" if entry.get("host") else ""
    title = str(entry.get("title") or "")
    why = f"{title}{host}: needs {needs}" if title else f"Collect {needs}{host}"
    host_name, command = str(entry.get("host") or ""), str(entry.get("ask") or "")
    listed = tuple(str(need) for need in entry.get("needs") or [])
    return Ask(
        why=why,
        command=command,
        os=str(entry.get("os") or ""),
        who=str(entry.get("who") or ""),
        worth=float(entry.get("worth") or 0),
        rule=rule,
        id=hashlib.sha256("\0".join((rule, host_name, command, *sorted(listed))).encode()).hexdigest()[:16],
        host=host_name,
        needs=listed,
    )


def _best_ask(entry: Json) -> Ask:
    """Return one of the few asks that a report chose; its id stays as long as the same is asked on the same host."""
    host, command, why = (str(entry.get(key) or "") for key in ("host", "ask", "why"))
    decides = [str(name) for name in entry.get("decides") or []]
    return Ask(
        why=f"Would settle{' on ' + host if host else ''}: {why or ', '.join(decides[:3])}",
        command=command,
        os=str(entry.get("os") or ""),
        who=str(entry.get("who") or ""),
        worth=0.0,
        rule=next((name for name in decides[:1] if re.fullmatch(r"[A-Z]+-\d+", name)), ""),
        cost=str(entry.get("cost") or ""),
        decides=tuple(decides),
        id=hashlib.sha256("\0".join(("ask", host, command)).encode()).hexdigest()[:16],
        host=host,
    )


def _need(need: str) -> str:
    """Name in words what a rule needs: this column, its table, or a statement."""
    if need in NEEDS:
        return NEEDS[need]
    if need.startswith("statement:"):
        return f"somebody's word on {need.removeprefix('statement:').replace('_', ' ')}"
    return NEEDS.get(need.split(".")[0], need)


def _listed(value: object) -> list[object]:
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
