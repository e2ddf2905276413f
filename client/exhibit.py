#!/usr/bin/env python3
"""Call Exhibit from a program or a shell. One file, Python 3.11 or newer, nothing to install.

    from exhibit import Exhibit
    room = Exhibit("https://exhibit.example.com", token).room("logins-take-39-s-abcdefgh")
    for finding in room.findings():
        print(finding["rule"], finding["content"]["headline"])

    export EXHIBIT_URL=https://exhibit.example.com EXHIBIT_TOKEN=exhibit_...
    exhibit.py rooms
    exhibit.py upload ROOM trace.txt --host db1
    exhibit.py watch ROOM                       # until everything is read and judged
    exhibit.py ask ROOM 'select * from syscalls limit 5'
    exhibit.py report ROOM
    exhibit.py summary ROOM                     # the page for managers

`pip install` of the folder makes a command `exhibit` of it.

The token comes from the page "Access tokens". It is never taken from the command line, which other users of a machine see.
"""

from __future__ import annotations

import argparse
import csv
import http.client
import json
import os
import ssl
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypedDict, cast
from urllib.parse import quote, urlencode, urlsplit

#: Files up to this many bytes are sent in one call of the API, larger ones as a stream.
SMALL = 4 * 2**20
#: Tries of a call, and seconds before the second; each further wait is twice as long.
TRIES, PAUSE_S = 4, 1.0
WAIT_S = 120.0
A_PAGE = 200

Json = dict[str, Any]


class Verdict(TypedDict):
    state: str
    sentence: str
    layer: str | None
    severity: str | None
    judged_at: str


class RoomRow(TypedDict):
    """A room in a list. docs: `/api/` of the server."""

    slug: str
    title: str
    status: str
    severity: int | None
    archived: bool
    opened_at: str
    closed_at: str | None
    closing: bool
    verdict: Verdict | None


class Artifact(TypedDict):
    number: int
    name: str
    size: int
    sha256: str
    way: str
    uploader: str
    received_at: str
    state: str
    cause: str | None
    kind: str | None
    variant: str | None
    lines: int | None
    lines_read: int | None
    account: dict[str, int] | None
    purged_at: str | None


class Finding(TypedDict):
    key: str
    rule: str
    kind: str
    group: str
    rank: int
    version: int | None
    first_seen: str
    gone_since: str | None
    disputed: bool
    content: Json


class Judged(TypedDict):
    evaluation: int
    made_at: str
    verdict: Json
    hypotheses: list[Json]
    cleared: list[Json]
    asks: list[Json]
    disputed: list[str]


class Answer(TypedDict):
    columns: list[str]
    types: list[str]
    rows: list[list[Any]]
    more: int
    seconds: float
    cut: list[str]
    without_rows: list[str]
    not_built: list[str]


class Problem(Exception):
    """Exhibit refused: `status` is that of HTTP, `members` are those of the problem (RFC 9457)."""

    def __init__(self, status: int, members: Json) -> None:
        wrong = "; ".join(f"{one['where']}: {one['why']}" for one in members.get("errors", []))
        words = str(members.get("detail") or members.get("error") or f"HTTP {status}")
        super().__init__(f"{words} {wrong}".strip())
        self.status = status
        self.members = members


class Unreachable(Exception):
    """Exhibit did not answer, however often it was tried."""


