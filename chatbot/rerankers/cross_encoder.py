"""A cross-encoder: question and passage read together by one model (R-B8). Needs the package sentence-transformers.

No model ships with this product: the weights are downloaded once by that package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from ..errors import DependencyError, MissingPackageError
from ..protocols import ChatModel, Reranked, Store
from ..request import RequestContext
from ..schema import SearchHit

MODEL = "cross-encoder/ms-marco-MiniLM-L-6-v2"
FETCHED = 20
Predict = Callable[[list[tuple[str, str]]], Sequence[float]]
"""Relevance of each passage to its question; any scale, more is better."""


class RerankerError(DependencyError):
    """The model could not be loaded, or failed."""

    code = "reranker_unavailable"
    dependency = "reranker"


class CrossEncoderReranker:
    """Implements `protocols.Reranker`. Equal scores keep the order of the search."""

    asks_model = False

    def __init__(self, predict: Predict) -> None:
        self._predict = predict

    def candidates(self, top_k: int) -> int:
        """Twenty, or twice as many as are wanted."""
        return max(FETCHED, 2 * top_k)

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """The hits by what the model says of each with the question. Raises RerankerError: the model failed."""
        if not hits:
            return Reranked(())
        try:
            scores = [float(score) for score in self._predict([(query, hit.chunk.search_text) for hit in hits])]
        except (RuntimeError, ValueError, OSError) as error:
            raise RerankerError(f"The cross-encoder failed: {error}.", remedy="RERANKER=none does without.") from error
        order = sorted(range(len(hits)), key=lambda n: (-scores[n], n))
        return Reranked(tuple(hits[n] for n in order[:top_k]))


def build(*, chat_model: Callable[[], ChatModel], language: str, store: Callable[[], Store]) -> CrossEncoderReranker:
    """Raises MissingPackageError; RerankerError: the weights cannot be loaded."""
    try:
        encoders = import_module("sentence_transformers")
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "The reranker 'cross_encoder' needs the Python package sentence-transformers.",
            remedy="Install it: pip install sentence-transformers; or set RERANKER=none.",
        ) from error
    try:
        return CrossEncoderReranker(encoders.CrossEncoder(MODEL).predict)
    except OSError as error:
        raise RerankerError(
            f"The cross-encoder {MODEL} cannot be loaded.",
            remedy="It is downloaded at the first use; check the network, or set RERANKER=none.",
        ) from error
