r"""Patterns of secrets in plain text: a word in front of it, a command that takes it, the shape of a token.

Token shapes are those of the library detect-secrets and a few that it lacks; the rest is our own. All functions here
get one short text that is known to hold a word or shape (`parsers/secrets/scan.py`), so patterns may be generous but
never take quadratic time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from parsers.secrets.commands import COMMANDS

Span = tuple[int, int, str]
"""Half-open character range and kind of a secret."""

WORDS = [
    *"passw passphrase kennwort pwd secret token apikey api_key api-key accesskey access_key authorization cookie".split(),
    *"credential auth_sesskey x-auth sqlplus rman sqlldr expdp impdp mysql mariadb curl wget ldapsearch ldapmodify".split(),
    *"sshpass redis-cli mongo psql ipmitool sqlcmd isql osql snmpwalk snmpget aws accountkey account_key".split(),
    *"hooks.slack jsessionid phpsessid sessionid aspsessionid .sid= csrftoken xsrf-token userid chpasswd".split(),
    *(
        "private_key",
        "privatekey",
        "private-key",
        "signing_key",
        "signing-key",
        "signingkey",
        "encryption_key",
        "master_key",
    ),
    *(
        "identified by",
        "identified  by",
        "private key",
        "pass=",
        "pass:",
        "_pw=",
        ".pw=",
        "-pass ",
        "-pw ",
        " pw ",
        " pw:",
    ),
    *("pass>", "_pass", "storepass", "keypass", "connect ", "conn ", " exp ", " imp ", "$ exp ", "zip -", "7z "),
    *("card", "kreditkarte", "visa", "pan="),
    *(command.word for command in COMMANDS),
    *map(" ".join, "passw pwd secret token apikey api_key authoriz cookie identified sqlplus".split()),
]
"""Words that mark secrets, in lower case.

A line holds no secret if it has none of these (in any case), none of `PREFIXES`, no match of `HASHED`, no `@`, no
quoted or grouped card number and no dump.
"""

CLOSER = (
    r"(?i)(?:pass|kennwort|pwd|secret|token|key|credential|sessionid|\.sid)[a-z_-]*[0-9]*"
    r"(?:\\{0,3}[\"']?[ \t]{0,8}(?:[=:>]|%3)|[ \t\"',]|\()"
    r"|pw(?:[ \t\"']|[=:][ \t]*[0-9]*[^0-9 \t,;)])|identified +by|authorization|cookie|x-api-|x-auth-|private key|hooks\.slack|aws"
    r"|(?:sqlplus|rman|sqlldr|expdp|impdp|exp|imp|conn|connect|userid)[ \t\"'=\\][^@/]*/"
    r"|(?:mysql|maria|sshpass|ldap|redis-cli|mongo|psql|ipmitool|sqlcmd|isql|osql|zip|7z|snmp|curl|wget).*[ \"']-"
    r"|(?:card|karte|pan|visa)[^0-9]*[3-6][0-9]{12}|(?:p a s s|p w d|s e c r|t o k e|p i k e|p i _|u t h o|o o k i|i d e n|s q l p)"
    rf"|{'|'.join(command.near or re.escape(command.word) for command in COMMANDS)}"
)
"""Pattern that a line with one of `WORDS` must also match. Rust syntax."""

PREFIXES = [
    *"AKIA ASIA ABIA ACCA A3T ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glft- glsoat- glrt- glcbt- glimt- glptt-".split(),
    *"glagent- gloas- GR1348941 eyJ xoxa- xoxb- xoxp- xoxo- xoxs- xoxr- k_live_ SG. pypi-AgE sq0csp- sk- npm_ :AA AIza".split(),
    *"ya29. hvs. dop_v1_ $1$ $2a$ $2b$ $2y$ $5$ $6$ $y$".split(),
]
"""Prefixes of tokens; `SHAPES` decides whether one is a token."""

SHAPES = (
    r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22}|"
    r"gl(?:pat|dt|ft|soat|rt|ptt|agent|oas|imt|cbt)-[A-Za-z0-9_-]{20}|GR1348941[A-Za-z0-9_-]{20}|eyJ[A-Za-z0-9_=-]{8,}\.[A-Za-z0-9_=-]{4}|"
    r"xox[abposr]-[0-9]|[rs]k_live_[0-9a-zA-Z]{24}|SG\.[A-Za-z0-9_-]{22}\.|pypi-AgE|sq0csp-[0-9A-Za-z_-]{20}|"
    r"sk-(?:proj-|ant-)?[A-Za-z0-9_-]{20}|npm_[A-Za-z0-9]{36}|[0-9]{8,10}:AA[0-9A-Za-z_-]{33}|AIza[0-9A-Za-z_-]{35}|"
    r"ya29\.[0-9A-Za-z_-]{20}|hvs\.[A-Za-z0-9_-]{24}|dop_v1_[a-f0-9]{64}|\$(?:1|2[aby]|5|6|y)\$[./A-Za-z0-9=$]{16}"
)
"""Shapes of tokens. Rust and Python syntax."""

HASHED = r":[./0-9A-Za-z]{13}(?:,[./0-9A-Za-z]{2,4})?:[0-9]+:[0-9]*:"
"""An old crypt hash in a line of a shadow file, or of a password file with user and group numbers behind it.

