"""What a request asks of the database: a bounded number of operations, whatever the
question and the library.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.app.services import Services, build
from chatbot.database.core import Collection
from tests.app.web.conftest import QUESTION

OPERATIONS = (
    "find",
    "find_one",
    "insert_one",
    "replace_many",
    "update_each",
    "update_one",
    "find_one_and_update",
    "delete_many",
    "count",
    "estimated_count",
    "distinct",
)
Counting = Callable[[], Any]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Inside, every operation is noted: its collection and its name."""

    def noted(name: str, done: list[str]) -> Callable[..., Any]:
        real = getattr(Collection, name)

        def operation(collection: Collection, *arguments: Any, **options: Any) -> Any:
            done.append(f"{collection.name}.{name}")
            return real(collection, *arguments, **options)

        return operation

    @contextmanager
    def counting() -> Iterator[list[str]]:
        done: list[str] = []
        with monkeypatch.context() as patch:
            for name in OPERATIONS:
                patch.setattr(Collection, name, noted(name, done))
            yield done

    return counting


@pytest.mark.usefixtures("kenya", "mali")
class TestOperations:
    @pytest.mark.parametrize(
        "body",
        [
            {"query": QUESTION},
            {"query": "How fast did the population of Kenya grow in 2023?"},
            {"query": QUESTION, "filters": {"country_name": ["Kenya"], "year": [2023]}},
        ],
    )
    def test_a_question_needs_few_calls_to_the_database(
        self, client: FlaskClient, counted: Counting, body: dict[str, Any]
    ) -> None:
        client.post("/query", json={"query": "What is the climate?"})
        with counted() as done:
            answer = client.post("/query", json=body).get_json()
        assert answer["conversation_id"], answer
        assert len(done) <= 20, sorted(done)
        with counted() as done:
            body = {
                "query": "And of Mali?",
                "conversation_id": answer["conversation_id"],
            }
            assert client.post("/query", json=body).status_code == 200
        assert len(done) <= 22, sorted(done)

    @pytest.mark.parametrize(
        ("path", "most"),
        [("/api/facets", 1), ("/api/reports", 1), ("/api/documents?limit=5", 1)],
    )
    def test_a_list_needs_few_calls_to_the_database(
        self, client: FlaskClient, counted: Counting, path: str, most: int
    ) -> None:
        client.get(path)
        with counted() as done:
            assert (
                client.get(
                    f"{path}{'&' if '?' in path else '?'}country_name=Kenya"
                ).status_code
                == 200
            )
        assert len(done) <= most, sorted(done)

    def test_a_search_needs_few_calls_to_the_database(
        self, client: FlaskClient, counted: Counting
    ) -> None:
        client.post("/api/search", json={"query": "What is the climate?"})
        with counted() as done:
            assert client.post("/api/search", json={"query": QUESTION}).get_json()[
                "hits"
            ]
        assert len(done) <= 8, sorted(done)

    def test_a_question_after_a_change_reads_what_changed(
        self, client: FlaskClient, services: Services, counted: Counting
    ) -> None:
        client.post("/query", json={"query": QUESTION})
        record = services.storage.documents.all()[0]
        services.storage.documents.put(record)
        with counted() as done:
            client.post("/query", json={"query": QUESTION})
        assert done.count("documents.find") == 1
        assert done.count("chatbot_data.find") + done.count("report_chatting.find") <= 6
        assert len(done) <= 24, sorted(done)


@pytest.mark.usefixtures("kenya")
def test_what_another_process_writes_is_seen_by_the_next_request(
    client: FlaskClient, services: Services, settings: Any
) -> None:
    client.get("/api/facets")
    with build(settings) as other:
        record = other.storage.documents.all()[0]
        other.storage.documents.delete(record.id)
    assert client.get("/api/facets").get_json()["documents"] == 0
