"""Test counters of packet queues and the connection table, lvs with empty cells, and lines of ceph and a directory."""

from __future__ import annotations

from typing import Any

from tests.parsers.formats.evidence import read_bytes

TC = """qdisc fq_codel 0: dev eth0 root refcnt 2 limit 10240p flows 1024
 Sent 9000000 bytes 10000 pkt (dropped 300, overlimits 0 requeues 20)
 backlog 12Kb 8p requeues 20
"""


def rows(text: str, table: str) -> list[dict[str, Any]]:
    return read_bytes(text.encode()).tables[table].to_dicts()


def test_a_queue_has_totals_and_a_level() -> None:
    made = rows(TC, "counters")
    assert [(r["grp"], r["item"], r["name"], r["value"], r["mode"]) for r in made] == [
        ("qdisc", "eth0 fq_codel 0:", "packets sent", 10000.0, "total"),
        ("qdisc", "eth0 fq_codel 0:", "dropped", 300.0, "total"),
        ("qdisc", "eth0 fq_codel 0:", "overlimits", 0.0, "total"),
        ("qdisc", "eth0 fq_codel 0:", "requeues", 20.0, "total"),
        ("qdisc backlog", "eth0 fq_codel 0:", "bytes", 12288.0, "level"),
        ("qdisc backlog", "eth0 fq_codel 0:", "packets", 8.0, "level"),
    ]


def test_the_table_of_connections_by_processor() -> None:
    made = rows(
        "".join(f"cpu={n}   \tfound=1 invalid=2 insert=0 insert_failed={n} drop=0 early_drop=0\n" for n in (0, 7)),
        "counters",
    )
    assert {(r["grp"], r["item"]) for r in made} == {("conntrack", "CPU0"), ("conntrack", "CPU7")}
    assert [r["value"] for r in made if r["name"] == "insert_failed"] == [0.0, 7.0]
    assert {r["mode"] for r in made} == {"total"}


def test_cells_of_lvs_stand_under_their_heading() -> None:
    text = (
        "  LV     VG   Attr       LSize  Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert\n"
        "  root   main -wi-ao---- 20.00g                                                    \n"
        "  pool0  main twi-aotz-- 90.00g             99.20  1.10                            \n"
    )
    made = rows(text, "rows")
    named = dict(zip(made[1]["heading"], made[1]["cells"], strict=True))
    assert (named["LV"], named["Data%"], named["Meta%"], named["Pool"]) == ("pool0", "99.20", "1.10", "")


def test_a_health_line_of_ceph_is_a_complaint() -> None:
    text = "  cluster:\n    health: HEALTH_WARN\n            3 slow ops, oldest one blocked for 90 sec, osd.2 has slow ops\n"
    assert [r["text"] for r in rows(text, "logs")] == ["3 slow ops, oldest one blocked for 90 sec, osd.2 has slow ops"]
