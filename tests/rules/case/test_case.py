"""Tests of cases: JSON and case.yaml both ways, stretches, tables joined with what people state, and the same rows
through SQL views.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from parsers.tables import schema
from rules import registry
from rules.case.case import ORDER, Alignment, Case, columns_of, in_order, instant, separable, with_restart
from rules.case.case_yaml import dump_case_yaml, load_case_yaml
from rules.case.reading import open_paths
from rules.engine import views
from rules.engine.sandbox import Fence, Sandbox
from rules.errors import CaseInvalid
from rules.model import ArtifactSpec, CaseSpec, HostSpec, Marker, PartSpec, PhaseSpec, Statement, Symptom
from tests.rules.incidents import seed001

WHOLE = """
title: Logins take four seconds
symptom: {text: connect time, unit: s, bad: 3.9, normal: 0.3}
hosts: {db1: {os: solaris, ncpu: 16, mem_gib: 64, role: db, tz: Europe/Warsaw}}
artifacts:
  - {file: a1.txt, kind: truss, host: db1, phase: before, role: listener}
  - {file: mail.txt, lines: 54-95, kind: truss, host: db1, phase: before}
markers:
  - {at: "2008-11-07T10:15:00Z", label: set, changed: [memory_target off], hypothesis: H-OS-SHM}
  - {between: [before, after-1]}