class Exhibit:
    """One Exhibit, as the owner of a token sees it."""

    def __init__(self, url: str, token: str, *, pause_s: float = PAUSE_S) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address like https://exhibit.example.com")
        self._parts = parts
        self._token = token
        self._pause_s = pause_s

    def rooms(self, archived: bool = False) -> Iterator[RoomRow]:
        """Yield the rooms, the newest first."""
        return cast(Iterator[RoomRow], self._all("/rooms", archived=archived))

    def room(self, slug: str) -> Room:
        """Return the room with this last part of its address. Nothing is asked yet."""
        return Room(self, slug)

    def open_room(self, title: str, **known: Any) -> Room:
        """Open a room; `known` are further members of `NewRoom`, such as `symptom_text`."""
        made = self.call("POST", "/rooms", {"title": title, **known})
        return Room(self, str(made["slug"]))

    def call(self, method: str, path: str, body: Any = None, **asked: Any) -> Json:
        """Call an operation below `/api/v1`; `body` is sent as JSON, bytes as they are.

        A call that got no answer is made again. What writes has a key, so it is done once all the same.
        """
        headers = {"Accept": "application/json"}
        if isinstance(body, bytes):
            sent, headers["Content-Type"] = body, "application/octet-stream"
        elif body is not None or method != "GET":
            sent, headers["Content-Type"] = json.dumps(body or {}).encode(), "application/json"
        else:
            sent = b""
        if method != "GET":
            headers["Idempotency-Key"] = str(uuid.uuid4())
        query = urlencode({name: _written(value) for name, value in asked.items() if value is not None})
        return self._patiently(lambda: self._once(method, f"/api/v1{path}{'?' if query else ''}{query}", sent, headers))

    def _all(self, path: str, **asked: Any) -> Iterator[Json]:
        """Yield the rows of a list, page by page."""
        page = pages = 1
        while page <= pages:
            found = self.call("GET", path, page=page, size=A_PAGE, **asked)
            yield from found["items"]
            page, pages = page + 1, found["pages"]

    def _patiently(self, call: Callable[[], Json]) -> Json:
        why = ""
        for tried in range(TRIES):
            if tried:
                time.sleep(self._pause_s * 2 ** (tried - 1))
            try:
                return call()
            except (OSError, http.client.HTTPException) as error:
                why = str(error) or type(error).__name__
            except Problem as problem:
                if problem.status not in (429, 502, 503, 504):
                    raise
                why = str(problem)
        raise Unreachable(f"{self._parts.netloc} did not answer: {why}")

    def _once(self, method: str, path: str, body: bytes | BinaryIO, headers: Mapping[str, str]) -> Json:
        parts = self._parts
        if parts.scheme == "https":
            line: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.hostname or "", parts.port, timeout=WAIT_S, context=ssl.create_default_context()
            )
        else:
            line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=WAIT_S)
        try:
            line.request(
                method, parts.path.rstrip("/") + path, body, {**headers, "Authorization": f"Bearer {self._token}"}
            )
            answer = line.getresponse()
            text = answer.read()
        finally:
            line.close()
        members = _object(text)
        if answer.status >= 300:
            raise Problem(answer.status, members)
        return members