Rust and Python syntax.
"""

SERVICES = "oracle root grid postgres mysql daemon nobody noreply no-reply mailer-daemon postmaster".split()
"""Accounts of programs, not persons; `oracle@db1.example.org` stands in every listing of sessions."""

UNITS = "service socket target device mount automount swap timer path slice scope".split()
"""Suffixes of systemd units: `getty@tty1.service` is an instance of a unit, not an address."""

_LIBRARY = {
    "azure_storage_key.AzureStorageKeyDetector": ("accountkey",),
    "aws.AWSKeyDetector": ("aws",),
    "basic_auth.BasicAuthDetector": ("://",),
    "jwt.JwtTokenDetector": ("eyj",),
    "npm.NpmDetector": ("_authtoken",),
    "openai.OpenAIDetector": ("sk-",),
    "pypi_token.PypiTokenDetector": ("pypi-",),
    "slack.SlackDetector": ("xox", "hooks.slack"),
    "square_oauth.SquareOAuthDetector": ("sq0csp",),
}
"""Detectors of the library, and words (in lower case) of which one stands in every line that they can match."""

_KINDS = {"basic_auth": "password", "jwt": "token", "aws": "key", "azure_storage_key": "key"}
_VALUES = frozenset({"basic_auth", "aws"})
"""Modules whose patterns have a group for the secret; with the others the whole match is the secret."""

_BARE = r"""[^\s"'`,;()&|<>{}\]\\]{1,200}"""
_VALUE = (
    rf"""(?:\\{{1,3}}"([^"\\\n]{{1,200}})|"((?:[^"\\\n]|\\[^\n]){{1,200}})"|'((?:[^'\\\n]|\\[^\n]){{1,200}})'|({_BARE})"""
    r"""|["'](?![,)\]} ])([^\s"'\\,]{3,200}))"""
)
_SEPARATOR = r"""\\{0,3}["']?(?:[ \t]{0,8}(?:=>|:=|=|:)[ \t]{0,8}|%3[DdAa])"""
_NEXT = r"""(?:[ =]|["'], ?["'])"""
"""What separates an option from its value: in a command line, or in a list of arguments (`"-w", "Bind3r"`)."""

_KEYS = re.compile(
    r"(?P<key>passwor[dt]|passwd|passphrase|passw|kennwort|auth_sesskey|secret(?:[_-]?(?:access[_-]?)?key)?|token"
    r"|(?:api|access|private|signing|encryption|account|master)[_-]?key|credentials?|pass|pwd|pw"
    r"|[jp]h?p?sessionid|phpsessid|aspsessionid[a-z]{0,12}|sessionid|connect\.sid|session[_-]token|csrftoken|xsrf-token)[0-9]{0,2}"
    rf"{_SEPARATOR}{_VALUE}",
    re.IGNORECASE,
)
_SHORT_KEYS = frozenset({"pass", "pwd", "pw"})
_KEY_WORDS = ("pass", "pw", "secret", "token", "key", "credential", "kennwort", "sess", "csrf", "xsrf", ".sid")
"""Words of which one stands in every text that the pattern above matches; testing them first is ten times as fast."""

_FRONT = re.compile(r"[A-Za-z0-9_.-]{0,40}\Z")

_LOGIN_TOOLS = ("sqlplus", "rman", "sqlldr", "exp", "imp", "conn", "userid")
_TOOLS = (
    _LOGIN_TOOLS,
    rf"""(?<![A-Za-z])((?:sqlplus|rman|sqlldr|expdp|impdp|exp|imp|conn|connect|userid)(?![A-Za-z])[^/@\n]{{0,80}}?"""
    rf"""(?:[ "'=]|\\t)[A-Za-z][\w$#.]{{0,40}}/){_VALUE}""",
)
_PATTERNS = tuple(
    (kind, needs, re.compile(pattern, re.IGNORECASE))
    for kind, needs, pattern in (
        (
            "password",
            ("-",),
            rf"""(?<![A-Za-z0-9])(--?(?:[a-z]{{1,12}}-)?(?:password|passwd|passphrase|(?:src|dest|new)?(?:store|key)?pass|pwd?|token|secret|api-?key)){_NEXT}{_VALUE}""",
        ),
        (
            "password",
            ("identified",),
            rf"""(?<![A-Za-z])(identified[ \t]{{1,4}}by[ \t]{{1,4}}(?:values[ \t]{{1,4}})?){_VALUE}""",
        ),
        ("password", *_TOOLS),
        (
            "password",
            ("@",),
            r"""((?<![\w/.-])(?!pts/[0-9]{1,4}\))[A-Za-z][\w$#]{0,30}/)([^\s/@"'=:]{1,60})(?=@(?!sha256:)[A-Za-z/(][\w./:(-]{1,})""",
        ),
        (
            "password",
            ("mysql", "mariadb"),
            rf"""(?<![A-Za-z])((?:mysql|mysqladmin|mysqldump|mysqlimport|mariadb)(?![A-Za-z])[^\n]{{0,120}}?[ "']-p){_VALUE}""",
        ),
        ("password", ("sshpass",), rf"""(sshpass\b[^\n]{{0,40}}?[ "']-p{_NEXT}?){_VALUE}"""),
        (
            "password",
            ("ldap",),
            rf"""(ldap(?:search|modify|add|delete|whoami|passwd)\b[^\n]{{0,200}}?[ "']-w{_NEXT}?){_VALUE}""",
        ),
        ("password", ("redis-cli",), rf"""(redis-cli\b[^\n]{{0,120}}?[ "']-a{_NEXT}){_VALUE}"""),
        ("password", ("mongo",), rf"""(mongo[a-z]{{0,8}}\b[^\n]{{0,160}}?[ "']-p{_NEXT}){_VALUE}"""),
        (
            "password",
            ("zip", "ipmitool", "sql"),
            rf"""(?<![A-Za-z])((?:(?-i:zip|unzip)|ipmitool|sqlcmd|isql|osql)\b[^\n]{{0,160}}?[ "'](?-i:-P){_NEXT}?){_VALUE}""",
        ),
        *(("password", (command.word,), f"({command.before}){_VALUE}") for command in COMMANDS),
        ("password", ("7z",), rf"""(?<![A-Za-z0-9])(7z[a-z]?\b[^\n]{{0,120}}?[ "']-p){_VALUE}"""),
        (
            "password",
            ("snmp",),
            rf"""(snmp(?:walk|get|set|bulkwalk)\b[^\n]{{0,120}}?[ "']-(?-i:c|A|X){_NEXT}){_VALUE}""",
        ),
        (
            "password",
            ("curl", "wget"),
            rf"""(?<![A-Za-z])((?:curl|wget)\b[^\n]{{0,200}}?[ "'](?:-u|--user|--proxy-user){_NEXT}["']?[^\s:"']{{1,60}}:)([^\s"']{{1,100}})""",
        ),
        (
            "password",
            ("passwd",),
            r"""(echo[ \t]{1,4}["']?(?:[\w.-]{1,40}:)?)([^\s"'|:]{1,100})(?=["']?[ \t]{0,4}\|[^|\n]{0,40}passwd)""",
        ),
        (
            "password",
            ("name", "password("),
            r"""((?:name=["']?[\w.-]{0,40}(?:passw(?:or)?d|secret|token)["'][^>\n]{0,20}value=["']|\bpassword\(["']))([^"'<>\n]{1,200})""",
        ),
        ("password", (">",), r"""(<[\w:.-]{0,40}(?:passw(?:or)?d|pwd|secret|token|pass)>)([^<\n]{1,200})(?=</)"""),
        (
            "token",
            ("authorization",),
            rf"""((?:proxy-)?authorization["']?(?:[ \t]{{0,4}}[:=][ \t]{{0,4}}|["'], ?)["']?"""
            rf"""(?:basic|bearer|digest|negotiate|token|apikey)[ \t]{{0,4}}){_VALUE}""",
        ),
        ("token", ("x-",), rf"""(x-(?:api|auth)-(?:key|token)["']?[ \t]{{0,4}}[:=][ \t]{{0,4}}){_VALUE}"""),
        ("cookie", ("cookie",), r"""((?:set-)?cookie["']?[ \t]{0,4}:[ \t]{0,4}["']?)([^"'\\\n]{3,2000})"""),
        (
            "private key",
            ("private key",),
            r"""(-----begin [a-z0-9 ]{0,40}private key(?: block)?-----(?:\\[rn]|[ \t]){0,4})([^"\n]{8,})""",
        ),
    )
)
_SENTENCE = re.compile(
    r"(?<![A-Za-z/_.-])(?P<key>password|passwd|passwort|kennwort|pwd|pw|change_password)[ \t]{1,4}"
    r"(?:for[ \t][^:\n]{1,80}:[ \t]{1,2}|(?:for|of|f\xfcr|von)[ \t]\S{1,40}[ \t]{1,2})?"
    rf"(?:(?:is|was|ist|war|lautet)[ \t](?:now[ \t]|jetzt[ \t])?)?{_VALUE}",
    re.IGNORECASE,
)
"""A password that a person mentions in a sentence: it must look made up (letters and digits)."""

_PLAIN_WORDS = frozenset(
    "true false yes no null none nil empty exclusive shared required optional sufficient enabled disabled unlimited default "
    "prompt ask file files compat ldap nis nisplus sss db dns systemd winbind nothing unset not unknown public".split()
)
_NO_KEYS = re.compile(
    r"(?:^|[^A-Za-z])oldpwd$|bypass$|compass$|nopasswd$|next_?token$|tokens$|byte_?pass$|encompass$", re.IGNORECASE
)
_NO_VALUE = re.compile(r"\$[A-Z_({]|%[a-z(]|<.*>$|/[a-z][\w.-]*(?:/[\w.$-]*)*$|[A-Za-z]:\\|/+$|0x[0-9a-f]+$")
MADE_UP = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])(?!0x)[^\s()/]{6,}$")
_MAIL = re.compile(r"(?<![\w.+-])([A-Za-z0-9][\w.+-]{0,63})@[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9-]{2,63}){1,5}")
_SENDER = re.compile(
    r"^\W{0,6}(?:from|to|cc|bcc|reply-to|sender|von|an|od|do)[ \t]?:[ \t]{0,4}\"?([^\"<@\n]{2,80}?)\"?[ \t]{0,4}<",
    re.IGNORECASE,
)
_SHAPE = re.compile(SHAPES)
_CRYPT = re.compile(
    r"(?<=:)(?=[./0-9a-z]{0,12}[A-Z])(?=[./0-9A-Z]{0,12}[a-z])[./0-9A-Za-z]{13}(?=(?:,[./0-9A-Za-z]{2,4})?:[0-9]+:[0-9]*:)"
)
_CARD = re.compile(
    r"(?<![0-9.-])[3-6][0-9]{3}(?:[ -][0-9]{4}){2}[ -][0-9]{1,7}(?![0-9])|(?<![0-9])3[47][0-9]{2}[ -][0-9]{6}[ -][0-9]{5}(?![0-9])"
    r"|(?<![^\"'])[3-6][0-9]{12,18}(?=\\?[\"']|\Z)"
)
_NAMED_CARD = re.compile(r"(?:card|karte|pan|visa)[^0-9\n]{0,24}([3-6][0-9]{12,18})(?![0-9.])", re.IGNORECASE)
_TOKEN_END = re.compile(r"(?:[A-Za-z0-9_=+/-]|\.(?=[A-Za-z0-9]))*")


