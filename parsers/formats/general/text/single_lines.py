"""Read single lines of any text: stamps with messages, names with values, complaints of programs, words of a person."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parsers.text.times import month, wall_seconds

LONGEST = 400
"""Maximum number of characters of a line that may be more than a message of a log."""

_CLOCK = r"(?P<h>[0-2]?[0-9]):(?P<mi>[0-5][0-9])(?::(?P<s>[0-6][0-9])(?:[.,](?P<f>[0-9]{1,9}))?)?"
_ZONE = r"(?: ?(?P<zone>Z\b|UTC\b|GMT\b|[+-][0-9]{2}:?[0-9]{2}\b))?"
_END = r"[\])>]?(?=[\s,;:|\])-]|$)"
_SECONDS = r"(?P<h>[0-2][0-9]):(?P<mi>[0-5][0-9]):(?P<s>[0-6][0-9])(?:[.,](?P<f>[0-9]{1,9}))?"
_WEEKDAY = r"[^\W\d_]{1,5}\.?,?"
"""Day of the week in any language, whole or short: Mon, Mo, lun., пн."""
_HALF_DAY = _SECONDS.replace("[0-2][0-9]", "[01]?[0-9]")
STAMPS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?P<y>(?:19|20)[0-9]{2})-(?P<mo>[01][0-9])-(?P<d>[0-3][0-9])-(?P<h>[0-2][0-9])\.(?P<mi>[0-5][0-9])\.(?P<s>[0-6][0-9])"
        r"\.(?P<f>[0-9]{6})[+-][0-9]{3}(?= )",
        rf"(?:--|[\[(<])?(?P<y>(?:19|20)[0-9]{{2}})[-/.](?P<mo>[01]?[0-9])[-/.](?P<d>[0-3]?[0-9])[T_ ] ?{_CLOCK}{_ZONE}{_END}",
        rf"[\[(<]?(?:{_WEEKDAY} )?(?P<mo>[^\W\d_]{{3,5}}\.?) +(?P<d>[0-9]{{1,2}}) {_SECONDS}(?: (?P<zone>[A-Z]{{3,4}}))?"
        rf" (?P<y>(?:19|20)[0-9]{{2}}){_END}",
        r"(?:\S+ \S+ \S+ |(?:[\w.-]{1,60}(?:\[[0-9]{1,10}\])?: )?[\w.:\[\]-]+ )?"
        rf"\[(?P<d>[0-9]{{2}})/(?P<mo>[A-Z][a-z]{{2}})/(?P<y>[0-9]{{4}}):{_SECONDS}{_ZONE}\]",
        rf"[\[(<]?(?P<d>[0-3]?[0-9])\.(?P<mo>[01]?[0-9])\.(?P<y>(?:19|20)[0-9]{{2}}),? {_CLOCK}{_ZONE}{_END}",
        r"[\[(<]?(?P<y>(?:19|20)[0-9]{2})(?P<mo>[01][0-9])(?P<d>[0-3][0-9])T(?P<h>[0-2][0-9]):?(?P<mi>[0-5][0-9]):?(?P<s>[0-6][0-9])"
        rf"(?:[.,](?P<f>[0-9]{{1,9}}))?{_ZONE}{_END}",
        rf"(?:[0-9]{{1,10}}:[XCSM] )?[\[(<]?(?P<d>[0-3]?[0-9])[-/ ](?P<mo>[A-Z][a-z]{{2}})[-/ ](?P<y>(?:19|20)[0-9]{{2}})(?:,? |[T:] ?){_SECONDS}"
        rf"{_ZONE}{_END}",
        rf"[\[(<]?(?:(?P<mo>[A-Z][a-z]{{2}}) (?P<d>[0-9]{{1,2}}), |(?P<m2>[01]?[0-9])/(?P<d2>[0-3]?[0-9])/)(?P<y>(?:19|20)[0-9]{{2}}),? {_HALF_DAY}"
        rf" (?P<half>[AP])M{_END}",
        rf"[A-Z], \[(?P<y>(?:19|20)[0-9]{{2}})-(?P<mo>[01][0-9])-(?P<d>[0-3][0-9])T{_SECONDS}(?: #[0-9]{{1,10}})?\]",
        r"\[(?P<m2>[01]?[0-9])/(?P<d2>[0-3]?[0-9])/(?P<yy>[0-9]{2}) (?P<h>[0-2]?[0-9]):(?P<mi>[0-5][0-9]):(?P<s>[0-6][0-9]):(?P<f>[0-9]{3})"
        r" (?:UTC|GMT|[A-Z]{2,5})\]",
        rf"[\[(<]?{_SECONDS}{_END}",
        rf"[IWEFD](?P<y>(?:19|20)[0-9]{{2}})(?P<mo>[01][0-9])(?P<d>[0-3][0-9]) {_SECONDS}(?=\s)",
        rf"[IWEFD](?P<yy>[0-9]{{2}})(?P<mo>[01][0-9])(?P<d>[0-3][0-9]) {_SECONDS}(?=\s)",
        rf"(?P<yy>[0-9]{{2}})/(?P<mo>[01][0-9])/(?P<d>[0-3][0-9]) {_SECONDS}(?= +(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)",
        r"[\[(<]?(?P<epoch>1[0-9]{9})(?:\.(?P<f>[0-9]{1,9}))?[\])>]?(?=[\s,;:|]|$)(?! bytes\b)",
    )
)
MAYBE_STAMPED = re.compile(
    r"[IWEFD](?:[0-9]{6}|(?:19|20)[0-9]{6}) |[A-Z], \[|[0-9]{1,10}:[XCSM] "
    r"|(?:--|[\[(<])?(?:[0-9]{1,4}[-/.:]|[0-9]{1,2} [A-Z]|(?:19|20)[0-9]{6}T|[^\W\d_]{1,5}\.?,? {1,2}(?:[^\W\d_]{3,5}\.? {1,2})?[0-9]|1[0-9]{9})"
    r"|\S+ \S+ \S+ \[[0-9]{2}/|(?:[\w.-]{1,60}(?:\[[0-9]{1,10}\])?: )?[\w.:\[\]-]+ \[[0-9]{2}/"
)
_YEARLESS = (
    re.compile(rf"[IWEFD](?P<mo>[01][0-9])(?P<d>[0-3][0-9]) {_SECONDS}(?=\s)"),
    re.compile(rf"[\[(<]?(?:[A-Z][a-z]{{2}},? )?(?P<mo>[^\W\d_]{{3,5}}\.?) +(?P<d>[0-9]{{1,2}}) {_SECONDS}{_END}"),
    re.compile(rf"[\[(<]?(?P<mo>[01][0-9])-(?P<d>[0-3][0-9]) {_SECONDS}{_END}"),
    re.compile(rf"(?P<d>[0-3]?[0-9]) (?P<mo>[A-Z][a-z]{{2}}) {_SECONDS}{_END}"),
)
"""Stamps of klog and glog (I0323 10:00:01.123456), of syslog in any language, of logcat, and of Redis before 4.0."""
_BEFORE = re.compile(
    r"(?P<who>[A-Za-z][\w.-]{0,60} {1,30}\| {1,4})?"
    r"(?:(?P<level>\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|SEVERE|CRITICAL|FATAL|debug|info|notice|warn|warning|error|fatal)\]?:?"
    r" {1,8}(?:\[[^\]]{1,120}\]:? {1,8})?)|[0-9]{1,10}:[A-Z] |\[[0-9]{1,10}\] | {4}(?=20[0-9]{2}/[0-9]{2}/[0-9]{2} [0-9:]{8} \[[A-Z]{3,5}\] )"
    r"|\[ [A-Z] (?=20[0-9]{2}-)|(?:https?|h2|grpcs|wss?) (?=20[0-9]{2}-)|(?:[0-9]{2}:){1,2}[0-9]{4}:[0-9]{5}:[0-9]{5}:)?"
)
"""What stands before a stamp: a container (docker compose), a severity and a thread (logback, as Cassandra has it), or only
four blanks (Consul, Nomad), the severity (Passenger), the protocol (load balancers of AWS) or the numbers of a process: of
Redis (`7:M`), of NATS (`[7]`), of a thread of Sybase (`00:0002:00000:00007:`)."""
_UPTIME = re.compile(r"(?:(?:[\w.-]{1,60} )?kernel: )?\[ *(?P<t>[0-9]{1,9}\.[0-9]{1,9})s?\](?=[\s\[]|$)")
"""Seconds since the start: of the kernel, of a run-time's log."""
_RUNTIME = re.compile(
    r"gc [0-9]{1,9} @(?P<go_s>[0-9]{1,9}\.[0-9]{1,6})s [0-9]{1,3}%: |(?P<java_s>[0-9]{1,9}\.[0-9]{3}): \["
    r"|\[[0-9]{1,10}:0x[0-9a-f]{1,16}\] {1,12}(?P<v8_ms>[0-9]{1,12}) ms: (?=Scav|Mark|Min)"
)
"""Beginnings of garbage collector lines with the time since the start: Go (gctrace), Java (PrintGCTimeStamps), V8
(trace-gc)."""
_KLOG = re.compile(r"(?P<letter>[IWEFD])(?:[0-9]{2}){2,4} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]")
KLOG = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL", "D": "DEBUG"}
"""Severities of klog and glog by the letter before the date."""
_FIELDS = re.compile(r"[\w@.-]{1,30}=")
_FIELD = re.compile(
    r"(?:^| )(?:time|ts|timestamp|@timestamp|t|date)=\"?(?P<stamp>[0-9][^\"=]{7,38}?)(?=\"|\s[\w@.-]+=|$)"
)
_SAYS = re.compile(r"(?:^| )(?:msg|message|level|lvl|severity|err|error)=")
"""Fields of logfmt: a line with one of them is a log line, not a list of settings."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A stamp at the beginning of a line.

    `clock`: wall-utc, wall-local, time-of-day, in which `t` counts from 0:00, no-year, in which it counts from the first
    of January, or uptime, in which it counts from the start of a program or host, whose time is unknown.
    """

    clock: str
    t: float
    rest: str


