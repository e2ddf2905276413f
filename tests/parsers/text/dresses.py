"""Ways in which people pass on a text: each function takes the lines of an output and returns the bytes of a file.

`shift` is how many lines stand before the first one afterwards.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """One way; `fits` decides whether a text can be passed on like that without loss."""

    name: str
    dress: Callable[[list[str]], bytes]
    shift: int = 0
    fits: Callable[[str], bool] = lambda text: True


def _text(lines: list[str], end: str = "\n") -> bytes:
    return (end.join(lines) + end).encode()


def _page(lines: list[str]) -> bytes:
    body = "\n".join(html.escape(line, quote=True) for line in lines)
    return f"<!DOCTYPE html>\n<html><head><title>t</title></head><body>\n<pre>{body}\n</pre></body></html>\n".encode()


def _ansi(lines: list[str]) -> bytes:
    return _text([f"\x1b[0;32m{line}\x1b[m\x1b[K" if line else "" for line in lines], "\r\n")


def _struck(lines: list[str]) -> bytes:
    return _text(
        ["".join(f"{c}\b{c}" if c.isalpha() else c for c in x) if n % 7 == 0 else x for n, x in enumerate(lines)]
    )


def _no_gaps(text: str) -> bool:
    return all(line and not line.startswith((" ", "\t")) for line in text.rstrip("\n").split("\n"))


WAYS = (
    Way("plain", _text),
    Way("cr-lf", lambda lines: _text(lines, "\r\n")),
    Way("cr", lambda lines: _text(lines, "\r")),
    Way("bom", lambda lines: b"\xef\xbb\xbf" + _text(lines)),
    Way(
        "bom-inside", lambda lines: _text([lines[0], *("\ufeff" + x if n == 1 else x for n, x in enumerate(lines[1:]))])
    ),
    Way("utf-16-le", lambda lines: "".join(["\ufeff", _text(lines).decode()]).encode("utf-16-le")),
    Way("utf-16-be", lambda lines: "".join(["\ufeff", _text(lines).decode()]).encode("utf-16-be")),
    Way("no-break-blanks", lambda lines: _text([x.replace(" ", "\u00a0") for x in lines])),
    Way("some-no-break-blanks", lambda lines: _text([x.replace("  ", " \u00a0") for x in lines])),
    Way("soft-hyphens", lambda lines: _text([x[:3] + "\u00ad" + x[3:] if len(x) > 5 else x for x in lines])),
    Way("smart-quotes", lambda lines: _text([_smart(x) for x in lines])),
    Way("mail", lambda lines: _text([f"> {x}" if x else ">" for x in lines])),
    Way("mail-twice", lambda lines: _text([f">> {x}" if x else ">>" for x in lines])),
    Way("bars", lambda lines: _text([f"| {x}" if x else "|" for x in lines]), fits=lambda t: "|" not in t),
    Way("numbers-colon", lambda lines: _text([f"{n}: {x}" for n, x in enumerate(lines, 1)])),
    Way("numbers-bar", lambda lines: _text([f"{n:4} | {x}" for n, x in enumerate(lines, 1)])),
    Way("cat-n", lambda lines: _text([f"{n:6}\t{x}" for n, x in enumerate(lines, 1)])),
    Way("indent", lambda lines: _text([f"    {x}" if x else "" for x in lines])),
    Way("escapes", _ansi),
    Way("struck", _struck),
    Way("prompt", lambda lines: _text(["[oracle@db1 ~]$ some_tool -x 5", *lines]), shift=1),
    Way(
        "script",
        lambda lines: _text(["Script started, file is /var/tmp/typescript", "db1$ some_tool -x", *lines]),
        shift=2,
    ),
    Way("page", _page, shift=2),
    Way("fence", lambda lines: _text(["```", *lines, "```"]), shift=1),
    Way("code-macro", lambda lines: _text(["{code:java}", *lines, "{code}"]), shift=1),
    Way("entities", lambda lines: _text([html.escape(x, quote=False) for x in lines])),
)


def _smart(line: str) -> str:
    out, opened = [], False
    for char in line:
        if char == '"':
            out.append("”" if opened else "“")
            opened = not opened
        else:
            out.append("’" if char == "'" else char)
    return "".join(out)
