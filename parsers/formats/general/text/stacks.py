"""Read stacks of any tool: a head that names a thread, and frames below it; kernel stacks need no head.

A style describes how a tool prints a stack. A frame that only one style prints opens a stack without a head too,
because people paste the middle of a dump. Beside the frames, a stack stores the locks that the thread waits for or
holds, who holds them, the state of the thread, and the time it has been in that state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

MOST_FRAMES = 500
"""Maximum number of frames stored of one stack; a deeper stack is not complete."""

MOST_LOCKS = 100
"""Maximum number of held locks stored of one thread."""


@dataclass(frozen=True)
class Style:
    """How a tool prints stacks: the head of a thread, a frame (group `f`), further lines that belong to the stack.

    A head may have the groups `pid`, `lwp`, `name`, `state`, `cpu` and `age`. The lines of `more` may have them too,
    and `waits` (a lock that the thread waits for), `object` (a lock released while the thread waits to be notified),
    `locked` (a lock it holds) and `owner` (the thread that holds the lock it waits for).
    """

    name: str
    head: re.Pattern[str] | None
    frame: re.Pattern[str]
    more: tuple[re.Pattern[str], ...] = ()
    kernel: bool = False
    below_blank: re.Pattern[str] | None = None
    """Lines that belong to the stack although a blank line stands between."""
    headless: bool = False
    """Whether a frame at the beginning of a paragraph opens a stack."""
    outermost_first: bool = False


_CODE = re.compile(r"[ \t]{3,}\S.*")
_PYTHON_FRAME = re.compile(
    r'[ \t]*File "(?:[^"]*[/\\])?(?P<file>[^"/\\]*)", line [0-9]+,? in (?P<f>[\w.<>$]+)(?: \(.*\))?'
)
_AT = r"(?:at[ \t]+)?"
_JAVA_NAME = r"[\w$<][\w.$<>/@+-]*[./][\w$<>-]+"

STYLES = (
    Style(
        "java",
        re.compile(
            r'[ \t]*(?:#(?P<no>[0-9]+)[ \t]+)?"(?P<name>[^"]{0,200})"(?::|(?(no)|(?=.* (?:prio|tid|nid|os_prio|Id)=| - Thread t@)).*)'
        ),
        re.compile(rf"[ \t]*{_AT}(?P<f>{_JAVA_NAME})\(.*\).*"),
        (
            re.compile(r"[ \t]*java\.lang\.Thread\.State: (?P<state>.*)"),
            re.compile(
                r"[ \t]+-[ \t]+(?:waiting to (?:re-)?lock|parking to wait for|blocked on)[ \t]+(?:<(?P<waits>[^>]{1,60})>|(?P<waits2>\S{1,200}))?"
                r'(?:.* owned by "(?P<owner>[^"]{0,200})".*|.*)'
            ),
            re.compile(r"[ \t]+-[ \t]+(?:waiting on|(?:eliminated|waiting)\b)[ \t]*(?:<(?P<object>[^>]{1,60})>)?.*"),
            re.compile(r"[ \t]+-[ \t]+(?:locked[ \t]+)?(?:<(?P<locked>[^>]{1,60})>|(?P<locked2>[\w.$]{1,200}@[0-9a-f]+)).*"),
            re.compile(
                r"[ \t]+waiting (?:to lock|for) (?:monitor|ownable synchronizer) (?P<waits3>0x[0-9a-f]+)(?:.*\(object (?P<waits>0x[0-9a-f]+).*|.*)"
            ),
            re.compile(r'[ \t]+(?:in JNI, )?which is held by (?:"(?P<owner>[^"]{0,200})".*|.*)'),
            re.compile(
                r"[ \t]+(?:- .*|No compile task.*|Compiling: .*|Locked ownable synchronizers:|Locked synchronizers:.*"
                r"|Number of locked synchronizers.*|\.\.\.)"
            ),
        ),
        below_blank=re.compile(r"[ \t]+(?:Locked ownable synchronizers:|Number of locked synchronizers.*)"),
        headless=True,
    ),
    Style(  # hot threads of Elasticsearch and OpenSearch: a thread, and the stacks that several snapshots of it share
        "hot-threads",
        re.compile(
            r"[ \t]*(?P<hot>[0-9]{1,5}(?:\.[0-9]+)?)% (?:\[[^\]]{1,80}\] )?\([0-9.]+\w+ out of [0-9.]+\w+\) \w+ usage by thread '(?P<name>[^']{1,200})'"
        ),
        re.compile(rf"[ \t]+(?:app//|[\w.]+(?:@[\w.+-]+)?/(?=[a-z]))?(?P<f>{_JAVA_NAME})\(.*\)"),
        (
            re.compile(r"[ \t]+(?P<looks>[0-9]{1,4})/[0-9]{1,4} snapshots sharing following [0-9]+ elements"),
            re.compile(r"[ \t]+unique snapshot"),
        ),
    ),
    Style(  # the debugger of the Java machine: jstack -F, jhsdb jstack; its state is that of the machine, not of a monitor
        "hotspot",
        re.compile(r"[ \t]*Thread (?P<lwp>[0-9]+): \(state = [A-Z_]+\)"),
        re.compile(rf"[ \t]+- (?P<f>{_JAVA_NAME})\(.*\) @bci=[0-9]+.*"),
        (re.compile(r"[ \t]+- (?:locked|waiting (?:on|to (?:re-)?lock)|parking to wait for) .*"),),
    ),
    Style(
        "javacore",
        re.compile(
            r'3XMTHREADINFO[ \t]+(?:"(?P<name>[^"]{0,200})"(?:(?=.*[ ,]state:(?P<state>\w+)).*|.*)|Anonymous native thread)'
        ),
        re.compile(r"4X(?:E|EN|N)STACKTRACE[ \t]+at (?P<f>[\w./$<>-]+)\(.*"),
        (
            re.compile(r"3XMTHREADINFO1[ \t]+\(native thread ID:(?P<lwp>0x[0-9A-Fa-f]+|[0-9]+),.*"),
            re.compile(r"3XMCPUTIME[ \t]+CPU usage total: (?P<cpu>[0-9.]+) secs.*"),
            re.compile(
                r'3XMTHREADBLOCK[ \t]+(?:Blocked on|Parked on): (?P<waits>\S+) Owned by: (?:"(?P<owner>[^"]*)".*|.*)'
            ),
            re.compile(r"3XMTHREADBLOCK[ \t]+Waiting on: (?P<object>\S+).*"),
            re.compile(r"5XESTACKTRACE[ \t]+\(entered lock: (?P<locked>[^,]+),.*"),
            re.compile(r"(?:3XM(?!THREADINFO[ \t])|4XE|5XE|3XE)\w+.*"),
        ),
    ),
    Style(
        "go",
        re.compile(
            r"[ \t]*goroutine (?P<lwp>[0-9]+)(?: gp=\S+ m=\S+(?: mp=\S+)?)? \[(?P<state>[^\]]*)\](?: \{.*\})?:?"
        ),
        re.compile(r"[ \t]*(?P<f>[A-Za-z_][^\s({]*(?:\(\*?[\w.\[\]]+\)\.[^\s(]*)?)\(.*\)(?: \+0x[0-9a-f]+)?"),
        (
            re.compile(r"[ \t]+\S.*:[0-9]+(?: \+0x[0-9a-f]+)?.*|\S+\.(?:go|s|c|cgo1\.go):[0-9]+(?: \+0x[0-9a-f]+)?"),
            re.compile(
                r"[ \t]*(?:created by \S+(?: in goroutine [0-9]+)?|\.\.\.(?:additional|[0-9]+) frames elided\.\.\."
                r"|goroutine running on other thread; stack unavailable)"
            ),
        ),
    ),
    Style(
        "go-profile",
        re.compile(r"[ \t]*(?P<n>[0-9]{1,9}) @(?: 0x[0-9a-f]+)+"),
        re.compile(r"[ \t]*#[ \t]+0x[0-9a-f]+[ \t]+(?P<f>\S+?)\+0x[0-9a-f]+[ \t]+\S+:[0-9]+"),
        (re.compile(r"# (?:labels: .*|[0-9]+)"),),
    ),
    Style(
        "python",
        re.compile(
            r"[ \t]*(?:(?:Current thread|Thread) (?P<lwp>0x[0-9a-f]+)(?: \[(?P<name>[^\]]*)\])?|Traceback) \(most recent call first\):"
        ),
        _PYTHON_FRAME,
        (
            re.compile(r" +<built-in method (?:acquire|__enter__) of _thread\.RLock object at remote (?P<waits>0x[0-9a-f]+)>"),
            re.compile(r" +(?:<no Python frame>|Garbage-collecting|<built-in .*|\.\.\.)"),
            _CODE,
        ),
    ),
    Style(
        "python-last",
        re.compile(r"(?:Stack|# ?Thread(?:ID)?:?.*|(?:\^C)?Traceback) \(most recent call last\):|# ?Thread(?:ID)?: ?(?P<name>\S.*)"),
        _PYTHON_FRAME,
        (re.compile(r"(?P<kept>KeyboardInterrupt|Greenlet\w*.*)"), re.compile(r"[ \t]+\S.*")),
        outermost_first=True,
    ),
    Style(  # hanging_threads: a thread that stood in one line for too long
        "python-hangs",
        re.compile(r'-{3,}[ \t]*Thread (?P<lwp>[0-9]+)(?: "(?P<name>[^"]*)")? (?P<state>hangs)[ \t]*-{3,}'),
        _PYTHON_FRAME,
        (re.compile(r"[ \t]+\S.*"),),
        outermost_first=True,
    ),
    Style(
        "py-spy",
        re.compile(
            r'[ \t]*Thread (?P<lwp>[0-9]+|0x[0-9A-Fa-f]+)(?:/[0-9]+)?(?: \((?P<state>idle|active|idle\+gil|active\+gil)\))?(?:: "?(?P<name>[^"]*)"?)?'
        ),
        re.compile(r" {4,}(?P<f>[^\s(][^(]*?) \((?:[^()]*[/\\])?(?P<file>[^():/\\]*)(?::[0-9]+)?\)"),
        (re.compile(r" {8,}\S.*"),),
    ),
    Style(
        "gdb",
        re.compile(r'(?:\[?Switching to )?[ \t*]*[Tt]hread [0-9]+ \(.*?(?:LWP[ \t]+(?P<lwp>[0-9]+).*)?\)+(?: "(?P<name>[^"]*)")?[:\]]*'),
        re.compile(r"[ \t]*#[0-9]+[ \t]+(?:0x[0-9a-f]+ (?:in )?)?(?P<f><signal handler called>|[^\s(][^(]*?)(?:[ \t]*\(.*)?"),
        (re.compile(r"[ \t]+(?:at|from) \S.*|[ \t]{4,}\S+ ?=.*|No locals\.|Backtrace stopped: .*|\(More stack frames.*"),),
        headless=True,
    ),
    Style(
        "lldb",
        re.compile(r"[ \t]*(?:\* )?thread #(?P<lwp>[0-9]+)(?:[:,] .*?(?:name = '(?P<name>[^']*)'.*)?)?"),
        re.compile(r"[ \t]*(?:\* )?frame #[0-9]+: (?:0x[0-9a-f]+ )?(?P<f>[^\s(]+).*"),
        headless=True,
    ),
    Style(
        "delve",
        None,
        re.compile(r"[ \t]*[0-9]+[ \t]+0x[0-9a-f]{8,16} in (?P<f>[A-Za-z_]\S*)"),
        (re.compile(r"[ \t]+at \S.*:[0-9]+|\.\.\."),),
        headless=True,
    ),
    Style(
        "crash",
        re.compile(r"PID: (?P<pid>[0-9]+)[ \t]+TASK: [0-9a-f]+[ \t]+CPU: [0-9]+[ \t]+COMMAND: \"(?P<name>[^\"]*)\""),
        re.compile(r"[ \t]*#[0-9]+ \[[0-9a-f]+\] (?P<f>[\w.]+)(?: at [0-9a-f]+.*)?"),
        (re.compile(r"[ \t]+(?:[A-Z0-9_]{2,8}: [0-9a-f].*|\[exception RIP: .*|\S+: \d+)"),),
        kernel=True,
    ),
    Style(
        "mdb",
        re.compile(r"[ \t]*stack pointer for thread (?P<thread>[0-9a-f]+)(?: \(.*\))?: [0-9a-f]+(?:[ \t]+\(.*\))?"),
        re.compile(
            r"[ \t]*(?:\[ )?(?:[0-9a-f]{8,16} )?(?P<f>(?:[\w.-]+`)?[A-Za-z_][\w.]*)(?:\+(?:0x)?[0-9a-f]+)?\(.*\)(?: \])?"
        ),
        kernel=True,
    ),
    Style(
        "dotnet",
        re.compile(r"(?:Thread \(0x(?P<hex>[0-9A-Fa-f]+)\):|OS Thread Id: 0x(?P<hex2>[0-9a-f]+) .*)"),
        re.compile(
            r"(?:[ \t]+[\w.-]+!(?P<f>\S[^(]*)\(.*|[0-9A-Fa-f]{8,16} [0-9A-Fa-f]{8,16} (?:\[\w+(?:: [0-9a-fA-F]+)?\] )?(?P<f2>[\w.+<>`]+)\(.*)"
        ),
        (re.compile(r"[ \t]+\[Native Frames\]|[ \t]*Child[ -]SP .*|[0-9A-Fa-f]{8,16} [0-9A-Fa-f]{8,16} \[.*|[0-9A-Fa-f]{8,16} [0-9A-Fa-f]{8,16} .*"),),
    ),
    Style(
        "windows",
        re.compile(
            r"[ \t]*#?[ \t]*(?:Child-?SP[ \t]+RetAddr.*Call Site|ChildEBP[ \t]+RetAddr.*|RetAddr[ \t]+: Args to Child[ \t]+: Call Site)"
            r"|[ \t]*[.#]?[ \t]*(?P<name>[0-9]{1,5})[ \t]+Id: [0-9a-f]{1,8}\.(?P<hex>[0-9a-f]{1,8}) Suspend: .*"
            r"|[ \t]*THREAD [0-9a-f`]{8,17}[ \t]+Cid [0-9a-f]{1,8}\.(?P<hex2>[0-9a-f]{1,8}) .*?(?P<state>WAIT: \(\w+\)|RUNNING|READY|STANDBY).*"
        ),
        re.compile(
            r"[ \t]*(?:[0-9a-f]{2} )?(?:[0-9a-f]{8}(?:`?[0-9a-f]{8})? +){0,6}(?:: (?:\S+ ){0,4}: )?(?P<f>[\w.-]+![\w:~<>@?$`]+)(?:\+0x[0-9a-f]+)?.*"
        ),
        (
            re.compile(r"[ \t]*#?[ \t]*(?:Child-?SP[ \t]+RetAddr.*|ChildEBP[ \t]+RetAddr.*|RetAddr[ \t]+: Args to Child.*)"),
            re.compile(
                r"[ \t]*(?:[0-9a-f`]{8,17}[ \t]+(?:SynchronizationEvent|NotificationEvent|Semaphore|Mutant|Thread|QueueObject"
                r"|ProcessObject|NotificationTimer).*"
                r"|(?:Not impersonating|DeviceMap|Owning Process|Attached Process|Wait Start TickCount|Context Switch Count|UserTime|KernelTime"
                r"|Win32 Start Address|Stack Init|Priority|IRP List:|Kernel stack not resident).*|[0-9a-f]{8,16}: \(.*)"
            ),
        ),
    ),
    Style(  # Process Explorer, Process Monitor, System Informer; an export far from the address names another function
        "windows-modules",
        None,
        re.compile(
            r"[ \t]*(?:[0-9]{1,3}(?:,|[ \t])[ \t]*)?(?:"
            r"(?P<f>[\w.-]{1,60}\.(?i:exe|dll|sys|drv|ocx|node|pyd)![\w:~<>@?$`., *&-]{1,200}?)(?:\+0x[0-9a-fA-F]{1,3})?"
            r"|(?P<f2>[\w.-]{1,60}\.(?i:exe|dll|sys|drv|ocx|node|pyd))(?:![\w:~<>@?$`., *&-]{1,200}?)?\+0x[0-9a-fA-F]{1,8})[ \t]*"
        ),
        headless=True,
    ),
    Style(
        "php",
        re.compile(r"[ \t]{0,12}\[[^\]]{5,40}\][ \t]+\[pool (?P<name>[^\]]{1,80})\] pid (?P<pid>[0-9]+)"),
        re.compile(r"[ \t]{0,12}\[0x[0-9a-f]+\] (?P<f>[^\s(]+)\(\) \S+:[0-9]+"),
        (re.compile(r"[ \t]{0,12}script_filename = .*"),),
    ),
    Style(  # a thread of Sidekiq or Puma may stand in a log: its head and the first frame begin as lines of the log do
        "ruby",
        re.compile(
            r"[ \t]*(?:.{0,120}?[ :])?Thread:? (?:#<Thread:0x[0-9a-f]+.*>|TID-(?P<name>\S+.*?))(?:[ \t]+status=(?P<state>\w+).*)?"
        ),
        re.compile(
            r"[ \t]*(?:.{0,160}?(?:WARN|INFO|ERROR|DEBUG)(?: --)?:? (?:: )?)?(?:from )?(?:/|[\w.-]+/|<internal:)(?:[^\s:]*/)?(?P<file>[^\s/:]*?)>?:[0-9]+"
            r":in [`'](?P<f>[^']+)'"
        ),
    ),
    Style(
        "hung",
        re.compile(
            r"(?:.{0,60}?\bINFO: )?task (?P<name>\S{1,64}):(?P<pid>[0-9]+) (?:is )?blocked for more than (?P<s>[0-9]+) seconds\.?"
        ),
        re.compile(r"[ \t]*(?:\[<[0-9a-f]+>\][ \t]+)?(?:\? )?(?P<f>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[\w+\])?"),
        (
            re.compile(
                r"[ \t]*(?:Not tainted.*|Tainted: .*|\"echo 0 > .*|[Cc]all [Tt]race:|\S+[ \t]+[DRS][ \t]+[0-9a-f]+.*|task:\S+ .*"
                r"|</?TASK>|[A-Z0-9]{2,8}: ?[0-9a-f]{4,}.*|[0-9a-f]{8,16}(?: .*)?)"
            ),
        ),
        kernel=True,
    ),
    Style(  # glog, abseil and what is made of them: Kudu, Impala, StarRocks, bRPC
        "addresses",
        None,
        re.compile(
            r"[ \t]+(?:@[ \t]+)?0x[0-9a-f]{4,16}[ \t]+(?:(?P<unknown>\(.*\))|(?P<f>[A-Za-z_~][^\s(<]*(?:<.*?>)?[^\s(]*)(?:\(.*\))?(?: const)?.*)"
        ),
        (re.compile(r"(?:Kernel|User) stack:"),),
    ),
    Style(
        "kernel",
        re.compile(r"(?:==> )?/proc/(?P<pid>[0-9]+)(?:/task/(?P<lwp>[0-9]+))?/stack(?: <==|:)?"),
        re.compile(
            r"[ \t]*(?:/proc/[0-9]+/\S*stack:)?\[<[0-9a-f]+>\] (?:\? )?(?P<f>[^\s+]+)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[\w+\])?"
        ),
        kernel=True,
    ),
)  # fmt: skip
_BY_NAME = {style.name: style for style in STYLES}
HOT = "hot threads"
"""Event of the stacks of busy threads: they are a profile, whose weight is the share of a processor in percent."""

OF_PROCESS = re.compile(r"/proc/(?P<pid>[0-9]+)(?:/task/(?P<lwp>[0-9]+))?/stack")
"""A process in a command or in front of a line."""

DEADLOCK = re.compile(r"[ \t]*Found (?:one|[0-9]+) Java-level deadlocks?\b.*")
"""Line that a JVM prints above the threads of a deadlock."""

_MAYBE_HEAD = (
    '"', "#", "goroutine ", "Thread", "thread ", "Current thread", "==> /proc/", "/proc/", "3XMTHREADINFO", "* thread", "* Thread",
    "* frame", "frame #", "stack pointer for", "PID: ", "OS Thread Id", "INFO: task", "task ", "Traceback (most", "^CTraceback", "Stack (most",
    "[Switching to", "Child", "---", "RetAddr ", "THREAD ", ".",
)  # fmt: skip
"""Beginnings (after the indent) of lines that may be the head of a stack."""

_HEADLESS = {
    "java": re.compile(rf"[ \t]*{_AT}{_JAVA_NAME}\((?:[\w$.-]*\.(?:java|kt|scala|groovy|clj)[:)].*|.*Native Method\)|Unknown Source\)).*"),
    "gdb": re.compile(r"[ \t]*#0[ \t]+(?:0x[0-9a-f]+ in )?[^\s(]\S*(?: .*?)?\(.*"),
    "lldb": re.compile(r"[ \t]*(?:\* )?frame #0: .*"),
    "delve": re.compile(r"[ \t]*0[ \t]+0x[0-9a-f]{8,16} in [A-Za-z_][\w./-]*\.\S+"),
    "mdb": re.compile(r"[ \t]*[\w.-]+`\w[\w.]*\+0x[0-9a-f]+\(.*\)"),
    "windows-modules": re.compile(
        r"[ \t]*(?:[0-9]{1,3}(?:,|[ \t])[ \t]*)?[\w.-]{1,60}\.(?i:exe|dll|sys|drv|ocx)(?:![\w:~<>@?$`., *&-]{1,200})?\+0x[0-9a-fA-F]{1,8}[ \t]*"
    ),
}  # fmt: skip
"""Frames with which a stack without a head may begin."""

_JAVA_FILE = re.compile(r"\((?:[\w$-]+\.(?:java|kt|scala|groovy|clj):[0-9]+|Native Method)\)$")
"""End of a Java frame with a file name; debuggers print such frames without `at`."""

SLOW = re.compile(
    r"\b(?:found slow \w+|slow (?:function|task|callback|operation|tick|loop)|(?:is |was |been |got )?(?:stuck|hung|blocked)"
    r"(?: (?:at|in) \S{1,80})?(?: for [0-9.]+ ?\w+)?|took too long)\b",
    re.I,
)
"""Words with which a program logs that one of its threads is stuck; the stack of that thread follows."""

SLOW_REQUEST = "slow request"
"""State of a stack in the slow log of PHP-FPM: the request has taken longer than it may at that moment."""

_OF_THREAD = re.compile(r"\b(?:tid|thread)(?:[ :=#]| id[ :=]){1,2}(?P<lwp>[0-9]{1,10})\b", re.I)

_HEADLESS_BEGIN = ("at ", "#0", "frame #0", "* frame #0", "0 ")

_OF_PROCSTAT = re.compile(
    r"[ \t]*(?P<pid>[0-9]{1,10})[ \t]+(?P<lwp>[0-9]{5,10})[ \t]+(?P<name>\S{1,40})[ \t]+(?:\S.{0,40}?)?[ \t](?P<frames>mi_switch\b.*)"
)
"""A thread of FreeBSD's procstat -kk, which prints the whole stack on one line."""

