r"""Read tables of words in columns under a header (vmstat, mpstat, iostat, sar, prstat, ps ...).

A header line is data: its words name the columns, in whatever order a version prints them. A row is a line that has as
many words as the header and whose words fit their columns; positions on the line never count, since pastes collapse
blanks. A block goes through these steps::

    lines = under(block.frame, HEADING, state)          # the header of each line; state carries it on
    for heading, rows in tables(lines):                 # one group for each distinct header
        names = keys(heading)                           # ('r', 'b', ..., 'sy', 'cs', 'us', 'sy#2', 'id')
        rows = cut(rows, {name: NUMBER for name in names})
        rows = numbers(rows.filter(pl.col(names[0]).is_not_null()), names, state)

Rows of several headers come group by group: sort by line_no before adding them. Pastes that lost their line ends or
were wrapped go through `restore` first, which needs a proof for each row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from parsers.tables.rows import State, Tables
from parsers.text.source import Source
from parsers.text.times import decimal, decimal_sign

NUMBER = r"-?[0-9]+(?:[.,][0-9]+)*"
"""A number; `numbers` decides once for a file which sign is the decimal one."""

NUMBER_OR_NONE = r"(?:-(?:[0-9]+(?:[.,][0-9]+)*)?|[0-9]+(?:[.,][0-9]+)*)"
"""A NUMBER or a lone `-`.

The alternatives begin with different characters, so that the engine stays in its one-pass matcher (else 2.4 times the
time).
"""
WORD = r"[^ \t]+"
REST = r"[^ \t].*"
"""A cell that runs to the end of the line, blanks included: the last column only."""

HEADINGS = 200
"""Maximum number of distinct headers of a block; more are not output of a tool."""

MOST = 1e15
"""Maximum plausible rate or size; a larger one is a counter that wrapped or was never set."""

SMALL = 256 * 1024
"""Maximum bytes of a paste that is read as a whole and may be repaired."""

_BLANKS = r"[ \t]+"
_AT_ONCE = 16
"""Maximum number of groups in one pattern: the regex engine's fast path has 16.

