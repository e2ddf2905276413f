"""Tests of the Ask page: queries and their answers, files, lines, saved and recent queries, permissions."""

from __future__ import annotations

import csv
import html
import io
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest
import yaml
from django.test import Client
from django.urls import reverse

from incidents.access import Room
from incidents.actions import purge, rooms
from incidents.actions import queries as actions
from incidents.models.judging.query import AskedQuery, SavedQuery
from incidents.pages.ask import examples
from incidents.work import queries
from rules.engine import views
from rules.engine.check import MACROS, check
from rules.engine.shelf import columns_words
from tests.incidents.asking import SQL, asked_room, patient, shared_child, viewer_of  # noqa: F401
from tests.incidents.conftest import make_member, make_room, make_user
from tests.incidents.pages.conftest import client_of
from tests.incidents.pages.pages import unbroken

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("patient")]
HTMX = {"HX-Request": "true"}


@pytest.fixture
def room() -> Room:
    return asked_room()


def ask(room: Room, sql: str, who: Room | None = None, **more: str):
    return client_of(who or room).post(reverse("ask", args=[room.incident.slug]), {"sql": sql, **more}, headers=HTMX)


def text_of(answer) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode())))


def test_an_answer_is_a_table_whose_rows_lead_to_their_lines(room):
    answer = ask(room, SQL)
    assert answer.status_code == 200
    body = answer.content.decode()
    assert "fork1" in body
    assert f'{reverse("lines", args=[room.incident.slug, 1])}?at=5#L5"' in body
    assert 'value="1:5-5"' in body
    assert "<html" not in body


def test_without_the_columns_of_lines_the_answer_says_how_to_get_them(room):
    body = text_of(ask(room, "select name, count(*) as n from syscalls group by name order by n desc"))
    assert "To reach the lines of a row, select artifact_id and line_no" in body
    assert "A finding cites lines" in body


def test_more_rows_than_fetched_are_counted(room):
    body = text_of(ask(room, "select i from range(500) r(i)"))
    assert "200 rows 300 more not fetched" in body


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("select nosuch\nfrom syscalls", "line 1, column 8: There is no column “nosuch” in these tables."),
        ("select nam from syscalls", "Did you mean name?"),
        ("select pid\nfrom syscall", "There is no table 'syscall'. Did you mean syscalls?"),
        ("selec pid", "Not run , line 1, column 1: The text stops making sense as SQL here."),
        ("select pid\nfrom syscalls\nwhere pid = 'x' and", "line 3"),
        ("select $a from syscalls", "write the value itself"),
        ("select name, count(*) from syscalls", "stands beside an aggregate"),
        ("", "Type a query first."),
    ],
)  # fmt: skip
def test_a_complaint_says_what_and_where(room, sql, words):
    answer = ask(room, sql)
    assert answer.status_code == 422
    assert words.replace(" ", "") in text_of(answer).replace(" ", "")


def test_without_a_script_the_whole_page_keeps_what_was_typed(room):
    answer = client_of(room).post(reverse("ask", args=[room.incident.slug]), {"sql": "select nosuch from syscalls"})
    assert answer.status_code == 422
    assert "select nosuch from syscalls</textarea>" in answer.content.decode()


def test_a_table_that_nobody_has_built_yet_is_named(room):
    assert "not computed yet for the present evidence" in text_of(ask(room, "select pid from proc_tree"))


def test_times_stand_on_the_common_axis(room):
    assert ask(room, "select t, t_err, clock from syscalls where t_local is not null limit 1").status_code == 200


