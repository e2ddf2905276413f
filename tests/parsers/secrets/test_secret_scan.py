"""Test that planted secrets are found wherever they stand, and that words that only look like them stay."""

from __future__ import annotations

import json
import time
from pathlib import Path
from unittest.mock import Mock

import polars as pl
import pytest

from parsers.lines import LineReader
from parsers.reading import read
from parsers.secrets import scan as secret_scan
from parsers.secrets import words as secret_words
from parsers.secrets.masks import Masks
from parsers.secrets.scan import Scanner, spans
from parsers.secrets.views import ESCAPED_WORDS
from parsers.text.source import Hints, Limits
from tests.parsers.formats.evidence import all_tables

CORPUS = Path(__file__).parents[2] / "corpus"

PLANTED = [
    ("DB_PASSWORD=hunter22 ./start", "hunter22"),
    ('{"user": "scott", "password": "t1ger!!"}', "t1ger!!"),
    ("jdbc.url=jdbc:oracle:thin:scott/t1ger9@//db1:1521/QPROD", "t1ger9"),
    ("$ sqlplus system/m4nager@QPROD @report.sql", "m4nager"),
    ("SQL> conn scott/t1ger9", "t1ger9"),
    ("sqlplus -s 'system/m4nager as sysdba'", "m4nager"),
    ("CREATE USER app IDENTIFIED BY s3same;", "s3same"),
    ("alter user app identified by values 'S:8F1A2B3C4D5E6F'", "S:8F1A2B3C4D5E6F"),
    ("https://svc:Sup3rG3heim@repo.example.org/x", "Sup3rG3heim"),
    ("Authorization: Bearer abcDEF123456._-x", "abcDEF123456._-x"),
    ("> Authorization: Basic c2NvdHQ6dGlnZXI=", "c2NvdHQ6dGlnZXI="),
    ("Cookie: JSESSIONID=0A1B2C3D4E; path=/", "JSESSIONID=0A1B2C3D4E; path=/"),
    ("Set-Cookie: sid=e83ba1; HttpOnly", "sid=e83ba1; HttpOnly"),
    ("X-Api-Key: 9f8e7d6c5b4a", "9f8e7d6c5b4a"),
    ("export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("token is ghp_0123456789abcdefghijABCDEFGHIJ012345 ok", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
    ("sess eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abcDEF-123 end", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9"),
    ("xoxb-123456789012-abcdefGHIJ12", "xoxb-123456789012-abcdefGHIJ12"),
    ("mysql -h db -u app -pS3cr3t shop", "S3cr3t"),
    ('[pid 7] execve("/usr/bin/mysql", ["mysql", "--password=Geheim77"], 0x7ff) = 0', "Geheim77"),
    ("sshpass -p W1nter ssh host", "W1nter"),
    ("curl -s -u admin:Pa55w0rt https://h/", "Pa55w0rt"),
    ("ldapsearch -x -D cn=admin -w Bind3r -b dc=x", "Bind3r"),
    ("ORACLE PASSWORD FOR SYS, SYSTEM AND PDBADMIN: Oracle123", "Oracle123"),
    ("app:kUyeAQ5sNk3Tc:11245:0:99999:7:::", "kUyeAQ5sNk3Tc"),
    ("root:9xH0bVJ6mA2L.,M.8Z:0:3::/:/sbin/sh", "9xH0bVJ6mA2L."),
    ('read(4, "root:9xH0bVJ6mA2Lc:0:1:Super-User:/:/sbin/sh", 8192) = 44', "9xH0bVJ6mA2Lc"),
    ('write(4, " p a s s w o r d = t i g e r 7 ", 30)\t= 30', "t i g e r 7"),
    ("paid with 4111 1111 1111 1111 on 3/4", "4111 1111 1111 1111"),
    ('write(9, "5500005555555559", 16) = 16', "5500005555555559"),
    ("From: Jane Q. Doe <jane.doe@example.org>", "Jane Q. Doe"),
    ("mail me at jane.doe@example.org please", "jane.doe"),
    ("spring.datasource.password: Fr0st", "Fr0st"),
    ("wallet passphrase = Al1Baba", "Al1Baba"),
    ('execve("/usr/bin/mysql", ["mysql", "-u", "app", "-pS3cretPw9"], 0x7ff /* 9 vars */) = 0', "S3cretPw9"),
    ('execve("/usr/bin/mysql", ["mysql", "--password", "Geheim78"], 0x7ff /* 9 vars */) = 0', "Geheim78"),
    ('execve("/usr/bin/sshpass", ["sshpass", "-p", "W1nter22", "ssh", "h"], 0x7ff) = 0', "W1nter22"),
    ('execve("/usr/bin/ldapsearch", ["ldapsearch", "-x", "-w", "Bind3r9"], 0x7ff) = 0', "Bind3r9"),
    ('execve("/usr/bin/curl", ["curl", "-u", "admin:Pa55w0rt9"], 0x7ff) = 0', "Pa55w0rt9"),
    ('execve("/u01/bin/sqlplus", ["sqlplus", "-s", "scott/t1ger99@Q"], 0x7ff) = 0', "t1ger99"),
    ('write(4, " s c o t t / t 1 g e r 8 @ d b 1", 32)\t= 32', "t 1 g e r 8"),
    ('write(4, " t o k e n = W 1 n t e r 7 ;", 24)\t= 24', "W 1 n t e r 7"),
    ('write(4, " C o o k i e :   s i d = e 8 3 b a 1", 36)\t= 36', "s i d = e 8 3 b a 1"),
    ('write(4, " 4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", 32)\t= 32', "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"),
    ('write(4, " j a n e . d o e @ e x a m p l e . o r g", 40)\t= 40', "j a n e . d o e"),
]

INNOCENT = [
    "passwd:     files ldap",
    "passwd: compat systemd",
    "PWD=/export/home/oracle",
    "OLDPWD=/tmp",
    "remote_login_passwordfile            string      EXCLUSIVE",
    "PASSWORD_LIFE_TIME = 180",
    "remote_login_passwordfile='EXCLUSIVE'",
    'open("/etc/passwd", O_RDONLY)             = 3',
    "password=********",
    "oracle@db1.example.org (DIAG)",
    "1700000000000000000 1234567890123456",
    "4111 1111 1111 1112 is no card",
    "token",
    "  0   0 137 16 0 0 0",
    "tokens: 17",
    "mod:initializing1:12:30:44",
    "(pts/14)[admin@host:~]$ vmstat 1",
    "sshd[7]: Failed password for root from 10.1.2.3 port 22 ssh2: none",
    "[sudo] password for oracle: total 12",
    "host:SCANLISTENER1:15:21:00",
    "root:x:0:1:Super-User:/:/sbin/sh",
    "@2026 all rights reserved, see http://example.org/a/b",
]


def found(line: str) -> list[str]:
    frame = pl.DataFrame({"line_no": [7], "line": [line]})
    return [line[begin:end] for _, begin, end, _ in Scanner().scan(frame)]


@pytest.mark.parametrize(("line", "secret"), PLANTED, ids=[s for _, s in PLANTED])
def test_a_planted_secret_is_found_whatever_stands_around_it(line, secret):
    for text in (line, f"    {line}", f"> {line}", line + "\t"):
        masked = "".join("\0" if any(b <= i < e for b, e, _ in spans(text)) else c for i, c in enumerate(text))
        assert secret not in masked
        assert found(text), "the first pass over the columns must not lose it"


@pytest.mark.parametrize("line", INNOCENT)
def test_what_only_looks_like_one_stays(line):
    assert found(line) == []


def test_the_key_between_begin_and_end_goes_also_over_blocks():
    lines = [
        "x",
        "-----BEGIN RSA PRIVATE KEY-----",
        *["MIIEowIBAAKCAQEA0Z3VS5JJcds3xf", "+x/=0Z3VS5JJcds3xf"] * 3,
        "-----END RSA PRIVATE KEY-----",
        "after",
    ]
    frame = pl.DataFrame({"line_no": list(range(1, len(lines) + 1)), "line": lines})
    whole = {n for n, _, _, kind in Scanner().scan(frame) if kind == "private key"}
    assert whole == set(range(3, 9))
    first = Scanner()
    halves = {n for n, *_ in first.scan(frame[:5])}
    second = Scanner(json.loads(json.dumps(first.key_lines)))
    assert halves | {n for n, *_ in second.scan(frame[5:])} == whole


@pytest.mark.parametrize("between", ["", "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn2ygSDtfghaL\n"])
def test_each_line_is_looked_at_once_however_many_keys_begin(between, monkeypatch):
    lines = ("-----BEGIN PRIVATE KEY-----\n" + between) * 500
    looked = Mock(wraps=secret_scan._END)
    monkeypatch.setattr(secret_scan, "_END", looked)
    frame = pl.DataFrame({"line_no": range(1, lines.count("\n") + 1), "line": lines.splitlines()})
    found = [n for n, _, _, kind in Scanner().scan(frame) if kind == "private key"]
    assert len(found) == (500 if between else 0)
    assert looked.search.call_count <= frame.height


def test_a_key_that_never_ends_does_not_eat_the_file():
    lines = ["-----BEGIN PRIVATE KEY-----", "MIIEowIBAAKCAQEA0Z3VS5JJcds3xf", "kthr memory page", "r b w swap free"]
    frame = pl.DataFrame({"line_no": [1, 2, 3, 4], "line": lines})
    assert {n for n, *_ in Scanner().scan(frame)} == {2}


def test_a_secret_far_out_in_a_long_line_is_found():
    line = "a" * 10_000 + " password=Far0ut " + "b" * 10_000
    assert found(line) == ["Far0ut"]
    straddling = "c" * 4090 + " password=Far0ut " + "d" * 100
    assert found(straddling) == ["Far0ut"]


def test_real_tool_output_is_hardly_touched():
    """In all samples only names in mail addresses and passwords written by the authors are masked."""
    masked = []
    for path in sorted(CORPUS.glob("*/*.txt")):
        lines = path.read_bytes().decode("utf-8", "replace").split("\n")
        frame = pl.DataFrame({"line_no": list(range(1, len(lines) + 1)), "line": lines})
        masked += [(path.parent.name, lines[n - 1][b:e], kind) for n, b, e, kind in Scanner().scan(frame)]
    assert len(masked) < 40, masked


def test_no_table_note_or_line_shows_a_planted_secret(tmp_path):
    """Planted in a trace, in a list and in unread prose, secrets remain only in the original."""
    trace = (
        b'22626/1:\t 8.6926\topen("/tmp/x", O_RDONLY)\t= 3\n'
        b'22626/1:\t 8.7001\twrite(3, "password=Winter2021 x", 20)\t= 20\n'
        b'22626/1:\t 8.7101\twrite(3, "Winter2021 again", 16)\t= 16\n'
        b'22626/1:\t 8.7201\twrite(3, "from jane.doe@example.org", 25)\t= 25\n'
        b"curl -u svc:Geheimnis1 https://h/ is what I typed\n"
        b"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xf\n-----END RSA PRIVATE KEY-----\n"
    )
    path = tmp_path / "a"
    path.write_bytes(trace)
    for limits in (Limits(), Limits(run_bytes=100)):
        out = tmp_path / f"r{limits.run_bytes}"
        account = read(path, Hints(kind="truss"), out, limits=limits)
        shown = [line.text for line in LineReader(path, out).lines(1, 99)]
        assert [len(line) for line in shown] == [len(x) for x in trace.decode().splitlines()]
        stored = str([all_tables(out)[name].to_dicts() for name in all_tables(out)]) + str(account.as_json())
        words = ["Geheimnis1", "jane.doe", "MIIEowIBAAKCAQEA0Z3VS5JJcds3xf", "password=Winter2021"]
        for secret in [*words, "Winter2021"] if limits == Limits() else words:
            assert secret not in stored
        assert not any(secret in line for secret in words for line in shown)
        assert "22626" in stored


def test_a_name_is_masked_in_its_own_rows_only():
    masks = Masks()
    masks.keep(2, 0, 4, "person", "info@example.org", everywhere=False)
    frame = pl.DataFrame(
        {
            "line_no": [1, 2, 3],
            "line_end": [1, 2, 3],
            "text": ["info", "to info", "info"],
            "list": [["info"], ["info", None], None],
        }
    )
    masked = masks.apply(frame)
    assert masked["text"].to_list() == ["info", "to ****", "info"]
    assert masked["list"].to_list() == [["info"], ["****", None], None]


@pytest.mark.parametrize("names", [True, False])
def test_one_pattern_finds_what_the_looks_find_one_by_one(names):
    line = pl.col("line")
    looks = [
        secret_scan._HEADS,
        secret_scan.GROUPED,
        secret_scan.QUOTED,
        secret_scan.LITERAL,
        secret_words.HASHED,
    ]
    each = (
        line.str.contains_any(secret_scan._words(names), ascii_case_insensitive=True)
        | line.str.contains_any(ESCAPED_WORDS)
        | line.str.contains("@", literal=True)
        | pl.any_horizontal([line.str.contains(pattern) for pattern in looks])
    )
    texts = [text for path in sorted(CORPUS.glob("*/*.txt")) for text in path.read_text(errors="replace").split("\n")]
    words = [f"a{w.upper()}b" for w in secret_scan._words(names)] + [f"x{w}y" for w in ESCAPED_WORDS]
    lines = pl.DataFrame({"line": [*texts, *words, *(planted for planted, _ in PLANTED)]})
    found = lines.select(each=each, once=line.str.contains(secret_scan._any_of(names)))
    assert found["each"].to_list() == found["once"].to_list()
    assert found["each"].tail(len(words)).any()


@pytest.mark.parametrize("line", ["   " + " a" * 500_000 + "\x01", "  " + "AB" * 500_000 + "!", '"3 1 1' * 160_000])
def test_the_look_at_a_few_lines_is_quick_whatever_they_hold(line):
    began = time.perf_counter()
    secret_scan._is_harmless([line], True)
    assert time.perf_counter() - began < 5, "a megabyte takes a fifth of a second, and hours where each pair is tried"


@pytest.mark.parametrize("names", [True, False])
def test_in_lines_that_one_look_calls_harmless_no_pass_finds_anything(names):
    texts = [path.read_text(errors="replace").split("\n") for path in sorted(CORPUS.glob("*/*.txt"))]
    pieces = [text[at : at + 20] for text in texts for at in range(0, len(text), 20)]
    pieces += [["harmless", planted] for planted, _ in PLANTED] + [
        [f"a{word.upper()}b"] for word in secret_scan._words(names)
    ]
    scanner, harmless = Scanner(names=names), 0
    for lines in pieces:
        if secret_scan._is_harmless(lines, names):
            frame = pl.DataFrame({"line_no": list(range(1, len(lines) + 1)), "line": lines})
            hits, rows, near = scanner._hits(frame)
            assert hits.is_empty(), hits
            assert rows.is_empty(), lines
            assert list(scanner._torn(frame, near)) == []
            harmless += 1
    assert len(pieces) * 0.7 < harmless < len(pieces) - len(PLANTED)


@pytest.mark.parametrize(
    ("above", "below", "secret"),
    [
        ("connect to shop with user app and passw".rjust(80, "."), "ord=hunt3r2 now", "hunt3r2"),
        ("curl -H 'Accept: text/plain' -H 'Author".rjust(72, "."), "ization: Bearer abcdef1234567890abcdef'", "abcdef1234567890abcdef"),
        ("ALTER USER scott IDENTIFIED", "BY tiger99 ACCOUNT UNLOCK", "tiger99"),
        ("connect to shop with user app and password".rjust(80, "."), "2=hunt3r2 now", "hunt3r2"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", [0, 60])
def test_a_keyword_that_a_break_has_torn_still_tells_the_secret_below(above, below, secret, more):
    rows = [f"{n}: row" for n in range(more)]
    frame = pl.DataFrame({"line_no": list(range(7, 9 + more)), "line": [above, below, *rows]})
    [(number, begin, end, _)] = [found for found in secret_scan.Scanner().scan(frame) if found[0] == 8]
    assert (number, below[begin:end]) == (8, secret)


def test_halves_of_a_keyword_in_lines_that_nobody_broke_are_none():
    frame = pl.DataFrame({"line_no": [7, 8], "line": ["with user app and passw".rjust(67, "."), "ord=hunt3r2 now"]})
    assert list(secret_scan.Scanner().scan(frame)) == []


def test_wherever_a_break_tears_a_keyword_both_sides_are_looked_at():
    torn = [(word[:at], word[at:]) for word in secret_scan._words(True) for at in range(1, len(word))]
    torn = [(above, below) for above, below in torn if above == above.rstrip()]  # trailing blanks are removed
    # Behind this word the break itself stands for one blank, so a second one is no place for it.
    torn = [(above, below) for above, below in torn if above != "identified" or below[0] != " "]
    both = pl.DataFrame(torn, schema=["above", "below"], orient="row")
    scanner = secret_scan.Scanner()
    none = pl.Series("line_no", [], dtype=pl.Int64)
    for case in (both, both.select(pl.all().str.to_uppercase())):
        lines = [line for above, below in case.iter_rows() for line in (above.rjust(80, "."), f"{below}=t1ger99")]
        frame = pl.DataFrame({"line_no": range(len(lines)), "line": lines})
        assert scanner._seams(frame, none)["line_no"].to_list() == list(range(0, len(lines), 2))
    quiet = pl.DataFrame({"line_no": [7, 8], "line": ["16:20:01 3".rjust(80), "22626/1: read"]})
    assert scanner._seams(quiet, none).is_empty()
