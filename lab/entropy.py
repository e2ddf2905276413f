"""Incident of a freshly booted machine: a program wants random numbers before the kernel has collected enough entropy."""

from __future__ import annotations

from lab.guest import guest
from lab.incident import Incident
from lab.scene import Scene

DRAWS = "shuf -n 3 -i 1-49"


def young_machine(stage: Scene) -> None:
    """Read random numbers as soon as the machine runs; the twin reads them again, after the first read has waited."""
    once_before = "" if stage.bad else f"{DRAWS} >/dev/null\n"
    guest(stage, f"{once_before}strace -f -ttt -T -o strace.txt {DRAWS} >/dev/null", {})


INCIDENTS = (
    Incident("young-machine", "A program waits for random numbers on a machine that has just started.", young_machine,
             {"layer": "os_kernel", "rules": {"KRN-003": {}}, "also": ["configuration", "client_app"]},
             {"symptom": {"text": "the first draw after a start is late"}}, {}),
)  # fmt: skip