def test_csv_and_parquet_hold_the_answer_and_no_formula(room, django_assert_max_num_queries):
    sql = "select '=1+1' as a, -2 as b, [1, 2] as c, null as d, '\u202eexe' as e, 'x' as \"=cmd\""
    client = client_of(room)
    answer = client.post(reverse("ask-rows", args=[room.incident.slug, "csv"]), {"sql": sql})
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert list(csv.reader(io.StringIO(answer.content.decode()))) == [
        ["a", "b", "c", "d", "e", "'=cmd"],
        ["'=1+1", "-2", "[1, 2]", "", "\u202eexe", "x"],
    ]
    answer = client.post(reverse("ask-rows", args=[room.incident.slug, "parquet"]), {"sql": sql})
    frame = pl.read_parquet(io.BytesIO(answer.content))
    assert frame.row(0) == ("=1+1", -2, [1, 2], None, "\u202eexe", "x")


def test_a_download_has_more_rows_than_the_page_and_says_how_many_it_left_out(room):
    answer = client_of(room).post(
        reverse("ask-rows", args=[room.incident.slug, "csv"]), {"sql": "select i from range(1500) r(i)"}
    )
    assert len(answer.content.splitlines()) == 1001
    assert answer["Exhibit-More-Rows"] == "500"


def test_hostile_names_and_values_are_shown_and_run_nothing(room):
    body = ask(room, "select '<script>alert(1)</script>' as \"<b>\", chr(8238) || 'txt' as x").content.decode()
    assert "<script>alert" not in body
    assert "&lt;script&gt;" in body
    assert "<b>&lt;b" not in body
    assert "⟨U+202E⟩txt" in body


def test_two_columns_of_one_name_both_stay(room):
    assert "pid_2" in ask(room, "select pid, pid from syscalls").content.decode()


# --- what the room has ---------------------------------------------------------------------------------------------


def test_the_shelf_shows_the_tables_there_are_with_meanings_and_examples(room):
    answer = client_of(room).get(reverse("ask", args=[room.incident.slug]) + "?part=tables", headers=HTMX)
    body = answer.content.decode()
    assert 'data-table="syscalls"' in body
    assert "since the stamp before on the same thread" in body
    assert "Longest calls" in body
    assert "Without rows here" in body
    assert "No tables yet" not in body


def test_every_example_runs_and_every_table_has_one():
    with duckdb.connect() as connection:
        for macro in MACROS.values():
            connection.execute(f"create macro {macro}")
        for name in views.names():
            empty = views.empty(views.WITHOUT_FIRST.get(name, name))
            connection.execute(f'create view "{name}" as {empty}')
        for example in examples.EXAMPLES:
            assert set(example.tables) <= views.names()
            check(example.sql, views.names())
            columns = {column[0] for column in connection.execute(example.sql).description or []}
            assert {"artifact_id", "line_no"} <= columns or "median(" in example.sql, example.title
        for name in views.names():
            sql = examples.first_rows(name, [column.name for column in columns_words(name)])
            check(sql, views.names())
            connection.execute(sql)


def test_an_empty_room_says_what_to_do():
    room = make_room()
    body = client_of(room).get(reverse("ask", args=[room.incident.slug]) + "?part=tables").content.decode()
    assert "No tables yet" in body
    assert reverse("evidence-add", args=[room.incident.slug]) in body
    assert "no rows in this room" in text_of(ask(room, SQL))


def test_a_room_whose_evidence_was_purged_says_so(room):
    purge.purge(room, 1, "customer's data")
    body = client_of(room).get(reverse("ask", args=[room.incident.slug]) + "?part=tables").content.decode()
    assert "All evidence of this room was purged" in body
    answer = ask(room, SQL)
    assert answer.status_code == 200
    assert "fork1" not in answer.content.decode()


@pytest.mark.parametrize("state", ["closed", "archived"])
def test_a_closed_or_archived_room_still_answers(room, state):
    rooms.close(room)
    if state == "archived":
        rooms.archive(room)
    assert "fork1" in ask(room, SQL).content.decode()


