"""The child process that makes missing overviews and ends: `python -m incidents.drawing.overviews_child EVIDENCE`.

It gives up every right that this does not need, says {"fences": {name: whether it holds}} in a first JSON line, and reads one
JSON line on standard input, {"case": a file with a `CaseSpec`, "cache": a folder}. It reaches the files in EVIDENCE and in
its folder for temporary files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rules.judge_child import fence_in


def main(evidence: str) -> int:
    """Make the overviews of one case, and the table that only the compare page needs; return the exit status."""
    fence_in(evidence, [Path(__file__).parents[1]])
    from incidents.drawing.overviews import count, make_all
    from rules.case.case import Case
    from rules.model import CaseSpec

    request = json.loads(sys.stdin.readline())
    spec = CaseSpec.from_json(json.loads(Path(request["case"]).read_text("utf-8")))
    cache = Path(request["cache"])
    make_all(spec, cache)
    case = Case(spec, cache)
    if any(count(case, artifact, "syscalls") for artifact in case.manifests):
        case.files("call_profile")  # no rule needs it, and a page must not compute it from a large trace
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
