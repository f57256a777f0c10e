"""Stores on a real PostgreSQL server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from tests.fakes import postgres

DIMENSIONS = 8
NewStore = Callable[..., Any]
"""Opens a store at a connection string, that of an empty database if none is given; its
options may be settings.
"""


@pytest.fixture
def new_store(tmp_path: Path) -> Iterator[NewStore]:
    """All stores are closed at the end."""
    empty = postgres.empty_database()
    database = open_database(Settings(data_dir=tmp_path))
    opened: list[Any] = []

    def build(
        uri: str = empty,
        *,
        dimensions: int = DIMENSIONS,
        slot: str = "",
        **changed: Any,
    ) -> Any:
        from chatbot.extras.pgvector.store import PgvectorStore

        settings = Settings(
            postgres_uri=uri, **{"filter_fields": ("country_name", "year"), **changed}
        )
        changes = database.changes
        options = {"settings": settings, "database": database, "changes": changes}
        opened.append(PgvectorStore(**options, dimensions=dimensions, slot=slot))
        return opened[-1]

    yield build
    for store in opened:
        store.close()
    database.close()