def test_pages_ask_the_database_seldom(room, django_assert_max_num_queries):
    viewer = viewer_of(room)
    for n in range(30):
        actions.save(room, f"Query {n}", SQL, shared=n % 2 == 0)
    client = client_of(viewer)
    ask(room, SQL, viewer)
    with django_assert_max_num_queries(15):
        client.get(reverse("ask", args=[room.incident.slug]))
    with django_assert_max_num_queries(15):
        client.get(reverse("ask", args=[room.incident.slug]) + "?part=tables")


# --- turns ---------------------------------------------------------------------------------------------------------


def test_one_question_of_a_person_runs_at_a_time_and_nothing_is_lost(room):
    with queries.turn(room.user.pk):
        answer = ask(room, SQL)
        assert answer.status_code == 429
        assert "Your last question still runs" in answer.content.decode()
        page = client_of(room).post(reverse("ask", args=[room.incident.slug]), {"sql": SQL})
        assert page.status_code == 429
        assert f"{SQL}</textarea>" in page.content.decode()
    assert AskedQuery.objects.get().sql == SQL
    assert ask(room, SQL).status_code == 200


def test_a_full_queue_says_so_and_waiting_has_an_end(room, monkeypatch):
    monkeypatch.setattr(queries, "AT_ONCE", 1)
    monkeypatch.setattr(queries, "WAITING", 1)
    monkeypatch.setattr(queries, "WAIT_S", 0.0)
    with queries.turn(10**9):
        answer = ask(room, SQL)
        assert answer.status_code == 429
        assert "waited 0 s for its turn" in answer.content.decode()
        monkeypatch.setattr(queries, "WAITING", 0)
        assert "the queue is full" in ask(room, SQL).content.decode()


def test_a_person_stops_only_the_own_question(room):
    client = client_of(room)
    assert client.post(reverse("ask-stop", args=[room.incident.slug]), headers=HTMX).status_code == 204
    with queries.turn(room.user.pk) as stopped:
        client_of(viewer_of(room)).post(reverse("ask-stop", args=[room.incident.slug]))
        assert not stopped()
        client.post(reverse("ask-stop", args=[room.incident.slug]))
        assert stopped()
    with queries.turn(room.user.pk) as stopped:
        assert not stopped(), "an old stop must not end a new question"


def test_an_administrator_may_switch_it_off(room, settings):
    settings.EXHIBIT_ASK = False
    answer = client_of(room).get(reverse("ask", args=[room.incident.slug]))
    assert answer.status_code == 403
    assert "An administrator has switched questions" in answer.content.decode()
    assert ask(room, SQL).status_code == 403
    said = client_of(room).get("/healthz?fences").json()
    assert (said["ok"], said["ask"], said["fences"]) == (True, "off", {})


def test_the_health_page_says_which_fences_hold(client):
    assert client.get("/healthz").json() == {"ok": True}
    said = client.get("/healthz?fences").json()
    assert said["ask"] == "on"
    always = ("memory_limited", "time_limited", "writes_no_file", "few_files", "no_core_file", "low_priority")
    assert {name: said["fences"][name] for name in always} == dict.fromkeys(always, True)
    assert {*said["reading"]} >= {"memory_limited", "no_sockets", "own_files_only"}
    assert {*said["judging"]} >= {"no_network", "no_sockets", "no_rights_of_root", "own_files_only"}


# --- what is kept --------------------------------------------------------------------------------------------------


def test_what_was_asked_is_kept_for_its_person_alone(room):
    ask(room, SQL)
    ask(room, "selec nonsense")
    ask(room, SQL)
    assert [row.sql for row in AskedQuery.objects.all()] == [SQL, "selec nonsense"]
    number = AskedQuery.objects.get(sql=SQL).pk
    address = reverse("ask", args=[room.incident.slug]) + f"?asked={number}"
    assert f"{SQL}</textarea>" in client_of(room).get(address).content.decode()
    other = client_of(viewer_of(room)).get(address).content.decode()
    assert SQL not in other