_FOR_MINUTES = re.compile(r"(?:^|, )([0-9]{1,9}) minutes")
_CPU = re.compile(r" cpu=([0-9.]{1,20})(ms|s)\b")
_ELAPSED = re.compile(r" elapsed=([0-9.]{1,20})(ms|s)\b")
_NID = re.compile(r" nid=(0x[0-9a-f]{1,16}|[0-9]{1,18})\b")
_JMX = re.compile(
    r'" Id=(?P<lwp>[0-9]{1,18}) (?:in )?(?P<state>[A-Z_]+)(?: (?:on|at) (?P<waits>[\w.$]+@[0-9a-f]+))?'
    r'(?: owned by "(?P<owner>[^"]*)")?'
)
_VISUAL = re.compile(r'" - Thread t@(?P<lwp>[0-9]{1,18})')
"""Text that VisualVM and JConsole print after the name of a thread."""

_STATE_OF_HEAD = re.compile(
    r" (?:nid=\S+|virtual) (?:\[[0-9]+\] )?(?P<state>[A-Za-z.()][^\[]*)(?:\[0x[0-9a-f]+\][ \t]*)?$"
)
_MUTEX = re.compile(r"\((?:__)?(?:mutex|futex|rwlock|lock)=(?:0x)?([0-9a-f]{4,16})\b")
_GO_LOCK = re.compile(r"sync\.\(\*(?:RW)?Mutex\)\.(?:R?Lock|lockSlow|rLockSlow)\(0x([0-9a-f]{4,16})[,)]")

