"""Test text that no format knows: what the general reader reads, and what it leaves as prose."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.errors import UnknownFormat
from parsers.formats.general.text import records, single_lines
from parsers.formats.general.text.single_lines import severity_of, stamp_of
from parsers.text.source import Hints
from tests.parsers.formats.evidence import parse_bytes, read_bytes, same_tables, without_notes

CORPUS = Path(__file__).parents[3] / "corpus" / "text"
SAMPLES = sorted(CORPUS.glob("*.txt"))

MAIL = """\
From: Ann <ann@example.org>
To: Ops <ops@example.org>
Subject: Re: slow logins
Date: Tue, 2 Jan 2024 10:00:00 +0000

Hi all,

I would try to lower the size of the pool on this machine. Please set:

pool.max_size = 10
pool.timeout: 15 s

On Mon, 1 Jan 2024, Bob wrote:
> pool.max_size = 300
> 2024-01-01 10:00:00 ERROR refused
> NAME      READY   RESTARTS
> api-1     1/1     17

You should increase it, for example:
worker_connections 128

please set worker_processes = 4

--
Ann
Tel: 12345
"""


def tables_of(text: str, hints: Hints | None = None) -> dict[str, list[dict[str, object]]]:
    reading = read_bytes(text.encode(), hints)
    assert reading.account.kind == "text"
    assert reading.account.account.lines == reading.account.lines
    return {name: rows.to_dicts() for name, rows in reading.tables.items() if name not in ("notes", "artifacts")}


def test_what_a_mail_quotes_or_advises_gives_nothing():
    reading = read_bytes(MAIL.encode())
    assert (reading.account.kind, reading.account.tables) == ("text", {})
    assert isinstance(reading.error, UnknownFormat)


def test_below_advice_comes_evidence_again():
    text = "Please lower it, for example:\n\npool = 10\n\nThe pool of today is this one here, as it was printed.\n\npool = 300\n"
    assert [row["line_no"] for row in tables_of(text)["params"]] == [7]


def test_every_row_says_that_it_is_of_the_general_reader():
    text = "2024-01-02 03:04:05 started\n\nused: 5\nlimit = 7\n\ngoroutine 1 [select]:\nmain.main()\n\t/src/main.go:10 +0x1d\n"
    found = tables_of(text)
    marks = {"logs": "source", "counters": "grp", "params": "scope", "profile_stacks": "source"}
    assert {name: {row[marks[name]] for row in rows} for name, rows in found.items()} == {
        name: {"text"} for name in marks
    }


@pytest.mark.parametrize(
    ("line", "clock", "base"),
    [
        ("2024-01-02T03:04:05.5Z x", "wall-utc", 1704164645.5),
        ("[2024/01/02 03:04:05,5] x", "wall-local", 1704164645.5),
        ("2024-01-02 03:04:05.5+0200 x", "wall-utc", 1704157445.5),
        ("[Tue Jan 02 03:04:05.5 2024] x", "wall-local", 1704164645.5),
        ("10.0.0.1 - - [02/Jan/2024:03:04:05 +0000] GET /", "wall-utc", 1704164645.0),
        ("1704164645.5 x", "wall-utc", 1704164645.5),
        ("03:04:05.5 x", "wall-local", 11045.5),
    ],
)
def test_a_line_that_begins_with_a_stamp_is_of_a_log(line, clock, base):
    reading = read_bytes(f"{line}\n{line} again\n".encode(), Hints(kind="text"))
    assert reading.table("logs")["t_local"].to_list() == [base, base]
    assert [d.kind for d in reading.account.parts[0].domains] == [clock]


def test_times_of_day_go_over_midnight_and_ask_for_the_day():
    reading = read_bytes(b"23:59:59 request 17 queued\n00:00:01 request 17 served\n")
    assert reading.table("logs")["t_local"].to_list() == [86399.0, 86401.0]
    assert [q["ask"] for q in reading.account.parts[0].facts["questions"]] == ["date", "tz"]
    told = read_bytes(b"23:59:59 request 17 queued\n00:00:01 request 17 served\n", Hints(date="2024-01-02"))
    assert told.table("logs")["t_local"].to_list() == [1704239999.0, 1704240001.0]


def test_a_line_of_a_proxy_has_its_stamp_behind_the_client():
    line = '192.0.2.9:57226 [28/Nov/2026:08:37:37.380] shop orders/app1 0/615/1/155/771 200 121 - - ---- 10/10/9/1/0 0/8 "GET / HTTP/1.1"\n'
    rows = read_bytes((line * 3).encode()).table("logs")
    assert rows["t_local"].to_list() == [1795855057.38] * 3
    assert rows["text"][0].startswith("shop orders/app1 0/615/1/155/771 200")


def test_the_totals_of_a_stores_commands_are_counters():
    rows = read_bytes(b"# Commandstats\ncmdstat_get:calls=152,usec=1052,usec_per_call=6.92\n").table("counters")
    assert rows.select("grp", "item", "name", "value").rows() == [
        ("commands of a store", "get", name, value) for name, value in (("calls", 152.0), ("usec", 1052.0), ("usec_per_call", 6.92))
    ]  # fmt: skip


def test_the_number_of_lines_of_a_file_of_a_process_is_a_level():
    (row,) = read_bytes(b"65519 /proc/21626/maps\n").table("counters").to_dicts()
    assert (row["grp"], row["item"], row["name"], row["value"], row["mode"]) == (
        "lines of /proc/PID", "21626", "maps", 65519.0, "level",
    )  # fmt: skip


def test_a_stamp_of_another_sort_has_no_time_and_says_so_once():
    reading = read_bytes(b"2024-01-02 03:04:05 a\n1704164645 b\n1704164646 c\n", Hints(kind="text"))
    assert reading.table("logs")["t_local"].is_null().to_list() == [False, True, True]
    assert [n.line_from for n in reading.account.notes if "another form" in n.text] == [2]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pool_size = 128M", ("params", "pool_size", "128M", None)),
        ("pool_size=128", ("params", "pool_size", "128", 128.0)),
        ("mode: fast", ("params", "mode", "fast", None)),
        ("Free buffers       1024", ("counters", "Free buffers", 1024.0, None)),
        ("used: 1,024 kB (3 %)", ("counters", "used", 1024.0, "kB")),
        ("requests_total 17", ("counters", "requests_total", 17.0, None)),
        ("Trx id counter 2317", ("counters", "Trx id counter", 2317.0, None)),
    ],
)
def test_a_name_and_its_value(line, expected):
    ((table, (row,)),) = tables_of(f"{line}\n").items()
    found = (row["value"], row["num"]) if table == "params" else (row["value"], row["unit"])
    assert (table, row["name"], *found) == expected


@pytest.mark.parametrize(
    "line",
    [
        "https://example.org/a:1",
        "C:\\temp\\x",
        "# swappiness = 10",
        "we waited 15",
        "Note: see below",
        "it took about 30 s",
        "a == b",
        "f(x) => 3",
        "Regards, Anna",
    ],
)
def test_what_is_no_value(line):
    assert read_bytes(f"{line}\n".encode()).account.tables == {}


def test_a_title_tells_names_apart_and_samples_are_numbered():
    found = tables_of("[web]\nsessions   5\n[db]\nsessions   6\n[web]\nsessions   7\n")["counters"]
    assert [(row["item"], row["value"], row["sample"]) for row in found] == [("web", 5, 1), ("db", 6, 1), ("web", 7, 2)]


def test_a_date_above_is_the_time_of_what_follows():
    found = tables_of("2024-01-02 03:04:05\nused: 5\n\n2024-01-02 03:04:15\nused: 6\n")["counters"]
    assert [row["t_local"] for row in found] == [1704164645.0, 1704164655.0]


@pytest.mark.parametrize(
    "line",
    [
        "curl: (28) Connection timed out",
        "ERROR 1040 (HY000): Too many connections",
        "kinit: Clock skew too great while getting initial credentials",
        "mount error(110): could not connect to 10.0.0.7",
        "ldap_sasl_bind(SIMPLE): Can't contact LDAP server (-1)",
        "tree connect failed: NT_STATUS_IO_TIMEOUT",
        "ABC-00020: full",
        "relay.service: Main process exited, code=exited, status=203/EXEC",
        "Loading the new rules: fork() failed: Resource temporarily unavailable",
        "relay 7 of 9 gave up (Connection refused)",
    ],
)
def test_a_complaint_without_a_stamp_is_of_a_log(line):
    assert [row["text"] for row in tables_of(f"{line}\n")["logs"]] == [line]


def test_a_line_of_the_kernel_without_the_stamp_of_its_log():
    (row,) = tables_of("app7 kernel: [ 4711.250000] nf_conntrack: table full, dropping packet\n")["logs"]
    assert (row["t_local"], row["text"]) == (4711.25, "nf_conntrack: table full, dropping packet")


def test_a_warning_of_kubernetes_without_its_heading():
    line = "  Warning  FailedMount  9s (x4 over 2m)  kubelet  MountVolume.SetUp failed for volume data. Retry later."
    assert [(r["severity"], r["text"]) for r in tables_of(f"{line}\n")["logs"]] == [("warning", line.strip())]


def test_numbers_that_fill_their_columns_are_cells_of_their_own():
    text = (
        " %-share    Avg-time      Max-time   Calls   Op\n"
        "    0.50     12.00 us      90.10 us      31   STAT\n"
        "   99.50  10480.25 us 7000321.75 us    9000 MKDIR\n"
    )
    rows = tables_of(text)["rows"]
    assert [row["cells"] for row in rows] == [
        ["0.50", "12.00 us", "90.10 us", "31", "STAT"],
        ["99.50", "10480.25 us", "7000321.75 us", "9000", "MKDIR"],
    ]


def test_a_row_of_fewer_cells_stands_under_its_heading():
    text = (
        "Proto   Address          State\nTCP     10.0.0.1:80      OPEN\nUDP     10.0.0.1:53\n"
        + "TCP     10.0.0.1:81      OPEN\n" * 3
        + "XXX\n"
    )
    found = tables_of(text)["rows"]
    assert [row["cells"] for row in found[:2]] == [["TCP", "10.0.0.1:80", "OPEN"], ["UDP", "10.0.0.1:53", ""]]
    assert len(found) == 5


def test_a_table_may_have_a_title_and_come_twice():
    text = "Pods now\nNAME   CPU\na      1\nb      2\n\nNAME   CPU\na      3\nNAME   CPU\nb      4\n"
    found = tables_of(text)["rows"]
    assert [(row["table_no"], row["row_no"], row["cells"][1]) for row in found] == [
        (1, 1, "1"), (1, 2, "2"), (2, 1, "3"), (2, 2, "4"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["a b c\na b c\n", "Dear all\nit is slow\n", "Max size:   5\nMin size:   3\n"])
def test_what_is_no_table(text):
    assert "rows" not in tables_of(text)


def test_secrets_are_masked_in_rows():
    found = tables_of("user = scott\npassword = tiger\n\nname    password=x\nuser    password=tiger9\n")
    assert "tiger" not in str(found)


def test_stacks_without_frames_give_no_row_and_a_prompt_names_the_process():
    text = (
        '"VM Thread" os_prio=0 tid=0x00007f nid=0x1a05 runnable\n\n$ sudo cat /proc/42/stack\n'
        "[<ffffffff8105d9b1>] do_wait+0x1/0x2\n"
    )
    found = tables_of(text)
    assert [(row["pid"], row["frames"]) for row in found["profile_stacks"]] == [(42, ["do_wait"])]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_a_cut_changes_only_the_last_paragraph(path):
    content = path.read_bytes()
    whole = parse_bytes(content, "text", "plain")
    assert whole is not None
    for cut in range(1, len(content), 37):
        part = parse_bytes(content[:cut], "text", "plain")
        assert part is not None
        lines = content[:cut].split(b"\n")
        blank = [n for n, line in enumerate(lines, 1) if not line.strip()]
        tail = max(blank[-2:-1], default=1)  # a stack may continue after a blank line
        for name in whole.tables.keys() - {"notes"}:
            before = whole.tables[name].filter(whole.tables[name]["line_end"] < tail)
            after = (
                part.tables[name].filter(part.tables[name]["line_end"] < tail) if name in part.tables else before[:0]
            )
            assert before.equals(after), (name, cut)


def test_the_size_of_runs_and_blocks_changes_nothing_within_paragraphs():
    text = "".join(f"2024-01-02 03:04:{n % 60:02} line {n}\nused {n}\n\n" for n in range(3000))
    one = parse_bytes(text.encode(), "text", "plain")
    other = parse_bytes(text.encode(), "text", "plain", block_bytes=3000)
    assert one is not None
    assert other is not None
    assert same_tables(without_notes(one.tables), without_notes(other.tables))


class TestAKindThatAPersonGave:
    """A kind that does not fit is ignored: the text is read as the recognised kind, and a misfit is reported."""

    def test_it_is_read_as_what_it_is(self):
        content = b"time elapsed : 0,31\n" * 20
        reading = read_bytes(content, Hints(kind="pmap", variant="solaris"))
        assert (reading.error, reading.account.kind, reading.account.tables) == (None, "conntime", {"conn_times": 20})
        (misfit,) = reading.account.misfits
        assert (misfit.kind, misfit.first_line, misfit.text) == ("pmap", 1, "time elapsed : 0,31")
        assert [n.text for n in reading.account.notes if n.kind == "remark"] == [str(misfit)]
        assert reading.account.as_json()["misfits"] == [
            {"kind": "pmap", "line_from": 1, "first_line": 1, "text": "time elapsed : 0,31"}
        ]

    def test_of_a_mail_every_output_is_found(self):
        mail = "Dear all, here is the list that you have asked me for.\n\n" + "time elapsed : 0,31\n" * 5
        reading = read_bytes(mail.encode(), Hints(kind="pmap"))
        assert (reading.account.kind, reading.account.tables) == ("conntime", {"conn_times": 5})

    def test_what_nobody_knows_is_text(self):
        reading = read_bytes(b"NAME   CPU\na      1\nb      2\n", Hints(kind="pmap"))
        assert (reading.account.kind, reading.account.tables) == ("text", {"rows": 2})
        assert [m.kind for m in reading.account.misfits] == ["pmap"]

    def test_a_kind_that_fits_is_obeyed(self):
        assert read_bytes(b"connect: 0.5\n", Hints(kind="conntime")).account.misfits == []


RECORDS = """\
-[ RECORD 1 ]--+--------------------
relation       | orders
mode           | AccessExclusiveLock
query          | select 1          +
               | from x
