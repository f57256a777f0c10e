"""Questions about the whole of a document: what it is about, who wrote it and when. No one passage says that."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..domain.reading import Named, NamedDocument
from ..language import LETTERS_PATTERN
from .english import words
from .wording import remove_names

_THIS = (
    r"(?:this|it|these|they|(?:(?:the|that|this) )?(?:attached )?(?:file|document|report|paper|article|page|text)s?)"
)
_ABOUT = (
    r"summar\w+|overview|outline|tl;?dr|(?:key|main) (?:points|findings|topics|messages)"
    rf"|what(?: is|'s| are) {_THIS}(?: all)? about|what does {_THIS} (?:say|cover|deal with)"
    rf"|what (?:kind|sort|type) of \w+ (?:is|are) {_THIS}|what(?: is|'s) (?:attached|in {_THIS})"
    r"|resum\w*|de qué trata\w*|résum\w+|de quoi (?:parle|traite|s'agit)\w*"
)
_ORIGIN = (
    rf"(?:who|when|where) (?:has |have |was |were |is |are )?(?:wrote|written|made|published|issued) {_THIS}"
    rf"|(?:who|when|where) (?:was|were|is|are) {_THIS} (?:written|made|published|issued|from|by|dated)"
    r"|(?:the|its) (?:author|title|publisher|publication date|date of publication)s?"
    r"|quién (?:lo |la )?escribió|autor(?:es)?|qui (?:l')?a écrit|auteurs?"
)
_OF_ALL = re.compile(rf"\b(?:{_ABOUT}|{_ORIGIN})\b", re.IGNORECASE)
_ABOUT_ALL = re.compile(rf"\b(?:{_ABOUT})\b", re.IGNORECASE)
_LEFT_OVER = re.compile(
    r"\s['’]s\b|\b(?:country|yearly|annual)\s+(?=reports?\b)|\b(?:of|on|for|from|in)\s+(?=(?:about|say|cover)\b|\W*$)",
    re.IGNORECASE,
)
"""What is left over of a question when names are taken out of it."""
_LENGTH = re.compile(
    r"\b(?:in|within|en|dans)\s+(?:\w+\s+){1,4}(?:words?|sentences?|lines?|paragraphs?|points?|bullets?)\b"
)
_OF_FORM = words("idle_words") | words("form_words")
"""Words that say which document, and in what form: they ask for nothing in it."""


def asks_of_all(question: str) -> bool:
    """Whether what it asks for is said by no one passage, or by the first page only."""
    return bool(_OF_ALL.search(question))


def asks_what_it_is_about(question: str, names: Sequence[Named | NamedDocument]) -> bool:
    """Whether it asks what a document says, and for nothing in it; ``names`` are those that say which document."""
    plain = " ".join(_LEFT_OVER.sub(" ", " ".join(remove_names(question, names).split())).split())
    if not _ABOUT_ALL.search(plain):
        return False
    rest = _LENGTH.sub(" ", _ABOUT_ALL.sub(" ", plain.lower()))
    return _OF_FORM.issuperset(LETTERS_PATTERN.findall(rest))


def asks_nothing(question: str, names: Sequence[Named]) -> bool:
    """Whether it says names and nothing else: "Kenya", "Peru, please"."""
    return bool(names) and _OF_FORM.issuperset(LETTERS_PATTERN.findall(remove_names(question, names).lower()))
