"""The evidence tables: every column with its type, unit and meaning. The contract between formats and rules.

Formats fill these columns and no others. Unknown is NULL, never 0, -1 or "". Units are in names: `_s _ms _ns _kb` (1024
bytes) `_kbps` (kB per second) `_ps` (events per second) `_pct _hz`. In the counter tables `vmstat`, `mpstat`, `iostat`,
`microstates` a column without a suffix counts events per second, except threads (`r b w p rq load1`), requests (`wait
actv queue`), cores (`pc`) and percentages. `docs/tables.md` is made from this file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import polars as pl

_TYPES: dict[str, pl.DataType] = {
    "INT": pl.Int64(),
    "UINT": pl.UInt64(),
    "NUM": pl.Float64(),
    "TEXT": pl.String(),
    "BOOL": pl.Boolean(),
    "TEXTS": pl.List(pl.String()),
    "NUMS": pl.List(pl.Float64()),
    "INTS": pl.List(pl.Int64()),
}

_COMMON = """
part INT - : region of a mixed document, 1 when the file holds one thing
line_no INT - : first physical line of the row, 1-based
line_end INT - : last physical line of the row
t_local NUM s : time in the artifact's own clock, NULL if it has none
"""

# One paragraph a table: its name and meaning, then a line for each column: name, type, unit, meaning.
_TABLES = """
artifacts: one row per part of an artifact
kind TEXT - : what the part is
variant TEXT - : dialect of the kind
tool_opts TEXTS - : options of the tool, known or guessed
os TEXT - : system it was taken on
os_release TEXT - : release as printed
role TEXT - : listener, server, client ...
label TEXT - : the author's name for it
n_lines INT - : lines of the part
n_read INT - : lines that gave or belong to a row
n_unknown INT - : lines nobody understood
n_elided INT - : lines that stand for left-out ones
n_damaged INT - : lines cut or garbled
n_blank INT - : blank lines
n_prose INT - : an author's words
clock_kind TEXT - : wall-utc, wall-local, trace-relative, boot-relative, interval, none
stamp TEXT - : what a stamp marks: start or end
t_begin NUM s : first time in the own clock
t_end NUM s : last time in the own clock
interval_s NUM s : sampling interval
tz TEXT - : zone if known
sha256 TEXT - : of the original

hosts: what a header says about its host
os TEXT - : system
os_release TEXT - : release
model TEXT - : machine
role TEXT - : client, db, app
ncpu INT - : logical CPUs
cores INT - : cores
ent NUM - : entitled cores (LPAR)
capped BOOL - : entitlement is a cap
mem_kb INT kB : memory
page_kb INT kB : page size

notes: what became of lines that are not rows
kind TEXT - : unknown, elided, damaged, repaired, remark
text TEXT - : the text, cut at 300 characters, or what was done

statements: facts typed in by people
author TEXT - : who says it
name TEXT - : name that rules read
subject TEXT - : of whom
num NUM - : value
unit TEXT - : unit of the value
text TEXT - : the words

markers: typed instants
kind TEXT - : change, start, end
label TEXT - : words
hypothesis TEXT - : what the change tests
changed TEXTS - : all that changed
from_phase TEXT - : phase before
to_phase TEXT - : phase after

