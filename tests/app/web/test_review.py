"""Several reports reviewed and changed together, over HTTP."""

from hashlib import sha256
from typing import Any, get_args

import pytest
from flask import Flask
from flask.testing import FlaskClient

from chatbot.app.services import Services
from chatbot.app.web.documents import AboutField
from chatbot.domain.callers import KeyRole
from chatbot.domain.documents import Proposal
from chatbot.domain.errors import ConflictError, DatabaseError
from chatbot.library.pipeline import Edited, IngestionService
from chatbot.library.sources import About
from tests.app.web.conftest import error_of, fields_of
from tests.app.web.knowledge import added, found_texts
from tests.app.web.test_access import key_holder
from tests.conftest import KENYA_2023
from tests.rows import outside

DRY = "# Prices\n\n2019 and 2020 were dry. So was 2019 in the north.\n"
WET = "# Rain\n\nIt rained in the south.\n"


@pytest.fixture
def pair(client: FlaskClient) -> tuple[str, str]:
    """The ids of two documents: the first proposes a year, the second nothing."""
    dry, wet = added(client, ("dry.md", DRY), ("wet.md", WET))
    return dry, wet


def patch(client: FlaskClient, *rows: dict[str, Any], status: int = 200) -> Any:
    response = client.patch("/api/documents", json={"documents": list(rows)})
    assert response.status_code == status, response.get_data(as_text=True)
    return response.get_json()


def get(client: FlaskClient, document_id: str) -> dict[str, Any]:
    document: dict[str, Any] = client.get(f"/api/documents/{document_id}").get_json()
    document.pop("updated_at")
    return document


def key_client(app: Flask, role: KeyRole, **limits: Any) -> FlaskClient:
    """A client that sends a key with each request."""
    person = key_holder(app, role, **limits)
    secret = person.headers["Authorization"]
    person.client.environ_base["HTTP_AUTHORIZATION"] = secret
    return person.client


def review(client: FlaskClient, *ids: str) -> list[dict[str, Any]]:
    answer = client.get(f"/api/documents/review?ids={','.join(ids)}").get_json()
    documents: list[dict[str, Any]] = answer["documents"]
    return documents


def test_a_file_of_the_library_is_known_by_its_digest(
    app: Flask, client: FlaskClient, pair: tuple[str, str]
) -> None:
    dry, _ = pair
    digests = [sha256(text.encode()).hexdigest() for text in (DRY, f"{DRY} ")]
    path = f"/api/documents/known?digests={','.join(digests)},"
    expected = {"digest": digests[0], "document_id": dry, "title": "Prices"}
    assert client.get(path).get_json() == {"documents": [expected]}
    limited = key_client(app, "read", filters={"country_name": ["Kenya"]})
    assert limited.get(path).get_json() == {"documents": []}


