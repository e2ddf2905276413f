"""Read what performance tools print into tables, every line accounted for."""

from parsers.kept_patterns import install

install()