syscalls: completed system calls
seq INT - : position in the trace
pid INT - : process
lwp INT - : thread
comm TEXT - : program name
name TEXT - : call
args TEXT - : arguments as printed
arg_list TEXTS - : the same, split
fd INT - : descriptor
fd2 INT - : second descriptor (dup, pipe)
path TEXT - : path argument
arg_id INT - : shmid, semid, pid waited for
sem_num INT - : semaphore number
arg_addr UINT - : address of shmat, shmdt, mprotect, futex, lwp_*
peer_ip TEXT - : address of the other end
peer_port INT - : port of the other end
bytes INT B : bytes moved or asked for
data TEXT - : payload as printed
ret INT - : result, NULL where it does not fit
ret2 INT - : second result
ret_text TEXT - : result as printed
err TEXT - : error name (ENOENT)
state TEXT - : done, child_start, no_return
child_pid INT - : child that the call made
prev_line INT - : line before on the same thread
prev_name TEXT - : call before on the same thread
gap_s NUM s : since the stamp before on the same thread
delta_s NUM s : delta as printed
elapsed_s NUM s : elapsed time as printed
cpu_s NUM s : CPU time as printed
dur_hi_s NUM s : the call took at most this long
dur_kind TEXT - : what dur_hi_s is: elapsed, gap, none
stamp TEXT - : what t_local marks: end or start
contiguous TEXT - : proven, assumed, broken: may lines be missing inside the interval of dur_hi_s
traced_f BOOL - : children were followed

open_calls: calls that were not seen to end
seq INT - : position in the trace
pid INT - : process
lwp INT - : thread
name TEXT - : call
args TEXT - : arguments as printed
fd INT - : descriptor
state TEXT - : sleeping, unfinished, truncated
done_line INT - : line that completes it, NULL = never completed

syscall_totals: summary tables of tracers
pid INT - : process
comm TEXT - : program name
section TEXT - : call, fault, signal, library
name TEXT - : call
n INT - : calls
errors INT - : failed calls
total_s NUM s : sum
total_kind TEXT - : cpu, wall, unknown
max_s NUM s : longest
pct NUM % : share
complete BOOL - : the whole table was seen

libcalls: calls of library functions
seq INT - : position in the trace
pid INT - : process
lwp INT - : thread
depth INT - : nesting
lib TEXT - : library
func TEXT - : function
event TEXT - : entry, exit
args TEXT - : arguments as printed
ret_text TEXT - : result as printed

signals: signals and faults
seq INT - : position in the trace
pid INT - : process
lwp INT - : thread
event TEXT - : received, stopped, continued, fault, exited, killed
signal TEXT - : name
action TEXT - : default, caught, ignored
in_call TEXT - : call it interrupted
code TEXT - : si_code or fault
addr UINT - : fault address
sender_pid INT - : who sent it
status INT - : exit status
cpu_s NUM s : processor time that the child used until it ended, of SIGCHLD

vmstat: one row per sample of the whole host
sample INT - : number of the sample in the part, from 1
first BOOL - : averages since boot
interval_s NUM s : length of the sample
r NUM threads : running and runnable
b NUM threads : blocked
w NUM threads : swapped out
p NUM threads : waiting for raw I/O (AIX)
load1 NUM threads : load average, one minute
swap_free_kb NUM kB : free swap
swap_used_kb NUM kB : used swap
free_kb NUM kB : free memory
buff_kb NUM kB : buffers
cache_kb NUM kB : page cache
active_kb NUM kB : active pages
inact_kb NUM kB : inactive pages
avm_kb NUM kB : active virtual memory
re NUM /s : page reclaims
mf NUM /s : minor faults
pi_kbps NUM kB/s : paged in
po_kbps NUM kB/s : paged out
si_kbps NUM kB/s : swapped in
so_kbps NUM kB/s : swapped out
api_kbps NUM kB/s : anonymous pages in
apo_kbps NUM kB/s : anonymous pages out
bi_kbps NUM kB/s : read from block devices
bo_kbps NUM kB/s : written to block devices
fr_kbps NUM kB/s : freed
de_kb NUM kB : anticipated shortfall
sr NUM /s : pages scanned
intr NUM /s : interrupts
scall NUM /s : system calls
cs NUM /s : context switches
usr NUM % : user
nice NUM % : niced user
sys NUM % : kernel
irq NUM % : hard interrupts
soft NUM % : soft interrupts
wa NUM % : idle with I/O outstanding
st NUM % : stolen
gu NUM % : guest
gnice NUM % : niced guest
idle NUM % : idle
pc NUM cores : physical cores consumed
ec NUM % : entitlement consumed

