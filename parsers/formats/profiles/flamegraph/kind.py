"""What is known about flamegraph beside its grammar."""

from __future__ import annotations

from parsers.declarations import Kind

KIND = Kind()
