"""Real PostgreSQL and broker processes, in folders of their own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest
import redis

from config import embedded

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """A data folder, so that not every test waits for initdb."""
    var = tmp_path_factory.mktemp("made")
    server = embedded.Postgres(var / "pg", embedded.make_run_dir(var), var / "log", durable=False)
    with embedded.running(server):
        pass
    return var / "pg"


@pytest.fixture
def var():
    """A short path: the sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="exhibit-t-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def postgres(var, made_once):
    """A stopped PostgreSQL with data, and everything that a test started on it is gone afterwards."""
    shutil.copytree(made_once, var / "pg")
    (var / "pg").chmod(0o700)
    server = embedded.postgres(var)
    yield server
    server.stop()


def ask(server, query):
    with psycopg.connect(host=str(server.run), user="exhibit", dbname="exhibit", autocommit=True) as connection:
        cursor = connection.execute(query)
        return cursor.fetchone()[0] if cursor.description else None


def start(server):
    server.start()
    server.wait(60)


# --- where ---


def test_the_sockets_lie_in_the_folder_itself_where_that_can_be():
    assert embedded.run_dir(Path("/srv/exhibit/var")) == Path("/srv/exhibit/var/run")
    assert embedded.database_url(Path("/srv/var")) == "postgresql://exhibit@/exhibit?host=/srv/var/run"
    assert embedded.broker_url(Path("/srv/var")) == "unix:///srv/var/run/broker.sock"


@pytest.mark.parametrize("path", ["/home/me/my room/var", "/srv/a,b/var", "/srv/" + "x" * 90, "/srv/größe/var"])
def test_else_in_a_short_folder_that_follows_from_the_path(path):
    folder = embedded.run_dir(Path(path))
    assert folder == embedded.run_dir(Path(path)) != embedded.run_dir(Path(path + "2"))
    assert str(folder).startswith(f"/tmp/exhibit-{os.getuid()}-")
    assert len(str(folder / ".s.PGSQL.5432.lock")) < 100


def test_the_longest_path_still_fits_a_socket_address():
    folder = embedded.run_dir(Path("/" + "x" * 76))
    assert folder == Path("/" + "x" * 76 + "/run")
    assert len(os.fsencode(folder / ".s.PGSQL.5432.lock")) <= 100


def test_the_folder_of_sockets_is_closed_to_others(var):
    assert embedded.make_run_dir(var).stat().st_mode & 0o777 == 0o700


def test_a_link_somebody_else_laid_is_refused(var):
    (var / "run").symlink_to("/tmp")
    with pytest.raises(embedded.EmbeddedError, match="not a folder of ours"):
        embedded.make_run_dir(var)


def test_a_folder_somebody_else_made_is_refused(var, monkeypatch):
    (var / "run").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(embedded.EmbeddedError, match="not a folder of ours"):
        embedded.make_run_dir(var)


def test_only_one_has_the_folder_and_others_are_told_who(var):
    with embedded.only_one(var, "starting") as tell:
        tell("http://127.0.0.1:8000 (pid 7)")
        told = pytest.raises(embedded.AlreadyRunning, match=r"^already running here: http://127.0.0.1:8000 \(pid 7\)$")
        with told, embedded.only_one(var, "another"):
            pytest.fail("two at once")
    with embedded.only_one(var, "the next"):
        assert (var / "up.lock").read_text() == "the next"


# --- PostgreSQL ---


def test_the_first_start_makes_the_data_even_after_an_interrupted_one(var):
    (var / "pg.new").mkdir()
    (var / "pg.new" / "half").touch()
    with embedded.running(server := embedded.postgres(var)):
        assert ask(server, "SHOW server_version").split(".")[0] == embedded.POSTGRES_MAJOR
        assert not (var / "pg.new").exists()
        # The same order of texts on every machine.
        assert ask(server, "SELECT string_agg(t, ' ' ORDER BY t) FROM unnest(ARRAY['b','a','B','ä']) t") == "B a b ä"


def test_it_listens_on_a_closed_socket_only_and_keeps_what_it_promised(postgres):
    start(postgres)
    assert ask(postgres, "SHOW listen_addresses") == ""
    assert ask(postgres, "SHOW unix_socket_permissions") == "0700"
    assert [ask(postgres, f"SHOW {name}") for name in ("fsync", "full_page_writes", "synchronous_commit")] == ["on"] * 3