def test_only_so_many_questions_are_kept(room, monkeypatch):
    monkeypatch.setattr(actions, "MOST_ASKED", 3)
    for n in range(5):
        actions.remember(room, f"select {n}")
    assert [row.sql for row in AskedQuery.objects.all()] == ["select 4", "select 3", "select 2"]


def test_a_link_fills_in_a_query_and_runs_nothing(room):
    answer = client_of(room).get(reverse("ask", args=[room.incident.slug]), {"sql": "select pid from syscalls"})
    body = answer.content.decode()
    assert "select pid from syscalls</textarea>" in body
    assert "This query came with the link" in body
    assert "22626" not in body
    assert not AskedQuery.objects.exists()


def test_a_query_is_saved_for_oneself_or_for_the_room(room):
    client, slug = client_of(room), room.incident.slug
    answer = client.post(
        reverse("ask-save", args=[slug]),
        {"sql": SQL, "title": "Calls", "chart_kind": "line", "chart_x": "line_no", "chart_y": "pid"},
    )
    row = SavedQuery.objects.get()
    assert answer["Location"] == reverse("ask", args=[slug]) + f"?saved={row.pk}"
    assert (row.shared, row.chart) == (False, {"kind": "line", "x": "line_no", "y": "pid"})
    other = client_of(viewer_of(room))
    assert "Calls" not in other.get(reverse("ask", args=[slug])).content.decode()
    assert other.get(answer["Location"]).status_code == 404
    client.post(
        reverse("ask-save", args=[slug]), {"sql": SQL, "title": "Calls", "saved": row.pk, "version": 1, "shared": "on"}
    )
    assert "shared by" in other.get(reverse("ask", args=[slug])).content.decode()
    assert other.get(answer["Location"]).status_code == 200


def test_a_viewer_keeps_own_queries_and_shares_none(room):
    viewer = viewer_of(room)
    client, address = client_of(viewer), reverse("ask-save", args=[room.incident.slug])
    assert client.post(address, {"sql": SQL, "title": "Mine"}).status_code == 302
    assert client.post(address, {"sql": SQL, "title": "Ours", "shared": "on"}).status_code == 403
    other = make_member(room.incident)
    row = SavedQuery.objects.get(title="Mine")
    hers = client_of(other).post(reverse("ask-saved", args=[room.incident.slug, row.pk]), {"do": "delete"})
    assert hers.status_code == 404, "whoever may not see it learns nothing of it"


def test_a_query_changed_meanwhile_is_not_overwritten(room):
    row = actions.save(room, "Calls", SQL, shared=True)
    actions.save(room, "Calls", "select 1", True, id=row.pk, version=1)
    answer = client_of(room).post(
        reverse("ask-save", args=[room.incident.slug]),
        {"sql": "select 2", "title": "Calls", "shared": "on", "saved": row.pk, "version": 1},
    )
    assert answer.status_code == 409
    body = unbroken(answer)
    assert "select 2</textarea>" in body
    assert "select 1" in body
    assert 'name="version" value="2"' in body
    row.refresh_from_db()
    assert row.sql == "select 1"


def test_a_form_sent_twice_keeps_one_query(room):
    said = {"sql": SQL, "title": "Calls", "client": "4b2c1d3e-0000-4000-8000-000000000001"}
    for _ in range(2):
        client_of(room).post(reverse("ask-save", args=[room.incident.slug]), said)
    assert SavedQuery.objects.count() == 1


def test_a_query_taken_away_comes_back(room):
    row = actions.save(room, "Calls", SQL, shared=True)
    client, address = client_of(room), reverse("ask-saved", args=[room.incident.slug, row.pk])
    client.post(address, {"do": "delete"})
    assert "taken away" in client.get(reverse("ask", args=[room.incident.slug])).content.decode()
    assert "Calls" not in client_of(viewer_of(room)).get(reverse("ask", args=[room.incident.slug])).content.decode()
    client.post(address, {"do": "restore"})
    assert "Calls" in client_of(viewer_of(room)).get(reverse("ask", args=[room.incident.slug])).content.decode()
    verbs = list(room.incident.activity.filter(object=f"query {row.pk}").values_list("verb", flat=True))
    assert verbs == ["saved", "deleted", "restored"]


