"""Argument texts of traced calls, as columns: descriptors, paths, ids, addresses, buffers, result values.

Shared by the trace formats (truss, strace, dtruss). Every function takes column expressions and gives one; nothing here looks at a line as
a Python object. `name` is the call's name, `args` the text between its parentheses as printed.

Traps: a number in first place is a descriptor only for calls named here (kill(2146, ...), shmat(16777281, ...) begin with a number as
well). Quotes inside a truss string are not escaped. A result such as 0xFFFFFFFF7F78A000 is an address above 2^63 and has no BIGINT value.
"""

from __future__ import annotations

import polars as pl


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
"""Calls that begin with a directory descriptor and a path."""

NO_PATH_CALLS = _names(
    "getrandom getentropy gethostname sethostname setdomainname memfd_create add_key request_key delete_module fsopen"
)
"""Calls that begin with a text which is no path: random bytes may begin with a slash."""

TRANSFERS = _names(
    "read write readv writev pread pread64 pwrite pwrite64 preadv pwritev send sendto sendmsg recv recvfrom recvmsg getmsg putmsg "
    "sendfile sendfile64 sendfilev sendfilev64 getdents getdents64 kread kwrite kreadv kwritev"
)
"""Calls whose result is a number of bytes."""

BUFFER_CALLS = _names("read write pread pread64 pwrite pwrite64 send sendto recv recvfrom kread kwrite getmsg putmsg")
"""Calls whose second argument is the buffer."""

ID_CALLS = _names("shmat shmctl semctl semop semtimedop msgsnd msgrcv msgctl waitpid wait4")
"""Calls whose first argument is an id: of shared memory, a semaphore set, a queue, a process."""
GET_CALLS = frozenset({"shmget", "semget", "msgget"})
"""Calls whose result is the id."""

ADDR_CALLS = _names(
    "shmdt mprotect futex lwp_park lwp_mutex_timedlock lwp_mutex_trylock lwp_mutex_lock lwp_mutex_unlock lwp_mutex_wakeup "
    "lwp_mutex_register lwp_cond_wait lwp_cond_signal lwp_cond_broadcast lwp_sema_timedwait lwp_sema_trywait lwp_sema_post lwp_rwlock_sys"
)
"""Calls whose first address counts (`arg_addr`)."""

SEM_CALLS = frozenset({"semctl", "semop", "semtimedop"})
_PIPES, _MAPS = frozenset({"pipe", "pipe2"}), frozenset({"mmap", "mmap64", "mmapobj"})
WITH_FD = FD_CALLS | AT_CALLS | _PIPES | _MAPS
WITH_ID = ID_CALLS | GET_CALLS | {"waitid", "waitsys"}
WITH_ADDR = ADDR_CALLS | {"shmat"}
"""Calls for which `sem_num`, `fd`, `arg_id`, `arg_addr` say something at all."""

FORKS = ("fork", "fork1", "forkall", "forkx", "forkallx", "vfork", "vforkx", "kfork", "clone", "clone3", "spawn")
"""Calls whose result in the parent is the child's process number."""

_HEX = r"0x([0-9A-Fa-f]+)"

