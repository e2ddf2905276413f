"""Names and lines as a reader may safely see them: whatever has no picture of its own gets one.

A terminal escape, a bidirectional override or a zero-width letter in a file name can make a page, a mail or a log say
something else than what stands there. Nothing is dropped, so two different names never look alike.
"""

from __future__ import annotations

import re

_CONTROL = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "␡"}
# C1 controls, soft hyphen, zero-width letters, bidirectional marks and overrides, line separators, tags.
_FORMAT = re.compile(
    "[\u0080-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str, keep: str = "") -> str:
    """Return `text` with control characters as pictures (␛) and format characters as code points (⟨U+202E⟩).

    Characters in `keep` (usually a newline or a tab) stay as they are.

    >>> visible("a\\x1b[31mb")
    'a␛[31mb'
    >>> visible("exe\\u202etxt.sh")
    'exe⟨U+202E⟩txt.sh'
    >>> visible("one\\ntwo", keep="\\n")
    'one\\ntwo'
    """
    table = {code: picture for code, picture in _CONTROL.items() if chr(code) not in keep}
    return _FORMAT.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.translate(table))
