"""Turn classified truss lines into rows: details joined to their call, argument columns, events for the clock."""

from __future__ import annotations

import polars as pl

from parsers.formats.tracing.shared import syscall_args as arg
from parsers.formats.tracing.shared.peers import PEER
from parsers.formats.tracing.truss.patterns import (
    ANY_DETAIL,
    KNOWN_DETAIL,
    POLLED,
    SEMNUM,
    SIGINFO,
    SIGNAL_EVENTS,
    TOOL_NOTE,
    Lines,
)
from parsers.text.inline_polars import without

KEY = ["line_no", "pos"]
BODY = pl.col("body").str.strip_chars_start(" \t")

TOKEN = r"^[A-Z]{2,8}[0-9]{2,}$"
"""A short message that names a process by number (`NTP0 3731`): where it is read from the pipe it was written to, it ties two excerpts."""


def details(lines: Lines) -> pl.DataFrame:
    """Find the lines of the rest that belong to the call, signal or function line right above them.

    Returns line_no, pos, line_end, body and the owner's `o_line`, `o_pos`. Between a line and its owner stand only details of the same
    prefix; lines without an owner are left out.
    """
    rest = lines.rest
    inset = pl.col("pid").is_not_null() | pl.col("lwp").is_not_null() | pl.col("body").str.contains(r"^[\t ]")
    generic = BODY.str.contains(ANY_DETAIL) | pl.col("body").str.contains(r"^[\t ]{2,}\S")
    like = (
        (BODY.str.contains(KNOWN_DETAIL) | (inset & generic)) & ~BODY.str.contains(TOOL_NOTE) & (pl.col("body") != "")
    )
    marked = rest if rest.is_empty() else rest.with_columns_seq(like.alias("like"))
    if rest.is_empty() or not marked["like"].any():
        return rest.clear().with_columns_seq(o_line=pl.lit(None, pl.Int64), o_pos=pl.lit(None, pl.Int64))
    columns = [*KEY, "line_end", "pid", "lwp"]
    owners = pl.concat([f.select_seq(columns) for f in (lines.calls, lines.signals, lines.functions)])
    both = pl.concat(
        [
            owners.with_columns_seq(like=pl.lit(False), owner=pl.lit(True), body=pl.lit(None, pl.String)),
            marked.select_seq(*columns, "like", pl.lit(False).alias("owner"), "body"),
        ]
    ).sort(KEY)
    head = pl.when(~pl.col("like"))
    both = both.with_columns_seq(
        head.then(pl.col("line_no")).forward_fill().alias("o_line"),
        head.then(pl.col("pos")).forward_fill().alias("o_pos"),
        head.then(pl.col("owner")).forward_fill().alias("o_is"),
        head.then(pl.col("pid").fill_null(-1)).forward_fill().alias("o_pid"),
        head.then(pl.col("lwp").fill_null(-1)).forward_fill().alias("o_lwp"),
    )
    same = (pl.col("o_pid") == pl.col("pid").fill_null(-1)) & (pl.col("o_lwp") == pl.col("lwp").fill_null(-1))
    return both.filter(pl.col("like") & pl.col("o_is").fill_null(False) & same).select_seq(
        *KEY, "line_end", "body", "o_line", "o_pos"
    )


_DETAIL_COLUMNS = {"peer": pl.String, "polled": pl.String, "ready": pl.Int64, "semnum": pl.Int64, "siginfo": pl.String}
_NO_DETAILS = [pl.lit(None, t).alias(n) for n, t in _DETAIL_COLUMNS.items()]


