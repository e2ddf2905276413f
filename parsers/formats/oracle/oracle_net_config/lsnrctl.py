r"""Status of a running listener: `lsnrctl status` and `lsnrctl services`; all systems, 8i to 23ai.
Source: Database Net Services Reference, "Listener Control Utility".

    LSNRCTL for Linux: Version 19.0.0.0.0 - Production on 19-NOV-2021 09:57:54
    Alias                     LISTENER
    Uptime                    0 days 16 hr. 1 min. 24 sec
    Service "pdb1" has 1 instance(s).
      Instance "db1", status READY, has 1 handler(s) for this service...
          "DEDICATED" established:12 refused:0 state:ready

Tables: params (scope listener): entity = the listener's alias, names as printed, `listener.trace_level` (num of uptime in seconds), one
`listener.endpoint` for each address it listens on; entity = a service, name `instance.NAME`, value its status; `listener.error` if the
listener did not answer. counters (grp handlers, item service/instance/handler): established and refused since the start, for a dispatcher
also current and max. Clock: wall-local, t_local is the time of the command.
Traps: status UNKNOWN means that the service is from listener.ora and its state was not checked; it is not a fault. The listener counts by
service, so one instance is printed several times; the words of a handler follow on the lines below it. Known gaps: values that a console
wrapped; in languages other than English and Chinese the names of the settings are as printed.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from parsers.clocks import oracle_stamps
from parsers.declarations import Claim, Format
from parsers.secrets import connect_descriptors
from parsers.tables.rows import Domain, State, Tables
from parsers.tables.schema import schema
from parsers.text.source import Head, Source
from parsers.text.times import WALL_BASE

_NAMES = (
    "Alias|Version|Start Date|Uptime|Trace Level|Security|SNMP|Default Service|Listener (?:Parameter|Log|Trace) File"
)
_SETTING = re.compile(rf"^ *({_NAMES}) {{2,}}(\S.*)$")
_ANY_SETTING = re.compile(r"^ *(\S+(?: \S+)*) {2,}(\S.*)$")
_CHINESE = {
    "别名": "Alias", "版本": "Version", "启动日期": "Start Date", "正常运行时间": "Uptime", "跟踪级别": "Trace Level", "安全性": "Security",
    "默认服务": "Default Service", "监听程序参数文件": "Listener Parameter File", "监听程序日志文件": "Listener Log File",
    "监听程序跟踪文件": "Listener Trace File",
}  # fmt: skip
_CHINESE_WORDS = {"已建立": "established", "已被拒绝": "refused", "当前": "current", "最大": "max", "状态": "state"}
"""Words of a handler in front of their colons: the English ones."""
_FLAT = re.compile(rf"^ *({_NAMES}) (\S.*)$")
"""A setting whose blanks were collapsed; used only below the title, where the name alone identifies it."""
_BANNER = re.compile(
    r"^ *LSNRCTL(?:80)? for ([^:]+): Version ([0-9.]+)(?:.* on ([0-9]{1,2}-[^ -]{1,10} ?-[0-9]{2,4}) ([0-9:]{8}))?"
)
_COMPOSE = r"(?:[A-Za-z0-9_.-]{1,60} +\|(?: |$))?"
"""Name that `docker compose logs` prints in front of every line of a container (from practice)."""
_WORN = re.compile(rf"^{_COMPOSE}")
_ENDPOINT = re.compile(r"^ *\((?:DESCRIPTION|ADDRESS) *=.*\)$", re.IGNORECASE)
_SERVICE = re.compile(r'^ *(?:[^\s"]+ ){1,2}"([^"]+)" [^",]*[0-9]')
_INSTANCE = re.compile(r'^ *(?:[^\s"]+ ){1,2}"([^"]+)", [^,]*?\b(READY|UNKNOWN|BLOCKED|RESTRICTED)\b,')
_HANDLER = re.compile(r'^ *"?([A-Z0-9]+)"? +((?:[a-z]+:[A-Za-z0-9]+ ?)+)$')
_FIGURE = re.compile(r"(established|refused|current|max):([0-9]+)")
_UPTIME = re.compile(r"([0-9]+) \S+ ([0-9]+) \S+ ([0-9]+) \S+ ([0-9]+) [^0-9\s]+$")
_ERROR = re.compile(r"^ *(TNS-[0-9]{5}): |^ *[A-Za-z0-9/ -]{3,40} Error: [0-9]+:")
_PLAIN = re.compile(
    r"^ *(?:Copyright \(c\)|Connecting to \(|STATUS of the LISTENER|-{8,}$|Listening Endpoints Summary|Services Summary\.\.\.|Handler\(s\):"
    r"|LOCAL SERVER|REMOTE SERVER|DISPATCHER\b|\(ADDRESS *=|The command completed successfully|The listener supports no services"
    r"|Log messages written to |Trace information written to |Listening on: |System parameter file is |TNSLSNR for [^:]+: Version |Starting \S+: please wait"
    r"|Welcome to LSNRCTL|LSNRCTL>|(?:Presentation|Session): |命令执行成功|监听程序不支持服务|处理程序:|系统参数文件为|写入\S+的日志信息)"
    r"|^[^()]+ \((?:DESCRIPTION|ADDRESS) *=|^.*(?:\bSTATUS|\.\.)$"
)
FORMAT = Format(
    kind="oracle_net_config", variant="lsnrctl", version="1", systems=("solaris", "linux", "aix", "hpux", "windows"),
    tables=("params", "counters"), man="Oracle Database Net Services Reference, lsnrctl", example="lsnrctl services", clocks=("wall-local", "none"),
    own=(
        rf"^[A-Za-z0-9_.-]{{1,60}} +\| (?:LSNRCTL for |TNSLSNR for |STATUS of the LISTENER| *(?:{_NAMES}) {{2,}}\S|Listening on: )"
        rf"|^LSNRCTL(?:80)? for |^ *(?:STATUS of the LISTENER|Listening Endpoints Summary|Services Summary\.\.\.)|^ *(?:{_NAMES}) {{2,}}\S"
        r'|^ *(?:Service|服务) "[^"]+" |^ *(?:Instance|实例|例程) "[^"]+", (?:status|状态) |^ +Handler\(s\):'
        r'|^ +"[A-Z0-9]+" established:|^ +(?:LOCAL|REMOTE) SERVER$'
        r"|^ +DISPATCHER <|^The command completed successfully$|^(?:Connecting to|正在连接到|监听:) \(|^ *\(DESCRIPTION=\(ADDRESS="
        rf"|^[^ ].{{0,30}}? {{2,}}TNSLSNR for |^(?:监听端点概要|服务摘要)\.\.|^(?:命令执行成功|监听程序不支持服务)$|^(?:{'|'.join(_CHINESE)}) {{2,}}\S"
        r'|^SNMP {2,}|^ +处理程序:|^ +"[A-Z0-9]+" 已建立:'
    ),
)  # fmt: skip
_OS = {"linux": "linux", "solaris": "solaris", "aix": "aix", "hp": "hpux", "hpux": "hpux", "windows": "windows"}


def claim(head: Head) -> Claim | None:
    """Claim by the banner, a title or summary, or lines of services and instances."""
    text = head.text
    if not any(
        key in text
        for key in (
            "LSNRCTL",
            "Services Summary",
            "Endpoints Summary",
            "STATUS of the LISTENER",
            ", status ",
            "Handler(s)",
            "TNSLSNR for",
        )
    ):
        return None
    if re.search(rf"(?m)^{_COMPOSE}(?:LSNRCTL(?:80)? for |STATUS of the LISTENER)", text):
        return Claim(0.97, "banner of the Listener Control utility", "lsnrctl")
    if re.search(r"(?m)^[^ \n][^\n]{0,30}? {2,}TNSLSNR for [^:\n]+: Version ", text):
        return Claim(0.95, "the settings of a running listener", "lsnrctl")
    if re.search(r"(?m)^ *(?:Listening Endpoints|Services) Summary\.\.\.$", text):
        return Claim(0.9, "a summary of a listener's endpoints or services", "lsnrctl")
    count = sum(1 for line in head.lines if _SERVICE.match(line) or _INSTANCE.match(line))
    return Claim(0.9, f"{count} services and instances of a listener", "lsnrctl") if count > 1 else None


def _in_english(line: str) -> str:
    """Return a line of a handler with English words in front of its colons."""
    return line if line.isascii() else re.sub(r"([^\x00-\x7f]+):", lambda m: f"{_CHINESE_WORDS.get(m[1], m[1])}:", line)


@dataclass
class _Carry:
    """State carried from block to block and from run to run."""

    alias: str | None = None
    service: str = ""
    instance: str = ""
    at: float | None = None
    begin: float | None = None
    failed: bool = False
    status: bool = False
    """True among the settings: between the rule below their title and the first endpoint."""


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run of blocks; `state` keeps the fields of `_Carry`."""
    carry = _Carry(**{name: state[name] for name in _Carry.__dataclass_fields__ if name in state})
    for block in source.blocks():
        lines, places = connect_descriptors.mask_lines(block.frame.select("line_no", "line"))
        out.secrets(places)
        reader = _Reader(out, carry)
        for line_no, line in lines.rows():
            bare = _WORN.sub("", line).rstrip()
            reader.feed(line_no, bare)
            if not bare and line.strip():  # a line with only the name of its container
                reader.plain.append(line_no)
        reader.flush()
    if source.next_line > source.first_line:
        span = [(source.first_line, source.next_line - 1)]
        kind, base = ("none", None) if carry.at is None else ("wall-local", WALL_BASE)
        out.domain(Domain(1, kind, base, None, carry.begin, carry.at, span))
    return state | asdict(carry)