17 columns in one pattern took 2.5 times as long as in two.
"""

_WIDE = 64
_DAMAGE = {"line_no": pl.Int64(), "kind": pl.String(), "text": pl.String()}


def keys(heading: str) -> tuple[str, ...]:
    """Return the names of the columns of a header; a repeated name gets a number.

    >>> keys("in sy cs us sy id")
    ('in', 'sy', 'cs', 'us', 'sy#2', 'id')
    >>> keys("usr * *")
    ('usr', '(*)', '(*)#2')
    """
    seen: dict[str, int] = {}
    names = []
    for word in heading.split():
        if word[0] in "*^":  # Polars would expand such a name to many columns
            word = f"({word})"
        seen[word] = seen.get(word, 0) + 1
        names.append(word if seen[word] == 1 else f"{word}#{seen[word]}")
    return tuple(names)


def frames(source: Source) -> Iterator[pl.DataFrame]:
    """Yield the data frames of the blocks; a small whole part comes as one, so that it can be repaired."""
    return source.frames(SMALL)


def is_small(source: Source) -> bool:
    """Decide whether `frames` yields the whole part at once."""
    return source.is_small(SMALL)


def sparse(frame: pl.DataFrame, look: pl.Expr, value: pl.Expr) -> pl.Series:
    """Evaluate `value` only for the lines for which `look` (something cheap) is true; NULL elsewhere.

    Headers are one line in a hundred, and `when` evaluates its branches for all lines (0.1 s of 0.5 s in a 36 MB file).
    """
    mask = frame.select(look).to_series()
    found = frame.filter(mask).select(value).to_series()
    place = pl.when(mask).then(mask.cum_sum().cast(pl.Int64, strict=False) - 1)
    return found.gather(frame.select(place).to_series())


def at_end(source: Source) -> bool:
    """Decide whether the latest block is the end of the part, so that its last line may be cut."""
    return source.last and source.at.offset >= source.end


def under(frame: pl.DataFrame, heading: pl.Expr | pl.Series, state: State) -> pl.DataFrame:
    """Add the header that stands above each line.

    `heading` is the column names of a header line (without a time or label before them) and NULL for all other lines.
    Added columns: `is_heading`; `heading`, the names with single blanks, NULL before the first header; `table`, the
    number of headers so far (a header counts itself). `state["heading"]` and `state["table"]` carry the last values.
    """
    named = frame.with_columns(heading.alias("heading"))
    plain = pl.col("heading").str.strip_chars().str.replace_all(_BLANKS, " ")
    named = named.with_columns(heading=sparse(named, pl.col("heading").is_not_null(), plain))
    located = named.with_columns(
        is_heading=pl.col("heading").is_not_null(),
        heading=pl.col("heading").forward_fill().fill_null(pl.lit(state.get("heading"), pl.String)),
        table=pl.col("heading").is_not_null().cum_sum().cast(pl.Int64, strict=False) + state.get("table", 0),
    )
    if not located.is_empty():
        state["heading"], state["table"] = located["heading"][-1], located["table"][-1]
    return located


def tables(lines: pl.DataFrame) -> Iterator[tuple[str | None, pl.DataFrame]]:
    """Yield the lines that are not headers, a group for each distinct header (None: before the first one)."""
    rows = lines.filter(~pl.col("is_heading"))
    names = rows["heading"].unique(maintain_order=True)
    if len(names) == 1:
        yield names[0], rows
        return
    for name in names[:HEADINGS]:
        yield name, rows.filter(pl.col("heading").eq_missing(pl.lit(name, pl.String)))


def cut(frame: pl.DataFrame, cells: Mapping[str, str], *, before: str = "") -> pl.DataFrame:
    """Split `line` into one text column for each of `cells` (column name: pattern without groups of its own).

    Lines that do not match as a whole have NULL in all of them. `before` is a pattern for what precedes the first cell,
    its blanks included (a label or time that the caller reads separately).
    """
    names, patterns = list(cells), list(cells.values())
    if len(names) > _WIDE:
        return _cut_wide(frame, names, patterns, before)
    parts = -(-len(names) // _AT_ONCE)
    size = -(-len(names) // parts)
    found = []
    for at in range(0, len(names), size):
        taken = [f"({p})" if at <= i < at + size else f"(?:{p})" for i, p in enumerate(patterns)]
        pattern = f"^[ \t]*{before}{_BLANKS.join(taken)}$"
        found.append(
            pl.col("line").str.extract_groups(pattern).struct.rename_fields(names[at : at + size]).alias(f"cells {at}")
        )
    return frame.with_columns(found).unnest(*[f"cells {at}" for at in range(0, len(names), size)])


def _cut_wide(frame: pl.DataFrame, names: list[str], patterns: list[str], before: str) -> pl.DataFrame:
    """Split hundreds of columns whose cells match the same pattern, or of which some first ones match another pattern
    (labels, then numbers).
    """
    kinds = [p for i, p in enumerate(patterns) if i == 0 or p != patterns[i - 1]]
    if len(kinds) > 2:
        raise ValueError(f"more than {_WIDE} columns of different kinds")
    first = patterns.index(kinds[-1])
    many = rf"(?:{_BLANKS}(?:{kinds[-1]}))+" if first else f"(?:(?:{kinds[-1]})(?:{_BLANKS}|$))+"
    head = _BLANKS.join(f"(?:{p})" for p in patterns[:first])
    lead = f"^[ \t]*{before}"
    fits = pl.col("line").str.contains(f"{lead}{head}{many}$")
    words = pl.when(fits).then(pl.col("line").str.replace(lead, "").str.extract_all(WORD))
    words = pl.when(words.list.len() == len(names)).then(words)
    listed = frame.with_columns(words.alias("cells"))
    return listed.with_columns(pl.col("cells").list.get(i).alias(n) for i, n in enumerate(names)).drop("cells")


def numbers(rows: pl.DataFrame, names: Iterable[str], state: State) -> pl.DataFrame:
    """Convert text columns to Float64; `-` becomes NULL.

    Decimal comma or thousands separators are decided once from all numbers so far (`state["decimal"]`); what stays
    ambiguous (`1,234` and nothing that settles it) is NULL.
    """
    names = list(names)
    if "decimal" not in state and _points_part(rows, names):
        state["decimal"] = ","
    if state.get("decimal", ".") == "." and not rows["line"].str.contains(",", literal=True).any():
        # The caller's pattern ensures numbers; `1.2.3` becomes NULL.
        return rows.with_columns(pl.col(names).cast(pl.Float64, strict=False))
    if "decimal" not in state:
        cells = pl.concat([rows[n] for n in names]).drop_nulls()
        sign = decimal_sign(cells.filter(cells.str.contains(r"[.,]")))
        if sign is not None:
            state["decimal"] = sign
    return rows.with_columns(decimal(n, state.get("decimal")).alias(n) for n in names)


def undecided(texts: pl.DataFrame, numbers: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return notes on lines with a number that is NULL because its comma may be a decimal or a thousands separator."""
    if not texts["line"].str.contains(",", literal=True).any():
        return pl.DataFrame(schema=_DAMAGE)
    both = numbers.select("line_no", *names).with_columns(texts.select(pl.col(n).alias(f"{n} text") for n in names))
    lost = pl.any_horizontal(pl.col(n).is_null() & pl.col(f"{n} text").str.contains("[0-9]") for n in names)
    words = "a comma that may part decimals or thousands: left out"
    return both.filter(lost).select("line_no", kind=pl.lit("damaged"), text=pl.lit(words))


