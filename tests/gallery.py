"""Every page that people see, in the states it can be in: what scripts/screenshots takes pictures of.

`SHOTS` names each page address at least once; what is no page stands in `LEFT_OUT` with the reason
(tests/house/test_gallery.py holds both against the application's addresses).
"""

from __future__ import annotations

from dataclasses import dataclass, field

#: Addresses that show no page of their own, and why.
LEFT_OUT = {
    **dict.fromkeys(("rooms-csv", "case-yaml", "compare-ledger", "timeline-rows", "summary-export", "review-export"), "a file"),
    **dict.fromkeys(("ask-rows", "collector", "export-bundle", "export-found"), "a file"),
    **dict.fromkeys(("timeline-picture", "original", "finding-copy", "verdict-copy"), "a file or a text"),
    **dict.fromkeys(("timeline-data", "timeline-waits", "timeline-lanes", "lines-data", "figure-conn-times"), "JSON"),
    **dict.fromkeys(("complete", "here", "healthz", "api-report", "api-observations", "api-tokens", "api-token", "compare-figure"), "JSON"),
    "stream": "server-sent events",
    "metrics": "text for a monitoring system",
    "policy-reports": "browsers send to it",
    "api-wanted": "lines for a script",
    "sample": "a button: makes a room",
    **dict.fromkeys(("findings", "timeline-keep", "timeline-bad", "ask-stop", "ask-save", "ask-saved"), "leads elsewhere"),
    **dict.fromkeys(("ask-next", "dispute", "dispute-answer", "take-over", "take-in", "borders", "masks", "stop", "retry"), "a button"),
    **dict.fromkeys(("note-new", "note-resolve", "note-reopen", "note-delete", "note-restore"), "a part of the room or a button"),
    **dict.fromkeys(("board-said-off", "board-said-back", "board-cause-off", "board-cause-back"), "a button"),
    **dict.fromkeys(("action-state", "follow-up-do", "name-back", "plan-delete", "plan-restore", "threshold", "close", "handover", "invite"), "a button"),
    **dict.fromkeys(("request-state", "request-answer", "request-link", "request-file", "activity-verify"), "a button"),
    "ask-rule": "shown below the answer of a query",
    "compare-border": "asked of one line of a comparison (tests/incidents/pages/compare/test_compare.py)",
}  # fmt: skip


@dataclass(frozen=True)
class Shot:
    """One page in one state. `args` are names of what the gallery's rooms hold (`{slug}`, `{note}`), see gallery_rooms.py.

    `who`: ada (administrator and lead), vera (viewer), nobody. `typed`: fields (by name) that are filled
    in before their form is sent, without the browser's own checks. `wait`: what must be seen first. `status`: what the server answers at first.
    """

    name: str
    state: str
    address: str = ""
    args: tuple[str, ...] = ()
    who: str = "ada"
    typed: dict[str, str] = field(default_factory=dict)
    wait: str = ""
    status: int = 200

    @property
    def label(self) -> str:
        return f"{self.name}-{self.state}"


def _in_room(state: str, *names: str) -> list[Shot]:
    return [Shot(name, state, args=(f"{{{state}}}",)) for name in names]


def _judged(state: str, *names: str) -> list[Shot]:
    """Take the room, once its timeline is drawn, and other pages of it."""
    room = Shot("room", state, args=(f"{{{state}}}",), wait="[data-timeline][data-painted]")
    return [room, *_in_room(state, *names)]


def _full(name: str, *args: str, address: str = "", wait: str = "") -> Shot:
    return Shot(name, "full", address, ("{full}", *args), wait=wait)


_DRAWN = "[data-figure][data-state=drawn]"
_ROOM_PAGES = (
    "evidence", "evidence-add", "flame-graph", "notes", "board", "compare", "case", "clocks", "similar", "plan", "ask", "thresholds", "requests",
    "log", "log-new", "update", "review", "review-edit", "follow-up-new", "export",
    "collect", "summary", "summary-versions", "summary-links", "status", "keeping", "webhooks", "members", "activity", "questions",
    "request-new", "decision-new", "action-new", "board-say", "board-cause-new",
)  # fmt: skip

