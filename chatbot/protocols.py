"""Every extension point on one page. Adapters implement these; the layers above know nothing else of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Collection as AnyOf
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from .schema.costs import Usage

if TYPE_CHECKING:  # every adapter imports this page, which names these in annotations only
    from pathlib import Path

    from .request import RequestContext
    from .schema import (
        Chunk,
        Delta,
        Document,
        DocumentRecord,
        Event,
        Holdings,
        Loaded,
        Match,
        Matrix,
        Passage,
        Prompt,
        Question,
        Quotation,
        Scope,
        SearchHit,
        Value,
        Vector,
    )


class Embedder(Protocol):
    """Text to unit vectors. A vector is a function of its text and of ``model_id``, nothing else."""

    @property
    def model_id(self) -> str:
        """``provider:model``; stored with the vectors, so that a change of model is noticed."""

    @property
    def local(self) -> bool:
        """Whether it computes in this process: for nothing, and a text again in less time than its vector is read."""

    @property
    def multilingual(self) -> bool:
        """Whether a question is near a passage that answers it in another language."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""

    @property
    def max_tokens(self) -> int:
        """What the model reads of one text. Longer input is an error, never a silent cut."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a text by the model's own tokenizer, or an estimate that is not too low."""

    def embed_query(self, text: str, *, request: RequestContext | None = None) -> Vector:
        """A question's vector, shape (dimensions,), of length 1. Raises EmbeddingError."""

    def embed_documents(self, texts: Sequence[str], *, request: RequestContext | None = None) -> Matrix:
        """Passages' vectors, shape (len(texts), dimensions), each of length 1. Raises EmbeddingError."""


@runtime_checkable
class PrefetchingEmbedder(Embedder, Protocol):
    """An embedder that may be told of several questions before it is asked for the first."""

    def prefetch(self, texts: Iterable[str], *, request: RequestContext | None = None) -> None:
        """Have their vectors at hand for `embed_query`, computed at the same time. Raises EmbeddingError."""


class Cache(Protocol):
    """Values by level and key, for all workers. Errors and abstentions are not for it."""

    @property
    def enabled(self) -> bool:
        """False: it keeps nothing, and counts nothing."""

    def get(
        self, level: Literal["embedding", "response", "query"], key: str, *, request: RequestContext | None = None
    ) -> Any:
        """The cached value, None where there is none; the look-up is counted for ``request``."""

    def put(self, level: Literal["embedding", "response", "query"], key: str, value: Any, *, owner: str = "") -> None:
        """``value`` is a JSON value. ``owner``: of the conversation that it depends on; ``key`` holds it, too."""


