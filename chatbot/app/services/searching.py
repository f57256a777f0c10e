"""What searches and answers within each limit, over the runtime that the database has
now.
"""

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from ... import __version__
from ...answering.figure_tables import FigureTables
from ...answering.flow import Flow
from ...answering.key_figures import is_whole_label
from ...database.reader import EVERYTHING, UNKNOWN, Reader, Readers
from ...domain import QuerySettings, Question
from ...domain.errors import EmbeddingError
from ...domain.protocols import Passages, Reranker
from ...domain.scope import Scope
from ...extras import with_extras
from ...language.analysis import analyzer
from ...library.chunkers import CHUNKERS
from ...models.caches import AnswerCache
from ...models.chat.extractive import ExtractiveChatModel
from ...models.rerank import RERANKERS
from ...questions.follow_ups import FollowUps
from ...search.compression import Compressor
from ...search.indicators import Glossary, IndicatorIndex
from ...search.ordering import Refiner
from ...search.pipeline import Retriever
from .chat_models import ChatModels
from .flow import build_flow
from .once import Once
from .runtime import Runtime, Runtimes


class SearchServices:
    """Searching and answering for the callers of one reader over one runtime. What
    needs a model is built when it is first used.
    """

    def __init__(
        self,
        reader: Reader,
        runtime: Runtime,
        models: ChatModels,
        reranker: Callable[[str], Reranker | None],
    ) -> None:
        self.reader = reader
        self.glossary = Glossary(
            reader.glossary, reader.documents, lambda: self.passages
        )
        self.reranker = reranker
        self._runtime = runtime
        self._models = models
        self._storage = runtime.storage
        self._settings = runtime.storage.settings
        self._analyzer = analyzer(self._settings.language)
        self._indicators = Once(self._build_indicators)
        self._retriever = Once(self._build_retriever)
        self._tables = Once(self._build_tables)
        self._flow = Once(self._build_flow)

    @property
    def passages(self) -> Passages:
        """The passages inside, as they are embedded in this runtime."""
        return self.reader.of_store(self._runtime.store)

    @property
    def indicators(self) -> IndicatorIndex:
        """Says which heading a question means."""
        return self._indicators.get()

    @property
    def retriever(self) -> Retriever:
        """Finds the passages of a question."""
        return self._retriever.get()

    @property
    def tables(self) -> FigureTables:
        """Compiles the figures inside."""
        return self._tables.get()

    @property
    def flow(self) -> Flow:
        """Answers questions."""
        return self._flow.get()

    def follow_ups(self) -> FollowUps:
        """Return what completes questions by the conversation before them."""
        return FollowUps(
            self._analyzer,
            self.reader.documents,
            self._names_a_thing,
            self._has_figure,
        )

    def generation(self, question: Question) -> str | None:
        """Return what changes with everything an answer is made of: the program, what
        the reader gives, models and settings; None while the library is being changed.
        """
        library = self.reader.key() if self.reader.limit else UNKNOWN
        if library == UNKNOWN:
            library = self._library_key()
        if library is None:
            return None
        settings = self._settings
        runtime = self._runtime
        models = f"{runtime.embedder.model_id}:{self._models.chat.model_id}"
        bounds = runtime.bounds(question.settings or QuerySettings.of(settings))
        return f"{__version__}:{library}:{models}:{settings.fingerprint}:{bounds}"

    def _library_key(self) -> str | None:
        """Return a key that changes with the library; None while it is being
        changed.
        """
        storage = self._storage
        position = storage.changes.key()
        if position is None:
            return None
        # Reports of other programs are looked at later than their rows are counted.
        return f"{position}:{storage.documents.older_key()}"

    def _names_a_thing(self, words: str, headings: Sequence[str]) -> bool:
        """Return whether words name a heading of the reports; False if the embedder
        fails, to carry the topic on.
        """
        indicators = self.reader.figures.indicators()
        beside = headings[0] if headings else ""
        try:
            return self.indicators.names_one(words, indicators, beside)
        except EmbeddingError:
            return False

    def _has_figure(self, headings: Sequence[str]) -> bool:
        """Return whether the first of these headings has a figure of its own, and none
        of its parts only: of capitals the reports have time zones.
        """
        labels = self.reader.figures.indicators().get(headings[0], {})
        return any(is_whole_label(label) for label in labels)

    def _build_indicators(self) -> IndicatorIndex:
        embedder = self._runtime.heading_embedder
        return IndicatorIndex(embedder, self._analyzer, self.reader.glossary)

    def _build_retriever(self) -> Retriever:
        settings = self._settings
        embedder = self._runtime.embedder
        visible = self._storage.documents.visible
        refiner = Refiner(
            self.reader.documents,
            self.indicators if embedder.local else None,
            language=settings.language,
            collections=settings.chunk_collections,
        )
        return Retriever(
            store=self.passages,
            embedder=embedder,
            settings=QuerySettings.of(settings),
            visible=visible,
            known=partial(visible, again=False),
            reranker=self.reranker,
            refiner=refiner,
        )

    def _build_compressor(self) -> Compressor:
        """Return what searches the attachments of one question (R-A1)."""
        settings = self._settings
        embedder = self._runtime.text_embedder
        chunker = CHUNKERS.builder("recursive")(
            embedder,
            chunk_size=settings.attachment_chunk_size,
            chunk_overlap=settings.attachment_chunk_overlap,
            known=(),
        )
        return Compressor(
            embedder=embedder.uncached,
            chunker=chunker,
            analyzer=self._analyzer,
            least_cosine=settings.similarity_threshold,
        )

    def _build_tables(self) -> FigureTables:
        terms = self._analyzer.terms
        return FigureTables(self.reader.figures, self.indicators, terms)

    def _build_flow(self) -> Flow:
        settings = self._settings
        reader = self.reader
        runtime = self._runtime
        collections = [
            collection
            for collection in self._storage.collections
            if reader.limit.holds(collection.name)
        ]
        return build_flow(
            settings=settings,
            reader=reader,
            passages=self.passages,
            embedder=runtime.embedder,
            text_embedder=runtime.text_embedder,
            retriever=self.retriever,
            compressor=self._build_compressor(),
            tables=self.tables,
            glossary=self.glossary,
            follow_ups=self.follow_ups(),
            bounds=runtime.bounds,
            chat_model=self._models.chat,
            small_chat_model=self._models.small,
            quoter=ExtractiveChatModel(settings.language),
            collections=collections,
            # Answers are cached until what the reader gives has changed.
            cache=AnswerCache(self._storage.cache, self.generation),
        )


