"""A template laid out inside `{% oneline %}` writes what it would write on one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.template import Context, Engine, TemplateSyntaxError

ENGINE = Engine(builtins=["incidents.templatetags.oneline"])


def written(laid_out: str, **values: object) -> str:
    return ENGINE.from_string(f"{{% oneline %}}{laid_out}{{% endoneline %}}").render(Context(values))


@pytest.mark.parametrize(
    ("laid_out", "one_line"),
    [
        ("\n  one\n  two\n", "one two"),
        ("\n  one <b>two</b>\n", "one <b>two</b>"),
        ("\n  <b>one</b>\n\n  <i>two</i>\n", "<b>one</b><i>two</i>"),
        ("\n  <b>one</b> two\n  three\n", "<b>one</b> two three"),
        ("<b>\n  one\n</b>", "<b>one</b>"),
        ("\n  at most {{ n }}\n  rows of\n  {{ n }}\n  {{ n }}\n", "at most 7 rows of 7 7"),
        ("\n  read\n  {% if yes %}\n    , {{ n }} left\n  {% endif %}\n  .\n", "read, 7 left."),
        ("\n  read\n  {% if yes %} · now{% endif %}\n", "read · now"),
        ("\n  {% if no %}\n    a\n  {% elif yes %}\n    {{ n }}\n  {% else %}\n    c\n  {% endif %}\n", "7"),
        ("{% for one in many %}\n  {{ one }}\n  {% if not forloop.last %}, {% endif %}\n{% endfor %}", "1, 2"),
        ("{% for one in none %}\n  a\n{% empty %}\n  none\n{% endfor %}", "none"),
        ("{% with m=n %}\n  <b>{{ m }}</b>\n{% endwith %}", "<b>7</b>"),
        ('\n  <a\n    href="#"\n    {% if yes %}hidden{% endif %}\n  >one</a>\n', '<a href="#" hidden>one</a>'),
        ('<a\n  {% if no %}title="a"{% else %}title="b"{% endif %}\n>\n  one\n</a>', '<a title="b">one</a>'),
        ("\n  <input\n    name='a'\n  />\n  <br>\n", "<input name='a'/><br>"),
    ],
)
def test_line_breaks_count_as_the_reader_expects(laid_out, one_line):
    assert written(laid_out, n=7, yes=True, no=False, many=[1, 2], none=[]) == one_line


def test_values_keep_their_lines():
    assert written("\n  <pre>\n  {{ text }}\n  </pre>\n", text="a\n  b\n") == "<pre>a\n  b\n</pre>"


def test_it_must_be_closed():
    with pytest.raises(TemplateSyntaxError):
        ENGINE.from_string("{% oneline %} a")


#: A sentence, a tag of the template on lines of its own, and a word: joined, the two would stand without a space.
RUN_TOGETHER = re.compile(
    r"[.!?;,](?: *\{%[^%]*%\})*\{% end\w+ %\}\n\s*[A-Za-z]|[.!?;,]\n\s*(?:\{% (?:if|for|with) [^%]*%\}\n\s*)+[A-Za-z]"
)
TEMPLATES = Path(__file__).resolve().parents[3] / "templates"


def run_together(text: str) -> list[str]:
    laid_out = re.findall(r"\{% oneline %\}(.*?)\{% endoneline %\}", text, re.S)
    return [found[0] for part in laid_out for found in RUN_TOGETHER.finditer(part)]


def test_sentences_around_a_tag_keep_their_space():
    assert run_together("{% oneline %}\n one.\n {% if yes %}\n Two.\n {% endif %}\n{% endoneline %}") != []
    assert run_together("{% oneline %}\n one{% if yes %}.{% endif %}\n Two.\n{% endoneline %}") != []
    assert run_together("{% oneline %}\n one.\n {% if yes %} Two.{% endif %}\n{% endoneline %}") == []
    found = {path.name: run_together(path.read_text(encoding="utf-8")) for path in TEMPLATES.rglob("*.html")}
    assert {name: texts for name, texts in found.items() if texts} == {}
