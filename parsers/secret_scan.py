"""Secrets in any text: what no format knows of, found by their shape or by the word in front of them.

Token shapes are those of the library detect-secrets; words (password=, IDENTIFIED BY, user/password@alias, Authorization,
cookies, `mysql -p` ...), card numbers, keys between BEGIN and END, and mail addresses are ours. Two steps: one pass over
whole columns finds the few lines that can hold one (about a second for 1 GB), Python looks at those alone.

Words that look alike and are none stay: `passwd: files ldap` of nsswitch.conf, PWD and OLDPWD of an environment,
`remote_login_passwordfile = EXCLUSIVE`, PASSWORD_LIFE_TIME.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import polars as pl

WORDS = [
    *"passw passphrase pwd secret token apikey api_key api-key accesskey access_key credential authorization cookie".split(),
    *"x-auth sqlplus rman sqlldr expdp impdp mysql mariadb curl wget ldapsearch ldapmodify sshpass".split(),
    *("aws", "accountkey", "hooks.slack", "identified by", "identified  by", "private key", "pass="),
    *map(" ".join, "passw pwd secret token apikey api_key authoriz cookie identified sqlplus".split()),
]
"""Case aside. A line without any of these and without a shape of LIKELY holds no secret."""

SHAPES = (
    r"\b(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|\bgl(?:pat|dt|ft|soat|rt|ptt|agent|oas|imt|cbt)-|"
    r"\beyJ[A-Za-z0-9_=-]{8,}\.|\bxox[abposr]-[0-9]|\b[rs]k_live_[0-9a-zA-Z]{24}|\bSG\.[A-Za-z0-9_-]{22}\.|\bpypi-AgE|sq0csp-|"
    r"\bsk-[A-Za-z0-9_-]{20,}|\bnpm_[A-Za-z0-9]{36}|\b[0-9]{8,10}:AA[0-9A-Za-z_-]{33}\b"
)
CARDS = r"\b[3-6][0-9]{3}(?:[ -][0-9]{4}){2}[ -][0-9]{1,7}\b|\"[3-6][0-9]{12,18}\\?\""
LOGINS = r"://[^\s/@:]+:[^\s/@]+@|/[^\s/@\"'=:]{1,60}@[A-Za-z/(]|(?i:\b(?:conn|connect|exp|imp)[ \t][^/@]{0,80}/)"
SPACED = r"\"[^\"]*(?: / (?:[^ \"] ){1,60}@| @ [A-Za-z0-9]| [3-6](?: [0-9]){12})"
LIKELY = f"(?:{SHAPES})|(?:{CARDS})|(?:{LOGINS})|(?:{SPACED})".replace(r"\b", r"(?-u:\b)")
"""Borders of words as ASCII has them: they let through more, and others cost six times as much where a letter is none of ASCII."""

MAILS = r"[A-Za-z0-9]@[A-Za-z0-9][A-Za-z0-9-]*\.[A-Za-z]"
SERVICES = "oracle root grid postgres mysql daemon nobody noreply no-reply mailer-daemon postmaster".split()
"""Accounts of programs, no persons; `oracle@db1.example.org` stands in every listing of sessions."""

OF_ITS_LINE = frozenset({"person"})
"""Kinds that are masked in their own line only: a name is often an ordinary word."""

_LIBRARY = {
    "aws.AWSKeyDetector": ("aws", "akia", "asia", "abia", "acca", "a3t"),
    "azure_storage_key.AzureStorageKeyDetector": ("accountkey",),
    "basic_auth.BasicAuthDetector": ("://",),
    "github_token.GitHubTokenDetector": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "gitlab_token.GitLabTokenDetector": ("gl",),
    "jwt.JwtTokenDetector": ("eyj",),
    "npm.NpmDetector": ("_authtoken", "npm_"),
    "openai.OpenAIDetector": ("sk-",),
    "pypi_token.PypiTokenDetector": ("pypi-",),
    "sendgrid.SendGridDetector": ("sg.",),
    "slack.SlackDetector": ("xox", "hooks.slack"),
    "square_oauth.SquareOAuthDetector": ("sq0csp",),
    "stripe.StripeDetector": ("k_live_",),
    "telegram_token.TelegramBotTokenDetector": (":aa",),
}
"""Detectors of the library, and what stands (in lower case) in every line that they can find something in."""

_KINDS = {"basic_auth": "password", "jwt": "token", "aws": "key", "azure_storage_key": "key"}

_KEY = r"(?:passw(?:or)?d|passphrase|passwort|secret|token|api[_-]?key|access[_-]?key|credentials?|(?<![A-Za-z])pwd|[_-]pwd|pass)"
_VALUE = r"""(?:"([^"\n]{1,200})"|'([^'\n]{1,200})'|([^\s"'`,;()&|<>{}\]\\]{1,200}))"""
_ASSIGNED = ("=", ":")
_NEXT = r"""(?:[ =]|["'], ?["'])"""
"""Between an option and its value: in a command line, or in a list of arguments (`"-w", "Bind3r"`)."""

