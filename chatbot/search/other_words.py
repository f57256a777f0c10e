"""Words of a question that a passage says in others: "begin", where it has "started".

Vectors of single words tell synonyms from the rest well enough to excuse a word that is
missing; they are never a reason to find a passage.
"""

from collections.abc import Mapping

from ..domain.protocols import Embedder
from ..language.analysis import STOP_WORDS, WORD_PATTERN
from .weights import read_weight

__all__ = ["in_other_words"]

SAME = read_weight("other_words.same")
MAX_WORDS = int(read_weight("other_words.words"))
_OF_NO_MEANING = frozenset().union(*STOP_WORDS.values())


def in_other_words(words: Mapping[str, str], text: str, embedder: Embedder) -> set[str]:
    """Return the terms whose word means the same as a word of a text. ``words``: the
    word of each term.
    """
    written: dict[str, None] = {}
    for word in WORD_PATTERN.findall(text.lower()):
        if word.isalpha() and word not in _OF_NO_MEANING:
            written[word] = None
    if not words or not written:
        return set()
    vectors = embedder.embed_documents(list(written)[:MAX_WORDS])
    same = set()
    for term, word in words.items():
        if max(vectors @ embedder.embed_query(word.lower())) >= SAME:
            same.add(term)
    return same
