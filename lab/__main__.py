"""Produce incidents and their healthy twins on this machine and record them as cases.

python -m lab --out DIR [NAME ...]    (some need root on Linux, see their messages; NAME-healthy is the twin alone)
python -m lab --truth DIR             (write only the truths, before anything is recorded)
python -m lab --healthy ...           (the same for healthy programs, which have no incident)

A case is a folder: raw output of the tools, case.yaml, truth.yaml. `DIR/<name>` has the cause, `DIR/<name>-healthy`
does not. Healthy programs run in process and network namespaces of their own, so that a recording shows nothing else of
the machine.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import lab
from lab.incident import Healthy, Incident
from lab.scene import CALM_PCT, LARGEST, Missing, await_calm, idle_pct, installed_paths, processor_ticks, scene

ALL_LAYERS = (
    "client_app",
    "client_host",
    "network",
    "listener",
    "name_service",
    "os_kernel",
    "database",
    "storage",
    "configuration",
)


TWIN = "-healthy"
INSIDE = "--inside"
"""Argument with which the recorder starts itself inside namespaces of its own."""


def incidents() -> dict[str, Incident]:
    """Return every incident of the modules in this folder, by name."""
    return {i.name: i for i in _all("INCIDENTS")}


def healthy() -> dict[str, Healthy]:
    """Return every healthy recording of the modules in this folder, by name."""
    return {h.name: h for h in _all("HEALTHY")}


def _all(kind: str) -> list[Any]:
    found: list[Any] = []
    for module in pkgutil.iter_modules(lab.__path__):
        if module.name != "__main__":
            found += getattr(importlib.import_module(f"lab.{module.name}"), kind, ())
    return sorted(found, key=lambda made: str(made.name))


def write(path: Path, data: Mapping[str, Any], head: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=120)
    path.write_text(f"# {head}\n{text}", encoding="utf-8")


def write_truth(incident: Incident, folder: Path) -> None:
    """Write the truth of both runs before anything is recorded or judged."""
    layer = incident.truth.get("layer")
    forbidden = [x for x in ALL_LAYERS if x not in (layer, *incident.truth.get("also", ()))]
    truth = {"layers" if k == "also" else k: v for k, v in incident.truth.items()}
    source = f"produced by python -m lab {incident.name}"
    write(
        folder / incident.name / "truth.yaml",
        {"source": source, **truth, "forbidden_layers": forbidden},
        incident.about,
    )
    healthy = {"source": source, "healthy": True, "forbidden_layers": list(ALL_LAYERS)}
    write(
        folder / f"{incident.name}{TWIN}" / "truth.yaml",
        healthy,
        f"{incident.about} The same programs without the cause.",
    )


def write_healthy_truth(made: Healthy, folder: Path) -> None:
    """Write the truth of healthy programs, that there is no cause, before anything is recorded."""
    said = f"recorded by python -m lab --healthy {made.name}, on a machine that others used too"
    write(folder / made.name / "truth.yaml", {"source": said, "healthy": True}, made.about)


def record(incident: Incident, folder: Path, patience_s: float, runs: Sequence[bool] = (True, False)) -> None:
    """Record an incident and its twin, or one of them.

    Raises Missing if the machine is not calm and the recording would show it.
    """
    for bad in runs:
        out = folder / (incident.name if bad else f"{incident.name}{TWIN}")
        if incident.calm:
            await_calm(patience_s)
        since = processor_ticks()
        _emptied(out)
        with scene(out, bad=bad) as stage:
            incident.play(stage)
        if incident.calm and not bad:
            _still_calm(since, out)
        said = {**(incident.said if bad else incident.said_healthy), **stage.said}
        _keep(out, incident.about, said, "As recorded.")


def _still_calm(since: tuple[int, int], out: Path) -> float:
    """Return the percentage of idle processor time during the recording.

    If other programs used the machine, delete the recording and raise Missing.
    """
    idle = idle_pct(since)
    if idle < CALM_PCT:
        _emptied(out)
        raise Missing(f"others used the processors meanwhile: {idle:.0f} % idle")
    return idle


def record_healthy(made: Healthy, folder: Path, patience_s: float) -> None:
    """Record healthy programs. Raises Missing if the machine was not calm and the recording would show it."""
    out = folder / made.name
    if made.calm:
        await_calm(patience_s)
    since = processor_ticks()
    _emptied(out)
    with scene(out, bad=False) as stage:
        made.play(stage)
    idle = _still_calm(since, out) if made.calm else idle_pct(since)
    large = [p.name for p in out.glob("*.txt") if p.stat().st_size > LARGEST]
    if large:
        _emptied(out)
        raise Missing(f"{', '.join(large)} is larger than {LARGEST} bytes")
    _keep(out, made.about, {**made.said, **stage.said}, f"As recorded; the processors were {idle:.0f} % idle.")


def _emptied(out: Path) -> None:
    for old in out.glob("*.txt"):
        old.unlink()


def _keep(out: Path, about: str, said: Mapping[str, Any], head: str) -> None:
    """Write the case.yaml beside a recording. Raises Missing if the recording shows where it was made."""
    shown = installed_paths(out)
    if shown:
        raise Missing(f"{', '.join(shown)} would show a path of this machine")
    for empty in (p for p in out.glob("*.txt") if not p.stat().st_size):
        empty.unlink()
    evidence = sorted(p.name for p in out.glob("*.txt"))
    at = {name: said.get("at", {}).get(name, "box") for name in evidence}
    host = {"hosts": {name: {"os": "linux", **said.get("host", {})} for name in sorted(set(at.values()))}}
    apart = {name: {"interval": s} for name, s in said.get("interval", {}).items()}
    entries = {"artifacts": [{"file": name, "host": at[name], **apart.get(name, {})} for name in evidence]}
    said = {k: v for k, v in said.items() if k not in ("host", "at", "interval")}
    write(out / "case.yaml", {"title": about.rstrip("."), **said, **host, **entries}, head)


def _alone(name: str, out: Path, patience_s: float) -> int:
    """Record one healthy case in new process, mount and network namespaces, which end together with everything started
    in them.
    """
    own = (
        f"ip link set lo up; exec {sys.executable} -m lab {INSIDE} --healthy --patience {patience_s} --out {out} {name}"
    )
    argv = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--net", "sh", "-c", own]
    return subprocess.run(argv, check=False, timeout=patience_s + 150).returncode


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0, or 1 if a recording was not possible on this machine."""
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--healthy", action="store_true", help="programs that do well instead of incidents")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for a calm machine")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    found: Mapping[str, Any] = healthy() if options.healthy else incidents()
    twins = set() if options.healthy else {name for name in options.names if name not in found}
    names = [name.removesuffix(TWIN) if name in twins else name for name in options.names]
    chosen = [found[name] for name in names] if names else list(found.values())
    for made in chosen if options.truth else ():
        (write_healthy_truth if options.healthy else write_truth)(made, options.truth)
    failed = 0
    for made in chosen if options.out else ():
        if options.healthy and not options.inside:
            failed |= _alone(made.name, options.out.resolve(), options.patience)
            continue
        try:
            if options.healthy:
                record_healthy(made, options.out, options.patience)
            else:
                record(
                    made, options.out, options.patience, (False,) if f"{made.name}{TWIN}" in twins else (True, False)
                )
            print(f"{made.name}: recorded")
        except (Missing, PermissionError, subprocess.TimeoutExpired) as error:
            failed = 1
            print(f"{made.name}: not possible here: {error}", file=sys.stderr)
    if not options.out and not options.truth:
        print("\n".join(f"{i.name:24} {i.about}" for i in found.values()))
    return failed


if __name__ == "__main__":
    sys.exit(main())
