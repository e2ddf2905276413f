"""Tests of the truss of Solaris: grammar, clocks, damage, block borders."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.formats.tracing.truss import solaris as truss
from parsers.formats.tracing.truss.patterns import NO_VALUE
from parsers.text.source import Head, Hints, Limits
from tests.draw import examples
from tests.parsers.formats.evidence import read_bytes, read_path

CORPUS = Path(__file__).parents[3] / "corpus" / "truss"
TRUSS = Hints(kind="truss", variant="solaris")
PROSE = "\nLet us now look at what the child is doing there:\n\n"


def sample(name: str) -> str:
    return (CORPUS / f"{name}.txt").read_text(encoding="utf-8")


def read(text: str, **limits):
    reading = read_bytes(text.encode(), TRUSS, Limits(**limits) if limits else None)
    assert reading.error is None
    assert reading.account.account.lines == len(text.splitlines())
    return reading


def calls(text: str, **limits) -> list[dict]:
    return read(text, **limits).table("syscalls").to_dicts()


def domains(reading) -> list:
    return reading.account.parts[0].domains


def notes(reading) -> list[tuple]:
    return reading.tables["notes"].select("line_no", "line_end", "kind").rows() if "notes" in reading.tables else []


# Clocks: seed 001 (fork events and shmat of one trace, in two excerpts) and seed 000 (three greps of one file, a trace before, one after)


@pytest.mark.parametrize("between", ["", "\n", "[...]\n", PROSE], ids=["adjacent", "blank", "gap mark", "prose"])
def test_two_excerpts_of_seed_001_are_one_domain(between):
    first = len((sample("dbakevin-fork-events") + between).splitlines())
    reading = read(sample("dbakevin-fork-events") + between + sample("dbakevin-shmat-dism"))
    rows = reading.table("syscalls")
    shmat = [n + first for n in range(1, 19) if n not in (2, 16)]
    assert rows["line_no"].to_list() == [1, 2, 3, 4, *shmat, 5, 6]
    assert rows["seq"].is_sorted()
    (domain,) = domains(reading)
    assert domain.lines == [(1, 6), (first + 1, first + 18)] or (first == 6 and domain.lines == [(1, 6), (7, 24)])
    assert (domain.kind, domain.t_begin, domain.t_end) == ("trace-relative", 8.6926, 12.0252)
    by_line = {row["line_no"]: row for row in rows.to_dicts()}
    attach, stall, write = by_line[first + 1], by_line[first + 17], by_line[5]
    assert (attach["gap_s"], attach["contiguous"], attach["prev_line"]) == (0.5958, "broken", 4)
    assert (stall["gap_s"], stall["dur_hi_s"], stall["contiguous"]) == (2.4734, 2.4734, "assumed")
    assert (stall["arg_addr"], stall["prev_line"], stall["prev_name"]) == (0x3C0000000, first + 1, "shmat")
    assert (write["contiguous"], write["prev_line"]) == ("broken", first + 18)
    # Line 6 of the listener: its LWP is seen asleep in the other excerpt, so the two lines of the first are not neighbours.
    assert by_line[6]["contiguous"] == "broken"


def test_seed_000_has_three_greps_in_one_domain_and_before_and_after_apart():
    names = [
        "milek-listener-accept-4s",
        "milek-listener-conn-before",
        "milek-child-8195",
        "milek-child-8197-cladm-annotated",
        "milek-listener-conn-after",
    ]
    text, at = "", []
    for name in names:
        at.append(len(text.splitlines()) + 1)
        text += sample(name) + PROSE
    reading = read(text)
    found = [[(first, last) for first, last in d.lines] for d in domains(reading)]
    owner = [[i for i, lines in enumerate(found) if any(a <= start + 1 <= b for a, b in lines)] for start in at]
    assert owner == [[0], [1], [1], [1], [2]]
    rows = reading.table("syscalls")
    paired = rows.filter(pl.col("contiguous") == "proven")
    assert len(paired) == 151
    assert (paired["gap_s"] - paired["delta_s"]).abs().max() < 0.00005
    assert rows.filter(pl.col("gap_s").is_not_null() & (pl.col("contiguous") == "assumed")).is_empty()


def test_without_a_tie_a_fall_begins_a_new_domain():
    text = "7: 5.0000 close(3) = 0\n7: 6.0000 close(3) = 0\n\n7: 1.0000 close(3) = 0\n7: 1.5000 close(4) = 0\n"
    reading = read(text)
    assert [d.lines for d in domains(reading)] == [[(1, 2)], [(4, 5)]]
    assert reading.table("syscalls")["gap_s"].to_list() == [None, 1.0, None, 0.5]


def test_a_pipe_token_ties_two_excerpts():
    reader = '9: 3.0000 close(1) = 0\n9: 4.0003 read(16, " N T P 0   8 1 9 7\\n", 64) = 10\n'
    text = reader + '\n8197: 2.0000 close(1) = 0\n8197: 4.0000 write(17, " N T P 0   8 1 9 7\\n", 10) = 10\n'
    assert [d.lines for d in domains(read(text))] == [[(1, 2), (4, 5)]]
    assert len(domains(read(text.replace("4.0000 write", "3.5000 write")))) == 2


def test_a_child_that_lived_before_its_birth_is_another_trace():
    tie = "1: 5.0000 fork1() = 2\n1: 6.0000 close(3) = 0\n\n2: 5.5000 close(3) = 0\n"
    assert len(domains(read(tie))) == 1
    assert len(domains(read(tie.replace("5.5000", "4.5000")))) == 2


def test_the_same_excerpt_twice_is_not_one_trace():
    part = "1: 5.0000 fork1() = 2\n2: 5.1000 close(3) = 0\n1: 6.0000 close(3) = 0\n"
    assert len(domains(read(part + "\n" + part))) == 2


def test_traces_of_different_bases_stay_apart_and_know_their_time():
    base = "Base time stamp:  1310009834.7781  [ Wed Jul  6 22:37:14 CDT 2011 ]\n"
    text = base + "/1:\t 0.1000\tclose(3)\t= 0\n/1:\t 0.2000\tclose(4)\t= 0\n"
    reading = read(text)
    (domain,) = domains(reading)
    assert (domain.kind, domain.base) == ("wall-utc", "2011-07-07T03:37:14.778100+00:00")
    row = reading.table("syscalls").row(1, named=True)
    assert (row["gap_s"], row["contiguous"]) == (0.1, "proven")
    later = text.replace("1310009834", "1310009999").replace("0.1000", "0.3000").replace("0.2000", "0.4000")
    assert len(domains(read(text + later))) == 2
    assert len(domains(read(text + text.replace("0.1000", "0.0500").replace("0.2000", "0.0600")))) == 1


@pytest.mark.parametrize(
    ("between", "contiguous"),
    [("", "proven"), ("\n", "assumed"), ("[...]\n", "broken"), ("program output\n", "assumed")],
    ids=["nothing", "blank", "gap mark", "output"],
)
def test_what_stands_between_two_lines_of_a_raw_file(between, contiguous):
    base = "Base time stamp:  1310009834.7781  [ Wed Jul  6 22:37:14 CDT 2011 ]\n"
    row = calls(base + "/1:\t 0.1000\tclose(3)\t= 0\n" + between + "/1:\t 0.2000\tclose(4)\t= 0\n")[1]
    assert (row["gap_s"], row["contiguous"]) == (0.1, contiguous)


def test_a_delta_that_contradicts_the_gap_bounds_the_call_and_breaks_the_interval():
    rows = calls(
        "1: 1.0000 1.0000 0.0000 close(3) = 0\n1: 3.0000 0.0100 0.0000 close(4) = 0\n1: 3.5000 0.5000 0.0000 close(4) = 0\n"
    )
    assert [(r["gap_s"], r["dur_hi_s"], r["contiguous"]) for r in rows] == [
        (None, None, None),
        (2.0, 0.01, "broken"),
        (0.5, 0.5, "proven"),
    ]
    assert [r["dur_kind"] for r in rows] == ["none", "gap", "gap"]


def test_a_gap_mark_breaks_every_lwp_of_a_paste():
    rows = calls(
        "1/1: 1.0000 close(3) = 0\n1/2: 1.1000 close(3) = 0\n[...]\n1/1: 2.0000 close(3) = 0\n1/2: 2.1000 close(3) = 0\n1/2: 2.2000 close(3) = 0\n"
    )
    assert [r["contiguous"] for r in rows] == [None, None, "broken", "broken", "assumed"]


# Stamps


def stamped(columns: list[list[float]], prefix: str = "1: ") -> str:
    return "".join(prefix + " ".join(f"{v:.4f}" for v in row) + " close(3) = 0\n" for row in columns)


@pytest.mark.parametrize(
    ("columns", "opts", "first"),
    [
        ([[1.5], [1.6], [1.9]], {"-d"}, (1.5, None, None)),
        ([[0.001 * k] for k in range(1, 12)], {"-d"}, (0.001, None, None)),
        ([[0.3], [0.001], [0.2], [0.0001]], {"-D"}, (0.3, 0.3, None)),
        ([[1.5, 1.5], [1.6, 0.1], [1.9, 0.3]], {"-d", "-D"}, (1.5, 1.5, None)),
        ([[1.5, 0.01], [1.6, 0.02], [1.9, 0.001]], {"-d", "-E"}, (1.5, None, 0.01)),
        ([[0.5, 0.01], [0.1, 0.02], [0.4, 0.001], [0.2, 0.0]], {"-D", "-E"}, (0.5, 0.5, 0.01)),
        ([[1.5, 0.5, 0.01]], {"-d", "-D", "-E"}, (1.5, 0.5, 0.01)),
    ],
)
def test_the_meaning_of_stamps_is_guessed(columns, opts, first):
    reading = read(stamped(columns))
    assert opts <= set(reading.account.parts[0].facts["tool_opts"]) <= opts | {"-f"}
    row = reading.table("syscalls").row(0, named=True)
    assert (row["t_local"], row["delta_s"], row["cpu_s"]) == first


def test_deltas_alone_are_summed_up_per_lwp():
    text = "1/1: 0.5000 close(3) = 0\n1/2: 0.1000 close(3) = 0\n1/1: 0.2500 close(3) = 0\n1/2: 0.0500 close(3) = 0\n"
    assert [(r["t_local"], r["gap_s"]) for r in calls(text)] == [(0.5, None), (0.1, None), (0.75, 0.25), (0.15, 0.05)]


def test_prefix_and_command_line_give_the_options():
    text = "# truss -o /tmp/milek1 -d -f -v all -p 15697\n15697: 3.9228 close(3) = 0\n"
    assert read(text).account.parts[0].facts["tool_opts"] == ["-o", "-d", "-f", "-v", "-p"]


# Records


def test_sleepers_are_joined_to_the_line_that_completes_them():
    reading = read(sample("solaris-pollsys-lwp-sleep-pairs"))
    sleepers, done = reading.table("open_calls"), reading.table("syscalls")
    for row in sleepers.to_dicts():
        if row["done_line"] is not None:
            match = done.filter(pl.col("line_no") == row["done_line"]).row(0, named=True)
            assert (match["name"], match["lwp"], match["args"]) == (row["name"], row["lwp"], row["args"])
    port = read(sample("solaris-port-getn-second-value"))
    assert port.table("open_calls").select("line_no", "done_line").rows() == [(1, 2), (3, None)]


def test_a_sleeper_is_not_completed_by_another_call():
    text = "1: poll(0x1000, 1, 5) (sleeping...)\n1: close(3) = 0\n1: vfork() (waiting for child to exit()/exec()...)\n1: vfork() = 7\n"
    assert read(text).table("open_calls").select("name", "done_line").rows() == [("poll", None), ("vfork", 4)]


@pytest.mark.parametrize(
    ("body", "facts"),
    [
        ("pipe() = 14 [15]", {"fd": 14, "fd2": 15, "ret": 14, "ret2": 15, "ret_text": "14 [15]"}),
        ("open64(\"/x\", O_RDONLY) Err#13 EACCES [file_dac_read]", {"err": "EACCES", "ret": None, "ret_text": "Err#13 EACCES [file_dac_read]"}),
        ("open64(\"/x\", O_RDONLY) Err#2 ENOENT [ALL]", {"err": "ENOENT", "path": "/x"}),
        ("umask(0) = 022", {"ret": 18, "ret_text": "022"}),
        ("sigtimedwait(0x08047C60, 0x00000000, 0x00000000) = SIGHUP", {"ret": None, "ret_text": "SIGHUP"}),
        ("schedctl() = 0xFFFFFFFF7F78A000", {"ret": None, "ret_text": "0xFFFFFFFF7F78A000", "args": ""}),
        ("_lgrpsys(1, 0, ) = 5", {"args": "1, 0, ", "ret": 5}),
        ("fork1() (returning as child ...) = 21", {"state": "child_start", "ret": 21, "child_pid": None, "gap_s": None}),
        ("forkx(0) = 22", {"state": "done", "child_pid": 22}),
        ("lwp_create(0x1000, 0, 0) (returning as new lwp ...) = 0", {"state": "child_start"}),
        ("_exit(0)", {"state": "no_return", "ret_text": None}),
        ("lwp_exit()", {"state": "no_return", "args": ""}),
        ("setcontext(0xFFBFF298)", {"state": "no_return"}),
        ('execve("/bin/ls", 0x08047C60, 0x08047C6C)  argc = 2', {"path": "/bin/ls", "ret": None, "ret_text": "argc = 2"}),
        ("write(1, \" )   =   3\", 5) = 5", {"data": ") = 3", "bytes": 5}),
        ("ioctl(11, (('v'<<16)|('p'<<8)|1), 0xFFFFFC7FE89FE708)\t= 0", {"fd": 11, "args": "11, (('v'<<16)|('p'<<8)|1), 0xFFFFFC7FE89FE708"}),
        ("kaio(AIOWAIT, 0xFFFFFFFF7FFFD620) = 4418032576", {"ret": 4418032576}),
    ],
)  # fmt: skip
def test_results_and_arguments(body, facts):
    row = calls(f"7/3:\t{body}\n7/3:\tclose(1)\t= 0\n")[0]
    assert {key: row[key] for key in facts} == facts
    assert (row["pid"], row["lwp"], row["traced_f"]) == (7, 3, True)


def test_details_extend_their_call():
    rows = {r["name"]: r for r in calls(sample("milek-listener-conn-before"))}
    assert (rows["accept"]["line_no"], rows["accept"]["line_end"]) == (8, 9)
    assert (rows["accept"]["peer_ip"], rows["accept"]["peer_port"]) == ("10.44.29.32", 41612)
    assert (rows["sigaction"]["line_no"], rows["sigaction"]["line_end"]) == (19, 21)
    assert rows["waitid"]["arg_id"] == 8195
    assert rows["pollsys"]["fd"] == 12
    assert (
        rows["pollsys"]["data"] == "fd=9 ev=POLLIN|POLLRDNORM rev=0; fd=12 ev=POLLIN|POLLRDNORM rev=POLLIN|POLLRDNORM"
    )


def test_a_peer_is_inherited_by_its_descriptor_until_it_is_closed():
    rows = calls(sample("milek-listener-conn-before"))
    with_13 = [r for r in rows if r["fd"] == 13 and r["line_no"] > 9]
    assert {(r["peer_ip"], r["peer_port"]) for r in with_13} == {("10.44.29.32", 41612)}
    # getsockname prints the local address of the listening socket, which is no peer.
    assert {r["peer_ip"] for r in rows if r["fd"] not in (13, 12)} == {None}
    assert next(r for r in rows if r["name"] == "getsockname")["peer_ip"] is None
    text = (
        "1: connect(5, 0x1000, 16, SOV_DEFAULT) = 0\n1: AF_INET name = 10.0.0.1 port = 1521\n1: write(5, \" a\", 1) = 1\n"
        "1: fork1() = 2\n2: read(5, \" a\", 1) = 1\n1: close(5) = 0\n1: open(\"/x\", O_RDONLY) = 5\n1: read(5, \" a\", 1) = 1\n2: read(5, \" a\", 1) = 1\n"
    )  # fmt: skip
    ports = [(r["pid"], r["name"], r["peer_port"]) for r in calls(text)]
    assert ports == [(1, "connect", 1521), (1, "write", 1521), (1, "fork1", None), (2, "read", 1521), (1, "close", 1521),
                     (1, "open", None), (1, "read", None), (2, "read", 1521)]  # fmt: skip


def test_semaphores_and_buffers_in_detail_lines():
    text = '1:\tsemop(5, 0xFFBF, 1)\t= 0\n1:\t    semnum=118 semop=-1 semflg=0\n1:\twrite(1, " h i", 2)\t= 2\n1:\t   h i\n1:\tclose(1)\t= 0\n'
    reading = read(text)
    rows = reading.table("syscalls").to_dicts()
    assert (rows[0]["sem_num"], rows[0]["line_end"], rows[1]["line_end"]) == (118, 2, 4)
    assert reading.account.account.read == 5


def test_a_detail_without_its_call_is_unknown():
    reading = read(
        "1: close(3) = 0\n\n1: AF_INET name = 10.0.0.1 port = 1521\n2: close(3) = 0\n1: siginfo: SIGCLD CLD_EXITED pid=5 status=0x0000\n"
    )
    assert (reading.account.account.unknown, reading.account.account.read) == (2, 2)


def test_signals_faults_and_stops():
    text = (
        sample("solaris-apache-segv")
        + "2146:\t    Stopped by signal #24, SIGTSTP, in read()\n2146:\t    Continued with signal #25, SIGCONT\n"
    )
    rows = (
        read(text).table("signals").select("event", "signal", "action", "in_call", "code", "addr", "sender_pid").rows()
    )
    assert rows == [
        ("fault", "SIGSEGV", None, None, "FLTBOUNDS", 0x54, None),
        ("received", "SIGSEGV", "caught", None, "SEGV_MAPERR", 0x54, None),
        ("received", "SIGSEGV", "default", None, None, None, 2146),
        ("stopped", "SIGTSTP", None, "read", None, None, None),
        ("continued", "SIGCONT", None, None, None, None, None),
    ]


def test_a_stamped_signal_is_an_event_of_its_lwp():
    text = "1: 1.0000 1.0000 close(3) = 0\n1: 2.0000 1.0000     Received signal #18, SIGCLD, in waitid() [caught]\n"
    text += "1: siginfo: SIGCLD CLD_EXITED pid=8195 status=0x0100\n1: 2.5000 0.5000 close(4) = 0\n"
    reading = read(text)
    assert reading.table("signals").select("t_local", "in_call", "sender_pid", "status", "line_end").row(0) == (
        2.0,
        "waitid",
        8195,
        256,
        3,
    )
    row = reading.table("syscalls").row(1, named=True)
    assert (row["gap_s"], row["prev_name"], row["prev_line"], row["contiguous"]) == (0.5, "SIGCLD", 2, "proven")


def test_library_calls_nest_by_indent_or_by_a_stack():
    lines = [
        "-> libc:malloc(0x10)",
        "  -> libc:_smalloc(0x10)",
        "  <- libc:_smalloc() = 0x8064c08",
        "<- libc:malloc() = 0x8064c08",
    ]
    expected = [(0, "malloc", "entry"), (1, "_smalloc", "entry"), (1, "_smalloc", "exit"), (0, "malloc", "exit")]
    tabbed = "".join(f"/1@1:\t{line}\n" for line in lines)
    pasted = "".join(f"/1@1: {line.strip()}\n" for line in lines)
    for text in (tabbed, pasted):
        rows = read(text + "/1: close(3) = 0\n").table("libcalls")
        assert rows.select("depth", "func", "event").rows() == expected
        assert (rows["lib"][0], rows["args"][0], rows["ret_text"][3]) == ("libc", "0x10", "0x8064c08")
    # A tail call has no return line: popping continues until the name matches.
    missing = read("/1@1: -> a:f()\n/1@1: -> a:g()\n/1@1: <- a:f() = 0\n/1@1: -> a:h()\n").table("libcalls")
    assert missing["depth"].to_list() == [0, 1, 0, 0]


def test_the_tools_own_notes_are_logs():
    text = "1:\t*** SUID: ruid/euid/suid = 1 / 0 / 0  ***\n1:\tclose(3)\t= 0\n*** process killed ***\n"
    text += "(Warning: no matching active LWPs found, waiting)\npsargs: oracle\n"
    rows = read(text).table("logs").select("source", "pid", "text").rows()
    assert [r[0] for r in rows] == ["tool"] * 4
    assert rows[0] == ("tool", 1, "*** SUID: ruid/euid/suid = 1 / 0 / 0  ***")


def test_summary_tables_of_all_sections():
    text = (
        "faults -------------\nFLTPAGE 12\nFLTBOUNDS 1\ntotal: 13\n\nsignals ------------\nSIGCLD 2\ntotal: 2\n\n"
        "syscall               seconds   calls  errors\nread                     .010       7\nopen                     .030      12      3\n"
        "           --------  ------   ----\nsys totals:              .040      19      3\nusr time:                .030\nelapsed:                 .280\n"
    )
    rows = read(text).table("syscall_totals")
    assert rows.select("section", "name", "n", "errors", "total_s", "total_kind", "complete").rows() == [
        ("fault", "FLTPAGE", 12, None, None, "unknown", True),
        ("fault", "FLTBOUNDS", 1, None, None, "unknown", True),
        ("signal", "SIGCLD", 2, None, None, "unknown", True),
        ("call", "read", 7, 0, 0.01, "cpu", True),
        ("call", "open", 12, 3, 0.03, "cpu", True),
    ]
    lost = read(text.replace("read                     .010       7\n", "")).table("syscall_totals")
    assert lost.filter(pl.col("section") == "call")["complete"].to_list() == [False]
    cut = read(text[: text.index("sys totals")]).table("syscall_totals")
    assert len(cut) == 5


# Damage


WHOLE = sample("dbakevin-shmat-dism")


def same_rows(text: str, other: str = WHOLE) -> None:
    drop = ["line_no", "line_end", "prev_line", "seq"]
    assert read(text).table("syscalls").drop(drop).equals(read(other).table("syscalls").drop(drop))


def test_flattened_onto_one_line():
    same_rows(" ".join(line.strip() for line in WHOLE.splitlines()) + "\n")
    flat = 'open(".", O_RDONLY) = 3 close(3) Err#9 EBADF poll(0x1000, 1, 5) (sleeping...) _lgrpsys(1, 0, ) = 5\n'
    assert [r["name"] for r in calls(flat)] == ["open", "close", "_lgrpsys"]


def test_exploded_into_columns():
    text = "".join("\n".join(line.split(None, 4)) + "\n" for line in sample("milek-child-8195").splitlines())
    assert text.startswith("8195:\n1.5798\n1.5798\n0.0000\nfork1()")
    same_rows(text, sample("milek-child-8195"))


@pytest.mark.parametrize("leader", ["> ", ">> ", "# ", "// ", "* ", "    ", "Nov 21 02:03:04 db1 logger: "])
def test_leaders_are_taken_off(leader):
    same_rows("".join(leader + line + "\n" for line in WHOLE.splitlines()))


def test_html_is_decoded_once():
    html = (
        "<pre>\n"
        + WHOLE.replace("&", "&amp;").replace('"', "&quot;").replace(" = ", "&nbsp;= ").replace(" \n", "<br />\n")
        + "</pre>\n"
    )
    # A page is read by its transcript, in which the lines of the tags are blank.
    reading = read_bytes(html.encode())
    assert reading.error is None
    assert (
        reading.table("syscalls")
        .drop("line_no", "line_end", "prev_line", "part")
        .equals(read(WHOLE).table("syscalls").drop("line_no", "line_end", "prev_line", "part"))
    )


def test_quoted_printable_is_decoded():
    lines = []
    for line in WHOLE.splitlines():
        line = line.rstrip().replace("=", "=3D")
        lines += [line[:40] + "=", line[40:]] if len(line) > 40 and "=" not in line[36:44] else [line]
    same_rows("\n".join(lines) + "\n")


def test_wrapped_results():
    text = '1: pipe() = 14\n[15]\n1: close(9) Err#9\nEBADF\n1: open("/x",\nO_RDONLY) =\n3\n1: fd=3 ev=POLLIN\nrev=0\n'
    rows = calls(text)
    assert [(r["name"], r["ret_text"], r["line_no"], r["line_end"]) for r in rows] == [
        ("pipe", "14 [15]", 1, 2), ("close", "Err#9 EBADF", 3, 4), ("open", "3", 5, 9),
    ]  # fmt: skip


def test_a_second_prefix_in_the_middle_splits_the_line():
    text = '2650:\twrite(1, " h i", 2)\t= 2\nhello world 2655:\texecve("/bin/ls", 0x08047C60, 0x08047C6C)  argc = 1\n2650:\tclose(1)\t= 0\n'
    rows = calls(text)
    assert [(r["pid"], r["name"]) for r in rows] == [(2650, "write"), (2655, "execve"), (2650, "close")]


def test_a_lost_name_stays_null():
    rows = calls('18.4630 close(10) = 0\n18.4807 (17, " a b", 4096) = 4096\n18.4900 close(10) = 0\n')
    assert [(r["name"], r["args"], r["ret"]) for r in rows][1] == (None, '17, " a b", 4096', 4096)
    assert rows[2]["prev_line"] == 2
    assert rows[2]["prev_name"] is None


def test_comments_are_remarks_and_prose_is_prose():
    reading = read(sample("milek-child-8197-cladm-annotated"))
    assert [n for n in notes(reading) if n[2] == "remark"] == [(n, n, "remark") for n in (7, 8, 92, 96)]
    account = reading.account.account
    assert (account.read, account.elided, account.blank, account.prose) == (83, 6, 5, 4)


def test_a_call_without_result_in_the_middle_is_damaged():
    reading = read('1: 1.0000 close(3) = 0\n1: 1.1000 write(7, " a b\n1: 1.2000 close(3) = 0\n')
    assert (reading.account.account.damaged, reading.account.account.read) == (1, 2)
    assert [n for n in notes(reading) if n[2] == "damaged"] == [(2, 2, "damaged")]


@pytest.mark.parametrize("at", [40, 55, 63, 70])
def test_a_cut_last_line_is_an_open_call(at):
    text = (
        "22626/2: 10.2679 close(3) = 0\n"
        + "22626/2: 10.2691 setsockopt(14, SOL_SOCKET, SO_LINGER, 0xFFFFFFFF785FBEDC, 8, SOV_DEFAULT) = 0"[:at]
    )
    row = read(text).table("open_calls").row(0, named=True)
    assert (row["line_no"], row["name"], row["state"], row["done_line"]) == (2, "setsockopt", "truncated", None)


# Block borders


def trace(lines: int, seed: int, *, fall: int | None = None) -> str:
    """Return a trace of several processes with details, sleeping calls and signals, as printed by truss -f -l -d -D -E -v."""
    chance = random.Random(seed)
    out = ["Base time stamp:  1310009834.7781  [ Wed Jul  6 22:37:14 CDT 2011 ]"]
    t = 0
    last: dict = {}
    asleep: dict = {}
    kinds = [
        (r'read({fd}, " N T P 0   8 1 9 7\n", 64)', "= 10", []),
        ('open("/usr/lib/lib{fd}.so", O_RDONLY)', "Err#2 ENOENT", []),
        ("ioctl({fd}, (('v'<<16)|('p'<<8)|1), 0xFFFFFC7FE89FE708)", "= 0", []),
        (
            "accept(12, 0xFFFFFFFF7FFF889C, 0xFFFFFFFF7FFF88AC, SOV_DEFAULT)",
            "= {fd}",
            ["    AF_INET  name = 10.44.29.{fd}  port = 41612"],
        ),
        (
            "pollsys(0x10041CDA8, 2, 0x00000000, 0x00000000)",
            "= 1",
            ["    fd=9  ev=POLLIN rev=0", "    fd=12 ev=POLLIN rev=POLLIN"],
        ),
        ("close({fd})", "= 0", []),
        (
            "    Received signal #18, SIGCLD, in waitid() [caught]",
            "",
            ["      siginfo: SIGCLD CLD_EXITED pid=8195 status=0x0000"],
        ),
    ]
    while len(out) < lines:
        who = chance.choice(["1000/1", "1000/2", "1001/1", "1002/1"])
        t += chance.randint(1, 9)
        if fall is not None and len(out) >= fall:
            t, last, fall = 1, {}, None
        before = last.get(who)
        last[who] = t
        fd = chance.randint(13, 20)
        call, result, details = chance.choice(kinds) if who not in asleep else asleep.pop(who)
        stamps = f"{t / 10000:7.4f}\t{(t - before if before is not None else t) / 10000:7.4f}\t 0.0000\t"
        tab = " " if result else ""
        if result and chance.random() < 0.1:
            asleep[who] = (call.format(fd=fd), result, details)
            out.append(f"{who}:\t{asleep[who][0]} (sleeping...)")
            if before is None:
                del last[who]
            else:
                last[who] = before
            continue
        out.append(f"{who}:\t{stamps}{call.format(fd=fd)}{tab}{result.format(fd=fd)}")
        out += [f"{who}:\t{d.format(fd=fd)}" for d in details]
    return "\n".join(out) + "\n"


def tables(reading) -> dict[str, pl.DataFrame]:
    return {
        name: rows.sort("line_no", "seq" if "seq" in rows.columns else "line_no")
        for name, rows in reading.tables.items()
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_blocks_and_batches_give_the_same_tables(seed):
    text = trace(4000, seed)
    whole = read(text)
    assert whole.account.account.read == 4000
    assert {"syscalls", "open_calls", "signals"} <= whole.tables.keys()
    assert whole.table("syscalls").filter(pl.col("gap_s").is_not_null())["contiguous"].unique().to_list() == ["proven"]
    for block, run in ((70_000, 10**9), (7_000, 20_000), (70_000, 70_000), (2_000_000, 100_000)):
        parts = read(text, block_bytes=block, run_bytes=run)
        mine, theirs = tables(parts), tables(whole)
        assert mine.keys() == theirs.keys()
        for name, rows in theirs.items():
            assert mine[name].equals(rows), name
        assert parts.account.account == whole.account.account
        assert [(d.kind, d.base, d.t_begin, d.t_end) for d in domains(parts)] == [
            (d.kind, d.base, d.t_begin, d.t_end) for d in domains(whole)
        ]


def test_a_fall_in_a_large_file_begins_a_domain_wherever_blocks_end():
    text = trace(3000, 3, fall=1500)
    small = read(text, block_bytes=7_000, run_bytes=20_000)
    large = read(text, block_bytes=60_000, run_bytes=100_000)
    assert len(domains(small)) == len(domains(large)) == 2
    assert small.table("syscalls").equals(large.table("syscalls"))
    assert [d.lines for d in domains(small)] == [d.lines for d in domains(large)]
    rows = small.table("syscalls")
    assert rows["gap_s"].min() >= 0


def test_a_fall_may_be_the_first_event_of_a_block():
    lines = [f"1/1:\t{(i % 40 + 1) / 10:7.4f}\t 0.1000\t 0.0000\tread({i}, 0x0, 1)\t= 0\n" for i in range(200)]
    readings = [read("".join(lines), block_bytes=size, run_bytes=3000) for size in (200, 256, 311, 2000)]
    for reading in readings:
        assert [d.lines for d in domains(reading)] == [[(n, n + 39)] for n in range(1, 200, 40)]
        assert reading.table("syscalls").equals(readings[0].table("syscalls"))


def test_large_pieces_of_a_repaired_kind_are_read_without_repair():
    text = trace(1500, 4).replace("close(", "hello 7777:\tclose(", 1)
    whole, parts = read(text), read(text, block_bytes=7_000, run_bytes=20_000)
    assert len(whole.table("syscalls")) == len(parts.table("syscalls"))


# Properties


def of_day(stamp: float) -> str:
    """Format a stamp as a time of day."""
    minutes, seconds = divmod(round(stamp * 10000), 600_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds / 10000:07.4f}"


def rebuilt(row: dict, stamps: int, between: str = "/") -> str:
    """Format a row as truss does, without blanks; `between` separates pid and LWP; without stamps: -A's time of day."""
    front = "".join([str(row["pid"] or ""), f"{between}{row['lwp']}" if row["lwp"] is not None else ""])
    times = [row["t_local"], row["delta_s"], row["cpu_s"]]
    seen = "".join(f"{v:.4f}" for v in times if v is not None) if stamps else of_day(row["t_local"])
    result = row["ret_text"]
    if row["state"] == "child_start":
        result = f"(returning as child ...) = {result}"
    elif result is None and row["name"] in NO_VALUE:
        result = "="
    elif result is not None and not result.startswith(("Err#", "argc")):
        result = f"= {result}"
    return re.sub(r"\s", "", f"{front + ':' if front else ''}{seen}{row['name']}({row['args']}){result or ''}")


