"""Every extension point on one page. Adapters implement these; the layers above use
nothing else of them.
"""

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Collection as AnyOf
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from .chat import Delta, Prompt
from .costs import Usage
from .documents import (
    Chunk,
    Document,
    DocumentRecord,
    HeadingCounts,
    Holdings,
    Match,
    Matrix,
    Meaning,
    Mentions,
    Passage,
    Publication,
    Quotation,
    SearchHit,
    Vector,
)
from .request import RequestContext
from .scope import CountryGroup, Scope, Value


class Embedder(Protocol):
    """Text to unit vectors. A vector is a function of its text and of ``model_id``,
    nothing else.
    """

    model_id: str
    """``provider:model``; stored with the vectors, so that a change of model is
    noticed.
    """
    local: bool
    """True if it computes in this process: free of charge, and faster than reading a
    stored vector.
    """
    multilingual: bool
    """True if the vectors of a question and of its answer in another language are
    close.
    """
    dimensions: int
    """Length of its vectors."""
    max_tokens: int
    """Tokens that the model reads of one text. Longer input is an error, never cut
    silently.
    """

    def count_tokens(self, text: str) -> int:
        """Count tokens by the model's own tokenizer, or estimate them, never too
        low.
        """

    def embed_query(
        self, text: str, *, request: RequestContext | None = None
    ) -> Vector:
        """Return a unit vector, shape (dimensions,). Raises EmbeddingError."""

    def embed_documents(
        self, texts: Sequence[str], *, request: RequestContext | None = None
    ) -> Matrix:
        """Return unit vectors, shape (len(texts), dimensions). Raises
        EmbeddingError.
        """


@runtime_checkable
class EmbedsInStore(Protocol):
    """An embedding model that runs in the store of the passages: `search_meaning` gives
    the store the text of a question, passages are stored without a vector, and no text
    can be embedded here.
    """

    store_model: str
    """The model by the store's own name."""


def model_in_store(embedder: Embedder) -> str:
    """Return the model by which the store embeds, "" where texts are embedded here."""
    if isinstance(embedder, EmbedsInStore):
        return embedder.store_model
    return ""


def search_meaning(
    embedder: Embedder, text: str, *, request: RequestContext | None = None
) -> Meaning:
    """Return what a store searches a text by. Raises EmbeddingError."""
    if model_in_store(embedder):
        return text
    return embedder.embed_query(text, request=request)


@runtime_checkable
class TokenPlaces(Protocol):
    """An embedder whose tokens end where words do: one reading of a text counts those
    of all its spans.
    """

    def token_places(self, text: str) -> Sequence[int]:
        """Return the places where the tokens of a text begin, in order."""


