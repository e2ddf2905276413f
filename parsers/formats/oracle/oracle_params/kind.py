"""What is known about oracle_params beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind(
    words=("parameter",),
    masks_descriptors=True,
)