-[ RECORD 2 ]--+--------------------
relation       | items
(2 rows)

*************************** 1. row ***************************
               Slave_IO_State: Waiting for source to send event
        Seconds_Behind_Master: 12
                   Last_Error:
1 row in set (0.00 sec)
"""


def test_a_record_is_a_row_with_one_cell_for_each_line():
    rows = tables_of(RECORDS)["rows"]
    assert [(r["line_no"], r["line_end"], r["heading"], r["cells"]) for r in rows] == [
        (2, 5, ["relation", "mode", "query", ""], ["orders", "AccessExclusiveLock", "select 1          +", "from x"]),
        (7, 7, ["relation"], ["items"]),
        (
            11,
            13,
            ["Slave_IO_State", "Seconds_Behind_Master", "Last_Error"],
            ["Waiting for source to send event", "12", ""],
        ),
    ]
    assert ("Seconds_Behind_Master", 12.0) in {(r["name"], r["value"]) for r in tables_of(RECORDS)["counters"]}


def test_a_record_ends_somewhere():
    text = "-[ RECORD 1 ]-\n" + "".join(f"a{n} | 1\n" for n in range(records.MOST_CELLS + 5))
    assert tables_of(text)["rows"][0]["cells"] == ["1"] * records.MOST_CELLS
    assert "rows" not in tables_of("-[ RECORD 1 ]-\n\na = 1\n")


def test_one_value_under_its_name_is_a_setting():
    tables = tables_of("QUERY PLAN\n\n random_page_cost \n------------------\n 1.1\n(1 row)\n")
    (made,) = tables["params"]
    assert (made["line_no"], made["name"], made["value"], made["num"], made["entity"]) == (
        5,
        "random_page_cost",
        "1.1",
        1.1,
        None,
    )


@pytest.mark.parametrize("footer", ["1 row in set, 1 warning (0.00 sec)", "(1 row)", "1 row selected."])
def test_a_table_of_one_row_ends_where_its_rows_are_counted(footer: str):
    rule = "+----+---------+------+"
    text = f"{rule}\n| id | table   | type |\n{rule}\n|  1 | shelves | ALL  |\n{rule}\n{footer}\n"
    run = read_bytes(text.encode())
    assert [row["cells"] for row in run.tables["rows"].to_dicts()] == [["1", "shelves", "ALL"]]
    assert "unknown" not in run.table("notes")["kind"].to_list()


def test_several_values_under_a_name_are_no_setting():
    found = tables_of("pool = 3\n\n size\n------\n 7\n 9\n(2 rows)\n")
    assert [row["name"] for row in found["params"]] == ["pool"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dns 0.2 tcp 0.3 ttfb 1.25s", [("dns", 0.2, None), ("tcp", 0.3, None), ("ttfb", 1.25, "s")]),
        ("time_connect: 0.01 time_total: 0.75", [("time_connect", 0.01, None), ("time_total", 0.75, None)]),
        ("first 3 then 4 more 5 of", []),
        ("we 3 they 4", []),
    ],
)
def test_names_and_figures_that_take_turns(line, expected):
    pairs = single_lines.pairs_of(line)
    assert [(p.name, p.num, p.unit) for p in pairs if not p.setting] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("    server web2 192.0.2.9:8080 check inter 2s maxconn 40 maxqueue 9", [("web2", "maxconn", "40"), ("web2", "maxqueue", "9")]),
        ("  server 192.0.2.9:8080 weight=5 max_conns=60;", [(None, "max_conns", "60")]),
        ("  server web2 192.0.2.9:8080 check", []),
        ("server room 7 maxconn 4", []),
    ],
)  # fmt: skip
def test_what_a_proxy_lets_through_to_a_server(line, expected):
    assert [(p.of, p.name, p.value) for p in single_lines.pairs_of(line) if p.of or p.setting] == expected


def test_columns_as_wide_as_the_rules_below_their_names():
    text = "GRANTEE NAME     SID\n------- -------- ---\napp     my lock    7\nweb              12\n"
    rows = tables_of(text)["rows"]
    assert [r["heading"] for r in rows] == [["GRANTEE", "NAME", "SID"]] * 2
    assert [r["cells"] for r in rows] == [["app", "my lock", "7"], ["web", "", "12"]]


MONITOR = """\
------------------------
LATEST DETECTED DEADLOCK
------------------------
*** (1) TRANSACTION:
TRANSACTION 17, ACTIVE 4 sec inserting
LOCK WAIT 3 lock struct(s), heap size 1128, 2 row lock(s)
INSERT INTO orders VALUES (1)

 Seq Scan on t  (cost=0.00..1.01 rows=1 width=4) (actual time=0.01..900.0 rows=1 loops=1)
   Filter: (a = 1)
   Rows Removed by Filter: 900000
 Execution Time: 901.2 ms
