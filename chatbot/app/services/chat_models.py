"""The models that write answers, as the settings name them."""

from contextlib import ExitStack

from ...config.settings import Settings
from ...domain.errors import SettingsError
from ...domain.protocols import ChatModel
from ...extras import with_extras
from ...models.chat import CHAT_MODELS, ManagedChatModel
from .once import Once
from .storage import Storage


class ChatModels:
    """The chat model and the small one. Each is built when it is first used: many
    commands need neither.
    """

    def __init__(
        self, settings: Settings, storage: Storage, closing: ExitStack
    ) -> None:
        self._settings = settings
        self._storage = storage
        self._chat = Once(self._build_chat, closing)
        self._small = Once(self._build_small, closing)

    @property
    def chat(self) -> ChatModel:
        """The model that writes answers. Raises SettingsError, UnknownNameError,
        MissingPackageError.
        """
        return self._chat.get()

    @property
    def small(self) -> ChatModel:
        """The model that plans, completes follow-ups, judges, summarises (seed 001's
        tiers). Raises as `chat`.
        """
        if self._settings.chat_model_small is None:
            return self.chat
        return self._small.get()

    def _build_chat(self) -> ChatModel:
        name = self._settings.chat_model
        if name is None:
            name = "openai" if self._settings.openai_api_key else "extractive"
        return self._build(name, "CHAT_MODEL")

    def _build_small(self) -> ChatModel:
        small = self._build(self._settings.chat_model_small or "", "CHAT_MODEL_SMALL")
        if not (small.is_language_model and self.chat.is_language_model):
            raise SettingsError(
                "CHAT_MODEL_SMALL and CHAT_MODEL must both be language models, or "
                "the first not set."
            )
        return small

    def _build(self, name: str, field: str) -> ChatModel:
        settings = self._settings
        storage = self._storage
        provider, _, model = name.partition(":")
        chat_models = with_extras(CHAT_MODELS, settings)
        build = chat_models.builder(chat_models.check(provider, field=field))
        chat_model = build(settings, model=model)
        if not chat_model.is_language_model:
            return chat_model
        return ManagedChatModel(
            chat_model,
            settings,
            cache=storage.cache,
            usage=storage.usage,
            counters=storage.counters,
        )