mpstat: one row per sample and CPU
sample INT - : number of the sample in the part, from 1
first BOOL - : averages since boot
interval_s NUM s : length of the sample
cpu INT - : CPU number
set_id INT - : processor set
minf NUM /s : minor faults
mjf NUM /s : major faults
xcal NUM /s : cross calls
intr NUM /s : interrupts
ithr NUM /s : interrupts as threads
csw NUM /s : context switches
icsw NUM /s : involuntary context switches
migr NUM /s : thread migrations
smtx NUM /s : spins on mutexes
srw NUM /s : spins on reader/writer locks
scall NUM /s : system calls
usr NUM % : user
nice NUM % : niced user
sys NUM % : kernel
irq NUM % : hard interrupts
soft NUM % : soft interrupts
wa NUM % : idle with I/O outstanding
st NUM % : stolen
gu NUM % : guest
gnice NUM % : niced guest
idle NUM % : idle
pc NUM cores : physical cores consumed
ec NUM % : entitlement consumed
rq NUM threads : run queue

iostat: one row per sample and device
sample INT - : number of the sample in the part, from 1
first BOOL - : averages since boot
interval_s NUM s : length of the sample
device TEXT - : name
r_ps NUM /s : reads
w_ps NUM /s : writes
r_kbps NUM kB/s : read
w_kbps NUM kB/s : written
io_ps NUM /s : reads and writes, where the tool does not part them
wait NUM requests : queued, not yet sent
actv NUM requests : in service
queue NUM requests : both
wsvc_ms NUM ms : time queued
asvc_ms NUM ms : time in service
resp_ms NUM ms : both
r_resp_ms NUM ms : response time of reads
w_resp_ms NUM ms : response time of writes
wait_pct NUM % : time with a queue
busy_pct NUM % : time busy
part_of BOOL - : partition or stacked device, not to be summed

counters: everything else that counts
sample INT - : number of the sample in the part, from 1
first BOOL - : totals since boot
interval_s NUM s : length of the sample
grp TEXT - : tcp, iface, arcstats, slab ...; text: read by the general reader
item TEXT - : interface, cache ...
name TEXT - : counter
value NUM - : value as printed
unit TEXT - : of the value
mode TEXT - : total, rate, level
delta NUM - : since the sample before

ps: one row per process (or thread) and sample
sample INT - : number of the sample in the part, from 1
first BOOL - : averages since boot
pid INT - : process
ppid INT - : parent
lwp INT - : thread
uid INT - : user number
login TEXT - : user name
zone TEXT - : zone
state TEXT - : state letters
ending TEXT - : defunct, exiting, idle
wchan TEXT - : function or event of the kernel at which it sleeps
pri INT - : priority
nice INT - : nice value
cpu_no INT - : CPU last run on
rss_kb NUM kB : resident
vsz_kb NUM kB : virtual
cpu_pct NUM % : CPU share
cpu_all BOOL - : CPU share is of all processors
mem_pct NUM % : memory share
cpu_time_s NUM s : CPU time used
start_text TEXT - : start time as printed
etime_s NUM s : elapsed since start
nlwp INT - : threads
comm TEXT - : program name
args TEXT - : command line

microstates: shares of time of a process or thread
sample INT - : number of the sample in the part, from 1
first BOOL - : since start
pid INT - : process
lwp INT - : thread
comm TEXT - : program name
usr NUM % : user
sys NUM % : system
trp NUM % : traps
tfl NUM % : text faults
dfl NUM % : data faults
lck NUM % : waiting for user locks
slp NUM % : sleeping
lat NUM % : waiting for a CPU
vcx NUM /s : voluntary context switches
icx NUM /s : involuntary context switches
scl NUM /s : system calls
sig NUM /s : signals

