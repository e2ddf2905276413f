"""Every address of the application but those of single sign-on and administration (config/urls.py)."""

from __future__ import annotations

from django.urls import include, path, register_converter
from django.urls.converters import StringConverter

from incidents.pages.ask import saved
from incidents.pages.ask import views as ask
from incidents.pages.board import views as board
from incidents.pages.case import views as case
from incidents.pages.clocks import views as clocks
from incidents.pages.compare import borders
from incidents.pages.compare import views as compare
from incidents.pages.evidence import questions
from incidents.pages.evidence import receiving as artifacts
from incidents.pages.evidence import views as evidence
from incidents.pages.findings import views as findings
from incidents.pages.help import views as help
from incidents.pages.lines import views as lines
from incidents.pages.notes import completion as complete
from incidents.pages.notes import discussions as threads
from incidents.pages.notes import views as notes
from incidents.pages.notifications import views as notifications
from incidents.pages.people import accounts, activity
from incidents.pages.people import views as members
from incidents.pages.plan import views as plan
from incidents.pages.requests import views as requests
from incidents.pages.room import live, presence
from incidents.pages.room import views as room
from incidents.pages.rooms import views as rooms
from incidents.pages.rules import thresholds
from incidents.pages.rules import views as rules
from incidents.pages.search import views as search
from incidents.pages.shell import open_page, page
from incidents.pages.similar import views as similar
from incidents.pages.status import views as standing
from incidents.pages.summary import shared
from incidents.pages.summary import views as summary
from incidents.pages.timeline import exports, ranges
from incidents.pages.timeline import views as timeline
from incidents.pages.upload_link import views as give
from incidents.pages.webhooks import views as webhooks


class KeyConverter(StringConverter):
    """A finding's key: 16 hex digits."""

    regex = "[0-9a-f]{16}"


class FormConverter(StringConverter):
    """The form of a copied text."""

    regex = "text|markdown"


class PlannedConverter(StringConverter):
    """Which of the two lists of a plan."""

    regex = "decisions|actions"


register_converter(KeyConverter, "key")
register_converter(PlannedConverter, "planned")


class LedgerConverter(StringConverter):
    """The form of a ledger."""

    regex = "csv|md"


class RowsConverter(StringConverter):
    """The form of rows of the timeline."""

    regex = "csv|parquet|trace"


class SheetConverter(StringConverter):
    """The form of a summary that is taken along."""

    regex = "pdf|html|md"


register_converter(SheetConverter, "sheet")
register_converter(FormConverter, "form")
register_converter(RowsConverter, "rows")
register_converter(LedgerConverter, "ledger")


class AnswerConverter(StringConverter):
    """The form of an answer as a file."""

    regex = "csv|parquet"


class ChoiceConverter(StringConverter):
    """What a room changed in the rules."""

    regex = "values|hidden"


register_converter(AnswerConverter, "answer")
register_converter(ChoiceConverter, "choice")

_ROOM = "rooms/<slug:slug>/"

