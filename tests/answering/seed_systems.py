"""The five seeds' systems, each a loop written from its seed's text alone: what is
embedded, which passages are chosen, and which calls a language model gets.

Where the text leaves something open or two seeds disagree, the resolution of
docs/requirements.md holds: one scale of scores (R-D5), fusion (R-B6), the order of
work (R-B7), one call for the relevance of a search's passages (R-C9), no reflection
after the last round or one that adds nothing (R-C10). None has a branch for a kind
of question.
"""

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

PATH_A_CHARACTERS = 1000
PATH_A_OVERLAP = 100
PATH_A_COSINE = 0.35
BM25_K1 = 1.5
BM25_B = 0.75
MAX_ROUNDS = {"deep": 3, "chain": 4}
MAX_QUERIES = {"sub_queries": 4, "reflect": 3}


@dataclass(frozen=True)
class Passage:
    text: str
    source: str
    vector: Sequence[float] = ()
    metadata: Mapping[str, Any] | None = None
    """None: of the general collection, which no filter narrows."""
    score: float = 0.0
    """As Atlas gives it for cosine similarity."""
    is_of_page: bool = False
    separate_fields: tuple[str, ...] = ()
    """Where the store searches for words in several fields, and adds their scores."""

    @property
    def fields(self) -> tuple[str, ...]:
        return self.separate_fields or (self.text,)

    @property
    def cosine(self) -> float:
        return 2 * self.score - 1


@dataclass(frozen=True)
class Request:
    query: str
    """The last message of the person asking, as it was sent."""
    pages: tuple[tuple[str, str], ...] = ()
    """Names and texts of what is attached: only there the answer is looked for."""
    report_context: tuple[str, Any] | None = None


class Model(Protocol):
    """The server of the language model, asked by the seeds as by the product."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]: ...
    def chat(
        self, stage: str, question: str, passages: Sequence[Passage] = ()
    ) -> Any: ...


Base = Sequence[Passage]


def adaptive(model: Model, request: Request, base: Base) -> None:
    """Answer as seed 003 does: `similarity_search`, then one completion."""
    results = search(model, request.query, filtered(base, request))[:5]
    tenths = 7
    passages = above(results, tenths / 10)
    while not passages and tenths > 0:
        tenths -= 1
        passages = above(results, tenths / 10)
    model.chat("answer", request.query, passages)


def compression(model: Model, request: Request, base: Base) -> None:
    """Answer as seed 000 does: pages are compressed to what is similar enough (path
    A); without pages the vector store gives its best five (path B).
    """
    if request.pages:
        passages = found(model, request.query, chunks_of(model, request))
    else:
        passages = search(model, request.query, filtered(base, request))[:5]
    model.chat("answer", request.query, passages)


def hybrid(model: Model, request: Request, base: Base) -> None:
    """Answer as seed 001 does: both searches, .7 and .3, ten fetched, three kept from
    different sources, one completion.
    """
    by_vector = {one.text: one.score for one in search(model, request.query, base)[:10]}
    by_keyword = dict(keyword_search(request.query, base)[:10])
    best = max(by_keyword.values(), default=1.0)
    fused = {
        one.text: 0.7 * by_vector.get(one.text, 0.0)
        + 0.3 * by_keyword.get(one.text, 0.0) / best
        for one in base
    }
    hits = [one for one in base if one.text in by_vector or one.text in by_keyword]
    fetched = sorted(hits, key=lambda one: -fused[one.text])[:10]
    model.chat("answer", request.query, round_robin(fetched)[:3])


def deterministic(model: Model, request: Request, base: Base) -> None:
    """Answer as seed 004 does: what is similar enough goes into the system prompt, and
    the model is called once, with or without it.
    """
    similar = [one for one in search(model, request.query, base) if one.cosine > 0.5]
    model.chat("answer", request.query, similar[:3])


def deep(model: Model, request: Request, base: Base) -> None:
    """Answer as seed 002 does: a router chooses one of three agents."""
    if request.pages:
        base = chunks_of(model, request)
    AGENTS[model.chat("route", request.query)](model, request.query, base)


def naive_rag(model: Model, query: str, base: Base) -> None:
    model.chat("answer", query, found(model, query, base))


def deep_search(model: Model, query: str, base: Base) -> None:
    kept: list[Passage] = []
    open_queries = model.chat("sub_queries", query)[: MAX_QUERIES["sub_queries"]]
    for round in range(MAX_ROUNDS["deep"]):
        added: list[Passage] = []
        for one in open_queries:
            chunks = found(model, one, base)
            added += [chunks[i] for i in model.chat("relevance", one, chunks)]
        before, kept = kept, deduplicated([*kept, *added])
        if len(kept) == len(before) or round + 1 == MAX_ROUNDS["deep"]:
            break
        open_queries = model.chat("reflect", query, kept)[: MAX_QUERIES["reflect"]]
        if not open_queries:
            break
    model.chat("answer", query, kept)


def chain_of_rag(model: Model, query: str, base: Base) -> None:
    kept: list[Passage] = []
    for _ in range(MAX_ROUNDS["chain"]):
        follow_up = model.chat("follow_up", query)
        if not follow_up:
            break
        chunks = found(model, follow_up, base)
        model.chat("intermediate", follow_up, chunks)
        kept += [chunks[i] for i in model.chat("supported", follow_up, chunks)]
    model.chat("answer", query, deduplicated(kept))


AGENTS: dict[str, Callable[[Model, str, Base], None]] = {
    "naive": naive_rag,
    "deep": deep_search,
    "chain": chain_of_rag,
}
SYSTEMS: dict[str, Callable[[Model, Request, Base], None]] = {
    "adaptive": adaptive,
    "compression": compression,
    "hybrid": hybrid,
    "deep": deep,
    "deterministic": deterministic,
}
WITHOUT_PAGES = {"adaptive", "hybrid", "deterministic"}
"""Presets whose seeds know no pages of one question: path A serves these (R-A2)."""


def answer(preset: str, model: Model, request: Request, base: Base) -> None:
    """Answer as the preset's seed does."""
    system = SYSTEMS[preset]
    if request.pages and preset in WITHOUT_PAGES:
        system = compression
    system(model, request, base)