def of_system_v(path: Path) -> bool:
    """Decide whether a sample is of Solaris, illumos or AIX; the other systems have another test module."""
    return re.search("solaris truss|illumos|aix", json.loads(path.with_suffix(".json").read_text())["tool"]) is not None


SAMPLES = sorted(p for p in CORPUS.glob("*.txt") if of_system_v(p) and p.stem != "derived-html-page")
"""Samples without the page, which is read by its transcript: its line numbers are not those of the file."""


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_the_tokens_of_a_line_can_be_rebuilt_from_the_columns(path):
    reading = read_path(path)
    repaired = {n for first, last, kind in notes(reading) if kind == "repaired" for n in range(first, last + 1)}
    lines = path.read_text(encoding="utf-8").splitlines()
    if "syscalls" not in reading.tables:
        assert {"syscall_totals", "libcalls"} & reading.tables.keys()
        return
    for row in reading.table("syscalls").to_dicts():
        line = re.sub(r"(?<=[0-9]),(?=[0-9]{4}\s)", ".", re.sub(r"^(?:> ?)+", "", lines[row["line_no"] - 1]))
        if row["line_no"] not in repaired:
            between = ":" if "aix" in path.stem else "/"
            assert rebuilt(row, 0 if "-A" in path.stem else 3, between) == re.sub(r"\s", "", line)


