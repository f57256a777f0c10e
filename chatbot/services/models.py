"""The chat model and what of retrieval hangs on no embedding model."""

from __future__ import annotations

from ..caches.responses import CachedChatModel, ChatModels
from ..chat_models import CHAT_MODELS, FREE
from ..chat_models.extractive import ExtractiveChatModel
from ..chat_models.metered import MeteredChatModel
from ..errors import UnknownNameError
from ..presets import PRESETS, query_time
from ..protocols import ChatModel, Quoter
from ..repositories.usage import seconds_to_reset
from ..rerankers import ASK_THE_MODEL, RERANKERS
from ..rerankers.reranker import Reranker
from ..retrieval import RETRIEVAL_METHODS
from ..retrieval.method import RetrievalMethod
from ..settings import Settings
from .storage import Storage


class Models(Storage):
    """What is asked and how it is searched for, as the settings or a preset name it."""

    @property
    def chat_model(self) -> ChatModel:
        """The one that remembers what it said."""
        return self._once("chat_model", self._build_chat_model)

    def _build_chat_model(self) -> ChatModel:
        settings, model = self.settings, self.uncached_model
        if model.model_id in FREE:
            return model
        parameters = (settings.temperature, float(settings.max_answer_tokens))
        return CachedChatModel(model, self.cache, parameters=parameters)

    @property
    def uncached_model(self) -> ChatModel:
        """The same, for who wants a new answer."""
        return self._once("uncached_model", self._build_uncached_model)

    def _build_uncached_model(self) -> ChatModel:
        settings = self.settings
        default = "openai" if settings.openai_api_key else "extractive"
        provider, _, model = (settings.chat_model or default).partition(":")
        built = CHAT_MODELS.builder(CHAT_MODELS.check(provider, field="CHAT_MODEL"))(settings, model=model)
        if provider in FREE:
            return built
        return MeteredChatModel(built, self.usage, limit=settings.daily_token_limit, reset=seconds_to_reset)

    @property
    def chat_models(self) -> ChatModels:
        return ChatModels(self.chat_model, self.uncached_model)

    @property
    def has_language_model(self) -> bool:
        """False where answers are quotations, or those of a test double: nothing can be planned or written then."""
        return self.chat_model.model_id not in FREE

    @property
    def quoter(self) -> Quoter:
        return self._once("quoter", lambda: ExtractiveChatModel(self.settings.language))

    def query_settings(self, preset: str) -> Settings:
        """The settings of one question: with the query-time figures of a preset, "" = as they are.

        Raises:
            UnknownNameError: no such preset.
        """
        if not preset:
            return self.settings
        if preset not in PRESETS:
            raise UnknownNameError.among("preset", "preset", preset, PRESETS)
        return self._once(f"settings:{preset}", lambda: self.settings.override(**query_time(preset)))

    def retrieval_method(self, name: str, preset: str = "") -> RetrievalMethod:
        """Raises UnknownNameError."""
        RETRIEVAL_METHODS.check(name, field="retrieval_method")
        settings = self.query_settings(preset)
        return self._once(f"method:{name}:{preset}", lambda: RETRIEVAL_METHODS.builder(name)(settings))

    def reranker(self, preset: str = "", *, cached: bool = True) -> Reranker | None:
        """The one that the settings name, None for none. ``cached``: its model may repeat what it said before.

        Raises:
            UnknownNameError, MissingPackageError
        """
        name = RERANKERS.check(self.query_settings(preset).reranker, field="RERANKER")
        if name == "none":
            return None
        cached = cached or name not in ASK_THE_MODEL  # one of each: a cross-encoder is large
        return self._once(
            f"reranker:{name}:{cached}",
            lambda: RERANKERS.builder(name)(
                chat_model=lambda: self.chat_model if cached else self.uncached_model, language=self.settings.language
            ),
        )
