"""The last line of an answer, in which the model says whether it has answered and what
is missing. It is JSON, in every language the same, and is never shown.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_core import from_json

from ...domain.errors import read_table
from ...domain.tables import Texts
from .stream import MAX_READ_CHARACTERS

__all__ = ["Ending", "EndingFilter", "split_ending"]

_BOUNDS = read_table(__package__, "ending")
_KEY = '{"answered"'
_ENDING = re.compile(r'\s*(?:`{3}\w*\s*)?(?P<json>\{\s*"answered"\s*:)')
_MAY_BEGIN = re.compile(r"\s*\n\s*(?:`{1,3}\w*\s*)?\Z")
"""White space and the fence of code that may stand before it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """``missing``: what was asked and the passages do not say, as questions to search
    for.
    """

    answered: bool
    missing: Texts = ()

    def as_line(self) -> str:
        """Return the line as a model writes it."""
        fields = {"answered": self.answered, "missing": self.missing}
        return json.dumps(fields, ensure_ascii=False)


def split_ending(text: str) -> tuple[str, Ending | None]:
    """Return an answer without its last line, and what that says; None where there is
    none. A line that is cut off counts as far as it goes.
    """
    endings = list(_ENDING.finditer(text))
    if not endings:
        return text, None
    found = endings[-1]
    source = text[found.start("json") :]
    closed = source.rfind("}") + 1
    behind = source[closed:].strip("` \n") if closed else ""
    fields: Mapping[str, object] = {}
    try:
        fields = from_json(source[: closed or len(source)], allow_partial=True)
    except ValueError:
        if closed:
            return text, None
    shown = text[: found.start()]
    if behind:
        shown = f"{shown}\n\n{behind}"
    answered = fields.get("answered")
    if not isinstance(answered, bool):
        return shown, None
    return shown, Ending(answered, _texts(fields.get("missing")))


def _texts(value: object) -> Texts:
    if not isinstance(value, list):
        return ()
    texts = [" ".join(one.split()) for one in value if isinstance(one, str)]
    short = [text for text in texts if 0 < len(text) <= _BOUNDS["characters"]]
    return tuple(dict.fromkeys(short))[: _BOUNDS["missing"]]


class EndingFilter:
    """`split_ending` for an answer that is being written: what may be its last line is
    held back until it is known.
    """

    def __init__(self) -> None:
        self._held_back = ""

    def add(self, piece: str) -> str:
        """Return the text that ``piece`` adds."""
        text = self._held_back + piece
        cut = _place_of_ending(text)
        if len(text) - cut > MAX_READ_CHARACTERS:
            cut = len(text)
        self._held_back = text[cut:]
        return text[:cut]

    def rest(self) -> str:
        """Return what was held back and became no ending."""
        shown, ending = split_ending(self._held_back)
        begun = shown.lstrip("` \n")
        if ending is None and begun and _KEY.startswith("".join(begun.split())):
            return ""  # cut off in the middle of its name
        return shown


def _place_of_ending(text: str) -> int:
    """Return where the last line may begin, the length of the text if nowhere."""
    end = len(text)
    brace = text.find("{")
    while brace >= 0:
        begun = "".join(text[brace : brace + 2 * len(_KEY)].split())
        if begun[: len(_KEY)] == _KEY[: len(begun)]:
            end = brace
            break
        brace = text.find("{", brace + 1)
    before = _MAY_BEGIN.search(text[:end])
    return before.start() if before else end
