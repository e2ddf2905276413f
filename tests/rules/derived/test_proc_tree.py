"""Tests of births, execs and exits found in traces."""

from __future__ import annotations

from rules.case.case import Case
from rules.derived.proc_tree import ancestry
from tests.rules import traces


def tree(rows):
    return Case.of_tables({"syscalls": rows}).derived("proc_tree")


def test_the_double_fork_of_seed001():
    found = tree(traces.truss("001", *traces.TRUSS_001)).select("pid", "ppid", "line_fork", "t_fork").rows()
    assert found == [(3728, 22626, 78, 8.6926), (3731, 3728, 80, 8.7229)]


def test_exec_exit_and_fork_cost_of_seed000():
    rows = {r["pid"]: r for r in tree(traces.truss("000", *traces.BEFORE_000)).to_dicts()}
    assert rows[8195]["fork_cpu_s"] == 0.0299
    assert (rows[8195]["line_exit"], rows[8195]["t_exit"]) == (116, 1.6163)
    assert rows[8197]["fork_cpu_s"] == 0.0246
    assert rows[8197]["line_exec"] == 125
    assert rows[8197]["path"].endswith("/bin/oracle")


def call(line, pid, t, name, **more):
    return {"line_no": line, "pid": pid, "t_local": t, "name": name, "state": "done", "clock": "c", **more}


def test_a_birth_seen_from_the_child_only_has_no_cost():
    found = tree([call(1, 20, 1.0, "fork1", state="child_start", ret=10)]).row(0, named=True)
    assert (found["ppid"], found["line_fork"], found["fork_cpu_s"]) == (10, 1, None)


def test_a_reused_pid_is_two_processes():
    # pid 20: |born 1.0 .. exec a 1.1 .. exit 1.2|          |born 5.0 .. exec b 5.1|
    rows = [
        call(1, 10, 1.0, "fork1", child_pid=20), call(2, 20, 1.1, "execve", path="/a"), call(3, 20, 1.2, "_exit", state="no_return"),
        call(4, 10, 5.0, "fork1", child_pid=20), call(5, 20, 5.1, "execve", path="/b"),
    ]  # fmt: skip
    assert tree(rows).select("t_fork", "path", "line_exit").rows() == [(1.0, "/a", 3), (5.0, "/b", None)]


def test_failed_forks_and_execs_are_nobodys():
    rows = [
        call(1, 10, 1.0, "fork1", err="EAGAIN"), call(2, 10, 1.5, "fork1", child_pid=20), call(3, 20, 2.0, "execve", path="/a", err="ENOENT"),
        call(4, 20, 2.1, "execve", path="/b"),
    ]  # fmt: skip
    assert tree(rows).select("pid", "path").rows() == [(20, "/b")]


def test_ancestry_keeps_the_forefathers_own_fork():
    found = ancestry(tree(traces.truss("001", *traces.TRUSS_001)))
    assert set(found.select("pid", "ancestor", "line_fork").rows()) == {
        (3728, 22626, 78),
        (3731, 3728, 80),
        (3731, 22626, 78),
    }


def test_a_case_without_traces_has_no_processes():
    assert Case.of_tables({}).derived("proc_tree").is_empty()


def test_ancestry_ends_after_eight_generations():
    found = ancestry(tree([call(i, i, float(i), "fork1", child_pid=i + 1) for i in range(1, 15)]))
    assert found.filter(found["pid"] == 15)["ancestor"].to_list() == [14, 13, 12, 11, 10, 9, 8, 7]


def test_a_parent_born_after_its_child_is_another_process():
    # pid 20 is reused: the one that forked 30 at 2.0 is not the one that 10 forked at 5.0
    rows = [call(1, 20, 2.0, "fork1", child_pid=30), call(2, 10, 5.0, "fork1", child_pid=20)]
    assert set(ancestry(tree(rows)).select("pid", "ancestor").rows()) == {(30, 20), (20, 10)}