phases: [{file: a1.txt, lines: 24-24, phase: batch}]
statements: [{name: sessions, num: 300, text: about 300, author: DBA}]
offsets: [{clock: "1.1:1", ref: "2.1:1", lo: 0.1, hi: 0.2}]
t_zero: "2008-11-07T10:00:00Z"
rules: {overrides: [{rule: SHM-001, param: min_stall_s, value: 0.2, reason: fast host, author: DBA, scope: team}]}
"""


def artifacts() -> list[ArtifactSpec]:
    return [
        ArtifactSpec(1, "a1.txt", parts=(PartSpec(1, 1, 30),)),
        ArtifactSpec(2, "mail.txt", parts=(PartSpec(1, 54, 95),)),
        ArtifactSpec(7, "more.txt", parts=(PartSpec(1, 1, 5), PartSpec(2, 6, 9, host="x"))),
    ]


def test_a_case_goes_to_json_and_back() -> None:
    spec = load_case_yaml(WHOLE).spec(artifacts())
    assert CaseSpec.from_json(spec.as_json()) == spec
    assert spec.artifacts[0].parts[0] == PartSpec(1, 1, 30, "db1", "before", "listener")
    assert spec.artifacts[1].parts[0].host == "db1"
    assert spec.phases == (PhaseSpec(1, 24, 24, "batch"),)


def test_a_case_goes_to_yaml_and_back() -> None:
    spec = load_case_yaml(WHOLE).spec(artifacts())
    again = load_case_yaml(dump_case_yaml(spec, {(1, 1): "truss/solaris"}))
    assert again.spec(artifacts()) == spec
    assert again.entries("a1.txt")[0].kind == "truss/solaris"
    assert [e.id for e in again.artifacts] == [1, 2, 7, 7]


def test_an_empty_case_file_is_an_empty_case() -> None:
    assert load_case_yaml("").spec([]) == CaseSpec()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title: x\nsymptoms: {}\n", "line 2: symptoms: unknown key"),
        ("hosts:\n  a:\n    os: x\n    cpus: 4\n", "line 4: hosts.a.cpus"),
        ("title: x\ntitle: y\n", "line 2: the key 'title' stands twice"),
        ("title: !!python/name:os.system ''\n", "line 1"),
        ("title: !!set {a}\n", "is not allowed"),
        ("1: x\n", "must be text"),
        ("title: [\n", "line 2"),
        ("- a\n", "must be a mapping"),
        ("title: 5\n", "must be text, not int"),
        ("symptom: {bad: high}\n", "must be a number"),
        ("hosts: {a: {ncpu: true}}\n", "must be a whole number"),
        ("hosts: [a]\n", "must be a mapping"),
        ("markers: {a: b}\n", "must be a list"),
        ("markers: [{between: [a]}]\n", "must have 2 elements"),
        ("markers: [{at: [a, b]}]\n", "must be one time"),
        ("statements: [{num: 1}]\n", "statements[0].name: is required"),
        ("artifacts: [{file: a}, {file: a, lines: 1-2}]\n", "named twice"),
        ("schema: 2\n", "must be one of 1"),
        ("title: \x01\n", "character"),
    ],
)
def test_a_wrong_case_file_says_where(text: str, words: str) -> None:
    with pytest.raises(CaseInvalid) as caught:
        load_case_yaml(text)
    assert words in str(caught.value)


def test_wrong_lines_and_files_are_named() -> None:
    with pytest.raises(CaseInvalid, match="54-95"):
        load_case_yaml("artifacts: [{file: a, lines: 9-1}]").spec([ArtifactSpec(1, "a", parts=(PartSpec(1, 1, 5),))])
    with pytest.raises(CaseInvalid, match="not among the files"):
        load_case_yaml("phases: [{file: b, lines: 1-2, phase: x}]").spec([])
    with pytest.raises(CaseInvalid, match="two files have the name"):
        dump_case_yaml(CaseSpec(artifacts=(ArtifactSpec(1, "a"), ArtifactSpec(2, "a"))))
    with pytest.raises(CaseInvalid, match="aliases"):
        load_case_yaml("a: &x [1]\nb: [" + ", ".join(["*x"] * 101) + "]")
    with pytest.raises(CaseInvalid, match="KiB"):
        load_case_yaml("# " + "x" * 1024 * 1024)


def test_unknown_keys_in_json_name_their_path() -> None:
    with pytest.raises(CaseInvalid) as caught:
        CaseSpec.from_json(
            {"artifacts": [{"id": 1, "file": "a", "parts": [{"part": 1, "line_from": 1, "line_to": 2, "colour": "x"}]}]}
        )
    assert caught.value.where == "artifacts[0].parts[0].colour"


def test_the_excess_of_a_symptom() -> None:
    assert Symptom(unit="s", bad=3.9, normal=0.3).excess_s == pytest.approx(3.6)
    assert Symptom(unit="1/s", bad=3.9, normal=0.3).excess_s is None
    assert Symptom(unit="s", bad=0.1, normal=0.3).excess_s is None


def test_a_restart_is_added_where_a_change_needs_one() -> None:
    assert with_restart(Marker(changed=("memory_target off", "SGA 40 to 18 GB"))) == [
        "memory_target off",
        "SGA 40 to 18 GB",
        "restart",
    ]
    assert with_restart(Marker(changed=("shared server",))) == ["shared server"]
    assert with_restart(Marker(changed=("sga_max_size", "Restart of the instance"))) == [
        "sga_max_size",
        "Restart of the instance",
    ]


def test_times_are_instants() -> None:
    assert instant("2020-01-01T00:00:00", "x").tzinfo is not None
    with pytest.raises(CaseInvalid, match="no time"):
        instant("yesterday", "x")


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> CaseSpec:
    made, _ = open_paths([seed001.CASE], None, tmp_path_factory.mktemp("readings"))
    return made


def test_stretches_cover_each_part_once(spec: CaseSpec) -> None:
    phased = replace(spec, phases=(PhaseSpec(5, 3, 4, "batch"), PhaseSpec(5, 20, 99, "late")))
    case = Case(phased)
    for artifact in spec.artifacts:
        lines = [n for s in case.stretches if s.artifact == artifact.id for n in range(s.line_from, s.line_to + 1)]
        assert lines == [n for p in artifact.parts for n in range(p.line_from, p.line_to + 1)]
    assert [(s.line_from, s.line_to, s.phase) for s in case.stretches if s.artifact == 5] == [
        (1, 2, "before"),
        (3, 4, "batch"),
        (5, 19, "before"),
        (20, 23, "late"),
    ]
    assert case.at(5, 3) is not None
    assert case.at(5, 99) is None
    assert case.table("conn_times").filter(pl.col("phase") == "batch")["line_no"].to_list() == [3, 4]


def test_tables_join_what_people_say(spec: CaseSpec) -> None:
    case = Case(spec)
    calls = case.table("syscalls")
    assert calls.columns[:10] == [
        "artifact_id",
        "host",
        "phase",
        "clock",
        "part",
        "line_no",
        "line_end",
        "t_local",
        "t",
        "t_err",
    ]
    assert calls["host"].unique().to_list() == ["db1"]
    assert calls["t"].null_count() == calls.height
    case.align({"3.1:1": Alignment("A", 100.0, 0.5)})
    moved = case.table("syscalls")
    assert (moved["t"] - moved["t_local"]).round(6).unique().to_list() == [100.0]
    assert moved["t_err"].unique().to_list() == [0.5]
    assert case.has("pmap")
    assert not case.has("vmstat")
    assert not case.has("listener_cycles")
    with pytest.raises(KeyError):
        case.table("nosuch")
    with pytest.raises(KeyError):
        case.derived("nosuch")


def test_scans_give_some_columns_of_some_rows(spec: CaseSpec) -> None:
    """Check for the same rows as in the whole table; phases and clocks change inside parts."""
    case = Case(replace(spec, phases=(PhaseSpec(5, 3, 4, "batch"), PhaseSpec(3, 15, 20, "errand"))))
    case.align({"3.1:1": Alignment("A", 100.0, 0.5)})
    for name in ("syscalls", "conn_times", "artifacts", "vmstat"):
        whole = case.table(name)
        assert case.scan(name).collect().sort(*ORDER, maintain_order=True).equals(whole), name
        for where in (pl.col("phase") == "errand", pl.col("phase").is_null(), pl.col("t") > 0, pl.col("line_no") < 9):
            columns = ["clock", "line_no", "host", "line_no"]
            expected = whole.filter(where).select("clock", "line_no", "host")
            assert case.table(name, columns, where).equals(expected), name
            assert case.scan(name, columns, where).collect().sort("line_no").equals(expected.sort("line_no")), name
    assert case.table("syscalls", where=pl.col("phase") == "errand").height > 0
    for name in ("pipe_pairs", "proc_tree"):
        assert case.scan(name).collect().equals(case.derived(name)), "a derived table can be scanned too"
    with pytest.raises(KeyError):
        case.scan("nosuch")


def test_scans_of_a_case_in_memory() -> None:
    case = Case.of_tables({"pmap": [{"line_no": 4, "kbytes": 8}, {"line_no": 3, "kbytes": 5}]})
    assert case.table("pmap", ["line_no"], pl.col("kbytes") > 6)["line_no"].to_list() == [4]
    assert case.scan("pmap", ["kbytes"]).collect()["kbytes"].to_list() == [8, 5]
    assert case.scan("vmstat", ["r"]).collect().is_empty()


def test_a_persons_clock_replaces_the_domains_own(spec: CaseSpec) -> None:
    tied = replace(spec.artifacts[0], parts=(replace(spec.artifacts[0].parts[0], clock="2.1:1"),))
    case = Case(replace(spec, artifacts=(tied, *spec.artifacts[1:])))
    assert case.table("sqlnet").filter(pl.col("artifact_id") == 1)["clock"].unique().to_list() == ["2.1:1"]
    assert case.clocks[0].clock == "2.1:1"


def test_rows_of_the_case_itself(spec: CaseSpec) -> None:
    case = Case(
        replace(
            spec,
            t_zero="2016-04-14T00:00:00Z",
            markers=(*spec.markers, Marker(at="2016-04-14T00:01:00Z")),
            hosts={"db1": HostSpec(os="solaris", mem_gib=1.0)},
        )
    )
    assert case.table("artifacts").height == 7
    assert case.table("artifacts").filter(pl.col("kind") == "pmap")["os"].to_list() == ["solaris"]
    assert case.table("hosts").select("host", "mem_kb").rows() == [("db1", 1048576)]
    assert case.table("markers")["t"].to_list() == [None, None, 60.0]
    names = case.table("statements")["name"].to_list()
    assert names[:3] == ["symptom_bad", "symptom_normal", "work_rate"]
    assert {"same_connection", "SHM-001.address", "CMP-001.after_mean"} <= set(names)


def test_sql_views_show_the_same_rows(spec: CaseSpec, tmp_path: Path) -> None:
    """Check every table through Polars and through the child's views, with phases and clocks that change inside a part."""
    case = Case(replace(spec, phases=(PhaseSpec(5, 3, 4, "batch"), PhaseSpec(3, 15, 20, "errand"))))
    case.align({"3.1:1": Alignment("A", 100.0, 0.5)})
    wanted = [*schema.TABLES, *registry.derived()]
    with Sandbox(Fence(max_rows=10_000)) as sandbox:
        sandbox.open(views.build(case, wanted, tmp_path))
        for name in wanted:
            frame = case.table(name) if name in schema.TABLES else case.derived(name)
            rows = sandbox.query("R", f"select * from {name}").rows
            assert list(columns_of(name)) == frame.columns
            key = repr
            assert sorted(map(key, rows)) == sorted(map(key, frame.to_dicts())), name