def search(model: Model, query: str, base: Base) -> list[Passage]:
    """Return all passages with their scores, the most similar first."""
    vector = np.asarray(model.embed([query])[0])
    rows = np.asarray([one.vector for one in base])
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(vector)
    scores = (1 + rows @ vector / lengths) / 2
    scored = [replace(one, score=float(s)) for one, s in zip(base, scores, strict=True)]
    return sorted(scored, key=lambda one: -one.score)


def found(model: Model, query: str, base: Base) -> list[Passage]:
    """Return the five most similar passages; of pages all that are similar enough."""
    results = search(model, query, base)
    if base[0].is_of_page:
        return [one for one in results if one.cosine >= PATH_A_COSINE]
    return results[:5]


def keyword_search(query: str, base: Base) -> list[tuple[str, float]]:
    """Return the passages that have a word of the question, best BM25 score first."""
    totals = [0.0] * len(base)
    for field in range(max(len(one.fields) for one in base)):
        scores = bm25(words(query), [words(one.fields[field]) for one in base])
        totals = [total + score for total, score in zip(totals, scores, strict=True)]
    hits = [
        (one.text, total) for one, total in zip(base, totals, strict=True) if total > 0
    ]
    return sorted(hits, key=lambda hit: -hit[1])


def bm25(query: Sequence[str], documents: Sequence[Sequence[str]]) -> list[float]:
    """Return the score of each document; the rarity of a word is never negative."""
    mean_length = sum(map(len, documents)) / len(documents)
    scores = [0.0] * len(documents)
    for term in set(query):
        having = sum(term in document for document in documents)
        rarity = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
        for place, document in enumerate(documents):
            often = document.count(term)
            length = 1 - BM25_B + BM25_B * len(document) / mean_length
            scores[place] += rarity * often * (BM25_K1 + 1) / (often + BM25_K1 * length)
    return scores


def round_robin(fetched: Base) -> list[Passage]:
    """Take one passage of each source in each round."""
    groups: dict[str, list[Passage]] = {}
    for one in fetched:
        groups.setdefault(one.source, []).append(one)
    reranked: list[Passage] = []
    for turn in range(len(fetched)):
        reranked += [group[turn] for group in groups.values() if turn < len(group)]
    return reranked


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def chunks_of(model: Model, request: Request) -> Base:
    """Return the pages of this request, split and embedded for it alone."""
    texts = [(text, name) for name, page in request.pages for text in split(page)]
    vectors = model.embed([text for text, _ in texts])
    return [
        Passage(text, name, vector, is_of_page=True)
        for (text, name), vector in zip(texts, vectors, strict=True)
    ]


def split(page: str) -> list[str]:
    """Split a page whose paragraphs are as long as the splitter of path A wants them:
    none fits beside another and none is cut.
    """
    paragraphs = page.split("\n\n")
    for one, following in itertools.pairwise(paragraphs):
        assert len(one) + 2 + len(following) > PATH_A_CHARACTERS
    assert all(PATH_A_OVERLAP < len(one) <= PATH_A_CHARACTERS for one in paragraphs)
    return paragraphs


def filtered(base: Base, request: Request) -> Base:
    """Return what the filter of `report_chatting` leaves; it is not relevant for the
    general collection.
    """
    if request.report_context is None:
        return base
    field, value = request.report_context
    return [
        one for one in base if one.metadata is None or one.metadata.get(field) == value
    ]


def above(passages: Base, threshold: float) -> list[Passage]:
    return [one for one in passages if one.score > threshold]


def deduplicated(passages: Base) -> list[Passage]:
    return list({one.text: one for one in passages}.values())
