"""Every extension point on one page. Adapters implement these; the layers above know nothing else of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from .cancellation import Cancellation
from .schema import (
    Chunk,
    Delta,
    Document,
    DocumentRecord,
    Event,
    Loaded,
    Match,
    Matrix,
    Passage,
    Prompt,
    Question,
    Quotation,
    Scope,
    Value,
    Vector,
)


class Embedder(Protocol):
    """Text to unit vectors. A vector is a function of its text and of ``model_id``, nothing else."""

    @property
    def model_id(self) -> str:
        """``provider:model``; stored with the vectors, so that a change of model is noticed."""

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """What the model reads of one text. Longer input is an error, never a silent cut."""

    def count_tokens(self, text: str) -> int: ...

    def embed_query(self, text: str) -> Vector: ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), dimensions). Raises EmbeddingError."""


class VectorCache(Protocol):
    """Vectors already computed, keyed by model and text."""

    def get(self, model_id: str, text: str) -> Vector | None: ...


class Cache(Protocol):
    """Values by level and key, for all workers. Errors and abstentions are not for it."""

    def get(self, level: Literal["embedding", "response", "query"], key: str) -> Any: ...

    def put(self, level: Literal["embedding", "response", "query"], key: str, value: Any) -> None:
        """``value`` is a JSON value."""


class ChatModel(Protocol):
    """One completion, streamed."""

    @property
    def model_id(self) -> str: ...

    def stream(self, prompt: Prompt, *, cancel: Cancellation) -> Iterator[Delta]:
        """Yield the answer piece by piece; ends early once ``cancel`` is set. Raises ChatModelError."""


class Quoter(Protocol):
    """Says what passages say in their own words: where no language model is configured, or it failed."""

    def quotes(self, question: str, passages: Sequence[Passage]) -> list[Quotation]:
        """The best sentences of the best passages, best first; none for no passages."""


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
        """All chunks of a document, of any version, in no order, and their vectors; without a vector: left out."""

    def surroundings(self, chunk: Chunk, *, margin: int) -> list[Chunk]:
        """The chunk and its neighbours in the document within ``margin`` characters, in reading order."""

    def vector_search(self, vector: Vector, *, top_k: int, scope: Scope) -> list[Match]:
        """Nearest chunks, best first, ties by id; ``Match.score`` = (1 + cosine) / 2."""

    def keyword_search(self, query: str, *, top_k: int, scope: Scope) -> list[Match]:
        """Best chunks by keywords, ties by id. A chunk with no query term is not a match."""

    def vector_scores(self, vector: Vector, chunk_ids: Sequence[str]) -> dict[str, float]:
        """The vector score of chunks that only the keyword search found, from their stored vectors."""

    def count(self, scope: Scope) -> int: ...

    def ping(self) -> str:
        """A short description of the working engine. Raises DependencyError where it does not work."""

    def close(self) -> None: ...


@runtime_checkable
class HybridStore(Store, Protocol):
    """A store that runs both searches in one go."""

    def hybrid_search(self, query: str, vector: Vector, *, top_k: int, scope: Scope) -> tuple[list[Match], list[Match]]:
        """What vector_search and keyword_search would find."""


class ChangeLog(Protocol):
    """Which documents changed, in order: how an in-process index follows writes by other processes."""

    def corpus_id(self) -> str:
        """Identifies this corpus among all databases; a derived file of another one is useless."""

    def position(self) -> int: ...

    def record(self, document_ids: Iterable[str]) -> int: ...

    def since(self, position: int) -> tuple[int, set[str] | None]:
        """The current position and the documents changed after ``position``; None = further back than the log."""


class Catalog(Protocol):
    """The registered reports, as scopes see them."""

    def all(self, scope: Scope | None = None) -> list[DocumentRecord]: ...

    def values(self, field: str) -> list[Value]:
        """Every value the data has for a filter field, sorted."""

    def chunks_inside(self, records: Iterable[DocumentRecord], scope: Scope) -> int:
        """Passages of these reports that the scope admits: of a table perhaps only some."""

    def unsettled(self) -> dict[str, str]:
        """Reports that are being written or removed, with the version questions may see ("" = none)."""


class Loader(Protocol):
    """A file to a document's text. ``suffixes``: how such files are named, lower case, with the dot."""

    suffixes: tuple[str, ...]

    def load(self, path: Path) -> Loaded:
        """The title falls back to the file's stem; sections are laid out (`schema.lay_out`) and not empty.

        Raises:
            LoadError: naming the file, what is wrong with it and what to do.
        """


class Limits(Protocol):
    """The longest passage: what was asked for, and what the embedder leaves of it."""

    @property
    def asked(self) -> int: ...

    @property
    def used(self) -> int: ...


class Chunker(Protocol):
    """A document to passages. ``count_tokens``/``max_tokens`` are the embedder's, so that nothing is lost."""

    @property
    def limits(self) -> Limits: ...

    def chunk(self, document: Document, *, version: str, collection: str) -> list[Chunk]: ...


class Agent(Protocol):
    """Answers a question, yielding what happens. The last event is an AnswerEvent."""

    def run(self, question: Question, *, cancel: Cancellation) -> Iterator[Event]: ...
