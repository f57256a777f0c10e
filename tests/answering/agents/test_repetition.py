"""A report says nothing twice, and loses nothing that is said once (R-A6). With the model that its figures are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from chatbot.answering.agents.repetition import MOST_SHOWN, WrittenSentences
from chatbot.app.services import Services
from chatbot.config.settings import Settings
from chatbot.domain import Matrix
from chatbot.domain.errors import EmbeddingError
from chatbot.domain.protocols import Embedder
from chatbot.domain.request import RequestContext
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


REPEATED = CASES["repeated"]
NEW = CASES["new"]


@pytest.mark.parametrize(("first", "then"), REPEATED)
def test_the_same_in_other_words_is_taken_out(said: WrittenSentences, first: str, then: str) -> None:
    assert second(said, first, then) == ""


@pytest.mark.parametrize(("first", "then"), NEW)
def test_what_differs_in_what_it_says_stays(said: WrittenSentences, first: str, then: str) -> None:
    assert second(said, first, then) == then


def test_numbers_after_the_full_stop_go_with_their_sentence(said: WrittenSentences) -> None:
    sentence = DROUGHT.replace(" [1].", ". [1]")
    assert second(said, sentence, f"It is so. [2] {sentence} [3] Elections are due in 2027. [4][5]") == (
        "It is so. [2] Elections are due in 2027. [4][5]"
    )


def test_a_quotation_stays_whole(said: WrittenSentences) -> None:
    """It goes or stays as one, however many full stops it has."""
    quoted = f"The report says: “{DROUGHT} The harvest failed.” [1]"
    assert second(said, DROUGHT, quoted) == quoted
    assert said.without_repetition(f"{quoted} {DROUGHT}") == ""


class TestLayout:
    @pytest.mark.parametrize(
        "text",
        CASES["it_is_not_torn_apart"],
    )  # fmt: skip
    def test_it_is_not_torn_apart(self, said: WrittenSentences, text: str) -> None:
        assert second(said, DROUGHT, text) == text

    def test_an_item_goes_with_its_mark(self, said: WrittenSentences) -> None:
        text = (
            f"1. Elections are due in August 2027 [1].\n2. {DROUGHT}\n3. The harvest failed. {DROUGHT}\n\n- {DROUGHT}"
        )
        assert second(said, DROUGHT, text) == "1. Elections are due in August 2027 [1].\n3. The harvest failed."

    def test_what_stays_keeps_its_spaces(self, said: WrittenSentences) -> None:
        text = "- one  two\n    - three   four\n\n\nfive  six. Seven"
        assert said.without_repetition(text) == text

    @pytest.mark.parametrize("lead_in", ["The causes are:", "**The causes are:**"])
    def test_a_lead_in_goes_with_all_its_items(self, said: WrittenSentences, lead_in: str) -> None:
        assert second(said, DROUGHT, f"Before it.\n\n{lead_in}\n\n- {DROUGHT}\n- {DROUGHT}") == "Before it."
        assert said.without_repetition(f"{lead_in}\n- {DROUGHT}\n\nAfter it.") == "After it."

    def test_a_lead_in_stays_with_what_stands_below(self, said: WrittenSentences) -> None:
        text = f"The figures are:\n{DROUGHT}\n```\n5.4\n```"
        assert second(said, DROUGHT, text) == "The figures are:\n```\n5.4\n```"

    def test_a_lead_in_stays_with_one_of_its_items(self, said: WrittenSentences) -> None:
        text = f"The causes are:\n\n- {DROUGHT}\n- The harvest failed."
        assert second(said, DROUGHT, text) == "The causes are:\n\n- The harvest failed."

    def test_no_gap_is_left(self, said: WrittenSentences) -> None:
        assert second(said, DROUGHT, f"Before it.\n\n{DROUGHT}\n\nAfter it.") == "Before it.\n\nAfter it."


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
