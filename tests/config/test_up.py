"""`manage.py up` as a person runs it: real processes, in a folder of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import psycopg
import pytest
import redis
from django.core.management import CommandError

from config import embedded, parts, processes
from config.children import command_line, wait_until
from config.management.commands import up
from config.management.commands.up import STOP
from tests.draw import drawn
from tests.prepared import environment, fill

ROOT = Path(__file__).resolve().parents[2]
METRICS_TOKEN = "a-token-for-this-test-only"


class Up:
    """One run of `up`. `address` and `link` are what it printed; leaving ends it and everything it started."""

    def __init__(self, var: Path, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self.var, self.arguments, self.environment = var, arguments or ("--port", "0"), environment or {}
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", *self.arguments],
            cwd=ROOT,
            env=environment(self.var) | self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.printed = ""
        self.patience = threading.Timer(0, lambda: None)
        self.wait_at_most(180)

    def wait_at_most(self, seconds: float) -> None:
        """A test fails then, and does not hang: what still runs is ended, also what holds our end of the pipe."""
        self.patience.cancel()  # what it would end may be another's by then
        self.patience = threading.Timer(seconds, self.kill)
        self.patience.daemon = True
        self.patience.start()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for pid in self.pids().values():
            if command_line(pid):
                os.kill(pid, signal.SIGKILL)

    def ended(self) -> int:
        """Wait for the end; what it said last is in `printed` then."""
        if not self.process.stdout.closed:
            self.printed += self.process.stdout.read()
            self.process.stdout.close()
        self.patience.cancel()
        return self.process.wait(60)

    def again(self) -> Up:
        """Start in the same folder, after the end of the one before."""
        self.ended()
        self.start()
        return self.ready()

    def __enter__(self) -> Up:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.ended()

    def ready(self) -> Up:
        for line in self.process.stdout:
            self.printed += line
            if "Stop: Ctrl-C" in line:
                self.patience.cancel()
                self.address = re.search(r"Exhibit is at (\S+)", self.printed)[1]
                return self
        pytest.fail(f"up ended with {self.ended()}:\n{self.printed}")

    def says(self, words: str) -> None:
        """Wait until it prints `words`."""
        self.wait_at_most(60)
        for line in self.process.stdout:
            self.printed += line
            if words in line:
                self.patience.cancel()
                return
        pytest.fail(f"up ended with {self.ended()}:\n{self.printed}")

    def stop(self, sig: signal.Signals = signal.SIGINT) -> int:
        self.wait_at_most(120)
        self.process.send_signal(sig)
        return self.ended()

    def pids(self) -> dict[str, int]:
        """Name every process it started, as long as their files lie there."""
        found = {name: part["pid"] for name, part in parts.read(self.var).items() if name in STOP and part["pid"]}
        file = self.var / "pg" / "postmaster.pid"
        if file.exists():
            found["postgres"] = int(file.read_text().split()[0])
        try:
            with redis.Redis.from_url(embedded.broker_url(self.var)) as client:
                found["broker"] = client.info()["process_id"]
        except redis.ConnectionError:
            pass
        return found

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        try:
            request = urllib.request.Request(self.address + path, headers=headers)
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


def write_down(var: Path) -> None:
    with psycopg.connect(embedded.database_url(var), autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS n")


def is_kept(var: Path) -> bool:
    with psycopg.connect(embedded.database_url(var)) as connection:
        return connection.execute("SELECT n FROM kept").fetchall() == [(42,)]


def gone(pids: dict[str, int], seconds: float = 40) -> list[str]:
    """Return the names of those that still run after `seconds`."""
    end = time.monotonic() + seconds
    while (left := [name for name, pid in pids.items() if command_line(pid)]) and time.monotonic() < end:
        time.sleep(0.1)
    return left


@pytest.fixture(scope="module")
def var():
    """A path with blanks, since people have such: then the sockets lie elsewhere."""
    with tempfile.TemporaryDirectory(prefix="exhibit t-", dir="/tmp") as folder:
        yield Path(folder) / "var"


@pytest.fixture(scope="module")
def running(var):
    with Up(var, environment={"EXHIBIT_METRICS_TOKEN": METRICS_TOKEN}) as run:
        yield run.ready()
        assert run.stop() == 0


@pytest.mark.services
class TestWhileItRuns:
    def test_it_says_where_and_how_the_first_administrator_gets_in(self, running):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", running.address)
        link = re.search(rf"{running.address}/first/\S+/", running.printed)
        assert link, running.printed
        assert running.get(link[0].removeprefix(running.address))[0] == 200
        assert running.get("/first/nonsense/")[0] == 401

    def test_addresses_that_are_secrets_are_in_no_log(self, var):
        """Only where `up` prints the link for the person who started it."""
        fill(var.with_name("log"))
        with Up(var.with_name("log")) as run:
            run.ready()
            secret = re.search(r"/first/(\S+)/", run.printed)[1]
            assert run.get(f"/first/{secret}/")[0] == 200
            assert run.get("/join/another-secret/")[0] in {200, 401}
            assert run.get("/static/" + "js/page.js")[0] == 200
            assert run.stop() == 0
            assert "Warning" not in run.printed
            written = run.printed + "".join(file.read_text() for file in (run.var / "log").iterdir())
            assert written.count(secret) == 1
            assert "another-secret" not in written

    def test_all_parts_run(self, running):
        pids = running.pids()
        assert set(pids) == {*processes.all_of("h", 1), "postgres", "broker"}
        assert [name for name, pid in pids.items() if not command_line(pid)] == []

    def test_pages_and_their_files_come(self, running):
        assert running.get("/healthz")[0] == 200
        status, text = running.get("/accounts/login/")
        assert status == 200
        style = re.search(r'href="(/static/[^"]+\.css)"', text)
        assert style, text
        assert running.get(style[1])[0] == 200
        assert running.get("/static/no-such-file.css")[0] == 404
        assert re.search(r"\.[0-9a-f]{12}\.css$", style[1]), "a name that changes with the content"

    def test_pages_forbid_what_others_could_smuggle_in(self, running):
        with urllib.request.urlopen(running.address + "/accounts/login/", timeout=10) as answer:
            policy = dict(part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";"))
            assert (policy["script-src"], policy["style-src"]) == ("'self'", "'self'")
            assert policy["default-src"] == "'none'"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"

    def test_figures_of_pages_and_of_workers_come_together(self, running):
        running.get("/healthz")
        running.get("/no/such/page")

        def figures() -> str:
            return running.get("/metrics", Authorization=f"Bearer {METRICS_TOKEN}")[1]

        # Beat asks for the first sweep at once; a worker counts it in the broker.
        assert wait_until(lambda: 'exhibit_tasks_total{end="success",task="sweep"}' in figures(), 60), figures()
        assert re.search(r'exhibit_requests_total{method="GET",route="healthz",status="200"} \d', figures())
        assert re.search(r'exhibit_requests_total{method="GET",route="other",status="404"} \d', figures())
        assert 'exhibit_part_running{part="worker-judge"} 1.0' in figures()
        assert running.get("/metrics")[0] == 401

    def test_another_name_of_the_server_is_refused(self, running):
        request = urllib.request.Request(running.address + "/accounts/login/", headers={"Host": "evil.example"})
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(request, timeout=10)

    def test_it_is_reachable_from_this_machine_only(self, running):
        port = int(running.address.rsplit(":", 1)[1])
        own = socket.gethostbyname(socket.gethostname())
        if own.startswith("127."):
            listening = Path("/proc/net/tcp").read_text().splitlines()[1:]
            local = [line.split()[1] for line in listening if line.split()[3] == "0A"]
            assert [address for address in local if int(address.split(":")[1], 16) == port] == [f"0100007F:{port:04X}"]
        else:
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((own, port), timeout=2)

    def test_the_database_promises_to_keep_what_it_took(self, running):
        with psycopg.connect(embedded.database_url(running.var)) as connection:
            assert connection.execute("SHOW fsync").fetchone()[0] == "on"
            assert (
                connection.execute("SELECT count(*) FROM django_migrations WHERE app = 'incidents'").fetchone()[0] > 0
            )

    def test_the_web_process_and_the_workers_talk_to_this_broker(self, running):
        with redis.Redis.from_url(embedded.broker_url(running.var)) as client:

            def queues():
                return client.smembers("_kombu.binding.small") | client.smembers("_kombu.binding.large")

            assert wait_until(lambda: len(queues()) == 2, 60), queues()  # the workers begin a little after the pages

    def test_a_second_one_in_the_folder_says_where_the_first_is(self, running):
        with Up(running.var) as second:
            printed = second.process.communicate(timeout=30)[0]
            assert second.process.returncode == 1
            assert (
                printed.strip() == f"CommandError: already running here: {running.address} (pid {running.process.pid})"
            )
            second.var = Path("/nonexistent")  # nothing of the first is to be ended

    def test_a_taken_port_that_was_asked_for_is_an_error(self, running, tmp_path):
        port = running.address.rsplit(":", 1)[1]
        with Up(tmp_path, "--port", port) as second:
            assert second.ended() == 1
            assert second.printed.strip() == f"CommandError: 127.0.0.1 port {port}: Address already in use"
            assert not (tmp_path / "pg").exists(), "nothing is begun before the port is known to be free"


@pytest.mark.services
def test_the_term_signal_ends_all_in_order_and_the_next_start_keeps_the_data(var, running):
    before = running.pids()
    write_down(var)
    assert running.stop(signal.SIGTERM) == 0
    assert gone(before, 0) == []
    assert not (var / "pg" / "postmaster.pid").exists(), "PostgreSQL ended in peace"
    running.again()
    assert is_kept(var)


@pytest.mark.services
def test_after_a_kill_nothing_is_left_and_the_next_start_is_an_ordinary_one(var, running):
    before = running.pids()
    assert len(before) == 8
    running.process.kill()
    assert gone(before) == []
    running.again()
    assert running.get("/healthz")[0] == 200


@pytest.mark.services
def test_after_a_kill_of_all_the_next_start_recovers(var, running):
    write_down(var)
    for pid in [running.process.pid, *running.pids().values()]:
        os.kill(pid, signal.SIGKILL)
    running.again()
    assert is_kept(var)


@pytest.mark.services
@pytest.mark.parametrize(
    ("name", "said"),
    [
        *drawn([("worker-large", "worker-large"), ("web", "web")], 1),
        *drawn([("postgres", "PostgreSQL"), ("broker", "the broker")], 1),
    ],
)
def test_a_part_that_dies_is_named_and_started_again(var, running, name, said):
    before = running.pids()
    write_down(var)
    os.kill(before[name], signal.SIGKILL)
    running.says(f"{said} ended by itself with status -9")
    running.says(f"{said} runs again")

    def as_before() -> bool:
        try:
            return running.get("/healthz")[0] == 200 and running.pids().keys() == before.keys()
        except OSError:  # web, which starts
            return False

    assert wait_until(as_before, 60)
    after = running.pids()
    assert after.pop(name) != before.pop(name)
    assert after == before, "the others went on"
    assert is_kept(var)
    told = parts.read(var)[said]
    assert [end["status"] for end in told["ends"]][-1] == -9
    assert told["since"] >= told["ends"][-1]["at"]


@pytest.mark.services
def test_with_services_of_others_it_starts_none_of_its_own(broker, settings, tmp_path):
    """Against the suite's own PostgreSQL and broker, by their addresses."""
    from django.db import connection

    name = "exhibit_up"
    server = connection.settings_dict | {"dbname": "postgres"}
    with psycopg.connect(
        host=server["HOST"],
        port=server["PORT"] or None,
        user=server["USER"],
        password=server["PASSWORD"] or None,
        dbname="postgres",
        autocommit=True,
    ) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name}")
        admin.execute(f"CREATE DATABASE {name}")
        url = os.environ["DATABASE_URL"].replace("/exhibit?", f"/{name}?")
        assert name in url
        fill(tmp_path / "var", "static")
        try:
            with Up(tmp_path / "var", environment={"DATABASE_URL": url, "REDIS_URL": broker}) as run:
                run.ready()
                assert run.get("/healthz")[0] == 200
                assert set(run.pids()) == set(processes.all_of("h", 1))
                assert run.stop() == 0
            assert not (tmp_path / "var" / "pg").exists()
            assert not (tmp_path / "var" / "broker").exists()
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