ARGUMENT = st.sampled_from(
    ["3", "0x00000000", '"/a b/c"', '" N T P 0".., 64', "((1<<2)|3)", "O_RDONLY|O_CLOEXEC", "", "SOV_DEFAULT"]
)
RESULT = st.sampled_from(
    ["= 0", "= 0x0000FFFF", "= 14 [15]", "Err#2 ENOENT", "Err#1 EPERM [sys_mount]", "argc = 2", "= -1"]
)


@given(
    pid=st.integers(1, 999999), lwp=st.none() | st.integers(1, 999), t=st.integers(0, 10**9), name=st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True),
    args=st.lists(ARGUMENT, max_size=6), result=RESULT, gap=st.sampled_from([" ", "\t", "    "]),
)  # fmt: skip
@settings(max_examples=examples(60), deadline=None)
def test_any_call_comes_back(pid, lwp, t, name, args, result, gap):
    line = f"{pid}{f'/{lwp}' if lwp else ''}:{gap}{t / 10000:.4f}{gap}{name}({', '.join(args)}){gap}{result}"
    row = {**calls(line + "\n")[0], "delta_s": None}
    assert rebuilt(row, 1).replace("=", "") == re.sub(r"[\s=]", "", line)


@given(st.text(alphabet=st.sampled_from('0123456789 \t\n:/.,()[]="->abcErr#fork_SIG*'), max_size=300))
@settings(max_examples=examples(60), deadline=None)
def test_no_text_crashes_it(text):
    reading = read_bytes(text.encode() + b"x", TRUSS)
    if reading.error is None:
        assert reading.account.account.lines == reading.account.lines


