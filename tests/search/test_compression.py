"""In-memory compression (R-A1): 1000/100, on the fly, cosine .35 inclusive; a question
about the whole.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest

from chatbot.answering.flow import Gather
from chatbot.app.services import Services, build
from chatbot.config.settings import Settings
from chatbot.domain import Chunk, Document, Section, Vector
from chatbot.domain.cancellation import Cancellation
from chatbot.domain.documents import ATTACHMENTS, Matrix, lay_out
from chatbot.domain.errors import CancelledError, LoadError
from chatbot.domain.request import RequestContext
from chatbot.language.analysis import analyzer
from chatbot.search.compression import BATCH, MAX_PASSAGES, Compressor

ASKED = "What does it cost?"
_NONE = RequestContext()


class ScriptedEmbedder:
    """A text's cosine to every question is the number that it ends with."""

    model_id, dimensions, max_tokens, local = "scripted", 2, 1000, False

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.cancel_after: tuple[int, Cancellation] | None = None

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        return np.asarray([1, 0], np.float32)

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        self.batches.append(len(texts))
        if self.cancel_after and len(self.batches) == self.cancel_after[0]:
            self.cancel_after[1].cancel()
        cosines = [float(text.split()[-1]) for text in texts]
        return np.asarray(
            [[cosine, math.sqrt(1 - cosine**2)] for cosine in cosines], np.float32
        )


class LineChunker:
    """A passage for each line. Implements as much of `protocols.Chunker` as is used."""

    longest = 900

    def chunk(
        self,
        document: Document,
        *,
        version: str,
        collection: str,
        check: Callable[[int], None],
    ) -> list[Chunk]:
        lines = document.sections[0].text.splitlines()
        for made in range(len(lines)):
            check(made)
        return [
            Chunk(
                Chunk.make_id(document.id, version, number),
                document.id,
                document.name,
                document.title,
                line,
                ordinal=number,
                start=100 * number,
                end=100 * number + len(line),
                collection=collection,
            )
            for number, line in enumerate(lines)
        ]


@pytest.fixture
def embedder() -> ScriptedEmbedder:
    return ScriptedEmbedder()


@pytest.fixture
def compressor(embedder: ScriptedEmbedder) -> Compressor:
    return Compressor(
        embedder=embedder,
        chunker=LineChunker(),
        analyzer=analyzer("english"),
        least_cosine=0.35,
    )


def document(*cosines: float, name: str = "a.md") -> Document:
    lines = "\n".join(f"{name} has {cosine}" for cosine in cosines)
    return Document(
        f"attachment-{name}", name, name, name, {}, lay_out([Section((), lines)])
    )


def retrieve(
    compressor: Compressor, *documents: Document, query: str = ASKED, top_k: int = 5
) -> list[tuple[str, str]]:
    found, _ = compressor.retrieve(
        query, documents, top_k=top_k, request=RequestContext()
    )
    assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    return [(hit.chunk.text, *hit.found_by) for hit in found.hits]  # type: ignore[misc]


def compressor_of(services: Services) -> Compressor:
    """What attachments are read with."""
    gather = services.everything.flow.stages["gather"]
    assert isinstance(gather, Gather)
    return gather.search.attachments.compressor


class TestThreshold:
    def test_the_threshold_of_similarity_is_inclusive(
        self, compressor: Compressor
    ) -> None:
        """R-A1: cosine >= .35."""
        assert retrieve(compressor, document(0.34, 0.35, 0.36, 0.3499)) == [
            ("a.md has 0.36", "vector"),
            ("a.md has 0.35", "vector"),
        ]

    def test_scores_are_on_the_one_scale_and_so_is_the_threshold(
        self, compressor: Compressor
    ) -> None:
        found, _ = compressor.retrieve(
            ASKED, [document(0.35, 1.0, -1.0)], top_k=5, request=RequestContext()
        )
        assert [hit.score for hit in found.hits] == pytest.approx([1.0, 0.675])
        assert found.threshold is not None
        assert (
            found.threshold.start,
            found.threshold.used,
            found.threshold.relaxed,
        ) == (0.675, 0.675, False)

    def test_the_best_of_all_documents_are_taken_and_equal_ones_in_reading_order(
        self, compressor: Compressor
    ) -> None:
        both = document(0.5, 0.9, 0.6), document(0.8, 0.6, name="b.md")
        assert [text for text, _ in retrieve(compressor, *both, top_k=4)] == [
            "a.md has 0.9",
            "b.md has 0.8",
            "a.md has 0.6",
            "b.md has 0.6",
        ]


