"""The child process that judges one case and ends: `python -m rules.judge_child LATER SECONDS MB EVIDENCE [FOLDER ...]`.

It is started ahead. LATER seconds after its start, or as soon as it is asked, it gives up every right that judging does not
need and says {"fences": {name: whether it holds}} in a first JSON line; then it loads the libraries, rules and signatures and
starts its query process. It waits for one JSON line on standard input, {"case": a file with a `CaseSpec`, "cache": a folder
or null}, and writes the report's JSON object to standard output. It reaches the files in EVIDENCE and in its folder for
temporary files. SECONDS and MB limit one query of a rule. Further rules in FOLDERs are read when the case is there, since
people change them. Exit status: 0 judged, or nothing was asked; 6 judged, and a rule failed.
"""

from __future__ import annotations

import json
import select
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from parsers.allocator import lean
from parsers.fences import fence
from parsers.kept_patterns import install
from rules.engine.sandbox import Fence, Sandbox
from rules.writing.prepare import RULES, prepare

OF_PROCESSES = Path("/proc")
"""The engine of queries asks here what its own process may use, which no fence can name before that is started."""

FILES = 16_384
"""Maximum number of open files; tables of a room with 2,000 artifacts are some thousand."""


def fence_in(evidence: str, readable: Sequence[Path]) -> None:
    """Give up every right that work on a case does not need, and say which fences hold. Call it before any thread exists."""
    reached = [Path(evidence), Path(tempfile.gettempdir())]
    held = fence(writes=True, files=FILES, folders=reached, readable=[RULES, OF_PROCESSES, *readable])
    print(json.dumps({"fences": held}), flush=True)


def load_ahead() -> None:
    """Load the statistics and the signatures of every key, which only some cases need; it takes about a second."""
    from scipy import stats

    from rules.signatures.signatures import areas, index

    assert stats
    for key in {key for key, _ in areas()}:
        index(key)


def main(arguments: Sequence[str]) -> int:
    """Load, wait for a case, judge it; return the exit status."""
    later, seconds, mb, evidence, *folders = arguments
    asked = bool(select.select([sys.stdin], [], [], float(later))[0])
    prepare()
    install(keeps=False)
    fence_in(evidence, [*map(Path, folders)])
    line = sys.stdin.readline() if asked else ""
    if asked and not line:
        return 0
    lean()
    with Sandbox(Fence().of_query(float(seconds), int(mb))) as sandbox:
        sandbox.warm()
        from rules.case.case import Case
        from rules.judging.evaluate import judge
        from rules.model import CaseSpec
        from rules.writing.packs import open_library

        judge(Case(CaseSpec()), open_library())  # loads what is loaded at first use: observers, signatures, tables
        if not line:
            load_ahead()
        line = line or sys.stdin.readline()
        if not line:
            return 0
        request = json.loads(line)
        spec = CaseSpec.from_json(json.loads(Path(request["case"]).read_text("utf-8")))
        case = Case(spec, Path(request["cache"]) if request["cache"] else None)
        report = judge(case, open_library(*map(Path, folders)), sandbox)
        print(json.dumps(report.as_json(), ensure_ascii=False))
        return 6 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