@given(st.integers(1, 2000))
@settings(max_examples=examples(15), deadline=None)
def test_cutting_a_file_changes_only_the_tail(at):
    text = sample("milek-listener-conn-before")
    cut = text[: min(at, len(text) - 1)]
    full = read(text).table("syscalls").drop("line_end")
    reading = read_bytes(cut.encode(), TRUSS)
    if "syscalls" not in reading.tables:
        assert at < 100
        return
    part = reading.table("syscalls").drop("line_end")
    keep = max(0, len(part) - 2)
    stable = [c for c in full.columns if c not in ("fd", "data", "peer_ip", "peer_port")]
    if keep > 2:
        assert part.head(keep).select(stable).equals(full.head(keep).select(stable))


@pytest.mark.parametrize(
    "change", [lambda t: t.replace("\n", "\r\n"), lambda t: t.replace("\n", "  \n")], ids=["CR LF", "trailing blanks"]
)
def test_line_ends_do_not_change_rows(change):
    text = sample("milek-listener-conn-before")
    assert read(change(text)).table("syscalls").equals(read(text).table("syscalls"))


def test_shifting_the_clock_shifts_times_and_no_duration():
    text = WHOLE
    shifted = re.sub(r"(?<=: )\d+\.\d{4}", lambda m: f"{float(m[0]) + 100:.4f}", text)
    one, other = read(text).table("syscalls"), read(shifted).table("syscalls")
    assert ((other["t_local"] - one["t_local"]) - 100).abs().max() < 1e-9
    assert one.drop("t_local").equals(other.drop("t_local"))