def _points_part(rows: pl.DataFrame, names: Sequence[str]) -> bool:
    """Decide whether points separate thousands: three digits behind each, never a leading zero.

    None of these tools prints three decimals.
    """
    seen = rows.head(HEADINGS)
    if not seen["line"].str.contains(r"[1-9][0-9]{0,2}\.[0-9]{3}\b").any():
        return False
    cells = pl.concat([seen[n] for n in names]).drop_nulls()
    pointed = cells.filter(cells.str.contains(".", literal=True))
    return len(pointed) > 0 and bool(pointed.str.contains(r"^[1-9][0-9]{0,2}(?:\.[0-9]{3})+$").all())


def implausible(rows: pl.DataFrame, names: Sequence[str], text: str = "") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Set negative values (-0 too) and those beyond MOST to NULL; return the rows and notes (kind damaged).

    `text` goes before the names of the columns in each note. A column `line`, if there is one, saves a search.
    """
    extremes = rows.select(pl.max_horizontal(pl.col(names).max()))
    signed = rows["line"].str.contains("-", literal=True).any() if "line" in rows.columns else True
    if not signed and not (extremes.item() or 0.0) > MOST:
        return rows, pl.DataFrame(schema=_DAMAGE)
    bits = {n: (pl.col(n) < 0) | (pl.col(n) > MOST) | ((pl.col(n) == 0) & ((1 / pl.col(n)) < 0)) for n in names}
    marked = rows.select("line_no", **bits)
    hit = marked.filter(pl.any_horizontal(*names))
    if hit.is_empty():
        return rows, pl.DataFrame(schema=_DAMAGE)
    hit_names = pl.concat_str(
        [pl.when(pl.col(n)).then(pl.lit(n + " ")) for n in names], ignore_nulls=True
    ).str.strip_chars()
    notes = hit.select(
        "line_no",
        pl.lit("damaged").alias("kind"),
        (pl.lit(text or "no such value, left out: ") + hit_names).alias("text"),
    )
    return rows.with_columns(pl.when(~bits[n]).then(pl.col(n)).alias(n) for n in names), notes


def counted(new: pl.Expr, state: State, name: str = "sample") -> pl.Expr:
    """Return sample numbers: true values of `new` so far plus the number in the state; call `carry` afterwards."""
    return new.cum_sum().cast(pl.Int64, strict=False) + int(state.get(name, 0))


def carry(rows: pl.DataFrame, state: State, name: str = "sample") -> None:
    """Save the last sample number in the state for the next block."""
    if not rows.is_empty():
        state[name] = rows[name].max()


@dataclass(frozen=True)
class Restored:
    """Lines as the tool wrote them: `lines` has line, and line_no and line_end of the physical lines it came from.

    `repaired` are the ranges of lines whose rows were joined or split, `left` the words of each line that fit no row.
    """

    lines: pl.DataFrame
    repaired: list[tuple[int, int]]
    left: dict[int, str]

    def put_back(self, frame: pl.DataFrame, out: Tables, proof: str) -> pl.DataFrame:
        """Return a data frame (line_no, line) with the restored lines instead of its own, and a column line_end.

        Adds notes on the repaired rows, with their `proof`, and on words that fit no row.
        """
        for first, last in self.repaired:
            words = f"rows taken out of a stream of words by the number of column names; {proof}"
            out.note(first, last, "repaired", words)
        taken = {n for first, last, _ in self.lines.iter_rows() for n in range(first, last + 1)}
        for line_no, words in self.left.items():
            if line_no in taken and re.search(r"[0-9]", words):
                out.note(line_no, line_no, "damaged", f"words that fit no row: {words}")
        rest = frame.filter(~pl.col("line_no").is_in(sorted(taken))).with_columns(line_end=pl.col("line_no"))
        lines = self.lines.select("line_no", "line", "line_end")
        return pl.concat([lines, rest]).sort("line_no", maintain_order=True)


def restore(
    lines: Sequence[tuple[int, str]],
    header: Callable[[Sequence[str]], int],
    fits: Callable[[Sequence[str], Sequence[str]], bool],
) -> Restored:
    """Restore rows that were flattened onto one line or wrapped over several; small pastes only.

    `header(words)` returns how many of the first words are a table's column names (0: no table begins here).
    `fits(names, words)` must *prove* a row by arithmetic, such as percentages that add up: words are then cut by the
    number of names, across line ends. A last value fused with the first of the next row (`0` + `32` = `032`) and a last
    name fused with the first value (`st34`) are split if exactly one way lets both rows fit. After words that fit
    nothing the search continues at the next line.
    """
    words = [(w, n) for n, text in lines for w in text.split()]
    out: list[tuple[int, int, str]] = []
    left: dict[int, list[str]] = {}
    repaired: list[tuple[int, int]] = []
    names: list[str] = []
    at = 0

    def emit(size: int) -> None:
        part = words[at : at + size]
        out.append((part[0][1], part[-1][1], " ".join(w for w, _ in part)))

    while at < len(words):
        ahead = [w for w, _ in words[at : at + _WIDE]]
        size = header(ahead) if ahead[0][0].isalpha() else 0
        fused = _fused_header(ahead, header) if not size and ahead[0][0].isalpha() else None
        if fused:
            place, one, other = fused
            line_no = words[at + place][1]
            words[at + place : at + place + 1] = [(one, line_no), (other, line_no)]
            size = place + 1
        if size:
            names = [w for w, _ in words[at : at + size]]
            emit(size)
            at += size
            continue
        n = len(names)
        row = ahead[:n]
        if n and len(row) == n and not fits(names, row):
            parted = _parted(names, [w for w, _ in words[at : at + 2 * n]], fits)
            if parted:
                line_no = words[at + n - 1][1]
                words[at + n - 1 : at + n] = [(parted[0], line_no), (parted[1], line_no)]
                row = [*row[:-1], parted[0]]
        if n and len(row) == n and fits(names, row):
            emit(n)
            at += n
            continue
        line_no = words[at][1]
        stray = left.setdefault(line_no, [])
        while at < len(words) and words[at][1] == line_no:
            stray.append(words[at][0])
            at += 1
            if not names:
                break
    rows_of: dict[int, int] = {}
    for first, last, _ in out:
        for number in {first, last}:
            rows_of[number] = rows_of.get(number, 0) + 1
    for first, last, _ in out:
        if first != last or rows_of[first] > 1:
            repaired.append((first, last))
    frame = pl.DataFrame(out, schema={"line_no": pl.Int64, "line_end": pl.Int64, "line": pl.String}, orient="row")
    return Restored(frame, sorted(set(repaired)), {n: " ".join(w) for n, w in left.items()})


def _fused_header(words: Sequence[str], header: Callable[[Sequence[str]], int]) -> tuple[int, str, str] | None:
    """Return the index and the halves of a last name that lost the blank before the first value."""
    for place, word in enumerate(words):
        match = re.match(r"^([A-Za-z%_/]+)([0-9]+)$", word)
        if match and header([*words[:place], match[1]]) == place + 1:
            return place, match[1], match[2]
    return None


def _parted(
    names: Sequence[str], words: Sequence[str], fits: Callable[[Sequence[str], Sequence[str]], bool]
) -> tuple[str, str] | None:
    """Split the last value of a row from the first of the next; None unless exactly one way lets both rows fit."""
    n = len(names)
    last, following = words[n - 1], words[n : 2 * n - 1]
    if len(following) < n - 1:
        return None
    ways = [(last[:i], last[i:]) for i in range(1, len(last))]
    good = [(a, b) for a, b in ways if fits(names, [*words[: n - 1], a]) and fits(names, [b, *following])]
    return good[0] if len(good) == 1 else None
