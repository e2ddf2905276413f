"""Compare two versions of a text, and merge the changes that two people made to it.

The comparison goes word by word, since prose is one long line. The person who saves second sees the merged proposal
before anything is stored, so nothing needs to be guessed: where both changed the same words, both versions stand in it,
marked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

#: Maximum number of word comparisons (about a second); above it lines are compared, then whole texts.
MOST_COMPARED = 2_000_000
_WORDS = re.compile(r"\n|[^\S\n]*[^\s]+|[^\S\n]+")
_MARKED = re.compile(r"⟦[^⟦⟧]*‖[^⟦⟧]*⟧")

Change = tuple[int, int, int, int]  # words [a, b) of the old text became words [c, d) of the new one


@dataclass(frozen=True)
class Piece:
    """A stretch of a text: `same`, `added` or `removed`."""

    what: str
    text: str


@dataclass(frozen=True)
class Merged:
    """A proposal, and the number of places in it that somebody has to decide."""

    text: str
    conflicts: int


def differences(before: str, after: str) -> list[Piece]:
    """List what changed, in reading order; a removed piece comes before the one that replaced it.

    >>> [(piece.what, piece.text) for piece in differences("The gap ends here.", "The hole ends here.")]
    [('same', 'The'), ('removed', ' gap'), ('added', ' hole'), ('same', ' ends here.')]
    """
    old, new = _cut(before, after)
    pieces, at = [], 0
    for a, b, c, d in _changes(old, new):
        pieces += [("same", old[at:a]), ("removed", old[a:b]), ("added", new[c:d])]
        at = b
    pieces.append(("same", old[at:]))
    return [Piece(what, "".join(words)) for what, words in pieces if words]


def merge(base: str, theirs: str, mine: str, name: str = "they") -> Merged:
    """Apply both sets of changes to `base`. Words that both changed are written as `⟦name: theirs ‖ you: mine⟧`.

    >>> merge("one two three", "one 2 three", "one two three four")
    Merged(text='one 2 three four', conflicts=0)
    >>> merge("one two three", "one 2 three", "one zwei three", "Nils").text
    'one ⟦Nils: 2 ‖ you: zwei⟧ three'
    """
    cut = _words if _cost(_words(base), _words(theirs)) + _cost(_words(base), _words(mine)) < MOST_COMPARED else _lines
    old, left, right = cut(base), cut(theirs), cut(mine)
    ours, yours = _changes(old, left), _changes(old, right)
    out: list[str] = []
    at = conflicts = 0
    for begin, end in _regions(ours + yours):
        out += old[at:begin]
        a, b = _image(left, ours, begin, end), _image(right, yours, begin, end)
        was = old[begin:end]
        if a == b or b == was:
            out += a
        elif a == was:
            out += b
        else:
            conflicts += 1
            left_words, right_words = "".join(a), "".join(b)
            blank = " " if left_words[:1] == right_words[:1] == " " else ""
            out.append(f"{blank}⟦{name}: {left_words.strip()} ‖ you: {right_words.strip()}⟧")
        at = end
    return Merged("".join([*out, *old[at:]]), conflicts)


def undecided(text: str) -> int:
    """Count the marked places that are still undecided."""
    return len(_MARKED.findall(text))


def _regions(changes: list[Change]) -> list[tuple[int, int]]:
    """Return the word ranges of the base that changed; changes that overlap or touch are one range.

    Of changes that touch, neither writer saw where the other's change begins.
    """
    regions: list[tuple[int, int]] = []
    for a, b, _, _ in sorted(changes):
        if regions and a <= regions[-1][1]:
            regions[-1] = (regions[-1][0], max(regions[-1][1], b))
        else:
            regions.append((a, b))
    return regions


def _image(words: Sequence[str], changes: list[Change], begin: int, end: int) -> list[str]:
    """Return the words that replace the base's words [begin, end) in one of the texts."""
    inside = [change for change in changes if begin <= change[0] and change[1] <= end]
    before = sum((d - c) - (b - a) for a, b, c, d in changes if (a, b) < (begin, begin) and b <= begin and a < begin)
    grown = sum((d - c) - (b - a) for a, b, c, d in inside)
    return list(words[begin + before : end + before + grown])


def _changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """Compare two texts without their common beginning and end: most edits are small."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if not a and not b:
        return []
    if _cost(a, b) > MOST_COMPARED:
        return [(head, head + len(a), head, head + len(b))]
    steps = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(head + i, head + j, head + k, head + m) for tag, i, j, k, m in steps if tag != "equal"]


def _cut(before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = _words(before), _words(after)
    return (old, new) if _cost(old, new) < MOST_COMPARED else (_lines(before), _lines(after))


def _cost(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the cost of a comparison: the number of pairs of equal words, one of each text."""
    there = Counter(b)
    return sum(n * there[word] for word, n in Counter(a).items())


def _words(text: str) -> list[str]:
    return _WORDS.findall(text)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