_BUFFER = re.compile(r'"((?: [^"\\]){10,})')
"""A buffer as truss prints it, a blank before each character."""
_PATTERNS = tuple(
    (kind, needs, re.compile(pattern, re.IGNORECASE))
    for kind, needs, pattern in (
        # key = value, key: value, "key": "value", key => value, --key value
        (
            "password",
            _ASSIGNED,
            rf"""(?<![A-Za-z/])([A-Za-z0-9_.-]{{0,40}}{_KEY}[0-9]{{0,2}})["']?[ \t]{{0,8}}(?:=>|:=|=|:)[ \t]{{0,8}}{_VALUE}""",
        ),
        (
            "password",
            ("-",),
            rf"""(?<![A-Za-z0-9])(--?(?:password|passwd|passphrase|pass|pwd|token|secret|api-?key)){_NEXT}{_VALUE}""",
        ),
        ("password", ("identified",), rf"""\b(identified[ \t]{{1,4}}by[ \t]{{1,4}}(?:values[ \t]{{1,4}})?){_VALUE}"""),
        (
            "password",
            ("sqlplus", "rman", "sqlldr", "exp", "imp", "conn"),
            rf"""\b((?:sqlplus|rman|sqlldr|expdp|impdp|exp|imp|conn|connect)\b[^/@\n]{{0,80}}?[ "'=][A-Za-z][\w$#.]{{0,40}}/){_VALUE}""",
        ),
        (
            "password",
            ("@",),
            r"""((?:^|[ \t"'=(:])[A-Za-z][\w$#]{0,30}/)([^\s/@"'=:]{1,60})()()(?=@[A-Za-z/(][\w./:(-]{1,})""",
        ),
        (
            "password",
            ("mysql", "mariadb"),
            rf"""\b((?:mysql|mysqladmin|mysqldump|mariadb)\b[^\n]{{0,120}}?[ "']-p){_VALUE}""",
        ),
        ("password", ("sshpass",), rf"""\b(sshpass\b[^\n]{{0,40}}?[ "']-p{_NEXT}?){_VALUE}"""),
        ("password", ("ldap",), rf"""\b(ldap(?:search|modify|add|whoami)\b[^\n]{{0,200}}?[ "']-w{_NEXT}?){_VALUE}"""),
        (
            "password",
            ("curl", "wget"),
            rf"""\b((?:curl|wget)\b[^\n]{{0,200}}?[ "'](?:-u|--user|--proxy-user){_NEXT}["']?[^\s:"']{{1,60}}:)([^\s"']{{1,100}})()()""",
        ),
        (
            "token",
            ("authorization",),
            rf"""\b((?:proxy-)?authorization["']?[ \t]{{0,4}}[:=][ \t]{{0,4}}["']?(?:basic|bearer|digest|negotiate|token|apikey)[ \t]{{1,4}}){_VALUE}""",
        ),
        ("token", ("x-",), rf"""\b(x-(?:api|auth)-(?:key|token)["']?[ \t]{{0,4}}[:=][ \t]{{0,4}}){_VALUE}"""),
        ("cookie", ("cookie",), r"""\b((?:set-)?cookie["']?[ \t]{0,4}:[ \t]{0,4}["']?)([^"'\\\n]{3,2000})()()"""),
        ("password", ("p a s s",), r"""(p a s s w (?:o r )?d(?: \w){0,4} [=:] )((?:[^\s"] ){2,60}[^\s"]?)()()"""),
    )
)
_PLAIN_WORDS = frozenset(
    "true false yes no null none nil empty exclusive shared required optional sufficient enabled disabled unlimited default "
    "prompt ask file files compat ldap nis nisplus sss db dns systemd winbind nothing unset not unknown".split()
)
_NO_KEYS = re.compile(
    r"(?:^|[^A-Za-z])(?:old)?pwd$|bypass$|compass$|nopasswd$|next_?token$|tokens$|byte_?pass$|encompass$", re.IGNORECASE
)
_MAIL = re.compile(r"(?<![\w.+-])([A-Za-z0-9][\w.+-]{0,63})@[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{2,63}){1,5}")
_SENDER = re.compile(
    r"^\W{0,6}(?:from|to|cc|bcc|reply-to|sender|von|an|od|do)[ \t]?:[ \t]{0,4}\"?([^\"<@\n]{2,80}?)\"?[ \t]{0,4}<",
    re.IGNORECASE,
)
_SERVICE = rf"\b(?:{'|'.join(SERVICES)})@"
_CARD = re.compile(CARDS)
_BEGIN, _END = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY"), re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
_BASE64 = re.compile(r"[A-Za-z0-9+/=]{8,}|Proc-Type:|DEK-Info:")
_KEY_LINES = 400
_WINDOW, _OVERLAP = 4096, 512

Span = tuple[int, int, str]


