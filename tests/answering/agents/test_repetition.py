"""A report says nothing twice, and loses nothing that is said once (R-A6). With the model that its figures are of."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from chatbot.answering.agents.repetition import MOST_SHOWN, WrittenSentences
from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import Embedder, EmbeddingError, Matrix, RequestContext
from chatbot.language import analyzer
from tests.data import cases

CASES = cases(__file__)

DROUGHT = "About 5.4 million people were acutely food insecure in Kenya between March and June 2023 [1]."


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    folder = tmp_path_factory.mktemp("minilm")
    with Services(Settings(data_dir=folder, embedding_provider="minilm", sample_data="off")) as services:
        yield services.runtime.embedder


@pytest.fixture
def said(embedder: Embedder) -> WrittenSentences:
    return WrittenSentences(embedder, analyzer("english"))


def second(said: WrittenSentences, first: str, then: str) -> str:
    """What is left of a second section."""
    assert said.without_repetition(first) == first
    return said.without_repetition(then)


@pytest.mark.parametrize(("first", "then"), CASES["repeated"])
def test_the_same_in_other_words_is_taken_out(said: WrittenSentences, first: str, then: str) -> None:
    assert second(said, first, then) == ""


@pytest.mark.parametrize(("first", "then"), CASES["new"])
def test_what_differs_in_what_it_says_stays(said: WrittenSentences, first: str, then: str) -> None:
    assert second(said, first, then) == then


def test_a_quotation_goes_as_one(said: WrittenSentences) -> None:
    quoted = f"The report says: \u201c{DROUGHT} The harvest failed.\u201d [1]"
    assert second(said, quoted, f"{quoted} {DROUGHT}") == ""


@pytest.mark.parametrize(("text", "left"), CASES["layout"].values(), ids=CASES["layout"])
def test_what_stays_keeps_its_layout(said: WrittenSentences, text: str, left: str) -> None:
    assert second(said, DROUGHT, text) == left


class TestAbout:
    def test_it_tells_what_is_near_in_the_order_of_the_report(self, said: WrittenSentences) -> None:
        said.without_repetition(f"Hunger in Kenya is severe [3]. Tea is exported to Pakistan [2].\n\n{DROUGHT}")
        assert said.sentences_about("Food insecurity in Kenya") == ["Hunger in Kenya is severe [3].", DROUGHT]

    def test_it_is_bounded(self, said: WrittenSentences) -> None:
        said.without_repetition("\n".join(f"In {year} many people of Kenya were hungry." for year in range(2000, 2020)))
        assert len(said.sentences_about("Hunger in Kenya")) == MOST_SHOWN


class Strict:
    """An embedder that refuses what is too long, as all do, and everything once it is broken."""

    def __init__(self, inner: Embedder, is_broken: Callable[[], bool]) -> None:
        self._inner = inner
        self._is_broken = is_broken
        self.dimensions = inner.dimensions
        self.max_tokens = 30
        self.model_id = inner.model_id
        self.embed_query = inner.embed_query
        self.count_tokens = inner.count_tokens

    def embed_documents(self, texts: Sequence[str], *, request: RequestContext | None = None) -> Matrix:
        if self._is_broken() or max(map(self.count_tokens, texts)) > self.max_tokens:
            raise EmbeddingError("Too long, or broken.")
        return self._inner.embed_documents(texts, request=request)


def test_a_sentence_that_the_embedder_cannot_read_stays(embedder: Embedder) -> None:
    said = WrittenSentences(Strict(embedder, lambda: False), analyzer("english"))
    long = "This " + "and that " * 40 + "is so."
    assert said.without_repetition(f"{long} {DROUGHT}\n{long} {DROUGHT}") == f"{long} {DROUGHT}\n{long}"


def test_where_the_embedder_fails_nothing_is_remembered(embedder: Embedder) -> None:
    broken = [True]
    said = WrittenSentences(Strict(embedder, lambda: broken[0]), analyzer("english"))
    with pytest.raises(EmbeddingError):
        said.without_repetition(DROUGHT)
    broken[0] = False
    assert said.without_repetition(DROUGHT) == DROUGHT
