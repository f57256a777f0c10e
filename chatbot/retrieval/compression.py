"""In-memory compression: a document attached to one question is split, embedded, filtered and forgotten.

Seed 000, GPT Researcher's ContextCompressor (R-A1, R-A2): split, embed on the fly, keep what is close enough.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from ..errors import CancelledError, LoadError
from ..protocols import Chunker, Embedder
from ..questions.overview import asks_of_all
from ..request import RequestContext
from ..schema import ATTACHMENTS, Chunk, Document, Matrix, SearchHit, StepTiming, Threshold, Usage
from .pipeline import Retrieval, with_rank

MOST_PASSAGES = 2000
"""What can be embedded while somebody waits; more belongs into the knowledge base."""
BATCH, LOCAL_BATCH = 128, 8
"""Passages that are embedded between two looks at the cancellation; in this process, less than a second's work."""
RESERVED = 1
"""Passages from the beginning that such a question gets at least, whatever is closer."""


class Compressor:
    """Retrieval over documents that are in no store. ``least_cosine`` is inclusive, as its seed has it."""

    def __init__(self, *, embedder: Embedder, chunker: Chunker, least_cosine: float) -> None:
        self._embedder = embedder
        self._chunker = chunker
        self._least = least_cosine

    def retrieve(
        self, query: str, documents: Sequence[Document], *, top_k: int, request: RequestContext
    ) -> tuple[Retrieval, list[Chunk]]:
        """The closest passages, best first, and all passages, among which a hit's neighbours are.

        A question about the whole ("summarise this", "who wrote it") gets passages from the beginning, and those that
        say most of what the others say, for what is missing: few or none are close to it.

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
        about_all = asks_of_all(query)
        most = max(0, top_k - RESERVED) if about_all else top_k
        close = [place for place in np.argsort(-scores, kind="stable")[:most] if cosines[place] >= self._least]
        found = dict.fromkeys(close, "vector")
        if about_all:
            _add(found, _of_each_in_turn(chunks), "beginning", (top_k - len(close) + 1) // 2)
            _add(found, np.argsort(-(vectors @ vectors.sum(axis=0)), kind="stable"), "summary", top_k - len(found))
        hits = [SearchHit(chunks[place], score=float(scores[place]), found_by=(by,)) for place, by in found.items()]
        least = (1 + self._least) / 2
        tokens = sum(map(self._embedder.count_tokens, texts)) + self._embedder.count_tokens(query)
        step = StepTiming.since("compress", started, Usage(embedding_tokens=tokens))
        return Retrieval(with_rank(hits), Threshold(least, least, False), (step,)), chunks

    def _chunks(self, documents: Sequence[Document], request: RequestContext) -> list[Chunk]:
        chunks: list[Chunk] = []

        def check(made: int) -> None:
            if request.cancelled:
                raise CancelledError("Cancelled.")
            if len(chunks) + made >= MOST_PASSAGES:
                names = ", ".join(document.name for document in documents)
                raise LoadError(f"{names}: too long to be read for one question. Add it to the knowledge base instead.")

        for document in documents:
            chunks += self._chunker.chunk(document, version="", collection=ATTACHMENTS, check=check)
        return chunks


def embedded(embedder: Embedder, texts: Sequence[str], request: RequestContext) -> Matrix:
    """A row for each text, the same one embedded once.

    Raises CancelledError: ``request`` was cancelled, between two batches.
    """
    place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    different, parts = list(place), [np.empty((0, embedder.dimensions), np.float32)]
    step = LOCAL_BATCH if embedder.local else BATCH
    for start in range(0, len(different), step):
        if request.cancelled:
            raise CancelledError("Cancelled.")
        parts.append(embedder.embed_documents(different[start : start + step], request=request))
    return np.vstack(parts)[[place[text] for text in texts]]


class Neighbours:
    """The passages of attachments, as far as a context asks a store for them."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks

    def surroundings(self, chunks: Sequence[Chunk], *, margin: int) -> list[list[Chunk]]:
        """See `protocols.Store`."""
        return [
            [
                other
                for other in self._chunks
                if other.document_id == chunk.document_id
                and other.end >= chunk.start - margin
                and other.start <= chunk.end + margin
            ]
            for chunk in chunks
        ]


def _add(found: dict[int, str], places: Iterable[int], by: str, most: int) -> None:
    """The first of the places that are not there yet."""
    found |= dict.fromkeys(islice((int(place) for place in places if place not in found), most), by)


def _of_each_in_turn(chunks: Sequence[Chunk]) -> list[int]:
    """Their places: from the beginning, of several documents in turn."""
    by_document: dict[str, list[int]] = {}
    for place, chunk in enumerate(chunks):
        by_document.setdefault(chunk.document_id, []).append(place)
    longest = max(map(len, by_document.values()), default=0)
    return [own[n] for n in range(longest) for own in by_document.values() if n < len(own)]
