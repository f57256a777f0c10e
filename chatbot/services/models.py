"""The chat model, the rerankers and the retrieval methods, by settings or preset."""

from __future__ import annotations

from functools import partial

from ..caches.answers import CachedChatModel, ChatModels
from ..chat_models import CHAT_MODELS
from ..chat_models.extractive import ExtractiveChatModel
from ..chat_models.metered import MeteredChatModel
from ..errors import UnknownNameError
from ..presets import PRESETS, query_time
from ..protocols import ChatModel, Embedder, Quoter, Reranker
from ..repositories.usage import seconds_to_reset
from ..rerankers import RERANKERS
from ..retrieval import RETRIEVAL_METHODS, RetrievalMethod
from ..settings import Settings
from .lifetime import LruCache, close_lazy, lazy
from .storage import Storage
from .vectors import CurrentVectors

FOR_PRESETS = 64
"""Objects of a kind that are kept for presets, methods and modes: more than there can be of them together."""


class Models:
    """The chat model, reranker and retrieval methods, as the settings or a preset name them."""

    def __init__(self, storage: Storage, vectors: CurrentVectors) -> None:
        self.settings = storage.settings
        self._storage = storage
        self._vectors = vectors
        self._methods: LruCache[tuple[str, str], RetrievalMethod] = LruCache(FOR_PRESETS)
        self._rerankers: LruCache[tuple[str, bool], Reranker] = LruCache(FOR_PRESETS)
        self._query_settings: LruCache[str, Settings] = LruCache(FOR_PRESETS)

    @lazy
    def chat_model(self) -> ChatModel:
        """The one that remembers what it said. Raises SettingsError, UnknownNameError, MissingPackageError."""
        model = self.uncached_model
        if not model.is_language_model:
            return model
        parameters = (self.settings.temperature, float(self.settings.max_answer_tokens))
        return CachedChatModel(model, self._storage.cache, parameters=parameters)

    @lazy
    def uncached_model(self) -> ChatModel:
        """The chat model without its cache, for those who want a new answer."""
        settings = self.settings
        default = "openai" if settings.openai_api_key else "extractive"
        provider, _, model = (settings.chat_model or default).partition(":")
        built = CHAT_MODELS.builder(CHAT_MODELS.check(provider, field="CHAT_MODEL"))(
            settings, model=model, embedder=self._embedder
        )
        if not built.is_language_model:
            return built
        return MeteredChatModel(
            built,
            self._storage.usage,
            self._storage.counters,
            limit=settings.daily_token_limit,
            reset=seconds_to_reset,
        )

    @property
    def chat_models(self) -> ChatModels:
        """The chat model with and without its cache, for a question to choose from."""
        return ChatModels(self.chat_model, self.uncached_model)

    @property
    def has_language_model(self) -> bool:
        """False where answers are quotations, or those of a test double: nothing can be planned or written then."""
        return self.chat_model.is_language_model

    @lazy
    def quoter(self) -> Quoter:
        """What chooses the sentences to quote where no model writes."""
        return ExtractiveChatModel(self.settings.language, self._embedder)

    def _embedder(self) -> Embedder:
        return self._vectors.embedder

    def query_settings(self, preset: str) -> Settings:
        """The settings of one question: with the query-time figures of a preset, "" = as they are.

        Raises:
            UnknownNameError: no such preset.
        """
        if not preset:
            return self.settings
        if preset not in PRESETS:
            raise UnknownNameError.among("preset", "preset", preset, PRESETS)
        return self._query_settings.get(preset, lambda: self.settings.override(**query_time(preset)))

    def retrieval_method(self, name: str, preset: str = "") -> RetrievalMethod:
        """The retrieval method of that name, with the settings of a preset. Raises UnknownNameError."""
        RETRIEVAL_METHODS.check(name, field="retrieval_method")
        settings = self.query_settings(preset)
        return self._methods.get((name, preset), lambda: RETRIEVAL_METHODS.builder(name)(settings))

    def reranker(self, preset: str = "", *, cached: bool = True) -> Reranker | None:
        """The one that the settings name, None for none. ``cached``: its model may repeat what it said before.

        Raises:
            UnknownNameError, MissingPackageError
        """
        name = RERANKERS.check(self.query_settings(preset).reranker, field="RERANKER")
        if name == "none":
            return None
        build = partial(RERANKERS.builder(name), language=self.settings.language, store=lambda: self._vectors.store)
        own = self._rerankers.get((name, True), lambda: build(chat_model=lambda: self.chat_model))
        if cached or not own.asks_model:
            return own  # one of each: a cross-encoder is large
        return self._rerankers.get((name, False), lambda: build(chat_model=lambda: self.uncached_model))

    def close(self) -> None:
        """Close the chat model's connections."""
        close_lazy(self, "chat_model")
