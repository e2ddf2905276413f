"""Read the parts of PostgreSQL's log lines that all variants share: the text in front of the level, the time, the message."""

from __future__ import annotations

import polars as pl

from parsers.clocks.yearless import clock_seconds, day_seconds
from parsers.tables.rows import Domain, State, Tables, line_span
from parsers.text.source import Source
from parsers.text.times import WALL_BASE, span_s

LEVELS = "LOG|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|DEBUG[1-5]?|DETAIL|HINT|STATEMENT|CONTEXT|QUERY|LOCATION"
AT = r"([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}(?:[.,][0-9]{1,6})?) ?([A-Z]{2,6}|[+-][0-9]{2}(?::?[0-9]{2})?)"
EPOCH = r"\b([0-9]{10}\.[0-9]{3})\b"
STDERR = rf"^(.{{0,200}}?)({LEVELS}): {{1,2}}(\S.*)$"

_FOREIGN = {
    "LOG": "СООБЩЕНИЕ|ЗАПИСУВАННЯ|日志|日誌|로그|LOGG|DZIENNIK",
    "ERROR": "FEHLER|ERREUR|ERRORE|ERRO|ОШИБКА|ПОМИЛКА|错误|錯誤|오류|FEL|BŁĄD",
    "FATAL": "FATALE|ВАЖНО|ФАТАЛЬНО|致命错误|致命錯誤|치명적오류|FATALT|KATASTROFALNY",
    "PANIC": "PANIK|PANICO|ПАНИКА|ПАНІКА|比致命错误还过分的错误|손상|PANIKA",
    "WARNING": "WARNUNG|ATTENTION|ATTENZIONE|AVISO|ПРЕДУПРЕЖДЕНИЕ|ПОПЕРЕДЖЕННЯ|警告|경고|VARNING|OSTRZEŻENIE",
    "NOTICE": "HINWEIS|NOTIFICA|ЗАМЕЧАНИЕ|ПОВІДОМЛЕННЯ|注意|알림|NOTIS",
    "INFO": "ИНФОРМАЦИЯ|ІНФОРМАЦІЯ|信息|정보",
    "DEBUG": "ОТЛАДКА|НАЛАГОДЖЕННЯ|调试|디버그",
    "DETAIL": "DETALLE|DÉTAIL|DETTAGLI|DETALHE|詳細|详细信息|상세정보|ПОДРОБНОСТИ|ВІДОМОСТІ|DETALJ|SZCZEGÓŁY",
    "HINT": "TIPP|ASTUCE|SUGGERIMENTO|DICA|ヒント|提示|힌트|ПОДСКАЗКА|УКАЗІВКА|TIPS|PODPOWIEDŹ",
    "STATEMENT": "ANWEISUNG|SENTENCIA|INSTRUCTION|ISTRUZIONE|COMANDO|文|语句|명령 구문|ОПЕРАТОР|ІНСТРУКЦІЯ|SATS|WYRAŻENIE",
    "CONTEXT": "ZUSAMMENHANG|CONTEXTO|CONTEXTE|CONTESTO|文脈|上下文|내용|КОНТЕКСТ|KONTEXT",
    "QUERY": "ANFRAGE|CONSULTA|REQUÊTE|問い合わせ|查询|쿼리|ЗАПРОС|ЗАПИТ|FRÅGA",
}
"""Level: its translations in the server's message catalogues (postgres-15.mo; Portuguese, Polish and traditional Chinese from practice)."""
FOREIGN = "|".join(_FOREIGN.values())
ENGLISH = {word: level for level, words in _FOREIGN.items() for word in words.split("|")}
TRANSLATED = rf"^(.{{0,200}}?)({FOREIGN})[ \u00a0]?: {{2}}(\S.*)$"
"""A line with a translated level; used only for lines without an English one: some catalogues do not translate LOG and FATAL."""

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


