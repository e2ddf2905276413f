"""Test the lines above an output, and lines that only look like them."""

from __future__ import annotations

import pytest

from parsers.provenance.prompts import Lead, date_of, interval_of, is_lead, lead_of, prompt_of, tool_of
from parsers.registry import rank
from parsers.text.source import Head, Hints
from tests.parsers.formats.evidence import read_bytes

MAP = "2767: ora_smon_QPROD\nAddress Kbytes RSS Anon Locked Pgsz Mode Mapped File\n0000000380000000 45056 - - - - rwxs- [ dism shmid=0x1 ]\n"


@pytest.mark.parametrize(
    ("line", "host", "command"),
    [
        ("$ vmstat 5", None, "vmstat 5"),
        ("# truss -o /tmp/x -p 1", None, "truss -o /tmp/x -p 1"),
        ("% iostat -xn 5", None, "iostat -xn 5"),
        ("#mpstat 1", None, "mpstat 1"),
        ("[oracle@db1 ~]$ vmstat 5 12", "db1", "vmstat 5 12"),
        ("[root@db1 ~]# ", "db1", ""),
        ("root@db1:/var/tmp# truss -c -p 1", "db1", "truss -c -p 1"),
        ("oracle@db1:~$ sar -u", "db1", "sar -u"),
        ("oracle@db1[ORCL]$ sar -u", "db1", "sar -u"),
        ("<root@db1 /> ps -ef", "db1", "ps -ef"),
        ("db1# prstat -mL 5", "db1", "prstat -mL 5"),
        ("db1:/home/oracle$ ls", "db1", "ls"),
        ("bash-3.2$ iostat 5", None, "iostat 5"),
        ("-bash-4.2# ls", None, "ls"),
        ("/home/oracle> ps -ef", None, "ps -ef"),
        ("SQL> show parameter sga", None, "show parameter sga"),
        ("shop=#  select pid from pg_stat_activity;", None, "select pid from pg_stat_activity;"),
        ("shop=> vacuum verbose orders;", None, "vacuum verbose orders;"),
        ("C:\\Users\\x>tnsping ORCL", None, "tnsping ORCL"),
        ("PS C:\\> ping db1", None, "ping db1"),
        ("10:00:01 root@db1:~# vmstat", "db1", "vmstat"),
        ("$ ./listener_loop.d", None, "./listener_loop.d"),
        ("# /usr/sbin/lockstat -A sleep 5", None, "/usr/sbin/lockstat -A sleep 5"),
        ("# sudo perf top", None, "sudo perf top"),
        ("# ./connect -n 5", None, "./connect -n 5"),
        ("$ pfexec snoop -d net0 -rV", None, "pfexec snoop -d net0 -rV"),
        ("[root ~]# strace -c -p 8803", None, "strace -c -p 8803"),
        ("[oracle@db1:~]$ lsnrctl status", "db1", "lsnrctl status"),
        ("❯ sudo tcpdump -i eth0", None, "sudo tcpdump -i eth0"),
        ("➜  ~ vmstat 1", None, "vmstat 1"),
        ("➜  src git:(main) ✗ perf stat ls", None, "perf stat ls"),
        ("[root@gw1]~# top -nCHS", "gw1", "top -nCHS"),
        ("[root@gw1]/var/log# vmstat -i", "gw1", "vmstat -i"),
        ("mac7:~ anna$ top -l 1", "mac7", "top -l 1"),
        ("mac7:~ root# netstat -a", "mac7", "netstat -a"),
        ("(pts/14)[admin@gw1:~]$ vmstat -P -w 1", "gw1", "vmstat -P -w 1"),
        ("[[email protected] ~]# vmstat -n 3", None, "vmstat -n 3"),
        ("[email\u00a0protected]:/var/log$ sar -u", None, "sar -u"),
    ],
)
def test_prompts(line, host, command):
    found = prompt_of(line)
    assert found is not None
    assert (found.host, found.command) == (host, command)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "# Overhead  Command  Shared Object",
        "% time     seconds  usecs/call     calls    errors syscall",
        "# hosts is what we changed",
        "# ps is the tool to use",
        "# hostname : db1",
        "15697: 1.5463 0.0021 accept(12, 0x1) = 13",
        "PID  PROCESS   USERNAME",
        "<- libc:malloc() = 1",
        "> quoted text",
        "a > b",
        "net.ipv4.tcp_rmem = 4096",
        "#",
        "$1,000 and more",
    ],
)
def test_what_is_no_prompt(line):
    assert prompt_of(line) is None