class TestTheWhole:
    @pytest.mark.parametrize("query", ["Summarise this file", "Who wrote this?"])
    def test_it_is_answered_from_the_beginning_and_the_middle_of_all(
        self, compressor: Compressor, query: str
    ) -> None:
        assert retrieve(compressor, document(0.1, 0.3, 0.2), query=query, top_k=2) == [
            ("a.md has 0.1", "beginning"),
            ("a.md has 0.2", "summary"),
        ]

    @pytest.mark.parametrize("query", ["What does it cost?", "Who wrote the law?"])
    def test_another_question_is_not(self, compressor: Compressor, query: str) -> None:
        assert retrieve(compressor, document(0.1, 0.3, 0.2), query=query) == []

    def test_what_is_close_comes_first(self, compressor: Compressor) -> None:
        """ "The main findings on prices" has the word of a summary, and means a part."""  # noqa: E501
        found = retrieve(
            compressor,
            document(0.1, 0.2, 0.9, 0.6),
            query="The main findings on prices?",
            top_k=3,
        )
        assert found == [
            ("a.md has 0.9", "vector"),
            ("a.md has 0.6", "vector"),
            ("a.md has 0.1", "beginning"),
        ]

    def test_several_documents_take_turns(self, compressor: Compressor) -> None:
        both = document(0.1, 0.2, 0.3), document(0.0, name="b.md")
        assert [
            text
            for text, _ in retrieve(compressor, *both, query="Summarise these", top_k=4)
        ] == [
            "a.md has 0.1",
            "b.md has 0.0",
            "a.md has 0.2",
            "a.md has 0.3",
        ]


class TestLimits:
    def test_what_is_too_long_for_one_question_is_named(
        self, compressor: Compressor
    ) -> None:
        assert len(retrieve(compressor, document(*[0.5] * MAX_PASSAGES))) == 5
        with pytest.raises(
            LoadError,
            match=r"^a\.md: too long .* Add it to the knowledge base instead\.$",
        ):
            retrieve(compressor, document(*[0.5] * (MAX_PASSAGES + 1)))

    def test_what_cannot_fit_is_not_split(
        self, compressor: Compressor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(LineChunker, "chunk")
        monkeypatch.setattr(LineChunker, "longest", 1)
        with pytest.raises(LoadError, match="too long"):
            retrieve(compressor, document(*[0.5] * MAX_PASSAGES))

    def test_it_is_embedded_in_batches_and_a_cancellation_ends_it(
        self, compressor: Compressor, embedder: ScriptedEmbedder
    ) -> None:
        cancel = Cancellation()
        embedder.cancel_after = 2, cancel
        different = [number / 1_000 for number in range(3 * BATCH)]
        with pytest.raises(CancelledError):
            compressor.retrieve(
                ASKED, [document(*different)], top_k=1, request=RequestContext(cancel)
            )
        assert embedder.batches == [BATCH, BATCH]


class TestFigures:
    """R-A1: the settings' defaults are the seed's, and what is built obeys them."""

    def test_passages_are_that_long_and_overlap(self, services: Services) -> None:
        words = " ".join(f"word{number}" for number in range(1000))
        whole = Document(
            "attachment-x", "x.md", "x", "x.md", {}, lay_out([Section((), words)])
        )
        _, chunks = compressor_of(services).retrieve(
            "word7", [whole], top_k=1, request=_NONE
        )
        assert 900 < max(len(chunk.text) for chunk in chunks) <= 1000
        assert {chunk.collection for chunk in chunks} == {ATTACHMENTS}
        overlaps = [before.end - after.start for before, after in pairwise(chunks)]
        assert all(80 < overlap <= 100 for overlap in overlaps)
        assert all(words[chunk.start : chunk.end] == chunk.text for chunk in chunks)

    def test_the_threshold_of_similarity_is_a_setting(self, settings: Settings) -> None:
        text = Document(
            "attachment-x",
            "x.md",
            "x",
            "x.md",
            {},
            lay_out([Section((), "alpha beta gamma delta")]),
        )
        for least, found in ((0.2, 1), (0.99, 0)):
            with build(settings.override(similarity_threshold=least)) as services:
                kept, _ = compressor_of(services).retrieve(
                    "alpha in other words", [text], top_k=5, request=_NONE
                )
            assert len(kept.hits) == found


class TestWords:
    def test_a_passage_that_says_what_is_asked_is_close_whatever_its_vector(
        self, compressor: Compressor
    ) -> None:
        note = Document(
            "attachment-n",
            "n",
            "n",
            "n",
            {},
            lay_out([Section((), "cost of boats -0.5\ncats 0.1\nx 0.2")]),
        )
        assert retrieve(compressor, note) == [("cost of boats -0.5", "keyword")]

    def test_a_short_document_is_given_whole(self, compressor: Compressor) -> None:
        found, _ = compressor.retrieve(
            ASKED, [document(0.1, 0.4, 0.2)], top_k=1, request=_NONE, whole=1000
        )
        assert [hit.chunk.ordinal for hit in found.hits] == [1, 0, 2]
