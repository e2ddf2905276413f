"""Disputes, and findings taken along as text."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from incidents.models.judging.finding import Dispute
from tests.incidents.conftest import make_room
from tests.incidents.pages import reports
from tests.incidents.pages.conftest import add_report, client_of
from tests.incidents.pages.pages import page_in


def copy(room, name, *args):
    answer = client_of(room).get(reverse(name, args=(room.incident.slug, *args)))
    assert answer.status_code == 200
    assert answer["X-Content-Type-Options"] == "nosniff"
    return answer.content.decode()


def test_a_dispute_needs_a_reason_and_keeps_the_page(judged):
    address = reverse("dispute", args=[judged.slug, reports.CAUSE_KEY])
    answer = client_of(judged.investigator).post(address, {"reason": "  "})
    assert answer.status_code == 422
    assert "This field is required" in answer.content.decode()
    assert not Dispute.objects.filter(finding__key=reports.CAUSE_KEY).exists()


def test_a_dispute_stands_in_the_drawer_and_marks_the_row(judged):
    client = client_of(judged.investigator)
    address = reverse("dispute", args=[judged.slug, reports.CAUSE_KEY])
    part = client.post(address, {"reason": "The map is of another start."}, headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert "The map is of another start." in part.content.decode()
    assert client.get(reverse("room", args=[judged.slug])).content.decode().count(">disputed<") == 2
    again = client.post(address, {"reason": "And once more."})
    assert again.status_code == 422
    assert "You dispute this finding already." in again.content.decode()
    assert "And once more." in again.content.decode()  # what was typed is still there


def test_a_dispute_is_taken_back(judged):
    client = client_of(judged.investigator)
    address = reverse("dispute", args=[judged.slug, reports.CHURN_KEY])
    assert client.post(address, {"withdraw": "1"}).status_code == 302
    assert ">disputed<" not in client.get(reverse("room", args=[judged.slug])).content.decode()


def test_a_finding_as_text_carries_claim_bound_lines_hash_limits_and_link(judged):
    text = copy(judged.viewer, "finding-copy", reports.CAUSE_KEY, "text")
    sha256 = judged.lead.incident.artifacts.get(number=1).sha256
    assert max(len(line) for line in text.splitlines() if not line.startswith("http")) <= 80
    for part in (
        "2.473 s to attach a DISM segment",
        sha256,
        "truss-listener.txt",
        "One traced login.",
        "Bound: 2.473 s",
    ):
        assert part in text
    assert "      11 | 3731/1: 11.7921 shmat(16777281, 0x3C0000000, IPC_ALLOC) = 0x3C0000000" in text
    assert f"http://testserver/rooms/{judged.slug}/findings/{reports.CAUSE_KEY}/" in text


def test_a_clearing_as_text_carries_its_bound(judged):
    text = copy(judged.viewer, "finding-copy", reports.CLEAR_KEY, "text")
    assert "at most 0.080 s of 1.872 s" in text
    assert "in the one login traced on both" in text


def test_a_finding_as_markdown_quotes_in_a_fence(judged):
    text = copy(judged.viewer, "finding-copy", reports.CAUSE_KEY, "markdown")
    fence = text.split("```")
    assert len(fence) == 5
    assert "IPC_ALLOC" in fence[1]
    assert judged.lead.incident.artifacts.get(number=4).sha256 in text


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_verdict_is_copied_with_what_carries_and_what_limits_it(judged, form):
    text = copy(judged.viewer, "verdict-copy", form).replace("\\", "")
    for part in ("up to 2.473 s", "IPC_ALLOC", "at most 0.080 s of 1.872 s", "vmstat 5 12", "≤ 2.473 s"):
        assert part in text.replace("\n", " ")


def test_there_is_no_verdict_to_copy_before_the_first_judgement(db):
    room = make_room()
    answer = client_of(room).get(reverse("verdict-copy", args=[room.incident.slug, "text"]))
    assert answer.status_code == 409
    assert "Nothing was judged yet" in answer.content.decode()


def test_from_a_finding_one_asks_for_what_would_help_and_says_what_it_means(judged):
    address = reverse("finding", args=[judged.slug, reports.CAUSE_KEY])
    text = client_of(judged.investigator).get(address, headers={"HX-Request": "true"}).content.decode()
    asked = re.search(r'href="(/rooms/[^"]+/requests/new/[?]ask=[^"]+)"', text)
    said = re.search(r'href="(/rooms/[^"]+/board/say/[?]finding=[^"]+)"', text)
    assert asked
    assert said
    for link in (asked[1], said[1]):
        assert client_of(judged.investigator).get(link).status_code == 200
    seen = client_of(judged.viewer).get(address, headers={"HX-Request": "true"}).content.decode()
    assert "/requests/new/" not in seen
    assert "/board/say/" not in seen


@pytest.fixture
def much_cited(judged):
    """Return the room whose cause cites 239 ranges of one file."""
    report = reports.report()
    cause = next(found for found in report["findings"] if found["key"] == reports.CAUSE_KEY)
    first = cause["citations"][0]
    cause["citations"] = [first | {"line_from": n, "line_to": n, "text": f"line {n}"} for n in range(1, 240)]
    add_report(judged.lead, report)
    return judged


def test_a_finding_with_hundreds_of_citations_shows_few_and_counts_the_rest(much_cited):
    room = page_in(client_of(much_cited.viewer).get(reverse("finding", args=[much_cited.slug, reports.CAUSE_KEY])))
    row = room.part(f"#claim-{reports.CAUSE_KEY}")
    assert len([a for a in row.select("a") if "#L" in str(a["href"])]) <= 1
    assert "+ 238" in row.text
    drawer = room.part("#drawer")
    assert len(drawer.select("table.quote")) == 5
    folded = drawer.part("details.more-cited")
    assert "open" not in folded.attributes
    assert folded.part("summary").text == "234 more cited ranges"
    assert len(folded.select("li a")) == 234, "the count opens the rest"


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_copied_finding_quotes_few_citations_and_counts_the_rest(much_cited, form):
    text = copy(much_cited.viewer, "finding-copy", reports.CAUSE_KEY, form)
    assert "line 5" in text
    assert "line 6" not in text
    assert "and 234 more cited ranges, behind the link below" in text


def test_the_summary_names_few_citations_of_a_source_and_counts_the_rest(much_cited):
    page = page_in(client_of(much_cited.viewer).get(reverse("summary", args=[much_cited.slug])))
    sources = [li for li in page.select(".sources li") if "236" in li.text]
    assert sources
    assert "+ 236" in sources[0].text
    assert len([a for a in sources[0].select("a") if "#L" in str(a["href"])]) <= 4


def panel(judged, name, key=reports.CAUSE_KEY):
    answer = client_of(judged.investigator).get(reverse("finding", args=[judged.slug, key]))
    return page_in(answer).part(f"#see-{name}")


def test_the_lines_of_a_finding_mark_what_it_names_and_say_what_is_left_out(judged):
    report = reports.report()
    cause = report["findings"][0]
    cause["facts"], cause["t_to"] = {"at": "0x3C0000000", "small": 12}, 11.7921
    cause["citations"] = [reports.cite(1, reports.TRUSS, 1, 12, "stall")]
    add_report(judged.lead, report)
    lines = panel(judged, "lines")
    assert {mark.text for mark in lines.select("mark")} == {"3731", "11.7921", "0x3C0000000"}
    assert "5 lines between" in lines.part("tr.gap").text


def test_a_finding_is_compared_with_the_request_of_which_it_explains_a_piece(judged):
    assert "2.473 s" in panel(judged, "lines").part(".versus").text
    assert "3.333 s" in panel(judged, "lines").part(".versus").text
    assert not panel(judged, "lines", reports.CHURN_KEY).select(".versus"), "a share is not compared with seconds"


def test_each_part_of_a_finding_has_its_place(judged):
    why, against, do = (panel(judged, name).text for name in ("why", "against", "do"))
    assert "The gap since its last call ends with this attach" in why
    assert "SHM-001" in why
    assert "25 dB" in why
    assert "network: pid 3731 (on the server)" in " ".join(why.split())
    assert "segment ids differ" in against
    assert "Assumes that no line is missing" in against
    assert "Collect unbroken trace with -E" in against
    assert "Use sga_target" in do
    assert "But The SGA can then not grow online" in " ".join(do.split())
    assert "truss -f -d -D -E -o FILE -p 22626; pmap -xs PID" in do
    assert "Two things changed at once" in do


def test_a_part_that_holds_nothing_says_so(judged):
    assert "Nothing was found against it." in panel(judged, "against", reports.CHURN_KEY).text
    assert "The rule names nothing to do about it." in panel(judged, "do", reports.CHURN_KEY).text
    assert "No notes on it yet." in panel(judged, "discussion", reports.LISTENER_KEY).text
    cited = reports.report()
    cited["findings"][3]["citations"] = []
    add_report(judged.lead, cited)
    assert "The report cites no lines for it." in panel(judged, "lines", reports.CHURN_KEY).text


def test_what_would_help_names_who_and_how_long(judged):
    report = reports.report()
    report["findings"][0]["would_help"] = [reports.ask(["vmstat"], "vmstat 5 12", 5) | {"who": "system administrator"}]
    add_report(judged.lead, report)
    said = " ".join(panel(judged, "do").text.split())
    assert re.search(r"system administrator .*takes 60 s", said)