def stamp_of(line: str) -> Stamp | None:
    """Return the stamp that a line begins with.

    >>> stamp_of("2024-01-02T03:04:05Z started"), stamp_of("[03:04:05,5] x").t, stamp_of("12 rows")
    (Stamp(clock='wall-utc', t=1704164645.0, rest='started'), 11045.5, None)
    >>> stamp_of("[Di Mär  2 03:04:05 2021] sdb: late").rest, stamp_of("[ven. août 27 03:04:05 2021] sdb: late").rest
    ('sdb: late', 'sdb: late')
    >>> [stamp_of(line).rest for line in ("[1/2/24 3:04:05:678 CET] 0000002a Monitor W late", "[ W 2024-01-02 03:04:05.25 7/T1 a.cpp:9 ]: full")]
    ['0000002a Monitor W late', '7/T1 a.cpp:9 ]: full']
    >>> stamp_of("192.0.2.7 [02/Jan/2024:03:04:05.250] web pool/s1 0/0/1/2/3 200 9 0/0").rest
    'web pool/s1 0/0/1/2/3 200 9 0/0'
    >>> stamp_of("haproxy[9]: 192.0.2.7:51 [02/Jan/2024:03:04:05.250] web pool/s1 0/0").rest
    'web pool/s1 0/0'
    >>> [stamp_of(line).rest for line in ("7:M 02 Jan 2024 03:04:05.250 * Ready", "02-Jan-2024 03:04:05.250 INFO up", "1/2/2024 3:04:05 PM up")]
    ['* Ready', 'INFO up', 'up']
    >>> stamp_of("W, [2024-01-02T03:04:05.250000 #7]  WARN -- : late")
    Stamp(clock='wall-local', t=1704164645.25, rest='WARN -- : late')
    >>> stamp_of("WARN  [Read-1] 2024-01-02 03:04:05,5 A.java:9 - x").rest, stamp_of("kv-1  | 7:M 02 Jan 2024 03:04:05.5 * x").rest
    ('WARN [Read-1] A.java:9 - x', 'kv-1 | * x')
    >>> stamp_of("    [    9.250000] usb 9-1: late").rest, stamp_of("1900000000 bytes (1.9 GB) copied, 9 s")
    ('usb 9-1: late', None)
    """
    if line[:1] in (" ", "\t"):
        line = line.lstrip(" \t")  # a block of code in a mail or a forum is indented as a whole
    if made := _first_stamp(line):
        return made
    before = _BEFORE.match(line)
    made = _first_stamp(line[before.end() :]) if before and before.end() else None
    if before is None or made is None or not made.rest:
        return None
    return Stamp(
        made.clock, made.t, " ".join((*(before["who"] or "").split(), *(before["level"] or "").split(), made.rest))
    )


