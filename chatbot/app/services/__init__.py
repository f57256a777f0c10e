"""The composition root: `build` makes every object from the settings, in order; closing
the `Services` closes them in reverse order.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from ...answering.conversation import ChatService
from ...answering.flow import check_stages
from ...config.settings import Settings
from ...database.core import Database
from ...database.reader import EVERYTHING, Reader, Readers
from ...domain.scope import Scope
from ...extras import Extra, answer, enabled, load, with_extras
from ...language.analysis import analyzer
from ...models.embed import EMBEDDERS
from ...models.rerank import RERANKERS
from ...search import RETRIEVAL_METHODS
from ...search.ranking import fusion_named
from ...stores import STORES
from .attachments import AttachmentReader
from .chat import build_chat
from .chat_models import ChatModels
from .ingesting import Ingesting
from .modes import Modes
from .once import Once
from .people import People
from .retention import Retention
from .runtime import Runtime, Runtimes
from .searching import Searches, SearchServices
from .storage import Storage, open_storage


def build(settings: Settings, *, database: Database | None = None) -> "Services":
    """Return everything that one process needs, to be used as a context manager.

    What costs a network call, a package, a model file or processes is built when it is
    first used (`Once`). ``database`` stands in for the one that the settings name; it
    is closed with the rest. Raises SettingsError, UnknownNameError: a setting is wrong;
    DatabaseError: the data folder cannot be made.
    """
    extras = enabled(settings)
    # Each part adds what it opens to ``closing``, which closes it in reverse order: the
    # database is first here and last there.
    closing = ExitStack()
    with ExitStack() as failing:
        failing.callback(closing.close)  # if a later part cannot be built
        foreign_rows = answer(extras, "rows", settings)
        storage = open_storage(settings, closing, database, foreign_rows)
        models = ChatModels(settings, storage, closing)
        runtimes = Runtimes(storage, closing)
        readers = Readers(
            storage.documents,
            storage.figures,
            storage.glossary.entries,
            lambda: runtimes.current().store,
        )
        searches = Searches(runtimes, models, readers)
        chat = Once(
            lambda: build_chat(
                storage, models, searches.flow, lambda: runtimes.current().embedder
            )
        )
        services = Services(
            settings=settings,
            extras=extras,
            storage=storage,
            people=answer(extras, "people", storage),
            retention=Retention(storage),
            models=models,
            runtimes=runtimes,
            readers=readers,
            searches=searches,
            modes=Modes(settings, models),
            attachments=AttachmentReader(settings, closing),
            ingesting=Ingesting(settings, storage, models, runtimes.current, closing),
            late_chat=chat,
            closing=closing,
        )
        failing.pop_all()
        return services


@dataclass(kw_only=True)
class Services:
    """Everything one process needs."""

    settings: Settings
    extras: tuple[Extra, ...]
    storage: Storage
    retention: Retention
    models: ChatModels
    runtimes: Runtimes
    readers: Readers
    searches: Searches
    modes: Modes
    attachments: AttachmentReader
    ingesting: Ingesting
    people: People | None
    """Who signs in by other means than a key; None = nobody."""
    late_chat: Once[ChatService]
    closing: ExitStack

    @property
    def chat(self) -> ChatService:
        """Answers questions and remembers them. Raises SettingsError, UnknownNameError,
        MissingPackageError.
        """
        return self.late_chat.get()

    @property
    def runtime(self) -> Runtime:
        """The embedder and the store of now: see `Runtimes.current`."""
        return self.runtimes.current()

    @property
    def everything(self) -> SearchServices:
        """Searches and answers for callers without a limit, for the command line and
        for work in the background.
        """
        return self.searches.within(EVERYTHING)

    def reader(self, limit: Scope) -> Reader:
        """Return what callers with this limit may see; an empty one = everything."""
        return self.readers.within(limit)

    def check(self) -> None:
        """Build what a question needs, so that a wrong setting stops the start. Raises
        SettingsError, UnknownNameError, EmbedderMismatchError: a setting is wrong;
        DatabaseError: the database does not answer.
        """
        check_names(self.settings)
        self.modes.check(None)
        everything = self.everything
        everything.reranker(self.settings.reranker)
        _ = everything.flow
        self.ingesting.check()
        for extra in self.extras:
            for reference in extra.verify:
                load(reference)(self)
        verify = getattr(self.runtime.embedder.uncached, "verify", None)
        if verify is not None:
            verify()

    def prepare(self) -> None:
        """Make the database ready to be written and searched. Raises DatabaseError,
        SettingsError.
        """
        _ = self.runtime.writable_store

    def close(self) -> None:
        """Close what was opened, in reverse order. Closing twice does no harm."""
        self.closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def check_names(settings: Settings) -> None:
    """Raises SettingsError, UnknownNameError: a setting names what there is not."""
    analyzer(settings.language)
    RETRIEVAL_METHODS.check(settings.retrieval_method, field="RETRIEVAL_METHOD")
    fusion_named(settings.fusion)
    check_stages(settings.stages)
    rerankers = with_extras(RERANKERS, settings)
    rerankers.check(settings.reranker, field="RERANKER")
    stores = with_extras(STORES, settings)
    stores.check(settings.vector_search, field="VECTOR_SEARCH", also=("auto",))
    if settings.embedding_provider is not None:
        embedders = with_extras(EMBEDDERS, settings)
        embedders.check(settings.embedding_provider, field="EMBEDDING_PROVIDER")