# Claims


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_it_claims_its_own(path):
    claim = truss.claim(Head(path.read_text(encoding="utf-8").splitlines()))
    assert claim is not None
    assert claim.strength >= 0.7
    assert claim.reason


@pytest.mark.parametrize(
    "text",
    [
        "22079 openat(AT_FDCWD, \"/etc/hosts\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)\n22079 close(3) = 0\n",
        "semctl(1347842, 397, SETVAL, 0x1) = 0\nsemctl(1347842, 388, SETVAL, 0x1) = 0\n",
        "49212: lstat(\"/a\",{ mode=drwxr-xr-x ,inode=34,size=24 }) = 0 (0x0)\n49212: select(6,{ 5 },{ },{ },{ 0.000000 }) = 1 (0x1)\n",
        "PID/LWP    RELATIVE  ELAPSD    CPU SYSCALL(args) \t\t = return\n3885/1:  41 0 write(0x2, \"\\0\", 0x1)\t\t = 1 0\n",
        "Friday, November 14, 2008\n\nRecently I posted a blog entry on listeners.\n",
        "",
    ],
    ids=["strace", "strace without times", "FreeBSD", "dtruss", "prose", "empty"],
)  # fmt: skip
def test_it_leaves_other_tracers_alone(text):
    claim = truss.claim(Head(text.splitlines()))
    assert claim is None or claim.strength < 0.3