def _first_stamp(line: str) -> Stamp | None:
    """Return the stamp at the very beginning of a line."""
    if not MAYBE_STAMPED.match(line):
        return _other_stamp(line)
    found = next(filter(None, (shape.match(line) for shape in STAMPS)), None)
    if found is None:
        return _other_stamp(line)
    part = found.groupdict()
    fraction = float(f"0.{part['f']}") if part.get("f") else 0.0
    rest = line[found.end() :].strip(" \t:|-,")
    if part.get("epoch"):
        return Stamp("wall-utc", float(part["epoch"]) + fraction, rest)
    clock = _hour(int(part["h"]), part.get("half")), int(part["mi"]), int(part["s"] or 0) + fraction
    if part.get("y") is None and part.get("yy") is None:
        at = wall_seconds(1970, 1, 1, *clock) if clock[0] < 24 else None
        return None if at is None else Stamp("time-of-day", at, rest)
    number, year = month(part.get("mo") or part["m2"]), int(part.get("y") or f"20{part['yy']}")
    day = int(part.get("d") or part["d2"])
    at = wall_seconds(year, number, day, *clock) if number and clock[0] < 24 else None
    if at is None:
        return None
    if (offset := _east_s(part.get("zone"))) is None:
        return Stamp("wall-local", at, rest)
    return Stamp("wall-utc", at - offset, rest)


def _hour(hour: int, half: str | None) -> int:
    """Convert an hour to the 24-hour clock; `half` is A (AM), P (PM), or None for an hour of that clock already.

    >>> _hour(12, "A"), _hour(3, "P"), _hour(15, None), _hour(15, "P")
    (0, 15, 15, 24)
    """
    if half is None:
        return hour
    return hour % 12 + (12 if half == "P" else 0) if hour <= 12 else 24