def test_since_boot_rows_are_left_out_of_interval_views(tmp_path: Path) -> None:
    case = Case.of_tables({"vmstat": [{"line_no": 1, "first": True}, {"line_no": 2, "first": False}, {"line_no": 3}]})
    with Sandbox() as sandbox:
        sandbox.open(views.build(case, ["vmstat_i"], tmp_path))
        assert [r["line_no"] for r in sandbox.query("R", "select line_no from vmstat_i order by 1").rows] == [2, 3]


def test_cases_in_memory() -> None:
    case = Case.of_tables({"pmap": pl.DataFrame({"line_no": [3], "kbytes": [5]}), "pipe_pairs": [{"spawn_s": 1.0}]})
    assert case.table("pmap").select("artifact_id", "part", "line_no", "line_end", "kbytes").rows() == [(1, 1, 3, 3, 5)]
    assert case.derived("pipe_pairs")["spawn_s"].to_list() == [1.0]
    assert case.hash_of("pmap") != Case.of_tables({"pmap": [{"line_no": 4}]}).hash_of("pmap")
    with pytest.raises(KeyError, match="no column"):
        Case.of_tables({"pmap": [{"line_no": 3, "nosuch": 1}]})


@pytest.mark.parametrize("name", sorted(filter(separable, registry.derived())))
def test_a_derived_table_of_an_artifact_without_its_rows_is_empty_and_not_built(
    name: str, spec: CaseSpec, tmp_path: Path
) -> None:
    assert Case.of_tables({}).derived(name).is_empty()
    case = Case(replace(spec, artifacts=spec.artifacts[:1], phases=()), tmp_path)
    if not case.may_have(name):
        assert (case.files(name), case.kept(name), case.has(name)) == ([], [], False)
        assert not [*tmp_path.rglob(f"{name}-*")]