class _Reader:
    """Reader of lines; it collects rows by table until `flush`."""

    def __init__(self, out: Tables, carry: _Carry) -> None:
        self.out, self.carry = out, carry
        self.rows: dict[str, list[dict[str, Any]]] = {"params": [], "counters": []}
        self.plain: list[int] = []

    def param(self, line_no: int, entity: str | None, name: str, value: str, num: float | None = None) -> None:
        cells = {"entity": entity, "name": name, "value": value, "num": num, "scope": "listener", "active": True}
        self.rows["params"].append({"line_no": line_no, "t_local": self.carry.at, **cells})

    def flush(self) -> None:
        self.out.read(self.plain)
        for table, rows in self.rows.items():
            if rows:
                self.out.add(table, pl.DataFrame(rows, schema={c: schema(table)[c] for c in rows[0]}))

    def feed(self, line_no: int, line: str) -> None:
        carry = self.carry
        if not line:
            return
        carry.status = line.strip().startswith("-----") or (carry.status and not _ENDPOINT.match(line))
        if banner := _BANNER.match(line):
            self.banner(line_no, banner)
        elif setting := (carry.status and _ANY_SETTING.match(line)) or (_FLAT if carry.status else _SETTING).match(
            line
        ):
            self.setting(line_no, _CHINESE.get(setting[1], setting[1]), setting[2])
        elif service := _SERVICE.match(line):
            carry.service, carry.instance = service[1], ""
            self.plain.append(line_no)
        elif instance := _INSTANCE.match(line):
            carry.instance = instance[1]
            self.param(line_no, carry.service, f"instance.{instance[1]}", instance[2])
        elif carry.service and (handler := _HANDLER.match(_in_english(line))):
            self.handler(line_no, handler[1], handler[2])
        elif not carry.service and _ENDPOINT.match(line):
            port = re.search(r"(?i)\(PORT *= *([0-9]+)\)", line)
            self.param(line_no, carry.alias, "listener.endpoint", line.strip(), float(port[1]) if port else None)
        elif error := _ERROR.match(line):
            self.error(line_no, error[1])
        elif _PLAIN.match(line):
            self.plain.append(line_no)

    def banner(self, line_no: int, banner: re.Match[str]) -> None:
        carry = self.carry
        if banner[3]:
            carry.at = oracle_stamps.entry_seconds(pl.Series([banner[3]]), pl.Series([banner[4]]))[0]
            carry.begin = carry.at if carry.begin is None else carry.begin
        carry.alias, carry.service, carry.instance, carry.failed = None, "", "", False
        system = next((os for word, os in _OS.items() if word in banner[1].lower()), None)
        if system:
            self.out.fact("os", system)
        self.out.fact("tool_opts", [f"release={banner[2]}"])
        self.plain.append(line_no)

    def setting(self, line_no: int, name: str, value: str) -> None:
        if name == "Alias":
            self.carry.alias = value
        up = _UPTIME.match(value)
        num = None if up is None else ((int(up[1]) * 24 + int(up[2])) * 60 + int(up[3])) * 60.0 + int(up[4])
        self.param(line_no, self.carry.alias, "listener." + name.lower().replace(" ", "_"), value, num)

    def handler(self, line_no: int, name: str, words: str) -> None:
        """Add the counters of a handler since the start; add its state as a row of params if it is not ready."""
        carry = self.carry
        item = "/".join(n for n in (carry.service, carry.instance, name) if n)
        for key, value in _FIGURE.findall(words):
            self.rows["counters"].append({
                "line_no": line_no, "t_local": carry.at, "grp": "handlers", "item": item, "name": key, "value": float(value),
                "mode": "total" if key in ("established", "refused") else "level",
            })  # fmt: skip
        state = re.search(r"state:([A-Za-z]+)", words)
        if state and state[1] != "ready":
            self.param(line_no, carry.service, f"instance.{carry.instance}.{name}".lower(), state[1])
        self.plain.append(line_no)

    def error(self, line_no: int, code: str | None) -> None:
        """Add the first error of a stack: the listener did not answer."""
        if code and not self.carry.failed:
            self.param(
                line_no, self.carry.alias, "listener.error", code.replace("TNS-0", "TNS-").replace("TNS-0", "TNS-")
            )
        self.carry.failed = True
        self.plain.append(line_no)
