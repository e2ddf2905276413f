"""Start PostgreSQL for a test run before pytest-django reads the settings; leave no process and no folder behind.

Loaded by `-p tests.plugins.embedded_pg`. A DATABASE_URL that is set already is used as it is. A run that names only
folders of the libraries (tests/parsers, tests/rules) starts nothing: they know no database.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from config import embedded

LIBRARIES = ("parsers", "rules")


def needs_database(arguments: list[str], root: Path) -> bool:
    """Tell whether any of the named paths may hold a test of the web application; no path named means all of them.

    >>> needs_database(["tests/parsers", "tests/rules/test_cli.py::test_x"], Path("/x"))
    False
    >>> needs_database(["tests/parsers", "tests/house"], Path("/x")), needs_database([], Path("/x"))
    (True, True)
    """
    libraries = [root / "tests" / name for name in LIBRARIES]
    paths = [Path(os.path.normpath(root / argument.split("::", 1)[0])) for argument in arguments]
    return not paths or not all(any(path.is_relative_to(library) for library in libraries) for path in paths)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    known = early_config.known_args_namespace
    if known.help or known.version:
        return
    # A short path, because the sockets lie in it; always one of our own, so that no test writes into var/. A worker of
    # xdist has one too, with a broker in it; it inherits the address of the database server and makes its own database.
    var = Path(tempfile.mkdtemp(prefix="exhibit-test-", dir="/tmp"))
    early_config.add_cleanup(lambda: shutil.rmtree(var))
    os.environ["EXHIBIT_VAR"] = str(var)
    if "EXHIBIT_TEST_SHARED" not in os.environ:  # the workers of xdist inherit it: what one makes, all may copy
        os.environ["EXHIBIT_TEST_SHARED"] = str(var / "shared")
        (var / "shared").mkdir()
    if "DATABASE_URL" in os.environ:
        return
    os.environ["DATABASE_URL"] = embedded.database_url(var)
    if needs_database(known.file_or_dir, early_config.rootpath):
        server = embedded.Postgres(var / "pg", embedded.make_run_dir(var), var / "log" / "postgres.log", durable=False)
        early_config.add_cleanup(server.stop)
        server.start()
        server.wait()
