"""Tests of the file of a room bundle: what is written can be read, and any change is refused with the member's name."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from incidents.errors import Refused
from incidents.storage import bundles, signing
from incidents.storage.bundles import BundleRefused, Manifest, Member, Reader, Writer
from parsers.containers.archives import Caps

LINES = b"".join(b"time elapsed : 0,%02d\n" % (30 + n % 7) for n in range(2000))


def manifest(members: tuple[Member, ...], **other: Any) -> Manifest:
    fields: dict[str, Any] = {
        "id": "b1",
        "title": "Logins take 3.9 s",
        "holds": "originals",
        "site": "https://exhibit.example.com",
        "made_by": "Anna",
        "made_at": datetime(2026, 4, 14, 5, 58, tzinfo=UTC),
        "key": signing.public_key(),
    }
    return Manifest(members=members, **(fields | other))


def made(fill: Callable[[Writer], None] | None = None) -> bytes:
    writer, target = Writer(io.BytesIO()), io.BytesIO()
    for name in ("room.json", "activity.json", "report.json"):
        writer.add_bytes(name, f'{{"of": "{name}"}}'.encode())
    writer.add_packed(f"originals/{hashlib.sha256(LINES).hexdigest()}.zst", io.BytesIO(LINES))
    if fill:
        fill(writer)
    writer.finish(target, manifest)
    return target.getvalue()


def signed(told: dict[str, Any], rest: bytes = b"") -> bytes:
    """Return a bundle with `told` as its manifest, signed with a valid key."""
    text = json.dumps(told).encode()
    small = ((bundles.MANIFEST, text), (bundles.SIGNATURE, signing.sign(text, "x")))
    return b"".join(bundles._header(n, len(c)) + c + bundles._padding(len(c)) for n, c in small) + rest


def test_what_is_written_comes_back():
    reader = Reader(io.BytesIO(made()))
    found = {}
    for member, stream in reader.members():
        found[member.name] = b"".join(bundles.unpacked(member, stream)) if member.unpacked else stream.read()
    assert found["room.json"] == b'{"of": "room.json"}'
    assert list(found.values())[-1] == LINES
    assert reader.manifest == manifest(reader.manifest.members)
    assert reader.manifest.bytes == len(LINES) + sum(len(f'{{"of": "{n}"}}') for n in list(found)[:3])


def test_tar_reads_it(tmp_path):
    (tmp_path / "room.tar").write_bytes(made())
    with tarfile.open(tmp_path / "room.tar") as archive:
        names = archive.getnames()
    assert names[:3] == ["manifest.json", "manifest.json.minisig", "room.json"]
    listed = subprocess.run(["tar", "-tf", tmp_path / "room.tar"], capture_output=True, text=True, check=True)
    assert listed.stdout.split() == names
    assert listed.stderr == ""


def test_a_changed_byte_is_refused_and_named():
    whole = made()
    ends: list[tuple[str, int]] = []
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        for info in archive:
            ends.append((info.name, info.offset_data + info.size + -info.size % 512))
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 0x20
        with pytest.raises(BundleRefused) as refused:
            Reader(io.BytesIO(bytes(changed))).check()
        name = next((name for name, end in ends if place < end), "The end")
        # The signature vouches for the manifest: a fault in either is a fault of the manifest.
        named = "manifest" if name.startswith("manifest.json") else name
        assert named in refused.value.message, (place, refused.value.message)


@pytest.mark.parametrize("left", [0, 100, 512, 3000, -1025, -1])
def test_a_bundle_cut_short_is_refused(left: int):
    with pytest.raises(BundleRefused):
        Reader(io.BytesIO(made()[:left])).check()


def test_something_behind_the_end_is_refused():
    with pytest.raises(BundleRefused, match="end of this bundle"):
        Reader(io.BytesIO(made() + b"\0")).check()


def test_another_site_s_signature_is_checked_with_its_own_key(settings):
    theirs = made()
    key = signing.public_key()
    settings.SECRET_KEY = "another site's key"
    reader = Reader(io.BytesIO(theirs))
    assert reader.manifest.key == key != signing.public_key()


def test_a_manifest_signed_by_another_key_than_it_names_is_refused(settings):
    told = json.loads(json.dumps(manifest(()).as_json()))
    settings.SECRET_KEY = "another site's key"
    with pytest.raises(BundleRefused, match="another key"):
        Reader(io.BytesIO(signed(told)))


def test_a_newer_version_is_refused_with_words():
    told = manifest(()).as_json() | {"version": 2, "members": "a shape that this version does not know"}
    with pytest.raises(BundleRefused, match=r"newer Exhibit.*version 2.*up to 1.*Update"):
        Reader(io.BytesIO(signed(told)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "something else"}, "not that of a room bundle"),
        ({"holds": "everything"}, "contradicts itself"),
        ({"members": []}, "one of its documents is missing"),
        ({"members": [{"name": "../../etc/passwd", "size": 1, "sha256": "0" * 64}]}, "does not belong there"),
        ({"members": [{"name": "tables/1/../manifest.json", "size": 1, "sha256": "0" * 64}]}, "does not belong there"),
        ({"members": [{"name": "room.json", "size": -1, "sha256": "0" * 64}]}, "says nothing that can be"),
        ({"members": [{"name": "room.json", "size": 1, "sha256": "0" * 64, "unpacked": 9}]}, "says nothing that can be"),
        ({"members": [{"name": 7}]}, "not complete"),
        ({"made_at": "yesterday"}, "not complete"),
    ],
)  # fmt: skip
def test_a_hostile_manifest_is_refused(change: dict[str, Any], words: str):
    with pytest.raises(BundleRefused, match=words):
        Reader(io.BytesIO(signed(manifest(()).as_json() | change)))


def test_an_archive_of_a_million_members_is_refused_at_its_manifest():
    class Endless(io.BytesIO):
        """What follows the manifest is never looked at."""

        read_after = 0

        def read(self, size: int | None = -1, /) -> bytes:
            piece = super().read(size)
            self.read_after += size if not piece and size else 0
            return piece

    row = {"name": "room.json", "size": 0, "sha256": "0" * 64}
    file = Endless(signed(manifest(()).as_json() | {"members": [row] * 60_000}))
    began = time.monotonic()
    with pytest.raises(BundleRefused, match="60,000 files; at most 20,000"):
        Reader(file)
    assert file.read_after == 0
    assert time.monotonic() - began < 2


def test_a_tar_of_a_million_members_without_a_manifest_costs_one_block():
    header = bundles._header("member-0.txt", 0)

    class Million(io.RawIOBase):
        blocks = 0

        def read(self, size: int = -1) -> bytes:
            self.blocks += size // 512
            return header

    tar: Any = Million()
    with pytest.raises(BundleRefused, match="no room bundle"):
        Reader(tar)
    assert tar.blocks == 1


def test_a_manifest_too_long_to_be_one_is_not_read():
    with pytest.raises(BundleRefused, match="no room bundle"):
        Reader(io.BytesIO(bundles._header(bundles.MANIFEST, 2**40)))


def test_a_bomb_is_refused_before_it_is_unpacked():
    """Check half a megabyte that unpacks to 16 GB of zeros, while the manifest says 100 bytes."""
    zeros = io.BytesIO()
    from backports.zstd import compress

    zeros.write(compress(bytes(2**24)) * 1000)
    packed = zeros.getvalue()
    member = Member(f"originals/{'0' * 64}.zst", len(packed), hashlib.sha256(packed).hexdigest(), 100)
    taken: list[int] = []
    with pytest.raises(BundleRefused, match="originals/0000"):
        taken.extend(len(piece) for piece in bundles.unpacked(member, io.BytesIO(packed)))
    assert sum(taken) == 0


def test_a_bomb_that_says_what_it_is_is_refused_by_its_ratio():
    from backports.zstd import compress

    packed = compress(bytes(2**26)) * 20
    member = Member(f"originals/{'0' * 64}.zst", len(packed), hashlib.sha256(packed).hexdigest(), 20 * 2**26)
    taken: list[int] = []
    with pytest.raises(BundleRefused, match="bomb"):
        taken.extend(len(piece) for piece in bundles.unpacked(member, io.BytesIO(packed)))
    assert sum(taken) <= max(2**26, 1000 * len(packed))


def test_a_manifest_of_terabytes_is_refused():
    rows = [{"name": name, "size": 2**40, "sha256": "0" * 64} for name in bundles._OTHERS]
    with pytest.raises(BundleRefused, match="unpacks to more than 64 GiB"):
        Reader(io.BytesIO(signed(manifest(()).as_json() | {"members": rows})))


def test_a_file_that_grows_while_it_is_packed_is_noticed():
    with pytest.raises(Refused, match="changed while it was packed"):
        Writer(io.BytesIO()).add("room.json", io.BytesIO(b"1234"), 3)


def test_more_files_than_a_bundle_takes_are_refused_while_it_is_made(monkeypatch):
    monkeypatch.setattr(bundles, "CAPS", Caps(members=2))
    with pytest.raises(Refused, match="at most 2 files"):
        made()


# --- the signature ------------------------------------------------------------------------------------------------


def test_a_signature_is_of_its_bytes_and_its_comment():
    signature = signing.sign(b"text", "of a test")
    assert signing.verify(b"text", signature, signing.public_key()) == "of a test"
    with pytest.raises(signing.NotSigned, match="not of these bytes"):
        signing.verify(b"texts", signature, signing.public_key())
    with pytest.raises(signing.NotSigned, match="not of these bytes"):
        signing.verify(b"text", signature.replace(b"of a test", b"of a text"), signing.public_key())


@pytest.mark.parametrize("signature", [b"", b"a\nb\nc\nd\n", b"\xff\n\n\n\n", b"x\nUlc=\ntrusted comment: \nUlc=\n"])
def test_nonsense_is_no_signature(signature: bytes):
    with pytest.raises(signing.NotSigned):
        signing.verify(b"text", signature, signing.public_key())


@pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not installed")
def test_minisign_itself_checks_a_manifest(tmp_path):
    (tmp_path / "room.tar").write_bytes(made())
    subprocess.run(["tar", "-xf", tmp_path / "room.tar", "-C", tmp_path], check=True)
    check = ["minisign", "-V", "-m", tmp_path / bundles.MANIFEST, "-P", signing.public_key()]
    assert subprocess.run(check, capture_output=True).returncode == 0
    (tmp_path / bundles.MANIFEST).write_bytes(b"{}")
    assert subprocess.run(check, capture_output=True).returncode != 0
