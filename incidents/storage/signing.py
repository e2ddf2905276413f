"""Sign what leaves this site, in minisign's format, so that `minisign -V` checks it anywhere.

The key follows from SECRET_KEY and is not stored: after a new SECRET_KEY this site signs as somebody else.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

_KEY, _PREHASHED = b"Ed", b"ED"  # algorithm of a public key, and of a signature over the BLAKE2b hash of a file
_UNTRUSTED, _TRUSTED = "untrusted comment: signature of an Exhibit site", "trusted comment: "


class NotSigned(Exception):
    """A signature or a public key is damaged, or the signature is not of these bytes."""


def public_key() -> str:
    """Return this site's public key as minisign writes it: base64 of 42 bytes, beginning with `RW`."""
    return base64.b64encode(_KEY + _id_of(_public()) + _public()).decode()


def sign(content: bytes, comment: str) -> bytes:
    """Return the minisign signature file of `content`; the comment, one line, is signed with it."""
    key = _private()
    signature = key.sign(hashlib.blake2b(content).digest())
    overall = key.sign(signature + comment.encode())
    return _written(_PREHASHED + _id_of(_public()) + signature, comment, overall)


def verify(content: bytes, signature: bytes, key: str) -> str:
    """Check a signature file against a public key; return its trusted comment. Raises `NotSigned`.

    Every byte must be as `sign` writes it, the comment that minisign does not trust included.
    """
    packed_key = _decoded(key, 42)
    try:
        _, packed, said, packed_overall = signature.decode().split("\n")[:4]
    except ValueError as error:
        raise NotSigned("the signature is not in minisign's format") from error
    comment = said.removeprefix(_TRUSTED)
    packed_signature, overall = _decoded(packed, 74), _decoded(packed_overall, 64)
    well_formed = signature == _written(packed_signature, comment, overall)
    if packed_key[:2] != _KEY or packed_signature[:2] != _PREHASHED or not well_formed:
        raise NotSigned("the signature is not in minisign's format")
    if packed_key[2:10] != packed_signature[2:10]:
        raise NotSigned("the signature was made with another key")
    public = Ed25519PublicKey.from_public_bytes(packed_key[10:])
    try:
        public.verify(packed_signature[10:], hashlib.blake2b(content).digest())
        public.verify(overall, packed_signature[10:] + comment.encode())
    except InvalidSignature as error:
        raise NotSigned("the signature is not of these bytes") from error
    return comment


def _written(signature: bytes, comment: str, overall: bytes) -> bytes:
    lines = (_UNTRUSTED, base64.b64encode(signature).decode(), _TRUSTED + comment, base64.b64encode(overall).decode())
    return "".join(f"{line}\n" for line in lines).encode()


def _private() -> Ed25519PrivateKey:
    seed = hashlib.blake2b(settings.SECRET_KEY.encode(), person=b"exhibit bundles", digest_size=32).digest()
    return Ed25519PrivateKey.from_private_bytes(seed)


def _public() -> bytes:
    return _private().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def _id_of(public: bytes) -> bytes:
    return hashlib.blake2b(public, digest_size=8).digest()


def _decoded(text: str, size: int) -> bytes:
    try:
        packed = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error) as error:
        raise NotSigned("the signature or the key is no base64") from error
    if len(packed) != size:
        raise NotSigned("the signature or the key has another length")
    return packed
