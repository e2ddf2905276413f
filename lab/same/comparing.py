"""Compare two recordings: each difference has a place, the old and the new value, and a sort.

The sorts: *fault*, a difference that is not allowed; *word* (if `words` are allowed), another text for people with the
same numbers; *space* (if `spaces` are allowed), an added or removed space between two inline elements.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from lab.same.plain_page import SPACE

IGNORED = {"parsers": frozenset({"seconds"}), "rules": frozenset({"seconds"}), "pages": frozenset({"seconds"})}
"""Paths of JSON keys that hold the duration of the run; `[]` is any index of a list."""
WORD_KEYS = frozenset(
    "title headline expert manager sentence because against remedy contraindications false_positives verify reason label"
    " cause missing text needs who note hint about explanation help summary".split()
)
"""Keys of the JSON whose texts are written for people."""
NO_WORDS = ("citations",)
"""Keys below which every text is evidence, not a text for people."""
WORD_ATTRIBUTES = frozenset("title aria-label placeholder alt data-help content".split())
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
ATTRIBUTE = re.compile(r"""\s([\w:-]+)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
Sort = Literal["fault", "word", "space"]


@dataclass(frozen=True)
class Allowed:
    words: bool = False
    spaces: bool = False
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Difference:
    sort: Sort
    place: str
    old: str
    new: str


def report(old: Path, new: Path, allowed: Allowed, most: int) -> int:
    """Print all differences of two recordings and return the exit status."""
    found = list(differences(old, new, allowed))
    for sort in ("fault", "word", "space"):
        these = [one for one in found if one.sort == sort]
        for one in these[:most]:
            print(f"{sort} {one.place}\n  old {one.old}\n  new {one.new}")
        if len(these) > most:
            print(f"... {len(these) - most} more of this sort")
    counts = {sort: sum(one.sort == sort for one in found) for sort in ("fault", "word", "space")}
    told = [f"{_lines(old / name)} files" for name in ("parsers.jsonl",) if (old / name).is_file()]
    told += [f"{_lines(old / name)} cases" for name in ("rules.jsonl",) if (old / name).is_file()]
    told += [f"{len(_pages(old))} pages"]
    print(
        f"{', '.join(told)}: {counts['fault']} differences, {counts['word']} other words, {counts['space']} other spaces"
    )
    return 1 if counts["fault"] else 0


def differences(old: Path, new: Path, allowed: Allowed = Allowed()) -> Iterator[Difference]:
    """Yield every difference of two recordings."""
    for name in ("parsers", "rules"):
        there, here = (_said(folder / f"{name}.jsonl") for folder in (old, new))
        ignored = IGNORED[name] | allowed.ignored
        for at in _in_both(there, here):
            yield from _of_json(f"{name} {at}", "", there.get(at), here.get(at), allowed, ignored)
    there, here = _pages(old), _pages(new)
    for at in _in_both(there, here):
        yield from _of_pages(at, there.get(at), here.get(at), allowed)