pmap: one row per printed row of an address map
pid INT - : process
command TEXT - : command line as printed
addr UINT - : start address
kbytes NUM kB : size
rss_kb NUM kB : resident, NULL where the tool prints "-"
anon_kb NUM kB : anonymous
locked_kb NUM kB : locked
dirty_kb NUM kB : dirty
pss_kb NUM kB : proportional share
swap_kb NUM kB : swapped out
pgsz_kb NUM kB : page size
mode TEXT - : permission letters as printed
lgrp INT - : locality group
mapping TEXT - : file, or the bracketed text with its brackets: `[ dism shmid=0x100001e ]`
region TEXT - : file, heap, stack, anon, shm, other
shm_kind TEXT - : ism, dism, osm, sysv
shmid INT - : segment, decimal

ipcs_shm: shared memory segments
key TEXT - : key
shmid INT - : segment
owner TEXT - : owner
creator TEXT - : creator
perms TEXT - : permissions
bytes INT B : size
nattch INT - : attached processes
ism_nattch INT - : attached as ISM
cpid INT - : creating process
lpid INT - : last process
ctime_text TEXT - : change time as printed
status TEXT - : status
project TEXT - : project
zone TEXT - : zone

ipcs_sem: semaphore sets
key TEXT - : key
semid INT - : set
owner TEXT - : owner
creator TEXT - : creator
perms TEXT - : permissions
nsems INT - : semaphores in the set
ctime_text TEXT - : change time as printed
zone TEXT - : zone

ipcs_msg: message queues
key TEXT - : key
msqid INT - : queue
owner TEXT - : owner
perms TEXT - : permissions
bytes INT B : bytes queued
messages INT - : messages queued

numa: nodes and locality groups
sample INT - : number of the sample in the part, from 1
node INT - : node
node2 INT - : other node of a distance
metric TEXT - : mem_kb, free_kb, cpus, distance, local_node, other_node ...
value NUM - : value

meminfo: memory figures by name
sample INT - : number of the sample in the part, from 1
name TEXT - : figure
value NUM - : value
unit TEXT - : kb, pages

params: settings
scope TEXT - : oracle, sysctl, system, project, limits, ipc, nsswitch, resolv, listener, sqlnet, tnsnames, thp, cgroup; text: read by the general reader
entity TEXT - : SID, project, user; NULL = host
name TEXT - : parameter
value TEXT - : value as printed
num NUM - : value as a number
list TEXTS - : value as a list
privilege TEXT - : basic, privileged, system
active BOOL - : false: commented out or overridden

resource_use: use against a limit
scope TEXT - : where the limit stands
entity TEXT - : of whom
name TEXT - : resource
used NUM - : in use
peak NUM - : highest use
limit_num NUM - : limit

conn_times: how long connects, pings or commands took
series TEXT - : label or target
seq INT - : position in the series, from 1
elapsed_s NUM s : time taken, NULL for a failure
cpu_s NUM s : user + sys of time(1)
sys_s NUM s : sys of time(1), the part of cpu_s in the kernel
ok BOOL - : it succeeded
err TEXT - : code of the failure
contiguous TEXT - : proven, assumed, broken: may values be missing before this one

sqlnet: events of an Oracle Net trace
side TEXT - : client, listener, server
seq INT - : position in the trace
thread TEXT - : thread or process as printed
func TEXT - : function
event TEXT - : entry, exit, error_exit, info
text TEXT - : rest of the line
bytes INT B : bytes moved
direction TEXT - : in, out
socket INT - : descriptor
conn_key TEXT - : connection (cxd)
ptype TEXT - : packet type
nt_events TEXTS - : events of the transport layer (empty list = printed and empty)
ns_events TEXTS - : events of the session layer (empty list = printed and empty)
service TEXT - : service asked for
program TEXT - : caller's program
peer_ip TEXT - : address of the other end
peer_port INT - : port of the other end
child_pid INT - : process started for it
err TEXT - : code
secondary TEXTS - : further codes
prev_line INT - : line before on the same thread
gap_s NUM s : since the stamp before on the same thread
contiguous TEXT - : proven, assumed, broken

