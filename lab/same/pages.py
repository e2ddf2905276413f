"""Record the pages of the five sample rooms of a running Exhibit, as a browser without scripts gets them.

Every address in a link, a source, an `hx-get` or a `data-` attribute of a page of the room is followed. General pages
are recorded if a page of a room links to them; links on general pages are not followed. Style sheets, scripts and
pictures are recorded by the hash in their names, because equal pages with equal files look the same in a browser.
"""

from __future__ import annotations

import html
import http.cookiejar
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from lab.same.placeholders import Placeholders
from lab.same.plain_page import page_lines
from tests.served import served

SAMPLES = ("001", "000", "002", "003", "004")
PASSWORD = "correct horse battery staple"
QUIET_S = 12.0
"""Seconds without a change of its page after which a room counts as judged."""
JUDGED_S = 600.0
MOST_PAGES = 900
"""Maximum number of recorded pages of one room; further addresses are only counted."""
MOST_QUERIES = 20
"""Maximum number of recorded addresses that differ only in their query, such as the thresholds of each rule; further
ones are only counted."""
ASKED_BY_SCRIPTS = (
    "timeline/data?frame=A",
    "timeline/picture.svg?frame=A",
    "timeline/rows.csv?frame=A",
)
"""Addresses below a room that scripts build, so that no page contains them."""
LEFT_OUT = re.compile(r"/stream$|/logout/|^/admin/|^/static/|/uploads/$|/here/$")
"""Addresses that are not fetched: endless streams, the logout, Django's admin, and others that are no page."""
ADDRESSES = re.compile(r"""\s(?:href|src|hx-get|data-[a-z-]+)="(/[^"\s]*|\?[^"\s]*)\"""")


@dataclass(frozen=True)
class Answer:
    status: int
    kind: str
    address: str
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")


class Visitor:
    """A browser without scripts: cookies, GET and POST, redirects followed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()), urllib.request.ProxyHandler({})
        )

    def get(self, address: str, form: dict[str, str] | None = None) -> Answer:
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        request = urllib.request.Request(urllib.parse.urljoin(self.url, address), data, {"Referer": self.url + "/"})
        try:
            answer = self._opener.open(request, timeout=120)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            at = urllib.parse.urlsplit(answer.url)
            kind = answer.headers.get_content_type()
            return Answer(answer.status, kind, at.path + (f"?{at.query}" if at.query else ""), answer.read())

    def send(self, page: str, form: dict[str, str], address: str | None = None) -> Answer:
        """Send a form of a page with the token that the page carries."""
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get(page).text)
        if token is None:
            raise RuntimeError(f"{page} offers no form")
        return self.get(address or page, form | {"csrfmiddlewaretoken": token[1]})


def record_pages(checkout: Path, python: str, out: Path) -> dict[str, int]:
    """Start the checkout's server in a folder of its own, open the sample rooms and save their pages; return counts."""
    counts = {"pages": 0, "beyond": 0}
    with served(checkout=checkout, python=python) as running:
        placeholders = Placeholders(datetime.now(UTC), running.url)
        visitor = Visitor(running.url)
        made = visitor.send(running.first_link, {"username": "ada", "email": "", "password": PASSWORD})
        if made.status != 200:
            raise RuntimeError(f"the first account was refused: {made.text[:2000]}")
        rooms = {number: _open(visitor, number, placeholders) for number in SAMPLES}
        general = dict.fromkeys(["/", "/rules/", "/help/", "/search/?q=shmat"])
        for number, room in rooms.items():
            beyond = _save_room(visitor, room, general, out / number, placeholders)
            counts["beyond"] += beyond
        for address in general:
            _save(visitor.get(address), address, out / "general", placeholders)
        files = "".join(f"{name} {content}\n" for name, content in sorted(placeholders.static.items()))
        (out / "general" / "static.txt").write_text(f"/static/\n200 text/plain /static/\n{files}", encoding="utf-8")
    counts["pages"] = sum(1 for _ in out.rglob("*.txt"))
    return counts


