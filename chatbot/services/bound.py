"""Everything that hangs on the embedding model: embedder, store, retriever, agents, ingestor.

`reembed` may change the model while other processes serve. A `ModelBound` never changes with it: the services make
a new one, and a request that is under way finishes with the one it began with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..agents import AGENTS
from ..agents.cached import CachedAgent
from ..agents.parts import Parts
from ..chunkers import CHUNKERS
from ..ingestion.pipeline import Ingestor
from ..ingestion.watch import Patience
from ..protocols import Agent, Chunker, Store
from ..repositories.calibrations import CalibrationRepository
from ..retrieval.calibration import relevance_floor
from ..retrieval.compression import Compressor
from ..retrieval.pipeline import Retriever, ThresholdSettings
from ..schema import Chunking
from ..stores import STORES
from ..stores.chunks import embedding_field
from ..text import analyzer
from .embedding import Embedding


class ModelBound(Embedding):
    """Built part by part on first use."""

    @property
    def store(self) -> Store:
        return self._once("store", self._build_store)

    def _build_store(self) -> Store:
        models = self._models
        return STORES.builder(models.engine.store)(
            settings=models.settings,
            database=models.database,
            changes=models.changes,
            dimensions=self.embedder.dimensions,
            embedding_field=embedding_field(self._stored.slot if self._stored else ""),
        )

    def retriever_for(self, preset: str) -> Retriever:
        """With the query-time figures of a preset; "" = as the settings are. Raises UnknownNameError."""
        return self._once(f"retriever:{preset}", lambda: self._build_retriever(preset))

    def _build_retriever(self, preset: str) -> Retriever:
        models, settings = self._models, self._models.query_settings(preset)
        return Retriever(
            store=self.store,
            embedder=self.embedder,
            methods=lambda name: models.retrieval_method(name, preset),
            threshold=ThresholdSettings(settings.threshold_start, settings.threshold_step, settings.threshold_floor),
            unsettled=models.documents.unsettled,
            reranker=lambda: models.reranker(preset),
        )

    def agent(self, mode: str, preset: str = "") -> Agent:
        floor = self._relevance_floor(preset)  # asked each time: `calibrate` may have run in another process
        return self._once(f"cached:{mode}:{preset}:{floor}", lambda: self._cached_agent(mode, preset, floor))

    def _cached_agent(self, mode: str, preset: str, floor: float) -> Agent:
        agent = self._agent(mode, preset, floor)
        return CachedAgent(agent, self._models.cache, lambda: f"{self._generation()}:{floor}")

    def _agent(self, mode: str, preset: str, floor: float) -> Agent:
        return self._once(f"agent:{mode}:{preset}:{floor}", lambda: self._build_agent(mode, preset, floor))

    def _relevance_floor(self, preset: str) -> float:
        setting, model_id = self._models.query_settings(preset).relevance_floor, self.embedder.model_id
        stored = CalibrationRepository(self._models.database).get(model_id) if setting == "auto" else None
        return relevance_floor(setting, model_id, stored)

    def _build_agent(self, mode: str, preset: str, floor: float) -> Agent:
        models, settings = self._models, self._models.query_settings(preset)
        parts = Parts(
            retriever=self.retriever_for(preset),
            compressor=self.compressor,
            store=self.store,
            catalog=models.documents,
            chat_models=models.chat_models,
            uncached_reranker=lambda: models.reranker(preset, cached=False),
            language_model=models.has_language_model,
            quoter=models.quoter,
            embedder=self.embedder,
            analyzer=analyzer(settings.language),
            collections=models.collections,
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
        models = self._models
        position = f"{models.changes.position()}:{models.documents.position()}"
        return f"{position}:{self.embedder.model_id}:{models.chat_model.model_id}:{models.settings.fingerprint}"

    @property
    def compressor(self) -> Compressor:
        """For what is attached to one question."""
        return self._once("compressor", self._build_compressor)

    def _build_compressor(self) -> Compressor:
        settings = self._models.settings
        size, overlap = settings.attachment_chunk_size, settings.attachment_chunk_overlap
        chunker = self._chunker(Chunking("recursive", size, overlap))
        return Compressor(embedder=self.embedder.uncached, chunker=chunker, least_cosine=settings.similarity_threshold)

    @property
    def chunker(self) -> Chunker:
        """The settings' own."""
        return self._chunker(self._chunking({}))

    def _chunking(self, overrides: Mapping[str, Any]) -> Chunking:
        """What a person asks for, else the settings say. Raises UnknownNameError."""
        settings = self._models.settings
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
        models, settings = self._models, self._models.settings
        models.prepare_database()
        self.store.prepare()
        chunker = self._chunker(chunking)
        # Without the model: `reembed` changes the vectors of all passages, which is no change of the reports.
        key = (chunking.strategy, chunking.size, chunking.overlap, chunking.unit)
        return Ingestor(
            store=self.store,
            embedder=self.embedder,
            chunker=chunker,
            chunking=replace(chunking, used=chunker.limits.used),
            documents=models.documents,
            collections=settings.chunk_collections,
            settings_key=":".join(map(str, key)),
            require_current=self.require_current,
            patience=Patience(),
        )

    def close(self) -> None:
        self._close_built("store", "embedder")
