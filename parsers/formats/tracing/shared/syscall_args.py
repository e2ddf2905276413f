"""Parse the arguments of traced calls into columns: descriptors, paths, ids, addresses, buffers, result values.

Shared by the trace formats (truss, strace, dtruss, perf trace). Functions take and return column expressions; no line becomes a
Python object. `names` holds the names of the calls of a block, `args` is the text between their parentheses as printed.

Traps: a number in first place is a descriptor only for the calls listed here (kill(2146, ...), shmat(16777281, ...) begin with a number
as well). Quotes inside a truss string are not escaped. A result such as 0xFFFFFFFF7F78A000 is an address above 2^63: it has no BIGINT value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

import polars as pl

from parsers.text.inline_polars import spread, where

NAME, ARGS, RET, RET_TEXT = pl.col("name"), pl.col("args"), pl.col("ret"), pl.col("ret_text")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FD_CALLS = _names(
    "read write readv writev pread pread64 pwrite pwrite64 preadv pwritev close fcntl fcntl64 ioctl fstat fstat64 fxstat lseek lseek64 "
    "llseek _llseek ftruncate ftruncate64 fsync fdatasync fdsync dup dup2 dup3 accept accept4 bind listen connect send sendto sendmsg "
    "sendmmsg recv recvfrom recvmsg recvmmsg getsockname getpeername getsockopt setsockopt shutdown getdents getdents64 fchmod fchown "
    "fchown32 fchdir facl fstatvfs fstatvfs64 fstatfs fstatfs64 getmsg putmsg getpmsg putpmsg sendfile sendfile64 sendfilev sendfilev64 "
    "port_getn port_get port_associate port_dissociate port_send port_alert fpathconf flock fallocate fadvise64 epoll_wait epoll_pwait "
    "epoll_ctl splice tee vmsplice timerfd_settime timerfd_gettime kread kwrite kreadv kwritev klseek kfcntl kioctl"
)
"""Calls whose first argument is a descriptor."""

AT_CALLS = _names(
    "openat openat64 fstatat fstatat64 newfstatat faccessat faccessat2 unlinkat mkdirat mknodat readlinkat fchownat fchmodat renameat "
    "renameat2 linkat futimesat utimensat utimesys statx execveat name_to_handle_at"
)
"""Calls whose first two arguments are a directory descriptor and a path."""

NO_PATH_CALLS = _names(
    "getrandom getentropy gethostname sethostname setdomainname memfd_create add_key request_key delete_module fsopen"
)
"""Calls whose first argument is a text but no path: random bytes may begin with a slash."""

TRANSFERS = _names(
    "read write readv writev pread pread64 pwrite pwrite64 preadv pwritev send sendto sendmsg recv recvfrom recvmsg getmsg putmsg "
    "sendfile sendfile64 sendfilev sendfilev64 getdents getdents64 kread kwrite kreadv kwritev"
)
"""Calls whose result is a number of bytes."""

BUFFER_CALLS = _names("read write pread pread64 pwrite pwrite64 send sendto recv recvfrom kread kwrite getmsg putmsg")
"""Calls whose second argument is the buffer."""

ID_CALLS = _names("shmat shmctl semctl semop semtimedop msgsnd msgrcv msgctl waitpid wait4")
"""Calls whose first argument is an id: of shared memory, a semaphore set, a message queue or a process."""
GET_CALLS = frozenset({"shmget", "semget", "msgget"})
"""Calls whose result is such an id."""

ADDR_CALLS = _names(
    "shmdt mprotect futex lwp_park lwp_mutex_timedlock lwp_mutex_trylock lwp_mutex_lock lwp_mutex_unlock lwp_mutex_wakeup "
    "lwp_mutex_register lwp_cond_wait lwp_cond_signal lwp_cond_broadcast lwp_sema_timedwait lwp_sema_trywait lwp_sema_post lwp_rwlock_sys"
)
"""Calls whose first address argument is stored as `arg_addr`."""

SEM_CALLS = frozenset({"semctl", "semop", "semtimedop"})
_PIPES, _MAPS = frozenset({"pipe", "pipe2"}), frozenset({"mmap", "mmap64", "mmapobj"})
WITH_FD = FD_CALLS | AT_CALLS | _PIPES | _MAPS
WITH_ID = ID_CALLS | GET_CALLS | {"waitid", "waitsys"}
WITH_ADDR = ADDR_CALLS | {"shmat"}
"""Calls that can have a value in `arg_addr`; likewise above for `sem_num`, `fd` and `arg_id`."""

FEW_NAMES = 5
"""Maximum number of names that are compared one by one instead of as a set."""

FORKS = ("fork", "fork1", "forkall", "forkx", "forkallx", "vfork", "vforkx", "kfork", "clone", "clone3", "spawn")
"""Calls whose result in the parent is the child's process number."""

_HEX = r"0x([0-9A-Fa-f]+)"

