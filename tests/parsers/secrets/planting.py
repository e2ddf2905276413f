"""Plant secrets into real samples: sentences that carry one, places with free text, and how a leak is detected."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from parsers.errors import ParserError
from parsers.lines import LineReader
from parsers.preview import preview
from parsers.reading import empty_account, read
from parsers.text.source import Hints
from rules.case.case import FROM_CASE
from rules.engine.read import ReadOnly
from rules.model import CaseSpec
from tests.parsers.formats.evidence import all_tables

CORPUS = Path(__file__).parents[2] / "corpus"
A_COLUMN = 2
"""Maximum number of values of a column into which secrets are planted in one sample."""


def _password(n: int) -> str:
    return f"Zq{n:04d}xW7k"


def _random(n: int, size: int) -> str:
    one, other = (hashlib.sha256(f"{n} {i}".encode()).hexdigest() for i in "ab")
    return (one[:8].upper() + one + other)[:size]


def card(n: int) -> str:
    """Return a card number with a valid check digit."""
    front = [int(c) for c in f"4111{n:05d}731942"]
    total = sum(d * 2 - 9 * (d > 4) if i % 2 == 0 else d for i, d in enumerate(reversed(front)))
    return "".join(map(str, [*front, -total % 10]))


def _grouped(n: int) -> str:
    return " ".join(card(n)[at : at + 4] for at in (0, 4, 8, 12))


Form = tuple[str, Callable[[int], str]]

WORD_LIKE: dict[str, Form] = {
    "environment": ("DB_PASSWORD={}", _password),
    "easy connect": ("scott/{}@//db1:1521/Q", _password),
    "alias": ("app/{}@qprod", _password),
    "address": ("https://svc:{}@repo.example.org/x", _password),
    "postgresql": ("postgresql://app:{}@db1/shop", _password),
    "github": ("{}", lambda n: "ghp_" + _random(n, 36)),
    "aws id": ("{}", lambda n: "AKIA" + _random(n, 16).upper()),
    "aws secret": ("aws_secret_access_key={}", lambda n: _random(n, 40)),
    "slack": ("{}", lambda n: f"xoxb-{123456780000 + n}-{_random(n, 20)}"),
    "stripe": ("{}", lambda n: "sk_live_" + _random(n, 24)),
    "jwt": ("{}", lambda n: f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{_random(n, 12)}.{_random(n + 7, 20)}"),
    "google": ("{}", lambda n: "AIza" + _random(n, 35)),
    "mail address": ("jane.{}@example.org", lambda n: f"zq{n:04d}doe"),
    "jdbc": ("jdbc:oracle:thin:scott/{}@db1:1521:Q", _password),
    "jdbc parameter": ("jdbc:mysql://db/x?user=app&password={}", _password),
    "odbc": ("Server=db;Uid=app;Pwd={};", _password),
    "java property": ("-Djavax.net.ssl.keyStorePassword={}", _password),
    "descriptor": ("(CONNECT_DATA=(SERVICE_NAME=Q)(PASSWORD={}))", _password),
    "openssl": ("pass:{}", _password),
    "secret key": ("secret_key={}", _password),
    "client secret": ("client_secret={}", _password),
    "session": ("JSESSIONID={}", _password),
    "url encoded": ("q=password%3D{}", _password),
    "camel case": ("dbPassword={}", _password),
    "short key": ("SYS_PW={}", _password),
    "long option": ("--password={}", _password),
}  # fmt: skip
"""Forms without blanks, which fit into a column."""

SENTENCES: dict[str, Form] = {
    "key": ("password: {}", _password),
    "sqlplus": ("sqlplus -s system/{}@QPROD @r.sql", _password),
    "sqlplus alone": ("sqlplus scott/{}", _password),
    "sqlplus as": ("sqlplus sys/{} as sysdba", _password),
    "rman": ("rman target sys/{}@db1", _password),
    "expdp": ("expdp system/{} directory=d", _password),
    "impdp": ("impdp userid=system/{} full=y", _password),
    "connect": ("CONNECT app/{}@Q", _password),
    "mysql": ("mysql -u app -p{} shop", _password),
    "pgpassword": ("PGPASSWORD={} psql -h db1", _password),
    "identified": ("alter user app identified by {}", _password),
    "hash": ("identified by values 'S:{}'", lambda n: _random(n, 40).upper()),
    "link": ("create database link x connect to app identified by {} using 'q'", _password),
    "bearer": ("Authorization: Bearer {}", lambda n: _random(n, 30)),
    "basic": ("Authorization: Basic {}=", lambda n: _random(n, 22)),
    "cookie": ("Cookie: JSESSIONID={}", lambda n: _random(n, 20).upper()),
    "set-cookie": ("Set-Cookie: sid={}; Path=/", lambda n: _random(n, 20)),
    "session in path": ("GET /a;jsessionid={} HTTP/1.1", lambda n: _random(n, 20)),
    "api key": ("X-Api-Key: {}", lambda n: _random(n, 20)),
    "sender": ("From: Jane Q. {} <jd@example.org>", lambda n: f"Zdoe{n:04d}"),
    "card": ("card={} paid", card),
    "grouped card": ("paid with {} today", _grouped),
    "curl": ("curl -s -u svc:{} https://h/", _password),
    "token": ("/opt/agent --token {} -x", _password),
    "git": ("git clone https://oauth2:{}@git.example.org/x.git", lambda n: "glpat-" + _random(n, 20)),
    "sshpass": ("sshpass -p {} ssh h", _password),
    "ldap": ("ldapsearch -D cn=x -w {} -b dc=x", _password),
    "said": ("the password is {} for now", _password),
    "gesagt": ("Passwort: {}", _password),
    "stdin": ("echo {} | passwd --stdin app", _password),
    "redis": ("redis-cli -h h -a {} ping", _password),
    "zip": ("zip -P {} a.zip b", _password),
    "7z": ("7z a -p{} a.7z b", _password),
    "openssl": ("openssl rsa -in k -passin pass:{}", _password),
    "mount": ("mount -o username=app,password={},ro //h/x /m", _password),
    "user pwd": ("user app pwd {}", _password),
    "wget": ("wget --http-password {} http://h", _password),
    "ktpass": ("ktpass -pass {} -out k", _password),
    "lsnrctl": ("lsnrctl change_password {}", _password),
    "orapwd": ("orapwd file=orapwQ password={} entries=5", _password),
    "set password": ("set password for app = password('{}')", _password),
    "shadow": ("app:{}:19000:0:99999:7:::", lambda n: f"$6$Zq{n:04d}xW$" + _random(n, 43)),
}  # fmt: skip
"""Forms of whole lines, of command lines and of messages."""


@dataclass(frozen=True)
class Plant:
    """A planted secret: the form that carries it, and its place (a column, or a line of its own)."""

    secret: str
    form: str
    where: str
    line: str


def samples(kind: str, most: int | None = None) -> list[Path]:
    """Return the samples of a kind, the smaller first: real output and output derived from it."""
    found = [p for p in (CORPUS / kind).glob("*") if p.suffix not in (".json", ".md")]
    return sorted(found, key=lambda p: (p.stat().st_size, p.name))[:most]


def plant(lines: Sequence[str], tables: dict[str, pl.DataFrame], start: int) -> tuple[list[str], list[Plant]]:
    """Plant secrets where the tables have free text, and as lines of their own between the others."""
    chosen: dict[int, tuple[str, str]] = {}
    taken: Counter[str] = Counter()
    for table, rows in tables.items():
        for column in (c for c, t in rows.schema.items() if t == pl.String and "line_no" in rows.columns):
            where = f"{table}.{column}"
            for number, value in rows.select("line_no", column).iter_rows():
                if taken[where] == A_COLUMN:
                    break
                if not value or len(value) < 3 or not re.search(r"[A-Za-z]{2}", value) or number > len(lines):
                    continue
                # Whole words only: a secret attached to a word is not free text.
                if (
                    number - 1 in chosen
                    or len(re.findall(rf"(?<![\w/]){re.escape(value)}(?!\w)", lines[number - 1])) != 1
                ):
                    continue
                chosen[number - 1] = (where, value)
                taken[where] += 1
    planted: list[str] = []
    plants: list[Plant] = []
    every = max(len(lines) // 8, 1)
    forms = [*SENTENCES.items(), *WORD_LIKE.items()]
    words = list(WORD_LIKE.items())

    def put(form: tuple[str, Form], where: str, frame: str) -> None:
        secret = form[1][1](start + len(plants))
        planted.append(frame.replace("\0", form[1][0].format(secret)))
        plants.append(Plant(secret, form[0], where, planted[-1]))

    for index, line in enumerate(lines):
        n = start + len(plants)
        if index % every == every // 2:
            put(forms[n * 11 % len(forms)], "line", "$ \0" if n % 4 == 0 else "\0")
        if index not in chosen:
            planted.append(line)
            continue
        n = start + len(plants)
        where, value = chosen[index]
        if n % 3:
            put(words[n * 7 % len(words)], where, line.replace(value, f"{value},\0" if n % 2 else "\0"))
        else:
            put(forms[n * 7 % len(SENTENCES)], where, line.replace(value, f"{value} \0" if n % 2 else "\0"))
    return planted, plants


def gives_away(secret: str, text: str) -> bool:
    """Decide whether a text shows a secret, or half of it."""
    size = max(6, len(secret) // 2)
    return any(secret[at : at + size] in text for at in range(len(secret) - size + 1))


def shown(path: Path, hints: Hints, out: Path) -> dict[str, str]:
    """Read a file; return all that people can see of it, by place."""
    error = None
    try:
        account = read(path, hints, out)
    except ParserError as caught:
        account, error = caught.account or empty_account("a.txt", str(caught)), str(caught)
    tables = all_tables(out)
    reader = LineReader(path, out)
    found = {f"table {name}": json.dumps(rows.to_dicts(), default=str) for name, rows in tables.items()}
    found["account"] = json.dumps(account.as_json(), default=str, ensure_ascii=False)
    found["error"] = error or ""
    found["manifest"] = (out / "manifest.json").read_text(encoding="utf-8")
    found["lines"] = "\n".join(line.text for line in reader.lines(1, reader.count))
    found["preview"] = str(preview(reader, "a.txt", hints, 1, 200))
    found["sql"] = _by_sql(path, out, tables, account.sha256)
    return found


def _by_sql(path: Path, out: Path, tables: dict[str, pl.DataFrame], sha256: str | None) -> str:
    """Return all texts in the tables."""
    artifact = {"id": 1, "file": "a.txt", "sha256": sha256, "original": str(path), "reading": str(out), "parts": []}
    spec = CaseSpec.from_json({"schema": 1, "title": None, "artifacts": [artifact]})
    names = [name for name in tables if name not in FROM_CASE]
    with ReadOnly(spec, names) as sql:
        return str([sql.query(f'select * from "{name}"') for name in names])
