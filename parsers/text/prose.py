"""Distinguish sentences from tool output in any language by shape: words, upper and lower case, punctuation."""

from __future__ import annotations

import polars as pl

_OPEN, _STOP = r"[(\[\"'«„“‘¿¡]?", r"[.,;:!?)\]\"'»”’]*"
_WORD = rf"(?:^| ){_OPEN}\p{{L}}[\p{{L}}’'-]+{_STOP}(?: |$)"
_LOW = rf" {_OPEN}[\p{{Ll}}\p{{Lo}}][\p{{L}}’'-]+{_STOP}(?: |$)"
_LONG = r"\p{L}{6,}"
_CLOSED = r"[.:!?,;…][)\]\"'»”]*$"
_JOINED = r"\p{L}[,.;!?] \p{L}"
_HEADING = r"^[ \t]{3,}.*[,:]$"
_BEGUN = r"^\W{0,6}[\p{Lu}\p{Lo}]"
_IDEOGRAPHS = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]"
_NEVER = r"^[ \t]*(?:[#;*|+$%<&/\\]|--|\[.*\]$)|[ \t]{3,}\S.*[ \t]{3,}\S|[{}]$"
"""Lines that are never prose: comments, cells, columns, code."""

_CALLS = r"[=(]\S*\)|\w::\w"
"""Calls and names of code; a long sentence may contain some."""

FENCE = (
    r"^[ \t]*(?:```|~{3,7}(?:[^~ ]| +[^~ ]|[ \t]*$)|</?pre\b[^>]*(?:>(?:</?code\b[^>]*>)?[ \t]*)?$|\{(?:code|noformat|panel|quote)(?::[^}]*)?\}[ \t]*$"
    r"|</?(?:syntaxhighlight|nowiki)\b"
    # ipreport of AIX writes lines that begin with `<source port=`.
    r"|</?source(?:>| +(?:lang|line|inline|highlight)\b)"
    # Jekyll, Hugo (also its own highlight shortcode), forums, Trac, reStructuredText, Org.
    r"|\{\{[<%] */?[a-z][\w-]*(?: [^}]*)?[%>]\}\}[ \t]*$"
    r"|\{[%{]-?<? *(?:end|/)?(?:highlight|raw)\b[^}]*[%}]\}[ \t]*$|\[/?(?:code|quote|noparse)(?:=[^\]]*)?\][ \t]*$"
    r"|\{\{\{(?:#!.*)?$|\}\}\}$|\.\. (?:code-block|code|sourcecode|highlight|parsed-literal)::|#\+(?i:begin|end)_(?i:src|example|quote)\b)"
)
"""Lines by which an author marks the begin or end of a listing."""

TOOLISH = (
    r"[0-9][ \t]+[-.0-9]|\S[ \t]{2,}\S.*\S[ \t]{2,}\S|\t\S.*\t|^[-=_*#|+ \t]{3,}$|0x[0-9a-fA-F]+|^[ \t]*[|+][-|+ ]"
    r"|[a-z]\(.*\)[ \t]*=|[0-9]%|^[^ \t]+[=:][ \t]?\S+$|^[ \t]*[0-9.,]+[ \t]"
)

TAGGED = r"pre>|<pre|\[/?(?:code|CODE|Code)\b|\{(?:code|noformat)|```"
"""Quick test for a tag on a line of its listing."""

TAG_BEFORE = r"^[ \t]*(?:<pre\b[^>]*>(?:<code\b[^>]*>)?|\[(?i:code)(?:=[^\]]*)?\]|\{(?:code|noformat)(?::[^}]*)?\}|```)"
TAG_BEHIND = r"(?:(?:</code>)?</pre>|\[/(?i:code)\]|\{(?:code|noformat)\}|```)[ \t]*$"
OPENED = TAG_BEFORE + r"[ \t]*[^<` \t]"
CLOSED = r"[^>` \t][ \t]*" + TAG_BEHIND
"""Lines of a listing that also hold the tag that begins or ends it."""

INFO = r"^[ \t]*```+[ \t]*(?:[\w+#./-]*|\{.*)(?:[ \t]+(?:\{.*|[\w-]+=.*|[\w.-]*))?$"
"""A fence with the name of a language, not with the first line of its listing."""

RULE = r"^[ \t]*(?:-{3,}|={3,}|_{3,}|\*{3,})[ \t]*$"
"""A line drawn between paragraphs. Tools draw such lines too, but not behind their last row and a blank line."""

WRITTEN = r"^[ \t]*(?:[<(]?(?:https?|ftp|mailto):\S+$|[0-9]{1,2}[.)] +\p{L})"
"""An address or an item of a numbered list: not from a tool, though it looks like it."""


def sentences(lines: pl.Series) -> pl.DataFrame:
    """Return for each line whether it is prose, and whether that is beyond doubt (`strong`)."""
    spread = lines.str.strip_chars().str.replace_all(r"\s+", "  ")
    words, low = pl.col("words"), pl.col("low")
    counts = pl.DataFrame(
        {
            "line": lines,
            "tokens": lines.str.count_matches(r"\S+"),
            "words": spread.str.count_matches(_WORD),
            "low": spread.str.count_matches(_LOW),
            "long": lines.str.count_matches(_LONG),
            "ideographs": lines.str.count_matches(_IDEOGRAPHS),
        }
    )
    line = pl.col("line")
    ended = line.str.contains(_CLOSED) | line.str.contains(_JOINED)
    ended &= ~line.str.contains(_HEADING) | (words >= 8)
    sentence = (words >= 4) & (words >= pl.col("tokens") * 0.7) & (low >= 2)
    prose = (sentence & (ended | ((words >= 8) & (pl.col("long") >= 2) & line.str.contains(_BEGUN)))) | (
        pl.col("ideographs") >= 8
    )
    strong = prose & (((words >= 9) & (words >= pl.col("tokens") * 0.8) & ended) | (pl.col("ideographs") >= 16))
    never = line.str.contains(_NEVER) | (line.str.contains(_CALLS) & (words < 12))
    return counts.select(prose=prose & ~never, strong=strong & ~never)
