r"""Lines in which servers, wireless cards, tunnels and screens state what is full, lost or late.

nginx stub_status, Apache's server-status, uWSGI's stats, Squid's mgr:info, `varnishstat`, `unbound-control stats`,
`iwconfig`, `netsh wlan show interfaces`, `fping`, `wg show`, the head of `htop`, limits of z/OS UNIX, and sockets
counted by state (`netstat -an | awk ... | sort | uniq -c`).

Each becomes a row as those of `stated_lines` do: what is counted, of whom, how much, of how much. `state` keeps what
the lines above said. Source: nginx, ngx_http_stub_status_module; Apache HTTP Server, mod_status; uWSGI, The uWSGI
Stats Server; Squid, Cache Manager; varnish-counters(7); unbound-control(8); Microsoft Learn,
WLAN_ASSOCIATION_ATTRIBUTES; iwconfig(8); fping(8); wg(8); htop(1); IBM z/OS MVS System Messages, BPXO051I; netstat(8).
"""

from __future__ import annotations

import re
from typing import Any

Stated = tuple[str, str, float, float | None]

MAYBE = re.compile(
    r"(?i)server accepts handled requests|^ [0-9]+ [0-9]+ [0-9]+ *$|requests currently being processed"
    r"|^(?:Busy|Idle)Workers: |\"max_queue\"|IEEE 802\.11|Signal level=|Tx excessive retries|xmt/rcv/%loss"
    r"|latest handshake: |persistent keepalive: |\[[|#*]* *[0-9.]+[%KMGT/]|SYSTEM WIDE LIMITS:|[ \t]Signal +: [0-9]"
    r"|(?:Radio type|Band) +: |file desc|^total\.re[cq]|^(?:MAIN\.)?(?:sess_|thread_queue)"
    r"|^(?:MAX|IPC)[A-Z]{4,12} |^[ \t]*[0-9]+ [A-Z][A-Z_0-9-]{5,14}[ \t]*$"
)
"""What one of these lines has, to try no other one."""