def _open(visitor: Visitor, number: str, placeholders: Placeholders) -> str:
    """Open a sample room and wait until it is judged; return its address."""
    address = visitor.send("/", {"number": number}, "/sample/").address
    slug = address.strip("/").rpartition("/")[2]
    placeholders.slugs[slug] = f"ROOM-{number}"
    until = time.monotonic() + JUDGED_S
    seen, since = "", time.monotonic()
    while True:
        read = set(re.findall(rf"{address}evidence/(\d+)/", visitor.get(f"{address}evidence/").text))
        report = visitor.get(f"/api/rooms/{slug}/report.json")
        complete = report.status == 200 and len(json.loads(report.body)["artifacts"]) == len(read)
        now = "\n".join(sorted(set(re.findall(r'data-(?:seq|evaluation)="\d+"', visitor.get(address).text))))
        if now != seen:
            seen, since = now, time.monotonic()
        if complete and time.monotonic() - since > QUIET_S:
            return address
        if time.monotonic() > until:
            raise RuntimeError(f"the sample room {number} was not judged after {JUDGED_S:.0f} s")
        time.sleep(1)


def _save_room(visitor: Visitor, room: str, general: dict[str, None], out: Path, placeholders: Placeholders) -> int:
    """Save every page that the room links to; add general addresses to `general`; return how many were skipped."""
    slug = room.strip("/").rpartition("/")[2]
    found = dict.fromkeys([room, f"/api/rooms/{slug}/report.json", *(room + more for more in ASKED_BY_SCRIPTS)])
    queries = Counter(_path(address) for address in found)
    waiting = deque(found)
    saved = beyond = 0
    while waiting and saved < MOST_PAGES:
        address = waiting.popleft()
        answer = visitor.get(address)
        if answer.status == 405:  # the address of a form
            continue
        _save(answer, address, out, placeholders)
        saved += 1
        named = _named(answer, address)
        general |= dict.fromkeys(one for one in named if slug not in one and not re.match(r"/rooms/(?!new/)", one))
        if re.search(r"/evidence/\d+/$", address):
            named.append(f"{address}lines?from=1&to=2000")
        for one in named:
            if one.startswith(room) and one not in found:
                found[one] = None
                queries[_path(one)] += 1
                if queries[_path(one)] > MOST_QUERIES:
                    beyond += 1
                else:
                    waiting.append(one)
    return beyond + len(waiting)


def _path(address: str) -> str:
    return address.partition("?")[0]


def _named(answer: Answer, address: str) -> list[str]:
    """Return the addresses in a page, in the order of the page."""
    if answer.kind != "text/html":
        return []
    named = []
    for text in ADDRESSES.findall(answer.text):
        split = urllib.parse.urlsplit(urllib.parse.urljoin(address, html.unescape(text)))
        if not split.netloc and not LEFT_OUT.search(split.path):
            named.append(split.path + (f"?{split.query}" if split.query else ""))
    return list(dict.fromkeys(named))


def _save(answer: Answer, address: str, out: Path, placeholders: Placeholders) -> None:
    """Write an answer as text: elements of a page, keys of JSON, lines of a text; for others only status and type."""
    here = placeholders.replace(address)
    head = f"{here}\n{answer.status} {answer.kind} {placeholders.replace(answer.address)}\n"
    if answer.kind in ("text/html", "image/svg+xml"):
        body = "\n".join(page_lines(placeholders.replace_page(answer.text)))
    elif answer.kind == "application/json":
        body = json.dumps(placeholders.replace_json(json.loads(answer.body)), indent=1, ensure_ascii=False)
    elif answer.kind.startswith("text/") or "yaml" in answer.kind:
        body = placeholders.replace(answer.text)
    elif answer.address.endswith("/original"):
        body = sha256(answer.body).hexdigest()
    else:
        body = ""
    name = re.sub(r"[^A-Za-z0-9=.-]+", "_", re.sub(r"^/(api/)?rooms/ROOM-\d+/", r"\1", here)).strip("_")
    if len(name) > 80:
        name = f"{name[:70]}-{sha256(here.encode()).hexdigest()[:8]}"
    out.mkdir(parents=True, exist_ok=True)
    file = out / f"{name or 'index'}.txt"
    if file.exists():
        file = out / f"{name}-{sha256(here.encode()).hexdigest()[:8]}.txt"
    file.write_text(head + body + "\n", encoding="utf-8")