logs: lines of logs
source TEXT - : alert, listener, syslog, errpt, sqlnet_log, postgres, mysql, tool; text: read by the general reader
code TEXT - : ORA-609, TNS-12518: no leading zeros
secondary TEXTS - : further codes
severity TEXT - : as printed
pid INT - : process
peer_ip TEXT - : address of the other end
peer_port INT - : port of the other end
service TEXT - : service
program TEXT - : caller's program
client_host TEXT - : caller's host
op TEXT - : operation (establish, service_update, received, lock_wait)
ok BOOL - : it succeeded
text TEXT - : the message
elapsed_s NUM s : time taken, as the line says

packets: one row per packet
proto TEXT - : protocol
src TEXT - : sender
sport INT - : its port
dst TEXT - : receiver
dport INT - : its port
flags TEXT - : TCP flags
seq INT - : sequence number
ack INT - : acknowledged
len INT B : payload
vlan INT - : VLAN
win INT B : advertised window as it stands in the packet, not scaled
mss INT B : largest segment that the sender of a SYN says it takes
payload TEXT - : what the payload names: TNS CONNECT service=orcl, DNS A? db1

tcp_flows: one row per connection in packets
src TEXT - : who opened it
sport INT - : its port
dst TEXT - : the other end
dport INT - : its port
handshake_rtt_s NUM s : round trip of the handshake
retransmits INT - : segments sent again
syn_retransmits INT - : SYNs sent again
zero_window_s NUM s : time with a closed window
request_to_first_byte_s NUM s : request to first byte of the answer
n_packets INT - : packets
capture_side TEXT - : client, server, between, unknown
complete BOOL - : begin and end were seen

fdmap: open descriptors
sample INT - : number of the sample in the part, from 1
pid INT - : process
comm TEXT - : program name
fd INT - : descriptor
type TEXT - : file, socket, pipe, door, device
path TEXT - : path
local_ip TEXT - : own address
local_port INT - : own port
peer_ip TEXT - : address of the other end
peer_port INT - : port of the other end
offset INT B : file position
size_b NUM B : size of the file

sockets: sockets of a host
sample INT - : number of the sample in the part, from 1
proto TEXT - : protocol
state TEXT - : state
local_ip TEXT - : own address
local_port INT - : own port
peer_ip TEXT - : address of the other end
peer_port INT - : port of the other end
recvq INT B : waiting for the program
sendq INT B : waiting for the peer
pid INT - : process
comm TEXT - : program name

sessions: database sessions
sid INT - : session
serial INT - : serial number
db_user TEXT - : database user
db_name TEXT - : database that it uses
program TEXT - : caller's program
machine TEXT - : caller's host
spid INT - : server process
client_pid INT - : client process
state TEXT - : state
event TEXT - : wait event
logon_text TEXT - : logon time as printed
last_call_s NUM s : since the last call, or how long in its state
wait_class TEXT - : class of the wait event
wait_s NUM s : how long in its wait
blocked_by INT - : session that it waits for
verb TEXT - : first words of its statement
xact_text TEXT - : start of its transaction as printed
xmin INT - : oldest transaction whose rows the session may still see

db_waits: wait events
event TEXT - : event
wait_class TEXT - : class
n INT - : waits
total_s NUM s : sum
avg_ms NUM ms : mean
pct NUM % : share of database time
pid INT - : process
sid INT - : session

db_calls: calls of a SQL trace
pid INT - : process
cursor TEXT - : cursor number
call TEXT - : parse, exec, fetch ...
cpu_s NUM s : CPU time
elapsed_s NUM s : elapsed time
rows INT - : rows

