"""Write an announcement in the form that a chat takes: Slack, Microsoft Teams, Mattermost.

Texts of people are sent so that the chat interprets nothing in them, no formatting and no call to everybody in a
channel: as plain text where the form has it (Slack, Teams), escaped where it has not (Mattermost).

Forms: Slack, "Incoming webhooks" with Block Kit; Teams, the "When a webhook request is received" workflow with an
Adaptive Card; Mattermost, "Incoming webhooks".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from incidents.content.citations import escaped
from incidents.models.room.webhook import HookForm, HookKind

Json = dict[str, Any]
_TITLES = {
    HookKind.VERDICT: "New verdict",
    HookKind.ROOM: "Status",
    HookKind.DECISION: "Decision",
    HookKind.ACTION: "Action",
    HookKind.UPDATE: "Reminder",
    HookKind.ENTRY: "Log",
    HookKind.DISPUTE: "Dispute",
    HookKind.REQUEST: "Request for evidence",
    HookKind.REVIEW: "Review",
    HookKind.SUMMARY: "Summary",
    HookKind.NOTE: "Note",
    HookKind.MEMBERS: "Members",
}
#: Fields of a message that stand below its text -> their names.
_FACTS = {
    "state": "state",
    "support": "support",
    "severity": "severity",
    "kind": "kind",
    "who": "by",
    "decided_by": "decided by",
    "decided_at": "decided",
    "needed_by": "needed by",
    "owner": "owner",
    "author": "by",
    "asked_by": "asked by",
    "asked_of": "asked of",
    "done_at": "done",
    "due_at": "due",
    "due_on": "due",
    "host": "host",
}
#: Ends of host names -> the form that is taken there.
_HOSTS = {
    "hooks.slack.com": HookForm.SLACK,
    "hooks.slack-gov.com": HookForm.SLACK,
    ".webhook.office.com": HookForm.TEAMS,
    ".logic.azure.com": HookForm.TEAMS,
    ".api.powerplatform.com": HookForm.TEAMS,
}


def suggested(url: str) -> str:
    """Return the message form to send to an address, by its host; Exhibit's own form for an unknown host.

    >>> [suggested(f"https://{host}/x") for host in ("hooks.slack.com", "a.webhook.office.com", "chat.example.com")]
    ['slack', 'teams', 'exhibit']
    """
    host = urlsplit(url).hostname or ""
    return next(
        (form.value for end, form in _HOSTS.items() if host == end or (end[0] == "." and host.endswith(end))),
        HookForm.EXHIBIT.value,
    )


def written(form: str, said: Json) -> Json:
    """Convert a message to a form; `said` is the message in Exhibit's own form, with secrets masked."""
    make = _FORMS.get(form)
    return make(_Announcement.of(said)) if make else said


@dataclass(frozen=True)
class _Announcement:
    title: str
    room: str
    url: str
    text: str
    facts: str

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> _Announcement:
        facts = [f"{name} {_fact(said[key])}" for key, name in _FACTS.items() if said.get(key) not in (None, "")]
        title = next((words for kind, words in _TITLES.items() if kind == said["event"]), "Test")
        room = said["room"]
        return cls(title, room["title"], said.get("url") or room["url"], said["text"], " · ".join(facts))


def _fact(value: Any) -> str:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) and "T" in value else None
    except ValueError:
        at = None
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else str(value)


def _slack(one: _Announcement) -> Json:
    room = one.room.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "¦")
    head = f"*{one.title}* in <{one.url}|{room}>"
    blocks: list[Json] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": head}},
        {"type": "section", "text": {"type": "plain_text", "text": one.text, "emoji": False}},
    ]
    if one.facts:
        facts = {"type": "plain_text", "text": one.facts, "emoji": False}
        blocks.append({"type": "context", "elements": [facts]})
    return {"text": f"{one.title} in {room}", "blocks": blocks}


def _teams(one: _Announcement) -> Json:
    body = [
        {"type": "TextBlock", "text": one.title, "weight": "Bolder", "size": "Medium"},
        _plain_run(one.room, isSubtle=True),
        _plain_run(one.text),
    ]
    if one.facts:
        body.append(_plain_run(one.facts, isSubtle=True, size="Small"))
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": "Open the room", "url": one.url}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _plain_run(text: str, **look: Any) -> Json:
    """Return a block of text that is shown as it is; a TextBlock would read it as Markdown."""
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **look}]}


def _mattermost(one: _Announcement) -> Json:
    quoted = [f"> {_calm(line)}" if line.strip() else ">" for line in one.text.split("\n")]
    lines = [f"**{one.title}** in [{_calm(one.room)}]({one.url})", *quoted]
    return {"text": "\n".join([*lines, *(["", _calm(one.facts)] if one.facts else [])])}


def _calm(text: str) -> str:
    """Escape a line, and put an invisible space behind each `@` so that the chat notifies nobody."""
    return escaped(text).replace("@", "@\u200b")


_FORMS: dict[str, Callable[[_Announcement], Json]] = {
    HookForm.SLACK: _slack,
    HookForm.TEAMS: _teams,
    HookForm.MATTERMOST: _mattermost,
}
