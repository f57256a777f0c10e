"""What is asked of a country in everyday words, and the term that reports have for it.

"How many people live in Kenya?" is nearer to "people living with HIV/AIDS" than to "Population", "Who rules Kenya?" has
no word of "chief of state": the term goes along with the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..domain.reading import Named
from .english import EVERYDAY, pattern
from .wording import remove_names, tidy

_ARTICLES = re.compile(r"\bthe\b|['’]s\b", re.IGNORECASE)
_BEFORE, _BEHIND = r"\W*(?:(?:and|so|please|ok)\W+)?", r"(?:\W+(?:in|of|and|here|there|now|today|currently))*\W*"
_FORMS = [(term, pattern(f"{_BEFORE}(?:{form}){_BEHIND}")) for term, form in EVERYDAY.items()]


def with_term(question: str, names: Sequence[Named]) -> str:
    """The question with the term in brackets, where all that it says beside ``names`` is one everyday wording."""
    asked = tidy(_ARTICLES.sub(" ", remove_names(question, names)))
    term = next((term for term, form in _FORMS if form.fullmatch(asked)), "")
    return f"{question.rstrip(' ?.!')} ({term})?" if term else question
