"""A template laid out inside `{% oneline %}` writes what it would write on one line."""

from __future__ import annotations

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
