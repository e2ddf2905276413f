"""Events of Windows as the Event Viewer copies them, in the language of the system."""

from __future__ import annotations

import pytest

from parsers.formats.general.text.event_records import SEVERITIES
from rules.signatures.signatures import recognise
from tests.parsers.formats.evidence import read_bytes

RECORDS = (
    (
        "Protokollname: System\nQuelle:        stornvme\nDatum:         03.02.2021 07:08:09\nEreignis-ID:   129\n"
        "Aufgabenkategorie:Keine\nEbene:         Warnung\nSchlüsselwörter:Klassisch\nBenutzer:      Nicht zutreffend\n"
        'Computer:      PC7\nBeschreibung:\nEin Zurücksetzen auf Gerät "\\Device\\RaidPort2" wurde ausgegeben.\n',
        "stornvme 129: Ein Zurücksetzen",
    ),
    (
        "ログの名前:         System\nソース:           storahci\n日付:            2021/02/03 7:08:09\nイベント ID:       129\n"
        "レベル:           警告\n説明:\nデバイス \\Device\\RaidPort2 にリセットが発行されました。\n",
        "storahci 129: デバイス",
    ),
    (
        "Nom du journal :System\nSource :       iaStorA\nDate :         03/02/2021 07:08:09\nID de l’événement :129\nNiveau :       Avertissement\n"
        "Description :\nUne réinitialisation sur le périphérique \\Device\\RaidPort2 a été émise.\n",
        "iaStorA 129: Une",
    ),
)


@pytest.mark.parametrize(("text", "begins"), RECORDS)
def test_an_event_of_another_language_is_one_line_of_a_log(text: str, begins: str) -> None:
    (row,) = read_bytes(text.encode()).tables["logs"].to_dicts()
    assert row["text"].startswith(begins)
    assert row["severity"] == "Warning"
    assert recognise(log=row["text"])[0].mechanism == "disk-error"


def test_each_severity_has_one_meaning() -> None:
    assert set(SEVERITIES.values()) == {"Critical", "Error", "Warning", "Information"}


def test_a_row_of_the_event_viewer_is_a_line_of_a_log() -> None:
    """Saved as CSV, copied with tabs or pasted as a table, in any order of day and month."""
    rows = (
        'Error,8/9/2031 07:00:01,stor9,7,None,"The device, \\Device\\X, did not answer."',
        "Warning\t8/9/2031 7:00:01 AM\tstor9\t9\t(2)\tIt was retried.",
        "| is no row\nCritical | 8.9.2031 07:00 | Example-Kernel-Power | 41 | (63) | It stopped.",
    )
    logs = read_bytes("\n".join(rows).encode()).table("logs")
    assert logs["code"].to_list() == ["7", "9", "41"]
    assert logs["program"].to_list() == ["stor9", "stor9", "Example-Kernel-Power"]
    assert logs["text"].to_list()[0] == "The device, \\Device\\X, did not answer."


def test_an_event_without_its_source_is_named_by_its_log() -> None:
    text = "Log Name: Acme-Shelves-Operational\nEvent ID: 9\nMessage: A transfer of shelf 7 took 48077 milliseconds to complete.\n"
    (row,) = read_bytes(text.encode()).tables["logs"].to_dicts()
    assert row["text"].startswith("Acme-Shelves-Operational 9: A transfer of shelf 7")
