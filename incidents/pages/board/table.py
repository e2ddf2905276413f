"""The board of hypotheses as its page shows it: the report's board in words, the arguments against each cause first.

Nothing is weighed here: cells, sums, chains and "what if" come from the report (`docs/cli.md`, `board`). For a report
from before boards existed, only its hypotheses are shown, without rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from incidents.content.report import Ask, Claim, Json, Outlook, layer_name
from incidents.models.judging.argument import Argument
from incidents.models.judging.cause import FreeCause
from parsers.kinds import kind_of
from rules.case.statements import SPOKEN
from rules.judging.scoring import CAUSES
from rules.model import CLASSES, support_word

STRONG = 10
"""Decibans from which a cell is ++ or --: enough to carry a claim alone. Less is + or -; 0 is neither."""

HINT = CLASSES["counter"]

MOST_WANTED = 8
MOST_REASONS = 3
MOST_CAVEATS = 4
PLACES = {"umbrella": "part of the way known, never a rival", "demand": "a load, no rival for a time"}


@dataclass(frozen=True)
class Cell:
    """One weight in words; `value` is None if the group says nothing about the cause."""

    value: int | None
    counts: bool = True

    @property
    def mark(self) -> str:
        if not self.value:
            return "" if self.value is None else "0"
        return ("+" if self.value > 0 else "\u2212") * (2 if abs(self.value) >= STRONG else 1)

    @property
    def words(self) -> str:
        """Put the mark into words for people who cannot see it.

        >>> [Cell(n).words for n in (15, 3, 0, -6, -10, None)]
        ['strongly for', 'for', 'neither for nor against', 'against', 'strongly against', 'says nothing']
        """
        if not self.value:
            return "says nothing" if self.value is None else "neither for nor against"
        return f"{'strongly ' if abs(self.value) >= STRONG else ''}{'for' if self.value > 0 else 'against'}"

    @property
    def tone(self) -> str:
        """Return the style of the cell: for2, for1, none, against1, against2, or empty for an empty cell."""
        if not self.value:
            return "" if self.value is None else "none"
        return f"{'for' if self.value > 0 else 'against'}{2 if abs(self.value) >= STRONG else 1}"


@dataclass(frozen=True)
class Objection:
    """The strongest argument against a cause: a finding, or a person's row."""

    weight: Cell
    claim: Claim | None
    said_by: str
    text: str


@dataclass(frozen=True)
class Sum:
    """A score: shown as a word first, as a number on demand."""

    value: int

    @property
    def word(self) -> str:
        return support_word(self.value)

    @property
    def tone(self) -> str:
        return Cell(self.value).tone


@dataclass(frozen=True)
class Column:
    """A hypothesis. `caveats`: limits of the findings for it; `under`: it is part or reason of the column before."""

    code: str
    cause: str
    layer: str
    together: Sum
    machine: Sum
    people: Sum
    relation: str
    short: str
    origin: str
    leads: bool
    tied: bool
    under: bool
    rival: bool
    objection: Objection | None
    caveats: list[tuple[Claim, str]]
    free: FreeCause | None


@dataclass(frozen=True)
class Row:
    """An evidence group. `joint`: its place in a chain (`first`, `inner`, `last`), empty if it counts by itself."""

    name: str
    title: str
    claims: list[Claim]
    cells: list[Cell]
    spread: int
    dull: bool
    joint: str
    said_by: str
    argument: Argument | None
    once: list[Cell] | None = None

    @property
    def disputed(self) -> bool:
        return any(claim.disputes for claim in self.claims)


@dataclass(frozen=True)
class WhatIf:
    """What would hold without something, as parts of a sentence. `changes`: the verdict would be another one."""

    what: str
    then: str
    changes: bool
    kept: int


@dataclass(frozen=True)
class Turning:
    """Evidence that could overturn the board, with a sentence on its effect."""

    ask: Ask
    effect: str
    overturns: bool
    shift: int
    also: int


