"""The child process that writes a case's tables as Parquet: `python -m incidents.drawing.tables_child EVIDENCE FOLDER`.

It gives up every right that this does not need, and reads one JSON line on standard input, {"case": a file with a
`CaseSpec`, "cache": a folder}. FOLDER gets one file for each table that has rows, and `schema.json`: what each table and
column means. Rows stand in the order of the evidence; artifact, host, phase and clock come first, as rules see them.

If FOLDER has a `REDACT` file, {"key", "names"}, names are replaced in every text (parsers/secrets/pseudonyms.py), and
`NAMES` says which: {"names", "replaced"}.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rules.judge_child import fence_in

if TYPE_CHECKING:
    from parsers.secrets.pseudonyms import Pseudonyms

SCHEMA = 1
REDACT, NAMES = "redact.json", "names.json"
#: Columns whose values are names, with the kind of each.
NAMING = {
    **dict.fromkeys(("host", "client_host", "machine"), "host"),
    **dict.fromkeys(("login", "owner", "db_user"), "user"),
    "service": "name",
}


def main(evidence: str, folder: str) -> int:
    """Write the tables of one case; return the exit status."""
    fence_in(evidence, [Path(__file__).parents[1]])
    from parsers.tables.schema import TABLES
    from rules.case.case import FROM_CASE
    from rules.engine.read import ReadOnly
    from rules.model import CaseSpec

    request = json.loads(sys.stdin.readline())
    spec = CaseSpec.from_json(json.loads(Path(request["case"]).read_text("utf-8")))
    names = [name for name in TABLES if name not in FROM_CASE]
    made: list[Path] = []
    with ReadOnly(spec, names, Path(request["cache"])) as source:
        for name in names:
            if source.has(name):
                file = Path(folder) / f"{name}.parquet"
                source.copy(f'select * from "{name}"', file)
                made.append(file)
    title = _redact(Path(folder), made, spec.title)
    told = [_told(file.stem, TABLES[file.stem].meaning, file) for file in made]
    about = {"schema": SCHEMA, "title": title, "tables": told}
    (Path(folder) / "schema.json").write_text(json.dumps(about, ensure_ascii=False, indent=1), encoding="utf-8")
    return 0


def _redact(folder: Path, files: list[Path], title: str | None) -> str | None:
    """Replace names in the tables, if that is asked for; return the title, replaced likewise."""
    asked = folder / REDACT
    if not asked.exists():
        return title
    from parsers.secrets.pseudonyms import Pseudonyms

    told = json.loads(asked.read_text("utf-8"))
    asked.unlink()
    names = Pseudonyms(bytes.fromhex(told["key"]), told["names"])
    for file in files:
        for column, texts in _texts_of(file):
            names.learn(texts)
            if column in NAMING:
                names.add(NAMING[column], texts)
    for file in files:
        _rewrite(file, names)
    title = names.text(title) if title else title
    about = {"names": names.names, "replaced": names.replaced}
    (folder / NAMES).write_text(json.dumps(about), encoding="utf-8")
    return title


def _texts_of(file: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the different texts of each column with its name, one row group after the other."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as source:
        for group in range(source.num_row_groups):
            rows = source.read_row_group(group)
            for name, column in zip(rows.column_names, rows.columns, strict=True):
                flat, is_text = _flat(column)
                if is_text:
                    yield name, [text for text in flat.unique().to_pylist() if text is not None]


def _flat(column: Any) -> tuple[Any, bool]:
    """Return the values of a column, those inside its lists too, and whether they are texts."""
    import pyarrow as pa

    flat = column.combine_chunks()
    if pa.types.is_list(flat.type) or pa.types.is_large_list(flat.type):
        flat = flat.flatten()
    return flat, pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type)


def _rewrite(file: Path, names: Pseudonyms) -> None:
    """Write a table again with names replaced in its texts."""
    import pyarrow.parquet as pq

    fresh = file.with_suffix(".part")
    with pq.ParquetFile(file) as source, pq.ParquetWriter(fresh, source.schema_arrow, compression="zstd") as target:
        for group in range(source.num_row_groups):
            rows = source.read_row_group(group)
            for place, field in enumerate(rows.schema):
                replaced = _replaced(rows.column(place), names)
                if replaced is not None:
                    rows = rows.set_column(place, field, replaced)
            target.write_table(rows)
    fresh.replace(file)


def _replaced(column: Any, names: Pseudonyms) -> Any:
    """Return a column of texts, or of lists of texts, with names replaced; None for any other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flat, is_text = _flat(column)
    if not is_text:
        return None
    coded = flat.dictionary_encode()
    words = pa.array([names.text(word) for word in coded.dictionary.to_pylist()], flat.type)
    texts = words.take(coded.indices)
    whole = column.combine_chunks()
    if whole.type == flat.type:
        return texts
    kind = pa.ListArray if pa.types.is_list(whole.type) else pa.LargeListArray
    begin = whole.offsets[0].as_py()
    offsets = pc.subtract(whole.offsets, begin)
    return kind.from_arrays(offsets, texts, type=whole.type, mask=whole.is_null())


def _told(name: str, means: str, file: Path) -> dict[str, Any]:
    """Describe a table as it was written: columns are those of the file, their meaning is that of the contract."""
    import pyarrow.parquet as pq

    from parsers.tables.schema import COMMON as FILE_COMMON
    from parsers.tables.schema import TABLES

    known = {column.name: column for column in (*FILE_COMMON, *TABLES[name].columns)}
    made = pq.ParquetFile(file)
    columns = []
    for field in made.schema_arrow:
        column = known.get(field.name)
        about: dict[str, Any] = {"name": field.name, "type": str(field.type)}
        if column is not None:
            about |= {"unit": column.unit or None, "means": column.meaning}
        elif field.name in COMMON:
            about |= {"unit": COMMON[field.name][0], "means": COMMON[field.name][1]}
        columns.append(about)
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    rows = made.metadata.num_rows
    return {"name": name, "file": file.name, "rows": rows, "sha256": digest, "means": means, "columns": columns}


#: Columns that the case adds to each table: unit and meaning.
COMMON: dict[str, tuple[str | None, str]] = {
    "artifact_id": (None, "number of the artifact in its room"),
    "host": (None, "host that the part is of, as people or the program say"),
    "phase": (None, "phase that the lines belong to: before, after-1 ..."),
    "clock": (None, "clock domain: artifact.part:domain"),
    "t": ("s", "time on the common axis of the room; NULL while nothing ties the clock to it"),
    "t_err": ("s", "how far t may be off"),
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
