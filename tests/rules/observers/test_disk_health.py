"""Attributes of SMART: unreadable sectors lead, counts of a whole life follow, scores compare with nothing."""

from __future__ import annotations

from rules.case.case import Case
from rules.observers import listed_values
from rules.observers.disk_health import observe
from rules.observers.observer import Sighting
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

HEAD = "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n"


def smart(*rows: tuple[int, str, int, int, str, str], above: str = "") -> dict[str, list[dict[str, object]]]:
    lines = "".join(
        f"{n:>3} {name:<23} 0x0033   {value:03}   {value:03}   {least:03}    Pre-fail  Always       {when:<11} {raw}\n"
        for n, name, value, least, when, raw in rows
    )
    return {k: v.to_dicts() for k, v in read_bytes((above + HEAD + lines).encode()).tables.items()}


def seen(*rows: tuple[int, str, int, int, str, str]) -> list[Sighting]:
    return list(observe(Case.of_tables({"rows": smart(*rows)["rows"]})))


def test_sectors_that_cannot_be_read_come_first() -> None:
    made = seen(
        (1, "Raw_Read_Error_Rate", 118, 6, "-", "176543210"),
        (5, "Reallocated_Sector_Ct", 100, 10, "-", "1"),
        (197, "Current_Pending_Sector", 100, 0, "-", "16"),
        (199, "UDMA_CRC_Error_Count", 200, 0, "-", "0"),
    )
    assert [s.headline for s in made] == [
        "16 sectors could not be read and wait to be replaced (Current_Pending_Sector)",
        "1 sector was replaced since the disk is new (Reallocated_Sector_Ct)",
    ]
    assert [recognise(**s.seen[0])[0].mechanism for s in made] == ["disk-error", None]
    assert [c.line_from for c in made[0].lines] == [4]


def test_an_attribute_at_its_threshold() -> None:
    made = seen((5, "Reallocated_Sector_Ct", 4, 10, "FAILING_NOW", "2000"), (9, "Power_On_Hours", 1, 0, "-", "99999"))
    assert made[0].headline == "Reallocated_Sector_Ct stands at 004, its threshold is 010: failing now"
    (past,) = seen((190, "Airflow_Temperature_Cel", 60, 65, "In_the_past", "40"), (9, "Power_On_Hours", 1, 0, "-", "9"))
    assert (past.headline, past.seen) == (
        "Airflow_Temperature_Cel stands at 060, its threshold is 065: it failed in the past",
        (),
    )


def test_a_healthy_disk_is_normal_and_scores_are_not_compared() -> None:
    rows = (
        (1, "Raw_Read_Error_Rate", 100, 0, "-", "0"),
        (5, "Reallocated_Sector_Ct", 100, 10, "-", "0"),
        (9, "Power_On_Hours", 99, 0, "-", "41234"),
        (12, "Power_Cycle_Count", 100, 0, "-", "12"),
        (197, "Current_Pending_Sector", 100, 0, "-", "0"),
    )
    (made,) = seen(*rows)
    assert made.normal
    assert made.headline == "the disk counts none of Reallocated_Sector_Ct, Current_Pending_Sector"
    assert list(listed_values.observe(Case.of_tables({"rows": smart(*rows)["rows"]}))) == []


def test_the_verdict_of_the_disk_is_a_complaint_and_a_passed_one_is_none() -> None:
    row = (5, "Reallocated_Sector_Ct", 100, 10, "-", "0")
    bad = smart(row, row, above="SMART overall-health self-assessment test result: FAILED!\n")
    assert [r["text"] for r in bad["logs"]] == ["SMART overall-health self-assessment test result: FAILED!"]
    assert recognise(log=str(bad["logs"][0]["text"]))[0].mechanism == "disk-error"
    good = smart(row, row, above="SMART overall-health self-assessment test result: PASSED\n")
    assert "logs" not in good


LOG = """critical_warning                        : {warning}
temperature                             : 41 C
available_spare                         : {spare}%
available_spare_threshold               : 10%
percentage_used                         : {used}%
unsafe_shutdowns                        : 77
media_errors                            : {errors}
num_err_log_entries                     : 900
Warning Temperature Time                : {hot}
"""


def of_nvme(warning: str = "0", spare: int = 100, used: int = 3, errors: int = 0, hot: int = 0) -> list[Sighting]:
    text = LOG.format(warning=warning, spare=spare, used=used, errors=errors, hot=hot)
    tables = {k: v.to_dicts() for k, v in read_bytes(text.encode()).tables.items()}
    return list(observe(Case.of_tables({k: tables[k] for k in ("counters", "params") if k in tables}).with_text()))


def test_a_health_log_of_nvme() -> None:
    made = of_nvme(warning="0x1", spare=4, used=131, errors=6, hot=900)
    assert [s.headline for s in made] == [
        "the disk sets a critical warning (0x1)",
        "the disk counts 6 errors of its medium since it is new",
        "the disk has used 131 % of the life that its maker expects",
        "the disk was too hot for 900 minutes since it is new",
        "the disk has 4 % of its spare blocks left, its threshold is 10 %",
    ]
    assert recognise(**made[0].seen[0])[0].mechanism == "disk-error"


def test_a_healthy_disk_of_nvme_counts_only_shutdowns_and_entries() -> None:
    assert of_nvme() == []
