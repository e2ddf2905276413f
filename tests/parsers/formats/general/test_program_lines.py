"""Lines without a stamp of run-times, stamps of their loggers, and events of Windows as records."""

from __future__ import annotations

from typing import Any

import pytest

from parsers.formats.general.text.program_lines import severity_of_program
from tests.parsers.formats.evidence import read_bytes


def logs(text: str) -> list[dict[str, Any]]:
    reading = read_bytes(text.encode())
    assert reading.account.account.lines == reading.account.lines
    return reading.tables["logs"].to_dicts() if "logs" in reading.tables else []


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("java.lang.IllegalStateException: closed", "error"),
        ("Caused by: java.net.SocketTimeoutException: Read timed out", "error"),
        ('Exception in thread "main" java.lang.OutOfMemoryError: Java heap space', "error"),
        ("System.TimeoutException: The operation has timed out.", "error"),
        ("requests.exceptions.ReadTimeout: no answer in 7 s", "error"),
        ("ActiveRecord::ConnectionTimeoutError (could not obtain a connection)", "error"),
        ("panic: runtime error: index out of range [4]", "fatal"),
        ("thread 'main' panicked at src/main.rs:4:5:", "fatal"),
        ("FATAL ERROR: Reached heap limit Allocation failed", "fatal"),
        ("#  SIGSEGV (0xb) at pc=0x00007f00, pid=17, tid=18", "fatal"),
        ("==17==ERROR: AddressSanitizer: heap-use-after-free", "fatal"),
        ("make[2]: *** [Makefile:7: a.o] Error 1", "error"),
        ("npm ERR! code ETIMEDOUT", "error"),
        ("Timeout (0:01:00)!", "error"),
        ("[gc,heap ] GC(7) Eden regions: 4->0(5)", "info"),
        ("Error", None),
        ("Exception", None),
        ("the error was fatal for them", None),
        ("retries 3 timeouts 0", None),
        ("# a comment about an Error", None),
    ],
)
def test_what_a_program_says_without_a_stamp(line: str, severity: str | None):
    assert severity_of_program(line) == severity


def test_an_exception_and_its_frames_are_one_complaint():
    made = logs("java.lang.IllegalStateException: closed\n\tat a.b.C.d(C.java:7)\n\tat a.b.C.e(C.java:9)\n")
    assert [(r["line_no"], r["severity"], r["text"]) for r in made] == [
        (1, "error", "java.lang.IllegalStateException: closed")
    ]


def test_an_exception_below_a_line_of_a_log_is_a_line_too():
    made = logs(
        "02-Jan-2024 03:04:05.250 SEVERE [exec-1] a.B.c failed\n\tjava.io.IOException: gone\n\t\tat a.B.c(B.java:7)\n"
    )
    assert [(r["line_no"], r["severity"]) for r in made] == [(1, "SEVERE"), (2, "error")]


@pytest.mark.parametrize(
    "line",
    [
        "02-Jan-2024 03:04:05.000 INFO [main] a.B.c up",
        "[02-Jan-2024 03:04:05] NOTICE: up",
        "17:M 02 Jan 2024 03:04:05.000 * up",
        "Jan 02, 2024 3:04:05 AM a.B c",
        "1/2/2024 3:04:05 AM up",
        "I, [2024-01-02T03:04:05.000000 #17]  INFO -- : up",
    ],
)
def test_stamps_of_loggers(line: str):
    (one,) = logs(line + "\n")
    assert one["t_local"] == 1704164645.0


def test_an_entry_of_the_console_logger_of_dotnet():
    made = logs("warn: Shop.Basket[7]\n      Late by 3 s.\ninfo: Shop.Basket[8]\n      Done.\n      In all 4 rows.\n")
    assert [(r["line_no"], r["severity"], r["text"]) for r in made] == [
        (2, "WARN", "Late by 3 s."),
        (4, "INFO", "Done."),
    ]


EVENTS = """\
Log Name:      System
Source:        disk
Date:          1/2/2024 3:04:05 AM
Event ID:      7
Task Category: None
Level:         Error
Computer:      HOST1
Description:
The device, \\Device\\Harddisk3\\DR3, has a bad block.

TimeCreated      : 1/2/2024 3:04:07 AM
ProviderName     : Microsoft-Windows-Ntfs
Id               : 98
LevelDisplayName : Information
Message          : Volume D: is healthy.
"""


def test_events_of_windows():
    made = logs(EVENTS)
    assert [(r["line_no"], r["severity"], r["text"], r["t_local"]) for r in made] == [
        (9, "Error", "disk 7: The device, \\Device\\Harddisk3\\DR3, has a bad block.", 1704164645.0),
        (15, "Information", "Microsoft-Windows-Ntfs 98: Volume D: is healthy.", 1704164647.0),
    ]


def test_fields_without_a_message_are_no_event():
    assert logs("Log Name:      System\nSource:        disk\n\n$ dir\n") == []


COUNTERS = r"""Timestamp                 CounterSamples
---------                 --------------
1/2/2024 3:04:05 AM       \\host1\processor(_total)\% processor time :
                          71.5

                          \\host1\memory\available mbytes :
                          2048
"""


def test_counters_of_get_counter():
    made = read_bytes(COUNTERS.encode()).tables["counters"].to_dicts()
    assert [(r["line_no"], r["name"], r["value"], r["t_local"]) for r in made] == [
        (4, r"\\host1\processor(_total)\% processor time", 71.5, 1704164645.0),
        (7, r"\\host1\memory\available mbytes", 2048.0, 1704164645.0),
    ]


DESCRIBED = """\
Name:               node-7
Conditions:
  Type             Status  Reason                       Message
  ----             ------  ------                       -------
  MemoryPressure   False   KubeletHasSufficientMemory   kubelet has sufficient memory available
  DiskPressure     True    KubeletHasDiskPressure       kubelet has disk pressure
  Ready            True    KubeletReady                 kubelet is posting ready status
Events:
  Type     Reason               Age   From     Message
  ----     ------               ----  ----     -------
  Warning  FreeDiskSpaceFailed  7m    kubelet  Failed to garbage collect required amount of images
"""


def test_tables_of_kubectl_describe_begin_below_their_names():
    assert [(r["line_no"], r["severity"], r["text"]) for r in logs(DESCRIBED)] == [
        (6, "Error", "DiskPressure True: KubeletHasDiskPressure: kubelet has disk pressure"),
        (11, "Warning", "FreeDiskSpaceFailed: Failed to garbage collect required amount of images"),
    ]


def test_requests_of_iis_have_their_time_and_outcome():
    text = (
        "#Software: Microsoft Internet Information Services 10.0\n"
        "#Fields: date time cs-method cs-uri-stem sc-status sc-win32-status time-taken\n"
        "2024-01-02 03:04:05 GET /slow 200 0 7250\n2024-01-02 03:04:06 POST /gone 503 64 31\n"
    )
    assert [(r["line_no"], r["op"], r["elapsed_s"], r["ok"]) for r in logs(text)] == [
        (3, "GET /slow", 7.25, True),
        (4, "POST /gone", 0.031, False),
    ]
