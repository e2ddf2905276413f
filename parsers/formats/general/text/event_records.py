r"""Read Windows events printed as records of several lines: text copied from the Event Viewer, `wevtutil qe /f:text`,
`Get-WinEvent | Format-List`.

The Event Viewer names the fields in the language of the system; besides English, the names in German, French, Spanish,
Portuguese, Italian, Dutch, Polish, Russian, Japanese and Chinese are known. In Windows 2003 and before, a record begins
with the event type, and its time stands on the line below its date.

A record begins with its log or its time and ends with its message, which may stand on the next line:

    Log Name:      System
    Source:        disk
    Event ID:      7
    Level:         Error
    Description:
    The device, \\Device\\Harddisk3\\DR3, has a bad block.
"""

from __future__ import annotations

import re
from typing import Any

from parsers.formats.general.text.single_lines import LONGEST, Stamp, stamp_of

MOST_LINES = 40
"""Maximum number of lines of a record in front of its message."""

_OPENS = re.compile(
    r"[ \t]*(?:(?:Log Name|Protokollname|Nom du journal|Nombre de registro|Nome do Log|Nome registro|Logboeknaam|Nazwa dziennika"
    r"|Имя журнала|ログの名前|日志名称)[ \t]*[:：][ \t]*\S.*|TimeCreated[ \t]*:[ \t]*[0-9].*|(?:Index|EventID)[ \t]*:[ \t]*[0-9]{1,12}[ \t]*"
    r"|Event Type:[ \t]*(?:Error|Warning|Information|Success Audit|Failure Audit)[ \t]*)"
)
_FIELD = re.compile(r"[ \t]*(?P<name>[^\W\d_][^:：\t]{0,39}?)[ \t]*[:：][ \t]*(?P<value>.*)")
_ROLES = {
    "Log Name": "log",
    "LogName": "log",
    "Source": "source",
    "Event Source": "source",
    "ProviderName": "source",
    "Provider Name": "source",
    "Event ID": "id",
    "EventID": "id",
    "Id": "id",
    "Level": "severity",
    "LevelDisplayName": "severity",
    "EntryType": "severity",
    "Event Type": "severity",
    "Date": "at",
    "Time": "time",
    "TimeCreated": "at",
    "TimeGenerated": "at",
    "Description": "text",
    "Message": "text",
}
"""Field name -> meaning of the field."""
_TRANSLATED = {
    "source": "Quelle Origen Origem Fonte Origine Bron Źródło Источник ソース 来源",
    "id": "Ereignis-ID|ID de l'événement|ID de l’événement|Id. del evento|Identificação do Evento|ID evento|Gebeurtenis-ID"
    "|Identyfikator zdarzenia|Код события|イベント ID|事件 ID",
    "severity": "Ebene Stufe Niveau Nivel Nível Livello Poziom Уровень レベル 级别",
    "at": "Datum Fecha Data Дата 日付 日期",
    "text": "Beschreibung Descripción Descrição Descrizione Beschrijving Opis Описание 説明 描述",
}
_ROLES.update(
    {name: role for role, names in _TRANSLATED.items() for name in names.split("|" if "|" in names else None)}
)
SEVERITIES = {
    name: english
    for english, names in (
        ("Critical", "Kritisch Critique Crítico Critico 重大 Критический 严重"),
        ("Error", "Fehler Erreur Erro Errore Fout Błąd Ошибка エラー 错误"),
        ("Warning", "Warnung Avertissement Advertencia Aviso Avviso Waarschuwing Ostrzeżenie Предупреждение 警告"),
        ("Information", "Informationen Información Informações Informazioni Informatie Informacje Сведения 情報 信息"),
    )
    for name in names.split()
}
"""Severity in another language of the Event Viewer -> the English one."""

Record = dict[str, Any]
"""An open record: number of its first line and of the line of its message, and the values of its fields. JSON-able."""


def opens(line: str) -> bool:
    """Return whether a record may begin with a line.

    >>> opens("Log Name:      System"), opens("Log Name"), opens("  TimeCreated      : 1/2/2024 3:04:05 PM")
    (True, False, True)
    """
    return len(line) <= LONGEST and _OPENS.fullmatch(line) is not None


def open_at(no: int) -> Record:
    """Return an empty record that begins at line `no`."""
    return {"line_no": no, "line_end": no}


def goes_on(record: Record, line: str, no: int) -> bool:
    """Add a line to an open record; return False if the line does not belong to it.

    >>> record = open_at(1)
    >>> [goes_on(record, line, n) for n, line in enumerate(("Source:  disk", "Event ID: 7", "Description:", "Bad block.", "$ dir"), 1)]
    [True, True, True, True, False]
    >>> row_of(record)["text"]
    'disk 7: Bad block.'
    >>> old = open_at(1)
    >>> lines = ("Event Type: Error", "Event Source: Oven", "Event Category: None", "Event ID: 9", "Description:", "It is cold.")
    >>> [goes_on(old, line, n) for n, line in enumerate(lines, 1)] and row_of(old)
    {'severity': 'Error', 'text': 'Oven 9: It is cold.'}
    """
    if record.get("text"):
        return False
    record["line_end"] = no
    if "text" in record:
        record["text"] = line.strip()
        return bool(record["text"])
    found = _FIELD.fullmatch(line) if len(line) <= LONGEST * 5 else None
    if found is None or no - record["line_no"] > MOST_LINES:
        return False
    role = _ROLES.get(found["name"])
    if role is not None and role not in record:
        record[role] = found["value"].strip()
    return True


def stamp(record: Record) -> Stamp | None:
    """Return the time of an event; until Windows 2003 it stands on a line below the date.

    >>> stamp({"at": "3/11/2009", "time": "9:05:11 AM"}) == stamp({"at": "3/11/2009 9:05:11 AM"})
    True
    """
    return stamp_of(f"{record.get('at', '')} {record.get('time', '')}".rstrip())


def row_of(record: Record) -> dict[str, Any] | None:
    """Return severity and text of an event for a row of `logs`; None for a record without a message or source."""
    source = record.get("source") or record.get("log")
    if not record.get("text") or not source:
        return None
    name = f"{source} {record['id']}" if record.get("id") else source
    severity = record.get("severity")
    return {"severity": SEVERITIES.get(severity, severity) if severity else None, "text": f"{name}: {record['text']}"}
