"""Answering questions: builds retrievers, agents and the chat service, and keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import __version__
from ..agents import AGENTS, CHOOSES, DEFAULT
from ..agents.run import Resources
from ..agents.understanding import Understanding
from ..caches.answers import CachedAgent
from ..cancellation import Cancellation
from ..chunkers import CHUNKERS
from ..conversation.accounting import Books
from ..conversation.condensing import Condenser
from ..conversation.service import ChatService
from ..errors import InvalidRequestError, UnknownNameError
from ..ingestion.sources import document_id
from ..loaders.isolation import LoaderPool
from ..protocols import Agent, CandidateStore, Store
from ..questions.follow_ups import FollowUps
from ..repositories.corpus import CalibrationRepository
from ..retrieval.compression import Compressor
from ..retrieval.ordering import HeadingOrder, Refiner
from ..retrieval.pipeline import Retriever, ThresholdSettings
from ..retrieval.relevance import Bounds, Judge
from ..retrieval.threshold import relevance_bounds
from ..schema import Budget, Document
from ..settings import Settings
from ..text import analyzer
from .lifetime import LruCache, close_lazy, lazy
from .models import FOR_PRESETS, Models
from .storage import Storage
from .vectors import CurrentVectors, Vectors

HEADING_WEIGHT = 1.0
"""Weight of headings near the question beside the fused score."""
READERS = 2
"""Processes that read attachments."""
NO_MODEL = "needs a language model"
"""Why a way of answering is not there."""


class Answering:
    """What answers questions, for the web, MCP and the command line."""

    def __init__(self, storage: Storage, models: Models, vectors: CurrentVectors) -> None:
        self.settings = storage.settings
        self._storage = storage
        self._models = models
        self._vectors = vectors
        self._retrievers: LruCache[tuple[Vectors, str], Retriever] = LruCache(FOR_PRESETS)
        self._agents: LruCache[tuple[Vectors, str, str, Bounds], Agent] = LruCache(FOR_PRESETS)
        self._cached_agents: LruCache[tuple[Vectors, str, str, Bounds], Agent] = LruCache(FOR_PRESETS)
        vectors.when_closed(self._forget)

    def _forget(self, vectors: Vectors) -> None:
        self._retrievers.forget(lambda key: key[0] is vectors)
        for agents in (self._agents, self._cached_agents):
            agents.forget(lambda key: key[0] is vectors)

    def retriever(self, preset: str = "") -> Retriever:
        """The retriever with the query-time figures of a preset; "" = of the settings. Raises UnknownNameError."""
        return self._retriever(self._vectors.current(), preset)

    def _retriever(self, vectors: Vectors, preset: str) -> Retriever:
        return self._retrievers.get((vectors, preset), lambda: self._build_retriever(vectors, preset))

    def _build_retriever(self, vectors: Vectors, preset: str) -> Retriever:
        models, settings = self._models, self._models.query_settings(preset)
        return Retriever(
            store=self._store(vectors, settings),
            embedder=vectors.embedder,
            methods=lambda name: models.retrieval_method(name, preset),
            threshold=ThresholdSettings(
                settings.threshold_start,
                settings.threshold_step,
                settings.threshold_floor,
                None if settings.threshold_keep == "auto" else settings.threshold_keep,
            ),
            keyword_exempt=settings.keyword_exempt,
            rerank_candidates=settings.rerank_candidates,
            unsettled=self._storage.documents.unsettled,
            position=self._storage.documents.position,
            reranker=lambda: models.reranker(preset),
            refiner=self._refiner(vectors, settings) if settings.refine else None,
        )

    def _store(self, vectors: Vectors, settings: Settings) -> Store:
        """The store with the number of candidates that a preset sets."""
        store, count = vectors.store, settings.num_candidates
        if count == self.settings.num_candidates or not isinstance(store, CandidateStore):
            return store
        return store.with_candidates(None if count == "auto" else count)

    def _refiner(self, vectors: Vectors, settings: Settings) -> Refiner:
        return Refiner(
            self._storage.documents,
            HeadingOrder(vectors.embedder, HEADING_WEIGHT) if vectors.embedder.local else None,
            language=settings.language,
        )

    def agent(self, mode: str, preset: str = "") -> Agent:
        """The one of this mode, which repeats what it answered before. Raises UnknownNameError."""
        AGENTS.check(mode, field="mode")
        vectors = self._vectors.current()
        bounds = self._bounds(vectors, preset)  # asked each time: `calibrate` may have run elsewhere
        key = (vectors, mode, preset, bounds)

        return self._cached_agents.get(
            key,
            lambda: CachedAgent(self._agent(*key), self._storage.cache, lambda: self._generation(vectors, bounds)),
        )

    def _agent(self, vectors: Vectors, mode: str, preset: str, bounds: Bounds) -> Agent:
        key = (vectors, mode, preset, bounds)
        return self._agents.get(key, lambda: AGENTS.builder(mode)(self._parts(vectors, preset, bounds)))

    def _bounds(self, vectors: Vectors, preset: str) -> Bounds:
        setting, model_id = self._models.query_settings(preset).relevance_floor, vectors.embedder.model_id
        stored = CalibrationRepository(self._storage.database).get(model_id) if setting == "auto" else None
        return relevance_bounds(setting, model_id, stored)

    def _parts(self, vectors: Vectors, preset: str, bounds: Bounds) -> Resources:
        models, settings = self._models, self._models.query_settings(preset)
        return Resources(
            retriever=self._retriever(vectors, preset),
            compressor=self._compressor(vectors),
            store=vectors.store,
            catalog=self._storage.documents,
            chat_models=models.chat_models,
            uncached_reranker=lambda: models.reranker(preset, cached=False),
            quoter=models.quoter,
            embedder=vectors.embedder,
            analyzer=analyzer(settings.language),
            collections=self._storage.collections,
            agent=lambda name: self._agent(vectors, name, preset, bounds),
            judge=Judge(bounds, vectors.store, self._storage.documents, vectors.embedder, settings.language),
            settings=settings,
        )

    def _generation(self, vectors: Vectors, bounds: Bounds) -> str | None:
        """Changes with the program, reports, models and settings; None while a report is written or removed."""
        storage, chat_model = self._storage, self._models.chat_model
        position = f"{storage.changes.position()}:{storage.documents.position()}"
        if storage.documents.unsettled():
            return None
        models = f"{vectors.embedder.model_id}:{chat_model.model_id}"
        return f"{__version__}:{position}:{models}:{self.settings.fingerprint}:{bounds}"

    @property
    def compressor(self) -> Compressor:
        """What searches in attachments, which belong to one question (R-A1)."""
        return self._compressor(self._vectors.current())

    def _compressor(self, vectors: Vectors) -> Compressor:
        settings, embedder = self.settings, vectors.embedder
        chunker = CHUNKERS.builder("recursive")(
            embedder,
            chunk_size=settings.attachment_chunk_size,
            chunk_overlap=settings.attachment_chunk_overlap,
            known=(),
        )
        return Compressor(embedder=embedder.uncached, chunker=chunker, least_cosine=settings.similarity_threshold)

    def check_mode(self, mode: str | None, preset: str = "") -> str:
        """The mode of a question: as asked for, else as the preset or the settings say.

        Raises:
            UnknownNameError: no such mode, or no language model for it.
        """
        mode = AGENTS.check(mode or self.default_mode(preset), field=(field := "mode" if mode or preset else "MODE"))
        if mode not in (valid := self._usable_modes()):
            message = (
                f"{mode!r} needs a language model: set OPENAI_API_KEY, or CHAT_MODEL and OPENAI_BASE_URL. "
                f"Without one: {', '.join(valid)}."
            )
            raise UnknownNameError.for_field(field, message, valid)
        return mode

    def default_mode(self, preset: str = "") -> str:
        """The mode of a question that names none; without a setting, `auto` where choosing costs no call of a model."""
        return self._models.query_settings(preset).mode or (DEFAULT if self._models.has_language_model else CHOOSES)

    def modes(self) -> list[tuple[str, bool, str]]:
        """Each mode, whether it can be used here, and why not."""
        usable = self._usable_modes()
        return [(name, name in usable, "" if name in usable else NO_MODEL) for name in AGENTS.names()]

    def _usable_modes(self) -> list[str]:
        """All modes, but without a language model those whose work is writing."""
        able = self._models.has_language_model
        return [name for name in AGENTS.names() if able or not AGENTS.module(name).build.needs_language_model]

    def budget(self, asked: Mapping[str, Any]) -> Budget:
        """What one question may cost: as the settings allow, or less. Raises InvalidRequestError."""
        most = {name: getattr(self.settings, f"budget_{name}") for name in ("calls", "tokens", "seconds")}
        for name, value in asked.items():
            if not 1 <= value <= most[name]:
                raise InvalidRequestError.for_field(f"budget.{name}", f"must be from 1 to {most[name]:g}.")
        return Budget(**{**most, **asked})

    @lazy
    def _attachment_loader(self) -> LoaderPool:
        """Readers of its own: nobody who asks waits for a long ingestion, nor for one slow attachment."""
        return LoaderPool(READERS, time_limit=self.settings.model_timeout)

    def attached(self, path: Path, name: str, cancel: Cancellation) -> Document:
        """A file for one question; it is not stored. Raises LoadError, CancelledError."""
        loaded = self._attachment_loader.load(path, cancel=cancel)
        identity = f"attachment-{document_id(name)}"
        return Document(identity, name, loaded.title, name, {}, loaded.sections, pages=loaded.pages)

    @lazy
    def understanding(self) -> Understanding:
        """What finds out what a question is about: its countries, years and reports."""
        models, on_empty = self._models.chat_models, self.settings.on_empty
        return Understanding(catalog=self._storage.documents, chat_models=models, on_empty=on_empty)

    @lazy
    def chat(self) -> ChatService:
        """The whole chat flow, for every mode."""
        words, storage, models = analyzer(self.settings.language), self._storage, self._models
        return ChatService(
            conversations=storage.conversations,
            agents=self.agent,
            condenser=Condenser(
                follow_ups=FollowUps(words, storage.documents), chat_models=models.chat_models, analyzer=words
            ),
            understanding=self.understanding,
            books=Books(
                prices=self.settings.model_prices,
                chat_model=models.chat_model,
                embedder=lambda: self._vectors.embedder,
                days=storage.usage,
                conversations=storage.conversations,
            ),
        )

    def close(self) -> None:
        """End the process that reads attachments."""
        close_lazy(self, "_attachment_loader")
