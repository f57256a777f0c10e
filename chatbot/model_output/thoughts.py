"""What a reasoning model thought aloud, taken out of its reply before anything else is done with it (R-C8)."""

from __future__ import annotations

import re

_TAG = re.compile(r"(</?think(?:ing)?\s*>)", re.IGNORECASE)
_BEGUN_TAG = re.compile(r"<(?:/?(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?\s*)?$", re.IGNORECASE)


def without_thoughts(reply: str) -> str:
    """The reply without its thoughts, also where only one of the two tags is there.

    A closing tag without its opening one ends thoughts that began with the reply: many chat templates write the
    opening tag into the prompt. Within thoughts the first closing tag ends them, since models mention the tag there.
    """
    said: list[str] = []
    thinking = False
    for place, piece in enumerate(_TAG.split(reply)):
        if place % 2 == 0:  # text; the tags stand between
            said += [] if thinking else [piece]
            continue
        closes = piece.startswith("</")
        if closes and not thinking:
            said.clear()
        thinking = not closes
    return "".join(said).strip()


class Spoken:
    """The same while a reply is written: what of it may be shown already.

    What stands before a closing tag that was never opened has been shown by then; the finished text is without it.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._begun = True

    def hear(self, piece: str) -> str:
        """What ``piece`` adds; "" while the model thinks. The beginning of what may become a tag is held back."""
        pieces = _TAG.split(self._held + piece)
        self._held = ""
        if match := _BEGUN_TAG.search(pieces[-1]):
            pieces[-1], self._held = pieces[-1][: match.start()], match[0]
        said = ""
        for place, part in enumerate(pieces):
            if place % 2:
                self._thinking = not part.startswith("</")
                self._begun = self._thinking and self._begun
            elif not self._thinking:
                said += part
        return self._shown(said)

    def rest(self) -> str:
        """What was held back and became no tag."""
        held, self._held = self._held, ""
        return "" if self._thinking else self._shown(held)

    def _shown(self, said: str) -> str:
        """Nothing blank after thoughts."""
        said = said if self._begun else said.lstrip()
        self._begun = self._begun or bool(said)
        return said