profile_meta: what a profile says about itself
variant TEXT - : top, report ...
event TEXT - : sampled event
frame INT - : number of the screen
ncpu INT - : CPUs
rate_hz NUM Hz : sampling rate
irqs_ps NUM /s : interrupts
kernel_pct NUM % : share of the kernel
drop_pct NUM % : dropped samples
total_samples NUM - : samples

profile_symbols: share of each symbol
event TEXT - : sampled event
frame INT - : number of the screen
samples NUM - : samples
pct NUM % : share with callees
self_pct NUM % : own share
comm TEXT - : program name
pid INT - : process
symbol TEXT - : symbol
dso TEXT - : object file
kernel BOOL - : kernel symbol
lock BOOL - : a lock function

rows: rows of tables that no format knows
table_no INT - : number of the table in the part, from 1
row_no INT - : number of the row in the table, from 1
heading TEXTS - : names of its columns as printed
cells TEXTS - : the cells, as many as names; empty where nothing is printed

profile_stacks: stacks with weights
source TEXT - : text: read by the general reader
event TEXT - : sampled event
weight NUM - : weight
unit TEXT - : samples, count, ns, pct
pid INT - : process
lwp INT - : thread
comm TEXT - : program name
frames TEXTS - : frames, leaf first
pcts NUMS % : share of each frame, absolute
leaf TEXT - : first frame
kernel BOOL - : leaf is kernel
complete BOOL - : the stack was not cut
frame_lines INTS - : line of each frame, NULL if the tool prints a stack on one line
state TEXT - : what the tool says that the thread does
waited_s NUM s : how long the tool says it has been in this state
waits_for TEXT - : lock or object that it waits for, as printed
held_by TEXT - : thread that the tool names as the holder of that lock
holds TEXTS - : locks that it holds, as printed
cpu_s NUM s : processor time that the thread has used
age_s NUM s : how long the thread has lived

hist: distributions
agg TEXT - : aggregation
key1 TEXT - : first key
key2 TEXT - : second key
lo NUM - : lower edge, NULL = open
hi NUM - : upper edge, NULL = open
unit TEXT - : of the edges
n NUM - : count
cumulative BOOL - : counts add up from below
tick_s NUM s : interval of the aggregation
complete BOOL - : the whole distribution was seen

locks: lock contention
event TEXT - : adaptive spin, block ...
n INT - : events
rate_ps NUM /s : events
mean_ns NUM ns : mean time
max_ns NUM ns : longest time
pct NUM % : share
lock TEXT - : lock
caller TEXT - : caller
"""


@dataclass(frozen=True)
class Column:
    """A column: `dtype` is its Polars type; `unit` is empty if it has none."""

    name: str
    dtype: pl.DataType
    unit: str
    meaning: str


@dataclass(frozen=True)
class Table:
    """An evidence table; `columns` are those that it alone has, `schema` has the common ones in front."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pl.Schema:
        return pl.Schema({c.name: c.dtype for c in (*COMMON, *self.columns)})


_COLUMN = re.compile(r"(\w+) ([A-Z]+) (\S+) : (.+)")


def _column(line: str) -> Column:
    match = _COLUMN.fullmatch(line)
    if match is None:
        raise ValueError(f"not a column: {line!r}")
    name, kind, unit, meaning = match.groups()
    return Column(name, _TYPES[kind], "" if unit == "-" else unit, meaning)


def _table(text: str) -> Table:
    head, *columns = text.split("\n")
    name, meaning = head.split(": ", 1)
    return Table(name, meaning, tuple(map(_column, columns)))


COMMON = tuple(map(_column, _COMMON.strip().split("\n")))
"""Columns at the front of every table. The case view puts artifact_id, host, phase, clock, t, t_err before them."""

TABLES: dict[str, Table] = {t.name: t for t in map(_table, _TABLES.strip().split("\n\n"))}
"""All evidence tables by name."""


@cache
def schema(table: str) -> pl.Schema:
    """Return all columns of a table file in order. Raises KeyError for a table that does not exist."""
    return TABLES[table].schema
