"""Test secrets that no line shows in one piece (dumps, buffers, escapes, wraps), in a dress or inside archives."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import polars as pl
import pytest

from parsers.__main__ import main
from parsers.containers.archives import open_members
from parsers.reading import read
from parsers.secrets.scan import Scanner, masked
from parsers.secrets.words import without_secrets
from parsers.text.source import Hints, Limits
from tests.parsers.formats.evidence import all_tables
from tests.parsers.secrets.planting import gives_away, shown
from tests.parsers.text.captures import pcap, tcp

DATA = (
    b"GET / scott/Zq9999xW7k@//db1:1521/Q HTTP/1.1\r\nAuthorization: Bearer Zq8888xW7kABCDEFG\r\n"
    b'password=Zq7777xW7k;card "4111111111111111" (DESCRIPTION=(CID=(USER=zorrox)(PASSWORD=Zq66xW7k)))\n'
)
HIDDEN = ["Zq9999xW7k", "Zq8888xW7kABCDEFG", "Zq7777xW7k", "4111111111111111", "zorrox", "Zq66xW7k"]
KEPT = ["GET", "HTTP/1.1", "Authorization: Bearer ", "password=", "(DESCRIPTION=(CID=(USER="]


def rows_of(row, data=DATA):
    chunks = [data[at : at + 16] for at in range(0, len(data), 16)]
    return [row(n * 16, c, "".join(chr(b) if 33 <= b < 127 else "." for b in c)) for n, c in enumerate(chunks)]


def in_pairs(chunk):
    return " ".join(chunk[at : at + 2].hex() for at in range(0, len(chunk), 2))


def in_bytes(chunk, middle=1):
    return (chunk[:8].hex(" ") + " " * middle + chunk[8:].hex(" ")).rstrip()


DUMPS = {
    "tcpdump": lambda at, c, a: f"\t0x{at:04x}:  {in_pairs(c):39}  {a}",
    "snoop": lambda at, c, a: f"{at:12}: {in_pairs(c):40}   {a}",
    "strace": lambda at, c, a: f" | {at:05x}  {in_bytes(c, 2):49} {a:16} |",
    "xxd": lambda at, c, a: f"{at:08x}: {in_pairs(c):39}  {a}",
    "hexdump": lambda at, c, a: f"{at:08x}  {in_bytes(c, 2):49} |{a}|",
    "analyser": lambda at, c, a: f"{at:04x}   {in_bytes(c):47}  {a}",
}


def scanned(lines):
    """Return the lines with their masks."""
    frame = pl.DataFrame({"line_no": range(1, len(lines) + 1), "line": [line.rstrip() for line in lines]})
    found = list(frame["line"])
    for number, begin, end, _ in Scanner().scan(frame):
        line = found[number - 1]
        found[number - 1] = line[:begin] + "*" * (end - begin) + line[end:]
    return found


@pytest.mark.parametrize("dump", DUMPS)
def test_a_dump_shows_neither_the_bytes_nor_the_characters(dump):
    lines = rows_of(DUMPS[dump])
    found = scanned(lines)
    assert [len(line) for line in found] == [len(line.rstrip()) for line in lines]
    text = "\n".join(found)
    for secret in HIDDEN:
        for at in range(len(secret) - 3):
            four = secret[at : at + 4]
            assert four not in text, (four, text)
            assert four.encode().hex() not in text.replace(" ", "").lower()
    assert "GET./." in text
    assert "password=" in text
    # The offset, and all rows without secrets, stay.
    assert [line[:5] for line in found] == [line[:5] for line in lines]
    assert found[2] == lines[2].rstrip()


def cells():
    return [{10: "\\n", 13: "\\r"}.get(b, f" {chr(b)}") for b in DATA]


def test_rows_of_truss_are_joined():
    lines = ["    " + "".join(cells()[at : at + 32]) for at in range(0, len(DATA), 32)]
    found = scanned(lines)
    text = "".join(line[5::2] for line in found)
    for secret in HIDDEN:
        assert not gives_away(secret, text)
    assert [len(line) for line in found] == [len(line.rstrip()) for line in lines]


@pytest.mark.parametrize(
    "buffer",
    [
        "".join(cells()),
        "".join(f"\\x{b:02x}" for b in DATA),
        "".join(f"\\{b:o}" for b in DATA),
        "".join(f"\\u{b:04x}" for b in DATA),
    ],
    ids=["blanks", "hex", "octal", "unicode"],
)
def test_a_buffer_in_another_form_is_masked_where_it_stands(buffer):
    line = f'write(4, "{buffer}", 200) = 200'
    (found,) = scanned([line])
    assert len(found) == len(line)
    assert found.startswith('write(4, "')
    assert found.endswith('", 200) = 200')
    kept = len(line) - found.count("*")
    width = len(buffer) / len(DATA)
    assert abs((len(line) - kept) / width - sum(map(len, HIDDEN))) <= 8
    for secret in HIDDEN:
        for form in (
            " ".join(secret),
            "".join(f"\\x{ord(c):02x}" for c in secret),
            "".join(f"\\{ord(c):o}" for c in secret),
        ):
            assert form not in found


def test_a_buffer_whose_blanks_were_collapsed_is_read_all_the_same():
    text = " ".join("".join(cells()).split())
    (found,) = scanned([f'write(4, "{text}", 200)'])
    assert "Z q 7 7 7 7" not in found
    assert "Z q 8 8 8 8" not in found


@pytest.mark.parametrize(
    ("lines", "hidden"),
    [
        (["x" * 60 + " password=Zq12", "34xW7k and the rest"], "34xW7k"),
        (["alter user app identified by", "  Zq1234xW7k;"], "Zq1234xW7k"),
        (["alter user app identified by values", "'S:AB12CD34EF56AB12CD34EF56'"], "AB12CD34EF56AB12CD34EF56"),
    ],
)
def test_a_secret_goes_on_in_the_next_line(lines, hidden):
    lines = [lines[0].rjust(80, "y") if " password" in lines[0] else lines[0], *lines[1:]]
    found = scanned(lines)
    assert hidden not in found[1]
    assert found[1].count("*") >= len(hidden)


@pytest.mark.parametrize(
    "lines",
    [
        ["Enter password:", "Connected to:"],
        ["password:", "files ldap"],
        ["x" * 71 + "password=Zq", "y" * 71 + "nothing"],
        ["0 R oracle  5000  4711  0  80   0 - 51234 -  sqlplus scott/Zq1234xW7k", "F S UID PID"],
    ],
)
def test_the_next_line_stays_where_nothing_goes_on(lines):
    assert scanned(lines)[1] == lines[1]


def test_keys_in_logs_and_in_one_line():
    key = "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn2ygSDtfghaL"
    log = "Dec  2 11:00:01 db1 app[1]: "
    found = scanned(
        [log + "-----BEGIN RSA PRIVATE KEY-----", log + key, log + "-----END RSA PRIVATE KEY-----", log + key]
    )
    assert found[1] == log + "*" * len(key)
    (one,) = scanned([f'read(3, "-----BEGIN RSA PRIVATE KEY-----\\n{key}\\n{key}"..., 4096) = 4096'])
    assert key[:8] not in one
    assert one.endswith('"..., 4096) = 4096')


def test_a_made_up_secret_is_masked_wherever_else_it_stands():
    first, second = scanned(["connect scott/Zq1234xW7k@db1", "then it said Zq1234xW7k again"])
    assert "Zq1234xW7k" not in first + second
    assert second == "then it said ********** again"


def test_an_ordinary_word_as_a_password_takes_no_other_row_with_it(tmp_path):
    text = (
        "     UID   PID  PPID   C    STIME TTY         TIME CMD\n"
        "  oracle  1201     1   0   Oct 12 ?           0:01 sqlplus -s system/oracle@QPROD @r.sql\n"
        "  oracle  1202     1   0   Oct 12 ?           0:02 ora_smon_linux\n"
        "  linux   1203     1   0   Oct 12 ?           0:03 mysql -u app -plinux oracle\n"
    )
    path, out = tmp_path / "ps", tmp_path / "r"
    path.write_text(text, encoding="utf-8")
    read(path, Hints(), out)
    rows = all_tables(out)["ps"]
    assert rows["login"].to_list() == ["oracle", "oracle", "linux"]
    stored = json.dumps(rows.to_dicts(), default=str)
    assert "system/oracle" not in stored
    assert "-plinux" not in stored
    assert "ora_smon_linux" in stored


@pytest.mark.parametrize(
    "worn",
    [
        lambda line: f"> {line}",
        lambda line: f"    {line}",
        lambda line: f"| {line}",
        lambda line: f"\x1b[31m{line}\x1b[0m",
        lambda line: line.replace("-", "\u2011"),
    ],
    ids=["mail", "indent", "wiki", "escapes", "typography"],
)
def test_a_dressed_sample_shows_none_either(worn, tmp_path):
    lines = [
        '22626 10:00:01.000001 open("/etc/passwd", O_RDONLY) = 3 <0.000311>',
        '22626 10:00:01.100001 write(3, "scott/Zq9999xW7k@//db1:1521/Q", 31) = 31 <0.000031>',
        '22626 10:00:01.200001 write(3, "password=Zq7777xW7k;", 20) = 20 <0.000031>',
        "22626 10:00:01.400001 close(3) = 0 <0.000011>",
    ] * 3
    path = tmp_path / "a"
    path.write_text("\n".join(map(worn, lines)) + "\n", encoding="utf-8")
    places = shown(path, Hints(), tmp_path / "r")
    for place, text in places.items():
        assert "Zq9999" not in text, place
        assert "Zq7777" not in text, place
    assert "/etc/passwd" in places["lines"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "cp1252"])
def test_other_encodings_show_none_either(encoding, tmp_path):
    text = "Dec  2 11:00:01 db1 app[1]: login with password=Zq7777xW7k failed \u00fc\n" * 3
    path = tmp_path / "a"
    path.write_bytes(text.encode(encoding))
    for place, seen in shown(path, Hints(), tmp_path / "r").items():
        assert "Zq7777xW7k" not in seen, place


def test_a_page_of_html_and_a_mail_show_none(tmp_path):
    page = (
        "<html><body><p>we used scott/Zq9999xW7k@//db1:1521/Q and <b>password: Zq7777xW7k</b></p><pre>\n"
        "     UID   PID  PPID   C    STIME TTY         TIME CMD\n"
        "  oracle  1201     1   0   Oct 12 ?           0:01 sqlplus -s system/Zq66xW7kab@QPROD @r.sql\n"
        "</pre></body></html>\n"
    )
    mail = (
        "From: Jane Zdoe <jane.zdoe@example.org>\nTo: ops@example.org\nSubject: slow\n\n"
        "The password is Zq7777xW7k.\n\n$ vmstat 5\n kthr      memory            page\n"
    )
    for number, text in enumerate((page, mail)):
        path = tmp_path / f"a{number}"
        path.write_text(text, encoding="utf-8")
        for place, seen in shown(path, Hints(), tmp_path / f"r{number}").items():
            for secret in ("Zq9999xW7k", "Zq7777xW7k", "Zq66xW7kab", "Zdoe", "zdoe"):
                assert secret not in seen, (place, secret)


def test_a_capture_shows_no_payload(tmp_path):
    request = b"GET /a?password=Zq7777xW7k HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer Zq8888xW7kABC\r\n\r\n"
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([(10**18, tcp(dport=80, flags="P.", payload=request))]))
    for place, seen in shown(path, Hints(), tmp_path / "r").items():
        assert "Zq7777xW7k" not in seen, place
        assert "Zq8888xW7k" not in seen, place


def test_members_of_archives_are_read_with_masks_and_named_without(tmp_path, capsys):
    content = b"Dec  2 11:00:01 db1 app[1]: login with password=Zq7777xW7k failed\n" * 3
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo("logs/run-password=Zq4444xW7k.log")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(packed.getvalue()))
    (member,) = open_members(path, path.name)
    assert "Zq4444xW7k" not in without_secrets(member.path)
    main([str(path), "--json"])
    main([str(path), "--rows", "logs"])
    said = capsys.readouterr()
    assert "Zq7777xW7k" not in said.out + said.err
    assert "Zq4444xW7k" not in said.out + said.err


def test_runs_and_batches_do_not_open_a_mask(tmp_path):
    line = "Dec  2 11:00:01 db1 app[1]: login with password=Zq7777xW7k failed\n"
    path, out = tmp_path / "a", tmp_path / "r"
    path.write_text(line * 400, encoding="utf-8")
    read(path, Hints(), out, limits=Limits(run_bytes=4096, block_bytes=1024))
    stored = str([rows.to_dicts() for rows in all_tables(out).values()]) + (out / "manifest.json").read_text("utf-8")
    assert "Zq7777xW7k" not in stored


def test_a_command_and_a_name_are_shown_without_secrets():
    assert masked("mysql -u app -pZq7777xW7k shop") == "mysql -u app -p********** shop"
    assert without_secrets("core.1234.password=Zq7777xW7k") == "core.1234.password=**********"
    assert without_secrets("vmstat-db1_2013-12-02.txt.gz") == "vmstat-db1_2013-12-02.txt.gz"
