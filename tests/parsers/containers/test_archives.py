"""Test containers: every kind, nested, damaged, hostile."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from contextlib import suppress
from email.message import EmailMessage

import py7zr
import pytest
from backports import zstd

from parsers.containers.archives import Caps, LeftOut, Member, container_of, open_members
from parsers.errors import LimitExceeded, NotText
from tests.parsers.containers.test_lzw import compress

VMSTAT = b" kthr      memory\n r b w   swap\n 0 0 0 100\n" * 50
TIMES = b"time elapsed : 0,31\n" * 40


def tar_of(files, kind=None, **extra):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), 1_300_000_000
            archive.addfile(info, io.BytesIO(content))
        for name, fields in extra.items():
            info = tarfile.TarInfo(name)
            for key, value in fields.items():
                setattr(info, key, value)
            archive.addfile(info)
    return out.getvalue()


def zip_of(files, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2011, 3, 13, 7, 6, 40)), content, method)
    return out.getvalue()


def sevenzip_of(files, **options):
    out = io.BytesIO()
    with py7zr.SevenZipFile(out, "w", **options) as archive:
        for name, content in files.items():
            archive.writestr(content, name)
    return out.getvalue()


def pieces(stream):
    while piece := stream.read(100):
        yield piece


def walk(tmp_path, content, name="a.bin", caps=None):
    """Return members (path -> content), members left out (path -> reason) and damage (path -> words)."""
    path = tmp_path / "original"
    path.write_bytes(content)
    given, out, damaged = {}, {}, {}
    for found in open_members(path, name, caps):
        if isinstance(found, LeftOut):
            out[found.path] = found.why
        else:
            given[found.path] = b"".join(pieces(found.stream))
            if found.damage:
                damaged[found.path] = found.damage
    return given, out, damaged


FILES = {"db1/vmstat.txt": VMSTAT, "db1/times.txt": TIMES}


@pytest.mark.parametrize(
    "content",
    [
        tar_of(FILES),
        gzip.compress(tar_of(FILES)),
        bz2.compress(tar_of(FILES)),
        lzma.compress(tar_of(FILES)),
        zstd.compress(tar_of(FILES)),
        zip_of(FILES),
        zip_of(FILES, zipfile.ZIP_LZMA),
        zip_of(FILES, zipfile.ZIP_STORED),
        sevenzip_of(FILES),
    ],
    ids=["tar", "tar.gz", "tar.bz2", "tar.xz", "tar.zst", "zip", "zip-lzma", "zip-stored", "7z"],
)
def test_every_archive_gives_its_files(tmp_path, content):
    assert walk(tmp_path, content) == (FILES, {}, {})


@pytest.mark.parametrize(
    ("squeeze", "suffix"),
    [(gzip.compress, ".gz"), (bz2.compress, ".bz2"), (lzma.compress, ".xz"), (zstd.compress, ".zst")],
)
def test_a_compressed_file_is_one_member_also_if_written_in_several_goes(tmp_path, squeeze, suffix):
    given, out, damaged = walk(tmp_path, squeeze(VMSTAT) + squeeze(TIMES), "vm.txt" + suffix)
    assert (given, out, damaged) == ({"vm.txt": VMSTAT + TIMES}, {}, {})


def test_the_time_of_a_member_is_kept(tmp_path):
    for content in (tar_of(FILES), zip_of(FILES)):
        (tmp_path / "a").write_bytes(content)
        times = {m.modified.isoformat() for m in open_members(tmp_path / "a") if isinstance(m, Member)}
        assert times == {"2011-03-13T07:06:40+00:00"}


def test_nested_ones_are_opened_three_levels_deep(tmp_path):
    inner = zip_of({"c.txt": TIMES})
    content = tar_of({"x/b.tar.gz": gzip.compress(tar_of({"a.zip": inner})), "x/v.txt.gz": gzip.compress(VMSTAT)})
    given, out, _ = walk(tmp_path, content)
    assert given == {"x/b.tar.gz!a.zip!c.txt": TIMES, "x/v.txt": VMSTAT}
    assert not out
    deeper = zip_of({"four.zip": content})
    given, out, _ = walk(tmp_path, deeper)
    assert given == {"four.zip!x/v.txt": VMSTAT}
    assert out == {"four.zip!x/b.tar.gz!a.zip": "nested deeper than 3 levels"}


def test_links_devices_and_sparse_files_are_left_out_by_name(tmp_path):
    content = tar_of(
        {"good.txt": TIMES, "../../etc/cron.d/x": VMSTAT},
        link={"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        hard={"type": tarfile.LNKTYPE, "linkname": "good.txt"},
        device={"type": tarfile.BLKTYPE},
        pipe={"type": tarfile.FIFOTYPE},
    )
    given, out, _ = walk(tmp_path, content)
    assert given == {"good.txt": TIMES, "../../etc/cron.d/x": VMSTAT}, (
        "a name is only a name: nothing is written under it"
    )
    assert out == {
        "link": "a link to /etc/passwd",
        "hard": "a link to good.txt",
        "device": "a device, pipe or other special file",
        "pipe": "a device, pipe or other special file",
    }
    assert [p.name for p in tmp_path.rglob("*")] == ["original"]


def test_a_second_file_of_the_same_name_is_left_out(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", TIMES)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a.txt", VMSTAT)
    given, left, _ = walk(tmp_path, out.getvalue())
    assert given == {"a.txt": TIMES}
    assert left == {"a.txt": "a second file of the same name"}


def test_encrypted_members_are_left_out(tmp_path):
    content = bytearray(zip_of({"a.txt": TIMES, "b.txt": VMSTAT}))
    central = content.index(b"PK\x01\x02")
    content[central + 8] |= 1
    content[6] |= 1
    given, out, _ = walk(tmp_path, bytes(content))
    assert given == {"b.txt": VMSTAT}
    assert out == {"a.txt": "encrypted"}
    given, out, _ = walk(tmp_path, sevenzip_of({"a.txt": TIMES}, password="secret", header_encryption=False))
    assert not given
    assert "encrypted" in next(iter(out.values()))


def test_overlapping_members_are_left_out(tmp_path):
    """Build a zip bomb without nesting: many entries share one compressed kernel."""
    content = bytearray(zip_of({"a.txt": TIMES, "b.txt": TIMES}))
    second = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02") + 4)
    content[second + 42 : second + 46] = (0).to_bytes(4, "little")
    given, out, _ = walk(tmp_path, bytes(content))
    assert not given
    assert set(out.values()) == {"overlaps another member"}


@pytest.mark.parametrize(
    ("caps", "words"),
    [
        (Caps(members=3), "3 files inside"),
        (Caps(total_bytes=2000), "2,000 bytes unpacked"),
    ],
)
def test_caps_hold_across_nesting(tmp_path, caps, words):
    inner = zip_of({f"{n}.txt": TIMES for n in range(2)})
    content = tar_of({"one.zip": inner, "two.zip": inner})
    with pytest.raises(LimitExceeded, match=words):
        walk(tmp_path, content, caps=caps)


def test_a_bomb_is_stopped_by_the_ratio(tmp_path):
    content = gzip.compress(gzip.compress(b"\0" * 300_000_000, 9), 9)
    with pytest.raises(LimitExceeded, match="1000 times the packed size"):
        walk(tmp_path, content)


def test_a_path_longer_than_the_cap_is_left_out(tmp_path):
    given, out, _ = walk(tmp_path, tar_of({"d/" * 600 + "a": TIMES, "b": TIMES}))
    assert list(given) == ["b"]
    assert list(out.values()) == ["path longer than 1000"]


@pytest.mark.parametrize("squeeze", [gzip.compress, bz2.compress, lzma.compress, zstd.compress])
def test_what_stands_before_a_cut_is_given_and_the_cut_is_said(tmp_path, squeeze):
    text = b"".join(b"line %d of a file that was cut while it was copied\n" % n for n in range(200_000))
    packed = squeeze(text)
    given, out, damaged = walk(tmp_path, packed[: len(packed) * 3 // 4], "a.log.gz")
    (content,) = given.values()
    assert text.startswith(content)
    assert len(content) > 1_000_000
    assert "end early or are damaged" in next(iter(damaged.values()))
    assert not out


def test_a_cut_tar_and_a_wrong_checksum_are_said(tmp_path):
    given, out, damaged = walk(tmp_path, tar_of({"a.txt": TIMES, "b.txt": VMSTAT * 100})[:5000])
    assert given["a.txt"] == TIMES
    assert out or damaged
    content = bytearray(zip_of({"a.txt": VMSTAT}, zipfile.ZIP_STORED))
    content[60] ^= 0xFF
    given, out, damaged = walk(tmp_path, bytes(content))
    assert "a.txt" in damaged


def test_a_mail_is_taken_apart(tmp_path):
    mail = EmailMessage()
    mail["From"], mail["Subject"], mail["Date"] = "a@example.org", "slow logins", "Fri, 07 Nov 2008 10:15:00 +0100"
    mail.set_content("Hello,\nhere is what I saw:\n" + TIMES.decode() + "Zażółć\n")
    mail.add_alternative("<p>Hello</p>", subtype="html")
    mail.add_attachment(gzip.compress(VMSTAT), maintype="application", subtype="gzip", filename="vmstat.txt.gz")
    inner = EmailMessage()
    inner["From"], inner["Subject"], inner["MIME-Version"] = "b@example.org", "inner", "1.0"
    inner.set_content("inner text")
    mail.add_attachment(inner)
    given, out, _ = walk(tmp_path, mail.as_bytes(), "mail.eml")
    assert given["vmstat.txt"] == VMSTAT
    assert given["message.txt"].startswith(b"Date: Fri, 07 Nov 2008 10:15:00 +0100\nSubject: slow logins\n\nHello,")
    assert "Zażółć".encode() in given["message.txt"]
    assert out == {"message.html": "the text of message.txt once more"}
    assert any(b"inner text" in text for text in given.values())


def test_a_mail_that_is_plain_text_stays_a_text():
    assert container_of(b"From: a@example.org\nSubject: x\nDate: y\n\nkthr memory\n") is None
    assert container_of(b"Subject: x\nDate: y\nContent-Transfer-Encoding: base64\n\nAAAA\n") == "mail"


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"Rar!\x1a\x07\x01\x00", "packed with rar.*`unrar x FILE`"),
        (b"\x04\x22\x4d\x18d@", "packed with lz4.*`lz4 -d FILE`"),
        (b"\x1f\x1e\x00", r"packed with pack \(\.z\).*`gzip -d FILE`"),
        (b"07070100000001", "packed with cpio.*`cpio -idm < FILE`"),
    ],
)
def test_what_cannot_be_opened_says_how_to_help(head, words):
    with pytest.raises(NotText, match=words):
        container_of(head)


def test_what_cannot_be_opened_inside_is_left_out_with_that_advice(tmp_path):
    (tmp_path / "a").write_bytes(VMSTAT)
    with pytest.raises(NotText, match="not an archive"):
        next(open_members(tmp_path / "a"))
    given, out, _ = walk(tmp_path, tar_of({"a.rar": b"Rar!\x1a\x07\x01\x00", "t": TIMES}))
    assert list(given) == ["t"]
    assert "unpack it" in out["a.rar"]


@pytest.mark.parametrize("name", ["explorer.tar.Z", "explorer.taz"])
def test_a_tar_that_compress_packed_gives_its_files(tmp_path, name):
    assert walk(tmp_path, compress(tar_of(FILES)), name) == (FILES, {}, {})


def test_a_compressed_file_of_old_unix_is_one_member_and_says_where_it_broke(tmp_path):
    assert walk(tmp_path, compress(VMSTAT), "vm.txt.Z") == ({"vm.txt": VMSTAT}, {}, {})
    packed = compress(VMSTAT)
    given, _, damaged = walk(tmp_path, packed[:60] + b"\xff" * 12 + packed[72:], "vm.txt.Z")
    assert VMSTAT.startswith(given["vm.txt"][:40])
    assert "damaged behind byte" in damaged["vm.txt"]


def test_random_damage_never_ends_in_anything_but_words(tmp_path):
    import random

    rng = random.Random(4)
    for content in (
        zip_of(FILES),
        gzip.compress(tar_of(FILES)),
        tar_of(FILES),
        sevenzip_of(FILES),
        lzma.compress(VMSTAT),
        compress(VMSTAT),
    ):
        for _ in range(60):
            broken = bytearray(content)
            for _ in range(rng.randint(1, 6)):
                broken[rng.randrange(6, len(broken))] = rng.randrange(256)
            with suppress(NotText, LimitExceeded):
                walk(tmp_path, bytes(broken))