# --- without processes ---


def test_a_part_that_cannot_be_started_waits_longer_each_time(tmp_path, monkeypatch):
    def start():
        if tries:
            raise tries.pop()
        return subprocess.Popen(["false"])

    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    tries: list[Exception] = []
    part = parts.Part("web", start, tmp_path / "web.log")
    part.begin()
    part.process.wait()
    assert part.tend() == f"web ended by itself with status 1 (its log: {tmp_path}/web.log); it is started again in 1 s"
    assert (part.tend(), parts.seconds_to_next([part])) == ("", 1.0)
    tries.append(embedded.EmbeddedError("no room"))
    clock[0] += 1
    assert part.tend().startswith("web could not be started: no room, 2 times within 10 minutes")
    tries.append(OSError(12, "Cannot allocate memory"))
    clock[0] += 2
    assert "Cannot allocate memory, 3 times" in part.tend()
    clock[0] += 4
    assert part.tend() == "web runs again"
    part.process.wait()
    clock[0] += parts.CALM_S
    assert part.tend().endswith("; it is started again in 1 s"), "what happened long ago no longer counts"
    parts.write(tmp_path, [part])
    told = parts.read(tmp_path)["web"]
    assert (told["pid"], [end["status"] for end in told["ends"]]) == (None, [1, None, None, 1])
    assert parts.seconds_to_next([]) is None