SHOTS: list[Shot] = [
    # Outside of rooms.
    Shot("account_login", "page", who="nobody"),
    Shot("account_login", "wrong", who="nobody", typed={"login": "ada", "password": "not it"}),
    Shot("rooms", "full"),
    Shot("rooms", "nothing-found", "?q=nosuchroom"),
    Shot("rooms", "first-day", who="new"),
    Shot("room-new", "page"),
    Shot("room-new", "wrong", typed={"title": "", "since": "2016-04-14T05:58:00", "hosts-0-tz": "Mars"}, status=422),
    Shot("room-import", "page"),
    Shot("room-import", "wrong", typed={"key": "RW"}, status=422),
    Shot("origin", "full", args=("{brought}",)),
    Shot("export-names", "full", args=("{full}", "{redacted}")),
    Shot("search", "full", "?q=wait"),
    Shot("search", "nothing-found", "?q=nosuchword"),
    Shot("search", "empty"),
    Shot("help", "page"),
    Shot("help", "nothing-found", "?q=nosuchword"),
    Shot("help-term", "page", args=("call.shmat",)),
    Shot("signatures", "page"),
    Shot("signatures", "nothing-found", "?q=nosuchword"),
    Shot("rules", "page"),
    Shot("rule", "page", args=("SHM-001",)),
    Shot("site", "page"),
    Shot("site-rooms", "page"),
    Shot("sign-ins", "page"),
    Shot("sign-ins", "nothing-found", "?q=nosuchname"),
    Shot("policy", "full"),
    Shot("follow-ups", "full", "?show=open"),
    Shot("follow-ups", "nothing-found", "?q=nosuchword"),
    Shot("follow-ups", "empty", who="new"),
    Shot("notifications", "full"),
    Shot("notifications", "empty", who="new"),
    Shot("account-close", "asks-for-the-password"),
    Shot("devices", "page"),
    Shot("access-tokens", "page"),
    Shot("api-reference", "page"),
    Shot("mfa_index", "page"),
    Shot("mfa_list_webauthn", "empty"),
    Shot("join", "page", args=("{invitation}",), who="nobody"),
    Shot("join", "gone", args=("nonsense",), who="nobody", status=401),
    Shot("first-admin", "gone", args=("nonsense",), who="nobody", status=401),
    Shot("give", "page", args=("{gift}",), who="nobody"),
    Shot("give", "wrong", args=("{gift}",), who="nobody", typed={"text": ""}, status=422),
    Shot("give", "gone", args=("nonsense",), who="nobody", status=401),
    Shot("shared-summary", "page", args=("{share}",), who="nobody"),
    Shot("shared-summary", "gone", args=("nonsense",), who="nobody", status=401),
    # The room, full.
    _full("room", wait=_DRAWN),
    Shot("room", "wall", "?wall", ("{full}",)),
    _full("finding", "{finding}", wait="#drawer"),
    _full("observation", "{observation}", wait="#drawer"),
    _full("finding-explain", "{finding}"),
    _full("lines", "{truss}", address="?at=1#L1-L2", wait=".line .text"),
    _full("correct", "{truss}"),
    _full("question", "{asks}"),
    _full("kind", "{truss}"),
    _full("purge", "{truss}"),
    _full("note", "{note}"),
    _full("note-thread", "{note}"),
    _full("note-history", "{note}"),
    _full("decision", "{decision}"),
    _full("action", "{action}"),
    _full("log-entry", "{entry}"),
    _full("follow-up", "{follow_up}"),
    _full("action-done", "{action}"),
    _full("board-said", "{argument}"),
    _full("board-cause", "{cause}"),
    _full("request", "{request}"),
    _full("request-edit", "{request}"),
    _full("summary-version", "{version}"),
    _full("summary-changes", address="?from=1"),
    _full("summary-edit", "cause"),
    _full("webhook", "{hook}"),
    _full("timeline-range", address="?frame={frame}&from={from}&to={to}"),
    _full("timeline-calls", address="?frame={frame}&from={from}&to={to}&by=thread"),
    _full("timeline-span", address="?artifact={truss}&from=5&to=5"),
    *_in_room("full", *_ROOM_PAGES),
    # Each state of a verdict; the room that is full has a cause.
    *_judged("suspect"),
    *_judged("lead", "board", "summary"),
    *_judged("undecided", "board", "summary"),
    *_judged("cannot-tell", "board", "summary"),
    *_judged("nothing-wrong", "board", "summary"),
    *_judged("unread", "evidence"),
    # Empty, closed, as a viewer sees it.
    *_in_room("empty", "room", *_ROOM_PAGES),
    *_in_room("closed", "room", "evidence", "plan", "status", "keeping", "members", "summary", "case", "notes", "review", "log"),
    *(Shot(name, "viewer", args=("{full}",), who="vera") for name in ("room", "plan", "status", "members", "case", "requests", "export")),
    # Lists of which nothing is left by what was chosen.
    Shot("plan", "nothing-found", "?show=overdue", ("{empty}",)),
    Shot("log", "nothing-found", "?kind=decision", ("{empty}",)),
    Shot("notes", "nothing-found", "?q=nosuchword", ("{full}",)),
    Shot("activity", "nothing-found", "?q=nosuchword", ("{full}",)),
    Shot("requests", "nothing-found", "?show=overdue", ("{empty}",)),
    Shot("export-names", "nothing-found", "?q=nosuchword", ("{full}", "{redacted}")),
    Shot("search", "in-room", "?q=wait&room={full}"),
    # What goes wrong.
    Shot("room", "unknown", args=("no-such-room-abcdefgh",), status=404),
    Shot("webhooks", "not-allowed", args=("{full}",), who="vera", status=403),
    Shot("lines", "unknown-kind", args=("{full}", "{unknown}")),
    Shot("room", "rule-failed", args=("{failed}",), wait="[data-timeline][data-painted]"),
    Shot("evidence-add", "refused", args=("{empty}",), wait="#sending .bad"),
    Shot("status", "wrong", args=("{empty}",), typed={"started": "2099-01-01T00:00:00"}, status=422),
    Shot("case", "wrong", args=("{empty}",), typed={"title": "", "hosts-0-name": "db1", "hosts-0-tz": "Mars"}, status=422),
    Shot("log-new", "wrong", args=("{empty}",), typed={"text": "", "at": "2099-01-01T00:00:00"}, status=422),
    Shot("decision-new", "wrong", args=("{empty}",), typed={"question": "", "needed_by": "0001-01-01T00:00:00"}, status=422),
    Shot("action-done", "wrong", args=("{full}", "{action}"), typed={"at": "2099-01-01T00:00:00"}, status=422),
    Shot("request-new", "wrong", args=("{empty}",), typed={"what": ""}, status=422),
    Shot("webhooks", "wrong", args=("{empty}",), typed={"url": "https://10.0.0.7/hook"}, status=422),
    Shot("clocks", "wrong", args=("{full}",), typed={"ahead": "much", "text": ""}, status=422),
    Shot("thresholds", "wrong", "?rule=SHM-001", ("{full}",), typed={"value": "-1"}, status=422),
    Shot("ask", "wrong", args=("{full}",), typed={"sql": "selec 1"}, status=422),
    Shot("board-say", "wrong", args=("{empty}",), typed={"reason": ""}, status=422),
]  # fmt: skip
