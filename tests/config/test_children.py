"""Child processes that must end whatever they wait for."""

from __future__ import annotations

import subprocess
import sys

ENDS = """
import time
from pathlib import Path
from config import children

Path.glob = lambda self, pattern: iter([Path("/proc/self/task/0/children")])  # a thread that ended just now
children.end_anyway(0.1)
time.sleep(20)
"""


def test_it_ends_though_a_thread_went_away_meanwhile():
    ran = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, timeout=15, check=False)
    assert (ran.returncode, ran.stderr) == (1, b"")