def test_the_next_free_port_is_taken_when_none_was_asked_for():
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8000))
            taken.listen()
        except OSError:
            pass  # somebody else has it: as good
        assert 8000 < up.free_port("127.0.0.1", None) < 8100


def test_an_address_that_is_not_of_this_machine_is_an_error():
    with pytest.raises(CommandError, match=r"192\.0\.2\.1 port 8000: Cannot assign"):
        up.free_port("192.0.2.1", None)


@pytest.mark.parametrize(
    ("host", "expected"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("db1", False)]
)
def test_what_counts_as_this_machine_only(host, expected):
    assert up.is_loopback(host) is expected


def test_leftovers_of_a_killed_supervisor_are_ended_and_strangers_are_not(tmp_path):
    ours = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(60)", "config.celery"], start_new_session=True
    )
    stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
    file = tmp_path / parts.FILE
    file.write_text(json.dumps({"worker": {"pid": ours.pid}, "beat": {"pid": stranger.pid}, "web": {"pid": None}}))
    try:
        wait_until(lambda: bool(command_line(ours.pid)), 10)  # a moment after its start it has none
        up.Command().end_leftovers(tmp_path)
        assert ours.wait(5) == -signal.SIGTERM
        assert stranger.poll() is None
        assert not file.exists()
    finally:
        for process in (ours, stranger):
            process.kill()
            process.wait()


