r"""Server logs of PostgreSQL: stderr with any log_line_prefix, csvlog, jsonlog; 9.0 to 18, English messages.
Source: PostgreSQL documentation, "Error Reporting and Logging"; `log_connections`, `log_lock_waits`, `log_checkpoints` make the lines.

    2026-11-21 05:58:39.123 UTC [4711] LOG:  connection received: host=192.0.2.7 port=51234
    2026-11-21 05:58:39.131 UTC [4711] app@shop LOG:  connection authorized: user=app database=shop
    2026-11-21 05:58:41.200 UTC [4712] LOG:  process 4712 still waiting for ShareLock on transaction 752 after 1000.071 ms
    2026-11-21 05:58:41.200 UTC [4712] DETAIL:  Process holding the lock: 4711. Wait queue: 4712.
    2026-11-21 05:58:45.000 UTC,"app","shop",4713,"192.0.2.7:51236",...,FATAL,53300,"sorry, too many clients already",...
    {"timestamp":"2026-11-21 05:58:46.000 UTC","pid":4714,"error_severity":"LOG","message":"checkpoint starting: time"}

Fills `logs`, source postgres, a row for each line with a severity (DETAIL, HINT, STATEMENT have rows of their own, also those inside a csv
or JSON record): pid = server process, severity as printed, code = SQLSTATE (csvlog, jsonlog, `%e`), service = database, program =
application_name, op = received, authenticated, authorized, ready, disconnection, duration, lock_wait, lock_acquired, deadlock,
checkpoint_start, checkpoint, temp_file, autovacuum, refused (no slot left), elapsed_s = what the line itself says it took.
Clock: wall-utc where the zone is UTC, GMT or an offset, else wall-local (a name such as CET tells summer time itself); stamps are
starts of the line, so the end of what it tells. Traps: `still waiting` comes once, after deadlock_timeout, the length of the wait is in
`acquired`; `received` is written before a byte of the client is read, so the time to `authorized` holds the client's share too; a reverse
look-up by log_hostname comes before it. Further lines of a message begin with a tab: read, not kept. Known gaps: translated messages;
lines that came by way of syslog are the kind syslog; elapsed_s of autovacuum stands in such a further
line; what a csv record has behind a text of several lines (hint, program).
"""

from __future__ import annotations

import re

import polars as pl

from parsers import stamp_falls
from parsers.registry import Claim, Format
from parsers.small_texts import share
from parsers.source import Head, Source
from parsers.tables import Domain, State, Tables, line_span
from parsers.times import WALL_BASE, span_s
from parsers.yearless import clock_seconds, day_seconds