def test_no_configuration_file_can_take_the_promise_back(postgres):
    with (postgres.data / "postgresql.conf").open("a") as file:
        file.write("\nfsync = off\n")
    start(postgres)
    assert ask(postgres, "SHOW fsync") == "on"


def test_a_restart_keeps_the_data(postgres):
    start(postgres)
    ask(postgres, "CREATE TABLE kept AS SELECT 42 AS n")
    postgres.stop()
    assert not (postgres.data / "postmaster.pid").exists()
    start(postgres)
    assert ask(postgres, "SELECT n FROM kept") == 42


def test_it_recovers_after_a_kill(postgres):
    start(postgres)
    ask(postgres, "CREATE TABLE kept AS SELECT 42 AS n")
    pid = int((postgres.data / "postmaster.pid").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    postgres.process.wait()
    assert (postgres.data / "postmaster.pid").exists()
    start(postgres)
    assert ask(postgres, "SELECT n FROM kept") == 42


def test_a_pid_file_that_names_a_stranger_does_not_stop_the_start(postgres):
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        (postgres.data / "postmaster.pid").write_text(f"{stranger.pid}\n{postgres.data}\n")
        (postgres.run / ".s.PGSQL.5432.lock").write_text(f"{stranger.pid}\n{postgres.data}\n")
        start(postgres)
        assert ask(postgres, "SELECT 1") == 1
        assert stranger.poll() is None, "the stranger must live on"
    finally:
        stranger.kill()
        stranger.wait()


def test_one_that_outlived_its_supervisor_is_stopped_first(postgres, var):
    start(postgres)
    left = postgres.process
    following = embedded.postgres(var)
    try:
        start(following)
        assert left.wait(5) == 0
        assert ask(following, "SELECT 1") == 1
    finally:
        following.stop()


@pytest.mark.parametrize(("content", "message"), [("17", "holds data of PostgreSQL 17"), (None, "no PG_VERSION")])
def test_data_of_another_kind_are_refused_untouched(var, content, message):
    (var / "pg").mkdir()
    if content:
        (var / "pg" / "PG_VERSION").write_text(content + "\n")
    before = sorted(path.name for path in (var / "pg").iterdir())
    server = embedded.postgres(var)
    with pytest.raises(embedded.EmbeddedError, match=message):
        server.start()
    assert server.process is None
    assert sorted(path.name for path in (var / "pg").iterdir()) == before


def test_one_that_cannot_start_says_what_its_log_says(postgres):
    with (postgres.data / "postgresql.conf").open("a") as file:
        file.write("\nno_such_setting = 1\n")
    postgres.start()
    with pytest.raises(embedded.EmbeddedError, match="no_such_setting"):
        postgres.wait(20)


def test_root_without_namespaces_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(embedded.EmbeddedError, match="ordinary user"):
        embedded._as_ordinary_user()


def test_a_machine_without_the_programs_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(embedded, "_carrier", lambda *_: None)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(embedded.EmbeddedError, match="DATABASE_URL"):
        embedded.postgres_program("initdb")
    with pytest.raises(embedded.EmbeddedError, match="REDIS_URL"):
        embedded.broker_program()


# --- broker ---


def test_the_broker_keeps_messages_over_a_restart_and_never_drops_one_for_room(var):
    url = embedded.broker_url(var)
    with embedded.running(embedded.broker(var)):
        client = redis.Redis.from_url(url)
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("port") == {"port": "0"}
        client.lpush("small", "a message")
        client.close()
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(url).ping()
    with embedded.running(embedded.broker(var)), redis.Redis.from_url(url) as client:
        assert client.rpop("small") == b"a message"


def test_a_broker_that_outlived_its_supervisor_is_stopped_first(var):
    left = embedded.broker(var)
    left.start()
    left.wait()
    with embedded.running(embedded.broker(var)):
        assert left.process.wait(5) == 0


def test_a_dead_brokers_socket_is_no_hindrance(var):
    server = embedded.broker(var)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(server.socket_path))
    with embedded.running(server):
        assert server._ask(b"PING").startswith(b"+PONG")


def test_a_broker_that_cannot_start_says_what_its_log_says(var):
    server = embedded.broker(var)
    (server.data / "appendonlydir").mkdir(parents=True)
    (server.data / "appendonlydir" / "appendonly.aof.manifest").write_text("nonsense\n")
    with pytest.raises(embedded.EmbeddedError, match="AOF"), embedded.running(server):
        pytest.fail("it started on damaged data")