@dataclass(frozen=True)
class Signed:
    """A person's row as its list shows it: each weight with its cause."""

    row: Argument
    told: list[tuple[str, str]]


@dataclass(frozen=True)
class Board:
    """The whole page; empty if nothing was judged."""

    columns: list[Column]
    rows: list[Row]
    leader: Column | None
    margin: int | None
    what_ifs: list[WhatIf]
    turning: list[Turning]
    more_turning: int
    causes: Mapping[str, str] = field(default_factory=dict)
    points_to: str = ""
    """The cause that a lead points to. It has no weight here, so no column leads."""

    @property
    def rivals(self) -> int:
        """Return the number of columns that compete; the columns after them do not."""
        return sum(column.rival for column in self.columns)

    @property
    def blocks(self) -> list[tuple[Column, list[tuple[Row, Cell]]]]:
        """Return each cause with the rows that concern it, for narrow screens."""
        return [
            (column, [(row, row.cells[n]) for row in self.rows if row.cells[n].value is not None])
            for n, column in enumerate(self.columns)
        ]

    @property
    def reasons(self) -> list[tuple[Row, Cell]]:
        """Return the rows that speak most for the leader, each counted one once."""
        if self.leader is None:
            return []
        place = self.columns.index(self.leader)
        rows = [(row, row.cells[place]) for row in self.rows if row.cells[place].counts]
        return sorted((one for one in rows if (one[1].value or 0) > 0), key=lambda one: -(one[1].value or 0))[
            :MOST_REASONS
        ]

    @property
    def rests(self) -> list[Column]:
        """Return the best of the causes that do not lead and that something speaks for, parts and reasons aside."""
        others = [column for column in self.columns if column.rival and not column.under and not column.leads]
        return [column for column in others if column.together.value > 0][:MOST_REASONS]

    @property
    def dull(self) -> int:
        return sum(row.dull for row in self.rows)

    @property
    def idle(self) -> int:
        """Return the number of rows that change nothing when only they are left out."""
        return len(self.rows) - sum(one.changes for one in self.what_ifs)


def board_of(outlook: Outlook, arguments: Iterable[Argument], free: Iterable[FreeCause]) -> Board:
    """Lay out a report's board. `arguments` and `free`: rows and causes of people, which their authors can change."""
    raw = [row for row in outlook.report.get("hypotheses") or [] if row.get("code")]
    held = outlook.report.get("board") or {}
    verdict = outlook.report.get("verdict") or {}
    points_to = str(verdict.get("hypothesis") or "") if verdict.get("state") == "lead" else ""
    leader = "" if points_to else str(verdict.get("hypothesis") or "")
    columns = _columns(outlook, raw, leader, {row.code: row for row in free})
    codes = [column.code for column in columns]
    counted = {str(row["code"]): row.get("cells") or {} for row in raw}
    by_group = {f"said by {row.author_label}: {row.reason}": row for row in arguments}
    chains = {name: chain for chain in held.get("chains") or [] for name in chain.get("groups") or []}
    rows = []
    for group in held.get("groups") or []:
        name = str(group.get("name"))
        chain = chains.get(name)
        joint, once = "", None
        if chain is not None:
            place = list(chain["groups"]).index(name)
            joint = "first" if place == 0 else "last" if place == len(chain["groups"]) - 1 else "inner"
            once = [Cell(chain["cells"].get(code)) for code in codes] if joint == "last" else None
        cells = group.get("cells") or {}
        claims = [claim for key in group.get("findings") or [] if (claim := outlook.claim(str(key))) is not None]
        rows.append(
            Row(
                name,
                str(group.get("title") or name),
                claims,
                [Cell(cells.get(code), name in counted.get(code, {})) for code in codes],
                int(group.get("spread") or 0),
                not group.get("discriminates"),
                joint,
                str(group.get("said_by") or ""),
                by_group.get(name),
                once,
            )
        )
    causes = {column.code: column.cause for column in columns}
    leading = next((column for column in columns if column.code == leader), None)
    turning = _turning(outlook, held.get("wanted") or [], causes, leading)
    return Board(
        columns,
        rows,
        leading,
        verdict.get("margin"),
        _what_ifs(held, leading, str(verdict.get("state") or ""), causes) if leading else [],
        turning[:MOST_WANTED],
        len(turning[MOST_WANTED:]),
        causes,
        _known(points_to),
    )


