"""The pgvector store beyond the contract: what only PostgreSQL does. On a real
server.
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chatbot.app.services import build
from chatbot.config.settings import Settings
from chatbot.database import open_database
from chatbot.domain import Chunk, Range, Scope
from chatbot.domain.errors import (
    EmbedderMismatchError,
    SearchEngineError,
    SettingsError,
)
from chatbot.domain.scope import Values
from chatbot.stores.faiss import FaissStore
from tests.extras.pgvector.conftest import NewStore
from tests.fakes import postgres
from tests.fakes.vectors import vectors

EVERYTHING = Scope()
HOSTILE = [
    "'; DROP TABLE chunks; --",
    '"; DROP TABLE chunks; --',
    "%s",
    "%(id)s",
    "{}",
    "\\",
    "a\x00b",
    "\ud800",
    "$1",
]


def chunk(name: str, text: str = "Coffee.", **metadata: str | int) -> Chunk:
    return Chunk(
        f"{name}-v1-00000",
        name,
        f"{name}.pdf",
        "Title",
        text,
        metadata=metadata,
        collection="report_chatting",
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_like_any_other(new_store: NewStore, text: str) -> None:
    store, query = new_store(), vectors(1, seed=1)[0]
    store.upsert([chunk("b", country_name="Kenya")], vectors(1))
    for scope in (
        Scope.of({"country_name": Values((text,))}),
        Scope.of({text: Values(("Kenya",))}),
    ):
        assert store.vector_search(query, top_k=5, scope=scope) == []
        assert store.keyword_search("coffee", top_k=5, scope=scope) == []
        assert store.count(scope) == 0
    assert store.get([text]) == []
    assert store.vector_scores(query, [text]) == {}
    assert store.keyword_search(text, top_k=5, scope=EVERYTHING) == []
    assert store.delete_document(text, keep=[text]) == 0
    fields = {
        "document_name": text,
        "title": text,
        "text": text,
        "section": text,
        "labels": (text,),
    }
    written = replace(chunk("a", country_name=text), **fields, description=text)
    store.upsert([written], vectors(1))
    safe = text.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    [found] = store.get([written.id])
    assert (found.text, found.title, found.labels, found.metadata) == (
        safe,
        safe,
        (safe,),
        {"country_name": safe},
    )
    assert store.count(Scope.of({"country_name": Values((text,))})) == 1
    assert store.count(EVERYTHING) == 2


def test_filter_fields_are_free_and_keep_their_types(new_store: NewStore) -> None:
    store = new_store(filter_fields=("edition no.", "data-type"))
    store.upsert(
        [
            chunk("a", **{"edition no.": 3, "data-type": "x"}),
            chunk("b", **{"edition no.": "3"}),
        ],
        vectors(2),
    )
    assert store.count(Scope.of({"edition no.": Values((3,))})) == 1
    assert store.count(Scope.of({"edition no.": Range(gte=1)})) == 1
    assert store.count(Scope.of({"edition no.": Values((3, "3"))})) == 2
    assert (
        store.count(
            Scope.of({"data-type": Values(("x",)), "edition no.": Range(lte=3)})
        )
        == 1
    )


def test_a_row_has_the_address_and_the_language_also_in_an_older_table(
    new_store: NewStore,
) -> None:
    """R-E1."""
    store: Any = new_store()
    store.upsert([chunk("a")], vectors(1))
    with store._transaction() as connection:
        connection.execute("ALTER TABLE chunks DROP COLUMN url, DROP COLUMN language")
    later: Any = new_store(language="german")
    later.upsert([replace(chunk("b"), url="https://example.org/b")], vectors(1))
    with later._transaction() as connection:
        rows = connection.execute(
            "SELECT document_id, url, language FROM chunks ORDER BY 1"
        ).fetchall()
    assert rows == [("a", "", ""), ("b", "https://example.org/b", "german")]
    assert [found.url for found in later.get(["b-v1-00000"])] == [
        "https://example.org/b"
    ]


def test_keywords_are_ranked_as_by_the_in_process_index(
    new_store: NewStore, tmp_path: Path
) -> None:
    """Both are BM25 over the same terms; only counts above four differ."""
    random = np.random.default_rng(5)
    words = [f"word{number}" for number in range(40)]
    odds = 1 / np.arange(1, 41)
    texts = [
        " ".join(random.choice(words, size=random.integers(3, 25), p=odds / odds.sum()))
        for _ in range(200)
    ]
    texts = [text for text in texts if max(map(text.split().count, words)) <= 4]
    chunks = [
        chunk(f"d{number:03}", text, year=2000 + number % 7)
        for number, text in enumerate(texts)
    ]
    database = open_database(Settings(data_dir=tmp_path / "faiss"))
    settings = Settings(data_dir=tmp_path / "faiss")
    faiss = FaissStore(
        settings=settings,
        database=database,
        changes=database.changes,
        dimensions=8,
    )
    store = new_store()
    for one in (faiss, store):
        one.upsert(chunks, vectors(len(chunks)))
    for query in (
        "word3",
        "word1 word7 word30",
        "word0 word0 word12 unheard",
        " ".join(words),
    ):
        for scope in (EVERYTHING, Scope.of({"year": Values((2003,))})):
            expected = faiss.keyword_search(query, top_k=500, scope=scope)
            found = store.keyword_search(query, top_k=500, scope=scope)
            scores = {match.chunk_id: match.score for match in expected}
            assert {match.chunk_id: match.score for match in found} == pytest.approx(
                scores, rel=1e-4
            )
            assert [match.score for match in found] == sorted(
                (match.score for match in found), reverse=True
            )
    faiss.close()
    database.close()


def test_words_longer_than_postgresql_takes_and_questions_of_many_words(
    new_store: NewStore,
) -> None:
    store = new_store()
    endless = "ä" * 3000
    store.upsert([chunk("a", f"{endless} coffee")], vectors(1))
    assert len(store.keyword_search(endless, top_k=5, scope=EVERYTHING)) == 1
    assert (
        len(
            store.keyword_search(
                " ".join(f"w{n}" for n in range(900)) + " coffee",
                top_k=5,
                scope=EVERYTHING,
            )
        )
        == 1
    )


def test_a_passage_without_direction_is_found_by_its_words_only(
    new_store: NewStore,
) -> None:
    store = new_store()
    store.upsert(
        [chunk("a"), chunk("b")], np.vstack([np.zeros((1, 8), np.float32), vectors(1)])
    )
    query = vectors(1, seed=1)[0]
    assert [
        match.chunk_id
        for match in store.vector_search(query, top_k=5, scope=EVERYTHING)
    ] == ["b-v1-00000"]
    assert len(store.keyword_search("coffee", top_k=5, scope=EVERYTHING)) == 2
    assert set(store.vector_scores(query, ["a-v1-00000", "b-v1-00000"])) == {
        "b-v1-00000"
    }
    for value in (0.0, np.nan, np.inf):  # of a question it is an error
        with pytest.raises(SearchEngineError, match="all zeros or not a number"):
            store.vector_search(
                np.full(8, value, dtype=np.float32), top_k=5, scope=EVERYTHING
            )


def test_a_table_of_another_model_is_an_error_that_says_what_to_do(
    new_store: NewStore,
) -> None:
    new_store().upsert([chunk("a")], vectors(1))
    with pytest.raises(
        EmbedderMismatchError, match=r"8 dimensions.*gives 16.*POSTGRES_URI"
    ):
        new_store(dimensions=16).count(EVERYTHING)
    with pytest.raises(EmbedderMismatchError, match=r"\b16\b.*\b8\b"):
        new_store().upsert([chunk("b")], vectors(1, dimensions=16))
    assert new_store().count(EVERYTHING) == 1


def test_a_column_without_vectors_takes_the_size_of_the_new_model(
    new_store: NewStore,
) -> None:
    store = new_store()
    store.upsert([chunk("a")], vectors(1))
    store.delete_document("a")
    other = new_store(dimensions=16)
    other.upsert([chunk("a")], vectors(1, dimensions=16))
    assert (
        len(
            other.vector_search(vectors(1, dimensions=16)[0], top_k=1, scope=EVERYTHING)
        )
        == 1
    )


def test_two_embedding_fields_side_by_side(new_store: NewStore) -> None:
    """While the reports are embedded anew the old vectors still serve."""
    old, new = new_store(), new_store(slot="_b", dimensions=16)
    old.upsert([chunk("a"), chunk("b")], vectors(2))
    new.upsert([chunk("a")], vectors(1, dimensions=16))
    assert len(old.vector_search(vectors(1)[0], top_k=5, scope=EVERYTHING)) == 2
    assert (
        len(new.vector_search(vectors(1, dimensions=16)[0], top_k=5, scope=EVERYTHING))
        == 1
    )
    assert old.count(EVERYTHING) == new.count(EVERYTHING) == 2


def test_what_the_table_holds(new_store: NewStore) -> None:
    """R-E1: content, metadata and the time of creation, which a replacement keeps."""
    store = new_store()
    store.upsert([chunk("a", country_name="Kenya", year=2023)], vectors(1))
    select = (
        "SELECT text, collection, metadata, vector_dims(data_embedding), created_at "
        "FROM chunks"
    )
    with postgres.connect() as connection:
        text, collection, metadata, dimensions, created = connection.execute(
            select
        ).fetchone()
        assert (text, collection, dimensions) == ("Coffee.", "report_chatting", 8)
        assert metadata == {
            "country_name": "Kenya",
            "year": 2023,
            "document_name": "a.pdf",
        }
        store.upsert([chunk("a", "Tea.")], vectors(1))
        assert connection.execute(select).fetchone()[::4] == ("Tea.", created)


def test_eight_processes_that_start_at_once_make_one_table(new_store: NewStore) -> None:
    stores = [new_store() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda store: store.count(EVERYTHING), stores)) == [0] * 8


def test_writers_of_the_same_passages_do_not_deadlock(new_store: NewStore) -> None:
    chunks, rows = [chunk(f"d{number:02}") for number in range(40)], vectors(40)

    def write(number: int) -> None:
        order = np.random.default_rng(number).permutation(40)
        new_store().upsert([chunks[place] for place in order], rows[order])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(12)))
    assert new_store().count(EVERYTHING) == 40


def test_a_table_that_vanishes_is_made_anew(new_store: NewStore) -> None:
    store = new_store()
    store.upsert([chunk("a")], vectors(1))
    postgres.empty_database()
    with pytest.raises(SearchEngineError, match="vanished") as raised:
        store.count(EVERYTHING)
    assert raised.value.retry_after
    assert store.count(EVERYTHING) == 0


def test_an_extension_that_is_made_anew_with_its_types(new_store: NewStore) -> None:
    """Connections that lie idle know the old types by number."""
    store = new_store()
    store.upsert([chunk("a")], vectors(1))
    with postgres.connect() as connection:
        connection.execute("DROP EXTENSION vector CASCADE")
        connection.execute("CREATE EXTENSION vector")
    with pytest.raises(SearchEngineError) as raised:
        store.upsert([chunk("b")], vectors(1))
    assert raised.value.retry_after
    store.upsert([chunk("b")], vectors(1))
    assert len(store.vector_search(vectors(1)[0], top_k=5, scope=EVERYTHING)) == 1


def test_ping_names_the_versions_and_an_empty_table(new_store: NewStore) -> None:
    store = new_store()
    assert re.fullmatch(
        r"PostgreSQL \d+\.\d+, pgvector 0\.8\.\d+, table chunks \(empty\)", store.ping()
    )
    store.upsert([chunk("a")], vectors(1))
    assert store.ping().endswith("table chunks")


def test_without_a_connection_string_the_start_stops(settings: Settings) -> None:
    services = build(settings.override(vector_search="pgvector"))
    with services, pytest.raises(SettingsError, match="POSTGRES_URI"):
        services.check()


def test_an_unusable_connection_string_is_named_but_not_shown() -> None:
    from chatbot.extras.pgvector.connections import Connections

    for uri in (
        "hunter2 secret",
        "postgresql://u:hunter2@h/db?nonsense=1",
        "hunter2=1",
    ):
        with pytest.raises(SettingsError, match="POSTGRES_URI") as raised:
            Connections(uri, size=1, timeout=1)
        assert "hunter2" not in raised.value.message
        assert raised.value.__cause__ is None


def test_without_its_package_the_start_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from chatbot.domain.errors import MissingPackageError\n"
        "from chatbot.config.settings import Settings\n"
        "from chatbot.extras import with_extras\n"
        "from chatbot.stores import STORES\n"
        "try: with_extras(STORES, Settings()).builder('pgvector')\n"
        "except MissingPackageError as error: print(error.message)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "psycopg" in done.stdout
    assert "pip install -r requirements-pgvector.txt" in done.stdout