class Searches:
    """Gives what searches and answers within each limit."""

    def __init__(
        self, runtimes: Runtimes, models: ChatModels, readers: Readers
    ) -> None:
        self._runtimes = runtimes
        self._models = models
        self._readers = readers
        self._lock = threading.Lock()
        self._newest: tuple[Runtime, Callable[[Scope], SearchServices]] | None = None

    def within(self, limit: Scope) -> SearchServices:
        """Return what searches and answers for callers with this limit, an empty one =
        everything. Few limits exist: what is derived from the reports inside is kept
        for each.
        """
        runtime = self._runtimes.current()
        with self._lock:
            if self._newest is None or self._newest[0] is not runtime:
                self._newest = runtime, self._over(runtime)
            _, kept = self._newest
        return kept(Scope(limit.conditions, limit.collections))

    def flow(self, limit: Scope) -> Flow:
        """Return what answers questions of callers with this limit."""
        return self.within(limit).flow

    def _over(self, runtime: Runtime) -> Callable[[Scope], SearchServices]:
        """Return what builds and keeps the searches of each limit over a runtime."""
        rerankers = Rerankers(runtime, self._models)

        def build(limit: Scope) -> SearchServices:
            reader = self._readers.within(limit)
            return SearchServices(reader, runtime, self._models, rerankers.get)

        everything = build(EVERYTHING)
        # So many roles are rare.
        of_limit = lru_cache(64)(build)

        def kept(limit: Scope) -> SearchServices:
            if limit:
                return of_limit(limit)
            return everything

        return kept


class Rerankers:
    """Builds each reranker when it is first used, once: a cross-encoder is large."""

    def __init__(self, runtime: Runtime, models: ChatModels) -> None:
        self._runtime = runtime
        self._models = models
        self._known = with_extras(RERANKERS, runtime.storage.settings)
        self._lock = threading.RLock()
        self._built: dict[str, Reranker] = {}

    def get(self, name: str) -> Reranker | None:
        """Return the reranker of that name, None for none. Raises UnknownNameError,
        MissingPackageError.
        """
        if self._known.check(name, field="RERANKER") == "none":
            return None
        with self._lock:
            if name not in self._built:
                self._built[name] = self._known.builder(name)(
                    chat_model=lambda: self._models.small,
                    language=self._runtime.storage.settings.language,
                    store=lambda: self._runtime.store,
                )
            return self._built[name]
