"""Tests of exports with replaced names: no byte contains a planted name, and equal names stay equal."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from incidents.access import Room
from incidents.actions import case, exports, names, notes, purge
from incidents.content.grafana import annotations_of
from incidents.errors import NotAllowed, Refused
from incidents.models.people.membership import Role
from incidents.models.room.bundle import BundleState
from incidents.storage import store
from parsers.secrets.pseudonyms import translated
from tests.incidents.conftest import make_artifact, make_member, make_room, make_user, run_jobs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("judged_once")]

LOG = "".join(
    line.format(n=n % 60, k=n % 5)
    for n in range(60)
    for line in (
        "Apr 14 05:58:{n:02d} qzdb77 sshd[412]: Failed password for invalid user wanda from 10.77.3.{k} port 5{n:03d} ssh2\n",
        "Apr 14 05:58:{n:02d} qzdb77 app[77]: cannot open /u01/zebrafarm/salaries{k}.dbf: No such file or directory\n",
        "Apr 14 05:58:{n:02d} qzdb77 kernel: [  1{n}.5] Out of memory: Kill process 3731 (oracle) score 9{k}\n",
        "Apr 14 05:58:{n:02d} qzdb77 pg[9]: slow: select pay from staff where name = 'QUAGGA' and id = 77{n:02d}991\n",
        "Apr 14 05:58:{n:02d} qzdb77 mail[9]: bounced for boss@okapi-mail.example, project GNUHERD\n",
    )
)
STRACE = "".join(
    f'4117 {1460613600 + n}.{n:06d} connect(7, {{sa_family=AF_INET, sin_port=htons(1521), sin_addr=inet_addr("10.77.9.{n}")}}, 16) = 0 <2.000100>\n'
    f'4117 {1460613600 + n}.{n + 1:06d} openat(AT_FDCWD, "/u01/zebrafarm/orders.trc", O_RDONLY) = 8 <0.000011>\n'
    for n in range(1, 40)
)
PLANTED = (
    *("qzdb77", "wanda", "10.77.", "zebrafarm", "salaries", "quagga", "okapi", "boss@", "gnuherd", "ibexhost", "77991"),
    *("konrad", "kudu", "yakpeople", "the gazelle service", "nyala"),
)  # fmt: skip


@pytest.fixture
def room() -> Room:
    lead = make_user("yakpeople1", first_name="Konrad", last_name="Kudu", email="konrad@nyala.example")
    room = make_room(
        lead, "Logins to qzdb77 take 3 s", symptom_text="logins on qzdb77", symptom_unit="s", symptom_bad=3
    )
    case.put_host(room, "ibexhost.nyala.example", {"os": "linux"})
    make_artifact(room, LOG.encode(), "messages-qzdb77", host="qzdb77")
    make_artifact(room, STRACE.encode(), "strace-wanda.txt", host="ibexhost.nyala.example")
    case.put_statement(room, {"name": "users_hit", "text": "all of qzdb77", "author_label": "Konrad Kudu"})
    names.put(room, "port", "1521", "the gazelle service")
    notes.add(room, "qzdb77 is not in it.", artifact=1)
    run_jobs()
    return room


def exported(room: Room, *also: str) -> dict[str, bytes]:
    export = exports.ask(room, "redacted", also)
    run_jobs("large")
    export.refresh_from_db()
    assert (export.state, export.cause) == (BundleState.READY, "")
    with tarfile.open(store.bundle_path(room.incident.pk, export.pk)) as archive:
        return {info.name: archive.extractfile(info).read() for info in archive}  # type: ignore[union-attr]  # all are files


def test_no_planted_name_is_in_any_byte(room):
    report = room.incident.evaluations.latest("number").report
    shown = json.dumps(report).lower() + LOG.lower() + STRACE.lower()
    assert [word for word in ("qzdb77", "wanda", "10.77.", "zebrafarm") if word not in shown] == [], "nothing to hide"
    files = exported(room, "GNUHERD")
    assert {"schema.json", "report.json", "findings.csv", "observations.csv", "found.sarif", "annotations.json"} < set(
        files
    )
    for name, content in files.items():
        whole = content.lower()
        if name.endswith(".parquet"):  # its pages are packed: what is read counts as well
            whole += json.dumps(pq.read_table(io.BytesIO(content)).to_pylist(), default=str).lower().encode()
        found = [word for word in PLANTED if word.encode() in whole or word in name.lower()]
        assert found == [], name
    folder = store.bundle_path(room.incident.pk, room.incident.exports.get().pk).parent
    assert [file.name for file in folder.iterdir()] == [str(room.incident.exports.get().pk)]


def test_relations_stay(room):
    files = exported(room)
    frame = pl.read_parquet(io.BytesIO(files["syscalls.parquet"]))
    opened = frame.filter(name="openat")
    texts = [column for column, kind in frame.schema.items() if kind == pl.String]
    paths = {value for name in texts for value in opened[name].drop_nulls().to_list() if value.startswith("/u01/")}
    assert len(paths) == 1, "one file is one file"
    hosts = set(frame["host"].to_list())
    assert len(hosts) == 1
    report = json.loads(files["report.json"])
    assert hosts <= {artifact["host"] for artifact in report["artifacts"]}, "a host is the same in tables and report"
    noted = json.loads(files["annotations.json"])
    assert len(noted) == len(annotations_of(room.incident.evaluations.latest("number").report, [], None)) > 0
    assert {tag for one in noted for tag in one["tags"] if tag.startswith("host-")} <= {
        a["host"] for a in report["artifacts"]
    }
    assert not any("http" in one["text"] for one in noted)
    addresses = (
        {a for value in frame["arg_host"].drop_nulls() for a in [value]} if "arg_host" in frame.columns else set()
    )
    assert len({address.rpartition(".")[0] for address in addresses}) <= 1


def test_a_lead_translates_back_and_nobody_else(room):
    report = json.loads(exported(room)["report.json"])
    export = room.incident.exports.get()
    replaced = {word: (kind, name) for word, (kind, name) in export.names.items()}
    before = room.incident.evaluations.latest("number").report
    hosts = [translated(artifact["host"], replaced) for artifact in report["artifacts"]]
    assert [h.lower() for h in hosts] == [artifact["host"] for artifact in before["artifacts"]]
    assert exports.look_up(room, export.pk).names == export.names
    assert room.incident.activity.latest("seq").verb == "looked up"
    with pytest.raises(NotAllowed):
        exports.look_up(make_member(room.incident, Role.INVESTIGATOR), export.pk)


def test_another_export_has_other_pseudonyms(room):
    one, other = exported(room)["report.json"], exported(room)["report.json"]
    hosts = [{artifact["host"] for artifact in json.loads(report)["artifacts"]} for report in (one, other)]
    assert hosts[0] & hosts[1] == set()


def test_a_purge_takes_the_names_along(room):
    exported(room)
    purge.purge(room, 1, "uploaded by mistake")
    assert room.incident.exports.get().names == {}


def test_a_thousand_further_names_are_refused(room):
    with pytest.raises(Refused, match="At most 200"):
        exports.ask(room, "redacted", ["x"] * 1000)


def test_the_folder_of_a_killed_worker_is_no_hindrance(room):
    export = exports.ask(room, "redacted")
    path = store.bundle_path(room.incident.pk, export.pk)
    left: Path = path.with_name(f"tables-{path.name}")
    left.mkdir(parents=True)
    (left / "old.parquet").write_bytes(b"x")
    run_jobs("large")
    with tarfile.open(path) as archive:
        assert "old.parquet" not in archive.getnames()