"""


def test_lines_of_reports_of_a_database():
    rows = [(r["line_no"], r["heading"][0]) for r in tables_of(MONITOR)["rows"]]
    assert rows == [*((n, "InnoDB status") for n in (2, 4, 5, 6, 7)), *((n, "query plan") for n in (9, 10, 11, 12))]


@pytest.mark.parametrize("line", ["insert into t values (1)", "Filter: yes", "we LOCK the door", "the cost=3 of it"])
def test_lines_that_only_look_like_a_report(line: str):
    assert all(len(str(r["heading"]).split(",")) > 1 for r in tables_of(f"a = 1\n{line}\n").get("rows", []))


def test_a_report_that_somebody_quotes_or_advises_gives_nothing():
    text = "a = 1\n> ---TRANSACTION 17, ACTIVE 4 sec\n\nPlease try this one here, as you can see:\n\n-[ RECORD 1 ]-\nb | 2\n"
    assert "rows" not in tables_of(text)


def test_a_record_whose_head_was_not_pasted():
    text = "  Replica_IO_Running: Yes\n  Replica_SQL_Running: No\n  Seconds_Behind_Source: NULL\n"
    (row,) = tables_of(text)["rows"]
    assert (row["line_no"], row["line_end"], row["cells"]) == (1, 3, ["Yes", "No", "NULL"])


def test_a_worker_of_autovacuum_is_told_as_it_stands():
    (row,) = tables_of("postgres | 17 | | autovacuum: VACUUM public.orders\n")["rows"]
    assert row["heading"] == ["server process"]


STATUS = """\
● relay.service - Mail relay
     Loaded: loaded (/etc/systemd/system/relay.service; enabled; preset: disabled)
    Drop-In: /etc/systemd/system/relay.service.d
             └─limits.conf
     Active: failed (Result: oom-kill) since Tue 2024-01-02 10:00:00 CET; 4min ago
    Process: 812 ExecStart=/usr/sbin/relayd (code=killed, signal=KILL)
     Memory: 90.1M (limit: 100.0M)
