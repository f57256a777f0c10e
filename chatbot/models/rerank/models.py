"""Rerankers that ask a model: the chat model, a cross-encoder, or the one beside MongoDB's search engine (R-B8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from ...domain import Message, SearchHit, Usage
from ...domain.errors import DependencyError, MissingPackageError, SearchEngineError
from ...domain.protocols import ChatModel, Reranked, RerankingStore, Store
from ...domain.request import RequestContext
from ..prompts import inert, passage_fence, render
from ..replies.asking import ask, numbers, shape_prompt

BATCH = 20
"""Passages that the chat model judges in one call."""
MAX_PASSAGE_CHARACTERS = 2000
CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L-6-v2"
Predict = Callable[[list[tuple[str, str]]], Sequence[float]]
"""Return the relevance of each passage to its question; any scale, more is better."""


class _ModelReranker:
    asks_model = False

    def candidates(self, top_k: int) -> int:
        """Return twenty, or twice as many as requested."""
        return max(20, 2 * top_k)


class LlmReranker(_ModelReranker):
    """The chat model names the passages that help, several in one call (R-C9; listwise as in RankGPT, EMNLP 2023).

    They come first, in its order; the rest keeps its order. After an unreadable reply the model is asked once more;
    then all passages of that call count as named.
    """

    asks_model = True

    def __init__(self, chat_model: Callable[[], ChatModel]) -> None:
        """``chat_model`` is called at each question: the model may be set up later."""
        self._chat_model = chat_model

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """Make one call per BATCH hits, two if the first reply is unreadable. Raises ChatModelError."""
        named: list[SearchHit] = []
        others: list[SearchHit] = []
        usage = Usage()
        for start in range(0, len(hits), BATCH):
            batch = hits[start : start + BATCH]
            places = list(range(len(batch)))
            if len(hits) > 1 and not request.cancelled:
                passages = "\n".join(
                    passage_fence(number, inert(hit.chunk.search_text[:MAX_PASSAGE_CHARACTERS]))
                    for number, hit in enumerate(batch, start=1)
                )
                user = render("rerank_user", passages=passages, question=query)
                messages = [Message("system", render("rerank_system")), Message("user", user)]
                shape = numbers(len(batch))
                reply = ask(self._chat_model(), shape_prompt(messages, query, shape), shape, request, stage="rerank")
                if reply.error is not None:
                    raise reply.error
                usage += Usage.total(step.usage for step in reply.steps)
                places = places if reply.value is None else [number - 1 for number in reply.value]
            named += [batch[place] for place in places]
            others += [hit for place, hit in enumerate(batch) if place not in places]
        return Reranked(tuple([*named, *others][:top_k]), usage)


class RerankerError(DependencyError):
    """The cross-encoder could not be loaded, or failed."""

    code = "reranker_unavailable"
    dependency = "reranker"


class CrossEncoderReranker(_ModelReranker):
    """One model reads question and passage together. Equal scores keep the order of the search.

    It needs the package sentence-transformers, which downloads the weights once.
    """

    def __init__(self, predict: Predict) -> None:
        self._predict = predict

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """Raises RerankerError: the model failed."""
        if not hits:
            return Reranked(())
        try:
            scores = [float(score) for score in self._predict([(query, hit.chunk.search_text) for hit in hits])]
        except (RuntimeError, ValueError, OSError) as error:
            raise RerankerError(f"The cross-encoder failed: {error}.", remedy="RERANKER=none does without.") from error
        order = sorted(range(len(hits)), key=lambda n: (-scores[n], n))
        return Reranked(tuple(hits[n] for n in order[:top_k]))


class MongoReranker(_ModelReranker):
    """The stage `$rerank` (Voyage; a preview, on Atlas with MongoDB 8.3+).

    Hits without a score, and equal ones, keep the order of the search.
    """

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """Raises SearchEngineError: the server has no such stage, or refuses it."""
        store = self._store()
        if not isinstance(store, RerankingStore):
            raise SearchEngineError(
                "RERANKER=mongodb needs MongoDB's own search engine.", remedy="Set another RERANKER, or none."
            )
        scores = store.relevance(query, [hit.chunk for hit in hits]) if hits else {}
        order = sorted(hits, key=lambda hit: -scores.get(hit.chunk.id, 0.0))
        return Reranked(tuple(order[:top_k]))


def llm(*, chat_model: Callable[[], ChatModel], **_: object) -> LlmReranker:
    return LlmReranker(chat_model)


def cross_encoder(**_: object) -> CrossEncoderReranker:
    """Raises MissingPackageError; RerankerError: the weights cannot be loaded."""
    try:
        encoders = import_module("sentence_transformers")
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "The reranker 'cross_encoder' needs the Python package sentence-transformers.",
            remedy="Install it: pip install sentence-transformers; or set RERANKER=none.",
        ) from error
    try:
        return CrossEncoderReranker(encoders.CrossEncoder(CROSS_ENCODER).predict)
    except OSError as error:
        raise RerankerError(
            f"The cross-encoder {CROSS_ENCODER} cannot be loaded.",
            remedy="It is downloaded at the first use; check the network, or set RERANKER=none.",
        ) from error


def mongodb(*, store: Callable[[], Store], **_: object) -> MongoReranker:
    return MongoReranker(store)