class ChatModel(Protocol):
    """A model that completes a prompt, as a stream."""

    @property
    def model_id(self) -> str:
        """``provider:model``, or the provider alone."""

    @property
    def is_language_model(self) -> bool:
        """False: it quotes or repeats, in this process and for nothing; so nothing can be planned or written."""

    def stream(self, prompt: Prompt, *, request: RequestContext) -> Iterator[Delta]:
        """Yield the answer piece by piece; ends early once ``request`` is cancelled. Raises ChatModelError."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """The hits after reranking, at most top_k, best first, and what it cost. Their scores and ranks stay as they
    came.
    """

    hits: tuple[SearchHit, ...]
    usage: Usage = field(default_factory=Usage)


class Reranker(Protocol):
    """The order of the hits that are left after threshold and fusion (R-B7, R-B8)."""

    @property
    def asks_model(self) -> bool:
        """Whether it asks the chat model, whose replies may be cached."""

    def candidates(self, top_k: int) -> int:
        """How many hits to be given for ``top_k`` of them; never fewer."""

    def rerank(self, query: str, hits: Sequence[SearchHit], *, top_k: int, request: RequestContext) -> Reranked:
        """``hits`` are best first. Raises DependencyError where a model behind it failed."""


@runtime_checkable
class Quoter(Protocol):
    """Says what passages say in their own words: where no language model is configured, or it failed."""

    def quotes(
        self, question: str, passages: Sequence[Passage], *, request: RequestContext | None = None
    ) -> list[Quotation]:
        """The sentences that answer best, best first, at most three; none for no passages. Raises EmbeddingError."""


class Store(Protocol):
    """Chunks with their vectors, and the two searches over them. Scopes are applied before the search."""

    def prepare(self) -> None:
        """Create what the store needs and does not have; cheap when everything is there."""

    def upsert(self, chunks: Sequence[Chunk], vectors: Matrix) -> None:
        """Write chunks of one or more documents; a chunk with a known id is replaced."""

    def delete_document(self, document_id: str, *, keep: Sequence[str] = ()) -> int:
        """Remove a document's chunks except those in ``keep``; returns how many went."""

    def get(self, chunk_ids: Sequence[str]) -> list[Chunk]:
        """The chunks that still exist, in the order asked for."""

    def stored(self, document_id: str) -> tuple[list[Chunk], Matrix]:
        """All chunks of a document, of any version and in no order, with their vectors; those without a vector are
        left out.
        """

    def surroundings(self, chunks: Sequence[Chunk], *, margin: int) -> list[list[Chunk]]:
        """Each chunk with its neighbours in the document within ``margin`` characters, in reading order."""

    def vector_search(
        self, vector: Vector, *, top_k: int, scope: Scope, num_candidates: int | None = None
    ) -> list[Match]:
        """Nearest chunks, best first, ties by id; ``Match.score`` = (1 + cosine) / 2.

        ``num_candidates``: of a search engine, always search approximately among so many, and request no rows for ties;
        None = the store chooses. Stores that search exactly ignore it.
        """

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """Best chunks by keywords, ties by id. A chunk with no query term is not a match."""

    def vector_scores(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The vector score of chunks that only the keyword search found, from their stored vectors."""

    def count(self, scope: Scope) -> int:
        """How many passages there are in a scope."""

    def ping(self) -> str:
        """A short description of the working engine. Raises DependencyError where it does not work."""

    def close(self) -> None:
        """Close connections and end threads."""


@runtime_checkable
class HybridStore(Store, Protocol):
    """A store that runs both searches in one go."""

    def hybrid_search(
        self, query: str, vector: Vector, *, top_k: int, scope: Scope, num_candidates: int | None = None
    ) -> tuple[list[Match], list[Match]]:
        """What vector_search and keyword_search would find, as far as the keywords can be searched."""

    def without_keywords(self, scope: Scope) -> list[str]:
        """The collections of the scope in which the last hybrid search had no keywords: their index cannot answer."""


@runtime_checkable
class TracedStore(Store, Protocol):
    """A store that asks a search engine what a person may read, and ask again by hand."""

    def traced(self) -> AbstractContextManager[list[tuple[str, list[dict[str, Any]]]]]:
        """The collections and aggregations that this thread's searches send inside the block, in order."""


@runtime_checkable
class RerankingStore(Store, Protocol):
    """A store with a reranking model of its own."""

    def relevance(self, query: str, chunks: Sequence[Chunk]) -> dict[str, float]:
        """Return the relevance of chunks to a query, by id; deleted chunks are left out. Without chunks, check only
        that the server answers.

        Raises SearchEngineError.
        """


@runtime_checkable
class LateStore(Store, Protocol):
    """An eventually consistent store: documents become visible, and deleted rows are removed, once its indexes have
    caught up.
    """

    def retire(self, document_id: str, *, keep: AnyOf[str] = ()) -> list[str]:
        """Take a document's chunks, except those in ``keep``, out of what is searched, before `delete_document`; ids
        of all that wait for it."""

    def unfollowed(self, document_id: str, *, there: AnyOf[str] = (), gone: AnyOf[str] = ()) -> int:
        """How many chunks the searches do not know yet as they are: ``there`` were written, ``gone`` retired.

        Raises SearchEngineError.
        """


class ChangeLog(Protocol):
    """Which documents changed, in order: how an in-process index follows writes by other processes."""

    def corpus_id(self) -> str:
        """Identifies this corpus among all databases; a derived file of another one is useless."""

    def position(self) -> int:
        """The number of the last change."""

    def record(self, document_ids: Iterable[str]) -> int:
        """Note that these documents changed; returns the new position."""

    def since(self, position: int) -> tuple[int, set[str] | None]:
        """The current position and the documents changed after ``position``; None = further back than the log."""

    def epoch(self) -> int:
        """Another number means that chunks changed and kept their ids: comparing ids is not enough."""


class Catalog(Protocol):
    """The registered reports, as scopes see them."""

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]:
        """Reports in the scope, by title; every one without a scope."""

    def values(self, field: str, scope: Scope | None = None) -> list[Value]:
        """Every value that the data, or what of it is in the scope, has for a filter field; sorted as text."""

    def holdings(self, scope: Scope) -> Holdings:
        """How many reports there are in the scope, and passages that it admits: of a table perhaps only some."""

    def unsettled(self) -> dict[str, str]:
        """Reports that are being written or removed, with the version questions may see ("" = none). As of now, also
        where the rest is as it was when the request was first asked for it."""


class Loader(Protocol):
    """A file to a document's text. ``suffixes``: how such files are named, lower case, with the dot."""

    suffixes: tuple[str, ...]

    def load(self, path: Path) -> Loaded:
        """The title falls back to the file's stem; sections are laid out (`schema.lay_out`) and not empty.

        Raises:
            LoadError: naming the file, what is wrong with it and what to do.
        """


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """The longest passage in characters. ``used`` is below ``asked`` where the embedder reads less.

    What the embedder reads is an estimate (four characters a token). Denser text is cut shorter still: tokens are
    counted before a passage is made.
    """

    asked: int
    used: int


class Chunker(Protocol):
    """A document to passages. ``count_tokens``/``max_tokens`` are the embedder's, so that nothing is lost."""

    @property
    def limits(self) -> ChunkLimits:
        """The sizes of its chunks."""

    @property
    def takes_overlap(self) -> bool:
        """Whether neighbours may share text; else an overlap other than 0 is refused."""

    @property
    def joins_sections(self) -> bool:
        """Whether a passage may span sections, whose headings then stand in its text."""

    def chunk(
        self, document: Document, *, version: str, collection: str, check: Callable[[int], None] = lambda made: None
    ) -> list[Chunk]:
        """The chunks of a document in reading order; ids and ordinals as `Chunk.make_id` has them."""


class Agent(Protocol):
    """Answers a question, yielding what happens. The last event is an AnswerEvent."""

    def run(self, question: Question, *, request: RequestContext) -> Iterator[Event]:
        """The events of an answer. Raises ChatbotError where nothing can be answered."""