def prefixed(rows: pl.DataFrame) -> pl.DataFrame:
    """Split `before`, the text in front of the level, into columns, for any log_line_prefix.

    `rows` has line_no, severity, message and before; the result has n rows.
    """
    before = pl.col("before")
    stamp = before.str.extract_groups(AT).struct.rename_fields(["year", "mon", "day", "h", "m", "s", "zone"])
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
            before.str.extract(r"\[([0-9]{1,10})(?:-[0-9]{1,10})?\]"),
            before.str.extract(r"(?:\bpid=|\bprocess )([0-9]{1,10})\b"),
        ),
        code=before.str.extract(r"(?:\bstate=|\be=|^|[ ,:])([0-9][0-9A-Z]{4})[ :,\]]*$"),
        service=pl.coalesce(before.str.extract(r"\b(?:db|database)=([^,\s]+)"), who),
        program=before.str.extract(r"\b(?:application|app)=([^,]*?)(?:,|\s+(?:client|host|user|db)=|\s*$)"),
        from_=pl.coalesce(before.str.extract(r"\b(?:client|host|remote)=([^,\s(]+)"), peer.field("1")),
        port=peer.field("2"),
        detail=pl.lit(None, pl.String),
        hint=pl.lit(None, pl.String),
    )


def timed(rows: pl.DataFrame, source: Source, out: Tables, state: State) -> pl.DataFrame:
    """Add `t_local` and report the clock domain; the first stamp decides whether times are UTC."""
    number = {n: pl.col(n).cast(pl.Int32, strict=False) for n in ("year", "mon", "day")}
    wall = (
        day_seconds(
            number["year"], number["mon"].cast(pl.String).str.zfill(2), number["day"].cast(pl.String).str.zfill(2)
        )
        + clock_seconds()
    )
    rows = rows.with_columns(
        pl.col("s").str.replace(",", ".", literal=True)
    )  # a spreadsheet may have changed the decimal point
    zone = pl.col("zone")
    digits = zone.str.replace(":", "").str.slice(1)
    hours, minutes = (digits.str.slice(at, 2).cast(pl.Float64, strict=False).fill_null(0.0) for at in (0, 2))
    offset = pl.when(zone.str.starts_with("-")).then(-1.0).otherwise(1.0) * (hours * 3600 + minutes * 60)
    # A stamp of the other sort than the first one would be hours off, so it gives no time.
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
    """Convert a decimal number; a comma is a decimal sign that a paste changed, because the server prints points."""
    return text.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)


def said(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `logs` for the messages; detail and hint of a record are separate rows after it."""
    text = pl.col("message")
    taken = text.str.extract_groups(_TAKEN_MS).struct
    session = text.str.extract_groups(_SESSION).struct
    length = (_number(session.field(n)) for n in ("1", "2", "3"))
    op = pl.lit(None, pl.String)
    for name, pattern in reversed(_OPS):
        op = pl.when(text.str.contains(pattern)).then(pl.lit(name)).otherwise(op)
    connecting_host = text.str.extract(r"^connection received: host=(\S+)").replace("[local]", None)
    host = pl.coalesce(connecting_host, pl.col("from_").replace("[local]", None))
    unknown = {"[unknown]": None, "": None}
    level = pl.col("severity")
    seconds = [x * w for x, w in zip(length, (3600.0, 60.0, 1.0), strict=True)]
    logs = rows.with_columns(
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
    logs = logs.select(
        *columns,
        source=pl.lit("postgres"),
        pid=pl.col("pid").cast(pl.Int64, strict=False),
        text="message",
        detail="detail",
        hint="hint",
    )
    further = [
        logs.filter(pl.col(of).is_not_null() & (pl.col(of) != "")).with_columns(
            text=pl.col(of),
            severity=pl.lit(of.upper()),
            op=pl.lit(None, pl.String),
            ok=pl.lit(None, pl.Boolean),
            elapsed_s=pl.lit(None, pl.Float64),
        )
        for of in ("detail", "hint")
    ]
    return pl.concat([logs, *further]).sort("line_no", maintain_order=True).drop("detail", "hint")