class ChatModel(Protocol):
    model_id: str
    """``provider:model``, or the provider alone."""
    is_language_model: bool
    """True if it can plan and write; else it quotes or repeats, in this process and
    free of charge.
    """

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Yield the answer piece by piece; end early once ``request`` is cancelled.
        Raises ChatModelError.
        """


@dataclass(frozen=True, slots=True)
class Reranked:
    """At most top_k hits, best first, with unchanged scores and ranks; and the cost of
    reranking.
    """

    hits: tuple[SearchHit, ...]
    usage: Usage = field(default_factory=Usage)


class Reranker(Protocol):
    """Reorders the hits that remain after threshold and fusion (R-B7, R-B8)."""

    def candidates(self, top_k: int) -> int:
        """Number of hits it needs to choose ``top_k`` from; never fewer."""

    def rerank(
        self,
        query: str,
        hits: Sequence[SearchHit],
        *,
        top_k: int,
        request: RequestContext,
    ) -> Reranked:
        """``hits`` are best first. Raises DependencyError: its model failed."""


@runtime_checkable
class Quoter(Protocol):
    """Quotes passages, if no language model is configured or it failed."""

    def quotes(self, question: str, passages: Sequence[Passage]) -> list[Quotation]:
        """Return the sentences that answer best, best first, at most three."""


class Passages(Protocol):
    """Chunks with their vectors, to be read, and the two searches over them. Scopes are
    applied before the search.

    Where a scope is limited (`Scope.is_limited`), scores and order depend on nothing
    outside of `Scope.widest`: no frequency of words is counted there.
    """

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Return the chunks that still exist, in the order of the ids."""

    def stored(self, document_id: str) -> tuple[list[Chunk], Matrix]:
        """Return a document's chunks that have a vector, of any version and in no
        order, with their vectors.
        """

    def surroundings(
        self, chunks: Sequence[Chunk], *, margin: int
    ) -> list[list[Chunk]]:
        """Return each chunk with its neighbours within ``margin`` characters, in
        reading order.
        """

    def vector_search(
        self,
        meaning: Meaning,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> list[Match]:
        """Return the nearest chunks, best first, ties by id; ``Match.score`` = (1 +
        cosine) / 2. With ``num_candidates`` a search engine always searches
        approximately among so many, without rows for ties; None = the store chooses.
        Stores that search exactly ignore it.
        """

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """Return the best chunks by keywords, ties by id. A chunk without a query term
        is no match.
        """

    def vector_scores(
        self, meaning: Meaning, chunk_ids: Sequence[str]
    ) -> dict[str, float]:
        """Return the vector scores of chunks that only the keyword search found; none
        where the store has no vectors at hand.
        """

    def count(self, scope: Scope) -> int:
        """Count the passages in a scope."""


class Store(Passages, Protocol):
    """Chunks that can also be written. What callers see comes through
    `database.reader`.
    """

    def prepare(self) -> None:
        """Create what the store needs and lacks; cheap if it lacks nothing."""

    def upsert(self, chunks: Sequence[Chunk], vectors: Matrix) -> None:
        """Write chunks of one or more documents; replace those with the same id."""

    def delete_document(self, document_id: str, *, keep: Sequence[str] = ()) -> int:
        """Remove a document's chunks except those in ``keep`` and return how many were
        removed.
        """

    def ping(self) -> str:
        """Return a short description of the engine. Raises DependencyError: it does not
        work.
        """

    def close(self) -> None:
        """Close connections and end threads."""


@runtime_checkable
class HybridStore(Passages, Protocol):
    """A store that runs both searches in one go, by an engine that weighs words over
    the whole index. Answers of a limited scope show no score of words.
    """

    def hybrid_search(
        self,
        query: str,
        meaning: Meaning,
        *,
        top_k: int,
        scope: Scope,
        num_candidates: int | None = None,
    ) -> tuple[list[Match], list[Match]]:
        """Return what vector_search and keyword_search would, as far as keywords can be
        searched.
        """

    def without_keywords(self, scope: Scope) -> list[str]:
        """Return the collections of the scope whose keyword index could not answer the
        last hybrid search.
        """


@runtime_checkable
class TracedStore(Passages, Protocol):
    """A store whose searches are aggregations that a person can read and repeat."""

    def traced(self) -> AbstractContextManager[list[tuple[str, list[dict[str, Any]]]]]:
        """Collect the collections and aggregations that this thread's searches send
        inside the block.
        """


@runtime_checkable
class RerankingStore(Store, Protocol):
    """A store with its own reranking model."""

    def relevance(self, query: str, chunks: Sequence[Chunk]) -> dict[str, float]:
        """Return the relevance of chunks to a query, by id, without deleted chunks.
        Raises SearchEngineError. Without chunks, only check that the server answers.
        """


@runtime_checkable
class CountingStore(Store, Protocol):
    """A store that may hold passages without a vector."""

    def without_vector(self) -> int:
        """Count the passages without a vector, or with one of zeros."""


@runtime_checkable
class LateStore(Store, Protocol):
    """An eventually consistent store: documents become visible, and deleted rows are
    removed, once its indexes have caught up.
    """

    def retire(self, document_id: str, *, keep: AnyOf[str] = ()) -> list[str]:
        """Hide a document's chunks, except those in ``keep``, from searches, before
        `delete_document`. Return the ids of all that wait for deletion.
        """

    def unfollowed(
        self, document_id: str, *, written: AnyOf[str] = (), retired: AnyOf[str] = ()
    ) -> set[str]:
        """Return those of the ``written`` and ``retired`` chunks whose change searches
        do not show yet. Raises SearchEngineError.
        """


@runtime_checkable
class ListingStore(Store, Protocol):
    """A store that knows the reports of its passages."""

    def document_ids(self) -> set[str]:
        """Return the ids that passages name as their reports'."""


class Catalog(Protocol):
    """The registered reports."""

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]:
        """Return the reports in the scope, else all, by title."""

    def values(self, field: str, scope: Scope | None = None) -> list[Value]:
        """Return every value of a filter field in the scope, else in all reports;
        sorted as text.
        """

    def holdings(self, scope: Scope) -> Holdings:
        """Count the reports in the scope, and their passages that are inside: of a
        table perhaps only some.
        """

    def groups(self) -> Sequence[CountryGroup]:
        """Return the groups of countries, the same object until they change."""

    def mentions(self, codes: AnyOf[str], scope: Scope) -> Mentions:
        """Count the passages in the scope that name these countries."""

    def heading_counts(self, document_id: str) -> HeadingCounts | None:
        """Return the counts of a report's headings; None if they are not known."""

    def country_most_named(self, document_id: str) -> str:
        """Return `DocumentRecord.country_most_named` of a report; "" if there is no
        such report.
        """

    def publication(self, document_id: str) -> Publication:
        """Return the publication of a report; an empty one if there is no such
        report.
        """


class Chunker(Protocol):
    """Splits a document into passages that the embedder reads whole."""

    longest: int
    """Characters of its longest passage: the size asked for, or less if the embedder
        reads less. The embedder's limit is an estimate (four characters a token).
        Chunkers count tokens and split denser text shorter.
    """
    takes_overlap: bool
    """True if neighbours may share text; else the overlap must be 0."""
    joins_sections: bool
    """True if a passage may span sections; it then contains their headings."""

    def chunk(
        self,
        document: Document,
        *,
        version: str,
        collection: str,
        check: Callable[[int], None] = lambda made: None,
    ) -> list[Chunk]:
        """Return the chunks in reading order, with ids and ordinals as of
        `Chunk.make_id`.
        """
