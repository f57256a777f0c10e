"""The chat: it answers questions and remembers them."""

from collections.abc import Callable

from ...answering.accounting import UsageAccounting
from ...answering.conversation import ChatService
from ...answering.flow import Flow
from ...domain.protocols import Embedder
from ...domain.scope import Scope
from .chat_models import ChatModels
from .storage import Storage


def build_chat(
    storage: Storage,
    models: ChatModels,
    flow: Callable[[Scope], Flow],
    embedder: Callable[[], Embedder],
) -> ChatService:
    """Return what answers questions and remembers them. ``flow`` and ``embedder`` are
    asked at each question: the embedding model may change while this process serves.
    Raises SettingsError, UnknownNameError, MissingPackageError: the chat model cannot
    be built.
    """
    settings = storage.settings
    accounting = UsageAccounting(
        prices=settings.model_prices,
        chat_model=models.chat,
        small_chat_model=models.small,
        embedder=embedder,
        days=storage.usage,
        conversations=storage.conversations,
    )
    return ChatService(
        conversations=storage.conversations,
        flow=flow,
        accounting=accounting,
        at_once=storage.database.at_once,
    )
