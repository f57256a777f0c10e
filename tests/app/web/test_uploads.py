"""Files by id: sent once, named by requests of the same caller for a day."""

import io
import zipfile
from typing import Any

import pytest
from flask.testing import FlaskClient

from chatbot.app.services import Services
from chatbot.database.repositories import uploads
from tests.app.web.knowledge import ended, post_form, upload
from tests.conftest import KENYA_2023

pytestmark = pytest.mark.extras("openapi")


def sent(client: FlaskClient, name: str, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    answer = client.post("/api/files", data={"file": (io.BytesIO(data), name)})
    assert answer.status_code == 201, answer.get_data(as_text=True)
    id: str = answer.get_json()["id"]
    return id


def test_a_file_is_previewed_added_and_attached_by_its_id(
    client: FlaskClient, services: Services
) -> None:
    client.get("/")
    file = sent(client, "kenya.md", KENYA_2023)
    preview = client.post("/api/documents/preview", json={"files": [file]})
    assert preview.get_json()["files"][0]["name"] == "kenya.md"
    job = client.post(
        "/api/documents",
        json={"files": [file], "country_name": "Kenya", "year": 2023, "labels": ["a"]},
    )
    document = ended(client, job)["files"][0]["document_id"]
    added = client.get(f"/api/documents/{document}").get_json()
    assert (added["country_name"], added["year"]) == ("Kenya", 2023)
    assert added["labels"] == ["a"]
    answer = client.post(
        "/query",
        json={"query": "What is the growth rate?", "attachments": [{"file": file}]},
    )
    assert answer.status_code == 200
    assert answer.get_json()["citations"]
    assert "Deprecation" not in job.headers


def test_an_archive_stands_for_its_members(client: FlaskClient) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.md", KENYA_2023)
        archive.writestr("b.md", KENYA_2023 + "More.")
    file = sent(client, "reports.zip", packed.getvalue())
    job = client.post("/api/documents", json={"files": [file]})
    assert len(ended(client, job)["files"]) == 2


def test_a_file_is_of_its_caller_and_ends_after_a_day(
    client: FlaskClient, services: Services
) -> None:
    client.get("/")
    file = sent(client, "kenya.md", KENYA_2023)
    other = client.application.test_client()
    other.get("/")
    assert other.post("/api/documents", json={"files": [file]}).status_code == 404
    services.storage.database["uploads"].update_many({}, {"$set": {"expires_at": 1.0}})
    assert client.post("/api/documents", json={"files": [file]}).status_code == 404
    services.retention.purge_expired()
    assert services.storage.uploads.file_ids() == set()


def test_a_file_that_waits_is_not_tidied_away(
    client: FlaskClient, services: Services
) -> None:
    file = sent(client, "kenya.md", KENYA_2023)
    services.storage.files._grace_seconds = -1.0
    services.ingesting.originals.tidy()
    assert client.post("/api/documents", json={"files": [file]}).status_code == 202


@pytest.mark.parametrize(
    ("limit", "value"), [("files_each", 1), ("megabytes_each", 0), ("megabytes", 0)]
)
def test_too_many_files_that_wait_are_refused(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    client.get("/")
    if limit == "files_each":
        sent(client, "kenya.md", KENYA_2023)
    monkeypatch.setitem(uploads.BOUNDS, limit, value)
    answer = client.post("/api/files", data={"file": (io.BytesIO(b"More."), "more.md")})
    assert answer.status_code == 507


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"files": (io.BytesIO(b"Text."), "a.md")},
        {"file": (io.BytesIO(b"Text."), "a.exe")},
    ],
)
def test_what_is_no_file_is_refused(client: FlaskClient, data: dict[str, Any]) -> None:
    answer = client.post("/api/files", data=data, content_type="multipart/form-data")
    assert answer.status_code == 400
    assert answer.get_json()["error"]["details"][0]["field"] in {"file", "files"}


def test_a_form_with_documents_is_deprecated(client: FlaskClient) -> None:
    answer = upload(client, ("kenya.md", KENYA_2023))
    assert answer.headers["Deprecation"].startswith("@")
    question = post_form(
        client, "/query", ("kenya.md", KENYA_2023), request='{"query": "How many?"}'
    )
    assert "Deprecation" in question.headers
    described = client.get("/openapi.json").get_json()
    for path, operations in described["paths"].items():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {})
            assert len(content) < 2, path


def test_an_error_is_a_problem_where_the_client_asks_for_one(
    client: FlaskClient,
) -> None:
    plain = client.get("/api/documents/none")
    assert plain.mimetype == "application/json"
    problem = client.get(
        "/api/documents/none", headers={"Accept": "application/problem+json"}
    )
    assert problem.mimetype == "application/problem+json"
    body = problem.get_json()
    assert body["error"]["code"] == plain.get_json()["error"]["code"]
    assert body["type"] == "urn:report-chat:error:not_found"
    assert (body["title"], body["status"]) == ("Not Found", 404)
    assert body["detail"] == body["error"]["message"]