def columns_of_details(found: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each owner of details; empty without details.

    Columns: owner, `d_end` (last line of the details), address, poll list, first ready descriptor, semaphore, siginfo.
    """
    if found.is_empty():
        return found
    body, first = pl.col("body"), {c: pl.col(c).first(ignore_nulls=True) for c in _DETAIL_COLUMNS}
    polled = body.str.contains(POLLED)
    by_line = found.with_columns_seq(BODY.alias("body")).select_seq(
        "o_line", "o_pos", "line_end",
        pl.when(body.str.contains(PEER)).then("body").alias("peer"),
        pl.when(polled).then("body").alias("polled"),
        pl.when(polled & (body.str.extract(POLLED, 2) != "0"))
        .then(body.str.extract(POLLED, 1).str.to_integer(base=10, strict=False))
        .alias("ready"),
        body.str.extract(SEMNUM, 1).str.to_integer(base=10, strict=False).alias("semnum"),
        pl.when(body.str.starts_with("siginfo:")).then("body").alias("siginfo"),
    )  # fmt: skip
    by_owner = by_line.group_by("o_line", "o_pos").agg(
        pl.col("line_end").max().alias("d_end"), **{**first, "polled": pl.col("polled")}
    )
    return by_owner.with_columns_seq(pl.col("polled").list.join("; ", ignore_nulls=True).replace("", None))


def extend(frame: pl.DataFrame, by_owner: pl.DataFrame, *more: pl.Expr) -> pl.DataFrame:
    """Join the details `by_owner` to their owners, and add the columns `more`; `by_owner` is the result of `columns_of_details`."""
    if by_owner.is_empty() or frame.is_empty():
        return frame.with_columns_seq(*_NO_DETAILS, *more)
    # Join the keys only: the wide data frame is not copied for the few rows that have details.
    keys = frame.select_seq(KEY)
    joined = keys.join(by_owner, left_on=KEY, right_on=["o_line", "o_pos"], how="left", maintain_order="left")
    wide = frame.hstack(without(joined, *KEY))
    return without(wide.with_columns_seq(pl.max_horizontal("line_end", "d_end").alias("line_end"), *more), "d_end")


def time_columns(flags: dict[int, str]) -> list[pl.Expr]:
    """Return expressions for `t` (-d), `delta` (-D), `cpu` (-E); `flags` maps the number of stamps to their meaning."""
    out = []
    for column, flag in (("t", "d"), ("delta", "D"), ("cpu", "E")):
        expr: pl.Expr = pl.lit(None, pl.Float64)
        for n, text in flags.items():
            if flag in text:
                expr = pl.when(pl.col("n") == n).then(pl.col(f"s{text.index(flag) + 1}")).otherwise(expr)
        out.append(expr.alias(column))
    return out


_SOME = {
    "fd": arg.Column(arg.WITH_FD, pl.Int64, arg.fd),
    "path": arg.Column(None, pl.String, arg.path, arg.may_have_path),
    "data": arg.Column(
        arg.BUFFER_CALLS,
        pl.String,
        lambda names: arg.from_buffer(),
        arg.has_text,
        lambda text: arg.decode_pairs(arg.to_quote(text)),
    ),
    "arg_id": arg.Column(arg.WITH_ID, pl.Int64, arg.arg_id),
    "sem_num": arg.Column(arg.SEM_CALLS, pl.Int64, arg.sem_num),
    "arg_addr": arg.Column(arg.WITH_ADDR, pl.UInt64, arg.arg_addr),
}
_CHILD = pl.col("returning").is_not_null()
_STATE = (
    pl.when(_CHILD)
    .then(pl.lit("child_start"))
    .when("silent")
    .then(pl.lit("no_return"))
    .otherwise(pl.lit("done"))
    .alias("state")
)


def arguments(calls: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of `syscalls` and `open_calls` that come from one line: results, descriptors, ids, buffers."""
    names = arg.Names(calls["name"].unique())
    second = arg.number(pl.col("val2")) if calls["val2"].null_count() < len(calls) else pl.lit(None, pl.Int64)
    calls = calls.with_columns_seq(arg.number(pl.col("val")).alias("ret"), second.alias("ret2"))
    calls = arg.add_columns(calls, names, _SOME).with_columns_seq(
        pl.coalesce("fd", "ready").alias("fd"),
        pl.coalesce("sem_num", "semnum").alias("sem_num"),
        pl.coalesce("data", "polled").alias("data"),
        pl.when(names.among(("pipe", "pipe2"))).then("ret2").alias("fd2"),
        arg.transferred(names).alias("bytes"),
        pl.when(~_CHILD).then(arg.child_pid(names)).alias("child_pid"),
        _STATE,
    )
    return without(calls, "val", "val2", "polled", "ready", "semnum", "siginfo")


def events_of(calls: pl.DataFrame, signals: pl.DataFrame, functions: pl.DataFrame, *, ties: bool) -> pl.DataFrame:
    """Return one row for each line that a thread printed, in file order, as `trace_clock` needs them; `kind` names the source.

    `ties`: add the pipe tokens that may tie one stretch of stamps to another.
    """
    token = pl.lit(None, pl.String)
    if ties:
        token = pl.col("data").str.replace_all(r"[\t\n ]+", "").str.extract(f"({TOKEN})", 1)
    born = pl.when(pl.col("state") == "child_start").then("pid").otherwise("child_pid")
    common = [*KEY, "line_end", "pid", "lwp", "t", "delta", "n"]
    nothing = {"born": pl.lit(None, pl.Int64), "token": pl.lit(None, pl.String)}
    false = {"fresh": pl.lit(False), "died": pl.lit(False)}
    stamped = pl.when(pl.col("waits").is_null()).then
    events = calls.select_seq(
        *KEY, "line_end", "pid", "lwp", stamped(pl.col("t")).alias("t"), stamped(pl.col("delta")).alias("delta"), "n", "name",
        (pl.col("state") == "child_start").alias("fresh"), (pl.col("name") == "_exit").fill_null(False).alias("died"),
        born.alias("born"), token.alias("token"), pl.lit("call").alias("kind"),
    )  # fmt: skip
    others = [
        frame.select_seq(*common, pl.col(name).alias("name"), **false, **nothing, kind=pl.lit(kind))
        for frame, name, kind in ((signals, "signal", "signal"), (functions, "func", "function"))
        if len(frame)
    ]
    return pl.concat([events, *others]).sort(KEY) if others else events


def signal_rows(signals: pl.DataFrame) -> pl.DataFrame:
    """Return rows of `signals`: a fault's name becomes its code; siginfo adds signal, code, address, sender, status."""
    fault = pl.col("what") == "Incurred fault"
    info = ["info_signal", "info_code", "info_pid", "info_addr", "info_status"]
    groups = pl.col("siginfo").str.extract_groups(SIGINFO).struct.rename_fields(info).alias("info")
    return signals.with_columns_seq(groups).unnest("info").select_seq(
        "line_no", "line_end", "seq", "pid", "lwp", pl.col("t").alias("t_local"),
        pl.col("what").replace_strict(SIGNAL_EVENTS, return_dtype=pl.String).alias("event"),
        pl.when(fault).then("info_signal").otherwise("signal").alias("signal"),
        "action", "in_call",
        pl.when(fault).then("signal").otherwise("info_code").alias("code"),
        arg.address(pl.coalesce("addr", "info_addr")).alias("addr"),
        pl.col("info_pid").str.to_integer(base=10, strict=False).alias("sender_pid"),
        arg.number(pl.col("info_status")).alias("status"),
    )  # fmt: skip


def function_rows(functions: pl.DataFrame, stacks: dict[str, list[str]]) -> pl.DataFrame:
    """Return rows of `libcalls`. The depth is the indent (two blanks a level), or a call stack where a page removed tabs and indent.

    `stacks` (per process and LWP) is carried and changed: returns may be missing, so an exit pops until the name matches.
    """
    tabbed = functions["line"].str.contains("\t", literal=True)
    if tabbed.all():
        depth = functions["line"].str.extract(r"\t( *)(?:->|<-) ", 1).str.len_chars().cast(pl.Int64, strict=False) // 2
    else:
        levels = []
        for pid, lwp, arrow, func in functions.select_seq("pid", "lwp", "arrow", "func").iter_rows():
            stack = stacks.setdefault(f"{pid}/{lwp}", [])
            if arrow == "->":
                levels.append(len(stack))
                stack.append(func)
            else:
                while stack and stack.pop() != func:
                    pass
                levels.append(len(stack))
            del stack[:-200]
        depth = pl.Series("depth", levels, pl.Int64)
    return functions.select_seq(
        "line_no", "line_end", "seq", "pid", "lwp", pl.col("t").alias("t_local"), depth.alias("depth"), "lib", "func",
        pl.when(pl.col("arrow") == "->").then(pl.lit("entry")).otherwise(pl.lit("exit")).alias("event"),
        "args", "ret_text",
    )  # fmt: skip
