"""Markdown as the page that a reader sees: HTML in it counts as such, and what only
site generators understand is left out.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

__all__ = ["MARKUP", "TEMPLATE", "drop_strong", "page_writer"]

MARKUP = re.compile(
    r"[\\`*_{}|~\t]|</?[a-zA-Z!?]|&[#\w]{2,30};|\]\s*[(\[:]|\[[\^!]|^ {4}"
    r"|^[ ]*(?:[-+>]|=|:::|#+[ \t]*$|\d+[.)]\s|import |export |!!!|\?\?\?)",
    re.MULTILINE,
)
"""What a text without any marks does not have."""
# Marks that open before a word and close after one. Code and formulas keep theirs
# (2**10): CommonMark would read "2**10 and 3**4" as "210 and 34". The length is bounded
# so that a text full of opening marks takes linear time.
_STRONG = re.compile(
    r"(`+)(?!`).{1,500}?(?<!`)\1(?!`)"
    r"|\$(?=\S)[^$\n]{1,500}?(?<=\S)\$(?!\d)"
    r"|(?<![\w\\*])(\*{2,3})(?=[^\s*])((?:(?!\n\s*\n).){1,500}?)(?<=[^\s*])\2(?![\w*])",
    re.DOTALL,
)
_TEMPLATES = (
    r"\{\{[<%].{0,2000}?[%>]\}\}|\{%.{0,2000}?%\}|\{\{[^{}\n]{1,300}\}\}"
    r"|\{/\*.{0,2000}?\*/\}"
)
TEMPLATE = re.compile(_TEMPLATES, re.DOTALL)
"""Shortcodes of Hugo, tags of Jekyll, comments of MDX."""
_UNSEEN = re.compile(
    rf"{_TEMPLATES}|!\[[^\]\n]{{0,300}}\]\([^()\n]{{0,500}}\)|\{{[:#.][^{{}}\n]{{0,200}}\}}"
    r"|(?<![^\n])(?:"
    r":{3,}[ \t]*(?:\{[^{}\n]*\}|[\w-]+)?|(?:!!!|\?\?\?\+?)[ \t]+[\w-]+"
    r"|\[!\w{1,20}\][-+]?|\[?\[_?(?i:toc)_?\]\]?"
    r"|import [^\n;]{0,200}?['\"][^'\"\n]{1,200}['\"];?(?![^\n])"
    r"|export (?:const|default) [^\n]*)",
    re.DOTALL,
)
"""Templates, pictures, attributes, marks of boxes, tables of contents, imports."""
_EXTENSIONS = (
    (_UNSEEN, "text", ""),
    # Signs within a word, marks of notes, and formulas: no marks of emphasis.
    (
        re.compile(
            r"(?<=\w)\*+(?=\w)|(?<=\))\*(?=;)|\$(?=\S)[^$\n]{1,500}?(?<=\S)\$(?!\d)"
        ),
        "text",
        r"\g<0>",
    ),
    (re.compile(r"\[\^([^\]\s]{1,60})\](:?)"), "html_inline", r"<sup>\1</sup>"),
)


@cache
def page_writer() -> "MarkdownIt":
    """Return a writer of HTML."""
    from markdown_it import MarkdownIt

    writer = MarkdownIt("commonmark", {"breaks": True}).enable("table")
    writer.inline.ruler.before("text", "generators", _read_extension)
    return writer


def drop_strong(text: str) -> str:
    """Drop the marks of strong emphasis around words."""
    return _STRONG.sub(lambda match: match[0] if match[2] is None else match[3], text)


def _read_extension(state: "StateInline", silent: bool) -> bool:
    """Implement a rule for markdown-it: what CommonMark does not know."""
    for pattern, kind, shown in _EXTENSIONS:
        match = pattern.match(state.src, state.pos)
        if match is None:
            continue
        if not silent:
            state.push(kind, "", 0).content = match.expand(shown)
        state.pos = match.end()
        return True
    return False