@pytest.mark.parametrize(
    ("line", "date"),
    [
        ("Wed Jun 10 09:00:01 CEST 2015", "2015-06-10"),
        ("Wed Jun 10 09:00:01 2015", "2015-06-10"),
        ("Wed Jun 10 09:00:01 AM CEST 2015", "2015-06-10"),
        ("Wednesday, June 10, 2015", "2015-06-10"),
        ("10 June 2015", "2015-06-10"),
        ("10-JUN-2015 09:00:01", "2015-06-10"),
        ("2015-06-10", "2015-06-10"),
        ("2015-06-10T09:00:01Z", "2015-06-10"),
        ("mer. 10 juin 2015 09:00:01 CEST", "2015-06-10"),
        ("Mi 10. Jun 2015 09:00:01", "2015-06-10"),
        ("2015년 06월 10일 수요일", "2015-06-10"),
        ("zzz ***Wed Jun 10 09:00:01 CEST 2015", "2015-06-10"),
        ("zzz ***Wed Jun 10 09:00:01 CEST 2015 Sample interval: 5 secondes", None),
        ("Script started on Wed Jun 10 09:00:01 2015", "2015-06-10"),
        ("10 rows 2015", None),
        ("June 2015", None),
        ("Wed Jun 45 09:00:01 2015", None),
        ("09:00:01", None),
    ],
)
def test_dates(line, date):
    assert date_of(line) == date


def test_a_lead_is_what_stands_above():
    lines = [
        "Wed Jun 10 09:00:01 2015",
        "",
        "[root@db1 ~]# truss -o /tmp/x -p 1",
        "# grep ^1 /tmp/x",
        "1: close(1) = 0",
    ]
    assert lead_of(lines) == Lead(4, "db1", "truss -o /tmp/x -p 1", "2015-06-10")
    assert lead_of(lines[4:]) == Lead()
    assert lead_of(lines).tool == "truss"


def test_a_person_outranks_a_prompt():
    filled = Lead(1, "db1", "vmstat 5", "2015-06-10").fill(Hints(host="db2", interval_s=1.0))
    assert (filled.host, filled.command, filled.date, filled.interval_s) == ("db2", "vmstat 5", "2015-06-10", 1.0)
    assert Lead(1, None, "vmstat 5", None).fill(Hints()).interval_s == 5.0


@pytest.mark.parametrize(
    ("command", "tool", "interval"),
    [
        ("vmstat 5 12", "vmstat", 5.0),
        ("vmstat -S M 10", "vmstat", 10.0),
        ("LANG=C sar -u 2 5 | tail", "sar", 2.0),
        ("ssh db1 'vmstat 5'", "vmstat", 5.0),
        ("iostat -xn", "iostat", None),
        ("/usr/bin/mpstat 1", "mpstat", 1.0),
        ("cat vmstat.5", "cat", None),
        ("sudo", None, None),
    ],
)
def test_commands(command, tool, interval):
    assert tool_of(command) == tool
    assert interval_of(command) == interval


def test_a_command_strengthens_a_claim_and_makes_none():
    lines = ["1457:   -bash", "0000000000400000   7012K r-x-- bash", "0000000000600000   12K rw--- bash"]
    plain, told = rank(Head(lines))[0], rank(Head(lines), "pmap -x 1457")[0]
    assert plain.claim.strength < told.claim.strength < 1
    assert "at the prompt" in told.claim.reason
    assert rank(Head(lines), "vmstat 5")[0] == plain
    assert rank(Head(["no output"]), "pmap 1") == rank(Head(["no output"]))


def test_lines_of_a_lead_count_as_read():
    text = f"Wed Jun 10 09:00:01 CEST 2015\n[root@db1 ~]# pmap -xs 2767\n{MAP}[root@db1 ~]# \n"
    account = read_bytes(text.encode()).account
    assert (account.kind, account.account.read, account.account.unknown) == ("pmap", 6, 0)
    assert account.parts[0].facts["command"] == "pmap -xs 2767"
    assert account.parts[0].facts["host"] == "db1"


def test_the_prompt_of_an_unknown_file_gives_no_row():
    account = read_bytes(b"$ ls -l\nnothing that anybody knows\n").account
    assert (account.kind, account.tables) == ("text", {})


def test_marks_of_collectors():
    assert is_lead("zzz ***Wed Jun 10 09:00:01 CEST 2015")
    assert is_lead("Script started, file is typescript")
    assert not is_lead("SNAPSHOT taken")
