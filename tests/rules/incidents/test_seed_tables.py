"""Tests of derived tables on the published incidents, read by the real formats: numbers, refusals, and twins at another
speed.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from parsers.reading import read
from parsers.text.source import Hints
from rules.case.case import Case
from rules.clocks import clock_map as clocks
from rules.model import CaseSpec
from tests.rules import traces

#            file: (line ranges, host, phase)
SEED001 = {
    "client.trc": (((59, 63),), "gw", "before"),
    "listener.trc": (((66, 72),), "db1", "before"),
    "server.truss": (((78, 83), (91, 108)), "db1", "before"),
    "before.txt": (((21, 43),), "gw", "before"),
    "after-1.txt": (((136, 155),), "gw", "after-1"),
    "after-2.txt": (((173, 199),), "gw", "after-2"),
}
SEED000 = {
    "before.truss": (traces.BEFORE_000, "db", "before"),
    "after.truss": (traces.AFTER_000, "db", "after-1"),
    "first.truss": (((15, 16),), "db", "before"),
}
STATED = {"statements": [{"name": "same_connection", "text": "For the same connection", "author": "DBA"}]}
CHANGED = {
    "markers": [
        {
            "kind": "change",
            "between": ["before", "after-1"],
            "changed": ["memory_target to sga_target", "40 to 18 GB"],
            "hypothesis": "H-OS-SHM",
        }
    ]
}


def opened(number, files, where: Path, extra=None, alter=lambda name, text: text):
    """Cut the seed into files, read them, and open the case."""
    seed, artifacts = traces.seed(number), []
    for i, (name, (ranges, host, phase)) in enumerate(files.items(), 1):
        text = "\n\n".join("\n".join(seed[first - 1 : last]) for first, last in ranges) + "\n"
        original, reading = where / name, where / f"{name}.reading"
        original.write_text(alter(name, text), "utf-8")
        account = read(original, Hints(), reading).as_json()
        assert account["error"] is None
        parts = [
            {"part": p["part"], "line_from": p["line_from"], "line_to": p["line_to"], "host": host, "phase": phase}
            for p in account["parts"]
        ]
        artifacts.append({"id": i, "file": name, "reading": str(reading), "parts": parts})
    return Case(CaseSpec.from_json({"artifacts": artifacts, **(extra or {})}))


@pytest.fixture(scope="module")
def seed001(tmp_path_factory):
    return opened("001", SEED001, tmp_path_factory.mktemp("seed001"), {**STATED, **CHANGED})


@pytest.fixture(scope="module")
def seed000(tmp_path_factory):
    return opened("000", SEED000, tmp_path_factory.mktemp("seed000"))


def test_align_seed001_pair(seed001):
    (row,) = seed001.derived("wait_cover").to_dicts()
    assert (row["client_s"], row["server_s"], row["off_lo"], row["off_hi"]) == (1.872, 1.792, 0.157, 0.237)
    assert row["cover"] == pytest.approx(0.9573, abs=5e-5)
    assert (row["same_conn"], row["residence"], row["kind"]) == ("statement", "partly", "spawn")


def test_align_seed001_truss(seed001):
    found = {(r["clock"], r["ref_clock"]): r for r in seed001.derived("clock_map").to_dicts()}
    assert set(found) == {("2.1:1", "1.1:1"), ("3.1:1", "2.1:1")}
    assert found["2.1:1", "1.1:1"]["accepted"]
    refused = found["3.1:1", "2.1:1"]
    assert not refused["accepted"]
    assert all(word in refused["reason"] for word in ("interval mismatch", "1.5406", "0.067"))
    assert seed001.derived("clock_checks").is_empty()


def test_frames_seed001(seed001):
    found = clocks.align(seed001)
    assert found.frames["1.1:1"] == found.frames["2.1:1"] == "A"
    assert list(found.frames.values()).count("A") == 2
    assert set(found.aligned) == {"1.1:1", "2.1:1"}


def test_pipe_pairs_and_owner_seed001(seed001):
    (row,) = seed001.derived("pipe_pairs").to_dicts()
    assert (row["writer_pid"], row["reader_pid"]) == (3731, 22626)
    assert (row["latency_s"], row["spawn_s"]) == pytest.approx((0.0003, 3.3326), abs=1e-9)
    profile = seed001.derived("call_profile").filter(pl.col("pid") == 3731)
    assert profile["dur_s"].sum() == pytest.approx(3.3020)
    assert dict(profile.select("name", "dur_s").rows())["shmat"] == pytest.approx(2.4734)


def test_changes_seed001(seed001):
    rows = seed001.derived("changes")
    assert rows.filter("proposed")["at_seq"].to_list() == [21, 41]
    found = {(r["from_phase"], r["to_phase"]): r for r in rows.filter(~pl.col("proposed")).to_dicts()}
    row = found["before", "after-1"]
    assert (row["n1"], row["n2"], row["before_med"], row["after_med"], row["shift"]) == (21, 20, 0.31, 0.13, -0.17)
    assert row["n_changes"] == 3  # two named, and the restart that they need
    assert found["before", "after-2"]["n2"] == 27


def test_cycles_seed000(seed000):
    found = (
        seed000.derived("listener_cycles")
        .filter("complete")
        .select("artifact_id", "cycle_s", "wait_child_s", "to_close_s")
        .rows()
    )
    assert found == [(1, 0.2962, 0.2806, 0.2937), (2, 0.2012, 0.1832, 0.1987)]


def test_incomplete_first_truss(seed000):
    assert seed000.derived("listener_cycles").filter(pl.col("artifact_id") == 3).is_empty()


def test_profile_sums(seed000):
    sums = (
        seed000.derived("call_profile")
        .filter(pl.col("cycle").is_not_null())
        .group_by("artifact_id")
        .agg(pl.col("dur_s").sum())
        .sort("artifact_id")
    )
    assert sums["dur_s"].to_list() == pytest.approx([0.2962, 0.2012], abs=1e-12)


def test_pipe_pairs_seed000(seed000):
    starts = seed000.derived("pipe_pairs").filter(pl.col("spawn_s").is_not_null())
    assert starts.select("writer_pid", "reader_pid", "latency_s").rows() == [(8197, 15697, 0.0001)]


def test_before_and_after_are_two_clocks_and_stay_apart(seed000):
    frames = clocks.align(seed000).frames
    assert frames["1.1:1"] != frames["2.1:1"]


# --- twins: nothing may depend on the numbers of one incident


def scaled(factor):
    def alter(name, text):
        if name.endswith(".truss"):
            return re.sub(r"(?<=: )(\d+\.\d{4})", lambda m: f"{float(m[1]) * factor:.4f}", text)
        if name.endswith(".trc"):
            return re.sub(r"05:58:(\d\d):(\d{3})", lambda m: _stamp(float(f"{m[1]}.{m[2]}") * factor), text)
        return re.sub(
            r"(\d),(\d\d)$", lambda m: f"{float(f'{m[1]}.{m[2]}') * factor:.3f}".replace(".", ","), text, flags=re.M
        )

    return alter


def _stamp(seconds):
    minutes, rest = divmod(seconds, 60)
    return f"05:{58 + int(minutes):02d}:{rest:06.3f}".replace(".", ":")


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_seed001_at_another_speed(tmp_path, factor):
    def renamed(name, text):
        return (
            scaled(factor)(name, text)
            .replace("22626", "4711")
            .replace("3 7 3 1", "9 2 3 4")
            .replace("3731", "9234")
            .replace("3728", "9233")
        )

    case = opened("001", SEED001, tmp_path, {**STATED, **CHANGED}, renamed)
    (pair,) = case.derived("pipe_pairs").to_dicts()
    assert (pair["writer_pid"], pair["reader_pid"]) == (9234, 4711)
    assert pair["spawn_s"] == pytest.approx(3.3326 * factor, abs=2e-4)
    (row,) = case.derived("wait_cover").to_dicts()
    assert row["cover"] == pytest.approx(0.9573, abs=2e-3)
    assert row["off_lo"] == pytest.approx(0.157 * factor, abs=2e-3)
    refused = case.derived("clock_map").filter(~pl.col("accepted")).to_dicts()
    assert len(refused) == 1
    assert "interval mismatch" in refused[0]["reason"]


def test_lost_packet_twin(tmp_path):
    # The same waits, but a connection request ends the listener's wait: it was idle.
    def lost(name, text):
        return text.rstrip("\n") + "\n        INCOMING CALL\n" if name == "listener.trc" else text

    case = opened("001", SEED001, tmp_path, STATED, lost)
    (row,) = case.derived("wait_cover").to_dicts()
    assert (row["residence"], row["kind"]) == ("none", "idle")
    assert case.derived("clock_map").filter(pl.col("accepted")).is_empty()


def test_a_trace_of_the_same_connection_is_tied_by_its_process_number(tmp_path):
    # The listener's trace goes on and prints the child's number, so truss and trace share an identifier.
    def longer(name, text):
        return (
            text + "[14-APR-2016 05:58:41:359] sntpcall: result string is NTP0 3731\n"
            if name == "listener.trc"
            else text
        )

    case = opened("001", {**SEED001, "listener.trc": (((66, 72),), "db1", "before")}, tmp_path, STATED, longer)
    found = {(r["clock"], r["ref_clock"]): r for r in case.derived("clock_map").to_dicts()}
    assert (found["3.1:1", "2.1:1"]["accepted"], found["3.1:1", "2.1:1"]["method"]) == (True, "shared identifier")
    assert set(clocks.align(case).aligned) == {"1.1:1", "2.1:1", "3.1:1"}