def _other_stamp(line: str) -> Stamp | None:
    """Return a stamp in a logfmt field, a stamp without a year, or one that counts from the start of a program.

    >>> _other_stamp("I0102 00:00:01.5 1 a.go:3] x"), _other_stamp("[12.5s][info][gc] x").t
    (Stamp(clock='no-year', t=86401.5, rest='1 a.go:3] x'), 12.5)
    >>> _other_stamp("gc 7 @3.5s 2%: 0.1+1+0.1 ms clock, 9->9->5 MB, 10 MB goal, 4 P").t, _other_stamp("7.250: [GC 9K->1K(20K)").rest
    (3.5, '[GC 9K->1K(20K)')
    >>> _other_stamp('level=error ts=2024-01-02T03:04:05Z msg="x y"').t
    1704164645.0
    """
    if _FIELDS.match(line) and _SAYS.search(line[:LONGEST]):
        field = _FIELD.search(line[:LONGEST])
        made = stamp_of(field["stamp"]) if field else None
        return Stamp(made.clock, made.t, line.strip()) if made and not made.rest else None
    if counted := _UPTIME.match(line):
        return Stamp("uptime", float(counted["t"]), line[counted.end() :].strip())
    if counted := _RUNTIME.match(line):
        if counted["v8_ms"]:
            return Stamp("uptime", float(counted["v8_ms"]) / 1e3, line[counted.end() :].strip())
        since = float(counted["go_s"] or counted["java_s"])
        return Stamp("uptime", since, line.strip() if counted["go_s"] else line[counted.end() - 1 :].strip())
    found = next(filter(None, (shape.match(line) for shape in _YEARLESS)), None)
    if found is None:
        return None
    number = int(found["mo"]) if found["mo"].isdigit() else month(found["mo"])
    fraction = float(f"0.{found['f']}") if found["f"] else 0.0
    clock = int(found["h"]), int(found["mi"]), int(found["s"]) + fraction
    # 1972 has a 29th of February.
    at = wall_seconds(1972, number, int(found["d"]), *clock) if number and clock[0] < 24 else None
    if at is None:
        return None
    return Stamp("no-year", at - _YEAR_0, line[found.end() :].strip(" \t:|-,"))


_YEAR_0 = wall_seconds(1972, 1, 1) or 0.0


def severity_of(line: str) -> str | None:
    """Return the severity that the first letter of a klog stamp stands for; None for any other line.

    >>> severity_of("E0323 10:00:01.123456 1 a.go:3] x"), severity_of("Error")
    ('ERROR', None)
    """
    found = _KLOG.match(line)
    return KLOG[found["letter"]] if found else None


