"""Test secrets planted into the free text of every kind that has some: shown nowhere, and nothing else changes."""

from __future__ import annotations

import json

import polars as pl
import pytest

from parsers.errors import ParserError
from parsers.lines import LineReader
from parsers.reading import read
from parsers.text.source import Hints
from rules.engine.read import ReadOnly
from rules.model import CaseSpec
from tests.parsers.formats.evidence import all_tables

SECRETS = {
    "password": "S3cretPw9x",
    "connect string": "t1gerPw77",
    "token": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "card": "4111111111111111",
    "argument": "Geheim4711",
    "spaced": "W 1 n t e r 2 0 2 1",
    "cookie": "JSESSIONID=0A1B2C3D4E",
    "bearer": "abcDEF123456x7",
}

PLANTED = {
    "truss": (
        '22626/1:\t 8.6926\texecve("/usr/bin/mysql", 0x0040, 0x0050)  argc = 3\n'
        '22626/1:\t 8.6930\t  argv: mysql -u app -p{password} shop\n'
        '22626/1:\t 8.7001\twrite(3, " p a s s w o r d = {spaced}", 40)\t= 40\n'
        '22626/1:\t 8.7101\tread(3, " t o k e n = {spaced}", 46)\t= 46\n'
        '22626/1:\t 8.7201\topen("/tmp/x", O_RDONLY)\t= 3\n'
    ),
    "strace": (
        '22626 10:00:01.000001 execve("/usr/bin/mysql", ["mysql", "-u", "app", "-p{password}"], 0x7ffd /* 9 vars */) = 0 <0.000311>\n'
        '22626 10:00:01.100001 write(3, "scott/{connect string}@//db1:1521/Q", 31) = 31 <0.000031>\n'
        '22626 10:00:01.200001 write(3, "Authorization: Bearer {bearer}", 36) = 36 <0.000031>\n'
        '22626 10:00:01.300001 write(3, "{card}", 16) = 16 <0.000031>\n'
        '22626 10:00:01.400001 close(3) = 0 <0.000011>\n'
    ),
    "ps": (
        "     UID   PID  PPID   C    STIME TTY         TIME CMD\n"
        "  oracle  1201     1   0   Oct 12 ?           0:01 sqlplus -s system/{connect string}@QPROD @r.sql\n"
        "  oracle  1202     1   0   Oct 12 ?           0:01 mysql -u app -p{password} shop\n"
        "  oracle  1203     1   0   Oct 12 ?           0:01 /opt/agent --token {token}\n"
    ),
    "alert_log": (
        "Tue Dec 02 11:00:01 2013\n"
        "Starting ORACLE instance (normal)\n"
        "Tue Dec 02 11:00:02 2013\n"
        "ALTER USER app IDENTIFIED BY {password}\n"
        "ORA-01017: invalid username/password; logon denied scott/{connect string}@Q\n"
        "Tue Dec 02 11:00:03 2013\n"
        "Thread 1 opened at log sequence 4\n"
    ),
    "syslog": (
        "Dec  2 11:00:01 db1 app[1234]: login with password={password} failed\n"
        "Dec  2 11:00:02 db1 app[1234]: request Cookie: {cookie}\n"
        "Dec  2 11:00:03 db1 app[1234]: https://svc:{connect string}@repo.example.org/x\n"
        "Dec  2 11:00:04 db1 app[1234]: done\n"
    ),
    "json_lines": (
        '{{"ts": "2013-12-02T11:00:01Z", "ms": 12, "msg": "password={password}"}}\n'
        '{{"ts": "2013-12-02T11:00:02Z", "ms": 13, "msg": "token {token}"}}\n'
        '{{"ts": "2013-12-02T11:00:03Z", "ms": 14, "msg": "paid with \\"{card}\\""}}\n'
    ),
    "fdmap": (
        "1201:\tmysql -u app -p{password} shop\n"
        "  Current rlimit: 256 file descriptors\n"
        "   0: S_IFCHR mode:0666 dev:102,0 ino:1234 uid:0 gid:3 rdev:13,2\n"
        "      O_RDWR\n"
        "1203:\t/opt/agent --token {token}\n"
        "   0: S_IFCHR mode:0666 dev:102,0 ino:1234 uid:0 gid:3 rdev:13,2\n"
        "      O_RDWR\n"
    ),
    "pmap": (
        "1201:   sqlplus -s system/{connect string}@QPROD\n"
        "0000000000400000      72K r-x--  /usr/bin/sqlplus\n"
        "0000000000611000       8K rw---  /usr/bin/sqlplus\n"
        " total              80K\n"
    ),
    "sqlnet": (
        "(1) [01-DEC-2013 11:00:01:100] nscon: entry\n"
        "(1) [01-DEC-2013 11:00:01:101] nlpcaini: env[0] = DB_PASSWORD={password}\n"
        "(1) [01-DEC-2013 11:00:01:102] nsopen: opening transport scott/{connect string}@db1\n"
        "(1) [01-DEC-2013 11:00:01:103] nscon: exit (0)\n"
    ),
}  # fmt: skip