_LEVELS = "LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG[1-5]?|DETAIL|HINT|STATEMENT|CONTEXT|QUERY|LOCATION"
_AT = r"([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}(?:[.,][0-9]{1,6})?) ?([A-Z]{2,6}|[+-][0-9]{2}(?::?[0-9]{2})?)"
EPOCH = r"\b([0-9]{10}\.[0-9]{3})\b"
STDERR = rf"^(.{{0,200}}?)({_LEVELS}): {{1,2}}(\S.*)$"
TEXT = r"(?:\"((?:[^\"]|\"\")*)\"?)?"
CSV = rf"^{_AT},{TEXT},{TEXT},([0-9]+)?,{TEXT},[0-9a-f.]*,[0-9]*,{TEXT},[^,]*,[^,]*,[0-9]*,({_LEVELS}),([0-9A-Z]{{5}}),{TEXT}(?:,{TEXT})?(?:,{TEXT})?"
"""Up to the hint; behind it stand query, context, place and, from 9.0, application_name."""
CSV_END = r",\"((?:[^\"]|\"\")*)\"(?:,\"(?:[a-z0-9 ]+)\")?(?:,[0-9]*)?(?:,-?[0-9]*)?$"
JSON = r"^\{\"timestamp\":\"[^\"]*\".*\"error_severity\":\"[A-Z0-9]+\""
_SURE = re.compile(
    rf"(?:{_LEVELS}):  |connection (?:received: host|authorized: user)=|database system is ready to accept"
    r"|duration: [0-9.]+ ms|checkpoint (?:starting|complete): "
)
_STAMPED = re.compile(rf"^[^\n]{{0,60}}?(?:{_AT}|[0-9]{{10}}\.[0-9]{{3}})[^\n]{{0,140}}?\b(?:{_LEVELS}): {{1,2}}\S")
_BARE = re.compile(rf"^(?:\[[0-9]+\]:? *)?(?:{_LEVELS}):  \S")
_PATTERNS = {"csvlog": re.compile(CSV), "jsonlog": re.compile(JSON)}
FORMATS = tuple(
    Format(
        kind="postgres",
        variant=variant,
        version="1",
        systems=("linux", "solaris", "aix", "hpux", "windows", "macos", "freebsd"),
        tables=("logs",),
        man="PostgreSQL documentation, Error Reporting and Logging",
        example=example,
        clocks=("wall-utc", "wall-local", "none"),
        own=own,
    )
    for variant, example, own in (
        (
            "stderr",
            "cat /var/log/postgresql/postgresql-17-main.log",
            rf"^.{{0,60}}(?:{_AT}|[0-9]{{10}}\.[0-9]{{3}}).{{0,140}}\b(?:{_LEVELS}):  \S",
        ),
        ("csvlog", "cat log/postgresql.csv", CSV),
        ("jsonlog", "cat log/postgresql.json", JSON),
    )
)

_OPS = (
    ("received", r"^connection received: "),
    ("authenticated", r"^connection authenticated: "),
    ("authorized", r"^(?:replication )?connection authorized: "),
    ("ready", r"^connection ready: "),
    ("disconnection", r"^disconnection: "),
    ("duration", r"^duration: [0-9.,]+ ms"),
    ("lock_wait", r"^process [0-9]+ (?:still waiting|avoided deadlock) for "),
    ("lock_acquired", r"^process [0-9]+ acquired .* after [0-9.,]+ ms$"),
    ("deadlock", r"^deadlock detected|^process [0-9]+ detected deadlock"),
    ("checkpoint_start", r"^(?:checkpoint|restartpoint) starting: "),
    ("checkpoint", r"^(?:checkpoint|restartpoint) complete: "),
    ("temp_file", r"^temporary file: "),
    ("autovacuum", r"^automatic (?:aggressive )?(?:vacuum|analyze) "),
    (
        "refused",
        r"^sorry, too many clients already|^remaining connection slots are reserved|^too many connections for (?:role|database)",
    ),
)
_TAKEN_MS = r"^duration: ([0-9.,]+) ms| after ([0-9.,]+) ms$|^connection ready: setup total=([0-9.,]+) ms"
_TAKEN_S = r"^(?:checkpoint|restartpoint) complete: .* total=([0-9.]+(?:,[0-9]+)?) s"
_SESSION = r"^disconnection: session time: ([0-9]+):([0-9]{2}):([0-9]{2}[.,][0-9]+)"
_PROGRAM = r"^connection authorized: .*?\bapplication_name=(.+?)(?: SSL enabled.*| GSS \(.*)?$"
_IP = r"^[0-9a-fA-F:.]*[0-9a-fA-F]{1,4}[:.][0-9a-fA-F:.]+$"


