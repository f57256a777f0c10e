"""Prompts as files, one `.txt` each, with ``$name`` placeholders. Quoted text cannot
imitate their tags. Each tag has a random mark, new for each prompt: the author of a
document cannot know it.
"""

import re
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from string import Template, ascii_lowercase

from ...domain import Message
from ...language.characters import visible


def new_mark() -> str:
    """Return letters only: digits would count as more tokens, and differently in each
    run.
    """
    return "".join(secrets.choice(ascii_lowercase) for _ in range(8))


_MARK = new_mark()
"""Placeholder for the mark that a prompt is sent with; it never leaves the process."""


@lru_cache(maxsize=64)
def _template(name: str) -> Template:
    return Template(files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8"))


def render(name: str, **values: str) -> str:
    """Return the prompt ``name`` with its placeholders filled. Raises KeyError where
    one is missing.
    """
    quoted = _template("quoted").substitute(mark=_MARK).strip()
    return (
        _template(name).substitute({"mark": _MARK, "quoted": quoted} | values).strip()
    )


def passage_fence(number: int, text: str) -> str:
    """Return ``text`` between the tags of a passage; it has to be `inert`."""
    return f'<passage-{_MARK} number="{number}">\n{text}\n</passage-{_MARK}>'


PASSAGE = re.compile(rf'^(?=<passage-{_MARK} number="(\d+)">)', re.MULTILINE)
"""The start of a passage in a prompt that is not sealed."""


_CONTROL = re.compile(
    r"<(?=[|\uff5c]|/?(?:s|bos|eos|unk|pad|SYS|(?:start|end)_of_turn|think|tool_\w+)>"
    r"|\w+:[be]os>|\]\w*\[>)|[|\uff5c](?=>)|\](?=<\])"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)
"""The first signs of control tokens of chat templates (ChatML, Llama, Mistral, Gemma,
DeepSeek): some servers read them in a document as the end of its message.
"""


def sealed(messages: Iterable[Message], mark: str = "") -> tuple[Message, ...]:
    """Return the messages as a model gets them: with this mark or one of their own, no
    invisible characters and no control tokens.
    """
    mark = mark or new_mark()
    return tuple(
        replace(
            one,
            content=_CONTROL.sub(r"\g<0> ", visible(one.content)).replace(_MARK, mark),
        )
        for one in messages
    )


def unmarked(text: str) -> str:
    """Return the prompt without its mark, as the key of cached answers."""
    return text.replace(_MARK, "")


_OPENING = re.compile(
    "[<\u02c2\u2039\u2329\u276e\u27e8\u300a\u3008\ufe64\uff1c\u1438\u16b2\u226a\u227a\U0001d236]"
    r"|&(?:amp;)*(?:lt|#0*60|#x0*3c);?|\\u003c|\\x3c|%3c",
    re.IGNORECASE,
)
_SLASHES = frozenset("/\u2044\u2215\u2571\u29f8\uff0f\\")
_SEEN_AS = {
    "p": "\u0440\u03c1\u2374\u01bf\ua731",
    "a": "\u0430\u03b1\u0251\u1d00\u2c6d",
    "s": "\u0455\ua731\u01bd\u10fd",
    "g": "\u0261\u0581\u050d\u018d\u1d83\u0262",
    "e": "\u0435\u03b5\u04bd\u1d07\u212e",
    "r": "\u0433\u0280\u1d26\uab47",
    "o": "\u043e\u03bf\u0585\u1d0f",
    "t": "\u0442\u03c4\u1d1b",
    "c": "\u0441\u03f2\u1d04",
    "n": "\u0578\u057c\u0274\u03b7",
    "v": "\u03bd\u0475\u1d20",
    "i": "\u0456\u03b9\u0131\u026a",
}
_LOOK_ALIKES = str.maketrans(
    {other: letter for letter, others in _SEEN_AS.items() for other in others}
)
"""Letters of other scripts that look the same; what Unicode itself calls the same
letter is folded before.
"""


def inert(text: str, tag: str = "passage") -> str:
    """Return the text without invisible characters and without this tag, in whatever
    spelling. The other tags stay: "<" is "less than", too.
    """
    text = visible(text)
    return _OPENING.sub(
        lambda match: "(" if _reads_on_as(tag, text, match.end()) else match[0], text
    )


def on_one_line(text: str, tag: str = "passage") -> str:
    """Return `inert` text on one line: a name with a line break could bring lines of
    its own.
    """
    return inert(" ".join(text.split()), tag)


def _reads_on_as(tag: str, text: str, place: int) -> bool:
    """Return whether the tag's name follows, opening or closing, in look-alikes or with
    blanks and accents between.
    """
    seen = 0
    while seen < len(tag) and place < len(text):
        letters = "" if not seen and text[place] in _SLASHES else _folded(text[place])
        if not tag.startswith(letters, seen):
            return False
        seen = seen + len(letters)
        place = place + 1
    return seen == len(tag)


@lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    """Return the letter that is seen: without style, case and accents; "" for a blank
    or an accent.
    """
    plain = unicodedata.normalize("NFKD", char).casefold().strip("()")
    letters = (
        one
        for one in plain
        if unicodedata.category(one) not in _BARE and not one.isspace()
    )
    return "".join(letters).translate(_LOOK_ALIKES)


_BARE = frozenset({"Mn", "Me", "Mc", "Cf", "Cc"})