def signed(rows: Iterable[Argument], board: Board) -> list[Signed]:
    """Return people's rows in words, those for a cause before those against one."""
    order = list(SPOKEN)
    return [
        Signed(
            row,
            [
                (word, board.causes.get(code) or _known(code))
                for code, word in sorted(row.words.items(), key=lambda said: (order.index(said[1]), said[0]))
            ],
        )
        for row in rows
    ]


# --- columns ----------------------------------------------------------------------------------------------------------


def _columns(outlook: Outlook, raw: Sequence[Json], leader: str, free: Mapping[str, FreeCause]) -> list[Column]:
    """Return the causes, best first; parts and reasons follow their cause, and causes that do not compete come last."""
    of = {str(row["code"]): row for row in raw}
    heads = [row for row in raw if (row.get("part_of") or row.get("why_of")) not in of]
    below = {
        str(head["code"]): [row for row in raw if head["code"] in (row.get("part_of"), row.get("why_of"))]
        for head in heads
    }

    def best(head: Json) -> int:
        # A part with a score of 0 or less does not lift its whole, even if the whole scores lower.
        parts = [int(row["score"]) for row in below[str(head["code"])] if row.get("part_of") and row["score"] > 0]
        return max([int(head["score"]), *parts])

    rivals = [head for head in heads if head.get("role", "rival") == "rival" and not head.get("why_of")]
    beside = [head for head in heads if head not in rivals]
    made = []
    for rival, group in ((True, sorted(rivals, key=lambda head: -best(head))), (False, beside)):
        for head in group:
            family = [head, *sorted(below[str(head["code"])], key=lambda row: (bool(row.get("why_of")), -row["score"]))]
            scores = [best(other) for other in group]
            for row in family:
                tied = rival and row is head and best(head) > 0 and scores.count(best(head)) > 1
                made.append(_column(outlook, row, of, leader, tied, rival, free))
    return made


def _column(
    outlook: Outlook,
    row: Json,
    of: Mapping[str, Json],
    leader: str,
    tied: bool,
    rival: bool,
    free: Mapping[str, FreeCause],
) -> Column:
    code = str(row["code"])
    part, why = row.get("part_of"), row.get("why_of")
    whole = str(part or why or "")
    relation = short = PLACES.get(str(row.get("role")), "")
    if whole:
        name = of[whole]["cause"] if whole in of else whole
        relation = f"{'a part of' if part else 'a reason behind'}: {name}"
        short = f"{'part of' if part else 'why of'} {whole}"
    return Column(
        code,
        str(row.get("cause") or code),
        layer_name(str(row.get("layer") or "")),
        Sum(int(row["score"])),
        Sum(int(row.get("machine", row["score"]) or 0)),
        Sum(int(row.get("people") or 0)),
        relation,
        short,
        str(row.get("origin") or "named"),
        code == leader,
        tied,
        whole in of,
        rival,
        _objection(outlook, row),
        _caveats(outlook, code),
        free.get(code),
    )


def _objection(outlook: Outlook, row: Json) -> Objection | None:
    worst = row.get("against")
    if not worst:
        return None
    claim = outlook.claim(str(worst["finding"])) if worst.get("finding") else None
    author, _, reason = str(worst["group"]).removeprefix("said by ").partition(": ")
    by_person = worst.get("finding") is None
    return Objection(
        Cell(int(worst["decibans"])),
        claim,
        author if by_person else "",
        reason if by_person else claim.headline if claim else str(worst["group"]),
    )


