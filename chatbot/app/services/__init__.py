"""The composition root: `build` makes every object from the settings, in order; closing
the `Services` closes them in reverse order.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Self

from ...answering.conversation import ChatService
from ...answering.flow import check_stages
from ...config.settings import Settings
from ...database.core import Database
from ...database.reader import EVERYTHING, Reader, Readers
from ...domain.errors import ChatbotError, DatabaseError
from ...domain.protocols import model_in_store
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

NEW_OBJECTS = 20_000
"""Objects between two looks for cycles. A question makes some ten thousand that go by
themselves, a wide table hundreds of thousands: with Python's 700 the looks took a sixth
of the time of a question.
"""


def build(settings: Settings, *, database: Database | None = None) -> "Services":
    """Return everything that one process needs, to be used as a context manager.

    What costs a network call, a package, a model file or processes is built when it is
    first used (`Once`). ``database`` stands in for the one that the settings name; it
    is closed with the rest. Raises SettingsError, UnknownNameError: a setting is wrong;
    DatabaseError: the data folder cannot be made.
    """
    gc.set_threshold(NEW_OBJECTS)
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
        for error in self.problems():
            raise error

    def problems(self) -> Iterator[ChatbotError]:
        """Build what a question needs, and yield each error that `check` would raise,
        once. A database that does not answer is the last of them.
        """
        settings = self.settings
        checks: list[Callable[[], object]] = [
            *checks_of_names(settings),
            lambda: self.modes.check(None),
            lambda: self.everything.reranker(settings.reranker),
            lambda: self.everything.flow,
            self.ingesting.check,
        ]
        for extra in self.extras:
            for reference in extra.verify:
                checks.append(partial(load(reference), self))
        checks.append(self._verify_embedder)
        messages = set[str]()
        for check in checks:
            try:
                check()
            except ChatbotError as error:
                if error.message not in messages:
                    yield error
                messages.add(error.message)
                if isinstance(error, DatabaseError):
                    return

    def _verify_embedder(self) -> None:
        runtime = self.runtime
        embeds: object = runtime.embedder.uncached
        if model_in_store(runtime.embedder):
            embeds = runtime.store
        verify = getattr(embeds, "verify", None)
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


def checks_of_names(settings: Settings) -> list[Callable[[], object]]:
    """Return checks that each raise SettingsError or UnknownNameError if a setting
    names what there is not.
    """
    method = settings.retrieval_method
    rerankers = with_extras(RERANKERS, settings)
    stores = with_extras(STORES, settings)
    search = settings.vector_search
    checks: list[Callable[[], object]] = [
        lambda: analyzer(settings.language),
        lambda: RETRIEVAL_METHODS.check(method, field="RETRIEVAL_METHOD"),
        lambda: fusion_named(settings.fusion),
        lambda: check_stages(settings.stages),
        lambda: rerankers.check(settings.reranker, field="RERANKER"),
        lambda: stores.check(search, field="VECTOR_SEARCH", also=("auto",)),
    ]
    provider = settings.embedding_provider
    if provider is not None:
        embedders = with_extras(EMBEDDERS, settings)
        checks.append(lambda: embedders.check(provider, field="EMBEDDING_PROVIDER"))
    return checks