def test_a_worker_whose_broker_is_gone_leaves_all_the_same() -> None:
    code = """
import subprocess, sys, threading
from celery.signals import worker_shutting_down
from config import celery
celery.FAREWELL_S = 0.5
print(subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL).pid, flush=True)
worker_shutting_down.send(sender="worker", sig="SIGTERM", how="Warm", exitcode=0)
sys.stdin.readline()
worker_shutting_down.send(sender="worker", sig="SIGQUIT", how="Cold", exitcode=1)
threading.Event().wait()
"""
    worker = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    child = int(worker.stdout.readline())
    with pytest.raises(subprocess.TimeoutExpired):
        worker.wait(1.5)  # a warm end waits for what is being read
    worker.stdin.write("\n")
    worker.stdin.close()
    assert worker.wait(30) == 1
    assert gone({"child": child}) == []
    worker.stdout.close()


def test_a_worker_that_missed_the_signal_of_its_supervisors_end_leaves_all_the_same() -> None:
    code = "import time; from config import celery; print('ready', flush=True); time.sleep(600)"
    supervisor = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {code!r}], stdout=subprocess.PIPE, text=True,
                         env=os.environ | {{"EXHIBIT_SUPERVISOR": str(os.getpid())}})
child.stdout.readline()
print(child.pid, flush=True)
"""
    done = subprocess.run([sys.executable, "-c", supervisor], cwd=ROOT, capture_output=True, text=True, timeout=60)
    child = int(done.stdout)
    assert gone({"child": child}, 30) == []
