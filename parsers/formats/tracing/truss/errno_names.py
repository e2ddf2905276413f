"""Names of error numbers, for tools that print only the number. They depend on the system: 35 is EAGAIN on BSD and ENOMSG on Solaris."""

from __future__ import annotations

_FIRST = (
    "EPERM ENOENT ESRCH EINTR EIO ENXIO E2BIG ENOEXEC EBADF ECHILD - ENOMEM EACCES EFAULT ENOTBLK EBUSY EEXIST EXDEV ENODEV ENOTDIR "
    "EISDIR EINVAL ENFILE EMFILE ENOTTY ETXTBSY EFBIG ENOSPC ESPIPE EROFS EMLINK EPIPE EDOM ERANGE"
)
"""Names of 1 to 34, the same on all systems except for 11."""
_BSD = (
    "EAGAIN EINPROGRESS EALREADY ENOTSOCK EDESTADDRREQ EMSGSIZE EPROTOTYPE ENOPROTOOPT EPROTONOSUPPORT ESOCKTNOSUPPORT EOPNOTSUPP "
    "EPFNOSUPPORT EAFNOSUPPORT EADDRINUSE EADDRNOTAVAIL ENETDOWN ENETUNREACH ENETRESET ECONNABORTED ECONNRESET ENOBUFS EISCONN ENOTCONN "
    "ESHUTDOWN ETOOMANYREFS ETIMEDOUT ECONNREFUSED ELOOP ENAMETOOLONG EHOSTDOWN EHOSTUNREACH ENOTEMPTY EPROCLIM EUSERS EDQUOT ESTALE"
)
"""Names of 35 to 70 on FreeBSD and macOS."""
_FIRST_34 = {number: name for number, name in enumerate(_FIRST.split(), start=1) if name != "-"}

BSD = _FIRST_34 | {11: "EDEADLK", 77: "ENOLCK", 78: "ENOSYS"} | dict(enumerate(_BSD.split(), start=35))
MACOS = BSD | {45: "ENOTSUP", 84: "EOVERFLOW", 89: "ECANCELED", 90: "EIDRM", 91: "ENOMSG", 102: "EOPNOTSUPP"}
SOLARIS = _FIRST_34 | {
    11: "EAGAIN", 35: "ENOMSG", 36: "EIDRM", 45: "EDEADLK", 46: "ENOLCK", 47: "ECANCELED", 48: "ENOTSUP", 62: "ETIME", 71: "EPROTO",
    78: "ENAMETOOLONG", 79: "EOVERFLOW", 89: "ENOSYS", 90: "ELOOP", 91: "ERESTART", 95: "ENOTSOCK", 97: "EMSGSIZE", 122: "EOPNOTSUPP",
    125: "EADDRINUSE", 126: "EADDRNOTAVAIL", 128: "ENETUNREACH", 130: "ECONNABORTED", 131: "ECONNRESET", 132: "ENOBUFS", 133: "EISCONN",
    134: "ENOTCONN", 145: "ETIMEDOUT", 146: "ECONNREFUSED", 148: "EHOSTUNREACH", 149: "EALREADY", 150: "EINPROGRESS", 151: "ESTALE",
}  # fmt: skip

_RPC = "EREMOTE EBADRPC ERPCMISMATCH EPROGUNAVAIL EPROGMISMATCH EPROCUNAVAIL ENOLCK ENOSYS EFTYPE EAUTH ENEEDAUTH"
"""Names of 71 to 81 on FreeBSD, OpenBSD and NetBSD."""
BSDS = BSD | dict(enumerate(_RPC.split(), start=71))
"""Names of 1 to 81, the same on FreeBSD, OpenBSD and NetBSD; from 82 on each has its own.

Sources: sys/sys/errno.h of the three systems.
"""
FREEBSD = BSDS | dict(
    enumerate(
        (
            "EIDRM ENOMSG EOVERFLOW ECANCELED EILSEQ ENOATTR EDOOFUS EBADMSG EMULTIHOP ENOLINK EPROTO ENOTCAPABLE ECAPMODE "
            "ENOTRECOVERABLE EOWNERDEAD EINTEGRITY"
        ).split(),
        start=82,
    )
)
OPENBSD = BSDS | dict(
    enumerate(
        (
            "EIPSEC ENOATTR EILSEQ ENOMEDIUM EMEDIUMTYPE EOVERFLOW ECANCELED EIDRM ENOMSG ENOTSUP EBADMSG ENOTRECOVERABLE "
            "EOWNERDEAD EPROTO"
        ).split(),
        start=82,
    )
)
NETBSD = BSDS | dict(
    enumerate(
        (
            "EIDRM ENOMSG EOVERFLOW EILSEQ ENOTSUP ECANCELED EBADMSG ENODATA ENOSR ENOSTR ETIME ENOATTR EMULTIHOP ENOLINK "
            "EPROTO EOWNERDEAD ENOTRECOVERABLE"
        ).split(),
        start=82,
    )
)
WORDS = {
    "Identifier removed": "EIDRM",
    "No message of desired type": "ENOMSG",
    "Value too large to be stored in data type": "EOVERFLOW",
    "Operation canceled": "ECANCELED",
    "Illegal byte sequence": "EILSEQ",
    "Attribute not found": "ENOATTR",
    "Programming error": "EDOOFUS",
    "Bad message": "EBADMSG",
    "Bad or Corrupt message": "EBADMSG",
    "Multihop attempted": "EMULTIHOP",
    "Link has been severed": "ENOLINK",
    "Protocol error": "EPROTO",
    "Capabilities insufficient": "ENOTCAPABLE",
    "Not permitted in capability mode": "ECAPMODE",
    "State not recoverable": "ENOTRECOVERABLE",
    "Previous owner died": "EOWNERDEAD",
    "Integrity check failed": "EINTEGRITY",
    "IPsec processing failure": "EIPSEC",
    "No medium found": "ENOMEDIUM",
    "Wrong medium type": "EMEDIUMTYPE",
    "Not supported": "ENOTSUP",
    "No message available": "ENODATA",
    "No STREAM resources": "ENOSR",
    "Not a STREAM": "ENOSTR",
    "STREAM ioctl timeout": "ETIME",
}
"""Text of strerror(3) -> name, for the errors whose numbers differ between the BSDs.

Sources: comments of sys/sys/errno.h and lib/libc/gen/errlst.c of the three systems.
"""
