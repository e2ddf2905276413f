"""What is known about csv beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind()