Stack = dict[str, Any]
"""An open stack: style, lines, pid, lwp, comm, frames, state, locks. JSON-able."""


def opens(line: str, no: int, pid: int | None, begins: bool = True) -> Stack | None:
    """Return a new stack if a line begins one, else None: with a head, or with a frame where no head is needed.

    `pid` is the process in the command above. `begins` is True for the first line of a paragraph, where a stack may
    begin with a frame.
    """
    bare = line.lstrip(" \t")
    counted = (" @ 0x" in bare or "% " in bare or " Id: " in bare[:12]) and bare[0].isdigit()
    if bare.startswith(_MAYBE_HEAD) or counted or "[pool " in bare:
        for style in STYLES:
            if style.head and style.head.fullmatch(line):
                return _headed(style, line, no, pid)
    for name, frame in _HEADLESS.items():
        if (
            (begins or name == "delve")  # only delve prints a frame 0 in this form
            and (bare.startswith(_HEADLESS_BEGIN) or "`" in bare or "+0x" in bare or _JAVA_FILE.search(bare))
            and frame.fullmatch(line)
        ):
            opened = _stack(_BY_NAME[name], no, pid)
            goes_on(opened, line, no)
            opened["cut"] = name == "java"
            return opened
    if begins and bare.startswith("java.lang.Thread.State: "):
        opened = _stack(_BY_NAME["java"], no, pid)
        goes_on(opened, line, no)
        return opened
    if "mi_switch" in line and (listed := _OF_PROCSTAT.fullmatch(line)):
        opened = _stack(_BY_NAME["mdb"], no, _whole(listed["pid"]))
        names = listed["frames"].split()[:MOST_FRAMES]
        return opened | {"lwp": _whole(listed["lwp"]), "comm": listed["name"], "frames": names, "at": [no] * len(names)}
    kernel = _BY_NAME["kernel"]
    if "[<" in line and kernel.frame.fullmatch(line):
        front = OF_PROCESS.search(line)
        opened = _stack(kernel, no, int(front["pid"]) if front else pid)
        goes_on(opened, line, no)
        return opened
    return None


