"""The description of the API is complete, and the running server keeps to it: a small
part, always the same, of `python -m benchmarks contract`.
"""

import json
import re
import urllib.request
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from openapi_spec_validator import OpenAPIV31SpecValidator

from benchmarks.contract import check, closed, cookie, with_examples
from chatbot.app.web.middleware import HTTP_CODES
from chatbot.config.settings import Settings
from chatbot.domain import errors
from chatbot.extras.openapi.description import API_VERSION, ERRORS
from tests.app.web.knowledge import ended, upload
from tests.app.web.live import application, served
from tests.campaigns import times
from tests.conftest import KENYA_2023

pytestmark = pytest.mark.extras("all")


def test_every_route_has_its_errors_and_every_reference_leads_somewhere(
    client: FlaskClient,
) -> None:
    response = client.get("/openapi.json")
    tag = {"If-None-Match": response.headers["ETag"]}
    assert client.get("/openapi.json", headers=tag).status_code == 304
    document = response.get_json()
    assert document["info"]["version"] == API_VERSION
    operations = [one for path in document["paths"].values() for one in path.values()]
    ids = [one["operationId"] for one in operations]
    assert len(set(ids)) == len(ids) > 40
    assert all(re.fullmatch("[a-z]+([A-Z][a-z]+)*", id) for id in ids)
    assert {"listDocuments", "answerQuestion", "getConversation"} <= set(ids)
    assert not {"/", "/docs", "/metrics", "/documents"} & document["paths"].keys()
    for one in operations:
        errors = {status for status in one["responses"] if status >= "400"}
        assert {"400", "403", "429", "503"} <= errors, one["operationId"]
    names = re.findall(r"#/components/schemas/(\w+)", json.dumps(document))
    assert names
    assert set(names) <= document["components"]["schemas"].keys()


def test_the_description_is_valid_openapi(client: FlaskClient) -> None:
    document = client.get("/openapi.json").get_json()
    faults = OpenAPIV31SpecValidator(document).iter_errors()
    assert [(fault.message, list(fault.schema_path)) for fault in faults] == []
    parameters = [
        parameter["schema"]
        for path in document["paths"].values()
        for operation in path.values()
        for parameter in operation.get("parameters", ())
    ]
    no_keywords = {"ge", "gt", "le", "lt"}
    assert [one for one in parameters if no_keywords & one.keys()] == []


def test_what_an_extra_adds_is_described_where_it_is_there(
    settings: Settings, client: FlaskClient
) -> None:
    with application(settings.override(extras=("openapi",))) as alone:
        paths = alone.test_client().get("/openapi.json").get_json()["paths"]
    everything = client.get("/openapi.json").get_json()["paths"]
    of_extras = everything.keys() - paths.keys()
    assert {"/api/changes", "/api/usage", "/v1/models"} <= of_extras
    assert {"/query", "/api/reports"} <= paths.keys()


def test_every_status_of_an_error_is_described() -> None:
    own = {kind.status for kind in vars(errors).values() if hasattr(kind, "status")}
    assert (own | HTTP_CODES.keys()) - ERRORS.keys() == {
        405,
        415,
        500,
    }  # of no described request


def test_the_page_leads_to_the_description(client: FlaskClient) -> None:
    page = client.get("/docs").get_data(as_text=True)
    assert 'href="/openapi.json"' in page
    assert "docs/api.md" in page


def test_every_answer_is_as_it_is_described(app: Flask, tmp_path: Path) -> None:
    client = app.test_client()
    # One for each operation on a report.
    ended(
        client,
        upload(
            client,
            *(
                (f"kenya-{number}.md", f"{KENYA_2023}\n\n{number}")
                for number in range(9)
            ),
            country_name="Kenya",
            year="2023",
        ),
    )
    options = [
        "--phases",
        "examples,fuzzing",
        "--max-examples",
        str(times("CONTRACT", 1)),
        "--seed",
        "1",
    ]
    with served(app) as port:
        url = f"http://127.0.0.1:{port}"
        headers = {"Cookie": cookie(url)}
        with urllib.request.urlopen(f"{url}/openapi.json", timeout=30) as response:
            description = with_examples(closed(json.load(response)), url, headers)
        assert check(description, url, headers, tmp_path, options) == 0
