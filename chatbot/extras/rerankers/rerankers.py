"""Rerankers that compare passages with each other, or have a model judge them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import sqrt

from ...domain import SearchHit, Usage
from ...domain.errors import DependencyError, MissingPackageError, SearchEngineError
from ...domain.protocols import ChatModel, Reranked, RerankingStore, Store
from ...domain.request import RequestContext
from ...language.analysis import analyzer
from ...models.prompts import inert, passage_fence
from ...models.replies import ask, numbers, stage_prompt

RELEVANCE = 0.7
"""Weight of relevance against novelty, 0 to 1; 1 changes nothing."""


class MmrReranker:
    """Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): relevant and
    not yet said (R-B8). Passages are compared by their words: no vector leaves the
    store for it.
    """

    def __init__(
        self, *, language: str, relevance: float = RELEVANCE, **_: object
    ) -> None:
        self._terms_of = analyzer(language).terms
        self._relevance = relevance

    def candidates(self, top_k: int) -> int:
        return 4 * top_k

    def rerank(
        self,
        query: str,
        hits: Sequence[SearchHit],
        *,
        top_k: int,
        request: RequestContext,
    ) -> Reranked:
        """Choose greedily the hit with the highest relevance less its similarity to the
        hits chosen before.
        """
        words = [Counter(self._terms_of(hit.chunk.text)) for hit in hits]
        scores = [_ordering_score(hit) for hit in hits]
        lowest = min(scores, default=0.0)
        spread = max(scores, default=0.0) - lowest or 1.0
        relevance = [(score - lowest) / spread for score in scores]
        similarity = [0.0] * len(hits)  # the highest one to a chosen hit
        chosen: list[int] = []
        rest = list(range(len(hits)))
        while rest and len(chosen) < top_k:
            gains = {
                n: self._relevance * relevance[n]
                - (1 - self._relevance) * similarity[n]
                for n in rest
            }
            best = max(rest, key=lambda n: (gains[n], -n))
            chosen.append(best)
            rest.remove(best)
            for n in rest:
                similarity[n] = max(similarity[n], _cosine(words[best], words[n]))
        return Reranked(tuple(hits[n] for n in chosen))


def _ordering_score(hit: SearchHit) -> float:
    scores = (
        hit.fused_score,
        hit.score if "vector" in hit.found_by else hit.keyword_score,
    )
    return next((score for score in scores if score is not None), 0.0)


def _cosine(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    shared = sum(count * other[word] for word, count in one.items() if word in other)
    norms = sqrt(sum(c * c for c in one.values()) * sum(c * c for c in other.values()))
    return shared / norms if norms else 0.0


BATCH = 20
"""Passages that the chat model judges in one call."""
MAX_PASSAGE_CHARACTERS = 2000
CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L-6-v2"
Predict = Callable[[list[tuple[str, str]]], Sequence[float]]
"""Return the relevance of each passage to its question; any scale, more is better."""


class _ModelReranker:
    def candidates(self, top_k: int) -> int:
        """Return twenty, or twice as many as requested."""
        return max(20, 2 * top_k)


class LlmReranker(_ModelReranker):
    """The chat model names the passages that help, several in one call (R-C9; listwise
    as in RankGPT, EMNLP 2023). They come first, in its order; the rest keeps its order.
    After an unreadable reply the model is asked once more; then all passages of that
    call count as named.
    """

    def __init__(self, *, chat_model: Callable[[], ChatModel], **_: object) -> None:
        self._chat_model = chat_model

    def rerank(
        self,
        query: str,
        hits: Sequence[SearchHit],
        *,
        top_k: int,
        request: RequestContext,
    ) -> Reranked:
        """Make one call per BATCH hits, two if the first reply is unreadable. Raises
        ChatModelError.
        """
        named: list[SearchHit] = []
        others: list[SearchHit] = []
        usage = Usage()
        for start in range(0, len(hits), BATCH):
            batch = hits[start : start + BATCH]
            places = list(range(len(batch)))
            if len(hits) > 1 and not request.cancelled:
                passages = "\n".join(
                    passage_fence(
                        number, inert(hit.chunk.search_text[:MAX_PASSAGE_CHARACTERS])
                    )
                    for number, hit in enumerate(batch, start=1)
                )
                shape = numbers(len(batch))
                prompt = stage_prompt(
                    "rerank", shape, query, passages=passages, question=query
                )
                reply = ask(self._chat_model(), prompt, shape, request, stage="rerank")
                if reply.error is not None:
                    raise reply.error
                usage += Usage.total(step.usage for step in reply.steps)
                places = (
                    places
                    if reply.value is None
                    else [number - 1 for number in reply.value]
                )
            named += [batch[place] for place in places]
            others += [hit for place, hit in enumerate(batch) if place not in places]
        return Reranked(tuple([*named, *others][:top_k]), usage)


class RerankerError(
    DependencyError, code="reranker_unavailable", dependency="reranker"
):
    """The cross-encoder could not be loaded, or failed."""


class CrossEncoderReranker(_ModelReranker):
    """One model reads question and passage together. Equal scores keep the order of the
    search. It needs the package sentence-transformers, which downloads the weights
    once.
    """

    def __init__(self, predict: Predict) -> None:
        self._predict = predict

    def rerank(
        self,
        query: str,
        hits: Sequence[SearchHit],
        *,
        top_k: int,
        request: RequestContext,
    ) -> Reranked:
        """Raises RerankerError: the model failed."""
        if not hits:
            return Reranked(())
        try:
            scores = [
                float(score)
                for score in self._predict(
                    [(query, hit.chunk.search_text) for hit in hits]
                )
            ]
        except (RuntimeError, ValueError, OSError) as error:
            raise RerankerError(
                f"The cross-encoder failed: {error}.",
                remedy="RERANKER=none does without.",
            ) from error
        order = sorted(range(len(hits)), key=lambda n: (-scores[n], n))
        return Reranked(tuple(hits[n] for n in order[:top_k]))


class MongoReranker(_ModelReranker):
    """The stage `$rerank` (Voyage; a preview, on Atlas with MongoDB 8.3+). Hits without
    a score, and equal ones, keep the order of the search.
    """

    def __init__(self, *, store: Callable[[], Store], **_: object) -> None:
        self._store = store

    def rerank(
        self,
        query: str,
        hits: Sequence[SearchHit],
        *,
        top_k: int,
        request: RequestContext,
    ) -> Reranked:
        """Raises SearchEngineError: the server has no such stage, or refuses it."""
        store = self._store()
        if not isinstance(store, RerankingStore):
            raise SearchEngineError(
                "RERANKER=mongodb needs MongoDB's own search engine.",
                remedy="Set another RERANKER, or none.",
            )
        scores = store.relevance(query, [hit.chunk for hit in hits]) if hits else {}
        return Reranked(
            tuple(sorted(hits, key=lambda hit: -scores.get(hit.chunk.id, 0.0))[:top_k])
        )


def cross_encoder(**_: object) -> CrossEncoderReranker:
    """Raises MissingPackageError; RerankerError: the weights cannot be loaded."""
    try:
        encoders = import_module("sentence_transformers")
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            (
                "The reranker 'cross_encoder' needs the Python package "
                "sentence-transformers."
            ),
            remedy="Install it: pip install sentence-transformers; or set RERANKER=none.",  # noqa: E501
        ) from error
    try:
        return CrossEncoderReranker(encoders.CrossEncoder(CROSS_ENCODER).predict)
    except OSError as error:
        raise RerankerError(
            f"The cross-encoder {CROSS_ENCODER} cannot be loaded.",
            remedy=(
                "It is downloaded at the first use; check the network, or set "
                "RERANKER=none."
            ),
        ) from error
