"""Test lines with several values of a status, objects of JSON below each other, and two tables without a blank line between."""

from __future__ import annotations

from typing import Any

import pytest

from tests.parsers.formats.evidence import read_bytes


def rows(text: str, table: str) -> list[dict[str, Any]]:
    return read_bytes(text.encode()).tables[table].to_dicts()


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (
            "MAIN.uptime  900   1.00 Child process uptime\nVBE.boot.web9.fail  7  0.01 Connections failed\n",
            [("MAIN", "uptime", 900.0), ("VBE.boot.web9", "fail", 7.0)],
        ),
        ("client_conn  900   0.10 Client connections accepted\n", [(None, "client_conn", 900.0)]),
        (
            "   QUEUE(PAY.IN)    TYPE(QLOCAL)\n   CURDEPTH(9)   MAXDEPTH(90)\n",
            [("PAY.IN", "CURDEPTH", 9.0), ("PAY.IN", "MAXDEPTH", 90.0)],
        ),
        (
            "Workers: 8/8 busy  Queue: 70\n",
            [("Workers", "busy", 8.0), ("Workers", "workers", 8.0), ("Workers", "waiting while all are busy", 70.0)],
        ),
        (
            "Workers: 3 of 8 busy, 7 queued\n",
            [("Workers", "busy", 3.0), ("Workers", "workers", 8.0), ("Workers", "waiting", 7.0)],
        ),
        (
            '{\n  "readLine" : {\n    "total" : 9,\n    "out" : 2\n  },\n  "other" : 3\n}\n',
            [("readLine", "total", 9.0), ("readLine", "out", 2.0), (None, "other", 3.0)],
        ),
    ],
)
def test_values_of_a_status(text: str, made: list[Any]) -> None:
    assert [(r["item"], r["name"], r["value"]) for r in rows(text, "counters")] == made


@pytest.mark.parametrize("line", ["it took 3 of 8 people, 7 queued for tea", "word 12 3.45 more words", "f(a) g(b)"])
def test_other_lines_have_no_such_values(line: str) -> None:
    assert "counters" not in read_bytes(f"{line}\n{line}\n".encode()).tables


def test_a_document_on_one_line_has_a_row_for_each_object_of_its_lists() -> None:
    text = '{"a": {"jobs": [{"id": 1, "state": "ok", "ms": 3}, {"id": 2, "state": "no", "ms": 4}]}}\n'
    assert [r["cells"] for r in rows(text, "rows")] == [["1", "ok", "3"], ["2", "no", "4"]]


def test_a_table_goes_on_with_another_one() -> None:
    first = "Pool    Active  Pending  Done\nReads   9       80       7000\nWrites  0       7        6000\n"
    text = f"{first}Kind                           Dropped\nREAD                           9\nWRITE                          4\n"
    made = [(r["heading"][0], r["cells"]) for r in rows(text, "rows")]
    assert made == [
        ("Pool", ["Reads", "9", "80", "7000"]),
        ("Pool", ["Writes", "0", "7", "6000"]),
        ("Kind", ["READ", "9"]),
        ("Kind", ["WRITE", "4"]),
    ]


def test_one_row_below_many_small_words_is_a_table() -> None:
    text = "epoch cluster status node_total data shards pri relo init\n1900000000 shop9 green 6 5 812 406 0 0\n"
    assert [r["heading"][:3] for r in rows(text, "rows")] == [["epoch", "cluster", "status"]]


def test_lines_of_json_are_no_table() -> None:
    text = '{\n  "cluster" : "shop9",\n  "waiting" : 700,\n  "nodes" : 3,\n  "share" : 80.9\n}\n'
    assert "rows" not in read_bytes(text.encode()).tables
    assert {(r["name"], r["value"]) for r in rows(text, "counters")} >= {("waiting", 700.0), ("nodes", 3.0)}


def test_an_alarm_of_a_node() -> None:
    made = rows("Alarms\n\nMemory alarm on node mq@shop9\n", "counters")
    assert [(r["item"], r["name"], r["value"]) for r in made] == [("mq@shop9", "memory alarm", 1.0)]


def test_an_indent_changes_nothing() -> None:
    lines = ("MAIN.uptime  900   1.00 Child process uptime", 'pool_active{pool="a"} 9')
    for line in lines:
        cells = [
            [(r["item"], r["name"], r["value"]) for r in rows(f"{blanks}{line}\n", "counters")]
            for blanks in ("", "    ")
        ]
        assert cells[0] == cells[1]
