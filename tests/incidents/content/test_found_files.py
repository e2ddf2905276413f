"""Findings and observations as files for other tools."""

from __future__ import annotations

import csv
import io
import json

from incidents.content import found_files
from tests.incidents.pages import reports

OBSERVED = {
    "rank": 1,
    "observer": "long-waits",
    "kind": "wait",
    "headline": "48 look-ups wait 5.005 s each",
    "means": "waits for a name server",
    "subject": "10.20.0.53:53",
    "host": "app-02",
    "quantity": {"name": "duration_s", "value": 5.005, "unit": "s"},
    "against": {"what": "the other look-ups", "value": 0.002, "unit": "s"},
    "seconds": 240.2,
    "normal": False,
    "idle": False,
    "layer": "name_service",
    "key": "a1b2c3d4e5f60718",
    "citations": [{"artifact": 2, "file": "a b.txt", "line_from": 4, "line_to": 9, "role": "wait", "text": "poll(5)"}],
}


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_findings_as_csv_hold_what_the_report_says_with_their_lines():
    report = reports.report()
    rows = rows_of(found_files.findings_csv(report))
    assert [row["key"] for row in rows] == [finding["key"] for finding in report["findings"]]
    first, told = rows[0], report["findings"][0]
    assert (first["rule"], first["headline"], float(first["magnitude"])) == (
        told["rule"],
        told["headline"],
        told["magnitude"],
    )
    cited = told["citations"][0]
    assert first["cited"].startswith(f"{cited['file']}:{cited['line_from']}-{cited['line_to']}")


def test_no_cell_is_a_formula_or_hides_a_character():
    finding = reports.report()["findings"][0] | {"subject": "=cmd|'/c calc'!A1", "headline": "a\u202eb", "decibans": -7}
    row = rows_of(found_files.findings_csv({"findings": [finding]}))[0]
    assert row["subject"].startswith("'=")
    assert "\u202e" not in row["headline"]
    assert row["decibans"] == "-7"


def test_observations_as_csv():
    row = rows_of(found_files.observations_csv({"observations": [OBSERVED]}))[0]
    assert (row["value"], row["unit"], row["against"], row["against_value"]) == (
        "5.005",
        "s",
        "the other look-ups",
        "0.002",
    )
    assert (row["idle"], row["mechanism"], row["cited"]) == ("no", "", "a b.txt:4-9")


def test_a_report_without_anything_gives_heads_alone():
    assert rows_of(found_files.findings_csv({})) == []
    assert found_files.observations_csv({}).startswith("key,rank,observer,")
    assert found_files.sarif({}, "Slow", "https://x.example.com/", "1.0.1")["runs"][0]["results"] == []


def test_sarif_says_every_finding_at_its_lines():
    report = reports.report() | {"observations": [OBSERVED]}
    log = found_files.sarif(report, "Logins take 3.9 s", "https://exhibit.example.com/rooms/x/", "1.0.3")
    assert json.loads(json.dumps(log)) == log
    run = log["runs"][0]
    assert len(run["results"]) == len(report["findings"]) + 1
    for result, told in zip(run["results"], [*report["findings"], OBSERVED], strict=True):
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["partialFingerprints"] == {"exhibitKey/v1": told["key"]}
        assert len(result["locations"]) == len(told["citations"])
        for location, cited in zip(result["locations"], told["citations"], strict=True):
            place = location["physicalLocation"]
            assert place["region"]["startLine"] == cited["line_from"]
            assert (
                run["artifacts"][place["artifactLocation"]["index"]]["location"]["uri"]
                == place["artifactLocation"]["uri"]
            )
        # The standard: only what fails has a level.
        assert (result["kind"] == "fail") == (result["level"] != "none")
    clearing = next(told["key"] for told in report["findings"] if told["kind"] == "clear")
    passed = [r for r in run["results"] if r["partialFingerprints"]["exhibitKey/v1"] == clearing]
    assert [r["kind"] for r in passed] == ["pass"]
    assert run["results"][-1]["kind"] == "informational"
    assert run["results"][-1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b.txt"
