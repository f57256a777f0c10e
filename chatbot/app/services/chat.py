"""The chat: it answers questions and remembers them."""

from collections.abc import Callable

from ...answering.conversation import ChatService, Condenser, UsageAccounting
from ...domain.protocols import Embedder
from ...domain.scope import Scope
from ...language.analysis import analyzer
from .chat_models import ChatModels
from .searching import SearchServices
from .storage import Storage


def build_chat(
    storage: Storage,
    models: ChatModels,
    within: Callable[[Scope], SearchServices],
    embedder: Callable[[], Embedder],
) -> ChatService:
    """Return what answers questions and remembers them. ``within`` and ``embedder`` are
    asked at each question: the embedding model may change while this process serves.
    Raises SettingsError, UnknownNameError, MissingPackageError: the chat model cannot
    be built.
    """
    settings = storage.settings
    words = analyzer(settings.language)
    accounting = UsageAccounting(
        prices=settings.model_prices,
        chat_model=models.chat,
        small_chat_model=models.small,
        embedder=embedder,
        days=storage.usage,
        conversations=storage.conversations,
    )

    def condenser(limit: Scope) -> Condenser:
        return Condenser(
            follow_ups=within(limit).follow_ups(),
            chat_model=models.small,
            analyzer=words,
        )

    return ChatService(
        conversations=storage.conversations,
        agent=lambda limit: within(limit).understanding,
        condenser=condenser,
        accounting=accounting,
    )