def in_text(text: str) -> Iterator[Span]:
    """Yield secrets in a short text: [from, to) and kind, in no order, perhaps overlapping."""
    lower = text.lower()
    for match in _KEYS.finditer(text) if any(word in lower for word in _KEY_WORDS) else ():
        if found := _assigned(text, match):
            yield *found, "password"
    for kind, words, pattern in _PATTERNS:
        if any(word in lower for word in words):
            for match in pattern.finditer(text):
                group = _value_of(match, 2)
                if is_secret(match[1], match[group]) or kind == "private key":
                    # What stands behind the last @ is the name of a database.
                    end = match.start(group) + match[group].rfind("@") if words == _LOGIN_TOOLS else -1
                    yield match.start(group), end if end > match.start(group) else match.end(group), kind
    for match in _SENTENCE.finditer(text) if any(word in lower for word in ("passw", "kennwort", "pw")) else ():
        group = _value_of(match, 2)
        if MADE_UP.match(match[group]) and is_secret(match["key"], match[group]):
            yield match.start(group), match.end(group), "password"
    for match in _SHAPE.finditer(text):
        begin, end = match.span()
        yield begin, _to_end(text, end), "key" if match[0][0] == "A" else "token"
    for match in _CRYPT.finditer(text):
        yield *match.span(), "password"
    for name, needs in _LIBRARY.items():
        module = name.partition(".")[0]
        kind = _KINDS.get(module, "token")
        for library in _patterns(name) if any(word in lower for word in needs) else ():
            for match in library.finditer(text):
                if module in _VALUES and match.lastindex:
                    yield *match.span(match.lastindex), kind
                else:
                    yield match.start(), _to_end(text, match.end()), kind
    yield from _cards(text, lower)
    if "@" in text:
        for match in _MAIL.finditer(text):
            if match[1].lower() not in SERVICES and match[0].rpartition(".")[2] not in UNITS:
                yield *match.span(1), "person"
        if sender := _SENDER.search(text):
            yield *sender.span(1), "person"


