"""The Python API: ask, search and add without a server, as a notebook does. The package
`report_chat` exports it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from ..answering.conversation import Place
from ..config.settings import Settings
from ..database.repositories.caches import request_cache
from ..domain import Answer, Cancellation, SearchHit
from ..domain.callers import ANYBODY
from ..domain.errors import InvalidRequestError
from ..domain.figure_query import FigureAnswer, FigureQuery
from ..domain.validation import parse
from ..language.words import in_english
from ..library.pipeline import Ingested
from ..library.sources import WEB, Overrides, Source
from .services import Services, build
from .services.library import Library
from .services.preparing import prepare_database
from .web.asking import ChatRequest, SearchRequest

__all__ = ["OpenLibrary", "open_library"]

Filters = Mapping[str, Any]
"""By field, as in the API: ``{"country_name": ["Kenya"], "year": {"gte": 2021}}``."""


class OpenLibrary:
    """A library in this process. Use it as a context manager, or close it. Every method
    raises ChatbotError with a message that says what to do.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    @request_cache()
    def ask(
        self,
        query: str,
        *,
        filters: Filters | None = None,
        collections: Sequence[str] | None = None,
        **options: Any,
    ) -> Answer:
        """Answer a question with citations. No conversation is stored. ``options``: the
        other fields of `POST /query`, such as ``mode`` or ``limit``.
        """
        fields = _fields(query, filters, collections) | options
        request = parse(ChatRequest, fields)
        question = request.to_question(self._services, ANYBODY.limit)
        saved = self._services.chat.answer(
            question, place=Place(kept=False), cancel=Cancellation()
        )
        assert saved is not None, "nobody cancels it"
        return saved.answer

    @request_cache()
    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        filters: Filters | None = None,
        collections: Sequence[str] | None = None,
    ) -> tuple[SearchHit, ...]:
        """Return up to ``limit`` passages (1 to 50), the best first."""
        fields = _fields(query, filters, collections) | {"limit": limit}
        question = parse(SearchRequest, fields).to_search(self._services, ANYBODY.limit)
        retrieval = self._library.search.retriever.retrieve(
            question.query,
            top_k=question.top_k,
            scope=question.scope,
            method=question.retrieval_method,
        )
        return retrieval.hits

    @request_cache()
    def figures(
        self,
        *indicators: str,
        subjects: Sequence[str] = (),
        years: Sequence[int] = (),
        editions: Sequence[int] = (),
        steps: Sequence[Mapping[str, Any]] = (),
        filters: Filters | None = None,
    ) -> FigureAnswer:
        """Compute over the figures of the reports, as `POST /api/figures/query`:
        ``steps`` such as ``[{"op": "rank"}]``.
        """
        query = parse(
            FigureQuery,
            {
                "indicators": list(indicators),
                "subjects": list(subjects),
                "years": list(years),
                "editions": list(editions),
                "steps": [dict(step) for step in steps],
            },
        )
        library = self._library
        scope = library.scopes.resolve(filters)
        return library.search.flow.tools.figures.answer(query, scope, in_english)

    def add(self, source: str | Path, **about: Any) -> Ingested:
        """Add a file or a web page, and return when it is searchable. ``about``: what
        is stated of it, as ``title``, ``country_name``, ``year``, ``type``,
        ``labels``. Adding the same again changes nothing.
        """
        ingesting = self._services.ingesting
        stated = ingesting.check_overrides(
            parse(Overrides, about), self._library.reader
        )
        prepare_database(self._services.storage)
        with TemporaryDirectory(prefix="report-chat-") as folder:
            if isinstance(source, str) and source.startswith(WEB):
                path = ingesting.originals.download(source, Path(folder))
                read = Source(path, source.partition("#")[0])
            else:
                path = Path(source)
                if not path.is_file():
                    raise InvalidRequestError.for_field(
                        "source", f"{source} is neither a file nor a web address."
                    )
                read = Source(path, path.resolve().as_posix())
            return ingesting.service.ingest(read, overrides=stated, lifts=True)

    @property
    def _library(self) -> Library:
        return Library(self._services, ANYBODY)

    def close(self) -> None:
        """Close the database and what else was opened; closing twice does no harm."""
        self._services.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_library(data_dir: str | Path | None = None, **settings: Any) -> OpenLibrary:
    """Open the library of the environment's settings, or that in ``data_dir``.
    ``settings`` replace others by their names in lower case
    (``chat_model="extractive"``). A server may use the same database at the same time.

    Raises SettingsError, UnknownNameError: a setting is wrong; DatabaseError: the
    database cannot be opened.
    """
    if data_dir is not None:
        settings["data_dir"] = Path(data_dir)
    services = build(Settings.from_env().override(**settings))
    return OpenLibrary(services)


def _fields(
    query: str, filters: Filters | None, collections: Sequence[str] | None
) -> dict[str, Any]:
    fields: dict[str, Any] = {"query": query}
    if filters is not None:
        fields["filters"] = dict(filters)
    if collections is not None:
        fields["collections"] = list(collections)
    return fields
