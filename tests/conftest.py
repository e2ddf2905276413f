"""Services for all tests. PostgreSQL is started before this is read, by tests/plugins/embedded_pg.py."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import draw

FACTS = pytest.StashKey[Counter[str]]()
"""How many facts beside the samples of the corpus were checked, how many waived."""

HERE = Path(__file__).parent
KINDS = {path.name for path in (HERE / "corpus").iterdir()}

BROWSER = "browser"
"""Name of the folder of the browser's tests, and of the group that they are."""

SKIPS = Path(__file__).with_name("skips.txt")


@pytest.fixture(scope="session")
def broker() -> Iterator[str]:
    """Run a real broker where the settings look for it, and return its address. For tests marked `services`."""
    from django.conf import settings

    from config import embedded

    if not settings.EMBEDDED["broker"]:
        yield settings.REDIS_URL
        return
    with embedded.running(embedded.broker(settings.EXHIBIT_VAR)):
        yield settings.REDIS_URL


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Let tests with real transactions empty all tables: records refuse that (TestActivity tries)."""
    from django.db import connection

    with django_db_blocker.unblock(), connection.cursor() as cursor:
        for table, trigger in (("activity", "activity_is"), ("siterecord", "site_record_is")):
            cursor.execute(f"ALTER TABLE incidents_{table} DISABLE TRIGGER {trigger}_never_emptied")


def listed_skips() -> list[str]:
    """Return the reasons that may skip a test on the build machine."""
    lines = SKIPS.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def refuse_unlisted_skip(report):
    """On the build machine a skip fails unless its reason is listed: a test that never runs proves nothing."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(listed in reason for listed in listed_skips()):
            report.outcome = "failed"
            report.longrepr = f"skipped, but the reason is not listed in {SKIPS.name}: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return refuse_unlisted_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return refuse_unlisted_skip((yield))


def pytest_configure(config):
    config.stash[FACTS] = Counter()
    draw.seed()  # before workers of xdist start, so that all draw the same


def pytest_report_header():
    return "every case, as at night" if draw.NIGHT else f"cases drawn by EXHIBIT_DRAW={draw.seed()}"


def pytest_collection_modifyitems(config, items):
    """Leave tests to the night that are marked for it, and put the others in the order in which processes take them.

    On the build machine a browser's test that failed is tried once more, and the report says so (decision 0027).
    """
    if not draw.NIGHT:
        named = any("::" in argument for argument in config.args)
        nightly = {item for item in items if is_nightly(item, config.option.markexpr, named)}
        if nightly:
            config.hook.pytest_deselected(items=[item for item in items if item in nightly])
            items[:] = [item for item in items if item not in nightly]
    for item in items:
        if is_tried_twice(item.path):
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: turn_of(group_of(item.nodeid)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give the tests of a group to one process.

    The mark `xdist_group` does nothing here: xdist 3.8 writes it behind a test's name, and pytest 9.2 keeps that name
    elsewhere.
    """
    if config.option.dist != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):  # type: ignore[misc]  # the library says nothing of its types
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    return ByGroup(config, log)


def is_nightly(item: pytest.Item, asked_marks: str, named: bool) -> bool:
    """Tell whether scripts/test leaves a test to the night: it is marked `night`, or marked `drawn` and not drawn today.

    Whoever asks for the mark `night`, or names a single test, gets it by day.
    """
    if item.get_closest_marker("night"):
        return "night" not in asked_marks
    mark = item.get_closest_marker("drawn")
    return mark is not None and not named and not draw.is_drawn(item.nodeid, *mark.args)


def is_tried_twice(path: Path) -> bool:
    """Tell whether a failed test in this file runs once more: a browser's test on the build machine."""
    return os.environ.get("CI") == "true" and path.is_relative_to(HERE / BROWSER)


def turn_of(group: str) -> int:
    """Return when a group of tests begins, if there are several processes (scripts/test keeps xdist to this order).

    First the browser's, the longest, which mostly wait: one process has them while the others work. Then the modules that
    share a fixture, and at the end the many short groups, which keep all processes busy to the end.
    """
    return 0 if group == BROWSER else 2 if group.startswith("kind ") else 1


def group_of(nodeid: str) -> str:
    """Name the tests that share a process.

    The browser's, one after the other, for a person does not wait as a test does; those about one kind of evidence, which
    read the same samples; or a module's.
    """
    module, _, name = nodeid.partition("::")
    if module.startswith(f"tests/{BROWSER}/"):
        return BROWSER
    if module.startswith("tests/parsers/") or module == "tests/house/test_parsers.py":
        for word in re.split(r"[\[\]/-]", name)[1:]:
            if word in KINDS:
                return f"kind {word}"
    return module


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take over what a worker of xdist counted."""
    node.config.stash[FACTS].update(getattr(node, "workeroutput", {}).get("facts", {}))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["facts"] = dict(session.config.stash[FACTS])


def seconds_of_parts(reports: Iterable[object]) -> dict[str, float]:
    """Sum how long the tests of each folder under `tests` took, their fixtures included."""
    seconds: dict[str, float] = defaultdict(float)
    for report in reports:
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.removeprefix("tests/").split("/")[0]] += report.duration
    return seconds


def pytest_terminal_summary(terminalreporter):
    told = seconds_of_parts(report for reports in terminalreporter.stats.values() for report in reports)
    if len(told) > 1:
        words = ", ".join(
            f"{part} {seconds:.0f} s" for part, seconds in sorted(told.items(), key=lambda told: -told[1])
        )
        terminalreporter.write_line(f"tests took, all processes together: {words}")
    facts = terminalreporter.config.stash[FACTS]
    if facts:
        terminalreporter.write_line(f"corpus: {facts['checked']} facts checked, {facts['waived']} waived")
