"""Test that a listing of AIX with a heading of a dynamic view is not claimed as a listing of Oracle."""

from __future__ import annotations

from tests.parsers.formats.evidence import read_bytes

ERRORS = """# errpt
IDENTIFIER TIMESTAMP  T C RESOURCE_NAME  DESCRIPTION
A1B2C3D4   0105070107 P H hdisk31        DISK OPERATION ERROR
# errpt -a
---------------------------------------------------------------------------
LABEL:          SC_DISK_ERR2
IDENTIFIER:     A1B2C3D4

Date/Time:       Fri Jan  5 07:01:44 CET 2007
Sequence Number: 77
Machine Id:      00C0FFEE4C00
Node Id:         host7
Class:           H
Type:            PERM
Resource Name:   hdisk31
Resource Class:  disk
Resource Type:   scsd

Description
DISK OPERATION ERROR
"""


def test_a_summary_of_errpt_beside_its_details_is_read() -> None:
    assert "logs" in read_bytes(ERRORS.encode()).tables
