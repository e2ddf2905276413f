"""Tests of moved borders: set, cut, merged, undone, applied at re-reading; corrections and notes keep their lines."""

from __future__ import annotations

from itertools import pairwise

import pytest

from incidents.actions import artifacts, borders, notes
from incidents.errors import NotAllowed, Refused
from incidents.models.evidence.artifact import Artifact
from incidents.models.people.membership import Role
from incidents.work import analysis
from incidents.work.ingest import _said
from rules.case.reading import open_paths
from tests.incidents.conftest import make_artifact, make_member, make_room, run_jobs

TIMES = b"".join(b"time elapsed : 0,%02d\n" % (30 + n % 7) for n in range(10))
MAIL = (
    b"Hello all, this is what we measured before lunch on the old gateway.\n\n"
    + TIMES
    + (b"\nAnd this is what came out after we had restarted it in the afternoon.\n\n" + TIMES)
)


def parts_of(artifact: Artifact) -> list[tuple[int, int, str | None]]:
    artifact = Artifact.objects.select_related("reading").get(pk=artifact.pk)
    assert artifact.reading is not None
    return [(p.line_from, p.line_to, p.kind) for p in artifact.reading.parts.order_by("line_from")]


@pytest.fixture
def mail(db):
    room = make_room()
    artifact = make_artifact(room, MAIL, "mail.txt")
    run_jobs("small")
    assert [kind for _, _, kind in parts_of(artifact)] == ["conntime", "conntime"]
    return room, artifact


def test_lines_become_prose_and_the_rest_of_the_part_stays(mail):
    room, artifact = mail
    (first, last, _), second = parts_of(artifact)
    borders.make_prose(room, 1, (first + 3, first + 4))
    run_jobs("small")
    assert parts_of(artifact) == [(first, first + 2, "conntime"), (first + 5, last, "conntime"), second]
    artifact.refresh_from_db()
    assert artifact.reading is not None
    assert artifact.reading.tables == {"conn_times": 18}


def test_two_parts_merge_and_the_merge_can_be_undone(mail):
    room, artifact = mail
    before = parts_of(artifact)
    borders.merge_up(room, 1, (before[1][0], before[1][0]))
    run_jobs("small")
    assert parts_of(artifact) == [(before[0][0], before[1][1], "conntime")]
    borders.undo(room, 1)
    run_jobs("small")
    assert parts_of(artifact) == before
    with pytest.raises(Refused, match="No border"):
        borders.undo(room, 1)
    with pytest.raises(Refused, match="no part above"):
        borders.merge_up(room, 1, (before[0][0], before[0][0]))


def test_words_and_notes_go_with_their_lines(mail):
    room, artifact = mail
    (first, last, _), _ = parts_of(artifact)
    artifacts.correct(room, 1, {"host": "gw1", "phase": "before"}, (first, last))
    note = notes.add(room, "Look here.", artifact=1, lines=(first + 2, first + 2))
    borders.make_prose(room, 1, (first, first))
    run_jobs("small")
    artifact.refresh_from_db()
    values = analysis.values_of(artifact)[0]
    assert (values.part.line_from, values["host"], values["phase"]) == (first + 1, "gw1", "before")
    note.refresh_from_db()
    assert note.line_from == first + 2
    artifacts.reread(room, 1)
    run_jobs("small")
    artifact.refresh_from_db()
    assert analysis.values_of(artifact)[0]["host"] == "gw1"


def test_a_part_without_a_kind_is_recognised(mail):
    room, artifact = mail
    (first, last, _), second = parts_of(artifact)
    borders.make_part(room, 1, (first, first + 4), None)
    run_jobs("small")
    assert parts_of(artifact) == [(first, first + 4, "conntime"), (first + 5, last, "conntime"), second]


def test_one_part_that_nobody_can_read_takes_nothing_from_the_others(mail):
    room, artifact = mail
    _, second = parts_of(artifact)
    borders.make_part(room, 1, (1, 1), None)
    run_jobs("small")
    artifact.refresh_from_db()
    assert artifact.state == "read"
    assert artifact.cause is not None
    assert "unknown" in artifact.cause.lower()
    assert artifact.reading is not None
    assert artifact.reading.error == "UnknownFormat"
    assert second in parts_of(artifact)


def test_a_border_that_overlaps_another_wins_and_both_can_be_read(mail):
    room, artifact = mail
    (first, last, _), _ = parts_of(artifact)
    borders.make_part(room, 1, (first, first + 5), "conntime")
    borders.make_part(room, 1, (first + 4, last), "conntime")
    run_jobs("small")
    assert parts_of(artifact)[:2] == [(first, first + 3, "conntime"), (first + 4, last, "conntime")]
    spans = [(p["line_from"], p["line_to"]) for p in _said(artifact)["parts"]]
    assert all(a[1] < b[0] for a, b in pairwise(spans))


def test_an_answer_about_one_part_holds_for_it_alone(mail):
    room, artifact = mail
    (first, last, _), second = parts_of(artifact)
    borders.answer(room, 1, (first, last), {"year": "2016"})
    said = _said(artifact)
    assert said["file"] == {}
    assert [p["hints"] for p in said["parts"]] == [{"kind": parts_kind(artifact), "year": "2016"}]
    run_jobs("small")
    assert parts_of(artifact) == [(first, last, "conntime"), second]


def parts_kind(artifact: Artifact) -> str:
    artifact.refresh_from_db()
    assert artifact.reading is not None
    part = artifact.reading.parts.order_by("line_from")[0]
    return f"{part.kind}/{part.variant}"


@pytest.mark.parametrize("lines", [(0, 3), (5, 4), (1, 10_000)])
def test_lines_that_are_none_are_refused(mail, lines):
    room, artifact = mail
    with pytest.raises(Refused, match="lines must be"):
        borders.make_prose(room, 1, lines)
    assert not artifact.corrections.exists()


def test_a_viewer_moves_nothing(mail):
    room, _ = mail
    viewer = make_member(room.incident, Role.VIEWER)
    with pytest.raises(NotAllowed):
        borders.make_prose(viewer, 1, (3, 4))
    with pytest.raises(NotAllowed):
        borders.undo(viewer, 1)


def test_the_exported_case_names_the_borders(mail, tmp_path):
    """Check that the command line finds the same parts with the exported case."""
    room, artifact = mail
    (first, _, _), _ = parts_of(artifact)
    borders.make_prose(room, 1, (first + 3, first + 4))
    run_jobs("small")
    text = analysis.case_yaml(room.incident)
    assert f"lines: {first + 3}-{first + 4}" in text
    assert "kind: prose" in text
    (tmp_path / "case.yaml").write_text(text)
    (tmp_path / "mail.txt").write_bytes(MAIL)
    spec, status = open_paths([tmp_path / "mail.txt"], tmp_path / "case.yaml", tmp_path / "out")
    assert status == 0
    here = [(line_from, line_to) for line_from, line_to, _ in parts_of(artifact)]
    assert [(part.line_from, part.line_to) for part in spec.artifacts[0].parts] == here
