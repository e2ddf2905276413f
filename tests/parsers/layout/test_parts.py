"""Test mixed documents: regions are found by the formats' own claims, prose stays prose."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from parsers.layout.line_owners import all_hits, hits, patterns_by_kind, patterns_of
from parsers.layout.parts import PartHint, _Scan, lay_out, plan, seen_of
from parsers.layout.recognition import recognise
from parsers.reading import read
from parsers.text.prose import FENCE, sentences
from parsers.text.source import Hints, Limits, Position, open_text
from tests.parsers.formats.evidence import read_bytes

MAP = """2767: ora_smon_QPROD
Address Kbytes RSS Anon Locked Pgsz Mode Mapped File
0000000380000000 45056 45056 - - 8K rwxs- [ dism shmid=0x100001e ]
0000000382C00000 32768 - - - - rwxs- [ dism shmid=0x100001e ]
0000000384C00000 53248 53248 - - 8K rwxs- [ dism shmid=0x100001e ]"""
TIMES = "\n".join(f"time elapsed : 0,{n}" for n in (31, 33, 94, 30, 36))
VMSTAT = """ kthr      memory            page            disk          faults      cpu
 r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 s3   in   sy   cs us sy id
 0 0 0 1000 2000 0 0 0 0 0 0 0 0 0 0 0 400 500 600 1 2 97
 1 0 0 1000 1990 0 0 0 0 0 0 0 0 0 0 0 410 510 610 1 3 96"""
HELLO = "Hello all, since this morning every login takes about four seconds, and nobody knows why."
LOOK = "Please look at the map of the process below, it seems to use far more memory than usual."
BYE = "That is all we have so far, the next call with the customer is at ten o'clock sharp."
MAIL = f"{HELLO}\n\n{TIMES}\n\n{LOOK}\n\n# pmap -xs 2767\n{MAP}\n\n{BYE}\n\nRegards\nAnna\n"


def parts_of(text: str, **limits: int) -> list[tuple[int, int, str | None]]:
    reading = read_bytes(text.encode(), limits=Limits(**limits))
    return [(p.line_from, p.line_to, p.kind) for p in reading.account.parts]


def places(text: str, *outputs: tuple[str, str]) -> list[tuple[int, int, str]]:
    """Return the first and last line of each output in a text."""
    found, at = [], 0
    for output, kind in outputs:
        at = text.index(output, at)
        first = text.count("\n", 0, at) + 1
        found.append((first, first + output.count("\n"), kind))
        at += len(output)
    return found


def test_a_mail_with_two_outputs():
    expected = places(MAIL, (TIMES, "conntime"), (f"# pmap -xs 2767\n{MAP}", "pmap"))
    assert parts_of(MAIL) == expected
    account = read_bytes(MAIL.encode()).account
    assert account.kind == "mixed"
    assert account.account.unknown == 0
    assert account.account.prose == 5
    assert account.tables == {"conn_times": 5, "pmap": 3}


@pytest.mark.parametrize("run", [400, 5000])
def test_runs_change_nothing(run):
    assert parts_of(MAIL, run_bytes=run, block_bytes=300) == parts_of(MAIL)


def test_two_outputs_of_one_kind_apart_are_two_parts():
    text = f"{HELLO}\n{TIMES}\n{LOOK}\n{TIMES}\n{BYE}\n"
    assert parts_of(text) == places(text, (TIMES, "conntime"), (TIMES, "conntime"))


def test_a_file_of_one_kind_is_one_part():
    assert parts_of(f"{TIMES}\n\n\n{TIMES}\n") == [(1, 12, "conntime")]
    assert parts_of(f"{MAP}\n") == [(1, 5, "pmap")]


def test_words_before_and_behind_one_output_are_prose():
    text = f"{HELLO}\n\n$ pmap 2767\n{MAP}\n\n{BYE}\n"
    assert parts_of(text) == places(text, (f"$ pmap 2767\n{MAP}", "pmap"))
    assert read_bytes(text.encode()).account.account.prose == 2


def test_outputs_that_follow_each_other_at_prompts():
    text = f"db1$ pmap 2767\n{MAP}\ndb1$ vmstat 5\n{VMSTAT}\ndb1$ ./connect.sh\n{TIMES}\n"
    outputs = [(f"db1$ pmap 2767\n{MAP}", "pmap"), (f"db1$ vmstat 5\n{VMSTAT}", "vmstat")]
    assert parts_of(text) == places(text, *outputs, (f"db1$ ./connect.sh\n{TIMES}", "conntime"))


def test_outputs_that_follow_each_other_without_any_words():
    text = f"{MAP}\n\n{VMSTAT}\n"
    assert [(a, kind) for a, _, kind in parts_of(text)] == [(1, "pmap"), (7, "vmstat")]


def test_an_authors_marks_stay_inside():
    lines = TIMES.split("\n")
    output = "\n".join([*lines[:2], "[...]", "", "(snip)", *lines[2:]])
    text = f"{HELLO}\n{output}\n{LOOK}\n{MAP}\n"
    assert parts_of(text) == places(text, (output, "conntime"), (MAP, "pmap"))


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("```", "```"), ("~~~~", "~~~~"), ("{code}", "{code}"), ("{noformat:title=x}", "{noformat}"), ("<pre>", "</pre>")],
)
def test_fences(opening, closing):
    text = f"{HELLO}\n{opening}\n{MAP}\n{closing}\n{LOOK}\n{opening}\n{VMSTAT}\n{closing}\n"
    assert parts_of(text) == places(text, (MAP, "pmap"), (VMSTAT, "vmstat"))


def test_quoted_parts_of_a_mail():
    quoted = "\n".join(f"> {x}" for x in MAP.split("\n"))
    text = f"{HELLO}\n> {LOOK}\n{quoted}\n{BYE}\n{TIMES}\n"
    assert parts_of(text) == places(text, (quoted, "pmap"), (TIMES, "conntime"))


@pytest.mark.parametrize(
    "words",
    [
        ("Seit heute früh dauert jede Anmeldung etwa vier Sekunden, und keiner weiß warum.",
         "Bitte schaut euch die folgende Ausgabe an, sie sieht ganz anders aus als sonst."),
        ("Depuis ce matin chaque connexion prend quatre secondes, et personne ne sait pourquoi.",
         "Voici la sortie de la commande que vous avez demandée hier soir à notre équipe."),
        ("С сегодняшнего утра каждое подключение занимает четыре секунды, и никто не знает почему.",
         "Посмотрите пожалуйста на следующий вывод команды, он выглядит совсем иначе, чем обычно."),
        ("今朝からすべてのログインに約四秒かかっています。原因はまだ分かりません。", "以下の出力を確認してください。いつもと大きく違います。"),
        ("Od rana każde logowanie trwa około czterech sekund, i nikt nie wie dlaczego tak jest.",
         "Proszę spojrzeć na poniższy wynik polecenia, wygląda zupełnie inaczej niż zwykle."),
    ],
    ids=["de", "fr", "ru", "ja", "pl"],
)  # fmt: skip
def test_prose_of_any_language(words):
    text = f"{words[0]}\n{TIMES}\n{words[1]}\n{MAP}\n{words[0]}\n"
    assert parts_of(text) == places(text, (TIMES, "conntime"), (MAP, "pmap"))
    assert read_bytes(text.encode()).account.account.prose == 3


def test_a_page_with_outputs_between_paragraphs():
    body = f"<p>{HELLO}</p>\n<pre>\n{MAP}\n</pre>\n<p>{LOOK}</p>\n<pre>\n{VMSTAT}\n</pre>\n<p>{BYE}</p>"
    text = f"<html><body>\n{body}\n</body></html>\n"
    assert parts_of(text) == places(text, (MAP, "pmap"), (VMSTAT, "vmstat"))


def test_a_chat():
    text = (
        f"[10:01] anna: {HELLO}\n[10:02] ben: can you send the map please, we want to see it now.\n[10:05] anna:\n"
        f"{MAP}\n[10:06] ben: thanks a lot, that is really far too much memory for one process.\n"
    )
    assert [kind for _, _, kind in parts_of(text)] == ["pmap"]
    assert read_bytes(text.encode()).tables["pmap"]["line_no"].to_list() == [6, 7, 8]


def test_code_and_lists_are_no_outputs():
    text = (
        f"{HELLO}\n\n#!/bin/ksh\ncount=0\nwhile [[ $count -lt 9 ]]\ndo\n  ./connect &\n  count=$((count + 1))\ndone\n\n"
        f"{LOOK}\n\n  1. restart the listener\n  2. wait for ten minutes\n\n{BYE}\n"
    )
    assert read_bytes(text.encode()).account.tables == {}


def test_an_output_whose_rows_fit_no_pattern_of_its_kind_is_taken_whole():
    stat = Path(__file__).parents[2].joinpath("corpus/perf/run-stat-xI.txt").read_text().strip()
    text = f"{HELLO}\n\n{VMSTAT}\n\n{LOOK}\n\n{stat}\n\n{BYE}\n"
    assert parts_of(text) == places(text, (VMSTAT, "vmstat"), (stat, "perf"))


def test_an_output_that_nobody_reads_does_not_take_the_others_with_it(monkeypatch):
    """The second output is found, but no format can read it."""

    def forgetful(head, *more, **named):
        found = recognise(head, *more, **named)
        return replace(found, claims=()) if "pmap" in head.text else found

    monkeypatch.setattr("parsers.reading.recognise", forgetful)
    reading = read_bytes(MAIL.encode())
    assert reading.error is None
    assert reading.account.tables == {"conn_times": 5}
    assert reading.account.account.unknown == len(MAP.splitlines())
    assert [n["kind"] for n in reading.tables["notes"].to_dicts() if "plain text" in n["text"]] == ["remark"]


def test_a_persons_borders_come_first():
    known = [PartHint(3, 5, Hints(kind="conntime")), PartHint(6, 7, Hints(kind="prose"))]
    with_gap = plan(known, Hints())
    assert [(p.part, p.line_from, p.line_to) for p in with_gap] == [
        (None, 1, 2),
        (1, 3, 5),
        (None, 6, 7),
        (None, 8, None),
    ]


def test_the_splitter_fills_what_a_person_left(tmp_path):
    path = tmp_path / "mail.txt"
    path.write_text(MAIL)
    account = read(path, Hints(), known=[PartHint(3, 5, Hints(kind="conntime", host="db1"))])
    found = [(p.part, p.line_from, p.line_to, p.kind) for p in account.parts]
    assert found[0] == (1, 3, 5, "conntime")
    assert found[-1] == (len(found), 11, 16, "pmap")
    nothing = read(path, Hints(), known=[PartHint(1, None, Hints(kind="prose"))])
    assert nothing.parts == []
    assert nothing.account.prose == nothing.account.lines - nothing.account.blank


def test_a_killed_reading_goes_on_with_the_same_parts(tmp_path):
    path = tmp_path / "mail.txt"
    path.write_text(MAIL)
    whole = read(path, Hints(), tmp_path / "whole")

    class Stop(Exception):
        pass

    def stop(progress):
        raise Stop

    for _ in range(2):  # during layout, and after the first batch
        with pytest.raises(Stop):
            read(path, Hints(), tmp_path / "r", progress=stop)
    account = read(path, Hints(), tmp_path / "r")
    assert [(p.line_from, p.line_to, p.kind) for p in account.parts] == [
        (p.line_from, p.line_to, p.kind) for p in whole.parts
    ]
    assert account.account == whole.account


def test_a_large_file_is_one_part_until_its_lines_fit_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr("parsers.layout.parts.WINDOW_BYTES", 300_000)
    path = tmp_path / "big.txt"
    path.write_text(("time elapsed : 0,31\n" * 40_000) + (f"{HELLO}\n" * 3000) + f"{MAP}\n" + f"{BYE}\n" * 10)
    account = read(path, Hints(), limits=Limits(run_bytes=200_000, block_bytes=50_000))
    assert [(p.line_from, p.line_to, p.kind) for p in account.parts] == [
        (1, 40_001, "conntime"),  # the single line at the end of the run is too little to decide
        (43_001, 43_005, "pmap"),
    ]
    assert account.tables == {"conn_times": 40_000, "pmap": 3}
    assert (account.account.prose, account.account.unknown) == (3009, 1)
    assert account.account.lines == account.lines == 43_015


def test_a_large_mail_is_laid_out_window_by_window(tmp_path, monkeypatch):
    monkeypatch.setattr("parsers.layout.parts.WINDOW_BYTES", 20_000)
    path = tmp_path / "big.txt"
    path.write_text(f"{HELLO}\n{MAP}\n{LOOK}\n{TIMES}\n{BYE}\n" * 200)
    account = read(path, Hints())
    assert account.tables == {"pmap": 600, "conn_times": 1000}
    assert account.account.prose == 600
    assert len(account.parts) == 400


def test_a_mixed_text_of_some_megabytes_takes_seconds(tmp_path):
    path = tmp_path / "big.txt"
    block = f"{HELLO}\n" + "time elapsed : 0,31\n" * 20_000 + f"{LOOK}\n{MAP}\n{BYE}\n" * 3
    path.write_text(block * 20)
    began = time.process_time()
    with open_text(path) as text:
        plans = lay_out(text, (), Hints())
    # Processor seconds; it took 5 on the author's machine. Wall time may be ten times longer on a busy machine.
    assert time.process_time() - began < 30
    assert sum(1 for p in plans if p.part) == 80


def test_laying_out_says_that_it_goes_on_and_can_be_stopped(tmp_path):
    path = tmp_path / "big.txt"
    path.write_text(f"{HELLO}\n{MAP}\n{BYE}\n" * 50)

    class Stopped(Exception):
        pass

    breaths = 0

    def breath() -> None:
        nonlocal breaths
        breaths += 1
        if breaths == 20:
            raise Stopped

    with open_text(path) as text, pytest.raises(Stopped):
        lay_out(text, (), Hints(), breath)


@pytest.mark.parametrize("kind", [None, "pmap"])
def test_what_fits_a_kind_is_kept_as_bits(tmp_path, kind):
    path = tmp_path / "mail.txt"
    path.write_text(f"{HELLO}\n{MAP}\n> 1: open()\n| a | b |\n{BYE}\n" * 200)
    with open_text(path, Limits(block_bytes=10_000)) as text:
        scan = _Scan(text, Position(1, 0), text.size, kind=kind)
        every = scan.lines(0, scan.count)
        assert len(every) == scan.count
        for name in patterns_by_kind():
            assert (scan.mine(0, scan.count, name) == hits(every, patterns_of(name))).all(), name
        assert scan.kinds(0, scan.count) == {
            name for name in patterns_by_kind() if hits(every, patterns_of(name)).any()
        }
        assert scan.kinds(3, 3) == set()


def test_few_hits_among_many_lines_are_found_all_the_same():
    lines = pl.Series("line", [f"{n * 2654435761 % 2**60:x}" for n in range(5000)])
    lines[4321] = MAP.split("\n")[0]
    one_by_one = pl.DataFrame({name: hits(lines, patterns_of(name)) for name in patterns_by_kind()}).to_numpy()
    assert one_by_one.any()
    assert (all_hits(lines) == one_by_one).all()


@pytest.mark.parametrize(
    "line",
    [
        "CPU minf mjf xcal intr ithr csw icsw migr smtx srw syscl usr sys wt idl",
        "Address Kbytes RSS Anon Locked Pgsz Mode Mapped File",
        "key semid owner perms nsems",
        "# To display the header please use this option.",
        "15697: 1.5463 accept(12, 0x1) = 13",
        "   Elapsed Times for processes ssh,",
        "",
        "Regards",
    ],
)
def test_what_is_no_sentence(line):
    assert sentences(pl.Series([line]))["prose"].to_list() == [False]


def test_every_own_pattern_is_one():
    assert {"pmap", "truss", "conntime", "sqlnet"} <= patterns_by_kind().keys()
    assert all_hits(pl.Series(MAP.split("\n")))[:, list(patterns_by_kind()).index("pmap")].all()
    assert hits(pl.Series(MAP.split("\n")), patterns_of("pmap")).all()


def test_cells_of_a_wiki_are_seen_as_columns():
    assert seen_of(pl.Series(["|| r || b ||", "| 0 | 1 |", "> > x"])).to_list() == ["r  b", "0  1", "x"]


def test_the_mail_on_disk_is_the_mail_in_memory(tmp_path):
    path = Path(tmp_path / "mail.txt")
    path.write_text(MAIL)
    assert [p.kind for p in read(path, Hints(), tmp_path / "r").parts] == ["conntime", "pmap"]


SAMPLES = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    + " 1  0      0 812345  12345 456789    0    0     1     2  100  200  3  1 95  1  0\n"
    * 6
)
PROBE = "".join(f'{{"ts": "2024-03-01T10:00:{i:02}Z", "msg": "probe", "ms": {3 * i}}}\n' for i in range(12))
GREETING = "Hello team, here is what we have from last night:\n\n"
FAREWELL = "\nThat was all there was to see on this host.\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"{GREETING}{PROBE}{FAREWELL}", [("json_lines", 3, 14)]),
        (f"\n\n{PROBE}\n\n", [("json_lines", 1, 16)]),
        (f"{GREETING}{SAMPLES}\n{PROBE}{FAREWELL}", [("vmstat", 3, 10), ("json_lines", 12, 23)]),
        (f"{PROBE}\n{SAMPLES}", [("json_lines", 1, 12), ("vmstat", 14, 21)]),
        (f"{GREETING}{PROBE}\n{SAMPLES}{FAREWELL}", [("json_lines", 3, 14), ("vmstat", 16, 23)]),
        (
            f"{GREETING}{SAMPLES}\n{PROBE}\n{SAMPLES}{FAREWELL}",
            [("vmstat", 3, 10), ("json_lines", 12, 23), ("vmstat", 25, 32)],
        ),
    ],
)
def test_a_weak_claim_keeps_its_lines_between_blank_ones(tmp_path, text: str, parts: list[tuple[str, int, int]]):
    path = tmp_path / "mail.txt"
    path.write_text(text)
    account = read(path, Hints(), tmp_path / "reading")
    assert [(p.kind, p.line_from, p.line_to) for p in account.parts] == parts
    assert sum(p.tables.get("logs", 0) for p in account.parts) == 12
    assert account.account.unknown == 0


def test_a_row_of_tildes_in_a_report_is_no_fence():
    lines = pl.Series([" ~~~ ~~~~~~~~~~~~~~~ ~~~~~~~~~~~~", "~~~~~~~~", "~~~", "~~~~ text", "  ~~~console"])
    assert lines.str.contains(FENCE).to_list() == [False, False, True, True, True]


BANNER = "Linux 5.6.8-300.fc32.x86_64 (atlas)     2020-05-07      _x86_64_        (8 CPU)"
DISKS = f"""{BANNER}

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           0.18    0.01    1.11    0.21    0.00   98.49

Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd
sde              19.23       388.93         0.09         0.00  158440224      35218          0
sdf              19.20       388.94         0.09         0.00  158447574      34894          0"""
ARRAY = """/dev/md0:
           Version : 1.2
     Creation Time : Thu Nov  7 19:30:03 2013
        Raid Level : raid6
        Array Size : 11720301024 (11177.35 GiB 12001.59 GB)

    Active Devices : 8
   Working Devices : 8

    Number   Major   Minor   RaidDevice State
      12       8       64        0      active sync   /dev/sde
      11       8       80        1      active sync   /dev/sdf
      13       8      112        2      active sync   /dev/sdh"""
TOP = """top - 09:08:19 up 4 days, 17:10,  3 users,  load average: 1.00, 1.00, 1.00
Tasks: 243 total,   1 running, 242 sleeping,   0 stopped,   0 zombie
%Cpu(s):  0.2 us,  0.5 sy,  0.0 ni, 98.5 id,  0.1 wa,  0.6 hi,  0.1 si,  0.0 st
MiB Mem :  24034.6 total,  11198.4 free,   1871.8 used,  10964.3 buff/cache
MiB Swap:   7828.5 total,   7828.5 free,      0.0 used.  21767.6 avail Mem

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
  19719 root      20   0    2852   2820   2020 D   5.1   0.0 285:40.07 raid6check
   1123 root      20   0       0      0      0 S   0.3   0.0  25:47.54 md0_raid6"""
DRIVES = "\n".join(f"/dev/sd{x} : ST2000NM0033-9ZM175" for x in "efhijk")
FREE = """             total       used       free     shared    buffers     cached
Mem:          3290       3167        123          0          3       2055
-/+ buffers/cache:       1108       2182
Swap:         5914        510       5404"""
UNAME = "Linux db1 3.2.0-35-generic #55-Ubuntu SMP Wed Dec 5 17:45:18 UTC 2012 i686 i686 i386 GNU/Linux"
COUNTS = """% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 85.90    0.847616          16     50000           ftruncate
 14.01    0.138229           2     50000           pwrite64"""
PACKETS = "\n".join(
    (
        "18:04:34.080702 IP pc1.local.50478 > 192.168.138.150.ssh: Flags [S], seq 4278587504, win 14600, length 0",
        "18:04:34.080851 IP 192.168.138.150.ssh > pc1.local.50478: Flags [S.], seq 2419171515, ack 4278587505, win 5792, length 0",
        "18:04:34.080891 IP pc1.local.50478 > 192.168.138.150.ssh: Flags [.], ack 1, win 115, length 0",
    )
)
SYMBOLS = """Samples: 5M of event 'cycles:P', Event count (approx.): 5804229894135
Overhead  Command          Shared Object         Symbol
  34.50%  bench.random.re  [kernel.kallsyms]     [k] native_queued_spin_lock_slowpath
   4.20%  bench.random.re  [kernel.kallsyms]     [k] rep_movs_alternative
   1.04%  bench.random.re  [kernel.kallsyms]     [k] link_path_walk.part.0.constprop.0"""


def inset(text: str, indent: str) -> str:
    return "\n".join(f"{indent}{line}" if line else line for line in text.split("\n"))


def test_a_banner_and_its_blank_line_go_with_the_command_above():
    """Lines that many tools print stand between a prompt and the header that identifies the tool."""
    memory, disks = f"[root@db1 ~]# vmstat 1\n{SAMPLES.rstrip()}", f"[root@db1 ~]# iostat -x 1\n{DISKS}"
    text = f"{HELLO}\n\n{inset(memory, '    ')}\n    \n**Disks**\n\n{inset(disks, '    ')}\n"
    assert parts_of(text) == places(text, (inset(memory, "    "), "vmstat"), (inset(disks, "    "), "iostat"))


def test_a_short_answer_between_two_prompts_is_a_part_of_its_own():
    shell, memory = f"  anna@db1:~$ uname -a\n  {UNAME}", inset(f"anna@db1:~$ free -m\n{FREE}", "  ")
    text = f"{HELLO}\n{shell}\n{memory}\n{LOOK}\n"
    assert parts_of(text) == places(text, (shell, "hostinfo"), (memory, "meminfo"))


@pytest.mark.parametrize("indent", ["\t", "    ", "\t\t"])
def test_a_listing_that_is_set_in(indent):
    output = inset(f"root@db1:~# tcpdump -i eth1 port 22\n{PACKETS}", indent)
    text = f"{HELLO}\n\n.. code-block:: bash\n\n{output}\n\n*{LOOK}*\n\n{output}\n"
    assert parts_of(text) == places(text, (output, "packets"), (output, "packets"))


def test_a_strange_listing_below_a_sentence_of_its_tool_is_read_too():
    listing = "[ ID] Interval   Transfer  Bitrate\n[  7] 0.00-1.00 sec  0.00 Bytes  0.00 bits/sec\n[  7] 1.00-2.00 sec  3.50 MBytes  29.2 Mbits/sec\n"
    text = f"probe 2.1\n{UNAME}\nStarting the second test of this morning now, it will take ten seconds.\n{listing}"
    assert [(first, last) for first, last, kind in parts_of(text) if kind == "text"] == [(4, 6)]


def test_strange_listings_around_an_output_are_not_its_lines():
    quoted = "\n".join(
        f"> {line}" if line else ">"
        for line in (
            f"The array:\n\n# mdadm --detail /dev/md0\n{ARRAY}\n\n# iostat /dev/sd[ef]\n{DISKS}\n\n\n{TOP}\n...\n\n\n"
            f"Drives in use:\n\n{DRIVES}\n\n\n3 days later:\n\n# iostat /dev/sd[ef]\n{DISKS}"
        ).split("\n")
    )
    text = f"{HELLO}\n\n{quoted}\n\n{BYE}\n"
    lines = [line.removeprefix(">").removeprefix(" ") for line in text.split("\n")]
    plain = "\n".join(lines)
    disks = (f"# iostat /dev/sd[ef]\n{DISKS}", "iostat")
    array = (f"# mdadm --detail /dev/md0\n{ARRAY}\n", "text")
    found = parts_of(text)
    assert [p for p in found if p[2] != "text"] == places(plain, disks, (f"{TOP}\n...", "prstat"), disks)
    assert next(p[:2] for p in found if p[2] == "text") == places(plain, array)[0][:2]


@pytest.mark.parametrize(
    "behind", ["Can it all be used?\n\n---\n\n### Second post", "It is a P3 of 550 MHz with 1 GB ram.\nAnd no more."]
)
def test_what_follows_behind_a_blank_line_is_no_row(behind):
    text = f"# Memory\n\n{HELLO}\n\nanna@db1:~$ free -m\n{FREE}\n\n{behind}\n"
    assert parts_of(text) == places(text, (f"anna@db1:~$ free -m\n{FREE}", "meminfo"))
    assert read_bytes(text.encode()).account.account.unknown == 0


def test_what_stands_above_an_output_in_a_mail_is_not_its_own():
    quoted = "\n".join(f"> > {line}" for line in f"Report of the patched kernel:\n=====\n{SYMBOLS}".split("\n"))
    text = f"On Fri, Oct 18, 2019 at 05:45:26PM -0700, Anna wrote:\n> On 10/18/2019 5:14 PM, Ben wrote:\n> >\n{quoted}\n>\n> {LOOK}\n\n{BYE}\n"
    ((first, last, kind),) = parts_of(text)
    assert (first, last, kind) == (6, 10, "perf")


def test_counts_of_calls_that_are_cut_before_their_total():
    times = "real    0m14.103s\nuser    0m0.015s\nsys     0m0.020s"
    shell = f"$ time ./writer 50000\nwriter, 50000 iters\n\n{times}\n\n$ sudo strace -c ./writer 50000\nwriter, 50000 iters\n{COUNTS}\n...."
    quoted = "\n".join(f"> {x}" if x else ">" for x in f"Before:\n\n{shell}\n\nAfter:\n\n{shell}".split("\n"))
    text = f"{HELLO}\n{quoted}\n>\n> {LOOK}\n"
    reading = read_bytes(text.encode())
    assert [p.kind for p in reading.account.parts] == ["time", "strace"] * 2
    assert reading.tables["syscall_totals"]["n"].to_list() == [50000] * 4


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("{% highlight bash %}", "{% endhighlight %}"),
        ("{{< highlight text >}}", "{{< /highlight >}}"),
        ("{{< output >}}", "{{< /output >}}"),
        ("[code]", "[/code]"),
        ("{{{", "}}}"),
        ("#+BEGIN_EXAMPLE", "#+END_EXAMPLE"),
        ("<pre><code>", "</code></pre>"),
        ('<pre class="raw">', "</pre>"),
    ],
)
def test_fences_of_other_writers(opening, closing):
    text = f"{HELLO}\n{opening}\n{MAP}\n{closing}\n{opening}\n{SAMPLES}{closing}\n"
    assert parts_of(text) == places(text, (MAP, "pmap"), (SAMPLES.rstrip(), "vmstat"))
    assert read_bytes(text.encode()).account.account.unknown == 0


def test_tags_on_the_lines_of_a_listing():
    text = (
        f'{HELLO}\n\n<pre class="x" data-y="shell">perf record THIS</pre>\n\n{LOOK}\n\n'
        f'<pre class="x" data-y="raw">{SYMBOLS}</pre>\n\n{BYE}\n\n<pre><code>{MAP}</code></pre>\n{HELLO}\n'
    )
    found = read_bytes(text.encode())
    assert [(p.kind, p.line_to - p.line_from) for p in found.account.parts] == [("perf", 4), ("pmap", 4)]
    assert found.account.account.unknown == 0
    assert found.tables["profile_symbols"].height == 3
    assert found.tables["pmap"].height == 3


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("[code]", "[/code]"),
        ("[CODE=text]", "[/CODE]"),
        ("{code:none}", "{code}"),
        ("{noformat}", "{noformat}"),
        ("```", "```"),
    ],
)
def test_a_forum_s_a_tracker_s_and_a_chat_s_tags_on_the_lines_of_a_listing(opening, closing):
    one, two = f"{opening}{VMSTAT}{closing}", f"{opening}root@db1:~# pmap -xs 2767\n{MAP}{closing}"
    text = f"{HELLO}\n{one}\n{LOOK}\n\n{two}\n{BYE} See ```free```\n```\n{TIMES}\n```\n"
    assert parts_of(text) == places(text, (one, "vmstat"), (two, "pmap"), (TIMES, "conntime"))
    found = read_bytes(text.encode())
    assert found.account.account.unknown == 0
    assert found.account.tables["pmap"] == 3
    assert found.account.tables["vmstat"] == 2
    assert found.account.parts[1].facts["command"] == "pmap -xs 2767"


def test_a_file_that_begins_with_a_tag_on_its_first_line_keeps_its_other_borders():
    text = f"[code]{VMSTAT}[/code]\n[code]{MAP}[/code]\n[code]{VMSTAT}\n[/code]\n"
    assert [(p[0], p[2]) for p in parts_of(text)] == [(1, "vmstat"), (5, "pmap"), (10, "vmstat")]


@pytest.mark.parametrize("prompt", ["", "# pmap -xs 2767\n"])
def test_what_was_pasted_behind_a_large_capture_is_found_however_many_strange_lines_stand_in_it(prompt):
    text = f"{VMSTAT}\n\nhello there\n" * 1500 + f"\n{prompt}{MAP}\n"
    *_, last = parts_of(text)
    assert last == places(text, (f"{prompt}{MAP}", "pmap"))[0]


def test_comments_on_an_output_are_not_its_lines():
    text = (
        f"{HELLO}\n```\n# Step 1, is it well?\n$ pmap 2767\n{MAP}\n# 45,056 kB and climbing\n\n# Step 2, what does it do?\n"
        f"$ sudo strace -c -p 2767\n{COUNTS}\n# so many calls of ftruncate\n\n# Step 3\n```\n"
    )
    outputs = (f"$ pmap 2767\n{MAP}", "pmap"), (f"$ sudo strace -c -p 2767\n{COUNTS}", "strace")
    found = parts_of(text)
    assert [part[0] for part in found] == [part[0] for part in places(text, *outputs)]
    assert found[1] == places(text, *outputs)[1]


def test_an_output_between_strange_lines_without_a_blank_one():
    strange = "adb shell status\nstatus body: running http=200 ms=27\nTotal RAM: 2,531,944K (status normal)\n Used RAM: 1,658,565K"
    text = f"```\n{strange}\nadb shell free -m\n{FREE}\nadb shell exit\n```\n\n{HELLO}\n"
    (found,) = parts_of(text)
    assert found[2] == "meminfo"
    ((first, last, _),) = places(text, (FREE, "meminfo"))
    assert found[0] == first
    assert last <= found[1] <= last + 1


def test_a_time_out_is_no_measured_time():
    text = f"{HELLO}\n```css\n# unit:ms\npool.checkoutTimeout=5000\n```\n{LOOK}\n```\n$ openssl s_client -connect host:995\n```\n"
    assert read_bytes(text.encode()).account.tables == {"params": 1}


ALERT = """Sat Dec 22 19:05:05 2012
Errors in file /u01/diag/rdbms/prod/PROD/trace/PROD_pr00_8089.trc:
ORA-00448: normal completion of background process
Managed Standby Recovery not using Real Time Apply
Recovery interrupted!
Sat Dec 22 19:05:07 2012
Sweep [inc][626085]: completed
Recovered data files to a consistent state at change 9887019691275
Errors in file /u01/diag/rdbms/prod/PROD/trace/PROD_mrp0_8084.trc:
ORA-00448: normal completion of background process"""
SEGMENTS = """------ Shared Memory Segments --------
key        shmid      owner      perms      bytes      nattch     status
0x52020679 2097153    anna       666        93608      8"""
PAGES = """Page Summary                Pages                MB  %Tot
------------     ----------------  ----------------  ----
Kernel                    4330552             16916   36%
ZFS File Data              445887              1741    4%
Anon                      6588558             25736   55%

