"""Parse call arguments as strace prints them: C strings, structures in braces, descriptors with paths (-y) and addresses (-yy)."""

from __future__ import annotations

import polars as pl

from parsers.formats.tracing.shared import syscall_args as arg
from parsers.formats.tracing.shared.syscall_args import ARGS

_CODES = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\v": r"\x0B", r"\f": r"\x0C", r"\\": "\\", r"\"": '"'}
_SHOWN = {c: chr(c) if 32 <= c < 127 else {10: "\n", 9: "\t", 13: "\r"}.get(c, f"\\x{c:02X}") for c in range(256)}
_ESCAPES = (
    {f"\\{c:03o}": t for c, t in _SHOWN.items()}
    | {f"\\x{c:02x}": t for c, t in _SHOWN.items()}
    | {f"\\{c:o}": t for c, t in _SHOWN.items() if c < 64}
    | _CODES
)
_PATTERNS = sorted(_ESCAPES, key=len, reverse=True)
_TEXTS = [_ESCAPES[p] for p in _PATTERNS]

_V4 = r"sin_port=htons\(([0-9]+)\), sin_addr=inet_addr\(\"([0-9.]+)\"\)"
_V6 = r"sin6_port=htons\(([0-9]+)\).*?inet_pton\([0-9x A-Z_]+, \"([0-9a-fA-F:.]+)\""
_SHOWN_PEER = r"^[0-9]+<[A-Za-z0-9]+:\[.*?->\[?([0-9a-fA-F.:]+?)\]?:([0-9]+)\]>"


def decode(text: pl.Expr) -> pl.Expr:
    r"""Decode a C string: newline, tab and return become themselves, other unprintable bytes `\xHH`.

    >>> pl.select(decode(pl.lit(r"caf\303\251 \"x\"\n"))).item()
    'caf\\xC3\\xA9 "x"\n'
    """
    return (
        pl.when(text.str.contains("\\", literal=True))
        .then(text.str.replace_many(_PATTERNS, _TEXTS, leftmost=True))
        .otherwise(text)
    )


def buffer() -> pl.Expr:
    """Return the raw text of the buffer: the first string after the descriptor."""
    return ARGS.str.extract(r'^[^"]*?"((?:[^"\\]|\\.)*)"', 1)


_SOME = {
    "fd": arg.Column(arg.WITH_FD, pl.Int64, arg.fd),
    "path": arg.Column(None, pl.String, arg.path, arg.may_have_path, decode),
    "data": arg.Column(arg.BUFFER_CALLS, pl.String, lambda names: buffer(), arg.has_text, decode),
    "arg_id": arg.Column(arg.WITH_ID, pl.Int64, arg.arg_id),
    "sem_num": arg.Column(arg.SEM_CALLS, pl.Int64, arg.sem_num),
    "arg_addr": arg.Column(arg.WITH_ADDR, pl.UInt64, arg.arg_addr),
}


def fill(calls: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of `syscalls` that come from one line; see `call_rows.Fill`."""
    names = arg.Names(calls["name"].unique())
    calls = arg.add_columns(calls.with_columns_seq(arg.number(pl.col("val")).alias("ret")), names, _SOME)
    piped = names.among(("pipe", "pipe2", "socketpair"))
    ends = ARGS.str.extract_groups(r"\[([0-9]+)(?:<[^>]*>)?, ([0-9]+)").struct
    thread = ARGS.str.contains("CLONE_THREAD", literal=True)
    child = pl.when(~thread).then(arg.child_pid(names))
    socket = ARGS.str.contains("sin", literal=True) & ARGS.str.contains("port=htons", literal=True)
    shown = ARGS.str.contains("->", literal=True)
    there = calls.select_seq(piped.any().alias("piped"), socket.any().alias("socket"), shown.any().alias("shown")).row(
        0, named=True
    )
    two: list[pl.Expr] = [pl.col("fd"), pl.lit(None, pl.Int64).alias("fd2")]
    if there["piped"]:
        first, second = (ends.field(n).str.to_integer(base=10, strict=False) for n in "12")
        two = [pl.when(piped).then(first).otherwise("fd").alias("fd"), pl.when(piped).then(second).alias("fd2")]
    calls = calls.with_columns_seq(
        *two,
        ret2=pl.lit(None, pl.Int64),
        bytes=arg.transferred(names),
        child_pid=child,
        peer=pl.lit(None, pl.String),
    )
    if there["socket"]:
        ip = pl.coalesce(ARGS.str.extract(_V4, 2), ARGS.str.extract(_V6, 2))
        port = pl.coalesce(ARGS.str.extract(_V4, 1), ARGS.str.extract(_V6, 1))
        calls = calls.with_columns_seq(peer=pl.when(socket).then(pl.format("AF_INET name = {} port = {}", ip, port)))
        # sendto and recvfrom print their peer themselves; later calls do not inherit it.
        names_peer = names.among(("sendto", "recvfrom", "sendmsg", "recvmsg")) & socket
        calls = calls.with_columns_seq(
            direct_ip=pl.when(names_peer).then(ip),
            direct_port=pl.when(names_peer).then(port.str.to_integer(base=10, strict=False)),
        )
    if there["shown"]:
        named = {"direct_ip": ARGS.str.extract(_SHOWN_PEER, 1)}
        named["direct_port"] = ARGS.str.extract(_SHOWN_PEER, 2).str.to_integer(base=10, strict=False)
        calls = calls.with_columns_seq(
            (pl.coalesce(c, e) if c in calls.columns else e).alias(c) for c, e in named.items()
        )
    return calls


SIGINFO = {
    "code": r"si_code=([A-Z_0-9]+)",
    "sender_pid": r"si_pid=([0-9]+)",
    "status": r"si_status=(SIG[A-Z0-9]+|-?[0-9]+)",
    "addr": r"si_addr=(0x[0-9a-f]+)",
}
USED = ("si_utime", "si_stime")
"""CPU times of an ended child, in clock ticks: `si_utime=27`, newer `si_utime=27 /* 0.27 s */`."""

TICKS_PER_S = 100.0
"""Clock ticks per second in figures of the kernel (USER_HZ); only Alpha and Itanium have another value."""


def signal_rows(records: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `signals` for records of kind signal and exit, whose `args` is the text between the marks."""
    text = pl.col("args")
    exited = text.str.extract(r"^exited with (-?[0-9]+)", 1)
    event = (
        pl.when(exited.is_not_null())
        .then(pl.lit("exited"))
        .when(text.str.starts_with("killed by"))
        .then(pl.lit("killed"))
        .when(text.str.starts_with("stopped by"))
        .then(pl.lit("stopped"))
        .when(text.str.starts_with("superseded"))
        .then(pl.lit("exited"))
        .otherwise(pl.lit("received"))
    )
    info = {c: text.str.extract(pattern, 1) for c, pattern in SIGINFO.items()}
    ticks = [text.str.extract(rf"{name}=([0-9]{{1,12}})", 1).cast(pl.Float64, strict=False) for name in USED]
    return records.select_seq(
        "line_no", "line_end", "seq", "pid", "lwp", pl.col("t").alias("t_local"), event.alias("event"),
        pl.when(exited.is_null()).then("name").alias("signal"), info["code"].alias("code"), arg.address(info["addr"]).alias("addr"),
        info["sender_pid"].str.to_integer(base=10, strict=False).alias("sender_pid"),
        pl.coalesce(exited, info["status"]).str.to_integer(base=10, strict=False).alias("status"),
        (sum(ticks, pl.lit(0.0)) / TICKS_PER_S).alias("cpu_s"),
    )  # fmt: skip
