"""Replace values that differ between two runs of the same code: times, tokens, addresses, the order of jobs."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Any

STAMP = re.compile(r"(?<!\d)(20\d\d)-(\d\d)-(\d\d)([T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?(?:UTC|Z)|\+00:00)?)?")
AHEAD = timedelta(days=400)
"""Dates from the day before the recording to this long after it are replaced; dates in the evidence are older."""
TOKEN = re.compile(r'(csrfmiddlewaretoken" value="|"X-CSRFToken": "|X-CSRFToken&quot;: &quot;)\w+')
COUNTER = re.compile(r'(data-(?:seq|evaluation)=")\d+')
HASHED = re.compile(r"(/static/[\w./-]+?)\.([0-9a-f]{12})(\.\w+)")
TIME = re.compile(r"<time\b[^>]*>.*?</time>", re.DOTALL)
TOOK = re.compile(r'(data-label="Time to verdict">)\s*\d+ (?:s|min)\b')
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
ORDER_OF_WORK = re.compile(r'(<p\b[^>]*\bid="changed"[^>]*>).*?(</p>)', re.DOTALL)
"""Text about earlier verdicts of the room: it depends on the number of files that were read when judging began."""
HASHES = (
    re.compile(r'(<td class="sha" title=")[0-9a-f]{64}(">)[0-9a-f]+'),  # of an entry of the activity and all before it
    re.compile(r'("exhibit-content-sha256" content=")[0-9a-f]{64}()'),
    re.compile(r"(SHA-256 of this content: `)[0-9a-f]{64}()"),
    re.compile(r'(\binputs <span class="hash">)[0-9a-f]{64}()'),  # of a case, with the folders that hold its evidence
)
"""Hashes of contents that include a time or a folder of the recording."""


class Placeholders:
    """Replacements of one recording.

    `slugs`: slug of each room -> its placeholder. `static`: each file that the pages loaded -> the hash in its name.
    """

    def __init__(self, began: datetime, url: str) -> None:
        self.first: date = (began - timedelta(days=1)).date()
        self.first_s = (began - timedelta(days=1)).timestamp()
        self.today: date = began.date()
        self.url = url
        self.slugs: dict[str, str] = {}
        self.static: dict[str, str] = {}

    def replace(self, text: str) -> str:
        """Replace addresses, slugs and the dates of the recording."""
        for slug, name in self.slugs.items():
            text = text.replace(slug, name)
        for pattern in HASHES:
            text = pattern.sub(r"\1HASH\2", text)
        return STAMP.sub(self._stamp, text.replace(self.url, "http://EXHIBIT"))

    def replace_page(self, page: str) -> str:
        """Replace the same as `replace`, and tokens, counters, hashes of files and the text about the order of work."""
        page = TIME.sub(self._time, page)
        page = ORDER_OF_WORK.sub(r"\1CHANGED\2", page)
        page = TOKEN.sub(r"\1TOKEN", UUID.sub("UUID", page))
        page = TOOK.sub(r"\1SECONDS", COUNTER.sub(r"\1N", page))
        self.static |= {before + after: content for before, content, after in HASHED.findall(page)}
        page = HASHED.sub(r"\1\3", page)
        return self.replace(page)

    def replace_json(self, value: Any) -> Any:
        """Apply `replace` to every text in a JSON value, and replace numbers that are times of the recording."""
        if isinstance(value, dict):
            return {self.replace(key): self.replace_json(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.replace_json(one) for one in value]
        if isinstance(value, float | int) and self.first_s <= value <= self.first_s + AHEAD.total_seconds():
            return "NOW"
        return self.replace(value) if isinstance(value, str) else value

    def _stamp(self, found: re.Match[str]) -> str:
        try:
            day = date(int(found[1]), int(found[2]), int(found[3]))
        except ValueError:
            return found[0]
        if not self.first <= day <= self.first + AHEAD:
            return found[0]
        days = (day - self.today).days
        return "NOW" if found[4] and days in (-1, 0, 1) else f"TODAY{days:+d}" if days > 1 else "TODAY"

    def _time(self, found: re.Match[str]) -> str:
        """Replace a `time` element with a date of the recording as a whole: its text may be a time without a date."""
        stamp = STAMP.search(found[0])
        return "<time>NOW</time>" if stamp and self._stamp(stamp) != stamp[0] else found[0]