urlpatterns = [
    path("", page(rooms.rooms), name="rooms"),
    path("rooms.csv", page(rooms.rooms_csv), name="rooms-csv"),
    path("rooms/new/", page(rooms.room_new), name="room-new"),
    path("sample/", page(rooms.sample), name="sample"),
    path("search/", page(search.search), name="search"),
    path("give/<str:token>/", open_page(give.give), name="give"),
    path("shared/<str:token>/", shared.shared_page(shared.shared), name="shared-summary"),
    path("join/<str:token>/", open_page(members.join), name="join"),
    path("first/<str:token>/", open_page(accounts.first_admin), name="first-admin"),
    path("api/", include("incidents.doors.api.registry")),
    path("notifications/", page(notifications.notifications), name="notifications"),
    path("account/close/", page(accounts.close), name="account-close"),
    path("healthz", accounts.healthz, name="healthz"),
    path("help/", page(help.terms), name="help"),
    path("help/<path:term>/", page(help.term), name="help-term"),
    path("rules/", page(rules.rules), name="rules"),
    path("rules/<str:id>/", page(rules.rule), name="rule"),
    path(_ROOM, page(room.room), name="room"),
    path(_ROOM + "findings/", page(findings.findings), name="findings"),
    path(_ROOM + "findings/<key:key>/", page(room.finding), name="finding"),
    path(_ROOM + "findings/<key:key>/explain/", page(rules.explain), name="finding-explain"),
    path(_ROOM + "findings/<key:key>/dispute/", page(findings.dispute), name="dispute"),
    path(_ROOM + "disputes/<int:id>/answer/", page(findings.answer), name="dispute-answer"),
    path(_ROOM + "findings/<key:key>/copy/<form:form>/", page(findings.finding_copy), name="finding-copy"),
    path(_ROOM + "verdict/copy/<form:form>/", page(findings.verdict_copy), name="verdict-copy"),
    path(_ROOM + "verdict/take-over/", page(findings.take_over), name="take-over"),
    path(_ROOM + "timeline/data", page(timeline.data), name="timeline-data"),
    path(_ROOM + "timeline/waits", page(timeline.waits), name="timeline-waits"),
    path(_ROOM + "timeline/picture.svg", page(exports.picture), name="timeline-picture"),
    path(_ROOM + "timeline/rows.<rows:form>", page(exports.rows), name="timeline-rows"),
    path(_ROOM + "timeline/range", page(ranges.look), name="timeline-range"),
    path(_ROOM + "timeline/span", page(ranges.span), name="timeline-span"),
    path(_ROOM + "timeline/bad", page(ranges.bad), name="timeline-bad"),
    path(_ROOM + "timeline/keep", page(ranges.keep), name="timeline-keep"),
    path(_ROOM + "timeline/lanes", page(timeline.offered), name="timeline-lanes"),
    path(_ROOM + "connect-times", page(timeline.connect_times), name="figure-conn-times"),
    path(_ROOM + "evidence/", page(evidence.evidence), name="evidence"),
    path(_ROOM + "evidence/add/", page(artifacts.add), name="evidence-add"),
    path(_ROOM + "evidence/<int:number>/", page(lines.lines), name="lines"),
    path(_ROOM + "evidence/<int:number>/lines", page(lines.lines_data), name="lines-data"),
    path(_ROOM + "evidence/<int:number>/original", page(artifacts.original), name="original"),
    path(_ROOM + "evidence/<int:number>/correct/", page(artifacts.correct), name="correct"),
    path(_ROOM + "evidence/<int:number>/take/<int:position>/", page(artifacts.take_in), name="take-in"),
    path(_ROOM + "evidence/questions/", page(questions.questions), name="questions"),
    path(_ROOM + "evidence/<int:number>/questions/", page(questions.question), name="question"),
    path(_ROOM + "evidence/<int:number>/kind/", page(questions.kind), name="kind"),
    path(_ROOM + "evidence/<int:number>/borders/", page(artifacts.borders), name="borders"),
    path(_ROOM + "evidence/<int:number>/masks/", page(artifacts.masks), name="masks"),
    path(_ROOM + "evidence/<int:number>/stop/", page(artifacts.stop), name="stop"),
    path(_ROOM + "evidence/<int:number>/retry/", page(artifacts.retry), name="retry"),
    path(_ROOM + "evidence/<int:number>/purge/", page(artifacts.purge), name="purge"),
    path(_ROOM + "notes/", page(notes.notes), name="notes"),
    path(_ROOM + "notes/new/", page(notes.note_new), name="note-new"),
    path(_ROOM + "notes/<int:id>/", page(notes.note), name="note"),
    path(_ROOM + "notes/<int:id>/thread/", page(threads.thread), name="note-thread"),
    path(_ROOM + "notes/<int:id>/history/", page(threads.history), name="note-history"),
    path(_ROOM + "notes/<int:id>/resolve/", page(threads.resolve), name="note-resolve"),
    path(_ROOM + "notes/<int:id>/reopen/", page(threads.reopen), name="note-reopen"),
    path(_ROOM + "complete", page(complete.complete), name="complete"),
    path(_ROOM + "notes/<int:id>/delete/", page(notes.delete), name="note-delete"),
    path(_ROOM + "notes/<int:id>/restore/", page(notes.restore), name="note-restore"),
    path(_ROOM + "board/", page(board.board), name="board"),
    path(_ROOM + "board/say/", page(board.say), name="board-say"),
    path(_ROOM + "board/say/<int:id>/", page(board.said), name="board-said"),
    path(_ROOM + "board/say/<int:id>/off/", page(board.said_off), name="board-said-off"),
    path(_ROOM + "board/say/<int:id>/back/", page(board.said_back), name="board-said-back"),
    path(_ROOM + "board/cause/", page(board.cause_new), name="board-cause-new"),
    path(_ROOM + "board/cause/<int:id>/", page(board.cause), name="board-cause"),
    path(_ROOM + "board/cause/<int:id>/off/", page(board.cause_off), name="board-cause-off"),
    path(_ROOM + "board/cause/<int:id>/back/", page(board.cause_back), name="board-cause-back"),
    path(_ROOM + "compare/", page(compare.compare), name="compare"),
    path(_ROOM + "compare/figure", page(compare.figure), name="compare-figure"),
    path(_ROOM + "compare/ledger.<ledger:form>", page(compare.ledger), name="compare-ledger"),
    path(_ROOM + "compare/border/", page(borders.border), name="compare-border"),
    path(_ROOM + "case/", page(case.case), name="case"),
    path(_ROOM + "case.yaml", page(case.case_yaml), name="case-yaml"),
    path(_ROOM + "clocks/", page(clocks.clocks), name="clocks"),
    path(_ROOM + "similar/", page(similar.similar), name="similar"),
    path(_ROOM + "plan/", page(plan.plan), name="plan"),
    path(_ROOM + "plan/decisions/new/", page(plan.decision_new), name="decision-new"),
    path(_ROOM + "plan/decisions/<int:id>/", page(plan.decision), name="decision"),
    path(_ROOM + "plan/actions/new/", page(plan.action_new), name="action-new"),
    path(_ROOM + "plan/actions/<int:id>/", page(plan.action), name="action"),
    path(_ROOM + "plan/actions/<int:id>/done/", page(plan.action_done), name="action-done"),
    path(_ROOM + "plan/actions/<int:id>/state/", page(plan.action_state), name="action-state"),
    path(_ROOM + "plan/<planned:what>/<int:id>/delete/", page(plan.delete), name="plan-delete"),
    path(_ROOM + "plan/<planned:what>/<int:id>/restore/", page(plan.restore), name="plan-restore"),
    path(_ROOM + "ask/", page(ask.ask), name="ask"),
    path(_ROOM + "ask/rows.<answer:form>", page(ask.rows), name="ask-rows"),
    path(_ROOM + "ask/stop/", page(ask.stop), name="ask-stop"),
    path(_ROOM + "ask/rule/", page(ask.rule), name="ask-rule"),
    path(_ROOM + "ask/save/", page(saved.save), name="ask-save"),
    path(_ROOM + "ask/saved/<int:id>/", page(saved.saved), name="ask-saved"),
    path(_ROOM + "thresholds/", page(thresholds.thresholds), name="thresholds"),
    path(_ROOM + "thresholds/<choice:what>/<int:id>/", page(thresholds.change), name="threshold"),
    path(_ROOM + "requests/", page(requests.requests), name="requests"),
    path(_ROOM + "requests/new/", page(requests.request_new), name="request-new"),
    path(_ROOM + "requests/collect/", page(requests.collect), name="collect"),
    path(_ROOM + "requests/<int:id>/", page(requests.one), name="request"),
    path(_ROOM + "requests/<int:id>/edit/", page(requests.request_edit), name="request-edit"),
    path(_ROOM + "requests/<int:id>/state/", page(requests.request_state), name="request-state"),
    path(_ROOM + "requests/<int:id>/answer/", page(requests.request_answer), name="request-answer"),
    path(_ROOM + "requests/<int:id>/link/", page(requests.request_link), name="request-link"),
    path(_ROOM + "requests/<int:id>/files/<uuid:file>/", page(requests.request_file), name="request-file"),
    path(_ROOM + "summary/", page(summary.live), name="summary"),
    path(_ROOM + "summary/versions/", page(summary.versions), name="summary-versions"),
    path(_ROOM + "summary/changes/", page(summary.changes), name="summary-changes"),
    path(_ROOM + "summary/links/", page(shared.links), name="summary-links"),
    path(_ROOM + "summary/edit/<slug:section>/", page(summary.edit), name="summary-edit"),
    path(_ROOM + "summary/<int:number>/", page(summary.version), name="summary-version"),
    path(_ROOM + "summary/<int:number>/export.<sheet:form>", page(summary.export), name="summary-export"),
    path(_ROOM + "status/", page(standing.status), name="status"),
    path(_ROOM + "close/", page(standing.close), name="close"),
    path(_ROOM + "here/", page(presence.here), name="here"),
    path(_ROOM + "webhooks/", page(webhooks.webhooks), name="webhooks"),
    path(_ROOM + "webhooks/<int:id>/", page(webhooks.webhook), name="webhook"),
    path(_ROOM + "members/", page(members.members), name="members"),
    path(_ROOM + "members/lead/", page(members.handover), name="handover"),
    path(_ROOM + "invite/", page(members.invite), name="invite"),
    path(_ROOM + "activity/", page(activity.activity), name="activity"),
    path(_ROOM + "activity/verify/", page(activity.verify), name="activity-verify"),
    path(_ROOM + "stream", live.stream, name="stream"),
]
