"""`{% oneline %}`: lay out in a template what must stand on one line of the page.

Between inline elements white space is seen, so a long sentence with links could not be broken over lines. Inside
`{% oneline %}` a line break with the white space around it counts as a space between two words or values, and as nothing
beside a tag, of HTML or of the template; a space beside a tag therefore stands on the line of that tag:

    {% oneline %}
      {{ count }} of {{ total }} are read
      {% if failed %}
        , <a href="{{ address }}">{{ failed }} could not be read</a>
      {% endif %}
      {% if judging %} · judging now{% endif %}
    {% endoneline %}

Inside an HTML tag a line break is a space, as ever. Values are not touched.
"""

from __future__ import annotations

import re

from django import template
from django.template.base import Node, NodeList, Parser, TextNode, Token, VariableNode
from django.template.context import Context
from django.template.defaulttags import IfNode
from django.utils.safestring import SafeString

register = template.Library()

BREAK = re.compile(r"\s*\n\s*")


class OneLine(Node):
    """The nodes between `{% oneline %}` and `{% endoneline %}`, with their texts already joined."""

    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist

    def render(self, context: Context) -> SafeString:
        return self.nodelist.render(context)


@register.tag
def oneline(parser: Parser, token: Token) -> OneLine:
    """Join the lines of a part of a template, once, when the template is read."""
    nodes = parser.parse(("endoneline",))
    parser.delete_first_token()
    _join(nodes, inside=False)
    return OneLine(nodes)


def _join(nodes: NodeList, inside: bool) -> bool:
    """Join the texts of a list and the lists below; `inside` and the result tell whether an HTML tag is open."""
    for place, node in enumerate(nodes):
        if isinstance(node, TextNode):
            after_value = place > 0 and isinstance(nodes[place - 1], VariableNode)
            before_value = place + 1 < len(nodes) and isinstance(nodes[place + 1], VariableNode)
            node.s, inside = joined(node.s, inside, after_value, before_value)
        elif isinstance(node, IfNode):
            for _, branch in node.conditions_nodelists:
                inside_after = _join(branch, inside)
            inside = inside_after
        else:
            for name in node.child_nodelists:
                inside = _join(getattr(node, name, None) or NodeList(), inside)
    return inside


def joined(text: str, inside: bool = False, after_value: bool = False, before_value: bool = False) -> tuple[str, bool]:
    """Return a text without its line breaks, and whether an HTML tag is open at its end.

    >>> joined("\\n  one\\n  two <a\\n    href='#'\\n  >three</a>\\n  <b>four</b>\\n")
    ("one two <a href='#'>three</a><b>four</b>", False)
    >>> joined("\\n  of\\n  ", after_value=True, before_value=True)
    (' of ', False)
    """

    def replaced(found: re.Match[str]) -> str:
        left, right = text[: found.start()], text[found.end() :]
        if _open(left, inside):
            return "" if right.startswith((">", "/>")) else " "
        beside_tag = (left.endswith(">") if left else not after_value) or (
            right.startswith("<") if right else not before_value
        )
        return "" if beside_tag else " "

    return BREAK.sub(replaced, text), _open(text, inside)


def _open(text: str, inside: bool) -> bool:
    """Tell whether an HTML tag is open after a text."""
    begin, end = text.rfind("<"), text.rfind(">")
    return inside if begin == end == -1 else begin > end
