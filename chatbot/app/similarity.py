"""The two functions of seed 003 (R-D1, R-D3), for programs that call this package.
Settings come from the environment; any store serves. On MongoDB the search is the
seed's pipeline to the letter.
"""

import atexit
from collections.abc import Mapping
from functools import cache
from typing import Any

from ..config.settings import Settings
from ..domain import Match
from ..domain.documents import best_matches
from ..domain.errors import InvalidRequestError
from ..domain.protocols import search_meaning
from ..domain.scope import Value
from ..search.pipeline import settled_search
from ..search.ranking import searched_scopes
from ..stores.atlas.pipelines import MAX_CANDIDATES, candidates
from ..stores.chunks import chunk_to_json
from .services import Services, build


@cache
def _services() -> Services:
    """Open the services with the first call; they are closed with the process."""
    services = build(Settings.from_env())
    atexit.register(services.close)
    return services


def create_embedding(text: str) -> list[float]:
    """Return the text's embedding by the model of the database, or by EMBEDDING_MODEL
    where the database is new. Raises InvalidRequestError: the text is empty;
    SettingsError, DependencyError, EmbedderMismatchError.
    """
    _require_text(text)
    numbers: list[float] = _services().runtime.embedder.embed_query(text).tolist()
    return numbers


def _require_text(text: str) -> None:
    if not text.strip():
        raise InvalidRequestError.for_field("text", "is empty.")


def similarity_search(
    query: str,
    limit: int = 5,
    report_context: Mapping[str, Value] | None = None,
    collection_name: str | None = None,
) -> list[dict[str, Any]]:
    """Return the passages nearest to ``query``, best first, with the fields of the
    seed's documents and ``score``.

    ``report_context``: {"type": "country" or "year_in_review", "value": ...}. Raises
    InvalidRequestError: no query, a limit out of bounds, an unknown context, country,
    year or collection; otherwise as `create_embedding`.
    """
    if not 1 <= limit <= MAX_CANDIDATES:
        raise InvalidRequestError.for_field(
            "limit", f"must be from 1 to {MAX_CANDIDATES}."
        )
    _require_text(query)
    services = _services()
    meaning = search_meaning(services.runtime.embedder, query)
    context = None
    if report_context:
        context = str(report_context.get("type")), report_context.get("value", "")
    collections = None if collection_name is None else [collection_name]
    scope = services.storage.scopes.resolve(None, context, collections)
    store = services.runtime.store
    documents = services.storage.documents
    scopes = searched_scopes(
        scope, "all", services.settings.chunk_collections, documents
    )

    def search(count: int) -> tuple[list[Match], list[Match]]:
        found: list[Match] = []
        for part in scopes:
            found += store.vector_search(
                meaning, top_k=count, scope=part, num_candidates=candidates(limit)
            )
        return best_matches(found, count), []

    near, _ = settled_search(search, limit, documents.visible)
    scores = {match.chunk_id: match.score for match in near}
    fields = services.settings.filter_fields
    return [
        {**chunk_to_json(chunk, fields), "score": scores[chunk.id]}
        for chunk in store.get(list(scores))
    ]
