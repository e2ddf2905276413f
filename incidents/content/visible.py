"""Spell out invisible characters in names and texts, so that a reader sees them.

A terminal escape, a bidirectional override or a zero-width letter in a file name can make a page, a mail or a log show
something other than the text. Nothing is dropped, so two different names never look alike.
"""

from __future__ import annotations

import re

from parsers.secrets.words import without_secrets
from parsers.text.spelling import visible as _spelled_out


def visible(text: str, keep: str = "") -> str:
    """Return `text` with control characters as pictures (␛) and format characters as code points (⟨U+202E⟩).

    Newlines and tabs are spelled out too, unless `keep` contains them.

    >>> visible("a\\x1b[31mb")
    'a␛[31mb'
    >>> visible("exe\\u202etxt.sh")
    'exe⟨U+202E⟩txt.sh'
    >>> visible("one\\ntwo", keep="\\n"), visible("one\\ttwo")
    ('one\\ntwo', 'one␉two')
    """
    spelled = "\n".join(map(_spelled_out, text.split("\n"))) if "\n" in keep else _spelled_out(text)
    return spelled if "\t" in keep else spelled.replace("\t", "␉")


def visible_name(name: str) -> str:
    r"""Return a file's name without folders, invisible characters spelled out, at most 255 characters.

    Secrets in it are masked, since it appears on pages, in the activity and in logs.

    >>> visible_name("job --token=Ab12cd34.log")
    'job --token=************'
    >>> [visible_name(name) for name in ("../../etc/passwd", "C:\\tmp\\a.txt", "a\x1b[1mb", "/")]
    ['passwd', 'a.txt', 'a␛[1mb', 'unnamed']
    """
    return without_secrets(visible(re.split(r"[/\\]", name)[-1]).strip())[:255] or "unnamed"
