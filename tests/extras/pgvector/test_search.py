"""The HNSW index: used where it should be, never in the way of a filter. Over 5,000
passages on a real server.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.domain import Chunk, Scope, Vector
from chatbot.domain.scope import Values
from tests.fakes import postgres
from tests.fakes.vectors import vectors

ROWS, DIMENSIONS = 5000, 32
TIED = 30
EVERYTHING = Scope()
COUNTRIES = {"Kenya": 0.01, "Peru": 0.1, "Chad": 1.0}
"""Country to the share of passages up to which the filler goes."""


def country(row: int) -> str:
    place = (row * 7919 % ROWS) / ROWS  # spread over the table, not in a run
    return next(name for name, share in COUNTRIES.items() if place < share)


def chunk(row: int) -> Chunk:
    metadata = {"country_name": country(row)}
    return Chunk(
        f"d{row:04}",
        f"d{row // 50}",
        "d.pdf",
        "",
        "Coffee.",
        metadata=metadata,
        collection="reports",
    )


ALL = vectors(ROWS, 0, DIMENSIONS)
ALL[100 : 100 + TIED] = ALL[100]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from chatbot.extras.pgvector.store import PgvectorStore

    settings = Settings(postgres_uri=postgres.empty_database())
    database = open_database(Settings(data_dir=tmp_path_factory.mktemp("index")))
    options: dict[str, Any] = {
        "settings": settings,
        "database": database,
        "changes": database.changes,
    }
    filler, opened = (PgvectorStore(**options, dimensions=DIMENSIONS) for _ in range(2))
    filler.prepare()
    with postgres.connect() as connection:
        connection.execute(
            "DROP INDEX chunks_data_embedding_hnsw"
        )  # built at once it takes a tenth of the time
        filler.upsert([chunk(row) for row in range(ROWS)], ALL)
        opened.prepare()  # makes what is missing
    yield opened
    filler.close()
    opened.close()
    database.close()


def nearest_ids(query: Vector, top_k: int, name: str | None = None) -> list[str]:
    """What numpy finds."""
    rows = [row for row in range(ROWS) if name in {None, country(row)}]
    return [
        f"d{row:04}"
        for row in sorted(rows, key=lambda row: (-float(ALL[row] @ query), row))[:top_k]
    ]


def scope(name: str) -> Scope:
    return Scope.of({"country_name": Values((name,))})


def ids(matches: Sequence[Any]) -> list[str]:
    return [match.chunk_id for match in matches]


class Explained:
    """A connection that keeps the plan of everything it runs."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.plans: list[str] = []

    def execute(self, query: Any, parameters: Any) -> Any:
        rows = self._connection.execute(f"EXPLAIN {query}", parameters).fetchall()
        self.plans.append("\n".join(row[0] for row in rows))
        return self._connection.execute(query, parameters)


def explain(
    query: Vector, *, scope: Scope, schema: Any = None
) -> tuple[list[str], Any]:
    """Plans and rows of one search with top_k 10."""
    from chatbot.extras.pgvector.connections import Connections, know_vectors
    from chatbot.extras.pgvector.store import nearest, scan_settings
    from chatbot.extras.pgvector.table import ChunkTable

    schema = schema or ChunkTable(
        "chunks", "data_embedding", DIMENSIONS, ("country_name",)
    )
    connections = Connections(postgres.uri(), size=1, timeout=30)
    with connections.transaction(scan_settings(scope, 10)) as connection:
        know_vectors(connection)
        explained = Explained(connection)
        rows = nearest(explained, schema, vector=query, scope=scope, top_k=10)
    connections.close()
    return explained.plans, rows


def test_an_unfiltered_search_uses_the_index(store: Any) -> None:
    """R-E1: ordered by distance so that the index is used."""
    plans, rows = explain(vectors(1, 1, DIMENSIONS)[0], scope=EVERYTHING)
    assert "Index Scan using chunks_data_embedding_hnsw" in plans[-1]
    assert len(rows) == 10


def test_an_unfiltered_search_finds_the_nearest(store: Any) -> None:
    found = expected = 0
    for query in vectors(20, 2, DIMENSIONS):
        matches = store.vector_search(query, top_k=10, scope=EVERYTHING)
        wanted = nearest_ids(query, 10)
        found += len(set(ids(matches)) & set(wanted))
        expected += len(wanted)
        scores = {
            match.chunk_id: (1 + float(ALL[int(match.chunk_id[1:])] @ query)) / 2
            for match in matches
        }
        assert {match.chunk_id: match.score for match in matches} == pytest.approx(
            scores, abs=1e-5
        )
    assert found / expected >= 0.97


@pytest.mark.parametrize("top_k", [5, 40, 100])
@pytest.mark.parametrize("name", ["Kenya", "Peru"])
def test_a_filter_never_shortens_the_result_and_the_result_is_exact(
    store: Any, name: str, top_k: int
) -> None:
    """Kenya has 1 % of the passages, Peru 9 %."""
    for query in vectors(5, 3, DIMENSIONS):
        expected = nearest_ids(query, top_k, name)
        assert len(expected) == min(top_k, 50 if name == "Kenya" else 450)
        assert (
            ids(store.vector_search(query, top_k=top_k, scope=scope(name))) == expected
        )


