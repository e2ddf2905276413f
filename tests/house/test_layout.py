"""Templates, rules, style sheets and scripts are laid out for people."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def layout():
    loader = SourceFileLoader("layout", str(ROOT / "scripts" / "layout"))
    spec = spec_from_loader("layout", loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_project_is_laid_out():
    done = subprocess.run([sys.executable, "scripts/layout"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "layout: nothing found\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.css", "a {\n  color: red; top: 0;\n}"),
        ("a.css", "\na { color: red; }"),
        ("a.yaml", "a:\n  'it is " + "long " * 30 + "'"),
        ("a.js", "\n" + "x" * 121),
        ("a.html", "<p>\n" + "long " * 30),
        ("a.html", "<p>\n{% if a %}" + "long " * 30 + "{% endif %}"),
        ("a.html", '<a\n  class="b" href="' + "/long" * 30 + '"\n>'),
        ("a.html", "<tr>\n<td>1</td>{% if b %}<td>2</td>{% endif %}"),
        ("a.html", "<body>\n<ul class='plain'><li>1</li>"),
    ],
)
def test_it_finds(layout, name, text):
    assert [number for number, _ in layout.faults(name, text)] == [2]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.css", "a {\n  background: url(data:image/png;base64,AA) no-repeat; /* one; two */\n}"),
        ("a.yaml", "  '^" + "one|two" * 30 + "$',"),
        ("a.html", '<p\n  class="a{% if b == "c" %}' + " long" * 30 + '{% endif %}"\n>'),
        ("a.html", "  {% include 'a.html' with b='" + "long " * 30 + "' %}"),
        ("a.html", "<li><b>one</b> <i>two</i></li>"),
    ],
)
def test_it_lets_be(layout, name, text):
    assert list(layout.faults(name, text)) == []


def test_no_line_break_parts_words_from_an_inline_element_where_lines_are_joined():
    """`oneline` joins what stands beside a tag without a blank: such a break would run two words into one."""
    inline = "(?:a|b|i|code|span|time|small)"
    lost = re.compile(rf"[\w.,;:·)]\n\s*<{inline}\b|</{inline}>\n\s*[\w(·]")
    found = []
    for file in sorted((ROOT / "templates").rglob("*.html")):
        for part in re.findall(r"{% oneline %}(.*?){% endoneline %}", file.read_text(), re.DOTALL):
            for match in lost.finditer(part):
                before = part[: match.start()]
                if before.rfind("<") <= before.rfind(">"):  # else it parts the attributes of a tag
                    found.append(f"{file.relative_to(ROOT)}: {match[0]!r}")
    assert found == []
