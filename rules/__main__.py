"""Command `python -m rules PATH...`: print verdict and cited findings, without server or database.

The contract is in docs/cli.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from parsers.kept_patterns import install

if TYPE_CHECKING:
    from rules.engine.sandbox import Fence
    from rules.model import Failed
    from rules.writing.packs import Library
    from rules.writing.rule import Rule

STATUS = """exit status: 0 evaluated, whatever it found; 2 wrong use; 3 a file of unknown kind (the rest is evaluated all the same);
5 a limit was hit or a file cannot be opened; 6 a rule failed"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Polars and DuckDB are imported only when something is judged, so that `--help` is quick.
    """
    install()
    parser = _arguments()
    options = parser.parse_args(argv)
    # Polars' allocator reads this when it is loaded: memory freed by one step is returned before the next step grows.
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:200,muzzy_decay_ms:0,narenas:1")
    from rules.errors import CaseInvalid, RuleInvalid

    try:
        return _run(options, parser)
    except (CaseInvalid, RuleInvalid) as error:
        print(f"rules: {error}", file=sys.stderr)
        return 2


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rules",
        description="Judge evidence files: all PATHs together are one case.",
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders")
    parser.add_argument(
        "--case", metavar="case.yaml", help="hosts, phases, markers, statements (default: case.yaml of a folder given)"
    )
    parser.add_argument(
        "--case-json",
        metavar="FILE",
        help="judge a case that was read before, described as JSON (- reads standard input)",
    )
    parser.add_argument("--cache", metavar="DIR", help="keep derived tables and results there; with --case-json")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON object")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page")
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help="further rules")
    parser.add_argument(
        "--rule-seconds", metavar="N", type=float, help="the most time that one query of a rule may take (30)"
    )
    parser.add_argument(
        "--rule-mb", metavar="N", type=int, help="the most memory that one query of a rule may take (512)"
    )
    parser.add_argument("--all-asks", action="store_true", help="print every wish instead of the three best")
    parser.add_argument("--only", metavar="ID,...", help="run these rules only")
    parser.add_argument("--explain", metavar="ID", help="what the rule needs, why it did or did not fire here")
    parser.add_argument("--list", action="store_true", help="list the rules")
    parser.add_argument("--test", nargs="*", metavar="ID", help="run the rules' own tests")
    parser.add_argument("--score", metavar="DIR", help="judge all cases under DIR and compare each with its truth.yaml")
    parser.add_argument(
        "--texts", metavar="DIR", help="with --score: where published texts lie that a truth.yaml names"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=int, help="with --score: processes side by side (default: one per processor)"
    )
    parser.add_argument(
        "--docs", metavar="FILE", help="write the documentation of the rules; with --score that of their accuracy"
    )
    parser.add_argument("--signatures", metavar="FILE", help="write the documentation of the signatures")
    parser.add_argument("--collector", metavar="SYSTEM", help="print the script that collects: linux, solaris, aix ...")
    return parser


def _run(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.collector is not None:
        from rules.collecting.collector import SCRIPTS, collector

        if options.collector not in SCRIPTS:
            parser.error(f"there are collectors for {', '.join(SCRIPTS)}")
        print(collector(options.collector), end="")
        return 0
    from rules.writing.packs import open_library

    for folder in options.rules:
        if not Path(folder).is_dir() and not options.case_json:
            parser.error(f"{folder} is no folder")
    library = open_library(*map(Path, options.rules))
    rules = library.rules
    wanted = {
        i for text in (options.only, options.explain, ",".join(options.test or [])) if text for i in text.split(",")
    }
    unknown = wanted - {r.id for r in rules}
    if unknown:
        parser.error(f"there is no rule {', '.join(sorted(unknown))}")
    if wanted:
        rules = tuple(r for r in rules if r.id in wanted)
        library = library.only(wanted)
    if library.broken and (options.list or options.docs or options.test is not None):
        for broken in library.broken:
            print(f"rules: {broken.rule}: {broken.error}", file=sys.stderr)
        return 2
    if options.list:
        return _list(rules, options.json)
    if options.score:
        return _score(options, library, parser)
    if options.docs:
        from rules.reporting import docs

        Path(options.docs).write_text(docs.page(rules), encoding="utf-8")
        return 0
    if options.signatures:
        from rules.reporting import signature_docs

        Path(options.signatures).write_text(signature_docs.page(), encoding="utf-8")
        return 0
    if options.test is not None:
        return _test(rules)
    if not options.paths and not options.case_json and not options.explain:
        parser.error("no file given")
    return _judge(options, library, parser)


def _judge(options: argparse.Namespace, library: Library, parser: argparse.ArgumentParser) -> int:
    from rules.engine.sandbox import Sandbox

    scratch: AbstractContextManager[str] = (
        nullcontext("") if options.case_json else tempfile.TemporaryDirectory(prefix="exhibit-")
    )
    with scratch as folder, Sandbox(_fence(options, parser)) as sandbox:
        sandbox.warm()  # its engine loads while this process loads Polars and the formats
        from rules.case.case import Case
        from rules.case.reading import open_paths
        from rules.judging.evaluate import judge
        from rules.model import CaseSpec
        from rules.reporting import terminal

        status = 0
        problems: list[Failed] = []
        if options.case_json:
            spec = CaseSpec.from_json(_json(options.case_json))
        elif options.paths:
            missing = [p for p in options.paths if not Path(p).exists()]
            if missing:
                parser.error(f"there is no {', '.join(missing)}")
            case_path = Path(options.case) if options.case else None
            spec, status = open_paths([Path(p) for p in options.paths], case_path, Path(folder), problems)
        else:
            spec = CaseSpec()
        case = Case(spec, Path(options.cache) if options.cache else None)
        report = judge(case, library, sandbox, problems)
        if options.explain:
            print(terminal.explain(library.rules[0], report, case), end="")
        elif options.json:
            print(json.dumps(report.as_json(), ensure_ascii=False))
        else:
            print(terminal.report(report, options.all_asks), end="")
        if options.html:
            from rules.reporting import html_page

            Path(options.html).write_text(html_page.page(report, spec.title), encoding="utf-8")
        return max(status, 6 if report.failed else 0)


def _fence(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Fence:
    from rules.engine.sandbox import Fence

    fence = Fence().of_query(options.rule_seconds, options.rule_mb)
    if not 0 < fence.limit_s < 86_400 or fence.memory_mb < 1:
        parser.error("--rule-seconds and --rule-mb must be more than 0")
    return fence


def _json(name: str) -> object:
    """Read JSON from a file or, for `-`, from standard input; raise CaseInvalid if it is not JSON."""
    from rules.errors import CaseInvalid

    try:
        made: object = json.loads(sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CaseInvalid(name, str(error)) from None
    return made


def _list(rules: Sequence[Rule], as_json: bool) -> int:
    for rule in rules:
        f = rule.file
        needs = [n.text for n in (*rule.requires.all, *rule.requires.any)]
        if as_json:
            print(
                json.dumps(
                    {
                        "id": f.id,
                        "version": f.version,
                        "status": f.status,
                        "title": f.title,
                        "layer": f.layer,
                        "needs": needs,
                    },
                    ensure_ascii=False,
                )
            )
        else:
            print(f"{f.id:<9} {f.version:<7} {f.status:<12} {f.layer:<14} {f.title}  (needs {', '.join(needs)})")
    return 0


def _score(options: argparse.Namespace, library: Library, parser: argparse.ArgumentParser) -> int:
    from rules.judging import truth
    from rules.reporting import score_page

    folder = Path(options.score)
    if not folder.is_dir():
        parser.error(f"{folder} is no folder")
    cases, left_out = [], []
    if options.jobs is not None and options.jobs < 1:
        parser.error("--jobs must be at least 1")
    for made in truth.score(folder, library, Path(options.texts) if options.texts else truth.SEEDS, options.jobs):
        if isinstance(made, str):
            left_out.append(made)
        else:
            cases.append(made)
    if not cases:
        parser.error(f"{folder} holds no case that can be judged here (a case has a {truth.TRUTH})")
    if options.docs:
        page = score_page.page(cases, left_out, truth.fingerprint(folder))
        Path(options.docs).write_text(page, encoding="utf-8")
    else:
        print(score_page.text(cases, left_out), end="")
    return 0


def _test(rules: Sequence[Rule]) -> int:
    from rules.writing.inline_tests import run_tests

    failed = 0
    for result in run_tests(rules):
        print(f"{'ok    ' if result.passed else 'FAILED'} {result.rule}: {result.test}")
        for problem in result.problems:
            print(f"       {problem}")
        failed += not result.passed
    print(f"{failed} failed" if failed else "all passed")
    return 6 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
