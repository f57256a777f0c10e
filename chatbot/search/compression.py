"""In-memory compression: a document attached to one question is split, embedded,
filtered and forgotten. As in seed 000, GPT Researcher's ContextCompressor (R-A1, R-A2).
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..domain import Chunk, Document, SearchHit, Usage, Vector
from ..domain.chat import StepTiming, Threshold
from ..domain.documents import ATTACHMENTS, Matrix
from ..domain.errors import CancelledError, LoadError
from ..domain.protocols import Chunker, Embedder, Passages
from ..domain.request import RequestContext
from ..domain.turns import give_way
from ..language.analysis import Analyzer
from ..questions.kinds import asks_of_all
from .pipeline import Retrieval, with_rank
from .weights import read_weight

MAX_PASSAGES = 2000
"""Passages that can be embedded while a person waits; more belongs in the knowledge
base.
"""
BATCH, LOCAL_BATCH = 128, 4
"""Passages embedded between two checks for cancellation; in this process, work of a
moment.
"""
MOST_SAID = read_weight("compression.words")
MAX_CLOSEST_PASSAGES = 20
"""Where the filter of seed 000 stops."""


@dataclass(frozen=True, slots=True)
class EmbeddedPages:
    """The passages of documents that are in no store, with their vectors."""

    chunks: Sequence[Chunk]
    vectors: Matrix


class Compressor:
    """Retrieval over documents that are in no store. ``least_cosine`` is inclusive, as
    in the seed. A passage is also close if it has most of what the question says, by
    words that are rare in the documents.
    """

    def __init__(
        self,
        *,
        embedder: Embedder,
        chunker: Chunker,
        analyzer: Analyzer,
        least_cosine: float,
    ) -> None:
        self._embedder = embedder
        self._chunker = chunker
        self._analyzer = analyzer
        self._least = least_cosine

    def retrieve(
        self,
        query: str,
        documents: Sequence[Document],
        *,
        top_k: int,
        request: RequestContext,
        whole: int = 0,
        of_all: bool = False,
    ) -> tuple[Retrieval, list[Chunk]]:
        """Return the closest passages, best first, and all passages, which `Neighbours`
        needs.

        Documents of together at most ``whole`` tokens are returned whole, with the
        close passages first. Few or no passages are close to a question about the whole
        ("summarise this", "who wrote it", or ``of_all``). It gets passages from the
        beginning of each document in turn, and those nearest to all others.

        Raises:
            LoadError: the documents are too long for one question.
            DependencyError: the embedder failed.
            CancelledError: ``request`` was cancelled.
        """
        chunks = self._chunks(documents, request)
        started = time.perf_counter()
        texts = [chunk.search_text for chunk in chunks]
        vectors = embedded(self._embedder, texts, request)
        cosines = vectors @ self._embedder.embed_query(query, request=request)
        scores = (1 + np.clip(cosines, -1, 1)) / 2
        shares = self._shares(query, texts)
        tokens = sum(map(self._embedder.count_tokens, texts))
        about_all = of_all or asks_of_all(query)
        # A question about the whole gets a passage from the beginning, too.
        most = max(0, top_k - 1) if about_all else top_k
        is_close = (cosines >= self._least) | (shares > MOST_SAID)
        nearest = np.argsort(-(cosines + shares), kind="stable")
        close = nearest[is_close[nearest]][:most].tolist()
        chosen = {
            place: "vector" if cosines[place] >= self._least else "keyword"
            for place in close
        }
        if about_all:
            # Nothing else is close, so half of the rest comes from the beginnings and
            # half is the most central.
            half = len(close) + (top_k - len(close) + 1) // 2
            _fill(chosen, _beginnings(chunks), half, "beginning")
            central = np.argsort(-(vectors @ vectors.sum(axis=0)), kind="stable")
            _fill(chosen, central, top_k, "summary")
        if tokens <= whole:
            _fill(chosen, range(len(chunks)), len(chunks), "beginning")
        hits = [
            SearchHit(chunks[place], score=float(scores[place]), found_by=(by,))
            for place, by in chosen.items()
        ]
        least = (1 + self._least) / 2
        spent = Usage(embedding_tokens=tokens + self._embedder.count_tokens(query))
        step = StepTiming.since("compress", started, spent)
        return Retrieval(
            with_rank(hits), Threshold(least, least, False), (step,)
        ), chunks

    def pages(
        self, documents: Sequence[Document], request: RequestContext
    ) -> EmbeddedPages:
        """Return documents in passages, each embedded by its text alone, as in seed
        000. Raises as `retrieve` does.
        """
        chunks = self._chunks(documents, request)
        texts = [chunk.text for chunk in chunks]
        return EmbeddedPages(chunks, embedded(self._embedder, texts, request))

    def closest(
        self, pages: EmbeddedPages, query: str, request: RequestContext
    ) -> Retrieval:
        """Return all passages that are close enough, the closest first, at most
        `MAX_CLOSEST_PASSAGES`. Raises DependencyError.
        """
        started = time.perf_counter()
        vector = self._embedder.embed_query(query, request=request)
        cosines = pages.vectors @ vector
        hits = [
            SearchHit(
                pages.chunks[index],
                score=float((1 + cosines[index]) / 2),
                found_by=("vector",),
            )
            for index in np.argsort(-cosines, kind="stable")
            if cosines[index] >= self._least
        ]
        tokens = self._embedder.count_tokens(query)
        step = StepTiming.since("compress", started, Usage(embedding_tokens=tokens))
        least = (1 + self._least) / 2
        shown = with_rank(hits[:MAX_CLOSEST_PASSAGES])
        return Retrieval(shown, Threshold(least, least, False), (step,))

    def _shares(self, query: str, texts: Sequence[str]) -> Vector:
        """Return the share of the question's words in each text, weighted by inverse
        document frequency.
        """
        sets = [set(self._analyzer.terms(text)) for text in texts]
        counts = {
            term: sum(term in terms for terms in sets)
            for term in set(self._analyzer.terms(query))
        }
        weights = {
            term: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            for term, n in counts.items()
        }
        total = sum(weights.values()) or 1.0
        return np.array(
            [
                sum(weights[term] for term in weights.keys() & terms) / total
                for terms in sets
            ],
            np.float32,
        )

    def _chunks(
        self, documents: Sequence[Document], request: RequestContext
    ) -> list[Chunk]:
        chunks: list[Chunk] = []
        names = ", ".join(document.name for document in documents)
        too_long = LoadError(
            f"{names}: too long to be read for one question. Add it to the knowledge "
            "base instead."
        )
        sizes = [
            len(section.text) for document in documents for section in document.sections
        ]
        if sum(sizes) > MAX_PASSAGES * self._chunker.longest:
            raise too_long

        def check(made: int) -> None:
            give_way()
            if request.cancelled:
                raise CancelledError("Cancelled.")
            if len(chunks) + made >= MAX_PASSAGES:
                raise too_long

        for document in documents:
            chunks += self._chunker.chunk(
                document, version="", collection=ATTACHMENTS, check=check
            )
        return chunks


def embedded(
    embedder: Embedder, texts: Sequence[str], request: RequestContext
) -> Matrix:
    """Return a row for each text; equal texts are embedded once. Raises CancelledError:
    ``request`` was cancelled; this is checked between batches.
    """
    place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    different = list(place)
    parts = [np.empty((0, embedder.dimensions), np.float32)]
    step = LOCAL_BATCH if embedder.local else BATCH
    for start in range(0, len(different), step):
        give_way()
        if request.cancelled:
            raise CancelledError("Cancelled.")
        parts.append(
            embedder.embed_documents(different[start : start + step], request=request)
        )
    return np.vstack(parts)[[place[text] for text in texts]]


class Neighbours:
    """The passages of attachments, for the context around a hit. ``store``: has those
    of all other hits.
    """

    def __init__(self, chunks: Sequence[Chunk], store: Passages) -> None:
        self._chunks = chunks
        self._store = store

    def surroundings(
        self, chunks: Sequence[Chunk], *, margin: int
    ) -> list[list[Chunk]]:
        stored = [chunk for chunk in chunks if chunk.collection != ATTACHMENTS]
        around = iter(self._store.surroundings(stored, margin=margin) if stored else ())

        def near(chunk: Chunk) -> list[Chunk]:
            same = (one for one in self._chunks if one.document_id == chunk.document_id)
            return [
                one
                for one in same
                if one.end >= chunk.start - margin and one.start <= chunk.end + margin
            ]

        return [
            near(chunk) if chunk.collection == ATTACHMENTS else next(around)
            for chunk in chunks
        ]


def _fill(chosen: dict[int, str], order: Iterable[int], count: int, why: str) -> None:
    """Add the first passages that are not chosen, until there are ``count``."""
    for place in order:
        if len(chosen) >= count:
            return
        chosen.setdefault(int(place), why)


def _beginnings(chunks: Sequence[Chunk]) -> list[int]:
    """Return the positions of all chunks: the first of each document, then the second
    of each, and so on.
    """
    numbers = Counter[str]()
    order: list[tuple[int, int]] = []
    for place, chunk in enumerate(chunks):
        order.append((numbers[chunk.document_id], place))
        numbers[chunk.document_id] += 1
    return [place for _, place in sorted(order)]