def _east_s(zone: str | None) -> float | None:
    """Return the seconds east of UTC of a printed zone; None for no zone or an ambiguous zone name."""
    if zone in ("Z", "UTC", "GMT"):
        return 0.0
    if zone is None or zone[0] not in "+-":
        return None
    digits = zone[1:].replace(":", "")
    return (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (-1.0 if zone[0] == "-" else 1.0)


_NUMBER = r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_UNIT = r"(?:%|[A-Za-zµ][A-Za-zµ%]{0,11}(?:/[A-Za-z]{1,6})?)"
FIGURE = re.compile(
    rf"(?P<number>{_NUMBER})[ \t]?(?:(?P<unit>{_UNIT})|\[(?P<held>#?/?{_UNIT})\])?(?:[ \t]*[(\[][^()\[\]]*[)\]])?[,;]?"
)
_WORD = r"[A-Za-z_][\w.%/@$*-]*(?:\[[^\]\s]{0,40}\]|\([^)\s]{0,20}\))?"
_QUOTED = r"[\"'](?P<quoted>[A-Za-z_][^\"']{0,60})[\"']"
EQUAL = re.compile(
    rf"[ \t]*(?:-[-]?)?(?:{_QUOTED}|(?P<name>{_WORD}(?: [\w./()%-]+){{0,6}}))[ \t]*=(?![=>~])[ \t]*(?P<value>.*)"
)
BARRED = re.compile(
    r"[ \t]*\|[ \t]*(?P<name>[A-Za-z][\w.-]{2,62})[ \t]*\|[ \t]*(?P<value>[^|\s][^|]{0,100}?)[ \t]*\|[ \t]*"
)
"""A row of a table of names and values of which people paste the rows without their heading (SHOW STATUS of MySQL)."""
COLON = re.compile(
    rf"[ \t]*(?:{_QUOTED}|(?P<name>{_WORD}(?: [\w./()%#&-]+){{0,5}}))[ \t]*:(?![:/\\=])[ \t]*(?P<value>\S.*)"
)
ONE_WORD = re.compile(rf"[ \t]*(?P<name>{_WORD})[ \t]+(?P<value>{_NUMBER}(?: ?{_UNIT})?)")
MANY_WORDS = re.compile(
    rf"[ \t]*(?P<name>(?:% )?{_WORD}(?: [\w./()%#&-]+){{0,6}}?)(?: {{2,}}|\t+|[ ]?\.{{3,}}[ ]?)[ \t]*(?P<value>{_NUMBER}(?: ?{_UNIT})?)"
)
PHRASE = re.compile(rf"(?P<name>{_WORD}(?: [\w./()%#&:-]+){{0,4}}?) +(?P<value>{_NUMBER}(?:%|{_UNIT}/s)?)")
COUNT = re.compile(rf"(?P<value>{_NUMBER}) (?P<name>{_WORD}(?: [\w./()%-]+){{0,3}})")
SPOKEN = re.compile(
    r"\b(?:i|we|you|it|he|she|they|this|that|the|an?|after|before|for|about|only|until|with|on|since|from|to|in|is|was|are|were"
    r"|has|have|had|than|took|takes|waited|my|our|your|and|or|not)\b",
    re.I,
)
"""Words of sentences: a text that contains one of them is not a name."""
_TOKEN = re.compile(r"(?P<name>[A-Za-z_][\w./-]*)[=:](?P<value>[^\s=]+?)[,;]?")

_NAMED = re.compile(r"(?P<name>[A-Za-z_][\w./-]{1,40})[:=]?")
_SERVER = re.compile(
    r"[ \t]*server[ \t]+(?:(?P<name>[\w.-]{1,60})[ \t]+)?[\w.\[\]-][\w.:\[\]-]{0,80}:[0-9]{1,5}(?P<rest>(?:[ \t]+[\w./:=,-]{1,80}){0,40})[ \t]*;?"
)
_SERVER_LIMIT = re.compile(
    r"(?:^|[ \t])(?P<name>maxconn|max_conns|maxqueue|minconn|fullconn|max_fails)[ =](?P<value>[0-9]{1,9})(?=[ \t]|$)"
)
"""Limits of a backend server in a proxy's configuration (HAProxy, nginx); `_SERVER` matches the whole line."""

MAIL_HEADER = re.compile(
    r"(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Message-ID|In-Reply-To|References|Received|Return-Path|MIME-Version"
    r"|Content-[\w-]+|X-[\w-]+|User-Agent|Von|An|Betreff|Gesendet|Datum):(?: |$)",
    re.I,
)
QUOTED = re.compile(r"[ \t]{0,3}(?:>|&gt;)")
ATTRIBUTION = re.compile(r".{3,120}\b(?:wrote|writes|schrieb|a écrit|escribió):$")
REST_IS_QUOTED = re.compile(r"-{2,}[ ]?(?:Original Message|Ursprüngliche Nachricht|Message d'origine)[ ]?-{2,}|--")
"""Lines below which a mail quotes another one or has its signature, which begins with two dashes."""

ADVICE = re.compile(
    r"\b(?:should|please|try|recommend\w*|suggest\w*|advis\w+|consider|ought|need to|you (?:can|could|may|might|must)|could you"
    r"|can you|would|set (?:it|this|the|your)|(?:in|de)crease|raise|lower|change|add (?:the|this|a)|instead|e\.g\.|for (?:example|instance)"
    r"|(?<![.@-])example(?!\.\w)|such as|if you|bitte|sollte\w*)\b",
    re.I,
)
"""Words of advice or conjecture: what a person writes below them is not a fact about the host."""

_STRERROR = (
    r"Resource temporarily unavailable|Cannot allocate memory|Too many open files|No space left on device|Disk quota exceeded"
    r"|Connection (?:refused|timed out|reset by peer)|Operation timed out|Broken pipe|No route to host|Network is unreachable|Host is down"
    r"|Cannot assign requested address|Address already in use|Temporary failure in name resolution|Name or service not known"
    r"|No buffer space available|Input/output error|Stale (?:NFS )?file handle|Device or resource busy|Text file busy"
    r"|Transport endpoint is not connected|Resource deadlock avoided|No child processes|Argument list too long|Too many links"
)
"""What strerror(3) says of errors that end a call, whoever prints it behind a colon or in brackets."""

COMPLAINT = re.compile(
    r"(?:\^[A-Z])?[ \t]*(?:\S{1,60}: )?\[?(?i:(?P<severity>error|warning|fatal|panic|critical|severe))\]?(?:[ ]?[:\]!]| [0-9]+ \()"
    r"|[ \t]*[A-Z]{2,6}-[0-9]{3,6}: |[ \t]*\(error\) [A-Z]{2,20} |[0-9]{1,3}\. [a-z-]{2,40}: [0-9]{1,9} latency spikes "
    r"|(?:SQL queries: )?\w{1,40} [0-9.]{1,12} ms \([0-9]{1,6} queries including [0-9]"
    r"|[ \t]*<victimProcess id=|GC pool '[^']{1,60}' had collection\(s\): "
    r"|(?:\^[A-Z])?[ \t]*(?:[\w./@-]{1,60}(?:\[[0-9]+\])?: |\* |;; |\*\* |debug[123]: ).*?(?i:timed out|refused|denied|no such (?:file|device|process)"
    r"|cannot|can't|unable to|failed|unreachable|reset by peer|too many|not found|out of memory|no space left|broken pipe|closed by (?:remote|peer)"
    r"|temporarily unavailable|not permitted|no route to host|no servers could|not responding|name or service not known)"
    r"|(?:\^[A-Z])?(?i:(?:[\w./@-]{1,60}: )?Error (?:response )?from \w+|DNS request timed out\."
    r"|Connection (?:closed|reset|refused|timed out|to \S+ (?:closed|timed out))\b"
    r"|Could not open connection to |The connection to the server |Unable to connect to |(?:Resolving|Connecting to|Read error) .{0,200}?(?:failed|timed out)"
    r"|HTTP request sent, awaiting response\.\.\. [45][0-9]{2}|verify error:|connect:errno=|no peer certificate available"
    r"|Segmentation fault|Killed(?: +\S.*)?$|Bus error|Aborted(?: \(core dumped\))?$|Permission denied \(|Request timed out\.?$)"
    r"|[ \t]*[A-Za-z][\w ]{2,60}(?i:failed|failure|error): .{0,200}?(?i:refused|timed out|unreachable|reset by|denied|no route to host)"
    r"|[ \t]*(?:Verify return code|Verification error): (?!0\b|OK).+|curl: \([0-9]{1,3}\) .+"
    r"|\* (?:(?:TLS|SSL)v[0-9.]+ \((?:IN|OUT)\), TLS alert, (?!close notify).+|SSL certificate problem: .+)"
    r"|;; ->>HEADER<<- .*status: (?!NOERROR|NXDOMAIN)[A-Z]+"
    r"|(?:\^[A-Z])?[ \t]*(?:[\w./@-]{1,60}(?:\[[0-9]+\])?: |mount error\([0-9]{1,3}\): |[a-z]\w{1,40}\([A-Z0-9-]{1,20}\): )"
    r".*?(?i:could not |couldn't |can't |denied|timed out|temporary failure in|skew too great|message too long)"
    r"|.{0,80}\bNT_STATUS_(?!OK\b)[A-Z_]+"
    r"|[ \t]*(?:Main PID|Process): [0-9]+ .*(?:status=[1-9]|code=(?:killed|dumped))"
    r"|[ \t]*Active: failed \("
    r"|INFO: (?:task \S{1,60} blocked for more than [0-9]{1,6} sec|rcu\S{0,20} .{0,40}stall)|(?:watchdog: )?BUG: soft lockup - "
    r"|\([a-z]{2,6}[0-9]{1,3}:[\w-]{3,40}:[0-9]{1,3}:[0-9]{1,5}:[0-9a-f]{1,16}\): (?:CAM status: (?!Command Complete)|SCSI sense: (?!NO SENSE|UNIT ATT)"
    r"|.{0,40}\b(?:Retries exhausted|Retrying command)\b)"
    r"|[a-z]{2,10}[0-9]{1,3}: (?:Timeout on slot [0-9]|.{0,60}\b(?:timeout|timed out|not ready)\b)"
    r"|(?:\S{1,120}: )?(?:Main|Control) process exited, code=(?:exited, status=[1-9]|killed|dumped)"
    r"|[ \t]*[0-9]+ slow (?:ops|requests), oldest one blocked for .+"
    r"|[ \t]*tuples: [0-9]+ removed, [0-9]+ remain, [1-9][0-9]{3,} are dead but not yet removable"
    r"|[ \t]*(?:DETAIL: +)?[1-9][0-9]{3,} dead row versions cannot be removed yet"
    r"|[ \t]*removable cutoff: [0-9]+, which was [1-9][0-9]* XIDs old"
    rf"|[^\"'<>]{{0,160}}?(?:: |[(\[])(?:{_STRERROR})"
    r"|[ \t]*(?:Reason: +(?:OOMKilled|CrashLoopBackOff|Error|Evicted|ContainerCannotRun|DeadlineExceeded)|Exit Code: +[1-9][0-9]*)[ \t]*$"
)
"""Lines without a stamp in which a program reports an error."""

DISK_FAILS = re.compile(
    r"SMART overall-health self-assessment test result: (?!PASSED|UNKNOWN)\S.*|SMART Health Status: (?!OK)\S.*"
    r"|Drive failure expected in less than .+"
)
"""Lines that smartctl prints for a failing disk; they read like a person's sentences."""

MAIL_WAITS = re.compile(
    r"\((?:connect to \S{1,200}: |host \S{1,200} (?:said: 4|refused to talk to me: )|Host or domain name not found\b|delivery temporarily suspended: "
    r"|conversation with \S{1,200} timed out|lost connection with |SASL authentication failed|temporary failure\b|mail for \S{1,200} loops back).{0,400}\)"
)
"""Reasons that mailq prints in brackets for a mail that waits in the queue (Postfix)."""

CODED = re.compile(
    r"(?:MESSAGE : )?(?P<code>(?:SQL|ADM|DBI|DB2)[0-9]{4,5}[NCEW])  ?[A-Z].*"
    r"|[0-9]{1,9} secs \([0-9.]{1,9} hrs\) behind the (?:primary|freshest member).*"
    r"|(?:  )?(?:\[[0-9a-f-]{36}\] +)?(?:Completed [0-9]{3} [A-Z][\w ]{1,40} in [0-9]{1,9}ms \("
    r"|[A-Z][\w:]{1,80} (?:Load|Exists\?|Count|Update|Create) \([0-9.]{1,9}ms\) ).*"
    r"|(?:Caused by: |Exception in thread \"[^\"]{0,200}\" )?[a-z][\w$]{0,60}(?:\.[\w$]{1,120}){1,12}(?:Exception|Error)(?:: .*)?"
)
"""Messages whose text may be a sentence: those that begin with a Db2 code (an error) or with the class of a Java
exception (it repeats the complaint of the line above), MongoDB's replication lag of a member, and Rails' lines about a
request and its statements."""

RESOLVED = re.compile(
    r"(?:Firing (?:regular )?|Retrying |Timeout reached on |Initial jitter phase for )transaction [0-9]+\b.*"
    r"|Sending (?:query )?packet with id [0-9]+ .*|(?:\w+ )?[Tt]ransaction [0-9]+ for <[^>]+> on scope .*"
    r"|Processing incoming packet (?:of size [0-9]+ )?on transaction [0-9]+.*"
)
"""Debug lines of systemd-resolved about a query, which people copy without their stamps."""

SEVERITY = re.compile(
    r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|SEVERE|ALERT|EMERG|PANIC)\b"
    r"|\[(debug|info|notice|warn|warning|error|crit|alert|emerg)\]|\blevel=\"?([a-z]+)"
)
CODE = re.compile(r"\b((?:ORA|TNS)-)0*([0-9]{1,5})\b")
_ADDRESSES = frozenset(
    ("http", "https", "ftp", "mailto", "file", "note", "nb", "ps", "fyi", "hi", "hello", "tel", "phone")
)


