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