_NGINX = re.compile(r"server accepts handled requests(?: request_time)?[ \t]*")
_ACCEPTED = re.compile(r" (?P<took>[0-9]{1,18}) (?P<kept>[0-9]{1,18}) [0-9]{1,18}(?: [0-9]{1,18})? *")
_APACHE = re.compile(
    r"[ \t]*(?P<busy>[0-9]{1,6}) requests currently being processed, (?:[0-9]{1,6} workers gracefully restarting, )?(?P<idle>[0-9]{1,6}) idle workers\b.*"
)
_WORKERS = re.compile(r"(?P<which>Busy|Idle)Workers: (?P<value>[0-9]{1,6})[ \t]*")
_UWSGI = re.compile(r"\"queue\":[ ]?(?P<used>[0-9]{1,9}),[ ]?\"max_queue\":[ ]?(?P<most>[0-9]{1,9})")
_CARD = re.compile(r"(?P<who>[a-z][\w.@-]{1,20})[ \t]+IEEE 802\.11.*")
_SIGNAL = re.compile(r".*\bSignal level[=:]-(?P<value>[0-9]{1,3}) dBm\b.*")
_RETRIES = re.compile(r".*\bTx excessive retries:(?P<value>[0-9]{1,12})\b.*")
_FPING = re.compile(
    r"(?P<who>\S{1,120}) +: xmt/rcv/%loss = (?P<sent>[0-9]{1,9})/(?P<got>[0-9]{1,9})/[0-9]{1,3}%(?:,.*)?"
)
_SHAKEN = re.compile(r"[ \t]+latest handshake: (?P<age>[0-9a-z, ]{6,80}) ago[ \t]*")
_ALIVE = re.compile(r"[ \t]+persistent keepalive: every .{1,40}")
_AGE = re.compile(r"(?P<n>[0-9]{1,6}) (?P<unit>second|minute|hour|day|week|year)s?")
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 7 * 86400, "year": 365 * 86400}
_METER = re.compile(
    r"(?P<who>[0-9]{1,4}|CPU|Mem|Swp)[ \t]*\[[|#*]*[ \t]*(?P<value>[0-9.]{1,12}[%KMGT]?(?:/[0-9.]{1,12}[KMGT]?)?)\]"
)
_OMVS = re.compile(
    r"(?P<who>(?:MAX|IPC)[A-Z]{4,12})[ \t]+(?P<used>[0-9]{1,12})[ \t]+[0-9]{1,12}[ \t]+(?P<most>[0-9]{1,12})[ \t]*\*?[ \t]*"
)
_OMVS_HEAD = re.compile(r"[ \t]*SYSTEM WIDE LIMITS:.*")
_STATES = "CLOSE_WAIT|CLOSE-WAIT|SYN_SENT|SYN-SENT|SYN_RECV|SYN-RECV|SYN_RCVD|SYN_RECEIVED|FIN_WAIT_?[12]|FIN-WAIT-[12]|TIME_WAIT|TIME-WAIT|LAST_ACK|LAST-ACK"
_COUNTED = re.compile(rf"[ \t]*(?P<value>[0-9]{{1,9}}) (?P<who>{_STATES})[ \t]*")
_RADIO = re.compile(r"[ \t]+(?:Radio type|Band)[ \t]+: .*(?:802\.11|GHz).*")
_QUALITY = re.compile(r"[ \t]+Signal[ \t]+: (?P<value>[0-9]{1,3})%[ \t]*")
_SQUID = re.compile(
    r"[ \t]*(?P<which>Maximum number of|Number of) file desc(?:riptors|[ ]currently in use):[ \t]+(?P<value>[0-9]{1,9})[ \t]*"
)
_UNBOUND = re.compile(r"total\.(?P<which>recursion\.time\.median|requestlist\.exceeded)=(?P<value>[0-9.]{1,18})[ \t]*")
_VARNISH = re.compile(
    r"[ \t]*(?:MAIN\.)?(?P<which>sess_conn|sess_dropped|thread_queue_len)[ \t]+(?P<value>[0-9]{1,18})[ \t]+[0-9.]{1,12}[ \t]+[A-Z].*"
)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def stated(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Return what a line states, an empty list for one that only belongs to a report, None for any other.

    >>> state = {}
    >>> [stated(x, state) for x in ("server accepts handled requests", " 900 700 4000 ")]
    [[], [('connections that nginx closed at once', 'nginx', 200.0, 900.0)]]
    >>> stated("20 requests currently being processed, 0 idle workers", state)
    [('workers of Apache busy', 'Apache', 20.0, 20.0)]
    >>> [stated(x, state) for x in ('wlan1     IEEE 802.11bgn  ESSID:"x"', "          Link Quality=9/70  Signal level=-91 dBm  ")]
    [[], [('weak signal', 'wlan1', 91.0, None)]]
    >>> stated("10.0.0.9 : xmt/rcv/%loss = 50/40/20%, min/avg/max = 0.1/0.2/0.3", state)
    [('pings without an answer', '10.0.0.9', 10.0, 50.0)]
    >>> stated("  7100 CLOSE_WAIT", state), stated("MAXUIDS   41    60    50", state)
    ([('sockets in CLOSE_WAIT', 'CLOSE_WAIT', 7100.0, None)], None)
    """
    if MAYBE.search(line) is None:
        return None
    for read in (_of_servers, _of_cards, _of_paths, _of_screens, _of_sockets):
        made = read(line, state)
        if made is not None:
            return made
    return None


def _of_servers(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if _NGINX.fullmatch(line):
        state["nginx"] = True
        return []
    if state.pop("nginx", False) and (found := _ACCEPTED.fullmatch(line)):
        took, kept = float(found["took"]), float(found["kept"])
        return [("connections that nginx closed at once", "nginx", took - kept, took)]
    if found := _APACHE.fullmatch(line):
        busy, idle = float(found["busy"]), float(found["idle"])
        return [("workers of Apache busy", "Apache", busy, busy + idle)]
    if found := _WORKERS.fullmatch(line):
        if found["which"] == "Busy":
            state["busy"] = float(found["value"])
            return []
        if (busy := state.pop("busy", None)) is not None:
            return [("workers of Apache busy", "Apache", busy, busy + float(found["value"]))]
        return None
    if found := _SQUID.fullmatch(line):
        if found["which"].startswith("Maximum"):
            state["squid"] = float(found["value"])
            return []
        return (
            [("descriptors of Squid", "Squid", float(found["value"]), float(state["squid"]))]
            if "squid" in state
            else []
        )
    if found := _UNBOUND.fullmatch(line):
        median = found["which"].startswith("recursion")
        name = "median time of a recursion" if median else "queries that found the list of requests full"
        return [(name, "unbound", float(found["value"]), None)]
    if found := _VARNISH.fullmatch(line):
        if found["which"] == "sess_conn":
            state["sessions"] = float(found["value"])
            return []
        if found["which"] == "thread_queue_len":
            return [("sessions that wait for a thread", "Varnish", float(found["value"]), None)]
        taken = state.get("sessions")
        return [("sessions that Varnish dropped", "Varnish", float(found["value"]), float(taken))] if taken else []
    if '"max_queue"' in line:
        queues = [(float(m["used"]), float(m["most"])) for m in _UWSGI.finditer(line[:4000])]
        return [("queue of uWSGI", "uWSGI", *max(queues))] if queues else None
    return None


def _of_cards(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _CARD.fullmatch(line):
        state["card"] = found["who"]
        return []
    if _RADIO.fullmatch(line):
        state["radio"] = True
        return []
    if "radio" in state and (found := _QUALITY.fullmatch(line)):
        # Windows counts -100 dBm as 0 % and -50 dBm as 100 %.
        return [("weak signal", "the wireless card", 100.0 - min(100.0, float(found["value"])) / 2, None)]
    if "card" not in state:
        return None
    if found := _SIGNAL.fullmatch(line):
        return [("weak signal", str(state["card"]), float(found["value"]), None)]
    if found := _RETRIES.fullmatch(line):
        return [("packets given up after many tries", str(state["card"]), float(found["value"]), None)]
    return None


def _of_paths(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if found := _FPING.fullmatch(line):
        sent, got = float(found["sent"]), float(found["got"])
        # A host that answers none may not answer ping at all.
        return [("pings without an answer", found["who"], sent - got, sent)] if 0 < got <= sent else []
    if found := _SHAKEN.fullmatch(line):
        state["shaken"] = float(sum(int(m["n"]) * _SECONDS[m["unit"]] for m in _AGE.finditer(found["age"])))
        return []
    if _ALIVE.fullmatch(line):
        age = state.pop("shaken", None)
        return [] if age is None else [("last handshake of a tunnel", "a peer of WireGuard", float(age), None)]
    return None


def _of_screens(line: str, state: dict[str, Any]) -> list[Stated] | None:
    """Read the meters of htop: shares of processors are summed up until the meter of memory, which follows them."""
    made: list[Stated] = []
    meters = list(_METER.finditer(line[:400]))
    for one in meters:
        value = one["value"]
        if value.endswith("%"):
            state.setdefault("meters", []).append(float(value[:-1]))
        elif "/" in value:
            if busy := state.pop("meters", None):
                made.append(("processors of htop", f"{len(busy)} processors", sum(busy) / len(busy), None))
            used, most = (_bytes(part) for part in value.split("/"))
            name = "memory of htop" if one["who"] == "Mem" else "swap of htop"
            if most and one["who"] in ("Mem", "Swp"):
                made.append((name, "the machine", used, most))
    return made if meters else None


def _bytes(text: str) -> float:
    unit = text[-1] if text[-1:].isalpha() else ""
    return float(text.rstrip("KMGT") or 0) * 1024.0 ** _POWERS[unit]


def _of_sockets(line: str, state: dict[str, Any]) -> list[Stated] | None:
    if _OMVS_HEAD.fullmatch(line):
        state["omvs"] = True
        return []
    if (state.get("omvs") or line.startswith("MAXPROCSYS")) and (found := _OMVS.fullmatch(line)):
        state["omvs"] = True
        return [(f"limit of z/OS UNIX {found['who']}", found["who"], float(found["used"]), float(found["most"]))]
    if found := _COUNTED.fullmatch(line):
        name = found["who"].replace("-", "_").replace("RCVD", "RECV").replace("RECEIVED", "RECV")
        return [(f"sockets in {name}", name, float(found["value"]), None)]
    return None
