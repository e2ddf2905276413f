"""What words in evidence mean: system calls, functions of Oracle Net traces, columns of listings. Shown on the lines page.

Texts follow the manual pages of the systems (sections 1, 1M, 2) and say what matters when something is slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CALLS = {
    "accept": "takes the next connection from a listening socket; waits while there is none",
    "access": "checks whether a file may be used",
    "brk": "moves the end of the heap",
    "bind": "gives a socket its local address",
    "chdir": "changes the working directory",
    "clone": "makes a thread or process",
    "close": "closes a file descriptor",
    "connect": "connects a socket; waits for the peer's answer",
    "dup2": "copies a file descriptor onto another",
    "epoll_wait": "waits until a watched descriptor is ready",
    "exec": "replaces the program of a process",
    "execve": "replaces the program of a process",
    "exit": "ends the process",
    "fcntl": "changes a descriptor's options or locks",
    "fork": "makes a child process by copying the caller",
    "fork1": "makes a child process with only the calling thread",
    "fsync": "waits until a file's data lie on disk",
    "futex": "waits for or wakes another thread",
    "getpid": "returns the process number",
    "gettimeofday": "reads the clock",
    "ioctl": "device-specific request",
    "kill": "sends a signal",
    "llseek": "moves the position in a file",
    "lseek": "moves the position in a file",
    "lwp_park": "a thread waits until another wakes it",
    "lwp_unpark": "wakes a thread that waits",
    "memcntl": "controls memory: locking, advice, synchronising",
    "mlock": "locks pages into memory; touches each of them",
    "mmap": "maps a file or memory into the address space",
    "mprotect": "changes the protection of pages",
    "munmap": "removes a mapping",
    "nanosleep": "sleeps",
    "open": "opens a file",
    "openat": "opens a file relative to a directory",
    "pipe": "makes a pipe",
    "poll": "waits until a descriptor is ready or time is up",
    "pollsys": "waits until a descriptor is ready or time is up",
    "pread": "reads at a position",
    "pwrite": "writes at a position",
    "read": "reads from a descriptor; waits while nothing is there",
    "readv": "reads into several buffers",
    "recv": "receives from a socket; waits while nothing is there",
    "recvfrom": "receives from a socket",
    "select": "waits until a descriptor is ready or time is up",
    "semctl": "reads or changes semaphores",
    "semget": "finds or makes a set of semaphores",
    "semop": "changes semaphores; waits until it can",
    "semtimedop": "changes semaphores; waits until it can or time is up",
    "send": "sends on a socket",
    "sendto": "sends on a socket",
    "setsockopt": "sets a socket's option",
    "shmat": "attaches a shared memory segment; how long it takes grows with pages to lock or to fault in",
    "shmctl": "reads, changes or removes a shared memory segment",
    "shmdt": "detaches a shared memory segment",
    "shmget": "finds or makes a shared memory segment",
    "sigaction": "sets what a signal does",
    "socket": "makes a socket",
    "stat": "reads a file's attributes",
    "statvfs": "reads a file system's attributes",
    "times": "reads the process's CPU times",
    "vfork": "makes a child that borrows the caller's memory; the caller waits",
    "waitid": "waits for a child",
    "waitsys": "waits for a child",
    "write": "writes to a descriptor; waits while it is full",
    "writev": "writes from several buffers",
    "Err": "the call failed; the number says why",
    "EAGAIN": "nothing there now; try again",
    "EINTR": "a signal interrupted the call",
    "ENOENT": "no such file",
    "EINVAL": "an argument makes no sense",
    "ENOMEM": "no memory",
    "IPC_ALLOC": "use a segment that exists already",
    "sleeping": "the call was still waiting when it was printed",
}
_NET = {
    "nsevwait": "Oracle Net waits for an event on its connections",
    "nsevrg": "registers a connection for events",
    "nsevunreg": "takes a connection out of the events",
    "nttrd": "reads from the transport (TCP); entry to exit is the wait for the other side",
    "nttwr": "writes to the transport (TCP)",
    "nttcnp": "reads or sets the connection's address",
    "nttcon": "connects over TCP",
    "ntt2err": "an error of the transport",
    "nsprecv": "receives a packet of the session layer",
    "nspsend": "sends a packet of the session layer",
    "nscall": "calls the other side: connect request",
    "nsanswer": "the listener's answer to a connect request",
    "nsaccept": "accepts a connection",
    "nsopen": "opens a connection",
    "nsclose": "closes a connection",
    "nsmore2recv": "asks whether more data wait",
    "nsmal": "allocates memory",
    "nsmfr": "frees memory",
    "nioqrc": "sends a request and reads the answer: one round trip of the client",
    "nioqsn": "sends a request",
    "nsrdr": "reads data of a session",
    "nsdo": "work of the session layer",
    "snlinGetAddrInfo": "resolves a host name",
    "snlpcgtsrvbynm": "looks a service up by name",
    "entry": "the function begins",
    "exit": "the function ends",
}
_MAP = {
    "rwx": "readable, writable, executable",
    "rwxs": "readable, writable, executable, shared",
    "dism": "dynamic intimate shared memory: pages are locked by a daemon, page by page",
    "ism": "intimate shared memory: locked at creation, page tables shared",
    "shmid": "number of the shared memory segment",
    "anon": "memory without a file",
    "heap": "the process's heap",
    "stack": "the process's stack",
    "Kbytes": "size of the mapping",
    "RSS": "part of it that lies in memory now",
    "Rss": "part of it that lies in memory now",
    "Pss": "resident memory, shared pages divided among their users",
    "Anon": "private pages",
    "Locked": "pages locked in memory",
    "Swap": "reserved swap space",
    "Pgsz": "page size of the mapping",
    "Mode": "permissions",
}
_BY_KIND: dict[str, dict[str, str]] = {
    "truss": _CALLS,
    "strace": _CALLS,
    "sqlnet": _NET,
    "pmap": _MAP,
    "mixed": {**_CALLS, **_NET, **_MAP},
}
_WORD = re.compile(r"[A-Za-z_][\w$%/]*")


def words_of(texts: Iterable[str], kind: str | None) -> dict[str, str]:
    """Return the words of these lines that mean something in an artifact of this kind, each with its meaning.

    >>> words_of(["3731/1: shmat(16777281, 0x3C0000000, IPC_ALLOC)"], "truss")["IPC_ALLOC"]
    'use a segment that exists already'
    >>> words_of(["shmat"], "conntime")
    {}
    """
    meanings = _BY_KIND.get(kind or "", {})
    if not meanings:
        return {}
    found = {word for text in texts for word in _WORD.findall(text)}
    return {word: meanings[word] for word in sorted(found & meanings.keys())}
