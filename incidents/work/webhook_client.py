"""Send one message to an external address, and never to an internal one (server-side request forgery).

A person types a webhook's address, but the server can reach networks that this person cannot: a name that leads to the
loopback, to a private network or to a cloud's metadata service must be refused. So the name is resolved once, every
address it has is checked, and the connection goes to the checked address itself: a different answer a moment later (DNS
rebinding) has no effect. Redirects are not followed, and a proxy named in the environment is not used.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from incidents.errors import Refused

PATIENCE_S = 10.0  # maximum time for one message, name resolution aside
MOST_READ = 4096  # bytes of the response that are read
PRIVATE = "This address leads into a private network or to this server itself. A webhook goes to public addresses only."
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class NotSent(Exception):
    """The message did not arrive, or its arrival was not confirmed; the text is for the log that leads see."""


@dataclass(frozen=True)
class Receipt:
    """The receiver's response: HTTP status, the beginning of its body, the time it took."""

    status: int
    words: str
    took_ms: int


@dataclass(frozen=True)
class Target:
    """A checked address. `host` is for the certificate and the Host header, `address` is the one to connect to."""

    url: SplitResult
    host: str
    port: int
    address: str


def signature(secret: str, body: bytes, at: int) -> str:
    """Return the value of `Exhibit-Signature`: the time and HMAC-SHA256 of time, a dot and the body.

    >>> signature("k", b"{}", 1)
    't=1,v1=3dd49b2593d0f9a349e9e71c4bde3e2b862c2be4003fe9b4ba81332029310158'
    """
    digest = hmac.new(secret.encode(), b"%d." % at + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def split(url: str) -> SplitResult:
    """Split an address and check it without the network; raise `Refused` with the fault."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("This is no web address.") from None
    loopback = settings.WEBHOOK_TEST_HOSTS
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.netloc in loopback):
        raise Refused("A webhook needs an https:// address: what it carries is about an incident.")
    if parts.username is not None or parts.password is not None:
        raise Refused("Leave user name and password out of the address.")
    if not parts.hostname or any(ord(letter) < 33 or ord(letter) > 126 for letter in url):
        raise Refused("This is no web address.")
    if parts.fragment:
        raise Refused("Leave out what follows the # sign: it is never sent.")
    if port == 0:
        raise Refused("Port 0 is no port.")
    try:
        literal = ipaddress.ip_address(parts.hostname)
    except ValueError:
        if parts.hostname.replace(".", "").isdigit() or parts.hostname.lower().startswith("0x"):
            raise Refused("Write the address as a name.") from None  # 2130706433, 0x7f000001, 127.1: the loopback
    else:
        if parts.netloc not in loopback and not is_public(literal):
            raise Refused(PRIVATE)
    return parts


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Tell whether an address is public. IPv4 addresses inside IPv6 addresses are checked as well.

    >>> [is_public(ipaddress.ip_address(text)) for text in ("127.0.0.1", "10.0.0.1", "::ffff:169.254.169.254", "8.8.8.8")]
    [False, False, False, True]
    """
    if isinstance(address, ipaddress.IPv6Address):
        inside = address.ipv4_mapped
        if inside is None and address in _NAT64:
            inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inside is not None:
            return is_public(inside)
        if address.sixtofour or address.teredo or address.is_site_local or int(address) >> 32 == 0:
            return False  # tunnels and obsolete forms: no web server uses them, but they could bypass this check
    return (
        address.is_global
        and not address.is_multicast
        and not address.is_reserved
        and not address.is_unspecified
        and not address.is_loopback
        and not address.is_link_local
    )


def target(url: str) -> Target:
    """Resolve an address once. One private address among several refuses all: such a mixture is an attack."""
    parts = split(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotSent(f"The name {host} could not be resolved: {_why(error)}") from None
    addresses = [str(entry[4][0]).split("%")[0] for entry in found]
    if parts.netloc not in settings.WEBHOOK_TEST_HOSTS:
        for address in addresses:
            if not is_public(ipaddress.ip_address(address)):
                raise NotSent(PRIVATE)
    return Target(parts, host, port, addresses[0])


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Receipt:
    """Send once and read the start of the response, within `PATIENCE_S` once the name is resolved. Raises `NotSent`."""
    began = time.monotonic()
    to = target(url)
    connection = _Pinned(to)
    # A receiver that sends a byte now and then would never trigger the socket's time-out.
    watch = threading.Timer(PATIENCE_S, connection.cut)
    watch.daemon = True
    watch.start()
    try:
        path = (to.url.path or "/") + (f"?{to.url.query}" if to.url.query else "")
        connection.request("POST", path, body, {**headers, "Content-Type": "application/json", "Connection": "close"})
        answer = connection.getresponse()
        words = answer.read(MOST_READ).decode("utf-8", "replace")
        status = answer.status
    except ssl.SSLError as error:
        raise NotSent(f"The certificate of {to.host} was not accepted: {error.reason or error}") from None
    except TimeoutError:
        raise NotSent(f"{to.host} did not answer within {PATIENCE_S:.0f} s.") from None
    except (OSError, http.client.HTTPException) as error:
        if connection.was_cut:
            raise NotSent(f"{to.host} did not answer within {PATIENCE_S:.0f} s.") from None
        raise NotSent(f"{to.host} could not be reached: {_why(error)}") from None
    finally:
        watch.cancel()
        connection.close()
    if connection.was_cut:
        raise NotSent(f"{to.host} did not answer within {PATIENCE_S:.0f} s.")
    return Receipt(status, words, round((time.monotonic() - began) * 1000))


def _why(error: Exception) -> str:
    """Return an error in words, without the number that the system gives it."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class _Pinned(http.client.HTTPConnection):
    """A connection to the checked address, whatever the name resolves to by now."""

    def __init__(self, to: Target) -> None:
        # The Host header names the port only if it is not the scheme's default.
        self.default_port = 443 if to.url.scheme == "https" else 80
        super().__init__(to.host, to.port, timeout=PATIENCE_S)
        self._to = to
        self.was_cut = False
        self._held: socket.socket | None = None  # http.client drops its reference once the response begins

    def connect(self) -> None:
        self.sock = self._held = socket.create_connection((self._to.address, self._to.port), PATIENCE_S)
        if self._to.url.scheme == "https":
            context = ssl.create_default_context()
            self.sock = self._held = context.wrap_socket(self.sock, server_hostname=self._to.host)

    def cut(self) -> None:
        self.was_cut = True
        if self._held is not None:
            with suppress(OSError):  # already closed
                self._held.shutdown(socket.SHUT_RDWR)
