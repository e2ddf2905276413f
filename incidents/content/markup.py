"""Render the Markdown of notes: no HTML, no pictures, no unusual link schemes, but references to things in the room.

References are short words that stay readable as plain text; the page's completion inserts them:
`#finding-<key>`, `#artifact-3`, `#artifact-3:91-107`, `#note-12`, `#time(1.1:1 9.5..11.25)`, `#lane(name|label)`, and
`@name` for a person. `incidents.content.references` looks up what they point at; this module knows no room.

Two safeguards: markdown-it is configured to make no HTML beyond the rules below, and nh3 removes all tags not listed
below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from incidents.content.visible import visible

SCHEMES = frozenset({"http", "https", "mailto"})
TAGS = frozenset("p br strong em s code pre blockquote ul ol li a span h4 h5 h6 table thead tbody tr th td".split())
ATTRIBUTES = {"a": {"href", "class", "title"}, "span": {"class", "title"}, "ol": {"start"}}
DEEPEST = 20
_HEADINGS = {"h1": "h4", "h2": "h5", "h3": "h6", "h4": "h6", "h5": "h6", "h6": "h6"}  # a note is only part of a page
_REF = re.compile(
    r"""\#finding-(?P<finding>[0-9a-f]{16})(?![0-9a-f])
      | \#note-(?P<note>\d{1,15})(?!\d)
      | \#artifact-(?P<artifact>\d{1,9})(?!\d)(?::L?(?P<first>\d{1,15})(?:[-–]L?(?P<last>\d{1,15}))?)?
      | \#time\((?P<clock>[^\s()]{1,60})\ (?P<begin>-?\d{1,12}(?:\.\d{1,9})?)\.\.(?P<end>-?\d{1,12}(?:\.\d{1,9})?)\)
      | \#lane\((?P<lane>[^()|\n]{1,200})(?:\|(?P<label>[^()|\n]{1,200}))?\)
      | @(?P<person>[\w.+-]{1,150}(?:@[\w.+-]{1,150})?)""",
    re.X,
)


@dataclass(frozen=True)
class Ref:
    """A reference as it was written: `kind` and what identifies its target."""

    kind: str  # finding, note, artifact, lines, time, lane, person
    name: str  # key, number, clock, lane or user name, in lower case for persons
    begin: float = 0
    end: float = 0
    label: str = ""


@dataclass(frozen=True)
class Target:
    """What a reference points at, as this reader may see it."""

    text: str
    href: str = ""
    title: str = ""


@dataclass(frozen=True)
class Parsed:
    """A parsed text: read its references first, then render it with the targets that were found."""

    tokens: Sequence[Token]

    @property
    def refs(self) -> list[Ref]:
        return [token.meta["ref"] for token in _flat(self.tokens) if token.type == "ref"]

    def html(self, found: Mapping[Ref, Target]) -> SafeString:
        made = _MARKDOWN.renderer.render(self.tokens, _MARKDOWN.options, {"found": found})
        clean = nh3.clean(
            made,
            tags=set(TAGS),
            attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
            url_schemes=set(SCHEMES),
            link_rel="noopener noreferrer nofollow",
        )
        return mark_safe(clean)  # cleaned in the line above


def parse(text: str) -> Parsed:
    """Parse a note. Control and format characters are spelled out first, so that they cannot hide anything."""
    seen = visible(text, keep="\n\t")
    tokens = _MARKDOWN.parse(seen)
    if max((token.level for token in tokens), default=0) >= DEEPEST - 1:
        # The parser drops what is nested deeper; parsed inline, the words stay and only the indentation is lost.
        tokens = _MARKDOWN.parseInline(seen)
    return Parsed(tokens)


def mentions(text: str) -> set[str]:
    """Return the names after `@`, in lower case, without those in quotes and in code.

    >>> sorted(mentions("@Nils. see `@ada`, me@example.com and @vera-k: now"))
    ['nils', 'vera-k']
    """
    return {ref.name for ref in parse(text).refs if ref.kind == "person"}


def plain(text: str) -> str:
    """Return the words of a note without markup, on one line, for lists and titles.

    >>> plain("**Really**: see #artifact-3:91-107\\n\\n- `shmat`, @nils")
    'Really: see artifact 3, lines 91–107 shmat, @nils'
    """
    words = []
    for token in _flat(parse(text).tokens):
        if token.type == "ref":
            words.append("a finding" if token.meta["ref"].kind == "finding" else spoken(token.meta["ref"]))
        elif token.type in ("text", "code_inline", "fence", "code_block"):
            words.append(token.content)
        elif token.type in ("softbreak", "hardbreak") or (token.nesting == -1 and token.block):
            words.append(" ")
    return " ".join("".join(words).split())


def spoken(ref: Ref) -> str:
    """Write a reference in words, without a look-up."""
    if ref.kind == "lines":
        first, last = int(ref.begin), int(ref.end)
        return f"artifact {ref.name}, line{'' if first == last else 's'} {first}" + (
            f"–{last}" if last != first else ""
        )
    if ref.kind == "time":
        return f"{ref.begin:g} to {ref.end:g} s of clock {ref.name}"
    return {"person": f"@{ref.name}", "lane": ref.label or ref.name}.get(ref.kind, f"{ref.kind} {ref.name}")


def _ref_of(match: re.Match[str]) -> Ref | None:
    said = match.groupdict()
    if said["finding"]:
        return Ref("finding", said["finding"])
    if said["note"]:
        return Ref("note", str(int(said["note"])))
    if said["artifact"]:
        number = str(int(said["artifact"]))
        if not said["first"]:
            return Ref("artifact", number)
        first, last = int(said["first"]), int(said["last"] or said["first"])
        return Ref("lines", number, min(first, last), max(first, last)) if min(first, last) > 0 else None
    if said["clock"]:
        ends = sorted((float(said["begin"]), float(said["end"])))
        return Ref("time", said["clock"], ends[0], ends[1])
    if said["lane"]:
        return Ref("lane", said["lane"].strip(), label=(said["label"] or "").strip())
    return Ref("person", said["person"].rstrip(".-+@").lower()) if said["person"].rstrip(".-+@") else None


def _reference(state: StateInline, silent: bool) -> bool:
    """Parse `#...` and `@...` as a markdown-it rule; not after a letter, as in mail addresses."""
    at = state.pos
    if state.src[at] not in "#@" or (at and (state.src[at - 1].isalnum() or state.src[at - 1] in "_/#@")):
        return False
    match = _REF.match(state.src, at, state.posMax)
    ref = _ref_of(match) if match else None
    if match is None or ref is None:
        return False
    end = match.end()
    if ref.kind == "person":
        end = at + 1 + len(ref.name)  # a full stop after a name ends the sentence
    if not silent:
        token = state.push("ref", "", 0)
        token.content = state.src[at:end]
        token.meta = {"ref": ref}
    state.pos = end
    return True


def _render_ref(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
) -> str:
    token = tokens[idx]
    target: Target | None = env["found"].get(token.meta["ref"])
    kind = token.meta["ref"].kind
    if target is None:
        return f'<span class="ref missing" title="not in this room">{escape(token.content)}</span>'
    title = f' title="{escape(visible(target.title))}"' if target.title else ""
    words = escape(visible(target.text))
    if not target.href or _in_link(tokens, idx):
        return f'<span class="ref {kind}"{title}>{words}</span>'
    return f'<a class="ref {kind}" href="{escape(target.href)}"{title}>{words}</a>'


def _in_link(tokens: Sequence[Token], idx: int) -> bool:
    return sum(token.nesting for token in tokens[:idx] if token.type in ("link_open", "link_close")) > 0


def _render_heading(
    self: RendererHTML, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
) -> str:
    tokens[idx].tag = _HEADINGS.get(tokens[idx].tag, "h6")
    return str(self.renderToken(tokens, idx, options, env))


def _flat(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _listed_scheme(address: str) -> bool:
    try:
        return urlsplit(address.strip()).scheme.lower() in SCHEMES
    except ValueError:
        return False


def _make() -> MarkdownIt:
    options = {"html": False, "linkify": True, "breaks": True, "maxNesting": DEEPEST}
    made = MarkdownIt("commonmark", options).enable(["table", "strikethrough", "linkify"])
    # Disabled: HTML and pictures, and what hides or enlarges pasted lines (link definitions, lines of dashes).
    made.disable(["image", "html_block", "html_inline", "entity", "reference", "lheading", "hr"])
    made.validateLink = _listed_scheme  # type: ignore[method-assign,assignment]  # this is how the library wants it
    made.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})  # type: ignore[union-attr]  # None only without linkify-it
    made.inline.ruler.before("emphasis", "reference", _reference)
    made.add_render_rule("ref", _render_ref)
    made.add_render_rule("heading_open", _render_heading)
    made.add_render_rule("heading_close", _render_heading)
    return made


_MARKDOWN = _make()