def _caveats(outlook: Outlook, code: str) -> list[tuple[Claim, str]]:
    """Return what limits the findings that clearly support a cause, strongest finding first, each text once."""
    speaking = [claim for claim in outlook.claims if (claim.raw.get("cells") or {}).get(code, 0) > HINT and claim.key]
    speaking.sort(key=lambda claim: -claim.raw["cells"][code])
    once: dict[str, Claim] = {}
    for claim in speaking:
        for text in (*claim.against, *claim.cautions):
            once.setdefault(text, claim)
    return [(claim, text) for text, claim in once.items()][:MOST_CAVEATS]


# --- what if ----------------------------------------------------------------------------------------------------------


def _what_ifs(held: Json, leader: Column, state: str, causes: Mapping[str, str]) -> list[WhatIf]:
    """Say what would hold without each group and each artifact; only those that would change something, most first."""
    made = [
        _what_if(f"“{group['title']}”", group["without"], leader, state, causes) for group in held.get("groups") or []
    ]
    for one in held.get("artifacts") or [] if len(held.get("artifacts") or []) > 1 else []:
        kind = kind_of(str(one.get("kind") or "")).title or "file"
        made.append(_what_if(f"the {kind} {one['file']}", one["without"], leader, state, causes))
    return sorted((one for one in made if one is not None), key=lambda one: (not one.changes, one.kept))


def _what_if(what: str, without: Json, leader: Column, state: str, causes: Mapping[str, str]) -> WhatIf | None:
    kept, other = int(str(without.get("kept") or 0)), str(without.get("leader") or "")
    support = support_word(kept)
    if other and other != leader.code:
        ahead = "" if without["state"] == "cannot tell" else f", {_STATES.get(str(without['state']), '')}"
        return WhatIf(what, f"“{causes.get(other, other)}” would lead{ahead}", True, kept)
    if not other:
        return WhatIf(what, "no cause would lead", True, kept)
    if without["state"] != state:
        told = _STATES.get(str(without["state"]), str(without["state"]))
        same = "stay" if support == leader.together.word else "be"
        return WhatIf(what, f"its support would {same} {support} and it {told}", True, kept)
    if support != leader.together.word:
        return WhatIf(what, f"it would be {support}", True, kept)
    if kept < leader.together.value:
        return WhatIf(what, f"it would stay {support}", False, kept)
    return None


_STATES = {
    "cause": "would be the cause",
    "suspect": "would only be suspected",
    "undecided": "would be undecided between this and another",
    "cannot tell": "could not be told at all",
    "nothing wrong seen": "would not be seen at all",
}


# --- what could overturn it ------------------------------------------------------------------------------------------


def _turning(
    outlook: Outlook, wanted: Sequence[Json], causes: Mapping[str, str], leader: Column | None
) -> list[Turning]:
    """Return what could overturn the leader, each command once with its largest effect."""
    once: dict[tuple[str, str], Turning] = {}
    for entry, ask in zip(wanted, outlook.asked(wanted), strict=True):
        key = (ask.command or ask.why, str(entry.get("host") or ""))
        if key in once:
            before = once[key]
            once[key] = Turning(before.ask, before.effect, before.overturns, before.shift, before.also + 1)
            continue
        once[key] = Turning(ask, _effect(entry, causes, leader), bool(entry["overturns"]), int(entry["shift"]), 0)
    return list(once.values())


def _effect(entry: Json, causes: Mapping[str, str], leader: Column | None) -> str:
    towards = entry.get("towards")
    named = f"“{causes.get(str(towards)) or _known(str(towards))}”" if towards else ""
    if leader is None:
        return f"could speak for {named}" if named else "could name a cause"
    if not named:
        return "could take the lead away" if entry["overturns"] else "could weaken the leader"
    return f"could put {named} level with the leader or ahead" if entry["overturns"] else f"could speak for {named}"


def _known(code: str) -> str:
    return CAUSES[code].text if code in CAUSES else code
