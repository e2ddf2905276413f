"""Facts about the machine, stored with every figure, and the writing of results."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
PACKAGES = ("polars", "duckdb", "pyarrow", "Django", "uvicorn", "psycopg")


def facts() -> dict[str, Any]:
    """Return processor, cores, memory, load and versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "load": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def keep(name: str, result: dict[str, Any]) -> Path:
    """Write a result with the machine's facts as benchmarks/results/<name>.json and print it."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    text = json.dumps({"machine": facts(), **result}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
    print(text)
    return path