def in_log(line: str, no: int) -> Stack | None:
    """Return the stack of a thread of Ruby that a line of a log begins.

    >>> in_log("2024-01-02T03:04:05.250Z pid=7 tid=ab WARN: Thread TID-q1 processor", 4)["comm"], in_log("03:04:05 Thread pool full", 5)
    ('q1 processor', None)
    """
    style = _BY_NAME["ruby"]
    return _headed(style, line, no, None) if style.head and style.head.fullmatch(line) else None


def below_log(line: str, no: int, said: tuple[int, str]) -> Stack | None:
    """Return a new stack if its first frame stands below a log line about a stuck thread, else None.

    `said` is number and text of the log line.

    >>> below_log("    @     0x7f0d3e2d2f43  pthread_cond_wait", 8, (7, "Thread 4711 stuck at a.cc:12 for 1234ms:"))["lwp"]
    4711
    """
    style = _BY_NAME["addresses"]
    found = SLOW.search(said[1])
    if found is None or not style.frame.fullmatch(line):
        return None
    opened = _stack(style, said[0], None)
    thread = _OF_THREAD.search(said[1])
    opened["lwp"], opened["state"] = _whole(thread["lwp"]) if thread else None, found[0]
    goes_on(opened, line, no)
    return opened


def _headed(style: Style, line: str, no: int, pid: int | None) -> Stack:
    """Return a new stack with the facts in its head."""
    found = style.head.fullmatch(line) if style.head else None
    named = found.groupdict() if found else {}
    of = named.get("pid")
    opened = _stack(style, no, (_whole(of) if of else None) or pid)
    opened["comm"] = named.get("name") or None
    opened["lwp"] = _whole(named.get("lwp") or _hex(named.get("hex") or named.get("hex2")))
    opened["state"] = named.get("state") or None
    if named.get("n"):
        opened["weight"] = float(named["n"])
    if named.get("s"):
        opened["state"], opened["waited_s"] = "D", float(named["s"])
    if named.get("hot"):
        opened["event"], opened["weight"] = HOT, float(named["hot"])
    if style.name == "go":
        minutes = _FOR_MINUTES.search(opened["state"] or "")
        opened["waited_s"] = float(minutes[1]) * 60 if minutes else None
        opened["comm"] = f"goroutine {named['lwp']}"
    elif style.name == "java":
        _head_of_java(opened, line)
    elif style.name == "php":
        opened["state"] = SLOW_REQUEST
    return opened