def without_secrets(text: str) -> str:
    """Return a short text, such as a file name, with asterisks over its secrets.

    >>> without_secrets("dump --password=S3cret7.log")
    'dump --password=***********'
    """
    for begin, end, _ in in_text(text):
        text = text[:begin] + "*" * (end - begin) + text[end:]
    return text


def _value_of(match: re.Match[str], first: int) -> int:
    """Return which of a pattern's groups from `first` on holds the value."""
    return next(g for g in range(first, len(match.groups()) + 1) if match[g] is not None)


def _assigned(text: str, match: re.Match[str]) -> tuple[int, int] | None:
    """Return the range of the value of `key = value` if it is a secret, judged by the text before the key and by the
    value.
    """
    key, begin = match["key"], match.start()
    front = _FRONT.search(text, max(begin - 40, 0), begin)
    prefix = front[0] if front else ""
    if (
        text[max(begin - len(prefix) - 1, 0) : begin - len(prefix)] == "/"
        and ":" in text[match.end("key") : match.end("key") + 4]
    ):
        return None  # /etc/passwd: ...
    short = key.lower() in _SHORT_KEYS
    camel = prefix[-1:].islower() and key[0].isupper()
    if short and prefix[-1:].isalpha() and not camel:
        return None
    group = _value_of(match, 2)
    value = match[group]
    if short and (value.isdigit() or (not prefix and key.isupper() and ": " in match[0])):
        return None  # PASS: the name of a test
    if (key.lower() == "token" and value.isdigit() and len(value) < 6) or ("sess" in key.lower() and len(value) < 8):
        return None
    return match.span(group) if is_secret(prefix + key, value) else None