# --- a rule of it --------------------------------------------------------------------------------------------------

LONG = "select artifact_id, line_no, line_end, pid, name, ret from syscalls where ret >= 3728 order by line_no"
WISH = {"team": "dba", "number": "7", "title": "Children of the listener", "layer": "listener"}


def rule_file(room: Room, sql: str, rows: list[str], **more: str):
    return client_of(room).post(
        reverse("ask-rule", args=[room.incident.slug]), {"sql": sql, "row": rows, **WISH, **more}
    )


def test_a_query_becomes_a_rule_whose_own_tests_pass(room, tmp_path: Path):
    answer = rule_file(room, LONG, ["1:1-1", "1:3-3"])
    assert answer.status_code == 200, text_of(answer)
    assert answer["Content-Disposition"] == 'attachment; filename="children-of-the-listener.yaml"'
    file = tmp_path / "children-of-the-listener.yaml"
    file.write_bytes(answer.content)
    written = yaml.safe_load(answer.content)
    assert written["id"] == "TEAM-dba-007"
    assert [test["name"] for test in written["tests"]] == [
        "the chosen rows",
        "a row that says nothing",
        "no evidence of this kind",
    ]
    assert [row["evidence_lines"] for row in written["tests"][0]["expect"]] == [["1:1-1"], ["1:3-3"]]
    ran = subprocess.run(
        [sys.executable, "-m", "rules", "--test", "TEAM-dba-007", "--rules", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_rule_of_groups_cites_their_ranges(room):
    sql = (
        "select artifact_id, name, count(*) as n, min(line_no) as line_no, max(line_end) as line_end "
        "from syscalls group by artifact_id, name having count(*) > 1 order by n desc"
    )
    answer = rule_file(room, sql, ["1:1-3"])
    assert answer.status_code == 200, text_of(answer)
    assert yaml.safe_load(answer.content)["tests"][0]["expect"][0]["evidence_lines"] == ["1:1-3"]


@pytest.mark.parametrize(
    ("sql", "rows", "more", "words"),
    [
        ("select name from syscalls", ["1:1-1"], {}, "Add the columns artifact_id and line_no"),
        (LONG, [], {}, "Choose at least one row"),
        (LONG, ["1:9-9"], {}, "Over the chosen rows alone the query finds nothing"),
        ("select artifact_id, line_no, name from syscalls", ["1:1-1"], {}, "It speaks of every row"),
        ("select 1 as artifact_id, 2 as line_no", ["1:1-1"], {}, "names no table"),
        ("select artifact_id, line_no, ret as \"a b\" from syscalls where ret > 0", ["1:1-1"], {}, "needs a plain name"),
        (LONG, ["1:1-1"], {"team": "D B A"}, "small letters and digits only"),
        (LONG, ["1:1-1"], {"title": ""}, "needs a title"),
        (LONG, ["1:1-1"], {"magnitude": "name"}, "must be a number"),
        ("select * from read_text('/etc/passwd')", ["1:1-1"], {}, "is not allowed"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_rule_says_what_to_add(room, sql, rows, more, words):
    answer = rule_file(room, sql, rows, **more)
    assert answer.status_code == 422
    assert words in text_of(answer)
    assert "Children of the listener" in answer.content.decode() or "title" in more, "what was typed stays"


def test_strangers_learn_nothing(room):
    stranger = Client()
    stranger.force_login(make_user())
    for name, args in (("ask", ()), ("ask-rows", ("csv",)), ("ask-rule", ()), ("ask-save", ()), ("ask-stop", ())):
        answer = stranger.post(reverse(name, args=[room.incident.slug, *args]), {"sql": SQL})
        assert answer.status_code == 404, name
        assert "QPROD" not in answer.content.decode()