def claim(head: Head) -> Claim | None:
    """By stamped lines with a severity and two blanks behind it, or by records of its own."""
    text = head.text
    if "error_severity" in text and (found := share(head, _PATTERNS["jsonlog"]))[0]:
        return Claim(0.97, f"{found[0]} records of jsonlog", "jsonlog") if found[1] >= 0.5 else None
    if not _SURE.search(text) and not re.search(rf",(?:{_LEVELS}),[0-9A-Z]{{5}},", text):
        return None
    records, _ = share(head, _PATTERNS["csvlog"])
    if records and _PATTERNS["csvlog"].match(next(x for x in head.lines if x.strip())):
        return Claim(0.97, f"{records} records of csvlog", "csvlog")
    messages = Head([x for x in head.lines if not x.startswith("\t")])
    found = share(messages, _STAMPED)
    if found[0] and found[1] >= 0.4:
        return Claim(min(0.96, 0.7 + 0.26 * found[1]), f"{found[0]} lines of PostgreSQL's log", "stderr")
    found = share(messages, _BARE)
    if found[0] > 1 and found[1] >= 0.8:
        return Claim(0.6, f"{found[0]} lines of PostgreSQL's log without stamps", "stderr")
    return None


def parse(source: Source, out: Tables, state: State) -> State:
    """Read a run; `state` knows whether a csv record or a message is open, and what the stamps are."""
    read = {"stderr": _stderr, "csvlog": _csvlog, "jsonlog": _jsonlog}[state["variant"]]
    for block in source.blocks():
        rows = read(block.frame, out, state)
        if rows.is_empty():
            continue
        rows = _timed(rows, source, out, state)
        stamp_falls.remark(rows, out, state)
        out.add("logs", _said(rows))
    return state


