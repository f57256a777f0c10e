"""Everything that hangs on the embedding model: embedder, store, retriever, agents, ingestor.

`reembed` may change the model while other processes serve. A `ModelBound` never changes with it: the services make
a new one, and a request that is under way finishes with the one it began with.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .agents import AGENTS
from .agents.cached import CachedAgent
from .agents.parts import Parts
from .caches.embeddings import StoredVectors
from .caches.warm import WarmCache
from .chunkers import CHUNKERS
from .embedders import DEFAULT_MODELS, EMBEDDERS, LOCAL
from .embedders.cached import CachedEmbedder
from .errors import EmbedderMismatchError
from .ingestion.pipeline import Ingestor
from .ingestion.watch import Patience
from .lazy import Lazy
from .protocols import Agent, Chunker, Embedder, Store
from .repositories.calibrations import CalibrationRepository
from .repositories.changes import StoredEmbedder
from .retrieval.calibration import relevance_floor
from .retrieval.compression import Compressor
from .retrieval.pipeline import Retriever, ThresholdSettings
from .schema import Chunking
from .stores import STORES
from .stores.chunks import embedding_field
from .text import analyzer

if TYPE_CHECKING:
    from .services import Services

SAMPLE_DATA = Path(__file__).parent.parent / "sample_data"
WARM_CACHE = SAMPLE_DATA / "embeddings.npz"
log = logging.getLogger(__name__)


class ModelBound(Lazy):
    """Built part by part on first use. ``stored`` is what the database says of its embedder.

    ``adopt``: the stored model wins over EMBEDDING_PROVIDER and EMBEDDING_MODEL, because it was changed while this
    process served. At a start a contradiction is an error instead.
    """

    def __init__(self, services: Services, stored: StoredEmbedder | None, *, adopt: bool = False) -> None:
        super().__init__()
        self._services = services
        self._stored = stored
        self._adopt = adopt

    @property
    def knows_its_model(self) -> bool:
        """False while the database is new and has no model yet."""
        return self._stored is not None

    def serves(self, stored: StoredEmbedder | None) -> bool:
        """Whether this is still the way to search a database whose embedder is ``stored``."""
        if stored is None or stored == self._stored:
            return True
        embedder: Embedder | None = self._built.get("embedder") if self._stored is None else None
        return embedder is not None and stored.same_vectors(embedder.model_id, embedder.dimensions, slot="")

    def require_current(self) -> None:
        """Call it before writing passages: the first ones decide which model this database is written with.

        Raises:
            EmbedderMismatchError: the database has another embedder by now; do not write with this one.
        """
        stored = self._services.facts.embedder()
        if stored is None:
            self.remember_embedder()
            stored = self._services.facts.embedder()
        if not self.serves(stored):
            assert stored is not None
            raise EmbedderMismatchError(
                f"The database's embedding model is {stored.model_id} now; this was embedded with "
                f"{self.embedder.model_id} and cannot be added. Ingest it again, with the new model."
            )

    @property
    def embedder(self) -> CachedEmbedder:
        """The database's embedder, else the configured one.

        Raises:
            EmbedderMismatchError: EMBEDDING_PROVIDER or EMBEDDING_MODEL names another one than the database has.
        """
        return self._once("embedder", self._build_embedder)

    def _build_embedder(self) -> CachedEmbedder:
        provider, model = self._embedder_name()
        embedder = EMBEDDERS.builder(provider)(self._services.settings, model=model)
        stored = self._stored
        if stored is not None and not stored.same_vectors(embedder.model_id, embedder.dimensions, slot=stored.slot):
            raise EmbedderMismatchError(
                f"The database was written with {stored.model_id} ({stored.dimensions} dimensions), but "
                f"{embedder.model_id} ({embedder.dimensions}) is configured. Unset EMBEDDING_PROVIDER and "
                "EMBEDDING_MODEL to keep the database's model; to change it, run: python -m chatbot reembed."
            )
        kept = StoredVectors(self._services.cache)
        return CachedEmbedder(embedder, self.warm_cache, kept=kept, keep_documents=provider not in LOCAL)

    @property
    def warm_cache(self) -> WarmCache:
        return self._once("warm_cache", lambda: WarmCache(WARM_CACHE))

    def _embedder_name(self) -> tuple[str, str]:
        """Provider and model: as set, else as stored (a key set later changes only the chat model), else by key."""
        settings, stored = self._services.settings, self._stored
        if stored is not None and self._adopt:
            if settings.embedding_provider or settings.embedding_model:
                log.warning("Searching with %s now. Unset EMBEDDING_PROVIDER and _MODEL.", stored.model_id)
            return stored.provider, stored.model
        if settings.embedding_provider is None and stored is not None:
            return stored.provider, settings.embedding_model or stored.model
        provider = settings.embedding_provider or ("openai" if settings.openai_api_key else "minilm")
        EMBEDDERS.check(provider, field="EMBEDDING_PROVIDER")
        return provider, settings.embedding_model or DEFAULT_MODELS[provider]

    def remember_embedder(self) -> None:
        """Store which model this database is written with; called before the first passage is."""
        provider, model = self._embedder_name()
        embedder = self.embedder
        self._services.facts.remember_embedder(StoredEmbedder(provider, model, embedder.model_id, embedder.dimensions))

    @property
    def store(self) -> Store:
        return self._once("store", self._build_store)

    def _build_store(self) -> Store:
        services = self._services
        return STORES.builder(services.engine.store)(
            settings=services.settings,
            database=services.database,
            changes=services.changes,
            dimensions=self.embedder.dimensions,
            embedding_field=embedding_field(self._stored.slot if self._stored else ""),
        )

    def retriever_for(self, preset: str) -> Retriever:
        """With the query-time figures of a preset; "" = as the settings are. Raises UnknownNameError."""
        return self._once(f"retriever:{preset}", lambda: self._build_retriever(preset))

    def _build_retriever(self, preset: str) -> Retriever:
        services, settings = self._services, self._services.query_settings(preset)
        return Retriever(
            store=self.store,
            embedder=self.embedder,
            methods=lambda name: services.retrieval_method(name, preset),
            threshold=ThresholdSettings(settings.threshold_start, settings.threshold_step, settings.threshold_floor),
            unsettled=services.documents.unsettled,
            reranker=lambda: services.reranker(preset),
        )

    def agent(self, mode: str, preset: str = "") -> Agent:
        floor = self._relevance_floor(preset)  # asked each time: `calibrate` may have run in another process
        return self._once(f"cached:{mode}:{preset}:{floor}", lambda: self._cached_agent(mode, preset, floor))

    def _cached_agent(self, mode: str, preset: str, floor: float) -> Agent:
        agent = self._agent(mode, preset, floor)
        return CachedAgent(agent, self._services.cache, lambda: f"{self._generation()}:{floor}")

    def _agent(self, mode: str, preset: str, floor: float) -> Agent:
        return self._once(f"agent:{mode}:{preset}:{floor}", lambda: self._build_agent(mode, preset, floor))

    def _relevance_floor(self, preset: str) -> float:
        setting, model_id = self._services.query_settings(preset).relevance_floor, self.embedder.model_id
        stored = CalibrationRepository(self._services.database).get(model_id) if setting == "auto" else None
        return relevance_floor(setting, model_id, stored)

    def _build_agent(self, mode: str, preset: str, floor: float) -> Agent:
        services, settings = self._services, self._services.query_settings(preset)
        parts = Parts(
            retriever=self.retriever_for(preset),
            compressor=self.compressor,
            store=self.store,
            catalog=services.documents,
            chat_model=services.chat_model,
            uncached_model=services.uncached_model,
            language_model=services.has_language_model,
            quoter=services.quoter,
            embedder=self.embedder,
            analyzer=analyzer(settings.language),
            collections=services.collections,
            agent=lambda name: self._agent(name, preset, floor),
            context_tokens=settings.context_tokens,
            deep_context_tokens=settings.deep_context_tokens,
            context_margin=settings.context_margin,
            answer_tokens=settings.max_answer_tokens,
            relevance_floor=floor,
            on_empty=settings.on_empty,
            deep_rounds=settings.deep_rounds,
            chain_rounds=settings.chain_rounds,
            search_threads=settings.search_threads,
            search_seconds=settings.search_seconds,
        )
        return AGENTS.builder(mode)(parts)

    def _generation(self) -> str:
        """Changes with the reports, the models and the settings."""
        services = self._services
        position = f"{services.changes.position()}:{services.documents.position()}"
        return f"{position}:{self.embedder.model_id}:{services.chat_model.model_id}:{services.settings.fingerprint}"

    @property
    def compressor(self) -> Compressor:
        """For what is attached to one question."""
        return self._once("compressor", self._build_compressor)

    def _build_compressor(self) -> Compressor:
        settings = self._services.settings
        size, overlap = settings.attachment_chunk_size, settings.attachment_chunk_overlap
        chunker = self._chunker(Chunking("recursive", size, overlap))
        return Compressor(embedder=self.embedder.uncached, chunker=chunker, least_cosine=settings.similarity_threshold)

    @property
    def chunker(self) -> Chunker:
        """The settings' own."""
        return self._chunker(self._chunking({}))

    def _chunking(self, overrides: Mapping[str, Any]) -> Chunking:
        """What a person asks for, else the settings say. Raises UnknownNameError."""
        settings = self._services.settings
        strategy = CHUNKERS.check(overrides.get("chunk_strategy") or settings.chunk_strategy, field="chunk_strategy")
        same = strategy == settings.chunk_strategy
        size = overrides.get("chunk_size", settings.chunk_size)
        overlap = overrides.get("chunk_overlap", settings.chunk_overlap if same else 0)
        return Chunking(strategy, size, overlap, settings.chunk_unit)

    def _chunker(self, chunking: Chunking) -> Chunker:
        known = self.warm_cache if self.warm_cache.model_id == self.embedder.model_id else ()
        build = CHUNKERS.builder(chunking.strategy)
        return build(
            self.embedder, chunk_size=chunking.size, chunk_overlap=chunking.overlap, unit=chunking.unit, known=known
        )

    @property
    def ingestor(self) -> Ingestor:
        """The one that cuts as the settings say."""
        return self.ingestor_for({})

    def ingestor_for(self, overrides: Mapping[str, Any]) -> Ingestor:
        """Raises UnknownNameError, InvalidRequestError: a chunking that cannot be."""
        chunking = self._chunking(overrides)
        return self._once(f"ingestor:{chunking}", lambda: self._build_ingestor(chunking))

    def _build_ingestor(self, chunking: Chunking) -> Ingestor:
        services, settings = self._services, self._services.settings
        services.prepare()
        chunker = self._chunker(chunking)
        # Without the model: `reembed` changes the vectors of all passages, which is no change of the reports.
        key = (chunking.strategy, chunking.size, chunking.overlap, chunking.unit)
        return Ingestor(
            store=self.store,
            embedder=self.embedder,
            chunker=chunker,
            chunking=replace(chunking, used=chunker.limits.used),
            documents=services.documents,
            collections=settings.chunk_collections,
            settings_key=":".join(map(str, key)),
            require_current=self.require_current,
            patience=Patience(),
        )

    def close(self) -> None:
        self._close_built("store", "embedder")