"""


def test_what_a_service_manager_says_of_a_unit_is_a_report_and_a_complaint():
    tables = tables_of(STATUS)
    assert [(r["line_no"], r["heading"]) for r in tables["rows"]] == [(n, ["service status"]) for n in range(1, 8)]
    assert [(r["line_no"], r["ok"]) for r in tables["logs"]] == [(5, None), (6, None)]


def test_the_journal_below_a_status_is_a_log_of_its_own():
    journal = "".join(f"Jan 02 10:00:0{n} mx1 relayd[812]: queue {n} opened\n" for n in range(9))
    reading = read_bytes(f"{STATUS}\n{journal}".encode())
    assert {r["source"] for r in reading.tables["logs"].to_dicts()} == {"text", "syslog"}
    assert reading.tables["rows"].height == 7


def test_services_of_solaris_and_lists_that_only_look_like_units():
    smf = "svc:/network/relay:default (Mail relay)\n State: maintenance since January  2, 2024 at 10:00:00 AM CET\nReason: Method failed.\n"
    assert [r["line_no"] for r in tables_of(smf)["rows"]] == [1, 2, 3]
    assert "rows" not in tables_of("* first item - of a list\n* a.conf - settings\nMemory: 90M\nlimit = 3\n")


@pytest.mark.parametrize(
    ("line", "day"),
    [("févr. 03 10:00:00 mx1 done", 33), ("sept 03 10:00:09 done", 246), ("Room 03 10:00:00 free", None)],
)
def test_a_stamp_without_a_year_may_name_its_month_in_another_language(line: str, day: int | None):
    stamp = stamp_of(line)
    assert (stamp and int(stamp.t / 86400)) == day


WATCHED = """\
W20240502 15:04:05.123456  1234 watch.cc:191] Thread 4711 stuck at /src/x.cc:12 for 1234ms:
Kernel stack:
User stack:
    @     0x7f0d3e2d2f43  pthread_cond_wait
    @           0x9a0b1c  (unknown)
    @           0x9a0b2d  kudu::Reader::Read(std::function<void ()> const&) const