def _head_of_java(opened: Stack, line: str) -> None:
    """Add to a stack the facts in a head of jstack or of a management bean, except the name."""
    if jmx := _JMX.search(line):
        opened["lwp"], opened["state"] = _whole(jmx["lwp"]), jmx["state"]
        opened["waits_for"], opened["held_by"] = jmx["waits"], jmx["owner"]
        return
    nid = _NID.search(line) or _VISUAL.search(line)
    opened["lwp"] = _whole(nid[1]) if nid else None
    for name, pattern in (("cpu_s", _CPU), ("age_s", _ELAPSED)):
        if figure := pattern.search(line):
            opened[name] = _number(figure[1], 1e-3 if figure[2] == "ms" else 1.0)
    if state := _STATE_OF_HEAD.search(line):
        opened["state"] = state["state"].rstrip()


def _stack(style: Style, no: int, pid: int | None) -> Stack:
    return {
        "style": style.name, "line_no": no, "line_end": no, "pid": pid, "lwp": None, "comm": None, "frames": [], "at": [],
        "cut": False, "blank": False, "state": None, "waited_s": None, "waits_for": None, "held_by": None, "holds": [],
        "cpu_s": None, "age_s": None, "weight": 1.0, "given_up": [],
    }  # fmt: skip


def _hex(text: str | None) -> str | None:
    return f"0x{text}" if text else None