class TestEdits:
    def test_several_reports_are_changed_and_found_by_what_they_have_now(
        self, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        dry, wet = pair
        answer = patch(
            client,
            {"id": dry, "fields": {"year": 2020}},
            {"id": wet, "fields": {"title": "Rain of Mali", "country_name": "ML"}},
        )
        edited = answer["documents"]
        assert [one["document_id"] for one in edited] == [dry, wet]
        assert [(one["title"], one["year"]) for one in edited] == [
            ("Prices", 2020),
            ("Rain of Mali", None),
        ]
        assert answer["failed"] == []
        assert found_texts(client, "dry", filters={"year": 2020})
        assert found_texts(client, "rained", filters={"country_name": "Mali"})

    def test_what_stood_there_before_undoes_it_whole(
        self, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        dry, wet = pair
        patch(client, {"id": wet, "fields": {"labels": ["rain"], "year": 2001}})
        before = [get(client, dry), get(client, wet)]
        answer = patch(
            client,
            {"id": dry, "fields": {"title": "Drought", "year": None}},
            {"id": wet, "fields": {"labels": [], "year": 2002, "country_name": "Mali"}},
        )
        assert answer["undo"] == [
            {
                "id": dry,
                "fields": {"title": "Prices", "year": None, "type": None},
                "unconfirmed": ["title", "year", "type"],
            },
            {
                "id": wet,
                "fields": {
                    "country_name": None,
                    "year": 2001,
                    "type": "year_in_review",
                    "labels": ["rain"],
                },
                "unconfirmed": ["country_name", "type"],
            },
        ]
        assert "year" not in {one["field"] for one in get(client, dry)["proposed"]}
        patch(client, *answer["undo"])
        assert [get(client, dry), get(client, wet)] == before

    @pytest.mark.parametrize("fields", [{"year": 2003}, {"country_name": "Kenya"}])
    def test_a_type_that_follows_from_country_and_year_is_undone_too(
        self, client: FlaskClient, fields: dict[str, Any]
    ) -> None:
        (wells,) = added(
            client, ("wells.md", "# Wells of the village, 2001\n\nDeep.\n")
        )
        before = get(client, wells)
        assert (before["year"], before["type"]) == (2001, None)
        answer = patch(client, {"id": wells, "fields": fields})
        patch(client, *answer["undo"])
        assert get(client, wells) == before

    def test_nothing_is_changed_if_one_row_is_wrong(
        self, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        dry, wet = pair
        before = [get(client, dry), get(client, wet)]
        good = {"id": dry, "fields": {"year": 2020}}
        rows = {
            "documents.1.fields.year": {"id": wet, "fields": {"year": 12}},
            "documents.1.fields.yeer": {"id": wet, "fields": {"yeer": 2020}},
            "documents.1.fields.country_name": {
                "id": wet,
                "fields": {"country_name": "Kenia Land"},
            },
            "documents.1.id": {"id": dry, "fields": {"year": 2019}},
            "documents.1.fields": {"id": wet, "fields": ["year"]},
        }
        for field, row in rows.items():
            response = client.patch("/api/documents", json={"documents": [good, row]})
            assert fields_of(response) == [field]
        missing = {"id": "f" * 20, "fields": {"year": 2020}}
        response = client.patch("/api/documents", json={"documents": [good, missing]})
        error = error_of(response, 404, "not_found")
        assert [detail["field"] for detail in error["details"]] == ["documents.1.id"]
        assert [get(client, dry), get(client, wet)] == before

    def test_all_wrong_rows_are_named_at_once(
        self, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        rows = [{"id": id, "fields": {"country_name": "Nowhere"}} for id in pair]
        response = client.patch("/api/documents", json={"documents": rows})
        assert fields_of(response) == [
            "documents.0.fields.country_name",
            "documents.1.fields.country_name",
        ]

    def test_a_list_has_one_to_a_hundred_rows(self, client: FlaskClient) -> None:
        row = {"id": "f" * 20, "fields": {}}
        for rows in ([], [row] * 101):
            response = client.patch("/api/documents", json={"documents": rows})
            assert fields_of(response) == ["documents"]

    def test_a_person_changes_own_reports_only_and_inside_of_the_limit(
        self, app: Flask, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        writer = key_client(app, "write", filters={"country_name": ["Kenya"]})
        (own,) = added(writer, ("kenya.md", KENYA_2023))
        rows = [{"id": own, "fields": {"year": 2020}}]
        others = {"id": pair[0], "fields": {"year": 2020}}
        response = writer.patch("/api/documents", json={"documents": [*rows, others]})
        error_of(response, 404, "not_found")
        away = {"id": own, "fields": {"country_name": "Mali"}}
        response = writer.patch("/api/documents", json={"documents": [away]})
        error = error_of(response, 403, "forbidden")
        assert [detail["field"] for detail in error["details"]] == ["documents.0.id"]
        assert patch(writer, *rows)["documents"][0]["year"] == 2020

    def test_a_value_that_a_person_confirms_is_no_proposal_any_more(
        self, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        dry, _ = pair
        answer = patch(client, {"id": dry, "fields": {"year": None}})
        assert answer["documents"][0]["year"] is None
        assert review(client, dry)[0]["doubts"] == []
        patch(client, *answer["undo"])
        assert [one["value"] for one in review(client, dry)[0]["doubts"]] == [2019]

    @pytest.mark.parametrize(
        ("error", "codes"),
        [
            (ConflictError("Busy."), ["conflict"]),
            (DatabaseError("Down."), ["database_unavailable"] * 2),
        ],
    )
    def test_a_report_that_cannot_be_changed_now_is_named(
        self,
        client: FlaskClient,
        monkeypatch: pytest.MonkeyPatch,
        error: Exception,
        codes: list[str],
    ) -> None:
        ids = added(client, *((f"{name}.md", WET + name) for name in "abc"))
        real = IngestionService.edit
        calls: list[str] = []

        def failing(
            service: IngestionService, document_id: str, *args: Any, **options: Any
        ) -> Edited:
            calls.append(document_id)
            if len(calls) == 2:
                raise error
            return real(service, document_id, *args, **options)

        monkeypatch.setattr(IngestionService, "edit", failing)
        answer = patch(client, *({"id": id, "fields": {"year": 2020}} for id in ids))
        assert [one["code"] for one in answer["failed"]] == codes
        changed = [get(client, id)["year"] == 2020 for id in ids]
        assert changed == [True, False, len(codes) == 1]
        assert len(answer["undo"]) == len(answer["documents"]) == sum(changed)


def test_each_field_of_a_report_can_be_undone() -> None:
    assert set(get_args(AboutField)) == set(About.model_fields)


class TestReview:
    def test_proposals_are_shown_with_the_words_they_come_from(
        self, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        dry, wet = review(client, *pair)
        assert dry["doubts"] == [
            {
                "field": "year",
                "value": 2019,
                "origin": "first pages",
                "words": "2019 and 2020 were dry. So was 2019 in the north.",
                "reason": "proposed",
            }
        ]
        assert (wet["doubts"], wet["alike"]) == ([], [])
        assert dry["title"] == "Prices"

    def test_reports_with_the_same_title_country_and_year_are_named(
        self, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        _, wet = pair
        (again,) = added(client, ("again.md", WET + "Again.\n"))
        assert review(client, wet)[0]["alike"] == [
            {"document_id": again, "title": "Rain", "source": "again.md"}
        ]
        patch(client, {"id": again, "fields": {"year": 2020}})
        assert review(client, wet)[0]["alike"] == []

    def test_the_same_file_is_named_whatever_it_is_called(
        self, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        _, wet = pair
        (copy,) = added(client, ("copy.md", WET), title="Another", year="1999")
        (row,) = review(client, copy)
        assert [one["document_id"] for one in row["alike"]] == [wet]

    def test_ids_that_the_caller_does_not_see_are_left_out(
        self, app: Flask, client: FlaskClient, pair: tuple[str, str]
    ) -> None:
        dry, wet = pair
        patch(client, {"id": dry, "fields": {"country_name": "Kenya"}})
        reader = key_client(app, "read", filters={"country_name": ["Kenya"]})
        ids = [wet, "f" * 20, dry, dry]
        assert [one["document_id"] for one in review(reader, *ids)] == [dry]
        response = client.get("/api/documents/review")
        assert fields_of(response) == ["ids"]

    def test_a_country_of_an_older_release_without_proof_is_doubtful(
        self, services: Services, client: FlaskClient
    ) -> None:
        turkey = "# Turkey with chestnuts\n\nRoast the turkey for three hours.\n"
        report = KENYA_2023.replace("# Kenya:", "# Kenya: Statistical")
        files = (("turkey.md", turkey), ("kenya.md", report))
        ids = added(client, *files)
        rows = outside(services.storage.database, "documents")
        for document_id, country in zip(ids, ("Türkiye", "Kenya"), strict=True):
            older = Proposal("country_name", country, "title", True)
            rows.update_one(
                {"_id": document_id},
                {
                    "$set": {
                        "metadata": {"country_name": country},
                        "proposed": [
                            {
                                "field": older.field,
                                "value": older.value,
                                "origin": older.origin,
                                "taken": older.taken,
                            }
                        ],
                    }
                },
            )
        services.storage.changes.announce(ids, "catalog")
        doubtful, proven = review(client, *ids)
        assert [(one["field"], one["reason"]) for one in doubtful["doubts"]] == [
            ("country_name", "unproven")
        ]
        assert doubtful["country_name"] == "Türkiye"  # nothing is refiled by itself
        assert proven["doubts"] == []
        patch(client, {"id": ids[0], "fields": {"country_name": None}})
        assert review(client, ids[0])[0]["doubts"] == []