def is_secret(key: str, value: str) -> bool:
    """Decide whether a value is a secret, not an ordinary word of a configuration."""
    if not value.strip("*x.-_") or value.lower() in _PLAIN_WORDS or _NO_KEYS.search(key.strip(" \t\"'=:")):
        return False
    return not (_NO_VALUE.match(value) or (len(value) < 3 and value.isalnum()))


def _to_end(text: str, at: int) -> int:
    """Return the end of a token that is matched up to `at`: the shapes only give a minimum length."""
    end = _TOKEN_END.match(text, at)
    return end.end() if end else at


def _cards(text: str, lower: str) -> Iterator[Span]:
    for match in _CARD.finditer(text):
        if _is_card(match[0]):
            yield *match.span(), "card number"
    if any(word in lower for word in ("card", "karte", "pan", "visa")):
        for match in _NAMED_CARD.finditer(text):
            if _is_card(match[1]):
                yield *match.span(1), "card number"


def _is_card(text: str) -> bool:
    digits = [int(c) for c in text if c.isdigit()]
    if not 13 <= len(digits) <= 19:
        return False
    doubled = (d * 2 if i % 2 else d for i, d in enumerate(reversed(digits)))
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


@cache
def _patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of one of the library's detectors, which is imported when a text may need it: it takes a
    fifth of the time of a start.
    """
    import importlib

    module, _, cls = name.partition(".")
    found: list[re.Pattern[str]] = getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), cls)().denylist
    return tuple(found)
