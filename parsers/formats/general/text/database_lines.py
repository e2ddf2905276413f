r"""Lines without a stamp by which a database, its driver or its pool says that something failed.

PDO (`SQLSTATE[HY000]: General error: 1205 ...`), the clients of MySQL (`Error 1205 (HY000): ...`), Go's driver of PostgreSQL
(`pq: ...`), replies of Redis (`-ERR max number of clients reached`, `MISCONF Redis is ...`), ProxySQL, Ecto, Prisma, the reply of a
search engine on one line (`{"error":{"root_cause":[...]}}`). A message of SQL
Server has its number on one line and its words on the next (`Msg 1205, Level 13, State 51`, `Error: 9002, Severity: 17`).
Source: php.net, PDO::errorInfo; MySQL Reference Manual, mysql client errors; Redis protocol specification, simple errors; Microsoft
Learn, Understanding Database Engine errors; the texts of github.com/lib/pq, elixir-ecto/db_connection, prisma/prisma.

    >>> severity_of_database("SQLSTATE[HY000]: General error: 1205 Lock wait timeout exceeded; try restarting transaction")
    'error'
    >>> severity_of_database("-ERR max number of clients reached"), severity_of_database("ERR is short for error in our team")
    ('error', None)
    >>> announces_message("Msg 1222, Level 16, State 45, Line 3"), announces_message("Error: 9002, Severity: 17, State: 4.")
    (True, True)
"""

from __future__ import annotations

import re

LONGEST = 2000
"""Maximum number of characters of a line that is looked at."""

_SAID = re.compile(
    r"(?:[^\[\]]{0,300}\b)?SQLSTATE(?:\[\w{1,8}\](?: ?\[[0-9]{1,5}\])?:?|[=(: ]{1,2}\w{5}\)?:) [A-Za-z].+"
    r"|(?:MySQL )?[Ee]rror(?: code)?:? ?[0-9]{4}(?: ?\([0-9A-Z]{5}\))?: [A-Za-z'].+"
    r"|-(?:ERR|OOM|BUSY|LOADING|MISCONF|READONLY|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|TRYAGAIN) [A-Za-z].+"
    r"|(?:BUSY|LOADING|MISCONF) Redis is .+|OOM command not allowed .+|CLUSTERDOWN The cluster is down\b.*"
    r"|READONLY You can't write against a read ?-?only (?:replica|slave)\b.*|NOREPLICAS Not enough good replicas to write\b.*"
    r"|pq: [a-z].+"
    r"|ProxySQL Error: .+"
    r"|\(DBConnection\.ConnectionError\) .+"
    r"|Timed out fetching a new connection from the connection pool\..*"
    r"|\{ ?\"error\" ?: ?(?:\{ ?\"(?:root_cause|type|code|message|reason|status)\" ?:|\"[A-Za-z]).+"
)
MAYBE = re.compile(
    r"^-[A-Z]|SQLSTATE|rror|Redis is|^OOM|^CLUSTERDOWN|^READONLY|^NOREPLICAS|^pq: |ConnectionError|^Timed out fetching"
)
_NUMBERED = re.compile(
    r"Msg [0-9]{1,6}, Level [0-9]{1,2}, State [0-9]{1,3}(?:, .{1,200})?"
    r"|Error: [0-9]{1,6}, Severity: [0-9]{1,2}, State: [0-9]{1,3}\..{0,40}"
)


def severity_of_database(line: str) -> str | None:
    """Return the severity of a line that a database, its driver or its pool prints, None for any other line."""
    text = line.strip()
    return "error" if len(text) <= LONGEST and MAYBE.search(text) and _SAID.fullmatch(text) else None


def announces_message(line: str) -> bool:
    """Return whether a line is the number of a message of SQL Server, whose words stand on the next line."""
    return line.lstrip(" \t").startswith(("Msg ", "Error: ")) and _NUMBERED.fullmatch(line.strip()) is not None