W20240502 15:04:06.123456  1234 watch.cc:191] all is well
    @           0x9a0b2d  kudu::Writer::Write()
"""


def test_a_stack_below_a_line_about_a_thread_that_is_stuck_says_where_it_stands():
    tables = tables_of(WATCHED)
    (stack,) = tables["profile_stacks"]
    assert (stack["lwp"], stack["state"], stack["line_no"]) == (4711, "stuck at /src/x.cc:12 for 1234ms", 1)
    assert (stack["frames"], stack["frame_lines"]) == (["pthread_cond_wait", "kudu::Reader::Read"], [4, 6])
    assert [(r["line_no"], r["severity"]) for r in tables["logs"]] == [(1, "WARNING"), (7, "WARNING")]


@pytest.mark.parametrize("said", ["Check failed: a == b", "caught a signal", "the queue got longer"])
def test_a_stack_of_a_crash_is_no_place_where_a_thread_stands(said: str):
    assert "profile_stacks" not in tables_of(f"F0502 15:04:05.1 12 a.cc:1] {said}\n    @  0x7f0d3e2d2f43  abort\n")


def test_frames_of_java_without_a_word_before_them():
    (stack,) = tables_of("    shop.Pool.take(Pool.scala:81)\n    java.lang.Thread.run(Thread.java:748)\n")[
        "profile_stacks"
    ]
    assert stack["frames"] == ["shop.Pool.take", "java.lang.Thread.run"]
    assert "profile_stacks" not in tables_of("shop.Pool.take(a)\nshop.Pool.give(b)\n")


def test_the_widest_line_of_a_text_is_not_called_cut() -> None:
    text = b"7: veth7@if9: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc noqueue state UP\nlimit: 9\n"
    reading = read_bytes(text)
    assert len(reading.table("counters")) == 1
    assert [n.text for n in reading.account.notes if n.kind == "damaged"] == []


@pytest.mark.parametrize(
    ("line", "t", "text"),
    [
        ("gc 7 @3.500s 2%: 0.1+1+0.1 ms clock, 9->9->5 MB, 10 MB goal, 4 P", 3.5, "gc 7 @3.500s 2%: 0.1+1"),
        ("7.250: [GC (Allocation Failure) 900K->100K(2000K), 0.0100 secs]", 7.25, "[GC (Allocation Failure) 900K"),
        ("[4711:0x55aa20]    1250 ms: Scavenge 20.1 (30.2) -> 9.5 (31.0) MB, 1.5 / 0.0 ms", 1.25, "Scavenge 20.1"),
    ],
)
def test_lines_of_collectors_count_from_the_start(line: str, t: float, text: str) -> None:
    stamp = stamp_of(line)
    assert stamp is not None
    assert (stamp.clock, stamp.t, stamp.rest.startswith(text)) == ("uptime", t, True)


@pytest.mark.parametrize("line", ["gc 7 @home 2%: x", "7.250: x", "[4711:0x55aa20] 1250 ms: x"])
def test_other_lines_do_not(line: str) -> None:
    assert stamp_of(line) is None


@pytest.mark.parametrize(
    ("line", "clock", "text"),
    [
        ("WARN  [Read-1] 2024-01-02 03:04:05,5 A.java:9 - slow", "wall-local", "WARN [Read-1] A.java:9 - slow"),
        ("[error] 2024-01-02T03:04:05.5Z db@n1 <0.7.0> slow", "wall-utc", "[error] db@n1 <0.7.0> slow"),
        ("7:M 02 Jan 2024 03:04:05.5 * slow", "wall-local", "* slow"),
        ("[4711] 02 Jan 03:04:05.5 * slow", "no-year", "* slow"),
        ("[7] 2024/01/02 03:04:05.5 [INF] slow", "wall-local", "[INF] slow"),
        ("    2024/01/02 03:04:05 [WARN] raft: slow", "wall-local", "[WARN] raft: slow"),
        ("kv-1  | 7:M 02 Jan 2024 03:04:05.5 * slow", "wall-local", "kv-1 | * slow"),
        ("02-Jan-2024 03:04:05.5 SEVERE [main] slow", "wall-local", "SEVERE [main] slow"),
        ("24/01/02 03:04:05 WARN Scheduler: slow", "wall-local", "WARN Scheduler: slow"),
        ("W240102 03:04:05.5 31 a.go:7 slow", "wall-local", "31 a.go:7 slow"),
        ("00:0002:00000:00007:2024/01/02 03:04:05.50 server  slow", "wall-local", "server  slow"),
    ],
)
def test_stamps_of_stores_and_frameworks_may_stand_behind_other_words(line: str, clock: str, text: str) -> None:
    stamp = stamp_of(line)
    assert stamp is not None
    assert (stamp.clock, stamp.rest) == (clock, text)
    assert stamp.t % 60 in (5.0, 5.5)


@pytest.mark.parametrize(
    "line", ["INFO: 2 rows", "ERROR [main] x", "kv-1 | ready", "7:M x", "24/01/02 03:04:05 5", "INFO " * 2000]
)
def test_such_words_without_a_stamp_behind_them_are_none(line: str) -> None:
    assert stamp_of(line) is None


def test_the_letter_before_a_date_of_six_digits_is_a_severity_too() -> None:
    assert severity_of("W240102 03:04:05.5 31 a.go:7 slow") == "WARNING"


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("SQL0911N  The current transaction has been rolled back because of a deadlock.", "ERROR"),
        ("MESSAGE : ADM5502W  The escalation of locks on a table was successful.", "ERROR"),
        ("shop.db.WaitException: No row came within the time that was set.", "error"),
        ("Caused by: java.lang.IllegalStateException: The pool is closed.", "error"),
        ("4120 secs (1.14 hrs) behind the primary", None),
        ("Completed 200 OK in 4812ms (Views: 880.1ms | ActiveRecord: 3901.2ms)", None),
        ('Vendor Load (9.2ms)  SELECT "vendors".* FROM "vendors" WHERE "vendors"."id" = 11 LIMIT 1', None),
        ("(error) OOM command not allowed when used memory > 'maxmemory'.", None),
        ("2. fork: 4 latency spikes (average 812ms, mean deviation 71ms). Worst all time event 1110ms.", None),
    ],
)
def test_messages_that_begin_with_a_code_or_a_class_are_lines_of_a_log(line: str, severity: str | None) -> None:
    (row,) = tables_of(f"We saw this today:\n\n{line}\n")["logs"]
    assert (row["text"], row["severity"]) == (line, severity)


def test_words_about_an_exception_are_none() -> None:
    assert "logs" not in tables_of("The java.lang.IllegalStateException was thrown when we closed the pool.\n")


def test_names_and_figures_of_memcached_stand_behind_a_word() -> None:
    rows = tables_of("STAT curr_connections 1023\nSTAT listen_disabled_num 44\n")["counters"]
    assert [(r["name"], r["value"]) for r in rows] == [("curr_connections", 1023.0), ("listen_disabled_num", 44.0)]


def test_a_stamp_of_the_diagnostic_log_of_db2() -> None:
    stamp = stamp_of("2024-01-02-03.04.05.500000+060 E1201A812            LEVEL: Warning")
    assert stamp is not None
    assert (stamp.clock, stamp.t % 60, stamp.rest[:10]) == ("wall-local", 5.5, "E1201A812 ")


def test_cells_of_psql_may_be_empty_at_both_ends() -> None:
    text = " count | type | event\n-------+------+--------\n    88 | IO   | WALSync\n     3 |      | \n       | IO   | x\n(3 rows)\n"
    rows = tables_of(text)["rows"]
    assert [r["cells"] for r in rows] == [["88", "IO", "WALSync"], ["3", "", ""], ["", "IO", "x"]]


def test_the_sum_of_queries_that_a_toolbar_shows_is_a_line_of_a_log() -> None:
    line = "SQL queries: default 3902.11 ms (812 queries including 800 similar and 640 duplicates)"
    assert [r["text"] for r in tables_of(line + "\n")["logs"]] == [line]


TIMED = b"""\
$ time shopctl check
DNS lookup:  10.014 s
pool.size = 10
cannot resolve cdn.example: timed out
Response time: 10.02 s