class Scanner:
    """Goes through a text block by block; a key that began in one block goes on in the next."""

    def __init__(self, key_lines: int = 0) -> None:
        self.key_lines = key_lines
        """So many lines of a key block were seen, 0 outside of one: all the state there is."""

    def scan(self, frame: pl.DataFrame) -> Iterator[tuple[int, int, int, str]]:
        """Give (line_no, from, to, kind) of each secret in a frame with line_no and line, positions in characters."""
        text = pl.col("line")
        likely = text.str.contains_any(WORDS, ascii_case_insensitive=True) | text.str.contains(LIKELY)
        at = frame.filter(text.str.contains("@", literal=True))
        persons = at.filter(text.str.replace_all(_SERVICE, "").str.contains(MAILS))["line_no"]
        hits = frame.filter(likely | pl.col("line_no").is_in(persons.implode()))
        begins = [int(n) for n, line in hits.iter_rows() if _BEGIN.search(line)]
        yield from self._keys(frame, begins)
        for number, line in hits.iter_rows():
            for begin, end, kind in spans(line):
                yield number, begin, end, kind

    def _keys(self, frame: pl.DataFrame, begins: list[int]) -> Iterator[tuple[int, int, int, str]]:
        """Mask the lines between BEGIN and END of private keys."""
        starts = [*([int(frame["line_no"][0])] if self.key_lines and len(frame) else []), *begins]
        for start in starts:
            if start in begins:
                self.key_lines = 1
            rows = frame.filter(pl.col("line_no").is_between(start, start + _KEY_LINES))
            for number, line in rows.iter_rows():
                if number in begins:
                    continue
                if _END.search(line) or self.key_lines > _KEY_LINES or (line.strip() and not _BASE64.search(line)):
                    self.key_lines = 0
                    break
                self.key_lines += 1
                if line.strip():
                    yield int(number), len(line) - len(line.lstrip()), len(line), "private key"


def spans(line: str) -> list[Span]:
    """Find the secrets in one line: [from, to) and kind, ascending, without overlaps."""
    found: list[Span] = []
    for at in range(0, max(len(line), 1), _WINDOW - _OVERLAP):
        window = line[at : at + _WINDOW]
        found += [(begin + at, end + at, kind) for begin, end, kind in _in_window(window)]
        for buffer in _BUFFER.finditer(window):
            # With its quotes, character n stands at 2 n - 1 behind the buffer's first blank.
            plain, front = f'"{buffer[1][1::2]}"', buffer.start(1) - 1
            inner = ((front + 2 * b, front + 2 * e - 1, kind) for b, e, kind in _in_window(plain))
            found += [(begin + at, end + at, kind) for begin, end, kind in inner]
        if at + _WINDOW >= len(line):
            break
    merged: list[Span] = []
    for begin, end, kind in sorted(found):
        if merged and begin < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2])
        else:
            merged.append((begin, end, kind))
    return merged


def _in_window(line: str) -> Iterator[Span]:
    lower = line.lower()
    for kind, needs, pattern in _PATTERNS:
        if not any(word in lower for word in needs):
            continue
        for match in pattern.finditer(line):
            group = next((g for g in (2, 3, 4) if match[g]), None)
            if group is None or not _is_secret(match[1], match[group]):
                continue
            yield match.start(group), match.end(group), kind
    for kind, words, library in _library():
        if not any(word in lower for word in words):
            continue
        for match in library.finditer(line):
            group = match.lastindex if match.lastindex else 0
            yield match.start(group), match.end(group), kind
    for match in _CARD.finditer(line):
        digits = [int(c) for c in match[0] if c.isdigit()]
        if 13 <= len(digits) <= 19 and _luhn(digits):
            begin = match.start() + match[0].startswith('"')
            yield begin, begin + len(match[0].strip('"\\')), "card number"
    if "@" in lower:
        for match in _MAIL.finditer(line):
            if match[1].lower() not in SERVICES:
                yield match.start(1), match.end(1), "person"
        if sender := _SENDER.search(line):
            yield sender.start(1), sender.end(1), "person"


def _is_secret(key: str, value: str) -> bool:
    """Tell a secret from a word that stands there in any configuration."""
    if not value.strip("*x.-_") or value.lower() in _PLAIN_WORDS or _NO_KEYS.search(key.strip(" \t\"'=:")):
        return False
    return not (value.startswith(("/", "$", "%", "<")) or (len(value) < 3 and value.isalnum()))


def _luhn(digits: list[int]) -> bool:
    total = 0
    for index, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if index % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


@cache
def _library() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    """Take the patterns of the library's detectors that look for shapes."""
    import importlib

    found: list[tuple[str, tuple[str, ...], re.Pattern[str]]] = []
    for name, needs in _LIBRARY.items():
        module, _, cls = name.partition(".")
        detector = getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), cls)()
        found += [(_KINDS.get(module, "token"), needs, pattern) for pattern in detector.denylist]
    return tuple(found)
