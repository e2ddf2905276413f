r"""Recognise lines without a stamp in which run-times and build tools report an error, by the form of each tool.

An exception with its message (Java, .NET, Python, Ruby, Node.js), a panic of Go or Rust, an end of V8, Python or the Java machine, a
report of a sanitizer, a step of make, ninja, npm, Gradle or BuildKit that failed, an alarm of Puma, a warning of Node.js, a line of a
collector without any stamp, a reason in the JSON of a service's reply,
a line of Ceph's health, a warning of Kubernetes, an answer that refuses.

    >>> severity_of_program("Caused by: java.net.ConnectException: Connection refused")
    'error'
    >>> severity_of_program("fatal error: all goroutines are asleep - deadlock!")
    'fatal'
"""

from __future__ import annotations

import re

LONGEST = 2000
"""Maximum number of characters of a line that is examined."""

_EXCEPTION = re.compile(
    r'[ \t]*(?:Caused by: |Suppressed: |Exception in thread "[^"]{0,100}" |Unhandled exception\. |Uncaught |-{2,}> )?'
    r"(?P<name>(?:[A-Za-z_$][\w$]*(?:\.|::|/))*[A-Z][\w$]*(?:Error|Exception|Timeout|TimedOut|Refused|Interrupt|Exit|Failure))"
    r"(?:(?P<says>: \S.*| \(.*\).*)|:?)"
)
_FATAL = re.compile(
    r"(?:PHP |\S{1,120}: )?(?i:fatal error): .+"
    r"|panic: .+"
    r"|thread '[^']{1,80}' (?:\([0-9]+\) )?panicked at .+"
    r"|Fatal Python error: .+"
    r"|Terminating due to java\.lang\.OutOfMemoryError.*"
    r"|# {1,2}(?:There is insufficient memory for the Java Runtime|Native memory allocation \(|A fatal error has been detected by the"
    r"|SIG[A-Z]{2,5} \(0x).*"
    r"|==[0-9]{1,10}== ?ERROR: \w+Sanitizer: .+"
)
_FAILED = re.compile(
    r"SUMMARY: \w+Sanitizer: (?![0-9,]{1,25} byte\(s\) leaked).+"
    r"|[gd]?make(?:\[[0-9]+\])?: \*\*\* .+"
    r"|npm (?:ERR!|error) (?:code|errno|network|syscall|signal|command failed)\b.*"
    r"|FAILED: .+|FAILURE: Build failed.*|> Task \S+ FAILED"
    r"|#[0-9]{1,4} ERROR: .+"
    r"|DAMN ! worker .+"
    r"|Transaction \(Process ID [0-9]{1,6}\) was deadlocked .+"
    r"|(?:Memory|Recursion)Error"
    r"|-{1,3}[ \t]{1,8}(?:FetchError|VCL_Error)[ \t]{1,12}.+"
    r"|[ \t]*(?:<\?xml[^>]{1,80}\?>)?<Error><Code>[A-Za-z]{3,80}</Code>.*"
    r"|\*\*\* uWSGI listen queue of socket .+ full !!! \(.+"
    r"|(?:Error response from daemon|ERROR|error): Get \"https?://[^\"]{1,300}\": .+"
    r"|Timeout \([0-9:.]{5,20}\)!"
    r"|(?:[\w.:]{1,120}: )?(?:Timed? ?[Oo]ut) (?:performing|awaiting|expired|exceeded|occurred|waiting for|while waiting|after [0-9]).*"
    r"|\[[0-9]{1,10}\] ! .+"
)
_WARNED = re.compile(r"\(node:[0-9]{1,10}\) (?:\[[A-Z0-9_]{3,40}\] )?(?:[A-Za-z]{0,60}Warning): .+")
_CEPH = re.compile(
    r"[ \t]*(?:(?P<whole>HEALTH_(?:WARN|ERR)) \S.*|\[(?:WRN|ERR)\] [A-Z_]{3,60}: .+|[0-9]+ (?:ops|requests) are blocked > [0-9].*"
    r"|[0-9]+ osds? have slow requests.*|pg \S+ is (?:stuck|down|incomplete|undersized)\b.*|osd\.[0-9]+ is (?:down|full|near ?full)\b.*"
    r"|mds\.\S+: .+ (?:blocked|behind|failing to respond)\b.*)"
)
"""Line of `ceph health detail` about a component with a problem."""

_REPLIED = re.compile(
    r"[ \t]*\"?\[?[a-z]{2,30}(?:_[a-z]{2,30}){1,6}_exception\]?:? .+"
    r"|[ \t]*\"(?i:reason|error|errors|message|details?|error_description|exception|cause|fault|errmsg)\"[ \t]?:[ \t]?\"(?P<why>[^\"\\].*)"
)
"""Part of a service's JSON reply: the name of an exception, or a member named as a reason (`reason`, `message` ...)."""

_EVENT = re.compile(
    r"[ \t]*(?:\S{1,20}[ \t]{1,8}){0,2}Warning[ \t]{1,16}(?:[A-Z][a-z0-9]{1,30}[A-Z][A-Za-z0-9]{0,60}|BackOff|Unhealthy|Failed|Evicted|Preempted)"
    r"[ \t]{1,16}\S.*"
)
"""A warning among the events of Kubernetes, without the heading of their table."""

