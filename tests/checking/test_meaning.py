"""Which sentences of an answer a language model has to judge."""

import pytest

from chatbot.checking.citations import check
from chatbot.checking.clauses import clauses
from chatbot.checking.meaning import (
    SentenceVerdict,
    doubts_of,
    open_sentences,
    with_doubts,
)
from chatbot.domain import Chunk, Context, Passage, SearchHit

TEXT = (
    "The government may not stay in office, and it postponed the elections. "
    "Gold is the most important export."
)
CHUNK = Chunk(
    id="mali",
    document_id="mali-2021",
    document_name="mali.pdf",
    title="Mali: Country Report 2021",
    section="Government",
    text=TEXT,
    ordinal=0,
    metadata={"country_name": "Mali", "year": 2021},
)
PASSAGES = {1: Passage(1, SearchHit(CHUNK, rank=1), TEXT)}


@pytest.mark.parametrize(
    ("sentence", "is_open"),
    [
        ("In Mali gold is the most important export [1].", False),
        ("The government of Mali postponed the elections [1].", False),
        ("The elections postponed the government [1].", True),
        ("The government did not postpone the elections [1].", True),
        ("Gold is important because of the elections [1].", True),
        ("El oro es la exportación más importante [1].", True),
        ("Gold is important because of the elections.", False),
        ("| what | who |\n|---|---|\n| gold | elections [1] |", False),
    ],
)
def test_copied_words_are_closed_and_all_else_is_open(
    sentence: str, is_open: bool
) -> None:
    assert bool(open_sentences(sentence, PASSAGES, ())) == is_open


def test_a_cell_that_is_right_bears_its_source() -> None:
    response = (
        "Gold is important because of the elections [1].\n\n"
        "| what | how |\n|---|---|\n| gold | the most important export [1] |"
    )
    checked = check(response, Context(tuple(PASSAGES.values())))
    (sentence,) = open_sentences(response, PASSAGES, checked.unsupported)
    verdicts = [SentenceVerdict(sentence, "not_said")]
    unsupported, _ = doubts_of(response, PASSAGES, verdicts)
    (citation,) = with_doubts(checked.citations, response, unsupported)
    assert citation.supported
    alone = response.partition("\n")[0]
    (citation,) = with_doubts(checked.citations, alone, unsupported)
    assert not citation.supported


def test_a_full_stop_without_a_space_ends_a_sentence() -> None:
    text = "马里有两千万人。[1]肯尼亚有五千万人。"
    sentences = {clause.sentence.strip() for clause in clauses(text)}
    assert sentences == {"马里有两千万人。", "肯尼亚有五千万人。"}