@pytest.mark.parametrize("name", ["Kenya", "Peru", "Chad"])
def test_a_filter_never_shortens_what_the_index_finds(
    store: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a table so large that even the scope is: the index walks on until the
    result is full.
    """
    monkeypatch.setattr("chatbot.extras.pgvector.store.EXACT_ROWS_IN_SCOPE", 0)
    query = vectors(1, 4, DIMENSIONS)[0]
    plans, rows = explain(query, scope=scope(name))
    assert any("chunks_data_embedding_hnsw" in plan for plan in plans)
    assert len(rows) == 10
    assert all(country(int(chunk_id[1:])) == name for _, chunk_id in rows)
    assert (
        len({chunk_id for _, chunk_id in rows} & set(nearest_ids(query, 10, name))) >= 9
    )


def test_a_narrow_scope_leaves_the_vector_index_alone(store: Any) -> None:
    plans, _ = explain(vectors(1, 5, DIMENSIONS)[0], scope=scope("Kenya"))
    assert len(plans) == 1
    assert "hnsw" not in plans[0]


@pytest.mark.parametrize("top_k", [1, 4, 25, 30, 31])
def test_ties_are_ordered_by_id_through_the_index_too(store: Any, top_k: int) -> None:
    found = ids(store.vector_search(ALL[100], top_k=top_k, scope=EVERYTHING))
    assert found[:TIED] == [f"d{row:04}" for row in range(100, 100 + TIED)][:top_k]
    assert len(found) == top_k


@pytest.mark.parametrize(
    ("narrow", "index"),
    [
        (scope("Kenya"), "chunks_by_country_name"),
        (Scope().within(["small"]), "chunks_collection_idx"),
    ],
)
def test_filters_use_their_own_index(store: Any, narrow: Scope, index: str) -> None:
    from chatbot.extras.pgvector.table import ChunkTable

    table = ChunkTable("chunks", "data_embedding", DIMENSIONS, ("country_name",))
    condition, parameters = table.scope_condition(narrow)
    with postgres.connect() as connection:
        connection.execute("ANALYZE chunks")
        plan = connection.execute(
            f"EXPLAIN SELECT 1 FROM chunks WHERE {condition}", parameters
        )
        assert index in str(plan.fetchall())


@pytest.mark.parametrize(
    ("dimensions", "kind"),
    [(2000, " vector_cosine_ops"), (2001, "halfvec"), (4001, None)],
)
def test_vectors_of_more_than_2000_dimensions_are_indexed(
    monkeypatch: pytest.MonkeyPatch, dimensions: int, kind: str | None
) -> None:
    """HNSW holds up to 2,000 dimensions, as halfvec up to 4,000; scores are those of
    the whole vector all the same.
    """
    from chatbot.extras.pgvector.connections import Connections
    from chatbot.extras.pgvector.table import ChunkTable

    monkeypatch.setattr("chatbot.extras.pgvector.store.EXACT_ROWS", 0)
    schema = ChunkTable("long_chunks", "data_embedding", dimensions, ())
    rows, query = vectors(40, 6, dimensions), vectors(1, 7, dimensions)[0]
    connections = Connections(postgres.uri(), size=1, timeout=30)
    with connections.transaction() as connection:
        connection.execute("DROP TABLE IF EXISTS long_chunks")
        schema.prepare(connection)
        names = (
            "id, collection, document_id, document_name, title, section, ordinal, "
            "start_offset, end_offset, text"
        )
        insert = (
            f"INSERT INTO long_chunks ({names}, labels, description, metadata, "
            "terms, term_count, data_embedding) "
            "VALUES (%s, '', '', '', '', '', 0, 0, 0, '', '{}', '', '{}', '', 0, "
            "%s::vector)"
        )
        values = [(f"d{place:02}", str(row.tolist())) for place, row in enumerate(rows)]
        connection.cursor().executemany(insert, values)
    plans, found = explain(query, scope=EVERYTHING, schema=schema)
    with connections.transaction() as connection:
        indexes = str(
            connection.execute(
                "SELECT indexdef FROM pg_indexes WHERE tablename = 'long_chunks'"
            ).fetchall()
        )
        connection.execute("DROP TABLE long_chunks")
    connections.close()
    assert ("hnsw" in indexes, "hnsw" in plans[-1]) == (kind is not None,) * 2
    assert kind is None or kind in indexes
    expected = sorted(
        (1 - float(row @ query), f"d{place:02}") for place, row in enumerate(rows)
    )[:10]
    assert [chunk_id for _, chunk_id in found] == [chunk_id for _, chunk_id in expected]
    assert [distance for distance, _ in found] == pytest.approx(
        [distance for distance, _ in expected], abs=1e-5
    )