_STATUS = re.compile(
    r"(?:[<] |[ \t]*)HTTP/[0-9.]{1,3} (?:408|425|429|5[0-9]{2})(?: [A-Za-z -]{2,60})?[ \t]*"
    r"|(?:googleapi|[\w.-]{1,60}): Error [45][0-9]{2}: .+"
    r"|[ \t]*(?:An error occurred|botocore\.\S+: An error occurred) \([A-Za-z.]{3,80}\) when calling the .+"
    r"|[ \t]*- Quota '[^']{1,60}' exceeded\..*"
    r"|(?:[A-Z][a-z]{2,7}) \"https?://[^\"]{1,300}\": .+"
    r"|(?:[\w .:-]{1,60}: )?rpc error: code = (?:Unavailable|DeadlineExceeded|ResourceExhausted|Internal|Aborted) desc = .+"
)
"""An answer of a server that could not serve, or would not yet, as a client prints it."""

_WHY = re.compile(
    r"(?i)\b(?:rejected|refused|timed? ?out|timeout|too large|too many|exceed(?:s|ed)|unavailable|exception|fail(?:ed|ure|s)?|cannot|could not"
    r"|unable to|overload(?:ed)?|throttl(?:ed|ing)|deadlock|exhausted|denied|no space|out of memory|not available|circuit.?breaker|unhealthy)\b"
)

_LEVELLED = re.compile(
    r"[ \t]{0,4}(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|SEVERE|CRITICAL|FATAL)[ \t]{1,8}"
    r"(?:\[[^\]]{1,200}\]|\([^)]{1,200}\)|[A-Za-z_][\w$]{0,60}(?:(?:\.|::|/)[\w$]{1,80}){1,10})[ \t:].+"
)
"""An entry of a log that begins with its severity and the name of a logger, a thread or a class, and has no stamp."""

_COLLECTOR = re.compile(r"(?:\[[a-z]+(?:,[a-z0-9]+)* *\])+ GC\([0-9]+\) .+")
"""A line of HotSpot with decorations of which none is a time (`-Xlog:gc*:::tags`)."""

MAYBE = re.compile(
    r"\] ! |^[ \t]{0,4}(?:TRACE|DEBUG|INFO|NOTICE|WARN|ERROR|SEVERE|CRITICAL|FATAL)"
    r"|Timed [Oo]ut |^\(node:|rror|xception|imeout|TimedOut|Refused|Interrupt|Exit|Failure|panic|ERROR|FAIL|Terminating due|^#|SUMMARY|\*\*\*|npm |DAMN"
    r"|deadlocked"
    r"|FetchE|VCL_E|GC\("
    r"|HEALTH_|\[WRN\]|are blocked > |have slow req|^[ \t]*(?:pg|osd|mds)[ .]"
    r"|!!! \(|Warning[ \t]|HTTP/[0-9]|An error occurred \(|- Quota '|\"https?://|rpc error:"
    r"|_exception|\"(?i:reason|error|errors|message|details?|error_description|cause|fault|errmsg)\"[ \t]?:"
)
"""Quick test: parts of which each of these lines has at least one; most other lines have none."""


def severity_of_program(line: str) -> str | None:
    """Return the severity of a line that has one of these forms, None for any other line.

    An exception without a message counts only with its package or module: "Error" alone may be a heading.

    >>> severity_of_program("KeyError: 'id'"), severity_of_program("Error"), severity_of_program("app.errors.TimeoutError")
    ('error', None, 'error')
    >>> severity_of_program("[71] ! Terminating timed out worker: 9"), severity_of_program("(node:7) DeprecationWarning: old")
    ('error', 'warning')
    >>> severity_of_program("[gc] GC(7) Pause Full (System.gc()) 9M->4M(20M) 8.1ms"), severity_of_program("make: *** [a.o] Error 1")
    ('info', 'error')
    >>> severity_of_program('  "reason": "queue is full, task rejected",'), severity_of_program('"message": "order stored"')
    ('error', None)
    >>> severity_of_program("9 ops are blocked > 65.536 sec on osd.4"), severity_of_program("osd.4 is up")
    ('warning', None)
    >>> severity_of_program("  Warning  FailedMount  9s (x3 over 1m)  kubelet  Unable to attach"), severity_of_program("HTTP/1.1 429 Too Many Requests")
    ('warning', 'error')
    >>> severity_of_program('*** uWSGI listen queue of socket ":8000" (fd: 3) full !!! (65/64) ***')
    'error'
    >>> severity_of_program("WARN  [c.acme.Pool] (worker-3) late"), severity_of_program("ERROR 7"), severity_of_program("INFO about this")
    ('WARN', None, None)
    >>> severity_of_program("-   FetchError     first byte timeout"), severity_of_program("PHP Fatal error:  Out of memory")
    ('error', 'fatal')
    >>> severity_of_program("Timeout performing GET user:7, inst: 1"), severity_of_program("Timeout: 30")
    ('error', None)
    >>> severity_of_program("HTTP/1.1 200 OK"), severity_of_program("Warning signs were seen before"), severity_of_program("Warning  This is late")
    (None, None, None)
    >>> severity_of_program('    "[shard_lock_exception] rejected: lock is held"')
    'error'
    """
    if len(line) > LONGEST or not MAYBE.search(line):
        return None
    text = line.rstrip()
    if _FATAL.fullmatch(text):
        return "fatal"
    if _FAILED.fullmatch(text):
        return "error"
    if _STATUS.fullmatch(text):
        return "error"
    if _WARNED.fullmatch(text) or _EVENT.fullmatch(text):
        return "warning"
    if found := _LEVELLED.fullmatch(text):
        return found["level"]
    if _COLLECTOR.fullmatch(text):
        return "info"
    if found := _CEPH.fullmatch(text):
        return "error" if found["whole"] == "HEALTH_ERR" else "warning"
    replied = _REPLIED.fullmatch(text)
    if replied and (replied["why"] is None or _WHY.search(replied["why"])):
        return "error"
    found = _EXCEPTION.fullmatch(text)
    if found and (found["says"] or any(sign in found["name"] for sign in (".", "::"))):
        return "error"
    return None