ENVIRONMENT = re.compile(
    r'[ \t]*(?:envp\[[0-9]+\]:[ \t]+(?P<name>[A-Za-z_]\w*)=(?P<value>.+)|"(?P<quoted>[A-Z_][A-Z0-9_]*)=(?P<held>[^"]+)",?)'
)
"""A variable in a listing of an environment: of a process (pargs -e) or of a container (`"Env": [` of inspect)."""


@dataclass(frozen=True)
class Pair:
    """A name and its value.

    `num` and `unit` are set if the value is a figure. `setting` is True for a configured value, False for a measured
    one. `of` is the subject that the pair belongs to.
    """

    name: str
    value: str
    num: float | None
    unit: str | None
    setting: bool
    of: str | None = None


def figure_of(text: str) -> tuple[float | None, str | None]:
    """Return number and unit of a figure; (None, None) for any other text.

    >>> figure_of("1,024 kB (3 %)"), figure_of("12.5%"), figure_of("5.7.33"), figure_of("94.16 [ms] (mean)")
    ((1024.0, 'kB'), (12.5, '%'), (None, None), (94.16, 'ms'))
    """
    found = FIGURE.fullmatch(text.strip())
    if found is None:
        return None, None
    return float(found["number"].replace(",", "")), found["unit"] or found["held"]