@pytest.mark.parametrize(
    "text",
    [
        '56361298: 63242633: kread(11, " ", 1024) = 1\n56361298: 63242633: kwrite(11, " ", 1) = 1\n',
        'access("/x", 0)                   Err#2  ENOENT\nkwrite(1, " h i", 2) = 2\n',
    ],
    ids=["AIX threads", "AIX"],
)
def test_it_names_the_dialect(text):
    claim = truss.claim(Head(text.splitlines()))
    assert claim is not None
    assert claim.variant == "aix"
    assert claim.strength >= 0.7


def test_aix_threads_times_and_begin():
    text = (
        "Wed Jan 21 15:10:27 2004\n"
        '19398: 5001: 0.0000:        kread(3, " a b", 2)  = 2\n'
        '19398: 5001: 0.0012:        kwrite(1, " a b", 2) Err#9  EBADF\n'
        "19398: 0.0020:        _exit(0)\n"
    )
    reading = read_bytes(text.encode(), Hints(kind="truss", variant="aix"))
    rows = reading.table("syscalls").select("pid", "lwp", "t_local", "name", "err", "data").rows()
    assert rows[:2] == [(19398, 5001, 0.0, "kread", None, "ab"), (19398, 5001, 0.0012, "kwrite", "EBADF", "ab")]
    assert rows[2][:2] == (19398, None)
    assert [(n.line_from, n.kind) for n in reading.account.notes] == [(1, "remark")]


