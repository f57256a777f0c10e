"""A report says nothing twice, and loses nothing that is said once (R-A6). With the
model that its figures are of.
"""

from collections.abc import Iterator

import pytest

from chatbot.answering.writers.repetition import MOST_SHOWN, WrittenSentences
from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.domain import Embedder
from chatbot.language.analysis import analyzer
from tests.data import cases

CASES = cases(__file__)

DROUGHT = (
    "About 5.4 million people were acutely food insecure in Kenya between March and "
    "June 2023 [1]."
)


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    folder = tmp_path_factory.mktemp("minilm")
    with build(
        Settings(data_dir=folder, embedding_provider="minilm", sample_data="off")
    ) as services:
        yield services.runtime.embedder


@pytest.fixture
def said(embedder: Embedder) -> WrittenSentences:
    return WrittenSentences(embedder, analyzer("english"))


def second(said: WrittenSentences, first: str, then: str) -> str:
    """What is left of a second section."""
    assert said.without_repetition(first) == first
    return said.without_repetition(then)


@pytest.mark.parametrize(("first", "then"), CASES["repeated"])
def test_the_same_in_other_words_is_taken_out(
    said: WrittenSentences, first: str, then: str
) -> None:
    assert second(said, first, then) == ""


@pytest.mark.parametrize(("first", "then"), CASES["new"])
def test_what_differs_in_what_it_says_stays(
    said: WrittenSentences, first: str, then: str
) -> None:
    assert second(said, first, then) == then


def test_a_quotation_goes_as_one(said: WrittenSentences) -> None:
    quoted = f"The report says: \u201c{DROUGHT} The harvest failed.\u201d [1]"
    assert second(said, quoted, f"{quoted} {DROUGHT}") == ""


@pytest.mark.parametrize(
    ("text", "left"), CASES["layout"].values(), ids=CASES["layout"]
)
def test_what_stays_keeps_its_layout(
    said: WrittenSentences, text: str, left: str
) -> None:
    assert second(said, DROUGHT, text) == left


class TestAbout:
    def test_it_tells_what_is_near_in_the_order_of_the_report(
        self, said: WrittenSentences
    ) -> None:
        said.without_repetition(
            "Hunger in Kenya is severe [3]. Tea is exported to Pakistan [2].\n\n"
            f"{DROUGHT}"
        )
        assert said.sentences_about("Food insecurity in Kenya")[0] == [
            "Hunger in Kenya is severe [3].",
            DROUGHT,
        ]

    def test_earlier_sentences_about_a_topic_are_at_most_so_many(
        self, said: WrittenSentences
    ) -> None:
        said.without_repetition(
            "\n".join(
                f"In {year} many people of Kenya were hungry."
                for year in range(2000, 2020)
            )
        )
        assert len(said.sentences_about("Hunger in Kenya")[0]) == MOST_SHOWN


def test_a_sentence_that_the_embedder_cannot_read_stays(
    said: WrittenSentences, embedder: Embedder
) -> None:
    long = "This " + "and that " * embedder.max_tokens + "is so."
    assert (
        said.without_repetition(f"{long} {DROUGHT}\n{long} {DROUGHT}")
        == f"{long} {DROUGHT}\n{long}"
    )
    assert said.sentences_about("Food insecurity in Kenya")[0] == [DROUGHT]
