"""Questions about the whole of a document or a country: what it is about. No passage says that.

A question is read as a bag of words: it asks for an overview if all its words are of kinds that ask for nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..domain.scope import Named, NamedDocument
from ..language import LETTERS_PATTERN
from .english import pattern, words
from .wording import remove_names

_OVERVIEW, _SAYING, _ORIGIN = words("overview_words"), words("content_words"), words("origin_words")
_OF_FORM = words("idle_words") | words("form_words")
"""Say which document, and in what form: they ask for nothing in it."""
_OWN = pattern(r"\b(?:this|that|these|those|my|our|attached|following|above)\s+(?:\w+\s+)?{edition_noun}s?\b")
_REPORTS = pattern(r"\b{edition_noun}(?P<several>s)?\b")


def _words_of(question: str, names: Sequence[Named | NamedDocument]) -> set[str]:
    text = remove_names(question, names).replace("’", "'").replace("'s", " is ")
    return set(LETTERS_PATTERN.findall(text.lower())) - {"s"}


def asks_of_all(question: str) -> bool:
    """Return whether no single passage, or only the first page, says what a question asks for."""
    asked = _words_of(question, ())
    is_origin = not asked.isdisjoint(_ORIGIN) and asked <= _OF_FORM | _SAYING | _ORIGIN
    return not asked.isdisjoint(_OVERVIEW) or is_origin or asks_what_it_is_about(question, ())


def asks_what_it_is_about(question: str, names: Sequence[Named | NamedDocument]) -> bool:
    """Return whether a question asks for an overview of what it names, and for nothing in it: "Tell me about Kenya"."""
    asked = _words_of(question, names)
    has_subject = bool(names) or not asked.isdisjoint(_OVERVIEW | _SAYING)
    return has_subject and asked <= _OF_FORM | _OVERVIEW | _SAYING


def asks_of_reports(question: str, *, names: bool) -> bool:
    """Return whether a question about what is attached to it speaks of the library's reports, too.

    "The report" alone may be what is attached. ``names``: whether it, or its scope, names a country or a report.
    """
    said = _REPORTS.search(_OWN.sub(" ", question))
    return said is not None and (names or said["several"] is not None)