def test_every_corpus_sample_is_a_truss_or_a_relative():
    for path in CORPUS.glob("*.txt"):
        facts = json.loads(path.with_suffix(".json").read_text())
        assert re.search("solaris|illumos|aix|freebsd|dtruss|kdump", facts["tool"])


def test_a_time_of_day_is_a_wall_clock_whose_date_is_asked():
    path = Path(__file__).parents[3] / "corpus" / "truss" / "derived-solaris114-A-cut.txt"
    for content in (path.read_bytes(), path.read_bytes().replace(b"\t\t", b" ").replace(b"\t", b" ")):
        reading = read_bytes(content)
        assert (reading.account.kind, reading.account.parts[0].variant) == ("truss", "solaris")
        calls = reading.table("syscalls")
        first = 10 * 3600 + 15 * 60 + 2.1463
        assert calls["t_local"].to_list() == pytest.approx(
            [first, 36902.1470, 36903.6933, 36903.7001, 36903.7040, 36903.7041]
        )
        assert calls["name"].to_list() == ["read", "fcntl", "pollsys", "access", "fork1", "fork1"]
        assert calls.filter(pl.col("name") == "pollsys")["gap_s"].to_list() == pytest.approx([1.5463])
        assert calls["stamp"].unique().to_list() == ["end"]
        part = reading.account.parts[0]
        assert {domain.kind for domain in part.domains} == {"wall-local"}
        assert "-A" in part.facts["tool_opts"]
        assert "-d" not in part.facts["tool_opts"]
        assert "date" in [question["ask"] for question in part.facts["questions"]]
