"""Replace names in texts by pseudonyms that keep their relations: equal things stay equal, subnets stay together.

Pseudonyms are derived from a key, so several processes with the same key write the same ones. Replaced are:

- names that are given (hosts, people, files), wherever they stand between other letters and digits, in any case;
- users after `user=`, `for user`, `uid=1000(...)`, in `/home/<user>`; mail addresses;
- IPv4 and IPv6 addresses: every octet, or group, depends on those before it, so two addresses share as long a prefix
  before as after (except loopback, unspecified, broadcast and multicast, which identify no site); MAC addresses;
- paths: each component but the usual ones of a system, numbers and the ending, so that a folder's files stay together;
- literals of SQL: what stands in quotes, and numbers after an operator, which keep their number of digits.

A name that is neither given nor at such a place is not replaced. A version of four numbers looks like an address.
Numbers are not translated back: any number could be the pseudonym of another.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

#: Folders and users that every system has, so that they identify no site.
_USUAL = frozenset(
    "bin boot dev etc export home lib lib32 lib64 libexec local log media mnt net opt proc root run sbin share spool srv"
    " stat status sys tmp usr users var task fd maps null zero random urandom shm pts tty self thread-self u01 u02 system32"
    " windows program files".split()
)
_NOBODY = frozenset("root oracle grid daemon nobody bin sys adm system public user users the name is of for".split())

_MAIL = re.compile(r"(?:[\w.+-]+|\*{2,})@[\w-]+(?:\.[\w-]+)+")  # `**`: a masked address shows only its domain
_USERS = (
    re.compile(r"(?i)\buser(?:name|id)?\s*[=:]\s*[\"']?([A-Za-z][\w.$-]{1,60})"),
    re.compile(r"(?i)\b(?:for|invalid|role|by) user ([A-Za-z][\w.$-]{1,60})"),
    re.compile(r"(?i)\b(?:user|role) [\"']([A-Za-z][\w.$-]{1,60})[\"']"),
    re.compile(r"\b[ug]id=\d+\(([A-Za-z][\w.$-]{1,60})\)"),
    re.compile(r"/(?:home|Users|export/home)/([A-Za-z][\w.-]{1,60})"),
)
_MAC = re.compile(r"(?<![\w:.-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![\w:-])")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_PATH = re.compile(r"(?<![\w./:\\-])(?:/[\w.+@%=~$#{}-]+)+/?")
_URL_PATH = re.compile(r"(?<=://)([^\s/\"'<>]+)((?:/[^\s/\"'<>?#]+)+/?)")
_WINDOWS = re.compile(r"(?<!\w)[A-Za-z]:(?:\\[^\\\s\"'<>|:*?]+)+\\?")
_COMPONENT = re.compile(r"[^/\\]+")
_SQL = re.compile(r"(?i)\b(?:select|insert|update|delete|merge|where|values|from|call|exec(?:ute)?)\b")
_QUOTED = re.compile(r"(?<!\w)'((?:[^']|'')*)'")
_NUMBER = re.compile(r"(?i)([=<>,(]\s*|\b(?:like|between|and|in|limit)\s+)(\d+(?:\.\d+)?)\b")
_ENDING = re.compile(r"(?:\.[A-Za-z0-9]{1,5})+$")


class Pseudonyms:
    """Pseudonyms of one export.

    `names`: each given name -> its kind. `replaced`: each pseudonym used so far -> kind and original text.

    >>> p = Pseudonyms(b"key", {"db1": "host"})
    >>> p.text("DB1: 10.1.2.3 and 10.1.2.77") == p.text("db1: 10.1.2.3 and 10.1.2.77")
    True
    """

    def __init__(self, key: bytes, names: Mapping[str, str]) -> None:
        self._key = key
        self.names = {name.lower(): kind for name, kind in names.items() if name.strip()}
        self.replaced: dict[str, tuple[str, str]] = {}

    def learn(self, texts: Iterable[str]) -> None:
        """Find user names in texts and add them to `names`; call it with all texts before the first `text`."""
        for text in texts:
            for pattern in _USERS:
                for found in pattern.finditer(text):
                    name = found[1].lower().rstrip(".-")
                    if len(name) > 1 and name not in _NOBODY:
                        self.names.setdefault(name, "user")
        self.__dict__.pop("_named", None)

    def add(self, kind: str, values: Iterable[str]) -> None:
        """Add values that are whole names, except users that every system has and values without a letter."""
        for value in values:
            name = value.lower()
            if len(name) > 1 and name not in _NOBODY and any(c.isalpha() for c in name):
                self.names.setdefault(name, kind)
        self.__dict__.pop("_named", None)

    def text(self, text: str) -> str:
        """Return a text with every name replaced; a pseudonym is not replaced again."""
        pieces: list[str | _Done] = [text]
        if "@" in text:
            pieces = self._each(pieces, _MAIL, lambda m: f"{self._word('mail', m[0].lower(), m[0])}@mail.invalid")
        sql = _SQL.search(text) is not None
        if sql:
            pieces = self._each(pieces, _QUOTED, lambda m: f"'{self._word('literal', m[1])}'" if m[1] else m[0])
        pieces = self._each(pieces, _MAC, lambda m: self._mac(m[0]))
        pieces = self._each(pieces, _IPV4, lambda m: self._address(m[0]))
        if ":" in text:
            pieces = self._each(pieces, _IPV6, lambda m: self._address(m[0]))
        if sql:
            pieces = self._each(pieces, _NUMBER, lambda m: m[1] + self._digits(m[2]))
        if "/" in text:
            pieces = self._each(pieces, _URL_PATH, lambda m: self._in_names(m[1]) + self._path(m[2]))
            pieces = self._each(pieces, _PATH, lambda m: self._path(m[0]))
        if "\\" in text:
            pieces = self._each(pieces, _WINDOWS, lambda m: m[0][:2] + self._path(m[0][2:]))
        if self._named is not None:
            pieces = self._each(pieces, self._named, self._name)
        return "".join(piece.text if isinstance(piece, _Done) else piece for piece in pieces)

    def json(self, value: Any) -> Any:
        """Return a piece of JSON with every text in it replaced; keys stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.json(part) for key, part in value.items()}
        return [self.json(part) for part in value] if isinstance(value, list) else value

    @cached_property
    def _named(self) -> re.Pattern[str] | None:
        """Pattern for any given name that no letter or digit touches, the longest first; None without names."""
        if not self.names:
            return None
        longest_first = sorted(self.names, key=lambda name: (-len(name), name))
        return re.compile(rf"(?i)(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, longest_first))})(?![A-Za-z0-9])")

    def _each(
        self, pieces: list[str | _Done], pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]
    ) -> list[str | _Done]:
        made: list[str | _Done] = []
        for piece in pieces:
            if isinstance(piece, _Done):
                made.append(piece)
                continue
            at = 0
            for match in pattern.finditer(piece):
                new = replace(match)
                if new != match[0]:
                    made += [piece[at : match.start()], _Done(new)]
                    at = match.end()
            made.append(piece[at:])
        return made

    def _name(self, match: re.Match[str]) -> str:
        name = match[0].lower()
        return self._word(self.names[name], name, match[0])

    def _in_names(self, text: str) -> str:
        """Replace addresses and given names in a text that is part of something larger, such as the host of a URL."""
        text = _IPV4.sub(lambda m: self._address(m[0]), text)
        return self._named.sub(self._name, text) if self._named is not None else text

    def _word(self, kind: str, name: str, shown: str | None = None) -> str:
        """Return the pseudonym of a name; `shown` is its original spelling, recorded for `translated`."""
        ending = match[0] if kind in ("file", "path") and (match := _ENDING.search(name)) and match.start() else ""
        made = f"{kind}-{self._digest(kind, name)[:5].hex()}{ending}"
        self.replaced.setdefault(made, (kind, shown if shown is not None else name))
        return made

    def _path(self, path: str) -> str:
        return _COMPONENT.sub(lambda m: self._component(m[0]), path)

    def _component(self, part: str) -> str:
        lower = part.lower()
        if lower in self.names:
            return self._word(self.names[lower], lower, part)
        if lower in _USUAL or part.isdigit() or not any(c.isalpha() for c in part):
            return part
        return self._word("path", part)

    def _digits(self, number: str) -> str:
        """Return a pseudonym of a number with as many digits, so that SQL stays valid."""
        drawn = self._digest("number", number)
        digits = (str(1 + drawn[0] % 9 if k == 0 else drawn[k % len(drawn)] % 10) for k in range(len(number)))
        return "".join(digit if c.isdigit() else c for c, digit in zip(number, digits, strict=True))

    def _mac(self, address: str) -> str:
        sign = "-" if "-" in address else ":"
        made = sign.join(
            ["02", *(f"{byte:02x}" for byte in self._digest("mac", address.lower().replace("-", ":"))[:5])]
        )
        self.replaced.setdefault(made, ("address", address))
        return made

    def _address(self, text: str) -> str:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return text
        if address.is_loopback or address.is_unspecified or address.is_multicast or text == "255.255.255.255":
            return text
        packed, size = address.packed, 1 if address.version == 4 else 2
        if not _plain(packed[:size]):
            return text
        made = self._permuted(b"", packed[:size])
        while not _plain(made):  # cycle walking: the map stays one to one, because every input is plain
            made = self._permuted(b"", made)
        for at in range(size, len(packed), size):
            made += self._permuted(packed[:at], packed[at : at + size])
        told = str(ipaddress.ip_address(made))
        self.replaced.setdefault(told, ("address", text))
        return told

    def _permuted(self, before: bytes, group: bytes) -> bytes:
        """Map a group of bytes to another, one to one, by a permutation that depends on the groups before it."""
        half = 4 * len(group)
        value, mask = int.from_bytes(group), (1 << half) - 1
        left, right = value >> half, value & mask
        for step in range(6):
            drawn = self._digest("bits", f"{before.hex()} {len(group)} {step} {right}")
            left, right = right, left ^ int.from_bytes(drawn[:2]) & mask
        return (left << half | right).to_bytes(len(group))

    def _digest(self, kind: str, name: str) -> bytes:
        return hmac.new(self._key, f"{kind}\0{name}".encode(errors="surrogatepass"), hashlib.blake2s).digest()


def _plain(first: bytes) -> bool:
    """Decide by its first bytes whether an address may be a single machine's: not loopback, multicast or reserved."""
    return first[0] not in (0, 127) and first[0] < 224 if len(first) == 1 else first[0] not in (0, 0xFF)


class _Done:
    """A piece of a text that is replaced already and stays as it is."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def translated(text: str, replaced: Mapping[str, tuple[str, str]]) -> str:
    """Replace the pseudonyms in a text by the original names; `replaced` is that of `Pseudonyms`."""
    known = sorted((word for word in replaced if word), key=lambda word: (-len(word), word))
    if not known:
        return text
    words = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, known))})(?![A-Za-z0-9])")
    return words.sub(lambda m: replaced[m[0]][1], text)