_PAIRS = (
    {" " + chr(c): chr(c) for c in range(32, 127)}
    | {f"{c:02X}": f"\\x{c:02X}" for c in range(256)}
    | {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\0": r"\x00", r"\b": r"\x08", r"\v": r"\x0B", r"\f": r"\x0C"}
)


def number(text: pl.Expr) -> pl.Expr:
    """Convert a printed result to Int64: decimal, 0x hexadecimal, octal with a leading 0.

    Signal names, `?` and values that do not fit (addresses above 2^63 - 1) become NULL.
    """
    hexadecimal, octal = text.str.starts_with("0x"), text.str.starts_with("0") & (text.str.len_bytes() > 1)
    return (
        pl.when(hexadecimal)
        .then(text.str.strip_prefix("0x").str.to_integer(base=16, strict=False))
        .when(octal)
        .then(text.str.to_integer(base=8, strict=False))
        .otherwise(text.cast(pl.Int64, strict=False))
    )


def address(text: pl.Expr) -> pl.Expr:
    """Convert a printed address (0x...) to UInt64; any other text becomes NULL."""
    return _hexadecimal(text.str.extract(_HEX, 1))


def _hexadecimal(digits: pl.Expr) -> pl.Expr:
    return digits.str.to_integer(base=16, dtype=pl.UInt64, strict=False)


class Names:
    """The call names of a block; expressions that only other names need are left out."""

    def __init__(self, there: Iterable[str | None]) -> None:
        every = frozenset(there)
        self.there = frozenset(name for name in every if name is not None)
        self.nameless = None in every

    def only(self, names: Collection[str]) -> Names:
        return Names(self.there.intersection(names))

    def among(self, names: Collection[str]) -> pl.Expr:
        """Return which calls have one of these names; a few names compared one by one take a fifth of the time of a set."""
        some = sorted(self.there.intersection(names))
        if len(some) > FEW_NAMES:
            return NAME.is_in(some)
        return reduce(or_, [NAME.eq(name) for name in some]) if some else pl.lit(False)

    def choose(self, *cases: tuple[Collection[str], pl.Expr], otherwise: pl.Expr | None = None) -> pl.Expr:
        """Return the value of the case that contains the call's name.

        Polars computes all cases for all rows, so the expression contains only the cases that occur in the block.
        """
        there = [(self.there.intersection(names), value) for names, value in cases if not self.there.isdisjoint(names)]
        if otherwise is None and there and self.there <= frozenset().union(*(names for names, _ in there)):
            *there, (_, otherwise) = there
        chosen = pl.lit(None) if otherwise is None else otherwise
        for names, value in reversed(there):
            chosen = pl.when(self.among(names)).then(value).otherwise(chosen)
        return chosen


@dataclass(frozen=True)
class Column:
    """A column that only some calls have: the names that can have it (None: any), a further condition, the value, its type.

    `then` is a second step: within one expression Polars would compute the value once for each place it stands in.
    """

    names: frozenset[str] | None
    dtype: type[pl.DataType]
    value: Callable[[Names], pl.Expr]
    shows: Callable[[Names], pl.Expr] | None = None
    then: Callable[[pl.Expr], pl.Expr] | None = None


def add_columns(calls: pl.DataFrame, names: Names, columns: dict[str, Column]) -> pl.DataFrame:
    """Add columns that only some calls have, NULL elsewhere; patterns run over those calls only. `calls` has name, args, ret, ret_text."""
    narrow = calls.select_seq("name", "args", "ret", "ret_text")
    tests = {}
    for title, column in columns.items():
        test = [] if column.names is None else [names.among(column.names)]
        if column.names is None or names.only(column.names).there:
            tests[title] = reduce(and_, [*test, *([column.shows(names)] if column.shows else [])])
    there = narrow.select_seq(test.fill_null(False).alias(title) for title, test in tests.items())
    added: list[pl.Expr | pl.Series] = []
    for title, column in columns.items():
        mask = there[title] if title in tests else None
        if mask is None or not mask.any():
            added.append(pl.lit(None, column.dtype).alias(title))
            continue
        some = names if column.names is None else names.only(column.names)
        found = where(narrow, mask).select_seq(column.value(some).cast(column.dtype).alias(title))
        if column.then is not None:
            found = found.select_seq(column.then(pl.col(title)))
        added.append(spread(found.to_series(), mask))
    return calls.with_columns_seq(added)


def fd(names: Names) -> pl.Expr:
    """Return the first descriptor of a call as Int64: its first argument, pipe's read end (its result), mmap's fifth argument.

    illumos prints mmap's -1 as 4294967295, which is no descriptor.
    """
    first = ARGS.str.extract(r"^\s*(-?[0-9]+)(?:<|,|$)", 1).cast(pl.Int64, strict=False)
    mapped = ARGS.str.extract(r"MAP_[A-Z0-9_|]+, (-?[0-9]{1,9})[,<]", 1).cast(pl.Int64, strict=False)
    return names.choose((FD_CALLS | AT_CALLS, first), (_PIPES, RET), (_MAPS, mapped))


def may_have_path(names: Names) -> pl.Expr:
    """Return which calls may have a `path`, by a cheap test."""
    quoted = ARGS.str.contains(r'^\s*["“]')
    if names.nameless:
        quoted &= NAME.is_not_null()
    if names.only(NO_PATH_CALLS).there:
        quoted &= ~names.among(NO_PATH_CALLS)
    return quoted | names.among(AT_CALLS) if names.only(AT_CALLS).there else quoted


def path(names: Names) -> pl.Expr:
    """Return the path of a call: a text in first place or after a directory descriptor; for symlink the name of the link."""
    # Captures take four times as long as a match without captures and two cuts, so they are avoided where possible.
    first = ARGS.str.extract(r'^\s*["“].*?["”](?:,|$)', 0).str.strip_chars_start().str.strip_suffix(",")
    behind = ARGS.str.extract(r'^\s*(?:AT_FDCWD|-?[0-9]+|0x[0-9A-Fa-f]+)(?:<[^>]*>)?, ?"(.*?)"(?:,|$)', 1)
    second = ARGS.str.extract(r'^\s*".*?", "(.*?)"$', 1)
    inner = first.str.head(-1).str.tail(-1)
    return names.choose((AT_CALLS, behind), (("symlink",), second), otherwise=inner)


def arg_id(names: Names) -> pl.Expr:
    """Return the id a call works on: shared memory, semaphore or message queue id, or the process it waits for."""
    first = ARGS.str.extract(r"^\s*([0-9]+)(?:<[^>]*>)?,", 1).cast(pl.Int64, strict=False)
    waited = ARGS.str.extract(r"^P_[A-Z]*PID, ([0-9]+)", 1).cast(pl.Int64, strict=False)
    return names.choose((ID_CALLS, first), (GET_CALLS, pl.when(RET >= 0).then(RET)), (("waitid", "waitsys"), waited))


def sem_num(names: Names) -> pl.Expr:
    """Return the semaphore number: argument 2 of semctl, the first operation of semop where the list is printed."""
    second = ARGS.str.extract(r"^\s*[0-9]+, ([0-9]+)(?:,|$)", 1)
    listed = ARGS.str.extract(r"^\s*[0-9]+, \[\{(?:sem_num=)?([0-9]+)", 1)
    text = names.choose((("semctl",), second), (("semop", "semtimedop"), listed))
    return text.cast(pl.String).cast(pl.Int64, strict=False)


def arg_addr(names: Names) -> pl.Expr:
    """Return the address argument as UInt64: shmat (argument 2, or its result where the kernel chose), shmdt, mprotect, locks."""
    asked = _hexadecimal(ARGS.str.extract(r"^\s*[0-9]+, 0x(0*[1-9A-Fa-f][0-9A-Fa-f]*)", 1))
    first = _hexadecimal(ARGS.str.extract(r"^\s*0x([0-9A-Fa-f]+)", 1))
    return names.choose((("shmat",), pl.coalesce(asked, address(RET_TEXT))), (ADDR_CALLS, first))


def transferred(names: Names) -> pl.Expr:
    """Return the bytes moved: the result of read, write, send, recv and similar calls, NULL after an error."""
    return pl.when(names.among(TRANSFERS) & (RET >= 0)).then(RET)


def has_text(names: Names) -> pl.Expr:
    """Return for which of the calls of `BUFFER_CALLS` `buffer` may find a text, by a cheap test."""
    return ARGS.str.contains('"', literal=True)


def from_buffer() -> pl.Expr:
    """Return the arguments from the first character of the buffer on."""
    return ARGS.str.strip_prefix(ARGS.str.extract(r'^\s*-?[0-9]+(?:<[^>]*>)?, "', 0))


def to_quote(text: pl.Expr) -> pl.Expr:
    """Cut off the buffer's closing quote and what follows it, searched from the right because quotes inside are not escaped."""
    return text.str.strip_suffix(text.str.extract(r'"(?:\.\.\.?|…)?(?:, [^"]*)?$', 0))


def decode_pairs(raw: pl.Expr) -> pl.Expr:
    r"""Decode a buffer printed as two characters a byte: blank and a character, a backslash code, or two hexadecimal digits.

    Newline, tab and carriage return become themselves, every other unprintable byte `\xHH`. Where a page has collapsed double blanks,
    blanks of the text are lost (`NTP0 3731` comes out as `NTP03731`): this is best effort, and the raw text stays in `args`.

    >>> pl.select(decode_pairs(pl.lit(r" N T P 0   3 7 3 1\n"))).item()
    'NTP0 3731\n'
    >>> pl.select(decode_pairs(pl.lit(r"\0F0 A"))).item()
    '\\x00\\xF0A'
    """
    # Every pair is a pattern and matches do not overlap, so one pass from the left stays on pair borders.
    return raw.str.replace_many(list(_PAIRS), list(_PAIRS.values()), leftmost=True)


def child_pid(names: Names) -> pl.Expr:
    """Return the child's process number from the result of a fork-like call in the parent; 0 is the child's view and becomes NULL."""
    return pl.when(names.among(FORKS) & (RET > 0)).then(RET)