def _number(text: str, factor: float) -> float | None:
    try:
        return float(text) * factor
    except ValueError:
        return None


def _whole(text: str | None) -> int | None:
    if not text or len(text) > 20:
        return None
    number = int(text, 16 if text.lower().startswith("0x") else 10)
    return number if number < 2**63 else None


def goes_on(stack: Stack, line: str, no: int) -> bool:
    """Add a line to an open stack; return False and change nothing if the line does not belong to it."""
    style = _BY_NAME[stack["style"]]
    if stack["blank"] and not (style.below_blank and style.below_blank.fullmatch(line)):
        return False
    found = style.frame.fullmatch(line)
    if style.name == "java" and line.lstrip(" \t").startswith("- "):
        found = None
    if style.kernel and found and (front := OF_PROCESS.search(line)) and int(front["pid"]) != stack["pid"]:
        return False
    if found and style.name == "gdb" and stack["frames"] and line.lstrip(" \t").startswith("#0 "):
        return False
    if found is None:
        more = next((made for pattern in style.more if (made := pattern.fullmatch(line))), None)
        if more is None:
            return False
        if style.name == "hot-threads" and stack["frames"]:
            stack["full"] = True  # the stack of most snapshots comes first; further ones are left out
        _say(stack, more.groupdict())
    elif stack.get("full"):
        pass
    else:
        _frame(stack, style, found, line, no)
    stack["blank"] = False
    stack["line_end"] = no
    return True