def test_hashes_follow_what_a_table_depends_on(spec: CaseSpec) -> None:
    base = Case(spec)
    rehosted = Case(
        replace(
            spec,
            artifacts=(
                replace(spec.artifacts[0], parts=(replace(spec.artifacts[0].parts[0], host="other"),)),
                *spec.artifacts[1:],
            ),
        )
    )
    assert base.hash_of("syscalls") == rehosted.hash_of("syscalls")
    assert base.hash_of("sqlnet") != rehosted.hash_of("sqlnet")
    assert base.hash_of("wait_cover") != rehosted.hash_of("wait_cover")
    said = Case(replace(spec, statements=(*spec.statements, Statement("workers", 2))))
    assert base.hash_of("statements") != said.hash_of("statements")


def test_an_unread_artifact_is_an_empty_one() -> None:
    case = Case(CaseSpec(artifacts=(ArtifactSpec(1, "a.txt", parts=(PartSpec(1, 1, 3),)),)))
    assert case.manifests == {}
    assert case.table("syscalls").is_empty()
    assert case.clocks == ()
    assert views.build(case, ["syscalls"], Path())["syscalls"].endswith("where false")


def test_a_statement_about_a_host_or_a_phase_joins_it() -> None:
    said = (
        Statement("rss_kb", 400, subject="pid 1"),
        Statement("work_rate", 40, subject="before"),
        Statement("sga_kb", 1, subject="db"),
    )
    spec = CaseSpec(hosts={"db": HostSpec()}, markers=(Marker(between=("before", "after")),), statements=said)
    rows = Case(spec).table("statements", ["subject", "host", "phase"]).rows()
    assert rows == [("pid 1", None, None), ("before", None, "before"), ("db", "db", None)]


@pytest.mark.parametrize(
    ("rows", "sorted_"),
    [
        ([], True),
        ([(1, 1, 5, 5)], True),
        ([(1, 1, 5, 5), (1, 2, 1, 1), (2, 1, 1, 1)], True),
        ([(1, 1, 5, 5), (1, 1, 5, 5)], True),
        ([(1, 2, 1, 1), (1, 1, 5, 5)], False),
        ([(1, 1, 5, 6), (1, 1, 5, 5)], False),
        ([(1, 1, 5, None), (1, 1, 6, 6)], False),
    ],
)
def test_rows_are_sorted_only_if_they_are_out_of_order(rows: list[tuple[int | None, ...]], sorted_: bool) -> None:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(ORDER, pl.Int64), orient="row")
    assert in_order(frame) is sorted_
