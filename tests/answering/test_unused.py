"""Which words of a question quotations leave unused."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from chatbot.answering.writers.prose import Prose
from chatbot.domain import Chunk, Context, Passage, SearchHit
from chatbot.domain.scope import Reading
from chatbot.models.embed.minilm import MiniLMEmbedder
from chatbot.search.relevance import Bounds, Judge

JUDGE = Judge(Bounds(0.6, 0.7), MiniLMEmbedder(), "english", lambda: [])
ROW = Chunk(
    "a",
    "d",
    "r.pdf",
    "Journal 2009",
    "Country: Sweden; Domestic (%): 23.9; Imported (%): 73.7",
    section="Cases by origin",
    statements=(),
)
PROSE = Chunk("b", "d", "r.pdf", "Journal 2009", "Salmonellosis is reported.")


def unused(*chunks: Chunk) -> Sequence[str]:
    """Return what an answer leaves unused that quotes the first of these passages."""
    question = "What share of salmonellosis cases in Sweden was imported?"
    turn = cast(Any, SimpleNamespace(judge=JUDGE, reading=Reading(question)))
    passages = [
        Passage(number, SearchHit(chunk, number, score=0.8), chunk.text)
        for number, chunk in enumerate(chunks, 1)
    ]
    return Prose(cast(Any, None)).unused(turn, "[1]", Context(tuple(passages)))


def test_what_stands_around_a_row_that_is_quoted_alone_is_used() -> None:
    assert unused(ROW) == ["salmonellosis"]
    assert not unused(ROW, PROSE)


def test_another_document_or_a_passage_beside_prose_uses_nothing() -> None:
    assert unused(ROW, replace(PROSE, document_id="e")) == ["salmonellosis"]
    assert unused(replace(ROW, statements=None), PROSE) == ["salmonellosis"]


def test_another_row_of_the_same_table_uses_nothing() -> None:
    other = replace(ROW, id="c", text="Country: Norway; Salmonellosis (%): 5")
    assert unused(ROW, other) == ["salmonellosis"]