class Room:
    """One room. Lists are read page by page while one goes through them."""

    def __init__(self, exhibit: Exhibit, slug: str) -> None:
        self._exhibit = exhibit
        self.slug = slug
        self._path = f"/rooms/{quote(slug, safe='')}"

    def read(self) -> Json:
        """Return the room with its symptom, and what the token may do in it."""
        return self._exhibit.call("GET", self._path)

    def artifacts(self) -> Iterator[Artifact]:
        return cast(Iterator[Artifact], self._list("artifacts"))

    def findings(self, gone: bool = False) -> Iterator[Finding]:
        return cast(Iterator[Finding], self._list("findings", gone=gone))

    def observations(self) -> Iterator[Json]:
        return self._list("observations")

    def notes(self) -> Iterator[Json]:
        return self._list("notes")

    def requests(self) -> Iterator[Json]:
        return self._list("requests")

    def activity(self) -> Iterator[Json]:
        return self._list("activity")

    def log(self) -> Iterator[Json]:
        return self._list("log")

    def decisions(self) -> Iterator[Json]:
        return self._list("decisions")

    def actions(self) -> Iterator[Json]:
        return self._list("actions")

    def follow_ups(self) -> Iterator[Json]:
        return self._list("follow-ups")

    def review(self) -> Json:
        return self._exhibit.call("GET", f"{self._path}/review")

    def summary(self) -> Json:
        """Return the page for managers; its sentences have `refs`, numbers of `sources` with the cited lines."""
        return self._exhibit.call("GET", f"{self._path}/summary")

    def frames(self) -> Iterator[Json]:
        return self._list("timeline")

    def rows(self, frame: str, **window: Any) -> Iterator[Json]:
        """Yield rows of the timeline; `begin`, `end` and `lane` narrow them."""
        return self._list("timeline/rows", frame=frame, **window)

    def lines(self, artifact: int, first: int = 1, most: int = 200) -> list[Json]:
        found = self._exhibit.call("GET", f"{self._path}/artifacts/{artifact:d}/lines", first=first, most=most)
        return list(found["lines"])

    def verdict(self) -> Judged | None:
        """Return the verdict with what led to it; None before the first judgement."""
        try:
            return cast(Judged, self._exhibit.call("GET", f"{self._path}/verdict"))
        except Problem as problem:
            if problem.status == 409:
                return None
            raise

    def ask(self, sql: str) -> Answer:
        return cast(Answer, self._exhibit.call("POST", f"{self._path}/ask", {"sql": sql}))

    def note(self, text: str, **place: Any) -> Json:
        """Write a note; it is marked as a program's. `place`: `artifact`, `line_from`, `finding` and so on."""
        return self._exhibit.call("POST", f"{self._path}/notes", {"text": text, **place})

    def ask_for(self, what: str, **more: Any) -> Json:
        """Ask the room's people for evidence; `more` are further members of `NewRequest`."""
        return self._exhibit.call("POST", f"{self._path}/requests", {"what": what, **more})

    def plan(self, text: str, **more: Any) -> Json:
        """Plan an action; `more` are further members of `NewAction`."""
        return self._exhibit.call("POST", f"{self._path}/actions", {"text": text, **more})

    def log_entry(self, text: str, kind: str = "step", **more: Any) -> Json:
        """Write down what somebody did; `kind` is `change`, `update` or `step`."""
        return self._exhibit.call("POST", f"{self._path}/log/entries", {"text": text, "kind": kind, **more})

    def close(self, wait: bool = False) -> Json:
        return self._exhibit.call("POST", f"{self._path}/close", {"wait": wait})

    def reopen(self) -> Json:
        return self._exhibit.call("POST", f"{self._path}/reopen")

    def upload(self, file: Path, name: str = "", **said: str) -> int:
        """Send a file; return the number of its artifact, also if the room had the same content before.

        `said` is what is known of it: `host`, `kind`, `phase`, `role`, `os`, `tz`, `year`, `interval_s`.
        """
        size, called = file.stat().st_size, name or file.name
        try:
            if size <= SMALL:
                path = f"{self._path}/artifacts"
                return int(self._exhibit.call("POST", path, file.read_bytes(), name=called, **said)["number"])
            return int(self._exhibit._patiently(lambda: self._stream(file, size, called, said))["artifact"])
        except Problem as problem:
            if problem.status == 409 and "artifact" in problem.members:
                return int(problem.members["artifact"])
            raise

    def watch(self, every_s: float = 5.0, most_s: float = 3600.0) -> Iterator[Json]:
        """Yield the room's standing whenever it changes, until everything is read and judged, or `most_s` are over."""
        until, last = time.monotonic() + most_s, None
        while True:
            standing = self._standing()
            if standing != last:
                yield standing
            last = standing
            if standing["done"] or time.monotonic() > until:
                return
            time.sleep(every_s)

    def _standing(self) -> Json:
        states: dict[str, int] = {}
        for artifact in self.artifacts():
            states[artifact["state"]] = states.get(artifact["state"], 0) + 1
        busy = bool(self.read()["busy"])  # before the verdict: what ends in between is in it
        verdict = self.verdict()
        return {
            "artifacts": states,
            "evaluation": verdict["evaluation"] if verdict else None,
            "verdict": verdict["verdict"] if verdict else None,
            "done": not busy,
        }

    def _stream(self, file: Path, size: int, name: str, said: Mapping[str, str]) -> Json:
        headers = {f"X-Exhibit-{field}": value for field, value in said.items()}
        headers |= {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
        address = f"/api{self._path}/uploads/{quote(name, safe='')}"
        with file.open("rb") as body:
            return self._exhibit._once("PUT", address, body, headers)

    def _list(self, noun: str, **asked: Any) -> Iterator[Json]:
        return self._exhibit._all(f"{self._path}/{noun}", **asked)


def _written(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _object(text: bytes) -> Json:
    """Parse an answer as a JSON object; return {} for anything else, which a proxy may have sent."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# --- the command --------------------------------------------------------------------------------------------------

SAID = ("host", "kind", "phase", "role", "os", "tz", "year")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0, 1 for a refusal, 2 for a wrong call."""
    parser = argparse.ArgumentParser(
        prog="exhibit", description="Call Exhibit; EXHIBIT_URL and EXHIBIT_TOKEN say which."
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("rooms", help="list rooms").set_defaults(do=_rooms)
    upload = _verb(verbs, "upload", "send files into a room", _upload)
    upload.add_argument("files", nargs="+", type=Path, metavar="FILE")
    for field in SAID:
        upload.add_argument(f"--{field}", help=f"the {field} of all these files")
    watch = _verb(verbs, "watch", "say what changes, until all is read and judged", _watch)
    watch.add_argument("--every", type=float, default=5.0, metavar="SECONDS")
    watch.add_argument("--most", type=float, default=3600.0, metavar="SECONDS")
    ask = _verb(verbs, "ask", "ask the evidence tables in SQL; the answer is CSV", _ask)
    ask.add_argument("sql")
    report = _verb(verbs, "report", "print verdict and findings with their lines", _report)
    report.add_argument("--json", action="store_true", help="as JSON objects")
    summary = _verb(verbs, "summary", "print the summary for managers with the lines it rests on", _summary)
    summary.add_argument("--json", action="store_true", help="as a JSON object")
    said = parser.parse_args(arguments)
    url, token = os.environ.get("EXHIBIT_URL", ""), os.environ.get("EXHIBIT_TOKEN", "")
    if not url or not token:
        parser.error("set EXHIBIT_URL and EXHIBIT_TOKEN")
    try:
        return int(said.do(Exhibit(url, token), said))
    except (Problem, Unreachable, OSError, ValueError) as error:
        print(f"exhibit: {error}", file=sys.stderr)
        return 1


def _verb(verbs: Any, name: str, words: str, do: Callable[[Exhibit, Any], int]) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = verbs.add_parser(name, help=words)
    made.add_argument("room", help="the last part of the room's address")
    made.set_defaults(do=do)
    return made


def _rooms(exhibit: Exhibit, said: Any) -> int:
    for row in exhibit.rooms():
        verdict = row["verdict"]
        print(f"{row['slug']}\t{row['status']}\t{row['title']}\t{verdict['sentence'] if verdict else 'not judged yet'}")
    return 0


def _upload(exhibit: Exhibit, said: Any) -> int:
    known = {field: getattr(said, field) for field in SAID if getattr(said, field)}
    for file in said.files:
        print(f"{file}\tartifact {exhibit.room(said.room).upload(file, **known)}", flush=True)
    return 0


def _watch(exhibit: Exhibit, said: Any) -> int:
    standing: Json = {"done": False}
    for standing in exhibit.room(said.room).watch(said.every, said.most):
        states = (
            ", ".join(f"{count} {state}" for state, count in sorted(standing["artifacts"].items())) or "no evidence"
        )
        verdict = standing["verdict"]
        print(f"{states}; {verdict['sentence'] if verdict else 'not judged yet'}", flush=True)
    return 0 if standing["done"] else 1


def _ask(exhibit: Exhibit, said: Any) -> int:
    answer = exhibit.room(said.room).ask(said.sql)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(answer["columns"])
    writer.writerows(answer["rows"])
    for name in answer["cut"]:
        print(f"exhibit: only the first rows of {name} were looked at", file=sys.stderr)
    if answer["more"]:
        print(f"exhibit: {answer['more']} more rows", file=sys.stderr)
    return 0


def _report(exhibit: Exhibit, said: Any) -> int:
    room = exhibit.room(said.room)
    verdict = room.verdict()
    if verdict is None:
        print("exhibit: this room was not judged yet", file=sys.stderr)
        return 1
    if said.json:
        findings, observations = list(room.findings()), list(room.observations())
        print(json.dumps({**verdict, "findings": findings, "observations": observations}, indent=1, ensure_ascii=False))
        return 0
    print(verdict["verdict"]["sentence"])
    for finding in room.findings():
        content = finding["content"]
        print(
            f"\n{finding['rule']} ({finding['group']}{', disputed' if finding['disputed'] else ''}): {content['headline']}"
        )
        for cited in content.get("citations", []):
            print(f"  artifact {cited['artifact']}, lines {cited['line_from']} to {cited['line_to']}")
    return 0


def _summary(exhibit: Exhibit, said: Any) -> int:
    summary = exhibit.room(said.room).summary()
    if said.json:
        print(json.dumps(summary, indent=1, ensure_ascii=False))
        return 0
    content = summary["content"]
    print(content["title"])
    for cell in content["cells"]:
        print(f"{cell['title']}: {'; '.join(_sentences(cell))}")
    for section in content["sections"]:
        print(f"\n{section['title']}")
        for sentence in _sentences(section):
            print(f"  {sentence}")
    if content["sources"]:
        print("\nEvidence")
    for source in content["sources"]:
        for cited in source["citations"]:
            place = f"artifact {cited['artifact']} ({cited['file']}), lines {cited['line_from']} to {cited['line_to']}"
            print(f"  [{source['n']}] {place}{', withdrawn' if cited['withdrawn'] else ''}")
    return 0


def _sentences(part: Json) -> list[str]:
    """Return the sentences of a part of the summary; a lead's own words come after them, or stand instead."""
    found = []
    for one in part["sentences"]:
        signed = f"({one['by']})" if one["by"] else ""
        refs = "".join(f"[{number}]" for number in one["refs"])
        found.append(" ".join(filter(None, (one["lead"], one["text"], one["note"], signed, refs))))
    words = part.get("words")
    if not words:
        return found
    own = f"{' '.join(words['text'].split())} ({words['by']})"
    return [own] if words["way"] == "instead" else [*found, own]


if __name__ == "__main__":
    sys.exit(main())