def pairs_of(line: str) -> list[Pair]:
    """Return the names and values in a line; an empty list for a sentence or any other line.

    >>> [(p.name, p.num, p.unit, p.setting) for p in pairs_of("Free buffers       1024")]
    [('Free buffers', 1024.0, None, False)]
    >>> [(p.name, p.num, p.setting) for p in pairs_of("| wsrep_flow_control_sent | 91 |")]
    [('wsrep_flow_control_sent', 91.0, False)]
    >>> [(p.name, p.value, p.setting) for p in pairs_of("max_connections = 100")]
    [('max_connections', '100', True)]
    >>> [(p.name, p.num) for p in pairs_of("    % Time in GC since last GC (%)        9")]
    [('% Time in GC since last GC (%)', 9.0)]
    >>> [(p.name, p.num) for p in pairs_of("cwnd:10 ssthresh:7 mss:1448")], pairs_of("please set swappiness = 10")
    ([('cwnd', 10.0), ('ssthresh', 7.0), ('mss', 1448.0)], [])
    >>> [(p.name, p.value) for p in (*pairs_of("envp[2]: MALLOC_ARENA_MAX=2"), *pairs_of('"LD_PRELOAD=libjemalloc.so.2",'))]
    [('MALLOC_ARENA_MAX', '2'), ('LD_PRELOAD', 'libjemalloc.so.2')]
    """
    if len(line) > LONGEST:
        return []
    if variable := ENVIRONMENT.fullmatch(line):
        name, value = variable["name"] or variable["quoted"], (variable["value"] or variable["held"]).strip()
        return [Pair(name, value, figure_of(value)[0], None, True)]
    if (row := BARRED.fullmatch(line)) and figure_of(row["value"])[0] is not None:
        return [Pair(row["name"], row["value"], *figure_of(row["value"]), False)]
    line = line.removeprefix("STAT ")  # of memcached
    tokens = line.split()
    held = [found for found in map(_TOKEN.fullmatch, tokens) if found]
    if len(held) >= 2 and len(held) * 5 >= len(tokens) * 3:
        return list(_many(held))
    if alternating := _alternating(tokens):
        return alternating
    if served := _SERVER.fullmatch(line):
        limits = _SERVER_LIMIT.finditer(served["rest"])
        return [Pair(m["name"], m["value"], float(m["value"]), None, True, served["name"]) for m in limits]
    for shape, setting in ((EQUAL, True), (COLON, False), (ONE_WORD, False), (MANY_WORDS, False)):
        found = shape.fullmatch(line)
        if found is None:
            continue
        named = found.groupdict()
        name = (named.get("quoted") or named["name"]).strip()
        if shape is COLON and (phrases := _phrases(found["value"], name)):
            return phrases
        made = _pair(name, found["value"].strip(), setting)
        if made is not None or shape in (EQUAL, COLON):
            return [] if made is None else [made]
    return _phrases(line.strip())


