"""Spell out characters that have no glyph of their own.

Imports nothing heavy: the parent process of forking workers needs this module too.
"""

from __future__ import annotations

import unicodedata

_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad"


def visible(text: str) -> str:
    r"""Return text with escapes, control, bidi and zero-width characters spelled out; tabs stay.

    >>> visible("\x1b[31mred\x07 \u202etxt.exe")
    '␛[31mred␇ ⟨U+202E⟩txt.exe'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible_char, text))


def _visible_char(char: str) -> str:
    code = ord(char)
    if char == "\t" or (char.isprintable() and char not in _ZERO_WIDTH):
        return char
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(char) == "Zs":
        return " " if code == 0xA0 else char
    return f"⟨U+{code:04X}⟩"