real\t0m10.031s
user\t0m0.007s
sys\t0m0.004s
"""


def test_what_a_timed_program_prints_is_read_as_text():
    reading = read_bytes(TIMED)
    assert reading.account.kind == "time"
    assert [(row["line_no"], row["name"], row["value"]) for row in reading.tables["counters"].to_dicts()] == [
        (2, "DNS lookup", 10.014),
        (5, "Response time", 10.02),
    ]
    assert ("pool.size", "10") in [(row["name"], row["value"]) for row in reading.tables["params"].to_dicts()]
    assert reading.account.account.unknown == 1  # the complaint, which an observer finds in the notes
    assert any("lines of another program" in note.text for note in reading.account.notes)


def test_a_table_among_the_lines_of_a_known_tool_is_read_as_text():
    """The columns are from a container tool, the lines around them from a kernel log."""
    of_group = (
        b"$ cat /sys/fs/cgroup/cpu.stat\nusage_usec 100\nuser_usec 60\nsystem_usec 40\nnr_periods 5\nnr_throttled 0\n"
    )
    table = b"POD     RESTARTS   STATE\nshop    17         CrashLoopBackOff\ncart    0          Running\n"
    reading = read_bytes(of_group + table)
    assert reading.account.kind == "cgroup"
    assert [row["cells"] for row in reading.tables["rows"].to_dicts()] == [
        ["shop", "17", "CrashLoopBackOff"],
        ["cart", "0", "Running"],
    ]


def test_half_a_record_of_a_known_tool_is_no_setting():
    cut = b"eth1: 865450302 34\n" + b"Inter-|   Receive\n"
    whole = next((CORPUS.parent / "netdev").glob("derived-proc-net-dev-and-netstat-i.txt")).read_bytes()
    reading = read_bytes(whole + cut)
    assert reading.account.kind == "netdev"
    assert "params" not in reading.tables


def test_an_event_that_reads_like_a_sentence_is_a_row():
    said = 'Liveness probe failed: Get "http://10.9.8.7:80/health": context deadline exceeded (Client.Timeout exceeded)'
    text = f"""\