def _frame(stack: Stack, style: Style, found: re.Match[str], line: str, no: int) -> None:
    if len(stack["frames"]) >= MOST_FRAMES:
        stack["cut"] = True
        return
    named = found.groupdict()
    name = (named["f"] or named.get("f2") or "").strip()
    if named.get("unknown"):
        return
    if named.get("file"):  # `wait` of Python is not that of the C library
        name = f"{name} ({named['file']})"
    elif style.name == "javacore":
        name = name.replace("/", ".")
    if stack["waits_for"] is None and len(stack["frames"]) < 4:
        lock = _GO_LOCK.search(line) if style.name == "go" else _MUTEX.search(line) if style.name == "gdb" else None
        if lock:
            stack["waits_for"] = f"0x{lock[1]}"
    elif style.name == "go" and (lock := _GO_LOCK.search(line)) and len(stack["frames"]) < 5:
        stack["waits_for"] = f"0x{lock[1]}"  # the read-write lock stands above the mutex inside it
    stack["frames"].append(name)
    stack["at"].append(no)


def _say(stack: Stack, said: dict[str, str | None]) -> None:
    """Add to a stack the facts about thread and locks from a line between the frames."""
    if said.get("state"):
        stack["state"] = said["state"]
    if said.get("lwp"):
        stack["lwp"] = _whole(said["lwp"])
    if cpu := said.get("cpu"):
        stack["cpu_s"] = _number(cpu, 1.0)
    if lock := said.get("waits") or said.get("waits2") or said.get("waits3"):
        stack["waits_for"] = lock
    if said.get("owner"):
        stack["held_by"] = said["owner"]
    if given := said.get("object"):
        stack["given_up"] = [*stack["given_up"], given][:MOST_LOCKS]
    if (lock := said.get("locked") or said.get("locked2")) and len(stack["holds"]) < MOST_LOCKS:
        stack["holds"].append(lock)
    if said.get("kept"):
        stack["kept"] = True