_PAIRS = (
    {" " + chr(c): chr(c) for c in range(32, 127)}
    | {f"{c:02X}": f"\\x{c:02X}" for c in range(256)}
    | {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\0": r"\x00", r"\b": r"\x08", r"\v": r"\x0B", r"\f": r"\x0C"}
)


def number(text: pl.Expr) -> pl.Expr:
    """Give the value of a printed result as Int64: decimal, 0x hexadecimal, octal with a leading 0.

    Signal names, `?` and values that do not fit (addresses above 2^63 - 1) are NULL.
    """
    hexadecimal, octal = text.str.starts_with("0x"), text.str.starts_with("0") & (text.str.len_bytes() > 1)
    return (
        pl.when(hexadecimal)
        .then(text.str.strip_prefix("0x").str.to_integer(base=16, strict=False))
        .when(octal)
        .then(text.str.to_integer(base=8, strict=False))
        .otherwise(text.str.to_integer(base=10, strict=False))
    )


def address(text: pl.Expr) -> pl.Expr:
    """Give a printed address (0x...) as UInt64; NULL if it is none."""
    return _hexadecimal(text.str.extract(_HEX, 1))


def _hexadecimal(digits: pl.Expr) -> pl.Expr:
    return digits.str.to_integer(base=16, dtype=pl.UInt64, strict=False)


def fd(name: pl.Expr, args: pl.Expr, ret: pl.Expr) -> pl.Expr:
    """Give the first descriptor of a call as Int64: its first argument, pipe's read end (its result), mmap's fifth argument."""
    first = args.str.extract(r"^\s*(-?[0-9]+)(?:<|,|$)", 1).str.to_integer(base=10, strict=False)
    mapped = args.str.extract(r"MAP_[A-Z0-9_|]+, (-?[0-9]+)[,<]", 1).str.to_integer(base=10, strict=False)
    return (
        pl.when(name.is_in(FD_CALLS | AT_CALLS))
        .then(first)
        .when(name.is_in(_PIPES))
        .then(ret)
        .when(name.is_in(_MAPS))
        .then(mapped)
    )


def may_have_path(name: pl.Expr, args: pl.Expr) -> pl.Expr:
    """Say cheaply for which calls `path` can say something."""
    return args.str.contains(r'^\s*["“]') & ~name.is_in(NO_PATH_CALLS) | name.is_in(AT_CALLS)


def path(name: pl.Expr, args: pl.Expr) -> pl.Expr:
    """Give the path of a call: a text in first place, or behind a directory descriptor; for symlink the name of the link."""
    # Where a match without captures and two cuts will do, captures take four times as long.
    first = args.str.extract(r'^\s*["“].*?["”](?:,|$)', 0).str.strip_chars_start().str.strip_suffix(",")
    behind = args.str.extract(r'^\s*(?:AT_FDCWD|-?[0-9]+|0x[0-9A-Fa-f]+)(?:<[^>]*>)?, ?"(.*?)"(?:,|$)', 1)
    second = args.str.extract(r'^\s*".*?", "(.*?)"$', 1)
    inner = first.str.head(-1).str.tail(-1)
    return pl.when(name.is_in(AT_CALLS)).then(behind).when(name == "symlink").then(second).otherwise(inner)


def arg_id(name: pl.Expr, args: pl.Expr, ret: pl.Expr) -> pl.Expr:
    """Give the id a call works on: shared memory, semaphore or message queue id, the process waited for."""
    first = args.str.extract(r"^\s*([0-9]+)(?:<[^>]*>)?,", 1).str.to_integer(base=10, strict=False)
    waited = args.str.extract(r"^P_[A-Z]*PID, ([0-9]+)", 1).str.to_integer(base=10, strict=False)
    return (
        pl.when(name.is_in(ID_CALLS))
        .then(first)
        .when(name.is_in(GET_CALLS) & (ret >= 0))
        .then(ret)
        .when(name.is_in(("waitid", "waitsys")))
        .then(waited)
    )


def sem_num(name: pl.Expr, args: pl.Expr) -> pl.Expr:
    """Give the semaphore number: argument 2 of semctl, the first operation of semop where the list is printed."""
    second = args.str.extract(r"^\s*[0-9]+, ([0-9]+)(?:,|$)", 1)
    listed = args.str.extract(r"^\s*[0-9]+, \[\{(?:sem_num=)?([0-9]+)", 1)
    return (
        pl.when(name == "semctl")
        .then(second)
        .when(name.is_in(("semop", "semtimedop")))
        .then(listed)
        .str.to_integer(base=10, strict=False)
    )


def arg_addr(name: pl.Expr, args: pl.Expr, ret_text: pl.Expr) -> pl.Expr:
    """Give the address a call is about as UInt64: shmat (argument 2, or its result where the kernel chose), shmdt, mprotect, locks."""
    asked = _hexadecimal(args.str.extract(r"^\s*[0-9]+, 0x(0*[1-9A-Fa-f][0-9A-Fa-f]*)", 1))
    first = _hexadecimal(args.str.extract(r"^\s*0x([0-9A-Fa-f]+)", 1))
    attached = pl.coalesce(asked, address(ret_text))
    return pl.when(name == "shmat").then(attached).when(name.is_in(ADDR_CALLS)).then(first)


def transferred(name: pl.Expr, ret: pl.Expr) -> pl.Expr:
    """Give the bytes moved: the result of read, write, send, recv and their kin, NULL after an error."""
    return pl.when(name.is_in(TRANSFERS) & (ret >= 0)).then(ret)


def may_have_buffer(name: pl.Expr, args: pl.Expr) -> pl.Expr:
    """Say cheaply for which calls `buffer` can say something."""
    return name.is_in(BUFFER_CALLS) & args.str.contains('"', literal=True)


def buffer(name: pl.Expr, args: pl.Expr) -> pl.Expr:
    """Give the raw text of a buffer argument, between its outer quotes. It is found from the right: quotes inside are not escaped."""
    behind = args.str.strip_prefix(args.str.extract(r'^\s*-?[0-9]+(?:<[^>]*>)?, "', 0))
    text = behind.str.strip_suffix(behind.str.extract(r'"(?:\.\.\.?|…)?(?:, [^"]*)?$', 0))
    return pl.when(name.is_in(BUFFER_CALLS)).then(text)


def decode_pairs(raw: pl.Expr) -> pl.Expr:
    r"""Decode a buffer that stands there as two characters a byte: blank and a sign, a backslash code, or two hexadecimal digits.

    Newline, tab and carriage return become themselves, every other unprintable byte `\xHH`. Where a page has collapsed double blanks,
    blanks of the text are lost (`NTP0 3731` comes out as `NTP03731`): best effort, the raw text stays in `args`.

    >>> pl.select(decode_pairs(pl.lit(r" N T P 0   3 7 3 1\n"))).item()
    'NTP0 3731\n'
    >>> pl.select(decode_pairs(pl.lit(r"\0F0 A"))).item()
    '\\x00\\xF0A'
    """
    # Every pair is a pattern and matches do not overlap, so one walk from the left stands on pair borders all the way.
    return raw.str.replace_many(list(_PAIRS), list(_PAIRS.values()), leftmost=True)


def child_pid(name: pl.Expr, ret: pl.Expr) -> pl.Expr:
    """Give the process number of the child from the result of the fork family in the parent; 0 is the child's own view: NULL."""
    return pl.when(name.is_in(FORKS) & (ret > 0)).then(ret)
