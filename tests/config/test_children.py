"""Child processes that must end whatever they wait for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from config.children import command_line, wait_until

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


SPAWNS = """
import signal, sys, time
from config.children import spawn
print(spawn([sys.executable, "-c", "import time; time.sleep(60)"], signal.SIGQUIT).pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the end of a parent")
def test_a_child_ends_with_its_parent_though_a_shell_started_us_in_the_background():
    """A shell without job control ignores SIGINT and SIGQUIT in what it starts with `&`, and children inherit that."""
    ignored = 'trap \'\' INT QUIT; exec "$0" -c "$1"'
    with subprocess.Popen(["sh", "-c", ignored, sys.executable, SPAWNS], stdout=subprocess.PIPE, text=True) as parent:
        child = int(parent.stdout.readline())
        parent.kill()
    try:
        assert wait_until(lambda: not command_line(child), 10)
    finally:
        if command_line(child):
            os.kill(child, signal.SIGKILL)