def row_of(stack: Stack) -> dict[str, Any] | None:
    """Return the row of `profile_stacks` of a finished stack; None if it has neither a frame nor a lock's owner."""
    frames: list[str] = stack["frames"]
    at: list[int] = stack["at"]
    style = _BY_NAME[stack["style"]]
    if style.name == "python-last" and not stack.get("kept"):
        return None  # the traceback of an exception does not show where a thread is now
    if not frames and not (stack["held_by"] and stack["comm"]):
        return None
    if style.outermost_first:
        frames, at = frames[::-1], at[::-1]
    holds = [lock for lock in dict.fromkeys(stack["holds"]) if lock not in stack["given_up"]]
    holds = [lock for lock in holds if lock != stack["waits_for"]]
    kernel = style.kernel and not any("`" in f and not f.startswith(_KERNEL_MODULES) for f in frames)
    return {
        "line_no": stack["line_no"], "line_end": stack["line_end"], "source": "text", "weight": stack["weight"], "unit": "samples",
        "pid": stack["pid"], "lwp": stack["lwp"], "comm": stack["comm"], "frames": frames, "leaf": frames[0] if frames else None,
        "kernel": kernel, "complete": not stack["cut"], "frame_lines": at, "state": stack["state"], "waited_s": stack["waited_s"],
        "waits_for": stack["waits_for"], "held_by": stack["held_by"], "holds": holds or None, "cpu_s": stack["cpu_s"],
        "age_s": stack["age_s"], "event": stack.get("event"),
    }  # fmt: skip


_KERNEL_MODULES = ("unix`", "genunix`", "zfs`", "ip`", "sockfs`", "nfs`", "ufs`", "procfs`", "specfs`", "doorfs`")