Events:
  Type     Reason     Age                  From     Message
  ----     ------     ----                 ----     -------
  Warning  Unhealthy  21m (x44 over 2d1h)  kubelet  {said}
  Warning  Unhealthy  21m (x49 over 2d1h)  kubelet  Readiness probe failed: the service does not answer yet.
"""
    found = tables_of(text)
    assert [row["cells"][0] for row in found["rows"]] == ["Warning", "Warning"]
    assert [row["text"] for row in found["logs"]] == [
        f"Unhealthy: {said} (x44 over 2d1h)",
        "Unhealthy: Readiness probe failed: the service does not answer yet. (x49 over 2d1h)",
    ]


@pytest.mark.parametrize("footer", ["(2 rows affected)", "(2 row(s) affected)", "(2 rows)"])
def test_the_count_below_a_table_of_sqlcmd_is_no_row(footer: str):
    text = f"""\
session_id status     wait_type        wait_time
---------- ---------- ---------------- ---------
        55 suspended  LCK_M_X              84213
        57 suspended  LCK_M_S              80112
{footer}
"""
    assert [row["cells"] for row in tables_of(text)["rows"]] == [
        ["55", "suspended", "LCK_M_X", "84213"],
        ["57", "suspended", "LCK_M_S", "80112"],
    ]


@pytest.mark.parametrize(
    ("heading", "row", "last"),
    [
        (
            "insert query update delete getmore command dirty used flushes vsize   res qrw arw net_in net_out conn   time",
            "    12    *0    220     *0       0   20|0 21.3% 96.1%       0 9.10G 7.80G 0|8 1|0  3.1m   2.0m  512 Mar  1 10:00:01.120",
            "Mar  1 10:00:01.120",
        ),
        (
            "insert query update delete getmore command flushes mapped vsize res faults qr|qw ar|aw netIn netOut conn time",
            "    *0    *0     *0     *0       0     1|0       0    80m  160m 33m      0   0|0   0|0   62b    3k    1 10:00:02",
            "10:00:02",
        ),
    ],
)
def test_samples_of_mongostat_are_rows(heading: str, row: str, last: str):
    (found,) = tables_of(f"{heading}\n{row}\n")["rows"]
    assert found["heading"] == heading.split()
    assert found["cells"][-1] == last


def test_reports_of_erlang_have_the_first_words_of_their_message():
    text = """\
=INFO REPORT==== 8-Jul-2031::08:32:17 ===
Memory limit set to 196MB of 490MB total.

=ERROR REPORT==== 8-Jul-2031::08:35:18 ===
closing AMQP connection <0.345.0> (198.51.100.7:51000 -> 198.51.100.8:5672):
missed heartbeats from client, timeout: 60s
=WARNING REPORT==== 8-Jul-2031::08:36:18.250 ===
memory resource limit alarm set on node rabbit@mq1.
*** Publishers will be blocked until this alarm clears ***
=CRASH REPORT==== 31-Feb-2031::08:36:18 UTC ===
  breaker:
"""
    rows = tables_of(text)["logs"]
    assert [(r["line_no"], r["line_end"], r["severity"], r["text"]) for r in rows] == [
        (2, 2, "INFO", "Memory limit set to 196MB of 490MB total."),
        (
            5,
            6,
            "ERROR",
            "closing AMQP connection <0.345.0> (198.51.100.7:51000 -> 198.51.100.8:5672):"
            " missed heartbeats from client, timeout: 60s",
        ),
        (8, 8, "WARN", "memory resource limit alarm set on node rabbit@mq1."),
        (11, 11, "ERROR", "breaker:"),
    ]
    times = [r["t_local"] for r in rows]
    assert [t - times[0] for t in times[1:3]] == [181.0, 241.25]
    assert times[3] is None, "there is no such day"


@pytest.mark.parametrize(
    ("line", "severity", "said"),
    [
        (
            'store-2  | {"level":"error","ts":"2024-02-03T04:05:06Z","msg":"write refused","error":"quota of 2 GB is used"}',
            "ERROR",
            "write refused error=quota of 2 GB is used",
        ),
        (
            '{"s":"I","ctx":"c7","msg":"Slow query","attr":{"ns":"till.items","planSummary":"COLLSCAN","durationMillis":5123,"locks":{"Gl',
            "INFO",
            "Slow query ns=till.items planSummary=COLLSCAN durationMillis=5123",
        ),
        (
            'till_1 | {"level":50,"time":1706933106000,"message":"no answer","url":"/items"}',
            "ERROR",
            "no answer url=/items",
        ),
    ],
)
def test_an_entry_of_a_json_log_is_read_behind_a_name_and_where_it_is_cut(line, severity, said):
    (row,) = tables_of(f"a heading that nobody knows\n\n{line}\n")["logs"]
    assert (row["severity"], row["text"], row["line_no"]) == (severity, said, 3)


def test_an_entry_of_a_json_log_goes_on_over_lines_that_break_between_members():
    text = (
        'store-2  | {"t":{"$date":"2024-01-02T03:04:05.000+00:00"},"s":"W","msg":"Slow query","attr":{"ns":"shop.orders",\n'
        '"command":{"find":"orders","filter":{"note":"a { in it"}},\n'
        '"planSummary":"COLLSCAN","nreturned":2,"durationMillis":4100}}\n'
        "and a line of somebody\n"
    )
    (row,) = tables_of(text)["logs"]
    assert (row["line_no"], row["severity"]) == (1, "WARN")
    assert row["text"] == "Slow query ns=shop.orders planSummary=COLLSCAN nreturned=2 durationMillis=4100"


@pytest.mark.parametrize("rest", ["", "\n", "a line of somebody\n", '{"msg":"another"}\n'])
def test_an_entry_of_a_json_log_that_was_cut_takes_no_other_lines(rest):
    text = '{"level":"warn","msg":"slow write","took":"2.5s",\n' + rest
    rows = tables_of(text)["logs"]
    assert (rows[0]["line_no"], rows[0]["text"]) == (1, "slow write took=2.5s")
    assert len(rows) == 1 + ("another" in rest)


def test_a_json_object_without_a_message_is_no_entry_of_a_log():
    assert "logs" not in tables_of('web-1 | {"port": 81, "name": "x"}\n\nsize = 7\n')


@pytest.mark.parametrize(
    "line",
    [
        "[Mo Sep 05 04:05:06 2022] sdc: late",
        "[sam. févr. 04 04:05:06 2023] sdc: late",
        "[2/3/24 4:05:06:789 CET] 0000004f Pool E sdc: late",
        "[ W 2024-02-03 04:05:06.7 9/T3 pool.cpp:7 ]: sdc: late",
        "https 2024-02-03T04:05:06.700000Z app/till/1 192.0.2.1:4000 192.0.2.9:80 0.000 9.001 -1 504 - 1 2 sdc: late",
    ],
)
def test_stamps_in_other_languages_and_behind_a_word_are_read(line):
    rows = tables_of(f"{line}\n{line}\n")["logs"]
    assert [str(row["text"]).endswith("sdc: late") for row in rows] == [True, True]
    assert all(row["t_local"] is not None for row in rows)


def test_requests_of_cloudfront_have_their_seconds():
    fields = "date time x-edge-location cs-method cs-uri-stem sc-status x-edge-result-type time-taken"
    rows = (
        "2024-02-03\t04:05:06\tAMS1-C1\tGET\t/till\t504\tError\t29.5",
        "2024-02-03\t04:05:07\tAMS1-C1\tGET\t/a\t200\tHit\t0.01",
    )
    made = tables_of("\n".join((f"#Fields: {fields}", *rows)))["logs"]
    assert [(row["op"], row["elapsed_s"], row["ok"]) for row in made] == [
        ("GET /till", 29.5, False),
        ("GET /a", 0.01, True),
    ]


def test_metrics_of_prometheus_are_counters_with_their_labels():
    text = (
        '# TYPE till_wait gauge\ntill_wait{shop="a",till="7",} 3.0\ntill_sales_total{shop="a"} 4.5e+3 1706933106000\n'
    )
    rows = tables_of(text)["counters"]
    assert [(row["grp"], row["item"], row["name"], row["value"], row["mode"]) for row in rows] == [
        ("metrics", 'shop="a",till="7"', "till_wait", 3.0, "level"),
        ("metrics since the start", 'shop="a"', "till_sales_total", 4500.0, "total"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Time          EntryType   Source        InstanceID Message\n"
            "----          ---------   ------        ---------- -------\n"
            "May 02 09:31  Warning     example9             129 Reset to device, \\Device\\RaidPort7, was issued.\n",
            "Reset to device",
        ),
        (
            "EID:Slt DID State DG       Size Intf\n252:6     9 Rbld   0  7.276 TB SATA\n252:7    10 Onln   0  7.276 TB SATA\n",
            "252:6: Rbld",
        ),
        (
            "Image Name       PID Status         \n============ ======= ===============\neditor.exe      7031 Not Responding \n",
            "editor.exe: Not Responding",
        ),
        (
            "(da7:mps1:0:9:0): CAM status: Command timeout\n(da7:mps1:0:9:0): Retrying command, 3 more tries remain\n",
            "CAM status",
        ),
        (
            "7A1B2C3D     900 Tue Apr 01 08:00:00  till@example.org\n"
            "(Host or domain name not found. Name service error for name=example.org type=MX: Host not found, try again)\n",
            "Name service error",
        ),
    ],
)
def test_states_and_reasons_of_listings_are_complaints(text: str, said: str) -> None:
    texts = read_bytes(text.encode()).table("logs")["text"].to_list()
    assert any(said in str(one) for one in texts), texts
