"""Tests of the recorded pair of a slow answer, changed: durations scale, blame follows the host, and what no longer
fits is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from rules.case.case import Case
from rules.case.reading import open_paths

RECORDED = Path(__file__).parents[2] / "cases" / "produced" / "slow-answer"
STAMP = re.compile(r"(?m)^(\d+ +)(\d\d):(\d\d):(\d\d\.\d{6})")
TOOK = re.compile(r"<(\d+\.\d{6})>$", re.M)
HOSTS = ("web1", "db1")

Change = Callable[[str], str]


def timed(change: Callable[[float], float], factor: float = 1.0) -> Change:
    """Change the stamps (s of the day) and the durations of all calls."""

    def made(text: str) -> str:
        def stamp(m: re.Match[str]) -> str:
            at = change(int(m[2]) * 3600 + int(m[3]) * 60 + float(m[4]))
            return f"{m[1]}{int(at // 3600):02}:{int(at % 3600 // 60):02}:{at % 60:09.6f}"

        return TOOK.sub(lambda m: f"<{float(m[1]) * factor:.6f}>", STAMP.sub(stamp, text))

    return made


def scaled(factor: float) -> Change:
    """Stretch all times from the first line on."""
    return lambda text: (
        timed(lambda at: first + (at - first) * factor, factor)(text) if (first := since(text)) else text
    )


def since(text: str) -> float:
    m = STAMP.search(text)
    assert m is not None
    return int(m[2]) * 3600 + int(m[3]) * 60 + float(m[4])


def same(text: str) -> str:
    return text


def case_of(folder: Path, client: Change = same, server: Change = same, hosts: tuple[str, str] = HOSTS) -> Case:
    folder.mkdir()
    entries = ""
    for name, change, host in zip(("client", "server"), (client, server), hosts, strict=True):
        (folder / f"{name}.txt").write_text(change((RECORDED / f"{name}.txt").read_text("utf-8")), "utf-8")
        entries += f"- {{file: {name}.txt, host: {host}}}\n"
    known = "".join(f"  {host}: {{os: linux}}\n" for host in dict.fromkeys(hosts))
    (folder / "case.yaml").write_text(f"hosts:\n{known}artifacts:\n{entries}", "utf-8")
    spec, status = open_paths([folder], None, folder.with_name(f"{folder.name}-read"))
    assert status == 0
    return Case(spec)


def synced(case: Case) -> pl.DataFrame:
    parts = case.derived("answer_parts").filter((pl.col("kind") == "sync") & ~pl.col("followed"))
    longest = case.derived("requests").filter(pl.col("kind") == "command")["request"]
    return parts.filter(pl.col("request").is_in(longest.implode())).group_by("in_host").agg(pl.col("dur_s").sum())


def port(text: str) -> str:
    found = re.search(r"192\.0\.2\.1:(\d+)", text)
    assert found is not None
    return found[1]


def test_the_pair_as_recorded(tmp_path: Path) -> None:
    case = case_of(tmp_path / "pair")
    rows = case.derived("answered_by")
    assert (rows.height, set(rows["state"])) == (12, {"followed"})
    # Both traces were made on one machine, so the true offset is 0.
    assert max(rows["off_lo"].to_list()) < 0 < min(rows["off_hi"].to_list())
    assert rows["rest_s"].sum() < 0.01
    ((host, seconds),) = synced(case).rows()
    assert (host, round(seconds, 2)) == ("db1", 1.50)


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_the_seconds_scale(factor: float, tmp_path: Path) -> None:
    ((host, seconds),) = synced(case_of(tmp_path / "pair", scaled(factor), scaled(factor))).rows()
    assert (host, seconds) == ("db1", pytest.approx(1.4964 * factor, rel=0.01))


def test_the_blame_follows_the_host(tmp_path: Path) -> None:
    ((host, _),) = synced(case_of(tmp_path / "pair", hosts=("db1", "web1"))).rows()
    assert host == "web1"


def test_no_clock_is_compared(tmp_path: Path) -> None:
    whole = synced(case_of(tmp_path / "pair")).rows()
    assert synced(case_of(tmp_path / "late", server=timed(lambda at: (at + 3700.5) % 86400))).rows() == whole


@pytest.mark.parametrize(
    ("client", "server"),
    [
        (same, lambda text: text.replace(port(text), "40000")),  # another connection
        (
            same,
            lambda text: re.sub(r"\[(192\.0\.2\.\d:\d+)->(192\.0\.2\.\d:\d+)\]", r"[\2->\1]", text),
        ),  # ports swapped
        (same, scaled(1.2)),  # the server held the question longer than the client was without the answer
        (scaled(0.8), same),
        (same, lambda text: re.sub(r"(\"stored .*) = 11 <", r"\1 = 12 <", text)),  # other bytes
        (same, lambda text: text.replace("192.0.2.", "198.51.100.")),  # other hosts
    ],
    ids=["another connection", "swapped", "longer server", "shorter client", "other bytes", "other hosts"],
)
def test_what_no_longer_fits_is_not_followed(client: Change, server: Change, tmp_path: Path) -> None:
    case = case_of(tmp_path / "pair", client, server)
    assert case.derived("answered_by").is_empty()
    assert case.derived("answer_parts").is_empty()
    assert case.derived("wait_edges").filter(pl.col("kind") == "socket").is_empty()


def test_two_traces_of_the_server_are_undecidable(tmp_path: Path) -> None:
    folder = tmp_path / "pair"
    case_of(folder)
    (folder / "again.txt").write_text("\n" + (folder / "server.txt").read_text("utf-8"), "utf-8")
    text = (folder / "case.yaml").read_text("utf-8")
    (folder / "case.yaml").write_text(f"{text}- {{file: again.txt, host: db1}}\n", "utf-8")
    spec, _ = open_paths([folder], None, tmp_path / "read")
    rows = Case(spec).derived("answered_by")
    assert set(rows.select("state", "fits").rows()) == {("undecided", 2)}