Total                    12076923             47175
Physical                 12076921             47175"""


@pytest.mark.parametrize("indent", ["", "\t"])
def test_what_a_log_says_between_its_own_lines_is_no_word_of_the_writer(indent):
    output = inset(ALERT, indent)
    fence = "" if indent else "```\n"
    text = f"{HELLO}\n\n{fence}{output}\n{fence}\n{LOOK}\n\n{fence}{inset(MAP, indent)}\n{fence}\n{BYE}\n"
    assert parts_of(text) == places(text, (output, "alert_log"), (inset(MAP, indent), "pmap"))


def test_words_between_two_excerpts_of_a_log_are_the_writers():
    rows = ALERT.split("\n")
    begin, end = "\n".join(rows[:3]), "\n".join(rows[5:])
    text = f"{HELLO}\n\n{begin}\nand ten seconds later it wrote this:\n{end}\n\n{BYE}\n\n{MAP}\n"
    assert [kind for _, _, kind in parts_of(text)] == ["alert_log", "alert_log", "pmap"]


def test_an_output_ends_at_the_next_command_that_nobody_reads():
    text = f"{HELLO}\n```\n$ ipcs -m\n{SEGMENTS}\n\n$ ls -l /dev/shm\n-rw------- 1 anna 26976 Oct 10 09:00 one\n```\n{LOOK}\n"
    assert parts_of(text) == places(text, (f"$ ipcs -m\n{SEGMENTS}", "ipcs"))
    assert read_bytes(text.encode()).account.account.unknown == 0


def test_commands_that_no_format_knows_are_read_as_text_between_outputs():
    disk = "$ hdparm -t /dev/sdc\n\n/dev/sdc:\n Timing buffered disk reads:  38 MB in  3.16 seconds =  12.03 MB/sec"
    health = "$ smartctl -H /dev/sdc\nSMART overall-health self-assessment test result: FAILED!"
    text = f"{HELLO}\n\n{disk}\n$ mpstat\n{CPUS}\n{health}\n"
    assert parts_of(text) == places(text, (disk, "text"), (f"$ mpstat\n{CPUS}", "mpstat"), (health, "text"))
    reading = read_bytes(text.encode())
    assert sum(reading.tables[name].height for name in ("params", "logs", "rows") if name in reading.tables) >= 2


def test_what_a_tool_says_before_its_own_lines_is_no_output_of_its_own():
    text = f"$ mpstat\nreading the counters of 2 processors ...\n{CPUS}\n"
    assert [kind for *_, kind in parts_of(text)] == ["mpstat"]


def test_items_of_a_list_behind_an_output_are_not_its_rows():
    quoted = "\n".join(f"> > {x}" for x in f"{SEGMENTS}\n\n3. Try it as user B.\n4. It returns -EACCES".split("\n"))
    text = f"{HELLO}\n{quoted}\n\n{BYE}\n"
    ((first, last, kind),) = parts_of(text)
    assert (first, last, kind) == (2, 4, "ipcs")


def test_a_listing_that_is_set_in_ends_before_what_is_not():
    shell, procs = f"[root@db1 ~]# echo ::memstat | mdb -k\n{PAGES}", f"[root@db1 ~]# vmstat\n{VMSTAT}"
    text = (
        f"### Pages\n\n`prstat`\n\n{inset(procs, '    ')}\n\n### All of it\n\n`::memstat`\n\n{inset(shell, '    ')}\n\n"
        f"### A zone\n\n`prstat -z 12`\n\n{inset(procs, '    ')}\n"
    )
    outputs = (inset(procs, "    "), "vmstat"), (inset(shell, "    "), "meminfo"), (inset(procs, "    "), "vmstat")
    assert parts_of(text) == places(text, *outputs)


def test_headings_of_short_excerpts_cost_none_of_them():
    log = "Apr 21 03:14:17 db1 nxge: [ID 752849 kern.err] nxge0: link is down"
    text = (
        f"{HELLO}\n```\n# what the system says\n{log}\n{log}\n\n# what else there is\n# ipmpstat -g\n"
        f"GROUP       GROUPNAME  STATE    FDT         INTERFACES\nip0         ipmp0      ok       --          nxge0 nxge1\n\n"
        f"# ipcs -m\n{SEGMENTS}\n```\n{BYE}\n"
    )
    groups = text[text.index("# what else") : text.index("# ipcs -m") - 1]
    assert parts_of(text) == places(
        text, (f"{log}\n{log}", "syslog"), (groups, "text"), (f"# ipcs -m\n{SEGMENTS}", "ipcs")
    )


def test_two_runs_of_a_sampling_tool_are_two_outputs_with_a_first_sample_and_an_interval_each():
    one, two = f"$ mpstat 5 1\n{CPUS}", f"$ mpstat 10 1\n{CPUS}"
    text = f"{one}\n{two}\n"
    assert parts_of(text) == places(text, (one, "mpstat"), (two, "mpstat"))
    rows = read_bytes(text.encode()).table("mpstat").sort("line_no")
    assert rows["first"].to_list() == [True] * 4


def test_runs_of_one_tool_with_words_between_are_parts_of_their_own():
    one, two = f"$ mpstat\n{CPUS}", f"$ mpstat 5\n{CPUS}"
    text = f"{inset(one, '    ')}\n\nThis is what it prints today.\n\n{inset(two, '    ')}\n"
    assert parts_of(text) == places(text, (inset(one, "    "), "mpstat"), (inset(two, "    "), "mpstat"))


CPUS = """CPU minf mjf xcal  intr ithr  csw icsw migr smtx  srw syscl  usr sys  wt idl
  0    0   0    0   329  121  169    6    0    0    0   406    0   1   0  98
  1    0   0    0   229   21  109    6    0    0    0   306    0   1   0  99"""
