"""What agents are made of, put together once by the composition root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..caches.responses import ChatModels
from ..protocols import Agent, Catalog, Embedder, Quoter, Store
from ..rerankers.reranker import Reranker
from ..retrieval.collections import KnowledgeCollection
from ..retrieval.compression import Compressor
from ..retrieval.pipeline import Retriever
from ..text import Analyzer

OnEmpty = Literal["abstain", "relax", "general"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """``language_model``: whether ``chat_models`` are one; without it agents plan by rule and quote."""

    retriever: Retriever
    compressor: Compressor
    store: Store
    catalog: Catalog
    chat_models: ChatModels
    uncached_reranker: Callable[[], Reranker | None]
    """For a question that wants a new answer; None: the retriever's own remembers nothing."""
    language_model: bool
    quoter: Quoter
    embedder: Embedder
    analyzer: Analyzer
    collections: tuple[KnowledgeCollection, ...]
    agent: Callable[[str], Agent]
    """Another agent, by its name."""
    context_tokens: int
    deep_context_tokens: int
    context_margin: int
    answer_tokens: int
    relevance_floor: float
    on_empty: OnEmpty
    deep_rounds: int
    chain_rounds: int
    search_threads: int
    search_seconds: float
