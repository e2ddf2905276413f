"""Test that temporary folders without a lock are removed, and that locked and new folders stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from parsers.scratch_folder import NEW_S, ScratchFolder, remove_abandoned

HELD = """
import sys, time
from parsers.scratch_folder import ScratchFolder
folder = ScratchFolder("exhibit-test-scratch-")
(folder.path / "case.json").write_text("{}")
print(folder.path, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def _aged(folder: Path) -> Path:
    os.utime(folder, (time.time() - 2 * NEW_S,) * 2)
    return folder


def test_a_folder_is_removed_with_all_it_holds_when_it_is_closed() -> None:
    folder = ScratchFolder("exhibit-test-scratch-")
    (folder.path / "deep").mkdir()
    (folder.path / "deep" / "trace.txt").write_text("read(3)")
    folder.close()
    assert not folder.path.exists()


def test_what_a_killed_process_left_is_removed_and_what_is_held_stays(tmp_path: Path) -> None:
    killed = subprocess.Popen(
        [sys.executable, "-c", HELD],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert killed.stdout is not None
    left = _aged(Path(killed.stdout.readline().strip()))
    assert remove_abandoned("exhibit-test-scratch-") == 0
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    held = ScratchFolder("exhibit-test-scratch-")
    _aged(held.path)
    assert remove_abandoned("exhibit-test-scratch-") == 1
    assert not left.exists()
    assert held.path.exists()
    held.close()


def test_a_new_folder_and_those_of_other_names_stay(tmp_path: Path) -> None:
    new, other = tmp_path / "exhibit-test-scratch-new", _aged(tmp_path)
    new.mkdir()
    (tmp_path / "something-else").mkdir()
    _aged(tmp_path / "something-else")
    assert remove_abandoned("exhibit-test-scratch-") == 0
    assert new.exists()
    assert sorted(p.name for p in other.iterdir()) == ["exhibit-test-scratch-new", "something-else"]
