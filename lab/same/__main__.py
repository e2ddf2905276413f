"""Prove that two checkouts of Exhibit say the same: record what each one prints and shows, then compare.

python -m lab.same record CHECKOUT OUT [--only parsers|rules|pages ...] [--every N] [--evidence OTHER]
python -m lab.same compare OLD NEW [--words] [--spaces] [--ignore PATH ...] [--most N]

`record` works on any commit, also on one whose modules lie elsewhere: it talks to a checkout only through `python -m parsers
--json`, `python -m rules --json` and the pages of its server. OUT is a folder outside of both checkouts. A checkout with a
`.venv` of its own is run with that Python, any other with the one that runs this.

`compare` prints each difference as place, old and new. It ends with 0 for the same, 1 for a difference, 2 for wrong use.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lab.same import comparing, recording


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m lab.same", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    record = verbs.add_parser("record", help="write down what a checkout prints and shows")
    record.add_argument("checkout", type=Path)
    record.add_argument("out", type=Path)
    record.add_argument("--only", action="append", choices=recording.SECTIONS, help="record only this; may be repeated")
    record.add_argument("--every", type=int, default=1, metavar="N", help="take every Nth sample and case")
    record.add_argument(
        "--evidence", type=Path, metavar="CHECKOUT", help="read the samples and cases of this checkout instead"
    )
    compare = verbs.add_parser("compare", help="list the differences between two recordings")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument(
        "--words",
        action="store_true",
        help="allow texts for people to differ and list them, numbers in them must agree",
    )
    compare.add_argument(
        "--spaces", action="store_true", help="allow a space between inline elements to come or go, and list it"
    )
    compare.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="PATH",
        help="leave out this key of the JSON, e.g. findings[].query_hash; may be repeated",
    )
    compare.add_argument("--most", type=int, default=200, metavar="N", help="print at most N differences of each sort")
    options = parser.parse_args()
    if options.verb == "record":
        recording.record(options.checkout, options.out, options.only, options.every, options.evidence)
        return 0
    for folder in (options.old, options.new):
        if not (folder / recording.ABOUT).is_file():
            parser.error(f"{folder} holds no recording")
    allowed = comparing.Allowed(words=options.words, spaces=options.spaces, ignored=frozenset(options.ignore))
    return comparing.report(options.old, options.new, allowed, options.most)


if __name__ == "__main__":
    sys.exit(main())