def texts(kind: str) -> tuple[bytes, bytes]:
    """Return a text with its secrets, and one with harmless letters of the same lengths at the same places."""
    harmless = {name: "".join(" " if c == " " else "/" for c in secret) for name, secret in SECRETS.items()}
    return PLANTED[kind].format(**SECRETS).encode(), PLANTED[kind].format(**harmless).encode()


@pytest.mark.parametrize("kind", sorted(PLANTED))
def test_no_planted_secret_is_shown_anywhere(kind, tmp_path):
    path, out = tmp_path / "original", tmp_path / "reading"
    path.write_bytes(texts(kind)[0])
    account = read(path, Hints(kind=kind), out)
    planted = [secret for name, secret in SECRETS.items() if f"{{{name}}}" in PLANTED[kind]]
    assert planted
    planted += [secret[::2] for secret in planted if " " in secret]  # as tables hold a buffer
    tables = all_tables(out)
    shown = {
        "tables": json.dumps({name: rows.to_dicts() for name, rows in tables.items()}, default=str),
        "account": json.dumps(account.as_json(), default=str),
        "manifest": (out / "manifest.json").read_text(encoding="utf-8"),
        "lines": "\n".join(line.text for line in LineReader(path, out).lines(1, 99)),
        "sql": _by_sql(path, out, tables, account.sha256),
    }
    for place, text in shown.items():
        for secret in planted:
            assert secret not in text, f"{secret!r} is shown in {place}"
    assert "*" in shown["lines"]
    assert [len(line.text) for line in LineReader(path, out).lines(1, 99)] == [
        len(line) for line in texts(kind)[0].decode().splitlines()
    ]


def _by_sql(path, out, tables, sha256):
    """Return all texts in the tables."""
    artifact = {"id": 1, "file": "a.txt", "sha256": sha256, "original": str(path), "reading": str(out), "parts": []}
    spec = CaseSpec.from_json({"schema": 1, "title": None, "artifacts": [artifact]})
    names = [name for name in tables if name != "artifacts"]
    with ReadOnly(spec, names) as sql:
        return str([sql.query(f'select * from "{name}"') for name in names])


@pytest.mark.parametrize("kind", sorted(PLANTED))
def test_a_mask_changes_no_line_number_and_no_other_column(kind, tmp_path):
    """Compare with a text that has harmless words at the same places: only the texts themselves may differ."""
    readings = []
    for number, content in enumerate(texts(kind)):
        path, out = tmp_path / f"{number}", tmp_path / f"r{number}"
        path.write_bytes(content)
        try:
            account = read(path, Hints(kind=kind), out)
        except ParserError as error:
            pytest.fail(f"{kind}: {error}")
        readings.append((account, all_tables(out)))
    (one, masked), (other, plain) = readings
    assert one.account == other.account
    assert masked.keys() == plain.keys()
    for name, rows in masked.items():
        textual = [c for c, t in rows.schema.items() if t in (pl.String, pl.List(pl.String))]
        assert rows.drop(textual).equals(plain[name].drop(textual)), name
        for column in textual:
            if rows.schema[column] == pl.String:
                assert rows[column].str.len_chars().equals(plain[name][column].str.len_chars()), (name, column)