def _alternating(tokens: Sequence[str]) -> list[Pair]:
    """Return the pairs of a line in which names and figures alternate; an empty list for any other line.

    >>> [(p.name, p.num, p.unit) for p in _alternating("connect 0.2 total: 1.5s".split())]
    [('connect', 0.2, None), ('total', 1.5, 's')]
    >>> _alternating("waited 5 for 3".split()), _alternating("total 3".split())
    ([], [])
    """
    if len(tokens) < 4 or len(tokens) % 2:
        return []
    named = [_NAMED.fullmatch(token) for token in tokens[::2]]
    figures = [figure_of(token.rstrip(",;")) for token in tokens[1::2]]
    if any(m is None or SPOKEN.fullmatch(m["name"]) or ADVICE.fullmatch(m["name"]) for m in named):
        return []
    if any(num is None for num, _ in figures):
        return []
    return [
        Pair(m["name"], value, num, unit, False)
        for m, value, (num, unit) in zip(named, tokens[1::2], figures, strict=True)
        if m is not None
    ]


def _phrases(text: str, under: str = "") -> list[Pair]:
    """Return the pairs in `a 1, b c 2` or `1 a, 2 b`, all pieces alike; `under` goes in front of each name.

    >>> [(p.name, p.num) for p in _phrases("102 active, 5 idle", "loops")], _phrases("we waited 5")
    ([('loops active', 102.0), ('loops idle', 5.0)], [])
    """
    pieces = text.rstrip(".;").split(", ")
    for shape in (PHRASE, COUNT):
        found = [made for piece in pieces if (made := shape.fullmatch(piece.strip()))]
        if len(found) < len(pieces) or (shape is COUNT and len(pieces) < 2):
            continue
        if any(SPOKEN.search(made["name"]) or ADVICE.search(made["name"]) for made in found):
            return []
        figures = [(f"{under} {made['name']}".strip(), made["value"], figure_of(made["value"])) for made in found]
        return [Pair(name, value, num, unit, False) for name, value, (num, unit) in figures if num is not None]
    return []


def _many(tokens: list[re.Match[str]]) -> Iterator[Pair]:
    for token in tokens:
        num, unit = figure_of(token["value"])
        if token["name"].lower() not in _ADDRESSES:
            yield Pair(token["name"], token["value"], num, unit, num is None)


def _pair(name: str, value: str, setting: bool) -> Pair | None:
    if name.lower() in _ADDRESSES or ADVICE.search(name) or not value:
        return None
    value = value.rstrip(",;").strip() if value[-1] in ",;" else value
    num, unit = figure_of(value)
    if num is not None:
        return Pair(name, value, num, unit, setting)
    words = value.split()
    if len(words) > 8 or (len(words) >= 3 and value[-1] in ".!?") or (not setting and name.count(" ") > 3):
        return None
    return Pair(name, value.strip("\"'"), None, None, True)
