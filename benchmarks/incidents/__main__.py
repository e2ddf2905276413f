"""Produce incidents and their healthy twins on this machine and record them as cases.

python -m benchmarks.incidents --out DIR [NAME ...]    (root on Linux for some; each tells what it lacks)
python -m benchmarks.incidents --truth DIR             (write the truths only, before anything is recorded)

A case is a folder: raw output of the tools, case.yaml, truth.yaml. `DIR/<name>` has the cause, `DIR/<name>-healthy` has not.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

import benchmarks.incidents
from benchmarks.incidents.incident import Incident
from benchmarks.incidents.scene import Missing, installed_paths, scene

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


def incidents() -> dict[str, Incident]:
    """Return every incident of the modules in this folder, by name."""
    found: dict[str, Incident] = {}
    for module in pkgutil.iter_modules(benchmarks.incidents.__path__):
        if module.name not in ("__main__", "scene", "incident"):
            made = importlib.import_module(f"benchmarks.incidents.{module.name}")
            found |= {i.name: i for i in made.INCIDENTS}
    return dict(sorted(found.items()))


def write(path: Path, data: Mapping[str, Any], head: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True, width=120)
    path.write_text(f"# {head}\n{text}", encoding="utf-8")


def write_truth(incident: Incident, folder: Path) -> None:
    """Write what is true of both runs; nothing has been recorded yet, and nothing has judged."""
    layer = incident.truth.get("layer")
    forbidden = [x for x in ALL_LAYERS if x not in (layer, *incident.truth.get("also", ()))]
    truth = {"layers" if k == "also" else k: v for k, v in incident.truth.items()}
    source = f"produced by python -m benchmarks.incidents {incident.name}"
    write(
        folder / incident.name / "truth.yaml",
        {"source": source, **truth, "forbidden_layers": forbidden},
        incident.about,
    )
    healthy = {"source": source, "healthy": True, "forbidden_layers": list(ALL_LAYERS)}
    write(
        folder / f"{incident.name}-healthy" / "truth.yaml",
        healthy,
        f"{incident.about} The same programs without the cause.",
    )


def record(incident: Incident, folder: Path) -> None:
    """Play an incident and its twin."""
    for bad in (True, False):
        out = folder / (incident.name if bad else f"{incident.name}-healthy")
        for old in out.glob("*.txt"):
            old.unlink()
        with scene(out, bad=bad) as stage:
            incident.play(stage)
        shown = installed_paths(out)
        if shown:
            raise Missing(f"{', '.join(shown)} would show a path of this machine")
        said = {**(incident.said if bad else incident.said_healthy), **stage.said}
        evidence = sorted(p.name for p in out.glob("*.txt") if p.stat().st_size)
        for empty in (p for p in out.glob("*.txt") if not p.stat().st_size):
            empty.unlink()
        host = {"hosts": {"box": {"os": "linux", **said.get("host", {})}}}
        entries = {"artifacts": [{"file": name, "host": "box"} for name in evidence]}
        write(
            out / "case.yaml",
            {"title": incident.about.rstrip("."), **{k: v for k, v in said.items() if k != "host"}, **host, **entries},
            "As recorded.",
        )


def main(arguments: list[str] | None = None) -> int:
    """Return 0, or 1 if an incident could not be produced here."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.incidents", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--truth", type=Path)
    options = parser.parse_args(arguments)
    found = incidents()
    chosen = [found[name] for name in options.names] if options.names else list(found.values())
    for incident in chosen if options.truth else ():
        write_truth(incident, options.truth)
    failed = 0
    for incident in chosen if options.out else ():
        try:
            record(incident, options.out)
            print(f"{incident.name}: recorded")
        except (Missing, PermissionError) as error:
            failed = 1
            print(f"{incident.name}: not possible here: {error}", file=sys.stderr)
    if not options.out and not options.truth:
        print("\n".join(f"{i.name:24} {i.about}" for i in found.values()))
    return failed


if __name__ == "__main__":
    sys.exit(main())
