"""What is known about nsswitch beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    title="list of name sources (nsswitch)",
    titles="lists of name sources (nsswitch)",
    words=("parameter",),
)