def _stderr(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    rows = frame.with_columns(
        line.str.extract_groups(STDERR).struct.rename_fields(["before", "severity", "message"]).alias("g")
    ).unnest("g")
    heads = rows["message"].is_not_null()
    # Further lines of a message begin with a tab; without a message above them they are nobody's.
    open_ = pl.select(
        pl.when(heads).then(True).when(rows["line"].str.contains(r"^\t|^\s*$")).then(None).otherwise(False)
    ).to_series()
    open_ = open_.forward_fill().fill_null(bool(state.get("open")))
    state["open"] = bool(open_[-1]) if len(open_) else state.get("open", False)
    out.read(rows.filter(open_ & ~heads & rows["line"].str.starts_with("\t"))["line_no"])
    # Without a stamp only the two blanks tell a line of the server from another program's.
    rows = rows.filter(
        heads
        & (
            pl.col("before").str.contains(_AT)
            | line.str.contains(f"(?:{_LEVELS}):  ")
            | pl.col("before").str.contains(EPOCH)
        )
    )
    before = pl.col("before")
    stamp = before.str.extract_groups(_AT).struct.rename_fields(["year", "mon", "day", "h", "m", "s", "zone"])
    rows = rows.with_columns(stamp.alias("at"), epoch=before.str.extract(EPOCH)).unnest("at")
    who = before.str.extract_groups(r"([A-Za-z_][\w.$-]*|\[unknown\])@([\w.$-]+|\[unknown\])").struct.field("2")
    peer = before.str.extract_groups(
        r"([0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})\(([0-9]{1,5})\)"
    ).struct
    return rows.select(
        "line_no",
        "severity",
        "message",
        "year",
        "mon",
        "day",
        "h",
        "m",
        "s",
        "zone",
        "epoch",
        pid=pl.coalesce(
            before.str.extract(r"\[([0-9]{1,10})\]"), before.str.extract(r"(?:\bpid=|\bprocess )([0-9]{1,10})\b")
        ),
        code=before.str.extract(r"(?:\bstate=|\be=|^|[ ,:])([0-9][0-9A-Z]{4})[ :,\]]*$"),
        service=pl.coalesce(before.str.extract(r"\b(?:db|database)=([^,\s]+)"), who),
        program=before.str.extract(r"\b(?:application|app)=([^,]*?)(?:,|\s+(?:client|host|user|db)=|\s*$)"),
        from_=pl.coalesce(before.str.extract(r"\b(?:client|host|remote)=([^,\s(]+)"), peer.field("1")),
        port=peer.field("2"),
        detail=pl.lit(None, pl.String),
        hint=pl.lit(None, pl.String),
    )


def _csvlog(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    # A record goes on in the next line while a quote is open.
    quotes = frame["line"].str.count_matches('"').cast(pl.Int64).cum_sum() + int(state.get("quotes", 0))
    inside = quotes.shift(1, fill_value=int(state.get("quotes", 0))) % 2 == 1
    begins = frame["line"].str.contains(CSV)
    if (inside & begins).any():
        # A stamp inside an open quote: a cut record. What begins here is counted anew.
        return _csv_rows(frame.filter(begins), line)
    state["quotes"] = int(quotes[-1]) % 2 if len(quotes) else state.get("quotes", 0)
    out.read(frame.filter(inside & ~begins)["line_no"])
    return _csv_rows(frame.filter(begins), line)


def _csv_rows(rows: pl.DataFrame, line: pl.Expr) -> pl.DataFrame:
    names = [
        "year",
        "mon",
        "day",
        "h",
        "m",
        "s",
        "zone",
        "user",
        "service",
        "pid",
        "peer",
        "tag",
        "severity",
        "code",
        "message",
        "detail",
        "hint",
    ]
    rows = rows.with_columns(line.str.extract_groups(CSV).struct.rename_fields(names).alias("g")).unnest("g")
    plain = [pl.col(n).str.replace_all('""', '"', literal=True) for n in ("message", "detail", "hint")]
    return rows.with_columns(
        *plain,
        epoch=pl.lit(None, pl.String),
        program=line.str.extract(CSV_END, 1),
        from_=pl.col("peer").str.extract(r"^(.*?)(?::[0-9]+)?$"),
        port=pl.col("peer").str.extract(r":([0-9]+)$"),
    ).drop("line", "user", "peer", "tag")


def _jsonlog(frame: pl.DataFrame, out: Tables, state: State) -> pl.DataFrame:
    line = pl.col("line")
    rows = frame.filter(line.str.contains(JSON) & line.str.json_path_match("$.error_severity").is_not_null())
    keys = {
        "severity": "error_severity",
        "code": "state_code",
        "message": "message",
        "detail": "detail",
        "hint": "hint",
        "pid": "pid",
        "service": "dbname",
        "program": "application_name",
        "from_": "remote_host",
        "port": "remote_port",
    }
    rows = rows.with_columns(line.str.json_path_match(f"$.{key}").alias(name) for name, key in keys.items())
    stamp = (
        line.str.json_path_match("$.timestamp")
        .str.extract_groups(_AT)
        .struct.rename_fields(["year", "mon", "day", "h", "m", "s", "zone"])
    )
    return rows.with_columns(stamp.alias("at"), epoch=pl.lit(None, pl.String)).unnest("at").drop("line")


def _timed(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    number = {n: pl.col(n).cast(pl.Int32, strict=False) for n in ("year", "mon", "day")}
    wall = (
        day_seconds(
            number["year"], number["mon"].cast(pl.String).str.zfill(2), number["day"].cast(pl.String).str.zfill(2)
        )
        + clock_seconds()
    )
    rows = rows.with_columns(pl.col("s").str.replace(",", ".", literal=True))  # a paste through a spreadsheet
    zone = pl.col("zone")
    digits = zone.str.replace(":", "").str.slice(1)
    hours, minutes = (digits.str.slice(at, 2).cast(pl.Float64, strict=False).fill_null(0.0) for at in (0, 2))
    offset = pl.when(zone.str.starts_with("-")).then(-1.0).otherwise(1.0) * (hours * 3600 + minutes * 60)
    # The first stamp decides; one of the other sort would be hours off, so it gives no time.
    rows = rows.with_columns(utc=pl.col("epoch").is_not_null() | zone.str.contains(r"^(?:UTC|GMT|[+-][0-9].*)$"))
    stamped = rows.filter(pl.col("epoch").is_not_null() | zone.is_not_null())
    if "utc" not in state and len(stamped):
        state |= {"utc": stamped["utc"][0], "zone": stamped["zone"][0]}
    known = bool(state.get("utc"))
    shift = pl.when(zone.str.contains("^[+-]")).then(offset).otherwise(0.0).fill_null(0.0)
    at = pl.coalesce(wall - shift, pl.col("epoch").cast(pl.Float64, strict=False))
    rows = rows.with_columns(t_local=pl.when(pl.col("utc") == known).then(at))
    begin, end = span_s(rows["t_local"])
    if begin is None:
        out.domain(Domain(1, "none", lines=[line_span(rows)]))
    else:
        name = "UTC" if known else source.hints.tz or state.get("zone")
        out.domain(Domain(1, "wall-utc" if known else "wall-local", WALL_BASE, name, begin, end, [line_span(rows)]))
    return rows


def _number(text: pl.Expr) -> pl.Expr:
    """Read a decimal number; a comma is a pasted decimal sign, since the server itself writes points."""
    return text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)


def _said(rows: pl.DataFrame) -> pl.DataFrame:
    """Columns of the table from what the message says; details and hints of a record become rows behind it."""
    text = pl.col("message")
    taken = text.str.extract_groups(_TAKEN_MS).struct
    session = text.str.extract_groups(_SESSION).struct
    length = (_number(session.field(n)) for n in ("1", "2", "3"))
    op = pl.lit(None, pl.String)
    for name, pattern in reversed(_OPS):
        op = pl.when(text.str.contains(pattern)).then(pl.lit(name)).otherwise(op)
    own_host = text.str.extract(r"^connection received: host=(\S+)").replace("[local]", None)
    host = pl.coalesce(own_host, pl.col("from_").replace("[local]", None))
    unknown = {"[unknown]": None, "": None}
    level = pl.col("severity")
    seconds = [x * w for x, w in zip(length, (3600.0, 60.0, 1.0), strict=True)]
    said = rows.with_columns(
        code=pl.when(pl.col("code") != "00000").then("code"),  # successful completion
        op=pl.when(level.is_in(["DETAIL", "HINT", "STATEMENT", "CONTEXT", "QUERY", "LOCATION"]))
        .then(None)
        .otherwise(op),
        elapsed_s=pl.coalesce(
            pl.coalesce(_number(taken.field(n)) for n in ("1", "2", "3")) / 1000,
            _number(text.str.extract(_TAKEN_S, 1)),
            seconds[0] + seconds[1] + seconds[2],
        ).round(9),
        peer_ip=pl.when(host.str.contains(_IP)).then(host),
        client_host=pl.when(~host.str.contains(_IP)).then(host),
        peer_port=pl.coalesce(text.str.extract(r"^connection received: .* port=([0-9]{1,5})$"), "port").cast(
            pl.Int64, strict=False
        ),
        service=pl.coalesce(
            text.str.extract(r"^(?:connection authorized|disconnection): .*?\bdatabase=(\S+)"),
            pl.col("service").replace(unknown),
        ),
        program=pl.coalesce(text.str.extract(_PROGRAM), pl.col("program").replace(unknown)),
        ok=pl.when(level.is_in(["ERROR", "FATAL", "PANIC"])).then(pl.lit(False)),
    )
    columns = [
        "line_no",
        "t_local",
        "severity",
        "code",
        "service",
        "program",
        "peer_ip",
        "peer_port",
        "client_host",
        "op",
        "ok",
        "elapsed_s",
    ]
    said = said.select(
        *columns,
        source=pl.lit("postgres"),
        pid=pl.col("pid").cast(pl.Int64, strict=False),
        text="message",
        detail="detail",
        hint="hint",
    )
    further = [
        said.filter(pl.col(of).is_not_null() & (pl.col(of) != "")).with_columns(
            text=pl.col(of),
            severity=pl.lit(of.upper()),
            op=pl.lit(None, pl.String),
            ok=pl.lit(None, pl.Boolean),
            elapsed_s=pl.lit(None, pl.Float64),
        )
        for of in ("detail", "hint")
    ]
    return pl.concat([said, *further]).sort("line_no", maintain_order=True).drop("detail", "hint")