def _in_both(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    return sorted(old.keys() | new.keys())


def _said(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    with file.open(encoding="utf-8") as lines:
        return {one.pop("at"): one for one in map(json.loads, lines)}


def _pages(folder: Path) -> dict[str, str]:
    """Return the text of each page by its room and address."""
    found = {}
    for file in (folder / "pages").rglob("*.txt"):
        address, _, text = file.read_text(encoding="utf-8").partition("\n")
        found[f"{file.parent.name} {address}"] = text
    return found


def _lines(file: Path) -> int:
    with file.open("rb") as opened:
        return sum(1 for _ in opened)


def _of_json(
    where: str, path: str, old: Any, new: Any, allowed: Allowed, ignored: frozenset[str]
) -> Iterator[Difference]:
    """Compare two JSON values; `path` is the place of the values, such as `a.b[0].c`, empty for the whole."""
    if old == new or re.sub(r"\[\d+\]", "[]", path.removeprefix("said").lstrip(".")) in ignored:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new) and old.keys() == new.keys():
            yield Difference("fault", f"{where}: {path}", f"keys {list(old)}", f"keys {list(new)}")
        for key in [*old, *(key for key in new if key not in old)]:
            below = f"{path}.{key}" if path else key
            if key in old and key in new:
                yield from _of_json(where, below, old[key], new[key], allowed, ignored)
            elif re.sub(r"\[\d+\]", "[]", below.removeprefix("said").lstrip(".")) not in ignored:
                yield Difference("fault", f"{where}: {below}", _short(old, key), _short(new, key))
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield Difference("fault", f"{where}: {path}", f"{len(old)} entries", f"{len(new)} entries")
        for place, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _of_json(where, f"{path}[{place}]", one, other, allowed, ignored)
    else:
        keys = re.findall(r"[^.\[\]]+", re.sub(r"\[\d+\]", "", path))
        wordy = keys and keys[-1] in WORD_KEYS and not set(keys) & set(NO_WORDS)
        sort: Sort = "word" if allowed.words and wordy and _reworded(old, new) else "fault"
        yield Difference(sort, f"{where}: {path}", _shown(old), _shown(new))


def _reworded(old: Any, new: Any) -> bool:
    """Return whether two values are texts that contain the same numbers."""
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    return sorted(NUMBER.findall(old)) == sorted(NUMBER.findall(new))


def _of_pages(at: str, old: str | None, new: str | None, allowed: Allowed) -> Iterator[Difference]:
    if old == new:
        return
    if old is None or new is None:
        yield Difference("fault", at, _seen(old), _seen(new))
        return
    (head, _, before), (other_head, _, after) = old.partition("\n"), new.partition("\n")
    if head != other_head:
        yield Difference("fault", f"{at}: answer", head, other_head)
    if " application/json" in head and " application/json" in other_head:
        yield from _of_json(at, "", json.loads(before), json.loads(after), allowed, IGNORED["pages"] | allowed.ignored)
    else:
        yield from _of_lines(at, before.splitlines(), after.splitlines(), allowed)


def _seen(page: str | None) -> str:
    return "no such page" if page is None else f"a page: {page.partition(chr(10))[0]}"


def _of_lines(at: str, old: list[str], new: list[str], allowed: Allowed) -> Iterator[Difference]:
    """Compare the lines of two pages, exactly or, if `words` are allowed, by `_reworded_lines`."""
    shape = [_shape(line) if allowed.words else line for line in old]
    other = [_shape(line) if allowed.words else line for line in new]
    if allowed.words:
        yield from _reworded_lines(at, old, new, shape, other, allowed)
        return
    yield from _plain_lines(at, old, new, 0, allowed, old)


def _plain_lines(
    at: str, old: list[str], new: list[str], first: int, allowed: Allowed, whole: list[str]
) -> Iterator[Difference]:
    for sign, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if sign == "equal":
            continue
        for n, (one, two) in enumerate(zip_longest(old[a:b], new[c:d])):
            place = f"{at}: {_element(whole, first + a + n)}"
            yield Difference(_sort(one, two, allowed), place, _shown(one), _shown(two))


def _reworded_lines(
    at: str, old: list[str], new: list[str], shape: list[str], other: list[str], allowed: Allowed
) -> Iterator[Difference]:
    """Compare pages whose texts may differ: match elements by their shape, texts by their position between elements."""
    for sign, a, b, c, d in difflib.SequenceMatcher(None, shape, other, autojunk=False).get_opcodes():
        if sign == "equal":
            for n in range(b - a):
                one, two = old[a + n], new[c + n]
                if one != two:
                    yield Difference(_sort(one, two, allowed), f"{at}: {_element(old, a + n)}", one, two)
        else:
            yield from _plain_lines(at, old[a:b], new[c:d], a, allowed, old)


def _shape(line: str) -> str:
    """Return the part of a line that must be equal if texts may differ: its element without texts in attributes."""
    if line.startswith('"'):
        return '"'
    return ATTRIBUTE.sub(lambda a: f" {a[1]}" if a[1] in WORD_ATTRIBUTES else a[0], line)


def _sort(old: str | None, new: str | None, allowed: Allowed) -> Sort:
    if allowed.spaces and (_bare(old) == _bare(new)):
        return "space"
    if old is None or new is None or not allowed.words or _shape(old) != _shape(new):
        return "fault"
    return "word" if _reworded(old, new) and (allowed.spaces or _edges(old) == _edges(new)) else "fault"


def _bare(line: str | None) -> str:
    """Return a line without spaces at its ends; "" for None and for a text of only spaces."""
    if line is None or not line.startswith('"'):
        return line or ""
    body = line[1:].strip(SPACE)
    return f'"{body}' if body else ""


def _edges(line: str) -> tuple[bool, bool]:
    """Return whether a text begins with a space, and whether it ends with one (spaces separate inline elements)."""
    return line.startswith(f'"{SPACE}'), line.endswith(SPACE)


def _element(lines: list[str], place: int) -> str:
    """Return the path of the element that a line is or belongs to: `main > section#verdict > p.say`."""
    open_now: list[str] = []
    for line in lines[: place + 1]:
        if open_now and open_now[-1].startswith("!") and line.startswith("<"):
            open_now.pop()
        if line.startswith("</"):
            if open_now and open_now[-1].split("#")[0].split(".")[0] == line[2:-1]:
                open_now.pop()
        elif line.startswith("<"):
            name = re.match(r"<([\w:-]+)", line)
            if name is None:
                continue
            ident = re.search(r""" id='([^']*)'""", line)
            kind = re.search(r""" class='([^' ]*)""", line)
            told = name[1] + (f"#{ident[1]}" if ident else f".{kind[1]}" if kind and kind[1] else "")
            open_now.append(told if f"</{name[1]}>" in lines else f"!{told}")
    return " > ".join(one.removeprefix("!") for one in open_now[-4:]) or f"line {place + 1}"


def _short(value: Mapping[str, Any], key: str) -> str:
    return _shown(value[key]) if key in value else "nothing"


def _shown(value: Any) -> str:
    text = "nothing" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 600 else f"{text[:600]}…"
